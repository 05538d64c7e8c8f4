//! `stiction check SCENE`: validate and lint.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use stiction_scene::lint::{Finding, Severity, lint};
use stiction_scene::load::load;

use crate::failure::{CHECK_FAILED, Failure};

/// Arguments of `check`.
#[derive(Args)]
pub struct CheckArguments {
    /// A scene file, `-` for standard input, or the name of a built-in scene
    scene: String,
    /// Change any value of the scene first
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Print the findings as one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command. Warnings are findings and give exit code 1; notes do not.
pub fn check(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    let loaded = load(&arguments.scene, &arguments.overrides)?;
    let findings = lint(&loaded);
    let scene = loaded.scene();
    let has_warning = findings.iter().any(|finding| finding.severity == Severity::Warning);
    let word = |severity| match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
    };
    if arguments.json {
        let (warnings, ok) = (loaded.warnings(), !has_warning);
        let finding = |Finding { severity, message, place }: &Finding| json!({ "severity": word(*severity), "message": message, "place": place });
        let findings: Vec<_> = findings.iter().map(finding).collect();
        say!("{:#}", json!({ "scene": scene.name, "warnings": warnings, "findings": findings, "ok": ok }));
    } else {
        for finding in &findings {
            say!("{}: {}: {}", finding.place, word(finding.severity), finding.message);
        }
        let what = match (&scene.system, scene.bodies.len()) {
            (Some(system), _) if system.contacts.len() == 1 => "a system with 1 contact".to_owned(),
            (Some(system), _) => format!("a system with {} contacts", system.contacts.len()),
            (None, 1) => "1 body".to_owned(),
            (None, count) => format!("{count} bodies"),
        };
        say!(
            "{}: {what}, {} degrees of freedom, {} steps of {} s{}",
            scene.name,
            loaded.system().mechanics().velocity_count(),
            loaded.grid().step_count(),
            scene.run.step,
            if has_warning { "" } else { ": nothing wrong" },
        );
    }
    Ok(if has_warning { ExitCode::from(CHECK_FAILED) } else { ExitCode::SUCCESS })
}

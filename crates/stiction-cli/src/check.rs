//! `stiction check SCENE`: validate and lint.

use std::process::ExitCode;

use clap::Args;
use stiction_scene::lint::{Severity, lint};
use stiction_scene::load::load;

use crate::failure::{CHECK_FAILED, Failure};

/// Arguments of `check`.
#[derive(Args)]
pub struct CheckArguments {
    /// A scene file, or the name of a built-in scene
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
    let findings = lint(&loaded)?;
    let has_warning = findings.iter().any(|finding| finding.severity == Severity::Warning);
    let word = |severity| match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
    };
    if arguments.json {
        let findings: Vec<_> = findings
            .iter()
            .map(|finding| {
                serde_json::json!({
                    "severity": word(finding.severity),
                    "message": finding.message,
                    "place": finding.place,
                })
            })
            .collect();
        let document = serde_json::json!({
            "scene": loaded.scene.name,
            "warnings": loaded.warnings,
            "findings": findings,
            "ok": !has_warning,
        });
        say!("{document:#}");
    } else {
        for finding in &findings {
            say!("{}: {}: {}", finding.place, word(finding.severity), finding.message);
        }
        let simulation = loaded.build()?;
        let what = match (&loaded.scene.system, loaded.scene.bodies.len()) {
            (Some(system), _) if system.contacts.len() == 1 => "a system with 1 contact".to_owned(),
            (Some(system), _) => format!("a system with {} contacts", system.contacts.len()),
            (None, 1) => "1 body".to_owned(),
            (None, count) => format!("{count} bodies"),
        };
        say!(
            "{}: {what}, {} degrees of freedom, {} steps of {} s{}",
            loaded.scene.name,
            simulation.system().velocity_count(),
            simulation.grid().step_count(),
            simulation.grid().step,
            if has_warning { "" } else { ": nothing wrong" },
        );
    }
    Ok(if has_warning { ExitCode::from(CHECK_FAILED) } else { ExitCode::SUCCESS })
}

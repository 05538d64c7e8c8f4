//! `stiction check SCENE`: validate and lint.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use stiction_scene::lint::{Severity, lint};
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
    if arguments.json {
        let (warnings, ok) = (loaded.warnings(), !has_warning);
        say!("{:#}", json!({ "scene": scene.name, "warnings": warnings, "findings": findings, "ok": ok }));
    } else {
        for finding in &findings {
            let word = if finding.severity == Severity::Warning { "warning" } else { "note" };
            say!("{}: {word}: {}", finding.place, finding.message);
        }
        let counted = |count: usize, one, several| format!("{count} {}", if count == 1 { one } else { several });
        let what = match &scene.system {
            Some(system) => format!("a system with {}", counted(system.contacts.len(), "contact", "contacts")),
            None => counted(scene.bodies.len(), "body", "bodies"),
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

//! `stiction check SCENE`: validate and lint.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use stiction_scene::lint::{Severity, lint};
use stiction_scene::load::{Loaded, load};
use stiction_scene::separate::separated;
use stiction_scene::write_atomically;

use crate::failure::{BAD_INPUT, CHECK_FAILED, Failure, INPUT_OUTPUT};

/// Arguments of `check`.
#[derive(Args)]
pub struct CheckArguments {
    /// A scene file, `-` for standard input, or the name of a built-in scene
    scene: String,
    /// Change any value of the scene first
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Write the scene with bodies moved apart that overlap at the start
    #[arg(long, value_name = "OUT.toml")]
    separate: Option<PathBuf>,
    /// Print the findings as one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command. Warnings are findings and give exit code 1; notes do not.
pub fn check(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    let loaded = load(&arguments.scene, &arguments.overrides)?;
    if let Some(out) = &arguments.separate {
        separate(&loaded, out)?;
    }
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

/// Writes the scene with its bodies moved apart, and says which were moved.
fn separate(loaded: &Loaded, out: &Path) -> Result<(), Failure> {
    let shown = out.display();
    if out.exists() {
        return Err(Failure::new(BAD_INPUT, format!("`{shown}` exists; choose another name or remove it")));
    }
    // Its files are named relative to its folder.
    let folder = |path: Option<&Path>| {
        let path = path.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::canonicalize(path).ok()
    };
    if !loaded.files().is_empty() && folder(out.parent()) != folder(loaded.scene().folder.as_deref()) {
        let message = format!("the scene names files in its folder: write `{shown}` into the folder of the scene");
        return Err(Failure::new(BAD_INPUT, message));
    }
    let (scene, moved) = separated(loaded).map_err(|message| Failure::new(BAD_INPUT, message))?;
    for body in &moved {
        let [x, y, z] = body.way;
        say!("{}: moved by [{x:.6e}, {y:.6e}, {z:.6e}] m", body.body);
    }
    let written = write_atomically(out, scene.to_toml().as_bytes());
    written.map_err(|cause| Failure::new(INPUT_OUTPUT, format!("cannot write `{shown}`: {cause}")))
}

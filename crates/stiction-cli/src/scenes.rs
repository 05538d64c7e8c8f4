//! `stiction scenes`: what comes with Stiction.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use stiction_scene::builtin::{self, BuiltinScene};

use crate::failure::{BAD_INPUT, Failure};

/// Arguments of `scenes`.
#[derive(Args)]
pub struct ScenesArguments {
    /// Print the text of this scene instead of the list
    name: Option<String>,
    /// Print the list as one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn scenes(arguments: &ScenesArguments) -> Result<ExitCode, Failure> {
    let all = builtin::all();
    if let Some(name) = &arguments.name {
        let scene = all.iter().find(|scene| scene.name == *name).ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|scene| scene.name).collect();
            Failure::new(BAD_INPUT, format!("there is no built-in scene `{name}`; there are {}", names.join(", ")))
        })?;
        say!("{}", scene.text.trim_end());
    } else if arguments.json {
        let entry = |scene: &BuiltinScene| json!({ "name": scene.name, "title": scene.title });
        say!("{:#}", all.iter().map(entry).collect::<Value>());
    } else {
        let width = all.iter().map(|scene| scene.name.len()).max().unwrap_or(0);
        for scene in all {
            say!("{:<width$}  {}", scene.name, scene.title);
        }
    }
    Ok(ExitCode::SUCCESS)
}

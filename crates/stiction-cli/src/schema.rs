//! `stiction schema`: the JSON Schema of the scene format.

use std::process::ExitCode;

use stiction_scene::scene::Scene;

use crate::failure::Failure;

/// Runs the command.
pub fn schema() -> Result<ExitCode, Failure> {
    say!("{:#}", Scene::schema());
    Ok(ExitCode::SUCCESS)
}

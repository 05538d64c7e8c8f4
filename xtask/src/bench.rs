//! `cargo xtask bench`: the table of `stiction bench`, from a fresh clone.

use crate::process;
use crate::workspace::Workspace;

/// Builds the command and runs its benchmarks.
pub fn run(workspace: &Workspace, ids: &[String]) -> Result<(), String> {
    let stiction = workspace.build_stiction(&["--package", "stiction-cli"])?;
    process::run(workspace.command(&stiction).arg("bench").args(ids))
}

//! `cargo xtask soak`: attacks with inputs of which the truth is known, until the time is up; see
//! `crates/stiction-soak`.

use crate::process;
use crate::workspace::{Workspace, named};

/// What the suite of `cargo xtask test` runs: a fixed seed and a fixed volume, so that it is the
/// same everywhere.
pub const SUITE: [&str; 4] = ["--rounds", "1", "--seed", "1"];

/// Builds the command and the soak, and runs it with these arguments. Inputs that failed stay in
/// `runs/soak`.
pub fn run(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    // Among the tests, as they were built, so that nothing is compiled twice.
    let targets: &[&str] = match arguments == SUITE {
        true => &["--workspace", "--bins", "--tests"],
        false => &["--package", "stiction-cli", "--package", "stiction-soak"],
    };
    let programs = workspace.build(targets)?;
    let (stiction, soak) = (named(&programs, "stiction")?, named(&programs, "stiction-soak")?);
    let out = workspace.path("runs/soak");
    process::run(workspace.command(soak).arg("--stiction").arg(stiction).arg("--out").arg(out).args(arguments))
}

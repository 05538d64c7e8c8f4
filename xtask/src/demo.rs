//! `cargo xtask demo`: from a fresh clone to the rod of \[ST96\], its certificate and its picture.

use crate::process::{self, spoken};
use crate::workspace::Workspace;
use std::path::Path;
use std::time::Instant;

/// Where the demonstration puts its run, relative to the workspace.
const RUN: &str = "runs/rod";
/// The picture, inside the run.
const FIGURE: &str = "runs/rod/figure.png";

/// Builds, simulates, draws. Can be repeated: the run of last time is replaced.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let start = Instant::now();

    let stiction = step("1/3  Build the command `stiction`. The first time, this takes a few minutes.", || {
        workspace.build_stiction(&["--package", "stiction-cli"])
    })?;

    step(
        "2/3  A rod falls onto a table while it spins. Its right end hits and sticks, starts to slide, then the\n\
         left end hits and the rod slides to rest. The certificate says how well every step satisfies the\n\
         laws of contact and friction, computed apart from the solver.",
        || {
            clear(&workspace.path(RUN))?;
            process::run(workspace.command(&stiction).args(["run", "rod", "--out", RUN]))
        },
    )?;

    step("3/3  Draw the poses of the rod and its velocities.", || {
        process::run(workspace.command(&stiction).args(["plot", RUN, "--out", FIGURE]))?;
        let figure = workspace.path(FIGURE);
        if figure.is_file() { Ok(()) } else { Err(format!("{} was not written", figure.display())) }
    })?;

    println!("\nDone in {}. The figure is\n\n  {}\n", spoken(start.elapsed()), workspace.path(FIGURE).display());
    println!("Try next:");
    println!("  cargo run -- reproduce rod                            the reference numbers beside the computed ones");
    println!("  cargo run -- run rod --step 1e-4 --out runs/rod-fine  the same fall with a finer step");
    Ok(())
}

/// Announces a step, does it, and says how long it took.
fn step<T>(announcement: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    println!("\n{announcement}\n");
    let start = Instant::now();
    let result = work()?;
    println!("({})", spoken(start.elapsed()));
    Ok(result)
}

/// Removes the run of an earlier demonstration, picture included. A folder that is not a run stays,
/// and `stiction run` will refuse to write there.
fn clear(run: &Path) -> Result<(), String> {
    if run.join("summary.json").is_file() {
        std::fs::remove_dir_all(run).map_err(|error| format!("removing {}: {error}", run.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::clear;

    #[test]
    fn only_a_run_is_cleared() {
        let folder = std::env::temp_dir().join(format!("stiction-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("notes.txt"), "mine").unwrap();
        clear(&folder).unwrap();
        assert!(folder.join("notes.txt").is_file(), "a folder of someone else is left alone");
        std::fs::write(folder.join("summary.json"), "{}").unwrap();
        clear(&folder).unwrap();
        assert!(!folder.exists());
        clear(&folder).expect("nothing to clear is fine");
    }
}

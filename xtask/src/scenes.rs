//! Every built-in scene is checked and run; one is run twice and must give the same states to the
//! last bit.

use crate::json;
use crate::process::{self, spoken};
use crate::workspace::{Workspace, entries, has_extension};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where they are.
const FOLDER: &str = "crates/stiction-scene/scenes";

/// The scene that is run twice: it has impacts, sticking and sliding.
const REPEATED: &str = "rod";

/// Checks and runs all scenes; the error lists those that failed.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    // The targets of the suite `tests`, so that what it built is used and nothing is built again.
    let stiction = workspace.build_stiction(&["--workspace", "--bins", "--tests"])?;
    let mut scenes = entries(&workspace.path(FOLDER))?;
    scenes.retain(|path| has_extension(path, "toml"));
    let names: Vec<_> = scenes.iter().filter_map(|scene| Some(scene.file_stem()?.to_string_lossy())).collect();
    if !names.iter().any(|name| name == REPEATED) {
        return Err(format!("there is no scene `{REPEATED}` in {FOLDER}"));
    }
    let runs = Runs::new()?;
    let mut failed = Vec::new();
    for name in &names {
        let start = Instant::now();
        match examine(workspace, &stiction, name, &runs) {
            Ok(done) => println!("{name:<20} {done}, {}", spoken(start.elapsed())),
            Err(message) => {
                println!("{name:<20} FAILED: {message}");
                failed.push(name.as_ref());
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Checks a scene and runs it, once or twice; says what was done.
fn examine(workspace: &Workspace, stiction: &Path, name: &str, runs: &Runs) -> Result<&'static str, String> {
    let scene = format!("{FOLDER}/{name}.toml");
    process::capture(workspace.command(stiction).args(["check", &scene]))?;
    let simulate = |out: PathBuf| {
        process::capture(workspace.command(stiction).args(["run", &scene, "--out"]).arg(&out))?;
        digest(&out.join("summary.json"))
    };
    let first = simulate(runs.folder(name))?;
    if name != REPEATED {
        return Ok("checked, run");
    }
    let second = simulate(runs.folder(&format!("{name}-again")))?;
    same_states(&first, &second).map(|()| "checked, run twice with the same digest")
}

/// The digest of the states, as the summary of a run gives it.
fn digest(summary: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(summary).map_err(|error| format!("{}: {error}", summary.display()))?;
    json::string_value(&text, "digest").ok_or_else(|| format!("{}: no digest", summary.display()))
}

fn same_states(first: &str, second: &str) -> Result<(), String> {
    if first == second { Ok(()) } else { Err(format!("two runs differ: digest {first}, then {second}")) }
}

/// A folder for the runs, outside the workspace, which goes away with this value.
struct Runs {
    root: PathBuf,
}

impl Runs {
    fn new() -> Result<Self, String> {
        let root = std::env::temp_dir().join(format!("stiction-scenes-{}", std::process::id()));
        std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(Self { root })
    }

    /// Where the run of that name goes. `stiction run` makes the folder itself.
    fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        // Left-over files in the temporary folder are not worth a failure.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_compared_as_they_are() {
        assert!(same_states("ab12", "ab12").is_ok());
        assert!(same_states("ab12", "ab13").unwrap_err().contains("ab13"));
    }

    #[test]
    fn the_folder_of_the_runs_goes_away() {
        let runs = Runs::new().unwrap();
        let root = runs.root.clone();
        std::fs::write(runs.folder("note"), "x").unwrap();
        assert!(root.is_dir());
        drop(runs);
        assert!(!root.exists());
    }
}

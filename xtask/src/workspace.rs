//! Where the workspace is, what is in it, and how to build the command `stiction`.

use crate::{json, process};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that holds the workspace's `Cargo.toml`.
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the workspace by the variable that cargo sets for the programs it runs.
    pub fn find() -> Result<Self, String> {
        let xtask = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("start this program as `cargo xtask JOB`")?;
        let root = Path::new(&xtask).parent().ok_or("the folder of xtask has no parent")?;
        Ok(Self { root: root.to_owned() })
    }

    /// A path inside the workspace, written with `/`.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// How to name a path to people: relative to the workspace where it lies inside.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// A program to be started in the root of the workspace.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// The cargo that started us, so that its choice of toolchain holds for everything we start.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments);
        command
    }

    /// Runs cargo with arguments that have no blanks in them.
    pub fn run_cargo(&self, arguments: &str) -> Result<(), String> {
        process::run(&mut self.cargo(&arguments.split(' ').collect::<Vec<_>>()))
    }

    /// Builds targets in the dev profile, which is optimised, and returns the paths of the programs
    /// among them.
    ///
    /// Cargo itself says where the programs are, because the target folder can be set in many ways.
    pub fn build(&self, targets: &[&str]) -> Result<Vec<PathBuf>, String> {
        println!("$ cargo build {}", targets.join(" "));
        let mut build = self.cargo(&["build"]);
        build.args(targets).arg("--message-format=json-render-diagnostics");
        let messages = process::run_and_keep_stdout(&mut build)?;
        Ok(messages
            .lines()
            .filter_map(|message| json::string_value(message, "executable"))
            .map(PathBuf::from)
            .collect())
    }

    /// Builds the command `stiction` with other targets beside it, and returns the path of the
    /// program.
    pub fn build_stiction(&self, targets: &[&str]) -> Result<PathBuf, String> {
        named(&self.build(targets)?, "stiction").cloned()
    }

    /// Every Markdown file of the workspace. Hidden folders, build output and recorded runs are
    /// left out.
    pub fn markdown_files(&self) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_output = matches!(&*name, "target" | "runs" | "node_modules") || name.starts_with('.');
                if path.is_dir() && !is_output {
                    folders.push(path);
                } else if path.is_file() && has_extension(&path, "md") {
                    found.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The program of this name among those that were built.
pub fn named<'a>(programs: &'a [PathBuf], name: &str) -> Result<&'a PathBuf, String> {
    let program = programs.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    program.ok_or_else(|| format!("cargo built {name} but did not say where it is"))
}

/// What is inside a folder, in order of name; nothing when there is no such folder.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| format!("reading {}: {error}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// Whether the name of a path ends in `.extension`.
pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

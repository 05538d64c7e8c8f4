//! Every example program of every crate is run; it must end well and print something one can check.

use crate::process::{self, spoken};
use crate::workspace::{Workspace, entries, has_extension};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Builds all examples, then runs them one by one; the error lists those that failed.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let examples = find(workspace)?;
    if examples.is_empty() {
        return Err("there is no example in crates/*/examples/".to_owned());
    }
    // With the targets of the suite `tests`, so that what it built is used and nothing is built
    // again.
    let programs = workspace.build(&["--workspace", "--bins", "--tests", "--examples"])?;
    let mut failed = Vec::new();
    for (package, example) in &examples {
        let start = Instant::now();
        let program = programs.iter().find(|path| is_example(path, example)).ok_or("cargo did not build it".to_owned());
        let printed = program.and_then(|program| process::capture(&mut workspace.command(program)));
        match printed.and_then(|printed| line_count(&printed)) {
            Ok(lines) => println!("{package}: {example} printed {lines} lines, {}", spoken(start.elapsed())),
            Err(message) => {
                println!("{package}: {example} FAILED: {message}");
                failed.push(example.as_str());
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Whether cargo put the program into its folder of examples under this name.
fn is_example(program: &Path, name: &str) -> bool {
    program.file_stem().is_some_and(|stem| stem == name)
        && program.parent().and_then(Path::file_name).is_some_and(|folder| folder == "examples")
}

/// Pairs of package and example. A package is named like its folder; an example is a file, or a
/// folder with a `main.rs`.
fn find(workspace: &Workspace) -> Result<Vec<(String, String)>, String> {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut examples = Vec::new();
    for package in entries(&workspace.path("crates"))? {
        let programs = entries(&package.join("examples"))?;
        let is_program = |path: &&PathBuf| has_extension(path, "rs") || path.join("main.rs").is_file();
        examples.extend(programs.iter().filter(is_program).map(|program| (stem(&package), stem(program))));
    }
    Ok(examples)
}

fn line_count(printed: &str) -> Result<usize, String> {
    match printed.lines().filter(|line| !line.trim().is_empty()).count() {
        0 => Err("it printed nothing".to_owned()),
        lines => Ok(lines),
    }
}

#[cfg(test)]
mod tests {
    use super::line_count;

    #[test]
    fn blank_lines_are_not_output() {
        assert_eq!(line_count("t = 0.1\n\nx = 2\n"), Ok(2));
        assert!(line_count("\n  \n").is_err());
    }
}

//! Set-up and checks of the Stiction workspace, in Rust so that they work wherever Stiction builds.
//!
//! `cargo xtask demo` shows what Stiction does; `cargo xtask test` decides whether a change is
//! good. Each job has its file, and so has each suite of `test` that is more than one cargo
//! command.

mod demo;
mod examples;
mod json;
mod links;
mod process;
mod scenes;
mod setup;
mod soak;
mod test;
mod workspace;

use std::process::ExitCode;
use workspace::Workspace;

const HELP: &str = "\
Set-up and checks of the Stiction workspace.

usage: cargo xtask JOB

jobs:
  demo              build Stiction, simulate the rod, draw it
  test              run every suite of checks
  test SUITE...     run only the suites named
  bench             measure solvers and steps, accuracy beside speed
  bench ID...       only the benchmarks named: lemke, cones, joints, step, siconos, stages
  soak              one round of attacks: random problems, mutated scenes, damaged files, kills, schemes
  soak --minutes N  for that long; --seed N, --rounds N, --only ATTACK, --keep-all, --out FOLDER
  help              this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (job, rest) = arguments.split_first().map_or(("help", &[][..]), |(job, rest)| (job.as_str(), rest));
    run(job, rest).unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::from(1)
    })
}

/// Does a job. An error is that of work that was done, or begun; a command line that was not
/// understood ends with 2.
fn run(job: &str, rest: &[String]) -> Result<ExitCode, String> {
    let misused = |message: &str| {
        eprint!("error: {message}\n\n{HELP}\nsuites: {}\n", test::suite_names());
        Ok(ExitCode::from(2))
    };
    match job {
        "demo" if rest.is_empty() => demo::run(&Workspace::find()?)?,
        "demo" => return misused("`demo` takes no arguments"),
        "test" => {
            let suites = match test::choose(rest) {
                Ok(suites) => suites,
                Err(message) => return misused(&message),
            };
            if !test::run(&Workspace::find()?, &suites) {
                return Ok(ExitCode::from(1));
            }
        }
        "bench" => bench(&Workspace::find()?, rest)?,
        "soak" => soak::run(&Workspace::find()?, &rest.iter().map(String::as_str).collect::<Vec<_>>())?,
        "help" | "--help" | "-h" => print!("{HELP}\nsuites: {}\n", test::suite_names()),
        unknown => return misused(&format!("there is no job `{unknown}`")),
    }
    Ok(ExitCode::SUCCESS)
}

/// The table of `stiction bench`, from a fresh clone.
fn bench(workspace: &Workspace, ids: &[String]) -> Result<(), String> {
    let stiction = workspace.build_stiction(&["--package", "stiction-cli"])?;
    process::run(workspace.command(&stiction).arg("bench").args(ids))
}

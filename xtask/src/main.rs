//! Set-up and checks of the Stiction workspace, in Rust so that they work wherever Stiction builds.
//!
//! `cargo xtask demo` shows what Stiction does; `cargo xtask test` decides whether a change is good. Each job has its
//! file, and so has each suite of `test` that is more than one cargo command:
//!
//! | file | holds |
//! |---|---|
//! | `demo.rs` | the demonstration: build, simulate the rod, draw it |
//! | `test.rs` | the list of suites, how they run, the table at the end |
//! | `bench.rs` | the benchmarks |
//! | `soak.rs` | attacks with known truth, for as long as one likes |
//! | `setup.rs` | the tools the suites need, and how a missing one is installed |
//! | `documentation.rs` | `cargo doc`, where any warning is a failure |
//! | `scenes.rs` | every scene checked and run, one of them twice |
//! | `examples.rs` | every example program run |
//! | `links.rs` | relative links in the Markdown files |
//! | `workspace.rs` | where the workspace is, what is in it, how to build the command `stiction` |
//! | `process.rs` | starting programs and telling how long they took |
//! | `json.rs` | one string out of a JSON document |

mod bench;
mod demo;
mod documentation;
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

/// A job that went wrong: its message, and the exit code that tells whose mistake it was.
enum Failure {
    /// The work was done, or begun, and something in it failed: exit 1.
    Work(String),
    /// The same, and the job has already said what there is to say.
    Reported,
    /// The command line was not understood: exit 2.
    Usage(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Work(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Reported) => ExitCode::from(1),
        Err(Failure::Usage(message)) => {
            eprint!("error: {message}\n\n{HELP}\nsuites: {}\n", test::suite_names());
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let (job, rest) = match arguments.split_first() {
        Some((job, rest)) => (job.as_str(), rest),
        None => ("help", arguments),
    };
    match job {
        "demo" if rest.is_empty() => demo::run(&Workspace::find().map_err(Failure::Work)?).map_err(Failure::Work),
        "demo" => Err(Failure::Usage("`demo` takes no arguments".to_owned())),
        "test" => {
            let suites = test::choose(rest).map_err(Failure::Usage)?;
            let workspace = Workspace::find().map_err(Failure::Work)?;
            if test::run(&workspace, &suites) { Ok(()) } else { Err(Failure::Reported) }
        }
        "bench" => bench::run(&Workspace::find().map_err(Failure::Work)?, rest).map_err(Failure::Work),
        "soak" => {
            let arguments: Vec<&str> = rest.iter().map(String::as_str).collect();
            soak::run(&Workspace::find().map_err(Failure::Work)?, &arguments).map_err(Failure::Work)
        }
        "help" | "--help" | "-h" => {
            print!("{HELP}\nsuites: {}\n", test::suite_names());
            Ok(())
        }
        unknown => Err(Failure::Usage(format!("there is no job `{unknown}`"))),
    }
}

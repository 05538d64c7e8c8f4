//! The command `stiction`. A file per command that is more than a line; they parse and print, and
//! compute nothing.

/// Prints a line on standard output.
macro_rules! say {
    () => {
        say!("")
    };
    ($($argument:tt)*) => {{
        use std::io::Write;
        let text = crate::terminal::safe(format!($($argument)*));
        crate::keep_output_error(writeln!(anstream::stdout(), "{text}"));
    }};
}

/// Prints a line on standard error.
macro_rules! complain {
    ($($argument:tt)*) => {{
        use std::io::Write;
        let text = crate::terminal::safe(format!($($argument)*));
        let _ = writeln!(anstream::stderr(), "{text}");
    }};
}

mod bench;
mod check;
mod choice;
mod converge;
mod failure;
mod new;
mod plot;
mod reproduce;
mod run;
mod scenes;
mod solve;
mod terminal;

use std::io;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{CommandFactory, Parser, Subcommand};

use failure::{BAD_INPUT, Failure, INPUT_OUTPUT};

/// Rigid bodies with hard contact and exact Coulomb friction.
///
/// Exit codes: 0 done; 1 a check failed; 2 bad usage or input; 3 a step could not be solved; 4 a
/// file could not be read or written; 130 interrupted.
#[derive(Parser)]
#[command(name = "stiction", version = env!("STICTION_VERSION"), propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate a scene and write a run folder
    Run(run::RunArguments),
    /// Validate a scene and report what looks wrong in it
    Check(check::CheckArguments),
    /// List the built-in scenes, or print one
    Scenes(scenes::ScenesArguments),
    /// Write a commented scene to start from
    New(new::NewArguments),
    /// Print the JSON Schema of the scene format
    Schema,
    /// Repeat a paper's experiment: published and reference numbers beside computed ones
    Reproduce(reproduce::ReproduceArguments),
    /// Compare schemes over step sizes: error, observed order, work against precision
    Converge(converge::ConvergeArguments),
    /// Solve friction problems (FCLIB) or LCPs (Matrix Market), by one method or all
    Solve(solve::SolveArguments),
    /// Measure solvers and steps, accuracy beside speed
    Bench(bench::BenchArguments),
    /// Draw a run as PNG, SVG or PDF
    Plot(plot::PlotArguments),
    /// Print shell completions
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// What went wrong first on standard output.
static OUTPUT_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Remembers that something printed was lost. A reader that has gone away
/// (`stiction schema | head`) is no error.
fn keep_output_error(printed: io::Result<()>) {
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = OUTPUT_ERROR.set(error);
    }
}

fn main() -> ExitCode {
    // Who asked for a document gets one.
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    let outcome = match Arguments::try_parse() {
        Ok(arguments) => execute(arguments.command),
        // Bad usage, or the help and the version that were asked for.
        Err(message) => {
            let printed = message.print();
            if message.use_stderr() {
                if wants_json {
                    let text = message.to_string();
                    let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
                    say!("{:#}", serde_json::json!({ "error": line, "exit_code": BAD_INPUT }));
                }
                Ok(ExitCode::from(BAD_INPUT))
            } else {
                keep_output_error(printed);
                Ok(ExitCode::SUCCESS)
            }
        }
    };
    match (outcome, OUTPUT_ERROR.get()) {
        (Err(failure), _) if wants_json => failure.report_as_json(),
        (Err(failure), _) => failure.report(),
        (Ok(_), Some(error)) => {
            Failure::new(INPUT_OUTPUT, format!("cannot write to standard output: {error}")).report()
        }
        (Ok(code), None) => code,
    }
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Scenes(arguments) => scenes::scenes(&arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Schema => {
            say!("{:#}", stiction_scene::Scene::schema());
            Ok(ExitCode::SUCCESS)
        }
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Converge(arguments) => converge::converge(&arguments),
        Command::Solve(arguments) => solve::solve(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Plot(arguments) => plot::plot(&arguments),
        Command::Completions { shell } => {
            // Into memory first: the generator panics when its writer fails.
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "stiction", &mut text);
            say!("{}", String::from_utf8_lossy(&text).trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

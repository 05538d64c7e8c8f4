//! `stiction completions SHELL`.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::Failure;

/// Arguments of `completions`.
#[derive(Args)]
pub struct CompletionsArguments {
    /// Which shell
    shell: Shell,
}

/// Runs the command.
pub fn completions(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    // Into memory first: the generator panics when its writer fails.
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "stiction", &mut text);
    say!("{}", String::from_utf8_lossy(&text).trim_end());
    Ok(ExitCode::SUCCESS)
}

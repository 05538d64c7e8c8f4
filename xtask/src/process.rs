//! Starting programs: show what is run, pass its output through or keep it, and say plainly what
//! went wrong.

use std::fmt::Write as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Runs a program whose output goes straight to the reader.
///
/// The command line is printed first, so that anyone can repeat it by hand.
pub fn run(command: &mut Command) -> Result<(), String> {
    println!("$ {}", command_line(command));
    let status = command.status().map_err(|error| could_not_start(command, &error))?;
    judge(command, status)
}

/// Runs a program whose standard error goes to the reader, and returns its standard output, which
/// is for machines.
pub fn run_and_keep_stdout(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| could_not_start(command, &error))?;
    judge(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program quietly and returns its standard output; a failure carries everything it wrote.
pub fn capture(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| could_not_start(command, &error))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    judge(command, output.status).map_err(|mut message| {
        for text in [stdout.as_str(), &String::from_utf8_lossy(&output.stderr)] {
            if !text.trim().is_empty() {
                let _ = write!(message, "\n{}", text.trim_end()); // writing to a String cannot fail
            }
        }
        message
    })?;
    Ok(stdout)
}

/// Whether a program can be started and ends well, its output thrown away: the way to ask if a tool
/// is there.
pub fn works(command_line: &[&str]) -> bool {
    let quietly = |(program, arguments): (&&str, &[&str])| {
        capture(Command::new(program).args(arguments).stdin(Stdio::null())).is_ok()
    };
    command_line.split_first().is_some_and(quietly)
}

/// A duration as people say it: `0.4 s`, `12.3 s`, `2 min 05 s`.
pub fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds.round() as u64;
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

fn judge(command: &Command, status: ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", command_line(command))) }
}

fn could_not_start(command: &Command, error: &std::io::Error) -> String {
    format!("`{}` could not be started: {error}", command_line(command))
}

/// The command as one would type it: programs by their name alone, arguments with blanks in quotes.
fn command_line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut line = program.file_stem().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let quote = if argument.is_empty() || argument.contains(' ') { "\"" } else { "" };
        let _ = write!(line, " {quote}{argument}{quote}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_change_unit_at_a_minute() {
        assert_eq!(spoken(Duration::from_millis(440)), "0.4 s");
        assert_eq!(spoken(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(spoken(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn a_command_line_shows_the_program_by_name() {
        let mut command = Command::new("somewhere/bin/stiction");
        command.args(["run", "my scene.toml"]);
        assert_eq!(command_line(&command), "stiction run \"my scene.toml\"");
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_message_and_not_a_panic() {
        let message = run(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(message.starts_with("`no-such-program-here` could not be started"), "{message}");
        assert!(!works(&["no-such-program-here"]));
        assert!(!works(&[]));
    }
}

//! What README shows, the command prints.

#[allow(dead_code)] // shared with tests that use all of it
mod common;

use common::{folder, stiction, text};

const README: &str = include_str!("../../../README.md");

/// Commands of README's console blocks with the lines that follow them.
fn sessions() -> Vec<(String, Vec<String>)> {
    let mut sessions: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_inside = false;
    for line in README.lines() {
        if line.starts_with("```") {
            is_inside = line == "```console";
        } else if is_inside && let Some(command) = line.strip_prefix("$ ") {
            sessions.push((command.to_owned(), Vec::new()));
        } else if is_inside && let Some((_, shown)) = sessions.last_mut() {
            shown.push(line.to_owned());
        }
    }
    sessions
}

/// Whether a printed line is the one shown; `…` at its end stands for any rest.
fn is_shown_as(printed: &str, shown: &str) -> bool {
    match shown.strip_suffix('…') {
        Some(begin) => printed.starts_with(begin),
        None => printed.trim_end() == shown.trim_end(),
    }
}

/// Compares line by line; a line with nothing but `…` stands for any number of lines.
fn compare(command: &str, printed: &str, shown: &[String]) {
    let mut lines = printed.lines();
    let mut may_skip = false;
    for wanted in shown {
        if wanted == "…" {
            may_skip = true;
            continue;
        }
        let found = if may_skip {
            lines.any(|line| is_shown_as(line, wanted))
        } else {
            lines.next().is_some_and(|line| is_shown_as(line, wanted))
        };
        assert!(found, "`{command}` does not print, in this place:\n{wanted}\nbut:\n{printed}");
        may_skip = false;
    }
}

#[test]
fn commands_print_what_readme_shows() {
    let folder = folder();
    let mut compared = 0;
    for (command, shown) in sessions() {
        let Some(arguments) = command.strip_prefix("stiction ") else { continue };
        let output = stiction(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "`{command}`: {}", text(&output.stderr));
        compare(&command, &text(&output.stdout), &shown);
        compared += 1;
    }
    assert!(compared >= 1, "README shows commands of stiction");
}

#[test]
fn readme_names_every_command() {
    let help = text(&stiction(folder().path(), &["--help"]).stdout);
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    for line in commands.take_while(|line| line.starts_with("  ")) {
        let Some(name) = line.split_whitespace().next().filter(|_| !line.starts_with("   ")) else { continue };
        assert!(name == "help" || README.contains(&format!("| `{name}")), "README does not name `{name}`");
    }
}

//! `cargo xtask test`: every check of the workspace, one suite after the other.
//!
//! A failing suite does not stop the others. The last line counts the suites, and nothing else
//! stands on it.

use crate::process::{self, spoken};
use crate::setup;
use crate::workspace::Workspace;
use crate::{examples, links, scenes, soak};
use std::time::{Duration, Instant};

/// A group of checks that passes or fails as one.
#[derive(Debug)]
pub struct Suite {
    /// The name by which it is chosen and reported.
    pub name: &'static str,
    /// What it checks, in one line.
    about: &'static str,
    run: fn(&Workspace) -> Result<(), String>,
}

/// A suite by its name, what it checks, and how.
const fn suite(name: &'static str, about: &'static str, run: fn(&Workspace) -> Result<(), String>) -> Suite {
    Suite { name, about, run }
}

/// All suites, in the order in which they run: what is quick to fail goes first.
///
/// Nothing runs twice. `cargo test --tests` takes the unit tests of libraries and programs and the
/// files in `tests/`, but neither doctests nor examples, which have suites of their own.
pub const SUITES: &[Suite] = &[
    suite("format", "the code is laid out by rustfmt", |workspace| workspace.run_cargo("fmt --all --check")),
    suite("clippy", "the linter finds nothing, in any target", |workspace| {
        workspace.run_cargo("clippy --workspace --all-targets -- -D warnings")
    }),
    suite("tests", "unit, reference, problem, property and regression tests", |workspace| {
        workspace.run_cargo("test --workspace --tests --no-fail-fast")
    }),
    suite("doctests", "the examples inside the documentation", |workspace| {
        workspace.run_cargo("test --workspace --doc --no-fail-fast")
    }),
    suite("documentation", "the documentation builds without a warning", |workspace| {
        // Beside the flags in `.cargo/config.toml`, which load the header for formulas; those from
        // outside would replace both.
        let mut doc = workspace.cargo(&["doc", "--workspace", "--no-deps"]);
        doc.args(["--config", "build.rustdocflags=['-Dwarnings']"]);
        process::run(doc.env_remove("RUSTDOCFLAGS").env_remove("CARGO_ENCODED_RUSTDOCFLAGS"))
    }),
    suite("scenes", "every scene is valid, runs, and repeats bit for bit", scenes::run),
    suite("examples", "every example program runs and prints something", examples::run),
    suite("soak", "a fixed round of attacks finds no false word", |workspace| soak::run(workspace, &soak::SUITE)),
    suite("links", "relative links in Markdown files lead somewhere", links::run),
];

/// How a suite ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// The suites with the given names, in the order of [`SUITES`]; all of them when no name is given.
pub fn choose(names: &[String]) -> Result<Vec<&'static Suite>, String> {
    if let Some(unknown) = names.iter().find(|name| !SUITES.iter().any(|suite| suite.name == name.as_str())) {
        return Err(format!("there is no suite `{unknown}`"));
    }
    Ok(SUITES.iter().filter(|suite| names.is_empty() || names.iter().any(|name| name == suite.name)).collect())
}

/// The names of all suites, for messages.
pub fn suite_names() -> String {
    SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ")
}

/// Runs the suites, prints the table, and says whether none failed.
pub fn run(workspace: &Workspace, suites: &[&Suite]) -> bool {
    // On a machine that exists to run the checks, a check that did not run is a failure.
    let skipping_fails = std::env::var_os("CI").is_some_and(|value| value == "true");
    heading("set-up", "the tools which the suites need");
    let missing = setup::prepare(workspace, &suites.iter().map(|suite| suite.name).collect::<Vec<_>>());

    let mut results = Vec::new();
    for suite in suites {
        heading(suite.name, suite.about);
        let start = Instant::now();
        let outcome = match setup::reason_to_skip(suite.name, &missing) {
            Some(reason) => skip(reason, skipping_fails),
            None => (suite.run)(workspace).map_or_else(Outcome::Failed, |()| Outcome::Passed),
        };
        let time = start.elapsed();
        match &outcome {
            Outcome::Passed => println!("{}: passed in {}", suite.name, spoken(time)),
            Outcome::Failed(message) => println!("{}: FAILED in {}\n{message}", suite.name, spoken(time)),
            Outcome::Skipped(reason) => println!("{}: skipped, {reason}", suite.name),
        }
        results.push((suite.name, outcome, time));
    }

    heading("result", "all suites");
    print!("{}", table(&results));
    println!("{}", count(&results));
    !results.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)))
}

fn heading(name: &str, about: &str) {
    println!("\n=== {name}: {about}");
}

fn skip(reason: String, skipping_fails: bool) -> Outcome {
    if skipping_fails { Outcome::Failed(format!("skipped: {reason}")) } else { Outcome::Skipped(reason) }
}

/// One line per suite: name, outcome, time, and the first line of what there is to say.
fn table(results: &[(&str, Outcome, Duration)]) -> String {
    let mut table = String::new();
    for (name, outcome, time) in results {
        let (word, note) = match outcome {
            Outcome::Passed => ("passed", ""),
            Outcome::Failed(message) => ("FAILED", message.lines().next().unwrap_or_default()),
            Outcome::Skipped(reason) => ("skipped", reason.as_str()),
        };
        let line = format!("{name:<14} {word:<8} {:>12}  {note}", spoken(*time));
        table += &format!("{}\n", line.trim_end());
    }
    table
}

/// The last line: `N passed, M failed`, and how many were skipped if any were.
fn count(results: &[(&str, Outcome, Duration)]) -> String {
    let of = |kind: fn(&Outcome) -> bool| results.iter().filter(|(_, outcome, _)| kind(outcome)).count();
    let passed = of(|outcome| *outcome == Outcome::Passed);
    let failed = of(|outcome| matches!(outcome, Outcome::Failed(_)));
    let skipped = of(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    format!("{passed} passed, {failed} failed{skipped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(name: &'static str, outcome: Outcome) -> (&'static str, Outcome, Duration) {
        (name, outcome, Duration::from_secs(1))
    }

    #[test]
    fn a_skip_is_a_failure_where_checks_are_the_purpose() {
        assert_eq!(skip("needs node".to_owned(), false), Outcome::Skipped("needs node".to_owned()));
        assert_eq!(skip("needs node".to_owned(), true), Outcome::Failed("skipped: needs node".to_owned()));
    }

    #[test]
    fn the_last_line_mentions_skips_only_when_there_are_some() {
        let mut results = vec![second("format", Outcome::Passed), second("clippy", Outcome::Failed("no".to_owned()))];
        assert_eq!(count(&results), "1 passed, 1 failed");
        results.push(second("viewer", Outcome::Skipped("needs node".to_owned())));
        assert_eq!(count(&results), "1 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn the_table_keeps_to_one_line_per_suite() {
        let results = [second("format", Outcome::Passed), second("links", Outcome::Failed("two\nlines".to_owned()))];
        assert_eq!(
            table(&results),
            "format         passed          1.0 s\nlinks          FAILED          1.0 s  two\n"
        );
    }

    #[test]
    fn suites_are_chosen_by_name_and_keep_their_order() {
        let names = |chosen: Vec<&Suite>| chosen.iter().map(|suite| suite.name).collect::<Vec<_>>();
        assert_eq!(names(choose(&[]).unwrap()).len(), SUITES.len());
        assert_eq!(names(choose(&["links".to_owned(), "format".to_owned()]).unwrap()), ["format", "links"]);
        assert_eq!(choose(&["formt".to_owned()]).unwrap_err(), "there is no suite `formt`");
    }
}

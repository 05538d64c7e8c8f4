//! `stiction run SCENE`: simulate, record, certify.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anstyle::{AnsiColor, Style};
use clap::Args;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use stiction_scene::lint::{Severity, lint};
use stiction_scene::load::{Loaded, open};
use stiction_scene::run::{FinishedRun, Progress, expected_size};
use stiction_scene::set::Edit;
use stiction_scene::summary::{Origin, Outcome, Summary};

use crate::choice::{METHOD, SCHEME};
use crate::failure::{BAD_INPUT, CHECK_FAILED, Failure, INPUT_OUTPUT, INTERRUPTED, RED, UNSOLVED};

/// A run whose tables may become larger than this says so before it begins, in bytes.
const LARGE_RUN: u64 = 200 << 20;

/// A run of more steps says so before it begins, with the time that it may take.
const MANY_STEPS: u64 = 100_000_000;

/// Steps per second of a small system, for that estimate.
const TYPICAL_RATE: f64 = 50_000.0;

/// Events that the printed summary shows.
const SHOWN_EVENTS: usize = 12;

/// Arguments of `run`.
#[derive(Args)]
pub struct RunArguments {
    /// A scene file, `-` for standard input, or the name of a built-in scene
    scene: String,
    #[arg(long, value_name = "S", help = SCHEME.help())]
    scheme: Option<String>,
    #[arg(long, value_name = "M", help = METHOD.help())]
    method: Option<String>,
    /// Step size, in seconds
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    step: Option<f64>,
    /// End, in seconds
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    end: Option<f64>,
    /// Change any value of the scene, for example --set material.steel.friction=0.3
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Run folder [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the summary as one JSON document
    #[arg(long)]
    json: bool,
    /// Show all events and the whole final state
    #[arg(short, long)]
    verbose: bool,
}

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let loaded = load_scene(arguments)?;
    let mut origin = Origin { commit: env!("STICTION_COMMIT").to_owned(), warnings: Vec::new() };
    for finding in lint(&loaded).iter().filter(|finding| finding.severity == Severity::Warning) {
        let warning = format!("{}: {}", finding.place, finding.message);
        complain!("{YELLOW}warning:{YELLOW:#} {warning}");
        origin.warnings.push(warning);
    }
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(&loaded.scene().name));
    announce_size(&loaded);

    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    // Without a handler an interrupt ends the process at once and leaves the partial folder; that
    // is still sound. So does a second one.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    let _watch = stiction_solve::work::watch(&interrupted);
    let bar = progress_bar();
    let began = Instant::now();
    let mut observer = |progress: &Progress| {
        show(&bar, progress, began);
        if interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let finished = stiction_scene::run::run(&loaded, &out, &origin, &mut observer);
    bar.finish_and_clear();
    let finished = finished?;
    if let Some(kept) = &finished.kept {
        let (kept, folder) = (kept.display(), finished.folder.display());
        complain!("note: `{kept}` holds a run that reached its end, and stays; this one, which did not, is `{folder}`");
    }

    if arguments.json {
        let mut document = serde_json::to_value(&finished.summary).map_err(|error| Failure::new(BAD_INPUT, error))?;
        document["folder"] = finished.folder.display().to_string().into();
        say!("{document:#}");
    } else {
        print_summary(&finished, arguments.verbose);
    }
    match finished.summary.outcome {
        Outcome::Finished if finished.summary.certificate.met => Ok(ExitCode::SUCCESS),
        Outcome::Finished => Ok(ExitCode::from(CHECK_FAILED)),
        Outcome::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
        outcome => {
            let message = finished.summary.message.as_deref().unwrap_or("it came to no end");
            let (code, problem) = match outcome {
                Outcome::Unsolved => (UNSOLVED, finished.failed_problem.as_ref()),
                _ => (INPUT_OUTPUT, None),
            };
            let saved = problem.map_or_else(String::new, |problem| {
                format!("\n  its problem is saved; try: stiction solve {} --method all", problem.display())
            });
            Err(Failure::new(code, format!("{message}{saved}")).after_document(arguments.json))
        }
    }
}

/// Loads the scene with the options of the command line in it.
fn load_scene(arguments: &RunArguments) -> Result<Loaded, Failure> {
    let scheme = arguments.scheme.iter().map(|scheme| SCHEME.edit("--scheme", scheme));
    let method = arguments.method.iter().map(|method| METHOD.edit("--method", method));
    let mut edits = scheme.chain(method).collect::<Result<Vec<_>, _>>()?;
    let sets: Vec<Edit> = arguments.overrides.iter().map(|text| Edit::set(text)).collect::<Result<_, _>>()?;
    for (key, value) in [("step", arguments.step), ("end", arguments.end)] {
        let Some(value) = value else { continue };
        let is_same = |edit: &&Edit| *edit.path() == ["run"] || *edit.path() == ["run", key];
        if let Some(edit) = sets.iter().find(is_same) {
            let message = format!("--{key} and {} say the same thing: give one of them", edit.given());
            return Err(Failure::new(BAD_INPUT, message));
        }
        edits.push(Edit::option(format!("--{key} {value}"), &format!("run.{key}"), value));
    }
    edits.extend(sets);
    Ok(open(&arguments.scene)?.load(edits)?)
}

fn announce_size(loaded: &Loaded) {
    let steps = loaded.grid().step_count();
    if steps > MANY_STEPS {
        let hours = steps as f64 / TYPICAL_RATE / 3600.0;
        complain!(
            "note: this run has {steps:.1e} steps; at {TYPICAL_RATE:.0} a second it takes {hours:.0} hours",
            steps = steps as f64
        );
    }
    let size = expected_size(loaded);
    if size > LARGE_RUN {
        complain!("note: the tables of this run may reach {}; `record.interval` thins them", HumanBytes(size));
    }
}

fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30.cyan/dim} {percent:>3} %  {msg}  eta {eta}")
        .expect("the template is well formed")
        .progress_chars("━╸─");
    ProgressBar::new(0).with_style(style)
}

fn show(bar: &ProgressBar, progress: &Progress, began: Instant) {
    bar.set_length(progress.step_count);
    bar.set_position(progress.steps);
    let rate = progress.steps as f64 / began.elapsed().as_secs_f64().max(1e-9);
    bar.set_message(format!(
        "t = {:.4} s  {rate:.0} steps/s  {} contacts  residual {:.0e}",
        progress.t, progress.contacts, progress.worst_residual
    ));
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

fn print_summary(finished: &FinishedRun, verbose: bool) {
    let summary = &finished.summary;
    let rate = summary.steps as f64 / summary.wall_time_s.max(1e-9);
    let Summary { scene, steps, step, end, wall_time_s, .. } = summary;
    say!(
        "{BOLD}{scene}{BOLD:#}: {steps} steps of {step} s to t = {end} s, {wall_time_s:.2} s with audit and recording \
         ({rate:.0} steps/s)"
    );
    let iterations = &summary.iterations;
    if iterations.total > 0 {
        say!("iterations of the solver: {:.2} per step, at most {}", iterations.mean, iterations.most);
    }
    // What went wrong is said on standard error.
    if let Some(message) = summary.message.as_ref().filter(|_| summary.outcome == Outcome::Interrupted) {
        say!("{YELLOW}{message}{YELLOW:#}");
    }
    print_certificate(summary);
    print_energy(summary);
    print_events(summary, verbose);
    if verbose {
        say!("\nfinal state");
        for (name, value) in &summary.final_columns {
            say!("  {name:<24} {value:>24.16e}");
        }
    }
    say!("\n{DIM}digest{DIM:#}  {}", summary.digest);
    say!("{DIM}folder{DIM:#}  {}", finished.folder.display());
}

fn print_certificate(summary: &Summary) {
    let certificate = &summary.certificate;
    let (style, verdict) = match (summary.steps, certificate.met, summary.outcome) {
        (0, ..) => (YELLOW, "nothing to certify"),
        (_, true, Outcome::Finished) => (GREEN, "every step solved the true problem"),
        (_, true, _) => (YELLOW, "every step up to there solved the true problem"),
        (_, false, _) => (RED, "NOT MET"),
    };
    say!("\ncertificate: {style}{verdict}{style:#}");
    say!("  {:<64}{:>10}{:>11}{:>9}", "", "worst", "mean", "limit");
    for check in &certificate.checks {
        let limit = check.limit.map_or_else(|| "–".to_string(), |limit| format!("{limit:.0e}"));
        let mark = match (check.limit, check.ok) {
            (None, _) => String::new(),
            (_, true) => format!("  {GREEN}ok{GREEN:#}"),
            (_, false) => format!("  {RED}exceeded{RED:#}"),
        };
        say!("  {:<64}{:>10.1e}{:>11.1e}{limit:>9}{mark}", check.meaning, check.worst, check.mean);
    }
    let unconverged = Some(certificate.unconverged_steps).filter(|count| *count > 0);
    let unconverged = unconverged.map(|count| format!("{count} steps did not reach their fixed point"));
    let tries = certificate.second_tries.iter();
    let tries = tries.map(|(how, count)| format!("{count} steps were solved on a second try only, {how}"));
    for note in certificate.notes.iter().cloned().chain(unconverged).chain(tries) {
        say!("  {YELLOW}{note}{YELLOW:#}");
    }
}

fn print_energy(summary: &Summary) {
    say!("\nenergy by cause, J");
    for (name, label) in [
        ("work_normal", "normal impulses"),
        ("work_friction", "friction"),
        ("work_drive", "driven bodies"),
        ("work_joints", "joints"),
        ("work_applied", "applied forces"),
        ("energy_numerical", "the scheme itself"),
        ("energy_unexplained", "unexplained"),
        ("total_change", "change of kinetic and potential energy"),
    ] {
        let value = summary.energy.get(name).copied().unwrap_or(0.0);
        if value != 0.0 {
            say!("  {label:<40}{:>14}", number(value));
        }
    }
}

/// Fixed digits where they are readable, powers of ten elsewhere.
fn number(value: f64) -> String {
    if (1e-4..1e7).contains(&value.abs()) { format!("{value:.6}") } else { format!("{value:.2e}") }
}

fn print_events(summary: &Summary, verbose: bool) {
    if summary.events.is_empty() {
        return;
    }
    let shown = if verbose { summary.events.len() } else { SHOWN_EVENTS.min(summary.events.len()) };
    say!("\nevents (start of the step)");
    for event in &summary.events[..shown] {
        say!("  {:>12.6} s  {:<24} {} → {}", event.t, event.contact, event.from, event.to);
    }
    if summary.event_count > shown {
        say!("  … and {} more in events.parquet", summary.event_count - shown);
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use stiction_scene::tally::{Task, done};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArguments,
    }

    #[test]
    fn a_run_with_options_parses_reads_builds_and_prints_its_scene_once() {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("run");
        let options = "stiction rod --step 0.005 --end 0.05 --scheme stewart-trinkle:fixed-point --method pyramid:16 \
                       --set material.steel.friction=0.3 --out";
        let line = Line::parse_from(options.split_whitespace().chain(out.to_str()));
        const TASKS: [Task; 4] = [Task::Parse, Task::Read, Task::Build, Task::Print];
        let before = TASKS.map(done);
        let Ok(code) = run(&line.run) else { panic!("it runs") };
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
        let after = TASKS.map(done);
        assert_eq!([0, 1, 2, 3].map(|task| after[task] - before[task]), [1; 4]);
        assert!(out.join("scene.toml").is_file());
    }
}

//! `stiction reproduce [ID…]`: published and reference numbers beside ours.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use stiction_scene::write_atomically;
use stiction_study::reproduce::{EXPERIMENTS, Effort, Experiment, Reproduction, Row, Tally, report};

use crate::failure::{BAD_INPUT, CHECK_FAILED, Failure};
use crate::terminal::spinner;

/// Arguments of `reproduce`.
#[derive(Args)]
pub struct ReproduceArguments {
    /// Experiments [default: all]: rod, four-balls, two-balls, lagrange, dissipation,
    /// curved-surfaces, double-pendulum, carts-damper, carts-spring, trapezoidal-rules,
    /// friction-cone, free-top, woodpecker, sphere-spin, sphere-spin-misaligned, sphere-valley,
    /// phantom-inertia, elements, painleve; and schemes, a table of every scheme on every built-in
    /// scene
    experiments: Vec<String>,
    /// Folder for the report and its figures
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    out: PathBuf,
    /// Leave out the runs that take longest, and their numbers
    #[arg(long)]
    quick: bool,
    /// Print the numbers as one JSON document, and write no report
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

/// Smaller numbers are written with a power of ten.
const SMALLEST_PLAIN: f64 = 1e-3;

/// Runs the command. A number that is not met gives exit code 1.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<ExitCode, Failure> {
    let known: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
    if let Some(unknown) = arguments.experiments.iter().find(|id| !known.contains(&id.as_str())) {
        let message = format!("there is no experiment `{unknown}`; there are {}", known.join(", "));
        return Err(Failure::new(BAD_INPUT, message));
    }
    let wanted = |id: &str| arguments.experiments.is_empty() || arguments.experiments.iter().any(|other| other == id);
    let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
    // A folder that cannot be made is said before the work.
    if !arguments.json {
        std::fs::create_dir_all(&arguments.out).map_err(|error| Failure::io("make", &arguments.out, &error))?;
    }
    let mut results = Vec::new();
    for experiment in EXPERIMENTS.iter().filter(|experiment| wanted(experiment.id)) {
        let spinner = spinner();
        let result = experiment.run(effort, &mut |what| spinner.set_message(format!("{}: {what}", experiment.id)))?;
        spinner.finish_and_clear();
        if !arguments.json {
            say!("{}: {}\n", experiment.id, experiment.title);
            print_table(&result.rows);
        }
        results.push((experiment, result));
    }
    let rows: Vec<&Row> = results.iter().flat_map(|(_, result)| &result.rows).collect();
    let tally = Tally::of(rows.iter().copied());
    if arguments.json {
        let document = serde_json::to_value(&rows).map_err(|error| Failure::new(BAD_INPUT, error))?;
        say!("{document:#}");
    } else {
        write_report(&arguments.out, &results)?;
        say!("\n{} of {} numbers met{}", tally.met, tally.count, tally.unlike_print());
    }
    Ok(if tally.met == tally.count { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Writes the page, and each figure as a file of its own.
fn write_report(folder: &Path, results: &[(&Experiment, Reproduction)]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::io("make", folder, &error))?;
    let drawings = report::drawings(results)?;
    for (name, drawing) in &drawings {
        for ending in ["png", "svg"] {
            drawing.write(folder.join(format!("{name}.{ending}")))?;
        }
    }
    let path = folder.join("report.html");
    let page = report::html(results, &drawings);
    write_atomically(&path, page.as_bytes()).map_err(|error| Failure::io("write", &path, &error))?;
    say!("report  {}", path.display());
    Ok(())
}

fn print_table(rows: &[Row]) {
    let width = rows.iter().map(|row| row.quantity.chars().count()).max().unwrap_or(0);
    say!("{:<width$} {:>10} {:>16} {:>16} {:>9}", "", "published", "reference", "computed", "±");
    let plain = |value: f64| value == 0.0 || value.abs() >= SMALLEST_PLAIN;
    let written = |value: f64| if plain(value) { format!("{value:.9}") } else { format!("{value:.6e}") };
    let none = || "–".to_string();
    for row in rows {
        say!(
            "{:<width$} {:>10} {:>16} {:>16} {:>9}  {}",
            row.quantity,
            row.printed.unwrap_or("–"),
            row.wanted(written).unwrap_or_else(none),
            if row.computed.is_nan() { none() } else { written(row.computed) },
            if row.reference.or(row.published).is_some() { format!("{:.1e}", row.tolerance) } else { none() },
            row.standing(),
        );
        row.notes().iter().for_each(|note| say!("    {note}"));
    }
    say!();
}

//! `stiction reproduce [ID…]`: published and reference numbers beside ours.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use stiction_study::reproduce::{EXPERIMENTS, Row};

use crate::failure::{BAD_INPUT, CHECK_FAILED, Failure};

/// Arguments of `reproduce`.
#[derive(Args)]
pub struct ReproduceArguments {
    /// Experiments [default: all]: rod, four-balls, double-pendulum, carts-damper, carts-spring, free-top, woodpecker,
    /// phantom-inertia, painleve
    experiments: Vec<String>,
    /// Folder for the figures
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    out: PathBuf,
    /// Print the numbers as one JSON document, and write no figures
    #[arg(long)]
    json: bool,
}

/// Runs the command. A number that is not met gives exit code 1.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<ExitCode, Failure> {
    let known: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
    if let Some(unknown) = arguments.experiments.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(Failure::new(
            BAD_INPUT,
            format!("there is no experiment `{unknown}`; there are {}", known.join(", ")),
        ));
    }
    let wanted = |id: &str| arguments.experiments.is_empty() || arguments.experiments.iter().any(|other| other == id);
    let mut all_rows = Vec::new();
    for experiment in EXPERIMENTS.iter().filter(|experiment| wanted(experiment.id)) {
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is well formed");
        let spinner = ProgressBar::new_spinner().with_style(style);
        spinner.enable_steady_tick(std::time::Duration::from_millis(100));
        let result = experiment.run(&mut |what| spinner.set_message(format!("{}: {what}", experiment.id)))?;
        spinner.finish_and_clear();
        if !arguments.json {
            say!("{}: {}\n", experiment.id, experiment.title);
            print_table(&result.rows);
            std::fs::create_dir_all(&arguments.out).map_err(|error| Failure::io("make", &arguments.out, &error))?;
            for named in &result.figures {
                for ending in ["png", "svg"] {
                    let path = arguments.out.join(format!("{}.{ending}", named.name));
                    named.figure.write(&path)?;
                    say!("figure  {}", path.display());
                }
            }
        }
        all_rows.extend(result.rows);
    }
    if arguments.json {
        let document = serde_json::to_value(&all_rows).map_err(|error| Failure::new(BAD_INPUT, error))?;
        say!("{document:#}");
    }
    let failed = all_rows.iter().filter(|row| !row.ok).count();
    if !arguments.json {
        say!("\n{} of {} numbers met", all_rows.len() - failed, all_rows.len());
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn print_table(rows: &[Row]) {
    let width = rows.iter().map(|row| row.quantity.chars().count()).max().unwrap_or(0);
    say!("{:<width$} {:>10} {:>16} {:>16} {:>9}", "", "published", "reference", "computed", "±");
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_string(), |value| format!("{value:.9}"));
    for row in rows {
        let published = row.published.map_or_else(|| "–".to_string(), |value| format!("{value}"));
        say!(
            "{:<width$} {published:>10} {:>16} {:>16} {:>9.1e}  {}",
            row.quantity,
            number(row.reference),
            number(Some(row.computed)),
            row.tolerance,
            if row.ok { "ok" } else { "NOT MET" },
        );
    }
    say!();
}

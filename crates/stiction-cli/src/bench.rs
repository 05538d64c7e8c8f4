//! `stiction bench [ID…]`: accuracy beside speed, on problems made from seeds.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use stiction_study::bench::{Row, cones, joints, lemke, siconos, stages, step, timing};

use crate::failure::{BAD_INPUT, Failure, INPUT_OUTPUT, UNSOLVED};
use crate::solve::problems;

const IDS: [&str; 6] = ["lemke", "cones", "joints", "step", "siconos", "stages"];

/// Arguments of `bench`.
#[derive(Args)]
pub struct BenchArguments {
    /// Benchmarks [default: all]: lemke, cones, joints, step, siconos (where its Python package is
    /// installed), stages
    ids: Vec<String>,
    /// Problem files for `stages`, as for `solve`; may be given more than once
    #[arg(long, value_name = "PROBLEM")]
    problems: Vec<PathBuf>,
    /// Print the numbers as one JSON document
    #[arg(long)]
    json: bool,
}

/// The rows of a benchmark, as a document and as a table, and whether all problems were solved.
struct Outcome {
    document: Value,
    table: String,
    is_solved: bool,
}

impl Outcome {
    fn new<R: Row>(rows: &[R]) -> Self {
        let headings = R::HEADINGS.iter().map(|&heading| heading.to_owned()).collect();
        let lines: Vec<Vec<String>> = std::iter::once(headings).chain(rows.iter().map(Row::cells)).collect();
        let mut table = format!("\n{}", R::TITLE);
        for line in &lines {
            table.push('\n');
            for (column, cell) in line.iter().enumerate() {
                let width = lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
                table += &if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            }
        }
        Self { document: json!(rows), table, is_solved: rows.iter().all(Row::is_solved) }
    }
}

/// Runs the command. A problem that is not solved gives exit code 3.
pub fn bench(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    if let Some(unknown) = arguments.ids.iter().find(|id| !IDS.contains(&id.as_str())) {
        return Err(Failure::new(
            BAD_INPUT,
            format!("there is no benchmark `{unknown}`; there are {}", IDS.join(", ")),
        ));
    }
    let kernel = timing::reference_kernel();
    let mut document = json!({ "reference_kernel_s": kernel });
    if !arguments.json {
        say!(
            "processor time of one thread, best of five; reference kernel (elimination of order 64): {:.1} µs",
            1e6 * kernel
        );
    }
    let mut all_solved = true;
    for id in IDS.into_iter().filter(|id| arguments.ids.is_empty() || arguments.ids.iter().any(|other| other == id)) {
        let Some(outcome) = run(id, arguments)? else { continue };
        all_solved &= outcome.is_solved;
        if !arguments.json {
            say!("{}", outcome.table);
        }
        document[id] = outcome.document;
    }
    if arguments.json {
        say!("{document:#}");
    }
    Ok(if all_solved { ExitCode::SUCCESS } else { ExitCode::from(UNSOLVED) })
}

/// Runs one benchmark; none where it is left out.
fn run(id: &'static str, arguments: &BenchArguments) -> Result<Option<Outcome>, Failure> {
    let refuse = |error: &dyn std::fmt::Display| Failure::new(BAD_INPUT, error);
    Ok(Some(match id {
        "lemke" => Outcome::new(&lemke::measure(bar(id)).map_err(|error| refuse(&error))?),
        "cones" => Outcome::new(&cones::measure(bar(id)).map_err(|error| refuse(&error))?),
        "joints" => Outcome::new(&joints::measure(bar(id)).map_err(|error| refuse(&error))?),
        "step" => Outcome::new(&step::measure(bar(id))?),
        "stages" => {
            let files: Vec<Vec<PathBuf>> =
                arguments.problems.iter().map(|path| problems(path)).collect::<Result<_, _>>()?;
            Outcome::new(&stages::measure(&files.concat(), bar(id)).map_err(|error| refuse(&error))?)
        }
        _ => match siconos::interpreter() {
            Some(interpreter) => {
                let folder = std::env::temp_dir().join(format!("stiction-bench-{}", std::process::id()));
                let rows = siconos::measure(interpreter, &folder, bar(id));
                let _ = std::fs::remove_dir_all(&folder); // what is left of it harms nobody
                Outcome::new(&rows.map_err(|message| Failure::new(INPUT_OUTPUT, message))?)
            }
            None if arguments.ids.is_empty() => {
                complain!("siconos: skipped, its Python package is not installed");
                return Ok(None);
            }
            None => {
                let remedy = "no Python with Siconos was found; on Debian install python3-siconos";
                return Err(Failure::new(BAD_INPUT, remedy));
            }
        },
    }))
}

/// A progress bar, silent where there is no terminal.
fn bar(what: &'static str) -> impl FnMut(usize, usize) {
    let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}").expect("the template is well formed");
    let bar = ProgressBar::new(0).with_style(style).with_message(what);
    move |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        if done == all {
            bar.finish_and_clear();
        }
    }
}

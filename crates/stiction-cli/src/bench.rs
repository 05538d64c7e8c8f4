//! `stiction bench [ID…]`: accuracy beside speed, on problems made from seeds.

use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use stiction_study::bench::cones::ConeRow;
use stiction_study::bench::joints::JointRow;
use stiction_study::bench::lemke::LemkeRow;
use stiction_study::bench::siconos::SiconosRow;
use stiction_study::bench::step::StepRow;
use stiction_study::bench::{cones, joints, lemke, siconos, step, timing};

use crate::failure::{BAD_INPUT, Failure, INPUT_OUTPUT, UNSOLVED};

const IDS: [&str; 5] = ["lemke", "cones", "joints", "step", "siconos"];

/// Arguments of `bench`.
#[derive(Args)]
pub struct BenchArguments {
    /// Benchmarks [default: all]: lemke, cones, joints, step, siconos (where its Python package is installed)
    ids: Vec<String>,
    /// Print the numbers as one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command. A problem that is not solved gives exit code 3.
pub fn bench(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    if let Some(unknown) = arguments.ids.iter().find(|id| !IDS.contains(&id.as_str())) {
        return Err(Failure::new(
            BAD_INPUT,
            format!("there is no benchmark `{unknown}`; there are {}", IDS.join(", ")),
        ));
    }
    let wanted = |id: &str| arguments.ids.is_empty() || arguments.ids.iter().any(|other| other == id);
    let mut document = json!({});
    let mut all_solved = true;
    let kernel = timing::reference_kernel();
    document["reference_kernel_s"] = kernel.into();
    if !arguments.json {
        say!(
            "processor time of one thread, best of five; reference kernel (elimination of order 64): {:.1} µs",
            1e6 * kernel
        );
    }
    if wanted("lemke") {
        let rows = lemke::measure(bar("lemke")).map_err(|error| Failure::new(BAD_INPUT, error))?;
        all_solved &= rows.iter().all(|row| row.solved == row.problems);
        if !arguments.json {
            print_lemke(&rows);
        }
        document["lemke"] = json!(rows);
    }
    if wanted("cones") {
        let rows = cones::measure(bar("cones")).map_err(|error| Failure::new(BAD_INPUT, error))?;
        all_solved &= rows.iter().all(|row| row.solved == row.problems);
        if !arguments.json {
            print_cones(&rows);
        }
        document["cones"] = json!(rows);
    }
    if wanted("joints") {
        let rows = joints::measure(bar("joints")).map_err(|error| Failure::new(BAD_INPUT, error))?;
        all_solved &= rows.iter().all(|row| row.is_solved);
        if !arguments.json {
            print_joints(&rows);
        }
        document["joints"] = json!(rows);
    }
    if wanted("step") {
        let rows = step::measure(bar("step"))?;
        if !arguments.json {
            print_steps(&rows);
        }
        document["step"] = json!(rows);
    }
    if wanted("siconos") {
        match siconos::interpreter() {
            Some(interpreter) => {
                let folder = std::env::temp_dir().join(format!("stiction-bench-{}", std::process::id()));
                let rows = siconos::measure(interpreter, &folder, bar("siconos"));
                let _ = std::fs::remove_dir_all(&folder); // what is left of it harms nobody
                let rows = rows.map_err(|message| Failure::new(INPUT_OUTPUT, message))?;
                all_solved &= rows.iter().all(|row| row.solved == row.problems);
                if !arguments.json {
                    print_siconos(&rows);
                }
                document["siconos"] = json!(rows);
            }
            None if arguments.ids.is_empty() => complain!("siconos: skipped, its Python package is not installed"),
            None => {
                let remedy = "no Python with Siconos was found; on Debian install python3-siconos";
                return Err(Failure::new(BAD_INPUT, remedy));
            }
        }
    }
    if arguments.json {
        say!("{document:#}");
    }
    Ok(if all_solved { ExitCode::SUCCESS } else { ExitCode::from(UNSOLVED) })
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

fn print_lemke(rows: &[LemkeRow]) {
    say!("\nLemke's method: revised, cold and warm (velocities changed by up to 1 %), and the tableau");
    say!(
        "{:<12} {:>8} {:>6} {:>8} {:>9} {:>7} {:>11} {:>7} {:>11} {:>19}",
        "family",
        "contacts",
        "n",
        "solved",
        "residual",
        "pivots",
        "cold",
        "pivots",
        "warm",
        "tableau, solved"
    );
    for row in rows {
        let tableau = row.tableau.map_or_else(
            || "–".to_owned(),
            |(solved, time)| format!("{:.1} µs, {solved}/{}", 1e6 * time, row.problems),
        );
        say!(
            "{:<12} {:>8} {:>6} {:>8} {:>9.1e} {:>7.0} {:>8.1} µs {:>7.1} {:>8.1} µs {tableau:>19}",
            row.family,
            row.contacts,
            row.unknowns,
            format!("{}/{}", row.solved, row.problems),
            row.residual,
            row.pivots,
            1e6 * row.cold,
            row.warm_pivots,
            1e6 * row.warm,
        );
    }
}

fn print_cones(rows: &[ConeRow]) {
    say!("\nExact cones to 1e-8: cold and warm (velocities changed by up to 1 %)");
    say!(
        "{:<16} {:>8} {:>8} {:>9} {:>12} {:>12} {:>12}",
        "family",
        "contacts",
        "solved",
        "residual",
        "cold, median",
        "cold, worst",
        "warm, median"
    );
    for row in rows {
        say!(
            "{:<16} {:>8} {:>8} {:>9.1e} {:>9.1} µs {:>9.1} µs {:>9.1} µs",
            row.family,
            row.contacts,
            format!("{}/{}", row.solved, row.problems),
            row.residual,
            1e6 * row.cold[0],
            1e6 * row.cold[1],
            1e6 * row.warm,
        );
    }
}

fn print_joints(rows: &[JointRow]) {
    say!("\nChains of planar links with hinges and one contact at the end, cold");
    say!(
        "{:>6} {:>11} {:>14} {:>9} {:>11} {:>11} {:>9} {:>14}",
        "links",
        "joint rows",
        "factor entries",
        "residual",
        "joints",
        "solve",
        "per link",
        "with analysis"
    );
    for row in rows {
        say!(
            "{:>6} {:>11} {:>14} {:>9.1e} {:>8.1} µs {:>8.1} µs {:>6.2} µs {:>11.1} µs",
            row.links,
            row.joint_rows,
            row.factor_entries,
            row.residual,
            1e6 * row.joints,
            1e6 * row.solve,
            1e6 * row.solve / row.links as f64,
            1e6 * row.first,
        );
    }
}

fn print_steps(rows: &[StepRow]) {
    say!("\nTime steps of built-in scenes, without audit and recording");
    say!(
        "{:<16} {:>7} {:>12} {:>11} {:>9} {:>11}",
        "scene",
        "steps",
        "solves/step",
        "largest n",
        "residual",
        "per step"
    );
    for row in rows {
        say!(
            "{:<16} {:>7} {:>12.2} {:>11} {:>9.1e} {:>8.2} µs",
            row.scene,
            row.steps,
            row.solves_per_step,
            row.largest_lcp,
            row.residual,
            1e6 * row.per_step,
        );
    }
}

fn print_siconos(rows: &[SiconosRow]) {
    say!("\nThe same files by Siconos (lexicographic Lemke); ratios are medians of its time over ours");
    say!(
        "{:>8} {:>8} {:>9} {:>13} {:>13} {:>8} {:>16}",
        "contacts",
        "solved",
        "Siconos",
        "time",
        "Siconos",
        "ratio",
        "where it solves"
    );
    for row in rows {
        let solved = |count: usize| format!("{count}/{}", row.problems);
        say!(
            "{:>8} {:>8} {:>9} {:>10.1} µs {:>10.1} µs {:>8.1} {:>16}",
            row.contacts,
            solved(row.solved),
            solved(row.siconos_solved),
            1e6 * row.time,
            1e6 * row.siconos_time,
            row.ratio,
            row.ratio_where_solved.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}")),
        );
    }
}

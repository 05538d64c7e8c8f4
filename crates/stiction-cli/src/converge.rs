//! `stiction converge SCENE`: error, observed order and work of schemes over a range of steps.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use stiction_scene::load::open;
use stiction_scene::set::Edit;
use stiction_study::converge::{
    Convergence, EventDrivenLimits, Plan, ReferenceChoice, SchemeChoice, converge as compare,
};
use stiction_study::figure::check_extension;

use crate::choice::SCHEME;
use crate::failure::{Failure, UNSOLVED};
use crate::terminal::spinner;

/// Step sizes relative to that of the scene when none are given: six halvings.
const DEFAULT_STEPS: [f64; 7] = [8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125];

/// Errors of a smaller order do not go to zero with the step, as far as the runs show.
const LEAST_ORDER: f64 = 0.3;

/// Arguments of `converge`.
#[derive(Args)]
pub struct ConvergeArguments {
    /// A scene file, `-` for standard input, or the name of a built-in scene
    scene: String,
    /// Step sizes, in seconds [default: from 8 times to 1/8 of the scene's]
    #[arg(long, value_name = "H,…", value_delimiter = ',')]
    steps: Vec<f64>,
    /// Schemes, as for `run`, with default settings unless --set gives others
    #[arg(
        long,
        value_name = "S,…",
        value_delimiter = ',',
        default_value = "stewart-trinkle,moreau-midpoint,trapezoidal"
    )]
    schemes: Vec<String>,
    /// What errors are measured against: `auto`, `fine`, or a scheme as for `run`. `auto` is
    /// event-driven where that scheme follows the motion, and `fine` elsewhere or when
    /// --reference-step is given; `fine` is trapezoidal with a fine step
    #[arg(long, value_name = "R", default_value = "auto")]
    reference: String,
    /// Step of a fine reference, in seconds [default: 1/16 of the finest]
    #[arg(long, value_name = "H")]
    reference_step: Option<f64>,
    /// End, in seconds
    #[arg(long, value_name = "T")]
    end: Option<f64>,
    /// Change any value of the scene, for example --set material.steel.friction=0.3
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Figure, PNG, SVG or PDF [default: runs/converge-NAME.png]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the numbers as one JSON document, and draw nothing unless --out is given
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn converge(arguments: &ConvergeArguments) -> Result<ExitCode, Failure> {
    let named = |option: &str, scheme: &str| {
        Ok::<_, Failure>(SchemeChoice { name: scheme.to_owned(), edit: SCHEME.edit(option, scheme)? })
    };
    let end = arguments.end.map(|end| Ok(Edit::option(format!("--end {end}"), "run.end", end)));
    let sets = arguments.overrides.iter().map(|text| Edit::set(text));
    let edits = end.into_iter().chain(sets).collect::<Result<Vec<_>, _>>()?;
    let document = open(&arguments.scene)?;
    let scene = document.clone().load(edits.clone())?.into_scene();
    let steps = match arguments.steps.as_slice() {
        [] => DEFAULT_STEPS.map(|factor| factor * scene.run.step).to_vec(),
        steps => steps.to_vec(),
    };
    let plan = Plan {
        subject: document.into(),
        edits,
        schemes: arguments.schemes.iter().map(|scheme| named("--schemes", scheme)).collect::<Result<_, _>>()?,
        steps,
        reference: match (arguments.reference.as_str(), arguments.reference_step) {
            ("auto", None) => ReferenceChoice::Automatic,
            ("auto", Some(_)) | ("fine", _) => ReferenceChoice::Fine,
            (scheme, _) => ReferenceChoice::Scheme(
                named("--reference", scheme).map_err(|failure| failure.with_note(", auto, fine"))?,
            ),
        },
        reference_step: arguments.reference_step,
        limits: EventDrivenLimits::default(),
    };
    let default = || PathBuf::from("runs").join(format!("converge-{}.png", scene.name));
    let figure = arguments.out.clone().or_else(|| (!arguments.json).then(default));
    // What cannot be written is said before the work.
    if let Some(path) = &figure {
        check_extension(path)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Failure::io("make", folder, &error))?;
        }
    }
    let spinner = spinner();
    let result = compare(&plan, &mut |what| spinner.set_message(what.to_owned()));
    spinner.finish_and_clear();
    let convergence = result?;

    if arguments.json {
        say!("{:#}", json!(convergence));
    } else {
        print(&convergence);
    }
    if let Some(path) = figure {
        convergence.figure().write(&path)?;
        if !arguments.json {
            say!("figure  {}", path.display());
        }
    }
    let is_whole = convergence.schemes.iter().all(|summary| summary.failed.is_empty());
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(UNSOLVED) })
}

fn print(convergence: &Convergence) {
    say!("{}", convergence.scene);
    convergence.reference_lines().iter().for_each(|line| say!("{line}"));
    say!();
    let width = convergence.schemes.iter().map(|summary| summary.scheme.len()).max().unwrap_or(0);
    say!(
        "{:<width$} {:>10} {:>12} {:>12} {:>14} {:>9} {:>10}",
        "scheme",
        "step, s",
        "error",
        "at the end",
        "numerical, J",
        "problems",
        "time, ms"
    );
    for summary in &convergence.schemes {
        for run in convergence.runs.iter().filter(|run| run.scheme == summary.scheme) {
            let unmet =
                if run.certificate == "met" { String::new() } else { format!("  certificate {}", run.certificate) };
            say!(
                "{:<width$} {:>10.3e} {:>12.3e} {:>12.3e} {:>14.3e} {:>9} {:>10.2}{unmet}",
                run.scheme,
                run.step,
                run.error,
                run.error_at_end,
                run.numerical_energy,
                run.solves,
                1e3 * run.time
            );
        }
        for failed in &summary.failed {
            say!("{:<width$} {:>10.3e} failed: {}", summary.scheme, failed.step, failed.reason);
        }
        let fitted = |order: Option<f64>| order.map_or_else(|| "–".to_owned(), |order| format!("{order:.2}"));
        match &summary.refused {
            Some(reason) => say!("{:<width$} not possible: {reason}\n", summary.scheme),
            None => {
                let is_elsewhere = summary.order.is_some_and(|order| order < LEAST_ORDER);
                say!(
                    "{:<width$} order {}, of the numerical energy {}{}\n",
                    summary.scheme,
                    fitted(summary.order),
                    fitted(summary.energy_order),
                    if is_elsewhere { ": these runs do not approach the reference" } else { "" }
                );
            }
        }
    }
}

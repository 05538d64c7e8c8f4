//! Convergence of schemes on a scene: error against a fine reference, observed order, work against precision.
//!
//! The error of a run is the largest difference of any recorded coordinate from the reference, over all times of the coarsest
//! grid. Coordinates and not velocities, because velocities jump at impacts, whose times differ from step to step. The order is the slope
//! of a straight line through all runs of a scheme: single ratios are erratic across impacts.

use std::time::Duration;

use serde::Serialize;
use stiction_dynamics::{Audit, StepError};
use stiction_scene::load::load;
use stiction_scene::scene_error::SceneError;
use thiserror::Error;

use crate::bench::timing::processor_time;
use crate::figure::{Figure, Panel, Series, SeriesKind};
use crate::reproduce::fitted_order;

/// How much finer the step of the reference is than the finest step that is compared.
const REFERENCE_REFINEMENT: f64 = 16.0;

/// Times of two grids are the same when they differ by less than this share of a step.
const SAME_TIME: f64 = 1e-6;

/// What is compared.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A scene file, or the name of a built-in scene.
    pub scene: String,
    /// Overrides of the scene, as `path=value`.
    pub overrides: Vec<String>,
    /// Schemes: a name to show, and the override that chooses it.
    pub schemes: Vec<(String, String)>,
    /// Step sizes, in seconds.
    pub steps: Vec<f64>,
    /// The scheme of the reference, as for `schemes`.
    pub reference: (String, String),
    /// Its step size, in seconds; a fraction of the finest step when it is not given.
    pub reference_step: Option<f64>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Scheme.
    pub scheme: String,
    /// Step size, in seconds.
    pub step: f64,
    /// Largest difference of a coordinate from the reference, in metres or radians.
    pub error: f64,
    /// The same at the end alone.
    pub error_at_end: f64,
    /// Energy that the scheme itself added or removed, summed without sign, in joules.
    pub numerical_energy: f64,
    /// Complementarity problems that were solved.
    pub solves: usize,
    /// Processor time, in seconds, without audit.
    pub time: f64,
}

/// A scheme over all steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SchemeSummary {
    /// Scheme.
    pub scheme: String,
    /// Fitted order of the error.
    pub order: Option<f64>,
    /// Fitted order of the numerical energy.
    pub energy_order: Option<f64>,
    /// Why there are no runs, if there are none.
    pub refused: Option<String>,
}

/// What a comparison gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Convergence {
    /// Name of the scene.
    pub scene: String,
    /// Scheme of the reference.
    pub reference: String,
    /// Its step size, in seconds.
    pub reference_step: f64,
    /// All runs.
    pub runs: Vec<Run>,
    /// The schemes.
    pub schemes: Vec<SchemeSummary>,
}

/// A comparison that could not be made.
#[derive(Debug, Error)]
pub enum ConvergeError {
    /// The scene could not be loaded.
    #[error(transparent)]
    Scene(#[from] Box<SceneError>),
    /// A step could not be made.
    #[error("{scheme} with a step of {step} s: {source}")]
    Step {
        /// Which scheme.
        scheme: String,
        /// Its step size, in seconds.
        step: f64,
        /// What happened.
        source: Box<StepError>,
    },
    /// The steps are not usable.
    #[error("{0}")]
    Steps(String),
}

/// Coordinates at the times of the coarsest grid, and what they cost.
struct Trace {
    samples: Vec<Vec<f64>>,
    numerical_energy: f64,
    solves: usize,
    time: Duration,
}

/// Runs a comparison; `progress` hears what is being computed.
///
/// # Errors
/// [`ConvergeError`]. A scheme that cannot treat the scene is not an error but is left out, with the reason.
pub fn converge(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Convergence, ConvergeError> {
    let unusable = plan.steps.iter().find(|step| !(**step > 0.0 && step.is_finite()));
    if let Some(step) = unusable {
        return Err(ConvergeError::Steps(format!("a step is {step} s, and must be positive")));
    }
    let coarsest = plan.steps.iter().copied().fold(0.0, f64::max);
    let finest = plan.steps.iter().copied().fold(f64::INFINITY, f64::min);
    if plan.steps.len() < 2 || coarsest == finest {
        return Err(ConvergeError::Steps("give at least two different steps".to_owned()));
    }
    let reference_step = plan.reference_step.unwrap_or(finest / REFERENCE_REFINEMENT);
    progress(&format!("reference: {}, step {reference_step:e} s", plan.reference.0));
    let reference = trace(plan, &plan.reference, reference_step, coarsest)?;

    let mut convergence = Convergence {
        scene: plan.scene.clone(),
        reference: plan.reference.0.clone(),
        reference_step,
        runs: Vec::new(),
        schemes: Vec::new(),
    };
    for scheme in &plan.schemes {
        let mut summary = SchemeSummary { scheme: scheme.0.clone(), order: None, energy_order: None, refused: None };
        let (mut errors, mut energies) = (Vec::new(), Vec::new());
        for &step in &plan.steps {
            progress(&format!("{}, step {step:e} s", scheme.0));
            let run = match trace(plan, scheme, step, coarsest) {
                Ok(trace) => compare(&scheme.0, step, &trace, &reference),
                Err(ConvergeError::Scene(error)) => {
                    summary.refused = Some(error.to_string());
                    break;
                }
                Err(error) => return Err(error),
            };
            errors.push((step, run.error));
            energies.push((step, run.numerical_energy));
            convergence.runs.push(run);
        }
        summary.order = order(&errors);
        summary.energy_order = order(&energies);
        convergence.schemes.push(summary);
    }
    Ok(convergence)
}

/// The fitted order, unless errors are missing or zero.
fn order(rows: &[(f64, f64)]) -> Option<f64> {
    let is_usable = rows.len() > 1 && rows.iter().all(|(_, error)| *error > 0.0 && error.is_finite());
    is_usable.then(|| fitted_order(rows))
}

/// Runs the scene with one scheme and step, and keeps the coordinates at the times of the coarsest grid.
fn trace(plan: &Plan, scheme: &(String, String), step: f64, coarsest: f64) -> Result<Trace, ConvergeError> {
    let mut overrides = vec![scheme.1.clone(), format!("run.step={step:e}")];
    overrides.extend_from_slice(&plan.overrides);
    let loaded = load(&plan.scene, &overrides).map_err(Box::new)?;
    let mut simulation = loaded.build().map_err(Box::new)?;
    let mut audit = Audit::default();
    let (start, end) = (simulation.grid().start, simulation.grid().end);
    let mut trace = Trace { samples: Vec::new(), numerical_energy: 0.0, solves: 0, time: Duration::ZERO };
    while !simulation.is_finished() {
        let began = processor_time();
        let stepped = simulation.step();
        trace.time += processor_time() - began;
        if let Err(source) = stepped {
            return Err(ConvergeError::Step { scheme: scheme.0.clone(), step, source: Box::new(source) });
        }
        trace.solves += simulation.last_step().report.solves.len();
        let solver = simulation.scheme().contact_solver();
        let certificate = audit.observe(simulation.system(), solver, simulation.before(), simulation.last_step());
        trace.numerical_energy += certificate.energy.numerical.abs();
        let t = simulation.state().t;
        let places = (t - start) / coarsest;
        let is_sample = (places - places.round()).abs() < SAME_TIME * step / coarsest || t == end;
        // The last of several states at one time, after an impact.
        let number = if t == end { ((end - start) / coarsest).ceil() as usize } else { places.round() as usize };
        if is_sample && number > 0 {
            trace.samples.truncate(number - 1);
            trace.samples.push(simulation.state().q.clone());
        }
    }
    Ok(trace)
}

fn compare(scheme: &str, step: f64, trace: &Trace, reference: &Trace) -> Run {
    let difference = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    let last = |samples: &[Vec<f64>]| samples.last().cloned().unwrap_or_default();
    // Steps that do not divide the coarsest one meet it at the end alone.
    let error_at_end = difference(&last(&trace.samples), &last(&reference.samples));
    let error = match trace.samples.len() == reference.samples.len() {
        true => trace.samples.iter().zip(&reference.samples).fold(0.0f64, |most, (a, b)| most.max(difference(a, b))),
        false => error_at_end,
    };
    Run {
        scheme: scheme.to_owned(),
        step,
        error,
        error_at_end,
        numerical_energy: trace.numerical_energy,
        solves: trace.solves,
        time: trace.time.as_secs_f64(),
    }
}

impl Convergence {
    /// Error over step size, and over processor time.
    pub fn figure(&self) -> Figure {
        let series = |x: &dyn Fn(&Run) -> f64| {
            let of_scheme = |summary: &SchemeSummary| {
                let runs = self.runs.iter().filter(|run| run.scheme == summary.scheme);
                let order = summary.order.map_or_else(String::new, |order| format!(", order {order:.2}"));
                Series {
                    label: format!("{}{order}", summary.scheme),
                    points: runs.map(|run| (x(run), run.error)).collect(),
                    kind: SeriesKind::LineAndPoints,
                    ..Default::default()
                }
            };
            self.schemes.iter().filter(|scheme| scheme.refused.is_none()).map(of_scheme).collect::<Vec<_>>()
        };
        let panel = |title: &str, x_label: &str, series| Panel {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            y_label: "largest error of a coordinate".to_owned(),
            log_x: true,
            log_y: true,
            series,
            ..Default::default()
        };
        Figure {
            title: format!("Convergence: {}", self.scene),
            subtitle: format!("against {} with a step of {:.1e} s", self.reference, self.reference_step),
            panels: vec![
                panel("Accuracy", "step, s", series(&|run| run.step)),
                panel("Work and precision", "processor time, s", series(&|run| run.time)),
            ],
            columns: 2,
            size: (1000, 460),
            ..Default::default()
        }
    }
}

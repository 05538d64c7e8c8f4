//! Convergence of schemes on a scene or a system of one's own: error against a reference, observed order, work.
//!
//! The error of a run is the largest difference of any recorded coordinate from the
//! [reference](Reference), over all times of the coarsest grid. Coordinates and not velocities,
//! because velocities jump at impacts, whose times differ from step to step. The order is the slope
//! of a straight line through all runs of a scheme whose errors are well above that of the
//! reference: single ratios are erratic across impacts.

mod reference;
mod trace;

use std::sync::Arc;

use serde::Serialize;
use stiction_dynamics::{SchemeSettings, Simulation, StepError};
use stiction_scene::Document;
use stiction_scene::scene_error::SceneError;
use stiction_scene::set::Edit;
use thiserror::Error;

use crate::certified::Auditor;
use crate::figure::{Colour, Figure, Panel, Rule, RulePosition, Series, SeriesKind};
use crate::reproduce::fitted_order;
pub use reference::{EventDrivenLimits, PassedOver, Reference, ReferenceChoice, ReferenceKind};
use trace::{Trace, scheme_of, simulation};

/// Errors up to this many times that of the reference do not count for the order: schemes that
/// locate events leave errors of that size too, whatever the step. Too large: no order for accurate
/// schemes. Too small: orders of rounding.
const FLOOR_MARGIN: f64 = 100.0;

/// Energies below this share of what a run turned over are rounding, and have no order.
const ENERGY_ROUNDING: f64 = 1e-12;

/// The error of the reference is drawn where an error comes this close to it.
const NEAR_FLOOR: f64 = 1e3;

/// A scheme, and how to choose it.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeChoice {
    /// Its name, to show.
    pub name: String,
    /// The edit of the scene that chooses it.
    pub edit: Edit,
}

impl SchemeChoice {
    /// The scheme of this name, with default settings.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), edit: Edit::defaults(format!("the scheme {name}"), &format!("scheme.{name}")) }
    }

    /// Why it cannot treat a scene, without the edit that chose it: that is named beside the
    /// reason.
    fn refusal(&self, error: &SceneError) -> String {
        match error {
            SceneError::Edit { given, message, .. } if given == self.edit.given() => message.clone(),
            // What the scene says elsewhere and this scheme does not treat.
            SceneError::Text(error) => error.message.clone(),
            error => error.to_string(),
        }
    }

    fn is_event_driven(&self) -> bool {
        scheme_of(&self.edit) == Some("event-driven")
    }
}

/// Makes the simulation of a system with a scheme and a step, in seconds.
pub type MakeSimulation = Arc<dyn Fn(&SchemeSettings, f64) -> Simulation>;

/// What moves.
#[derive(Clone)]
pub enum Subject {
    /// A scene.
    Scene(Document),
    /// A system of one's own.
    System {
        /// What it is, in a line.
        title: String,
        /// Its simulation with a scheme and a step.
        simulation: MakeSimulation,
    },
}

impl From<Document> for Subject {
    fn from(scene: Document) -> Self {
        Self::Scene(scene)
    }
}

/// What is compared.
#[derive(Clone)]
pub struct Plan {
    /// What moves.
    pub subject: Subject,
    /// Edits of a scene. Settings of a scheme go to the runs of that scheme alone.
    pub edits: Vec<Edit>,
    /// Schemes.
    pub schemes: Vec<SchemeChoice>,
    /// Step sizes, in seconds.
    pub steps: Vec<f64>,
    /// What they are compared with.
    pub reference: ReferenceChoice,
    /// Step size of a fine reference, in seconds; without it, a fraction of the finest step.
    pub reference_step: Option<f64>,
    /// How far [`ReferenceChoice::Automatic`] tries the event-driven scheme.
    pub limits: EventDrivenLimits,
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
    /// What its certificate says: `met`, or what is not.
    pub certificate: String,
    /// Whether what it does not meet is only what its step costs in accuracy, as penetration.
    pub keeps_laws: bool,
    /// Complementarity problems that were solved.
    pub solves: usize,
    /// Processor time, in seconds, without audit.
    pub time: f64,
}

/// A scheme over all steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SchemeSummary {
    /// Scheme.
    pub scheme: String,
    /// Fitted order of the error, over the runs whose error is well above that of the reference.
    pub order: Option<f64>,
    /// Fitted order of the numerical energy, where it is more than rounding.
    pub energy_order: Option<f64>,
    /// Why there are no runs, where the scheme cannot treat the scene.
    pub refused: Option<String>,
    /// Runs that ended before their time.
    pub failed: Vec<FailedRun>,
}

/// A run with a step that could not be made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedRun {
    /// Step size, in seconds.
    pub step: f64,
    /// What happened.
    pub reason: String,
}

/// What a comparison gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Convergence {
    /// Title of the scene or system.
    pub scene: String,
    /// What the errors are measured against.
    pub reference: Reference,
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
    /// The event-driven scheme needed more than it may.
    #[error("it had used up {spent} at t = {t} s of {end} s; `--reference event-driven` lets it go on")]
    TooMuch {
        /// What it used up.
        spent: String,
        /// How far it came, in seconds.
        t: f64,
        /// How far it should have come, in seconds.
        end: f64,
    },
    /// The plan is not usable.
    #[error("{0}")]
    Plan(String),
}

/// Runs a comparison; `progress` hears what is being computed.
///
/// # Errors
/// [`ConvergeError`]. A scheme that cannot treat the scene is no error, nor is a run that fails:
/// both are left out, with the reason.
pub fn converge(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Convergence, ConvergeError> {
    let (coarsest, finest) = check(plan)?;
    let (reference, exact) = reference::find(plan, (coarsest, finest), progress)?;
    let floor = FLOOR_MARGIN * reference.error_floor.unwrap_or(f64::EPSILON * exact.largest_coordinate());
    let scene = match &plan.subject {
        Subject::Scene(document) => document.title().to_owned(),
        Subject::System { title, .. } => title.clone(),
    };
    let mut convergence = Convergence { scene, reference, runs: Vec::new(), schemes: Vec::new() };
    for scheme in &plan.schemes {
        let mut summary = SchemeSummary { scheme: scheme.name.clone(), ..Default::default() };
        let (mut errors, mut energies, mut energy_floor) = (Vec::new(), Vec::new(), 0.0f64);
        for &step in &plan.steps {
            progress(&format!("{}, step {step:e} s", scheme.name));
            let simulation = match simulation(plan, scheme, step, 1.0) {
                Ok((simulation, _)) => simulation,
                Err(error) => {
                    summary.refused = Some(scheme.refusal(&error));
                    break;
                }
            };
            let mut auditor = Auditor::default();
            let trace = match Trace::run(simulation, scheme, coarsest, Some(&mut auditor), None) {
                Ok(trace) => trace,
                Err(ConvergeError::Step { source, .. }) => {
                    summary.failed.push(FailedRun { step, reason: source.to_string() });
                    continue;
                }
                Err(error) => return Err(error),
            };
            let ((error, error_at_end), verdict) = (trace.difference(&exact), auditor.verdict());
            let run = Run {
                scheme: scheme.name.clone(),
                step,
                error,
                error_at_end,
                numerical_energy: trace.numerical_energy,
                certificate: verdict.words(),
                keeps_laws: verdict.keeps_laws(),
                solves: trace.solves,
                time: trace.time.as_secs_f64(),
            };
            errors.push((step, run.error));
            energies.push((step, run.numerical_energy));
            energy_floor = energy_floor.max(ENERGY_ROUNDING * trace.turned_over);
            convergence.runs.push(run);
        }
        summary.order = order(&errors, floor);
        summary.energy_order = order(&energies, energy_floor);
        convergence.schemes.push(summary);
    }
    Ok(convergence)
}

/// The coarsest and the finest step of a plan that can be carried out.
fn check(plan: &Plan) -> Result<(f64, f64), ConvergeError> {
    let refuse = |message: String| Err(ConvergeError::Plan(message));
    let mut steps = plan.steps.iter().chain(&plan.reference_step);
    if let Some(step) = steps.find(|step| !(**step > 0.0 && step.is_finite())) {
        return refuse(format!("a step is {step} s, and must be positive"));
    }
    let coarsest = plan.steps.iter().copied().fold(0.0, f64::max);
    let finest = plan.steps.iter().copied().fold(f64::INFINITY, f64::min);
    if plan.steps.len() < 2 || coarsest == finest {
        return refuse("give at least two different steps".to_owned());
    }
    if let Some(edit) = plan.edits.iter().find(|edit| scheme_of(edit) == Some("")) {
        return refuse(format!(
            "`{}` chooses one scheme for all runs: name schemes by `--schemes` and `--reference`",
            edit.given()
        ));
    }
    if let (ReferenceChoice::Scheme(scheme), Some(step)) = (&plan.reference, plan.reference_step)
        && scheme.is_event_driven()
    {
        return refuse(format!(
            "the reference has a step of {step} s, and the accuracy of `event-driven` does not depend on one: \
             give `--set scheme.event-driven.tolerance=…`, or a time-stepping scheme"
        ));
    }
    Ok((coarsest, finest))
}

/// The fitted order of the errors above the floor, unless there are fewer than two.
pub(crate) fn order(rows: &[(f64, f64)], floor: f64) -> Option<f64> {
    let rows: Vec<_> = rows.iter().copied().filter(|(_, error)| *error > floor).collect();
    (rows.len() > 1 && rows.iter().all(|(_, error)| error.is_finite())).then(|| fitted_order(&rows))
}

impl Convergence {
    /// What the reference is, its own error, and which schemes are not the reference and why.
    pub fn reference_lines(&self) -> Vec<String> {
        let Reference { passed_over, .. } = &self.reference;
        let passed_over =
            passed_over.iter().map(|PassedOver { scheme, reason, .. }| format!("Not against {scheme}: {reason}"));
        let reference =
            format!("Errors against {}; {}", self.reference.description(), self.reference.floor_description());
        std::iter::once(reference).chain(passed_over).collect()
    }

    /// Errors of a scheme by step size, the largest step first.
    pub fn errors(&self, scheme: &str) -> Vec<(f64, f64)> {
        self.runs.iter().filter(|run| run.scheme == scheme).map(|run| (run.step, run.error)).collect()
    }

    /// Errors below this are not told from those of the reference.
    pub fn floor(&self) -> Option<f64> {
        self.reference.error_floor.map(|floor| FLOOR_MARGIN * floor)
    }

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
        let smallest = self.runs.iter().map(|run| run.error).fold(f64::INFINITY, f64::min);
        let floor = self.reference.error_floor.filter(|floor| *floor > 0.0 && smallest < NEAR_FLOOR * floor);
        let floor = floor.map(|floor| Rule {
            position: RulePosition::Y(floor),
            label: "error of the reference".to_owned(),
            colour: Colour::GREY,
            ..Default::default()
        });
        let panel = |title: &str, x_label: &str, series| Panel {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            y_label: "largest error of a coordinate".to_owned(),
            log_x: true,
            log_y: true,
            series,
            rules: floor.iter().cloned().collect(),
            ..Default::default()
        };
        Figure {
            title: format!("Convergence: {}", self.scene),
            subtitle: self.reference_lines().join(". "),
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

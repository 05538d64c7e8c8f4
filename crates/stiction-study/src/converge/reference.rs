//! What errors are measured against: the event-driven scheme where it can, else a fine step.
//!
//! The event-driven scheme has no step that its accuracy depends on. Its own error is its
//! tolerance, or what a second run with looser tolerances differs by where that is more: the motion
//! may amplify errors. Below this floor errors are those of the reference.

use std::time::Duration;

use serde::Serialize;
use stiction_dynamics::{EventDrivenSettings, SchemeSettings};

use super::trace::{Trace, simulation};
use super::{ConvergeError, Plan, SchemeChoice};
use crate::certified::Auditor;

/// How much finer the step of a fine reference is than the finest step that is compared.
const REFERENCE_REFINEMENT: f64 = 16.0;

/// How much looser the tolerances of the run are that measures the event-driven one.
const LOOSER: f64 = 100.0;

/// Which run is the reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ReferenceChoice {
    /// The event-driven scheme within the limits of the plan, else as [`ReferenceChoice::Fine`].
    #[default]
    Automatic,
    /// A fine run of the trapezoidal scheme, or else of the first compared scheme that can.
    Fine,
    /// This scheme without limits: the event-driven one as it is, another one with a fine step.
    Scheme(SchemeChoice),
}

/// How far the event-driven scheme is tried before another reference is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventDrivenLimits {
    /// Stops at events in the whole run. A motion with more of them chatters.
    pub stops: usize,
    /// Processor time. It is looked at between steps, so that a single step may exceed it.
    pub time: Duration,
}

impl Default for EventDrivenLimits {
    fn default() -> Self {
        Self { stops: 5000, time: Duration::from_secs(20) }
    }
}

impl EventDrivenLimits {
    /// What a run used up, where that is more than it may.
    pub(super) fn exceeded_by(&self, trace: &Trace) -> Option<String> {
        if trace.stops > self.stops {
            return Some(format!("{} stops at events", self.stops));
        }
        (trace.time > self.time).then(|| format!("{} s of processor time", self.time.as_secs_f64()))
    }
}

/// What a reference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceKind {
    /// Events located and smooth motions integrated, both to a tolerance.
    EventDriven,
    /// A time-stepping scheme with a fine step.
    Fine,
}

/// The reference of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// What it is.
    pub kind: ReferenceKind,
    /// Its scheme.
    pub scheme: String,
    /// Its step, in seconds; none where the accuracy does not depend on one.
    pub step: Option<f64>,
    /// Its tolerance, relative; of the event-driven scheme.
    pub tolerance: Option<f64>,
    /// Steps that ended at events.
    pub stops: usize,
    /// Estimate of its own error, in metres or radians: errors below it are not those of a scheme.
    pub error_floor: Option<f64>,
    /// What its certificate says: `met`, or what is not.
    pub certificate: String,
    /// Schemes that would have been better, and why they are not the reference.
    pub passed_over: Vec<PassedOver>,
}

/// A scheme that is not the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassedOver {
    /// Scheme.
    pub scheme: String,
    /// Why not.
    pub reason: String,
    /// Whether a step failed; else it cannot treat the scene, or would have taken too long.
    pub has_failed: bool,
}

impl Reference {
    /// What it is, in words.
    pub fn description(&self) -> String {
        let stops = match self.stops {
            0 => "no events".to_owned(),
            1 => "1 stop at an event".to_owned(),
            stops => format!("{stops} stops at events"),
        };
        match (self.step, self.tolerance) {
            (Some(step), _) => format!("{} with a step of {step:.1e} s", self.scheme),
            (None, Some(tolerance)) => format!("{} with a tolerance of {tolerance:.0e}, {stops}", self.scheme),
            (None, None) => self.scheme.clone(),
        }
    }

    /// What is known of its own error, in words.
    pub fn floor_description(&self) -> String {
        match (self.kind, self.error_floor) {
            (_, Some(floor)) => format!("its own error is about {floor:.0e}: smaller ones say nothing"),
            (ReferenceKind::EventDriven, None) => {
                "its own error is not known: the run that measures it failed".to_owned()
            }
            (ReferenceKind::Fine, None) => "its own error is that of its step, and not known".to_owned(),
        }
    }
}

/// Finds the reference of a plan.
pub(super) fn find(
    plan: &Plan,
    (coarsest, finest): (f64, f64),
    progress: &mut dyn FnMut(&str),
) -> Result<(Reference, Trace), ConvergeError> {
    let step = plan.reference_step.unwrap_or(finest / REFERENCE_REFINEMENT);
    let mut passed_over = Vec::new();
    let mut candidates = candidates(plan).into_iter().peekable();
    while let Some((scheme, limits)) = candidates.next() {
        let found = candidate(plan, &scheme, (step, coarsest), limits.as_ref(), progress);
        match found {
            Ok((mut reference, trace)) => {
                reference.passed_over = passed_over;
                return Ok((reference, trace));
            }
            Err(error) if candidates.peek().is_none() => return Err(error),
            Err(error) => {
                // The scheme is named beside the reason.
                let has_failed = matches!(error, ConvergeError::Step { .. });
                let reason = match error {
                    ConvergeError::Step { source, .. } => source.to_string(),
                    ConvergeError::Scene(error) => scheme.refusal(&error),
                    error => error.to_string(),
                };
                passed_over.push(PassedOver { scheme: scheme.name, reason, has_failed });
            }
        }
    }
    unreachable!("the last candidate is returned or its error is")
}

/// Schemes that may give the reference, best first, with the limits of their runs.
fn candidates(plan: &Plan) -> Vec<(SchemeChoice, Option<EventDrivenLimits>)> {
    if let ReferenceChoice::Scheme(scheme) = &plan.reference {
        return vec![(scheme.clone(), None)];
    }
    let mut candidates = Vec::new();
    if plan.reference == ReferenceChoice::Automatic {
        candidates.push((SchemeChoice::named("event-driven"), Some(plan.limits)));
    }
    candidates.push((SchemeChoice::named("trapezoidal"), None));
    for scheme in &plan.schemes {
        if !scheme.is_event_driven() && candidates.iter().all(|(other, _)| other != scheme) {
            candidates.push((scheme.clone(), None));
        }
    }
    candidates
}

/// A run with a fine step; or one of the event-driven scheme, and a looser one to measure it.
fn candidate(
    plan: &Plan,
    scheme: &SchemeChoice,
    (step, coarsest): (f64, f64),
    limits: Option<&EventDrivenLimits>,
    progress: &mut dyn FnMut(&str),
) -> Result<(Reference, Trace), ConvergeError> {
    let (step, what) = match scheme.is_event_driven() {
        true => (coarsest, format!("reference: {}", scheme.name)),
        false => (step, format!("reference: {}, step {step:e} s", scheme.name)),
    };
    progress(&what);
    let (run, settings) = simulation(plan, scheme, step, 1.0)?;
    let mut auditor = Auditor::default();
    let trace = Trace::run(run, scheme, coarsest, Some(&mut auditor), limits)?;
    let mut reference = Reference {
        kind: ReferenceKind::Fine,
        scheme: scheme.name.clone(),
        step: Some(step),
        tolerance: None,
        stops: trace.stops,
        error_floor: None,
        certificate: auditor.verdict().words(),
        passed_over: Vec::new(),
    };
    if let SchemeSettings::EventDriven(EventDrivenSettings { tolerance, .. }) = settings {
        progress(&format!("{what}, its own error"));
        let looser = simulation(plan, scheme, step, LOOSER).ok();
        let looser = looser.and_then(|(run, _)| Trace::run(run, scheme, coarsest, None, limits).ok());
        reference.kind = ReferenceKind::EventDriven;
        (reference.step, reference.tolerance) = (None, Some(tolerance));
        let least = tolerance * trace.largest_coordinate();
        reference.error_floor = looser.map(|looser| looser.difference(&trace).0.max(least));
    }
    Ok((reference, trace))
}

//! One run with one scheme and step, seen at the times of the coarsest grid.

use std::time::Duration;

use stiction_dynamics::{SchemeSettings, Simulation};
use stiction_scene::Scene;
use stiction_scene::scene_error::SceneError;
use stiction_scene::set::Edit;

use super::{ConvergeError, EventDrivenLimits, Plan, SchemeChoice, Subject};
use crate::bench::timing::processor_time;
use crate::certified::Auditor;

/// Times of two grids are the same when they differ by less than this share of a step.
const SAME_TIME: f64 = 1e-6;

/// Coordinates at the times of the coarsest grid, and what they cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    pub samples: Vec<Vec<f64>>,
    /// Energy that the scheme itself added or removed, summed without sign; zero without an audit.
    pub numerical_energy: f64,
    /// Largest work of any cause, in joules.
    pub turned_over: f64,
    /// Complementarity problems that were solved.
    pub solves: usize,
    /// Steps that ended between times of the grid, at an event, or have no length, as impacts.
    pub stops: usize,
    /// Processor time of the steps alone.
    pub time: Duration,
}

/// The simulation of a plan with this scheme and step, and the settings of the scheme. Tolerances of
/// the event-driven one are those of its settings times `looser`.
///
/// Settings of a scheme belong to that scheme: another one must not be replaced by them.
pub(super) fn simulation(
    plan: &Plan,
    scheme: &SchemeChoice,
    step: f64,
    looser: f64,
) -> Result<(Simulation, SchemeSettings), Box<SceneError>> {
    let loosened = |mut settings: SchemeSettings| {
        if let SchemeSettings::EventDriven(settings) = &mut settings {
            settings.tolerance *= looser;
            settings.event_tolerance *= looser;
        }
        settings
    };
    let document = match &plan.subject {
        Subject::Scene(document) => document,
        Subject::System { simulation, .. } => {
            let name = scheme_of(&scheme.edit);
            let settings = SchemeSettings::all().into_iter().find(|settings| Some(settings.name()) == name);
            let settings = loosened(settings.unwrap_or_default());
            return Ok((simulation(&settings, step), settings));
        }
    };
    let is_of_other_scheme = |edit: &Edit| scheme_of(edit).is_some_and(|given| Some(given) != scheme_of(&scheme.edit));
    let mut edits = vec![scheme.edit.clone()];
    edits.extend(plan.edits.iter().filter(|edit| !is_of_other_scheme(edit)).cloned());
    edits.push(Edit::option(format!("a step of {step:e} s"), "run.step", step));
    let loaded = document.clone().load(edits).map_err(Box::new)?;
    let settings = loosened(loaded.scene().scheme.clone());
    if looser == 1.0 {
        return Ok((loaded.simulation(), settings));
    }
    let scene = Scene { scheme: settings.clone(), ..loaded.into_scene() };
    Ok((scene.simulation()?, settings))
}

/// The scheme that an edit belongs to; empty when it sets the whole table of schemes.
pub(super) fn scheme_of(edit: &Edit) -> Option<&str> {
    match edit.path() {
        [table, rest @ ..] if table == "scheme" => Some(rest.first().map_or("", String::as_str)),
        _ => None,
    }
}

impl Trace {
    /// Runs a simulation to its end, or until it exceeds the limits.
    pub(super) fn run(
        mut simulation: Simulation,
        scheme: &SchemeChoice,
        coarsest: f64,
        mut auditor: Option<&mut Auditor>,
        limits: Option<&EventDrivenLimits>,
    ) -> Result<Self, ConvergeError> {
        let (start, end, step) = (simulation.grid().start, simulation.grid().end, simulation.grid().step);
        let mut trace = Trace::default();
        while !simulation.is_finished() {
            let (steps, began) = (simulation.steps_done(), processor_time());
            let stepped = simulation.step();
            trace.time += processor_time() - began;
            if let Err(source) = stepped {
                return Err(ConvergeError::Step { scheme: scheme.name.clone(), step, source: Box::new(source) });
            }
            trace.stops += usize::from(simulation.steps_done() == steps);
            trace.solves += simulation.last_step().report.solves.len();
            if let Some(auditor) = &mut auditor {
                trace.numerical_energy += auditor.observe(&simulation).energy.numerical.abs();
            }
            let t = simulation.state().t;
            let places = (t - start) / coarsest;
            let is_sample = (places - places.round()).abs() < SAME_TIME * step / coarsest || t == end;
            // The last of several states at one time, after an impact.
            let number = if t == end { ((end - start) / coarsest).ceil() as usize } else { places.round() as usize };
            if is_sample && number > 0 {
                trace.samples.truncate(number - 1);
                trace.samples.push(simulation.state().q.clone());
            }
            if let Some(spent) = limits.and_then(|limits| limits.exceeded_by(&trace)) {
                return Err(ConvergeError::TooMuch { spent, t, end });
            }
        }
        if let Some(auditor) = auditor {
            let energy = &auditor.audit().sum.energy;
            let causes = [energy.potential_forces, energy.friction, energy.normal, energy.total_change];
            trace.turned_over = causes.iter().fold(0.0, |most, work| most.max(work.abs()));
        }
        Ok(trace)
    }

    /// Largest coordinate, without sign.
    pub(super) fn largest_coordinate(&self) -> f64 {
        self.samples.iter().flatten().fold(0.0, |largest, q| largest.max(q.abs()))
    }

    /// Largest difference of a coordinate from another run, over the coarsest grid and at the end.
    pub(super) fn difference(&self, other: &Trace) -> (f64, f64) {
        let of = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        let at_end = self.samples.last().zip(other.samples.last()).map_or(f64::NAN, of);
        // Steps that do not divide the coarsest one meet it at the end alone.
        let over_time = match self.samples.len() == other.samples.len() {
            true => self.samples.iter().zip(&other.samples).map(of).fold(at_end, f64::max),
            false => at_end,
        };
        (over_time, at_end)
    }
}

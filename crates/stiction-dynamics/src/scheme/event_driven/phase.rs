//! A phase: the smooth motion in fixed modes, up to the next event or the end of the grid's step.

use std::cell::RefCell;

use super::collocation::{Accuracy, STAGES};
use super::events::{Ending, Search, Trigger};
use super::modes::{Modes, Sliding, unit};
use super::motion::Motion;
use super::switch::{Flight, Past, Switch};
use super::{EventDriven, Transition, named, onset};
use crate::scheme::{At, Origin, Outcome};
use crate::vector::{filled, largest};
use crate::{Contact, ContactId, MechanicalSystem, State, Step, StepError};
use stiction_solve::PortableMath as _;

/// Sizes of coordinates and velocities, in metres or m/s, below which errors are no longer relative
/// to them. Too large: slow or tiny motions are followed badly. Too small: bodies at rest are
/// integrated to rounding.
const SMALLEST_SIZE: f64 = 1e-6;

/// The first integrator step, as a share of the time in which the velocity would change by its own
/// size. Too large: the step is repeated. Too small: a few steps more.
const FIRST_STEP: f64 = 0.05;

/// An integrator step aims below the allowed error by the factor `CAUTION`, and the next one is at
/// most `GROWTH` and at least `LEAST_NEXT` times as long. Too large: more steps are repeated. Too
/// small: steps are shorter than they could be.
const CAUTION: f64 = 0.85;
const GROWTH: f64 = 4.0;
const LEAST_NEXT: f64 = 0.2;

/// A step whose error is too large is repeated with a length between these shares of it.
const SHRINKING: std::ops::RangeInclusive<f64> = 0.1..=0.9;

/// A step without an answer, for which no error says how much too long it is, is repeated with this
/// share of it.
const RETRY: f64 = 0.25;

/// A step in which a sliding velocity turns too far is repeated with this share of the time until
/// then.
const BEFORE_TURN: f64 = 0.5;

/// An error below this, relative to the allowed one, does not let the next step grow further.
const LEAST_ERROR: f64 = 1e-30;

/// Integrator steps are not shorter than this many units of rounding of the time, nor than this
/// share of the grid's step where that is shorter still.
const SHORTEST_UNITS: f64 = 16.0;
const SHORTEST_SHARE: f64 = 0.25;

/// A rest of the grid's step below this share of an integrator step joins that step. Too large: its
/// error grows. Too small: a last step of nearly no length.
const LEFTOVER: f64 = 1e-3;

/// Integrator steps of one step of the grid, at most. With order 13 a step covers about half a
/// period; a motion that needs more of them makes no progress.
const STEP_LIMIT: usize = 20_000;

/// Smooth motion in fixed modes.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub modes: Modes,
    /// Contacts that touch without force, or have just opened, with the gap at which they do. Their
    /// gaps are not watched until they differ from it.
    pub touching: Vec<(ContactId, f64)>,
    /// Contacts on a flight too low for the rounding of their gap.
    pub flights: Vec<Flight>,
    /// Length of the next integrator step; infinite while nothing is known of the motion.
    pub next_step: f64,
    /// What has happened at the instant at which it begins; nothing once time has passed.
    pub past: Past,
}

/// Where an integrator step begins, and the error that it may have.
#[derive(Clone, Debug)]
pub(super) struct Beginning {
    pub t: f64,
    /// Configuration and velocity one after another, and where they meet.
    y: Vec<f64>,
    split: usize,
    slope: Vec<f64>,
    accuracy: Accuracy,
}

impl EventDriven {
    /// Follows the motion over `h`, or to the first event.
    pub(super) fn follow(
        &mut self,
        origin: Origin<'_>,
        h: f64,
        mut phase: Phase,
        out: &mut Step,
    ) -> Outcome<Transition> {
        let Origin { system, state, .. } = origin;
        let shortest = (SHORTEST_UNITS * f64::EPSILON * (state.t.abs() + h)).min(SHORTEST_SHARE * h);
        let mut now = state.clone();
        self.motion.project(system, &phase.modes, &mut now)?;
        let mut elapsed = 0.0;
        let mut events = None;
        let mut steps = 0;
        while elapsed < h && events.is_none() {
            steps += 1;
            if steps > STEP_LIMIT {
                let reason = format!("more than {STEP_LIMIT} integrator steps{}", phase.named(system));
                return Err(StepError::Phase { t: now.t, h: phase.next_step, reason });
            }
            let mut beginning = self.begin_step(origin, &mut phase, &now)?;
            let left = h - elapsed;
            let dt = phase.propose_step(&beginning, left, shortest);
            let (taken, triggers) = self.integrate(origin, &mut phase, &mut beginning, dt, shortest)?;
            let is_event = !triggers.is_empty();
            if taken == 0.0 && elapsed == 0.0 {
                if !is_event && phase.next_step.is_infinite() {
                    let reason = format!("the stages of the integrator are not found{}", phase.named(system));
                    return Err(StepError::Phase { t: state.t, h: shortest, reason });
                }
                return Ok(Transition::Choose(phase.fail(triggers)));
            }
            if taken == 0.0 {
                // No step from here on lasts: the modes must be chosen anew.
                events = Some(triggers);
                break;
            }
            self.keep_samples(origin, &phase, &beginning, (taken, is_event), out)?;
            elapsed = if taken >= left { h } else { elapsed + taken };
            now = state_of(origin, state.t + elapsed, self.method.end());
            self.motion.project(system, &phase.modes, &mut now)?;
            phase.past = Past::default();
            phase.forget_touching(origin.at(now.t, &now.q), self.settings.gap_tolerance);
            events = is_event.then_some(triggers);
        }
        out.h = elapsed;
        out.state = now;
        self.summarize(origin, &phase.modes, out)?;
        Ok(match events {
            None => Transition::Advance(phase),
            Some(triggers) => Transition::Event(phase.end(triggers)),
        })
    }

    /// The slope where an integrator step begins, and its rounding: how far the slope of the next
    /// number differs from it. What slides takes the direction that it has there as its reference.
    fn begin_step(&mut self, origin: Origin<'_>, phase: &mut Phase, now: &State) -> Outcome<Beginning> {
        let y = [&now.q[..], &now.v].concat();
        let beside = |(k, y): (usize, &f64)| y * (1.0 + if k % 2 == 0 { f64::EPSILON } else { -f64::EPSILON });
        let beside: Vec<f64> = y.iter().enumerate().map(beside).collect();
        let (mut slope, mut rounding) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        rate(&mut self.motion, &phase.modes, origin, now.t, &beside, &mut rounding)?;
        rate(&mut self.motion, &phase.modes, origin, now.t, &y, &mut slope)?;
        rounding.iter_mut().zip(&slope).for_each(|(other, slope)| *other -= slope);
        let (q, v) = rounding.split_at(now.q.len());
        let size = [vec![largest(q); q.len()], vec![largest(v); v.len()]].concat();

        for ((_, sliding), slider) in phase.modes.sliding.iter_mut().zip(&self.motion.sliders) {
            let direction = unit(&self.motion.slip(slider, &now.v), self.settings.still_speed);
            if let (Sliding::Slip(reference), Some(direction)) = (sliding, direction) {
                *reference = direction;
            }
        }
        let accuracy = Accuracy { wanted: Vec::new(), slope_rounding: rounding, slope_rounding_size: size };
        Ok(Beginning { t: now.t, y, split: now.q.len(), slope, accuracy })
    }

    /// Makes one integrator step of `dt` or less. Returns its length and the events that end it.
    /// The length is zero where no step lasts; then the events are those that end it at once.
    fn integrate(
        &mut self,
        origin: Origin<'_>,
        phase: &mut Phase,
        beginning: &mut Beginning,
        mut dt: f64,
        shortest: f64,
    ) -> Outcome<(f64, Vec<Trigger>)> {
        let mut growth = GROWTH;
        while dt >= shortest {
            beginning.allow(dt, self.settings.tolerance);
            if !is_near(self.find_stages(origin, &phase.modes, beginning, dt))?.unwrap_or(false) {
                (dt, growth) = (RETRY * dt, 1.0);
                continue;
            }
            let error = self.method.error();
            let factor = CAUTION * error.max(LEAST_ERROR).portable_powf(-1.0 / STAGES as f64);
            if error > 1.0 || error.is_nan() {
                (dt, growth) = (dt * factor.clamp(*SHRINKING.start(), *SHRINKING.end()), 1.0);
                continue;
            }
            phase.next_step = dt * factor.clamp(LEAST_NEXT, growth);
            let Self { settings, method, motion, .. } = self;
            let mut search = Search { origin, settings, phase, method, motion, t: beginning.t, h: dt };
            match is_near(search.run())? {
                Some(Ending::Plain) => return Ok((dt, Vec::new())),
                Some(Ending::Event(share, triggers)) if share * dt < shortest => return Ok((0.0, triggers)),
                Some(Ending::Event(share, triggers)) if share >= 1.0 => return Ok((dt, triggers)),
                Some(Ending::Event(share, triggers)) => {
                    self.method.cut(share);
                    return Ok((share * dt, triggers));
                }
                Some(Ending::Turns(share)) => (dt, growth) = (BEFORE_TURN * share * dt, 1.0),
                None => (dt, growth) = (RETRY * dt, 1.0),
            }
        }
        Ok((0.0, Vec::new()))
    }

    /// Finds the stages of an integrator step, if it is not too long.
    pub(super) fn find_stages(
        &mut self,
        origin: Origin<'_>,
        modes: &Modes,
        beginning: &Beginning,
        dt: f64,
    ) -> Outcome<bool> {
        let Beginning { t: now, y, split, slope, accuracy } = beginning;
        let (q, v) = y.split_at(*split);
        self.motion.look(origin.at(*now, q), modes)?;
        let begins = onset::begin(&self.motion, modes, v);
        let motion = RefCell::new(&mut self.motion);
        let mut true_rate =
            |t: f64, y: &[f64], out: &mut [f64]| rate(&mut motion.borrow_mut(), modes, origin, t, y, out);
        let Some(mut begins) = begins else {
            return self.method.step(&mut true_rate, None, (*now, dt), y, slope, accuracy);
        };
        let mut guess = |t: f64, y: &[f64], out: &mut [f64]| {
            let mut motion = motion.borrow_mut();
            let (q, v) = y.split_at(*split);
            onset::evaluate(&mut motion, origin.at(t, q), &mut begins, v)?;
            motion.write_rate(origin.at(t, q), v, out);
            Ok(())
        };
        self.method.step(&mut true_rate, Some(&mut guess), (*now, dt), y, slope, accuracy)
    }
}

impl Phase {
    /// The instant at which events end it.
    fn end(self, triggers: Vec<Trigger>) -> Switch {
        Switch { modes: self.modes, triggers, flights: self.flights, past: self.past }
    }

    /// The instant at which it began, where events end it at once: its modes do not last.
    fn fail(mut self, triggers: Vec<Trigger>) -> Switch {
        self.past.excluded.extend(&triggers);
        self.end(triggers)
    }

    /// Length of the next integrator step, of what is left of the grid's step.
    fn propose_step(&self, beginning: &Beginning, left: f64, shortest: f64) -> f64 {
        let wish = if self.next_step.is_finite() { self.next_step } else { beginning.first_step() };
        let flights = self.flights.iter().map(|flight| (flight.end() - beginning.t).max(shortest));
        let dt = flights.fold(wish.min(left), f64::min);
        if left - dt < LEFTOVER * dt { left } else { dt }
    }

    /// Contacts that touched without force and have a gap by now are open like any other.
    fn forget_touching(&mut self, now: At<'_>, tolerance: f64) {
        if self.touching.is_empty() {
            return;
        }
        let near: Vec<Contact> = filled(|out| now.contacts(tolerance, out));
        self.touching
            .retain(|(id, gap)| near.iter().any(|contact| contact.id == *id && contact.gap <= gap + tolerance));
    }

    /// Its closed contacts, to be named in an error.
    fn named(&self, system: &dyn MechanicalSystem) -> String {
        named(system, self.modes.contacts.iter().map(|mode| mode.id))
    }
}

impl Beginning {
    /// A step in which nothing changes much, for a motion of which nothing is known.
    fn first_step(&self) -> f64 {
        let (speed, acceleration) = (largest(&self.y[self.split..]), largest(&self.slope[self.split..]));
        if acceleration > 0.0 {
            FIRST_STEP * speed.max(FIRST_STEP * acceleration) / acceleration
        } else {
            f64::INFINITY
        }
    }

    /// Sets the error that a step of `dt` may have, rounding apart.
    fn allow(&mut self, dt: f64, tolerance: f64) {
        let allowed = |part: std::ops::Range<usize>| {
            let size = SMALLEST_SIZE.max(largest(&self.y[part.clone()])).max(dt * largest(&self.slope[part.clone()]));
            vec![tolerance * size; part.len()]
        };
        self.accuracy.wanted = [allowed(0..self.split), allowed(self.split..self.y.len())].concat();
    }
}

/// A state from coordinates and velocities one after another. A configuration off its manifold, as
/// one of quaternions that are no longer units, is brought back by a move of no length.
pub(super) fn state_of(origin: Origin<'_>, t: f64, y: &[f64]) -> State {
    let (q, v) = y.split_at(origin.state.q.len());
    let mut state = State::new(t, q.to_vec(), v.to_vec());
    origin.system.displace(t, q, v, 0.0, &mut state.q);
    state
}

/// What came of an attempt; none where the system does not know a contact there, which is not so
/// nearby.
fn is_near<T>(attempt: Outcome<T>) -> Outcome<Option<T>> {
    match attempt {
        Err(StepError::Instant { .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// The right-hand side: rates of configuration and velocity.
fn rate(motion: &mut Motion, modes: &Modes, origin: Origin<'_>, t: f64, y: &[f64], out: &mut [f64]) -> Outcome {
    let (q, v) = y.split_at(origin.state.q.len());
    motion.evaluate(origin.at(t, q), modes, v)?;
    motion.write_rate(origin.at(t, q), v, out);
    Ok(())
}

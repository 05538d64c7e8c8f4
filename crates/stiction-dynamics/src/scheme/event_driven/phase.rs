//! The smooth motion up to the next event.

use std::cell::RefCell;

use super::collocation::{Accuracy, STAGES, Stages};
use super::events::{Ending, Trigger};
use super::modes::{Modes, Sliding, norm};
use super::motion::{Fault, Motion, largest};
use super::{EventDriven, Excluded, onset, step_error};
use crate::{MechanicalSystem, State, Step, StepError};
use stiction_solve::PortableMath as _;

/// Coordinates and velocities below this, in metres or m/s, are measured against it.
const SMALLEST_SIZE: f64 = 1e-6;

/// The first integrator step, as a share of the time in which the velocity would change by its own size.
const FIRST_STEP: f64 = 0.05;

/// An integrator step changes at most by these factors, and aims below the allowed error by the last one.
const SHRINKING: f64 = 0.1;
const GROWTH: f64 = 4.0;
const CAUTION: f64 = 0.85;

/// Integrator steps are not shorter than this many units of rounding of the time.
const SHORTEST_UNITS: f64 = 16.0;

/// Integrator steps of one step of the grid, at most. With order 13 a step covers about half a period; what needs more of them creeps.
const STEP_LIMIT: usize = 20_000;

/// How a phase went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Glide {
    /// Some time passed.
    Advanced,
    /// The modes end at once: new ones are needed.
    Stuck,
}

impl EventDriven {
    /// Follows the motion over `h`, or to the first event.
    pub(super) fn glide(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        out: &mut Step,
    ) -> Result<Glide, StepError> {
        let (t, n) = (state.t, system.velocity_count());
        let fault = |fault| step_error(system, t, h, fault);
        let (mut q, mut v) = (state.q.clone(), state.v.clone());
        self.motion.project(system, &self.modes, t, &mut q, &mut v).map_err(fault)?;
        self.y.clear();
        self.y.extend_from_slice(&q);
        self.y.extend_from_slice(&v);
        let shortest = (SHORTEST_UNITS * f64::EPSILON * (t.abs() + h)).min(0.25 * h);
        let mut elapsed = 0.0;
        let mut is_event = false;
        let mut steps = 0;
        while elapsed < h && !is_event {
            steps += 1;
            if steps > STEP_LIMIT {
                let reason = format!("more than {STEP_LIMIT} integrator steps{}", self.involved(system));
                return Err(StepError::Phase { t: t + elapsed, h: self.next_step, reason });
            }
            let now = t + elapsed;
            // The slope at the start, and where sliding velocities point.
            self.take_slope(system, now, n).map_err(fault)?;
            self.turn_references(n);

            let left = h - elapsed;
            let mut dt = self.next_step.min(self.first_step(n)).min(left);
            for flight in &self.flights {
                dt = dt.min((flight.end() - now).max(shortest));
            }
            if left - dt < 1e-3 * dt {
                dt = left;
            }
            let (taken, ending) = self.integrate(system, now, dt, shortest, n)?;
            let Some(taken) = taken else {
                // Nothing that lasts: new modes from here.
                self.needs_restart = true;
                is_event = true;
                if elapsed == 0.0 {
                    if self.triggers.is_empty() && self.next_step.is_infinite() {
                        let reason = format!("the stages of the integrator are not found{}", self.involved(system));
                        return Err(StepError::Phase { t, h: shortest, reason });
                    }
                    self.exclude();
                    return Ok(Glide::Stuck);
                }
                break;
            };
            is_event = ending;
            self.keep_samples(system, now, taken, is_event, out).map_err(fault)?;
            elapsed = if taken >= left { h } else { elapsed + taken };
            let end = self.method.stage(STAGES - 1);
            q.clear();
            q.extend_from_slice(&end[..end.len() - n]);
            v.copy_from_slice(&end[end.len() - n..]);
            self.probe_q.clone_from(&q);
            system.displace(t + elapsed, &self.probe_q, &v, 0.0, &mut q);
            let lost = self.motion.project(system, &self.modes, t + elapsed, &mut q, &mut v);
            lost.map_err(fault)?;
            self.y.clear();
            self.y.extend_from_slice(&q);
            self.y.extend_from_slice(&v);
            self.excluded.clear();
            self.forget_touching(system, t + elapsed, &q);
        }
        self.needs_restart |= is_event;
        self.has_jumped = false;
        out.h = elapsed;
        out.state.t = t + elapsed;
        out.state.q.clone_from(&q);
        out.state.v.clone_from(&v);
        self.summarize(system, state, out).map_err(fault)?;
        Ok(Glide::Advanced)
    }

    /// Makes one integrator step of `dt` or less. Returns its length, none where nothing lasts, and whether it ends with an event.
    /// Events that end it at once are the scheme's triggers.
    fn integrate(
        &mut self,
        system: &dyn MechanicalSystem,
        now: f64,
        mut dt: f64,
        shortest: f64,
        n: usize,
    ) -> Result<(Option<f64>, bool), StepError> {
        let mut grows = true;
        loop {
            if dt < shortest {
                return Ok((None, false));
            }
            self.allow(dt, n);
            match self.find_stages(system, now, dt, n) {
                Err(Fault::Step(error)) => return Err(error),
                // A contact that is lost on the way is not lost nearby.
                Err(Fault::Lost(_)) | Ok(Stages::NotFound) => {
                    (dt, grows) = (0.25 * dt, false);
                    continue;
                }
                Ok(Stages::Found) => {}
            }
            let error = self.method.error();
            let factor = CAUTION * error.max(1e-30).portable_powf(-1.0 / STAGES as f64);
            if error > 1.0 || error.is_nan() {
                (dt, grows) = (dt * factor.clamp(SHRINKING, 0.9), false);
                continue;
            }
            self.next_step = dt * factor.clamp(0.2, if grows { GROWTH } else { 1.0 });
            match self.find_event(system, now, dt) {
                Ok(Ending::Plain) => return Ok((Some(dt), false)),
                Ok(Ending::Event(share)) if share * dt < shortest => return Ok((None, true)),
                Ok(Ending::Event(share)) if share >= 1.0 => return Ok((Some(dt), true)),
                Ok(Ending::Event(share)) => {
                    self.method.cut(share);
                    return Ok((Some(share * dt), true));
                }
                Ok(Ending::Turns(share)) => (dt, grows) = (0.5 * share * dt, false),
                Err(Fault::Step(error)) => return Err(error),
                Err(Fault::Lost(_)) => (dt, grows) = (0.25 * dt, false),
            }
        }
    }

    /// Finds the stages of an integrator step. The motion was evaluated where it begins.
    pub(super) fn find_stages(
        &mut self,
        system: &dyn MechanicalSystem,
        now: f64,
        dt: f64,
        n: usize,
    ) -> Result<Stages, Fault> {
        let Self { method, motion, modes, y, slope, wanted, rounding, rounding_size, .. } = self;
        let accuracy = Accuracy { wanted, slope_rounding: rounding, slope_rounding_size: rounding_size };
        let (q, v) = y.split_at(y.len() - n);
        motion.look(system, modes, now, q)?;
        let beginning = onset::begin(motion, modes, v);
        let motion = RefCell::new(motion);
        let mut true_rate =
            |t: f64, y: &[f64], out: &mut [f64]| rate(&mut motion.borrow_mut(), modes, system, t, y, out);
        let Some(mut beginning) = beginning else {
            return method.step(&mut true_rate, None, (now, dt), y, slope, accuracy);
        };
        let mut guess = |t: f64, y: &[f64], out: &mut [f64]| {
            let mut motion = motion.borrow_mut();
            let (q, v) = y.split_at(y.len() - n);
            onset::evaluate(&mut motion, system, &mut beginning, t, q, v)?;
            motion.write_rate(system, t, q, v, out);
            Ok(())
        };
        method.step(&mut true_rate, Some(&mut guess), (now, dt), y, slope, accuracy)
    }

    /// The slope where the step begins, and how far that of the next number differs from it: what rounding makes of slopes.
    fn take_slope(&mut self, system: &dyn MechanicalSystem, now: f64, n: usize) -> Result<(), Fault> {
        let Self { motion, modes, y, slope, rounding, rounding_size, .. } = self;
        let next = |(k, y): (usize, &f64)| y * (1.0 + if k % 2 == 0 { f64::EPSILON } else { -f64::EPSILON });
        let beside: Vec<f64> = y.iter().enumerate().map(next).collect();
        slope.resize(y.len(), 0.0);
        rounding.resize(y.len(), 0.0);
        rate(motion, modes, system, now, &beside, rounding)?;
        rate(motion, modes, system, now, y, slope)?;
        rounding.iter_mut().zip(&*slope).for_each(|(other, slope)| *other -= slope);
        let (q, v) = rounding.split_at(y.len() - n);
        rounding_size.clear();
        rounding_size.resize(q.len(), largest(q));
        rounding_size.resize(y.len(), largest(v));
        Ok(())
    }

    /// What the integrator may err by, rounding apart.
    fn allow(&mut self, dt: f64, n: usize) {
        let (y, slope) = (&self.y, &self.slope);
        let split = y.len() - n;
        let size =
            |part: std::ops::Range<usize>| SMALLEST_SIZE.max(largest(&y[part.clone()])).max(dt * largest(&slope[part]));
        let (q, v) = (self.settings.tolerance * size(0..split), self.settings.tolerance * size(split..y.len()));
        let length = y.len();
        self.wanted.clear();
        self.wanted.resize(split, q);
        self.wanted.resize(length, v);
    }

    /// A step in which nothing changes much, for a phase of which nothing is known.
    fn first_step(&self, n: usize) -> f64 {
        if self.next_step.is_finite() {
            return f64::INFINITY;
        }
        let split = self.y.len() - n;
        let (speed, acceleration) = (largest(&self.y[split..]), largest(&self.slope[split..]));
        if acceleration > 0.0 {
            FIRST_STEP * speed.max(FIRST_STEP * acceleration) / acceleration
        } else {
            f64::INFINITY
        }
    }

    /// Takes the direction of what slides as it is at the start of an integrator step, where the motion was just evaluated.
    fn turn_references(&mut self, n: usize) {
        let v = &self.y[self.y.len() - n..];
        for ((_, sliding), slider) in self.modes.sliding.iter_mut().zip(&self.motion.sliders) {
            let slip = self.motion.slip(slider, v);
            let speed = norm(&slip);
            if let Sliding::Slip(reference) = sliding
                && speed > self.settings.still_speed
            {
                *reference = slip.map(|part| part / speed);
            }
        }
    }

    /// The events of the instant say which modes cannot last.
    fn exclude(&mut self) {
        for trigger in &self.triggers {
            self.excluded.push(match *trigger {
                Trigger::Closes(id) => Excluded::Open(id),
                Trigger::Opens(id) => Excluded::Closed(id),
                Trigger::Slips(part) => Excluded::Stick(part),
                Trigger::Stops(part) => Excluded::Slip(part),
                Trigger::Renamed => continue,
            });
        }
    }

    /// Contacts that touched without force and have a gap by now are open like any other.
    fn forget_touching(&mut self, system: &dyn MechanicalSystem, t: f64, q: &[f64]) {
        if self.touching.is_empty() {
            return;
        }
        let tolerance = self.settings.gap_tolerance;
        self.near.clear();
        system.contacts(t, q, tolerance, &mut self.near);
        let near = &self.near;
        self.touching
            .retain(|(id, gap)| near.iter().any(|contact| contact.id == *id && contact.gap <= gap + tolerance));
    }
}

/// The right-hand side: rates of configuration and velocity.
fn rate(
    motion: &mut Motion,
    modes: &Modes,
    system: &dyn MechanicalSystem,
    t: f64,
    y: &[f64],
    out: &mut [f64],
) -> Result<(), Fault> {
    let split = y.len() - system.velocity_count();
    let (q, v) = y.split_at(split);
    motion.evaluate(system, modes, t, q, v)?;
    motion.write_rate(system, t, q, v, out);
    Ok(())
}

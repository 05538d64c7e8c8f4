//! The smooth motion up to the next event.

use std::cell::RefCell;

use super::collocation::{STAGES, Stages};
use super::events::{Ending, Trigger};
use super::modes::{Modes, Sliding, norm};
use super::motion::{Fault, Motion, largest};
use super::{EventDriven, Excluded, onset, step_error};
use crate::contact::Tangents;
use crate::{
    ContactCondition, ContactImpulse, FrictionCondition, FrictionElement, Joint, JointCondition, MechanicalSystem,
    Sample, State, Step, StepError,
};
use stiction_solve::{SolveReport, SolveStatus};

/// Coordinates and velocities below this, in metres or m/s, are measured against it.
const SMALLEST_SIZE: f64 = 1e-6;

/// The first integrator step, as a share of the time in which the velocity would change by its own size.
const FIRST_STEP: f64 = 0.05;

/// An integrator step changes at most by these factors, and aims below the allowed error by the last one.
const SHRINKING: f64 = 0.1;
const GROWTH: f64 = 4.0;
const CAUTION: f64 = 0.85;

/// The error of a step below this many times what rounding makes of a slope cannot be seen.
const ROUNDING: f64 = 8.0;

/// Integrator steps are not shorter than this many units of rounding of the time.
const SHORTEST_UNITS: f64 = 16.0;

/// Integrator steps of one step of the grid, at most. With order 13 a step covers about half a period; one that needs more of them creeps, as where sliding begins
/// out of sticking in space with an acceleration of zero.
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
        let fault = |fault| step_error(t, h, fault);
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
                let reason = format!("more than {STEP_LIMIT} integrator steps");
                return Err(StepError::Phase { t: t + elapsed, h: self.next_step, reason });
            }
            let now = t + elapsed;
            // The slope at the start, and where sliding velocities point.
            self.take_slope(system, now, n).map_err(fault)?;
            self.turn_references(n);

            let left = h - elapsed;
            let mut dt = self.next_step.min(self.first_step(n)).min(left);
            for &(_, at) in &self.flights {
                dt = dt.min((at - now).max(shortest));
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
                        let reason = "the stages of the integrator are not found".to_owned();
                        return Err(StepError::Phase { t, h: shortest, reason });
                    }
                    self.exclude();
                    return Ok(Glide::Stuck);
                }
                break;
            };
            is_event = ending;
            self.keep_samples(system, now, taken, out).map_err(fault)?;
            elapsed = if taken >= left { h } else { elapsed + taken };
            let end = self.method.stage(STAGES - 1);
            q.clear();
            q.extend_from_slice(&end[..end.len() - n]);
            v.copy_from_slice(&end[end.len() - n..]);
            self.probe_q.clone_from(&q);
            system.advance(&self.probe_q, &v, 0.0, &mut q);
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
        let mut ends_with_event = false;
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
                    (dt, grows, ends_with_event) = (0.25 * dt, false, false);
                    continue;
                }
                Ok(Stages::Found) => {}
            }
            if ends_with_event {
                return Ok((Some(dt), true));
            }
            let error = self.method.error(&self.allowed);
            let factor = CAUTION * error.max(1e-30).powf(-1.0 / STAGES as f64);
            if error > 1.0 || error.is_nan() {
                (dt, grows) = (dt * factor.clamp(SHRINKING, 0.9), false);
                continue;
            }
            self.next_step = dt * factor.clamp(0.2, if grows { GROWTH } else { 1.0 });
            match self.find_event(system, now, dt) {
                Ok(Ending::Plain) => return Ok((Some(dt), false)),
                Ok(Ending::Event(share)) if share * dt < shortest => return Ok((None, true)),
                Ok(Ending::Event(share)) if share >= 1.0 => return Ok((Some(dt), true)),
                // Once more, to end there.
                Ok(Ending::Event(share)) => (dt, ends_with_event) = (share * dt, true),
                Ok(Ending::Turns(share)) => (dt, grows) = (0.5 * share * dt, false),
                Err(Fault::Step(error)) => return Err(error),
                Err(Fault::Lost(_)) => (dt, grows) = (0.25 * dt, false),
            }
        }
    }

    /// Finds the stages of an integrator step. The motion was evaluated where it begins.
    fn find_stages(&mut self, system: &dyn MechanicalSystem, now: f64, dt: f64, n: usize) -> Result<Stages, Fault> {
        let Self { method, motion, modes, y, slope, allowed, .. } = self;
        let (q, v) = y.split_at(y.len() - n);
        motion.look(system, modes, now, q)?;
        let beginning = onset::begin(motion, modes, v);
        let motion = RefCell::new(motion);
        let mut true_rate =
            |t: f64, y: &[f64], out: &mut [f64]| rate(&mut motion.borrow_mut(), modes, system, t, y, out);
        let Some(mut beginning) = beginning else {
            return method.step(&mut true_rate, None, (now, dt), y, slope, allowed);
        };
        let mut guess = |t: f64, y: &[f64], out: &mut [f64]| {
            let mut motion = motion.borrow_mut();
            let (q, v) = y.split_at(y.len() - n);
            onset::evaluate(&mut motion, system, &mut beginning, t, q, v)?;
            motion.write_rate(system, q, v, out);
            Ok(())
        };
        method.step(&mut true_rate, Some(&mut guess), (now, dt), y, slope, allowed)
    }

    /// The slope where the step begins, and how far that of the next number differs from it: what rounding makes of slopes.
    fn take_slope(&mut self, system: &dyn MechanicalSystem, now: f64, n: usize) -> Result<(), Fault> {
        let Self { motion, modes, y, slope, probe, .. } = self;
        let next = |(k, y): (usize, &f64)| y * (1.0 + if k % 2 == 0 { f64::EPSILON } else { -f64::EPSILON });
        let beside: Vec<f64> = y.iter().enumerate().map(next).collect();
        slope.resize(y.len(), 0.0);
        probe.resize(y.len(), 0.0);
        rate(motion, modes, system, now, &beside, probe)?;
        rate(motion, modes, system, now, y, slope)?;
        probe.iter_mut().zip(&*slope).for_each(|(other, slope)| *other -= slope);
        let (q, v) = probe.split_at(y.len() - n);
        self.rounding = (largest(q), largest(v));
        Ok(())
    }

    /// What the integrator may err by.
    fn allow(&mut self, dt: f64, n: usize) {
        let (y, slope) = (&self.y, &self.slope);
        let split = y.len() - n;
        let size =
            |part: std::ops::Range<usize>| SMALLEST_SIZE.max(largest(&y[part.clone()])).max(dt * largest(&slope[part]));
        let rounding = |slope: f64| ROUNDING * dt * slope;
        let q = (self.settings.tolerance * size(0..split)).max(rounding(self.rounding.0));
        let v = (self.settings.tolerance * size(split..y.len())).max(rounding(self.rounding.1));
        let length = y.len();
        self.allowed.clear();
        self.allowed.resize(split, q);
        self.allowed.resize(length, v);
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
        let still = self.settings.still_speed;
        let turned = |slip: [f64; 3], axes: [f64; 3], sliding: &mut Sliding| {
            let weighted: [f64; 3] = std::array::from_fn(|a| axes[a] * slip[a]);
            let speed = norm(&weighted);
            if let Sliding::Slip(reference) = sliding
                && speed > still
            {
                *reference = weighted.map(|part| part / speed);
            }
        };
        for (mode, contact) in self.modes.contacts.iter_mut().zip(&self.motion.contacts) {
            turned(contact.slip(v), contact.friction.axes(), &mut mode.sliding);
        }
        for ((_, sliding), element) in self.modes.elements.iter_mut().zip(&self.motion.elements) {
            turned(element.slip(v), [1.0; 3], sliding);
        }
    }

    /// The events of the instant say which modes cannot last.
    fn exclude(&mut self) {
        for trigger in &self.triggers {
            self.excluded.push(match *trigger {
                Trigger::Closes(id) => Excluded::Open(id),
                Trigger::Opens(id) => Excluded::Closed(id),
                Trigger::Slips(element) => Excluded::Stick(element),
                Trigger::Stops(element) => Excluded::Slip(element),
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

    /// Appends the stages of the accepted integrator step as samples.
    fn keep_samples(&mut self, system: &dyn MechanicalSystem, now: f64, dt: f64, out: &mut Step) -> Result<(), Fault> {
        let n = system.velocity_count();
        for i in 0..STAGES {
            let stage = self.method.stage(i).to_vec();
            let (q, v) = stage.split_at(stage.len() - n);
            let t = now + self.method.nodes[i] * dt;
            let mut state = State::new(t, q.to_vec(), v.to_vec());
            system.advance(q, v, 0.0, &mut state.q);
            self.motion.evaluate(system, &self.modes, t, &state.q, v)?;
            out.samples.push(Sample {
                weight: self.method.weights[i] * dt,
                state,
                acceleration: self.motion.acceleration.clone(),
                contacts: self.motion.contact_forces.clone(),
                friction: self.motion.element_forces.clone(),
                joints: self.motion.joint_forces.clone(),
            });
        }
        Ok(())
    }

    /// Writes what the step did as a whole: impulses, mean forces, and the conditions in its middle for the velocity there.
    fn summarize(&mut self, system: &dyn MechanicalSystem, state: &State, out: &mut Step) -> Result<(), Fault> {
        let n = system.velocity_count();
        let middle = state.t + 0.5 * out.h;
        let distance = |sample: &Sample| (sample.state.t - middle).abs();
        let nearest = out.samples.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|sample| &sample.state);
        let middle = nearest.unwrap_or(state).clone();
        self.motion.evaluate(system, &self.modes, middle.t, &middle.q, &middle.v)?;

        out.linearized_time = middle.t;
        out.linearized_at.clone_from(&middle.q);
        out.force_time = middle.t;
        out.force_at.clone_from(&middle.q);
        out.contacts.clone_from(&self.motion.contacts);
        out.friction.clone_from(&self.motion.elements);
        out.joints.clone_from(&self.motion.joints);
        out.force.clear();
        out.force.resize(n, 0.0);
        out.force_parts.clear();
        let mut part = vec![0.0; n];
        for cause in crate::ForceCause::ALL {
            let from = out.force_parts.len();
            out.force_parts.resize(from + n, 0.0);
            for sample in &out.samples {
                part.fill(0.0);
                system.force_by_cause(cause, sample.state.t, &sample.state.q, &sample.state.v, &mut part);
                let share = sample.weight / out.h;
                out.force_parts[from..].iter_mut().zip(&part).for_each(|(sum, part)| *sum += share * part);
            }
            out.force.iter_mut().zip(&out.force_parts[from..]).for_each(|(sum, part)| *sum += part);
        }

        let Step { samples, problem, solution, .. } = out;
        solution.contacts.clear();
        solution
            .contacts
            .extend(self.modes.contacts.iter().map(|mode| ContactImpulse { id: mode.id, ..Default::default() }));
        solution.friction.clear();
        solution.friction.resize(self.modes.elements.len(), [0.0; 3]);
        solution.joints.clear();
        solution.joints.resize(self.motion.joints.len(), 0.0);
        for sample in samples.iter() {
            for (sum, (normal, tangent)) in solution.contacts.iter_mut().zip(&sample.contacts) {
                sum.normal += sample.weight * normal;
                sum.tangent.iter_mut().zip(tangent).for_each(|(sum, part)| *sum += sample.weight * part);
            }
            for (sum, force) in solution.friction.iter_mut().zip(&sample.friction) {
                sum.iter_mut().zip(force).for_each(|(sum, part)| *sum += sample.weight * part);
            }
            solution.joints.iter_mut().zip(&sample.joints).for_each(|(sum, force)| *sum += sample.weight * force);
        }
        solution.motion.clone_from(&middle.v);

        // The conditions that these impulses and the velocity in the middle obey.
        problem.inertia.clone_from(&self.motion.inertia);
        problem.joints.clear();
        let holds = |joint: &Joint| JointCondition { row: joint.row.clone(), bias: joint.drift };
        problem.joints.extend(self.motion.joints.iter().map(holds));
        problem.contacts.clear();
        problem.contacts.extend(self.motion.contacts.iter().map(ContactCondition::of));
        problem.friction.clear();
        let bounded = |element: &FrictionElement| FrictionCondition::of(element, out.h);
        problem.friction.extend(self.motion.elements.iter().map(bounded));
        let mut momentum = vec![0.0; n];
        for (joint, impulse) in problem.joints.iter().zip(&solution.joints) {
            joint.row.add_to(-impulse, &mut momentum);
        }
        let add = |rows: &Tangents, parts: &[f64; 3], momentum: &mut [f64]| {
            rows.iter().zip(parts).for_each(|(row, part)| row.add_to(-part, momentum));
        };
        for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
            contact.normal.add_to(-impulse.normal, &mut momentum);
            add(&contact.tangents, &impulse.tangent, &mut momentum);
        }
        for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
            add(&element.tangents, impulse, &mut momentum);
        }
        problem.inertia.solve_in_place(&mut momentum);
        problem.free_motion.clear();
        problem.free_motion.extend(solution.motion.iter().zip(&momentum).map(|(u, change)| u + change));
        solution.report =
            SolveReport { status: SolveStatus::Solved, residual: 0.0, iterations: samples.len(), size: 0 };
        Ok(())
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
    motion.write_rate(system, q, v, out);
    Ok(())
}

//! What a step says of itself: samples on the way, impulses and mean forces of the whole.

use super::EventDriven;
use super::collocation::{STAGES, Stages};
use super::motion::{Fault, largest};
use crate::contact::Tangents;
use crate::{
    ContactCondition, ContactImpulse, FrictionCondition, FrictionElement, Joint, JointCondition, MechanicalSystem,
    Sample, State, Step,
};
use stiction_solve::{SolveReport, SolveStatus};

/// Samples whose accelerations make the change of velocity up to this share of it are right. Too large: stiff forces seem not to balance. Too small: rounding decides.
const BALANCED: f64 = 1e-11;

/// A change of velocity below this share of the largest velocity is measured against it.
const LEAST_CHANGE: f64 = 1e-4;

impl EventDriven {
    /// Appends samples of the accepted integrator step, which may have been cut at an event: the points of a quadrature. Where their accelerations do not make the
    /// change of velocity, the equation is stiff: a small error of the polynomial is a large force. Right are then the slopes at the stages of a step that was not cut.
    pub(super) fn keep_samples(
        &mut self,
        system: &dyn MechanicalSystem,
        now: f64,
        dt: f64,
        is_cut: bool,
        out: &mut Step,
    ) -> Result<(), Fault> {
        let from = out.samples.len();
        let mismatch = self.sample(system, now, dt, false, out)?;
        if mismatch <= BALANCED {
            return Ok(());
        }
        let whole = self.method.clone();
        let n = system.velocity_count();
        let is_right =
            !is_cut || (self.find_stages(system, now, dt, n)? == Stages::Found && self.method.error() <= 1.0);
        let by_quadrature = out.samples.split_off(from);
        if !is_right || self.sample(system, now, dt, true, out)? > mismatch {
            out.samples.truncate(from);
            out.samples.extend(by_quadrature);
            self.method = whole;
        }
        Ok(())
    }

    /// Appends the stages, or else the points of the quadrature, as samples. Returns the change of velocity that their accelerations do not make, relative to what they do.
    fn sample(
        &mut self,
        system: &dyn MechanicalSystem,
        now: f64,
        dt: f64,
        at_stages: bool,
        out: &mut Step,
    ) -> Result<f64, Fault> {
        let n = system.velocity_count();
        let (first, last) = (self.y.len() - n, self.method.stage(STAGES - 1));
        let mut change: Vec<f64> = last[first..].iter().zip(&self.y[first..]).map(|(end, start)| end - start).collect();
        let mut scale = LEAST_CHANGE * largest(&self.y[first..]);
        for i in 0..STAGES {
            let (c, weight) = match at_stages {
                true => (self.method.nodes[i], self.method.weights[i]),
                false => self.method.quadrature[i],
            };
            match at_stages {
                true => self.take_stage(system, i),
                false => self.probe(system, c),
            }
            let v = &self.probe[first..];
            let t = now + c * dt;
            let state = State::new(t, self.probe_q.clone(), v.to_vec());
            self.motion.evaluate(system, &self.modes, t, &state.q, v)?;
            change.iter_mut().zip(&self.motion.acceleration).for_each(|(change, a)| *change -= weight * dt * a);
            scale = scale.max(dt * largest(&self.motion.acceleration));
            out.samples.push(Sample {
                weight: weight * dt,
                state,
                acceleration: self.motion.acceleration.clone(),
                contacts: self.motion.contact_forces.clone(),
                friction: self.motion.element_forces.clone(),
                joints: self.motion.joint_forces.clone(),
            });
        }
        Ok(if scale > 0.0 { largest(&change) / scale } else { 0.0 })
    }

    /// Writes what the step did as a whole: impulses, mean forces, and the conditions in its middle for the velocity there.
    pub(super) fn summarize(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        out: &mut Step,
    ) -> Result<(), Fault> {
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
        solution.friction.resize(self.motion.elements.len(), [0.0; 3]);
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
        let holds = |joint: &Joint| JointCondition { row: joint.row.clone(), bias: joint.drift, rounding: 0.0 };
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

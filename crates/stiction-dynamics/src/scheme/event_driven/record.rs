//! What a step reports: samples on the way, impulses and mean forces of the whole.

use super::EventDriven;
use super::collocation::STAGES;
use super::modes::Modes;
use super::motion::largest;
use super::phase::{Beginning, Phase, state_of};
use crate::contact::Tangents;
use crate::{
    Contact, ContactCondition, ContactImpulse, FrictionCondition, FrictionElement, Joint, JointCondition,
    MechanicalSystem, Sample, State, Step, StepError,
};
use stiction_solve::{SolveReport, SolveStatus};

/// Samples are right when their accelerations make the change of velocity up to this share of it.
/// Too large: stiff forces seem not to balance. Too small: rounding decides.
const BALANCED: f64 = 1e-11;

/// A change of velocity below this share of the largest velocity is measured against it. Too large:
/// samples of a slow change may be wrong. Too small: rounding decides.
const LEAST_CHANGE: f64 = 1e-4;

impl EventDriven {
    /// Appends samples of the accepted integrator step: the points of a quadrature. Where their
    /// accelerations do not make the change of velocity, the equation is stiff, and a small error
    /// of the polynomial is a large force. Then the slopes at the stages are right, of a step that
    /// was not cut at an event.
    pub(super) fn keep_samples(
        &mut self,
        system: &dyn MechanicalSystem,
        phase: &Phase,
        beginning: &Beginning,
        dt: f64,
        is_cut: bool,
        out: &mut Step,
    ) -> Result<(), StepError> {
        let (by_quadrature, mismatch) = self.samples(system, &phase.modes, beginning.t, dt, false)?;
        if mismatch > BALANCED {
            let whole = self.method.clone();
            let is_right =
                !is_cut || (self.find_stages(system, &phase.modes, beginning, dt)? && self.method.error() <= 1.0);
            if is_right {
                let (at_stages, remaining) = self.samples(system, &phase.modes, beginning.t, dt, true)?;
                if remaining <= mismatch {
                    out.samples.extend(at_stages);
                    return Ok(());
                }
            }
            self.method = whole;
        }
        out.samples.extend(by_quadrature);
        Ok(())
    }

    /// The stages, or else the points of the quadrature, as samples. With the change of velocity
    /// that their accelerations do not make, relative to the change that they make.
    fn samples(
        &mut self,
        system: &dyn MechanicalSystem,
        modes: &Modes,
        now: f64,
        dt: f64,
        at_stages: bool,
    ) -> Result<(Vec<Sample>, f64), StepError> {
        let (start, end) = (self.method.start(), self.method.end());
        let first = start.len() - system.velocity_count();
        let mut change: Vec<f64> = end[first..].iter().zip(&start[first..]).map(|(end, start)| end - start).collect();
        let mut scale = LEAST_CHANGE * largest(&start[first..]);
        let mut samples = Vec::with_capacity(STAGES);
        for i in 0..STAGES {
            let (c, weight) = match at_stages {
                true => (self.method.nodes[i], self.method.weights[i]),
                false => self.method.quadrature[i],
            };
            let y = if at_stages { self.method.stage(i).to_vec() } else { self.method.dense(c) };
            let state = state_of(system, now + c * dt, &y);
            let motion = &mut self.motion;
            motion.evaluate(system, modes, state.t, &state.q, &state.v)?;
            change.iter_mut().zip(&motion.acceleration).for_each(|(change, a)| *change -= weight * dt * a);
            scale = scale.max(dt * largest(&motion.acceleration));
            let (elements, contacts) = motion.forces.sites.split_at(motion.elements.len());
            samples.push(Sample {
                weight: weight * dt,
                state,
                acceleration: motion.acceleration.clone(),
                contacts: contacts.to_vec(),
                friction: elements.iter().map(|force| force.1).collect(),
                joints: motion.forces.joints.clone(),
            });
        }
        Ok((samples, if scale > 0.0 { largest(&change) / scale } else { 0.0 }))
    }

    /// Writes what the step did as a whole: impulses, mean forces, and the conditions in its middle
    /// for the velocity there.
    pub(super) fn summarize(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        modes: &Modes,
        out: &mut Step,
    ) -> Result<(), StepError> {
        let n = system.velocity_count();
        let middle = state.t + 0.5 * out.h;
        let distance = |sample: &Sample| (sample.state.t - middle).abs();
        let nearest = out.samples.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|sample| &sample.state);
        let middle = nearest.unwrap_or(state).clone();
        self.motion.evaluate(system, modes, middle.t, &middle.q, &middle.v)?;

        out.linearized_time = middle.t;
        out.linearized_at.clone_from(&middle.q);
        out.force_time = middle.t;
        out.force_at.clone_from(&middle.q);
        let contacts = self.motion.contacts.iter().zip(&modes.contacts);
        out.contacts.clear();
        out.contacts.extend(contacts.map(|(contact, mode)| Contact { id: mode.id, ..contact.clone() }));
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

        let Step { samples, problem, solution, contacts, .. } = out;
        solution.contacts.clear();
        solution
            .contacts
            .extend(contacts.iter().map(|contact| ContactImpulse { id: contact.id, ..Default::default() }));
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
        problem.contacts.extend(contacts.iter().map(ContactCondition::of));
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

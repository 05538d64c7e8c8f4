//! What a step reports: samples on the way, impulses and mean forces of the whole.

use super::EventDriven;
use super::collocation::STAGES;
use super::modes::Modes;
use super::phase::{Beginning, Phase, state_of};
use crate::scheme::{Origin, Outcome};
use crate::vector::{largest, refill, zero};
use crate::{Contact, ContactCondition, ContactImpulse, FrictionCondition, JointCondition, Sample, State, Step};
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
        origin: Origin<'_>,
        phase: &Phase,
        beginning: &Beginning,
        (dt, is_cut): (f64, bool),
        out: &mut Step,
    ) -> Outcome {
        let (by_quadrature, mismatch) = self.samples(origin, &phase.modes, (beginning.t, dt), false)?;
        if mismatch > BALANCED {
            let whole = self.method.clone();
            let is_right =
                !is_cut || (self.find_stages(origin, &phase.modes, beginning, dt)? && self.method.error() <= 1.0);
            if is_right {
                let (at_stages, remaining) = self.samples(origin, &phase.modes, (beginning.t, dt), true)?;
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
        origin: Origin<'_>,
        modes: &Modes,
        (now, dt): (f64, f64),
        at_stages: bool,
    ) -> Outcome<(Vec<Sample>, f64)> {
        let (start, end) = (self.method.start(), self.method.end());
        let first = origin.state.q.len();
        let mut change: Vec<f64> = end[first..].iter().zip(&start[first..]).map(|(end, start)| end - start).collect();
        let mut scale = LEAST_CHANGE * largest(&start[first..]);
        let mut samples = Vec::with_capacity(STAGES);
        for i in 0..STAGES {
            let (c, weight) = match at_stages {
                true => (self.method.table.nodes[i], self.method.table.weights[i]),
                false => self.method.table.quadrature[i],
            };
            let y = if at_stages { self.method.stage(i).to_vec() } else { self.method.dense(c) };
            let state = state_of(origin, now + c * dt, &y);
            let motion = &mut self.motion;
            motion.evaluate(origin.at(state.t, &state.q), modes, &state.v)?;
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
    pub(super) fn summarize(&mut self, origin: Origin<'_>, modes: &Modes, out: &mut Step) -> Outcome {
        let (state, n, h) = (origin.state, origin.state.v.len(), out.h);
        let middle = state.t + 0.5 * h;
        let distance = |sample: &Sample| (sample.state.t - middle).abs();
        let nearest = out.samples.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|sample| &sample.state);
        let middle = nearest.unwrap_or(state).clone();
        let motion = &mut self.motion;
        motion.evaluate(origin.at(middle.t, &middle.q), modes, &middle.v)?;

        out.linearize_at(middle.t, &middle.q);
        out.force_at.copy_from(&middle);
        let contacts = motion.contacts.iter().zip(&modes.contacts);
        refill(&mut out.contacts, contacts.map(|(contact, mode)| Contact { id: mode.id, ..contact.clone() }));
        out.friction.clone_from(&motion.elements);
        out.joints.clone_from(&motion.joints);
        let (samples, mut part) = (std::mem::take(&mut out.samples), Vec::new());
        out.add_forces(n, |cause, sum| {
            for Sample { weight, state: State { t, q, v }, .. } in &samples {
                origin.at(*t, q).force_by_cause(cause, v, &mut part);
                let share = weight / h;
                sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum += share * part);
            }
        });
        out.samples = samples;

        let Step { samples, problem, solution, contacts, .. } = out;
        let nothing = |contact: &Contact| ContactImpulse { id: contact.id, ..Default::default() };
        refill(&mut solution.contacts, contacts.iter().map(nothing));
        solution.friction.clear();
        solution.friction.resize(motion.elements.len(), [0.0; 3]);
        zero(&mut solution.joints, motion.joints.len());
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
        problem.inertia.clone_from(&motion.inertia);
        refill(&mut problem.joints, motion.joints.iter().map(|joint| JointCondition::of(joint, 0.0)));
        refill(&mut problem.contacts, contacts.iter().map(ContactCondition::of));
        refill(&mut problem.friction, motion.elements.iter().map(|element| FrictionCondition::of(element, h)));
        let mut momentum = vec![0.0; n];
        problem.add_impulses(-1.0, solution, &mut momentum);
        problem.inertia.solve_in_place(&mut momentum);
        refill(&mut problem.free_motion, solution.motion.iter().zip(&momentum).map(|(u, change)| u + change));
        solution.report =
            SolveReport { status: SolveStatus::Solved, residual: 0.0, iterations: samples.len(), size: 0 };
        Ok(())
    }
}

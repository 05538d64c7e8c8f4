//! The contact problem of one smooth step: (5.4) to (5.8) of \[PAGT\], or (2.5) by iteration.

use super::overlaps::closed_at;
use super::{BRAKE, Jacobians, MANY_IMPACTS, ROUNDING, Trapezoidal, TrapezoidalRule};
use crate::force_jacobians::add_product;
use crate::scheme::{Origin, Outcome, Rung, Step, check_finite, solve_problem};
use crate::static_friction::Rubbing;
use crate::vector::{has, largest, refill, zero};
use crate::{
    Contact, ContactCondition, ForceCause, ForceJacobians, FrictionCondition, JacobianKind, JointCondition, State,
    StepError,
};
use stiction_solve::PortableMath as _;

impl Trapezoidal {
    /// States and solves (5.4)-(5.8), or (2.5) by iteration, over `out.h`.
    pub(super) fn solve_step(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome {
        let State { t, q, v } = origin.state;
        let h = out.h;
        // The linearisation point: first q^l, v^l, then what the last problem gave.
        self.u_last.clone_from(v);
        zero(&mut self.displacement, v.len());
        self.q_new.clone_from(q);
        self.v_new.clone_from(v);
        let limit = if self.settings.iterate { self.settings.iteration_limit.max(1) } else { 1 };
        out.report.converged = !self.settings.iterate;
        for iteration in 0..limit {
            out.report.linearizations = iteration + 1;
            self.evaluate_forces(origin, h, iteration == 0)?;
            self.solve_linear_problem(origin, out)?;
            let u = &out.solution.motion;
            let change = u.iter().zip(&self.u_last).fold(0.0f64, |change, (a, b)| change.max((a - b).abs()));
            origin.advance(u, h, &mut self.q_new);
            refill(&mut self.v_new, u.iter().zip(v).map(|(u, v)| 2.0 * u - v));
            check_finite(*t, "coordinate", &self.q_new)?;
            if !self.settings.iterate || change <= self.settings.iteration_tolerance * largest(u) {
                out.report.converged = true;
                break;
            }
            if iteration + 1 < limit {
                self.u_last.clone_from(u);
                refill(&mut self.displacement, u.iter().map(|u| h * u));
            }
        }
        self.write_forces(out);
        Ok(())
    }

    /// Evaluates the forces at the start of the step, if they are needed again, and at the
    /// linearisation point.
    fn evaluate_forces(&mut self, origin: Origin<'_>, h: f64, is_first: bool) -> Outcome {
        let State { t, q, v } = origin.state;
        let times = self.force_times(*t, h);
        let is_classical = self.settings.rule == TrapezoidalRule::Classical;
        let (start, end) = self.forces.split_at_mut(3);
        for (cause, (start, end)) in ForceCause::ALL.into_iter().zip(start.iter_mut().zip(end)) {
            if is_first || is_classical {
                origin.at(times[0], q).force_by_cause(cause, v, start);
            }
            origin.at(times[1], &self.q_new).force_by_cause(cause, &self.v_new, end);
        }
        if !is_classical {
            return Ok(());
        }
        // (2.4) times M^l + M^{l+1} is (2.5) with ½ (k^l + M^{l+1} (M^l)⁻¹ k^l) for k^l, and the
        // other way round.
        for (mass, t, q) in [(&mut self.mass_sum, *t, q), (&mut self.mass, t + h, &self.q_new)] {
            origin.at(t, q).factored_mass(mass).map_err(|source| StepError::Malformed { t, source })?;
        }
        for (i, part) in self.forces.iter_mut().enumerate() {
            let (own, other) = if i < 3 { (&self.mass_sum, &self.mass) } else { (&self.mass, &self.mass_sum) };
            self.product.clone_from(part);
            own.solve_in_place(&mut self.product);
            self.momentum.resize(part.len(), 0.0);
            other.apply(&self.product, &mut self.momentum);
            part.iter_mut().zip(&self.momentum).for_each(|(k, moved)| *k = 0.5 * (*k + moved));
        }
        Ok(())
    }

    /// States and solves the problem, linearised at `q_new`, `v_new`. Contacts that wedge each
    /// other (a drawer that jams) may contradict each other in what they take back, by rounding. A
    /// problem without a solution is stated again, with contacts that only keep their gaps: then
    /// theory promises one. While nothing slides it is stated so at once.
    fn solve_linear_problem(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome {
        if self.settings.stabilize && !self.is_wedged {
            self.state_problem(origin, true, out)?;
            match solve_problem(&mut self.solver, origin.state.t, out) {
                Err(StepError::Unsolved { .. }) if !out.contacts.is_empty() => self.is_wedged = true,
                result => return result,
            }
        }
        self.state_problem(origin, false, out)?;
        if self.is_wedged {
            out.report.rung = Some(Rung::WithoutRecovery);
        }
        solve_problem(&mut self.solver, origin.state.t, out)
    }

    /// States $W$ and $u_\text{free}$, linearised at `q_new`, `v_new`.
    fn state_motion(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome {
        let (State { t, v, .. }, h) = (origin.state, out.h);
        // W = M(q^l) + M(q^i) - h k_v - h²/2 k_q and W (u_free - v) = h/2 (k^l + k^i) + h k_v (v -
        // u^i) + h/2 k_q (h v - d^i), where u^i is the last mean velocity and d^i the displacement
        // to the linearisation point. With u^i = v, d^i = 0 these are 2 M̃ and k̃.
        origin.here().mass(&mut self.mass_sum);
        origin.at(t + h, &self.q_new).mass(&mut self.mass);
        let kinds = match self.settings.jacobians {
            Jacobians::Automatic => &[JacobianKind::Exact, JacobianKind::Definite][..],
            Jacobians::Exact => &[JacobianKind::Exact],
            Jacobians::Definite => &[JacobianKind::Definite],
        };
        let at = (self.force_times(*t, h)[1], &self.q_new[..], &self.v_new[..]);
        let masses = [(&self.mass_sum, 1.0), (&self.mass, 1.0)];
        self.jacobians.state_inertia(origin.system, kinds, at, &masses, [h, 0.5 * h * h], &mut out.problem.inertia);
        let sum = |i: usize| self.forces.iter().map(|part| 0.5 * h * part[i]).sum::<f64>();
        refill(&mut self.momentum, (0..v.len()).map(sum));
        let ForceJacobians { by_configuration, by_velocity } = &self.jacobians;
        refill(&mut self.product, v.iter().zip(&self.u_last).map(|(v, last)| v - last));
        add_product(by_velocity, None, h, &self.product, &mut self.momentum);
        refill(&mut self.product, v.iter().zip(&self.displacement).map(|(v, d)| h * v - d));
        add_product(by_configuration, None, 0.5 * h, &self.product, &mut self.momentum);
        out.problem.inertia.factor().map_err(|source| origin.malformed(source))?;
        out.problem.inertia.solve_in_place(&mut self.momentum);
        refill(&mut out.problem.free_motion, v.iter().zip(&self.momentum).map(|(v, change)| v + change));
        Ok(())
    }

    /// Writes the contact problem, linearised at `q_new`, `v_new`.
    fn state_problem(&mut self, origin: Origin<'_>, corrects_contacts: bool, out: &mut Step) -> Outcome {
        self.state_motion(origin, out)?;
        let (State { t, q, v }, h) = (origin.state, out.h);
        let t_middle = t + 0.5 * h;

        // Rows in the middle of the step, values at its start.
        origin.advance(&self.u_last, 0.5 * h, &mut self.q_middle);
        self.product.clone_from(&self.u_last);
        self.projection.project(origin.at(t_middle, q), 0.5 * h, &mut self.product, &mut self.q_middle)?;
        let (pull, brake) = if self.settings.stabilize { (1.0 / self.full_step.h, BRAKE) } else { (0.0, 0.0) };
        let middle = origin.at(t_middle, &self.q_middle);
        middle.joints(&mut out.joints);
        refill(&mut self.rates, self.start_joints.iter().map(|start| brake * start.rate(v) - pull * start.value));
        self.drift_rate = self.start_joints.iter().fold(0.0, |most, start| most.max(pull * start.value.abs()));
        self.projection.reconcile(&mut self.rates);
        let rows = out.joints.iter().zip(&self.rates);
        refill(&mut out.problem.joints, rows.map(|(joint, rate)| JointCondition::of(joint, *rate)));
        middle.friction(&mut out.friction);
        refill(&mut out.problem.friction, out.friction.iter().map(|element| FrictionCondition::of(element, h)));
        out.linearize_at(t_middle, &self.q_middle);
        out.force_at.copy_from(origin.state);
        self.find_active(origin, t_middle, h);
        let shrinks = (-self.settings.overlap_recovery * self.full_step.h).portable_exp();
        out.contacts.clear();
        out.problem.contacts.clear();
        for start in &self.start {
            let rows = if self.settings.paper { &self.start } else { &self.middle };
            let Some(contact) = rows.iter().find(|contact| contact.id == start.id) else { continue };
            let (mut normal_bias, mut tangent_bias) = (contact.normal_drift, contact.tangent_drift);
            if corrects_contacts && self.is_carried(start.id) {
                let closed_at = shrinks * closed_at(&self.overlaps, start.id);
                normal_bias += pull * (start.gap - closed_at) - brake * start.rate(v);
                self.drift_rate = self.drift_rate.max(pull * (start.gap - closed_at).abs());
                if !has(&self.sliding, Rubbing::Contact(start.id)) {
                    let slip = start.slip(v);
                    tangent_bias.iter_mut().zip(slip).for_each(|(bias, slip)| *bias -= brake * slip);
                }
            }
            out.contacts.push(contact.clone());
            out.problem.contacts.push(ContactCondition { normal_bias, tangent_bias, ..ContactCondition::of(contact) });
        }
        Ok(())
    }

    /// Whether a contact that is closed, or was, takes part in what follows: it carried an impulse,
    /// or does not part. One that parts slower than anything that slides may come back within the
    /// step, and would collide without end; if it does not, taking part changes nothing. Where
    /// impacts accumulate beyond that, as of a ball that leaves one neighbour for the other in
    /// turn, so does one that parts slower than the rest speed.
    pub(super) fn stays(&self, contact: &Contact, v: &[f64]) -> bool {
        let settings = &self.settings;
        let slow = if self.impacts > MANY_IMPACTS { settings.rest_speed } else { settings.still_speed };
        self.is_carried(contact.id) || contact.rate(v) <= slow.max(ROUNDING * largest(v))
    }

    /// The active contacts, with rows in the middle of the step: those that are closed and do not
    /// part, and those that were carried.
    fn find_active(&mut self, origin: Origin<'_>, t_middle: f64, h: f64) {
        let v = &origin.state.v;
        // The paper keeps closed contacts that part, too: in a stiff system they may be pushed back
        // within the step.
        let mut start = std::mem::take(&mut self.start);
        start.retain(|contact| self.settings.paper || self.stays(contact, v));
        self.start = start;
        self.middle.clear();
        self.horizon = 0.0;
        if self.settings.paper || self.start.is_empty() {
            return;
        }
        let reach = |contact: &Contact| contact.gap.abs() + h * contact.rate(v).abs();
        self.horizon =
            self.start.iter().fold(self.settings.gap_tolerance, |far, contact| far.max(2.0 * reach(contact)));
        refill(&mut self.ids, self.start.iter().map(|contact| contact.id));
        origin.at(t_middle, &self.q_middle).contacts_of(&self.ids, &mut self.middle);
    }

    /// Mean forces of the step by cause:
    /// $\tfrac12 (k^l + k^i) + \tfrac12 k_v (v^{l+1} - v^i) + \tfrac12 k_q (h u - d^i)$.
    fn write_forces(&mut self, out: &mut Step) {
        let (u, h) = (&out.solution.motion, out.h);
        // 2 (u - u^i) and h u - d^i.
        refill(&mut self.product, u.iter().zip(&self.u_last).map(|(u, last)| 2.0 * (u - last)));
        refill(&mut self.momentum, u.iter().zip(&self.displacement).map(|(u, d)| h * u - d));
        out.force_parts.clear();
        out.add_forces(self.product.len(), |cause, part| {
            let ends = self.forces[cause as usize].iter().zip(&self.forces[cause as usize + 3]);
            part.iter_mut().zip(ends).for_each(|(mean, (start, end))| *mean = 0.5 * (start + end));
            add_product(&self.jacobians.by_velocity, Some(cause), 0.5, &self.product, part);
            add_product(&self.jacobians.by_configuration, Some(cause), 0.5, &self.momentum, part);
        });
    }
}

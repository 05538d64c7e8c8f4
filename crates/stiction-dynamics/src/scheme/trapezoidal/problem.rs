//! The contact problem of one smooth step: (5.4) to (5.8) of \[PAGT\], or (2.5) by iteration.

use super::overlaps::closed_at;
use super::{BRAKE, Element, Jacobians, MANY_IMPACTS, ROUNDING, Trapezoidal, TrapezoidalRule, largest, rate};
use crate::force_jacobians::add_product;
use crate::scheme::{Rung, Step, check_finite, solve_problem};
use crate::{
    Contact, ContactCondition, ForceCause, ForceJacobians, FrictionCondition, JacobianKind, JointCondition,
    MechanicalSystem, State, StepError,
};
use stiction_solve::PortableMath as _;

impl Trapezoidal {
    /// States and solves (5.4)-(5.8), or (2.5) by iteration, over `out.h`.
    pub(super) fn solve_step(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        out: &mut Step,
    ) -> Result<(), StepError> {
        let (n, h) = (system.velocity_count(), out.h);
        let t = state.t;
        let (q, v) = (&state.q, &state.v);
        self.forces.iter_mut().for_each(|part| part.resize(n, 0.0));
        // The linearisation point: first q^l, v^l, then what the last problem gave.
        self.u_last.clone_from(v);
        self.displacement.clear();
        self.displacement.resize(n, 0.0);
        self.q_new.clone_from(q);
        self.v_new.clone_from(v);
        let limit = if self.settings.iterate { self.settings.iteration_limit.max(1) } else { 1 };
        out.report.converged = !self.settings.iterate;
        for iteration in 0..limit {
            out.report.linearizations = iteration + 1;
            self.evaluate_forces(system, state, h, iteration == 0)?;
            self.solve_linear_problem(system, state, out)?;
            let u = &out.solution.motion;
            let change = u.iter().zip(&self.u_last).fold(0.0f64, |change, (a, b)| change.max((a - b).abs()));
            system.advance(t, q, u, h, &mut self.q_new);
            self.v_new.clear();
            self.v_new.extend(u.iter().zip(v).map(|(u, v)| 2.0 * u - v));
            check_finite(t, "coordinate", &self.q_new)?;
            out.report.last_move = h * change;
            if !self.settings.iterate || change <= self.settings.iteration_tolerance * largest(u) {
                out.report.converged = true;
                break;
            }
            if iteration + 1 < limit {
                self.u_last.clone_from(u);
                self.displacement.clear();
                self.displacement.extend(u.iter().map(|u| h * u));
            }
        }
        self.write_forces(state, out);
        Ok(())
    }

    /// Evaluates the forces at the start of the step, if they are needed again, and at the linearisation point.
    fn evaluate_forces(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        is_first: bool,
    ) -> Result<(), StepError> {
        let times = self.force_times(state.t, h);
        let is_classical = self.settings.rule == TrapezoidalRule::Classical;
        let (start, end) = self.forces.split_at_mut(3);
        for (cause, (start, end)) in ForceCause::ALL.into_iter().zip(start.iter_mut().zip(end)) {
            if is_first || is_classical {
                start.fill(0.0);
                system.force_by_cause(cause, times[0], &state.q, &state.v, start);
            }
            end.fill(0.0);
            system.force_by_cause(cause, times[1], &self.q_new, &self.v_new, end);
        }
        if !is_classical {
            return Ok(());
        }
        // (2.4) times M^l + M^{l+1} is (2.5) with ½ (k^l + M^{l+1} (M^l)⁻¹ k^l) for k^l, and the other way round.
        let t_new = state.t + h;
        for (mass, t, q) in [(&mut self.mass_sum, state.t, &state.q), (&mut self.mass, t_new, &self.q_new)] {
            mass.clear();
            system.mass_matrix(t, q, mass);
            mass.factor().map_err(|source| StepError::Malformed { t, source })?;
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

    /// States and solves the problem, linearised at `q_new`, `v_new`. Contacts that wedge each other (a drawer that jams) may contradict each other in what they
    /// take back, by rounding. A problem without a solution is stated again, with contacts that only keep their gaps: then theory promises one. While
    /// nothing slides it is stated so at once.
    fn solve_linear_problem(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        out: &mut Step,
    ) -> Result<(), StepError> {
        if self.stabilizes() && !self.is_wedged {
            self.state_problem(system, state, true, out)?;
            match solve_problem(&mut self.solver, state.t, out) {
                Err(StepError::Unsolved { .. }) if !out.contacts.is_empty() => self.is_wedged = true,
                result => return result,
            }
        }
        self.state_problem(system, state, false, out)?;
        if self.is_wedged {
            out.report.rung = Some(Rung::WithoutRecovery);
        }
        solve_problem(&mut self.solver, state.t, out)
    }

    /// Writes the contact problem, linearised at `q_new`, `v_new`.
    fn state_problem(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        corrects_contacts: bool,
        out: &mut Step,
    ) -> Result<(), StepError> {
        let (n, h) = (system.velocity_count(), out.h);
        let (t, t_new, t_middle) = (state.t, state.t + h, state.t + 0.5 * h);
        let (q, v) = (&state.q, &state.v);

        // W = M(q^l) + M(q^i) - h k_v - h²/2 k_q and W (u_free - v) = h/2 (k^l + k^i) + h k_v (v - u^i) + h/2 k_q (h v - d^i), where u^i is
        // the last mean velocity and d^i the displacement to the linearisation point. With u^i = v, d^i = 0 these are 2 M̃ and k̃.
        self.mass_sum.clear();
        system.mass_matrix(t, q, &mut self.mass_sum);
        self.mass.clear();
        system.mass_matrix(t_new, &self.q_new, &mut self.mass);
        let kinds = self.jacobian_kinds();
        let at = (self.force_times(t, h)[1], &self.q_new[..], &self.v_new[..]);
        let masses = [(&self.mass_sum, 1.0), (&self.mass, 1.0)];
        self.jacobians.state_inertia(system, kinds, at, &masses, [h, 0.5 * h * h], &mut out.problem.inertia);
        self.momentum.clear();
        self.momentum.extend((0..n).map(|i| self.forces.iter().map(|part| 0.5 * h * part[i]).sum::<f64>()));
        let ForceJacobians { by_configuration, by_velocity } = &self.jacobians;
        self.product.clear();
        self.product.extend(v.iter().zip(&self.u_last).map(|(v, last)| v - last));
        add_product(by_velocity, None, h, &self.product, &mut self.momentum);
        self.product.clear();
        self.product.extend(v.iter().zip(&self.displacement).map(|(v, d)| h * v - d));
        add_product(by_configuration, None, 0.5 * h, &self.product, &mut self.momentum);
        out.problem.inertia.factor().map_err(|source| StepError::Malformed { t, source })?;
        out.problem.inertia.solve_in_place(&mut self.momentum);
        out.problem.free_motion.clear();
        out.problem.free_motion.extend(v.iter().zip(&self.momentum).map(|(v, change)| v + change));

        // Rows in the middle of the step, values at its start.
        self.q_middle.clone_from(q);
        system.advance(t, q, &self.u_last, 0.5 * h, &mut self.q_middle);
        self.product.clone_from(&self.u_last);
        self.projection.project(system, (t_middle, q), 0.5 * h, &mut self.product, &mut self.q_middle)?;
        let stabilizes = self.stabilizes();
        let (pull, brake) = if stabilizes { (1.0 / self.full_step, BRAKE) } else { (0.0, 0.0) };
        out.joints.clear();
        system.joints(t_middle, &self.q_middle, &mut out.joints);
        out.problem.joints.clear();
        self.rates.clear();
        self.rates.extend(
            self.start_joints.iter().map(|start| brake * (start.row.dot(v) + start.drift) - pull * start.value),
        );
        self.drift_rate = self.start_joints.iter().fold(0.0, |most, start| most.max(pull * start.value.abs()));
        self.projection.reconcile(&mut self.rates);
        for (joint, rate) in out.joints.iter().zip(&self.rates) {
            out.problem.joints.push(JointCondition { row: joint.row.clone(), bias: joint.drift - rate, rounding: 0.0 });
        }
        self.find_active(system, state, t_middle, h);
        let shrinks = (-self.settings.overlap_recovery * self.full_step).portable_exp();
        out.contacts.clear();
        out.problem.contacts.clear();
        for start in &self.start {
            let rows = if self.settings.paper { &self.start } else { &self.middle };
            let Some(contact) = rows.iter().find(|contact| contact.id == start.id) else { continue };
            let (mut normal_bias, mut tangent_bias) = (contact.normal_drift, contact.tangent_drift);
            if corrects_contacts && self.carried.binary_search(&start.id).is_ok() {
                let closed_at = shrinks * closed_at(&self.overlaps, start.id);
                normal_bias += pull * (start.gap - closed_at) - brake * rate(start, v);
                self.drift_rate = self.drift_rate.max(pull * (start.gap - closed_at).abs());
                if self.sliding.binary_search(&Element::Contact(start.id)).is_err() {
                    let slip = start.slip(v);
                    tangent_bias.iter_mut().zip(slip).for_each(|(bias, slip)| *bias -= brake * slip);
                }
            }
            out.contacts.push(contact.clone());
            out.problem.contacts.push(ContactCondition { normal_bias, tangent_bias, ..ContactCondition::of(contact) });
        }
        out.friction.clear();
        system.friction_elements(t_middle, &self.q_middle, &mut out.friction);
        out.problem.friction.clear();
        out.problem.friction.extend(out.friction.iter().map(|element| FrictionCondition::of(element, h)));
        (out.linearized_time, out.force_time) = (t_middle, t);
        out.linearized_at.clone_from(&self.q_middle);
        out.force_at.clone_from(q);
        Ok(())
    }

    /// The derivatives to be tried.
    fn jacobian_kinds(&self) -> &'static [JacobianKind] {
        match self.settings.jacobians {
            _ if self.settings.paper => &[JacobianKind::Definite],
            Jacobians::Automatic => &[JacobianKind::Exact, JacobianKind::Definite],
            Jacobians::Exact => &[JacobianKind::Exact],
            Jacobians::Definite => &[JacobianKind::Definite],
        }
    }

    /// Whether a contact that is closed, or was, takes part in what follows: it carried an impulse, or does not part. One that parts slower than
    /// anything that slides may come back within the step, and would collide without end; if it does not, taking part changes nothing. Where impacts
    /// accumulate beyond that, as of a ball that leaves one neighbour for the other in turn, so does one that parts slower than the rest speed.
    pub(super) fn stays(&self, contact: &Contact, v: &[f64]) -> bool {
        let settings = &self.settings;
        let slow = if self.impacts > MANY_IMPACTS { settings.rest_speed } else { settings.still_speed };
        self.is_carried(contact.id) || rate(contact, v) <= slow.max(ROUNDING * largest(v))
    }

    /// The active contacts, with rows in the middle of the step: those that are closed and do not part, and those that were carried.
    fn find_active(&mut self, system: &dyn MechanicalSystem, state: &State, t_middle: f64, h: f64) {
        let v = &state.v;
        // The paper keeps closed contacts that part, too: in a stiff system they may be pushed back within the step.
        let mut start = std::mem::take(&mut self.start);
        start.retain(|contact| self.settings.paper || self.stays(contact, v));
        self.start = start;
        self.middle.clear();
        self.horizon = 0.0;
        if self.settings.paper || self.start.is_empty() {
            return;
        }
        let reach = |contact: &Contact| contact.gap.abs() + h * rate(contact, v).abs();
        self.horizon =
            self.start.iter().fold(self.settings.gap_tolerance, |far, contact| far.max(2.0 * reach(contact)));
        self.ids.clear();
        self.ids.extend(self.start.iter().map(|contact| contact.id));
        system.contacts_of(t_middle, &self.q_middle, &self.ids, &mut self.middle);
    }

    /// Mean forces of the step by cause: $\tfrac12 (k^l + k^i) + \tfrac12 k_v (v^{l+1} - v^i) + \tfrac12 k_q (h u - d^i)$.
    fn write_forces(&mut self, state: &State, out: &mut Step) {
        let (n, h) = (state.v.len(), out.h);
        out.force.clear();
        out.force.resize(n, 0.0);
        out.force_parts.clear();
        // 2 (u - u^i) and h u - d^i.
        self.product.clear();
        self.product.extend(out.solution.motion.iter().zip(&self.u_last).map(|(u, last)| 2.0 * (u - last)));
        self.momentum.clear();
        self.momentum.extend(out.solution.motion.iter().zip(&self.displacement).map(|(u, d)| h * u - d));
        for (i, cause) in ForceCause::ALL.into_iter().enumerate() {
            let from = out.force_parts.len();
            out.force_parts.extend((0..n).map(|j| 0.5 * (self.forces[i][j] + self.forces[i + 3][j])));
            let part = &mut out.force_parts[from..];
            add_product(&self.jacobians.by_velocity, Some(cause), 0.5, &self.product, part);
            add_product(&self.jacobians.by_configuration, Some(cause), 0.5, &self.momentum, part);
            out.force.iter_mut().zip(part).for_each(|(sum, part)| *sum += *part);
        }
    }
}

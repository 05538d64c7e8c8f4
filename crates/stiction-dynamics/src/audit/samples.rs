//! The certificate of a step whose forces are known on the way: integrals over its samples.
//!
//! Rows turn during a long smooth step, so that impulses say little about it. Here everything is evaluated anew at every sample, and summed with the
//! weights $w$ of the quadrature:
//!
//! $$ v^+ - v = \sum w\, \dot v, \qquad \sum w\, (M \dot v - k - J^T \lambda) = 0, \qquad \text{work of a force} = \sum w\, v \cdot J^T \lambda. $$
//!
//! Velocity terms do no work together with the change of the inertia: the forces without them have to explain the change of kinetic energy.
//!
//! The laws of contact and friction are judged at every sample, with forces times the length of the step as impulses.

use super::{Audit, StepAudit, dot, excess_over_kinetic, largest, relative};
use crate::events::STILL_SPEED;
use crate::static_friction::speed;
use crate::{Contact, ContactId, ForceCause, FrictionElement, Joint, MechanicalSystem, Row, RowRates, State, Step};

/// Forces below this share of what holds the momentum of the step are measured against it.
const ROUNDING_SHARE: f64 = 1e-4;

/// Units of rounding of the forces on a coordinate that its acceleration is off by. Too large: accelerations that a solver has wrong pass. Too small: right ones of
/// light bodies are refused.
const UNITS: f64 = 8.0 * f64::EPSILON;

impl Audit {
    /// Momentum, works and laws of a step with samples.
    pub(super) fn judge_samples(
        &mut self,
        system: &dyn MechanicalSystem,
        before: &State,
        step: &Step,
        kinetic_before: f64,
        audit: &mut StepAudit,
    ) {
        let (n, h) = (system.velocity_count(), step.h);
        let energy = &mut audit.energy;
        let ids: Vec<ContactId> = step.contacts.iter().map(|contact| contact.id).collect();
        let mut rows = SampledRows::default();
        let mut momentum = vec![0.0; n];
        self.balance.clear();
        self.balance.resize(n, 0.0);
        self.change.clear();
        self.change.extend(step.state.v.iter().zip(&before.v).map(|(a, b)| a - b));
        let mut impulse_scale = 0.0f64;
        let mut inertia_change = energy.kinetic_change;
        // Energies are measured against the largest kinetic energy; a system at rest has that which its forces would give it.
        let mut energy_scale = kinetic_before.max(energy.kinetic);

        for sample in &step.samples {
            let (w, state) = (sample.weight, &sample.state);
            rows.evaluate(system, state, &ids);
            self.inertia.clear();
            system.mass_matrix(state.t, &state.q, &mut self.inertia);
            momentum.fill(0.0);
            self.inertia.apply(&state.v, &mut momentum);
            impulse_scale = impulse_scale.max(ROUNDING_SHARE * largest(&momentum));
            energy_scale = energy_scale.max(0.5 * dot(&momentum, &state.v));
            momentum.fill(0.0);
            self.inertia.apply(&sample.acceleration, &mut momentum);
            inertia_change -= w * dot(&momentum, &state.v);
            self.balance.iter_mut().zip(&momentum).for_each(|(sum, part)| *sum += w * part);
            self.change.iter_mut().zip(&sample.acceleration).for_each(|(change, a)| *change -= w * a);

            self.force.clear();
            self.force.resize(n, 0.0);
            let works = [&mut energy.potential_forces, &mut energy.gyroscopic, &mut energy.applied];
            for (cause, work) in ForceCause::ALL.into_iter().zip(works) {
                self.force.fill(0.0);
                system.force_by_cause(cause, state.t, &state.q, &state.v, &mut self.force);
                *work += w * dot(&self.force, &state.v);
                impulse_scale = impulse_scale.max(h * largest(&self.force));
                self.balance.iter_mut().zip(&self.force).for_each(|(sum, force)| *sum -= w * force);
                if self.inertia.factor().is_ok() {
                    momentum.clone_from(&self.force);
                    self.inertia.solve_in_place(&mut momentum);
                    energy_scale = energy_scale.max(0.5 * h * h * dot(&self.force, &momentum));
                }
            }
            for (joint, force) in rows.joints.iter().zip(&sample.joints) {
                joint.row.add_to(-w * force, &mut self.balance);
                energy.joints += w * force * joint.row.dot(&state.v);
                impulse_scale = impulse_scale.max(h * force.abs());
            }
            for (contact, (normal, tangent)) in rows.contacts.iter().zip(&sample.contacts) {
                contact.normal.add_to(-w * normal, &mut self.balance);
                energy.normal += w * normal * (contact.normal.dot(&state.v) + contact.normal_drift);
                energy.drive -= w * normal * contact.normal_drift;
                let slip = contact.slip(&state.v);
                for (a, row) in contact.tangents.iter().enumerate() {
                    row.add_to(-w * tangent[a], &mut self.balance);
                    energy.friction += w * tangent[a] * slip[a];
                    energy.drive -= w * tangent[a] * contact.tangent_drift[a];
                }
                impulse_scale = impulse_scale.max(h * normal.abs());
            }
            for (element, force) in rows.friction.iter().zip(&sample.friction) {
                let slip = element.slip(&state.v);
                for (a, row) in element.tangents.iter().enumerate() {
                    row.add_to(-w * force[a], &mut self.balance);
                    energy.friction += w * force[a] * slip[a];
                    energy.drive -= w * force[a] * element.tangent_drift[a];
                    impulse_scale = impulse_scale.max(h * force[a].abs());
                }
            }
        }
        self.largest_energy = self.largest_energy.max(energy_scale);
        let external = energy.normal + energy.friction + energy.drive + energy.joints + energy.applied;
        energy.gyroscopic += inertia_change;
        let explained = external + energy.potential_forces;
        energy.unexplained = energy.total_change - external;
        audit.kinetic_balance = relative((energy.kinetic_change - explained).abs(), energy_scale);
        // The change of velocity that the accelerations do not explain, as momentum.
        momentum.fill(0.0);
        self.inertia.apply(&self.change, &mut momentum);
        let unbalanced = largest(&self.balance).max(largest(&momentum));
        audit.momentum = relative(unbalanced, impulse_scale);

        // The laws at every sample. Accelerations are measured against those that the forces would give without contacts.
        momentum.clone_from(&step.force);
        if self.inertia.factor().is_ok() {
            self.inertia.solve_in_place(&mut momentum);
        }
        let free = largest(&momentum);
        let mut is_held = false;
        for sample in &step.samples {
            let state = &sample.state;
            rows.evaluate(system, state, &ids);
            let used = rows.contacts.iter().zip(&step.contacts);
            for ((contact, used), (normal, tangent)) in used.zip(&sample.contacts) {
                let power = h * normal * (contact.normal.dot(&state.v) + contact.normal_drift);
                audit.complementarity = audit.complementarity.max(relative(power.abs(), energy_scale));
                audit.complementarity = audit.complementarity.max(relative((-h * normal).max(0.0), impulse_scale));
                let shape = contact.friction.shape();
                audit.judge_friction(
                    &contact.friction.axes(),
                    [&shape; 2],
                    h * used.mu() * normal,
                    &tangent.map(|force| h * force),
                    &contact.slip(&state.v),
                    impulse_scale,
                    energy_scale,
                );
                let two = contact.static_mu.map(|mu| [mu, contact.friction.mu()].map(|mu| h * mu * normal));
                let choice = (h * used.mu() * normal, speed(&contact.slip(&state.v)) <= STILL_SPEED);
                let excess = h * excess_over_kinetic(contact, &shape, tangent, *normal, 0.0);
                is_held |= audit.judge_coefficient(two, choice, excess, impulse_scale);
            }
            for ((element, used), force) in rows.friction.iter().zip(&step.friction).zip(&sample.friction) {
                let (impulse, slip) = (force.map(|force| h * force), element.slip(&state.v));
                let sets = [&element.shape; 2];
                audit.judge_friction(&[1.0; 3], sets, h * used.limit(), &impulse, &slip, impulse_scale, energy_scale);
                let two = element.static_bound.map(|bound| [bound, element.bound].map(|bound| h * bound));
                let choice = (h * used.limit(), speed(&slip) <= STILL_SPEED);
                let excess = element.shape.excess(&impulse, h * element.bound);
                is_held |= audit.judge_coefficient(two, choice, excess, impulse_scale);
            }
            // A light body between strong forces has an acceleration that is the difference of much larger ones, and no better than their rounding.
            self.force.clear();
            self.force.resize(n, 0.0);
            system.force(state.t, &state.q, &state.v, &mut self.force);
            self.force.iter_mut().for_each(|force| *force = force.abs());
            let mut act = |row: &Row, force: f64| {
                row.entries().iter().for_each(|&(k, value)| self.force[k] += (value * force).abs());
            };
            rows.joints.iter().zip(&sample.joints).for_each(|(joint, force)| act(&joint.row, *force));
            for (contact, (normal, tangent)) in rows.contacts.iter().zip(&sample.contacts) {
                act(&contact.normal, *normal);
                contact.tangents.iter().zip(tangent).for_each(|(row, force)| act(row, *force));
            }
            self.inertia.clear();
            system.mass_matrix(state.t, &state.q, &mut self.inertia);
            self.force.iter_mut().enumerate().for_each(|(k, force)| *force *= UNITS / self.inertia.entry(k, k).abs());
            let defect = rows.acceleration_defect(system, state, &sample.acceleration, &self.force, free);
            audit.residual = audit.residual.max(defect);
        }
        self.held_count += usize::from(is_held);
    }
}

/// The rows of a sample, asked of the system anew.
#[derive(Default)]
struct SampledRows {
    found: Vec<Contact>,
    contacts: Vec<Contact>,
    friction: Vec<FrictionElement>,
    joints: Vec<Joint>,
    rates: RowRates,
}

impl SampledRows {
    fn evaluate(&mut self, system: &dyn MechanicalSystem, state: &State, ids: &[ContactId]) {
        let (t, q) = (state.t, &state.q);
        self.found.clear();
        if !ids.is_empty() {
            system.contacts(t, q, f64::INFINITY, &mut self.found);
        }
        self.contacts.clear();
        for id in ids {
            let contact = self.found.iter().find(|contact| contact.id == *id);
            self.contacts.push(contact.cloned().unwrap_or_default());
        }
        self.friction.clear();
        system.friction_elements(t, q, &mut self.friction);
        self.joints.clear();
        system.joints(t, q, &mut self.joints);
    }

    /// How much closed contacts and joints accelerate beyond the rounding of accelerations, beside the largest acceleration; they should not.
    fn acceleration_defect(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        acceleration: &[f64],
        rounding: &[f64],
        free: f64,
    ) -> f64 {
        let rows = (&self.contacts[..], &self.friction[..], &self.joints[..]);
        system.row_rates(state.t, &state.q, &state.v, rows, &mut self.rates);
        let normals = self.contacts.iter().map(|contact| &contact.normal).zip(&self.rates.normals);
        let joints = self.joints.iter().map(|joint| &joint.row).zip(&self.rates.joints);
        normals.chain(joints).fold(0.0f64, |worst, (row, rate)| {
            let terms = row.entries().iter().map(|&(i, value)| (value * acceleration[i]).abs());
            let scale = terms.fold(rate.abs(), f64::max);
            let rounding = row.entries().iter().map(|&(i, value)| value.abs() * rounding[i]).sum::<f64>();
            let defect = ((row.dot(acceleration) + rate).abs() - rounding).max(0.0);
            worst.max(relative(defect, scale.max(largest(acceleration)).max(free)))
        })
    }
}

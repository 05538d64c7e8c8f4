//! The certificate of a step whose forces are known on the way: integrals over its samples.
//!
//! Rows turn during a long smooth step, so that impulses say little about it. Here everything is
//! evaluated anew at every sample, and summed with the weights $w$ of the quadrature:
//!
//! $$ v^+ - v = \sum w\, \dot v, \qquad \sum w\, (M \dot v - k - J^T \lambda) = 0, \qquad \text{work of a force} = \sum w\, v \cdot J^T \lambda. $$
//!
//! Velocity terms do no work together with the change of the inertia: the forces without them have
//! to explain the change of kinetic energy.
//!
//! The laws of contact and friction are judged at every sample, with forces times the length of the
//! step as impulses.

use super::accounts::Accounts;
use super::{Audit, EnergyByCause, Rubbing, Scales, StepAudit, relative};
use crate::events::STILL_SPEED;
use crate::scheme::origin::{At, Origin};
use crate::vector::{dot, largest, norm, refill, zero};
use crate::{Contact, ContactId, ForceCause, FrictionElement, Joint, Row, RowRates, Sample, State, Step};

/// Forces below this share of what holds the momentum of the step are measured against it.
const ROUNDING_SHARE: f64 = 1e-4;

/// Units of rounding of the forces on a coordinate that its acceleration is off by. Too large:
/// accelerations that a solver has wrong pass. Too small: right ones of light bodies are refused.
const UNITS: f64 = 8.0 * f64::EPSILON;

impl Audit {
    /// Momentum, works and laws of a step with samples.
    pub(super) fn judge_samples(
        &mut self,
        origin: Origin<'_>,
        step: &Step,
        kinetic_before: f64,
        audit: &mut StepAudit,
    ) {
        let before = origin.state;
        let ids: Vec<ContactId> = step.contacts.iter().map(|contact| contact.id).collect();
        let mut rows = SampledRows::default();
        let mut momentum = vec![0.0; before.v.len()];
        zero(&mut self.balance, momentum.len());
        refill(&mut self.change, step.state.v.iter().zip(&before.v).map(|(a, b)| a - b));
        let mut inertia_change = audit.energy.kinetic_change;
        // Energies are measured against the largest kinetic energy; a system at rest has that which
        // its forces would give it.
        let mut scales = Scales { impulse: 0.0, energy: kinetic_before.max(audit.energy.kinetic) };
        for sample in &step.samples {
            let at = origin.at(sample.state.t, &sample.state.q);
            rows.evaluate(at, &ids);
            inertia_change -= self.integrate_momentum(at, sample, &mut momentum, &mut scales);
            self.integrate_forces(at, (sample, step.h), &mut momentum, &mut scales, &mut audit.energy);
            let mut accounts = Accounts {
                balance: &mut self.balance,
                energy: &mut audit.energy,
                velocity: &sample.state.v,
                weight: sample.weight,
                duration: step.h,
                largest_impulse: scales.impulse,
            };
            rows.joints.iter().zip(&sample.joints).for_each(|(joint, force)| accounts.joint(joint, *force));
            for (contact, (normal, tangent)) in rows.contacts.iter().zip(&sample.contacts) {
                accounts.contact(contact, *normal, tangent);
            }
            rows.friction.iter().zip(&sample.friction).for_each(|(element, force)| accounts.element(element, force));
            scales.impulse = accounts.largest_impulse;
        }
        self.largest_energy = self.largest_energy.max(scales.energy);
        let energy = &mut audit.energy;
        let external = energy.normal + energy.friction + energy.drive + energy.joints + energy.applied;
        energy.gyroscopic += inertia_change;
        let explained = external + energy.potential_forces;
        energy.unexplained = energy.total_change - external;
        audit.kinetic_balance = relative((energy.kinetic_change - explained).abs(), scales.energy);
        // The change of velocity that the accelerations do not explain, as momentum.
        self.inertia.apply(&self.change, &mut momentum);
        let unbalanced = largest(&self.balance).max(largest(&momentum));
        audit.momentum = relative(unbalanced, scales.impulse);

        // The laws at every sample. Accelerations are measured against those that the forces would
        // give without contacts.
        momentum.clone_from(&step.force);
        if self.inertia.factor().is_ok() {
            self.inertia.solve_in_place(&mut momentum);
        }
        let free = largest(&momentum);
        let mut is_held = false;
        for sample in &step.samples {
            let at = origin.at(sample.state.t, &sample.state.q);
            rows.evaluate(at, &ids);
            is_held |= rows.judge_laws(step, sample, scales, audit);
            self.take_rounding(at, sample, &rows);
            let defect = rows.acceleration_defect(at, sample, &self.force, free);
            audit.residual = audit.residual.max(defect);
        }
        self.held_count += usize::from(is_held);
    }

    /// Adds $w M \dot v$ to the balance. Returns the work that it stands for.
    fn integrate_momentum(&mut self, at: At<'_>, sample: &Sample, momentum: &mut Vec<f64>, scales: &mut Scales) -> f64 {
        let Sample { weight: w, state: State { v, .. }, acceleration, .. } = sample;
        let kinetic = at.kinetic_energy(v, &mut self.inertia, momentum);
        scales.impulse = scales.impulse.max(ROUNDING_SHARE * largest(momentum));
        scales.energy = scales.energy.max(kinetic);
        self.inertia.apply(acceleration, momentum);
        self.balance.iter_mut().zip(&*momentum).for_each(|(sum, part)| *sum += w * part);
        self.change.iter_mut().zip(acceleration).for_each(|(change, a)| *change -= w * a);
        w * dot(momentum, v)
    }

    /// Takes the forces by cause, $w k$, out of the balance, and adds their work.
    fn integrate_forces(
        &mut self,
        at: At<'_>,
        (Sample { weight: w, state: State { v, .. }, .. }, h): (&Sample, f64),
        momentum: &mut Vec<f64>,
        scales: &mut Scales,
        energy: &mut EnergyByCause,
    ) {
        let is_regular = self.inertia.factor().is_ok();
        let works = [&mut energy.potential_forces, &mut energy.gyroscopic, &mut energy.applied];
        for (cause, work) in ForceCause::ALL.into_iter().zip(works) {
            at.force_by_cause(cause, v, &mut self.force);
            *work += w * dot(&self.force, v);
            scales.impulse = scales.impulse.max(h * largest(&self.force));
            self.balance.iter_mut().zip(&self.force).for_each(|(sum, force)| *sum -= w * force);
            if is_regular {
                momentum.clone_from(&self.force);
                self.inertia.solve_in_place(momentum);
                scales.energy = scales.energy.max(0.5 * h * h * dot(&self.force, momentum));
            }
        }
    }

    /// Writes the rounding of accelerations into `self.force`: a light body between strong forces
    /// has an acceleration that is the difference of much larger ones, and no better than their
    /// rounding.
    fn take_rounding(&mut self, at: At<'_>, sample: &Sample, rows: &SampledRows) {
        at.force(&sample.state.v, &mut self.force);
        self.force.iter_mut().for_each(|force| *force = force.abs());
        let mut act = |row: &Row, force: f64| {
            row.entries().iter().for_each(|&(k, value)| self.force[k] += (value * force).abs());
        };
        rows.joints.iter().zip(&sample.joints).for_each(|(joint, force)| act(&joint.row, *force));
        for (contact, (normal, tangent)) in rows.contacts.iter().zip(&sample.contacts) {
            act(&contact.normal, *normal);
            contact.tangents.iter().zip(tangent).for_each(|(row, force)| act(row, *force));
        }
        at.mass(&mut self.inertia);
        self.force.iter_mut().enumerate().for_each(|(k, force)| *force *= UNITS / self.inertia.entry(k, k).abs());
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
    fn evaluate(&mut self, at: At<'_>, ids: &[ContactId]) {
        at.contacts_of(ids, &mut self.found);
        let find = |id: &ContactId| self.found.iter().find(|contact| contact.id == *id).cloned().unwrap_or_default();
        refill(&mut self.contacts, ids.iter().map(find));
        at.friction(&mut self.friction);
        at.joints(&mut self.joints);
    }

    /// The laws of contact and friction at a sample. Whether a contact is held by more than kinetic
    /// friction.
    fn judge_laws(&self, step: &Step, sample: &Sample, scales: Scales, audit: &mut StepAudit) -> bool {
        let (h, v) = (step.h, &sample.state.v);
        let mut is_held = false;
        let used = self.contacts.iter().zip(&step.contacts);
        for ((contact, used), (normal, tangent)) in used.zip(&sample.contacts) {
            let power = h * normal * contact.rate(v);
            audit.complementarity = audit.complementarity.max(relative(power.abs(), scales.energy));
            audit.complementarity = audit.complementarity.max(relative((-h * normal).max(0.0), scales.impulse));
            let (shape, slip, bound) = (contact.friction.shape(), contact.slip(v), h * used.mu() * normal);
            let rubbing = Rubbing {
                axes: contact.friction.axes(),
                sets: [&shape; 2],
                bound,
                impulse: tangent.map(|force| h * force),
                slip,
                sticks: norm(&slip) <= STILL_SPEED,
                two: contact.static_mu.map(|mu| [mu, contact.friction.mu()].map(|mu| h * mu * normal)),
            };
            is_held |= audit.judge_friction(&rubbing, scales);
        }
        for ((element, used), force) in self.friction.iter().zip(&step.friction).zip(&sample.friction) {
            let (impulse, slip, bound) = (force.map(|force| h * force), element.slip(v), h * used.limit());
            let rubbing = Rubbing {
                axes: [1.0; 3],
                sets: [&element.shape; 2],
                bound,
                impulse,
                slip,
                sticks: norm(&slip) <= STILL_SPEED,
                two: element.static_bound.map(|bound| [bound, element.bound].map(|bound| h * bound)),
            };
            is_held |= audit.judge_friction(&rubbing, scales);
        }
        is_held
    }

    /// How much closed contacts and joints accelerate beyond the rounding of accelerations, beside
    /// the largest acceleration; they should not.
    fn acceleration_defect(&mut self, at: At<'_>, sample: &Sample, rounding: &[f64], free: f64) -> f64 {
        let acceleration = &sample.acceleration;
        let rows = (&self.contacts[..], &self.friction[..], &self.joints[..]);
        at.system.row_rates(at.t, at.q, &sample.state.v, rows, &mut self.rates);
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

//! What impulses and forces take out of the balance of momentum, and the work that they do.
//!
//! A force $f$ along a row $w$ at the velocity $v$ counts with a weight: one where it is an impulse
//! of a step and $v$ the mean velocity, the weight of a sample in the integral where it is a force
//! on the way.

use super::EnergyByCause;
use crate::{Contact, FrictionElement, Joint};

/// The accounts of a step or of one of its samples.
pub(super) struct Accounts<'a> {
    /// What remains of momentum.
    pub balance: &'a mut [f64],
    pub energy: &'a mut EnergyByCause,
    pub velocity: &'a [f64],
    pub weight: f64,
    /// How long a force acts when it is measured as an impulse: one for impulses.
    pub duration: f64,
    /// The largest impulse so far.
    pub largest_impulse: f64,
}

impl Accounts<'_> {
    /// A joint row with its force.
    pub fn joint(&mut self, joint: &Joint, force: f64) {
        joint.row.add_to(-self.weight * force, self.balance);
        self.energy.joints += self.weight * force * joint.row.dot(self.velocity);
        self.keep(force);
    }

    /// A contact with its normal and friction force.
    pub fn contact(&mut self, contact: &Contact, normal: f64, tangent: &[f64; 3]) {
        contact.normal.add_to(-self.weight * normal, self.balance);
        self.energy.normal += self.weight * normal * contact.rate(self.velocity);
        self.energy.drive -= self.weight * normal * contact.normal_drift;
        for (a, row) in contact.tangents.iter().enumerate() {
            row.add_to(-self.weight * tangent[a], self.balance);
            self.energy.friction += self.weight * tangent[a] * (row.dot(self.velocity) + contact.tangent_drift[a]);
            self.energy.drive -= self.weight * tangent[a] * contact.tangent_drift[a];
        }
        self.keep(normal);
    }

    /// A friction element with its force. A pre-stressed spring has a potential.
    pub fn element(&mut self, element: &FrictionElement, force: &[f64; 3]) {
        for (a, row) in element.tangents.iter().enumerate() {
            row.add_to(-self.weight * force[a], self.balance);
            self.keep(force[a]);
            if element.displacement.is_some() {
                self.energy.potential_forces += self.weight * force[a] * row.dot(self.velocity);
                continue;
            }
            self.energy.friction += self.weight * force[a] * (row.dot(self.velocity) + element.tangent_drift[a]);
            self.energy.drive -= self.weight * force[a] * element.tangent_drift[a];
        }
    }

    fn keep(&mut self, force: f64) {
        self.largest_impulse = self.largest_impulse.max(self.duration * force.abs());
    }
}

//! A block whose friction does not depend on a load: \[ST96\] §3.5.

use crate::{Contact, FrictionElement, Inertia, MechanicalSystem, Row};

/// A block on a line with bounded dry friction.
#[derive(Clone, Debug, PartialEq)]
pub struct Slider {
    /// Mass, in kg.
    pub mass: f64,
    /// Largest friction force, in N.
    pub bound: f64,
}

impl MechanicalSystem for Slider {
    fn velocity_count(&self) -> usize {
        1
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[self.mass]);
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
    }

    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}

    fn friction_elements(&self, _t: f64, _q: &[f64], out: &mut Vec<FrictionElement>) {
        out.push(FrictionElement {
            id: 0,
            tangents: [Row::from_dense(&[1.0])].into_iter().collect(),
            bound: self.bound,
            ..Default::default()
        });
    }
}

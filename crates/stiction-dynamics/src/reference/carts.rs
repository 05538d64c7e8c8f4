//! Two carts and a stopper, \[PAGT\] §10.2: a spring, a damper and dry friction on the floor.

use crate::force_jacobians::{ForceJacobians, JacobianEntry, JacobianKind};
use crate::{
    Contact, ContactId, ForceCause, FrictionElement, ImpactLaw, Inertia, Joint, MechanicalSystem, Restitution, Row,
};

/// Two carts of unit mass on a line. A spring holds the first at
/// [`EQUILIBRIUM`](Self::EQUILIBRIUM), a damper connects it to the second, a stopper at $x = 0$
/// keeps it from going further; the floor rubs with [`FRICTION`](Self::FRICTION).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carts {
    /// Stiffness $\gamma$ of the spring, in N/m; a rigid link in its place when it is infinite.
    pub stiffness: f64,
    /// Damping $\delta$ of the damper, in N s/m; a rigid link in its place when it is infinite.
    pub damping: f64,
}

impl Carts {
    /// Place of the first cart at which the spring is unloaded, in metres.
    pub const EQUILIBRIUM: f64 = 0.2;
    /// Friction of each cart on the floor, $\mu m g$ with $\mu = 0.05$, in N.
    pub const FRICTION: f64 = 0.05 * 9.8;
    /// Poisson's coefficient of restitution of the stopper.
    pub const RESTITUTION: f64 = 0.3;

    fn spring_force(&self, q: &[f64]) -> f64 {
        if self.stiffness.is_finite() { -self.stiffness * (q[0] - Self::EQUILIBRIUM) } else { 0.0 }
    }

    fn finite_damping(&self) -> f64 {
        if self.damping.is_finite() { self.damping } else { 0.0 }
    }
}

impl MechanicalSystem for Carts {
    fn velocity_count(&self) -> usize {
        2
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        (0..2).for_each(|_| out.push_scalar(1.0));
    }

    fn force(&self, _t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        let damper = self.finite_damping() * (v[1] - v[0]);
        k.copy_from_slice(&[self.spring_force(q) + damper, -damper]);
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        match cause {
            ForceCause::Potential => k.copy_from_slice(&[self.spring_force(q), 0.0]),
            ForceCause::Gyroscopic => k.fill(0.0),
            ForceCause::Applied => {
                self.force(t, q, v, k);
                k[0] -= self.spring_force(q);
            }
        }
    }

    // Spring and damper are linear, so that both kinds of derivatives are the same.
    fn force_jacobians(&self, _kind: JacobianKind, _t: f64, _q: &[f64], _v: &[f64], out: &mut ForceJacobians) {
        let entry = |row, column, value, cause| JacobianEntry { row, column, value, cause };
        if self.stiffness.is_finite() {
            out.by_configuration.push(entry(0, 0, -self.stiffness, ForceCause::Potential));
        }
        let damping = self.finite_damping();
        let places = [(0, 0, -damping), (0, 1, damping), (1, 0, damping), (1, 1, -damping)];
        out.by_velocity.extend(places.map(|(row, column, value)| entry(row, column, value, ForceCause::Applied)));
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        if q[0] <= horizon {
            let restitution = Restitution { law: ImpactLaw::Poisson, normal: Self::RESTITUTION, tangential: 0.0 };
            let normal = Row::from_dense(&[1.0, 0.0]);
            out.push(Contact { id: ContactId::number(0), gap: q[0], normal, restitution, ..Default::default() });
        }
    }

    fn friction_elements(&self, _t: f64, _q: &[f64], out: &mut Vec<FrictionElement>) {
        for (id, row) in [[1.0, 0.0], [0.0, 1.0]].iter().enumerate() {
            let tangents = [Row::from_dense(row)].into_iter().collect();
            out.push(FrictionElement { id: id as u32, tangents, bound: Self::FRICTION, ..Default::default() });
        }
    }

    fn joints(&self, _t: f64, q: &[f64], out: &mut Vec<Joint>) {
        if self.stiffness.is_infinite() {
            let row = Row::from_dense(&[1.0, 0.0]);
            out.push(Joint { value: q[0] - Self::EQUILIBRIUM, row, drift: 0.0 });
        }
        if self.damping.is_infinite() {
            let row = Row::from_dense(&[-1.0, 1.0]);
            out.push(Joint { value: q[1] - q[0] - 5.0, row, drift: 0.0 });
        }
    }

    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        Some(-0.5 * self.spring_force(q) * (q[0] - Self::EQUILIBRIUM))
    }

    fn column_names(&self) -> Vec<String> {
        ["x1", "x2", "v1", "v2"].map(str::to_owned).to_vec()
    }
}

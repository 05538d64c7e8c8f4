//! A particle whose velocities are taken along axes that turn: $\dot q = \Gamma(t) v$, the
//! configuration map of \[PKF\] that depends on time.

use stiction_solve::PortableMath as _;

use crate::{Contact, ContactId, ForceCause, FrictionLaw, Inertia, MechanicalSystem, Row};

/// A particle on a rough floor, drawn to the origin by a spring. The coordinates $q$ are those of
/// fixed axes, the velocities $v$ those along axes that turn about the vertical with the rate
/// $\Omega$: $\Gamma(t)$ is the rotation by $\Omega t$, and
///
/// $$ m (\dot v + \Omega\, e_z \times v) = \Gamma^T f. $$
///
/// The motion is that of $\Omega = 0$, whatever the rate.
#[derive(Clone, Debug, PartialEq)]
pub struct TurningAxes {
    /// Mass $m$, in kg.
    pub mass: f64,
    /// Weight over the mass, in m/s².
    pub gravity: f64,
    /// Stiffness of the spring along the floor, in N/m.
    pub stiffness: f64,
    /// Coefficient of friction.
    pub mu: f64,
    /// Rate $\Omega$ of the axes, in rad/s.
    pub rate: f64,
}

impl TurningAxes {
    /// A vector along fixed axes, given along those that have turned until `t`.
    pub fn to_fixed(&self, t: f64, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (sine, cosine) = (self.rate * t).portable_sin_cos();
        [cosine * x - sine * y, sine * x + cosine * y, z]
    }

    /// A vector along the axes that have turned until `t`, given along fixed ones: $\Gamma^T$.
    pub fn to_turning(&self, t: f64, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (sine, cosine) = (self.rate * t).portable_sin_cos();
        [cosine * x + sine * y, -sine * x + cosine * y, z]
    }
}

impl MechanicalSystem for TurningAxes {
    fn velocity_count(&self) -> usize {
        3
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[self.mass; 3]);
    }

    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        let spring = [-self.stiffness * q[0], -self.stiffness * q[1], -self.mass * self.gravity];
        k.copy_from_slice(&self.to_turning(t, spring));
        k[0] += self.mass * self.rate * v[1];
        k[1] -= self.mass * self.rate * v[0];
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        match cause {
            ForceCause::Potential => self.force(t, q, &[0.0; 3], k),
            ForceCause::Gyroscopic => {
                let turn = self.mass * self.rate;
                k.copy_from_slice(&[turn * v[1], -turn * v[0], 0.0]);
            }
            ForceCause::Applied => k.fill(0.0),
        }
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        if q[2] <= horizon {
            out.push(Contact {
                id: ContactId::number(0),
                gap: q[2],
                normal: Row::from_dense(&[0.0, 0.0, 1.0]),
                tangents: [Row::from_dense(&[1.0]), Row::from_dense(&[0.0, 1.0])].into_iter().collect(),
                friction: FrictionLaw::Coulomb { mu: self.mu },
                ..Default::default()
            });
        }
    }

    fn displace(&self, t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        let rate = self.to_fixed(t, [v[0], v[1], v[2]]);
        (0..3).for_each(|i| out[i] = q[i] + h * rate[i]);
    }

    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        Some(0.5 * self.stiffness * (q[0] * q[0] + q[1] * q[1]) + self.mass * self.gravity * q[2])
    }
}

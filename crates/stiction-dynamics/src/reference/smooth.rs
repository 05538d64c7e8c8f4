//! Smooth systems with solutions in closed form, on which the orders of the trapezoidal rules of
//! \[PAGT\] §§ 2, 3 and 9 show.

use crate::{Contact, ForceCause, ForceJacobians, Inertia, JacobianEntry, JacobianKind, MechanicalSystem, State};

/// The plane oscillator $\ddot x = -x$ in the bent coordinates $x_1 = q_1 + \tfrac12 q_2^2$,
/// $x_2 = q_2$, both sides times the growing factor $1 + t$: an inertia that depends on time and
/// place,
///
/// $$ M(t, q) = (1 + t) J^T J, \qquad k = -(1 + t) J^T (x + \dot J v), \qquad J = \begin{pmatrix} 1 & q_2 \\\\ 0 & 1 \end{pmatrix}. $$
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BentOscillator;

impl BentOscillator {
    /// The solution with $x(0) = (1, 0.5)$, $\dot x(0) = (0.3, 1.2)$.
    pub fn solution(t: f64) -> State {
        let (sine, cosine) = t.sin_cos();
        let [x, y] = [cosine + 0.3 * sine, 0.5 * cosine + 1.2 * sine];
        let [vx, vy] = [-sine + 0.3 * cosine, -0.5 * sine + 1.2 * cosine];
        State::new(t, vec![x - 0.5 * y * y, y], vec![vx - y * vy, vy])
    }
}

impl MechanicalSystem for BentOscillator {
    fn velocity_count(&self) -> usize {
        2
    }

    fn mass_matrix(&self, t: f64, q: &[f64], out: &mut Inertia) {
        let growth = 1.0 + t;
        out.push_block(2, &[growth, growth * q[1], growth * q[1], growth * (1.0 + q[1] * q[1])]);
    }

    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        let [x, y] = [q[0] + 0.5 * q[1] * q[1] + v[1] * v[1], q[1]];
        k.copy_from_slice(&[-(1.0 + t) * x, -(1.0 + t) * (q[1] * x + y)]);
    }

    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}
}

/// A particle of unit mass on a spring to the origin, which turns with it on a circle: the spring
/// is loaded all the time, and its derivatives differ from \[PAGT\] (9.2) by the load over the
/// length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringOrbit {
    /// Stiffness $\gamma$, in N/m.
    pub stiffness: f64,
    /// Length without load, in m.
    pub rest_length: f64,
}

impl SpringOrbit {
    /// The state on the circle of this radius: the spring pulls as much as the particle needs.
    pub fn solution(&self, radius: f64, t: f64) -> State {
        let rate = (self.stiffness * (1.0 - self.rest_length / radius)).sqrt();
        let (sine, cosine) = (rate * t).sin_cos();
        let v = rate * radius;
        State::new(t, vec![radius * cosine, radius * sine], vec![-v * sine, v * cosine])
    }
}

impl MechanicalSystem for SpringOrbit {
    fn velocity_count(&self) -> usize {
        2
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        (0..2).for_each(|_| out.push_scalar(1.0));
    }

    fn force(&self, _t: f64, q: &[f64], _v: &[f64], k: &mut [f64]) {
        let pull = self.stiffness * (1.0 - self.rest_length / q[0].hypot(q[1]));
        k.copy_from_slice(&[-pull * q[0], -pull * q[1]]);
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        match cause {
            ForceCause::Potential => self.force(t, q, v, k),
            ForceCause::Gyroscopic | ForceCause::Applied => k.fill(0.0),
        }
    }

    // The stiffness along the spring; across it the load over the length, which (9.2) leaves out.
    fn force_jacobians(&self, kind: JacobianKind, _t: f64, q: &[f64], _v: &[f64], out: &mut ForceJacobians) {
        let length = q[0].hypot(q[1]);
        let across = match kind {
            JacobianKind::Exact => self.stiffness * (1.0 - self.rest_length / length),
            JacobianKind::Definite => 0.0,
        };
        let along = [q[0] / length, q[1] / length];
        for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let diagonal = if row == column { across } else { 0.0 };
            let value = -diagonal - (self.stiffness - across) * along[row] * along[column];
            out.by_configuration.push(JacobianEntry { row, column, value, cause: ForceCause::Potential });
        }
    }

    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}

    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        let stretch = q[0].hypot(q[1]) - self.rest_length;
        Some(0.5 * self.stiffness * stretch * stretch)
    }
}

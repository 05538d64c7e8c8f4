//! The double pendulum beside a wall of \[PAGT\] §10.1, in Cartesian coordinates and in angles.

use crate::{
    Contact, ContactId, ForceCause, FrictionElement, Inertia, Joint, MechanicalSystem, Restitution, Row, RowRates,
    State,
};

/// Two bobs of unit mass on massless rods of unit length; the pivot is the origin and the wall is
/// $x = 0$, without friction. Coordinates $x_1, y_1, x_2, y_2$; the rods are joints
/// $\Theta_1 = x_1^2 + y_1^2 - 1$, $\Theta_2 = (x_2 - x_1)^2 + (y_2 - y_1)^2 - 1$.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoublePendulum {
    /// Gravity, in m/s².
    pub gravity: f64,
    /// What impacts on the wall give back; none without a wall.
    pub wall: Option<Restitution>,
}

impl DoublePendulum {
    /// The state at which the paper starts, at rest.
    pub fn start() -> State {
        let (first, second) = (std::f64::consts::PI / 3.0, std::f64::consts::PI / 5.0);
        let (x, y) = (first.sin(), -first.cos());
        State::new(0.0, vec![x, y, x + second.sin(), y - second.cos()], vec![0.0; 4])
    }

    /// The two joint values $\Theta$.
    pub fn joint_values(q: &[f64]) -> [f64; 2] {
        let (x, y) = (q[2] - q[0], q[3] - q[1]);
        [q[0] * q[0] + q[1] * q[1] - 1.0, x * x + y * y - 1.0]
    }

    /// Kinetic and potential energy together, in joules.
    pub fn energy(&self, state: &State) -> f64 {
        let kinetic: f64 = state.v.iter().map(|v| 0.5 * v * v).sum();
        kinetic + self.gravity * (state.q[1] + state.q[3])
    }
}

impl MechanicalSystem for DoublePendulum {
    fn velocity_count(&self) -> usize {
        4
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        (0..4).for_each(|_| out.push_scalar(1.0));
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[0.0, -self.gravity, 0.0, -self.gravity]);
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        match cause {
            ForceCause::Potential => self.force(t, q, v, k),
            ForceCause::Gyroscopic | ForceCause::Applied => k.fill(0.0),
        }
    }

    fn force_jacobians(
        &self,
        _kind: crate::JacobianKind,
        _t: f64,
        _q: &[f64],
        _v: &[f64],
        _out: &mut crate::ForceJacobians,
    ) {
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let Some(restitution) = self.wall else { return };
        for bob in 0..2 {
            let gap = q[2 * bob];
            if gap <= horizon {
                let mut normal = Row::new();
                normal.push(2 * bob, 1.0);
                out.push(Contact { id: ContactId::number(bob as u32), gap, normal, restitution, ..Default::default() });
            }
        }
    }

    fn joints(&self, _t: f64, q: &[f64], out: &mut Vec<Joint>) {
        let [first, second] = Self::joint_values(q);
        let (x, y) = (2.0 * (q[2] - q[0]), 2.0 * (q[3] - q[1]));
        let upper = Row::from_dense(&[2.0 * q[0], 2.0 * q[1]]);
        let lower = Row::from_dense(&[-x, -y, x, y]);
        out.extend([(first, upper), (second, lower)].map(|(value, row)| Joint { value, row, drift: 0.0 }));
    }

    // The wall is straight; the rows of the rods are twice their vectors.
    fn row_rates(
        &self,
        _t: f64,
        _q: &[f64],
        v: &[f64],
        (contacts, _, joints): (&[Contact], &[FrictionElement], &[Joint]),
        out: &mut RowRates,
    ) {
        out.reset(contacts.len(), 0, joints.len());
        let (x, y) = (v[2] - v[0], v[3] - v[1]);
        out.joints.copy_from_slice(&[2.0 * (v[0] * v[0] + v[1] * v[1]), 2.0 * (x * x + y * y)]);
    }

    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        Some(self.gravity * (q[1] + q[3]))
    }

    fn column_names(&self) -> Vec<String> {
        ["x1", "y1", "x2", "y2", "vx1", "vy1", "vx2", "vy2"].map(str::to_owned).to_vec()
    }
}

/// The same pendulum without wall, in the angles of its rods from the vertical: no joints, but an
/// inertia that changes with the configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PendulumInAngles {
    /// Gravity, in m/s².
    pub gravity: f64,
}

impl PendulumInAngles {
    /// The same start as that of [`DoublePendulum`].
    pub fn start() -> State {
        State::new(0.0, vec![std::f64::consts::PI / 3.0, std::f64::consts::PI / 5.0], vec![0.0; 2])
    }
}

impl MechanicalSystem for PendulumInAngles {
    fn velocity_count(&self) -> usize {
        2
    }

    fn mass_matrix(&self, _t: f64, q: &[f64], out: &mut Inertia) {
        let c = (q[0] - q[1]).cos();
        out.push_block(2, &[2.0, c, c, 1.0]);
    }

    fn force(&self, _t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        let s = (q[0] - q[1]).sin();
        k[0] = -s * v[1] * v[1] - 2.0 * self.gravity * q[0].sin();
        k[1] = s * v[0] * v[0] - self.gravity * q[1].sin();
    }

    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}
}

//! A rigid body that turns freely about its centre: the test of the gyroscopic term and of
//! quaternions.

use crate::force_jacobians::{ForceJacobians, JacobianEntry, JacobianKind};
use crate::{Contact, ForceCause, Inertia, MechanicalSystem, State};

/// A free top. Configuration: the unit quaternion $(w, x, y, z)$ from body to world; velocity: the
/// angular velocity in body axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeTop {
    /// Principal moments of inertia, in kg m².
    pub moments: [f64; 3],
}

impl Default for FreeTop {
    fn default() -> Self {
        Self { moments: [1.0, 2.0, 3.0] }
    }
}

impl FreeTop {
    /// The start of the reference solution: body and world axes agree.
    pub fn start() -> State {
        State::new(0.0, vec![1.0, 0.0, 0.0, 0.0], vec![0.6, 0.0, 1.4])
    }
}

impl MechanicalSystem for FreeTop {
    fn velocity_count(&self) -> usize {
        3
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        self.moments.iter().for_each(|&moment| out.push_scalar(moment));
    }

    // $I \omega \times \omega$.
    fn force(&self, _t: f64, _q: &[f64], w: &[f64], k: &mut [f64]) {
        let [a, b, c] = self.moments;
        k.copy_from_slice(&[(b - c) * w[1] * w[2], (c - a) * w[2] * w[0], (a - b) * w[0] * w[1]]);
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        match cause {
            ForceCause::Gyroscopic => self.force(t, q, v, k),
            ForceCause::Potential | ForceCause::Applied => k.fill(0.0),
        }
    }

    fn force_jacobians(&self, kind: JacobianKind, _t: f64, _q: &[f64], w: &[f64], out: &mut ForceJacobians) {
        let [a, b, c] = self.moments;
        let places = match kind {
            JacobianKind::Exact => [
                (0, 1, (b - c) * w[2]),
                (0, 2, (b - c) * w[1]),
                (1, 0, (c - a) * w[2]),
                (1, 2, (c - a) * w[0]),
                (2, 0, (a - b) * w[1]),
                (2, 1, (a - b) * w[0]),
            ],
            // F = [I ω]×, antisymmetric.
            JacobianKind::Definite => [
                (0, 1, -c * w[2]),
                (0, 2, b * w[1]),
                (1, 0, c * w[2]),
                (1, 2, -a * w[0]),
                (2, 0, -b * w[1]),
                (2, 1, a * w[0]),
            ],
        };
        let cause = ForceCause::Gyroscopic;
        out.by_velocity.extend(places.map(|(row, column, value)| JacobianEntry { row, column, value, cause }));
    }

    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}

    // Right-multiplied by exp(h ω / 2), then normalised.
    fn displace(&self, _t: f64, q: &[f64], w: &[f64], h: f64, out: &mut [f64]) {
        let half = [0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2]];
        let angle = half.iter().map(|x| x * x).sum::<f64>().sqrt();
        let sinc = if angle > 0.0 { angle.sin() / angle } else { 1.0 };
        let [s, x, y, z] = [angle.cos(), sinc * half[0], sinc * half[1], sinc * half[2]];
        let product = [
            q[0] * s - q[1] * x - q[2] * y - q[3] * z,
            q[0] * x + q[1] * s + q[2] * z - q[3] * y,
            q[0] * y - q[1] * z + q[2] * s + q[3] * x,
            q[0] * z + q[1] * y - q[2] * x + q[3] * s,
        ];
        let length = product.iter().map(|x| x * x).sum::<f64>().sqrt();
        out.iter_mut().zip(product).for_each(|(out, x)| *out = x / length);
    }
}

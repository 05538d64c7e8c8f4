//! The falling, spinning rod of \[ST96\] §4.

use crate::{
    Contact, ContactFrame, ContactId, ForceCause, FrictionElement, FrictionLaw, Inertia, Joint, MechanicalSystem, Row,
    RowRates, State,
};

/// A rod with round ends above a table, in the plane: $q = (x, y, \theta)$, $y$ upwards.
///
/// The gap of the end $s = \pm 1$ is $y + s \tfrac l2 \sin\theta - \rho$. Differs from the paper:
/// its friction vectors leave out that the contact point lies $\rho$ below the centre of the end;
/// here $d = \pm(1, 0, \rho - s \tfrac l2 \sin\theta)$, and only so is the first impact the
/// Painlevé case of which the text speaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Rod {
    /// Length between the centres of the ends $l$, in metres.
    pub length: f64,
    /// Radius of the ends $\rho$, in metres.
    pub radius: f64,
    /// Mass, in kg.
    pub mass: f64,
    /// Moment of inertia about the centre, in kg m².
    pub inertia: f64,
    /// Coefficient of friction.
    pub mu: f64,
    /// Acceleration of gravity, in m/s².
    pub gravity: f64,
}

impl Default for Rod {
    /// The data of the paper; it does not say which gravity.
    fn default() -> Self {
        Self { length: 0.5, radius: 0.05, mass: 1.0, inertia: 0.002, mu: 0.6, gravity: 9.81 }
    }
}

impl Rod {
    /// The start of the paper: 30° to the horizontal, spinning with 4 rad/s. The paper does not
    /// give the height; 1 m fits its times.
    pub fn start() -> State {
        State::new(0.0, vec![0.0, 1.0, std::f64::consts::FRAC_PI_6], vec![0.0, 0.0, 4.0])
    }
}

impl MechanicalSystem for Rod {
    fn velocity_count(&self) -> usize {
        3
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[self.mass, self.mass, self.inertia]);
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[0.0, -self.mass * self.gravity, 0.0]);
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        match cause {
            ForceCause::Potential => self.force(t, q, v, k),
            ForceCause::Gyroscopic | ForceCause::Applied => k.fill(0.0),
        }
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let (sine, cosine) = q[2].sin_cos();
        for (number, side) in [(0, 1.0), (1, -1.0)] {
            let arm = side * self.length / 2.0;
            let gap = q[1] + arm * sine - self.radius;
            if gap <= horizon {
                out.push(Contact {
                    id: ContactId::number(number),
                    gap,
                    normal: Row::from_dense(&[0.0, 1.0, arm * cosine]),
                    tangents: [Row::from_dense(&[1.0, 0.0, self.radius - arm * sine])].into_iter().collect(),
                    friction: FrictionLaw::Coulomb { mu: self.mu },
                    frame: Some(ContactFrame { point: [q[0] + arm * cosine, 0.0, 0.0], normal: [0.0, 1.0, 0.0] }),
                    ..Default::default()
                });
            }
        }
    }

    // Both rows depend on the angle alone: the ends circle around the centre.
    fn row_rates(
        &self,
        _t: f64,
        q: &[f64],
        v: &[f64],
        (contacts, _, _): (&[Contact], &[FrictionElement], &[Joint]),
        out: &mut RowRates,
    ) {
        out.reset(contacts.len(), 0, 0);
        let (sine, cosine) = q[2].sin_cos();
        for (i, contact) in contacts.iter().enumerate() {
            let side = if contact.id == ContactId::number(0) { 1.0 } else { -1.0 };
            let centripetal = -side * self.length / 2.0 * v[2] * v[2];
            (out.normals[i], out.tangents[i][0]) = (centripetal * sine, centripetal * cosine);
        }
    }

    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        Some(self.mass * self.gravity * q[1])
    }

    fn column_names(&self) -> Vec<String> {
        ["rod.x", "rod.y", "rod.angle", "rod.vx", "rod.vy", "rod.w"].map(String::from).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first impact is a Painlevé case: pushing harder makes the contact point approach faster.
    #[test]
    fn the_first_impact_is_a_painleve_case() {
        let rod = Rod::default();
        // At θ = 30° + 4 · 0.38581775 rad = 118° the end s = -1 is the lower one, on the right.
        let theta = std::f64::consts::FRAC_PI_6 + 4.0 * 0.38581775171;
        let height = rod.radius + 0.25 * theta.sin();
        let mut contacts = Vec::new();
        rod.contacts(0.0, &[0.0, height, theta], f64::INFINITY, &mut contacts);
        let right = &contacts[1];
        assert!(right.gap.abs() < 1e-9);
        // n · M⁻¹ (n - μ t) with the published masses: -1.55.
        let mass = [1.0, 1.0, 0.002];
        let (mut n, mut t) = ([0.0; 3], [0.0; 3]);
        right.normal.add_to(1.0, &mut n);
        right.tangents[0].add_to(1.0, &mut t);
        let value: f64 = (0..3).map(|i| n[i] * (n[i] - rod.mu * t[i]) / mass[i]).sum();
        let mirrored: f64 = (0..3).map(|i| n[i] * (n[i] + rod.mu * t[i]) / mass[i]).sum();
        assert!((value.min(mirrored) + 1.55).abs() < 0.01, "{value} {mirrored}");
    }
}

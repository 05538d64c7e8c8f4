//! The laws of a contact as equations with projections, and their derivatives: what Newton's method
//! solves.
//!
//! $$ 0 = c_n - (c_n - \rho_n r)_+, \qquad 0 = y - P_b(y - \rho_t\, s), \qquad b = \mu (c_n - \rho_n r)_+ + a, $$
//!
//! with the rate $r$ of the gap, friction $y$ and sliding $s$ in units of the semi-axes, and the
//! projection $P_b$ on the friction set with the bound $b$. Any $\rho > 0$ gives the same
//! solutions. Only the projection is asked of the set, so that these equations hold for every
//! convex one.

use crate::FrictionShape;
use crate::friction::Projection;

/// A contact or a friction element with its law.
pub(crate) struct Friction<'a> {
    /// The friction set, in units of the semi-axes.
    pub shape: &'a FrictionShape,
    /// Tangent rows with friction.
    pub tangent_count: usize,
    pub mu: f64,
    /// The part $a$ of the bound.
    pub bound: f64,
    /// $\rho_n$ and $\rho_t$.
    pub rho: [f64; 2],
    /// Whether there is a normal, as there is none of a friction element.
    pub has_normal: bool,
}

/// What a contact or a friction element asks for: its equations, and how they change with their
/// arguments.
pub(crate) struct Law {
    /// Of the normal: value, and derivatives by $c_n$ and by $\psi / h$.
    pub normal: [f64; 3],
    /// Of friction: value, derivatives by $y$ and by the sliding $e s$, and by $c_n$ and
    /// $\psi / h$.
    pub friction: [f64; 3],
    pub by_y: [[f64; 3]; 3],
    pub by_slip: [[f64; 3]; 3],
    pub by_normal: [f64; 3],
    pub by_gap: [f64; 3],
}

impl Friction<'_> {
    /// The equations at a normal impulse with its friction, and at a rate with its sliding.
    pub fn law(&self, (normal, y): (f64, [f64; 3]), (rate, slip): (f64, [f64; 3])) -> Law {
        let [rho_n, rho_t] = self.rho;
        let pressed = normal - rho_n * rate;
        let is_closed = self.has_normal && pressed >= 0.0;
        let mut law = Law {
            normal: if is_closed { [rho_n * rate, 0.0, rho_n] } else { [normal, 1.0, 0.0] },
            friction: [0.0; 3],
            by_y: [[0.0; 3]; 3],
            by_slip: [[0.0; 3]; 3],
            by_normal: [0.0; 3],
            by_gap: [0.0; 3],
        };
        let x: [f64; 3] = std::array::from_fn(|k| if k < self.tangent_count { y[k] - rho_t * slip[k] } else { 0.0 });
        let bound = self.mu * pressed.max(0.0) + self.bound;
        let Projection { point, by_point, by_bound } = self.shape.project(&x, bound);
        for i in 0..3 {
            law.friction[i] = y[i] - point[i];
            for j in 0..3 {
                law.by_y[i][j] = f64::from(i == j) - by_point[i][j];
                law.by_slip[i][j] = rho_t * by_point[i][j];
            }
            if is_closed {
                law.by_normal[i] = -self.mu * by_bound[i];
                law.by_gap[i] = self.mu * rho_n * by_bound[i];
            }
        }
        law
    }
}

//! The laws of a contact as equations with projections, and their derivatives: what Newton's method solves.
//!
//! $$ 0 = c_n - (c_n - \rho_n r)_+, \qquad 0 = y - P_b(y - \rho_t\, s), \qquad b = \mu (c_n - \rho_n r)_+ + a, $$
//!
//! with the rate $r$ of the gap, friction $y$ and sliding $s$ in units of the semi-axes, and the projection $P_b$ on the friction set with the bound $b$. Any $\rho > 0$ gives the same solutions. Only
//! the projection is asked of the set, so that these equations hold for every convex one.

use crate::FrictionShape;

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

/// What a contact or a friction element asks for: its equations, and how they change with their arguments.
pub(crate) struct Law {
    /// Of the normal: value, and derivatives by $c_n$ and by $\psi / h$.
    pub normal: [f64; 3],
    /// Of friction: value, derivatives by $y$ and by the sliding $e s$, and by $c_n$ and $\psi / h$.
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
        let (projected, by_point, by_bound) = project(self.shape, &x, bound);
        for i in 0..3 {
            law.friction[i] = y[i] - projected[i];
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

/// The projection on a friction set, with its derivatives by the point and by the bound.
pub(crate) fn project(shape: &FrictionShape, x: &[f64; 3], bound: f64) -> ([f64; 3], [[f64; 3]; 3], [f64; 3]) {
    let mut projected = *x;
    let (mut by_point, mut by_bound) = ([[0.0; 3]; 3], [0.0; 3]);
    let mut project_ball = |slots: std::ops::Range<usize>| {
        let length = x[slots.clone()].iter().map(|x| x * x).sum::<f64>().sqrt();
        if length <= bound {
            slots.for_each(|k| by_point[k][k] = 1.0);
            return;
        }
        let share = bound / length;
        for k in slots.clone() {
            projected[k] = share * x[k];
            by_bound[k] = x[k] / length;
            for l in slots.clone() {
                by_point[k][l] = share * (f64::from(k == l) - x[k] * x[l] / (length * length));
            }
        }
    };
    match shape {
        FrictionShape::Ball => project_ball(0..3),
        FrictionShape::DiscAndInterval => {
            project_ball(0..2);
            project_ball(2..3);
        }
        FrictionShape::Polytope(polytope) => {
            let found = polytope.project(x, bound);
            return (found.point, found.by_point, found.by_bound);
        }
        FrictionShape::Convex(set) => return set.project(x, bound),
    }
    (projected, by_point, by_bound)
}

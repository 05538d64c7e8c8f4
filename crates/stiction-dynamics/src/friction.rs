//! Friction laws, and the sets in which they let friction act.
//!
//! Every set is stated in units of its semi-axes: along the tangent row $k$ friction is
//! $c_k = e_k y_k$, and sliding counts as $e_k s_k$, so that their product is the power. The
//! [`FrictionShape`] says what $y$ may be for a bound of one; the bound itself is
//! $b = \mu c_n + a$. \[TTP01\] §2:
//!
//! | example | set | here |
//! |---|---|---|
//! | (a) | ellipsoid with torsion, $\sum (c_k / e_k)^2 \le b^2$ | [`FrictionLaw::Elliptic`]: a ball |
//! | (b) | polyhedron, $\alpha_j c_t + \beta_j c_o + \gamma_j c_r \le b$ | [`FrictionLaw::half_spaces`]: a polytope |
//! | (c) | ellipse, and torsion for itself | [`FrictionLaw::EllipseAndTorsion`]: disc and interval |
//! | any | a convex set of a user | [`FrictionLaw::convex`]: a [`ConvexSet`] |
//! | plane | $\lvert c_t \rvert \le b$ | any of them with one tangent row |
//!
//! Friction obeys the principle of maximum work: it dissipates as much as its set allows against
//! the sliding.

use std::ops::Range;
use std::sync::Arc;

use crate::convex_set::{ConvexSet, ConvexSetError, SharedSet};
use crate::polytope::{Polytope, PolytopeError};
use crate::vector::length;

/// The friction law of a contact.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FrictionLaw {
    /// Frictionless.
    #[default]
    None,
    /// Coulomb's law: $\lVert c_t \rVert \le \mu c_n$, against the sliding velocity where there is
    /// one.
    Coulomb {
        /// Coefficient of friction $\mu \ge 0$.
        mu: f64,
    },
    /// An ellipsoid: $\sqrt{\sum_k (c_k / e_k)^2} \le \mu c_n$ over two tangents and, as a third
    /// row, the torsion about the normal. Friction dissipates as much as this set allows.
    Elliptic {
        /// Coefficient of friction $\mu \ge 0$.
        mu: f64,
        /// Semi-axes $e$: factors on $\mu$ along the tangents; for torsion a length, in metres.
        semi_axes: [f64; 3],
    },
    /// An ellipse, $\sqrt{(c_t / e_t)^2 + (c_o / e_o)^2} \le \mu c_n$, and torsion with a bound of
    /// its own, $\lvert c_r \rvert \le e_r \mu c_n$.
    EllipseAndTorsion {
        /// Coefficient of friction $\mu \ge 0$.
        mu: f64,
        /// Semi-axes $e$: factors on $\mu$ along the tangents; for torsion a length, in metres.
        semi_axes: [f64; 3],
    },
    /// Any other set: see [`FrictionLaw::directions`], [`FrictionLaw::half_spaces`] and
    /// [`FrictionLaw::convex`], which make one.
    Shaped {
        /// Coefficient of friction $\mu \ge 0$.
        mu: f64,
        /// Units along the tangents.
        semi_axes: [f64; 3],
        /// The set in these units, for $\mu c_n = 1$.
        shape: FrictionShape,
    },
}

/// What friction may be for a bound of one, in units of the semi-axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FrictionShape {
    /// $\lVert y \rVert \le 1$.
    #[default]
    Ball,
    /// $\lVert (y_1, y_2) \rVert \le 1$ and $\lvert y_3 \rvert \le 1$.
    DiscAndInterval,
    /// A polytope.
    Polytope(Arc<Polytope>),
    /// A set of a user.
    Convex(SharedSet),
}

impl FrictionLaw {
    /// Friction $c_k = e_k y_k$ with $y / (\mu c_n)$ in a set of the user's own and the units $e$
    /// of `semi_axes`: ones, or a length for torsion.
    ///
    /// # Errors
    /// [`ConvexSetError`] when the set is not bounded, does not contain zero, or contradicts
    /// itself.
    pub fn convex(mu: f64, semi_axes: [f64; 3], set: Arc<dyn ConvexSet>) -> Result<Self, ConvexSetError> {
        Ok(Self::Shaped { mu, semi_axes, shape: FrictionShape::Convex(SharedSet::new(set)?) })
    }

    /// Friction that is any sum of these directions with weights that are not negative and sum to
    /// $\mu c_n$ at most: the hull of the directions and of zero. A direction is what friction may
    /// be along the two tangents and about the normal (a length, in metres) for $\mu c_n = 1$.
    ///
    /// # Errors
    /// [`PolytopeError`] when there is no direction, or one is zero or not finite.
    pub fn directions(mu: f64, directions: &[[f64; 3]]) -> Result<Self, PolytopeError> {
        Polytope::from_corners(directions.to_vec())?;
        let semi_axes = std::array::from_fn(|k| {
            let reach = directions.iter().fold(0.0f64, |reach, direction| reach.max(direction[k].abs()));
            if reach > 0.0 { reach } else { 1.0 }
        });
        let scaled = directions.iter().map(|direction| std::array::from_fn(|k| direction[k] / semi_axes[k])).collect();
        let shape = FrictionShape::Polytope(Arc::new(Polytope::from_corners(scaled)?));
        Ok(Self::Shaped { mu, semi_axes, shape })
    }

    /// Friction with $\alpha_j c_t + \beta_j c_o + \gamma_j c_r \le \mu c_n$ for every
    /// $(\alpha, \beta, \gamma)$ of a list; with fewer tangent rows the others have no meaning.
    ///
    /// # Errors
    /// [`PolytopeError`] when the half-spaces do not bound friction.
    pub fn half_spaces(mu: f64, half_spaces: &[[f64; 3]], tangent_count: usize) -> Result<Self, PolytopeError> {
        Self::directions(mu, Polytope::from_half_spaces(half_spaces, tangent_count)?.corners())
    }

    /// The coefficient of friction $\mu$; zero without friction.
    pub fn mu(&self) -> f64 {
        self.parts().0
    }

    /// The semi-axes of the friction set along the tangent rows, over $\mu$.
    pub fn axes(&self) -> [f64; 3] {
        self.parts().1
    }

    /// The friction set in units of the semi-axes.
    pub fn shape(&self) -> FrictionShape {
        self.parts().2
    }

    /// Coefficient, semi-axes and set: what all laws are made of.
    fn parts(&self) -> (f64, [f64; 3], FrictionShape) {
        match self {
            Self::None => (0.0, [1.0; 3], FrictionShape::Ball),
            Self::Coulomb { mu } => (*mu, [1.0; 3], FrictionShape::Ball),
            Self::Elliptic { mu, semi_axes } => (*mu, *semi_axes, FrictionShape::Ball),
            Self::EllipseAndTorsion { mu, semi_axes } => (*mu, *semi_axes, FrictionShape::DiscAndInterval),
            Self::Shaped { mu, semi_axes, shape } => (*mu, *semi_axes, shape.clone()),
        }
    }
}

/// The nearest point of a friction set with some bound, and how it moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Projection {
    /// The nearest point $P$.
    pub point: [f64; 3],
    /// $\partial P / \partial x$.
    pub by_point: [[f64; 3]; 3],
    /// $\partial P / \partial b$.
    pub by_bound: [f64; 3],
}

impl FrictionShape {
    /// The coordinates of the balls of which a round set is the product.
    fn balls(&self) -> [Range<usize>; 2] {
        match self {
            Self::DiscAndInterval => [0..2, 2..3],
            _ => [0..3, 3..3],
        }
    }

    /// $\max_y -y \cdot s$: the largest friction power per unit of the bound against this sliding,
    /// given in units of the semi-axes.
    pub fn support(&self, s: &[f64; 3]) -> f64 {
        match self {
            Self::Polytope(polytope) => polytope.support(s),
            Self::Convex(set) => set.support(s),
            _ => self.balls().map(|ball| length(&s[ball])).iter().sum(),
        }
    }

    /// How far a point is outside of the set with this bound; not positive inside.
    pub fn excess(&self, y: &[f64; 3], bound: f64) -> f64 {
        match self {
            Self::Polytope(polytope) => polytope.excess(y, bound),
            Self::Convex(set) => set.excess(y, bound),
            _ => self.balls().map(|ball| length(&y[ball])).into_iter().fold(0.0, f64::max) - bound,
        }
    }

    /// The point of the set with this bound that is nearest to `y`.
    pub fn nearest(&self, y: &[f64; 3], bound: f64) -> [f64; 3] {
        match self {
            Self::Convex(set) => set.nearest(y, bound),
            Self::Polytope(polytope) => polytope.project(y, bound).point,
            Self::Ball | Self::DiscAndInterval => {
                let mut point = *y;
                for ball in self.balls() {
                    let length = length(&y[ball.clone()]);
                    if length > bound {
                        let share = bound.max(0.0) / length;
                        ball.for_each(|k| point[k] = share * y[k]);
                    }
                }
                point
            }
        }
    }

    /// The same with its derivatives.
    pub fn project(&self, y: &[f64; 3], bound: f64) -> Projection {
        match self {
            Self::Polytope(polytope) => return polytope.project(y, bound),
            Self::Convex(set) => return set.project(y, bound),
            Self::Ball | Self::DiscAndInterval => {}
        }
        let mut out = Projection { point: *y, ..Default::default() };
        for ball in self.balls() {
            let length = length(&y[ball.clone()]);
            if length <= bound {
                ball.clone().for_each(|k| out.by_point[k][k] = 1.0);
                continue;
            }
            let share = bound.max(0.0) / length;
            for k in ball.clone() {
                out.point[k] = share * y[k];
                out.by_bound[k] = y[k] / length;
                for l in ball.clone() {
                    out.by_point[k][l] = share * (f64::from(k == l) - y[k] * y[l] / (length * length));
                }
            }
        }
        out
    }

    /// Whether it is the same in all directions of the tangent plane, where the semi-axes are.
    pub(crate) fn is_round_in_the_plane(&self) -> bool {
        matches!(self, Self::Ball | Self::DiscAndInterval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_laws_are_those_of_the_paper() {
        // Friction of 3 N along t, 4 along o, 0.5 N m about the normal; e = (1, 2, 0.25), so y =
        // (3, 2, 2).
        let y = [3.0, 2.0, 2.0];
        let semi_axes = [1.0, 2.0, 0.25];
        let ellipsoid = FrictionLaw::Elliptic { mu: 0.2, semi_axes };
        assert!((ellipsoid.shape().excess(&y, 0.0) - 17f64.sqrt()).abs() < 1e-15);
        let split = FrictionLaw::EllipseAndTorsion { mu: 0.2, semi_axes };
        assert!((split.shape().excess(&y, 0.0) - 13f64.sqrt()).abs() < 1e-15);
        assert!((split.shape().support(&[3.0, -4.0, -2.0]) - 7.0).abs() < 1e-15);
        // A box: |c_t| ≤ 1, |c_o| ≤ 2, |c_r| ≤ 0.25, all times μ c_n, by its faces. It has eight
        // corners.
        let faces: Vec<[f64; 3]> = (0..3)
            .flat_map(|k| {
                [1.0, -1.0].map(|sign| std::array::from_fn(|j| if j == k { sign / semi_axes[k] } else { 0.0 }))
            })
            .collect();
        let law = FrictionLaw::half_spaces(0.2, &faces, 3).unwrap();
        let (units, FrictionShape::Polytope(polytope)) = (law.axes(), law.shape()) else { panic!("a polytope") };
        assert_eq!(polytope.corners().len(), 8);
        assert!(units.iter().zip(semi_axes).all(|(a, b)| (a - b).abs() < 1e-14), "{units:?}");
        assert!((polytope.support(&[3.0, -4.0, -2.0]) - 9.0).abs() < 1e-14);
    }

    #[test]
    fn torsion_has_a_bound_of_its_own_or_shares_it() {
        let split = FrictionShape::DiscAndInterval;
        // Too much about the normal, and too much along the tangents, for a bound of 2.
        assert_eq!(split.excess(&[0.0, 0.0, -3.0], 2.0), 1.0);
        assert_eq!(split.excess(&[3.0, 4.0, 1.0], 2.0), 3.0);
        assert_eq!(split.excess(&[0.6, 0.8, 1.5], 2.0), -0.5);
        assert_eq!(FrictionShape::Ball.support(&[2.0, 3.0, -6.0]), 7.0);
        assert_eq!(FrictionShape::Ball.excess(&[2.0, 3.0, -6.0], 5.0), 2.0);
    }

    #[test]
    fn half_spaces_are_those_of_the_tangents() {
        // In the plane of two tangents a diamond |c_t| + 2 |c_o| ≤ μ c_n, whatever is said of
        // torsion.
        let faces = [[1.0, 2.0, 0.0], [1.0, -2.0, 9.0], [-1.0, 2.0, 0.0], [-1.0, -2.0, 0.0]];
        let law = FrictionLaw::half_spaces(0.3, &faces, 2).unwrap();
        let shape = law.shape();
        let power = |s: [f64; 3]| shape.support(&std::array::from_fn(|k| law.axes()[k] * s[k]));
        assert_eq!(law.mu(), 0.3);
        assert!((power([1.0, 0.0, 0.0]) - 1.0).abs() < 1e-14 && (power([0.0, 1.0, 0.0]) - 0.5).abs() < 1e-14);
        assert!((power([3.0, 4.0, 0.0]) - 3.0).abs() < 1e-14 && power([0.0, 0.0, 5.0]) == 0.0);
    }
}

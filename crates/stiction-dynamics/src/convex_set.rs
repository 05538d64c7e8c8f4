//! Friction sets that a user brings: any closed convex set that contains zero, \[TTP01\] §2, (iii)′
//! and (iv)′.
//!
//! The paper's maps $F_i(\mu_i c_{in})$ are here $b K$ with the bound $b = \mu c_n$, so that
//! $F_i(0) = \{0\}$ as it asks for. (It calls $F_i(\sigma)$ cones; its own examples are bounded
//! sets that grow with $\sigma$, which is what is meant.) A [`ConvexSet`] $K$ says two things: how
//! far it reaches along a direction, for the principle of maximum work, and which of its points is
//! nearest to another one, for those who solve:
//!
//! ```
//! use stiction_dynamics::{ConvexSet, FrictionLaw};
//! use std::sync::Arc;
//!
//! /// A square: as a thread in a groove, each direction for itself.
//! #[derive(Debug)]
//! struct Square;
//!
//! impl ConvexSet for Square {
//!     fn farthest(&self, d: &[f64; 3]) -> [f64; 3] {
//!         [d[0].signum(), d[1].signum(), 0.0]
//!     }
//!     fn nearest(&self, x: &[f64; 3]) -> [f64; 3] {
//!         [x[0].clamp(-1.0, 1.0), x[1].clamp(-1.0, 1.0), 0.0]
//!     }
//! }
//!
//! let law = FrictionLaw::convex(0.3, [1.0; 3], Arc::new(Square))?;
//! assert_eq!(law.shape().support(&[3.0, -4.0, 0.0]), 7.0);
//! # Ok::<(), stiction_dynamics::ConvexSetError>(())
//! ```
//!
//! Contacts, and friction elements by their [`shape`](crate::FrictionElement::shape), with such a
//! set are solved by the method `cone`, in `stewart-trinkle`, `moreau-midpoint`, `trapezoidal` and
//! `implicit-ncp`; the methods that need corners or circles, and `event-driven`, refuse them. A
//! scene file cannot hold a set of a user: there, sets are given by semi-axes, directions or
//! half-spaces.

use std::fmt;
use std::sync::Arc;

use stiction_solve::PortableMath as _;
use thiserror::Error;

use crate::friction::Projection;
use crate::vector::{dot, length, subtract};

/// A closed, bounded, convex set that contains zero: what friction may be for $\mu c_n = 1$, along
/// two tangents and about the normal, in units of the semi-axes of its law.
pub trait ConvexSet: fmt::Debug + Send + Sync {
    /// A point of the set with the largest $d \cdot y$.
    fn farthest(&self, d: &[f64; 3]) -> [f64; 3];

    /// The point of the set that is nearest to $x$.
    fn nearest(&self, x: &[f64; 3]) -> [f64; 3];

    /// The derivative of [`nearest`](Self::nearest) at $x$, row by row; by central differences
    /// unless it is given. Newton's method is as fast as it is right.
    fn derivative(&self, x: &[f64; 3]) -> [[f64; 3]; 3] {
        let mut columns = [[0.0; 3]; 3];
        let step = DIFFERENCE * length(x).max(1.0);
        for (k, column) in columns.iter_mut().enumerate() {
            let [ahead, behind] = [step, -step].map(|step| {
                let mut moved = *x;
                moved[k] += step;
                self.nearest(&moved)
            });
            *column = std::array::from_fn(|i| (ahead[i] - behind[i]) / (2.0 * step));
        }
        std::array::from_fn(|i| std::array::from_fn(|k| columns[k][i]))
    }
}

/// How far a point is moved for differences, relative: the cube root of the rounding unit.
const DIFFERENCE: f64 = 6e-6;

/// What support and projection may contradict each other by, relative to the size of the set: a
/// projection that iterates has its own tolerance.
const CONTRADICTION: f64 = 1e-7;

/// A set of a user, shared by the contacts that have it. Two are equal when they are the same in
/// memory.
#[derive(Clone, Debug)]
pub struct SharedSet(Arc<dyn ConvexSet>);

impl PartialEq for SharedSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Why a set of a user is not one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConvexSetError(String);

impl SharedSet {
    /// A set whose answers agree with each other along the axes and between them.
    pub(crate) fn new(set: Arc<dyn ConvexSet>) -> Result<Self, ConvexSetError> {
        let refuse = |reason: String| Err(ConvexSetError(reason));
        let samples: Vec<([f64; 3], [f64; 3])> = sample_directions().map(|d| (d, set.farthest(&d))).collect();
        for (d, farthest) in &samples {
            if !farthest.iter().all(|y| y.is_finite()) {
                return refuse(format!("the farthest point along {d:?} is {farthest:?}: friction must be bounded"));
            }
            if dot(d, farthest) < 0.0 {
                let reach = dot(d, farthest);
                return refuse(format!(
                    "along {d:?} the set ends at {reach}: it must contain zero, for friction may always be less"
                ));
            }
        }
        let size = samples.iter().map(|(_, farthest)| length(farthest)).fold(0.0, f64::max);
        if size == 0.0 {
            return refuse("the set is zero alone: use `FrictionLaw::None`".into());
        }
        let tolerance = CONTRADICTION * size * size;
        let outside = samples.iter().map(|(d, farthest)| std::array::from_fn(|k| farthest[k] + size * d[k]));
        let inside = samples.iter().map(|(_, farthest)| farthest.map(|y| 0.5 * y));
        for x in outside.chain(inside) {
            let nearest = set.nearest(&x);
            let away = subtract(&x, &nearest);
            // The nearest point is in the set, and no point of the set is farther along the line to
            // x.
            let reach = dot(&away, &set.farthest(&away));
            let gap = reach - dot(&away, &nearest);
            if gap.is_nan() || gap.abs() > tolerance {
                return refuse(format!(
                    "the nearest point to {x:?} is {nearest:?}, but along the line from there the set reaches by {gap:e} farther: `nearest` and `farthest` contradict each other"
                ));
            }
        }
        let beyond = |d: &[f64; 3], y: &[f64; 3]| {
            samples.iter().any(|(other, far)| dot(other, y) > dot(other, far) + tolerance / size && other != d)
        };
        if let Some((d, y)) = samples.iter().find(|(d, y)| beyond(d, y)) {
            return refuse(format!(
                "the farthest point along {d:?}, {y:?}, is farther along another direction than the set reaches there: it is not convex"
            ));
        }
        Ok(Self(set))
    }

    /// $\max_{y \in K} -y \cdot s$.
    pub(crate) fn support(&self, s: &[f64; 3]) -> f64 {
        let d = s.map(|s| -s);
        if d == [0.0; 3] { 0.0 } else { dot(&d, &self.0.farthest(&d)) }
    }

    /// The point of $b K$ nearest to $x$.
    pub(crate) fn nearest(&self, x: &[f64; 3], b: f64) -> [f64; 3] {
        if b > 0.0 { self.0.nearest(&x.map(|x| x / b)).map(|y| b * y) } else { [0.0; 3] }
    }

    /// The same with its derivatives. It is homogeneous, $P = P_x x + P_b b$.
    pub(crate) fn project(&self, x: &[f64; 3], b: f64) -> Projection {
        if b <= 0.0 {
            return Projection::default();
        }
        let scaled = x.map(|x| x / b);
        let (nearest, by_point) = (self.0.nearest(&scaled), self.0.derivative(&scaled));
        let by_bound = std::array::from_fn(|i| nearest[i] - dot(&by_point[i], &scaled));
        Projection { point: nearest.map(|y| b * y), by_point, by_bound }
    }

    /// How far a point is outside of $b K$; zero inside.
    pub(crate) fn excess(&self, x: &[f64; 3], b: f64) -> f64 {
        let nearest = self.nearest(x, b);
        length(&subtract(x, &nearest))
    }

    /// Whether the set has a part along a coordinate from this one on.
    pub(crate) fn reaches_beyond(&self, first: usize) -> bool {
        (first..3).any(|k| {
            let axis = |sign: f64| std::array::from_fn(|i| if i == k { sign } else { 0.0 });
            [1.0, -1.0].into_iter().any(|sign| self.0.farthest(&axis(sign))[k] != 0.0)
        })
    }

    /// Points of the set with normals all around: an inner approximation.
    pub(crate) fn corners(&self, tangent_count: usize) -> Vec<[f64; 3]> {
        let around = |rise: f64, count: u32| {
            (0..count).map(move |i| {
                let turn = std::f64::consts::TAU * f64::from(i) / f64::from(count);
                let ((sin_rise, cos_rise), (sin_turn, cos_turn)) = (rise.portable_sin_cos(), turn.portable_sin_cos());
                [cos_rise * cos_turn, cos_rise * sin_turn, sin_rise]
            })
        };
        let directions: Vec<[f64; 3]> = match tangent_count {
            0 => Vec::new(),
            1 => vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
            2 => around(0.0, 16).collect(),
            _ => (-2..=2).flat_map(|ring| around(0.25 * std::f64::consts::PI * f64::from(ring), 8)).collect(),
        };
        directions.iter().map(|d| self.0.farthest(d)).filter(|y| *y != [0.0; 3]).collect()
    }

    /// The point that dissipates most against a sliding.
    pub(crate) fn against(&self, s: &[f64; 3]) -> [f64; 3] {
        self.0.farthest(&s.map(|s| -s))
    }
}

/// Unit vectors along the axes and between them.
fn sample_directions() -> impl Iterator<Item = [f64; 3]> {
    (0..27).filter(|i| *i != 13).map(|i: i32| {
        let d = [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1].map(f64::from);
        let length = length(&d);
        d.map(|d| d / length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disc of radius 0.7 around (0.3, 0.1): not its own reflection, so that a sign shows.
    #[derive(Debug)]
    struct OffCentre;

    const CENTRE: [f64; 3] = [0.3, 0.1, 0.0];

    impl ConvexSet for OffCentre {
        fn farthest(&self, d: &[f64; 3]) -> [f64; 3] {
            let length = d[0].hypot(d[1]);
            let share = if length > 0.0 { 0.7 / length } else { 0.0 };
            [CENTRE[0] + share * d[0], CENTRE[1] + share * d[1], 0.0]
        }
        fn nearest(&self, x: &[f64; 3]) -> [f64; 3] {
            let away = [x[0] - CENTRE[0], x[1] - CENTRE[1]];
            let distance = away[0].hypot(away[1]);
            let share = if distance > 0.7 { 0.7 / distance } else { 1.0 };
            [CENTRE[0] + share * away[0], CENTRE[1] + share * away[1], 0.0]
        }
    }

    #[test]
    fn a_set_that_is_not_its_own_reflection() {
        let set = SharedSet::new(Arc::new(OffCentre)).unwrap();
        // Against sliding along +x friction is along -x: the set reaches 0.7 - 0.3 there, and 0.7 +
        // 0.3 the other way.
        assert!((set.support(&[2.0, 0.0, 0.0]) - 0.8).abs() < 1e-15);
        assert!((set.support(&[-2.0, 0.0, 0.0]) - 2.0).abs() < 1e-15);
        assert!((set.against(&[1.0, 0.0, 0.0])[0] + 0.4).abs() < 1e-15);
        // Twice the set: the disc of radius 1.4 around (0.6, 0.2).
        let nearest = set.nearest(&[-3.4, 0.2, 0.5], 2.0);
        assert!((nearest[0] + 0.8).abs() < 1e-14 && (nearest[1] - 0.2).abs() < 1e-14, "{nearest:?}");
        assert!((set.excess(&[-3.4, 0.2, 0.0], 2.0) - 2.6).abs() < 1e-14);
        assert_eq!(set.nearest(&[1.0, 1.0, 0.0], 0.0), [0.0; 3]);
    }

    #[test]
    fn the_projection_has_the_derivatives_that_it_names() {
        let set = SharedSet::new(Arc::new(OffCentre)).unwrap();
        for (x, b) in [([1.7, -0.9, 0.0], 1.3), ([-2.0, 0.4, 0.0], 0.6), ([0.1, 0.1, 0.0], 1.0)] {
            let Projection { point, by_point, by_bound } = set.project(&x, b);
            assert_eq!(point, set.nearest(&x, b));
            let step = 1e-5;
            let [ahead, behind] = [step, -step].map(|step| set.nearest(&x, b + step));
            for i in 0..3 {
                let difference = (ahead[i] - behind[i]) / (2.0 * step);
                assert!((by_bound[i] - difference).abs() < 1e-8, "{by_bound:?} at {x:?}, {b}");
                for k in 0..3 {
                    let moved = [step, -step].map(|step| {
                        let mut moved = x;
                        moved[k] += step;
                        set.nearest(&moved, b)[i]
                    });
                    let difference = (moved[0] - moved[1]) / (2.0 * step);
                    assert!((by_point[i][k] - difference).abs() < 1e-8, "{by_point:?} at {x:?}, {b}");
                }
            }
        }
    }
}

//! The sets in which impulses may lie: half-line, Coulomb's cone in the plane and in space, the
//! ellipsoid with torsion, the ellipse beside torsion.
//!
//! A contact has the rows $(N, T_1, T_2[, \text{torsion}])$. Its impulse $r$ and its rate $u$ obey
//!
//! $$ 0 \le u_N \perp r_N \ge 0, \qquad \lVert r_T \rVert \le \mu r_N + a, \qquad
//!    u_T = 0 \ \text{ or } \ r_T = -(\mu r_N + a) \frac{u_T}{\lVert u_T \rVert}, $$
//!
//! with the coefficient of friction $\mu$ and a part $a$ of the bound that does not depend on the
//! load. For $a = 0$ this is complementarity over the cone
//! $K = \\{ r : \lVert r_T \rVert \le \mu r_N \\}$ (\[DF98\]): with De Saxcé's
//! $\hat u = (u_N + \mu \lVert u_T \rVert, u_T)$,
//!
//! $$ K \ni r \perp \hat u \in K^*. $$
//!
//! **One law inside.** All kinds are reduced to a normal and up to three tangents with a round
//! bound. The ellipsoid $\sqrt{\sum (r_k / e_k)^2} \le \mu r_N$ is round in the unknowns
//! $r_k / e_k$, whose rates are $e_k u_k$. A law may split: then the torsion has the same bound for
//! itself, and the two tangents have theirs (\[TTP01\] §2, example (c)).

use std::ops::Range;

use crate::ProblemError;

/// Rows of the largest cone.
pub const LARGEST_CONE: usize = 4;

/// The set in which the impulse of one contact lies, with the law that goes with it; see the
/// [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cone {
    /// One row: $0 \le u_N \perp r_N \ge 0$.
    HalfLine,
    /// Two rows, normal and tangent: Coulomb friction in the plane.
    Planar {
        /// Coefficient of friction $\mu$.
        mu: f64,
        /// Load-independent part $a$ of the bound, an impulse.
        bound: f64,
    },
    /// Three rows, normal and two tangents: Coulomb friction in space.
    Coulomb {
        /// Coefficient of friction $\mu$.
        mu: f64,
        /// Load-independent part $a$ of the bound, an impulse.
        bound: f64,
    },
    /// Four rows, normal, two tangents and torsion: $\sqrt{\sum_k (r_k / e_k)^2} \le \mu r_N + a$.
    Ellipsoid {
        /// Coefficient of friction $\mu$.
        mu: f64,
        /// Load-independent part $a$ of the bound, an impulse.
        bound: f64,
        /// Semi-axes $e$: two without unit, that of torsion a length.
        semi_axes: [f64; 3],
    },
    /// Four rows like those of the ellipsoid, but $\sqrt{(r_1 / e_1)^2 + (r_2 / e_2)^2} \le b$ and
    /// $|r_3| \le e_3 b$ with $b = \mu r_N + a$, each for itself.
    EllipseAndTorsion {
        /// Coefficient of friction $\mu$.
        mu: f64,
        /// Load-independent part $a$ of the bound, an impulse.
        bound: f64,
        /// Semi-axes $e$: two without unit, that of torsion a length.
        semi_axes: [f64; 3],
    },
    /// One to three rows, none of them normal: friction with a fixed bound.
    Friction {
        /// Number of tangent rows.
        rows: usize,
        /// The bound $a$, an impulse.
        bound: f64,
    },
}

impl Cone {
    /// Coulomb's cone in space with a bound that is the load's alone.
    pub fn coulomb(mu: f64) -> Self {
        Self::Coulomb { mu, bound: 0.0 }
    }

    /// Coulomb's cone in the plane with a bound that is the load's alone.
    pub fn planar(mu: f64) -> Self {
        Self::Planar { mu, bound: 0.0 }
    }

    /// Number of rows of the contact.
    pub fn row_count(&self) -> usize {
        match *self {
            Self::HalfLine => 1,
            Self::Planar { .. } => 2,
            Self::Coulomb { .. } => 3,
            Self::Ellipsoid { .. } | Self::EllipseAndTorsion { .. } => 4,
            Self::Friction { rows, .. } => rows,
        }
    }

    /// Checks the numbers of the cone with this number among those of its problem.
    ///
    /// # Errors
    /// [`ProblemError::Group`] with the value that is negative or not finite.
    pub fn check(&self, number: usize) -> Result<(), ProblemError> {
        let bad = |reason: String| Err(ProblemError::Group { number, reason });
        let law = self.law();
        if !(law.mu >= 0.0 && law.mu.is_finite()) {
            return bad(format!("has the friction coefficient {}: it must be finite and not negative", law.mu));
        }
        if !(law.bound >= 0.0 && law.bound.is_finite()) {
            return bad(format!("has the friction bound {}: it must be finite and not negative", law.bound));
        }
        match *self {
            Self::Ellipsoid { semi_axes, .. } | Self::EllipseAndTorsion { semi_axes, .. }
                if semi_axes.iter().any(|&e| !(e > 0.0 && e.is_finite())) =>
            {
                bad(format!("has the semi-axes {semi_axes:?}: they must be finite and positive"))
            }
            Self::Friction { rows, .. } if rows == 0 || rows >= LARGEST_CONE => {
                bad(format!("has {rows} tangent rows: one to three are possible"))
            }
            _ => Ok(()),
        }
    }

    /// The law in the form that all methods use.
    pub(crate) fn law(&self) -> Law {
        match *self {
            Self::HalfLine => Law { kind: LawKind::Contact, mu: 0.0, bound: 0.0, splits: false },
            Self::Planar { mu, bound } | Self::Coulomb { mu, bound } | Self::Ellipsoid { mu, bound, .. } => {
                Law { kind: LawKind::Contact, mu, bound, splits: false }
            }
            Self::EllipseAndTorsion { mu, bound, .. } => Law { kind: LawKind::Contact, mu, bound, splits: true },
            Self::Friction { bound, .. } => Law { kind: LawKind::Friction, mu: 0.0, bound, splits: false },
        }
    }

    /// Where each row stands among those of the law, with the normal at 0, and the factor on it
    /// that makes the bound round.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, f64)> + use<> {
        let axes = match *self {
            Self::Ellipsoid { semi_axes: [a, b, c], .. } | Self::EllipseAndTorsion { semi_axes: [a, b, c], .. } => {
                [1.0, a, b, c]
            }
            _ => [1.0; LARGEST_CONE],
        };
        let first = usize::from(matches!(self, Self::Friction { .. }));
        (first..first + self.row_count()).map(move |slot| (slot, axes[slot]))
    }

    /// Slots that the law needs: one for the normal, also where there is none, and one for each
    /// tangent.
    pub(crate) fn slot_count(&self) -> usize {
        self.row_count() + usize::from(matches!(self, Self::Friction { .. }))
    }
}

/// What a block of rows asks of its impulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LawKind {
    /// All rates are zero, all impulses free.
    Joint,
    /// A normal row and tangents.
    Contact,
    /// Tangents only; the normal slot is empty.
    Friction,
}

/// A law whose bound is round; slot 0 is the normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Law {
    pub kind: LawKind,
    pub mu: f64,
    pub bound: f64,
    /// Whether the third tangent has the bound for itself.
    pub splits: bool,
}

/// The slot of torsion.
pub(crate) const TORSION: usize = 3;

impl Law {
    pub const JOINT: Self = Self { kind: LawKind::Joint, mu: 0.0, bound: 0.0, splits: false };

    /// The slots of the tangents that share a bound.
    #[inline(always)]
    pub fn tangent_groups<const D: usize>(&self) -> [Range<usize>; 2] {
        if self.splits && D > TORSION { [1..TORSION, TORSION..D] } else { [1..D, D..D] }
    }

    /// The tangents of `x` moved within the bound.
    #[inline(always)]
    pub fn project_tangents<const D: usize>(&self, x: &[f64; D], bound: f64) -> [f64; D] {
        let mut projected = *x;
        for group in self.tangent_groups::<D>() {
            let length = norm(&x[group.clone()]);
            if length > bound {
                group.for_each(|k| projected[k] = bound / length * x[k]);
            }
        }
        projected
    }

    /// The natural map $r - P_K(r - \rho \hat u)$: zero exactly where the law holds.
    ///
    /// A bound with a load-independent part is no cone, and one that splits is not round. There the
    /// normal and the tangents are projected one after the other, $r_N - (r_N - \rho u_N)_+$ and
    /// $r_T - P_{\mu (r_N)_+ + a}(r_T - \rho u_T)$, which vanish at the same points.
    #[inline(always)]
    pub fn natural_map<const D: usize>(&self, r: &[f64; D], u: &[f64; D], rho: f64) -> [f64; D] {
        let mut f = [0.0; D];
        match self.kind {
            LawKind::Joint => (0..D).for_each(|k| f[k] = rho * u[k]),
            LawKind::Contact if self.bound == 0.0 && !self.splits => {
                let mut x = [0.0; D];
                x[0] = r[0] - rho * (u[0] + self.mu * tangent_norm(u));
                (1..D).for_each(|k| x[k] = r[k] - rho * u[k]);
                let projected = project(&x, self.mu);
                (0..D).for_each(|k| f[k] = r[k] - projected[k]);
            }
            LawKind::Contact | LawKind::Friction => {
                f[0] = r[0] - (r[0] - rho * u[0]).max(0.0);
                let mut x = [0.0; D];
                (1..D).for_each(|k| x[k] = r[k] - rho * u[k]);
                let projected = self.project_tangents(&x, self.mu * r[0].max(0.0) + self.bound);
                (1..D).for_each(|k| f[k] = r[k] - projected[k]);
            }
        }
        f
    }
}

/// $\lVert x_T \rVert$.
#[inline(always)]
pub(crate) fn tangent_norm<const D: usize>(x: &[f64; D]) -> f64 {
    match D {
        0 | 1 => 0.0,
        2 => x[1].abs(),
        _ => x[1..].iter().map(|x| x * x).sum::<f64>().sqrt(),
    }
}

/// The length of a few numbers.
#[inline(always)]
fn norm(x: &[f64]) -> f64 {
    match x {
        [x] => x.abs(),
        _ => x.iter().map(|x| x * x).sum::<f64>().sqrt(),
    }
}

/// The nearest point of $\\{ \lVert x_T \rVert \le \mu x_N \\}$.
#[inline(always)]
pub(crate) fn project<const D: usize>(x: &[f64; D], mu: f64) -> [f64; D] {
    let length = tangent_norm(x);
    // Without friction and tangents 0 ≤ 0 x_N holds on both sides of the apex.
    if x[0] >= 0.0 && length <= mu * x[0] {
        return *x;
    }
    // Inside the polar cone the nearest point is the apex.
    if mu * length <= -x[0] {
        return [0.0; D];
    }
    let normal = (x[0] + mu * length) / (1.0 + mu * mu);
    let factor = if length > 0.0 { mu * normal / length } else { 0.0 };
    let mut projected = *x;
    projected[0] = normal;
    (1..D).for_each(|k| projected[k] = factor * x[k]);
    projected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_projected_on_the_cone() {
        // μ = 1: inside, inside the polar cone, and between: (0, 3, 4) has the nearest point (2.5,
        // 1.5, 2).
        assert_eq!(project(&[2.0, 1.0, 0.0], 1.0), [2.0, 1.0, 0.0]);
        assert_eq!(project(&[-2.0, 1.0, 0.0], 1.0), [0.0; 3]);
        assert_eq!(project(&[0.0, 3.0, 4.0], 1.0), [2.5, 1.5, 2.0]);
        // Without friction the cone is the half-line.
        assert_eq!(project(&[2.0, 3.0, 4.0], 0.0), [2.0, 0.0, 0.0]);
        assert_eq!(project(&[-2.0, 3.0, 4.0], 0.0), [0.0; 3]);
        assert_eq!(project(&[-2.0, 0.0], 0.0), [0.0; 2]);
        assert_eq!(project(&[0.0, 2.0], 1.0), [1.0, 1.0]);
    }

    #[test]
    fn the_natural_map_is_zero_where_the_law_holds() {
        let law = Cone::coulomb(0.5).law();
        let zero = [0.0; 3];
        assert_eq!(law.natural_map(&zero, &[1.0, 7.0, 0.0], 2.0), zero, "open");
        assert_eq!(law.natural_map(&[2.0, 0.6, 0.8], &zero, 2.0), zero, "stick");
        let slip = law.natural_map(&[2.0, -0.6, -0.8], &[0.0, 3.0, 4.0], 2.0);
        assert!(slip.iter().all(|f| f.abs() < 1e-15), "slip {slip:?}");
        assert!(law.natural_map(&[2.0, 0.6, 0.8], &[0.0, 3.0, 4.0], 2.0)[1].abs() > 0.1, "friction that drives");
        let law = Cone::Friction { rows: 2, bound: 1.0 }.law();
        assert_eq!(law.natural_map(&[0.0, 0.6, 0.0], &zero, 2.0), zero);
        assert_eq!(law.natural_map(&[0.0, -1.0, 0.0], &[0.0, 0.3, 0.0], 2.0), zero);
        assert!(law.natural_map(&[0.0, -0.9, 0.0], &[0.0, 0.3, 0.0], 2.0)[1].abs() > 0.05);
        // Torsion for itself: sliding and drilling are both at the bound of 1. In the ellipsoid
        // they would share it.
        let [r, u] = [[2.0, -0.6, -0.8, -1.0], [0.0, 3.0, 4.0, 0.1]];
        let is_small = |f: [f64; 4]| f.iter().all(|f| f.abs() < 1e-15);
        let semi_axes = [1.0; 3];
        let law = Cone::EllipseAndTorsion { mu: 0.5, bound: 0.0, semi_axes }.law();
        assert!(is_small(law.natural_map(&r, &u, 2.0)));
        assert!(
            is_small(law.natural_map(&[2.0, -0.6, -0.8, 0.4], &[0.0, 3.0, 4.0, 0.0], 2.0)),
            "slides, does not drill"
        );
        assert!(!is_small(law.natural_map(&[2.0, -0.6, -0.8, -0.9], &u, 2.0)), "drilling below the bound");
        assert!(!is_small(Cone::Ellipsoid { mu: 0.5, bound: 0.0, semi_axes }.law().natural_map(&r, &u, 2.0)));
    }

    #[test]
    fn wrong_numbers_are_named() {
        let error = Cone::coulomb(-0.2).check(7).unwrap_err();
        assert!(
            error.to_string().contains("contact or friction element 7 has the friction coefficient -0.2"),
            "{error}"
        );
        assert!(Cone::Friction { rows: 4, bound: 1.0 }.check(0).is_err());
        assert!(Cone::Friction { rows: 1, bound: f64::NAN }.check(0).is_err());
        assert!(Cone::Ellipsoid { mu: 0.5, bound: 0.0, semi_axes: [1.0, 0.0, 1.0] }.check(0).is_err());
        Cone::HalfLine.check(0).unwrap();
    }
}

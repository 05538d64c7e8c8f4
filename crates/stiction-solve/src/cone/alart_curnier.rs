//! The nonsmooth equations of Alart and Curnier (\[AC91\]), one contact at a time.
//!
//! With a scale $\rho > 0$ the law of a contact is $F(r, u) = 0$,
//!
//! $$ F_N = r_N - (r_N - \rho u_N)_+, \qquad F_T = r_T - P_b(r_T - \rho u_T), \qquad b = \mu (r_N - \rho u_N)_+ + a, $$
//!
//! where $P_b$ is the projection on the disc of radius $b$; a law that splits has one for the two
//! tangents and one for torsion. An element of its derivative is $(A, B)$ with
//! $dF = A\,du + B\,dr$; with $t = r_T - \rho u_T$, $n = t / \lVert t \rVert$:
//!
//! | case | $F$ | $A$ | $B$ |
//! |---|---|---|---|
//! | open | $r$ | $0$ | $I$ |
//! | stick | $\rho u$ | $\rho I$ | $0$ |
//! | slip, tangents | $r_T - b n$ | $\rho \frac{b}{\lVert t \rVert} (I - n n^T)$, and $\rho \mu n$ to $u_N$ | $I - \frac{b}{\lVert t \rVert} (I - n n^T)$, and $-\mu n$ to $r_N$ |

use std::ops::Range;

use super::law::{Law, LawKind, tangent_norm};
use super::space::Small;

/// $F$ alone.
#[inline(always)]
pub(crate) fn value<const D: usize>(law: &Law, r: &[f64; D], u: &[f64; D], rho: f64) -> [f64; D] {
    let mut f = [0.0; D];
    if law.kind == LawKind::Joint {
        (0..D).for_each(|k| f[k] = rho * u[k]);
        return f;
    }
    let normal = if law.kind == LawKind::Friction { 0.0 } else { r[0] - rho * u[0] };
    f[0] = if normal > 0.0 { rho * u[0] } else { r[0] };
    let bound = law.mu * normal.max(0.0) + law.bound;
    let mut t = [0.0; D];
    (1..D).for_each(|k| t[k] = r[k] - rho * u[k]);
    for group in law.tangent_groups::<D>() {
        let length = group_norm(&t, &group);
        if length <= bound {
            group.for_each(|k| f[k] = rho * u[k]);
        } else {
            group.for_each(|k| f[k] = r[k] - bound * t[k] / length);
        }
    }
    f
}

/// The length of the tangents in some slots.
#[inline(always)]
fn group_norm<const D: usize>(t: &[f64; D], group: &Range<usize>) -> f64 {
    if *group == (1..D) { tangent_norm(t) } else { t[group.clone()].iter().map(|t| t * t).sum::<f64>().sqrt() }
}

/// $F$, $A$ and $B$.
#[inline(always)]
pub(crate) fn linearised<const D: usize>(
    law: &Law,
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
) -> ([f64; D], Small<D>, Small<D>) {
    let (mut f, mut a, mut b) = ([0.0; D], [[0.0; D]; D], [[0.0; D]; D]);
    if law.kind == LawKind::Joint {
        for k in 0..D {
            f[k] = rho * u[k];
            a[k][k] = rho;
        }
        return (f, a, b);
    }
    let normal = if law.kind == LawKind::Friction { 0.0 } else { r[0] - rho * u[0] };
    if normal > 0.0 {
        f[0] = rho * u[0];
        a[0][0] = rho;
    } else {
        f[0] = r[0];
        b[0][0] = 1.0;
    }
    let bound = law.mu * normal.max(0.0) + law.bound;
    let mut t = [0.0; D];
    (1..D).for_each(|k| t[k] = r[k] - rho * u[k]);
    for group in law.tangent_groups::<D>() {
        let length = group_norm(&t, &group);
        if length <= bound && bound > 0.0 {
            for k in group {
                f[k] = rho * u[k];
                a[k][k] = rho;
            }
            continue;
        }
        let ratio = if length > 0.0 { bound / length } else { 0.0 };
        let direction = t.map(|t| if length > 0.0 { t / length } else { 0.0 });
        for k in group.clone() {
            f[k] = r[k] - ratio * t[k];
            for l in group.clone() {
                let across = ratio * (f64::from(k == l) - direction[k] * direction[l]);
                a[k][l] = rho * across;
                b[k][l] = f64::from(k == l) - across;
            }
            if normal > 0.0 {
                a[k][0] = rho * law.mu * direction[k];
                b[k][0] = -law.mu * direction[k];
            }
        }
    }
    (f, a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::Cone;

    #[test]
    fn the_derivative_is_that_of_differences() {
        let points = [
            ([1.0, 0.2, 0.1], [0.3, 0.5, -0.2]),
            ([1.0, 0.2, 0.1], [-0.3, 0.05, -0.02]),
            ([0.1, 0.2, 0.1], [0.9, 0.5, -0.2]),
            ([0.0, 0.5, 0.1], [0.1, 0.5, 0.2]),
        ];
        let laws = [Cone::coulomb(0.6), Cone::Coulomb { mu: 0.4, bound: 0.3 }, Cone::Friction { rows: 2, bound: 0.3 }];
        for law in laws.map(|cone| cone.law()).into_iter().chain([Law::JOINT]) {
            for (r, u) in points {
                let (f, a, b) = linearised(&law, &r, &u, 0.7);
                assert_eq!(f, value(&law, &r, &u, 0.7));
                for j in 0..3 {
                    let (h, mut r_moved, mut u_moved) = (1e-7, r, u);
                    r_moved[j] += h;
                    u_moved[j] += h;
                    let by_r = value(&law, &r_moved, &u, 0.7);
                    let by_u = value(&law, &r, &u_moved, 0.7);
                    for i in 0..3 {
                        assert!(((by_r[i] - f[i]) / h - b[i][j]).abs() < 1e-6, "B {i} {j}: {law:?} {r:?} {u:?}");
                        assert!(((by_u[i] - f[i]) / h - a[i][j]).abs() < 1e-6, "A {i} {j}: {law:?} {r:?} {u:?}");
                    }
                }
            }
        }
        // Torsion for itself: sliding and drilling, and one without the other.
        let law = Cone::EllipseAndTorsion { mu: 0.6, bound: 0.1, semi_axes: [1.0; 3] }.law();
        for (u_tangent, u_torsion) in [(0.5, -0.9), (0.5, 0.01), (0.02, 0.9)] {
            let (r, u) = ([1.0, 0.2, 0.1, 0.05], [0.3, u_tangent, -0.2 * u_tangent, u_torsion]);
            let (f, a, b) = linearised(&law, &r, &u, 0.7);
            assert_eq!(f, value(&law, &r, &u, 0.7));
            for j in 0..4 {
                let (h, mut r_moved, mut u_moved) = (1e-7, r, u);
                r_moved[j] += h;
                u_moved[j] += h;
                let (by_r, by_u) = (value(&law, &r_moved, &u, 0.7), value(&law, &r, &u_moved, 0.7));
                for i in 0..4 {
                    assert!(((by_r[i] - f[i]) / h - b[i][j]).abs() < 1e-6, "B {i} {j}: {u:?}");
                    assert!(((by_u[i] - f[i]) / h - a[i][j]).abs() < 1e-6, "A {i} {j}: {u:?}");
                }
            }
        }
    }
}

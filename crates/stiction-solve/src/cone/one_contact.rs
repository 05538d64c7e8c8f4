//! One contact alone, exactly: $u = W r + q$ with a small matrix $W$ that need not be symmetric.
//!
//! The cases are tried in turn. Open: $r = 0$ when $q_N \ge 0$. Sticking: $u = 0$. Sliding:
//! friction is opposite to the motion, $u_T = -\alpha r_T$ with some $\alpha > 0$, so that with
//! $u_N = 0$ eliminated
//!
//! $$ (S + \alpha I) r_T = -\tilde q, \quad S = W_{TT} - \frac{W_{TN} W_{NT}}{W_{NN}}, \quad \tilde q = q_T - W_{TN} \frac{q_N}{W_{NN}}, \quad
//!    \lVert r_T \rVert = \mu r_N + a. $$
//!
//! The last equation is one for $\alpha$ alone (\[BD11\] make it a quartic). Written as
//! $\phi(\alpha) = (\mu r_N + a) / \lVert r_T \rVert - 1 = 0$ it is nearly linear, because
//! $\lVert r_T \rVert$ falls off like $1/\alpha$: Newton's method needs a few steps, and brackets
//! of the root keep it safe. $\phi$ is negative at $\alpha = 0$, where sticking was refused, and
//! positive for large $\alpha$ when $q_N < 0$; so there is a root.
//!
//! Torsion that has its bound for itself is solved in turn with the other three rows.

use super::law::{Law, LawKind, TORSION, tangent_norm};

/// Added to the diagonal of $W$, relative to its mean, so that sticking is defined where $W$ is
/// singular. The rate that is left at a sticking contact is that fraction of what its impulse alone
/// would cause.
const STICKING_SHIFT: f64 = 1e-15;

/// A determinant below this, relative to the product of the diagonal, is rounding.
const SINGULAR: f64 = 1e-14;

/// A pivot below this, relative to the largest entry, is zero. Rows of masses and of moments of
/// inertia may differ by much, so this is far below rounding.
const ZERO_PIVOT: f64 = 1e-18;

/// A pivot of the scaled matrix below this means that sticking is left to the search for $\alpha$,
/// which ends near zero where a contact sticks. Too small: impulses of pure rounding, so large that
/// the rates that they cancel are lost.
const SINGULAR_STICKING: f64 = 1e-11;

/// Steps of the search for $\alpha$. Bisection alone would come down to rounding in about as many.
const ROOT_STEPS: usize = 60;

/// Relative change of $\alpha$, and value of $\phi$, at which the search ends.
const ROOT_ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Relative change of $\alpha$ after which one more step is exact to rounding.
const LAST_CHANGE: f64 = 1e-9;

/// Turns between torsion that has its bound for itself and the other rows, at most. They hardly act
/// on each other, unless the contact is far off the centre of a body.
const TURNS: usize = 40;

/// Change of the torsional impulse at which the turns end, relative to the impulse.
const LAST_TURN: f64 = 1e-15;

/// What is computed once from $W$, for solves with many $q$.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneContact<const D: usize> {
    law: Law,
    /// $W^{-1}$, for sticking; none where $W$ is singular.
    inverse: [[f64; D]; D],
    is_regular: bool,
    /// $1 / W_{NN}$; zero where the normal moves nothing.
    inverse_normal: f64,
    /// $S$ in the rows and columns of the tangents.
    schur: [[f64; D]; D],
    /// $W_{TN} / W_{NN}$ and $W_{NT} / W_{NN}$.
    from_normal: [f64; D],
    to_normal: [f64; D],
    /// $W_{NT}$ and $W_{TT}$, for a contact that is open but has friction with a fixed bound.
    normal_row: [f64; D],
    tangents: [[f64; D]; D],
    /// Row and column of torsion in $W$, where it has its bound for itself; the rest is then that
    /// of the other rows.
    torsion_row: [f64; D],
    torsion_column: [f64; D],
}

impl<const D: usize> OneContact<D> {
    pub fn new(law: Law, w: &[[f64; D]; D]) -> Self {
        let (mut torsion_row, mut torsion_column, mut others) = ([0.0; D], [0.0; D], *w);
        if law.splits && D > TORSION {
            for k in 0..D {
                (torsion_row[k], torsion_column[k]) = (w[TORSION][k], w[k][TORSION]);
                (others[TORSION][k], others[k][TORSION]) = (0.0, 0.0);
            }
            others[TORSION][TORSION] = (0..TORSION).map(|k| w[k][k].abs()).sum::<f64>() / TORSION as f64;
        }
        let w = &others;
        let mean = (0..D).map(|k| w[k][k].abs()).sum::<f64>() / D as f64;
        let shift = STICKING_SHIFT * mean;
        let mut shifted = *w;
        (0..D).for_each(|k| shifted[k][k] += shift);
        let inverse = scaled_inverse(&shifted);
        let normal = w[0][0];
        let inverse_normal = if normal > SINGULAR * mean { 1.0 / normal } else { 0.0 };
        let (mut from_normal, mut to_normal) = ([0.0; D], [0.0; D]);
        let (mut schur, mut tangents) = ([[0.0; D]; D], [[0.0; D]; D]);
        for i in 1..D {
            from_normal[i] = w[i][0] * inverse_normal;
            to_normal[i] = w[0][i] * inverse_normal;
            for j in 1..D {
                tangents[i][j] = shifted[i][j];
                schur[i][j] = shifted[i][j] - w[i][0] * w[0][j] * inverse_normal;
            }
        }
        let is_regular = inverse.is_some();
        let inverse = inverse.unwrap_or([[0.0; D]; D]);
        let normal_row = w[0];
        Self {
            law,
            inverse,
            is_regular,
            inverse_normal,
            schur,
            from_normal,
            to_normal,
            normal_row,
            tangents,
            torsion_row,
            torsion_column,
        }
    }

    /// The impulse for this $q$. `alpha` holds the ratio of the last sliding solve, where the
    /// search begins, and then that of this one.
    #[inline(always)]
    pub fn solve(&self, q: &[f64; D], alpha: &mut f64) -> [f64; D] {
        if self.law.splits && D > TORSION { self.solve_in_turn(q, alpha) } else { self.solve_round(q, alpha) }
    }

    /// Torsion and the other rows in turn, each exactly.
    fn solve_in_turn(&self, q: &[f64; D], alpha: &mut f64) -> [f64; D] {
        let (law, stiffness) = (&self.law, self.torsion_row[TORSION]);
        let (mut r, mut torsion) = ([0.0; D], 0.0);
        for _ in 0..TURNS {
            let mut others = *q;
            (0..D).for_each(|k| others[k] += self.torsion_column[k] * torsion);
            others[TORSION] = 0.0;
            r = self.solve_round(&others, alpha);
            let rate = q[TORSION] + (0..TORSION).map(|k| self.torsion_row[k] * r[k]).sum::<f64>();
            let bound = law.mu * r[0] + law.bound;
            let next = if stiffness > 0.0 { (-rate / stiffness).clamp(-bound, bound) } else { 0.0 };
            let change = (next - torsion).abs();
            torsion = next;
            if change <= LAST_TURN * (r[0].abs() + torsion.abs()) {
                break;
            }
        }
        r[TORSION] = torsion;
        r
    }

    #[inline(always)]
    fn solve_round(&self, q: &[f64; D], alpha: &mut f64) -> [f64; D] {
        let law = &self.law;
        if law.kind == LawKind::Contact && law.bound == 0.0 && q[0] >= 0.0 {
            return [0.0; D];
        }
        if law.kind == LawKind::Joint {
            return self.sticking(q);
        }
        if law.bound > 0.0 {
            // Open, or without a normal: the bound is fixed.
            let r = self.sliding(&self.tangents, q, law.bound, &[0.0; D], true, alpha);
            let rate: f64 = q[0] + (1..D).map(|k| self.normal_row[k] * r[k]).sum::<f64>();
            if law.kind == LawKind::Friction || rate >= 0.0 {
                return r;
            }
        } else if law.kind == LawKind::Friction {
            return [0.0; D];
        }
        // The normal moves nothing: no impulse helps.
        if self.inverse_normal == 0.0 {
            return [0.0; D];
        }
        if law.mu == 0.0 && law.bound == 0.0 {
            let mut r = [0.0; D];
            r[0] = -q[0] * self.inverse_normal;
            return r;
        }
        if self.is_regular {
            let r = self.sticking(q);
            if r[0] >= 0.0 && tangent_norm(&r) <= law.mu * r[0] + law.bound {
                return r;
            }
        }
        let (mut reduced, mut slope) = ([0.0; D], [0.0; D]);
        for k in 1..D {
            reduced[k] = q[k] - self.from_normal[k] * q[0];
            slope[k] = -law.mu * self.to_normal[k];
        }
        let bound = law.bound - law.mu * q[0] * self.inverse_normal;
        let mut r = self.sliding(&self.schur, &reduced, bound, &slope, !self.is_regular, alpha);
        r[0] = -q[0] * self.inverse_normal - (1..D).map(|k| self.to_normal[k] * r[k]).sum::<f64>();
        r[0] = r[0].max(0.0);
        // The root is known to rounding; what is left must not put the impulse outside of its cone.
        let (length, bound) = (tangent_norm(&r), law.mu * r[0] + law.bound);
        if length > bound {
            (1..D).for_each(|k| r[k] *= bound / length);
        }
        r
    }

    #[inline(always)]
    fn sticking(&self, q: &[f64; D]) -> [f64; D] {
        let mut r = [0.0; D];
        for i in 0..D {
            for j in 0..D {
                r[i] -= self.inverse[i][j] * q[j];
            }
        }
        r
    }

    /// $r_T = -(S + \alpha I)^{-1} q$ with $\alpha = 0$ if $\lVert r_T \rVert$ is then within the
    /// bound $b + c \cdot r_T$, otherwise with the $\alpha$ that puts it there. `may_stick` says
    /// that the first was not refused before.
    #[inline(always)]
    fn sliding(
        &self,
        s: &[[f64; D]; D],
        q: &[f64; D],
        b: f64,
        c: &[f64; D],
        may_stick: bool,
        alpha: &mut f64,
    ) -> [f64; D] {
        let bound_at = |x: &[f64; D]| b + (1..D).map(|k| c[k] * x[k]).sum::<f64>();
        let (mut low, mut high) = (0.0f64, f64::INFINITY);
        if may_stick && let Some(x) = shifted_solve(s, 0.0, q) {
            let x = x.map(|x| -x);
            if tangent_norm(&x) <= bound_at(&x) {
                return x;
            }
        }
        // The size of α: S has its own, and |q| / |r_T| that of strong sliding.
        let scale = (1..D).map(|k| s[k][k].abs()).sum::<f64>() / (D - 1) as f64;
        let mut a = if *alpha > 0.0 && alpha.is_finite() { *alpha } else { scale };
        let mut best = [0.0; D];
        let mut is_last = false;
        for _ in 0..ROOT_STEPS {
            let Some(x) = shifted_solve(s, a, q) else {
                a = if high.is_finite() { 0.5 * (a + high) } else { 2.0 * a + scale };
                continue;
            };
            let x = x.map(|x| -x);
            let (length, bound) = (tangent_norm(&x), bound_at(&x));
            best = x;
            // φ |x|, and below φ' |x|: so there is one division less on the way to the next α.
            let excess = bound - length;
            if length == 0.0 || excess.abs() <= ROOT_ROUNDING * length || is_last {
                break;
            }
            if excess < 0.0 {
                low = a;
            } else {
                high = a;
            }
            let slope = match shifted_solve(s, a, &x) {
                Some(y) => {
                    // dx = -y: the bound changes by -c·y, the length by -x·y / |x|.
                    let (mut own, mut projected) = (0.0, 0.0);
                    for k in 1..D {
                        own -= c[k] * y[k];
                        projected -= x[k] * y[k];
                    }
                    own - bound / (length * length) * projected
                }
                None => 0.0,
            };
            let mut next = a - excess / slope;
            if !(next > low && next < high) {
                next = if high.is_finite() { 0.5 * (low + high) } else { 4.0 * (a + scale) };
            }
            if (next - a).abs() <= ROOT_ROUNDING * a {
                break;
            }
            // Newton's method squares the relative error.
            is_last = (next - a).abs() <= LAST_CHANGE * a;
            a = next;
        }
        *alpha = a;
        best
    }
}

/// $(S + \alpha I)^{-1} b$ in the rows of the tangents; none where the matrix is singular.
#[inline(always)]
fn shifted_solve<const D: usize>(s: &[[f64; D]; D], alpha: f64, b: &[f64; D]) -> Option<[f64; D]> {
    let mut x = [0.0; D];
    match D {
        2 => {
            let pivot = s[1][1] + alpha;
            if pivot <= 0.0 || pivot.is_nan() {
                return None;
            }
            x[1] = b[1] / pivot;
        }
        3 => {
            let (m11, m22) = (s[1][1] + alpha, s[2][2] + alpha);
            let determinant = m11 * m22 - s[1][2] * s[2][1];
            if determinant.is_nan() || determinant <= SINGULAR * (m11 * m22).abs() {
                return None;
            }
            let factor = 1.0 / determinant;
            x[1] = (m22 * b[1] - s[1][2] * b[2]) * factor;
            x[2] = (m11 * b[2] - s[2][1] * b[1]) * factor;
        }
        _ => {
            let mut shifted = *s;
            shifted[0][0] = 1.0;
            (1..D).for_each(|k| shifted[k][k] += alpha);
            let inverse = inverse(&shifted)?;
            for i in 1..D {
                x[i] = (1..D).map(|j| inverse[i][j] * b[j]).sum();
            }
        }
    }
    Some(x)
}

/// The inverse of a matrix whose rows and columns have very different scales; none where it is
/// singular but for rounding.
fn scaled_inverse<const N: usize>(a: &[[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut scales = [1.0; N];
    (0..N).filter(|&k| a[k][k] > 0.0).for_each(|k| scales[k] = 1.0 / a[k][k].sqrt());
    let scaled: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| scales[i] * a[i][j] * scales[j]));
    let inverse = inverse(&scaled)?;
    let largest = inverse.as_flattened().iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let is_regular = largest < 1.0 / SINGULAR_STICKING;
    is_regular.then(|| std::array::from_fn(|i| std::array::from_fn(|j| scales[i] * inverse[i][j] * scales[j])))
}

/// The inverse by elimination with exchanges of rows; none where a pivot is rounding, or something
/// is not finite.
#[inline(always)]
pub(crate) fn inverse<const N: usize>(a: &[[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut a = *a;
    let mut inverse = [[0.0; N]; N];
    (0..N).for_each(|k| inverse[k][k] = 1.0);
    let largest = a.as_flattened().iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let threshold = ZERO_PIVOT * largest;
    for k in 0..N {
        let mut pivot_row = k;
        for i in k + 1..N {
            if a[i][k].abs() > a[pivot_row][k].abs() {
                pivot_row = i;
            }
        }
        let pivot = a[pivot_row][k].abs();
        if pivot.is_nan() || pivot <= threshold {
            return None;
        }
        a.swap(k, pivot_row);
        inverse.swap(k, pivot_row);
        let factor = 1.0 / a[k][k];
        for j in 0..N {
            a[k][j] *= factor;
            inverse[k][j] *= factor;
        }
        for i in 0..N {
            if i != k {
                let factor = a[i][k];
                for j in 0..N {
                    a[i][j] -= factor * a[k][j];
                    inverse[i][j] -= factor * inverse[k][j];
                }
            }
        }
    }
    inverse.as_flattened().iter().all(|x| x.is_finite()).then_some(inverse)
}

/// The sign of the determinant, 1 or -1, by elimination with exchanges of rows.
pub(crate) fn determinant_sign<const N: usize>(a: &[[f64; N]; N]) -> f64 {
    let mut a = *a;
    let mut sign = 1.0;
    for k in 0..N {
        let mut pivot_row = k;
        for i in k + 1..N {
            if a[i][k].abs() > a[pivot_row][k].abs() {
                pivot_row = i;
            }
        }
        if pivot_row != k {
            a.swap(k, pivot_row);
            sign = -sign;
        }
        if a[k][k] < 0.0 {
            sign = -sign;
        }
        for i in k + 1..N {
            let factor = a[i][k] / a[k][k];
            for j in k + 1..N {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    sign
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::Cone;

    /// The natural map at the solution, over the size of q.
    fn error<const D: usize>(law: Law, w: &[[f64; D]; D], q: &[f64; D]) -> f64 {
        let mut alpha = 0.0;
        let r = OneContact::new(law, w).solve(q, &mut alpha);
        let again = OneContact::new(law, w).solve(q, &mut alpha);
        let mut u = *q;
        for i in 0..D {
            (0..D).for_each(|j| u[i] += w[i][j] * r[j]);
        }
        let rho = D as f64 / (0..D).map(|k| w[k][k]).sum::<f64>();
        // What is summed in the rates, which rounding is a part of.
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let size = largest(q) + largest(w.as_flattened()) * largest(&r);
        // A singular matrix and large friction may leave no solution: impulses then grow without
        // end, and stay numbers.
        assert!(r.iter().all(|r| r.is_finite()), "{r:?}");
        if largest(&r) > 1e10 {
            return f64::NAN;
        }
        assert!(r.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + largest(&r))), "{r:?} {again:?}");
        tangent_norm(&law.natural_map(&r, &u, rho)).max(law.natural_map(&r, &u, rho)[0].abs()) / rho / size
    }

    #[test]
    fn the_cases_are_those_of_the_law() {
        let one = OneContact::new(Cone::coulomb(0.5).law(), &[[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]);
        let mut alpha = 0.0;
        assert_eq!(one.solve(&[1.0, 5.0, 0.0], &mut alpha), [0.0; 3], "open");
        let r = one.solve(&[-4.0, 1.0, 1.0], &mut alpha);
        // The shift of the diagonal is there.
        assert!((r[0] - 2.0).abs() + (r[1] + 0.5).abs() + (r[2] + 0.5).abs() < 1e-14, "stick {r:?}");
        // Sliding: r_N = 2, |r_T| = 1 against (3, 4), u_T = (3, 4) - 2 (0.6, 0.8) = -α r_T with α =
        // 3.
        let r = one.solve(&[-4.0, 3.0, 4.0], &mut alpha);
        assert!((r[0] - 2.0).abs() < 1e-15 && (r[1] + 0.6).abs() < 1e-15 && (r[2] + 0.8).abs() < 1e-15, "{r:?}");
        assert!((alpha - 3.0).abs() < 1e-14, "{alpha}");
        let smooth = OneContact::new(Cone::coulomb(0.0).law(), &[[2.0, 1.0], [1.0, 2.0]]);
        assert_eq!(smooth.solve(&[-4.0, 3.0], &mut alpha), [2.0, 0.0], "without friction");
    }

    #[test]
    fn random_contacts_are_solved_exactly() {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let (mut worst, mut unsolved) = (0.0f64, 0);
        for case in 0..20_000 {
            // W = X Xᵀ + a little, of very different sizes, some of lower rank, some not symmetric.
            let mut x = [[0.0; 3]; 3];
            x.as_flattened_mut().iter_mut().for_each(|x| *x = random());
            let sizes = [1.0, 10f64.powf(2.0 * random()), 10f64.powf(2.0 * random())];
            let columns = if case % 5 == 0 { 2 } else { 3 };
            let mut w = [[0.0; 3]; 3];
            for i in 0..3 {
                for j in 0..3 {
                    w[i][j] = (0..columns).map(|k| sizes[i] * x[i][k] * sizes[j] * x[j][k]).sum::<f64>();
                }
            }
            if case % 3 == 0 {
                let (skew, size) = (0.01 * random(), w[1][1].min(w[2][2]));
                w[1][2] += skew * size;
                w[2][1] -= skew * size;
            }
            let q = [random(), random(), random()];
            let mu = [0.0, 0.1, 0.7, 10.0][case % 4];
            let bound = if case % 7 == 0 { random().abs() } else { 0.0 };
            let law = Cone::Coulomb { mu, bound }.law();
            let own = error(law, &w, &q);
            unsolved += usize::from(own.is_nan());
            worst = worst.max(own);
            let planar = [[w[0][0], w[0][1]], [w[1][0], w[1][1]]];
            worst = worst.max(error(law, &planar, &[q[0], q[1]]));
        }
        assert!(worst < 1e-13, "{worst:e}");
        assert!(unsolved < 400, "{unsolved}, where a fifth of the matrices is singular");
    }

    #[test]
    fn torsion_is_a_third_tangent() {
        let w = [[2.0, 0.3, 0.1, 0.0], [0.3, 2.0, 0.0, 0.2], [0.1, 0.0, 3.0, 0.1], [0.0, 0.2, 0.1, 1.0]];
        let law = Cone::Ellipsoid { mu: 0.4, bound: 0.0, semi_axes: [1.0; 3] }.law();
        for q in [[-1.0, 0.1, 0.1, 0.1], [-1.0, 2.0, -1.0, 3.0], [-0.1, 0.0, 0.0, 9.0], [0.5, 1.0, 1.0, 1.0]] {
            let split = error(Cone::EllipseAndTorsion { mu: 0.4, bound: 0.0, semi_axes: [1.0; 3] }.law(), &w, &q);
            let error = error(law, &w, &q);
            assert!(error < 1e-14 && split < 1e-14, "{q:?}: {error:e} {split:e}");
        }
    }

    #[test]
    fn matrices_that_are_no_use_give_finite_impulses() {
        let mut alpha = 0.0;
        for w in [[[0.0; 3]; 3], [[1.0; 3]; 3], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]] {
            for cone in
                [Cone::coulomb(0.5), Cone::Coulomb { mu: 0.3, bound: 1.0 }, Cone::Friction { rows: 2, bound: 1.0 }]
            {
                let r = OneContact::new(cone.law(), &w).solve(&[-1.0, 2.0, 3.0], &mut alpha);
                assert!(r.iter().all(|r| r.is_finite()), "{w:?} {cone:?}: {r:?}");
            }
        }
    }
}

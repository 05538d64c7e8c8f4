//! The judge of problem files: how well a vector solves the problem in a file, by the measures that
//! the field publishes, for every method.
//!
//! Only the vector is taken from a method, everything else is computed again. An answer counts as
//! solved when [`Judgement::accepts`] it, and by nothing else.
//!
//! A friction problem (\[ABH18\]) has with De Saxcé's $\hat u = (u_N + \mu \lVert u_T \rVert, u_T)$
//! and the Euclidean projection $P_K$ on its cones
//!
//! $$ e_q = \frac{\lVert r - P_K(r - \hat u) \rVert_2}{\lVert q \rVert_2}, \qquad
//!    e_s = \frac{\lVert r - P_K(r - \rho \hat u) \rVert_2}{\rho \lVert q \rVert_2}, \quad \rho = \frac{1}{\mathrm{mean}\,|\mathrm{diag}\, W|}, $$
//!
//! and an LCP $e_q = \lVert \min(z, M z + q) \rVert_2 / \lVert q \rVert_2$; its $e_s$ is the
//! residual in its own [scale](crate::Scaling). The first depends on units, the second does not.
//! Both count. Where $q = 0$, nothing is divided by it.
//!
//! **Rounding.** Each error comes with a bound on what rounding alone may add to it in its
//! computation, which is also about what the rounding of the vector to double precision makes of an
//! exact solution. In units in which impulses are a million times larger than rates, $e_q$ cannot
//! be below about $10^{-10}$, however good the answer is. So an error is within the tolerance when
//! it is so with its rounding added; or when it is nothing but rounding, and that is small by any
//! standard ([`ROUNDING_LIMIT`]).

use serde::Serialize;

use crate::Lcp;
use crate::cone::law::{Cone, LARGEST_CONE, Law, tangent_norm};
use crate::cone::problem::LocalConeProblem;

/// Errors that are nothing but rounding are accepted up to this, whatever the tolerance. Larger:
/// numbers are called solutions that the data do not determine. Smaller: good answers in unlucky
/// units are refused.
pub const ROUNDING_LIMIT: f64 = 1e-8;

/// Rounding of the projection on a cone and of what goes into it, in units of the largest number.
const PROJECTION_ROUNDING: f64 = 4.0 * f64::EPSILON;

/// An error, and a bound on what rounding alone may make of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// The error as computed; infinite when it is not a number.
    pub value: f64,
    /// What it may be off by.
    pub rounding: f64,
}

impl Measure {
    fn new(value: f64, rounding: f64) -> Self {
        let is_finite = value.is_finite() && rounding.is_finite();
        if is_finite { Self { value, rounding } } else { Self { value: f64::INFINITY, rounding: f64::INFINITY } }
    }

    /// Whether the error is within the tolerance for certain, or cannot be told from zero; see the
    /// [module](self).
    pub fn is_within(&self, tolerance: f64) -> bool {
        self.value + self.rounding <= tolerance || (self.value <= self.rounding && self.rounding <= ROUNDING_LIMIT)
    }
}

/// What the judge says of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// $e_q$, which depends on units.
    pub err_q: Measure,
    /// $e_s$, which does not.
    pub err_scaled: Measure,
}

impl Judgement {
    /// Whether the vector solves the problem: both errors are within the tolerance.
    pub fn accepts(&self, tolerance: f64) -> bool {
        self.err_q.is_within(tolerance) && self.err_scaled.is_within(tolerance)
    }
}

/// Judges a point of an LCP.
///
/// # Panics
/// When it has not as many entries as the problem.
pub fn judge_lcp(lcp: &Lcp, z: &[f64]) -> Judgement {
    let n = lcp.size();
    assert_eq!(z.len(), n, "the point has {} entries, the LCP {n}", z.len());
    // The slack of each row, and the size of what it sums.
    let mut rows: Vec<[f64; 2]> = lcp.offset().iter().map(|&q| [q, q.abs()]).collect();
    let mut terms = 1;
    for j in (0..n).filter(|&j| z[j] != 0.0) {
        terms += 1;
        for ([w, size], entry) in rows.iter_mut().zip(lcp.column(j)) {
            *w += entry * z[j];
            *size += (entry * z[j]).abs();
        }
    }
    let unit = f64::EPSILON * f64::from(terms);
    let scale = inverse_or_one(norm(lcp.offset()));
    let scaling = lcp.scaling();
    let (mut errors, mut roundings) = (Norm::default(), Norm::default());
    let (mut worst, mut worst_rounding) = (0.0f64, 0.0f64);
    for (i, &[w, size]) in rows.iter().enumerate() {
        if !(z[i].is_finite() && w.is_finite()) {
            return Judgement { err_q: Measure::new(f64::NAN, 0.0), err_scaled: Measure::new(f64::NAN, 0.0) };
        }
        // Where the unknown is the smaller one for certain, the rounding of the slack does not
        // matter.
        let rounding = |z: f64, w: f64, size: f64| if w > z + unit * size { 0.0 } else { unit * size };
        errors.add(scale * z[i].min(w));
        roundings.add(scale * rounding(z[i], w, size));
        let (column, row) = (1.0 / scaling.columns[i] / scaling.offset, scaling.rows[i] / scaling.offset);
        worst = worst.max((z[i] * column).min(w * row).abs());
        worst_rounding = worst_rounding.max(rounding(z[i] * column, w * row, size * row));
    }
    Judgement { err_q: errors.measure(&roundings), err_scaled: Measure::new(worst, worst_rounding) }
}

/// Judges the impulses `r` of a local friction problem.
///
/// # Panics
/// When there are not as many impulses as rows.
pub fn judge_local(problem: &LocalConeProblem, r: &[f64]) -> Judgement {
    let (matrix, q) = (problem.matrix(), problem.offset());
    assert_eq!(r.len(), q.len(), "{} impulses for {} rows", r.len(), q.len());
    // Without impulses W does not matter, and the rates are q.
    let is_zero = r.iter().all(|&r| r == 0.0);
    let (mut rates, mut roundings) = (Vec::with_capacity(r.len()), Vec::with_capacity(r.len()));
    for row in 0..q.len() {
        let (mut rate, mut size) = (q[row], q[row].abs());
        let entries = if is_zero { &[] } else { matrix.row(row) };
        for &(column, value) in entries {
            rate += value * r[column];
            size += (value * r[column]).abs();
        }
        rates.push(rate);
        roundings.push(f64::EPSILON * (1.0 + entries.len() as f64) * size);
    }
    let none = Rates { values: &[], roundings: &[] };
    judge_cones(
        problem.cones(),
        r,
        Rates { values: &rates, roundings: &roundings },
        none,
        norm(q),
        problem.mean_diagonal(),
    )
}

/// Rates of some rows, and their rounding.
#[derive(Clone, Copy)]
pub(crate) struct Rates<'a> {
    pub values: &'a [f64],
    pub roundings: &'a [f64],
}

/// Judges the impulses of the contacts with their rates and those of the joints, the norm of $q$ of
/// both, and the mean of the diagonal of $W$.
pub(crate) fn judge_cones(
    cones: &[Cone],
    r: &[f64],
    contacts: Rates<'_>,
    joints: Rates<'_>,
    offset_norm: f64,
    mean: f64,
) -> Judgement {
    let scale = inverse_or_one(offset_norm);
    let mean = if mean > 0.0 && mean.is_finite() { mean } else { 1.0 };
    // F / ρ, with everything divided by the norm of q before it is squared: r ρ⁻¹ - P(r ρ⁻¹ - û).
    let measure = |inverse_rho: f64| {
        let (mut errors, mut roundings) = (Norm::default(), Norm::default());
        let mut row = 0;
        for cone in cones {
            let (mut impulse, mut rate, mut rounding) = ([0.0; LARGEST_CONE], [0.0; LARGEST_CONE], [0.0; LARGEST_CONE]);
            for (k, (slot, axis)) in cone.slots().enumerate() {
                impulse[slot] = scale * inverse_rho * (r[row + k] / axis);
                rate[slot] = scale * (contacts.values[row + k] * axis);
                rounding[slot] = scale * (contacts.roundings[row + k] * axis);
            }
            row += cone.row_count();
            let law = cone.law();
            let law = Law { bound: scale * inverse_rho * law.bound, ..law };
            law.natural_map(&impulse, &rate, 1.0).iter().for_each(|&error| errors.add(error));
            // The projection does not enlarge distances; û has the tangents once more, times μ.
            let length = |x: &[f64; LARGEST_CONE]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let shifted = |x: &[f64; LARGEST_CONE]| length(x) + law.mu * tangent_norm(x);
            let sizes = length(&impulse) + shifted(&rate) + law.bound;
            roundings.add(shifted(&rounding) + PROJECTION_ROUNDING * sizes);
        }
        joints.values.iter().for_each(|rate| errors.add(scale * rate));
        joints.roundings.iter().for_each(|rounding| roundings.add(scale * rounding));
        errors.measure(&roundings)
    };
    let err_q = measure(1.0);
    // Without impulses, and bounds that do not depend on them, both errors are the same: K is a
    // cone.
    let is_at_rest =
        joints.values.is_empty() && r.iter().all(|&r| r == 0.0) && cones.iter().all(|cone| cone.law().bound == 0.0);
    Judgement { err_q, err_scaled: if is_at_rest { err_q } else { measure(mean) } }
}

/// A Euclidean norm that is added up entry by entry, without overflow on the way.
#[derive(Clone, Copy, Default)]
struct Norm {
    largest: f64,
    /// The sum of the squares, each divided by that of the largest entry.
    sum: f64,
}

impl Norm {
    #[inline(always)]
    fn add(&mut self, entry: f64) {
        let size = entry.abs();
        if size > self.largest {
            self.sum *= (self.largest / size) * (self.largest / size);
            self.sum += 1.0;
            self.largest = size;
        } else if size != 0.0 {
            self.sum += (size / self.largest) * (size / self.largest);
        }
    }

    /// The error of this norm, with a bound on its rounding.
    fn measure(&self, rounding: &Self) -> Measure {
        let value = |norm: &Self| norm.largest * norm.sum.sqrt();
        Measure::new(value(self), value(rounding))
    }
}

/// What is zero gives no scale.
fn inverse_or_one(norm: f64) -> f64 {
    if norm > 0.0 { 1.0 / norm } else { 1.0 }
}

/// The Euclidean norm, without overflow on the way.
pub(crate) fn norm(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0f64, |largest, x| if x.is_nan() { f64::NAN } else { largest.max(x.abs()) });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * values.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::SparseRows;
    use faer::mat;

    /// One contact with W = 2 I and q = (-4, 3, 0) in units of `unit`, μ = 0.5.
    fn sliding(unit: f64) -> LocalConeProblem {
        let triplets = [(0, 0, 2.0), (1, 1, 2.0), (2, 2, 2.0)];
        let matrix = SparseRows::from_triplets(3, 3, &triplets).unwrap();
        LocalConeProblem::new(vec![Cone::coulomb(0.5)], matrix, vec![-4.0 * unit, 3.0 * unit, 0.0]).unwrap()
    }

    #[test]
    fn a_solution_is_accepted_and_anything_else_is_not_in_any_unit() {
        // r = (2, -1, 0) gives u = (0, 1, 0): it slides, and friction is at its bound against it.
        for unit in [1e-200, 1e-20, 1e-9, 1.0, 1e160, 1e290] {
            let problem = sliding(unit);
            let good = judge_local(&problem, &[2.0 * unit, -unit, 0.0]);
            assert!(good.accepts(1e-14), "{unit:e}: {good:?}");
            // r = 0: û = (-2.5, 3, 0), whose negative is projected to (3.2, -1.6, 0), of length 3.2
            // √1.25.
            let zero = judge_local(&problem, &[0.0; 3]);
            let expected = 3.2 * 1.25f64.sqrt() / 5.0;
            assert!((zero.err_q.value - expected).abs() < 1e-14 && !zero.accepts(0.1), "{unit:e}: {zero:?}");
            assert!((zero.err_scaled.value - expected).abs() < 1e-14, "{unit:e}: {zero:?}");
            let near = judge_local(&problem, &[2.0 * unit * (1.0 + 1e-6), -unit, 0.0]);
            assert!(near.accepts(1e-5) && !near.accepts(1e-8), "{unit:e}: {near:?}");
        }
        assert!(!judge_local(&sliding(1.0), &[f64::NAN, 0.0, 0.0]).accepts(1e300));
        assert!(!judge_local(&sliding(1.0), &[f64::INFINITY, 0.0, 0.0]).accepts(1e300));
    }

    #[test]
    fn a_diagonal_with_signs_has_a_scale_too() {
        // W = diag(-3, 1, 1) in units of `unit`, q = (1, 0, 0): r = 0 solves it. With r_N = 0.1 /
        // unit the gap opens at 0.7, and the contact pushes: 0.1 of the mean 5/3.
        for unit in [1e-70, 1.0, 1e70] {
            let triplets = [(0, 0, -3.0 * unit), (1, 1, unit), (2, 2, unit)];
            let matrix = SparseRows::from_triplets(3, 3, &triplets).unwrap();
            let problem = LocalConeProblem::new(vec![Cone::coulomb(0.5)], matrix, vec![1.0, 0.0, 0.0]).unwrap();
            assert!(judge_local(&problem, &[0.0; 3]).accepts(1e-14), "{unit:e}");
            let wrong = judge_local(&problem, &[0.1 / unit, 0.0, 0.0]);
            assert!((wrong.err_scaled.value - 0.5 / 3.0).abs() < 1e-14 && !wrong.accepts(0.1), "{unit:e}: {wrong:?}");
        }
    }

    #[test]
    fn rounding_is_accepted_as_long_as_it_is_small() {
        // z2 = λ and the slack μ c - β of large impulses, which is zero only but for its rounding.
        let lcp = |mass: f64| {
            let matrix = mat![[1.0 / mass, 0.0, 0.0], [0.0, 1.0 / mass, 1.0], [0.7, -1.0, 0.0]];
            (Lcp::new(matrix, vec![-1.0, -1.0, 0.0]).unwrap(), vec![mass, 0.7 * mass, 0.3])
        };
        for (mass, is_accepted) in [(1.0, true), (1e6, true), (1e12, false)] {
            let (lcp, z) = lcp(mass);
            let judgement = judge_lcp(&lcp, &z);
            assert_eq!(judgement.accepts(1e-10), is_accepted, "{mass:e}: {judgement:?}");
            // A friction force of a millionth too much is wrong in any unit.
            let judgement = judge_lcp(&lcp, &[z[0], z[1] * (1.0 + 1e-6), z[2]]);
            assert!(!judgement.accepts(1e-8), "{mass:e}: {judgement:?}");
        }
    }
}

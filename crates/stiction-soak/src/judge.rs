//! How well a point solves a problem: in double-double arithmetic, from the statement alone, and
//! with nothing of the library.
//!
//! For cones the errors are the published ones,
//! $\lVert r - P_K(r - \rho \hat u) \rVert / (\rho \lVert q \rVert)$ with $\rho = 1$ and with
//! $\rho = 1 / \mathrm{mean}(\mathrm{diag}\, W)$; for LCPs
//! $\lVert \min(z, M z + q) \rVert / \lVert q \rVert$, and for polygons also with the impulses
//! times the mean of the diagonal of $W$.
//!
//! Beside them stands what rounding alone makes of the best point:
//! $\varepsilon\,(|W||r| + |q| + |r|)$, in the same norm. An answer that is called solved with an
//! error above its tolerance and above this is a false word.

use crate::case::Statement;
use crate::double_double::DoubleDouble;

/// Roundings that a good evaluation may add up, in each sum: as those of the unknowns themselves
/// and of their last correction.
const ROUNDINGS: f64 = 16.0;

/// Errors of a point; infinite when it is not finite.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// In the units of the problem.
    pub unscaled: f64,
    /// Without units; the same as the other one for a plain LCP.
    pub scaled: f64,
    /// What rounding makes of `unscaled`.
    pub rounding: f64,
    /// What rounding makes of `scaled`.
    pub scaled_rounding: f64,
}

impl Errors {
    const INFINITE: Self = Self { unscaled: f64::INFINITY, scaled: f64::INFINITY, rounding: 0.0, scaled_rounding: 0.0 };
}

/// Errors of the impulses `point` of cones, or the unknowns of polygons (weights, normal, slip of
/// each contact) or of an LCP.
pub fn judge(statement: &Statement, point: &[f64]) -> Errors {
    if point.iter().any(|x| !x.is_finite()) {
        return Errors::INFINITE;
    }
    match statement {
        Statement::Cones { mu, delassus, offset, .. } => {
            let (rates, rounding) = affine(delassus, offset, point);
            let rho = 1.0 / mean_diagonal(delassus, offset.len());
            let size = norm(offset.iter().map(|&q| q.into()));
            let error = |rho: f64| {
                let errors = (0..mu.len()).flat_map(|i| natural_map(mu[i], at(point, i), at(&rates, i), rho));
                relative(norm(errors) / rho.into(), size)
            };
            let floor = |rho: f64| {
                let errors = (0..point.len()).map(|k| (rounding[k] + f64::EPSILON * point[k].abs() / rho).into());
                relative(norm(errors) * ROUNDINGS.into(), size)
            };
            let has_scale = rho.is_finite() && rho > 0.0;
            Errors {
                unscaled: error(1.0),
                rounding: floor(1.0),
                scaled: if has_scale { error(rho) } else { 0.0 },
                scaled_rounding: if has_scale { floor(rho) } else { 0.0 },
            }
        }
        Statement::Polygons { mu, delassus, offset, directions } => {
            let k = directions.len();
            let rows = offset.len();
            let unknowns = |i: usize| &point[i * (k + 2)..(i + 1) * (k + 2)];
            // Impulses by row, as sums of products that are exact.
            let mut impulses = vec![DoubleDouble::ZERO; rows];
            let mut sizes = vec![0.0; rows];
            for i in 0..mu.len() {
                let own = unknowns(i);
                impulses[3 * i] = own[k].into();
                sizes[3 * i] = own[k].abs();
                for (weight, direction) in own.iter().zip(directions) {
                    for t in 0..2 {
                        impulses[3 * i + 1 + t] =
                            impulses[3 * i + 1 + t] + DoubleDouble::product(*weight, direction[t]);
                        sizes[3 * i + 1 + t] += (weight * direction[t]).abs();
                    }
                }
            }
            let mut rates = Vec::with_capacity(rows);
            let mut rounding = Vec::with_capacity(rows);
            for i in 0..rows {
                let row = &delassus[i * rows..(i + 1) * rows];
                let sum = row.iter().zip(&impulses).fold(offset[i].into(), |sum, (&w, &c)| sum + c * w.into());
                rates.push(sum);
                let size = row.iter().zip(&sizes).fold(offset[i].abs(), |sum, (w, c)| sum + (w * c).abs());
                rounding.push(f64::EPSILON * size);
            }
            let mean = mean_diagonal(delassus, rows);
            let (mut errors, mut scaled, mut floor, mut scaled_floor) = (vec![], vec![], vec![], vec![]);
            for i in 0..mu.len() {
                let own = unknowns(i);
                let slip: DoubleDouble = own[k + 1].into();
                let mut push = |z: DoubleDouble, w: DoubleDouble, rounding: f64, factors: [f64; 2]| {
                    errors.push(z.min(w));
                    floor.push(rounding.into());
                    scaled.push((z * factors[0].into()).min(w * factors[1].into()));
                    scaled_floor.push((rounding * factors[1]).into());
                };
                for (weight, d) in own.iter().zip(directions) {
                    let along = rates[3 * i + 1] * d[0].into() + rates[3 * i + 2] * d[1].into() + slip;
                    let rounding = rounding[3 * i + 1] + rounding[3 * i + 2] + f64::EPSILON * own[k + 1].abs();
                    push((*weight).into(), along, rounding, [mean, 1.0]);
                }
                push(own[k].into(), rates[3 * i], rounding[3 * i], [mean, 1.0]);
                let bound = own[..k].iter().fold(DoubleDouble::product(mu[i], own[k]), |sum, &b| sum - b.into());
                let size = mu[i] * own[k].abs() + own[..k].iter().map(|b| b.abs()).sum::<f64>();
                push(slip, bound, f64::EPSILON * size, [1.0, mean]);
            }
            // The norm of the offset of the LCP: each rate once for every unknown that has it.
            let along = |d: &[f64; 2], i: usize| d[0] * offset[3 * i + 1] + d[1] * offset[3 * i + 2];
            let offsets = (0..mu.len())
                .flat_map(|i| directions.iter().map(move |d| along(d, i)).chain([offset[3 * i]]).collect::<Vec<_>>());
            let size = norm(offsets.map(DoubleDouble::from));
            Errors {
                unscaled: relative(norm(errors), size),
                scaled: relative(norm(scaled), size),
                rounding: relative(norm(floor) * ROUNDINGS.into(), size),
                scaled_rounding: relative(norm(scaled_floor) * ROUNDINGS.into(), size),
            }
        }
        Statement::Lcp { matrix, offset } => {
            let (slacks, rounding) = affine(matrix, offset, point);
            let size = norm(offset.iter().map(|&q| q.into()));
            let error = relative(norm(point.iter().zip(&slacks).map(|(&z, &w)| w.min(z.into()))), size);
            let floor = relative(norm(rounding.iter().map(|&r| r.into())) * ROUNDINGS.into(), size);
            Errors { unscaled: error, scaled: error, rounding: floor, scaled_rounding: floor }
        }
    }
}

/// $W r + q$ and $\varepsilon\,(|W||r| + |q|)$.
fn affine(matrix: &[f64], offset: &[f64], point: &[f64]) -> (Vec<DoubleDouble>, Vec<f64>) {
    let n = offset.len();
    let row = |i: usize| matrix[i * n..(i + 1) * n].iter().zip(point);
    let sum = |i: usize| row(i).fold(offset[i].into(), |sum, (&w, &r)| sum + DoubleDouble::product(w, r));
    let size = |i: usize| f64::EPSILON * row(i).fold(offset[i].abs(), |sum, (w, r)| sum + (w * r).abs());
    ((0..n).map(sum).collect(), (0..n).map(size).collect())
}

fn mean_diagonal(matrix: &[f64], n: usize) -> f64 {
    (0..n).map(|i| matrix[i * n + i].abs()).sum::<f64>() / n as f64
}

fn at<T: Copy>(values: &[T], contact: usize) -> [T; 3] {
    std::array::from_fn(|k| values[3 * contact + k])
}

/// $r - P_K(r - \rho \hat u)$.
fn natural_map(mu: f64, r: [f64; 3], u: [DoubleDouble; 3], rho: f64) -> [DoubleDouble; 3] {
    let rho: DoubleDouble = rho.into();
    let slide = hypotenuse(u[1], u[2]);
    let hat = [u[0] + slide * mu.into(), u[1], u[2]];
    let x: [DoubleDouble; 3] = std::array::from_fn(|k| DoubleDouble::from(r[k]) - rho * hat[k]);
    let projected = project(mu, x);
    std::array::from_fn(|k| DoubleDouble::from(r[k]) - projected[k])
}

/// The nearest point of $\lVert x_T \rVert \le \mu x_N$.
fn project(mu: f64, x: [DoubleDouble; 3]) -> [DoubleDouble; 3] {
    let zero = DoubleDouble::ZERO;
    let m: DoubleDouble = mu.into();
    let tangent = hypotenuse(x[1], x[2]);
    if tangent <= m * x[0] {
        return x;
    }
    if m * tangent <= -x[0] {
        return [zero; 3];
    }
    let normal = (x[0] + m * tangent) / (m * m + 1.0.into());
    let factor = if tangent > zero { m * normal / tangent } else { zero };
    [normal, x[1] * factor, x[2] * factor]
}

/// $\sqrt{a^2 + b^2}$ without needless overflow.
fn hypotenuse(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble {
    norm([a, b])
}

/// The Euclidean norm, with the sum scaled by a power of two against overflow.
fn norm(values: impl IntoIterator<Item = DoubleDouble>) -> DoubleDouble {
    let values: Vec<DoubleDouble> = values.into_iter().collect();
    let largest = values.iter().fold(0.0f64, |largest, x| {
        let size = x.abs().to_f64();
        if size.is_nan() { f64::INFINITY } else { largest.max(size) }
    });
    if largest == 0.0 || !largest.is_finite() {
        return largest.into();
    }
    let scale = f64::exp2(-largest.log2().floor().clamp(-1000.0, 1000.0));
    let sum = values.iter().fold(DoubleDouble::ZERO, |sum, &x| {
        let x = x * scale.into();
        sum + x * x
    });
    sum.sqrt() / scale.into()
}

/// Relative to the offset, or absolute where that vanishes.
fn relative(error: DoubleDouble, size: DoubleDouble) -> f64 {
    let ratio = if size > DoubleDouble::ZERO { error / size } else { error };
    let ratio = ratio.to_f64();
    if ratio.is_nan() { f64::INFINITY } else { ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_misses_by_little_has_that_error() {
        // w = 2 z - 1 at z = 1/2 + 1e-9: |w| / |q| = 2e-9.
        let statement = Statement::Lcp { matrix: vec![2.0], offset: vec![-1.0] };
        assert!((judge(&statement, &[0.5 + 1e-9]).unscaled - 2e-9).abs() < 1e-15);
        assert_eq!(judge(&statement, &[0.5]).unscaled, 0.0);
        assert_eq!(judge(&statement, &[f64::NAN]).unscaled, f64::INFINITY);
    }

    #[test]
    fn sliding_friction_must_oppose_the_motion() {
        // A mass of 1 kg with 3 m/s down and (3, 4) m/s along: μ = 1/2 takes (0.9, 1.2) of it.
        let delassus = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let statement = Statement::Cones { mu: vec![0.5], delassus, offset: vec![-3.0, 3.0, 4.0], bodies: None };
        let solution = judge(&statement, &[3.0, -0.9, -1.2]);
        assert!(solution.unscaled < 1e-15, "{solution:?}");
        // The same friction along the first tangent alone.
        let wrong = judge(&statement, &[3.0, -1.5, 0.0]);
        assert!(wrong.unscaled > 0.1 && wrong.unscaled > wrong.rounding, "{wrong:?}");
    }
}

//! One step of an ordinary differential equation by collocation at Radau's points.
//!
//! Radau IIA with $s = 7$ stages (\[HW96\] IV.5): the solution is the polynomial $p$ of degree $s$
//! with $p(t) = y$ that satisfies $\dot p = f(t, p)$ at the points $t + c_i h$,
//!
//! $$ Y_i = y + h \sum_j A_{ij} f(t + c_j h, Y_j), \qquad A_{ij} = \int_0^{c_i} \ell_j, \qquad c_s = 1. $$
//!
//! The end is exact to order $2s - 1 = 13$. The polynomial serves as dense output, of order 7. All
//! coefficients are computed from the definition of the points.
//!
//! The stages are found by repeating this formula. Where that does not contract they are found by
//! Newton's method: for stiff springs, and where sliding begins. There $f$ has no derivative at the
//! start of the step, since a velocity of zero has no direction, but the solution is as smooth as
//! ever. An explicit method would have to begin with tiny steps.

use crate::vector::{refill, zero};
use stiction_solve::DenseLu;

/// Number of stages $s$.
pub(super) const STAGES: usize = 7;

/// Repetitions of the formula, at most, before Newton's method is tried.
const REPETITIONS: usize = 60;

/// Repetitions must reduce the change of the stages at least by this factor, after so many. Too
/// large: slow convergence where Newton's method would be faster. Too small: Newton's method
/// without need.
const CONTRACTION: f64 = 0.7;
const FREE_REPETITIONS: usize = 4;

/// Newton steps with one matrix, and matrices, at most.
const NEWTON_STEPS: usize = 12;
const NEWTON_MATRICES: usize = 8;

/// A Newton step that does not reduce the change by this factor needs a new matrix. Too large: many
/// steps with an old matrix. Too small: many matrices.
const NEWTON_CONTRACTION: f64 = 0.2;

/// The stages are found when they change by less than this share of the allowed error. Too large:
/// their error adds to that of the step. Too small: rounding does not let them.
const FOUND: f64 = 1e-2;

/// A change below this share of the allowed error is rounding when it falls by less than the factor
/// `STALLED`. Too large: a step that does not converge counts. Too small: steps are cut because of
/// rounding.
const NEARLY_FOUND: f64 = 2.0;
const STALLED: f64 = 0.5;

/// Step of the differences of Newton's matrix, in units of the allowed error, which is some 1e-13
/// of the size of coordinates of this kind. Too large: it reaches across the velocity of what
/// begins to slide. Too small: rounding.
const DIFFERENCE: f64 = 100.0;

/// Cells of $(-1, 1)$ in which zeros of polynomials of degree seven are looked for: fine enough
/// that none has two.
const CELLS: usize = 401;

/// The right-hand side: writes the slope at a time and a point.
type RightSide<'a, E> = dyn FnMut(f64, &[f64], &mut [f64]) -> Result<(), E> + 'a;

/// The stages are no better than this many times the rounding of slopes. Too large: a true error
/// counts as rounding. Too small: stages are never found.
const ROUNDING: f64 = 8.0;

/// The error that a step may have.
#[derive(Clone, Debug, Default)]
pub(super) struct Accuracy {
    /// Allowed error of every coordinate, rounding apart.
    pub wanted: Vec<f64>,
    /// Rounding of the slope: the difference of the slopes of two neighbouring numbers.
    pub slope_rounding: Vec<f64>,
    /// Its size for every coordinate.
    pub slope_rounding_size: Vec<f64>,
}

impl Accuracy {
    /// The allowed error of a coordinate where the equation does not damp errors of the slopes.
    fn by_slopes(&self, h: f64, coordinate: usize) -> f64 {
        self.wanted[coordinate].max(ROUNDING * h * self.slope_rounding_size[coordinate])
    }
}

/// Number of points of [`Collocation::quadrature`].
pub(super) const QUADRATURE: usize = STAGES;

/// The coefficients of the method.
#[derive(Clone, Debug)]
pub(super) struct Coefficients {
    /// Points $c$ and weights $b$.
    pub nodes: [f64; STAGES],
    pub weights: [f64; STAGES],
    /// Gauss' points and weights, exact to degree 13, for integrals over a step. Unlike the stages
    /// they leave out its end, where sliding may stop and have no direction.
    pub quadrature: [(f64, f64); QUADRATURE],
    matrix: [[f64; STAGES]; STAGES],
    inverse: [[f64; STAGES]; STAGES],
    /// Weights that give the coefficient of Legendre's polynomial of degree $s - 1$ in $\dot p$.
    tail: [f64; STAGES],
    /// Denominators of Lagrange's polynomials.
    lagrange: [f64; STAGES],
}

/// The method, and the stages of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Collocation {
    pub table: Coefficients,
    size: usize,
    h: f64,
    start: Vec<f64>,
    /// Stage by stage: $Y_i$, $f(Y_i)$.
    stages: Vec<f64>,
    slopes: Vec<f64>,
    next: Vec<f64>,
    /// Whether the last step needed Newton's method.
    is_stiff: bool,
    /// What the stages may err by: what is wanted, or what rounding allows.
    allowed: Vec<f64>,
    jacobians: Vec<f64>,
    newton: DenseLu,
}

impl Default for Coefficients {
    fn default() -> Self {
        let points = radau_points();
        let nodes = points.map(|x| 0.5 * (1.0 + x));
        let s = STAGES as f64;
        let weights = points.map(|x| 0.5 * (1.0 + x) / (s * legendre(STAGES - 1, x)).powi(2));
        // Their sum is one: a rounding of it would be an error of every step in the same direction.
        let sum: f64 = weights.iter().sum();
        let weights = weights.map(|weight| weight / sum);
        let lagrange =
            std::array::from_fn(|j| (0..STAGES).filter(|&k| k != j).map(|k| nodes[j] - nodes[k]).product::<f64>());
        let tail = std::array::from_fn(|k| (2.0 * s - 1.0) * weights[k] * legendre(STAGES - 1, points[k]));
        let [matrix, inverse] = [[[0.0; STAGES]; STAGES]; 2];
        let mut table = Self { nodes, weights, quadrature: gauss_points(), matrix, inverse, tail, lagrange };
        table.matrix = nodes.map(|c| table.integrals(c));
        table.inverse = self::inverse(&table.matrix);
        table
    }
}

impl Coefficients {
    /// $\int_0^\theta \ell_j$ for all $j$, by the method's own quadrature, which is exact for their
    /// degree.
    fn integrals(&self, theta: f64) -> [f64; STAGES] {
        std::array::from_fn(|j| {
            let at = |c: f64| {
                let others = (0..STAGES).filter(|&k| k != j);
                others.map(|k| theta * c - self.nodes[k]).product::<f64>() / self.lagrange[j]
            };
            theta * self.nodes.iter().zip(&self.weights).map(|(&c, b)| b * at(c)).sum::<f64>()
        })
    }
}

impl Collocation {
    /// Forgets how the last step went: a new problem begins.
    pub fn restart(&mut self) {
        self.is_stiff = false;
    }

    /// Where the step begins.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// Where it ends.
    pub fn end(&self) -> &[f64] {
        self.stage(STAGES - 1)
    }

    /// The start and the stages, with their shares of the step.
    pub fn points(&self) -> impl Iterator<Item = (f64, &[f64])> {
        let stages = self.table.nodes.iter().enumerate().map(|(i, share)| (*share, self.stage(i)));
        std::iter::once((0.0, self.start())).chain(stages)
    }

    /// The stage $Y_i$.
    pub fn stage(&self, i: usize) -> &[f64] {
        &self.stages[i * self.size..(i + 1) * self.size]
    }

    /// The polynomial after the share `theta` of the step.
    pub fn dense(&self, theta: f64) -> Vec<f64> {
        let mut y = self.start.clone();
        for (weight, slope) in self.table.integrals(theta).iter().zip(self.slopes.chunks_exact(self.size.max(1))) {
            y.iter_mut().zip(slope).for_each(|(y, f)| *y += self.h * weight * f);
        }
        y
    }

    /// Ends the step after the share `theta` of it: the same polynomial on a part of its interval.
    pub fn cut(&mut self, theta: f64) {
        self.stages = self.table.nodes.iter().flat_map(|c| self.dense(theta * c)).collect();
        self.h *= theta;
        self.derive_slopes();
    }

    /// Size of the last coefficient of the polynomial beside what is allowed: the error of dense
    /// output is smaller. The order is that of the polynomial, so that steps may change by the root
    /// of it.
    pub fn error(&self) -> f64 {
        let share = self.h / (2.0 * (2.0 * STAGES as f64 - 1.0));
        (0..self.size).fold(0.0, |worst, k| {
            let last: f64 = (0..STAGES).map(|i| self.table.tail[i] * self.slopes[i * self.size + k]).sum();
            worst.max((share * last).abs() / self.allowed[k])
        })
    }

    /// Finds the stages of a step of length `h` from `y`, whose slope is `slope`. Returns whether
    /// they were found; else the step is too long. `guess` is a right-hand side that is nearly `f`
    /// and smooth where `f` is not: Newton's method begins with its stages.
    ///
    /// # Errors
    /// Those of the right-hand side `f`.
    pub fn step<E>(
        &mut self,
        f: &mut RightSide<'_, E>,
        guess: Option<&mut RightSide<'_, E>>,
        (t, h): (f64, f64),
        y: &[f64],
        slope: &[f64],
        accuracy: &Accuracy,
    ) -> Result<bool, E> {
        let n = y.len();
        (self.size, self.h) = (n, h);
        refill(&mut self.start, y.iter().copied());
        for vector in [&mut self.stages, &mut self.slopes, &mut self.next] {
            zero(vector, STAGES * n);
        }
        refill(&mut self.allowed, (0..n).map(|k| accuracy.by_slopes(h, k)));
        self.predict(slope);
        if let Some(guess) = guess {
            self.repeat(guess, t)?;
            return self.newton(f, t, accuracy);
        }
        if !self.is_stiff && self.repeat(f, t)? {
            return Ok(true);
        }
        self.predict(slope);
        let found = self.newton(f, t, accuracy)?;
        self.is_stiff = found;
        Ok(found)
    }

    fn predict(&mut self, slope: &[f64]) {
        for (stage, c) in self.stages.chunks_exact_mut(self.size.max(1)).zip(self.table.nodes) {
            stage.iter_mut().zip(&self.start).zip(slope).for_each(|((stage, y), f)| *stage = y + c * self.h * f);
        }
    }

    /// Evaluates the slopes at the stages, and what the formula makes of them. Returns the change
    /// beside what is allowed.
    fn evaluate<E>(&mut self, f: &mut RightSide<'_, E>, t: f64) -> Result<f64, E> {
        let n = self.size;
        for i in 0..STAGES {
            let place = i * n..(i + 1) * n;
            f(t + self.table.nodes[i] * self.h, &self.stages[place.clone()], &mut self.slopes[place])?;
        }
        let mut change = 0.0f64;
        for i in 0..STAGES {
            for k in 0..n {
                let sum: f64 = (0..STAGES).map(|j| self.table.matrix[i][j] * self.slopes[j * n + k]).sum();
                let next = self.start[k] + self.h * sum;
                let moved = (next - self.stages[i * n + k]).abs() / self.allowed[k];
                change = if moved.is_nan() { f64::INFINITY } else { change.max(moved) };
                self.next[i * n + k] = next;
            }
        }
        Ok(change)
    }

    /// Repeats the formula until the stages stand.
    fn repeat<E>(&mut self, f: &mut RightSide<'_, E>, t: f64) -> Result<bool, E> {
        let mut last = f64::INFINITY;
        for repetition in 0..REPETITIONS {
            let change = self.evaluate(f, t)?;
            std::mem::swap(&mut self.stages, &mut self.next);
            if change <= FOUND || (change <= NEARLY_FOUND && change > STALLED * last) {
                return Ok(true);
            }
            if !change.is_finite() || (repetition >= FREE_REPETITIONS && change > CONTRACTION * last) {
                return Ok(false);
            }
            last = change;
        }
        Ok(false)
    }

    /// Newton's method with the derivatives at every stage, by differences.
    fn newton<E>(&mut self, f: &mut RightSide<'_, E>, t: f64, accuracy: &Accuracy) -> Result<bool, E> {
        let n = self.size;
        let mut change = self.evaluate(f, t)?;
        for _ in 0..NEWTON_MATRICES {
            if !change.is_finite() {
                return Ok(false);
            }
            self.differentiate(f, t, accuracy)?;
            let (matrix, jacobians, h) = (&self.table.matrix, &self.jacobians, self.h);
            let fill = |column: usize, out: &mut [f64]| {
                let (j, k) = (column / n, column % n);
                for i in 0..STAGES {
                    for r in 0..n {
                        out[i * n + r] = -h * matrix[i][j] * jacobians[(j * n + k) * n + r];
                    }
                }
                out[column] += 1.0;
            };
            if self.newton.factor(STAGES * n, fill).is_err() {
                return Ok(false);
            }
            // A rounding r of the slopes is one of (I - h A J)⁻¹ h A r of the stages: a stiff
            // damper takes back what it makes.
            let (nodes, next) = (&self.table.nodes, &mut self.next);
            let saved = next.clone();
            for (i, c) in nodes.iter().enumerate() {
                let stage = next[i * n..(i + 1) * n].iter_mut().zip(&accuracy.slope_rounding);
                stage.for_each(|(out, rounding)| *out = c * h * rounding);
            }
            self.newton.solve_in_place(next);
            self.allowed.clone_from(&accuracy.wanted);
            for (k, rounding) in next.iter().enumerate() {
                self.allowed[k % n] = self.allowed[k % n].max(ROUNDING * rounding.abs());
            }
            *next = saved;
            // The step and not the change decides: rounding of a stiff right-hand side is a large
            // change, and a small step.
            let mut last = f64::INFINITY;
            for _ in 0..NEWTON_STEPS {
                // (I - h A J) δ = y + h A f - Y.
                self.next.iter_mut().zip(&self.stages).for_each(|(next, stage)| *next -= stage);
                self.newton.solve_in_place(&mut self.next);
                let moved =
                    (0..STAGES * n).fold(0.0f64, |moved, k| moved.max(self.next[k].abs() / self.allowed[k % n]));
                self.stages.iter_mut().zip(&self.next).for_each(|(stage, step)| *stage += step);
                change = self.evaluate(f, t)?;
                if moved <= FOUND || (moved <= NEARLY_FOUND && moved > STALLED * last) {
                    if change > NEARLY_FOUND {
                        self.derive_slopes();
                    }
                    return Ok(true);
                }
                if change.is_nan() || moved > NEWTON_CONTRACTION * last {
                    break;
                }
                last = moved;
            }
        }
        Ok(false)
    }

    /// The slopes of the polynomial through the stages, where rounding spoils those of the
    /// right-hand side.
    fn derive_slopes(&mut self) {
        let n = self.size;
        for i in 0..STAGES {
            for k in 0..n {
                let rise = |j: usize| self.stages[j * n + k] - self.start[k];
                self.slopes[i * n + k] = (0..STAGES).map(|j| self.table.inverse[i][j] * rise(j)).sum::<f64>() / self.h;
            }
        }
    }

    /// The derivatives of the right-hand side at every stage, column by column.
    fn differentiate<E>(&mut self, f: &mut RightSide<'_, E>, t: f64, accuracy: &Accuracy) -> Result<(), E> {
        let n = self.size;
        zero(&mut self.jacobians, STAGES * n * n);
        for i in 0..STAGES {
            for k in 0..n {
                let y = self.stages[i * n + k];
                let moved = y + DIFFERENCE * accuracy.by_slopes(self.h, k);
                self.stages[i * n + k] = moved;
                let column = &mut self.jacobians[(i * n + k) * n..(i * n + k + 1) * n];
                f(t + self.table.nodes[i] * self.h, &self.stages[i * n..(i + 1) * n], column)?;
                self.stages[i * n + k] = y;
                for r in 0..n {
                    column[r] = (column[r] - self.slopes[i * n + r]) / (moved - y);
                }
            }
        }
        Ok(())
    }
}

/// The inverse of the matrix of the method, which is regular.
fn inverse(matrix: &[[f64; STAGES]; STAGES]) -> [[f64; STAGES]; STAGES] {
    let mut factors = DenseLu::default();
    let fill = |column: usize, out: &mut [f64]| out.iter_mut().zip(matrix).for_each(|(out, row)| *out = row[column]);
    let mut inverse = [[0.0; STAGES]; STAGES];
    if factors.factor(STAGES, fill).is_ok() {
        for column in 0..STAGES {
            let mut unit = [0.0; STAGES];
            unit[column] = 1.0;
            factors.solve_in_place(&mut unit);
            inverse.iter_mut().zip(unit).for_each(|(row, entry)| row[column] = entry);
        }
    }
    inverse
}

/// Legendre's polynomial of some degree, by its recursion.
fn legendre(degree: usize, x: f64) -> f64 {
    let (mut last, mut now) = (1.0, x);
    if degree == 0 {
        return last;
    }
    for k in 1..degree {
        let k = k as f64;
        (last, now) = (now, ((2.0 * k + 1.0) * x * now - k * last) / (k + 1.0));
    }
    now
}

/// The zeros of $P_{s-1} - P_s$ in ascending order: Radau's points on $(-1, 1]$.
fn radau_points() -> [f64; STAGES] {
    let mut points = [1.0; STAGES];
    // The last point is 1 itself.
    zeros(|x| legendre(STAGES - 1, x) - legendre(STAGES, x), &mut points[..STAGES - 1]);
    points
}

/// Gauss' points on $(0, 1)$, which are the zeros of $P_s$, and their weights
/// $(1 - x^2) / (s P_{s-1}(x))^2$.
fn gauss_points() -> [(f64, f64); QUADRATURE] {
    let mut points = [0.0; QUADRATURE];
    zeros(|x| legendre(QUADRATURE, x), &mut points);
    let weight = |x: f64| (1.0 - x * x) / (QUADRATURE as f64 * legendre(QUADRATURE - 1, x)).powi(2);
    points.map(|x| (0.5 * (1.0 + x), weight(x)))
}

/// Finds as many zeros of a function on $(-1, 1)$ as there is place for, in ascending order.
fn zeros(function: impl Fn(f64) -> f64, out: &mut [f64]) {
    let place = |k: usize| -1.0 + 2.0 * k as f64 / CELLS as f64;
    let mut found = 0;
    for cell in 0..CELLS {
        let (mut low, mut high) = (place(cell), place(cell + 1));
        if found == out.len() || function(low) * function(high) > 0.0 {
            continue;
        }
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if function(low) * function(middle) > 0.0 { low = middle } else { high = middle }
        }
        out[found] = low;
        found += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(f: &mut RightSide<()>, y: &[f64], h: f64) -> Collocation {
        let mut method = Collocation::default();
        let mut slope = vec![0.0; y.len()];
        f(0.0, y, &mut slope).unwrap();
        let exact = vec![0.0; y.len()];
        let accuracy =
            Accuracy { wanted: vec![1e-14; y.len()], slope_rounding: exact.clone(), slope_rounding_size: exact };
        assert!(method.step(f, None, (0.0, h), y, &slope, &accuracy).unwrap());
        method
    }

    #[test]
    fn the_weights_integrate_polynomials_of_degree_twelve() {
        let method = Collocation::default();
        for degree in 0..=12 {
            let sum: f64 = method.table.nodes.iter().zip(&method.table.weights).map(|(c, b)| b * c.powi(degree)).sum();
            assert!((sum - 1.0 / f64::from(degree + 1)).abs() < 2e-15, "degree {degree}: {sum}");
        }
        assert_eq!(method.table.nodes[STAGES - 1], 1.0);
        for degree in 0..=13 {
            let sum: f64 = method.table.quadrature.iter().map(|(c, b)| b * c.powi(degree)).sum();
            assert!((sum - 1.0 / f64::from(degree + 1)).abs() < 2e-15, "degree {degree}: {sum}");
        }
    }

    #[test]
    fn a_step_that_is_cut_is_the_same_polynomial() {
        let mut f = |_t: f64, y: &[f64], out: &mut [f64]| {
            out.copy_from_slice(&[y[1], -y[0]]);
            Ok(())
        };
        let mut method = run(&mut f, &[1.0, 0.0], 0.4);
        let before = method.dense(0.3);
        method.cut(0.6);
        let after = method.dense(0.5);
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
        assert!(near(&before, &after), "{before:?} {after:?}");
        let end = method.stage(STAGES - 1);
        assert!((end[0] - 0.24f64.cos()).abs() < 1e-11 && (end[1] + 0.24f64.sin()).abs() < 1e-11, "{end:?}");
    }

    #[test]
    fn an_oscillation_is_exact_at_the_end_and_in_between() {
        let mut f = |_t: f64, y: &[f64], out: &mut [f64]| {
            out.copy_from_slice(&[y[1], -y[0]]);
            Ok(())
        };
        let mut errors = Vec::new();
        for h in [0.4f64, 0.2] {
            let method = run(&mut f, &[1.0, 0.0], h);
            assert!((method.stage(STAGES - 1)[0] - h.cos()).abs() < 1e-14);
            let at = |theta: f64| {
                let y = method.dense(theta);
                (y[0] - (theta * h).cos()).abs().max((y[1] + (theta * h).sin()).abs())
            };
            errors.push((1..20).map(|k| at(f64::from(k) / 20.0)).fold(0.0, f64::max));
            assert!(1e-14 * method.error() > *errors.last().unwrap());
        }
        // Local order eight in between.
        let order = (errors[0] / errors[1]).log2();
        assert!((7.5..8.7).contains(&order), "{order} {errors:?}");
    }

    #[test]
    fn newton_takes_over_where_the_problem_is_stiff() {
        let mut f = |t: f64, y: &[f64], out: &mut [f64]| {
            out[0] = -1e6 * (y[0] - t.cos()) - t.sin();
            Ok(())
        };
        let method = run(&mut f, &[1.0], 0.1);
        assert!((method.stage(STAGES - 1)[0] - 0.1f64.cos()).abs() < 1e-13);
    }

    #[test]
    fn a_direction_that_is_undefined_at_the_start_is_found() {
        // Sliding begins from rest under a force that turns, and friction follows the velocity: the
        // exact path by tiny steps is not needed, since half the step from the same start must
        // agree with the polynomial.
        let mut f = |t: f64, y: &[f64], out: &mut [f64]| {
            let speed = y[0].hypot(y[1]);
            let (c, s) = if speed > 1e-14 { (y[0] / speed, y[1] / speed) } else { (1.0, 0.0) };
            out.copy_from_slice(&[3.0 * t.cos() - 2.0 * c, 3.0 * t.sin() - 2.0 * s]);
            Ok(())
        };
        let (whole, half) = (run(&mut f, &[0.0, 0.0], 0.2), run(&mut f, &[0.0, 0.0], 0.1));
        let y = whole.dense(0.5);
        let difference = y.iter().zip(half.stage(STAGES - 1)).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(difference < 1e-9, "{difference:e}");
    }
}

//! Newton's method for equations $F(z) = 0$ that are smooth but for kinks: complementarity,
//! friction sets, and what else a projection can state.
//!
//! A mixed complementarity problem $0 \le x \perp G(x, y) \ge 0$, $H(x, y) = 0$ becomes such an
//! equation by $x - (x - \rho G)_+ = 0$, and a friction law by the projection on its set. $F$ is
//! then differentiable in every direction (Bouligand), and Newton's method with any element $J$ of
//! its generalised derivative,
//!
//! $$ z^{k+1} = z^k + \tau d, \qquad J(z^k) d = -F(z^k), $$
//!
//! converges quadratically near a solution at which $J$ is regular, and superlinearly across kinks
//! (\[P90\], \[QS93\]). Far away the step is halved until the norm of $F$ falls below the largest
//! of the last few: a norm that must fall in every step gets stuck at kinks.
//!
//! **Singular matrices.** Where solutions are not unique, as for the forces of contacts that stick
//! more often than they need to, $J$ is singular. Of all steps that meet the linear equations best
//! the shortest is taken: it leaves what is not determined as it was at the start. What counts as
//! singular is raised when a step leads nowhere.

use faer::Mat;

use crate::least_squares::Rank;
use crate::work::is_interrupted;
use crate::{DenseLu, LeastSquares};

/// Equations that are smooth but for kinks. Their scale is the caller's: unknowns and equations of
/// the order of one.
pub trait NonsmoothEquations {
    /// Number of equations, and of unknowns.
    fn size(&self) -> usize;

    /// Writes $F(z)$; something that is not finite where it does not exist.
    fn evaluate(&mut self, z: &[f64], f: &mut [f64]);

    /// Whether the equations are met so well with this $F(z)$, which was evaluated last, that the
    /// method ends. By default when no $|F_i|$ is larger than the tolerance.
    fn is_met(&self, f: &[f64], tolerance: f64) -> bool {
        largest(f) <= tolerance
    }

    /// Writes an element of the generalised derivative at $z$ into `out`, which comes with zeros.
    fn derivative(&mut self, z: &[f64], out: &mut Mat<f64>);
}

/// Settings of Newton's method.
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonSettings {
    /// Largest $|F_i|$ at which the method ends. Too small: rounding does not let it be reached,
    /// and a few steps are made in vain.
    pub tolerance: f64,
    /// Most steps.
    pub step_limit: usize,
}

impl Default for NewtonSettings {
    fn default() -> Self {
        Self { tolerance: 1e-14, step_limit: 40 }
    }
}

/// Norms that a new one is compared with. Too few: the method gets stuck at kinks. Too many: it
/// wanders.
const MEMORY: usize = 4;

/// Halvings of a step, at most.
const HALVINGS: usize = 8;

/// Share of the step by which the norm has to fall.
const DESCENT: f64 = 1e-4;

/// Pivots below these shares of the largest count as zero, one after the other where a step leads
/// nowhere. The first one is left to the triangular factors.
const SINGULAR: [f64; 4] = [0.0, 1e-11, 1e-8, 1e-4];

/// A residual below this that a step does not halve is rounding, or a kink that takes another
/// start.
const SMALL: f64 = 1e-9;

/// So many steps in which the least norm did not halve are the end: the method goes to and fro
/// before a kink. Too few: a slow start is given up.
const STUCK_LIMIT: usize = 12;

/// What a run of Newton's method did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewtonReport {
    /// Largest $|F_i|$ at the point that was returned.
    pub residual: f64,
    /// The same at the start and after every step.
    pub history: Vec<f64>,
    /// Steps of least length, because the matrix was singular or the step of the factors led
    /// nowhere.
    pub least_steps: usize,
    /// Steps that were shortened.
    pub short_steps: usize,
}

impl NewtonReport {
    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.history.len().saturating_sub(1)
    }
}

/// Newton's method with its workspace.
#[derive(Clone, Debug, Default)]
pub struct SemismoothNewton {
    lu: DenseLu,
    least: LeastSquares,
    f: Vec<f64>,
    trial: Vec<f64>,
    trial_f: Vec<f64>,
    step: Vec<f64>,
    best: Vec<f64>,
}

impl SemismoothNewton {
    /// Moves `z` to a solution as far as possible; the point that meets the equations, or else the
    /// one with the smallest residual, is left. The caller judges it.
    pub fn solve(
        &mut self,
        equations: &mut dyn NonsmoothEquations,
        settings: &NewtonSettings,
        z: &mut [f64],
    ) -> NewtonReport {
        let size = equations.size();
        assert_eq!(z.len(), size, "{} unknowns for {size} equations", z.len());
        for buffer in [&mut self.f, &mut self.trial, &mut self.trial_f, &mut self.step] {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
        equations.evaluate(z, &mut self.f);
        self.best.clear();
        self.best.extend_from_slice(z);
        let mut report = NewtonReport { residual: largest(&self.f), ..Default::default() };
        report.history.push(report.residual);
        let mut norms = [norm(&self.f); MEMORY];
        let mut matrix = Mat::<f64>::zeros(size, size);
        let mut is_met = equations.is_met(&self.f, settings.tolerance);
        let (mut least_norm, mut last_halving) = (norms[0], 0);
        for count in 0..settings.step_limit {
            if is_met || !norms[0].is_finite() || is_interrupted() {
                break;
            }
            matrix.fill(0.0);
            equations.derivative(z, &mut matrix);
            let reference = norms.iter().fold(0.0f64, |largest, &norm| largest.max(norm));
            if !self.step(equations, z, &matrix, reference, &mut report) {
                break;
            }
            z.copy_from_slice(&self.trial);
            self.f.copy_from_slice(&self.trial_f);
            norms[count % MEMORY] = norm(&self.f);
            let residual = largest(&self.f);
            let is_stalled = report.residual < SMALL && residual > 0.5 * report.residual;
            report.history.push(residual);
            is_met = equations.is_met(&self.f, settings.tolerance);
            if is_met || residual < report.residual {
                report.residual = residual;
                self.best.copy_from_slice(z);
            }
            if norms[count % MEMORY] <= 0.5 * least_norm {
                (least_norm, last_halving) = (norms[count % MEMORY], count);
            }
            if is_stalled || count - last_halving >= STUCK_LIMIT {
                break;
            }
        }
        z.copy_from_slice(&self.best);
        report
    }

    /// Makes a step from `z` to the trial point, where the norm is below the reference: by the
    /// factors of the derivative, or of least length, with one rank after the other; whether one
    /// was found.
    fn step(
        &mut self,
        equations: &mut dyn NonsmoothEquations,
        z: &[f64],
        matrix: &Mat<f64>,
        reference: f64,
        report: &mut NewtonReport,
    ) -> bool {
        let size = z.len();
        let fill = |j: usize, column: &mut [f64]| column.copy_from_slice(matrix.col_as_slice(j));
        let mut last_rank = None;
        for share in SINGULAR {
            self.step.iter_mut().zip(&self.f).for_each(|(step, f)| *step = -f);
            if share == 0.0 {
                if self.lu.factor(size, fill).is_err() {
                    continue;
                }
                self.lu.solve_in_place(&mut self.step);
            } else {
                self.least.fill(size, fill);
                let rank = self.least.solve(Rank::Above(share), &mut self.step);
                if last_rank.replace(rank) == Some(rank) {
                    continue;
                }
            }
            let mut length = 1.0;
            for halving in 0..=HALVINGS {
                for (trial, (z, step)) in self.trial.iter_mut().zip(z.iter().zip(&self.step)) {
                    *trial = z + length * step;
                }
                equations.evaluate(&self.trial, &mut self.trial_f);
                if norm(&self.trial_f) <= (1.0 - DESCENT * length) * reference {
                    report.short_steps += usize::from(halving > 0);
                    report.least_steps += usize::from(share > 0.0);
                    return true;
                }
                length *= 0.5;
            }
        }
        false
    }
}

fn norm(values: &[f64]) -> f64 {
    let sum = values.iter().map(|x| x * x).sum::<f64>();
    if sum.is_finite() { sum.sqrt() } else { f64::INFINITY }
}

fn largest(values: &[f64]) -> f64 {
    if values.iter().any(|x| !x.is_finite()) {
        return f64::INFINITY;
    }
    values.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kojima and Shindo's nonlinear complementarity problem with the two solutions (√6/2, 0, 0,
    /// 1/2) and (1, 0, 3, 0); the first is degenerate.
    struct KojimaShindo;

    fn kojima_shindo(x: &[f64]) -> [f64; 4] {
        let [a, b, c, d] = [x[0], x[1], x[2], x[3]];
        [
            3.0 * a * a + 2.0 * a * b + 2.0 * b * b + c + 3.0 * d - 6.0,
            2.0 * a * a + a + b * b + 10.0 * c + 2.0 * d - 2.0,
            3.0 * a * a + a * b + 2.0 * b * b + 2.0 * c + 9.0 * d - 9.0,
            a * a + 3.0 * b * b + 2.0 * c + 3.0 * d - 3.0,
        ]
    }

    impl NonsmoothEquations for KojimaShindo {
        fn size(&self) -> usize {
            4
        }
        fn evaluate(&mut self, z: &[f64], f: &mut [f64]) {
            let g = kojima_shindo(z);
            (0..4).for_each(|i| f[i] = z[i] - (z[i] - g[i]).max(0.0));
        }
        fn derivative(&mut self, z: &[f64], out: &mut Mat<f64>) {
            let g = kojima_shindo(z);
            let [a, b] = [z[0], z[1]];
            let rows = [
                [6.0 * a + 2.0 * b, 2.0 * a + 4.0 * b, 1.0, 3.0],
                [4.0 * a + 1.0, 2.0 * b, 10.0, 2.0],
                [6.0 * a + b, a + 4.0 * b, 2.0, 9.0],
                [2.0 * a, 6.0 * b, 2.0, 3.0],
            ];
            for i in 0..4 {
                for j in 0..4 {
                    out[(i, j)] = if z[i] > g[i] { rows[i][j] } else { f64::from(i == j) };
                }
            }
        }
    }

    #[test]
    fn a_nonlinear_complementarity_problem_is_solved_from_many_starts() {
        let solutions = [[1.5f64.sqrt(), 0.0, 0.0, 0.5], [1.0, 0.0, 3.0, 0.0]];
        let mut found = [0; 2];
        for start in 0..81 {
            let mut z: Vec<f64> = (0..4).map(|k| [0.1, 1.0, 2.5][start / 3usize.pow(k) % 3]).collect();
            let report = SemismoothNewton::default().solve(&mut KojimaShindo, &NewtonSettings::default(), &mut z);
            let near = |x: &[f64; 4]| z.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-12);
            for (found, solution) in found.iter_mut().zip(&solutions) {
                *found += usize::from(report.residual < 1e-13 && near(solution));
            }
        }
        assert!(found[0] > 5 && found[1] > 5 && found[0] + found[1] > 65, "{found:?}");
    }

    #[test]
    fn the_end_is_quadratic() {
        let mut z = vec![1.2, 0.0, 0.1, 0.45];
        let report = SemismoothNewton::default().solve(&mut KojimaShindo, &NewtonSettings::default(), &mut z);
        let late: Vec<f64> = report.history.iter().copied().filter(|r| (1e-13..0.1).contains(r)).collect();
        assert!(
            late.len() >= 2 && late.windows(2).all(|pair| pair[1] <= 5.0 * pair[0] * pair[0]),
            "{:?}",
            report.history
        );
    }

    /// The first equation counts; the second one gets worse on the way.
    struct FirstCounts;

    impl NonsmoothEquations for FirstCounts {
        fn size(&self) -> usize {
            2
        }
        fn evaluate(&mut self, z: &[f64], f: &mut [f64]) {
            f.copy_from_slice(&[z[0] - 1.0, 0.1 * z[0]]);
        }
        fn is_met(&self, f: &[f64], tolerance: f64) -> bool {
            f[0].abs() <= tolerance
        }
        fn derivative(&mut self, _z: &[f64], out: &mut Mat<f64>) {
            (out[(0, 0)], out[(1, 1)]) = (1.0, 1.0);
        }
    }

    #[test]
    fn the_equations_say_when_they_are_met() {
        let mut z = vec![0.95, 0.0];
        let report = SemismoothNewton::default().solve(&mut FirstCounts, &NewtonSettings::default(), &mut z);
        assert!(z[0] == 1.0 && report.steps() == 1 && report.residual == 0.1, "{z:?} {report:?}");
    }

    /// Two equations for the sum of two unknowns, and a third one that bends.
    struct Dependent;

    impl NonsmoothEquations for Dependent {
        fn size(&self) -> usize {
            3
        }
        fn evaluate(&mut self, z: &[f64], f: &mut [f64]) {
            let sum = z[0] + z[1];
            f.copy_from_slice(&[sum - 2.0, 3.0 * sum - 6.0, z[2] * z[2] * z[2] + z[2] - sum]);
        }
        fn derivative(&mut self, z: &[f64], out: &mut Mat<f64>) {
            let rows = [[1.0, 1.0, 0.0], [3.0, 3.0, 0.0], [-1.0, -1.0, 3.0 * z[2] * z[2] + 1.0]];
            (0..9).for_each(|k| out[(k / 3, k % 3)] = rows[k / 3][k % 3]);
        }
    }

    #[test]
    fn what_is_not_determined_stays_as_it_was() {
        let mut z = vec![0.7, 0.1, 5.0];
        let report = SemismoothNewton::default().solve(&mut Dependent, &NewtonSettings::default(), &mut z);
        assert!(report.residual < 1e-13 && report.least_steps > 0, "{report:?}");
        // The difference of the first two is not determined: it is still 0.6.
        assert!((z[0] - 1.3).abs() < 1e-12 && (z[1] - 0.7).abs() < 1e-12 && (z[2] - 1.0).abs() < 1e-12, "{z:?}");
    }
}

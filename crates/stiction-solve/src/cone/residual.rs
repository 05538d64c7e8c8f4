//! How well impulses solve a cone problem: used for every method, written by none.
//!
//! Only the impulses are taken from a method; everything else is computed again from the problem as
//! it was stated. With De Saxcé's $\hat u = (u_N + \mu \lVert u_T \rVert, u_T)$ and the Euclidean
//! projection $P_K$ on the cones (\[ABH18\]),
//!
//! $$ e_q = \frac{\lVert r - P_K(r - \hat u) \rVert_2}{\lVert q \rVert_2}, \qquad
//!    e_s = \frac{\lVert r - P_K(r - \rho \hat u) \rVert_2}{\rho \lVert q \rVert_2}, \quad \rho = \frac{1}{\mathrm{mean}\,|\mathrm{diag}\, W|}. $$
//!
//! The first is what the field reports, and depends on units; the second does not. These are the
//! errors by which a simulation goes on; problem files have a [`judge`](crate::judge) of their own,
//! which also tells what is rounding. Where $\lVert q \rVert$ is below [`ZERO_OFFSET`], nothing is
//! divided by it. Rows of joints count with $\rho (G v + b)$, and $q$ then has them too.

use super::law::{Cone, LARGEST_CONE};
use super::problem::{GlobalConeProblem, LocalConeProblem};
use super::sparse_rows::SparseRows;
use crate::judge::{Judgement, Rates, judge_cones, norm};
use crate::{ProblemError, SparseLu};

/// Rounding of the rates of a global problem, in units of the sizes that they are made of: the
/// factors of $M$ take part in it. An estimate, and not a bound.
const RATE_ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Offsets $q$ with a smaller norm count as zero: such problems have the answer zero, and errors
/// are then absolute.
pub const ZERO_OFFSET: f64 = 1e-14;

/// The two errors of a point; both are infinite when it is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConeErrors {
    /// $e_q$, which depends on units.
    pub unscaled: f64,
    /// $e_s$, which does not.
    pub scaled: f64,
}

impl ConeErrors {
    const INFINITE: Self = Self { unscaled: f64::INFINITY, scaled: f64::INFINITY };

    /// Errors from the sums of the squares of the two natural maps.
    fn new(squares: [f64; 2], rho: f64, offset_norm: f64) -> Self {
        let scale = if offset_norm < ZERO_OFFSET { 1.0 } else { offset_norm };
        let errors = Self { unscaled: squares[0].sqrt() / scale, scaled: squares[1].sqrt() / (rho * scale) };
        // What is finite over an infinite scale is zero, and no error.
        let is_finite = errors.unscaled.is_finite() && errors.scaled.is_finite() && scale.is_finite();
        if is_finite { errors } else { Self::INFINITE }
    }
}

/// The errors of the impulses `r` of a local problem.
///
/// # Panics
/// When there are not as many impulses as rows.
pub fn local_errors(problem: &LocalConeProblem, r: &[f64]) -> ConeErrors {
    let (matrix, q) = (problem.matrix(), problem.offset());
    assert_eq!(r.len(), q.len(), "{} impulses for {} rows", r.len(), q.len());
    let rho = inverse_or_one(problem.mean_diagonal());
    let rate = |row: usize| matrix.dot(row, r) + q[row];
    let squares = squares_of_natural_maps(problem.cones(), r, rate, rho);
    ConeErrors::new(squares, rho, norm(q))
}

/// The errors of the impulses `r` of the contacts and `joints` of the joints of a global problem.
///
/// # Errors
/// [`ProblemError::Pivot`] when $M$ cannot be factored.
///
/// # Panics
/// When there are not as many impulses as rows.
pub fn global_errors(problem: &GlobalConeProblem, r: &[f64], joints: &[f64]) -> Result<ConeErrors, ProblemError> {
    let mut residual = GlobalResidual::default();
    residual.prepare(problem)?;
    let mean = residual.mean_diagonal(problem);
    Ok(residual.errors(problem, r, joints, mean))
}

/// What the [`judge`](crate::judge) of problem files says of the impulses `r` of the contacts and
/// `joints` of the joints of a global problem.
///
/// # Errors
/// [`ProblemError::Pivot`] when $M$ cannot be factored.
///
/// # Panics
/// When there are not as many impulses as rows.
pub fn judge_global(problem: &GlobalConeProblem, r: &[f64], joints: &[f64]) -> Result<Judgement, ProblemError> {
    let mut residual = GlobalResidual::default();
    residual.prepare(problem)?;
    let mean = residual.mean_diagonal(problem);
    Ok(residual.judgement(problem, r, joints, mean))
}

/// The memory of residuals of a global problem, with the factors of $M$.
#[derive(Clone, Debug, Default)]
pub(crate) struct GlobalResidual {
    mass: SparseLu,
    workspace: Vec<f64>,
    /// $v$ of the point, and $M^{-1} f$.
    velocity: Vec<f64>,
    free_velocity: Vec<f64>,
    /// $q$ of contacts and joints, and its norm, or its largest term where they cancel to their
    /// rounding.
    offset: Vec<f64>,
    offset_norm: f64,
}

impl GlobalResidual {
    /// Factors $M$ and finds $q$.
    pub fn prepare(&mut self, problem: &GlobalConeProblem) -> Result<(), ProblemError> {
        let n = problem.coordinate_count();
        self.mass.begin(n, n);
        // A coordinate without any entry must still be part of the pattern, for its zero pivot to
        // be seen.
        problem.mass().iter().for_each(|&(row, column, value)| self.mass.push(row, column, value));
        self.mass.assemble();
        self.mass.factor()?;
        self.free_velocity.clear();
        self.free_velocity.extend_from_slice(problem.force());
        self.mass.solve(&mut self.free_velocity, &mut self.workspace);
        let v = &self.free_velocity;
        let contacts =
            problem.contact_bias().iter().enumerate().map(|(row, bias)| problem.contacts().dot(row, v) + bias);
        let joints = problem.joint_bias().iter().enumerate().map(|(row, bias)| problem.joints().dot(row, v) + bias);
        self.offset.clear();
        self.offset.extend(contacts.chain(joints));
        // Where the terms of q cancel to their rounding, nothing can be measured by q: the largest
        // of them stands for it.
        let size = |rows: &SparseRows, (row, bias): (usize, &f64)| {
            bias.abs() + rows.row(row).iter().map(|&(k, value)| (value * v[k]).abs()).sum::<f64>()
        };
        let contacts = problem.contact_bias().iter().enumerate().map(|row| size(problem.contacts(), row));
        let joints = problem.joint_bias().iter().enumerate().map(|row| size(problem.joints(), row));
        let (offset, terms) = (norm(&self.offset), contacts.chain(joints).fold(0.0, f64::max));
        self.offset_norm = if offset <= RATE_ROUNDING * terms { terms } else { offset };
        Ok(())
    }

    /// Mean of the absolute values of the diagonal of $H M^{-1} H^T$, or of that of the joints
    /// where there are no contacts.
    pub fn mean_diagonal(&mut self, problem: &GlobalConeProblem) -> f64 {
        let rows = if problem.contacts().row_count() > 0 { problem.contacts() } else { problem.joints() };
        let mut sum = 0.0;
        for row in 0..rows.row_count() {
            let entries = rows.row(row);
            let mut mobility = 0.0;
            self.mass.solve_entries(entries, &mut self.workspace, |i, value| {
                mobility += value * entries.iter().filter(|entry| entry.0 == i).map(|entry| entry.1).sum::<f64>();
            });
            sum += f64::abs(mobility);
        }
        sum / rows.row_count() as f64
    }

    /// $q$ of the contacts and then of the joints of the problem that was prepared.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// $\lVert q \rVert$ of the problem that was prepared, or the largest of its terms where these
    /// cancel to their rounding.
    pub fn offset_norm(&self) -> f64 {
        self.offset_norm
    }

    /// A certificate by which the problem has no solution, checked.
    pub fn certificate(&mut self, problem: &GlobalConeProblem) -> Option<Vec<f64>> {
        super::certificate::of_global(problem, &self.mass, &mut self.workspace)
    }

    /// The velocities $v$ of the point whose errors were asked for last.
    pub fn velocity(&self) -> &[f64] {
        &self.velocity
    }

    /// What the judge of problem files says of a point, with the mean of the diagonal of $W$.
    pub fn judgement(&mut self, problem: &GlobalConeProblem, r: &[f64], joints: &[f64], mean: f64) -> Judgement {
        self.errors(problem, r, joints, mean);
        let (contacts, joint_rows) = (problem.contacts(), problem.joints());
        let mut sizes: Vec<f64> = problem.force().iter().map(|f| f.abs()).collect();
        for (rows, impulses) in [(contacts, r), (joint_rows, joints)] {
            for (row, &impulse) in impulses.iter().enumerate() {
                rows.row(row).iter().for_each(|&(column, value)| sizes[column] += (value * impulse).abs());
            }
        }
        self.mass.solve(&mut sizes, &mut self.workspace);
        let rates = |rows: &SparseRows, bias: &[f64]| -> (Vec<f64>, Vec<f64>) {
            let of_row = |(row, bias): (usize, &f64)| {
                let size = |&(k, value): &(usize, f64)| value.abs() * (self.velocity[k].abs() + sizes[k].abs());
                let size = bias.abs() + rows.row(row).iter().map(size).sum::<f64>();
                (rows.dot(row, &self.velocity) + bias, RATE_ROUNDING * size)
            };
            bias.iter().enumerate().map(of_row).unzip()
        };
        let (values, roundings) = rates(contacts, problem.contact_bias());
        let (joint_values, joint_roundings) = rates(joint_rows, problem.joint_bias());
        let contacts = Rates { values: &values, roundings: &roundings };
        let joints = Rates { values: &joint_values, roundings: &joint_roundings };
        judge_cones(problem.cones(), r, contacts, joints, self.offset_norm, mean)
    }

    /// The errors of a point, with the mean of the diagonal of $W$.
    pub fn errors(&mut self, problem: &GlobalConeProblem, r: &[f64], joints: &[f64], mean: f64) -> ConeErrors {
        let (rows, bias) = (problem.contacts(), problem.contact_bias());
        assert_eq!(r.len(), bias.len(), "{} impulses for {} rows", r.len(), bias.len());
        assert_eq!(joints.len(), problem.joint_bias().len(), "impulses of joints");
        self.velocity.clear();
        self.velocity.extend_from_slice(problem.force());
        r.iter().enumerate().for_each(|(row, &r)| rows.add_row_to(row, r, &mut self.velocity));
        joints.iter().enumerate().for_each(|(row, &r)| problem.joints().add_row_to(row, r, &mut self.velocity));
        self.mass.solve(&mut self.velocity, &mut self.workspace);
        let (v, rho) = (&self.velocity, inverse_or_one(mean));
        let mut squares = squares_of_natural_maps(problem.cones(), r, |row| rows.dot(row, v) + bias[row], rho);
        for (row, bias) in problem.joint_bias().iter().enumerate() {
            let rate = problem.joints().dot(row, v) + bias;
            squares[0] += rate * rate;
            squares[1] += rho * rate * rho * rate;
        }
        ConeErrors::new(squares, rho, self.offset_norm)
    }
}

/// The sums of the squares of $r - P_K(r - \hat u)$ and $r - P_K(r - \rho \hat u)$.
fn squares_of_natural_maps(cones: &[Cone], r: &[f64], rate: impl Fn(usize) -> f64, rho: f64) -> [f64; 2] {
    let mut squares = [0.0; 2];
    let mut row = 0;
    for cone in cones {
        let (mut impulse, mut velocity) = ([0.0; LARGEST_CONE], [0.0; LARGEST_CONE]);
        for (k, (slot, axis)) in cone.slots().enumerate() {
            impulse[slot] = r[row + k] / axis;
            velocity[slot] = rate(row + k) * axis;
        }
        row += cone.row_count();
        let law = cone.law();
        for (square, rho) in squares.iter_mut().zip([1.0, rho]) {
            *square += law.natural_map(&impulse, &velocity, rho).iter().map(|f| f * f).sum::<f64>();
        }
    }
    squares
}

/// A diagonal of zeros gives no scale.
fn inverse_or_one(mean: f64) -> f64 {
    if mean > 0.0 && mean.is_finite() { 1.0 / mean } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One contact with W = 2 I and q = (-4, 3, 0), μ = 0.5.
    fn sliding() -> LocalConeProblem {
        let triplets = [(0, 0, 2.0), (1, 1, 2.0), (2, 2, 2.0)];
        let matrix = SparseRows::from_triplets(3, 3, &triplets).unwrap();
        LocalConeProblem::new(vec![Cone::coulomb(0.5)], matrix, vec![-4.0, 3.0, 0.0]).unwrap()
    }

    #[test]
    fn errors_are_those_of_the_formula() {
        // r = (2, -1, 0) gives u = (0, 1, 0): it slides, and friction is at its bound against it.
        let errors = local_errors(&sliding(), &[2.0, -1.0, 0.0]);
        assert!(errors.unscaled < 1e-15 && errors.scaled < 1e-15, "{errors:?}");
        // r = 0 gives û = (-4 + 1.5, 3, 0). -û = (2.5, -3, 0) is projected to (2.5 + 1.5)/1.25 (1,
        // -0.5, 0) = (3.2, -1.6, 0), whose length is 3.2 √1.25. With ρ = 1/2 everything is halved,
        // and then divided by ρ.
        let errors = local_errors(&sliding(), &[0.0; 3]);
        let expected = 3.2 * 1.25f64.sqrt() / 5.0;
        assert!((errors.unscaled - expected).abs() < 1e-15 && (errors.scaled - expected).abs() < 1e-15, "{errors:?}");
        assert_eq!(local_errors(&sliding(), &[f64::NAN, 0.0, 0.0]), ConeErrors::INFINITE);
    }

    #[test]
    fn both_shapes_have_the_same_errors() {
        // The same with a mass of 1/2: f = M q.
        let mut problem = GlobalConeProblem::default();
        problem.clear(3);
        (0..3).for_each(|i| problem.push_mass(i, i, 0.5));
        problem.force_mut().copy_from_slice(&[-2.0, 1.5, 0.0]);
        problem.push_contact(Cone::coulomb(0.5), [[(0, 1.0)], [(1, 1.0)], [(2, 1.0)]], [0.0; 3]);
        for r in [[0.0; 3], [2.0, -1.0, 0.0], [1.0, 2.0, 3.0]] {
            let (local, global) = (local_errors(&sliding(), &r), global_errors(&problem, &r, &[]).unwrap());
            assert!((local.unscaled - global.unscaled).abs() < 1e-15, "{local:?} {global:?}");
            assert!((local.scaled - global.scaled).abs() < 1e-15, "{local:?} {global:?}");
        }
        // A joint that holds the second coordinate: with λ = -0.5 the rate is 3 + 2 (-1 - 0.5) = 0,
        // without it 1.
        problem.push_joint([(1, 1.0)], 0.0);
        let held = global_errors(&problem, &[2.0, -1.0, 0.0], &[-0.5]).unwrap();
        assert!(held.scaled < 1e-15, "{held:?}");
        let free = global_errors(&problem, &[2.0, -1.0, 0.0], &[0.0]).unwrap();
        assert!((free.unscaled - 1.0 / 34f64.sqrt()).abs() < 1e-15, "{free:?}");
    }
}

//! The mixed linear complementarity problem: free variables beside complementary ones.
//!
//! $$ \begin{aligned} A x + B z + a &= 0, && x \text{ free}, \\\\ 0 \le z \perp w = C x + D z + b &\ge 0. \end{aligned} $$
//!
//! With $A$ regular the free variables are eliminated, $x = -A^{-1}(B z + a)$, which leaves the [`Lcp`] with
//! $M = D - C A^{-1} B$ and $q = b - C A^{-1} a$ (\[ST96\] §3.1 calls it the Schur complement system; \[CPS92\] §1.5).

use faer::linalg::solvers::{PartialPivLu, Solve};
use faer::{Mat, MatRef};

use crate::dense_lu::SINGULAR_PIVOT;
use crate::lcp::{check_finite, check_finite_vector, check_size};
use crate::residual::{free_row_residual, lcp_residual};
use crate::{Lcp, LcpSolution, Lemke, LemkeSettings, ProblemError, SolveReport, SolveStatus};

/// A mixed linear complementarity problem; see the [module](self) for the letters.
#[derive(Clone, Debug)]
pub struct MixedLcp {
    free_by_free: Mat<f64>,
    free_by_complementary: Mat<f64>,
    complementary_by_free: Mat<f64>,
    complementary_by_complementary: Mat<f64>,
    free_offset: Vec<f64>,
    complementary_offset: Vec<f64>,
}

/// The factors that eliminated the free variables, and that recover them.
#[derive(Clone, Debug)]
pub struct Elimination {
    /// $A^{-1} B$.
    slope: Mat<f64>,
    /// $A^{-1} a$.
    constant: Vec<f64>,
}

/// A solution of a mixed problem.
#[derive(Clone, Debug, PartialEq)]
pub struct MixedSolution {
    /// The free unknowns $x$.
    pub free: Vec<f64>,
    /// The complementary unknowns $z$.
    pub z: Vec<f64>,
    /// The slack $w$ of the complementary rows.
    pub w: Vec<f64>,
    /// Status and residual; the residual also covers the free rows.
    pub report: SolveReport,
}

impl MixedLcp {
    /// States the problem from $A, B, C, D, a, b$ in this order.
    ///
    /// # Errors
    /// [`ProblemError`] when sizes do not match or an entry is not finite.
    pub fn new(
        free_by_free: Mat<f64>,
        free_by_complementary: Mat<f64>,
        complementary_by_free: Mat<f64>,
        complementary_by_complementary: Mat<f64>,
        free_offset: Vec<f64>,
        complementary_offset: Vec<f64>,
    ) -> Result<Self, ProblemError> {
        let (m, n) = (free_offset.len(), complementary_offset.len());
        for (what, matrix, rows, columns) in [
            ("block A of the mixed LCP", &free_by_free, m, m),
            ("block B of the mixed LCP", &free_by_complementary, m, n),
            ("block C of the mixed LCP", &complementary_by_free, n, m),
            ("block D of the mixed LCP", &complementary_by_complementary, n, n),
        ] {
            check_size(what, matrix.as_ref(), rows, columns)?;
            check_finite(what, matrix.as_ref())?;
        }
        check_finite_vector("offset a of the mixed LCP", &free_offset)?;
        check_finite_vector("offset b of the mixed LCP", &complementary_offset)?;
        Ok(Self {
            free_by_free,
            free_by_complementary,
            complementary_by_free,
            complementary_by_complementary,
            free_offset,
            complementary_offset,
        })
    }

    /// Number of free unknowns.
    pub fn free_count(&self) -> usize {
        self.free_offset.len()
    }

    /// Block $A$.
    pub fn free_by_free(&self) -> MatRef<'_, f64> {
        self.free_by_free.as_ref()
    }

    /// Block $B$.
    pub fn free_by_complementary(&self) -> MatRef<'_, f64> {
        self.free_by_complementary.as_ref()
    }

    /// Offset $a$.
    pub fn free_offset(&self) -> &[f64] {
        &self.free_offset
    }

    /// Eliminates the free variables.
    ///
    /// # Errors
    /// [`ProblemError::SingularFreeBlock`] when $A$ does not determine them.
    pub fn eliminate(&self) -> Result<(Lcp, Elimination), ProblemError> {
        let (matrix, offset, elimination) = self.condense()?;
        Ok((Lcp::new(matrix, offset)?, elimination))
    }

    /// The condensed data $D - C A^{-1} B$ and $b - C A^{-1} a$, whatever conditions the remaining unknowns obey.
    ///
    /// # Errors
    /// [`ProblemError::SingularFreeBlock`] when $A$ does not determine the free variables.
    pub fn condense(&self) -> Result<(Mat<f64>, Vec<f64>, Elimination), ProblemError> {
        let (m, n) = (self.free_count(), self.complementary_offset.len());
        let lu = self.free_by_free.partial_piv_lu();
        check_regular(&lu, m)?;
        let slope = lu.solve(&self.free_by_complementary);
        let constant = lu.solve(&Mat::from_fn(m, 1, |i, _| self.free_offset[i]));
        let constant: Vec<f64> = (0..m).map(|i| constant[(i, 0)]).collect();
        let matrix = &self.complementary_by_complementary - &self.complementary_by_free * &slope;
        let offset = (0..n)
            .map(|i| {
                let carried: f64 = (0..m).map(|j| self.complementary_by_free[(i, j)] * constant[j]).sum();
                self.complementary_offset[i] - carried
            })
            .collect();
        Ok((matrix, offset, Elimination { slope, constant }))
    }

    /// Eliminates the free variables, solves by Lemke's method, and recovers them.
    ///
    /// # Errors
    /// [`ProblemError::SingularFreeBlock`] when the free rows do not determine the free variables.
    pub fn solve(&self, lemke: &mut Lemke, settings: &LemkeSettings) -> Result<MixedSolution, ProblemError> {
        let (lcp, elimination) = self.eliminate()?;
        let mut solution = LcpSolution::default();
        lemke.solve_or_enumerate(&lcp, settings, &[], &mut solution);
        let free = elimination.recover(&solution.z);
        let mut w = Vec::new();
        let complementary = lcp_residual(&lcp, &solution.z, &mut w);
        let residual = complementary.max(free_row_residual(self, &free, &solution.z));
        let mut report = SolveReport { residual, ..solution.report };
        if report.is_solved() && residual > settings.residual_tolerance {
            report.status = SolveStatus::Inaccurate;
        }
        Ok(MixedSolution { free, z: solution.z, w, report })
    }
}

impl Elimination {
    /// The free unknowns that belong to the complementary ones: $x = -A^{-1}(B z + a)$.
    pub fn recover(&self, z: &[f64]) -> Vec<f64> {
        self.constant
            .iter()
            .enumerate()
            .map(|(i, constant)| -constant - z.iter().enumerate().map(|(j, z)| self.slope[(i, j)] * z).sum::<f64>())
            .collect()
    }
}

/// Refuses a factor whose pivots say that the matrix was singular.
fn check_regular(lu: &PartialPivLu<f64>, size: usize) -> Result<(), ProblemError> {
    let upper = lu.U();
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for i in 0..size {
        smallest = smallest.min(upper[(i, i)].abs());
        largest = largest.max(upper[(i, i)].abs());
    }
    let ratio = smallest / largest;
    if size > 0 && (ratio.is_nan() || ratio <= SINGULAR_PIVOT) {
        return Err(ProblemError::SingularFreeBlock { size, smallest_pivot: ratio });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn free_variables_are_eliminated_and_recovered() {
        // A mass of 2 kg with velocity x and momentum 2 x - z + 6 = 0 (it falls with 3 m/s), a floor x ≥ 0 with impulse z:
        // the floor stops it, x = 0 and z = 6.
        let problem = MixedLcp::new(mat![[2.0]], mat![[-1.0]], mat![[1.0]], mat![[0.0]], vec![6.0], vec![0.0]).unwrap();
        let solution = problem.solve(&mut Lemke::default(), &LemkeSettings::default()).unwrap();
        assert!(solution.report.is_solved());
        assert_eq!(solution.free, [0.0]);
        assert_eq!(solution.z, [6.0]);
    }

    #[test]
    fn redundant_free_rows_are_refused() {
        let problem = MixedLcp::new(
            mat![[1.0, 1.0], [1.0, 1.0]],
            mat![[1.0], [1.0]],
            mat![[1.0, 0.0]],
            mat![[0.0]],
            vec![1.0, 1.0],
            vec![-1.0],
        )
        .unwrap();
        let error = problem.eliminate().unwrap_err();
        assert!(matches!(error, ProblemError::SingularFreeBlock { size: 2, .. }), "{error}");
    }
}

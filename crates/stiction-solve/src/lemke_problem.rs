//! What Lemke's method asks of a problem: entries and products in its own scale, and the judge of
//! the answer.

use crate::{Lcp, ProblemError};

/// A linear complementarity problem as Lemke's method sees it: scaled, and by whatever structure
/// its matrix has.
///
/// All numbers are those of the scaled problem, $\tilde w = \tilde q + \tilde M \tilde z$; only the
/// judge speaks of the original one.
pub trait LemkeProblem {
    /// Number of unknowns.
    fn unknown_count(&self) -> usize;

    /// Entry $\tilde q_i$.
    fn scaled_offset(&self, i: usize) -> f64;

    /// Entry $\tilde M_{ij}$.
    fn scaled_entry(&self, i: usize, j: usize) -> f64;

    /// `out` $= \tilde M \tilde z$ for the $\tilde z$ that has these `weights` in these `columns`,
    /// a one in the `extra` column, and zeros elsewhere. Columns that are not among the unknowns
    /// are passed over. What is in the workspace is of no meaning between calls.
    fn scaled_product(
        &self,
        columns: &[usize],
        weights: &[f64],
        extra: Option<usize>,
        workspace: &mut Vec<f64>,
        out: &mut [f64],
    );

    /// The factor in $z_i = f_i \tilde z_i$.
    fn unknown_scale(&self, i: usize) -> f64;

    /// The factor in $\tilde w_i = g_i w_i$.
    fn slack_scale(&self, i: usize) -> f64;

    /// The judge: writes $w = M z + q$ from the original data, and returns the residual of `z` in
    /// the problem's scale.
    fn judge(&self, z: &[f64], w: &mut Vec<f64>) -> f64;

    /// The problem written out, its unknowns in the same order, for methods that need every entry.
    ///
    /// # Errors
    /// [`ProblemError::NotFinite`] when an entry is too large for a number.
    fn to_lcp(&self) -> Result<Lcp, ProblemError>;
}

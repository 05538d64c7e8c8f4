//! A dense factorisation $P A = L U$ in memory that is reused from matrix to matrix.
//!
//! For the small blocks that are eliminated in every step of a simulation, where a factorisation
//! that takes its memory anew costs more than its arithmetic.

use crate::ProblemError;

/// Pivots below this, relative to the largest, mean that the matrix is singular. Too large: stiff
/// but regular problems are refused. Too small: redundant rows give unknowns of pure rounding
/// noise.
const SINGULAR_PIVOT: f64 = 1e-13;

/// The factors of a matrix, with their memory.
#[derive(Clone, Debug, Default)]
pub struct DenseLu {
    size: usize,
    /// $L$ below the diagonal, where it is one, and $U$ above, column after column.
    factors: Vec<f64>,
    /// The row that each row was exchanged with.
    exchanges: Vec<usize>,
}

impl DenseLu {
    /// Factors a matrix of some order, whose columns `fill(j, column)` writes, with exchanges of
    /// rows.
    ///
    /// # Errors
    /// [`ProblemError::SingularFreeBlock`] when the pivots say that it is singular.
    pub fn factor(&mut self, size: usize, mut fill: impl FnMut(usize, &mut [f64])) -> Result<(), ProblemError> {
        self.size = size;
        self.factors.clear();
        self.factors.resize(size * size, 0.0);
        self.factors.chunks_exact_mut(size.max(1)).enumerate().for_each(|(j, column)| fill(j, column));
        self.exchanges.clear();
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for k in 0..size {
            let column = &self.factors[k * size..(k + 1) * size];
            let mut pivot_row = k;
            for i in k + 1..size {
                if column[i].abs() > column[pivot_row].abs() {
                    pivot_row = i;
                }
            }
            let pivot = column[pivot_row];
            (smallest, largest) = (smallest.min(pivot.abs()), largest.max(pivot.abs()));
            let ratio = smallest / largest;
            if ratio.is_nan() || ratio <= SINGULAR_PIVOT || pivot.is_nan() {
                return Err(ProblemError::SingularFreeBlock { size, smallest_pivot: ratio });
            }
            self.exchanges.push(pivot_row);
            if pivot_row != k {
                (0..size).for_each(|j| self.factors.swap(j * size + k, j * size + pivot_row));
            }
            let (before, after) = self.factors.split_at_mut((k + 1) * size);
            let lower = &mut before[k * size + k + 1..];
            lower.iter_mut().for_each(|entry| *entry /= pivot);
            for column in after.chunks_exact_mut(size) {
                let (above, below) = column.split_at_mut(k + 1);
                subtract_multiple(below, above[k], lower);
            }
        }
        Ok(())
    }

    /// Replaces every column $b$ of a matrix, given column after column, by $A^{-1} b$.
    ///
    /// # Panics
    /// When the columns do not have the length of the matrix that was factored.
    pub fn solve_in_place(&self, columns: &mut [f64]) {
        let size = self.size;
        if size == 0 {
            return;
        }
        assert_eq!(columns.len() % size, 0, "columns of {size} entries are needed");
        for x in columns.chunks_exact_mut(size) {
            self.exchanges.iter().enumerate().for_each(|(k, &other)| x.swap(k, other));
            for k in 0..size {
                let (above, below) = x.split_at_mut(k + 1);
                subtract_multiple(below, above[k], &self.factors[k * size + k + 1..(k + 1) * size]);
            }
            for k in (0..size).rev() {
                let factor = &self.factors[k * size..k * size + k + 1];
                x[k] /= factor[k];
                let (above, below) = x.split_at_mut(k);
                subtract_multiple(above, below[0], &factor[..k]);
            }
        }
    }
}

/// `target -= factor * vector`.
#[inline(always)]
fn subtract_multiple(target: &mut [f64], factor: f64, vector: &[f64]) {
    if factor != 0.0 {
        target.iter_mut().zip(vector).for_each(|(target, entry)| *target -= factor * entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved_with_exchanges_of_rows() {
        // ((0, 2, 1), (1, 1, 0), (4, 0, 2)) x = (7, 3, 10) has the solution (1, 2, 3): the first
        // pivot must be the 4.
        let columns = [[0.0, 1.0, 4.0], [2.0, 1.0, 0.0], [1.0, 0.0, 2.0]];
        let mut lu = DenseLu::default();
        lu.factor(3, |j, column| column.copy_from_slice(&columns[j])).unwrap();
        let mut x = [7.0, 3.0, 10.0, 0.0, 1.0, 4.0];
        lu.solve_in_place(&mut x);
        // The second right-hand side is the first column.
        let expected = [1.0, 2.0, 3.0, 1.0, 0.0, 0.0];
        assert!(x.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{x:?}");
        // A smaller matrix in the same memory, and the empty one.
        lu.factor(1, |_, column| column[0] = 4.0).unwrap();
        let mut x = [2.0];
        lu.solve_in_place(&mut x);
        assert_eq!(x, [0.5]);
        lu.factor(0, |_, _| ()).unwrap();
        lu.solve_in_place(&mut []);
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        let mut lu = DenseLu::default();
        for columns in [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1e-14]], [[f64::NAN, 1.0], [1.0, 1.0]]] {
            let error = lu.factor(2, |j, column| column.copy_from_slice(&columns[j])).unwrap_err();
            assert!(matches!(error, ProblemError::SingularFreeBlock { size: 2, .. }), "{error}");
        }
        assert!(lu.factor(1, |_, column| column[0] = 0.0).is_err());
    }
}

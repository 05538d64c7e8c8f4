//! A sparse matrix by rows: the plain form in which problems are stated, and from which residuals
//! are computed.

use crate::ProblemError;

/// A sparse matrix as rows of (column, value). A column may stand twice in a row; its values then
/// add up.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    column_count: usize,
    /// Where each row begins, with the number of entries as the end.
    starts: Vec<usize>,
    entries: Vec<(usize, f64)>,
}

impl Default for SparseRows {
    fn default() -> Self {
        Self::new(0)
    }
}

impl SparseRows {
    /// The matrix with these columns and no rows.
    pub fn new(column_count: usize) -> Self {
        Self { column_count, starts: vec![0], entries: Vec::new() }
    }

    /// Starts anew with these columns and no rows, and keeps the memory.
    pub fn clear(&mut self, column_count: usize) {
        self.column_count = column_count;
        self.starts.clear();
        self.starts.push(0);
        self.entries.clear();
    }

    /// A matrix from its entries as (row, column, value), in any order.
    ///
    /// # Errors
    /// [`ProblemError::Size`] when a row or a column is outside of the matrix.
    pub fn from_triplets(
        row_count: usize,
        column_count: usize,
        triplets: &[(usize, usize, f64)],
    ) -> Result<Self, ProblemError> {
        let mut sorted = triplets.to_vec();
        sorted.sort_by_key(|&(row, column, _)| (row, column));
        let mut matrix = Self::new(column_count);
        let mut rest = sorted.as_slice();
        for row in 0..row_count {
            let count = rest.iter().take_while(|entry| entry.0 == row).count();
            matrix.push_row(rest[..count].iter().map(|&(_, column, value)| (column, value)));
            rest = &rest[count..];
        }
        if let Some(&(row, column, _)) = rest.first() {
            return Err(ProblemError::Size {
                what: "a sparse matrix",
                found: format!("an entry at ({row}, {column})"),
                expected: format!("{row_count} x {column_count}"),
            });
        }
        matrix.check("a sparse matrix")?;
        Ok(matrix)
    }

    /// Adds a row at the end.
    pub fn push_row(&mut self, entries: impl IntoIterator<Item = (usize, f64)>) {
        self.entries.extend(entries);
        self.starts.push(self.entries.len());
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.column_count
    }

    /// Number of entries.
    pub fn entry_count(&self) -> usize {
        self.entries.len()
    }

    /// The entries of a row as (column, value).
    #[inline]
    pub fn row(&self, row: usize) -> &[(usize, f64)] {
        &self.entries[self.starts[row]..self.starts[row + 1]]
    }

    /// The entry at a row and a column.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        self.row(row).iter().filter(|entry| entry.0 == column).map(|entry| entry.1).sum()
    }

    /// The product of a row with a vector.
    #[inline]
    pub fn dot(&self, row: usize, x: &[f64]) -> f64 {
        self.row(row).iter().map(|&(column, value)| value * x[column]).sum()
    }

    /// Adds `factor` times a row to a vector.
    #[inline]
    pub fn add_row_to(&self, row: usize, factor: f64, x: &mut [f64]) {
        self.row(row).iter().for_each(|&(column, value)| x[column] += factor * value);
    }

    /// Checks that all columns are there and all values finite.
    ///
    /// # Errors
    /// [`ProblemError::Size`] or [`ProblemError::NotFinite`] with the entry.
    pub fn check(&self, what: &'static str) -> Result<(), ProblemError> {
        for row in 0..self.row_count() {
            for &(column, value) in self.row(row) {
                if column >= self.column_count {
                    return Err(ProblemError::Size {
                        what,
                        found: format!("an entry at ({row}, {column})"),
                        expected: format!("{} x {}", self.row_count(), self.column_count),
                    });
                }
                if !value.is_finite() {
                    return Err(ProblemError::NotFinite { what, row, column, value });
                }
            }
        }
        Ok(())
    }

    /// The transpose, its rows ascending in columns.
    pub fn transposed(&self) -> Self {
        let mut counts = vec![0; self.column_count + 1];
        self.entries.iter().for_each(|&(column, _)| counts[column + 1] += 1);
        (0..self.column_count).for_each(|column| counts[column + 1] += counts[column]);
        let starts = counts.clone();
        let mut entries = vec![(0, 0.0); self.entries.len()];
        for row in 0..self.row_count() {
            for &(column, value) in self.row(row) {
                entries[counts[column]] = (row, value);
                counts[column] += 1;
            }
        }
        Self { column_count: self.row_count(), starts, entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_row_and_by_column() {
        let matrix = SparseRows::from_triplets(2, 3, &[(1, 0, 5.0), (0, 2, 2.0), (0, 1, 1.0), (0, 2, 1.0)]).unwrap();
        assert_eq!((matrix.entry(0, 2), matrix.entry(1, 0), matrix.entry(1, 2)), (3.0, 5.0, 0.0));
        assert_eq!(matrix.dot(0, &[1.0, 2.0, 3.0]), 11.0);
        let transposed = matrix.transposed();
        assert_eq!((transposed.row_count(), transposed.entry(2, 0), transposed.entry(0, 1)), (3, 3.0, 5.0));
        assert!(SparseRows::from_triplets(2, 3, &[(2, 0, 5.0)]).is_err());
        assert!(SparseRows::from_triplets(2, 3, &[(1, 3, 5.0)]).is_err());
        assert!(SparseRows::from_triplets(2, 3, &[(1, 1, f64::NAN)]).is_err());
    }
}

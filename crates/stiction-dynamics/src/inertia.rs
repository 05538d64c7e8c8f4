//! The matrix $W$ of the momentum equation: blocks of bodies, or a sparse matrix.
//!
//! For most schemes $W$ is the mass matrix. The trapezoidal scheme puts $2 \tilde M$ here, which
//! couples bodies through springs and loses its symmetry with gyroscopic terms; so the sparse form
//! may be unsymmetric. Blocks of a few rows are factored by hand, because a general factorisation
//! costs about twenty times as much at that size.

use std::cell::RefCell;
use std::ops::Range;

use stiction_solve::{ProblemError, SparseLu};

use crate::{ContactError, Row};

/// Asymmetry below this, relative to the largest entry, is rounding.
const SYMMETRY_TOLERANCE: f64 = 1e-12;

thread_local! {
    /// Memory of sparse solves, which need some and leave the matrix as it is.
    static WORKSPACE: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// The matrix $W$ and its factors.
#[derive(Clone, Debug, Default)]
pub struct Inertia {
    /// Whether the sparse matrix counts, and not the blocks.
    is_sparse: bool,
    /// Symmetric blocks along the diagonal.
    blocks: Vec<Block>,
    /// Entries of all blocks, each row by row.
    entries: Vec<f64>,
    /// The block of every coordinate.
    block_of: Vec<usize>,
    /// Cholesky factors of the blocks, one after another like the entries.
    block_factors: Vec<f64>,
    /// A sparse matrix with its factors; its memory stays when the form changes.
    sparse: SparseLu,
    /// Workspace of the test for definiteness.
    symmetric_part: SparseLu,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    /// First coordinate.
    start: usize,
    /// Number of rows.
    size: usize,
    /// Place of its first entry.
    offset: usize,
}

impl Block {
    fn coordinates(&self) -> Range<usize> {
        self.start..self.start + self.size
    }

    fn entries(&self) -> Range<usize> {
        self.offset..self.offset + self.size * self.size
    }
}

impl Inertia {
    /// Starts anew as an empty block-diagonal matrix and keeps the memory.
    pub fn clear(&mut self) {
        self.is_sparse = false;
        self.blocks.clear();
        self.entries.clear();
        self.block_of.clear();
    }

    /// Appends one coordinate with this mass, in kg (or kg m²), uncoupled from all others.
    pub fn push_scalar(&mut self, mass: f64) {
        self.push_block(1, &[mass]);
    }

    /// Appends a symmetric block of `size` coordinates, entries row by row.
    ///
    /// # Panics
    /// When the number of entries is not `size²`, or the matrix was made sparse.
    pub fn push_block(&mut self, size: usize, block: &[f64]) {
        assert_eq!(block.len(), size * size, "a block of {size} rows has {} entries", size * size);
        assert!(!self.is_sparse, "blocks cannot be appended to a sparse inertia; clear it first");
        let start = self.block_of.len();
        self.block_of.extend(std::iter::repeat_n(self.blocks.len(), size));
        self.blocks.push(Block { start, size, offset: self.entries.len() });
        self.entries.extend_from_slice(block);
    }

    /// Makes it a diagonal matrix.
    pub fn set_diagonal(&mut self, diagonal: &[f64]) {
        self.clear();
        diagonal.iter().for_each(|&mass| self.push_scalar(mass));
    }

    /// Makes it a sparse matrix from entries (row, column, value); those of the same place add up.
    /// With the same rows and columns in the same order as last time, nothing is allocated: so a
    /// zero that may become an entry should be given too.
    ///
    /// # Panics
    /// When an entry is outside of the matrix.
    pub fn set_entries(&mut self, size: usize, entries: impl IntoIterator<Item = (usize, usize, f64)>) {
        self.set_sparse(size, &[], entries);
    }

    fn set_sparse(
        &mut self,
        size: usize,
        masses: &[(&Self, f64)],
        entries: impl IntoIterator<Item = (usize, usize, f64)>,
    ) {
        self.clear();
        self.is_sparse = true;
        self.sparse.begin(size, size);
        for (mass, factor) in masses {
            mass.for_each_entry(|row, column, value| self.sparse.push(row, column, factor * value));
        }
        entries.into_iter().for_each(|(row, column, value)| self.sparse.push(row, column, value));
        self.sparse.assemble();
    }

    /// Makes it the sum of multiples of mass matrices and of entries (row, column, value), as for
    /// [`set_entries`](Self::set_entries): a mass matrix with the derivatives of forces. Without
    /// entries, blocks stay blocks.
    ///
    /// # Panics
    /// When there is no matrix, their sizes differ, or an entry is outside of them.
    pub fn set_sum(&mut self, masses: &[(&Self, f64)], entries: impl IntoIterator<Item = (usize, usize, f64)>) {
        let first = masses[0].0;
        assert!(masses.iter().all(|(mass, _)| mass.size() == first.size()), "matrices of one size");
        let mut entries = entries.into_iter().peekable();
        let is_alike = |other: &Self| !other.is_sparse && other.blocks == first.blocks;
        if entries.peek().is_none() && masses.iter().all(|(mass, _)| is_alike(mass)) {
            self.clear();
            self.blocks.extend_from_slice(&first.blocks);
            self.block_of.extend_from_slice(&first.block_of);
            self.entries.resize(first.entries.len(), 0.0);
            for (mass, factor) in masses {
                self.entries.iter_mut().zip(&mass.entries).for_each(|(sum, entry)| *sum += factor * entry);
            }
            return;
        }
        self.set_sparse(first.size(), masses, entries);
    }

    /// Whether $x^T W x > 0$ for all $x \ne 0$: the symmetric part has positive pivots in every
    /// order of elimination.
    pub fn is_positive_definite(&mut self) -> bool {
        if !self.is_sparse {
            return self.factor().is_ok();
        }
        let mut symmetric = std::mem::take(&mut self.symmetric_part);
        symmetric.begin(self.size(), self.size());
        self.for_each_entry(|row, column, value| {
            symmetric.push(row, column, 0.5 * value);
            symmetric.push(column, row, 0.5 * value);
        });
        symmetric.assemble();
        let is_definite = symmetric.factor().is_ok() && symmetric.has_positive_pivots();
        self.symmetric_part = symmetric;
        is_definite
    }

    /// Number of coordinates.
    pub fn size(&self) -> usize {
        if self.is_sparse { self.sparse.size() } else { self.block_of.len() }
    }

    /// Whether $W = W^T$ up to rounding; methods that need it are passed over otherwise.
    pub fn is_symmetric(&self) -> bool {
        let (mut largest, mut asymmetry) = (0.0f64, 0.0f64);
        self.for_each_entry(|row, column, value| {
            largest = largest.max(value.abs());
            asymmetry = asymmetry.max((value - self.entry(column, row)).abs());
        });
        asymmetry <= SYMMETRY_TOLERANCE * largest
    }

    /// The entry at a row and a column.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        if self.is_sparse {
            return self.sparse.entry(row, column);
        }
        let block = self.blocks[self.block_of[row]];
        if self.block_of[row] != self.block_of[column] {
            return 0.0;
        }
        self.entries[block.offset + (row - block.start) * block.size + (column - block.start)]
    }

    /// The coordinates among which those that are coupled to this one are, directly or through
    /// others: its block, or all.
    pub(crate) fn coupled(&self, coordinate: usize) -> Range<usize> {
        if self.is_sparse { 0..self.size() } else { self.blocks[self.block_of[coordinate]].coordinates() }
    }

    /// Visits pairs of coordinates whose chains couple all coordinates that act on each other
    /// through the matrix.
    pub(crate) fn for_each_coupling(&self, mut visit: impl FnMut(usize, usize)) {
        if !self.is_sparse {
            for block in &self.blocks {
                (1..block.size).for_each(|i| visit(block.start, block.start + i));
            }
            return;
        }
        self.sparse.for_each_entry(|row, column, value| {
            if value != 0.0 {
                visit(row, column);
            }
        });
    }

    /// Visits the entries as (row, column, value): of blocks all, zeros included.
    pub fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, f64)) {
        if self.is_sparse {
            return self.sparse.for_each_entry(visit);
        }
        for block in &self.blocks {
            let places = (0..block.size).flat_map(|i| (0..block.size).map(move |j| (i, j)));
            for ((i, j), value) in places.zip(&self.entries[block.offset..]) {
                visit(block.start + i, block.start + j, *value);
            }
        }
    }

    /// Writes $W x$ into `out`.
    pub fn apply(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.for_each_entry(|row, column, value| out[row] += value * x[column]);
    }

    /// Factors the matrix; needed before any solve.
    ///
    /// # Errors
    /// [`ContactError::Inertia`] when a block is not positive definite, or the matrix is singular.
    pub fn factor(&mut self) -> Result<(), ContactError> {
        if self.is_sparse {
            return self.sparse.factor().map_err(|error| match error {
                ProblemError::Pivot { row, pivot } => ContactError::Inertia { coordinate: row, pivot },
                error => error.into(),
            });
        }
        self.block_factors.clear();
        self.block_factors.extend_from_slice(&self.entries);
        for block in &self.blocks {
            cholesky(&mut self.block_factors[block.entries()], block.size, 0.0)
                .map_err(|(_, pivot)| ContactError::Inertia { coordinate: block.start, pivot })?;
        }
        Ok(())
    }

    /// Replaces `x` by $W^{-1} x$.
    ///
    /// # Panics
    /// When the matrix has not been factored.
    pub fn solve_in_place(&self, x: &mut [f64]) {
        if self.is_sparse {
            WORKSPACE.with_borrow_mut(|workspace| self.sparse.solve(x, workspace));
            return;
        }
        for block in &self.blocks {
            self.solve_block(block, &mut x[block.coordinates()]);
        }
    }

    /// Writes $W^{-1} J^T$ of one row $J$, given by its entries, into `out`. Only the blocks or
    /// components that the row touches are visited.
    ///
    /// # Panics
    /// When the matrix has not been factored.
    pub fn solve_row(&self, entries: &[(usize, f64)], out: &mut Row) {
        out.clear();
        if self.is_sparse {
            return WORKSPACE.with_borrow_mut(|workspace| {
                self.sparse.solve_entries(entries, workspace, |i, value| {
                    if value != 0.0 {
                        out.push(i, value);
                    }
                });
            });
        }
        let (blocks, block_of) = (&self.blocks, &self.block_of);
        for (k, &(index, _)) in entries.iter().enumerate() {
            let number = block_of[index];
            if entries[..k].iter().any(|&(earlier, _)| block_of[earlier] == number) {
                continue; // done with its block
            }
            let block = &blocks[number];
            if block.size <= SMALL_BLOCK {
                let mut x = [0.0; SMALL_BLOCK];
                self.solve_row_in_block(entries, block, &mut x[..block.size], out);
            } else {
                self.solve_row_in_block(entries, block, &mut vec![0.0; block.size], out);
            }
        }
    }

    /// $W^{-1} J^T$ of one row, as a dense vector.
    pub(crate) fn response(&self, row: &Row) -> Vec<f64> {
        let (mut solved, mut dense) = (Row::new(), vec![0.0; self.size()]);
        self.solve_row(row.entries(), &mut solved);
        solved.add_to(1.0, &mut dense);
        dense
    }

    fn solve_row_in_block(&self, entries: &[(usize, f64)], block: &Block, x: &mut [f64], out: &mut Row) {
        for &(index, value) in entries {
            if block.coordinates().contains(&index) {
                x[index - block.start] += value;
            }
        }
        self.solve_block(block, x);
        x.iter().enumerate().for_each(|(i, &value)| out.push(block.start + i, value));
    }

    fn solve_block(&self, block: &Block, x: &mut [f64]) {
        cholesky_solve(&self.block_factors[block.entries()], block.size, x);
    }
}

/// Blocks up to this size are solved without allocation.
const SMALL_BLOCK: usize = 8;

/// Replaces the lower triangle of `a` by its Cholesky factor. Where `a` is not positive definite:
/// the number of the first pivot that is not larger than this share of its entry on the diagonal,
/// and the pivot.
pub(crate) fn cholesky(a: &mut [f64], n: usize, tolerance: f64) -> Result<(), (usize, f64)> {
    for j in 0..n {
        let mut pivot = a[j * n + j];
        let least = tolerance * pivot.abs();
        for k in 0..j {
            pivot -= a[j * n + k] * a[j * n + k];
        }
        if !(pivot > least && pivot.is_finite()) {
            return Err((j, pivot));
        }
        let diagonal = pivot.sqrt();
        a[j * n + j] = diagonal;
        for i in j + 1..n {
            let mut sum = a[i * n + j];
            for k in 0..j {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = sum / diagonal;
        }
    }
    Ok(())
}

/// Solves $L L^T x = b$ in place.
fn cholesky_solve(l: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        for k in 0..i {
            x[i] -= l[i * n + k] * x[k];
        }
        x[i] /= l[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= l[k * n + i] * x[k];
        }
        x[i] /= l[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same 4 × 4 matrix in both forms: a scalar 2, then a 3 × 3 block.
    fn both_forms() -> [Inertia; 2] {
        let mut blocks = Inertia::default();
        blocks.push_scalar(2.0);
        blocks.push_block(3, &[4.0, 1.0, 0.0, 1.0, 3.0, -1.0, 0.0, -1.0, 5.0]);
        let mut entries = Vec::new();
        blocks.for_each_entry(|row, column, value| entries.push((row, column, value)));
        let mut sparse = Inertia::default();
        sparse.set_entries(4, entries);
        [blocks, sparse]
    }

    #[test]
    fn both_forms_agree_and_invert_their_product() {
        for mut inertia in both_forms() {
            inertia.factor().unwrap();
            assert!(inertia.is_symmetric());
            let x = [1.0, -2.0, 3.0, 0.5];
            let mut product = [0.0; 4];
            inertia.apply(&x, &mut product);
            // By hand: 2; -8 + 3; -2 + 9 - 0.5; -3 + 2.5.
            assert_eq!(product, [2.0, -5.0, 6.5, -0.5]);
            inertia.solve_in_place(&mut product);
            for i in 0..4 {
                assert!((product[i] - x[i]).abs() < 1e-14, "{product:?}");
            }
            let mut row = Row::new();
            inertia.solve_row(Row::from_dense(&[0.0, 1.0, 0.0, 2.0]).entries(), &mut row);
            let mut dense = [0.0; 4];
            row.add_to(1.0, &mut dense);
            let mut expected = [0.0, 1.0, 0.0, 2.0];
            inertia.solve_in_place(&mut expected);
            for i in 0..4 {
                assert!((dense[i] - expected[i]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn a_sum_of_masses_and_springs_is_sparse() {
        // Two masses of 1 and 3 kg; a spring adds 2 between them, a turning coupling 0.5 and -0.5.
        // Twice the mass matrix.
        let mut mass = Inertia::default();
        mass.set_diagonal(&[1.0, 3.0, 5.0]);
        let springs = [(0, 0, 2.0), (0, 1, -2.0), (1, 0, -2.0), (1, 1, 2.0), (0, 1, 0.5), (1, 0, -0.5)];
        let mut sum = Inertia::default();
        sum.set_sum(&[(&mass, 2.0)], springs);
        sum.factor().unwrap();
        for (i, row) in [[4.0, -1.5, 0.0], [-2.5, 8.0, 0.0], [0.0, 0.0, 10.0]].iter().enumerate() {
            (0..3).for_each(|j| assert_eq!(sum.entry(i, j), row[j], "({i}, {j})"));
        }
        assert!(!sum.is_symmetric());
        // W (1, 2, 3) = (1, 13.5, 30).
        let mut x = [1.0, 13.5, 30.0];
        sum.solve_in_place(&mut x);
        assert!(x.iter().zip([1.0, 2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-15), "{x:?}");
        // A row on the third mass reaches it alone.
        let mut row = Row::new();
        sum.solve_row(&[(2, 5.0)], &mut row);
        assert_eq!(row.entries(), [(2, 0.5)]);
        // A mass matrix that became sparse can be a sum of others again, and blocks after that.
        sum.set_sum(&[(&mass, 1.0)], []);
        assert_eq!((sum.size(), sum.entry(1, 1), sum.entry(0, 1)), (3, 3.0, 0.0));
        sum.set_diagonal(&[7.0]);
        assert_eq!((sum.size(), sum.entry(0, 0)), (1, 7.0));
    }

    #[test]
    fn an_unsymmetric_matrix_is_solved_as_it_is() {
        let mut inertia = Inertia::default();
        inertia.set_entries(2, [(0, 0, 2.0), (0, 1, 1.0), (1, 1, 4.0)]);
        inertia.factor().unwrap();
        assert!(!inertia.is_symmetric());
        let mut x = [4.0, 8.0];
        inertia.solve_in_place(&mut x);
        assert_eq!(x, [1.0, 2.0]);
    }

    #[test]
    fn a_mass_that_is_not_positive_is_named() {
        let mut inertia = Inertia::default();
        inertia.set_diagonal(&[1.0, 0.0]);
        assert_eq!(inertia.factor(), Err(ContactError::Inertia { coordinate: 1, pivot: 0.0 }));
        inertia.set_entries(3, [(0, 0, 1.0), (1, 1, 2.0), (2, 2, 0.0)]);
        assert_eq!(inertia.factor(), Err(ContactError::Inertia { coordinate: 2, pivot: 0.0 }));
    }
}

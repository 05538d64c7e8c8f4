//! The matrix $W$ of the momentum equation: blocks of bodies, a dense matrix, or a sparse one.
//!
//! For most schemes $W$ is the mass matrix. The trapezoidal scheme puts $2 \tilde M$ here, which couples bodies through springs and
//! loses its symmetry with gyroscopic terms; so the dense and the sparse form may be unsymmetric. Blocks of a few rows are
//! factored by hand, because a general factorisation costs about twenty times as much at that size.

use std::cell::RefCell;
use std::ops::Range;

use faer::Mat;
use faer::linalg::solvers::{PartialPivLu, Solve};
use faer::sparse::SparseColMat;
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
    form: Form,
    /// Symmetric blocks along the diagonal.
    blocks: Vec<Block>,
    /// Entries of all blocks, each row by row.
    entries: Vec<f64>,
    /// The block of every coordinate.
    block_of: Vec<usize>,
    /// Cholesky factors of the blocks, one after another like the entries.
    block_factors: Vec<f64>,
    /// Factors of a dense matrix.
    dense_factor: Option<PartialPivLu<f64>>,
    /// A sparse matrix with its factors; its memory stays when the form changes.
    sparse: SparseLu,
    /// Workspace of the test for definiteness.
    symmetric_part: SparseLu,
}

/// Which of the matrices counts.
#[derive(Clone, Debug, Default)]
enum Form {
    #[default]
    Blocks,
    Dense(Mat<f64>),
    Sparse,
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

impl Inertia {
    /// Starts anew as an empty block-diagonal matrix and keeps the memory.
    pub fn clear(&mut self) {
        self.form = Form::Blocks;
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
    /// When the number of entries is not `size²`, or the matrix was made dense or sparse.
    pub fn push_block(&mut self, size: usize, block: &[f64]) {
        assert_eq!(block.len(), size * size, "a block of {size} rows has {} entries", size * size);
        assert!(
            matches!(self.form, Form::Blocks),
            "blocks cannot be appended to a dense or sparse inertia; clear it first"
        );
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

    /// Makes it a dense matrix, symmetric or not.
    pub fn set_dense(&mut self, matrix: Mat<f64>) {
        self.clear();
        self.form = Form::Dense(matrix);
    }

    /// Makes it a sparse matrix, symmetric or not, with a symmetric part that should be positive definite.
    pub fn set_sparse(&mut self, matrix: SparseColMat<usize, f64>) {
        let entries = matrix.triplet_iter().map(|entry| (entry.row, entry.col, *entry.val));
        self.set_entries(matrix.nrows(), entries);
    }

    /// Makes it a sparse matrix from entries (row, column, value); those of the same place add up. With the same rows and columns in the
    /// same order as last time, nothing is allocated: so a zero that may become an entry should be given too.
    ///
    /// # Panics
    /// When an entry is outside of the matrix.
    pub fn set_entries(&mut self, size: usize, entries: impl IntoIterator<Item = (usize, usize, f64)>) {
        self.clear();
        self.form = Form::Sparse;
        self.sparse.begin(size, size);
        entries.into_iter().for_each(|(row, column, value)| self.sparse.push(row, column, value));
        self.sparse.assemble();
    }

    /// Makes it the sum of multiples of mass matrices and of entries (row, column, value), as for [`set_entries`](Self::set_entries): a
    /// mass matrix with the derivatives of forces. Without entries, blocks stay blocks.
    ///
    /// # Panics
    /// When there is no matrix, their sizes differ, or an entry is outside of them.
    pub fn set_sum(&mut self, masses: &[(&Self, f64)], entries: impl IntoIterator<Item = (usize, usize, f64)>) {
        let first = masses[0].0;
        assert!(masses.iter().all(|(mass, _)| mass.size() == first.size()), "matrices of one size");
        let mut entries = entries.into_iter().peekable();
        let is_alike = |other: &Self| matches!(other.form, Form::Blocks) && other.blocks == first.blocks;
        self.clear();
        if entries.peek().is_none() && masses.iter().all(|(mass, _)| is_alike(mass)) {
            self.blocks.extend_from_slice(&first.blocks);
            self.block_of.extend_from_slice(&first.block_of);
            self.entries.resize(first.entries.len(), 0.0);
            for (mass, factor) in masses {
                self.entries.iter_mut().zip(&mass.entries).for_each(|(sum, entry)| *sum += factor * entry);
            }
            return;
        }
        self.form = Form::Sparse;
        self.sparse.begin(first.size(), first.size());
        for (mass, factor) in masses {
            mass.for_each_entry(|row, column, value| self.sparse.push(row, column, factor * value));
        }
        entries.for_each(|(row, column, value)| self.sparse.push(row, column, value));
        self.sparse.assemble();
    }

    /// Whether $x^T W x > 0$ for all $x \ne 0$: the symmetric part has positive pivots in every order of elimination.
    pub fn is_positive_definite(&mut self) -> bool {
        if let Form::Blocks = self.form {
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
        match &self.form {
            Form::Blocks => self.block_of.len(),
            Form::Dense(matrix) => matrix.nrows(),
            Form::Sparse => self.sparse.size(),
        }
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
        match &self.form {
            Form::Blocks => {
                let block = self.blocks[self.block_of[row]];
                if self.block_of[row] == self.block_of[column] {
                    self.entries[block.offset + (row - block.start) * block.size + (column - block.start)]
                } else {
                    0.0
                }
            }
            Form::Dense(matrix) => matrix[(row, column)],
            Form::Sparse => self.sparse.entry(row, column),
        }
    }

    /// The coordinates among which those that are coupled to this one are, directly or through others: its block, or all.
    pub(crate) fn coupled(&self, coordinate: usize) -> Range<usize> {
        match &self.form {
            Form::Blocks => {
                let block = self.blocks[self.block_of[coordinate]];
                block.start..block.start + block.size
            }
            Form::Dense(_) | Form::Sparse => 0..self.size(),
        }
    }

    /// Visits pairs of coordinates whose chains couple all coordinates that act on each other through the matrix.
    pub(crate) fn for_each_coupling(&self, mut visit: impl FnMut(usize, usize)) {
        match &self.form {
            Form::Blocks => {
                for block in &self.blocks {
                    (1..block.size).for_each(|i| visit(block.start, block.start + i));
                }
            }
            Form::Dense(_) | Form::Sparse => self.for_each_entry(|row, column, value| {
                if value != 0.0 {
                    visit(row, column);
                }
            }),
        }
    }

    /// Visits the entries as (row, column, value): of blocks all, zeros included.
    pub fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, f64)) {
        match &self.form {
            Form::Blocks => {
                for block in &self.blocks {
                    for i in 0..block.size {
                        for j in 0..block.size {
                            visit(block.start + i, block.start + j, self.entries[block.offset + i * block.size + j]);
                        }
                    }
                }
            }
            Form::Dense(matrix) => {
                for column in 0..matrix.ncols() {
                    for row in 0..matrix.nrows() {
                        visit(row, column, matrix[(row, column)]);
                    }
                }
            }
            Form::Sparse => self.sparse.for_each_entry(visit),
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
        match &self.form {
            Form::Blocks => {
                self.block_factors.clear();
                self.block_factors.extend_from_slice(&self.entries);
                for block in &self.blocks {
                    let factor = &mut self.block_factors[block.offset..block.offset + block.size * block.size];
                    cholesky(factor, block.size)
                        .map_err(|pivot| ContactError::Inertia { coordinate: block.start, pivot })?;
                }
            }
            Form::Dense(matrix) => {
                let lu = matrix.partial_piv_lu();
                let upper = lu.U();
                for coordinate in 0..matrix.nrows() {
                    let pivot = upper[(coordinate, coordinate)];
                    if pivot == 0.0 || !pivot.is_finite() {
                        return Err(ContactError::Inertia { coordinate, pivot });
                    }
                }
                self.dense_factor = Some(lu);
            }
            Form::Sparse => self.sparse.factor().map_err(|error| match error {
                ProblemError::Pivot { row, pivot } => ContactError::Inertia { coordinate: row, pivot },
                error => error.into(),
            })?,
        }
        Ok(())
    }

    /// Replaces `x` by $W^{-1} x$.
    ///
    /// # Panics
    /// When the matrix has not been factored.
    pub fn solve_in_place(&self, x: &mut [f64]) {
        match &self.form {
            Form::Blocks => {
                for block in &self.blocks {
                    self.solve_block(block, &mut x[block.start..block.start + block.size]);
                }
            }
            Form::Dense(_) => solve_column(self.dense_factor(), x),
            Form::Sparse => WORKSPACE.with_borrow_mut(|workspace| {
                self.sparse.solve(x, workspace);
            }),
        }
    }

    fn dense_factor(&self) -> &PartialPivLu<f64> {
        self.dense_factor.as_ref().expect("the inertia must be factored before it solves")
    }

    /// Writes $W^{-1} J^T$ of one row $J$, given by its entries, into `out`. Only the blocks or
    /// components that the row touches are visited.
    ///
    /// # Panics
    /// When the matrix has not been factored.
    pub fn solve_row(&self, entries: &[(usize, f64)], out: &mut Row) {
        out.clear();
        match &self.form {
            Form::Blocks => self.solve_row_in_blocks(entries, out),
            Form::Dense(_) => {
                let mut x = vec![0.0; self.size()];
                entries.iter().for_each(|&(index, value)| x[index] += value);
                solve_column(self.dense_factor(), &mut x);
                x.iter().enumerate().filter(|&(_, &value)| value != 0.0).for_each(|(i, &value)| out.push(i, value));
            }
            Form::Sparse => WORKSPACE.with_borrow_mut(|workspace| {
                self.sparse.solve_entries(entries, workspace, |i, value| {
                    if value != 0.0 {
                        out.push(i, value);
                    }
                });
            }),
        }
    }

    fn solve_row_in_blocks(&self, entries: &[(usize, f64)], out: &mut Row) {
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

    fn solve_row_in_block(&self, entries: &[(usize, f64)], block: &Block, x: &mut [f64], out: &mut Row) {
        for &(index, value) in entries {
            if (block.start..block.start + block.size).contains(&index) {
                x[index - block.start] += value;
            }
        }
        self.solve_block(block, x);
        x.iter().enumerate().for_each(|(i, &value)| out.push(block.start + i, value));
    }

    fn solve_block(&self, block: &Block, x: &mut [f64]) {
        let factor = &self.block_factors[block.offset..block.offset + block.size * block.size];
        cholesky_solve(factor, block.size, x);
    }
}

/// Blocks up to this size are solved without allocation.
const SMALL_BLOCK: usize = 8;

fn solve_column(factor: &impl Solve<f64>, x: &mut [f64]) {
    let solution = factor.solve(&Mat::from_fn(x.len(), 1, |i, _| x[i]));
    for (i, value) in x.iter_mut().enumerate() {
        *value = solution[(i, 0)];
    }
}

/// Replaces the lower triangle of `a` by its Cholesky factor; the failing pivot when `a` is not positive definite.
fn cholesky(a: &mut [f64], n: usize) -> Result<(), f64> {
    for j in 0..n {
        let mut pivot = a[j * n + j];
        for k in 0..j {
            pivot -= a[j * n + k] * a[j * n + k];
        }
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(pivot);
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
    use faer::mat;
    use faer::sparse::Triplet;

    /// The same 4 × 4 matrix in three forms: a scalar 2, then a 3 × 3 block.
    fn three_forms() -> [Inertia; 3] {
        let full = mat![[2.0, 0.0, 0.0, 0.0], [0.0, 4.0, 1.0, 0.0], [0.0, 1.0, 3.0, -1.0], [0.0, 0.0, -1.0, 5.0]];
        let mut blocks = Inertia::default();
        blocks.push_scalar(2.0);
        blocks.push_block(3, &[4.0, 1.0, 0.0, 1.0, 3.0, -1.0, 0.0, -1.0, 5.0]);
        let mut dense = Inertia::default();
        dense.set_dense(full.clone());
        let mut triplets = Vec::new();
        for i in 0..4 {
            for j in 0..4 {
                if full[(i, j)] != 0.0 {
                    triplets.push(Triplet::new(i, j, full[(i, j)]));
                }
            }
        }
        let mut sparse = Inertia::default();
        sparse.set_sparse(SparseColMat::try_new_from_triplets(4, 4, &triplets).unwrap());
        [blocks, dense, sparse]
    }

    #[test]
    fn the_three_forms_agree_and_invert_their_product() {
        for mut inertia in three_forms() {
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
        // Two masses of 1 and 3 kg; a spring adds 2 between them, a turning coupling 0.5 and -0.5. Twice the mass matrix.
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
        inertia.set_dense(mat![[2.0, 1.0], [0.0, 4.0]]);
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

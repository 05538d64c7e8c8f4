//! LU factorisation of sparse matrices that need no pivoting, for patterns that stay while the
//! numbers change.
//!
//! A matrix whose symmetric part is positive definite has factors $P A P^T = L U$ for every
//! permutation $P$: all its leading blocks are regular (\[GV13\] §4.2). So the order of elimination
//! can be chosen for sparsity alone and once for all. Two kinds of matrix of this sort are met
//! here:
//!
//! - the matrix $W$ of a step with springs and gyroscopic terms, symmetric and positive definite
//!   but for small parts;
//! - the saddle-point matrix of joints or other constraints,
//!   $$ K = \begin{pmatrix} W & -\nu^T \\\\ \nu & 0 \end{pmatrix}, $$
//!   factored with a small positive diagonal, the [shift](SparseLu::push_shift), in place of the
//!   zero block.
//!
//! **Pattern.** The pattern of $A + A^T$ is what is factored. Entries are [pushed](SparseLu::push)
//! one by one, and those of the same place add up. As long as they come in the same order as last
//! time, everything that follows from the pattern is kept: approximate minimum degree ordering
//! (\[ADD96\]), elimination tree, the pattern of the factors, the place of each entry in memory.
//! Then assembling, factoring and solving allocate nothing.
//!
//! **Late rows.** With the shift $\varepsilon$ alone on its diagonal, a constraint row that is
//! eliminated before the rows that it is coupled to would have the pivot $\varepsilon$, and the
//! numbers would grow by $1/\varepsilon$. Such rows are declared late: each is eliminated after all
//! early rows that it is coupled to, at once if it can be, so that its pivot is
//! $\nu W^{-1} \nu^T + \varepsilon$ with the part of $W$ eliminated so far.
//!
//! **Numbers.** Row $k$ of $L$ and column $k$ of $U$ are computed together, from the rows and
//! columns before (up-looking, \[D06\] §4 and §6). Both have the same pattern, so each index is
//! read once for two products.
//!
//! **Components.** Parts of the matrix that are not coupled to each other stand one after another,
//! and a right-hand side that touches only one of them is solved there alone:
//! [`component`](SparseLu::component).
//!
//! ```
//! use stiction_solve::SparseLu;
//!
//! // 2 x + y = 4, -x + 3 y = 5.
//! let mut lu = SparseLu::default();
//! lu.begin(2, 2);
//! [(0, 0, 2.0), (0, 1, 1.0), (1, 0, -1.0), (1, 1, 3.0)].into_iter().for_each(|(i, j, value)| lu.push(i, j, value));
//! lu.assemble();
//! lu.factor()?;
//! let mut x = [4.0, 5.0];
//! lu.solve(&mut x, &mut Vec::new());
//! assert_eq!(x, [1.0, 2.0]);
//! # Ok::<(), stiction_solve::ProblemError>(())
//! ```

use std::ops::Range;

use crate::ProblemError;
use crate::factor_pattern::{FactorPattern, Graph, positions, starts};

/// Steps of iterative refinement in [`SparseLu::solve`], at most. Where the first two do not help,
/// the matrix is not of the kind that can do without pivoting, and more would not help either.
const REFINEMENTS: usize = 2;

/// A componentwise error up to this, a few roundings, is not refined.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A sparse matrix and its factors; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct SparseLu {
    size: usize,
    early: usize,
    /// Row and column of the entries in the order in which they came, and their values.
    pattern: Vec<(usize, usize)>,
    values: Vec<f64>,
    /// What is added to the diagonal of the factored matrix only, by row.
    shifts: Vec<f64>,
    pattern_changed: bool,
    analysis: Analysis,
    /// The assembled matrix: diagonal by position, then the entries below, then those above.
    matrix: Vec<f64>,
    /// L and U by entry of the pattern of L, whose columns are those of L and the rows of U.
    factors: Vec<[f64; 2]>,
    /// Inverse pivots by position.
    inverse_pivots: Vec<f64>,
    /// The row and the column that are being eliminated, as dense vectors.
    row_and_column: Vec<[f64; 2]>,
}

/// The memory of a solve.
struct Vectors<'a> {
    b: &'a mut [f64],
    answer: &'a mut [f64],
    candidate: &'a mut [f64],
    residual: &'a mut [f64],
    sizes: &'a mut [f64],
}

/// What follows from the pattern.
#[derive(Clone, Debug, Default)]
struct Analysis {
    /// How often it was made.
    count: usize,
    /// The order of elimination and the pattern of L.
    pattern: FactorPattern,
    /// Where components begin, with the size as the end, and the component at each position.
    component_starts: Vec<usize>,
    component_of: Vec<usize>,
    /// The pattern of A below the diagonal, row by row.
    row_starts: Vec<usize>,
    row_columns: Vec<usize>,
    /// The place of each entry in the assembled matrix.
    places: Vec<usize>,
}

impl SparseLu {
    /// Begins a matrix of this size: entries and shifts start anew, the memory is kept. Rows from
    /// `early` on are late; with `early = size` there are none.
    ///
    /// # Panics
    /// When `early` is larger than `size`.
    pub fn begin(&mut self, size: usize, early: usize) {
        assert!(early <= size, "{early} early rows of {size}");
        if (size, early) != (self.size, self.early) || self.analysis.count == 0 {
            self.pattern_changed = true;
        }
        (self.size, self.early) = (size, early);
        self.values.clear();
        self.shifts.clear();
        self.shifts.resize(size, 0.0);
    }

    /// Adds to the entry at a row and a column. A zero counts as an entry, so that a pattern need
    /// not change with the numbers.
    ///
    /// # Panics
    /// When row or column are outside of the matrix.
    pub fn push(&mut self, row: usize, column: usize, value: f64) {
        let next = self.values.len();
        if self.pattern.get(next) != Some(&(row, column)) {
            assert!(row < self.size && column < self.size, "entry ({row}, {column}) of a matrix of size {}", self.size);
            self.pattern.truncate(next);
            self.pattern.push((row, column));
            self.pattern_changed = true;
        }
        self.values.push(value);
    }

    /// Adds to the diagonal of the matrix that is factored, and not to that against which solutions
    /// are refined.
    pub fn push_shift(&mut self, row: usize, value: f64) {
        self.shifts[row] += value;
    }

    /// Ends the list of entries: sums those of the same place, and analyses the pattern if it is
    /// not that of last time.
    pub fn assemble(&mut self) {
        if self.pattern.len() != self.values.len() {
            self.pattern.truncate(self.values.len());
            self.pattern_changed = true;
        }
        if self.pattern_changed {
            self.analysis.analyse(self.size, self.early, &self.pattern);
            self.pattern_changed = false;
        }
        self.matrix.clear();
        self.matrix.resize(self.size + 2 * self.analysis.row_columns.len(), 0.0);
        for (&place, &value) in self.analysis.places.iter().zip(&self.values) {
            self.matrix[place] += value;
        }
    }

    /// Factors the assembled matrix, with the shifts on its diagonal.
    ///
    /// # Errors
    /// [`ProblemError::Pivot`] with the row whose pivot is zero, infinite or not a number.
    pub fn factor(&mut self) -> Result<(), ProblemError> {
        let n = self.size;
        let Analysis { pattern, row_starts, row_columns, .. } = &self.analysis;
        let FactorPattern { order, column_starts, column_rows, .. } = pattern;
        let (diagonal, off_diagonal) = self.matrix.split_at(n);
        let (below, above) = off_diagonal.split_at(row_columns.len());
        // Every place is written below; what they hold before does not matter.
        self.factors.resize(column_rows.len(), [0.0; 2]);
        self.inverse_pivots.resize(n, 0.0);
        self.row_and_column.clear();
        self.row_and_column.resize(n, [0.0; 2]);

        for k in 0..n {
            for entry in row_starts[k]..row_starts[k + 1] {
                self.row_and_column[row_columns[entry]] = [below[entry], above[entry]];
            }
            let mut pivot = diagonal[k] + self.shifts[order[k]];
            for &(i, place) in pattern.row(k) {
                let [row_entry, u] = std::mem::take(&mut self.row_and_column[i]);
                let l = row_entry * self.inverse_pivots[i];
                // The entries of column i of L, and of row i of U, between i and k.
                for (&j, [l_ji, u_ij]) in
                    column_rows[column_starts[i]..place].iter().zip(&self.factors[column_starts[i]..])
                {
                    let [row, column] = &mut self.row_and_column[j];
                    *row -= l * u_ij;
                    *column -= l_ji * u;
                }
                pivot -= l * u;
                self.factors[place] = [l, u];
            }
            if pivot == 0.0 || !pivot.is_finite() {
                return Err(ProblemError::Pivot { row: order[k], pivot });
            }
            self.inverse_pivots[k] = 1.0 / pivot;
        }
        Ok(())
    }

    /// Whether all pivots of the factored matrix are positive: for a symmetric matrix, whether it
    /// is positive definite.
    pub fn has_positive_pivots(&self) -> bool {
        self.inverse_pivots.iter().all(|&inverse| inverse > 0.0)
    }

    /// Replaces `x` by $A^{-1} x$, refined against the matrix without shifts, and returns the
    /// componentwise error $\max_i |b - A x|_i / (|A| |x| + |b|)_i$ that is left (\[OP64\]): some
    /// $10^{-16}$ where all is well.
    ///
    /// `workspace` may be any vector; its memory is used.
    ///
    /// # Panics
    /// When the matrix has not been factored, or `x` has another size.
    pub fn solve(&self, x: &mut [f64], workspace: &mut Vec<f64>) -> f64 {
        let n = self.size;
        assert_eq!(x.len(), n, "a right-hand side of {} entries for a matrix of size {n}", x.len());
        let mut vectors = self.vectors(workspace);
        for (b, &row) in vectors.b.iter_mut().zip(self.order()) {
            *b = x[row];
        }
        let error = self.solve_refined(0..n, &mut vectors);
        for (&value, &row) in vectors.answer.iter().zip(self.order()) {
            x[row] = value;
        }
        error
    }

    /// As [`solve`](Self::solve), for a right-hand side given by its entries, those of the same row
    /// added up: gives each row of the components that they touch, with its unknown, to `visit`.
    /// All other unknowns are zero.
    ///
    /// # Panics
    /// When the matrix has not been factored, or an entry is outside of it.
    pub fn solve_entries(
        &self,
        entries: &[(usize, f64)],
        workspace: &mut Vec<f64>,
        mut visit: impl FnMut(usize, f64),
    ) -> f64 {
        let mut vectors = self.vectors(workspace);
        let mut worst = 0.0f64;
        for (k, &(row, _)) in entries.iter().enumerate() {
            let own = self.component(row);
            if entries[..k].iter().any(|&(earlier, _)| own.contains(&self.position(earlier))) {
                continue; // done with its component
            }
            vectors.b[own.clone()].fill(0.0);
            for &(row, value) in entries {
                if own.contains(&self.position(row)) {
                    vectors.b[self.position(row)] += value;
                }
            }
            let error = self.solve_refined(own.clone(), &mut vectors);
            worst = if error <= worst { worst } else { error };
            own.for_each(|position| visit(self.order()[position], vectors.answer[position]));
        }
        worst
    }

    /// The memory of a solve.
    fn vectors<'a>(&self, workspace: &'a mut Vec<f64>) -> Vectors<'a> {
        let n = self.size;
        assert_eq!(self.inverse_pivots.len(), n, "the matrix must be factored before it solves");
        if workspace.len() < 5 * n {
            workspace.resize(5 * n, 0.0);
        }
        let (b, rest) = workspace.split_at_mut(n);
        let (answer, rest) = rest.split_at_mut(n);
        let (candidate, rest) = rest.split_at_mut(n);
        let (residual, rest) = rest.split_at_mut(n);
        Vectors { b, answer, candidate, residual, sizes: &mut rest[..n] }
    }

    /// Solves and refines at the positions of one or more components; all vectors in the order of
    /// elimination.
    fn solve_refined(&self, positions: Range<usize>, vectors: &mut Vectors<'_>) -> f64 {
        let Vectors { b, answer, candidate, residual, sizes } = vectors;
        answer[positions.clone()].copy_from_slice(&b[positions.clone()]);
        self.solve_at(positions.clone(), answer);
        let mut error = self.componentwise_error(positions.clone(), b, answer, residual, sizes);
        for _ in 0..REFINEMENTS {
            if error <= ROUNDING || error.is_nan() {
                break;
            }
            self.solve_at(positions.clone(), residual);
            positions.clone().for_each(|k| candidate[k] = answer[k] + residual[k]);
            let refined = self.componentwise_error(positions.clone(), b, candidate, residual, sizes);
            if refined.is_nan() || refined >= error {
                break;
            }
            answer[positions.clone()].copy_from_slice(&candidate[positions.clone()]);
            error = refined;
        }
        error
    }

    /// The error of [`solve`](Self::solve) at a point; leaves the residual.
    fn componentwise_error(
        &self,
        positions: Range<usize>,
        b: &[f64],
        x: &[f64],
        residual: &mut [f64],
        sizes: &mut [f64],
    ) -> f64 {
        self.residual_at(positions.clone(), b, x, residual);
        let Analysis { row_starts, row_columns, .. } = &self.analysis;
        let (diagonal, off_diagonal) = self.matrix.split_at(self.size);
        let (below, above) = off_diagonal.split_at(row_columns.len());
        for k in positions.clone() {
            sizes[k] = b[k].abs() + (diagonal[k] * x[k]).abs();
            for entry in row_starts[k]..row_starts[k + 1] {
                let i = row_columns[entry];
                sizes[k] += (below[entry] * x[i]).abs();
                sizes[i] += (above[entry] * x[k]).abs();
            }
        }
        // A maximum that keeps what is not a number.
        let error = |k: usize| if residual[k] == 0.0 { 0.0 } else { residual[k].abs() / sizes[k] };
        positions.map(error).fold(0.0, |worst, own| if own <= worst { worst } else { own })
    }

    /// The positions of the component to which a row belongs: one after another, and not coupled to
    /// any other.
    pub fn component(&self, row: usize) -> Range<usize> {
        let component = self.analysis.component_of[self.position(row)];
        self.analysis.component_starts[component]..self.analysis.component_starts[component + 1]
    }

    /// The position of a row in the order of elimination.
    pub fn position(&self, row: usize) -> usize {
        self.analysis.pattern.position[row]
    }

    /// The rows in the order of elimination.
    pub fn order(&self) -> &[usize] {
        &self.analysis.pattern.order
    }

    /// Solves with the factors, shifts included and nothing refined, at the positions of one or
    /// more components. The vector stands in the order of elimination.
    pub fn solve_at(&self, positions: Range<usize>, x: &mut [f64]) {
        let FactorPattern { column_starts, column_rows, .. } = &self.analysis.pattern;
        for i in positions.clone() {
            let value = x[i];
            if value != 0.0 {
                for place in column_starts[i]..column_starts[i + 1] {
                    x[column_rows[place]] -= self.factors[place][0] * value;
                }
            }
        }
        for i in positions.rev() {
            let mut value = x[i];
            for place in column_starts[i]..column_starts[i + 1] {
                value -= self.factors[place][1] * x[column_rows[place]];
            }
            x[i] = value * self.inverse_pivots[i];
        }
    }

    /// Writes $b - A x$, without shifts, at the positions of one or more components. The vectors
    /// stand in the order of elimination.
    pub fn residual_at(&self, positions: Range<usize>, b: &[f64], x: &[f64], residual: &mut [f64]) {
        let Analysis { row_starts, row_columns, .. } = &self.analysis;
        let (diagonal, off_diagonal) = self.matrix.split_at(self.size);
        let (below, above) = off_diagonal.split_at(row_columns.len());
        for k in positions {
            let mut value = b[k] - diagonal[k] * x[k];
            for entry in row_starts[k]..row_starts[k + 1] {
                let i = row_columns[entry];
                value -= below[entry] * x[i];
                residual[i] -= above[entry] * x[k];
            }
            residual[k] = value;
        }
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The entry of the assembled matrix at a row and a column, without shift.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        self.analysis.place(row, column).map_or(0.0, |place| self.matrix[place])
    }

    /// Visits the entries of the assembled matrix, and zeros where only the opposite entry is
    /// there.
    pub fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let Analysis { row_starts, row_columns, .. } = &self.analysis;
        let order = self.order();
        let (diagonal, off_diagonal) = self.matrix.split_at(self.size);
        let (below, above) = off_diagonal.split_at(row_columns.len());
        for k in 0..self.size {
            visit(order[k], order[k], diagonal[k]);
            for entry in row_starts[k]..row_starts[k + 1] {
                let i = row_columns[entry];
                visit(order[k], order[i], below[entry]);
                visit(order[i], order[k], above[entry]);
            }
        }
    }

    /// Number of entries of $L$ below its diagonal; $U$ has as many above.
    pub fn factor_entry_count(&self) -> usize {
        self.analysis.pattern.column_rows.len()
    }

    /// Multiplications with subsequent addition of one factorisation.
    pub fn operation_count(&self) -> usize {
        let starts = &self.analysis.pattern.column_starts;
        starts.windows(2).map(|ends| ends[1] - ends[0]).map(|count| count * count).sum()
    }

    /// How often a pattern was analysed.
    pub fn analysis_count(&self) -> usize {
        self.analysis.count
    }
}

impl Analysis {
    /// Orders the rows, and finds the pattern of the factors.
    fn analyse(&mut self, size: usize, early: usize, pattern: &[(usize, usize)]) {
        self.count += 1;
        let graph = Graph::new(size, pattern.iter().copied());
        let order = self.order_rows(early, &graph);
        self.pattern = FactorPattern::new(&graph, order);
        self.place_entries(&graph, pattern);
    }

    /// The order of elimination: components one after another, minimum degree inside, late rows
    /// after their early ones.
    fn order_rows(&mut self, early: usize, graph: &Graph) -> Vec<usize> {
        let mut order = graph.minimum_degree();
        let degree_position = positions(&order);

        // Components, numbered by their first row.
        let size = order.len();
        let mut component = vec![usize::MAX; size];
        let (mut component_count, mut stack) = (0, Vec::new());
        for first in 0..size {
            if component[first] == usize::MAX {
                component[first] = component_count;
                stack.push(first);
                while let Some(row) = stack.pop() {
                    for &other in graph.neighbours(row) {
                        if component[other] == usize::MAX {
                            component[other] = component_count;
                            stack.push(other);
                        }
                    }
                }
                component_count += 1;
            }
        }

        let time = |row: usize| {
            let own = degree_position[row];
            let before = graph.neighbours(row).iter().filter(|&&other| row >= early && other < early);
            (before.map(|&other| degree_position[other]).fold(own, usize::max), row >= early, own)
        };
        order.sort_unstable_by_key(|&row| (component[row], time(row)));
        self.component_of = order.iter().map(|&row| component[row]).collect();
        self.component_starts = starts(component_count, component.into_iter());
        order
    }

    /// The pattern below the diagonal in the order of elimination, and the place of every entry.
    fn place_entries(&mut self, graph: &Graph, entries: &[(usize, usize)]) {
        let position = &self.pattern.position;
        self.row_columns.clear();
        self.row_starts.clear();
        self.row_starts.push(0);
        for (k, &row) in self.pattern.order.iter().enumerate() {
            let begin = self.row_columns.len();
            let own = graph.neighbours(row).iter().map(|&other| position[other]);
            self.row_columns.extend(own.filter(|&i| i < k));
            self.row_columns[begin..].sort_unstable();
            self.row_starts.push(self.row_columns.len());
        }
        let places = entries.iter().map(|&(i, j)| self.place(i, j).expect("every entry is part of the pattern"));
        self.places = places.collect();
    }

    /// Place of an entry in the assembled matrix.
    fn place(&self, row: usize, column: usize) -> Option<usize> {
        let FactorPattern { order, position, .. } = &self.pattern;
        let (size, k, i) = (order.len(), position[row], position[column]);
        if k == i {
            return Some(k);
        }
        let (start, end) = (self.row_starts[k.max(i)], self.row_starts[k.max(i) + 1]);
        let place = start + self.row_columns[start..end].binary_search(&k.min(i)).ok()?;
        Some(size + place + if k > i { 0 } else { self.row_columns.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;
    use faer::linalg::solvers::Solve;

    /// SplitMix64, to -1..1.
    struct Random(u64);

    impl Random {
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^ (bits >> 31)
        }
        fn number(&mut self) -> f64 {
            (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
        fn below(&mut self, count: usize) -> usize {
            (self.bits() % count as u64) as usize
        }
    }

    /// Sums of outer products of sparse vectors, plus the identity: symmetric and positive
    /// definite. Then couplings of opposite sign.
    fn definite(size: usize, random: &mut Random) -> Vec<(usize, usize, f64)> {
        let mut entries: Vec<_> = (0..size).map(|i| (i, i, 1.0)).collect();
        for _ in 0..size {
            let places = [0; 3].map(|_| (random.below(size), random.number()));
            for (i, a) in places {
                entries.extend(places.map(|(j, b)| (i, j, a * b)));
            }
            let (i, j, gyroscopic) = (random.below(size), random.below(size), 3.0 * random.number());
            entries.extend([(i, j, gyroscopic), (j, i, -gyroscopic)]);
        }
        entries
    }

    /// A definite matrix with constraint rows and the shift of each.
    fn saddle(early: usize, late: usize, random: &mut Random) -> Vec<(usize, usize, f64)> {
        let mut entries = definite(early, random);
        for row in early..early + late {
            for _ in 0..3 {
                let (column, value) = (random.below(early), random.number());
                entries.extend([(row, column, value), (column, row, -value)]);
            }
        }
        entries
    }

    fn assembled(lu: &mut SparseLu, size: usize, early: usize, shift: f64, entries: &[(usize, usize, f64)]) {
        lu.begin(size, early);
        entries.iter().for_each(|&(i, j, value)| lu.push(i, j, value));
        (early..size).for_each(|row| lu.push_shift(row, shift));
        lu.assemble();
        lu.factor().unwrap();
    }

    fn dense(size: usize, entries: &[(usize, usize, f64)]) -> Mat<f64> {
        let mut matrix = Mat::zeros(size, size);
        entries.iter().for_each(|&(i, j, value)| matrix[(i, j)] += value);
        matrix
    }

    /// Compares with the dense factorisation, to this tolerance relative to the largest unknown.
    fn compare(lu: &SparseLu, entries: &[(usize, usize, f64)], tolerance: f64, random: &mut Random) {
        let size = lu.size();
        let matrix = dense(size, entries);
        let b = Mat::from_fn(size, 1, |_, _| random.number());
        let expected = matrix.partial_piv_lu().solve(&b);
        let mut x: Vec<f64> = (0..size).map(|i| b[(i, 0)]).collect();
        let error = lu.solve(&mut x, &mut Vec::new());
        assert!(error < 1e-14, "componentwise error {error}");
        let largest = (0..size).fold(0.0f64, |largest, i| largest.max(expected[(i, 0)].abs()));
        for i in 0..size {
            assert!((x[i] - expected[(i, 0)]).abs() <= tolerance * largest, "{i}: {} not {}", x[i], expected[(i, 0)]);
            (0..size).for_each(|j| assert!((lu.entry(i, j) - matrix[(i, j)]).abs() < 1e-14, "entry ({i}, {j})"));
        }
    }

    #[test]
    fn definite_matrices_are_solved_as_by_the_dense_factorisation() {
        let mut lu = SparseLu::default();
        for seed in 0..200 {
            let mut random = Random(seed);
            let size = 1 + random.below(40);
            let entries = definite(size, &mut random);
            assembled(&mut lu, size, size, 0.0, &entries);
            // Conditions up to some hundreds.
            compare(&lu, &entries, 1e-12, &mut random);
        }
        assert_eq!(lu.analysis_count(), 200);
    }

    #[test]
    fn saddle_points_are_solved_and_the_shift_is_taken_back() {
        let mut lu = SparseLu::default();
        let mut solved = 0;
        for seed in 0..200 {
            let mut random = Random(1000 + seed);
            let early = 4 + random.below(30);
            let late = 1 + random.below(early / 4);
            let entries = saddle(early, late, &mut random);
            // Constraint rows that depend on each other are not for this test.
            let matrix = dense(early + late, &entries);
            let constraints = matrix.get(early.., ..early);
            let singular_values = constraints.singular_values().unwrap();
            if singular_values[late - 1] < 0.05 {
                continue;
            }
            assembled(&mut lu, early + late, early, 1e-9, &entries);
            // One step of refinement leaves (1e-9 / 0.05²)² of the shift.
            compare(&lu, &entries, 1e-11, &mut random);
            solved += 1;
        }
        assert!(solved > 100, "{solved}");
    }

    #[test]
    fn late_rows_come_after_all_that_they_are_coupled_to() {
        let mut random = Random(5);
        let entries = saddle(30, 12, &mut random);
        let mut lu = SparseLu::default();
        assembled(&mut lu, 42, 30, 1e-9, &entries);
        for &(row, column, _) in entries.iter().filter(|(row, column, _)| *row >= 30 && *column < 30) {
            assert!(lu.position(row) > lu.position(column), "row {row}, column {column}");
        }
        // So no pivot is the shift alone, and the factors stay of the size of the matrix.
        let largest = lu.factors.iter().flatten().fold(0.0f64, |largest, entry| largest.max(entry.abs()));
        assert!(largest < 1e3, "{largest}");
    }

    /// A chain of planar bodies with revolute joints: three coordinates and two rows a link, the
    /// first joint to the ground.
    fn chain(links: usize, springs: bool) -> SparseLu {
        let mut lu = SparseLu::default();
        let early = 3 * links;
        lu.begin(5 * links, early);
        for link in 0..links {
            [1.0, 1.0, 0.1].into_iter().enumerate().for_each(|(i, mass)| lu.push(3 * link + i, 3 * link + i, mass));
            if springs && link > 0 {
                for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (3 * link + i, 3 * (link - 1) + j))) {
                    lu.push(i, j, 0.01);
                    lu.push(j, i, 0.01);
                }
            }
            for row in 0..2 {
                let own = [(3 * link + row, 1.0), (3 * link + 2, 0.3 + row as f64)];
                let other = [(3 * link + row, -1.0), (3 * link + 2, 0.7 - row as f64)];
                let other = other.map(|(column, value)| (column.wrapping_sub(3), value));
                for (column, value) in own.into_iter().chain(other).filter(|&(column, _)| column < early) {
                    lu.push(early + 2 * link + row, column, value);
                    lu.push(column, early + 2 * link + row, -value);
                }
                lu.push_shift(early + 2 * link + row, 1e-9);
            }
        }
        lu.assemble();
        lu.factor().unwrap();
        lu
    }

    #[test]
    fn chains_have_factors_that_grow_with_their_length_only() {
        for springs in [false, true] {
            let counts = [10, 100, 1000].map(|links| chain(links, springs).factor_entry_count());
            let operations = [10, 100, 1000].map(|links| chain(links, springs).operation_count());
            let limit = if springs { 60 } else { 20 };
            for (k, links) in [10, 100, 1000].into_iter().enumerate() {
                assert!(counts[k] <= limit * links, "{links} links, springs {springs}: {counts:?}");
            }
            assert!(operations[2] <= 11 * operations[1], "springs {springs}: {operations:?}");
        }
    }

    #[test]
    fn the_analysis_is_kept_while_the_pattern_stays() {
        let mut random = Random(11);
        let mut entries = saddle(20, 5, &mut random);
        let mut lu = SparseLu::default();
        for repetition in 0..3 {
            entries.iter_mut().filter(|(i, j, _)| i == j).for_each(|(_, _, value)| *value += 0.1 * repetition as f64);
            assembled(&mut lu, 25, 20, 1e-9, &entries);
            compare(&lu, &entries, 1e-10, &mut random);
        }
        assert_eq!(lu.analysis_count(), 1);
        // One entry less, then one more in another place.
        let last = entries.pop().unwrap();
        assembled(&mut lu, 25, 20, 1e-9, &entries);
        assert_eq!(lu.analysis_count(), 2);
        entries.push((last.1, last.0, last.2));
        assembled(&mut lu, 25, 20, 1e-9, &entries);
        compare(&lu, &entries, 1e-10, &mut random);
        assert_eq!(lu.analysis_count(), 3);
    }

    #[test]
    fn components_are_solved_alone() {
        // Two blocks with their rows interleaved, and a row of its own.
        let entries =
            [(0, 0, 2.0), (0, 3, 1.0), (3, 0, 1.0), (3, 3, 4.0), (1, 1, 3.0), (4, 1, -1.0), (4, 4, 5.0), (2, 2, 7.0)];
        let mut lu = SparseLu::default();
        assembled(&mut lu, 5, 5, 0.0, &entries);
        let own = lu.component(4);
        assert_eq!((own.len(), own.clone()), (2, lu.component(1)));
        assert_eq!(lu.component(2).len(), 1);
        let mut x = [f64::NAN; 5];
        own.clone().for_each(|position| x[position] = 0.0);
        x[lu.position(1)] = 6.0;
        lu.solve_at(own, &mut x);
        assert_eq!((x[lu.position(1)], x[lu.position(4)]), (2.0, 0.4));
        assert!(x[lu.position(0)].is_nan());
    }

    #[test]
    fn a_pivot_that_is_zero_or_no_number_names_its_row() {
        let mut lu = SparseLu::default();
        let entries = [(0, 0, 1.0), (1, 1, 2.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 2.0)];
        lu.begin(3, 3);
        entries.iter().for_each(|&(i, j, value)| lu.push(i, j, value));
        lu.assemble();
        assert!(matches!(lu.factor(), Err(ProblemError::Pivot { row: 1 | 2, pivot: 0.0 })));
        lu.begin(3, 3);
        entries
            .iter()
            .for_each(|&(i, j, value)| lu.push(i, j, if i == 0 { f64::NAN } else { value + f64::from(i == j) }));
        lu.assemble();
        let error = lu.factor().unwrap_err();
        assert!(error.to_string().contains("row 0 of the sparse matrix has the pivot NaN"), "{error}");
    }

    #[test]
    fn the_empty_matrix_is_no_special_case() {
        let mut lu = SparseLu::default();
        lu.begin(0, 0);
        lu.assemble();
        lu.factor().unwrap();
        assert_eq!(lu.solve(&mut [], &mut Vec::new()), 0.0);
    }
}

//! The linear complementarity problem $0 \le z \perp M z + q \ge 0$, checked when it is made, with
//! its scale.

use std::f64::consts::SQRT_2;

use faer::{Mat, MatRef};

use crate::active_inverse::{LANES, add_multiple};
use crate::residual::lcp_residual;
use crate::{Lemke, LemkeProblem, LemkeSettings, ProblemError, SolveReport};

const MATRIX: &str = "the matrix of the LCP";
const OFFSET: &str = "the offset of the LCP";

/// Passes of the row and column equilibration, at most; each roughly takes the root of the spread
/// of the entries.
const EQUILIBRATION_PASSES: usize = 4;

/// Rows and columns whose largest entries are within this factor of one need no further pass.
const BALANCED: f64 = 4.0;

/// A linear complementarity problem. One that exists is well formed: square, of matching sizes, and
/// finite.
#[derive(Clone, Debug, Default)]
pub struct Lcp {
    /// The matrix, column after column.
    entries: Vec<f64>,
    offset: Vec<f64>,
    scaling: Scaling,
    /// Largest entries of rows and columns, while the scale is found.
    workspace: Vec<f64>,
}

/// The scale in which a problem is solved and judged: $\tilde w_i = r_i w_i / s$ and
/// $z_i = c_i s \tilde z_i$.
///
/// Positive factors change neither the solutions nor the complementarity. The factors $r$, $c$
/// bring the largest entry of every row and column of $M$ to about one; $s$ brings the most
/// negative entry of $q$ to one. All are powers of two, so that scaling is free of rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Row factors $r$.
    pub rows: Vec<f64>,
    /// Column factors $c$.
    pub columns: Vec<f64>,
    /// Common factor $s$ of the offset and the unknowns; one where the offset has no negative
    /// entry.
    pub offset: f64,
}

impl Default for Scaling {
    /// The scale of the empty problem.
    fn default() -> Self {
        Self { rows: Vec::new(), columns: Vec::new(), offset: 1.0 }
    }
}

/// A point and how well it solves the problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LcpSolution {
    /// The unknowns.
    pub z: Vec<f64>,
    /// The slack $w = M z + q$, recomputed from the original data.
    pub w: Vec<f64>,
    /// Status, residual, pivots.
    pub report: SolveReport,
    /// Where it was proved in this way that there is no solution, a vector that
    /// [`proves_no_solution`](crate::residual::proves_no_solution); empty otherwise.
    pub certificate: Vec<f64>,
}

impl Lcp {
    /// States the problem.
    ///
    /// # Errors
    /// [`ProblemError`] when the matrix is not square, the offset has another length, or an entry
    /// is not finite.
    pub fn new(matrix: Mat<f64>, offset: Vec<f64>) -> Result<Self, ProblemError> {
        let n = offset.len();
        check_size(MATRIX, matrix.as_ref(), n, n)?;
        let mut entries = Vec::with_capacity(n * n);
        (0..n).for_each(|j| entries.extend_from_slice(matrix.col_as_slice(j)));
        Self::from_columns(entries, offset)
    }

    /// States the problem with the entries of the matrix column after column.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_columns(entries: Vec<f64>, offset: Vec<f64>) -> Result<Self, ProblemError> {
        let mut lcp = Self::default();
        lcp.state(entries, offset)?;
        Ok(lcp)
    }

    /// States another problem in the memory of this one, with the entries of the matrix column
    /// after column; see [`take_data`](Self::take_data).
    ///
    /// # Errors
    /// As for [`new`](Self::new); this problem then stays what it was.
    pub fn state(&mut self, entries: Vec<f64>, offset: Vec<f64>) -> Result<(), ProblemError> {
        let n = offset.len();
        if entries.len() != n * n {
            let (found, expected) = (format!("{} entries", entries.len()), format!("{n} x {n}"));
            return Err(ProblemError::Size { what: MATRIX, found, expected });
        }
        if let Some(place) = first_not_finite(&entries) {
            let (row, column, value) = (place % n, place / n, entries[place]);
            return Err(ProblemError::NotFinite { what: MATRIX, row, column, value });
        }
        check_finite_vector(OFFSET, &offset)?;
        (self.entries, self.offset) = (entries, offset);
        let Self { entries, offset, scaling, workspace } = self;
        scaling.equilibrate(entries, n, workspace);
        scaling.measure_offset(offset);
        Ok(())
    }

    /// The entries of the matrix, column after column, and the offset: memory to be filled anew and
    /// stated again. The empty problem is left.
    pub fn take_data(&mut self) -> (Vec<f64>, Vec<f64>) {
        self.scaling.rows.clear();
        self.scaling.columns.clear();
        (std::mem::take(&mut self.entries), std::mem::take(&mut self.offset))
    }

    /// Gives the problem another offset.
    ///
    /// # Errors
    /// [`ProblemError`] when it has another length or an entry is not finite; this problem then
    /// stays what it was.
    pub fn set_offset(&mut self, offset: &[f64]) -> Result<(), ProblemError> {
        let n = self.size();
        if offset.len() != n {
            let (found, expected) = (format!("{} entries", offset.len()), format!("{n} entries"));
            return Err(ProblemError::Size { what: OFFSET, found, expected });
        }
        check_finite_vector(OFFSET, offset)?;
        self.offset.copy_from_slice(offset);
        self.scaling.measure_offset(&self.offset);
        Ok(())
    }

    /// Number of unknowns.
    pub fn size(&self) -> usize {
        self.offset.len()
    }

    /// The matrix $M$.
    pub fn matrix(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.entries, self.size(), self.size())
    }

    /// Column `j` of the matrix.
    #[inline(always)]
    pub fn column(&self, j: usize) -> &[f64] {
        let n = self.offset.len();
        &self.entries[j * n..(j + 1) * n]
    }

    /// The offset $q$.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// The scale of the problem.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// The same problem with its unknowns in another order: unknown `i` of the new problem is
    /// unknown `order[i]` of this one.
    ///
    /// # Panics
    /// When `order` is not a permutation of `0..size`.
    pub fn permuted(&self, order: &[usize]) -> Self {
        let n = self.size();
        let mut seen = vec![false; n];
        assert_eq!(order.len(), n, "a permutation of {n} unknowns is needed");
        for &i in order {
            assert!(!std::mem::replace(&mut seen[i], true), "unknown {i} stands twice in the order");
        }
        Self {
            entries: order.iter().flat_map(|&j| order.iter().map(move |&i| self.column(j)[i])).collect(),
            offset: order.iter().map(|&i| self.offset[i]).collect(),
            scaling: Scaling {
                rows: order.iter().map(|&i| self.scaling.rows[i]).collect(),
                columns: order.iter().map(|&i| self.scaling.columns[i]).collect(),
                offset: self.scaling.offset,
            },
            workspace: Vec::new(),
        }
    }

    /// Solves by Lemke's method from a cold start, and by enumeration where that fails and the
    /// problem is small. Those who solve many problems keep a [`Lemke`] instead.
    pub fn solve(&self, settings: &LemkeSettings) -> LcpSolution {
        let mut solution = LcpSolution::default();
        Lemke::default().solve_or_enumerate(self, settings, &[], &mut solution);
        solution
    }

    /// Residual of `z` in the problem's scale, see [`crate::residual`].
    pub fn residual(&self, z: &[f64]) -> f64 {
        lcp_residual(self, z, &mut Vec::new())
    }
}

impl LemkeProblem for Lcp {
    #[inline(always)]
    fn unknown_count(&self) -> usize {
        self.offset.len()
    }

    #[inline(always)]
    fn scaled_offset(&self, i: usize) -> f64 {
        self.offset[i] * self.scaling.rows[i] / self.scaling.offset
    }

    #[inline(always)]
    fn scaled_entry(&self, i: usize, j: usize) -> f64 {
        self.entries[j * self.offset.len() + i] * self.scaling.rows[i] * self.scaling.columns[j]
    }

    #[inline(always)]
    fn scaled_product(
        &self,
        columns: &[usize],
        weights: &[f64],
        extra: Option<usize>,
        _workspace: &mut Vec<f64>,
        out: &mut [f64],
    ) {
        out.fill(0.0);
        let extra = extra.map(|column| (column, 1.0));
        for (j, weight) in columns.iter().copied().zip(weights.iter().copied()).chain(extra) {
            if weight != 0.0 && j < out.len() {
                add_multiple(out, weight * self.scaling.columns[j], self.column(j));
            }
        }
        out.iter_mut().zip(&self.scaling.rows).for_each(|(value, factor)| *value *= factor);
    }

    fn unknown_scale(&self, i: usize) -> f64 {
        self.scaling.columns[i] * self.scaling.offset
    }

    fn slack_scale(&self, i: usize) -> f64 {
        self.scaling.rows[i] / self.scaling.offset
    }

    fn judge(&self, z: &[f64], w: &mut Vec<f64>) -> f64 {
        lcp_residual(self, z, w)
    }

    fn to_lcp(&self) -> Result<Lcp, ProblemError> {
        Ok(self.clone())
    }
}

impl Scaling {
    /// Equilibrates $|M|$ by rows and columns.
    fn equilibrate(&mut self, entries: &[f64], n: usize, workspace: &mut Vec<f64>) {
        let Self { rows, columns, .. } = self;
        // Unknowns without an entry on the diagonal, as slips are, have the unit of the rates of
        // the others. With the mean of the diagonal made one, the passes begin at the same numbers
        // in any units of impulses and rates.
        let diagonal = |i: usize| entries[i * n + i].abs();
        let (sum, count) =
            (0..n).map(diagonal).filter(|&x| x > 0.0).fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
        let unit = if sum > 0.0 && f64::is_finite(sum) { nearest_power_of_two(sum / count) } else { 1.0 };
        rows.clear();
        rows.extend((0..n).map(|i| if diagonal(i) > 0.0 { 1.0 } else { unit }));
        columns.clear();
        columns.extend((0..n).map(|i| if diagonal(i) > 0.0 { 1.0 / unit } else { 1.0 }));
        workspace.clear();
        workspace.resize(2 * n, 0.0);
        let (row_largest, column_largest) = workspace.split_at_mut(n);
        for _ in 0..EQUILIBRATION_PASSES {
            row_largest.fill(0.0);
            for (j, column) in entries.chunks_exact(n.max(1)).enumerate() {
                let factor = columns[j];
                let mut largest = [0.0f64; LANES];
                let (chunks, rest) = column.as_chunks::<LANES>();
                let (row_chunks, row_rest) = rows.as_chunks::<LANES>();
                let (largest_chunks, largest_rest) = row_largest.as_chunks_mut::<LANES>();
                for ((entries, rows), row_largest) in chunks.iter().zip(row_chunks).zip(largest_chunks) {
                    // Three loops and not one: so the compiler sees that the lanes do not touch
                    // each other.
                    let mut sizes = [0.0f64; LANES];
                    (0..LANES).for_each(|lane| sizes[lane] = (entries[lane] * rows[lane] * factor).abs());
                    *row_largest = larger(row_largest, &sizes);
                    largest = larger(&largest, &sizes);
                }
                for (lane, ((entry, row), row_largest)) in rest.iter().zip(row_rest).zip(largest_rest).enumerate() {
                    let size = (entry * row * factor).abs();
                    *row_largest = row_largest.max(size);
                    largest[lane] = largest[lane].max(size);
                }
                column_largest[j] = largest.iter().fold(0.0, |a, &b| if b > a { b } else { a });
            }
            let mut is_balanced = true;
            for (factors, largest) in [(&mut *rows, &*row_largest), (&mut *columns, &*column_largest)] {
                for (factor, &largest) in factors.iter_mut().zip(largest) {
                    // An empty row or column keeps its factor.
                    if largest > 0.0 {
                        *factor /= largest.sqrt();
                        is_balanced &= (1.0 / BALANCED..BALANCED).contains(&largest);
                    }
                }
            }
            if is_balanced {
                break;
            }
        }
        rows.iter_mut().chain(columns).for_each(|factor| *factor = nearest_power_of_two(*factor));
    }

    /// Measures the offset with the row factors.
    fn measure_offset(&mut self, offset: &[f64]) {
        let most_negative = offset.iter().zip(&self.rows).fold(0.0f64, |worst, (q, row)| worst.max(-q * row));
        self.offset = if most_negative > 0.0 { nearest_power_of_two(most_negative) } else { 1.0 };
    }
}

/// The larger of two numbers, lane by lane.
#[inline(always)]
fn larger(a: &[f64; LANES], b: &[f64; LANES]) -> [f64; LANES] {
    std::array::from_fn(|lane| if b[lane] > a[lane] { b[lane] } else { a[lane] })
}

/// The power of two nearest to a positive number, on the logarithmic scale; subnormal and huge
/// values are held back so that the factor and its inverse stay finite.
#[inline]
pub(crate) fn nearest_power_of_two(value: f64) -> f64 {
    const EXPONENT: u32 = f64::MANTISSA_DIGITS - 1;
    const BIAS: u64 = f64::MAX_EXP as u64 - 1;
    // What the fraction of √2 lacks to two, added to the bits, carries into the exponent from √2
    // times a power of two on.
    const LACK: u64 = (1 << EXPONENT) - (SQRT_2.to_bits() - (BIAS << EXPONENT));
    let exponent = (value.to_bits() + LACK) >> EXPONENT;
    f64::from_bits(exponent.clamp(BIAS - 500, BIAS + 500) << EXPONENT)
}

/// A power of two within a factor of two of the root of a positive number, from its exponent alone;
/// one where there is none. Four times the number has exactly twice the root.
pub(crate) fn root_power_of_two(value: f64) -> f64 {
    if !value.is_normal() {
        return 1.0;
    }
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    f64::from_bits((((exponent >> 1) + 1023) as u64) << 52)
}

/// Checks the shape of a matrix.
pub(crate) fn check_size(
    what: &'static str,
    matrix: MatRef<'_, f64>,
    rows: usize,
    columns: usize,
) -> Result<(), ProblemError> {
    if matrix.nrows() == rows && matrix.ncols() == columns {
        return Ok(());
    }
    Err(ProblemError::Size {
        what,
        found: format!("{} x {}", matrix.nrows(), matrix.ncols()),
        expected: format!("{rows} x {columns}"),
    })
}

/// Place of the first entry that is infinite or not a number.
pub(crate) fn first_not_finite(entries: &[f64]) -> Option<usize> {
    // Zero times a number is zero, unless it is infinite or none: one sum, which the compiler can
    // spread, tells whether to search.
    let mut sums = [0.0f64; LANES];
    let chunks = entries.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|entry| entry * 0.0).sum();
    chunks.for_each(|chunk| (0..LANES).for_each(|lane| sums[lane] += chunk[lane] * 0.0));
    if sums.iter().sum::<f64>() + rest == 0.0 {
        return None;
    }
    entries.iter().position(|entry| !entry.is_finite())
}

/// Checks that every entry of a vector is finite.
pub(crate) fn check_finite_vector(what: &'static str, vector: &[f64]) -> Result<(), ProblemError> {
    match vector.iter().position(|value| !value.is_finite()) {
        Some(row) => Err(ProblemError::NotFinite { what, row, column: 0, value: vector[row] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SolveStatus;
    use faer::mat;

    #[test]
    fn the_nearest_power_of_two_is_that_of_the_logarithm() {
        for (value, nearest) in
            [(1.0, 1.0), (1.4, 1.0), (1.5, 2.0), (3.0, 4.0), (0.7, 0.5), (0.71, 1.0), (2.9e9, 2f64.powi(31))]
        {
            assert_eq!(nearest_power_of_two(value), nearest, "{value}");
        }
        // Held back at both ends.
        for value in [0.0, 5e-324, 1e-310] {
            assert_eq!(nearest_power_of_two(value), 2f64.powi(-500), "{value}");
        }
        assert_eq!(nearest_power_of_two(1e308), 2f64.powi(500));
    }

    #[test]
    fn a_malformed_problem_is_refused_with_the_value_that_is_wrong() {
        let error = Lcp::new(mat![[1.0, 2.0]], vec![1.0]).unwrap_err();
        assert_eq!(error.to_string(), "the matrix of the LCP has size 1 x 2, but 1 x 1 is needed");
        let error = Lcp::new(mat![[1.0, f64::NAN], [0.0, 1.0]], vec![1.0, 2.0]).unwrap_err();
        assert!(error.to_string().contains("entry (0, 1) is NaN"), "{error}");
        let error = Lcp::new(mat![[1.0]], vec![f64::INFINITY]).unwrap_err();
        assert!(error.to_string().contains("entry (0, 0) is inf"), "{error}");
    }

    #[test]
    fn scaling_brings_rows_and_columns_near_one() {
        let lcp = Lcp::new(mat![[1e8, 3e-3], [2e-3, 5e-12]], vec![-7e5, 2.0]).unwrap();
        let Scaling { rows, columns, offset } = lcp.scaling();
        for i in 0..2 {
            let largest = (0..2).map(|j| (lcp.matrix()[(i, j)] * rows[i] * columns[j]).abs()).fold(0.0, f64::max);
            assert!((0.2..5.0).contains(&largest), "row {i}: {largest}");
        }
        assert!((0.4..2.5).contains(&(7e5 * rows[0] / offset)));
        assert!(rows.iter().chain(columns).all(|factor| factor.log2().fract() == 0.0), "powers of two");
    }

    #[test]
    fn a_problem_stated_in_the_memory_of_another_is_the_same_problem() {
        let mut lcp = Lcp::new(mat![[1e8, 3e-3], [2e-3, 5e-12]], vec![-7e5, 2.0]).unwrap();
        let other = Lcp::new(mat![[4.0]], vec![-1.0]).unwrap();
        let (mut entries, mut offset) = lcp.take_data();
        assert_eq!(lcp.size(), 0);
        entries.clear();
        offset.clear();
        entries.push(4.0);
        offset.push(-1.0);
        lcp.state(entries, offset).unwrap();
        assert_eq!((lcp.matrix(), lcp.offset(), lcp.scaling()), (other.matrix(), other.offset(), other.scaling()));
        // Another offset is another scale; what cannot be stated changes nothing.
        lcp.set_offset(&[-32.0]).unwrap();
        assert_eq!(lcp.scaling(), Lcp::new(mat![[4.0]], vec![-32.0]).unwrap().scaling());
        assert!(lcp.set_offset(&[f64::NAN]).unwrap_err().to_string().contains("entry (0, 0) is NaN"));
        assert!(lcp.set_offset(&[1.0, 2.0]).unwrap_err().to_string().contains("has size 2 entries, but 1 entries"));
        assert_eq!(lcp.offset(), [-32.0]);
        assert_eq!(lcp.solve(&LemkeSettings::default()).z, [8.0]);
    }

    #[test]
    fn no_solution_is_said_only_with_a_proof() {
        let settings = LemkeSettings::default();
        // w = -z - 1 < 0 for every z: both bases are tried.
        let none = Lcp::new(mat![[-1.0]], vec![-1.0]).unwrap();
        assert_eq!(none.solve(&settings).report.status, SolveStatus::NoSolution);
        // w = (z1 + z2 - 1, -z1 - z2 + 1/2) has none either, but its full block is singular and
        // contradicts itself.
        let singular = Lcp::new(mat![[1.0, 1.0], [-1.0, -1.0]], vec![-1.0, 0.5]).unwrap();
        assert!(!singular.solve(&settings).report.is_solved());
    }

    #[test]
    fn permuting_the_unknowns_permutes_the_solution() {
        let lcp = Lcp::new(mat![[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 2.0]], vec![-1.0, 2.0, -3.0]).unwrap();
        let order = [2, 0, 1];
        let plain = lcp.solve(&LemkeSettings::default());
        let permuted = lcp.permuted(&order).solve(&LemkeSettings::default());
        for i in 0..3 {
            assert!((permuted.z[i] - plain.z[order[i]]).abs() < 1e-15);
        }
    }
}

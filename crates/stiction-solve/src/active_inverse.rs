//! The inverse of the active block of a basis, kept up to date through exchanges of rows and
//! columns.
//!
//! Lemke's revised method needs of its basis only the square block $K = N_{RC}$: the rows $R$ whose
//! slack is zero, the columns $C$ whose unknown is not. A pivot adds a row and a column to it,
//! removes them, or replaces one or the other; the inverse follows by a change of rank one.

/// Entries are computed in groups of this many, so that loops have no remainder. Unused entries are
/// zero.
pub(crate) const LANES: usize = 8;

/// A pivot of the factorisation below this, relative to the largest entry of the block, makes the
/// block singular. Too large: stiff but usable bases are refused at a warm start or a refresh. Too
/// small: the inverse is noise.
const SINGULAR_PIVOT: f64 = 1e-13;

/// $K^{-1}$, whose rows belong to the columns of $K$ and whose columns to its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveInverse {
    size: usize,
    /// Distance between columns, a multiple of [`LANES`].
    stride: usize,
    /// Column after column.
    entries: Vec<f64>,
    /// Row exchanges of the factorisation.
    exchanges: Vec<usize>,
}

/// The number of entries that loops over `size` run through.
#[inline(always)]
pub(crate) fn padded(size: usize) -> usize {
    size.next_multiple_of(LANES)
}

impl ActiveInverse {
    /// The inverse of the empty block, with memory for some size.
    pub fn reset(&mut self, expected: usize) {
        self.size = 0;
        if self.stride < padded(expected.max(1)) {
            self.stride = padded(expected.max(1));
            self.entries.clear();
            self.entries.resize(self.stride * self.stride, 0.0);
        }
    }

    /// Order of the block.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The column that belongs to row `r` of the block, padded.
    #[inline(always)]
    pub fn column(&self, r: usize) -> &[f64] {
        &self.entries[r * self.stride..r * self.stride + padded(self.size)]
    }

    #[inline(always)]
    fn column_mut(&mut self, r: usize) -> &mut [f64] {
        let length = padded(self.size);
        &mut self.entries[r * self.stride..r * self.stride + length]
    }

    /// Entry in row `c`, column `r`.
    #[inline(always)]
    pub fn entry(&self, c: usize, r: usize) -> f64 {
        self.entries[r * self.stride + c]
    }

    /// `out` $= K^{-1}$ `right`, padded.
    #[inline(always)]
    pub fn apply(&self, right: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.resize(padded(self.size), 0.0);
        for (r, &value) in right[..self.size].iter().enumerate() {
            if value != 0.0 {
                add_multiple(out, value, self.column(r));
            }
        }
    }

    /// `out` = `left` $K^{-1}$. The left side is padded.
    #[inline(always)]
    pub fn apply_from_left(&self, left: &[f64], out: &mut Vec<f64>) {
        out.resize(self.size, 0.0);
        for r in 0..self.size {
            out[r] = dot(left, self.column(r));
        }
    }

    /// A row and a column join the block at its end. With the new column $u$, the new row $v$ and
    /// the corner entry $k$ of the block: `step` is $-K^{-1} u$, `left` is $v K^{-1}$, and `corner`
    /// is $k - v K^{-1} u$.
    #[inline(always)]
    pub fn append(&mut self, step: &[f64], left: &[f64], corner: f64) {
        let old = self.size;
        self.size += 1;
        if self.size > self.stride {
            self.widen();
        }
        let inverse = 1.0 / corner;
        for r in 0..old {
            let factor = -left[r] * inverse;
            let column = self.column_mut(r);
            add_multiple(column, factor, step);
            column[old..].fill(0.0); // a group of lanes that is new may hold what an earlier block has left
            column[old] = factor;
        }
        let column = self.column_mut(old);
        column.fill(0.0);
        add_multiple(column, inverse, step);
        column[old] = inverse;
    }

    /// Column `c` of the block is replaced; `step` is $-K^{-1} u$ for the new column $u$.
    #[inline(always)]
    pub fn replace_column(&mut self, c: usize, step: &[f64]) {
        let inverse = 1.0 / step[c];
        for r in 0..self.size {
            let column = self.column_mut(r);
            let factor = -column[c] * inverse;
            if factor != 0.0 {
                add_multiple(column, factor, step);
                column[c] = factor;
            }
        }
    }

    /// Row `r` of the block is replaced; `left` is $v K^{-1}$ for the new row $v$.
    #[inline(always)]
    pub fn replace_row(&mut self, r: usize, left: &[f64], pivot_column: &mut Vec<f64>) {
        let inverse = 1.0 / left[r];
        pivot_column.clear();
        pivot_column.extend_from_slice(self.column(r));
        pivot_column.iter_mut().for_each(|entry| *entry *= inverse);
        for j in 0..self.size {
            if j == r {
                self.column_mut(j).copy_from_slice(pivot_column);
            } else if left[j] != 0.0 {
                add_multiple(self.column_mut(j), -left[j], pivot_column);
            }
        }
    }

    /// Column `c` and row `r` leave the block; the last column and row take their places.
    #[inline(always)]
    pub fn remove(&mut self, c: usize, r: usize, pivot_column: &mut Vec<f64>) {
        let inverse = 1.0 / self.entry(c, r);
        pivot_column.clear();
        pivot_column.extend_from_slice(self.column(r));
        let last = self.size - 1;
        for j in 0..self.size {
            if j != r {
                let column = self.column_mut(j);
                let factor = -column[c] * inverse;
                add_multiple(column, factor, pivot_column);
                column[c] = column[last];
                column[last] = 0.0;
            }
        }
        if r != last {
            self.entries.copy_within(last * self.stride..last * self.stride + padded(self.size), r * self.stride);
        }
        let length = padded(self.size);
        self.entries[last * self.stride..last * self.stride + length].fill(0.0);
        self.size = last;
    }

    /// Inverts a block anew, its columns written one after another by `fill(c, column)`; false
    /// where the block is singular.
    ///
    /// In place by Gauss and Jordan with row exchanges: one pass per pivot through all columns,
    /// which are contiguous.
    #[inline(always)]
    pub fn invert(&mut self, size: usize, mut fill: impl FnMut(usize, &mut [f64])) -> bool {
        self.reset(size);
        self.size = size;
        let mut largest = 0.0f64;
        for c in 0..size {
            let column = self.column_mut(c);
            fill(c, &mut column[..size]);
            column[size..].fill(0.0);
            largest =
                column.iter().fold(largest, |largest, entry| if entry.abs() > largest { entry.abs() } else { largest });
        }
        self.exchanges.clear();
        let stride = self.stride;
        let length = padded(size);
        for k in 0..size {
            let column = self.column(k);
            let mut pivot_row = k;
            for i in k + 1..size {
                if column[i].abs() > column[pivot_row].abs() {
                    pivot_row = i;
                }
            }
            let pivot = column[pivot_row];
            if !(pivot.abs() > SINGULAR_PIVOT * largest && pivot.is_finite()) {
                return false;
            }
            self.exchanges.push(pivot_row);
            if pivot_row != k {
                for j in 0..size {
                    self.entries.swap(j * stride + k, j * stride + pivot_row);
                }
            }
            let inverse = 1.0 / pivot;
            let (before, rest) = self.entries.split_at_mut(k * stride);
            let (pivot_column, after) = rest.split_at_mut(stride);
            let pivot_column = &mut pivot_column[..length];
            for column in before.chunks_exact_mut(stride).chain(after.chunks_exact_mut(stride).take(size - 1 - k)) {
                let factor = column[k] * inverse;
                if factor != 0.0 {
                    add_multiple(&mut column[..length], -factor, pivot_column);
                    column[k] = factor;
                }
            }
            pivot_column.iter_mut().for_each(|entry| *entry *= -inverse);
            pivot_column[k] = inverse;
        }
        // Row exchanges of the block are column exchanges of its inverse, in the opposite order.
        for k in (0..size).rev() {
            let other = self.exchanges[k];
            if other != k {
                let (left, right) = self.entries.split_at_mut(other * stride);
                left[k * stride..k * stride + length].swap_with_slice(&mut right[..length]);
            }
        }
        true
    }

    /// Doubles the memory.
    #[cold]
    fn widen(&mut self) {
        let (old, new) = (self.stride, padded(2 * self.stride.max(LANES)));
        let mut entries = vec![0.0; new * new];
        for r in 0..self.size - 1 {
            entries[r * new..r * new + old].copy_from_slice(&self.entries[r * old..(r + 1) * old]);
        }
        (self.stride, self.entries) = (new, entries);
    }
}

/// `target += factor * vector`.
#[inline(always)]
pub(crate) fn add_multiple(target: &mut [f64], factor: f64, vector: &[f64]) {
    for (target, entry) in target.iter_mut().zip(vector) {
        *target += factor * entry;
    }
}

/// The product of two padded vectors, summed in [`LANES`] parts whatever the processor, so that
/// rounding is the same everywhere.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regular matrix of some size, by its entries.
    fn entry(i: usize, j: usize) -> f64 {
        let x = (((i + 1) * 127 + (j + 1) * (j + i) * 311) % 1009) as f64;
        (x * x / 89.0).fract() - 0.5
    }

    /// The largest entry of K⁻¹ K - 1 for the block with these rows and columns.
    fn defect(inverse: &ActiveInverse, rows: &[usize], columns: &[usize]) -> f64 {
        let n = rows.len();
        assert_eq!(inverse.size(), n);
        let mut worst = 0.0f64;
        for c in 0..n {
            for d in 0..n {
                let product: f64 = (0..n).map(|r| inverse.entry(c, r) * entry(rows[r], columns[d])).sum();
                worst = worst.max((product - f64::from(c == d)).abs());
            }
        }
        worst
    }

    fn inverted(rows: &[usize], columns: &[usize]) -> ActiveInverse {
        let mut inverse = ActiveInverse::default();
        let fill = |c: usize, column: &mut [f64]| {
            column.iter_mut().zip(rows).for_each(|(value, &row)| *value = entry(row, columns[c]));
        };
        assert!(inverse.invert(rows.len(), fill));
        inverse
    }

    /// -K⁻¹ u for a new column, and v K⁻¹ for a new row.
    fn step_and_left(
        inverse: &ActiveInverse,
        rows: &[usize],
        columns: &[usize],
        row: usize,
        column: usize,
    ) -> [Vec<f64>; 2] {
        let u: Vec<f64> = rows.iter().map(|&r| -entry(r, column)).collect();
        let mut v: Vec<f64> = columns.iter().map(|&c| entry(row, c)).collect();
        v.resize(padded(v.len()), 0.0);
        let (mut step, mut left) = (Vec::new(), Vec::new());
        inverse.apply(&u, &mut step);
        inverse.apply_from_left(&v, &mut left);
        [step, left]
    }

    #[test]
    fn a_block_is_inverted_with_row_exchanges() {
        for n in [1, 2, 7, 8, 9, 30] {
            let rows: Vec<usize> = (0..n).rev().collect();
            let columns: Vec<usize> = (0..n).collect();
            assert!(defect(&inverted(&rows, &columns), &rows, &columns) < 1e-10, "order {n}");
        }
        let mut inverse = ActiveInverse::default();
        assert!(!inverse.invert(2, |_, column| column.copy_from_slice(&[1.0, 2.0])), "equal columns are singular");
    }

    #[test]
    fn every_exchange_keeps_the_inverse() {
        let (mut rows, mut columns): (Vec<usize>, Vec<usize>) = ((0..7).collect(), (3..10).collect());
        let mut inverse = inverted(&rows, &columns);
        let mut spare = Vec::new();
        // Grow beyond the memory that seven need, from 7 to 12.
        for k in 0..5 {
            let (row, column) = (20 + k, 30 + 2 * k);
            let [step, left] = step_and_left(&inverse, &rows, &columns, row, column);
            let corner =
                entry(row, column) + columns.iter().zip(&step).map(|(&c, step)| entry(row, c) * step).sum::<f64>();
            inverse.append(&step, &left, corner);
            rows.push(row);
            columns.push(column);
            assert!(defect(&inverse, &rows, &columns) < 1e-9, "after growing to {}", rows.len());
        }
        let [step, _] = step_and_left(&inverse, &rows, &columns, 0, 50);
        inverse.replace_column(4, &step);
        columns[4] = 50;
        assert!(defect(&inverse, &rows, &columns) < 1e-9, "after replacing a column");
        let [_, left] = step_and_left(&inverse, &rows, &columns, 60, 0);
        inverse.replace_row(2, &left, &mut spare);
        rows[2] = 60;
        assert!(defect(&inverse, &rows, &columns) < 1e-9, "after replacing a row");
        for (c, r) in [(3, 8), (10, 0), (0, 9), (8, 8)] {
            inverse.remove(c, r, &mut spare);
            rows.swap_remove(r);
            columns.swap_remove(c);
            assert!(defect(&inverse, &rows, &columns) < 1e-8, "after shrinking to {}", rows.len());
        }
    }
}

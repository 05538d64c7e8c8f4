//! Dense square systems of any rank: of all vectors that meet the equations best, the shortest.
//!
//! $A x = b$ by Householder's $Q R$ factorisation with exchanges of columns,
//!
//! $$ A P = Q \begin{pmatrix} R_{11} & R_{12} \\\\ 0 & 0 \end{pmatrix}, $$
//!
//! and reflections from the right that take $R_{12}$ away (\[GV13\] 5.5). Equations depend on each
//! other where forces are not unique: four contacts under one block, the joints of a spatial
//! linkage, contacts that stick more often than they need to.
//!
//! The sharing of forces among dependent rows is a solution of least norm, and so is the step of
//! Newton's method with a singular matrix. The event-driven scheme solves such systems of order 4
//! to 30 some thousand times a second. For them faer's `col_piv_qr`, followed by a `qr` of the rows
//! that count, takes too long: 14, 6, 5 and 1.5 times as long as this code at the orders 4, 8, 16
//! and 32, and half as long at 256 (measured in one run, rank three quarters of the order). Null
//! spaces and ranks for diagnosis come from faer's singular values.

use faer::Mat;

/// How the rank of a matrix is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rank {
    /// It is known, whatever rounding says.
    Known(usize),
    /// Columns count of which more is left, beside those before, than this share of the largest.
    /// Too large: equations that nearly depend on each other get lost. Too small: rounding counts
    /// as an equation.
    Above(f64),
}

/// A system and the memory of its factorisation.
#[derive(Clone, Debug, Default)]
pub struct LeastSquares {
    size: usize,
    /// The matrix, column by column; then its factors.
    matrix: Vec<f64>,
    order: Vec<usize>,
    norms: Vec<f64>,
    reflector: Vec<f64>,
    /// Reflections from the right, from the last row up: for each its own entry and those of the
    /// dependent columns.
    right: Vec<f64>,
    products: Vec<f64>,
}

impl LeastSquares {
    /// Takes a square matrix of some order, whose columns `fill(j, column)` writes.
    pub fn fill(&mut self, size: usize, mut fill: impl FnMut(usize, &mut [f64])) {
        self.size = size;
        self.matrix.clear();
        self.matrix.resize(size * size, 0.0);
        self.matrix.chunks_exact_mut(size.max(1)).enumerate().for_each(|(j, column)| fill(j, column));
    }

    /// An entry of the matrix, before it is solved.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        self.matrix[column * self.size + row]
    }

    /// Replaces `b` by the solution of least norm, and the matrix by its factors. Returns the rank.
    /// What is left of an equation that depends on others is not looked at.
    pub fn solve(&mut self, rank: Rank, b: &mut [f64]) -> usize {
        let (limit, share) = match rank {
            Rank::Known(rank) => (rank, None),
            Rank::Above(share) => (self.size, Some(share)),
        };
        let rank = self.triangulate(limit, share, b);
        self.clear_dependent_columns(rank);
        self.substitute(rank, b);
        rank
    }

    /// Reflects column after column onto its diagonal entry, always the one of which most is left,
    /// and the right-hand side with it. Returns how many there were.
    fn triangulate(&mut self, limit: usize, share: Option<f64>, b: &mut [f64]) -> usize {
        let n = self.size;
        self.order.clear();
        self.order.extend(0..n);
        let mut largest = 0.0f64;
        for k in 0..limit {
            self.norms.clear();
            self.norms.extend((k..n).map(|j| norm(&self.matrix[j * n + k..(j + 1) * n])));
            let most = (0..n - k).fold(0, |most, j| if self.norms[j] > self.norms[most] { j } else { most });
            let length = self.norms[most];
            largest = largest.max(length);
            if length == 0.0 || length.is_nan() || share.is_some_and(|share| length <= share * largest) {
                return k;
            }
            if most != 0 {
                self.order.swap(k, k + most);
                (0..n).for_each(|i| self.matrix.swap(k * n + i, (k + most) * n + i));
            }
            self.reflector.clear();
            self.reflector.extend_from_slice(&self.matrix[k * n + k..(k + 1) * n]);
            let diagonal = make_reflector(&mut self.reflector, length);
            let square = square(&self.reflector);
            for j in k + 1..n {
                reflect(&self.reflector, square, &mut self.matrix[j * n + k..(j + 1) * n]);
            }
            reflect(&self.reflector, square, &mut b[k..n]);
            self.matrix[k * n + k] = diagonal;
        }
        limit
    }

    /// Takes $R_{12}$ away by reflections from the right, from the last row up. Each mixes the
    /// column of its row with the dependent ones.
    fn clear_dependent_columns(&mut self, rank: usize) {
        let (n, width) = (self.size, self.size - rank + 1);
        self.right.clear();
        if width == 1 {
            return;
        }
        for i in (0..rank).rev() {
            let from = self.right.len();
            self.right.extend(std::iter::once(i).chain(rank..n).map(|j| self.matrix[j * n + i]));
            let w = &mut self.right[from..];
            let length = norm(w);
            make_reflector(w, length);
            let square = square(w);
            if square == 0.0 {
                continue;
            }
            // All rows above at once: the columns are contiguous.
            self.products.clear();
            self.products.resize(i + 1, 0.0);
            for (w, j) in w.iter().zip(std::iter::once(i).chain(rank..n)) {
                let column = &self.matrix[j * n..j * n + i + 1];
                self.products.iter_mut().zip(column).for_each(|(product, entry)| *product += w * entry);
            }
            self.products.iter_mut().for_each(|product| *product = 2.0 * *product / square);
            for (w, j) in w.iter().zip(std::iter::once(i).chain(rank..n)) {
                let column = &mut self.matrix[j * n..j * n + i + 1];
                column.iter_mut().zip(&self.products).for_each(|(entry, factor)| *entry -= factor * w);
            }
        }
    }

    /// Back substitution, then the reflections from the right in reverse, then the exchanges.
    fn substitute(&mut self, rank: usize, b: &mut [f64]) {
        let (n, width) = (self.size, self.size - rank + 1);
        for i in (0..rank).rev() {
            let known: f64 = (i + 1..rank).map(|j| self.matrix[j * n + i] * b[j]).sum();
            b[i] = (b[i] - known) / self.matrix[i * n + i];
        }
        b[rank..n].fill(0.0);
        for (i, w) in self.right.chunks_exact(width).rev().enumerate() {
            self.reflector.clear();
            self.reflector.push(b[i]);
            self.reflector.extend_from_slice(&b[rank..n]);
            reflect(w, square(w), &mut self.reflector);
            b[i] = self.reflector[0];
            b[rank..n].copy_from_slice(&self.reflector[1..]);
        }
        self.reflector.clear();
        self.reflector.extend_from_slice(&b[..n]);
        for (k, &column) in self.order.iter().enumerate() {
            b[column] = self.reflector[k];
        }
    }
}

fn square(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum()
}

fn norm(vector: &[f64]) -> f64 {
    square(vector).sqrt()
}

/// Makes of a vector of this length the normal of the plane across which it is reflected onto its
/// first axis. Returns where on it.
fn make_reflector(vector: &mut [f64], length: f64) -> f64 {
    let diagonal = if vector[0] > 0.0 { -length } else { length };
    vector[0] -= diagonal;
    diagonal
}

/// Reflects a vector across the plane normal to `w`, whose square is `square`.
fn reflect(w: &[f64], square: f64, vector: &mut [f64]) {
    if square > 0.0 {
        let product: f64 = w.iter().zip(&*vector).map(|(w, x)| w * x).sum();
        let factor = 2.0 * product / square;
        vector.iter_mut().zip(w).for_each(|(x, w)| *x -= factor * w);
    }
}

/// An orthonormal basis of the vectors $x$ with $A x = 0$, column by column, and the rank of $A$.
/// Singular values up to `share` of the largest count as zero.
///
/// # Panics
/// When an entry is not finite.
pub fn null_space(matrix: &Mat<f64>, share: f64) -> (Mat<f64>, usize) {
    let factors = matrix.svd().expect("finite matrices have singular values");
    let values: Vec<f64> = factors.S().column_vector().iter().copied().collect();
    let (count, rank) = (matrix.ncols(), rank_of(&values, share));
    (Mat::from_fn(count, count - rank, |k, j| factors.V()[(k, rank + j)]), rank)
}

/// The rank of a matrix, of which singular values up to `share` of the largest count as zero.
///
/// # Panics
/// When an entry is not finite.
pub fn rank(matrix: &Mat<f64>, share: f64) -> usize {
    rank_of(&matrix.singular_values().expect("finite matrices have singular values"), share)
}

fn rank_of(values: &[f64], share: f64) -> usize {
    let largest = values.iter().copied().fold(0.0, f64::max);
    values.iter().filter(|&&value| value > share * largest).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPENDENT: Rank = Rank::Above(1e-8);

    fn solve(rows: &[&[f64]], b: &[f64], rank: Rank) -> (usize, Vec<f64>) {
        let mut solver = LeastSquares::default();
        solver.fill(rows.len(), |j, column| column.iter_mut().zip(rows).for_each(|(entry, row)| *entry = row[j]));
        let mut x = b.to_vec();
        (solver.solve(rank, &mut x), x)
    }

    fn near(found: &[f64], expected: &[f64]) -> bool {
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14)
    }

    #[test]
    fn independent_rows_have_one_solution() {
        let (rank, x) = solve(&[&[0.0, 2.0, 1.0], &[1.0, 1.0, 0.0], &[4.0, 0.0, 2.0]], &[7.0, 3.0, 10.0], DEPENDENT);
        assert_eq!(rank, 3);
        assert!(near(&x, &[1.0, 2.0, 3.0]), "{x:?}");
    }

    #[test]
    fn dependent_rows_share_evenly() {
        // The Delassus matrix of four legs under a table that carries 4: each carries one. Rows (1,
        // ±1, ±1).
        let legs = [[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [1.0, -1.0, -1.0]];
        let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let matrix: Vec<[f64; 4]> = legs.iter().map(|a| legs.map(|b| dot(*a, b))).collect();
        let rows: Vec<&[f64]> = matrix.iter().map(|row| &row[..]).collect();
        let (rank, x) = solve(&rows, &[4.0; 4], DEPENDENT);
        assert_eq!(rank, 3);
        assert!(near(&x, &[1.0; 4]), "{x:?}");
        // A rank that is known is kept, whatever rounding says.
        let (rank, x) = solve(&rows, &[4.0 + 1e-15, 4.0, 4.0, 4.0], Rank::Known(3));
        assert!(rank == 3 && near(&x, &[1.0; 4]), "{x:?}");
        // Nothing at all.
        assert_eq!(solve(&[&[0.0]], &[1.0], DEPENDENT), (0, vec![0.0]));
    }
}

//! Linear equations whose rows may depend on each other: the solution of least norm.
//!
//! $A x = b$ by Householder's $Q R$ factorisation with exchanges of columns,
//! $A P = Q \begin{pmatrix} R_{11} & R_{12} \\\\ 0 & 0 \end{pmatrix}$, and reflections from the
//! right that take $R_{12}$ away (\[GV13\] 5.5). Four contacts under one block, or the joints of a
//! spatial linkage, have forces that are not unique; what they do to the motion is.
//!
//! The rank is judged once, where a phase begins. Away from the configurations that joints allow,
//! their rows are independent by just as much as they are off, which must not count.

/// What is left of a column, relative to the largest, when it depends on those before. Too large:
/// mechanisms near a dead centre get loose. Too small: rounding counts as a row.
const DEPENDENT: f64 = 1e-8;

/// Memory of the factorisation.
#[derive(Clone, Debug, Default)]
pub(super) struct DependentRows {
    size: usize,
    /// The matrix, column by column; then its factors.
    matrix: Vec<f64>,
    order: Vec<usize>,
    norms: Vec<f64>,
    reflector: Vec<f64>,
    /// Reflections from the right: for each row its own entry and those of the dependent columns.
    right: Vec<f64>,
    right_factors: Vec<f64>,
}

impl DependentRows {
    /// Begins with a square matrix of zeros.
    pub fn begin(&mut self, size: usize) {
        self.size = size;
        self.matrix.clear();
        self.matrix.resize(size * size, 0.0);
    }

    /// Sets an entry.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.matrix[column * self.size + row] = value;
    }

    /// An entry that was set.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.matrix[column * self.size + row]
    }

    /// Replaces `b` by the solution of least norm. The rank is `rank`, or found when that is none.
    /// Returns it; what is left of an equation that depends on others is not looked at.
    pub fn solve(&mut self, rank: Option<usize>, b: &mut [f64]) -> usize {
        let n = self.size;
        self.order.clear();
        self.order.extend(0..n);
        let mut found = 0;
        let mut largest = 0.0f64;
        while found < rank.unwrap_or(n) {
            let k = found;
            // The column of which most is left.
            self.norms.clear();
            for j in k..n {
                let column = &self.matrix[j * n + k..(j + 1) * n];
                self.norms.push(column.iter().map(|x| x * x).sum::<f64>().sqrt());
            }
            let most = (0..n - k).fold(0, |most, j| if self.norms[j] > self.norms[most] { j } else { most });
            let norm = self.norms[most];
            largest = largest.max(norm);
            if norm == 0.0 || norm.is_nan() || (rank.is_none() && norm <= DEPENDENT * largest) {
                break;
            }
            if most != 0 {
                self.order.swap(k, k + most);
                (0..n).for_each(|i| self.matrix.swap(k * n + i, (k + most) * n + i));
            }
            // Reflect the rest of the column onto its first entry.
            self.reflector.clear();
            self.reflector.extend_from_slice(&self.matrix[k * n + k..(k + 1) * n]);
            let diagonal = if self.reflector[0] > 0.0 { -norm } else { norm };
            self.reflector[0] -= diagonal;
            let square: f64 = self.reflector.iter().map(|x| x * x).sum();
            if square > 0.0 {
                for j in k + 1..n {
                    reflect(&self.reflector, square, &mut self.matrix[j * n + k..(j + 1) * n]);
                }
                reflect(&self.reflector, square, &mut b[k..n]);
            }
            self.matrix[k * n + k] = diagonal;
            found += 1;
        }

        // R₁₂ away, from the last row up.
        let dependent = n - found;
        self.right.clear();
        self.right_factors.clear();
        if dependent > 0 {
            for i in (0..found).rev() {
                let from = self.right.len();
                self.right.push(self.matrix[i * n + i]);
                self.right.extend((found..n).map(|j| self.matrix[j * n + i]));
                let w = &mut self.right[from..];
                let norm = w.iter().map(|x| x * x).sum::<f64>().sqrt();
                let diagonal = if w[0] > 0.0 { -norm } else { norm };
                w[0] -= diagonal;
                let square: f64 = w.iter().map(|x| x * x).sum();
                self.right_factors.push(square);
                if square > 0.0 {
                    for row in 0..=i {
                        let entry = |k: usize| if k == 0 { i * n + row } else { (found + k - 1) * n + row };
                        let product: f64 = w.iter().enumerate().map(|(k, w)| w * self.matrix[entry(k)]).sum();
                        let factor = 2.0 * product / square;
                        w.iter().enumerate().for_each(|(k, w)| self.matrix[entry(k)] -= factor * w);
                    }
                }
            }
        }

        // Back substitution, then the reflections in reverse, then the exchanges.
        for i in (0..found).rev() {
            let known: f64 = (i + 1..found).map(|j| self.matrix[j * n + i] * b[j]).sum();
            b[i] = (b[i] - known) / self.matrix[i * n + i];
        }
        b[found..n].fill(0.0);
        for number in (0..self.right_factors.len()).rev() {
            let (i, square) = (found - 1 - number, self.right_factors[number]);
            if square > 0.0 {
                let w = &self.right[number * (dependent + 1)..(number + 1) * (dependent + 1)];
                let place = |k: usize| if k == 0 { i } else { found + k - 1 };
                let product: f64 = w.iter().enumerate().map(|(k, w)| w * b[place(k)]).sum();
                let factor = 2.0 * product / square;
                w.iter().enumerate().for_each(|(k, w)| b[place(k)] -= factor * w);
            }
        }
        self.reflector.clear();
        self.reflector.extend_from_slice(&b[..n]);
        for (k, &column) in self.order.iter().enumerate() {
            b[column] = self.reflector[k];
        }
        found
    }
}

/// Reflects a vector across the plane normal to `w`, whose square is `square`.
fn reflect(w: &[f64], square: f64, vector: &mut [f64]) {
    let product: f64 = w.iter().zip(&*vector).map(|(w, x)| w * x).sum();
    let factor = 2.0 * product / square;
    vector.iter_mut().zip(w).for_each(|(x, w)| *x -= factor * w);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(rows: &[&[f64]], b: &[f64], rank: Option<usize>) -> (usize, Vec<f64>) {
        let mut solver = DependentRows::default();
        solver.begin(rows.len());
        for (i, row) in rows.iter().enumerate() {
            row.iter().enumerate().for_each(|(j, &value)| solver.set(i, j, value));
        }
        let mut x = b.to_vec();
        (solver.solve(rank, &mut x), x)
    }

    fn near(found: &[f64], expected: &[f64]) -> bool {
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14)
    }

    #[test]
    fn independent_rows_have_one_solution() {
        let (rank, x) = solve(&[&[0.0, 2.0, 1.0], &[1.0, 1.0, 0.0], &[4.0, 0.0, 2.0]], &[7.0, 3.0, 10.0], None);
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
        let (rank, x) = solve(&rows, &[4.0; 4], None);
        assert_eq!(rank, 3);
        assert!(near(&x, &[1.0; 4]), "{x:?}");
        // A rank that is known is kept, whatever rounding says.
        let (rank, x) = solve(&rows, &[4.0 + 1e-15, 4.0, 4.0, 4.0], Some(3));
        assert!(rank == 3 && near(&x, &[1.0; 4]), "{x:?}");
        // Nothing at all.
        assert_eq!(solve(&[&[0.0]], &[1.0], None), (0, vec![0.0]));
    }
}

//! Lemke's method with lexicographic resolution of ties, on an explicit, scaled tableau.
//!
//! This is the method of \[ST96\] §4, after \[CPS92\] Algorithm 4.4.1 and §4.9. An artificial
//! unknown $z_0 \ge 0$ makes every row feasible, $w = q + M z + d z_0$ with $d = (1, \dots, 1)$ in
//! the scaled problem; complementary pivots then drive $z_0$ to zero. The tableau holds the
//! dictionary
//!
//! $$ x_B = \bar q + T x_N, $$
//!
//! one row per basic unknown, one column per nonbasic one. Unknowns are numbered $w_i \to i$,
//! $z_i \to n + i$, $z_0 \to 2n$.
//!
//! Differs from the textbook where rounding demands it. The problem is scaled first
//! ([`Scaling`](crate::Scaling)): unscaled, the rod of \[ST96\] fails at its second impact. A ratio
//! test with a little slack collects all rows that leave at about the same moment; $z_0$ goes
//! first, weak pivots are dropped, and only among the rest does the lexicographic order decide. So
//! the proof that the method cannot cycle holds up to the slack, and the pivot limit stays as a
//! guard.
//!
//! One path is followed and its end reported. What helps where that fails, such as other covering
//! vectors and fresh factors, is in [`lemke`](crate::lemke).

use crate::residual::{certificate_near, lcp_residual};
use crate::work::is_interrupted;
use crate::{Lcp, LcpSolution, LemkeSettings, SolveReport, SolveStatus, Work};

/// The tableau, kept from solve to solve so that its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct LemkeTableau {
    /// Number of unknowns of the problem.
    n: usize,
    /// `n` rows of `n + 2` entries: the nonbasic columns, then the constant.
    entries: Vec<f64>,
    /// The unknown that is basic in each row.
    basic: Vec<usize>,
    /// The unknown that is nonbasic in each column.
    nonbasic: Vec<usize>,
    /// Where each unknown stands.
    place: Vec<Place>,
    /// A copy of the pivot row.
    pivot_row: Vec<f64>,
    /// Rows that tie in the ratio test.
    tied: Vec<usize>,
    /// Direction in which the $z$ grow on a ray, as multipliers of the rows.
    ray: Vec<f64>,
}

/// Where an unknown stands in the tableau.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Row(usize),
    Column(usize),
}

/// How the pivoting ended.
#[derive(PartialEq)]
enum PathEnd {
    /// $z_0$ left the basis.
    Complementary,
    Ray,
    Limit,
    NotFinite,
}

impl LemkeTableau {
    /// Solves from a cold start.
    pub fn solve(&mut self, lcp: &Lcp, settings: &LemkeSettings) -> LcpSolution {
        let n = lcp.size();
        if lcp.offset().iter().all(|&q| q >= 0.0) {
            let report = SolveReport { status: SolveStatus::Solved, residual: 0.0, iterations: 0, size: n };
            return LcpSolution { z: vec![0.0; n], w: lcp.offset().to_vec(), report, ..Default::default() };
        }

        self.load(lcp);
        let (end, iterations) = self.pivot_to_the_end(lcp, settings);
        let scaling = lcp.scaling();
        let mut z = vec![0.0; n];
        for row in 0..n {
            if (n..2 * n).contains(&self.basic[row]) {
                let i = self.basic[row] - n;
                z[i] = self.constant(row) * scaling.columns[i] * scaling.offset;
            }
        }

        // The judge: the original data, not the tableau. A path that did not end at a complementary
        // basis is no solution unless its point happens to be one.
        let mut w = Vec::with_capacity(n);
        let residual = lcp_residual(lcp, &z, &mut w);
        // A ray is no proof by itself, but its direction often is one; in contact problems, bodies
        // that are squeezed.
        let is_ray = end == PathEnd::Ray && residual > settings.residual_tolerance;
        let certificate = is_ray.then(|| certificate_near(lcp, &self.ray)).flatten();
        let status = match end {
            _ if residual <= settings.residual_tolerance => SolveStatus::Solved,
            PathEnd::Complementary => SolveStatus::Inaccurate,
            PathEnd::Ray if certificate.is_some() => SolveStatus::NoSolution,
            PathEnd::Ray => SolveStatus::SecondaryRay,
            PathEnd::Limit if is_interrupted() => SolveStatus::Interrupted,
            PathEnd::Limit => SolveStatus::IterationLimit,
            PathEnd::NotFinite => SolveStatus::Breakdown,
        };
        let report = SolveReport { status, residual, iterations, size: n };
        LcpSolution { z, w, report, certificate: certificate.unwrap_or_default() }
    }

    /// Writes the scaled problem into the tableau: every $w$ basic, every $z$ and $z_0$ nonbasic.
    fn load(&mut self, lcp: &Lcp) {
        let n = lcp.size();
        let scaling = lcp.scaling();
        self.n = n;
        self.entries.clear();
        let width = n + 2;
        self.entries.resize(n * width, 0.0);
        for j in 0..n {
            for (i, entry) in lcp.column(j).iter().enumerate() {
                self.entries[i * width + j] = entry * scaling.rows[i] * scaling.columns[j];
            }
        }
        for i in 0..n {
            self.entries[i * width + n] = 1.0;
            self.entries[i * width + n + 1] = lcp.offset()[i] * scaling.rows[i] / scaling.offset;
        }
        self.basic.clear();
        self.basic.extend(0..n);
        self.nonbasic.clear();
        self.nonbasic.extend(n..=2 * n);
        self.place.clear();
        self.place.extend((0..n).map(Place::Row));
        self.place.extend((0..=n).map(Place::Column));
    }

    /// Follows Lemke's path; returns how it ended and the number of pivots.
    fn pivot_to_the_end(&mut self, lcp: &Lcp, settings: &LemkeSettings) -> (PathEnd, usize) {
        let n = self.n;
        let artificial = 2 * n;

        // z0 enters where q/d is most negative. Among ties the lexicographic minimum of (q_i, e_i)
        // / d_i is the last row.
        let mut leaving_row = 0;
        for row in 1..n {
            if self.constant(row) / self.entry(row, n) <= self.constant(leaving_row) / self.entry(leaving_row, n) {
                leaving_row = row;
            }
        }
        let mut entering_column = n;
        let mut work = Work::new(settings.work_limit);
        let pivot_limit = settings.pivots_per_unknown.saturating_mul(n).max(1);
        for pivots in 1..=pivot_limit {
            let leaving = self.basic[leaving_row];
            if !self.pivot(leaving_row, entering_column) {
                return (PathEnd::NotFinite, pivots);
            }
            if leaving == artificial {
                return (PathEnd::Complementary, pivots);
            }
            // The complement of the unknown that left enters.
            let entering = if leaving < n { leaving + n } else { leaving - n };
            entering_column = match self.place[entering] {
                Place::Column(column) => column,
                Place::Row(_) => unreachable!("the complement of a leaving unknown is never basic"),
            };
            work.spend((n * (n + 2)) as u64);
            if work.is_spent() {
                return (PathEnd::Limit, pivots);
            }
            match self.ratio_test(entering_column, settings) {
                Some(row) => leaving_row = row,
                None => {
                    self.keep_ray(lcp, entering_column);
                    return (PathEnd::Ray, pivots);
                }
            }
        }
        (PathEnd::Limit, pivot_limit)
    }

    /// The row whose unknown first reaches zero as the unknown of `column` grows; none on a ray.
    fn ratio_test(&mut self, column: usize, settings: &LemkeSettings) -> Option<usize> {
        let n = self.n;
        let largest = (0..n).fold(0.0f64, |largest, row| largest.max(self.entry(row, column).abs()));
        let smallest_pivot = settings.pivot_tolerance * largest;
        let slack = settings.tie_tolerance * (0..n).fold(1.0f64, |largest, row| largest.max(self.constant(row).abs()));

        // First pass: how far the entering unknown may go if every row gives way by the slack.
        let mut bound = f64::INFINITY;
        for row in 0..n {
            let slope = -self.entry(row, column);
            if slope > smallest_pivot {
                // A row that has given way already does not give way again.
                bound = bound.min((self.constant(row) + slack).max(0.0) / slope);
            }
        }
        if bound.is_infinite() {
            return None;
        }

        // Second pass: the rows that leave within that bound.
        self.tied.clear();
        let mut strongest = 0.0f64;
        for row in 0..n {
            let slope = -self.entry(row, column);
            if slope > smallest_pivot && self.constant(row).max(0.0) / slope <= bound {
                if self.basic[row] == 2 * n {
                    return Some(row); // z0 leaves whenever it can
                }
                self.tied.push(row);
                strongest = strongest.max(slope);
            }
        }
        let mut best = None;
        for k in 0..self.tied.len() {
            let row = self.tied[k];
            if -self.entry(row, column) < settings.weak_pivot * strongest {
                continue;
            }
            best = match best {
                Some(other) if !self.is_lexicographically_smaller(row, other, column, settings) => Some(other),
                _ => Some(row),
            };
        }
        best
    }

    /// Whether row `a` of $B^{-1}$, divided by its pivot, comes lexicographically before row `b`.
    fn is_lexicographically_smaller(&self, a: usize, b: usize, column: usize, settings: &LemkeSettings) -> bool {
        let (pivot_a, pivot_b) = (-self.entry(a, column), -self.entry(b, column));
        for unknown in 0..self.n {
            // Column `unknown` of the basis inverse: a unit vector while w is basic, minus its
            // dictionary column otherwise.
            let (left, right) = match self.place[unknown] {
                Place::Row(row) => (f64::from(row == a), f64::from(row == b)),
                Place::Column(j) => (-self.entry(a, j), -self.entry(b, j)),
            };
            let difference = left / pivot_a - right / pivot_b;
            if difference.abs() > settings.tie_tolerance * (left / pivot_a).abs().max(1.0) {
                return difference < 0.0;
            }
        }
        false
    }

    /// Exchanges the basic unknown of `row` and the nonbasic one of `column`; false when a number
    /// overflowed.
    fn pivot(&mut self, row: usize, column: usize) -> bool {
        let n = self.n;
        let width = n + 2;
        let inverse = 1.0 / self.entry(row, column);
        if !inverse.is_finite() {
            return false;
        }
        // x_e = (x_b - constant - Σ others) / pivot
        let pivot_row = &mut self.entries[row * width..(row + 1) * width];
        for entry in pivot_row.iter_mut() {
            *entry *= -inverse;
        }
        pivot_row[column] = inverse;
        self.pivot_row.clear();
        self.pivot_row.extend_from_slice(pivot_row);
        for i in 0..n {
            let other = &mut self.entries[i * width..(i + 1) * width];
            let factor = other[column];
            if i == row || factor == 0.0 {
                continue;
            }
            other[column] = 0.0;
            for (entry, pivot) in other.iter_mut().zip(&self.pivot_row) {
                *entry += factor * pivot;
            }
        }
        let (entering, leaving) = (self.nonbasic[column], self.basic[row]);
        self.basic[row] = entering;
        self.nonbasic[column] = leaving;
        self.place[entering] = Place::Row(row);
        self.place[leaving] = Place::Column(column);
        true
    }

    /// Keeps the direction of the $z$ along the ray of an entering unknown, as multipliers of the
    /// rows of the original problem.
    fn keep_ray(&mut self, lcp: &Lcp, column: usize) {
        let n = self.n;
        self.ray.clear();
        self.ray.resize(n, 0.0);
        if (n..2 * n).contains(&self.nonbasic[column]) {
            self.ray[self.nonbasic[column] - n] = 1.0;
        }
        for row in 0..n {
            if (n..2 * n).contains(&self.basic[row]) {
                // What the ratio test took for zero is zero.
                self.ray[self.basic[row] - n] = self.entry(row, column).max(0.0);
            }
        }
        self.ray.iter_mut().zip(&lcp.scaling().rows).for_each(|(entry, factor)| *entry *= factor);
    }

    fn entry(&self, row: usize, column: usize) -> f64 {
        self.entries[row * (self.n + 2) + column]
    }

    fn constant(&self, row: usize) -> f64 {
        self.entries[row * (self.n + 2) + self.n + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::{Mat, mat};

    fn solve(matrix: Mat<f64>, offset: Vec<f64>) -> LcpSolution {
        LemkeTableau::default().solve(&Lcp::new(matrix, offset).unwrap(), &LemkeSettings::default())
    }

    #[test]
    fn a_positive_offset_needs_no_pivot() {
        let solution = solve(mat![[-5.0]], vec![2.0]);
        assert_eq!((solution.report.iterations, solution.z[0], solution.w[0]), (0, 0.0, 2.0));
    }

    #[test]
    fn two_unknowns_by_hand() {
        // 2 z1 + z2 = 5, z1 + 2 z2 = 6 with both positive: z = (4/3, 7/3).
        let solution = solve(mat![[2.0, 1.0], [1.0, 2.0]], vec![-5.0, -6.0]);
        assert!(solution.report.is_solved());
        assert!((solution.z[0] - 4.0 / 3.0).abs() < 1e-15 && (solution.z[1] - 7.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn a_problem_without_solution_ends_in_a_ray_and_is_not_called_solved() {
        // w = -z - 1 is negative for every z ≥ 0.
        let solution = solve(mat![[-1.0]], vec![-1.0]);
        // The ray z = 1 is a certificate: M z = -1 ≤ 0 and q z = -1 < 0.
        assert_eq!(solution.report.status, SolveStatus::NoSolution);
        assert!(solution.report.residual > 0.1);
    }

    #[test]
    fn a_squeezed_body_is_proved_to_have_no_solution() {
        // Two walls approach one body from both sides: w = (c1 - c2 - 1, c2 - c1 - 1).
        let solution = solve(mat![[1.0, -1.0], [-1.0, 1.0]], vec![-1.0, -1.0]);
        assert_eq!(solution.report.status, SolveStatus::NoSolution);
    }

    #[test]
    fn murtys_exponential_example_takes_every_vertex_and_still_ends() {
        // [CPS92] (Murty): lower triangular with twos below the diagonal; the offset -Σ 2^… makes
        // Lemke's path long.
        let n = 8;
        let matrix = Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 2.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => 0.0,
        });
        let solution = solve(matrix, vec![-1.0; n]);
        assert!(solution.report.is_solved());
        // Only the last unknown is positive: w_i = 2 z_n - 1 > 0 for i < n.
        assert_eq!(solution.z[n - 1], 1.0);
        assert!(solution.z[..n - 1].iter().all(|&z| z == 0.0));
    }

    #[test]
    fn ties_are_resolved_lexicographically() {
        // At the start the basis inverse is the identity. Both rows tie for the first column with
        // pivot 1: (1, 0) against (0, 1), of which the second comes first. With pivots 1 and 4 on
        // rows (1, 0) and (0, 1)/4 it is the same.
        let settings = LemkeSettings::default();
        for pivot in [-1.0, -0.25] {
            let lcp = Lcp::new(mat![[-1.0, 0.0], [pivot, 0.5]], vec![-1.0, -1.0]).unwrap();
            let mut tableau = LemkeTableau::default();
            tableau.load(&lcp);
            assert!(tableau.is_lexicographically_smaller(1, 0, 0, &settings));
            assert!(!tableau.is_lexicographically_smaller(0, 1, 0, &settings));
            assert!(!tableau.is_lexicographically_smaller(1, 1, 0, &settings), "equal is not smaller");
        }
    }

    #[test]
    fn a_degenerate_problem_does_not_cycle() {
        // Four corners of one box on the floor: the matrix has rank 3, all offsets are equal, every
        // ratio test is a tie.
        let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0f64)];
        let matrix =
            Mat::from_fn(4, 4, |i, j| 1.0 + 3.0 * corners[i].0 * corners[j].0 + 3.0 * corners[i].1 * corners[j].1);
        let solution = solve(matrix, vec![-1.0; 4]);
        assert!(solution.report.is_solved(), "{:?}", solution.report);
        assert!((solution.z.iter().sum::<f64>() - 1.0).abs() < 1e-14, "the corners carry the whole weight");
    }

    #[test]
    fn scaling_of_the_data_does_not_matter() {
        // Rows by 1e-9, columns by 1e7: masses of grams in SI units are no harder than kilograms.
        let solution = solve(mat![[2e-2, 1e-2], [1e-2, 2e-2]], vec![-5e-9, -6e-9]);
        assert!(solution.report.is_solved());
        assert!((solution.z[0] * 1e7 - 4.0 / 3.0).abs() < 1e-14);
    }
}

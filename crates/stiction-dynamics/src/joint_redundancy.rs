//! Which joint rows follow from others: a diagnosis for people, dense and not made for speed.
//!
//! With the coordinates measured in $1/\sqrt{W_{kk}}$ and every row scaled to length one, the rows
//! are the matrix $A$, without units. Vectors $y$ with $y^T A = 0$ are the dependencies: there are
//! as many independent ones as there are redundant rows, and a row follows from the others if it
//! takes part in one. Both come from the singular value decomposition.
//!
//! Redundant rows do no harm to the motion as long as they do not contradict each other
//! ([`ConstrainedMotion`](crate::ConstrainedMotion)), but the impulses of the rows that take part
//! are one choice of many.

use faer::Mat;
use stiction_solve::least_squares::null_space;

use crate::{Inertia, Row};

/// Singular values below this, relative to the largest, count as zero. Too large: a nearly
/// stretched mechanism counts as redundant. Too small: dependent rows of rounded numbers count as
/// independent.
const DEPENDENT: f64 = 1e-10;

/// A row takes part in the dependencies if its part of their orthonormal basis is longer than this.
/// Too large: rows that take a small part are not named. Too small: rows are named for their
/// rounding.
const TAKES_PART: f64 = 1e-6;

/// The joint rows that follow from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JointRedundancy {
    /// Number of rows.
    pub row_count: usize,
    /// Number of independent ones.
    pub rank: usize,
    /// The rows that take part in a dependency: each follows from the others, and its impulse is
    /// not unique.
    pub dependent: Vec<usize>,
    /// Rows that can be removed together without changing the motion, as many as are redundant; the
    /// last ones that will do.
    pub removable: Vec<usize>,
}

impl JointRedundancy {
    /// Number of redundant rows.
    pub fn count(&self) -> usize {
        self.row_count - self.rank
    }
}

/// Finds the rows that follow from others.
///
/// # Panics
/// When a row points outside of the coordinates, or has an entry that is not finite.
pub fn joint_redundancy<'a>(inertia: &Inertia, rows: impl IntoIterator<Item = &'a Row>) -> JointRedundancy {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let (m, n) = (rows.len(), inertia.size());
    let mut scaled = Mat::<f64>::zeros(m, n);
    for (i, row) in rows.iter().enumerate() {
        for &(k, value) in row.entries() {
            assert!(value.is_finite(), "joint row {i} has the entry {value} at velocity coordinate {k}");
            scaled[(i, k)] += value / inertia.entry(k, k).abs().sqrt();
        }
        let length = (0..n).map(|k| scaled[(i, k)] * scaled[(i, k)]).sum::<f64>().sqrt();
        if length > 0.0 {
            (0..n).for_each(|k| scaled[(i, k)] /= length);
        }
    }
    if m == 0 || n == 0 {
        let all: Vec<usize> = (0..m).collect();
        return JointRedundancy { row_count: m, rank: 0, dependent: all.clone(), removable: all };
    }
    // By row, the part that each row takes in the dependencies.
    let (dependencies, rank) = null_space(&scaled.transpose().to_owned(), DEPENDENT);
    let mut parts: Vec<Vec<f64>> = (0..m).map(|i| (0..m - rank).map(|j| dependencies[(i, j)]).collect()).collect();
    let length = |part: &[f64]| part.iter().map(|x| x * x).sum::<f64>().sqrt();
    let dependent = (0..m).filter(|&i| length(&parts[i]) > TAKES_PART).collect();

    // Rows can be removed together if their parts are independent: from the last to the first, each
    // without what the chosen ones have.
    let mut removable = Vec::new();
    for i in (0..m).rev() {
        let own = length(&parts[i]);
        if removable.len() == m - rank || own <= TAKES_PART {
            continue;
        }
        removable.push(i);
        let axis: Vec<f64> = parts[i].iter().map(|x| x / own).collect();
        for part in &mut parts[..i] {
            let along: f64 = part.iter().zip(&axis).map(|(x, y)| x * y).sum();
            part.iter_mut().zip(&axis).for_each(|(x, y)| *x -= along * y);
        }
    }
    removable.reverse();
    JointRedundancy { row_count: m, rank, dependent, removable }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnose(masses: &[f64], rows: &[&[f64]]) -> JointRedundancy {
        let mut inertia = Inertia::default();
        inertia.set_diagonal(masses);
        let rows: Vec<Row> = rows.iter().map(|row| Row::from_dense(row)).collect();
        joint_redundancy(&inertia, &rows)
    }

    #[test]
    fn independent_rows_are_left_alone() {
        let found = diagnose(&[1.0, 2.0, 1e6], &[&[1.0, -1.0, 0.0], &[0.0, 1.0, -1.0]]);
        assert_eq!(found, JointRedundancy { row_count: 2, rank: 2, ..Default::default() });
        assert_eq!(diagnose(&[1.0], &[]).count(), 0);
    }

    #[test]
    fn a_loop_of_links_has_one_row_too_many_and_all_of_it_take_part() {
        // u1 = u2, u2 = u3, u3 = u1, in rows of different size; a fourth coordinate is held alone.
        let rows: [&[f64]; 4] =
            [&[1.0, -1.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 5.0], &[0.0, 1e3, -1e3, 0.0], &[-2.0, 0.0, 2.0, 0.0]];
        for masses in [[1.0; 4], [1e-3, 1e3, 1.0, 1.0]] {
            let found = diagnose(&masses, &rows);
            assert_eq!((found.count(), found.rank), (1, 3));
            assert_eq!(found.dependent, [0, 2, 3]);
            assert_eq!(found.removable, [3]);
        }
    }

    #[test]
    fn repeated_and_empty_rows_are_redundant_one_by_one() {
        let found = diagnose(&[1.0, 1.0], &[&[0.0, 0.0], &[1.0, 0.0], &[2.0, 0.0], &[1.0, 1.0], &[0.0, 3.0]]);
        assert_eq!(found.rank, 2);
        assert_eq!(found.dependent, [0, 1, 2, 3, 4]);
        // Without the last row the fourth is needed, so the third goes.
        assert_eq!(found.removable, [0, 2, 4]);
        // More rows than coordinates, none of which can move.
        assert_eq!(joint_redundancy(&Inertia::default(), &[Row::new(), Row::new()]).removable, [0, 1]);
    }
}

//! Every solution of a small LCP, by trying all complementary bases.
//!
//! For each set $\alpha$ of unknowns let $z_i = 0$ outside $\alpha$ and $w_i = 0$ inside:
//! $M_{\alpha\alpha} z_\alpha = -q_\alpha$. Where the block is regular, this is one point, and it
//! is a solution if all $z$ and $w$ are non-negative. Where it is singular there may be no point or
//! a whole face of them, which this method does not find; the [`Enumeration`] says so.
//!
//! Where no solution is found in this way, rounding may have hidden it. A small problem is then
//! looked through once more in exact arithmetic, basis by basis. Only what that excludes is
//! excluded.

use crate::exact::{Basis, ExactLcp};
use crate::residual::lcp_residual;
use crate::{Lcp, LemkeSettings, Work};

/// Largest problem that is enumerated: a million bases.
pub const LARGEST_SIZE: usize = 20;

/// Largest problem whose bases are looked at exactly: four thousand of them, in about a second.
pub const LARGEST_EXACT_SIZE: usize = 12;

/// Pivots below this, relative to the largest entry of the scaled block, make a block singular.
const SINGULAR_PIVOT: f64 = 1e-11;

/// What a multiplication of long integers counts.
const MULTIPLICATIONS_PER_EXACT: u64 = 100;

/// Two solutions whose scaled entries differ by less are the same one, found from two bases.
const SAME_SOLUTION: f64 = 1e-9;

/// What enumeration found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enumeration {
    /// The solutions, each once, in the order of their bases.
    pub solutions: Vec<Vec<f64>>,
    /// Number of bases to which solutions may belong that are not in the list: the block was
    /// singular and consistent, or, where the list is empty, exact arithmetic did not exclude them.
    /// With an empty list and none undecided it is proved that there is no solution.
    pub undecided: usize,
}

/// All solutions of a problem with at most [`LARGEST_SIZE`] unknowns, to the residual tolerance of
/// the settings; where that finds none, the exact ones, each next to it. None if the problem is
/// larger.
pub fn enumerate(lcp: &Lcp, settings: &LemkeSettings) -> Option<Enumeration> {
    let n = lcp.size();
    if n > LARGEST_SIZE {
        return None;
    }
    let scaling = lcp.scaling();
    let matrix: Vec<f64> =
        (0..n * n).map(|k| lcp.matrix()[(k / n, k % n)] * scaling.rows[k / n] * scaling.columns[k % n]).collect();
    let offset: Vec<f64> = (0..n).map(|i| lcp.offset()[i] * scaling.rows[i] / scaling.offset).collect();
    let mut found = Enumeration::default();
    let (mut members, mut block, mut w) = (Vec::with_capacity(n), Vec::new(), Vec::new());
    let mut scaled: Vec<Vec<f64>> = Vec::new();
    let mut work = Work::new(settings.work_limit);
    for set in 0u32..1 << n {
        if work.is_spent() {
            found.undecided += (1 << n) - set as usize;
            return Some(found);
        }
        members.clear();
        members.extend((0..n).filter(|i| set & (1 << i) != 0));
        let a = members.len();
        work.spend((a * a * a + n * a) as u64);
        block.clear();
        for &i in &members {
            block.extend(members.iter().map(|&j| matrix[i * n + j]));
            block.push(-offset[i]);
        }
        match eliminate(&mut block, a) {
            Block::Singular => found.undecided += 1,
            Block::Inconsistent => {}
            Block::Regular => {
                let (mut z, mut z_scaled) = (vec![0.0; n], vec![0.0; n]);
                for (row, &i) in members.iter().enumerate() {
                    z_scaled[i] = block[row * (a + 1) + a];
                    z[i] = z_scaled[i] * scaling.columns[i] * scaling.offset;
                }
                if lcp_residual(lcp, &z, &mut w) <= settings.residual_tolerance {
                    let is_new = scaled.iter().all(|other: &Vec<f64>| {
                        other.iter().zip(&z_scaled).any(|(a, b)| (a - b).abs() > SAME_SOLUTION * a.abs().max(1.0))
                    });
                    if is_new {
                        scaled.push(z_scaled);
                        found.solutions.push(z);
                    }
                }
            }
        }
    }
    if found.solutions.is_empty() {
        look_exactly(lcp, &mut work, &mut found);
    }
    Some(found)
}

/// Looks through all bases in exact arithmetic, where no solution was found without.
fn look_exactly(lcp: &Lcp, work: &mut Work, found: &mut Enumeration) {
    let n = lcp.size();
    found.undecided = 1 << n;
    if n > LARGEST_EXACT_SIZE {
        return;
    }
    let exact = ExactLcp::new(lcp);
    for set in 0u32..1 << n {
        let members: Vec<usize> = (0..n).filter(|i| set & (1 << i) != 0).collect();
        work.spend(members.len().pow(3) as u64 * MULTIPLICATIONS_PER_EXACT);
        if work.is_spent() {
            return;
        }
        match exact.basis(&members) {
            Basis::Excluded => found.undecided -= 1,
            Basis::Singular => {}
            Basis::Solution(z) => {
                found.undecided -= 1;
                found.solutions.push(z);
            }
        }
    }
}

enum Block {
    Regular,
    /// Singular, and the right-hand side lies in the range.
    Singular,
    /// Singular, and the right-hand side does not: no point belongs to this basis.
    Inconsistent,
}

/// Gauss-Jordan elimination with full pivoting of rows on an `a` × `(a + 1)` system; leaves the
/// solution in the last column.
fn eliminate(system: &mut [f64], a: usize) -> Block {
    let width = a + 1;
    let largest = system.chunks(width).flat_map(|row| &row[..a]).fold(0.0f64, |largest, x| largest.max(x.abs()));
    for k in 0..a {
        let strongest = (k..a).max_by(|&i, &j| system[i * width + k].abs().total_cmp(&system[j * width + k].abs()));
        let pivot_row = strongest.unwrap_or(k);
        if system[pivot_row * width + k].abs() <= SINGULAR_PIVOT * largest.max(f64::MIN_POSITIVE) {
            // A row of zeros with a right-hand side is a contradiction; anything else is left
            // undecided.
            let contradiction = (k..a).any(|i| {
                let row = &system[i * width..(i + 1) * width];
                row[..a].iter().all(|x| x.abs() <= SINGULAR_PIVOT * largest) && row[a].abs() > SINGULAR_PIVOT
            });
            return if contradiction { Block::Inconsistent } else { Block::Singular };
        }
        for j in 0..width {
            system.swap(k * width + j, pivot_row * width + j);
        }
        let inverse = 1.0 / system[k * width + k];
        for j in k..width {
            system[k * width + j] *= inverse;
        }
        for i in 0..a {
            let factor = system[i * width + k];
            if i != k && factor != 0.0 {
                for j in k..width {
                    system[i * width + j] -= factor * system[k * width + j];
                }
            }
        }
    }
    Block::Regular
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::{Mat, mat};

    fn solutions(matrix: Mat<f64>, offset: Vec<f64>) -> Enumeration {
        enumerate(&Lcp::new(matrix, offset).unwrap(), &LemkeSettings::default()).unwrap()
    }

    #[test]
    fn none_one_two_and_three_solutions() {
        // w = -z - 1 is never feasible; and the list is complete.
        let none = solutions(mat![[-1.0]], vec![-1.0]);
        assert_eq!((none.solutions.len(), none.undecided), (0, 0));
        assert_eq!(solutions(mat![[2.0]], vec![-4.0]).solutions, [[2.0]]);
        // w = 1 - z: z = 0 or z = 1.
        assert_eq!(solutions(mat![[-1.0]], vec![1.0]).solutions, [[0.0], [1.0]]);
        // w = (1 - z1 + 2 z2, 1 + 2 z1 - z2): (0, 0), (1, 0), (0, 1); both positive would need z =
        // (-1, -1).
        let three = solutions(mat![[-1.0, 2.0], [2.0, -1.0]], vec![1.0, 1.0]);
        assert_eq!(three.solutions, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(three.undecided, 0);
    }

    #[test]
    fn a_singular_block_is_undecided_unless_it_contradicts_itself() {
        // z1 + z2 = 1 twice: a segment of solutions, of which the corners are found.
        let segment = solutions(mat![[1.0, 1.0], [1.0, 1.0]], vec![-1.0, -1.0]);
        assert_eq!(segment.solutions, [[1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(segment.undecided, 1);
        // z1 + z2 = 1 and = 2: no point there.
        let contradiction = solutions(mat![[1.0, 1.0], [1.0, 1.0]], vec![-1.0, -2.0]);
        assert_eq!(contradiction.undecided, 0);
        assert_eq!(contradiction.solutions, [[0.0, 2.0]]);
    }

    #[test]
    fn too_large_is_refused() {
        let n = LARGEST_SIZE + 1;
        let lcp = Lcp::new(Mat::identity(n, n), vec![-1.0; n]).unwrap();
        assert!(enumerate(&lcp, &LemkeSettings::default()).is_none());
    }
}

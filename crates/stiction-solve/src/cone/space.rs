//! What the methods ask of a problem, whatever its shape: rates, sweeps and Newton steps.
//!
//! A problem is loaded into a space island by island. All its contacts have the same number $D$ of
//! rows there, the normal first; rows that a law does not have are zero, with a one on the diagonal
//! of $W_{ii}$ so that their impulses stay zero.

use super::law::Law;
use super::one_contact::OneContact;

/// A matrix of one contact.
pub(crate) type Small<const D: usize> = [[f64; D]; D];

/// The problem $u = W r + q$ of some contacts with $D$ rows each.
pub(crate) trait Space<const D: usize> {
    /// The law of each contact.
    fn laws(&self) -> &[Law];

    /// $W_{ii}$ of each contact.
    fn diagonal(&self) -> &[Small<D>];

    /// Writes $u = W r + q$, computed anew from $r$.
    fn rates(&mut self, r: &[[f64; D]], u: &mut [[f64; D]]);

    /// Coordinates of the bodies, where they are known.
    fn coordinate_count(&self) -> Option<usize>;

    /// Whether there is a cheap sweep.
    fn can_sweep(&self) -> bool;

    /// One sweep of Gauss-Seidel over all contacts. Returns the sum of the squares of the changes
    /// of rates, each by its own $W_{ii}$.
    ///
    /// `is_first` says that $r$ is not what the last sweep left.
    fn sweep(&mut self, r: &mut [[f64; D]], contacts: &[OneContact<D>], alphas: &mut [f64], is_first: bool) -> f64;

    /// Solves $A\,du + B\,dr = -F$ with $du = W\,dr$, all $B_i$ regular; whether that was possible.
    fn newton_step(&mut self, a: &[Small<D>], b: &[Small<D>], f: &[[f64; D]], dr: &mut [[f64; D]]) -> bool;

    /// The same with the $A$ and $B$ of the last [`newton_step`](Self::newton_step), which was
    /// possible, and another $F$.
    fn newton_step_again(&mut self, f: &[[f64; D]], dr: &mut [[f64; D]]) -> bool;

    /// Multiplications of a sweep, and of a Newton step, roughly.
    fn sweep_work(&self) -> u64;
    fn step_work(&self) -> u64;

    /// The sign of the determinant of $A W + B$ of the last [`newton_step`](Self::newton_step), 1
    /// or -1.
    fn determinant_sign(&self) -> f64;
}

/// What stands on the diagonal of an empty row that a contact has, relative to the other rows. Its
/// tangent moves nothing, and friction along it is at its bound as soon as it slides. Too large:
/// such friction counts as sticking. Too small: lost in the rounding of the other rows.
const EMPTY_ROW: f64 = 1e-12;

/// Puts a number on the diagonal where a row is empty: the mean of the others where the law has no
/// such row, so that scales are theirs, and next to nothing where it has. Returns that mean.
pub(crate) fn complete_diagonal<const D: usize>(w: &mut Small<D>, is_present: &[bool; D]) -> f64 {
    let is_empty: [bool; D] = std::array::from_fn(|k| (0..D).all(|j| w[k][j] == 0.0 && w[j][k] == 0.0));
    let (mut sum, mut count) = (0.0, 0);
    for k in (0..D).filter(|&k| !is_empty[k]) {
        sum += w[k][k];
        count += 1;
    }
    let mean = if count > 0 { sum / f64::from(count) } else { 1.0 };
    let usual = if mean > 0.0 { mean } else { 1.0 };
    for k in (0..D).filter(|&k| is_empty[k]) {
        w[k][k] = if is_present[k] { EMPTY_ROW * usual } else { usual };
    }
    mean
}

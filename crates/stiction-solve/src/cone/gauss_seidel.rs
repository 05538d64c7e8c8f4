//! Block Gauss-Seidel: each contact in turn is solved exactly, with all others held.
//!
//! A sweep costs little and never fails, but information moves one contact at a time: loose piles are solved in some dozen sweeps,
//! tall stacks and large mass ratios practically never.

use super::island::Island;
use super::space::Space;

/// Sweeps between two looks at the residual.
const BATCH: usize = 10;

/// How a run of sweeps ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sweeps {
    pub count: usize,
    pub residual: f64,
    /// Factor by which the change fell with each sweep, over the last ones.
    pub rate: f64,
}

/// Sweeps until the residual is below `target`, `limit` sweeps are done, or `may_go_on` says no. It is given the change of a sweep as
/// a rate, the factor by which it falls with each sweep, and the number of sweeps so far.
pub(crate) fn sweep<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    limit: usize,
    mut may_go_on: impl FnMut(f64, f64, usize) -> bool,
) -> Sweeps {
    let mut sweeps = Sweeps { count: 0, residual: f64::INFINITY, rate: 1.0 };
    let mut last = f64::INFINITY;
    while sweeps.count < limit {
        let batch = BATCH.min(limit - sweeps.count);
        let mut change = 0.0;
        let mut done = 0;
        for number in 0..batch {
            let Island { r, contacts, alphas, .. } = &mut *island;
            change = space.sweep(r, contacts, alphas, number == 0, false).sqrt();
            done += 1;
            if change <= 0.1 * target {
                break;
            }
        }
        sweeps.count += done;
        sweeps.rate = if last.is_finite() && last > 0.0 { (change / last).powf(1.0 / done as f64) } else { 0.5 };
        last = change;
        // The change is a lower estimate of the error: look at the residual only when it may be small enough.
        if change <= target || sweeps.count >= limit || !may_go_on(change, sweeps.rate, sweeps.count) {
            sweeps.residual = island.measure(space);
            if sweeps.residual <= target || change == 0.0 || change > target {
                break;
            }
        }
    }
    sweeps
}

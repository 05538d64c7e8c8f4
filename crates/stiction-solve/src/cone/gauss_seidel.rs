//! Block Gauss-Seidel: each contact in turn is solved exactly, with all others held.
//!
//! A sweep costs little and never fails, but information moves one contact at a time: loose piles are solved in some dozen sweeps,
//! tall stacks and large mass ratios practically never.

use super::island::Island;
use super::space::Space;

/// Sweeps between two looks at the residual.
const BATCH: usize = 5;

/// Sweeps until the residual is below `target`, `limit` sweeps are done, or `may_go_on` says no. It is given the change of a sweep as
/// a rate, the factor by which it falls with each sweep, and the number of sweeps so far. Returns that number.
pub(crate) fn sweep<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    limit: usize,
    mut may_go_on: impl FnMut(f64, f64, usize) -> bool,
) -> usize {
    let mut count = 0;
    let mut last = f64::INFINITY;
    while count < limit && !island.work.is_spent() {
        let batch = BATCH.min(limit - count);
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
        count += done;
        island.work.spend(done as u64 * space.sweep_work());
        let rate = if last.is_finite() && last > 0.0 { (change / last).powf(1.0 / done as f64) } else { 0.5 };
        last = change;
        // The change is a lower estimate of the error: look at the residual only when it may be small enough.
        if change <= target || count >= limit || !may_go_on(change, rate, count) {
            let residual = island.measure(space);
            if residual <= target || change == 0.0 || change > target {
                break;
            }
        }
    }
    count
}

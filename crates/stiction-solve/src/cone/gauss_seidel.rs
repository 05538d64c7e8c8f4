//! Block Gauss-Seidel: each contact in turn is solved exactly, with all others held.
//!
//! A sweep costs little and never fails, but information moves one contact at a time: loose piles
//! are solved in some dozen sweeps, tall stacks and large mass ratios practically never.

use super::island::Island;
use super::space::Space;
use crate::PortableMath as _;

/// Sweeps between two looks at the residual.
const BATCH: usize = 5;

/// How far sweeps have come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Sweeps so far.
    pub count: usize,
    /// The change of the last sweep, as a rate.
    pub change: f64,
    /// The change at the end of the batch before, and the sweeps since then.
    last: f64,
    batch: usize,
}

impl Progress {
    /// The factor by which the change falls with each sweep.
    pub fn rate(&self) -> f64 {
        let is_known = self.last.is_finite() && self.last > 0.0;
        if is_known { (self.change / self.last).portable_powf(1.0 / self.batch as f64) } else { 0.5 }
    }
}

/// Sweeps until the residual is below `target`, `limit` sweeps are done, or `may_go_on` says no.
/// Returns their number.
pub(crate) fn sweep<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    limit: usize,
    mut may_go_on: impl FnMut(&Progress) -> bool,
) -> usize {
    let mut count = 0;
    let mut last = f64::INFINITY;
    while count < limit && !island.work.is_spent() {
        let batch = BATCH.min(limit - count);
        let mut change = 0.0;
        let mut done = 0;
        for number in 0..batch {
            let Island { r, contacts, alphas, .. } = &mut *island;
            change = space.sweep(r, contacts, alphas, number == 0).sqrt();
            done += 1;
            if change <= 0.1 * target {
                break;
            }
        }
        count += done;
        island.work.spend(done as u64 * space.sweep_work());
        let progress = Progress { count, change, last, batch: done };
        last = change;
        // The change is a lower estimate of the error: look at the residual only when it may be
        // small enough.
        if change <= target || count >= limit || !may_go_on(&progress) {
            let residual = island.measure(space);
            if residual <= target || change == 0.0 || change > target {
                break;
            }
        }
    }
    count
}

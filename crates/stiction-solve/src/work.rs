//! What ends every solve: a limit on its work, and somebody who no longer waits for it.
//!
//! A method may converge, fail, or go on for ever; [`Work`] sees to it that the last does not
//! happen. It counts multiplications, roughly, and not seconds, so that results do not depend on
//! the machine or on what else it does. Every loop that may be long asks [`Work::is_spent`].
//!
//! Whoever starts a solve may want to end it, at a signal for instance. [`watch`] makes the solves
//! of this thread end soon after a flag is set, with the status
//! [`Interrupted`](crate::SolveStatus::Interrupted) and the best point so far:
//!
//! ```
//! use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
//! use stiction_solve::{Lcp, LemkeSettings, SolveStatus, faer::mat, work};
//!
//! let flag = Arc::new(AtomicBool::new(false));
//! let watch = work::watch(&flag); // until the end of the scope
//! flag.store(true, Ordering::Relaxed); // by another thread
//! let lcp = Lcp::new(mat![[2.0]], vec![-1.0])?;
//! assert_eq!(lcp.solve(&LemkeSettings::default()).report.status, SolveStatus::Interrupted);
//! drop(watch);
//! assert_eq!(lcp.solve(&LemkeSettings::default()).report.status, SolveStatus::Solved);
//! # Ok::<(), stiction_solve::ProblemError>(())
//! ```

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Multiplications that a solve may take, unless it is told otherwise: some minutes. Too small:
/// hard problems are given up that one more method would have solved. Too large: hopeless ones keep
/// their user waiting.
pub const DEFAULT_WORK_LIMIT: u64 = 300_000_000_000;

thread_local! {
    static WATCHED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// While this lives, solves of this thread look at a flag; see [`watch`].
#[must_use = "the flag is looked at only while this lives"]
#[derive(Debug)]
pub struct Watch {
    before: Option<Arc<AtomicBool>>,
}

/// Makes the solves of this thread end soon after the flag is set, as long as what is returned
/// lives. A flag that was watched before is watched again afterwards.
pub fn watch(flag: &Arc<AtomicBool>) -> Watch {
    Watch { before: WATCHED.replace(Some(Arc::clone(flag))) }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.set(self.before.take());
    }
}

/// Whether the flag that this thread watches, if any, is set.
pub fn is_interrupted() -> bool {
    WATCHED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// What is left of the work that a solve may take.
#[derive(Clone, Debug, Default)]
pub struct Work {
    left: u64,
}

impl Work {
    /// Nothing is spent of the limit.
    pub fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    /// What is left of it.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Notes some multiplications.
    pub fn spend(&mut self, multiplications: u64) {
        self.left = self.left.saturating_sub(multiplications);
    }

    /// Whether to stop: the limit is reached, or somebody asks for it.
    pub fn is_spent(&self) -> bool {
        self.left == 0 || is_interrupted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_its_limit_and_at_the_flag() {
        let mut work = Work::new(10);
        work.spend(9);
        assert!(!work.is_spent());
        work.spend(5);
        assert!(work.is_spent());

        let (outer, inner) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let work = Work::new(1);
        let _outer = watch(&outer);
        {
            let _inner = watch(&inner);
            assert!(work.is_spent());
        }
        assert!(!work.is_spent(), "the outer flag is watched again");
        outer.store(true, Ordering::Relaxed);
        assert!(work.is_spent());
    }
}

//! How often a thread has parsed, read, built and printed a scene, so that a test can hold a run to
//! once each.

use std::cell::Cell;

/// Work that a scene needs once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A text becomes a tree.
    Parse,
    /// A tree becomes a [`Scene`](crate::Scene).
    Read,
    /// A scene becomes a system with its state at the start.
    Build,
    /// A scene becomes a text.
    Print,
}

thread_local! {
    static DONE: Cell<[u64; 4]> = const { Cell::new([0; 4]) };
}

/// How often this thread has done it so far.
pub fn done(task: Task) -> u64 {
    DONE.get()[task as usize]
}

/// Counts a task.
pub(crate) fn count(task: Task) {
    let mut done = DONE.get();
    done[task as usize] += 1;
    DONE.set(done);
}

//! What can be wrong with a problem before any method sees it.

use thiserror::Error;

/// A problem that cannot be stated: the caller's mistake, with the value that was wrong.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProblemError {
    /// A matrix or vector does not have the size that the others ask for.
    #[error("{what} has size {found}, but {expected} is needed")]
    Size {
        /// Which of the data.
        what: &'static str,
        /// The size found, for example `3 x 2`.
        found: String,
        /// The size needed.
        expected: String,
    },
    /// An entry is infinite or not a number.
    #[error("{what}: entry ({row}, {column}) is {value}, and every entry must be finite")]
    NotFinite {
        /// Which of the data.
        what: &'static str,
        /// Row of the entry, from 0.
        row: usize,
        /// Column of the entry, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A group of a contact LCP is malformed.
    #[error("contact or friction element {number} {reason}")]
    Group {
        /// Which group, from 0.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A sparse matrix cannot be factored without pivoting.
    #[error("row {row} of the sparse matrix has the pivot {pivot:e}: it depends on the others, or is not finite")]
    Pivot {
        /// Which row, from 0.
        row: usize,
        /// The pivot found.
        pivot: f64,
    },
    /// The free rows do not determine the free variables.
    #[error(
        "the block of the {size} free variables is singular (smallest pivot {smallest_pivot:.1e} of the largest): \
         remove redundant free rows"
    )]
    SingularFreeBlock {
        /// Number of free variables.
        size: usize,
        /// Smallest pivot divided by the largest.
        smallest_pivot: f64,
    },
}

//! How a solve ended.

use serde::Serialize;

/// How a solve ended. Only the residual, computed outside the methods, can say
/// [`SolveStatus::Solved`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolveStatus {
    /// The residual is within the tolerance, as that of the empty problem.
    #[default]
    Solved,
    /// Proved, by a vector that [`proves_no_solution`](crate::residual::proves_no_solution)
    /// accepts, or because all complementary bases were tried and none was left undecided.
    NoSolution,
    /// Lemke's path ended in a ray. This is not a proof that there is no solution.
    SecondaryRay,
    /// The method used up its pivots or iterations, or all methods their work.
    IterationLimit,
    /// The method believed that it had finished, but the residual is above the tolerance.
    Inaccurate,
    /// A number became infinite or undefined on the way.
    Breakdown,
    /// Whoever waited asked it to stop, see [`work`](crate::work).
    Interrupted,
}

impl SolveStatus {
    /// Whether there is a solution, or a proof that there is none.
    pub fn is_decided(self) -> bool {
        matches!(self, Self::Solved | Self::NoSolution)
    }
}

/// Outcome of one solve.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SolveReport {
    /// How it ended.
    pub status: SolveStatus,
    /// Residual of the returned point in the problem's own scale (see [`crate::residual`]), without
    /// unit.
    pub residual: f64,
    /// Pivots or iterations used.
    pub iterations: usize,
    /// Number of complementary unknowns of the problem that was solved.
    pub size: usize,
}

impl SolveReport {
    /// Whether the residual confirmed the answer.
    pub fn is_solved(&self) -> bool {
        self.status == SolveStatus::Solved
    }
}

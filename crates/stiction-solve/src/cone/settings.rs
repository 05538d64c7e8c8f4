//! Settings and reports of the solver of cone problems.

use super::residual::ConeErrors;
use crate::SolveStatus;
use crate::work::DEFAULT_WORK_LIMIT;

/// When a cone problem counts as solved, and how much work that may take.
#[derive(Clone, Debug, PartialEq)]
pub struct ConeSettings {
    /// Largest $e_s$ of a solution, which does not depend on units; see
    /// [`residual`](super::residual).
    pub tolerance: f64,
    /// Largest $e_q$ of a solution, which does; infinite where only the other counts. Where it is
    /// not, both errors are those of the [`judge`](crate::judge) of problem files, with what
    /// rounding may add to them, and they are relative however small $q$ is.
    pub unscaled_tolerance: f64,
    /// Sweeps of Gauss-Seidel before Newton's method when there is no start.
    pub first_sweeps: usize,
    /// The same when there is one.
    pub warm_sweeps: usize,
    /// Sweeps of Gauss-Seidel in all, for each island. Reached only by problems that no other
    /// method solves.
    pub sweep_limit: usize,
    /// Factorisations of one run of Newton's method.
    pub newton_limit: usize,
    /// Factorisations of one run along the path of smoothed equations, at most; zero for none.
    pub path_limit: usize,
    /// Pyramids that are solved by Lemke's method for a start, at most; zero for none.
    pub pyramid_limit: usize,
    /// Factorisations of one run of the active set, at most; zero for none.
    pub active_set_limit: usize,
    /// Iterations of one run of the interior-point method.
    pub interior_limit: usize,
    /// Multiplications of all methods on all islands, roughly; see [`work`](crate::work).
    pub work_limit: u64,
}

impl Default for ConeSettings {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            unscaled_tolerance: f64::INFINITY,
            first_sweeps: 15,
            warm_sweeps: 2,
            sweep_limit: 5000,
            newton_limit: 40,
            path_limit: 400,
            pyramid_limit: 8,
            active_set_limit: 60,
            interior_limit: 60,
            work_limit: DEFAULT_WORK_LIMIT,
        }
    }
}

/// A method of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConeMethod {
    /// The closed form for one contact.
    OneContact,
    /// Block Gauss-Seidel.
    GaussSeidel,
    /// Semismooth Newton.
    Newton,
    /// The path of smoothed equations.
    Path,
    /// Lemke's method on pyramids in place of cones.
    Pyramids,
    /// Interior points.
    InteriorPoint,
    /// Newton's method with given modes, changed one at a time.
    ActiveSet,
}

/// One stage of the chain on one island.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConeStage {
    /// The island, from 0.
    pub island: usize,
    /// What was run.
    pub method: ConeMethod,
    /// Which of its runs, from 0.
    pub run: usize,
    /// Sweeps, factorisations or iterations.
    pub iterations: usize,
    /// Residual at its end: the norm of the equations of the method, a velocity, over that of the
    /// free rates of the whole problem.
    pub residual: f64,
}

/// How a solve ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConeReport {
    /// [`SolveStatus::Solved`] only when [`residual`](super::residual) says so,
    /// [`SolveStatus::NoSolution`] only with a certificate that was checked.
    pub status: SolveStatus,
    /// The errors of the returned point.
    pub errors: ConeErrors,
    /// Number of islands; zero where no impulses solve the problem, which is seen before they are
    /// looked for.
    pub islands: usize,
    /// All stages, in the order in which they were run.
    pub stages: Vec<ConeStage>,
}

impl ConeReport {
    /// Whether the residual confirmed the answer.
    pub fn is_solved(&self) -> bool {
        self.status == SolveStatus::Solved
    }

    /// Sweeps, factorisations and iterations of all stages.
    pub fn iterations(&self) -> usize {
        self.stages.iter().map(|stage| stage.iterations).sum()
    }
}

/// What a solve returns: the best point that was found, whatever the status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConeSolution {
    /// Impulses of the contacts, row by row.
    pub impulses: Vec<f64>,
    /// Impulses of the joints; empty for a local problem.
    pub joints: Vec<f64>,
    /// Velocities; empty for a local problem.
    pub velocity: Vec<f64>,
    /// Where it was proved that there is no solution, the normal impulse of each contact and then
    /// the impulses of the joints that prove it, see [`certificate`](super::certificate); empty
    /// otherwise.
    pub certificate: Vec<f64>,
    /// How it ended.
    pub report: ConeReport,
}

//! Methods compared on one friction problem with exact cones: status, residuals and time, side by side.

use serde::Serialize;
use stiction_solve::ProblemError;
use stiction_solve::cone::{ConeMethod, ConeSettings, ConeSolution, ConeSolver, judge_global};
use stiction_solve::fclib::FclibProblem;
use stiction_solve::judge::judge_local;
use stiction_solve::work::is_interrupted;

use crate::bench::timing::Stopwatch;
use crate::solve_problem::status_name;

/// A solve shorter than this is repeated, in seconds; the best time counts.
const WORTH_TIMING: f64 = 0.05;

/// Most repeats of a solve.
const REPEATS: usize = 20;

/// Sweeps of Gauss-Seidel when it is asked for alone.
const SWEEPS_ALONE: usize = 100_000;

/// A method for friction problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConeChoice {
    /// The chain of all methods, the cheap ones first.
    Automatic,
    /// Block Gauss-Seidel alone.
    GaussSeidel,
    /// Semismooth Newton alone.
    Newton,
    /// Interior points alone.
    InteriorPoint,
}

impl ConeChoice {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::Automatic, Self::GaussSeidel, Self::Newton, Self::InteriorPoint];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::GaussSeidel => "gauss-seidel",
            Self::Newton => "newton",
            Self::InteriorPoint => "interior-point",
        }
    }

    fn settings(self, tolerance: f64, work_limit: u64) -> ConeSettings {
        let settings = ConeSettings { tolerance, unscaled_tolerance: tolerance, work_limit, ..ConeSettings::default() };
        let no_sweeps = ConeSettings { first_sweeps: 0, warm_sweeps: 0, sweep_limit: 0, ..settings.clone() };
        match self {
            Self::Automatic => settings,
            Self::GaussSeidel => ConeSettings {
                newton_limit: 0,
                path_limit: 0,
                pyramid_limit: 0,
                active_set_limit: 0,
                interior_limit: 0,
                sweep_limit: SWEEPS_ALONE,
                ..settings
            },
            Self::Newton => ConeSettings { path_limit: 0, pyramid_limit: 0, interior_limit: 0, ..no_sweeps },
            Self::InteriorPoint => {
                ConeSettings { newton_limit: 0, path_limit: 0, pyramid_limit: 0, active_set_limit: 0, ..no_sweeps }
            }
        }
    }
}

/// What a method made of a problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConeAnswer {
    /// Impulses, contact by contact; absent unless they solve the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<Vec<f64>>,
    /// `solved`, `no-solution` (proved) or `not-solved`.
    pub status: &'static str,
    /// Name of the method.
    pub method: &'static str,
    /// Sweeps, factorisations and iterations of all stages.
    pub iterations: usize,
    /// $e_q$ of the point reached.
    pub err_q: f64,
    /// $e_s$ of the point reached, without units.
    pub err_scaled: f64,
    /// What rounding alone may make of $e_q$ and $e_s$.
    pub rounding: [f64; 2],
    /// Best time of the solve alone, in seconds. Each repeat begins from nothing; only memory and what follows from the
    /// pattern of the matrices are kept between them, as from step to step of a simulation.
    pub time_s: f64,
    /// What was run, with its iterations, in order.
    pub stages: Vec<(String, usize)>,
    /// Where there is no solution, the normal impulse of each contact, and then the impulses of the joints, that prove it: they move nothing and work against the offsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Vec<f64>>,
}

/// Number of contacts of a problem.
pub fn contact_count(problem: &FclibProblem) -> usize {
    match problem {
        FclibProblem::Local(problem) => problem.cones().len(),
        FclibProblem::Global(problem) => problem.cones().len(),
    }
}

/// Solves a problem with one method, to $e_q$ and $e_s$ within the tolerance, each time from nothing.
///
/// # Errors
/// [`ProblemError`] when the mass matrix of a global problem is singular.
pub fn solve_cones(
    problem: &FclibProblem,
    choice: ConeChoice,
    tolerance: f64,
    work_limit: u64,
) -> Result<ConeAnswer, ProblemError> {
    solve_cones_repeatedly(problem, choice, tolerance, work_limit, REPEATS)
}

/// The same, with a solve that is short repeated at most so many times.
///
/// # Errors
/// As [`solve_cones`].
pub fn solve_cones_repeatedly(
    problem: &FclibProblem,
    choice: ConeChoice,
    tolerance: f64,
    work_limit: u64,
    repeats: usize,
) -> Result<ConeAnswer, ProblemError> {
    let settings = choice.settings(tolerance, work_limit);
    let mut best = f64::INFINITY;
    let mut solver = ConeSolver::default();
    for _ in 0..repeats.max(1) {
        let stopwatch = Stopwatch::start();
        match problem {
            FclibProblem::Local(problem) => solver.solve_local(problem, &settings, None),
            FclibProblem::Global(problem) => solver.solve_global(problem, &settings, None)?,
        };
        let time = stopwatch.seconds();
        best = best.min(time);
        if time > WORTH_TIMING || is_interrupted() {
            break;
        }
    }
    let answer: ConeSolution = solver.solution().clone();
    // Judged once more, from the problem alone.
    let judgement = match problem {
        FclibProblem::Local(problem) => judge_local(problem, &answer.impulses),
        FclibProblem::Global(problem) => judge_global(problem, &answer.impulses, &answer.joints)?,
    };
    let method_name = |method: ConeMethod| format!("{method:?}");
    Ok(ConeAnswer {
        status: status_name(&judgement, tolerance, answer.report.status),
        method: choice.name(),
        iterations: answer.report.iterations(),
        err_q: judgement.err_q.value,
        err_scaled: judgement.err_scaled.value,
        rounding: [judgement.err_q.rounding, judgement.err_scaled.rounding],
        time_s: best,
        stages: answer.report.stages.iter().map(|stage| (method_name(stage.method), stage.iterations)).collect(),
        r: judgement.accepts(tolerance).then_some(answer.impulses),
        certificate: (!answer.certificate.is_empty()).then_some(answer.certificate),
    })
}

//! Problem files, and methods compared on them: status, errors and time, side by side.

use std::path::Path;

use serde::Serialize;
use stiction_solve::cone::{ConeSettings, ConeSolver, judge_global};
use stiction_solve::fclib::{self, FclibError, FclibProblem};
use stiction_solve::judge::judge_local;
use stiction_solve::lcp_refine::refine;
use stiction_solve::problem_file::{ProblemFileError, read_lcp};
use stiction_solve::work::is_interrupted;
use stiction_solve::{
    Judgement, Lcp, LcpSolution, Lemke, LemkeSettings, LemkeTableau, ProblemError, SolveStatus, enumerate, judge_lcp,
};

use crate::bench::timing::Stopwatch;

/// A solve shorter than this is repeated, in seconds; the best time counts.
const WORTH_TIMING: f64 = 0.05;

/// Factors on the tolerance for the method's own residual, which are tried one after the other
/// until the judge is content.
const TARGETS: [f64; 3] = [1.0, 1e-3, 1e-6];

/// Sweeps of Gauss-Seidel when it is asked for alone.
const SWEEPS_ALONE: usize = 100_000;

/// A problem of a file.
#[derive(Clone, Debug)]
pub enum Problem {
    /// A linear complementarity problem.
    Lcp(Lcp),
    /// Contacts with exact friction cones.
    Cones(FclibProblem),
}

impl Problem {
    /// Reads a folder with an LCP, or an FCLIB file.
    ///
    /// # Errors
    /// What is wrong with the files, and where.
    pub fn read<E: From<ProblemFileError> + From<FclibError>>(path: &Path) -> Result<Self, E> {
        Ok(if path.is_dir() { Self::Lcp(read_lcp(path)?) } else { Self::Cones(fclib::read(path)?) })
    }

    /// Number of unknowns of an LCP, or of contacts.
    pub fn size(&self) -> usize {
        match self {
            Self::Lcp(lcp) => lcp.size(),
            Self::Cones(FclibProblem::Local(problem)) => problem.cones().len(),
            Self::Cones(FclibProblem::Global(problem)) => problem.cones().len(),
        }
    }
}

/// A method for problems of one kind, or of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Friction problem: the chain of all methods. LCP: a guess at the basis, Lemke's method where
    /// it is wrong, and enumeration where that fails too and the problem is small.
    Automatic,
    /// Lemke's method in revised form.
    Lemke,
    /// Lemke's method on the explicit tableau, the readable reference.
    Tableau,
    /// All complementary bases; at most 20 unknowns.
    Enumerate,
    /// Block Gauss-Seidel alone.
    GaussSeidel,
    /// Semismooth Newton alone.
    Newton,
    /// Interior points alone.
    InteriorPoint,
}

impl Method {
    /// All methods, with their names and what they are on the command line.
    pub const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::Automatic, "automatic", "Whatever suits the problem, and what comes next where that fails"),
        (Self::Lemke, "lemke", "LCP: Lemke's method in revised form"),
        (Self::Tableau, "tableau", "LCP: Lemke's method on the explicit tableau"),
        (Self::Enumerate, "enumerate", "LCP: all complementary bases, at most 20 unknowns"),
        (Self::GaussSeidel, "gauss-seidel", "Friction problem: block Gauss-Seidel"),
        (Self::Newton, "newton", "Friction problem: semismooth Newton"),
        (Self::InteriorPoint, "interior-point", "Friction problem: interior points"),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether the method is for problems of this kind.
    pub fn takes(self, problem: &Problem) -> bool {
        match self {
            Self::Automatic => true,
            Self::Lemke | Self::Tableau | Self::Enumerate => matches!(problem, Problem::Lcp(_)),
            Self::GaussSeidel | Self::Newton | Self::InteriorPoint => matches!(problem, Problem::Cones(_)),
        }
    }

    /// The chain of methods for cones with this one alone, or with all.
    fn cone_settings(self, tolerance: f64, work_limit: u64) -> ConeSettings {
        let all = ConeSettings { tolerance, unscaled_tolerance: tolerance, work_limit, ..ConeSettings::default() };
        let none = ConeSettings {
            first_sweeps: 0,
            warm_sweeps: 0,
            sweep_limit: 0,
            newton_limit: 0,
            path_limit: 0,
            pyramid_limit: 0,
            active_set_limit: 0,
            interior_limit: 0,
            ..all.clone()
        };
        match self {
            Self::GaussSeidel => ConeSettings {
                first_sweeps: all.first_sweeps,
                warm_sweeps: all.warm_sweeps,
                sweep_limit: SWEEPS_ALONE,
                ..none
            },
            Self::Newton => {
                ConeSettings { newton_limit: all.newton_limit, active_set_limit: all.active_set_limit, ..none }
            }
            Self::InteriorPoint => ConeSettings { interior_limit: all.interior_limit, ..none },
            _ => all,
        }
    }
}

/// What is asked of a method.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Largest error of an answer, $e_q$ and $e_s$ alike.
    pub tolerance: f64,
    /// Multiplications, roughly, after which the method gives up.
    pub work_limit: u64,
    /// Most repeats of a solve that is too short to be timed.
    pub repeats: usize,
}

/// What a method made of a problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The unknowns of an LCP; absent unless they solve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<Vec<f64>>,
    /// Impulses, contact by contact; absent unless they solve the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<Vec<f64>>,
    /// `solved`, `no-solution` (proved) or `not-solved`. Only the judge of problem files says
    /// `solved`.
    pub status: &'static str,
    /// Name of the method.
    pub method: &'static str,
    /// Pivots, or sweeps, factorisations and iterations of all stages.
    pub iterations: usize,
    /// $e_q$ of the point reached, as the [judge](stiction_solve::judge) defines it.
    pub err_q: f64,
    /// $e_s$ of the point reached, without units.
    pub err_scaled: f64,
    /// What rounding alone may make of $e_q$ and $e_s$.
    pub rounding: [f64; 2],
    /// Best time of the solve alone, in seconds, scaling included. Each repeat begins from nothing;
    /// only memory and what follows from the pattern of the matrices are kept between them, as from
    /// step to step of a simulation.
    pub time_s: f64,
    /// What was run on a friction problem, with its iterations, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<(String, usize)>>,
    /// Number of solutions, where all were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solution_count: Option<usize>,
    /// Where there is no solution, what proves it. LCP: $y \ge 0$ with $M^T y \le 0$ and
    /// $q^T y < 0$, exactly; absent where all complementary bases were excluded instead. Friction
    /// problem: the normal impulse of each contact, and then the impulses of the joints, which move
    /// nothing and work against the offsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Vec<f64>>,
}

/// Solves a problem with one method, each time from nothing; none where the method does not take
/// problems of this size.
///
/// # Errors
/// [`ProblemError`] when the mass matrix of a friction problem is singular.
pub fn solve_problem(problem: &Problem, method: Method, request: &Request) -> Result<Option<Answer>, ProblemError> {
    match problem {
        Problem::Lcp(lcp) => solve_lcp(lcp, method, request),
        Problem::Cones(problem) => solve_cones(problem, method, request).map(Some),
    }
}

/// Repeats what is short, and returns the best time in seconds. `solve` returns a stopwatch that it
/// started.
fn best_time(repeats: usize, mut solve: impl FnMut() -> Result<Stopwatch, ProblemError>) -> Result<f64, ProblemError> {
    let mut best = f64::INFINITY;
    for _ in 0..repeats.max(1) {
        let time = solve()?.seconds();
        best = best.min(time);
        if time > WORTH_TIMING || is_interrupted() {
            break;
        }
    }
    Ok(best)
}

fn answer(
    (method, request, time_s): (Method, &Request, f64),
    judgement: &Judgement,
    status: SolveStatus,
    iterations: usize,
    certificate: Vec<f64>,
) -> Answer {
    Answer {
        z: None,
        r: None,
        status: match status {
            _ if judgement.accepts(request.tolerance) => "solved",
            SolveStatus::NoSolution => "no-solution",
            _ => "not-solved",
        },
        method: method.name(),
        iterations,
        err_q: judgement.err_q.value,
        err_scaled: judgement.err_scaled.value,
        rounding: [judgement.err_q.rounding, judgement.err_scaled.rounding],
        time_s,
        stages: None,
        solution_count: None,
        certificate: (!certificate.is_empty()).then_some(certificate),
    }
}

fn solve_cones(problem: &FclibProblem, method: Method, request: &Request) -> Result<Answer, ProblemError> {
    let settings = method.cone_settings(request.tolerance, request.work_limit);
    let mut solver = ConeSolver::default();
    let time = best_time(request.repeats, || {
        let stopwatch = Stopwatch::start();
        match problem {
            FclibProblem::Local(problem) => solver.solve_local(problem, &settings, None),
            FclibProblem::Global(problem) => solver.solve_global(problem, &settings, None)?,
        };
        Ok(stopwatch)
    })?;
    let solution = solver.solution().clone();
    // Judged once more, from the problem alone.
    let judgement = match problem {
        FclibProblem::Local(problem) => judge_local(problem, &solution.impulses),
        FclibProblem::Global(problem) => judge_global(problem, &solution.impulses, &solution.joints)?,
    };
    let report = solution.report;
    let stages = report.stages.iter().map(|stage| (format!("{:?}", stage.method), stage.iterations)).collect();
    Ok(Answer {
        r: judgement.accepts(request.tolerance).then_some(solution.impulses),
        stages: Some(stages),
        ..answer((method, request, time), &judgement, report.status, report.iterations(), solution.certificate)
    })
}

fn solve_lcp(lcp: &Lcp, method: Method, request: &Request) -> Result<Option<Answer>, ProblemError> {
    let (mut solver, mut stated, mut found) = (LcpSolver::default(), Lcp::default(), None);
    let time = best_time(request.repeats, || {
        let (mut matrix, mut offset) = stated.take_data();
        matrix.clear();
        (0..lcp.size()).for_each(|j| matrix.extend_from_slice(lcp.column(j)));
        offset.clear();
        offset.extend_from_slice(lcp.offset());
        let stopwatch = Stopwatch::start();
        // The problem is stated anew, because the scaling that this includes is part of the work.
        stated.state(matrix, offset)?;
        found = solver.solve(&stated, method, request);
        Ok(stopwatch)
    })?;
    let (Some(judgement), LcpSolver { best: solution, solution_count, .. }) = (found, solver) else { return Ok(None) };
    let LcpSolution { z, report, certificate, .. } = solution;
    Ok(Some(Answer {
        z: judgement.accepts(request.tolerance).then_some(z),
        solution_count,
        ..answer((method, request, time), &judgement, report.status, report.iterations, certificate)
    }))
}

/// The memory of a method for LCPs, which is reused from solve to solve, with what it found last.
#[derive(Default)]
struct LcpSolver {
    lemke: Lemke,
    /// The point that is judged best, and the one of the last target.
    best: LcpSolution,
    trial: LcpSolution,
    solution_count: Option<usize>,
}

impl LcpSolver {
    /// Solves a problem to the satisfaction of the judge, if that can be; leaves the best point.
    /// None where the method does not take problems of this size.
    fn solve(&mut self, lcp: &Lcp, method: Method, request: &Request) -> Option<Judgement> {
        let tolerance = request.tolerance;
        let mut best: Option<Judgement> = None;
        for factor in TARGETS {
            let residual_tolerance = factor * tolerance;
            let settings =
                LemkeSettings { residual_tolerance, work_limit: request.work_limit, ..LemkeSettings::default() };
            self.run(lcp, method, &settings)?;
            let mut judgement = judge_lcp(lcp, &self.trial.z);
            if !judgement.accepts(tolerance)
                && let Some(refined) = refine(lcp, &self.trial.z)
            {
                let again = judge_lcp(lcp, &refined);
                if again.accepts(tolerance) || again.err_q.value < judgement.err_q.value {
                    (self.trial.z, judgement) = (refined, again);
                }
            }
            let is_decided = judgement.accepts(tolerance) || self.trial.report.status == SolveStatus::NoSolution;
            if is_decided || best.is_none_or(|best| judgement.err_q.value < best.err_q.value) {
                std::mem::swap(&mut self.best, &mut self.trial);
                best = Some(judgement);
            }
            if is_decided || is_interrupted() {
                break;
            }
        }
        best
    }

    /// Runs a method; none where it does not take problems of this size.
    fn run(&mut self, lcp: &Lcp, method: Method, settings: &LemkeSettings) -> Option<()> {
        match method {
            Method::Lemke => self.lemke.solve(lcp, settings, &[], &mut self.trial),
            Method::Tableau => self.trial = LemkeTableau::default().solve(lcp, settings),
            Method::Enumerate => {
                let found = enumerate(lcp, settings)?;
                self.solution_count = Some(found.solutions.len());
                self.trial = LcpSolution::default();
                self.trial.report.status = match (found.solutions.is_empty(), found.undecided) {
                    (true, 0) => SolveStatus::NoSolution,
                    _ => SolveStatus::Inaccurate,
                };
                self.trial.z = found.solutions.into_iter().next().unwrap_or_else(|| vec![0.0; lcp.size()]);
            }
            _ => {
                if !self.lemke.guess(lcp, settings, &mut self.trial) {
                    self.lemke.solve_or_enumerate(lcp, settings, &[], &mut self.trial);
                }
            }
        }
        Some(())
    }
}

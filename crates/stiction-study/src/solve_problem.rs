//! Methods compared on one LCP: status, errors and time, side by side.

use serde::Serialize;
use stiction_solve::lcp_refine::refine;
use stiction_solve::work::is_interrupted;
use stiction_solve::{
    Judgement, Lcp, LcpSolution, Lemke, LemkeSettings, LemkeTableau, SolveStatus, enumerate, judge_lcp,
};

use crate::bench::timing::Stopwatch;

/// A solve shorter than this is repeated, in seconds; the best time counts.
const WORTH_TIMING: f64 = 0.05;

/// Most repeats of a solve.
const REPEATS: usize = 20;

/// Factors on the tolerance for the method's own residual, which are tried one after the other until the judge is content.
const TARGETS: [f64; 3] = [1.0, 1e-3, 1e-6];

/// A method for LCPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LcpMethod {
    /// Lemke's method in revised form.
    Lemke,
    /// Lemke's method on the explicit tableau, the readable reference.
    Tableau,
    /// All complementary bases; at most 20 unknowns.
    Enumerate,
    /// A guess at the basis, Lemke's method where it is wrong, and enumeration where that fails too and the problem is small.
    Automatic,
}

impl LcpMethod {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::Automatic, Self::Lemke, Self::Tableau, Self::Enumerate];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lemke => "lemke",
            Self::Tableau => "tableau",
            Self::Enumerate => "enumerate",
            Self::Automatic => "automatic",
        }
    }
}

/// The word for what became of a problem. Only the judge of problem files says `solved`.
pub(crate) fn status_name(judgement: &Judgement, tolerance: f64, status: SolveStatus) -> &'static str {
    match status {
        _ if judgement.accepts(tolerance) => "solved",
        SolveStatus::NoSolution => "no-solution",
        _ => "not-solved",
    }
}

/// What a method made of a problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LcpAnswer {
    /// The unknowns; absent unless they solve the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<Vec<f64>>,
    /// `solved`, `no-solution` (proved) or `not-solved`.
    pub status: &'static str,
    /// Name of the method.
    pub method: &'static str,
    /// Pivots of Lemke's method.
    pub iterations: usize,
    /// $e_q$ of the point reached, $\lVert \min(z, M z + q) \rVert_2 / \lVert q \rVert_2$.
    pub err_q: f64,
    /// $e_s$ of the point reached: the residual in the problem's own scale.
    pub err_scaled: f64,
    /// What rounding alone may make of $e_q$ and $e_s$.
    pub rounding: [f64; 2],
    /// Best time of the solve alone, in seconds, scaling included. Each repeat begins from nothing in the memory of the last one.
    pub time_s: f64,
    /// Number of solutions, where all were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solution_count: Option<usize>,
    /// Where there is no solution, what proves it: $y \ge 0$ with $M^T y \le 0$ and $q^T y < 0$, exactly. Absent where all complementary bases were excluded instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Vec<f64>>,
}

/// The memory of a method, which is reused from solve to solve, with what it found last.
#[derive(Default)]
struct Solver {
    lemke: Lemke,
    /// The point that is judged best, and the one of the last target.
    best: LcpSolution,
    trial: LcpSolution,
    solution_count: Option<usize>,
}

impl Solver {
    /// Solves a problem to the satisfaction of the judge, if that can be; leaves the best point. None where the method does not
    /// take problems of this size.
    fn solve(&mut self, lcp: &Lcp, method: LcpMethod, settings: &LemkeSettings) -> Option<Judgement> {
        let tolerance = settings.residual_tolerance;
        let mut best: Option<Judgement> = None;
        for factor in TARGETS {
            let settings = LemkeSettings { residual_tolerance: factor * tolerance, ..settings.clone() };
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
    fn run(&mut self, lcp: &Lcp, method: LcpMethod, settings: &LemkeSettings) -> Option<()> {
        match method {
            LcpMethod::Lemke => self.lemke.solve(lcp, settings, &[], &mut self.trial),
            LcpMethod::Automatic => {
                if !self.lemke.guess(lcp, settings, &mut self.trial) {
                    self.lemke.solve_or_enumerate(lcp, settings, &[], &mut self.trial);
                }
            }
            LcpMethod::Tableau => self.trial = LemkeTableau::default().solve(lcp, settings),
            LcpMethod::Enumerate => {
                let found = enumerate(lcp, settings)?;
                self.solution_count = Some(found.solutions.len());
                self.trial = LcpSolution::default();
                self.trial.report.status = match (found.solutions.is_empty(), found.undecided) {
                    (true, 0) => SolveStatus::NoSolution,
                    _ => SolveStatus::Inaccurate,
                };
                self.trial.z = found.solutions.into_iter().next().unwrap_or_else(|| vec![0.0; lcp.size()]);
            }
        }
        Some(())
    }
}

/// Solves a problem with one method; none where the method does not take problems of this size.
pub fn solve_lcp(lcp: &Lcp, method: LcpMethod, settings: &LemkeSettings) -> Option<LcpAnswer> {
    solve_lcp_repeatedly(lcp, method, settings, REPEATS)
}

/// The same, with a solve that is short repeated at most so many times.
pub fn solve_lcp_repeatedly(
    lcp: &Lcp,
    method: LcpMethod,
    settings: &LemkeSettings,
    repeats: usize,
) -> Option<LcpAnswer> {
    let tolerance = settings.residual_tolerance;
    let mut best = f64::INFINITY;
    let mut answer = None;
    let (mut solver, mut stated) = (Solver::default(), Lcp::default());
    for _ in 0..repeats.max(1) {
        let (mut matrix, mut offset) = stated.take_data();
        matrix.clear();
        (0..lcp.size()).for_each(|j| matrix.extend_from_slice(lcp.column(j)));
        offset.clear();
        offset.extend_from_slice(lcp.offset());
        let stopwatch = Stopwatch::start();
        // The problem is stated anew, because the scaling that this includes is part of the work.
        stated.state(matrix, offset).ok()?;
        answer = Some(solver.solve(&stated, method, settings)?);
        let time = stopwatch.seconds();
        best = best.min(time);
        if time > WORTH_TIMING || is_interrupted() {
            break;
        }
    }
    let (judgement, Solver { best: solution, solution_count, .. }) = (answer?, solver);
    let is_solved = judgement.accepts(tolerance);
    Some(LcpAnswer {
        status: status_name(&judgement, tolerance, solution.report.status),
        method: method.name(),
        iterations: solution.report.iterations,
        err_q: judgement.err_q.value,
        err_scaled: judgement.err_scaled.value,
        rounding: [judgement.err_q.rounding, judgement.err_scaled.rounding],
        time_s: best,
        solution_count,
        certificate: (!solution.certificate.is_empty()).then_some(solution.certificate),
        z: is_solved.then_some(solution.z),
    })
}

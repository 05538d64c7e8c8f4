//! Methods compared on one problem: status, residual and time, side by side.

use std::time::Instant;

use serde::Serialize;
use stiction_solve::{Lcp, LcpSolution, Lemke, LemkeSettings, LemkeTableau, SolveStatus, enumerate};

/// A solve shorter than this is repeated, in seconds; the best time counts.
const WORTH_TIMING: f64 = 0.05;

/// Most repeats of a solve.
const REPEATS: usize = 20;

/// A method for LCPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LcpMethod {
    /// Lemke's method in revised form.
    Lemke,
    /// Lemke's method on the explicit tableau, the readable reference.
    Tableau,
    /// All complementary bases; at most 20 unknowns.
    Enumerate,
    /// Lemke's method, and enumeration where it fails and the problem is small.
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
    /// $\lVert \min(z, M z + q) \rVert_2 / \lVert q \rVert_2$ of the point reached.
    pub err_q: f64,
    /// Residual in the problem's own scale, which decided.
    pub err_scaled: f64,
    /// Best time of the solve alone, in seconds.
    pub time_s: f64,
    /// Number of solutions, where all were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solution_count: Option<usize>,
}

/// Solves a problem with one method; none where the method does not take problems of this size.
pub fn solve_lcp(lcp: &Lcp, method: LcpMethod, settings: &LemkeSettings) -> Option<LcpAnswer> {
    let mut best = f64::INFINITY;
    let mut answer = None;
    let (mut lemke, mut tableau) = (Lemke::default(), LemkeTableau::default());
    for _ in 0..REPEATS {
        let matrix = (0..lcp.size()).flat_map(|j| lcp.column(j)).copied().collect();
        let offset = lcp.offset().to_vec();
        let began = Instant::now();
        // The problem is stated anew, because the scaling that this includes is part of the work.
        let lcp = Lcp::from_columns(matrix, offset).ok()?;
        let (z, status, iterations, solution_count) = match method {
            LcpMethod::Lemke | LcpMethod::Automatic => {
                let mut solution = LcpSolution::default();
                if method == LcpMethod::Lemke {
                    lemke.solve(&lcp, settings, &[], &mut solution);
                } else {
                    lemke.solve_or_enumerate(&lcp, settings, &[], &mut solution);
                }
                (Some(solution.z), solution.report.status, solution.report.iterations, None)
            }
            LcpMethod::Tableau => {
                let solution = tableau.solve(&lcp, settings);
                (Some(solution.z), solution.report.status, solution.report.iterations, None)
            }
            LcpMethod::Enumerate => {
                let found = enumerate(&lcp, settings)?;
                let status = match (found.solutions.is_empty(), found.undecided) {
                    (false, _) => SolveStatus::Solved,
                    (true, 0) => SolveStatus::NoSolution,
                    (true, _) => SolveStatus::Inaccurate,
                };
                let count = found.solutions.len();
                (found.solutions.into_iter().next(), status, 0, Some(count))
            }
        };
        let time = began.elapsed().as_secs_f64();
        best = best.min(time);
        answer = Some((z, status, iterations, solution_count));
        if time > WORTH_TIMING {
            break;
        }
    }
    let (z, status, iterations, solution_count) = answer?;
    let point = z.clone().unwrap_or_else(|| vec![0.0; lcp.size()]);
    let is_solved = status == SolveStatus::Solved;
    Some(LcpAnswer {
        status: match status {
            SolveStatus::Solved => "solved",
            SolveStatus::NoSolution => "no-solution",
            _ => "not-solved",
        },
        method: method.name(),
        iterations,
        err_q: natural_error(lcp, &point),
        err_scaled: lcp.residual(&point),
        time_s: best,
        solution_count,
        z: z.filter(|_| is_solved),
    })
}

/// $\lVert \min(z, M z + q) \rVert_2 / \lVert q \rVert_2$; absolute where $q$ vanishes.
fn natural_error(lcp: &Lcp, z: &[f64]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let slack = |i: usize| lcp.offset()[i] + (0..z.len()).map(|j| lcp.matrix()[(i, j)] * z[j]).sum::<f64>();
    let error = norm(&mut (0..z.len()).map(|i| z[i].min(slack(i))));
    let size = norm(&mut lcp.offset().iter().copied());
    if size < 1e-14 { error } else { error / size }
}

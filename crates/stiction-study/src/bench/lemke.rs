//! Lemke's method on families of contact problems: revised cold and warm, and the tableau.

use serde::Serialize;
use stiction_dynamics::families::{Generator, RandomContacts, Tower};
use stiction_dynamics::{ContactError, ContactProblem, Pyramid, PyramidSettings};
use stiction_solve::{LcpSolution, Lemke, LemkeProblem, LemkeSettings, LemkeTableau};

use super::measure_each;
use super::timing::best_time;

/// Velocities are changed by up to this share before a warm start.
const WARM_CHANGE: f64 = 0.01;

/// The tableau is left out beyond this number of unknowns, where it takes seconds.
const LARGEST_TABLEAU: usize = 500;

/// One family at one size, averaged over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LemkeRow {
    /// Name of the family.
    pub family: &'static str,
    /// Number of contacts.
    pub contacts: usize,
    /// Unknowns of the LCP.
    pub unknowns: usize,
    /// Number of problems.
    pub problems: usize,
    /// Problems that the revised method solved, cold and warm; [`problems`](Self::problems) if all is well.
    pub solved: usize,
    /// Largest residual of the revised method, cold and warm.
    pub residual: f64,
    /// Pivots of the revised method from a cold start.
    pub pivots: f64,
    /// Seconds of a cold solve.
    pub cold: f64,
    /// Pivots after a warm start.
    pub warm_pivots: f64,
    /// Seconds of a warm solve.
    pub warm: f64,
    /// Problems that the tableau solved, and its seconds, where it is not left out.
    pub tableau: Option<(usize, f64)>,
}

/// A family at one size.
struct Case {
    name: &'static str,
    seeds: u64,
    problem: Box<dyn Fn(u64) -> ContactProblem>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (contact_count, seeds) in [(1, 5), (4, 5), (7, 5), (20, 5), (48, 3), (100, 2)] {
        let family = RandomContacts { contact_count, ..Default::default() };
        cases.push(Case { name: "random", seeds, problem: Box::new(move |seed| family.problem(seed)) });
    }
    for (levels, seeds) in [(2, 5), (5, 5), (12, 3), (25, 2)] {
        let family = Tower { levels, ..Default::default() };
        cases.push(Case { name: "tower", seeds, problem: Box::new(move |seed| family.problem(seed)) });
    }
    for (levels, seeds) in [(2, 5), (5, 5), (10, 3)] {
        let family = Tower { levels, top_mass: 1e3, ..Default::default() };
        cases.push(Case { name: "heavy tower", seeds, problem: Box::new(move |seed| family.problem(seed)) });
    }
    cases
}

/// Measures all families; `progress` is told how many of how many rows are done.
///
/// # Errors
/// [`ContactError`] if a family makes a malformed problem.
pub fn measure(progress: impl FnMut(usize, usize)) -> Result<Vec<LemkeRow>, ContactError> {
    measure_each(&cases(), progress, measure_case)
}

fn measure_case(case: &Case) -> Result<LemkeRow, ContactError> {
    let settings = LemkeSettings::default();
    let mut pyramid = Pyramid::new(PyramidSettings::default())?;
    let (mut lemke, mut tableau) = (Lemke::default(), LemkeTableau::default());
    let mut solution = LcpSolution::default();
    let mut row = LemkeRow {
        family: case.name,
        contacts: 0,
        unknowns: 0,
        problems: 0,
        solved: 0,
        residual: 0.0,
        pivots: 0.0,
        cold: 0.0,
        warm_pivots: 0.0,
        warm: 0.0,
        tableau: None,
    };
    for seed in 0..case.seeds {
        let mut contacts = (case.problem)(seed);
        let problem = pyramid.contact_lcp(&contacts)?;
        row.contacts = problem.data().groups.len();
        row.unknowns = problem.unknown_count();
        row.problems += 1;

        row.cold += best_time(|| lemke.solve(&problem, &settings, &[], &mut solution));
        let mut all_solved = solution.report.is_solved();
        row.pivots += solution.report.iterations as f64;
        row.residual = row.residual.max(solution.report.residual);

        // The same contacts a moment later.
        let mut random = Generator::new(seed);
        contacts.free_motion.iter_mut().for_each(|u| *u *= 1.0 + random.uniform(-WARM_CHANGE, WARM_CHANGE));
        let changed = pyramid.contact_lcp(&contacts)?;
        let start = lemke.basis().to_vec();
        row.warm += best_time(|| lemke.solve(&changed, &settings, &start, &mut solution));
        all_solved &= solution.report.is_solved();
        row.warm_pivots += solution.report.iterations as f64;
        row.residual = row.residual.max(solution.report.residual);

        if row.unknowns <= LARGEST_TABLEAU {
            let lcp = problem.to_lcp()?;
            let mut tableau_solved = false;
            let time = best_time(|| tableau_solved = tableau.solve(&lcp, &settings).report.is_solved());
            let (count, sum) = row.tableau.get_or_insert((0, 0.0));
            *count += usize::from(tableau_solved);
            *sum += time / case.seeds as f64;
        }
        row.solved += usize::from(all_solved);
    }
    let count = row.problems as f64;
    [&mut row.pivots, &mut row.cold, &mut row.warm_pivots, &mut row.warm].into_iter().for_each(|sum| *sum /= count);
    Ok(row)
}

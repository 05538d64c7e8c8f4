//! Lemke's method on families of contact problems: revised cold and warm, and the tableau.

use serde::Serialize;
use stiction_dynamics::families::{RandomContacts, Tower};
use stiction_dynamics::{ContactError, Pyramid, PyramidSettings};
use stiction_solve::{LcpSolution, Lemke, LemkeProblem, LemkeSettings, LemkeTableau};

use super::timing::best_time;
use super::{Case, Row, a_moment_later, measure_each, micro};

/// The tableau is left out beyond this number of unknowns, where it takes seconds.
const LARGEST_TABLEAU: usize = 500;

/// One family at one size, averaged over its seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LemkeRow {
    /// Name of the family.
    pub family: String,
    /// Number of contacts.
    pub contacts: usize,
    /// Unknowns of the LCP.
    pub unknowns: usize,
    /// Number of problems.
    pub problems: usize,
    /// Problems that the revised method solved, cold and warm; [`problems`](Self::problems) if all
    /// is well.
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

impl Row for LemkeRow {
    const TITLE: &'static str =
        "Lemke's method: revised, cold and warm (velocities changed by up to 1 %), and the tableau";
    const HEADINGS: &'static [&'static str] =
        &["family", "contacts", "n", "solved", "residual", "pivots", "cold", "pivots", "warm", "tableau, solved"];

    fn cells(&self) -> Vec<String> {
        let tableau = |(solved, time): (usize, f64)| format!("{}, {solved}/{}", micro(time), self.problems);
        vec![
            self.family.clone(),
            self.contacts.to_string(),
            self.unknowns.to_string(),
            format!("{}/{}", self.solved, self.problems),
            format!("{:.1e}", self.residual),
            format!("{:.0}", self.pivots),
            micro(self.cold),
            format!("{:.1}", self.warm_pivots),
            micro(self.warm),
            self.tableau.map_or("–".to_owned(), tableau),
        ]
    }

    fn is_solved(&self) -> bool {
        self.solved == self.problems
    }
}

fn cases() -> Vec<Case> {
    let random = [(1, 5), (4, 5), (7, 5), (20, 5), (48, 3), (100, 2)].map(|(contact_count, seeds)| {
        let family = RandomContacts { contact_count, ..Default::default() };
        Case::new("random", seeds, move |seed| family.problem(seed))
    });
    let tower = |name: &str, top_mass: f64, levels: usize, seeds: u64| {
        let family = Tower { levels, top_mass, ..Default::default() };
        Case::new(name, seeds, move |seed| family.problem(seed))
    };
    let usual = [(2, 5), (5, 5), (12, 3), (25, 2)].map(|(levels, seeds)| tower("tower", 1.0, levels, seeds));
    let heavy = [(2, 5), (5, 5), (10, 3)].map(|(levels, seeds)| tower("heavy tower", 1e3, levels, seeds));
    random.into_iter().chain(usual).chain(heavy).collect()
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
    let mut row = LemkeRow { family: case.name.clone(), ..Default::default() };
    for seed in 0..case.seeds {
        let contacts = (case.problem)(seed);
        let problem = pyramid.contact_lcp(&contacts)?;
        row.contacts = problem.data().groups.len();
        row.unknowns = problem.unknown_count();
        row.problems += 1;

        row.cold += best_time(|| lemke.solve(&problem, &settings, &[], &mut solution));
        let mut all_solved = solution.report.is_solved();
        row.pivots += solution.report.iterations as f64;
        row.residual = row.residual.max(solution.report.residual);

        // The same contacts a moment later.
        let changed = pyramid.contact_lcp(&a_moment_later(&contacts, seed))?;
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

//! The exact cone on families of contact problems, cold and warm.

use serde::Serialize;
use stiction_dynamics::families::{Arch, Chain, Pile, RandomContacts, Tower, Wall, Wedge};
use stiction_dynamics::{ContactError, ContactSolution, ExactCone, ExactConeSettings};

use super::timing::best_time;
use super::{Case, Row, a_moment_later, measure_each, micro};

/// Residual to which all problems are solved.
const TOLERANCE: f64 = 1e-8;

/// The first seed; others than those of the tests.
const FIRST_SEED: u64 = 1001;

/// One family at one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ConeRow {
    /// Name of the family.
    pub family: String,
    /// Number of contacts.
    pub contacts: usize,
    /// Number of problems.
    pub problems: usize,
    /// Problems that were solved, cold and warm.
    pub solved: usize,
    /// Largest residual, cold and warm.
    pub residual: f64,
    /// Median and largest seconds of a cold solve, in the memory of the last one.
    pub cold: [f64; 2],
    /// Median seconds of a warm solve.
    pub warm: f64,
}

impl Row for ConeRow {
    const TITLE: &'static str = "Exact cones to 1e-8: cold and warm (velocities changed by up to 1 %)";
    const HEADINGS: &'static [&'static str] =
        &["family", "contacts", "solved", "residual", "cold, median", "cold, worst", "warm, median"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.family.clone(),
            self.contacts.to_string(),
            format!("{}/{}", self.solved, self.problems),
            format!("{:.1e}", self.residual),
            micro(self.cold[0]),
            micro(self.cold[1]),
            micro(self.warm),
        ]
    }

    fn is_solved(&self) -> bool {
        self.solved == self.problems
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for contact_count in [1, 4, 7, 20, 48] {
        let family = RandomContacts { contact_count, ..Default::default() };
        cases.push(Case::new("random", 10, move |seed| family.problem(seed)));
    }
    for (levels, top_mass) in [(10, 1.0), (10, 1e3), (50, 1.0)] {
        let family = Tower { levels, top_mass, ..Default::default() };
        let name = if top_mass > 1.0 { "heavy tower" } else { "tower" };
        cases.push(Case::new(format!("{name} {levels}"), 10, move |seed| family.problem(seed)));
    }
    let wall = Wall { rows: 10, columns: 10, ..Default::default() };
    cases.push(Case::new("wall 10 x 10", 5, move |seed| wall.problem(seed)));
    let arch = Arch { voussoirs: 30, ..Default::default() };
    cases.push(Case::new("arch 30", 10, move |seed| arch.problem(seed)));
    for blocks in [4, 30] {
        let family = Wedge { blocks, ..Default::default() };
        cases.push(Case::new(format!("wedge {blocks}"), 10, move |seed| family.problem(seed)));
    }
    for (spheres, tilt, is_tight) in
        [(100, 0.3, false), (200, 0.3, false), (200, 0.0, false), (100, 0.3, true), (200, 0.3, true)]
    {
        let family = Pile { spheres, tilt, is_tight };
        let name = if is_tight { "tight pile" } else { "pile" };
        let state = if tilt > 0.0 { "tilted" } else { "settled" };
        cases.push(Case::new(format!("{name} {spheres} {state}"), 10, move |seed| family.problem(seed)));
    }
    for links in [10, 30, 100, 300] {
        let family = Chain { links, is_lying: true, ..Default::default() };
        cases.push(Case::new(format!("chain {links}"), 5, move |seed| family.problem(seed)));
    }
    cases
}

/// Measures all families; `progress` is told how many of how many rows are done.
///
/// # Errors
/// [`ContactError`] if a family makes a malformed problem.
pub fn measure(progress: impl FnMut(usize, usize)) -> Result<Vec<ConeRow>, ContactError> {
    measure_each(&cases(), progress, measure_case)
}

fn measure_case(case: &Case) -> Result<ConeRow, ContactError> {
    let settings = ExactConeSettings { tolerance: Some(TOLERANCE), ..Default::default() };
    let mut cold = ExactCone::new(ExactConeSettings { warm_start: false, ..settings.clone() })?;
    let mut solution = ContactSolution::default();
    let (mut colds, mut warms) = (Vec::new(), Vec::new());
    let mut row = ConeRow { family: case.name.clone(), ..Default::default() };
    for seed in FIRST_SEED..FIRST_SEED + case.seeds {
        let problem = (case.problem)(seed);
        row.contacts = row.contacts.max(problem.contacts.len());
        row.problems += 1;
        colds.push(best_time(|| drop(std::hint::black_box(cold.solve(&problem, &mut solution)))));
        let mut all_solved = solution.report.is_solved();
        row.residual = row.residual.max(solution.report.residual);

        // The same contacts a moment later; each repetition starts from the impulses of this
        // problem.
        let changed = a_moment_later(&problem, seed);
        let mut first = ExactCone::new(settings.clone())?;
        first.solve(&problem, &mut solution)?;
        first.solve(&changed, &mut solution)?;
        first.solve(&problem, &mut solution)?;
        // Back and forth, so that every solve meets changed velocities.
        let pair = best_time(|| {
            drop(std::hint::black_box(first.solve(&changed, &mut solution)));
            drop(std::hint::black_box(first.solve(&problem, &mut solution)));
        });
        warms.push(0.5 * pair);
        all_solved &= solution.report.is_solved();
        row.residual = row.residual.max(solution.report.residual);
        row.solved += usize::from(all_solved);
    }
    colds.sort_by(f64::total_cmp);
    warms.sort_by(f64::total_cmp);
    row.cold = [colds[colds.len() / 2], colds[colds.len() - 1]];
    row.warm = warms[warms.len() / 2];
    Ok(row)
}

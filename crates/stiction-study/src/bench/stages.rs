//! Which stage of the chain of cones, and which path of Lemke's method, solves what, and at what
//! cost.
//!
//! A stage that solves nothing here, and whose absence leaves nothing unsolved, is not needed:
//! `docs/solvers.md` says for each stage which problems need it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stiction_dynamics::families::{Arch, BodyKind, Chain, Pile, RandomContacts, Tower, Wall, Wedge};
use stiction_dynamics::{ContactError, ExactCone, ExactConeSettings, Pyramid, PyramidSettings};
use stiction_solve::cone::{ConeReport, ConeSettings, ConeSolver};
use stiction_solve::fclib::{FclibError, FclibProblem};
use stiction_solve::problem_file::ProblemFileError;
use stiction_solve::{LcpSolution, Lemke, LemkeProblem, LemkeSettings, ProblemError};
use thiserror::Error;

use super::timing::Stopwatch;
use super::{Case, Row, measure_each, micro};
use crate::solve_problem::Problem;

/// Error to which problems of cones are solved.
const TOLERANCE: f64 = 1e-8;

/// The first seed; others than those of the tests and of `cones`.
const FIRST_SEED: u64 = 2000;

/// Why the stages were not measured.
#[derive(Debug, Error)]
pub enum StagesError {
    /// A family makes a malformed problem.
    #[error(transparent)]
    Contact(#[from] ContactError),
    /// A problem cannot be solved at all.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// An FCLIB file cannot be read.
    #[error(transparent)]
    Fclib(#[from] FclibError),
    /// The file of an LCP cannot be read.
    #[error(transparent)]
    Lcp(#[from] ProblemFileError),
}

/// What solved the problems of a family, or of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageRow {
    /// The family, or the file.
    pub family: String,
    /// `cones` or `lemke`.
    pub method: &'static str,
    /// Number of problems.
    pub problems: usize,
    /// Problems that were solved, or proved to have no solution.
    pub solved: usize,
    /// Sweeps, factorisations, iterations and pivots.
    pub iterations: usize,
    /// Seconds of all solves together, each from nothing.
    pub seconds: f64,
    /// The stages that ended a solve, on its hardest island, with the number of problems.
    pub last: BTreeMap<String, usize>,
}

impl Row for StageRow {
    const TITLE: &'static str =
        "What solves: the last stage of a solve, and which of its runs, with the number of problems";
    const HEADINGS: &'static [&'static str] = &["family", "method", "solved", "iterations", "mean time", "last stages"];

    fn cells(&self) -> Vec<String> {
        let last: Vec<String> = self.last.iter().map(|(stage, count)| format!("{stage}: {count}")).collect();
        vec![
            self.family.clone(),
            self.method.to_owned(),
            format!("{}/{}", self.solved, self.problems),
            self.iterations.to_string(),
            micro(self.seconds / self.problems as f64),
            last.join(", "),
        ]
    }
}

impl StageRow {
    fn add(&mut self, is_solved: bool, iterations: usize, stopwatch: &Stopwatch, last: String) {
        self.seconds += stopwatch.seconds();
        self.problems += 1;
        self.solved += usize::from(is_solved);
        self.iterations += iterations;
        *self.last.entry(if is_solved { last } else { "none".into() }).or_default() += 1;
    }

    fn add_cones(&mut self, problem: &FclibProblem, settings: &ConeSettings) -> Result<(), ProblemError> {
        let mut solver = ConeSolver::default();
        let stopwatch = Stopwatch::start();
        let ConeReport { status, stages, .. } = match problem {
            FclibProblem::Local(problem) => &solver.solve_local(problem, settings, None).report,
            FclibProblem::Global(problem) => &solver.solve_global(problem, settings, None)?.report,
        };
        // The last stage of the island that took most of them.
        let hardest = stages.chunk_by(|a, b| a.island == b.island).max_by_key(|own| own.len());
        let last = hardest.and_then(|own| own.last());
        let last = last.map_or("rest".into(), |stage| format!("{:?} {}", stage.method, stage.run));
        let iterations = stages.iter().map(|stage| stage.iterations).sum();
        self.add(status.is_decided(), iterations, &stopwatch, last);
        Ok(())
    }

    fn add_lcp(&mut self, problem: &impl LemkeProblem) {
        let (mut lemke, mut solution) = (Lemke::default(), LcpSolution::default());
        let stopwatch = Stopwatch::start();
        lemke.solve_or_enumerate(problem, &LemkeSettings::default(), &[], &mut solution);
        let last = format!("{:?}", lemke.last_stage());
        self.add(solution.report.status.is_decided(), solution.report.iterations, &stopwatch, last);
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mu in [[0.2, 0.9], [1.0, 5.0], [10.0, 10.0], [1e3, 1e3]] {
        for contact_count in [4, 12, 30] {
            let family = RandomContacts { contact_count, mu, ..Default::default() };
            let name = format!("random {contact_count} μ {}–{}", mu[0], mu[1]);
            cases.push(Case::new(name, 20, move |seed| family.problem(seed)));
        }
    }
    let usual = RandomContacts { contact_count: 12, ..Default::default() };
    for (name, family) in [
        ("redundant 12", RandomContacts { redundant_share: 0.6, mu: [1.0, 5.0], ..usual.clone() }),
        ("mass ratio 1e6", RandomContacts { mass_ratio: 1e6, ..usual.clone() }),
        ("leaning rods", RandomContacts { bodies: BodyKind::Rods, mu: [0.5, 2.0], ..usual.clone() }),
        ("planar rods", RandomContacts { bodies: BodyKind::Rods, is_planar: true, mu: [0.5, 3.0], ..usual }),
    ] {
        cases.push(Case::new(name, 20, move |seed| family.problem(seed)));
    }
    for (levels, top_mass) in [(10, 1.0), (10, 1e3), (10, 1e6), (50, 1.0)] {
        let family = Tower { levels, top_mass, ..Default::default() };
        cases.push(Case::new(format!("tower {levels}, top {top_mass} kg"), 10, move |seed| family.problem(seed)));
    }
    let (wall, arch) =
        (Wall { rows: 10, columns: 10, ..Default::default() }, Arch { voussoirs: 30, ..Default::default() });
    cases.push(Case::new("wall 10 x 10", 5, move |seed| wall.problem(seed)));
    cases.push(Case::new("arch 30", 10, move |seed| arch.problem(seed)));
    let (wedge, chain) =
        (Wedge { blocks: 12, ..Default::default() }, Chain { links: 30, is_lying: true, ..Default::default() });
    cases.push(Case::new("wedge 12", 10, move |seed| wedge.problem(seed)));
    cases.push(Case::new("chain 30", 10, move |seed| chain.problem(seed)));
    for (spheres, tilt, is_tight) in [(100, 0.3, true), (200, 0.3, false), (200, 0.0, true)] {
        let family = Pile { spheres, tilt, is_tight };
        let name = format!("{}pile {spheres}, tilt {tilt}", if is_tight { "tight " } else { "" });
        cases.push(Case::new(name, 5, move |seed| family.problem(seed)));
    }
    cases
}

/// The largest problems of families that Lemke's method gets, in contacts.
const LEMKE_CONTACTS: usize = 60;

/// Measures all families and then the files; `progress` is told how many of how many rows are done.
///
/// # Errors
/// [`StagesError`] if a problem is malformed or a file cannot be read.
pub fn measure(files: &[PathBuf], mut progress: impl FnMut(usize, usize)) -> Result<Vec<StageRow>, StagesError> {
    let families = measure_each(&cases(), &mut progress, |case| {
        let (cone, mut pyramid) =
            (ExactCone::new(ExactConeSettings::default())?, Pyramid::new(PyramidSettings::default())?);
        let row = |method| StageRow { family: case.name.clone(), method, ..Default::default() };
        let (mut cones, mut lemke) = (row("cones"), row("lemke"));
        let settings = ConeSettings { tolerance: TOLERANCE, ..Default::default() };
        for seed in FIRST_SEED..FIRST_SEED + case.seeds {
            let problem = (case.problem)(seed);
            cones.add_cones(&FclibProblem::Global(cone.cone_problem(&problem)), &settings)?;
            if problem.contacts.len() <= LEMKE_CONTACTS {
                lemke.add_lcp(&pyramid.contact_lcp(&problem)?);
            }
        }
        Ok::<_, StagesError>([cones, lemke])
    })?;
    let files = measure_each(files, progress, |path: &PathBuf| measure_file(path))?;
    Ok(families.into_iter().flatten().filter(|row| row.problems > 0).chain(files).collect())
}

fn measure_file(path: &Path) -> Result<StageRow, StagesError> {
    let family = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut row = StageRow { family, method: "lemke", ..Default::default() };
    match Problem::read::<StagesError>(path)? {
        Problem::Lcp(lcp) => row.add_lcp(&lcp),
        Problem::Cones(problem) => {
            row.method = "cones";
            let settings = ConeSettings { tolerance: TOLERANCE, unscaled_tolerance: TOLERANCE, ..Default::default() };
            row.add_cones(&problem, &settings)?;
        }
    }
    Ok(row)
}

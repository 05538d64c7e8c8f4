//! Cases by number: each has its family, its seed and its friction polygon.

use stiction_dynamics::families::{BodyKind, Generator, RandomContacts};
use stiction_dynamics::{ContactMethod, ContactProblem, ContactSolution, ContactSolver, Directions, PyramidSettings};

use crate::judge::judge;

/// Largest violation of the laws in the scale of the problem. The solver asks for 1e-10 in its own
/// scale; rounding adds about 1e-16 of the largest impulse, which is 1e5 where bodies are wedged or
/// heavy ones stand on light ones.
pub const TOLERANCE: f64 = 1e-9;

/// Largest distance of two answers where the motion is unique, in the scale of the problem. Answers
/// are refined to rounding, 1e-16 of the largest impulse, whatever the solver would admit; the
/// distance is that times the condition of the active contacts.
pub const SAME_MOTION: f64 = 1e-10;

/// One problem with its name.
pub struct Case {
    /// Family, seed and directions: enough to make it again.
    pub name: String,
    pub problem: ContactProblem,
}

impl Case {
    pub fn new(family: RandomContacts, seed: u64, directions: usize) -> Self {
        let problem = family.problem(seed);
        Self { name: format!("seed {seed}, {directions} directions, {family:?}"), problem }
    }
}

/// Everything that is promised, at random.
pub fn family(seed: u64, contact_count: usize) -> RandomContacts {
    let mut random = Generator::new(!seed);
    RandomContacts {
        contact_count,
        bodies: if random.chance(0.35) { BodyKind::Rods } else { BodyKind::Boxes },
        is_planar: random.chance(0.35),
        mu: [[0.0, 0.9], [0.0, 3.0], [0.0, 30.0]][random.below(3)],
        frictionless_share: [0.0, 0.2][random.below(2)],
        gap_share: [0.0, 0.3][random.below(2)],
        redundant_share: [0.0, 0.0, 0.3, 0.8][random.below(4)],
        mass_scale: random.logarithmic(1e-6, 1e6),
        mass_ratio: if random.chance(0.3) { 1.0 } else { random.logarithmic(1.0, 1e4) },
        kick: [0.3, 1.0, 3.0][random.below(3)],
    }
}

/// A solver that starts cold, or from its last solution.
pub fn solver(directions: usize, warm_start: bool) -> ContactSolver {
    let settings = PyramidSettings { directions: Directions::Regular(directions), warm_start, ..Default::default() };
    ContactSolver::new(ContactMethod::Pyramid(settings)).unwrap()
}

pub fn solve(solver: &mut ContactSolver, problem: &ContactProblem, name: &str) -> ContactSolution {
    let mut solution = ContactSolution::default();
    solver.solve(problem, &mut solution).unwrap_or_else(|error| panic!("{name}: {error}"));
    solution
}

/// Solves, and insists that the solver says so and that it is true.
pub fn solve_well(
    solver: &mut ContactSolver,
    problem: &ContactProblem,
    directions: usize,
    name: &str,
) -> ContactSolution {
    let solution = solve(solver, problem, name);
    let violations = judge(problem, &solution, directions);
    assert!(solution.report.is_solved(), "{name}: {:?} at {:?}, {violations:?}", solution.report, solution.worst);
    assert!(violations.largest() <= TOLERANCE, "{name}: {:?}, {violations:?}", solution.report);
    solution
}

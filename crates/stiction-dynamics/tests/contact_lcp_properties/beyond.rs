//! Beyond the promised range not every problem is solved, but what the solver says remains true.

use stiction_dynamics::families::{RandomContacts, Tower};
use stiction_dynamics::{ContactProblem, ContactSolver};
use stiction_solve::SolveStatus;

use crate::cases::{Case, TOLERANCE, family, solve, solver};
use crate::judge::judge;

/// Whether the problem is solved. A status other than that must not claim more than it knows: a
/// solution exists.
fn is_solved(solver: &mut ContactSolver, problem: &ContactProblem, directions: usize, name: &str) -> bool {
    let solution = solve(solver, problem, name);
    let violations = judge(problem, &solution, directions);
    assert_ne!(solution.report.status, SolveStatus::NoSolution, "{name}: {:?}", solution.report);
    if solution.report.is_solved() {
        assert!(violations.largest() <= TOLERANCE, "{name}: {:?}, {violations:?}", solution.report);
    } else {
        assert!(solution.report.residual > 0.0, "{name}: {:?}", solution.report);
    }
    solution.report.is_solved()
}

#[test]
fn mass_ratios_beyond_the_promise_are_solved_or_said_not_to_be() {
    for (mass_ratio, least) in [(1e5, 0.99), (1e6, 0.98), (1e8, 0.95), (1e10, 0.93)] {
        let (mut count, mut solved_count) = (0, 0);
        // Not the sizes that are enumerated where Lemke's method fails, which takes long.
        for (directions, contact_count, seeds) in
            [(8, 3, 800), (4, 8, 800), (8, 8, 800), (4, 12, 300), (8, 12, 300), (8, 20, 100)]
        {
            let mut solver = solver(directions, false);
            for seed in 0..seeds {
                let family = RandomContacts { mass_ratio, frictionless_share: 0.0, ..family(seed, contact_count) };
                let case = Case::new(family, seed, directions);
                count += 1;
                solved_count += u32::from(is_solved(&mut solver, &case.problem, directions, &case.name));
            }
        }
        let rate = f64::from(solved_count) / f64::from(count);
        println!("mass ratio {mass_ratio:e}: {solved_count} of {count} solved, {:.2} %", 100.0 * rate);
        assert!(rate >= least, "mass ratio {mass_ratio:e}: {solved_count} of {count} solved");
    }
}

#[test]
fn heavy_tops_beyond_the_promise_are_solved_or_said_not_to_be() {
    for (top_mass, least) in [(1e5, 0.5), (1e6, 0.0), (1e8, 0.0), (1e10, 0.0)] {
        let (mut count, mut solved_count) = (0, 0);
        let mut solver = solver(8, false);
        for levels in [2, 3, 5] {
            for seed in 0..20 {
                let tower = Tower { levels, top_mass, ..Default::default() };
                count += 1;
                let name = format!("seed {seed}, {tower:?}");
                solved_count += u32::from(is_solved(&mut solver, &tower.problem(seed), 8, &name));
            }
        }
        let rate = f64::from(solved_count) / f64::from(count);
        println!("towers with a top of {top_mass:e} kg: {solved_count} of {count} solved, {:.1} %", 100.0 * rate);
        assert!(rate >= least, "towers with a top of {top_mass:e} kg: {solved_count} of {count} solved");
    }
}

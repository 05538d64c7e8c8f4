//! Every problem within the promised range is solved, and no answer is called solved that is not.

use stiction_dynamics::ContactProblem;
use stiction_dynamics::families::{Arch, Tower, Wall, Wedge};

use crate::cases::{Case, family, solve_well, solver};

#[test]
fn random_problems_are_solved() {
    let mut count = 0;
    for directions in [4, 8] {
        let mut solver = solver(directions, false);
        let sizes = (1..=8).map(|contact_count| (contact_count, 4000)).chain([(12, 1000), (20, 300), (40, 100)]);
        for (contact_count, seeds) in sizes {
            for seed in 0..seeds {
                let case = Case::new(family(seed, contact_count), seed, directions);
                solve_well(&mut solver, &case.problem, directions, &case.name);
                count += 1;
            }
        }
    }
    assert_eq!(count, 66_800);
}

#[test]
fn the_number_of_directions_does_not_matter() {
    for directions in [6, 16, 32] {
        let mut solver = solver(directions, false);
        for seed in 0..300 {
            let case = Case::new(family(seed, 7), seed, directions);
            solve_well(&mut solver, &case.problem, directions, &case.name);
        }
    }
}

#[test]
fn towers_walls_arches_and_wedges_are_solved() {
    let mut solver = solver(8, false);
    let mut check = |name: String, problem: &ContactProblem| {
        solve_well(&mut solver, problem, 8, &name);
    };
    for seed in 0..20 {
        for levels in [1, 2, 3, 5] {
            for top_mass in [1.0, 1e3, 1e4] {
                let tower = Tower { levels, top_mass, ..Default::default() };
                check(format!("seed {seed}, {tower:?}"), &tower.problem(seed));
            }
        }
        for (voussoirs, mu) in [(3, 0.3), (3, 0.6), (7, 0.3), (7, 0.6)] {
            let arch = Arch { voussoirs, mu, ..Default::default() };
            check(format!("seed {seed}, {arch:?}"), &arch.problem(seed));
        }
        for (blocks, mu) in [(1, 0.3), (3, 0.3), (5, 0.9), (3, 0.1)] {
            let wedge = Wedge { blocks, mu, ..Default::default() };
            check(format!("seed {seed}, {wedge:?}"), &wedge.problem(seed));
        }
        for (rows, columns) in [(2, 2), (3, 2), (3, 3)] {
            let wall = Wall { rows, columns, ..Default::default() };
            check(format!("seed {seed}, {wall:?}"), &wall.problem(seed));
        }
    }
}

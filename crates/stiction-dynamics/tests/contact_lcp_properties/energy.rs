//! Contacts without gap and drift never create energy, and the balance closes.

use stiction_dynamics::families::{Arch, RandomContacts, Tower, Wall};
use stiction_dynamics::{ContactProblem, ContactSolution};

use crate::cases::{Case, family, solve_well, solver};
use crate::judge::kinetic_energy;

/// Energy that may be created or lost, relative to the kinetic energy: residuals of 1e-10 times impulses.
const TOLERANCE: f64 = 1e-10;

fn check(problem: &ContactProblem, solution: &ContactSolution, name: &str) {
    let before = kinetic_energy(problem, &problem.free_motion);
    let after = kinetic_energy(problem, &solution.motion);
    let scale = before.max(after);
    assert!(after - before <= TOLERANCE * scale, "{name}: energy grows from {before:e} to {after:e}");

    // T(u) - T(u_free) = ½ (u + u_free)ᵀ W (u - u_free) = ½ (u + u_free)ᵀ Jᵀ c.
    let sum: Vec<f64> = solution.motion.iter().zip(&problem.free_motion).map(|(u, free)| u + free).collect();
    let (mut work, mut power) = (0.0, 0.0);
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        work += 0.5 * impulse.normal * contact.normal.dot(&sum);
        power += impulse.normal * contact.normal.dot(&solution.motion);
        for (row, impulse) in contact.tangents.iter().zip(impulse.tangent) {
            work += 0.5 * impulse * row.dot(&sum);
            power += impulse * row.dot(&solution.motion);
        }
    }
    let defect = after - before - work;
    assert!(defect.abs() <= TOLERANCE * scale, "{name}: the balance of {before:e} to {after:e} misses {defect:e}");

    // Against the new motion impulses do no work, so that even the energy of the change is lost: T(u) ≤ T(u_free) - T(u - u_free).
    assert!(power <= TOLERANCE * scale, "{name}: impulses drive the new motion with {power:e} of {scale:e}");
}

#[test]
fn random_contacts_never_create_energy() {
    for directions in [4, 8] {
        let mut solver = solver(directions, false);
        for (contact_count, seeds) in [(1, 500), (2, 500), (3, 500), (5, 500), (8, 500), (16, 100)] {
            for seed in 0..seeds {
                let family = RandomContacts { gap_share: 0.0, ..family(seed, contact_count) };
                let case = Case::new(family, seed, directions);
                let solution = solve_well(&mut solver, &case.problem, directions, &case.name);
                check(&case.problem, &solution, &case.name);
            }
        }
    }
}

#[test]
fn towers_walls_and_arches_never_create_energy() {
    let mut solver = solver(8, false);
    let mut check = |name: String, problem: &ContactProblem| {
        let solution = solve_well(&mut solver, problem, 8, &name);
        check(problem, &solution, &name);
    };
    for seed in 100..110 {
        for (levels, top_mass) in [(3, 1.0), (3, 1e3), (3, 1e4), (6, 1.0)] {
            let tower = Tower { levels, top_mass, ..Default::default() };
            check(format!("seed {seed}, {tower:?}"), &tower.problem(seed));
        }
        let arch = Arch { voussoirs: 5, ..Default::default() };
        check(format!("seed {seed}, {arch:?}"), &arch.problem(seed));
        let wall = Wall { rows: 3, columns: 3, ..Default::default() };
        check(format!("seed {seed}, {wall:?}"), &wall.problem(seed));
    }
}

//! Contacts without drift never create energy, and the balance closes; with gaps by the bound of
//! \[ST96\] (24).

use stiction_dynamics::families::{Arch, GRAVITY, RandomContacts, STEP, Tower, Wall};
use stiction_dynamics::{ContactProblem, ContactSolution};

use crate::cases::{Case, family, solve_well, solver};
use crate::judge::kinetic_energy;

/// Energy that may be created or lost, relative to the kinetic energy: residuals of 1e-10 times
/// impulses.
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

    // Against the new motion impulses do no work, so that even the energy of the change is lost:
    // T(u) ≤ T(u_free) - T(u - u_free).
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

/// How far a step is from the bound of \[ST96\] (24), with the potential $V = -k^T q$ of a constant
/// force and with the printed $k^T q$, relative to the kinetic energy:
///
/// $$ \tfrac12 u^T M u - h k^T u \le \tfrac12 v^T M v - \sum \lambda \mu c_n - \tfrac12 (u - v)^T M (u - v), $$
///
/// where $v$ is the velocity before the step and $u = v^{l+1}$. Third: what is missing at equality,
/// $\sum c_n\, \mathrm{gap}/h$.
fn bound(problem: &ContactProblem, solution: &ContactSolution, is_planar: bool) -> [f64; 3] {
    let u = &solution.motion;
    let vertical: Vec<f64> =
        (0..u.len()).map(|i| if if is_planar { i % 3 == 1 } else { i % 6 == 2 } { -GRAVITY } else { 0.0 }).collect();
    let mut k = vec![0.0; u.len()];
    problem.inertia.apply(&vertical, &mut k);
    let v: Vec<f64> = problem.free_motion.iter().zip(&vertical).map(|(free, g)| free - STEP * g).collect();
    let change: Vec<f64> = u.iter().zip(&v).map(|(u, v)| u - v).collect();
    let power: f64 = k.iter().zip(u).map(|(k, u)| STEP * k * u).sum();
    let (mut friction, mut missing) = (0.0, 0.0);
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        // v⁺ᵀ D β = -λ μ c_n.
        friction += contact.tangents.iter().zip(impulse.tangent).map(|(row, p)| p * row.dot(u)).sum::<f64>();
        missing += impulse.normal * contact.normal_bias;
    }
    let (before, after) = (kinetic_energy(problem, &v), kinetic_energy(problem, u));
    let right = before + friction - kinetic_energy(problem, &change);
    let scale = before.max(after);
    [(after - power - right) / scale, (after + power - right) / scale, missing / scale]
}

#[test]
fn the_bound_24_holds_with_gaps_and_its_printed_sign_does_not() {
    let (mut cases, mut printed_fails, mut with_gap) = (0, 0, 0);
    let mut solver = solver(8, false);
    for contact_count in [1, 2, 3, 5, 8] {
        for seed in 0..200 {
            let family =
                RandomContacts { gap_share: 0.7, mass_scale: 1.0, mass_ratio: 1.0, ..family(seed, contact_count) };
            let is_planar = family.is_planar;
            let case = Case::new(family, seed, 8);
            let solution = solve_well(&mut solver, &case.problem, 8, &case.name);
            let [right, printed, missing] = bound(&case.problem, &solution, is_planar);
            assert!(right <= TOLERANCE, "{}: {right:e}", case.name);
            assert!((right + missing).abs() <= TOLERANCE, "{}: {right:e} without {missing:e}", case.name);
            cases += 1;
            printed_fails += usize::from(printed > TOLERANCE);
            with_gap += usize::from(missing > 1e-6);
        }
    }
    assert!(with_gap > cases / 10, "{with_gap} of {cases} push over a gap");
    assert!(printed_fails > cases / 20, "the printed sign fails in {printed_fails} of {cases}");
}

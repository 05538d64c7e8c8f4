//! Where a solve starts does not change what it finds: a solution, and the motion where there is
//! only one.

use stiction_dynamics::families::{Generator, RandomContacts, Tower};
use stiction_dynamics::{
    ContactMethod, ContactProblem, ContactSolution, ContactSolver, PhantomInertiaSettings, PlanarRelaySettings,
};

use crate::cases::{Case, SAME_MOTION, family, solve_well, solver};
use crate::judge::Scale;
use crate::modes::motions;

/// The same problem with every velocity changed by up to this share.
fn perturbed(problem: &ContactProblem, share: f64, random: &mut Generator) -> ContactProblem {
    let mut perturbed = problem.clone();
    perturbed.free_motion.iter_mut().for_each(|u| *u *= 1.0 + random.uniform(-share, share));
    perturbed
}

#[test]
fn a_similar_problem_is_a_good_start() {
    let (mut count, mut unique_count) = (0, 0);
    let (mut warm_pivots, mut cold_pivots) = (0, 0);
    for directions in [4, 8] {
        let mut cold = solver(directions, false);
        for (contact_count, seeds) in [(1, 200), (2, 400), (3, 60), (4, 200), (5, 200), (8, 500), (20, 50)] {
            for seed in 0..seeds {
                let case = Case::new(family(seed, contact_count), seed, directions);
                let mut random = Generator::new(seed);
                let share = random.logarithmic(1e-3, 0.1);
                let name = format!("velocities changed by {share}, {}", case.name);
                let mut warm = solver(directions, true);
                solve_well(&mut warm, &perturbed(&case.problem, share, &mut random), directions, &name);
                let warm = solve_well(&mut warm, &case.problem, directions, &name);
                let cold = solve_well(&mut cold, &case.problem, directions, &case.name);
                count += 1;
                warm_pivots += warm.report.iterations;
                cold_pivots += cold.report.iterations;
                if motions(&case.problem, directions).is_some_and(|motions| motions.unique().is_some()) {
                    unique_count += 1;
                    let distance = Scale::of(&case.problem).distance(&case.problem, &warm.motion, &cold.motion);
                    assert!(distance <= SAME_MOTION, "{name}: the start moves it by {distance:e}");
                }
            }
        }
    }
    println!("{unique_count} of {count} motions were unique; {warm_pivots} pivots warm, {cold_pivots} cold");
    assert!(unique_count > 1000, "{unique_count} of {count} motions were shown to be unique");
    assert!(3 * warm_pivots < cold_pivots, "{warm_pivots} pivots warm, {cold_pivots} cold");
}

#[test]
fn relay_and_phantom_inertia_start_from_a_similar_problem() {
    // In the plane, where both are the law of the pyramid with two directions.
    let relay = |warm_start| ContactMethod::PlanarRelay(PlanarRelaySettings { warm_start, ..Default::default() });
    let phantom =
        |warm_start| ContactMethod::PhantomInertia(PhantomInertiaSettings { warm_start, ..Default::default() });
    let solver = |method| ContactSolver::new(method).unwrap();
    for (method, mut warm, mut cold) in [
        ("planar-relay", solver(relay(true)), solver(relay(false))),
        ("phantom-inertia", solver(phantom(true)), solver(phantom(false))),
    ] {
        let (mut unique_count, mut warm_pivots, mut cold_pivots) = (0, 0, 0);
        for (contact_count, seeds) in [(1, 100), (2, 200), (3, 200), (4, 200)] {
            for seed in 0..seeds {
                let family = RandomContacts { is_planar: true, mass_ratio: 1.0, ..family(seed, contact_count) };
                let case = Case::new(family, seed, 2);
                let mut random = Generator::new(seed);
                let similar = perturbed(&case.problem, random.logarithmic(1e-3, 0.1), &mut random);
                let name = format!("{method}, {}", case.name);
                let [mut first, mut second, mut third] = [0; 3].map(|_| ContactSolution::default());
                warm.solve(&similar, &mut first).unwrap();
                warm.solve(&case.problem, &mut second).unwrap();
                cold.solve(&case.problem, &mut third).unwrap();
                for solution in [&first, &second, &third] {
                    assert!(solution.report.is_solved(), "{name}: {:?}", solution.report);
                }
                warm_pivots += second.report.iterations;
                cold_pivots += third.report.iterations;
                if motions(&case.problem, 2).is_some_and(|motions| motions.unique().is_some()) {
                    unique_count += 1;
                    let distance = Scale::of(&case.problem).distance(&case.problem, &second.motion, &third.motion);
                    assert!(distance <= SAME_MOTION, "{name}: the start moves it by {distance:e}");
                }
            }
        }
        println!("{method}: {unique_count} unique motions; {warm_pivots} pivots warm, {cold_pivots} cold");
        assert!(unique_count > 300, "{method}: {unique_count} motions were shown to be unique");
        assert!(2 * warm_pivots < cold_pivots, "{method}: {warm_pivots} pivots warm, {cold_pivots} cold");
    }
}

#[test]
fn any_other_problem_is_a_start() {
    // The contacts have the same numbers from seed to seed, and nothing else in common.
    for directions in [4, 8] {
        for (contact_count, seeds) in [(2, 500), (5, 500), (8, 500), (20, 50)] {
            let mut solver = solver(directions, true);
            for seed in 0..seeds {
                let case = Case::new(family(seed, contact_count), seed, directions);
                let name = format!("started from the seed before, {}", case.name);
                solve_well(&mut solver, &case.problem, directions, &name);
            }
        }
    }
}

#[test]
fn towers_start_from_their_last_step() {
    for (levels, top_mass) in [(3, 1.0), (3, 1e3), (3, 1e4), (8, 1.0)] {
        let tower = Tower { levels, top_mass, ..Default::default() };
        for seed in 0..10 {
            let problem = tower.problem(seed);
            let mut random = Generator::new(seed);
            let mut solver = solver(8, true);
            for share in [0.0, 0.001, 0.01, 0.1] {
                let name = format!("velocities changed by {share}, seed {seed}, {tower:?}");
                solve_well(&mut solver, &perturbed(&problem, share, &mut random), 8, &name);
            }
        }
    }
}

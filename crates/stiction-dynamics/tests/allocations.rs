//! Problems with joints and with sparse inertia are solved in the memory of the last one of their
//! shape.

use stiction_dynamics::families::Chain;
use stiction_dynamics::{ContactMethod, ContactProblem, ContactSolution, ContactSolver, Inertia};

/// Twice the mass matrix, with a spring between neighbouring coordinates.
fn add_springs(problem: &mut ContactProblem, mass: &Inertia, stiffness: f64) {
    let n = mass.size();
    let couplings = (1..n).flat_map(|i| {
        [(i, i, stiffness), (i - 1, i - 1, stiffness), (i, i - 1, 0.01 - stiffness), (i - 1, i, -0.01 - stiffness)]
    });
    problem.inertia.set_sum(&[(mass, 2.0)], couplings);
    problem.inertia.factor().unwrap();
}

#[test]
fn a_second_problem_of_the_same_shape_allocates_nothing() {
    for springs in [false, true] {
        let chain = Chain { links: 30, ..Default::default() };
        let mut problems = [0, 1, 2].map(|seed| chain.problem(seed));
        let mass = std::mem::take(&mut problems[0].inertia);
        problems.iter_mut().for_each(|problem| problem.inertia = mass.clone());
        let mut solver = ContactSolver::new(ContactMethod::default()).unwrap();
        let mut solution = ContactSolution::default();
        let mut work = problems[0].clone();
        let mut run = |number: usize| {
            // As a scheme does it: numbers change, the problem stays where it is.
            work.free_motion.copy_from_slice(&problems[number].free_motion);
            work.joints.clone_from_slice(&problems[number].joints);
            work.contacts.clone_from_slice(&problems[number].contacts);
            if springs {
                add_springs(&mut work, &mass, 0.1 + 0.1 * number as f64);
            }
            solver.solve(&work, &mut solution).unwrap();
            assert!(solution.report.is_solved(), "{:?}", solution.report);
            assert_eq!(solution.joints.len(), 60);
        };
        run(0);
        run(1);
        let counted = allocation_counter::measure(|| run(2));
        assert_eq!(counted.count_total, 0, "springs: {springs}");
    }
}

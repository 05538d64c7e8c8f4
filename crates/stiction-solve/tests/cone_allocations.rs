//! A cone problem with the pattern of the last one is solved in the memory that is there.

mod families;

use stiction_solve::cone::{ConeSettings, ConeSolver};

#[test]
fn a_second_solve_with_the_same_pattern_allocates_nothing() {
    let settings = ConeSettings::default();
    let problems = [
        ("islands", families::random(20, 1), families::random(20, 1)),
        ("tower", families::tower(10, 1.0, 1), families::tower(10, 1.0, 2)),
        ("heavy tower", families::tower(10, 1e3, 1), families::tower(10, 1e3, 1)),
        ("chain", families::chain(10, 1), families::chain(10, 2)),
    ];
    for (name, first, second) in problems {
        let mut solver = ConeSolver::default();
        let count = |solver: &mut ConeSolver, problem| {
            let mut is_solved = false;
            let info = allocation_counter::measure(|| {
                is_solved = solver.solve_global(problem, &settings, None).unwrap().report.is_solved();
            });
            assert!(is_solved, "{name}");
            info.count_total
        };
        assert!(count(&mut solver, &first) > 0, "the counter counts");
        // The second problem may run longer through the chain, and then take memory that is there
        // ever after.
        count(&mut solver, &second);
        assert_eq!(count(&mut solver, &first), 0, "{name}");
        assert_eq!(count(&mut solver, &second), 0, "{name}");
    }
}

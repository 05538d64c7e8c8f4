//! A matrix with the pattern of the last one is assembled, factored and solved in the memory that
//! is there.

use stiction_solve::SparseLu;

/// A ring of masses with springs of this stiffness, turning couplings, and a constraint on every
/// third pair.
fn factor(lu: &mut SparseLu, stiffness: f64) {
    let (masses, constraints) = (60, 20);
    lu.begin(masses + constraints, masses);
    for i in 0..masses {
        let next = (i + 1) % masses;
        lu.push(i, i, 1.0 + stiffness);
        lu.push(next, next, stiffness);
        lu.push(i, next, 0.1 - stiffness);
        lu.push(next, i, -0.1 - stiffness);
    }
    for k in 0..constraints {
        for (column, value) in [(3 * k, 1.0), (3 * k + 1, -1.0)] {
            lu.push(masses + k, column, value);
            lu.push(column, masses + k, -value);
        }
        lu.push_shift(masses + k, 1e-9);
    }
    lu.assemble();
    lu.factor().unwrap();
}

#[test]
fn a_second_factorisation_with_the_same_pattern_allocates_nothing() {
    let (mut lu, mut workspace) = (SparseLu::default(), Vec::new());
    let mut x = vec![1.0; 80];
    let first = allocation_counter::measure(|| {
        factor(&mut lu, 1.0);
        lu.solve(&mut x, &mut workspace);
    });
    assert!(first.count_total > 0, "the counter counts");
    let second = allocation_counter::measure(|| {
        factor(&mut lu, 2.0);
        lu.solve(&mut x, &mut workspace);
    });
    assert_eq!(second.count_total, 0);
    assert_eq!(lu.analysis_count(), 1);
}

//! Joints eliminated by one sparse factorisation: the same answers as by dense elimination, and redundant joints besides.

use faer::Mat;
use faer::linalg::solvers::Solve;
use stiction_dynamics::families::{Generator, RandomContacts};
use stiction_dynamics::{
    ContactProblem, ContactSolution, FrictionCondition, Inertia, JointCondition, PlanarRelay, Pyramid, PyramidSettings,
    Row, joint_residual,
};
use stiction_solve::MixedLcp;

/// A row with this many random entries.
fn random_row(random: &mut Generator, coordinate_count: usize, entry_count: usize) -> Row {
    let mut row = Row::new();
    (0..entry_count).for_each(|_| row.push(random.below(coordinate_count), random.uniform(-1.0, 1.0)));
    row
}

/// Random contacts with joints and friction elements; $W$ in blocks, or coupled and unsymmetric, sparse or dense.
fn problem(seed: u64, is_planar: bool, mass_ratio: f64) -> ContactProblem {
    let mut random = Generator::new(seed);
    let family = RandomContacts { contact_count: 1 + random.below(8), is_planar, mass_ratio, ..Default::default() };
    let mut problem = family.problem(seed);
    let n = problem.free_motion.len();
    for _ in 0..1 + random.below(n / 3) {
        // Joints couple a few coordinates with others near them.
        let row = random_row(&mut random, n, 4);
        problem.joints.push(JointCondition { row, bias: random.uniform(-0.1, 0.1) });
    }
    for id in 0..random.below(3) as u32 {
        let tangents = [random_row(&mut random, n, 2)].into_iter().collect();
        problem.friction.push(FrictionCondition {
            id,
            tangents,
            bound: random.uniform(0.0, 0.1),
            ..Default::default()
        });
    }
    let form = random.below(3);
    if form > 0 {
        // A spring and a gyroscopic coupling for every coordinate.
        let mut entries = Vec::new();
        for _ in 0..n {
            let (i, j) = (random.below(n), random.below(n));
            let scale = problem.inertia.entry(i, i).min(problem.inertia.entry(j, j));
            let (spring, turn) = (random.uniform(0.0, 0.5) * scale, random.uniform(-0.5, 0.5) * scale);
            entries.extend([(i, i, spring), (j, j, spring), (i, j, turn - spring), (j, i, -turn - spring)]);
        }
        let mass = std::mem::take(&mut problem.inertia);
        problem.inertia.set_sum(&[(&mass, 2.0)], entries);
        if form == 2 {
            let sparse = std::mem::take(&mut problem.inertia);
            problem.inertia.set_dense(dense(&sparse));
        }
        problem.inertia.factor().unwrap();
    }
    problem.check().unwrap();
    problem
}

fn dense(inertia: &Inertia) -> Mat<f64> {
    Mat::from_fn(inertia.size(), inertia.size(), |i, j| inertia.entry(i, j))
}

/// Rows and biases in the order of the pyramid: joints, contacts (normal, tangents), friction elements.
fn rows(problem: &ContactProblem) -> Vec<(Row, f64)> {
    let mut rows: Vec<(Row, f64)> = problem.joints.iter().map(|joint| (joint.row.clone(), joint.bias)).collect();
    for contact in &problem.contacts {
        rows.push((contact.normal.clone(), contact.normal_bias));
        rows.extend(contact.tangents.iter().cloned().zip(contact.tangent_bias));
    }
    for element in &problem.friction {
        rows.extend(element.tangents.iter().cloned().zip(element.tangent_bias));
    }
    rows
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

#[test]
fn the_elimination_agrees_with_the_dense_one() {
    let mut pyramid = Pyramid::new(PyramidSettings::default()).unwrap();
    let (mut compared, mut worst) = (0, 0.0f64);
    for seed in 0..300 {
        let problem = problem(seed, seed % 2 == 0, [1.0, 1e3, 1e6][seed as usize % 3]);
        let (m, rows) = (problem.joints.len(), rows(&problem));
        let (n, count) = (problem.free_motion.len(), rows.len());

        // J W⁻¹ Jᵀ and J u_free + b over all rows, then the joints eliminated from it.
        let mut jacobian = Mat::<f64>::zeros(count, n);
        for (i, (row, _)) in rows.iter().enumerate() {
            row.entries().iter().for_each(|&(k, value)| jacobian[(i, k)] += value);
        }
        let inverse = dense(&problem.inertia).partial_piv_lu();
        let delassus = &jacobian * inverse.solve(jacobian.transpose().to_owned());
        let rates: Vec<f64> = rows.iter().map(|(row, bias)| row.dot(&problem.free_motion) + bias).collect();
        let block = |i: std::ops::Range<usize>, j: std::ops::Range<usize>| delassus.get(i, j).to_owned();
        let joints = block(0..m, 0..m);
        // The two lose digits in proportion to the condition of the joints.
        let scaled = Mat::from_fn(m, m, |i, j| joints[(i, j)] / (joints[(i, i)] * joints[(j, j)]).sqrt());
        let singular_values = scaled.singular_values().unwrap();
        if singular_values[m - 1] < 1e-2 * singular_values[0] {
            continue;
        }
        let mixed = MixedLcp::new(
            joints,
            block(0..m, m..count),
            block(m..count, 0..m),
            block(m..count, m..count),
            rates[..m].to_vec(),
            rates[m..].to_vec(),
        )
        .unwrap();
        let (matrix, offset, elimination) = mixed.condense().unwrap();

        let lcp = pyramid.contact_lcp(&problem).unwrap();
        let scale = |i: usize| delassus[(m + i, m + i)].sqrt();
        let rate_size = largest(
            (0..count - m).map(|i| rates[m + i] / scale(i)).chain((0..m).map(|i| rates[i] / delassus[(i, i)].sqrt())),
        );
        for i in 0..count - m {
            for j in 0..count - m {
                let difference =
                    (lcp.data().delassus[j * (count - m) + i] - matrix[(i, j)]).abs() / (scale(i) * scale(j));
                assert!(difference <= 1e-12, "seed {seed}: entry ({i}, {j}) differs by {difference:e}");
                worst = worst.max(difference);
            }
            let difference = (lcp.data().free_rates[i] - offset[i]).abs() / (scale(i) * rate_size);
            assert!(difference <= 1e-12, "seed {seed}: rate {i} differs by {difference:e}");
            worst = worst.max(difference);
        }

        // Joint impulses, recovered from the impulses of contacts and friction.
        let mut solution = ContactSolution::default();
        pyramid.solve(&problem, &mut solution).unwrap();
        if !solution.report.is_solved() {
            // With large mass ratios a path may end in a ray; that is not the elimination's.
            continue;
        }
        let mut own = Vec::new();
        for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
            own.push(impulse.normal);
            own.extend_from_slice(&impulse.tangent[..contact.tangents.len()]);
        }
        own.extend(solution.friction.iter().map(|impulse| impulse[0]));
        let expected = elimination.recover(&own);
        let unit = |i: usize| delassus[(i, i)].sqrt();
        let size = rate_size.max(largest(own.iter().enumerate().map(|(i, impulse)| impulse * unit(m + i))));
        let size = size.max(largest((0..m).map(|i| expected[i] * unit(i))));
        for i in 0..m {
            let difference = (solution.joints[i] - expected[i]).abs() * unit(i) / size;
            assert!(difference <= 1e-12, "seed {seed}: impulse of joint {i} differs by {difference:e}");
            worst = worst.max(difference);
        }
        assert!(joint_residual(&problem, &solution, &mut Default::default()) <= 1e-13, "seed {seed}");
        compared += 1;
    }
    assert!(compared > 150, "{compared}");
    println!("{compared} problems, largest difference {worst:e}");
}

#[test]
fn the_relay_method_eliminates_in_the_same_way() {
    let (mut relay, mut compared) = (PlanarRelay::default(), 0);
    for seed in 0..60 {
        let problem = problem(seed, true, 1.0);
        let mut solutions = [ContactSolution::default(), ContactSolution::default()];
        Pyramid::new(PyramidSettings::default()).unwrap().solve(&problem, &mut solutions[0]).unwrap();
        relay.solve(&problem, &mut solutions[1]).unwrap();
        if solutions.iter().all(|solution| solution.report.is_solved()) {
            let size = largest(solutions[0].motion.iter().copied());
            let difference = largest(solutions[0].motion.iter().zip(&solutions[1].motion).map(|(a, b)| a - b));
            // Motions need not be unique with friction, but in these problems they are.
            assert!(difference <= 1e-10 * size, "seed {seed}: {difference:e}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

//! Joints eliminated by one sparse factorisation: the same answers as by dense elimination, and
//! redundant joints besides.

use faer::Mat;
use faer::linalg::solvers::Solve;
use stiction_dynamics::families::{Chain, Generator, RandomContacts};
use stiction_dynamics::{
    ConstrainedMotion, ContactCondition, ContactProblem, ContactSolution, Directions, FrictionCondition, Inertia,
    JointCondition, PlanarRelay, Pyramid, PyramidSettings, Row, joint_redundancy,
};
use stiction_solve::SolveStatus;

/// How far the joints are from their rates, relative to the terms that these sum.
fn rate_error(problem: &ContactProblem, solution: &ContactSolution) -> f64 {
    problem.joints.iter().fold(0.0f64, |worst, joint| {
        let terms = joint.row.entries().iter().map(|&(k, value)| {
            let contacts = solution.contacts.iter().map(|impulse| impulse.normal.abs().max(impulse.tangent[0].abs()));
            let impulse = largest(solution.joints.iter().copied().chain(contacts)) / problem.inertia.entry(k, k).abs();
            value.abs() * (solution.motion[k].abs().max(problem.free_motion[k].abs()) + value.abs() * impulse)
        });
        let size = terms.fold(joint.bias.abs(), f64::max);
        worst.max((joint.row.dot(&solution.motion) + joint.bias).abs() / size)
    })
}

/// A row with this many random entries.
fn random_row(random: &mut Generator, coordinate_count: usize, entry_count: usize) -> Row {
    let mut row = Row::new();
    (0..entry_count).for_each(|_| row.push(random.below(coordinate_count), random.uniform(-1.0, 1.0)));
    row
}

/// Random contacts with joints and friction elements; $W$ in blocks, or coupled and unsymmetric,
/// with few entries or all.
fn problem(seed: u64, is_planar: bool, mass_ratio: f64) -> ContactProblem {
    let mut random = Generator::new(seed);
    let family = RandomContacts { contact_count: 1 + random.below(8), is_planar, mass_ratio, ..Default::default() };
    let mut problem = family.problem(seed);
    let n = problem.free_motion.len();
    for _ in 0..1 + random.below(n / 3) {
        // Joints couple a few coordinates with others near them.
        let row = random_row(&mut random, n, 4);
        problem.joints.push(JointCondition { row, bias: random.uniform(-0.1, 0.1), rounding: 0.0 });
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
            let matrix = dense(&sparse);
            let places = (0..n * n).map(|k| (k / n, k % n));
            problem.inertia.set_entries(n, places.map(|(i, j)| (i, j, matrix[(i, j)])));
        }
        problem.inertia.factor().unwrap();
    }
    problem.check().unwrap();
    problem
}

fn dense(inertia: &Inertia) -> Mat<f64> {
    Mat::from_fn(inertia.size(), inertia.size(), |i, j| inertia.entry(i, j))
}

/// Rows and biases in the order of the pyramid: joints, contacts (normal, tangents), friction
/// elements.
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
        // With A x + B z + a = 0: x = -A⁻¹ (B z + a), which leaves D - C A⁻¹ B and b - C A⁻¹ a.
        let lu = joints.partial_piv_lu();
        let slope = lu.solve(block(0..m, m..count));
        let constant = lu.solve(Mat::from_fn(m, 1, |i, _| rates[i]));
        let matrix = block(m..count, m..count) - block(m..count, 0..m) * &slope;
        let carried = block(m..count, 0..m) * &constant;
        let offset: Vec<f64> = (0..count - m).map(|i| rates[m + i] - carried[(i, 0)]).collect();

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
        let recovered =
            |i: usize| -constant[(i, 0)] - own.iter().enumerate().map(|(j, z)| slope[(i, j)] * z).sum::<f64>();
        let expected: Vec<f64> = (0..m).map(recovered).collect();
        let unit = |i: usize| delassus[(i, i)].sqrt();
        let size = rate_size.max(largest(own.iter().enumerate().map(|(i, impulse)| impulse * unit(m + i))));
        let size = size.max(largest((0..m).map(|i| expected[i] * unit(i))));
        for i in 0..m {
            let difference = (solution.joints[i] - expected[i]).abs() * unit(i) / size;
            assert!(difference <= 1e-12, "seed {seed}: impulse of joint {i} differs by {difference:e}");
            worst = worst.max(difference);
        }
        let error = rate_error(&problem, &solution);
        assert!(error <= 1e-13, "seed {seed}: {error:e}");
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

/// Solves with four friction directions in space.
fn solve(problem: &ContactProblem) -> ContactSolution {
    problem.check().unwrap();
    let settings = PyramidSettings { directions: Directions::Regular(4), ..Default::default() };
    let mut solution = ContactSolution::default();
    Pyramid::new(settings).unwrap().solve(problem, &mut solution).unwrap();
    solution
}

type Vector = [f64; 3];

const AXES: [Vector; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A body of a mechanism in the plane of x and z: mass and centre; its moments of inertia are 0.1 m
/// about every axis.
type Body = (f64, Vector);

/// A mechanism with hinges about y, each between two bodies or a body and the ground, at a point;
/// in the plane with two rows a hinge and coordinates (v_x, v_z, ω_y), or in space with five.
struct Mechanism {
    bodies: Vec<Body>,
    hinges: Vec<(usize, Option<usize>, Vector)>,
    /// Body and point of a contact with the ground, upwards and with μ = 0.3.
    contact: Option<(usize, Vector)>,
}

impl Mechanism {
    /// The velocity of a point of one body over the other along a direction (or the angular
    /// velocity about it), as a row.
    fn row(
        &self,
        first: usize,
        second: Option<usize>,
        point: Vector,
        direction: Vector,
        turns: bool,
        planar: bool,
    ) -> Row {
        let mut row = Row::new();
        for (body, sign) in [(Some(first), 1.0), (second, -1.0)] {
            let Some(body) = body else { continue };
            let centre = self.bodies[body].1;
            let arm = [0, 1, 2].map(|i| point[i] - centre[i]);
            let (linear, angular) = if turns { ([0.0; 3], direction) } else { (direction, cross(arm, direction)) };
            if planar {
                let entries = [linear[0], linear[2], angular[1]];
                entries.iter().enumerate().for_each(|(i, value)| row.push(3 * body + i, sign * value));
            } else {
                let entries = linear.iter().chain(&angular).enumerate();
                entries.for_each(|(i, value)| row.push(6 * body + i, sign * value));
            }
        }
        row
    }

    /// The problem with this free motion in the plane, (v_x, v_z, ω_y) body by body.
    fn problem(&self, planar: bool, free_motion: &[f64]) -> ContactProblem {
        let mut problem = ContactProblem::default();
        for ((mass, _), u) in self.bodies.iter().zip(free_motion.chunks(3)) {
            if planar {
                [*mass, *mass, 0.1 * mass].into_iter().for_each(|mass| problem.inertia.push_scalar(mass));
                problem.free_motion.extend_from_slice(u);
            } else {
                [*mass; 3].into_iter().for_each(|mass| problem.inertia.push_scalar(mass));
                let moment = 0.1 * mass;
                problem.inertia.push_block(3, &[moment, 0.0, 0.0, 0.0, moment, 0.0, 0.0, 0.0, moment]);
                problem.free_motion.extend([u[0], 0.0, u[1], 0.0, u[2], 0.0]);
            }
        }
        problem.inertia.factor().unwrap();
        let [x, y, z] = AXES;
        for &(first, second, point) in &self.hinges {
            let mut push = |direction, turns| {
                let row = self.row(first, second, point, direction, turns, planar);
                problem.joints.push(JointCondition { row, bias: 0.0, rounding: 0.0 });
            };
            [x, z].into_iter().for_each(|direction| push(direction, false));
            if !planar {
                push(y, false);
                [x, z].into_iter().for_each(|direction| push(direction, true));
            }
        }
        if let Some((body, point)) = self.contact {
            let row = |direction| self.row(body, None, point, direction, false, planar);
            let tangents = if planar { vec![row(x)] } else { vec![row(x), row(y)] };
            let tangents = tangents.into_iter().collect();
            problem.contacts.push(ContactCondition { normal: row(z), tangents, mu: 0.3, ..Default::default() });
        }
        problem
    }
}

/// Crank, coupler and rocker between two pivots on the ground, the coupler running into the ground.
fn four_bar() -> Mechanism {
    let [a, b, c, d] = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.8], [2.0, 0.0, 1.4], [2.2, 0.0, 0.1]];
    let middle = |p: Vector, q: Vector| [0, 1, 2].map(|i| 0.5 * (p[i] + q[i]));
    Mechanism {
        bodies: vec![(1.0, middle(a, b)), (2.5, middle(b, c)), (1.5, middle(c, d))],
        hinges: vec![(0, None, a), (1, Some(0), b), (2, Some(1), c), (2, None, d)],
        contact: Some((1, [1.0, 0.0, 0.9])),
    }
}

#[test]
fn a_four_bar_of_spatial_hinges_moves_like_the_planar_one() {
    let mechanism = four_bar();
    let mut random = Generator::new(3);
    let mut touched = 0;
    for _ in 0..50 {
        let free_motion: Vec<f64> = (0..9).map(|_| random.uniform(-1.0, 1.0)).collect();
        let (planar, spatial) = (mechanism.problem(true, &free_motion), mechanism.problem(false, &free_motion));
        // 18 coordinates, one of which is left by 20 rows: three of them are redundant, none of
        // those in the plane.
        let redundancy = joint_redundancy(&spatial.inertia, spatial.joints.iter().map(|joint| &joint.row));
        assert_eq!((redundancy.row_count, redundancy.rank, redundancy.count()), (20, 17, 3));
        assert!(redundancy.dependent.iter().all(|row| row % 5 >= 2), "{redundancy:?}");
        let redundancy = joint_redundancy(&planar.inertia, planar.joints.iter().map(|joint| &joint.row));
        assert_eq!((redundancy.row_count, redundancy.count()), (8, 0));

        let (expected, found) = (solve(&planar), solve(&spatial));
        assert!(expected.report.is_solved() && found.report.is_solved(), "{:?}", found.report);
        touched += usize::from(expected.contacts[0].normal > 0.0);
        // Numbers of the order of one, a few hundred operations.
        for (own, other) in found.motion.chunks(6).zip(expected.motion.chunks(3)) {
            assert!(largest([own[0] - other[0], own[2] - other[1], own[4] - other[2]]) < 1e-13);
            assert!(largest([own[1], own[3], own[5]]) < 1e-13);
        }
        // The impulses in the plane are unique; those across it are not, and the least ones are
        // zero.
        for (own, other) in found.joints.chunks(5).zip(expected.joints.chunks(2)) {
            assert!(largest([own[0] - other[0], own[1] - other[1]]) < 1e-12);
            assert!(largest([own[2], own[3], own[4]]) < 1e-6, "{own:?}");
        }
    }
    assert!((10..40).contains(&touched), "{touched}");
}

/// A parallelogram with cranks at this angle to the ground: flat at zero, where one row depends on
/// the others and a second motion opens.
fn parallelogram(angle: f64) -> Mechanism {
    let (sine, cosine) = angle.sin_cos();
    let [a, b, c, d] = [[0.0, 0.0, 0.0], [cosine, 0.0, sine], [2.0 + cosine, 0.0, sine], [2.0, 0.0, 0.0]];
    let middle = |p: Vector, q: Vector| [0, 1, 2].map(|i| 0.5 * (p[i] + q[i]));
    Mechanism {
        bodies: vec![(1.0, middle(a, b)), (2.5, middle(b, c)), (1.5, middle(c, d))],
        hinges: vec![(0, None, a), (1, Some(0), b), (2, Some(1), c), (2, None, d)],
        contact: None,
    }
}

#[test]
fn mechanisms_pass_their_singular_positions() {
    // Two hinges of the flat parallelogram ask for the same to first order in the angle; what they
    // ask beyond it is obeyed with impulses of the order of 1 / angle. Only where these have eight
    // to ten digits more than the motion an answer may be refused.
    let mut random = Generator::new(8);
    for exponent in 0..17 {
        let angle = if exponent == 16 { 0.0 } else { 10f64.powi(-exponent) };
        for _ in 0..20 {
            let free_motion: Vec<f64> = (0..9).map(|_| random.uniform(-1.0, 1.0)).collect();
            let problem = parallelogram(angle).problem(true, &free_motion);
            let solution = solve(&problem);
            if (8..=10).contains(&exponent) {
                assert!(solution.report.residual < 1e-8, "angle {angle:e}: {:?}", solution.report);
            } else {
                assert!(solution.report.is_solved(), "angle {angle:e}: {:?}", solution.report);
            }
            let rates = largest(problem.joints.iter().map(|joint| joint.row.dot(&solution.motion)));
            assert!(!solution.report.is_solved() || rates < 1e-9, "angle {angle:e}: {rates:e}");
        }
    }
}

/// A triangle of three links, its base pinned to the ground at both ends: one row too many, along
/// the base.
fn pinned_triangle() -> Mechanism {
    let [a, b, c] = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 1.5]];
    Mechanism {
        bodies: vec![(1.0, [1.0, 0.0, 0.0]), (2.0, [0.5, 0.0, 0.75]), (4.0, [1.5, 0.0, 0.75])],
        hinges: vec![(0, None, a), (0, None, b), (1, Some(0), a), (2, Some(0), b), (2, Some(1), c)],
        contact: None,
    }
}

#[test]
fn an_overconstrained_triangle_rests_and_its_reactions_carry_the_weight() {
    // Falls by 0.1 m/s in the step: 0.7 N s upwards at the pins, by the lever rule 0.1 (0.5 + 2 ·
    // 0.75 + 4 · 0.25) at the first.
    let free_motion = [0.0, -0.1, 0.0].repeat(3);
    let problem = pinned_triangle().problem(true, &free_motion);
    let redundancy = joint_redundancy(&problem.inertia, problem.joints.iter().map(|joint| &joint.row));
    assert_eq!((redundancy.row_count, redundancy.rank), (10, 9));
    assert_eq!((redundancy.dependent, redundancy.removable), (vec![0, 2], vec![2]));
    let solution = solve(&problem);
    assert!(solution.report.is_solved() && solution.report.residual < 1e-14, "{:?}", solution.report);
    // 0.1 m/s is taken back, up to rounding.
    assert!(largest(solution.motion.iter().copied()) < 1e-15);
    let [left, right] = [&solution.joints[0..2], &solution.joints[2..4]];
    assert!((left[1] - 0.3).abs() < 1e-14 && (right[1] - 0.4).abs() < 1e-14, "{:?}", solution.joints);
    assert!((left[0] + right[0]).abs() < 1e-14);
    // Nothing pulls at the base, and of all pairs of opposite impulses along it the least is none.
    assert!(left[0].abs() < 1e-8, "{left:?}");
}

#[test]
fn joints_that_contradict_each_other_are_never_solved() {
    let free_motion = [0.0, -0.1, 0.0].repeat(3);
    for (bias, is_solved) in [(0.0, true), (1e-9, false), (1e-3, false), (1e3, false)] {
        let mut problem = pinned_triangle().problem(true, &free_motion);
        // The pins move apart, and the base is rigid.
        problem.joints[2].bias = bias;
        let mut solutions = [ContactSolution::default(), ContactSolution::default()];
        Pyramid::new(PyramidSettings::default()).unwrap().solve(&problem, &mut solutions[0]).unwrap();
        PlanarRelay::default().solve(&problem, &mut solutions[1]).unwrap();
        for solution in solutions {
            assert_eq!(solution.report.is_solved(), is_solved, "bias {bias}: {:?}", solution.report);
            assert_eq!(solution.report.status == SolveStatus::Inaccurate, !is_solved);
        }
    }
    // A row without entries asks for 0 = -b.
    for (bias, is_solved) in [(0.0, true), (1e-12, false)] {
        let mut problem = pinned_triangle().problem(true, &free_motion);
        problem.joints.push(JointCondition { row: Row::new(), bias, rounding: 0.0 });
        assert_eq!(solve(&problem).report.is_solved(), is_solved, "bias {bias}");
    }
}

#[test]
fn a_row_that_stands_several_times_shares_its_impulse() {
    // 1 kg and 3 kg linked three times, the second time in other units: 4 and 0 m/s become 1 m/s, 3
    // N s are carried together.
    let mut problem = ContactProblem { free_motion: vec![4.0, 0.0], ..Default::default() };
    problem.inertia.set_diagonal(&[1.0, 3.0]);
    problem.inertia.factor().unwrap();
    for factor in [1.0, 1e3, 1.0] {
        problem.joints.push(JointCondition { row: Row::from_dense(&[factor, -factor]), bias: 0.0, rounding: 0.0 });
    }
    let solution = solve(&problem);
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    assert!(largest(solution.motion.iter().map(|u| u - 1.0)) < 1e-15);
    let shares = [solution.joints[0], 1e3 * solution.joints[1], solution.joints[2]];
    assert!((shares.iter().sum::<f64>() + 3.0).abs() < 1e-14);
    // Each the same, whatever its units: rounding magnified by the regularisation.
    assert!(largest(shares.map(|share| share + 1.0)) < 1e-6, "{shares:?}");
}

#[test]
fn masses_far_apart_are_treated() {
    for other_mass in [1e-6, 1e-3, 1e3, 1e6] {
        for (links, seed) in [(2, 0), (5, 1), (20, 2), (100, 3)] {
            let problem = Chain { links, other_mass, ..Default::default() }.problem(seed);
            let solution = solve(&problem);
            let residual = rate_error(&problem, &solution);
            assert!(solution.report.is_solved(), "{links} links, {other_mass} kg: {:?}", solution.report);
            assert!(residual < 1e-13, "{links} links, {other_mass} kg: {residual:e}");
        }
    }
}

#[test]
fn the_work_of_a_chain_grows_with_its_length() {
    let counts = [10, 100, 1000].map(|links| {
        let mut motion = ConstrainedMotion::default();
        motion.factor(&Chain { links, ..Default::default() }.problem(0)).unwrap();
        [motion.matrix().size(), motion.matrix().factor_entry_count(), motion.matrix().operation_count()]
    });
    for ([size, entries, operations], links) in counts.into_iter().zip([10, 100, 1000]) {
        assert_eq!(size, 5 * links);
        assert!(entries <= 20 * links && operations <= 120 * links, "{links} links: {counts:?}");
    }
}

#[test]
fn bodies_without_joints_are_not_part_of_the_factorisation() {
    // A chain of three links, with 50 free bodies behind it that touch the chain's last link and
    // each other.
    let mut problem = Chain { links: 3, ..Default::default() }.problem(0);
    let mut lonely = RandomContacts { contact_count: 115, is_planar: true, ..Default::default() }.problem(7);
    let shift = problem.free_motion.len();
    let bodies = lonely.free_motion.len();
    (0..bodies).for_each(|i| problem.inertia.push_scalar(lonely.inertia.entry(i, i)));
    problem.inertia.factor().unwrap();
    problem.free_motion.append(&mut lonely.free_motion);
    let mut row = Row::new();
    problem.contacts[0].normal.entries().iter().for_each(|&(index, value)| row.push(index, value));
    row.push(shift + 1, -1.0);
    let mut motion = ConstrainedMotion::default();
    motion.factor(&problem).unwrap();
    assert_eq!(motion.matrix().size(), 15);
    assert_eq!(motion.motion()[shift..], problem.free_motion[shift..]);
    // The response of a row that touches both is the sum of those of its parts.
    let [mut response, mut joints, mut chain, mut chain_joints] = [0; 4].map(|_| Row::new());
    motion.respond(&problem.inertia, row.entries(), &mut response, &mut joints);
    motion.respond(&problem.inertia, problem.contacts[0].normal.entries(), &mut chain, &mut chain_joints);
    chain.push(shift + 1, -1.0 / problem.inertia.entry(shift + 1, shift + 1));
    let mut difference = vec![0.0; problem.free_motion.len()];
    response.add_to(1.0, &mut difference);
    chain.add_to(-1.0, &mut difference);
    assert!(largest(difference) < 1e-15);
    assert_eq!(joints, chain_joints);
    // And the joints hold in it.
    let mut dense = vec![0.0; problem.free_motion.len()];
    response.add_to(1.0, &mut dense);
    assert!(largest(problem.joints.iter().map(|joint| joint.row.dot(&dense))) < 1e-14);
}

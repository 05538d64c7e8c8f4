//! The relay method of [GS05] on random planar problems: against the laws, the pyramid method and
//! the quadratic program.

use stiction_dynamics::families::{BodyKind, Generator, RandomContacts};
use stiction_dynamics::{
    ContactProblem, ContactSolution, FrictionCondition, JointCondition, PlanarRelay, PlanarRelaySettings, Pyramid,
    PyramidSettings, Row,
};
use stiction_solve::{LemkeSettings, enumerate};

/// Largest violation of a law, relative to the largest impulse: the solvers ask for 1e-10 in their
/// own scale and reach about 1e-15.
const TOLERANCE: f64 = 1e-10;

/// Largest difference of two answers where there is one only, relative to the largest motion or
/// impulse: rounding, and the condition of the active rows.
const SAME: f64 = 1e-12;

/// Largest LCP that is enumerated: 4096 bases.
const LARGEST_SIZE: usize = 12;

/// A row with one random coordinate, or the difference of two.
fn random_row(random: &mut Generator, coordinate_count: usize) -> Row {
    let mut row = Row::new();
    row.push(random.below(coordinate_count), 1.0);
    let second = random.below(coordinate_count);
    if random.chance(0.5) && row.entries()[0].0 != second {
        row.push(second, -1.0);
    }
    row
}

/// A planar problem with load-dependent and load-independent friction, belts, friction elements and
/// a joint, each by chance.
fn problem(seed: u64, contact_count: usize, largest_mu: f64) -> ContactProblem {
    let mut random = Generator::new(!seed);
    let family = RandomContacts {
        contact_count,
        bodies: if random.chance(0.5) { BodyKind::Rods } else { BodyKind::Boxes },
        is_planar: true,
        mu: [0.0, largest_mu],
        frictionless_share: [0.0, 0.3][random.below(2)],
        gap_share: [0.0, 0.3][random.below(2)],
        kick: [0.3, 1.0, 3.0][random.below(3)],
        ..Default::default()
    };
    let mut problem = family.problem(seed);
    let count = problem.free_motion.len();
    let constant_share = [0.3, 1.0][random.below(2)];
    for contact in &mut problem.contacts {
        if random.chance(constant_share) {
            contact.extra_bound = random.uniform(0.01, 0.5);
        }
        if random.chance(0.3) {
            contact.tangent_bias[0] = random.uniform(-0.5, 0.5);
        }
    }
    if random.chance(0.3) {
        let tangents = [random_row(&mut random, count)].into_iter().collect();
        let bound = random.uniform(0.0, 0.5);
        problem.friction.push(FrictionCondition { tangents, bound, ..Default::default() });
    }
    // A joint that rests: it takes no part in the proof that solutions exist, and could make one
    // impossible if it were driven.
    if count > 3 && random.chance(0.3) {
        problem.joints.push(JointCondition { row: random_row(&mut random, count), bias: 0.0, rounding: 0.0 });
    }
    problem
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    // A comparison with NaN would pass unnoticed.
    values.into_iter().fold(0.0, |largest, x| if x.is_nan() { f64::INFINITY } else { largest.max(x.abs()) })
}

fn impulses(solution: &ContactSolution) -> Vec<f64> {
    let contacts = solution.contacts.iter().flat_map(|contact| [contact.normal, contact.tangent[0]]);
    let elements = solution.friction.iter().map(|element| element[0]);
    contacts.chain(elements).chain(solution.joints.iter().copied()).collect()
}

/// $W^{-1} J^T$ of a row.
fn response(problem: &ContactProblem, row: &Row) -> Vec<f64> {
    let mut dense = vec![0.0; problem.free_motion.len()];
    row.add_to(1.0, &mut dense);
    problem.inertia.solve_in_place(&mut dense);
    dense
}

/// Largest violation of momentum, joints, contact and friction, as impulses relative to the largest
/// one there is. A rate that is not zero counts as the impulse that would stop it.
fn violation(problem: &ContactProblem, solution: &ContactSolution) -> f64 {
    let u = &solution.motion;
    let stop = |row: &Row, rate: f64| rate / row.dot(&response(problem, row));
    let mut worst = Vec::new();
    let mut momentum = vec![0.0; u.len()];
    let change: Vec<f64> = u.iter().zip(&problem.free_motion).map(|(u, free)| u - free).collect();
    problem.inertia.apply(&change, &mut momentum);
    let mut friction = |row: &Row, impulse: f64, slip: f64, bound: f64| {
        row.add_to(-impulse, &mut momentum);
        impulse - (impulse - stop(row, slip)).clamp(-bound.max(0.0), bound.max(0.0))
    };
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        assert_eq!(contact.id, impulse.id);
        worst.push(impulse.normal.min(stop(&contact.normal, contact.normal_rate(u))));
        let bound = contact.mu * impulse.normal + contact.extra_bound;
        let slip = if bound == 0.0 { 0.0 } else { contact.slip(u)[0] };
        worst.push(friction(&contact.tangents[0], impulse.tangent[0], slip, bound));
        friction(&contact.normal, impulse.normal, 0.0, 0.0);
    }
    for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
        worst.push(friction(&element.tangents[0], impulse[0], element.slip(u)[0], element.bound));
    }
    for (joint, &impulse) in problem.joints.iter().zip(&solution.joints) {
        friction(&joint.row, impulse, 0.0, 0.0);
        worst.push(stop(&joint.row, joint.row.dot(u) + joint.bias));
    }
    worst.extend(momentum);
    assert_eq!(solution.joints.len(), problem.joints.len());
    assert_eq!(solution.contacts.len(), problem.contacts.len());
    assert_eq!(solution.friction.len(), problem.friction.len());
    largest(worst) / largest(impulses(solution)).max(1e-3)
}

#[test]
fn relay_and_pyramid_agree_where_the_answer_is_unique() {
    let settings = LemkeSettings::default();
    let mut relay = PlanarRelay::default();
    let mut pyramid = Pyramid::new(PyramidSettings { warm_start: false, ..Default::default() }).unwrap();
    let (mut unique_count, mut several_count, mut unsolved_count) = (0, 0, 0);
    let (mut worst, mut worst_law) = (0.0f64, 0.0f64);
    for (contact_count, seeds) in [(1, 200), (2, 400), (3, 300), (4, 200)] {
        for largest_mu in [0.9, 3.0, 30.0] {
            for seed in 0..seeds {
                let problem = problem(seed, contact_count, largest_mu);
                let name = format!("seed {seed}, {contact_count} contacts, mu up to {largest_mu}");
                let (mut ours, mut theirs) = (ContactSolution::default(), ContactSolution::default());
                relay.solve(&problem, &mut ours).unwrap();
                pyramid.solve(&problem, &mut theirs).unwrap();
                // A belt that runs into a wedge may have no solution: then no method finds one.
                let has_belt = problem.contacts.iter().any(|contact| contact.tangent_bias[0] != 0.0);
                if has_belt && !ours.report.is_solved() && !theirs.report.is_solved() {
                    unsolved_count += 1;
                    continue;
                }
                for (method, solution) in [("relay", &ours), ("pyramid", &theirs)] {
                    assert!(solution.report.is_solved(), "{name}: {method}: {:?}", solution.report);
                    let violation = violation(&problem, solution);
                    worst_law = worst_law.max(violation);
                    assert!(violation <= TOLERANCE, "{name}: {method} violates the laws by {violation:e}");
                }
                // Without a constant part of the bound ξ_L of an open contact is arbitrary, and
                // enumeration decides nothing. Such problems are compared by their modes, in
                // `contact_lcp_properties`.
                let lcp = relay.lcp(&problem).unwrap();
                if lcp.size() > LARGEST_SIZE {
                    continue;
                }
                let found = enumerate(&lcp, &settings).expect("it is small enough");
                several_count += usize::from(found.solutions.len() > 1);
                if found.undecided > 0 || found.solutions.len() != 1 {
                    continue;
                }
                unique_count += 1;
                for (what, a, b) in
                    [("motions", &ours.motion, &theirs.motion), ("impulses", &impulses(&ours), &impulses(&theirs))]
                {
                    let scale = largest(b.iter().copied()).max(largest(problem.free_motion.iter().copied()));
                    let difference = largest(a.iter().zip(b).map(|(a, b)| a - b)) / scale;
                    worst = worst.max(difference);
                    if difference > SAME {
                        // What the rounding of the data alone does to the answer of one method,
                        // where rows nearly depend on each other.
                        let mut near = problem.clone();
                        let ulps = [1.0 + 2.0 * f64::EPSILON, 1.0 - 2.0 * f64::EPSILON].into_iter().cycle();
                        near.free_motion.iter_mut().zip(ulps).for_each(|(u, ulp)| *u *= ulp);
                        let mut moved = ContactSolution::default();
                        PlanarRelay::default().solve(&near, &mut moved).unwrap();
                        let of_rounding = match what {
                            "motions" => largest(moved.motion.iter().zip(a).map(|(a, b)| a - b)),
                            _ => largest(impulses(&moved).iter().zip(a).map(|(a, b)| a - b)),
                        } / scale;
                        println!(
                            "{name}: the {what} differ by {difference:e}, rounding of the data by {of_rounding:e}"
                        );
                        assert!(difference <= 4.0 * of_rounding, "{name}: the {what} differ by {difference:e}");
                    }
                }
            }
        }
    }
    println!(
        "{unique_count} unique, {several_count} with several, {unsolved_count} without; differences {worst:e}, laws {worst_law:e}"
    );
    assert!(unique_count > 500 && several_count > 20, "{unique_count} unique, {several_count} with several");
    assert!(unsolved_count < 33, "{unsolved_count} of 3300 wedges without a solution are too many to be believed");
}

#[test]
fn rays_are_left_by_reversing_tangents() {
    // Too large to be enumerated, and friction so large that the first path often ends in a ray.
    let mut relay = PlanarRelay::default();
    let mut ray_count = 0;
    for (contact_count, bodies) in [(8, BodyKind::Boxes), (12, BodyKind::Rods), (20, BodyKind::Boxes)] {
        let family =
            RandomContacts { contact_count, bodies, is_planar: true, mu: [0.0, 30.0], kick: 1.0, ..Default::default() };
        for seed in 0..200 {
            let problem = family.problem(seed);
            let first_path = relay.lcp(&problem).unwrap().solve(&PlanarRelaySettings::default().lemke);
            ray_count += usize::from(!first_path.report.is_solved());
            let mut solution = ContactSolution::default();
            relay.solve(&problem, &mut solution).unwrap();
            assert!(solution.report.is_solved(), "seed {seed}, {family:?}: {:?}", solution.report);
            // Wedged bodies have impulses far above those of the others, and the residual is
            // relative to the problem.
            let violation = violation(&problem, &solution);
            assert!(violation <= TOLERANCE, "seed {seed}, {family:?}: violates the laws by {violation:e}");
        }
    }
    println!("{ray_count} of 600 first paths ended in a ray");
    assert!(ray_count > 10, "{ray_count} rays: the problems are too easy for this test");
}

/// Minimises ½ xᵀ G x + bᵀ x over a box, one coordinate after another, until the projected gradient
/// vanishes.
fn minimise(matrix: &[Vec<f64>], linear: &[f64], lower: &[f64], upper: &[f64]) -> Vec<f64> {
    let n = linear.len();
    let mut x = vec![0.0; n];
    for _ in 0..1_000_000 {
        let mut change = 0.0f64;
        for i in 0..n {
            let gradient = linear[i] + (0..n).map(|j| matrix[i][j] * x[j]).sum::<f64>();
            let next = (x[i] - gradient / matrix[i][i]).clamp(lower[i], upper[i]);
            change = change.max((next - x[i]).abs());
            x[i] = next;
        }
        if change <= 1e-15 * largest(x.iter().copied()).max(1e-3) {
            return x;
        }
    }
    panic!("descent did not end");
}

#[test]
fn load_independent_friction_solves_a_quadratic_program() {
    let mut relay = PlanarRelay::default();
    let (mut count, mut slip_count, mut stick_count, mut joint_count) = (0, 0, 0, 0);
    let mut worst = 0.0f64;
    for contact_count in [0, 1, 2, 3, 4, 5] {
        for seed in 0..100 {
            let mut problem = problem(seed, contact_count.max(1), 0.5);
            let mut random = Generator::new(seed);
            problem.contacts.truncate(contact_count);
            for contact in &mut problem.contacts {
                contact.mu = 0.0;
                contact.extra_bound = if random.chance(0.2) { 0.0 } else { random.logarithmic(0.01, 1.0) };
            }
            let coordinate_count = problem.free_motion.len();
            let tangents = [random_row(&mut random, coordinate_count)].into_iter().collect();
            let bound = random.logarithmic(0.01, 1.0);
            problem.friction.push(FrictionCondition { id: 1, tangents, bound, ..Default::default() });
            let name = format!("seed {seed}, {contact_count} contacts");
            assert!(problem.inertia.is_symmetric());
            let mut solution = ContactSolution::default();
            relay.solve(&problem, &mut solution).unwrap();
            assert!(solution.report.is_solved(), "{name}: {:?}", solution.report);

            // The program over all rows, joints as unknowns without bounds: nothing is eliminated.
            let mut rows: Vec<(&Row, f64, f64, f64)> = Vec::new();
            rows.extend(problem.contacts.iter().map(|c| (&c.normal, c.normal_bias, 0.0, f64::INFINITY)));
            for contact in problem.contacts.iter().filter(|contact| contact.extra_bound > 0.0) {
                let bound = contact.extra_bound;
                rows.push((&contact.tangents[0], contact.tangent_bias[0], -bound, bound));
            }
            for element in &problem.friction {
                rows.push((&element.tangents[0], element.tangent_bias[0], -element.bound, element.bound));
            }
            let own_count = rows.len();
            rows.extend(problem.joints.iter().map(|j| (&j.row, j.bias, f64::NEG_INFINITY, f64::INFINITY)));
            let responses: Vec<Vec<f64>> = rows.iter().map(|row| response(&problem, row.0)).collect();
            let matrix: Vec<Vec<f64>> =
                rows.iter().map(|row| responses.iter().map(|response| row.0.dot(response)).collect()).collect();
            let linear: Vec<f64> = rows.iter().map(|row| row.0.dot(&problem.free_motion) + row.1).collect();
            let lower: Vec<f64> = rows.iter().map(|row| row.2).collect();
            let upper: Vec<f64> = rows.iter().map(|row| row.3).collect();
            let x = minimise(&matrix, &linear, &lower, &upper);
            let mut motion = problem.free_motion.clone();
            for (response, x) in responses.iter().zip(&x) {
                motion.iter_mut().zip(response).for_each(|(u, r)| *u += r * x);
            }

            // The minimum is unique in the motion. Descent stops at steps of 1e-15, and its error
            // is that over its rate.
            let scale = largest(problem.free_motion.iter().copied());
            let difference = largest(motion.iter().zip(&solution.motion).map(|(a, b)| a - b)) / scale;
            worst = worst.max(difference);
            assert!(difference <= 1e-10, "{name}: the motions differ by {difference:e}");
            count += 1;
            joint_count += problem.joints.len();
            for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
                if impulse[0].abs() < (1.0 - 1e-9) * element.bound { stick_count += 1 } else { slip_count += 1 }
            }

            // The LCP has the matrix of the program, which is the same where there is no joint, in
            // a bisymmetric frame.
            let lcp = relay.lcp(&problem).unwrap();
            let relay_count = upper[..own_count].iter().filter(|bound| bound.is_finite()).count();
            assert_eq!(lcp.size(), own_count + relay_count, "{name}");
            for (k, bound) in upper[..own_count].iter().filter(|bound| bound.is_finite()).enumerate() {
                assert_eq!(lcp.offset()[own_count + k], 2.0 * bound, "{name}");
            }
            for i in 0..own_count {
                for j in 0..own_count {
                    let entry = lcp.matrix()[(i, j)];
                    let size = matrix[i][i].max(matrix[j][j]);
                    assert!((entry - lcp.matrix()[(j, i)]).abs() <= 1e-14 * size, "{name}: not symmetric");
                    let difference = (entry - matrix[i][j]).abs();
                    assert!(!problem.joints.is_empty() || difference <= 1e-14 * size, "{name}: off by {difference:e}");
                }
                for k in own_count..lcp.size() {
                    assert_eq!(lcp.matrix()[(i, k)], -lcp.matrix()[(k, i)], "{name}");
                }
            }
        }
    }
    println!("{count} programs, {joint_count} joints, {slip_count} slip, {stick_count} stick; differences {worst:e}");
    assert!(slip_count > 100 && stick_count > 100 && joint_count > 20, "{slip_count} {stick_count} {joint_count}");
}

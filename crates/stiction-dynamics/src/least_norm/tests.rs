//! Closed forms, inequalities that bind, uniqueness, and answers of all methods that may not have a
//! smaller norm.

use super::*;
use crate::families::{Generator, RandomContacts, Tower};
use crate::reference::{painleve_rod, pushed_particle};
use crate::{
    ContactCondition, ContactId, FrictionCondition, Instant, InstantContact, JointCondition, PhantomInertia,
    PlanarRelay, PlanarRelaySettings, Pyramid, PyramidSettings,
};

/// Random problems.
const SEEDS: u64 = 1000;

fn settings() -> LemkeSettings {
    LemkeSettings::default()
}

fn phantom() -> PhantomInertia {
    PhantomInertia::new(Default::default()).unwrap()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    // Numbers of the order of ten, a handful of operations.
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}, not {expected:?}");
}

fn norm(solution: &ContactSolution) -> f64 {
    let forces = solution.contacts.iter().flat_map(|force| [force.normal].into_iter().chain(force.tangent));
    forces.chain(solution.friction.iter().flatten().copied()).map(|force| force * force).sum::<f64>().sqrt()
}

/// The motion that the forces of a solution give, evaluated anew.
fn motion(problem: &ContactProblem, solution: &ContactSolution) -> Vec<f64> {
    let mut change = vec![0.0; problem.free_motion.len()];
    problem.joints.iter().zip(&solution.joints).for_each(|(joint, force)| joint.row.add_to(*force, &mut change));
    for (contact, force) in problem.contacts.iter().zip(&solution.contacts) {
        contact.normal.add_to(force.normal, &mut change);
        contact.tangents.iter().zip(force.tangent).for_each(|(row, force)| row.add_to(force, &mut change));
    }
    for (element, force) in problem.friction.iter().zip(&solution.friction) {
        element.tangents.iter().zip(force).for_each(|(row, force)| row.add_to(*force, &mut change));
    }
    problem.inertia.solve_in_place(&mut change);
    change.iter().zip(&problem.free_motion).map(|(change, free)| change + free).collect()
}

/// A beam of 1 kg in the plane, coordinates y and angle, on supports at these places, pressed with
/// a force at a place.
fn beam(places: &[f64], force: f64, at: f64) -> Instant {
    let mut instant = Instant { force: vec![-force, -force * at], ..Default::default() };
    instant.inertia.set_diagonal(&[1.0, 0.5]);
    instant.inertia.factor().unwrap();
    for (i, &x) in places.iter().enumerate() {
        let normal = Row::from_dense(&[1.0, x]);
        instant.contacts.push(InstantContact { id: ContactId::number(i as u32), normal, ..Default::default() });
    }
    instant
}

fn normals(solution: &ContactSolution) -> Vec<f64> {
    solution.contacts.iter().map(|force| force.normal).collect()
}

#[test]
fn a_beam_on_three_supports_is_carried_by_a_line_of_forces() {
    // Least norm with two equations: λ = a + b x. Σλ = 6 and Σλx = 6 at give a = 2, b = 3 at for x
    // = -1, 0, 1.
    for (at, expected) in [(0.0, [2.0, 2.0, 2.0]), (0.25, [1.25, 2.0, 2.75]), (-0.5, [3.5, 2.0, 0.5])] {
        let instant = beam(&[-1.0, 0.0, 1.0], 6.0, at);
        let solutions = [
            instant.solve_pyramid(&PyramidSettings::default()).unwrap(),
            instant.solve_relay(&mut PlanarRelay::default()).unwrap(),
            instant.solve_phantom(&mut phantom()).unwrap(),
        ];
        for solution in solutions {
            let least = instant.least_norm_forces(&solution, &[], &settings()).unwrap();
            assert!(!least.is_unique && least.solution.report.is_solved());
            assert_close(&normals(&least.solution), &expected);
            assert_eq!(least.solution.motion, solution.motion);
        }
    }
}

#[test]
fn where_the_line_of_forces_would_pull_the_support_carries_nothing() {
    // Pressed at 0.8 the line is 2 + 2.4 x, and the first support would pull with 0.4 N. Without it
    // the others have 6 · 0.2 and 6 · 0.8.
    let instant = beam(&[-1.0, 0.0, 1.0], 6.0, 0.8);
    let solution = instant.solve_relay(&mut PlanarRelay::default()).unwrap();
    let least = instant.least_norm_forces(&solution, &[], &settings()).unwrap();
    assert_close(&normals(&least.solution), &[0.0, 1.2, 4.8]);
    // All choices are (p, 1.2 - 2 p, 4.8 + p) with 0 ≤ p ≤ 0.6.
    assert!(!least.is_unique);
    // Pressed over the end it tips, and there is no choice.
    let instant = beam(&[-1.0, 0.0, 1.0], 6.0, 1.5);
    let solution = instant.solve_relay(&mut PlanarRelay::default()).unwrap();
    let least = instant.least_norm_forces(&solution, &[], &settings()).unwrap();
    assert!(least.is_unique, "{:?}", least.solution);
    assert_eq!(least.solution.contacts, solution.contacts);
    // Pressed exactly over it: the rows leave a choice, the signs none.
    let instant = beam(&[-1.0, 0.0, 1.0], 6.0, 1.0);
    let solution = instant.solve_relay(&mut PlanarRelay::default()).unwrap();
    assert_close(&normals(&solution), &[0.0, 0.0, 6.0]);
    let least = instant.least_norm_forces(&solution, &[], &settings()).unwrap();
    assert!(least.is_unique, "{:?}", least.solution);
}

/// A box of 3 kg on four feet at (±0.4, ±0.3, -0.5), its force at rest; `u` is an acceleration.
fn on_feet(force: [f64; 6], mu: f64) -> ContactProblem {
    let mut problem = ContactProblem { free_motion: force.to_vec(), ..Default::default() };
    problem.inertia.set_diagonal(&[3.0, 3.0, 3.0, 0.4, 0.5, 0.6]);
    problem.inertia.factor().unwrap();
    problem.inertia.solve_in_place(&mut problem.free_motion);
    for (i, [x, y]) in [[0.4, 0.3], [-0.4, 0.3], [-0.4, -0.3], [0.4, -0.3]].into_iter().enumerate() {
        let z = -0.5;
        problem.contacts.push(ContactCondition {
            id: ContactId::number(i as u32),
            normal: Row::from_dense(&[0.0, 0.0, 1.0, y, -x, 0.0]),
            tangents: [Row::from_dense(&[1.0, 0.0, 0.0, 0.0, z, -y]), Row::from_dense(&[0.0, 1.0, 0.0, -z, 0.0, x])]
                .into_iter()
                .collect(),
            mu,
            ..Default::default()
        });
    }
    problem
}

/// Least-norm forces from the answers of pyramid and phantom inertia, which must be the same ones,
/// as far as their polygons are.
fn least_norm_of_both(problem: &ContactProblem) -> [LeastNorm; 2] {
    let mut solution = ContactSolution::default();
    let mut method = phantom();
    let corners = method.corners(2).to_vec();
    let mut pyramid =
        Pyramid::new(PyramidSettings { directions: crate::Directions::Given(corners.clone()), ..Default::default() })
            .unwrap();
    pyramid.solve(problem, &mut solution).unwrap();
    let first = checked(problem, &solution, &corners);
    method.solve(problem, &mut solution).unwrap();
    [first, checked(problem, &solution, &corners)]
}

/// The least-norm forces of a solution, with everything checked that must hold for any.
fn checked(problem: &ContactProblem, solution: &ContactSolution, corners: &[[f64; 2]]) -> LeastNorm {
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    let least = least_norm_forces(problem, solution, corners, &settings()).unwrap();
    let report = &least.solution.report;
    assert!(report.is_solved(), "{report:?}");
    // Forces that are not unique can be spread over many contacts, but their sum is that of the
    // solution.
    let largest = solution.motion.iter().chain(&problem.free_motion).fold(0.0f64, |most, u| most.max(u.abs()));
    for (a, b) in motion(problem, &least.solution).iter().zip(&motion(problem, solution)) {
        assert!((a - b).abs() <= 1e-12 * largest, "the motion changes by {:e} of {largest}", a - b);
    }
    assert!(norm(&least.solution) <= norm(solution) * (1.0 + 1e-12), "{} {}", norm(&least.solution), norm(solution));
    if least.is_unique {
        assert_eq!(least.solution.contacts, solution.contacts);
    }
    // Once more from there: nothing changes.
    let again = least_norm_forces(problem, &least.solution, corners, &settings()).unwrap();
    assert_eq!(again.is_unique, least.is_unique);
    let scale = norm(solution).max(1e-300);
    for (a, b) in again.solution.contacts.iter().zip(&least.solution.contacts) {
        let pairs = [a.normal, a.tangent[0], a.tangent[1]].into_iter().zip([b.normal, b.tangent[0], b.tangent[1]]);
        pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-9 * scale, "{a} {b}"));
    }
    least
}

#[test]
fn a_box_on_four_feet_shares_its_weight() {
    // In the middle: a quarter each. With a moment: λ = a + b y - c x, least norm with Σλ, Σλy,
    // -Σλx given.
    let weight = 29.43;
    for (mx, my) in [(0.0, 0.0), (1.2, 0.0), (0.0, -2.0), (1.2, 1.6)] {
        let problem = on_feet([0.0, 0.0, -weight, -mx, -my, 0.0], 0.0);
        for least in least_norm_of_both(&problem) {
            assert!(!least.is_unique);
            let expected = [[0.4, 0.3], [-0.4, 0.3], [-0.4, -0.3], [0.4, -0.3]]
                .map(|[x, y]: [f64; 2]| weight / 4.0 + mx * y / (4.0 * 0.09) - my * x / (4.0 * 0.16));
            assert_close(&normals(&least.solution), &expected);
        }
    }
    // With larger moments the fourth foot would have to pull: 29.43/4 - 5 · 0.3/0.36 - 6 · 0.4/0.64
    // = -0.56 N.
    let problem = on_feet([0.0, 0.0, -weight, -5.0, -6.0, 0.0], 0.0);
    for least in least_norm_of_both(&problem) {
        let [a, b, c, d] = normals(&least.solution)[..] else { panic!() };
        assert!(d == 0.0 && a > 0.0 && b > 0.0 && c > 0.0, "{a} {b} {c} {d}");
        // With three feet the forces are determined: Σ = weight, 0.3 (a + b - c) = 5, -0.4 (a - b -
        // c) = 6.
        assert_close(&[a + b + c, 0.3 * (a + b - c), -0.4 * (a - b - c)], &[weight, 5.0, 6.0]);
    }
}

#[test]
fn friction_is_shared_within_its_bounds() {
    // Pushed with 4 N along x, and the moment of the friction 0.5 m below balanced by -2 N m about
    // y: a quarter of both on each foot.
    let problem = on_feet([4.0, 0.0, -20.0, 0.0, -2.0, 0.0], 0.3);
    for least in least_norm_of_both(&problem) {
        assert!(!least.is_unique);
        for force in &least.solution.contacts {
            assert_close(&[force.normal, force.tangent[0], force.tangent[1]], &[5.0, -1.0, 0.0]);
        }
    }
    // Two feet in a line with loads of 1 and 9 N, μ = 0.5, held against 4 N: half each is beyond
    // the bound of the first, which gives its 0.5 N, and the second the rest.
    let mut problem = ContactProblem { free_motion: vec![4.0, -1.0, -9.0], ..Default::default() };
    problem.inertia.set_diagonal(&[1.0; 3]);
    problem.inertia.factor().unwrap();
    for i in 0..2 {
        let mut normal = Row::new();
        normal.push(1 + i, 1.0);
        let tangents = [Row::from_dense(&[1.0, 0.0, 0.0])].into_iter().collect();
        let id = ContactId::number(i as u32);
        problem.contacts.push(ContactCondition { id, normal, tangents, mu: 0.5, ..Default::default() });
    }
    for least in least_norm_of_both(&problem) {
        assert!(!least.is_unique);
        let tangents: Vec<f64> = least.solution.contacts.iter().map(|force| force.tangent[0]).collect();
        assert_close(&tangents, &[-0.5, -3.5]);
    }
    // Against 5 N it holds with all that the two have, and against 7 N it slides: no choice.
    for speed in [5.0, 7.0] {
        problem.free_motion[0] = speed;
        let least = least_norm_of_both(&problem);
        assert!(least.iter().all(|least| least.is_unique), "{least:?}");
    }
}

#[test]
fn sliding_feet_keep_the_direction_of_their_friction() {
    // The box slides along x with kinetic friction, μ = 0.25, and the load is shared; friction
    // follows the load.
    let problem = on_feet([0.0, 0.0, -20.0, 0.0, 0.0, 0.0], 0.25);
    let contacts = problem.contacts.iter().map(|contact| InstantContact {
        id: contact.id,
        normal: contact.normal.clone(),
        tangents: contact.tangents.clone(),
        mu: contact.mu,
        sliding: Some([1.0, 0.0]),
        ..Default::default()
    });
    let instant = Instant {
        inertia: problem.inertia.clone(),
        force: vec![0.0, 0.0, -20.0, 0.0, -2.5, 0.0],
        contacts: contacts.collect(),
    };
    let solution = instant.solve_relay(&mut PlanarRelay::new(PlanarRelaySettings::default())).unwrap();
    let least = instant.least_norm_forces(&solution, &[], &settings()).unwrap();
    assert!(!least.is_unique && least.solution.report.is_solved(), "{:?}", least.solution.report);
    for force in &least.solution.contacts {
        // The moment of the friction, 5 N at 0.5 m below, is balanced by the -2.5 N m about y.
        assert_close(&[force.normal, force.tangent[0], force.tangent[1]], &[5.0, -1.25, 0.0]);
    }
}

#[test]
fn a_unique_answer_is_flagged_and_unchanged() {
    for force in [[9.0, 7.0, -19.62], [3.0, 2.0, -19.62], [0.0, 0.0, 5.0]] {
        for least in least_norm_of_both(&pushed_particle(2.0, force)) {
            assert!(least.is_unique, "{:?}", least.solution);
        }
    }
    let rod = painleve_rod(0.5, 0.5, 0.0, 0.0, Some([-1.0, 0.0]));
    let solution = rod.solve_relay(&mut PlanarRelay::default()).unwrap();
    let least = rod.least_norm_forces(&solution, &[], &settings()).unwrap();
    assert!(least.is_unique);
    assert_eq!(least.solution.contacts, solution.contacts);
}

#[test]
fn a_body_between_two_walls_may_be_squeezed_with_any_force() {
    // One coordinate, a wall on either side, no load: zero forces are those of least norm, and not
    // the only ones.
    let mut problem = ContactProblem { free_motion: vec![0.0], ..Default::default() };
    problem.inertia.set_diagonal(&[1.0]);
    problem.inertia.factor().unwrap();
    for (i, n) in [1.0, -1.0].into_iter().enumerate() {
        let normal = Row::from_dense(&[n]);
        problem.contacts.push(ContactCondition { id: ContactId::number(i as u32), normal, ..Default::default() });
    }
    for least in least_norm_of_both(&problem) {
        assert!(!least.is_unique);
        assert_close(&normals(&least.solution), &[0.0, 0.0]);
    }
    // Pressed against one of them: that one carries the load.
    problem.free_motion[0] = -3.0;
    for least in least_norm_of_both(&problem) {
        assert!(!least.is_unique);
        assert_close(&normals(&least.solution), &[3.0, 0.0]);
    }
    // With one wall gone there is no choice.
    problem.contacts.truncate(1);
    assert!(least_norm_of_both(&problem).iter().all(|least| least.is_unique));
}

#[test]
fn joints_keep_their_forces_and_friction_elements_share() {
    // Two brakes on one shaft, bounds 2 and 5 N m s, stop 3 N m s: 1.5 each. The joint holds
    // another coordinate.
    let mut problem = ContactProblem { free_motion: vec![3.0, 2.0], ..Default::default() };
    problem.inertia.set_diagonal(&[1.0, 1.0]);
    problem.inertia.factor().unwrap();
    problem.joints.push(JointCondition { row: Row::from_dense(&[0.0, 1.0]), bias: 0.0, rounding: 0.0 });
    for (id, bound) in [(0, 2.0), (1, 5.0)] {
        let tangents = [Row::from_dense(&[1.0, 0.0])].into_iter().collect();
        problem.friction.push(FrictionCondition { id, tangents, bound, ..Default::default() });
    }
    for (speed, expected) in [(3.0, [-1.5, -1.5]), (6.0, [-2.0, -4.0])] {
        problem.free_motion[0] = speed;
        for least in least_norm_of_both(&problem) {
            assert!(!least.is_unique);
            assert_close(&[least.solution.friction[0][0], least.solution.friction[1][0]], &expected);
            assert_close(&least.solution.joints, &[-2.0]);
        }
    }
    problem.free_motion[0] = 9.0;
    assert!(least_norm_of_both(&problem).iter().all(|least| least.is_unique));
}

/// Largest difference of the forces of two solutions, relative to their norm, or to some hundredth
/// of a weight times the step.
fn distance(a: &ContactSolution, b: &ContactSolution) -> f64 {
    let forces = |s: &ContactSolution| -> Vec<f64> {
        s.contacts.iter().flat_map(|force| [force.normal].into_iter().chain(force.tangent)).collect()
    };
    let pairs = forces(a).into_iter().zip(forces(b));
    pairs.fold(0.0f64, |most, (a, b)| most.max((a - b).abs())) / norm(a).max(1e-3)
}

#[test]
fn no_method_has_forces_of_smaller_norm_and_all_come_to_the_same() {
    let (mut several, mut unique, mut compared) = (0, 0, 0);
    let mut generator = Generator::new(1);
    for seed in 0..SEEDS {
        let family = RandomContacts {
            contact_count: 1 + generator.below(8),
            is_planar: generator.chance(0.5),
            redundant_share: 0.5,
            frictionless_share: 0.2,
            gap_share: 0.2,
            ..Default::default()
        };
        let [first, second] = least_norm_of_both(&family.problem(seed));
        if first.is_unique {
            unique += 1
        } else {
            several += 1
        }
        let (a, b) = (&first.solution.motion, &second.solution.motion);
        if a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13) {
            compared += usize::from(!first.is_unique);
            assert_eq!(first.is_unique, second.is_unique, "seed {seed}, {family:?}");
            let distance = distance(&first.solution, &second.solution);
            // A small error of the motion is a larger one of the forces where contacts are close to
            // each other.
            assert!(distance < 1e-9, "seed {seed}, {family:?}: {distance:e}");
        }
    }
    for seed in 0..10 {
        for least in least_norm_of_both(&Tower { levels: 3, ..Default::default() }.problem(seed)) {
            assert!(!least.is_unique);
        }
    }
    println!("{several} with a choice, {unique} without, {compared} compared");
    assert!(several > 50 && unique > 50 && compared > 50, "{several} {unique} {compared}");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let problem = on_feet([0.0, 0.0, -20.0, 0.0, 0.0, 0.0], 0.3);
    let mut solution = ContactSolution::default();
    let mut method = phantom();
    method.solve(&problem, &mut solution).unwrap();
    let refused = |problem: &ContactProblem, corners: &[[f64; 2]]| {
        least_norm_forces(problem, &solution, corners, &settings()).unwrap_err().to_string()
    };
    let mut other = problem.clone();
    other.contacts.pop();
    assert!(refused(&other, method.corners(2)).contains("the solution has 4 contacts, but the problem has 3"));
    let mut other = problem.clone();
    other.contacts[2].tangents.push(Row::from_dense(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]));
    let text = refused(&other, method.corners(2));
    assert!(text.contains("feature: 2") && text.contains("3 tangent rows"), "{text}");
    for corners in [&[][..], &LINE, &[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], &[[f64::NAN, 0.0], [0.0, 1.0], [1.0, 1.0]]] {
        assert!(refused(&problem, corners).starts_with("friction directions: "), "{corners:?}");
    }
    // What was not solved stays as it is, and says so.
    solution.report.status = SolveStatus::SecondaryRay;
    let least = least_norm_forces(&problem, &solution, method.corners(2), &settings()).unwrap();
    assert!(!least.is_unique && least.solution.report.status == SolveStatus::SecondaryRay);
}

#[test]
fn the_sides_of_a_polygon_leave_out_corners_within_it() {
    // A square with the middles of two sides and a point inside: four sides at distance one.
    let square = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.1]];
    let mut found = sides(&square).unwrap();
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(found.len(), 4, "{found:?}");
    for (g, expected) in found.iter().zip([[-1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [1.0, 0.0]]) {
        assert_close(g, &expected);
    }
}

#[test]
fn the_residual_notices_what_is_wrong() {
    let problem = on_feet([4.0, 0.0, -20.0, 0.0, -2.0, 0.0], 0.3);
    let mut solution = ContactSolution::default();
    let mut method = phantom();
    method.solve(&problem, &mut solution).unwrap();
    let residual = |mut solution: ContactSolution| {
        pronounce(&problem, &[], method.corners(2), &LemkeSettings::default(), &mut solution);
        solution.report.residual
    };
    assert!(residual(solution.clone()) < 1e-12);
    let spoilt = |change: &dyn Fn(&mut ContactSolution)| {
        let mut solution = solution.clone();
        change(&mut solution);
        residual(solution)
    };
    assert!(spoilt(&|s| s.contacts[1].normal += 1e-3) > 1e-5, "breaks the momentum");
    // Forces of the null space keep the momentum: normals (1, -1, 1, -1) times 30 pull, friction 30
    // along x pairs leaves the polygon.
    assert!(spoilt(&|s| (0..4).for_each(|i| s.contacts[i].normal += [30.0, -30.0][i % 2])) > 1e-2, "pulls");
    assert!(
        spoilt(&|s| [30.0, -30.0].iter().zip([0, 1]).for_each(|(force, i)| s.contacts[i].tangent[0] += force)) > 1e-2,
        "leaves the polygon"
    );
    assert_eq!(spoilt(&|s| s.contacts[0].normal = f64::NAN), f64::INFINITY);
}

//! The cases of the literature, other methods, redundant rows, and settings that are refused.

use super::*;
use crate::families::{Generator, RandomContacts, Tower};
use crate::reference::{pushed_particle as particle, touching_arm as arm};
use crate::{ContactCondition, ContactId, Directions, FrictionCondition, JointCondition, Pyramid, PyramidSettings};
use stiction_solve::faer::Mat;

/// Phantom inertias over the six decades that must not matter; none is singular for the problems
/// here.
const RHO: [Option<f64>; 8] = [None, Some(1e-3), Some(1e-2), Some(0.1), Some(1.0), Some(10.0), Some(100.0), Some(1e3)];

fn method(lines: usize, rho: Option<f64>) -> PhantomInertia {
    PhantomInertia::new(PhantomInertiaSettings { lines, rho, ..Default::default() }).unwrap()
}

fn solve(problem: &ContactProblem, method: &mut PhantomInertia) -> ContactSolution {
    problem.check().unwrap();
    let mut solution = ContactSolution::default();
    method.solve(problem, &mut solution).unwrap();
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    solution
}

fn solve_by_pyramid(problem: &ContactProblem, directions: Directions) -> ContactSolution {
    let mut solution = ContactSolution::default();
    let mut pyramid = Pyramid::new(PyramidSettings { directions, ..Default::default() }).unwrap();
    pyramid.solve(problem, &mut solution).unwrap();
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    solution
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let is_close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(is_close, "{found:?}, expected {expected:?} to {tolerance:e}");
}

/// The corners of the polygon with 2k sides around the circle, first half and opposites.
fn circumscribed(k: usize) -> Directions {
    let half = std::f64::consts::FRAC_PI_2 / k as f64;
    let corner = |j: usize| {
        let angle = (2 * j + 1) as f64 * half;
        [angle.cos() / half.cos(), angle.sin() / half.cos()]
    };
    let mut corners: Vec<[f64; 2]> = (0..k).map(corner).collect();
    corners.extend((0..k).map(corner).map(|d| [-d[0], -d[1]]).collect::<Vec<_>>());
    Directions::Given(corners)
}

#[test]
fn a_pushed_particle_starts_to_slide_whatever_the_phantom_inertia() {
    let problem = particle(2.0, [9.0, 7.0, -19.62]);
    for rho in RHO {
        let mut method = method(4, rho);
        let solution = solve(&problem, &mut method);
        assert_close(&solution.motion, &[0.53164123828, 0.53164123828, 0.0], 1e-10);
        assert_close(&solution.contacts[0].tangent[..2], &[-7.93671752344, -5.93671752344], 1e-10);
        assert_close(&[solution.contacts[0].normal], &[19.62], 1e-10);
        // Unknowns λ_n, κ₁₊ … κ₄₊, κ₁₋ …: the particle slides along the second line alone.
        let z = method.lcp(&problem).unwrap().solve(&LemkeSettings::default()).z;
        assert_close(&z[1..], &[0.0, 0.751854249492, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-10);
    }
}

#[test]
fn it_agrees_with_the_pyramid_over_the_same_polygon() {
    let mut generator = Generator::new(3);
    for k in [2, 3, 4, 5, 8] {
        for _ in 0..20 {
            let [x, y, z] = generator.vector(20.0);
            for problem in [particle(2.0, [x, y, z - 19.62]), arm([0.1 * x, 0.1 * y - 4.0, 0.1 * z - 2.0])] {
                let ours = solve(&problem, &mut method(k, None));
                let pyramid = solve_by_pyramid(&problem, circumscribed(k));
                // Rounding of forces up to about 40 N and accelerations up to about 100 m/s².
                assert_close(&ours.motion, &pyramid.motion, 1e-12);
                assert_close(&ours.contacts[0].tangent, &pyramid.contacts[0].tangent, 1e-12);
                assert_close(&[ours.contacts[0].normal], &[pyramid.contacts[0].normal], 1e-12);
            }
        }
    }
}

#[test]
fn an_arm_slides_and_sticks() {
    for rho in RHO {
        let slide = [2.5, -6.93351193466, -4.4635185093];
        let four = solve(&arm(slide), &mut method(4, rho));
        assert_close(&four.motion, &[0.501355341892, 1.40559476629, -3.88610006491], 1e-10);
        assert_close(&four.contacts[0].tangent[..2], &[6.15347706382, -1.47186474041], 1e-10);
        assert_close(&[four.contacts[0].normal], &[10.2557951064], 1e-10);
        let eight = solve(&arm(slide), &mut method(8, rho));
        assert_close(&eight.motion, &[0.801983156161, 1.35029665402, -3.73321531973], 1e-10);
        assert_close(&[eight.contacts[0].normal], &[10.2203786659], 1e-10);
        let stick = solve(&arm([0.0, -6.93351193466, -1.4635185093]), &mut method(4, rho));
        assert_close(&stick.motion, &[0.0; 3], 1e-10);
        assert_close(&stick.contacts[0].tangent[..2], &[-3.47982133478, -1.07643488101], 1e-10);
        assert_close(&[stick.contacts[0].normal], &[10.4761370884], 1e-10);
    }
}

/// Largest and smallest singular value of the matrix of the LCP.
fn singular_values(problem: &ContactProblem, method: &mut PhantomInertia) -> (f64, f64) {
    let values = method.lcp(problem).unwrap().matrix().singular_values().unwrap();
    (values[0], values[values.len() - 1])
}

#[test]
fn the_condition_is_best_near_the_effective_mass_and_breaks_down_at_one_value_only() {
    let problem = particle(2.0, [9.0, 7.0, -19.62]);
    let condition = |rho: Option<f64>| {
        let (largest, smallest) = singular_values(&problem, &mut method(4, rho));
        largest / smallest
    };
    let (one, tiny, chosen) = (condition(Some(1.0)), condition(Some(1e-6)), condition(None));
    assert!((20.0..30.0).contains(&one), "{one}");
    assert!((1e7..4e7).contains(&tiny), "{tiny:e}");
    assert!(chosen < one, "{chosen} {one}");
    // S = Eᵀ (2) E has the eigenvalue 4, so that ρ = 8 is singular: 2 S - ρ = 0 along both
    // tangents.
    assert!(condition(Some(8.0)) > 1e13);
    assert!(condition(Some(8.1)) < 1e4);
}

#[test]
fn the_chosen_phantom_inertia_gives_full_rank_for_any_mass_and_number_of_lines() {
    for mass in [1e-3, 1.0, 50.0, 1e6] {
        for k in 2..10 {
            let problem = particle(mass, [9.0 * mass, 7.0 * mass, -9.81 * mass]);
            let lcp = method(k, None).lcp(&problem).unwrap();
            // In the problem's own scale, because masses and mobilities have different units.
            let (rows, columns) = (&lcp.scaling().rows, &lcp.scaling().columns);
            let n = lcp.size();
            let scaled = Mat::from_fn(n, n, |i, j| lcp.matrix()[(i, j)] * rows[i] * columns[j]);
            let values = scaled.singular_values().unwrap();
            assert!(values[0] / values[n - 1] < 200.0, "mass {mass}, k = {k}: {}", values[0] / values[n - 1]);
        }
    }
}

#[test]
fn the_chosen_phantom_inertia_is_safe_for_coupled_contacts() {
    // Random contacts of one system of nine coordinates: 2S - ρ must have as many positive
    // eigenvalues as tangent rows.
    let mut generator = Generator::new(11);
    for _ in 0..50 {
        let problem = random_problem(&mut generator, 9, 3, 2);
        let mut method = method(3, None);
        let lcp = method.lcp(&problem).unwrap();
        let (r, k) = (3, 9);
        let difference = Mat::from_fn(k, k, |i, j| {
            let (a, b) = (r + i, r + j);
            lcp.matrix()[(a, b)] - lcp.matrix()[(a, b + k)]
        });
        let mut eigenvalues = difference.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
        eigenvalues.sort_by(f64::total_cmp);
        assert!(eigenvalues[2] < 0.0 && eigenvalues[3] > 0.0, "{eigenvalues:?}");
    }
}

/// Contacts with random rows on coordinates of random mass.
fn random_problem(generator: &mut Generator, size: usize, contacts: usize, tangents: usize) -> ContactProblem {
    let masses: Vec<f64> = (0..size).map(|_| generator.logarithmic(0.2, 5.0)).collect();
    let mut row = || Row::from_dense(&(0..size).map(|_| generator.uniform(-1.0, 1.0)).collect::<Vec<_>>());
    let mut problem = ContactProblem { free_motion: vec![0.0; size], ..Default::default() };
    problem.inertia.set_diagonal(&masses);
    problem.inertia.factor().unwrap();
    for i in 0..contacts {
        problem.contacts.push(ContactCondition {
            id: ContactId::number(i as u32),
            normal: row(),
            tangents: (0..tangents).map(|_| row()).collect(),
            ..Default::default()
        });
    }
    for contact in &mut problem.contacts {
        contact.mu = generator.uniform(0.1, 0.6);
        contact.normal_bias = generator.uniform(-1.0, 0.5);
        contact.tangent_bias = generator.vector(1.0);
        contact.extra_bound = if generator.chance(0.3) { generator.uniform(0.0, 0.3) } else { 0.0 };
    }
    problem.free_motion.iter_mut().for_each(|u| *u = generator.uniform(-2.0, 2.0));
    problem
}

#[test]
fn planar_problems_agree_with_the_pyramid_where_the_motion_is_unique() {
    let mut generator = Generator::new(5);
    let mut compared = 0;
    for number in 0..200 {
        let mut problem = random_problem(&mut generator, 7, 3, 1);
        if number % 2 == 1 {
            let row = Row::from_dense(&[1.0, -1.0, 0.0, 0.5, 0.0, 0.0, 0.0]);
            problem.joints.push(JointCondition { row, bias: 0.2, rounding: 0.0 });
            problem.friction.push(FrictionCondition {
                tangents: [Row::from_dense(&[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.3])].into_iter().collect(),
                bound: 0.4,
                ..Default::default()
            });
        }
        let mut method = method(4, None);
        let lcp = method.lcp(&problem).unwrap();
        let all = stiction_solve::enumerate(&lcp, &LemkeSettings::default()).unwrap();
        let ours = solve(&problem, &mut method);
        if all.undecided > 0 || all.solutions.len() != 1 {
            continue;
        }
        let pyramid = solve_by_pyramid(&problem, Directions::default());
        assert_close(&ours.motion, &pyramid.motion, 1e-12);
        assert_close(&ours.joints, &pyramid.joints, 1e-12);
        for (a, b) in ours.contacts.iter().zip(&pyramid.contacts) {
            assert_close(&[a.normal, a.tangent[0]], &[b.normal, b.tangent[0]], 1e-12);
        }
        for (a, b) in ours.friction.iter().zip(&pyramid.friction) {
            assert_close(a, b, 1e-12);
        }
        compared += 1;
    }
    assert!(compared > 150, "{compared} problems with one motion");
}

/// A box of 3 kg on the first three or all four feet, the load not in the middle; u is a velocity.
fn on_feet(count: usize, speed: [f64; 2]) -> ContactProblem {
    let mut problem =
        ContactProblem { free_motion: vec![speed[0], speed[1], -1.0, 0.0, 0.0, 0.3], ..Default::default() };
    problem.inertia.set_diagonal(&[3.0, 3.0, 3.0, 0.4, 0.5, 0.6]);
    problem.inertia.factor().unwrap();
    for (i, [x, y]) in [[0.7, 0.5], [-0.4, 0.5], [-0.4, -0.3], [0.7, -0.3]].into_iter().take(count).enumerate() {
        // The foot at (x, y, -0.6) moves with v + ω × r.
        let z = -0.6;
        problem.contacts.push(ContactCondition {
            id: ContactId::number(i as u32),
            normal: Row::from_dense(&[0.0, 0.0, 1.0, y, -x, 0.0]),
            tangents: [Row::from_dense(&[1.0, 0.0, 0.0, 0.0, z, -y]), Row::from_dense(&[0.0, 1.0, 0.0, -z, 0.0, x])]
                .into_iter()
                .collect(),
            mu: 0.3,
            ..Default::default()
        });
    }
    problem
}

#[test]
fn redundant_feet_stick_and_slide_as_with_the_pyramid() {
    // Three feet: nine rows on six coordinates, but the normal forces are determined, and with them
    // the motion.
    let mut slides = 0;
    for speed in [[0.0, 0.0], [-0.05, 0.0], [0.25, 0.1], [0.4, 0.2], [1.0, 0.0], [2.0, -1.5], [-0.3, 0.9]] {
        let problem = on_feet(3, speed);
        let mut method = method(4, None);
        let error = method.lcp(&problem).unwrap_err();
        assert!(error.to_string().contains("depend on each other"), "{error}");
        let ours = solve(&problem, &mut method);
        assert!(method.was_relaxed());
        let pyramid = solve_by_pyramid(&problem, circumscribed(4));
        assert_close(&ours.motion, &pyramid.motion, 1e-12);
        slides += usize::from(ours.motion[0].abs() > 1e-6);
        // Four feet: another share of the load is another friction moment, so that only the laws
        // can judge.
        solve(&on_feet(4, speed), &mut method);
    }
    assert!((1..7).contains(&slides), "some stick, some slide: {slides}");
    let mut method = method(4, None);
    solve(&particle(1.0, [1.0, 0.0, -9.81]), &mut method);
    assert!(!method.was_relaxed());
}

#[test]
fn towers_and_repeated_contacts_are_solved_by_the_laws() {
    let mut method = method(4, None);
    for seed in 0..60 {
        let tower = solve(&Tower { levels: 3, ..Default::default() }.problem(seed), &mut method);
        assert!(method.was_relaxed());
        // With the normals unrelaxed it took up to 2400 pivots, the forces jumping from one choice
        // to another.
        assert!(tower.report.iterations < 200, "seed {seed}: {:?}", tower.report);
        let random = RandomContacts { contact_count: 10, redundant_share: 0.5, ..Default::default() };
        solve(&random.problem(seed), &mut method);
    }
}

#[test]
fn high_towers_need_a_smaller_relaxation() {
    // Their smallest eigenvalue falls with the fourth power of the height: with one relaxation 120
    // repetitions leave 1e-8.
    let mut method = method(4, None);
    for seed in 0..3 {
        let tower = solve(&Tower { levels: 13, ..Default::default() }.problem(seed), &mut method);
        assert!(tower.report.iterations < 1000, "seed {seed}: {:?}", tower.report);
    }
}

#[test]
fn friction_is_shared_by_the_bounds_and_not_equally() {
    // Two feet in a line with loads of 1 and 9 N s, μ = 0.5: they hold 5 N s together, though half
    // of 4 is more than 0.5.
    let feet = |speed: f64| {
        let mut problem = ContactProblem { free_motion: vec![speed, -1.0, -9.0], ..Default::default() };
        problem.inertia.set_diagonal(&[1.0; 3]);
        problem.inertia.factor().unwrap();
        for i in 0..2 {
            let mut normal = Row::new();
            normal.push(1 + i, 1.0);
            problem.contacts.push(ContactCondition {
                normal,
                tangents: [Row::from_dense(&[1.0, 0.0, 0.0])].into_iter().collect(),
                mu: 0.5,
                ..Default::default()
            });
        }
        problem
    };
    for (speed, left) in [(4.0, 0.0), (4.99, 0.0), (6.0, 1.0), (-7.0, -2.0)] {
        let mut method = method(4, None);
        let solution = solve(&feet(speed), &mut method);
        assert!((solution.motion[0] - left).abs() < 1e-10, "{speed}: {:?}", solution.motion);
        assert!(method.was_relaxed());
    }
}

#[test]
fn a_joint_that_stands_twice_does_no_harm() {
    let mut problem = particle(2.0, [9.0, 7.0, -19.62]);
    let joint = JointCondition { row: Row::from_dense(&[0.0, 1.0, 0.0]), bias: 0.0, rounding: 0.0 };
    problem.joints.extend([joint.clone(), joint]);
    // y is held; along x 9 N against the bound 9.81: it sticks. With 12 N it accelerates with
    // 2.19/2.
    let stick = solve(&problem, &mut method(4, None));
    assert_close(&stick.motion, &[0.0; 3], 1e-10);
    problem.free_motion[0] = 6.0;
    let slide = solve(&problem, &mut method(4, None));
    assert_close(&slide.motion, &[1.095, 0.0, 0.0], 1e-10);
}

#[test]
fn bounds_without_load_add_up() {
    // A normal impulse of 6 with μ = 0.5, and 1 beside it: along a line 4 m/s of 2 kg lose 4/2.
    let mut problem = particle(2.0, [8.0, 0.0, -6.0]);
    problem.contacts[0].extra_bound = 1.0;
    assert_close(&solve(&problem, &mut method(4, None)).motion, &[2.0, 0.0, 0.0], 1e-14);
    // A friction element alone: bound 5, two tangents.
    let tangents = std::mem::take(&mut problem.contacts[0].tangents);
    problem.contacts.clear();
    problem.friction.push(FrictionCondition { tangents, bound: 5.0, ..Default::default() });
    let solution = solve(&problem, &mut method(4, None));
    assert_close(&solution.motion, &[1.5, 0.0, -3.0], 1e-14);
    assert_close(&solution.friction[0], &[-5.0, 0.0, 0.0], 1e-14);
}

#[test]
fn the_corners_are_those_of_the_lines() {
    for k in 2..9 {
        let method = method(k, None);
        let expected = circumscribed(k).corners().unwrap();
        for (found, expected) in method.corners(2).iter().zip(&expected) {
            assert_close(found, expected, 1e-15);
        }
        // Every corner lies on the sides of two lines and within all others.
        for corner in method.corners(2) {
            let along = |e: &[f64; 2]| (e[0] * corner[0] + e[1] * corner[1]).abs();
            assert!(method.polygon.lines.iter().all(|e| along(e) < 1.0 + 1e-14));
            assert_eq!(method.polygon.lines.iter().filter(|e| along(e) > 1.0 - 1e-14).count(), 2);
        }
        assert_eq!((method.corners(2).len(), method.corners(1).len()), (2 * k, 2));
    }
}

#[test]
fn unusable_settings_are_refused_with_what_to_give() {
    for (lines, rho, reason) in [
        (0, None, "give at least 2"),
        (1, None, "give at least 2"),
        (4, Some(-1.0), "rho is -1 kg"),
        (4, Some(f64::NAN), "rho is NaN kg"),
        (4, Some(f64::INFINITY), "leave it out to have it chosen"),
    ] {
        let settings = PhantomInertiaSettings { lines, rho, ..Default::default() };
        let error = PhantomInertia::new(settings).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn settings_are_checked_when_they_are_read() {
    use serde::de::value::{Error, MapDeserializer};
    let read = |key: &'static str, value: f64| {
        PhantomInertiaSettings::deserialize(MapDeserializer::<_, Error>::new([(key, value)].into_iter()))
    };
    assert_eq!(PhantomInertiaSettings::default().rho, None);
    assert!(read("phantom", 1.0).unwrap_err().to_string().contains("unknown field"));
    let read = |value: u64| {
        PhantomInertiaSettings::deserialize(MapDeserializer::<_, Error>::new([("lines", value)].into_iter()))
    };
    assert_eq!(read(6).unwrap().lines, 6);
    assert!(read(0).unwrap_err().to_string().contains("give at least 2"));
}

#[test]
fn too_many_tangent_rows_are_named() {
    let mut problem = particle(2.0, [0.0; 3]);
    problem.contacts[0].tangents.push(Row::from_dense(&[1.0, 1.0, 0.0]));
    let error = method(4, None).solve(&problem, &mut ContactSolution::default()).unwrap_err();
    assert!(error.to_string().contains("3 tangent rows; polygonal friction treats one"), "{error}");
}

#[test]
fn without_phantom_inertia_independent_lines_give_the_same_motion() {
    let mut generator = Generator::new(17);
    for number in 0..60 {
        // Two lines in space, and one in the plane.
        let problem = random_problem(&mut generator, 9, 3, 1 + number % 2);
        let with = method(2, None).lcp(&problem).unwrap();
        let without = method(2, Some(0.0)).lcp(&problem).unwrap();
        // The columns of κ₊ and κ₋ are opposite without it: a rank of one too little for every
        // line.
        let (size, lines) = (with.size(), (with.size() - 3) / 2);
        let rank = |lcp: &Lcp| {
            let values = lcp.matrix().singular_values().unwrap();
            values.iter().filter(|value| **value > 1e-10 * values[0]).count()
        };
        assert_eq!((rank(&with), rank(&without)), (size, size - lines));
        let all = stiction_solve::enumerate(&with, &LemkeSettings::default()).unwrap();
        let ours = solve(&problem, &mut method(2, Some(0.0)));
        if all.undecided == 0 && all.solutions.len() == 1 {
            assert_close(&ours.motion, &solve(&problem, &mut method(2, None)).motion, 1e-10);
        }
    }
}

#[test]
fn dependent_lines_without_phantom_inertia_are_refused() {
    let problem = particle(2.0, [9.0, 7.0, -19.62]);
    let error = method(4, Some(0.0)).solve(&problem, &mut ContactSolution::default()).unwrap_err();
    assert!(matches!(error, ContactError::NoPhantomInertia { lines: 4 }));
    assert!(error.to_string().contains("give 2 lines, or a positive rho"), "{error}");
    // The contact's own lines decide, and its own inertia.
    let mut own = problem.clone();
    own.contacts[0].phantom.lines = Some(2);
    solve(&own, &mut method(4, Some(0.0)));
    own.contacts[0].phantom = PhantomContact { lines: Some(3), rho: Some(0.0) };
    assert!(matches!(
        method(2, None).solve(&own, &mut ContactSolution::default()),
        Err(ContactError::NoPhantomInertia { lines: 3 })
    ));
    own.contacts[0].phantom = PhantomContact { lines: Some(1), rho: None };
    let error = method(2, None).solve(&own, &mut ContactSolution::default()).unwrap_err();
    assert!(error.to_string().contains("1 lines"), "{error}");
    own.contacts[0].phantom = PhantomContact { lines: None, rho: Some(-2.0) };
    let error = method(2, None).solve(&own, &mut ContactSolution::default()).unwrap_err();
    assert!(error.to_string().contains("-2"), "{error}");
}

#[test]
fn lines_and_phantom_inertia_may_differ_from_contact_to_contact() {
    // Two particles side by side, each with a polygon of its own: each moves as it would alone.
    let alone = [particle(2.0, [9.0, 7.0, -19.62]), particle(3.0, [7.0, 20.0, -29.43])];
    let own = [PhantomContact { lines: Some(4), rho: Some(0.7) }, PhantomContact { lines: Some(8), rho: None }];
    let mut both = ContactProblem::default();
    both.inertia.set_diagonal(&[2.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
    both.inertia.factor().unwrap();
    for (i, (problem, phantom)) in alone.iter().zip(own).enumerate() {
        both.free_motion.extend_from_slice(&problem.free_motion);
        let moved = |row: &Row| {
            let mut moved = Row::new();
            row.entries().iter().for_each(|&(k, value)| moved.push(3 * i + k, value));
            moved
        };
        let contact = &problem.contacts[0];
        both.contacts.push(ContactCondition {
            id: ContactId::number(i as u32),
            normal: moved(&contact.normal),
            tangents: contact.tangents.iter().map(moved).collect(),
            phantom,
            ..contact.clone()
        });
    }
    let together = solve(&both, &mut method(3, Some(5.0)));
    for (i, lines) in [4, 8].into_iter().enumerate() {
        let expected = solve(&alone[i], &mut method(lines, None));
        assert_close(&together.motion[3 * i..3 * i + 3], &expected.motion, 1e-12);
        assert_close(&together.contacts[i].tangent, &expected.contacts[0].tangent, 1e-12);
    }
    // 1 + 2·4 unknowns of the one, 1 + 2·8 of the other, and ρ where (8) has it: against κ₋ in the
    // row of σ₋.
    let lcp = method(3, Some(5.0)).lcp(&both).unwrap();
    assert_eq!(lcp.size(), 2 + 2 * 12);
    let sum = |line: usize| lcp.matrix()[(2 + line, 2 + line)] + lcp.matrix()[(2 + line, 2 + 12 + line)];
    assert!((sum(0) - 0.7).abs() < 1e-12 && (sum(3) - 0.7).abs() < 1e-12, "{}", sum(0));
    assert!((sum(4) - 5.0).abs() < 1e-12, "{}", sum(4));
    // Saved for other programs, and solved by the solver of schemes, it is the same.
    let mut solver = crate::ContactSolver::new(crate::ContactMethod::PhantomInertia(PhantomInertiaSettings {
        lines: 3,
        ..Default::default()
    }))
    .unwrap();
    let mut adopted = both.clone();
    solver.adopt_sets(&mut adopted);
    let mut solution = ContactSolution::default();
    solver.solve(&adopted, &mut solution).unwrap();
    assert!(solution.report.is_solved());
    assert_close(&solution.motion, &together.motion, 1e-12);
}

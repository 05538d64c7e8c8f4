use super::*;
use crate::{ContactCondition, ContactImpulse, FrictionCondition, Inertia, JointCondition, Polytope};
use std::sync::Arc;

fn unit(index: usize) -> Row {
    let mut row = Row::new();
    row.push(index, 1.0);
    row
}

fn residual(problem: &ContactProblem, solution: &ContactSolution) -> f64 {
    Judge::default().judge(problem, None, &own_set, solution).residual
}

/// A block of 2 kg that lands and slides on, a slider with dry friction, and a coordinate that a
/// joint holds; with the solution. Lengths and masses in other units.
fn solved(length: f64, mass: f64) -> (ContactProblem, ContactSolution) {
    let mut inertia = Inertia::default();
    inertia.set_diagonal(&[2.0 * mass, 2.0 * mass, mass, mass]);
    let (speed, push) = (|v: f64| v * length, |c: f64| c * mass * length);
    let contact =
        ContactCondition { normal: unit(1), tangents: [unit(0)].into_iter().collect(), mu: 0.5, ..Default::default() };
    let element =
        FrictionCondition { tangents: [unit(2)].into_iter().collect(), bound: push(0.3), ..Default::default() };
    let problem = ContactProblem {
        inertia,
        free_motion: [3.0, -2.0, 1.0, 0.7].map(speed).to_vec(),
        joints: vec![JointCondition { row: unit(3), ..Default::default() }],
        contacts: vec![contact],
        friction: vec![element],
    };
    let solution = ContactSolution {
        motion: [2.0, 0.0, 0.7, 0.0].map(speed).to_vec(),
        joints: vec![push(-0.7)],
        contacts: vec![ContactImpulse { normal: push(4.0), tangent: [push(-2.0), 0.0, 0.0], ..Default::default() }],
        friction: [[push(-0.3), 0.0, 0.0]].into_iter().collect(),
        ..Default::default()
    };
    (problem, solution)
}

#[test]
fn each_law_alone_is_seen_in_any_units() {
    type Change<'a> = &'a dyn Fn(&mut ContactProblem, &mut ContactSolution, f64, f64);
    let broken: [(&str, Place, Change); 9] = [
        ("momentum", Place::Coordinate(2), &|problem, _, l, _| problem.free_motion[2] += 0.4 * l),
        ("a joint", Place::Joint(0), &|problem, _, l, _| problem.joints[0].bias = 0.4 * l),
        ("penetration", Place::Contact(0), &|problem, _, l, _| problem.contacts[0].normal_bias = -0.4 * l),
        ("pushing without touching", Place::Contact(0), &|problem, _, l, _| problem.contacts[0].normal_bias = 0.4 * l),
        ("pulling", Place::Contact(0), &|problem, solution, l, m| {
            (problem.free_motion[0], problem.free_motion[1]) = (2.0 * l, 0.2 * l);
            (solution.contacts[0].normal, solution.contacts[0].tangent[0]) = (-0.4 * l * m, 0.0);
        }),
        ("more friction than its bound, without sliding", Place::Contact(0), &|problem, solution, l, _| {
            (problem.contacts[0].mu, problem.free_motion[0], solution.motion[0]) = (0.4, l, 0.0);
        }),
        ("less friction than sliding asks for", Place::Contact(0), &|_, solution, l, m| {
            (solution.contacts[0].tangent[0], solution.motion[0]) = (-l * m, 2.5 * l);
        }),
        ("a friction element that does too little", Place::Element(0), &|problem, _, l, m| {
            problem.friction[0].bound = 2.0 * l * m;
        }),
        ("a friction element that does too much", Place::Element(0), &|problem, _, _, _| {
            problem.friction[0].bound = 0.0
        }),
    ];
    for (length, mass) in [(1.0, 1.0), (1e-3, 1e6), (1e5, 1e-4)] {
        let (problem, solution) = solved(length, mass);
        assert!(residual(&problem, &solution) < 1e-15);
        for (name, place, change) in broken {
            let (mut problem, mut solution) = solved(length, mass);
            change(&mut problem, &mut solution, length, mass);
            let verdict = Judge::default().judge(&problem, None, &own_set, &solution);
            assert!(verdict.residual > 0.05 && verdict.residual < 2.0, "{name}: {verdict:?}");
            assert_eq!(verdict.place, place, "{name}");
        }
        let (problem, mut solution) = solved(length, mass);
        solution.motion[0] = f64::NAN;
        assert_eq!(residual(&problem, &solution), f64::INFINITY);
    }
}

#[test]
fn a_wrong_direction_of_friction_is_seen_in_first_order() {
    // A particle of 1 kg lands with 1 m/s and slides with (3, 4) m/s, μ = 0.5: friction is 0.5 N s
    // against it, and 4.5 m/s are left.
    let stated = |shape: FrictionShape| {
        let tangents = [unit(0), unit(1)].into_iter().collect();
        let mut problem = ContactProblem { free_motion: vec![3.0, 4.0, -1.0], ..Default::default() };
        problem.inertia.set_diagonal(&[1.0; 3]);
        let contact =
            ContactCondition { normal: unit(2), tangents, mu: 0.5, friction_shape: shape, ..Default::default() };
        problem.contacts.push(contact);
        problem
    };
    let solution = |turn: f64| {
        let (sine, cosine) = turn.sin_cos();
        let friction = [-0.5 * (0.6 * cosine - 0.8 * sine), -0.5 * (0.8 * cosine + 0.6 * sine), 0.0];
        let motion = vec![3.0 + friction[0], 4.0 + friction[1], 0.0];
        let contacts = vec![ContactImpulse { normal: 1.0, tangent: friction, ..Default::default() }];
        ContactSolution { motion, contacts, ..Default::default() }
    };
    let round = stated(FrictionShape::Ball);
    assert!(residual(&round, &solution(0.0)) < 1e-15);
    for turn in [1e-3, 1e-6, 1e-9] {
        // The sliding turns the other way by 0.5/4.5 of it, so that friction is off by 10/9 of the
        // turn, and y - P(y - s) is that times 0.5 · 4.5 / (4.5 + 0.5). What the contact acts
        // against are free rates of 3 and 4 m/s.
        let found = residual(&round, &solution(turn)) / (0.5 * turn / 4.0);
        assert!((found - 1.0).abs() < 0.01, "{turn}: {found}");
    }
    // A square with corners along the axes: sliding with (3, 4) friction acts along the second axis
    // alone.
    let corners = vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
    let square = stated(FrictionShape::Polytope(Arc::new(Polytope::from_corners(corners).unwrap())));
    let along = |tangent: [f64; 2]| {
        let contacts =
            vec![ContactImpulse { normal: 1.0, tangent: [tangent[0], tangent[1], 0.0], ..Default::default() }];
        ContactSolution { motion: vec![3.0 + tangent[0], 4.0 + tangent[1], 0.0], contacts, ..Default::default() }
    };
    assert!(residual(&square, &along([0.0, -0.5])) < 1e-15);
    for missing in [1e-3, 1e-9] {
        // Along the side from one corner to the other, 0.5 of the power per speed is missing in
        // first order.
        let found = residual(&square, &along([-missing, -0.5 + missing])) / missing;
        assert!(found > 0.01 && found < 1.0, "{missing}: {found}");
    }
}

#[test]
fn an_island_is_not_excused_by_what_flies_past() {
    // A pebble that rests wrongly by 1e-9 m/s, beside a lorry that it does not touch.
    let mut problem = ContactProblem { free_motion: vec![-0.01, 100.0], ..Default::default() };
    problem.inertia.set_diagonal(&[0.1, 1e4]);
    problem.contacts.push(ContactCondition { normal: unit(0), ..Default::default() });
    let contacts = vec![ContactImpulse { normal: 0.1 * (0.01 - 1e-9), ..Default::default() }];
    let mut solution = ContactSolution { motion: vec![-1e-9, 100.0], contacts, ..Default::default() };
    assert!((residual(&problem, &solution) - 1e-7).abs() < 1e-12);
    // A push between them makes them one island.
    let mut row = unit(0);
    row.push(1, -1.0);
    problem.joints.push(JointCondition { row, bias: 100.0 + 1e-9, rounding: 0.0 });
    solution.joints.push(0.0);
    assert!(residual(&problem, &solution) < 1e-9);
}

#[test]
fn rows_whose_terms_are_rounding_alone_are_measured_by_what_they_are_coupled_to() {
    // A mass matrix that couples a coordinate which moves to one that a joint holds: what is left
    // of its velocity is the rounding of terms near one.
    let mut problem = ContactProblem { free_motion: vec![1.0, 1e-19], ..Default::default() };
    problem.inertia.set_entries(2, [(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)]);
    problem.joints.push(JointCondition { row: unit(1), ..Default::default() });
    let solution = ContactSolution { motion: vec![1.0, 5e-19], joints: vec![0.0], ..Default::default() };
    assert!(residual(&problem, &solution) < 1e-15);
}

#[test]
fn impulses_without_measure_excuse_nothing() {
    // Two joints that contradict each other by 1e-3 m/s: impulses that cancel, however large, make
    // neither right.
    let mut row = unit(0);
    row.push(1, -1.0);
    let mut problem = ContactProblem { free_motion: vec![4.0, 0.0], ..Default::default() };
    problem.inertia.set_diagonal(&[1.0, 3.0]);
    problem.joints = [0.0, 1e-3].map(|bias| JointCondition { row: row.clone(), bias, rounding: 0.0 }).to_vec();
    for impulse in [0.0, 1e3, 1e12, 1e20] {
        let solution =
            ContactSolution { motion: vec![1.0; 2], joints: vec![-3.0 + impulse, -impulse], ..Default::default() };
        assert!(residual(&problem, &solution) > 1e-6, "{impulse:e}");
    }
    // But the rounding of strong forces is allowed for: wedged by 1e6 times the momentum, rates are
    // exact to 1e-9 only.
    problem.joints.truncate(1);
    let solution = ContactSolution { motion: vec![1.0, 1.0 + 1e-9], joints: vec![-3.0], ..Default::default() };
    assert!(residual(&problem, &solution) > SOLVED);
}

#[test]
fn what_cannot_move_holds_or_does_not() {
    let (mut problem, mut solution) = solved(1.0, 1.0);
    problem.joints.push(JointCondition::default());
    solution.joints.push(0.0);
    assert!(residual(&problem, &solution) < 1e-15);
    problem.joints[1].bias = 1e-12;
    assert_eq!(residual(&problem, &solution), 1.0);
    // The rounding that a scheme states for its bias is not held against it.
    problem.joints[1].rounding = 1e-12;
    assert!(residual(&problem, &solution) < 1e-15);
}

#[test]
fn a_rate_is_no_better_than_the_rounding_of_its_terms() {
    // Two bodies of 1 kg that fly with 1 m/s, the second faster by 2e-6 m/s, stay together behind
    // an impulse of 1e-6 N s. A relative velocity of some units of rounding is 1e-10 of what the
    // impulse acts against; a thousand units are an error.
    let mut inertia = Inertia::default();
    inertia.set_diagonal(&[1.0, 1.0]);
    let contact = ContactCondition { normal: Row::from_dense(&[1.0, -1.0]), ..Default::default() };
    let problem = ContactProblem {
        inertia,
        free_motion: vec![1.0, 1.0 + 2e-6],
        contacts: vec![contact],
        ..ContactProblem::default()
    };
    let off_by = |units: f64| {
        let solution = ContactSolution {
            motion: vec![1.0 + 1e-6 - units * f64::EPSILON, 1.0 + 1e-6],
            contacts: vec![ContactImpulse { normal: 1e-6, ..Default::default() }],
            ..Default::default()
        };
        residual(&problem, &solution)
    };
    assert!(off_by(4.0) <= SOLVED, "{}", off_by(4.0));
    assert!(off_by(1000.0) > SOLVED, "{}", off_by(1000.0));
}

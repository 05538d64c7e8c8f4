//! The friction sets of [TTP01] §2 by the methods that treat them, judged by bound and maximum work
//! alone.

use stiction_dynamics::families::Generator;
use stiction_dynamics::{
    ContactCondition, ContactError, ContactId, ContactMethod, ContactProblem, ContactSolution, ContactSolver,
    Directions, ExactConeSettings, FrictionLaw, PhantomContact, PhantomInertiaSettings, PlanarRelaySettings,
    PyramidSettings, Row, Untreated,
};

fn cone() -> ContactSolver {
    ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap()
}

fn pyramid(directions: usize) -> ContactSolver {
    let directions = Directions::Regular(directions);
    ContactSolver::new(ContactMethod::Pyramid(PyramidSettings { directions, ..Default::default() })).unwrap()
}

/// Directions (5) of the paper: 8 in the plane, 2 × 5 at 0.5 rad out of it, 2 poles, on the
/// ellipsoid with the torsion radius `e`.
fn directions_of_figure_3(e: f64) -> Vec<[f64; 3]> {
    let at = |turn: f64, rise: f64| {
        let radius = 1.0 / rise.cos().hypot(rise.sin() / e);
        [radius * rise.cos() * turn.cos(), radius * rise.cos() * turn.sin(), radius * rise.sin()]
    };
    let ring =
        |count: usize, rise: f64| (0..count).map(move |i| at(std::f64::consts::TAU * i as f64 / count as f64, rise));
    let mut directions: Vec<[f64; 3]> = ring(8, 0.0).chain(ring(5, 0.5)).chain(ring(5, -0.5)).collect();
    directions.extend([[0.0, 0.0, e], [0.0, 0.0, -e]]);
    directions
}

/// Bodies on one to three patches of the ground each, off their centres: normal, two tangents,
/// torsion.
fn patches(seed: u64, law: &dyn Fn(&mut Generator) -> FrictionLaw) -> ContactProblem {
    let mut random = Generator::new(seed);
    let bodies = 1 + (random.uniform(0.0, 2.0) as usize);
    let mut problem = ContactProblem::default();
    let masses: Vec<f64> = (0..6 * bodies).map(|i| if i % 6 < 3 { 2.0 } else { 0.3 }).collect();
    problem.inertia.set_diagonal(&masses);
    problem.inertia.factor().unwrap();
    for i in 0..6 * bodies {
        problem.free_motion.push(if i % 6 == 2 { -0.5 } else { random.uniform(-0.6, 0.6) });
    }
    for body in 0..bodies {
        for _ in 0..1 + (random.uniform(0.0, 3.0) as usize) {
            let [x, y, z] = [random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), -0.3];
            let row = |entries: &[(usize, f64)]| {
                let mut row = Row::new();
                entries.iter().for_each(|&(k, value)| row.push(6 * body + k, value));
                row
            };
            let friction = law(&mut random);
            problem.contacts.push(ContactCondition {
                id: ContactId::number(problem.contacts.len() as u32),
                normal: row(&[(2, 1.0), (3, y), (4, -x)]),
                tangents: [row(&[(0, 1.0), (4, z), (5, -y)]), row(&[(1, 1.0), (3, -z), (5, x)]), row(&[(5, 1.0)])]
                    .into_iter()
                    .collect(),
                mu: friction.mu(),
                friction_axes: friction.axes(),
                friction_shape: friction.shape(),
                ..Default::default()
            });
        }
    }
    problem
}

/// Solves, and checks bound and maximum work by the set that the method says it uses; returns the
/// numbers of contacts that slide and that stick.
fn solve_and_judge(solver: &mut ContactSolver, problem: &ContactProblem, name: &str) -> (ContactSolution, [usize; 2]) {
    let mut solution = ContactSolution::default();
    solver.solve(problem, &mut solution).unwrap();
    assert!(solution.report.is_solved(), "{name}: {:?}", solution.report);
    let mut modes = [0; 2];
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        let (rate, slip) = (contact.normal_rate(&solution.motion), contact.slip(&solution.motion));
        assert!(impulse.normal > -1e-10 && rate > -1e-10 && (impulse.normal * rate).abs() < 1e-10, "{name}");
        let bound = contact.mu * impulse.normal;
        let (axes, shape) = (contact.friction_axes, &contact.friction_shape);
        let set = &solver.friction_set(3, shape, PhantomContact::default());
        let scaled = std::array::from_fn(|k| impulse.tangent[k] / axes[k]);
        assert!(set.excess(&scaled, bound) < 1e-9, "{name}: {}", set.excess(&scaled, bound));
        let work: f64 = impulse.tangent.iter().zip(slip).map(|(c, s)| c * s).sum();
        let allowed = bound * set.support(&std::array::from_fn(|k| axes[k] * slip[k]));
        assert!((work + allowed).abs() < 1e-9, "{name}: {work} and not {}", -allowed);
        modes[usize::from(allowed < 1e-9)] += usize::from(impulse.normal > 1e-6);
    }
    (solution, modes)
}

#[test]
fn every_set_is_solved_by_the_methods_that_treat_it() {
    let ellipsoid: &dyn Fn(&mut Generator) -> FrictionLaw = &|random| FrictionLaw::Elliptic {
        mu: random.uniform(0.05, 1.5),
        semi_axes: [1.0, random.uniform(0.3, 1.0), random.uniform(0.05, 0.4)],
    };
    let split: &dyn Fn(&mut Generator) -> FrictionLaw = &|random| FrictionLaw::EllipseAndTorsion {
        mu: random.uniform(0.05, 1.5),
        semi_axes: [1.0, random.uniform(0.3, 1.0), random.uniform(0.05, 0.4)],
    };
    let figure_3: &dyn Fn(&mut Generator) -> FrictionLaw = &|random| {
        let e = random.uniform(0.05, 0.4);
        FrictionLaw::directions(random.uniform(0.05, 1.5), &directions_of_figure_3(e)).unwrap()
    };
    let [mut slides, mut sticks] = [0; 2];
    let cases = [
        ("ellipsoid by cone", ellipsoid, cone()),
        ("ellipsoid by pyramid", ellipsoid, pyramid(8)),
        ("split by cone", split, cone()),
        ("split by pyramid", split, pyramid(8)),
        ("directions by pyramid", figure_3, pyramid(8)),
    ];
    for (name, law, mut solver) in cases {
        for seed in 0..80 {
            let (_, modes) = solve_and_judge(&mut solver, &patches(seed, law), &format!("{name}, seed {seed}"));
            slides += modes[0];
            sticks += modes[1];
        }
    }
    assert!(slides > 100 && sticks > 100, "{slides} {sticks}");
}

#[test]
fn many_directions_come_near_the_exact_sets() {
    // One contact, so that the motion is unique: the polytopes are inside of their sets, and fill
    // them with more directions.
    for is_split in [false, true] {
        let law = move |random: &mut Generator| {
            let (mu, semi_axes) = (random.uniform(0.1, 0.5), [1.0, 0.8, random.uniform(0.1, 0.3)]);
            if is_split {
                FrictionLaw::EllipseAndTorsion { mu, semi_axes }
            } else {
                FrictionLaw::Elliptic { mu, semi_axes }
            }
        };
        let mut errors = [0.0f64; 2];
        for seed in 0..40 {
            let mut problem = patches(seed, &law);
            problem.contacts.truncate(1);
            let exact = solve_and_judge(&mut cone(), &problem, "cone").0;
            for (error, count) in errors.iter_mut().zip([8, 32]) {
                let own = solve_and_judge(&mut pyramid(count), &problem, "pyramid").0;
                let difference = own.motion.iter().zip(&exact.motion).fold(0.0f64, |d, (a, b)| d.max((a - b).abs()));
                *error = error.max(difference);
            }
        }
        // A prism over a polygon misses the direction of friction by half an angle between its
        // corners: four times less with four times as many. The rings of the ellipsoid stay where
        // they are.
        let limit = if is_split { 0.35 * errors[0] } else { errors[0] };
        assert!(errors[0] < 0.3 && errors[1] < limit, "{is_split}: {errors:?}");
    }
}

#[test]
fn one_direction_is_a_problem_of_size_three() {
    // [TTP01] §4.2: a spinning ball with the one direction that brakes it. Mass 1, inertia 0.4,
    // spin 1.962 rad/s, h = 0.07, c_n = 9.81 h.
    let mut problem = ContactProblem::default();
    problem.inertia.set_diagonal(&[1.0, 1.0, 1.0, 0.4, 0.4, 0.4]);
    problem.inertia.factor().unwrap();
    let h = 0.07;
    problem.free_motion = vec![0.3, 0.0, -9.81 * h, 0.0, 0.0, 1.962];
    let row = |k: usize, value: f64, l: usize, other: f64| {
        let mut row = Row::new();
        row.push(k, value);
        row.push(l, other);
        row
    };
    let friction = FrictionLaw::directions(0.2, &[[0.0, 0.0, -0.4]]).unwrap();
    problem.contacts.push(ContactCondition {
        normal: row(2, 1.0, 2, 0.0),
        tangents: [row(0, 1.0, 4, -1.0), row(1, 1.0, 3, 1.0), row(5, 1.0, 5, 0.0)].into_iter().collect(),
        mu: friction.mu(),
        friction_axes: friction.axes(),
        friction_shape: friction.shape(),
        ..Default::default()
    });
    let (solution, _) = solve_and_judge(&mut pyramid(8), &problem, "one direction");
    assert_eq!(solution.report.size, 3);
    let expected = [9.81 * h, 0.0, 0.0, -0.2 * 0.4 * 9.81 * h];
    let [t, o, r] = solution.contacts[0].tangent;
    assert!([solution.contacts[0].normal, t, o, r].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
    // It slides on for ever, as the paper says of it, and the spin falls by 1.962 h.
    assert_eq!(solution.motion[0], 0.3);
    assert!((solution.motion[5] - 1.962 * (1.0 - h)).abs() < 1e-14);
}

#[test]
fn methods_that_cannot_say_so_and_name_one_that_can() {
    let ellipsoid = |_: &mut Generator| FrictionLaw::Elliptic { mu: 0.3, semi_axes: [1.0, 1.0, 0.1] };
    let polytope = |_: &mut Generator| FrictionLaw::directions(0.3, &directions_of_figure_3(0.3)).unwrap();
    let solver = |method| ContactSolver::new(method).unwrap();
    let refused = |mut solver: ContactSolver, problem: &ContactProblem| {
        let error = solver.solve(problem, &mut ContactSolution::default()).unwrap_err();
        assert_eq!(solver.state(problem).unwrap_err(), error);
        error
    };
    let relay = || solver(ContactMethod::PlanarRelay(PlanarRelaySettings::default()));
    let phantom = || solver(ContactMethod::PhantomInertia(PhantomInertiaSettings::default()));
    for (solver, method) in [(relay(), "planar-relay"), (phantom(), "phantom-inertia")] {
        let error = refused(solver, &patches(1, &ellipsoid));
        assert!(matches!(error, ContactError::Friction { why: Untreated::NotRound(_), .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(method) && text.contains("choose the method `cone` or `pyramid`"), "{text}");
    }
    let error = refused(cone(), &patches(1, &polytope));
    assert!(error.to_string().contains("a polytope, which only the method `pyramid` treats"), "{error}");
    // Directions beyond the tangent rows.
    let mut problem = patches(1, &polytope);
    problem.contacts[0].tangents.pop();
    let error = refused(pyramid(8), &problem);
    assert!(error.to_string().contains("is not along its 2 tangent rows"), "{error}");
}

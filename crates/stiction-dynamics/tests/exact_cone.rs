//! The exact cone on the families of contact problems, judged by a natural map that shares no code
//! with the solver.

use stiction_dynamics::families::{Arch, Chain, Generator, Pile, RandomContacts, Tower, Wall, Wedge};
use stiction_dynamics::{
    ConstrainedMotion, ContactMethod, ContactProblem, ContactSolution, ContactSolver, Directions, ExactConeSettings,
    PyramidSettings, Row,
};

fn cone() -> ContactSolver {
    ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap()
}

fn pyramid(directions: usize) -> ContactSolver {
    let directions = Directions::Regular(directions);
    ContactSolver::new(ContactMethod::Pyramid(PyramidSettings { directions, ..Default::default() })).unwrap()
}

fn solve(solver: &mut ContactSolver, problem: &ContactProblem) -> ContactSolution {
    let mut solution = ContactSolution::default();
    solver.solve(problem, &mut solution).unwrap();
    solution
}

fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// How far a solution is from the law, as a velocity over the largest free rate: momentum, joints,
/// and for every contact what would change if its impulse were corrected by its rate and brought
/// back onto the cone.
fn violation(problem: &ContactProblem, solution: &ContactSolution) -> f64 {
    let u = &solution.motion;
    let mut momentum = vec![0.0; u.len()];
    let change: Vec<f64> = u.iter().zip(&problem.free_motion).map(|(u, free)| u - free).collect();
    problem.inertia.apply(&change, &mut momentum);
    let (mut worst, mut scale) = (0.0f64, 0.0f64);
    for (joint, &impulse) in problem.joints.iter().zip(&solution.joints) {
        joint.row.add_to(-impulse, &mut momentum);
        worst = worst.max((joint.row.dot(u) + joint.bias).abs());
    }
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        contact.normal.add_to(-impulse.normal, &mut momentum);
        contact.tangents.iter().zip(impulse.tangent).for_each(|(row, value)| row.add_to(-value, &mut momentum));
        scale = scale.max(contact.normal_rate(&problem.free_motion).abs());
        // A mass that turns impulses into velocities.
        let mobility = {
            let mut response = Row::new();
            problem.inertia.solve_row(contact.normal.entries(), &mut response);
            let mut dense = vec![0.0; u.len()];
            response.add_to(1.0, &mut dense);
            contact.normal.dot(&dense)
        };
        let (rate, slip) = (contact.normal_rate(u), contact.slip(u));
        let normal = (mobility * impulse.normal - rate).max(0.0);
        worst = worst.max((mobility * impulse.normal - normal).abs());
        let tangent: Vec<f64> = (0..3).map(|k| mobility * impulse.tangent[k] - slip[k]).collect();
        let bound = mobility * (contact.mu * impulse.normal.max(0.0) + contact.extra_bound);
        let length = norm(tangent.iter().copied());
        let share = if length > bound { bound / length } else { 1.0 };
        worst = worst.max(norm((0..3).map(|k| mobility * impulse.tangent[k] - share * tangent[k])));
    }
    let masses: Vec<f64> = (0..u.len()).map(|k| problem.inertia.entry(k, k)).collect();
    let momentum = norm(momentum.iter().zip(&masses).map(|(left, mass)| left / mass));
    worst.max(momentum) / scale
}

#[test]
fn families_are_solved_to_the_tolerance() {
    let judge = |name: &str, problem: ContactProblem| {
        let settings = ExactConeSettings { tolerance: Some(1e-11), ..Default::default() };
        let mut solver = ContactSolver::new(ContactMethod::Cone(settings)).unwrap();
        let solution = solve(&mut solver, &problem);
        assert!(solution.report.is_solved(), "{name}: {:?}", solution.report);
        let violation = violation(&problem, &solution);
        // The solver judges by the root of the sum of squares over all contacts, this by the worst
        // one, in a scale of its own.
        assert!(violation < 1e-8, "{name}: {violation:e}, {:?}", solution.report);
    };
    for seed in 0..20 {
        for contact_count in [1, 2, 4, 7, 12, 20, 40] {
            let family = RandomContacts { contact_count, mu: [0.2, 0.9], gap_share: 0.3, ..Default::default() };
            judge(&format!("random {contact_count}, seed {seed}"), family.problem(seed));
        }
        judge(&format!("tower, seed {seed}"), Tower { levels: 10, ..Default::default() }.problem(seed));
        let heavy = Tower { levels: 5, top_mass: 1e3, ..Default::default() };
        judge(&format!("heavy tower, seed {seed}"), heavy.problem(seed));
        judge(&format!("arch, seed {seed}"), Arch { voussoirs: 15, ..Default::default() }.problem(seed));
        for (blocks, lean, mu) in [(1, 0.175, 0.3), (4, 0.175, 0.3), (10, 0.175, 0.3), (4, 0.02, 0.9), (4, 0.175, 0.1)]
        {
            let wedge = Wedge { blocks, lean, mu, ..Default::default() };
            judge(&format!("seed {seed}, {wedge:?}"), wedge.problem(seed));
        }
    }
    for seed in 0..3 {
        judge(&format!("wall, seed {seed}"), Wall { rows: 6, columns: 6, ..Default::default() }.problem(seed));
    }
}

/// Spheres that stick here and slide there: the path of smoothed equations turns back in nearly all
/// of these.
#[test]
fn piles_of_spheres_are_solved() {
    let settings = ExactConeSettings { tolerance: Some(1e-8), ..Default::default() };
    let mut solver = ContactSolver::new(ContactMethod::Cone(settings)).unwrap();
    for (seed, is_tight) in (1..=5).flat_map(|seed| [(seed, false), (seed, true)]) {
        for tilt in [0.0, 0.3] {
            let pile = Pile { spheres: 100, tilt, is_tight };
            let problem = pile.problem(seed);
            let solution = solve(&mut solver, &problem);
            assert!(solution.report.is_solved(), "seed {seed}, {pile:?}: {:?}", solution.report);
            let violation = violation(&problem, &solution);
            assert!(violation < 1e-7, "seed {seed}, {pile:?}: {violation:e}");
        }
    }
}

#[test]
fn joints_and_contacts_agree_with_the_pyramid_where_the_law_is_the_same() {
    // In the plane two directions are exact. The motion of a chain with one contact is unique where
    // friction cannot turn the answer to a normal impulse around.
    let (mut cone, mut pyramid) = (cone(), pyramid(8));
    let mut unique_count = 0;
    for seed in 0..50 {
        for links in [1, 3, 10, 30] {
            let problem = Chain { links, ..Default::default() }.problem(seed);
            let (ours, theirs) = (solve(&mut cone, &problem), solve(&mut pyramid, &problem));
            assert!(ours.report.is_solved() && theirs.report.is_solved(), "{:?} {:?}", ours.report, theirs.report);
            assert!(violation(&problem, &ours) < 1e-10, "{links} links, seed {seed}");
            if !is_unique(&problem) {
                continue;
            }
            unique_count += 1;
            let size = norm(problem.free_motion.iter().copied());
            let difference = norm(ours.motion.iter().zip(&theirs.motion).map(|(a, b)| a - b)) / size;
            assert!(difference < 1e-10, "{links} links, seed {seed}: {difference:e}");
        }
    }
    assert!(unique_count > 100, "{unique_count}");
}

/// Whether one contact of a jointed system has a unique motion: $w_{nn} > \mu |w_{nt}|$.
fn is_unique(problem: &ContactProblem) -> bool {
    let (mut joints, mut motion, mut impulses) = (ConstrainedMotion::default(), Row::new(), Row::new());
    joints.factor(problem).unwrap();
    let contact = &problem.contacts[0];
    joints.respond(&problem.inertia, contact.normal.entries(), &mut motion, &mut impulses);
    let mut dense = vec![0.0; problem.free_motion.len()];
    motion.add_to(1.0, &mut dense);
    contact.normal.dot(&dense) > contact.mu * contact.tangents[0].dot(&dense).abs()
}

#[test]
fn polygons_tend_to_the_cone() {
    // One contact: the motion is unique, and a regular polygon is off by the square of its angle.
    let mut cone = cone();
    let mut errors = [0.0f64; 3];
    for seed in 0..100 {
        let problem = RandomContacts { contact_count: 1, mu: [0.2, 0.9], ..Default::default() }.problem(seed);
        let exact = solve(&mut cone, &problem);
        for (error, directions) in errors.iter_mut().zip([8, 32, 128]) {
            let polygon = solve(&mut pyramid(directions), &problem);
            let size = norm(problem.free_motion.iter().copied());
            *error = error.max(norm(exact.motion.iter().zip(&polygon.motion).map(|(a, b)| a - b)) / size);
        }
    }
    assert!(errors[0] > 1e-3, "polygons are no cones: {errors:?}");
    // The direction of sliding is off by the angle itself, at worst.
    assert!(errors[1] < 0.4 * errors[0] && errors[2] < 0.4 * errors[1], "{errors:?}");
}

#[test]
fn turning_the_tangents_and_reordering_changes_nothing() {
    let mut random = Generator::new(7);
    let mut count = 0;
    for seed in 0..200 {
        // Little friction, so that the motion is unique.
        let family = RandomContacts { contact_count: 6, mu: [0.05, 0.2], ..Default::default() };
        let problem = family.problem(seed);
        let first = solve(&mut cone(), &problem);
        let mut turned = problem.clone();
        for contact in &mut turned.contacts {
            let (sine, cosine) = random.uniform(0.0, 6.0).sin_cos();
            let [a, b] = [contact.tangents[0].clone(), contact.tangents[1].clone()];
            let mix = |p: f64, q: f64| {
                let mut row = Row::new();
                a.entries().iter().for_each(|&(k, value)| row.push(k, p * value));
                b.entries().iter().for_each(|&(k, value)| row.push(k, q * value));
                row
            };
            (contact.tangents[0], contact.tangents[1]) = (mix(cosine, sine), mix(-sine, cosine));
        }
        turned.contacts.reverse();
        let second = solve(&mut cone(), &turned);
        assert!(first.report.is_solved() && second.report.is_solved());
        let size = norm(problem.free_motion.iter().copied());
        let difference = norm(first.motion.iter().zip(&second.motion).map(|(a, b)| a - b)) / size;
        assert!(difference < 1e-10, "seed {seed}: {difference:e}");
        count += 1;
    }
    assert_eq!(count, 200);
}

#[test]
fn errors_of_jointed_contacts_are_measured_by_what_the_joints_leave() {
    // Every link of a lying chain turns about the end with which it touches the floor, so that the
    // terms of the free rates of the contacts leave nothing of each other. The joints make
    // something else of it, and that is what an error has to be measured by.
    let mut pushed_count = 0;
    for seed in 0..20 {
        let mut problem = Chain { links: 10, is_lying: true, mu: 0.0, ..Default::default() }.problem(seed);
        for (link, contact) in problem.contacts.iter().enumerate() {
            let normal = |k: usize| {
                let own = contact.normal.entries().iter().filter(|entry| entry.0 == 3 * link + k);
                own.map(|entry| entry.1).sum::<f64>()
            };
            problem.free_motion[3 * link] = 0.0;
            problem.free_motion[3 * link + 1] = -normal(2) - 1e-12;
            problem.free_motion[3 * link + 2] = 1.0;
        }
        let solution = solve(&mut cone(), &problem);
        assert!(solution.report.is_solved(), "seed {seed}: {:?}", solution.report);
        let violation = violation_of_rates(&problem, &solution);
        assert!(violation < 1e-11, "seed {seed}: {violation:e}");
        pushed_count += usize::from(solution.contacts.iter().any(|impulse| impulse.normal > 0.01));
    }
    assert!(pushed_count >= 10, "the contacts matter in {pushed_count} of 20");
}

/// Largest approach, or product of impulse and rate.
fn violation_of_rates(problem: &ContactProblem, solution: &ContactSolution) -> f64 {
    let contacts = problem.contacts.iter().zip(&solution.contacts);
    contacts.fold(0.0f64, |worst, (contact, impulse)| {
        let rate = contact.normal_rate(&solution.motion);
        worst.max(-rate).max((rate * impulse.normal).abs()).max(-impulse.normal)
    })
}

#[test]
fn friction_without_tangents_is_refused() {
    let mut problem = RandomContacts { contact_count: 1, ..Default::default() }.problem(0);
    problem.contacts[0].mu = 0.5;
    problem.contacts[0].tangents.clear();
    let error = cone().solve(&problem, &mut ContactSolution::default()).unwrap_err();
    assert!(error.to_string().contains("no tangent rows"), "{error}");
}

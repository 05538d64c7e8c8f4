//! What must hold for any contact problem.

use stiction_dynamics::{
    ContactCondition, ContactId, ContactMethod, ContactProblem, ContactSolution, ContactSolver, Directions,
    PyramidSettings, Row,
};

/// A small deterministic generator, so that a failing case can be named by its seed.
struct Random(u64);

impl Random {
    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }

    fn vector(&mut self, size: f64) -> [f64; 3] {
        [0; 3].map(|_| self.uniform(-size, size))
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = a.iter().map(|x| x * x).sum::<f64>().sqrt();
    a.map(|x| x / length)
}

/// Bodies with random contacts against each other and the ground; gaps are not negative, so a solution exists.
fn random_problem(seed: u64, contact_count: usize, largest_mu: f64) -> ContactProblem {
    let mut random = Random(seed);
    let body_count = (contact_count as f64 / 2.3).ceil() as usize;
    let mut problem = ContactProblem::default();
    for _ in 0..body_count {
        let mass = random.uniform(0.5, 2.0);
        (0..3).for_each(|_| problem.inertia.push_scalar(mass));
        (0..3).for_each(|_| problem.inertia.push_scalar(mass * random.uniform(0.05, 0.2)));
        problem.free_motion.extend((0..6).map(|_| random.uniform(-0.3, 0.3)));
        let last = problem.free_motion.len() - 4;
        problem.free_motion[last] -= 0.0981;
    }
    problem.inertia.factor().unwrap();
    for number in 0..contact_count {
        let first = (random.uniform(0.0, body_count as f64) as usize).min(body_count - 1);
        let second = (first > 0 && random.uniform(0.0, 1.0) > 0.35)
            .then(|| first - 1 - (random.uniform(0.0, first.min(4) as f64) as usize).min(first - 1));
        let normal = unit([random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), 1.0]);
        let t1 = unit(cross(normal, [0.3, 1.0, 0.2]));
        let t2 = cross(t1, normal);
        let (arm_first, arm_second) = (random.vector(0.5), random.vector(0.5));
        let row = |direction: [f64; 3]| {
            let mut row = Row::new();
            let ends = [(Some(first), arm_first, 1.0), (second, arm_second, -1.0)];
            for (body, arm, sign) in ends.into_iter().filter_map(|(body, arm, sign)| body.map(|body| (body, arm, sign)))
            {
                let moment = cross(arm, direction);
                (0..3).for_each(|i| row.push(6 * body + i, sign * direction[i]));
                (0..3).for_each(|i| row.push(6 * body + 3 + i, sign * moment[i]));
            }
            row
        };
        problem.contacts.push(ContactCondition {
            id: ContactId::number(number as u32),
            normal: row(normal),
            normal_bias: if random.uniform(0.0, 1.0) < 0.7 { 0.0 } else { random.uniform(0.0, 0.5) },
            tangents: [row(t1), row(t2)].into_iter().collect(),
            mu: random.uniform(0.0, largest_mu),
            ..Default::default()
        });
    }
    problem
}

fn solver(directions: usize) -> ContactSolver {
    let settings = PyramidSettings { directions: Directions::Regular(directions), ..Default::default() };
    ContactSolver::new(ContactMethod::Pyramid(settings)).unwrap()
}

/// Momentum, cone and complementarity, recomputed here from the problem and the impulses alone.
fn check(problem: &ContactProblem, solution: &ContactSolution, what: &str) {
    let mut momentum = vec![0.0; problem.free_motion.len()];
    let change: Vec<f64> = solution.motion.iter().zip(&problem.free_motion).map(|(u, free)| u - free).collect();
    problem.inertia.apply(&change, &mut momentum);
    let mut scale = 1e-3f64;
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        contact.normal.add_to(-impulse.normal, &mut momentum);
        contact.tangents.iter().enumerate().for_each(|(a, row)| row.add_to(-impulse.tangent[a], &mut momentum));
        scale = scale.max(impulse.normal);
    }
    assert!(momentum.iter().all(|p| p.abs() <= 1e-12 * scale), "{what}: momentum");
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        let rate = contact.normal_rate(&solution.motion);
        assert!(impulse.normal >= -1e-12 * scale, "{what}: pulls with {}", impulse.normal);
        assert!(rate >= -1e-11 * scale.max(1.0), "{what}: approaches with {rate}");
        assert!(impulse.normal * rate <= 1e-11 * scale * scale.max(1.0), "{what}: pushes without touching");
        let friction = impulse.tangent[0].hypot(impulse.tangent[1]);
        assert!(friction <= contact.mu * impulse.normal + 1e-11 * scale, "{what}: friction {friction} leaves its cone");
        let slip = contact.slip(&solution.motion);
        let power = impulse.tangent[0] * slip[0] + impulse.tangent[1] * slip[1];
        assert!(power <= 1e-11 * scale * scale.max(1.0), "{what}: friction drives");
    }
}

#[test]
fn random_contact_problems_are_solved() {
    let mut solved = 0;
    for (directions, contact_count, seeds) in
        [(8, 1, 300), (8, 3, 300), (8, 7, 200), (4, 12, 60), (8, 20, 20), (16, 7, 60)]
    {
        let mut solver = solver(directions);
        for seed in 0..seeds {
            for largest_mu in [0.9, 30.0] {
                let problem = random_problem(seed, contact_count, largest_mu);
                let mut solution = ContactSolution::default();
                solver.solve(&problem, &mut solution).unwrap();
                let what = format!("seed {seed}, {contact_count} contacts, {directions} directions, μ ≤ {largest_mu}");
                assert!(solution.report.is_solved(), "{what}: {:?}", solution.report);
                check(&problem, &solution, &what);
                solved += 1;
            }
        }
    }
    assert_eq!(solved, 2 * 940);
}

#[test]
fn a_tower_of_boxes_stands() {
    // L unit cubes of 1 kg, four corner contacts a level: W has a large null space, every ratio test is a tie.
    for levels in [1usize, 2, 3, 5] {
        let mut problem = ContactProblem::default();
        for _ in 0..levels {
            (0..3).for_each(|_| problem.inertia.push_scalar(1.0));
            (0..3).for_each(|_| problem.inertia.push_scalar(1.0 / 6.0));
            problem.free_motion.extend([0.0, 0.0, -0.0981, 0.0, 0.0, 0.0]);
        }
        problem.inertia.factor().unwrap();
        for level in 0..levels {
            for (corner, (x, y)) in [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)].into_iter().enumerate() {
                let row = |direction: [f64; 3]| {
                    let mut row = Row::new();
                    let below = level.checked_sub(1).map(|body| (body, 0.5, -1.0));
                    for (body, z, sign) in [Some((level, -0.5, 1.0)), below].into_iter().flatten() {
                        let moment = cross([x, y, z], direction);
                        (0..3).for_each(|i| row.push(6 * body + i, sign * direction[i]));
                        (0..3).for_each(|i| row.push(6 * body + 3 + i, sign * moment[i]));
                    }
                    row
                };
                problem.contacts.push(ContactCondition {
                    id: ContactId::number((4 * level + corner) as u32),
                    normal: row([0.0, 0.0, 1.0]),
                    tangents: [row([1.0, 0.0, 0.0]), row([0.0, 1.0, 0.0])].into_iter().collect(),
                    mu: 0.5,
                    ..Default::default()
                });
            }
        }
        let mut solution = ContactSolution::default();
        solver(8).solve(&problem, &mut solution).unwrap();
        assert!(solution.report.is_solved(), "{levels} levels: {:?}", solution.report);
        check(&problem, &solution, &format!("{levels} levels"));
        assert!(solution.motion.iter().all(|u| u.abs() < 1e-12), "it stands: {:?}", solution.motion);
        let ground: f64 = solution.contacts[..4].iter().map(|contact| contact.normal).sum();
        assert!((ground - 0.0981 * levels as f64).abs() < 1e-12, "the ground carries all: {ground}");
    }
}

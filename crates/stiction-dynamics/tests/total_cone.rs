//! Pointedness of the total friction cone and its constants, [PAGT] §6.2: against closed forms,
//! against chance, and against collisions.

use stiction_dynamics::families::{Generator, RandomContacts};
use stiction_dynamics::{
    ContactCondition, ContactMethod, ContactProblem, ContactSolution, ContactSolver, FrictionLaw, FrictionShape,
    JointCondition, Pointedness, PyramidSettings, Row, SelfStress, TotalCone,
};

fn assert_close(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value} is not {expected} within {tolerance}");
}

/// A particle of this mass with these contacts and joint rows.
fn particle(mass: f64, dimension: usize, contacts: Vec<ContactCondition>, joints: &[&[f64]]) -> ContactProblem {
    let mut problem = ContactProblem { free_motion: vec![0.0; dimension], contacts, ..Default::default() };
    problem.inertia.set_diagonal(&vec![mass; dimension]);
    problem.joints =
        joints.iter().map(|row| JointCondition { row: Row::from_dense(row), ..Default::default() }).collect();
    problem
}

fn contact(normal: &[f64], tangents: &[&[f64]], mu: f64) -> ContactCondition {
    let tangents = tangents.iter().map(|row| Row::from_dense(row)).collect();
    ContactCondition { normal: Row::from_dense(normal), tangents, mu, ..Default::default() }
}

/// Two walls of a groove whose normals lean from the vertical by this angle.
fn groove(angle: f64, mu: f64) -> Vec<ContactCondition> {
    let (s, c) = angle.sin_cos();
    vec![contact(&[s, c], &[&[c, -s]], mu), contact(&[-s, c], &[&[c, s]], mu)]
}

fn is_pointed(cone: &TotalCone) -> bool {
    matches!(cone.pointedness(), Pointedness::Pointed { .. })
}

/// The sum of all impulses, which should be nothing, and whether all of them are within their
/// cones.
fn imbalance(problem: &ContactProblem, stress: &SelfStress) -> f64 {
    let mut sum = vec![0.0; problem.free_motion.len()];
    for (joint, c) in problem.joints.iter().zip(&stress.joints) {
        joint.row.add_to(*c, &mut sum);
    }
    let mut outside = 0.0f64;
    for (contact, impulse) in problem.contacts.iter().zip(&stress.contacts) {
        contact.normal.add_to(impulse.normal, &mut sum);
        contact.tangents.iter().zip(impulse.tangent).for_each(|(row, c)| row.add_to(c, &mut sum));
        let y = std::array::from_fn(|k| impulse.tangent[k] / contact.friction_axes[k]);
        outside = outside.max(contact.friction_shape.excess(&y, contact.mu * impulse.normal)).max(-impulse.normal);
    }
    sum.iter().fold(outside, |most, x| most.max(x.abs()))
}

#[test]
fn a_groove_wedges_where_its_friction_angle_reaches_its_slope() {
    for angle in [0.3f64, 0.8, 1.2, 1.5] {
        let limit = 1.0 / angle.tan();
        for (mu, expected) in [(0.0, true), (0.999 * limit, true), (1.001 * limit, false), (10.0 * limit, false)] {
            let problem = particle(2.0, 2, groove(angle, mu), &[]);
            let cone = TotalCone::new(problem.clone()).unwrap();
            assert_eq!(is_pointed(&cone), expected, "angle {angle}, μ {mu}");
            match cone.pointedness() {
                Pointedness::Wedged(stress) => assert!(imbalance(&problem, stress) < 1e-9, "{stress:?}"),
                Pointedness::Pointed { escape } => {
                    // Straight up, by symmetry.
                    assert!(escape[0].abs() < 1e-12 * escape[1] && escape[1] > 0.0, "{escape:?}");
                }
                Pointedness::Undecided => unreachable!(),
            }
        }
    }
}

#[test]
fn the_force_constant_of_a_groove_is_that_of_its_outer_edges() {
    // Two forces along the outer edges, 2(θ + φ) apart, of which one has the normal part cos φ and
    // the other shortens the sum as much as it can.
    for (angle, mu, mass) in [(1.0f64, 0.3f64, 1.0), (1.2, 0.1, 7.0), (0.9, 0.0, 0.2)] {
        let phi = mu.atan();
        let mut cone = TotalCone::new(particle(mass, 2, groove(angle, mu), &[])).unwrap();
        let bound = cone.force_constant().unwrap();
        let expected = phi.cos() / (2.0 * (angle + phi)).sin();
        assert_close(bound.most, expected, 1e-10 * expected, "c_FC");
        assert_close(bound.least, expected, 1e-10 * expected, "c_FC");
    }
    // Less than a right angle apart, one force alone is the worst.
    let mut cone = TotalCone::new(particle(1.0, 2, groove(0.3, 0.1), &[])).unwrap();
    assert_close(cone.force_constant().unwrap().most, 1.0, 1e-12, "c_FC");
}

#[test]
fn round_cones_are_exact_whatever_their_axes() {
    // Three planes whose normals lean by θ, tangents turned at random: leaving straight up, n v =
    // cos θ and |T v| = sin θ. The best way out is that one, and the cone stays pointed up to μ =
    // cot θ.
    let mut random = Generator::new(5);
    for _ in 0..20 {
        let angle = random.uniform(0.2, 1.4);
        let limit = 1.0 / angle.tan();
        let mut planes = |mu: f64| -> Vec<ContactCondition> {
            let turn = random.uniform(0.0, 6.0);
            let plane = |number: usize| {
                let around = turn + std::f64::consts::TAU / 3.0 * number as f64;
                let (s, c) = angle.sin_cos();
                let n = [s * around.cos(), s * around.sin(), c];
                let (a, b) = ([c * around.cos(), c * around.sin(), -s], [-around.sin(), around.cos(), 0.0]);
                let (sin, cos) = random.uniform(0.0, 6.0).sin_cos();
                let t: [f64; 3] = std::array::from_fn(|i| cos * a[i] + sin * b[i]);
                let o: [f64; 3] = std::array::from_fn(|i| cos * b[i] - sin * a[i]);
                contact(&n, &[&t, &o], mu)
            };
            (0..3).map(plane).collect()
        };
        let mu = 0.9 * limit;
        let cone = TotalCone::new(particle(1.0, 3, planes(mu), &[])).unwrap();
        let Pointedness::Pointed { escape } = cone.pointedness() else { panic!("{:?}", cone.pointedness()) };
        let expected = 1.0 / (angle.cos() - mu * angle.sin());
        assert_close(escape[2], expected, 1e-9 * expected, "the shortest way out");
        let problem = particle(1.0, 3, planes(1.01 * limit), &[]);
        let cone = TotalCone::new(problem.clone()).unwrap();
        let Pointedness::Wedged(stress) = cone.pointedness() else { panic!("{:?}", cone.pointedness()) };
        assert!(imbalance(&problem, stress) < 1e-6, "{stress:?}");
    }
}

#[test]
fn the_collision_constant_of_a_groove_is_that_of_its_friction() {
    // Both walls push alike, with friction that points inwards: normal impulses of 1 each give
    // 2 cos(α + φ) / cos φ upwards. With one share e for both walls, friction alone is what breaks
    // the proportion of the phases: κ = e (1 + μ r cos φ / cos(α + φ)), where r is how far the
    // friction set reaches in units of the semi-axes: 1 for the ball, √2 where torsion has a bound
    // of its own.
    let (angle, mu, e) = (1.0f64, 0.2f64, 0.9f64);
    let phi = mu.atan();
    let walls = |shape: &FrictionShape| {
        let (s, c) = angle.sin_cos();
        let wall = |s: f64| ContactCondition {
            friction_shape: shape.clone(),
            ..contact(&[s, c, 0.0, 0.0], &[&[c, -s, 0.0, 0.0], &[0.0, 0.0, 1.0, 0.0], &[0.0, 0.0, 0.0, 1.0]], mu)
        };
        vec![wall(s), wall(-s)]
    };
    for (shape, reach) in [(FrictionShape::Ball, 1.0), (FrictionShape::DiscAndInterval, 2f64.sqrt())] {
        let mut cone = TotalCone::new(particle(2.0, 4, walls(&shape), &[])).unwrap();
        let kappa = e * (1.0 + mu * reach * phi.cos() / (angle + phi).cos());
        assert!(kappa > 1.2 && kappa < e * phi.cos() / (angle + phi).cos(), "the least of all bounds is this one");
        assert_close(cone.collision_constant(&[e, e]).unwrap(), kappa * kappa, 1e-9, &format!("{shape:?}"));
    }
}

#[test]
fn joints_take_part() {
    // A joint along y and a contact that leans by α from x: the joint takes sin α of its force, and
    // the rest is all that moves.
    let alpha = 1.1f64;
    let normal = [alpha.cos(), alpha.sin()];
    let mut cone = TotalCone::new(particle(3.0, 2, vec![contact(&normal, &[], 0.0)], &[&[0.0, 2.0]])).unwrap();
    let expected = 1.0 / alpha.cos();
    assert_close(cone.force_constant().unwrap().most, expected, 1e-10, "c_FC");
    // Against the joint alone the contact is wedged.
    let problem = particle(3.0, 2, vec![contact(&[0.0, 1.0], &[], 0.0)], &[&[0.0, 2.0]]);
    let mut cone = TotalCone::new(problem.clone()).unwrap();
    let Pointedness::Wedged(stress) = cone.pointedness() else { panic!() };
    assert!(imbalance(&problem, stress) < 1e-12 && (stress.joints[0] + 0.5).abs() < 1e-12, "{stress:?}");
    assert_eq!(cone.force_constant().unwrap().most, f64::INFINITY);
    // What moves nothing gains nothing.
    assert_eq!(cone.collision_constant(&[1.0]).unwrap(), 1.0);
    let mut cone = TotalCone::new(particle(1.0, 2, groove(1.0, 2.0), &[])).unwrap();
    assert_eq!(cone.collision_constant(&[1.0, 1.0]).unwrap(), f64::INFINITY);
    // Joint rows that depend on each other do so without a contact.
    let problem = particle(3.0, 2, Vec::new(), &[&[1.0, 2.0], &[0.0, 1.0], &[1.0, 0.0]]);
    let cone = TotalCone::new(problem.clone()).unwrap();
    let Pointedness::Wedged(stress) = cone.pointedness() else { panic!() };
    assert!(imbalance(&problem, stress) < 1e-12 && stress.joints.iter().any(|c| c.abs() == 1.0), "{stress:?}");
}

/// A wall with this normal.
fn wall(normal: [f64; 3], mu: f64) -> ContactCondition {
    let unit = |v: [f64; 3]| v.map(|x| x / v.iter().map(|x| x * x).sum::<f64>().sqrt());
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let n = unit(normal);
    let t = unit(cross(n, [0.3, 0.5, 0.8]));
    contact(&n, &[&t, &cross(n, t)], mu)
}

/// Problems of all kinds: planar and spatial, with all friction sets, with joints.
fn random_problem(seed: u64) -> ContactProblem {
    let mut random = Generator::new(seed);
    let family = RandomContacts {
        contact_count: 1 + random.below(6),
        is_planar: random.chance(0.4),
        mu: [0.0, random.logarithmic(0.1, 1.5)],
        ..Default::default()
    };
    let mut problem = family.problem(seed);
    if random.chance(0.4) {
        // A particle among walls in all directions, often wedged.
        let walls = (0..1 + random.below(6)).map(|_| wall(random.vector(1.0), family.mu[1])).collect();
        problem = particle(random.logarithmic(0.1, 10.0), 3, walls, &[]);
    }
    for contact in &mut problem.contacts {
        let law = match random.below(4) {
            0 if contact.tangents.len() == 2 => {
                contact.tangents.push(contact.tangents[0].clone());
                let semi_axes = [1.0, random.uniform(0.3, 1.0), 0.2];
                if random.chance(0.5) {
                    FrictionLaw::Elliptic { mu: contact.mu, semi_axes }
                } else {
                    FrictionLaw::EllipseAndTorsion { mu: contact.mu, semi_axes }
                }
            }
            1 if contact.tangents.len() == 2 => {
                let corners = [[1.0, 0.2, 0.0], [-0.3, 1.0, 0.0], [-0.5, -0.8, 0.0]];
                FrictionLaw::directions(contact.mu, &corners).unwrap()
            }
            _ => FrictionLaw::Coulomb { mu: contact.mu },
        };
        (contact.friction_axes, contact.friction_shape) = (law.axes(), law.shape());
    }
    let n = problem.free_motion.len();
    for _ in 0..random.below(3) {
        let row: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
        problem.joints.push(JointCondition { row: Row::from_dense(&row), ..Default::default() });
    }
    problem
}

/// Random impulses of the cone: the sum over joints and contacts, the largest part in units of its
/// length.
fn random_impulse(problem: &ContactProblem, random: &mut Generator) -> (Vec<f64>, f64) {
    let mut sum = vec![0.0; problem.free_motion.len()];
    let length = |row: &Row| {
        let mut response = Row::new();
        problem.inertia.solve_row(row.entries(), &mut response);
        let mut dense = vec![0.0; problem.free_motion.len()];
        response.add_to(1.0, &mut dense);
        row.dot(&dense).sqrt()
    };
    let mut largest = 0.0f64;
    for joint in &problem.joints {
        let c = random.uniform(-1.0, 1.0) * random.logarithmic(1e-2, 1.0);
        joint.row.add_to(c, &mut sum);
        largest = largest.max(c.abs() * length(&joint.row));
    }
    for contact in &problem.contacts {
        let c = if random.chance(0.3) { 0.0 } else { random.logarithmic(1e-2, 1.0) };
        contact.normal.add_to(c, &mut sum);
        largest = largest.max(c * length(&contact.normal));
        let y = contact.friction_shape.nearest(&random.vector(2.0), contact.mu * c);
        for (k, row) in contact.tangents.iter().enumerate() {
            row.add_to(contact.friction_axes[k] * y[k], &mut sum);
        }
    }
    (sum, largest)
}

#[test]
fn no_impulse_exceeds_the_constant_and_one_reaches_it() {
    let (mut pointed, mut wedged, mut nearest) = (0, 0, 0.0f64);
    for seed in 0..300 {
        let mut problem = random_problem(seed);
        problem.inertia.factor().unwrap();
        let mut cone = TotalCone::new(problem.clone()).unwrap();
        match cone.pointedness().clone() {
            Pointedness::Undecided => panic!("seed {seed}"),
            Pointedness::Wedged(stress) => {
                assert!(imbalance(&problem, &stress) < 1e-6, "seed {seed}: {}", imbalance(&problem, &stress));
                wedged += 1;
            }
            Pointedness::Pointed { escape } => {
                for joint in &problem.joints {
                    assert!(joint.row.dot(&escape).abs() < 1e-9 * escape.iter().fold(1.0f64, |m, v| m.max(v.abs())));
                }
                for contact in &problem.contacts {
                    let slip = contact.slip(&escape);
                    let slip = std::array::from_fn(|k| contact.friction_axes[k] * slip[k]);
                    let margin = contact.normal_rate(&escape)
                        - contact.normal_bias
                        - contact.mu * contact.friction_shape.support(&slip);
                    assert!(margin > 0.0, "seed {seed}");
                }
                let bound = cone.force_constant().unwrap();
                assert!(
                    bound.most >= bound.least * (1.0 - 1e-12) && bound.most <= bound.least * (1.0 + 1e-8),
                    "seed {seed}: {bound:?}"
                );
                let mut random = Generator::new(seed);
                for _ in 0..200 {
                    let (f, largest) = random_impulse(&problem, &mut random);
                    let mut motion = f.clone();
                    problem.inertia.solve_in_place(&mut motion);
                    let size = f.iter().zip(&motion).map(|(f, v)| f * v).sum::<f64>().sqrt();
                    if largest == 0.0 {
                        continue;
                    }
                    let share = largest / size / bound.most;
                    assert!(share <= 1.0 + 1e-9, "seed {seed}: {share}");
                    nearest = nearest.max(share);
                }
                pointed += 1;
            }
        }
    }
    assert!(pointed > 100 && wedged > 30 && nearest > 0.9, "{pointed} pointed, {wedged} wedged, nearest {nearest}");
}

#[test]
fn collisions_by_poissons_law_gain_no_more_than_the_constant_allows() {
    let (mut gains, mut largest, mut tightest, mut collisions) = (0, 0.0f64, 0.0f64, 0);
    let mut solver = ContactSolver::new(ContactMethod::Pyramid(PyramidSettings::default())).unwrap();
    for seed in 0..2000 {
        let mut random = Generator::new(seed);
        let family = RandomContacts {
            contact_count: 1 + random.below(3),
            is_planar: true,
            mu: [0.0, random.logarithmic(0.1, 3.0)],
            ..Default::default()
        };
        let mut problem = family.problem(seed);
        problem.contacts.iter_mut().for_each(|contact| (contact.normal_bias, contact.tangent_bias) = (0.0, [0.0; 3]));
        problem.free_motion.iter_mut().for_each(|v| *v = random.uniform(-1.0, 1.0));
        problem.inertia.factor().unwrap();
        let e: Vec<f64> = problem.contacts.iter().map(|_| random.uniform(0.0, 1.0)).collect();
        let energy = |problem: &ContactProblem, v: &[f64]| {
            let mut momentum = vec![0.0; v.len()];
            problem.inertia.apply(v, &mut momentum);
            momentum.iter().zip(v).map(|(p, v)| p * v).sum::<f64>()
        };
        let before = energy(&problem, &problem.free_motion);
        let mut compression = ContactSolution::default();
        solver.solve(&problem, &mut compression).unwrap();
        let mut given = vec![0.0; problem.free_motion.len()];
        for ((contact, impulse), e) in problem.contacts.iter().zip(&compression.contacts).zip(&e) {
            contact.normal.add_to(e * impulse.normal, &mut given);
        }
        problem.inertia.solve_in_place(&mut given);
        let start = problem.clone();
        problem.free_motion = compression.motion.iter().zip(&given).map(|(v, given)| v + given).collect();
        let mut decompression = ContactSolution::default();
        solver.solve(&problem, &mut decompression).unwrap();
        let after = energy(&problem, &decompression.motion);
        let mut cone = TotalCone::new(start).unwrap();
        let constant = cone.collision_constant(&e).unwrap();
        let ratio = after / before;
        assert!(ratio <= constant * (1.0 + 1e-9), "seed {seed}: {ratio} and {constant}");
        collisions += usize::from(compression.contacts.iter().any(|impulse| impulse.normal > 0.0));
        if ratio > 1.0 + 1e-9 {
            gains += 1;
            largest = largest.max(ratio);
            tightest = tightest.max(ratio / constant);
        }
    }
    // Poisson's law does gain energy where friction couples contacts.
    assert!(
        collisions > 1000 && gains > 0 && tightest > 0.1,
        "{collisions} collisions, {gains} gains, {largest}, {tightest}"
    );
    // Without friction and with one share for all it does not, and the constant says so.
    let mut frictionless = RandomContacts { mu: [0.0, 0.0], ..Default::default() }.problem(3);
    frictionless.contacts.iter_mut().for_each(|contact| contact.mu = 0.0);
    let count = frictionless.contacts.len();
    let mut cone = TotalCone::new(frictionless).unwrap();
    if is_pointed(&cone) {
        assert_eq!(cone.collision_constant(&vec![0.8; count]).unwrap(), 1.0);
    }
}

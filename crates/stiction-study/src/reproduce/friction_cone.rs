//! \[PAGT\] §6.2: pointedness of the total friction cone and the constants that follow, for a
//! particle in a groove and for collisions by Poisson's law.

use stiction_dynamics::families::{Generator, RandomContacts};
use stiction_dynamics::{ContactCondition, ContactProblem, Pointedness, Row, TotalCone};

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "friction-cone",
    title: "[PAGT] pointed friction cones and what bounds impulses and collisions",
    remarks: &[
        "The definition of the cone in §6.2 lacks the μ that (9.10) has: without it every contact would have the friction coefficient one.",
        "The paper names a constant c_c and gives none. Here it is max(1, κ²), with κ from a convex program: the compression ends perpendicular to what is given back. Random collisions come near it.",
        "Theorem 8.1 prints max(vᵀMv, |q| + 1) where its proof bounds the roots: it has the square of |q| + 1, and its c is 2 c₉, not half of c₉.",
        "Norms are those of the kinetic energy, so that constants have no units. Each is known between two bounds that substitution checks.",
    ],
    run: reproduce,
};

/// Random collisions, and of a quick look.
const COLLISIONS: u64 = 4000;
const QUICK_COLLISIONS: u64 = 1000;

/// Halvings by which a limit of friction is found.
const HALVINGS: usize = 50;

/// A particle between walls whose normals lean from the vertical by an angle: two in the plane,
/// three in space with tangents that are turned by some angle.
fn groove(angle: f64, mu: f64, is_spatial: bool) -> ContactProblem {
    let (s, c) = angle.sin_cos();
    let wall = |normal: &[f64], tangents: [&[f64]; 2]| ContactCondition {
        normal: Row::from_dense(normal),
        tangents: tangents.iter().filter(|row| !row.is_empty()).map(|row| Row::from_dense(row)).collect(),
        mu,
        ..Default::default()
    };
    let contacts = if is_spatial {
        let walls = (0..3).map(|number| {
            let around = 0.4 + std::f64::consts::TAU / 3.0 * f64::from(number);
            let (sine, cosine) = around.sin_cos();
            let (a, b) = ([c * cosine, c * sine, -s], [-sine, cosine, 0.0]);
            let (sine, cosine) = (1.0 + around).sin_cos();
            let t: Vec<f64> = (0..3).map(|i| cosine * a[i] + sine * b[i]).collect();
            let o: Vec<f64> = (0..3).map(|i| cosine * b[i] - sine * a[i]).collect();
            wall(&[s * around.cos(), s * around.sin(), c], [&t, &o])
        });
        walls.collect()
    } else {
        vec![wall(&[s, c], [&[c, -s], &[]]), wall(&[-s, c], [&[c, s], &[]])]
    };
    let dimension = if is_spatial { 3 } else { 2 };
    let mut problem = ContactProblem { free_motion: vec![0.0; dimension], contacts, ..Default::default() };
    problem.inertia.set_diagonal(&vec![1.0; dimension]);
    problem
}

/// The friction from which on a groove is wedged.
fn limit(angle: f64, is_spatial: bool) -> Result<f64, ReproduceError> {
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..HALVINGS {
        let mu = 0.5 * (low + high);
        let is_wedged = matches!(TotalCone::new(groove(angle, mu, is_spatial))?.pointedness(), Pointedness::Wedged(_));
        if is_wedged { high = mu } else { low = mu }
    }
    Ok(high)
}

/// A random collision: the kinetic energy after it over that before, and the constant that bounds
/// it.
fn collide(seed: u64, solver: &mut ContactSolver) -> Result<[f64; 2], ReproduceError> {
    let mut random = Generator::new(seed);
    let mu = [0.0, random.logarithmic(0.1, 3.0)];
    let family = RandomContacts { contact_count: 1 + random.below(3), is_planar: true, mu, ..Default::default() };
    let mut problem = family.problem(seed);
    problem.contacts.iter_mut().for_each(|contact| (contact.normal_bias, contact.tangent_bias) = (0.0, [0.0; 3]));
    problem.free_motion.iter_mut().for_each(|v| *v = random.uniform(-1.0, 1.0));
    problem.inertia.factor()?;
    let restitution: Vec<f64> = problem.contacts.iter().map(|_| random.uniform(0.0, 1.0)).collect();
    let energy = |problem: &ContactProblem, v: &[f64]| {
        let mut momentum = vec![0.0; v.len()];
        problem.inertia.apply(v, &mut momentum);
        momentum.iter().zip(v).map(|(p, v)| p * v).sum::<f64>()
    };
    let before = energy(&problem, &problem.free_motion);
    let mut solution = ContactSolution::default();
    solver.solve(&problem, &mut solution)?;
    let mut given = vec![0.0; problem.free_motion.len()];
    for ((contact, impulse), e) in problem.contacts.iter().zip(&solution.contacts).zip(&restitution) {
        contact.normal.add_to(e * impulse.normal, &mut given);
    }
    problem.inertia.solve_in_place(&mut given);
    problem.free_motion = solution.motion.iter().zip(&given).map(|(v, given)| v + given).collect();
    solver.solve(&problem, &mut solution)?;
    let after = energy(&problem, &solution.motion);
    Ok([after / before, TotalCone::new(problem)?.collision_constant(&restitution)?])
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("grooves");
    for (what, is_spatial) in [("two walls", false), ("three walls in space", true)] {
        for degrees in [30.0f64, 45.0, 60.0] {
            let angle = degrees.to_radians();
            let quantity = format!("friction from which {what} that lean by {degrees}° wedge a particle");
            rows.add(quantity, 1.0 / angle.tan(), limit(angle, is_spatial)?, Measured(1e-6));
        }
    }
    for (degrees, mu) in [(60.0f64, 0.0f64), (60.0, 0.3), (75.0, 0.1)] {
        let (angle, phi) = (degrees.to_radians(), mu.atan());
        let bound = TotalCone::new(groove(angle, mu, false))?.force_constant()?;
        let expected = phi.cos() / (2.0 * (angle + phi)).sin();
        for (side, value) in [("at least", bound.least), ("at most", bound.most)] {
            let quantity = format!("c_FC {side}, two walls that lean by {degrees}°, μ = {mu}");
            rows.add(quantity, expected, value, Rounding);
        }
    }
    let constant = TotalCone::new(groove(1.0, 0.0, true))?.collision_constant(&[0.8; 3])?;
    rows.add("c_c without friction, e = 0.8", 1.0, constant, Exact);

    rows.progress("collisions");
    let count = rows.full_or(COLLISIONS, QUICK_COLLISIONS);
    let mut solver = ContactSolver::new(ContactMethod::default())?;
    let (mut nearest, mut largest) = (0.0f64, 0.0f64);
    for seed in 0..count {
        let [ratio, constant] = collide(seed, &mut solver)?;
        largest = largest.max(ratio);
        if ratio > 1.0 + 1e-9 {
            nearest = nearest.max(ratio / constant);
        }
    }
    let of = |what: &str| format!("{count} random collisions by Poisson's law: largest energy after{what}");
    rows.add_between(of(" over before"), (1.2, f64::INFINITY), largest);
    rows.add_between(of(", over c_c times that before"), (0.5, 1.0), nearest);
    Ok(())
}

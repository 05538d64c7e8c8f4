//! Single instants from the literature: a pushed particle, an arm whose hand touches a surface, the
//! rod of Painlevé.

use crate::{ContactCondition, ContactProblem, Inertia, Instant, InstantContact, Row};

/// A particle of some mass that rests on the floor $z \ge 0$ with $\mu = 0.5$ and is pushed with a
/// force, in N. \[PKF\]
///
/// # Panics
/// When the mass is not positive.
pub fn pushed_particle(mass: f64, force: [f64; 3]) -> ContactProblem {
    let mut inertia = Inertia::default();
    inertia.set_diagonal(&[mass; 3]);
    let contact = ContactCondition {
        normal: Row::from_dense(&[0.0, 0.0, 1.0]),
        tangents: [Row::from_dense(&[1.0, 0.0, 0.0]), Row::from_dense(&[0.0, 1.0, 0.0])].into_iter().collect(),
        mu: 0.5,
        ..Default::default()
    };
    at_rest(inertia, &force, contact)
}

/// An arm with three joints, at rest, whose hand touches a surface with $\mu = 0.6$; driven by
/// these joint torques, in N m. \[PKF\]
pub fn touching_arm(torque: [f64; 3]) -> ContactProblem {
    let mut inertia = Inertia::default();
    inertia.push_scalar(0.565056780767);
    inertia.push_block(2, &[0.601458780963, 0.084396057148, 0.084396057148, 0.084]);
    let tangents = [
        Row::from_dense(&[-0.203151012541, 0.0703299564488, 0.299336311872]),
        Row::from_dense(&[0.656731995674, 0.0217556049631, 0.0925955720866]),
    ];
    let contact = ContactCondition {
        normal: Row::from_dense(&[0.0, 0.687435268253, 0.248643987308]),
        tangents: tangents.into_iter().collect(),
        mu: 0.6,
        ..Default::default()
    };
    at_rest(inertia, &torque, contact)
}

/// The problem at the level of accelerations, $u_\text{free} = M^{-1} f$.
fn at_rest(inertia: Inertia, force: &[f64], contact: ContactCondition) -> ContactProblem {
    let mut problem = ContactProblem { inertia, free_motion: force.to_vec(), ..Default::default() };
    problem.inertia.factor().expect("the inertia is positive definite");
    problem.inertia.solve_in_place(&mut problem.free_motion);
    problem.contacts.push(contact);
    problem
}

/// The rod of Painlevé: 1 kg, half length 1 m, its lower left end on the floor under the angle
/// $\theta$, turning with $\omega$ and pushed along x at its centre. The end slides in the
/// direction `sliding`, or rests.
///
/// Coordinates x, y of the centre and the angle; the end is at $(x - \cos\theta, y - \sin\theta)$.
pub fn painleve_rod(angle: f64, mu: f64, omega: f64, push: f64, sliding: Option<[f64; 2]>) -> Instant {
    const GRAVITY: f64 = 9.81;
    let (sine, cosine) = angle.sin_cos();
    let mut instant = Instant { force: vec![push, -GRAVITY, 0.0], ..Default::default() };
    instant.inertia.set_diagonal(&[1.0, 1.0, 1.0 / 3.0]);
    instant.inertia.factor().expect("the inertia is positive definite");
    instant.contacts.push(InstantContact {
        normal: Row::from_dense(&[0.0, 1.0, -cosine]),
        normal_bias: omega * omega * sine,
        tangents: [Row::from_dense(&[1.0, 0.0, sine])].into_iter().collect(),
        tangent_bias: [omega * omega * cosine, 0.0, 0.0],
        mu,
        sliding,
        ..Default::default()
    });
    instant
}

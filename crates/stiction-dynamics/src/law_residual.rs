//! How well a solution obeys the laws of a contact problem: momentum, joints, complementarity, and friction by bound and maximum work.
//!
//! It shares nothing with the methods: friction is judged by the gauge and the support of its set and not by a projection. All numbers are relative to the root of an energy.

use crate::{ContactProblem, ContactSolution, ContactSolver, FrictionShape, Row};

/// What residuals are measured by.
#[derive(Clone, Copy, Debug)]
pub struct ResidualScales<'a> {
    /// The root of an energy: the largest momentum over the root of its mass.
    pub energy_root: f64,
    /// Roots of the diagonal of the inertia.
    pub mass_roots: &'a [f64],
}

impl ResidualScales<'_> {
    /// The mobility of a row, as if coordinates did not act on each other; one for a row that moves nothing.
    fn mobility(&self, row: &Row) -> f64 {
        let sum: f64 = row.entries().iter().map(|&(k, value)| (value / self.mass_roots[k]).powi(2)).sum();
        if sum > 0.0 { sum } else { 1.0 }
    }
}

/// The largest violation of any law, without unit; infinite when something is not finite.
pub fn law_residual(
    problem: &ContactProblem,
    solution: &ContactSolution,
    solver: &ContactSolver,
    scales: &ResidualScales<'_>,
) -> f64 {
    let u = &solution.motion;
    let root = scales.energy_root;
    let mut balance = vec![0.0; u.len()];
    let change: Vec<f64> = u.iter().zip(&problem.free_motion).map(|(u, free)| u - free).collect();
    problem.inertia.apply(&change, &mut balance);
    let mut worst = 0.0f64;
    let mut add = |value: f64| {
        let value = value.abs();
        worst = if value.is_finite() { worst.max(value) } else { f64::INFINITY };
    };
    for (joint, &impulse) in problem.joints.iter().zip(&solution.joints) {
        joint.row.add_to(-impulse, &mut balance);
        add((joint.row.dot(u) + joint.bias) / (scales.mobility(&joint.row).sqrt() * root));
    }
    let judge_friction =
        |tangents: &[Row], axes: &[f64; 3], shape: &FrictionShape, bound: f64, impulse: &[f64; 3], slip: &[f64; 3]| {
            if tangents.is_empty() || bound == 0.0 {
                let size = impulse.iter().fold(0.0f64, |size, c| size.max(c.abs()));
                return size / root;
            }
            let mobility = tangents.iter().zip(axes).map(|(row, e)| e * e * scales.mobility(row)).sum::<f64>();
            let mobility = mobility / tangents.len() as f64;
            let excess = solver.friction_excess(axes, shape, bound, impulse).max(0.0) * mobility.sqrt() / root;
            let work: f64 = impulse.iter().zip(slip).map(|(c, s)| c * s).sum();
            let allowed = bound * solver.friction_support(tangents.len(), axes, shape, slip);
            excess.max((allowed + work).abs() / (root * root).max(bound * bound * mobility))
        };
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        contact.normal.add_to(-impulse.normal, &mut balance);
        contact.tangents.iter().zip(impulse.tangent).for_each(|(row, c)| row.add_to(-c, &mut balance));
        let mobility = scales.mobility(&contact.normal).sqrt();
        add((impulse.normal * mobility / root).min(contact.normal_rate(u) / (mobility * root)));
        let bound = contact.mu * impulse.normal.max(0.0) + contact.extra_bound;
        let (axes, shape) = (&contact.friction_axes, &contact.friction_shape);
        add(judge_friction(&contact.tangents, axes, shape, bound, &impulse.tangent, &contact.slip(u)));
    }
    for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
        element.tangents.iter().zip(impulse).for_each(|(row, c)| row.add_to(-c, &mut balance));
        let round = FrictionShape::Ball;
        add(judge_friction(&element.tangents, &[1.0; 3], &round, element.bound, impulse, &element.slip(u)));
    }
    balance.iter().zip(scales.mass_roots).for_each(|(sum, mass_root)| add(sum / (mass_root * root)));
    worst
}

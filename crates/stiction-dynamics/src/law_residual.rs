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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ContactCondition, ContactId, ContactImpulse, ContactMethod, ExactConeSettings, FrictionCondition, Inertia,
        JointCondition,
    };

    /// A block that lands and slides on, a slider with dry friction, and a coordinate that a joint holds; with the solution.
    fn solved() -> (ContactProblem, ContactSolution) {
        let unit = |index: usize| {
            let mut row = Row::new();
            row.push(index, 1.0);
            row
        };
        let mut inertia = Inertia::default();
        inertia.set_diagonal(&[2.0, 2.0, 1.0, 1.0]);
        let contact = ContactCondition {
            id: ContactId::number(0),
            normal: unit(1),
            normal_bias: 0.0,
            tangents: [unit(0)].into_iter().collect(),
            tangent_bias: [0.0; 3],
            mu: 0.5,
            friction_axes: [1.0; 3],
            friction_shape: FrictionShape::Ball,
            extra_bound: 0.0,
        };
        let element = FrictionCondition { tangents: [unit(2)].into_iter().collect(), bound: 0.3, ..Default::default() };
        let problem = ContactProblem {
            inertia,
            free_motion: vec![3.0, -2.0, 1.0, 0.7],
            joints: vec![JointCondition { row: unit(3), bias: 0.0 }],
            contacts: vec![contact],
            friction: vec![element],
        };
        let solution = ContactSolution {
            motion: vec![2.0, 0.0, 0.7, 0.0],
            joints: vec![-0.7],
            contacts: vec![ContactImpulse { id: ContactId::number(0), normal: 4.0, tangent: [-2.0, 0.0, 0.0] }],
            friction: [[-0.3, 0.0, 0.0]].into_iter().collect(),
            ..Default::default()
        };
        (problem, solution)
    }

    /// The residual of the solution after a change.
    fn after(change: impl Fn(&mut ContactProblem, &mut ContactSolution)) -> f64 {
        let (mut problem, mut solution) = solved();
        change(&mut problem, &mut solution);
        let solver = ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap();
        let mass_roots = [2f64.sqrt(), 2f64.sqrt(), 1.0, 1.0];
        law_residual(&problem, &solution, &solver, &ResidualScales { energy_root: 4.0, mass_roots: &mass_roots })
    }

    #[test]
    fn each_law_alone_is_seen() {
        assert!(after(|_, _| {}) < 1e-15);
        let broken = [
            ("momentum", after(|problem, _| problem.free_motion[2] += 0.4)),
            ("a joint", after(|problem, _| problem.joints[0].bias = 0.4)),
            ("penetration", after(|problem, _| problem.contacts[0].normal_bias = -0.4)),
            ("pushing without touching", after(|problem, _| problem.contacts[0].normal_bias = 0.4)),
            (
                "pulling",
                after(|problem, solution| {
                    (problem.free_motion[0], problem.free_motion[1]) = (2.0, 0.2);
                    (solution.contacts[0].normal, solution.contacts[0].tangent[0]) = (-0.4, 0.0);
                }),
            ),
            (
                "more friction than its bound, without sliding",
                after(|problem, solution| {
                    (problem.contacts[0].mu, problem.free_motion[0], solution.motion[0]) = (0.4, 1.0, 0.0);
                }),
            ),
            (
                "less friction than sliding asks for",
                after(|_, solution| (solution.contacts[0].tangent[0], solution.motion[0]) = (-1.0, 2.5)),
            ),
            ("friction without a coefficient", after(|problem, _| problem.contacts[0].mu = 0.0)),
            ("a friction element that does too little", after(|problem, _| problem.friction[0].bound = 2.0)),
            ("a friction element that does too much", after(|problem, _| problem.friction[0].bound = 0.0)),
        ];
        for (name, residual) in broken {
            assert!(residual > 0.05 && residual < 1.0, "{name}: {residual}");
        }
        assert_eq!(after(|_, solution| solution.motion[0] = f64::NAN), f64::INFINITY);
    }
}

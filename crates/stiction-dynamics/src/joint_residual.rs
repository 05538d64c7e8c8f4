//! How well a solution keeps its joints and balances momentum: for every method, computed from the data of the problem alone.
//!
//! The condition of joint $i$ is off by the rate $\nu_i u + b_i$, the momentum of coordinate $k$ by what
//! $W (u - u_\text{free}) - \nu^T c_j - \sum (n^T c_n + T^T c_t)$ leaves there. A rate over $\sqrt{\nu_i \operatorname{diag}(W)^{-1} \nu_i^T}$ and
//! a momentum over $\sqrt{W_{kk}}$ have the same unit, the root of an energy, so that the residual has none and does not change with the
//! units of the problem. Rates are measured against free motion, motion, biases and the impulses of contacts and friction;
//! momenta against joint impulses too. Joint impulses are no measure for rates: where joints contradict each other a
//! method may drive them up without end, and any rate would look small beside them.

use crate::constrained_motion::mobility;
use crate::{ContactProblem, ContactSolution, Row};

/// Residual of the joint conditions and of the momentum balance; `workspace` may be any vectors, their memory is used. Zero
/// without joints, where the momentum follows from the impulses. A solution that is not finite has residual infinity.
pub fn joint_residual(
    problem: &ContactProblem,
    solution: &ContactSolution,
    workspace: &mut (Vec<f64>, Vec<f64>),
) -> f64 {
    if problem.joints.is_empty() {
        return 0.0;
    }
    let (u, u_free, inertia) = (&solution.motion, &problem.free_motion, &problem.inertia);
    let (change, momentum) = workspace;
    change.clear();
    change.extend(u.iter().zip(u_free).map(|(u, free)| u - free));
    momentum.clear();
    momentum.resize(u.len(), 0.0);
    inertia.apply(change, momentum);

    // What contacts and friction add, and the size of their impulses.
    let mut size = 0.0f64;
    let mut act = |row: &Row, impulse: f64| {
        row.add_to(-impulse, momentum);
        impulse.abs() * mobility(inertia, row).sqrt()
    };
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        size = size.max(act(&contact.normal, impulse.normal));
        for (row, &tangent) in contact.tangents.iter().zip(&impulse.tangent) {
            size = size.max(act(row, tangent));
        }
    }
    for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
        for (row, &tangent) in element.tangents.iter().zip(impulse) {
            size = size.max(act(row, tangent));
        }
    }
    let mut joint_size = 0.0f64;
    for (joint, &impulse) in problem.joints.iter().zip(&solution.joints) {
        joint_size = joint_size.max(act(&joint.row, impulse));
    }

    for joint in &problem.joints {
        let root = mobility(inertia, &joint.row).sqrt();
        if root > 0.0 {
            let terms =
                joint.row.entries().iter().map(|&(k, value)| (value * u[k]).abs().max((value * u_free[k]).abs()));
            size = size.max(terms.fold(joint.bias.abs(), f64::max) / root);
        }
    }
    for (k, (u, free)) in u.iter().zip(u_free).enumerate() {
        size = size.max(inertia.entry(k, k).abs().sqrt() * u.abs().max(free.abs()));
    }
    // A maximum that keeps what is not a number, as infinity.
    let mut worst = 0.0f64;
    let mut judge = |error: f64, size: f64| {
        let relative = if error == 0.0 { 0.0 } else { error.abs() / size };
        worst = if relative.is_nan() { f64::INFINITY } else { worst.max(relative) };
    };
    for joint in &problem.joints {
        let rate = joint.row.dot(u) + joint.bias;
        match mobility(inertia, &joint.row).sqrt() {
            root if root > 0.0 => judge(rate / root, size),
            // Nothing can move: the condition holds or it does not.
            _ => judge(rate, joint.bias.abs()),
        }
    }
    for (k, &left) in momentum.iter().enumerate() {
        judge(left / inertia.entry(k, k).abs().sqrt(), size.max(joint_size));
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactCondition, ContactImpulse, JointCondition};

    /// Two masses of 1 kg and 3 kg, linked, with 4 and 0 m/s: they go on with 1 m/s, and the link takes 3 N s from the first. In other
    /// units the numbers are those of `length` and `mass`, and the row of `row`.
    fn linked(length: f64, mass: f64, row: f64) -> (ContactProblem, ContactSolution) {
        let mut problem = ContactProblem { free_motion: vec![4.0 * length, 0.0], ..Default::default() };
        problem.inertia.set_diagonal(&[mass, 3.0 * mass]);
        problem.inertia.factor().unwrap();
        problem.joints.push(JointCondition { row: Row::from_dense(&[row, -row]), bias: 0.0 });
        let joints = vec![-3.0 * mass * length / row];
        (problem, ContactSolution { motion: vec![length; 2], joints, ..Default::default() })
    }

    #[test]
    fn errors_of_rates_and_of_momentum_are_seen_whatever_the_units() {
        for (length, mass, row) in [(1.0, 1.0, 1.0), (1e-3, 1e6, 1.0), (1e5, 1e-4, 1e3)] {
            let (problem, mut solution) = linked(length, mass, row);
            let residual = |solution: &ContactSolution| joint_residual(&problem, solution, &mut Default::default());
            assert!(residual(&solution) < 1e-15);
            solution.motion[0] *= 1.001;
            // The rate is off by 0.001 beside 4; the momentum of the first mass by 0.001 beside 4 / √(1 + 1/3), which is more.
            assert!((residual(&solution) - 0.001 / 12f64.sqrt()).abs() < 1e-8, "{}", residual(&solution));
            solution.motion[0] = length;
            solution.joints[0] *= 1.001;
            assert!((0.0005..0.001).contains(&residual(&solution)), "{}", residual(&solution));
            solution.joints[0] = f64::NAN;
            assert_eq!(residual(&solution), f64::INFINITY);
        }
    }

    #[test]
    fn contacts_are_part_of_the_balance() {
        // Pressed together by a wall that takes 4 N s: (4 - 4, 0) is at rest, the link carries nothing.
        let (mut problem, mut solution) = linked(1.0, 1.0, 1.0);
        problem.contacts.push(ContactCondition { normal: Row::from_dense(&[-1.0, 0.0]), ..Default::default() });
        solution.contacts.push(ContactImpulse { normal: 4.0, ..Default::default() });
        (solution.motion, solution.joints) = (vec![0.0; 2], vec![0.0]);
        assert_eq!(joint_residual(&problem, &solution, &mut Default::default()), 0.0);
        solution.contacts[0].normal = 3.0;
        assert!(joint_residual(&problem, &solution, &mut Default::default()) > 0.1);
    }

    #[test]
    fn large_joint_impulses_do_not_hide_a_rate() {
        // The link twice, the second time with another rate: impulses that cancel, however large, make neither right.
        let (mut problem, mut solution) = linked(1.0, 1.0, 1.0);
        problem.joints.push(JointCondition { bias: 1e-3, ..problem.joints[0].clone() });
        for impulse in [0.0, 1e3, 1e12] {
            solution.joints = vec![-3.0 + impulse, -impulse];
            let residual = joint_residual(&problem, &solution, &mut Default::default());
            assert!((residual - 0.001 / 4.0).abs() < 1e-6, "{impulse:e}: {residual:e}");
        }
    }

    #[test]
    fn a_joint_between_bodies_that_cannot_move_holds_or_does_not() {
        let (mut problem, mut solution) = linked(1.0, 1.0, 1.0);
        problem.joints.push(JointCondition { row: Row::new(), bias: 0.0 });
        solution.joints.push(0.0);
        assert!(joint_residual(&problem, &solution, &mut Default::default()) < 1e-15);
        problem.joints[1].bias = 1e-12;
        assert_eq!(joint_residual(&problem, &solution, &mut Default::default()), 1.0);
    }
}

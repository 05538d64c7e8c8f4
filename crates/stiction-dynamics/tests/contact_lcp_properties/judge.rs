//! How well an answer obeys the laws, from the problem and the impulses alone: nothing here is
//! shared with the solver or its residual.
//!
//! Violations have no unit. With the mean inverse mass $w$ of a contact's rows, its velocities are
//! divided by $s \sqrt w$ and its impulses by $s / \sqrt w$, where $s$ is the largest scaled free
//! rate against which any contact acts: so $s^2$ is an energy.

use stiction_dynamics::{ContactCondition, ContactImpulse, ContactProblem, ContactSolution, Row};

/// The largest violation of each law.
#[derive(Clone, Copy, Debug, Default)]
pub struct Violations {
    /// Momentum that no impulse accounts for.
    pub momentum: f64,
    /// The smaller one of normal impulse and normal rate, if it is not zero: pulling, approaching,
    /// or pushing without touching.
    pub normal: f64,
    /// Friction outside of its polygon, or not the one that dissipates most.
    pub friction: f64,
}

impl Violations {
    pub fn largest(&self) -> f64 {
        self.momentum.max(self.normal).max(self.friction)
    }

    /// A comparison with NaN would pass unnoticed: what is not a number is an infinite violation.
    fn add(sum: &mut f64, violation: f64) {
        *sum = if violation.is_nan() { f64::INFINITY } else { sum.max(violation) };
    }
}

/// The scale of a problem.
pub struct Scale {
    /// The root $s$ of an energy.
    pub energy_root: f64,
    /// Mean of $J W^{-1} J^T$ over the rows of each contact.
    pub inverse_masses: Vec<f64>,
}

impl Scale {
    pub fn of(problem: &ContactProblem) -> Self {
        let mut scale = Self { energy_root: 0.0, inverse_masses: Vec::new() };
        for contact in &problem.contacts {
            let (mut sum, mut count) = (0.0, 0.0);
            for row in std::iter::once(&contact.normal).chain(&contact.tangents) {
                (sum, count) = (sum + row.dot(&response(problem, row)), count + 1.0);
            }
            let inverse_mass: f64 = sum / count;
            let slip = contact.slip(&problem.free_motion);
            let sliding = if contact.mu > 0.0 { slip[0].hypot(slip[1]) } else { 0.0 };
            let against = sliding.max(-contact.normal_rate(&problem.free_motion));
            scale.energy_root = scale.energy_root.max(against / inverse_mass.sqrt());
            scale.inverse_masses.push(inverse_mass);
        }
        if scale.energy_root == 0.0 {
            scale.energy_root = 1.0; // no contact acts, and nothing depends on the scale
        }
        scale
    }

    /// Distance of two motions: the root of the kinetic energy (twice) of their difference.
    pub fn distance(&self, problem: &ContactProblem, a: &[f64], b: &[f64]) -> f64 {
        let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        (2.0 * kinetic_energy(problem, &difference)).sqrt() / self.energy_root
    }
}

/// $\tfrac12 u^T W u$.
pub fn kinetic_energy(problem: &ContactProblem, motion: &[f64]) -> f64 {
    let mut momentum = vec![0.0; motion.len()];
    problem.inertia.apply(motion, &mut momentum);
    0.5 * momentum.iter().zip(motion).map(|(p, u)| p * u).sum::<f64>()
}

/// $W^{-1} J^T$ of a row, as a dense vector.
pub fn response(problem: &ContactProblem, row: &Row) -> Vec<f64> {
    let mut dense = vec![0.0; problem.free_motion.len()];
    row.add_to(1.0, &mut dense);
    problem.inertia.solve_in_place(&mut dense);
    dense
}

/// The corners of the friction polygon: two in the plane.
pub fn corners(tangent_count: usize, directions: usize) -> Vec<[f64; 2]> {
    if tangent_count == 1 {
        return vec![[1.0, 0.0], [-1.0, 0.0]];
    }
    let corner = |i: usize| (std::f64::consts::TAU * i as f64 / directions as f64).sin_cos();
    (0..directions).map(corner).map(|(sine, cosine)| [cosine, sine]).collect()
}

pub fn judge(problem: &ContactProblem, solution: &ContactSolution, directions: usize) -> Violations {
    let scale = Scale::of(problem);
    let mut worst = Violations::default();

    // What is left of W (u - u_free) - Jᵀ c, in the norm of W⁻¹.
    let mut momentum = vec![0.0; problem.free_motion.len()];
    let change: Vec<f64> = solution.motion.iter().zip(&problem.free_motion).map(|(u, free)| u - free).collect();
    problem.inertia.apply(&change, &mut momentum);
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        contact.normal.add_to(-impulse.normal, &mut momentum);
        contact.tangents.iter().zip(impulse.tangent).for_each(|(row, impulse)| row.add_to(-impulse, &mut momentum));
    }
    let mut lost = momentum.clone();
    problem.inertia.solve_in_place(&mut lost);
    let lost_energy: f64 = momentum.iter().zip(&lost).map(|(p, v)| p * v).sum();
    Violations::add(&mut worst.momentum, lost_energy.abs().sqrt() / scale.energy_root);

    assert_eq!(solution.contacts.len(), problem.contacts.len(), "every contact has its impulse");
    for (number, (contact, impulse)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
        assert_eq!(contact.id, impulse.id, "impulses stand in the order of the contacts");
        let corners = corners(contact.tangents.len(), directions);
        let rates = (contact.normal_rate(&solution.motion), contact.slip(&solution.motion));
        let own =
            contact_violations(contact, impulse, rates, &corners, scale.energy_root, scale.inverse_masses[number]);
        Violations::add(&mut worst.normal, own.normal);
        Violations::add(&mut worst.friction, own.friction);
    }
    worst
}

/// The laws of one contact, with its normal rate and its sliding velocity.
pub fn contact_violations(
    contact: &ContactCondition,
    impulse: &ContactImpulse,
    (normal_rate, slip): (f64, [f64; 3]),
    corners: &[[f64; 2]],
    energy_root: f64,
    inverse_mass: f64,
) -> Violations {
    let (velocity, momentum) = (energy_root * inverse_mass.sqrt(), energy_root / inverse_mass.sqrt());
    let smaller = |impulse: f64, rate: f64| (impulse / momentum).min(rate / velocity).abs();
    let mut worst = Violations { normal: smaller(impulse.normal, normal_rate), ..Default::default() };

    // Friction as weights β of two neighbouring corners, which have the smallest sum there is, and
    // the smallest λ there is: then 0 ≤ β ⊥ d·s + λ ≥ 0 and 0 ≤ λ ⊥ μ c_n - Σβ ≥ 0.
    let weights = weights(corners, impulse.tangent);
    let unused = contact.mu * impulse.normal - weights.iter().sum::<f64>();
    if contact.mu == 0.0 {
        // No law on the sliding velocity, and any friction is too much.
        worst.friction = unused.abs() / momentum;
        return worst;
    }
    let rates: Vec<f64> = corners.iter().map(|d| d[0] * slip[0] + d[1] * slip[1]).collect();
    let lambda = rates.iter().fold(0.0f64, |largest, rate| largest.max(-rate));
    Violations::add(&mut worst.friction, smaller(unused, lambda));
    for (&weight, rate) in weights.iter().zip(&rates) {
        Violations::add(&mut worst.friction, smaller(weight, rate + lambda));
    }
    worst
}

/// The friction impulse as a sum of corners with non-negative weights, of at most two neighbours.
fn weights(corners: &[[f64; 2]], impulse: [f64; 3]) -> Vec<f64> {
    let count = corners.len();
    let mut weights = vec![0.0; count];
    if count == 2 {
        weights[usize::from(impulse[0] < 0.0)] = impulse[0].abs();
        return weights;
    }
    let sector = std::f64::consts::TAU / count as f64;
    let angle = impulse[1].atan2(impulse[0]).rem_euclid(std::f64::consts::TAU);
    let (size, first) = (impulse[0].hypot(impulse[1]), ((angle / sector) as usize).min(count - 1));
    // The law of sines in the triangle of the impulse and its two parts.
    let within = angle - first as f64 * sector;
    weights[first] = (size * (sector - within).sin() / sector.sin()).max(0.0);
    weights[(first + 1) % count] = (size * within.sin() / sector.sin()).max(0.0);
    weights
}

//! A chain that hangs from the ground and touches it with its end.

use super::Generator;
use super::bodies::{Assembly, Touch, box_inertia, frame};
use crate::ContactProblem;

/// Thickness of a link, in m.
const THICKNESS: f64 = 0.1;

/// A chain of links of 1 m and 1 kg in the plane, with hinges between them and one to the ground,
/// and a contact of the free end with the ground, or of the ends of all links.
///
/// Links lean at random, by up to 1 rad from the vertical. Joint impulses grow along the chain, and
/// each depends on all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Number of links.
    pub links: usize,
    /// Mass of every other link, from the second on, in kg; far from 1 is the hard case.
    pub other_mass: f64,
    /// Whether every link touches the ground with its end, and not only the last.
    pub is_lying: bool,
    /// Coefficient of friction at the ends.
    pub mu: f64,
    /// Largest random velocity, in m/s and rad/s.
    pub kick: f64,
}

impl Default for Chain {
    fn default() -> Self {
        Self { links: 10, other_mass: 1.0, is_lying: false, mu: 0.5, kick: 0.3 }
    }
}

impl Chain {
    /// The problem of a seed.
    pub fn problem(&self, seed: u64) -> ContactProblem {
        let mut random = Generator::new(seed);
        let mut assembly = Assembly::new(true);
        let mut last_end = None;
        for link in 0..self.links {
            let mass = if link % 2 == 0 { 1.0 } else { self.other_mass };
            assembly.push_body(
                mass,
                box_inertia(mass, [THICKNESS / 2.0, THICKNESS / 2.0, 0.5]),
                self.kick,
                &mut random,
            );
            let (sine, cosine) = random.uniform(-1.0, 1.0).sin_cos();
            let down = [0.5 * sine, 0.0, -0.5 * cosine];
            assembly.push_hinge((link, down.map(|x| -x)), last_end);
            last_end = Some((link, down));
            if self.is_lying || link + 1 == self.links {
                let (first, frame) = ((link, down), frame([0.0, 0.0, 1.0]));
                assembly.push_contact(&Touch { first, second: None, frame, normal_bias: 0.0, mu: self.mu });
            }
        }
        assembly.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bodies::cross;
    use super::super::{GRAVITY, STEP};
    use super::*;

    #[test]
    fn a_chain_that_swings_as_one_body_opens_no_hinge() {
        let chain = Chain { links: 5, other_mass: 3.0, ..Default::default() };
        let problem = chain.problem(4);
        problem.check().unwrap();
        assert_eq!((problem.joints.len(), problem.contacts.len(), problem.free_motion.len()), (10, 1, 15));
        assert_eq!((problem.inertia.entry(0, 0), problem.inertia.entry(3, 3)), (1.0, 3.0));
        // All turn with ω = 2 rad/s about the upper end: the centre of each moves with ω × r.
        let mut random = Generator::new(4);
        let (mut motion, mut place) = (Vec::new(), [0.0; 3]);
        for _ in 0..5 {
            (0..3).for_each(|_| _ = random.bits());
            let (sine, cosine) = random.uniform(-1.0, 1.0).sin_cos();
            let half = [0.5 * sine, 0.0, -0.5 * cosine];
            let centre = [0, 1, 2].map(|i| place[i] + half[i]);
            let velocity = cross([0.0, 2.0, 0.0], centre);
            motion.extend([velocity[0], velocity[2], 2.0]);
            place = [0, 1, 2].map(|i| place[i] + 2.0 * half[i]);
        }
        for (number, joint) in problem.joints.iter().enumerate() {
            assert!((joint.row.dot(&motion) + joint.bias).abs() < 1e-14, "joint row {number}");
        }
        // And its end goes sideways as the end of one body would.
        let slip = cross([0.0, 2.0, 0.0], place);
        assert!((problem.contacts[0].slip(&motion)[0].abs() - slip[0].abs()).abs() < 1e-14);
        assert!((problem.contacts[0].normal_rate(&motion) - slip[2]).abs() < 1e-14);
    }

    #[test]
    fn the_first_hinge_carries_the_weight_at_rest() {
        // Without a kick and friction the chain falls from rest; with vertical links the first
        // hinge would carry all weight. Leaning, it carries a part of it, upwards.
        let chain = Chain { links: 20, kick: 0.0, ..Default::default() };
        let mut problem = chain.problem(1);
        problem.contacts.clear();
        let mut motion = crate::ConstrainedMotion::default();
        motion.factor(&problem).unwrap();
        let weight = 20.0 * GRAVITY * STEP;
        let vertical = motion.joint_impulses()[1];
        assert!(vertical > 0.0 && vertical < weight, "{vertical} of {weight}");
    }

    #[test]
    fn links_are_thin_bars_of_one_metre() {
        let problem = Chain { links: 3, other_mass: 5.0, is_lying: true, mu: 0.45, ..Default::default() }.problem(2);
        assert_eq!(problem.contacts.len(), 3);
        assert!(problem.contacts.iter().all(|contact| contact.mu == 0.45));
        for (link, mass) in [1.0, 5.0, 1.0].into_iter().enumerate() {
            let moment = problem.inertia.entry(3 * link + 2, 3 * link + 2);
            assert!((moment - mass * (1.0 + THICKNESS * THICKNESS) / 12.0).abs() < 1e-14, "{moment}");
        }
    }
}

//! Boxes on top of each other.

use super::Generator;
use super::bodies::{Assembly, box_inertia};
use crate::ContactProblem;

/// A tower of unit cubes of 1 kg with four contacts a level, at the corners.
///
/// The forces of a level are not unique, so $W$ has a large null space, and without a kick every
/// ratio test is a tie.
#[derive(Clone, Debug, PartialEq)]
pub struct Tower {
    /// Number of cubes.
    pub levels: usize,
    /// Mass of the top cube, in kg; a heavy one is the hard case.
    pub top_mass: f64,
    /// Coefficient of friction.
    pub mu: f64,
    /// Largest random velocity, in m/s and rad/s.
    pub kick: f64,
}

impl Default for Tower {
    fn default() -> Self {
        Self { levels: 10, top_mass: 1.0, mu: 0.5, kick: 0.05 }
    }
}

impl Tower {
    /// The problem of a seed.
    pub fn problem(&self, seed: u64) -> ContactProblem {
        let mut random = Generator::new(seed);
        let mut assembly = Assembly::new(false);
        for level in 0..self.levels {
            let mass = if level + 1 == self.levels { self.top_mass } else { 1.0 };
            assembly.push_body(mass, box_inertia(mass, [0.5; 3]), self.kick, &mut random);
            let height = level as f64;
            let corners = [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)].map(|(x, y)| [x, y, height - 0.5]);
            let below = level.checked_sub(1).map(|below| (below, [0.0, 0.0, height - 1.0]));
            assembly.push_patch(corners, (level, [0.0, 0.0, height]), below, [0.0, 0.0, 1.0], self.mu);
        }
        assembly.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tower_has_four_contacts_a_level_and_the_heavy_cube_on_top() {
        let problem = Tower { levels: 3, top_mass: 1e3, ..Default::default() }.problem(1);
        problem.check().unwrap();
        assert_eq!((problem.contacts.len(), problem.free_motion.len()), (12, 18));
        // A cube of side one: m / 6.
        assert_eq!((problem.inertia.entry(0, 0), problem.inertia.entry(12, 12)), (1.0, 1e3));
        assert!((problem.inertia.entry(15, 15) - 1e3 / 6.0).abs() < 1e-12);
        // All bodies rise at the same speed: only the contacts with the ground open.
        let rise: Vec<f64> = (0..18).map(|i| if i % 6 == 2 { 0.7 } else { 0.0 }).collect();
        for (number, contact) in problem.contacts.iter().enumerate() {
            assert_eq!(contact.normal_rate(&rise), if number < 4 { 0.7 } else { 0.0 });
            assert_eq!(contact.slip(&rise), [0.0; 3]);
        }
    }

    #[test]
    fn the_whole_tower_may_turn_as_one_body() {
        // About the centre of the lowest cube: only its contacts with the ground notice.
        let problem = Tower { levels: 3, mu: 0.35, ..Default::default() }.problem(1);
        assert!(problem.contacts.iter().all(|contact| contact.mu == 0.35));
        let spin = [0.2, -0.3, 0.5];
        let mut motion = Vec::new();
        for level in 0..3 {
            motion.extend(crate::families::bodies::cross(spin, [0.0, 0.0, f64::from(level)]).into_iter().chain(spin));
        }
        for contact in &problem.contacts[4..] {
            assert!(contact.normal_rate(&motion).abs() < 1e-14, "{contact:?}");
            assert!(contact.slip(&motion).iter().all(|slip| slip.abs() < 1e-14), "{contact:?}");
        }
        assert!(problem.contacts[0].normal_rate(&motion).abs() > 0.1);
    }
}

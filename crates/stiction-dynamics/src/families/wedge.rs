//! Blocks that jam in a slot.

use super::Generator;
use super::bodies::{Assembly, box_inertia};
use crate::ContactProblem;

/// Blocks side by side, like books on a shelf, in a slot between two walls of the ground that lean
/// outwards by an angle each. Nothing is below them.
///
/// Where the friction is larger than the tangent of the angle, the slot holds what is pressed into
/// it: forces can be added that balance each other, so the cone of forces that act on nothing is
/// not only the origin, the forces are not bounded, and neither is what iterates may run to.
///
/// The blocks are unit cubes of 1 kg with four contacts a face; the outer faces of the first and
/// the last one lean with the walls.
#[derive(Clone, Debug, PartialEq)]
pub struct Wedge {
    /// Number of blocks.
    pub blocks: usize,
    /// How far each wall leans, in rad.
    pub lean: f64,
    /// Coefficient of friction.
    pub mu: f64,
    /// Largest random velocity, in m/s and rad/s.
    pub kick: f64,
}

impl Default for Wedge {
    /// Walls of 10°, friction of 17°.
    fn default() -> Self {
        Self { blocks: 4, lean: 0.175, mu: 0.3, kick: 0.05 }
    }
}

impl Wedge {
    /// Whether friction holds the blocks whatever presses them into the slot.
    pub fn is_jammed(&self) -> bool {
        self.mu > self.lean.tan()
    }

    /// The problem of a seed.
    pub fn problem(&self, seed: u64) -> ContactProblem {
        let mut random = Generator::new(seed);
        let mut assembly = Assembly::new(false);
        for _ in 0..self.blocks {
            assembly.push_body(1.0, box_inertia(1.0, [0.5; 3]), self.kick, &mut random);
        }
        let (sine, cosine) = self.lean.sin_cos();
        for face in 0..=self.blocks {
            // The normal points to the block that follows; at the right wall the last one is pushed
            // back.
            let (first, second, normal) = match face {
                0 => (0, None, [cosine, 0.0, sine]),
                last if last == self.blocks => (last - 1, None, [-cosine, 0.0, sine]),
                face => (face, Some(face - 1), [1.0, 0.0, 0.0]),
            };
            // The walls are wider apart at the top.
            let lean = match face {
                0 => -self.lean.tan(),
                last if last == self.blocks => self.lean.tan(),
                _ => 0.0,
            };
            let place = face as f64 - 0.5;
            let corners = [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)].map(|(y, z)| [place + lean * z, y, z]);
            let block = |number: usize| (number, [number as f64, 0.0, 0.0]);
            assembly.push_patch(corners, block(first), second.map(block), normal, self.mu);
        }
        assembly.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_opens_upwards() {
        let problem = Wedge { blocks: 3, lean: 0.2, ..Default::default() }.problem(1);
        problem.check().unwrap();
        assert_eq!((problem.contacts.len(), problem.free_motion.len()), (16, 18));
        let rise: Vec<f64> = (0..18).map(|i| if i % 6 == 2 { 1.0 } else { 0.0 }).collect();
        for (number, contact) in problem.contacts.iter().enumerate() {
            let is_wall = !(4..12).contains(&number);
            let (rate, slip) = if is_wall { (0.2f64.sin(), 0.2f64.cos()) } else { (0.0, 0.0) };
            assert!((contact.normal_rate(&rise) - rate).abs() < 1e-15, "{number}");
            assert!((contact.slip(&rise)[0].abs() - slip).abs() < 1e-15, "{number}");
        }
    }

    #[test]
    fn jammed_forces_balance_each_other() {
        // The walls push along x: within both cones of friction where the slot jams.
        let wedge = Wedge { blocks: 2, ..Default::default() };
        assert!(wedge.is_jammed() && !Wedge { mu: 0.17, ..wedge.clone() }.is_jammed());
        let problem = wedge.problem(1);
        let (sine, cosine) = wedge.lean.sin_cos();
        let mut total = vec![0.0; 12];
        for contact in &problem.contacts {
            // The force of one along the x axis, in the frame of the contact.
            let is_inner = contact.normal.entries().len() == 12;
            let (normal, tangent) = if is_inner { (1.0, 0.0) } else { (cosine, sine) };
            assert!(tangent <= wedge.mu * normal);
            contact.normal.add_to(normal, &mut total);
            let along_x = contact.tangents[0].entries()[0].1;
            contact.tangents[0].add_to(tangent * along_x.signum() * contact.normal.entries()[0].1.signum(), &mut total);
        }
        assert!(total.iter().all(|force| force.abs() < 1e-12), "{total:?}");
    }

    #[test]
    fn the_contacts_of_a_wall_lie_on_it() {
        // Two corners of the same wall are 1 / cos(lean) apart along it: so much more does the
        // lower one feel of a turn about y. And the blocks between may turn as one body.
        let wedge = Wedge { blocks: 3, lean: 0.2, mu: 0.25, ..Default::default() };
        let problem = wedge.problem(1);
        assert!(problem.contacts.iter().all(|contact| contact.mu == 0.25));
        let turn: Vec<f64> = (0..18).map(|i| if i % 6 == 4 { 1.0 } else { 0.0 }).collect();
        for wall in [0, 12] {
            // Corners at y, z = (½, ½), (½, -½).
            let [upper, lower] = [wall, wall + 1].map(|number| problem.contacts[number].normal_rate(&turn));
            assert!(((upper - lower).abs() - 1.0 / 0.2f64.cos()).abs() < 1e-14, "{upper} {lower}");
        }
        let spin = [0.2, -0.3, 0.5];
        let mut motion = Vec::new();
        for block in 0..3 {
            motion.extend(crate::families::bodies::cross(spin, [f64::from(block), 0.0, 0.0]).into_iter().chain(spin));
        }
        for contact in &problem.contacts[4..12] {
            assert!(contact.normal_rate(&motion).abs() < 1e-14, "{contact:?}");
            assert!(contact.slip(&motion).iter().all(|slip| slip.abs() < 1e-14), "{contact:?}");
        }
    }
}

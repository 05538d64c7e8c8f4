//! What the families share: bodies with their coordinates, and contacts between them.

use super::{GRAVITY, Generator, STEP};
use crate::{ContactCondition, ContactId, ContactProblem, JointCondition, Row};

/// A problem that grows body by body and contact by contact.
pub(super) struct Assembly {
    problem: ContactProblem,
    is_planar: bool,
}

/// A contact between two bodies, or a body and the ground.
#[derive(Clone)]
pub(super) struct Touch {
    /// The body on which the impulse acts, and the contact point relative to its centre.
    pub first: (usize, [f64; 3]),
    /// The body that takes the reaction; none for the ground.
    pub second: Option<(usize, [f64; 3])>,
    /// Unit normal towards the first body, and the two tangents.
    pub frame: [[f64; 3]; 3],
    /// Gap over step, in m/s.
    pub normal_bias: f64,
    /// Coefficient of friction.
    pub mu: f64,
}

impl Assembly {
    pub fn new(is_planar: bool) -> Self {
        Self { problem: ContactProblem::default(), is_planar }
    }

    /// Adds a body with its free motion: random in every coordinate, up to the kick, plus gravity.
    pub fn push_body(&mut self, mass: f64, inertia: [[f64; 3]; 3], kick: f64, random: &mut Generator) {
        let mut velocity = [0.0; 6];
        let used: &[usize] = if self.is_planar { &[0, 2, 4] } else { &[0, 1, 2, 3, 4, 5] };
        used.iter().for_each(|&k| velocity[k] = random.uniform(-kick, kick));
        velocity[2] -= GRAVITY * STEP;
        self.push_moving_body(mass, inertia, velocity);
    }

    /// Adds a body with this free motion.
    pub fn push_moving_body(&mut self, mass: f64, inertia: [[f64; 3]; 3], velocity: [f64; 6]) {
        let ContactProblem { inertia: masses, free_motion, .. } = &mut self.problem;
        if self.is_planar {
            masses.push_scalar(mass);
            masses.push_scalar(mass);
            masses.push_scalar(inertia[1][1]);
            free_motion.extend([velocity[0], velocity[2], velocity[4]]);
        } else {
            (0..3).for_each(|_| masses.push_scalar(mass));
            masses.push_block(3, inertia.as_flattened());
            free_motion.extend(velocity);
        }
    }

    pub fn push_contact(&mut self, touch: &Touch) {
        let [normal, tangents @ ..] = touch.frame.map(|direction| self.row(touch.first, touch.second, direction));
        let tangent_count = if self.is_planar { 1 } else { 2 };
        self.problem.contacts.push(ContactCondition {
            id: ContactId::number(self.problem.contacts.len() as u32),
            normal,
            normal_bias: touch.normal_bias,
            tangents: tangents.into_iter().take(tangent_count).collect(),
            mu: touch.mu,
            ..Default::default()
        });
    }

    /// Four contacts between two bodies, at the corners of a patch. Bodies are given with their
    /// centres; no second one stands for the ground.
    pub fn push_patch(
        &mut self,
        corners: [[f64; 3]; 4],
        first: (usize, [f64; 3]),
        second: Option<(usize, [f64; 3])>,
        normal: [f64; 3],
        mu: f64,
    ) {
        for corner in corners {
            let arm = |(body, centre): (usize, [f64; 3])| (body, along(corner, -1.0, centre));
            let frame = frame(normal);
            self.push_contact(&Touch { first: arm(first), second: second.map(arm), frame, normal_bias: 0.0, mu });
        }
    }

    /// Holds a point of a body on one of another body or of the ground: a hinge in the plane, a
    /// ball joint in space.
    pub fn push_hinge(&mut self, first: (usize, [f64; 3]), second: Option<(usize, [f64; 3])>) {
        for (axis, direction) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into_iter().enumerate() {
            if axis != 1 || !self.is_planar {
                let row = self.row(first, second, direction);
                self.problem.joints.push(JointCondition { row, bias: 0.0, rounding: 0.0 });
            }
        }
    }

    /// The velocity of a point of the first body over one of the second, along a direction, as a
    /// row.
    fn row(&self, first: (usize, [f64; 3]), second: Option<(usize, [f64; 3])>, direction: [f64; 3]) -> Row {
        let mut row = Row::new();
        let ends = [(Some(first), 1.0), (second, -1.0)];
        for ((body, arm), sign) in ends.into_iter().filter_map(|(end, sign)| end.map(|end| (end, sign))) {
            let moment = cross(arm, direction);
            if self.is_planar {
                let entries = [direction[0], direction[2], moment[1]];
                entries.iter().enumerate().for_each(|(i, entry)| row.push(3 * body + i, sign * entry));
            } else {
                let entries = direction.iter().chain(&moment).enumerate();
                entries.for_each(|(i, entry)| row.push(6 * body + i, sign * entry));
            }
        }
        row
    }

    /// The problem, its inertia factored.
    pub fn finish(mut self) -> ContactProblem {
        self.problem.inertia.factor().expect("bodies have positive masses");
        self.problem
    }
}

/// Inertia of a box about its centre, along its edges.
pub(super) fn box_inertia(mass: f64, half_extents: [f64; 3]) -> [[f64; 3]; 3] {
    let [x, y, z] = half_extents.map(|half| half * half * mass / 3.0);
    [[y + z, 0.0, 0.0], [0.0, x + z, 0.0], [0.0, 0.0, x + y]]
}

/// The normal and two tangents, the first of them in the plane of x and z where the normal is.
pub(super) fn frame(normal: [f64; 3]) -> [[f64; 3]; 3] {
    let other = if normal[1].abs() < 0.9 { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
    let first = unit(cross(other, normal));
    [normal, first, cross(normal, first)]
}

pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = a.iter().map(|x| x * x).sum::<f64>().sqrt();
    a.map(|x| x / length)
}

/// $a + f b$.
pub(super) fn along(a: [f64; 3], factor: f64, b: [f64; 3]) -> [f64; 3] {
    [a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    }

    #[test]
    fn a_frame_is_orthonormal_and_right_handed() {
        let mut random = Generator::new(1);
        for trial in 0..50 {
            let normal = if trial == 0 { [0.0, 1.0, 0.0] } else { unit([0; 3].map(|_| random.uniform(-1.0, 1.0))) };
            let axes = frame(normal);
            assert_eq!(axes[0], normal);
            for (i, a) in axes.iter().enumerate() {
                for (j, b) in axes.iter().enumerate() {
                    assert!((dot(*a, *b) - f64::from(u8::from(i == j))).abs() < 1e-14, "{axes:?}");
                }
            }
            assert!((dot(cross(axes[0], axes[1]), axes[2]) - 1.0).abs() < 1e-14);
        }
        // In the plane of x and z the first tangent is the only one, and has to lie there.
        assert!(frame([0.6, 0.0, 0.8])[1][1].abs() < 1e-15);
    }

    #[test]
    fn bodies_fall_and_contacts_have_their_friction() {
        // A box of 3 kg with the edges 2, 4 and 6 m: m (b² + c²)/12 about each axis.
        assert_eq!(box_inertia(3.0, [1.0, 2.0, 3.0]), [[13.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 5.0]]);
        for is_planar in [false, true] {
            let mut assembly = Assembly::new(is_planar);
            assembly.push_body(3.0, box_inertia(3.0, [1.0, 2.0, 3.0]), 0.0, &mut Generator::new(1));
            let touch = Touch {
                first: (0, [1.0, 0.0, -3.0]),
                second: None,
                frame: frame([0.0, 0.0, 1.0]),
                normal_bias: 0.25,
                mu: 0.7,
            };
            assembly.push_contact(&touch);
            let problem = assembly.finish();
            let turn = if is_planar { 2 } else { 4 };
            assert_eq!(problem.inertia.entry(turn, turn), 10.0);
            let mut falls = vec![0.0; if is_planar { 3 } else { 6 }];
            falls[if is_planar { 1 } else { 2 }] = -GRAVITY * STEP;
            assert_eq!(problem.free_motion, falls);
            let contact = &problem.contacts[0];
            assert_eq!((contact.mu, contact.normal_bias, contact.extra_bound), (0.7, 0.25, 0.0));
            assert_eq!(contact.friction_axes, [1.0; 3]);
            // It turns about y with 1 rad/s: the point at (1, 0, -3) moves with (-3, 0, -1).
            let mut motion = vec![0.0; falls.len()];
            motion[turn] = 1.0;
            assert_eq!(contact.normal.dot(&motion), -1.0);
            assert_eq!(contact.slip(&motion)[0], -3.0 * touch.frame[1][0]);
        }
    }
}

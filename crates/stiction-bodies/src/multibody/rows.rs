//! Velocities of bodies as rows over the velocity coordinates.

use glamx::DVec3;
use stiction_dynamics::Row;

use super::Multibody;
use super::coordinates::{Layout, prescribed_velocity};
use crate::body::BodyKind;
use crate::pose::Pose;

impl Multibody {
    /// Adds `sign` times the velocity of a body's surface at the world point `point` along `direction` to a row; returns the part
    /// that is prescribed.
    pub(super) fn add_point_velocity(
        &self,
        body: usize,
        pose: &Pose,
        t: f64,
        point: DVec3,
        direction: DVec3,
        sign: f64,
        row: &mut Row,
    ) -> f64 {
        let drift = self.add_body_velocity(body, pose, t, point, direction, sign, row);
        match &self.model.bodies[body].kind {
            BodyKind::Prescribed(motion) => drift + sign * motion.surface_velocity.dot(direction),
            _ => drift,
        }
    }

    /// Like [`add_point_velocity`](Self::add_point_velocity) for the body itself, which a running surface does not carry along.
    pub(super) fn add_body_velocity(
        &self,
        body: usize,
        pose: &Pose,
        t: f64,
        point: DVec3,
        direction: DVec3,
        sign: f64,
        row: &mut Row,
    ) -> f64 {
        let arm = point - pose.position;
        match self.coordinates.layout[body] {
            Layout::PlaneRigid { v, .. } => {
                push(row, v, sign, [direction.x, direction.y, arm.x * direction.y - arm.y * direction.x]);
            }
            Layout::PlanePoint { v, .. } => push(row, v, sign, [direction.x, direction.y]),
            Layout::SpaceRigid { v, spin, .. } => {
                let moment = spin.of_world(pose.orientation, arm.cross(direction));
                push(row, v, sign, direction.to_array());
                push(row, v + 3, sign, moment.to_array());
            }
            Layout::SpacePoint { v, .. } => push(row, v, sign, direction.to_array()),
            Layout::Fixed => {
                if let BodyKind::Prescribed(motion) = &self.model.bodies[body].kind {
                    let velocity = prescribed_velocity(motion, t) + motion.angular_velocity.cross(arm);
                    return sign * velocity.dot(direction);
                }
            }
        }
        0.0
    }

    /// Adds `sign` times the rotation of a body about `axis` to a row; returns the part that is prescribed.
    pub(super) fn add_rotation(&self, body: usize, pose: &Pose, axis: DVec3, sign: f64, row: &mut Row) -> f64 {
        match self.coordinates.layout[body] {
            Layout::PlaneRigid { v, .. } => row.push(v + 2, sign * axis.z),
            Layout::SpaceRigid { v, spin, .. } => {
                let local = spin.of_world(pose.orientation, axis);
                push(row, v + 3, sign, local.to_array());
            }
            Layout::PlanePoint { .. } | Layout::SpacePoint { .. } => {}
            Layout::Fixed => {
                if let BodyKind::Prescribed(motion) = &self.model.bodies[body].kind {
                    return sign * motion.angular_velocity.dot(axis);
                }
            }
        }
        0.0
    }
}

/// Adds `sign` times the values to a row, from the entry `start` on.
fn push<const N: usize>(row: &mut Row, start: usize, sign: f64, values: [f64; N]) {
    for i in 0..N {
        row.push(start + i, sign * values[i]);
    }
}

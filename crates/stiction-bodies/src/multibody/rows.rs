//! Velocities of bodies as rows over the velocity coordinates.

use glamx::DVec3;
use stiction_dynamics::Row;

use super::Multibody;
use crate::pose::Pose;

impl Multibody {
    /// Adds `sign` times the velocity of a body's surface at the world point `point` along
    /// `direction` to a row; returns the part that is prescribed.
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
        self.motion(body).map_or(drift, |motion| drift + sign * motion.surface_velocity.dot(direction))
    }

    /// Like [`add_point_velocity`](Self::add_point_velocity) for the body itself, which a running
    /// surface does not carry along.
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
        let entries = self.coordinates.layout[body].entries(pose.orientation, direction, arm.cross(direction));
        entries.for_each(|(index, value)| row.push(index, sign * value));
        self.motion(body).map_or(0.0, |motion| {
            let velocity = motion.velocity_at(t) + motion.angular_velocity.cross(arm);
            sign * velocity.dot(direction)
        })
    }

    /// Adds `sign` times the rotation of a body about `axis` to a row; returns the part that is
    /// prescribed.
    pub(super) fn add_rotation(&self, body: usize, pose: &Pose, axis: DVec3, sign: f64, row: &mut Row) -> f64 {
        let entries = self.coordinates.layout[body].turn_entries(pose.orientation, axis);
        entries.for_each(|(index, value)| row.push(index, sign * value));
        self.motion(body).map_or(0.0, |motion| sign * motion.angular_velocity.dot(axis))
    }
}

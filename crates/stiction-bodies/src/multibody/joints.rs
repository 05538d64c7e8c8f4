//! Joints as rows: values, exact gradients, drift and rates; their limits, friction and motors.
//!
//! The letters are those of [`joint`](crate::joint). Two identities give every row. The rate of
//! $u \cdot w$ for $u$ fixed on the first and $w$ on the second body is
//! $(\omega^a - \omega^b) \cdot (u \times w)$. The rate of $d \cdot e^b$ is the velocity of the
//! first body at $p^a$ along $e^b$, less that of the second body's material at the same place
//! $p^a$, which the turning of $e^b$ puts there.

use glamx::DVec3;
use stiction_dynamics::{Contact, ContactFrame, ContactId, FrictionElement, FrictionLaw, Joint, Row, Tangents};
use stiction_solve::PortableMath as _;

use super::Multibody;
use crate::joint::{BodyJoint, CoordinateKind, JointKind, JointRow};
use crate::pose::{Pose, within_half_a_turn};
use crate::shape::Dimension;
use crate::touch_rates::Twist;

/// Stands in place of the first body in the identity of a contact that is a stop of a joint; the
/// second number is then that of the joint.
const STOP: u32 = u32::MAX;

/// A joint at one time and configuration.
pub(super) struct Placed<'a> {
    system: &'a Multibody,
    joint: &'a BodyJoint,
    t: f64,
    /// Of the two bodies; the world has none and stands still.
    poses: [Pose; 2],
    /// $p^a$, $p^b$.
    points: [DVec3; 2],
    /// $e^a$, $e^b$.
    axes: [[DVec3; 3]; 2],
    /// Angle in the plane.
    angle: f64,
}

impl Placed<'_> {
    /// Adds the velocity of the first body at `at` along a direction, less that of the second body
    /// at `at`, to a row.
    fn add_velocity(&self, at: [DVec3; 2], direction: DVec3, row: &mut Row) -> f64 {
        self.each_body(|end, body, sign| {
            self.system.add_body_velocity(body, &self.poses[end], self.t, at[end], direction, sign, row)
        })
    }

    /// Adds the relative rotation about an axis to a row.
    fn add_rotation(&self, axis: DVec3, row: &mut Row) -> f64 {
        self.each_body(|end, body, sign| self.system.add_rotation(body, &self.poses[end], axis, sign, row))
    }

    fn each_body(&self, mut add: impl FnMut(usize, usize, f64) -> f64) -> f64 {
        let drift = add(0, self.joint.first, 1.0);
        match self.joint.second {
            Some(second) => drift + add(1, second, -1.0),
            None => drift,
        }
    }

    fn axis(&self, (frame, axis): (usize, usize)) -> DVec3 {
        self.axes[frame][axis]
    }

    fn row(&self, kind: JointRow) -> Joint {
        let (p, d) = (self.points[0], self.points[0] - self.points[1]);
        let mut joint = Joint::default();
        let row = &mut joint.row;
        (joint.value, joint.drift) = match kind {
            JointRow::World(direction) => (d.dot(direction), self.add_velocity(self.points, direction, row)),
            JointRow::Across(i) => {
                let axis = self.axis((1, i));
                (d.dot(axis), self.add_velocity([p, p], axis, row))
            }
            JointRow::Turn(axes) => {
                let [x, y] = axes.map(|axis| self.axis(axis));
                let product = x.dot(y);
                (if axes[0].0 == 0 { product } else { -product }, self.add_rotation(x.cross(y), row))
            }
            JointRow::Angle => (self.angle, self.add_rotation(DVec3::Z, row)),
            JointRow::Hinge => {
                // The differential of atan2(s, c) is (c ds - s dc)/(s² + c²).
                let [[x, ..], [z, y, _]] = self.axes;
                let (sine, cosine) = (x.dot(y), x.dot(z));
                let axis = x.cross(cosine * y - sine * z) / (sine * sine + cosine * cosine);
                (sine.portable_atan2(cosine), self.add_rotation(axis, row))
            }
            JointRow::Length(length) => (d.length() - length, self.add_velocity(self.points, self.direction(), row)),
        };
        joint
    }

    /// The direction from the second point to the first; any one when they coincide, where the
    /// distance has no gradient.
    fn direction(&self) -> DVec3 {
        (self.points[0] - self.points[1]).try_normalize().unwrap_or(self.axes[1][0])
    }

    fn coordinate_row(&self) -> Option<JointRow> {
        self.joint.kind.coordinate_row(self.system.model.dimension)
    }

    /// The free coordinate, its gradient and its drift.
    fn coordinate(&self) -> Option<Joint> {
        self.coordinate_row().map(|kind| self.row(kind))
    }

    /// Whether the coordinate is an angle that cannot tell its turns.
    fn is_cyclic(&self) -> bool {
        self.coordinate_row() == Some(JointRow::Hinge)
    }
}

impl Multibody {
    fn placed<'a>(&'a self, joint: &'a BodyJoint, t: f64, q: &[f64]) -> Placed<'a> {
        let bodies = [Some(joint.first), joint.second];
        let poses = bodies.map(|body| self.pose_of(body, t, q));
        let frames = [joint.frames[0].in_world(&poses[0]), joint.frames[1].in_world(&poses[1])];
        let angle = |body: Option<usize>| body.map_or(0.0, |body| self.planar_angle(body, t, q));
        Placed {
            system: self,
            joint,
            t,
            poses,
            points: frames.map(|frame| frame.point),
            axes: frames.map(|frame| frame.axes()),
            angle: match self.model.dimension {
                Dimension::Plane => angle(bodies[0]) - angle(bodies[1]) - joint.zero_angle,
                Dimension::Space => 0.0,
            },
        }
    }

    /// Appends the rows of all joints, each with that of its drive last.
    pub(super) fn add_joints(&self, t: f64, q: &[f64], out: &mut Vec<Joint>) {
        for (joint, rows) in self.model.joints.iter().zip(&self.joint_rows) {
            let placed = self.placed(joint, t, q);
            out.extend(rows.iter().map(|&kind| placed.row(kind)));
            if let (Some(drive), Some(mut row)) = (joint.drive, placed.coordinate()) {
                let [value, rate, _] = drive.at(t);
                row.value -= value;
                if placed.is_cyclic() {
                    row.value = within_half_a_turn(row.value);
                }
                row.drift -= rate;
                out.push(row);
            }
        }
    }

    /// Appends the stops whose gap is at most `horizon`, in metres or radians.
    pub(super) fn add_stops(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        for (number, joint) in self.model.joints.iter().enumerate().filter(|(_, joint)| joint.limits.are_given()) {
            let limits = joint.limits;
            let placed = self.placed(joint, t, q);
            let Some(mut coordinate) = placed.coordinate() else { continue };
            if let (true, Some(lower), Some(upper)) = (placed.is_cyclic(), limits.lower, limits.upper) {
                // Counted from the middle of the limits, so that the jump is farthest from both.
                let middle = 0.5 * (lower + upper);
                coordinate.value = middle + within_half_a_turn(coordinate.value - middle);
            }
            for (feature, limit, sign) in [(0, limits.lower, 1.0), (1, limits.upper, -1.0)] {
                let Some(limit) = limit else { continue };
                let gap = sign * (coordinate.value - limit);
                // The comparison also leaves out a gap that is not a number, as no search would
                // find it.
                if gap <= horizon {
                    let normal = coordinate.row.scaled(sign);
                    let axis = match joint.kind {
                        JointKind::Distance { .. } => placed.direction(),
                        _ => placed.axes[1][2],
                    };
                    out.push(Contact {
                        id: ContactId { first: STOP, second: number as u32, feature, ..ContactId::default() },
                        gap,
                        normal,
                        normal_drift: sign * coordinate.drift,
                        friction: FrictionLaw::None,
                        restitution: limits.restitution,
                        frame: Some(ContactFrame {
                            point: placed.points[0].to_array(),
                            normal: (sign * axis).to_array(),
                        }),
                        ..Default::default()
                    });
                }
            }
        }
    }

    /// Appends the friction of joints, numbered after the dry friction elements.
    pub(super) fn add_joint_friction(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        for (number, joint) in self.model.joints.iter().enumerate().filter(|(_, joint)| joint.friction > 0.0) {
            let Some(coordinate) = self.placed(joint, t, q).coordinate() else { continue };
            out.push(FrictionElement {
                id: (self.model.dry_friction.len() + number) as u32,
                tangents: Tangents::from_iter([coordinate.row]),
                tangent_drift: [coordinate.drift, 0.0, 0.0],
                bound: joint.friction,
                static_bound: joint.static_friction,
                ..Default::default()
            });
        }
    }

    /// Adds the efforts of motors to the generalised force.
    pub(super) fn add_motors(&self, t: f64, q: &[f64], k: &mut [f64]) {
        for joint in &self.model.joints {
            if let Some(motor) = joint.motor
                && motor.from <= t
                && t <= motor.until
                && let Some(coordinate) = self.placed(joint, t, q).coordinate()
            {
                coordinate.row.add_to(motor.effort, k);
            }
        }
    }

    /// The free coordinate of a joint, in metres or radians; none where it has none.
    ///
    /// The angle of a hinge counts all turns in the plane, and is in (-π, π] in space.
    pub fn joint_coordinate(&self, joint: usize, t: f64, q: &[f64]) -> Option<f64> {
        self.placed(&self.model.joints[joint], t, q).coordinate().map(|coordinate| coordinate.value)
    }

    /// The joint whose stop a contact is, if it is one.
    pub fn joint_of_stop(&self, id: ContactId) -> Option<usize> {
        (id.first == STOP).then_some(id.second as usize)
    }

    /// The joints with a recorded coordinate, and its word: `angle`, `displacement`, `distance`.
    pub(super) fn recorded_coordinates(&self) -> impl Iterator<Item = (usize, &'static str)> + '_ {
        self.model.joints.iter().enumerate().filter_map(|(number, joint)| {
            let is_point = |body: usize| self.model.bodies[body].is_point();
            let suffix = match (joint.kind.coordinate()?, joint.kind) {
                (CoordinateKind::Angle, _) if is_point(joint.first) || joint.second.is_some_and(is_point) => {
                    return None;
                }
                (CoordinateKind::Angle, _) => "angle",
                (_, JointKind::Distance { .. }) => "distance",
                _ => "displacement",
            };
            Some((number, suffix))
        })
    }
}

impl Multibody {
    /// The motion of a joint.
    pub(super) fn joint_motion<'a>(&'a self, joint: &'a BodyJoint, at: (f64, &[f64], &[f64])) -> JointMotion<'a> {
        let twists = [Some(joint.first), joint.second].map(|body| self.twist(body, at));
        JointMotion { placed: self.placed(joint, at.0, at.1), twists }
    }
}

/// A joint and the motion of its bodies; the letters are those of [`joint`](crate::joint).
pub(super) struct JointMotion<'a> {
    placed: Placed<'a>,
    twists: [Twist; 2],
}

impl JointMotion<'_> {
    /// An axis of the first or second body, and its rate.
    fn axis(&self, place: (usize, usize)) -> (DVec3, DVec3) {
        let axis = self.placed.axis(place);
        (axis, self.twists[place.0].spin.cross(axis))
    }

    /// Rate of $(\omega^a - \omega^b) \cdot (x \times y)$.
    fn rotation_rate(&self, (x, x_rate): (DVec3, DVec3), (y, y_rate): (DVec3, DVec3)) -> f64 {
        let spin = self.twists[0].spin - self.twists[1].spin;
        spin.dot(x_rate.cross(y) + x.cross(y_rate))
    }

    /// Velocity of the first point against the second, and its rate.
    fn relative(&self) -> (DVec3, DVec3) {
        let ([a, b], [p, other]) = (&self.twists, self.placed.points);
        let (u, w) = (a.at(p), b.at(other));
        (u - w, a.rate(u) - b.rate(w))
    }

    /// Rate of a row.
    pub(super) fn row_rate(&self, kind: JointRow) -> f64 {
        match kind {
            JointRow::World(direction) => direction.dot(self.relative().1),
            JointRow::Across(i) => {
                let ([a, b], p) = (&self.twists, self.placed.points[0]);
                let (axis, axis_rate) = self.axis((1, i));
                axis_rate.dot(a.at(p) - b.at(p)) + axis.dot(a.rate(a.at(p)) - b.rate(a.at(p)))
            }
            JointRow::Turn([x, y]) => self.rotation_rate(self.axis(x), self.axis(y)),
            JointRow::Angle => 0.0,
            JointRow::Hinge => {
                // (c ds - s dc)/(s² + c²) once more.
                let spin = self.twists[0].spin - self.twists[1].spin;
                let (x, y, z) = (self.axis((0, 0)), self.axis((1, 1)), self.axis((1, 0)));
                let (s, c) = (x.0.dot(y.0), x.0.dot(z.0));
                let (s_rate, c_rate) = (spin.dot(x.0.cross(y.0)), spin.dot(x.0.cross(z.0)));
                let (s_second, c_second) = (self.rotation_rate(x, y), self.rotation_rate(x, z));
                let square = s * s + c * c;
                (c * s_second - s * c_second) / square
                    - (c * s_rate - s * c_rate) * 2.0 * (s * s_rate + c * c_rate) / (square * square)
            }
            JointRow::Length(_) => {
                let d = self.placed.points[0] - self.placed.points[1];
                let (rate, second_rate) = self.relative();
                match d.try_normalize() {
                    Some(n) => {
                        let across = rate - n.dot(rate) * n;
                        n.dot(second_rate) + across.dot(rate) / d.length()
                    }
                    None => self.placed.axes[1][0].dot(second_rate),
                }
            }
        }
    }

    /// Rate of the row of the free coordinate; zero without one.
    pub(super) fn coordinate_rate(&self) -> f64 {
        self.placed.coordinate_row().map_or(0.0, |kind| self.row_rate(kind))
    }
}

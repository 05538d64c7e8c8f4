//! Springs between bodies as forces, energies and derivatives of forces.
//!
//! A spring that hangs on a body with a prescribed motion is a drive: its energy depends on time, so its force counts as
//! [`ForceCause::Applied`], and its energy is none of the system's.

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::{ForceCause, ForceJacobians, FrictionElement, JacobianKind, Row};

use super::Multibody;
use crate::body::BodyKind;
use crate::pose::Pose;
use crate::shape::Dimension;
use crate::spring::{Attachment, Pull, Spring, TorsionSpring, Twist, within_half_a_turn};

/// Signs with which a torque or the negative pull of a spring acts on its two ends.
const SIGNS: [f64; 2] = [1.0, -1.0];

/// An end of a spring in the world.
#[derive(Clone, Copy)]
struct End {
    body: Option<usize>,
    orientation: DQuat,
    /// From the origin of the body.
    arm: DVec3,
    point: DVec3,
    /// Velocity of the point.
    velocity: DVec3,
    /// Angular velocity.
    spin: DVec3,
    /// Whether the coordinates of the angular velocity turn with the body.
    spin_turns: bool,
}

impl Multibody {
    fn end(&self, attachment: &Attachment, t: f64, q: &[f64], v: &[f64]) -> End {
        let Attachment { body, point } = *attachment;
        let still = (Pose::IDENTITY, (DVec3::ZERO, DVec3::ZERO));
        let (pose, (velocity, spin)) =
            body.map_or(still, |body| (self.pose(body, t, q), self.velocity_at(body, t, q, v)));
        let arm = pose.transform_vector(point);
        End {
            body,
            orientation: pose.orientation,
            arm,
            point: pose.position + arm,
            velocity: velocity + spin.cross(arm),
            spin,
            spin_turns: body.is_some_and(|body| self.coordinates.spin_turns(body)),
        }
    }

    /// Both ends, and their relative position and velocity.
    fn ends(&self, spring: &Spring, t: f64, q: &[f64], v: &[f64]) -> ([End; 2], DVec3, DVec3) {
        let ends = [self.end(&spring.first, t, q, v), self.end(&spring.second, t, q, v)];
        (ends, ends[0].point - ends[1].point, ends[0].velocity - ends[1].velocity)
    }

    /// Whether a body moves by itself.
    fn is_driven(&self, body: Option<usize>) -> bool {
        body.is_some_and(|body| matches!(self.model.bodies[body].kind, BodyKind::Prescribed(_)))
    }

    /// Cause of the force of a spring; that of a damper is always [`ForceCause::Applied`].
    fn spring_cause(&self, first: Option<usize>, second: Option<usize>) -> ForceCause {
        if self.is_driven(first) || self.is_driven(second) { ForceCause::Applied } else { ForceCause::Potential }
    }

    /// Adds the forces of springs and dampers that have this cause, or all of them.
    pub(super) fn add_springs(&self, cause: Option<ForceCause>, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        let is_asked = |of: ForceCause| cause.is_none_or(|cause| cause == of);
        for spring in &self.model.springs {
            let (ends, d, rate) = self.ends(spring, t, q, v);
            let Pull { spring: stored, damper } = spring.pull(d, rate);
            let spring_cause = self.spring_cause(spring.first.body, spring.second.body);
            for (of, pull) in [(spring_cause, stored), (ForceCause::Applied, damper)] {
                if is_asked(of) {
                    for (end, sign) in ends.iter().zip(SIGNS) {
                        let force = -sign * pull;
                        self.add_force(end.body, end.orientation, force, end.arm.cross(force), k);
                    }
                }
            }
        }
        for spring in &self.model.torsion_springs {
            let Some(turn) = self.turn(spring, t, q, v) else { continue };
            let spring_cause = self.spring_cause(Some(spring.first), spring.second);
            let moments =
                [(spring_cause, spring.stiffness * turn.phi), (ForceCause::Applied, spring.damping * turn.rate)];
            for (of, moment) in moments {
                if is_asked(of) {
                    for (end, sign) in turn.ends.iter().zip(SIGNS) {
                        self.add_force(end.body, end.orientation, DVec3::ZERO, -sign * moment * turn.gradient, k);
                    }
                }
            }
        }
    }

    /// Appends the pre-stressed springs, numbered after all friction.
    pub(super) fn add_preloads(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        let first = self.model.dry_friction.len() + self.model.joints.len();
        for (number, spring) in self.model.springs.iter().enumerate().filter(|(_, spring)| spring.preload > 0.0) {
            let at = |end: &Attachment| {
                let pose = end.body.map_or(Pose::IDENTITY, |body| self.pose(body, t, q));
                (end.body, pose, pose.transform_point(end.point))
            };
            let ends = [at(&spring.first), at(&spring.second)];
            let (direction, phi) = spring.elongation(ends[0].2 - ends[1].2);
            let mut row = Row::new();
            for ((body, pose, point), sign) in ends.into_iter().zip(SIGNS) {
                if let Some(body) = body {
                    self.add_point_velocity(body, &pose, t, point, direction, sign, &mut row);
                }
            }
            out.push(FrictionElement {
                id: (first + number) as u32,
                tangents: [row].into_iter().collect(),
                bound: spring.preload,
                displacement: Some(phi),
                ..Default::default()
            });
        }
    }

    /// Energy of all springs that are not driven, in joules.
    pub(super) fn spring_energy(&self, t: f64, q: &[f64]) -> f64 {
        let point =
            |end: &Attachment| end.body.map_or(end.point, |body| self.pose(body, t, q).transform_point(end.point));
        let mut energy = 0.0;
        for spring in &self.model.springs {
            if self.spring_cause(spring.first.body, spring.second.body) == ForceCause::Potential {
                let d = point(&spring.first) - point(&spring.second);
                energy += spring.energy(d) + spring.preload * spring.elongation(d).1.abs();
            }
        }
        for spring in &self.model.torsion_springs {
            if self.spring_cause(Some(spring.first), spring.second) == ForceCause::Potential {
                let phi = self.deformation(spring, t, q).map_or(0.0, |(phi, _)| phi);
                energy += 0.5 * spring.stiffness * phi * phi;
            }
        }
        energy
    }

    /// Derivatives of all springs and dampers.
    pub(super) fn add_spring_jacobians(
        &self,
        kind: JacobianKind,
        t: f64,
        q: &[f64],
        v: &[f64],
        out: &mut ForceJacobians,
    ) {
        for spring in &self.model.springs {
            let (ends, d, rate) = self.ends(spring, t, q, v);
            let cause = self.spring_cause(spring.first.body, spring.second.body);
            match kind {
                JacobianKind::Exact => {
                    let pull = spring.pull(d, rate);
                    let by = spring.pull_derivatives(d, rate);
                    self.push_by_position(&ends, pull.spring, by.spring_by_distance, DMat3::ZERO, cause, out);
                    if spring.damping > 0.0 {
                        let (applied, by_rate) = (ForceCause::Applied, by.damper_by_rate);
                        self.push_by_position(&ends, pull.damper, by.damper_by_distance, by_rate, applied, out);
                        self.push_by_rate(&ends, by_rate, out);
                    }
                }
                JacobianKind::Definite => {
                    let by = spring.definite_derivatives(d);
                    self.push_by_position(&ends, DVec3::ZERO, by.spring_by_distance, DMat3::ZERO, cause, out);
                    if spring.damping > 0.0 {
                        self.push_by_rate(&ends, by.damper_by_rate, out);
                    }
                }
            }
        }
        for spring in &self.model.torsion_springs {
            if let Some(turn) = self.turn(spring, t, q, v) {
                self.push_torsion(kind, spring, &turn, out);
            }
        }
    }

    /// $k_q$ of a pull: the pull changes with the relative position and velocity of its points, its moments with the arms, and
    /// its coordinates with the axes in which they are taken.
    fn push_by_position(
        &self,
        ends: &[End; 2],
        pull: DVec3,
        by_distance: DMat3,
        by_rate: DMat3,
        cause: ForceCause,
        out: &mut ForceJacobians,
    ) {
        for (moved, side) in ends.iter().zip(SIGNS) {
            for column in self.unit_motions(moved.body, moved.orientation) {
                let arm_change = column.angular.cross(moved.arm);
                let point_change = column.linear + arm_change;
                let spin_change = if moved.spin_turns { column.angular.cross(moved.spin) } else { DVec3::ZERO };
                let velocity_change = spin_change.cross(moved.arm) + moved.spin.cross(arm_change);
                let pull_change = side * (by_distance * point_change + by_rate * velocity_change);
                for (end, sign) in ends.iter().zip(SIGNS) {
                    let mut moment_change = end.arm.cross(pull_change);
                    if sign == side {
                        moment_change += arm_change.cross(pull);
                        if end.spin_turns {
                            moment_change -= column.angular.cross(end.arm.cross(pull));
                        }
                    }
                    let (force, torque) = (-sign * pull_change, -sign * moment_change);
                    let list = &mut out.by_configuration;
                    self.push_change(list, end.body, end.orientation, column.index, force, torque, cause);
                }
            }
        }
    }

    /// $k_v$ of a damper.
    fn push_by_rate(&self, ends: &[End; 2], by_rate: DMat3, out: &mut ForceJacobians) {
        for (moved, side) in ends.iter().zip(SIGNS) {
            for column in self.unit_motions(moved.body, moved.orientation) {
                let pull_change = side * (by_rate * (column.linear + column.angular.cross(moved.arm)));
                for (end, sign) in ends.iter().zip(SIGNS) {
                    let force = -sign * pull_change;
                    let (list, torque) = (&mut out.by_velocity, end.arm.cross(force));
                    let applied = ForceCause::Applied;
                    self.push_change(list, end.body, end.orientation, column.index, force, torque, applied);
                }
            }
        }
    }

    /// Deformation of a torsion spring, and its twist in space; none where there is no angle.
    fn deformation(&self, spring: &TorsionSpring, t: f64, q: &[f64]) -> Option<(f64, Option<Twist>)> {
        if self.model.dimension == Dimension::Plane {
            let angle = |body: usize| self.planar_angle(body, t, q);
            let phi = angle(spring.first) - spring.second.map_or(0.0, angle) - spring.rest_angle;
            return Some((phi, None));
        }
        let orientation = |body: usize| self.pose(body, t, q).orientation;
        let second = spring.second.map_or(DQuat::IDENTITY, orientation);
        let twist = Twist::new(spring.axis, second.conjugate() * orientation(spring.first))?;
        Some((within_half_a_turn(twist.angle - spring.rest_angle), Some(twist)))
    }

    fn turn(&self, spring: &TorsionSpring, t: f64, q: &[f64], v: &[f64]) -> Option<Turn> {
        let (phi, twist) = self.deformation(spring, t, q)?;
        let ends = [Some(spring.first), spring.second].map(|body| {
            let origin = Attachment { body, point: DVec3::ZERO };
            self.end(&origin, t, q, v)
        });
        let gradient = twist.map_or(DVec3::Z, |twist| ends[0].orientation * twist.gradient);
        Some(Turn { phi, rate: gradient.dot(ends[0].spin - ends[1].spin), gradient, twist, ends })
    }

    /// $k_q$ and $k_v$ of a torsion spring.
    fn push_torsion(&self, kind: JacobianKind, spring: &TorsionSpring, turn: &Turn, out: &mut ForceJacobians) {
        let &Turn { phi, rate, gradient, twist, ends } = turn;
        let spring_cause = self.spring_cause(Some(spring.first), spring.second);
        let applied = ForceCause::Applied;
        for (moved, side) in ends.iter().zip(SIGNS) {
            for column in self.unit_motions(moved.body, moved.orientation) {
                let phi_change = side * gradient.dot(column.angular);
                // The gradient turns with the first body and changes with the relative rotation; the rate changes with both,
                // and with the axes in which the angular velocity is given.
                let (mut gradient_change, mut rate_change) = (DVec3::ZERO, 0.0);
                if let (Some(twist), JacobianKind::Exact) = (twist, kind) {
                    let first = ends[0].orientation;
                    gradient_change = first * twist.gradient_change(first.conjugate() * (side * column.angular));
                    if side == SIGNS[0] {
                        gradient_change += column.angular.cross(gradient);
                    }
                    rate_change = gradient_change.dot(ends[0].spin - ends[1].spin);
                    if moved.spin_turns {
                        rate_change += side * gradient.dot(column.angular.cross(moved.spin));
                    }
                }
                for (end, sign) in ends.iter().zip(SIGNS) {
                    let is_turned = kind == JacobianKind::Exact && sign == side && end.spin_turns;
                    let axes_change = if is_turned { -column.angular.cross(gradient) } else { DVec3::ZERO };
                    let direction_change = gradient_change + axes_change;
                    let add = |list: &mut Vec<_>, moment: DVec3, cause| {
                        let torque = -sign * moment;
                        self.push_change(list, end.body, end.orientation, column.index, DVec3::ZERO, torque, cause);
                    };
                    let stored = spring.stiffness * (phi_change * gradient + phi * direction_change);
                    add(&mut out.by_configuration, stored, spring_cause);
                    if spring.damping > 0.0 {
                        let damped = spring.damping * (rate_change * gradient + rate * direction_change);
                        add(&mut out.by_configuration, damped, applied);
                        add(&mut out.by_velocity, spring.damping * phi_change * gradient, applied);
                    }
                }
            }
        }
    }
}

/// A torsion spring in the world.
struct Turn {
    phi: f64,
    rate: f64,
    /// $\nabla\varphi$ as a rotation of the first body, world axes.
    gradient: DVec3,
    twist: Option<Twist>,
    ends: [End; 2],
}

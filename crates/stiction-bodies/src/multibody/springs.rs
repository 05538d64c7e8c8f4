//! Springs between bodies as forces, energies and derivatives of forces.
//!
//! A spring that hangs on a body with a prescribed motion is a drive: its energy depends on time,
//! so its force counts as [`ForceCause::Applied`], and its energy is none of the system's.

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::{ForceCause, ForceJacobians, FrictionElement, JacobianKind, Row};

use super::Multibody;
use super::coordinates::{Layout, Turn as SpinAxes};
use super::forces::add_force;
use crate::pose::within_half_a_turn;
use crate::shape::Dimension;
use crate::spring::{Attachment, Pull, Spring, TorsionSpring, Twist};

/// Signs with which a torque or the negative pull of a spring acts on its two ends.
const SIGNS: [f64; 2] = [1.0, -1.0];

/// An end of a spring in the world.
#[derive(Clone, Copy)]
struct End {
    layout: Layout,
    orientation: DQuat,
    /// From the origin of the body.
    arm: DVec3,
    point: DVec3,
    /// Velocity of the point.
    velocity: DVec3,
    /// Angular velocity.
    spin: DVec3,
}

impl End {
    /// Whether the coordinates of the angular velocity turn with the body.
    fn spin_turns(&self) -> bool {
        self.layout.turn == SpinAxes::Body
    }
}

impl Multibody {
    fn end(&self, &Attachment { body, point }: &Attachment, at: (f64, &[f64], &[f64])) -> End {
        let pose = self.pose_of(body, at.0, at.1);
        let (velocity, spin) = body.map_or_else(Default::default, |body| self.velocity_at(body, at));
        let arm = pose.transform_vector(point);
        End {
            layout: self.coordinates.of(body),
            orientation: pose.orientation,
            arm,
            point: pose.position + arm,
            velocity: velocity + spin.cross(arm),
            spin,
        }
    }

    /// Both ends, and their relative position and velocity.
    fn ends(&self, spring: &Spring, at: (f64, &[f64], &[f64])) -> ([End; 2], DVec3, DVec3) {
        let ends = [self.end(&spring.first, at), self.end(&spring.second, at)];
        (ends, ends[0].point - ends[1].point, ends[0].velocity - ends[1].velocity)
    }

    /// Cause of the force of a spring; that of a damper is always [`ForceCause::Applied`].
    fn spring_cause(&self, ends: [Option<usize>; 2]) -> ForceCause {
        let is_driven = ends.into_iter().flatten().any(|body| self.motion(body).is_some());
        if is_driven { ForceCause::Applied } else { ForceCause::Potential }
    }

    /// Adds the forces of springs and dampers that have this cause, or all of them.
    pub(super) fn add_springs(&self, cause: Option<ForceCause>, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        let is_asked = |of: ForceCause| cause.is_none_or(|cause| cause == of);
        for spring in &self.model.springs {
            let (ends, d, rate) = self.ends(spring, (t, q, v));
            let Pull { spring: stored, damper } = spring.pull(d, rate);
            let spring_cause = self.spring_cause(spring.bodies());
            for (of, pull) in [(spring_cause, stored), (ForceCause::Applied, damper)] {
                if is_asked(of) {
                    for (end, sign) in ends.iter().zip(SIGNS) {
                        let force = -sign * pull;
                        add_force(&end.layout, end.orientation, force, end.arm.cross(force), k);
                    }
                }
            }
        }
        for spring in &self.model.torsion_springs {
            let Some(turn) = self.turn(spring, (t, q, v)) else { continue };
            let spring_cause = self.spring_cause(spring.bodies());
            let moments =
                [(spring_cause, spring.stiffness * turn.phi), (ForceCause::Applied, spring.damping * turn.rate)];
            for (of, moment) in moments {
                if is_asked(of) {
                    for (end, sign) in turn.ends.iter().zip(SIGNS) {
                        let torque = -sign * moment * turn.gradient;
                        add_force(&end.layout, end.orientation, DVec3::ZERO, torque, k);
                    }
                }
            }
        }
    }

    /// Appends the pre-stressed springs, numbered after all friction.
    pub(super) fn add_preloads(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        let first = self.model.dry_friction.len() + self.model.joints.len();
        for (number, spring) in self.model.springs.iter().enumerate().filter(|(_, spring)| spring.preload > 0.0) {
            let ends = [spring.first, spring.second].map(|Attachment { body, point }| {
                let pose = self.pose_of(body, t, q);
                (body, pose, pose.transform_point(point))
            });
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
        let point = |end: &Attachment| self.pose_of(end.body, t, q).transform_point(end.point);
        let mut energy = 0.0;
        for spring in &self.model.springs {
            if self.spring_cause(spring.bodies()) == ForceCause::Potential {
                let d = point(&spring.first) - point(&spring.second);
                energy += spring.energy(d) + spring.preload * spring.elongation(d).1.abs();
            }
        }
        for spring in &self.model.torsion_springs {
            if self.spring_cause(spring.bodies()) == ForceCause::Potential {
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
            let (ends, d, rate) = self.ends(spring, (t, q, v));
            let cause = self.spring_cause(spring.bodies());
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
            if let Some(turn) = self.turn(spring, (t, q, v)) {
                self.push_torsion(kind, spring, &turn, out);
            }
        }
    }

    /// $k_q$ of a pull: the pull changes with the relative position and velocity of its points, its
    /// moments with the arms, and its coordinates with the axes in which they are taken.
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
            for column in moved.layout.unit_motions(moved.orientation) {
                let arm_change = column.angular.cross(moved.arm);
                let point_change = column.linear + arm_change;
                let spin_change = if moved.spin_turns() { column.angular.cross(moved.spin) } else { DVec3::ZERO };
                let velocity_change = spin_change.cross(moved.arm) + moved.spin.cross(arm_change);
                let pull_change = side * (by_distance * point_change + by_rate * velocity_change);
                for (end, sign) in ends.iter().zip(SIGNS) {
                    let mut moment_change = end.arm.cross(pull_change);
                    if sign == side {
                        moment_change += arm_change.cross(pull);
                        if end.spin_turns() {
                            moment_change -= column.angular.cross(end.arm.cross(pull));
                        }
                    }
                    let change = [-sign * pull_change, -sign * moment_change];
                    let list = &mut out.by_configuration;
                    end.layout.push_change(list, end.orientation, column.index, change, cause);
                }
            }
        }
    }

    /// $k_v$ of a damper.
    fn push_by_rate(&self, ends: &[End; 2], by_rate: DMat3, out: &mut ForceJacobians) {
        for (moved, side) in ends.iter().zip(SIGNS) {
            for column in moved.layout.unit_motions(moved.orientation) {
                let pull_change = side * (by_rate * (column.linear + column.angular.cross(moved.arm)));
                for (end, sign) in ends.iter().zip(SIGNS) {
                    let force = -sign * pull_change;
                    let change = [force, end.arm.cross(force)];
                    let (list, applied) = (&mut out.by_velocity, ForceCause::Applied);
                    end.layout.push_change(list, end.orientation, column.index, change, applied);
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
        let twist = spring.twist(|body| self.pose(body, t, q).orientation)?;
        Some((within_half_a_turn(twist.angle - spring.rest_angle), Some(twist)))
    }

    fn turn(&self, spring: &TorsionSpring, at: (f64, &[f64], &[f64])) -> Option<Turn> {
        let (phi, twist) = self.deformation(spring, at.0, at.1)?;
        let ends = spring.bodies().map(|body| self.end(&Attachment { body, point: DVec3::ZERO }, at));
        let gradient = twist.map_or(DVec3::Z, |twist| ends[0].orientation * twist.gradient);
        Some(Turn { phi, rate: gradient.dot(ends[0].spin - ends[1].spin), gradient, twist, ends })
    }

    /// $k_q$ and $k_v$ of a torsion spring.
    fn push_torsion(&self, kind: JacobianKind, spring: &TorsionSpring, turn: &Turn, out: &mut ForceJacobians) {
        let &Turn { phi, rate, gradient, twist, ends } = turn;
        let spring_cause = self.spring_cause(spring.bodies());
        let applied = ForceCause::Applied;
        for (moved, side) in ends.iter().zip(SIGNS) {
            for column in moved.layout.unit_motions(moved.orientation) {
                let phi_change = side * gradient.dot(column.angular);
                // The gradient turns with the first body and changes with the relative rotation;
                // the rate changes with both, and with the axes in which the angular velocity is
                // given.
                let (mut gradient_change, mut rate_change) = (DVec3::ZERO, 0.0);
                if let (Some(twist), JacobianKind::Exact) = (twist, kind) {
                    let first = ends[0].orientation;
                    gradient_change = first * twist.gradient_change(first.conjugate() * (side * column.angular));
                    if side == SIGNS[0] {
                        gradient_change += column.angular.cross(gradient);
                    }
                    rate_change = gradient_change.dot(ends[0].spin - ends[1].spin);
                    if moved.spin_turns() {
                        rate_change += side * gradient.dot(column.angular.cross(moved.spin));
                    }
                }
                for (end, sign) in ends.iter().zip(SIGNS) {
                    let is_turned = kind == JacobianKind::Exact && sign == side && end.spin_turns();
                    let axes_change = if is_turned { -column.angular.cross(gradient) } else { DVec3::ZERO };
                    let direction_change = gradient_change + axes_change;
                    let add = |list: &mut Vec<_>, moment: DVec3, cause| {
                        let change = [DVec3::ZERO, -sign * moment];
                        end.layout.push_change(list, end.orientation, column.index, change, cause);
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

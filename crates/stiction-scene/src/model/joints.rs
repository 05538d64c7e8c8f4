//! Joints, and whether the bodies meet them at the start.

use std::f64::consts::{PI, TAU};

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{
    Body, BodyJoint, CoordinateKind, Dimension, JointDrive, JointFrame, JointKind, JointLimits, JointMotor, Multibody,
    Pose,
};
use stiction_dynamics::{MechanicalSystem, Restitution};
use stiction_solve::PortableMath as _;

use super::Reader;
use super::forces::static_bound;
use super::names::{plain_name, unique};
use super::values::{from_zero_to_one, not_negative, positive};
use crate::joint_entry::{AxisJointEntry, DistanceEntry, DriveEntry, FrameEntry, JointEntry, LimitsEntry, MotorEntry};
use crate::scene::Scene;
use crate::scene_error::{Fault, Place, quoted};

/// Joints whose values and rates at the start are at most this, in metres, radians and their rates, are met. Too large: the first step
/// jerks. Too small: places written with ten digits are refused.
pub(crate) const MET_AT_START: f64 = 1e-9;

/// Two axes are at right angles when their product is at most this.
const ORTHOGONAL_TOLERANCE: f64 = 1e-9;

/// The keys that stand for the type of a joint.
const TYPES: [&str; 8] = ["fixed", "ball", "revolute", "prismatic", "cylindrical", "universal", "planar", "distance"];

/// Where and how a joint is given, whatever its type.
#[derive(Default)]
struct Given<'a> {
    anchor: Option<&'a [f64]>,
    axis: Option<&'a [f64]>,
    frames: Option<&'a [FrameEntry]>,
    limits: Option<&'a LimitsEntry>,
    friction: Option<f64>,
    static_friction: Option<f64>,
    motor: Option<&'a MotorEntry>,
    drive: Option<&'a DriveEntry>,
}

/// A joint that is being read.
struct Subject<'a> {
    /// Of the table of its type.
    place: Place,
    entry: &'a JointEntry,
    kind: JointKind,
    bodies: &'a [Body],
    ends: (usize, Option<usize>),
}

impl Subject<'_> {
    fn pose(&self, end: usize, t: f64) -> Pose {
        let body = if end == 0 { Some(self.ends.0) } else { self.ends.1 };
        body.map_or(Pose::IDENTITY, |body| self.bodies[body].pose_at(t))
    }
}

impl Reader<'_> {
    pub(super) fn joints(&self, bodies: &[Body]) -> Result<Vec<BodyJoint>, Fault> {
        let entries = &self.scene.joints;
        unique("joint", "joints", entries.iter().map(|joint| joint.name.as_str()))?;
        entries.iter().enumerate().map(|(index, entry)| self.joint(index, entry, bodies)).collect()
    }

    fn joint(&self, index: usize, entry: &JointEntry, bodies: &[Body]) -> Result<BodyJoint, Fault> {
        let place = Place::top("joint").index(index);
        plain_name(place.key("name"), "a joint", &entry.name)?;
        if bodies.iter().any(|body| body.name == entry.name) {
            let message = format!("joint `{0}` has the name of body `{0}`", entry.name);
            return Err(place.key("name").fault(message, "give it another name: columns are named after both"));
        }
        let ends = self.joint_ends(&place, entry)?;
        let (word, kind) = self.joint_kind(&place, entry)?;
        let subject = Subject { place: place.key(word), entry, kind, bodies, ends };
        let nothing = Given::default();
        let mut joint = match word {
            "distance" => self.distance(&subject, entry.distance.as_ref().expect("it is given")),
            "universal" => {
                let universal = entry.universal.as_ref().expect("it is given");
                self.universal(&subject, &universal.anchor, &universal.axes, &universal.frames)
            }
            "planar" => {
                let planar = entry.planar.as_ref().expect("it is given");
                let given = Given {
                    anchor: planar.anchor.as_deref(),
                    axis: planar.axis.as_deref(),
                    frames: planar.frames.as_deref(),
                    ..nothing
                };
                self.plain(&subject, &given)
            }
            _ => {
                let point = entry.fixed.as_ref().or(entry.ball.as_ref());
                let axis = entry.revolute.as_ref().or(entry.prismatic.as_ref()).or(entry.cylindrical.as_ref());
                let given = match (point, axis) {
                    (Some(point), _) => {
                        Given { anchor: point.anchor.as_deref(), frames: point.frames.as_deref(), ..nothing }
                    }
                    (None, Some(axis)) => given_by_axis(axis),
                    (None, None) => nothing,
                };
                self.plain(&subject, &given)
            }
        }?;
        joint.can_collide = entry.collide;
        Ok(joint)
    }

    /// The numbers of the two bodies.
    fn joint_ends(&self, place: &Place, entry: &JointEntry) -> Result<(usize, Option<usize>), Fault> {
        let place = place.key("bodies");
        if !(1..=2).contains(&entry.bodies.len()) {
            let message = format!("joint `{}` has {} bodies", entry.name, entry.bodies.len());
            return Err(place.fault(message, "name two bodies, or one for a joint on the world"));
        }
        let first = self.body(place.index(0), &entry.bodies[0])?;
        let second = match entry.bodies.get(1) {
            Some(name) => Some(self.body(place.index(1), name)?),
            None => None,
        };
        if second == Some(first) {
            let message = format!("joint `{}` joins body `{}` to itself", entry.name, entry.bodies[0]);
            return Err(place.fault(message, "name two bodies, or one for a joint on the world"));
        }
        let is_free = |body: usize| self.scene.bodies[body].kind.is_free();
        if !is_free(first) && !second.is_some_and(is_free) {
            let names: Vec<&str> = entry.bodies.iter().map(String::as_str).collect();
            let message = match second {
                Some(_) => {
                    format!("neither of {} moves freely, so that joint `{}` holds nothing", quoted(&names), entry.name)
                }
                None => format!(
                    "body {} does not move freely, so that joint `{}` holds nothing",
                    quoted(&names),
                    entry.name
                ),
            };
            return Err(place.fault(message, "name a body that moves freely"));
        }
        Ok((first, second))
    }

    /// The one type key that is given.
    fn joint_kind(&self, place: &Place, entry: &JointEntry) -> Result<(&'static str, JointKind), Fault> {
        let given = [
            entry.fixed.is_some(),
            entry.ball.is_some(),
            entry.revolute.is_some(),
            entry.prismatic.is_some(),
            entry.cylindrical.is_some(),
            entry.universal.is_some(),
            entry.planar.is_some(),
            entry.distance.is_some(),
        ];
        let kinds = [
            JointKind::Fixed,
            JointKind::Ball,
            JointKind::Revolute,
            JointKind::Prismatic,
            JointKind::Cylindrical,
            JointKind::Universal,
            JointKind::Planar,
            JointKind::Distance { length: None },
        ];
        let found: Vec<usize> = (0..TYPES.len()).filter(|&i| given[i]).collect();
        let exists = |i: &usize| kinds[*i].exists_in(self.dimension);
        match found[..] {
            [i] if exists(&i) => Ok((TYPES[i], kinds[i])),
            [i] => {
                let help = match kinds[i] {
                    JointKind::Ball => "in the plane write `revolute`, which is a pin there",
                    _ => "in the plane there are `fixed`, `revolute`, `prismatic` and `distance`",
                };
                Err(place.key(TYPES[i]).key_fault(format!("`{}` is for scenes in space", TYPES[i]), help))
            }
            [] => {
                let here: Vec<&str> = (0..TYPES.len()).filter(exists).map(|i| TYPES[i]).collect();
                let message = format!("joint `{}` has no type", entry.name);
                Err(place.fault(message, format!("give one of {}", quoted(&here))))
            }
            [first, second, ..] => {
                let message = format!("joint `{}` is both `{}` and `{}`", entry.name, TYPES[first], TYPES[second]);
                Err(place.key(TYPES[second]).key_fault(message, "keep one; a joint for each if both are meant"))
            }
        }
    }

    /// Every type but `universal` and `distance`.
    fn plain(&self, subject: &Subject<'_>, given: &Given<'_>) -> Result<BodyJoint, Fault> {
        let (place, kind) = (&subject.place, subject.kind);
        let start = self.scene.run.start;
        let needs_axis = match kind {
            JointKind::Fixed | JointKind::Ball => false,
            JointKind::Revolute => !self.is_plane(),
            _ => true,
        };
        if kind == JointKind::Revolute && self.is_plane() && given.axis.is_some() {
            let message = "a pin in the plane has no `axis`: it is about z";
            return Err(place.key("axis").key_fault(message, "remove `axis`"));
        }
        let mut joint = match (given.anchor, given.frames) {
            (Some(_), Some(_)) => return Err(both_places(place, "anchor")),
            (None, None) if kind != JointKind::Fixed => {
                let example = if self.is_plane() { "[0.0, 0.0]" } else { "[0.0, 0.0, 0.0]" };
                let message = format!("joint `{}` has neither an `anchor` nor `frames`", subject.entry.name);
                let help = format!("give the place in world coordinates at the start, as in `anchor = {example}`");
                return Err(place.fault(message, help));
            }
            (anchor, None) => {
                let anchor = match anchor {
                    Some(values) => self.vector(place.key("anchor"), "anchor", values)?,
                    None => subject.pose(0, start).position,
                };
                let axis = match (given.axis, needs_axis) {
                    (Some(values), true) => self.joint_axis(place.key("axis"), "the axis", values)?,
                    (None, true) => return Err(self.missing_axis(place, subject)),
                    (_, false) => DVec3::Z,
                };
                let frame = JointFrame::new(anchor, axis);
                BodyJoint::new(&subject.entry.name, kind, subject.bodies, subject.ends, start, frame)
            }
            (None, Some(frames)) => {
                if given.axis.is_some() {
                    let message = "`axis` goes with `anchor`; with `frames`, each frame has its own";
                    return Err(place.key("axis").key_fault(message, "move it into the frames"));
                }
                self.joint_by_frames(subject, frames, needs_axis)?
            }
        };
        self.read_efforts(subject, given, &mut joint)?;
        Ok(joint)
    }

    fn universal(
        &self,
        subject: &Subject<'_>,
        anchor: &Option<Vec<f64>>,
        axes: &Option<Vec<Vec<f64>>>,
        frames: &Option<Vec<FrameEntry>>,
    ) -> Result<BodyJoint, Fault> {
        let place = &subject.place;
        let (anchor, axes) = match (anchor, axes, frames) {
            (None, None, Some(frames)) => return self.joint_by_frames(subject, frames, true),
            (Some(anchor), Some(axes), None) => (anchor, axes),
            (_, _, Some(_)) => return Err(both_places(place, if anchor.is_some() { "anchor" } else { "axes" })),
            (_, _, None) => {
                let message = format!("joint `{}` needs an `anchor` and two `axes`", subject.entry.name);
                let help = "give both in world coordinates at the start, as in \
                            `anchor = [0.0, 0.0, 0.0]`, `axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]`";
                return Err(place.fault(message, help));
            }
        };
        let anchor = self.vector(place.key("anchor"), "anchor", anchor)?;
        let place = place.key("axes");
        let [first, second] = axes.as_slice() else {
            return Err(place.fault(format!("{} axes are given", axes.len()), "give one for each body"));
        };
        let first = self.joint_axis(place.index(0), "the axis", first)?;
        let second = self.joint_axis(place.index(1), "the axis", second)?;
        if first.dot(second).abs() > ORTHOGONAL_TOLERANCE {
            let angle = first.dot(second).clamp(-1.0, 1.0).portable_acos().to_degrees();
            let message = format!("the two axes make an angle of {angle:.6} degrees");
            return Err(place.fault(message, "give axes at right angles to each other"));
        }
        let frame = JointFrame::new(anchor, first).with_side(second);
        let start = self.scene.run.start;
        Ok(BodyJoint::new(&subject.entry.name, subject.kind, subject.bodies, subject.ends, start, frame))
    }

    fn distance(&self, subject: &Subject<'_>, entry: &DistanceEntry) -> Result<BodyJoint, Fault> {
        let (place, start) = (&subject.place, self.scene.run.start);
        let points = match (&entry.anchors, &entry.frames) {
            (Some(_), Some(_)) => return Err(both_places(place, "anchors")),
            (Some(anchors), None) => {
                let place = place.key("anchors");
                let [first, second] = anchors.as_slice() else {
                    return Err(place.fault(format!("{} anchors are given", anchors.len()), "give one for each body"));
                };
                [self.vector(place.index(0), "anchor", first)?, self.vector(place.index(1), "anchor", second)?]
            }
            (None, Some(frames)) => {
                let place = place.key("frames");
                let frames = two_frames(&place, frames)?;
                let mut points = [DVec3::ZERO; 2];
                for (end, frame) in frames.into_iter().enumerate() {
                    for (key, is_given) in [("axis", frame.axis.is_some()), ("zero", frame.zero.is_some())] {
                        if is_given {
                            let message = format!("a distance has points only, and no `{key}`");
                            return Err(place.index(end).key(key).key_fault(message, "remove it"));
                        }
                    }
                    let local = self.optional_vector(place.index(end).key("point"), "point", &frame.point)?;
                    points[end] = subject.pose(end, start).transform_point(local);
                }
                points
            }
            (None, None) => {
                let message = format!("joint `{}` has neither `anchors` nor `frames`", subject.entry.name);
                let help = "give the two points: `anchors` in world coordinates at the start, or `frames` with a `point` on each body";
                return Err(place.fault(message, help));
            }
        };
        let given = Given {
            limits: entry.limits.as_ref(),
            friction: entry.friction,
            static_friction: entry.static_friction,
            motor: entry.motor.as_ref(),
            drive: entry.drive.as_ref(),
            ..Default::default()
        };
        let free_by = [
            ("limits", given.limits.is_some()),
            ("friction", given.friction.is_some()),
            ("static-friction", given.static_friction.is_some()),
            ("motor", given.motor.is_some()),
            ("drive", given.drive.is_some()),
        ];
        let free_by = free_by.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key);
        let length = match (entry.length, free_by) {
            (Some(_), Some(key)) => {
                let message = format!("a `length` is held, so that `{key}` has no effect");
                return Err(place.key(key).key_fault(message, "keep one of the two"));
            }
            (None, Some(_)) => None,
            (Some(length), None) => Some(positive(place.key("length"), "the length", length, "m")?),
            (None, None) => {
                let length = (points[0] - points[1]).length();
                if length == 0.0 {
                    let message = format!("the two points of joint `{}` coincide", subject.entry.name);
                    return Err(place.fault(message, "give points apart, or use `ball` (`revolute` in the plane)"));
                }
                Some(length)
            }
        };
        let frame = JointFrame::new(points[0], DVec3::Z);
        let kind = JointKind::Distance { length };
        let mut joint = BodyJoint::new(&subject.entry.name, kind, subject.bodies, subject.ends, start, frame);
        joint.frames[1] = JointFrame::new(points[1], DVec3::Z).seen_from(&subject.pose(1, start));
        self.read_efforts(&Subject { place: subject.place.clone(), kind, ..*subject }, &given, &mut joint)?;
        Ok(joint)
    }

    /// A joint whose frames are given on each body.
    fn joint_by_frames(
        &self,
        subject: &Subject<'_>,
        frames: &[FrameEntry],
        needs_axis: bool,
    ) -> Result<BodyJoint, Fault> {
        let (kind, start, is_plane) = (subject.kind, self.scene.run.start, self.is_plane());
        let place = subject.place.key("frames");
        let frames = two_frames(&place, frames)?;
        let has_angle =
            kind == JointKind::Revolute || kind == JointKind::Fixed || (kind == JointKind::Prismatic && !is_plane);
        let mut read = Vec::with_capacity(2);
        for (end, frame) in frames.into_iter().enumerate() {
            let place = place.index(end);
            let point = self.optional_vector(place.key("point"), "point", &frame.point)?;
            let zero = match &frame.zero {
                Some(_) if !has_angle => {
                    let message = format!("a {} joint has no angle that `zero` could count from", kind.word());
                    return Err(place.key("zero").key_fault(message, "remove it"));
                }
                Some(values) => Some(self.joint_axis(place.key("zero"), "`zero`", values)?),
                None => None,
            };
            let takes_axis = needs_axis || (kind == JointKind::Fixed && !is_plane);
            let axis = match &frame.axis {
                Some(_) if !takes_axis => {
                    let message = format!("a {} joint has no `axis` here", kind.word());
                    return Err(place.key("axis").key_fault(message, "remove it"));
                }
                Some(values) => Some(self.joint_axis(place.key("axis"), "the axis", values)?),
                None if needs_axis => return Err(self.missing_axis(&place, subject)),
                None => None,
            };
            if kind == JointKind::Fixed && !is_plane && axis.is_some() != zero.is_some() {
                let message = "the frame of a fixed joint has both `axis` and `zero`, or neither";
                return Err(place.fault(message, "give both; with neither, the bodies keep the rotation of the start"));
            }
            if let (Some(axis), Some(zero)) = (axis, zero)
                && axis.cross(zero).length() <= ORTHOGONAL_TOLERANCE
            {
                let message = "`zero` has the direction of the axis, from which no angle counts";
                return Err(place.key("zero").fault(message, "give a direction across the axis"));
            }
            read.push((point, axis, zero));
        }
        if read[0].2.is_some() != read[1].2.is_some() {
            let message = "only one of the two frames has a `zero`";
            return Err(place.fault(message, "give it in both; with neither, the angle is zero at the start"));
        }

        // The world's axes at the start stand in for those that are not given.
        let poses = [subject.pose(0, start), subject.pose(1, start)];
        let default_axis = |end: usize| poses[end].inverse_transform_vector(DVec3::Z);
        let mut joint = BodyJoint::new(
            &subject.entry.name,
            kind,
            subject.bodies,
            subject.ends,
            start,
            JointFrame::new(DVec3::ZERO, DVec3::Z),
        );
        for end in [1, 0] {
            let (point, axis, zero) = read[end];
            let mut frame = JointFrame::new(point, axis.unwrap_or_else(|| default_axis(end)));
            if let Some(zero) = zero
                && !is_plane
            {
                frame = frame.with_side(zero);
            } else if end == 0 && kind != JointKind::Universal && !(is_plane && kind == JointKind::Prismatic) {
                // The side of the other body at the start, so that the angle is zero there.
                let side = poses[1].transform_vector(joint.frames[1].side);
                frame = frame.with_side(poses[0].inverse_transform_vector(side));
            }
            joint.frames[end] = frame;
        }
        if is_plane {
            let direction = |end: usize| match kind {
                JointKind::Prismatic => Some(joint.frames[end].axis),
                _ => read[end].2,
            };
            if let (Some(a), Some(b)) = (direction(0), direction(1)) {
                // (φ₁ + α₁) - (φ₂ + α₂), in half a turn around zero at the start; turns count from there.
                let at_start = joint.zero_angle;
                let zero = b.y.portable_atan2(b.x) - a.y.portable_atan2(a.x);
                let turns = ((at_start - zero) / TAU).round();
                joint.zero_angle = zero + turns * TAU;
            }
        }
        Ok(joint)
    }

    fn missing_axis(&self, place: &Place, subject: &Subject<'_>) -> Fault {
        let example = if self.is_plane() { "[1.0, 0.0]" } else { "[0.0, 0.0, 1.0]" };
        let message = format!("joint `{}` has no `axis`", subject.entry.name);
        place.fault(message, format!("give its direction, as in `axis = {example}`"))
    }

    /// A direction of any length, as a unit vector.
    fn joint_axis(&self, place: Place, what: &str, values: &[f64]) -> Result<DVec3, Fault> {
        let vector = self.vector(place.clone(), what.trim_matches('`'), values)?;
        vector.try_normalize().ok_or_else(|| {
            let message = format!("{what} has length zero");
            place.fault(message, "give a direction; its length does not matter, unless it is zero")
        })
    }

    /// Limits, friction, motor and drive.
    fn read_efforts(&self, subject: &Subject<'_>, given: &Given<'_>, joint: &mut BodyJoint) -> Result<(), Fault> {
        let (place, kind) = (&subject.place, subject.kind);
        let is_angle = kind.coordinate() == Some(CoordinateKind::Angle);
        let (unit, effort_unit) = if is_angle { ("rad", "N m") } else { ("m", "N") };
        if let Some(limits) = given.limits {
            joint.limits = self.limits(place.key("limits"), limits, unit, is_angle)?;
        }
        if let Some(friction) = given.friction {
            joint.friction = not_negative(place.key("friction"), "the friction", friction, effort_unit)?;
        }
        let place_held = place.key("static-friction");
        joint.static_friction =
            static_bound(place_held, "friction", joint.friction, given.static_friction, effort_unit)?;
        if let Some(motor) = given.motor {
            joint.motor = Some(self.motor(place.key("motor"), motor, is_angle)?);
        }
        if let Some(drive) = given.drive {
            let place = place.key("drive");
            if drive.offset.is_none() && drive.rate.is_none() && drive.oscillation.is_none() {
                let message = format!("joint `{}` is driven, but has no law", subject.entry.name);
                return Err(place.fault(message, "give `rate`, `oscillation`, `offset`, or several of them"));
            }
            for (key, is_given) in [("motor", given.motor.is_some()), ("limits", given.limits.is_some())] {
                if is_given {
                    let message = format!("joint `{}` is driven, so that `{key}` has no effect", subject.entry.name);
                    return Err(subject.place.key(key).key_fault(message, format!("remove `{key}` or `drive`")));
                }
            }
            let mut law = JointDrive {
                offset: drive.offset.unwrap_or(0.0),
                rate: drive.rate.unwrap_or(0.0),
                ..Default::default()
            };
            if let Some(oscillation) = &drive.oscillation {
                let place = place.key("oscillation").key("frequency");
                law.frequency = not_negative(place, "the frequency", oscillation.frequency, "Hz")?;
                (law.amplitude, law.phase) = (oscillation.amplitude, oscillation.phase);
            }
            joint.drive = Some(law);
        }
        Ok(())
    }

    fn limits(&self, place: Place, entry: &LimitsEntry, unit: &str, is_angle: bool) -> Result<JointLimits, Fault> {
        let cyclic = is_angle && self.dimension == Dimension::Space;
        match (entry.lower, entry.upper) {
            (None, None) => return Err(place.fault("neither limit is given", "give `lower`, `upper` or both")),
            (Some(lower), Some(upper)) if lower >= upper => {
                let message =
                    format!("the lower limit, {lower:?} {unit}, is not below the upper one, {upper:?} {unit}");
                return Err(place.fault(message, format!("write `lower = {upper:?}, upper = {lower:?}`")));
            }
            (Some(_), None) | (None, Some(_)) if cyclic => {
                let message = "in space an angle has both limits, or none: it does not count turns";
                return Err(place.fault(message, "give the other limit too, between -π and π"));
            }
            _ => {}
        }
        for (key, value) in [("lower", entry.lower), ("upper", entry.upper)] {
            if let Some(value) = value
                && cyclic
                && value.abs() > PI
            {
                let message =
                    format!("`{key}` is {value:?} rad, but the angle of a joint in space is between -π and π");
                return Err(place
                    .key(key)
                    .fault(message, "count the angle from another start, or use a smaller limit"));
            }
        }
        let restitution = from_zero_to_one(place.key("restitution"), "the restitution", entry.restitution)?;
        if restitution > 0.0
            && let Some(scheme) = self.scene.scheme.inelastic_name()
        {
            let message =
                format!("`restitution` is {restitution:?}, but the impacts of the scheme `{scheme}` are inelastic");
            let help = "choose a scheme with restitution, `[scheme.moreau-midpoint]`, or leave the key out";
            return Err(place.key("restitution").fault(message, help));
        }
        let restitution = Restitution { normal: restitution, ..Default::default() };
        Ok(JointLimits { lower: entry.lower, upper: entry.upper, restitution })
    }

    fn motor(&self, place: Place, entry: &MotorEntry, is_angle: bool) -> Result<JointMotor, Fault> {
        let (wanted, other, what) =
            if is_angle { ("torque", "force", "an angle") } else { ("force", "torque", "a length") };
        let (effort, wrong) = if is_angle { (entry.torque, entry.force) } else { (entry.force, entry.torque) };
        if wrong.is_some() {
            let message = format!("a motor along {what} has no `{other}`");
            return Err(place.key(other).key_fault(message, format!("write `{wanted}`")));
        }
        let Some(effort) = effort else {
            return Err(place.fault(format!("the motor has no `{wanted}`"), format!("give `{wanted}`")));
        };
        let from = entry.from.unwrap_or(self.scene.run.start);
        let until = entry.until.unwrap_or(f64::INFINITY);
        if until <= from {
            let message = format!("the motor ends at {until:?} s and begins at {from:?} s");
            return Err(place.key("until").fault(message, "give an `until` that is later than `from`"));
        }
        Ok(JointMotor { effort, from, until })
    }
}

fn given_by_axis(entry: &AxisJointEntry) -> Given<'_> {
    Given {
        anchor: entry.anchor.as_deref(),
        axis: entry.axis.as_deref(),
        frames: entry.frames.as_deref(),
        limits: entry.limits.as_ref(),
        friction: entry.friction,
        static_friction: entry.static_friction,
        motor: entry.motor.as_ref(),
        drive: entry.drive.as_ref(),
    }
}

fn both_places(place: &Place, key: &'static str) -> Fault {
    let message = format!("both `{key}` and `frames` are given");
    place
        .key("frames")
        .key_fault(message, "keep one: `frames` are in coordinates of the bodies, the other in those of the world")
}

fn two_frames<'a>(place: &Place, frames: &'a [FrameEntry]) -> Result<[&'a FrameEntry; 2], Fault> {
    match frames {
        [first, second] => Ok([first, second]),
        _ => {
            let help = "give one for each body; the second one is in world coordinates when the joint is on the world";
            Err(place.fault(format!("{} frames are given, and two are needed", frames.len()), help))
        }
    }
}

/// The place of the type of a joint.
pub(crate) fn joint_place(multibody: &Multibody, joint: usize) -> Place {
    Place::top("joint").index(joint).key(multibody.model().joints[joint].kind.word())
}

/// For each joint, the row with the largest value of a list over all rows.
pub(crate) fn worst_rows(multibody: &Multibody, values: &[f64]) -> Vec<Option<(usize, f64)>> {
    let mut next = 0;
    let dimension = multibody.model().dimension;
    let worst = |joint: &BodyJoint| {
        let first = next;
        next += joint.row_names(dimension).len();
        (first..next).map(|row| (row, values[row])).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
    };
    multibody.model().joints.iter().map(worst).collect()
}

/// The unit of a row by its name.
pub(crate) fn row_unit(multibody: &Multibody, joint: usize, name: &str) -> &'static str {
    let suffix = name.rsplit('.').next().unwrap_or("");
    let is_angle = match suffix {
        "drive" => multibody.model().joints[joint].kind.coordinate() == Some(CoordinateKind::Angle),
        suffix => matches!(suffix, "tilt1" | "tilt2" | "twist" | "cross"),
    };
    if is_angle { "rad" } else { "m" }
}

/// Refuses a start that does not meet the joints, or assembles it.
pub(crate) fn check_start(scene: &Scene, multibody: &mut Multibody, warnings: &mut Vec<String>) -> Result<(), Fault> {
    let start = multibody.start(scene.run.start);
    let names = multibody.joint_names();
    let violations = multibody.joint_violations(&start);
    let off = |multibody: &Multibody, values: &[f64]| {
        let worst = worst_rows(multibody, values).into_iter().enumerate();
        worst
            .filter_map(|(joint, row)| row.map(|(row, value)| (joint, row, value)))
            .find(|row| row.2.abs() > MET_AT_START)
    };
    if let Some((joint, row, rate)) = off(multibody, &multibody.contradicting_rates(&start)) {
        let (name, unit) = (&multibody.model().joints[joint].name, row_unit(multibody, joint, &names[row]));
        let message = format!(
            "joint `{name}` contradicts the others: no motion meets them all, `{}` is off by {rate:.3e} {unit}/s at best",
            names[row]
        );
        let help = "remove a joint or a drive between these bodies: what one holds, the other cannot move";
        return Err(joint_place(multibody, joint).fault(message, help));
    }
    let values: Vec<f64> = violations.iter().map(|violation| violation.0).collect();
    let is_off = off(multibody, &values);
    if !scene.assemble {
        let Some((joint, row, value)) = is_off else { return Ok(()) };
        let (name, unit) = (&multibody.model().joints[joint].name, row_unit(multibody, joint, &names[row]));
        let message = format!("joint `{name}` is not met at the start: `{}` is off by {value:.6e} {unit}", names[row]);
        let help = "move the bodies or the frames by that much, or write `assemble = true` at the top of the scene, \
                    which moves the bodies as little as possible";
        return Err(joint_place(multibody, joint).fault(message, help));
    }
    let rates: Vec<f64> = violations.iter().map(|violation| violation.1).collect();
    if is_off.is_none() && off(multibody, &rates).is_none() {
        return Ok(());
    }
    let assembly = multibody.assemble(&start);
    let values: Vec<f64> = multibody.joint_violations(&assembly.state).iter().map(|violation| violation.0).collect();
    if let Some((joint, row, value)) = off(multibody, &values) {
        let (name, unit) = (&multibody.model().joints[joint].name, row_unit(multibody, joint, &names[row]));
        let message =
            format!("the joints cannot be met: `{}` of joint `{name}` stays off by {value:.3e} {unit}", names[row]);
        let help = "check the lengths and the frames of the joints, and start nearer to a position that meets them";
        return Err(joint_place(multibody, joint).fault(message, help));
    }
    let mut changes = Vec::new();
    for (body, &(distance, turn)) in multibody.model().bodies.iter().zip(&assembly.moves) {
        if distance > MET_AT_START || turn > MET_AT_START {
            changes.push(format!("moved body `{}` by {distance:.3e} m and turned it by {turn:.3e} rad", body.name));
        }
    }
    if assembly.velocity_change > MET_AT_START {
        changes.push(format!("changed velocities by up to {:.3e} m/s or rad/s", assembly.velocity_change));
    }
    warnings.push(format!("to meet the joints, `assemble` {}", changes.join(", ")));
    multibody.set_start(&assembly.state);
    Ok(())
}

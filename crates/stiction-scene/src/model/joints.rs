//! Joints, and whether the bodies meet them at the start.

use std::f64::consts::TAU;

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{
    Body, BodyJoint, CoordinateKind, JointDrive, JointFrame, JointKind, JointLimits, JointMotor, Multibody, Pose,
};
use stiction_dynamics::{MechanicalSystem, Restitution};
use stiction_solve::PortableMath as _;

use super::Reader;
use super::materials::refuse_restitution;
use super::names::read_named;
use crate::joint_entry::{FrameEntry, JointEntry, JointTable, LimitsEntry, MotorEntry};
use crate::place::{Fault, Place};
use crate::scene::Scene;
use crate::scene_error::quoted;

/// Joints whose values and rates at the start are at most this, in metres, radians and their rates,
/// are met. Too large: the first step jerks. Too small: places written with ten digits are refused.
pub(crate) const MET_AT_START: f64 = 1e-9;

/// Two axes are at right angles when their product is at most this.
const ORTHOGONAL_TOLERANCE: f64 = 1e-9;

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

    /// The joint with a frame in world coordinates at the start.
    fn joint(&self, start: f64, frame: JointFrame) -> BodyJoint {
        BodyJoint::new(&self.entry.name, self.kind, self.bodies, self.ends, start, frame)
    }
}

impl Reader<'_> {
    pub(super) fn joints(&self, bodies: &[Body]) -> Result<Vec<BodyJoint>, Fault> {
        let read = |place, entry: &_| self.joint(place, entry, bodies);
        read_named(&Place::top("joint"), ["a joint", "joints"], &self.scene.joints, |entry| &entry.name, read)
    }

    fn joint(&self, place: Place, entry: &JointEntry, bodies: &[Body]) -> Result<BodyJoint, Fault> {
        if bodies.iter().any(|body| body.name == entry.name) {
            let message = format!("joint `{0}` has the name of body `{0}`", entry.name);
            return Err(place.key("name").fault(message, "give it another name: columns are named after both"));
        }
        let ends = self.joint_ends(&place, entry)?;
        let (kind, table) = self.joint_kind(&place, entry)?;
        let mut subject = Subject { place: place.key(kind.word()), entry, kind, bodies, ends };
        let mut joint = match kind {
            JointKind::Distance { .. } => self.distance(&mut subject, &table),
            JointKind::Universal => self.universal(&subject, &table),
            _ => self.plain(&subject, &table),
        }?;
        self.read_efforts(&subject, &table, &mut joint)?;
        joint.can_collide = entry.collide;
        joint.check(self.dimension, bodies).map_err(|error| {
            // The ends stand beside the type, everything else below it.
            if error.key.starts_with("bodies") { place.value_fault(error) } else { subject.place.value_fault(error) }
        })?;
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
        Ok((first, self.optional_body(place.index(1), entry.bodies.get(1))?))
    }

    /// The one type that is given, with its table.
    fn joint_kind<'a>(&self, place: &Place, entry: &'a JointEntry) -> Result<(JointKind, JointTable<'a>), Fault> {
        let mut given = entry.types();
        let Some(first) = given.next() else {
            let here = JointKind::ALL.into_iter().filter(|kind| kind.exists_in(self.dimension));
            let here: Vec<&str> = here.map(JointKind::word).collect();
            let message = format!("joint `{}` has no type", entry.name);
            return Err(place.fault(message, format!("give one of {}", quoted(&here))));
        };
        let word = first.0.word();
        if let Some((second, _)) = given.next() {
            let message = format!("joint `{}` is both `{word}` and `{}`", entry.name, second.word());
            let help = "keep one; a joint for each if both are meant";
            return Err(place.key(second.word()).key_fault(message, help));
        }
        if !first.0.exists_in(self.dimension) {
            let help = match first.0 {
                JointKind::Ball => "in the plane write `revolute`, which is a pin there",
                _ => "in the plane there are `fixed`, `revolute`, `prismatic` and `distance`",
            };
            return Err(place
                .key(word)
                .key_fault(format!("`{word}` is for scenes in space"), help)
                .against("dimension"));
        }
        Ok(first)
    }

    /// Every type but `universal` and `distance`.
    fn plain(&self, subject: &Subject<'_>, given: &JointTable<'_>) -> Result<BodyJoint, Fault> {
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
        match (given.anchor, given.frames) {
            (Some(_), Some(_)) => Err(both_places(place, "anchor")),
            (None, None) if kind != JointKind::Fixed => {
                let example = if self.is_plane() { "[0.0, 0.0]" } else { "[0.0, 0.0, 0.0]" };
                let message = format!("joint `{}` has neither an `anchor` nor `frames`", subject.entry.name);
                let help = format!("give the place in world coordinates at the start, as in `anchor = {example}`");
                Err(place.fault(message, help))
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
                Ok(subject.joint(start, JointFrame::new(anchor, axis)))
            }
            (None, Some(frames)) => {
                if given.axis.is_some() {
                    let message = "`axis` goes with `anchor`; with `frames`, each frame has its own";
                    return Err(place.key("axis").key_fault(message, "move it into the frames"));
                }
                self.joint_by_frames(subject, frames, needs_axis)
            }
        }
    }

    fn universal(&self, subject: &Subject<'_>, given: &JointTable<'_>) -> Result<BodyJoint, Fault> {
        let place = &subject.place;
        let (anchor, axes) = match (given.anchor, given.axes, given.frames) {
            (None, None, Some(frames)) => return self.joint_by_frames(subject, frames, true),
            (Some(anchor), Some(axes), None) => (anchor, axes),
            (anchor, _, Some(_)) => return Err(both_places(place, if anchor.is_some() { "anchor" } else { "axes" })),
            (_, _, None) => {
                let message = format!("joint `{}` needs an `anchor` and two `axes`", subject.entry.name);
                let help = "give both in world coordinates at the start, as in \
                            `anchor = [0.0, 0.0, 0.0]`, `axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]`";
                return Err(place.fault(message, help));
            }
        };
        let anchor = self.vector(place.key("anchor"), "anchor", anchor)?;
        let place = place.key("axes");
        let [first, second] = axes else {
            return Err(place.fault(format!("{} axes are given", axes.len()), "give one for each body"));
        };
        let first = self.joint_axis(place.index(0), "the axis", first)?;
        let second = self.joint_axis(place.index(1), "the axis", second)?;
        if first.dot(second).abs() > ORTHOGONAL_TOLERANCE {
            let angle = first.dot(second).clamp(-1.0, 1.0).portable_acos().to_degrees();
            let message = format!("the two axes make an angle of {angle:.6} degrees");
            return Err(place.fault(message, "give axes at right angles to each other"));
        }
        Ok(subject.joint(self.scene.run.start, JointFrame::new(anchor, first).with_side(second)))
    }

    fn distance(&self, subject: &mut Subject<'_>, given: &JointTable<'_>) -> Result<BodyJoint, Fault> {
        let (place, start) = (&subject.place, self.scene.run.start);
        let points = match (given.anchors, given.frames) {
            (Some(_), Some(_)) => return Err(both_places(place, "anchors")),
            (Some(anchors), None) => {
                let place = place.key("anchors");
                let [first, second] = anchors else {
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
                    let local = self.optional_vector(&place.index(end), "point", &frame.point)?;
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
        let has_friction = given.friction.is_some() || given.static_friction.is_some();
        let is_free = given.limits.is_some() || has_friction || given.motor.is_some() || given.drive.is_some();
        let apart = (points[0] - points[1]).length();
        if given.length.is_none() && !is_free && apart == 0.0 {
            let message = format!("the two points of joint `{}` coincide", subject.entry.name);
            return Err(place.fault(message, "give points apart, or use `ball` (`revolute` in the plane)"));
        }
        subject.kind = JointKind::Distance { length: given.length.or((!is_free).then_some(apart)) };
        let mut joint = subject.joint(start, JointFrame::new(points[0], DVec3::Z));
        joint.frames[1] = JointFrame::new(points[1], DVec3::Z).seen_from(&subject.pose(1, start));
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
            let point = self.optional_vector(&place, "point", &frame.point)?;
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
        let mut joint = subject.joint(start, JointFrame::new(DVec3::ZERO, DVec3::Z));
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
                // (φ₁ + α₁) - (φ₂ + α₂), in half a turn around zero at the start; turns count from
                // there.
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
    fn read_efforts(&self, subject: &Subject<'_>, given: &JointTable<'_>, joint: &mut BodyJoint) -> Result<(), Fault> {
        let place = &subject.place;
        if let Some(limits) = given.limits {
            joint.limits = self.limits(place.key("limits"), limits)?;
        }
        joint.friction = given.friction.unwrap_or(0.0);
        joint.static_friction = given.static_friction;
        if let Some(motor) = given.motor {
            let is_angle = subject.kind.coordinate() == Some(CoordinateKind::Angle);
            joint.motor = Some(self.motor(place.key("motor"), motor, is_angle)?);
        }
        if let Some(drive) = given.drive {
            if drive.offset.is_none() && drive.rate.is_none() && drive.oscillation.is_none() {
                let message = format!("joint `{}` is driven, but has no law", subject.entry.name);
                let help = "give `rate`, `oscillation`, `offset`, or several of them";
                return Err(place.key("drive").fault(message, help));
            }
            let (offset, rate) = (drive.offset.unwrap_or(0.0), drive.rate.unwrap_or(0.0));
            let swing = drive.oscillation.map_or([0.0; 3], |swing| [swing.amplitude, swing.frequency, swing.phase]);
            let [amplitude, frequency, phase] = swing;
            joint.drive = Some(JointDrive { offset, rate, amplitude, frequency, phase });
        }
        Ok(())
    }

    fn limits(&self, place: Place, entry: LimitsEntry) -> Result<JointLimits, Fault> {
        let LimitsEntry { lower, upper, restitution } = entry;
        if lower.is_none() && upper.is_none() {
            return Err(place.fault("neither limit is given", "give `lower`, `upper` or both"));
        }
        if restitution > 0.0 {
            refuse_restitution(&self.scene.scheme.facts(), &place, "restitution", restitution, "leave the key out")?;
        }
        let restitution = Restitution { normal: restitution, ..Default::default() };
        Ok(JointLimits { lower, upper, restitution })
    }

    fn motor(&self, place: Place, entry: MotorEntry, is_angle: bool) -> Result<JointMotor, Fault> {
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
        Ok(JointMotor { effort, from, until: entry.until.unwrap_or(f64::INFINITY) })
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
    // The first row that is off, with its place, its joint and its unit.
    let off = |multibody: &Multibody, values: &[f64]| {
        let worst = worst_rows(multibody, values).into_iter().enumerate();
        let (joint, (row, value)) =
            worst.filter_map(|(joint, row)| Some((joint, row?))).find(|(_, (_, value))| value.abs() > MET_AT_START)?;
        let (name, unit) = (multibody.model().joints[joint].name.clone(), row_unit(multibody, joint, &names[row]));
        Some((joint_place(multibody, joint), name, &names[row], value, unit))
    };
    if let Some((place, name, row, rate, unit)) = off(multibody, &multibody.contradicting_rates(&start)) {
        let message = format!(
            "joint `{name}` contradicts the others: no motion meets them all, `{row}` is off by {rate:.3e} {unit}/s at best"
        );
        let help = "remove a joint or a drive between these bodies: what one holds, the other cannot move";
        return Err(place.fault(message, help));
    }
    let values: Vec<f64> = violations.iter().map(|violation| violation.0).collect();
    let is_off = off(multibody, &values);
    if !scene.assemble {
        let Some((place, name, row, value, unit)) = is_off else { return Ok(()) };
        let message = format!("joint `{name}` is not met at the start: `{row}` is off by {value:.6e} {unit}");
        let help = "move the bodies or the frames by that much, or write `assemble = true` at the top of the scene, \
                    which moves the bodies as little as possible";
        return Err(place.fault(message, help));
    }
    let rates: Vec<f64> = violations.iter().map(|violation| violation.1).collect();
    if is_off.is_none() && off(multibody, &rates).is_none() {
        return Ok(());
    }
    let assembly = multibody.assemble(&start);
    let values: Vec<f64> = multibody.joint_violations(&assembly.state).iter().map(|violation| violation.0).collect();
    if let Some((place, name, row, value, unit)) = off(multibody, &values) {
        let message = format!("the joints cannot be met: `{row}` of joint `{name}` stays off by {value:.3e} {unit}");
        let help = "check the lengths and the frames of the joints, and start nearer to a position that meets them";
        return Err(place.fault(message, help));
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

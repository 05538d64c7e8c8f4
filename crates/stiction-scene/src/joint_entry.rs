//! Joints in a scene file, as types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_bodies::JointKind;

/// A joint between two bodies, or between a body and the world. Exactly one of the type keys is
/// given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct JointEntry {
    /// Name, unique among joints and bodies, made of letters, digits, `-` and `_`; rows and columns
    /// are named after it.
    pub name: String,
    /// Names of the first and the second body; without a second one, the joint is on the world.
    /// Coordinates, efforts and reactions are those of the first body relative to the second.
    #[schemars(length(min = 1, max = 2))]
    pub bodies: Vec<String>,
    /// Holds everything: a weld.
    pub fixed: Option<PointJointEntry>,
    /// Space only: holds a point.
    pub ball: Option<PointJointEntry>,
    /// Holds a point and an axis: a hinge; in the plane a pin.
    pub revolute: Option<AxisJointEntry>,
    /// Leaves the displacement along an axis free: a slide.
    pub prismatic: Option<AxisJointEntry>,
    /// Space only: slides along an axis and turns about it.
    pub cylindrical: Option<AxisJointEntry>,
    /// Space only: holds a point, and an axis of each body at right angles to the other.
    pub universal: Option<UniversalEntry>,
    /// Space only: a plane on a plane.
    pub planar: Option<PlanarEntry>,
    /// Holds or limits the distance of two points.
    pub distance: Option<DistanceEntry>,
    /// Whether the shapes of the two bodies collide with each other.
    #[serde(default)]
    pub collide: bool,
}

/// What the table under the type of a joint gives.
#[derive(Default)]
pub(crate) struct JointTable<'a> {
    pub(crate) anchor: Option<&'a [f64]>,
    pub(crate) anchors: Option<&'a [Vec<f64>]>,
    pub(crate) axis: Option<&'a [f64]>,
    pub(crate) axes: Option<&'a [Vec<f64>]>,
    pub(crate) frames: Option<&'a [FrameEntry]>,
    pub(crate) length: Option<f64>,
    pub(crate) limits: Option<LimitsEntry>,
    pub(crate) friction: Option<f64>,
    pub(crate) static_friction: Option<f64>,
    pub(crate) motor: Option<MotorEntry>,
    pub(crate) drive: Option<DriveEntry>,
}

impl JointEntry {
    /// The types that are given; one, where nothing is wrong.
    pub(crate) fn types<'a>(&'a self) -> impl Iterator<Item = (JointKind, JointTable<'a>)> {
        let point = |kind, entry: &'a Option<PointJointEntry>| {
            let PointJointEntry { anchor, frames } = entry.as_ref()?;
            Some((kind, JointTable { anchor: anchor.as_deref(), frames: frames.as_deref(), ..Default::default() }))
        };
        let axis = |kind, entry: &'a Option<AxisJointEntry>| {
            let entry = entry.as_ref()?;
            let AxisJointEntry { limits, friction, static_friction, motor, drive, .. } = *entry;
            let (anchor, axis, frames) = (entry.anchor.as_deref(), entry.axis.as_deref(), entry.frames.as_deref());
            let efforts = JointTable { limits, friction, static_friction, motor, drive, ..Default::default() };
            Some((kind, JointTable { anchor, axis, frames, ..efforts }))
        };
        let universal = self.universal.as_ref().map(|UniversalEntry { anchor, axes, frames }| {
            let (anchor, axes, frames) = (anchor.as_deref(), axes.as_deref(), frames.as_deref());
            (JointKind::Universal, JointTable { anchor, axes, frames, ..Default::default() })
        });
        let planar = self.planar.as_ref().map(|PlanarEntry { anchor, axis, frames }| {
            let (anchor, axis, frames) = (anchor.as_deref(), axis.as_deref(), frames.as_deref());
            (JointKind::Planar, JointTable { anchor, axis, frames, ..Default::default() })
        });
        let distance = self.distance.as_ref().map(|entry| {
            let DistanceEntry { length, limits, friction, static_friction, motor, drive, .. } = *entry;
            let (anchors, frames) = (entry.anchors.as_deref(), entry.frames.as_deref());
            let efforts = JointTable { limits, friction, static_friction, motor, drive, ..Default::default() };
            (JointKind::Distance { length: None }, JointTable { anchors, frames, length, ..efforts })
        });
        let all = [
            point(JointKind::Fixed, &self.fixed),
            point(JointKind::Ball, &self.ball),
            axis(JointKind::Revolute, &self.revolute),
            axis(JointKind::Prismatic, &self.prismatic),
            axis(JointKind::Cylindrical, &self.cylindrical),
            universal,
            planar,
            distance,
        ];
        all.into_iter().flatten()
    }
}

/// Where a joint holds a point. Either `anchor` or `frames`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PointJointEntry {
    /// The point in world coordinates at the start, in metres.
    #[schemars(length(min = 2, max = 3))]
    pub anchor: Option<Vec<f64>>,
    /// The frames of the first and the second body.
    #[schemars(length(min = 2, max = 2))]
    pub frames: Option<Vec<FrameEntry>>,
}

/// The frame of a joint on a body, in body coordinates; on the world, in world coordinates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FrameEntry {
    /// The point, in metres; the origin when it is not given.
    #[schemars(length(min = 2, max = 3))]
    pub point: Option<Vec<f64>>,
    /// The axis, of any length but zero.
    #[schemars(length(min = 2, max = 3))]
    pub axis: Option<Vec<f64>>,
    /// A direction that is not that of the axis: the angle of the joint is the one between the two
    /// of these. When neither frame gives it, the angle is zero at the start.
    #[schemars(length(min = 2, max = 3))]
    pub zero: Option<Vec<f64>>,
}

/// A joint with an axis and a free coordinate, the angle of `revolute`, the displacement of
/// `prismatic` and `cylindrical`. Either `anchor` and `axis`, or `frames`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AxisJointEntry {
    /// A point of the axis in world coordinates at the start, in metres.
    #[schemars(length(min = 2, max = 3))]
    pub anchor: Option<Vec<f64>>,
    /// The axis in world axes at the start, of any length but zero. Not given for `revolute` in the
    /// plane.
    #[schemars(length(min = 2, max = 3))]
    pub axis: Option<Vec<f64>>,
    /// The frames of the first and the second body.
    #[schemars(length(min = 2, max = 2))]
    pub frames: Option<Vec<FrameEntry>>,
    /// Stops.
    pub limits: Option<LimitsEntry>,
    /// Largest friction along the coordinate, whatever the load, in N m for an angle and in N for a
    /// displacement; not negative.
    #[schemars(range(min = 0.0))]
    pub friction: Option<f64>,
    /// The same while it sticks, not below `friction`, which is then that of sliding and positive.
    #[schemars(range(min = 0.0))]
    pub static_friction: Option<f64>,
    /// A force or torque along the coordinate.
    pub motor: Option<MotorEntry>,
    /// A law that the coordinate follows.
    pub drive: Option<DriveEntry>,
}

/// A joint of Cardan. Either `anchor` and `axes`, or `frames` with an axis each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UniversalEntry {
    /// The point in world coordinates at the start, in metres.
    #[schemars(length(min = 3, max = 3))]
    pub anchor: Option<Vec<f64>>,
    /// The axis on the first and the one on the second body, in world axes at the start, at right
    /// angles.
    #[schemars(length(min = 2, max = 2))]
    pub axes: Option<Vec<Vec<f64>>>,
    /// The frames of the first and the second body.
    #[schemars(length(min = 2, max = 2))]
    pub frames: Option<Vec<FrameEntry>>,
}

/// A plane of the first body on one of the second. Either `anchor` and `axis`, or `frames`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanarEntry {
    /// A point of the plane in world coordinates at the start, in metres.
    #[schemars(length(min = 3, max = 3))]
    pub anchor: Option<Vec<f64>>,
    /// The normal of the plane in world axes at the start, of any length but zero.
    #[schemars(length(min = 3, max = 3))]
    pub axis: Option<Vec<f64>>,
    /// The frames of the first and the second body.
    #[schemars(length(min = 2, max = 2))]
    pub frames: Option<Vec<FrameEntry>>,
}

/// The distance of a point of the first body from one of the second. Either `anchors` or `frames`.
/// It is held, unless limits, friction, a motor or a drive is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DistanceEntry {
    /// The two points in world coordinates at the start, in metres.
    #[schemars(length(min = 2, max = 2))]
    pub anchors: Option<Vec<Vec<f64>>>,
    /// The frames of the first and the second body, which have points only.
    #[schemars(length(min = 2, max = 2))]
    pub frames: Option<Vec<FrameEntry>>,
    /// The distance that is held, in metres; the one at the start when it is not given.
    pub length: Option<f64>,
    /// Stops: an upper one makes it a rope.
    pub limits: Option<LimitsEntry>,
    /// Largest friction along the distance, whatever the load, in N; not negative.
    #[schemars(range(min = 0.0))]
    pub friction: Option<f64>,
    /// The same while it sticks, not below `friction`, which is then that of sliding and positive.
    #[schemars(range(min = 0.0))]
    pub static_friction: Option<f64>,
    /// A force along the distance; a positive one pushes apart.
    pub motor: Option<MotorEntry>,
    /// A law that the distance follows.
    pub drive: Option<DriveEntry>,
}

/// Stops of a coordinate, without friction. At least one of the two is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitsEntry {
    /// Smallest value, in metres or radians.
    pub lower: Option<f64>,
    /// Largest value, in metres or radians.
    pub upper: Option<f64>,
    /// Share of the velocity that an impact on a stop gives back, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: f64,
}

/// A constant effort along a coordinate during an interval of time, with its opposite on the second
/// body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MotorEntry {
    /// Torque in N m, for an angle.
    pub torque: Option<f64>,
    /// Force in N, for a displacement or a distance.
    pub force: Option<f64>,
    /// When it begins, in seconds; the start of the run when it is not given.
    pub from: Option<f64>,
    /// When it ends, in seconds; never when it is not given.
    pub until: Option<f64>,
}

/// The law offset + rate · t + amplitude · sin(2π frequency t + phase) of a coordinate. At least
/// one part is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DriveEntry {
    /// Value at time 0 without the oscillation, in metres or radians; 0 when it is not given.
    pub offset: Option<f64>,
    /// Constant rate in m/s or rad/s; 0 when it is not given.
    pub rate: Option<f64>,
    /// Oscillation.
    pub oscillation: Option<DriveOscillationEntry>,
}

/// amplitude · sin(2π frequency t + phase).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DriveOscillationEntry {
    /// Amplitude in metres or radians.
    pub amplitude: f64,
    /// Frequency in hertz, not negative.
    #[schemars(range(min = 0.0))]
    pub frequency: f64,
    /// Phase in radians.
    #[serde(default)]
    pub phase: f64,
}

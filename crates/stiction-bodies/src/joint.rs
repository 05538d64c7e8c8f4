//! Joints between bodies: what they hold, what they leave free, and what acts along the free
//! coordinate.
//!
//! A joint has a frame on each of its two bodies. The first body moves relative to the second:
//! coordinates, velocities and efforts count for the first one, and its reactions act on the first
//! body. With $p$ the point of a frame, $e_3$ its axis, $e_1$ its side and $e_2 = e_3 \times e_1$,
//! a joint holds some of these at zero, where $a$ and $b$ are the frames of the first and of the
//! second body and $d = p^a - p^b$:
//!
//! | rows | value | moment or force on the first body |
//! |---|---|---|
//! | `x`, `y`, `z` | components of $d$ in world axes | force along the axis |
//! | `side1`, `side2`, `normal` | $d \cdot e_1^b$, $d \cdot e_2^b$, $d \cdot e_3^b$ | force along $e_i^b$, at $p^a$ |
//! | `tilt1`, `tilt2` | $-e_3^a \cdot e_2^b$, $e_3^a \cdot e_1^b$ | moment about $e_1^b$, $e_2^b$ |
//! | `twist` | $e_1^a \cdot e_2^b$; the angle itself in the plane | moment about $e_3^b$ |
//! | `cross` | $e_3^a \cdot e_3^b$ | moment about $e_3^a \times e_3^b$ |
//! | `length` | $\lvert d \rvert - L$ | force along $d$ |
//! | `drive` | free coordinate minus its law | force along it, or moment about it |

use std::f64::consts::{PI, TAU};

use glamx::DVec3;
use stiction_dynamics::{Restitution, ValueError, check_not_negative, check_positive, check_share, check_static};
use stiction_solve::PortableMath as _;

use crate::body::Body;
use crate::error::{check_ends, check_finite};
use crate::pose::Pose;
use crate::shape::Dimension;

/// Axis and side of a frame are of unit length and orthogonal up to this. Too large: coordinates
/// are off by this fraction. Too small: frames that were turned into other axes are refused for
/// their rounding.
const FRAME_TOLERANCE: f64 = 1e-9;

/// What a joint holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointKind {
    /// Everything: a weld.
    Fixed,
    /// A point, in space.
    Ball,
    /// A point and an axis: a hinge; in the plane a pin.
    Revolute,
    /// All but the displacement along an axis: a slide.
    Prismatic,
    /// A line on a line, in space: slides along it and turns about it.
    Cylindrical,
    /// A point, and an axis of each body at right angles to the other, in space: the joint of
    /// Cardan.
    Universal,
    /// A plane on a plane, in space; the axis is their normal.
    Planar,
    /// The distance of two points.
    Distance {
        /// The distance that is held, in metres; none leaves it free, for limits, friction, a motor
        /// or a drive.
        length: Option<f64>,
    },
}

/// What one row of a joint holds, see the table of the [module](self), or its free coordinate is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JointRow {
    /// `x`, `y`, `z`.
    World(DVec3),
    /// `side1`, `side2`, `normal`, a displacement: the component of the distance along this axis of
    /// the second frame.
    Across(usize),
    /// `tilt1`, `tilt2`, `twist`, `cross`: the product of two axes $x$ and $y$, one of each frame,
    /// as (frame, axis). The moment acts about $x \times y$; the product counts with the other sign
    /// where $y$ is that of the first frame.
    Turn([(usize, usize); 2]),
    /// The angle in the plane.
    Angle,
    /// The angle in space, $\operatorname{atan2}(e_1^a \cdot e_2^b, e_1^a \cdot e_1^b)$.
    Hinge,
    /// The distance of the points beyond this length.
    Length(f64),
}

/// The unit of a free coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoordinateKind {
    /// Radians.
    Angle,
    /// Metres.
    Length,
}

impl JointKind {
    /// All kinds; the length of a distance is free.
    pub const ALL: [Self; 8] = [
        Self::Fixed,
        Self::Ball,
        Self::Revolute,
        Self::Prismatic,
        Self::Cylindrical,
        Self::Universal,
        Self::Planar,
        Self::Distance { length: None },
    ];

    /// The word in scene files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Ball => "ball",
            Self::Revolute => "revolute",
            Self::Prismatic => "prismatic",
            Self::Cylindrical => "cylindrical",
            Self::Universal => "universal",
            Self::Planar => "planar",
            Self::Distance { .. } => "distance",
        }
    }

    /// The coordinate that limits, friction, motor and drive of the joint refer to: the angle of a
    /// hinge, the displacement of a slide or a cylinder, the distance of two points.
    pub fn coordinate(self) -> Option<CoordinateKind> {
        self.coordinate_row(Dimension::Space).map(|row| match row {
            JointRow::Hinge => CoordinateKind::Angle,
            _ => CoordinateKind::Length,
        })
    }

    /// Whether the joint exists in this dimension.
    pub fn exists_in(self, dimension: Dimension) -> bool {
        dimension == Dimension::Space
            || matches!(self, Self::Fixed | Self::Revolute | Self::Prismatic | Self::Distance { .. })
    }

    /// Whether a row or the coordinate of the joint needs a rotation of both bodies.
    fn holds_rotation(self, dimension: Dimension) -> bool {
        match self {
            Self::Ball | Self::Distance { .. } => false,
            Self::Revolute => dimension == Dimension::Space,
            _ => true,
        }
    }

    /// The free coordinate as a row.
    pub(crate) fn coordinate_row(self, dimension: Dimension) -> Option<JointRow> {
        match self {
            Self::Revolute if dimension == Dimension::Plane => Some(JointRow::Angle),
            Self::Revolute => Some(JointRow::Hinge),
            Self::Prismatic | Self::Cylindrical => Some(JointRow::Across(2)),
            Self::Distance { length: None } => Some(JointRow::Length(0.0)),
            _ => None,
        }
    }

    /// The rows with their names, without that of a drive.
    pub(crate) fn rows(self, dimension: Dimension) -> Vec<(&'static str, JointRow)> {
        use JointRow::{Across, Angle, Length, Turn, World};
        const A: usize = 0;
        const B: usize = 1;
        let is_plane = dimension == Dimension::Plane;
        let point = [("x", World(DVec3::X)), ("y", World(DVec3::Y)), ("z", World(DVec3::Z))];
        let tilts = [("tilt1", Turn([(B, 1), (A, 2)])), ("tilt2", Turn([(A, 2), (B, 0)]))];
        let twist = ("twist", if is_plane { Angle } else { Turn([(A, 0), (B, 1)]) });
        let sides = [("side1", Across(0)), ("side2", Across(1))];
        match self {
            Self::Fixed if is_plane => [&point[..2], &[twist]].concat(),
            Self::Fixed => [&point[..], &tilts, &[twist]].concat(),
            Self::Ball => point.to_vec(),
            Self::Revolute if is_plane => point[..2].to_vec(),
            Self::Revolute => [&point[..], &tilts].concat(),
            Self::Prismatic if is_plane => vec![("side", Across(0)), twist],
            Self::Prismatic => [&sides[..], &tilts, &[twist]].concat(),
            Self::Cylindrical => [sides, tilts].concat(),
            Self::Universal => [&point[..], &[("cross", Turn([(A, 2), (B, 2)]))]].concat(),
            Self::Planar => [&[("normal", Across(2))][..], &tilts].concat(),
            Self::Distance { length } => length.iter().map(|&length| ("length", Length(length))).collect(),
        }
    }
}

/// A point and two axes on a body, in its coordinates; in world coordinates for the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointFrame {
    /// The point, in metres.
    pub point: DVec3,
    /// Unit vector: the axis of rotation or sliding, the normal of a planar joint.
    pub axis: DVec3,
    /// Unit vector at right angles to the axis, from which an angle counts in space. In the plane,
    /// and across a slide there, it lies in the plane.
    pub side: DVec3,
}

impl JointFrame {
    /// A frame with a side that depends on point and axis alone. The axis need not be of unit
    /// length.
    ///
    /// In the plane the side of an axis in the plane is the axis turned anticlockwise, and that of
    /// the normal is x.
    pub fn new(point: DVec3, axis: DVec3) -> Self {
        let axis = axis.normalize();
        // The world axis that is least aligned, orthogonalised.
        let size = axis.abs();
        let side = if axis.z == 0.0 {
            DVec3::new(-axis.y, axis.x, 0.0)
        } else if size.x <= size.y && size.x <= size.z {
            DVec3::X
        } else if size.y <= size.z {
            DVec3::Y
        } else {
            DVec3::Z
        };
        Self { point, axis, side: (side - side.dot(axis) * axis).normalize() }
    }

    /// The frame with this side, as far as it is at right angles to the axis.
    pub fn with_side(self, side: DVec3) -> Self {
        Self { side: (side - side.dot(self.axis) * self.axis).normalize(), ..self }
    }

    /// This frame of the world as one of a body with this pose.
    pub fn seen_from(&self, pose: &Pose) -> Self {
        Self {
            point: pose.inverse_transform_point(self.point),
            axis: pose.inverse_transform_vector(self.axis).normalize(),
            side: pose.inverse_transform_vector(self.side).normalize(),
        }
    }

    /// This frame of a body with this pose as one of the world.
    pub fn in_world(&self, pose: &Pose) -> Self {
        Self {
            point: pose.transform_point(self.point),
            axis: pose.transform_vector(self.axis),
            side: pose.transform_vector(self.side),
        }
    }

    /// Side, axis × side, and axis.
    pub(crate) fn axes(&self) -> [DVec3; 3] {
        [self.side, self.axis.cross(self.side), self.axis]
    }
}

/// Stops of the free coordinate: unilateral contacts without friction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointLimits {
    /// Smallest value, in metres or radians.
    pub lower: Option<f64>,
    /// Largest value, in metres or radians.
    pub upper: Option<f64>,
    /// What an impact on a stop gives back.
    pub restitution: Restitution,
}

impl JointLimits {
    /// Checks the stops of a coordinate with this unit; one that is cyclic lies between -π and π.
    fn check(&self, unit: &str, is_cyclic: bool) -> Result<(), ValueError> {
        let Self { lower, upper, restitution } = *self;
        for (key, value) in [("limits.lower", lower), ("limits.upper", upper)] {
            let Some(value) = value else { continue };
            let name = &key["limits.".len()..];
            check_finite(key, name, &[value])?;
            if is_cyclic && value.abs() > PI {
                let message =
                    format!("`{name}` is {value:?} rad, but the angle of a joint in space is between -π and π");
                return Err(ValueError::new(
                    key,
                    message,
                    "count the angle from another start, or use a smaller limit",
                ));
            }
        }
        match (lower, upper) {
            (Some(lower), Some(upper)) if lower >= upper => {
                let message =
                    format!("the lower limit, {lower:?} {unit}, is not below the upper one, {upper:?} {unit}");
                return Err(ValueError::new(
                    "limits",
                    message,
                    format!("write `lower = {upper:?}, upper = {lower:?}`"),
                ));
            }
            (Some(_), None) | (None, Some(_)) if is_cyclic => {
                let message = "in space an angle has both limits, or none: it does not count turns";
                return Err(ValueError::new("limits", message, "give the other limit too, between -π and π"));
            }
            _ => {}
        }
        check_share("limits.restitution", "the restitution", restitution.normal)
    }

    /// Whether there is a stop at all.
    pub fn are_given(&self) -> bool {
        self.lower.is_some() || self.upper.is_some()
    }
}

/// A constant force or torque along the free coordinate during an interval of time; the second body
/// feels its opposite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointMotor {
    /// Force in N, or torque in N m.
    pub effort: f64,
    /// Start, in seconds.
    pub from: f64,
    /// End, in seconds.
    pub until: f64,
}

/// The law that the free coordinate of a driven joint follows:
/// $c(t) = c_0 + \dot c t + a \sin(2\pi f t + \varphi)$.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointDrive {
    /// $c_0$, in metres or radians.
    pub offset: f64,
    /// $\dot c$, per second.
    pub rate: f64,
    /// Amplitude $a$, in metres or radians.
    pub amplitude: f64,
    /// Frequency $f$, in hertz.
    pub frequency: f64,
    /// Phase $\varphi$, in radians.
    pub phase: f64,
}

impl JointDrive {
    /// Value, rate and acceleration at the time `t`.
    pub fn at(&self, t: f64) -> [f64; 3] {
        let frequency = TAU * self.frequency;
        let (sine, cosine) = (frequency * t + self.phase).portable_sin_cos();
        let value = self.offset + self.rate * t + self.amplitude * sine;
        let rate = self.rate + self.amplitude * TAU * self.frequency * cosine;
        [value, rate, -self.amplitude * frequency * frequency * sine]
    }
}

/// A joint between two bodies, or between a body and the world.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyJoint {
    /// Name, unique among joints.
    pub name: String,
    /// Number of the first body.
    pub first: usize,
    /// Number of the second body; none for the world.
    pub second: Option<usize>,
    /// What it holds.
    pub kind: JointKind,
    /// The frames on the first and on the second body.
    pub frames: [JointFrame; 2],
    /// In the plane, the difference of the angles of the bodies, first minus second, at which the
    /// angle of the joint is zero.
    pub zero_angle: f64,
    /// Stops of the free coordinate.
    pub limits: JointLimits,
    /// Largest friction along the free coordinate, in N or N m, whatever the load.
    pub friction: f64,
    /// The same while it sticks, not below `friction`, which is then that of sliding; none where it
    /// is the same.
    pub static_friction: Option<f64>,
    /// What drives the free coordinate by force.
    pub motor: Option<JointMotor>,
    /// The law that the free coordinate follows.
    pub drive: Option<JointDrive>,
    /// Whether the shapes of the two bodies collide with each other.
    pub can_collide: bool,
}

impl BodyJoint {
    /// A joint whose frames are the same one of the world at the time `t`, when the bodies are
    /// where they start: the free coordinate is zero there, and nothing is violated. A universal
    /// joint has `axis` on its first body and the side of the frame on its second.
    pub fn new(
        name: &str,
        kind: JointKind,
        bodies: &[Body],
        (first, second): (usize, Option<usize>),
        t: f64,
        frame: JointFrame,
    ) -> Self {
        let pose = |body: Option<usize>| body.map_or(Pose::IDENTITY, |body| bodies[body].pose_at(t));
        let angle = |body: Option<usize>| body.map_or(0.0, |body| bodies[body].planar_angle_at(t));
        let across = match kind {
            JointKind::Universal => JointFrame { point: frame.point, axis: frame.side, side: frame.axis },
            _ => frame,
        };
        Self {
            name: name.to_owned(),
            first,
            second,
            kind,
            frames: [frame.seen_from(&pose(Some(first))), across.seen_from(&pose(second))],
            zero_angle: angle(Some(first)) - angle(second),
            limits: JointLimits::default(),
            friction: 0.0,
            static_friction: None,
            motor: None,
            drive: None,
            can_collide: false,
        }
    }

    /// Names of the rows of the joint: `hinge.x`, `hinge.tilt1`, and `hinge.drive` for a driven
    /// one.
    pub fn row_names(&self, dimension: Dimension) -> Vec<String> {
        let rows = self.kind.rows(dimension).into_iter().map(|(suffix, _)| suffix);
        let drive = self.drive.iter().map(|_| "drive");
        rows.chain(drive).map(|suffix| format!("{}.{suffix}", self.name)).collect()
    }

    /// Checks it beside these bodies.
    ///
    /// # Errors
    /// [`ValueError`] when it holds nothing, or a number or an axis has no meaning.
    pub fn check(&self, dimension: Dimension, bodies: &[Body]) -> Result<(), ValueError> {
        let word = self.kind.word();
        if !self.kind.exists_in(dimension) {
            let message = format!("there is no {word} joint in the plane");
            return Err(ValueError::new("", message, "use `revolute` for a pin, or go to space"));
        }
        check_ends(bodies, [Some(self.first), self.second], ["bodies", "bodies.1"])?;
        for (frame, body) in self.frames.iter().zip([Some(self.first), self.second]) {
            self.check_frame(dimension, frame, body.map(|body| &bodies[body]))?;
        }
        self.check_coordinate(dimension)
    }

    /// Refuses a frame that is none, or that this body cannot carry.
    fn check_frame(&self, dimension: Dimension, frame: &JointFrame, body: Option<&Body>) -> Result<(), ValueError> {
        let refuse = |message: String, remedy: &str| Err(ValueError::new("", message, remedy));
        let axes @ [e1, _, e3] = frame.axes();
        let is_unit = |e: DVec3| (e.length() - 1.0).abs() <= FRAME_TOLERANCE;
        if !(frame.point.is_finite() && axes.into_iter().all(is_unit)) {
            let message = "the axes of its frames are not of unit length and at right angles";
            return refuse(message.to_owned(), "give axes that are not zero and not parallel");
        }
        let leaves_plane = self.kind == JointKind::Prismatic && (e3.z != 0.0 || e1.z != 0.0);
        if dimension == Dimension::Plane && (frame.point.z != 0.0 || leaves_plane) {
            return refuse("its frames do not lie in the plane".to_owned(), "leave z at zero");
        }
        let Some(Body { name, .. }) = body.filter(|body| body.is_point()) else { return Ok(()) };
        if self.kind.holds_rotation(dimension) {
            let message = format!("body `{name}` is a point, and has no rotation for a {} joint", self.kind.word());
            return refuse(message, "make the body rigid, or join it by a ball (a pin in the plane) or a distance");
        }
        if self.kind == JointKind::Revolute && self.effort().is_some() {
            let message = format!("body `{name}` is a point, and has no angle to limit, brake or drive");
            return refuse(message, "make the body rigid");
        }
        let away = frame.point.length();
        if away > FRAME_TOLERANCE {
            let message = format!("body `{name}` is a point, and the joint is {away:e} m beside it");
            return refuse(message, "put the joint on the point, or make the body rigid");
        }
        Ok(())
    }

    /// Refuses what acts along a coordinate that is not free, or along none.
    fn check_coordinate(&self, dimension: Dimension) -> Result<(), ValueError> {
        if let Some(key) = self.effort().filter(|_| self.kind.coordinate().is_none()) {
            let message = match self.kind {
                JointKind::Distance { .. } => format!("a `length` is held, so that `{key}` has no effect"),
                _ => format!("a {} joint has no free coordinate for `{key}`", self.kind.word()),
            };
            return Err(ValueError::new(key, message, "keep one of the two"));
        }
        match self.kind {
            JointKind::Distance { length: Some(length) } => check_positive("length", "the length", length, "m")?,
            JointKind::Distance { length: None } if self.effort().is_none() => {
                let message = "it neither holds a length nor limits or drives it";
                return Err(ValueError::new("", message, "give a length or limits"));
            }
            _ => {}
        }
        let is_angle = self.kind.coordinate() == Some(CoordinateKind::Angle);
        let (unit, effort_unit) = if is_angle { ("rad", "N m") } else { ("m", "N") };
        self.limits.check(unit, is_angle && dimension == Dimension::Space)?;
        check_not_negative("friction", "the friction", self.friction, effort_unit)?;
        check_static("static-friction", "friction", self.friction, self.static_friction, effort_unit)?;
        if let Some(JointMotor { effort, from, until }) = self.motor {
            check_finite("motor", "the motor", &[effort, from])?;
            if until.is_nan() || until <= from {
                let message = format!("the motor ends at {until:?} s and begins at {from:?} s");
                return Err(ValueError::new("motor.until", message, "give an `until` that is later than `from`"));
            }
        }
        let Some(drive) = self.drive else { return Ok(()) };
        check_finite("drive", "the drive", &[drive.offset, drive.rate, drive.amplitude, drive.phase])?;
        check_not_negative("drive.oscillation.frequency", "the frequency", drive.frequency, "Hz")?;
        for (key, is_given) in [("motor", self.motor.is_some()), ("limits", self.limits.are_given())] {
            if is_given {
                let message = format!("it is driven, so that `{key}` has no effect");
                return Err(ValueError::new(key, message, format!("remove `{key}` or `drive`")));
            }
        }
        Ok(())
    }

    /// What acts along the coordinate, by its key.
    fn effort(&self) -> Option<&'static str> {
        let efforts = [
            ("limits", self.limits.are_given()),
            ("friction", self.friction != 0.0),
            ("static-friction", self.static_friction.is_some()),
            ("motor", self.motor.is_some()),
            ("drive", self.drive.is_some()),
        ];
        efforts.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_right_handed_and_survive_a_change_of_axes() {
        let pose = Pose::new(DVec3::new(0.3, -1.0, 2.0), glamx::DQuat::from_xyzw(0.1, 0.5, -0.3, 0.8).normalize());
        for axis in [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::Z, DVec3::new(1.0, 2.0, 0.0), DVec3::new(0.3, -2.0, 5.0)] {
            let frame = JointFrame::new(DVec3::ONE, axis);
            let [e1, e2, e3] = frame.axes();
            assert!((e1.cross(e2) - e3).length() < 1e-15 && e1.dot(e3).abs() < 1e-15, "{frame:?}");
            assert!((e3.cross(axis)).length() < 1e-15 * axis.length() && e3.dot(axis) > 0.0);
            let back = frame.seen_from(&pose).in_world(&pose);
            assert!((back.point - frame.point).length() < 1e-15 && (back.side - e1).length() < 1e-15);
        }
        // In the plane the side of a slide stays in the plane.
        assert_eq!(JointFrame::new(DVec3::ZERO, DVec3::new(0.0, 2.0, 0.0)).side, DVec3::new(-1.0, 0.0, 0.0));
    }

    #[test]
    fn the_law_of_a_drive_by_hand() {
        // 1 + 2·0.25 + 0.5 sin(2π·1·0.25 + 0) = 2; rate 2 + 0.5·2π cos(π/2) = 2.
        let drive = JointDrive { offset: 1.0, rate: 2.0, amplitude: 0.5, frequency: 1.0, phase: 0.0 };
        let [value, rate, acceleration] = drive.at(0.25);
        assert!((value - 2.0).abs() < 1e-15 && (rate - 2.0).abs() < 1e-15);
        // -0.5·(2π)².
        assert!((acceleration + 2.0 * PI * PI).abs() < 1e-14);
    }
}

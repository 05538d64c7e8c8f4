//! Bodies: how they move, what they weigh, which shapes they have.

use std::f64::consts::TAU;

use glamx::{DMat3, DVec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_dynamics::{FrictionShape, ValueError, check_not_negative, check_positive, check_static};
use stiction_solve::PortableMath as _;

use crate::error::{check_ends, check_finite, check_right_angle, check_unit};
use crate::pose::{Pose, turn_by};
use crate::shape::{Dimension, PlacedShape};

/// A body. Its origin is its centre of mass.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Name, unique in its system.
    pub name: String,
    /// How it moves.
    pub kind: BodyKind,
    /// Pose at the start: origin in metres, and orientation.
    pub pose: Pose,
    /// Whole turns at the start in the plane, which the recorded angle counts and the pose cannot
    /// tell.
    pub turns: i32,
    /// Velocity of the origin at the start, world axes, in m/s. Only for bodies that move freely.
    pub velocity: DVec3,
    /// Angular velocity at the start, world axes, in rad/s. Only for rigid bodies that move freely.
    pub angular_velocity: DVec3,
    /// Shapes that collide.
    pub shapes: Vec<BodyShape>,
    /// Collision group.
    pub group: usize,
}

impl Body {
    /// Whether it moves without rotation.
    pub(crate) fn is_point(&self) -> bool {
        matches!(self.kind, BodyKind::Point { .. })
    }

    /// Pose of the body at time `t` as long as it has not moved freely: at the start, or where its
    /// motion has taken it.
    pub fn pose_at(&self, t: f64) -> Pose {
        self.kind.motion().map_or(self.pose, |motion| motion.pose_at(&self.pose, t))
    }

    /// The angle of that pose in the plane with all its turns, in radians.
    pub fn planar_angle_at(&self, t: f64) -> f64 {
        let start = self.pose.planar_angle() + TAU * f64::from(self.turns);
        self.kind.motion().map_or(start, |motion| start + motion.angular_velocity.z * t)
    }
}

/// A shape of a body and what it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyShape {
    /// Shape and its place on the body.
    pub placed: PlacedShape,
    /// Number of the material in the material table.
    pub material: usize,
}

/// How a body moves.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyKind {
    /// Freely, with six degrees of freedom in space and three in the plane.
    Rigid {
        /// Mass, in kg.
        mass: f64,
        /// Inertia about the centre of mass in body axes, in kg m². In the plane only the entry zz
        /// counts.
        inertia: DMat3,
    },
    /// Freely, without rotation: three degrees of freedom in space and two in the plane.
    Point {
        /// Mass, in kg.
        mass: f64,
    },
    /// Not at all.
    Static,
    /// As prescribed.
    Prescribed(Motion),
}

impl BodyKind {
    /// Whether forces move the body.
    pub fn is_free(&self) -> bool {
        self.mass().is_some()
    }

    /// The mass that forces move, in kg.
    pub(crate) fn mass(&self) -> Option<f64> {
        match *self {
            Self::Rigid { mass, .. } | Self::Point { mass } => Some(mass),
            Self::Static | Self::Prescribed(_) => None,
        }
    }

    /// The motion of a body that moves as prescribed.
    pub(crate) fn motion(&self) -> Option<&Motion> {
        match self {
            Self::Prescribed(motion) => Some(motion),
            _ => None,
        }
    }
}

/// A prescribed motion: a constant velocity and rotation, oscillations, and a surface that runs (a
/// belt), added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// Constant velocity of the origin, world axes, in m/s.
    pub velocity: DVec3,
    /// Constant angular velocity about the origin, world axes, in rad/s.
    pub angular_velocity: DVec3,
    /// Oscillations of the origin; two of one frequency and other phases move it along an ellipse.
    pub oscillations: Vec<Oscillation>,
    /// Velocity of the surface while the body itself stays, world axes, in m/s: a belt.
    pub surface_velocity: DVec3,
}

impl Motion {
    /// The pose at time `t` of a body that has this one at time zero.
    pub(crate) fn pose_at(&self, start: &Pose, t: f64) -> Pose {
        let mut position = start.position + self.velocity * t;
        for o in &self.oscillations {
            position += o.amplitude * (TAU * o.frequency * t + o.phase).portable_sin();
        }
        let is_turning = self.angular_velocity != DVec3::ZERO;
        let turn = is_turning.then(|| turn_by(self.angular_velocity * t) * start.orientation);
        Pose::new(position, turn.unwrap_or(start.orientation))
    }

    /// Velocity of the origin at time `t`.
    pub(crate) fn velocity_at(&self, t: f64) -> DVec3 {
        let mut velocity = self.velocity;
        for o in &self.oscillations {
            let rate = TAU * o.frequency;
            velocity += o.amplitude * (rate * (rate * t + o.phase).portable_cos());
        }
        velocity
    }

    /// Acceleration of the origin at time `t`.
    pub(crate) fn acceleration_at(&self, t: f64) -> DVec3 {
        let mut acceleration = DVec3::ZERO;
        for o in &self.oscillations {
            let rate = TAU * o.frequency;
            acceleration += o.amplitude * (-rate * rate * (rate * t + o.phase).portable_sin());
        }
        acceleration
    }
}

/// $a \sin(2\pi f t + \varphi)$ around the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillation {
    /// Amplitude $a$, world axes, in metres.
    pub amplitude: DVec3,
    /// Frequency $f$, in hertz.
    pub frequency: f64,
    /// Phase $\varphi$, in radians.
    pub phase: f64,
}

/// Axes in which an applied force is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForceAxes {
    /// World axes: the force keeps its direction.
    #[default]
    World,
    /// Body axes: the force turns with the body.
    Body,
}

/// A force and a torque on a body during an interval of time.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedForce {
    /// Number of the body.
    pub body: usize,
    /// Force, in N.
    pub force: DVec3,
    /// Torque, in N m.
    pub torque: DVec3,
    /// Point of attack in body coordinates, in metres.
    pub point: DVec3,
    /// Axes of force and torque.
    pub axes: ForceAxes,
    /// Start, in seconds.
    pub from: f64,
    /// End, in seconds.
    pub until: f64,
}

impl AppliedForce {
    /// Checks it beside these bodies.
    ///
    /// # Errors
    /// [`ValueError`] when it acts on nothing, at no time, or on a point as on a rigid body.
    pub fn check(&self, dimension: Dimension, bodies: &[Body]) -> Result<(), ValueError> {
        let body = &bodies[self.body];
        if !body.kind.is_free() {
            let message = format!("body `{}` does not move freely, and forces do not move it", body.name);
            return Err(ValueError::new("body", message, "name a body that moves freely"));
        }
        if self.until.is_nan() || self.from.is_nan() || self.until <= self.from {
            let message = format!("the force ends at {:?} s and begins at {:?} s", self.until, self.from);
            return Err(ValueError::new("until", message, "give an `until` that is later than `from`"));
        }
        for (key, vector) in [("force", self.force), ("torque", self.torque), ("point", self.point)] {
            check_finite(key, key, &vector.to_array())?;
            if body.is_point() && key != "force" && vector != DVec3::ZERO {
                let message = format!("body `{}` is a point, and has no `{key}` other than zero", body.name);
                return Err(ValueError::new(key, message, "remove it, or make the body `kind = \"rigid\"`"));
            }
            if dimension == Dimension::Plane && key != "torque" && vector.z != 0.0 {
                return Err(ValueError::new(key, format!("{key} does not lie in the plane"), "leave z at zero"));
            }
        }
        Ok(())
    }

    /// Whether it acts at time `t`.
    pub(crate) fn is_active(&self, t: f64) -> bool {
        self.from <= t && t <= self.until
    }
}

/// Dry friction with a bound that no load changes, between a point of a body and another body or
/// the world (\[ST96\] §3.5).
#[derive(Clone, Debug, PartialEq)]
pub struct DryFriction {
    /// Name.
    pub name: String,
    /// Number of the body.
    pub body: usize,
    /// Number of the body that it slides on; none for the world.
    pub against: Option<usize>,
    /// Point in coordinates of the first body, in metres.
    pub point: DVec3,
    /// One or two unit vectors, orthogonal to each other, world axes: the directions of sliding, or
    /// the axis of a rotation.
    pub axes: Vec<DVec3>,
    /// Whether it acts on the relative rotation instead of the sliding; then there is one axis.
    pub is_rotational: bool,
    /// Largest force in N, or torque in N m.
    pub bound: f64,
    /// The bound while it sticks, not below `bound`, which is then that of sliding; none where it
    /// is the same.
    pub static_bound: Option<f64>,
    /// Factors on the bound along the axes: an ellipse of friction. Ones for a circle.
    pub semi_axes: [f64; 2],
    /// What friction may be for a bound of one, in units of the semi-axes.
    pub shape: FrictionShape,
    /// A constant force along the one axis, on top of friction, in N or N m. Friction with the
    /// bounds $f$ against forward sliding and $b$ against sliding back has the bound $(f + b) / 2$
    /// and the bias $(b - f) / 2$.
    pub bias: f64,
}

impl DryFriction {
    /// Checks it beside these bodies.
    ///
    /// # Errors
    /// [`ValueError`] when it holds nothing, or a number or an axis has no meaning.
    pub fn check(&self, dimension: Dimension, bodies: &[Body]) -> Result<(), ValueError> {
        check_line("friction", bodies, [Some(self.body), self.against], self.is_rotational)?;
        let unit = if self.is_rotational { "N m" } else { "N" };
        check_not_negative("bound", "the bound", self.bound - self.bias, unit)?;
        check_not_negative("bound-backwards", "the bound backwards", self.bound + self.bias, unit)?;
        check_static("static-bound", "bound", self.bound, self.static_bound, unit)?;
        let most = if self.is_rotational { 1 } else { 2 };
        if self.axes.is_empty() || self.axes.len() > most {
            let remedy = if self.is_rotational { "give the one axis of the rotation" } else { "give one or two" };
            return Err(ValueError::new("axes", format!("{} axes are given", self.axes.len()), remedy));
        }
        for (number, axis) in self.axes.iter().enumerate() {
            check_unit(format!("axes.{number}"), *axis, dimension)?;
        }
        if let [first, second] = self.axes[..] {
            check_right_angle("axes", first, second)?;
            if self.bias != 0.0 {
                let message = "`bound-backwards` is given, and 2 directions of sliding";
                return Err(ValueError::new("bound-backwards", message, "give one direction, or `bound` alone"));
            }
        }
        for (number, &value) in self.semi_axes.iter().enumerate() {
            check_positive(format!("semi-axes.{number}"), "a semi-axis", value, "(a factor on the bound)")?;
        }
        Ok(())
    }
}

/// Refuses ends of a line of friction or of a clutch that hold nothing.
fn check_line(what: &str, bodies: &[Body], ends: [Option<usize>; 2], is_rotational: bool) -> Result<(), ValueError> {
    check_ends(bodies, ends, ["body", "against"])?;
    if is_rotational && ends.into_iter().flatten().any(|body| bodies[body].is_point()) {
        let message = format!("a point does not rotate, and {what} of a rotation has no effect on it");
        return Err(ValueError::new("rotational", message, "name rigid bodies, or remove `rotational`"));
    }
    Ok(())
}

/// Holds back one direction of sliding or rotation, whatever force that takes, and lets the other
/// one pass: the primitive $\mathrm{Upr}$ of \[GS05\] (2) on velocity level. A sprag clutch, a
/// ratchet with fine teeth.
#[derive(Clone, Debug, PartialEq)]
pub struct Clutch {
    /// Name.
    pub name: String,
    /// Number of the body.
    pub body: usize,
    /// Number of the body relative to which it moves; none for the world.
    pub against: Option<usize>,
    /// Point in coordinates of the first body, in metres.
    pub point: DVec3,
    /// Unit vector in world axes: the body moves, or turns about it, forwards only.
    pub axis: DVec3,
    /// Whether it acts on the relative rotation.
    pub is_rotational: bool,
}

impl Clutch {
    /// Checks it beside these bodies.
    ///
    /// # Errors
    /// [`ValueError`] when it holds nothing, or its axis is no unit vector.
    pub fn check(&self, dimension: Dimension, bodies: &[Body]) -> Result<(), ValueError> {
        check_line("a clutch", bodies, [Some(self.body), self.against], self.is_rotational)?;
        check_unit("axis", self.axis, dimension)
    }
}

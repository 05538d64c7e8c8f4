//! The scene file as types: every table and key, its unit and its default.
//!
//! What serde reads is checked by [`load`](mod@crate::load): names, lengths of vectors, signs,
//! pairs that can touch. A [`Scene`] that comes out of it is resolved: whatever has a default has a
//! value. No `flatten`, `untagged` or internal `tag`, because they lose the position of an error.

use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stiction_bodies::{CombinationRule, Dimension, ForceAxes, Torsion};
use stiction_dynamics::{ContactMethod, ExactConeSettings, ImpactLaw, PhantomContact, PyramidSettings, SchemeSettings};
use toml_edit::visit_mut::VisitMut;

use crate::copies::CopiesEntry;
use crate::system_entry::SystemEntry;
use crate::tally::{Task, count};

pub use crate::joint_entry::JointEntry;
pub use crate::surface_entry::{
    ConeEntry, DecomposeEntry, HeightFieldEntry, HullEntry, LengthUnit, MeshEntry, PolygonEntry, PolylineEntry,
};

/// The version of the scene format that this library reads.
pub const FORMAT: u32 = 1;

/// The group of a body that names none.
pub const DEFAULT_GROUP: &str = "default";

/// A scene: bodies, what they are made of and what acts on them, or a system given by matrices; and
/// how they are simulated. SI units throughout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(extend("oneOf" = [{ "required": ["dimension", "gravity"] }, { "required": ["system"] }]))]
pub struct Scene {
    /// Version of the format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub format: u32,
    /// Name, made of letters, digits, `-` and `_`; the run folder takes it.
    pub name: String,
    /// What the scene is, in one line.
    pub title: Option<String>,
    /// What there is to see, and where it comes from.
    pub description: Option<String>,
    /// Whether the bodies move in the plane or in space; not given beside `system`.
    pub dimension: Option<Dimension>,
    /// Acceleration of gravity in m/s²: two numbers in the plane, three in space; not given beside
    /// `system`.
    #[schemars(length(min = 2, max = 3))]
    pub gravity: Option<Vec<f64>>,
    /// Whether bodies that do not meet the joints at the start are moved, as little as possible,
    /// until they do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub assemble: bool,
    /// Whether files of the scene may lie outside of its folder.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allow_outside: bool,
    /// The folder to which paths of files are relative; the current one when it is not given. It is
    /// not written.
    #[serde(skip)]
    #[schemars(skip)]
    pub folder: Option<PathBuf>,
    /// From when to when, and in which steps.
    pub run: RunSettings,
    /// The time-stepping scheme.
    #[serde(default)]
    pub scheme: SchemeSettings,
    /// How the contact problem of a step is solved: left out, the exact cone in space and the
    /// pyramid in the plane and for matrices.
    pub method: Option<ContactMethod>,
    /// What is recorded.
    #[serde(default)]
    pub record: RecordSettings,
    /// A system given by matrices, in place of bodies.
    pub system: Option<SystemEntry>,
    /// Rules for all contacts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub contact: ContactSettings,
    /// The materials.
    #[serde(default, rename = "material", skip_serializing_if = "Vec::is_empty")]
    pub materials: Vec<MaterialEntry>,
    /// Pairs of materials with their own friction and restitution.
    #[serde(default, rename = "pair", skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairEntry>,
    /// The bodies.
    #[serde(default, rename = "body", skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<BodyEntry>,
    /// Applied forces and torques.
    #[serde(default, rename = "force", skip_serializing_if = "Vec::is_empty")]
    pub forces: Vec<ForceEntry>,
    /// Friction with a bound that no load changes: brakes, packings, gear boxes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry_friction: Vec<DryFrictionEntry>,
    /// Sprag clutches and ratchets.
    #[serde(default, rename = "clutch", skip_serializing_if = "Vec::is_empty")]
    pub clutches: Vec<ClutchEntry>,
    /// Joints between bodies.
    #[serde(default, rename = "joint", skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<JointEntry>,
    /// Springs and dampers between points of bodies.
    #[serde(default, rename = "spring", skip_serializing_if = "Vec::is_empty")]
    pub springs: Vec<SpringEntry>,
    /// Springs and dampers of relative rotations.
    #[serde(default, rename = "torsion-spring", skip_serializing_if = "Vec::is_empty")]
    pub torsion_springs: Vec<TorsionSpringEntry>,
    /// Bodies or groups that do not collide with each other.
    #[serde(default, rename = "ignore", skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoreEntry>,
}

/// From when to when, and in which steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunSettings {
    /// Step size in seconds, positive.
    #[schemars(range(min = 0.0))]
    pub step: f64,
    /// End in seconds, not before the start.
    pub end: f64,
    /// Start in seconds.
    #[serde(default)]
    pub start: f64,
    /// Deepest overlap of two bodies at the start that is let pass, in metres; if it is not given,
    /// half the size of the smaller one.
    #[schemars(range(min = 0.0))]
    pub deepest_overlap: Option<f64>,
    /// Whether velocities at the start that contacts or joints do not allow are changed as an
    /// inelastic impact would. \[GS05\] (33) with Δt = 0
    #[serde(default, skip_serializing_if = "is_default")]
    pub consistent_start: bool,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordSettings {
    /// Every how many steps a row is written to states, contacts and audit; the first and the last
    /// state are always written, and events are found in every step.
    #[schemars(range(min = 1))]
    pub interval: u64,
    /// Which columns of the states, such as `rod.x`; all of them when it is not given.
    pub columns: Option<Vec<String>>,
}

impl Default for RecordSettings {
    fn default() -> Self {
        Self { interval: 1, columns: None }
    }
}

/// Rules for all contacts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContactSettings {
    /// How friction and restitution of two different materials follow from theirs. When it is not
    /// given, every such pair that can touch needs an entry in the table of pairs.
    pub combine: Option<CombinationRule>,
}

/// A material.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MaterialEntry {
    /// Name, unique among materials.
    pub name: String,
    /// Coefficient of friction against itself, not negative.
    #[schemars(range(min = 0.0))]
    pub friction: f64,
    /// Coefficient of friction while a contact sticks, not below `friction`, which is then that of
    /// sliding.
    #[schemars(range(min = 0.0))]
    pub static_friction: Option<f64>,
    /// Share that an impact against itself gives back in normal direction, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: f64,
    /// Whether it is a share of the velocity or of the impulse.
    #[serde(default)]
    pub impact_law: ImpactLaw,
    /// Share of the sliding velocity that an impact gives back as far as friction allows, from 0 to
    /// 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub tangential_restitution: f64,
    /// Radius of the friction against drilling about the normal, in m, not negative: the largest
    /// moment is this times the largest friction.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0.0))]
    pub torsion_radius: f64,
    /// Whether friction against drilling shares its bound with friction against sliding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub torsion: Torsion,
    /// Lines and phantom inertia of these contacts, for the method `phantom-inertia`.
    pub phantom_inertia: Option<PhantomContact>,
}

/// Whether a key says nothing that its absence would not say.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The coefficients of two different materials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PairEntry {
    /// Names of the two materials, in any order.
    #[schemars(length(min = 2, max = 2))]
    pub materials: Vec<String>,
    /// Coefficient of friction between them, not negative.
    #[schemars(range(min = 0.0))]
    pub friction: f64,
    /// Coefficient of friction while a contact sticks, not below `friction`, which is then that of
    /// sliding.
    #[schemars(range(min = 0.0))]
    pub static_friction: Option<f64>,
    /// Share that an impact gives back in normal direction, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: f64,
    /// Whether it is a share of the velocity or of the impulse.
    #[serde(default)]
    pub impact_law: ImpactLaw,
    /// Share of the sliding velocity that an impact gives back as far as friction allows, from 0 to
    /// 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub tangential_restitution: f64,
    /// Radius of the friction against drilling about the normal, in m, not negative: the largest
    /// moment is this times the largest friction.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0.0))]
    pub torsion_radius: f64,
    /// Whether friction against drilling shares its bound with friction against sliding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub torsion: Torsion,
    /// Direction of the first tangent, fixed in the body of one of the two materials.
    pub grain: Option<GrainEntry>,
    /// Factors on the friction along the grain and across it, positive; they need a grain.
    #[schemars(length(min = 2, max = 2))]
    pub friction_axes: Option<Vec<f64>>,
    /// Friction is a sum of these directions, with weights that are not negative and sum to the
    /// bound at most: along the two tangents, and about the normal in m.
    pub friction_directions: Option<Vec<Vec<f64>>>,
    /// Friction is bounded by these rows: each one times friction along the two tangents and about
    /// the normal is the bound at most.
    pub friction_half_spaces: Option<Vec<Vec<f64>>>,
    /// Lines and phantom inertia of these contacts, for the method `phantom-inertia`.
    pub phantom_inertia: Option<PhantomContact>,
}

/// A direction that is fixed in a body: grain, grooves, brush marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GrainEntry {
    /// Which of the two materials it belongs to.
    pub material: String,
    /// The direction in axes of the body, of any length; its part in the plane of contact counts.
    #[schemars(length(min = 3, max = 3))]
    pub direction: Vec<f64>,
}

/// How a body moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KindName {
    /// Freely, with rotation.
    #[default]
    Rigid,
    /// Freely, without rotation.
    Point,
    /// Not at all.
    Static,
    /// As its table `motion` says.
    Prescribed,
}

impl KindName {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Point => "point",
            Self::Static => "static",
            Self::Prescribed => "prescribed",
        }
    }

    /// Whether forces move the body.
    pub fn is_free(self) -> bool {
        matches!(self, Self::Rigid | Self::Point)
    }
}

/// A body. Its origin is its centre of mass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BodyEntry {
    /// Name, unique among bodies, made of letters, digits, `-` and `_`; columns are named after it.
    pub name: String,
    /// How it moves.
    #[serde(default)]
    pub kind: KindName,
    /// Material of those of its shapes that name none.
    pub material: Option<String>,
    /// Origin in metres, at the start (at time 0 when the motion is prescribed): two numbers in the
    /// plane, three in space.
    #[schemars(length(min = 2, max = 3))]
    pub position: Option<Vec<f64>>,
    /// Plane only: angle in radians, anticlockwise from the x axis.
    pub angle: Option<f64>,
    /// Plane only: the angle in degrees instead.
    pub angle_degrees: Option<f64>,
    /// Space only: unit quaternion w, x, y, z from body to world axes.
    #[schemars(length(min = 4, max = 4))]
    pub orientation: Option<Vec<f64>>,
    /// Velocity of the origin at the start in m/s, world axes. Only for bodies that move freely.
    #[schemars(length(min = 2, max = 3))]
    pub velocity: Option<Vec<f64>>,
    /// Angular velocity at the start in rad/s: a number in the plane, three in world axes in space.
    /// Only for rigid bodies.
    pub angular_velocity: Option<Rotation>,
    /// Mass in kg, positive. Only for bodies that move freely.
    pub mass: Option<f64>,
    /// Inertia about the origin in kg m², body axes: a number in the plane; in space three numbers
    /// on the diagonal, or three rows of three. When it is not given, it follows from the shapes,
    /// filled evenly. Only for rigid bodies.
    pub inertia: Option<InertiaEntry>,
    /// Density in kg/m³ (kg/m² in the plane) in place of mass and inertia, which then follow from
    /// the shapes.
    pub density: Option<f64>,
    /// Collision group.
    #[serde(default = "default_group")]
    pub group: String,
    /// The motion of a prescribed body.
    pub motion: Option<MotionEntry>,
    /// Equal bodies in a grid, in place of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopiesEntry>,
    /// Shapes that collide.
    #[serde(default, rename = "shape", skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<ShapeEntry>,
}

fn default_group() -> String {
    DEFAULT_GROUP.to_owned()
}

/// A shape of a body. Exactly one of the shape keys is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ShapeEntry {
    /// Plane only: everything below a line.
    pub half_plane: Option<HalfSpaceEntry>,
    /// Space only: everything below a plane.
    pub half_space: Option<HalfSpaceEntry>,
    /// Plane only: a disc.
    pub disc: Option<RoundEntry>,
    /// Space only: a ball.
    pub sphere: Option<RoundEntry>,
    /// Plane only: everything outside of a circle.
    pub ring: Option<RoundEntry>,
    /// Space only: everything outside of a ball.
    pub cavity: Option<RoundEntry>,
    /// Space only: a cylinder around the shape's x axis.
    pub cylinder: Option<CylinderEntry>,
    /// Space only: everything outside of a cylinder without ends.
    pub tube: Option<RoundEntry>,
    /// Plane only: an ellipse with axes along the shape's axes.
    pub ellipse: Option<EllipsoidEntry>,
    /// Space only: an ellipsoid with axes along the shape's axes.
    pub ellipsoid: Option<EllipsoidEntry>,
    /// All points within the radius of a segment on the shape's x axis.
    pub capsule: Option<CapsuleEntry>,
    /// A rectangle or a box with edges along the shape's axes.
    #[serde(rename = "box")]
    pub cuboid: Option<BoxEntry>,
    /// Space only: a cone around the shape's x axis, its tip at half the height.
    pub cone: Option<ConeEntry>,
    /// Space only: the convex hull of points or of a surface in a file.
    pub hull: Option<HullEntry>,
    /// Space only: a surface of triangles in a file.
    pub mesh: Option<MeshEntry>,
    /// Space only: terrain over a rectangle.
    pub height_field: Option<HeightFieldEntry>,
    /// Space only: a surface in a file as several convex hulls, which take its place.
    pub decompose: Option<DecomposeEntry>,
    /// Plane only: a convex polygon.
    pub polygon: Option<PolygonEntry>,
    /// Plane only: a chain of segments, solid on its right.
    pub polyline: Option<PolylineEntry>,
    /// Origin of the shape in body coordinates, in metres.
    #[schemars(length(min = 2, max = 3))]
    pub position: Option<Vec<f64>>,
    /// Plane only: angle of the shape on the body in radians.
    pub angle: Option<f64>,
    /// Plane only: the angle in degrees instead.
    pub angle_degrees: Option<f64>,
    /// Space only: unit quaternion w, x, y, z from shape to body axes.
    #[schemars(length(min = 4, max = 4))]
    pub orientation: Option<Vec<f64>>,
    /// Material; the body's when it is not given.
    pub material: Option<String>,
}

/// Everything on one side of a line or plane: the points x with normal · x ≤ offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HalfSpaceEntry {
    /// Unit vector out of the solid, in shape axes.
    #[schemars(length(min = 2, max = 3))]
    pub normal: Vec<f64>,
    /// Distance of the surface from the origin along the normal, in metres.
    #[serde(default)]
    pub offset: f64,
}

/// A cylinder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CylinderEntry {
    /// Radius in metres, positive.
    #[schemars(range(min = 0.0))]
    pub radius: f64,
    /// Distance between its two ends in metres, positive; left out, it has no ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
}

/// A disc, a ball or a round hole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RoundEntry {
    /// Radius in metres; zero makes a disc or a ball a point.
    #[schemars(range(min = 0.0))]
    pub radius: f64,
}

/// An ellipse or ellipsoid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EllipsoidEntry {
    /// Half the lengths of the axes in metres, positive.
    #[schemars(length(min = 2, max = 3))]
    pub semi_axes: Vec<f64>,
}

/// A capsule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CapsuleEntry {
    /// Distance between the centres of the two round ends in metres, positive.
    pub length: f64,
    /// Radius in metres; zero makes it a segment.
    pub radius: f64,
}

/// A rectangle or box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoxEntry {
    /// Full lengths of the edges along the shape's axes in metres, positive.
    #[schemars(length(min = 2, max = 3))]
    pub size: Vec<f64>,
}

/// A prescribed motion: constant velocity and rotation, oscillations, and a surface that runs,
/// added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MotionEntry {
    /// Velocity of the origin in m/s, world axes.
    #[schemars(length(min = 2, max = 3))]
    pub velocity: Option<Vec<f64>>,
    /// Angular velocity about the origin in rad/s: a number in the plane, three in world axes in
    /// space.
    pub angular_velocity: Option<Rotation>,
    /// Velocity of the surface while the body stays in m/s, world axes: a belt.
    #[schemars(length(min = 2, max = 3))]
    pub surface_velocity: Option<Vec<f64>>,
    /// Oscillations of the origin, added up: a table, or a list of tables.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_several",
        serialize_with = "as_written"
    )]
    #[schemars(schema_with = "one_or_several_schema")]
    pub oscillation: Vec<OscillationEntry>,
}

/// The displacement amplitude · sin(2π frequency t + phase).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OscillationEntry {
    /// Amplitude in metres, world axes.
    #[schemars(length(min = 2, max = 3))]
    pub amplitude: Vec<f64>,
    /// Frequency in hertz, not negative.
    #[schemars(range(min = 0.0))]
    pub frequency: f64,
    /// Phase in radians.
    #[serde(default)]
    pub phase: f64,
}

/// Reads a table, or a list of tables.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OscillationEntry>, D::Error> {
    // As for `Nested`: an error keeps its place.
    struct OneOrSeveral;
    impl<'de> Visitor<'de> for OneOrSeveral {
        type Value = Vec<OscillationEntry>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table or a list of tables")
        }
        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
            OscillationEntry::deserialize(MapAccessDeserializer::new(table)).map(|entry| vec![entry])
        }
        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    deserializer.deserialize_any(OneOrSeveral)
}

/// Writes one as a table, and several as a list.
fn as_written<S: Serializer>(entries: &[OscillationEntry], serializer: S) -> Result<S::Ok, S::Error> {
    match entries {
        [entry] => entry.serialize(serializer),
        entries => entries.serialize(serializer),
    }
}

fn one_or_several_schema(generator: &mut SchemaGenerator) -> Schema {
    let entry = generator.subschema_for::<OscillationEntry>();
    json_schema!({ "oneOf": [entry, { "type": "array", "items": entry }] })
}

/// A force and a torque on a body during an interval of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ForceEntry {
    /// Name of the body, which moves freely.
    pub body: String,
    /// Force in N.
    #[schemars(length(min = 2, max = 3))]
    pub force: Option<Vec<f64>>,
    /// Torque in N m: a number in the plane, three in space.
    pub torque: Option<Rotation>,
    /// Point of attack in body coordinates, in metres; the origin when it is not given.
    #[schemars(length(min = 2, max = 3))]
    pub point: Option<Vec<f64>>,
    /// Axes of force and torque.
    #[serde(default)]
    pub axes: ForceAxes,
    /// When it begins, in seconds; the start of the run when it is not given.
    pub from: Option<f64>,
    /// When it ends, in seconds; never when it is not given.
    pub until: Option<f64>,
}

/// Dry friction with a bound that no load changes. \[ST96\] §3.5
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DryFrictionEntry {
    /// Name, unique among them.
    pub name: String,
    /// Name of the body.
    pub body: String,
    /// Name of the body it rubs against; the world when it is not given.
    pub against: Option<String>,
    /// Point in coordinates of the first body, in metres; its origin when it is not given.
    #[schemars(length(min = 2, max = 3))]
    pub point: Option<Vec<f64>>,
    /// Directions of sliding: one or two orthogonal unit vectors, world axes. Of a rotation in
    /// space: its one axis; of a rotation in the plane: not given.
    #[schemars(length(min = 1, max = 2))]
    pub axes: Option<Vec<Vec<f64>>>,
    /// Whether it brakes the rotation instead of the sliding.
    #[serde(default)]
    pub rotational: bool,
    /// Largest force in N, or torque in N m; not negative.
    #[schemars(range(min = 0.0))]
    pub bound: f64,
    /// The same against sliding backwards along the one axis; `bound` when it is not given.
    /// \[GS05\] (4)
    #[schemars(range(min = 0.0))]
    pub bound_backwards: Option<f64>,
    /// The bound while it sticks, not below `bound`, which is then that of sliding and positive.
    #[schemars(range(min = 0.0))]
    pub static_bound: Option<f64>,
    /// Factors on the bound along the two axes, positive: an ellipse of friction; a circle when it
    /// is not given.
    #[schemars(length(min = 2, max = 2))]
    pub semi_axes: Option<Vec<f64>>,
    /// Friction is a sum of these directions, with weights that are not negative and sum to the
    /// bound at most: one number per axis.
    pub friction_directions: Option<Vec<Vec<f64>>>,
    /// Friction is bounded by these rows: each one times friction along the axes is the bound at
    /// most.
    pub friction_half_spaces: Option<Vec<Vec<f64>>>,
}

/// A sprag clutch or ratchet: a body moves or turns forwards only, whatever force that takes.
/// \[GS05\] (2) on velocity level
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClutchEntry {
    /// Name, unique among clutches.
    pub name: String,
    /// Name of the body.
    pub body: String,
    /// Name of the body relative to which it moves; the world when it is not given.
    pub against: Option<String>,
    /// Point in coordinates of the first body, in metres; its origin when it is not given.
    #[schemars(length(min = 2, max = 3))]
    pub point: Option<Vec<f64>>,
    /// Forwards: a unit vector in world axes, the axis of the rotation if it is one; of a rotation
    /// in the plane not given: it is counter-clockwise.
    #[schemars(length(min = 2, max = 3))]
    pub axis: Option<Vec<f64>>,
    /// Whether it acts on the rotation instead of the sliding.
    #[serde(default)]
    pub rotational: bool,
}

/// A spring and damper between points of two bodies, or of a body and the world. \[PAGT\] §9
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SpringEntry {
    /// Name, unique among springs.
    pub name: String,
    /// Names of the two bodies; the second end is in the world when one is named.
    #[schemars(length(min = 1, max = 2))]
    pub bodies: Vec<String>,
    /// The two points, each in coordinates of its body or of the world, in metres; the origins when
    /// it is not given.
    #[schemars(length(min = 2, max = 2))]
    pub points: Option<Vec<Vec<f64>>>,
    /// Stiffness in N/m, not negative.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub stiffness: f64,
    /// Damping in N s/m, not negative.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub damping: f64,
    /// Rest length in metres, not negative unless there is an axis; the length at the start when it
    /// is not given.
    pub rest_length: Option<f64>,
    /// Unit vector in world axes: the length is then that of the way from the second point to the
    /// first along it, with its sign.
    #[schemars(length(min = 2, max = 3))]
    pub axis: Option<Vec<f64>>,
    /// Force in N that must be overcome before the spring leaves its rest length, not negative.
    /// \[GS05\] (3) on displacement level
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0.0))]
    pub preload: f64,
}

/// A spring and damper of the rotation of a body relative to another one or to the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TorsionSpringEntry {
    /// Name, unique among springs.
    pub name: String,
    /// Names of the two bodies; the second is the world when one is named.
    #[schemars(length(min = 1, max = 2))]
    pub bodies: Vec<String>,
    /// Space only: unit vector in axes of the first body, with which it turns.
    #[schemars(length(min = 3, max = 3))]
    pub axis: Option<Vec<f64>>,
    /// Stiffness in N m/rad, not negative.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub stiffness: f64,
    /// Damping in N m s/rad, not negative.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub damping: f64,
    /// Angle of the first body relative to the second at which there is no torque, in radians; that
    /// at the start when it is not given.
    pub rest_angle: Option<f64>,
}

/// Two bodies, or two groups of bodies, that do not collide with each other. Exactly one of the
/// keys is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IgnoreEntry {
    /// Names of two bodies.
    #[schemars(length(min = 2, max = 2))]
    pub bodies: Option<Vec<String>>,
    /// Names of two groups; the same one twice for bodies of one group.
    #[schemars(length(min = 2, max = 2))]
    pub groups: Option<Vec<String>>,
}

/// A quantity that belongs to a rotation (an angular velocity, a torque): a number in the plane, a
/// vector in space.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Rotation {
    /// A number about z, in the plane.
    Plane(f64),
    /// Components along the axes, in space.
    Space(#[schemars(length(min = 3, max = 3))] Vec<f64>),
}

/// An inertia about the centre of mass, in kg m².
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum InertiaEntry {
    /// A number about z, in the plane.
    Plane(f64),
    /// The diagonal of the tensor, in space.
    Diagonal(#[schemars(length(min = 3, max = 3))] Vec<f64>),
    /// The rows of the tensor, in space.
    Full(#[schemars(length(min = 3, max = 3), inner(length(min = 3, max = 3)))] Vec<Vec<f64>>),
}

/// A number, a list, or a list of lists: what the two types above have in common.
enum Nested {
    Number(f64),
    List(Vec<Nested>),
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A visitor and not an untagged enum, which would lose the place of an error in the file.
        struct NestedVisitor;
        impl<'de> Visitor<'de> for NestedVisitor {
            type Value = Nested;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a list of numbers")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Nested, E> {
                Ok(Nested::Number(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Nested, E> {
                Ok(Nested::Number(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Nested, E> {
                Ok(Nested::Number(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Nested, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = sequence.next_element()? {
                    list.push(element);
                }
                Ok(Nested::List(list))
            }
        }
        deserializer.deserialize_any(NestedVisitor)
    }
}

/// All numbers of a list; none when there is a list among them.
fn numbers(list: &[Nested]) -> Option<Vec<f64>> {
    let number = |element: &Nested| match element {
        Nested::Number(value) => Some(*value),
        Nested::List(_) => None,
    };
    list.iter().map(number).collect()
}

impl<'de> Deserialize<'de> for Rotation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = match Nested::deserialize(deserializer)? {
            Nested::Number(value) => Some(Self::Plane(value)),
            Nested::List(list) => numbers(&list).map(Self::Space),
        };
        given.ok_or_else(|| Error::custom("expected a number in the plane, or a list of three in space"))
    }
}

impl<'de> Deserialize<'de> for InertiaEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = |element: &Nested| match element {
            Nested::List(row) => numbers(row),
            Nested::Number(_) => None,
        };
        let given = match Nested::deserialize(deserializer)? {
            Nested::Number(value) => Some(Self::Plane(value)),
            Nested::List(list) => match numbers(&list) {
                Some(diagonal) => Some(Self::Diagonal(diagonal)),
                None => list.iter().map(row).collect::<Option<_>>().map(Self::Full),
            },
        };
        let wanted = "expected a number in the plane, or a list of three numbers or of three lists of three in space";
        given.ok_or_else(|| Error::custom(wanted))
    }
}

impl Scene {
    /// How the contact problem of a step is solved, also where the scene does not say it. In the
    /// plane the pyramid is the cone.
    pub fn contact_method(&self) -> ContactMethod {
        match (&self.method, self.dimension) {
            (Some(method), _) => method.clone(),
            (None, Some(Dimension::Space)) => ContactMethod::Cone(ExactConeSettings::default()),
            (None, _) => ContactMethod::Pyramid(PyramidSettings::default()),
        }
    }

    /// The scene as a file, with every default written out. It reads back as an equal scene.
    ///
    /// # Panics
    /// Never for a scene that was loaded; when a record interval does not fit TOML's signed
    /// integers.
    pub fn to_toml(&self) -> String {
        count(Task::Print);
        let text = toml::to_string(self).expect("every scene has a form in TOML");
        let mut document: toml_edit::DocumentMut = text.parse().expect("what was written reads back");
        ShortNumbers.visit_document_mut(&mut document);
        if let Some(system) = document.get_mut("system").and_then(|item| item.as_table_mut()) {
            fold_tables(system);
            for key in ["mass", "damping", "stiffness"] {
                system.get_mut(key).into_iter().for_each(break_rows);
            }
        }
        // Shapes and oscillations on one line each, as one writes them by hand.
        for body in elements(document.get_mut("body")) {
            for shape in elements(body.get_mut("shape")) {
                fold_tables(shape);
            }
            if let Some(motion) = body.get_mut("motion").and_then(|item| item.as_table_mut()) {
                fold_tables(motion);
            }
        }
        elements(document.get_mut("joint")).for_each(fold_tables);
        elements(document.get_mut("pair")).for_each(fold_tables);
        document.to_string()
    }

    /// The JSON Schema of the scene format, for editors.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Scene).to_value()
    }
}

/// The tables of a list of tables.
fn elements(item: Option<&mut toml_edit::Item>) -> impl Iterator<Item = &mut toml_edit::Table> {
    item.and_then(|item| item.as_array_of_tables_mut()).into_iter().flat_map(|tables| tables.iter_mut())
}

/// Makes every table inside a table an inline one.
fn fold_tables(table: &mut toml_edit::Table) {
    for (mut key, item) in table.iter_mut() {
        if item.is_table() {
            item.make_value();
            key.leaf_decor_mut().clear();
        }
    }
}

/// Puts every row of a matrix on a line of its own.
fn break_rows(matrix: &mut toml_edit::Item) {
    let Some(rows) = matrix.as_array_mut().filter(|rows| rows.len() > 1) else { return };
    rows.iter_mut().for_each(|row| row.decor_mut().set_prefix("\n    "));
    rows.set_trailing("\n");
    rows.set_trailing_comma(true);
}

/// Writes very small and very large numbers with an exponent: 1e-11.
struct ShortNumbers;

impl VisitMut for ShortNumbers {
    fn visit_float_mut(&mut self, node: &mut toml_edit::Formatted<f64>) {
        const PLAIN: std::ops::Range<f64> = 1e-4..1e16;
        let number = *node.value();
        if number.is_finite() && number != 0.0 && !PLAIN.contains(&number.abs()) {
            let decor = node.decor().clone();
            let short: toml_edit::Value = format!("{number:e}").parse().expect("a number");
            if let toml_edit::Value::Float(short) = short {
                *node = short;
                *node.decor_mut() = decor;
            }
        }
    }
}

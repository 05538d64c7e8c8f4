//! The table `[system]` of the scene file: a system given by matrices, in place of bodies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_dynamics::{ImpactLaw, PhantomContact};

/// A system given by matrices: M dv/dt = f - C v - K q + forces of contacts, dry friction and
/// joints, with dq/dt = v. Rows are lists with one number per coordinate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemEntry {
    /// Names of the coordinates, made of letters, digits, `-` and `_`; the columns of their
    /// velocities begin with `v_`.
    #[schemars(length(min = 1))]
    pub coordinates: Vec<String>,
    /// Units of the coordinates, for pictures.
    pub units: Option<Vec<CoordinateUnit>>,
    /// Mass matrix M, row by row: symmetric and positive definite.
    pub mass: Vec<Vec<f64>>,
    /// Damping matrix C, row by row; zero when it is not given.
    pub damping: Option<Vec<Vec<f64>>>,
    /// Stiffness matrix K, row by row; zero when it is not given.
    pub stiffness: Option<Vec<Vec<f64>>>,
    /// Constant force f; zero when it is not given.
    pub force: Option<Vec<f64>>,
    /// The state at the start.
    #[serde(default)]
    pub start: SystemStart,
    /// The possible contacts.
    #[serde(default, rename = "contact", skip_serializing_if = "Vec::is_empty")]
    pub contacts: Vec<SystemContact>,
    /// Friction with a bound that no load changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry_friction: Vec<SystemFriction>,
    /// Sprag clutches and ratchets.
    #[serde(default, rename = "clutch", skip_serializing_if = "Vec::is_empty")]
    pub clutches: Vec<SystemClutch>,
    /// Pre-stressed springs.
    #[serde(default, rename = "pre-stressed-spring", skip_serializing_if = "Vec::is_empty")]
    pub springs: Vec<SystemSpring>,
    /// Conditions that hold at all times.
    #[serde(default, rename = "joint", skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<SystemJoint>,
}

/// The unit of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CoordinateUnit {
    /// Metres.
    #[serde(rename = "m")]
    Metre,
    /// Radians.
    #[serde(rename = "rad")]
    Radian,
}

/// The state of a system at the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemStart {
    /// The coordinates q; zeros when it is not given.
    pub position: Option<Vec<f64>>,
    /// The velocities v; zeros when it is not given.
    pub velocity: Option<Vec<f64>>,
}

/// A contact whose gap is `gap` + `normal` · q + `normal-drift` t.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemContact {
    /// Name, unique among contacts.
    pub name: String,
    /// Gap in metres where all coordinates and the time are zero.
    pub gap: f64,
    /// The row of the gap.
    pub normal: Vec<f64>,
    /// Rate of the gap that does not come from the coordinates, in m/s.
    #[serde(default)]
    pub normal_drift: f64,
    /// The rows of the sliding velocity: none, one in the plane, two in space.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    pub tangents: Vec<Vec<f64>>,
    /// Part of the sliding velocity that does not come from the coordinates in m/s, one number per
    /// tangent; zeros when it is not given.
    #[schemars(length(max = 2))]
    pub tangent_drift: Option<Vec<f64>>,
    /// Coefficient of friction, not negative.
    #[serde(default)]
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
    /// Lines and phantom inertia of this contact, for the method `phantom-inertia`.
    pub phantom_inertia: Option<PhantomContact>,
}

/// Dry friction with a bound that no load changes. \[ST96\] §3.5
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemFriction {
    /// Name, unique among them.
    pub name: String,
    /// The rows of the sliding velocity, one or two.
    #[schemars(length(min = 1, max = 2))]
    pub tangents: Vec<Vec<f64>>,
    /// Part of the sliding velocity that does not come from the coordinates, one number per
    /// tangent; zeros when it is not given.
    #[schemars(length(max = 2))]
    pub tangent_drift: Option<Vec<f64>>,
    /// Largest force in N, or torque in N m; not negative.
    #[schemars(range(min = 0.0))]
    pub bound: f64,
    /// The same against sliding backwards along the one tangent; `bound` when it is not given.
    /// \[GS05\] (4)
    #[schemars(range(min = 0.0))]
    pub bound_backwards: Option<f64>,
    /// The bound while it sticks, not below `bound`, which is then that of sliding and positive.
    #[schemars(range(min = 0.0))]
    pub static_bound: Option<f64>,
    /// Friction is a sum of these directions, with weights that are not negative and sum to the
    /// bound at most: one number per tangent.
    pub friction_directions: Option<Vec<Vec<f64>>>,
    /// Friction is bounded by these rows: each one times friction along the tangents is the bound
    /// at most.
    pub friction_half_spaces: Option<Vec<Vec<f64>>>,
}

/// A sprag clutch or ratchet: `row` · v + `drift` is never negative, whatever force that takes.
/// \[GS05\] (2) on velocity level
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemClutch {
    /// Name, unique among contacts and clutches.
    pub name: String,
    /// The row of the velocity that stays positive.
    pub row: Vec<f64>,
    /// Part of that velocity that does not come from the coordinates, in m/s or rad/s.
    #[serde(default)]
    pub drift: f64,
}

/// A pre-stressed spring: the force `preload` against x = `value` + `row` · q, whatever its size;
/// at x = 0 any force up to that. Its stiffness, if it has one, stands in the matrix. \[GS05\] (3)
/// on displacement level
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemSpring {
    /// Name, unique among them.
    pub name: String,
    /// x where all coordinates are zero, in m or rad.
    #[serde(default)]
    pub value: f64,
    /// The row of x.
    pub row: Vec<f64>,
    /// Force in N, or torque in N m; positive.
    #[schemars(range(min = 0.0))]
    pub preload: f64,
}

/// The condition `value` + `row` · q + `drift` t = 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemJoint {
    /// Name, unique among joints.
    pub name: String,
    /// Value of the condition where all coordinates and the time are zero, in m or rad.
    #[serde(default)]
    pub value: f64,
    /// The row of the condition; not a combination of the rows of other joints.
    pub row: Vec<f64>,
    /// Rate of the value that does not come from the coordinates, in m/s or rad/s: a drive.
    #[serde(default)]
    pub drift: f64,
}

//! Shapes of points and triangles in a scene file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scene::is_default;

/// A unit of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LengthUnit {
    /// Metres.
    #[serde(rename = "m")]
    Metre,
    /// Decimetres.
    #[serde(rename = "dm")]
    Decimetre,
    /// Centimetres.
    #[serde(rename = "cm")]
    Centimetre,
    /// Millimetres.
    #[serde(rename = "mm")]
    Millimetre,
    /// Micrometres.
    #[serde(rename = "um")]
    Micrometre,
    /// Inches of 25.4 mm.
    #[serde(rename = "in")]
    Inch,
    /// Feet of 12 inches.
    #[serde(rename = "ft")]
    Foot,
}

impl LengthUnit {
    /// Its length in metres.
    pub fn metres(self) -> f64 {
        match self {
            Self::Metre => 1.0,
            Self::Decimetre => 0.1,
            Self::Centimetre => 0.01,
            Self::Millimetre => 1e-3,
            Self::Micrometre => 1e-6,
            Self::Inch => 0.0254,
            Self::Foot => 0.3048,
        }
    }
}

/// A factor of one, which need not be written.
fn one() -> f64 {
    1.0
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

/// A cone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ConeEntry {
    /// Radius of the base in metres, positive.
    #[schemars(range(min = 0.0))]
    pub radius: f64,
    /// Distance from the base to the tip in metres, positive.
    #[schemars(range(min = 0.0))]
    pub height: f64,
}

/// The convex hull of points, or of a surface in a file. Exactly one of `points` and `file` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HullEntry {
    /// Points in metres, three numbers each, at least four that are not in one plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<[f64; 3]>>,
    /// Path of an STL, OBJ, PLY, glTF or DAE file, relative to the folder of the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Unit of the coordinates in the file; that which the file names, or metres, when it is not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<LengthUnit>,
    /// Factor on all lengths, positive.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 0.0))]
    pub scale: f64,
    /// Name of the one solid, object or node that is meant; all of them when it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Whether the centre of mass becomes the origin of the shape.
    #[serde(default, skip_serializing_if = "is_default")]
    pub centred: bool,
}

/// A surface of triangles in a file: of a body, closed; of a body that does not move freely it may be
/// open, terrain that is solid below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MeshEntry {
    /// Path of an STL, OBJ, PLY, glTF or DAE file, relative to the folder of the scene.
    pub file: String,
    /// Unit of the coordinates in the file; that which the file names, or metres, when it is not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<LengthUnit>,
    /// Factor on all lengths, positive.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 0.0))]
    pub scale: f64,
    /// Name of the one solid, object or node that is meant; all of them when it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Whether faults are repaired where that is possible; otherwise they are refused.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repair: bool,
    /// Whether the centre of mass becomes the origin of the shape.
    #[serde(default, skip_serializing_if = "is_default")]
    pub centred: bool,
}

/// Terrain over a rectangle around the origin of the shape. Exactly one of `heights` and `file` is
/// given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HeightFieldEntry {
    /// Lengths along x and y in metres, positive.
    pub size: [f64; 2],
    /// Rows of heights in metres: the first row is that of the lowest y, its first height that of the
    /// lowest x.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heights: Option<Vec<Vec<f64>>>,
    /// Path of a text with such rows, relative to the folder of the scene: numbers with spaces or
    /// commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Factor on the heights.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
}

/// A closed surface in a file as several convex hulls, which are nearly it. They are kept beside the
/// scene, in `.stiction-cache/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DecomposeEntry {
    /// Path of an STL, OBJ, PLY, glTF or DAE file, relative to the folder of the scene.
    pub file: String,
    /// Unit of the coordinates in the file; that which the file names, or metres, when it is not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<LengthUnit>,
    /// Factor on all lengths, positive.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 0.0))]
    pub scale: f64,
    /// Name of the one solid, object or node that is meant; all of them when it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Whether the centre of mass of the pieces becomes the origin of the shape.
    #[serde(default, skip_serializing_if = "is_default")]
    pub centred: bool,
    /// Most pieces, from 1 to 256.
    #[serde(default = "sixteen")]
    #[schemars(range(min = 1, max = 256))]
    pub pieces: u32,
    /// Largest share of the volume by which a piece may be hollow before it is divided, from 0 to 1.
    #[serde(default = "concavity")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub concavity: f64,
    /// Cells along the longest side, from 8 to 400: finer ones take longer and follow the surface
    /// more closely.
    #[serde(default = "sixty_four")]
    #[schemars(range(min = 8, max = 400))]
    pub resolution: u32,
}

fn sixteen() -> u32 {
    16
}

fn sixty_four() -> u32 {
    64
}

fn concavity() -> f64 {
    0.01
}

/// A convex polygon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PolygonEntry {
    /// Corners in metres, anticlockwise, at least three.
    #[schemars(length(min = 3))]
    pub points: Vec<[f64; 2]>,
}

/// A chain of segments, solid on its right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PolylineEntry {
    /// Corners in metres, at least two.
    #[schemars(length(min = 2))]
    pub points: Vec<[f64; 2]>,
    /// Whether the last point is joined to the first one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub closed: bool,
}

//! Friction directions in the tangent plane as people give them, and the friction sets that have
//! them for corners.

use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use stiction_solve::PortableMath as _;

use crate::setting::ValueError;
use crate::{ContactError, FrictionShape, Polytope};

/// Number of friction directions in space when nothing else is said: the octagon of \[ST96\].
const DEFAULT_DIRECTIONS: usize = 8;

/// Directions closer to each other than this, relative to their length, are the same.
const SAME_DIRECTION: f64 = 1e-12;

/// Sine and cosine of the 45 degrees at which the rings of the solid for torsion stand.
const RING_SHARE: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// The two directions of a single tangent.
pub(super) const LINE: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

/// Friction directions in the tangent plane: an even number of regular ones, or a list of pairs
/// along the two tangents.
///
/// A list may describe anisotropic friction: a direction of length 0.5 halves the friction along
/// it. With every direction its opposite must be there, \[ST96\] (13), and together they must span
/// the plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Directions {
    /// The regular polygon with this even number of corners, at least four; the first corner lies
    /// on the first tangent.
    Regular(usize),
    /// These corners.
    Given(Vec<[f64; 2]>),
}

/// Most friction directions of a contact. The polygon is then within 5e-6 of the circle; more only
/// take memory, and work that grows with their square.
pub const MOST_DIRECTIONS: usize = 1000;

impl Default for Directions {
    fn default() -> Self {
        Self::Regular(DEFAULT_DIRECTIONS)
    }
}

impl Directions {
    /// Checks the setting with this name.
    pub(super) fn check(&self, remedy: &str) -> Result<(), ValueError> {
        self.corners().map(drop).map_err(|error| ValueError::new("directions", error.to_string(), remedy))
    }

    /// The corners, checked.
    ///
    /// # Errors
    /// [`ContactError::Directions`] with what is wrong.
    pub fn corners(&self) -> Result<Vec<[f64; 2]>, ContactError> {
        let refuse = |reason: String| Err(ContactError::Directions(reason));
        match self {
            &Self::Regular(count) if count < 4 || count % 2 == 1 => {
                refuse(format!("{count} is not usable; take an even number of at least 4"))
            }
            &Self::Regular(count) if count > MOST_DIRECTIONS => {
                refuse(format!("{count} is more than the limit of {MOST_DIRECTIONS}; the exact cone is `method.cone`"))
            }
            &Self::Regular(count) => Ok(regular_polygon(count)),
            Self::Given(corners) if corners.len() > MOST_DIRECTIONS => {
                refuse(format!("{} are more than the limit of {MOST_DIRECTIONS}", corners.len()))
            }
            Self::Given(corners) => {
                let length = |d: [f64; 2]| d[0].portable_hypot(d[1]);
                for (i, &d) in corners.iter().enumerate() {
                    if !(length(d) > 0.0 && length(d).is_finite()) {
                        return refuse(format!(
                            "direction {i} is {d:?}; every direction needs a finite, positive length"
                        ));
                    }
                    let is_opposite = |e: &[f64; 2]| length([e[0] + d[0], e[1] + d[1]]) <= SAME_DIRECTION * length(d);
                    if !corners.iter().any(is_opposite) {
                        let opposite = d.map(|x| -x);
                        return refuse(format!(
                            "direction {i} is {d:?}, but its opposite {opposite:?} is not in the list"
                        ));
                    }
                }
                let is_across = |d: &&[f64; 2]| {
                    let first = corners[0];
                    let area = (first[0] * d[1] - first[1] * d[0]).abs();
                    area > SAME_DIRECTION * length(first) * length(**d)
                };
                if corners.iter().find(is_across).is_none() {
                    return refuse(format!("{} directions do not span the tangent plane", corners.len()));
                }
                Ok(corners.clone())
            }
        }
    }
}

/// The corners $(\cos 2\pi i/k, \sin 2\pi i/k)$. Opposite corners are exact opposites, and the axes
/// are exact.
pub(super) fn regular_polygon(count: usize) -> Vec<[f64; 2]> {
    let corner = |i: usize| {
        let (sine, cosine) = (std::f64::consts::TAU * i as f64 / count as f64).portable_sin_cos();
        if 4 * i == count { [0.0, 1.0] } else { [cosine, sine] }
    };
    with_opposites((0..count / 2).map(corner))
}

/// Some corners, and then their exact opposites.
pub(super) fn with_opposites(half: impl Iterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    let mut corners: Vec<[f64; 2]> = half.collect();
    let opposites: Vec<[f64; 2]> = corners.iter().map(|corner| corner.map(|x| -x)).collect();
    corners.extend(opposites);
    corners
}

impl<'de> Deserialize<'de> for Directions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A visitor and not an untagged enum, which would lose the place of an error in the file.
        struct DirectionsVisitor;
        impl<'de> Visitor<'de> for DirectionsVisitor {
            type Value = Directions;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "an even number of directions, or a list of pairs such as [[1, 0], [-1, 0], [0, 1], [0, -1]]",
                )
            }
            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<Directions, E> {
                usize::try_from(count).map(Directions::Regular).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Directions, E> {
                usize::try_from(count)
                    .map(Directions::Regular)
                    .map_err(|_| E::custom(format!("{count} friction directions; take an even number of at least 4")))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Directions, A::Error> {
                let mut corners = Vec::new();
                while let Some(corner) = sequence.next_element::<[f64; 2]>()? {
                    corners.push(corner);
                }
                Ok(Directions::Given(corners))
            }
        }
        let directions = deserializer.deserialize_any(DirectionsVisitor)?;
        directions.corners().map_err(D::Error::custom)?;
        Ok(directions)
    }
}

impl JsonSchema for Directions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Directions".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An even number of regular friction directions, or a list of pairs along the two tangents",
            "oneOf": [
                { "type": "integer", "minimum": 4, "multipleOf": 2 },
                { "type": "array", "items": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 } }
            ]
        })
    }
}

/// The corners of a polygon, and the friction sets with which it replaces those of laws, made when
/// someone asks.
#[derive(Clone, Debug)]
pub(super) struct Corners {
    pub plane: Vec<[f64; 2]>,
    /// Of the tangent plane, of the ellipsoid with torsion, of the prism.
    sets: [OnceLock<FrictionShape>; 3],
}

impl Corners {
    pub fn new(plane: Vec<[f64; 2]>) -> Self {
        Self { plane, sets: Default::default() }
    }

    /// The corners for this many tangent rows, of which there is no torsion.
    pub fn of(&self, tangent_count: usize) -> &[[f64; 2]] {
        match tangent_count {
            0 => &[],
            1 => &LINE,
            _ => &self.plane,
        }
    }

    /// The corners of a solid for three tangent rows, in units of the semi-axes.
    pub fn solid(&self, shape: &FrictionShape) -> impl Iterator<Item = [f64; 3]> {
        let is_prism = *shape == FrictionShape::DiscAndInterval;
        let [radius, height] = if is_prism { [1.0; 2] } else { [RING_SHARE; 2] };
        let plane =
            move |height: f64, radius: f64| self.plane.iter().map(move |&[t, o]| [radius * t, radius * o, height]);
        let middle = (!is_prism).then(|| plane(0.0, 1.0)).into_iter().flatten();
        let poles = (!is_prism).then_some([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]).into_iter().flatten();
        middle.chain(plane(height, radius)).chain(plane(-height, radius)).chain(poles)
    }

    /// The set with which a shape is replaced, for this many tangent rows.
    pub fn set<'a>(&'a self, tangent_count: usize, shape: &'a FrictionShape) -> &'a FrictionShape {
        let place = match (tangent_count, shape) {
            (_, FrictionShape::Polytope(_) | FrictionShape::Convex(_)) | (0 | 1, _) => return shape,
            (2, _) => 0,
            (_, FrictionShape::Ball) => 1,
            (_, FrictionShape::DiscAndInterval) => 2,
        };
        self.sets[place].get_or_init(|| {
            let corners = match place {
                0 => self.plane.iter().map(|&[t, o]| [t, o, 0.0]).collect(),
                _ => self.solid(shape).collect(),
            };
            FrictionShape::Polytope(Arc::new(Polytope::from_corners(corners).expect("the corners were checked")))
        })
    }

    /// Whether a shape is one of these sets.
    pub fn has_set(&self, shape: &FrictionShape) -> bool {
        self.sets.iter().any(|set| set.get() == Some(shape))
    }
}

//! Shapes, and the mass, centre and inertia that follow from them.
//!
//! A planar shape is embedded in the plane z = 0, so the same shapes serve both dimensions: what is
//! a sphere in space is a disc in the plane.
//!
//! Half-spaces, cavities, tubes and cylinders are infinite and have no mass of their own.
//! Half-spaces and cylinders are the surroundings of what moves freely. Cavities and tubes are
//! holes, which a moving body may have too: they matter only to what is in them, as a pin in a
//! bearing.

mod mesh;
mod mesh_check;
mod polygon;
pub(crate) mod polytope;
mod solid;

use std::sync::Arc;

use crate::collide::in_dimension;
use crate::pose::Pose;
use glamx::{DMat3, DQuat, DVec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use stiction_solve::PortableMath as _;

pub use mesh::{Bend, Mesh, MeshEdge, MeshFace, MeshFault};
pub(crate) use mesh::{NONE, crossing};
pub use mesh_check::{
    Census, CheckedSurface, Found, SurfaceError, SurfaceFault, SurfaceFaultKind, SurfaceRules, TriangleSurface,
};
pub use polygon::{Polygon, Polyline};
pub(crate) use polytope::{BoxCorners, View};
pub use polytope::{Edge, Face, HalfEdge, Polytope};

/// Largest accepted difference from one of the length of a unit vector or quaternion, relative. Too
/// large: gaps are off by this fraction. Too small: vectors written with few digits in a file are
/// refused.
const UNIT_TOLERANCE: f64 = 1e-9;

/// Whether a scene moves in the plane or in space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Motion in the plane z = 0, rotation about z only.
    Plane,
    /// Motion in space.
    Space,
}

impl Dimension {
    /// Number of axes along which bodies move.
    pub(crate) fn axes(self) -> usize {
        match self {
            Self::Plane => 2,
            Self::Space => 3,
        }
    }
}

/// A rigid shape in its own coordinates.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Everything on one side of a plane (in the plane: of a line): the points x with `normal`·x ≤
    /// `offset` are solid.
    HalfSpace {
        /// Unit vector out of the solid, in local axes; no unit. In the plane its z is zero.
        normal: DVec3,
        /// Distance of the surface from the local origin along `normal`, in metres.
        offset: f64,
    },
    /// A ball; in the plane, a disc. With radius zero it is a point.
    Sphere {
        /// Radius, in metres, positive or zero.
        radius: f64,
    },
    /// All points within `radius` of a segment on the local x axis: rounded ends. With radius zero
    /// it is the segment.
    Capsule {
        /// Half the length of the segment, without the rounded ends, in metres, positive.
        half_length: f64,
        /// Radius, in metres, positive or zero.
        radius: f64,
    },
    /// A box with edges along the local axes; in the plane, a rectangle.
    Cuboid {
        /// Half the edge lengths along x, y and z, in metres, positive. In the plane z is ignored.
        half_extents: DVec3,
    },
    /// An ellipsoid with axes along the local axes; in the plane, an ellipse.
    Ellipsoid {
        /// Half the lengths of the axes along x, y and z, in metres, positive. In the plane z is
        /// ignored.
        semi_axes: DVec3,
    },
    /// Everything outside of a ball; in the plane, of a disc: a hole, the surroundings of what
    /// rolls inside.
    Cavity {
        /// Radius of the hole, in metres, positive.
        radius: f64,
    },
    /// In space, all points within `radius` of the local x axis, and within `half_length` of the
    /// origin along it.
    Cylinder {
        /// Radius, in metres, positive.
        radius: f64,
        /// Half the length, in metres, positive; infinite for a cylinder without ends.
        half_length: f64,
    },
    /// In space, a cone around the local x axis, with its tip at $x$ = `half_height` and a base of
    /// `radius` at $x$ = -`half_height`.
    Cone {
        /// Radius of the base, in metres, positive.
        radius: f64,
        /// Half the height, in metres, positive.
        half_height: f64,
    },
    /// In space, all points farther than `radius` from the local x axis: a round hole without ends.
    Tube {
        /// Radius of the hole, in metres, positive.
        radius: f64,
    },
    /// In space, a convex polyhedron.
    Polytope(Arc<Polytope>),
    /// In space, a surface of triangles.
    Mesh(Arc<Mesh>),
    /// In the plane, a convex polygon.
    Polygon(Arc<Polygon>),
    /// In the plane, a chain of segments.
    Polyline(Arc<Polyline>),
}

impl Shape {
    /// The users' word for this shape: half-plane, disc, capsule, box, ellipse, ring, or
    /// half-space, sphere, capsule, box, ellipsoid, cavity, cylinder, tube.
    pub fn name(&self, dimension: Dimension) -> &'static str {
        match (self, dimension) {
            (Shape::HalfSpace { .. }, Dimension::Plane) => "half-plane",
            (Shape::HalfSpace { .. }, Dimension::Space) => "half-space",
            (Shape::Sphere { .. }, Dimension::Plane) => "disc",
            (Shape::Sphere { .. }, Dimension::Space) => "sphere",
            (Shape::Capsule { .. }, _) => "capsule",
            (Shape::Cuboid { .. }, _) => "box",
            (Shape::Ellipsoid { .. }, Dimension::Plane) => "ellipse",
            (Shape::Ellipsoid { .. }, Dimension::Space) => "ellipsoid",
            (Shape::Cavity { .. }, Dimension::Plane) => "ring",
            (Shape::Cavity { .. }, Dimension::Space) => "cavity",
            (Shape::Cylinder { .. }, _) => "cylinder",
            (Shape::Tube { .. }, _) => "tube",
            (Shape::Cone { .. }, _) => "cone",
            (Shape::Polytope(_), _) => "hull",
            (Shape::Mesh(_), _) => "mesh",
            (Shape::Polygon(_), _) => "polygon",
            (Shape::Polyline(_), _) => "polyline",
        }
    }

    /// Whether the shape has no end.
    pub fn is_infinite(&self) -> bool {
        match self {
            Shape::HalfSpace { .. } | Shape::Cavity { .. } | Shape::Tube { .. } => true,
            Shape::Cylinder { half_length, .. } => half_length.is_infinite(),
            _ => false,
        }
    }

    /// Whether the shape is a hole. It is infinite, but has no outside that could meet another
    /// infinite shape.
    pub fn is_hole(&self) -> bool {
        matches!(self, Shape::Cavity { .. } | Shape::Tube { .. })
    }

    /// Whether a body with this shape can move freely: it is finite, or a hole.
    pub fn may_move(&self) -> bool {
        !self.is_infinite() || self.is_hole()
    }

    /// Radius of a ball around the local origin that holds the shape, in metres.
    pub fn bounding_radius(&self) -> f64 {
        let farthest = |points: &[DVec3]| points.iter().map(|x| x.length()).fold(0.0, f64::max);
        match self {
            &Shape::Sphere { radius } => radius,
            &Shape::Capsule { half_length, radius } => half_length + radius,
            Shape::Cuboid { half_extents } => half_extents.length(),
            Shape::Ellipsoid { semi_axes } => semi_axes.max_element(),
            &Shape::Cylinder { radius, half_length } | &Shape::Cone { radius, half_height: half_length } => {
                radius.portable_hypot(half_length)
            }
            Shape::HalfSpace { .. } | Shape::Cavity { .. } | Shape::Tube { .. } => f64::INFINITY,
            Shape::Polytope(polytope) => farthest(&polytope.vertices),
            Shape::Mesh(mesh) => mesh.bounding_radius(),
            Shape::Polygon(polygon) => farthest(&polygon.vertices),
            Shape::Polyline(chain) => farthest(&chain.vertices),
        }
    }

    /// Centre and radius of a ball that holds the shape, in its own coordinates, in metres.
    pub fn bounding_ball(&self) -> (DVec3, f64) {
        let corners = match self {
            Shape::Polytope(polytope) => &polytope.vertices,
            Shape::Mesh(mesh) => &mesh.vertices,
            Shape::Polygon(polygon) => &polygon.vertices,
            Shape::Polyline(chain) => &chain.vertices,
            _ => return (DVec3::ZERO, self.bounding_radius()),
        };
        let (low, high) = corners.iter().fold((corners[0], corners[0]), |(low, high), &x| (low.min(x), high.max(x)));
        let centre = 0.5 * (low + high);
        (centre, corners.iter().map(|x| x.distance(centre)).fold(0.0, f64::max))
    }

    /// The point of the shape that is farthest along a direction, in its own coordinates, in metres;
    /// none where there is no end.
    pub fn farthest(&self, dimension: Dimension, direction: DVec3) -> Option<DVec3> {
        let of_points = |points: &[DVec3]| {
            let better = |best: DVec3, &x: &DVec3| if x.dot(direction) > best.dot(direction) { x } else { best };
            points.iter().fold(points[0], better)
        };
        let side = |x: f64| x.copysign(direction.x) * DVec3::X;
        let across = |radius: f64| radius * direction.with_x(0.0).normalize_or_zero();
        Some(match *self {
            Shape::Sphere { radius } => radius * direction.normalize_or_zero(),
            Shape::Capsule { half_length, radius } => side(half_length) + radius * direction.normalize_or_zero(),
            Shape::Cuboid { half_extents: e } => in_dimension(
                dimension,
                DVec3::new(e.x.copysign(direction.x), e.y.copysign(direction.y), e.z.copysign(direction.z)),
            ),
            Shape::Ellipsoid { semi_axes } => {
                let scaled = in_dimension(dimension, semi_axes * direction);
                in_dimension(dimension, semi_axes * scaled.normalize_or_zero())
            }
            Shape::Cylinder { radius, half_length } if half_length.is_finite() => side(half_length) + across(radius),
            Shape::Cone { radius, half_height } => {
                let rim = across(radius) - half_height * DVec3::X;
                let tip = half_height * DVec3::X;
                if tip.dot(direction) > rim.dot(direction) { tip } else { rim }
            }
            Shape::Polytope(ref polytope) => of_points(&polytope.vertices),
            Shape::Mesh(ref mesh) => of_points(&mesh.vertices),
            Shape::Polygon(ref polygon) => of_points(&polygon.vertices),
            Shape::Polyline(ref chain) => of_points(&chain.vertices),
            Shape::HalfSpace { .. } | Shape::Cavity { .. } | Shape::Cylinder { .. } | Shape::Tube { .. } => {
                return None;
            }
        })
    }

    /// Calls `then` with the corners, faces and edges of a box or hull in space.
    pub(crate) fn with_view<T>(&self, then: impl FnOnce(View) -> T) -> Option<T> {
        match self {
            Shape::Cuboid { half_extents } => Some(then(BoxCorners::new(*half_extents).view())),
            Shape::Polytope(polytope) => Some(then(polytope.view())),
            _ => None,
        }
    }

    /// Radius of a round shape, or of a hole, in metres.
    pub(crate) fn radius(&self) -> Option<f64> {
        match *self {
            Shape::Sphere { radius }
            | Shape::Capsule { radius, .. }
            | Shape::Cavity { radius }
            | Shape::Cylinder { radius, .. }
            | Shape::Tube { radius } => Some(radius),
            _ => None,
        }
    }

    /// Half the least thickness of the shape, in metres: the radius of what is round, the least
    /// half extent of others; zero for points and segments. Of a hole its radius, of a half-space
    /// infinite.
    pub fn thickness(&self, dimension: Dimension) -> f64 {
        match (self, dimension) {
            (Shape::Cuboid { half_extents: e } | Shape::Ellipsoid { semi_axes: e }, Dimension::Space) => {
                e.min_element()
            }
            (Shape::Cuboid { half_extents: e } | Shape::Ellipsoid { semi_axes: e }, Dimension::Plane) => e.x.min(e.y),
            (&Shape::Cylinder { radius, half_length }, _) => radius.min(half_length),
            // The radius of the ball that fits in.
            (&Shape::Cone { radius, half_height }, _) => {
                2.0 * half_height * radius / (radius + radius.portable_hypot(2.0 * half_height))
            }
            // The least width across one of its faces.
            (Shape::Polytope(hull), _) => {
                let across = |face: &polytope::Face| {
                    let heights = hull.vertices.iter().map(|x| face.offset - face.normal.dot(*x));
                    0.5 * heights.fold(0.0, f64::max)
                };
                hull.faces.iter().map(across).fold(f64::INFINITY, f64::min)
            }
            (Shape::Mesh(mesh), _) => mesh.thickness(),
            (Shape::Polygon(polygon), _) => 0.5 * polygon.width(),
            (Shape::Polyline(chain), _) => 0.5 * chain.shortest(),
            _ => self.radius().unwrap_or(f64::INFINITY),
        }
    }

    /// Refuses dimensions that are not finite or not positive, and half-space normals that are not
    /// of unit length.
    pub fn check(&self, dimension: Dimension) -> Result<(), ShapeError> {
        let shape = self.name(dimension);
        let positive = |field, value: f64| check_value(shape, field, value, value > 0.0, "positive and finite");
        let not_negative =
            |field, value: f64| check_value(shape, field, value, value >= 0.0, "zero or positive, and finite");
        let all_positive = |fields: [&'static str; 3], e: DVec3| {
            let used = fields.into_iter().zip(e.to_array()).take(dimension.axes());
            used.into_iter().try_for_each(|(field, value)| positive(field, value))
        };
        match *self {
            Shape::HalfSpace { normal, offset } => {
                check_value(shape, "offset", offset, true, "finite")?;
                check_unit(shape, "normal", normal.length())?;
                check_in_plane(shape, dimension, [("normal.z", normal.z)])
            }
            Shape::Sphere { radius } => not_negative("radius", radius),
            Shape::Capsule { half_length, radius } => {
                positive("half_length", half_length)?;
                not_negative("radius", radius)
            }
            Shape::Cuboid { half_extents } => {
                all_positive(["half_extents.x", "half_extents.y", "half_extents.z"], half_extents)
            }
            Shape::Ellipsoid { semi_axes } => all_positive(["semi_axes.x", "semi_axes.y", "semi_axes.z"], semi_axes),
            Shape::Cylinder { .. } | Shape::Tube { .. } | Shape::Cone { .. } | Shape::Polytope(_) | Shape::Mesh(_)
                if dimension == Dimension::Plane =>
            {
                Err(ShapeError::SpaceOnly { shape })
            }
            Shape::Cavity { radius } | Shape::Tube { radius } => positive("radius", radius),
            Shape::Cylinder { radius, half_length } => {
                positive("radius", radius)?;
                let holds = half_length > 0.0;
                if holds { Ok(()) } else { positive("half_length", half_length) }
            }
            Shape::Cone { radius, half_height } => {
                positive("radius", radius)?;
                positive("half_height", half_height)
            }
            Shape::Polygon(_) | Shape::Polyline(_) if dimension == Dimension::Space => {
                Err(ShapeError::PlaneOnly { shape })
            }
            // What they are made of was checked when they were built.
            Shape::Polytope(_) | Shape::Mesh(_) | Shape::Polygon(_) | Shape::Polyline(_) => Ok(()),
        }
    }
}

/// Refuses a number that is not finite, or not as it `must` be.
fn check_value(
    shape: &'static str,
    field: &'static str,
    value: f64,
    holds: bool,
    must: &'static str,
) -> Result<(), ShapeError> {
    if holds && value.is_finite() { Ok(()) } else { Err(ShapeError::Value { shape, field, value, must }) }
}

/// Refuses the length of a unit vector or quaternion that is another one.
fn check_unit(shape: &'static str, field: &'static str, length: f64) -> Result<(), ShapeError> {
    let is_unit = (length - 1.0).abs() <= UNIT_TOLERANCE;
    if is_unit { Ok(()) } else { Err(ShapeError::NotUnit { shape, field, length }) }
}

/// Refuses components that leave the plane.
fn check_in_plane<const N: usize>(
    shape: &'static str,
    dimension: Dimension,
    components: [(&'static str, f64); N],
) -> Result<(), ShapeError> {
    let inside = |(field, value): (_, f64)| check_value(shape, field, value, value == 0.0, "0 in the plane");
    if dimension == Dimension::Space { Ok(()) } else { components.into_iter().try_for_each(inside) }
}

/// A shape fixed to a body, somewhere else than at the body's origin.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedShape {
    /// The shape, in its own coordinates.
    pub shape: Shape,
    /// Origin of the shape, in body coordinates, in metres.
    pub position: DVec3,
    /// Unit quaternion from the shape's axes to the body's.
    pub orientation: DQuat,
}

impl PlacedShape {
    /// A shape whose own coordinates are the body's.
    pub fn centred(shape: Shape) -> Self {
        Self { shape, position: DVec3::ZERO, orientation: DQuat::IDENTITY }
    }

    /// Pose of the shape in the body.
    pub fn pose(&self) -> Pose {
        Pose { position: self.position, orientation: self.orientation }
    }

    /// Pose of the shape in the world, when the body has pose `body`.
    pub fn world_pose(&self, body: &Pose) -> Pose {
        body.compose(&self.pose())
    }

    /// [`Shape::check`], and refuses a position that is not finite, an orientation that is not of
    /// unit length, and, in the plane, either of them out of the plane.
    pub fn check(&self, dimension: Dimension) -> Result<(), ShapeError> {
        self.shape.check(dimension)?;
        let shape = self.shape.name(dimension);
        let DVec3 { x, y, z } = self.position;
        for (field, value) in [("position.x", x), ("position.y", y), ("position.z", z)] {
            check_value(shape, field, value, true, "finite")?;
        }
        check_unit(shape, "orientation", self.orientation.length())?;
        let DQuat { x, y, .. } = self.orientation;
        check_in_plane(shape, dimension, [("position.z", z), ("orientation.x", x), ("orientation.y", y)])
    }
}

/// Mass, centre of mass and inertia of a rigid body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Mass, in kilograms.
    pub mass: f64,
    /// Centre of mass, in body coordinates, in metres.
    pub centre: DVec3,
    /// Inertia about the centre of mass, in body axes, in kg m². In the plane only the last entry,
    /// about z, is set; the others are zero because nothing turns about them.
    pub inertia: DMat3,
}

impl MassProperties {
    /// Inertia about z through the centre of mass, in kg m²: all there is in the plane.
    pub fn planar_inertia(&self) -> f64 {
        self.inertia.z_axis.z
    }

    /// The same body with another mass in kilograms, spread in the same way: the inertia scales
    /// with it.
    pub fn with_mass(&self, mass: f64) -> Self {
        Self { mass, centre: self.centre, inertia: self.inertia * (mass / self.mass) }
    }
}

/// A shape from which nothing can be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// A length, a density or a coordinate has a value that means nothing.
    #[error("{shape}: {field} is {value}, must be {must}")]
    Value {
        /// The users' word for the shape.
        shape: &'static str,
        /// The field at fault.
        field: &'static str,
        /// Its value, in the unit of the field.
        value: f64,
        /// What it must be.
        must: &'static str,
    },
    /// A unit vector or unit quaternion has another length.
    #[error("{shape}: {field} has length {length}, must be 1")]
    NotUnit {
        /// The users' word for the shape.
        shape: &'static str,
        /// The field at fault.
        field: &'static str,
        /// Its length, without unit.
        length: f64,
    },
    /// A shape that only space has, in the plane.
    #[error("{shape}: there is none in the plane")]
    SpaceOnly {
        /// The users' word for the shape.
        shape: &'static str,
    },
    /// A shape that only the plane has, in space.
    #[error("{shape}: there is none in space")]
    PlaneOnly {
        /// The users' word for the shape.
        shape: &'static str,
    },
    /// The shape has no finite positive volume (in the plane: area), so a density gives it no mass.
    #[error("{shape}: a density gives no mass to this shape, whose {extent} is {value}")]
    NoMass {
        /// The users' word for the shape.
        shape: &'static str,
        /// "volume" or "area".
        extent: &'static str,
        /// The volume in m³, or the area in m².
        value: f64,
    },
    /// Triangles that are no surface.
    #[error("mesh: {0}")]
    Mesh(MeshFault),
    /// A point of a polygon or polyline that cannot be where it is.
    #[error("{shape}: point {number} at ({x}, {y}) {what}; points are counted from 0")]
    Corner {
        /// The users' word for the shape.
        shape: &'static str,
        /// Which of the points.
        number: usize,
        /// Where it is, in metres.
        x: f64,
        /// Where it is, in metres.
        y: f64,
        /// What is wrong there.
        what: &'static str,
    },
    /// Points that enclose nothing.
    #[error("{shape}: the points have no area or length; give corners that are not all on one line")]
    NoArea {
        /// The users' word for the shape.
        shape: &'static str,
    },
    /// Points of which there is no convex hull.
    #[error("hull: {message}")]
    NoHull {
        /// What is wrong with them, and what to do.
        message: String,
    },
    /// Mass properties of no shape at all.
    #[error("no shapes to compute a mass from")]
    NoShapes,
}

/// Mass, centre and inertia of one shape of uniform density, in the shape's own coordinates.
///
/// The density is in kg/m³ in space and in kg/m² in the plane. Infinite shapes, and spheres and
/// capsules of radius zero, have no mass to give: that is an error.
pub fn mass_properties(shape: &Shape, dimension: Dimension, density: f64) -> Result<MassProperties, ShapeError> {
    shape.check(dimension)?;
    let name = shape.name(dimension);
    check_value(name, "density", density, density > 0.0, "positive and finite")?;
    let solid = match shape {
        Shape::Polytope(hull) => Some(solid::enclosed_by_triangles(&hull.vertices, hull.triangles())),
        Shape::Mesh(mesh) => Some(solid::enclosed_by_triangles(&mesh.vertices, mesh.triangles.iter().copied())),
        Shape::Polygon(polygon) => Some(solid::enclosed_by_polygon(&polygon.vertices)),
        Shape::Polyline(chain) if chain.is_closed => Some(solid::enclosed_by_chain(&chain.vertices)),
        _ => None,
    };
    let unit = solid.unwrap_or_else(|| of_closed_form(shape, dimension));
    let mass = density * unit.mass;
    if !(mass > 0.0 && mass.is_finite()) {
        let extent = match dimension {
            Dimension::Plane => "area",
            Dimension::Space => "volume",
        };
        return Err(ShapeError::NoMass { shape: name, extent, value: unit.mass });
    }
    Ok(MassProperties { mass, inertia: unit.inertia * density, ..unit })
}

/// Those of unit density of the shapes that have formulas; infinite for those without end.
fn of_closed_form(shape: &Shape, dimension: Dimension) -> MassProperties {
    let mut centre = DVec3::ZERO;
    let (mass, diagonal) = match (shape, dimension) {
        (&Shape::Sphere { radius: r }, Dimension::Space) => {
            let mass = 4.0 / 3.0 * PI * r.powi(3);
            (mass, DVec3::splat(0.4 * mass * r * r))
        }
        (&Shape::Sphere { radius: r }, Dimension::Plane) => {
            let mass = PI * r * r;
            (mass, DVec3::new(0.0, 0.0, 0.5 * mass * r * r))
        }

        // A cylinder and two half-balls. The centroid of a half-ball is 3r/8 from its flat side, so
        // moving the halves apart by ±a adds a² + 2a·3r/8 to 2/5 r², the value of the whole ball.
        (&Shape::Capsule { half_length: a, radius: r }, Dimension::Space) => {
            let cylinder = 2.0 * a * PI * r * r;
            let ball = 4.0 / 3.0 * PI * r.powi(3);
            let along = (0.5 * cylinder + 0.4 * ball) * r * r;
            let across = cylinder * (r * r / 4.0 + a * a / 3.0) + ball * (0.4 * r * r + a * a + 0.75 * a * r);
            (cylinder + ball, DVec3::new(along, across, across))
        }
        // A rectangle and two half-discs, whose centroids are 4r/(3π) from their straight sides.
        (&Shape::Capsule { half_length: a, radius: r }, Dimension::Plane) => {
            let rectangle = 4.0 * a * r;
            let disc = PI * r * r;
            let inertia = rectangle * (a * a + r * r) / 3.0 + disc * (0.5 * r * r + a * a + 8.0 * a * r / (3.0 * PI));
            (rectangle + disc, DVec3::new(0.0, 0.0, inertia))
        }

        (&Shape::Cuboid { half_extents: e }, Dimension::Space) => {
            let mass = 8.0 * e.x * e.y * e.z;
            let s = e * e;
            (mass, DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (mass / 3.0))
        }
        (&Shape::Cuboid { half_extents: e }, Dimension::Plane) => {
            let mass = 4.0 * e.x * e.y;
            (mass, DVec3::new(0.0, 0.0, mass * (e.x * e.x + e.y * e.y) / 3.0))
        }

        // A ball and a disc, stretched.
        (&Shape::Ellipsoid { semi_axes: e }, Dimension::Space) => {
            let mass = 4.0 / 3.0 * PI * e.x * e.y * e.z;
            let s = e * e;
            (mass, DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (mass / 5.0))
        }
        (&Shape::Ellipsoid { semi_axes: e }, Dimension::Plane) => {
            let mass = PI * e.x * e.y;
            (mass, DVec3::new(0.0, 0.0, mass * (e.x * e.x + e.y * e.y) / 4.0))
        }

        (&Shape::Cylinder { radius: r, half_length: a }, _) => {
            let mass = 2.0 * a * PI * r * r;
            let across = mass * (r * r / 4.0 + a * a / 3.0);
            (mass, DVec3::new(0.5 * mass * r * r, across, across))
        }
        // Of the height H = 2 a the centre is H/4 above the base, and about it across the axis
        // 3/20 m r² + 3/80 m H².
        (&Shape::Cone { radius: r, half_height: a }, _) => {
            let mass = 2.0 * a * PI * r * r / 3.0;
            centre.x = -0.5 * a;
            let across = mass * (0.15 * r * r + 0.15 * a * a);
            (mass, DVec3::new(0.3 * mass * r * r, across, across))
        }
        _ => (f64::INFINITY, DVec3::ZERO),
    };
    MassProperties { mass, centre, inertia: DMat3::from_diagonal(diagonal) }
}

/// Mass, centre and inertia of a body made of several shapes, each with its density (kg/m³ in
/// space, kg/m² in the plane).
///
/// The shapes are turned into body axes and moved to the common centre with the parallel-axis
/// theorem. Where two shapes overlap, the overlap counts twice.
pub fn combined_mass_properties(
    parts: &[(PlacedShape, f64)],
    dimension: Dimension,
) -> Result<MassProperties, ShapeError> {
    let mut own = Vec::with_capacity(parts.len());
    let mut mass = 0.0;
    let mut moment = DVec3::ZERO;
    for (placed, density) in parts {
        placed.check(dimension)?;
        let part = mass_properties(&placed.shape, dimension, *density)?;
        // A rotation about z leaves the planar inertia, about z, as it is, and mixes only the
        // zeros.
        let rotation = DMat3::from_quat(placed.orientation);
        let inertia = rotation * part.inertia * rotation.transpose();
        mass += part.mass;
        let position = placed.pose().transform_point(part.centre);
        moment += part.mass * position;
        own.push((part.mass, position, inertia));
    }
    if own.is_empty() {
        return Err(ShapeError::NoShapes);
    }

    let centre = moment / mass;
    let mut inertia = DMat3::ZERO;
    for (part_mass, position, part_inertia) in own {
        // Parallel axes: I + m (|d|² 1 - d dᵀ), of which the plane keeps the last entry.
        let d = position - centre;
        let shift = match dimension {
            Dimension::Space => {
                DMat3::from_diagonal(DVec3::splat(d.length_squared())) - DMat3::from_cols(d * d.x, d * d.y, d * d.z)
            }
            Dimension::Plane => DMat3::from_diagonal(DVec3::new(0.0, 0.0, d.length_squared())),
        };
        inertia += part_inertia + shift * part_mass;
    }
    Ok(MassProperties { mass, centre, inertia })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    fn assert_relative(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
    }

    fn assert_matrix(a: DMat3, b: DMat3, tolerance: f64) {
        let worst = (a - b).to_cols_array().into_iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(worst <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn names_are_the_users_words() {
        let half_space = Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 };
        let sphere = Shape::Sphere { radius: 1.0 };
        let cuboid = Shape::Cuboid { half_extents: DVec3::ONE };
        assert_eq!(half_space.name(Dimension::Plane), "half-plane");
        assert_eq!(half_space.name(Dimension::Space), "half-space");
        assert_eq!(sphere.name(Dimension::Plane), "disc");
        assert_eq!(sphere.name(Dimension::Space), "sphere");
        assert_eq!(cuboid.name(Dimension::Plane), "box");
        let ellipsoid = Shape::Ellipsoid { semi_axes: DVec3::ONE };
        assert_eq!((ellipsoid.name(Dimension::Plane), ellipsoid.name(Dimension::Space)), ("ellipse", "ellipsoid"));
        let cavity = Shape::Cavity { radius: 1.0 };
        assert_eq!((cavity.name(Dimension::Plane), cavity.name(Dimension::Space)), ("ring", "cavity"));
    }

    #[test]
    fn ellipsoid_and_ellipse_by_hand() {
        // Semi-axes 1, 2, 3, density 5/(4π): mass 5/3·6 = 10; inertia 10/5·(4 + 9, 9 + 1, 1 + 4) =
        // (26, 20, 10).
        let ellipsoid = Shape::Ellipsoid { semi_axes: DVec3::new(1.0, 2.0, 3.0) };
        let m = mass_properties(&ellipsoid, Dimension::Space, 1.25 / PI).unwrap();
        assert_relative(m.mass, 10.0, 1e-15);
        assert_matrix(m.inertia, DMat3::from_diagonal(DVec3::new(26.0, 20.0, 10.0)), 1e-13);
        // In the plane the depth plays no part: mass 2, inertia 2/4·(1 + 4) = 2.5 with density 1/π.
        let ellipse = Shape::Ellipsoid { semi_axes: DVec3::new(1.0, 2.0, f64::NAN) };
        let m = mass_properties(&ellipse, Dimension::Plane, 1.0 / PI).unwrap();
        assert_relative(m.mass, 2.0, 1e-15);
        assert_relative(m.planar_inertia(), 2.5, 1e-15);
        // With equal axes it is a ball, of whatever radius.
        let ball = mass_properties(&Shape::Sphere { radius: 0.3 }, Dimension::Space, 7.0).unwrap();
        let round = mass_properties(&Shape::Ellipsoid { semi_axes: DVec3::splat(0.3) }, Dimension::Space, 7.0).unwrap();
        assert_relative(ball.mass, round.mass, 1e-15);
        assert_matrix(ball.inertia, round.inertia, 1e-15);
    }

    #[test]
    fn ball_disc_and_box_by_hand() {
        // Sphere r = 3, density 1/π: mass 4/3·27 = 36, inertia 2/5·36·9 = 129.6.
        let sphere = Shape::Sphere { radius: 3.0 };
        let m = mass_properties(&sphere, Dimension::Space, 1.0 / PI).unwrap();
        assert_relative(m.mass, 36.0, 1e-15);
        assert_matrix(m.inertia, DMat3::from_diagonal(DVec3::splat(129.6)), 1e-12);
        // Disc r = 3, density 1/π: mass 9, inertia 9·9/2 = 40.5.
        let m = mass_properties(&sphere, Dimension::Plane, 1.0 / PI).unwrap();
        assert_relative(m.mass, 9.0, 1e-15);
        assert_relative(m.planar_inertia(), 40.5, 1e-15);
        // Box with edges 2, 4, 6, density 0.5: mass 24, inertia 24/12·(16+36, 36+4, 4+16) = (104,
        // 80, 40).
        let cuboid = Shape::Cuboid { half_extents: DVec3::new(1.0, 2.0, 3.0) };
        let m = mass_properties(&cuboid, Dimension::Space, 0.5).unwrap();
        assert_relative(m.mass, 24.0, 1e-15);
        assert_matrix(m.inertia, DMat3::from_diagonal(DVec3::new(104.0, 80.0, 40.0)), 1e-12);
        // Rectangle 2 by 4, density 0.5: mass 4, inertia 4/12·(4+16) = 20/3. The depth plays no
        // part.
        let flat = Shape::Cuboid { half_extents: DVec3::new(1.0, 2.0, f64::NAN) };
        let m = mass_properties(&flat, Dimension::Plane, 0.5).unwrap();
        assert_relative(m.mass, 4.0, 1e-15);
        assert_matrix(m.inertia, DMat3::from_diagonal(DVec3::new(0.0, 0.0, 20.0 / 3.0)), 1e-12);
        assert_relative(m.with_mass(6.0).planar_inertia(), 10.0, 1e-15);
    }

    #[test]
    fn capsule_matches_quadrature() {
        // Slices across the axis, midpoint rule. In space a slice is a disc with area πρ² and
        // moments πρ⁴/2 along and πρ⁴/4 across; in the plane a segment of length 2ρ with moment
        // 2ρ³/3. The square root at the tips makes the planar rule of order 3/2 in the width of a
        // slice: (1e-5)^1.5 = 3e-8.
        for (a, r) in [(0.5, 0.2), (0.1, 0.7), (2.0, 0.05)] {
            let count = 200_000;
            let dx = 2.0 * (a + r) / count as f64;
            let (mut volume, mut along, mut across) = (0.0, 0.0, 0.0);
            let (mut area, mut planar) = (0.0, 0.0);
            for slice in 0..count {
                let x = -(a + r) + (slice as f64 + 0.5) * dx;
                let beyond = (x.abs() - a).max(0.0);
                let rho = (r * r - beyond * beyond).sqrt();
                volume += PI * rho.powi(2) * dx;
                along += PI * rho.powi(4) / 2.0 * dx;
                across += (PI * rho.powi(4) / 4.0 + PI * rho * rho * x * x) * dx;
                area += 2.0 * rho * dx;
                planar += (2.0 * rho.powi(3) / 3.0 + 2.0 * rho * x * x) * dx;
            }
            let capsule = Shape::Capsule { half_length: a, radius: r };
            let m = mass_properties(&capsule, Dimension::Space, 3.0).unwrap();
            assert_relative(m.mass, 3.0 * volume, 1e-7);
            assert_relative(m.inertia.x_axis.x, 3.0 * along, 1e-7);
            assert_relative(m.inertia.y_axis.y, 3.0 * across, 1e-7);
            assert_relative(m.inertia.z_axis.z, 3.0 * across, 1e-7);
            let m = mass_properties(&capsule, Dimension::Plane, 3.0).unwrap();
            assert_relative(m.mass, 3.0 * area, 1e-7);
            assert_relative(m.planar_inertia(), 3.0 * planar, 1e-7);
        }
    }

    #[test]
    fn two_half_boxes_make_a_box() {
        // A box of edges 4, 2, 2 cut in two cubes at x = ±1, then carried elsewhere and turned a
        // quarter about z: the centre is where it was carried to, and the inertias about x and y
        // change places.
        let turn = DQuat::from_rotation_z(FRAC_PI_2);
        let place = DVec3::new(5.0, -3.0, 2.0);
        let cube = Shape::Cuboid { half_extents: DVec3::ONE };
        let part = |x: f64| PlacedShape {
            shape: cube.clone(),
            position: place + turn * DVec3::new(x, 0.0, 0.0),
            orientation: turn,
        };
        let parts = [(part(1.0), 0.5), (part(-1.0), 0.5)];
        let m = combined_mass_properties(&parts, Dimension::Space).unwrap();
        // Mass 0.5·16 = 8; 8/12·(2²+2²) = 16/3 about the long axis, 8/12·(4²+2²) = 40/3 about the
        // others.
        assert_relative(m.mass, 8.0, 1e-15);
        assert!((m.centre - place).length() < 1e-14);
        assert_matrix(m.inertia, DMat3::from_diagonal(DVec3::new(40.0, 16.0, 40.0) / 3.0), 1e-13);
    }

    #[test]
    fn an_oblique_part_by_hand() {
        // Spheres of mass 4π/3 at ±(1, 1, 0): each 2/5 m, and m (|d|² 1 - d dᵀ) twice: products of
        // inertia -2m.
        let m = 4.0 * PI / 3.0;
        let part = |s: f64| PlacedShape {
            shape: Shape::Sphere { radius: 1.0 },
            position: DVec3::new(s, s, 0.0),
            orientation: DQuat::from_rotation_x(0.4),
        };
        let body = combined_mass_properties(&[(part(1.0), 1.0), (part(-1.0), 1.0)], Dimension::Space).unwrap();
        let expected = DMat3::from_cols(
            DVec3::new(2.8 * m, -2.0 * m, 0.0),
            DVec3::new(-2.0 * m, 2.8 * m, 0.0),
            DVec3::new(0.0, 0.0, 4.8 * m),
        );
        assert_matrix(body.inertia, expected, 1e-13);
    }

    #[test]
    fn planar_parts_by_hand() {
        // Two discs of radius 1 with densities 1/π and 3/π at (0, 0) and (4, 0): masses 1 and 3,
        // centre (3, 0), inertia 1/2 + 1·9 + 3/2 + 3·1 = 14.
        let part = |x: f64| PlacedShape {
            shape: Shape::Sphere { radius: 1.0 },
            position: DVec3::new(x, 0.0, 0.0),
            orientation: DQuat::from_rotation_z(1.0),
        };
        let parts = [(part(0.0), 1.0 / PI), (part(4.0), 3.0 / PI)];
        let body = combined_mass_properties(&parts, Dimension::Plane).unwrap();
        assert_relative(body.mass, 4.0, 1e-15);
        assert!((body.centre - DVec3::new(3.0, 0.0, 0.0)).length() < 1e-15);
        assert_matrix(body.inertia, DMat3::from_diagonal(DVec3::new(0.0, 0.0, 14.0)), 1e-13);
    }

    #[test]
    fn mistakes_are_named() {
        let message = |shape: Shape, dimension| shape.check(dimension).unwrap_err().to_string();
        assert_eq!(
            message(Shape::Sphere { radius: -0.5 }, Dimension::Plane),
            "disc: radius is -0.5, must be zero or positive, and finite"
        );
        assert_eq!(
            message(Shape::Sphere { radius: f64::NAN }, Dimension::Space),
            "sphere: radius is NaN, must be zero or positive, and finite"
        );
        assert_eq!(
            message(Shape::Capsule { half_length: 0.0, radius: 1.0 }, Dimension::Space),
            "capsule: half_length is 0, must be positive and finite"
        );
        assert_eq!(
            message(Shape::Capsule { half_length: 1.0, radius: -1.0 }, Dimension::Space),
            "capsule: radius is -1, must be zero or positive, and finite"
        );
        assert_eq!(
            message(Shape::Cuboid { half_extents: DVec3::new(1.0, 2.0, 0.0) }, Dimension::Space),
            "box: half_extents.z is 0, must be positive and finite"
        );
        assert_eq!(
            message(Shape::HalfSpace { normal: DVec3::new(0.0, 2.0, 0.0), offset: 0.0 }, Dimension::Plane),
            "half-plane: normal has length 2, must be 1"
        );
        assert_eq!(
            message(Shape::HalfSpace { normal: DVec3::Z, offset: 0.0 }, Dimension::Plane),
            "half-plane: normal.z is 1, must be 0 in the plane"
        );
        assert_eq!(
            message(Shape::HalfSpace { normal: DVec3::Z, offset: f64::INFINITY }, Dimension::Space),
            "half-space: offset is inf, must be finite"
        );
        assert!(Shape::Capsule { half_length: 1.0, radius: 0.0 }.check(Dimension::Plane).is_ok());
        assert!(Shape::Sphere { radius: 0.0 }.check(Dimension::Plane).is_ok());
        assert_eq!(
            message(Shape::Cavity { radius: 0.0 }, Dimension::Plane),
            "ring: radius is 0, must be positive and finite"
        );
        assert_eq!(message(Shape::Tube { radius: 1.0 }, Dimension::Plane), "tube: there is none in the plane");
        assert_eq!(
            message(Shape::Ellipsoid { semi_axes: DVec3::new(1.0, 0.0, 1.0) }, Dimension::Space),
            "ellipsoid: semi_axes.y is 0, must be positive and finite"
        );

        let no_mass =
            |shape: Shape, density| mass_properties(&shape, Dimension::Plane, density).unwrap_err().to_string();
        assert_eq!(
            no_mass(Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 }, 1.0),
            "half-plane: a density gives no mass to this shape, whose area is inf"
        );
        assert_eq!(
            no_mass(Shape::Capsule { half_length: 1.0, radius: 0.0 }, 1.0),
            "capsule: a density gives no mass to this shape, whose area is 0"
        );
        assert_eq!(
            no_mass(Shape::Cavity { radius: 1.0 }, 1.0),
            "ring: a density gives no mass to this shape, whose area is inf"
        );
        assert_eq!(no_mass(Shape::Sphere { radius: 1.0 }, 0.0), "disc: density is 0, must be positive and finite");
        assert_eq!(combined_mass_properties(&[], Dimension::Space), Err(ShapeError::NoShapes));

        let mut placed = PlacedShape::centred(Shape::Sphere { radius: 1.0 });
        placed.orientation = DQuat::from_rotation_x(0.1);
        assert!(placed.check(Dimension::Space).is_ok());
        assert!(matches!(placed.check(Dimension::Plane), Err(ShapeError::Value { field: "orientation.x", .. })));
        placed.orientation = DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0);
        assert!(matches!(placed.check(Dimension::Space), Err(ShapeError::NotUnit { field: "orientation", .. })));
        placed.position.y = f64::NAN;
        assert!(matches!(placed.check(Dimension::Space), Err(ShapeError::Value { field: "position.y", .. })));
    }
}

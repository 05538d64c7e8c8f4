//! Convex polygons in the plane, and chains of segments.

use glamx::DVec3;

/// A convex polygon in the plane z = 0: corners anticlockwise, no three of them on a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    pub(crate) vertices: Vec<DVec3>,
}

/// A chain of segments in the plane z = 0, solid on its right: the surface of terrain from left to
/// right has the air on its left, above it. A chain whose ends meet, anticlockwise, is a body that
/// need not be convex; clockwise, it is the inside of a room.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyline {
    pub(crate) vertices: Vec<DVec3>,
    pub(crate) is_closed: bool,
}

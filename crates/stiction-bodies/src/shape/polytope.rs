//! Convex polyhedra: their corners, edges and faces, and how these hang together.
//!
//! Faces are merged: all corners of a plane belong to one face, however it was triangulated. So the
//! numbers of features do not depend on the triangulation.

use glamx::DVec3;

/// A convex polyhedron in its own coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Polytope {
    pub(crate) vertices: Vec<DVec3>,
    pub(crate) faces: Vec<Face>,
    pub(crate) half_edges: Vec<HalfEdge>,
    pub(crate) edges: Vec<Edge>,
}

/// A face: a plane and the half-edges around it, anticlockwise seen from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face {
    /// Unit normal out of the polyhedron.
    pub normal: DVec3,
    /// Distance of the plane from the origin along the normal, in metres.
    pub offset: f64,
    /// Its half-edges are `first..first + count`.
    pub first: u32,
    /// Number of its corners.
    pub count: u32,
}

/// An edge as one of its two faces sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfEdge {
    /// The corner where it begins; it ends where the next one of the face begins.
    pub vertex: u32,
    /// The face.
    pub face: u32,
    /// The edge.
    pub edge: u32,
}

/// An edge between two corners and two faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its ends.
    pub vertices: [u32; 2],
    /// The faces on its two sides: seen from outside with the first vertex below and the second
    /// above, left and right.
    pub faces: [u32; 2],
}

impl Polytope {
    /// The faces as fans of triangles.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.faces.iter().flat_map(move |face| {
            let corner = move |i: u32| self.half_edges[(face.first + i) as usize].vertex;
            (2..face.count).map(move |i| [corner(0), corner(i - 1), corner(i)])
        })
    }
}

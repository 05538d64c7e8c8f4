//! Surfaces of triangles: closed ones are bodies, open ones are terrain, solid below.

use glamx::DVec3;

/// A surface of triangles, anticlockwise seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    pub(crate) vertices: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
}

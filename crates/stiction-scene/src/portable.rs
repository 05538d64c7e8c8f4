//! A scene without files: what a run folder keeps, so that it can be run again when the files are
//! gone or have changed.
//!
//! Hulls become lists of their corners. Surfaces are written beside the scene as they were used, in
//! metres and after repairs, each number with all its bits, under a name that is a hash of the
//! content. So the hash of such a scene is one of its surfaces, too.

use sha2::{Digest, Sha256};
use stiction_bodies::{Shape, TriangleSurface};

use crate::load::Loaded;
use crate::mesh_file::write_ply;
use crate::scene::{HullEntry, MeshEntry, Scene};
use crate::summary::hexadecimal;

/// The folder of the surfaces of a scene without files.
pub(crate) const SURFACES: &str = "surfaces";

/// Digits of the name of a surface.
const DIGITS: usize = 24;

/// Whether a surface of a scene without files may have this name.
pub(crate) fn is_surface_name(name: &str) -> bool {
    let digits = name.strip_suffix(".ply");
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

impl Loaded {
    /// The scene without files of others, and the files that it names instead: their paths relative
    /// to the folder of the scene, and their bytes.
    pub fn portable(&self) -> (Scene, Vec<(String, Vec<u8>)>) {
        let mut scene = self.scene().clone();
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        (scene.allow_outside, scene.folder) = (false, None);
        let bodies = self.system().bodies().map_or(&[][..], |bodies| &bodies.model().bodies);
        let shapes = scene.bodies.iter_mut().flat_map(|body| &mut body.shapes);
        for (entry, shape) in shapes.zip(bodies.iter().flat_map(|body| &body.shapes)) {
            match &shape.placed.shape {
                Shape::Polytope(hull) if entry.hull.as_ref().is_some_and(|hull| hull.file.is_some()) => {
                    let points = hull.vertices().iter().map(|x| x.to_array()).collect();
                    let Some(entry) = &mut entry.hull else { continue };
                    *entry = HullEntry {
                        points: Some(points),
                        file: None,
                        unit: None,
                        scale: 1.0,
                        part: None,
                        centred: false,
                    };
                }
                Shape::Mesh(mesh) if entry.mesh.is_some() => {
                    let (vertices, triangles) = (mesh.vertices().to_vec(), mesh.triangles().to_vec());
                    let bytes = write_ply(&TriangleSurface { vertices, triangles });
                    let hash = hexadecimal(Sha256::new_with_prefix(&bytes));
                    let file = format!("{SURFACES}/{}.ply", &hash[..DIGITS]);
                    if !files.iter().any(|(name, _)| *name == file) {
                        files.push((file.clone(), bytes));
                    }
                    let plain = MeshEntry { file, unit: None, scale: 1.0, part: None, repair: false, centred: false };
                    entry.mesh = Some(plain);
                }
                Shape::Mesh(mesh) => {
                    let Some(field) = entry.height_field.as_mut().filter(|field| field.file.is_some()) else {
                        continue;
                    };
                    // Rows of one y, in the order in which they were made.
                    let rows = mesh.vertices().chunk_by(|a, b| a.y == b.y);
                    field.heights = Some(rows.map(|row| row.iter().map(|x| x.z).collect()).collect());
                    (field.file, field.scale) = (None, 1.0);
                }
                _ => {}
            }
        }
        (scene, files)
    }
}

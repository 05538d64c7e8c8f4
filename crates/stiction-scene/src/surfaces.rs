//! The surfaces that a scene takes from files, each read once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use stiction_bodies::{Mesh, Polytope, TriangleSurface};

use crate::files::{Files, beside};
use crate::lint::Severity;
use crate::mesh_file::{MeshFile, MeshFormat, read_mesh};
use crate::place::{Fault, Place};
use crate::scene_error::suggest;
use crate::surface_entry::LengthUnit;

/// Surfaces of files without a unit that are larger than this, in metres, look like millimetres. Too
/// large: a part of ten centimetres in millimetres passes. Too small: terrain is warned of.
const LARGEST_LIKELY: f64 = 10.0;

/// Where a surface comes from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) unit: Option<LengthUnit>,
    pub(crate) scale: f64,
    pub(crate) part: Option<&'a str>,
}

/// What was read for a scene.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surfaces {
    pub(crate) files: Files,
    /// The contents of files by their paths, with what they were read from.
    parsed: HashMap<String, Arc<MeshFile>>,
    /// Hulls by what was asked for.
    pub(crate) hulls: HashMap<String, Arc<Polytope>>,
    /// Meshes by what was asked for.
    pub(crate) meshes: HashMap<String, Arc<Mesh>>,
    /// What is worth knowing about them, and where it was written.
    pub(crate) notes: Vec<(Severity, Place, String)>,
}

impl Surfaces {
    pub(crate) fn new(files: Files) -> Self {
        Self { files, ..Self::default() }
    }

    /// The triangles of a source, in metres; the place is the table that names it.
    pub(crate) fn read(&mut self, place: &Place, source: Source<'_>) -> Result<TriangleSurface, Fault> {
        let Source { file, unit, scale, part } = source;
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(place.key("scale").fault(format!("the scale is {scale:?}"), "give a positive number"));
        }
        let found = self.parsed(&place.key("file"), file)?;
        let mut surface = match part {
            None => found.joined(),
            Some(name) => {
                let mut parts = found.parts.iter().filter(|part| part.name == name);
                let first = parts.next().ok_or_else(|| {
                    let names = found.parts.iter().map(|part| part.name.as_str()).filter(|name| !name.is_empty());
                    let help = suggest(name, "named parts", names);
                    place.key("part").fault(format!("`{file}` has no part `{name}`"), help)
                })?;
                let several = [first].into_iter().chain(parts).cloned().collect();
                MeshFile { parts: several, unit: None }.joined()
            }
        };
        let own = unit.map(LengthUnit::metres).or(found.unit);
        let factor = own.unwrap_or(1.0) * scale;
        surface.vertices.iter_mut().for_each(|x| *x *= factor);
        let size = surface.size();
        if own.is_none() && size > LARGEST_LIKELY {
            let message = format!(
                "`{file}` is {size:.3e} m across, and does not say its unit: if it is in millimetres, write `unit = \"mm\"`, \
                 otherwise `unit = \"m\"`"
            );
            self.notes.push((Severity::Warning, place.key("file"), message));
        }
        Ok(surface)
    }

    fn parsed(&mut self, place: &Place, file: &str) -> Result<Arc<MeshFile>, Fault> {
        if let Some(found) = self.parsed.get(file) {
            return Ok(Arc::clone(found));
        }
        let format = MeshFormat::of(Path::new(file)).ok_or_else(|| {
            let message = format!("the ending of `{file}` names no format of surfaces");
            place.fault(message, "give a file that ends with .stl, .obj, .ply, .gltf, .glb or .dae")
        })?;
        let bytes = self.files.read(place, file)?;
        let mut read_beside = |name: &str| {
            let read = self.files.read(place, &beside(file, name));
            read.map_err(|fault| format!("its buffer: {}", fault.message))
        };
        let found = read_mesh(&bytes, format, &mut read_beside).map_err(|error| {
            place.fault(format!("`{file}` cannot be read: {error}"), "export the part again, or in another format")
        })?;
        let found = Arc::new(found);
        self.parsed.insert(file.to_owned(), Arc::clone(&found));
        Ok(found)
    }
}

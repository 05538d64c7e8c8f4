//! Surfaces of triangles from files: STL, OBJ, PLY, glTF and COLLADA.
//!
//! Every reader checks a count against the bytes that are there before it makes room for what is
//! counted, so that a header that lies costs nothing. Coordinates come as they are in the file,
//! but for the axes: glTF and COLLADA say which one is up, and here it is $z$.

mod dae;
mod gltf;
mod height_grid;
mod obj;
mod ply;
mod polygon;
mod stl;

use std::path::Path;

use stiction_bodies::TriangleSurface;
use stiction_bodies::glamx::{DMat3, DVec3};
use thiserror::Error;

pub use height_grid::{grid_surface, read_grid};
pub(crate) use ply::write as write_ply;

/// Most bytes of a file with a surface. Too large: a mistake fills the memory. Too small: fine scans
/// are refused.
pub const LARGEST_MESH_FILE: u64 = 1 << 30;

/// Most triangles of a surface: vertices are counted with 32 bits, and a surface of more takes hours.
const MOST_TRIANGLES: usize = 50_000_000;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// STL, text or binary.
    Stl,
    /// Wavefront OBJ.
    Obj,
    /// PLY, text or binary.
    Ply,
    /// glTF, as JSON or binary.
    Gltf,
    /// COLLADA.
    Dae,
}

impl MeshFormat {
    /// The format that the ending of a name says.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        let formats =
            [("stl", Self::Stl), ("obj", Self::Obj), ("ply", Self::Ply), ("gltf", Self::Gltf), ("glb", Self::Gltf)];
        formats.into_iter().chain([("dae", Self::Dae)]).find(|(name, _)| *name == ending).map(|(_, format)| format)
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshFile {
    /// Its parts, in their order: solids, objects or nodes.
    pub parts: Vec<MeshPart>,
    /// Metres of a unit of its coordinates, where the file says it.
    pub unit: Option<f64>,
}

impl MeshFile {
    /// All parts as one surface.
    pub fn joined(&self) -> TriangleSurface {
        let mut all = TriangleSurface::default();
        for part in &self.parts {
            let shift = all.vertices.len() as u32;
            all.vertices.extend(&part.surface.vertices);
            all.triangles.extend(part.surface.triangles.iter().map(|triangle| triangle.map(|corner| corner + shift)));
        }
        all
    }
}

/// A named part of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshPart {
    /// Its name; may be empty.
    pub name: String,
    /// Its triangles, in units of the file.
    pub surface: TriangleSurface,
}

/// A file that is not what its name says, or lies about itself.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct MeshFileError {
    /// Where, in words, and what is wrong.
    pub message: String,
}

impl MeshFileError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    fn at_line(line: usize, message: impl AsRef<str>) -> Self {
        Self::new(format!("line {line}: {}", message.as_ref()))
    }
}

/// Reads a surface. A glTF file may have files beside it, which `beside` reads by their names.
///
/// # Errors
/// [`MeshFileError`] with the place in the file; also when there are no triangles in it.
pub fn read_mesh(
    bytes: &[u8],
    format: MeshFormat,
    beside: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<MeshFile, MeshFileError> {
    let mut file = match format {
        MeshFormat::Stl => stl::read(bytes),
        MeshFormat::Obj => obj::read(bytes),
        MeshFormat::Ply => ply::read(bytes),
        MeshFormat::Gltf => gltf::read(bytes, beside),
        MeshFormat::Dae => dae::read(bytes),
    }?;
    file.parts.retain(|part| !part.surface.triangles.is_empty());
    let count: usize = file.parts.iter().map(|part| part.surface.triangles.len()).sum();
    if count == 0 {
        return Err(MeshFileError::new("there are no triangles in it"));
    }
    if count > MOST_TRIANGLES {
        return Err(MeshFileError::new(format!("it has {count} triangles; at most {MOST_TRIANGLES} are possible")));
    }
    if let Some(point) = file.parts.iter().flat_map(|part| &part.surface.vertices).find(|x| !x.is_finite()) {
        return Err(MeshFileError::new(format!("a point is not finite: {:?}", point.to_array())));
    }
    Ok(file)
}

/// A number of a text; none that is not finite.
fn number(word: &str, line: usize) -> Result<f64, MeshFileError> {
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(MeshFileError::at_line(line, format!("`{}` is not finite", shown(word)))),
        Err(_) => Err(MeshFileError::at_line(line, format!("`{}` is not a number", shown(word)))),
    }
}

/// The beginning of a word, for messages.
fn shown(word: &str) -> String {
    const MOST: usize = 40;
    let short: String = word.chars().take(MOST).collect();
    if short.len() < word.len() { format!("{short}…") } else { short }
}

/// Bytes, read from the front.
struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], MeshFileError> {
        let (taken, left) = self
            .left
            .split_at_checked(count)
            .ok_or_else(|| MeshFileError::new(format!("it ends too early: {count} more bytes are needed")))?;
        self.left = left;
        Ok(taken)
    }
}

/// An affine map: a node in a tree of nodes.
#[derive(Clone, Copy)]
struct Affine {
    matrix: DMat3,
    shift: DVec3,
}

impl Affine {
    const IDENTITY: Self = Self { matrix: DMat3::IDENTITY, shift: DVec3::ZERO };

    /// The map that makes the file's $y$ axis the upper one, $z$, and keeps $x$.
    fn y_up() -> Self {
        Self { matrix: DMat3::from_cols(DVec3::X, DVec3::Z, -DVec3::Y), shift: DVec3::ZERO }
    }

    /// This one after another.
    fn after(&self, inner: &Self) -> Self {
        Self { matrix: self.matrix * inner.matrix, shift: self.matrix * inner.shift + self.shift }
    }

    /// Moves a surface; a reflection turns its triangles, so that they still face outwards.
    fn apply(&self, surface: &mut TriangleSurface) {
        surface.vertices.iter_mut().for_each(|x| *x = self.matrix * *x + self.shift);
        if self.matrix.determinant() < 0.0 {
            surface.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        }
    }
}

/// Triangles that name points of a list which several parts share.
struct SharedPoints {
    points: Vec<DVec3>,
    /// The number of a point in the part, and the part that gave it.
    numbers: Vec<(u32, usize)>,
}

impl SharedPoints {
    fn new() -> Self {
        Self { points: Vec::new(), numbers: Vec::new() }
    }

    /// Adds a polygon to a part, which has this number.
    fn add_polygon(&mut self, corners: &[usize], part: &mut MeshPart, part_number: usize) -> Result<(), String> {
        self.numbers.resize(self.points.len(), (0, usize::MAX));
        let surface = &mut part.surface;
        let own = |corner: &usize| {
            let entry = &mut self.numbers[*corner];
            if entry.1 != part_number {
                *entry = (surface.vertices.len() as u32, part_number);
                surface.vertices.push(self.points[*corner]);
            }
            entry.0
        };
        let corners: Vec<u32> = corners.iter().map(own).collect();
        polygon::triangulate(&surface.vertices, &corners, &mut surface.triangles)
    }
}

//! Surfaces as several convex hulls, found once and kept beside the scene.
//!
//! A shape with `decompose` becomes as many shapes with `hull` before the scene is read, so that a
//! resolved scene has the hulls in it. The volume is filled with cells, divided by planes along the
//! axes until each part is nearly convex (V-HACD, by the library `parry3d`), and each part is the hull
//! of the surface in its cells.
//!
//! The pieces are kept in `.stiction-cache/` beside the scene, under a name made of a hash of the
//! triangles and the settings. A file there that is not of this kind is left alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use parry3d_f64::transformation::vhacd::{VHACD, VHACDParameters};
use sha2::{Digest, Sha256};
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{Dimension, PlacedShape, Polytope, Shape, TriangleSurface, combined_mass_properties};

use crate::atomic_write::write_atomically;
use crate::document::{Document, Entry, Node, Value};
use crate::lint::Severity;
use crate::mesh_file::write_ply;
use crate::place::{Fault, Place};
use crate::read::read_part;
use crate::summary::hexadecimal;
use crate::surface_entry::DecomposeEntry;
use crate::surfaces::{Source, Surfaces};

/// The folder with decompositions, in that of the scene.
const CACHE: &str = ".stiction-cache";

/// The first words of a file with a decomposition; its hash follows.
const MARK: &str = "# pieces of a surface, found by Stiction: ";

impl Document {
    /// Puts hulls in place of shapes that are to be decomposed. Returns whether there are any.
    pub(crate) fn expand_decompositions(&mut self, surfaces: &mut Surfaces) -> Result<bool, Fault> {
        let Some(Value::List(bodies)) = self.root.get("body").map(|node| &node.value) else { return Ok(false) };
        let mut expanded: Vec<(usize, Vec<Node>)> = Vec::new();
        for (number, body) in bodies.iter().enumerate() {
            let Some(Value::List(shapes)) = body.get("shape").map(|node| &node.value) else { continue };
            if shapes.iter().all(|shape| shape.get("decompose").is_none()) {
                continue;
            }
            let mut list = Vec::new();
            for (index, shape) in shapes.iter().enumerate() {
                let place = Place::top("body").index(number).key("shape").index(index).key("decompose");
                let Some(node) = shape.get("decompose") else {
                    list.push(shape.clone());
                    continue;
                };
                let entry: DecomposeEntry = read_part(self, &place, node)?;
                list.extend(pieces(&place, &entry, surfaces)?.iter().map(|piece| as_hull(shape, piece)));
            }
            expanded.push((number, list));
        }
        let Some(Value::List(bodies)) = self.root.get_mut("body").map(|node| &mut node.value) else { return Ok(false) };
        let is_changed = !expanded.is_empty();
        for (number, list) in expanded {
            if let Some(shapes) = bodies[number].get_mut("shape") {
                shapes.value = Value::List(list);
            }
        }
        Ok(is_changed)
    }
}

/// The shape with a hull in place of what was to be decomposed.
fn as_hull(shape: &Node, piece: &[DVec3]) -> Node {
    let mut shape = shape.clone();
    let Value::Table(entries) = &mut shape.value else { return shape };
    for entry in entries.iter_mut().filter(|entry| entry.key == "decompose") {
        let origin = entry.node.origin.clone();
        let node = |value| Node { value, origin: origin.clone() };
        let point = |x: &DVec3| node(Value::List(x.to_array().map(|x| node(Value::Float(x))).to_vec()));
        let points = node(Value::List(piece.iter().map(point).collect()));
        entry.key = "hull".to_owned();
        let points = Entry { key: "points".to_owned(), key_origin: origin.clone(), node: points };
        entry.node = node(Value::Table(vec![points]));
    }
    shape
}

/// The corners of the pieces, in metres.
fn pieces(place: &Place, entry: &DecomposeEntry, surfaces: &mut Surfaces) -> Result<Vec<Vec<DVec3>>, Fault> {
    let limits = [("pieces", entry.pieces, 1..=256), ("resolution", entry.resolution, 8..=400)];
    for (key, value, range) in limits {
        if !range.contains(&value) {
            let (low, high) = range.into_inner();
            return Err(place
                .key(key)
                .fault(format!("`{key}` is {value}"), format!("give a number from {low} to {high}")));
        }
    }
    if !(0.0..=1.0).contains(&entry.concavity) {
        let message = format!("the concavity is {:?}", entry.concavity);
        return Err(place.key("concavity").fault(message, "give a number from 0 to 1"));
    }
    let DecomposeEntry { file, unit, scale, part, .. } = entry;
    let surface = surfaces.read(place, Source { file, unit: *unit, scale: *scale, part: part.as_deref() })?;
    let open = surface.census().open;
    if open.count > 0 {
        let message = format!(
            "`{file}` cannot be filled: it has {} open edges, the first at {:?}",
            open.count,
            open.place.to_array()
        );
        return Err(place.key("file").fault(message, "close the surface where it is modelled, or take its `hull`"));
    }
    let mut hash = Sha256::new_with_prefix(write_ply(&surface));
    hash.update(format!("1 {} {:e} {}", entry.pieces, entry.concavity, entry.resolution));
    let hash = hexadecimal(hash);
    let folder = surfaces.files.folder().join(CACHE);
    let path = folder.join(format!("{}.txt", &hash[..24]));
    let mut found = match read_cache(&path, &hash) {
        Some(found) => found,
        None => {
            let found = decomposed(&surface, entry);
            if let Err(cause) = write_cache(&path, &hash, &found) {
                let message = format!("the pieces of `{file}` are not kept: {cause}");
                surfaces.notes.push((Severity::Note, place.key("file"), message));
            }
            found
        }
    };
    if found.is_empty() {
        let message = format!("`{file}` has no pieces with a volume");
        return Err(place.key("file").fault(message, "give a finer `resolution`, or take its `hull`"));
    }
    if entry.centred {
        move_to_centre(place, &mut found)?;
    }
    Ok(found)
}

/// Moves the centre of mass of all pieces to the origin.
fn move_to_centre(place: &Place, pieces: &mut [Vec<DVec3>]) -> Result<(), Fault> {
    let fault = |error| place.fault(format!("the pieces have no centre of mass: {error}"), "leave out `centred`");
    let part = |piece: &Vec<DVec3>| {
        let shape = Shape::Polytope(Arc::new(Polytope::hull(piece)?));
        Ok((PlacedShape { shape, position: DVec3::ZERO, orientation: DQuat::IDENTITY }, 1.0))
    };
    let parts = pieces.iter().map(part).collect::<Result<Vec<_>, _>>().map_err(fault)?;
    let centre = combined_mass_properties(&parts, Dimension::Space).map_err(fault)?.centre;
    pieces.iter_mut().flatten().for_each(|x| *x -= centre);
    Ok(())
}

fn decomposed(surface: &TriangleSurface, entry: &DecomposeEntry) -> Vec<Vec<DVec3>> {
    let settings = VHACDParameters {
        concavity: entry.concavity,
        resolution: entry.resolution,
        max_convex_hulls: entry.pieces,
        ..VHACDParameters::default()
    };
    let parts = VHACD::decompose(&settings, &surface.vertices, &surface.triangles, true);
    let points = parts.compute_primitive_intersections(&surface.vertices, &surface.triangles);
    // A part that is flat has no volume, and what it holds of the surface others hold as well.
    points.iter().filter_map(|points| Some(Polytope::hull(points).ok()?.vertices().to_vec())).collect()
}

/// The pieces of an earlier run, if they are there.
fn read_cache(path: &Path, hash: &str) -> Option<Vec<Vec<DVec3>>> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines();
    if lines.next()?.strip_prefix(MARK)? != hash {
        return None;
    }
    let mut pieces: Vec<Vec<DVec3>> = Vec::new();
    for line in lines {
        if line == "piece" {
            pieces.push(Vec::new());
            continue;
        }
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>().ok()?;
        let [x, y, z] = numbers[..] else { return None };
        pieces.last_mut()?.push(DVec3::new(x, y, z));
    }
    Some(pieces)
}

fn write_cache(path: &Path, hash: &str, pieces: &[Vec<DVec3>]) -> std::io::Result<()> {
    let is_foreign = || fs::read(path).is_ok_and(|found| !found.starts_with(MARK.as_bytes()));
    if path.exists() && is_foreign() {
        let message = format!("`{}` is another file", path.display());
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, message));
    }
    let mut text = format!("{MARK}{hash}\n");
    for piece in pieces {
        text += "piece\n";
        for DVec3 { x, y, z } in piece {
            let _ = writeln!(text, "{x:?} {y:?} {z:?}"); // a string takes everything
        }
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    write_atomically(path, text.as_bytes())
}

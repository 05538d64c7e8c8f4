//! Shapes of points and triangles: hulls, meshes, height fields, polygons and polylines.

use std::sync::Arc;

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{
    Dimension, Mesh, Polygon, Polyline, Polytope, Shape, ShapeError, SurfaceRules, TriangleSurface, mass_properties,
};

use super::Reader;
use super::values::{counted, positive};
use crate::lint::Severity;
use crate::mesh_file::{grid_surface, read_grid};
use crate::place::{Fault, Place};
use crate::scene::BodyEntry;
use crate::surface_entry::{HeightFieldEntry, HullEntry, MeshEntry, PolygonEntry, PolylineEntry};
use crate::surfaces::Source;

/// The fault of a shape that cannot be built; the place is its table.
fn shape_fault(place: &Place, what: &str, error: &ShapeError) -> Fault {
    place.fault(format!("{what}: {error}"), "change the points, which the message counts from 0")
}

/// A solid around its centre of mass.
fn centred(points: &mut [DVec3], centre: DVec3) {
    points.iter_mut().for_each(|x| *x -= centre);
}

fn in_space(points: &[[f64; 2]]) -> Vec<DVec3> {
    points.iter().map(|&[x, y]| DVec3::new(x, y, 0.0)).collect()
}

impl Reader<'_> {
    pub(super) fn hull(&mut self, place: &Place, entry: &HullEntry) -> Result<Shape, Fault> {
        positive(place.key("scale"), "the scale", entry.scale, "")?;
        let key = format!("{entry:?}");
        if let Some(hull) = self.surfaces.hulls.get(&key) {
            return Ok(Shape::Polytope(Arc::clone(hull)));
        }
        let mut points = match (&entry.points, &entry.file) {
            (Some(_), Some(_)) => {
                return Err(place.key("file").key_fault("the hull has both `points` and `file`", "keep one of them"));
            }
            (None, None) => {
                return Err(
                    place.fault("the hull has no points", "give `points = [[x, y, z], …]` or `file = \"part.stl\"`")
                );
            }
            (Some(points), None) => {
                for (key, is_given) in [("unit", entry.unit.is_some()), ("part", entry.part.is_some())] {
                    if is_given {
                        let message = format!("`{key}` belongs to a `file`, and the hull has `points`");
                        return Err(place.key(key).key_fault(message, "remove it; points are in metres"));
                    }
                }
                points.iter().map(|x| entry.scale * DVec3::from_array(*x)).collect()
            }
            (None, Some(file)) => {
                let HullEntry { unit, scale, part, .. } = entry;
                let source = Source { file, unit: *unit, scale: *scale, part: part.as_deref() };
                self.surfaces.read(place, source)?.vertices
            }
        };
        let build = |points: &[DVec3]| Polytope::hull(points).map_err(|error| shape_fault(place, "no hull", &error));
        let mut hull = build(&points)?;
        if entry.centred {
            let properties = mass_properties(&Shape::Polytope(Arc::new(hull)), Dimension::Space, 1.0);
            centred(&mut points, properties.map_err(|error| shape_fault(place, "no centre", &error))?.centre);
            hull = build(&points)?;
        }
        let hull = Arc::new(hull);
        self.surfaces.hulls.insert(key, Arc::clone(&hull));
        Ok(Shape::Polytope(hull))
    }

    pub(super) fn mesh(&mut self, place: &Place, entry: &MeshEntry, body: &BodyEntry) -> Result<Shape, Fault> {
        let MeshEntry { file, unit, scale, part, repair, centred: is_centred } = entry;
        let must_be_closed = body.kind.is_free();
        let key = format!("{entry:?} {must_be_closed}");
        if let Some(mesh) = self.surfaces.meshes.get(&key) {
            return Ok(Shape::Mesh(Arc::clone(mesh)));
        }
        let source = Source { file, unit: *unit, scale: *scale, part: part.as_deref() };
        let surface = self.surfaces.read(place, source)?;
        let rules = SurfaceRules { must_be_closed, repair: *repair };
        let checked = surface.check(rules).map_err(|error| {
            let what = if must_be_closed { "a body that moves freely" } else { "a body" };
            let message = format!("`{file}` is not the surface of {what}: {error}");
            place.key("file").fault(message, error.remedy())
        })?;
        for note in checked.notes {
            self.surfaces.notes.push((Severity::Note, place.key("file"), format!("`{file}`: {note}")));
        }
        let mut surface = checked.surface;
        if *is_centred {
            if !checked.is_closed {
                let message = format!("`{file}` is open, so that it has no centre of mass");
                return Err(place.key("centred").fault(message, "remove `centred`, and give the shape a `position`"));
            }
            let centre = surface.mass_properties().centre;
            centred(&mut surface.vertices, centre);
        }
        let mesh = Arc::new(built(place, &format!("`{file}`"), surface)?);
        self.surfaces.meshes.insert(key, Arc::clone(&mesh));
        Ok(Shape::Mesh(mesh))
    }

    pub(super) fn height_field(
        &mut self,
        place: &Place,
        entry: &HeightFieldEntry,
        body: &BodyEntry,
    ) -> Result<Shape, Fault> {
        if body.kind.is_free() {
            let message = format!("body `{}` of kind `{}` cannot have a height field", body.name, body.kind.word());
            return Err(place.key_fault(message, "make the body `kind = \"static\"` or `kind = \"prescribed\"`"));
        }
        for (axis, length) in entry.size.into_iter().enumerate() {
            positive(place.key("size").index(axis), "a length of the field", length, "m")?;
        }
        let mut heights = match (&entry.heights, &entry.file) {
            (Some(heights), None) => heights.clone(),
            (None, Some(file)) => {
                let place = place.key("file");
                let bytes = self.surfaces.files.read(&place, file)?;
                let remedy = "write a row of numbers on each line, with spaces or commas between them";
                read_grid(&bytes).map_err(|error| place.fault(format!("`{file}`: {error}"), remedy))?
            }
            _ => return Err(place.fault("a height field has either `heights` or `file`", "give one of them")),
        };
        let columns = heights.first().map_or(0, Vec::len);
        if let Some(row) = heights.iter().position(|row| row.len() != columns) {
            let found = counted(heights[row].len(), "height");
            let message = format!("row {} has {found}, and the first one has {columns}", row + 1);
            return Err(place.key("heights").index(row).fault(message, "give every row as many heights"));
        }
        if heights.len() < 2 || columns < 2 {
            let found = format!("{} of {}", counted(heights.len(), "row"), counted(columns, "height"));
            return Err(place.fault(format!("a height field has {found}"), "give at least two rows of two heights"));
        }
        heights.iter_mut().flatten().for_each(|height| *height *= entry.scale);
        Ok(Shape::Mesh(Arc::new(built(place, "the height field", grid_surface(entry.size, &heights))?)))
    }

    pub(super) fn polygon(&self, place: &Place, entry: &PolygonEntry) -> Result<Shape, Fault> {
        let polygon = Polygon::new(in_space(&entry.points));
        polygon.map(|it| Shape::Polygon(Arc::new(it))).map_err(|error| shape_fault(place, "no polygon", &error))
    }

    pub(super) fn polyline(&self, place: &Place, entry: &PolylineEntry) -> Result<Shape, Fault> {
        let chain = Polyline::new(in_space(&entry.points), entry.closed);
        chain.map(|it| Shape::Polyline(Arc::new(it))).map_err(|error| shape_fault(place, "no polyline", &error))
    }
}

fn built(place: &Place, what: &str, surface: TriangleSurface) -> Result<Mesh, Fault> {
    let remedy = "simplify the surface where it is modelled, or take its `hull`";
    Mesh::new(surface.vertices, surface.triangles)
        .map_err(|error| place.fault(format!("{what} is no surface: {error}"), remedy))
}

//! Shapes, their places on a body and their materials.

use stiction_bodies::{BodyShape, Dimension, PlacedShape, Shape};

use super::Reader;
use super::values::{not_negative, positive};
use crate::place::{Fault, Place};
use crate::scene::{BodyEntry, RoundEntry, ShapeEntry};
use crate::scene_error::quoted;

/// Contacts number the shapes of a body with twelve bits.
const MOST_SHAPES: usize = 4095;

impl Reader<'_> {
    pub(super) fn shapes(&mut self, place: &Place, entry: &BodyEntry) -> Result<Vec<BodyShape>, Fault> {
        if entry.shapes.len() > MOST_SHAPES {
            let message =
                format!("body `{}` has {} shapes; at most {MOST_SHAPES} are possible", entry.name, entry.shapes.len());
            return Err(place.key("shape").index(MOST_SHAPES).fault(message, "divide it into several bodies"));
        }
        let mut shapes = Vec::with_capacity(entry.shapes.len());
        for (index, shape_entry) in entry.shapes.iter().enumerate() {
            let place = place.key("shape").index(index);
            let shape = self.shape(&place, shape_entry, entry)?;
            let what = format!("shape {} of body `{}`", index + 1, entry.name);
            let pose = self.pose(
                &place,
                &what,
                &shape_entry.position,
                shape_entry.angle,
                shape_entry.angle_degrees,
                &shape_entry.orientation,
            )?;
            let material = match shape_entry.material.as_ref().or(entry.material.as_ref()) {
                Some(name) => self.material(place.key("material"), name)?,
                None => {
                    let message = format!("{what} has no material");
                    return Err(place.fault(message, "give `material` to the body or to the shape"));
                }
            };
            let placed = PlacedShape { shape, position: pose.position, orientation: pose.orientation };
            shapes.push(BodyShape { placed, material });
        }
        Ok(shapes)
    }

    fn shape(&mut self, place: &Place, entry: &ShapeEntry, body: &BodyEntry) -> Result<Shape, Fault> {
        let (plane, space) = (Dimension::Plane, Dimension::Space);
        // Key, whether it is given, where there is such a shape, and what stands for it elsewhere.
        let keys: [(&'static str, bool, Option<Dimension>, &str); 19] = [
            ("half-plane", entry.half_plane.is_some(), Some(plane), "half-space"),
            ("disc", entry.disc.is_some(), Some(plane), "sphere"),
            ("ring", entry.ring.is_some(), Some(plane), "cavity` or `tube"),
            ("half-space", entry.half_space.is_some(), Some(space), "half-plane"),
            ("sphere", entry.sphere.is_some(), Some(space), "disc"),
            ("cavity", entry.cavity.is_some(), Some(space), "ring"),
            ("cylinder", entry.cylinder.is_some(), Some(space), "disc"),
            ("tube", entry.tube.is_some(), Some(space), "ring"),
            ("capsule", entry.capsule.is_some(), None, ""),
            ("box", entry.cuboid.is_some(), None, ""),
            ("ellipse", entry.ellipse.is_some(), Some(plane), "ellipsoid"),
            ("ellipsoid", entry.ellipsoid.is_some(), Some(space), "ellipse"),
            ("cone", entry.cone.is_some(), Some(space), "polygon"),
            ("hull", entry.hull.is_some(), Some(space), "polygon"),
            ("mesh", entry.mesh.is_some(), Some(space), "polyline"),
            ("height-field", entry.height_field.is_some(), Some(space), "polyline"),
            ("decompose", entry.decompose.is_some(), Some(space), "polygon"),
            ("polygon", entry.polygon.is_some(), Some(plane), "hull"),
            ("polyline", entry.polyline.is_some(), Some(plane), "mesh"),
        ];
        let here = if self.is_plane() { "in the plane" } else { "in space" };
        let given: Vec<&'static str> = keys.iter().filter_map(|&(key, is_given, ..)| is_given.then_some(key)).collect();
        let is_here = |home: Option<Dimension>| home.is_none_or(|home| home == self.dimension);
        let known: Vec<&str> = keys.iter().filter(|key| is_here(key.2)).map(|key| key.0).collect();
        let names = quoted(&known).replace(" and ", " or ");
        match given.as_slice() {
            [_] => {}
            [] => {
                let message = format!("a shape of body `{}` does not say which shape it is", body.name);
                return Err(place.fault(message, format!("give one of {names}")));
            }
            [.., last] => {
                let message = format!("one shape has {}", quoted(&given));
                return Err(place
                    .key(*last)
                    .key_fault(message, "keep one, and give each other one its own `[[body.shape]]`"));
            }
        }
        if let Some((key, _, _, instead)) = keys.into_iter().find(|key| key.1 && !is_here(key.2)) {
            let message = format!("there is no {key} {here}");
            let help = format!("use `{instead}`; the shapes {here} are {names}");
            return Err(place.key(key).key_fault(message, help));
        }

        let place = place.key(given[0]);
        let radius = |entry: &RoundEntry| positive(place.key("radius"), "the radius", entry.radius, "m");
        let lengths = |key: &'static str, what: &str, values: &[f64]| {
            let vector = self.vector(place.key(key), key, values)?;
            for (axis, &length) in values.iter().enumerate() {
                positive(place.key(key).index(axis), what, length, "m")?;
            }
            // In the plane the depth plays no part.
            Ok(if self.is_plane() { vector.with_z(vector.x) } else { vector })
        };
        let shape = if let Some(entry) = entry.half_plane.as_ref().or(entry.half_space.as_ref()) {
            let normal = self.unit_vector(place.key("normal"), "the normal", &entry.normal)?;
            Shape::HalfSpace { normal, offset: entry.offset }
        } else if let Some(entry) = entry.disc.as_ref().or(entry.sphere.as_ref()) {
            Shape::Sphere { radius: not_negative(place.key("radius"), "the radius", entry.radius, "m")? }
        } else if let Some(entry) = entry.ring.as_ref().or(entry.cavity.as_ref()) {
            Shape::Cavity { radius: radius(entry)? }
        } else if let Some(entry) = &entry.cylinder {
            let whole = |length| positive(place.key("length"), "the length", length, "m");
            let length = entry.length.map_or(Ok(f64::INFINITY), whole)?;
            let radius = positive(place.key("radius"), "the radius", entry.radius, "m")?;
            Shape::Cylinder { radius, half_length: length / 2.0 }
        } else if let Some(entry) = &entry.tube {
            Shape::Tube { radius: radius(entry)? }
        } else if let Some(entry) = &entry.capsule {
            let length = positive(place.key("length"), "the length", entry.length, "m")?;
            let radius = not_negative(place.key("radius"), "the radius", entry.radius, "m")?;
            Shape::Capsule { half_length: length / 2.0, radius }
        } else if let Some(entry) = entry.ellipse.as_ref().or(entry.ellipsoid.as_ref()) {
            Shape::Ellipsoid { semi_axes: lengths("semi-axes", "a semi-axis", &entry.semi_axes)? }
        } else if let Some(entry) = &entry.cone {
            let height = positive(place.key("height"), "the height", entry.height, "m")?;
            let radius = positive(place.key("radius"), "the radius", entry.radius, "m")?;
            Shape::Cone { radius, half_height: height / 2.0 }
        } else if let Some(entry) = &entry.polygon {
            self.polygon(&place, entry)?
        } else if let Some(entry) = &entry.polyline {
            self.polyline(&place, entry)?
        } else if let Some(entry) = &entry.hull {
            self.hull(&place, entry)?
        } else if let Some(entry) = &entry.mesh {
            self.mesh(&place, entry, body)?
        } else if let Some(entry) = &entry.height_field {
            self.height_field(&place, entry, body)?
        } else {
            let size = &entry.cuboid.as_ref().expect("one shape is given, and `decompose` became hulls").size;
            Shape::Cuboid { half_extents: lengths("size", "an edge of the box", size)? / 2.0 }
        };
        if !shape.may_move() && body.kind.is_free() {
            let message = format!(
                "body `{}` of kind `{}` cannot have a {}, which is infinite",
                body.name,
                body.kind.word(),
                given[0]
            );
            let help = "make the body `kind = \"static\"` or `kind = \"prescribed\"`, or give it another shape";
            return Err(place.key_fault(message, help));
        }
        Ok(shape)
    }
}

/// Radius of a ball around the shape's origin that holds it, in metres; zero for one that is
/// infinite.
pub(crate) fn extent(shape: &Shape) -> f64 {
    if shape.is_infinite() { 0.0 } else { shape.bounding_radius() }
}

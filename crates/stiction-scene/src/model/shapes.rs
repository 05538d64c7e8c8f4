//! Shapes, their places on a body and their materials.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{BodyShape, Dimension, PlacedShape, Shape};

use super::Reader;
use super::values::{not_negative, positive};
use crate::scene::{BodyEntry, ShapeEntry};
use crate::scene_error::{Fault, Place, quoted};

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

    fn shape(&self, place: &Place, entry: &ShapeEntry, body: &BodyEntry) -> Result<Shape, Fault> {
        let keys: [(&'static str, bool, Dimension, &str); 4] = [
            ("half-plane", entry.half_plane.is_some(), Dimension::Plane, "half-space"),
            ("disc", entry.disc.is_some(), Dimension::Plane, "sphere"),
            ("half-space", entry.half_space.is_some(), Dimension::Space, "half-plane"),
            ("sphere", entry.sphere.is_some(), Dimension::Space, "disc"),
        ];
        let here = if self.is_plane() { "in the plane" } else { "in space" };
        let both = [("capsule", entry.capsule.is_some()), ("box", entry.cuboid.is_some())];
        let given: Vec<&'static str> = keys
            .iter()
            .map(|&(key, is_given, ..)| (key, is_given))
            .chain(both)
            .filter_map(|(key, is_given)| is_given.then_some(key))
            .collect();
        let names = match self.dimension {
            Dimension::Plane => "`half-plane`, `disc`, `capsule` or `box`",
            Dimension::Space => "`half-space`, `sphere`, `capsule` or `box`",
        };
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
        for (key, is_given, dimension, instead) in keys {
            if is_given && dimension != self.dimension {
                let message = format!("there is no {key} {here}");
                return Err(place
                    .key(key)
                    .key_fault(message, format!("use `{instead}`; the shapes {here} are {names}")));
            }
        }

        let place = place.key(given[0]);
        if let Some(entry) = entry.half_plane.as_ref().or(entry.half_space.as_ref()) {
            if body.kind.is_free() {
                let message = format!(
                    "body `{}` of kind `{}` cannot have a {}, which is infinite",
                    body.name,
                    body.kind.word(),
                    given[0]
                );
                let help = "make the body `kind = \"static\"` or `kind = \"prescribed\"`, or give it another shape";
                return Err(place.key_fault(message, help));
            }
            let normal = self.unit_vector(place.key("normal"), "the normal", &entry.normal)?;
            return Ok(Shape::HalfSpace { normal, offset: entry.offset });
        }
        if let Some(entry) = entry.disc.as_ref().or(entry.sphere.as_ref()) {
            return Ok(Shape::Sphere { radius: positive(place.key("radius"), "the radius", entry.radius, "m")? });
        }
        if let Some(entry) = &entry.capsule {
            let length = positive(place.key("length"), "the length", entry.length, "m")?;
            let radius = not_negative(place.key("radius"), "the radius", entry.radius, "m")?;
            return Ok(Shape::Capsule { half_length: length / 2.0, radius });
        }
        let size = &entry.cuboid.as_ref().expect("exactly one shape is given").size;
        let vector = self.vector(place.key("size"), "size", size)?;
        for (axis, &edge) in size.iter().enumerate() {
            positive(place.key("size").index(axis), "an edge of the box", edge, "m")?;
        }
        let depth = if self.is_plane() { 1.0 } else { vector.z };
        Ok(Shape::Cuboid { half_extents: DVec3::new(vector.x, vector.y, depth) / 2.0 })
    }
}

/// Radius of a ball around the shape's origin that holds it, in metres; zero for a half-space.
pub(crate) fn extent(shape: &Shape) -> f64 {
    match *shape {
        Shape::HalfSpace { .. } => 0.0,
        Shape::Sphere { radius } => radius,
        Shape::Capsule { half_length, radius } => half_length + radius,
        Shape::Cuboid { half_extents } => half_extents.length(),
    }
}

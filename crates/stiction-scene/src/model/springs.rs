//! Springs and dampers.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{Attachment, Body, Spring, TorsionSpring};

use super::Reader;
use super::forces::{OneWay, refuse_two_way_scheme};
use super::names::read_named;
use crate::place::{Fault, Place};
use crate::scene::{SpringEntry, TorsionSpringEntry};

/// Points that are closer than this at the start, in metres, coincide: their distance is rounding,
/// and no rest length. Too large: short springs need a rest length in the file. Too small: rounding
/// makes a rest length.
const COINCIDENCE: f64 = 1e-9;

/// Refuses an entry that does nothing, which is a key that was forgotten. In a program a spring may
/// well be zero.
fn refuse_idle(place: &Place, stiffness: f64, damping: f64) -> Result<(), Fault> {
    if stiffness != 0.0 || damping != 0.0 {
        return Ok(());
    }
    Err(place.fault("neither stiffness nor damping is given", "give `stiffness`, `damping` or both"))
}

impl Reader<'_> {
    /// The springs; `bodies` tell where they start.
    pub(super) fn springs(&self, bodies: &[Body]) -> Result<Vec<Spring>, Fault> {
        let read = |place, entry: &_| self.spring(place, entry, bodies);
        read_named(&Place::top("spring"), ["a spring", "springs"], &self.scene.springs, |entry| &entry.name, read)
    }

    fn spring(&self, place: Place, entry: &SpringEntry, bodies: &[Body]) -> Result<Spring, Fault> {
        let [first, second] = self.spring_ends(&place, &entry.bodies)?;
        let points = match entry.points.as_deref() {
            None => [DVec3::ZERO; 2],
            Some([a, b]) => {
                let point = |number: usize, values| self.vector(place.key("points").index(number), "a point", values);
                [point(0, a)?, point(1, b)?]
            }
            Some(list) => {
                let message = format!("{} points are given, and two are needed", list.len());
                let help = "give the point of the first body and that of the second, or of the world";
                return Err(place.key("points").fault(message, help));
            }
        };
        let axis = entry.axis.as_ref().map(|axis| self.vector(place.key("axis"), "the axis", axis)).transpose()?;
        let [first, second] =
            [Attachment { body: first, point: points[0] }, Attachment { body: second, point: points[1] }];
        let at_start = |Attachment { body, point }: Attachment| {
            body.map_or(point, |body| bodies[body].pose_at(self.scene.run.start).transform_point(point))
        };
        let d = at_start(first) - at_start(second);
        let rest_length = entry.rest_length.unwrap_or_else(|| axis.map_or(d.length(), |axis| axis.dot(d)));
        if entry.preload > 0.0 {
            refuse_two_way_scheme(self.scene, &place.key("preload"), OneWay::PreStressedSpring(&entry.name))?;
        }
        let spring = Spring {
            name: entry.name.clone(),
            first,
            second,
            stiffness: entry.stiffness,
            damping: entry.damping,
            rest_length,
            axis,
            preload: entry.preload,
        };
        spring.check(self.dimension, bodies).map_err(|error| place.value_fault(error))?;
        refuse_idle(&place, entry.stiffness, entry.damping)?;
        if entry.rest_length.is_none() && axis.is_none() && d.length() < COINCIDENCE {
            let message =
                format!("the points of spring `{}` coincide at the start, and give it no rest length", entry.name);
            let help = "give `rest-length`; with 0.0 the spring draws the two points together";
            return Err(place.fault(message, help));
        }
        Ok(spring)
    }

    /// The torsion springs; `bodies` tell where they start.
    pub(super) fn torsion_springs(&self, bodies: &[Body]) -> Result<Vec<TorsionSpring>, Fault> {
        let read = |place, entry: &_| self.torsion_spring(place, entry, bodies);
        let (list, words) = (Place::top("torsion-spring"), ["a torsion spring", "torsion springs"]);
        read_named(&list, words, &self.scene.torsion_springs, |entry| &entry.name, read)
    }

    fn torsion_spring(
        &self,
        place: Place,
        entry: &TorsionSpringEntry,
        bodies: &[Body],
    ) -> Result<TorsionSpring, Fault> {
        let [first, second] = self.spring_ends(&place, &entry.bodies)?;
        let first = first.expect("the first body is named");
        let axis = match (&entry.axis, self.is_plane()) {
            (None, true) => DVec3::Z,
            (Some(axis), false) => self.vector(place.key("axis"), "the axis", axis)?,
            (Some(_), true) => {
                let message = "a torsion spring in the plane has no `axis`: it is about z";
                return Err(place.key("axis").key_fault(message, "remove `axis`"));
            }
            (None, false) => {
                let message = format!("torsion spring `{}` has no `axis`", entry.name);
                let help = "give the axis of the rotation in axes of the first body, as in `axis = [0.0, 0.0, 1.0]`";
                return Err(place.fault(message, help));
            }
        };
        let mut spring = TorsionSpring {
            name: entry.name.clone(),
            first,
            second,
            axis,
            stiffness: entry.stiffness,
            damping: entry.damping,
            rest_angle: 0.0,
        };
        spring.check(self.dimension, bodies).map_err(|error| place.value_fault(error))?;
        refuse_idle(&place, entry.stiffness, entry.damping)?;
        spring.rest_angle = match entry.rest_angle {
            Some(angle) => angle,
            None => spring.angle_at_start(self.dimension, bodies, self.scene.run.start),
        };
        Ok(spring)
    }

    /// The two bodies of a spring; none for the world.
    fn spring_ends(&self, place: &Place, names: &[String]) -> Result<[Option<usize>; 2], Fault> {
        let place = place.key("bodies");
        let (first, second) = match names {
            [first] => (first, None),
            [first, second] => (first, Some(second)),
            _ => {
                let message = format!("{} bodies are named, and one or two are possible", names.len());
                return Err(place.fault(message, "name the two bodies, or one that is joined to the world"));
            }
        };
        let first = self.body(place.index(0), first)?;
        Ok([Some(first), self.optional_body(place.index(1), second)?])
    }
}

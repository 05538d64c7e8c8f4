//! Bodies: their kind, and the keys that go with it.

use stiction_bodies::{Body, BodyKind, BodyShape, Motion, Oscillation};

use super::Reader;
use super::names::read_named;
use super::values::not_negative;
use crate::place::{Fault, Place};
use crate::scene::{BodyEntry, KindName, MotionEntry, OscillationEntry};

impl Reader<'_> {
    pub(super) fn bodies(&mut self, group_names: &[String]) -> Result<Vec<Body>, Fault> {
        let scene = self.scene;
        let list = Place::top("body");
        read_named(
            &list,
            ["a body", "bodies"],
            &scene.bodies,
            |body| &body.name,
            |place, entry| {
                if let Some(material) = &entry.material {
                    self.material(place.key("material"), material)?;
                }
                self.check_keys_of_kind(&place, entry)?;
                let what = format!("body `{}`", entry.name);
                let pose =
                    self.pose(&place, &what, &entry.position, entry.angle, entry.angle_degrees, &entry.orientation)?;
                let shapes = self.shapes(&place, entry)?;
                let angle = entry.angle.or(entry.angle_degrees.map(f64::to_radians)).unwrap_or(0.0);
                let turns = if self.is_plane() { (angle - pose.planar_angle()) / std::f64::consts::TAU } else { 0.0 };
                Ok(Body {
                    name: entry.name.clone(),
                    kind: self.kind(&place, entry, &shapes)?,
                    pose,
                    turns: turns.round() as i32,
                    velocity: self.optional_vector(&place, "velocity", &entry.velocity)?,
                    angular_velocity: self.rotation(&place, "angular-velocity", &entry.angular_velocity)?,
                    shapes,
                    group: group_names.iter().position(|name| *name == entry.group).expect("collected from the bodies"),
                })
            },
        )
    }

    /// Refuses keys that have no meaning for a body of this kind.
    fn check_keys_of_kind(&self, place: &Place, entry: &BodyEntry) -> Result<(), Fault> {
        use KindName::{Point, Prescribed, Rigid, Static};
        let turns = "a point does not rotate: remove it, or make the body `kind = \"rigid\"`";
        let moves = "remove it, or make the body `kind = \"prescribed\"` with a table `[body.motion]`";
        let follows = "write it into the table `[body.motion]`";
        let rests = "remove it: a body that does not move has no mass";
        let is_led = "remove it: no force changes a prescribed motion";
        let stays = "remove it, or make the body `kind = \"prescribed\"`";
        // Whether a key is given, and for which kinds it has no meaning, with what to do.
        type Kinds<'a> = &'a [(KindName, &'a str)];
        let keys: [(&'static str, bool, Kinds<'_>); 6] = [
            ("velocity", entry.velocity.is_some(), &[(Static, moves), (Prescribed, follows)]),
            (
                "angular-velocity",
                entry.angular_velocity.is_some(),
                &[(Point, turns), (Static, moves), (Prescribed, follows)],
            ),
            ("mass", entry.mass.is_some(), &[(Static, rests), (Prescribed, is_led)]),
            ("inertia", entry.inertia.is_some(), &[(Point, turns), (Static, rests), (Prescribed, is_led)]),
            ("density", entry.density.is_some(), &[(Static, rests), (Prescribed, is_led)]),
            ("motion", entry.motion.is_some(), &[(Rigid, stays), (Point, stays), (Static, stays)]),
        ];
        for (key, is_given, meaningless) in keys {
            if let Some((kind, help)) = meaningless.iter().find(|(kind, _)| is_given && *kind == entry.kind) {
                let message = format!("body `{}` of kind `{}` cannot have `{key}`", entry.name, kind.word());
                return Err(place.key(key).key_fault(message, *help));
            }
        }
        Ok(())
    }

    fn kind(&self, place: &Place, entry: &BodyEntry, shapes: &[BodyShape]) -> Result<BodyKind, Fault> {
        match entry.kind {
            KindName::Static => Ok(BodyKind::Static),
            KindName::Prescribed => match &entry.motion {
                Some(motion) => Ok(BodyKind::Prescribed(self.motion(&place.key("motion"), motion)?)),
                None => {
                    let message = format!("body `{}` is prescribed, but has no `motion`", entry.name);
                    let help = "add a table `[body.motion]` with `velocity`, `angular-velocity`, `surface-velocity` or \
                                `oscillation`, or make the body `kind = \"static\"`";
                    Err(place.key("kind").fault(message, help))
                }
            },
            KindName::Point => {
                let mass = self.mass_and_inertia(place, entry, shapes)?.0;
                Ok(BodyKind::Point { mass })
            }
            KindName::Rigid => {
                let (mass, inertia) = self.mass_and_inertia(place, entry, shapes)?;
                let inertia = inertia.expect("a rigid body has an inertia, or there was a fault");
                Ok(BodyKind::Rigid { mass, inertia })
            }
        }
    }

    fn motion(&self, place: &Place, motion: &MotionEntry) -> Result<Motion, Fault> {
        let oscillation = |(index, entry): (usize, &OscillationEntry)| {
            let place = place.key("oscillation");
            let place = if motion.oscillation.len() > 1 { place.index(index) } else { place };
            let frequency = not_negative(place.key("frequency"), "the frequency", entry.frequency, "Hz")?;
            let amplitude = self.vector(place.key("amplitude"), "amplitude", &entry.amplitude)?;
            Ok(Oscillation { amplitude, frequency, phase: entry.phase })
        };
        let oscillations = motion.oscillation.iter().enumerate().map(oscillation).collect::<Result<_, Fault>>()?;
        Ok(Motion {
            velocity: self.optional_vector(place, "velocity", &motion.velocity)?,
            angular_velocity: self.rotation(place, "angular-velocity", &motion.angular_velocity)?,
            surface_velocity: self.optional_vector(place, "surface-velocity", &motion.surface_velocity)?,
            oscillations,
        })
    }
}

//! From a scene to a model of bodies, with every check that needs more than the type of a key.
//!
//! The first thing that is wrong ends it, as a [`Fault`] that knows its place in the scene.

use std::collections::{BTreeMap, BTreeSet};

use stiction_bodies::glamx::{DMat3, DQuat, DVec3};
use stiction_bodies::shape::combined_mass_properties;
use stiction_bodies::{
    AppliedForce, Body, BodyError, BodyKind, BodyShape, Dimension, DryFriction, MassProperties, Material,
    MaterialTable, Motion, MultibodyModel, Oscillation, PlacedShape, Pose, Shape, ShapeError, collide,
};
use stiction_dynamics::{ContactMethod, StewartTrinkleSettings};

use crate::scene::{
    BodyEntry, DryFrictionEntry, ForceEntry, InertiaEntry, KindName, MotionEntry, Rotation, Scene, SchemeSettings,
    ShapeEntry,
};
use crate::scene_error::{Fault, Place, quoted, suggest};

/// Unit vectors and quaternions may differ from length one by this. Too large: gaps are off by this fraction. Too small:
/// vectors written with few digits are refused.
const UNIT_TOLERANCE: f64 = 1e-9;

/// Quaternions that differ from length one by up to this are normalised, with a warning; beyond, they are a mistake.
const NORMALISED_UP_TO: f64 = 1e-3;

/// How far the centre of mass of shapes may be from the origin of their body, relative to the size of the body.
const CENTRE_TOLERANCE: f64 = 1e-9;

/// How far an inertia may be from symmetric, and its moments from a flat body, relative to its largest entry.
const INERTIA_TOLERANCE: f64 = 1e-9;

/// Two axes are orthogonal when their product is at most this.
const ORTHOGONAL_TOLERANCE: f64 = 1e-9;

/// Contacts number the shapes of a body with twelve bits.
const MOST_SHAPES: usize = 4095;

/// The model of a scene, and remarks on what was changed on the way.
pub(crate) fn model(scene: &Scene, warnings: &mut Vec<String>) -> Result<MultibodyModel, Fault> {
    let mut reader = Reader { scene, dimension: scene.dimension, warnings };
    reader.check_settings()?;
    let gravity = reader.vector(Place::top("gravity"), "gravity", &scene.gravity)?;
    let materials = reader.materials()?;
    let group_names = reader.group_names();
    let bodies = reader.bodies(&group_names)?;
    let forces = reader.forces()?;
    let dry_friction = reader.dry_friction()?;
    let Ignored { pairs: ignored_pairs, groups: ignored_groups } = reader.ignored(&group_names)?;
    let dimension = scene.dimension;
    let model = MultibodyModel {
        dimension,
        gravity,
        bodies,
        materials,
        forces,
        dry_friction,
        ignored_pairs,
        ignored_groups,
        group_names,
    };
    check_pairs(&model)?;
    Ok(model)
}

/// A fault for a mistake that the model found although the scene passed all checks here.
pub(crate) fn body_fault(scene: &Scene, error: &BodyError) -> Fault {
    let name = match error {
        BodyError::Mass { body, .. }
        | BodyError::Inertia { body }
        | BodyError::Shape { body, .. }
        | BodyError::InfiniteShape { body, .. }
        | BodyError::Target { body, .. }
        | BodyError::UnsupportedPair { first_body: body, .. } => Some(body),
        BodyError::NoFriction { .. } | BodyError::Value { .. } => None,
    };
    let place = match scene.bodies.iter().position(|body| Some(&body.name) == name) {
        Some(index) => Place::top("body").index(index),
        None => Place::default(),
    };
    place.fault(error.to_string(), "change the value that the message names")
}

/// Fills in every default of a scene that [`model`] has accepted, and normalises its quaternions.
pub(crate) fn resolve(scene: &mut Scene) {
    let is_plane = scene.dimension == Dimension::Plane;
    let zeros = || Some(vec![0.0; if is_plane { 2 } else { 3 }]);
    let no_rotation = || Some(if is_plane { Rotation::Plane(0.0) } else { Rotation::Space(vec![0.0; 3]) });
    let fill_pose = |position: &mut Option<Vec<f64>>,
                     angle: &mut Option<f64>,
                     angle_degrees: &Option<f64>,
                     orientation: &mut Option<Vec<f64>>| {
        *position = position.take().or_else(zeros);
        if is_plane && angle_degrees.is_none() {
            *angle = angle.or(Some(0.0));
        }
        if !is_plane {
            let given = orientation.take().unwrap_or_else(|| vec![1.0, 0.0, 0.0, 0.0]);
            *orientation = Some(normalised(&given).unwrap_or(given));
        }
    };
    for body in &mut scene.bodies {
        fill_pose(&mut body.position, &mut body.angle, &body.angle_degrees, &mut body.orientation);
        if body.kind.is_free() {
            body.velocity = body.velocity.take().or_else(zeros);
        }
        if body.kind == KindName::Rigid {
            body.angular_velocity = body.angular_velocity.take().or_else(no_rotation);
        }
        if let Some(motion) = &mut body.motion {
            motion.velocity = motion.velocity.take().or_else(zeros);
            motion.angular_velocity = motion.angular_velocity.take().or_else(no_rotation);
            motion.surface_velocity = motion.surface_velocity.take().or_else(zeros);
        }
        for shape in &mut body.shapes {
            fill_pose(&mut shape.position, &mut shape.angle, &shape.angle_degrees, &mut shape.orientation);
            shape.material = shape.material.take().or_else(|| body.material.clone());
        }
    }
    for force in &mut scene.forces {
        force.force = force.force.take().or_else(zeros);
        force.torque = force.torque.take().or_else(no_rotation);
        force.point = force.point.take().or_else(zeros);
        force.from = force.from.or(Some(scene.run.start));
    }
    for element in &mut scene.dry_friction {
        element.point = element.point.take().or_else(zeros);
    }
}

/// The unit quaternion that is meant, when it is not already of unit length.
fn normalised(values: &[f64]) -> Option<Vec<f64>> {
    let length = length(values);
    ((length - 1.0).abs() > UNIT_TOLERANCE).then(|| values.iter().map(|value| value / length).collect())
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// A fault unless the value is positive.
fn positive(place: Place, what: &str, value: f64, unit: &str) -> Result<f64, Fault> {
    if value > 0.0 {
        return Ok(value);
    }
    Err(place.fault(format!("{what} is {value:?} {unit}"), "give a positive number"))
}

/// A fault when the value is negative.
fn not_negative(place: Place, what: &str, value: f64, unit: &str) -> Result<f64, Fault> {
    if value >= 0.0 {
        return Ok(value);
    }
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    Err(place.fault(format!("{what} is {value:?}{unit}"), "give zero or a positive number"))
}

/// Whether a name can stand in column names and file names.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

fn plain_name(place: Place, what: &str, name: &str) -> Result<(), Fault> {
    if is_plain_name(name) {
        return Ok(());
    }
    let proposal: String = name.chars().map(|c| if is_plain_name(&c.to_string()) { c } else { '-' }).collect();
    let help = "use letters, digits, `-` and `_`";
    let help = if name.is_empty() { help.to_owned() } else { format!("{help}, as in `{proposal}`") };
    Err(place.fault(format!("`{name}` cannot be the name of {what}"), help))
}

/// A fault at the second of two entries of a list that have the same name.
fn unique<'a>(list: &'static str, what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = BTreeMap::new();
    for (index, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, index) {
            let message = format!("two {what} are named `{name}`, numbers {} and {}", first + 1, index + 1);
            return Err(Place::top(list).index(index).key("name").fault(message, "give one of them another name"));
        }
    }
    Ok(())
}

/// Numbers as one writes them in a file.
fn list(values: &[f64]) -> String {
    let words: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", words.join(", "))
}

/// Numbers of bodies and groups that do not collide.
#[derive(Default)]
struct Ignored {
    pairs: Vec<(usize, usize)>,
    groups: Vec<(usize, usize)>,
}

struct Reader<'a> {
    scene: &'a Scene,
    dimension: Dimension,
    warnings: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn is_plane(&self) -> bool {
        self.dimension == Dimension::Plane
    }

    /// A vector with the number of components that the dimension asks for.
    fn vector(&self, place: Place, what: &str, values: &[f64]) -> Result<DVec3, Fault> {
        match (self.dimension, values) {
            (Dimension::Plane, &[x, y]) => Ok(DVec3::new(x, y, 0.0)),
            (Dimension::Space, &[x, y, z]) => Ok(DVec3::new(x, y, z)),
            (dimension, _) => {
                let (here, wanted) = match dimension {
                    Dimension::Plane => ("in the plane", "two, [x, y]"),
                    Dimension::Space => ("in space", "three, [x, y, z]"),
                };
                let count = values.len();
                let plural = if count == 1 { "" } else { "s" };
                let message = format!("{what} has {count} number{plural}, but {here} it has {wanted}");
                Err(place.fault(message, format!("write {wanted}, or change `dimension`")))
            }
        }
    }

    fn optional_vector(&self, place: Place, what: &str, values: &Option<Vec<f64>>) -> Result<DVec3, Fault> {
        values.as_ref().map_or(Ok(DVec3::ZERO), |values| self.vector(place, what, values))
    }

    fn unit_vector(&self, place: Place, what: &str, values: &[f64]) -> Result<DVec3, Fault> {
        let vector = self.vector(place.clone(), what, values)?;
        let length = vector.length();
        if (length - 1.0).abs() <= UNIT_TOLERANCE {
            return Ok(vector);
        }
        let message = format!("{what} has length {length:?} and must have length 1");
        let help = match length > 0.0 {
            true => {
                let unit: Vec<f64> = values.iter().map(|value| value / length).collect();
                format!("write {}", list(&unit))
            }
            false => "write a vector of length 1".to_owned(),
        };
        Err(place.fault(message, help))
    }

    /// An angular velocity or a torque.
    fn rotation(&self, place: Place, what: &str, rotation: &Option<Rotation>) -> Result<DVec3, Fault> {
        match (self.dimension, rotation) {
            (_, None) => Ok(DVec3::ZERO),
            (Dimension::Plane, &Some(Rotation::Plane(value))) => Ok(DVec3::new(0.0, 0.0, value)),
            (Dimension::Space, Some(Rotation::Space(values))) => self.vector(place, what, values),
            (Dimension::Plane, Some(Rotation::Space(_))) => {
                Err(place
                    .fault(format!("{what} is a list, but in the plane it is one number"), "write the part about z"))
            }
            (Dimension::Space, Some(Rotation::Plane(value))) => {
                let message = format!("{what} is one number, but in space it has three, [x, y, z]");
                Err(place.fault(message, format!("write [0.0, 0.0, {value:?}] for a rotation about z")))
            }
        }
    }

    /// The pose that the four keys of a body or of a shape give.
    fn pose(
        &mut self,
        place: &Place,
        what: &str,
        position: &Option<Vec<f64>>,
        angle: Option<f64>,
        angle_degrees: Option<f64>,
        orientation: &Option<Vec<f64>>,
    ) -> Result<Pose, Fault> {
        let position = self.optional_vector(place.key("position"), "position", position)?;
        if self.is_plane() {
            if orientation.is_some() {
                let message = "`orientation` is for scenes in space";
                return Err(place
                    .key("orientation")
                    .key_fault(message, "in the plane write `angle` or `angle-degrees`"));
            }
            let angle = match (angle, angle_degrees) {
                (Some(_), Some(_)) => {
                    let message = "both `angle` and `angle-degrees` are given";
                    return Err(place.key("angle-degrees").key_fault(message, "keep one of them"));
                }
                (Some(angle), None) => angle,
                (None, degrees) => degrees.unwrap_or(0.0).to_radians(),
            };
            return Ok(Pose::planar(position.x, position.y, angle));
        }
        for (key, value) in [("angle", angle), ("angle-degrees", angle_degrees)] {
            if let Some(value) = value {
                let half = if key == "angle" { value } else { value.to_radians() } / 2.0;
                let turn = list(&[half.cos(), 0.0, 0.0, half.sin()]);
                let help = format!("in space write `orientation`; {turn} is this angle about z");
                return Err(place.key(key).key_fault(format!("`{key}` is for scenes in the plane"), help));
            }
        }
        let Some(values) = orientation else { return Ok(Pose::new(position, DQuat::IDENTITY)) };
        let place = place.key("orientation");
        if values.len() != 4 {
            let message = format!("orientation has {} numbers, but a quaternion has four", values.len());
            return Err(place.fault(message, "write [w, x, y, z]; no rotation is [1.0, 0.0, 0.0, 0.0]"));
        }
        let length = length(values);
        let unit = normalised(values);
        if (length - 1.0).abs() > NORMALISED_UP_TO {
            let message = format!("orientation has length {length:?} and must have length 1");
            let help = match (length > 0.0).then_some(unit).flatten() {
                Some(unit) => {
                    format!("only lengths within {NORMALISED_UP_TO} of 1 are normalised; write {}", list(&unit))
                }
                None => "write [w, x, y, z]; no rotation is [1.0, 0.0, 0.0, 0.0]".to_owned(),
            };
            return Err(place.fault(message, help));
        }
        if let Some(unit) = &unit {
            self.warnings
                .push(format!("the orientation of {what} has length {length:?}; it was normalised to {}", list(unit)));
        }
        let q = unit.as_ref().unwrap_or(values);
        Ok(Pose::new(position, DQuat::from_xyzw(q[1], q[2], q[3], q[0])))
    }

    fn check_settings(&self) -> Result<(), Fault> {
        let scene = self.scene;
        plain_name(Place::top("name"), "a scene", &scene.name)?;

        let (run, place) = (&scene.run, Place::top("run"));
        positive(place.key("step"), "the step", run.step, "s")?;
        if run.end < run.start {
            let message = format!("the end, {:?} s, is before the start, {:?} s", run.end, run.start);
            return Err(place.key("end").fault(message, "give an `end` that is not before `start`"));
        }
        let resolution = f64::EPSILON * run.start.abs().max(run.end.abs());
        if run.step <= resolution {
            let message = format!("the step, {:?} s, is lost in the rounding of the time", run.step);
            return Err(place.key("step").fault(message, format!("give a step well above {resolution:.1e} s")));
        }

        let SchemeSettings::StewartTrinkle(StewartTrinkleSettings { position_tolerance, linearization_limit, .. }) =
            scene.scheme;
        let place = Place::top("scheme").key("stewart-trinkle");
        positive(place.key("position-tolerance"), "the position tolerance", position_tolerance, "m")?;
        if linearization_limit == 0 {
            let message = "the limit of linearisations is 0";
            return Err(place.key("linearization-limit").fault(message, "give at least 1"));
        }

        let ContactMethod::Pyramid(pyramid) = &scene.method;
        let place = Place::top("method").key("pyramid");
        if let Err(error) = pyramid.directions.corners() {
            let help = "give an even number of at least 4, or a list of pairs with their opposites";
            return Err(place.key("directions").fault(error.to_string(), help));
        }
        let (lemke, place) = (&pyramid.lemke, place.key("lemke"));
        for (key, value) in [
            ("residual-tolerance", lemke.residual_tolerance),
            ("pivot-tolerance", lemke.pivot_tolerance),
            ("tie-tolerance", lemke.tie_tolerance),
            ("weak-pivot", lemke.weak_pivot),
        ] {
            not_negative(place.key(key), &format!("`{key}`"), value, "")?;
        }
        if lemke.pivots_per_unknown == 0 {
            return Err(place.key("pivots-per-unknown").fault("the limit of pivots is 0", "give at least 1"));
        }

        if scene.record.interval == 0 {
            let message = "the recording interval is 0 steps";
            return Err(Place::top("record").key("interval").fault(message, "give 1 to record every step"));
        }
        Ok(())
    }

    fn materials(&self) -> Result<MaterialTable, Fault> {
        let scene = self.scene;
        unique("material", "materials", scene.materials.iter().map(|material| material.name.as_str()))?;
        for (index, material) in scene.materials.iter().enumerate() {
            let place = Place::top("material").index(index);
            if material.name.is_empty() {
                return Err(place.key("name").fault("a material has an empty name", "give it a name"));
            }
            not_negative(place.key("friction"), "the coefficient of friction", material.friction, "")?;
        }
        let mut pairs = BTreeMap::new();
        for (index, pair) in scene.pairs.iter().enumerate() {
            let place = Place::top("pair").index(index);
            let names = self.two(place.key("materials"), "materials", &pair.materials)?;
            let first = self.material(place.key("materials").index(0), names[0])?;
            let second = self.material(place.key("materials").index(1), names[1])?;
            not_negative(place.key("friction"), "the coefficient of friction", pair.friction, "")?;
            if first == second {
                let message = format!("the pair is `{}` twice", names[0]);
                let help = "the `friction` of a material is its friction against itself; a pair has two different ones";
                return Err(place.key("materials").fault(message, help));
            }
            if pairs.insert((first.min(second), first.max(second)), pair.friction).is_some() {
                let message = format!("the friction of {} is given twice", quoted(&names));
                return Err(place.key("materials").fault(message, "remove one of the two tables"));
            }
        }
        let materials =
            scene.materials.iter().map(|entry| Material { name: entry.name.clone(), friction: entry.friction });
        Ok(MaterialTable { materials: materials.collect(), pairs, rule: scene.contact.combine })
    }

    fn two<'b>(&self, place: Place, what: &str, names: &'b [String]) -> Result<[&'b str; 2], Fault> {
        match names {
            [first, second] => Ok([first.as_str(), second.as_str()]),
            _ => Err(place.fault(format!("{} given, and two are needed", names.len()), format!("name two {what}"))),
        }
    }

    fn material(&self, place: Place, name: &str) -> Result<usize, Fault> {
        let names = || self.scene.materials.iter().map(|material| material.name.as_str());
        let unknown = || place.fault(format!("there is no material `{name}`"), suggest(name, "materials", names()));
        names().position(|candidate| candidate == name).ok_or_else(unknown)
    }

    fn body(&self, place: Place, name: &str) -> Result<usize, Fault> {
        let names = || self.scene.bodies.iter().map(|body| body.name.as_str());
        let unknown = || place.fault(format!("there is no body `{name}`"), suggest(name, "bodies", names()));
        names().position(|candidate| candidate == name).ok_or_else(unknown)
    }

    /// The groups, in the order in which bodies name them.
    fn group_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for body in &self.scene.bodies {
            if !names.contains(&body.group) {
                names.push(body.group.clone());
            }
        }
        names
    }

    fn bodies(&mut self, group_names: &[String]) -> Result<Vec<Body>, Fault> {
        let scene = self.scene;
        unique("body", "bodies", scene.bodies.iter().map(|body| body.name.as_str()))?;
        let mut bodies = Vec::with_capacity(scene.bodies.len());
        for (index, entry) in scene.bodies.iter().enumerate() {
            let place = Place::top("body").index(index);
            plain_name(place.key("name"), "a body", &entry.name)?;
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
            bodies.push(Body {
                name: entry.name.clone(),
                kind: self.kind(&place, entry, &shapes)?,
                pose,
                turns: turns.round() as i32,
                velocity: self.optional_vector(place.key("velocity"), "velocity", &entry.velocity)?,
                angular_velocity: self.rotation(
                    place.key("angular-velocity"),
                    "angular-velocity",
                    &entry.angular_velocity,
                )?,
                shapes,
                group: group_names.iter().position(|name| *name == entry.group).expect("collected from the bodies"),
            });
        }
        Ok(bodies)
    }

    /// Refuses keys that have no meaning for a body of this kind.
    fn check_keys_of_kind(&self, place: &Place, entry: &BodyEntry) -> Result<(), Fault> {
        let refuse = |key: &'static str, is_given: bool, help: &str| {
            if !is_given {
                return Ok(());
            }
            let message = format!("body `{}` of kind `{}` cannot have `{key}`", entry.name, entry.kind.word());
            Err(place.key(key).key_fault(message, help))
        };
        let masses = [
            ("mass", entry.mass.is_some()),
            ("inertia", entry.inertia.is_some()),
            ("density", entry.density.is_some()),
        ];
        let velocities =
            [("velocity", entry.velocity.is_some()), ("angular-velocity", entry.angular_velocity.is_some())];
        match entry.kind {
            KindName::Rigid => {}
            KindName::Point => {
                let help = "a point does not rotate: remove it, or make the body `kind = \"rigid\"`";
                refuse("angular-velocity", entry.angular_velocity.is_some(), help)?;
                refuse("inertia", entry.inertia.is_some(), help)?;
            }
            KindName::Static => {
                for (key, is_given) in velocities {
                    let help = "remove it, or make the body `kind = \"prescribed\"` with a table `[body.motion]`";
                    refuse(key, is_given, help)?;
                }
                for (key, is_given) in masses {
                    refuse(key, is_given, "remove it: a body that does not move has no mass")?;
                }
            }
            KindName::Prescribed => {
                for (key, is_given) in velocities {
                    refuse(key, is_given, "write it into the table `[body.motion]`")?;
                }
                for (key, is_given) in masses {
                    refuse(key, is_given, "remove it: no force changes a prescribed motion")?;
                }
            }
        }
        if entry.kind != KindName::Prescribed {
            refuse("motion", entry.motion.is_some(), "remove it, or make the body `kind = \"prescribed\"`")?;
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

    /// Mass, and the inertia if the body is rigid.
    fn mass_and_inertia(
        &self,
        place: &Place,
        entry: &BodyEntry,
        shapes: &[BodyShape],
    ) -> Result<(f64, Option<DMat3>), Fault> {
        let is_rigid = entry.kind == KindName::Rigid;
        let name = &entry.name;
        match (entry.mass, entry.density, &entry.inertia) {
            (Some(_), Some(_), _) => {
                let message = format!("body `{name}` has both `mass` and `density`");
                Err(place.key("density").key_fault(message, "keep one of them"))
            }
            (None, Some(_), Some(_)) => {
                let message = format!("body `{name}` has both `density` and `inertia`");
                let help =
                    "remove `inertia`, which follows from shapes and density, or give `mass` in place of `density`";
                Err(place.key("inertia").key_fault(message, help))
            }
            (None, None, _) => {
                let message = format!("body `{name}` of kind `{}` has no mass", entry.kind.word());
                let help = "give `mass`, or `density` if the mass is to follow from the shapes; a body that does not move \
                            is `kind = \"static\"`";
                Err(place.fault(message, help))
            }
            (None, Some(density), None) => {
                positive(place.key("density"), "the density", density, self.density_unit())?;
                let properties = self.properties_of_shapes(place.key("density"), entry, shapes, density, "mass")?;
                Ok((properties.mass, is_rigid.then_some(properties.inertia)))
            }
            (Some(mass), None, inertia) => {
                positive(place.key("mass"), "the mass", mass, "kg")?;
                match inertia {
                    _ if !is_rigid => Ok((mass, None)),
                    Some(inertia) => Ok((mass, Some(self.inertia(place.key("inertia"), inertia)?))),
                    None => {
                        let properties = self.properties_of_shapes(place.key("mass"), entry, shapes, 1.0, "inertia")?;
                        Ok((mass, Some(properties.with_mass(mass).inertia)))
                    }
                }
            }
        }
    }

    fn density_unit(&self) -> &'static str {
        if self.is_plane() { "kg/m²" } else { "kg/m³" }
    }

    /// Mass, centre and inertia of all shapes, evenly filled; the centre must be the origin.
    fn properties_of_shapes(
        &self,
        place: Place,
        entry: &BodyEntry,
        shapes: &[BodyShape],
        density: f64,
        wanted: &str,
    ) -> Result<MassProperties, Fault> {
        let name = &entry.name;
        let parts: Vec<(PlacedShape, f64)> = shapes.iter().map(|shape| (shape.placed, density)).collect();
        let instead = if wanted == "inertia" {
            "give `inertia`, or make the body `kind = \"point\"`"
        } else {
            "give `mass` and `inertia` in place of `density`"
        };
        let properties = combined_mass_properties(&parts, self.dimension).map_err(|error| {
            let reason = match error {
                ShapeError::NoShapes => "it has no shapes".to_owned(),
                ShapeError::NoMass { shape, extent, .. } => format!("a {shape} of its shapes has no {extent}"),
                other => other.to_string(),
            };
            place.fault(format!("the {wanted} of body `{name}` cannot follow from its shapes: {reason}"), instead)
        })?;
        let size = parts.iter().map(|(placed, _)| placed.position.length() + extent(&placed.shape)).fold(0.0, f64::max);
        let centre = properties.centre;
        if centre.length() > CENTRE_TOLERANCE * size {
            let numbers = |vector: DVec3| list(&vector.to_array()[..if self.is_plane() { 2 } else { 3 }]);
            let message = format!(
                "the shapes of body `{name}` have their centre of mass at {}, but the origin of a body is its centre of mass",
                numbers(centre)
            );
            let first = shapes[0].placed.position - centre;
            let help = format!(
                "add {} to the `position` of every shape (the first is then at {}), and move the body to where its centre \
                 of mass is; or give both `mass` and `inertia`",
                numbers(-centre),
                numbers(first)
            );
            return Err(place.fault(message, help));
        }
        Ok(properties)
    }

    fn inertia(&self, place: Place, inertia: &InertiaEntry) -> Result<DMat3, Fault> {
        let wrong_form = |found: &str| {
            let wanted = match self.dimension {
                Dimension::Plane => "in the plane it is one number",
                Dimension::Space => "in space it is [Ixx, Iyy, Izz] or three rows of three",
            };
            Err(place.fault(format!("inertia is {found}, but {wanted}"), "write it in that form"))
        };
        let tensor = match (self.dimension, inertia) {
            (Dimension::Plane, &InertiaEntry::Plane(moment)) => {
                positive(place, "the inertia", moment, "kg m²")?;
                return Ok(DMat3::from_diagonal(DVec3::new(0.0, 0.0, moment)));
            }
            (Dimension::Space, InertiaEntry::Plane(_)) => return wrong_form("one number"),
            (_, InertiaEntry::Diagonal(diagonal)) => match (self.dimension, diagonal.as_slice()) {
                (Dimension::Space, &[x, y, z]) => DMat3::from_diagonal(DVec3::new(x, y, z)),
                _ => return wrong_form(&format!("a list of {}", diagonal.len())),
            },
            (_, InertiaEntry::Full(rows)) => match (self.dimension, rows.as_slice()) {
                (Dimension::Space, [x, y, z]) if [x, y, z].iter().all(|row| row.len() == 3) => {
                    DMat3::from_cols(DVec3::from_slice(x), DVec3::from_slice(y), DVec3::from_slice(z)).transpose()
                }
                _ => return wrong_form("a list of lists"),
            },
        };
        let largest = tensor.to_cols_array().into_iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        for (row, column) in [(0, 1), (0, 2), (1, 2)] {
            let (above, below) = (tensor.col(column)[row], tensor.col(row)[column]);
            if (above - below).abs() > INERTIA_TOLERANCE * largest {
                let message =
                    format!("the inertia is not symmetric: {above:?} and {below:?} stand across the diagonal");
                return Err(place.index(column).index(row).fault(message, "make the two entries equal"));
            }
        }
        let symmetric = (tensor + tensor.transpose()) * 0.5;
        let moments = eigenvalues(&symmetric);
        let show = list(&moments);
        if moments[0] <= 0.0 {
            let message = format!("the inertia is not positive definite: its principal moments are {show} kg m²");
            return Err(place.fault(message, "give an inertia whose principal moments are positive"));
        }
        if moments[2] > (moments[0] + moments[1]) * (1.0 + INERTIA_TOLERANCE) {
            let message = format!(
                "no body has this inertia: of its principal moments {show} kg m² the largest is more than the sum of the others"
            );
            let help = "check the numbers; only a flat body reaches the sum, and none goes beyond it";
            return Err(place.fault(message, help));
        }
        Ok(symmetric)
    }

    fn motion(&self, place: &Place, motion: &MotionEntry) -> Result<Motion, Fault> {
        let oscillation = match &motion.oscillation {
            None => None,
            Some(entry) => {
                let place = place.key("oscillation");
                let frequency = not_negative(place.key("frequency"), "the frequency", entry.frequency, "Hz")?;
                let amplitude = self.vector(place.key("amplitude"), "amplitude", &entry.amplitude)?;
                Some(Oscillation { amplitude, frequency, phase: entry.phase })
            }
        };
        Ok(Motion {
            velocity: self.optional_vector(place.key("velocity"), "velocity", &motion.velocity)?,
            angular_velocity: self.rotation(
                place.key("angular-velocity"),
                "angular-velocity",
                &motion.angular_velocity,
            )?,
            surface_velocity: self.optional_vector(
                place.key("surface-velocity"),
                "surface-velocity",
                &motion.surface_velocity,
            )?,
            oscillation,
        })
    }

    fn shapes(&mut self, place: &Place, entry: &BodyEntry) -> Result<Vec<BodyShape>, Fault> {
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
            let material = match (&shape_entry.material, &entry.material) {
                (Some(name), _) => self.material(place.key("material"), name)?,
                (None, Some(name)) => self.material(place.key("material"), name)?,
                (None, None) => {
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

    fn forces(&self) -> Result<Vec<AppliedForce>, Fault> {
        self.scene.forces.iter().enumerate().map(|(index, entry)| self.force(index, entry)).collect()
    }

    fn force(&self, index: usize, entry: &ForceEntry) -> Result<AppliedForce, Fault> {
        let place = Place::top("force").index(index);
        let body = self.body(place.key("body"), &entry.body)?;
        let kind = self.scene.bodies[body].kind;
        if !kind.is_free() {
            let message = format!("body `{}` is {}, and forces do not move it", entry.body, kind.word());
            return Err(place.key("body").fault(message, "name a body that moves freely"));
        }
        if entry.force.is_none() && entry.torque.is_none() {
            return Err(place.fault("neither a force nor a torque is given", "give `force`, `torque` or both"));
        }
        let from = entry.from.unwrap_or(self.scene.run.start);
        let until = entry.until.unwrap_or(f64::INFINITY);
        if until <= from {
            let message = format!("the force ends at {until:?} s and begins at {from:?} s");
            return Err(place.key("until").fault(message, "give an `until` that is later than `from`"));
        }
        let torque = self.rotation(place.key("torque"), "torque", &entry.torque)?;
        let point = self.optional_vector(place.key("point"), "point", &entry.point)?;
        if kind == KindName::Point {
            for (key, vector) in [("torque", torque), ("point", point)] {
                if vector != DVec3::ZERO {
                    let message = format!("body `{}` is a point, and has no `{key}` other than zero", entry.body);
                    let help = "remove it, or make the body `kind = \"rigid\"`";
                    return Err(place.key(key).key_fault(message, help));
                }
            }
        }
        Ok(AppliedForce {
            body,
            force: self.optional_vector(place.key("force"), "force", &entry.force)?,
            torque,
            point,
            axes: entry.axes,
            from,
            until,
        })
    }

    fn dry_friction(&self) -> Result<Vec<DryFriction>, Fault> {
        let elements = &self.scene.dry_friction;
        unique("dry-friction", "dry friction elements", elements.iter().map(|element| element.name.as_str()))?;
        elements.iter().enumerate().map(|(index, entry)| self.dry_friction_element(index, entry)).collect()
    }

    fn dry_friction_element(&self, index: usize, entry: &DryFrictionEntry) -> Result<DryFriction, Fault> {
        let place = Place::top("dry-friction").index(index);
        plain_name(place.key("name"), "dry friction", &entry.name)?;
        let body = self.body(place.key("body"), &entry.body)?;
        let against = match &entry.against {
            Some(name) => Some(self.body(place.key("against"), name)?),
            None => None,
        };
        if against == Some(body) {
            let message = format!("body `{}` cannot rub against itself", entry.body);
            return Err(place.key("against").fault(message, "name another body, or remove `against` for the world"));
        }
        let kinds = [Some(body), against].map(|body| body.map(|body| self.scene.bodies[body].kind));
        if !kinds.iter().flatten().any(|kind| kind.is_free()) {
            let message = format!("neither `{}` nor what it rubs against moves freely", entry.body);
            return Err(place.key("body").fault(message, "name a body that moves freely"));
        }
        let bound =
            not_negative(place.key("bound"), "the bound", entry.bound, if entry.rotational { "N m" } else { "N" })?;
        let axes = match (&entry.axes, entry.rotational, self.dimension) {
            (None, true, Dimension::Plane) => vec![DVec3::Z],
            (Some(_), true, Dimension::Plane) => {
                let message = "a rotation in the plane has no `axes`: it is about z";
                return Err(place.key("axes").key_fault(message, "remove `axes`"));
            }
            (None, ..) => {
                let help =
                    if entry.rotational { "the axis of the rotation" } else { "one or two directions of sliding" };
                let example = if self.is_plane() { "[[1.0, 0.0]]" } else { "[[1.0, 0.0, 0.0]]" };
                let message = format!("dry friction `{}` has no `axes`", entry.name);
                return Err(place.fault(message, format!("give {help}, as in `axes = {example}`")));
            }
            (Some(axes), is_rotational, _) => {
                let most = if is_rotational { 1 } else { 2 };
                if axes.is_empty() || axes.len() > most {
                    let message = format!("{} axes are given", axes.len());
                    let help = if is_rotational { "give the one axis of the rotation" } else { "give one or two" };
                    return Err(place.key("axes").fault(message, help));
                }
                let axis = |(number, values): (usize, &Vec<f64>)| {
                    self.unit_vector(place.key("axes").index(number), "the axis", values)
                };
                axes.iter().enumerate().map(axis).collect::<Result<Vec<_>, _>>()?
            }
        };
        if let [first, second] = axes[..]
            && first.dot(second).abs() > ORTHOGONAL_TOLERANCE
        {
            let angle = first.dot(second).clamp(-1.0, 1.0).acos().to_degrees();
            let message = format!("the two axes make an angle of {angle:.6} degrees");
            return Err(place.key("axes").fault(message, "give axes that are orthogonal to each other"));
        }
        if entry.rotational && kinds.contains(&Some(KindName::Point)) {
            let message = "a point does not rotate, and dry friction of a rotation has no effect on it";
            return Err(place.key("rotational").fault(message, "name rigid bodies, or remove `rotational`"));
        }
        Ok(DryFriction {
            name: entry.name.clone(),
            body,
            against,
            point: self.optional_vector(place.key("point"), "point", &entry.point)?,
            axes,
            is_rotational: entry.rotational,
            bound,
        })
    }

    fn ignored(&self, group_names: &[String]) -> Result<Ignored, Fault> {
        let mut ignored = Ignored::default();
        for (index, entry) in self.scene.ignored.iter().enumerate() {
            let place = Place::top("ignore").index(index);
            match (&entry.bodies, &entry.groups) {
                (Some(names), None) => {
                    let place = place.key("bodies");
                    let names = self.two(place.clone(), "bodies", names)?;
                    let first = self.body(place.index(0), names[0])?;
                    let second = self.body(place.index(1), names[1])?;
                    if first == second {
                        let message = format!("body `{}` is named twice", names[0]);
                        return Err(place.fault(message, "name two bodies; a body never collides with itself"));
                    }
                    ignored.pairs.push((first, second));
                }
                (None, Some(names)) => {
                    let place = place.key("groups");
                    let names = self.two(place.clone(), "groups", names)?;
                    let group = |number: usize| {
                        let known = || group_names.iter().map(String::as_str);
                        known().position(|candidate| candidate == names[number]).ok_or_else(|| {
                            let message = format!("no body is in a group `{}`", names[number]);
                            place.index(number).fault(message, suggest(names[number], "groups", known()))
                        })
                    };
                    ignored.groups.push((group(0)?, group(1)?));
                }
                _ => {
                    let message = "an `ignore` table names bodies or groups, one of the two";
                    return Err(place.fault(message, "give `bodies = [\"a\", \"b\"]` or `groups = [\"a\", \"b\"]`"));
                }
            }
        }
        Ok(ignored)
    }
}

/// Which bodies of a model may collide at all.
pub(crate) struct Collisions<'a> {
    bodies: &'a [Body],
    /// Ignored bodies and groups, smaller number first.
    pairs: BTreeSet<(usize, usize)>,
    groups: BTreeSet<(usize, usize)>,
}

impl<'a> Collisions<'a> {
    pub(crate) fn new(model: &'a MultibodyModel) -> Self {
        let ordered = |list: &[(usize, usize)]| list.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        Self { bodies: &model.bodies, pairs: ordered(&model.ignored_pairs), groups: ordered(&model.ignored_groups) }
    }

    pub(crate) fn are_possible(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.bodies[a], &self.bodies[b]);
        a != b
            && (first.kind.is_free() || second.kind.is_free())
            && !self.pairs.contains(&(a.min(b), a.max(b)))
            && !self.groups.contains(&(first.group.min(second.group), first.group.max(second.group)))
    }
}

/// Refuses pairs of shapes that can touch without a collision test or without a coefficient of friction.
fn check_pairs(model: &MultibodyModel) -> Result<(), Fault> {
    let collisions = Collisions::new(model);
    let place = |body: usize, shape: usize| Place::top("body").index(body).key("shape").index(shape);
    for (b, second) in model.bodies.iter().enumerate() {
        for (a, first) in model.bodies[..b].iter().enumerate() {
            if !collisions.are_possible(a, b) {
                continue;
            }
            for first_shape in &first.shapes {
                for (number, second_shape) in second.shapes.iter().enumerate() {
                    let shapes = [first_shape, second_shape];
                    if !collide::is_supported(&shapes[0].placed.shape, &shapes[1].placed.shape) {
                        let names = shapes.map(|shape| shape.placed.shape.name(model.dimension));
                        let message = format!(
                            "the {} of body `{}` and the {} of body `{}` cannot collide yet",
                            names[0], first.name, names[1], second.name
                        );
                        let help = format!(
                            "use other shapes (a box collides only with a half-plane or half-space), or let the two pass \
                             through each other: `[[ignore]]` with `bodies = [\"{}\", \"{}\"]`",
                            first.name, second.name
                        );
                        return Err(place(b, number).fault(message, help));
                    }
                    let [m, n] = shapes.map(|shape| shape.material);
                    if model.materials.friction(m, n).is_none() {
                        let [m, n] = [m, n].map(|material| &model.materials.materials[material].name);
                        let message = format!(
                            "body `{}` of `{m}` can touch body `{}` of `{n}`, and no friction is given for these materials",
                            first.name, second.name
                        );
                        let help = format!(
                            "add `[[pair]]` with `materials = [\"{m}\", \"{n}\"]` and `friction`, or choose a rule for all \
                             pairs: `[contact]` with `combine = \"geometric-mean\"`"
                        );
                        return Err(place(b, number).fault(message, help));
                    }
                }
            }
        }
    }
    Ok(())
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

/// Eigenvalues of a symmetric matrix in ascending order, by Jacobi rotations.
fn eigenvalues(matrix: &DMat3) -> [f64; 3] {
    let mut a = [[0.0; 3]; 3];
    for row in 0..3 {
        for column in 0..3 {
            a[row][column] = matrix.col(column)[row];
        }
    }
    // Convergence is quadratic; a sweep without effect leaves the matrix as it is.
    const SWEEPS: usize = 20;
    for _ in 0..SWEEPS {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            // The smaller rotation that makes entry (p, q) zero.
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for k in 0..3 {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
            }
            (a[p][q], a[q][p]) = (0.0, 0.0);
        }
    }
    let mut values = [a[0][0], a[1][1], a[2][2]];
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_by_hand() {
        assert_eq!(eigenvalues(&DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.0))), [1.0, 2.0, 3.0]);
        // [[2, 1], [1, 2]] has 1 and 3; turned by any rotation the values stay.
        let block = DMat3::from_cols(DVec3::new(2.0, 1.0, 0.0), DVec3::new(1.0, 2.0, 0.0), DVec3::new(0.0, 0.0, 5.0));
        let turn = DMat3::from_quat(DQuat::from_xyzw(0.5, -0.1, 0.7, 0.3).normalize());
        for matrix in [block, turn * block * turn.transpose()] {
            for (value, expected) in eigenvalues(&matrix).into_iter().zip([1.0, 3.0, 5.0]) {
                assert!((value - expected).abs() < 1e-14, "{value} is not {expected}");
            }
        }
    }

    #[test]
    fn plain_names() {
        for name in ["rod", "ball-1", "a_b", "7", "Stößel"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", "a b", "a.b", "a/b", "[x]"] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}

//! Applied forces and dry friction.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{AppliedForce, Body, Clutch, DryFriction};
use stiction_dynamics::{FrictionShape, SchemeSettings};

use super::Reader;
use super::materials::friction_shape;
use super::names::read_named;
use super::values::not_negative;
use crate::place::{Fault, Place};
use crate::scene::{ClutchEntry, DryFrictionEntry, ForceEntry, Scene};

impl Reader<'_> {
    pub(super) fn forces(&self, bodies: &[Body]) -> Result<Vec<AppliedForce>, Fault> {
        self.scene.forces.iter().enumerate().map(|(index, entry)| self.force(index, entry, bodies)).collect()
    }

    fn force(&self, index: usize, entry: &ForceEntry, bodies: &[Body]) -> Result<AppliedForce, Fault> {
        let place = Place::top("force").index(index);
        if entry.force.is_none() && entry.torque.is_none() {
            return Err(place.fault("neither a force nor a torque is given", "give `force`, `torque` or both"));
        }
        let force = AppliedForce {
            body: self.body(place.key("body"), &entry.body)?,
            force: self.optional_vector(&place, "force", &entry.force)?,
            torque: self.rotation(&place, "torque", &entry.torque)?,
            point: self.optional_vector(&place, "point", &entry.point)?,
            axes: entry.axes,
            from: entry.from.unwrap_or(self.scene.run.start),
            until: entry.until.unwrap_or(f64::INFINITY),
        };
        force.check(self.dimension, bodies).map_err(|error| place.value_fault(error))?;
        Ok(force)
    }

    pub(super) fn dry_friction(&self, bodies: &[Body]) -> Result<Vec<DryFriction>, Fault> {
        let (list, words) = (Place::top("dry-friction"), ["dry friction", "dry friction elements"]);
        let read = |place, entry: &_| self.dry_friction_element(place, entry, bodies);
        read_named(&list, words, &self.scene.dry_friction, |entry| &entry.name, read)
    }

    fn dry_friction_element(
        &self,
        place: Place,
        entry: &DryFrictionEntry,
        bodies: &[Body],
    ) -> Result<DryFriction, Fault> {
        let body = self.body(place.key("body"), &entry.body)?;
        let against = self.optional_body(place.key("against"), entry.against.as_ref())?;
        let axes = match (&entry.axes, self.turns_about_z(entry.rotational)) {
            (None, true) => vec![DVec3::Z],
            (Some(axes), false) => {
                let axis = |(number, values): (usize, &Vec<f64>)| {
                    self.vector(place.key("axes").index(number), "the axis", values)
                };
                axes.iter().enumerate().map(axis).collect::<Result<_, _>>()?
            }
            (axes, _) => {
                let help =
                    if entry.rotational { "the axis of the rotation" } else { "one or two directions of sliding" };
                return Err(self.axis_fault(&place, ["dry friction", &entry.name, "axes", help], axes.is_some()));
            }
        };
        let unit = if entry.rotational { "N m" } else { "N" };
        let [bound, bias] = two_bounds(&place, entry.bound, entry.bound_backwards, unit, axes.len())?;
        let semi_axes = match entry.semi_axes.as_deref() {
            None => [1.0; 2],
            Some(&[first, second]) if axes.len() == 2 => [first, second],
            Some(list) => {
                let axes = if axes.len() == 1 { "1 axis".to_owned() } else { format!("{} axes", axes.len()) };
                let message = format!("{} semi-axes are given, and {axes}", list.len());
                let help = "give two axes and a factor on `bound` for each; along one axis change `bound`";
                return Err(place.key("semi-axes").fault(message, help));
            }
        };
        let mut element = DryFriction {
            name: entry.name.clone(),
            body,
            against,
            point: self.optional_vector(&place, "point", &entry.point)?,
            axes,
            is_rotational: entry.rotational,
            bound,
            static_bound: entry.static_bound,
            semi_axes,
            shape: FrictionShape::Ball,
            bias,
        };
        let given = [
            ("bound-backwards", entry.bound_backwards.is_some()),
            ("semi-axes", entry.semi_axes.is_some()),
            ("static-bound", entry.static_bound.is_some()),
        ];
        refuse_two_of(&place, &[given[0], given[2]])?;
        element.check(self.dimension, bodies).map_err(|error| place.value_fault(error))?;
        let lists = [&entry.friction_directions, &entry.friction_half_spaces];
        element.shape = friction_shape(self.scene, &place, ("axis", element.axes.len()), lists, &given[..2])?;
        Ok(element)
    }

    pub(super) fn clutches(&self, bodies: &[Body]) -> Result<Vec<Clutch>, Fault> {
        let read = |place, entry: &_| self.clutch(place, entry, bodies);
        let (list, words) = (Place::top("clutch"), ["a clutch", "clutches"]);
        read_named(&list, words, &self.scene.clutches, |entry| &entry.name, read)
    }

    fn clutch(&self, place: Place, entry: &ClutchEntry, bodies: &[Body]) -> Result<Clutch, Fault> {
        refuse_two_way_scheme(self.scene, &place, OneWay::Clutch(&entry.name))?;
        let body = self.body(place.key("body"), &entry.body)?;
        let against = self.optional_body(place.key("against"), entry.against.as_ref())?;
        let axis = match (&entry.axis, self.turns_about_z(entry.rotational)) {
            (None, true) => DVec3::Z,
            (Some(axis), false) => self.vector(place.key("axis"), "the axis", axis)?,
            (axis, _) => {
                let help =
                    if entry.rotational { "the axis of the rotation" } else { "the direction in which it moves" };
                return Err(self.axis_fault(&place, ["clutch", &entry.name, "axis", help], axis.is_some()));
            }
        };
        let clutch = Clutch {
            name: entry.name.clone(),
            body,
            against,
            point: self.optional_vector(&place, "point", &entry.point)?,
            axis,
            is_rotational: entry.rotational,
        };
        clutch.check(self.dimension, bodies).map_err(|error| place.value_fault(error))?;
        Ok(clutch)
    }

    /// Whether a line of friction or of a clutch has no axis to give: a rotation in the plane.
    fn turns_about_z(&self, is_rotational: bool) -> bool {
        is_rotational && self.is_plane()
    }

    /// An axis that is given for a rotation in the plane, or missing elsewhere.
    fn axis_fault(&self, place: &Place, [what, name, key, help]: [&str; 4], is_given: bool) -> Fault {
        if is_given {
            let message = format!("a rotation in the plane has no `{key}`: it is about z");
            return place.key(key.to_owned()).key_fault(message, format!("remove `{key}`"));
        }
        let example = if self.is_plane() { "[1.0, 0.0]" } else { "[1.0, 0.0, 0.0]" };
        let example = if key == "axes" { format!("[{example}]") } else { example.to_owned() };
        place.fault(format!("{what} `{name}` has no `{key}`"), format!("give {help}, as in `{key} = {example}`"))
    }
}

/// Refuses two keys of which each says what friction may be.
pub(super) fn refuse_two_of(place: &Place, keys: &[(&'static str, bool)]) -> Result<(), Fault> {
    let mut given = keys.iter().filter(|(_, is_given)| *is_given);
    let (Some(&(first, _)), Some(&(second, _))) = (given.next(), given.next()) else { return Ok(()) };
    let message = format!("both `{first}` and `{second}` are given, and friction has one set and one pair of bounds");
    Err(place.key(second).key_fault(message, "keep one of them; `friction-directions` may have any shape"))
}

/// The bound and the bias of friction with these bounds against sliding forwards and backwards.
pub(super) fn two_bounds(
    place: &Place,
    forwards: f64,
    backwards: Option<f64>,
    unit: &str,
    axis_count: usize,
) -> Result<[f64; 2], Fault> {
    let Some(backwards) = backwards else { return Ok([forwards, 0.0]) };
    let place = place.key("bound-backwards");
    not_negative(place.clone(), "the bound backwards", backwards, unit)?;
    if axis_count != 1 {
        let message = format!("`bound-backwards` is given, and {axis_count} directions of sliding");
        return Err(place.fault(message, "give one direction, or `bound` alone"));
    }
    Ok([0.5 * (forwards + backwards), 0.5 * (backwards - forwards)])
}

/// What acts one way only, and which schemes with two ways do not treat.
#[derive(Clone, Copy)]
pub(super) enum OneWay<'a> {
    Clutch(&'a str),
    PreStressedSpring(&'a str),
}

/// Refuses it under a scheme that treats neither, or with a setting that keeps it from that.
pub(super) fn refuse_two_way_scheme(scene: &Scene, place: &Place, what: OneWay<'_>) -> Result<(), Fault> {
    let scheme = scene.scheme.facts();
    if scheme.one_way {
        return Ok(());
    }
    let (what, otherwise) = match what {
        OneWay::Clutch(name) => (
            format!("clutch `{name}`"),
            "a clutch whose force has a limit is `dry-friction` with `bound` and `bound-backwards`",
        ),
        OneWay::PreStressedSpring(name) => {
            (format!("pre-stressed spring `{name}`"), "a spring without `preload` goes with every scheme")
        }
    };
    let name = scheme.named.name;
    let (with, without) = match scheme.restricted_by {
        Some(setting) => (format!(" with `{setting}`"), format!("leave out `{setting}`, or ")),
        None => Default::default(),
    };
    let others = SchemeSettings::named_with(|other| other.one_way && other.named.name != name);
    let message = format!("the scheme `{name}`{with} does not treat {what}");
    Err(place.fault(message, format!("{without}choose {others}; {otherwise}")).against("scheme"))
}

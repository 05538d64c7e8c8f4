//! Applied forces and dry friction.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{AppliedForce, Clutch, Dimension, DryFriction};
use stiction_solve::PortableMath as _;

use super::Reader;
use super::materials::friction_shape;
use super::names::{plain_name, unique};
use super::values::{not_negative, positive};
use crate::scene::{ClutchEntry, DryFrictionEntry, ForceEntry, KindName, Scene};
use crate::scene_error::{Fault, Place};

/// Two axes are orthogonal when their product is at most this.
const ORTHOGONAL_TOLERANCE: f64 = 1e-9;

impl Reader<'_> {
    pub(super) fn forces(&self) -> Result<Vec<AppliedForce>, Fault> {
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

    pub(super) fn dry_friction(&self) -> Result<Vec<DryFriction>, Fault> {
        let elements = &self.scene.dry_friction;
        unique("dry-friction", "dry friction elements", elements.iter().map(|element| element.name.as_str()))?;
        elements.iter().enumerate().map(|(index, entry)| self.dry_friction_element(index, entry)).collect()
    }

    fn dry_friction_element(&self, index: usize, entry: &DryFrictionEntry) -> Result<DryFriction, Fault> {
        let place = &Place::top("dry-friction").index(index);
        let unit = if entry.rotational { "N m" } else { "N" };
        not_negative(place.key("bound"), "the bound", entry.bound, unit)?;
        let line = LineEntry {
            name: &entry.name,
            body: &entry.body,
            against: entry.against.as_deref(),
            point: &entry.point,
            axes: entry.axes.as_deref(),
            is_rotational: entry.rotational,
        };
        let HeldLine { body, against, point, axes } = self.held_line(place, ["dry friction", "axes"], &line)?;
        let [bound, bias] = two_bounds(place, entry.bound, entry.bound_backwards, unit, axes.len())?;
        let given = [
            ("bound-backwards", entry.bound_backwards.is_some()),
            ("semi-axes", entry.semi_axes.is_some()),
            ("static-bound", entry.static_bound.is_some()),
        ];
        let lists = [&entry.friction_directions, &entry.friction_half_spaces];
        let shape = friction_shape(self.scene, place, ("axis", axes.len()), lists, &given[..2])?;
        refuse_two_of(place, &[given[0], given[2]])?;
        let static_bound = static_bound(place.key("static-bound"), "bound", bound, entry.static_bound, unit)?;
        let semi_axes = match entry.semi_axes.as_deref() {
            None => [1.0; 2],
            Some(&[first, second]) if axes.len() == 2 => {
                for (number, value) in [first, second].into_iter().enumerate() {
                    positive(place.key("semi-axes").index(number), "a semi-axis", value, "(a factor on the bound)")?;
                }
                [first, second]
            }
            Some(list) => {
                let message = format!("{} semi-axes are given, and {} axes", list.len(), axes.len());
                let help = "give two axes and a factor on `bound` for each; along one axis change `bound`";
                return Err(place.key("semi-axes").fault(message, help));
            }
        };
        let (name, is_rotational) = (entry.name.clone(), entry.rotational);
        Ok(DryFriction { name, body, against, point, axes, is_rotational, bound, static_bound, semi_axes, shape, bias })
    }

    /// What friction and clutches have in common, under their names and that of the key of their axes.
    fn held_line(
        &self,
        place: &Place,
        [what, key]: [&'static str; 2],
        entry: &LineEntry<'_>,
    ) -> Result<HeldLine, Fault> {
        plain_name(place.key("name"), what, entry.name)?;
        let body = self.body(place.key("body"), entry.body)?;
        let against = match entry.against {
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
        let axes = match (entry.axes, entry.is_rotational, self.dimension) {
            (None, true, Dimension::Plane) => vec![DVec3::Z],
            (Some(_), true, Dimension::Plane) => {
                let message = format!("a rotation in the plane has no `{key}`: it is about z");
                return Err(place.key(key).key_fault(message, format!("remove `{key}`")));
            }
            (None, ..) => {
                let help =
                    if entry.is_rotational { "the axis of the rotation" } else { "one or two directions of sliding" };
                let example = if self.is_plane() { "[1.0, 0.0]" } else { "[1.0, 0.0, 0.0]" };
                let example = if key == "axis" { example.to_owned() } else { format!("[{example}]") };
                let message = format!("{} `{}` has no `{key}`", what.trim_start_matches("a "), entry.name);
                return Err(place.fault(message, format!("give {help}, as in `{key} = {example}`")));
            }
            (Some(axes), is_rotational, _) => {
                let most = if is_rotational { 1 } else { 2 };
                if axes.is_empty() || axes.len() > most {
                    let message = format!("{} axes are given", axes.len());
                    let help = if is_rotational { "give the one axis of the rotation" } else { "give one or two" };
                    return Err(place.key(key).fault(message, help));
                }
                let axis = |(number, values): (usize, &Vec<f64>)| {
                    self.unit_vector(place.key(key).index(number), "the axis", values)
                };
                axes.iter().enumerate().map(axis).collect::<Result<Vec<_>, _>>()?
            }
        };
        if let [first, second] = axes[..]
            && first.dot(second).abs() > ORTHOGONAL_TOLERANCE
        {
            let angle = first.dot(second).clamp(-1.0, 1.0).portable_acos().to_degrees();
            let message = format!("the two axes make an angle of {angle:.6} degrees");
            return Err(place.key(key).fault(message, "give axes that are orthogonal to each other"));
        }
        if entry.is_rotational && kinds.contains(&Some(KindName::Point)) {
            let message = format!("a point does not rotate, and {what} of a rotation has no effect on it");
            return Err(place.key("rotational").fault(message, "name rigid bodies, or remove `rotational`"));
        }
        Ok(HeldLine { body, against, point: self.optional_vector(place.key("point"), "point", entry.point)?, axes })
    }

    pub(super) fn clutches(&self) -> Result<Vec<Clutch>, Fault> {
        let entries = &self.scene.clutches;
        unique("clutch", "clutches", entries.iter().map(|entry| entry.name.as_str()))?;
        entries.iter().enumerate().map(|(index, entry)| self.clutch(index, entry)).collect()
    }

    fn clutch(&self, index: usize, entry: &ClutchEntry) -> Result<Clutch, Fault> {
        let place = Place::top("clutch").index(index);
        refuse_two_way_scheme(self.scene, &place, &format!("clutch `{}`", entry.name))?;
        let axis = entry.axis.clone().map(|axis| vec![axis]);
        let line = LineEntry {
            name: &entry.name,
            body: &entry.body,
            against: entry.against.as_deref(),
            point: &entry.point,
            axes: axis.as_deref(),
            is_rotational: entry.rotational,
        };
        let HeldLine { body, against, point, axes } = self.held_line(&place, ["a clutch", "axis"], &line)?;
        let (name, is_rotational) = (entry.name.clone(), entry.rotational);
        Ok(Clutch { name, body, against, point, axis: axes[0], is_rotational })
    }
}

/// Where something holds on to bodies along lines, as a scene says it.
struct LineEntry<'a> {
    name: &'a str,
    body: &'a str,
    against: Option<&'a str>,
    point: &'a Option<Vec<f64>>,
    axes: Option<&'a [Vec<f64>]>,
    is_rotational: bool,
}

/// The same, checked.
struct HeldLine {
    body: usize,
    against: Option<usize>,
    point: DVec3,
    axes: Vec<DVec3>,
}

/// Refuses two keys of which each says what friction may be.
pub(super) fn refuse_two_of(place: &Place, keys: &[(&'static str, bool)]) -> Result<(), Fault> {
    let mut given = keys.iter().filter(|(_, is_given)| *is_given);
    let (Some(&(first, _)), Some(&(second, _))) = (given.next(), given.next()) else { return Ok(()) };
    let message = format!("both `{first}` and `{second}` are given, and friction has one set and one pair of bounds");
    Err(place.key(second).key_fault(message, "keep one of them; `friction-directions` may have any shape"))
}

/// The bound of what sticks, which is not below that of what slides.
pub(super) fn static_bound(
    place: Place,
    key: &str,
    kinetic: f64,
    held: Option<f64>,
    unit: &str,
) -> Result<Option<f64>, Fault> {
    let Some(held) = held else { return Ok(None) };
    not_negative(place.clone(), "the static bound", held, unit)?;
    if held < kinetic || kinetic == 0.0 {
        let message =
            format!("the static bound is {held:?} {unit}, and that of sliding, `{key}`, is {kinetic:?} {unit}");
        return Err(place.fault(
            message,
            format!("give a positive `{key}`, and a static bound not below it, or leave the key out"),
        ));
    }
    Ok(Some(held))
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

/// The fault of a clutch or pre-stressed spring under a scheme that treats neither.
pub(super) fn refuse_two_way_scheme(scene: &Scene, place: &Place, what: &str) -> Result<(), Fault> {
    let Some(name) = scene.scheme.two_way_name() else { return Ok(()) };
    let message = format!("the scheme `{name}` does not treat {what}");
    let help = "choose `stewart-trinkle`, `moreau-midpoint` or `implicit-ncp`; a clutch whose force has a limit is `dry-friction` with `bound` and `bound-backwards`";
    Err(place.fault(message, help))
}

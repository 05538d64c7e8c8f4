//! Applied forces and dry friction.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{AppliedForce, Dimension, DryFriction};
use stiction_solve::PortableMath as _;

use super::Reader;
use super::names::{plain_name, unique};
use super::values::not_negative;
use crate::scene::{DryFrictionEntry, ForceEntry, KindName};
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
            let angle = first.dot(second).clamp(-1.0, 1.0).portable_acos().to_degrees();
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
}

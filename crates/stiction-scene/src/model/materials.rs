//! Materials, and friction and restitution of their pairs.

use std::collections::BTreeMap;

use stiction_bodies::{Dimension, Material, MaterialTable, Surface};
use stiction_dynamics::{ContactMethod, ImpactLaw, Restitution};

use super::Reader;
use super::names::{two, unique};
use super::values::{from_zero_to_one, not_negative};
use crate::scene::SchemeSettings;
use crate::scene_error::{Fault, Place, quoted};

impl Reader<'_> {
    pub(super) fn materials(&self) -> Result<MaterialTable, Fault> {
        let scene = self.scene;
        unique("material", "materials", scene.materials.iter().map(|material| material.name.as_str()))?;
        let mut surfaces = Vec::new();
        for (index, material) in scene.materials.iter().enumerate() {
            let place = Place::top("material").index(index);
            if material.name.is_empty() {
                return Err(place.key("name").fault("a material has an empty name", "give it a name"));
            }
            let restitution = Restitution {
                law: material.impact_law,
                normal: material.restitution,
                tangential: material.tangential_restitution,
            };
            let torsion_radius = self.torsion_radius(&place, material.torsion_radius)?;
            let surface = Surface { friction: material.friction, torsion_radius, restitution };
            surfaces.push(checked_surface(&scene.scheme, &place, surface)?);
        }
        let mut pairs = BTreeMap::new();
        for (index, pair) in scene.pairs.iter().enumerate() {
            let place = Place::top("pair").index(index);
            let names = two(place.key("materials"), "materials", &pair.materials)?;
            let first = self.material(place.key("materials").index(0), names[0])?;
            let second = self.material(place.key("materials").index(1), names[1])?;
            let restitution =
                Restitution { law: pair.impact_law, normal: pair.restitution, tangential: pair.tangential_restitution };
            let torsion_radius = self.torsion_radius(&place, pair.torsion_radius)?;
            let surface = Surface { friction: pair.friction, torsion_radius, restitution };
            let surface = checked_surface(&scene.scheme, &place, surface)?;
            if first == second {
                let message = format!("the pair is `{}` twice", names[0]);
                let help = "the `friction` of a material is its friction against itself; a pair has two different ones";
                return Err(place.key("materials").fault(message, help));
            }
            if pairs.insert((first.min(second), first.max(second)), surface).is_some() {
                let message = format!("the friction of {} is given twice", quoted(&names));
                return Err(place.key("materials").fault(message, "remove one of the two tables"));
            }
        }
        let named = scene.materials.iter().zip(surfaces);
        let materials = named.map(|(entry, surface)| Material { name: entry.name.clone(), surface });
        Ok(MaterialTable { materials: materials.collect(), pairs, rule: scene.contact.combine })
    }
}

impl Reader<'_> {
    /// A radius of torsional friction, checked: only the exact cone has a place for it.
    fn torsion_radius(&self, place: &Place, radius: f64) -> Result<f64, Fault> {
        let place = place.key("torsion-radius");
        not_negative(place.clone(), "the radius of torsional friction", radius, "m")?;
        if radius > 0.0 && self.scene.dimension != Some(Dimension::Space) {
            let message = "there is no drilling friction in the plane";
            return Err(place.fault(message, "leave the key out, or give a `joint` its `friction`"));
        }
        if radius > 0.0 && !matches!(self.scene.contact_method(), ContactMethod::Cone(_)) {
            let message =
                "torsional friction has an ellipsoid as its friction set, which only the method `cone` treats";
            return Err(place.fault(message, "choose `[method.cone]`, or leave the key out"));
        }
        Ok(radius)
    }
}

/// Friction and the two restitutions of a material, a pair or a contact, checked.
pub(super) fn checked_surface(scheme: &SchemeSettings, place: &Place, surface: Surface) -> Result<Surface, Fault> {
    not_negative(place.key("friction"), "the coefficient of friction", surface.friction, "")?;
    let Restitution { law, normal, tangential } = surface.restitution;
    if law == ImpactLaw::Poisson {
        if let SchemeSettings::MoreauMidpoint(_) = scheme {
            let message = "the scheme `moreau-midpoint` knows Newton's impact law only";
            let help =
                "choose `impact-law = \"newton\"`, or the scheme `[scheme.trapezoidal]` or `[scheme.event-driven]`";
            return Err(place.key("impact-law").fault(message, help));
        }
        if tangential > 0.0 {
            let message = format!("`tangential-restitution` is {tangential:?}, but Poisson's law has none");
            let help = "leave it out, or choose `impact-law = \"newton\"`";
            return Err(place.key("tangential-restitution").fault(message, help));
        }
    }
    for (key, value) in [("restitution", normal), ("tangential-restitution", tangential)] {
        from_zero_to_one(place.key(key), &format!("the coefficient of {}", key.replace('-', " ")), value)?;
        if value > 0.0 && matches!(scheme, SchemeSettings::StewartTrinkle(_)) {
            let message =
                format!("`{key}` is {value:?}, but the impacts of the scheme `stewart-trinkle` are inelastic");
            let help = "choose a scheme with restitution, `[scheme.moreau-midpoint]` or `[scheme.trapezoidal]`, or \
                        leave the key out";
            return Err(place.key(key).fault(message, help));
        }
    }
    Ok(surface)
}

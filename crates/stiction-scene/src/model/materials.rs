//! Materials and the friction of their pairs.

use std::collections::BTreeMap;

use stiction_bodies::{Material, MaterialTable};

use super::Reader;
use super::names::{two, unique};
use super::values::not_negative;
use crate::scene_error::{Fault, Place, quoted};

impl Reader<'_> {
    pub(super) fn materials(&self) -> Result<MaterialTable, Fault> {
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
            let names = two(place.key("materials"), "materials", &pair.materials)?;
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
}

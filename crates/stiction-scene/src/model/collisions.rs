//! Which bodies may collide, and whether every such pair has a collision test and a coefficient of friction.

use std::collections::BTreeSet;

use stiction_bodies::{Body, MultibodyModel, collide};

use super::Reader;
use super::names::two;
use crate::scene_error::{Fault, Place, suggest};

/// Numbers of bodies and groups that do not collide.
#[derive(Default)]
pub(super) struct Ignored {
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) groups: Vec<(usize, usize)>,
}

impl Reader<'_> {
    pub(super) fn ignored(&self, group_names: &[String]) -> Result<Ignored, Fault> {
        let mut ignored = Ignored::default();
        for (index, entry) in self.scene.ignored.iter().enumerate() {
            let place = Place::top("ignore").index(index);
            match (&entry.bodies, &entry.groups) {
                (Some(names), None) => {
                    let place = place.key("bodies");
                    let names = two(place.clone(), "bodies", names)?;
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
                    let names = two(place.clone(), "groups", names)?;
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
        let mut pairs: BTreeSet<(usize, usize)> = ordered(&model.ignored_pairs);
        pairs.extend(ordered(&model.jointed_pairs()));
        Self { bodies: &model.bodies, pairs, groups: ordered(&model.ignored_groups) }
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
pub(super) fn check_pairs(model: &MultibodyModel) -> Result<(), Fault> {
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
                            "use other shapes (the reference of the scene format lists those that collide), or let the two pass \
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

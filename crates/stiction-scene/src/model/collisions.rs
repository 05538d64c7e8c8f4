//! Bodies and groups that do not collide.

use super::Reader;
use super::names::two;
use crate::place::{Fault, Place};
use crate::scene_error::suggest;

impl Reader<'_> {
    /// The numbers of bodies, and then of groups, that do not collide.
    pub(super) fn ignored(&self, group_names: &[String]) -> Result<[Vec<(usize, usize)>; 2], Fault> {
        let [mut bodies, mut groups] = [Vec::new(), Vec::new()];
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
                    bodies.push((first, second));
                }
                (None, Some(names)) => {
                    let place = place.key("groups");
                    let names = two(place.clone(), "groups", names)?;
                    let known = || group_names.iter().map(String::as_str);
                    let group = |number: usize| {
                        known().position(|candidate| candidate == names[number]).ok_or_else(|| {
                            let message = format!("no body is in a group `{}`", names[number]);
                            place.index(number).fault(message, suggest(names[number], "groups", known()))
                        })
                    };
                    groups.push((group(0)?, group(1)?));
                }
                _ => {
                    let message = "an `ignore` table names bodies or groups, one of the two";
                    return Err(place.fault(message, "give `bodies = [\"a\", \"b\"]` or `groups = [\"a\", \"b\"]`"));
                }
            }
        }
        Ok([bodies, groups])
    }
}

//! Names: which are allowed, and what they stand for.

use std::collections::BTreeMap;

use super::Reader;
use crate::place::{Fault, Place};
use crate::scene_error::suggest;

/// Whether a name can stand in column names and file names.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

pub(super) fn plain_name(place: Place, what: &str, name: &str) -> Result<(), Fault> {
    if is_plain_name(name) {
        return Ok(());
    }
    let proposal: String = name.chars().map(|c| if is_plain_name(&c.to_string()) { c } else { '-' }).collect();
    let help = "use letters, digits, `-` and `_`";
    let help = if name.is_empty() { help.to_owned() } else { format!("{help}, as in `{proposal}`") };
    Err(place.fault(format!("`{name}` cannot be the name of {what}"), help))
}

/// A fault at the second of two entries of a list at the top that have the same name.
pub(super) fn unique<'a>(list: &'static str, what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    unique_at(&Place::top(list), what, names)
}

/// A fault at the second of two entries of any list that have the same name.
pub(super) fn unique_at<'a>(list: &Place, what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = BTreeMap::new();
    for (index, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, index) {
            let message = format!("two {what} are named `{name}`, numbers {} and {}", first + 1, index + 1);
            return Err(list.index(index).key("name").fault(message, "give one of them another name"));
        }
    }
    Ok(())
}

/// The two names of a pair.
pub(super) fn two<'a>(place: Place, what: &str, names: &'a [String]) -> Result<[&'a str; 2], Fault> {
    match names {
        [first, second] => Ok([first.as_str(), second.as_str()]),
        _ => Err(place.fault(format!("{} given, and two are needed", names.len()), format!("name two {what}"))),
    }
}

impl Reader<'_> {
    pub(super) fn material(&self, place: Place, name: &str) -> Result<usize, Fault> {
        let names = || self.scene.materials.iter().map(|material| material.name.as_str());
        let unknown = || place.fault(format!("there is no material `{name}`"), suggest(name, "materials", names()));
        names().position(|candidate| candidate == name).ok_or_else(unknown)
    }

    pub(super) fn body(&self, place: Place, name: &str) -> Result<usize, Fault> {
        let names = || self.scene.bodies.iter().map(|body| body.name.as_str());
        let unknown = || place.fault(format!("there is no body `{name}`"), suggest(name, "bodies", names()));
        names().position(|candidate| candidate == name).ok_or_else(unknown)
    }

    /// The groups, in the order in which bodies name them.
    pub(super) fn group_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for body in &self.scene.bodies {
            if !names.contains(&body.group) {
                names.push(body.group.clone());
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

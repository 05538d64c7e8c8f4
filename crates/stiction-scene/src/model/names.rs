//! Names: which are allowed, and what they stand for.

use std::collections::BTreeMap;

use super::Reader;
use crate::place::{Fault, Place};
use crate::scene_error::suggest;

/// Whether a name can stand in column names and file names.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

/// The name with `-` for what cannot stand in one.
pub(crate) fn made_plain(name: &str) -> String {
    name.chars().map(|c| if is_plain_name(&c.to_string()) { c } else { '-' }).collect()
}

pub(super) fn plain_name(place: Place, what: &str, name: &str) -> Result<(), Fault> {
    if is_plain_name(name) {
        return Ok(());
    }
    let example = if name.is_empty() { String::new() } else { format!(", as in `{}`", made_plain(name)) };
    let help = format!("use letters, digits, `-` and `_`{example}");
    Err(place.fault(format!("`{name}` cannot be the name of {what}"), help))
}

/// A fault at the second of two entries of a list that have the same name.
pub(super) fn unique<'a>(list: &Place, what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = BTreeMap::new();
    for (index, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, index) {
            let message = format!("two {what} are named `{name}`, numbers {} and {}", first + 1, index + 1);
            return Err(list.index(index).key("name").fault(message, "give one of them another name"));
        }
    }
    Ok(())
}

/// Reads the entries of a list whose names are allowed, and unique; `words` are for one of them and
/// for several.
pub(super) fn read_named<E, T>(
    list: &Place,
    words: [&str; 2],
    entries: &[E],
    name: impl Fn(&E) -> &str,
    mut read: impl FnMut(Place, &E) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    unique(list, words[1], entries.iter().map(&name))?;
    let read = |(index, entry): (usize, &E)| {
        let place = list.index(index);
        plain_name(place.key("name"), words[0], name(entry))?;
        read(place, entry)
    };
    entries.iter().enumerate().map(read).collect()
}

/// The two names of a pair.
pub(super) fn two<'a>(place: Place, what: &str, names: &'a [String]) -> Result<[&'a str; 2], Fault> {
    match names {
        [first, second] => Ok([first.as_str(), second.as_str()]),
        _ => Err(place.fault(format!("{} given, and two are needed", names.len()), format!("name two {what}"))),
    }
}

/// The position of a name in a list, as the number of what has it.
fn number_of<'a>(
    place: &Place,
    [one, all]: [&str; 2],
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, Fault> {
    let unknown = || place.fault(format!("there is no {one} `{name}`"), suggest(name, all, names.clone()));
    names.clone().position(|candidate| candidate == name).ok_or_else(unknown)
}

impl Reader<'_> {
    pub(super) fn material(&self, place: Place, name: &str) -> Result<usize, Fault> {
        number_of(&place, ["material", "materials"], name, self.scene.materials.iter().map(|it| it.name.as_str()))
    }

    pub(super) fn body(&self, place: Place, name: &str) -> Result<usize, Fault> {
        number_of(&place, ["body", "bodies"], name, self.scene.bodies.iter().map(|body| body.name.as_str()))
    }

    /// The body that one may name; none for the world.
    pub(super) fn optional_body(&self, place: Place, name: Option<&String>) -> Result<Option<usize>, Fault> {
        name.map(|name| self.body(place, name)).transpose()
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

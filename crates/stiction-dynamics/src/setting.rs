//! Names and settings of what a user chooses: schemes and contact methods.
//!
//! Each of them states its [name](Named) and checks its own settings, in its own file. Scenes, the
//! command line and the documents follow from that.

use std::borrow::Cow;

use schemars::Schema;
use thiserror::Error;

/// A scheme or a contact method as people name it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named {
    /// Its name in scenes and on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// What may follow the name after a colon, as in `pyramid:16`: a setting in short.
    pub suffixes: &'static [Suffix],
}

/// What may follow a name after a colon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Suffix {
    /// A word: it gives a key this value, written in TOML.
    Word {
        /// The word.
        word: &'static str,
        /// The key.
        key: &'static str,
        /// Its value.
        value: &'static str,
    },
    /// A number for a key.
    Number {
        /// How the help shows the number.
        shown: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A whole number for a key: `K` in the help.
    Count {
        /// What is counted.
        of: &'static str,
        /// The key.
        key: &'static str,
    },
}

impl Suffix {
    /// The key and its value in TOML that a text after the colon stands for; none where it is not
    /// of this kind.
    pub fn setting(self, text: &str) -> Option<(&'static str, String)> {
        match self {
            Self::Word { word, key, value } => (text == word).then(|| (key, value.to_owned())),
            Self::Number { key, .. } => text.parse::<f64>().is_ok().then(|| (key, text.to_owned())),
            Self::Count { key, .. } => text.parse::<u32>().is_ok().then(|| (key, text.to_owned())),
        }
    }
}

impl Named {
    /// The key below the name, and its value in TOML, that a text after the colon stands for.
    pub fn setting(&self, text: &str) -> Option<(&'static str, String)> {
        self.suffixes.iter().find_map(|suffix| suffix.setting(text))
    }

    /// All ways to write it: `pyramid`, `pyramid:K with K friction directions`.
    pub fn forms(&self) -> impl Iterator<Item = String> {
        let name = self.name;
        let suffixed = self.suffixes.iter().map(move |suffix| match suffix {
            Suffix::Word { word, .. } => format!("{name}:{word}"),
            Suffix::Number { shown, .. } => format!("{name}:{shown}"),
            Suffix::Count { of, .. } => format!("{name}:K with K {of}"),
        });
        std::iter::once(name.to_owned()).chain(suffixed)
    }
}

/// A value that cannot be used: of a setting, a joint, a spring, or any other thing with keys.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}{message}; {remedy}", if key.is_empty() { String::new() } else { format!("`{key}`: ") })]
pub struct ValueError {
    /// Which value, as scene files call it: `limits.lower`, `bodies.1`; empty for the whole.
    pub key: Cow<'static, str>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl ValueError {
    /// The error of a key.
    pub fn new(key: impl Into<Cow<'static, str>>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), remedy: remedy.into() }
    }

    /// The same of a key in a table.
    #[must_use]
    pub fn inside(self, table: &'static str) -> Self {
        let key = if self.key.is_empty() { table.into() } else { format!("{table}.{}", self.key).into() };
        Self { key, ..self }
    }
}

/// Refuses a value that is not positive and finite.
///
/// # Errors
/// [`ValueError`] with the value and its unit.
pub fn check_positive(key: impl Into<Cow<'static, str>>, what: &str, value: f64, unit: &str) -> Result<(), ValueError> {
    check(value > 0.0 && value.is_finite(), key, what, (value, unit), "give a positive number")
}

/// Refuses a value that is negative or not finite.
///
/// # Errors
/// [`ValueError`] with the value and its unit.
pub fn check_not_negative(
    key: impl Into<Cow<'static, str>>,
    what: &str,
    value: f64,
    unit: &str,
) -> Result<(), ValueError> {
    check(value >= 0.0 && value.is_finite(), key, what, (value, unit), "give zero or a positive number")
}

/// Refuses a value that is not from 0 to 1.
///
/// # Errors
/// [`ValueError`] with the value.
pub fn check_share(key: impl Into<Cow<'static, str>>, what: &str, value: f64) -> Result<(), ValueError> {
    check((0.0..=1.0).contains(&value), key, what, (value, ""), "give a number from 0 to 1")
}

fn check(
    is_right: bool,
    key: impl Into<Cow<'static, str>>,
    what: &str,
    (value, unit): (f64, &str),
    remedy: &str,
) -> Result<(), ValueError> {
    if is_right {
        return Ok(());
    }
    Err(ValueError::new(key, format!("{what} is {value:?} {unit}").trim_end(), remedy))
}

/// Refuses a bound of what sticks that is below that of what slides; `sliding` is the key of that
/// one.
///
/// # Errors
/// [`ValueError`] with both bounds.
pub fn check_static(
    key: &'static str,
    sliding: &str,
    kinetic: f64,
    held: Option<f64>,
    unit: &str,
) -> Result<(), ValueError> {
    let Some(held) = held else { return Ok(()) };
    check_not_negative(key, "the static bound", held, unit)?;
    if held >= kinetic && kinetic > 0.0 {
        return Ok(());
    }
    let message =
        format!("the static bound is {held:?} {unit}, and that of sliding, `{sliding}`, is {kinetic:?} {unit}");
    let remedy = format!("give a positive `{sliding}`, and a static bound not below it, or leave the key out");
    Err(ValueError::new(key, message, remedy))
}

/// Refuses a limit of zero.
pub(crate) fn at_least_one(key: &'static str, what: &str, limit: usize) -> Result<(), ValueError> {
    match limit {
        0 => Err(ValueError::new(key, format!("the limit of {what} is 0"), "give at least 1")),
        _ => Ok(()),
    }
}

/// `` `a`, `b` or `c` ``.
pub(crate) fn either<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => names.concat(),
    }
}

/// Gives the choices of an enum in a JSON schema their descriptions.
pub(crate) fn describe_choices(schema: &mut Schema, choices: &[Named]) {
    let Some(variants) = schema.get_mut("oneOf").and_then(|variants| variants.as_array_mut()) else { return };
    for variant in variants {
        let choice = choices.iter().find(|choice| variant["properties"].get(choice.name).is_some());
        if let Some(choice) = choice {
            variant["description"] = choice.summary.into();
        }
    }
}

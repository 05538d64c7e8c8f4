//! Names and settings of what a user chooses: schemes and contact methods.
//!
//! Each of them states its [name](Named) and checks its own settings, in its own file. Scenes, the
//! command line and the documents follow from that.

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

/// A setting with a value that cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}{message}; {remedy}", if keys.is_empty() { String::new() } else { format!("`{}`: ", keys.join(".")) })]
pub struct SettingError {
    /// The keys that lead to it, from the outermost table.
    pub keys: Vec<&'static str>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl SettingError {
    /// The error of a key.
    pub fn new(key: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { keys: vec![key], message: message.into(), remedy: remedy.into() }
    }

    /// The same for settings that stand in a table.
    #[must_use]
    pub fn inside(mut self, table: &'static str) -> Self {
        self.keys.insert(0, table);
        self
    }
}

/// Refuses a value that is not positive and finite.
pub(crate) fn positive(key: &'static str, what: &str, value: f64, unit: &str) -> Result<(), SettingError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(SettingError::new(key, format!("{what} is {value:?} {unit}"), "give a positive number"))
}

/// Refuses a value that is negative or not finite.
pub(crate) fn not_negative(key: &'static str, what: &str, value: f64, unit: &str) -> Result<(), SettingError> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(SettingError::new(key, format!("{what} is {value:?} {unit}"), "give zero or a positive number"))
}

/// Refuses a limit of zero.
pub(crate) fn at_least_one(key: &'static str, what: &str, limit: usize) -> Result<(), SettingError> {
    match limit {
        0 => Err(SettingError::new(key, format!("the limit of {what} is 0"), "give at least 1")),
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

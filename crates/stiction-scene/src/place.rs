//! Where in a scene something is wrong, and what.

use std::borrow::Cow;
use std::fmt;

use stiction_dynamics::ValueError;

/// One step down into a scene: a key of a table or an element of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Key(Cow<'static, str>),
    Index(usize),
}

/// Where in a scene: `body[2].mass`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place(Vec<Part>);

impl Place {
    /// A key at the top.
    pub(crate) fn top(key: &'static str) -> Self {
        Self::default().key(key)
    }

    /// A key of the table at this place.
    pub(crate) fn key(&self, key: impl Into<Cow<'static, str>>) -> Self {
        self.with(Part::Key(key.into()))
    }

    /// The fault of a value at a key below this place, or at this place.
    pub(crate) fn value_fault(&self, error: ValueError) -> Fault {
        let keys = error.key.split('.').filter(|key| !key.is_empty());
        let place = keys.fold(self.clone(), |place, key| match key.parse() {
            Ok(index) => place.index(index),
            Err(_) => place.key(key.to_owned()),
        });
        place.fault(error.message, error.remedy)
    }

    /// An element of the list at this place.
    pub(crate) fn index(&self, index: usize) -> Self {
        self.with(Part::Index(index))
    }

    /// One step further down.
    pub(crate) fn with(&self, part: Part) -> Self {
        Self([self.0.as_slice(), &[part]].concat())
    }

    /// The steps from the top.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The table or list that this place is in.
    pub(crate) fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// The fault that is at this place.
    pub(crate) fn fault(&self, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { place: self.clone(), is_on_key: false, against: None, message: message.into(), help: help.into() }
    }

    /// The fault that is the presence of the key of this place.
    pub(crate) fn key_fault(&self, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { is_on_key: true, ..self.fault(message, help) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, part) in self.0.iter().enumerate() {
            match part {
                Part::Key(key) if depth == 0 => write!(f, "{key}")?,
                Part::Key(key) => write!(f, ".{key}")?,
                Part::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A mistake and its place in the scene, before it is known where that was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) is_on_key: bool,
    /// The key at the top with which the place disagrees, where it is right by itself.
    pub(crate) against: Option<&'static str>,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Fault {
    /// The same, of a value that disagrees with what stands under a key at the top, such as the
    /// scheme.
    pub(crate) fn against(self, key: &'static str) -> Self {
        Self { against: Some(key), ..self }
    }
}

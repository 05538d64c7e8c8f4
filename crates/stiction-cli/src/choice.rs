//! Schemes and contact methods as options of the command line name them:
//! `stewart-trinkle:fixed-point`, `pyramid:16`.

use stiction_dynamics::{ContactMethod, Named, SchemeSettings};
use stiction_scene::Edit;
use stiction_scene::scene_error::most_similar;

use crate::failure::{BAD_INPUT, Failure};

/// A table of a scene that holds one choice.
pub(crate) struct Choice {
    /// Its key in scenes.
    table: &'static str,
    /// What it is, in the help of an option.
    what: &'static str,
    /// What there is to choose.
    known: fn() -> Vec<Named>,
}

/// The choice of a scheme.
pub(crate) const SCHEME: Choice = Choice {
    table: "scheme",
    what: "Time-stepping scheme",
    known: || SchemeSettings::all().map(|scheme| scheme.facts().named).to_vec(),
};

/// The choice of a contact method.
pub(crate) const METHOD: Choice = Choice {
    table: "method",
    what: "Contact method",
    known: || ContactMethod::all().map(|method| method.facts().named).to_vec(),
};

impl Choice {
    /// All ways to write a choice.
    fn forms(&self) -> String {
        (self.known)().iter().flat_map(Named::forms).collect::<Vec<_>>().join(", ")
    }

    /// The help of an option that makes it.
    pub(crate) fn help(&self) -> String {
        format!("{}: {}", self.what, self.forms())
    }

    /// The edit of a scene that an option stands for. A name alone means the default settings.
    pub(crate) fn edit(&self, option: &str, given: &str) -> Result<Edit, Failure> {
        let (table, known) = (self.table, (self.known)());
        let (name, suffix) = given.split_once(':').unwrap_or((given, ""));
        let as_given = format!("{option} {given}");
        if let Some(choice) = known.iter().find(|choice| choice.name == name) {
            if suffix.is_empty() {
                return Ok(Edit::defaults(as_given, &format!("{table}.{name}")));
            }
            if let Some((key, value)) = choice.setting(suffix) {
                return Ok(Edit::set(&format!("{table}.{name}.{key}={value}"))?.given_as(as_given));
            }
        }
        let similar = most_similar(name, known.iter().map(|choice| choice.name)).filter(|similar| *similar != name);
        let hint = similar.map_or_else(String::new, |similar| format!("did you mean `{similar}`? "));
        Err(Failure::new(BAD_INPUT, format!("{option} {given}: {hint}there is only {}", self.forms())))
    }
}

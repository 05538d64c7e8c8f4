//! Schemes and contact methods as options of the command line name them: `stewart-trinkle:fixed-point`, `pyramid:16`.

use stiction_dynamics::{ContactMethod, Named, SchemeSettings};
use stiction_scene::Edit;
use stiction_scene::scene_error::most_similar;

use crate::failure::{BAD_INPUT, Failure};

/// The table of a scene that holds one choice.
#[derive(Clone, Copy)]
pub(crate) enum Choice {
    Scheme,
    Method,
}

impl Choice {
    /// Its key in scenes.
    fn table(self) -> &'static str {
        match self {
            Self::Scheme => "scheme",
            Self::Method => "method",
        }
    }

    /// What there is to choose.
    fn known(self) -> Vec<Named> {
        match self {
            Self::Scheme => SchemeSettings::all().map(|scheme| scheme.facts().named).to_vec(),
            Self::Method => ContactMethod::all().map(|method| method.facts().named).to_vec(),
        }
    }

    /// All ways to write a choice.
    fn forms(self) -> String {
        self.known().iter().flat_map(Named::forms).collect::<Vec<_>>().join(", ")
    }

    /// The help of an option that makes it.
    pub(crate) fn help(self) -> String {
        let what = match self {
            Self::Scheme => "Time-stepping scheme",
            Self::Method => "Contact method",
        };
        format!("{what}: {}", self.forms())
    }

    /// The edit of a scene that an option stands for. A name alone means the default settings.
    pub(crate) fn edit(self, option: &str, given: &str) -> Result<Edit, Failure> {
        let (table, known) = (self.table(), self.known());
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

//! Errors of scene files: where in the text, what is wrong, and what to do about it.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// A suggestion needs at least this similarity (Jaro-Winkler, between 0 and 1). Too large: typing errors get no
/// suggestion. Too small: unrelated names are suggested.
const SIMILARITY: f64 = 0.75;

/// A scene that cannot be loaded: the user's mistake, or a file that cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum SceneError {
    /// A mistake in the text of the scene.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Text(Box<TextError>),
    /// A mistake in an override, `--set path=value`.
    #[error("--set {text}: {message}")]
    Override {
        /// The override as it was given.
        text: String,
        /// What is wrong.
        message: String,
        /// What to do.
        #[help]
        help: String,
    },
    /// Neither a file nor a built-in scene.
    #[error("there is no file and no built-in scene `{argument}`")]
    Unknown {
        /// What was asked for.
        argument: String,
        /// Which scenes there are.
        #[help]
        help: String,
    },
    /// A file that cannot be read.
    #[error("cannot read `{}`: {cause}", path.display())]
    #[diagnostic(help("check that the path names a text file, and that it may be read"))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },
}

impl SceneError {
    /// Whether the machine is the cause, and not what the user wrote. A file that is no text was read well.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Read { cause, .. } if cause.kind() != std::io::ErrorKind::InvalidData)
    }

    /// What is wrong, without the place.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Text(error) => error.message.clone(),
            other => other.to_string(),
        }
    }

    /// What to do.
    pub fn remedy(&self) -> String {
        self.help().map(|help| help.to_string()).unwrap_or_default()
    }
}

/// A mistake in the text of a scene.
#[derive(Debug, Error, Diagnostic)]
#[error("{file}:{line}:{column}: {message}")]
pub struct TextError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[help]
    pub help: String,
    /// The bytes of the text that are at fault.
    #[label("here")]
    pub span: SourceSpan,
    /// The text, to show the place.
    #[source_code]
    pub text: NamedSource<String>,
}

impl TextError {
    /// An error at these bytes of the text.
    pub(crate) fn new(file: &str, text: &str, span: Range<usize>, message: String, help: String) -> Self {
        let (line, column) = line_and_column(text, span.start);
        Self {
            file: file.to_owned(),
            line,
            column,
            message: printable(&message),
            help: printable(&help),
            span: span.into(),
            text: NamedSource::new(file, covered(text)).with_language("TOML"),
        }
    }
}

/// Whether a character acts on a terminal or on the order of the text around it, and shows nothing itself.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with what would act on a terminal written out, as `\u{1b}`: names come from files that others may have written.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// The same for a text in which places are counted by bytes: each hidden character is covered by one of the same length.
fn covered(text: &str) -> String {
    let cover = |c: char| match c.len_utf8() {
        _ if !is_hidden(c) || matches!(c, '\n' | '\r' | '\t') => c,
        1 => '?',
        2 => '·',
        _ => '\u{fffd}',
    };
    text.chars().map(cover).collect()
}

/// Line and column, from 1, of a byte of the text.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let offset = (0..=offset.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

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
        let mut parts = self.0.clone();
        parts.push(Part::Key(key.into()));
        Self(parts)
    }

    /// An element of the list at this place.
    pub(crate) fn index(&self, index: usize) -> Self {
        let mut parts = self.0.clone();
        parts.push(Part::Index(index));
        Self(parts)
    }

    /// The table or list that this place is in.
    pub(crate) fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// Whether this place is a key at the top or something inside of it.
    pub(crate) fn is_inside(&self, key: &str) -> bool {
        matches!(self.0.first(), Some(Part::Key(first)) if first == key)
    }

    /// The fault that is at this place.
    pub(crate) fn fault(&self, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { place: self.clone(), is_on_key: false, message: message.into(), help: help.into() }
    }

    /// The fault that is the presence of the key of this place.
    pub(crate) fn key_fault(&self, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { place: self.clone(), is_on_key: true, message: message.into(), help: help.into() }
    }
}

/// A mistake and its place in the scene, before it is known where in the text that is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) is_on_key: bool,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Fault {
    /// The error with the place found in the text.
    pub(crate) fn locate(self, file: &str, text: &str) -> SceneError {
        let span = span_of(text, &self.place, self.is_on_key);
        SceneError::Text(Box::new(TextError::new(file, text, span, self.message, self.help)))
    }
}

/// The bytes of a place, as far down as the text goes: for a key that is missing, the header of its table.
pub(crate) fn span_of(text: &str, place: &Place, is_on_key: bool) -> Range<usize> {
    let Ok(document) = DeTable::parse(text) else { return 0..0 };
    let root = DeValue::Table(document.into_inner());
    let (mut value, mut span) = (&root, 0..0);
    for (depth, part) in place.0.iter().enumerate() {
        let wants_key = is_on_key && depth + 1 == place.0.len();
        match (part, value) {
            (Part::Key(key), DeValue::Table(table)) => {
                let Some((found, inner)) = table.iter().find(|(found, _)| found.get_ref() == key) else { break };
                span = if wants_key { found.span() } else { inner.span() };
                value = inner.get_ref();
            }
            (Part::Index(index), DeValue::Array(list)) => {
                let Some(inner) = list.get(*index) else { break };
                span = inner.span();
                value = inner.get_ref();
            }
            _ => break,
        }
    }
    span
}

/// Calls `visit` with every value of a document, its place, and the span of its key if it has one; stops at the first
/// answer.
pub(crate) fn search<T>(
    table: &DeTable<'_>,
    place: &Place,
    visit: &mut impl FnMut(&Place, Option<Range<usize>>, Range<usize>, &DeValue<'_>) -> Option<T>,
) -> Option<T> {
    fn descend<T>(
        value: &DeValue<'_>,
        place: &Place,
        visit: &mut impl FnMut(&Place, Option<Range<usize>>, Range<usize>, &DeValue<'_>) -> Option<T>,
    ) -> Option<T> {
        match value {
            DeValue::Table(table) => search(table, place, visit),
            DeValue::Array(list) => list.iter().enumerate().find_map(|(index, inner)| {
                let place = place.index(index);
                let answer = visit(&place, None, inner.span(), inner.get_ref());
                answer.or_else(|| descend(inner.get_ref(), &place, visit))
            }),
            _ => None,
        }
    }
    // In the order of the file, which the table does not keep.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().find_map(|(key, inner)| {
        let place = place.key(key.get_ref().clone().into_owned());
        let answer = visit(&place, Some(key.span()), inner.span(), inner.get_ref());
        answer.or_else(|| descend(inner.get_ref(), &place, visit))
    })
}

/// A place in words: `` body `rod`, shape 1 ``. Elements without a name are counted from 1.
pub(crate) fn describe(root: &DeTable<'_>, place: &Place) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut table = Some(root);
    let mut list = None;
    for part in &place.0 {
        match part {
            Part::Key(key) => {
                words.push(format!("`{key}`"));
                let value = table.and_then(|table| table.iter().find(|(found, _)| found.get_ref() == key));
                let value = value.map(|(_, value)| value.get_ref());
                table = value.and_then(|value| value.as_table());
                list = value.and_then(|value| value.as_array());
            }
            Part::Index(index) => {
                table = list.and_then(|list| list.get(*index)).and_then(|value| value.get_ref().as_table());
                list = None;
                let name = table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == "name"));
                let name = name.and_then(|(_, value)| value.get_ref().as_str());
                if let Some(word) = words.last_mut() {
                    let key = word.trim_matches('`').to_owned();
                    *word = match name {
                        Some(name) => format!("{key} `{name}`"),
                        None => format!("{key} {}", index + 1),
                    };
                }
            }
        }
    }
    if words.is_empty() { "the scene".to_owned() } else { words.join(", ") }
}

/// The candidate that is most like a name that was not found, if any is.
pub fn most_similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|&(similarity, _)| similarity >= SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Help for a name that was not found: the most similar one, then all of them.
pub(crate) fn suggest<'a>(name: &str, what: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let list = match candidates.as_slice() {
        [] => format!("there are no {what}"),
        names => format!("the {what} are {}", quoted(names)),
    };
    match most_similar(name, candidates.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`? ({list})"),
        None => list,
    }
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn quoted(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => format!("`{name}`"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(|name| format!("`{name}`")).collect();
            format!("{} and `{last}`", most.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[[body]]\nname = \"é\"\nx = { \"é\" = 2, y = [1, 2] }\n[[body]]\n";

    fn at(place: &Place, is_on_key: bool) -> (usize, usize) {
        line_and_column(TEXT, span_of(TEXT, place, is_on_key).start)
    }

    #[test]
    fn places_are_found_in_the_text() {
        let body = Place::top("body");
        assert_eq!(at(&Place::top("a"), false), (1, 5));
        assert_eq!(at(&Place::top("a"), true), (1, 1));
        assert_eq!(at(&body.index(1), false), (5, 1));
        assert_eq!(at(&body.index(0).key("x").key("y").index(1), false), (4, 24));
        assert_eq!(at(&body.index(0).key("x").key("y"), true), (4, 16));
        // What is missing is looked for at the header of its table.
        assert_eq!(at(&body.index(1).key("mass"), false), (5, 1));
        assert_eq!(at(&Place::top("gravity"), false), (1, 1));
    }

    #[test]
    fn places_have_words() {
        let document = DeTable::parse(TEXT).unwrap();
        let body = Place::top("body");
        let words = |place: &Place| describe(document.get_ref(), place);
        assert_eq!(words(&Place::default()), "the scene");
        assert_eq!(words(&body.index(0).key("x")), "body `é`, `x`");
        assert_eq!(words(&body.index(1)), "body 2");
    }

    #[test]
    fn similar_names_are_suggested() {
        assert_eq!(most_similar("frictoin", ["name", "friction"]), Some("friction"));
        assert_eq!(most_similar("Rod", ["table", "rod"]), Some("rod"));
        assert_eq!(most_similar("zebra", ["name", "friction"]), None);
        assert_eq!(
            suggest("steal", "materials", ["steel", "wood"]),
            "did you mean `steel`? (the materials are `steel` and `wood`)"
        );
        assert_eq!(suggest("steel", "materials", []), "there are no materials");
    }
}

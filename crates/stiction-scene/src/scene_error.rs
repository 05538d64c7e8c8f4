//! Errors of scene files: where in the text, what is wrong, and what to do about it.

use std::ops::Range;
use std::path::PathBuf;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

/// A suggestion needs at least this similarity (Jaro-Winkler, between 0 and 1). Too large: typing
/// errors get no suggestion. Too small: unrelated names are suggested.
const SIMILARITY: f64 = 0.75;

/// A scene that cannot be loaded: the user's mistake, or a file that cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum SceneError {
    /// A mistake in the text of the scene.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Text(Box<TextError>),
    /// A mistake in an edit: `--set path=value`, or another option of the command line.
    #[error("{given}: {message}")]
    Edit {
        /// The edit as it was given.
        given: String,
        /// What is wrong.
        message: String,
        /// What to do.
        #[help]
        help: String,
    },
    /// A mistake in a scene that was made in a program.
    #[error("scene `{scene}`: {message}")]
    Value {
        /// Name of the scene.
        scene: String,
        /// Where it is, as in `body[1].mass`, and what is wrong.
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
    /// Whether the machine is the cause, and not what the user wrote. A file that is no text was
    /// read well.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Read { cause, .. } if cause.kind() != std::io::ErrorKind::InvalidData)
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

/// Whether a character acts on a terminal or on the order of the text around it, and shows nothing
/// itself.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with what would act on a terminal written out, as `\u{1b}`: names come from files that
/// others may have written.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// The same for a text in which places are counted by bytes: each hidden character is covered by
/// one of the same length.
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

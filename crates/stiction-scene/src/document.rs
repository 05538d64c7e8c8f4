//! A scene as a tree of values that know where they were written: in the file, or in an option of
//! the command line.
//!
//! A text becomes a tree once. [Edits](crate::set::Edit) change the tree, serde
//! reads the tree, and whatever is found wrong afterwards is a `Place` in it, of
//! which the tree says what to show: file, line and column, or the option.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

use toml::de::{DeInteger, DeTable, DeValue};

use crate::files::Files;
use crate::place::{Fault, Part, Place};
use crate::scene::{FORMAT, Scene};
use crate::scene_error::{SceneError, TextError, line_and_column};
use crate::set::Edit;
use crate::surfaces::Surfaces;
use crate::tally::{Task, count};

/// Where a value was written.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// These bytes of the text.
    Text(Range<usize>),
    /// The edit of this number.
    Edit(usize),
    /// Nowhere: the scene was made in a program.
    Program,
}

/// A value with its origin.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// The value of a node. TOML has dates as well, which no scene needs.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Date,
    List(Vec<Node>),
    /// In the order of the text.
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_origin: Origin,
    pub(crate) node: Node,
}

impl Node {
    /// The value of a key of this table.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key)
    }

    /// The name of an element of a list.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.get("name")?.value {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }

    /// The node at a place, as far down as the tree goes: for a key that is missing, its table.
    fn at<'a>(&'a self, parts: &[Part]) -> &'a Node {
        let inner = match (parts.first(), &self.value) {
            (Some(Part::Key(key)), _) => self.get(key),
            (Some(Part::Index(index)), Value::List(list)) => list.get(*index),
            _ => None,
        };
        inner.map_or(self, |inner| inner.at(&parts[1..]))
    }

    /// The values inside of this one, with the last part of their places.
    fn children(&self) -> Box<dyn Iterator<Item = (Part, &Node)> + '_> {
        match &self.value {
            Value::Table(entries) => {
                Box::new(entries.iter().map(|entry| (Part::Key(entry.key.clone().into()), &entry.node)))
            }
            Value::List(list) => Box::new(list.iter().enumerate().map(|(index, node)| (Part::Index(index), node))),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The place of the first number below this one that is not finite, and that number.
    fn not_finite(&self, place: &Place) -> Option<(Place, &Node)> {
        self.children().find_map(|(part, node)| {
            let place = place.with(part);
            match node.value {
                Value::Float(number) if !number.is_finite() => Some((place, node)),
                _ => node.not_finite(&place),
            }
        })
    }

    /// The edit that a value here or below comes from.
    fn edit(&self) -> Option<usize> {
        match self.origin {
            Origin::Edit(number) => Some(number),
            _ => self.children().find_map(|(_, node)| node.edit()),
        }
    }

    /// A value that was parsed, with the origins of what is in it by their bytes.
    pub(crate) fn parsed(value: toml::Spanned<DeValue<'_>>, origin: &dyn Fn(Range<usize>) -> Origin) -> Self {
        let span = value.span();
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(number) => integer(&number),
            // The parser has looked at its form; a number that is too large becomes infinite.
            DeValue::Float(number) => Value::Float(number.as_str().replace('_', "").parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(value) => Value::Boolean(value),
            DeValue::Datetime(_) => Value::Date,
            DeValue::Array(list) => Value::List(list.into_iter().map(|inner| Self::parsed(inner, origin)).collect()),
            DeValue::Table(table) => {
                let mut entries: Vec<_> = table.into_iter().collect();
                // The order of the text, which the table of the parser does not keep.
                entries.sort_by_key(|(key, _)| key.span().start);
                let entry = |(key, inner): (toml::Spanned<Cow<'_, str>>, toml::Spanned<DeValue<'_>>)| Entry {
                    key_origin: origin(key.span()),
                    key: key.into_inner().into_owned(),
                    node: Self::parsed(inner, origin),
                };
                Value::Table(entries.into_iter().map(entry).collect())
            }
        };
        Self { value, origin: origin(span) }
    }
}

/// A whole number; one with more digits than any quantity needs is a number.
fn integer(number: &DeInteger<'_>) -> Value {
    let digits = number.as_str().replace('_', "");
    match i128::from_str_radix(&digits, number.radix()) {
        Ok(value) => i64::try_from(value).map_or(Value::Float(value as f64), Value::Integer),
        Err(_) => Value::Float(digits.parse().unwrap_or(f64::INFINITY)),
    }
}

/// A scene as it was written, with the edits in it.
#[derive(Clone, Debug)]
pub struct Document {
    name: String,
    text: String,
    edits: Vec<Edit>,
    pub(crate) root: Node,
    /// The folder of the file; none for a text that is in no file.
    pub(crate) folder: Option<PathBuf>,
}

impl Document {
    /// Reads a text; `name` is that of its file, for messages.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, SceneError> {
        count(Task::Parse);
        let table = DeTable::parse(text).map_err(|error| syntax_error(name, text, &error))?;
        let root = Node::parsed(whole(table), &Origin::Text);
        Ok(Self { name: name.to_owned(), text: text.to_owned(), edits: Vec::new(), root, folder: None })
    }

    /// A scene that was made in a program, as a tree.
    pub(crate) fn of(scene: &Scene) -> Result<Self, SceneError> {
        let text = toml::to_string(scene).map_err(|error| SceneError::Value {
            scene: scene.name.clone(),
            message: format!("it has no form as a scene file: {error}"),
            help: "give numbers of at most 63 bits".to_owned(),
        })?;
        let table = DeTable::parse(&text).expect("what was written reads back");
        let root = Node::parsed(whole(table), &|_| Origin::Program);
        Ok(Self {
            name: scene.name.clone(),
            text: String::new(),
            edits: Vec::new(),
            root,
            folder: scene.folder.clone(),
        })
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the scene, or that of the file where the scene has none.
    pub fn title(&self) -> &str {
        self.root.name().unwrap_or(&self.name)
    }

    /// The text of the file, without the edits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The edits, in their order.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// What the scene will read from files: nothing so far.
    pub(crate) fn surfaces(&self) -> Surfaces {
        let may_leave = matches!(self.root.get("allow-outside").map(|node| &node.value), Some(Value::Boolean(true)));
        Surfaces::new(Files::new(self.folder.as_deref(), may_leave))
    }

    /// Puts an edit in.
    pub(crate) fn edit(&mut self, edit: Edit) -> Result<(), SceneError> {
        edit.apply(&mut self.root, &Origin::Edit(self.edits.len()))?;
        self.edits.push(edit);
        Ok(())
    }

    /// Checks the version first, because keys of another one would only confuse; then that all
    /// numbers are finite. TOML knows `nan` and `inf`; no quantity of a scene does.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let place = Place::top("format");
        let found = match self.root.get("format").map(|node| &node.value) {
            Some(Value::Integer(number)) if *number == i64::from(FORMAT) => None,
            Some(Value::Integer(number)) => Some(number.to_string()),
            Some(_) => Some("not a whole number".to_owned()),
            None => {
                return Err(place.fault("`format` is missing", format!("write `format = {FORMAT}` as the first line")));
            }
        };
        if let Some(found) = found {
            let message =
                format!("the format of this scene is {found}, and this version of Stiction reads format {FORMAT}");
            let help = format!("write `format = {FORMAT}`, or use a version of Stiction that reads the scene");
            return Err(place.fault(message, help));
        }
        if let Some((place, node)) = self.root.not_finite(&Place::default()) {
            let number = match (&node.origin, &node.value) {
                (Origin::Text(span), _) => self.text[span.clone()].to_owned(),
                (_, Value::Float(number)) => format!("{number}").to_lowercase(),
                _ => String::new(),
            };
            return Err(place.fault(format!("{} is {number}", self.describe(&place)), "give a finite number"));
        }
        Ok(())
    }

    /// A place in words: `` body `rod`, shape 1 ``. Elements without a name are counted from 1.
    pub(crate) fn describe(&self, place: &Place) -> String {
        let mut words: Vec<String> = Vec::new();
        for (depth, part) in place.parts().iter().enumerate() {
            match (part, words.last_mut()) {
                (Part::Key(key), _) => words.push(format!("`{key}`")),
                (Part::Index(index), Some(list)) => {
                    let key = list.trim_matches('`').to_owned();
                    *list = match self.root.at(&place.parts()[..=depth]).name() {
                        Some(name) => format!("{key} `{name}`"),
                        None => format!("{key} {}", index + 1),
                    };
                }
                (Part::Index(_), None) => {}
            }
        }
        if words.is_empty() { "the scene".to_owned() } else { words.join(", ") }
    }

    /// Where a place was written: for a key that is missing, where its table was.
    fn origin(&self, place: &Place, is_on_key: bool) -> Origin {
        let node = self.root.at(place.parts());
        if is_on_key
            && let Some(Part::Key(key)) = place.parts().last()
            && let Some(entry) = self.root.at(place.parent().parts()).entry(key)
        {
            return entry.key_origin.clone();
        }
        node.origin.clone()
    }

    /// The error of a fault, with the place where it was written. What contradicts an edit is the
    /// fault of the edit.
    pub(crate) fn locate(&self, fault: Fault) -> SceneError {
        let Fault { place, is_on_key, message, help, against } = fault;
        let contradicted = against.and_then(|key| self.root.get(key)?.edit());
        match (self.origin(&place, is_on_key), contradicted) {
            (Origin::Edit(number), _) | (_, Some(number)) => {
                SceneError::Edit { given: self.edits[number].given().to_owned(), message, help }
            }
            (Origin::Text(span), None) => {
                SceneError::Text(Box::new(TextError::new(&self.name, &self.text, span, message, help)))
            }
            (Origin::Program, None) => {
                SceneError::Value { scene: self.name.clone(), message: format!("`{place}`: {message}"), help }
            }
        }
    }

    /// Where a place was written, to sort by and to show: `scenes/rod.toml:12:3`, or the edit.
    pub(crate) fn show(&self, place: &Place) -> (usize, String) {
        match self.origin(place, false) {
            Origin::Text(span) => {
                let (line, column) = line_and_column(&self.text, span.start);
                (span.start, format!("{}:{line}:{column}", self.name))
            }
            Origin::Edit(number) => (self.text.len() + number, self.edits[number].given().to_owned()),
            Origin::Program => (0, format!("{}: `{place}`", self.name)),
        }
    }
}

/// The table of a whole text, which stands at its beginning.
fn whole(table: toml::Spanned<DeTable<'_>>) -> toml::Spanned<DeValue<'_>> {
    toml::Spanned::new(0..0, DeValue::Table(table.into_inner()))
}

/// A text that is not TOML.
fn syntax_error(name: &str, text: &str, error: &toml::de::Error) -> SceneError {
    let message = error.message();
    let message = message.strip_suffix(", expected nothing").unwrap_or(message);
    let message = message.strip_suffix(", expected literal string").unwrap_or(message);
    let help = if message.contains("must be quoted") {
        "write text in quotes, numbers as 0.5 or 1e-3, and commas between the elements of a list"
    } else if message.contains("duplicate key") {
        "remove one of the two, or start another element with its `[[…]]` line"
    } else {
        "a scene is written in TOML: `key = value` lines, `[table]` and `[[element of a list]]` headers"
    };
    let span = error.span().unwrap_or(0..0);
    SceneError::Text(Box::new(TextError::new(name, text, span, message.to_owned(), help.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[[body]]\nname = \"é\"\nx = { \"é\" = 2, y = [1, 2] }\n[[body]]\n";

    fn document() -> Document {
        Document::parse(TEXT, "x.toml").unwrap()
    }

    #[test]
    fn places_are_found_in_the_text() {
        let document = document();
        let at = |place: &Place, is_on_key: bool| match document.origin(place, is_on_key) {
            Origin::Text(span) => line_and_column(TEXT, span.start),
            other => panic!("{other:?}"),
        };
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
        let document = document();
        let body = Place::top("body");
        let words = |place: &Place| document.describe(place);
        assert_eq!(words(&Place::default()), "the scene");
        assert_eq!(words(&body.index(0).key("x")), "body `é`, `x`");
        assert_eq!(words(&body.index(1)), "body 2");
        assert_eq!(body.index(1).key("x").to_string(), "body[1].x");
    }
}

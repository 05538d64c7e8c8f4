//! From the tree of a scene to its types, by serde.
//!
//! The deserialiser knows what it was asked for and where it is, so that its errors are a kind of
//! mistake with its place, and not a sentence of serde. The sentences are made here, from the kind.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::document::{Document, Entry, Node, Value};
use crate::model::BESIDE_SYSTEM;
use crate::place::{Fault, Part, Place};
use crate::scene::Scene;
use crate::scene_error::{most_similar, quoted, suggest};
use crate::tally::{Task, count};

/// Reads the scene of a document.
pub(crate) fn read(document: &Document) -> Result<Scene, Fault> {
    count(Task::Read);
    read_part(document, &Place::default(), &document.root)
}

/// Reads what stands at a place of a document.
pub(crate) fn read_part<'de, T: Deserialize<'de>>(
    document: &Document,
    place: &Place,
    node: &'de Node,
) -> Result<T, Fault> {
    T::deserialize(node).map_err(|mistake| mistake.fault(document, place))
}

/// A value that does not fit the type that is to be read from it.
#[derive(Debug)]
pub(crate) struct Mistake {
    kind: Kind,
    is_on_key: bool,
    /// The way to it, from the inside.
    path: Vec<Part>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    UnknownKey { key: String, known: &'static [&'static str] },
    MissingKey(&'static str),
    UnknownChoice { word: String, known: &'static [&'static str] },
    Choices(usize),
    NoTable(String),
    Type { found: String, wanted: String },
    Other(String),
}

impl From<Kind> for Mistake {
    fn from(kind: Kind) -> Self {
        Self { kind, is_on_key: false, path: Vec::new() }
    }
}

impl Mistake {
    fn wanted(found: Unexpected<'_>, wanted: impl Into<String>) -> Self {
        Kind::Type { found: words(found), wanted: wanted.into() }.into()
    }

    fn inside(mut self, part: Part) -> Self {
        self.path.push(part);
        self
    }

    /// The same, of the key itself.
    fn on_key(self, key: &str) -> Self {
        Self { is_on_key: true, ..self }.inside(Part::Key(Cow::Owned(key.to_owned())))
    }

    /// The fault of what was read from a place.
    fn fault(self, document: &Document, base: &Place) -> Fault {
        let Self { kind, is_on_key, path } = self;
        let place = path.into_iter().rev().fold(base.clone(), |place, part| place.with(part));
        let (parent, what) = (place.parent(), document.describe(&place));
        let owner = document.describe(&parent);
        let (message, help) = match kind {
            Kind::UnknownKey { key, known } => {
                (format!("unknown key `{key}` in {owner}"), unknown_key_help(&key, known, &parent))
            }
            Kind::MissingKey(key) => (format!("`{key}` is missing in {what}"), missing_key_help(key)),
            Kind::UnknownChoice { word, known } => {
                let what = if is_on_key { owner } else { what };
                (format!("{what} cannot be `{word}`"), suggest(&word, "choices", known.iter().copied()))
            }
            Kind::Choices(count) => {
                let number = if count == 0 { "no" } else { "several" };
                (format!("{what} names {number} choices"), "name one".to_owned())
            }
            Kind::NoTable(word) => {
                let help = format!("write a table, which may be empty: `{place} = {{ {word} = {{}} }}`");
                (format!("{what} is the name `{word}` alone, and `{word}` is a table of settings"), help)
            }
            Kind::Type { found, wanted } => {
                (format!("{what} is {found}, and must be {wanted}"), format!("write {wanted}"))
            }
            // A type's own check says after the last semicolon what would do.
            Kind::Other(message) => match message.rsplit_once("; ") {
                Some((message, remedy)) => (format!("{what}: {message}"), remedy.to_owned()),
                None => (format!("{what}: {message}"), "see the reference of the scene format".to_owned()),
            },
        };
        Fault { is_on_key, ..place.fault(message, help) }
    }
}

impl Value {
    /// What was found, in the words of serde. TOML has dates, which no scene needs.
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Text(text) => Unexpected::Str(text),
            Self::Integer(number) => Unexpected::Signed(*number),
            Self::Float(number) => Unexpected::Float(*number),
            Self::Boolean(value) => Unexpected::Bool(*value),
            Self::Date => Unexpected::Unit,
            Self::List(_) => Unexpected::Seq,
            Self::Table(_) => Unexpected::Map,
        }
    }

    /// What was found, in the user's words.
    pub(crate) fn words(&self) -> String {
        words(self.unexpected())
    }
}

/// What was found, in the user's words.
fn words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(text) => format!("the text {text:?}"),
        Unexpected::Signed(number) => format!("the whole number {number}"),
        Unexpected::Float(number) => format!("the number {number:?}"),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unit => "a date".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Kind::Other(message.to_string()).into()
    }

    /// What serde expected, in the user's words.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        let wanted = match expected.as_str() {
            "f64" => "a number",
            "u32" | "u64" | "usize" => "a whole number that is not negative",
            "a boolean" => "true or false",
            "a string" => "text in quotes",
            "a sequence" => "a list",
            name if name.starts_with("struct ") => "a table",
            other => other,
        };
        Self::wanted(found, wanted)
    }

    /// A number that is negative.
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Kind::UnknownKey { key: key.to_owned(), known }.into()
    }

    fn missing_field(key: &'static str) -> Self {
        Kind::MissingKey(key).into()
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Kind::UnknownChoice { word: word.to_owned(), known }.into()
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Date => visitor.visit_unit(),
            Value::List(list) => visitor.visit_seq(Elements { list, next: 0 }),
            Value::Table(entries) => visitor.visit_map(Fields { entries, next: 0 }),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value {
            Value::List(list) if list.len() == length => self.deserialize_any(visitor),
            other => Err(Mistake::wanted(other.unexpected(), format!("a list of {length} numbers"))),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match &self.value {
            // Serde would take its elements for the keys, in their order.
            Value::List(_) => Err(Mistake::wanted(Unexpected::Seq, "a table")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match &self.value {
            Value::Text(word) => visitor.visit_enum(Choice { word, settings: None }),
            Value::Table(entries) => match entries.as_slice() {
                [entry] => visitor.visit_enum(Choice { word: &entry.key, settings: Some(&entry.node) }),
                _ => Err(Kind::Choices(entries.len()).into()),
            },
            other => Err(Mistake::wanted(other.unexpected(), format!("one of {}", quoted(known)))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple_struct map identifier ignored_any
    }
}

/// The elements of a list.
struct Elements<'de> {
    list: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let Some(node) = self.list.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(node).map(Some).map_err(|mistake| mistake.inside(Part::Index(self.next - 1)))
    }
}

/// The keys of a table with their values.
struct Fields<'de> {
    entries: &'de [Entry],
    next: usize,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some(Entry { key, .. }) = self.entries.get(self.next) else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some).map_err(|mistake: Mistake| mistake.on_key(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        let Entry { key, node, .. } = &self.entries[self.next];
        self.next += 1;
        seed.deserialize(node).map_err(|mistake| mistake.inside(Part::Key(Cow::Owned(key.clone()))))
    }
}

/// One of several: its name, and its settings if it is written as a table.
struct Choice<'de> {
    word: &'de str,
    settings: Option<&'de Node>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Mistake;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mistake> {
        match seed.deserialize(BorrowedStrDeserializer::<Mistake>::new(self.word)) {
            Ok(variant) => Ok((variant, self)),
            Err(mistake) => Err(if self.settings.is_some() { mistake.on_key(self.word) } else { mistake }),
        }
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Mistake;

    fn unit_variant(self) -> Result<(), Mistake> {
        match self.settings {
            None => Ok(()),
            Some(_) => Err(Mistake::wanted(Unexpected::Map, format!("the name {:?}", self.word))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mistake> {
        let node = self.settings.ok_or_else(|| Mistake::from(Kind::NoTable(self.word.to_owned())))?;
        seed.deserialize(node).map_err(|mistake| mistake.inside(Part::Key(Cow::Owned(self.word.to_owned()))))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Mistake> {
        Err(de::Error::custom("no choice of a scene is a list"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Mistake> {
        Err(de::Error::custom("no choice of a scene has keys of its own"))
    }
}

/// What to write in place of a key that is unknown.
fn unknown_key_help(name: &str, known: &[&str], parent: &Place) -> String {
    // The plural, or the singular, of a list of tables.
    let plain = name.trim_end_matches('s').replace('_', "-");
    let list = format!("the keys here are {}", quoted(known));
    if known.contains(&plain.as_str()) {
        return format!("did you mean `{plain}`? ({list})");
    }
    // A key that is right elsewhere is misplaced rather than misspelt.
    let is_of_top = Scene::schema()["properties"].get(name).is_some();
    let is_of_bodies = parent.parts().first() == Some(&Part::Key("system".into())) && !BESIDE_SYSTEM.contains(&name);
    if *parent != Place::default() && is_of_top && !is_of_bodies {
        return format!("`{name}` belongs to the top of the scene: write it before the first table; {list}");
    }
    match most_similar(name, known.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`? ({list})"),
        None => list,
    }
}

/// How a missing key is written.
pub(crate) fn missing_key_help(name: &str) -> String {
    let line = match name {
        "name" => "name = \"rod\"",
        "dimension" => "dimension = \"plane\"` or `dimension = \"space\"",
        "gravity" => {
            return "there is no hidden gravity: write `gravity = [0.0, -9.81]` in the plane, \
                    `gravity = [0.0, 0.0, -9.81]` in space, or zeros"
                .to_owned();
        }
        "run" => "[run]` with `step` and `end` in seconds, as `step = 0.001` and `end = 1.0",
        "step" => "step = 0.001",
        "end" => "end = 1.0",
        "friction" => "friction = 0.5",
        "materials" => "materials = [\"steel\", \"wood\"]",
        "body" => "body = \"rod\"",
        "bodies" => "bodies = [\"rod\", \"table\"]",
        "bound" => "bound = 10.0",
        "normal" => "normal = [0.0, 1.0]",
        "radius" => "radius = 0.05",
        "length" => "length = 0.5",
        "size" => "size = [0.2, 0.1]",
        "amplitude" => "amplitude = [0.0, 0.001]",
        "frequency" => "frequency = 50.0",
        "coordinates" => "coordinates = [\"x\", \"phi\"]",
        "mass" => "mass = [[1.0, 0.0], [0.0, 1.0]]",
        "gap" => "gap = 0.01",
        "row" => "row = [1.0, -1.0]",
        "tangents" => "tangents = [[1.0, 0.0]]",
        other => return format!("add `{other} = …`"),
    };
    format!("add `{line}`")
}

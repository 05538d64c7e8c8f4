//! Changes of a scene before it is read: `--set path=value`, and other options of the command line.

use toml::de::DeValue;
use toml_edit::Key;

use crate::document::{Entry, Node, Origin, Value};
use crate::scene_error::{SceneError, quoted, suggest};

/// Tables of the scene that hold one choice: setting another one replaces it.
const CHOICES: [&str; 2] = ["scheme", "method"];

/// A change of one value of a scene.
///
/// The path is made of keys; an element of a list of tables is addressed by its `name`, or by its
/// number from 0: `body.rod.velocity`, `material.0.friction`. Tables that are missing are added;
/// keys that do not exist are found when the scene is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    given: String,
    path: Vec<String>,
    /// As TOML writes it.
    value: String,
}

impl Edit {
    /// An edit that an option asks for; `given` is the option with its value, for messages, and the
    /// path has dots between its keys.
    pub fn option(given: impl Into<String>, path: &str, value: impl Into<toml::Value>) -> Self {
        Self {
            given: given.into(),
            path: path.split('.').map(str::to_owned).collect(),
            value: value.into().to_string(),
        }
    }

    /// An edit that puts an empty table, which stands for default settings.
    pub fn defaults(given: impl Into<String>, path: &str) -> Self {
        Self::option(given, path, toml::Table::new())
    }

    /// The edit of `--set path=value`. The value is TOML; what is not TOML is taken as text.
    ///
    /// ```
    /// let edit = stiction_scene::Edit::set("body.rod.velocity=[1, 0]")?;
    /// assert_eq!(edit.path(), ["body", "rod", "velocity"]);
    /// # Ok::<(), stiction_scene::SceneError>(())
    /// ```
    ///
    /// # Errors
    /// [`SceneError::Edit`] when there is no `=`, or no path or value beside it.
    pub fn set(text: &str) -> Result<Self, SceneError> {
        let given = format!("--set {text}");
        let fail = |message: String| SceneError::Edit {
            given: given.clone(),
            message,
            help: "write path=value, as in run.step=1e-4 or body.rod.velocity=[1, 0]".to_owned(),
        };
        let (path, value) = text.split_once('=').ok_or_else(|| fail("there is no `=`".to_owned()))?;
        let (path, value) = (path.trim(), value.trim());
        let keys = Key::parse(path).map_err(|_| fail(format!("`{path}` is not a path")))?;
        if value.is_empty() {
            return Err(fail("there is no value after `=`".to_owned()));
        }
        let path = keys.iter().map(|key| key.get().to_owned()).collect();
        let value = value.parse().unwrap_or_else(|_| toml::Value::from(value)).to_string();
        Ok(Self { given, path, value })
    }

    /// The same edit, given in these words.
    #[must_use]
    pub fn given_as(self, given: impl Into<String>) -> Self {
        Self { given: given.into(), ..self }
    }

    /// The edit as it was given.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// The keys that lead to the value.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// Changes the tree of a scene.
    pub(crate) fn apply(&self, root: &mut Node, origin: &Origin) -> Result<(), SceneError> {
        if let [table, choice, ..] = self.path.as_slice()
            && CHOICES.contains(&table.as_str())
            && let Value::Table(entries) = &mut root.value
            && let Some(Value::Table(choices)) =
                entries.iter_mut().find(|entry| entry.key == *table).map(|entry| &mut entry.node.value)
        {
            choices.retain(|entry| entry.key == *choice);
        }
        self.set_below(root, 0, origin).map_err(|(message, help)| SceneError::Edit {
            given: self.given.clone(),
            message,
            help,
        })
    }

    /// Sets the value at `path[depth..]` below a node.
    fn set_below(&self, node: &mut Node, depth: usize, origin: &Origin) -> Result<(), Failure> {
        let Some(key) = self.path.get(depth) else {
            let value = DeValue::parse(&self.value).expect("it was parsed, or written, before");
            *node = Node::parsed(value, &|_| origin.clone());
            return Ok(());
        };
        let path = self.path[..depth].join(".");
        match &mut node.value {
            Value::Table(entries) => {
                let index = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
                    let node = Node { value: Value::Table(Vec::new()), origin: origin.clone() };
                    entries.push(Entry { key: key.clone(), key_origin: origin.clone(), node });
                    entries.len() - 1
                });
                self.set_below(&mut entries[index].node, depth + 1, origin)
            }
            Value::List(list) => {
                let index = element(&path, key, list)?;
                let element = &mut list[index];
                let is_last = depth + 1 == self.path.len();
                if is_last && matches!(element.value, Value::Table(_)) && !self.value.starts_with('{') {
                    let message = format!("`{path}.{key}` is a table");
                    return Err((message, format!("set one of its keys, as {path}.{key}.name=…")));
                }
                self.set_below(element, depth + 1, origin)
            }
            other => {
                let message = format!("`{path}` is {}, and has no `{key}` inside", other.words());
                Err((message, format!("set `{path}` itself")))
            }
        }
    }
}

/// What is wrong, and what to do.
type Failure = (String, String);

/// The number of an element that is addressed by name or by number.
fn element(path: &str, key: &str, list: &[Node]) -> Result<usize, Failure> {
    if let Some(index) = list.iter().position(|node| node.name() == Some(key)) {
        return Ok(index);
    }
    let count = list.len();
    let range = match count {
        0 => "it is empty".to_owned(),
        1 => "its only element is number 0".to_owned(),
        _ => format!("its elements are numbers 0 to {}", count - 1),
    };
    match key.parse::<usize>() {
        Ok(index) if index < count => Ok(index),
        Ok(index) => Err((format!("`{path}` has no element {index}"), range)),
        Err(_) => {
            let known: Vec<&str> = list.iter().filter_map(Node::name).collect();
            let help = if known.is_empty() { range } else { suggest(key, "names", known) };
            Err((format!("`{path}` has no element named {}", quoted(&[key])), help))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    const TEXT: &str = r#"# a scene
format = 1
[run]
step = 0.01 # seconds
end = 1.0

[scheme.stewart-trinkle]
version = "linear"

[[material]]
name = "steel"
friction = 0.6

[[body]]
name = "table"
kind = "static"
[[body.shape]]
half-plane = { normal = [0.0, 1.0], offset = 0.0 }

[[body]]
name = "rod"
mass = 1.0
[[body.shape]]
capsule = { length = 0.5, radius = 0.05 }
position = [0.0, 0.0]
"#;

    fn edit(overrides: &[&str]) -> Result<Node, SceneError> {
        let mut document = Document::parse(TEXT, "x.toml")?;
        for text in overrides {
            document.edit(Edit::set(text)?)?;
        }
        Ok(document.root)
    }

    /// The value at a path, as TOML writes it.
    fn value(root: &Node, path: &str) -> String {
        fn written(value: &Value) -> String {
            match value {
                Value::Text(text) => format!("{text:?}"),
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => format!("{number:?}"),
                Value::Boolean(value) => value.to_string(),
                Value::Date => "a date".to_owned(),
                Value::List(list) => {
                    let words: Vec<String> = list.iter().map(|node| written(&node.value)).collect();
                    format!("[{}]", words.join(", "))
                }
                Value::Table(entries) => {
                    let words: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
                    format!("{{{}}}", words.join(", "))
                }
            }
        }
        let node = path.split('.').fold(root, |node, key| match &node.value {
            Value::List(list) => &list[key.parse::<usize>().unwrap()],
            _ => node.get(key).unwrap_or_else(|| panic!("{key} of {path}")),
        });
        written(&node.value)
    }

    #[test]
    fn one_value_changes_and_the_rest_stays() {
        let before = format!("{:?}", edit(&[]).unwrap());
        for (text, path, old, new) in [
            ("run.step=1e-4", "run.step", "0.01", "0.0001"),
            (" run.step = 1e-4 ", "run.step", "0.01", "0.0001"),
            ("material.0.friction=0.3", "material.0.friction", "0.6", "0.3"),
            ("material.steel.friction=0.3", "material.0.friction", "0.6", "0.3"),
            ("body.rod.shape.0.capsule.radius=0.1", "body.1.shape.0.capsule.radius", "0.05", "0.1"),
            ("body.rod.shape.0.position.1=7", "body.1.shape.0.position", "[0.0, 0.0]", "[0.0, 7]"),
        ] {
            assert_eq!(value(&edit(&[]).unwrap(), path), old);
            assert_eq!(value(&edit(&[text]).unwrap(), path), new, "{text}");
            // Back again, the tree differs by where the value was written alone.
            let back = format!("{:?}", edit(&[text, &format!("{path}={old}")]).unwrap());
            let differs = before.split("origin: ").zip(back.split("origin: ")).filter(|(a, b)| a != b).count();
            assert!((1..=3).contains(&differs), "{text}: {differs}");
        }
        // The last one wins.
        assert_eq!(value(&edit(&["run.step=1", "run.step=2"]).unwrap(), "run.step"), "2");
    }

    #[test]
    fn what_is_missing_is_added() {
        assert_eq!(value(&edit(&["body.rod.velocity=[1, 0]"]).unwrap(), "body.1.velocity"), "[1, 0]");
        assert_eq!(value(&edit(&["method.pyramid.directions=32"]).unwrap(), "method.pyramid.directions"), "32");
        let root = edit(&["body.table.motion.oscillation.frequency=50.0", "body.table.kind=prescribed"]).unwrap();
        assert_eq!(value(&root, "body.0.motion.oscillation.frequency"), "50.0");
        assert_eq!(value(&root, "body.0.kind"), "\"prescribed\"");
        assert_eq!(value(&root, "body.1.name"), "\"rod\"");
        let root = edit(&["title=a title"]).unwrap();
        assert_eq!((value(&root, "title"), value(&root, "run.end")), ("\"a title\"".to_owned(), "1.0".to_owned()));
        let root = edit(&["body.rod.shape.0.disc.radius=2.0"]).unwrap();
        assert_eq!(value(&root, "body.1.shape.0.disc.radius"), "2.0");
    }

    #[test]
    fn another_choice_replaces_the_first() {
        assert_eq!(value(&edit(&["scheme.moreau.theta=0.5"]).unwrap(), "scheme"), "{moreau}");
        let root = edit(&["scheme.stewart-trinkle.position-tolerance=1e-9"]).unwrap();
        assert_eq!(value(&root, "scheme.stewart-trinkle.version"), "\"linear\"");
        assert_eq!(value(&edit(&["scheme={ moreau = {} }"]).unwrap(), "scheme"), "{moreau}");
        assert_eq!(value(&edit(&["run={ step = 1.0, end = 2.0 }"]).unwrap(), "run.end"), "2.0");
        let root = edit(&["body.rod={ name = \"ball\", mass = 3.0 }"]).unwrap();
        assert_eq!(value(&root, "body.1.name"), "\"ball\"");
        assert!(matches!(&root.get("body").unwrap().value, Value::List(list) if list.len() == 2));
    }

    #[test]
    fn mistakes_name_the_override() {
        let message = |text: &str| {
            let error = edit(&["run.end=2", text]).unwrap_err();
            format!("{error} | {}", error.remedy())
        };
        let form = "write path=value, as in run.step=1e-4 or body.rod.velocity=[1, 0]";
        assert_eq!(message("run.step"), format!("--set run.step: there is no `=` | {form}"));
        assert_eq!(message("=3"), format!("--set =3: `` is not a path | {form}"));
        assert_eq!(message("run..step=3"), format!("--set run..step=3: `run..step` is not a path | {form}"));
        assert_eq!(message("run.step="), format!("--set run.step=: there is no value after `=` | {form}"));
        assert_eq!(
            message("body.rot.mass=1"),
            "--set body.rot.mass=1: `body` has no element named `rot` | did you mean `rod`? (the names are `table` and `rod`)"
        );
        assert_eq!(
            message("body.2.mass=1"),
            "--set body.2.mass=1: `body` has no element 2 | its elements are numbers 0 to 1"
        );
        assert_eq!(
            message("run.step.x=1"),
            "--set run.step.x=1: `run.step` is the number 0.01, and has no `x` inside | set `run.step` itself"
        );
        assert_eq!(
            message("body.rod=3"),
            "--set body.rod=3: `body.rod` is a table | set one of its keys, as body.rod.name=…"
        );
    }
}

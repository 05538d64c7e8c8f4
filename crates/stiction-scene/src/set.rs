//! `--set path=value`: changes to the text of a scene before it is read.

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

use crate::scene_error::{SceneError, quoted, suggest};

/// Tables of the scene that hold one choice: setting another one replaces it.
const CHOICES: [&str; 2] = ["scheme", "method"];

/// Puts overrides into the text of a scene, in their order. Comments and layout stay.
///
/// An override is `path=value`. The path is made of keys with dots between them; an element of a list of tables is
/// addressed by its `name`, or by its number from 0: `body.rod.velocity=[1, 0]`, `material.0.friction=0.3`. The value is
/// TOML; what is not TOML is taken as text. Tables that are missing are added; keys that do not exist are found when the
/// scene is read.
///
/// ```
/// let text = "[run]\nstep = 0.01\n";
/// let edited = stiction_scene::apply_overrides(text, &["run.step=1e-4".to_owned()])?;
/// assert_eq!(edited, "[run]\nstep = 1e-4\n");
/// # Ok::<(), stiction_scene::SceneError>(())
/// ```
///
/// # Errors
/// [`SceneError::Override`] when an override has no `=`, or its path does not lead anywhere; [`SceneError::Text`] when the
/// text is not TOML.
pub fn apply_overrides(text: &str, overrides: &[String]) -> Result<String, SceneError> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let (span, message) = (error.span().unwrap_or(0..0), error.message().to_owned());
        let help = "the scene must be TOML before anything can be set in it".to_owned();
        SceneError::Text(Box::new(crate::scene_error::TextError::new("scene", text, span, message, help)))
    })?;
    for text in overrides {
        let fail = |(message, help): Failure| SceneError::Override { text: text.clone(), message, help };
        apply(&mut document, text).map_err(fail)?;
    }
    Ok(document.to_string())
}

/// What is wrong, and what to do.
type Failure = (String, String);

fn apply(document: &mut DocumentMut, text: &str) -> Result<(), Failure> {
    let form = || "write path=value, as in run.step=1e-4 or body.rod.velocity=[1, 0]".to_owned();
    let Some((path, value)) = text.split_once('=') else { return Err(("there is no `=`".to_owned(), form())) };
    let Ok(keys) = Key::parse(path.trim()) else {
        return Err((format!("`{}` is not a path", path.trim()), form()));
    };
    let keys: Vec<&str> = keys.iter().map(Key::get).collect();
    let value = value.trim();
    if value.is_empty() {
        return Err(("there is no value after `=`".to_owned(), form()));
    }
    let value: Value = value.parse().unwrap_or_else(|_| Value::from(value));

    if let [table, choice, ..] = keys[..]
        && CHOICES.contains(&table)
        && let Some(choices) = document.get_mut(table).and_then(Item::as_table_like_mut)
        && !choices.contains_key(choice)
    {
        choices.clear();
    }
    set(document.as_item_mut(), &keys, 0, value)
}

/// Sets the value at `keys[depth..]` below an item.
fn set(item: &mut Item, keys: &[&str], depth: usize, value: Value) -> Result<(), Failure> {
    let (key, is_last) = (keys[depth], depth + 1 == keys.len());
    let path = keys[..depth].join(".");
    match item {
        Item::Table(table) if is_last => {
            assign(table, key, value);
            Ok(())
        }
        Item::Table(table) => {
            let missing = || {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            };
            let next = TableLike::entry(table, key).or_insert_with(missing);
            // A table that holds values needs its header.
            if let Item::Table(next) = next
                && depth + 2 == keys.len()
            {
                next.set_implicit(false);
            }
            set(next, keys, depth + 1, value)
        }
        Item::ArrayOfTables(tables) => {
            let names: Vec<Option<String>> = tables.iter().map(|table| name_of(table)).collect();
            let index = element(&path, key, &names)?;
            let table = tables.get_mut(index).expect("the index was looked up");
            if is_last {
                return match value {
                    Value::InlineTable(inline) => {
                        replace(tables, index, inline);
                        Ok(())
                    }
                    _ => Err((
                        format!("`{path}.{key}` is a table"),
                        format!("set one of its keys, as {path}.{key}.name=…"),
                    )),
                };
            }
            let mut inner = Item::Table(std::mem::take(table));
            let result = set(&mut inner, keys, depth + 1, value);
            *table = inner.into_table().expect("a table stays a table");
            result
        }
        Item::Value(inner) => set_in_value(inner, keys, depth, value),
        Item::None => unreachable!("items are looked up or made before they are entered"),
    }
}

/// Sets the value at `keys[depth..]` below a value: an inline table or a list.
fn set_in_value(item: &mut Value, keys: &[&str], depth: usize, mut value: Value) -> Result<(), Failure> {
    let (key, is_last) = (keys[depth], depth + 1 == keys.len());
    let path = keys[..depth].join(".");
    match item {
        Value::InlineTable(table) if is_last => {
            assign(table, key, value);
            Ok(())
        }
        Value::InlineTable(table) => {
            let next = table.entry(key).or_insert_with(|| Value::InlineTable(InlineTable::new()));
            set_in_value(next, keys, depth + 1, value)
        }
        Value::Array(list) => {
            let name = |value: &Value| value.as_inline_table().and_then(|table| name_of(table));
            let names: Vec<Option<String>> = list.iter().map(name).collect();
            let index = element(&path, key, &names)?;
            let element = list.get_mut(index).expect("the index was looked up");
            if is_last {
                *value.decor_mut() = element.decor().clone();
                *element = value;
                return Ok(());
            }
            set_in_value(element, keys, depth + 1, value)
        }
        other => {
            let message = format!("`{path}` is {}, and has no `{key}` inside", other.type_name());
            Err((message, format!("set `{path}` itself")))
        }
    }
}

/// Gives a key a value, in the place and with the comment of the old one.
fn assign(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => {
            table.remove(key);
            table.insert(key, Item::Value(value));
        }
    }
}

/// Replaces a whole element of a list of tables.
fn replace(tables: &mut ArrayOfTables, index: usize, inline: InlineTable) {
    let old = tables.get_mut(index).expect("the index was looked up");
    let position = old.position();
    *old = inline.into_table();
    old.set_position(position);
}

fn name_of(table: &dyn TableLike) -> Option<String> {
    table.get("name").and_then(Item::as_str).map(str::to_owned)
}

/// The number of an element that is addressed by name or by number.
fn element(path: &str, key: &str, names: &[Option<String>]) -> Result<usize, Failure> {
    if let Some(index) = names.iter().position(|name| name.as_deref() == Some(key)) {
        return Ok(index);
    }
    let count = names.len();
    let range = match count {
        0 => "it is empty".to_owned(),
        1 => "its only element is number 0".to_owned(),
        _ => format!("its elements are numbers 0 to {}", count - 1),
    };
    match key.parse::<usize>() {
        Ok(index) if index < count => Ok(index),
        Ok(index) => Err((format!("`{path}` has no element {index}"), range)),
        Err(_) => {
            let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            let help = if known.is_empty() { range } else { suggest(key, "names", known) };
            Err((format!("`{path}` has no element named {}", quoted(&[key])), help))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn edit(overrides: &[&str]) -> Result<String, SceneError> {
        let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
        apply_overrides(TEXT, &overrides)
    }

    fn value(text: &str, path: &[&str]) -> toml::Value {
        let table: toml::Table = toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut value = toml::Value::Table(table);
        for key in path {
            value = match key.parse::<usize>() {
                Ok(index) => value[index].clone(),
                Err(_) => value[*key].clone(),
            };
        }
        value
    }

    #[test]
    fn one_value_changes_and_the_rest_stays() {
        assert_eq!(edit(&["run.step=1e-4"]).unwrap(), TEXT.replace("0.01 #", "1e-4 #"));
        assert_eq!(edit(&[" run.step = 1e-4 "]).unwrap(), TEXT.replace("0.01 #", "1e-4 #"));
        assert_eq!(edit(&["material.0.friction=0.3"]).unwrap(), TEXT.replace("0.6", "0.3"));
        assert_eq!(edit(&["material.steel.friction=0.3"]).unwrap(), TEXT.replace("0.6", "0.3"));
        assert_eq!(edit(&["body.rod.shape.0.capsule.radius=0.1"]).unwrap(), TEXT.replace("0.05", "0.1"));
        assert_eq!(
            edit(&["body.rod.shape.0.position.1=7"]).unwrap(),
            TEXT.replace("position = [0.0, 0.0]", "position = [0.0, 7]")
        );
        assert_eq!(edit(&[]).unwrap(), TEXT);
        // The last one wins.
        assert_eq!(edit(&["run.step=1", "run.step=2"]).unwrap(), TEXT.replace("0.01 #", "2 #"));
    }

    #[test]
    fn what_is_missing_is_added() {
        let text = edit(&["body.rod.velocity=[1, 0]"]).unwrap();
        assert_eq!(value(&text, &["body", "1", "velocity", "0"]).as_integer(), Some(1));
        let text = edit(&["method.pyramid.directions=32"]).unwrap();
        assert_eq!(value(&text, &["method", "pyramid", "directions"]).as_integer(), Some(32));
        let text = edit(&["body.table.motion.oscillation.frequency=50.0", "body.table.kind=prescribed"]).unwrap();
        assert_eq!(value(&text, &["body", "0", "motion", "oscillation", "frequency"]).as_float(), Some(50.0));
        assert_eq!(value(&text, &["body", "0", "kind"]).as_str(), Some("prescribed"));
        assert_eq!(value(&text, &["body", "1", "name"]).as_str(), Some("rod"));
        let text = edit(&["title=a title"]).unwrap();
        assert_eq!(value(&text, &["title"]).as_str(), Some("a title"));
        assert_eq!(value(&text, &["run", "end"]).as_float(), Some(1.0));
        let text = edit(&["body.rod.shape.0.disc.radius=2.0"]).unwrap();
        assert_eq!(value(&text, &["body", "1", "shape", "0", "disc", "radius"]).as_float(), Some(2.0));
    }

    #[test]
    fn another_choice_replaces_the_first() {
        let text = edit(&["scheme.moreau.theta=0.5"]).unwrap();
        let scheme = value(&text, &["scheme"]);
        assert_eq!(scheme.as_table().unwrap().len(), 1, "{text}");
        let text = edit(&["scheme.stewart-trinkle.position-tolerance=1e-9"]).unwrap();
        assert_eq!(value(&text, &["scheme", "stewart-trinkle", "version"]).as_str(), Some("linear"));
        let text = edit(&["scheme={ moreau = {} }"]).unwrap();
        assert_eq!(value(&text, &["scheme"]).as_table().unwrap().len(), 1, "{text}");
        let text = edit(&["run={ step = 1.0, end = 2.0 }"]).unwrap();
        assert_eq!(value(&text, &["run", "end"]).as_float(), Some(2.0));
        let text = edit(&["body.rod={ name = \"ball\", mass = 3.0 }"]).unwrap();
        assert_eq!(value(&text, &["body", "1", "name"]).as_str(), Some("ball"));
        assert_eq!(value(&text, &["body"]).as_array().unwrap().len(), 2);
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
            "--set run.step.x=1: `run.step` is float, and has no `x` inside | set `run.step` itself"
        );
        assert_eq!(
            message("body.rod=3"),
            "--set body.rod=3: `body.rod` is a table | set one of its keys, as body.rod.name=…"
        );
    }
}

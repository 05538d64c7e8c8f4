//! Text to scene, scene to simulation. Errors point at the line and say what to do.

use std::io::Read as _;
use std::path::Path;

use stiction_bodies::Multibody;
use stiction_dynamics::{ContactSolver, LinearSystem, MechanicalSystem, Simulation, State, TimeGrid, consistent_start};
use toml::de::{DeInteger, DeTable, DeValue};

use crate::builtin;
use crate::model::{
    BESIDE_SYSTEM, body_fault, check_no_bodies, check_overlaps, check_start, linear_system, model, resolve,
};
use crate::scene::{FORMAT, Scene};
use crate::scene_error::{Fault, Place, SceneError, TextError, describe, most_similar, search, suggest};
use crate::set::apply_overrides;

/// Contacts with a gap up to this are closed at the start, in metres or radians. Too large: bodies that are apart collide. Too small: bodies placed by ten digits do not touch.
const START_GAP: f64 = 1e-9;

/// A scene that passed every check.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scene, with all defaults filled in.
    pub scene: Scene,
    /// Where it comes from.
    pub source: SceneSource,
    /// What was changed on the way, in sentences.
    pub warnings: Vec<String>,
}

/// Where a scene comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneSource {
    /// Name of the file, for messages.
    pub file_name: String,
    /// The text, with the overrides in it.
    pub text: String,
    /// The overrides that were applied, as `path=value`.
    pub overrides: Vec<String>,
}

/// What a scene describes.
#[derive(Debug)]
pub enum SceneSystem {
    /// Bodies in the plane or in space.
    Bodies(Box<Multibody>),
    /// A system given by matrices.
    Matrices(Box<LinearSystem>),
}

impl Loaded {
    /// The simulation of the scene, at its start.
    ///
    /// # Errors
    /// None, unless the scene was changed after it was loaded.
    pub fn build(&self) -> Result<Simulation, SceneError> {
        self.scene.build()
    }

    /// The system of the scene and its state at the start.
    ///
    /// # Errors
    /// None, unless the scene was changed after it was loaded.
    pub fn build_system(&self) -> Result<(SceneSystem, State), SceneError> {
        self.scene.build_system()
    }

    /// The system of bodies and its state at the start.
    ///
    /// # Errors
    /// [`SceneError`] when the scene has matrices in place of bodies, or was changed after it was loaded.
    pub fn build_multibody(&self) -> Result<(Multibody, State), SceneError> {
        self.scene.build_multibody()
    }
}

/// Loads a scene from a file, or the built-in one of that name; a file comes first.
///
/// Every override `path=value` is put into the text before it is read, see [`apply_overrides`].
///
/// # Errors
/// [`SceneError`] with the place of the mistake and the remedy.
pub fn load(argument: &str, overrides: &[String]) -> Result<Loaded, SceneError> {
    let path = Path::new(argument);
    if path.is_file() {
        return parse_with(&read_text(path)?, argument, overrides);
    }
    if let Some(scene) = builtin::all().iter().find(|scene| scene.name == argument) {
        return parse_with(scene.text, &format!("scenes/{}.toml", scene.name), overrides);
    }
    // A pipe, which is read like a file; or a folder, or a path whose folders cannot be entered, which say so.
    if let Ok(true) | Err(_) = path.try_exists() {
        return parse_with(&read_text(path)?, argument, overrides);
    }
    let bare = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(argument);
    let help = suggest(bare, "built-in scenes", builtin::all().iter().map(|scene| scene.name));
    Err(SceneError::Unknown { argument: argument.to_owned(), help: format!("check the path; {help}") })
}

/// Most bytes of a scene: far more than anyone writes, and little enough to be read at once. A device may go on for ever.
const LARGEST_SCENE: u64 = 64 << 20;

/// The text of a file.
fn read_text(path: &Path) -> Result<String, SceneError> {
    let read = |cause| SceneError::Read { path: path.to_owned(), cause };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(read)?;
    file.take(LARGEST_SCENE + 1).read_to_string(&mut text).map_err(read)?;
    if text.len() as u64 > LARGEST_SCENE {
        let message = format!("it has more than the {} MB that a scene may have", LARGEST_SCENE >> 20);
        return Err(read(std::io::Error::new(std::io::ErrorKind::InvalidData, message)));
    }
    Ok(text)
}

/// Reads and checks a scene; `file_name` is for messages.
///
/// # Errors
/// [`SceneError`] with the place of the mistake and the remedy.
pub fn parse(text: &str, file_name: &str) -> Result<Loaded, SceneError> {
    let Checked { scene, warnings, .. } = check(text, file_name)?;
    let source = SceneSource { file_name: file_name.to_owned(), text: text.to_owned(), overrides: Vec::new() };
    Ok(Loaded { scene, source, warnings })
}

/// Reads and checks a scene with overrides; a mistake that they bring in is blamed on the one that does.
///
/// # Errors
/// [`SceneError`] with the place of the mistake and the remedy.
pub fn parse_with(text: &str, file_name: &str, overrides: &[String]) -> Result<Loaded, SceneError> {
    if overrides.is_empty() {
        return parse(text, file_name);
    }
    // A text that is not TOML cannot be edited either.
    let locate_syntax = |error| syntax_error(file_name, text, &error);
    DeTable::parse(text).map_err(locate_syntax)?;
    let edited = apply_overrides(text, overrides)?;
    let error = match parse(&edited, file_name) {
        Ok(mut loaded) => {
            loaded.source.overrides = overrides.to_vec();
            return Ok(loaded);
        }
        Err(error) => error,
    };
    let message = error.message();
    let is_same = |other: &SceneError| other.message() == message;
    // In the file itself? Then its own lines are shown.
    if let Err(original) = parse(text, file_name)
        && is_same(&original)
    {
        return Err(original);
    }
    for count in 1..=overrides.len() {
        let is_culprit = match apply_overrides(text, &overrides[..count]) {
            Ok(partly) => parse(&partly, file_name).err().is_some_and(|error| is_same(&error)),
            Err(_) => false,
        };
        if is_culprit {
            let text = overrides[count - 1].clone();
            return Err(SceneError::Override { text, message, help: error.remedy() });
        }
    }
    Err(error)
}

impl Scene {
    /// The simulation of the scene, at its start.
    ///
    /// # Errors
    /// [`SceneError`] when the scene does not pass the checks; its lines are those of [`Scene::to_toml`].
    pub fn build(&self) -> Result<Simulation, SceneError> {
        let (system, state) = self.build_system()?;
        let system: Box<dyn MechanicalSystem> = match system {
            SceneSystem::Bodies(bodies) => bodies,
            SceneSystem::Matrices(system) => system,
        };
        let solver = ContactSolver::new(self.contact_method()).expect("its settings were checked");
        let grid = TimeGrid { start: self.run.start, end: self.run.end, step: self.run.step };
        Ok(Simulation::new(system, self.scheme.build(solver), state, grid))
    }

    /// The system of the scene and its state at the start.
    ///
    /// # Errors
    /// [`SceneError`] when the scene does not pass the checks; its lines are those of [`Scene::to_toml`].
    pub fn build_system(&self) -> Result<(SceneSystem, State), SceneError> {
        // Through the text: the fields are public, so anything may stand in them, and a message needs a place to show.
        let Checked { system, start, .. } = check(&self.to_toml(), &self.resolved_name())?;
        Ok((system, start))
    }

    /// The system of bodies and its state at the start.
    ///
    /// # Errors
    /// [`SceneError`] when the scene does not pass the checks, or has matrices in place of bodies; its lines are those of
    /// [`Scene::to_toml`].
    pub fn build_multibody(&self) -> Result<(Multibody, State), SceneError> {
        match self.build_system()? {
            (SceneSystem::Bodies(multibody), state) => Ok((*multibody, state)),
            (SceneSystem::Matrices(_), _) => {
                let message = "the scene has no bodies: its system is given by matrices";
                let fault = Place::top("system").fault(message, "ask for its system, with `build_system`");
                Err(fault.locate(&self.resolved_name(), &self.to_toml()))
            }
        }
    }

    fn resolved_name(&self) -> String {
        format!("{} (resolved)", self.name)
    }
}

/// A scene that passed every check, and what was made of it on the way.
struct Checked {
    scene: Scene,
    system: SceneSystem,
    start: State,
    warnings: Vec<String>,
}

/// Everything there is to check: syntax, version, numbers, keys and types, meaning.
fn check(text: &str, file_name: &str) -> Result<Checked, SceneError> {
    let document = DeTable::parse(text).map_err(|error| syntax_error(file_name, text, &error))?;
    let locate = |fault: Fault| fault.locate(file_name, text);
    check_format(document.get_ref()).map_err(locate)?;
    check_finite(document.get_ref()).map_err(locate)?;
    let mut scene: Scene = toml::from_str(text).map_err(|error| key_error(file_name, text, &error))?;
    let mut warnings = Vec::new();
    let (system, start) = match &scene.system {
        None => {
            let model = model(&scene, &mut warnings).map_err(locate)?;
            let mut multibody = Multibody::new(model).map_err(|error| locate(body_fault(&scene, &error)))?;
            check_start(&scene, &mut multibody, &mut warnings).map_err(locate)?;
            let start = multibody.start(scene.run.start);
            check_overlaps(&scene, &multibody, &start).map_err(locate)?;
            (SceneSystem::Bodies(Box::new(multibody)), start)
        }
        Some(entry) => {
            let mut keys: Vec<_> = document.get_ref().keys().collect();
            keys.sort_by_key(|key| key.span().start);
            check_no_bodies(keys.iter().map(|key| key.get_ref().as_ref())).map_err(locate)?;
            let (system, start) = linear_system(&scene, entry).map_err(locate)?;
            (SceneSystem::Matrices(Box::new(system)), start)
        }
    };
    let start =
        if scene.run.consistent_start { made_consistent(&scene, &system, &start).map_err(locate)? } else { start };
    let model = match &system {
        SceneSystem::Bodies(multibody) => Some(multibody.model()),
        SceneSystem::Matrices(_) => None,
    };
    resolve(&mut scene, model);
    scene.method = Some(scene.contact_method());
    Ok(Checked { scene, system, start, warnings })
}

/// The start with velocities that contacts and joints allow.
fn made_consistent(scene: &Scene, system: &SceneSystem, start: &State) -> Result<State, Fault> {
    let system: &dyn MechanicalSystem = match system {
        SceneSystem::Bodies(bodies) => &**bodies,
        SceneSystem::Matrices(system) => &**system,
    };
    let mut solver = ContactSolver::new(scene.contact_method()).expect("its settings were checked");
    consistent_start(system, start, &mut solver, START_GAP).map_err(|error| {
        let message = format!("the velocities at the start cannot be made consistent: {}", error.named(system));
        let help =
            "give velocities that contacts and joints allow and remove `consistent-start`, or choose another method";
        Place::top("run").key("consistent-start").fault(message, help)
    })
}

/// Checks the version first: keys of another one would only confuse.
fn check_format(document: &DeTable<'_>) -> Result<(), Fault> {
    let place = Place::top("format");
    let Some((_, value)) = document.iter().find(|(key, _)| key.get_ref() == "format") else {
        return Err(place.fault("`format` is missing", format!("write `format = {FORMAT}` as the first line")));
    };
    let is_known = match value.get_ref() {
        DeValue::Integer(number) => integer(number) == Some(i64::from(FORMAT)),
        _ => false,
    };
    if is_known {
        return Ok(());
    }
    let found = match value.get_ref() {
        DeValue::Integer(number) => number.as_str(),
        _ => "not a whole number",
    };
    let message = format!("the format of this scene is {found}, and this version of Stiction reads format {FORMAT}");
    Err(place.fault(message, format!("write `format = {FORMAT}`, or use a version of Stiction that reads the scene")))
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}

/// TOML knows `nan` and `inf`; no quantity of a scene does.
fn check_finite(document: &DeTable<'_>) -> Result<(), Fault> {
    let bad = search(document, &Place::default(), &mut |place, _, _, value| {
        let DeValue::Float(number) = value else { return None };
        let number = number.as_str();
        let is_finite = number.replace('_', "").parse::<f64>().is_ok_and(f64::is_finite);
        (!is_finite).then(|| (place.clone(), number.to_owned()))
    });
    match bad {
        None => Ok(()),
        Some((place, number)) => {
            let message = format!("{} is {number}", describe(document, &place));
            Err(place.fault(message, "give a finite number"))
        }
    }
}

/// A text that is not TOML.
fn syntax_error(file_name: &str, text: &str, error: &toml::de::Error) -> SceneError {
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
    SceneError::Text(Box::new(TextError::new(file_name, text, span, message.to_owned(), help.to_owned())))
}

/// A key that is unknown, missing or of another type, told by serde.
fn key_error(file_name: &str, text: &str, error: &toml::de::Error) -> SceneError {
    let span = error.span().unwrap_or(0..0);
    let raw = error.message();
    let names: Vec<&str> = raw.split('`').skip(1).step_by(2).collect();
    let parsed = DeTable::parse(text).expect("it was parsed before");
    let document = parsed.get_ref();
    // The place that the span belongs to, as a value or as a key.
    let mut is_key = false;
    let place = search(document, &Place::default(), &mut |place, key_span, value_span, value| {
        is_key = key_span.as_ref() == Some(&span);
        // A list of tables has the span of its first element, which is meant.
        let is_outer = value.as_array().is_some_and(|list| list.first().is_some_and(|inner| inner.span() == span));
        (is_key || (value_span == span && !is_outer)).then(|| place.clone())
    });
    let place = place.unwrap_or_default();
    let (parent, owner) = (place.parent(), describe(document, &place.parent()));

    let (message, help) = if raw.starts_with("unknown field") {
        let help = match names.as_slice() {
            [_] => "this table has no keys".to_owned(),
            [name, known @ ..] => unknown_key_help(name, known, &parent),
            [] => String::new(),
        };
        (format!("unknown key `{}` in {owner}", names.first().unwrap_or(&"")), help)
    } else if raw.starts_with("missing field") {
        let name = names.first().copied().unwrap_or("");
        (format!("`{name}` is missing in {}", describe(document, &place)), missing_key_help(name))
    } else if raw.starts_with("unknown variant") {
        let name = names.first().copied().unwrap_or("");
        let known = names.get(1..).unwrap_or_default();
        let what = if is_key { &owner } else { &describe(document, &place) };
        (format!("{what} cannot be `{name}`"), suggest(name, "choices", known.iter().copied()))
    } else if raw.starts_with("wanted exactly 1 element") {
        let what = describe(document, &place);
        (
            format!("{what} names {} choices", if raw.contains("found 0") { "no" } else { "several" }),
            "name one".to_owned(),
        )
    } else if raw.starts_with("wanted string or table") {
        let what = describe(document, &place);
        (format!("{what} must be a name or a table"), "write the name of a choice in quotes, or a table".to_owned())
    } else if let Some((found, expected)) = type_mismatch(raw) {
        let what = describe(document, &place);
        (format!("{what} is {found}, and must be {expected}"), format!("write {expected}"))
    } else {
        let what = describe(document, &place);
        (format!("{what}: {raw}"), "see the reference of the scene format".to_owned())
    };
    SceneError::Text(Box::new(TextError::new(file_name, text, span, message, help)))
}

/// `invalid type: string "a", expected f64` in the user's words: what was found, and what is needed.
fn type_mismatch(raw: &str) -> Option<(String, String)> {
    let rest = raw.strip_prefix("invalid type: ").or_else(|| raw.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let found = match found.replace('`', "").split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer", number)) => {
            let digits = number.trim_end_matches(" as i128").trim_end_matches(" as u128");
            format!("the whole number {digits}")
        }
        Some(("boolean", value)) => value.to_owned(),
        Some(("floating", number)) => format!("the number {}", number.trim_start_matches("point ")),
        _ if found == "map" => "a table".to_owned(),
        _ if found == "sequence" => "a list".to_owned(),
        _ => found.to_owned(),
    };
    let expected = match expected {
        "f64" => "a number".to_owned(),
        "u64" | "u32" | "usize" => "a whole number that is not negative".to_owned(),
        "a string" => "text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "string or table" => "a name or a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    };
    Some((found, expected))
}

/// What to write in place of a key that is unknown.
fn unknown_key_help(name: &str, known: &[&str], parent: &Place) -> String {
    // The plural, or the singular, of a list of tables.
    let plain = name.trim_end_matches('s').replace('_', "-");
    let exact = known.iter().copied().find(|known| *known == plain);
    let list = format!("the keys here are {}", crate::scene_error::quoted(known));
    if let Some(exact) = exact {
        return format!("did you mean `{exact}`? ({list})");
    }
    // A key that is right elsewhere is misplaced rather than misspelt.
    let top = [
        "run",
        "scheme",
        "method",
        "record",
        "contact",
        "body",
        "force",
        "name",
        "gravity",
        "dimension",
        "title",
        "format",
        "description",
        "material",
    ];
    let is_of_bodies = parent.is_inside("system") && !BESIDE_SYSTEM.contains(&name);
    if *parent != Place::default() && top.contains(&name) && !is_of_bodies {
        return format!("`{name}` belongs to the top of the scene: write it before the first table; {list}");
    }
    if let Some(similar) = most_similar(name, known.iter().copied()) {
        return format!("did you mean `{similar}`? ({list})");
    }
    list
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

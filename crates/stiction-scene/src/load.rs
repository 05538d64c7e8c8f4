//! Text to scene, scene to system, system to simulation: each once. Errors point at the line and
//! say what to do.
//!
//! A text is parsed into a [`Document`], edits change the document, the [`Scene`] is read from it,
//! and the check builds the system. What it built stays in [`Loaded`], for whoever looks at the
//! scene and for whoever runs it.

use std::io::Read as _;
use std::path::Path;

use stiction_bodies::Multibody;
use stiction_dynamics::{ContactSolver, LinearSystem, MechanicalSystem, Simulation, State, TimeGrid, consistent_start};

use crate::builtin;
use crate::document::{Document, Value};
use crate::files::SceneFile;
use crate::lint::Severity;
use crate::model::{body_fault, check_no_bodies, check_overlaps, check_start, linear_system, model, resolve};
use crate::place::{Fault, Place};
use crate::read::read;
use crate::scene::Scene;
use crate::scene_error::{SceneError, suggest};
use crate::set::Edit;
use crate::surfaces::Surfaces;
use crate::tally::{Task, count};

/// Contacts with a gap up to this are closed at the start, in metres or radians. Too large: bodies
/// that are apart collide. Too small: bodies placed by ten digits do not touch.
const START_GAP: f64 = 1e-9;

/// Most bytes of a scene: far more than anyone writes, and little enough to be read at once. A
/// device may go on for ever.
const LARGEST_SCENE: u64 = 64 << 20;

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A scene that passed every check, with the system that was built from it.
#[derive(Clone, Debug)]
pub struct Loaded {
    scene: Scene,
    document: Document,
    warnings: Vec<String>,
    system: SceneSystem,
    start: State,
    files: Vec<SceneFile>,
    notes: Vec<(Severity, Place, String)>,
}

/// What a scene describes.
#[derive(Clone, Debug)]
pub enum SceneSystem {
    /// Bodies in the plane or in space.
    Bodies(Box<Multibody>),
    /// A system given by matrices.
    Matrices(Box<LinearSystem>),
}

impl SceneSystem {
    /// The system as any other.
    pub fn mechanics(&self) -> &dyn MechanicalSystem {
        match self {
            Self::Bodies(bodies) => &**bodies,
            Self::Matrices(system) => &**system,
        }
    }

    /// The bodies, where it has some.
    pub fn bodies(&self) -> Option<&Multibody> {
        match self {
            Self::Bodies(bodies) => Some(bodies),
            Self::Matrices(_) => None,
        }
    }
}

impl Loaded {
    /// Everything there is to check about the meaning of a scene; the check builds the system.
    fn new(mut scene: Scene, document: Document, mut surfaces: Surfaces) -> Result<Self, SceneError> {
        count(Task::Build);
        let mut warnings = Vec::new();
        match built(&mut scene, &document, &mut warnings, &mut surfaces) {
            Ok((system, start)) => {
                let Surfaces { files, notes, .. } = surfaces;
                Ok(Self { scene, document, warnings, system, start, files: files.read, notes })
            }
            Err(fault) => Err(document.locate(fault)),
        }
    }

    /// The scene, with all defaults filled in.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The scene alone, to be changed and [checked](Scene::check) again.
    pub fn into_scene(self) -> Scene {
        self.scene
    }

    /// The scene as it was written.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What was changed on the way, in sentences.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The files that the scene names.
    pub fn files(&self) -> &[SceneFile] {
        &self.files
    }

    /// What is worth knowing about them.
    pub(crate) fn notes(&self) -> &[(Severity, Place, String)] {
        &self.notes
    }

    /// The system of the scene.
    pub fn system(&self) -> &SceneSystem {
        &self.system
    }

    /// Its state at the start.
    pub fn start(&self) -> &State {
        &self.start
    }

    /// The simulation of the scene, at its start.
    pub fn simulation(&self) -> Simulation {
        let scheme = self.scene.scheme.build(contact_solver(&self.scene));
        let system: Box<dyn MechanicalSystem> = match &self.system {
            SceneSystem::Bodies(bodies) => bodies.clone(),
            SceneSystem::Matrices(system) => system.clone(),
        };
        Simulation::new(system, scheme, self.start.clone(), self.grid())
    }

    /// The times of the run.
    pub fn grid(&self) -> TimeGrid {
        let run = &self.scene.run;
        TimeGrid { start: run.start, end: run.end, step: run.step }
    }
}

/// Loads a scene from a file, from standard input (`-`), or the built-in one of that name; a file
/// comes first.
///
/// Every override `path=value` is put into the scene before it is read, see [`Edit::set`].
///
/// # Errors
/// [`SceneError`] with the place of the mistake and the remedy.
pub fn load(argument: &str, overrides: &[String]) -> Result<Loaded, SceneError> {
    open(argument)?.load(edits(overrides)?)
}

/// Opens a scene as [`load`] does, to be loaded once or several times with other edits.
///
/// # Errors
/// [`SceneError`] when there is no such scene, or its text is not TOML.
pub fn open(argument: &str) -> Result<Document, SceneError> {
    let path = Path::new(argument);
    let from_file = || {
        let mut document = Document::parse(&read_text(std::fs::File::open(path), path)?, argument)?;
        document.folder = path.parent().map(Path::to_owned);
        Ok(document)
    };
    if argument == STANDARD_INPUT {
        let name = "standard input";
        return Document::parse(&read_text(Ok(std::io::stdin()), Path::new(name))?, name);
    }
    if path.is_file() {
        return from_file();
    }
    if let Some(scene) = builtin::all().iter().find(|scene| scene.name == argument) {
        return Document::parse(scene.text, &format!("scenes/{}.toml", scene.name));
    }
    // A pipe, which is read like a file; or a folder, or a path whose folders cannot be entered,
    // which say so.
    if let Ok(true) | Err(_) = path.try_exists() {
        return from_file();
    }
    let bare = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(argument);
    let help = suggest(bare, "built-in scenes", builtin::all().iter().map(|scene| scene.name));
    Err(SceneError::Unknown { argument: argument.to_owned(), help: format!("check the path; {help}") })
}

/// The text of a source that may have no end; `path` is for messages.
fn read_text(source: std::io::Result<impl std::io::Read>, path: &Path) -> Result<String, SceneError> {
    let failed = |cause| SceneError::Read { path: path.to_owned(), cause };
    let mut text = String::new();
    source.map_err(failed)?.take(LARGEST_SCENE + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > LARGEST_SCENE {
        let message = format!("it has more than the {} MB that a scene may have", LARGEST_SCENE >> 20);
        return Err(failed(std::io::Error::new(std::io::ErrorKind::InvalidData, message)));
    }
    Ok(text)
}

/// Reads and checks a scene; `file_name` is for messages.
///
/// # Errors
/// [`SceneError`] with the place of the mistake and the remedy.
pub fn parse(text: &str, file_name: &str) -> Result<Loaded, SceneError> {
    parse_with(text, file_name, &[])
}

/// Reads and checks a scene with overrides; a mistake that they bring in is theirs.
///
/// # Errors
/// [`SceneError`] with the place of the mistake and the remedy.
pub fn parse_with(text: &str, file_name: &str, overrides: &[String]) -> Result<Loaded, SceneError> {
    Document::parse(text, file_name)?.load(edits(overrides)?)
}

fn edits(overrides: &[String]) -> Result<Vec<Edit>, SceneError> {
    overrides.iter().map(|text| Edit::set(text)).collect()
}

impl Document {
    /// Reads and checks the scene with these edits, beside those that it has.
    ///
    /// # Errors
    /// [`SceneError`] with the place of the mistake and the remedy.
    pub fn load(mut self, edits: Vec<Edit>) -> Result<Loaded, SceneError> {
        for edit in edits {
            self.edit(edit)?;
        }
        let mut surfaces = self.surfaces();
        match self.expand(&mut surfaces).and_then(|_| read(&self)) {
            Ok(scene) => Loaded::new(Scene { folder: self.folder.clone(), ..scene }, self, surfaces),
            Err(fault) => Err(self.locate(fault)),
        }
    }

    /// Puts in what a scene says in short: the pieces of surfaces, and copies of bodies. Returns
    /// whether there is any of it.
    fn expand(&mut self, surfaces: &mut Surfaces) -> Result<bool, Fault> {
        self.check()?;
        let has_pieces = self.expand_decompositions(surfaces)?;
        Ok(self.expand_copies()? || has_pieces)
    }
}

impl Scene {
    /// Checks a scene that was made or changed in a program, by the rules of scene files, and
    /// builds its system.
    ///
    /// # Errors
    /// [`SceneError`] with the place of the mistake, as in `body[1].mass`, and the remedy.
    pub fn check(self) -> Result<Loaded, SceneError> {
        let mut document = Document::of(&self)?;
        let (folder, mut surfaces) = (self.folder.clone(), document.surfaces());
        let scene = document.expand(&mut surfaces).and_then(|is_changed| match is_changed {
            true => read(&document).map(|scene| Scene { folder, ..scene }),
            false => Ok(self),
        });
        match scene {
            Ok(scene) => Loaded::new(scene, document, surfaces),
            Err(fault) => Err(document.locate(fault)),
        }
    }

    /// The simulation of the scene, at its start.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn simulation(&self) -> Result<Simulation, SceneError> {
        Ok(self.clone().check()?.simulation())
    }
}

/// The solver of a scene whose settings were checked.
fn contact_solver(scene: &Scene) -> ContactSolver {
    ContactSolver::new(scene.contact_method()).expect("its settings were checked")
}

/// Refuses bodies that meet at corners where the scheme does not follow how these come and go.
fn check_corners(scene: &Scene, multibody: &Multibody) -> Result<(), Fault> {
    let facts = scene.scheme.facts();
    match multibody.meet_at_corners().filter(|_| !facts.corners) {
        None => Ok(()),
        Some([first, second]) => {
            let message = format!(
                "the bodies `{first}` and `{second}` meet at corners and edges that come and go, which the scheme `{}` does not \
                 follow yet",
                facts.named.name
            );
            Err(Place::top("scheme").fault(message, "choose another scheme, such as `[scheme.trapezoidal]`"))
        }
    }
}

/// Builds the system of a scene, and fills in its defaults.
fn built(
    scene: &mut Scene,
    document: &Document,
    warnings: &mut Vec<String>,
    surfaces: &mut Surfaces,
) -> Result<(SceneSystem, State), Fault> {
    let (system, start) = match &scene.system {
        None => {
            let model = model(scene, warnings, surfaces)?;
            let mut multibody = Multibody::new(model).map_err(|error| body_fault(scene, error))?;
            check_corners(scene, &multibody)?;
            check_start(scene, &mut multibody, warnings)?;
            let start = multibody.start(scene.run.start);
            check_overlaps(scene, &multibody, &start)?;
            (SceneSystem::Bodies(Box::new(multibody)), start)
        }
        Some(entry) => {
            if let Value::Table(entries) = &document.root.value {
                check_no_bodies(entries.iter().map(|entry| entry.key.as_str()))?;
            }
            let (system, start) = linear_system(scene, entry)?;
            (SceneSystem::Matrices(Box::new(system)), start)
        }
    };
    let start = if scene.run.consistent_start { made_consistent(scene, system.mechanics(), &start)? } else { start };
    resolve(scene, system.bodies().map(Multibody::model));
    scene.method = Some(scene.contact_method());
    Ok((system, start))
}

/// The start with velocities that contacts and joints allow.
fn made_consistent(scene: &Scene, system: &dyn MechanicalSystem, start: &State) -> Result<State, Fault> {
    consistent_start(system, start, &mut contact_solver(scene), START_GAP).map_err(|error| {
        let message = format!("the velocities at the start cannot be made consistent: {}", error.named(system));
        let help =
            "give velocities that contacts and joints allow and remove `consistent-start`, or choose another method";
        Place::top("run").key("consistent-start").fault(message, help)
    })
}

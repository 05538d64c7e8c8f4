//! Runs a scene into a run folder.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest, Sha256};
use stiction_dynamics::{Audit, ContactProblem, ContactSolver, Event, Simulation, StatedProblem, StepError};
#[cfg(feature = "fclib")]
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::problem_file::write_lcp;
use stiction_solve::work;
use thiserror::Error;

use crate::load::Loaded;
use crate::record::{RecordPlan, Recorder, file};
use crate::run_folder::{RunFolder, RunFolderError};
use crate::scene::Scene;
use crate::scene_error::most_similar;
use crate::summary::{
    Certificate, EventSummary, Iterations, Origin, Outcome, Summary, date_of, digest_state, energy_by_cause,
    hexadecimal,
};
use crate::system_entry::CoordinateUnit;
use crate::table_file::TableError;

/// Events that the summary lists; all of them are in the table of events.
const LISTED_EVENTS: usize = 200;

/// Room on the disk for a summary without its lists of events and columns, in bytes. Too small: a full disk can cost the
/// summary, and the run keeps its partial name.
const SUMMARY_ROOM: usize = 1 << 14;

/// How often an observer is asked, at most.
const OBSERVER_INTERVAL: Duration = Duration::from_millis(50);

/// Steps between two looks at the clock.
const STEPS_PER_LOOK: u64 = 16;

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time, in seconds.
    pub t: f64,
    /// Steps made.
    pub steps: u64,
    /// Steps in all.
    pub step_count: u64,
    /// Contacts of the last step.
    pub contacts: usize,
    /// Worst residual so far.
    pub worst_residual: f64,
}

/// A run that could not begin, or whose folder could not take its name.
#[derive(Debug, Error)]
pub enum RunError {
    /// The run folder cannot be made or finished.
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    /// A table cannot be begun.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A name in the list of recorded columns does not exist.
    #[error("record.columns: there is no column `{name}`{suggestion}")]
    Column {
        /// The name.
        name: String,
        /// `; did you mean ...`, or all names when there are few.
        suggestion: String,
    },
}

impl RunError {
    /// Whether the machine is the cause, and not what was asked for.
    pub fn is_io(&self) -> bool {
        match self {
            Self::Folder(error) => error.is_io(),
            Self::Table(error) => error.is_io(),
            Self::Column { .. } => false,
        }
    }
}

/// A run that came to some end, with its folder.
#[derive(Debug)]
pub struct FinishedRun {
    /// The summary as written.
    pub summary: Summary,
    /// The run folder.
    pub folder: PathBuf,
    /// The folder that was asked for, where it holds a finished run that this one, which is not, did not replace.
    pub kept: Option<PathBuf>,
    /// The step that could not be made.
    pub failure: Option<StepError>,
    /// The problem of that step, saved inside the run folder; `stiction solve` takes it.
    pub failed_problem: Option<PathBuf>,
}

/// Size that the tables of a run may reach, in bytes, before compression and without contacts.
pub fn expected_size(loaded: &Loaded) -> u64 {
    let rows = loaded.grid().step_count() / loaded.scene().record.interval.max(1) + 1;
    let system = loaded.system().mechanics();
    let joint_rows = system.joint_names().len() as u64;
    // The time of the states, the certificate, and the numbers of a row of a joint.
    let columns = system.column_names().len() as u64 + 1 + 35 + 5 * joint_rows;
    rows.saturating_mul(columns).saturating_mul(8)
}

/// Runs a scene to its end and writes its run folder, with its origin in the summary. The observer sees the progress some times per second and may stop the
/// run between steps; a flag that this thread [watches](stiction_solve::work::watch) stops it inside a step too. Whatever happens, what was
/// computed stays readable.
///
/// # Errors
/// [`RunError`] when the run cannot begin, and nothing is left of it then, or when its folder cannot be finished. A step that
/// could not be solved is not an error but an outcome, and so are rows that could not be written.
pub fn run(
    loaded: &Loaded,
    out: &Path,
    origin: &Origin,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<FinishedRun, RunError> {
    let scene = loaded.scene();
    let mut simulation = loaded.simulation();
    let plan = record_plan(loaded, &simulation)?;
    let folder = RunFolder::create(out)?;
    let (began, date) = (Instant::now(), SystemTime::now());
    let scene_text = scene.to_toml();
    let mut recorder = match begin_recording((&scene_text, origin), &folder, plan, &simulation) {
        Ok(recorder) => recorder,
        Err(error) => {
            let _ = folder.discard(); // what cannot be removed is known as ours, and the next run removes it
            return Err(error);
        }
    };
    let mut audit = Audit::default();
    let mut digest = Sha256::new();
    digest_state(&mut digest, simulation.state());

    let (mut outcome, mut message, mut failure) = (Outcome::Finished, None, None);
    let mut most_contacts = 0;
    let mut last_look = began;
    // Every call counts and not only whole steps of the grid: a scheme may take many steps between events.
    let mut calls = 0u64;
    while !simulation.is_finished() {
        calls += 1;
        let mut is_stopped = work::is_interrupted();
        if calls.is_multiple_of(STEPS_PER_LOOK) && last_look.elapsed() >= OBSERVER_INTERVAL {
            last_look = Instant::now();
            is_stopped |= observer(&progress(&simulation, &audit)).is_break();
        }
        let made = if is_stopped { Ok(()) } else { simulation.step() };
        // A step that fails because its solve was ended says nothing about the step.
        if is_stopped || (made.is_err() && work::is_interrupted()) {
            (outcome, message) = (Outcome::Interrupted, Some(format!("stopped at t = {} s", simulation.state().t)));
            break;
        }
        if let Err(error) = made {
            (outcome, message) = (Outcome::Unsolved, Some(error.to_string()));
            failure = Some(error);
            break;
        }
        let certificate = audit.observe(simulation.system(), simulation.before(), simulation.last_step());
        most_contacts = most_contacts.max(simulation.last_step().contacts.len());
        digest_state(&mut digest, simulation.state());
        if recorder.observe(&simulation, &certificate).is_err() {
            message = Some(format!("stopped at t = {} s", simulation.state().t));
            break; // a table that failed says why, and what it lost, when it is closed
        }
    }
    let _ = observer(&progress(&simulation, &audit));

    let events = event_summaries(&simulation, recorder.events());
    let event_count = recorder.events().len();
    let errors = recorder.close();
    if !errors.is_empty() {
        // Rows may fail to reach the disk only now; the summary must not call such a run finished.
        outcome = Outcome::NotWritten;
        let errors = errors.into_iter().map(|error| error.moved_to(&folder.unfinished_path()).to_string());
        message = Some(message.into_iter().chain(errors).collect::<Vec<_>>().join("; "));
    }
    // The problem of a step that was not solved goes into the folder, so that it can be replayed.
    let mut failed_problem = None;
    if let Some(StepError::Unsolved { problem, .. }) = &failure {
        match save_problem(&folder, simulation.scheme().contact_solver(), problem, &scene.name) {
            Ok(name) => failed_problem = Some(name),
            Err(error) => message = message.map(|message| format!("{message}; its problem is not saved: {error}")),
        }
    }
    let state = simulation.state();
    let mut values = Vec::new();
    simulation.system().record(state, &mut values);
    let mut certificate = Certificate::new(&audit);
    certificate.note_tolerance(scene.contact_method().residual_tolerance(most_contacts));
    if let Some((t, contact)) = audit.first_passage {
        let (first, second) = simulation.system().body_names(contact);
        certificate.notes.push(format!(
            "`{first}` and `{second}` passed through each other in the step from t = {t} s: take shorter steps"
        ));
    }
    let json = |value: serde_json::Result<serde_json::Value>| value.expect("settings are plain data");
    let summary = Summary {
        stiction: env!("CARGO_PKG_VERSION").into(),
        commit: origin.commit.clone(),
        date: date_of(date),
        platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        scene: scene.name.clone(),
        scene_sha256: hexadecimal(Sha256::new_with_prefix(&scene_text)),
        warnings: origin.warnings.clone(),
        outcome,
        message,
        scheme: json(serde_json::to_value(&scene.scheme)),
        method: json(serde_json::to_value(scene.contact_method())),
        step: simulation.grid().step,
        start: simulation.grid().start,
        end: state.t,
        steps: simulation.steps_done(),
        wall_time_s: began.elapsed().as_secs_f64(),
        iterations: Iterations::from(&audit),
        certificate,
        energy: energy_by_cause(&audit),
        event_count,
        events,
        final_columns: simulation.system().column_names().into_iter().zip(values).collect(),
        final_q: state.q.clone(),
        final_v: state.v.clone(),
        digest: hexadecimal(digest),
    };
    let text = serde_json::to_string_pretty(&summary).expect("a summary is plain data") + "\n";
    folder.write_summary(&text)?;
    let asked = folder.final_path().to_owned();
    let folder = folder.finish()?;
    let kept = (folder != asked).then_some(asked);
    let failed_problem = failed_problem.map(|name| folder.join(name));
    Ok(FinishedRun { summary, folder, kept, failure, failed_problem })
}

/// Writes a contact problem into the folder, in the form in which its method states it, and returns the name; rather nothing than half of it.
fn save_problem(
    folder: &RunFolder,
    solver: &ContactSolver,
    problem: &ContactProblem,
    title: &str,
) -> Result<&'static str, String> {
    match solver.state(problem).map_err(|error| error.to_string())? {
        StatedProblem::Lcp(lcp) => {
            let path = folder.path_of(file::FAILED_STEP);
            write_lcp(&path, &lcp).map_err(|error| {
                let _ = std::fs::remove_dir_all(&path);
                error.to_string()
            })?;
            Ok(file::FAILED_STEP)
        }
        #[cfg(not(feature = "fclib"))]
        StatedProblem::Cone(_) => Err(format!("{title}: problems with cones are kept by the feature `fclib`")),
        #[cfg(feature = "fclib")]
        StatedProblem::Cone(problem) => {
            let path = folder.path_of(file::FAILED_CONE_STEP);
            fclib::write(&path, &FclibProblem::Global(problem), title).map_err(|error| {
                let _ = std::fs::remove_file(&path);
                error.to_string()
            })?;
            Ok(file::FAILED_CONE_STEP)
        }
    }
}

/// Writes the resolved scene and opens the tables.
fn begin_recording(
    (scene, origin): (&str, &Origin),
    folder: &RunFolder,
    plan: RecordPlan,
    simulation: &Simulation,
) -> Result<Recorder, RunError> {
    folder.write(file::SCENE, scene.as_bytes())?;
    folder.reserve(summary_room(simulation, origin))?;
    Ok(Recorder::create(folder, plan, simulation)?)
}

/// Room that the summary of a run may need, in bytes.
fn summary_room(simulation: &Simulation, origin: &Origin) -> usize {
    let names = simulation.system().column_names();
    let longest_name = names.iter().map(String::len).max().unwrap_or(0);
    // Keys, indentation and the digits of a number.
    let entry = longest_name + 64;
    let state = simulation.state();
    // An event has two names and four keys.
    let warnings = origin.warnings.iter().map(|warning| 2 * warning.len() + 64).sum::<usize>();
    SUMMARY_ROOM + warnings + (names.len() + state.q.len() + state.v.len() + 4 * LISTED_EVENTS) * entry
}

fn progress(simulation: &Simulation, audit: &Audit) -> Progress {
    Progress {
        t: simulation.state().t,
        steps: simulation.steps_done(),
        step_count: simulation.grid().step_count(),
        contacts: simulation.last_step().contacts.len(),
        worst_residual: audit.worst.residual,
    }
}

/// The columns that the scene wants, by position.
fn record_plan(loaded: &Loaded, simulation: &Simulation) -> Result<RecordPlan, RunError> {
    let names = simulation.system().column_names();
    let position = |name: &String| {
        let similar = most_similar(name, names.iter().map(String::as_str));
        let suggestion = match similar {
            Some(other) => format!("; did you mean `{other}`?"),
            None => format!("; there are {}", names.join(", ")),
        };
        let position = names.iter().position(|other| other == name);
        position.ok_or_else(|| RunError::Column { name: name.clone(), suggestion })
    };
    let positions: Vec<usize> = match &loaded.scene().record.columns {
        None => (0..names.len()).collect(),
        Some(wanted) => wanted.iter().map(position).collect::<Result<_, _>>()?,
    };
    let columns =
        positions.into_iter().map(|column| (column, unit_of_state(loaded.scene(), &names[column]).to_owned()));
    Ok(RecordPlan { interval: loaded.scene().record.interval.max(1), columns: columns.collect() })
}

/// Unit of a column of the states: of a system of matrices as its scene says, of bodies and joints by the end of its name.
fn unit_of_state(scene: &Scene, name: &str) -> &'static str {
    if let Some(system) = &scene.system {
        let place = |name: &str| system.coordinates.iter().position(|coordinate| coordinate == name);
        let unit = |place: usize| system.units.as_ref().and_then(|units| units.get(place).copied());
        let velocity = name.strip_prefix("v_").and_then(place);
        return match (place(name).and_then(unit), velocity.and_then(unit)) {
            (Some(CoordinateUnit::Metre), _) => "m",
            (Some(CoordinateUnit::Radian), _) => "rad",
            (None, Some(CoordinateUnit::Metre)) => "m/s",
            (None, Some(CoordinateUnit::Radian)) => "rad/s",
            (None, None) => "",
        };
    }
    match name.rsplit_once('.').map_or(name, |(_, ending)| ending) {
        "x" | "y" | "z" | "displacement" | "distance" => "m",
        "angle" => "rad",
        "qw" | "qx" | "qy" | "qz" => "1",
        "vx" | "vy" | "vz" => "m/s",
        "w" | "wx" | "wy" | "wz" => "rad/s",
        _ => "",
    }
}

fn event_summaries(simulation: &Simulation, events: &[Event]) -> Vec<EventSummary> {
    let summary = |event: &Event| EventSummary {
        t: event.t,
        contact: simulation.system().contact_name(event.contact),
        from: event.from.name().into(),
        to: event.to.name().into(),
    };
    events.iter().take(LISTED_EVENTS).map(summary).collect()
}

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

use crate::files::SceneFile;
use crate::load::Loaded;
use crate::record::{RecordPlan, Recorder, file};
use crate::run_folder::{RunFolder, RunFolderError};
use crate::scene::{RecordSettings, Scene};
use crate::scene_error::most_similar;
use crate::summary::{
    Certificate, EventSummary, Iterations, Origin, Outcome, Summary, date_of, digest_state, energy_by_cause,
    hexadecimal,
};
use crate::system_entry::CoordinateUnit;
use crate::table_file::TableError;

/// Events that the summary lists; all of them are in the table of events.
const LISTED_EVENTS: usize = 200;

/// Room on the disk for a summary without its lists of events and columns, in bytes. Too small: a
/// full disk can cost the summary, and the run keeps its partial name.
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
    /// The folder that was asked for, where it holds a finished run that this one, which is not,
    /// did not replace.
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

/// Runs a scene to its end and writes its run folder, with its origin in the summary. The observer
/// sees the progress some times per second and may stop the run between steps; a flag that this
/// thread [watches](stiction_solve::work::watch) stops it inside a step too. Whatever happens, what
/// was computed stays readable.
///
/// # Errors
/// [`RunError`] when the run cannot begin, and nothing is left of it then, or when its folder
/// cannot be finished. A step that could not be solved is not an error but an outcome, and so are
/// rows that could not be written.
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
    let (portable, surfaces) = loaded.portable();
    let scene_text = portable.to_toml();
    let begun = begin_recording((&scene_text, &surfaces, origin), &folder, plan, &simulation);
    drop(surfaces);
    let mut recorder = match begun {
        Ok(recorder) => recorder,
        Err(error) => {
            let _ = folder.discard(); // what cannot be removed is known as ours, and the next run removes it
            return Err(error);
        }
    };
    let mut audit = Audit::default();
    let mut digest = Sha256::new();
    digest_state(&mut digest, simulation.state());

    let (mut outcome, mut message, failure) =
        make_steps(&mut simulation, &mut recorder, &mut audit, &mut digest, observer);
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
    certificate.note_tolerance(scene.contact_method().residual_tolerance(audit.most_contacts));
    if let Some((t, contact)) = audit.first_passage {
        let (first, second) = simulation.system().body_names(contact);
        certificate.notes.push(format!(
            "`{first}` and `{second}` passed through each other in the step from t = {t} s: take shorter steps"
        ));
    }
    let mut files = loaded.files().to_vec();
    files.iter_mut().for_each(SceneFile::look_again);
    for file in files.iter().filter(|file| file.has_changed) {
        let path = &file.path;
        certificate.notes.push(format!("`{path}` has changed since the scene was loaded: the run is of the older one"));
    }
    let json = |value: serde_json::Result<serde_json::Value>| value.expect("settings are plain data");
    let summary = Summary {
        stiction: env!("CARGO_PKG_VERSION").into(),
        commit: origin.commit.clone(),
        date: date_of(date),
        platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        scene: scene.name.clone(),
        scene_sha256: hexadecimal(Sha256::new_with_prefix(&scene_text)),
        files,
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

/// Makes the steps up to the end, or until something ends them, and says how they ended, and why.
fn make_steps(
    simulation: &mut Simulation,
    recorder: &mut Recorder,
    audit: &mut Audit,
    digest: &mut Sha256,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> (Outcome, Option<String>, Option<StepError>) {
    let stopped = |simulation: &Simulation| Some(format!("stopped at t = {} s", simulation.state().t));
    let mut last_look = Instant::now();
    // Every call counts and not only whole steps of the grid: a scheme may take many steps between
    // events.
    let mut calls = 0u64;
    while !simulation.is_finished() {
        calls += 1;
        let mut is_stopped = work::is_interrupted();
        if calls.is_multiple_of(STEPS_PER_LOOK) && last_look.elapsed() >= OBSERVER_INTERVAL {
            last_look = Instant::now();
            is_stopped |= observer(&progress(simulation, audit)).is_break();
        }
        let made = if is_stopped { Ok(()) } else { simulation.step() };
        match made {
            // A step that fails because its solve was ended says nothing about the step.
            Err(error) if !work::is_interrupted() => return (Outcome::Unsolved, Some(error.to_string()), Some(error)),
            Ok(()) if !is_stopped => {}
            _ => return (Outcome::Interrupted, stopped(simulation), None),
        }
        let certificate = audit.observe(simulation.system(), simulation.before(), simulation.last_step());
        digest_state(digest, simulation.state());
        if recorder.observe(simulation, &certificate).is_err() {
            // A table that failed says why, and what it lost, when it is closed.
            return (Outcome::Finished, stopped(simulation), None);
        }
    }
    (Outcome::Finished, None, None)
}

/// Writes a contact problem into the folder, in the form in which its method states it, and returns
/// the name.
fn save_problem(
    folder: &RunFolder,
    solver: &ContactSolver,
    problem: &ContactProblem,
    title: &str,
) -> Result<&'static str, String> {
    // Rather nothing than half of it.
    let saved = |name: &'static str, written: Result<(), String>| {
        written.map(|()| name).inspect_err(|_| {
            let path = folder.path_of(name);
            let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
        })
    };
    match solver.state(problem).map_err(|error| error.to_string())? {
        StatedProblem::Lcp(lcp) => {
            let written = write_lcp(&folder.path_of(file::FAILED_STEP), &lcp);
            saved(file::FAILED_STEP, written.map_err(|error| error.to_string()))
        }
        #[cfg(not(feature = "fclib"))]
        StatedProblem::Cone(_) => Err(format!("{title}: problems with cones are kept by the feature `fclib`")),
        #[cfg(feature = "fclib")]
        StatedProblem::Cone(problem) => {
            let path = folder.path_of(file::FAILED_CONE_STEP);
            let written = fclib::write(&path, &FclibProblem::Global(problem), title);
            saved(file::FAILED_CONE_STEP, written.map_err(|error| error.to_string()))
        }
    }
}

/// Writes the resolved scene, holds room for the summary and opens the tables.
fn begin_recording(
    (scene, surfaces, origin): (&str, &[(String, Vec<u8>)], &Origin),
    folder: &RunFolder,
    plan: RecordPlan,
    simulation: &Simulation,
) -> Result<Recorder, RunError> {
    folder.write(file::SCENE, scene.as_bytes())?;
    for (name, bytes) in surfaces {
        folder.write_surface(name, bytes)?;
    }
    let (names, state) = (simulation.system().column_names(), simulation.state());
    // Keys, indentation and the digits of a number; an event has two names and four keys.
    let entry = names.iter().map(String::len).max().unwrap_or(0) + 64;
    let entries = names.len() + state.q.len() + state.v.len() + 4 * LISTED_EVENTS;
    let warnings = origin.warnings.iter().map(|warning| 2 * warning.len() + 64).sum::<usize>();
    folder.reserve(SUMMARY_ROOM + warnings + entries * entry)?;
    Ok(Recorder::create(folder, plan, simulation)?)
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
        let suggestion = match most_similar(name, names.iter().map(String::as_str)) {
            Some(other) => format!("; did you mean `{other}`?"),
            None => format!("; there are {}", names.join(", ")),
        };
        let position = names.iter().position(|other| other == name);
        position.ok_or_else(|| RunError::Column { name: name.clone(), suggestion })
    };
    let RecordSettings { interval, columns } = &loaded.scene().record;
    let positions: Vec<usize> = match columns {
        None => (0..names.len()).collect(),
        Some(wanted) => wanted.iter().map(position).collect::<Result<_, _>>()?,
    };
    let unit = |column: usize| unit_of_state(loaded.scene(), &names[column]).to_owned();
    let columns = positions.into_iter().map(|column| (column, unit(column))).collect();
    Ok(RecordPlan { interval: (*interval).max(1), columns })
}

/// Unit of a column of the states: of a system of matrices as its scene says, of bodies and joints
/// by the end of its name.
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

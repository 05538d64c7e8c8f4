//! What a run folder holds, in the form that pictures need.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{BodyKind, CoordinateKind, Dimension, Multibody, Pose};
use stiction_scene::record::file;
use stiction_scene::run_folder::{SUMMARY_FILE, is_run_folder};
use stiction_scene::system_entry::CoordinateUnit;
use stiction_scene::table_file::{Column, Table, TableError};
use stiction_scene::{Loaded, load};

use super::{RunFigureError, Selection, brief};

/// Impacts closer than this share of the run are drawn as one.
const IMPACT_MERGING: f64 = 0.004;
/// Impacts that are drawn; of more, those with the largest impulses.
const MOST_IMPACTS: usize = 16;

/// The tables and the summary of a run.
pub(super) struct RunData {
    pub(super) run: PathBuf,
    /// As plain JSON: a run that failed may have numbers in it that JSON has not.
    summary: Value,
    states: Rows,
    contacts: Rows,
    audit: Rows,
    events: Rows,
    /// Rows of joints and of friction without a load, where there are some, with the column of their names.
    elements: Vec<(Rows, &'static str)>,
    /// Units of the coordinates of a system of matrices, as far as its scene tells.
    pub(super) units: BTreeMap<String, CoordinateUnit>,
    /// Limits of joints whose coordinate is an angle, by their names as contacts: their gaps are angles and their impulses those of moments.
    angular_stops: BTreeSet<String>,
}

/// A table, and the rows of it that are looked at.
struct Rows {
    table: Table,
    range: Range<usize>,
}

impl Rows {
    fn new(table: Table) -> Self {
        let range = 0..table.row_count();
        Self { table, range }
    }

    fn real(&self, name: &str) -> Result<&[f64], TableError> {
        Ok(&self.table.real(name)?[self.range.clone()])
    }

    fn integer(&self, name: &str) -> Result<&[i64], TableError> {
        Ok(&self.table.integer(name)?[self.range.clone()])
    }

    fn text(&self, name: &str) -> Result<&[String], TableError> {
        Ok(&self.table.text(name)?[self.range.clone()])
    }

    /// Keeps some of the rows, counted among those that are left.
    fn keep(&mut self, rows: Range<usize>) {
        let start = self.range.start + rows.start.min(self.range.len());
        self.range = start..(start + rows.len()).min(self.range.end);
    }
}

/// An impact that is worth showing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Impact {
    /// Start of its step, in seconds.
    pub(super) t: f64,
    /// End of its step, in seconds.
    pub(super) t_end: f64,
    /// Normal impulse, in N s.
    pub(super) impulse: f64,
}

/// The rows of the contacts: end and length of the step in seconds, name, normal impulse in N s, mode.
pub(super) struct ContactRows<'a> {
    pub(super) t: &'a [f64],
    pub(super) h: &'a [f64],
    pub(super) contact: &'a [String],
    pub(super) impulse: &'a [f64],
    pub(super) mode: &'a [String],
}

/// A contact that changed its mode during a step.
pub(super) struct ModeChange<'a> {
    pub(super) t: f64,
    pub(super) t_end: f64,
    pub(super) contact: &'a str,
    pub(super) to: &'a str,
}

/// One body over time: a value per recorded state.
pub(super) struct BodyTrack {
    /// Number of the body in the model.
    pub(super) body: usize,
    pub(super) name: String,
    /// Whether forces move it, and not a prescription.
    pub(super) is_free: bool,
    /// Whether it can turn.
    pub(super) turns: bool,
    /// Empty when the columns were not recorded.
    pub(super) poses: Vec<Pose>,
    /// World axes, in m/s; what was not recorded is not a number.
    pub(super) velocity: Vec<DVec3>,
    /// World axes, in rad/s; what was not recorded is not a number.
    pub(super) spin: Vec<DVec3>,
}

impl BodyTrack {
    /// Whether any velocity was recorded.
    pub(super) fn has_velocity(&self) -> bool {
        let known = |vectors: &[DVec3]| vectors.first().is_some_and(|v| v.to_array().iter().any(|c| !c.is_nan()));
        known(&self.velocity) || known(&self.spin)
    }

    /// Largest speed, in m/s.
    pub(super) fn top_speed(&self) -> f64 {
        self.velocity.iter().map(|v| v.length()).fold(0.0, f64::max)
    }
}

impl RunData {
    /// Reads the folder of a run that has come to an end, as far as it was selected, and builds the scene that ran.
    pub(super) fn read(
        run: &Path,
        selection: &Selection,
    ) -> Result<(Self, Result<Loaded, RunFigureError>), RunFigureError> {
        let no_run = |reason: &str| RunFigureError::NotARun { run: run.to_owned(), reason: reason.to_owned() };
        if !run.is_dir() {
            return Err(no_run(if run.exists() { "it is not a folder" } else { "there is no such folder" }));
        }
        let unreadable = |file| move |source| RunFigureError::File { run: run.to_owned(), file, source };
        if !is_run_folder(run).map_err(unreadable(SUMMARY_FILE))? {
            return Err(no_run("it has no `summary.json` written by a run"));
        }
        let text = std::fs::read(run.join(SUMMARY_FILE)).map_err(unreadable(SUMMARY_FILE))?;
        let summary = serde_json::from_slice(&text).map_err(|_| no_run("its `summary.json` is damaged"))?;
        let table = |name| Table::read(run.join(name)).map(Rows::new).map_err(in_run(run));
        // Columns are drawn without a scene, too.
        let loaded = build(run);
        let system = loaded.as_ref().ok().and_then(|loaded| loaded.scene().system.as_ref());
        let units = system.map_or_else(BTreeMap::new, |system| {
            system.coordinates.iter().cloned().zip(system.units.clone().unwrap_or_default()).collect()
        });
        let elements = [(file::JOINTS, "joint"), (file::FRICTION, "element")].into_iter();
        let elements = elements.filter(|(name, _)| run.join(name).exists());
        let mut data = Self {
            run: run.to_owned(),
            units,
            angular_stops: loaded.as_ref().map_or_else(|_| BTreeSet::new(), angular_stops),
            summary,
            states: table(file::STATES)?,
            contacts: table(file::CONTACTS)?,
            audit: table(file::AUDIT)?,
            events: table(file::EVENTS)?,
            elements: elements.map(|(name, key)| Ok((table(name)?, key))).collect::<Result<_, RunFigureError>>()?,
        };
        data.select(selection.from.unwrap_or(f64::NEG_INFINITY), selection.to.unwrap_or(f64::INFINITY))?;
        Ok((data, loaded))
    }

    /// Leaves out the states before and after these times, and the steps that are not between two of the others.
    fn select(&mut self, from: f64, to: f64) -> Result<(), RunFigureError> {
        let times = self.times()?;
        if times.is_empty() || (from == f64::NEG_INFINITY && to == f64::INFINITY) {
            return Ok(());
        }
        let (first, end) = (times.partition_point(|&t| t < from), times.partition_point(|&t| t <= to));
        if first >= end {
            let (start, last) = self.span()?;
            return Err(RunFigureError::NoStates { run: self.run.clone(), from, to, start, end: last });
        }
        let (start, last) = (times[first], times[end - 1]);
        // The first state is the start, each other one the end of a recorded step.
        let counts = self.audit.integer("contacts").map_err(in_run(&self.run))?;
        let rows = |steps: usize| counts.iter().take(steps).map(|&count| count.max(0) as usize).sum::<usize>();
        let contacts = rows(first)..rows(end - 1);
        let events = self.events.real("t").map_err(in_run(&self.run))?;
        let events = events.partition_point(|&t| t < start)..events.partition_point(|&t| t < last);
        for (rows, _) in &mut self.elements {
            let t = rows.real("t").map_err(in_run(&self.run))?;
            let kept = t.partition_point(|&t| t <= start)..t.partition_point(|&t| t <= last);
            rows.keep(kept);
        }
        self.states.keep(first..end);
        self.audit.keep(first..end - 1);
        self.contacts.keep(contacts);
        self.events.keep(events);
        Ok(())
    }

    /// Name of the scene.
    pub(super) fn title(&self) -> String {
        self.summary.get("scene").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Times of the recorded states, in seconds.
    pub(super) fn times(&self) -> Result<&[f64], RunFigureError> {
        self.states.real("t").map_err(in_run(&self.run))
    }

    /// First and last recorded time, in seconds.
    pub(super) fn span(&self) -> Result<(f64, f64), RunFigureError> {
        let times = self.times()?;
        Ok((times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(1.0)))
    }

    /// A range for axes of time; it has some width even when the run made no step.
    pub(super) fn time_range(&self) -> Result<(f64, f64), RunFigureError> {
        let (start, end) = self.span()?;
        Ok(if end > start { (start, end) } else { (start, start + 1.0) })
    }

    /// A column of the states, when it was recorded.
    pub(super) fn state(&self, name: &str) -> Option<&[f64]> {
        self.states.real(name).ok()
    }

    /// Names of the columns of the states, without the time.
    pub(super) fn state_names(&self) -> impl Iterator<Item = &String> {
        self.states.table.names().iter().filter(|name| *name != "t")
    }

    /// A real column of the certificates.
    pub(super) fn audit(&self, name: &str) -> Result<&[f64], RunFigureError> {
        self.audit.real(name).map_err(in_run(&self.run))
    }

    /// Names of the columns of the certificates, without the time.
    pub(super) fn audit_names(&self) -> impl Iterator<Item = &String> {
        self.audit.table.names().iter().filter(|name| *name != "t")
    }

    /// Whether every step was recorded, those that end at an event or have no length among them: the lengths of the recorded steps then fill the time from the
    /// start to the last of them.
    pub(super) fn is_whole(&self) -> Result<bool, RunFigureError> {
        let start = match self.states.range.start {
            0 => self.summary.get("start").and_then(Value::as_f64).unwrap_or(0.0),
            _ => self.span()?.0,
        };
        let (t, h) = (self.audit("t")?, self.audit("h")?);
        let shortest = h.iter().copied().filter(|h| *h > 0.0).fold(f64::INFINITY, f64::min);
        // Each time carries the rounding of its own size; a step that is missing leaves a hole as long as itself.
        let mut reached = start;
        let has_hole = t.iter().zip(h).any(|(&t, &h)| {
            let hole = t - h - reached;
            reached = t;
            hole.abs() > 8.0 * f64::EPSILON * t.abs().max(start.abs()).max(h) && hole.abs() > 1e-6 * shortest
        });
        Ok(!has_hole)
    }

    /// Step size, in seconds.
    pub(super) fn step(&self) -> Option<f64> {
        self.summary.get("step").and_then(Value::as_f64).filter(|h| *h > 0.0)
    }

    /// Limit of a number of the certificate, when it has one.
    pub(super) fn limit(&self, check: &str) -> Option<f64> {
        let checks = self.summary.get("certificate")?.get("checks")?.as_array()?;
        checks.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(check))?.get("limit")?.as_f64()
    }

    /// What ran and how well: scheme, method, step, outcome, worst residual, digest. Friction has directions only in space.
    pub(super) fn subtitle(&self, is_spatial: bool) -> String {
        let mut parts = Vec::new();
        if let Some((name, settings)) = tagged(self.summary.get("scheme")) {
            let version = settings.get("version").and_then(Value::as_str).unwrap_or_default();
            parts.push(format!("{name} {version}").trim_end().to_owned());
        }
        if let Some((name, settings)) = tagged(self.summary.get("method")) {
            let count = match settings.get("directions") {
                _ if !is_spatial => None,
                Some(Value::Array(list)) => Some(list.len() as u64),
                Some(number) => number.as_u64(),
                None => None,
            };
            parts.push(count.map_or_else(|| name.to_owned(), |count| format!("{name} with {count} directions")));
        }
        if let Some(step) = self.step() {
            parts.push(format!("step {step} s"));
        }
        let text = |key: &str| self.summary.get(key).and_then(Value::as_str);
        if let Some(outcome) = text("outcome") {
            let end = self.summary.get("end").and_then(Value::as_f64);
            let at = end.map_or_else(String::new, |t| format!(" at t = {} s", brief(t, t.abs())));
            parts.push(format!("{}{at}", outcome.replace('-', " ")));
        }
        let certificate = self.summary.get("certificate");
        let checks = certificate.and_then(|it| it.get("checks")).and_then(Value::as_array);
        let residual = checks.and_then(|all| all.iter().find(|it| it.get("name") == Some(&"residual".into())));
        if let Some(worst) = residual.and_then(|it| it.get("worst")) {
            let worst = match worst.as_f64() {
                Some(0.0) => "0".to_owned(),
                Some(worst) => format!("{worst:.1e}"),
                None => "not a number".to_owned(),
            };
            parts.push(format!("worst residual {worst}"));
        }
        if certificate.and_then(|it| it.get("met")) == Some(&Value::Bool(false)) {
            parts.push("certificate not met".to_owned());
        }
        if let Some(digest) = text("digest") {
            parts.push(format!("digest {}", digest.chars().take(12).collect::<String>()));
        }
        parts.join(", ")
    }

    /// Poses and velocities of everything that moves, as far as they were recorded.
    pub(super) fn tracks(&self, system: &Multibody) -> Result<Vec<BodyTrack>, RunFigureError> {
        let times = self.times()?;
        let model = system.model();
        let mut tracks = Vec::new();
        for (body, entry) in model.bodies.iter().enumerate() {
            if entry.kind == BodyKind::Static {
                continue;
            }
            let column = |suffix: &str| self.state(&format!("{}.{suffix}", entry.name));
            let vectors = |suffixes: [&str; 3]| -> Vec<DVec3> {
                let columns = suffixes.map(|suffix| if suffix.is_empty() { None } else { column(suffix) });
                let value = |axis: usize, row: usize| match columns[axis] {
                    Some(values) => values[row],
                    None if suffixes[axis].is_empty() => 0.0,
                    None => f64::NAN,
                };
                (0..times.len()).map(|i| DVec3::new(value(0, i), value(1, i), value(2, i))).collect()
            };
            let is_plane = model.dimension == Dimension::Plane;
            let (place, velocity, spin) = match is_plane {
                true => (["x", "y", ""], ["vx", "vy", ""], ["", "", "w"]),
                false => (["x", "y", "z"], ["vx", "vy", "vz"], ["wx", "wy", "wz"]),
            };
            let turns = !matches!(entry.kind, BodyKind::Point { .. });
            let positions = vectors(place);
            let orientations: Option<Vec<DQuat>> = if !turns {
                Some(vec![entry.pose.orientation; times.len()])
            } else if is_plane {
                column("angle").map(|angles| angles.iter().map(|&angle| DQuat::from_rotation_z(angle)).collect())
            } else {
                let parts = ["qx", "qy", "qz", "qw"].map(column);
                parts.iter().all(Option::is_some).then(|| {
                    let [x, y, z, w] = parts.map(Option::unwrap_or_default);
                    (0..times.len()).map(|i| DQuat::from_xyzw(x[i], y[i], z[i], w[i])).collect()
                })
            };
            let is_free = entry.kind.is_free();
            let poses = match orientations {
                // A prescribed pose follows from the time alone.
                _ if !is_free => times.iter().map(|&t| system.pose(body, t, &[])).collect(),
                Some(orientations) if positions.iter().all(|position| position.is_finite()) => {
                    positions.into_iter().zip(orientations).map(|(p, o)| Pose::new(p, o)).collect()
                }
                _ => Vec::new(),
            };
            let spin = if turns { vectors(spin) } else { vec![DVec3::ZERO; times.len()] };
            let name = entry.name.clone();
            tracks.push(BodyTrack { body, name, is_free, turns, poses, velocity: vectors(velocity), spin });
        }
        Ok(tracks)
    }

    /// The impacts that are worth showing, by time.
    pub(super) fn impacts(&self) -> Result<Vec<Impact>, RunFigureError> {
        let at = in_run(&self.run);
        let modes = self.events.text("to").map_err(&at)?;
        let (t, t_end) = (self.events.real("t").map_err(&at)?, self.events.real("t_end").map_err(&at)?);
        let impulse = self.events.real("c_n").map_err(&at)?;
        let (start, end) = self.span()?;
        let mut impacts: Vec<Impact> = Vec::new();
        for i in (0..modes.len()).filter(|&i| modes[i] == "impact") {
            let impact = Impact { t: t[i], t_end: t_end[i], impulse: impulse[i] };
            match impacts.last_mut() {
                Some(last) if impact.t - last.t <= IMPACT_MERGING * (end - start) => {
                    last.impulse = last.impulse.max(impact.impulse);
                }
                _ => impacts.push(impact),
            }
        }
        impacts.sort_by(|a, b| b.impulse.total_cmp(&a.impulse));
        impacts.truncate(MOST_IMPACTS);
        impacts.sort_by(|a, b| a.t.total_cmp(&b.t));
        Ok(impacts)
    }

    /// All changes of mode, by time.
    pub(super) fn mode_changes(&self) -> Result<Vec<ModeChange<'_>>, RunFigureError> {
        let at = in_run(&self.run);
        let (t, t_end) = (self.events.real("t").map_err(&at)?, self.events.real("t_end").map_err(&at)?);
        let (contact, to) = (self.events.text("contact").map_err(&at)?, self.events.text("to").map_err(&at)?);
        let change = |i: usize| ModeChange { t: t[i], t_end: t_end[i], contact: &contact[i], to: &to[i] };
        Ok((0..t.len()).map(change).collect())
    }

    /// Names of the contacts in the table, in the order of their first row.
    pub(super) fn contact_names(&self) -> Result<Vec<&str>, RunFigureError> {
        let rows = self.contacts.text("contact").map_err(in_run(&self.run))?;
        let mut seen = std::collections::HashSet::new();
        Ok(rows.iter().map(String::as_str).filter(|name| seen.insert(*name)).collect())
    }

    /// Names of the columns with numbers of the contacts, without time and length of the step.
    pub(super) fn contact_column_names(&self) -> impl Iterator<Item = &String> {
        let is_number = |name: &&String| !matches!(self.contacts.table.column(name), Some(Column::Text(_)));
        self.contacts.table.names().iter().filter(|name| *name != "t" && *name != "h").filter(is_number)
    }

    /// Whether the impulses of a contact are those of a moment, and its gap is an angle.
    pub(super) fn is_angular(&self, contact: &str) -> bool {
        self.angular_stops.contains(contact)
    }

    /// Every row of the contacts, by time.
    pub(super) fn contact_rows(&self) -> Result<ContactRows<'_>, RunFigureError> {
        let at = in_run(&self.run);
        Ok(ContactRows {
            t: self.contacts.real("t").map_err(&at)?,
            h: self.contacts.real("h").map_err(&at)?,
            contact: self.contacts.text("contact").map_err(&at)?,
            impulse: self.contacts.real("c_n").map_err(&at)?,
            mode: self.contacts.text("mode").map_err(&at)?,
        })
    }

    /// A column of one contact, a value per recorded state; not a number where the contact has no row.
    pub(super) fn contact_column(&self, contact: &str, column: &str) -> Result<Vec<f64>, RunFigureError> {
        let names = self.contacts.text("contact").map_err(in_run(&self.run))?;
        let steps = self.steps_of_contact_rows()?;
        let of_contact = steps.into_iter().enumerate().filter(|&(row, _)| names[row] == contact);
        self.beside_states(&self.contacts, column, of_contact)
    }

    /// Names of the columns of joints and of friction without a load: `hinge.x.force`.
    pub(super) fn element_column_names(&self) -> Result<Vec<String>, RunFigureError> {
        let mut names = Vec::new();
        for (rows, key) in &self.elements {
            let mut seen = BTreeSet::new();
            for element in rows.text(key).map_err(in_run(&self.run))?.iter().filter(|name| seen.insert(*name)) {
                let columns = rows.table.names().iter().filter(|name| *name != "t" && *name != "h");
                let numbers = columns.filter(|name| rows.table.real(name).is_ok());
                names.extend(numbers.map(|column| format!("{element}.{column}")));
            }
        }
        Ok(names)
    }

    /// One of these columns, a value per recorded state; not a number where there is no row.
    pub(super) fn element_column(&self, name: &str) -> Result<Vec<f64>, RunFigureError> {
        let at = in_run(&self.run);
        let (element, column) = name.rsplit_once('.').unwrap_or_default();
        let (t, h) = (self.audit("t")?, self.audit("h")?);
        let mut values = vec![f64::NAN; self.times()?.len()];
        for (rows, key) in &self.elements {
            let (names, Ok(numbers)) = (rows.text(key).map_err(&at)?, rows.real(column)) else { continue };
            let (row_t, row_h) = (rows.real("t").map_err(&at)?, rows.real("h").map_err(&at)?);
            // An element has one row at most in a step, and steps follow each other.
            let mut step = 0;
            for row in (0..names.len()).filter(|&row| names[row] == element) {
                while step < t.len() && (t[step], h[step]) != (row_t[row], row_h[row]) {
                    step += 1;
                }
                if let Some(value) = values.get_mut(step + 1) {
                    *value = numbers[row];
                }
                step += 1;
            }
        }
        Ok(values)
    }

    /// A column of the certificates, a value per recorded state; not a number where there is no row.
    pub(super) fn audit_column(&self, column: &str) -> Result<Vec<f64>, RunFigureError> {
        self.beside_states(&self.audit, column, (0..self.audit.range.len()).map(|row| (row, row)))
    }

    /// The recorded step to which each row of the contacts belongs, counted from zero. Times do not tell: steps of no length end where the step before them ends.
    pub(super) fn steps_of_contact_rows(&self) -> Result<Vec<usize>, RunFigureError> {
        let counts = self.audit.integer("contacts").map_err(in_run(&self.run))?;
        let steps =
            counts.iter().enumerate().flat_map(|(step, &count)| std::iter::repeat_n(step, count.max(0) as usize));
        // Of a run that was cut off, the last rows may have no certificate.
        Ok(steps.take(self.contacts.range.len()).collect())
    }

    /// Puts values of another table, given by row and step, beside the states. The first state is the start, each other one the end of a recorded step.
    fn beside_states(
        &self,
        table: &Rows,
        column: &str,
        rows: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Vec<f64>, RunFigureError> {
        let mut values = vec![f64::NAN; self.times()?.len()];
        for (row, step) in rows {
            if let Some(value) = values.get_mut(step + 1) {
                *value = match table.table.column(column) {
                    Some(Column::Real(all)) => all[table.range.start + row],
                    Some(Column::Integer(all)) => all[table.range.start + row] as f64,
                    _ => {
                        let error = table.real(column).expect_err("a column that is not a number");
                        return Err(in_run(&self.run)(error));
                    }
                };
            }
        }
        Ok(values)
    }
}

/// The limits of hinges and the clutches of rotations, by their names as contacts.
fn angular_stops(loaded: &Loaded) -> BTreeSet<String> {
    let Some(bodies) = loaded.system().bodies() else { return BTreeSet::new() };
    let hinges = bodies.model().joints.iter().filter(|joint| joint.kind.coordinate() == Some(CoordinateKind::Angle));
    let stops = hinges.flat_map(|joint| ["lower", "upper"].map(|stop| format!("{}.{stop}", joint.name)));
    let clutches = bodies.model().clutches.iter().filter(|clutch| clutch.is_rotational);
    stops.chain(clutches.map(|clutch| clutch.name.clone())).collect()
}

/// The scene of a run folder, and its system.
fn build(run: &Path) -> Result<Loaded, RunFigureError> {
    let unreadable = |source| RunFigureError::File { run: run.to_owned(), file: file::SCENE, source };
    let text = std::fs::read_to_string(run.join(file::SCENE)).map_err(unreadable)?;
    let wrong = |reason: String| RunFigureError::Scene { run: run.to_owned(), reason };
    load::parse(&text, file::SCENE).map_err(|error| wrong(error.to_string()))
}

/// Puts the run folder in front of an error of one of its tables.
pub(super) fn in_run(run: &Path) -> impl Fn(TableError) -> RunFigureError + '_ {
    move |source| RunFigureError::Table { run: run.to_owned(), source }
}

/// Name and settings of a choice such as `{"pyramid": {…}}` or `"pyramid"`.
fn tagged(value: Option<&Value>) -> Option<(&str, &Value)> {
    match value? {
        Value::Object(map) => map.iter().next().map(|(name, settings)| (name.as_str(), settings)),
        Value::String(name) => Some((name, &Value::Null)),
        _ => None,
    }
}

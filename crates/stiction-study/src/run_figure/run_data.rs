//! What a run folder holds, in the form that pictures need.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{Body, BodyKind, CoordinateKind, Dimension, Multibody, Pose};
use stiction_dynamics::StepAudit;
use stiction_scene::record::file;
use stiction_scene::run_folder::{SUMMARY_FILE, is_run_folder};
use stiction_scene::table_file::{Column, Table};
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
    pub(super) states: Rows,
    pub(super) contacts: Rows,
    pub(super) audit: Rows,
    pub(super) events: Rows,
    /// Rows of joints and of friction without a load, where there are some.
    pub(super) elements: Vec<Rows>,
    /// Contacts whose gaps are angles and whose impulses are those of moments.
    angular: BTreeSet<String>,
}

/// A table, and the rows of it that are looked at.
pub(super) struct Rows {
    table: Table,
    range: Range<usize>,
    /// The column that says what a row belongs to, where there are several things in the table.
    owner: Option<&'static str>,
    /// The recorded state to which each row of the table belongs, where its rows do.
    states: Vec<usize>,
}

impl Rows {
    /// Reads a table that has these columns of real numbers and of texts.
    fn read(
        run: &Path,
        name: &str,
        owner: Option<&'static str>,
        reals: &[&str],
        texts: &[&str],
    ) -> Result<Self, RunFigureError> {
        let table = Table::read(run.join(name)).and_then(|table| {
            reals.iter().try_for_each(|column| table.real(column).map(|_| ()))?;
            texts.iter().chain(&owner).try_for_each(|column| table.text(column).map(|_| ()))?;
            Ok(table)
        });
        let table = table.map_err(|source| RunFigureError::Table { run: run.to_owned(), source })?;
        Ok(Self { range: 0..table.row_count(), table, owner, states: Vec::new() })
    }

    /// A column of real numbers; empty when there is none of that name.
    pub(super) fn real(&self, name: &str) -> &[f64] {
        self.table.real(name).map_or(&[], |values| &values[self.range.clone()])
    }

    /// A column of texts; empty when there is none of that name.
    pub(super) fn text(&self, name: &str) -> &[String] {
        self.table.text(name).map_or(&[], |values| &values[self.range.clone()])
    }

    /// The unit of a column; empty where it is not known.
    pub(super) fn unit(&self, name: &str) -> &str {
        self.table.unit(name).unwrap_or_default()
    }

    /// Names of the columns with numbers, without the time.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &str> {
        let is_number = |name: &&str| !matches!(self.table.column(name), Some(Column::Text(_)));
        self.table.names().iter().map(String::as_str).filter(|name| *name != "t").filter(is_number)
    }

    /// What the rows belong to, in the order of their first row.
    fn owners(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let names = self.owner.map_or(&[][..], |owner| self.text(owner));
        names.iter().map(String::as_str).filter(|name| seen.insert(*name)).collect()
    }
}

/// A column of numbers, of one owner where the table has several.
#[derive(Clone, Copy)]
pub(super) struct ColumnOf<'a> {
    rows: &'a Rows,
    pub(super) owner: Option<&'a str>,
    pub(super) column: &'a str,
}

impl ColumnOf<'_> {
    pub(super) fn name(&self) -> String {
        self.owner.map_or_else(|| self.column.to_owned(), |owner| format!("{owner}.{}", self.column))
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self.rows.table.column(self.column), Some(Column::Integer(_)))
    }
}

/// A row of the contacts.
#[derive(Clone, Copy)]
pub(super) struct ContactRow<'a> {
    /// The recorded step, counted from zero. Times do not tell: steps of no length end where the
    /// step before them ends.
    pub(super) step: usize,
    /// End and length of the step, in seconds.
    pub(super) t: f64,
    pub(super) h: f64,
    pub(super) contact: &'a str,
    /// Normal impulse, in N s or N m s.
    pub(super) impulse: f64,
    pub(super) mode: &'a str,
}

/// A contact that changed its mode during a step.
#[derive(Clone, Copy)]
pub(super) struct ModeChange<'a> {
    /// Start and end of the step, in seconds.
    pub(super) t: f64,
    pub(super) t_end: f64,
    pub(super) contact: &'a str,
    pub(super) to: &'a str,
    /// Normal impulse, in N s.
    pub(super) impulse: f64,
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
    /// Reads the folder of a run, as far as it was selected, and builds the scene that ran.
    pub(super) fn read(
        run: &Path,
        selection: &Selection,
    ) -> Result<(Self, Result<Loaded, RunFigureError>), RunFigureError> {
        let no_run = |reason: &str| RunFigureError::NotARun { run: run.to_owned(), reason: reason.to_owned() };
        if !run.is_dir() {
            return Err(no_run(if run.exists() { "it is not a folder" } else { "there is no such folder" }));
        }
        let unreadable = |source| RunFigureError::File { run: run.to_owned(), file: SUMMARY_FILE, source };
        if !is_run_folder(run).map_err(unreadable)? {
            return Err(no_run("it has no `summary.json` written by a run"));
        }
        let text = std::fs::read(run.join(SUMMARY_FILE)).map_err(unreadable)?;
        let summary = serde_json::from_slice(&text).map_err(|_| no_run("its `summary.json` is damaged"))?;
        // Columns are drawn without a scene, too.
        let loaded = build(run);
        let elements = [(file::JOINTS, "joint"), (file::FRICTION, "element")].into_iter();
        let elements = elements.filter(|(name, _)| run.join(name).exists());
        let elements = elements.map(|(name, key)| Rows::read(run, name, Some(key), &["t", "h"], &[]));
        let numbers: Vec<&str> = ["t", "h"].into_iter().chain(StepAudit::names()).collect();
        let mut data = Self {
            run: run.to_owned(),
            angular: loaded.as_ref().map_or_else(|_| BTreeSet::new(), angular_stops),
            summary,
            states: Rows::read(run, file::STATES, None, &["t"], &[])?,
            contacts: Rows::read(run, file::CONTACTS, Some("contact"), &["t", "h", "c_n"], &["mode"])?,
            audit: Rows::read(run, file::AUDIT, None, &numbers, &[])?,
            events: Rows::read(run, file::EVENTS, None, &["t", "t_end", "c_n"], &["contact", "to"])?,
            elements: elements.collect::<Result<_, _>>()?,
        };
        data.find_states()?;
        data.select(selection.from.unwrap_or(f64::NEG_INFINITY), selection.to.unwrap_or(f64::INFINITY))?;
        Ok((data, loaded))
    }

    /// Finds the state to which each row belongs. The first state is the start, each other one the
    /// end of a recorded step.
    fn find_states(&mut self) -> Result<(), RunFigureError> {
        self.states.states = self.states.range.clone().collect();
        self.audit.states = (1..=self.audit.table.row_count()).collect();
        let in_run = |source| RunFigureError::Table { run: self.run.clone(), source };
        let counts = self.audit.table.integer("contacts").map_err(in_run)?;
        let states =
            counts.iter().zip(1..).flat_map(|(&count, state)| std::iter::repeat_n(state, count.max(0) as usize));
        // Of a run that was cut off, the last rows may have no certificate.
        self.contacts.states = states.take(self.contacts.table.row_count()).collect();
        let steps: Vec<(f64, f64)> =
            self.audit.real("t").iter().copied().zip(self.audit.real("h").iter().copied()).collect();
        for rows in &mut self.elements {
            // An element has one row at most in a step, and steps follow each other.
            let mut next: HashMap<&String, usize> = HashMap::new();
            let ends = rows.real("t").iter().copied().zip(rows.real("h").iter().copied());
            let mut states = Vec::with_capacity(rows.table.row_count());
            for (name, end) in rows.text(rows.owner.unwrap_or_default()).iter().zip(ends) {
                let step = next.entry(name).or_default();
                let ahead = steps.iter().skip(*step).position(|known| *known == end);
                *step = ahead.map_or(steps.len() + 1, |ahead| *step + ahead + 1);
                states.push(*step);
            }
            rows.states = states;
        }
        Ok(())
    }

    /// Leaves out states before and after these times, and steps that are not between the others.
    fn select(&mut self, from: f64, to: f64) -> Result<(), RunFigureError> {
        let times = self.times();
        if times.is_empty() || (from == f64::NEG_INFINITY && to == f64::INFINITY) {
            return Ok(());
        }
        let (first, end) = (times.partition_point(|&t| t < from), times.partition_point(|&t| t <= to));
        if first >= end {
            let (start, end) = self.span();
            let reason = format!("there are no states from {from} to {to} s; the run goes from {start} to {end} s");
            return Err(RunFigureError::Nothing { run: self.run.clone(), reason });
        }
        let last = times[end - 1];
        // What a contact does at the start, it began before.
        self.events.range.end = self.events.real("t").partition_point(|&t| t < last);
        self.states.range = first..end;
        for rows in [&mut self.contacts, &mut self.audit].into_iter().chain(&mut self.elements) {
            rows.range = rows.states.partition_point(|&s| s <= first)..rows.states.partition_point(|&s| s < end);
        }
        Ok(())
    }

    /// Name of the scene.
    pub(super) fn title(&self) -> String {
        self.summary["scene"].as_str().unwrap_or_default().to_owned()
    }

    /// Times of the recorded states, in seconds.
    pub(super) fn times(&self) -> &[f64] {
        self.states.real("t")
    }

    /// First and last recorded time, in seconds.
    pub(super) fn span(&self) -> (f64, f64) {
        let times = self.times();
        (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(1.0))
    }

    /// A range for axes of time; it has some width even when the run made no step.
    pub(super) fn time_range(&self) -> (f64, f64) {
        let (start, end) = self.span();
        if end > start { (start, end) } else { (start, start + 1.0) }
    }

    /// A column of the states, when it was recorded.
    pub(super) fn state(&self, name: &str) -> Option<&[f64]> {
        Some(self.states.real(name)).filter(|values| values.len() == self.states.range.len())
    }

    /// Whether every step was recorded, those that end at an event or have no length among them:
    /// the lengths of the recorded steps then fill the time from the start to the last of them.
    pub(super) fn is_whole(&self) -> bool {
        let start = match self.states.range.start {
            0 => self.summary["start"].as_f64().unwrap_or(0.0),
            _ => self.span().0,
        };
        let (t, h) = (self.audit.real("t"), self.audit.real("h"));
        let shortest = h.iter().copied().filter(|h| *h > 0.0).fold(f64::INFINITY, f64::min);
        // Each time carries the rounding of its size; a missing step leaves a hole as long as
        // itself.
        let mut reached = start;
        let has_hole = t.iter().zip(h).any(|(&t, &h)| {
            let hole = t - h - reached;
            reached = t;
            hole.abs() > 8.0 * f64::EPSILON * t.abs().max(start.abs()).max(h) && hole.abs() > 1e-6 * shortest
        });
        !has_hole
    }

    /// Step size, in seconds.
    pub(super) fn step(&self) -> Option<f64> {
        self.summary["step"].as_f64().filter(|h| *h > 0.0)
    }

    /// What the certificate says of a number; nothing where it has none of that name.
    fn check(&self, name: &str) -> &Value {
        let checks = self.summary["certificate"]["checks"].as_array();
        checks.and_then(|checks| checks.iter().find(|check| check["name"] == name)).unwrap_or(&Value::Null)
    }

    /// Limit of a number of the certificate, when it has one.
    pub(super) fn limit(&self, check: &str) -> Option<f64> {
        self.check(check)["limit"].as_f64()
    }

    /// What ran and how well. Friction has directions only in space.
    pub(super) fn subtitle(&self, is_spatial: bool) -> String {
        let summary = &self.summary;
        let mut parts = Vec::new();
        if let Some((name, settings)) = tagged(&summary["scheme"]) {
            parts.push(format!("{name} {}", settings["version"].as_str().unwrap_or_default()).trim_end().to_owned());
        }
        if let Some((name, settings)) = tagged(&summary["method"]) {
            let directions = &settings["directions"];
            let count = directions.as_array().map(|list| list.len() as u64).or(directions.as_u64());
            let count = count.filter(|_| is_spatial).map(|count| format!(" with {count} directions"));
            parts.push(format!("{name}{}", count.unwrap_or_default()));
        }
        parts.extend(self.step().map(|step| format!("step {step} s")));
        if let Some(outcome) = summary["outcome"].as_str() {
            let at = summary["end"].as_f64().map(|t| format!(" at t = {} s", brief(t, t.abs())));
            parts.push(format!("{}{}", outcome.replace('-', " "), at.unwrap_or_default()));
        }
        if let Some(worst) = self.check("residual").get("worst") {
            let worst = match worst.as_f64() {
                Some(0.0) => "0".to_owned(),
                Some(worst) => format!("{worst:.1e}"),
                None => "not a number".to_owned(),
            };
            parts.push(format!("worst residual {worst}"));
        }
        if summary["certificate"]["met"] == false {
            parts.push("certificate not met".to_owned());
        }
        let digest = summary["digest"].as_str().map(|digest| digest.chars().take(12).collect::<String>());
        parts.extend(digest.map(|digest| format!("digest {digest}")));
        parts.join(", ")
    }

    /// Poses and velocities of everything that moves, as far as they were recorded.
    pub(super) fn tracks(&self, system: &Multibody) -> Vec<BodyTrack> {
        let times = self.times();
        let (count, is_plane) = (times.len(), system.model().dimension == Dimension::Plane);
        let moving = system.model().bodies.iter().enumerate().filter(|(_, entry)| entry.kind != BodyKind::Static);
        let track = |(body, entry): (usize, &Body)| {
            let numbers = |ending: &str| match self.state(&format!("{}.{ending}", entry.name)) {
                Some(values) => values.to_vec(),
                // What the plane does not have.
                None if ending.is_empty() => vec![0.0; count],
                None => vec![f64::NAN; count],
            };
            let vectors = |endings: [&str; 3]| -> Vec<DVec3> {
                let [x, y, z] = endings.map(numbers);
                (0..count).map(|i| DVec3::new(x[i], y[i], z[i])).collect()
            };
            let (place, velocity, spin) = match is_plane {
                true => (["x", "y", ""], ["vx", "vy", ""], ["", "", "w"]),
                false => (["x", "y", "z"], ["vx", "vy", "vz"], ["wx", "wy", "wz"]),
            };
            let turns = !matches!(entry.kind, BodyKind::Point { .. });
            let orientations: Vec<DQuat> = if !turns {
                vec![entry.pose.orientation; count]
            } else if is_plane {
                numbers("angle").into_iter().map(DQuat::from_rotation_z).collect()
            } else {
                let [x, y, z, w] = ["qx", "qy", "qz", "qw"].map(numbers);
                (0..count).map(|i| DQuat::from_xyzw(x[i], y[i], z[i], w[i])).collect()
            };
            let is_free = entry.kind.is_free();
            let poses: Vec<Pose> = match is_free {
                true => vectors(place).into_iter().zip(orientations).map(|(p, o)| Pose::new(p, o)).collect(),
                // A prescribed pose follows from the time alone.
                false => times.iter().map(|&t| system.pose(body, t, &[])).collect(),
            };
            let is_recorded = poses.iter().all(|pose| pose.position.is_finite() && pose.orientation.is_finite());
            BodyTrack {
                body,
                name: entry.name.clone(),
                is_free,
                turns,
                poses: if is_recorded { poses } else { Vec::new() },
                velocity: vectors(velocity),
                spin: if turns { vectors(spin) } else { vec![DVec3::ZERO; count] },
            }
        };
        moving.map(track).collect()
    }

    /// All changes of mode, by time.
    pub(super) fn mode_changes(&self) -> Vec<ModeChange<'_>> {
        let (t, t_end) = (self.events.real("t"), self.events.real("t_end"));
        let (contact, to) = (self.events.text("contact"), self.events.text("to"));
        let impulse = self.events.real("c_n");
        let change = |i: usize| ModeChange {
            t: t[i],
            t_end: t_end[i],
            contact: contact[i].as_str(),
            to: to[i].as_str(),
            impulse: impulse[i],
        };
        (0..t.len()).map(change).collect()
    }

    /// The impacts that are worth showing, by time.
    pub(super) fn impacts(&self) -> Vec<ModeChange<'_>> {
        let (start, end) = self.span();
        let mut impacts: Vec<ModeChange> = Vec::new();
        for impact in self.mode_changes().into_iter().filter(|change| change.to == "impact" && change.t >= start) {
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
        impacts
    }

    /// Whether the impulses of a contact are those of a moment, and its gap is an angle.
    pub(super) fn is_angular(&self, contact: &str) -> bool {
        self.angular.contains(contact)
    }

    /// The rows of the contacts, by time.
    pub(super) fn contact_rows(&self) -> Vec<ContactRow<'_>> {
        let contacts = &self.contacts;
        let (t, h, impulse) = (contacts.real("t"), contacts.real("h"), contacts.real("c_n"));
        let (contact, mode) = (contacts.text("contact"), contacts.text("mode"));
        let steps = contacts.states.iter().skip(contacts.range.start).map(|state| state - 1);
        let row = |(i, step): (usize, usize)| ContactRow {
            step,
            t: t[i],
            h: h[i],
            contact: contact[i].as_str(),
            impulse: impulse[i],
            mode: mode[i].as_str(),
        };
        steps.take(t.len()).enumerate().map(row).collect()
    }

    /// Every column of numbers that belongs to the recorded states: those of the states, of the
    /// certificates, of joints and of friction without a load, and of the contacts.
    pub(super) fn columns(&self) -> Vec<ColumnOf<'_>> {
        let mut columns = vec![ColumnOf { rows: &self.states, owner: None, column: "t" }];
        for rows in [&self.states, &self.audit] {
            columns.extend(rows.numbers().map(|column| ColumnOf { rows, owner: None, column }));
        }
        for rows in self.elements.iter().chain([&self.contacts]) {
            let mut owners = rows.owners();
            if rows.owner == self.contacts.owner {
                owners.sort_unstable();
            }
            for owner in owners {
                let numbers = rows.numbers().filter(|column| *column != "h");
                columns.extend(numbers.map(|column| ColumnOf { rows, owner: Some(owner), column }));
            }
        }
        columns
    }

    /// The unit of a column: empty for pure numbers, and where it is not known.
    pub(super) fn unit<'a>(&self, of: ColumnOf<'a>) -> &'a str {
        let unit = of.rows.unit(of.column);
        // What belongs to a rotation has the second of two units.
        match (unit.split_once(" or "), of.owner) {
            (Some((_, angular)), Some(owner)) if self.is_angular(owner) => angular,
            (Some((metric, _)), Some(_)) if of.rows.owner == self.contacts.owner => metric,
            (Some(_), Some(_)) => "",
            _ if unit == "1" => "",
            _ => unit,
        }
    }

    /// The values of a column, one per recorded state; not a number where there is no row.
    pub(super) fn values(&self, ColumnOf { rows, owner, column }: ColumnOf) -> Vec<f64> {
        let mut values = vec![f64::NAN; self.times().len()];
        let owners = rows.owner.map(|key| rows.text(key));
        for (i, (row, state)) in rows.range.clone().zip(rows.states.iter().skip(rows.range.start)).enumerate() {
            let is_of_owner = owners.is_none_or(|owners| Some(owners[i].as_str()) == owner);
            if is_of_owner && let Some(value) = values.get_mut(state - self.states.range.start) {
                *value = match rows.table.column(column) {
                    Some(Column::Integer(all)) => all[row] as f64,
                    _ => rows.real(column)[i],
                };
            }
        }
        values
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

/// Name and settings of a choice such as `{"pyramid": {…}}` or `"pyramid"`.
fn tagged(value: &Value) -> Option<(&str, &Value)> {
    match value {
        Value::Object(map) => map.iter().next().map(|(name, settings)| (name.as_str(), settings)),
        Value::String(name) => Some((name, &Value::Null)),
        _ => None,
    }
}

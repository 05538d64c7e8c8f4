//! A run as columns: states, contacts, friction, joints, certificates and events, written while it goes on.
//!
//! `docs/columns.md` says what every column is; a test compares names and units.

use std::collections::BTreeMap;

use stiction_dynamics::{
    Contact, ContactFrame, ContactId, ContactMode, Event, FrictionElement, Joint, MechanicalSystem, ModeTracker,
    Simulation, StepAudit, friction_mode,
};

use crate::run_folder::RunFolder;
use crate::table_file::{ColumnSpec, TableError, TableWriter, Value};

/// Rows that are collected before they go to the disk: what a table loses when the process is killed.
pub const ROWS_PER_GROUP: usize = 16_384;

/// Files of a run folder.
pub mod file {
    /// States by time.
    pub const STATES: &str = "states.parquet";
    /// Contacts by time.
    pub const CONTACTS: &str = "contacts.parquet";
    /// Certificates by time.
    pub const AUDIT: &str = "audit.parquet";
    /// Joint rows by time; only where there are joints.
    pub const JOINTS: &str = "joints.parquet";
    /// Friction without a load by time, that of joints among it; only where there is some.
    pub const FRICTION: &str = "friction.parquet";
    /// Events by time.
    pub const EVENTS: &str = "events.parquet";
    /// The LCP of a step that was not solved, as a folder.
    pub const FAILED_STEP: &str = "failed-step";
    /// The same as an FCLIB file, where the method is the exact cone.
    pub const FAILED_CONE_STEP: &str = "failed-step.hdf5";
    /// The scene with all defaults.
    pub const SCENE: &str = "scene.toml";
}

/// What a recorder keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordPlan {
    /// Every how many steps a row is written; events are written whenever they happen.
    pub interval: u64,
    /// Columns of the states that are kept, as positions in [`MechanicalSystem::column_names`], with their units.
    pub columns: Vec<(usize, String)>,
}

/// Writes the tables of a run folder.
pub struct Recorder {
    plan: RecordPlan,
    states: TableWriter,
    contacts: TableWriter,
    audit: TableWriter,
    events: TableWriter,
    /// Only where there are joints.
    joints: Option<TableWriter>,
    joint_names: Vec<String>,
    /// Only where there is friction without a load.
    friction: Option<TableWriter>,
    friction_names: BTreeMap<u32, String>,
    joints_at_end: Vec<Joint>,
    friction_at_end: Vec<FrictionElement>,
    tracker: ModeTracker,
    /// Everything that happened, for the summary.
    happened: Vec<Event>,
    event_buffer: Vec<Event>,
    values: Vec<f64>,
    ids: Vec<ContactId>,
    at_end: Vec<Contact>,
    names: BTreeMap<ContactId, ContactNames>,
}

#[derive(Debug)]
struct ContactNames {
    contact: String,
    bodies: (String, String),
}

/// Rows written by a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows of the states.
    pub states: u64,
    /// Rows of the contacts.
    pub contacts: u64,
    /// Rows of the certificates.
    pub audit: u64,
    /// Rows of the events.
    pub events: u64,
    /// Rows of the joints.
    pub joints: u64,
    /// Rows of friction without a load.
    pub friction: u64,
}

// Columns of the tables by name and unit. What belongs to a hinge or another rotation has the second of two units.
const LENGTH: &str = "m or rad";
const SPEED: &str = "m/s or rad/s";
const FORCE: &str = "N or N m";
const IMPULSE: &str = "N s or N m s";
const STEP: [(&str, &str); 2] = [("t", "s"), ("h", "s")];
const CONTACT_NUMBERS: [(&str, &str); 18] = [
    ("x", "m"),
    ("y", "m"),
    ("z", "m"),
    ("nx", "1"),
    ("ny", "1"),
    ("nz", "1"),
    ("gap", LENGTH),
    ("c_n", IMPULSE),
    ("c_t1", "N s"),
    ("c_t2", "N s"),
    ("c_t3", "N m s"),
    ("f_n", FORCE),
    ("f_t1", "N"),
    ("f_t2", "N"),
    ("f_t3", "N m"),
    ("slip_1", "m/s"),
    ("slip_2", "m/s"),
    ("slip_3", "rad/s"),
];
const FRICTION_NUMBERS: [(&str, &str); 7] = [
    ("bound", FORCE),
    ("c_t1", IMPULSE),
    ("c_t2", IMPULSE),
    ("f_t1", FORCE),
    ("f_t2", FORCE),
    ("slip_1", SPEED),
    ("slip_2", SPEED),
];
const JOINT_NUMBERS: [(&str, &str); 3] = [("value", LENGTH), ("impulse", IMPULSE), ("force", FORCE)];
const AUDIT_COUNTS: [&str; 7] =
    ["contacts", "problem_size", "iterations", "solves", "linearizations", "growths", "converged"];

/// Unit of a number of the certificate.
fn audit_unit(name: &str) -> &'static str {
    match name {
        "penetration" => "m",
        "joint_drift" => LENGTH,
        "kinetic" | "potential" | "kinetic_change" | "total_change" | "contact_gain" => "J",
        _ if name.starts_with("work_") || name.starts_with("energy_") => "J",
        _ => "1",
    }
}

impl Recorder {
    /// Opens the tables and writes the state at the start.
    ///
    /// # Errors
    /// [`TableError`] when a file cannot be written.
    pub fn create(folder: &RunFolder, plan: RecordPlan, simulation: &Simulation) -> Result<Self, TableError> {
        let names = simulation.system().column_names();
        let reals = |columns: &[(&str, &str)]| -> Vec<ColumnSpec> {
            columns.iter().map(|&(name, unit)| ColumnSpec::real(name, unit)).collect()
        };
        let texts = |names: &[&str]| -> Vec<ColumnSpec> { names.iter().map(|&name| ColumnSpec::text(name)).collect() };
        let open = |file: &str, columns: Vec<Vec<ColumnSpec>>| {
            TableWriter::create(folder.path_of(file), columns.concat(), ROWS_PER_GROUP)
        };
        let states = plan.columns.iter().map(|(column, unit)| ColumnSpec::real(&names[*column], unit)).collect();
        let contact_names = texts(&["contact", "body_1", "body_2", "mode"]);
        let certificate = StepAudit::names().map(|name| ColumnSpec::real(name, audit_unit(name))).to_vec();
        let changes = texts(&["contact", "body_1", "body_2", "from", "to"]);
        let (joint_names, friction_names) = (row_names(simulation), friction_names(simulation));
        let joints = vec![reals(&STEP), texts(&["joint"]), reals(&JOINT_NUMBERS)];
        let friction = vec![reals(&STEP), texts(&["element", "mode"]), reals(&FRICTION_NUMBERS)];
        let mut recorder = Self {
            plan,
            states: open(file::STATES, vec![reals(&STEP[..1]), states])?,
            contacts: open(file::CONTACTS, vec![reals(&STEP), contact_names, reals(&CONTACT_NUMBERS)])?,
            audit: open(file::AUDIT, vec![reals(&STEP), certificate, AUDIT_COUNTS.map(ColumnSpec::integer).to_vec()])?,
            events: open(
                file::EVENTS,
                vec![reals(&[("t", "s"), ("t_end", "s")]), changes, reals(&[("c_n", IMPULSE)])],
            )?,
            joints: if joint_names.is_empty() { None } else { Some(open(file::JOINTS, joints)?) },
            joint_names,
            friction: if friction_names.is_empty() { None } else { Some(open(file::FRICTION, friction)?) },
            friction_names,
            joints_at_end: Vec::new(),
            friction_at_end: Vec::new(),
            tracker: ModeTracker::default(),
            happened: Vec::new(),
            event_buffer: Vec::new(),
            values: Vec::new(),
            ids: Vec::new(),
            at_end: Vec::new(),
            names: BTreeMap::new(),
        };
        recorder.write_state(simulation)?;
        Ok(recorder)
    }

    /// Writes what the last step of the simulation brought.
    ///
    /// # Errors
    /// The first [`TableError`] when a file cannot be written; the other tables have the step all the same.
    pub fn observe(&mut self, simulation: &Simulation, audit: &StepAudit) -> Result<(), TableError> {
        let (before, step) = (simulation.before(), simulation.last_step());
        let system = simulation.system();
        self.event_buffer.clear();
        let modes = self.tracker.observe(before, step, &mut self.event_buffer).to_vec();
        let mut written = Ok(());
        for i in 0..self.event_buffer.len() {
            let event = self.event_buffer[i];
            let names = contact_names(&mut self.names, system, event.contact);
            written = written.and(self.events.append(&[
                event.t.into(),
                step.state.t.into(),
                names.contact.as_str().into(),
                names.bodies.0.as_str().into(),
                names.bodies.1.as_str().into(),
                event.from.name().into(),
                event.to.name().into(),
                event.impulse.into(),
            ]));
        }
        self.happened.extend_from_slice(&self.event_buffer);
        if simulation.steps_done().is_multiple_of(self.plan.interval) || simulation.is_finished() {
            written = written.and(self.write_state(simulation));
            written = written.and(self.write_contacts(simulation, &modes));
            written = written.and(self.write_joints(simulation));
            written = written.and(self.write_friction(simulation));
            written = written.and(self.write_audit(simulation, audit));
        }
        written
    }

    /// Everything that happened so far.
    pub fn events(&self) -> &[Event] {
        &self.happened
    }

    /// Closes the tables.
    ///
    /// # Errors
    /// One [`TableError`] for every table that is not whole; all are closed all the same, at their last whole row group.
    pub fn close(self) -> Result<RowCounts, Vec<TableError>> {
        let [joints, friction] = [self.joints, self.friction].map(|table| table.map_or(Ok(0), TableWriter::close));
        let [states, contacts, audit, events] =
            [self.states, self.contacts, self.audit, self.events].map(TableWriter::close);
        match (states, contacts, audit, events, joints, friction) {
            (Ok(states), Ok(contacts), Ok(audit), Ok(events), Ok(joints), Ok(friction)) => {
                Ok(RowCounts { states, contacts, audit, events, joints, friction })
            }
            (states, contacts, audit, events, joints, friction) => {
                Err([states, contacts, audit, events, joints, friction].into_iter().filter_map(Result::err).collect())
            }
        }
    }

    fn write_state(&mut self, simulation: &Simulation) -> Result<(), TableError> {
        self.values.clear();
        simulation.system().record(simulation.state(), &mut self.values);
        let columns = self.plan.columns.iter().map(|(column, _)| Value::Real(self.values[*column]));
        let row: Vec<Value<'_>> = [simulation.state().t.into()].into_iter().chain(columns).collect();
        self.states.append(&row)
    }

    fn write_contacts(&mut self, simulation: &Simulation, modes: &[ContactMode]) -> Result<(), TableError> {
        let (step, system) = (simulation.last_step(), simulation.system());
        // Gaps and sliding at the end of the step, by the geometry there; where a contact does not exist there, by the rows of
        // the problem.
        let linear = |i: usize| step.h * step.problem.contacts[i].normal_rate(&step.state.v);
        self.ids.clear();
        self.ids.extend(step.contacts.iter().map(|contact| contact.id));
        self.at_end.clear();
        system.contacts_of(step.state.t, &step.state.q, &self.ids, &mut self.at_end);
        for (i, contact) in step.contacts.iter().enumerate() {
            let (gap, slip) = match self.at_end.iter().find(|other| other.id == contact.id) {
                Some(at_end) => (at_end.gap, at_end.slip(&step.state.v)),
                None => (linear(i), step.problem.contacts[i].slip(&step.state.v)),
            };
            // A contact of which only the gap is known is nowhere.
            let nowhere = ContactFrame { point: [f64::NAN; 3], normal: [f64::NAN; 3] };
            let frame = contact.frame.unwrap_or(nowhere);
            let impulse = &step.solution.contacts[i];
            let [t1, t2, t3] = impulse.tangent;
            let impulses = [impulse.normal + step.restitution.get(i).unwrap_or(&0.0), t1, t2, t3];
            let names = contact_names(&mut self.names, system, contact.id);
            let mut row = vec![step.state.t.into(), step.h.into()];
            row.extend([&names.contact, &names.bodies.0, &names.bodies.1].map(|name| Value::Text(name)));
            row.push(modes[i].name().into());
            row.extend(frame.point.iter().chain(&frame.normal).copied().map(Value::Real));
            row.push(gap.into());
            row.extend(impulses.map(Value::Real));
            row.extend(impulses.map(|impulse| Value::Real(mean_force(impulse, step.h))));
            row.extend(slip.map(Value::Real));
            self.contacts.append(&row)?;
        }
        Ok(())
    }

    fn write_joints(&mut self, simulation: &Simulation) -> Result<(), TableError> {
        let Some(table) = &mut self.joints else { return Ok(()) };
        let step = simulation.last_step();
        self.joints_at_end.clear();
        simulation.system().joints(step.state.t, &step.state.q, &mut self.joints_at_end);
        for ((name, row), &impulse) in self.joint_names.iter().zip(&self.joints_at_end).zip(&step.solution.joints) {
            let numbers = [row.value, impulse, mean_force(impulse, step.h)].map(Value::Real);
            let [value, impulse, force] = numbers;
            table.append(&[step.state.t.into(), step.h.into(), Value::Text(name), value, impulse, force])?;
        }
        Ok(())
    }

    fn write_friction(&mut self, simulation: &Simulation) -> Result<(), TableError> {
        let Some(table) = &mut self.friction else { return Ok(()) };
        let (step, system) = (simulation.last_step(), simulation.system());
        self.friction_at_end.clear();
        system.friction_elements(step.state.t, &step.state.q, &mut self.friction_at_end);
        for (i, (element, impulse)) in step.friction.iter().zip(&step.solution.friction).enumerate() {
            let at_end = self.friction_at_end.iter().find(|other| other.id == element.id).unwrap_or(element);
            let slip = at_end.slip(&step.state.v);
            let name = self.friction_names.entry(element.id).or_insert_with(|| system.friction_name(element.id));
            let force = impulse.map(|impulse| mean_force(impulse, step.h));
            let mut row =
                vec![step.state.t.into(), step.h.into(), Value::Text(name), friction_mode(step, i).name().into()];
            let numbers = [element.bound, impulse[0], impulse[1], force[0], force[1], slip[0], slip[1]];
            row.extend(numbers.map(Value::Real));
            table.append(&row)?;
        }
        Ok(())
    }

    fn write_audit(&mut self, simulation: &Simulation, audit: &StepAudit) -> Result<(), TableError> {
        let step = simulation.last_step();
        let report = &step.report;
        let counts = [
            step.contacts.len(),
            report.solves.iter().map(|solve| solve.size).max().unwrap_or(0),
            report.solves.iter().map(|solve| solve.iterations).sum(),
            report.solves.len(),
            report.linearizations,
            report.growths,
            usize::from(report.converged),
        ];
        let mut row = vec![step.state.t.into(), step.h.into()];
        row.extend(audit.values().map(Value::Real));
        row.extend(counts.map(|count| Value::Integer(count as i64)));
        self.audit.append(&row)
    }
}

/// The mean force of an impulse over the length of its step; not a number where the step has none.
fn mean_force(impulse: f64, h: f64) -> f64 {
    if h > 0.0 { impulse / h } else { f64::NAN }
}

/// Names of the friction elements that there are at the start.
fn friction_names(simulation: &Simulation) -> BTreeMap<u32, String> {
    let (system, state) = (simulation.system(), simulation.state());
    let mut elements = Vec::new();
    system.friction_elements(state.t, &state.q, &mut elements);
    elements.iter().map(|element| (element.id, system.friction_name(element.id))).collect()
}

/// Names of the joint rows; those without one are numbered.
fn row_names(simulation: &Simulation) -> Vec<String> {
    let (system, state) = (simulation.system(), simulation.state());
    let mut rows = Vec::new();
    system.joints(state.t, &state.q, &mut rows);
    let mut names = system.joint_names();
    names.extend((names.len()..rows.len()).map(|number| format!("row{number}")));
    names
}

fn contact_names<'a>(
    names: &'a mut BTreeMap<ContactId, ContactNames>,
    system: &dyn MechanicalSystem,
    id: ContactId,
) -> &'a ContactNames {
    names.entry(id).or_insert_with(|| ContactNames { contact: system.contact_name(id), bodies: system.body_names(id) })
}

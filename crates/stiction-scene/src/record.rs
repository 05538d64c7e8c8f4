//! A run as columns: states, contacts, friction, joints, certificates and events, written while it
//! goes on.
//!
//! `docs/columns.md` says what every column is; a test compares names and units.

use std::collections::BTreeMap;

use stiction_dynamics::{
    Contact, ContactFrame, ContactId, ContactMode, Event, FrictionElement, Joint, MechanicalSystem, ModeTracker,
    Simulation, StepAudit, friction_mode,
};

use crate::run_folder::RunFolder;
use crate::table_file::{ColumnSpec, TableError, TableWriter, Value};

/// Rows that are collected before they go to the disk: what a table loses when the process is
/// killed.
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
#[derive(Default)]
pub(crate) struct RecordPlan {
    /// Every how many steps a row is written; events are written whenever they happen.
    pub(crate) interval: u64,
    /// Columns of the states that are kept, as positions in [`MechanicalSystem::column_names`],
    /// with their units.
    pub(crate) columns: Vec<(usize, String)>,
}

/// Writes the tables of a run folder.
#[derive(Default)]
pub(crate) struct Recorder {
    plan: RecordPlan,
    states: Option<TableWriter>,
    contacts: Option<TableWriter>,
    audit: Option<TableWriter>,
    events: Option<TableWriter>,
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
    names: BTreeMap<ContactId, [String; 3]>,
}

// Columns of the tables by name, with the units of numbers. What belongs to a hinge or another
// rotation has the second of two units.
const CONTACTS: &str = "t [s], h [s], contact, body_1, body_2, mode, \
    x [m], y [m], z [m], nx [1], ny [1], nz [1], gap [m or rad], \
    c_n [N s or N m s], c_t1 [N s], c_t2 [N s], c_t3 [N m s], f_n [N or N m], f_t1 [N], f_t2 [N], f_t3 [N m], \
    slip_1 [m/s], slip_2 [m/s], slip_3 [rad/s]";
const FRICTION: &str = "t [s], h [s], element, mode, bound [N or N m], c_t1 [N s or N m s], c_t2 [N s or N m s], \
    f_t1 [N or N m], f_t2 [N or N m], slip_1 [m/s or rad/s], slip_2 [m/s or rad/s]";
const JOINTS: &str = "t [s], h [s], joint, value [m or rad], impulse [N s or N m s], force [N or N m]";
const EVENTS: &str = "t [s], t_end [s], contact, body_1, body_2, from, to, c_n [N s or N m s]";
const AUDIT_COUNTS: [&str; 7] =
    ["contacts", "problem_size", "iterations", "solves", "linearizations", "growths", "converged"];

/// The columns of such a list: real numbers where there is a unit, texts elsewhere.
fn columns(list: &str) -> Vec<ColumnSpec> {
    let column = |words: &str| match words.split_once(" [") {
        Some((name, unit)) => ColumnSpec::real(name, unit.trim_end_matches(']')),
        None => ColumnSpec::text(words),
    };
    list.split(", ").map(column).collect()
}

/// Unit of a number of the certificate.
fn audit_unit(name: &str) -> &'static str {
    match name {
        "penetration" => "m",
        "joint_drift" => "m or rad",
        "kinetic" | "potential" | "kinetic_change" | "total_change" | "contact_gain" => "J",
        _ if name.starts_with("work_") || name.starts_with("energy_") => "J",
        _ => "1",
    }
}

impl Recorder {
    /// Opens the tables and writes the state at the start.
    pub(crate) fn create(folder: &RunFolder, plan: RecordPlan, simulation: &Simulation) -> Result<Self, TableError> {
        let names = simulation.system().column_names();
        let open = |file: &str, columns: Vec<ColumnSpec>| {
            TableWriter::create(folder.path_of(file), columns, ROWS_PER_GROUP).map(Some)
        };
        let mut states = columns("t [s]");
        states.extend(plan.columns.iter().map(|(column, unit)| ColumnSpec::real(&names[*column], unit)));
        let mut certificate = columns("t [s], h [s]");
        certificate.extend(StepAudit::names().map(|name| ColumnSpec::real(name, audit_unit(name))));
        certificate.extend(AUDIT_COUNTS.map(ColumnSpec::integer));
        let (joint_names, friction_names) = (row_names(simulation), friction_names(simulation));
        let mut recorder = Self {
            plan,
            states: open(file::STATES, states)?,
            contacts: open(file::CONTACTS, columns(CONTACTS))?,
            audit: open(file::AUDIT, certificate)?,
            events: open(file::EVENTS, columns(EVENTS))?,
            joints: if joint_names.is_empty() { None } else { open(file::JOINTS, columns(JOINTS))? },
            joint_names,
            friction: if friction_names.is_empty() { None } else { open(file::FRICTION, columns(FRICTION))? },
            friction_names,
            ..Self::default()
        };
        recorder.write_state(simulation)?;
        Ok(recorder)
    }

    /// Writes what the last step of the simulation brought. After an error the other tables have
    /// the step all the same.
    pub(crate) fn observe(&mut self, simulation: &Simulation, audit: &StepAudit) -> Result<(), TableError> {
        let (before, step) = (simulation.before(), simulation.last_step());
        self.event_buffer.clear();
        let modes = self.tracker.observe(before, step, &mut self.event_buffer).to_vec();
        let mut written = Ok(());
        for event in &self.event_buffer {
            let names = contact_names(&mut self.names, simulation.system(), event.contact);
            let mut row = vec![event.t.into(), step.state.t.into()];
            row.extend(names.iter().map(|name| Value::Text(name)));
            row.extend([event.from.name(), event.to.name()].map(Value::Text));
            row.push(event.impulse.into());
            written = written.and(append(&mut self.events, &row));
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
    pub(crate) fn events(&self) -> &[Event] {
        &self.happened
    }

    /// Closes all tables, at their last whole row group, and returns an error for every one that is
    /// not whole.
    pub(crate) fn close(self) -> Vec<TableError> {
        let tables = [self.states, self.contacts, self.audit, self.events, self.joints, self.friction];
        tables.into_iter().flatten().filter_map(|table| table.close().err()).collect()
    }

    fn write_state(&mut self, simulation: &Simulation) -> Result<(), TableError> {
        self.values.clear();
        simulation.system().record(simulation.state(), &mut self.values);
        let columns = self.plan.columns.iter().map(|(column, _)| Value::Real(self.values[*column]));
        let row: Vec<Value<'_>> = [simulation.state().t.into()].into_iter().chain(columns).collect();
        append(&mut self.states, &row)
    }

    fn write_contacts(&mut self, simulation: &Simulation, modes: &[ContactMode]) -> Result<(), TableError> {
        let (step, system) = (simulation.last_step(), simulation.system());
        // Gaps and sliding at the end of the step, by the geometry there; where a contact does not
        // exist there, by the rows of the problem.
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
            row.extend(names.iter().map(|name| Value::Text(name)));
            row.push(modes[i].name().into());
            row.extend(frame.point.iter().chain(&frame.normal).copied().map(Value::Real));
            row.push(gap.into());
            row.extend(impulses.map(Value::Real));
            row.extend(impulses.map(|impulse| Value::Real(mean_force(impulse, step.h))));
            row.extend(slip.map(Value::Real));
            append(&mut self.contacts, &row)?;
        }
        Ok(())
    }

    fn write_joints(&mut self, simulation: &Simulation) -> Result<(), TableError> {
        let step = simulation.last_step();
        self.joints_at_end.clear();
        simulation.system().joints(step.state.t, &step.state.q, &mut self.joints_at_end);
        for ((name, row), &impulse) in self.joint_names.iter().zip(&self.joints_at_end).zip(&step.solution.joints) {
            let [value, impulse, force] = [row.value, impulse, mean_force(impulse, step.h)].map(Value::Real);
            let row = [step.state.t.into(), step.h.into(), Value::Text(name), value, impulse, force];
            append(&mut self.joints, &row)?;
        }
        Ok(())
    }

    fn write_friction(&mut self, simulation: &Simulation) -> Result<(), TableError> {
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
            append(&mut self.friction, &row)?;
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
        append(&mut self.audit, &row)
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

/// The names of a contact and of its bodies.
fn contact_names<'a>(
    names: &'a mut BTreeMap<ContactId, [String; 3]>,
    system: &dyn MechanicalSystem,
    id: ContactId,
) -> &'a [String; 3] {
    names.entry(id).or_insert_with(|| {
        let (first, second) = system.body_names(id);
        [system.contact_name(id), first, second]
    })
}

/// Appends a row to a table, where there is one.
fn append(table: &mut Option<TableWriter>, row: &[Value<'_>]) -> Result<(), TableError> {
    table.as_mut().map_or(Ok(()), |table| table.append(row))
}

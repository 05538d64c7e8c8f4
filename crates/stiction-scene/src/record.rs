//! A run as columns: states, contacts, certificates and events, written while it goes on.

use std::collections::BTreeMap;

use stiction_dynamics::{
    Contact, ContactFrame, ContactId, ContactMode, Event, Joint, MechanicalSystem, ModeTracker, Simulation, StepAudit,
};

use crate::run_folder::RunFolder;
use crate::table_file::{ColumnSpec, TableError, TableWriter};

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
    /// Columns of the states that are kept, as positions in [`MechanicalSystem::column_names`].
    pub columns: Vec<usize>,
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
    joints_at_end: Vec<Joint>,
    tracker: ModeTracker,
    /// Everything that happened, for the summary.
    happened: Vec<Event>,
    event_buffer: Vec<Event>,
    values: Vec<f64>,
    row: Vec<f64>,
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
}

impl Recorder {
    /// Opens the tables and writes the state at the start.
    ///
    /// # Errors
    /// [`TableError`] when a file cannot be written.
    pub fn create(folder: &RunFolder, plan: RecordPlan, simulation: &Simulation) -> Result<Self, TableError> {
        let names = simulation.system().column_names();
        let mut states = vec![ColumnSpec::real("t")];
        states.extend(plan.columns.iter().map(|&column| ColumnSpec::real(names[column].clone())));
        let mut contacts = vec![
            ColumnSpec::real("t"),
            ColumnSpec::real("h"),
            ColumnSpec::text("contact"),
            ColumnSpec::text("body_1"),
            ColumnSpec::text("body_2"),
            ColumnSpec::text("mode"),
        ];
        let numbers =
            ["x", "y", "z", "nx", "ny", "nz", "gap", "c_n", "c_t1", "c_t2", "c_t3", "slip_1", "slip_2", "slip_3"];
        contacts.extend(numbers.map(ColumnSpec::real));
        let mut audit = vec![ColumnSpec::real("t"), ColumnSpec::real("h")];
        audit.extend(StepAudit::NAMES.map(ColumnSpec::real));
        audit.extend(
            ["contacts", "lcp_size", "pivots", "solves", "linearizations", "growths", "converged"]
                .map(ColumnSpec::integer),
        );
        let mut events = vec![ColumnSpec::real("t"), ColumnSpec::real("t_end")];
        events.extend(["contact", "body_1", "body_2", "from", "to"].map(ColumnSpec::text));
        events.push(ColumnSpec::real("c_n"));
        let joints = vec![
            ColumnSpec::real("t"),
            ColumnSpec::real("h"),
            ColumnSpec::text("joint"),
            ColumnSpec::real("value"),
            ColumnSpec::real("impulse"),
        ];
        let joint_names = row_names(simulation);
        let open = |name, columns| TableWriter::create(folder.path_of(name), columns, ROWS_PER_GROUP);
        let mut recorder = Self {
            plan,
            states: open(file::STATES, states)?,
            contacts: open(file::CONTACTS, contacts)?,
            audit: open(file::AUDIT, audit)?,
            events: open(file::EVENTS, events)?,
            joints: if joint_names.is_empty() { None } else { Some(open(file::JOINTS, joints)?) },
            joint_names,
            joints_at_end: Vec::new(),
            tracker: ModeTracker::default(),
            happened: Vec::new(),
            event_buffer: Vec::new(),
            values: Vec::new(),
            row: Vec::new(),
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
            written = written.and(self.events.append(|row| {
                row.reals(&[event.t, step.state.t]);
                row.text(&names.contact);
                row.text(&names.bodies.0);
                row.text(&names.bodies.1);
                row.text(event.from.name());
                row.text(event.to.name());
                row.real(event.impulse);
            }));
        }
        self.happened.extend_from_slice(&self.event_buffer);
        if simulation.steps_done().is_multiple_of(self.plan.interval) || simulation.is_finished() {
            written = written.and(self.write_state(simulation));
            written = written.and(self.write_contacts(simulation, &modes));
            written = written.and(self.write_joints(simulation));
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
        let joints = self.joints.map_or(Ok(0), TableWriter::close);
        match (self.states.close(), self.contacts.close(), self.audit.close(), self.events.close(), joints) {
            (Ok(states), Ok(contacts), Ok(audit), Ok(events), Ok(joints)) => {
                Ok(RowCounts { states, contacts, audit, events, joints })
            }
            (states, contacts, audit, events, joints) => {
                Err([states, contacts, audit, events, joints].into_iter().filter_map(Result::err).collect())
            }
        }
    }

    fn write_state(&mut self, simulation: &Simulation) -> Result<(), TableError> {
        self.values.clear();
        simulation.system().record(simulation.state(), &mut self.values);
        self.row.clear();
        self.row.push(simulation.state().t);
        self.row.extend(self.plan.columns.iter().map(|&column| self.values[column]));
        self.states.append(|row| row.reals(&self.row))
    }

    fn write_contacts(&mut self, simulation: &Simulation, modes: &[ContactMode]) -> Result<(), TableError> {
        let (step, system) = (simulation.last_step(), simulation.system());
        // The true gaps at the end of the step; where a contact does not exist there, its linearised gap stands in.
        let linear = |i: usize| step.h * step.problem.contacts[i].normal_rate(&step.state.v);
        self.ids.clear();
        self.ids.extend(step.contacts.iter().map(|contact| contact.id));
        self.at_end.clear();
        system.contacts_of(step.state.t, &step.state.q, &self.ids, &mut self.at_end);
        for (i, contact) in step.contacts.iter().enumerate() {
            let impulse = &step.solution.contacts[i];
            let gap =
                self.at_end.iter().find(|other| other.id == contact.id).map_or_else(|| linear(i), |other| other.gap);
            let slip = step.problem.contacts[i].slip(&step.state.v);
            // A contact of which only the gap is known is nowhere.
            let nowhere = ContactFrame { point: [f64::NAN; 3], normal: [f64::NAN; 3] };
            let frame = contact.frame.unwrap_or(nowhere);
            let names = contact_names(&mut self.names, system, contact.id);
            self.contacts.append(|row| {
                row.reals(&[step.state.t, step.h]);
                row.text(&names.contact);
                row.text(&names.bodies.0);
                row.text(&names.bodies.1);
                row.text(modes[i].name());
                row.reals(&frame.point);
                row.reals(&frame.normal);
                let given_back = step.restitution.get(i).unwrap_or(&0.0);
                row.reals(&[gap, impulse.normal + given_back]);
                row.reals(&impulse.tangent);
                row.reals(&slip);
            })?;
        }
        Ok(())
    }

    fn write_joints(&mut self, simulation: &Simulation) -> Result<(), TableError> {
        let Some(table) = &mut self.joints else { return Ok(()) };
        let step = simulation.last_step();
        self.joints_at_end.clear();
        simulation.system().joints(step.state.t, &step.state.q, &mut self.joints_at_end);
        for ((name, row), &impulse) in self.joint_names.iter().zip(&self.joints_at_end).zip(&step.solution.joints) {
            table.append(|line| {
                line.reals(&[step.state.t, step.h]);
                line.text(name);
                line.reals(&[row.value, impulse]);
            })?;
        }
        Ok(())
    }

    fn write_audit(&mut self, simulation: &Simulation, audit: &StepAudit) -> Result<(), TableError> {
        let step = simulation.last_step();
        let report = &step.report;
        self.audit.append(|row| {
            row.reals(&[step.state.t, step.h]);
            row.reals(&audit.values());
            row.integer(step.contacts.len() as i64);
            row.integer(report.solves.iter().map(|solve| solve.size).max().unwrap_or(0) as i64);
            row.integer(report.solves.iter().map(|solve| solve.iterations).sum::<usize>() as i64);
            row.integer(report.solves.len() as i64);
            row.integer(report.linearizations as i64);
            row.integer(report.growths as i64);
            row.integer(i64::from(report.converged));
        })
    }
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

//! The event-driven scheme: smooth phases to rounding, events where they happen, impacts as steps of no length.
//!
//! It is the reference for systems with few events. Between events the modes of all contacts stand: open or closed, sticking or sliding. Then
//! the motion is a smooth differential equation ([`motion`](self)), followed by [collocation](self) of order 13. An event ends the phase:
//!
//! | event | function that reaches zero | then |
//! |---|---|---|
//! | a gap closes | gap | impact, by the impact laws of the [collision](super::collision) |
//! | a contact opens | $\lambda_n$ | modes anew |
//! | sliding begins | $\mu \lambda_n - \lVert c_t / e \rVert$, for torsion for itself where it has its own bound | modes anew |
//! | sliding ends | sliding velocity along its direction | modes anew |
//!
//! New modes come from the problem of \[PKF\] and [`acceleration`](crate::acceleration) at that instant: joints, exact cones for what rests, known directions for
//! what slides. The solver only proposes them; they count when the equations of the phase, solved with them, obey all laws. Where no
//! modes do (the paradox of Painlevé), the impact problem is solved although nothing approaches: a [shock](super::StepKind::Shock).
//!
//! **Accumulating impacts.** A ball that bounces with restitution $e$ comes to rest through infinitely many impacts. Impacts slower than
//! [`closing_speed`](EventDrivenSettings::closing_speed) $v_c$ close the contact. What is left out is at most $2 e v_c / ((1 - e) a)$ seconds of ever smaller bounces under
//! the acceleration $a$. Flights that are too low for the rounding of a gap are timed by their parabola.
//!
//! **Steps.** A step ends at an event or after $h$. Within it the integrator chooses its own steps; $h$ has no influence on the accuracy but where
//! recordings and the audit look. Each step carries its [samples](super::Sample), so that the audit integrates forces and works itself.

mod choice;
mod collocation;
mod dependent_rows;
mod events;
mod modes;
mod motion;
mod onset;
mod phase;
mod record;
mod restart;
mod shock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collision::{Collision, ImpactOrder};
use super::{Impacts, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind};
use crate::setting::{Named, SettingError, at_least_one, positive};
use crate::{
    Contact, ContactId, ContactProblem, ContactSolution, ContactSolver, Joint, MechanicalSystem, State, StepError,
};

use collocation::Collocation;
use events::{GapNode, Trigger};
use modes::{Modes, Part};
use motion::{Fault, Motion};
use phase::Glide;
use restart::{Flight, Restart};

/// Settings of the event-driven scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EventDrivenSettings {
    /// Allowed error of an integrator step, relative to the largest coordinate and velocity. Below 1e-14 rounding decides.
    pub tolerance: f64,
    /// Events are located to this, in seconds; those within it happen together.
    pub event_tolerance: f64,
    /// Contacts with a gap up to this take part in impacts and new modes, in metres. Too large: bodies stop before they touch. Too
    /// small: contacts that close together do so one after another.
    pub gap_tolerance: f64,
    /// Impacts with a slower approach close the contact, in m/s, so that a bouncing ball comes to rest.
    /// Too large: small bounces are missing. Too small: bounces that are lost in rounding.
    pub closing_speed: f64,
    /// Sliding slower than this, in m/s, is none where modes are chosen. Too large: slow sliding is stopped. Too small: rounding slides.
    pub still_speed: f64,
    /// Whether the impacts of contacts that close together are solved together or one after another.
    pub impact_order: ImpactOrder,
    /// Whether the friction of a decompression may also use the impulse that Poisson's law gives back.
    pub restitution_friction: bool,
    /// Events in one step of the grid, at most.
    pub event_limit: usize,
}

impl Default for EventDrivenSettings {
    fn default() -> Self {
        Self {
            tolerance: 1e-13,
            event_tolerance: 1e-12,
            gap_tolerance: 1e-10,
            closing_speed: 1e-10,
            still_speed: 1e-10,
            impact_order: ImpactOrder::Simultaneous,
            restitution_friction: false,
            event_limit: 100_000,
        }
    }
}

impl OwnFacts for EventDrivenSettings {
    fn facts(&self) -> SchemeFacts {
        SchemeFacts {
            named: Named {
                name: "event-driven",
                summary: "Smooth phases to rounding, located events: the reference for systems with few of them.",
                suffixes: &[],
            },
            restricted_by: None,
            impacts: Impacts::NewtonAndPoisson,
            one_way: false,
            polygons: false,
            stiff_forces: false,
            overlap: Overlap::Kept,
        }
    }

    fn check(&self) -> Result<(), SettingError> {
        positive("tolerance", "the tolerance", self.tolerance, "(relative)")?;
        positive("event-tolerance", "the event tolerance", self.event_tolerance, "s")?;
        positive("gap-tolerance", "the gap tolerance", self.gap_tolerance, "m")?;
        positive("closing-speed", "the closing speed", self.closing_speed, "m/s")?;
        positive("still-speed", "the still speed", self.still_speed, "m/s")?;
        at_least_one("event-limit", "events", self.event_limit)
    }

    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        Box::new(EventDriven::new(self.clone(), solver))
    }
}

/// Events that happen together, at most: at an instant every contact changes a few times. Too large: a scheme that makes no progress is noticed late.
const INSTANT_LIMIT: usize = 1000;

/// Contacts that an error names, at most.
const MOST_NAMES: usize = 6;

/// The event-driven scheme.
#[derive(Clone, Debug)]
pub struct EventDriven {
    settings: EventDrivenSettings,
    solver: ContactSolver,
    collision: Collision,
    method: Collocation,
    motion: Motion,
    modes: Modes,
    /// Where the last step ended; another start begins anew.
    last: Option<State>,
    /// Whether modes must be chosen before the motion goes on.
    needs_restart: bool,
    /// Whether the last step had no length.
    has_jumped: bool,
    /// The events that ended the last phase.
    triggers: Vec<Trigger>,
    /// Modes that did not last at this instant.
    excluded: Vec<Excluded>,
    /// Contacts that touch without force, or have just opened, and the gap at which they do: it is not looked at until it is another.
    touching: Vec<(ContactId, f64)>,
    /// Contacts on a flight too low for rounding.
    flights: Vec<Flight>,
    /// Length of the next integrator step.
    next_step: f64,
    /// What rounding makes of the slopes, and its size for configuration and velocity.
    rounding: Vec<f64>,
    rounding_size: Vec<f64>,
    /// Whether a step ended before the time that was asked for, and events since.
    is_between: bool,
    event_count: usize,
    /// An instant, and the events since that happened together with it.
    instant: f64,
    instant_count: usize,
    // Workspace.
    near: Vec<Contact>,
    joints: Vec<Joint>,
    carried: Vec<ContactId>,
    problem: ContactProblem,
    solution: ContactSolution,
    y: Vec<f64>,
    slope: Vec<f64>,
    wanted: Vec<f64>,
    probe: Vec<f64>,
    probe_q: Vec<f64>,
    nodes: Vec<Vec<f64>>,
    gaps: Vec<Vec<GapNode>>,
}

/// A mode that was chosen and ended at once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Excluded {
    Closed(ContactId),
    Open(ContactId),
    Stick(Part),
    Slip(Part),
}

impl EventDriven {
    /// The scheme with these settings and this contact solver.
    pub fn new(settings: EventDrivenSettings, solver: ContactSolver) -> Self {
        Self {
            collision: Collision::new(settings.closing_speed, settings.impact_order, settings.restitution_friction),
            motion: Motion::new(settings.still_speed),
            settings,
            solver,
            method: Collocation::default(),
            modes: Modes::default(),
            last: None,
            needs_restart: true,
            has_jumped: false,
            triggers: Vec::new(),
            excluded: Vec::new(),
            touching: Vec::new(),
            flights: Vec::new(),
            next_step: f64::INFINITY,
            rounding: Vec::new(),
            rounding_size: Vec::new(),
            is_between: false,
            event_count: 0,
            instant: f64::NEG_INFINITY,
            instant_count: 0,
            near: Vec::new(),
            joints: Vec::new(),
            carried: Vec::new(),
            problem: ContactProblem::default(),
            solution: ContactSolution::default(),
            y: Vec::new(),
            slope: Vec::new(),
            wanted: Vec::new(),
            probe: Vec::new(),
            probe_q: Vec::new(),
            nodes: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// The contacts that take part at this instant, to be named in an error.
    fn involved(&self, system: &dyn MechanicalSystem) -> String {
        let names: Vec<String> =
            self.near.iter().take(MOST_NAMES).map(|contact| system.contact_name(contact.id)).collect();
        match self.near.len() {
            0 => String::new(),
            count if count > MOST_NAMES => format!(", at {} and {} more", names.join(", "), count - MOST_NAMES),
            _ => format!(", at {}", names.join(", ")),
        }
    }

    /// Forgets a motion that went on elsewhere.
    fn reset(&mut self) {
        self.modes = Modes::default();
        self.collision =
            Collision::new(self.settings.closing_speed, self.settings.impact_order, self.settings.restitution_friction);
        (self.needs_restart, self.has_jumped) = (true, false);
        self.triggers.clear();
        self.excluded.clear();
        self.touching.clear();
        self.flights.clear();
        self.next_step = f64::INFINITY;
        (self.is_between, self.event_count, self.instant_count) = (false, 0, 0);
        self.last = None;
    }
}

impl Scheme for EventDriven {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(StepError::StepSize { h });
        }
        // A simulation rounds the time of its grid.
        let goes_on = self.last.as_ref().is_some_and(|last| {
            last.q == state.q
                && last.v == state.v
                && (last.t - state.t).abs() <= 1e-9 * h.max(f64::EPSILON * state.t.abs())
        });
        if !goes_on {
            self.reset();
        }
        if !self.is_between {
            self.event_count = 0;
        }
        let mut is_done = false;
        while !is_done {
            self.event_count += 1;
            if self.event_count > self.settings.event_limit {
                let reason = format!(
                    "there were more than {} events since the last point of the grid{}",
                    self.settings.event_limit,
                    self.involved(system)
                );
                let remedy = "raise `event-limit`, `closing-speed` or `still-speed` of the scheme `event-driven`, take a smaller step, or \
                              choose a time-stepping scheme, such as `stewart-trinkle`";
                return Err(StepError::Instant { t: state.t, reason, remedy });
            }
            if state.t - self.instant > self.settings.event_tolerance || state.t < self.instant {
                (self.instant, self.instant_count) = (state.t, 0);
            }
            self.instant_count += 1;
            if self.instant_count > INSTANT_LIMIT {
                let reason = format!(
                    "time stands still: more than {INSTANT_LIMIT} events within {:.0e} s{}",
                    self.settings.event_tolerance,
                    self.involved(system)
                );
                let remedy = "raise `closing-speed` or `still-speed` of the scheme `event-driven`, or choose a time-stepping scheme, \
                              such as `stewart-trinkle`";
                return Err(StepError::Instant { t: state.t, reason, remedy });
            }
            out.begin(StepKind::Smooth, h);
            if self.needs_restart {
                is_done = self.restart(system, state, out)? == Restart::Jumped;
            }
            if !is_done {
                is_done = self.glide(system, state, h, out)? == Glide::Advanced;
            }
        }
        self.is_between = out.h < h;
        super::check_finite(state.t, "velocity", &out.state.v)?;
        super::check_finite(state.t, "coordinate", &out.state.q)?;
        match &mut self.last {
            Some(last) => last.copy_from(&out.state),
            None => self.last = Some(out.state.clone()),
        }
        Ok(())
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

/// A fault as an error; a contact that is lost is one only where nothing else helps.
fn step_error(system: &dyn MechanicalSystem, t: f64, h: f64, fault: Fault) -> StepError {
    match fault {
        Fault::Step(error) => error,
        Fault::Lost(id) => {
            let reason = format!("the contact {}, which is closed, is not there any more", system.contact_name(id));
            StepError::Phase { t, h, reason }
        }
    }
}

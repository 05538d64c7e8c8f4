//! The event-driven scheme: smooth phases to rounding, events where they happen, impacts as steps
//! of zero length.
//!
//! It is the reference for systems with few events. It is a state machine with three states, of
//! which each carries what it needs (`Course`), and five transitions (`Transition`):
//!
//! ```text
//!     Start ──── Choose ────┐   ┌────────── Jump ──────────┐   impact, decompression, shock
//!       │                   ▼   ▼                          │
//!       └────── Jump ────▶ Switch ─────────────────────────┘
//!          projection       │   ▲
//!                     Begin │   │ Event    the step ends at an event
//!                           ▼   │ Choose   the phase ends at once: other modes are needed
//!                          Phase
//!                          │   ▲
//!                          └───┘ Advance  the step of the grid has passed
//! ```
//!
//! `Jump`, `Event` and `Advance` end a step; `Begin` and `Choose` only lead on.
//!
//! **Phase.** Between events the modes of all contacts stay: open or closed, sticking or sliding.
//! The motion is then a smooth differential equation ([`motion`](self)), followed by
//! [collocation](self) of order 13. An event ends the phase:
//!
//! | event | function that vanishes | then |
//! |---|---|---|
//! | a gap closes | gap | impact, by the impact laws of the [collision](super::collision) |
//! | a contact opens | $\lambda_n$ | new modes |
//! | sliding begins | $\mu \lambda_n - \lVert c_t / e \rVert$, separately for torsion with a bound of its own | new modes |
//! | sliding ends | sliding velocity along its direction | new modes |
//!
//! **Switch.** New modes come from the problem of \[PKF\] and [`acceleration`](crate::acceleration)
//! at that instant: joints, exact cones for what rests, known directions for what slides. The
//! contact solver only proposes them. They count when the equations of the phase, solved with them,
//! obey all laws. Where no modes do (the paradox of Painlevé), the impact problem is solved
//! although nothing approaches: a [shock](super::StepKind::Shock).
//!
//! **Accumulating impacts.** A ball that bounces with restitution $e$ comes to rest through
//! infinitely many impacts. Impacts slower than
//! [`closing_speed`](EventDrivenSettings::closing_speed) $v_c$ close the contact. This leaves out
//! at most $2 e v_c / ((1 - e) a)$ seconds of ever smaller bounces under the acceleration $a$.
//! Flights that are too low for the rounding of a gap are timed by their parabola.
//!
//! **Steps.** A step ends at an event or after $h$. Within it the integrator chooses its own steps;
//! $h$ has no influence on the accuracy, only on where recordings and the audit look. Each step
//! carries its [samples](super::Sample), so that the audit integrates forces and works itself.

mod choice;
mod collocation;
mod events;
mod modes;
mod motion;
mod onset;
mod phase;
mod record;
mod switch;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collision::{Collision, ImpactOrder};
use super::{
    Impacts, Origin, Outcome, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind, check_finite, check_length,
};
use crate::setting::{Named, ValueError, at_least_one, check_positive};
use crate::{Contact, ContactId, ContactSolver, MechanicalSystem, State, StepError};

use collocation::Collocation;
use motion::Motion;
use phase::Phase;
use switch::Switch;

/// Settings of the event-driven scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EventDrivenSettings {
    /// Allowed error of an integrator step, relative to the largest coordinate and velocity. Below
    /// 1e-14 rounding decides.
    pub tolerance: f64,
    /// Events are located to this, in seconds; those within it happen together.
    pub event_tolerance: f64,
    /// Contacts with a gap up to this take part in impacts and new modes, in metres. Too large:
    /// bodies stop before they touch. Too small: contacts that close together do so one after
    /// another.
    pub gap_tolerance: f64,
    /// Impacts with a slower approach close the contact, in m/s, so that a bouncing ball comes to
    /// rest. Too large: small bounces are missing. Too small: bounces that are lost in rounding.
    pub closing_speed: f64,
    /// Sliding slower than this, in m/s, is none where modes are chosen. Too large: slow sliding is
    /// stopped. Too small: rounding slides.
    pub still_speed: f64,
    /// Whether the impacts of contacts that close together are solved together or one after
    /// another.
    pub impact_order: ImpactOrder,
    /// Whether the friction of a decompression may also use the impulse that Poisson's law gives
    /// back.
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
            corners: false,
            overlap: Overlap::Kept,
        }
    }

    fn check(&self) -> Result<(), ValueError> {
        check_positive("tolerance", "the tolerance", self.tolerance, "(relative)")?;
        check_positive("event-tolerance", "the event tolerance", self.event_tolerance, "s")?;
        check_positive("gap-tolerance", "the gap tolerance", self.gap_tolerance, "m")?;
        check_positive("closing-speed", "the closing speed", self.closing_speed, "m/s")?;
        check_positive("still-speed", "the still speed", self.still_speed, "m/s")?;
        at_least_one("event-limit", "events", self.event_limit)
    }

    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        Box::new(EventDriven::new(self.clone(), solver))
    }
}

/// Switches that happen together, at most: at an instant every contact changes a few times. Too
/// large: a scheme that makes no progress is noticed late. Too small: instants at which much
/// happens are refused.
const INSTANT_LIMIT: usize = 1000;

/// A start whose time differs from the last end by less than this share of the step is that end: a
/// simulation rounds the time of its grid. Too large: a start at another time goes on in old modes.
/// Too small: every step begins anew.
const SAME_TIME: f64 = 1e-9;

/// Contacts that an error names, at most.
const MOST_NAMES: usize = 6;

/// The event-driven scheme.
#[derive(Clone, Debug, Default)]
pub struct EventDriven {
    settings: EventDrivenSettings,
    solver: ContactSolver,
    collision: Collision,
    method: Collocation,
    motion: Motion,
    course: Course,
    /// Where the last step ended; another start begins anew.
    last: Option<State>,
    pace: Pace,
}

/// The state of the scheme between two transitions.
#[derive(Clone, Debug, Default)]
enum Course {
    /// Nothing is known of the motion.
    #[default]
    Start,
    /// Modes must be chosen.
    Switch(Switch),
    /// The motion goes on in its modes.
    Phase(Phase),
}

/// What leads from one state to the next.
enum Transition {
    /// Velocities have jumped, in a step of zero length.
    Jump(Switch),
    /// Modes are chosen, and a phase begins.
    Begin(Phase),
    /// Time has passed, and the phase goes on.
    Advance(Phase),
    /// Time has passed, and the phase has ended.
    Event(Switch),
    /// No time has passed, and modes must be chosen (again).
    Choose(Switch),
}

/// Guards against events without end.
#[derive(Clone, Debug, Default)]
struct Pace {
    /// Switches since the last point of the grid.
    grid_count: usize,
    /// An instant, and the switches since that happened together with it.
    instant: f64,
    instant_count: usize,
}

impl EventDriven {
    /// The scheme with these settings and this contact solver.
    pub fn new(settings: EventDrivenSettings, solver: ContactSolver) -> Self {
        let EventDrivenSettings { closing_speed, impact_order, restitution_friction, still_speed, .. } = settings;
        let collision =
            Collision { rest_speed: closing_speed, order: impact_order, restitution_friction, ..Collision::default() };
        let mut scheme = Self { settings, solver, collision, ..Self::default() };
        scheme.motion.still_speed = still_speed;
        scheme
    }
}

impl Scheme for EventDriven {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        check_length(h)?;
        let origin = Origin::new(system, state);
        let goes_on = |last: State| {
            let near = SAME_TIME * h.max(f64::EPSILON * state.t.abs());
            last.q == state.q && last.v == state.v && (last.t - state.t).abs() <= near
        };
        if !self.last.take().is_some_and(goes_on) {
            // A motion that went on elsewhere.
            self.collision.owed.clear();
            (self.course, self.pace) = Default::default();
        }
        let mut is_made = false;
        while !is_made {
            out.begin(StepKind::Smooth, h);
            let transition = match std::mem::take(&mut self.course) {
                Course::Start => self.start(origin, out)?,
                Course::Switch(switch) => self.decide(origin, switch, out)?,
                Course::Phase(phase) => self.follow(origin, h, phase, out)?,
            };
            (self.course, is_made) = match transition {
                Transition::Jump(switch) | Transition::Event(switch) => (Course::Switch(switch), true),
                Transition::Advance(phase) => (Course::Phase(phase), true),
                Transition::Choose(switch) => (Course::Switch(switch), false),
                Transition::Begin(phase) => (Course::Phase(phase), false),
            };
        }
        if out.h >= h {
            self.pace.grid_count = 0;
        }
        check_finite(state.t, "velocity", &out.state.v)?;
        check_finite(state.t, "coordinate", &out.state.q)?;
        self.last = Some(out.state.clone());
        Ok(())
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl Pace {
    /// Counts a switch.
    ///
    /// # Errors
    /// [`StepError::Instant`], which names these contacts, when there are too many.
    fn count(
        &mut self,
        Origin { system, state, .. }: Origin<'_>,
        settings: &EventDrivenSettings,
        near: &[Contact],
    ) -> Outcome {
        let (t, limit, tolerance) = (state.t, settings.event_limit, settings.event_tolerance);
        if t - self.instant > tolerance || t < self.instant {
            (self.instant, self.instant_count) = (t, 0);
        }
        self.instant_count += 1;
        self.grid_count += 1;
        let involved = || named(system, near.iter().map(|contact| contact.id));
        if self.grid_count > limit {
            let reason = format!("there were more than {limit} events since the last point of the grid{}", involved());
            let remedy = "raise `event-limit`, `closing-speed` or `still-speed` of the scheme `event-driven`, take a smaller step, or \
                          choose a time-stepping scheme, such as `stewart-trinkle`";
            return Err(StepError::Instant { t, reason, remedy });
        }
        if self.instant_count > INSTANT_LIMIT {
            let reason =
                format!("time stands still: more than {INSTANT_LIMIT} events within {tolerance:.0e} s{}", involved());
            let remedy = "raise `closing-speed` or `still-speed` of the scheme `event-driven`, or choose a time-stepping scheme, \
                          such as `stewart-trinkle`";
            return Err(StepError::Instant { t, reason, remedy });
        }
        Ok(())
    }
}

/// Names of some contacts, to be appended to a message.
fn named(system: &dyn MechanicalSystem, ids: impl ExactSizeIterator<Item = ContactId>) -> String {
    let count = ids.len();
    let names: Vec<String> = ids.take(MOST_NAMES).map(|id| system.contact_name(id)).collect();
    match count.saturating_sub(MOST_NAMES) {
        _ if names.is_empty() => String::new(),
        0 => format!(", at {}", names.join(", ")),
        more => format!(", at {} and {more} more", names.join(", ")),
    }
}

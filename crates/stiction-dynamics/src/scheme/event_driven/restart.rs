//! What happens at an instant: an impact, a shock, or the choice of modes for the phase that follows.

use super::choice::Choice;
use super::events::Trigger;
use super::modes::ContactMode;
use super::motion::{Fault, largest};
use super::{EventDriven, step_error};
use crate::scheme::{Step, StepKind, refuse_one_way_elements, solve_problem};
use crate::{Contact, ContactError, ContactId, MechanicalSystem, State, StepError};

/// A flight is timed by its parabola when it is lower than this many units of rounding of the largest coordinate.
const LOW_FLIGHT_UNITS: f64 = 1e5;

/// Joint rates above this share of the largest velocity contradict the joints.
const JOINT_RATE: f64 = 1e-12;

/// Contacts that approach slower than this share of the largest velocity do so by rounding.
const SLOWEST_IMPACT: f64 = 1e-13;

/// Contacts that part or approach slower than this share of the closing speed rest.
const RESTING: f64 = 0.01;

/// What a restart did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    /// A step of no length was made.
    Jumped,
    /// The modes stand.
    Ready,
}

/// A flight that is too low for the rounding of its gap: a parabola from some instant on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub id: ContactId,
    from: f64,
    height: f64,
    rate: f64,
    /// Negative.
    acceleration: f64,
}

impl Flight {
    fn height_at(&self, t: f64) -> f64 {
        let dt = t - self.from;
        (self.height + dt * (self.rate + 0.5 * dt * self.acceleration)).max(0.0)
    }

    /// When it ends.
    pub fn end(&self) -> f64 {
        let root = (self.rate * self.rate - 2.0 * self.acceleration * self.height).sqrt();
        self.from - (self.rate + root) / self.acceleration
    }
}

impl EventDriven {
    /// Solves an impact where one is due, else chooses the modes of the next phase.
    pub(super) fn restart(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        out: &mut Step,
    ) -> Result<Restart, StepError> {
        let (t, q, v) = (state.t, &state.q, &state.v);
        self.joints.clear();
        system.joints(t, q, &mut self.joints);
        self.gather(system, state);
        let rate = |contact: &Contact| contact.normal.dot(v) + contact.normal_drift;
        let speed = largest(v);

        // Steps of no length.
        // Slow approaches close contacts by an impact that gives nothing back, once; what that leaves is rounding.
        let closing = self.settings.closing_speed;
        let slowest =
            if self.has_jumped { closing } else { (SLOWEST_IMPACT * speed).clamp(RESTING * closing, closing) };
        let collides = self.near.iter().any(|contact| !self.flies(contact.id) && rate(contact) < -slowest);
        let is_first = self.last.is_none();
        let breaks_joints =
            is_first && self.joints.iter().any(|joint| (joint.row.dot(v) + joint.drift).abs() > JOINT_RATE * speed);
        if self.collision.is_decompressing() || collides || breaks_joints {
            self.collision.begin(system, state, &self.joints, out)?;
            if self.collision.is_decompressing() {
                self.collision.decompress(&self.near, &mut self.solver, state, out)?;
            } else if breaks_joints {
                out.kind = StepKind::Projection;
                out.friction.clear();
                solve_problem(&mut self.solver, t, out)?;
                out.state.v.clone_from(&out.solution.motion);
            } else {
                self.carried.clear();
                self.carried.extend(self.modes.contacts.iter().filter(|mode| mode.is_closed).map(|mode| mode.id));
                self.carried.sort_unstable();
                self.collision.impact(&self.near, &self.carried, &mut self.solver, state, out)?;
            }
            // What is closed after an impact is not yet known to be.
            self.modes.retain_contacts(|mode| self.carried.contains(&mode.id));
            self.triggers.clear();
            self.excluded.clear();
            self.flights.clear();
            self.touching.clear();
            self.has_jumped = true;
            return Ok(Restart::Jumped);
        }

        let (resting, leaving): (Vec<Contact>, Vec<Contact>) = self
            .near
            .iter()
            .cloned()
            .partition(|contact| !self.flies(contact.id) && rate(contact) <= self.resting_speed(contact));
        self.check_friction(system, t, &resting)?;
        match self.choose(system, state, &resting).map_err(|fault| step_error(system, t, 0.0, fault))? {
            Choice::Made => {
                self.time_flights(system, state, &leaving).map_err(|fault| step_error(system, t, 0.0, fault))?;
                self.needs_restart = false;
                self.triggers.clear();
                self.method.restart();
                self.next_step = f64::INFINITY;
                Ok(Restart::Ready)
            }
            Choice::Paradox => {
                self.shock(system, state, &resting, out)?;
                self.has_jumped = true;
                Ok(Restart::Jumped)
            }
            Choice::Impossible => {
                let reason =
                    format!("no accelerations and forces were found that obey all laws{}", self.involved(system));
                let remedy = "choose a time-stepping scheme, such as `stewart-trinkle`, which needs no accelerations";
                Err(StepError::Instant { t, reason, remedy })
            }
        }
    }

    /// Contacts that part slower than this rest, in m/s: slower than after any impact that gives something back.
    fn resting_speed(&self, contact: &Contact) -> f64 {
        let e = contact.restitution.normal;
        self.settings.closing_speed * if e > 0.0 { (0.5 * e).min(RESTING) } else { RESTING }
    }

    /// Whether a contact is on a timed flight that goes on, because the events of the instant close nothing. What closes takes along all that is near.
    fn flies(&self, id: ContactId) -> bool {
        !self.triggers.iter().any(|trigger| matches!(trigger, Trigger::Closes(_)))
            && self.flights.iter().any(|flight| flight.id == id)
    }

    /// Contacts that take part: closed up to the tolerance, closed before, or those whose gap has just closed.
    fn gather(&mut self, system: &dyn MechanicalSystem, state: &State) {
        let tolerance = self.settings.gap_tolerance;
        let closing = self.triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Closes(id) => Some(*id),
            _ => None,
        });
        let wanted: Vec<_> = self.modes.contacts.iter().map(|mode| mode.id).chain(closing).collect();
        self.near.clear();
        system.contacts(state.t, &state.q, tolerance, &mut self.near);
        if wanted.iter().any(|id| !self.near.iter().any(|contact| contact.id == *id)) {
            let ids: Vec<_> = self.near.iter().map(|contact| contact.id).chain(wanted).collect();
            self.near.clear();
            system.contacts_of(state.t, &state.q, &ids, &mut self.near);
        }
    }

    /// Refuses clutches, polytopes and sets of users, and methods with other sets than the cone, but in the plane.
    fn check_friction(&self, system: &dyn MechanicalSystem, t: f64, resting: &[Contact]) -> Result<(), StepError> {
        refuse_one_way_elements(t, "event-driven", &self.near, &[])?;
        for contact in resting.iter().filter(|contact| contact.friction.mu() > 0.0) {
            let count = contact.tangents.len();
            let is_round = contact.friction.shape().is_round_in_the_plane();
            let remedy = match (is_round, count > 1 && !self.solver.is_exact()) {
                (false, _) => "choose a time-stepping scheme",
                (true, true) => "choose that method",
                (true, false) => continue,
            };
            let what = format!("contact {}", system.contact_name(contact.id));
            return Err(StepError::Malformed { t, source: ContactError::NotFollowed { what, remedy } });
        }
        Ok(())
    }

    /// Times the flights of contacts that part so slowly that their gap is lost in rounding. A flight that was begun goes on from its own height, under the acceleration
    /// of the new modes.
    fn time_flights(&mut self, system: &dyn MechanicalSystem, state: &State, leaving: &[Contact]) -> Result<(), Fault> {
        let begun = std::mem::take(&mut self.flights);
        if leaving.is_empty() {
            return Ok(());
        }
        let mut modes = self.modes.clone();
        let own = modes.contacts.len();
        for contact in leaving {
            modes.contacts.push(ContactMode { id: contact.id, is_closed: false, gap: 0.0 });
        }
        self.motion.evaluate(system, &modes, state.t, &state.q, &state.v)?;
        let low = LOW_FLIGHT_UNITS * f64::EPSILON * largest(&state.q).max(1e-3);
        for (i, contact) in leaving.iter().enumerate() {
            let rate = contact.normal.dot(&state.v) + contact.normal_drift;
            let acceleration = self.motion.gap_acceleration(own + i);
            let before = begun.iter().find(|flight| flight.id == contact.id);
            let height = before.map_or(0.0, |flight| flight.height_at(state.t));
            if acceleration < 0.0 && rate * rate < -2.0 * acceleration * (low - height) {
                self.flights.push(Flight { id: contact.id, from: state.t, height, rate, acceleration });
            }
        }
        Ok(())
    }
}

//! A switch: an instant at which the modes of the next phase are chosen, unless velocities jump
//! first.
//!
//! They jump in an impact, in the decompression that follows it, and where no acceleration obeys
//! the laws: in a shock, an impact although nothing approaches (the paradox of Painlevé). After a
//! jump the scheme is at a switch again.

use super::choice::Choice;
use super::events::Trigger;
use super::modes::{GapMode, Modes, Part};
use super::{EventDriven, Transition, named};
use crate::scheme::collision::{begin_jump, solve_jump};
use crate::scheme::{Origin, Outcome, Step, StepKind, refuse_one_way, solve_problem};
use crate::vector::{filled, largest, norm};
use crate::{
    Contact, ContactCondition, ContactError, ContactId, ContactProblem, ContactSolution, Joint, JointCondition,
    StepError,
};

/// A flight is timed by its parabola when it is lower than this many units of rounding of the
/// largest coordinate, which counts as no smaller than the second number, in metres. Too large:
/// flights under forces that change are timed badly. Too small: rounding of the gap decides when
/// they end.
const LOW_FLIGHT_UNITS: f64 = 1e5;
const SMALLEST_COORDINATE: f64 = 1e-3;

/// Joint rates above this share of the largest velocity contradict the joints. Too large: a start
/// that does is projected without a record of it. Too small: rounding is projected.
const JOINT_RATE: f64 = 1e-12;

/// Contacts that approach slower than this share of the largest velocity do so by rounding. Too
/// large: impacts are missing. Too small: rounding makes impacts.
const SLOWEST_IMPACT: f64 = 1e-13;

/// Contacts that part or approach slower than this share of the closing speed rest; of those that
/// give something back, only slower than this share of what the slowest impact gives back. Too
/// large: small bounces are missing. Too small: contacts part by rounding.
const RESTING: f64 = 0.01;
const BOUNCING: f64 = 0.5;

/// A shock makes contacts part with this share of the closing speed: a trace, which is taken back.
/// Too large: sliding that the shock nearly stops is taken to stop. Too small: the solver answers
/// with no shock at all.
const PARTING: f64 = 0.5;

/// An instant at which the modes of the next phase are chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct Switch {
    /// Modes of the phase that ended.
    pub modes: Modes,
    /// The events that ended it.
    pub triggers: Vec<Trigger>,
    /// Its flights.
    pub flights: Vec<Flight>,
    pub past: Past,
}

/// What has happened at an instant so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    /// Whether velocities have jumped.
    pub has_jumped: bool,
    /// Events that ended phases at once: the modes of these phases did not last.
    pub excluded: Vec<Trigger>,
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

impl Switch {
    /// The switch after a jump, with what is left of the modes before it.
    fn after_jump(modes: Modes) -> Self {
        Self { modes, past: Past { has_jumped: true, ..Past::default() }, ..Self::default() }
    }

    /// Contacts that take part: closed up to the tolerance, closed before, or those whose gap has
    /// just closed.
    fn contacts(&self, origin: Origin<'_>, tolerance: f64) -> Vec<Contact> {
        let closing = self.triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Closes(id) => Some(*id),
            _ => None,
        });
        let wanted: Vec<ContactId> = self.modes.contacts.iter().map(|mode| mode.id).chain(closing).collect();
        let mut near: Vec<Contact> = filled(|out| origin.here().contacts(tolerance, out));
        if wanted.iter().any(|id| !near.iter().any(|contact| contact.id == *id)) {
            let ids: Vec<ContactId> = near.iter().map(|contact| contact.id).chain(wanted).collect();
            origin.here().contacts_of(&ids, &mut near);
        }
        near
    }

    /// Whether a contact is on a timed flight that goes on, because the events close nothing. What
    /// closes takes along all that is near.
    fn flies(&self, id: ContactId) -> bool {
        !self.triggers.iter().any(|trigger| matches!(trigger, Trigger::Closes(_)))
            && self.flights.iter().any(|flight| flight.id == id)
    }
}

impl EventDriven {
    /// Begins a motion. Velocities that contradict the joints are projected on them.
    pub(super) fn start(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome<Transition> {
        let v = &origin.state.v;
        let joints: Vec<Joint> = filled(|out| origin.here().joints(out));
        let limit = JOINT_RATE * largest(v);
        if !joints.iter().any(|joint| joint.rate(v).abs() > limit) {
            return Ok(Transition::Choose(Switch::default()));
        }
        begin_jump(StepKind::Projection, origin, &joints, out)?;
        solve_jump(&mut self.solver, out)?;
        Ok(Transition::Jump(Switch::after_jump(Modes::default())))
    }

    /// Solves an impact where one is due, else chooses the modes of the next phase.
    pub(super) fn decide(&mut self, origin: Origin<'_>, switch: Switch, out: &mut Step) -> Outcome<Transition> {
        let (t, v) = (origin.state.t, &origin.state.v);
        let near = switch.contacts(origin, self.settings.gap_tolerance);
        self.pace.count(origin, &self.settings, &near)?;

        // Slow approaches close contacts by an impact that gives nothing back, once; what that
        // leaves is rounding.
        let closing = self.settings.closing_speed;
        let slowest = match switch.past.has_jumped {
            true => closing,
            false => (SLOWEST_IMPACT * largest(v)).clamp(RESTING * closing, closing),
        };
        let collides = near.iter().any(|contact| !switch.flies(contact.id) && contact.rate(v) < -slowest);
        if self.collision.is_decompressing() || collides {
            return self.collide(origin, switch, &near, out);
        }

        let rests = |contact: &Contact| {
            let given_back =
                if contact.restitution.normal > 0.0 { BOUNCING * contact.restitution.normal } else { RESTING };
            !switch.flies(contact.id) && contact.rate(v) <= closing * given_back.min(RESTING)
        };
        let (resting, leaving): (Vec<Contact>, Vec<Contact>) = near.iter().cloned().partition(rests);
        refuse_one_way(t, "event-driven", &near, &[])?;
        self.check_friction(origin, &resting)?;
        let mut choice = Choice::new(origin, &switch, &resting, &mut self.motion)?;
        if let Some(mut phase) = choice.make(&mut self.solver)? {
            phase.flights = self.time_flights(origin, &phase.modes, &switch.flights, &leaving)?;
            self.method.restart();
            return Ok(Transition::Begin(phase));
        }
        if choice.has_sliding_contact() {
            return self.shock(origin, switch, &resting, out);
        }
        let reason = format!(
            "no accelerations and forces were found that obey all laws{}",
            named(origin.system, near.iter().map(|contact| contact.id))
        );
        let remedy = "choose a time-stepping scheme, such as `stewart-trinkle`, which needs no accelerations";
        Err(StepError::Instant { t, reason, remedy })
    }

    /// An impact, or the decompression of the last one.
    fn collide(&mut self, origin: Origin<'_>, switch: Switch, near: &[Contact], out: &mut Step) -> Outcome<Transition> {
        begin_jump(StepKind::Impact, origin, &filled(|out| origin.here().joints(out)), out)?;
        if self.collision.is_decompressing() {
            self.collision.decompress(near, &mut self.solver, out)?;
        } else {
            let mut carried: Vec<ContactId> = switch.modes.contacts.iter().map(|mode| mode.id).collect();
            carried.sort_unstable();
            self.collision.impact(near, &carried, &mut self.solver, &origin.state.v, out)?;
        }
        Ok(Transition::Jump(Switch::after_jump(switch.modes)))
    }

    /// Refuses polytopes and sets of users, and methods with other sets than the cone, but in the
    /// plane.
    fn check_friction(&self, origin: Origin<'_>, resting: &[Contact]) -> Outcome {
        for contact in resting.iter().filter(|contact| contact.friction.mu() > 0.0) {
            let count = contact.tangents.len();
            let is_round = contact.friction.shape().is_round_in_the_plane();
            let remedy = match (is_round, count > 1 && !self.solver.is_exact()) {
                (false, _) => "choose a time-stepping scheme",
                (true, true) => "choose that method",
                (true, false) => continue,
            };
            let what = format!("contact {}", origin.system.contact_name(contact.id));
            return Err(origin.malformed(ContactError::NotFollowed { what, remedy }));
        }
        Ok(())
    }

    /// Times the flights of contacts that part so slowly that their gap is lost in rounding. A
    /// flight that was begun goes on from its own height, under the acceleration of the new modes.
    fn time_flights(
        &mut self,
        origin: Origin<'_>,
        modes: &Modes,
        begun: &[Flight],
        leaving: &[Contact],
    ) -> Outcome<Vec<Flight>> {
        if leaving.is_empty() {
            return Ok(Vec::new());
        }
        let (t, closed_count) = (origin.state.t, modes.contacts.len());
        let mut modes = modes.clone();
        modes.contacts.extend(leaving.iter().map(|contact| GapMode { id: contact.id, is_closed: false, gap: 0.0 }));
        self.motion.evaluate(origin.here(), &modes, &origin.state.v)?;
        let low = LOW_FLIGHT_UNITS * f64::EPSILON * largest(&origin.state.q).max(SMALLEST_COORDINATE);
        let flights = leaving.iter().enumerate().map(|(i, contact)| {
            let before = begun.iter().find(|flight| flight.id == contact.id);
            Flight {
                id: contact.id,
                from: t,
                height: before.map_or(0.0, |flight| flight.height_at(t)),
                rate: contact.rate(&origin.state.v),
                acceleration: self.motion.gap_acceleration(closed_count + i),
            }
        });
        let is_low = |flight: &Flight| {
            flight.acceleration < 0.0 && flight.rate * flight.rate < -2.0 * flight.acceleration * (low - flight.height)
        };
        Ok(flights.filter(is_low).collect())
    }

    /// The impact problem although nothing approaches. Contacts are to part by a trace of speed,
    /// since with none at all the motion before it would be an answer.
    fn shock(
        &mut self,
        origin: Origin<'_>,
        mut switch: Switch,
        resting: &[Contact],
        out: &mut Step,
    ) -> Outcome<Transition> {
        begin_jump(StepKind::Shock, origin, &filled(|out| origin.here().joints(out)), out)?;
        for contact in resting {
            let own = ContactCondition::of(contact);
            let normal_bias = own.normal_bias - PARTING * self.settings.closing_speed;
            out.problem.contacts.push(ContactCondition { normal_bias, ..own });
            out.contacts.push(contact.clone());
        }
        solve_problem(&mut self.solver, origin.state.t, out)?;
        self.take_parting_back(origin, out)?;
        out.state.v.clone_from(&out.solution.motion);
        switch.modes.retain_contacts(|_| false);
        Ok(Transition::Jump(Switch { flights: switch.flights, ..Switch::after_jump(switch.modes) }))
    }

    /// Brings contacts that a shock has loaded from their trace of speed to rest, by less of the
    /// same impulses.
    fn take_parting_back(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome {
        let Step { problem, solution, contacts, .. } = out;
        let parting = PARTING * self.settings.closing_speed;
        problem.contacts.iter_mut().for_each(|condition| condition.normal_bias += parting);
        // The rows that hold: normals that are loaded, and the tangents of those that stick.
        let mut held = Vec::new();
        for (i, (condition, impulse)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
            if impulse.normal > 0.0 {
                held.push((i, None));
                let slip = condition.slip(&solution.motion);
                for (_, tangents) in Part::of_contact(condition.id, &contacts[i]) {
                    let slip = std::array::from_fn(|a| if tangents.contains(&a) { slip[a] } else { 0.0 });
                    if norm(&slip) <= self.settings.still_speed {
                        held.extend(tangents.map(|a| (i, Some(a))));
                    }
                }
            }
        }
        let row_of = |&(i, tangent): &(usize, Option<usize>)| {
            let condition = &problem.contacts[i];
            let (row, bias) = match tangent {
                None => (&condition.normal, condition.normal_bias),
                Some(a) => (&condition.tangents[a], condition.tangent_bias[a]),
            };
            JointCondition { row: row.clone(), bias, rounding: 0.0 }
        };
        let mut rest = ContactProblem {
            inertia: problem.inertia.clone(),
            free_motion: solution.motion.clone(),
            joints: problem.joints.iter().cloned().chain(held.iter().map(row_of)).collect(),
            ..ContactProblem::default()
        };
        let mut change = ContactSolution::default();
        self.solver.solve(&rest, &mut change).map_err(|source| origin.malformed(source))?;
        if !change.report.is_solved() {
            return Err(StepError::unsolved(origin.state.t, &mut rest, &change));
        }
        let (joints, others) = change.joints.split_at(problem.joints.len());
        solution.joints.iter_mut().zip(joints).for_each(|(sum, change)| *sum += change);
        for (&(i, tangent), change) in held.iter().zip(others) {
            match tangent {
                None => solution.contacts[i].normal += change,
                Some(a) => solution.contacts[i].tangent[a] += change,
            }
        }
        solution.motion = change.motion;
        Ok(())
    }
}

//! The first event of an integrator step.
//!
//! The events are those of the table in the [scheme](super). Their functions are looked at where
//! the step begins and at every stage. Between two of these nodes a sign change encloses an event,
//! which is then located along the dense output.

use super::EventDrivenSettings;
use super::collocation::Collocation;
use super::modes::{Modes, Part, Sliding};
use super::motion::Motion;
use super::phase::{Phase, state_of};
use crate::scheme::impact_time::Bracket;
use crate::scheme::{Origin, Outcome};
use crate::vector::{dot, filled, largest, norm};
use crate::{Contact, ContactId, State};

/// Forces below this share of the largest are rounding. Too large: contacts pull a little before
/// they open. Too small: they open by rounding.
const NO_FORCE: f64 = 1e-11;

/// Sliding velocities below this share of the largest velocity are rounding, and so are those below
/// the second share of the still speed, of bodies at rest. Too large: sliding that reverses goes
/// on. Too small: it ends by rounding.
const NO_SLIP: f64 = 1e-14;
const STILL_SHARE: f64 = 1e-2;

/// Sliding in space is clear from this many times the still speed on: slower sliding does not fade
/// and does not turn. Too large: it may end late. Too small: it ends where it has only turned.
const CLEAR_SLIDING: f64 = 2.0;

/// Events are located to this share of the tolerance within which they happen together, but not
/// below these units of rounding of a share of the step. Too large: events that happen together are
/// taken apart. Too small: more evaluations.
const LOCATED: f64 = 1e-3;
const LOCATED_UNITS: f64 = 4.0;

/// Evaluations until an event is located, at most.
const ROOT_LIMIT: usize = 100;

/// A root finder halves its interval once in so many evaluations, so that it shrinks from both
/// ends.
const HALVING: usize = 3;

/// An event: what ends a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Trigger {
    /// The gap of an open contact closes.
    Closes(ContactId),
    /// The normal force of a closed contact vanishes.
    Opens(ContactId),
    /// Friction reaches its bound.
    Slips(Part),
    /// Sliding ends.
    Stops(Part),
    /// A closed contact has another name from here on.
    Renamed,
}

/// How an integrator step ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// Without event.
    Plain,
    /// With these events after this share of it.
    Event(f64, Vec<Trigger>),
    /// Nowhere: a sliding velocity turns too far in it, and it holds up to this share.
    Turns(f64),
}

/// A function that is not negative while the modes hold.
#[derive(Clone, Copy, Debug)]
struct Indicator {
    /// The event where it vanishes.
    trigger: Trigger,
    value: f64,
    /// How much of the value is rounding.
    rounding: f64,
    /// Speed of what slides in space, each component times its semi-axis; none for everything else.
    speed: Option<f64>,
}

/// The gap of a contact at a node.
#[derive(Clone, Copy, Debug)]
struct Gap {
    id: ContactId,
    gap: f64,
    rate: f64,
}

/// The events found so far.
#[derive(Debug, Default)]
struct Found {
    events: Vec<(f64, Trigger)>,
    /// Where a sliding velocity first turns too far.
    turn: Option<f64>,
}

/// A place of a root: a share of the step, and the value there.
type Place = (f64, f64);

/// The search for events of the integrator step that was made from `t` over `h`.
pub(super) struct Search<'a> {
    pub origin: Origin<'a>,
    pub settings: &'a EventDrivenSettings,
    pub phase: &'a Phase,
    pub method: &'a Collocation,
    pub motion: &'a mut Motion,
    pub t: f64,
    pub h: f64,
}

impl Search<'_> {
    /// How the step ends.
    pub fn run(&mut self) -> Outcome<Ending> {
        let mut found = Found::default();
        self.find_changes_of_mode(&mut found)?;
        let gaps = self.gaps(&mut found);
        self.find_closing_gaps(&gaps, &mut found)?;
        self.find_ends_of_flights(&mut found);

        let (first, together) = (self.first(&found), self.together());
        if let Some(share) = found.turn
            && share < first
        {
            return Ok(Ending::Turns(share));
        }
        if found.events.is_empty() || first > 1.0 {
            return Ok(Ending::Plain);
        }
        found.events.retain(|(share, _)| *share <= first + together);
        Ok(Ending::Event(first, found.events.into_iter().map(|(_, trigger)| trigger).collect()))
    }

    /// Share of the step within which events happen together.
    fn together(&self) -> f64 {
        self.settings.event_tolerance / self.h
    }

    /// Share of the step to which events are located.
    fn accuracy(&self) -> f64 {
        (LOCATED * self.together()).max(LOCATED_UNITS * f64::EPSILON)
    }

    /// The share of the first event; beyond the step without any.
    fn first(&self, found: &Found) -> f64 {
        found.events.iter().fold(1.0 + self.together(), |first, (share, _)| first.min(*share))
    }

    /// The state after a share of the step.
    fn state_at(&self, share: f64) -> State {
        state_of(self.origin, self.t + share * self.h, &self.method.dense(share))
    }

    /// Where closed contacts open, friction reaches its bound, and sliding ends.
    fn find_changes_of_mode(&mut self, found: &mut Found) -> Outcome {
        let modes = &self.phase.modes;
        if modes.contacts.is_empty() && modes.sliding.is_empty() {
            return Ok(());
        }
        let (method, mut nodes) = (self.method, Vec::new());
        for (share, y) in method.points() {
            let (q, v) = y.split_at(self.origin.state.q.len());
            nodes.push((share, self.indicators(self.t + share * self.h, q, v)?));
        }
        for number in 0..nodes[0].1.len() {
            let values: Vec<(f64, Indicator)> = nodes.iter().map(|(share, all)| (*share, all[number])).collect();
            let Some(share) = self.find_change(number, &values)? else { continue };
            // In space a velocity that changes sign along its old direction need not vanish: it may
            // turn.
            let slides = values[0].1.speed.is_some() && share > 0.0;
            if slides && self.indicator_at(number, share)?.speed > Some(CLEAR_SLIDING * self.settings.still_speed) {
                found.turn = Some(found.turn.map_or(share, |other| other.min(share)));
            } else {
                found.events.push((share, values[0].1.trigger));
            }
        }
        Ok(())
    }

    /// Where an indicator with these values at the nodes first leaves what the modes allow, if it
    /// does.
    fn find_change(&mut self, number: usize, values: &[(f64, Indicator)]) -> Outcome<Option<f64>> {
        let still = self.settings.still_speed;
        let start = values[0].1;
        let is_slip = matches!(start.trigger, Trigger::Stops(_));
        // Forces obey the laws up to a tolerance where the modes were chosen, and leave them only
        // when they get worse. Where sliding has just reversed, the root of the last phase leaves a
        // trace of the old velocity.
        let begun = if is_slip { 0.0 } else { start.value.min(0.0) };
        let is_beyond = |(k, (_, now)): (usize, &(f64, Indicator))| {
            now.value < if k == 0 && is_slip { -still } else { begun - now.rounding }
        };
        let crossing = values.iter().enumerate().position(is_beyond);
        // Sliding that fades away without reversing ends when it is slower than the still speed.
        let speed = |now: &Indicator| now.speed.unwrap_or(0.0);
        let fades = (speed(&start) > CLEAR_SLIDING * still)
            .then(|| values.iter().position(|(_, now)| speed(now) <= still))
            .flatten();
        match (crossing, fades) {
            (Some(0), _) => Ok(Some(0.0)),
            (Some(k), fades) if fades.is_none_or(|other| k <= other) => {
                let ((from, low), (to, high)) = (values[k - 1], values[k]);
                // The end of sliding is located to rounding, whatever its time may err by: what is
                // left of the velocity there is dropped, and a stiff load makes much of it in
                // little time.
                let v = &self.method.start()[self.origin.state.q.len()..];
                let (accuracy, nothing) =
                    if is_slip { (f64::EPSILON, f64::EPSILON * largest(v)) } else { (self.accuracy(), 0.0) };
                let value = |share: f64| Ok(self.indicator_at(number, share)?.value);
                root((from, low.value.max(0.0)), (to, high.value), (accuracy, nothing), value).map(Some)
            }
            (_, fades) => Ok(fades.map(|k| values[k].0)),
        }
    }

    /// All indicators of the modes, in the same order at all states.
    fn indicators(&mut self, t: f64, q: &[f64], v: &[f64]) -> Outcome<Vec<Indicator>> {
        let Self { motion, phase: Phase { modes, .. }, .. } = self;
        motion.evaluate(self.origin.at(t, q), modes, v)?;
        let no_force = NO_FORCE * motion.force_scale;
        let no_slip = (NO_SLIP * largest(v)).max(STILL_SHARE * motion.still_speed);
        let normals = modes.contacts.iter().enumerate().map(|(i, mode)| {
            let trigger = Trigger::Opens(mode.id);
            Indicator { trigger, value: motion.normal_force(i), rounding: no_force, speed: None }
        });
        let friction = modes.sliding.iter().zip(&motion.sliders).map(|((part, sliding), slider)| match sliding {
            Sliding::Stick => {
                let trigger = Trigger::Slips(*part);
                Indicator { trigger, value: motion.margin(slider), rounding: no_force, speed: None }
            }
            Sliding::Slip(reference) | Sliding::Begin(reference) => {
                let slip = motion.slip(slider, v);
                let speed = (slider.tangents.len() > 1).then(|| norm(&slip));
                Indicator { trigger: Trigger::Stops(*part), value: dot(&slip, reference), rounding: no_slip, speed }
            }
        });
        Ok(normals.chain(friction).collect())
    }

    fn indicator_at(&mut self, number: usize, share: f64) -> Outcome<Indicator> {
        let State { t, q, v } = self.state_at(share);
        Ok(self.indicators(t, &q, &v)?[number])
    }

    /// The gaps of all contacts at the nodes, closed ones under their names in the modes. Where a
    /// closed contact goes on under another name, the step ends: its forces are recorded under one.
    /// It ends where the new name holds for sure.
    fn gaps(&self, found: &mut Found) -> Vec<(f64, Vec<Gap>)> {
        let modes = &self.phase.modes;
        let mut last: f64 = 0.0;
        let mut renamed = None;
        let mut gaps = Vec::new();
        for (share, y) in self.method.points() {
            let (q, v) = y.split_at(self.origin.state.q.len());
            let at = self.origin.at(self.t + share * self.h, q);
            let mut contacts: Vec<Contact> = filled(|out| at.contacts(f64::INFINITY, out));
            if share > 0.0 && renamed.is_none() && !keeps_names(modes, &contacts) {
                renamed = Some((last, share));
            }
            last = share;
            for mode in &modes.contacts {
                if let Some(name) = modes.find(mode, &contacts).map(|contact| contact.id) {
                    contacts.iter_mut().filter(|contact| contact.id == name).for_each(|contact| contact.id = mode.id);
                }
            }
            let gap = |contact: &Contact| Gap { id: contact.id, gap: contact.gap, rate: contact.rate(v) };
            gaps.push((share, contacts.iter().map(gap).collect()));
        }
        if let Some((mut low, mut high)) = renamed {
            let names: Vec<ContactId> = modes.contacts.iter().map(|mode| mode.id).collect();
            while high - low > self.accuracy() {
                let middle = 0.5 * (low + high);
                let State { t, q, .. } = self.state_at(middle);
                let found: Vec<Contact> = filled(|out| self.origin.at(t, &q).contacts_of(&names, out));
                if keeps_names(modes, &found) { low = middle } else { high = middle }
            }
            let after = (high + self.together()).min(1.0);
            if after < self.first(found) {
                found.events.push((after, Trigger::Renamed));
            }
        }
        gaps
    }

    /// Where gaps of open contacts close.
    fn find_closing_gaps(&self, nodes: &[(f64, Vec<Gap>)], found: &mut Found) -> Outcome {
        for pair in nodes.windows(2) {
            let ((from, starts), (to, ends)) = (&pair[0], &pair[1]);
            if *from > self.first(found) {
                break;
            }
            for end in ends {
                let is_timed = self.phase.flights.iter().any(|flight| flight.id == end.id);
                if is_timed || self.phase.modes.contact(end.id).is_some() {
                    continue;
                }
                let start = starts.iter().find(|gap| gap.id == end.id);
                let share = match self.phase.touching.iter().find(|(id, _)| *id == end.id) {
                    // Noise around nothing is no event, a penetration is.
                    Some((_, gap)) => (end.gap < gap - self.settings.gap_tolerance).then_some(*from),
                    None => self.closing((*from, start), (*to, end))?,
                };
                found.events.extend(share.map(|share| (share, Trigger::Closes(end.id))));
            }
        }
        Ok(())
    }

    /// Where flights end that are timed by their parabola.
    fn find_ends_of_flights(&self, found: &mut Found) {
        for flight in &self.phase.flights {
            let share = (flight.end() - self.t) / self.h;
            if share <= 1.0 + self.together() {
                found.events.push((share.min(1.0), Trigger::Closes(flight.id)));
            }
        }
    }

    /// Where an open contact closes between two nodes, if it does.
    fn closing(&self, (from, start): (f64, Option<&Gap>), (to, end): (f64, &Gap)) -> Outcome<Option<f64>> {
        let look = |share: f64| {
            let State { t, q, v } = self.state_at(share);
            let found: Vec<Contact> = filled(|out| self.origin.at(t, &q).contacts_of(&[end.id], out));
            found.first().map_or((f64::INFINITY, 0.0), |contact| (contact.gap, contact.rate(&v)))
        };
        let tolerances = (self.accuracy(), 0.0);
        let closes = |low: Place, high: Place| root(low, high, tolerances, |share| Ok(look(share).0)).map(Some);
        let Some(start) = start else {
            // The system did not know it before: it was not near.
            return if end.gap < 0.0 { closes((from, f64::INFINITY), (to, end.gap)) } else { Ok(None) };
        };
        if start.gap > 0.0 && end.gap < 0.0 && !(start.rate > 0.0 && from == 0.0) {
            return closes((from, start.gap), (to, end.gap));
        }
        if start.rate > 0.0 && end.rate < 0.0 && end.gap < 0.0 {
            // It parts and comes back: from where it is farthest.
            let far = root((from, start.rate), (to, end.rate), tolerances, |share| Ok(look(share).1))?;
            let height = look(far).0;
            return if height > 0.0 { closes((far, height), (to, end.gap)) } else { Ok(Some(far)) };
        }
        if start.gap > 0.0 && end.gap >= 0.0 && start.rate < 0.0 && end.rate > 0.0 {
            // It comes and goes: does it touch where it is nearest?
            let nearest = root((from, -start.rate), (to, -end.rate), tolerances, |share| Ok(-look(share).1))?;
            let depth = look(nearest).0;
            return if depth < 0.0 { closes((from, start.gap), (nearest, depth)) } else { Ok(None) };
        }
        // Penetrated and deeper still.
        Ok((start.gap <= 0.0 && end.gap < start.gap && start.rate <= 0.0 && end.rate < 0.0).then_some(from))
    }
}

/// Whether all closed contacts are among these by their names in the modes.
fn keeps_names(modes: &Modes, contacts: &[Contact]) -> bool {
    modes.contacts.iter().all(|mode| contacts.iter().any(|contact| contact.id == mode.id))
}

/// A root between a place where the function is not negative and one where it is, by the rule of
/// Illinois: the end that is not negative. It is found when it is known to `accuracy`, or when the
/// function there is at most `nothing`.
fn root(
    (low, low_value): Place,
    (high, high_value): Place,
    (accuracy, nothing): (f64, f64),
    mut function: impl FnMut(f64) -> Outcome<f64>,
) -> Outcome<f64> {
    let mut bracket = Bracket::new((low, low_value), (high, high_value));
    for step in 1..=ROOT_LIMIT {
        if bracket.width() <= accuracy {
            break;
        }
        let share = if step.is_multiple_of(HALVING) { bracket.middle() } else { bracket.secant() };
        let Some(share) = share else { break };
        let value = function(share)?;
        if (0.0..=nothing).contains(&value) {
            return Ok(share);
        }
        bracket.narrow(share, value);
    }
    Ok(bracket.low.0)
}

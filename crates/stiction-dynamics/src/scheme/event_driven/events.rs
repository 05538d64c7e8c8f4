//! Event functions along an integrator step, and where they vanish.

use super::EventDriven;
use super::modes::{Modes, Part, Sliding, dot, norm};
use super::motion::{Fault, Motion, largest};
use crate::{ContactId, MechanicalSystem};

/// Forces below this share of the largest are rounding, and so are sliding velocities below the second share of the largest.
const NO_FORCE: f64 = 1e-11;
const NO_SLIP: f64 = 1e-14;

/// Sliding velocities below this share of the still speed are rounding as well: those of bodies at rest.
const STILL_SHARE: f64 = 1e-2;

/// Evaluations until an event is located, at most.
const ROOT_LIMIT: usize = 100;

/// What ends a phase.
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

/// The gap of an open contact at a node of the step.
#[derive(Clone, Copy, Debug)]
pub(super) struct GapNode {
    id: ContactId,
    gap: f64,
    rate: f64,
}

/// How an integrator step ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// Without event.
    Plain,
    /// With events after this share of it; they are the scheme's triggers.
    Event(f64),
    /// A sliding velocity turns too far in it; it holds up to this share.
    Turns(f64),
}

/// An event function of the modes: of a contact, or of a part of friction, by its place.
#[derive(Clone, Copy, Debug)]
enum Watch {
    Normal(usize),
    Margin(usize),
    Slip(usize),
}

impl Watch {
    fn all(modes: &Modes) -> Vec<Self> {
        let normals = (0..modes.contacts.len()).map(Self::Normal);
        let friction = modes.sliding.iter().enumerate().map(|(k, (_, sliding))| match sliding {
            Sliding::Stick => Self::Margin(k),
            Sliding::Slip(_) | Sliding::Begin(_) => Self::Slip(k),
        });
        normals.chain(friction).collect()
    }

    fn trigger(self, modes: &Modes) -> Trigger {
        match self {
            Self::Normal(i) => Trigger::Opens(modes.contacts[i].id),
            Self::Margin(k) => Trigger::Slips(modes.sliding[k].0),
            Self::Slip(k) => Trigger::Stops(modes.sliding[k].0),
        }
    }

    /// Sliding velocity times semi-axes, its direction at the start of the step, and the number of tangents, of what slides.
    fn slip(self, motion: &Motion, modes: &Modes, v: &[f64]) -> Option<([f64; 3], [f64; 3], usize)> {
        let Self::Slip(k) = self else { return None };
        let Sliding::Slip(reference) = modes.sliding[k].1 else { return None };
        let slider = &motion.sliders[k];
        Some((motion.slip(slider, v), reference, slider.tangents.len()))
    }

    /// The value, which is not negative while the modes hold, and what of it is rounding. The motion was evaluated there.
    fn value(self, motion: &Motion, modes: &Modes, v: &[f64]) -> (f64, f64) {
        let no_force = NO_FORCE * motion.force_scale;
        match self {
            Self::Normal(i) => (motion.contact_forces[i].0, no_force),
            Self::Margin(k) => (motion.margin(&motion.sliders[k]), no_force),
            Self::Slip(_) => {
                let (slip, reference, _) = self.slip(motion, modes, v).unwrap_or_default();
                (dot(&slip, &reference), (NO_SLIP * largest(v)).max(STILL_SHARE * motion.still_speed))
            }
        }
    }
}

impl EventDriven {
    /// The first event of the integrator step that was made from $t$ over `h`.
    pub(super) fn find_event(&mut self, system: &dyn MechanicalSystem, t: f64, h: f64) -> Result<Ending, Fault> {
        let n = system.velocity_count();
        let watches = Watch::all(&self.modes);
        let shares: Vec<f64> = std::iter::once(0.0).chain(self.method.nodes).collect();
        let together = self.settings.event_tolerance / h;
        let accuracy = (1e-3 * together).max(4.0 * f64::EPSILON);
        let mut first = 1.0 + together;
        let mut found: Vec<(f64, Trigger)> = Vec::new();
        let mut turns = None;

        // The functions of the modes at the start and at every stage.
        let mut values = vec![Vec::new(); shares.len()];
        self.nodes.resize(shares.len(), Vec::new());
        for (k, &share) in shares.iter().enumerate() {
            let mut node = std::mem::take(&mut self.nodes[k]);
            match k {
                0 => node.clone_from(&self.y),
                _ => {
                    node.clear();
                    node.extend_from_slice(self.method.stage(k - 1));
                }
            }
            let (q, v) = node.split_at(node.len() - n);
            if !watches.is_empty() {
                self.motion.evaluate(system, &self.modes, t + share * h, q, v)?;
                for watch in &watches {
                    let (value, rounding) = watch.value(&self.motion, &self.modes, v);
                    let slip = watch.slip(&self.motion, &self.modes, v);
                    let speed = slip.map_or(0.0, |(slip, _, count)| if count > 1 { norm(&slip) } else { 0.0 });
                    values[k].push((value, rounding, speed));
                }
            }
            self.nodes[k] = node;
        }
        for (number, &watch) in watches.iter().enumerate() {
            // Where sliding has just reversed, the root of the last phase leaves a trace of the old velocity.
            let is_slip = matches!(watch, Watch::Slip(_));
            // Forces where the modes were chosen obey the laws up to a tolerance, and leave them only when they get worse.
            let begun = if is_slip { 0.0 } else { values[0][number].0.min(0.0) };
            let crossing = (0..shares.len()).find(|&k| {
                let (value, rounding, _) = values[k][number];
                value < if k == 0 && is_slip { -self.settings.still_speed } else { begun - rounding }
            });
            // Sliding that fades away without reversing ends when it is slower than the still speed.
            let speed = |k: usize| values[k][number].2;
            let still = self.settings.still_speed;
            let fades = (speed(0) > 2.0 * still).then(|| (1..shares.len()).find(|&k| speed(k) <= still)).flatten();
            let share = match (crossing, fades) {
                (Some(0), _) => 0.0,
                (Some(k), fades) if fades.is_none_or(|other| k <= other) => {
                    let mut value = |scheme: &mut Self, share: f64| {
                        scheme.probe(system, share);
                        let (q, v) = (&scheme.probe_q, &scheme.probe[scheme.probe.len() - n..]);
                        scheme.motion.evaluate(system, &scheme.modes, t + share * h, q, v)?;
                        Ok(watch.value(&scheme.motion, &scheme.modes, v).0)
                    };
                    let (low, high) = (values[k - 1][number].0.max(0.0), values[k][number].0);
                    // Sliding ends where nothing is left of it, and not where the time is nearly known: what is left is dropped, and a stiff load makes much of it in little time.
                    let (accuracy, nothing) = match watch {
                        Watch::Slip(_) => (f64::EPSILON, f64::EPSILON * largest(&self.y[self.y.len() - n..])),
                        Watch::Normal(_) | Watch::Margin(_) => (accuracy, 0.0),
                    };
                    self.root((shares[k - 1], low), (shares[k], high), (accuracy, nothing), &mut value)?
                }
                (_, Some(k)) => shares[k],
                _ => continue,
            };
            // In space a velocity that changes sign along its old direction need not vanish: it may turn.
            if let Some((_, _, count)) = watch.slip(&self.motion, &self.modes, &self.y[self.y.len() - n..])
                && count > 1
                && share > 0.0
            {
                self.probe(system, share);
                let v = &self.probe[self.probe.len() - n..];
                self.motion.look(system, &self.modes, t + share * h, &self.probe_q)?;
                let slip = watch.slip(&self.motion, &self.modes, v).unwrap_or_default().0;
                if norm(&slip) > 2.0 * still {
                    turns = Some(turns.map_or(share, |other: f64| other.min(share)));
                    continue;
                }
            }
            first = first.min(share);
            found.push((share, watch.trigger(&self.modes)));
        }

        // Gaps of open contacts.
        let mut renamed = None;
        self.gaps.resize(shares.len(), Vec::new());
        for (k, &share) in shares.iter().enumerate() {
            let node = std::mem::take(&mut self.nodes[k]);
            let (q, v) = node.split_at(node.len() - n);
            self.near.clear();
            system.contacts(t + share * h, q, f64::INFINITY, &mut self.near);
            if k > 0 && renamed.is_none() && !self.keeps_names() {
                renamed = Some(k);
            }
            self.gaps[k].clear();
            self.restore_names();
            for contact in &self.near {
                let rate = contact.normal.dot(v) + contact.normal_drift;
                self.gaps[k].push(GapNode { id: contact.id, gap: contact.gap, rate });
            }
            self.nodes[k] = node;
        }
        // A closed contact goes on under another name: its forces are recorded under one, so that the step ends where it has the new one for sure.
        if let Some(k) = renamed {
            let after = (self.renaming(system, (t, h), (shares[k - 1], shares[k]), accuracy) + together).min(1.0);
            if after < first {
                first = after;
                found.push((after, Trigger::Renamed));
            }
        }
        for k in 1..shares.len() {
            if shares[k - 1] > first {
                break;
            }
            for number in 0..self.gaps[k].len() {
                let end = self.gaps[k][number];
                if self.modes.contact(end.id).is_some() || self.flights.iter().any(|flight| flight.id == end.id) {
                    continue;
                }
                if let Some((_, gap)) = self.touching.iter().find(|(id, _)| *id == end.id) {
                    // Noise around nothing is no event, a penetration is.
                    if end.gap < gap - self.settings.gap_tolerance {
                        first = first.min(shares[k - 1]);
                        found.push((shares[k - 1], Trigger::Closes(end.id)));
                    }
                    continue;
                }
                let start = self.gaps[k - 1].iter().find(|node| node.id == end.id).copied();
                if let Some(share) = self.closing(system, (t, h), (shares[k - 1], start), (shares[k], end), accuracy)? {
                    first = first.min(share);
                    found.push((share, Trigger::Closes(end.id)));
                }
            }
        }
        for flight in &self.flights {
            let share = (flight.end() - t) / h;
            if share <= 1.0 + together {
                first = first.min(share.min(1.0));
                found.push((share.min(1.0), Trigger::Closes(flight.id)));
            }
        }
        if let Some(share) = turns
            && share < first
        {
            return Ok(Ending::Turns(share));
        }
        if found.is_empty() || first > 1.0 {
            return Ok(Ending::Plain);
        }
        self.triggers.clear();
        self.triggers.extend(found.iter().filter(|(share, _)| *share <= first + together).map(|(_, trigger)| *trigger));
        Ok(Ending::Event(first))
    }

    /// Gives closed contacts among those that are near the names that they have in the modes.
    fn restore_names(&mut self) {
        for mode in &self.modes.contacts {
            if let Some(name) = self.modes.find(mode, &self.near).map(|contact| contact.id) {
                self.near.iter_mut().filter(|contact| contact.id == name).for_each(|contact| contact.id = mode.id);
            }
        }
    }

    /// Whether all closed contacts are among those that are near by the names that they have in the modes.
    fn keeps_names(&self) -> bool {
        let mut closed = self.modes.contacts.iter().filter(|mode| mode.is_closed);
        closed.all(|mode| self.near.iter().any(|contact| contact.id == mode.id))
    }

    /// The share of the step after which a closed contact has no longer the name of the modes; it has it after the first share, and not after the second.
    fn renaming(
        &mut self,
        system: &dyn MechanicalSystem,
        (t, h): (f64, f64),
        (mut low, mut high): (f64, f64),
        accuracy: f64,
    ) -> f64 {
        let closed: Vec<_> = self.modes.contacts.iter().filter(|mode| mode.is_closed).map(|mode| mode.id).collect();
        while high - low > accuracy {
            let middle = 0.5 * (low + high);
            self.probe(system, middle);
            self.near.clear();
            system.contacts_of(t + middle * h, &self.probe_q, &closed, &mut self.near);
            if self.keeps_names() { low = middle } else { high = middle }
        }
        high
    }

    /// The share of the step after which an open contact closes between two nodes, if it does.
    fn closing(
        &mut self,
        system: &dyn MechanicalSystem,
        (t, h): (f64, f64),
        (from, start): (f64, Option<GapNode>),
        (to, end): (f64, GapNode),
        accuracy: f64,
    ) -> Result<Option<f64>, Fault> {
        let n = system.velocity_count();
        let id = end.id;
        let look = |scheme: &mut Self, share: f64| {
            scheme.probe(system, share);
            let v = &scheme.probe[scheme.probe.len() - n..];
            scheme.near.clear();
            system.contacts_of(t + share * h, &scheme.probe_q, &[id], &mut scheme.near);
            let contact = scheme.near.first();
            contact.map_or((f64::INFINITY, 0.0), |contact| (contact.gap, contact.normal.dot(v) + contact.normal_drift))
        };
        let Some(start) = start else {
            // The system did not know it before: it was not near.
            let mut gap = |scheme: &mut Self, share: f64| Ok(look(scheme, share).0);
            return match end.gap < 0.0 {
                true => self.root((from, f64::INFINITY), (to, end.gap), (accuracy, 0.0), &mut gap).map(Some),
                false => Ok(None),
            };
        };
        if start.gap > 0.0 && end.gap < 0.0 && !(start.rate > 0.0 && from == 0.0) {
            let mut gap = |scheme: &mut Self, share: f64| Ok(look(scheme, share).0);
            return self.root((from, start.gap), (to, end.gap), (accuracy, 0.0), &mut gap).map(Some);
        }
        if start.rate > 0.0 && end.rate < 0.0 && end.gap < 0.0 {
            // It parts and comes back: from where it is farthest.
            let mut rate = |scheme: &mut Self, share: f64| Ok(look(scheme, share).1);
            let far = self.root((from, start.rate), (to, end.rate), (accuracy, 0.0), &mut rate)?;
            let height = look(self, far).0;
            let mut gap = |scheme: &mut Self, share: f64| Ok(look(scheme, share).0);
            return match height > 0.0 {
                true => self.root((far, height), (to, end.gap), (accuracy, 0.0), &mut gap).map(Some),
                false => Ok(Some(far)),
            };
        }
        if start.gap > 0.0 && end.gap >= 0.0 && start.rate < 0.0 && end.rate > 0.0 {
            // It comes and goes: does it touch where it is nearest?
            let mut receding = |scheme: &mut Self, share: f64| Ok(-look(scheme, share).1);
            let nearest = self.root((from, -start.rate), (to, -end.rate), (accuracy, 0.0), &mut receding)?;
            let depth = look(self, nearest).0;
            let mut gap = |scheme: &mut Self, share: f64| Ok(look(scheme, share).0);
            return match depth < 0.0 {
                true => self.root((from, start.gap), (nearest, depth), (accuracy, 0.0), &mut gap).map(Some),
                false => Ok(None),
            };
        }
        // Penetrated and deeper still.
        Ok((start.gap <= 0.0 && end.gap < start.gap && start.rate <= 0.0 && end.rate < 0.0).then_some(from))
    }

    /// The state after a share of the integrator step: `probe`, with its configuration as one in `probe_q`.
    pub(super) fn probe(&mut self, system: &dyn MechanicalSystem, share: f64) {
        self.method.dense(share, &mut self.probe);
        let (q, v) = self.probe.split_at(self.probe.len() - system.velocity_count());
        self.probe_q.clear();
        self.probe_q.extend_from_slice(q);
        system.displace(0.0, q, v, 0.0, &mut self.probe_q); // no move, at any time
    }

    /// A stage of the integrator step, in the same places.
    pub(super) fn take_stage(&mut self, system: &dyn MechanicalSystem, i: usize) {
        self.probe.clear();
        self.probe.extend_from_slice(self.method.stage(i));
        let (q, v) = self.probe.split_at(self.probe.len() - system.velocity_count());
        self.probe_q.clear();
        self.probe_q.extend_from_slice(q);
        system.displace(0.0, q, v, 0.0, &mut self.probe_q); // no move, at any time
    }

    /// A root between a share where the function is not negative and one where it is, by the rule of Illinois; the end that is not negative. It is found when it is known
    /// to `accuracy`, or when the function there is at most `nothing`.
    fn root(
        &mut self,
        (mut low, mut low_value): (f64, f64),
        (mut high, mut high_value): (f64, f64),
        (accuracy, nothing): (f64, f64),
        function: &mut dyn FnMut(&mut Self, f64) -> Result<f64, Fault>,
    ) -> Result<f64, Fault> {
        let mut last_side = 0;
        for step in 0..ROOT_LIMIT {
            let width = high - low;
            if width <= accuracy {
                break;
            }
            let secant = high - high_value * width / (high_value - low_value);
            // Every third step halves, so that the interval shrinks from both ends.
            let mut share = if low_value.is_finite() && step % 3 != 2 { secant } else { 0.5 * (low + high) };
            if !(share > low && share < high) {
                share = 0.5 * (low + high);
            }
            if !(share > low && share < high) {
                break;
            }
            let value = function(self, share)?;
            if (0.0..=nothing).contains(&value) {
                return Ok(share);
            }
            if value > 0.0 {
                (low, low_value) = (share, value);
                if last_side == 1 {
                    high_value *= 0.5;
                }
                last_side = 1;
            } else {
                (high, high_value) = (share, value);
                if last_side == -1 {
                    low_value *= 0.5;
                }
                last_side = -1;
            }
        }
        Ok(low)
    }
}

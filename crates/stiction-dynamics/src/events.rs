//! What happens at contacts from step to step: impacts, sticking, sliding, opening.

use serde::Serialize;

use crate::vector::norm;
use crate::{ContactId, State, Step, StepKind};

/// What a contact does during a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContactMode {
    /// Apart, without impulse.
    Open,
    /// The bodies approached and the impulse stopped them.
    Impact,
    /// An impact without collision: the bodies did not approach, but no acceleration was possible.
    Shock,
    /// Together without sliding. A contact of a hyperstatic body may touch and carry nothing.
    Stick,
    /// Together and sliding, or free to: without friction nothing sticks.
    Slip,
}

impl ContactMode {
    /// The name in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Impact => "impact",
            Self::Shock => "shock",
            Self::Stick => "stick",
            Self::Slip => "slip",
        }
    }
}

/// A contact changed its mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Start of the step in which it happened, in seconds.
    pub t: f64,
    /// Which contact.
    pub contact: ContactId,
    /// What it did before.
    pub from: ContactMode,
    /// What it does now.
    pub to: ContactMode,
    /// Normal impulse of the step, in N s.
    pub impulse: f64,
}

/// Sliding or approach below this speed, in m/s, counts as none. Too large: slow sliding is called
/// sticking. Too small: rounding is called sliding.
pub const STILL_SPEED: f64 = 1e-9;

/// A contact without impulse whose gap at the end of the step is above this, in metres, is open.
/// Too large: contacts stay closed for a while after they part. Too small: rounding opens the
/// unloaded contacts of a hyperstatic body.
pub const TOUCHING_GAP: f64 = 1e-9;

/// Normal impulses below this, relative to the largest impulse of the step, are rounding.
const NO_IMPULSE: f64 = 1e-10;

/// Steps over which one impact may spread: in a position-level scheme the first step closes the gap
/// and the second one takes the rest of the approach velocity.
const IMPACT_STEPS: usize = 2;

/// What a friction element of a step does: it sticks or slips.
pub fn friction_mode(step: &Step, element: usize) -> ContactMode {
    // As for contacts below.
    let slip = match step.kind {
        StepKind::Smooth => step.problem.friction[element].slip(&step.solution.motion),
        _ => step.friction[element].slip(&step.solution.motion),
    };
    if norm(&slip) > STILL_SPEED { ContactMode::Slip } else { ContactMode::Stick }
}

/// Follows the mode of every contact.
#[derive(Clone, Debug, Default)]
pub struct ModeTracker {
    /// Contacts that were closed in the last step, sorted, with their mode and the number of impact
    /// steps so far.
    last: Vec<(ContactId, ContactMode, usize)>,
    current: Vec<(ContactId, ContactMode, usize)>,
    /// Modes in the order of the contacts of the last observed step.
    modes: Vec<ContactMode>,
}

impl ModeTracker {
    /// Finds the modes of a step and appends what changed to `events`. Returns the modes in the
    /// order of the contacts.
    pub fn observe(&mut self, before: &State, step: &Step, events: &mut Vec<Event>) -> &[ContactMode] {
        self.modes.clear();
        // What belongs to an impact says nothing new of the modes, and a projection has no
        // contacts.
        if matches!(step.kind, StepKind::Decompression | StepKind::Projection) {
            let last =
                |id| self.last.binary_search_by_key(&id, |entry| entry.0).map_or(ContactMode::Open, |i| self.last[i].1);
            self.modes.extend(step.contacts.iter().map(|contact| last(contact.id)));
            return &self.modes;
        }
        self.current.clear();
        let applied = step.force.iter().fold(0.0f64, |largest, force| largest.max(step.h * force.abs()));
        let largest = step.solution.contacts.iter().fold(applied, |largest, impulse| largest.max(impulse.normal));
        for (i, (contact, impulse)) in step.contacts.iter().zip(&step.solution.contacts).enumerate() {
            let previous = self.last.binary_search_by_key(&contact.id, |entry| entry.0).ok().map(|i| self.last[i]);
            let (from, impact_steps) = previous.map_or((ContactMode::Open, 0), |(_, mode, steps)| (mode, steps));
            let approach = -contact.rate(&before.v);
            let is_impact = match step.kind {
                StepKind::Stepping => {
                    approach > STILL_SPEED
                        && (from == ContactMode::Open || (from == ContactMode::Impact && impact_steps < IMPACT_STEPS))
                }
                StepKind::Impact => approach > STILL_SPEED && from == ContactMode::Open,
                StepKind::Smooth | StepKind::Decompression | StepKind::Projection | StepKind::Shock => false,
            };
            let condition = &step.problem.contacts[i];
            // A smooth step may ask what sticks to take back a little of what it slid, by the bias
            // of its condition.
            let slip = match step.kind {
                StepKind::Smooth => condition.slip(&step.solution.motion),
                _ => contact.slip(&step.solution.motion),
            };
            let is_sliding = norm(&slip) > STILL_SPEED;
            let is_smooth = condition.mu == 0.0 && condition.extra_bound == 0.0;
            let is_loaded = impulse.normal > NO_IMPULSE * largest;
            let gap_at_end = step.h * condition.normal_rate(&step.solution.motion);
            let mode = if step.kind == StepKind::Shock && is_loaded {
                ContactMode::Shock
            } else if !is_loaded && gap_at_end > TOUCHING_GAP {
                ContactMode::Open
            } else if is_impact && is_loaded {
                ContactMode::Impact
            } else if is_sliding || is_smooth {
                ContactMode::Slip
            } else {
                ContactMode::Stick
            };
            self.modes.push(mode);
            if mode != ContactMode::Open {
                let steps = if mode == ContactMode::Impact { impact_steps + 1 } else { 0 };
                self.current.push((contact.id, mode, steps));
            }
            if mode != from {
                events.push(Event { t: before.t, contact: contact.id, from, to: mode, impulse: impulse.normal });
            }
        }
        self.current.sort_unstable_by_key(|entry| entry.0);
        // Contacts that were closed and have left the active set.
        for &(contact, from, _) in &self.last {
            if !step.contacts.iter().any(|c| c.id == contact) {
                events.push(Event { t: before.t, contact, from, to: ContactMode::Open, impulse: 0.0 });
            }
        }
        std::mem::swap(&mut self.last, &mut self.current);
        &self.modes
    }
}

//! Where the bodies are: penetration, passing through each other, pushing from afar. The system is
//! asked anew, outside the scheme.

use super::StepAudit;
use crate::scheme::origin::Origin;
use crate::{Contact, ContactId, MechanicalSystem, Step, Way};

/// A contact pushes when its impulse is at least this share of the largest of the step. Too large:
/// a weak push from afar is not seen. Too small: the rounding of a solver on a contact that is open
/// counts as a push.
const PUSH_SHARE: f64 = 1e-6;

/// Bodies that are nearer than this share of the smaller one at the end of the step touch, and are
/// looked for nowhere else. Too large: a push from afar is not seen. Too small: searches for
/// nothing.
const TOUCH_SHARE: f64 = 1e-4;

/// Contacts are looked for up to this share of the largest size among those that push, and farther
/// only where none is found there. Too large: far more contacts than needed. Too small: many
/// searches.
const SEARCH_SHARE: f64 = 1e-2;

/// A search that found nothing is repeated this much farther.
const SEARCH_GROWTH: f64 = 10.0;

/// The contacts at some places of a step: its end, its start, and where contacts were stated.
#[derive(Clone, Debug, Default)]
pub(super) struct Geometry {
    found: [Vec<Contact>; 3],
}

impl Geometry {
    /// Judges the geometry of a step; returns a contact of two bodies that passed through each
    /// other.
    pub(super) fn judge(&mut self, origin: Origin<'_>, step: &Step, audit: &mut StepAudit) -> Option<ContactId> {
        let Origin { system, state: before, .. } = origin;
        let after = &step.state;
        let pushes = |i: usize| {
            step.solution.contacts.get(i).map_or(0.0, |c| c.normal) + step.restitution.get(i).unwrap_or(&0.0)
        };
        let count = step.contacts.len();
        let strongest = (0..count).fold(0.0f64, |most, i| most.max(pushes(i)));
        let pushing = (0..count).filter(|&i| strongest > 0.0 && pushes(i) >= PUSH_SHARE * strongest);
        let pushing = pushing.map(|i| (step.contacts[i].id, size_of(system, step.contacts[i].id)));
        let mut horizon = pushing.clone().fold(0.0f64, |far, (_, size)| far.max(SEARCH_SHARE * size));

        let end = &mut self.found[0];
        origin.at(after.t, &after.q).contacts(horizon, end);
        for contact in end.iter().filter(|contact| contact.gap < 0.0) {
            audit.penetration = audit.penetration.max(-contact.gap);
            audit.penetration_share = audit.penetration_share.max(-contact.gap / size_of(system, contact.id));
        }

        // Where contacts were stated counts when it is on the way, and not a prediction of its end.
        let is_on_the_way = before.t < step.linearized_time && step.linearized_time < after.t;
        let places = [
            (after.t, &after.q),
            (before.t, &before.q),
            if is_on_the_way { (step.linearized_time, &step.linearized_at) } else { (after.t, &after.q) },
        ];
        let mut is_searched = false;
        let mut hint = 0;
        for (id, size) in pushing {
            if gap_of_pair(&self.found[0], id, &mut hint, TOUCH_SHARE * size) <= TOUCH_SHARE * size {
                continue;
            }
            loop {
                if !is_searched {
                    is_searched = true;
                    for (found, (t, q)) in self.found.iter_mut().zip(places) {
                        origin.at(t, q).contacts(horizon, found);
                    }
                }
                let gaps = self.found.iter().map(|found| gap_of_pair(found, id, &mut 0, TOUCH_SHARE * size));
                let gap = gaps.fold(f64::INFINITY, f64::min);
                if gap.is_finite() || horizon.is_infinite() {
                    // Bodies that have no gap anywhere are apart without end.
                    audit.push_distance = audit.push_distance.max(gap.max(0.0) / size);
                    break;
                }
                horizon *= SEARCH_GROWTH;
                is_searched = false;
            }
        }

        // The way from state to state, by way of the samples where there are some.
        if step.h <= 0.0 {
            return None;
        }
        let mut from = (before.t, &before.q[..]);
        for state in step.samples.iter().map(|sample| &sample.state).chain([after]) {
            let to = (state.t, &state.q[..]);
            if let Some(passage) = system.passage(Way::Taken, from, to) {
                audit.passages = 1.0;
                return Some(passage.contact);
            }
            from = to;
        }
        None
    }
}

/// What the gap of a contact is measured against, in metres or radians.
fn size_of(system: &dyn MechanicalSystem, id: ContactId) -> f64 {
    system.contact_size(id).unwrap_or(1.0)
}

/// A gap between the two bodies of a contact that is at most `enough`, else the least one; infinite
/// when they have none. Contacts come in the same order at all places, so that the search goes on
/// where the last one ended.
fn gap_of_pair(contacts: &[Contact], id: ContactId, hint: &mut usize, enough: f64) -> f64 {
    // Systems that number their contacts have no pairs.
    let is_same = |other: ContactId| match id.first == id.second {
        true => other == id,
        false => (other.first, other.second) == (id.first, id.second),
    };
    let mut least = f64::INFINITY;
    for k in 0..contacts.len() {
        let place = (*hint + k) % contacts.len();
        let contact = &contacts[place];
        if is_same(contact.id) && contact.gap < least {
            least = contact.gap;
            if least <= enough {
                *hint = place;
                break;
            }
        }
    }
    least
}

//! Where a smooth step ends early: a gap closes, sliding ends, or a normal turns too far.

use super::overlaps::closed_at;
use super::{ClosingTime, ROUNDING, Trapezoidal};
use crate::scheme::impact_time::{closing_share, closing_share_by_cubic};
use crate::scheme::{Origin, Step};
use crate::static_friction::Rubbing;
use crate::vector::{dot, has, insert, norm, refill};
use crate::{Contact, FrictionElement, FrictionShape, State};

/// Cosine of the largest angle by which the normal of a contact may turn in half a step; if it
/// turns farther, the step is halved. The rows in its middle stand for the whole step: with a pin
/// that runs around a hole of little play they do not, and its speed grows. Too small: motion in
/// tight holes may grow without bound. Too large: shorter steps than needed.
const LEAST_NORMAL_COSINE: f64 = 0.9;

/// Events of sliding that are located within one step of the grid, at most. Contacts that pull at
/// each other may stop and start again without end; the rest of such a step is made without looking
/// for them.
const STOP_LIMIT: usize = 20;

/// Sliding slower than this many times the fastest rate at which the step takes back drift has no
/// end of its own: it is part of what takes back the drift. Too small: steps without end where many
/// contacts and joints waver. Too large: slow sliding stops some steps late.
const DRIFT_SHARE: f64 = 10.0;

/// How a trial step went on: to its end, or to an event before.
pub(super) enum Trial {
    /// The step holds up to this share of it, where something may have stopped to slide.
    Holds { share: f64 },
    /// Sliding ends so early in it that it must be repeated with a shorter step.
    TooLong {
        /// What slid.
        element: Rubbing,
    },
}

impl Trapezoidal {
    /// Whether the normal of an active contact turns too far between the start of the step and its
    /// middle.
    pub(super) fn turns_too_far(&self, out: &Step) -> bool {
        out.contacts.iter().any(|middle| {
            let start = self.start.iter().find(|start| start.id == middle.id).and_then(|start| start.frame);
            match (start, middle.frame) {
                (Some(start), Some(middle)) => dot(&start.normal, &middle.normal) < LEAST_NORMAL_COSINE,
                _ => false,
            }
        })
    }

    /// Finds the contacts at the end of the trial, and friction elements at both ends.
    pub(super) fn find_ends(&mut self, origin: Origin<'_>, out: &Step) {
        let end = origin.at(origin.state.t + out.h, &self.q_new);
        end.contacts(self.horizon, &mut self.end);
        self.start_friction.clear();
        self.end_friction.clear();
        if !out.friction.is_empty() {
            origin.here().friction(&mut self.start_friction);
            end.friction(&mut self.end_friction);
        }
    }

    /// Whether what slid goes on sliding. Where it ends within the trial, the share of it after
    /// which the sliding speed is smallest.
    pub(super) fn judge_slip(&mut self, state: &State, out: &Step) -> Trial {
        self.stopped.clear();
        if !self.settings.locate_stops || self.stops > STOP_LIMIT {
            return Trial::Holds { share: 1.0 };
        }
        let (v, u, v_new) = (&state.v, &out.solution.motion, &self.v_new);
        let contacts = out.contacts.iter().zip(&out.problem.contacts).zip(&out.solution.contacts);
        // In other sets parts of the sliding end one by one, and what remains of it must go on. The
        // set is that of the contact itself: a polygon by which a method replaces the cone is meant
        // to be round.
        let is_one = |contact: &Contact| contact.friction.shape() == FrictionShape::Ball;
        let loaded = contacts.filter(|((own, c), impulse)| c.mu > 0.0 && impulse.normal > 0.0 && is_one(own));
        // Sliding and drilling stop together: they are measured along the semi-axes of their
        // friction set. Rows turn on the way, and a slip is that of the rows of its own time: those
        // of the middle would miss it at the ends by ½ h Ṫ v, as much as it changes in a step.
        let contacts = loaded.map(|((_, c), _)| {
            let slip_of = |contacts: &[Contact], v: &[f64]| match contacts.iter().find(|contact| contact.id == c.id) {
                Some(contact) => contact.slip(v),
                None => c.slip(v),
            };
            let slips = [slip_of(&self.start, v), c.slip(u), slip_of(&self.end, v_new)];
            (Rubbing::Contact(c.id), slips.map(|slip| std::array::from_fn(|a| c.friction_axes[a] * slip[a])))
        });
        let elements = out.problem.friction.iter().zip(&out.friction);
        let elements = elements.filter(|(e, element)| e.bound > 0.0 && element.shape == FrictionShape::Ball);
        let elements = elements.map(|(e, _)| {
            let slip_of = |elements: &[FrictionElement], v: &[f64]| {
                elements.iter().find(|element| element.id == e.id).map_or_else(|| e.slip(v), |element| element.slip(v))
            };
            let slips = [slip_of(&self.start_friction, v), e.slip(u), slip_of(&self.end_friction, v_new)];
            (Rubbing::Element(e.id), slips)
        });
        let mut share = 1.0f64;
        let still = self.settings.still_speed.max(DRIFT_SHARE * self.drift_rate);
        for (element, [first, mean, last]) in contacts.chain(elements) {
            // What did not slide may begin to, and needs no event: its friction changes
            // continuously.
            if norm(&first) <= still || !has(&self.sliding, element) {
                continue;
            }
            if dot(&first, &last) > 0.0 {
                continue;
            }
            if dot(&first, &mean) <= still * norm(&first) {
                return Trial::TooLong { element }; // friction held it, or worse, pushed it: not what it did before the end
            }
            let change: [f64; 3] = std::array::from_fn(|a| last[a] - first[a]);
            let ends = -dot(&first, &change) / dot(&change, &change);
            if ends < share * (1.0 - ROUNDING) {
                share = ends;
                self.stopped.clear();
            }
            if ends <= share * (1.0 + ROUNDING) {
                self.stopped.push(element);
            }
        }
        self.stops += usize::from(share < 1.0);
        Trial::Holds { share }
    }

    /// The share of the trial after which an open contact closes, if that is before `share`; what
    /// stopped later has then not stopped.
    pub(super) fn first_collision(&mut self, origin: Origin<'_>, share: f64, out: &mut Step) -> f64 {
        let (active, overlaps) = (&out.contacts, &self.overlaps);
        let is_active = |contact: &Contact| active.iter().any(|other| other.id == contact.id);
        self.end.retain(|contact| contact.gap < closed_at(overlaps, contact.id) && !is_active(contact));
        if self.end.is_empty() {
            return share;
        }
        let mut first = share;
        for contact in &self.end {
            let (closed_at, tolerance) = (closed_at(&self.overlaps, contact.id), self.settings.gap_tolerance);
            let way = (out.h, &self.v_new[..]);
            let cubic = match self.settings.closing_time {
                ClosingTime::Way => None,
                ClosingTime::Cubic => closing_share_by_cubic(origin, way, contact, closed_at),
            };
            let share = cubic.unwrap_or_else(|| closing_share(origin, way, contact, closed_at, tolerance));
            first = first.min(share);
            if share <= ROUNDING {
                insert(contact.id, &mut self.carried);
                insert(contact.id, &mut self.joined);
                if norm(&contact.slip(&origin.state.v)) > self.settings.still_speed {
                    insert(Rubbing::Contact(contact.id), &mut self.sliding);
                }
            }
        }
        if first < share {
            self.stopped.clear();
        }
        first
    }

    /// Ends the step after a share of it: velocities are linear on the way, impulses and friction
    /// bounds are in proportion.
    pub(super) fn cut(&mut self, origin: Origin<'_>, share: f64, out: &mut Step) {
        out.h *= share;
        let v = &origin.state.v;
        self.v_new.iter_mut().zip(v).for_each(|(end, start)| *end = start + share * (*end - start));
        refill(&mut self.product, self.v_new.iter().zip(v).map(|(end, start)| 0.5 * (start + end)));
        origin.advance(&self.product, out.h, &mut self.q_new);
        out.solution.joints.iter_mut().for_each(|impulse| *impulse *= share);
        for impulse in &mut out.solution.contacts {
            impulse.normal *= share;
            impulse.tangent.iter_mut().for_each(|part| *part *= share);
        }
        out.solution.friction.iter_mut().flatten().for_each(|part| *part *= share);
        out.problem.friction.iter_mut().for_each(|element| element.bound *= share);
    }
}

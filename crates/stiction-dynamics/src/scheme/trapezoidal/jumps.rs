//! Steps of no length: impacts with their decompression, shocks, and projections of velocities on
//! what holds from now on.
//!
//! A shock is an impact although nothing approaches (the paradox of Painlevé). Time stepping finds
//! it by itself, but (5.7) asks the mean velocity to obey the friction law, so that a sliding
//! contact which a shock stops would slide back with the speed that it had, with impulses twice as
//! large, however short the step. Such a step is made as the impact problem instead. With nothing
//! that approaches the motion before it would be an answer, so contacts are asked to part by a
//! trace of speed; the projection that follows takes it back.

use super::{ROUNDING, Trapezoidal};
use crate::constrained_motion::mobility;
use crate::scheme::collision::{begin_jump, solve_jump};
use crate::scheme::{Origin, Outcome, Step, StepKind, check_finite, solve_problem};
use crate::static_friction::Rubbing;
use crate::vector::{dot, has, insert, largest, norm, refill};
use crate::{Contact, ContactCondition, Joint, Row, StepError, Tangents};

/// Shocks are looked for where contacts slide this many times faster than the trace of speed. Too
/// small: what the trace does to a sliding contact counts as a shock. Too large: slow shocks are
/// missed.
const SHOCK_SPEED: f64 = 1e3;

/// Contacts that approach with less than this share of
/// [`still_speed`](super::TrapezoidalSettings::still_speed) do not collide.
const STANDSTILL: f64 = 1e-3;

/// Attempt to end sliding at which it is taken to have stopped: in a step shorter by the factor
/// $2^{30}$ friction changes no velocity.
const STOP_ATTEMPT: usize = 3;

/// Impulses of a projection are at most this many times the momentum, both as the root of an
/// energy; larger ones come from rows that nearly contradict each other. Too large: what they do to
/// the energy is rounding. Too small: a long lever counts as a contradiction.
const IMPULSE_LIMIT: f64 = 1e4;

impl Trapezoidal {
    /// An impact, its decompression, or a projection of velocities, where one is due. False when
    /// there is none.
    pub(super) fn jump(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome<bool> {
        let v = &origin.state.v;
        let rounding = ROUNDING * largest(v);
        // Contacts that approach although they are closed; those that carried an impulse waver
        // around zero. Slower than anything that slides is rounding, too: else what is left of
        // velocities would collide without end.
        let least = rounding.max(STANDSTILL * self.settings.still_speed);
        let approaches = |contact: &Contact| !self.is_carried(contact.id) && contact.rate(v) < -least;
        let collides = self.start.iter().any(approaches);
        if !self.collision.is_decompressing() && !collides {
            // Before the first step velocities may contradict joints.
            let is_due = !self.has_begun || !self.stopped.is_empty();
            return if is_due { self.project(origin, out) } else { Ok(false) };
        }
        begin_jump(StepKind::Impact, origin, &self.start_joints, out)?;
        if self.collision.is_decompressing() {
            self.collision.decompress(&self.start, &mut self.solver, out)?;
        } else {
            self.collision.impact(&self.start, &self.carried, &mut self.solver, v, out)?;
            // What holds after the impact is known from its own solution.
            self.stopped.clear();
        }
        check_finite(origin.state.t, "velocity", &out.state.v)?;

        // A contact that the impact leaves at rest stays closed; one that it sends away is open.
        let rounding = ROUNDING * largest(&out.state.v).max(largest(v));
        self.carried.retain(|id| out.contacts.iter().any(|contact| contact.id == *id));
        for (contact, impulse) in out.contacts.iter().zip(&out.solution.contacts) {
            let is_away = contact.rate(&out.state.v) > rounding;
            match self.carried.binary_search(&contact.id) {
                Err(place) if !is_away && !self.collision.is_decompressing() && impulse.normal > 0.0 => {
                    self.carried.insert(place, contact.id);
                }
                Ok(place) if is_away => {
                    self.carried.remove(place);
                }
                _ => {}
            }
        }
        self.find_sliding_after_jump(out);
        Ok(true)
    }

    fn find_sliding_after_jump(&mut self, out: &Step) {
        let (v, still) = (&out.state.v, self.settings.still_speed);
        let contacts = out.contacts.iter().map(|contact| (Rubbing::Contact(contact.id), contact.slip(v)));
        let elements = out.friction.iter().map(|element| (Rubbing::Element(element.id), element.slip(v)));
        let sliding = contacts.chain(elements).filter(|(_, slip)| norm(slip) > still);
        refill(&mut self.sliding, sliding.map(|(id, _)| id));
        self.sliding.sort_unstable();
    }

    /// Projects the velocity, in the metric of the inertia, on the rows that hold from now on:
    /// joints, normals of contacts that carry an impulse, tangents of contacts and friction
    /// elements that do not slide. False, and nothing is done, where it meets all of them.
    pub(super) fn project(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome<bool> {
        self.has_projected = true;
        // Contacts that part are among them if they come back at once.
        self.find_start(origin);
        origin.here().friction(&mut self.start_friction);
        let stands = |element| self.stopped.contains(&element) || (self.has_begun && !has(&self.sliding, element));
        let row = |(row, drift): (&Row, f64)| Joint { value: 0.0, row: row.clone(), drift };
        let rows = |tangents: &Tangents, drift: [f64; 3], held: &mut Vec<Joint>| {
            held.extend(tangents.iter().zip(drift).map(row));
        };
        self.held.clone_from(&self.start_joints);
        for element in self.start_friction.iter().filter(|element| stands(Rubbing::Element(element.id))) {
            rows(&element.tangents, element.tangent_drift, &mut self.held);
        }
        let contacts_from = self.held.len();
        for contact in self.start.iter().filter(|contact| has(&self.carried, contact.id)) {
            self.held.push(row((&contact.normal, contact.normal_drift)));
            if stands(Rubbing::Contact(contact.id)) {
                rows(&contact.tangents, contact.tangent_drift, &mut self.held);
            }
        }
        // What has stopped does not slide, whatever its rows say a little later.
        self.sliding.retain(|element| !self.stopped.contains(element));
        self.stopped.clear();

        // A problem whose conditions hold but for rounding has nothing to say, and its solution
        // would be judged by rounding.
        let v = &origin.state.v;
        let largest_speed = largest(v);
        let is_met = |joint: &Joint| {
            let size = joint.row.entries().iter().map(|(_, value)| value.abs()).sum::<f64>() * largest_speed;
            joint.rate(v).abs() <= ROUNDING * size.max(joint.drift.abs())
        };
        if self.held.iter().all(is_met) {
            return Ok(false);
        }
        begin_jump(StepKind::Projection, origin, &self.held, out)?;
        let is_met = match solve_jump(&mut self.solver, out) {
            Err(StepError::Unsolved { .. }) if !self.carried.is_empty() => false,
            result => result.map(|()| self.carried.is_empty() || has_measure(out))?,
        };
        if !is_met {
            // Rows of many contacts contradict each other, or would but for rounding: two ends at
            // one pin keep heights that differ by the drift of the pin. Contacts that may part,
            // with friction that may give way, do not: as an impact that gives nothing back the
            // problem has a solution.
            begin_jump(StepKind::Projection, origin, &self.held[..contacts_from], out)?;
            let carried = self.start.iter().filter(|contact| has(&self.carried, contact.id));
            out.contacts.extend(carried.cloned());
            out.problem.contacts.extend(out.contacts.iter().map(ContactCondition::of));
            solve_jump(&mut self.solver, out)?;
        }
        check_finite(origin.state.t, "velocity", &out.state.v)?;
        Ok(true)
    }

    /// Ends the sliding of an element that does not go on however short the step is, by what is
    /// likeliest at this attempt: it may be the mode $(-1)^l$ of joints and normals, which a
    /// projection ends; it may be a shock; or it is slower than what takes back the drift of joints
    /// within a step, and has stopped. False when nothing was done.
    pub(super) fn end_slip(
        &mut self,
        origin: Origin<'_>,
        id: Rubbing,
        attempt: usize,
        out: &mut Step,
    ) -> Outcome<bool> {
        if !self.has_projected && self.project(origin, out)? {
            return Ok(true);
        }
        if attempt < STOP_ATTEMPT {
            return self.shock(origin, out);
        }
        self.stopped.push(id);
        self.project(origin, out)
    }

    /// The impact problem of the active contacts, if it stops or turns one that slides; else
    /// nothing is done.
    pub(super) fn shock(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome<bool> {
        let (v, trace) = (&origin.state.v, self.settings.still_speed);
        let fast = |contact: &Contact| norm(&contact.slip(v)) > SHOCK_SPEED * trace;
        if !self.start.iter().any(fast) {
            return Ok(false);
        }
        let (kind, h, report) = (out.kind, out.h, out.report.clone());
        begin_jump(StepKind::Shock, origin, &self.start_joints, out)?;
        for contact in self.start.iter().filter(|contact| self.stays(contact, v)) {
            let own = ContactCondition::of(contact);
            let normal_bias = own.normal_bias - contact.rate(v).max(0.0) - trace;
            out.problem.contacts.push(ContactCondition { normal_bias, ..own });
            out.contacts.push(contact.clone());
        }
        let is_solved = solve_problem(&mut self.solver, origin.state.t, out).is_ok();
        let turns = |contact: &Contact| {
            let before = contact.slip(v);
            fast(contact) && dot(&before, &contact.slip(&out.solution.motion)) <= 0.5 * dot(&before, &before)
        };
        if !is_solved || !out.contacts.iter().any(turns) {
            (out.kind, out.h, out.report) = (kind, h, report);
            return Ok(false);
        }
        out.state.v.clone_from(&out.solution.motion);
        self.find_sliding_after_jump(out);
        self.stopped.clear();
        for (contact, impulse) in out.contacts.iter().zip(&out.solution.contacts) {
            let element = Rubbing::Contact(contact.id);
            if impulse.normal > 0.0 {
                insert(contact.id, &mut self.carried);
                if !has(&self.sliding, element) {
                    self.stopped.push(element);
                }
            }
        }
        Ok(true)
    }
}

/// Whether the impulses of a projection are in proportion to the motion that they change.
fn has_measure(out: &Step) -> bool {
    let problem = &out.problem;
    let momentum = |(k, v): (usize, &f64)| problem.inertia.entry(k, k).abs().sqrt() * v.abs();
    let motion = problem.free_motion.iter().enumerate().map(momentum).fold(0.0, f64::max);
    let joints = problem.joints.iter().zip(&out.solution.joints);
    joints
        .into_iter()
        .all(|(joint, c)| c.abs() * mobility(&problem.inertia, &joint.row).sqrt() <= IMPULSE_LIMIT * motion)
}

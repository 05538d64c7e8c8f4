//! Two coefficients of friction: $\mu_s$ while a contact sticks, $\mu_k \le \mu_s$ while it slides.
//! Of friction without a load, two bounds.
//!
//! \[PKF\] keeps them apart: the cone confines the friction of what rests, and what slides has a
//! friction that is known. Within a time step a contact may do both, so that its coefficient is
//! part of what is to be found. A step is **consistent** when every contact either sticks, with
//! friction within $\mu_s \lambda_n$, or slides, with friction $\mu_k \lambda_n$.
//!
//! **Existence is kept.** Whatever solves the problem with $\mu_k$ everywhere is consistent,
//! because what sticks within $\mu_k \lambda_n$ sticks within $\mu_s \lambda_n$.
//!
//! **Uniqueness is lost**, even for a block on a slope: between the two friction angles it may
//! rest, and it may slide. Where a contact is held by more than $\mu_k \lambda_n$, the solution
//! with $\mu_k$ everywhere is another one. The past decides: what rests goes on to rest as long as
//! it can. The audit counts such steps. Nor is friction the most dissipative force of its set any
//! more, so that theorems on time stepping for Coulomb's law say nothing about the limit of short
//! steps.
//!
//! **The choice.** What rests at the start of a step begins with $\mu_s$, all else with $\mu_k$.
//! Then, until nothing changes,
//!
//! | found with | it | next |
//! |---|---|---|
//! | $\mu_s$ | sticks | stays |
//! | $\mu_s$ | slides | breaks away: $\mu_k$ for the rest of the step |
//! | $\mu_k$ | slides on, or sticks | stays |
//! | $\mu_k$ | slides the other way | it has passed through rest: $\mu_s$, once |
//!
//! Each contact changes twice at most, so that it ends, at the latest where all that changed have
//! $\mu_k$. A contact that slides with $\mu_s$ and then sticks with $\mu_k$ is consistent, and
//! undecided: the problem with $\mu_s$ has a second solution, or others broke away with it. It is
//! counted too.
//!
//! Impacts that a scheme makes as steps of their own have $\mu_k$ in the event-driven scheme, which
//! follows modes and has no choice to make.
//!
//! Friction elements, whose friction no load changes, have two bounds in place of two coefficients,
//! and all of this holds for them as it stands.

use crate::events::STILL_SPEED;
use crate::scheme::origin::{Origin, Outcome};
use crate::vector::{dot, norm};
use crate::{Contact, ContactId, ContactProblem, FrictionElement, Row, Step, StepError};

/// Sliding up to this share of what the motion without contacts would give its row is none: it is
/// what solvers leave. Too large: slow sliding holds. Too small: what sticks breaks away by
/// rounding.
const STILL_SHARE: f64 = 1e-9;

/// Makes a step of a scheme with coefficients that are consistent with what it does. `make` makes
/// one with the coefficients of its origin; `resting` is where the scheme keeps what stuck in the
/// last step.
///
/// # Errors
/// Those of `make`, and [`StepError::StaticFriction`] where a system has contacts with two
/// coefficients and does not say so.
pub(crate) fn step_with_static_friction<S: Clone>(
    scheme: &mut S,
    resting: impl Fn(&mut S) -> &mut Vec<Rubbing>,
    origin: Origin<'_>,
    out: &mut Step,
    mut make: impl FnMut(&mut S, Origin<'_>, &mut Step) -> Outcome,
) -> Outcome {
    let Origin { system, state, .. } = origin;
    if !system.has_static_friction() {
        make(scheme, origin, out)?;
        let contact = out.contacts.iter().find(|contact| contact.static_mu.is_some());
        let element = || out.friction.iter().find(|element| element.static_bound.is_some());
        let contact = contact.map(|contact| system.contact_name(contact.id));
        return match contact.or_else(|| element().map(|element| format!("friction element {}", element.id))) {
            Some(contact) => Err(StepError::StaticFriction { t: state.t, contact }),
            None => Ok(()),
        };
    }
    let before = scheme.clone();
    let mut rested = resting(scheme).clone();
    let mut coefficients = Coefficients { v: &state.v, resting: &rested, known: Vec::new() };
    loop {
        make(scheme, Origin { coefficients: Some(&coefficients), ..origin }, out)?;
        if !coefficients.revise(out) {
            break;
        }
        scheme.clone_from(&before);
    }
    let known = coefficients.known;
    if out.h > 0.0 {
        rested.clear();
    }
    let mut undecided = 0;
    for made in two_valued(out, &state.v) {
        let broke_away = known.iter().any(|known| known.id == made.id && known.broke_away);
        undecided += usize::from(made.sticks && broke_away);
        rested.retain(|id| *id != made.id);
        if made.sticks {
            rested.push(made.id);
        }
    }
    *resting(scheme) = rested;
    out.report.undecided_friction += undecided;
    Ok(())
}

/// A contact or a friction element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rubbing {
    Contact(ContactId),
    Element(u32),
}

/// What a step made of something with two coefficients or bounds.
struct Made {
    id: Rubbing,
    /// Whether it had the static one.
    was_static: bool,
    /// Whether it sticks.
    sticks: bool,
    /// Whether it slides against the velocity at the start.
    turns: bool,
}

/// All that has two coefficients or bounds, in a step that began with the velocity `v`.
fn two_valued<'a>(step: &'a Step, v: &'a [f64]) -> impl Iterator<Item = Made> + 'a {
    let motion = &step.solution.motion;
    let turns = |start: [f64; 3], end: [f64; 3]| dot(&start, &end) < 0.0;
    let contacts = step.contacts.iter().zip(&step.problem.contacts);
    let contacts = contacts.filter(|(contact, _)| contact.static_mu.is_some()).map(move |(contact, condition)| Made {
        id: Rubbing::Contact(contact.id),
        was_static: contact.sticks,
        sticks: sticks_in(step, &condition.tangents, condition.slip(motion)),
        turns: turns(contact.slip(v), condition.slip(motion)),
    });
    let elements = step.friction.iter().zip(&step.problem.friction);
    let elements =
        elements.filter(|(element, _)| element.static_bound.is_some()).map(move |(element, condition)| Made {
            id: Rubbing::Element(element.id),
            was_static: element.sticks,
            sticks: sticks_in(step, &condition.tangents, condition.slip(motion)),
            turns: turns(element.slip(v), condition.slip(motion)),
        });
    contacts.chain(elements)
}

/// Whether what slides so along these rows sticks in the solution of a step.
pub(crate) fn sticks_in(step: &Step, tangents: &[Row], slip: [f64; 3]) -> bool {
    let (motion, free) = (&step.solution.motion, &step.problem.free_motion);
    let term = |&(k, value): &(usize, f64)| (value * motion[k]).abs().max((value * free[k]).abs());
    let terms = |row: &Row| row.entries().iter().map(term).sum::<f64>();
    let nothing = STILL_SHARE * tangents.iter().map(terms).fold(0.0, f64::max);
    norm(&slip) <= STILL_SPEED.max(nothing)
}

/// What slides faster than `still` for a motion, by the conditions of a problem.
pub(crate) fn sliding_in<'a>(
    problem: &'a ContactProblem,
    motion: &'a [f64],
    still: f64,
) -> impl Iterator<Item = Rubbing> + 'a {
    let contacts = problem.contacts.iter().map(|contact| (Rubbing::Contact(contact.id), contact.slip(motion)));
    let elements = problem.friction.iter().map(|element| (Rubbing::Element(element.id), element.slip(motion)));
    contacts.chain(elements).filter(move |(_, slip)| norm(slip) > still).map(|(id, _)| id)
}

/// What is known of a coefficient or bound within a step.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: Rubbing,
    sticks: bool,
    /// Whether it slid with the static coefficient.
    broke_away: bool,
}

/// The coefficients and bounds that are chosen for a step.
pub(crate) struct Coefficients<'a> {
    /// Velocity at the start of the step.
    v: &'a [f64],
    /// What stuck in the last step.
    resting: &'a [Rubbing],
    /// What was changed.
    known: Vec<Known>,
}

impl Coefficients<'_> {
    fn find(&self, id: Rubbing) -> Option<&Known> {
        self.known.iter().find(|known| known.id == id)
    }

    /// Whether the static coefficient is to hold for something that slides so at the start.
    fn sticks(&self, id: Rubbing, slip: [f64; 3]) -> bool {
        match self.find(id) {
            Some(known) => known.sticks,
            // Rows turn within a step, so that what sticks may slide by those of another place: the
            // last step knows better.
            None => self.resting.contains(&id) || norm(&slip) <= STILL_SPEED,
        }
    }

    /// Chooses between the two coefficients of contacts.
    pub fn choose(&self, contacts: &mut [Contact]) {
        for contact in contacts.iter_mut().filter(|contact| contact.static_mu.is_some()) {
            contact.sticks = self.sticks(Rubbing::Contact(contact.id), contact.slip(self.v));
        }
    }

    /// Chooses between the two bounds of friction elements.
    pub fn choose_bounds(&self, elements: &mut [FrictionElement]) {
        for element in elements.iter_mut().filter(|element| element.static_bound.is_some()) {
            element.sticks = self.sticks(Rubbing::Element(element.id), element.slip(self.v));
        }
    }

    /// Changes the coefficients that a step contradicts; whether there were any.
    fn revise(&mut self, step: &Step) -> bool {
        let mut changes = Vec::new();
        for Made { id, was_static, turns, .. } in two_valued(step, self.v).filter(|made| !made.sticks) {
            if was_static {
                changes.push(Known { id, sticks: false, broke_away: true });
            } else if turns && self.find(id).is_none() {
                changes.push(Known { id, sticks: true, broke_away: false });
            }
        }
        for change in &changes {
            match self.known.iter_mut().find(|known| known.id == change.id) {
                Some(known) => *known = *change,
                None => self.known.push(*change),
            }
        }
        !changes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactCondition, ContactImpulse, FrictionLaw, Inertia, MechanicalSystem, State};

    /// A point on a line that touches, with two coefficients.
    struct Point;

    impl MechanicalSystem for Point {
        fn velocity_count(&self) -> usize {
            1
        }
        fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
            out.set_diagonal(&[1.0]);
        }
        fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
            k.fill(0.0);
        }
        fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, out: &mut Vec<Contact>) {
            out.push(Contact {
                tangents: [Row::from_dense(&[1.0])].into_iter().collect(),
                friction: FrictionLaw::Coulomb { mu: 0.4 },
                static_mu: Some(0.6),
                ..Default::default()
            });
        }
        fn has_static_friction(&self) -> bool {
            true
        }
    }

    /// Steps from a velocity with a scheme that counts its steps and whose sliding velocity depends
    /// on the coefficient; the coefficients in the order in which they were tried, and how often it
    /// was undecided.
    fn choose(v: f64, resting: &mut Vec<Rubbing>, slip_with: impl Fn(f64) -> f64) -> (Vec<f64>, usize, u32) {
        let (mut scheme, mut out, mut tried) = ((0u32, resting.clone()), Step::default(), Vec::new());
        let state = State::new(0.0, vec![0.0], vec![v]);
        let origin = Origin::new(&Point, &state);
        step_with_static_friction(
            &mut scheme,
            |scheme| &mut scheme.1,
            origin,
            &mut out,
            |scheme, origin, out| {
                scheme.0 += 1;
                out.report = Default::default();
                out.h = 0.1;
                origin.here().contacts(0.0, &mut out.contacts);
                out.problem.contacts = out.contacts.iter().map(ContactCondition::of).collect();
                let mu = out.problem.contacts[0].mu;
                tried.push(mu);
                out.problem.free_motion = vec![1.0];
                out.solution.motion = vec![slip_with(mu)];
                out.solution.contacts = vec![ContactImpulse::default()];
                Ok(())
            },
        )
        .unwrap();
        *resting = scheme.1;
        (tried, out.report.undecided_friction, scheme.0)
    }

    #[test]
    fn the_coefficient_follows_what_the_contact_does() {
        let id = Rubbing::Contact(ContactId::default());
        // It rests and goes on to rest; it breaks away; it slides on; it stops by the kinetic
        // coefficient.
        assert_eq!(choose(0.0, &mut Vec::new(), |_| 0.0), (vec![0.6], 0, 1));
        assert_eq!(choose(0.0, &mut Vec::new(), |_| 0.5), (vec![0.6, 0.4], 0, 1));
        assert_eq!(choose(1.0, &mut Vec::new(), |_| 0.5), (vec![0.4], 0, 1));
        assert_eq!(choose(1.0, &mut Vec::new(), |_| 0.0), (vec![0.4], 0, 1));
        // It turns around: held there by the static coefficient, or not.
        assert_eq!(choose(1.0, &mut Vec::new(), |mu| if mu > 0.5 { 0.0 } else { -0.2 }), (vec![0.4, 0.6], 0, 1));
        assert_eq!(choose(1.0, &mut Vec::new(), |_| -0.2), (vec![0.4, 0.6, 0.4], 0, 1));
        // Slides with the static one, sticks with the kinetic one.
        let mut resting = Vec::new();
        assert_eq!(choose(0.0, &mut resting, |mu| if mu > 0.5 { 0.3 } else { 0.0 }), (vec![0.6, 0.4], 1, 1));
        assert_eq!(resting, [id]);
        // What stuck in the last step rests, though rows that have turned say that it slides.
        assert_eq!(choose(1e-3, &mut resting, |_| 0.0), (vec![0.6], 0, 1));
        assert_eq!(choose(1e-3, &mut resting, |_| 0.2), (vec![0.6, 0.4], 0, 1));
        assert!(resting.is_empty());
        assert_eq!(choose(1e-3, &mut resting, |_| 0.2), (vec![0.4], 0, 1));
    }
}

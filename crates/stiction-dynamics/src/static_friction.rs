//! Two coefficients of friction: $\mu_s$ while a contact sticks, $\mu_k \le \mu_s$ while it slides. Of friction without a load, two bounds.
//!
//! \[PKF\] keeps them apart: the cone confines the friction of what rests, and what slides has a friction that is known. Within a time step a contact may do
//! both, so that its coefficient is part of what is to be found. A step is **consistent** when every contact either sticks, with friction within $\mu_s \lambda_n$, or slides,
//! with friction $\mu_k \lambda_n$.
//!
//! **Existence is kept.** Whatever solves the problem with $\mu_k$ everywhere is consistent, because what sticks within $\mu_k \lambda_n$ sticks within $\mu_s \lambda_n$.
//!
//! **Uniqueness is lost**, even for a block on a slope: between the two friction angles it may rest, and it may slide. Where a contact is held by more than $\mu_k \lambda_n$, the
//! solution with $\mu_k$ everywhere is another one. The past decides: what rests goes on to rest as long as it can. The audit counts such steps.
//! Nor is friction the most dissipative force of its set any more, so that theorems on time stepping for Coulomb's law say nothing about the limit of short steps.
//!
//! **The choice.** What rests at the start of a step begins with $\mu_s$, all else with $\mu_k$. Then, until nothing changes,
//!
//! | found with | it | next |
//! |---|---|---|
//! | $\mu_s$ | sticks | stays |
//! | $\mu_s$ | slides | breaks away: $\mu_k$ for the rest of the step |
//! | $\mu_k$ | slides on, or sticks | stays |
//! | $\mu_k$ | slides the other way | it has passed through rest: $\mu_s$, once |
//!
//! Each contact changes twice at most, so that it ends, at the latest where all that changed have $\mu_k$. A contact that slides with $\mu_s$ and then sticks with $\mu_k$
//! is consistent, and undecided: the problem with $\mu_s$ has a second solution, or others broke away with it. It is counted too.
//!
//! Impacts that a scheme makes as steps of their own have $\mu_k$ in the event-driven scheme, which follows modes and has no choice to make.
//!
//! Friction elements, whose friction no load changes, have two bounds in place of two coefficients, and all of this holds for them as it stands.

use crate::events::STILL_SPEED;
use crate::{
    Contact, ContactId, ForceCause, ForceJacobians, FrictionElement, Inertia, JacobianKind, Joint, MechanicalSystem,
    Passage, Row, RowRates, State, Step, StepError, Way,
};

/// Sliding up to this share of what the motion without contacts would give its row is none: it is what solvers leave. Too large: slow sliding holds. Too small: what
/// sticks breaks away by rounding.
const STILL_SHARE: f64 = 1e-9;

/// Makes a step of a scheme with coefficients that are consistent with what it does. `step` makes one with the coefficients of the system that it is given; `resting` are the
/// contacts that stuck in the last step.
///
/// # Errors
/// Those of `step`, and [`StepError::StaticFriction`] when a system has contacts with two coefficients and does not say so.
pub(crate) fn step_with_static_friction<S: Clone>(
    scheme: &mut S,
    resting: &mut Vec<Rubbing>,
    (system, state): (&dyn MechanicalSystem, &State),
    out: &mut Step,
    mut step: impl FnMut(&mut S, &dyn MechanicalSystem, &mut Step) -> Result<(), StepError>,
) -> Result<(), StepError> {
    if !system.has_static_friction() {
        step(scheme, system, out)?;
        let contact = out.contacts.iter().find(|contact| contact.static_mu.is_some());
        let element = || out.friction.iter().find(|element| element.static_bound.is_some());
        let contact = contact.map(|contact| system.contact_name(contact.id));
        return match contact.or_else(|| element().map(|element| format!("friction element {}", element.id))) {
            Some(contact) => Err(StepError::StaticFriction { t: state.t, contact }),
            None => Ok(()),
        };
    }
    let before = scheme.clone();
    let mut choice = Choice { system, v: &state.v, resting, known: Vec::new() };
    loop {
        step(scheme, &choice, out)?;
        if !choice.revise(out) {
            break;
        }
        scheme.clone_from(&before);
    }
    let known = choice.known;
    if out.h > 0.0 {
        resting.clear();
    }
    let mut undecided = 0;
    for made in two_valued(out, &state.v) {
        let broke_away = known.iter().any(|known| known.id == made.id && known.broke_away);
        undecided += usize::from(made.sticks && broke_away);
        resting.retain(|id| *id != made.id);
        if made.sticks {
            resting.push(made.id);
        }
    }
    out.report.undecided_friction += undecided;
    Ok(())
}

/// A contact or a friction element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let turns = |start: [f64; 3], end: [f64; 3]| start.iter().zip(end).map(|(a, b)| a * b).sum::<f64>() < 0.0;
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
    speed(&slip) <= STILL_SPEED.max(nothing)
}

pub(crate) fn speed(slip: &[f64; 3]) -> f64 {
    slip.iter().map(|part| part * part).sum::<f64>().sqrt()
}

/// What is known of a coefficient or bound within a step.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: Rubbing,
    sticks: bool,
    /// Whether it slid with the static coefficient.
    broke_away: bool,
}

/// A system whose contacts and friction elements have the coefficients and bounds that were chosen for them.
///
/// Every method of [`MechanicalSystem`] is handed on.
struct Choice<'a> {
    system: &'a dyn MechanicalSystem,
    /// Velocity at the start of the step.
    v: &'a [f64],
    /// What stuck in the last step.
    resting: &'a [Rubbing],
    /// What was changed.
    known: Vec<Known>,
}

impl Choice<'_> {
    fn find(&self, id: Rubbing) -> Option<&Known> {
        self.known.iter().find(|known| known.id == id)
    }

    /// Whether the static coefficient is to hold for something that slides so at the start.
    fn sticks(&self, id: Rubbing, slip: [f64; 3]) -> bool {
        match self.find(id) {
            Some(known) => known.sticks,
            // Rows turn within a step, so that what sticks may slide by those of another place: the last step knows better.
            None => self.resting.contains(&id) || speed(&slip) <= STILL_SPEED,
        }
    }

    /// Chooses between the two coefficients of contacts.
    fn choose(&self, contacts: &mut [Contact]) {
        for contact in contacts.iter_mut().filter(|contact| contact.static_mu.is_some()) {
            contact.sticks = self.sticks(Rubbing::Contact(contact.id), contact.slip(self.v));
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

impl MechanicalSystem for Choice<'_> {
    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        self.system.contacts(t, q, horizon, out);
        self.choose(out);
    }

    fn contacts_of(&self, t: f64, q: &[f64], ids: &[ContactId], out: &mut Vec<Contact>) {
        self.system.contacts_of(t, q, ids, out);
        self.choose(out);
    }

    fn friction_elements(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        self.system.friction_elements(t, q, out);
        for element in out.iter_mut().filter(|element| element.static_bound.is_some()) {
            element.sticks = self.sticks(Rubbing::Element(element.id), element.slip(self.v));
        }
    }

    fn has_static_friction(&self) -> bool {
        self.system.has_static_friction()
    }
    fn velocity_count(&self) -> usize {
        self.system.velocity_count()
    }
    fn mass_matrix(&self, t: f64, q: &[f64], out: &mut Inertia) {
        self.system.mass_matrix(t, q, out);
    }
    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        self.system.force(t, q, v, k);
    }
    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        self.system.force_by_cause(cause, t, q, v, k);
    }
    fn contact_size(&self, id: ContactId) -> Option<f64> {
        self.system.contact_size(id)
    }
    fn passage(&self, way: Way, from: (f64, &[f64]), to: (f64, &[f64])) -> Option<Passage> {
        self.system.passage(way, from, to)
    }
    fn joints(&self, t: f64, q: &[f64], out: &mut Vec<Joint>) {
        self.system.joints(t, q, out);
    }
    fn joint_names(&self) -> Vec<String> {
        self.system.joint_names()
    }
    fn force_jacobians(&self, kind: JacobianKind, t: f64, q: &[f64], v: &[f64], out: &mut ForceJacobians) {
        self.system.force_jacobians(kind, t, q, v, out);
    }
    fn displace(&self, t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        self.system.displace(t, q, v, h, out);
    }
    fn advance(&self, t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        self.system.advance(t, q, v, h, out);
    }
    fn configuration_rate(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        self.system.configuration_rate(t, q, v, out);
    }
    fn advance_derivative(&self, t: f64, q: &[f64], v: &[f64], h: f64, w: &[f64], out: &mut [f64]) {
        self.system.advance_derivative(t, q, v, h, w, out);
    }
    fn row_rates(
        &self,
        t: f64,
        q: &[f64],
        v: &[f64],
        rows: (&[Contact], &[FrictionElement], &[Joint]),
        out: &mut RowRates,
    ) {
        self.system.row_rates(t, q, v, rows, out);
    }
    fn potential_energy(&self, t: f64, q: &[f64]) -> Option<f64> {
        self.system.potential_energy(t, q)
    }
    fn column_names(&self) -> Vec<String> {
        self.system.column_names()
    }
    fn record(&self, state: &State, out: &mut Vec<f64>) {
        self.system.record(state, out);
    }
    fn contact_name(&self, id: ContactId) -> String {
        self.system.contact_name(id)
    }
    fn friction_name(&self, id: u32) -> String {
        self.system.friction_name(id)
    }
    fn body_names(&self, id: ContactId) -> (String, String) {
        self.system.body_names(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactCondition, ContactImpulse, FrictionLaw};

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

    /// Steps from a velocity with a scheme that counts its steps and whose sliding velocity depends on the coefficient; the coefficients in the order in which they were
    /// tried, and how often it was undecided.
    fn choose(v: f64, resting: &mut Vec<Rubbing>, slip_with: impl Fn(f64) -> f64) -> (Vec<f64>, usize, u32) {
        let (mut scheme, mut out, mut tried) = (0u32, Step::default(), Vec::new());
        let state = State::new(0.0, vec![0.0], vec![v]);
        step_with_static_friction(&mut scheme, resting, (&Point, &state), &mut out, |steps, system, out| {
            *steps += 1;
            out.report = Default::default();
            out.h = 0.1;
            out.contacts.clear();
            system.contacts(0.0, &[0.0], 0.0, &mut out.contacts);
            out.problem.contacts = out.contacts.iter().map(ContactCondition::of).collect();
            let mu = out.problem.contacts[0].mu;
            tried.push(mu);
            out.problem.free_motion = vec![1.0];
            out.solution.motion = vec![slip_with(mu)];
            out.solution.contacts = vec![ContactImpulse::default()];
            Ok(())
        })
        .unwrap();
        (tried, out.report.undecided_friction, scheme)
    }

    #[test]
    fn every_method_of_a_system_is_handed_on() {
        // A method with a default would be answered by the default, and nobody would see it.
        let names = |text: &str| -> std::collections::BTreeSet<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix("    fn "));
            lines.map(|line| line.split(['(', '<']).next().unwrap_or_default().to_owned()).collect()
        };
        let part = |text: &'static str, from: &str| -> &'static str {
            let start = text.find(from).expect("it stands there");
            &text[start..start + text[start..].find("\n}").expect("it ends")]
        };
        let asked = names(part(include_str!("system.rs"), "pub trait MechanicalSystem"));
        let handed = names(part(include_str!("static_friction.rs"), "impl MechanicalSystem for Choice"));
        assert!(asked.len() > 15 && asked == handed, "{:?}", asked.symmetric_difference(&handed));
    }

    #[test]
    fn the_coefficient_follows_what_the_contact_does() {
        let id = Rubbing::Contact(ContactId::default());
        // It rests and goes on to rest; it breaks away; it slides on; it stops by the kinetic coefficient.
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

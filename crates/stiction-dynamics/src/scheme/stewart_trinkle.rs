//! Stewart-Trinkle time stepping: positions satisfy the constraints at the end of the step.
//!
//! \[ST96\] (25)-(29) with the growing active set of §4, load-independent friction (§3.5) and, as a
//! version of the scheme, the fixed-point iteration of §3.6. Here `q_hat` is the paper's $\hat q$,
//! at which $M$, $n$ and $D$ are taken:
//!
//! $$ M(\hat q)(v^{l+1} - v^l) = h k(q^l + \tfrac h2 v^l, v^l) + \textstyle\sum (n c_n + D \beta), \qquad
//!    q^{l+1} = q^l \oplus h v^{l+1}, \qquad \hat q = q^l \oplus \theta h \hat v, $$
//!
//! with $\theta = 0$, ½ or 1 for the start, the mean or the end of the step (remark 4 after (16)),
//! and with a velocity $\hat v$ that is predicted: $v^l$, and $v^{l+1}$ at the fixed point.
//!
//! In the letters of [`ContactProblem`](crate::ContactProblem): $u = v^{l+1}$, $W = M(\hat q)$,
//! $u_\text{free} = v^l + h W^{-1} k$. The linear version linearises gaps at $\hat q$,
//! $b_n = \mathrm{gap}(\hat q)/h - \theta n \hat v$; the fixed point meets them at the end,
//! whatever $\theta$ is, $b_n = \mathrm{gap}(q^l \oplus h \hat v)/h - n \hat v$. Joints likewise.
//! Impacts are inelastic.
//!
//! On a curved surface without friction the speed falls by $1 - \theta \alpha^2$ per step where the
//! normal turns by $\alpha$: the fixed point with rows from the start keeps it (with a constant
//! inertia it is the method called SHAKE), that with rows from the end is the paper's.
//!
//! By the trapezoidal [rule](super::rule) $u$ is the mean velocity of the step, $W = 2 M$, and
//! everything is linearised in its middle. The linear version takes forces there with $v^l$, which
//! costs an order where they depend on velocities; the fixed-point version does not.
//!
//! A step in which bodies would pass through each other, or be pushed out on the wrong side, is cut
//! where they close.
//!
//! Differs from the paper: the biases are written with $\hat v$, not with a difference of
//! configurations, so that they hold when $q$ contains quaternions; forces are evaluated at the
//! middle of the step in time as well.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule::{History, Rule};
use super::{
    At, Attempting, FullStep, Impacts, Origin, Outcome, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind,
    check_finite, check_length, energy_defect, refuse_one_way, solve_problem, state_motion, step_by_attempts,
};
use crate::joint_projection::JointProjection;
use crate::setting::{Named, Suffix, ValueError, at_least_one, check_not_negative, check_positive};
use crate::static_friction::Rubbing;
use crate::vector::{has, insert, refill};
use crate::{
    Contact, ContactCondition, ContactId, ContactSolver, FrictionCondition, Inertia, Joint, JointCondition,
    MechanicalSystem, Passage, Restraint, State, StepError, Way,
};

/// Which version of the scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Version {
    /// One linearisation at the predicted configuration, \[ST96\] (29).
    #[default]
    Linear,
    /// Linearise by the new configuration, again and again until it stands still, \[ST96\] §3.6.
    FixedPoint,
}

/// Where in the step the mass matrix and the rows of contacts, friction and joints are taken,
/// \[ST96\] remark 4 after (16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Linearization {
    /// At its start, $q^l$.
    Start,
    /// At the mean of its start and its end, $\tfrac12 (q^l + q^{l+1})$.
    Mean,
    /// At its end, $q^{l+1}$.
    #[default]
    End,
}

impl Linearization {
    /// The share $\theta$ of the step after which it is.
    fn share(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Mean => 0.5,
            Self::End => 1.0,
        }
    }
}

/// A step whose linearised contacts end deeper within a body than this share of its size is halved,
/// down to the least share of the full step. Above what a certificate allows, bodies penetrate
/// visibly; much below, steps that are well solved are made again.
const BEND: f64 = 9e-4;
const LEAST_SHARE: f64 = 0.002;

/// Settings of the Stewart-Trinkle scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StewartTrinkleSettings {
    /// Linear or fixed-point.
    pub version: Version,
    /// Where the mass matrix and the rows are taken by Euler's rule; the linear version predicts
    /// that place by the velocity before the step. The trapezoidal rule takes them in the middle.
    pub linearization: Linearization,
    /// How velocities and positions are integrated: Euler's rule as in \[ST96\], or the trapezoidal
    /// rule. With an activation gap it is Euler's.
    pub rule: Rule,
    /// The fixed point is reached when no coordinate moves by more than this, in metres or radians;
    /// and a contact that ends a step nearer than this begins the next one in the active set. Too
    /// large: the constraints hold less exactly. Too small: rounding keeps the iteration from
    /// ending.
    pub position_tolerance: f64,
    /// Most linearisations of a fixed-point step; a step that does not converge is accepted and
    /// reported.
    pub linearization_limit: usize,
    /// The rule of \[TTP01\] in place of the growing set: exactly those contacts take part whose
    /// gap at the start of the step is at most this, in metres, with rows from there. Contacts that
    /// close within a step penetrate, and are pushed out in the next: it is here to show what that
    /// does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation_gap: Option<f64>,
}

impl Default for StewartTrinkleSettings {
    fn default() -> Self {
        Self {
            version: Version::Linear,
            linearization: Linearization::End,
            rule: Rule::Euler,
            position_tolerance: 1e-11,
            linearization_limit: 30,
            activation_gap: None,
        }
    }
}

impl OwnFacts for StewartTrinkleSettings {
    fn facts(&self) -> SchemeFacts {
        SchemeFacts {
            named: Named {
                name: "stewart-trinkle",
                summary: "Positions satisfy the constraints at the end of the step; impacts are inelastic. [ST96]",
                suffixes: &[
                    Suffix::Word { word: "linear", key: "version", value: "\"linear\"" },
                    Suffix::Word { word: "fixed-point", key: "version", value: "\"fixed-point\"" },
                ],
            },
            restricted_by: self.rule.restriction(),
            impacts: Impacts::Inelastic,
            one_way: self.rule == Rule::Euler,
            polygons: true,
            stiff_forces: false,
            corners: true,
            overlap: Overlap::Ended,
        }
    }

    fn check(&self) -> Result<(), ValueError> {
        check_positive("position-tolerance", "the position tolerance", self.position_tolerance, "m")?;
        if let Some(gap) = self.activation_gap {
            check_not_negative("activation-gap", "the gap of activation", gap, "m")?;
            if self.linearization == Linearization::Mean {
                let message = "with `activation-gap`, contacts are linearised at the start of a step, not at its mean";
                let remedy = "leave out `linearization`, or the `activation-gap`";
                return Err(ValueError::new("linearization", message, remedy));
            }
            if self.rule == Rule::Trapezoidal {
                let message = "the trapezoidal rule and `activation-gap` contradict each other: one takes contacts in the \
                               middle of a step, the other at its start";
                let remedy = "leave out `activation-gap`, or write rule = \"euler\"";
                return Err(ValueError::new("rule", message, remedy));
            }
        }
        if self.rule == Rule::Trapezoidal && self.linearization != Linearization::End {
            let message =
                "the trapezoidal rule linearises in the middle of a step, and `linearization` has no say in it";
            let remedy = "leave out `linearization`, or write rule = \"euler\"";
            return Err(ValueError::new("linearization", message, remedy));
        }
        at_least_one("linearization-limit", "linearisations", self.linearization_limit)
    }

    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        Box::new(StewartTrinkle::new(self.clone(), solver))
    }
}

/// The Stewart-Trinkle scheme.
#[derive(Clone, Debug, Default)]
pub struct StewartTrinkle {
    settings: StewartTrinkleSettings,
    solver: ContactSolver,
    projection: JointProjection,
    full_step: FullStep,
    /// Contacts with two coefficients of friction that stuck in the last step.
    resting: Vec<Rubbing>,
    /// Contacts that touched at the end of the last step, sorted.
    touching: Vec<ContactId>,
    /// How far apart those contacts may be at the next prediction, in metres.
    horizon: f64,
    history: History,
    // Workspace of a step.
    /// Where rows are taken, and the end that is expected.
    q_hat: Vec<f64>,
    q_end: Vec<f64>,
    v_hat: Vec<f64>,
    /// The velocity that leads to `q_hat`.
    v_rows: Vec<f64>,
    q_middle: Vec<f64>,
    q_new: Vec<f64>,
    /// The linearisation point that the last solution asks for.
    q_next: Vec<f64>,
    mass: Inertia,
    joint_rates: Vec<f64>,
    part: Vec<f64>,
    active: Vec<ContactId>,
    candidates: Vec<Contact>,
    /// Contacts and joints at the expected end, where rows are taken elsewhere.
    expected: Vec<Contact>,
    expected_joints: Vec<Joint>,
    at_end: Vec<Contact>,
    /// Contacts that overlap at the start of a part of a step.
    overlaps: Vec<Contact>,
}

impl StewartTrinkle {
    /// The scheme with these settings and this contact solver.
    pub fn new(settings: StewartTrinkleSettings, solver: ContactSolver) -> Self {
        Self { settings, solver, ..Self::default() }
    }

    /// A contact that is deep within a body at the end of the step, beyond where it began: its
    /// surfaces bend away from their tangents, or it was not there before.
    fn bent_contact(&self, system: &dyn MechanicalSystem, h: f64, out: &Step) -> Option<ContactId> {
        let is_deep = |contact: &Contact| {
            let taken = out.problem.contacts.iter().find(|other| other.id == contact.id);
            let start = taken.map_or(0.0, |contact| h * contact.recovery);
            let size = || system.contact_size(contact.id);
            contact.gap < start && size().is_some_and(|size| contact.gap < start - BEND * size)
        };
        self.at_end.iter().find(|contact| is_deep(contact)).map(|contact| contact.id)
    }
}

impl Scheme for StewartTrinkle {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        step_by_attempts(self, Origin::new(system, state), h, out)
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl Attempting for StewartTrinkle {
    fn memory(&mut self) -> (&mut FullStep, &mut Vec<Rubbing>) {
        (&mut self.full_step, &mut self.resting)
    }

    /// A step of this length, unless bodies would pass through each other in it, or be pushed out
    /// on the wrong side.
    fn attempt(&mut self, origin: Origin<'_>, h: f64, out: &mut Step) -> Outcome<Option<Passage>> {
        check_length(h)?;
        let rule = if self.settings.activation_gap.is_some() { Rule::Euler } else { self.settings.rule };
        self.attempt_by(rule, origin, h, out)
    }
}

impl StewartTrinkle {
    /// A step by this rule; by Euler's where a contact pushes that is not settled.
    fn attempt_by(&mut self, rule: Rule, origin: Origin<'_>, h: f64, out: &mut Step) -> Outcome<Option<Passage>> {
        let plan = self.plan(rule, origin, h);
        self.predict(&plan, out);
        let bent = loop {
            out.report.linearizations += 1;
            self.take_inertia_and_forces(&plan, out)?;
            self.meet_joints(&plan)?;
            if let Some(passage) = self.predicted_passage(&plan, out) {
                return Ok(Some(passage));
            }
            self.find_contacts(&plan, out.report.linearizations > 1);
            self.write_joints(&plan, out);
            self.write_friction(&plan, out)?;
            let Some(bent) = self.solve_with_growing_set(&plan, out)? else {
                return self.attempt_by(Rule::Euler, origin, h, out);
            };
            if self.has_arrived(&plan, out) {
                break bent;
            }
            self.q_hat.copy_from_slice(&self.q_next);
            self.v_hat.copy_from_slice(&out.solution.motion);
        };
        if self.settings.activation_gap.is_none() {
            let (start, end) = ((origin.state.t, &origin.state.q[..]), (plan.t_new, &self.q_new[..]));
            if let Some(passage) = origin.system.passage(Way::Taken, start, end) {
                return Ok(Some(passage));
            }
            if let Some(contact) = bent.filter(|_| plan.is_linear && h > LEAST_SHARE * self.full_step.h) {
                return Ok(Some(Passage { contact, share: 0.5 }));
            }
        }
        self.end(&plan, out);
        Ok(None)
    }

    /// Where in a step things are taken.
    fn plan<'a>(&self, rule: Rule, origin: Origin<'a>, h: f64) -> Plan<'a> {
        let is_mean = rule == Rule::Trapezoidal;
        // The rule of [TTP01] takes rows and gaps from the start: one linearisation is the fixed
        // point.
        let activation_gap = self.settings.activation_gap;
        let is_linear = self.settings.version == Version::Linear || activation_gap.is_some();
        let ahead = match activation_gap {
            _ if is_mean => 0.5,
            Some(_) => 0.0,
            None => self.settings.linearization.share(),
        };
        let looks_ahead = !is_mean && ahead < 1.0;
        Plan {
            origin,
            h,
            t_hat: origin.state.t + ahead * h,
            t_new: origin.state.t + h,
            ahead,
            is_mean,
            is_linear,
            looks_ahead,
            meets_end: !is_linear && looks_ahead,
            share: self.full_step.share(h),
        }
    }

    /// Predicts $\hat q$ and the middle of the step by the velocity before it, and begins with the
    /// contacts that touched.
    fn predict(&mut self, plan: &Plan<'_>, out: &mut Step) {
        let Plan { origin, h, .. } = *plan;
        let State { q, v, .. } = origin.state;
        for buffer in [&mut self.q_end, &mut self.q_next] {
            buffer.clone_from(q);
        }
        self.v_hat.clone_from(v);
        out.begin(StepKind::Stepping, h);
        out.report.linearizations = 0;
        origin.advance(v, plan.ahead * h, &mut self.q_hat);
        origin.advance(v, h / 2.0, &mut self.q_middle);
        if plan.is_mean {
            self.history.begin(origin);
        }
        self.overlaps.clear();
        if plan.share < 1.0 {
            origin.here().contacts(0.0, &mut self.overlaps);
            self.overlaps.retain(|contact| contact.gap < 0.0);
        }
        // [ST96] §4: those that touched before; those violated at the prediction join them.
        self.active.clone_from(&self.touching);
    }

    /// States $W$ and $u_\text{free}$.
    fn take_inertia_and_forces(&mut self, plan: &Plan<'_>, out: &mut Step) -> Outcome {
        let Plan { origin, h, t_hat, .. } = *plan;
        let State { t, v, .. } = origin.state;
        if !plan.is_mean {
            // W = M(q̂) and u_free = v + h W⁻¹ k(q + h v/2, v).
            let middle = origin.at(t + h / 2.0, &self.q_middle);
            return state_motion(origin, h, plan.at(&self.q_hat), (middle, v), out);
        }
        // W = 2 M(q̂) and u_free = v + h W⁻¹ k(q̂, v̂).
        let middle = plan.at(&self.q_hat);
        state_motion(origin, 0.5 * h, middle, (middle, &self.v_hat), out)?;
        out.force_at.set(t_hat, &self.q_hat, &self.v_hat);
        std::mem::swap(&mut self.mass, &mut out.problem.inertia);
        out.problem.inertia.set_sum(&[(&self.mass, 2.0)], []);
        out.problem.inertia.factor().map_err(|source| origin.malformed(source))
    }

    /// Moves $\hat q$ onto the joints, and predicts the end of the step.
    fn meet_joints(&mut self, plan: &Plan<'_>) -> Outcome {
        let Plan { origin, h, .. } = *plan;
        // Rows are taken on the joints; a fixed point that meets them at the end keeps the velocity
        // that leads there.
        self.v_rows.clone_from(&self.v_hat);
        let reach = plan.ahead * h;
        self.projection.project(origin.at(plan.t_hat, &origin.state.q), reach, &mut self.v_rows, &mut self.q_hat)?;
        if !plan.meets_end {
            self.v_hat.copy_from_slice(&self.v_rows);
        }
        match plan.looks_ahead {
            false => self.q_end.copy_from_slice(&self.q_hat),
            true => origin.advance(&self.v_hat, h, &mut self.q_end),
        }
        Ok(())
    }

    /// Bodies that pass through each other on the way to the first prediction. The rule of
    /// \[TTP01\] is there to show what it does; the audit sees whatever passes through.
    fn predicted_passage(&self, plan: &Plan<'_>, out: &Step) -> Option<Passage> {
        let is_asked = out.report.linearizations == 1 && !plan.is_mean && self.settings.activation_gap.is_none();
        let Origin { system, state, .. } = plan.origin;
        let (start, end) = ((state.t, &state.q[..]), (plan.t_new, &self.q_end[..]));
        is_asked.then(|| system.passage(Way::Predicted, start, end)).flatten()
    }

    /// Finds the contacts at $\hat q$, and those violated at the predicted end, which join the
    /// active ones.
    fn find_contacts(&mut self, plan: &Plan<'_>, is_again: bool) {
        let is_violated = |contact: &Contact| contact.gap < 0.0 || contact.restraint == Restraint::Rate;
        let horizon = self.settings.activation_gap.unwrap_or(self.horizon);
        plan.at(&self.q_hat).contacts(horizon, &mut self.candidates);
        if !is_again {
            // A corner that has left its face touches no longer, however near the plane of the face
            // it stays.
            let candidates = &self.candidates;
            self.active.retain(|id| candidates.iter().any(|candidate| candidate.id == *id));
        }
        if self.settings.activation_gap.is_some() {
            self.active.clear();
            self.candidates.iter().for_each(|contact| insert(contact.id, &mut self.active));
        } else if plan.looks_ahead {
            plan.at_end(&self.q_end).contacts(0.0, &mut self.at_end);
            self.at_end.retain(is_violated);
            self.join(plan);
            self.expected.clear();
            if plan.meets_end {
                plan.at_end(&self.q_end).contacts_of(&self.active, &mut self.expected);
            }
        } else {
            let violated = self.candidates.iter().filter(|contact| is_violated(contact));
            violated.for_each(|contact| insert(contact.id, &mut self.active));
        }
        // What took part before takes part in the next round of the fixed point, also where it is
        // some way off by rounding.
        let is_found = |id: &ContactId| self.candidates.iter().any(|candidate| candidate.id == *id);
        if is_again && self.settings.activation_gap.is_none() && !self.active.iter().all(is_found) {
            plan.at(&self.q_hat).contacts_of(&self.active, &mut self.candidates);
        }
    }

    /// Adds the contacts that are violated at an end (`at_end`) to the active ones, and finds those
    /// at $\hat q$, where they may still be some way off.
    fn join(&mut self, plan: &Plan<'_>) {
        self.at_end.iter().for_each(|contact| insert(contact.id, &mut self.active));
        let is_found = |contact: &Contact| self.candidates.iter().any(|candidate| candidate.id == contact.id);
        if !self.at_end.iter().all(is_found) {
            plan.at(&self.q_hat).contacts_of(&self.active, &mut self.candidates);
        }
    }

    /// The joints, linearised at $\hat q$ or at the end.
    fn write_joints(&mut self, plan: &Plan<'_>, out: &mut Step) {
        plan.at(&self.q_hat).joints(&mut out.joints);
        self.joint_rates.clear();
        if plan.is_mean {
            self.history.joint_rates(&plan.origin.state.v, &mut self.joint_rates);
            self.projection.reconcile(&mut self.joint_rates);
        }
        self.joint_rates.resize(out.joints.len(), 0.0);
        self.expected_joints.clear();
        if plan.meets_end {
            plan.at_end(&self.q_end).joints(&mut self.expected_joints);
        }
        let conditions = out.joints.iter().zip(&self.joint_rates).enumerate().map(|(i, (joint, kept))| {
            let expected = self.expected_joints.get(i).map(|joint| joint.value);
            let whole = plan.bias((joint.value, joint.row.dot(&self.v_hat), joint.drift), expected, *kept);
            let bias = whole - (1.0 - plan.share) * (whole - joint.drift);
            JointCondition { row: joint.row.clone(), bias, rounding: 0.0 }
        });
        refill(&mut out.problem.joints, conditions);
    }

    /// Friction without a normal row, \[ST96\] (30): its bounds are impulses.
    fn write_friction(&mut self, plan: &Plan<'_>, out: &mut Step) -> Outcome {
        let State { t, v, .. } = plan.origin.state;
        plan.at(&self.q_hat).friction(&mut out.friction);
        let condition = |element| FrictionCondition::after(element, plan.h, plan.ahead, &self.v_hat);
        refill(&mut out.problem.friction, out.friction.iter().map(condition));
        if plan.is_mean {
            let who = "stewart-trinkle by the trapezoidal rule";
            refuse_one_way(*t, who, &self.candidates, &out.friction)?;
            for condition in &mut out.problem.friction {
                let kept = self.history.kept_slip(condition.id, v);
                condition.tangent_bias.iter_mut().zip(kept).for_each(|(bias, kept)| *bias -= kept);
            }
        }
        Ok(())
    }

    /// Solves with the active set, and lets it grow by what the solution violates, \[ST96\] §4.
    /// Returns the contact whose surfaces bend too far from their tangents, if there is one;
    /// nothing where the trapezoidal rule cannot go on, as an unsettled contact pushes.
    fn solve_with_growing_set(&mut self, plan: &Plan<'_>, out: &mut Step) -> Outcome<Option<Option<ContactId>>> {
        let Plan { origin, h, .. } = *plan;
        let t = origin.state.t;
        loop {
            self.write_contacts(plan, out);
            solve_problem(&mut self.solver, t, out)?;
            if plan.is_mean && self.history.is_unsettled(&out.solution) {
                return Ok(None);
            }
            origin.advance(&out.solution.motion, h, &mut self.q_new);
            check_finite(t, "coordinate", &self.q_new)?;

            // Violated at the end although it did not take part.
            plan.at_end(&self.q_new).contacts(0.0, &mut self.at_end);
            let bent = self.bent_contact(origin.system, h, out);
            let taken = &out.contacts;
            self.at_end.retain(|contact| contact.gap < 0.0 && !taken.iter().any(|other| other.id == contact.id));
            if self.settings.activation_gap.is_some() {
                return Ok(Some(bent));
            }
            self.join(plan);
            // A contact that exists at the end only (a new feature of a shape) waits for the next
            // linearisation or step.
            if !self.at_end.iter().any(|contact| self.candidates.iter().any(|other| other.id == contact.id)) {
                return Ok(Some(bent));
            }
            if plan.meets_end {
                plan.at_end(&self.q_end).contacts_of(&self.active, &mut self.expected);
            }
            out.report.growths += 1;
        }
    }

    /// The active contacts.
    fn write_contacts(&mut self, plan: &Plan<'_>, out: &mut Step) {
        let Plan { h, share, .. } = *plan;
        let v = &plan.origin.state.v;
        refill(&mut out.contacts, self.candidates.iter().filter(|c| has(&self.active, c.id)).cloned());
        let conditions = out.contacts.iter().map(|contact| {
            if contact.restraint == Restraint::Rate {
                return ContactCondition::of(contact);
            }
            // [ST96] (29), row of c_n: the gap at the end over h, linearised at q̂ or there.
            let along = contact.normal.dot(&self.v_hat);
            let expected = self.expected.iter().find(|other| plan.meets_end && other.id == contact.id);
            let expected = expected.map(|contact| contact.gap);
            let kept = if plan.is_mean { self.history.kept_rate(contact.id, v) } else { 0.0 };
            let normal_bias = plan.bias((contact.gap, along, contact.normal_drift), expected, kept);
            // Without a driven body, it is the linearised gap at the start: negative, it asks for a
            // penetration to be taken back.
            let recovery = (normal_bias - contact.normal_drift).min(0.0);
            // A part of a step takes back its share of what was there.
            let before = self.overlaps.iter().find(|overlap| overlap.id == contact.id);
            let left = before.map_or(0.0, |overlap| (1.0 - share) * overlap.gap / h);
            let (normal_bias, recovery) = (normal_bias - left, (recovery - left).min(0.0));
            ContactCondition { normal_bias, recovery, ..ContactCondition::of(contact) }
        });
        refill(&mut out.problem.contacts, conditions);
        if plan.is_mean {
            for condition in &mut out.problem.contacts {
                let kept = self.history.sticking(condition.id).map_or([0.0; 3], |start| start.slip(v));
                condition.tangent_bias.iter_mut().zip(kept).for_each(|(bias, kept)| *bias -= 0.5 * kept);
            }
        }
    }

    /// Whether the linearisation point is where the solution asks for it, or will not come nearer,
    /// \[ST96\] §3.6.
    fn has_arrived(&mut self, plan: &Plan<'_>, out: &mut Step) -> bool {
        out.report.converged = plan.is_linear;
        if plan.is_linear {
            return true;
        }
        plan.origin.advance(&out.solution.motion, plan.ahead * plan.h, &mut self.q_next);
        let (asked, taken) = match plan.looks_ahead {
            false => (&self.q_next, &self.q_hat),
            true => (&self.q_new, &self.q_end),
        };
        let last_move = asked.iter().zip(taken).fold(0.0, |largest: f64, (a, b)| largest.max((a - b).abs()));
        out.report.converged = last_move <= self.settings.position_tolerance;
        out.report.converged || out.report.linearizations >= self.settings.linearization_limit.max(1)
    }

    /// Writes the end of the step, and remembers what touches there.
    fn end(&mut self, plan: &Plan<'_>, out: &mut Step) {
        let Plan { origin, h, .. } = *plan;
        let State { t, v, .. } = origin.state;
        out.linearize_at(plan.t_hat, &self.q_hat);
        if !plan.is_mean {
            out.force_at.set(t + h / 2.0, &self.q_middle, v);
        }
        out.state.set(plan.t_new, &self.q_new, &out.solution.motion);
        if plan.is_mean {
            out.state.v.iter_mut().zip(v).for_each(|(new, old)| *new = 2.0 * *new - old);
        }
        let u = &out.solution.motion;
        out.report.energy_defect = energy_defect(origin, u, out, &mut self.part);

        // What touched at the end is active at the start of the next step.
        self.touching.clear();
        self.horizon = 2.0 * self.settings.position_tolerance;
        for (contact, impulse) in out.problem.contacts.iter().zip(&out.solution.contacts) {
            let rate = contact.normal_rate(u);
            if impulse.normal > 0.0 || h * rate <= self.settings.position_tolerance {
                insert(contact.id, &mut self.touching);
                self.horizon = self.horizon.max(2.0 * h * (rate.abs() + contact.normal.dot(u).abs()));
            }
        }
        if self.settings.rule == Rule::Trapezoidal {
            self.history.end(out);
        }
    }
}

/// Where a step begins and ends, and where in it things are taken.
#[derive(Clone, Copy)]
struct Plan<'a> {
    origin: Origin<'a>,
    h: f64,
    /// Times of $\hat q$ and of the end.
    t_hat: f64,
    t_new: f64,
    /// The share $\theta$ of the step after which $\hat q$ is.
    ahead: f64,
    /// Whether it is a step by the trapezoidal rule.
    is_mean: bool,
    /// Whether one linearisation is enough.
    is_linear: bool,
    /// Whether contacts are violated at another place than $\hat q$: rows from before the end are
    /// not where contacts are violated.
    looks_ahead: bool,
    /// Whether gaps and joints are met at the end: the fixed point meets them there, and not where
    /// they are linearised.
    meets_end: bool,
    /// The share of the full step.
    share: f64,
}

impl Plan<'_> {
    /// The value at the end over $h$ of a row with the rate `along` by $\hat v$, without $u$: from
    /// its value at $\hat q$, or from the one that is expected at the end.
    fn bias(&self, (value, along, drift): (f64, f64, f64), expected: Option<f64>, kept: f64) -> f64 {
        match expected {
            Some(expected) => expected / self.h - along,
            None => value / self.h - (self.ahead * along - (1.0 - self.ahead) * drift) - kept,
        }
    }

    /// The system at $\hat q$.
    fn at<'b>(&'b self, q_hat: &'b [f64]) -> At<'b> {
        self.origin.at(self.t_hat, q_hat)
    }

    /// The system at an end of the step.
    fn at_end<'b>(&'b self, q: &'b [f64]) -> At<'b> {
        self.origin.at(self.t_new, q)
    }
}

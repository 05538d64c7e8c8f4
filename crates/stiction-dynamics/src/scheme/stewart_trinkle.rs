//! Stewart-Trinkle time stepping: positions satisfy the constraints at the end of the step.
//!
//! \[ST96\] (25)-(29) with the growing active set of §4, load-independent friction (§3.5) and, as a version of the scheme, the
//! fixed-point iteration of §3.6. Here `q_hat` is the paper's $\hat q$, at which $M$, $n$ and $D$ are taken:
//!
//! $$ M(\hat q)(v^{l+1} - v^l) = h k(q^l + \tfrac h2 v^l, v^l) + \textstyle\sum (n c_n + D \beta), \qquad
//!    q^{l+1} = q^l \oplus h v^{l+1}, \qquad \hat q = q^l \oplus \theta h \hat v, $$
//!
//! with $\theta = 0$, ½ or 1 for the start, the mean or the end of the step (remark 4 after (16)), and with a velocity $\hat v$ that is predicted: $v^l$, and $v^{l+1}$ at the fixed point.
//!
//! In the letters of [`ContactProblem`](crate::ContactProblem): $u = v^{l+1}$, $W = M(\hat q)$, $u_\text{free} = v^l + h W^{-1} k$. The linear version
//! linearises gaps at $\hat q$, $b_n = \mathrm{gap}(\hat q)/h - \theta n \hat v$; the fixed point meets them at the end, whatever $\theta$ is,
//! $b_n = \mathrm{gap}(q^l \oplus h \hat v)/h - n \hat v$. Joints likewise. Impacts are inelastic.
//!
//! On a curved surface without friction the speed falls by $1 - \theta \alpha^2$ per step where the normal turns by $\alpha$: the fixed point with rows from the start
//! keeps it (with a constant inertia it is the method called SHAKE), that with rows from the end is the paper's.
//!
//! By the trapezoidal [rule](super::rule) $u$ is the mean velocity of the step, $W = 2 M$, and everything is linearised in its middle. The linear version takes forces there
//! with $v^l$, which costs an order where they depend on velocities; the fixed-point version does not.
//!
//! A step in which bodies would pass through each other, or be pushed out on the wrong side, is cut where they close.
//!
//! Differs from the paper: the biases are written with $\hat v$, not with a difference of configurations, so that they hold when
//! $q$ contains quaternions; forces are evaluated at the middle of the step in time as well.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule::{History, Rule};
use super::{
    FullStep, Scheme, Step, StepKind, check_finite, energy_defect, refuse_one_way_elements, solve_problem,
    state_free_motion, step_by_attempts,
};
use crate::joint_projection::JointProjection;
use crate::static_friction::{Rubbing, step_with_static_friction};
use crate::{
    Contact, ContactCondition, ContactId, ContactSolver, ForceCause, FrictionCondition, Inertia, Joint, JointCondition,
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

/// Where in the step the mass matrix and the rows of contacts, friction and joints are taken, \[ST96\] remark 4 after (16).
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

/// A step whose linearised contacts end deeper within a body than this share of its size is halved, down to the least share of the full step. Above what a certificate allows, bodies
/// penetrate visibly; much below, steps that are well solved are made again.
const BEND: f64 = 9e-4;
const LEAST_SHARE: f64 = 0.002;

/// Settings of the Stewart-Trinkle scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StewartTrinkleSettings {
    /// Linear or fixed-point.
    pub version: Version,
    /// Where the mass matrix and the rows are taken by Euler's rule; the linear version predicts that place by the velocity before the step. The trapezoidal rule takes them in the middle.
    pub linearization: Linearization,
    /// How velocities and positions are integrated: Euler's rule as in \[ST96\], or the trapezoidal rule. With an activation gap it is Euler's.
    pub rule: Rule,
    /// The fixed point is reached when no coordinate moves by more than this, in metres or radians; and a contact that ends
    /// a step nearer than this begins the next one in the active set.
    /// Too large: the constraints hold less exactly. Too small: rounding keeps the iteration from ending.
    pub position_tolerance: f64,
    /// Most linearisations of a fixed-point step; a step that does not converge is accepted and reported.
    pub linearization_limit: usize,
    /// The rule of \[TTP01\] in place of the growing set: exactly those contacts take part whose gap at the start of the step is at most this, in metres, with rows from
    /// there. Contacts that close within a step penetrate, and are pushed out in the next: it is here to show what that does.
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

/// Most doublings of the search distance for a contact that was violated at the end of a step.
const HORIZON_DOUBLINGS: usize = 64;

/// The Stewart-Trinkle scheme.
#[derive(Clone, Debug)]
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
        Self {
            settings,
            solver,
            projection: JointProjection::default(),
            touching: Vec::new(),
            full_step: FullStep::default(),
            resting: Vec::new(),
            horizon: 0.0,
            history: History::default(),
            q_hat: Vec::new(),
            q_end: Vec::new(),
            v_hat: Vec::new(),
            v_rows: Vec::new(),
            q_middle: Vec::new(),
            q_new: Vec::new(),
            q_next: Vec::new(),
            mass: Inertia::default(),
            joint_rates: Vec::new(),
            part: Vec::new(),
            active: Vec::new(),
            candidates: Vec::new(),
            expected: Vec::new(),
            expected_joints: Vec::new(),
            at_end: Vec::new(),
            overlaps: Vec::new(),
        }
    }
}

impl StewartTrinkle {
    /// A contact that is deep within a body at the end of the step, beyond where it began: its surfaces bend away from their tangents, or it was not there before.
    fn bent_contact(&self, system: &dyn MechanicalSystem, h: f64, out: &Step) -> Option<ContactId> {
        let is_deep = |contact: &Contact| {
            let taken = out.problem.contacts.iter().find(|other| other.id == contact.id);
            let start = taken.map_or(0.0, |contact| h * contact.recovery);
            system.contact_size(contact.id).is_some_and(|size| contact.gap < start - BEND * size)
        };
        self.at_end.iter().find(|contact| is_deep(contact)).map(|contact| contact.id)
    }
}

impl Scheme for StewartTrinkle {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        let mut resting = std::mem::take(&mut self.resting);
        let made = step_with_static_friction(self, &mut resting, (system, state), out, |scheme, system, out| {
            scheme.full_step.begin(h);
            step_by_attempts(system, (state.t, h), out, |h, out| scheme.attempt(system, state, h, out))?;
            scheme.full_step.end(h, out.h);
            Ok(())
        });
        self.resting = resting;
        made
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl StewartTrinkle {
    /// Looks for the contacts that are violated at an end (`at_end`) among those at q̂, where they may still be some way off, and farther until all are found.
    fn find(&mut self, system: &dyn MechanicalSystem, (t_hat, t_new): (f64, f64), meets_end: bool, horizon: &mut f64) {
        *horizon = self.at_end.iter().fold(*horizon, |far, contact| far.max(-2.0 * contact.gap));
        for doubling in 0..=HORIZON_DOUBLINGS {
            let is_found = |id| self.candidates.iter().any(|candidate| candidate.id == id);
            if self.at_end.iter().all(|contact| is_found(contact.id)) {
                break;
            }
            self.candidates.clear();
            let search = if doubling == HORIZON_DOUBLINGS { f64::INFINITY } else { *horizon };
            system.contacts(t_hat, &self.q_hat, search, &mut self.candidates);
            if meets_end {
                self.expected.clear();
                system.contacts(t_new, &self.q_end, search, &mut self.expected);
            }
            *horizon *= 2.0;
        }
    }

    /// A step of this length, unless bodies would pass through each other in it, or be pushed out on the wrong side.
    fn attempt(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        out: &mut Step,
    ) -> Result<Option<Passage>, StepError> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(StepError::StepSize { h });
        }
        let rule = if self.settings.activation_gap.is_some() { Rule::Euler } else { self.settings.rule };
        self.attempt_by(rule, system, state, h, out)
    }

    /// The same by this rule; by Euler's where a contact pushes that is not settled.
    fn attempt_by(
        &mut self,
        rule: Rule,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        out: &mut Step,
    ) -> Result<Option<Passage>, StepError> {
        let is_mean = rule == Rule::Trapezoidal;
        // The rule of [TTP01] takes rows and gaps from the start: one linearisation is the fixed point.
        let activation_gap = self.settings.activation_gap;
        let is_linear = self.settings.version == Version::Linear || activation_gap.is_some();
        let ahead = match activation_gap {
            _ if is_mean => 0.5,
            Some(_) => 0.0,
            None => self.settings.linearization.share(),
        };
        // Rows from before the end are not where contacts are violated; the fixed point meets gaps and joints at the end, and not where they are linearised.
        let looks_ahead = !is_mean && ahead < 1.0;
        let meets_end = !is_linear && looks_ahead;
        let (t, t_hat, t_new) = (state.t, state.t + ahead * h, state.t + h);
        let (q, v) = (&state.q, &state.v);
        for buffer in [&mut self.q_hat, &mut self.q_end, &mut self.q_middle, &mut self.q_new, &mut self.q_next] {
            buffer.clear();
            buffer.extend_from_slice(q);
        }
        self.v_hat.clear();
        self.v_hat.extend_from_slice(v);
        out.begin(StepKind::Stepping, h);
        out.report.linearizations = 0;

        system.advance(t, q, v, ahead * h, &mut self.q_hat);
        system.advance(t, q, v, h / 2.0, &mut self.q_middle);

        let share = self.full_step.share(h);
        if is_mean {
            self.history.begin(system, state);
        }
        self.overlaps.clear();
        if share < 1.0 {
            system.contacts(t, q, 0.0, &mut self.overlaps);
            self.overlaps.retain(|contact| contact.gap < 0.0);
        }
        // [ST96] §4: those that touched before; those violated at the prediction join them below.
        self.active.clone_from(&self.touching);
        let mut horizon = self.horizon;
        let mut bends;
        loop {
            out.report.linearizations += 1;
            if is_mean {
                // W = 2 M(q̂) and u_free = v + h W⁻¹ k(q̂, v̂).
                self.q_middle.clone_from(&self.q_hat);
                let middle = (t_hat, &self.q_hat[..]);
                state_free_motion(system, state, 0.5 * h, middle, (t_hat, &self.q_hat, &self.v_hat), out)?;
                out.force_parts.clear();
                for cause in ForceCause::ALL {
                    let from = out.force_parts.len();
                    out.force_parts.resize(from + v.len(), 0.0);
                    system.force_by_cause(cause, t_hat, &self.q_hat, &self.v_hat, &mut out.force_parts[from..]);
                }
                std::mem::swap(&mut self.mass, &mut out.problem.inertia);
                out.problem.inertia.set_sum(&[(&self.mass, 2.0)], []);
                out.problem.inertia.factor().map_err(|source| StepError::Malformed { t, source })?;
            } else {
                // W = M(q̂) and u_free = v + h W⁻¹ k(q + h v/2, v).
                let middle = (t + h / 2.0, &self.q_middle[..], &v[..]);
                state_free_motion(system, state, h, (t_hat, &self.q_hat), middle, out)?;
            }
            // Rows are taken on the joints; a fixed point that meets them at the end keeps the velocity that leads there.
            self.v_rows.clone_from(&self.v_hat);
            self.projection.project(system, (t_hat, q), ahead * h, &mut self.v_rows, &mut self.q_hat)?;
            if !meets_end {
                self.v_hat.copy_from_slice(&self.v_rows);
            }
            match looks_ahead {
                false => self.q_end.copy_from_slice(&self.q_hat),
                true => system.advance(t, q, &self.v_hat, h, &mut self.q_end),
            }
            // The rule of [TTP01] is there to show what it does; the audit sees whatever passes through.
            if out.report.linearizations == 1
                && !is_mean
                && activation_gap.is_none()
                && let Some(passage) = system.passage(Way::Predicted, (t, q), (t_new, &self.q_end))
            {
                return Ok(Some(passage));
            }
            self.candidates.clear();
            system.contacts(t_hat, &self.q_hat, activation_gap.unwrap_or(horizon), &mut self.candidates);
            if activation_gap.is_some() {
                self.active.clear();
                self.candidates.iter().for_each(|contact| insert(contact.id, &mut self.active));
            } else if looks_ahead {
                self.expected.clear();
                system.contacts(t_new, &self.q_end, if meets_end { horizon } else { 0.0 }, &mut self.expected);
                self.at_end.clear();
                self.at_end.extend(
                    self.expected
                        .iter()
                        .filter(|contact| contact.gap < 0.0 || contact.restraint == Restraint::Rate)
                        .cloned(),
                );
                self.at_end.iter().for_each(|contact| insert(contact.id, &mut self.active));
                self.find(system, (t_hat, t_new), meets_end, &mut horizon);
            } else {
                let is_violated = |contact: &&Contact| contact.gap < 0.0 || contact.restraint == Restraint::Rate;
                let violated = self.candidates.iter().filter(is_violated);
                violated.for_each(|contact| insert(contact.id, &mut self.active));
            }
            out.joints.clear();
            system.joints(t_hat, &self.q_hat, &mut out.joints);
            self.joint_rates.clear();
            if is_mean {
                self.history.joint_rates(v, &mut self.joint_rates);
                self.projection.reconcile(&mut self.joint_rates);
            }
            self.joint_rates.resize(out.joints.len(), 0.0);
            self.expected_joints.clear();
            if meets_end {
                system.joints(t_new, &self.q_end, &mut self.expected_joints);
            }
            out.problem.joints.clear();
            out.problem.joints.extend(out.joints.iter().zip(&self.joint_rates).enumerate().map(
                |(i, (joint, kept))| {
                    let along = joint.row.dot(&self.v_hat);
                    let way = ahead * along - (1.0 - ahead) * joint.drift;
                    let whole = match self.expected_joints.get(i) {
                        Some(expected) => expected.value / h - along,
                        None => joint.value / h - way - kept,
                    };
                    let bias = whole - (1.0 - share) * (whole - joint.drift);
                    JointCondition { row: joint.row.clone(), bias, rounding: 0.0 }
                },
            ));
            out.friction.clear();
            system.friction_elements(t_hat, &self.q_hat, &mut out.friction);
            out.problem.friction.clear();
            // [ST96] (30): bounds are impulses.
            out.problem
                .friction
                .extend(out.friction.iter().map(|element| FrictionCondition::after(element, h, ahead, &self.v_hat)));
            if is_mean {
                refuse_one_way_elements(
                    state.t,
                    "stewart-trinkle by the trapezoidal rule",
                    &self.candidates,
                    &out.friction,
                )?;
                for condition in &mut out.problem.friction {
                    let kept = self.history.kept_slip(condition.id, v);
                    condition.tangent_bias.iter_mut().zip(kept).for_each(|(bias, kept)| *bias -= kept);
                }
            }

            // Solve with the active set, and let it grow by what the solution violates.
            loop {
                out.contacts.clear();
                out.contacts
                    .extend(self.candidates.iter().filter(|c| self.active.binary_search(&c.id).is_ok()).cloned());
                out.problem.contacts.clear();
                out.problem.contacts.extend(out.contacts.iter().map(|contact| {
                    if contact.restraint == Restraint::Rate {
                        return ContactCondition::of(contact);
                    }
                    // [ST96] (29), row of c_n: the gap at the end over h, linearised at q̂ or there.
                    let along = contact.normal.dot(&self.v_hat);
                    let way = ahead * along - (1.0 - ahead) * contact.normal_drift;
                    let expected = self.expected.iter().find(|other| meets_end && other.id == contact.id);
                    let kept = if is_mean { self.history.kept_rate(contact.id, v) } else { 0.0 };
                    let normal_bias = match expected {
                        Some(expected) => expected.gap / h - along,
                        None => contact.gap / h - way - kept,
                    };
                    // Without a driven body, it is the linearised gap at the start: negative, it asks for a penetration to be taken back.
                    let recovery = (normal_bias - contact.normal_drift).min(0.0);
                    // A part of a step takes back its share of what was there.
                    let before = self.overlaps.iter().find(|overlap| overlap.id == contact.id);
                    let left = before.map_or(0.0, |overlap| (1.0 - share) * overlap.gap / h);
                    let (normal_bias, recovery) = (normal_bias - left, (recovery - left).min(0.0));
                    ContactCondition { normal_bias, recovery, ..ContactCondition::of(contact) }
                }));
                if is_mean {
                    for condition in &mut out.problem.contacts {
                        let kept = self.history.sticking(condition.id).map_or([0.0; 3], |start| start.slip(v));
                        condition.tangent_bias.iter_mut().zip(kept).for_each(|(bias, kept)| *bias -= 0.5 * kept);
                    }
                }
                solve_problem(&mut self.solver, t, out)?;
                if is_mean && self.history.is_unsettled(&out.solution) {
                    return self.attempt_by(Rule::Euler, system, state, h, out);
                }
                system.advance(t, q, &out.solution.motion, h, &mut self.q_new);
                check_finite(t, "coordinate", &self.q_new)?;

                // Violated at the end although it did not take part.
                self.at_end.clear();
                system.contacts(t_new, &self.q_new, 0.0, &mut self.at_end);
                bends = self.bent_contact(system, h, out);
                let (end, taken) = (&mut self.at_end, &out.contacts);
                end.retain(|contact| contact.gap < 0.0 && !taken.iter().any(|other| other.id == contact.id));
                if activation_gap.is_some() {
                    break;
                }
                self.at_end.iter().for_each(|contact| insert(contact.id, &mut self.active));
                self.find(system, (t_hat, t_new), meets_end, &mut horizon);
                // A contact that exists at the end only (a new feature of a shape) waits for the next linearisation or step.
                if !self.at_end.iter().any(|contact| self.candidates.iter().any(|other| other.id == contact.id)) {
                    break;
                }
                out.report.growths += 1;
            }

            system.advance(t, q, &out.solution.motion, ahead * h, &mut self.q_next);
            out.report.last_move = match looks_ahead {
                false => largest_difference(&self.q_next, &self.q_hat),
                true => largest_difference(&self.q_new, &self.q_end),
            };
            let is_last = is_linear
                || out.report.last_move <= self.settings.position_tolerance
                || out.report.linearizations >= self.settings.linearization_limit.max(1);
            if is_last {
                break;
            }
            self.q_hat.copy_from_slice(&self.q_next);
            self.v_hat.copy_from_slice(&out.solution.motion);
        }
        out.report.converged = is_linear || out.report.last_move <= self.settings.position_tolerance;

        if activation_gap.is_none()
            && let Some(passage) = system.passage(Way::Taken, (t, q), (t_new, &self.q_new))
        {
            return Ok(Some(passage));
        }

        if let Some(contact) = bends
            && is_linear
            && activation_gap.is_none()
            && h > LEAST_SHARE * self.full_step.h
        {
            return Ok(Some(Passage { contact, share: 0.5 }));
        }

        out.linearized_at.clone_from(&self.q_hat);
        out.linearized_time = t_hat;
        out.force_at.clone_from(&self.q_middle);
        out.force_time = t + h / 2.0;
        out.state.t = t_new;
        out.state.q.clone_from(&self.q_new);
        out.state.v.clone_from(&out.solution.motion);
        if is_mean {
            out.state.v.iter_mut().zip(v).for_each(|(new, old)| *new = 2.0 * *new - old);
        }
        let u = &out.solution.motion;
        out.report.energy_defect = energy_defect(system, state, u, out, &mut self.part);

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
        Ok(None)
    }
}

/// Adds an id to a sorted list, once.
fn insert(id: ContactId, list: &mut Vec<ContactId>) {
    if let Err(place) = list.binary_search(&id) {
        list.insert(place, id);
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |largest, (a, b)| largest.max((a - b).abs()))
}

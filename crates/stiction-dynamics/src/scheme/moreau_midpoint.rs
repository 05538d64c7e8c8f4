//! Moreau's midpoint rule: contacts on the velocity level, impacts by Newton's law in normal and tangential direction.
//!
//! \[GS05\] (17), with $\theta$ as a setting; $\theta = \tfrac12$ is the paper's rule. From $q^A, u^A$ at the start of the step:
//!
//! $$ \begin{aligned}
//! q^M &= q^A \oplus (1 - \theta) \Delta t u^A, \\\\
//! M(q^M)(u^E - u^A) &= h(q^M, u^A) \Delta t + \textstyle\sum_{i \in \mathcal H} (w_{Ni} \Lambda_{Ni} + w_{Ti} \Lambda_{Ti}), \\\\
//! q^E &= q^M \oplus \theta \Delta t u^E,
//! \end{aligned} $$
//!
//! where the index set $\mathcal H$ holds the contacts whose gap at $q^M$ is at most the gap tolerance. In the letters of
//! [`ContactProblem`](crate::ContactProblem): $u = u^E$, $W = M(q^M)$, $u_\text{free} = u^A + \Delta t W^{-1} h$, and the biases carry the
//! rheonomic terms and what is to be given back, (10)-(11): $b_n = \hat w_N + \varepsilon_N \gamma_N^A$ and $b_t = \hat w_T + \varepsilon_T \gamma_T^A$.
//!
//! **Implicit forces.** With [`implicit`](MoreauMidpointSettings::implicit) the force is the mean $\theta k(t^E, q^E, u^E) + (1 - \theta)
//! k(t^A, q^A, u^A)$, linearised at the start: $W = M - \Delta t\, \theta\, k_v - \Delta t^2 \theta^2 k_q$ and $W (u_\text{free} - u^A) = \Delta t\, (\theta k(t^E)
//! + (1 - \theta) k(t^A) + \theta\, \Delta t\, k_q u^A)$, stable for stiff springs and dampers from $\theta = \tfrac12$ on.
//!
//! A step in which bodies would pass through each other is cut so that they have just closed in its middle, or at its end; and so is one in whose middle a
//! contact that was open overlaps by a visible share of a body.
//!
//! A step of length zero is the pure impact law: it changes the velocities only.
//!
//! Differs from the paper: a contact is closed up to a named tolerance and not only where its gap is negative, so that a block that
//! rests on a gap of $10^{-17}$ m does not fall for a step. Joints are held on the velocity level, and drift of the position is
//! taken back within a step where that is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FullStep, Impacts, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind, check_finite, energy_defect,
    solve_problem, state_free_motion, step_by_attempts,
};
use crate::force_jacobians::add_product;
use crate::joint_projection::JointProjection;
use crate::setting::{Named, SettingError, Suffix, not_negative};
use crate::static_friction::{Rubbing, step_with_static_friction};
use crate::{
    Contact, ContactCondition, ContactSolver, ForceCause, ForceJacobians, FrictionCondition, Inertia, JacobianKind,
    Joint, JointCondition, MechanicalSystem, Passage, State, StepError, Way,
};

/// A contact that closes within a step and overlaps by more than this share of the smaller body is stated where it closes, up to half of this: nothing would take
/// the overlap back. Too large: bodies penetrate visibly. Too small: a cut for every touch.
const OVERLAP: f64 = 5e-4;

/// One that closes in the second half of a step is left with this share of that overlap, so that the next step surely finds it closed. With nothing at all, a
/// rotation that takes it to the middle just above zero would hide it.
const TOUCH: f64 = 0.1;

/// But no more than this share of the way, so that the error falls with the step.
const OVERLAP_WAY: f64 = 1e-2;

/// The contact that closes first among those that overlap too far at the end of a way of `time` seconds with the velocity `v`, and after which share of it they overlap by
/// `share` of [`OVERLAP`]. Bodies without a size never do.
fn first_overlap(
    system: &dyn MechanicalSystem,
    (v, time): (&[f64], f64),
    contacts: &[Contact],
    share: f64,
) -> Option<Passage> {
    let cuts = contacts.iter().filter(|contact| contact.gap < 0.0).filter_map(|contact| {
        let allowed = OVERLAP * system.contact_size(contact.id)?;
        let start = contact.gap - time * (contact.normal.dot(v) + contact.normal_drift);
        // One that begins closed is stated at once.
        let way = start - contact.gap;
        let share = (start.max(0.0) + share * allowed.min(OVERLAP_WAY * way)) / way;
        let closes = start > -allowed && contact.gap < -allowed && share > 0.0 && share < 1.0;
        closes.then_some(Passage { contact: contact.id, share })
    });
    cuts.min_by(|a, b| a.share.total_cmp(&b.share))
}

/// Settings of Moreau's midpoint rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MoreauMidpointSettings {
    /// Weight $\theta$ of the new velocity in the new position, from 0 to 1; 0.5 is the midpoint rule.
    pub theta: f64,
    /// Contacts with a gap up to this count as closed, in metres.
    /// Too large: bodies stop before they touch. Too small: a resting body falls for a step now and then.
    pub gap_tolerance: f64,
    /// Whether drift of the joints is taken back: the bias of a joint row is then its value over the step.
    pub stabilize_joints: bool,
    /// Whether forces are treated implicitly with the weight $\theta$, by their derivatives at the start of the step.
    pub implicit: bool,
}

impl Default for MoreauMidpointSettings {
    fn default() -> Self {
        Self { theta: 0.5, gap_tolerance: 1e-12, stabilize_joints: true, implicit: false }
    }
}

impl OwnFacts for MoreauMidpointSettings {
    fn facts(&self) -> SchemeFacts {
        SchemeFacts {
            named: Named {
                name: "moreau-midpoint",
                summary: "Contacts on the velocity level, impacts with restitution. [GS05]",
                suffixes: &[Suffix::Number { shown: "THETA", key: "theta" }],
            },
            restricted_by: None,
            impacts: Impacts::Newton,
            one_way: true,
            polygons: true,
            stiff_forces: self.implicit && self.theta >= 0.5,
            overlap: Overlap::Kept,
        }
    }

    fn check(&self) -> Result<(), SettingError> {
        if !(0.0..=1.0).contains(&self.theta) {
            return Err(SettingError::new(
                "theta",
                format!("`theta` is {:?}", self.theta),
                "give a number from 0 to 1",
            ));
        }
        not_negative("gap-tolerance", "the gap tolerance", self.gap_tolerance, "m")
    }

    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        Box::new(MoreauMidpoint::new(self.clone(), solver))
    }
}

/// Moreau's midpoint rule.
#[derive(Clone, Debug)]
pub struct MoreauMidpoint {
    settings: MoreauMidpointSettings,
    solver: ContactSolver,
    projection: JointProjection,
    full_step: FullStep,
    /// Contacts with two coefficients of friction that stuck in the last step.
    resting: Vec<Rubbing>,
    // Workspace of a step.
    q_middle: Vec<f64>,
    q_end: Vec<f64>,
    v_joints: Vec<f64>,
    joints: Vec<Joint>,
    end_joints: Vec<Joint>,
    at_end: Vec<Contact>,
    /// Rates that take back the drift of joints.
    rates: Vec<f64>,
    mean: Vec<f64>,
    part: Vec<f64>,
    mass: Inertia,
    jacobians: ForceJacobians,
}

impl MoreauMidpoint {
    /// The scheme with these settings and this contact solver.
    pub fn new(settings: MoreauMidpointSettings, solver: ContactSolver) -> Self {
        let [q_middle, v_joints, q_end, rates, mean, part] = [const { Vec::new() }; 6];
        Self {
            settings,
            solver,
            projection: JointProjection::default(),
            full_step: FullStep::default(),
            resting: Vec::new(),
            q_middle,
            q_end,
            v_joints,
            joints: Vec::new(),
            end_joints: Vec::new(),
            at_end: Vec::new(),
            rates,
            mean,
            part,
            mass: Inertia::default(),
            jacobians: ForceJacobians::default(),
        }
    }
}

impl Scheme for MoreauMidpoint {
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

impl MoreauMidpoint {
    /// A step of this length, unless bodies pass through each other in one of its halves.
    fn attempt(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        out: &mut Step,
    ) -> Result<Option<Passage>, StepError> {
        if !(h >= 0.0 && h.is_finite()) {
            return Err(StepError::StepSize { h });
        }
        let theta = self.settings.theta;
        let (t, t_new) = (state.t, state.t + h);
        let t_middle = t + (1.0 - theta) * h;
        let (q, v) = (&state.q, &state.v);
        out.begin(StepKind::Stepping, h);

        // (17), steps 2 and 3: the middle, inertia and forces there.
        self.q_middle.clone_from(q);
        system.advance(t, q, v, (1.0 - theta) * h, &mut self.q_middle);
        if let Some(passage) = system.passage(Way::Taken, (t, q), (t_middle, &self.q_middle)) {
            return Ok(Some(passage));
        }
        (out.linearized_time, out.force_time) = (t_middle, t_middle);
        out.linearized_at.clone_from(&self.q_middle);
        out.force_at.clone_from(&self.q_middle);
        if self.settings.implicit {
            self.state_implicit_motion(system, state, (t_middle, t_new), out)?;
        } else {
            let middle = (t_middle, &self.q_middle[..]);
            state_free_motion(system, state, h, middle, (t_middle, &self.q_middle, v), out)?;
        }
        let q_middle = &self.q_middle;

        // The index set, and the conditions (10), (11) of its contacts.
        out.contacts.clear();
        system.contacts(t_middle, q_middle, self.settings.gap_tolerance, &mut out.contacts);
        if let Some(cut) = first_overlap(system, (v, (1.0 - theta) * h), &out.contacts, 0.5) {
            return Ok(Some(cut));
        }
        out.problem.contacts.clear();
        out.problem.contacts.extend(out.contacts.iter().map(|contact| {
            let restitution = contact.restitution;
            let mut tangent_bias = contact.tangent_drift;
            for (bias, tangent) in tangent_bias.iter_mut().zip(&contact.tangents) {
                *bias += restitution.tangential * (tangent.dot(v) + *bias);
            }
            ContactCondition {
                normal_bias: contact.normal_drift + restitution.normal * (contact.normal.dot(v) + contact.normal_drift),
                tangent_bias,
                ..ContactCondition::of(contact)
            }
        }));
        self.state_joints(system, state, (t_middle, t_new), out)?;
        out.friction.clear();
        system.friction_elements(t_middle, &self.q_middle, &mut out.friction);
        out.problem.friction.clear();
        out.problem.friction.extend(out.friction.iter().map(|element| {
            let mut condition = FrictionCondition::of(element, h);
            // A displacement counts as it will be in the next middle. At the end of this step, it would swing about zero for ever.
            if let Some(x) = element.displacement
                && h > 0.0
            {
                condition.tangent_bias[0] += x / h;
            }
            condition
        }));

        // (17), steps 4 and 5: the new velocity and position.
        solve_problem(&mut self.solver, t, out)?;
        out.state.t = t_new;
        out.state.v.clone_from(&out.solution.motion);
        out.state.q.clone_from(q);
        system.advance(t_middle, &out.linearized_at, &out.state.v, theta * h, &mut out.state.q);
        check_finite(t, "coordinate", &out.state.q)?;
        if let Some(passage) = system.passage(Way::Taken, (t_middle, &self.q_middle), (t_new, &out.state.q)) {
            return Ok(Some(Passage { share: 1.0 - theta + theta * passage.share, ..passage }));
        }
        // One that closes in the second half waits for the next step, which begins where it touches.
        self.at_end.clear();
        system.contacts(t_new, &out.state.q, 0.0, &mut self.at_end);
        let taken = &out.contacts;
        self.at_end.retain(|contact| {
            let is_deep = system.contact_size(contact.id).is_some_and(|size| contact.gap < -OVERLAP * size);
            is_deep && !taken.iter().any(|other| other.id == contact.id)
        });
        if let Some(cut) = first_overlap(system, (&out.state.v, theta * h), &self.at_end, TOUCH) {
            return Ok(Some(Passage { share: 1.0 - theta + theta * cut.share, ..cut }));
        }

        if self.settings.implicit {
            self.complete_forces(state, out);
        }
        self.mean.clear();
        self.mean.extend(v.iter().zip(&out.state.v).map(|(a, b)| (1.0 - theta) * a + theta * b));
        out.report.energy_defect = energy_defect(system, state, &self.mean, out, &mut self.part);
        Ok(None)
    }

    /// States the joints: rows in the middle, and a bias that takes back their drift.
    ///
    /// A straight half step leaves a curved constraint by $\kappa = \Theta(\hat q^E) - \Theta(q^M) - \theta \Delta t\, (\nu u^A + \text{drift})$, with the prediction
    /// $\hat q^E = q^M \oplus \theta \Delta t\, u^A$. With the bias $(\Theta(q^M) + c)/\Delta t$, and $w$ for the rate $\nu u^E$ at $q^M$, a drift $x$ goes on as
    ///
    /// $$ x^M = x + (1 - \theta) \Delta t\, w + (\theta^{-2} - 1) \kappa, \qquad w' = -(x^M + c)/\Delta t, \qquad x' = x^M + \theta \Delta t\, w' + \kappa. $$
    ///
    /// For $\theta = \tfrac12$ this forgets its start after two steps. The drift that stays, $((2 - \theta) + (1 - \theta)(\theta^{-2} - 1)) \kappa - c$, is of order
    /// two; $c$ takes it back.
    ///
    /// A step that was cut where bodies close may be a thousand times shorter than the next one. So drift is taken back over the full step there, too: within the
    /// short one it would take a speed that breaks the joints in the next.
    fn state_joints(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        (t_middle, t_new): (f64, f64),
        out: &mut Step,
    ) -> Result<(), StepError> {
        let (theta, h, v) = (self.settings.theta, out.h, &state.v);
        self.rates.clear();
        self.joints.clear();
        system.joints(t_middle, &self.q_middle, &mut self.joints);
        if self.settings.stabilize_joints && h > 0.0 && !self.joints.is_empty() {
            self.q_end.clone_from(&self.q_middle);
            system.advance(t_middle, &self.q_middle, v, theta * h, &mut self.q_end);
            self.end_joints.clear();
            system.joints(t_new, &self.q_end, &mut self.end_joints);
            let share = match theta {
                0.0 => 0.0,
                _ => (2.0 - theta) + (1.0 - theta) * (1.0 / (theta * theta) - 1.0),
            };
            self.rates.extend(self.joints.iter().zip(&self.end_joints).map(|(middle, end)| {
                let curvature = end.value - middle.value - theta * h * (middle.row.dot(v) + middle.drift);
                -(middle.value + share * curvature) * self.full_step.share(h) / h
            }));
        }
        self.rates.resize(self.joints.len(), 0.0);

        // Redundant rows where they are redundant.
        self.q_end.clone_from(&self.q_middle);
        self.v_joints.clone_from(v);
        let from = (t_middle, &state.q[..]);
        self.projection.project(system, from, (1.0 - theta) * h, &mut self.v_joints, &mut self.q_end)?;
        self.projection.reconcile(&mut self.rates);
        out.joints.clear();
        system.joints(t_middle, &self.q_end, &mut out.joints);
        out.problem.joints.clear();
        out.problem.joints.extend(out.joints.iter().zip(&self.rates).map(|(joint, rate)| JointCondition {
            row: joint.row.clone(),
            bias: joint.drift - rate,
            rounding: 0.0,
        }));
        Ok(())
    }

    /// States $W$ and $u_\text{free}$ with forces that are implicit with the weight $\theta$.
    fn state_implicit_motion(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        (t_middle, t_new): (f64, f64),
        out: &mut Step,
    ) -> Result<(), StepError> {
        let (theta, h, n) = (self.settings.theta, out.h, system.velocity_count());
        self.mass.clear();
        system.mass_matrix(t_middle, &self.q_middle, &mut self.mass);
        let kinds = [JacobianKind::Exact, JacobianKind::Definite];
        let factors = [h * theta, h * h * theta * theta];
        let (at, masses) = ((t_new, &state.q[..], &state.v[..]), [(&self.mass, 1.0)]);
        self.jacobians.state_inertia(system, &kinds, at, &masses, factors, &mut out.problem.inertia);
        out.problem.inertia.factor().map_err(|source| StepError::Malformed { t: state.t, source })?;
        // θ k(t^E) + (1 - θ) k(t^A) by cause; what depends on u^E follows when it is known.
        out.force_parts.clear();
        for cause in ForceCause::ALL {
            let from = out.force_parts.len();
            out.force_parts.resize(from + n, 0.0);
            for (t, weight) in [(state.t, 1.0 - theta), (t_new, theta)] {
                self.part.clear();
                self.part.resize(n, 0.0);
                system.force_by_cause(cause, t, &state.q, &state.v, &mut self.part);
                out.force_parts[from..].iter_mut().zip(&self.part).for_each(|(sum, part)| *sum += weight * part);
            }
        }
        let free = &mut out.problem.free_motion;
        free.clear();
        free.extend((0..n).map(|i| h * (0..3).map(|cause| out.force_parts[cause * n + i]).sum::<f64>()));
        add_product(&self.jacobians.by_configuration, None, h * h * theta, &state.v, free);
        out.problem.inertia.solve_in_place(free);
        free.iter_mut().zip(&state.v).for_each(|(u, v)| *u += v);
        Ok(())
    }

    /// Adds what the new velocity contributes to the implicit forces: $\theta (k_q \Delta t ((1 - \theta) u^A + \theta u^E) + k_v (u^E - u^A))$.
    fn complete_forces(&mut self, state: &State, out: &mut Step) {
        let (theta, h, n) = (self.settings.theta, out.h, state.v.len());
        let v_new = &out.solution.motion;
        self.mean.clear();
        self.mean.extend(state.v.iter().zip(v_new).map(|(a, b)| h * ((1.0 - theta) * a + theta * b)));
        self.part.clear();
        self.part.extend(state.v.iter().zip(v_new).map(|(a, b)| b - a));
        out.force.clear();
        out.force.resize(n, 0.0);
        for (i, cause) in ForceCause::ALL.into_iter().enumerate() {
            let part = &mut out.force_parts[i * n..(i + 1) * n];
            add_product(&self.jacobians.by_configuration, Some(cause), theta, &self.mean, part);
            add_product(&self.jacobians.by_velocity, Some(cause), theta, &self.part, part);
            out.force.iter_mut().zip(part).for_each(|(sum, part)| *sum += *part);
        }
    }
}

//! Moreau's midpoint rule: contacts on the velocity level, impacts by Newton's law in normal and
//! tangential direction.
//!
//! \[GS05\] (17), with $\theta$ as a setting; $\theta = \tfrac12$ is the paper's rule. From
//! $q^A, u^A$ at the start of the step:
//!
//! $$ \begin{aligned}
//! q^M &= q^A \oplus (1 - \theta) \Delta t u^A, \\\\
//! M(q^M)(u^E - u^A) &= h(q^M, u^A) \Delta t + \textstyle\sum_{i \in \mathcal H} (w_{Ni} \Lambda_{Ni} + w_{Ti} \Lambda_{Ti}), \\\\
//! q^E &= q^M \oplus \theta \Delta t u^E,
//! \end{aligned} $$
//!
//! where the index set $\mathcal H$ holds the contacts whose gap at $q^M$ is at most the gap
//! tolerance. In the letters of [`ContactProblem`](crate::ContactProblem): $u = u^E$, $W = M(q^M)$,
//! $u_\text{free} = u^A + \Delta t W^{-1} h$, and the biases carry the rheonomic terms and what is
//! to be given back, (10)-(11): $b_n = \hat w_N + \varepsilon_N \gamma_N^A$ and
//! $b_t = \hat w_T + \varepsilon_T \gamma_T^A$.
//!
//! **Implicit forces.** With [`implicit`](MoreauMidpointSettings::implicit) the force is the mean
//! $\theta k(t^E, q^E, u^E) + (1 - \theta) k(t^A, q^A, u^A)$, linearised at the start:
//! $W = M - \Delta t\, \theta\, k_v - \Delta t^2 \theta^2 k_q$ and
//! $W (u_\text{free} - u^A) = \Delta t\, (\theta k(t^E) + (1 - \theta) k(t^A) + \theta\, \Delta t\, k_q u^A)$,
//! stable for stiff springs and dampers from $\theta = \tfrac12$ on.
//!
//! A step in which bodies would pass through each other is cut so that they have just closed in its
//! middle, or at its end; and so is one in whose middle a contact that was open overlaps by a
//! visible share of a body.
//!
//! A step of length zero is the pure impact law: it changes the velocities only.
//!
//! Differs from the paper: a contact is closed up to a named tolerance and not only where its gap
//! is negative, so that a block that rests on a gap of $10^{-17}$ m does not fall for a step.
//! Joints are held on the velocity level, and drift of the position is taken back within a step
//! where that is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    At, Attempting, FullStep, Impacts, Origin, Outcome, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind,
    check_finite, energy_defect, solve_problem, state_motion, step_by_attempts,
};
use crate::force_jacobians::add_product;
use crate::joint_projection::JointProjection;
use crate::setting::{Named, Suffix, ValueError, check_not_negative, check_share};
use crate::static_friction::Rubbing;
use crate::vector::{filled, refill};
use crate::{
    Contact, ContactCondition, ContactSolver, ForceJacobians, FrictionCondition, Inertia, JacobianKind, Joint,
    JointCondition, MechanicalSystem, Passage, State, StepError, Way,
};

/// A contact that closes within a step and overlaps by more than this share of the smaller body is
/// stated where it closes, up to half of this: nothing would take the overlap back. Too large:
/// bodies penetrate visibly. Too small: a cut for every touch.
const OVERLAP: f64 = 5e-4;

/// One that closes in the second half of a step is left with this share of that overlap, so that
/// the next step surely finds it closed. With nothing at all, a rotation that takes it to the
/// middle just above zero would hide it.
const TOUCH: f64 = 0.1;

/// But no more than this share of the way, so that the error falls with the step.
const OVERLAP_WAY: f64 = 1e-2;

/// A way of this share of what is allowed is none: a contact that begins at the limit passes it by
/// rounding. Too large: it is exceeded by as much. Too small: steps are cut without end.
const NO_WAY: f64 = 1e-6;

/// The contact that closes first among those that overlap too far at the end of a way of `time`
/// seconds with the velocity `v`, and after which share of it they overlap by `share` of
/// [`OVERLAP`]. Bodies without a size never do.
///
/// The gap at the start is that of a straight way. Where it says that a contact began deep, that
/// may be the curvature of its surfaces, and it is looked at there.
fn first_overlap(start: At<'_>, (v, time): (&[f64], f64), contacts: &[Contact], share: f64) -> Option<Passage> {
    let cuts = contacts.iter().filter(|contact| contact.gap < 0.0).filter_map(|contact| {
        let allowed = OVERLAP * start.system.contact_size(contact.id)?;
        if contact.gap >= -allowed {
            return None;
        }
        let mut gap = contact.gap - time * contact.rate(v);
        if gap <= -allowed {
            let found: Vec<Contact> = filled(|out| start.contacts_of(&[contact.id], out));
            gap = found.first().map_or(gap, |contact| contact.gap);
        }
        // One that begins closed is stated at once.
        let way = gap - contact.gap;
        let share = (gap.max(0.0) + share * allowed.min(OVERLAP_WAY * way)) / way;
        let closes = gap > -allowed && way > NO_WAY * allowed && share > 0.0 && share < 1.0;
        closes.then_some(Passage { contact: contact.id, share })
    });
    cuts.min_by(|a, b| a.share.total_cmp(&b.share))
}

/// Settings of Moreau's midpoint rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MoreauMidpointSettings {
    /// Weight $\theta$ of the new velocity in the new position, from 0 to 1; 0.5 is the midpoint
    /// rule.
    pub theta: f64,
    /// Contacts with a gap up to this count as closed, in metres. Too large: bodies stop before
    /// they touch. Too small: a resting body falls for a step now and then.
    pub gap_tolerance: f64,
    /// Whether drift of the joints is taken back: the bias of a joint row is then its value over
    /// the step.
    pub stabilize_joints: bool,
    /// Whether forces are treated implicitly with the weight $\theta$, by their derivatives at the
    /// start of the step.
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
            corners: true,
            overlap: Overlap::Kept,
        }
    }

    fn check(&self) -> Result<(), ValueError> {
        check_share("theta", "`theta`", self.theta)?;
        check_not_negative("gap-tolerance", "the gap tolerance", self.gap_tolerance, "m")
    }

    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        Box::new(MoreauMidpoint::new(self.clone(), solver))
    }
}

/// Moreau's midpoint rule.
#[derive(Clone, Debug, Default)]
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
        Self { settings, solver, ..Self::default() }
    }
}

impl Scheme for MoreauMidpoint {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        step_by_attempts(self, Origin::new(system, state), h, out)
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl Attempting for MoreauMidpoint {
    fn memory(&mut self) -> (&mut FullStep, &mut Vec<Rubbing>) {
        (&mut self.full_step, &mut self.resting)
    }

    /// A step of this length, unless bodies pass through each other in one of its halves.
    fn attempt(&mut self, origin: Origin<'_>, h: f64, out: &mut Step) -> Outcome<Option<Passage>> {
        if !(h >= 0.0 && h.is_finite()) {
            return Err(StepError::StepSize { h });
        }
        let Origin { system, state: State { t, q, v }, .. } = origin;
        let theta = self.settings.theta;
        let (t_middle, t_new) = (t + (1.0 - theta) * h, t + h);
        out.begin(StepKind::Stepping, h);

        // (17), steps 2 and 3: the middle, inertia and forces there.
        origin.advance(v, (1.0 - theta) * h, &mut self.q_middle);
        if let Some(passage) = system.passage(Way::Taken, (*t, q), (t_middle, &self.q_middle)) {
            return Ok(Some(passage));
        }
        out.linearize_at(t_middle, &self.q_middle);
        out.force_at.set(t_middle, &self.q_middle, v);
        let middle = origin.at(t_middle, &self.q_middle);
        match self.settings.implicit {
            true => self.state_implicit_motion(origin, (t_middle, t_new), out)?,
            false => state_motion(origin, h, middle, (middle, v), out)?,
        }

        // The index set, and the conditions (10), (11) of its contacts.
        let middle = origin.at(t_middle, &self.q_middle);
        middle.contacts(self.settings.gap_tolerance, &mut out.contacts);
        if let Some(cut) = first_overlap(origin.here(), (v, (1.0 - theta) * h), &out.contacts, 0.5) {
            return Ok(Some(cut));
        }
        let conditions = out.contacts.iter().map(|contact| {
            let (restitution, slip) = (contact.restitution, contact.slip(v));
            ContactCondition {
                normal_bias: contact.normal_drift + restitution.normal * contact.rate(v),
                tangent_bias: std::array::from_fn(|a| contact.tangent_drift[a] + restitution.tangential * slip[a]),
                ..ContactCondition::of(contact)
            }
        });
        refill(&mut out.problem.contacts, conditions);
        self.state_joints(origin, (t_middle, t_new), out)?;
        origin.at(t_middle, &self.q_middle).friction(&mut out.friction);
        let conditions = out.friction.iter().map(|element| {
            let mut condition = FrictionCondition::of(element, h);
            // A displacement counts as it will be in the next middle. At the end of this step, it
            // would swing about zero for ever.
            if let Some(x) = element.displacement
                && h > 0.0
            {
                condition.tangent_bias[0] += x / h;
            }
            condition
        });
        refill(&mut out.problem.friction, conditions);

        // (17), steps 4 and 5: the new velocity and position.
        solve_problem(&mut self.solver, *t, out)?;
        out.state.set(t_new, q, &out.solution.motion);
        system.advance(t_middle, &out.linearized_at, &out.state.v, theta * h, &mut out.state.q);
        check_finite(*t, "coordinate", &out.state.q)?;
        if let Some(passage) = system.passage(Way::Taken, (t_middle, &self.q_middle), (t_new, &out.state.q)) {
            return Ok(Some(Passage { share: 1.0 - theta + theta * passage.share, ..passage }));
        }
        // One that closes in the second half waits for the next step, which begins where it
        // touches.
        origin.at(t_new, &out.state.q).contacts(0.0, &mut self.at_end);
        let taken = &out.contacts;
        self.at_end.retain(|contact| {
            let is_deep = system.contact_size(contact.id).is_some_and(|size| contact.gap < -OVERLAP * size);
            is_deep && !taken.iter().any(|other| other.id == contact.id)
        });
        if let Some(cut) =
            first_overlap(origin.at(t_middle, &self.q_middle), (&out.state.v, theta * h), &self.at_end, TOUCH)
        {
            return Ok(Some(Passage { share: 1.0 - theta + theta * cut.share, ..cut }));
        }

        if self.settings.implicit {
            self.complete_forces(v, out);
        }
        refill(&mut self.mean, v.iter().zip(&out.state.v).map(|(a, b)| (1.0 - theta) * a + theta * b));
        out.report.energy_defect = energy_defect(origin, &self.mean, out, &mut self.part);
        Ok(None)
    }
}

impl MoreauMidpoint {
    /// States the joints: rows in the middle, and a bias that takes back their drift.
    ///
    /// A straight half step leaves a curved constraint by
    /// $\kappa = \Theta(\hat q^E) - \Theta(q^M) - \theta \Delta t\, (\nu u^A + \text{drift})$, with
    /// the prediction $\hat q^E = q^M \oplus \theta \Delta t\, u^A$. With the bias
    /// $(\Theta(q^M) + c)/\Delta t$, and $w$ for the rate $\nu u^E$ at $q^M$, a drift $x$ goes on
    /// as
    ///
    /// $$ x^M = x + (1 - \theta) \Delta t\, w + (\theta^{-2} - 1) \kappa, \qquad w' = -(x^M + c)/\Delta t, \qquad x' = x^M + \theta \Delta t\, w' + \kappa. $$
    ///
    /// For $\theta = \tfrac12$ this forgets its start after two steps. The drift that stays,
    /// $((2 - \theta) + (1 - \theta)(\theta^{-2} - 1)) \kappa - c$, is of order two; $c$ takes it
    /// back.
    ///
    /// A step that was cut where bodies close may be a thousand times shorter than the next one. So
    /// drift is taken back over the full step there, too: within the short one it would take a
    /// speed that breaks the joints in the next.
    fn state_joints(&mut self, origin: Origin<'_>, (t_middle, t_new): (f64, f64), out: &mut Step) -> Outcome {
        let (theta, h) = (self.settings.theta, out.h);
        let Origin { system, state: State { q, v, .. }, .. } = origin;
        self.rates.clear();
        origin.at(t_middle, &self.q_middle).joints(&mut self.joints);
        self.q_end.clone_from(&self.q_middle);
        if self.settings.stabilize_joints && h > 0.0 && !self.joints.is_empty() {
            system.advance(t_middle, &self.q_middle, v, theta * h, &mut self.q_end);
            origin.at(t_new, &self.q_end).joints(&mut self.end_joints);
            let share = match theta {
                0.0 => 0.0,
                _ => (2.0 - theta) + (1.0 - theta) * (1.0 / (theta * theta) - 1.0),
            };
            self.rates.extend(self.joints.iter().zip(&self.end_joints).map(|(middle, end)| {
                let curvature = end.value - middle.value - theta * h * middle.rate(v);
                -(middle.value + share * curvature) * self.full_step.share(h) / h
            }));
            self.q_end.clone_from(&self.q_middle);
        }
        self.rates.resize(self.joints.len(), 0.0);

        // Redundant rows where they are redundant.
        self.v_joints.clone_from(v);
        let start = origin.at(t_middle, q);
        self.projection.project(start, (1.0 - theta) * h, &mut self.v_joints, &mut self.q_end)?;
        self.projection.reconcile(&mut self.rates);
        origin.at(t_middle, &self.q_end).joints(&mut out.joints);
        let rows = out.joints.iter().zip(&self.rates);
        refill(&mut out.problem.joints, rows.map(|(joint, rate)| JointCondition::of(joint, *rate)));
        Ok(())
    }

    /// States $W$ and $u_\text{free}$ with forces that are implicit with the weight $\theta$.
    fn state_implicit_motion(&mut self, origin: Origin<'_>, (t_middle, t_new): (f64, f64), out: &mut Step) -> Outcome {
        let (theta, h) = (self.settings.theta, out.h);
        let Origin { system, state: State { t, q, v }, .. } = origin;
        origin.at(t_middle, &self.q_middle).mass(&mut self.mass);
        let kinds = [JacobianKind::Exact, JacobianKind::Definite];
        let factors = [h * theta, h * h * theta * theta];
        let (at, masses) = ((t_new, &q[..], &v[..]), [(&self.mass, 1.0)]);
        self.jacobians.state_inertia(system, &kinds, at, &masses, factors, &mut out.problem.inertia);
        out.problem.inertia.factor().map_err(|source| origin.malformed(source))?;
        // θ k(t^E) + (1 - θ) k(t^A) by cause; what depends on u^E follows when it is known.
        out.add_forces(v.len(), |cause, sum| {
            for (t, weight) in [(*t, 1.0 - theta), (t_new, theta)] {
                origin.at(t, q).force_by_cause(cause, v, &mut self.part);
                sum.iter_mut().zip(&self.part).for_each(|(sum, part)| *sum += weight * part);
            }
        });
        let free = &mut out.problem.free_motion;
        refill(free, out.force.iter().map(|k| h * k));
        add_product(&self.jacobians.by_configuration, None, h * h * theta, v, free);
        out.problem.inertia.solve_in_place(free);
        free.iter_mut().zip(v).for_each(|(u, v)| *u += v);
        Ok(())
    }

    /// Adds what the new velocity contributes to the implicit forces:
    /// $\theta (k_q \Delta t ((1 - \theta) u^A + \theta u^E) + k_v (u^E - u^A))$.
    fn complete_forces(&mut self, v: &[f64], out: &mut Step) {
        let (theta, h) = (self.settings.theta, out.h);
        let v_new = &out.solution.motion;
        refill(&mut self.mean, v.iter().zip(v_new).map(|(a, b)| h * ((1.0 - theta) * a + theta * b)));
        refill(&mut self.part, v.iter().zip(v_new).map(|(a, b)| b - a));
        out.add_forces(v.len(), |cause, part| {
            add_product(&self.jacobians.by_configuration, Some(cause), theta, &self.mean, part);
            add_product(&self.jacobians.by_velocity, Some(cause), theta, &self.part, part);
        });
    }
}

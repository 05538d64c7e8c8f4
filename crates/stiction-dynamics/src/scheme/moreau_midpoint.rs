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
//! A step of length zero is the pure impact law: it changes the velocities only.
//!
//! Differs from the paper: a contact is closed up to a named tolerance and not only where its gap is negative, so that a block that
//! rests on a gap of $10^{-17}$ m does not fall for a step. Joints are held on the velocity level, and drift of the position is
//! taken back within a step where that is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Scheme, Step, StepKind, check_finite, solve_problem, state_free_motion};
use crate::{
    ContactCondition, ContactSolver, ForceCause, FrictionCondition, JointCondition, MechanicalSystem, State, StepError,
};

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
}

impl Default for MoreauMidpointSettings {
    fn default() -> Self {
        Self { theta: 0.5, gap_tolerance: 1e-12, stabilize_joints: true }
    }
}

/// Moreau's midpoint rule.
#[derive(Clone, Debug)]
pub struct MoreauMidpoint {
    settings: MoreauMidpointSettings,
    solver: ContactSolver,
    // Workspace of a step.
    q_middle: Vec<f64>,
    mean: Vec<f64>,
    q_mean: Vec<f64>,
    part: Vec<f64>,
}

impl MoreauMidpoint {
    /// The scheme with these settings and this contact solver.
    pub fn new(settings: MoreauMidpointSettings, solver: ContactSolver) -> Self {
        let [q_middle, mean, q_mean, part] = [const { Vec::new() }; 4];
        Self { settings, solver, q_middle, mean, q_mean, part }
    }
}

impl Scheme for MoreauMidpoint {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
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
        system.advance(q, v, (1.0 - theta) * h, &mut self.q_middle);
        let q_middle = &self.q_middle;
        (out.linearized_time, out.force_time) = (t_middle, t_middle);
        out.linearized_at.clone_from(q_middle);
        out.force_at.clone_from(q_middle);
        state_free_motion(system, state, h, (t_middle, q_middle), (t_middle, q_middle), out)?;

        // The index set, and the conditions (10), (11) of its contacts.
        out.contacts.clear();
        system.contacts(t_middle, q_middle, self.settings.gap_tolerance, &mut out.contacts);
        out.problem.contacts.clear();
        out.problem.contacts.extend(out.contacts.iter().map(|contact| {
            let restitution = contact.restitution;
            let mut tangent_bias = contact.tangent_drift;
            for (bias, tangent) in tangent_bias.iter_mut().zip(&contact.tangents) {
                *bias += restitution.tangential * (tangent.dot(v) + *bias);
            }
            ContactCondition {
                id: contact.id,
                normal: contact.normal.clone(),
                normal_bias: contact.normal_drift + restitution.normal * (contact.normal.dot(v) + contact.normal_drift),
                tangents: contact.tangents.clone(),
                tangent_bias,
                mu: contact.friction.mu(),
                extra_bound: 0.0,
            }
        }));
        out.joints.clear();
        system.joints(t_middle, q_middle, &mut out.joints);
        let pull = if self.settings.stabilize_joints && h > 0.0 { 1.0 / h } else { 0.0 };
        out.problem.joints.clear();
        out.problem.joints.extend(
            out.joints
                .iter()
                .map(|joint| JointCondition { row: joint.row.clone(), bias: joint.drift + pull * joint.value }),
        );
        out.friction.clear();
        system.friction_elements(t_middle, q_middle, &mut out.friction);
        out.problem.friction.clear();
        out.problem.friction.extend(out.friction.iter().map(|element| FrictionCondition {
            id: element.id,
            tangents: element.tangents.clone(),
            tangent_bias: element.tangent_drift,
            bound: h * element.bound,
        }));

        // (17), steps 4 and 5: the new velocity and position.
        solve_problem(&mut self.solver, t, out)?;
        out.state.t = t_new;
        out.state.v.clone_from(&out.solution.motion);
        out.state.q.clone_from(q);
        system.advance(&out.linearized_at, &out.state.v, theta * h, &mut out.state.q);
        check_finite(t, "coordinate", &out.state.q)?;

        out.report.energy_defect = self.energy_defect(system, state, out);
        Ok(())
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl MoreauMidpoint {
    /// What the rule itself adds to the energy. A force with potential is credited with $\tfrac12 h k(q^M) \cdot (u^A + u^E)$, where
    /// the potential falls by $h k(\bar q) \cdot ((1 - \theta) u^A + \theta u^E)$ with the force in the middle of the way, which is exact up to
    /// quadratic potentials. The explicit gyroscopic force works a little although its continuous model does not.
    fn energy_defect(&mut self, system: &dyn MechanicalSystem, state: &State, out: &Step) -> f64 {
        let (theta, h) = (self.settings.theta, out.h);
        let (v, v_new) = (&state.v, &out.state.v);
        let n = v.len();
        self.mean.clear();
        self.mean.extend(v.iter().zip(v_new).map(|(a, b)| (1.0 - theta) * a + theta * b));
        self.q_mean.clone_from(&state.q);
        system.advance(&state.q, &self.mean, h / 2.0, &mut self.q_mean);
        let mut defect = 0.0;
        self.part.clear();
        self.part.resize(n, 0.0);
        system.force_by_cause(ForceCause::Potential, out.force_time, &out.force_at, v, &mut self.part);
        defect += (0..n).map(|i| 0.5 * h * self.part[i] * (v[i] + v_new[i])).sum::<f64>();
        self.part.fill(0.0);
        system.force_by_cause(ForceCause::Potential, state.t + h / 2.0, &self.q_mean, v, &mut self.part);
        defect -= (0..n).map(|i| h * self.part[i] * self.mean[i]).sum::<f64>();
        self.part.fill(0.0);
        system.force_by_cause(ForceCause::Gyroscopic, out.force_time, &out.force_at, v, &mut self.part);
        defect + (0..n).map(|i| 0.5 * h * self.part[i] * (v[i] + v_new[i])).sum::<f64>()
    }
}

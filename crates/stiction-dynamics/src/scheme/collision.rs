//! Impacts at an instant: Newton's law in one problem, Poisson's law in two, for contacts that close together or one after another.
//!
//! \[PAGT\] §6. With $v^-$ before and positions fixed, the compression ends with $v^c$,
//!
//! $$ M (v^c - v^-) = \nu^T c_\nu^c + \textstyle\sum (n^T c_n^c + T^T c_t^c), \qquad 0 \le n v^c \perp c_n^c \ge 0, \qquad (6.4), (6.5) $$
//!
//! and the decompression gives back the share $e$ of every normal impulse, $F^r = \sum e\\, n^T c_n^c$, and what else prevents penetration:
//!
//! $$ M (v^+ - v^c) = F^r + \nu^T c_\nu^x + \textstyle\sum (n^T c_n^x + T^T c_t^x), \qquad 0 \le n v^+ \perp c_n^x \ge 0. \qquad (6.6)-(6.8) $$
//!
//! Newton's law needs no compression: $0 \le n v^+ + e\\, n v^- \perp c_n \ge 0$, and the same along the tangents as far as friction allows
//! (\[GS05\] (11)). Where both laws meet in one impact, contacts with Newton's law take part in the compression and have their condition
//! in the decompression.
//!
//! Only contacts that were open and approach faster than the rest speed give something back. None of the laws is sure to lose energy when
//! several contacts or friction take part, which the audit shows; see \[PAGT\] §6.2.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trapezoidal::TrapezoidalSettings;
use super::{Step, StepKind, solve_problem};
use crate::{
    Contact, ContactCondition, ContactId, ContactSolver, ImpactLaw, Joint, JointCondition, MechanicalSystem, State,
    StepError,
};

/// In which order impacts of contacts that close together are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImpactOrder {
    /// All in one problem.
    #[default]
    Simultaneous,
    /// One after another, as if the others were open; always the one that approaches fastest, among equals the first of the system.
    /// Once all are slower than the rest speed, what is left is solved in one problem.
    FastestFirst,
}

/// Impacts, and what the compression of one left to be given back.
#[derive(Clone, Debug)]
pub(super) struct Collision {
    rest_speed: f64,
    order: ImpactOrder,
    restitution_friction: bool,
    /// Solves the decompression even where nothing is given back.
    is_literal: bool,
    /// Contacts of a compression, and what its decompression owes them.
    owed: Vec<Owed>,
}

/// What the decompression owes a contact.
#[derive(Clone, Copy, Debug)]
struct Owed {
    id: ContactId,
    /// Impulse $e c_n^c$ that Poisson's law gives back.
    impulse: f64,
    /// $e\, n v^-$, at most zero: the rate that Newton's law asks for, reversed.
    normal_rate: f64,
    /// The same along the tangents.
    slip: [f64; 3],
}

impl Collision {
    /// Impacts slower than `rest_speed`, in m/s, give nothing back.
    pub fn new(rest_speed: f64, order: ImpactOrder, restitution_friction: bool) -> Self {
        Self { rest_speed, order, restitution_friction, is_literal: false, owed: Vec::new() }
    }

    /// Those of the trapezoidal scheme.
    pub fn of_trapezoidal(settings: &TrapezoidalSettings) -> Self {
        let collision = Self::new(settings.rest_speed, settings.impact_order, settings.restitution_friction);
        Self { is_literal: settings.paper, ..collision }
    }

    /// Whether a compression waits for its decompression.
    pub fn is_decompressing(&self) -> bool {
        !self.owed.is_empty()
    }

    /// States what all steps of no length have in common: $W = M$, $u_\text{free} = v$, joints that hold.
    pub fn begin(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        joints: &[Joint],
        out: &mut Step,
    ) -> Result<(), StepError> {
        let n = system.velocity_count();
        out.h = 0.0;
        out.state.copy_from(state);
        for at in [&mut out.linearized_at, &mut out.force_at] {
            at.clone_from(&state.q);
        }
        (out.linearized_time, out.force_time) = (state.t, state.t);
        out.force.clear();
        out.force.resize(n, 0.0);
        out.force_parts.clear();
        out.force_parts.resize(3 * n, 0.0);
        out.contacts.clear();
        out.joints.clear();
        out.joints.extend_from_slice(joints);
        out.friction.clear();
        system.friction_elements(state.t, &state.q, &mut out.friction);

        let problem = &mut out.problem;
        problem.inertia.clear();
        system.mass_matrix(state.t, &state.q, &mut problem.inertia);
        problem.inertia.factor().map_err(|source| StepError::Malformed { t: state.t, source })?;
        problem.free_motion.clone_from(&state.v);
        problem.joints.clear();
        let holds = |joint: &Joint| JointCondition { row: joint.row.clone(), bias: joint.drift, rounding: 0.0 };
        problem.joints.extend(joints.iter().map(holds));
        problem.contacts.clear();
        problem.friction.clear(); // a bounded force has no impulse
        Ok(())
    }

    /// The impact of the closed contacts: Newton's law, or the compression of Poisson's.
    pub fn impact(
        &mut self,
        closed: &[Contact],
        carried: &[ContactId],
        solver: &mut ContactSolver,
        state: &State,
        out: &mut Step,
    ) -> Result<(), StepError> {
        out.kind = StepKind::Impact;
        let approach = |contact: &Contact| contact.normal.dot(&state.v) + contact.normal_drift;
        let bounces =
            |contact: &Contact| carried.binary_search(&contact.id).is_err() && approach(contact) < -self.rest_speed;
        let fastest =
            closed.iter().filter(|contact| bounces(contact)).min_by(|a, b| approach(a).total_cmp(&approach(b)));
        let chosen = match (self.order, fastest) {
            (ImpactOrder::FastestFirst, Some(fastest)) => std::slice::from_ref(fastest),
            _ => closed,
        };
        let gives_back_impulses = |contact: &Contact| contact.restitution.law == ImpactLaw::Poisson;
        let has_compression = chosen.iter().any(|contact| bounces(contact) && gives_back_impulses(contact));
        for contact in chosen {
            let mut owed = Owed { id: contact.id, impulse: 0.0, normal_rate: 0.0, slip: [0.0; 3] };
            if bounces(contact) && !gives_back_impulses(contact) {
                owed.normal_rate = contact.restitution.normal * approach(contact);
                owed.slip = contact.slip(&state.v).map(|slip| contact.restitution.tangential * slip);
            }
            let now = if has_compression { Owed { normal_rate: 0.0, slip: [0.0; 3], ..owed } } else { owed };
            out.problem.contacts.push(condition(contact, &now));
            out.contacts.push(contact.clone());
            self.owed.push(owed);
        }
        solve_problem(solver, state.t, out)?;
        out.state.v.clone_from(&out.solution.motion);

        // What the decompression owes; nothing, unless there was a compression.
        let mut has_to_give = has_compression && self.is_literal;
        for ((contact, impulse), owed) in chosen.iter().zip(&out.solution.contacts).zip(&mut self.owed) {
            if bounces(contact) && gives_back_impulses(contact) {
                owed.impulse = contact.restitution.normal * impulse.normal;
            }
            has_to_give |= has_compression && (owed.impulse > 0.0 || owed.normal_rate < 0.0 || owed.slip != [0.0; 3]);
        }
        if !has_to_give {
            self.owed.clear();
        }
        Ok(())
    }

    /// The decompression that follows a compression.
    pub fn decompress(
        &mut self,
        closed: &[Contact],
        solver: &mut ContactSolver,
        state: &State,
        out: &mut Step,
    ) -> Result<(), StepError> {
        out.kind = StepKind::Decompression;
        let mut given = vec![0.0; state.v.len()];
        out.restitution.clear();
        for owed in &self.owed {
            let Some(contact) = closed.iter().find(|contact| contact.id == owed.id) else { continue };
            contact.normal.add_to(owed.impulse, &mut given); // F^r (6.7)
            let mut condition = condition(contact, owed);
            if self.restitution_friction {
                condition.extra_bound = condition.mu * owed.impulse;
            }
            out.problem.contacts.push(condition);
            out.contacts.push(contact.clone());
            out.restitution.push(owed.impulse);
        }
        self.owed.clear();
        out.problem.inertia.solve_in_place(&mut given);
        out.problem.free_motion.iter_mut().zip(&given).for_each(|(v, given)| *v += given);
        solve_problem(solver, state.t, out)?;
        out.state.v.clone_from(&out.solution.motion);
        Ok(())
    }
}

fn condition(contact: &Contact, owed: &Owed) -> ContactCondition {
    ContactCondition {
        normal_bias: contact.normal_drift + owed.normal_rate,
        tangent_bias: std::array::from_fn(|a| contact.tangent_drift[a] + owed.slip[a]),
        ..ContactCondition::of(contact)
    }
}

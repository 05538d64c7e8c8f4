//! Impacts at an instant: Newton's law in one problem, Poisson's law in two, for contacts that
//! close together or one after another.
//!
//! \[PAGT\] §6. With $v^-$ before and positions fixed, the compression ends with $v^c$,
//!
//! $$ M (v^c - v^-) = \nu^T c_\nu^c + \textstyle\sum (n^T c_n^c + T^T c_t^c), \qquad 0 \le n v^c \perp c_n^c \ge 0, \qquad (6.4), (6.5) $$
//!
//! and the decompression gives back the share $e$ of every normal impulse,
//! $F^r = \sum e\\, n^T c_n^c$, and what else prevents penetration:
//!
//! $$ M (v^+ - v^c) = F^r + \nu^T c_\nu^x + \textstyle\sum (n^T c_n^x + T^T c_t^x), \qquad 0 \le n v^+ \perp c_n^x \ge 0. \qquad (6.6)-(6.8) $$
//!
//! Newton's law needs no compression: $0 \le n v^+ + e\\, n v^- \perp c_n \ge 0$, and the same
//! along the tangents as far as friction allows (\[GS05\] (11)). Where both laws meet in one
//! impact, contacts with Newton's law take part in the compression and have their condition in the
//! decompression.
//!
//! Only contacts that were open and approach faster than the rest speed give something back. None
//! of the laws is sure to lose energy when several contacts or friction take part, which the audit
//! shows; see \[PAGT\] §6.2.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Origin, Outcome, Step, StepKind, solve_problem};
use crate::vector::{has, refill, zero};
use crate::{Contact, ContactCondition, ContactId, ContactSolver, ImpactLaw, Joint, JointCondition};

/// In which order impacts of contacts that close together are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImpactOrder {
    /// All in one problem.
    #[default]
    Simultaneous,
    /// One after another, as if the others were open; always the one that approaches fastest, among
    /// equals the first of the system. Once all are slower than the rest speed, what is left is
    /// solved in one problem.
    FastestFirst,
}

/// Impacts, and what the compression of one left to be given back.
#[derive(Clone, Debug, Default)]
pub(super) struct Collision {
    /// Impacts slower than this, in m/s, give nothing back.
    pub rest_speed: f64,
    pub order: ImpactOrder,
    pub restitution_friction: bool,
    /// Solves the decompression even where nothing is given back.
    pub is_literal: bool,
    /// Contacts of a compression, and what its decompression owes them.
    pub owed: Vec<Owed>,
}

/// What the decompression owes a contact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    id: ContactId,
    /// Impulse $e c_n^c$ that Poisson's law gives back.
    impulse: f64,
    /// $e\, n v^-$, at most zero: the rate that Newton's law asks for, reversed.
    normal_rate: f64,
    /// The same along the tangents.
    slip: [f64; 3],
}

impl Collision {
    /// Whether a compression waits for its decompression.
    pub fn is_decompressing(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The impact of the closed contacts: Newton's law, or the compression of Poisson's.
    pub fn impact(
        &mut self,
        closed: &[Contact],
        carried: &[ContactId],
        solver: &mut ContactSolver,
        v: &[f64],
        out: &mut Step,
    ) -> Outcome {
        let bounces = |contact: &Contact| !has(carried, contact.id) && contact.rate(v) < -self.rest_speed;
        let fastest = closed.iter().filter(|contact| bounces(contact)).min_by(|a, b| a.rate(v).total_cmp(&b.rate(v)));
        let chosen = match (self.order, fastest) {
            (ImpactOrder::FastestFirst, Some(fastest)) => std::slice::from_ref(fastest),
            _ => closed,
        };
        let gives_back_impulses = |contact: &Contact| contact.restitution.law == ImpactLaw::Poisson;
        let has_compression = chosen.iter().any(|contact| bounces(contact) && gives_back_impulses(contact));
        for contact in chosen {
            let mut owed = Owed { id: contact.id, impulse: 0.0, normal_rate: 0.0, slip: [0.0; 3] };
            if bounces(contact) && !gives_back_impulses(contact) {
                owed.normal_rate = contact.restitution.normal * contact.rate(v);
                owed.slip = contact.slip(v).map(|slip| contact.restitution.tangential * slip);
            }
            let now = if has_compression { Owed { normal_rate: 0.0, slip: [0.0; 3], ..owed } } else { owed };
            out.problem.contacts.push(condition(contact, &now));
            out.contacts.push(contact.clone());
            self.owed.push(owed);
        }
        solve_jump(solver, out)?;

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
    pub fn decompress(&mut self, closed: &[Contact], solver: &mut ContactSolver, out: &mut Step) -> Outcome {
        out.kind = StepKind::Decompression;
        let mut given = vec![0.0; out.state.v.len()];
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
        solve_jump(solver, out)
    }
}

/// States what steps of no length have in common: $W = M$, $u_\text{free} = v$, joints that hold.
pub(super) fn begin_jump(kind: StepKind, origin: Origin<'_>, joints: &[Joint], out: &mut Step) -> Outcome {
    let (n, here) = (origin.state.v.len(), origin.here());
    (out.kind, out.h) = (kind, 0.0);
    out.state.copy_from(origin.state);
    out.linearize_at(here.t, here.q);
    out.force_at.copy_from(origin.state);
    zero(&mut out.force, n);
    zero(&mut out.force_parts, 3 * n);
    out.contacts.clear();
    refill(&mut out.joints, joints.iter().cloned());
    here.friction(&mut out.friction);
    if kind == StepKind::Projection {
        out.friction.clear();
    }

    let problem = &mut out.problem;
    here.factored_mass(&mut problem.inertia).map_err(|source| origin.malformed(source))?;
    problem.free_motion.clone_from(&origin.state.v);
    refill(&mut problem.joints, joints.iter().map(|joint| JointCondition::of(joint, 0.0)));
    problem.contacts.clear();
    problem.friction.clear(); // a bounded force has no impulse
    Ok(())
}

/// Solves the problem of a step of no length, whose motion is the new velocity.
pub(super) fn solve_jump(solver: &mut ContactSolver, out: &mut Step) -> Outcome {
    solve_problem(solver, out.state.t, out)?;
    out.state.v.clone_from(&out.solution.motion);
    Ok(())
}

fn condition(contact: &Contact, owed: &Owed) -> ContactCondition {
    ContactCondition {
        normal_bias: contact.normal_drift + owed.normal_rate,
        tangent_bias: std::array::from_fn(|a| contact.tangent_drift[a] + owed.slip[a]),
        ..ContactCondition::of(contact)
    }
}

//! Euler's rule and the trapezoidal rule for the methods of \[ST96\] and \[TTP01\].
//!
//! \[TTP01\] §4 compares its two methods by Euler's rule, and says that both have been reformulated
//! around more accurate ones. By the trapezoidal rule the unknown is the mean velocity
//! $u = \tfrac12 (v^l + v^{l+1})$ of the step,
//!
//! $$ 2 M (u - v^l) = h k + \nu^T c_j + \textstyle\sum (n^T c_n + T^T c_t), \qquad q^{l+1} = q^l \oplus h u, \qquad v^{l+1} = 2 u - v^l, $$
//!
//! with $M$, $k$ and all rows in the middle of the step; for linear forces that is the mean of both
//! ends. Gaps and joints are met at the end, $0 \le \psi(q^{l+1}) \perp c_n \ge 0$, and friction
//! acts against the mean sliding $T u$. While contacts stay as they are the order is two.
//!
//! **What the mean velocity cannot do.** A condition on $u$ mirrors what it finds: an impact would
//! be given back, a block that stops would flip between $\pm v$ for ever.
//!
//! - A contact is settled when it pushed in each of the last two steps. A step in which any other
//!   contact pushes is made by Euler's rule: it takes one step to touch, and one to take the
//!   impulse of the impact, which is inelastic.
//! - Of settled contacts and of joints, a share of the rate at the start is kept,
//!   $\psi(q^{l+1}) / h = \beta\, \dot\psi^l$ with the $\beta$ of the
//!   [trapezoidal](super::trapezoidal) scheme, so that the mode $(-1)^l$ of the rates falls by the
//!   factor $\sqrt 2 - 1$ a step.
//! - A settled contact, or a friction element, that did not slide in the last step has its law for
//!   $T u - \tfrac12 T v^l$, half the sliding at the end: what was mirrored when it stopped ends in
//!   the step after it.
//!
//! Events are not located: an impact within a step costs order two as it does by Euler's rule. The
//! scheme [`Trapezoidal`](crate::Trapezoidal) of \[PAGT\] locates them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trapezoidal::BRAKE;
use super::{Origin, Step};
use crate::static_friction::{Rubbing, sliding_in};
use crate::vector::{has, refill};
use crate::{Contact, ContactId, ContactSolution, FrictionElement, Joint};

/// How velocities and positions are integrated; see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// $q^{l+1} = q^l \oplus h v^{l+1}$: order one, as in the papers.
    #[default]
    Euler,
    /// $q^{l+1} = q^l \oplus \tfrac h2 (v^l + v^{l+1})$: order two while contacts stay as they are.
    Trapezoidal,
}

impl Rule {
    /// The setting by which a scheme treats less than by Euler's rule: the trapezoidal one mirrors
    /// forces that act one way.
    pub(super) fn restriction(self) -> Option<&'static str> {
        (self == Self::Trapezoidal).then_some("rule = \"trapezoidal\"")
    }
}

/// Sliding slower than this, in m/s, is none. Too large: slow sliding keeps the law of what sticks.
/// Too small: rounding slides.
const STILL_SPEED: f64 = 1e-9;

/// What the trapezoidal rule knows of the last steps, and where this one begins.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Contacts that pushed in the last step, and in the last two; sorted.
    pushed: Vec<ContactId>,
    settled: Vec<ContactId>,
    /// What slid in the last step; sorted.
    sliding: Vec<Rubbing>,
    contacts: Vec<Contact>,
    elements: Vec<FrictionElement>,
    joints: Vec<Joint>,
}

impl History {
    /// Looks where a step begins.
    pub fn begin(&mut self, origin: Origin<'_>) {
        origin.here().contacts_of(&self.settled, &mut self.contacts);
        origin.here().friction(&mut self.elements);
        origin.here().joints(&mut self.joints);
    }

    /// The rate of a gap, from where a step begins, that it keeps.
    pub fn kept_rate(&self, id: ContactId, v: &[f64]) -> f64 {
        let contact = self.contacts.iter().find(|contact| contact.id == id);
        contact.map_or(0.0, |contact| BRAKE * contact.rate(v))
    }

    /// The contact where a step begins, if its law is that of the sliding at the end.
    pub fn sticking(&self, id: ContactId) -> Option<&Contact> {
        let contact = self.contacts.iter().find(|contact| contact.id == id);
        contact.filter(|_| !has(&self.sliding, Rubbing::Contact(id)))
    }

    /// Half the sliding of a friction element where a step begins, if it did not slide before.
    pub fn kept_slip(&self, element: u32, v: &[f64]) -> [f64; 3] {
        let found = self.elements.iter().find(|own| own.id == element);
        let found = found.filter(|_| !has(&self.sliding, Rubbing::Element(element)));
        found.map_or([0.0; 3], |own| own.slip(v).map(|slip| 0.5 * slip))
    }

    /// The rates of joints that a step keeps.
    pub fn joint_rates(&self, v: &[f64], out: &mut Vec<f64>) {
        refill(out, self.joints.iter().map(|joint| BRAKE * joint.rate(v)));
    }

    /// Whether a contact pushes that is not settled.
    pub fn is_unsettled(&self, solution: &ContactSolution) -> bool {
        solution.contacts.iter().any(|impulse| impulse.normal > 0.0 && !has(&self.settled, impulse.id))
    }

    /// Takes up a step.
    pub fn end(&mut self, step: &Step) {
        let pushing = step.solution.contacts.iter().filter(|impulse| impulse.normal > 0.0).map(|impulse| impulse.id);
        refill(&mut self.settled, pushing.clone().filter(|id| has(&self.pushed, *id)));
        refill(&mut self.pushed, pushing);
        self.settled.sort_unstable();
        self.pushed.sort_unstable();
        refill(&mut self.sliding, sliding_in(&step.problem, &step.solution.motion, STILL_SPEED));
        self.sliding.sort_unstable();
    }
}

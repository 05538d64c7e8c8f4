//! When an open contact closes on the way of a step.
//!
//! \[PAGT\] §6, (6.2): the first root of a gap along the interpolant through the two ends of the step. The scheme's positions and velocities
//! fit together so that this cubic is a parabola, $q^l \oplus \tau (v^l + \tfrac{\tau}{2h} (v^{l+1} - v^l))$.

use crate::{Contact, ContactId, MechanicalSystem, State};

/// Halvings and secants until the root of a gap is found, at most.
const ITERATION_LIMIT: usize = 200;

/// A root is found when the gap is below this share of the gap tolerance.
const ROOT_SHARE: f64 = 1e-3;

/// The share of a step of length `h` from `state` to the velocity `v_new` after which a contact closes that is penetrated at its end; zero for
/// one that is open nowhere on the way. Closed is a gap of `closed_at`.
pub(super) fn closing_share(
    system: &dyn MechanicalSystem,
    state: &State,
    h: f64,
    v_new: &[f64],
    penetrated: &Contact,
    closed_at: f64,
    gap_tolerance: f64,
) -> f64 {
    let mut path = Path { system, state, h, v_new, closed_at, q: state.q.clone(), u: Vec::new(), found: Vec::new() };
    path.closing(penetrated, ROOT_SHARE * gap_tolerance)
}

/// The way of a step.
struct Path<'a> {
    system: &'a dyn MechanicalSystem,
    state: &'a State,
    h: f64,
    v_new: &'a [f64],
    closed_at: f64,
    q: Vec<f64>,
    u: Vec<f64>,
    found: Vec<Contact>,
}

impl Path<'_> {
    /// How far a contact is open after a share of the step; infinite where the system does not know the contact there.
    fn gap(&mut self, share: f64, id: ContactId) -> f64 {
        self.u.clear();
        self.u.extend(self.state.v.iter().zip(self.v_new).map(|(v, new)| v + 0.5 * share * (new - v)));
        self.system.advance(self.state.t, &self.state.q, &self.u, share * self.h, &mut self.q);
        self.found.clear();
        self.system.contacts(self.state.t + share * self.h, &self.q, f64::INFINITY, &mut self.found);
        self.found.iter().find(|contact| contact.id == id).map_or(f64::INFINITY, |contact| contact.gap - self.closed_at)
    }

    /// The share after which a contact closes, by the rule of Illinois between a share where it is open and one where it is penetrated.
    fn closing(&mut self, contact: &Contact, accuracy: f64) -> f64 {
        let id = contact.id;
        // Where the gap is largest, if it first grows: a contact that has just parted begins with a gap of nothing.
        let rate = |contact: &Contact, v: &[f64]| contact.normal.dot(v) + contact.normal_drift;
        let (first_rate, last_rate) = (rate(contact, &self.state.v), rate(contact, self.v_new));
        let mut low = if first_rate > 0.0 && last_rate < 0.0 { first_rate / (first_rate - last_rate) } else { 0.0 };
        let mut low_gap = self.gap(low, id);
        if low_gap <= 0.0 {
            (low, low_gap) = (0.0, self.gap(0.0, id));
        }
        if low_gap <= 0.0 {
            return 0.0;
        }
        let (mut high, mut high_gap) = (1.0, contact.gap - self.closed_at);
        let mut last_side = 0;
        for _ in 0..ITERATION_LIMIT {
            let width = high - low;
            let mut share =
                if low_gap.is_finite() { high - high_gap * width / (high_gap - low_gap) } else { 0.5 * (low + high) };
            if !(share > low && share < high) {
                share = 0.5 * (low + high);
            }
            if !(share > low && share < high) {
                break; // neighbours
            }
            let gap = self.gap(share, id);
            if gap.abs() <= accuracy {
                return share;
            }
            if gap > 0.0 {
                (low, low_gap) = (share, gap);
                if last_side == 1 {
                    high_gap *= 0.5;
                }
                last_side = 1;
            } else {
                (high, high_gap) = (share, gap);
                if last_side == -1 {
                    low_gap *= 0.5;
                }
                last_side = -1;
            }
        }
        high
    }
}

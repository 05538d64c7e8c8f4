//! When an open contact closes on the way of a step.
//!
//! \[PAGT\] §6, (6.2): the first root of a gap along the interpolant through the two ends of the
//! step. The scheme's positions and velocities fit together so that this cubic is a parabola,
//! $q^l \oplus \tau (v^l + \tfrac{\tau}{2h} (v^{l+1} - v^l))$.
//!
//! §10 has another cubic, of the gap itself as a function of time. It needs the gap at the ends of
//! the step only.

use super::Origin;
use crate::vector::{filled, refill};
use crate::{Contact, ContactId, State};

/// Halvings and secants until the root of a gap is found, at most.
const ITERATION_LIMIT: usize = 200;

/// A root is found when the gap is below this share of the gap tolerance.
const ROOT_SHARE: f64 = 1e-3;

/// The share of a step of length `h` to the velocity `v_new` after which a contact closes that is
/// penetrated at its end; zero for one that is open nowhere. Closed is a gap of `closed_at`.
pub(super) fn closing_share(
    origin: Origin<'_>,
    (h, v_new): (f64, &[f64]),
    penetrated: &Contact,
    closed_at: f64,
    gap_tolerance: f64,
) -> f64 {
    let mut path = Path { origin, h, v_new, closed_at, q: Vec::new(), u: Vec::new(), found: Vec::new() };
    path.closing(penetrated, ROOT_SHARE * gap_tolerance)
}

/// The same by \[PAGT\] §10: the first root of the cubic in time through the gaps and their rates
/// at both ends. None where the system does not know the contact at the start, or where it is
/// closed there: then the way must be looked at.
pub(super) fn closing_share_by_cubic(
    origin: Origin<'_>,
    (h, v_new): (f64, &[f64]),
    penetrated: &Contact,
    closed_at: f64,
) -> Option<f64> {
    let found: Vec<Contact> = filled(|out| origin.here().contacts_of(&[penetrated.id], out));
    let start = found.first()?;
    let (first, last) = (start.gap - closed_at, penetrated.gap - closed_at);
    first_root([first, last], [h * start.rate(&origin.state.v), h * penetrated.rate(v_new)])
}

/// The first root between 0 and 1 of the cubic with these values and slopes at 0 and 1, of which
/// the first value is positive and the second is not.
fn first_root([first, last]: [f64; 2], [slope, last_slope]: [f64; 2]) -> Option<f64> {
    if !(first > 0.0 && last <= 0.0) {
        return None;
    }
    // a + b x + c x² + d x³.
    let (a, b) = (first, slope);
    let c = 3.0 * (last - first) - 2.0 * slope - last_slope;
    let d = 2.0 * (first - last) + slope + last_slope;
    let value = |x: f64| a + x * (b + x * (c + x * d));
    // The first sign change lies between two neighbours among the ends and the extrema.
    let discriminant = c * c - 3.0 * b * d;
    let mut marks = vec![0.0, 1.0];
    if discriminant > 0.0 {
        // Both roots of b + 2c x + 3d x² without cancellation.
        let sum = -(c + discriminant.sqrt().copysign(c));
        marks.extend([sum / (3.0 * d), b / sum].into_iter().filter(|x| *x > 0.0 && *x < 1.0));
    }
    marks.sort_by(f64::total_cmp);
    let high = marks.iter().position(|&x| value(x) <= 0.0).unwrap_or(marks.len() - 1);
    let (mut low, mut high) = (marks[high - 1], marks[high]);
    // It is monotonous there: halving to the last digit.
    for _ in 0..ITERATION_LIMIT {
        let middle = 0.5 * (low + high);
        if !(middle > low && middle < high) {
            break;
        }
        if value(middle) > 0.0 { low = middle } else { high = middle }
    }
    Some(high)
}

/// The way of a step.
struct Path<'a> {
    origin: Origin<'a>,
    h: f64,
    v_new: &'a [f64],
    closed_at: f64,
    q: Vec<f64>,
    u: Vec<f64>,
    found: Vec<Contact>,
}

impl Path<'_> {
    /// How far a contact is open after a share of the step; infinite where the system does not know
    /// the contact there.
    fn gap(&mut self, share: f64, id: ContactId) -> f64 {
        let State { t, v, .. } = self.origin.state;
        refill(&mut self.u, v.iter().zip(self.v_new).map(|(v, new)| v + 0.5 * share * (new - v)));
        self.origin.advance(&self.u, share * self.h, &mut self.q);
        self.origin.at(t + share * self.h, &self.q).contacts_of(&[id], &mut self.found);
        self.found.first().map_or(f64::INFINITY, |contact| contact.gap - self.closed_at)
    }

    /// The share after which a contact closes, by the rule of Illinois between a share where it is
    /// open and one where it is penetrated.
    fn closing(&mut self, contact: &Contact, accuracy: f64) -> f64 {
        let id = contact.id;
        // Where the gap is largest, if it first grows: a contact that has just parted begins with a
        // gap of nothing.
        let (first_rate, last_rate) = (contact.rate(&self.origin.state.v), contact.rate(self.v_new));
        let mut low = if first_rate > 0.0 && last_rate < 0.0 { first_rate / (first_rate - last_rate) } else { 0.0 };
        let mut low_gap = self.gap(low, id);
        if low_gap <= 0.0 {
            (low, low_gap) = (0.0, self.gap(0.0, id));
        }
        if low_gap <= 0.0 {
            return 0.0;
        }
        let mut bracket = Bracket::new((low, low_gap), (1.0, contact.gap - self.closed_at));
        for _ in 0..ITERATION_LIMIT {
            let Some(share) = bracket.secant() else { break };
            let gap = self.gap(share, id);
            if gap.abs() <= accuracy {
                return share;
            }
            bracket.narrow(share, gap);
        }
        bracket.high.0
    }
}

/// Two places between which a function changes its sign, with its values: positive at the first
/// one, and not at the second. It is narrowed by the rule of Illinois.
pub(super) struct Bracket {
    pub low: (f64, f64),
    pub high: (f64, f64),
    /// The side of the last place: 1 where the function is positive, -1 where it is not.
    last_side: i8,
}

impl Bracket {
    pub fn new(low: (f64, f64), high: (f64, f64)) -> Self {
        Self { low, high, last_side: 0 }
    }

    pub fn width(&self) -> f64 {
        self.high.0 - self.low.0
    }

    /// The middle; none between neighbours.
    pub fn middle(&self) -> Option<f64> {
        Some(0.5 * (self.low.0 + self.high.0)).filter(|place| self.contains(*place))
    }

    /// The root of the secant, or else the middle; none between neighbours.
    pub fn secant(&self) -> Option<f64> {
        let root = self.high.0 - self.high.1 * self.width() / (self.high.1 - self.low.1);
        Some(root).filter(|root| self.low.1.is_finite() && self.contains(*root)).or_else(|| self.middle())
    }

    fn contains(&self, place: f64) -> bool {
        place > self.low.0 && place < self.high.0
    }

    /// Takes up the value at a place. The other end counts half where it stayed twice.
    pub fn narrow(&mut self, place: f64, value: f64) {
        let side = if value > 0.0 { 1 } else { -1 };
        let (moved, other) =
            if value > 0.0 { (&mut self.low, &mut self.high) } else { (&mut self.high, &mut self.low) };
        *moved = (place, value);
        if self.last_side == side {
            other.1 *= 0.5;
        }
        self.last_side = side;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_the_cubic_is_the_first_one() {
        // (x - 1/4)(x - 1/2)(x - 3/4) times -32: 3 at 0, -3 at 1, slopes -22 at both ends.
        let root = first_root([3.0, -3.0], [-22.0, -22.0]).unwrap();
        assert!((root - 0.25).abs() < 1e-15, "{root}");
        // A parabola: 1 + 3x - 6x² has its root at (3 + √33)/12.
        let root = first_root([1.0, -2.0], [3.0, -9.0]).unwrap();
        assert!((root - (3.0 + 33f64.sqrt()) / 12.0).abs() < 1e-15, "{root}");
        // A straight line, and a cubic that only touches zero before it: 27 (x - 1/3)² (2/3 - x),
        // first root a double one.
        assert_eq!(first_root([1.0, -1.0], [-2.0, -2.0]), Some(0.5));
        let touching = first_root([2.0, -4.0], [-15.0, -24.0]).unwrap();
        assert!((touching - 1.0 / 3.0).abs() < 1e-7 || (touching - 2.0 / 3.0).abs() < 1e-12, "{touching}");
        assert_eq!(first_root([0.0, -1.0], [1.0, -1.0]), None);
        assert_eq!(first_root([f64::NAN, -1.0], [1.0, -1.0]), None);
    }
}

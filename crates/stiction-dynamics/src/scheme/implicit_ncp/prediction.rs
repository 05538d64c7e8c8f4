//! What the last steps let expect of the next one: accelerations and forces, carried on by
//! polynomials.
//!
//! With $x_1, x_2, \dots$ the values of the last steps, newest first, order $p$ expects
//! $\sum_{i=1}^p (-1)^{i+1} \binom pi x_i$: the last value, the same change again, and so on. While
//! a motion is smooth, every order brings a factor $h$; after an event high orders are the worst,
//! and where only rounding changes, the mean of the last values is best. So each quantity takes the
//! rule that would have expected its last value best.

use super::equations::{turn, turn_forward};
use crate::{Contact, ContactId, Step};

/// Shares of the last values, newest first, of every rule: orders one to four, and the mean. Higher
/// orders gain nothing, because they carry on more rounding.
const RULES: [&[f64]; 5] =
    [&[1.0], &[2.0, -1.0], &[3.0, -3.0, 1.0], &[4.0, -6.0, 4.0, -1.0], &[0.25, 0.25, 0.25, 0.25]];

/// Values that are kept: the longest rule has to be judged at the last one.
const KEPT: usize = 5;

/// The last values of a quantity with several components, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    values: Vec<Vec<f64>>,
}

impl Past {
    /// Takes up a new value, and forgets the oldest one.
    pub fn push(&mut self, value: impl Iterator<Item = f64>) {
        let mut memory = if self.values.len() == KEPT { self.values.pop().unwrap_or_default() } else { Vec::new() };
        memory.clear();
        memory.extend(value);
        if self.values.first().is_some_and(|last| last.len() != memory.len()) {
            self.values.clear();
        }
        self.values.insert(0, memory);
    }

    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// What the values from some age on let expect, by some rule.
    fn expect(&self, component: usize, age: usize, rule: &[f64]) -> f64 {
        rule.iter().zip(&self.values[age..]).map(|(share, value)| share * value[component]).sum()
    }

    /// The next value; nothing where there is no last one.
    pub fn next(&self) -> Option<Vec<f64>> {
        let last = self.values.first()?;
        let error = |rule: &[f64]| -> f64 {
            last.iter().enumerate().map(|(k, value)| (value - self.expect(k, 1, rule)).powi(2)).sum()
        };
        let rules = RULES.into_iter().filter(|rule| rule.len() < self.values.len());
        // The first of those that are as good.
        let best = rules.map(|rule| (error(rule), rule)).min_by(|a, b| a.0.total_cmp(&b.0));
        let best = best.map_or(RULES[0], |(_, rule)| rule);
        Some((0..last.len()).map(|k| self.expect(k, 0, best)).collect())
    }
}

/// A contact of the last step with its forces: normal, and friction along the tangents of the
/// contact as it was there.
#[derive(Clone, Debug)]
pub(super) struct PastContact {
    pub id: ContactId,
    contact: Contact,
    forces: Past,
}

/// The last steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Prediction {
    /// The contacts of the last step, sorted.
    pub contacts: Vec<PastContact>,
    accelerations: Past,
    /// Of friction elements, one after another.
    friction: Past,
    joints: Past,
}

impl Prediction {
    /// Takes up a step from the velocity `v`. Kept are the contacts that push or are nearer than
    /// `touching`.
    pub fn push(&mut self, v: &[f64], touching: f64, step: &Step) {
        let h = step.h;
        let before = std::mem::take(&mut self.contacts);
        for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
            if !(impulse.normal > 0.0 || contact.gap <= touching) {
                continue;
            }
            let mut forces = Past::default();
            if let Ok(place) = before.binary_search_by_key(&contact.id, |entry| entry.id) {
                let last = &before[place];
                forces.clone_from(&last.forces);
                let angle = turn(&last.contact, contact);
                for value in &mut forces.values {
                    let turned = turn_forward(angle, &[value[1], value[2], value[3]]);
                    value[1..].copy_from_slice(&turned);
                }
            }
            forces.push([impulse.normal].into_iter().chain(impulse.tangent).map(|c| c / h));
            self.contacts.push(PastContact { id: contact.id, contact: contact.clone(), forces });
        }
        self.contacts.sort_by_key(|entry| entry.id);
        // Where contacts come or go, accelerations jump.
        if !self.contacts.iter().map(|entry| entry.id).eq(before.iter().map(|entry| entry.id)) {
            [&mut self.accelerations, &mut self.friction, &mut self.joints].into_iter().for_each(Past::clear);
        }
        self.accelerations.push(step.state.v.iter().zip(v).map(|(new, old)| (new - old) / h));
        self.friction.push(step.solution.friction.iter().flatten().map(|c| c / h));
        self.joints.push(step.solution.joints.iter().map(|c| c / h));
    }

    /// Accelerations, friction of elements and forces of joints that are expected of the next step.
    pub fn next(&self) -> Option<[Vec<f64>; 3]> {
        Some([self.accelerations.next()?, self.friction.next()?, self.joints.next()?])
    }

    /// The forces that a contact may expect: normal, and friction along the tangents of
    /// `reference`, or along its own where `keeps_tangents`.
    pub fn next_forces(&self, reference: &Contact, keeps_tangents: bool) -> Option<(f64, [f64; 3])> {
        let place = self.contacts.binary_search_by_key(&reference.id, |entry| entry.id).ok()?;
        let entry = &self.contacts[place];
        let forces = entry.forces.next()?;
        let tangent = [forces[1], forces[2], forces[3]];
        let angle = if keeps_tangents { [1.0, 0.0] } else { turn(&entry.contact, reference) };
        Some((forces[0].max(0.0), turn_forward(angle, &tangent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactImpulse, Row};

    #[test]
    fn each_order_carries_on_its_polynomials_and_a_jump_lowers_it() {
        let mut past = Past::default();
        assert_eq!(past.next(), None);
        let cubic = |t: f64| 1.0 + t - 2.0 * t * t + 0.5 * t * t * t;
        for (t, error) in [(0.0, 1.0), (1.0, 20.0), (2.0, 20.0), (3.0, 20.0), (4.0, 1e-12), (5.0, 1e-12)] {
            past.push([cubic(t), -t].into_iter());
            let next = past.next().expect("a value");
            assert!((next[0] - cubic(t + 1.0)).abs() < error, "{t}: {next:?}");
        }
        // After a jump to a constant, the last value is the best guess at once and stays so.
        past.push([7.0, 7.0].into_iter());
        past.push([7.0, 7.0].into_iter());
        assert_eq!(past.next(), Some(vec![7.0, 7.0]));
    }

    #[test]
    fn friction_is_carried_on_when_the_tangents_turn() {
        let row = |x: f64, y: f64| Row::from_dense(&[x, y]);
        let contact =
            |first: Row, second: Row| Contact { tangents: [first, second].into_iter().collect(), ..Default::default() };
        // A force along x that grows; before the last step the tangents turn from (x, y) to (y,
        // -x).
        let (before, after) = (contact(row(1.0, 0.0), row(0.0, 1.0)), contact(row(0.0, 1.0), row(-1.0, 0.0)));
        let mut prediction = Prediction::default();
        for (contact, tangent) in [(&before, [1.0, 0.0, 0.0]), (&before, [2.0, 0.0, 0.0]), (&after, [0.0, -3.0, 0.0])] {
            let mut step = Step { h: 0.5, contacts: vec![contact.clone()], ..Default::default() };
            step.solution.contacts.push(ContactImpulse { id: contact.id, normal: 1.0, tangent });
            prediction.push(&[], 0.0, &step);
        }
        for (reference, expected) in [(&after, [0.0, -8.0, 0.0]), (&before, [8.0, 0.0, 0.0])] {
            let (normal, tangent) = prediction.next_forces(reference, false).expect("a contact of the last step");
            assert!(normal == 2.0 && (0..3).all(|k| (tangent[k] - expected[k]).abs() < 1e-12), "{tangent:?}");
        }
    }
}

//! How rows change along a motion: $\dot n v$, $\dot T v$, $\dot \nu v$, what accelerations need of
//! contacts, friction and joints.
//!
//! The rate of a gap is $n(t, q) \cdot v + \hat g(t, q)$ with the drift $\hat g$. Its own rate is
//! $n \cdot \dot v$ plus what changes while $v$ stays as it is,
//!
//! $$ \dot n v := \frac{d}{d\tau} \left[ n(t + \tau, q \oplus \tau v) \cdot v + \hat g(t + \tau, q \oplus \tau v) \right]_{\tau = 0}, $$
//!
//! and the same for tangents and joints. Systems give these numbers in closed form where they can.
//! Where they do not, they come from central differences, extrapolated to steps of no length by
//! Neville's scheme, each row with the step that suits it (Ridders' method). That costs some twenty
//! evaluations and leaves a few more units of rounding than a closed form.

use crate::{Contact, FrictionElement, Joint, MechanicalSystem};

/// The rates of rows; see the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowRates {
    /// $\dot n v$ of every contact, in m/s².
    pub normals: Vec<f64>,
    /// $\dot T v$ of every contact along its tangents; zero where there are fewer than three.
    pub tangents: Vec<[f64; 3]>,
    /// $\dot T v$ of every friction element.
    pub friction: Vec<[f64; 3]>,
    /// $\dot \nu v$ of every joint row.
    pub joints: Vec<f64>,
}

/// First step of the differences: a coordinate moves at most so far, in metres or radians. Too
/// large: the first levels are wasted. Too small: rounding.
pub(crate) const FIRST_MOVE: f64 = 0.125;

/// Levels of extrapolation, each with half the step of the one before.
const LEVELS: usize = 12;

/// An estimate is as good as can be when it errs by less than so many units of rounding of its
/// difference.
const ROUNDING_UNITS: f64 = 4.0;

/// An estimate whose error is this many times that of the best one so far ends the extrapolation of
/// its row.
const SPOILED: f64 = 8.0;

/// Up to this error, relative to itself, an estimate may be one that is still falling.
const SETTLED: f64 = 1e-10;

impl RowRates {
    /// Starts anew with zeros for so many contacts, friction elements and joint rows.
    pub fn reset(&mut self, contact_count: usize, friction_count: usize, joint_count: usize) {
        self.normals.clear();
        self.normals.resize(contact_count, 0.0);
        self.tangents.clear();
        self.tangents.resize(contact_count, [0.0; 3]);
        self.friction.clear();
        self.friction.resize(friction_count, [0.0; 3]);
        self.joints.clear();
        self.joints.resize(joint_count, 0.0);
    }

    /// The rates by extrapolated differences.
    pub fn by_differences<S: MechanicalSystem + ?Sized>(
        &mut self,
        system: &S,
        (t, q, v): (f64, &[f64], &[f64]),
        (contacts, friction, joints): (&[Contact], &[FrictionElement], &[Joint]),
    ) {
        self.reset(contacts.len(), friction.len(), joints.len());
        let count = 4 * contacts.len() + 3 * friction.len() + joints.len();
        if count == 0 {
            return;
        }
        let mut there = q.to_vec();
        let largest = v.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
        let first = if largest > FIRST_MOVE { FIRST_MOVE / largest } else { 1.0 };
        let rates = rate_by_differences(first, count, |tau, out| {
            system.advance(t, q, v, tau, &mut there);
            rates_at(system, (t + tau, &there, v), (contacts, friction, joints), out);
        });
        let mut rates = rates.into_iter();
        let mut next = || rates.next().unwrap_or(0.0);
        for (normal, tangents) in self.normals.iter_mut().zip(&mut self.tangents) {
            *normal = next();
            tangents.fill_with(&mut next);
        }
        self.friction.iter_mut().for_each(|tangents| tangents.fill_with(&mut next));
        self.joints.fill_with(&mut next);
    }
}

/// The rates of all rows at a configuration, one after another; not a number for a contact that the
/// system does not know there.
fn rates_at<S: MechanicalSystem + ?Sized>(
    system: &S,
    (t, q, v): (f64, &[f64], &[f64]),
    (contacts, friction, joints): (&[Contact], &[FrictionElement], &[Joint]),
    out: &mut Vec<f64>,
) {
    out.clear();
    let mut found = Vec::new();
    let ids: Vec<_> = contacts.iter().map(|contact| contact.id).collect();
    system.contacts_of(t, q, &ids, &mut found);
    for contact in contacts {
        match found.iter().find(|other| other.id == contact.id) {
            Some(there) => {
                out.push(there.normal.dot(v) + there.normal_drift);
                out.extend(there.slip(v));
            }
            None => out.extend([f64::NAN; 4]),
        }
    }
    let mut elements = Vec::new();
    if !friction.is_empty() {
        system.friction_elements(t, q, &mut elements);
    }
    for element in friction {
        let there = elements.iter().find(|other| other.id == element.id);
        out.extend(there.map_or([f64::NAN; 3], |there| there.slip(v)));
    }
    let mut rows = Vec::new();
    if !joints.is_empty() {
        system.joints(t, q, &mut rows);
    }
    out.extend(rows.iter().take(joints.len()).map(|joint| joint.row.dot(v) + joint.drift));
    out.resize(4 * contacts.len() + 3 * friction.len() + joints.len(), f64::NAN);
}

/// Neville's scheme for one row.
#[derive(Clone, Debug, Default)]
struct Extrapolation {
    /// Estimates of the last level, of rising order.
    estimates: [f64; LEVELS],
    level: usize,
    best: f64,
    error: f64,
    is_done: bool,
}

impl Extrapolation {
    /// Takes up the difference of the next level, whose step is half that of the last one.
    fn refine(&mut self, difference: f64, rounding: f64) {
        if self.is_done {
            return;
        }
        if difference.is_nan() {
            // The row is not known so far away; the scheme begins anew with the next step.
            *self = Self::default();
            return;
        }
        let last = self.estimates;
        self.estimates[0] = difference;
        if self.level == 0 {
            (self.best, self.error, self.level) = (difference, f64::INFINITY, 1);
            return;
        }
        let mut factor = 1.0;
        for order in 1..=self.level {
            factor *= 4.0;
            let finer = self.estimates[order - 1];
            self.estimates[order] = finer + (finer - last[order - 1]) / (factor - 1.0);
            let error = (self.estimates[order] - finer).abs().max((self.estimates[order] - last[order - 1]).abs());
            if error <= self.error {
                (self.best, self.error) = (self.estimates[order], error);
            }
        }
        // Far away, where the first steps reach, errors fall and rise: only an estimate that is
        // nearly exact can be spoiled.
        let spoiled = (self.estimates[self.level] - last[self.level - 1]).abs() > SPOILED * self.error;
        self.is_done = self.error <= rounding || (spoiled && self.error <= SETTLED * self.best.abs());
        self.level += 1;
    }
}

/// The rate of the configuration when it moves with $v$, from
/// [`displace`](MechanicalSystem::displace) alone.
pub(crate) fn configuration_rate_by_differences<S: MechanicalSystem + ?Sized>(
    system: &S,
    t: f64,
    q: &[f64],
    v: &[f64],
    out: &mut [f64],
) {
    let mut ahead = q.to_vec();
    system.displace(t, q, v, 1.0, &mut ahead);
    if q.len() == v.len() && ahead.iter().zip(q.iter().zip(v)).all(|(there, (q, v))| *there == q + v) {
        out.copy_from_slice(v); // a straight motion
        return;
    }
    let largest = v.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
    let first = if largest > 0.0 { FIRST_MOVE / largest } else { 1.0 };
    let rate = rate_by_differences(first, q.len(), |tau, out| {
        out.resize(q.len(), 0.0);
        system.displace(t, q, v, tau, out);
    });
    out.copy_from_slice(&rate);
}

/// The derivative at zero of a vector of so many components that depends on one number, by central
/// differences extrapolated from this first step.
pub(crate) fn rate_by_differences(first: f64, count: usize, mut evaluate: impl FnMut(f64, &mut Vec<f64>)) -> Vec<f64> {
    let (mut ahead, mut behind) = (Vec::new(), Vec::new());
    let mut rows = vec![Extrapolation::default(); count];
    let mut tau = first;
    for _ in 0..LEVELS {
        evaluate(tau, &mut ahead);
        evaluate(-tau, &mut behind);
        for (row, (a, b)) in rows.iter_mut().zip(ahead.iter().zip(&behind)) {
            let rounding = ROUNDING_UNITS * f64::EPSILON * a.abs().max(b.abs()) / tau;
            row.refine((a - b) / (2.0 * tau), rounding);
        }
        if rows.iter().all(|row| row.is_done) {
            break;
        }
        tau *= 0.5;
    }
    rows.iter().map(|row| row.best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{DoublePendulum, FreeTop, Rod};
    use crate::{Inertia, Restitution};

    /// A system whose rates are those of another, by differences.
    struct Plain<S>(S);

    impl<S: MechanicalSystem> MechanicalSystem for Plain<S> {
        fn velocity_count(&self) -> usize {
            self.0.velocity_count()
        }
        fn mass_matrix(&self, t: f64, q: &[f64], out: &mut Inertia) {
            self.0.mass_matrix(t, q, out);
        }
        fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
            self.0.force(t, q, v, k);
        }
        fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
            self.0.contacts(t, q, horizon, out);
        }
        fn joints(&self, t: f64, q: &[f64], out: &mut Vec<Joint>) {
            self.0.joints(t, q, out);
        }
        fn displace(&self, t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
            self.0.displace(t, q, v, h, out);
        }
    }

    fn compare(system: impl MechanicalSystem, q: &[f64], v: &[f64]) {
        let (mut contacts, mut joints) = (Vec::new(), Vec::new());
        system.contacts(0.3, q, f64::INFINITY, &mut contacts);
        system.joints(0.3, q, &mut joints);
        let (mut exact, mut differences) = (RowRates::default(), RowRates::default());
        system.row_rates(0.3, q, v, (&contacts, &[], &joints), &mut exact);
        Plain(system).row_rates(0.3, q, v, (&contacts, &[], &joints), &mut differences);
        let flat = |rates: &RowRates| -> Vec<f64> {
            let tangents = rates.tangents.iter().flatten();
            rates.normals.iter().chain(tangents).chain(&rates.joints).copied().collect()
        };
        for (a, b) in flat(&exact).iter().zip(flat(&differences)) {
            assert!((a - b).abs() <= 2e-13 * (1.0 + a.abs()), "{exact:?}\n{differences:?}");
        }
        assert!(flat(&exact).iter().any(|rate| *rate != 0.0));
    }

    #[test]
    fn differences_agree_with_closed_forms() {
        for omega in [4.0, 0.3, 60.0] {
            compare(Rod::default(), &[0.1, 0.3, 0.7], &[1.0, -2.0, omega]);
        }
        let pendulum = DoublePendulum { gravity: 9.8, wall: Some(Restitution::default()) };
        compare(pendulum, &[0.8, -0.6, 1.6, -1.2], &[3.0, 4.0, -1.0, 0.5]);
    }

    #[test]
    fn the_rate_of_a_quaternion_is_half_its_product_with_the_spin() {
        let (q, w) = ([0.8, 0.6, 0.0, 0.0], [0.6, -2.0, 1.4]);
        let mut rate = [0.0; 4];
        FreeTop::default().configuration_rate(0.0, &q, &w, &mut rate);
        // (s, x) (0, w) = (-x·w, s w + x × w), halved; x × w = (0.6, 0, 0) × w = (0, -0.6 w₂, 0.6
        // w₁).
        let expected = [-0.6 * w[0], 0.8 * w[0], 0.8 * w[1] - 0.6 * w[2], 0.8 * w[2] + 0.6 * w[1]].map(|x| 0.5 * x);
        assert!(rate.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{rate:?} {expected:?}");
    }
}

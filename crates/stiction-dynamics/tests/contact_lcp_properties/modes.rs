//! All motions that solve a small problem, by trying every combination of contact modes.
//!
//! A contact is open, sticks, or slides against a corner or an edge of its friction polygon. Each
//! mode has as many unknown impulses as equations; where the system of a combination is regular,
//! its one point is judged by the laws. In contrast to the bases of the LCP, modes know nothing of
//! weights that cancel each other, so that most of their systems are regular. Where one is not, but
//! its impulses are a line without influence on the motion, the inequalities cut an interval out of
//! the line. Larger faces stay undecided, unless the motion is impossible by itself or has been
//! found elsewhere.

use stiction_dynamics::{ContactImpulse, ContactProblem, Row};

use crate::judge::{Scale, contact_violations, corners, response};

/// Most combinations that are tried.
const LARGEST_COUNT: usize = 6000;

/// A point with a smaller violation is a solution.
const SOLVES: f64 = 1e-9;

/// One with a larger violation is none. Between, nothing is said.
const FAILS: f64 = 1e-6;

/// Pivots below this, relative to the largest entry, are zero.
const ZERO_PIVOT: f64 = 1e-13;

/// Pivots below this, relative to the largest entry, are too small for a verdict.
const WEAK_PIVOT: f64 = 1e-8;

/// Motions that are closer, in the scale of the problem, are the same.
const SAME_MOTION: f64 = 1e-6;

/// What was found.
#[derive(Debug, Default)]
pub struct Motions {
    /// Different motions that solve the problem.
    pub found: Vec<Vec<f64>>,
    /// Whether there can be no other: no combination was left without a verdict.
    pub is_complete: bool,
}

impl Motions {
    /// The only motion that there is.
    pub fn unique(&self) -> Option<&[f64]> {
        match &self.found[..] {
            [only] if self.is_complete => Some(only),
            _ => None,
        }
    }

    /// Distance of a motion from the nearest one that was found.
    pub fn distance(&self, problem: &ContactProblem, motion: &[f64]) -> f64 {
        let scale = Scale::of(problem);
        let distances = self.found.iter().map(|found| scale.distance(problem, found, motion));
        distances.fold(f64::INFINITY, |nearest, distance| if distance < nearest { distance } else { nearest })
    }
}

/// A linear combination, by number of row or of unknown.
type Combination = Vec<(usize, f64)>;

/// One mode of a contact.
#[derive(Default)]
struct Mode {
    /// Unknown `i` adds impulses along `unknowns[i]`.
    unknowns: Vec<Combination>,
    /// The rate along each of these is zero.
    equations: Vec<Combination>,
    /// Combinations of the unknowns that are not negative.
    bounds: Vec<Combination>,
    /// Rates that are not negative.
    rates: Vec<Combination>,
}

/// The modes of a contact whose normal row has this number; its tangents follow.
fn modes(normal: usize, tangent_count: usize, mu: f64, corners: &[[f64; 2]]) -> Vec<Mode> {
    let along = |d: [f64; 2]| (0..tangent_count).map(move |a| (normal + 1 + a, d[a]));
    let closed = vec![(normal, 1.0)];
    let mut modes = vec![Mode { rates: vec![closed.clone()], ..Default::default() }];
    if mu == 0.0 {
        let (unknowns, equations) = (vec![closed.clone()], vec![closed]);
        modes.push(Mode { unknowns, equations, bounds: vec![vec![(0, 1.0)]], rates: Vec::new() });
        return modes;
    }
    let rows: Vec<Combination> = (0..=tangent_count).map(|a| vec![(normal + a, 1.0)]).collect();
    // The edges of the polygon: where d and e are neighbours, (d + e) · c_t ≤ μ c_n (1 + d · e).
    let edge = |i: usize| {
        let (d, e) = (corners[i], corners[(i + 1) % corners.len()]);
        if tangent_count == 1 {
            return vec![(0, mu), (1, -d[0])];
        }
        let inner = 1.0 + d[0] * e[0] + d[1] * e[1];
        vec![(0, mu), (1, -(d[0] + e[0]) / inner), (2, -(d[1] + e[1]) / inner)]
    };
    let bounds = (0..corners.len()).map(edge).collect();
    modes.push(Mode { unknowns: rows.clone(), equations: rows, bounds, rates: Vec::new() });
    // The impulse of a corner with unit length, so that large friction does not spoil the pivots.
    let at = |d: [f64; 2]| {
        let length = mu.hypot(1.0);
        std::iter::once((normal, 1.0 / length)).chain(along(d).map(|(row, x)| (row, mu * x / length))).collect()
    };
    // No corner is more opposed to the slip.
    let strongest = |d: [f64; 2]| -> Vec<Combination> {
        corners.iter().map(|e| along([e[0] - d[0], e[1] - d[1]]).collect()).collect()
    };
    for (i, &d) in corners.iter().enumerate() {
        modes.push(Mode {
            unknowns: vec![at(d)],
            equations: vec![closed.clone()],
            bounds: vec![vec![(0, 1.0)]],
            rates: strongest(d),
        });
        if tangent_count == 2 {
            let e = corners[(i + 1) % corners.len()];
            modes.push(Mode {
                unknowns: vec![at(d), at(e)],
                equations: vec![closed.clone(), along([d[0] - e[0], d[1] - e[1]]).collect()],
                bounds: vec![vec![(0, 1.0)], vec![(1, 1.0)]],
                rates: strongest(d),
            });
        }
    }
    modes
}

/// A problem in its scale, row by row.
struct Scaled<'a> {
    problem: &'a ContactProblem,
    scale: Scale,
    /// Friction polygon and modes of each contact.
    corners: Vec<Vec<[f64; 2]>>,
    modes: Vec<Vec<Mode>>,
    delassus: Vec<Vec<f64>>,
    free_rates: Vec<f64>,
    /// Change of the motion for a scaled impulse of one.
    responses: Vec<Vec<f64>>,
}

/// All motions that solve the problem; none when there are too many combinations to try.
pub fn motions(problem: &ContactProblem, directions: usize) -> Option<Motions> {
    let scaled = Scaled::new(problem, directions);
    let count = scaled.modes.iter().try_fold(1usize, |product, modes| product.checked_mul(modes.len()))?;
    if count > LARGEST_COUNT {
        return None;
    }
    let mut result = Motions { found: Vec::new(), is_complete: true };
    let mut possible: Vec<Vec<f64>> = Vec::new();
    for number in 0..count {
        let is_known = |motions: &[Vec<f64>], motion: &[f64]| {
            motions.iter().any(|other| scaled.scale.distance(problem, other, motion) <= SAME_MOTION)
        };
        match scaled.try_combination(number) {
            Verdict::None => {}
            Verdict::Solution(motion) if !is_known(&result.found, &motion) => result.found.push(motion),
            Verdict::Possible(motion) if !is_known(&possible, &motion) => possible.push(motion),
            Verdict::Solution(_) | Verdict::Possible(_) => {}
            Verdict::Unknown => result.is_complete = false,
        }
    }
    // What was left open does not matter where its motion has been found anyway.
    result.is_complete &= possible.iter().all(|motion| result.distance(problem, motion) <= SAME_MOTION);
    Some(result)
}

/// What a combination of modes gives.
enum Verdict {
    None,
    Solution(Vec<f64>),
    /// If there is a solution, it has this motion.
    Possible(Vec<f64>),
    Unknown,
}

impl<'a> Scaled<'a> {
    fn new(problem: &'a ContactProblem, directions: usize) -> Self {
        let scale = Scale::of(problem);
        let (mut all_corners, mut all_modes) = (Vec::new(), Vec::new());
        let (mut rows, mut responses, mut free_rates) = (Vec::new(), Vec::new(), Vec::new());
        for (contact, inverse_mass) in problem.contacts.iter().zip(&scale.inverse_masses) {
            let corners = corners(contact.tangents.len(), directions);
            all_modes.push(modes(rows.len(), contact.tangents.len(), contact.mu, &corners));
            all_corners.push(corners);
            let slip = contact.slip(&problem.free_motion);
            let rates = std::iter::once(contact.normal_rate(&problem.free_motion)).chain(slip);
            for (row, rate) in std::iter::once(&contact.normal).chain(&contact.tangents).zip(rates) {
                let factor = 1.0 / inverse_mass.sqrt();
                rows.push((row, factor));
                free_rates.push(rate * factor / scale.energy_root);
                responses.push(response(problem, row).iter().map(|x| x * factor * scale.energy_root).collect());
            }
        }
        let entry = |(row, factor): &(&Row, f64), response: &Vec<f64>| row.dot(response) * factor / scale.energy_root;
        let delassus = rows.iter().map(|row| responses.iter().map(|response| entry(row, response)).collect()).collect();
        Self { problem, corners: all_corners, modes: all_modes, delassus, free_rates, responses, scale }
    }

    fn try_combination(&self, number: usize) -> Verdict {
        let mut rest = number;
        let (mut unknowns, mut equations, mut bounds, mut rate_bounds) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for modes in &self.modes {
            let mode = &modes[rest % modes.len()];
            rest /= modes.len();
            bounds.extend(mode.bounds.iter().map(|bound| (unknowns.len(), bound)));
            unknowns.extend(&mode.unknowns);
            equations.extend(&mode.equations);
            rate_bounds.extend(&mode.rates);
        }
        // E (b + W C x) = 0.
        let size = unknowns.len();
        let system: Vec<Vec<f64>> = equations
            .iter()
            .map(|equation| {
                let entry = |unknown: &&Combination| dot_with(equation, |i| dot(unknown, &self.delassus[i]));
                unknowns.iter().map(entry).chain([-dot(equation, &self.free_rates)]).collect()
            })
            .collect();
        let Some(mut solved) = eliminate(system.clone(), size) else { return Verdict::None };

        let is_regular = solved.null_space.is_empty();
        if is_regular && solved.weakest >= WEAK_PIVOT {
            let violation = self.violation(&unknowns, &solved.values).0;
            if violation > 1e3 * FAILS {
                return Verdict::None; // as most are: no need to be more precise
            }
        }
        let mut defect = system;
        for row in &mut defect {
            row[size] -= (0..size).map(|j| row[j] * solved.values[j]).sum::<f64>();
        }
        if let Some(correction) = eliminate(defect, size) {
            (0..size).for_each(|j| solved.values[j] += correction.values[j]);
        }
        if let [null] = &solved.null_space[..]
            && !self.moves(&unknowns, null)
        {
            // The part of the line x + t y on which no bound is violated.
            let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
            let mut is_outside = false;
            for (start, bound) in &bounds {
                let value = dot(bound, &solved.values[*start..]);
                let slope = dot(bound, &null[*start..]);
                if slope.abs() <= ZERO_PIVOT {
                    is_outside |= value < -FAILS;
                } else if slope > 0.0 {
                    low = low.max(-value / slope);
                } else {
                    high = high.min(-value / slope);
                }
            }
            if is_outside || low > high + FAILS {
                return Verdict::None;
            }
            let t = match (low.is_finite(), high.is_finite()) {
                (true, true) => 0.5 * (low + high),
                (true, false) => low + 1.0,
                (false, true) => high - 1.0,
                (false, false) => 0.0,
            };
            solved.values.iter_mut().zip(null).for_each(|(x, y)| *x += t * y);
        }

        let (violation, rates, motion) = self.violation(&unknowns, &solved.values);
        if violation <= SOLVES {
            return Verdict::Solution(motion);
        }
        if solved.null_space.iter().any(|null| self.moves(&unknowns, null)) {
            return Verdict::Unknown;
        }
        let is_weak = solved.weakest < WEAK_PIVOT && is_regular;
        if !is_weak && rate_bounds.iter().any(|bound| dot(bound, &rates) < -FAILS) {
            return Verdict::None;
        }
        if is_weak || !is_regular || violation < FAILS { Verdict::Possible(motion) } else { Verdict::None }
    }

    /// Largest violation of the laws by the values of unknowns, with the rates and the motion.
    fn violation(&self, unknowns: &[&Combination], values: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let impulses = self.impulses(unknowns, values);
        let mut rates = self.free_rates.clone();
        let mut motion = self.problem.free_motion.clone();
        for (row, &impulse) in impulses.iter().enumerate().filter(|(_, impulse)| **impulse != 0.0) {
            rates.iter_mut().zip(&self.delassus).for_each(|(rate, entries)| *rate += entries[row] * impulse);
            motion.iter_mut().zip(&self.responses[row]).for_each(|(u, x)| *u += impulse * x);
        }
        let (mut worst, mut row) = (0.0f64, 0);
        for (contact, corners) in self.problem.contacts.iter().zip(&self.corners) {
            let count = contact.tangents.len();
            let tangent = |values: &[f64]| [values[row + 1], if count == 2 { values[row + 2] } else { 0.0 }, 0.0];
            let impulse = ContactImpulse { id: contact.id, normal: impulses[row], tangent: tangent(&impulses) };
            let own = contact_violations(contact, &impulse, (rates[row], tangent(&rates)), corners, 1.0, 1.0);
            worst = worst.max(own.largest());
            row += 1 + count;
        }
        (worst, rates, motion)
    }

    fn impulses(&self, unknowns: &[&Combination], values: &[f64]) -> Vec<f64> {
        let mut impulses = vec![0.0; self.free_rates.len()];
        for (unknown, value) in unknowns.iter().zip(values) {
            unknown.iter().for_each(|&(row, factor)| impulses[row] += factor * value);
        }
        impulses
    }

    /// Whether impulses change the motion: $c^T W c > 0$.
    fn moves(&self, unknowns: &[&Combination], values: &[f64]) -> bool {
        let impulses = self.impulses(unknowns, values);
        let size: f64 = impulses.iter().map(|c| c * c).sum();
        let mut energy = 0.0;
        for (row, c) in self.delassus.iter().zip(&impulses) {
            energy += c * row.iter().zip(&impulses).map(|(w, c)| w * c).sum::<f64>();
        }
        energy > ZERO_PIVOT * size
    }
}

fn dot(combination: &Combination, values: &[f64]) -> f64 {
    dot_with(combination, |i| values[i])
}

fn dot_with(combination: &Combination, value: impl Fn(usize) -> f64) -> f64 {
    combination.iter().map(|&(i, factor)| factor * value(i)).sum()
}

/// A solved system.
struct Solved {
    /// A point; unknowns that are free are zero.
    values: Vec<f64>,
    /// Smallest pivot over the largest entry.
    weakest: f64,
    /// Vectors that the system maps to zero.
    null_space: Vec<Vec<f64>>,
}

/// Gauss-Jordan elimination with full pivoting of a square system with its right-hand side; none
/// where it contradicts itself.
fn eliminate(mut system: Vec<Vec<f64>>, size: usize) -> Option<Solved> {
    let largest = system.iter().flat_map(|row| &row[..size]).fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    let mut order: Vec<usize> = (0..size).collect();
    let (mut rank, mut weakest) = (size, 1.0f64);
    for k in 0..size {
        let (mut best, mut place) = (-1.0, (k, k));
        for i in k..size {
            for j in k..size {
                let entry = system[i][order[j]].abs();
                if entry > best {
                    (best, place) = (entry, (i, j));
                }
            }
        }
        if best <= ZERO_PIVOT * largest {
            rank = k;
            break;
        }
        weakest = weakest.min(best / largest);
        system.swap(k, place.0);
        order.swap(k, place.1);
        let column = order[k];
        let mut pivot_row = std::mem::take(&mut system[k]);
        let pivot = pivot_row[column];
        pivot_row.iter_mut().for_each(|x| *x /= pivot);
        for row in system.iter_mut().filter(|row| !row.is_empty()) {
            let factor = row[column];
            if factor != 0.0 {
                row.iter_mut().zip(&pivot_row).for_each(|(x, pivot)| *x -= factor * pivot);
            }
        }
        system[k] = pivot_row;
    }
    if system[rank..].iter().any(|row| row[size].abs() > FAILS) {
        return None;
    }
    let mut values = vec![0.0; size];
    (0..rank).for_each(|k| values[order[k]] = system[k][size]);
    let null_space = (rank..size)
        .map(|free| {
            let mut null = vec![0.0; size];
            null[order[free]] = 1.0;
            (0..rank).for_each(|k| null[order[k]] = -system[k][order[free]]);
            null
        })
        .collect();
    Some(Solved { values, weakest, null_space })
}

#[test]
fn a_painleve_case_has_three_motions() {
    // W⁻¹ = [[1, 0.8], [0.8, 1]], normal e1, tangent e2, μ = 2, free rates (0.3, 5). Open: they
    // stay. Sliding: c_t = -2 c_n and 0.3 + (1 - 1.6) c_n = 0, so c_n = 1/2 and the slip is 5 + 0.4
    // - 1. Sticking: c = -W (0.3, 5) = (3.7, -4.76) / 0.36 is within
    // |c_t| ≤ 2 c_n.
    let mut problem = ContactProblem { free_motion: vec![0.3, 5.0], ..Default::default() };
    problem.inertia.push_block(2, &[1.0, -0.8, -0.8, 1.0].map(|x| x / 0.36));
    problem.inertia.factor().unwrap();
    problem.contacts.push(stiction_dynamics::ContactCondition {
        normal: Row::from_dense(&[1.0, 0.0]),
        tangents: [Row::from_dense(&[0.0, 1.0])].into_iter().collect(),
        mu: 2.0,
        ..Default::default()
    });
    let motions = motions(&problem, 8).unwrap();
    assert!(motions.is_complete && motions.found.len() == 3, "{motions:?}");
    for expected in [[0.3, 5.0], [0.0, 4.4], [0.0, 0.0]] {
        assert!(motions.distance(&problem, &expected) < 1e-14, "{expected:?} is missing in {motions:?}");
    }
    // Pushed down, the paradox leaves only sticking.
    problem.free_motion = vec![-0.3, 5.0];
    let only = self::motions(&problem, 8).unwrap();
    assert!(only.unique().is_some_and(|motion| motion.iter().all(|u| u.abs() < 1e-14)), "{only:?}");
}

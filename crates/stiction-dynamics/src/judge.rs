//! The one judge of a contact problem: how far a solution is from its laws, and whether it counts
//! as solved.
//!
//! No method judges itself. Everything is computed again from the [`ContactProblem`] and the
//! [`ContactSolution`] alone, for every method and every scheme by the same formulas, and
//! [`Judge::pronounce`] is the only place that writes [`SolveStatus::Solved`] for a contact
//! problem.
//!
//! **One scale.** With the mobility $m = \sum_k J_k^2 / W_{kk}$ of a row $J$, a rate over
//! $\sqrt m$, an impulse times $\sqrt m$ and a momentum over $\sqrt{W_{kk}}$ have the same unit,
//! the root of an energy, so that errors of every kind can be compared and do not change with
//! units:
//!
//! | law | error |
//! |---|---|
//! | momentum | $(W (u - u_\text{free}) - \nu^T c_j - \sum (n^T c_n + T^T c_t))_k / \sqrt{W_{kk}}$ |
//! | joints | $(\nu u + b_j) / \sqrt m$ |
//! | no penetration, no pulling | $\min(c_n \sqrt m,\ (n u + b_n) / \sqrt m)$ |
//! | friction | $(y - P(y - s / m)) \sqrt m$, with the projection $P$ on the set of the bound $\mu c_n + a$ |
//!
//! Friction $y$ and sliding $s$ are taken in units of the semi-axes. The natural map sees a wrong
//! direction of friction in first order, where the power alone would see its square.
//!
//! **One size.** Errors are measured within an island: the bodies that act on each other by
//! impulses, joints or common inertia. A pile is not excused by a bullet that flies past it. The
//! size of an island is what its impulses act against: the largest rate
//! $|J u_\text{free} + b| / \sqrt m$ of a row that carries an impulse. So it does not matter how
//! fast all of it moves. A share `ROUNDING_SHARE` of the motion itself, the largest
//! $\sqrt{W_{kk}}\, |u_k|$, and of the impulses counts too, because what cancels cannot be better
//! than its rounding; but not beyond `EXCUSE` times the rest, because heavy bodies, or bodies that
//! are pressed together without measure, would otherwise excuse everything.
//!
//! **Rounding.** What no method can reach in double precision is not asked for: that share of the
//! impulses, eight units of rounding of the terms of a rate or a momentum, and the rounding of a
//! bias where its scheme states one
//! ([`ContactCondition::rounding`](crate::ContactCondition::rounding)), because a gap is a
//! difference of coordinates.

use stiction_solve::SolveStatus;

use crate::vector::{norm, refill, zero};
use crate::{ContactProblem, ContactSolution, FrictionShape, Row};

/// Largest residual of a solved problem with up to [`FEW_CONTACTS`] contacts. Rounding gives
/// $10^{-16}$ to $10^{-13}$; a wrong mode gives more than $10^{-6}$.
pub const SOLVED: f64 = 1e-10;

/// The same above that number: iterative methods are stopped there, and errors are still below a
/// millionth of a millimetre per second.
pub const SOLVED_LARGE: f64 = 1e-8;

/// Contacts of a small problem.
pub const FEW_CONTACTS: usize = 200;

/// The share of motion and impulses that counts as their rounding. With [`SOLVED`] it allows
/// $10^{-13}$ of them, some hundred units of rounding. Too large: strong forces and fast motion
/// hide small errors. Too small: right answers are refused for their rounding.
const ROUNDING_SHARE: f64 = 1e-3;

/// Units of rounding that a sum of products is off by: a rate $J u$ by those of its terms
/// $J_k u_k$, a momentum $W (u - u_\text{free})$ by those of $W u$. A task that is a millionth of
/// the motion, as a bounce of $10^{-7}$ m/s of bodies that move with $0.1$ m/s, is solved to less
/// than [`SOLVED`] of itself by no method. Too large: errors of that size pass. Too small: right
/// answers are refused.
const UNITS: f64 = 8.0 * f64::EPSILON;

/// Most by which rounding may enlarge the size of an island. Too large: heavy bodies hide the
/// errors of light ones, and an explosion of impulses passes as rounding.
const EXCUSE: f64 = 2.0;

/// What impulses act against is rounding itself below this share of the motion, as where a
/// projection has nothing to do.
const REAL_TASK: f64 = 1e-6;

/// An island whose task is below this share of the largest motion is at rest: what is left there is
/// rounding of steps before. Its errors then are below the nineteenth digit.
const AT_REST: f64 = 1e-9;

/// Errors up to this, as the root of an energy, are none: numbers near the smallest ones lose their
/// digits, as in a motion that a damper has brought to rest.
const NOTHING: f64 = 1e-140;

/// The largest residual of a solved problem with this number of contacts.
pub fn solved_limit(contact_count: usize) -> f64 {
    if contact_count <= FEW_CONTACTS { SOLVED } else { SOLVED_LARGE }
}

/// Which part of a problem is meant; numbers count in the order of the problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// None.
    #[default]
    Nowhere,
    /// The momentum of a velocity coordinate.
    Coordinate(usize),
    /// A joint row.
    Joint(usize),
    /// A contact, its normal or its friction.
    Contact(usize),
    /// A friction element.
    Element(usize),
}

/// The largest violation of any law.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The error over the size of its island, without unit; infinite when something is not finite.
    pub residual: f64,
    /// Where it is.
    pub place: Place,
}

impl Verdict {
    fn add(&mut self, error: f64, size: f64, place: Place) {
        let relative = if error.abs() <= NOTHING { 0.0 } else { (error / size).abs() };
        if relative.is_nan() {
            *self = Self { residual: f64::INFINITY, place };
        } else if relative > self.residual {
            *self = Self { residual: relative, place };
        }
    }
}

/// The friction set with which a method replaces that of a law, for a number of tangent rows.
pub type SetOf<'a> = dyn Fn(usize, &'a FrictionShape) -> &'a FrictionShape + 'a;

/// The set of the law itself.
pub fn own_set(_tangent_count: usize, shape: &FrictionShape) -> &FrictionShape {
    shape
}

/// The judge with its workspace; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// The island of a coordinate, as a forest whose roots stand for islands.
    parents: Vec<usize>,
    /// Sizes of what impulses act against, of motion and of impulses, by root.
    tasks: Vec<f64>,
    motions: Vec<f64>,
    impulses: Vec<f64>,
    /// The largest motion of any island.
    fastest: f64,
    /// Diagonal of the inertia, without signs.
    masses: Vec<f64>,
    /// What errors are measured by, by coordinate.
    sizes: Vec<f64>,
    change: Vec<f64>,
    /// The larger of motion and free motion, by coordinate.
    largest: Vec<f64>,
    balance: Vec<f64>,
}

impl Judge {
    /// Judges a solution and writes the verdict into its report: solved within `limit`, or what the
    /// method said of its failure.
    pub fn pronounce<'a>(
        &mut self,
        problem: &'a ContactProblem,
        force_rows: Option<&[Row]>,
        set_of: &SetOf<'a>,
        limit: f64,
        solution: &mut ContactSolution,
    ) {
        let Verdict { residual, place } = self.judge(problem, force_rows, set_of, solution);
        solution.worst = place;
        let report = &mut solution.report;
        report.residual = residual;
        report.status = match report.status {
            _ if residual <= limit => SolveStatus::Solved,
            SolveStatus::Solved => SolveStatus::Inaccurate,
            status => status,
        };
    }

    /// The largest violation of any law of the problem. Normal impulses act along `force_rows`
    /// where these are given, as where the friction of a sliding contact is known.
    ///
    /// # Panics
    /// When the solution has fewer impulses than the problem has rows.
    pub fn judge<'a>(
        &mut self,
        problem: &'a ContactProblem,
        force_rows: Option<&[Row]>,
        set_of: &SetOf<'a>,
        solution: &ContactSolution,
    ) -> Verdict {
        let (u, inertia) = (&solution.motion, &problem.inertia);
        let has_rows = !(problem.joints.is_empty() && problem.contacts.is_empty() && problem.friction.is_empty());
        if !has_rows && *u == problem.free_motion && u.iter().all(|u| u.is_finite()) {
            return Verdict::default(); // a free motion, without any error
        }
        let force_row = |i: usize| force_rows.map_or(&problem.contacts[i].normal, |rows| &rows[i]);
        self.find_islands(problem, force_rows, solution);
        self.measure(problem, force_rows, solution);

        refill(&mut self.change, u.iter().zip(&problem.free_motion).map(|(u, free)| u - free));
        refill(&mut self.largest, u.iter().zip(&problem.free_motion).map(|(u, free)| u.abs().max(free.abs())));
        zero(&mut self.balance, u.len());
        inertia.apply(&self.change, &mut self.balance);
        let mut balance = std::mem::take(&mut self.balance);
        let mut verdict = Verdict::default();

        for (i, (joint, &impulse)) in problem.joints.iter().zip(&solution.joints).enumerate() {
            joint.row.add_to(-impulse, &mut balance);
            let rate = beyond(joint.row.dot(u) + joint.bias, joint.rounding);
            let (error, size) = match mobility(&self.masses, &joint.row).sqrt() {
                root if root > 0.0 => {
                    (beyond(rate, self.rounding(&joint.row, joint.bias)) / root, self.size(&joint.row))
                }
                // Nothing can move: the condition holds or it does not.
                _ => (rate, joint.bias.abs()),
            };
            verdict.add(error, size, Place::Joint(i));
        }
        for (i, (contact, impulse)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
            force_row(i).add_to(-impulse.normal, &mut balance);
            contact.tangents.iter().zip(impulse.tangent).for_each(|(row, c)| row.add_to(-c, &mut balance));
            let rate = beyond(contact.normal_rate(u), contact.rounding);
            let (error, size) = match mobility(&self.masses, &contact.normal).sqrt() {
                root if root > 0.0 => {
                    let rate = beyond(rate, self.rounding(&contact.normal, contact.normal_bias));
                    ((impulse.normal * root).min(rate / root), self.size(&contact.normal))
                }
                _ => (rate.min(0.0), contact.normal_bias.abs()),
            };
            verdict.add(error, size, Place::Contact(i));
            let friction = Friction {
                tangents: &contact.tangents,
                biases: &contact.tangent_bias,
                axes: contact.friction_axes,
                set: set_of(contact.tangents.len(), &contact.friction_shape),
                bound: contact.mu * impulse.normal.max(0.0) + contact.extra_bound,
            };
            let (error, size) = self.friction_error(&friction, &impulse.tangent, &contact.slip(u));
            verdict.add(error, size, Place::Contact(i));
        }
        for (i, (element, impulse)) in problem.friction.iter().zip(&solution.friction).enumerate() {
            element.tangents.iter().zip(impulse).for_each(|(row, c)| row.add_to(-c, &mut balance));
            let friction = Friction {
                tangents: &element.tangents,
                biases: &element.tangent_bias,
                axes: [1.0; 3],
                set: set_of(element.tangents.len(), &element.friction_shape),
                bound: element.bound,
            };
            let (error, size) = self.friction_error(&friction, impulse, &element.slip(u));
            verdict.add(error, size, Place::Element(i));
        }
        for (k, &left) in balance.iter().enumerate() {
            let (size, mass) = (self.sizes[k], self.masses[k]);
            let left = beyond(left, UNITS * mass * self.largest[k]);
            verdict.add(left / mass.sqrt(), size, Place::Coordinate(k));
        }
        self.balance = balance;
        verdict
    }

    /// Joins the coordinates that act on each other: by common inertia, and by the rows that carry
    /// impulses.
    fn find_islands(&mut self, problem: &ContactProblem, force_rows: Option<&[Row]>, solution: &ContactSolution) {
        refill(&mut self.parents, 0..problem.free_motion.len());
        let parents = &mut self.parents;
        problem.inertia.for_each_coupling(|i, j| join(parents, i, j));
        let mut join_rows = |rows: &mut dyn Iterator<Item = &Row>| {
            let mut first = None;
            for &(k, _) in rows.flat_map(|row| row.entries()) {
                join(parents, *first.get_or_insert(k), k);
            }
        };
        problem.joints.iter().for_each(|joint| join_rows(&mut std::iter::once(&joint.row)));
        for (i, (contact, impulse)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
            if impulse.normal != 0.0 || impulse.tangent != [0.0; 3] {
                let acting = force_rows.map(|rows| &rows[i]);
                join_rows(&mut std::iter::once(&contact.normal).chain(&contact.tangents).chain(acting));
            }
        }
        problem.friction.iter().for_each(|element| join_rows(&mut element.tangents.iter()));
    }

    /// Finds the sizes of the islands.
    fn measure(&mut self, problem: &ContactProblem, force_rows: Option<&[Row]>, solution: &ContactSolution) {
        let count = problem.free_motion.len();
        for sizes in [&mut self.tasks, &mut self.motions, &mut self.impulses] {
            zero(sizes, count);
        }
        refill(&mut self.masses, (0..count).map(|k| problem.inertia.entry(k, k).abs()));
        for k in 0..count {
            let root = find(&mut self.parents, k);
            let speed = solution.motion[k].abs().max(problem.free_motion[k].abs());
            self.motions[root] = self.motions[root].max(self.masses[k].sqrt() * speed);
        }
        self.fastest = self.motions.iter().copied().fold(0.0, f64::max);
        let free = &problem.free_motion;
        let mut act = |row: &Row, bias: f64, impulse: f64| {
            if let (Some(&(k, _)), true) = (row.entries().first(), impulse != 0.0) {
                let root_of_mobility = mobility(&self.masses, row).sqrt();
                if root_of_mobility > 0.0 {
                    let root = find(&mut self.parents, k);
                    self.impulses[root] = self.impulses[root].max(impulse.abs() * root_of_mobility);
                    self.tasks[root] = self.tasks[root].max((row.dot(free) + bias).abs() / root_of_mobility);
                }
            }
        };
        for (joint, &impulse) in problem.joints.iter().zip(&solution.joints) {
            act(&joint.row, joint.bias, impulse);
        }
        for (i, (contact, impulse)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
            act(&contact.normal, contact.normal_bias, impulse.normal);
            if let Some(rows) = force_rows {
                act(&rows[i], 0.0, impulse.normal);
            }
            let biases = contact.tangent_bias.iter().zip(impulse.tangent);
            contact.tangents.iter().zip(biases).for_each(|(row, (&bias, impulse))| act(row, bias, impulse));
        }
        for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
            let biases = element.tangent_bias.iter().zip(impulse);
            element.tangents.iter().zip(biases).for_each(|(row, (&bias, &impulse))| act(row, bias, impulse));
        }
        self.sizes.clear();
        for k in 0..count {
            // The root of an island is its first coordinate.
            let root = find(&mut self.parents, k);
            self.sizes.push(if root < k { self.sizes[root] } else { self.size_of_island(k) });
        }
    }

    /// What the rounding of its terms can make of a rate.
    fn rounding(&self, row: &Row, bias: f64) -> f64 {
        let terms = row.entries().iter().map(|&(k, value)| value.abs() * self.largest[k]);
        UNITS * terms.fold(bias.abs(), |sum, term| sum + term)
    }

    /// The error of friction as the root of an energy, and what it is measured by.
    fn friction_error(&self, friction: &Friction<'_>, impulse: &[f64; 3], slip: &[f64; 3]) -> (f64, f64) {
        let Friction { tangents, biases, axes, set, bound } = *friction;
        let sum: f64 = tangents.iter().zip(axes).map(|(row, axis)| axis * axis * mobility(&self.masses, row)).sum();
        let Some(row) = tangents.iter().find(|row| !row.entries().is_empty()).filter(|_| sum > 0.0) else {
            // Nothing can slide: any friction within the bound will do, and none without rows.
            return (if tangents.is_empty() { norm(impulse) } else { 0.0 }, 1.0);
        };
        let mobility = sum / tangents.len() as f64;
        let y: [f64; 3] = std::array::from_fn(|k| if axes[k] > 0.0 { impulse[k] / axes[k] } else { 0.0 });
        let s: [f64; 3] = std::array::from_fn(|k| slip[k] * axes[k]);
        let target = std::array::from_fn(|k| y[k] - s[k] / mobility);
        let nearest = set.nearest(&target, bound);
        let error = norm(&std::array::from_fn(|k| y[k] - nearest[k]));
        // A projection does not enlarge distances, and so not the rounding of the slip.
        let rounding = |k: usize| tangents.get(k).map_or(0.0, |row| axes[k] * self.rounding(row, biases[k]));
        let rounding = norm(&std::array::from_fn(rounding)) / mobility;
        ((error - rounding).max(0.0) * mobility.sqrt(), self.size(row))
    }

    /// The size of the island with this root.
    fn size_of_island(&self, root: usize) -> f64 {
        let (task, motion, impulse) = (self.tasks[root], self.motions[root], self.impulses[root]);
        if task >= REAL_TASK * motion && task >= AT_REST * self.fastest {
            return task.max((ROUNDING_SHARE * motion.max(impulse)).min(EXCUSE * task));
        }
        let size = task.max(ROUNDING_SHARE * motion).max(AT_REST * self.fastest);
        size.max((ROUNDING_SHARE * impulse).min(EXCUSE * size))
    }

    /// What errors of a row are measured by: the largest of the islands that it touches.
    fn size(&self, row: &Row) -> f64 {
        row.entries().iter().fold(0.0, |size: f64, &(k, _)| size.max(self.sizes[k]))
    }
}

/// The mobility $\sum_k J_k^2 / W_{kk}$ of a row; a coordinate without inertia adds nothing.
fn mobility(masses: &[f64], row: &Row) -> f64 {
    let term = |&(k, value): &(usize, f64)| if masses[k] > 0.0 { value * value / masses[k] } else { 0.0 };
    row.entries().iter().map(term).sum()
}

/// The friction of a contact or of a friction element.
struct Friction<'a> {
    tangents: &'a [Row],
    biases: &'a [f64; 3],
    axes: [f64; 3],
    set: &'a FrictionShape,
    bound: f64,
}

/// A rate without what rounding may have made of it.
fn beyond(rate: f64, rounding: f64) -> f64 {
    if rate.abs() <= rounding { 0.0 } else { rate - rounding.copysign(rate) }
}

/// The root of a coordinate's tree, with the path halved.
fn find(parents: &mut [usize], mut k: usize) -> usize {
    while parents[k] != k {
        parents[k] = parents[parents[k]];
        k = parents[k];
    }
    k
}

/// The smaller root becomes that of both, so that the answer does not depend on the order.
fn join(parents: &mut [usize], i: usize, j: usize) {
    let (i, j) = (find(parents, i), find(parents, j));
    parents[i.max(j)] = i.min(j);
}

#[cfg(test)]
mod tests;

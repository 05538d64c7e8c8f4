//! Contact forces that the motion does not determine: the ones of least norm, and whether there is
//! a choice at all.
//!
//! A box on four feet, a beam on three supports: the motion may be unique and the forces are not,
//! because the rows of the contacts depend on each other. A method then returns one choice, by the
//! path it took. \[PKF\] names the minimum-norm solution as a remedy, and this is it. With the
//! motion $u$ of a solution fixed, its forces are those of
//!
//! $$ \begin{aligned}
//! \min \tfrac12 \lVert \lambda \rVert^2, \qquad & J^T \lambda = W (u - u_\text{free}) - \nu^T c_j, \\\\
//! \lambda_n &\ge 0, \quad \lambda_n = 0 \text{ where the contact opens}, \\\\
//! \lambda_t &\in (\mu \lambda_n + a) P, \quad \text{where it slides in the face of } P \text{ against the sliding } s,
//! \end{aligned} $$
//!
//! with $P$ the friction polygon of unit bound, given by its corners. As a set of half-planes,
//! $P = \{ x : g_j^T x \le 1 \}$, it makes the admissible forces a convex polytope,
//! $E \lambda = e$, $G \lambda \le h$: the sides of $P$ that contain the corners $d$ with the
//! smallest $d^T s$ are equations, the others inequalities. Friction of an
//! [instant](crate::Instant)'s sliding contact is known, $\lambda_t = -\mu \lambda_n s$. Joint
//! forces stay as they are.
//!
//! A point of the polytope is known, the forces $\lambda_0$ of the solution. With an orthonormal
//! basis $Z$ of the null space of $E$, every point is $\lambda_0 + Z y$, and the Kuhn-Tucker
//! conditions are an LCP with a positive semidefinite matrix, which Lemke's method solves:
//!
//! $$ y = -Z^T (\lambda_0 + G^T z), \qquad 0 \le z \perp G Z Z^T G^T z + h - G (\lambda_0 - Z Z^T \lambda_0) \ge 0. $$
//!
//! **Uniqueness.** The polytope is the single point $\lambda_0$ unless there is a direction
//! $d \ne 0$ with $B d \le 0$, $B$ the rows of $G Z$ whose inequality holds with equality at
//! $\lambda_0$. There is one if $B$ has not full column rank. Else let $c = -B^T 1$: every such
//! direction has $c^T d = -1^T B d > 0$, so that there is none exactly if the projection of $c$
//! onto the cone $B d \le 0$ is zero. That projection is an LCP with $B B^T$.
//!
//! The norm is that of the rows as they are given: forces in N where rows are unit vectors at a
//! point. Rows of rotations bring N m among them, and with another unit of length another choice.

use std::sync::Arc;

use stiction_solve::PortableMath as _;
use stiction_solve::faer::Mat;
use stiction_solve::least_squares::{null_space, rank};
use stiction_solve::{Lcp, LcpSolution, LemkeSettings, SolveReport, SolveStatus};

use crate::judge::{Judge, own_set, solved_limit};
use crate::polytope::Polytope as FrictionPolytope;
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, Row, Untreated};

/// Rates, slips and slacks below this, relative to the largest term of the problem in the same
/// unit, are zero. Too large: a contact that opens slowly takes load again, or friction that is at
/// its bound seems to have a choice. Too small: the rounding of the solution closes a choice that
/// there is. It is also the variation of forces that counts as none.
const ZERO: f64 = 1e-9;

/// Singular values below this, relative to the largest of the scaled rows, are zero. Too large:
/// rows that are nearly dependent are taken for dependent, and the motion changes, which the
/// residual tells. Too small: rounding hides that forces are not unique.
const RANK: f64 = 1e-11;

/// Sums below this, relative to their terms, are zero. An LCP whose offset is rounding alone has no
/// scale to be solved in.
const ROUNDING: f64 = 1e-13;

/// Contact forces of least norm.
#[derive(Clone, Debug)]
pub struct LeastNorm {
    /// The solution with these forces: the same motion and the same joint forces. The report judges
    /// them by all laws anew; it is that of the solution given where that was not solved.
    pub solution: ContactSolution,
    /// Whether the laws and the motion leave no other choice of contact forces; the solution is
    /// then unchanged.
    pub is_unique: bool,
}

/// The contact forces of least norm among all that give the motion of a solution and obey the laws,
/// for friction within the polygon with these `corners` (those of the method that found the
/// solution; in the plane there are always two).
///
/// # Errors
/// [`ContactError`] when the problem is malformed, the solution is not one of this problem, a
/// contact has more than two tangents, or the corners are not those of a polygon around the origin.
pub fn least_norm_forces(
    problem: &ContactProblem,
    solution: &ContactSolution,
    corners: &[[f64; 2]],
    settings: &LemkeSettings,
) -> Result<LeastNorm, ContactError> {
    least_norm_with_kinetic(problem, &[], solution, corners, settings)
}

/// As [`least_norm_forces`]; `kinetic` holds the unit vectors of the contacts whose friction is
/// known, $-\mu \lambda_n s$.
pub(crate) fn least_norm_with_kinetic(
    problem: &ContactProblem,
    kinetic: &[Option<[f64; 2]>],
    solution: &ContactSolution,
    corners: &[[f64; 2]],
    settings: &LemkeSettings,
) -> Result<LeastNorm, ContactError> {
    problem.check()?;
    check_fits(problem, solution)?;
    if !solution.report.is_solved() {
        return Ok(LeastNorm { solution: solution.clone(), is_unique: false });
    }
    let is_free = |(number, _): &(usize, _)| kinetic.get(*number).is_none_or(Option::is_none);
    let rows = problem.contacts.iter().enumerate().filter(is_free).map(|(_, contact)| &contact.tangents);
    let mut rows = rows.chain(problem.friction.iter().map(|element| &element.tangents));
    let sides = if rows.any(|rows| rows.len() == 2) { sides(corners)? } else { Vec::new() };
    let elements = elements(problem, kinetic, solution, [corners, &sides])?;
    let polytope = Polytope::of(problem, &elements);
    let mut least = LeastNorm { solution: solution.clone(), is_unique: polytope.is_point(settings) };
    if !least.is_unique {
        let (forces, report) = polytope.least_norm(settings);
        write(&elements, &forces, &mut least.solution);
        least.solution.report = report;
        pronounce(problem, kinetic, corners, settings, &mut least.solution);
    }
    Ok(least)
}

/// Lets the judge of all contact problems judge forces whose friction is within this polygon, or
/// known.
fn pronounce(
    problem: &ContactProblem,
    kinetic: &[Option<[f64; 2]>],
    corners: &[[f64; 2]],
    settings: &LemkeSettings,
    solution: &mut ContactSolution,
) {
    let mut stated = problem.clone();
    let mut judged = solution.clone();
    // In the plane there are no corners, and the set is the law's.
    let corners: Vec<[f64; 3]> = corners.iter().map(|&[t, o]| [t, o, 0.0]).collect();
    let polygon = match FrictionPolytope::from_corners(corners) {
        Ok(polygon) => FrictionShape::Polytope(Arc::new(polygon)),
        Err(_) => FrictionShape::Ball,
    };
    let mut force_rows: Vec<Row> = stated.contacts.iter().map(|contact| contact.normal.clone()).collect();
    for (i, contact) in stated.contacts.iter_mut().enumerate() {
        match kinetic.get(i).copied().flatten() {
            Some(s) => {
                // Its normal force acts along n - μ sᵀ T.
                for (row, s) in contact.tangents.iter().zip(s) {
                    force_rows[i].push_scaled(-contact.mu * s, row);
                }
                contact.tangents.clear();
                judged.contacts[i].tangent = [0.0; 3];
            }
            None if contact.tangents.len() == 2 => contact.friction_shape = polygon.clone(),
            None => {}
        }
    }
    let two = stated.friction.iter_mut().filter(|element| element.tangents.len() == 2 && element.is_round());
    two.for_each(|element| element.friction_shape = polygon.clone());
    let limit = solved_limit(problem.contacts.len()).min(settings.residual_tolerance);
    Judge::default().pronounce(&stated, Some(&force_rows), &own_set, limit, &mut judged);
    (solution.report, solution.worst) = (judged.report, judged.worst);
}

fn check_fits(problem: &ContactProblem, solution: &ContactSolution) -> Result<(), ContactError> {
    for (what, found, expected) in [
        ("velocity coordinates", solution.motion.len(), problem.free_motion.len()),
        ("joints", solution.joints.len(), problem.joints.len()),
        ("contacts", solution.contacts.len(), problem.contacts.len()),
        ("friction elements", solution.friction.len(), problem.friction.len()),
    ] {
        if found != expected {
            return Err(ContactError::OtherProblem { what, found, expected });
        }
    }
    Ok(())
}

/// A contact or friction element with its laws for the given motion.
#[derive(Default)]
struct Element<'a> {
    /// Number of the contact, or of the friction element.
    number: usize,
    /// None for a friction element.
    normal: Option<&'a Row>,
    tangents: &'a [Row],
    mu: f64,
    bound: f64,
    /// Rates for the given motion, and forces of the given solution.
    normal_rate: f64,
    slip: [f64; 2],
    normal_force: f64,
    tangent_force: [f64; 2],
    /// $\sqrt{J W^{-1} J^T}$ of the normal, and the largest of the tangents.
    normal_root: f64,
    tangent_root: f64,
    /// Friction $-\mu \lambda_n s$ with this $s$.
    kinetic: Option<[f64; 2]>,
    corners: &'a [[f64; 2]],
    /// The vectors $g_j$ of the sides.
    sides: &'a [[f64; 2]],
}

/// The two corners of a line, which are its sides too.
const LINE: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

fn elements<'a>(
    problem: &'a ContactProblem,
    kinetic: &[Option<[f64; 2]>],
    solution: &ContactSolution,
    polygon: [&'a [[f64; 2]]; 2],
) -> Result<Vec<Element<'a>>, ContactError> {
    let root = |row: &Row| row.dot(&problem.inertia.response(row)).abs().sqrt();
    let planar = |vector: [f64; 3]| [vector[0], vector[1]];
    let set = |what: &dyn Fn() -> String, tangents: &[Row]| match tangents.len() {
        0 => Ok([&[][..]; 2]),
        1 => Ok([&LINE[..]; 2]),
        2 => Ok(polygon),
        found => Err(Untreated::TangentCount(found).of(what())),
    };
    let mut elements = Vec::new();
    for (number, (contact, force)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
        let has_friction = contact.mu > 0.0 || contact.extra_bound > 0.0;
        let tangents = if has_friction { &contact.tangents[..] } else { &[] };
        let [corners, sides] = set(&|| format!("contact {:?}", contact.id), tangents)?;
        elements.push(Element {
            number,
            normal: Some(&contact.normal),
            tangents,
            mu: contact.mu,
            bound: contact.extra_bound,
            normal_rate: contact.normal_rate(&solution.motion),
            slip: planar(contact.slip(&solution.motion)),
            normal_force: force.normal,
            tangent_force: planar(force.tangent),
            normal_root: root(&contact.normal),
            tangent_root: contact.tangents.iter().map(root).fold(0.0, f64::max),
            kinetic: kinetic.get(number).copied().flatten(),
            corners,
            sides,
        });
    }
    for (number, (element, force)) in problem.friction.iter().zip(&solution.friction).enumerate() {
        let [corners, sides] = set(&|| format!("friction element {}", element.id), &element.tangents)?;
        elements.push(Element {
            number,
            tangents: &element.tangents,
            bound: element.bound,
            slip: planar(element.slip(&solution.motion)),
            tangent_force: planar(*force),
            tangent_root: element.tangents.iter().map(root).fold(0.0, f64::max),
            corners,
            sides,
            ..Default::default()
        });
    }
    Ok(elements)
}

/// The vectors $g$ of the sides $g^T x = 1$ of the convex hull of some corners, which must have the
/// origin inside.
fn sides(corners: &[[f64; 2]]) -> Result<Vec<[f64; 2]>, ContactError> {
    let refuse = |reason: String| Err(ContactError::Directions(reason));
    let in_space = corners.iter().map(|&[t, o]| [t, o, 0.0]).collect();
    let polygon = match FrictionPolytope::from_corners(in_space) {
        Ok(polygon) => polygon,
        Err(error) => return refuse(error.to_string()),
    };
    // The hull is one with the origin: where that is no corner of it and on no side, it is inside.
    let facets = polygon.facets();
    if facets.len() < 3 || facets.iter().any(|facet| facet.offset <= ZERO) {
        return refuse(format!("{} corners do not form a polygon around the origin", corners.len()));
    }
    Ok(facets.iter().map(|facet| [facet.normal[0] / facet.offset, facet.normal[1] / facet.offset]).collect())
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

impl Element<'_> {
    /// Whether the contact is closed for the given motion: of the force and the rate, scaled to the
    /// same unit, the rate is zero.
    fn is_closed(&self, size: f64) -> bool {
        if self.normal_root == 0.0 {
            return self.normal_rate <= 0.0 || self.normal_force > 0.0;
        }
        let rate = self.normal_rate / self.normal_root;
        rate <= ZERO * size || self.normal_force * self.normal_root > rate
    }

    /// Largest scaled force and rate.
    fn size(&self) -> f64 {
        let mut size = self.normal_force.abs() * self.normal_root;
        size = size.max(self.tangent_force[0].portable_hypot(self.tangent_force[1]) * self.tangent_root);
        if self.normal_root > 0.0 {
            size = size.max(self.normal_rate.abs() / self.normal_root);
        }
        if self.tangent_root > 0.0 {
            size = size.max(self.slip[0].portable_hypot(self.slip[1]) / self.tangent_root);
        }
        size
    }

    /// Of each side, whether it contains the face of the polygon that opposes the sliding; none
    /// does where the contact sticks.
    fn binding_sides(&self, size: f64) -> Vec<bool> {
        let zero = ZERO * size * self.tangent_root;
        if self.slip[0].portable_hypot(self.slip[1]) <= zero {
            return vec![false; self.sides.len()];
        }
        let least = self.corners.iter().fold(f64::INFINITY, |least, d| least.min(dot(*d, self.slip)));
        let face = |d: &&[f64; 2]| dot(**d, self.slip) <= least + zero;
        let contains = |g: &[f64; 2]| self.corners.iter().filter(face).all(|d| dot(*g, *d) >= 1.0 - ZERO);
        self.sides.iter().map(contains).collect()
    }
}

/// The admissible forces of a motion, by a point and the null space of the equations:
/// $\{\lambda_0 + Z y : G Z y \le s_0\}$.
struct Polytope {
    /// $\lambda_0$.
    point: Vec<f64>,
    /// $Z$, orthonormal columns.
    null_space: Mat<f64>,
    /// $G Z$.
    slope: Mat<f64>,
    /// $s_0 = h - G \lambda_0$; not negative: what rounding took is given back.
    slack: Vec<f64>,
    /// Largest force.
    size: f64,
}

/// Where the forces of an element stand among the unknowns.
fn places(elements: &[Element<'_>]) -> Vec<(Option<usize>, usize)> {
    let mut count = 0;
    let mut places = Vec::new();
    for element in elements {
        let normal = element.normal.map(|_| count);
        count += usize::from(normal.is_some());
        places.push((normal, count));
        count += element.tangents.len();
    }
    places
}

impl Polytope {
    fn of(problem: &ContactProblem, elements: &[Element<'_>]) -> Self {
        let size = elements.iter().map(Element::size).fold(0.0, f64::max);
        let places = places(elements);
        let count = elements.iter().map(|element| usize::from(element.normal.is_some()) + element.tangents.len()).sum();
        let mut point = vec![0.0; count];

        // Jᵀ λ, coordinate by coordinate; then the equations and inequalities of the laws, (row,
        // right-hand side).
        let mut equations = vec![vec![0.0; count]; problem.free_motion.len()];
        let mut inequalities: Vec<(Vec<f64>, f64)> = Vec::new();
        for (element, &(normal, tangent)) in elements.iter().zip(&places) {
            let unit = |place: usize, value: f64| {
                let mut row = vec![0.0; count];
                row[place] = value;
                row
            };
            if let (Some(row), Some(place)) = (element.normal, normal) {
                point[place] = element.normal_force;
                row.entries().iter().for_each(|&(i, value)| equations[i][place] += value);
                if element.is_closed(size) {
                    inequalities.push((unit(place, -1.0), 0.0));
                } else {
                    equations.push(unit(place, 1.0));
                }
            }
            for (a, row) in element.tangents.iter().enumerate() {
                point[tangent + a] = element.tangent_force[a];
                row.entries().iter().for_each(|&(i, value)| equations[i][tangent + a] += value);
            }
            if element.bound == 0.0 && normal.is_none_or(|_| !element.is_closed(size)) {
                (0..element.tangents.len()).for_each(|a| equations.push(unit(tangent + a, 1.0)));
                continue;
            }
            if let Some(s) = element.kinetic {
                for a in 0..element.tangents.len() {
                    let mut row = unit(tangent + a, 1.0);
                    normal.into_iter().for_each(|place| row[place] = element.mu * s[a]);
                    equations.push(row);
                }
                continue;
            }
            for (g, is_binding) in element.sides.iter().zip(element.binding_sides(size)) {
                let mut row = vec![0.0; count];
                row[tangent..tangent + element.tangents.len()].copy_from_slice(&g[..element.tangents.len()]);
                normal.into_iter().for_each(|place| row[place] = -element.mu);
                if is_binding {
                    equations.push(row);
                } else {
                    inequalities.push((row, element.bound));
                }
            }
        }

        // What does not change along the null space holds as it does at the point.
        let null_space = null_space_of(&equations, count);
        let slope = |row: &[f64], j: usize| row.iter().enumerate().map(|(k, g)| g * null_space[(k, j)]).sum::<f64>();
        inequalities.retain(|(row, _)| (0..null_space.ncols()).any(|j| slope(row, j).abs() > ZERO));
        let slack = inequalities.iter().map(|(row, bound)| {
            let used: f64 = row.iter().zip(&point).map(|(g, force)| g * force).sum();
            (bound - used).max(0.0)
        });
        let slack = slack.collect();
        let slope = Mat::from_fn(inequalities.len(), null_space.ncols(), |i, j| slope(&inequalities[i].0, j));
        let size = point.iter().fold(0.0f64, |size, force| size.max(force.abs()));
        Self { point, null_space, slope, slack, size }
    }

    fn dimension(&self) -> usize {
        self.null_space.ncols()
    }

    /// Whether there is no other point.
    fn is_point(&self, settings: &LemkeSettings) -> bool {
        if self.dimension() == 0 {
            return true;
        }
        let active: Vec<usize> = (0..self.slack.len()).filter(|&i| self.slack[i] <= ZERO * self.size).collect();
        let b = Mat::from_fn(active.len(), self.dimension(), |i, j| self.slope[(active[i], j)]);
        if active.is_empty() || rank(&b, RANK) < self.dimension() {
            return false;
        }
        // The projection -Bᵀ (1 + z) of c. Where it is zero, the positive weights 1 + z prove that
        // there is no direction.
        let matrix = &b * b.transpose();
        let offset = (0..active.len()).map(|i| {
            let entries = (0..active.len()).map(|j| matrix[(i, j)]);
            let (sum, size) = entries.fold((0.0, 0.0), |(sum, size), entry| (sum + entry, size + entry.abs()));
            if sum.abs() <= ROUNDING * size { 0.0 } else { sum }
        });
        let offset = offset.collect();
        let Some(answer) = solve(matrix, offset, settings) else { return false };
        let weights: Vec<f64> = answer.z.iter().map(|z| 1.0 + z.max(0.0)).collect();
        let largest = weights.iter().fold(0.0f64, |largest, weight| largest.max(*weight));
        let component = |j: usize| weights.iter().enumerate().map(|(i, weight)| b[(i, j)] * weight).sum::<f64>();
        (0..self.dimension()).all(|j| component(j).abs() <= ZERO * largest)
    }

    /// The point of least norm.
    fn least_norm(&self, settings: &LemkeSettings) -> (Vec<f64>, SolveReport) {
        let (count, dimension) = (self.point.len(), self.dimension());
        let along: Vec<f64> =
            (0..dimension).map(|j| (0..count).map(|k| self.null_space[(k, j)] * self.point[k]).sum()).collect();
        let matrix = &self.slope * self.slope.transpose();
        let row_of_slope = |i: usize, y: &[f64]| y.iter().enumerate().map(|(j, y)| self.slope[(i, j)] * y).sum::<f64>();
        let offset = (0..self.slack.len()).map(|i| self.slack[i] + row_of_slope(i, &along)).collect();
        let Some(answer) = solve(matrix, offset, settings) else {
            let report =
                SolveReport { status: SolveStatus::Breakdown, residual: f64::INFINITY, iterations: 0, size: 0 };
            return (self.point.clone(), report);
        };
        let y: Vec<f64> = (0..dimension)
            .map(|j| -along[j] - answer.z.iter().enumerate().map(|(i, z)| self.slope[(i, j)] * z).sum::<f64>())
            .collect();
        let force =
            |k: usize| self.point[k] + y.iter().enumerate().map(|(j, y)| self.null_space[(k, j)] * y).sum::<f64>();
        ((0..count).map(force).collect(), answer.report)
    }
}

/// Solves an LCP; none where a number is not finite.
fn solve(matrix: Mat<f64>, offset: Vec<f64>, settings: &LemkeSettings) -> Option<LcpSolution> {
    Some(Lcp::new(matrix, offset).ok()?.solve(settings))
}

/// An orthonormal basis of the null space of some rows, each scaled to the largest entry one.
fn null_space_of(rows: &[Vec<f64>], count: usize) -> Mat<f64> {
    let largest = |row: &Vec<f64>| row.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let rows: Vec<(&Vec<f64>, f64)> = rows.iter().map(|row| (row, largest(row))).filter(|row| row.1 > 0.0).collect();
    let scaled = Mat::from_fn(rows.len(), count, |i, j| rows[i].0[j] / rows[i].1);
    null_space(&scaled, RANK).0
}

fn write(elements: &[Element<'_>], forces: &[f64], solution: &mut ContactSolution) {
    for (element, (normal, tangent)) in elements.iter().zip(places(elements)) {
        let mut friction = [0.0; 3];
        friction[..element.tangents.len()].copy_from_slice(&forces[tangent..tangent + element.tangents.len()]);
        match normal {
            Some(place) => {
                let force = &mut solution.contacts[element.number];
                // Rounding alone could make it negative.
                (force.normal, force.tangent) = (forces[place].max(0.0), friction);
            }
            None => solution.friction[element.number] = friction,
        }
    }
}

#[cfg(test)]
mod tests;

//! Contacts and friction elements with any convex friction set, by Newton's method on the natural
//! map.
//!
//! \[TTP01\] §2, (iii)′ and (iv)′, for sets of which only support and projection are known.
//! Unknowns are $u$, then for every contact $c_n$ and its friction in units of the semi-axes, the
//! friction of elements, the impulses of joints:
//!
//! $$ 0 = W (u - u_\text{free}) - \textstyle\sum (n^T c_n + T^T e y) - \nu^T c_j, \qquad 0 = \nu u + b_j, $$
//!
//! and the equations of [`natural_map`](crate::natural_map) for every contact and element.
//! Everything is scaled to the root of an energy.
//!
//! **Start.** The answer of the [pyramid](super::pyramid) whose corners are points of the sets,
//! which Lemke's method finds where there is one. Where Newton's method does not get from there to
//! a solution, the corners that dissipate most against the sliding join, and it starts anew: these
//! polytopes fill the sets where it matters.

use std::sync::Arc;

use faer::Mat;
use stiction_solve::{NewtonSettings, NonsmoothEquations, SemismoothNewton, SolveReport, SolveStatus};

use super::Formulation;
use super::pyramid::{Pyramid, PyramidSettings};
use crate::constrained_motion::mobility;
use crate::contact_problem::Group;
use crate::judge::{Judge, own_set, solved_limit};
use crate::natural_map::{Friction, Law};
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, Polytope, Row};

/// Newton's method ends at this residual, relative to the momentum of the problem.
const TOLERANCE: f64 = 1e-15;

/// Most starts; each has a corner more for every contact that slides. Too few: problems with many
/// contacts are given up. Too many: those without a solution take long.
const STARTS: usize = 24;

/// The method with its workspace.
#[derive(Clone, Debug)]
pub(crate) struct Convex {
    newton: SemismoothNewton,
    pyramid: Pyramid,
    judge: Judge,
    z: Vec<f64>,
}

/// A contact or an element, and where its unknowns stand.
struct Block<'a> {
    group: Group<'a>,
    /// The row along which the normal impulse acts.
    acting: Option<&'a Row>,
    tangents: &'a [Row],
    /// First unknown, and first one of friction.
    first: usize,
    friction: usize,
    rho: [f64; 2],
}

struct Equations<'a> {
    problem: &'a ContactProblem,
    blocks: Vec<Block<'a>>,
    /// Roots of the diagonal of $W$, and of the mobilities of joints.
    mass_roots: Vec<f64>,
    joint_roots: Vec<f64>,
    first_joint: usize,
    /// The root of an energy.
    scale: f64,
}

impl Convex {
    pub fn new() -> Result<Self, ContactError> {
        let pyramid = Pyramid::new(PyramidSettings::default())?;
        Ok(Self { newton: SemismoothNewton::default(), pyramid, judge: Judge::default(), z: Vec::new() })
    }

    /// The first contact or friction element with a set of a user, or friction element whose
    /// torsion has a bound of its own.
    pub fn first(problem: &ContactProblem) -> Option<Group<'_>> {
        problem.groups().find(|group| match group.shape {
            FrictionShape::Convex(_) => true,
            FrictionShape::DiscAndInterval => group.normal.is_none(),
            FrictionShape::Ball | FrictionShape::Polytope(_) => false,
        })
    }

    /// Solves a contact problem whose inertia is factored; the report in `solution` says how well.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        let mut inner = problem.clone();
        // Corners of the sets that a user brought.
        let mut corners: Vec<Vec<[f64; 3]>> = Vec::new();
        corners.extend(problem.groups().map(|group| match group.shape {
            FrictionShape::Convex(set) => set.corners(group.tangents.len()),
            _ => Vec::new(),
        }));
        let mut best: Option<ContactSolution> = None;
        let mut iterations = 0;
        for _ in 0..STARTS {
            for (shape, corners) in inner.shapes_mut().zip(&corners).filter(|(_, corners)| !corners.is_empty()) {
                let polytope = Polytope::from_corners(corners.clone());
                let polytope = polytope.map_err(|error| ContactError::Directions(error.to_string()))?;
                *shape = FrictionShape::Polytope(Arc::new(polytope));
            }
            self.pyramid.solve(&inner, solution)?;
            let start = solution.motion.clone();
            solution.report.iterations += iterations;
            self.improve(problem, None, solution);
            iterations = solution.report.iterations;
            if best.as_ref().is_none_or(|best| solution.report.residual < best.report.residual) {
                best = Some(solution.clone());
            }
            if solution.report.is_solved() {
                break;
            }
            // The corners that the sliding of the pyramid asks for.
            let mut has_grown = false;
            for (group, corners) in problem.groups().zip(&mut corners) {
                let slip = group.scaled_slip(&start);
                if let FrictionShape::Convex(set) = group.shape {
                    let corner = set.against(&slip);
                    if slip != [0.0; 3] && corner != [0.0; 3] && !corners.contains(&corner) {
                        corners.push(corner);
                        has_grown = true;
                    }
                }
            }
            if !has_grown {
                break;
            }
        }
        if let Some(best) = best {
            solution.clone_from(&best);
        }
        Ok(())
    }

    /// Goes on from a solution of a problem whose normal impulses act along `force_rows`, where
    /// these are given.
    pub fn improve(&mut self, problem: &ContactProblem, force_rows: Option<&[Row]>, solution: &mut ContactSolution) {
        let mut equations = Equations::new(problem, force_rows);
        equations.write_start(solution, &mut self.z);
        let settings = NewtonSettings { tolerance: TOLERANCE, ..Default::default() };
        let steps = self.newton.solve(&mut equations, &settings, &mut self.z).steps();
        equations.write_solution(&self.z, solution);
        let iterations = solution.report.iterations + steps;
        let (status, size) = (SolveStatus::IterationLimit, equations.size());
        solution.report = SolveReport { status, residual: 0.0, iterations, size };
        let limit = solved_limit(problem.contacts.len());
        self.judge.pronounce(problem, force_rows, &own_set, limit, solution);
    }

    /// Forgets the last solution. Whether there was one.
    pub fn forget(&mut self) -> bool {
        Formulation::forget(&mut self.pyramid)
    }
}

impl<'a> Equations<'a> {
    fn new(problem: &'a ContactProblem, force_rows: Option<&'a [Row]>) -> Self {
        let n = problem.free_motion.len();
        let inverse = |mobility: f64| if mobility > 0.0 { 1.0 / mobility } else { 1.0 };
        let mobility = |row: &Row| mobility(&problem.inertia, row);
        let root = |square: f64| if square > 0.0 { square.sqrt() } else { 1.0 };
        let (mut first, mut blocks) = (n, Vec::new());
        for (i, group) in problem.groups().enumerate() {
            let tangents = group.rough_tangents();
            let sum: f64 = group.tangents.iter().zip(group.axes).map(|(row, axis)| axis * axis * mobility(row)).sum();
            let normal = group.normal.map_or(0.0, |(row, _)| mobility(row));
            let rho = [inverse(normal), inverse(sum / tangents.len().max(1) as f64)];
            let acting = group.normal.map(|(row, _)| force_rows.map_or(row, |rows| &rows[i]));
            let friction = first + usize::from(acting.is_some());
            blocks.push(Block { group, acting, tangents, first, friction, rho });
            first = friction + tangents.len();
        }
        let mass_roots: Vec<f64> = (0..n).map(|k| root(problem.inertia.entry(k, k).abs())).collect();
        let joint_roots = problem.joints.iter().map(|joint| root(mobility(&joint.row))).collect();
        let motions = problem.free_motion.iter().zip(&mass_roots).map(|(u, root)| u.abs() * root);
        let biases = problem.contacts.iter().map(|contact| contact.normal_bias.abs() / root(mobility(&contact.normal)));
        let scale = motions.chain(biases).fold(f64::MIN_POSITIVE.sqrt(), f64::max);
        Self { problem, blocks, mass_roots, joint_roots, first_joint: first, scale }
    }

    /// The impulse of an unknown that is one.
    fn unit(&self, rho: f64) -> f64 {
        self.scale * rho.sqrt()
    }

    /// Normal impulse, and friction in units of the semi-axes.
    fn impulses(&self, block: &Block, z: &[f64]) -> (f64, [f64; 3]) {
        let normal = block.acting.map_or(0.0, |_| z[block.first] * self.unit(block.rho[0]));
        let unit = self.unit(block.rho[1]);
        let friction = |k| if k < block.tangents.len() { z[block.friction + k] * unit } else { 0.0 };
        (normal, std::array::from_fn(friction))
    }

    fn velocity(&self, z: &[f64]) -> Vec<f64> {
        z.iter().zip(&self.mass_roots).map(|(z, root)| z * self.scale / root).collect()
    }

    fn law(&self, block: &Block, u: &[f64], z: &[f64]) -> Law {
        let Block { group, rho, .. } = block;
        let rate = group.normal.map_or(0.0, |(row, bias)| row.dot(u) + bias);
        let friction = Friction {
            shape: group.shape,
            tangent_count: block.tangents.len(),
            mu: group.mu,
            bound: group.bound,
            rho: *rho,
            has_normal: group.normal.is_some(),
        };
        friction.law(self.impulses(block, z), (rate, group.scaled_slip(u)))
    }

    fn write_start(&self, solution: &ContactSolution, z: &mut Vec<f64>) {
        z.clear();
        z.resize(self.size(), 0.0);
        for (k, u) in solution.motion.iter().enumerate() {
            z[k] = u * self.mass_roots[k] / self.scale;
        }
        for (block, (normal, tangent)) in self.blocks.iter().zip(solution.impulses()) {
            if block.acting.is_some() {
                z[block.first] = normal / self.unit(block.rho[0]);
            }
            for k in 0..block.tangents.len() {
                z[block.friction + k] = tangent[k] / (block.group.axes[k] * self.unit(block.rho[1]));
            }
        }
        for (j, c) in solution.joints.iter().enumerate() {
            z[self.first_joint + j] = c * self.joint_roots[j] / self.scale;
        }
    }

    /// Writes impulses, and the motion that they make.
    fn write_solution(&self, z: &[f64], solution: &mut ContactSolution) {
        solution.write_impulses(self.problem, |i| {
            let (normal, y) = self.impulses(&self.blocks[i], z);
            let axes = self.blocks[i].group.axes;
            [normal, axes[0] * y[0], axes[1] * y[1], axes[2] * y[2]]
        });
        solution.joints.clear();
        let roots = self.joint_roots.iter().zip(&z[self.first_joint..]);
        solution.joints.extend(roots.map(|(root, z)| z * self.scale / root));
        let mut change = vec![0.0; self.mass_roots.len()];
        self.push(z, 1.0, &mut change);
        self.problem.inertia.solve_in_place(&mut change);
        solution.motion.clear();
        solution.motion.extend(self.problem.free_motion.iter().zip(&change).map(|(free, change)| free + change));
    }

    /// Adds a multiple of the momentum of all impulses.
    fn push(&self, z: &[f64], factor: f64, momentum: &mut [f64]) {
        for block in &self.blocks {
            let (normal, y) = self.impulses(block, z);
            let axes = block.group.axes;
            block.tangents.iter().enumerate().for_each(|(k, row)| row.add_to(factor * axes[k] * y[k], momentum));
            block.acting.into_iter().for_each(|row| row.add_to(factor * normal, momentum));
        }
        for ((joint, root), z) in self.problem.joints.iter().zip(&self.joint_roots).zip(&z[self.first_joint..]) {
            joint.row.add_to(factor * z * self.scale / root, momentum);
        }
    }
}

impl NonsmoothEquations for Equations<'_> {
    fn size(&self) -> usize {
        self.first_joint + self.joint_roots.len()
    }

    fn evaluate(&mut self, z: &[f64], f: &mut [f64]) {
        let u = self.velocity(z);
        let change: Vec<f64> = u.iter().zip(&self.problem.free_motion).map(|(u, free)| u - free).collect();
        let mut balance = vec![0.0; u.len()];
        self.problem.inertia.apply(&change, &mut balance);
        self.push(z, -1.0, &mut balance);
        for block in &self.blocks {
            let law = self.law(block, &u, z);
            if block.acting.is_some() {
                f[block.first] = law.normal[0] / self.unit(block.rho[0]);
            }
            let unit = self.unit(block.rho[1]);
            (0..block.tangents.len()).for_each(|k| f[block.friction + k] = law.friction[k] / unit);
        }
        for (j, (joint, root)) in self.problem.joints.iter().zip(&self.joint_roots).enumerate() {
            f[self.first_joint + j] = (joint.row.dot(&u) + joint.bias) / (root * self.scale);
        }
        (0..u.len()).for_each(|k| f[k] = balance[k] / (self.mass_roots[k] * self.scale));
    }

    fn derivative(&mut self, z: &[f64], out: &mut Mat<f64>) {
        let u = self.velocity(z);
        let roots = &self.mass_roots;
        self.problem.inertia.for_each_entry(|i, j, value| out[(i, j)] += value / (roots[i] * roots[j]));
        for block in &self.blocks {
            let law = self.law(block, &u, z);
            let (first, count, axes) = (block.friction, block.tangents.len(), block.group.axes);
            let units = block.rho.map(|rho| self.unit(rho));
            if let (Some((normal, _)), Some(acting)) = (block.group.normal, block.acting) {
                out[(block.first, block.first)] = law.normal[1];
                for &(k, value) in acting.entries() {
                    out[(k, block.first)] -= value * units[0] / (roots[k] * self.scale);
                }
                for &(k, value) in normal.entries() {
                    let rate = value * self.scale / roots[k];
                    out[(block.first, k)] += law.normal[2] * rate / units[0];
                    (0..count).for_each(|a| out[(first + a, k)] += law.by_gap[a] * rate / units[1]);
                }
                (0..count).for_each(|a| out[(first + a, block.first)] = law.by_normal[a] * units[0] / units[1]);
            }
            for (a, tangent) in block.tangents.iter().enumerate() {
                for &(k, value) in tangent.entries() {
                    out[(k, first + a)] -= axes[a] * value * units[1] / (roots[k] * self.scale);
                    let slip = axes[a] * value * self.scale / roots[k];
                    (0..count).for_each(|b| out[(first + b, k)] += law.by_slip[b][a] * slip / units[1]);
                }
                (0..count).for_each(|b| out[(first + b, first + a)] = law.by_y[b][a]);
            }
        }
        for (j, (joint, root)) in self.problem.joints.iter().zip(&self.joint_roots).enumerate() {
            for &(k, value) in joint.row.entries() {
                out[(k, self.first_joint + j)] -= value / (root * roots[k]);
                out[(self.first_joint + j, k)] += value / (root * roots[k]);
            }
        }
    }
}

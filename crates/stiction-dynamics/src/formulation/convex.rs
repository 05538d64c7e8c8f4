//! Contacts and friction elements with any convex friction set, by Newton's method on the natural map.
//!
//! \[TTP01\] §2, (iii)′ and (iv)′, for sets of which only support and projection are known. Unknowns are $u$, then for every contact $c_n$ and its friction in units of the semi-axes, the
//! friction of elements, the impulses of joints:
//!
//! $$ 0 = W (u - u_\text{free}) - \textstyle\sum (n^T c_n + T^T e y) - \nu^T c_j, \qquad 0 = \nu u + b_j, $$
//!
//! and the equations of [`natural_map`](crate::natural_map) for every contact and element. Everything is scaled to the root of an energy.
//!
//! **Start.** The answer of the [pyramid](super::pyramid) whose corners are points of the sets, which Lemke's method finds where there is one. Where Newton's method does not get from there to a
//! solution, the corners that dissipate most against the sliding join, and it starts anew: these polytopes fill the sets where it matters.

use std::sync::Arc;

use faer::Mat;
use stiction_solve::{NewtonSettings, NonsmoothEquations, SemismoothNewton, SolveReport, SolveStatus};

use super::pyramid::{Pyramid, PyramidSettings};
use crate::constrained_motion::mobility;
use crate::contact::Tangents;
use crate::judge::{Judge, own_set, solved_limit};
use crate::natural_map::{Friction, Law};
use crate::{ContactError, ContactImpulse, ContactProblem, ContactSolution, FrictionShape, Polytope, Row};

/// Newton's method ends at this residual, relative to the momentum of the problem.
const TOLERANCE: f64 = 1e-15;

/// Most starts; each has a corner more for every contact that slides. Too few: problems with many contacts are given up. Too many: those without a solution take long.
const STARTS: usize = 24;

/// The method with its workspace.
#[derive(Clone, Debug)]
pub(crate) struct Convex {
    newton: SemismoothNewton,
    pyramid: Pyramid,
    judge: Judge,
    z: Vec<f64>,
}

/// Where the unknowns of a contact or an element stand.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: usize,
    normal_count: usize,
    tangent_count: usize,
    rho: [f64; 2],
}

struct Equations<'a> {
    problem: &'a ContactProblem,
    /// The rows along which normal impulses act, where these are not the normals.
    force_rows: Option<&'a [Row]>,
    blocks: Vec<Block>,
    /// Roots of the diagonal of $W$, and of the mobilities of joints.
    mass_roots: Vec<f64>,
    joint_roots: Vec<f64>,
    /// The root of an energy.
    scale: f64,
}

impl Convex {
    pub fn new() -> Result<Self, ContactError> {
        let pyramid = Pyramid::new(PyramidSettings::default())?;
        Ok(Self { newton: SemismoothNewton::default(), pyramid, judge: Judge::default(), z: Vec::new() })
    }

    /// Whether a problem has a set of a user, or a friction element whose torsion has a bound of its own.
    pub fn is_for(problem: &ContactProblem) -> bool {
        Self::first(problem).is_some()
    }

    /// The first contact or friction element with such a set.
    pub fn first(problem: &ContactProblem) -> Option<String> {
        let is_own = |shape: &FrictionShape| matches!(shape, FrictionShape::Convex(_));
        let contact = problem.contacts.iter().find(|contact| is_own(&contact.friction_shape));
        let other = |shape: &FrictionShape| is_own(shape) || *shape == FrictionShape::DiscAndInterval;
        let element = || problem.friction.iter().find(|element| other(&element.friction_shape));
        let contact = contact.map(|contact| format!("contact {:?}", contact.id));
        contact.or_else(|| element().map(|element| format!("friction element {}", element.id)))
    }

    /// Solves a contact problem whose inertia is factored; the report in `solution` says how well.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        let mut inner = problem.clone();
        // Sets of contacts, then those of elements; which of them a user brought.
        let contacts = problem.contacts.iter().map(|contact| (&contact.friction_shape, contact.tangents.len()));
        let elements = problem.friction.iter().map(|element| (&element.friction_shape, element.tangents.len()));
        let sets: Vec<_> = contacts.chain(elements).collect();
        let mut corners: Vec<Vec<[f64; 3]>> = Vec::new();
        for (shape, tangent_count) in &sets {
            corners.push(match shape {
                FrictionShape::Convex(set) => set.corners(*tangent_count),
                _ => Vec::new(),
            });
        }
        let mut best: Option<ContactSolution> = None;
        let mut iterations = 0;
        for _ in 0..STARTS {
            let contacts = inner.contacts.iter_mut().map(|contact| &mut contact.friction_shape);
            let elements = inner.friction.iter_mut().map(|element| &mut element.friction_shape);
            for (shape, corners) in contacts.chain(elements).zip(&corners) {
                if !corners.is_empty() {
                    let polytope = Polytope::from_corners(corners.clone());
                    let polytope = polytope.map_err(|error| ContactError::Directions(error.to_string()))?;
                    *shape = FrictionShape::Polytope(Arc::new(polytope));
                }
            }
            self.pyramid.solve(&inner, solution)?;
            let start = solution.clone();
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
            let contacts = problem.contacts.iter().map(|contact| {
                let slip = contact.slip(&start.motion);
                std::array::from_fn(|k| contact.friction_axes[k] * slip[k])
            });
            let slips = contacts.chain(problem.friction.iter().map(|element| element.slip(&start.motion)));
            for (((shape, _), slip), corners) in sets.iter().zip(slips).zip(&mut corners) {
                if let FrictionShape::Convex(set) = shape {
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

    /// Goes on from a solution of a problem whose normal impulses act along `force_rows`, where these are given.
    pub fn improve(&mut self, problem: &ContactProblem, force_rows: Option<&[Row]>, solution: &mut ContactSolution) {
        let mut equations = Equations { force_rows, ..Equations::new(problem) };
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
        self.pyramid.forget()
    }
}

impl<'a> Equations<'a> {
    fn new(problem: &'a ContactProblem) -> Self {
        let n = problem.free_motion.len();
        let inverse = |mobility: f64| if mobility > 0.0 { 1.0 / mobility } else { 1.0 };
        let mobility = |row: &Row| mobility(&problem.inertia, row);
        let mut first = n;
        let mut blocks = Vec::new();
        let mut push = |normal: Option<f64>, tangents: &Tangents, axes: [f64; 3], has_friction: bool| {
            let tangent_count = if has_friction { tangents.len() } else { 0 };
            let sum: f64 = tangents.iter().zip(axes).map(|(row, axis)| axis * axis * mobility(row)).sum();
            let rho = [inverse(normal.unwrap_or(0.0)), inverse(sum / tangent_count.max(1) as f64)];
            let normal_count = usize::from(normal.is_some());
            blocks.push(Block { first, normal_count, tangent_count, rho });
            first += normal_count + tangent_count;
        };
        for contact in &problem.contacts {
            let has_friction = contact.mu > 0.0 || contact.extra_bound > 0.0;
            push(Some(mobility(&contact.normal)), &contact.tangents, contact.friction_axes, has_friction);
        }
        for element in &problem.friction {
            push(None, &element.tangents, [1.0; 3], true);
        }
        let root = |square: f64| if square > 0.0 { square.sqrt() } else { 1.0 };
        let mass_roots: Vec<f64> = (0..n).map(|k| root(problem.inertia.entry(k, k).abs())).collect();
        let joint_roots = problem.joints.iter().map(|joint| root(mobility(&joint.row))).collect();
        let motions = problem.free_motion.iter().zip(&mass_roots).map(|(u, root)| u.abs() * root);
        let biases = problem.contacts.iter().map(|contact| contact.normal_bias.abs() / root(mobility(&contact.normal)));
        let scale = motions.chain(biases).fold(f64::MIN_POSITIVE.sqrt(), f64::max);
        Self { problem, force_rows: None, blocks, mass_roots, joint_roots, scale }
    }

    fn force_row(&self, contact: usize) -> &'a Row {
        self.force_rows.map_or(&self.problem.contacts[contact].normal, |rows| &rows[contact])
    }

    fn first_joint(&self) -> usize {
        let n = self.mass_roots.len();
        self.blocks.last().map_or(n, |last| last.first + last.normal_count + last.tangent_count)
    }

    /// The impulse of an unknown that is one.
    fn unit(&self, rho: f64) -> f64 {
        self.scale * rho.sqrt()
    }

    /// Tangents, biases of sliding and semi-axes of a block.
    fn tangents(&self, block: usize) -> (&'a Tangents, [f64; 3], [f64; 3]) {
        match self.problem.contacts.get(block) {
            Some(contact) => (&contact.tangents, contact.tangent_bias, contact.friction_axes),
            None => {
                let element = &self.problem.friction[block - self.problem.contacts.len()];
                (&element.tangents, element.tangent_bias, [1.0; 3])
            }
        }
    }

    fn impulses(&self, block: &Block, z: &[f64]) -> (f64, [f64; 3]) {
        let normal = if block.normal_count == 1 { z[block.first] * self.unit(block.rho[0]) } else { 0.0 };
        let (first, unit) = (block.first + block.normal_count, self.unit(block.rho[1]));
        (normal, std::array::from_fn(|k| if k < block.tangent_count { z[first + k] * unit } else { 0.0 }))
    }

    fn velocity(&self, z: &[f64]) -> Vec<f64> {
        z.iter().zip(&self.mass_roots).map(|(z, root)| z * self.scale / root).collect()
    }

    fn law(&self, i: usize, u: &[f64], z: &[f64]) -> Law {
        let block = &self.blocks[i];
        let contact = self.problem.contacts.get(i);
        let (shape, mu, bound) = match contact {
            Some(contact) => (&contact.friction_shape, contact.mu, contact.extra_bound),
            None => {
                let element = &self.problem.friction[i - self.problem.contacts.len()];
                (&element.friction_shape, 0.0, element.bound)
            }
        };
        let Block { tangent_count, rho, .. } = *block;
        let (tangents, biases, axes) = self.tangents(i);
        let rate = contact.map_or(0.0, |contact| contact.normal_rate(u));
        let slip = std::array::from_fn(|k| tangents.get(k).map_or(0.0, |row| axes[k] * (row.dot(u) + biases[k])));
        let friction = Friction { shape, tangent_count, mu, bound, rho, has_normal: contact.is_some() };
        friction.law(self.impulses(block, z), (rate, slip))
    }

    fn write_start(&self, solution: &ContactSolution, z: &mut Vec<f64>) {
        z.clear();
        z.resize(self.first_joint() + self.joint_roots.len(), 0.0);
        for (k, u) in solution.motion.iter().enumerate() {
            z[k] = u * self.mass_roots[k] / self.scale;
        }
        let contacts = solution.contacts.iter().map(|impulse| (impulse.normal, impulse.tangent));
        let impulses = contacts.chain(solution.friction.iter().map(|tangent| (0.0, *tangent)));
        for (i, (block, (normal, tangent))) in self.blocks.iter().zip(impulses).enumerate() {
            let axes = self.tangents(i).2;
            if block.normal_count == 1 {
                z[block.first] = normal / self.unit(block.rho[0]);
            }
            for k in 0..block.tangent_count {
                z[block.first + block.normal_count + k] = tangent[k] / (axes[k] * self.unit(block.rho[1]));
            }
        }
        let first = self.first_joint();
        for (j, c) in solution.joints.iter().enumerate() {
            z[first + j] = c * self.joint_roots[j] / self.scale;
        }
    }

    /// Writes impulses, and the motion that they make.
    fn write_solution(&self, z: &[f64], solution: &mut ContactSolution) {
        let mut change = vec![0.0; self.mass_roots.len()];
        solution.contacts.clear();
        solution.friction.clear();
        for (i, block) in self.blocks.iter().enumerate() {
            let (normal, y) = self.impulses(block, z);
            let (tangents, _, axes) = self.tangents(i);
            let tangent: [f64; 3] = std::array::from_fn(|k| axes[k] * y[k]);
            tangents.iter().zip(tangent).for_each(|(row, c)| row.add_to(c, &mut change));
            match self.problem.contacts.get(i) {
                Some(contact) => {
                    self.force_row(i).add_to(normal, &mut change);
                    solution.contacts.push(ContactImpulse { id: contact.id, normal, tangent });
                }
                None => solution.friction.push(tangent),
            }
        }
        let first = self.first_joint();
        solution.joints.clear();
        for (j, (joint, root)) in self.problem.joints.iter().zip(&self.joint_roots).enumerate() {
            let c = z[first + j] * self.scale / root;
            joint.row.add_to(c, &mut change);
            solution.joints.push(c);
        }
        self.problem.inertia.solve_in_place(&mut change);
        solution.motion.clear();
        solution.motion.extend(self.problem.free_motion.iter().zip(&change).map(|(free, change)| free + change));
    }
}

impl NonsmoothEquations for Equations<'_> {
    fn size(&self) -> usize {
        self.first_joint() + self.joint_roots.len()
    }

    fn evaluate(&mut self, z: &[f64], f: &mut [f64]) {
        let n = self.mass_roots.len();
        let u = self.velocity(z);
        let change: Vec<f64> = u.iter().zip(&self.problem.free_motion).map(|(u, free)| u - free).collect();
        let mut balance = vec![0.0; n];
        self.problem.inertia.apply(&change, &mut balance);
        for (i, block) in self.blocks.iter().enumerate() {
            let (normal, y) = self.impulses(block, z);
            let (tangents, _, axes) = self.tangents(i);
            if block.normal_count == 1 {
                self.force_row(i).add_to(-normal, &mut balance);
            }
            tangents.iter().enumerate().for_each(|(k, row)| row.add_to(-axes[k] * y[k], &mut balance));
            let law = self.law(i, &u, z);
            if block.normal_count == 1 {
                f[block.first] = law.normal[0] / self.unit(block.rho[0]);
            }
            let first = block.first + block.normal_count;
            (0..block.tangent_count).for_each(|k| f[first + k] = law.friction[k] / self.unit(block.rho[1]));
        }
        let first = self.first_joint();
        for (j, (joint, root)) in self.problem.joints.iter().zip(&self.joint_roots).enumerate() {
            joint.row.add_to(-z[first + j] * self.scale / root, &mut balance);
            f[first + j] = (joint.row.dot(&u) + joint.bias) / (root * self.scale);
        }
        (0..n).for_each(|k| f[k] = balance[k] / (self.mass_roots[k] * self.scale));
    }

    fn derivative(&mut self, z: &[f64], out: &mut Mat<f64>) {
        let u = self.velocity(z);
        let roots = &self.mass_roots;
        self.problem.inertia.for_each_entry(|i, j, value| out[(i, j)] += value / (roots[i] * roots[j]));
        for (i, block) in self.blocks.iter().enumerate() {
            let law = self.law(i, &u, z);
            let (tangents, _, axes) = self.tangents(i);
            let (first, units) = (block.first + block.normal_count, block.rho.map(|rho| self.unit(rho)));
            if let Some(contact) = self.problem.contacts.get(i) {
                out[(block.first, block.first)] = law.normal[1];
                for &(k, value) in self.force_row(i).entries() {
                    out[(k, block.first)] -= value * units[0] / (roots[k] * self.scale);
                }
                for &(k, value) in contact.normal.entries() {
                    let rate = value * self.scale / roots[k];
                    out[(block.first, k)] += law.normal[2] * rate / units[0];
                    (0..block.tangent_count).for_each(|a| out[(first + a, k)] += law.by_gap[a] * rate / units[1]);
                }
                (0..block.tangent_count)
                    .for_each(|a| out[(first + a, block.first)] = law.by_normal[a] * units[0] / units[1]);
            }
            for a in 0..block.tangent_count {
                for &(k, value) in tangents[a].entries() {
                    out[(k, first + a)] -= axes[a] * value * units[1] / (roots[k] * self.scale);
                    let slip = axes[a] * value * self.scale / roots[k];
                    (0..block.tangent_count).for_each(|b| out[(first + b, k)] += law.by_slip[b][a] * slip / units[1]);
                }
                (0..block.tangent_count).for_each(|b| out[(first + b, first + a)] = law.by_y[b][a]);
            }
        }
        let first = self.first_joint();
        for (j, (joint, root)) in self.problem.joints.iter().zip(&self.joint_roots).enumerate() {
            for &(k, value) in joint.row.entries() {
                out[(k, first + j)] -= value / (root * roots[k]);
                out[(first + j, k)] += value / (root * roots[k]);
            }
        }
    }
}

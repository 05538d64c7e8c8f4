//! Coulomb's cone as it is: the contact problem as a problem over second-order cones, joints in the
//! same elimination.
//!
//! In the letters of [`ContactProblem`] the [`GlobalConeProblem`] is
//!
//! $$ W u = W u_\text{free} + \nu^T c_j + H^T r, \qquad H u + b \text{ and } r \text{ obey the friction law}, \qquad \nu u + b_j = 0, $$
//!
//! with the rows $(n, T)$ of a contact one after another in $H$. Nothing is approximated: friction
//! is as large along a diagonal as along a tangent, and acts against the sliding velocity. The
//! [`ConeSolver`] splits the problem into islands and solves each by the method that suits it. Of
//! its answer only the impulses of the contacts are taken; motion and joint impulses follow from
//! them by one sparse solve, so that joints hold to rounding.
//!
//! Few contacts on a mechanism are solved without its joints: these are eliminated first, exactly
//! and with all their redundancies, as by the other formulations, and a [`LocalConeProblem`] is
//! left.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::cone::residual::ZERO_OFFSET;
use stiction_solve::cone::{Cone, ConeSettings, ConeSolver, GlobalConeProblem, LocalConeProblem};
use stiction_solve::{SolveReport, SolveStatus};

use super::convex::Convex;
use super::memory::Memory;
use super::rows::{Rows, impulses_at, refuse_missing_tangents};
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings};
use crate::constrained_motion::ConstrainedMotion;
use crate::contact_problem::Group;
use crate::error::Untreated;
use crate::judge::{FEW_CONTACTS, Judge, SOLVED, SOLVED_LARGE, own_set, solved_limit};
use crate::setting::ValueError;
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, Row, StatedProblem};

/// Rows of contacts and friction up to which joints are eliminated first. Each row costs one solve
/// with the joints, and the matrix that is left is dense.
const CONDENSED_ROWS: usize = 24;

/// Rows up to which the same is tried for problems that are not solved with their joints, as where
/// these are redundant.
const CONDENSABLE_ROWS: usize = 300;

/// Rows up to which paths of smoothed equations are followed: beyond, a problem that they do not
/// solve takes seconds.
const PATH_ROWS: usize = 2000;

/// An answer that the judge does not accept is computed again so many times at most, with an aim
/// this much below what is missing.
const TIGHTENINGS: usize = 3;
const TIGHTER: f64 = 0.1;

/// Settings of the exact cone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExactConeSettings {
    /// Residual at which the solver stops, relative to the terms of the free rates of the contacts.
    /// Left out, it is 1e-13 up to 200 contacts and 1e-8 above. Too large: things creep. Too small:
    /// rounding does not let it be reached, and much work is done for nothing.
    pub tolerance: Option<f64>,
    /// Largest residual of a step that counts as solved, where rounding does not allow the
    /// tolerance: 1e-10 up to 200 contacts and 1e-8 above when it is left out.
    pub residual_tolerance: Option<f64>,
    /// Start each solve from the impulses of the last one. Faster; where forces are not unique, it
    /// stays near those of the last step.
    pub warm_start: bool,
    /// Sweeps of Gauss-Seidel over an island, at most.
    pub sweep_limit: usize,
    /// Factorisations of one run of Newton's method, at most.
    pub newton_limit: usize,
    /// Iterations of the interior-point method, at most.
    pub interior_limit: usize,
}

impl Default for ExactConeSettings {
    fn default() -> Self {
        let ConeSettings { sweep_limit, newton_limit, interior_limit, .. } = ConeSettings::default();
        Self { tolerance: None, residual_tolerance: None, warm_start: true, sweep_limit, newton_limit, interior_limit }
    }
}

impl ExactConeSettings {
    /// The residual that is aimed at, and the largest one that is accepted, for a problem with this
    /// number of contacts.
    pub fn tolerances(&self, contact_count: usize) -> [f64; 2] {
        let defaults = if contact_count <= FEW_CONTACTS { [1e-13, SOLVED] } else { [1e-8, SOLVED_LARGE] };
        let aim = self.tolerance.unwrap_or(defaults[0]);
        [aim, self.residual_tolerance.unwrap_or(defaults[1].max(aim))]
    }

    /// The first tolerance that is not a positive number, with its key.
    pub fn first_unusable(&self) -> Option<(&'static str, f64)> {
        [("tolerance", self.tolerance), ("residual-tolerance", self.residual_tolerance)].into_iter().find_map(
            |(key, value)| value.filter(|value| !(*value > 0.0 && value.is_finite())).map(|value| (key, value)),
        )
    }
}

impl MethodSettings for ExactConeSettings {
    fn facts(&self) -> MethodFacts {
        let summary = "The exact friction cone.";
        MethodFacts { is_exact: true, ..MethodFacts::new("cone", summary, &[], FrictionSets::Round) }
    }

    fn residual_tolerance(&self, contact_count: usize) -> f64 {
        self.tolerances(contact_count)[1]
    }

    fn check(&self, _: usize) -> Result<(), ValueError> {
        self.first_unusable().map_or(Ok(()), |(key, value)| {
            Err(ValueError::new(key, format!("`{key}` is {value:?}"), "give a positive number, such as 1e-12"))
        })
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(ExactCone::new(self.clone())?))
    }
}

impl Formulation for ExactCone {
    fn treats(&self, group: &Group) -> bool {
        !matches!(group.shape, FrictionShape::Polytope(_))
    }

    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        // Sets of users have a method of their own.
        if Convex::first(problem).is_none() {
            return self.solve(problem, solution);
        }
        let convex = self.convex.take().map_or_else(Convex::new, Ok)?;
        self.convex.insert(convex).solve(problem, solution)
    }

    fn forget(&mut self) -> bool {
        self.forget() | self.convex.as_mut().is_some_and(Convex::forget)
    }

    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        match Convex::first(problem) {
            Some(group) => Err(Untreated::ConvexSet("a problem file".to_owned()).of(group.name)),
            None => Ok(StatedProblem::Cone(self.cone_problem(problem))),
        }
    }
}

/// The method of the exact cone with its workspace.
#[derive(Clone, Debug, Default)]
pub struct ExactCone {
    settings: ExactConeSettings,
    problem: GlobalConeProblem,
    /// Rows of contacts and friction elements.
    rows_of: Vec<Range<usize>>,
    solver: ConeSolver,
    joints: ConstrainedMotion,
    // The same rows, and what is left of them without joints.
    rows: Rows,
    local: LocalConeProblem,
    impulses: Vec<f64>,
    /// Impulses of the last solution.
    memory: Memory<f64>,
    joint_memory: Vec<f64>,
    start: Vec<f64>,
    /// $u_\text{free} + W^{-1} H^T r$.
    pushed: Vec<f64>,
    judge: Judge,
    /// For sets of users, once there was one.
    convex: Option<Convex>,
}

impl ExactCone {
    /// The method with these settings.
    ///
    /// # Errors
    /// [`ContactError::Coefficient`] when a tolerance is not positive.
    pub fn new(settings: ExactConeSettings) -> Result<Self, ContactError> {
        if let Some((quantity, value)) = settings.first_unusable() {
            let what = "the settings of the exact cone".to_owned();
            return Err(ContactError::Coefficient { what, quantity, value });
        }
        Ok(Self { settings, ..Default::default() })
    }

    /// The cone problem that stands for a contact problem, to be saved and solved elsewhere. All
    /// its contacts have the same number of rows: those that a contact or a friction element does
    /// not have are empty.
    pub fn cone_problem(&self, problem: &ContactProblem) -> GlobalConeProblem {
        let mut out = GlobalConeProblem::default();
        let largest = problem.groups().map(|group| group.tangents.len()).max().unwrap_or(0).max(1);
        let is_split = problem.contacts.iter().any(|contact| contact.friction_shape == FrictionShape::DiscAndInterval);
        let count = if is_split { 3 } else { largest };
        state_motion(problem, &mut out);
        let none = Row::new();
        for group in problem.groups() {
            push(cone(count, &group), group.normal.unwrap_or((&none, 0.0)), group.tangents, &group, &mut out);
        }
        out
    }

    /// States the problem, every contact and element with the rows that it has.
    fn state(&mut self, problem: &ContactProblem) -> Result<(), ContactError> {
        refuse_missing_tangents(problem)?;
        state_motion(problem, &mut self.problem);
        self.rows_of.clear();
        for group in problem.groups() {
            let first = self.problem.contact_bias().len();
            let tangents = group.rough_tangents();
            match group.normal {
                Some(normal) => push(cone(tangents.len(), &group), normal, tangents, &group, &mut self.problem),
                None => {
                    let cone = Cone::Friction { rows: tangents.len(), bound: group.bound };
                    let rows = tangents.iter().map(|row| row.entries().iter().copied());
                    self.problem.push_contact(cone, rows, group.tangent_bias.into_iter().take(tangents.len()));
                }
            }
            self.rows_of.push(first..self.problem.contact_bias().len());
        }
        Ok(())
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a number is not finite or the inertia is singular. A problem that was
    /// not solved is not an error but a status of the report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        let [mut aim, accepted] = self.settings.tolerances(problem.contacts.len());
        let limit = solved_limit(problem.contacts.len()).min(self.settings.residual_tolerance.unwrap_or(SOLVED_LARGE));
        self.state(problem)?;
        self.recall(problem);
        let mut is_warm = !self.memory.is_empty();
        let row_count = self.problem.contact_bias().len();
        let report = &mut solution.report;
        (report.status, report.residual, report.iterations, report.size) = (SolveStatus::Solved, 0.0, 0, row_count);
        for _ in 0..=TIGHTENINGS {
            let found = self.attempt(problem, is_warm, [aim, accepted], solution)?;
            self.judge.pronounce(problem, None, &own_set, limit, solution);
            // At its aim and not yet at the judge's: it aims at less, from where it is. Short of
            // its aim nothing more is to be had.
            let residual = solution.report.residual;
            if solution.report.is_solved() || found > aim || !residual.is_finite() || row_count == 0 {
                break;
            }
            aim = aim.min(found) * TIGHTER * limit / residual;
            self.start.clone_from(&self.impulses);
            self.joint_memory.clone_from(&solution.joints);
            is_warm = true;
        }
        self.remember(problem, solution);
        Ok(())
    }

    /// Solves the problem that was stated, completes the solution, and says how well by the measure
    /// of the cones.
    fn attempt(
        &mut self,
        problem: &ContactProblem,
        is_warm: bool,
        [aim, accepted]: [f64; 2],
        solution: &mut ContactSolution,
    ) -> Result<f64, ContactError> {
        let row_count = self.problem.contact_bias().len();
        let may_condense = |most: usize| !problem.joints.is_empty() && row_count <= most;
        let mut is_condensed = may_condense(CONDENSED_ROWS);
        self.impulses.clear();
        loop {
            if is_condensed {
                self.condense(problem)?;
            } else {
                self.joints.factor(problem)?;
            }
            if row_count == 0 {
                break;
            }
            self.run(problem, is_condensed, is_warm, [aim, accepted], &mut solution.report)?;
            if solution.report.is_solved() || is_condensed || !may_condense(CONDENSABLE_ROWS) {
                self.impulses.extend_from_slice(&self.solver.solution().impulses);
                break;
            }
            is_condensed = true;
        }
        solution.write_impulses(problem, |group| self.impulse(group));
        if is_condensed {
            self.rows.recover(&self.impulses, solution);
        } else {
            self.move_by(problem, solution);
        }
        Ok(solution.report.residual)
    }

    /// Forgets the last solution: the next problem is solved without a start.
    pub(crate) fn forget(&mut self) -> bool {
        self.joint_memory.clear();
        self.memory.forget()
    }

    /// Solves the problem that was stated, and says how well.
    fn run(
        &mut self,
        problem: &ContactProblem,
        is_condensed: bool,
        is_warm: bool,
        [aim, accepted]: [f64; 2],
        report: &mut SolveReport,
    ) -> Result<(), ContactError> {
        let share = self.rate_share(problem, is_condensed);
        let ExactConeSettings { sweep_limit, newton_limit, interior_limit, .. } = self.settings;
        let default = ConeSettings::default();
        let path_limit = if report.size <= PATH_ROWS { default.path_limit } else { 0 };
        let tolerance = aim / share;
        let settings = ConeSettings { tolerance, sweep_limit, newton_limit, interior_limit, path_limit, ..default };
        let start = is_warm.then_some(&self.start[..]);
        let found = if is_condensed {
            &self.solver.solve_local(&self.local, &settings, start).report
        } else {
            let start = start.map(|contacts| (contacts, &self.joint_memory[..]));
            &self.solver.solve_global(&self.problem, &settings, start)?.report
        };
        report.residual = found.errors.scaled * share;
        report.iterations += found.iterations();
        report.status = match found.status {
            SolveStatus::NoSolution => SolveStatus::NoSolution,
            // What rounding keeps from the aim may still be accepted.
            _ if report.residual <= accepted => SolveStatus::Solved,
            status => status,
        };
        Ok(())
    }

    /// Eliminates the joints, and states what is left as a local problem.
    fn condense(&mut self, problem: &ContactProblem) -> Result<(), ContactError> {
        let (contacts, bias) = (self.problem.contacts(), self.problem.contact_bias());
        self.rows.begin();
        bias.iter().enumerate().for_each(|(row, &bias)| self.rows.push(contacts.row(row), bias));
        self.rows.condense(problem, None)?;
        let (mut cones, mut matrix, mut offset) = std::mem::take(&mut self.local).into_parts();
        cones.clear();
        cones.extend_from_slice(self.problem.cones());
        let size = bias.len();
        matrix.clear(size);
        for row in 0..size {
            matrix.push_row((0..size).map(|column| (column, self.rows.delassus[column * size + row])));
        }
        offset.clone_from(&self.rows.free_rates);
        self.local = LocalConeProblem::new(cones, matrix, offset)?;
        Ok(())
    }

    /// The impulses of a contact or a friction element.
    fn impulse(&self, group: usize) -> [f64; 4] {
        let own = self.rows_of[group].clone();
        match self.problem.cones()[group] {
            Cone::Friction { .. } => impulses_at(None, own, &self.impulses),
            _ => impulses_at(Some(own.start), own.start + 1..own.end, &self.impulses),
        }
    }

    /// The motion that follows from the impulses of contacts and friction, with the joints that
    /// hold it.
    fn move_by(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) {
        // Hᵀ r, then u_free + W⁻¹ Hᵀ r.
        self.pushed.clear();
        self.pushed.resize(problem.free_motion.len(), 0.0);
        let contacts = self.problem.contacts();
        self.impulses.iter().enumerate().for_each(|(row, &r)| contacts.add_row_to(row, r, &mut self.pushed));
        problem.inertia.solve_in_place(&mut self.pushed);
        self.pushed.iter_mut().zip(&problem.free_motion).for_each(|(u, free)| *u += free);
        self.joints.constrain(problem, &self.pushed);
        solution.motion.clear();
        solution.motion.extend_from_slice(self.joints.motion());
        solution.joints.clear();
        solution.joints.extend_from_slice(self.joints.joint_impulses());
    }

    /// The rates $q$ by which the solver measures its errors, beside the terms that they sum,
    /// $\lVert q \rVert / \lVert |H| |u| + |b| \rVert$: where terms leave little of each other,
    /// rounding would else be measured by itself. With joints these are the rates of the free
    /// motion of contacts and joints; without them, those of the contacts in the motion that the
    /// joints leave.
    fn rate_share(&self, problem: &ContactProblem, is_condensed: bool) -> f64 {
        let (mut rates, mut sizes) = (0.0f64, 0.0f64);
        let mut add = |entries: &[(usize, f64)], bias: f64, motion: &[f64]| {
            let terms = entries.iter().map(|&(k, value)| value * motion[k]);
            let (rate, size) = terms.fold((bias, bias.abs()), |(rate, size), term| (rate + term, size + term.abs()));
            rates += rate * rate;
            sizes += size * size;
        };
        let motion = if is_condensed { self.rows.constrained_motion() } else { &problem.free_motion };
        let contacts = self.problem.contacts();
        self.problem.contact_bias().iter().enumerate().for_each(|(row, &bias)| add(contacts.row(row), bias, motion));
        if !is_condensed {
            problem.joints.iter().for_each(|joint| add(joint.row.entries(), joint.bias, motion));
        }
        // Below this the solver measures absolutely.
        if rates.sqrt() >= ZERO_OFFSET { (rates / sizes).sqrt() } else { 1.0 }
    }

    /// Writes the start: the impulses that contacts had in the last solution.
    fn recall(&mut self, problem: &ContactProblem) {
        let Self { memory, rows_of, start, .. } = self;
        let count = rows_of.last().map_or(0, |last| last.end);
        memory.recall(problem, count, |group| [rows_of[group].clone(), 0..0, 0..0], start);
        self.joint_memory.resize(problem.joints.len(), 0.0);
    }

    fn remember(&mut self, problem: &ContactProblem, solution: &ContactSolution) {
        self.forget();
        if self.settings.warm_start && solution.report.is_solved() {
            let Self { memory, rows_of, impulses, .. } = self;
            memory.store(problem, impulses, |group| [rows_of[group].clone(), 0..0, 0..0]);
            self.joint_memory.extend_from_slice(&solution.joints);
        }
    }
}

/// Appends a contact with its rows; those that its cone has beyond them are empty, as the last one
/// of an ellipse without torsion.
fn push(cone: Cone, (normal, bias): (&Row, f64), tangents: &[Row], group: &Group, out: &mut GlobalConeProblem) {
    let (count, none) = (cone.row_count(), Row::new());
    let rows = std::iter::once(normal).chain(tangents).chain(std::iter::repeat(&none)).take(count);
    let bias = std::iter::once(bias).chain(group.tangent_bias).take(count);
    out.push_contact(cone, rows.map(|row| row.entries().iter().copied()), bias);
}

/// The cone of a contact with this many tangent rows.
fn cone(tangent_count: usize, &Group { mu, bound, axes: semi_axes, shape, .. }: &Group) -> Cone {
    match tangent_count {
        0 => Cone::HalfLine,
        1 => Cone::Planar { mu: mu * semi_axes[0], bound: bound * semi_axes[0] },
        2 if semi_axes[..2] == [1.0; 2] => Cone::Coulomb { mu, bound },
        2 => Cone::Ellipsoid { mu, bound, semi_axes },
        _ if *shape == FrictionShape::DiscAndInterval => Cone::EllipseAndTorsion { mu, bound, semi_axes },
        _ => Cone::Ellipsoid { mu, bound, semi_axes },
    }
}

/// Writes masses, free motion and joints.
fn state_motion(problem: &ContactProblem, out: &mut GlobalConeProblem) {
    out.clear(problem.free_motion.len());
    problem.inertia.for_each_entry(|row, column, value| out.push_mass(row, column, value));
    problem.inertia.apply(&problem.free_motion, out.force_mut());
    for joint in &problem.joints {
        out.push_joint(joint.row.entries().iter().copied(), joint.bias);
    }
}

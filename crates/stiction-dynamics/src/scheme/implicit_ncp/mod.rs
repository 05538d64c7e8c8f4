//! Tzitzouris and Pang's implicit step: gaps, rows, forces and friction at the end of the step, as one nonlinear complementarity problem.
//!
//! \[TTP01\] §4. Backward Euler for the full nonlinear model: positions meet their constraints $0 \le \psi(q^{l+1}) \perp c_n \ge 0$ and
//! $\Theta(q^{l+1}) = 0$ to rounding, whatever the curvature and the step, and friction acts against the sliding $T(q^{l+1}) v^{l+1}$ at the end. The scheme has order one, removes energy, and is
//! stable for stiff springs. Impacts are inelastic. The equations stand in `equations.rs`; [`SemismoothNewton`] solves them.
//!
//! `derivative.rs` gives Newton's method its matrix.
//!
//! Differs from the paper: where it writes friction with a multiplier $\lambda$, (2), here stands the projection on the friction set, which has the same solutions and is
//! regular where a contact is open; the unknown accelerations are eliminated.
//!
//! **Start.** Newton's method starts from the accelerations and forces that the last steps let expect (`prediction.rs`). Where that leads nowhere, as in an impact, the equations are linearised, and the contact method solves
//! the linear problem, as in the fixed-point iteration of [`StewartTrinkle`](crate::StewartTrinkle); Newton's method goes on from there.
//!
//! **Rule.** Euler's rule as in the paper, or the trapezoidal [rule](super::rule).
//!
//! **Friction sets.** Those of the contact method: exact with `cone`, polytopes with `pyramid`.

mod derivative;
mod equations;
mod prediction;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::{NewtonReport, NewtonSettings, NonsmoothEquations, SemismoothNewton, SolveReport, SolveStatus};

use self::equations::{Block, Point, StepEquations, Workspace, turn_back, turn_forward};
use self::prediction::Prediction;
use super::rule::{History, Rule};
use super::{
    Impacts, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind, check_finite, energy_defect,
    refuse_one_way_elements, step_by_attempts,
};
use crate::joint_projection::JointProjection;
use crate::judge::{Judge, own_set, solved_limit};
use crate::setting::{Named, SettingError, at_least_one};
use crate::static_friction::{Rubbing, step_with_static_friction};
use crate::{
    Contact, ContactCondition, ContactId, ContactImpulse, ContactProblem, ContactSolver, ForceCause, FrictionCondition,
    Inertia, JointCondition, MechanicalSystem, Passage, PhantomContact, Restraint, Row, State, StepError, Way,
};

/// Settings of the implicit scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImplicitNcpSettings {
    /// How velocities and positions are integrated: Euler's rule as in \[TTP01\], or the trapezoidal rule.
    pub rule: Rule,
    /// Residual at which Newton's method ends, relative to the momentum of the step. Too large: gaps are met less exactly. Too small: rounding does not let it be reached.
    pub tolerance: f64,
    /// Largest residual of a step that counts as solved, where rounding does not allow the tolerance.
    pub residual_tolerance: f64,
    /// Most steps of one run of Newton's method.
    pub iteration_limit: usize,
    /// Most linear problems from which Newton's method is started anew in one step.
    pub restart_limit: usize,
    /// Start Newton's method from the accelerations and forces that the last steps let expect. Faster; where forces are not unique, they stay near those of the last step.
    pub warm_start: bool,
}

impl Default for ImplicitNcpSettings {
    fn default() -> Self {
        Self {
            rule: Rule::Euler,
            tolerance: 1e-14,
            residual_tolerance: 1e-10,
            iteration_limit: 40,
            restart_limit: 12,
            warm_start: true,
        }
    }
}

impl OwnFacts for ImplicitNcpSettings {
    fn facts(&self) -> SchemeFacts {
        SchemeFacts {
            named: Named {
                name: "implicit-ncp",
                summary: "Everything at the end of the step, as one nonlinear problem; impacts are inelastic. [TTP01]",
                suffixes: &[],
            },
            restricted_by: self.rule.restriction(),
            impacts: Impacts::Inelastic,
            one_way: self.rule == Rule::Euler,
            polygons: true,
            stiff_forces: true,
            overlap: Overlap::Ended,
        }
    }

    fn check(&self) -> Result<(), SettingError> {
        for (key, value) in [("tolerance", self.tolerance), ("residual-tolerance", self.residual_tolerance)] {
            if !(value > 0.0 && value.is_finite()) {
                let message = format!("`{key}` is {value:?}");
                return Err(SettingError::new(key, message, "give a positive number, such as 1e-12"));
            }
        }
        at_least_one("iteration-limit", "iterations", self.iteration_limit)
    }

    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        Box::new(ImplicitNcp::new(self.clone(), solver))
    }
}

/// A contact that ends a step nearer than this begins the next one in the active set, in metres.
const TOUCHING: f64 = 1e-9;

/// A contact violated by more than this at the end, although it took no part, joins, in metres: rounding.
const VIOLATED: f64 = 1e-13;

/// Rounding of a gap, relative to the largest coordinate.
const POSITION_ROUNDING: f64 = 2.0 * f64::EPSILON;

/// Newton's method ends at so many times the rounding of the gaps: a corner is a turned vector, and a gap the difference of two.
const GENEROUS_ROUNDING: f64 = 4.0;

/// But not above this share of what counts as solved, unless it gets no further.
const END_SHARE: f64 = 0.25;

/// The biases of gaps and joints are stated to so many times the rounding of the coordinates.
const ACCEPTED_ROUNDING: f64 = 20.0;

/// A start whose equations are met up to this is not compared with another one.
const NEAR: f64 = 1e-4;

/// Most contacts that join one after another in a step.
const GROWTH_LIMIT: usize = 50;

/// The implicit scheme of Tzitzouris and Pang.
#[derive(Clone, Debug)]
pub struct ImplicitNcp {
    settings: ImplicitNcpSettings,
    solver: ContactSolver,
    newton: SemismoothNewton,
    projection: JointProjection,
    prediction: Prediction,
    history: History,
    /// How many times as far as the rows the end of the step is: by Euler's rule they are there, by the trapezoidal rule in its middle.
    reach: f64,
    /// The last run of Newton's method.
    report: NewtonReport,
    /// Contacts with two coefficients of friction that stuck in the last step.
    resting: Vec<Rubbing>,
    // Workspace of a step.
    workspace: Workspace,
    point: Point,
    blocks: Vec<Block>,
    active: Vec<ContactId>,
    candidates: Vec<Contact>,
    mass_roots: Vec<f64>,
    joint_roots: Vec<f64>,
    kept_joints: Vec<f64>,
    z: Vec<f64>,
    u: Vec<f64>,
    q_hat: Vec<f64>,
    part: Vec<f64>,
    judge: Judge,
}

impl ImplicitNcp {
    /// The scheme with these settings and this contact solver, which gives the friction sets and the starts.
    pub fn new(settings: ImplicitNcpSettings, solver: ContactSolver) -> Self {
        Self {
            settings,
            solver,
            newton: SemismoothNewton::default(),
            projection: JointProjection::default(),
            prediction: Prediction::default(),
            history: History::default(),
            reach: 1.0,
            report: NewtonReport::default(),
            resting: Vec::new(),
            workspace: Workspace::default(),
            point: Point::default(),
            blocks: Vec::new(),
            active: Vec::new(),
            candidates: Vec::new(),
            mass_roots: Vec::new(),
            joint_roots: Vec::new(),
            kept_joints: Vec::new(),
            z: Vec::new(),
            u: Vec::new(),
            q_hat: Vec::new(),
            part: Vec::new(),
            judge: Judge::default(),
        }
    }

    /// The last run of Newton's method: residuals after every iteration.
    pub fn newton_report(&self) -> &NewtonReport {
        &self.report
    }

    /// The blocks of the contacts that take part, and of the friction elements, with the mobilities of their rows at the prediction.
    fn state_blocks(&mut self, elements: &[crate::FrictionElement], v: &[f64], h: f64) {
        self.blocks.clear();
        let mut first = self.mass_roots.len();
        let roots = &self.mass_roots;
        let mobility = |row: &Row| row.entries().iter().map(|&(k, value)| (value / roots[k]).powi(2)).sum::<f64>();
        let inverse = |mobility: f64| if mobility > 0.0 { 1.0 / mobility } else { 1.0 };
        for contact in self.candidates.iter().filter(|contact| self.active.binary_search(&contact.id).is_ok()) {
            let mu = contact.mu();
            let tangent_count = if mu > 0.0 { contact.tangents.len() } else { 0 };
            let axes = contact.friction.axes();
            let sum: f64 = (0..tangent_count).map(|k| axes[k] * axes[k] * mobility(&contact.tangents[k])).sum();
            let (mut kept_rate, mut sticking) = (0.0, None);
            if self.reach != 1.0 {
                kept_rate = self.history.kept_rate(contact.id, v);
                sticking = self.history.sticking(contact.id);
            }
            let mut block = Block {
                id: Some(contact.id),
                reference: contact.clone(),
                tangent_count,
                mu,
                bound: 0.0,
                axes,
                shape: self.solver.friction_set(tangent_count, &contact.friction.shape(), contact.phantom),
                kept_rate,
                kept_slip: [0.0; 3],
                first,
                rho: [inverse(mobility(&contact.normal)), inverse(sum / tangent_count.max(1) as f64)],
            };
            if let Some(start) = sticking {
                block.kept_slip = turn_forward(block.turn(start), &start.slip(v)).map(|slip| 0.5 * slip);
            }
            first += block.unknown_count();
            self.blocks.push(block);
        }
        for element in elements {
            let tangent_count = element.tangents.len();
            let sum: f64 = element.tangents.iter().map(mobility).sum();
            let block = Block {
                id: None,
                reference: Contact::default(),
                tangent_count,
                mu: 0.0,
                bound: h * element.limit(),
                axes: [1.0; 3],
                shape: self.solver.friction_set(tangent_count, &element.shape, PhantomContact::default()),
                kept_rate: 0.0,
                kept_slip: if self.reach == 1.0 { [0.0; 3] } else { self.history.kept_slip(element.id, v) },
                first,
                rho: [1.0, inverse(sum / tangent_count.max(1) as f64)],
            };
            first += block.unknown_count();
            self.blocks.push(block);
        }
    }

    /// Writes the contact problem that the equations are at a point: $W = M(q^{l+1})$, forces and rows there. Its conditions at $u$ are those of the equations themselves.
    fn state_problem(
        &self,
        equations: &StepEquations<'_>,
        state: &State,
        u: &[f64],
        point: &Point,
        out: &mut Step,
    ) -> Result<(), StepError> {
        let StepEquations { system, t_new, reach, blocks, kept_joints, .. } = *equations;
        let h = reach * equations.h;
        let problem = &mut out.problem;
        // Gaps are differences of coordinates, and no better than their rounding.
        let largest = point.q.iter().fold(1.0f64, |largest, q| largest.max(q.abs()));
        let rounding = ACCEPTED_ROUNDING * POSITION_ROUNDING * largest / h;
        problem.inertia.clear();
        system.mass_matrix(t_new, &point.q, &mut problem.inertia);
        problem.inertia.factor().map_err(|source| StepError::Malformed { t: state.t, source })?;
        out.force.clear();
        out.force.resize(u.len(), 0.0);
        system.force(t_new, &point.q, u, &mut out.force);
        problem.free_motion.clear();
        problem.free_motion.extend(out.force.iter().map(|k| equations.h * k));
        problem.inertia.solve_in_place(&mut problem.free_motion);
        problem.free_motion.iter_mut().zip(&state.v).for_each(|(free, v)| *free += v);
        if reach != 1.0 {
            let mass = std::mem::take(&mut problem.inertia);
            problem.inertia.set_sum(&[(&mass, reach)], []);
            problem.inertia.factor().map_err(|source| StepError::Malformed { t: state.t, source })?;
        }
        out.contacts.clone_from(&point.contacts);
        problem.contacts.clear();
        for (i, contact) in point.contacts.iter().enumerate() {
            let mut condition = ContactCondition::of(contact);
            condition.normal_bias = equations.gap_rate(i, point) - contact.normal.dot(u);
            condition.rounding = rounding;
            let kept = turn_back(point.turns[i], &blocks[i].kept_slip);
            condition.tangent_bias.iter_mut().zip(kept).for_each(|(bias, kept)| *bias -= kept);
            problem.contacts.push(condition);
        }
        out.friction.clone_from(&point.elements);
        problem.friction.clear();
        for (element, block) in point.elements.iter().zip(&blocks[point.contacts.len()..]) {
            let mut condition = FrictionCondition::of(element, h);
            condition.tangent_bias.iter_mut().zip(block.kept_slip).for_each(|(bias, kept)| *bias -= kept);
            problem.friction.push(condition);
        }
        out.joints.clone_from(&point.joints);
        problem.joints.clear();
        let ends = equations.end(point).1;
        for (j, (joint, end)) in point.joints.iter().zip(ends).enumerate() {
            let bias = end.value / h - kept_joints[j] - joint.row.dot(u);
            problem.joints.push(JointCondition { row: joint.row.clone(), bias, rounding });
        }
        self.solver.adopt_sets(problem);
        Ok(())
    }
}

impl Scheme for ImplicitNcp {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        let mut resting = std::mem::take(&mut self.resting);
        let made = step_with_static_friction(self, &mut resting, (system, state), out, |scheme, system, out| {
            step_by_attempts(system, (state.t, h), out, |h, out| scheme.attempt(system, state, h, out))
        });
        self.resting = resting;
        made
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl ImplicitNcp {
    /// A step of this length, unless bodies would pass through each other in it.
    fn attempt(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        out: &mut Step,
    ) -> Result<Option<Passage>, StepError> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(StepError::StepSize { h });
        }
        self.attempt_by(self.settings.rule, system, state, h, out)
    }

    /// The same by this rule; by Euler's where a contact pushes that is not settled.
    fn attempt_by(
        &mut self,
        rule: Rule,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        out: &mut Step,
    ) -> Result<Option<Passage>, StepError> {
        let is_mean = rule == Rule::Trapezoidal;
        self.reach = if is_mean { 2.0 } else { 1.0 };
        if is_mean {
            self.history.begin(system, state);
        }
        // Rows are in the middle or at the end.
        let way = h / self.reach;
        let (t_rows, t_new) = (state.t + way, state.t + h);
        out.begin(StepKind::Stepping, h);
        out.report.linearizations = 0;

        // The prediction q̂ = q ⊕ h v, on the joints where these are redundant.
        self.u.clone_from(&state.v);
        self.q_hat.clone_from(&state.q);
        system.advance(state.t, &state.q, &self.u, way, &mut self.q_hat);
        self.projection.project(system, (t_rows, &state.q), way, &mut self.u, &mut self.q_hat)?;
        let start = (state.t, &state.q[..]);
        if !is_mean && let Some(passage) = system.passage(Way::Predicted, start, (t_new, &self.q_hat)) {
            return Ok(Some(passage));
        }
        let mut inertia = Inertia::default();
        system.mass_matrix(t_rows, &self.q_hat, &mut inertia);
        inertia.factor().map_err(|source| StepError::Malformed { t: state.t, source })?;
        let scale = self.take_scales(system, state, (t_rows, h), &inertia);
        let mut elements = Vec::new();
        system.friction_elements(t_rows, &self.q_hat, &mut elements);
        self.find_contacts(system, t_rows);
        if is_mean {
            refuse_one_way_elements(state.t, "implicit-ncp by the trapezoidal rule", &self.candidates, &elements)?;
        }
        for growth in 0.. {
            self.solve_step(system, state, h, (&inertia, scale), &elements, growth > 0, out)?;
            if is_mean && self.history.is_unsettled(&out.solution) {
                return self.attempt_by(Rule::Euler, system, state, h, out);
            }
            if !self.grow(system, (t_rows, t_new)) {
                break;
            }
            if growth >= GROWTH_LIMIT {
                out.solution.report.status = SolveStatus::IterationLimit;
                return Err(StepError::unsolved(state.t, &mut out.problem, &out.solution));
            }
            out.report.growths += 1;
        }
        if let Some(passage) = system.passage(Way::Taken, start, (t_new, self.point.end(self.reach))) {
            return Ok(Some(passage));
        }
        self.end(system, state, (t_rows, t_new), out)?;
        Ok(None)
    }

    /// Takes the roots of masses and of the mobilities of joints, and what is kept of the rates of joints. Returns the root of an energy: momenta and impulses of forces.
    fn take_scales(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        (t_rows, h): (f64, f64),
        inertia: &Inertia,
    ) -> f64 {
        let n = state.v.len();
        self.mass_roots.clear();
        self.mass_roots.extend((0..n).map(|i| inertia.entry(i, i).sqrt()));
        let mut joints = Vec::new();
        system.joints(t_rows, &self.q_hat, &mut joints);
        self.kept_joints.clear();
        if self.reach != 1.0 {
            self.history.joint_rates(&state.v, &mut self.kept_joints);
            self.projection.reconcile(&mut self.kept_joints);
        }
        self.kept_joints.resize(joints.len(), 0.0);
        self.joint_roots.clear();
        for joint in &joints {
            let square: f64 = joint.row.entries().iter().map(|&(k, value)| (value / self.mass_roots[k]).powi(2)).sum();
            self.joint_roots.push(if square > 0.0 { square.sqrt() } else { 1.0 });
        }
        self.part.clear();
        self.part.resize(n, 0.0);
        system.force(t_rows, &self.q_hat, &self.u, &mut self.part);
        let momenta =
            (0..n).map(|i| self.mass_roots[i] * state.v[i].abs() + h * self.part[i].abs() / self.mass_roots[i]);
        momenta.fold(f64::MIN_POSITIVE.sqrt(), f64::max)
    }

    /// Those that touched before and those that are violated at the prediction take part; others join later.
    fn find_contacts(&mut self, system: &dyn MechanicalSystem, t_rows: f64) {
        self.active.clear();
        self.active.extend(self.prediction.contacts.iter().map(|entry| entry.id));
        self.candidates.clear();
        system.contacts(t_rows, &self.q_hat, TOUCHING, &mut self.candidates);
        let is_near = |id: &ContactId| self.candidates.iter().any(|contact| contact.id == *id);
        let far: Vec<ContactId> = self.active.iter().filter(|id| !is_near(id)).copied().collect();
        let mut found = Vec::new();
        system.contacts_of(t_rows, &self.q_hat, &far, &mut found);
        self.candidates.append(&mut found);
        let is_violated = |contact: &&Contact| contact.gap < 0.0 || contact.restraint == Restraint::Rate;
        self.candidates.iter().filter(is_violated).for_each(|contact| insert(contact.id, &mut self.active));
    }

    /// Adds the contacts that are violated at the end although they took no part; whether there are any.
    fn grow(&mut self, system: &dyn MechanicalSystem, (t_rows, t_new): (f64, f64)) -> bool {
        let mut at_end = Vec::new();
        system.contacts(t_new, self.point.end(self.reach), 0.0, &mut at_end);
        at_end.retain(|c| c.gap < -VIOLATED && !self.point.contacts.iter().any(|other| other.id == c.id));
        let has_grown = !at_end.is_empty();
        for contact in at_end {
            insert(contact.id, &mut self.active);
            // Its rows where the step begins, or here where it does not exist there.
            if !self.candidates.iter().any(|other| other.id == contact.id) {
                let mut there = Vec::new();
                system.contacts_of(t_rows, &self.q_hat, &[contact.id], &mut there);
                self.candidates.push(there.pop().unwrap_or(contact));
            }
        }
        has_grown
    }

    /// Writes the end of the step, and remembers what touches there.
    fn end(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        (t_rows, t_new): (f64, f64),
        out: &mut Step,
    ) -> Result<(), StepError> {
        out.state.t = t_new;
        out.state.q.clear();
        out.state.q.extend_from_slice(self.point.end(self.reach));
        out.state.v.clone_from(&out.solution.motion);
        if self.reach != 1.0 {
            out.state.v.iter_mut().zip(&state.v).for_each(|(new, old)| *new = 2.0 * *new - old);
        }
        check_finite(state.t, "velocity", &out.state.v)?;
        check_finite(state.t, "coordinate", &out.state.q)?;
        out.linearized_at.clone_from(&self.point.q);
        out.force_at.clone_from(&self.point.q);
        (out.linearized_time, out.force_time) = (t_rows, t_rows);
        let u = &out.solution.motion;
        for cause in ForceCause::ALL {
            let from = out.force_parts.len();
            out.force_parts.resize(from + u.len(), 0.0);
            system.force_by_cause(cause, t_rows, &self.point.q, u, &mut out.force_parts[from..]);
        }
        out.report.energy_defect = energy_defect(system, state, &out.solution.motion, out, &mut self.part);
        self.prediction.push(&state.v, TOUCHING, out);
        if self.settings.rule == Rule::Trapezoidal {
            self.history.end(out);
        }
        Ok(())
    }
}

impl ImplicitNcp {
    /// Solves the equations with the contacts that take part, and leaves problem and solution in `out` and the end of the step in `self.point`.
    fn solve_step(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        h: f64,
        (inertia, scale): (&Inertia, f64),
        elements: &[crate::FrictionElement],
        is_grown: bool,
        out: &mut Step,
    ) -> Result<(), StepError> {
        let h = h / self.reach;
        self.candidates.sort_by_key(|contact| contact.id);
        self.state_blocks(elements, &state.v, h);
        let blocks = std::mem::take(&mut self.blocks);
        let ids: Vec<ContactId> = blocks.iter().filter_map(|block| block.id).collect();
        let (mass_roots, joint_roots) = (std::mem::take(&mut self.mass_roots), std::mem::take(&mut self.joint_roots));
        let kept_joints = std::mem::take(&mut self.kept_joints);
        let mut workspace = std::mem::take(&mut self.workspace);
        workspace.begin();
        let mut point = std::mem::take(&mut self.point);
        let (mut z, mut u) = (std::mem::take(&mut self.z), std::mem::take(&mut self.u));
        let mut equations = StepEquations {
            system,
            t_new: state.t + h,
            h,
            reach: self.reach,
            kept_joints: &kept_joints,
            q: &state.q,
            v: &state.v,
            blocks: &blocks,
            ids: &ids,
            mass_roots: &mass_roots,
            joint_roots: &joint_roots,
            scale,
            workspace: &mut workspace,
        };
        // Gaps are differences of coordinates, and no better than their rounding.
        let largest = state.q.iter().fold(1.0f64, |largest, q| largest.max(q.abs()));
        let stiffest = blocks.iter().map(|block| block.rho[0].sqrt()).fold(0.0, f64::max);
        let stiffest = joint_roots.iter().map(|root| 1.0 / root).fold(stiffest, f64::max);
        let rounding = POSITION_ROUNDING * largest * stiffest / (h * scale);
        let end = (GENEROUS_ROUNDING * rounding).min(END_SHARE * self.settings.residual_tolerance);
        let newton =
            NewtonSettings { tolerance: self.settings.tolerance.max(end), step_limit: self.settings.iteration_limit };
        let size = equations.size();
        let mut iterations = 0;
        let mut result = Ok(());
        for attempt in 0..=self.settings.restart_limit {
            if attempt == 0 && is_grown {
                // The solution without the contacts that have joined.
                z.clear();
                z.resize(size, 0.0);
                equations.locate(&out.solution.motion, &mut point);
                write_start(&equations, &out.solution, &point.turns, &mut z);
            } else if attempt == 0 {
                self.start(&mut equations, inertia, h, &mut u, &mut z);
            } else {
                // The linear problem at the last point.
                equations.locate(&u, &mut point);
                result = self.state_problem(&equations, state, &u, &point, out);
                if result.is_ok() {
                    let solved = self.solver.solve(&out.problem, &mut out.solution);
                    result = solved.map_err(|source| StepError::Malformed { t: state.t, source });
                }
                out.report.linearizations += 1;
                if result.is_err() || out.solution.motion.iter().any(|u| !u.is_finite()) {
                    break;
                }
                u.clone_from(&out.solution.motion);
                write_start(&equations, &out.solution, &point.turns, &mut z);
            }
            self.report = self.newton.solve(&mut equations, &newton, &mut z);
            iterations += self.report.steps();
            out.report.linearizations += self.report.steps();
            // Someone else judges.
            let mut u_found = Vec::new();
            equations.velocity(&z, &mut u_found);
            equations.locate(&u_found, &mut point);
            result = self.state_problem(&equations, state, &u_found, &point, out);
            if result.is_err() {
                break;
            }
            write_solution(&equations, &z, u_found, &point, &mut out.solution);
            balance(&out.problem, &mut out.solution);
            let limit = solved_limit(out.problem.contacts.len()).min(self.settings.residual_tolerance);
            out.solution.report = SolveReport { status: SolveStatus::IterationLimit, residual: 0.0, iterations, size };
            self.judge.pronounce(&out.problem, None, &own_set, limit, &mut out.solution);
            if out.solution.report.is_solved() {
                break;
            }
            if attempt == 0 {
                u.clone_from(&state.v);
            }
        }
        if result.is_ok() {
            let report = &mut out.solution.report;
            if !report.residual.is_finite() {
                report.status = SolveStatus::Breakdown;
            }
            out.report.solves.push(report.clone());
            if !report.is_solved() && report.residual > self.settings.residual_tolerance {
                result = Err(StepError::unsolved(state.t, &mut out.problem, &out.solution));
            }
        }
        (self.blocks, self.mass_roots, self.joint_roots) = (blocks, mass_roots, joint_roots);
        self.kept_joints = kept_joints;
        (self.workspace, self.point, self.z, self.u) = (workspace, point, z, u);
        result
    }

    /// Writes the start of Newton's method: without impulses, or what the last steps let expect, if that is nearer to a solution.
    fn start(&self, equations: &mut StepEquations<'_>, inertia: &Inertia, h: f64, u: &mut [f64], z: &mut Vec<f64>) {
        let size = equations.size();
        z.clear();
        z.resize(size, 0.0);
        // Joints keep the velocity as it is; without them it follows from the forces.
        if equations.joint_roots.is_empty() {
            let mut push: Vec<f64> = self.part.iter().map(|k| h * k).collect();
            inertia.solve_in_place(&mut push);
            u.iter_mut().zip(equations.v.iter().zip(&push)).for_each(|(u, (v, push))| *u = v + push);
        }
        (0..u.len()).for_each(|i| z[i] = u[i] * equations.mass_roots[i] / equations.scale);
        if !self.settings.warm_start {
            return;
        }
        let Some(expected) = self.prediction.next() else { return };
        let mut expected_z = vec![0.0; size];
        for (i, acceleration) in expected.acceleration.iter().enumerate() {
            expected_z[i] = (equations.v[i] + h * acceleration) * equations.mass_roots[i] / equations.scale;
        }
        let contact_count = equations.blocks.iter().filter(|block| block.id.is_some()).count();
        for (i, block) in equations.blocks.iter().enumerate() {
            let unit = equations.unit(block.rho[1]);
            let mut friction = [0.0; 3];
            if block.id.is_some() {
                let keeps_tangents = !block.shape.is_round_in_the_plane();
                let Some((normal, tangent)) = self.prediction.next_forces(&block.reference, keeps_tangents) else {
                    continue;
                };
                expected_z[block.first] = h * normal / equations.unit(block.rho[0]);
                friction = tangent;
            } else if let Some(known) = expected.friction.get(3 * (i - contact_count)..3 * (i - contact_count) + 3) {
                friction.copy_from_slice(known);
            }
            for k in 0..block.tangent_count {
                expected_z[block.first + block.normal_count() + k] = h * friction[k] / (block.axes[k] * unit);
            }
        }
        let first = equations.first_joint();
        for (j, (c, root)) in expected.joints.iter().zip(equations.joint_roots).enumerate() {
            expected_z[first + j] = h * c * root / equations.scale;
        }
        let mut distance = |z: &[f64]| {
            let mut f = vec![0.0; size];
            equations.evaluate(z, &mut f);
            f.iter().map(|f| f * f).sum::<f64>().sqrt()
        };
        let expected_distance = distance(&expected_z);
        if expected_distance <= NEAR || expected_distance <= distance(z) {
            z.copy_from_slice(&expected_z);
        }
    }
}

/// Writes the solution that some unknowns are.
fn write_solution(
    equations: &StepEquations<'_>,
    z: &[f64],
    u: Vec<f64>,
    point: &Point,
    solution: &mut crate::ContactSolution,
) {
    solution.contacts.clear();
    solution.friction.clear();
    for (i, block) in equations.blocks.iter().enumerate() {
        // Friction belongs to the impulse and the sliding that are found, without the rounding of the gap.
        let (normal, y) = equations.impulses(i, z);
        let y = equations.friction(i, point, &u, (normal.max(0.0), &y));
        let normal = equations.reach * normal;
        let scaled = std::array::from_fn(|k| equations.reach * block.axes[k] * y[k]);
        match block.id {
            Some(id) => {
                let tangent = turn_back(point.turns[i], &scaled);
                solution.contacts.push(ContactImpulse { id, normal: normal.max(0.0), tangent });
            }
            None => solution.friction.push(scaled),
        }
    }
    let first = equations.first_joint();
    solution.joints.clear();
    let roots = equations.joint_roots.iter().enumerate();
    solution.joints.extend(roots.map(|(j, root)| equations.reach * z[first + j] * equations.scale / root));
    solution.motion = u;
}

/// Takes the motion that the impulses make, which differs from the one that was found by the tolerance of Newton's method.
fn balance(problem: &ContactProblem, solution: &mut crate::ContactSolution) {
    let mut change = vec![0.0; problem.free_motion.len()];
    for (joint, impulse) in problem.joints.iter().zip(&solution.joints) {
        joint.row.add_to(*impulse, &mut change);
    }
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        contact.normal.add_to(impulse.normal, &mut change);
        contact.tangents.iter().zip(impulse.tangent).for_each(|(row, part)| row.add_to(part, &mut change));
    }
    for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
        element.tangents.iter().zip(impulse).for_each(|(row, part)| row.add_to(*part, &mut change));
    }
    problem.inertia.solve_in_place(&mut change);
    solution.motion.clear();
    solution.motion.extend(problem.free_motion.iter().zip(&change).map(|(free, change)| free + change));
}

/// Writes the unknowns of a solution; those of contacts that it does not know stay as they are.
fn write_start(equations: &StepEquations<'_>, solution: &crate::ContactSolution, turns: &[[f64; 2]], z: &mut [f64]) {
    for (i, u) in solution.motion.iter().enumerate() {
        z[i] = u * equations.mass_roots[i] / equations.scale;
    }
    let contact_count = equations.blocks.iter().filter(|block| block.id.is_some()).count();
    for (i, block) in equations.blocks.iter().enumerate() {
        let impulse = match block.id {
            Some(id) => {
                let Some(known) = solution.contacts.iter().find(|impulse| impulse.id == id) else { continue };
                z[block.first] = known.normal / (equations.reach * equations.unit(block.rho[0]));
                turn_forward(turns[i], &known.tangent)
            }
            None => solution.friction[i - contact_count],
        };
        for k in 0..block.tangent_count {
            let unit = equations.reach * block.axes[k] * equations.unit(block.rho[1]);
            z[block.first + block.normal_count() + k] = impulse[k] / unit;
        }
    }
    let first = equations.first_joint();
    for (j, (c, root)) in solution.joints.iter().zip(equations.joint_roots).enumerate() {
        z[first + j] = c * root / (equations.reach * equations.scale);
    }
}

/// Adds an id to a sorted list, once.
fn insert(id: ContactId, list: &mut Vec<ContactId>) {
    if let Err(place) = list.binary_search(&id) {
        list.insert(place, id);
    }
}

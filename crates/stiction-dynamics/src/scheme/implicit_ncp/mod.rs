//! Tzitzouris and Pang's implicit step: gaps, rows, forces and friction at the end of the step, as
//! one nonlinear complementarity problem.
//!
//! \[TTP01\] §4. Backward Euler for the full nonlinear model: positions meet their constraints
//! $0 \le \psi(q^{l+1}) \perp c_n \ge 0$ and $\Theta(q^{l+1}) = 0$ to rounding, whatever the
//! curvature and the step, and friction acts against the sliding $T(q^{l+1}) v^{l+1}$ at the end.
//! The scheme has order one, removes energy, and is stable for stiff springs. Impacts are
//! inelastic. The equations stand in `equations.rs`; [`SemismoothNewton`] solves them.
//!
//! `derivative.rs` gives Newton's method its matrix.
//!
//! Differs from the paper: where it writes friction with a multiplier $\lambda$, (2), here stands
//! the projection on the friction set, which has the same solutions and is regular where a contact
//! is open; the unknown accelerations are eliminated.
//!
//! **Start.** Newton's method starts from the accelerations and forces that the last steps let
//! expect (`prediction.rs`). Where that leads nowhere, as in an impact, the equations are
//! linearised, and the contact method solves the linear problem, as in the fixed-point iteration of
//! [`StewartTrinkle`](crate::StewartTrinkle); Newton's method goes on from there.
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

use self::equations::{Block, Layout, Point, StepEquations, Unknowns, Workspace, turn_back, turn_forward};
use self::prediction::Prediction;
use super::rule::{History, Rule};
use super::{
    At, Attempting, FullStep, Impacts, Origin, Outcome, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind,
    check_finite, check_length, energy_defect, refuse_one_way, state_motion, step_by_attempts,
};
use crate::joint_projection::JointProjection;
use crate::judge::{Judge, own_set, solved_limit};
use crate::setting::{Named, ValueError, at_least_one};
use crate::static_friction::Rubbing;
use crate::vector::{filled, has, insert, refill, zero};
use crate::{
    Contact, ContactCondition, ContactId, ContactImpulse, ContactSolution, ContactSolver, FrictionCondition,
    FrictionElement, Inertia, Joint, JointCondition, MechanicalSystem, Passage, PhantomContact, Restraint, Row, State,
    StepError, Way,
};

/// Settings of the implicit scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImplicitNcpSettings {
    /// How velocities and positions are integrated: Euler's rule as in \[TTP01\], or the
    /// trapezoidal rule.
    pub rule: Rule,
    /// Residual at which Newton's method ends, relative to the momentum of the step. Too large:
    /// gaps are met less exactly. Too small: rounding does not let it be reached.
    pub tolerance: f64,
    /// Largest residual of a step that counts as solved, where rounding does not allow the
    /// tolerance.
    pub residual_tolerance: f64,
    /// Most steps of one run of Newton's method.
    pub iteration_limit: usize,
    /// Most linear problems from which Newton's method is started anew in one step.
    pub restart_limit: usize,
    /// Start Newton's method from the accelerations and forces that the last steps let expect.
    /// Faster; where forces are not unique, they stay near those of the last step.
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
            corners: true,
            overlap: Overlap::Ended,
        }
    }

    fn check(&self) -> Result<(), ValueError> {
        for (key, value) in [("tolerance", self.tolerance), ("residual-tolerance", self.residual_tolerance)] {
            if !(value > 0.0 && value.is_finite()) {
                let message = format!("`{key}` is {value:?}");
                return Err(ValueError::new(key, message, "give a positive number, such as 1e-12"));
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

/// A contact violated by more than this at the end, although it took no part, joins, in metres:
/// rounding.
const VIOLATED: f64 = 1e-13;

/// Rounding of a gap, relative to the largest coordinate.
const POSITION_ROUNDING: f64 = 2.0 * f64::EPSILON;

/// Newton's method ends at so many times the rounding of the gaps: a corner is a turned vector, and
/// a gap the difference of two.
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
#[derive(Clone, Debug, Default)]
pub struct ImplicitNcp {
    settings: ImplicitNcpSettings,
    solver: ContactSolver,
    newton: SemismoothNewton,
    projection: JointProjection,
    prediction: Prediction,
    history: History,
    full_step: FullStep,
    /// The last run of Newton's method.
    report: NewtonReport,
    /// Contacts with two coefficients of friction that stuck in the last step.
    resting: Vec<Rubbing>,
    // Workspace of a step.
    layout: Layout,
    workspace: Workspace,
    point: Point,
    active: Vec<ContactId>,
    candidates: Vec<Contact>,
    z: Vec<f64>,
    u: Vec<f64>,
    /// Force at the prediction.
    part: Vec<f64>,
    judge: Judge,
}

impl ImplicitNcp {
    /// The scheme with these settings and this contact solver, which gives the friction sets and
    /// the starts.
    pub fn new(settings: ImplicitNcpSettings, solver: ContactSolver) -> Self {
        Self { settings, solver, ..Self::default() }
    }

    /// The last run of Newton's method: residuals after every iteration.
    pub fn newton_report(&self) -> &NewtonReport {
        &self.report
    }

    /// The blocks of the contacts that take part, and of the friction elements, with the mobilities
    /// of their rows at the prediction.
    fn state_blocks(&mut self, elements: &[FrictionElement], v: &[f64]) {
        let Layout { h, reach, blocks, ids, mass_roots: roots, .. } = &mut self.layout;
        blocks.clear();
        ids.clear();
        let mut first = roots.len();
        let mobility = |row: &Row| row.entries().iter().map(|&(k, value)| (value / roots[k]).powi(2)).sum::<f64>();
        let inverse = |mobility: f64| if mobility > 0.0 { 1.0 / mobility } else { 1.0 };
        let mut push = |mut block: Block| {
            block.first = first;
            first += block.unknown_count();
            blocks.push(block);
        };
        for contact in self.candidates.iter().filter(|contact| has(&self.active, contact.id)) {
            let mu = contact.mu();
            let tangent_count = if mu > 0.0 { contact.tangents.len() } else { 0 };
            let axes = contact.friction.axes();
            let sum: f64 = (0..tangent_count).map(|k| axes[k] * axes[k] * mobility(&contact.tangents[k])).sum();
            let (mut kept_rate, mut sticking) = (0.0, None);
            if *reach != 1.0 {
                kept_rate = self.history.kept_rate(contact.id, v);
                sticking = self.history.sticking(contact.id);
            }
            let mut block = Block {
                id: Some(contact.id),
                reference: contact.clone(),
                tangent_count,
                mu,
                axes,
                shape: self.solver.friction_set(tangent_count, &contact.friction.shape(), contact.phantom),
                kept_rate,
                rho: [inverse(mobility(&contact.normal)), inverse(sum / tangent_count.max(1) as f64)],
                ..Block::default()
            };
            if let Some(start) = sticking {
                block.kept_slip = turn_forward(block.turn(start), &start.slip(v)).map(|slip| 0.5 * slip);
            }
            ids.push(contact.id);
            push(block);
        }
        for element in elements {
            let tangent_count = element.tangents.len();
            let sum: f64 = element.tangents.iter().map(mobility).sum();
            push(Block {
                tangent_count,
                bound: *h * element.limit(),
                axes: [1.0; 3],
                shape: self.solver.friction_set(tangent_count, &element.shape, PhantomContact::default()),
                kept_slip: if *reach == 1.0 { [0.0; 3] } else { self.history.kept_slip(element.id, v) },
                rho: [1.0, inverse(sum / tangent_count.max(1) as f64)],
                ..Block::default()
            });
        }
    }
}

impl Scheme for ImplicitNcp {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        step_by_attempts(self, Origin::new(system, state), h, out)
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl Attempting for ImplicitNcp {
    fn memory(&mut self) -> (&mut FullStep, &mut Vec<Rubbing>) {
        (&mut self.full_step, &mut self.resting)
    }

    /// A step of this length, unless bodies would pass through each other in it.
    fn attempt(&mut self, origin: Origin<'_>, h: f64, out: &mut Step) -> Outcome<Option<Passage>> {
        check_length(h)?;
        self.attempt_by(self.settings.rule, origin, h, out)
    }
}

impl ImplicitNcp {
    /// A step by this rule; by Euler's where a contact pushes that is not settled.
    fn attempt_by(&mut self, rule: Rule, origin: Origin<'_>, h: f64, out: &mut Step) -> Outcome<Option<Passage>> {
        let Origin { system, state: State { t, q, v }, .. } = origin;
        let is_mean = rule == Rule::Trapezoidal;
        let reach = if is_mean { 2.0 } else { 1.0 };
        if is_mean {
            self.history.begin(origin);
        }
        // Rows are in the middle or at the end.
        let way = h / reach;
        (self.layout.h, self.layout.reach) = (way, reach);
        let (t_rows, t_new) = (t + way, t + h);
        out.begin(StepKind::Stepping, h);
        out.report.linearizations = 0;

        // The prediction q̂ = q ⊕ h v, on the joints where these are redundant.
        self.u.clone_from(v);
        let mut q_hat = filled(|out| origin.advance(v, way, out));
        self.projection.project(origin.at(t_rows, q), way, &mut self.u, &mut q_hat)?;
        let start = (*t, &q[..]);
        if !is_mean && let Some(passage) = system.passage(Way::Predicted, start, (t_new, &q_hat)) {
            return Ok(Some(passage));
        }
        let predicted = origin.at(t_rows, &q_hat);
        let mut inertia = Inertia::default();
        predicted.factored_mass(&mut inertia).map_err(|source| origin.malformed(source))?;
        self.take_scales(predicted, v, h, &inertia);
        let elements: Vec<FrictionElement> = filled(|out| predicted.friction(out));
        self.find_contacts(predicted);
        if is_mean {
            refuse_one_way(*t, "implicit-ncp by the trapezoidal rule", &self.candidates, &elements)?;
        }
        for growth in 0.. {
            self.solve_step(origin, &inertia, &elements, growth > 0, out)?;
            if is_mean && self.history.is_unsettled(&out.solution) {
                return self.attempt_by(Rule::Euler, origin, h, out);
            }
            let end = origin.at(t_new, self.point.end(reach));
            if !self.grow(filled(|out| end.contacts(0.0, out)), predicted) {
                break;
            }
            if growth >= GROWTH_LIMIT {
                out.solution.report.status = SolveStatus::IterationLimit;
                return Err(StepError::unsolved(*t, &mut out.problem, &out.solution));
            }
            out.report.growths += 1;
        }
        if let Some(passage) = system.passage(Way::Taken, start, (t_new, self.point.end(reach))) {
            return Ok(Some(passage));
        }
        self.end(origin, (t_rows, t_new), out)?;
        Ok(None)
    }

    /// Takes the roots of masses and of mobilities of joints, what is kept of the rates of joints,
    /// and the root of an energy: momenta and impulses of forces.
    fn take_scales(&mut self, predicted: At<'_>, v: &[f64], h: f64, inertia: &Inertia) {
        let Layout { reach, kept_joints, mass_roots, joint_roots, scale, .. } = &mut self.layout;
        refill(mass_roots, (0..v.len()).map(|i| inertia.entry(i, i).sqrt()));
        let joints: Vec<Joint> = filled(|out| predicted.joints(out));
        kept_joints.clear();
        if *reach != 1.0 {
            self.history.joint_rates(v, kept_joints);
            self.projection.reconcile(kept_joints);
        }
        kept_joints.resize(joints.len(), 0.0);
        let root = |joint: &Joint| {
            let square: f64 = joint.row.entries().iter().map(|&(k, value)| (value / mass_roots[k]).powi(2)).sum();
            if square > 0.0 { square.sqrt() } else { 1.0 }
        };
        refill(joint_roots, joints.iter().map(root));
        predicted.force(&self.u, &mut self.part);
        let momenta = (0..v.len()).map(|i| mass_roots[i] * v[i].abs() + h * self.part[i].abs() / mass_roots[i]);
        *scale = momenta.fold(f64::MIN_POSITIVE.sqrt(), f64::max);
    }

    /// Those that touched before and those that are violated at the prediction take part; others
    /// join later.
    fn find_contacts(&mut self, predicted: At<'_>) {
        refill(&mut self.active, self.prediction.contacts.iter().map(|entry| entry.id));
        predicted.contacts(TOUCHING, &mut self.candidates);
        let is_near = |id: &ContactId| self.candidates.iter().any(|contact| contact.id == *id);
        let far: Vec<ContactId> = self.active.iter().filter(|id| !is_near(id)).copied().collect();
        self.candidates.append(&mut filled(|out| predicted.contacts_of(&far, out)));
        let is_violated = |contact: &&Contact| contact.gap < 0.0 || contact.restraint == Restraint::Rate;
        self.candidates.iter().filter(is_violated).for_each(|contact| insert(contact.id, &mut self.active));
    }

    /// Adds the contacts that are violated at the end although they took no part; whether there are
    /// any.
    fn grow(&mut self, end: Vec<Contact>, predicted: At<'_>) -> bool {
        let is_new = |c: &Contact| c.gap < -VIOLATED && !self.point.contacts.iter().any(|other| other.id == c.id);
        let mut has_grown = false;
        for contact in end.into_iter().filter(is_new) {
            has_grown = true;
            insert(contact.id, &mut self.active);
            // Its rows where the step begins, or here where it does not exist there.
            if !self.candidates.iter().any(|other| other.id == contact.id) {
                let mut there: Vec<Contact> = filled(|out| predicted.contacts_of(&[contact.id], out));
                self.candidates.push(there.pop().unwrap_or(contact));
            }
        }
        has_grown
    }

    /// Writes the end of the step, and remembers what touches there.
    fn end(&mut self, origin: Origin<'_>, (t_rows, t_new): (f64, f64), out: &mut Step) -> Outcome {
        let State { t, v, .. } = origin.state;
        let u = &out.solution.motion;
        out.state.set(t_new, self.point.end(self.layout.reach), u);
        if self.layout.reach != 1.0 {
            out.state.v.iter_mut().zip(v).for_each(|(new, old)| *new = 2.0 * *new - old);
        }
        check_finite(*t, "velocity", &out.state.v)?;
        check_finite(*t, "coordinate", &out.state.q)?;
        out.force_at.set(t_rows, &self.point.q, u);
        out.linearize_at(t_rows, &self.point.q);
        out.report.energy_defect = energy_defect(origin, &out.solution.motion, out, &mut self.part);
        self.prediction.push(v, TOUCHING, out);
        if self.settings.rule == Rule::Trapezoidal {
            self.history.end(out);
        }
        Ok(())
    }

    /// Solves the equations with the contacts that take part, and leaves problem and solution in
    /// `out` and the end of the step in `self.point`.
    fn solve_step(
        &mut self,
        origin: Origin<'_>,
        inertia: &Inertia,
        elements: &[FrictionElement],
        is_grown: bool,
        out: &mut Step,
    ) -> Outcome {
        self.candidates.sort_by_key(|contact| contact.id);
        self.state_blocks(elements, &origin.state.v);
        let newton = self.newton_settings(&origin.state.q);
        let Self { settings, solver, layout, workspace, point, z, u, judge, .. } = self;
        workspace.begin();
        let equations = StepEquations { origin, layout };
        let mut unknowns = Unknowns { equations, workspace };
        let size = equations.size();
        zero(z, size);
        let mut iterations = 0;
        for attempt in 0..=settings.restart_limit {
            if attempt == 0 && !is_grown {
                let prediction = settings.warm_start.then_some(&self.prediction);
                start(&mut unknowns, prediction, (inertia, &self.part), u, z);
            } else {
                // From the solution without what has joined, or the linear problem at the last
                // point.
                equations.locate(if attempt == 0 { &out.solution.motion } else { &*u }, point);
                if attempt > 0 {
                    state_problem(equations, solver, u, point, out)?;
                    solver.solve(&out.problem, &mut out.solution).map_err(|source| origin.malformed(source))?;
                    out.report.linearizations += 1;
                    if out.solution.motion.iter().any(|u| !u.is_finite()) {
                        break;
                    }
                    u.clone_from(&out.solution.motion);
                }
                equations.write_unknowns(&out.solution, &point.turns, z);
            }
            self.report = self.newton.solve(&mut unknowns, &newton, z);
            iterations += self.report.steps();
            out.report.linearizations += self.report.steps();
            // Someone else judges.
            let u_found = filled(|out| equations.velocity(z, out));
            equations.locate(&u_found, point);
            state_problem(equations, solver, &u_found, point, out)?;
            let Step { problem, solution, .. } = &mut *out;
            equations.write_solution(z, u_found, point, solution);
            // The motion that the impulses make: the other one is off by Newton's tolerance.
            let mut change = vec![0.0; problem.free_motion.len()];
            problem.add_impulses(1.0, solution, &mut change);
            problem.inertia.solve_in_place(&mut change);
            let balanced = problem.free_motion.iter().zip(&change).map(|(free, change)| free + change);
            refill(&mut solution.motion, balanced);
            let limit = solved_limit(problem.contacts.len()).min(settings.residual_tolerance);
            solution.report = SolveReport { status: SolveStatus::IterationLimit, residual: 0.0, iterations, size };
            judge.pronounce(problem, None, &own_set, limit, solution);
            if solution.report.is_solved() {
                break;
            }
            if attempt == 0 {
                u.clone_from(&origin.state.v);
            }
        }
        let report = &mut out.solution.report;
        if !report.residual.is_finite() {
            report.status = SolveStatus::Breakdown;
        }
        out.report.solves.push(report.clone());
        if !report.is_solved() && report.residual > settings.residual_tolerance {
            return Err(StepError::unsolved(origin.state.t, &mut out.problem, &out.solution));
        }
        Ok(())
    }

    /// When Newton's method ends: gaps are no better than the rounding of coordinates.
    fn newton_settings(&self, q: &[f64]) -> NewtonSettings {
        let Layout { h, blocks, joint_roots, scale, .. } = &self.layout;
        let largest = q.iter().fold(1.0f64, |largest, q| largest.max(q.abs()));
        let stiffest = blocks.iter().map(|block| block.rho[0].sqrt()).fold(0.0, f64::max);
        let stiffest = joint_roots.iter().map(|root| 1.0 / root).fold(stiffest, f64::max);
        let rounding = POSITION_ROUNDING * largest * stiffest / (h * scale);
        let end = (GENEROUS_ROUNDING * rounding).min(END_SHARE * self.settings.residual_tolerance);
        NewtonSettings { tolerance: self.settings.tolerance.max(end), step_limit: self.settings.iteration_limit }
    }
}

/// Writes the contact problem that the equations are at a point: $W = M(q^{l+1})$, forces and rows
/// there. Its conditions at $u$ are those of the equations themselves.
fn state_problem(
    equations: StepEquations<'_>,
    solver: &ContactSolver,
    u: &[f64],
    point: &Point,
    out: &mut Step,
) -> Outcome {
    let StepEquations { origin, layout: Layout { reach, blocks, kept_joints, .. } } = equations;
    let h = reach * equations.layout.h;
    // Gaps are differences of coordinates, and no better than their rounding.
    let largest = point.q.iter().fold(1.0f64, |largest, q| largest.max(q.abs()));
    let rounding = ACCEPTED_ROUNDING * POSITION_ROUNDING * largest / h;
    let here = equations.at(&point.q);
    state_motion(origin, equations.layout.h, here, (here, u), out)?;
    let problem = &mut out.problem;
    if *reach != 1.0 {
        let mass = std::mem::take(&mut problem.inertia);
        problem.inertia.set_sum(&[(&mass, *reach)], []);
        problem.inertia.factor().map_err(|source| origin.malformed(source))?;
    }
    out.contacts.clone_from(&point.contacts);
    let conditions = point.contacts.iter().enumerate().map(|(i, contact)| {
        let mut condition = ContactCondition::of(contact);
        condition.normal_bias = equations.gap_rate(i, point) - contact.normal.dot(u);
        condition.rounding = rounding;
        let kept = turn_back(point.turns[i], &blocks[i].kept_slip);
        condition.tangent_bias.iter_mut().zip(kept).for_each(|(bias, kept)| *bias -= kept);
        condition
    });
    refill(&mut problem.contacts, conditions);
    out.friction.clone_from(&point.elements);
    let conditions = point.elements.iter().zip(&blocks[point.contacts.len()..]).map(|(element, block)| {
        let mut condition = FrictionCondition::of(element, h);
        condition.tangent_bias.iter_mut().zip(block.kept_slip).for_each(|(bias, kept)| *bias -= kept);
        condition
    });
    refill(&mut problem.friction, conditions);
    out.joints.clone_from(&point.joints);
    let ends = equations.end(point).1.iter().zip(kept_joints);
    let conditions = point.joints.iter().zip(ends).map(|(joint, (end, kept))| {
        let bias = end.value / h - kept - joint.row.dot(u);
        JointCondition { row: joint.row.clone(), bias, rounding }
    });
    refill(&mut problem.joints, conditions);
    solver.adopt_sets(problem);
    Ok(())
}

/// Writes the start of Newton's method: no impulses, or what is expected, if that is nearer.
fn start(
    unknowns: &mut Unknowns<'_>,
    prediction: Option<&Prediction>,
    (inertia, force): (&Inertia, &[f64]),
    u: &mut [f64],
    z: &mut [f64],
) {
    let equations = unknowns.equations;
    let (Layout { h, reach, blocks, joint_roots, .. }, v) = (equations.layout, &equations.origin.state.v);
    // Joints keep the velocity as it is; without them it follows from the forces.
    if joint_roots.is_empty() {
        let mut push: Vec<f64> = force.iter().map(|k| h * k).collect();
        inertia.solve_in_place(&mut push);
        u.iter_mut().zip(v.iter().zip(&push)).for_each(|(u, (v, push))| *u = v + push);
    }
    let alone = ContactSolution { motion: u.to_vec(), ..Default::default() };
    equations.write_unknowns(&alone, &[], z);
    let Some(prediction) = prediction else { return };
    let Some([accelerations, friction, joints]) = prediction.next() else { return };
    let time = reach * h;
    let contact = |block: &Block| {
        let (id, keeps_tangents) = (block.id?, !block.shape.is_round_in_the_plane());
        let (normal, tangent) = prediction.next_forces(&block.reference, keeps_tangents)?;
        Some(ContactImpulse { id, normal: time * normal, tangent: tangent.map(|force| time * force) })
    };
    let expected = ContactSolution {
        motion: v.iter().zip(&accelerations).map(|(v, acceleration)| v + h * acceleration).collect(),
        joints: joints.iter().map(|force| time * force).collect(),
        contacts: blocks.iter().filter_map(contact).collect(),
        friction: friction.chunks_exact(3).map(|force| [0, 1, 2].map(|k| time * force[k])).collect(),
        ..Default::default()
    };
    let mut expected_z = vec![0.0; z.len()];
    equations.write_unknowns(&expected, &[], &mut expected_z);
    let mut distance = |z: &[f64]| {
        let mut f = vec![0.0; z.len()];
        unknowns.evaluate(z, &mut f);
        f.iter().map(|f| f * f).sum::<f64>().sqrt()
    };
    let expected_distance = distance(&expected_z);
    if expected_distance <= NEAR || expected_distance <= distance(z) {
        z.copy_from_slice(&expected_z);
    }
}

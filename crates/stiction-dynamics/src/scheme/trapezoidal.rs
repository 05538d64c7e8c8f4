//! The linearly implicit trapezoidal scheme: order two, one complementarity problem per smooth step, stiff springs and dampers,
//! located collisions.
//!
//! \[PAGT\] (2.5), (5.3)-(5.9) and the algorithm of §7. The unknown is the mean velocity $u = \tfrac12 (v^l + v^{l+1})$ of the step:
//!
//! $$ \begin{aligned}
//! 2 \tilde M (u - v^l) &= \tilde k + \nu^T c_\nu + \textstyle\sum (n^T c_n + T^T c_t), && (5.4) \\\\
//! \nu u + \Theta(q^l)/h_s &= 0, && (5.5) \\\\
//! 0 \le n u + b_n &\perp c_n \ge 0, \quad (T u, c_t) \text{ obey the friction law}, && (5.6), (5.7), (5.8) \\\\
//! v^{l+1} &= 2 u - v^l, \qquad q^{l+1} = q^l \oplus h u, && (5.3)
//! \end{aligned} $$
//!
//! with $\tilde M = M - \tfrac h2 \tilde k_v - \tfrac{h^2}{4} \tilde k_q$ and $\tilde k = \tfrac h2 (k(t_l) + k(t_{l+1}) + h \tilde k_q v^l)$. In
//! the letters of [`ContactProblem`](crate::ContactProblem): $W = 2 \tilde M$, $u_\text{free} = v^l + W^{-1} \tilde k$.
//!
//! A step ends early where a gap closes (§6) or sliding ends; both are found on the path $q^l \oplus \tau (v^l + \tfrac{\tau}{2h}(v^{l+1} -
//! v^l))$, on which the velocity is linear and the impulses are shares of those of the step. The [collision](super::collision) itself is a step of no
//! length.
//!
//! Differs from the paper, unless [`paper`](TrapezoidalSettings::paper) is set:
//!
//! - The active set (6.1) would make a contact active before it closes, and the condition on the mean velocity would mirror its
//!   approach. Active are the contacts that are closed and do not part, and those that carried an impulse in the last step; the
//!   latter take back their gap, $b_n = \Phi(q^l)/h_s$ with the full step $h_s$ even where the step was cut, so that a curved contact does not
//!   detach and collide again.
//! - Rows are taken at $q^l \oplus \tfrac h2 v^l$ not only for joints: $n(q^l)$ costs an order on curved contacts.
//! - Joints are stabilised, $\Theta(q^l)/h_s$ in (5.5). It bounds the drift and costs the exact balance of energy. A small share of the rate at the start, for joints,
//!   carried contacts and what sticks, keeps the mode $(-1)^l$ of conditions on $u$ from growing in $v$.
//! - $\tilde k_q, \tilde k_v$ are the exact derivatives where $\tilde M$ stays positive definite, else (9.2), (9.3): these cost an
//!   order for loaded springs and for the gyroscopic term.
//! - The end of sliding is located, and velocities are projected on the rows that hold from there on. Conditions on $u$ leave a mode $(-1)^l$
//!   in $v$, which would else begin there: a stopped block would flip between $\pm v$ for ever.
//! - Forces that depend on time are taken in the middle of the step, not at both of its ends: of the same order, and right for a force that begins or
//!   ends between two steps.
//! - A step in which a normal turns by more than about half a radian to its middle is halved, after such a projection.
//! - For $M(t, q)$ one problem gives order one (Theorem 3.4); [`iterate`](TrapezoidalSettings::iterate) solves (2.5) by successive ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collision::{Collision, ImpactOrder};
use super::impact_time::closing_share;
use super::{Scheme, Step, StepKind, check_finite, energy_defect, solve_problem};
use crate::force_jacobians::add_product;
use crate::joint_projection::JointProjection;
use crate::{
    Contact, ContactCondition, ContactId, ContactSolver, ForceCause, ForceJacobians, FrictionCondition, FrictionShape,
    Inertia, JacobianKind, Joint, JointCondition, MechanicalSystem, Row, State, StepError,
};

/// Which derivatives of the force the scheme uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Jacobians {
    /// The exact ones where the matrix of the step stays positive definite, else the definite ones.
    #[default]
    Automatic,
    /// The exact ones always.
    Exact,
    /// The approximations (9.2), (9.3) always: stable for any stiffness, of order one for loaded nonlinear springs.
    Definite,
}

/// Settings of the trapezoidal scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrapezoidalSettings {
    /// The plain published scheme: no stabilisation, no located ends of sliding, contact rows at the start of the step, the
    /// derivatives (9.2), (9.3). The settings below that say otherwise are then ignored.
    pub paper: bool,
    /// Which derivatives of the force are used.
    pub jacobians: Jacobians,
    /// Whether joints and contacts that stay closed take back their drift.
    pub stabilize: bool,
    /// Whether the end of sliding is located.
    pub locate_stops: bool,
    /// Solves the nonlinear step (2.5) by successive linear ones; needed for order two where the inertia changes with the configuration.
    pub iterate: bool,
    /// Change of the mean velocity, relative to its size, at which the iteration ends. Too small: it runs to its limit.
    pub iteration_tolerance: f64,
    /// Largest number of linear problems of a step that iterates.
    pub iteration_limit: usize,
    /// Contacts with a gap up to this are closed, in metres; the $\varepsilon_a$ of (6.1).
    /// Too large: velocities are stopped before the bodies touch. Too small: the rounding of a located collision leaves it open.
    pub gap_tolerance: f64,
    /// Impacts with a slower approach give nothing back, in m/s, so that a bouncing ball comes to rest.
    /// Too large: small bounces are missing. Too small: many bounces in one step before the ball rests.
    pub rest_speed: f64,
    /// Sliding slower than this, in m/s, is none. Too large: slow sliding is stopped. Too small: rounding is located as an end.
    pub still_speed: f64,
    /// Whether the impacts of contacts that close together are solved together or one after another.
    pub impact_order: ImpactOrder,
    /// Whether the friction of the decompression may also use the impulse that Poisson's law gives back, $\mu (c_n^x + e c_n^c)$ instead
    /// of $\mu c_n^x$ as printed.
    pub restitution_friction: bool,
}

impl Default for TrapezoidalSettings {
    fn default() -> Self {
        Self {
            paper: false,
            jacobians: Jacobians::Automatic,
            stabilize: true,
            locate_stops: true,
            iterate: false,
            iteration_tolerance: 1e-13,
            iteration_limit: 50,
            gap_tolerance: 1e-9,
            rest_speed: 1e-6,
            still_speed: 1e-9,
            impact_order: ImpactOrder::Simultaneous,
            restitution_friction: false,
        }
    }
}

/// Rates up to this share of the largest velocity are rounding.
const ROUNDING: f64 = 1e-13;

/// Share of the rate of a drift that the mean velocity of a step keeps. With a mean rate of $\beta w - x/h$ the drift $x$ and its rate $w$ become
/// $x' = h \beta w$ and $w' = (2 \beta - 1) w - 2x/h$: with $\beta = 0$ a mode $(-1)^l$ would stay in $w$, fed by every curvature until velocities are
/// nothing else. With $\beta = \tfrac32 - \sqrt 2$ both fall by the factor $\sqrt 2 - 1$ a step, and no choice lets them fall faster.
const BRAKE: f64 = 1.5 - std::f64::consts::SQRT_2;

/// Steps of no length in a row, at most.
const IMPACT_LIMIT: usize = 100_000;

/// Halvings of a step in which sliding ends, at most.
const HALVING_LIMIT: usize = 60;

/// Cosine of the largest angle by which the normal of a contact may turn in half a step; if it turns farther, the step is halved. The
/// rows in its middle stand for the whole step: with a pin that runs around a hole of little play they do not, and its speed grows.
/// Too small: motion in tight holes may grow without bound. Too large: shorter steps than needed.
const LEAST_NORMAL_COSINE: f64 = 0.9;

/// Events of sliding that are located within one step of the grid, at most. Contacts that pull at each other may stop and start again
/// without end; the rest of such a step is made without looking for them.
const STOP_LIMIT: usize = 20;

/// How often the search for a contact is widened before everything is asked for.
const HORIZON_DOUBLINGS: usize = 8;

/// Impacts within one step of the grid after which they accumulate: a ball that hits two others in turn, ever faster. From then on contacts
/// that are almost closed count as closed, with ten times the gap after each further so many impacts.
const ACCUMULATION: usize = 20;

/// The linearly implicit trapezoidal scheme.
#[derive(Clone, Debug)]
pub struct Trapezoidal {
    settings: TrapezoidalSettings,
    solver: ContactSolver,
    collision: Collision,
    projection: JointProjection,
    /// The full step $h_s$ of which this step may be the rest.
    full_step: f64,
    /// Whether the last step ended early, so that $h_s$ stands.
    is_between: bool,
    /// Whether a step has been made; before, velocities may contradict joints.
    has_begun: bool,
    /// Contacts that carried an impulse, or stayed closed, in the last smooth step; sorted.
    carried: Vec<ContactId>,
    /// Contacts and friction elements that slid in it; sorted.
    sliding: Vec<Element>,
    /// Those whose sliding ended at the end of it.
    stopped: Vec<Element>,
    /// Whether velocities were projected since the last smooth step.
    has_projected: bool,
    impacts_in_a_row: usize,
    /// Impacts in this step of the grid.
    impacts: usize,
    /// Cuts and halvings for ends of sliding in this step of the grid.
    stops: usize,
    // Workspace of a step.
    start: Vec<Contact>,
    middle: Vec<Contact>,
    end: Vec<Contact>,
    start_joints: Vec<Joint>,
    /// Rates that take back the drift of joints.
    rates: Vec<f64>,
    jacobians: ForceJacobians,
    mass: Inertia,
    mass_sum: Inertia,
    q_middle: Vec<f64>,
    q_new: Vec<f64>,
    v_new: Vec<f64>,
    /// Mean velocity at which the step is linearised, and the displacement rate that led there.
    u_last: Vec<f64>,
    displacement: Vec<f64>,
    momentum: Vec<f64>,
    product: Vec<f64>,
    /// Forces at the start and at the linearisation point, by cause.
    forces: [Vec<f64>; 6],
}

/// Something that slides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Element {
    Contact(ContactId),
    Friction(u32),
}

/// How a trial step went on: to its end, or to an event before.
enum Trial {
    /// The step holds up to this share of it, where something may have stopped to slide.
    Holds { share: f64 },
    /// Sliding ends so early in it that it must be repeated with a shorter step.
    TooLong,
}

impl Trapezoidal {
    /// The scheme with these settings and this contact solver.
    pub fn new(settings: TrapezoidalSettings, solver: ContactSolver) -> Self {
        Self {
            collision: Collision::new(&settings),
            projection: JointProjection::default(),
            settings,
            solver,
            full_step: 0.0,
            is_between: false,
            has_begun: false,
            carried: Vec::new(),
            sliding: Vec::new(),
            stopped: Vec::new(),
            has_projected: false,
            impacts_in_a_row: 0,
            impacts: 0,
            stops: 0,
            start: Vec::new(),
            middle: Vec::new(),
            end: Vec::new(),
            start_joints: Vec::new(),
            rates: Vec::new(),
            jacobians: ForceJacobians::default(),
            mass: Inertia::default(),
            mass_sum: Inertia::default(),
            q_middle: Vec::new(),
            q_new: Vec::new(),
            v_new: Vec::new(),
            u_last: Vec::new(),
            displacement: Vec::new(),
            momentum: Vec::new(),
            product: Vec::new(),
            forces: Default::default(),
        }
    }
}

impl Scheme for Trapezoidal {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(StepError::StepSize { h });
        }
        if !self.is_between {
            self.full_step = h;
            (self.impacts, self.stops) = (0, 0);
        }
        out.begin(StepKind::Smooth, h);
        out.averages_mass = true;

        self.start.clear();
        system.contacts(state.t, &state.q, self.closed_gap(), &mut self.start);
        self.start_joints.clear();
        system.joints(state.t, &state.q, &mut self.start_joints);
        self.find_carried(system, state);

        // Steps of no length come first.
        let has_jumped = self.jump(system, state, out)?;
        if has_jumped {
            self.impacts_in_a_row += 1;
            self.impacts += usize::from(out.kind == StepKind::Impact);
            if self.impacts_in_a_row > IMPACT_LIMIT {
                return Err(StepError::Impacts { t: state.t, count: IMPACT_LIMIT });
            }
            self.is_between = true;
            self.has_begun = true;
            return Ok(());
        }
        self.impacts_in_a_row = 0;
        self.has_begun = true;
        self.glide(system, state, out)?;
        self.is_between = out.h < h;
        Ok(())
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl Trapezoidal {
    fn stabilizes(&self) -> bool {
        self.settings.stabilize && !self.settings.paper
    }

    fn is_carried(&self, id: ContactId) -> bool {
        self.carried.binary_search(&id).is_ok()
    }

    /// Gap up to which contacts count as closed, in metres.
    fn closed_gap(&self) -> f64 {
        self.settings.gap_tolerance * 10f64.powi((self.impacts / ACCUMULATION) as i32)
    }

    /// Times at which the forces of the start and of the end of a step are evaluated.
    fn force_times(&self, t: f64, h: f64) -> [f64; 2] {
        if self.settings.paper { [t, t + h] } else { [t + 0.5 * h; 2] }
    }

    /// Adds the contacts that carried an impulse to those that are closed at the start, wherever they are now.
    fn find_carried(&mut self, system: &dyn MechanicalSystem, state: &State) {
        let is_missing = |id: &ContactId, found: &[Contact]| !found.iter().any(|contact| contact.id == *id);
        let mut horizon = 2.0 * self.closed_gap();
        for doubling in 0..=HORIZON_DOUBLINGS {
            if !self.carried.iter().any(|id| is_missing(id, &self.start)) {
                break;
            }
            horizon = if doubling == HORIZON_DOUBLINGS { f64::INFINITY } else { 100.0 * horizon };
            self.start.clear();
            system.contacts(state.t, &state.q, horizon, &mut self.start);
        }
        let (carried, tolerance) = (&self.carried, self.closed_gap());
        self.start.retain(|contact| contact.gap <= tolerance || carried.binary_search(&contact.id).is_ok());
    }

    /// An impact, its decompression, or a projection of velocities, where one is due. False when there is none.
    fn jump(&mut self, system: &dyn MechanicalSystem, state: &State, out: &mut Step) -> Result<bool, StepError> {
        let v = &state.v;
        let rounding = ROUNDING * largest(v);
        // Contacts that approach although they are closed; those that carried an impulse waver around zero.
        let approaches = |contact: &Contact| !self.is_carried(contact.id) && rate(contact, v) < -rounding;
        let collides = self.start.iter().any(approaches);
        let joints_are_violated =
            !self.has_begun && self.start_joints.iter().any(|joint| (joint.row.dot(v) + joint.drift).abs() > rounding);
        if !(self.collision.is_decompressing() || collides || joints_are_violated || !self.stopped.is_empty()) {
            return Ok(false);
        }

        self.collision.begin(system, state, &self.start_joints, out)?;
        if self.collision.is_decompressing() {
            self.collision.decompress(&self.start, &mut self.solver, state, out)?;
        } else if collides {
            self.collision.impact(&self.start, &self.carried, &mut self.solver, state, out)?;
            // What holds after the impact is known from its own solution.
            self.stopped.clear();
        } else {
            self.project(system, state, out)?;
        }
        check_finite(state.t, "velocity", &out.state.v)?;

        // A contact that the impact leaves at rest stays closed; one that it sends away is open.
        if out.kind != StepKind::Projection {
            let rounding = ROUNDING * largest(&out.state.v).max(largest(v));
            self.carried.retain(|id| out.contacts.iter().any(|contact| contact.id == *id));
            for (contact, impulse) in out.contacts.iter().zip(&out.solution.contacts) {
                let place = self.carried.binary_search(&contact.id);
                let stays = rate(contact, &out.state.v) <= rounding && !self.collision.is_decompressing();
                match place {
                    Err(place) if stays && impulse.normal > 0.0 => self.carried.insert(place, contact.id),
                    Ok(place) if rate(contact, &out.state.v) > rounding => {
                        self.carried.remove(place);
                    }
                    _ => {}
                }
            }
            self.sliding.clear();
            for contact in &out.contacts {
                if speed(&contact.slip(&out.state.v)) > self.settings.still_speed {
                    insert(Element::Contact(contact.id), &mut self.sliding);
                }
            }
            for element in &out.friction {
                if speed(&element.slip(&out.state.v)) > self.settings.still_speed {
                    insert(Element::Friction(element.id), &mut self.sliding);
                }
            }
        }
        Ok(true)
    }

    /// Projects the velocity, in the metric of the inertia, on the rows that hold from now on: joints, normals of contacts that carry
    /// an impulse, tangents of contacts and friction elements that do not slide.
    fn project(&mut self, system: &dyn MechanicalSystem, state: &State, out: &mut Step) -> Result<(), StepError> {
        out.kind = StepKind::Projection;
        self.has_projected = true;
        // Contacts that part are among them if they come back at once.
        self.start.clear();
        system.contacts(state.t, &state.q, self.closed_gap(), &mut self.start);
        self.find_carried(system, state);
        let stands = |element: Element| {
            self.stopped.contains(&element) || (self.has_begun && self.sliding.binary_search(&element).is_err())
        };
        let mut hold = |row: &Row, drift: f64| {
            out.joints.push(Joint { value: 0.0, row: row.clone(), drift });
        };
        for contact in self.start.iter().filter(|contact| self.is_carried(contact.id)) {
            hold(&contact.normal, contact.normal_drift);
            if stands(Element::Contact(contact.id)) {
                contact.tangents.iter().zip(contact.tangent_drift).for_each(|(row, drift)| hold(row, drift));
            }
        }
        for element in out.friction.iter().filter(|element| self.has_begun && stands(Element::Friction(element.id))) {
            element.tangents.iter().zip(element.tangent_drift).for_each(|(row, drift)| hold(row, drift));
        }
        out.friction.clear();
        out.problem.joints.clear();
        let rows = out.joints.iter().map(|joint| JointCondition { row: joint.row.clone(), bias: joint.drift });
        out.problem.joints.extend(rows);
        solve_problem(&mut self.solver, state.t, out)?;
        out.state.v.clone_from(&out.solution.motion);
        // What has stopped does not slide, whatever its rows say a little later.
        let stopped = std::mem::take(&mut self.stopped);
        self.sliding.retain(|element| !stopped.contains(element));
        self.stopped = stopped;
        self.stopped.clear();
        Ok(())
    }

    /// A smooth step, up to the first event.
    fn glide(&mut self, system: &dyn MechanicalSystem, state: &State, out: &mut Step) -> Result<(), StepError> {
        for _ in 0..HALVING_LIMIT {
            self.solve_step(system, state, out)?;
            if self.turns_too_far(out) {
                // The mode (-1)^l of the normal velocity would turn into others with the normal: it ends here.
                let v = &state.v;
                let wavers = |c: &Contact| self.is_carried(c.id) && rate(c, v).abs() > self.settings.still_speed;
                if !self.has_projected && self.start.iter().any(wavers) {
                    self.collision.begin(system, state, &self.start_joints, out)?;
                    return self.project(system, state, out);
                }
                out.h *= 0.5;
                continue;
            }
            match self.judge_slip(state, out) {
                Trial::Holds { share } => {
                    let share = self.first_collision(system, state, share, out);
                    if share <= ROUNDING {
                        // A contact parts and comes back at once: it stays closed.
                        self.collision.begin(system, state, &self.start_joints, out)?;
                        return self.project(system, state, out);
                    }
                    if share < 1.0 {
                        self.cut(system, state, share, out);
                    }
                    self.finish(system, state, out);
                    return check_finite(state.t, "coordinate", &out.state.q);
                }
                Trial::TooLong => {
                    out.h *= 0.5;
                    self.stops += 1;
                }
            }
        }
        Err(StepError::Impacts { t: state.t, count: HALVING_LIMIT })
    }

    /// Whether the normal of an active contact turns too far between the start of the step and its middle.
    fn turns_too_far(&self, out: &Step) -> bool {
        out.contacts.iter().any(|middle| {
            let start = self.start.iter().find(|start| start.id == middle.id).and_then(|start| start.frame);
            match (start, middle.frame) {
                (Some(start), Some(middle)) => dot(&start.normal, &middle.normal) < LEAST_NORMAL_COSINE,
                _ => false,
            }
        })
    }

    /// States and solves (5.4)-(5.8), or (2.5) by iteration, over `out.h`.
    fn solve_step(&mut self, system: &dyn MechanicalSystem, state: &State, out: &mut Step) -> Result<(), StepError> {
        let (n, h) = (system.velocity_count(), out.h);
        let t = state.t;
        let (q, v) = (&state.q, &state.v);
        let times = self.force_times(t, h);
        for (i, part) in self.forces.iter_mut().enumerate() {
            part.clear();
            part.resize(n, 0.0);
            system.force_by_cause(ForceCause::ALL[i % 3], times[i / 3], q, v, part);
        }
        // The linearisation point: first q^l, v^l, then what the last problem gave.
        self.u_last.clone_from(v);
        self.displacement.clear();
        self.displacement.resize(n, 0.0);
        self.q_new.clone_from(q);
        self.v_new.clone_from(v);
        let limit = if self.settings.iterate { self.settings.iteration_limit.max(1) } else { 1 };
        out.report.converged = !self.settings.iterate;
        for iteration in 0..limit {
            out.report.linearizations = iteration + 1;
            self.state_problem(system, state, out)?;
            solve_problem(&mut self.solver, t, out)?;
            let u = &out.solution.motion;
            let change = u.iter().zip(&self.u_last).fold(0.0f64, |change, (a, b)| change.max((a - b).abs()));
            system.advance(q, u, h, &mut self.q_new);
            self.v_new.clear();
            self.v_new.extend(u.iter().zip(v).map(|(u, v)| 2.0 * u - v));
            check_finite(t, "coordinate", &self.q_new)?;
            out.report.last_move = h * change;
            if !self.settings.iterate || change <= self.settings.iteration_tolerance * largest(u) {
                out.report.converged = true;
                break;
            }
            if iteration + 1 < limit {
                self.u_last.clone_from(u);
                self.displacement.clear();
                self.displacement.extend(u.iter().map(|u| h * u));
                for (cause, part) in ForceCause::ALL.into_iter().zip(&mut self.forces[3..]) {
                    part.fill(0.0);
                    system.force_by_cause(cause, times[1], &self.q_new, &self.v_new, part);
                }
            }
        }
        self.write_forces(state, out);
        Ok(())
    }

    /// Writes the contact problem, linearised at `q_new`, `v_new`.
    fn state_problem(&mut self, system: &dyn MechanicalSystem, state: &State, out: &mut Step) -> Result<(), StepError> {
        let (n, h) = (system.velocity_count(), out.h);
        let (t, t_new, t_middle) = (state.t, state.t + h, state.t + 0.5 * h);
        let (q, v) = (&state.q, &state.v);

        // W = M(q^l) + M(q^i) - h k_v - h²/2 k_q and W (u_free - v) = h/2 (k^l + k^i) + h k_v (v - u^i) + h/2 k_q (h v - d^i), where u^i is
        // the last mean velocity and d^i the displacement to the linearisation point. With u^i = v, d^i = 0 these are 2 M̃ and k̃.
        self.mass_sum.clear();
        system.mass_matrix(t, q, &mut self.mass_sum);
        self.mass.clear();
        system.mass_matrix(t_new, &self.q_new, &mut self.mass);
        let kinds = self.jacobian_kinds();
        let at = (self.force_times(t, h)[1], &self.q_new[..], &self.v_new[..]);
        let masses = [(&self.mass_sum, 1.0), (&self.mass, 1.0)];
        self.jacobians.state_inertia(system, kinds, at, &masses, [h, 0.5 * h * h], &mut out.problem.inertia);
        self.momentum.clear();
        self.momentum.extend((0..n).map(|i| self.forces.iter().map(|part| 0.5 * h * part[i]).sum::<f64>()));
        let ForceJacobians { by_configuration, by_velocity } = &self.jacobians;
        self.product.clear();
        self.product.extend(v.iter().zip(&self.u_last).map(|(v, last)| v - last));
        add_product(by_velocity, None, h, &self.product, &mut self.momentum);
        self.product.clear();
        self.product.extend(v.iter().zip(&self.displacement).map(|(v, d)| h * v - d));
        add_product(by_configuration, None, 0.5 * h, &self.product, &mut self.momentum);
        out.problem.inertia.factor().map_err(|source| StepError::Malformed { t, source })?;
        out.problem.inertia.solve_in_place(&mut self.momentum);
        out.problem.free_motion.clear();
        out.problem.free_motion.extend(v.iter().zip(&self.momentum).map(|(v, change)| v + change));

        // Rows in the middle of the step, values at its start.
        self.q_middle.clone_from(q);
        system.advance(q, &self.u_last, 0.5 * h, &mut self.q_middle);
        self.product.clone_from(&self.u_last);
        self.projection.project(system, (t_middle, q), 0.5 * h, &mut self.product, &mut self.q_middle)?;
        let stabilizes = self.stabilizes();
        let (pull, brake) = if stabilizes { (1.0 / self.full_step, BRAKE) } else { (0.0, 0.0) };
        out.joints.clear();
        system.joints(t_middle, &self.q_middle, &mut out.joints);
        out.problem.joints.clear();
        self.rates.clear();
        self.rates.extend(
            self.start_joints.iter().map(|start| brake * (start.row.dot(v) + start.drift) - pull * start.value),
        );
        self.projection.reconcile(&mut self.rates);
        for (joint, rate) in out.joints.iter().zip(&self.rates) {
            out.problem.joints.push(JointCondition { row: joint.row.clone(), bias: joint.drift - rate });
        }
        self.find_active(system, state, t_middle, h);
        out.contacts.clear();
        out.problem.contacts.clear();
        for start in &self.start {
            let rows = if self.settings.paper { &self.start } else { &self.middle };
            let Some(contact) = rows.iter().find(|contact| contact.id == start.id) else { continue };
            let (mut normal_bias, mut tangent_bias) = (contact.normal_drift, contact.tangent_drift);
            if self.carried.binary_search(&start.id).is_ok() {
                normal_bias += pull * start.gap - brake * rate(start, v);
                if self.sliding.binary_search(&Element::Contact(start.id)).is_err() {
                    let slip = start.slip(v);
                    tangent_bias.iter_mut().zip(slip).for_each(|(bias, slip)| *bias -= brake * slip);
                }
            }
            out.contacts.push(contact.clone());
            out.problem.contacts.push(ContactCondition {
                id: contact.id,
                normal: contact.normal.clone(),
                normal_bias,
                tangents: contact.tangents.clone(),
                tangent_bias,
                mu: contact.friction.mu(),
                friction_axes: contact.friction.axes(),
                friction_shape: contact.friction.shape(),
                extra_bound: 0.0,
            });
        }
        out.friction.clear();
        system.friction_elements(t_middle, &self.q_middle, &mut out.friction);
        out.problem.friction.clear();
        out.problem.friction.extend(out.friction.iter().map(|element| FrictionCondition {
            id: element.id,
            tangents: element.tangents.clone(),
            tangent_bias: element.tangent_drift,
            bound: h * element.bound,
        }));
        (out.linearized_time, out.force_time) = (t_middle, t);
        out.linearized_at.clone_from(&self.q_middle);
        out.force_at.clone_from(q);
        Ok(())
    }

    /// The derivatives to be tried.
    fn jacobian_kinds(&self) -> &'static [JacobianKind] {
        match self.settings.jacobians {
            _ if self.settings.paper => &[JacobianKind::Definite],
            Jacobians::Automatic => &[JacobianKind::Exact, JacobianKind::Definite],
            Jacobians::Exact => &[JacobianKind::Exact],
            Jacobians::Definite => &[JacobianKind::Definite],
        }
    }

    /// The active contacts, with rows in the middle of the step: those that are closed and do not part, and those that were carried.
    fn find_active(&mut self, system: &dyn MechanicalSystem, state: &State, t_middle: f64, h: f64) {
        let v = &state.v;
        let rounding = ROUNDING * largest(v);
        // The paper keeps closed contacts that part, too: in a stiff system they may be pushed back within the step.
        let (carried, keeps_all) = (&self.carried, self.settings.paper);
        let stays = |contact: &Contact| carried.binary_search(&contact.id).is_ok() || rate(contact, v) <= rounding;
        self.start.retain(|contact| keeps_all || stays(contact));
        self.middle.clear();
        if self.settings.paper || self.start.is_empty() {
            return;
        }
        let reach = |contact: &Contact| contact.gap.abs() + h * rate(contact, v).abs();
        let mut horizon =
            self.start.iter().fold(self.settings.gap_tolerance, |far, contact| far.max(2.0 * reach(contact)));
        for doubling in 0..=HORIZON_DOUBLINGS {
            self.middle.clear();
            system.contacts(t_middle, &self.q_middle, horizon, &mut self.middle);
            let is_found = |start: &Contact| self.middle.iter().any(|contact| contact.id == start.id);
            if self.start.iter().all(is_found) {
                break;
            }
            horizon = if doubling + 1 == HORIZON_DOUBLINGS { f64::INFINITY } else { 10.0 * horizon };
        }
    }

    /// Mean forces of the step by cause: $\tfrac12 (k^l + k^i) + \tfrac12 k_v (v^{l+1} - v^i) + \tfrac12 k_q (h u - d^i)$.
    fn write_forces(&mut self, state: &State, out: &mut Step) {
        let (n, h) = (state.v.len(), out.h);
        out.force.clear();
        out.force.resize(n, 0.0);
        out.force_parts.clear();
        // 2 (u - u^i) and h u - d^i.
        self.product.clear();
        self.product.extend(out.solution.motion.iter().zip(&self.u_last).map(|(u, last)| 2.0 * (u - last)));
        self.momentum.clear();
        self.momentum.extend(out.solution.motion.iter().zip(&self.displacement).map(|(u, d)| h * u - d));
        for (i, cause) in ForceCause::ALL.into_iter().enumerate() {
            let from = out.force_parts.len();
            out.force_parts.extend((0..n).map(|j| 0.5 * (self.forces[i][j] + self.forces[i + 3][j])));
            let part = &mut out.force_parts[from..];
            add_product(&self.jacobians.by_velocity, Some(cause), 0.5, &self.product, part);
            add_product(&self.jacobians.by_configuration, Some(cause), 0.5, &self.momentum, part);
            out.force.iter_mut().zip(part).for_each(|(sum, part)| *sum += *part);
        }
    }

    /// Whether what slid goes on sliding. Where it ends within the trial, the share of it after which the sliding speed is smallest.
    fn judge_slip(&mut self, state: &State, out: &Step) -> Trial {
        self.stopped.clear();
        if self.settings.paper || !self.settings.locate_stops || self.stops > STOP_LIMIT {
            return Trial::Holds { share: 1.0 };
        }
        let (v, u) = (&state.v, &out.solution.motion);
        let contacts = out.problem.contacts.iter().zip(&out.solution.contacts);
        // In other sets parts of the sliding end one by one, and what remains of it must go on.
        let is_one = |contact: &ContactCondition| contact.friction_shape == FrictionShape::Ball;
        let loaded = contacts.filter(|(c, impulse)| c.mu > 0.0 && impulse.normal > 0.0 && is_one(c));
        // Sliding and drilling stop together: they are measured along the semi-axes of their friction set.
        let contacts = loaded.map(|(c, _)| {
            let [first, mean, last] = [v, u, &self.v_new].map(|v| {
                let slip = c.slip(v);
                std::array::from_fn(|a| c.friction_axes[a] * slip[a])
            });
            (Element::Contact(c.id), first, mean, last)
        });
        let elements = out.problem.friction.iter().filter(|element| element.bound > 0.0);
        let elements = elements.map(|e| (Element::Friction(e.id), e.slip(v), e.slip(u), e.slip(&self.v_new)));
        let mut share = 1.0f64;
        for (element, first, mean, last) in contacts.chain(elements) {
            let still = self.settings.still_speed;
            // What did not slide may begin to, and needs no event: its friction changes continuously.
            if speed(&first) <= still || (self.has_begun && self.sliding.binary_search(&element).is_err()) {
                continue;
            }
            if dot(&first, &last) > 0.0 {
                continue;
            }
            if dot(&first, &mean) <= still * speed(&first) {
                return Trial::TooLong; // friction held it, or worse, pushed it: not what it did before the end
            }
            let change: [f64; 3] = std::array::from_fn(|a| last[a] - first[a]);
            let ends = -dot(&first, &change) / dot(&change, &change);
            if ends < share * (1.0 - ROUNDING) {
                share = ends;
                self.stopped.clear();
            }
            if ends <= share * (1.0 + ROUNDING) {
                self.stopped.push(element);
            }
        }
        self.stops += usize::from(share < 1.0);
        Trial::Holds { share }
    }

    /// The share of the trial after which an open contact closes, if that is before `share`; what stopped later has then not stopped.
    fn first_collision(&mut self, system: &dyn MechanicalSystem, state: &State, share: f64, out: &mut Step) -> f64 {
        self.end.clear();
        system.contacts(state.t + out.h, &self.q_new, 0.0, &mut self.end);
        let active = &out.contacts;
        self.end.retain(|contact| contact.gap < 0.0 && !active.iter().any(|other| other.id == contact.id));
        if self.end.is_empty() {
            return share;
        }
        let mut first = share;
        for contact in &self.end {
            let share = closing_share(system, state, out.h, &self.v_new, contact, self.settings.gap_tolerance);
            first = first.min(share);
            if share <= ROUNDING {
                insert(contact.id, &mut self.carried);
                if speed(&contact.slip(&state.v)) > self.settings.still_speed {
                    insert(Element::Contact(contact.id), &mut self.sliding);
                }
            }
        }
        if first < share {
            self.stopped.clear();
        }
        first
    }

    /// Ends the step after a share of it: velocities are linear on the way, impulses and friction bounds are in proportion.
    fn cut(&mut self, system: &dyn MechanicalSystem, state: &State, share: f64, out: &mut Step) {
        out.h *= share;
        self.v_new.iter_mut().zip(&state.v).for_each(|(end, start)| *end = start + share * (*end - start));
        self.product.clear();
        self.product.extend(self.v_new.iter().zip(&state.v).map(|(end, start)| 0.5 * (start + end)));
        system.advance(&state.q, &self.product, out.h, &mut self.q_new);
        out.solution.joints.iter_mut().for_each(|impulse| *impulse *= share);
        for impulse in &mut out.solution.contacts {
            impulse.normal *= share;
            impulse.tangent.iter_mut().for_each(|part| *part *= share);
        }
        out.solution.friction.iter_mut().flatten().for_each(|part| *part *= share);
        out.problem.friction.iter_mut().for_each(|element| element.bound *= share);
    }

    /// Writes the new state, what the scheme adds to the energy, and what is carried on to the next step.
    fn finish(&mut self, system: &dyn MechanicalSystem, state: &State, out: &mut Step) {
        out.state.t = state.t + out.h;
        out.state.q.clone_from(&self.q_new);
        out.state.v.clone_from(&self.v_new);

        self.product.clear();
        self.product.extend(state.v.iter().zip(&self.v_new).map(|(a, b)| 0.5 * (a + b)));
        out.report.energy_defect = energy_defect(system, state, &self.product, out, &mut self.momentum);

        self.has_projected = false;
        self.carried.clear();
        self.sliding.clear();
        let u = &out.solution.motion;
        for (condition, impulse) in out.problem.contacts.iter().zip(&out.solution.contacts) {
            if impulse.normal > 0.0 || condition.normal_rate(u).abs() <= self.settings.still_speed {
                insert(condition.id, &mut self.carried);
            }
            if speed(&condition.slip(u)) > self.settings.still_speed {
                insert(Element::Contact(condition.id), &mut self.sliding);
            }
        }
        for condition in &out.problem.friction {
            if speed(&condition.slip(u)) > self.settings.still_speed {
                insert(Element::Friction(condition.id), &mut self.sliding);
            }
        }
    }
}

/// Rate of the gap of a contact.
fn rate(contact: &Contact, v: &[f64]) -> f64 {
    contact.normal.dot(v) + contact.normal_drift
}

fn speed(slip: &[f64; 3]) -> f64 {
    dot(slip, slip).sqrt()
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// Adds to a sorted list, once.
fn insert<T: Ord>(value: T, list: &mut Vec<T>) {
    if let Err(place) = list.binary_search(&value) {
        list.insert(place, value);
    }
}

//! The linearly implicit trapezoidal scheme: order two, one complementarity problem per smooth
//! step, stiff springs and dampers, located collisions.
//!
//! \[PAGT\] (2.5), (5.3)-(5.9) and the algorithm of §7. The unknown is the mean velocity
//! $u = \tfrac12 (v^l + v^{l+1})$ of the step:
//!
//! $$ \begin{aligned}
//! 2 \tilde M (u - v^l) &= \tilde k + \nu^T c_\nu + \textstyle\sum (n^T c_n + T^T c_t), && (5.4) \\\\
//! \nu u + \Theta(q^l)/h_s &= 0, && (5.5) \\\\
//! 0 \le n u + b_n &\perp c_n \ge 0, \quad (T u, c_t) \text{ obey the friction law}, && (5.6), (5.7), (5.8) \\\\
//! v^{l+1} &= 2 u - v^l, \qquad q^{l+1} = q^l \oplus h u, && (5.3)
//! \end{aligned} $$
//!
//! with $\tilde M = M - \tfrac h2 \tilde k_v - \tfrac{h^2}{4} \tilde k_q$ and
//! $\tilde k = \tfrac h2 (k(t_l) + k(t_{l+1}) + h \tilde k_q v^l)$. In the letters of
//! [`ContactProblem`](crate::ContactProblem): $W = 2 \tilde M$,
//! $u_\text{free} = v^l + W^{-1} \tilde k$.
//!
//! A step ends early where a gap closes (§6) or sliding ends; both are found on the path
//! $q^l \oplus \tau (v^l + \tfrac{\tau}{2h}(v^{l+1} - v^l))$, on which the velocity is linear and
//! the impulses are shares of those of the step. The [collision](super::collision) itself is a step
//! of no length.
//!
//! Differs from the paper, unless [`paper`](TrapezoidalSettings::paper) is set:
//!
//! - The active set (6.1) would make a contact active before it closes, and the condition on the
//!   mean velocity would mirror its approach. Active are the contacts that are closed and do not
//!   part, and those that carried an impulse in the last step; the latter take back their gap,
//!   $b_n = \Phi(q^l)/h_s$ with the full step $h_s$ even where the step was cut, so that a curved
//!   contact does not detach and collide again.
//! - Rows are taken at $q^l \oplus \tfrac h2 v^l$ not only for joints: $n(q^l)$ costs an order on
//!   curved contacts.
//! - Joints are stabilised, $\Theta(q^l)/h_s$ in (5.5). It bounds the drift and costs the exact
//!   balance of energy. A small share of the rate at the start, for joints, carried contacts and
//!   what sticks, keeps the mode $(-1)^l$ of conditions on $u$ from growing in $v$.
//! - $\tilde k_q, \tilde k_v$ are the exact derivatives where $\tilde M$ stays positive definite,
//!   else (9.2), (9.3): these cost an order for loaded springs and for the gyroscopic term.
//! - The end of sliding is located, and velocities are projected on the rows that hold from there
//!   on. Conditions on $u$ leave a mode $(-1)^l$ in $v$, which would else begin there: a stopped
//!   block would flip between $\pm v$ for ever.
//! - Forces that depend on time are taken in the middle of the step, not at both of its ends: of
//!   the same order, and right for a force that begins or ends between two steps.
//! - A step in which a normal turns by more than about half a radian to its middle is halved, after
//!   such a projection.
//! - A step that friction would mirror however short it is (the paradox of Painlevé) is a shock, an
//!   impact problem (`jumps.rs`).
//! - Contacts that overlap when they are found do not take that back within a step: they are closed
//!   where they are (`overlaps.rs`).
//! - The rule is not L-stable, and a stiff damper would ring after an impact: steps begin short
//!   there, and grow (`settling.rs`).
//! - Where contacts wedge each other and their corrections have no common solution, the step is
//!   made without them.
//! - For $M(t, q)$ one problem gives order one (Theorem 3.4);
//!   [`iterate`](TrapezoidalSettings::iterate) solves (2.5) by successive ones, or the classical
//!   rule (2.4) for comparison ([`TrapezoidalRule`]).

mod events;
mod jumps;
mod overlaps;
mod problem;
mod settling;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collision::{Collision, ImpactOrder};
use super::{
    FullStep, Impacts, Origin, Outcome, Overlap, OwnFacts, Scheme, SchemeFacts, Step, StepKind, check_finite,
    check_length, energy_defect, refuse_one_way,
};
use crate::joint_projection::JointProjection;
use crate::setting::{Named, Suffix, ValueError, at_least_one, check_positive};
use crate::static_friction::{Rubbing, sliding_in, step_with_static_friction};
use crate::vector::{has, insert, norm, refill};
use crate::{
    Contact, ContactId, ContactSolver, ForceJacobians, FrictionElement, Inertia, Joint, MechanicalSystem, State,
    StepError, Way,
};
use events::Trial;
use settling::Settling;

/// Which derivatives of the force the scheme uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Jacobians {
    /// The exact ones where the matrix of the step stays positive definite, else the definite ones.
    #[default]
    Automatic,
    /// The exact ones always.
    Exact,
    /// The approximations (9.2), (9.3) always: stable for any stiffness, of order one for loaded
    /// nonlinear springs.
    Definite,
}

/// What the two ends of a step have to do with its change of velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrapezoidalRule {
    /// The mean inertia times the change of velocity is the mean force, (2.5).
    #[default]
    Modified,
    /// The change of velocity is the mean of the accelerations, (2.4): the classical trapezoidal
    /// rule. It is the same rule where the inertia is constant, and differs by $O(h^3)$ in a step
    /// where it is not (Theorem 3.2). Contacts and joints act on the mean inertia as before. Needs
    /// [`iterate`](TrapezoidalSettings::iterate).
    Classical,
}

/// How the time is found at which a gap closes within a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClosingTime {
    /// As the root of the gap along the way of the step, (6.2).
    #[default]
    Way,
    /// As the root of the cubic in time through the gaps and their rates at both ends of the step,
    /// \[PAGT\] §10: no gap is evaluated on the way. Where the gap is curved it is off by $O(h^4)$,
    /// and what is left of the gap is closed by a further step of that length.
    Cubic,
}

/// Settings of the trapezoidal scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrapezoidalSettings {
    /// The plain published scheme: no stabilisation, no located ends of sliding, contact rows at
    /// the start of the step, the derivatives (9.2), (9.3). The settings below that say otherwise
    /// are then ignored.
    pub paper: bool,
    /// Which derivatives of the force are used.
    pub jacobians: Jacobians,
    /// What the two ends of a step have to do with its change of velocity.
    pub rule: TrapezoidalRule,
    /// Whether joints and contacts that stay closed take back their drift.
    pub stabilize: bool,
    /// How fast overlaps of the start are taken back, per second: an overlap $d$ shrinks as
    /// $d e^{-rt}$, whatever the step. With zero, the default, a contact that overlaps when it is
    /// found is taken as closed where it is, as the event-driven scheme does it.
    pub overlap_recovery: f64,
    /// Whether the end of sliding is located.
    pub locate_stops: bool,
    /// Solves the nonlinear step (2.5) by successive linear ones; needed for order two where the
    /// inertia changes with the configuration.
    pub iterate: bool,
    /// Change of the mean velocity, relative to its size, at which the iteration ends. Too small:
    /// it runs to its limit.
    pub iteration_tolerance: f64,
    /// Largest number of linear problems of a step that iterates.
    pub iteration_limit: usize,
    /// Contacts with a gap up to this are closed, in metres; the $\varepsilon_a$ of (6.1). Too
    /// large: velocities are stopped before the bodies touch. Too small: the rounding of a located
    /// collision leaves it open.
    pub gap_tolerance: f64,
    /// How the time is found at which a gap closes.
    pub closing_time: ClosingTime,
    /// Impacts with a slower approach give nothing back, in m/s, so that a bouncing ball comes to
    /// rest. Too large: small bounces are missing. Too small: many bounces in one step before the
    /// ball rests.
    pub rest_speed: f64,
    /// Sliding slower than this, in m/s, is none. Too large: slow sliding is stopped. Too small:
    /// rounding is located as an end.
    pub still_speed: f64,
    /// Whether the impacts of contacts that close together are solved together or one after
    /// another.
    pub impact_order: ImpactOrder,
    /// Whether the friction of the decompression may also use the impulse that Poisson's law gives
    /// back, $\mu (c_n^x + e c_n^c)$ instead of $\mu c_n^x$ as printed.
    pub restitution_friction: bool,
}

impl Default for TrapezoidalSettings {
    fn default() -> Self {
        Self {
            paper: false,
            jacobians: Jacobians::Automatic,
            rule: TrapezoidalRule::Modified,
            stabilize: true,
            overlap_recovery: 0.0,
            locate_stops: true,
            iterate: false,
            iteration_tolerance: 1e-13,
            iteration_limit: 50,
            gap_tolerance: 1e-9,
            closing_time: ClosingTime::Way,
            rest_speed: 1e-6,
            still_speed: 1e-9,
            impact_order: ImpactOrder::Simultaneous,
            restitution_friction: false,
        }
    }
}

/// Rates up to this share of the largest velocity are rounding.
const ROUNDING: f64 = 1e-13;

/// Share of the rate of a drift that the mean velocity of a step keeps. With a mean rate of
/// $\beta w - x/h$ the drift $x$ and its rate $w$ become $x' = h \beta w$ and
/// $w' = (2 \beta - 1) w - 2x/h$: with $\beta = 0$ a mode $(-1)^l$ would stay in $w$, fed by every
/// curvature until velocities are nothing else. With $\beta = \tfrac32 - \sqrt 2$ both fall by the
/// factor $\sqrt 2 - 1$ a step, and no choice lets them fall faster.
pub(super) const BRAKE: f64 = 1.5 - std::f64::consts::SQRT_2;

/// Steps of no length in a row, at most.
const IMPACT_LIMIT: usize = 100_000;

/// Halvings of a step in which sliding ends, at most.
const HALVING_LIMIT: usize = 60;

/// Halvings of a step in which sliding ends too early, after each of which something else is looked
/// for that ends it. Too small: an impact problem is solved in vain before an end of sliding early
/// in a step. Too large: more steps in vain.
const SHOCK_HALVINGS: usize = 10;

/// Impacts within one step of the grid after which they accumulate: a ball that hits two others in
/// turn, ever faster. From then on contacts that are almost closed count as closed, with ten times
/// the gap after each further so many impacts.
const ACCUMULATION: usize = 20;

/// Impacts in a step after which contacts that part slower than the rest speed stay closed.
const MANY_IMPACTS: usize = 5 * ACCUMULATION;

/// Times that the gap grows so, at most. Too large: bodies that are apart collide. Too small:
/// impacts that accumulate take long.
const MOST_DECADES: usize = 4;

impl OwnFacts for TrapezoidalSettings {
    fn facts(&self) -> SchemeFacts {
        SchemeFacts {
            named: Named {
                name: "trapezoidal",
                summary: "Order two, stiff springs and dampers, located collisions with restitution. [PAGT]",
                suffixes: &[Suffix::Word { word: "paper", key: "paper", value: "true" }],
            },
            restricted_by: None,
            impacts: Impacts::NewtonAndPoisson,
            one_way: false,
            polygons: true,
            stiff_forces: true,
            corners: true,
            overlap: if self.overlap_recovery > 0.0 { Overlap::Fading("overlap-recovery") } else { Overlap::Kept },
        }
    }

    fn check(&self) -> Result<(), ValueError> {
        if self.rule == TrapezoidalRule::Classical && !self.iterate {
            let message = "the classical rule weighs forces with the inertia at the end of the step, which one linear problem \
                           does not know";
            let remedy = "write `iterate = true` beside it, or leave `rule` out";
            return Err(ValueError::new("rule", message, remedy));
        }
        check_positive("gap-tolerance", "the gap tolerance", self.gap_tolerance, "m")?;
        check_positive("rest-speed", "the rest speed", self.rest_speed, "m/s")?;
        check_positive("still-speed", "the still speed", self.still_speed, "m/s")?;
        check_positive("iteration-tolerance", "the iteration tolerance", self.iteration_tolerance, "(relative)")?;
        at_least_one("iteration-limit", "iterations", self.iteration_limit)
    }

    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        Box::new(Trapezoidal::new(self.clone(), solver))
    }
}

/// The linearly implicit trapezoidal scheme.
#[derive(Clone, Debug, Default)]
pub struct Trapezoidal {
    settings: TrapezoidalSettings,
    solver: ContactSolver,
    collision: Collision,
    projection: JointProjection,
    /// The full step $h_s$ of which this step may be the rest.
    full_step: FullStep,
    /// Whether a step has been made; before, velocities may contradict joints.
    has_begun: bool,
    /// Contacts that carried an impulse, or stayed closed, in the last smooth step; sorted.
    carried: Vec<ContactId>,
    was_carried: Vec<ContactId>,
    /// Those that the step needs from its beginning on, as they are closed at its end: a corner
    /// that comes to where the bodies meet; sorted.
    joined: Vec<ContactId>,
    /// Contacts and friction elements that slid in it; sorted.
    sliding: Vec<Rubbing>,
    /// Those whose sliding ended at the end of it.
    stopped: Vec<Rubbing>,
    /// Gaps of contacts that are taken as closed where they are, since they overlapped when they
    /// were found; by contact.
    overlaps: Vec<(ContactId, f64)>,
    /// Contacts with two coefficients of friction that stuck in the last step.
    resting: Vec<Rubbing>,
    /// Whether contacts wedge each other, so that nothing slides and what they take back had no
    /// solution.
    is_wedged: bool,
    /// Limit of the steps that follow a jump, in seconds.
    settling: Settling,
    /// Whether velocities were projected since the last smooth step.
    has_projected: bool,
    jumps_in_a_row: usize,
    /// Impacts in this step of the grid.
    impacts: usize,
    /// Cuts and halvings for ends of sliding in this step of the grid.
    stops: usize,
    // Workspace of a step.
    start: Vec<Contact>,
    middle: Vec<Contact>,
    end: Vec<Contact>,
    /// Contacts that are looked for in the middle.
    ids: Vec<ContactId>,
    /// Gap up to which contacts of the end are looked for, in metres.
    horizon: f64,
    start_friction: Vec<FrictionElement>,
    end_friction: Vec<FrictionElement>,
    start_joints: Vec<Joint>,
    /// Rows of a projection.
    held: Vec<Joint>,
    /// Rates that take back the drift of joints.
    rates: Vec<f64>,
    /// The fastest rate at which the step takes back drift of joints and contacts.
    drift_rate: f64,
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

impl Trapezoidal {
    /// The scheme with these settings and this contact solver.
    pub fn new(mut settings: TrapezoidalSettings, solver: ContactSolver) -> Self {
        if settings.paper {
            (settings.stabilize, settings.locate_stops) = (false, false);
            settings.jacobians = Jacobians::Definite;
        }
        let TrapezoidalSettings { paper: is_literal, rest_speed, impact_order: order, restitution_friction, .. } =
            settings;
        let collision = Collision { rest_speed, order, restitution_friction, is_literal, ..Default::default() };
        Self { settings, solver, collision, ..Self::default() }
    }
}

impl Scheme for Trapezoidal {
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError> {
        let origin = Origin::new(system, state);
        step_with_static_friction(
            self,
            |scheme| &mut scheme.resting,
            origin,
            out,
            |scheme, origin, out| scheme.step_to_event(origin, h, out),
        )
    }

    fn contact_solver(&self) -> &ContactSolver {
        &self.solver
    }
}

impl Trapezoidal {
    /// A step up to its end or the first event.
    fn step_to_event(&mut self, origin: Origin<'_>, h: f64, out: &mut Step) -> Outcome {
        check_length(h)?;
        if self.full_step.begin(h) {
            (self.impacts, self.stops) = (0, 0);
        }
        out.begin(StepKind::Smooth, h);
        out.averages_mass = true;

        origin.here().joints(&mut self.start_joints);
        self.find_start(origin);
        self.find_new_sliding(origin);
        if !self.has_begun {
            refuse_one_way(origin.state.t, "trapezoidal", &self.start, &self.start_friction)?;
        }
        self.find_overlaps();

        // Steps of no length come first.
        if !self.jump(origin, out)? {
            self.limit_after_jump(origin, out);
            self.glide(origin, out)?;
        }
        if out.h > 0.0 {
            self.jumps_in_a_row = 0;
        } else {
            self.settling = Settling::Due;
            self.jumps_in_a_row += 1;
            self.impacts += usize::from(out.kind == StepKind::Impact);
            if self.jumps_in_a_row > IMPACT_LIMIT {
                return Err(StepError::Impacts { t: origin.state.t, count: IMPACT_LIMIT });
            }
        }
        self.has_begun = true;
        self.full_step.end(h, out.h);
        Ok(())
    }

    fn is_carried(&self, id: ContactId) -> bool {
        has(&self.carried, id)
    }

    /// Gap up to which contacts count as closed, in metres.
    fn closed_gap(&self) -> f64 {
        self.settings.gap_tolerance * 10f64.powi((self.impacts / ACCUMULATION).min(MOST_DECADES) as i32)
    }

    /// Times at which the forces of the start and of the end of a step are evaluated.
    fn force_times(&self, t: f64, h: f64) -> [f64; 2] {
        let has_both_ends = self.settings.paper || self.settings.rule == TrapezoidalRule::Classical;
        if has_both_ends { [t, t + h] } else { [t + 0.5 * h; 2] }
    }

    /// Finds the contacts that are closed at the start, and those that carried an impulse as long as
    /// they are where the bodies meet: a corner that has left its face touches no longer, however
    /// near the plane of the face it stays.
    fn find_start(&mut self, origin: Origin<'_>) {
        let here = origin.here();
        here.contacts(self.closed_gap(), &mut self.start);
        let is_missing = |id: &ContactId| !self.start.iter().any(|contact| contact.id == *id);
        if self.carried.iter().any(is_missing) {
            let mut ids: Vec<ContactId> = self.start.iter().map(|contact| contact.id).collect();
            ids.extend(&self.carried);
            here.contacts_of(&ids, &mut self.start);
            // Twice as far, as a search may round a gap in another way.
            let farthest = self.start.iter().fold(self.closed_gap(), |far, contact| far.max(contact.gap));
            here.contacts(2.0 * farthest, &mut self.end);
            let (meet, joined) = (&self.end, &self.joined);
            let is_met = |id: ContactId| has(joined, id) || meet.iter().any(|other| other.id == id);
            self.start.retain(|contact| is_met(contact.id));
            // What takes the place of a corner goes on without an impact.
            let pair = |id: &ContactId| (id.first, id.second, id.shapes);
            let (lost, mut carried) = std::mem::take(&mut self.carried)
                .into_iter()
                .partition::<Vec<ContactId>, _>(|id| !self.start.iter().any(|contact| contact.id == *id));
            for contact in &self.start {
                let is_heir = lost.iter().any(|id| pair(id) == pair(&contact.id));
                if is_heir && contact.rate(&origin.state.v) > -self.settings.rest_speed {
                    insert(contact.id, &mut carried);
                }
            }
            self.carried = carried;
        }
    }

    /// Adds what slides without having had a step that could say so: contacts that have just
    /// closed, and everything before the first step.
    fn find_new_sliding(&mut self, origin: Origin<'_>) {
        let (still, v) = (self.settings.still_speed, &origin.state.v);
        for contact in &self.start {
            if !self.is_carried(contact.id) && norm(&contact.slip(v)) > still {
                insert(Rubbing::Contact(contact.id), &mut self.sliding);
            }
        }
        if !self.has_begun {
            origin.here().friction(&mut self.start_friction);
            for element in self.start_friction.iter().filter(|element| norm(&element.slip(v)) > still) {
                insert(Rubbing::Element(element.id), &mut self.sliding);
            }
        }
    }

    /// A smooth step, up to the first event; or a projection or a shock, where it turns out that
    /// one is due.
    fn glide(&mut self, origin: Origin<'_>, out: &mut Step) -> Outcome {
        let Origin { system, state, .. } = origin;
        let mut halvings_for_slip = 0;
        for _ in 0..HALVING_LIMIT {
            self.solve_step(origin, out)?;
            let (start, end) = ((state.t, &state.q[..]), (state.t + out.h, &self.q_new[..]));
            if let Some(passage) = system.passage(Way::Taken, start, end) {
                out.h *= passage.share; // bodies close there, and not beyond: the impact is located below
                continue;
            }
            if self.turns_too_far(out) {
                // The mode (-1)^l of the normal velocity would turn into others with the normal: it
                // ends here.
                let wavers = |c: &Contact| self.is_carried(c.id) && c.rate(&state.v).abs() > self.settings.still_speed;
                let is_due = !self.has_projected && self.start.iter().any(wavers);
                if is_due && self.project(origin, out)? {
                    return Ok(());
                }
                out.h *= 0.5;
                continue;
            }
            self.find_ends(origin, out);
            match self.judge_slip(state, out) {
                Trial::Holds { share } => {
                    let share = self.first_collision(origin, share, out);
                    if share <= ROUNDING {
                        // A contact parts and comes back at once: it stays closed.
                        if self.project(origin, out)? {
                            return Ok(());
                        }
                        continue;
                    }
                    if share < 1.0 {
                        self.cut(origin, share, out);
                    }
                    self.finish(origin, out);
                    return check_finite(state.t, "coordinate", &out.state.q);
                }
                Trial::TooLong { element } => {
                    out.h *= 0.5;
                    halvings_for_slip += 1;
                    if halvings_for_slip % SHOCK_HALVINGS == 0
                        && self.end_slip(origin, element, halvings_for_slip / SHOCK_HALVINGS, out)?
                    {
                        return Ok(());
                    }
                }
            }
        }
        Err(StepError::Impacts { t: state.t, count: HALVING_LIMIT })
    }

    /// Writes the new state, what the scheme adds to the energy, and what is carried on to the next
    /// step.
    fn finish(&mut self, origin: Origin<'_>, out: &mut Step) {
        let v = &origin.state.v;
        out.state.set(origin.state.t + out.h, &self.q_new, &self.v_new);
        refill(&mut self.product, v.iter().zip(&self.v_new).map(|(a, b)| 0.5 * (a + b)));
        out.report.energy_defect = energy_defect(origin, &self.product, out, &mut self.momentum);

        self.recover_overlaps(out.h);
        self.grow_after(out.h);
        self.has_projected = false;
        std::mem::swap(&mut self.carried, &mut self.was_carried);
        self.carried.clear();
        self.joined.clear();
        let u = &out.solution.motion;
        let conditions = out.problem.contacts.iter().zip(&out.contacts);
        for ((condition, contact), impulse) in conditions.zip(&out.solution.contacts) {
            let slack = condition.normal_rate(u);
            // What is left of a gap is taken back over a full step. In a shorter one a contact may
            // approach for it without an impulse, and stays closed.
            let goes_on = has(&self.was_carried, condition.id)
                && contact.rate(&self.v_new) <= 0.0
                && slack * self.full_step.h <= self.settings.gap_tolerance;
            if impulse.normal > 0.0 || slack.abs() <= self.settings.still_speed || goes_on {
                insert(condition.id, &mut self.carried);
            }
        }
        refill(&mut self.sliding, sliding_in(&out.problem, u, self.settings.still_speed));
        self.sliding.sort_unstable();
        self.is_wedged &= self.sliding.is_empty();
    }
}

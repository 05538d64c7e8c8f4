//! Time-stepping schemes: from one state to the next.
//!
//! A scheme is a file here. It states its facts beside its settings, and this module lists it: a
//! variant of [`SchemeSettings`], and a line in each of the two functions below it. Scenes, the
//! command line, refusals and the table in the documents follow.

pub mod collision;
pub mod event_driven;
mod impact_time;
pub mod implicit_ncp;
pub mod ladder;
pub mod moreau_midpoint;
pub(crate) mod origin;
pub mod rule;
pub mod stewart_trinkle;
pub mod trapezoidal;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use stiction_solve::SolveReport;

pub use ladder::Rung;
use ladder::solve_problem;
use origin::{At, Origin, Outcome};

use crate::setting::{Named, ValueError, describe_choices, either};
use crate::static_friction::{Rubbing, step_with_static_friction};
use crate::vector::{filled, refill, zero};
use crate::{
    Contact, ContactProblem, ContactSolution, ContactSolver, ForceCause, FrictionElement, Joint, MechanicalSystem,
    Passage, Restraint, State, StepError,
};

/// A time-stepping scheme. It owns its contact solver and its memory of the last step.
pub trait Scheme: Send {
    /// Makes one step from `state`, of `h` seconds or less, and writes it into `out`, whose memory
    /// is reused. A scheme that locates events ends the step at the first one, says so by
    /// [`Step::h`], and is then asked for the rest; an impact is a step of no length.
    ///
    /// # Errors
    /// [`StepError`] when the step could not be made; `out` is then unspecified and `state` still
    /// holds.
    fn step(&mut self, system: &dyn MechanicalSystem, state: &State, h: f64, out: &mut Step) -> Result<(), StepError>;

    /// The contact solver, for those who check its answers.
    fn contact_solver(&self) -> &ContactSolver;
}

/// A time-stepping scheme of ours with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = describe)]
pub enum SchemeSettings {
    /// See [`stewart_trinkle`].
    StewartTrinkle(stewart_trinkle::StewartTrinkleSettings),
    /// See [`moreau_midpoint`].
    MoreauMidpoint(moreau_midpoint::MoreauMidpointSettings),
    /// See [`trapezoidal`].
    Trapezoidal(trapezoidal::TrapezoidalSettings),
    /// See [`event_driven`].
    EventDriven(event_driven::EventDrivenSettings),
    /// See [`implicit_ncp`].
    ImplicitNcp(implicit_ncp::ImplicitNcpSettings),
}

impl SchemeSettings {
    /// All schemes, with default settings.
    pub fn all() -> [Self; 5] {
        [
            Self::StewartTrinkle(Default::default()),
            Self::MoreauMidpoint(Default::default()),
            Self::Trapezoidal(Default::default()),
            Self::EventDriven(Default::default()),
            Self::ImplicitNcp(Default::default()),
        ]
    }

    fn own(&self) -> &dyn OwnFacts {
        match self {
            Self::StewartTrinkle(settings) => settings,
            Self::MoreauMidpoint(settings) => settings,
            Self::Trapezoidal(settings) => settings,
            Self::EventDriven(settings) => settings,
            Self::ImplicitNcp(settings) => settings,
        }
    }

    /// What the scheme is and can treat.
    pub fn facts(&self) -> SchemeFacts {
        self.own().facts()
    }

    /// Its name in scenes.
    pub fn name(&self) -> &'static str {
        self.facts().named.name
    }

    /// The names of the schemes that can do something by default: `` `a`, `b` or `c` ``.
    pub fn named_with(can: impl Fn(&SchemeFacts) -> bool) -> String {
        let able = Self::all().map(|scheme| scheme.facts()).into_iter().filter(can);
        either(able.map(|facts| facts.named.name))
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`ValueError`] with the keys from the name of the scheme on.
    pub fn check(&self) -> Result<(), ValueError> {
        self.own().check().map_err(|error| error.inside(self.name()))
    }

    /// The scheme with this contact solver. Its settings are taken as they are;
    /// [`check`](Self::check) says whether they can be used.
    pub fn build(&self, solver: ContactSolver) -> Box<dyn Scheme> {
        self.own().build(solver)
    }
}

impl Default for SchemeSettings {
    fn default() -> Self {
        Self::StewartTrinkle(Default::default())
    }
}

fn describe(schema: &mut Schema) {
    describe_choices(schema, &SchemeSettings::all().map(|scheme| scheme.facts().named));
}

/// What a scheme is, and what it can treat with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemeFacts {
    /// Name, description and short forms.
    pub named: Named,
    /// The setting, as it stands in a scene, by which it treats less than by default.
    pub restricted_by: Option<&'static str>,
    /// What impacts give back.
    pub impacts: Impacts,
    /// Whether it treats clutches and pre-stressed springs, whose forces act one way.
    pub one_way: bool,
    /// Whether it treats the polygons that stand for friction in space in most contact methods.
    pub polygons: bool,
    /// Whether springs and dampers may be stiff: stable at any step.
    pub stiff_forces: bool,
    /// Whether it treats bodies that meet at corners and edges, of which contacts come and go
    /// without an impact.
    pub corners: bool,
    /// What becomes of bodies that overlap at the start.
    pub overlap: Overlap,
}

/// What the impacts of a scheme give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impacts {
    /// Nothing.
    Inelastic,
    /// A share of the velocity, by Newton's law.
    Newton,
    /// A share of the velocity, or of the impulse by Poisson's law.
    NewtonAndPoisson,
}

/// What becomes of bodies that overlap at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The first step ends it.
    Ended,
    /// It fades with the rate of this setting.
    Fading(&'static str),
    /// It stays.
    Kept,
}

/// What the settings of a scheme state about it, in its own file.
trait OwnFacts {
    /// What the scheme is and can treat.
    fn facts(&self) -> SchemeFacts;

    /// Checks the settings.
    fn check(&self) -> Result<(), ValueError> {
        Ok(())
    }

    /// The scheme with this contact solver.
    fn build(&self, solver: ContactSolver) -> Box<dyn Scheme>;
}

/// What a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepKind {
    /// A step of a scheme that does not locate events: whatever happens on the way is in it.
    #[default]
    Stepping,
    /// A step between events of a scheme that locates them.
    Smooth,
    /// An impact, or its compression; without length.
    Impact,
    /// The decompression of an impact, without length.
    Decompression,
    /// A projection of velocities on what holds from now on, without length.
    Projection,
    /// An impact without collision, where rigid bodies and dry friction allow no acceleration: the
    /// paradox of Painlevé. Without length.
    Shock,
}

/// A state on the way of a smooth step with what acts there, for a scheme that knows forces. The
/// audit integrates over the samples of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Weight of the sample in integrals over the step, in seconds.
    pub weight: f64,
    /// State.
    pub state: State,
    /// Acceleration $\dot v$.
    pub acceleration: Vec<f64>,
    /// Forces of the contacts of the step, in their order, in N.
    pub contacts: Vec<(f64, [f64; 3])>,
    /// Forces of the friction elements, in their order, in N.
    pub friction: Vec<[f64; 3]>,
    /// Forces of the joint rows, in their order.
    pub joints: Vec<f64>,
}

/// One step: the new state, and all that led to it.
///
/// What a scheme has to fill, so that the audit, the events and the recording understand its step:
///
/// | fields | who | what they are for |
/// |---|---|---|
/// | `kind`, `h`, `state` | every scheme | where the step ends |
/// | `contacts`, `friction`, `joints`, `problem`, `solution` | every scheme, in one order | the laws; momentum and works by the rows of the first three |
/// | `linearized_at`, `linearized_time` | every scheme | $M$ and rows are those of this place |
/// | `force`, `force_at` | every scheme | the impulse $h k$, and its parts by cause |
/// | `report` | every scheme: each solve, and its energy defect | certificate and summary |
/// | `force_parts` | schemes whose force is not that of one place and velocity | works by cause |
/// | `averages_mass` | schemes whose $M$ is the mean of both ends | momentum |
/// | `restitution` | impacts that give impulses back beside the solution | momentum and works |
/// | `samples` | schemes that know forces on the way | integrals in place of impulses |
///
/// The last four are empty when a step begins; a scheme that does not have them leaves them so.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// What the step is.
    pub kind: StepKind,
    /// How far the step went, in seconds.
    pub h: f64,
    /// State at the end.
    pub state: State,
    /// Configuration at which contacts, friction and joints were evaluated.
    pub linearized_at: Vec<f64>,
    /// Time that belongs to it, in seconds.
    pub linearized_time: f64,
    /// Time, configuration and velocity at which the forces were evaluated.
    pub force_at: State,
    /// The generalised force $k$ of the step, by the system's own axes; of an implicit scheme the
    /// mean over the step.
    pub force: Vec<f64>,
    /// Its parts by cause (potential, gyroscopic, applied), one after another, where they are not
    /// those of the system at `force_at`; else empty.
    pub force_parts: Vec<f64>,
    /// Whether the inertia of the step is the mean of those at its two ends, and not that of
    /// `linearized_at`.
    pub averages_mass: bool,
    /// Contacts that took part, in the order of the problem.
    pub contacts: Vec<Contact>,
    /// Friction elements that took part.
    pub friction: Vec<FrictionElement>,
    /// Joint rows that took part.
    pub joints: Vec<Joint>,
    /// Normal impulses that an impact law gives back beside the solution, in the order of the
    /// contacts; else empty.
    pub restitution: Vec<f64>,
    /// States and forces on the way, of a scheme that knows them; else empty.
    pub samples: Vec<Sample>,
    /// The last contact problem of the step.
    pub problem: ContactProblem,
    /// Its solution.
    pub solution: ContactSolution,
    /// What happened on the way.
    pub report: StepReport,
}

impl Step {
    /// Starts anew as a step of this kind and length, and keeps the memory.
    fn begin(&mut self, kind: StepKind, h: f64) {
        (self.kind, self.h, self.averages_mass) = (kind, h, false);
        let mut solves = std::mem::take(&mut self.report.solves);
        solves.clear();
        self.report = StepReport { solves, linearizations: 1, converged: true, ..Default::default() };
        self.force_parts.clear();
        self.restitution.clear();
        self.samples.clear();
    }

    /// Says where the rows of the step were taken.
    fn linearize_at(&mut self, t: f64, q: &[f64]) {
        self.linearized_time = t;
        refill(&mut self.linearized_at, q.iter().copied());
    }

    /// Writes the part of the force with this cause into a buffer.
    pub(crate) fn write_force_part(&self, system: &dyn MechanicalSystem, cause: ForceCause, out: &mut Vec<f64>) {
        let State { t, q, v } = &self.force_at;
        match self.force_parts.chunks_exact(self.force.len().max(1)).nth(cause as usize) {
            Some(part) => refill(out, part.iter().copied()),
            None => At::new(system, *t, q).force_by_cause(cause, v, out),
        }
    }

    /// Adds to the mean forces of the step by cause, and takes their sum.
    fn add_forces(&mut self, n: usize, mut add: impl FnMut(ForceCause, &mut [f64])) {
        self.force_parts.resize(3 * n, 0.0);
        zero(&mut self.force, n);
        for (cause, part) in ForceCause::ALL.into_iter().zip(self.force_parts.chunks_exact_mut(n.max(1))) {
            add(cause, part);
            self.force.iter_mut().zip(part).for_each(|(sum, part)| *sum += *part);
        }
    }
}

/// Most times that a step is cut because two bodies pass through each other. Every cut ends where
/// they have just closed, so that few are needed.
const CUT_LIMIT: usize = 64;

/// How often a step that is not solved is halved.
const HALVINGS: usize = 6;

/// A scheme that makes its steps by attempts.
trait Attempting: Clone {
    /// The full step, and what stuck in the last step.
    fn memory(&mut self) -> (&mut FullStep, &mut Vec<Rubbing>);

    /// A step of this length, unless bodies pass through each other in it: then after which share
    /// of it they close.
    fn attempt(&mut self, origin: Origin<'_>, h: f64, out: &mut Step) -> Outcome<Option<Passage>>;
}

/// Makes a step by attempts, with coefficients of friction that agree with it. One in which bodies
/// pass through each other says after which share of it they close, and the next one is that much
/// shorter. One that is not solved is halved, which is a rung of the [ladder]: a shorter one is
/// another problem, and its solution is nearer to the start.
///
/// # Errors
/// Those of the attempts, the first one where halving did not help, and [`StepError::Passage`] when
/// there are too many cuts.
fn step_by_attempts<S: Attempting>(scheme: &mut S, origin: Origin<'_>, length: f64, out: &mut Step) -> Outcome {
    step_with_static_friction(
        scheme,
        |scheme| scheme.memory().1,
        origin,
        out,
        |scheme, origin, out| {
            scheme.memory().0.begin(length);
            let (mut h, mut cuts, mut halvings, mut unsolved) = (length, 0, 0, None);
            loop {
                match scheme.attempt(origin, h, out) {
                    Ok(None) => break,
                    Ok(Some(passage)) => {
                        h *= passage.share;
                        cuts += 1;
                        if cuts > CUT_LIMIT || h <= 0.0 {
                            let (first, second) = origin.system.body_names(passage.contact);
                            return Err(StepError::Passage { t: origin.state.t, first, second, h });
                        }
                    }
                    Err(error @ StepError::Unsolved { .. }) => {
                        let first = unsolved.take().unwrap_or(error);
                        if halvings == HALVINGS || h == 0.0 {
                            return Err(first);
                        }
                        unsolved = Some(first);
                        halvings += 1;
                        h *= 0.5;
                    }
                    Err(error) => return Err(error),
                }
            }
            if halvings > 0 {
                out.report.rung = Some(Rung::ShorterStep);
            }
            scheme.memory().0.end(length, out.h);
            Ok(())
        },
    )
}

/// Refuses a step that has no length.
fn check_length(h: f64) -> Outcome {
    if h > 0.0 && h.is_finite() { Ok(()) } else { Err(StepError::StepSize { h }) }
}

/// The full step of which a step may be a part, cut or halved. What is to be taken back of
/// penetrations and drift is taken back over the full one: within a part of it, which may be a
/// thousand times shorter, it would take a speed that throws bodies apart.
#[derive(Clone, Copy, Debug, Default)]
struct FullStep {
    h: f64,
    /// Whether the last step was a part only.
    is_between: bool,
}

impl FullStep {
    /// A step of this length is asked for. Whether it is a full one.
    fn begin(&mut self, h: f64) -> bool {
        if !self.is_between {
            self.h = h;
        }
        !self.is_between
    }

    /// A step of the length `made` was made where `h` was asked for.
    fn end(&mut self, h: f64, made: f64) {
        self.is_between = made < h;
    }

    /// The share that a step of this length has in it.
    fn share(&self, h: f64) -> f64 {
        if h < self.h { h / self.h } else { 1.0 }
    }
}

/// What happened within a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Every solve of the step, the last one last.
    pub solves: Vec<SolveReport>,
    /// How often the contacts were linearised; one for a linear scheme.
    pub linearizations: usize,
    /// Whether the fixed point was reached; always true for a linear scheme. A step that did not
    /// reach it is accepted.
    pub converged: bool,
    /// How far down the ladder of [`solve_problem`](ladder) a problem of the step had to go; none
    /// where all were solved at once.
    pub rung: Option<Rung>,
    /// Contacts that slide with the static coefficient of friction and stick with the kinetic one;
    /// see [`static_friction`](crate::static_friction).
    pub undecided_friction: usize,
    /// How often the set of active contacts had to grow.
    pub growths: usize,
    /// Energy that the scheme itself adds (negative: removes), by its defect formula, in joules. It
    /// is exact for constant inertia and a linear potential.
    pub energy_defect: f64,
}

/// States $W = M$, and $u_\text{free} = v + h W^{-1} k$ with the force at another place.
///
/// # Errors
/// [`StepError::Malformed`] when the mass matrix cannot be factored.
fn state_motion(origin: Origin<'_>, h: f64, mass: At<'_>, (force, v): (At<'_>, &[f64]), out: &mut Step) -> Outcome {
    mass.factored_mass(&mut out.problem.inertia).map_err(|source| origin.malformed(source))?;
    force.force(v, &mut out.force);
    let ContactProblem { inertia, free_motion, .. } = &mut out.problem;
    refill(free_motion, out.force.iter().map(|k| h * k));
    inertia.solve_in_place(free_motion);
    free_motion.iter_mut().zip(&origin.state.v).for_each(|(u, v)| *u += v);
    Ok(())
}

/// What a scheme itself adds to the energy, by its defect. The audit credits forces with their work
/// over the mean of the velocities before and after; in truth the potential falls by the work along
/// the way, whose velocity is `u`, and gyroscopic forces do none.
fn energy_defect(origin: Origin<'_>, u: &[f64], step: &Step, part: &mut Vec<f64>) -> f64 {
    let (v, h) = (&origin.state.v, step.h);
    let mut credited = 0.0;
    for cause in [ForceCause::Potential, ForceCause::Gyroscopic] {
        step.write_force_part(origin.system, cause, part);
        credited += (0..u.len()).map(|i| 0.5 * h * part[i] * (v[i] + step.state.v[i])).sum::<f64>();
    }
    credited - potential_drop(origin, u, h, part) + preload_defect(origin, step)
}

/// The same of pre-stressed springs, whose force is part of the solution: their work over the mean
/// velocity, less the fall of their energy.
fn preload_defect(origin: Origin<'_>, step: &Step) -> f64 {
    if step.friction.iter().all(|element| element.displacement.is_none()) {
        return 0.0;
    }
    let energy = |state: &State| {
        let elements: Vec<FrictionElement> = filled(|out| origin.at(state.t, &state.q).friction(out));
        elements.iter().map(|element| element.displacement.map_or(0.0, |x| element.bound * x.abs())).sum::<f64>()
    };
    let springs =
        step.friction.iter().zip(&step.solution.friction).filter(|(element, _)| element.displacement.is_some());
    let work = springs.map(|(element, impulse)| {
        let row = &element.tangents[0];
        0.5 * impulse[0] * (row.dot(&origin.state.v) + row.dot(&step.state.v))
    });
    work.sum::<f64>() - (energy(origin.state) - energy(&step.state))
}

/// Refuses unilateral rates and pre-stressed springs, for a scheme that does not treat them.
fn refuse_one_way(t: f64, scheme: &'static str, contacts: &[Contact], elements: &[FrictionElement]) -> Outcome {
    let clutch = contacts.iter().any(|contact| contact.restraint == Restraint::Rate);
    let spring = elements.iter().any(|element| element.displacement.is_some());
    let clutch = clutch.then_some("a clutch without a limit of its force");
    match clutch.or(spring.then_some("a pre-stressed spring")) {
        Some(what) => Err(StepError::Element { t, scheme, what }),
        None => Ok(()),
    }
}

/// Fall of the potential energy over a motion with constant velocity: the work
/// $\int k \cdot u\, d\tau$ of the forces with potential, by Simpson's rule, which is exact for
/// forces up to cubic ones.
fn potential_drop(origin: Origin<'_>, u: &[f64], h: f64, part: &mut [f64]) -> f64 {
    let Origin { system, state: State { t, q, v }, .. } = origin;
    let mut at = smallvec::SmallVec::<[f64; 64]>::from_slice(q);
    let mut drop = 0.0;
    for (share, weight) in [(0.0, 1.0 / 6.0), (0.5, 4.0 / 6.0), (1.0, 1.0 / 6.0)] {
        system.advance(*t, q, u, share * h, &mut at);
        part.fill(0.0);
        system.force_by_cause(ForceCause::Potential, t + share * h, &at, v, part);
        drop += weight * h * part.iter().zip(u).map(|(k, u)| k * u).sum::<f64>();
    }
    drop
}

/// Refuses a step whose result is not finite.
fn check_finite(t: f64, what: &'static str, values: &[f64]) -> Outcome {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StepError::NotFinite { t, what, index, value: values[index] }),
        None => Ok(()),
    }
}

//! Phantom inertia: polygonal friction whose linear complementarity problem has full rank.
//!
//! \[PKF\] (1)-(8). Not the friction force but the sliding is spanned by finitely many directions:
//! $k$ lines through the tangent plane with unit vectors $e_j$ at the angles $j \pi / k$, the
//! columns of $E$. With $u$ for the paper's $\dot v$, $T$ for $J_t$, $n$ for $J_n$, and the
//! friction bound $\mu \lambda_n + a$:
//!
//! $$ \begin{aligned}
//! T u + b_t &= E \kappa_+ - E \kappa_-, && (1) \\\\
//! 0 \le \kappa_+ &\perp \sigma_- = \mu \lambda_n + a + E^T \lambda_t + \rho \kappa_- \ge 0, && (7) \\\\
//! 0 \le \kappa_- &\perp \sigma_+ = \mu \lambda_n + a - E^T \lambda_t + \rho \kappa_+ \ge 0, && (6) \\\\
//! 0 \le \lambda_n &\perp n u + b_n \ge 0. && (5)
//! \end{aligned} $$
//!
//! The phantom inertia $\rho > 0$ (a mass, in kg) changes no motion: both $\kappa_{j+}$ and
//! $\kappa_{j-}$ positive would need
//! $2 (\mu \lambda_n + a) + \rho (\kappa_{j+} + \kappa_{j-}) = 0$, so that where it acts, it
//! enlarges a slack that is no bound. The paper states the model for accelerations; it holds
//! unchanged for velocities at the end of a step, with impulses for forces.
//!
//! The motion $u$, the forces of joints and those of friction, $x = \lambda_t$, are eliminated from
//! (8), the Schur complement that the paper describes; $\lambda_n$, $\kappa_+$, $\kappa_-$ in this
//! order are left. With the Delassus blocks $A$ of the tangent rows and $N$ of the normal rows of
//! the jointed system, $F = T P n^T$ and $B = n P T^T$ between them, and the rates $a$, $b$ of
//! tangent and normal rows without contacts,
//!
//! $$ x = -x_0 - X \lambda_n + Y (\kappa_+ - \kappa_-), \qquad X = A^{-1} F, \quad Y = A^{-1} E, \quad x_0 = A^{-1} a, $$
//!
//! $$ \begin{pmatrix} \dot u_n \\\\ \sigma_- \\\\ \sigma_+ \end{pmatrix} =
//! \begin{pmatrix} N - B X & B Y & -B Y \\\\ \mu - E^T X & S & \rho - S \\\\ \mu + E^T X & \rho - S & S \end{pmatrix}
//! \begin{pmatrix} \lambda_n \\\\ \kappa_+ \\\\ \kappa_- \end{pmatrix} +
//! \begin{pmatrix} b - B x_0 \\\\ \bar a - E^T x_0 \\\\ \bar a + E^T x_0 \end{pmatrix}, \qquad S = E^T A^{-1} E, $$
//!
//! with $\bar a$ for the load-independent part of each bound. Sum and difference of the rows of
//! $\kappa$ decouple into $\rho$ and $2 S - \rho$. So the rank is full for almost every $\rho$, not
//! for every one as the paper says: not where $\rho / 2$ is an eigenvalue of $S$.
//!
//! Without phantom inertia, $\rho = 0$, the problem is that of the models before. Its columns of
//! $\kappa_+$ and $\kappa_-$ are opposite, so that it has a rank of $k$ too little for every number
//! of lines, and not for dependent ones only, as the paper says. As long as the lines are
//! independent, one along a single tangent or two in space, the motion still determines $\kappa$,
//! and Lemke's method finds it: $\rho = 0$ is let pass there. Dependent lines with $\rho = 0$ are
//! refused.
//!
//! The number of lines $k_i$ and the inertia $\rho_i$ may differ from contact to contact, as in
//! (6)-(8): [`PhantomContact`].
//!
//! The friction set is the polygon $|e_j^T \lambda_t| \le \mu \lambda_n + a$ with $2k$ sides,
//! circumscribed about the circle: friction is never too small, and too large by at most the factor
//! $1 / \cos(\pi / 2k)$. In the plane one line describes Coulomb's law exactly.
//!
//! Where tangent rows depend on each other (several coplanar contacts of one body), $A$ is
//! singular, whatever $\rho$ is. Then all rows are relaxed, $A + \varepsilon \operatorname{diag} A$
//! and $N + \varepsilon \operatorname{diag} N$ with the diagonals without joints, the paper's
//! "constraint relaxation", and the error that this makes is taken back by repeating with
//! $a - \varepsilon \operatorname{diag} A \cdot x$ and
//! $b - \varepsilon \operatorname{diag} N \cdot \lambda_n$, with the last forces; where this is
//! slow, with a smaller $\varepsilon$. The normals belong to it: with them unrelaxed, the normal
//! forces of a redundant contact may jump from one choice to another at every repetition, and their
//! friction with them. A least-norm elimination would be shorter, and wrong: it prescribes how the
//! friction is shared before it is known which contact has reached its bound.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use stiction_solve::PortableMath as _;
use stiction_solve::{DenseLu, Lcp, LcpSolution, LemkeSettings, ProblemError, SolveReport, SolveStatus};

use super::directions::{Corners, MOST_DIRECTIONS, with_opposites};
use super::memory::Places;
use super::rows::{LcpWorkspace, Rows, check_tangents, impulses_at, lcp_limit, places};
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings};
use crate::constrained_motion::mobility;
use crate::contact_problem::Group;
use crate::judge::own_set;
use crate::setting::{Suffix, ValueError};
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, Row, StatedProblem};

/// What the method does differently for one contact: $k_i$ and $\rho_i$ of \[PKF\] (6)-(7). Other
/// methods have no use for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PhantomContact {
    /// Number of lines through the tangent plane of this contact in space, at least two; that of
    /// the method when it is not given.
    #[serde(deserialize_with = "own_lines_from_file", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub lines: Option<usize>,
    /// Phantom inertia of this contact in kg, not negative; that of the method when it is not
    /// given.
    #[serde(deserialize_with = "rho_from_file", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub rho: Option<f64>,
}

impl PhantomContact {
    /// Checks the values.
    ///
    /// # Errors
    /// As for [`PhantomInertiaSettings::check`].
    pub fn check(&self) -> Result<(), ContactError> {
        self.lines.map_or(Ok(()), check_lines)?;
        self.rho.map_or(Ok(()), check_rho)
    }
}

/// Number of lines in space when nothing else is said: the octagon, circumscribed.
const DEFAULT_LINES: usize = 4;

/// Relaxation $\varepsilon$ of redundant rows, relative to their diagonal, at first. Too large:
/// more repetitions until its error is gone. Too small: the problem of the repetition is as good as
/// singular, and Lemke's method works with rounding noise.
const RELAXATION: f64 = 1e-3;

/// Where repetitions are slow, the relaxation becomes smaller by this factor, as long as it is
/// above this value. Smaller from one repetition to the next, whether slow or not, Lemke's method
/// jumps between choices of forces, and needs ten times the pivots for a tower.
const LESS_RELAXED: f64 = 0.1;
const SMALLEST_RELAXATION: f64 = 2e-6;

/// Slow repetitions after which the relaxation becomes smaller. Too few: it is small before the
/// active set is right. Too many: repetitions in vain.
const PATIENCE: usize = 3;

/// Repetitions of the relaxed problem, at most. Each takes the error down by about $\varepsilon$
/// over the smallest eigenvalue of the scaled rows once the active set is right: a handful for a
/// box on the floor or a low tower, more for a high one, whose smallest eigenvalue is that of a
/// slender beam.
const RELAXED_SOLVES: usize = 40;

/// A repetition that does not reduce the residual by this factor is slow. It is the last, provided
/// that the residual was within the tolerance before.
const WORTH_REPEATING: f64 = 0.5;

/// Settings of the phantom inertia method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PhantomInertiaSettings {
    /// Number $k$ of lines through the tangent plane of contacts in space, at least two: the
    /// friction polygon has $2k$ sides. In the plane there is always one.
    #[serde(deserialize_with = "lines_from_file")]
    #[schemars(range(min = 2))]
    pub lines: usize,
    /// Phantom inertia $\rho$, in kg, of every contact that has none of its own. Without it, it is
    /// chosen for each contact near its effective mass, where the condition of the problem is best.
    /// Much too small or large: an ill-conditioned problem, though with the same answer. Zero: for
    /// two lines, or in the plane.
    #[serde(deserialize_with = "rho_from_file", skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// Start each solve from the basis of the last one. Faster; where forces are not unique, it
    /// stays with those of the last step.
    pub warm_start: bool,
    /// Settings of Lemke's method.
    pub lemke: LemkeSettings,
}

impl Default for PhantomInertiaSettings {
    fn default() -> Self {
        Self { lines: DEFAULT_LINES, rho: None, warm_start: true, lemke: LemkeSettings::default() }
    }
}

impl PhantomInertiaSettings {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ContactError::Directions`] with fewer than two lines, which do not span the tangent plane;
    /// [`ContactError::PhantomInertia`] when $\rho$ is negative or not finite.
    pub fn check(&self) -> Result<(), ContactError> {
        check_lines(self.lines)?;
        self.rho.map_or(Ok(()), check_rho)
    }
}

impl MethodSettings for PhantomInertiaSettings {
    fn facts(&self) -> MethodFacts {
        let summary = "Discrete acceleration with phantom inertia: the full-rank problem of [PKF].";
        MethodFacts::new(
            "phantom-inertia",
            summary,
            &[Suffix::Count { of: "lines", key: "lines" }],
            FrictionSets::Circle,
        )
    }

    fn lemke(&self) -> Option<&LemkeSettings> {
        Some(&self.lemke)
    }

    fn check(&self, tangent_count: usize) -> Result<(), ValueError> {
        let remedy = "give 2 to 500 `lines`, and a positive `rho` or none; with 2 lines `rho` may be 0";
        let unusable = |error: ContactError| ValueError::new("", error.to_string(), remedy);
        self.check().and_then(|()| check_independence(tangent_count, self.lines, self.rho)).map_err(unusable)
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(PhantomInertia::new(self.clone())?))
    }
}

impl Formulation for PhantomInertia {
    fn treats(&self, group: &Group) -> bool {
        // Coulomb's circle, or the polygon that already stands for it.
        let set = || self.friction_set(group.tangents.len(), &FrictionShape::Ball, group.phantom);
        group.is_round() || group.axes == [1.0; 3] && *group.shape == set()
    }

    fn friction_set(&self, tangent_count: usize, shape: &FrictionShape, phantom: PhantomContact) -> FrictionShape {
        // Only the circle in space is replaced.
        if tangent_count != 2 || *shape != FrictionShape::Ball {
            return shape.clone();
        }
        let own = phantom.lines.and_then(|lines| Polygon::with_lines(lines).ok());
        own.as_ref().unwrap_or(&self.polygon).corners.set(tangent_count, shape).clone()
    }

    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve(problem, solution)
    }

    fn forget(&mut self) -> bool {
        self.work.memory.forget()
    }

    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        Ok(StatedProblem::Lcp(self.clone().lcp(problem)?))
    }
}

fn check_lines(lines: usize) -> Result<(), ContactError> {
    if lines > MOST_DIRECTIONS / 2 {
        let limit = MOST_DIRECTIONS / 2;
        return Err(ContactError::Directions(format!("{lines} lines are more than the limit of {limit}")));
    }
    if lines >= 2 {
        return Ok(());
    }
    let reason =
        format!("{lines} lines do not span the tangent plane; give at least 2, such as lines = {DEFAULT_LINES}");
    Err(ContactError::Directions(reason))
}

fn check_rho(rho: f64) -> Result<(), ContactError> {
    if rho >= 0.0 && rho.is_finite() { Ok(()) } else { Err(ContactError::PhantomInertia { rho }) }
}

/// Refuses dependent lines without phantom inertia.
///
/// # Errors
/// [`ContactError::NoPhantomInertia`] when there are more lines than tangent rows and $\rho = 0$.
pub fn check_independence(tangent_count: usize, lines: usize, rho: Option<f64>) -> Result<(), ContactError> {
    if tangent_count == 2 && lines > 2 && rho == Some(0.0) {
        return Err(ContactError::NoPhantomInertia { lines });
    }
    Ok(())
}

// Field by field, so that an error of a file points at its line.
fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de> + Copy>(
    deserializer: D,
    check: impl Fn(T) -> Result<(), ContactError>,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    check(value).map_err(D::Error::custom)?;
    Ok(value)
}

fn lines_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    checked(deserializer, check_lines)
}

fn own_lines_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    checked(deserializer, check_lines).map(Some)
}

fn rho_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    checked(deserializer, |rho: Option<f64>| rho.map_or(Ok(()), check_rho))
}

/// The phantom inertia method with its workspace.
#[derive(Clone, Debug)]
pub struct PhantomInertia {
    settings: PhantomInertiaSettings,
    /// Lines and friction polygon in space, of contacts that have none of their own.
    polygon: Arc<Polygon>,
    stated: Stated,
    lcp: Lcp,
    /// Its rows: normals of contacts, tangents of contacts and of friction elements.
    work: LcpWorkspace,
    /// An answer that may be better than the one before.
    candidate: ContactSolution,
    was_relaxed: bool,
}

/// Lines through a tangent plane, and the friction polygon that belongs to them.
#[derive(Debug)]
struct Polygon {
    /// The unit vectors $e_j$.
    lines: Vec<[f64; 2]>,
    /// The corners, opposites half a turn apart.
    corners: Corners,
}

impl Polygon {
    /// The polygon with this many lines, made once.
    fn with_lines(k: usize) -> Result<Arc<Self>, ContactError> {
        static KNOWN: Mutex<BTreeMap<usize, Arc<Polygon>>> = Mutex::new(BTreeMap::new());
        check_lines(k)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(k).or_insert_with(|| Arc::new(Self::new(k))).clone())
    }

    fn new(k: usize) -> Self {
        let line = |j: usize| {
            let (sine, cosine) = (std::f64::consts::PI * j as f64 / k as f64).portable_sin_cos();
            if 2 * j == k { [0.0, 1.0] } else { [cosine, sine] }
        };
        let half_angle = std::f64::consts::FRAC_PI_2 / k as f64;
        let corner = |j: usize| {
            let (sine, cosine) = ((2 * j + 1) as f64 * half_angle).portable_sin_cos();
            [cosine / half_angle.portable_cos(), sine / half_angle.portable_cos()]
        };
        Self { lines: (0..k).map(line).collect(), corners: Corners::new(with_opposites((0..k).map(corner))) }
    }

    /// The lines for this many tangent rows.
    fn lines(&self, tangent_count: usize) -> &[[f64; 2]] {
        match tangent_count {
            0 => &[],
            1 => &[[1.0, 0.0]],
            _ => &self.lines,
        }
    }
}

/// A problem in the form (8), and the elimination of its friction forces.
#[derive(Clone, Debug, Default)]
struct Stated {
    normal_count: usize,
    /// Contacts, then friction elements.
    groups: Vec<Sliding>,
    /// The unit vectors $e_j$ of all groups, one after another: the columns of $E$.
    lines: Vec<[f64; 2]>,
    /// What is added to the diagonal of the Delassus matrix; nothing, unless the rows are
    /// redundant.
    relaxation: Vec<f64>,
    /// The mobilities of the rows without joints, in shares of which they are relaxed.
    mobilities: Vec<f64>,
    factors: DenseLu,
    /// $X$ and then $Y$, column after column, and $x_0$.
    slopes: Vec<f64>,
    constant: Vec<f64>,
}

/// The friction of a contact or of a friction element.
#[derive(Clone, Debug)]
struct Sliding {
    /// Its tangent rows.
    rows: Range<usize>,
    /// Its lines among all.
    lines: Range<usize>,
    mu: f64,
    bound: f64,
    /// None where it is to be chosen.
    rho: Option<f64>,
}

impl PhantomInertia {
    /// The method with these settings.
    ///
    /// # Errors
    /// As for [`PhantomInertiaSettings::check`].
    pub fn new(settings: PhantomInertiaSettings) -> Result<Self, ContactError> {
        settings.check()?;
        let polygon = Polygon::with_lines(settings.lines)?;
        let (stated, lcp, work, candidate, was_relaxed) = Default::default();
        Ok(Self { settings, polygon, stated, lcp, work, candidate, was_relaxed })
    }

    /// The settings.
    pub fn settings(&self) -> &PhantomInertiaSettings {
        &self.settings
    }

    /// The corners of the friction set of unit bound for this many tangent rows: in space the
    /// polygon with $2k$ sides around the circle.
    pub fn corners(&self, tangent_count: usize) -> &[[f64; 2]] {
        self.polygon.corners.of(tangent_count)
    }

    /// The problem with the polygons for circles, so that it can be judged by itself; none where it
    /// has them already.
    fn adopted(&self, problem: &ContactProblem) -> Option<ContactProblem> {
        let set = |group: Group| self.friction_set(group.tangents.len(), group.shape, group.phantom);
        let is_circle = |group: &Group| group.tangents.len() == 2 && *group.shape == FrictionShape::Ball;
        problem.groups().find(is_circle)?;
        let mut adopted = problem.clone();
        adopted.shapes_mut().zip(problem.groups()).for_each(|(shape, group)| *shape = set(group));
        Some(adopted)
    }

    /// Whether the tangent rows of the last problem depended on each other, exactly or so nearly
    /// that it was not solved without relaxing them: its motion is right where the report says so,
    /// but friction forces may be one choice of many.
    pub fn was_relaxed(&self) -> bool {
        self.was_relaxed
    }

    /// The LCP in $\lambda_n$, $\kappa_+$, $\kappa_-$ that stands for a contact problem whose
    /// inertia is factored.
    ///
    /// # Errors
    /// [`ContactError::RedundantRows`] when tangent rows depend on each other; else as for
    /// [`solve`](Self::solve).
    pub fn lcp(&mut self, problem: &ContactProblem) -> Result<Lcp, ContactError> {
        self.lcp_along(problem, None)
    }

    /// As [`lcp`](Self::lcp), with normal forces that act along these rows and not along the
    /// normals.
    pub(crate) fn lcp_along(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
    ) -> Result<Lcp, ContactError> {
        self.state(problem, force_rows)?;
        match self.stated.eliminate(&self.work.rows, &[], &mut self.lcp) {
            Ok(()) => Ok(self.lcp.clone()),
            Err(ProblemError::SingularFreeBlock { size, smallest_pivot }) => {
                Err(ContactError::RedundantRows { size, smallest_pivot })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// States a problem in the form (8), its rows not relaxed.
    fn state(&mut self, problem: &ContactProblem, force_rows: Option<&[Row]>) -> Result<(), ContactError> {
        let Self { stated, work: LcpWorkspace { rows, .. }, .. } = self;
        rows.begin();
        problem.contacts.iter().for_each(|contact| rows.push(contact.normal.entries(), contact.normal_bias));
        stated.normal_count = problem.contacts.len();
        stated.groups.clear();
        stated.lines.clear();
        for group in problem.groups() {
            if group.has_friction() {
                check_tangents(&group)?;
            }
            group.phantom.check()?;
            let own = group.phantom.lines.map(Polygon::with_lines).transpose()?;
            let polygon = own.as_ref().unwrap_or(&self.polygon);
            let rho = group.phantom.rho.or(self.settings.rho);
            let count = group.rough_tangents().len();
            check_independence(count, polygon.lines.len(), rho)?;
            let (row, line) = (rows.count(), stated.lines.len());
            rows.push_tangents(&group);
            stated.lines.extend_from_slice(polygon.lines(count));
            let (rows, lines) = (row..row + count, line..stated.lines.len());
            stated.groups.push(Sliding { rows, lines, mu: group.mu, bound: group.bound, rho });
        }
        // A row without any mobility is relaxed by one, and its force stays zero.
        let mobility = |row: &Row| Some(mobility(&problem.inertia, row)).filter(|m| *m > 0.0).unwrap_or(1.0);
        stated.mobilities.clear();
        stated.mobilities.extend(problem.contacts.iter().map(|contact| mobility(&contact.normal)));
        stated.mobilities.extend(problem.groups().flat_map(|group| group.rough_tangents()).map(mobility));
        rows.condense(problem, force_rows)?;
        let (count, delassus) = (rows.count(), &rows.delassus);
        if let Some(place) = delassus.iter().position(|entry| !entry.is_finite()) {
            let (row, column, value) = (place % count, place / count, delassus[place]);
            return Err(ProblemError::NotFinite { what: "the Delassus matrix", row, column, value }.into());
        }
        stated.relaxation.clear();
        stated.relaxation.resize(count, 0.0);
        stated.choose_rho(delassus);
        Ok(())
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a contact has more tangent rows than polygonal friction can treat. A
    /// problem that was not solved is not an error but a status of the report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve_along(problem, None, solution)
    }

    /// As [`solve`](Self::solve), with normal forces that act along these rows and not along the
    /// normals.
    pub(crate) fn solve_along(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
        solution: &mut ContactSolution,
    ) -> Result<(), ContactError> {
        if let Some(adopted) = self.adopted(problem) {
            return self.solve_along(&adopted, force_rows, solution);
        }
        self.state(problem, force_rows)?;
        let Self { stated, lcp, work, settings: PhantomInertiaSettings { lemke, warm_start, .. }, .. } = self;
        work.recall(*warm_start, problem, stated.unknown_count(), |group| stated.places(group));
        work.memory.forget();
        let is_done = match stated.eliminate(&work.rows, &[], lcp) {
            Ok(()) => {
                work.lemke.solve_or_enumerate(lcp, lemke, &work.start, &mut work.answer);
                self.complete((problem, force_rows), solution);
                // Else the rows may be redundant up to rounding: an answer that does not obey the
                // laws, or a path into noise.
                matches!(solution.report.status, SolveStatus::Solved | SolveStatus::NoSolution)
            }
            Err(ProblemError::SingularFreeBlock { .. }) => {
                solution.report.status = SolveStatus::Breakdown;
                (solution.report.residual, solution.report.iterations) = (f64::INFINITY, 0);
                false
            }
            Err(error) => return Err(error.into()),
        };
        if !is_done {
            self.solve_relaxed((problem, force_rows), solution)?;
        }
        self.was_relaxed = !is_done;
        if self.settings.warm_start && solution.report.is_solved() {
            let Self { stated, work, .. } = self;
            work.memory.store(problem, work.lemke.basis(), |group| stated.places(group));
        }
        Ok(())
    }

    /// The solution that belongs to the answer of the LCP, judged.
    fn complete(&mut self, problem: (&ContactProblem, Option<&[Row]>), solution: &mut ContactSolution) {
        let Self { stated, work, .. } = self;
        stated.impulses(&work.answer.z, &mut work.impulses);
        let normals = stated.normal_count;
        let at = |group: usize, impulses: &[f64]| {
            impulses_at((group < normals).then_some(group), stated.groups[group].rows.clone(), impulses)
        };
        work.complete(problem, &own_set, &self.settings.lemke, at, solution);
    }

    /// Relaxes all rows and repeats until the relaxation has no effect left. The best point by the
    /// residual of the laws is the answer.
    fn solve_relaxed(
        &mut self,
        problem: (&ContactProblem, Option<&[Row]>),
        solution: &mut ContactSolution,
    ) -> Result<(), ContactError> {
        let limit = lcp_limit(problem.0, &self.settings.lemke);
        let (mut epsilon, mut slow, mut previous) = (RELAXATION, 0, f64::INFINITY);
        let mut pivots = solution.report.iterations;
        for repetition in 0..RELAXED_SOLVES {
            let Self { stated, lcp, work, .. } = self;
            if slow >= PATIENCE && epsilon > SMALLEST_RELAXATION {
                (epsilon, slow) = (LESS_RELAXED * epsilon, 0);
            }
            stated.relaxation.clear();
            stated.relaxation.extend(stated.mobilities.iter().map(|mobility| epsilon * mobility));
            let last: &[f64] = if repetition > 0 { &work.impulses } else { &[] };
            match stated.eliminate(&work.rows, last, lcp) {
                Ok(()) => {}
                Err(ProblemError::SingularFreeBlock { .. }) => break,
                Err(error) => return Err(error.into()),
            }
            if repetition > 0 {
                work.start_from_basis();
            }
            work.lemke.solve_or_enumerate(lcp, &self.settings.lemke, &work.start, &mut work.answer);
            pivots += work.answer.report.iterations;
            if !matches!(work.answer.report.status, SolveStatus::Solved | SolveStatus::Inaccurate) {
                break;
            }
            let mut candidate = std::mem::take(&mut self.candidate);
            self.complete(problem, &mut candidate);
            let (residual, before) = (candidate.report.residual, solution.report.residual);
            if !residual.is_finite() {
                break;
            }
            if residual < before || repetition == 0 && before.is_infinite() {
                std::mem::swap(solution, &mut candidate);
            }
            self.candidate = candidate;
            if before <= limit && residual > WORTH_REPEATING * before {
                break;
            }
            slow += usize::from(residual > WORTH_REPEATING * previous);
            previous = residual;
        }
        solution.report.iterations = pivots;
        Ok(())
    }

    /// The solution that belongs to a point of the LCP that [`lcp_along`](Self::lcp_along) stated
    /// last, judged by the laws.
    pub(crate) fn solution_at(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
        z: &[f64],
    ) -> ContactSolution {
        if let Some(adopted) = self.adopted(problem) {
            return self.solution_at(&adopted, force_rows, z);
        }
        let mut solution = ContactSolution::default();
        self.work.answer = LcpSolution { z: z.to_vec(), ..Default::default() };
        self.work.answer.report = SolveReport { size: z.len(), ..solution.report.clone() };
        self.complete((problem, force_rows), &mut solution);
        solution
    }
}

impl Stated {
    fn unknown_count(&self) -> usize {
        self.normal_count + 2 * self.lines.len()
    }

    fn places(&self, group: usize) -> Places {
        places([self.normal_count, self.lines.len()], &self.groups[group].lines, group)
    }

    /// Eliminates the friction forces, and writes the LCP in $z = (\lambda_n, \kappa_+, \kappa_-)$.
    /// Where the rows are relaxed, what this does to the last impulses, row by row, is taken back.
    fn eliminate(&mut self, rows: &Rows, last: &[f64], lcp: &mut Lcp) -> Result<(), ProblemError> {
        let (r, k, count) = (self.normal_count, self.lines.len(), rows.count());
        let (m, size) = (count - r, r + 2 * k);
        let delassus = |j: usize| &rows.delassus[j * count..(j + 1) * count];
        self.factors.factor(m, |j, column| {
            column.copy_from_slice(&delassus(r + j)[r..]);
            column[j] += self.relaxation[r + j];
        })?;
        // F and E, and then X and Y.
        self.slopes.clear();
        (0..r).for_each(|j| self.slopes.extend_from_slice(&delassus(j)[r..]));
        self.slopes.resize((r + k) * m, 0.0);
        for group in &self.groups {
            for line in group.lines.clone() {
                let first = (r + line) * m + group.rows.start - r;
                self.slopes[first..first + group.rows.len()].copy_from_slice(&self.lines[line][..group.rows.len()]);
            }
        }
        self.factors.solve_in_place(&mut self.slopes);

        let (mut entries, mut offset) = lcp.take_data();
        entries.clear();
        entries.resize(size * size, 0.0);
        for (j, column) in entries.chunks_exact_mut(size.max(1)).take(r).enumerate() {
            column[..r].copy_from_slice(&delassus(j)[..r]);
            column[j] += self.relaxation[j];
            self.add_rates(rows, -1.0, &self.slopes[j * m..(j + 1) * m], column);
            for line in self.groups[j].lines.clone() {
                column[r + line] += self.groups[j].mu;
                column[r + k + line] += self.groups[j].mu;
            }
        }
        for group in &self.groups {
            for line in group.lines.clone() {
                let (plus, minus) = (r + line, r + k + line);
                for (column, sign) in [(plus, 1.0), (minus, -1.0)] {
                    let slope = &self.slopes[plus * m..(plus + 1) * m];
                    self.add_rates(rows, sign, slope, &mut entries[column * size..(column + 1) * size]);
                }
                // σ₋ stands against κ₊ and carries ρ κ₋; σ₊ stands against κ₋ and carries ρ κ₊.
                entries[minus * size + plus] += group.rho.unwrap_or(0.0);
                entries[plus * size + minus] += group.rho.unwrap_or(0.0);
            }
        }
        // x₀ and q.
        let relaxed = self.relaxation.iter().zip(last.iter().chain(std::iter::repeat(&0.0)));
        offset.clear();
        offset.extend(rows.free_rates.iter().zip(relaxed).map(|(rate, (epsilon, impulse))| rate - epsilon * impulse));
        self.constant.clear();
        self.constant.extend(offset.drain(r..));
        self.factors.solve_in_place(&mut self.constant);
        for _ in 0..2 {
            offset.extend(self.groups.iter().flat_map(|group| group.lines.clone().map(|_| group.bound)));
        }
        self.add_rates(rows, -1.0, &self.constant, &mut offset);
        lcp.state(entries, offset)
    }

    /// Adds a multiple of the rates that friction forces $x$ make to a column: $B x$ to the
    /// normals, $E^T x$ to $\sigma_-$, and $-E^T x$ to $\sigma_+$.
    fn add_rates(&self, rows: &Rows, factor: f64, x: &[f64], column: &mut [f64]) {
        let (r, k, count) = (self.normal_count, self.lines.len(), rows.count());
        for (j, force) in x.iter().enumerate().filter(|(_, force)| **force != 0.0) {
            let rates = &rows.delassus[(r + j) * count..][..r];
            column.iter_mut().zip(rates).for_each(|(rate, own)| *rate += factor * own * force);
        }
        for group in &self.groups {
            let own = &x[group.rows.start - r..group.rows.end - r];
            for line in group.lines.clone() {
                let along: f64 = own.iter().zip(&self.lines[line]).map(|(force, e)| force * e).sum();
                column[r + line] += factor * along;
                column[r + k + line] -= factor * along;
            }
        }
    }

    /// The impulses by row that belong to the unknowns: $\lambda_n$, and
    /// $x = -x_0 - X \lambda_n + Y (\kappa_+ - \kappa_-)$.
    fn impulses(&self, z: &[f64], out: &mut Vec<f64>) {
        let (r, k, m) = (self.normal_count, self.lines.len(), self.constant.len());
        out.clear();
        out.extend_from_slice(&z[..r]);
        out.extend(self.constant.iter().map(|constant| -constant));
        let factors = z[..r].iter().map(|normal| -normal).chain((r..r + k).map(|i| z[i] - z[i + k]));
        for (column, factor) in self.slopes.chunks_exact(m.max(1)).zip(factors) {
            out[r..].iter_mut().zip(column).for_each(|(force, slope)| *force += factor * slope);
        }
    }

    /// The phantom inertia of each group that has none: half of the smallest that could make the
    /// rank drop.
    ///
    /// With $E E^T = g$ ($k/2$ in space, 1 in the plane) the block $2S - \rho$ is singular only if
    /// $A - 2 g / \rho$ is, where $\rho$ may differ from contact to contact. The sum of the norms
    /// of a contact's row of blocks bounds $A$ from above (Gershgorin), so that $\rho = g$ over
    /// that sum leaves $2 g / \rho - A$ positive definite: the condition
    /// $0 < \rho < 2 \lambda^+_{\min}(S)$, kept with a factor of two. For a single particle all
    /// eigenvalues of the block then have the same size.
    fn choose_rho(&mut self, delassus: &[f64]) {
        let count = self.relaxation.len();
        let entry = |i: usize, j: usize| delassus[j * count + i].abs();
        let norm = |rows: &Range<usize>, columns: &Range<usize>| {
            let by_row = rows.clone().map(|i| columns.clone().map(|j| entry(i, j)).sum::<f64>());
            let by_column = columns.clone().map(|j| rows.clone().map(|i| entry(i, j)).sum::<f64>());
            (by_row.fold(0.0, f64::max) * by_column.fold(0.0, f64::max)).sqrt()
        };
        for i in 0..self.groups.len() {
            let Sliding { rows, lines, .. } = &self.groups[i];
            let g = if rows.len() == 2 { 0.5 * lines.len() as f64 } else { 1.0 };
            let mobility: f64 = self.groups.iter().map(|other| norm(rows, &other.rows)).sum();
            // A contact between bodies that cannot move has no mobility, and any ρ will do.
            self.groups[i].rho.get_or_insert(if mobility > 0.0 { g / mobility } else { 1.0 });
        }
    }
}

#[cfg(test)]
mod tests;

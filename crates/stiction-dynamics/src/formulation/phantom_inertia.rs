//! Phantom inertia: polygonal friction whose linear complementarity problem has full rank.
//!
//! \[PKF\] (1)-(8). Not the friction force but the sliding is spanned by finitely many directions: $k$ lines through the tangent plane
//! with unit vectors $e_j$ at the angles $j \pi / k$, the columns of $E$. With $u$ for the paper's $\dot v$, $T$ for $J_t$, $n$ for
//! $J_n$, and the friction bound $\mu \lambda_n + a$:
//!
//! $$ \begin{aligned}
//! T u + b_t &= E \kappa_+ - E \kappa_-, && (1) \\\\
//! 0 \le \kappa_+ &\perp \sigma_- = \mu \lambda_n + a + E^T \lambda_t + \rho \kappa_- \ge 0, && (7) \\\\
//! 0 \le \kappa_- &\perp \sigma_+ = \mu \lambda_n + a - E^T \lambda_t + \rho \kappa_+ \ge 0, && (6) \\\\
//! 0 \le \lambda_n &\perp n u + b_n \ge 0. && (5)
//! \end{aligned} $$
//!
//! The phantom inertia $\rho > 0$ (a mass, in kg) changes no motion: both $\kappa_{j+}$ and $\kappa_{j-}$ positive would need
//! $2 (\mu \lambda_n + a) + \rho (\kappa_{j+} + \kappa_{j-}) = 0$, so that where it acts, it enlarges a slack that is no bound. The paper
//! states the model for accelerations; it holds unchanged for velocities at the end of a step, with impulses for forces.
//!
//! The motion $u$ and the free forces $x = (\lambda_j, \lambda_t)$ of joints and friction are eliminated from (8), the Schur complement
//! that the paper describes; $\lambda_n$, $\kappa_+$, $\kappa_-$ in this order are left. With the Delassus blocks $A$ of the free rows, $N$ of
//! the normal rows, $F$ and $B$ between them ($F = J W^{-1} n^T$, $B = n W^{-1} J^T$), $E$ filled up by zeros in the rows of joints, and the
//! rates $a$, $b$ of the free and the normal rows in free motion,
//!
//! $$ x = -x_0 - X \lambda_n + Y (\kappa_+ - \kappa_-), \qquad X = A^{-1} F, \quad Y = A^{-1} E, \quad x_0 = A^{-1} a, $$
//!
//! $$ \begin{pmatrix} \dot u_n \\\\ \sigma_- \\\\ \sigma_+ \end{pmatrix} =
//! \begin{pmatrix} N - B X & B Y & -B Y \\\\ \mu - E^T X & S & \rho - S \\\\ \mu + E^T X & \rho - S & S \end{pmatrix}
//! \begin{pmatrix} \lambda_n \\\\ \kappa_+ \\\\ \kappa_- \end{pmatrix} +
//! \begin{pmatrix} b - B x_0 \\\\ \bar a - E^T x_0 \\\\ \bar a + E^T x_0 \end{pmatrix}, \qquad S = E^T A^{-1} E, $$
//!
//! with $\bar a$ for the load-independent part of each bound. Sum and difference of the rows of $\kappa$ decouple into $\rho$ and
//! $2 S - \rho$. So the rank is full for almost every $\rho$, not for every one as the paper says: not where $\rho / 2$ is an eigenvalue of
//! $S$.
//!
//! Without phantom inertia, $\rho = 0$, the problem is that of the models before. Its columns of $\kappa_+$ and $\kappa_-$ are opposite, so that it has a
//! rank of $k$ too little for every number of lines, and not for dependent ones only, as the paper says. As long as the lines are independent, one along a single
//! tangent or two in space, the motion still determines $\kappa$, and Lemke's method finds it: $\rho = 0$ is let pass there. Dependent lines with $\rho = 0$ are refused.
//!
//! The number of lines $k_i$ and the inertia $\rho_i$ may differ from contact to contact, as in (6)-(8): [`PhantomContact`].
//!
//! The friction set is the polygon $|e_j^T \lambda_t| \le \mu \lambda_n + a$ with $2k$ sides, circumscribed about the circle: friction is
//! never too small, and too large by at most the factor $1 / \cos(\pi / 2k)$. In the plane one line describes Coulomb's law exactly.
//!
//! Where joint and tangent rows depend on each other (several coplanar contacts of one body), $A$ is singular, whatever $\rho$ is. Then
//! all rows are relaxed, $A + \varepsilon \operatorname{diag} A$ and $N + \varepsilon \operatorname{diag} N$, the paper's "constraint
//! relaxation", and the error that this makes is taken back by repeating with $a - \varepsilon \operatorname{diag} A \cdot x$ and
//! $b - \varepsilon \operatorname{diag} N \cdot \lambda_n$, with the last forces; where this is slow, with a smaller $\varepsilon$. The normals belong to it: with them unrelaxed, the normal
//! forces of a redundant contact may jump from one choice to another at every repetition, and their friction with them. A least-norm
//! elimination would be shorter, and wrong: it prescribes how the friction is shared before it is known which contact has reached its
//! bound.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use stiction_solve::PortableMath as _;
use stiction_solve::{DenseLu, Lcp, LcpSolution, Lemke, LemkeSettings, ProblemError, SolveStatus};

use super::basis_memory::{BasisMemory, Places};
use super::pyramid::MOST_DIRECTIONS;
use super::rows::check_tangents;
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings, StatedSet};
use crate::judge::{Judge, solved_limit};
use crate::setting::{Named, SettingError, Suffix};
use crate::{
    ContactCondition, ContactError, ContactImpulse, ContactProblem, ContactSolution, FrictionShape, Polytope, Row,
    StatedProblem,
};

/// What the method does differently for one contact: $k_i$ and $\rho_i$ of \[PKF\] (6)-(7). Other methods have no use for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PhantomContact {
    /// Number of lines through the tangent plane of this contact in space, at least two; that of the method when it is not given.
    #[serde(deserialize_with = "own_lines_from_file", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub lines: Option<usize>,
    /// Phantom inertia of this contact in kg, not negative; that of the method when it is not given.
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

/// Relaxation $\varepsilon$ of redundant rows, relative to their diagonal, at first. Too large: more repetitions until its error is gone.
/// Too small: the problem of the repetition is as good as singular, and Lemke's method works with rounding noise.
const RELAXATION: f64 = 1e-3;

/// Where repetitions are slow, the relaxation becomes smaller by this factor, as long as it is above this value.
const LESS_RELAXED: f64 = 0.1;
const SMALLEST_RELAXATION: f64 = 2e-6;

/// Slow repetitions after which the relaxation becomes smaller. Too few: it is small before the active set is right, and Lemke's
/// method has the harder problem. Too many: repetitions in vain.
const PATIENCE: usize = 3;

/// Repetitions of the relaxed problem, at most. Each takes the error down by about $\varepsilon$ over the smallest eigenvalue of the
/// scaled rows once the active set is right: a handful for a box on the floor or a low tower, more for a high one, whose smallest
/// eigenvalue is that of a slender beam.
const RELAXED_SOLVES: usize = 120;

/// A repetition that does not reduce the residual by this factor is slow. It is the last, provided that the residual was within the
/// tolerance before.
const WORTH_REPEATING: f64 = 0.5;

/// Settings of the phantom inertia method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PhantomInertiaSettings {
    /// Number $k$ of lines through the tangent plane of contacts in space, at least two: the friction polygon has $2k$ sides. In the
    /// plane there is always one.
    #[serde(deserialize_with = "lines_from_file")]
    #[schemars(range(min = 2))]
    pub lines: usize,
    /// Phantom inertia $\rho$, in kg, of every contact that has none of its own. Without it, it is chosen for each contact near its effective mass, where the
    /// condition of the problem is best. Much too small or large: an ill-conditioned problem, though with the same answer. Zero: for two lines, or in the plane.
    #[serde(deserialize_with = "rho_from_file", skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// Start each solve from the basis of the last one. Faster; where forces are not unique, it stays with those of the last step.
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
    /// [`ContactError::Directions`] with fewer than two lines, which do not span the tangent plane; [`ContactError::PhantomInertia`]
    /// when $\rho$ is negative or not finite.
    pub fn check(&self) -> Result<(), ContactError> {
        check_lines(self.lines)?;
        self.rho.map_or(Ok(()), check_rho)
    }
}

impl MethodSettings for PhantomInertiaSettings {
    fn facts(&self) -> MethodFacts {
        MethodFacts {
            named: Named {
                name: "phantom-inertia",
                summary: "Discrete acceleration with phantom inertia: the full-rank problem of [PKF].",
                suffixes: &[Suffix::Count { of: "lines", key: "lines" }],
            },
            sets: FrictionSets::Circle,
            is_exact: false,
        }
    }

    fn lemke(&self) -> Option<&LemkeSettings> {
        Some(&self.lemke)
    }

    fn check(&self, tangent_count: usize) -> Result<(), SettingError> {
        let remedy = "give 2 to 500 `lines`, and a positive `rho` or none; with 2 lines `rho` may be 0";
        let unusable =
            |error: ContactError| SettingError { keys: Vec::new(), message: error.to_string(), remedy: remedy.into() };
        self.check().and_then(|()| check_independence(tangent_count, self.lines, self.rho)).map_err(unusable)
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(PhantomInertia::new(self.clone())?))
    }
}

impl Formulation for PhantomInertia {
    fn check_set(&self, what: &dyn Fn() -> String, set: StatedSet<'_>) -> Result<(), ContactError> {
        set.refuse_of_user(what, "the method `phantom-inertia`")?;
        let is_own = || set.axes == [1.0; 3] && self.is_own(set.tangent_count, set.shape, set.phantom);
        if set.is_round() || is_own() {
            return Ok(());
        }
        Err(ContactError::NotRound { what: what(), method: "phantom-inertia" })
    }

    fn friction_set(&self, tangent_count: usize, shape: &FrictionShape, phantom: PhantomContact) -> FrictionShape {
        let own = Self::own_set(tangent_count, shape, phantom);
        own.unwrap_or_else(|| self.set(tangent_count, shape).clone())
    }

    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve(problem, solution)
    }

    fn forget(&mut self) -> bool {
        self.forget()
    }

    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        Ok(StatedProblem::Lcp(self.clone().lcp(problem)?))
    }

    fn duplicate(&self) -> Box<dyn Formulation> {
        Box::new(self.clone())
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
fn lines_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let lines = usize::deserialize(deserializer)?;
    check_lines(lines).map_err(D::Error::custom)?;
    Ok(lines)
}

fn own_lines_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    lines_from_file(deserializer).map(Some)
}

fn rho_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let rho = Option::<f64>::deserialize(deserializer)?;
    rho.map_or(Ok(()), check_rho).map_err(D::Error::custom)?;
    Ok(rho)
}

/// The line of a single tangent, and the corners of its friction set.
const ONE_LINE: [[f64; 2]; 1] = [[1.0, 0.0]];
const TWO_CORNERS: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

/// The phantom inertia method with its workspace.
#[derive(Clone, Debug)]
pub struct PhantomInertia {
    settings: PhantomInertiaSettings,
    /// Lines and friction polygon in space, of contacts that have none of their own.
    polygon: Arc<Polygon>,
    stated: Stated,
    lcp: Lcp,
    lemke: Lemke,
    answer: LcpSolution,
    /// Forces of the free rows.
    free: Vec<f64>,
    /// The offset of the LCP, where only that changes.
    offset: Vec<f64>,
    /// An answer that may be better than the one before.
    candidate: ContactSolution,
    /// Which unknowns the next solve starts with.
    start: Vec<bool>,
    memory: BasisMemory,
    was_relaxed: bool,
    judge: Judge,
}

/// Lines through a tangent plane, and the friction polygon that belongs to them.
#[derive(Debug)]
struct Polygon {
    /// The unit vectors $e_j$.
    lines: Vec<[f64; 2]>,
    /// The corners, opposites half a turn apart.
    corners: Vec<[f64; 2]>,
    /// The polygon as a friction set.
    set: FrictionShape,
}

impl Polygon {
    /// The polygon with this many lines. It is made once, so that its set is the same wherever it is asked for.
    fn with_lines(k: usize) -> Result<Arc<Self>, ContactError> {
        static KNOWN: Mutex<BTreeMap<usize, Arc<Polygon>>> = Mutex::new(BTreeMap::new());
        check_lines(k)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(polygon) = known.get(&k) {
            return Ok(polygon.clone());
        }
        let polygon = Arc::new(Self::new(k)?);
        known.insert(k, polygon.clone());
        Ok(polygon)
    }

    fn new(k: usize) -> Result<Self, ContactError> {
        let line = |j: usize| {
            if 2 * j == k {
                return [0.0, 1.0];
            }
            let (sine, cosine) = (std::f64::consts::PI * j as f64 / k as f64).portable_sin_cos();
            [cosine, sine]
        };
        let half_angle = std::f64::consts::FRAC_PI_2 / k as f64;
        let corner = |j: usize| {
            let (sine, cosine) = ((2 * j + 1) as f64 * half_angle).portable_sin_cos();
            [cosine / half_angle.portable_cos(), sine / half_angle.portable_cos()]
        };
        let opposites = (0..k).map(|j| corner(j).map(|x| -x));
        let corners: Vec<[f64; 2]> = (0..k).map(corner).chain(opposites).collect();
        let polytope = Polytope::from_corners(corners.iter().map(|&[t, o]| [t, o, 0.0]).collect());
        let polytope = polytope.map_err(|error| ContactError::Directions(error.to_string()))?;
        Ok(Self { lines: (0..k).map(line).collect(), corners, set: FrictionShape::Polytope(Arc::new(polytope)) })
    }
}

/// The friction set of the method for this many tangent rows, of which the polygon is that in space.
fn set<'a>(polygon: &'a FrictionShape, tangent_count: usize, shape: &'a FrictionShape) -> &'a FrictionShape {
    match (tangent_count, shape) {
        (2, FrictionShape::Ball) => polygon,
        _ => shape,
    }
}

/// A problem in the form (8), its motion eliminated, and the elimination of its free rows.
#[derive(Clone, Debug, Default)]
struct Stated {
    /// Where the rows are found: joints, tangents of contacts and of friction elements, normals.
    rows: Vec<RowPlace>,
    /// $W^{-1}$ times the rows along which the forces act.
    solved: Vec<Row>,
    /// The Delassus matrix over all rows, column after column, and the rates that they have in free motion.
    delassus: Vec<f64>,
    free_rates: Vec<f64>,
    /// $\sqrt{|J W^{-1} J^T|}$, row by row: brings rates and forces to the same unit, the root of an energy.
    roots: Vec<f64>,
    joint_count: usize,
    /// Number of joint and tangent rows.
    free_count: usize,
    /// Contacts, then friction elements.
    groups: Vec<Group>,
    /// The unit vectors $e_j$ of all groups, one after another: the columns of $E$.
    lines: Vec<[f64; 2]>,
    /// What is added to the diagonal of $A$; nothing, unless the rows are redundant.
    relaxation: Vec<f64>,
    factors: DenseLu,
    /// $X$ and $Y$, column after column, and $x_0$.
    by_normal: Vec<f64>,
    by_line: Vec<f64>,
    constant: Vec<f64>,
    /// A vector over the velocity coordinates, while it is needed.
    dense: Vec<f64>,
}

/// Where a row stands in the problem.
#[derive(Clone, Copy, Debug)]
enum RowPlace {
    Joint(usize),
    /// A tangent of a contact.
    Tangent(usize, usize),
    /// A tangent of a friction element.
    ElementTangent(usize, usize),
    Normal(usize),
}

impl RowPlace {
    /// The row and its bias.
    fn of(self, problem: &ContactProblem) -> (&Row, f64) {
        match self {
            Self::Joint(i) => (&problem.joints[i].row, problem.joints[i].bias),
            Self::Tangent(i, a) => (&problem.contacts[i].tangents[a], problem.contacts[i].tangent_bias[a]),
            Self::ElementTangent(i, a) => (&problem.friction[i].tangents[a], problem.friction[i].tangent_bias[a]),
            Self::Normal(i) => (&problem.contacts[i].normal, problem.contacts[i].normal_bias),
        }
    }
}

/// The row along which a normal force acts: the normal itself, or with the friction of a contact that slides.
fn force_row<'a>(problem: &'a ContactProblem, force_rows: Option<&'a [Row]>, contact: usize) -> &'a Row {
    force_rows.map_or(&problem.contacts[contact].normal, |rows| &rows[contact])
}

/// The friction of a contact or of a friction element.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Number of the contact; none for a friction element.
    contact: Option<usize>,
    /// First tangent row, and how many.
    tangent: usize,
    tangent_count: usize,
    /// The place of its first line among all, and how many.
    first_line: usize,
    line_count: usize,
    mu: f64,
    bound: f64,
    rho: f64,
}

impl PhantomInertia {
    /// The method with these settings.
    ///
    /// # Errors
    /// As for [`PhantomInertiaSettings::check`].
    pub fn new(settings: PhantomInertiaSettings) -> Result<Self, ContactError> {
        settings.check()?;
        Ok(Self {
            judge: Judge::default(),
            polygon: Polygon::with_lines(settings.lines)?,
            settings,
            stated: Stated::default(),
            lcp: Lcp::default(),
            lemke: Lemke::default(),
            answer: LcpSolution::default(),
            free: Vec::new(),
            offset: Vec::new(),
            candidate: ContactSolution::default(),
            start: Vec::new(),
            memory: BasisMemory::default(),
            was_relaxed: false,
        })
    }

    /// The settings.
    pub fn settings(&self) -> &PhantomInertiaSettings {
        &self.settings
    }

    /// The unit vectors $e_j$ of the lines for this many tangent rows.
    pub fn lines(&self, tangent_count: usize) -> &[[f64; 2]] {
        match tangent_count {
            0 => &[],
            1 => &ONE_LINE,
            _ => &self.polygon.lines,
        }
    }

    /// The corners of the friction set of unit bound for this many tangent rows: in space the polygon with $2k$ sides around the circle.
    pub fn corners(&self, tangent_count: usize) -> &[[f64; 2]] {
        match tangent_count {
            0 => &[],
            1 => &TWO_CORNERS,
            _ => &self.polygon.corners,
        }
    }

    /// The friction set with which the method replaces a shape, for this many tangent rows.
    pub(crate) fn set<'a>(&'a self, tangent_count: usize, shape: &'a FrictionShape) -> &'a FrictionShape {
        set(&self.polygon.set, tangent_count, shape)
    }

    /// The set of a contact that has lines of its own, where its shape is Coulomb's circle; none for all others.
    pub(crate) fn own_set(
        tangent_count: usize,
        shape: &FrictionShape,
        contact: PhantomContact,
    ) -> Option<FrictionShape> {
        let lines = contact.lines.filter(|_| tangent_count == 2 && *shape == FrictionShape::Ball)?;
        Polygon::with_lines(lines).ok().map(|polygon| polygon.set.clone())
    }

    /// Whether a shape is a set of the method, for a contact with this many tangent rows.
    pub(crate) fn is_own(&self, tangent_count: usize, shape: &FrictionShape, contact: PhantomContact) -> bool {
        let ball = FrictionShape::Ball;
        let own = Self::own_set(tangent_count, &ball, contact);
        shape == own.as_ref().unwrap_or_else(|| self.set(tangent_count, &ball))
    }

    /// The problem with the sets of contacts that have lines of their own, so that it can be judged by itself; none where it is that already.
    fn adopted(problem: &ContactProblem) -> Option<ContactProblem> {
        let own = |contact: &ContactCondition| {
            Self::own_set(contact.tangents.len(), &contact.friction_shape, contact.phantom)
        };
        problem.contacts.iter().find_map(own)?;
        let mut adopted = problem.clone();
        for contact in &mut adopted.contacts {
            if let Some(set) = own(contact) {
                contact.friction_shape = set;
            }
        }
        Some(adopted)
    }

    /// Whether the joint and tangent rows of the last problem depended on each other, exactly or so nearly that it was not solved
    /// without relaxing them: its motion is right where the report says so, but friction and joint forces may be one choice of many.
    pub fn was_relaxed(&self) -> bool {
        self.was_relaxed
    }

    /// The LCP in $\lambda_n$, $\kappa_+$, $\kappa_-$ that stands for a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError::RedundantRows`] when joint and tangent rows depend on each other; else as for [`solve`](Self::solve).
    pub fn lcp(&mut self, problem: &ContactProblem) -> Result<Lcp, ContactError> {
        self.lcp_along(problem, None)
    }

    /// As [`lcp`](Self::lcp), with normal forces that act along these rows and not along the normals.
    pub(crate) fn lcp_along(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
    ) -> Result<Lcp, ContactError> {
        self.stated.state(problem, force_rows, &self.polygon, self.settings.rho)?;
        match self.stated.eliminate(problem, &mut self.lcp) {
            Ok(()) => Ok(self.lcp.clone()),
            Err(ProblemError::SingularFreeBlock { size, smallest_pivot }) => {
                Err(ContactError::RedundantRows { size, smallest_pivot })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Forgets the last basis: the next problem is solved without a start. Whether there was one.
    pub(crate) fn forget(&mut self) -> bool {
        let was_warm = !self.memory.is_empty();
        self.memory.clear();
        was_warm
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a contact has more tangent rows than polygonal friction can treat. A problem that was not
    /// solved is not an error but a status of the report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve_along(problem, None, solution)
    }

    /// As [`solve`](Self::solve), with normal forces that act along these rows and not along the normals.
    pub(crate) fn solve_along(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
        solution: &mut ContactSolution,
    ) -> Result<(), ContactError> {
        if let Some(adopted) = Self::adopted(problem) {
            return self.solve_along(&adopted, force_rows, solution);
        }
        self.stated.state(problem, force_rows, &self.polygon, self.settings.rho)?;
        self.start.clear();
        if self.settings.warm_start {
            let count = self.stated.unknown_count(problem);
            self.memory.recall(problem, count, |group| self.stated.places(problem, group), &mut self.start);
        }
        self.memory.clear();
        let settings = &self.settings.lemke;
        let limit = solved_limit(problem.contacts.len()).min(settings.residual_tolerance);

        let mut is_done = false;
        match self.stated.eliminate(problem, &mut self.lcp) {
            Ok(()) => {
                self.lemke.solve_or_enumerate(&self.lcp, settings, &self.start, &mut self.answer);
                self.stated.recover(&self.answer.z, &mut self.free);
                self.stated.write(problem, &self.free, &self.answer.z, solution);
                solution.report = self.answer.report.clone();
                self.judge.pronounce(
                    problem,
                    force_rows,
                    &|count, shape| set(&self.polygon.set, count, shape),
                    limit,
                    solution,
                );
                // Else the rows may be redundant up to rounding: an answer that does not obey the laws, or a path into noise.
                is_done = matches!(solution.report.status, SolveStatus::Solved | SolveStatus::NoSolution);
            }
            Err(ProblemError::SingularFreeBlock { .. }) => {
                solution.report.status = SolveStatus::Breakdown;
                (solution.report.residual, solution.report.iterations) = (f64::INFINITY, 0);
            }
            Err(error) => return Err(error.into()),
        }
        if !is_done {
            self.solve_relaxed(problem, force_rows, solution)?;
        }
        self.was_relaxed = !is_done;
        if self.settings.warm_start && solution.report.is_solved() {
            self.memory.store(problem, self.lemke.basis(), |group| self.stated.places(problem, group));
        }
        Ok(())
    }

    /// Relaxes all rows and repeats until the relaxation has no effect left. The best point by the residual of the
    /// laws is the answer.
    fn solve_relaxed(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
        solution: &mut ContactSolution,
    ) -> Result<(), ContactError> {
        let Self { stated, lcp, lemke, answer, free, offset, candidate, start, judge, polygon, .. } = self;
        let settings = &self.settings.lemke;
        let limit = solved_limit(problem.contacts.len()).min(settings.residual_tolerance);
        let (mut epsilon, mut slow, mut last) = (RELAXATION, 0, f64::INFINITY);
        let mut pivots = solution.report.iterations;
        for repetition in 0..RELAXED_SOLVES {
            let is_too_slow = slow >= PATIENCE && epsilon > SMALLEST_RELAXATION;
            if is_too_slow {
                (epsilon, slow) = (LESS_RELAXED * epsilon, 0);
            }
            if repetition == 0 || is_too_slow {
                stated.relax(epsilon);
                match stated.eliminate(problem, lcp) {
                    Ok(()) => {}
                    Err(ProblemError::SingularFreeBlock { .. }) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            if repetition > 0 {
                stated.write_offset(free, &answer.z[..problem.contacts.len()], offset);
                lcp.set_offset(offset)?;
                start.clear();
                start.extend_from_slice(lemke.basis());
            }
            lemke.solve_or_enumerate(lcp, settings, start, answer);
            pivots += answer.report.iterations;
            stated.recover(&answer.z, free);
            let has_answer = matches!(answer.report.status, SolveStatus::Solved | SolveStatus::Inaccurate);
            if !has_answer || free.iter().any(|force| !force.is_finite()) {
                break;
            }
            stated.write(problem, free, &answer.z, candidate);
            candidate.report = answer.report.clone();
            judge.pronounce(problem, force_rows, &|count, shape| set(&polygon.set, count, shape), limit, candidate);
            let (residual, before) = (candidate.report.residual, solution.report.residual);
            if residual < before || repetition == 0 && before.is_infinite() {
                std::mem::swap(solution, candidate);
            }
            if before <= limit && residual > WORTH_REPEATING * before {
                break;
            }
            slow += usize::from(residual > WORTH_REPEATING * last);
            last = residual;
        }
        solution.report.iterations = pivots;
        Ok(())
    }

    /// The solution that belongs to a point of the LCP that [`lcp_along`](Self::lcp_along) stated last, judged by the laws.
    pub(crate) fn solution_at(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
        z: &[f64],
    ) -> ContactSolution {
        if let Some(adopted) = Self::adopted(problem) {
            return self.solution_at(&adopted, force_rows, z);
        }
        let mut solution = ContactSolution::default();
        self.stated.recover(z, &mut self.free);
        self.stated.write(problem, &self.free, z, &mut solution);
        solution.report.size = z.len();
        let limit = solved_limit(problem.contacts.len()).min(self.settings.lemke.residual_tolerance);
        self.judge.pronounce(
            problem,
            force_rows,
            &|count, shape| set(&self.polygon.set, count, shape),
            limit,
            &mut solution,
        );
        solution
    }
}

impl Stated {
    /// States a problem in the form (8), its rows not relaxed.
    fn state(
        &mut self,
        problem: &ContactProblem,
        force_rows: Option<&[Row]>,
        polygon: &Arc<Polygon>,
        rho: Option<f64>,
    ) -> Result<(), ContactError> {
        self.rows.clear();
        self.groups.clear();
        self.lines.clear();
        self.rows.extend((0..problem.joints.len()).map(RowPlace::Joint));
        self.joint_count = self.rows.len();
        for (i, contact) in problem.contacts.iter().enumerate() {
            let mut tangent_count = 0;
            if contact.mu > 0.0 || contact.extra_bound > 0.0 {
                check_tangents(&contact.tangents, || format!("contact {:?}", contact.id))?;
                tangent_count = contact.tangents.len();
            }
            let own = contact.phantom;
            own.check()?;
            let own_polygon = own.lines.map(Polygon::with_lines).transpose()?;
            let polygon = own_polygon.as_ref().unwrap_or(polygon);
            let rho = own.rho.or(rho);
            check_independence(tangent_count, polygon.lines.len(), rho)?;
            self.push_group(Some(i), tangent_count, &polygon.lines, rho, (contact.mu, contact.extra_bound));
            self.rows.extend((0..tangent_count).map(|a| RowPlace::Tangent(i, a)));
        }
        for (i, element) in problem.friction.iter().enumerate() {
            check_tangents(&element.tangents, || format!("friction element {}", element.id))?;
            check_independence(element.tangents.len(), polygon.lines.len(), rho)?;
            self.push_group(None, element.tangents.len(), &polygon.lines, rho, (0.0, element.bound));
            self.rows.extend((0..element.tangents.len()).map(|a| RowPlace::ElementTangent(i, a)));
        }
        self.free_count = self.rows.len();
        self.rows.extend((0..problem.contacts.len()).map(RowPlace::Normal));

        // The Delassus matrix over all rows, and the rates that they have in free motion.
        let count = self.rows.len();
        self.solved.resize_with(count.max(self.solved.len()), Row::new);
        self.delassus.clear();
        self.dense.clear();
        self.dense.resize(problem.free_motion.len(), 0.0);
        for (&place, solved) in self.rows.iter().zip(&mut self.solved) {
            let row = match place {
                RowPlace::Normal(i) => force_row(problem, force_rows, i),
                _ => place.of(problem).0,
            };
            problem.inertia.solve_row(row.entries(), solved);
            solved.add_to(1.0, &mut self.dense);
            self.delassus.extend(self.rows.iter().map(|place| place.of(problem).0.dot(&self.dense)));
            solved.entries().iter().for_each(|&(index, _)| self.dense[index] = 0.0);
        }
        if let Some(place) = self.delassus.iter().position(|entry| !entry.is_finite()) {
            let (row, column, value) = (place % count, place / count, self.delassus[place]);
            return Err(ProblemError::NotFinite { what: "the Delassus matrix", row, column, value }.into());
        }
        self.free_rates.clear();
        self.free_rates.extend(self.rows.iter().map(|place| {
            let (row, bias) = place.of(problem);
            row.dot(&problem.free_motion) + bias
        }));
        self.roots.clear();
        self.roots.extend((0..count).map(|i| self.delassus[i * count + i].abs().sqrt()));
        self.relaxation.clear();
        self.relaxation.resize(count, 0.0);
        choose_rho(&mut self.groups, &self.delassus, count);
        Ok(())
    }

    /// Adds a group whose tangent rows come next.
    fn push_group(
        &mut self,
        contact: Option<usize>,
        tangent_count: usize,
        lines_in_space: &[[f64; 2]],
        rho: Option<f64>,
        (mu, bound): (f64, f64),
    ) {
        let (tangent, first_line) = (self.rows.len(), self.lines.len());
        match tangent_count {
            0 => {}
            1 => self.lines.extend_from_slice(&ONE_LINE),
            _ => self.lines.extend_from_slice(lines_in_space),
        }
        let line_count = self.lines.len() - first_line;
        // What is not given is chosen when all groups are known.
        let rho = rho.unwrap_or(f64::NAN);
        self.groups.push(Group { contact, tangent, tangent_count, first_line, line_count, mu, bound, rho });
    }

    fn unknown_count(&self, problem: &ContactProblem) -> usize {
        problem.contacts.len() + 2 * self.lines.len()
    }

    /// Where the unknowns of a contact or friction element stand: $\lambda_n$, $\kappa_+$, $\kappa_-$.
    fn places(&self, problem: &ContactProblem, group: usize) -> Places {
        let (r, k) = (problem.contacts.len(), self.lines.len());
        let Group { contact, first_line, line_count, .. } = self.groups[group];
        let at = |first: usize| first + first_line..first + first_line + line_count;
        [contact.map_or(0..0, |contact| contact..contact + 1), at(r), at(r + k)]
    }

    /// Eliminates the free rows, and writes the LCP in $z = (\lambda_n, \kappa_+, \kappa_-)$.
    fn eliminate(&mut self, problem: &ContactProblem, lcp: &mut Lcp) -> Result<(), ProblemError> {
        let (m, r, k) = (self.free_count, problem.contacts.len(), self.lines.len());
        let count = m + r;
        let delassus = &self.delassus;
        self.factors.factor(m, |j, column| {
            column.copy_from_slice(&delassus[j * count..j * count + m]);
            column[j] += self.relaxation[j];
        })?;
        self.by_normal.clear();
        (m..count).for_each(|j| self.by_normal.extend_from_slice(&delassus[j * count..j * count + m]));
        self.factors.solve_in_place(&mut self.by_normal);
        self.by_line.clear();
        self.by_line.resize(m * k, 0.0);
        for group in &self.groups {
            for j in group.first_line..group.first_line + group.line_count {
                let first = j * m + group.tangent;
                self.by_line[first..first + group.tangent_count].copy_from_slice(&self.lines[j][..group.tangent_count]);
            }
        }
        self.factors.solve_in_place(&mut self.by_line);

        // The columns of λ_n, then those of κ₊, and those of κ₋ from them.
        let (mut entries, mut offset) = lcp.take_data();
        let size = r + 2 * k;
        entries.clear();
        entries.resize(size * size, 0.0);
        let (normal_columns, line_columns) = entries.split_at_mut(r * size);
        for j in 0..r {
            let (column, free) = (&mut normal_columns[j * size..(j + 1) * size], &self.by_normal[j * m..(j + 1) * m]);
            column[..r].copy_from_slice(&delassus[(m + j) * count + m..(m + j + 1) * count]);
            column[j] += self.relaxation[m + j];
            self.subtract_rates(free, r, column);
            for group in self.groups.iter().filter(|group| group.contact == Some(j)) {
                for line in group.first_line..group.first_line + group.line_count {
                    column[r + line] += group.mu;
                    column[r + k + line] += group.mu;
                }
            }
        }
        let (plus_columns, minus_columns) = line_columns.split_at_mut(k * size);
        for group in &self.groups {
            for line in group.first_line..group.first_line + group.line_count {
                let plus = &mut plus_columns[line * size..(line + 1) * size];
                let minus = &mut minus_columns[line * size..(line + 1) * size];
                self.subtract_rates(&self.by_line[line * m..(line + 1) * m], r, minus);
                plus.iter_mut().zip(&*minus).for_each(|(plus, minus)| *plus = -minus);
                // σ₋ stands against κ₊ and carries ρ κ₋; σ₊ stands against κ₋ and carries ρ κ₊.
                minus[r + line] += group.rho;
                plus[r + k + line] += group.rho;
            }
        }
        self.write_offset(&[], &[], &mut offset);
        lcp.state(entries, offset)
    }

    /// Takes the rates that the forces $f$ of the free rows give off a column: $B f$ from the normals, $E^T f$ from $\sigma_-$, and
    /// $-E^T f$ from $\sigma_+$.
    fn subtract_rates(&self, free: &[f64], r: usize, column: &mut [f64]) {
        let (m, k) = (self.free_count, self.lines.len());
        let count = m + r;
        let (normals, sigma) = column.split_at_mut(r);
        for (j, &force) in free.iter().enumerate() {
            if force != 0.0 {
                let rates = &self.delassus[j * count + m..(j + 1) * count];
                normals.iter_mut().zip(rates).for_each(|(normal, rate)| *normal -= rate * force);
            }
        }
        for group in &self.groups {
            for line in group.first_line..group.first_line + group.line_count {
                let own = &free[group.tangent..group.tangent + group.tangent_count];
                let along: f64 = own.iter().zip(&self.lines[line]).map(|(force, e)| force * e).sum();
                sigma[line] -= along;
                sigma[k + line] += along;
            }
        }
    }

    /// Writes $x_0$ and $q$. Where the rows are relaxed, what this does to these forces of the free rows and the normals is taken back.
    fn write_offset(&mut self, free: &[f64], normals: &[f64], offset: &mut Vec<f64>) {
        let m = self.free_count;
        let r = self.rows.len() - m;
        self.constant.clear();
        self.constant.extend_from_slice(&self.free_rates[..m]);
        offset.clear();
        offset.extend_from_slice(&self.free_rates[m..]);
        for (rates, relaxation, forces) in
            [(&mut self.constant, &self.relaxation[..m], free), (offset, &self.relaxation[m..], normals)]
        {
            rates
                .iter_mut()
                .zip(relaxation.iter().zip(forces))
                .for_each(|(rate, (epsilon, force))| *rate -= epsilon * force);
        }
        self.factors.solve_in_place(&mut self.constant);
        for _ in 0..2 {
            let bounds = self.groups.iter().flat_map(|group| std::iter::repeat_n(group.bound, group.line_count));
            offset.extend(bounds);
        }
        self.subtract_rates(&self.constant, r, offset);
    }

    /// The free unknowns that belong to the complementary ones: $x = -x_0 - X \lambda_n + Y (\kappa_+ - \kappa_-)$.
    fn recover(&self, z: &[f64], free: &mut Vec<f64>) {
        let (m, k) = (self.free_count, self.lines.len());
        free.clear();
        free.extend(self.constant.iter().map(|constant| -constant));
        if m == 0 {
            return;
        }
        let (normals, kappa) = z.split_at(z.len() - 2 * k);
        let mut add = |factor: f64, column: &[f64]| {
            if factor != 0.0 {
                free.iter_mut().zip(column).for_each(|(free, entry)| *free += factor * entry);
            }
        };
        self.by_normal.chunks_exact(m).zip(normals).for_each(|(column, force)| add(-force, column));
        let (plus, minus) = kappa.split_at(k);
        self.by_line.chunks_exact(m).zip(plus.iter().zip(minus)).for_each(|(column, (p, m))| add(p - m, column));
    }

    /// Relaxes all rows by this share of their diagonal.
    fn relax(&mut self, epsilon: f64) {
        let count = self.rows.len();
        let diagonal = |i: usize| self.delassus[i * count + i].abs();
        let largest = (0..count).fold(0.0f64, |largest, i| largest.max(diagonal(i)));
        for i in 0..count {
            self.relaxation[i] = epsilon
                * match diagonal(i) {
                    own if own > 0.0 => own,
                    // A row without any mobility is relaxed like the others, and its force stays zero.
                    _ if largest > 0.0 => largest,
                    _ => 1.0,
                };
        }
    }

    /// Forces and motion $u = u_\text{free} + W^{-1} J^T \lambda$ from the free and the complementary unknowns.
    fn write(&self, problem: &ContactProblem, free: &[f64], z: &[f64], solution: &mut ContactSolution) {
        solution.motion.clear();
        solution.motion.extend_from_slice(&problem.free_motion);
        let normal = &z[..problem.contacts.len()];
        for (solved, &force) in self.solved.iter().zip(free.iter().chain(normal)) {
            if force != 0.0 {
                solved.add_to(force, &mut solution.motion);
            }
        }
        solution.joints.clear();
        solution.joints.extend_from_slice(&free[..self.joint_count]);
        solution.contacts.clear();
        solution.friction.clear();
        for group in &self.groups {
            let mut tangent = [0.0; 3];
            let own = &free[group.tangent..group.tangent + group.tangent_count];
            tangent[..group.tangent_count].copy_from_slice(own);
            match group.contact {
                Some(i) => {
                    solution.contacts.push(ContactImpulse { id: problem.contacts[i].id, normal: normal[i], tangent });
                }
                None => solution.friction.push(tangent),
            }
        }
    }
}

/// The phantom inertia of each group that has none: half of the smallest that could make the rank drop.
///
/// With $E E^T = g$ ($k/2$ in space, 1 in the plane) the block $2S - \rho$ is singular only if $A - 2 g / \rho$ is, where $\rho$ may
/// differ from contact to contact. The sum of the norms of a contact's row of blocks bounds $A$ from above (Gershgorin), so that
/// $\rho = g$ over that sum leaves $2 g / \rho - A$ positive definite: the condition $0 < \rho < 2 \lambda^+_{\min}(S)$, kept with a factor
/// of two. For a single particle all eigenvalues of the block then have the same size.
fn choose_rho(groups: &mut [Group], delassus: &[f64], row_count: usize) {
    let entry = |i: usize, j: usize| delassus[j * row_count + i].abs();
    let norm = |first: &Group, second: &Group| {
        let (mut by_row, mut by_column) = (0.0f64, 0.0f64);
        for a in 0..2 {
            let (mut row_sum, mut column_sum) = (0.0, 0.0);
            for b in 0..2 {
                if a < first.tangent_count && b < second.tangent_count {
                    row_sum += entry(first.tangent + a, second.tangent + b);
                }
                if b < first.tangent_count && a < second.tangent_count {
                    column_sum += entry(first.tangent + b, second.tangent + a);
                }
            }
            (by_row, by_column) = (by_row.max(row_sum), by_column.max(column_sum));
        }
        (by_row * by_column).sqrt()
    };
    let chosen = |group: &Group, groups: &[Group]| {
        let mobility: f64 = groups.iter().map(|other| norm(group, other)).sum();
        let g = if group.tangent_count == 2 { 0.5 * group.line_count as f64 } else { 1.0 };
        // A contact between bodies that cannot move has no mobility, and any ρ will do.
        if mobility > 0.0 { g / mobility } else { 1.0 }
    };
    for i in 0..groups.len() {
        if groups[i].rho.is_nan() {
            groups[i].rho = chosen(&groups[i], groups);
        }
    }
}

#[cfg(test)]
mod tests;

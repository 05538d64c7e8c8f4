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
//! The motion $u$ and the free forces $\lambda_j$ (joints), $\lambda_t$ are eliminated from (8), the Schur complement that the paper
//! describes; $\lambda_n$, $\kappa_+$, $\kappa_-$ in this order are left. With $S = E^T A^{-1} E$, $A$ the Delassus matrix of the tangent
//! rows, sum and difference of the rows of $\kappa$ decouple into $\rho$ and $2 S - \rho$. So the rank is full for almost every
//! $\rho$, not for every one as the paper says: not where $\rho / 2$ is an eigenvalue of $S$.
//!
//! The friction set is the polygon $|e_j^T \lambda_t| \le \mu \lambda_n + a$ with $2k$ sides, circumscribed about the circle: friction is
//! never too small, and too large by at most the factor $1 / \cos(\pi / 2k)$. In the plane one line describes Coulomb's law exactly.
//!
//! Where joint and tangent rows depend on each other (several coplanar contacts of one body), $A$ is singular, whatever $\rho$ is. Then
//! the free rows are relaxed, $A + \varepsilon \operatorname{diag} A$, the paper's "constraint relaxation", and the error that
//! this makes is taken back by repeating with $a - \varepsilon \operatorname{diag} A \cdot x$, $x$ the last forces. A least-norm elimination
//! would be shorter, and wrong: it prescribes how the friction is shared before it is known which contact has reached its bound.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use stiction_solve::faer::Mat;
use stiction_solve::{Lcp, LcpSolution, Lemke, LemkeSettings, MixedLcp, ProblemError, SolveReport, SolveStatus};

use super::rows::check_tangents;
use crate::{ContactError, ContactImpulse, ContactProblem, ContactSolution, Row};

/// Number of lines in space when nothing else is said: the octagon, circumscribed.
const DEFAULT_LINES: usize = 4;

/// Relaxation $\varepsilon$ of redundant rows, relative to their diagonal. Too large: more repetitions until its error is gone. Too
/// small: the problem of the repetition is as good as singular, and Lemke's method works with rounding noise.
const RELAXATION: f64 = 1e-3;

/// Repetitions of the relaxed problem, at most. Each takes the error down by about $\varepsilon$ over the smallest eigenvalue of the
/// scaled rows once the active set is right: a handful for a box on the floor, some forty for a tower.
const RELAXED_SOLVES: usize = 120;

/// A repetition that does not reduce the residual by this factor was the last, provided that the residual is within the tolerance.
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
    /// Phantom inertia $\rho$, in kg, of every contact. Without it, it is chosen for each contact near its effective mass, where the
    /// condition of the problem is best. Much too small or large: an ill-conditioned problem, though with the same answer.
    #[serde(deserialize_with = "rho_from_file", skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// Settings of Lemke's method.
    pub lemke: LemkeSettings,
}

impl Default for PhantomInertiaSettings {
    fn default() -> Self {
        Self { lines: DEFAULT_LINES, rho: None, lemke: LemkeSettings::default() }
    }
}

impl PhantomInertiaSettings {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ContactError::Directions`] with fewer than two lines, which do not span the tangent plane; [`ContactError::PhantomInertia`]
    /// when $\rho$ is not positive and finite.
    pub fn check(&self) -> Result<(), ContactError> {
        check_lines(self.lines)?;
        self.rho.map_or(Ok(()), check_rho)
    }
}

fn check_lines(lines: usize) -> Result<(), ContactError> {
    if lines >= 2 {
        return Ok(());
    }
    let reason =
        format!("{lines} lines do not span the tangent plane; give at least 2, such as lines = {DEFAULT_LINES}");
    Err(ContactError::Directions(reason))
}

fn check_rho(rho: f64) -> Result<(), ContactError> {
    if rho > 0.0 && rho.is_finite() { Ok(()) } else { Err(ContactError::PhantomInertia { rho }) }
}

// Field by field, so that an error of a file points at its line.
fn lines_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let lines = usize::deserialize(deserializer)?;
    check_lines(lines).map_err(D::Error::custom)?;
    Ok(lines)
}

fn rho_from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let rho = Option::<f64>::deserialize(deserializer)?;
    rho.map_or(Ok(()), check_rho).map_err(D::Error::custom)?;
    Ok(rho)
}

/// The line of a single tangent.
const ONE_LINE: [[f64; 2]; 1] = [[1.0, 0.0]];

/// The phantom inertia method.
#[derive(Clone, Debug)]
pub struct PhantomInertia {
    settings: PhantomInertiaSettings,
    /// The unit vectors $e_j$ in space.
    lines: Vec<[f64; 2]>,
    lemke: Lemke,
    answer: LcpSolution,
    was_relaxed: bool,
}

/// A problem in the form (8), its motion eliminated.
struct Stated<'a> {
    /// Rows and biases: joints, tangents of contacts and of friction elements, normals.
    rows: Vec<(&'a Row, f64)>,
    /// The row along which each normal force acts: the normal itself, or with the friction of a contact that slides.
    force_rows: Vec<&'a Row>,
    /// $W^{-1}$ times the rows along which the forces act.
    solved: Vec<Row>,
    /// $\sqrt{|J W^{-1} J^T|}$, row by row: brings rates and forces to the same unit, the root of an energy.
    roots: Vec<f64>,
    joint_count: usize,
    /// Number of joint and tangent rows.
    free_count: usize,
    /// Contacts, then friction elements.
    groups: Vec<Group<'a>>,
    /// Number of lines of all groups.
    line_count: usize,
    free_by_free: Mat<f64>,
    free_by_complementary: Mat<f64>,
    complementary_by_free: Mat<f64>,
    complementary_by_complementary: Mat<f64>,
    free_offset: Vec<f64>,
    complementary_offset: Vec<f64>,
}

/// The friction of a contact or of a friction element.
struct Group<'a> {
    /// Number of the contact; none for a friction element.
    contact: Option<usize>,
    /// First tangent row, and how many.
    tangent: usize,
    tangent_count: usize,
    /// The unit vectors $e_j$, and the place of the first among all lines.
    lines: &'a [[f64; 2]],
    first_line: usize,
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
        let k = settings.lines;
        let line = |j: usize| {
            if 2 * j == k {
                return [0.0, 1.0];
            }
            let (sine, cosine) = (std::f64::consts::PI * j as f64 / k as f64).sin_cos();
            [cosine, sine]
        };
        Ok(Self {
            lines: (0..k).map(line).collect(),
            settings,
            lemke: Lemke::default(),
            answer: LcpSolution::default(),
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
            _ => &self.lines,
        }
    }

    /// Largest friction power per unit of the bound that the polygon allows against this sliding velocity $s$:
    /// $\min \sum_j |\kappa_j|$ over $s = \sum_j \kappa_j e_j$, reached at a corner of the polygon.
    pub fn friction_support(&self, tangent_count: usize, slip: &[f64; 3]) -> f64 {
        match tangent_count {
            0 => 0.0,
            1 => slip[0].abs(),
            _ => {
                let reach = self.friction_reach(tangent_count);
                let corners = (0..self.lines.len()).map(|j| {
                    let angle = std::f64::consts::PI * (j as f64 + 0.5) / self.lines.len() as f64;
                    reach * (angle.cos() * slip[0] + angle.sin() * slip[1]).abs()
                });
                corners.fold(0.0, f64::max)
            }
        }
    }

    /// Largest length of a friction force of unit bound: $1 / \cos(\pi / 2k)$ in space, one in the plane.
    pub fn friction_reach(&self, tangent_count: usize) -> f64 {
        if tangent_count < 2 { 1.0 } else { 1.0 / (std::f64::consts::FRAC_PI_2 / self.lines.len() as f64).cos() }
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
        self.lcp_along(problem, problem.contacts.iter().map(|contact| &contact.normal).collect())
    }

    /// As [`lcp`](Self::lcp), with normal forces that act along these rows.
    pub(crate) fn lcp_along(&self, problem: &ContactProblem, force_rows: Vec<&Row>) -> Result<Lcp, ContactError> {
        match self.state(problem, force_rows)?.mixed()?.eliminate() {
            Ok((lcp, _)) => Ok(lcp),
            Err(ProblemError::SingularFreeBlock { size, smallest_pivot }) => {
                Err(ContactError::RedundantRows { size, smallest_pivot })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Solves a contact problem whose inertia is factored. The residual of the report is the larger of that of the LCP and that of
    /// the laws, which are evaluated with the problem's own data.
    ///
    /// # Errors
    /// [`ContactError`] when a contact has more tangent rows than polygonal friction can treat. A problem that was not
    /// solved is not an error but a status of the report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve_along(problem, problem.contacts.iter().map(|contact| &contact.normal).collect(), solution)
    }

    /// As [`solve`](Self::solve), with normal forces that act along these rows.
    pub(crate) fn solve_along(
        &mut self,
        problem: &ContactProblem,
        force_rows: Vec<&Row>,
        solution: &mut ContactSolution,
    ) -> Result<(), ContactError> {
        let (mut lemke, mut answer) = (std::mem::take(&mut self.lemke), std::mem::take(&mut self.answer));
        let stated = self.state(problem, force_rows)?;
        let settings = &self.settings.lemke;

        let mut is_done = false;
        match stated.mixed()?.eliminate() {
            Ok((lcp, elimination)) => {
                lemke.solve_or_enumerate(&lcp, settings, &[], &mut answer);
                let free = elimination.recover(&answer.z);
                stated.write(problem, &free, &answer.z, solution);
                let residual = stated.law_residual(problem, solution, &answer.z).max(answer.report.residual);
                solution.report = judged(&answer.report, residual, settings);
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
            stated.solve_relaxed(problem, settings, &mut lemke, &mut answer, solution)?;
        }
        self.was_relaxed = !is_done;
        (self.lemke, self.answer) = (lemke, answer);
        Ok(())
    }

    /// The solution of a contact problem that belongs to a point of its LCP, judged by the laws.
    pub(crate) fn recover(
        &self,
        problem: &ContactProblem,
        force_rows: Vec<&Row>,
        z: &[f64],
    ) -> Result<ContactSolution, ContactError> {
        let stated = self.state(problem, force_rows)?;
        let (_, elimination) = stated.mixed()?.eliminate()?;
        let mut solution = ContactSolution::default();
        stated.write(problem, &elimination.recover(z), z, &mut solution);
        let residual = stated.law_residual(problem, &solution, z);
        let report = SolveReport { size: z.len(), ..SolveReport::default() };
        solution.report = judged(&report, residual, &self.settings.lemke);
        Ok(solution)
    }

    /// States a problem in the form (8).
    fn state<'a>(&'a self, problem: &'a ContactProblem, force_rows: Vec<&'a Row>) -> Result<Stated<'a>, ContactError> {
        let mut rows: Vec<(&Row, f64)> = problem.joints.iter().map(|joint| (&joint.row, joint.bias)).collect();
        let joint_count = rows.len();
        let mut groups = Vec::new();
        let mut line_count = 0;
        let contacts = problem.contacts.iter().enumerate().map(|(i, contact)| {
            let has_friction = contact.mu > 0.0 || contact.extra_bound > 0.0;
            let tangents = has_friction.then_some(&contact.tangents);
            (Some(i), tangents, &contact.tangent_bias, contact.mu, contact.extra_bound)
        });
        let elements = problem.friction.iter().map(|e| (None, Some(&e.tangents), &e.tangent_bias, 0.0, e.bound));
        for (number, (contact, tangents, bias, mu, bound)) in contacts.chain(elements).enumerate() {
            let mut tangent_count = 0;
            let tangent = rows.len();
            if let Some(tangents) = tangents {
                check_tangents(tangents, || match contact {
                    Some(i) => format!("contact {:?}", problem.contacts[i].id),
                    None => format!("friction element {}", problem.friction[number - problem.contacts.len()].id),
                })?;
                tangent_count = tangents.len();
                rows.extend(tangents.iter().zip(bias).map(|(row, &bias)| (row, bias)));
            }
            let lines = self.lines(tangent_count);
            groups.push(Group { contact, tangent, tangent_count, lines, first_line: line_count, mu, bound, rho: 0.0 });
            line_count += lines.len();
        }
        let free_count = rows.len();
        rows.extend(problem.contacts.iter().map(|contact| (&contact.normal, contact.normal_bias)));

        // The Delassus matrix over all rows, and the rates that they have in free motion.
        let count = rows.len();
        let mut solved = vec![Row::new(); count];
        let mut delassus = Mat::<f64>::zeros(count, count);
        let mut dense = vec![0.0; problem.free_motion.len()];
        for j in 0..count {
            let force_row = if j < free_count { rows[j].0 } else { force_rows[j - free_count] };
            problem.inertia.solve_row(force_row.entries(), &mut solved[j]);
            solved[j].add_to(1.0, &mut dense);
            for i in 0..count {
                delassus[(i, j)] = rows[i].0.dot(&dense);
            }
            solved[j].entries().iter().for_each(|&(index, _)| dense[index] = 0.0);
        }
        let free_rates: Vec<f64> = rows.iter().map(|(row, bias)| row.dot(&problem.free_motion) + bias).collect();
        choose_rho(&mut groups, &delassus, self.settings.rho);

        // (8) with x = (λ_j, λ_t) and z = (λ_n, κ₊, κ₋).
        let (m, r, k) = (free_count, problem.contacts.len(), line_count);
        let mut free_by_complementary = Mat::zeros(m, r + 2 * k);
        let mut complementary_by_free = Mat::zeros(r + 2 * k, m);
        let mut complementary_by_complementary = Mat::zeros(r + 2 * k, r + 2 * k);
        let mut complementary_offset = free_rates[m..].to_vec();
        complementary_offset.resize(r + 2 * k, 0.0);
        for i in 0..r {
            for j in 0..m {
                free_by_complementary[(j, i)] = delassus[(j, m + i)];
                complementary_by_free[(i, j)] = delassus[(m + i, j)];
            }
            for j in 0..r {
                complementary_by_complementary[(i, j)] = delassus[(m + i, m + j)];
            }
        }
        for group in &groups {
            for (j, e) in group.lines.iter().enumerate() {
                let (plus, minus) = (r + group.first_line + j, r + k + group.first_line + j);
                for a in 0..group.tangent_count {
                    let row = group.tangent + a;
                    (free_by_complementary[(row, plus)], free_by_complementary[(row, minus)]) = (-e[a], e[a]);
                    (complementary_by_free[(plus, row)], complementary_by_free[(minus, row)]) = (e[a], -e[a]);
                }
                // σ₋ stands against κ₊ and carries ρ κ₋; σ₊ stands against κ₋ and carries ρ κ₊.
                complementary_by_complementary[(plus, minus)] = group.rho;
                complementary_by_complementary[(minus, plus)] = group.rho;
                for sigma in [plus, minus] {
                    if let Some(contact) = group.contact {
                        complementary_by_complementary[(sigma, contact)] = group.mu;
                    }
                    complementary_offset[sigma] = group.bound;
                }
            }
        }
        Ok(Stated {
            solved,
            force_rows,
            roots: (0..count).map(|i| delassus[(i, i)].abs().sqrt()).collect(),
            joint_count,
            free_count,
            groups,
            line_count,
            free_by_free: delassus.get(..m, ..m).to_owned(),
            free_by_complementary,
            complementary_by_free,
            complementary_by_complementary,
            free_offset: free_rates[..m].to_vec(),
            complementary_offset,
            rows,
        })
    }
}

/// The phantom inertia of each group: the one given, or half of the smallest that could make the rank drop.
///
/// With $E E^T = g$ ($k/2$ in space, 1 in the plane) the block $2S - \rho$ is singular only if $A - 2 g / \rho$ is, where $\rho$ may
/// differ from contact to contact. The sum of the norms of a contact's row of blocks bounds $A$ from above (Gershgorin), so that
/// $\rho = g$ over that sum leaves $2 g / \rho - A$ positive definite: the condition $0 < \rho < 2 \lambda^+_{\min}(S)$, kept with a factor
/// of two. For a single particle all eigenvalues of the block then have the same size.
fn choose_rho(groups: &mut [Group<'_>], delassus: &Mat<f64>, given: Option<f64>) {
    let norm = |first: &Group<'_>, second: &Group<'_>| {
        let (mut by_row, mut by_column) = (0.0f64, 0.0f64);
        for a in 0..2 {
            let (mut row_sum, mut column_sum) = (0.0, 0.0);
            for b in 0..2 {
                if a < first.tangent_count && b < second.tangent_count {
                    row_sum += delassus[(first.tangent + a, second.tangent + b)].abs();
                }
                if b < first.tangent_count && a < second.tangent_count {
                    column_sum += delassus[(first.tangent + b, second.tangent + a)].abs();
                }
            }
            (by_row, by_column) = (by_row.max(row_sum), by_column.max(column_sum));
        }
        (by_row * by_column).sqrt()
    };
    let chosen = |group: &Group<'_>, groups: &[Group<'_>]| {
        let mobility: f64 = groups.iter().map(|other| norm(group, other)).sum();
        let g = if group.tangent_count == 2 { 0.5 * group.lines.len() as f64 } else { 1.0 };
        // A contact between bodies that cannot move has no mobility, and any ρ will do.
        if mobility > 0.0 { g / mobility } else { 1.0 }
    };
    for i in 0..groups.len() {
        groups[i].rho = given.unwrap_or_else(|| chosen(&groups[i], groups));
    }
}

impl Stated<'_> {
    fn mixed(&self) -> Result<MixedLcp, ProblemError> {
        self.mixed_with(self.free_by_free.clone(), self.free_offset.clone())
    }

    fn mixed_with(&self, free_by_free: Mat<f64>, free_offset: Vec<f64>) -> Result<MixedLcp, ProblemError> {
        MixedLcp::new(
            free_by_free,
            self.free_by_complementary.clone(),
            self.complementary_by_free.clone(),
            self.complementary_by_complementary.clone(),
            free_offset,
            self.complementary_offset.clone(),
        )
    }

    /// Relaxes the free rows and repeats until the relaxation has no effect left. The best point by the residual of the
    /// laws is the answer.
    fn solve_relaxed(
        &self,
        problem: &ContactProblem,
        settings: &LemkeSettings,
        lemke: &mut Lemke,
        answer: &mut LcpSolution,
        solution: &mut ContactSolution,
    ) -> Result<(), ContactError> {
        let m = self.free_count;
        let largest = (0..m).fold(0.0f64, |largest, i| largest.max(self.free_by_free[(i, i)]));
        let relaxation: Vec<f64> = (0..m)
            .map(|i| match self.free_by_free[(i, i)] {
                // A row without any mobility is relaxed like the others, and its force stays zero.
                diagonal if diagonal > 0.0 => RELAXATION * diagonal,
                _ => RELAXATION * if largest > 0.0 { largest } else { 1.0 },
            })
            .collect();
        let mut free_by_free = self.free_by_free.clone();
        (0..m).for_each(|i| free_by_free[(i, i)] += relaxation[i]);

        let mut free = vec![0.0; m];
        let mut candidate = ContactSolution::default();
        let mut pivots = solution.report.iterations;
        for repetition in 0..RELAXED_SOLVES {
            let offset = (0..m).map(|i| self.free_offset[i] - relaxation[i] * free[i]).collect();
            let Ok((lcp, elimination)) = self.mixed_with(free_by_free.clone(), offset)?.eliminate() else { break };
            let start = if repetition > 0 { lemke.basis().to_vec() } else { Vec::new() };
            lemke.solve_or_enumerate(&lcp, settings, &start, answer);
            pivots += answer.report.iterations;
            free = elimination.recover(&answer.z);
            let has_answer = matches!(answer.report.status, SolveStatus::Solved | SolveStatus::Inaccurate);
            if !has_answer || free.iter().any(|force| !force.is_finite()) {
                break;
            }
            self.write(problem, &free, &answer.z, &mut candidate);
            let residual = self.law_residual(problem, &candidate, &answer.z);
            let before = solution.report.residual;
            if residual < before || repetition == 0 && before.is_infinite() {
                candidate.report = judged(&answer.report, residual, settings);
                std::mem::swap(solution, &mut candidate);
            }
            if before <= settings.residual_tolerance && residual > WORTH_REPEATING * before {
                break;
            }
        }
        solution.report.iterations = pivots;
        Ok(())
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

    /// How far a solution is from momentum, joints, no penetration and the friction law, the last as (1)-(3) without $\rho$, which must
    /// not matter. Everything is evaluated anew from the data of the problem.
    ///
    /// Rates over $\sqrt{J W^{-1} J^T}$ and forces times it have the same unit, the root of an energy, as has a momentum over
    /// $\sqrt{W_{ii}}$; the residual is the largest of these errors over the largest of the terms.
    fn law_residual(&self, problem: &ContactProblem, solution: &ContactSolution, z: &[f64]) -> f64 {
        let motion = &solution.motion;
        let (mut size, mut error) = (0.0f64, 0.0f64);
        let mut worse = |value: f64| error = if value.is_nan() { f64::INFINITY } else { error.max(value.abs()) };
        let mut momentum: Vec<f64> = vec![0.0; motion.len()];
        let change: Vec<f64> = motion.iter().zip(&problem.free_motion).map(|(u, free)| u - free).collect();
        problem.inertia.apply(&change, &mut momentum);
        for (i, &(row, bias)) in self.rows.iter().enumerate() {
            if self.roots[i] > 0.0 {
                let terms = row.entries().iter().map(|&(k, value)| (value * motion[k]).abs());
                size = size.max(terms.fold(bias.abs(), f64::max) / self.roots[i]);
            }
        }

        for (i, joint) in problem.joints.iter().enumerate() {
            let force = solution.joints[i];
            joint.row.add_to(-force, &mut momentum);
            size = size.max(force.abs() * self.roots[i]);
            if self.roots[i] > 0.0 {
                worse((joint.row.dot(motion) + joint.bias) / self.roots[i]);
            }
        }
        for (i, (contact, force)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
            let root = self.roots[self.free_count + i];
            self.force_rows[i].add_to(-force.normal, &mut momentum);
            size = size.max(force.normal.abs() * root);
            if root > 0.0 {
                worse((force.normal * root).min(contact.normal_rate(motion) / root));
            }
        }
        for (number, group) in self.groups.iter().enumerate() {
            if group.tangent_count == 0 {
                continue;
            }
            let (slip, force, bound, tangents) = match group.contact {
                Some(i) => {
                    let (contact, force) = (&problem.contacts[i], &solution.contacts[i]);
                    let bound = contact.mu * force.normal + contact.extra_bound;
                    (contact.slip(motion), force.tangent, bound, &contact.tangents)
                }
                None => {
                    let i = number - problem.contacts.len();
                    let element = &problem.friction[i];
                    (element.slip(motion), solution.friction[i], element.bound, &element.tangents)
                }
            };
            let own = group.tangent..group.tangent + group.tangent_count;
            let root = self.roots[own].iter().fold(0.0f64, |largest, &root| largest.max(root));
            if root == 0.0 {
                continue;
            }
            let mut unexplained = slip;
            for (j, e) in group.lines.iter().enumerate() {
                let plus = z[problem.contacts.len() + group.first_line + j];
                let minus = z[problem.contacts.len() + self.line_count + group.first_line + j];
                let along = e[0] * force[0] + e[1] * force[1];
                worse((plus / root).min((bound + along) * root));
                worse((minus / root).min((bound - along) * root));
                unexplained[0] -= e[0] * (plus - minus);
                unexplained[1] -= e[1] * (plus - minus);
            }
            for (a, row) in tangents.iter().enumerate() {
                row.add_to(-force[a], &mut momentum);
                size = size.max(force[a].abs() * root);
                worse(unexplained[a] / root);
            }
        }
        for (i, &left) in momentum.iter().enumerate() {
            worse(left / problem.inertia.entry(i, i).abs().sqrt());
        }
        if size > 0.0 { error / size } else { error }
    }
}

/// The report of an answer with this residual.
fn judged(report: &SolveReport, residual: f64, settings: &LemkeSettings) -> SolveReport {
    let status = match report.status {
        _ if residual <= settings.residual_tolerance => SolveStatus::Solved,
        SolveStatus::Solved => SolveStatus::Inaccurate,
        status => status,
    };
    SolveReport { status, residual, ..report.clone() }
}

#[cfg(test)]
mod tests;

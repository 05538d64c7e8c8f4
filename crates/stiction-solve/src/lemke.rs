//! Lemke's method in revised form: instead of a tableau, only the inverse of the active block is
//! carried along.
//!
//! The path is that of [`lemke_tableau`](crate::lemke_tableau), which is the one to read first. At
//! a point of it, $C$ are the unknowns $z$ that are not zero, together with the artificial $z_0$,
//! and $R$ the rows whose slack $w$ is zero. With $N = (M, d)$ and $K = N_{RC}$,
//!
//! $$ x_C = -K^{-1} q_R, \qquad w = q + N_{\cdot C} x_C, $$
//!
//! and as the entering unknown grows by $t$, $x_C$ and $w$ move with constant rates:
//! $\dot x_C = -K^{-1} N_{Re}$ where it is $z_e$, and $\dot x_C = K^{-1} e_e$ where it is $w_e$. A
//! pivot costs three passes through $K^{-1}$ and one product with $M$, which a
//! [`ContactLcp`](crate::ContactLcp) does through its $W$. As every pair $(z_i, w_i)$ but one has
//! exactly one basic member, values and rates are arrays by pair, and the ratio test runs through
//! them without asking which member is meant.
//!
//! The first path may begin at any complementary basis, for instance that of the last step: $d$ is
//! chosen so that every basic unknown grows at the rate one with $z_0$, $d_R = -M_{RC} 1$ and
//! $d_k = 1 - M_{kC} 1$ elsewhere. From the empty basis this is the covering vector of ones. What
//! is proved for the cold start does not hold for a warm one, so a ray from there means nothing,
//! unless its direction passes as a certificate.
//!
//! Rounding collects in $K^{-1}$, so the point that a path ends at is refined with it and judged on
//! the original data. Where the judge is not content, the method starts again from that basis with
//! a fresh inverse, then cold with fresh inverses on the way, then with other covering vectors and
//! stricter pivots.

use crate::active_inverse::{ActiveInverse, LANES, add_multiple, padded};
use crate::enumerate::enumerate;
use crate::lemke_settings::{POLISH_ABOVE, covering_entry, pivot_tolerance};
use crate::residual::certificate_near;
use crate::work::is_interrupted;
use crate::{LcpSolution, LemkeProblem, LemkeSettings, SolveReport, SolveStatus, Work};

/// Position of an unknown or a row that is not in the active block.
const ABSENT: usize = usize::MAX;

/// Refinement steps of the point at the end of a path, at most.
const REFINEMENTS: usize = 2;

/// A path that stops with less than this of $z_0$, in the scaled problem, is repaired from its
/// basis without $z_0$.
const NEARLY_GONE: f64 = 1e-6;

/// A start at which no basic unknown is more negative than this, relative to the largest, is the
/// answer.
const FEASIBLE: f64 = 1e-15;

/// Rounding of a residual per size of the largest unknown.
const ROUNDING: f64 = 1e-15;

/// Factor of the slack of the ratio test on the path that repairs another: what that one gave way
/// by is taken back.
const REPAIR_SLACK: f64 = 1e-3;

/// The method with its memory, which is reused from solve to solve.
#[derive(Clone, Debug, Default)]
pub struct Lemke {
    n: usize,
    inverse: ActiveInverse,
    /// $C$: the unknown of each row of the inverse; `n` stands for $z_0$.
    columns: Vec<usize>,
    /// $R$: the row of the problem that belongs to each column of the inverse.
    rows: Vec<usize>,
    /// Where each unknown stands in $C$, with $z_0$ last.
    column_place: Vec<usize>,
    /// Where each row stands in $R$.
    row_place: Vec<usize>,
    /// The covering vector $d$.
    covering: Vec<f64>,
    /// Value of the basic member of each pair, and of $z_0$; padded.
    value: Vec<f64>,
    /// Its rate as the entering unknown grows.
    rate: Vec<f64>,
    /// $\dot x_C$, padded.
    step: Vec<f64>,
    /// A column $N_{Re}$ or a right-hand side.
    right: Vec<f64>,
    /// A row $N_{lC}$, padded, and its product with the inverse.
    row: Vec<f64>,
    left: Vec<f64>,
    /// The $z$ that entered last; none where it was a $w$.
    entered: Option<usize>,
    workspace: Vec<f64>,
    /// Pairs that leave at the same moment.
    tied: Vec<usize>,
    /// How the best and the next of them answer to a perturbation of $q$.
    perturbations: [Vec<f64>; 2],
    /// Point and slack of the path just followed.
    z: Vec<f64>,
    w: Vec<f64>,
    /// Which unknowns were basic at the best point so far.
    basis: Vec<bool>,
    /// The basis from which a path starts.
    start: Vec<bool>,
    /// What all paths of a solve may still spend.
    work: Work,
    stage: LemkeStage,
}

/// How far a solve had to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LemkeStage {
    /// No further than the start, or a path from the basis that was given.
    #[default]
    Start,
    /// To the cold path of this number.
    Path(usize),
    /// To the enumeration of all bases.
    Enumeration,
}

/// An unknown that becomes basic.
#[derive(Clone, Copy)]
enum Entering {
    /// $z_e$, or $z_0$ for `n`.
    Unknown(usize),
    /// $w_e$.
    Slack(usize),
}

/// How a path is followed.
struct Plan {
    /// Number of the covering vector.
    covering: usize,
    /// Pivots after which the inverse is computed anew.
    refresh: usize,
    settings: LemkeSettings,
}

/// How a path ended.
#[derive(Clone, Copy, PartialEq)]
enum PathEnd {
    /// $z_0$ left the basis, or was never needed.
    Complementary,
    Ray,
    Limit,
    /// A block was singular, or a number not finite.
    Breakdown,
}

impl Lemke {
    /// Solves a problem. `start` says which unknowns are basic where the first path begins; where
    /// it is empty, none.
    pub fn solve<P: LemkeProblem>(
        &mut self,
        problem: &P,
        settings: &LemkeSettings,
        start: &[bool],
        solution: &mut LcpSolution,
    ) {
        self.solve_from(0, problem, settings, start, solution);
    }

    /// The same with another covering vector for the first cold path: where there are many
    /// solutions, it may lead to another one.
    pub(crate) fn solve_from<P: LemkeProblem>(
        &mut self,
        first_path: usize,
        problem: &P,
        settings: &LemkeSettings,
        start: &[bool],
        solution: &mut LcpSolution,
    ) {
        let n = problem.unknown_count();
        assert!(start.is_empty() || start.len() == n, "a start of {} unknowns for an LCP of {n}", start.len());
        self.reset(n, settings, solution);

        // Without impulses nothing is violated: the answer, and the only one that needs no solving.
        if (0..n).all(|i| problem.scaled_offset(i) >= 0.0) {
            solution.z.resize(n, 0.0);
            solution.report.residual = problem.judge(&solution.z, &mut solution.w);
            solution.report.status = SolveStatus::Solved;
            return;
        }

        if start.contains(&true) {
            self.start.clear();
            self.start.extend_from_slice(start);
            if self.follow_and_repair(problem, &Plan::of_path(0, settings), solution) {
                return;
            }
        }
        for path in first_path..first_path + settings.paths.max(1) {
            self.stage = LemkeStage::Path(path - first_path);
            self.start.clear();
            self.start.resize(n, false);
            if self.follow_and_repair(problem, &Plan::of_path(path, settings), solution) {
                return;
            }
        }
    }

    /// Looks whether the unknowns whose slack is negative without them are the basis of a solution,
    /// and says so. That is a single linear system, and of use where problems are nearly diagonal,
    /// or have no path from nothing, as bimatrix games with the covering vector of ones.
    pub fn guess<P: LemkeProblem>(
        &mut self,
        problem: &P,
        settings: &LemkeSettings,
        solution: &mut LcpSolution,
    ) -> bool {
        let n = problem.unknown_count();
        self.reset(n, settings, solution);
        self.start.clear();
        self.start.extend((0..n).map(|i| problem.scaled_offset(i) < 0.0));
        let plan = Plan::of_path(0, &LemkeSettings { pivots_per_unknown: 0, ..settings.clone() });
        self.attempt(problem, &plan, solution);
        self.is_done(problem, &plan, solution)
    }

    /// Begins the solve of a problem of n unknowns.
    fn reset(&mut self, n: usize, settings: &LemkeSettings, solution: &mut LcpSolution) {
        self.n = n;
        self.work = Work::new(settings.work_limit);
        self.stage = LemkeStage::Start;
        self.basis.clear();
        self.basis.resize(n, false);
        solution.z.clear();
        solution.w.clear();
        solution.certificate.clear();
        solution.report =
            SolveReport { status: SolveStatus::Breakdown, residual: f64::INFINITY, iterations: 0, size: n };
    }

    /// As [`solve`](Self::solve), and where that does not end in a solution or a proof and the
    /// problem is small, tries all bases.
    pub fn solve_or_enumerate<P: LemkeProblem>(
        &mut self,
        problem: &P,
        settings: &LemkeSettings,
        start: &[bool],
        solution: &mut LcpSolution,
    ) {
        self.solve(problem, settings, start, solution);
        if solution.report.status.is_decided() || self.work.is_spent() {
            return;
        }
        let Some(found) = problem.to_lcp().ok().and_then(|lcp| enumerate(&lcp, settings)) else { return };
        self.stage = LemkeStage::Enumeration;
        let mut w = Vec::new();
        let judged = found.solutions.into_iter().map(|z| (problem.judge(&z, &mut w), z));
        match judged.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((residual, z)) if residual <= settings.residual_tolerance => {
                solution.report.residual = problem.judge(&z, &mut solution.w);
                solution.report.status = SolveStatus::Solved;
                self.basis.clear();
                self.basis.extend(z.iter().map(|&z| z > 0.0));
                solution.z = z;
            }
            None if found.undecided == 0 => solution.report.status = SolveStatus::NoSolution,
            _ => {}
        }
    }

    /// Which unknowns were basic at the point of the last solution: where the next solve of a
    /// similar problem may start.
    pub fn basis(&self) -> &[bool] {
        &self.basis
    }

    /// How far the last solve had to go.
    pub fn last_stage(&self) -> LemkeStage {
        self.stage
    }

    /// Follows a path from `self.start`. Its end may be the right basis, spoilt by the rounding of
    /// a long path: where the residual says so, once more from there with a fresh inverse. True
    /// when nothing is left to do.
    fn follow_and_repair<P: LemkeProblem>(&mut self, problem: &P, plan: &Plan, solution: &mut LcpSolution) -> bool {
        self.attempt(problem, plan, solution);
        if !self.is_done(problem, plan, solution) && self.start.contains(&true) {
            let exact =
                LemkeSettings { tie_tolerance: plan.settings.tie_tolerance * REPAIR_SLACK, ..plan.settings.clone() };
            self.attempt(problem, &Plan { settings: exact, ..*plan }, solution);
        }
        self.is_done(problem, plan, solution)
    }

    /// Whether another path is not worth the while: there is a proof, or a residual well below the
    /// tolerance, or as small as rounding lets it be with unknowns of this size.
    fn is_done<P: LemkeProblem>(&self, problem: &P, plan: &Plan, solution: &LcpSolution) -> bool {
        let report = &solution.report;
        let size = |(i, z): (usize, &f64)| z / problem.unknown_scale(i);
        let largest = solution.z.iter().enumerate().map(size).fold(0.0, f64::max);
        let goal = (POLISH_ABOVE * plan.settings.residual_tolerance).max(ROUNDING * largest);
        let is_solved = report.is_solved() && report.residual <= goal;
        is_solved || report.status == SolveStatus::NoSolution || self.work.is_spent()
    }

    /// Follows a path from `self.start` and keeps its end if it is the best so far. Leaves the
    /// basis of the end in `self.start` where it is complementary, or nearly so.
    fn attempt<P: LemkeProblem>(&mut self, problem: &P, plan: &Plan, solution: &mut LcpSolution) {
        let (end, pivots) = pulp::Arch::new().dispatch(Follow { lemke: self, problem, plan });
        let residual = self.point_at_the_end(problem, plan);
        solution.report.iterations += pivots;
        let is_solved = residual <= plan.settings.residual_tolerance;
        if residual < solution.report.residual || solution.z.len() != self.n {
            std::mem::swap(&mut solution.z, &mut self.z);
            std::mem::swap(&mut solution.w, &mut self.w);
            solution.report.residual = residual;
            self.basis.fill(false);
            self.columns.iter().filter(|&&j| j < self.n).for_each(|&j| self.basis[j] = true);
            solution.report.status = match end {
                _ if is_solved => SolveStatus::Solved,
                PathEnd::Complementary => SolveStatus::Inaccurate,
                PathEnd::Ray => SolveStatus::SecondaryRay,
                PathEnd::Limit if is_interrupted() => SolveStatus::Interrupted,
                PathEnd::Limit => SolveStatus::IterationLimit,
                PathEnd::Breakdown => SolveStatus::Breakdown,
            };
        }
        self.start.fill(false);
        // A ray with next to nothing left of z0 is the end of the path as well, missed by rounding.
        let is_near =
            self.column_place.last().is_some_and(|&place| place != ABSENT) && self.value[self.n] <= NEARLY_GONE;
        if end == PathEnd::Complementary || is_near {
            self.columns.iter().filter(|&&j| j < self.n).for_each(|&j| self.start[j] = true);
        }
        if end == PathEnd::Ray
            && !solution.report.is_solved()
            && let Some(certificate) = self.certificate(problem)
        {
            solution.report.status = SolveStatus::NoSolution;
            solution.certificate = certificate;
        }
    }

    /// Follows the path; returns how it ended and the number of pivots.
    #[inline(always)]
    fn follow<P: LemkeProblem>(&mut self, problem: &P, plan: &Plan) -> (PathEnd, usize) {
        let n = self.n;
        if !self.begin(problem) {
            return (PathEnd::Breakdown, 0);
        }
        let feasible = -FEASIBLE * largest(&self.value).max(1.0);
        if self.value[..n].iter().all(|&value| value >= feasible) {
            return (PathEnd::Complementary, 0);
        }
        if plan.settings.pivots_per_unknown == 0 {
            return (PathEnd::Limit, 0); // no more than the start was asked for
        }
        // z0 enters, and all basic unknowns grow with it at the rates of the covering vector. The
        // last of those that are most negative leaves, as the lexicographic order asks for.
        self.cover(problem, plan.covering);
        let mut leaving = 0;
        for pair in 1..n {
            if self.value[pair] / self.rate[pair] <= self.value[leaving] / self.rate[leaving] {
                leaving = pair;
            }
        }
        let mut entering = Entering::Unknown(n);
        let mut length = -self.value[leaving] / self.rate[leaving];
        let pivot_limit = plan.settings.pivots_per_unknown.saturating_mul(n).max(1);
        for pivots in 1..=pivot_limit {
            let unknown_left = self.pivot(problem, entering, leaving, length);
            if leaving == n {
                return (PathEnd::Complementary, pivots);
            }
            if pivots % plan.refresh == 0 && !self.refresh(problem) {
                return (PathEnd::Breakdown, pivots);
            }
            // Three passes through the inverse, one product with the matrix.
            let active = self.columns.len();
            self.work.spend((active * (3 * active + n)) as u64);
            if self.work.is_spent() {
                return (PathEnd::Limit, pivots);
            }
            // The complement of what left enters.
            entering = if unknown_left { Entering::Slack(leaving) } else { Entering::Unknown(leaving) };
            self.find_rates(problem, entering);
            match self.ratio_test(problem, &plan.settings) {
                Some(pair) => leaving = pair,
                None if self.rate[..n].iter().all(|rate| rate.is_finite()) => return (PathEnd::Ray, pivots),
                None => return (PathEnd::Breakdown, pivots),
            }
            let slope = -self.rate[leaving];
            length = self.value[leaving].max(0.0) / slope;
        }
        (PathEnd::Limit, pivot_limit)
    }

    /// Makes the unknowns of `self.start` basic; false where their block is singular.
    #[inline(always)]
    fn begin<P: LemkeProblem>(&mut self, problem: &P) -> bool {
        let n = self.n;
        let slots = padded(n + 1);
        for array in [&mut self.value, &mut self.rate] {
            array.clear();
            array.resize(slots, 0.0);
        }
        self.column_place.clear();
        self.column_place.resize(n + 1, ABSENT);
        self.row_place.clear();
        self.row_place.resize(n, ABSENT);
        self.covering.clear();
        self.covering.resize(n, 0.0);
        self.columns.clear();
        self.columns.extend((0..n).filter(|&i| self.start[i]));
        self.rows.clone_from(&self.columns);
        for (place, &i) in self.columns.iter().enumerate() {
            self.column_place[i] = place;
            self.row_place[i] = place;
        }
        self.refresh(problem)
    }

    /// Inverts the active block anew and computes the values from it; false where it is singular.
    #[inline(always)]
    fn refresh<P: LemkeProblem>(&mut self, problem: &P) -> bool {
        let n = self.n;
        let (rows, columns, covering) = (&self.rows, &self.columns, &self.covering);
        let is_regular = self.inverse.invert(rows.len(), |c, column| {
            for (entry, &row) in column.iter_mut().zip(rows) {
                *entry = if columns[c] == n { covering[row] } else { problem.scaled_entry(row, columns[c]) };
            }
        });
        if !is_regular {
            return false;
        }
        self.right.clear();
        self.right.extend(rows.iter().map(|&row| -problem.scaled_offset(row)));
        self.inverse.apply(&self.right, &mut self.step);
        self.spread_step(problem, None);
        // What stands among the rates now are the values, but for the offset of the slacks.
        for i in 0..n {
            self.value[i] = match (self.column_place[i], self.row_place[i]) {
                (ABSENT, ABSENT) => self.rate[i] + problem.scaled_offset(i),
                (ABSENT, _) => 0.0, // the pair without a basic member
                _ => self.rate[i],
            };
        }
        self.value[n] = self.rate[n];
        true
    }

    /// Chooses $d$ so that every basic unknown has the rate of the covering vector as $z_0$ grows,
    /// and leaves those rates.
    #[inline(always)]
    fn cover<P: LemkeProblem>(&mut self, problem: &P, number: usize) {
        let n = self.n;
        self.step.clear();
        self.step.extend(self.columns.iter().map(|&j| covering_entry(number, j)));
        self.step.resize(padded(self.columns.len()), 0.0);
        problem.scaled_product(&self.columns, &self.step, None, &mut self.workspace, &mut self.rate[..n]);
        for i in 0..n {
            let wanted = covering_entry(number, i);
            let is_basic = self.column_place[i] != ABSENT;
            self.covering[i] = if is_basic { -self.rate[i] } else { wanted - self.rate[i] };
            self.rate[i] = wanted;
        }
        self.rate[n] = 0.0;
    }

    /// The rates of all basic members as an unknown enters.
    #[inline(always)]
    fn find_rates<P: LemkeProblem>(&mut self, problem: &P, entering: Entering) {
        match entering {
            Entering::Unknown(e) => {
                self.right.resize(self.rows.len(), 0.0);
                for (right, &row) in self.right.iter_mut().zip(&self.rows) {
                    *right = -problem.scaled_entry(row, e);
                }
                self.inverse.apply(&self.right, &mut self.step);
            }
            Entering::Slack(e) => {
                self.step.clear();
                self.step.extend_from_slice(self.inverse.column(self.row_place[e]));
            }
        }
        self.spread_step(problem, Some(entering));
    }

    /// From $\dot x_C$ to the rates of all pairs: $\dot w = N_{\cdot C} \dot x_C$, plus the column
    /// of an entering $z_e$. With none entering, the same map takes $x_C$ to the values.
    #[inline(always)]
    fn spread_step<P: LemkeProblem>(&mut self, problem: &P, entering: Option<Entering>) {
        let n = self.n;
        let extra = match entering {
            Some(Entering::Unknown(e)) => Some(e),
            _ => None,
        };
        self.entered = extra;
        problem.scaled_product(&self.columns, &self.step, extra, &mut self.workspace, &mut self.rate[..n]);
        let artificial = self.column_place[n];
        if artificial != ABSENT {
            add_multiple(&mut self.rate[..n], self.step[artificial], &self.covering);
        }
        for (&column, &weight) in self.columns.iter().zip(&self.step) {
            self.rate[column] = weight;
        }
        // The pair that enters has no basic member yet.
        if let Some(Entering::Unknown(e) | Entering::Slack(e)) = entering {
            self.rate[e] = 0.0;
        }
    }

    /// The pair, `n` for $z_0$, whose basic member first reaches zero; none on a ray.
    #[inline(always)]
    fn ratio_test<P: LemkeProblem>(&mut self, problem: &P, settings: &LemkeSettings) -> Option<usize> {
        let smallest_pivot = settings.pivot_tolerance * largest(&self.rate);
        let slack = settings.tie_tolerance * largest(&self.value).max(1.0);

        // First pass: how far the entering unknown may go if every pair gives way by the slack.
        let mut bounds = [f64::INFINITY; LANES];
        for (values, rates) in self.value.chunks_exact(LANES).zip(self.rate.chunks_exact(LANES)) {
            for lane in 0..LANES {
                // A pair that has given way already does not give way again.
                let room = values[lane] + slack;
                let room = if room > 0.0 { room } else { 0.0 };
                let slope = -rates[lane];
                let ratio = room / slope;
                let ratio = if slope > smallest_pivot { ratio } else { f64::INFINITY };
                bounds[lane] = if ratio < bounds[lane] { ratio } else { bounds[lane] };
            }
        }
        let bound = bounds.iter().fold(f64::INFINITY, |a, &b| if b < a { b } else { a });
        if bound == f64::INFINITY {
            return None;
        }

        // Second pass: the pairs that leave within that bound.
        self.tied.clear();
        let mut strongest = 0.0f64;
        let groups = self.value.chunks_exact(LANES).zip(self.rate.chunks_exact(LANES));
        for (group, (values, rates)) in groups.enumerate() {
            let mut leaves = [false; LANES];
            for lane in 0..LANES {
                leaves[lane] = (-rates[lane] > smallest_pivot) & (values[lane] <= bound * -rates[lane]);
            }
            if leaves == [false; LANES] {
                continue;
            }
            for lane in (0..LANES).filter(|&lane| leaves[lane]) {
                let pair = group * LANES + lane;
                if pair == self.n {
                    return Some(pair); // z0 leaves whenever it can
                }
                self.tied.push(pair);
                strongest = strongest.max(-rates[lane]);
            }
        }
        let rate = &self.rate;
        self.tied.retain(|&pair| -rate[pair] >= settings.weak_pivot * strongest);
        match self.tied[..] {
            [] => None,
            [only] => Some(only),
            _ => Some(self.lexicographic_minimum(problem, settings)),
        }
    }

    /// The one of the tied pairs that a small perturbation
    /// $q + (\varepsilon, \varepsilon^2, \dots)$ would let go first.
    #[inline(never)]
    fn lexicographic_minimum<P: LemkeProblem>(&mut self, problem: &P, settings: &LemkeSettings) -> usize {
        let [mut best, mut next] = std::mem::take(&mut self.perturbations);
        let mut winner = self.tied[0];
        self.perturbation(problem, winner, &mut best);
        for k in 1..self.tied.len() {
            let pair = self.tied[k];
            self.perturbation(problem, pair, &mut next);
            let first_difference = next.iter().zip(&best).find_map(|(next, best)| {
                let difference = next - best;
                (difference.abs() > settings.tie_tolerance * next.abs().max(1.0)).then_some(difference)
            });
            if first_difference.is_some_and(|difference| difference < 0.0) {
                winner = pair;
                std::mem::swap(&mut best, &mut next);
            }
        }
        self.perturbations = [best, next];
        winner
    }

    /// How the ratio of a pair answers to a perturbation of each entry of $q$: its row of the basis
    /// inverse over its slope.
    fn perturbation<P: LemkeProblem>(&mut self, problem: &P, pair: usize, out: &mut Vec<f64>) {
        let scale = -1.0 / self.rate[pair];
        out.clear();
        out.resize(self.n, 0.0);
        let place = self.column_place[pair];
        if place == ABSENT {
            self.gather_row(problem, pair);
            self.inverse.apply_from_left(&self.row, &mut self.left);
            out[pair] = scale;
            self.rows.iter().zip(&self.left).for_each(|(&row, left)| out[row] = -left * scale);
        } else {
            for (r, &row) in self.rows.iter().enumerate() {
                out[row] = -self.inverse.entry(place, r) * scale;
            }
        }
    }

    /// $N_{lC}$, padded, in `self.row`.
    #[inline(always)]
    fn gather_row<P: LemkeProblem>(&mut self, problem: &P, l: usize) {
        self.row.clear();
        self.row.resize(padded(self.columns.len()), 0.0);
        for (entry, &column) in self.row.iter_mut().zip(&self.columns) {
            *entry = if column == self.n { self.covering[l] } else { problem.scaled_entry(l, column) };
        }
    }

    /// Lets the entering unknown grow by `length` and exchanges it for the basic member of the
    /// leaving pair; true where that was $z$, false where it was $w$.
    #[inline(always)]
    fn pivot<P: LemkeProblem>(&mut self, problem: &P, entering: Entering, leaving: usize, length: f64) -> bool {
        add_multiple(&mut self.value, length, &self.rate);
        let column = self.column_place[leaving];
        let unknown_left = column != ABSENT;
        if !unknown_left {
            self.gather_row(problem, leaving);
            self.inverse.apply_from_left(&self.row, &mut self.left);
        }
        match (entering, unknown_left) {
            (Entering::Unknown(e), false) => {
                self.inverse.append(&self.step, &self.left, self.rate[leaving]);
                self.column_place[e] = self.columns.len();
                self.columns.push(e);
                self.row_place[leaving] = self.rows.len();
                self.rows.push(leaving);
            }
            (Entering::Unknown(e), true) => {
                self.inverse.replace_column(column, &self.step);
                self.columns[column] = e;
                self.column_place[e] = column;
                self.column_place[leaving] = ABSENT;
            }
            (Entering::Slack(e), false) => {
                let row = self.row_place[e];
                self.inverse.replace_row(row, &self.left, &mut self.right);
                self.rows[row] = leaving;
                self.row_place[leaving] = row;
                self.row_place[e] = ABSENT;
            }
            (Entering::Slack(e), true) => {
                let row = self.row_place[e];
                self.inverse.remove(column, row, &mut self.right);
                self.columns.swap_remove(column);
                self.rows.swap_remove(row);
                self.columns.get(column).inspect(|&&moved| self.column_place[moved] = column);
                self.rows.get(row).inspect(|&&moved| self.row_place[moved] = row);
                self.column_place[leaving] = ABSENT;
                self.row_place[e] = ABSENT;
            }
        }
        self.value[leaving] = 0.0;
        let (Entering::Unknown(e) | Entering::Slack(e)) = entering;
        self.value[e] = length;
        unknown_left
    }

    /// Takes the point from the values, and refines it with the inverse while that helps. Returns
    /// its residual.
    fn point_at_the_end<P: LemkeProblem>(&mut self, problem: &P, plan: &Plan) -> f64 {
        let n = self.n;
        self.z.clear();
        self.z.resize(n, 0.0);
        // Where z0 is gone, x_C = -K⁻¹ q_R has less rounding than the values that were carried
        // along.
        let is_complementary = self.columns.iter().all(|&column| column < n) && self.inverse.size() == self.rows.len();
        if is_complementary {
            self.right.clear();
            self.right.extend(self.rows.iter().map(|&row| -problem.scaled_offset(row)));
            self.inverse.apply(&self.right, &mut self.step);
            self.columns.iter().zip(&self.step).for_each(|(&column, &value)| self.value[column] = value);
        }
        for &column in self.columns.iter().filter(|&&column| column < n) {
            self.z[column] = self.value[column].max(0.0) * problem.unknown_scale(column);
        }
        let mut residual = problem.judge(&self.z, &mut self.w);
        // One refinement, always, for the last digits; more where the judge may not be content.
        for refinement in 0..REFINEMENTS {
            let goal = if refinement == 0 { 0.0 } else { POLISH_ABOVE * plan.settings.residual_tolerance };
            if !is_complementary || residual <= goal {
                break;
            }
            self.right.clear();
            self.right.extend(self.rows.iter().map(|&row| -self.w[row] * problem.slack_scale(row)));
            if self.right.iter().any(|value| !value.is_finite()) {
                break;
            }
            self.inverse.apply(&self.right, &mut self.step);
            for (&column, &correction) in self.columns.iter().zip(&self.step) {
                self.rate[column] = self.z[column]; // kept in case the correction does not help
                self.z[column] = (self.z[column] + correction * problem.unknown_scale(column)).max(0.0);
            }
            let refined = problem.judge(&self.z, &mut self.w);
            if refined > residual {
                self.columns.iter().for_each(|&column| self.z[column] = self.rate[column]);
                residual = problem.judge(&self.z, &mut self.w);
                break;
            }
            residual = refined;
        }
        residual
    }

    /// What the direction of the ray has of a proof that there is no solution, wherever the path
    /// began: in contact problems, bodies that are squeezed.
    #[cold]
    fn certificate<P: LemkeProblem>(&self, problem: &P) -> Option<Vec<f64>> {
        let lcp = problem.to_lcp().ok()?;
        let mut multipliers = vec![0.0; self.n];
        // What the ratio test took for zero is zero. The entering unknown itself grows with rate
        // one.
        for &column in self.columns.iter().filter(|&&column| column < self.n) {
            multipliers[column] = self.rate[column].max(0.0) * problem.slack_scale(column);
        }
        if let Some(entered) = self.entered {
            multipliers[entered] = problem.slack_scale(entered);
        }
        certificate_near(&lcp, &multipliers)
    }
}

/// [`Lemke::follow`], compiled for every instruction set and chosen at run time. Sums keep their
/// order and nothing is fused, so the result is the same in all of them. Without it the LCPs of 4,
/// 12 and 30 contacts take 1.12, 1.35 and 1.38 times as long.
struct Follow<'a, P> {
    lemke: &'a mut Lemke,
    problem: &'a P,
    plan: &'a Plan,
}

impl<P: LemkeProblem> pulp::WithSimd for Follow<'_, P> {
    type Output = (PathEnd, usize);

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        self.lemke.follow(self.problem, self.plan)
    }
}

/// The largest absolute value of a padded array.
#[inline(always)]
fn largest(values: &[f64]) -> f64 {
    let mut largest = [0.0f64; LANES];
    for values in values.chunks_exact(LANES) {
        for lane in 0..LANES {
            let size = values[lane].abs();
            largest[lane] = if size > largest[lane] { size } else { largest[lane] };
        }
    }
    largest.iter().fold(0.0, |a, &b| if b > a { b } else { a })
}

impl Plan {
    /// Each path is followed with more care than the one before, then from other covering vectors.
    fn of_path(path: usize, settings: &LemkeSettings) -> Self {
        let (covering, refresh) = match path {
            0 => (0, usize::MAX),
            1 => (0, 10),
            2 => (0, 3),
            _ => (path - 2, 10),
        };
        let pivot_tolerance = pivot_tolerance(settings, path);
        Self { covering, refresh, settings: LemkeSettings { pivot_tolerance, ..settings.clone() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactLcp, ContactLcpData, FrictionGroup, Lcp, LemkeTableau};
    use faer::{Mat, mat};

    fn solve<P: LemkeProblem>(problem: &P, start: &[bool]) -> (LcpSolution, Vec<bool>) {
        let (mut lemke, mut solution) = (Lemke::default(), LcpSolution::default());
        lemke.solve(problem, &LemkeSettings::default(), start, &mut solution);
        (solution, lemke.basis().to_vec())
    }

    /// A symmetric positive definite matrix with some structure, and an offset of both signs.
    fn example(n: usize) -> Lcp {
        let noise = |i: usize, j: usize| ((i * j + 3 * i + 3 * j) % 7) as f64 / 7.0 - 0.4;
        let matrix = Mat::from_fn(n, n, |i, j| if i == j { n as f64 } else { noise(i, j) });
        Lcp::new(matrix, (0..n).map(|i| (i as f64 * 2.7).sin() - 0.4).collect()).unwrap()
    }

    #[test]
    fn two_unknowns_by_hand() {
        // 2 z1 + z2 = 5, z1 + 2 z2 = 6 with both positive: z = (4/3, 7/3).
        let (solution, basis) = solve(&Lcp::new(mat![[2.0, 1.0], [1.0, 2.0]], vec![-5.0, -6.0]).unwrap(), &[]);
        assert!(solution.report.is_solved());
        assert!((solution.z[0] - 4.0 / 3.0).abs() < 1e-15 && (solution.z[1] - 7.0 / 3.0).abs() < 1e-15);
        assert_eq!(basis, [true, true]);
    }

    #[test]
    fn tableau_and_revised_form_follow_the_same_path() {
        // A unique solution: the answers agree; without ties to resolve, so do the pivots.
        for n in [1, 2, 5, 8, 9, 16, 17, 40] {
            let lcp = example(n);
            let tableau = LemkeTableau::default().solve(&lcp, &LemkeSettings::default());
            let (solution, _) = solve(&lcp, &[]);
            assert!(solution.report.is_solved() && tableau.report.is_solved(), "n = {n}");
            assert!(solution.z.iter().zip(&tableau.z).all(|(a, b)| (a - b).abs() < 1e-14), "n = {n}");
            assert_eq!(solution.report.iterations, tableau.report.iterations, "n = {n}");
        }
    }

    #[test]
    fn a_warm_start_from_the_answer_needs_no_pivot_and_from_elsewhere_few() {
        let lcp = example(24);
        let (cold, basis) = solve(&lcp, &[]);
        let (warm, _) = solve(&lcp, &basis);
        assert_eq!(warm.report.iterations, 0);
        assert!(warm.z.iter().zip(&cold.z).all(|(a, b)| (a - b).abs() < 1e-15));
        // Any start leads to the only solution: all unknowns, every third, or all but those of the
        // answer.
        for start in [
            vec![true; 24],
            (0..24).map(|i| i % 3 == 0).collect::<Vec<bool>>(),
            basis.iter().map(|is_basic| !is_basic).collect(),
        ] {
            let (warm, _) = solve(&lcp, &start);
            assert!(warm.report.is_solved());
            assert!(warm.z.iter().zip(&cold.z).all(|(a, b)| (a - b).abs() < 1e-14), "{start:?}");
        }
    }

    #[test]
    fn a_singular_start_falls_back_to_the_cold_one() {
        // Four corners of a box: rank three, so all four together are no basis.
        let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0f64)];
        let matrix =
            Mat::from_fn(4, 4, |i, j| 1.0 + 3.0 * corners[i].0 * corners[j].0 + 3.0 * corners[i].1 * corners[j].1);
        let (solution, _) = solve(&Lcp::new(matrix, vec![-1.0; 4]).unwrap(), &[true; 4]);
        assert!(solution.report.is_solved(), "{:?}", solution.report);
        assert!((solution.z.iter().sum::<f64>() - 1.0).abs() < 1e-14, "the corners carry the whole weight");
    }

    #[test]
    fn refreshed_inverses_do_not_change_the_path() {
        let lcp = example(30);
        let (reference, _) = solve(&lcp, &[]);
        for path in [1, 2] {
            let settings = LemkeSettings::default();
            let (mut lemke, mut solution) =
                (Lemke { n: 30, work: Work::new(u64::MAX), ..Default::default() }, LcpSolution::default());
            lemke.basis.resize(30, false);
            lemke.start.resize(30, false);
            solution.report.residual = f64::INFINITY;
            lemke.attempt(&lcp, &Plan::of_path(path, &settings), &mut solution);
            assert!(solution.report.is_solved(), "path {path}");
            assert_eq!(solution.report.iterations, reference.report.iterations, "path {path}");
            assert!(solution.z.iter().zip(&reference.z).all(|(a, b)| (a - b).abs() < 1e-14), "path {path}");
        }
    }

    #[test]
    fn ties_are_resolved_as_the_tableau_resolves_them() {
        // Equal offsets and a matrix of few different entries: every ratio test is a tie.
        for n in [3, 6, 10] {
            let matrix = Mat::from_fn(n, n, |i, j| if i == j { 2.0 } else { f64::from((i + j) % 2 == 0) });
            let lcp = Lcp::new(matrix, vec![-1.0; n]).unwrap();
            let tableau = LemkeTableau::default().solve(&lcp, &LemkeSettings::default());
            let (solution, _) = solve(&lcp, &[]);
            assert!(solution.report.is_solved());
            assert_eq!(solution.report.iterations, tableau.report.iterations, "n = {n}");
        }
    }

    #[test]
    fn a_squeezed_body_is_proved_to_have_no_solution_from_any_start() {
        // Two walls approach one body from both sides: w = (c1 - c2 - 1, c2 - c1 - 1).
        let squeezed = Lcp::new(mat![[1.0, -1.0], [-1.0, 1.0]], vec![-1.0, -1.0]).unwrap();
        for start in [&[][..], &[true, false], &[false, true]] {
            assert_eq!(solve(&squeezed, start).0.report.status, SolveStatus::NoSolution, "{start:?}");
        }
    }

    #[test]
    fn a_ray_without_a_certificate_is_no_proof_and_enumeration_goes_on() {
        // Every path ends in a ray, and yet z = (0, 3/2, 1) is a solution, the only one.
        let lcp = Lcp::new(mat![[2.0, 1.0, 1.0], [-1.0, 0.0, 2.0], [-2.0, 2.0, -2.0]], vec![0.0, -2.0, -1.0]).unwrap();
        let (mut lemke, mut solution) = (Lemke::default(), LcpSolution::default());
        lemke.solve(&lcp, &LemkeSettings::default(), &[], &mut solution);
        assert_eq!(solution.report.status, SolveStatus::SecondaryRay);
        lemke.solve_or_enumerate(&lcp, &LemkeSettings::default(), &[], &mut solution);
        assert_eq!(solution.report.status, SolveStatus::Solved);
        assert!(solution.z.iter().zip([0.0, 1.5, 1.0]).all(|(z, expected)| (z - expected).abs() < 1e-15));
        assert_eq!(lemke.basis(), [false, true, true]);
    }

    #[test]
    fn a_guess_is_taken_where_it_is_a_solution_and_nowhere_else() {
        let (mut lemke, mut solution) = (Lemke::default(), LcpSolution::default());
        let mut guess = |matrix: Mat<f64>, offset: Vec<f64>| {
            let lcp = Lcp::new(matrix, offset).unwrap();
            lemke.guess(&lcp, &LemkeSettings::default(), &mut solution).then(|| solution.z.clone())
        };
        assert_eq!(guess(mat![[2.0, 0.0], [0.0, 4.0]], vec![-2.0, 1.0]), Some(vec![1.0, 0.0]));
        assert_eq!(guess(mat![[2.0, 0.0], [0.0, 4.0]], vec![2.0, 1.0]), Some(vec![0.0, 0.0]));
        // A bimatrix game: every path from nothing ends in a ray at once.
        assert_eq!(guess(mat![[0.0, 2.0], [4.0, 0.0]], vec![-1.0, -1.0]), Some(vec![0.25, 0.5]));
        // z1 = 1 makes w2 = 1 - 2 negative; and a block of zeros is no basis.
        assert_eq!(guess(mat![[1.0, 0.0], [-2.0, 1.0]], vec![-1.0, 1.0]), None);
        assert_eq!(guess(mat![[0.0, 1.0], [1.0, 1.0]], vec![-1.0, 1.0]), None);
    }

    #[test]
    fn nothing_of_an_earlier_problem_is_left() {
        // One workspace for problems that grow and shrink, against fresh ones.
        let (mut lemke, mut solution) = (Lemke::default(), LcpSolution::default());
        for n in [40, 3, 17, 1, 33, 8] {
            let lcp = example(n);
            lemke.solve(&lcp, &LemkeSettings::default(), &[], &mut solution);
            let (fresh, basis) = solve(&lcp, &[]);
            assert_eq!(solution, fresh, "n = {n}");
            assert_eq!(lemke.basis(), basis);
        }
    }

    #[test]
    fn a_contact_is_solved_through_its_structure_as_when_written_out() {
        // A particle of 2 kg falls with 3 m/s and slides with 4 m/s, μ = 0.5 and four directions:
        // it keeps 2.5 m/s.
        let data = ContactLcpData {
            delassus: vec![0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5],
            free_rates: vec![-3.0, 4.0, 0.0],
            groups: vec![FrictionGroup {
                normal: Some(0),
                tangent: 1,
                tangent_count: 2,
                directions: 0..4,
                mu: 0.5,
                bound: 0.0,
            }],
            directions: vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]],
        };
        let problem = ContactLcp::new(data).unwrap();
        let (solution, _) = solve(&problem, &[]);
        assert!(solution.report.is_solved());
        let mut impulses = [0.0; 3];
        problem.impulses(&solution.z, &mut impulses);
        assert_eq!(impulses, [6.0, -3.0, 0.0]);
        let (written_out, _) = solve(&problem.to_lcp().unwrap(), &[]);
        assert!(written_out.z.iter().zip(&solution.z).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}

//! Coulomb friction in the plane as a relay, taken apart into two unilateral conditions: the linear
//! complementarity problem of Glocker and Studer.
//!
//! \[GS05\] (27), (33). Friction along a line is a relay,
//! $-\Lambda_T \in \bar\Lambda \thinspace \mathrm{Sgn}(\xi_T)$ with the bound
//! $\bar\Lambda = \mu \Lambda_N + a$, and a relay is the sum of two unilateral conditions (5),
//! (23). With
//!
//! $$ \Lambda_R = \bar\Lambda + \Lambda_T \quad (24), \qquad \Lambda_L = \bar\Lambda - \Lambda_T = 2 \bar\Lambda - \Lambda_R \quad (25), (31),
//! \qquad \xi_T = \xi_R - \xi_L \quad (26), $$
//!
//! the conditions are (27), and the equations between the unknowns, with the Delassus blocks
//! $G_{NN} = W_N^T M^{-1} W_N$ and so on, (33):
//!
//! $$ 0 \le \begin{pmatrix} \xi_N \\\\ \xi_R \\\\ \Lambda_L \end{pmatrix} \perp
//! \begin{pmatrix} \Lambda_N \\\\ \Lambda_R \\\\ \xi_L \end{pmatrix} \ge 0, $$
//!
//! $$ \begin{pmatrix} \xi_N \\\\ \xi_R \\\\ \Lambda_L \end{pmatrix} =
//! \begin{pmatrix} G_{NN} - G_{NT} \mu & G_{NT} & 0 \\\\ G_{TN} - G_{TT} \mu & G_{TT} & E \\\\ 2 \mu & -E & 0 \end{pmatrix}
//! \begin{pmatrix} \Lambda_N \\\\ \Lambda_R \\\\ \xi_L \end{pmatrix} +
//! \begin{pmatrix} b_N - G_{NT} a \\\\ b_T - G_{TT} a \\\\ 2 a \end{pmatrix}. $$
//!
//! | \[GS05\] | here |
//! |---|---|
//! | $\Lambda_N$, $\Lambda_T$ | the impulses $c_n$, $c_t$ of a [`ContactProblem`] |
//! | $w_N$, $w_T$ | its rows $n$, $T$ |
//! | $\xi_N$, $\xi_T$ (11), (20), (21) | its rates $n u + b_n$, $T u + b_t$; the biases hold drift and restitution $\varepsilon \gamma_A$ |
//! | $b_N$, $b_T$ | those rates in free motion |
//! | $a_i$, in the remarks after (33) | the load-independent part $a$ of a bound |
//!
//! More general than the paper: $a$ stands beside $\mu \Lambda_N$ and not only in its place,
//! friction elements have a tangent row without a normal one, contacts without friction have no
//! rows R and L, and joints are eliminated first. A one-way condition on velocities, such as a
//! sprag clutch (§2), is a contact without friction whose bias holds no gap. In space a contact has
//! [several relays](super::spatial_relay).
//!
//! **Load-independent friction.** Where every $\mu$ is zero and the inertia is symmetric, the
//! matrix is bisymmetric, $((G, E), (-E, 0))$, and the problem states the Kuhn-Tucker conditions of
//! a quadratic program, $\min \tfrac12 \Lambda^T G \Lambda + b^T \Lambda$ with $\Lambda_N \ge 0$
//! and $\lvert \Lambda_T \rvert \le a$. As $G$ is positive semidefinite, it has a solution, and the
//! motion is unique.
//!
//! **Existence.** With $\mu > 0$ the matrix is not copositive, as that of the
//! [pyramid](super::pyramid) is, so that the path of Lemke's method may end in a ray although there
//! is a solution. The conditions are the same with the tangent of a contact reversed, which
//! exchanges R and L, but the path is another one. So where it ends in a ray the method reverses
//! tangents and tries again.
//!
//! **Warm start.** The basis of the last solution is kept by contact, in terms of the tangents as
//! given: with a tangent reversed, $\Lambda_L$ and $\xi_R$ stand among the unknowns in the places
//! of $\Lambda_R$ and $\xi_L$, so that R is basic where L was not, and L where R was not.
//!
//! **The level of accelerations.** (33) holds unchanged for forces and accelerations, as \[GS05\]
//! says at its end. There the friction of a contact that slides is known, and its normal force acts
//! along $n - \mu s^T T$ instead of $n$: only the columns of $G$ that belong to $\Lambda_N$ change.
//! See [`Instant::solve_relay`](crate::Instant::solve_relay).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::PortableMath as _;
use stiction_solve::{Lcp, LemkeSettings, SolveStatus};

use super::rows::{LcpWorkspace, places};
use super::spatial_relay::Lines;
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings};
use crate::contact_problem::Group;
use crate::error::Untreated;
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, PhantomContact, Row, StatedProblem};

/// Choices of tangents that are tried, at most: as given, all reversed, against the free slip,
/// along it, and then mixed ones.
const ATTEMPTS: usize = 40;

/// Multiples of it are spread evenly over the unit interval.
const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;

/// Settings of the planar relay method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanarRelaySettings {
    /// Start each solve from the basis of the last one. Faster; where forces are not unique, it
    /// stays with those of the last step.
    pub warm_start: bool,
    /// Settings of Lemke's method.
    pub lemke: LemkeSettings,
}

impl Default for PlanarRelaySettings {
    fn default() -> Self {
        // Where the near paths end in rays, reversed tangents lead further than far ones.
        Self { warm_start: true, lemke: LemkeSettings { paths: 12, ..Default::default() } }
    }
}

impl MethodSettings for PlanarRelaySettings {
    fn facts(&self) -> MethodFacts {
        let summary = "Relay functions, in the plane only: the linear complementarity problem of [GS05].";
        MethodFacts::new("planar-relay", summary, &[], FrictionSets::Line)
    }

    fn lemke(&self) -> Option<&LemkeSettings> {
        Some(&self.lemke)
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(PlanarRelay::new(self.clone())))
    }
}

impl Formulation for PlanarRelay {
    fn treats(&self, group: &Group) -> bool {
        self.lines.as_ref().map_or(group.is_round(), |lines| lines.can_span(group.tangents.len(), group.shape))
    }

    fn friction_set(&self, tangent_count: usize, shape: &FrictionShape, _: PhantomContact) -> FrictionShape {
        set(&self.lines, tangent_count, shape).clone()
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

/// The planar relay method with its workspace.
#[derive(Clone, Debug, Default)]
pub struct PlanarRelay {
    settings: PlanarRelaySettings,
    /// Along which lines the relays of a tangent plane act; none where friction in space is
    /// refused.
    lines: Option<Lines>,
    lcp: Lcp,
    /// Its rows: normals of contacts, relays of contacts with friction and of friction elements.
    work: LcpWorkspace,
    normal_count: usize,
    /// The unit in which the impulse of each of these rows is measured in the LCP.
    units: Vec<f64>,
    /// The relays in the order of their rows.
    relays: Vec<Relay>,
    /// The relays of each contact, and then of each friction element.
    relays_of: Vec<Range<usize>>,
}

/// Friction along one line.
#[derive(Clone, Copy, Debug)]
struct Relay {
    /// What friction along it is in terms of the tangent rows.
    line: [f64; 3],
    /// The normal row that loads it, with $\mu$; none for friction elements.
    normal: Option<usize>,
    mu: f64,
    /// The constant part $a$ of the bound.
    extra_bound: f64,
    /// The line in the LCP is this sign times that of the problem.
    sign: f64,
}

/// The friction set with which a shape is replaced, for this many tangent rows.
fn set<'a>(lines: &'a Option<Lines>, tangent_count: usize, shape: &'a FrictionShape) -> &'a FrictionShape {
    lines.as_ref().map_or(shape, |lines| lines.set(tangent_count, shape))
}

impl PlanarRelay {
    /// The method with these settings.
    pub fn new(settings: PlanarRelaySettings) -> Self {
        Self { settings, ..Default::default() }
    }

    /// The method in space, with relays along these lines.
    pub(super) fn along(settings: PlanarRelaySettings, lines: Lines) -> Self {
        Self { settings, lines: Some(lines), ..Default::default() }
    }

    /// The LCP (27), (33) of a contact problem whose inertia is factored, joints eliminated: to be
    /// saved and solved elsewhere. Its unknowns stand in the paper's order: $\Lambda_N$ of all
    /// contacts, $\Lambda_R$ and then $\xi_L$ of all contacts with friction and all friction
    /// elements.
    ///
    /// # Errors
    /// [`ContactError`] as for [`solve`](Self::solve).
    pub fn lcp(&mut self, problem: &ContactProblem) -> Result<Lcp, ContactError> {
        self.state(problem, None)?;
        self.units.fill(1.0);
        self.write()?;
        Ok(std::mem::take(&mut self.lcp))
    }

    /// Collects rows and relays, and eliminates the joints.
    fn state(&mut self, problem: &ContactProblem, force_rows: Option<&[Row]>) -> Result<(), ContactError> {
        self.work.rows.begin();
        problem.contacts.iter().for_each(|c| self.work.rows.push(c.normal.entries(), c.normal_bias));
        self.normal_count = problem.contacts.len();
        self.relays.clear();
        self.relays_of.clear();
        for (number, group) in problem.groups().enumerate() {
            let first = self.relays.len();
            if group.has_friction() {
                self.push_relays(number, &group)?;
            }
            self.relays_of.push(first..self.relays.len());
        }
        self.work.rows.condense(problem, force_rows)?;
        self.choose_units();
        Ok(())
    }

    /// Appends the relays of a contact or friction element, with their rows.
    fn push_relays(&mut self, number: usize, group: &Group) -> Result<(), ContactError> {
        let Group { tangents, mu, bound, .. } = *group;
        let normal = group.normal.map(|_| number);
        let relay = |line| Relay { line, normal, mu, extra_bound: bound, sign: 1.0 };
        let rows = &mut self.work.rows;
        match (tangents.len(), &self.lines) {
            (1, None) => {
                rows.push_tangents(group);
                self.relays.push(relay([1.0, 0.0, 0.0]));
            }
            (0, Some(_)) => return Err(Untreated::NoTangents.of(group.name)),
            (count, Some(lines)) => {
                let mut row = Row::new();
                for line in lines.of(count, group.axes) {
                    row.clear();
                    for (tangent, factor) in tangents.iter().zip(line).filter(|(_, factor)| *factor != 0.0) {
                        tangent.entries().iter().for_each(|&(index, value)| row.push(index, factor * value));
                    }
                    let bias = group.tangent_bias.iter().zip(line).map(|(bias, factor)| bias * factor).sum();
                    rows.push(row.entries(), bias);
                    self.relays.push(relay(line));
                }
            }
            (found, None) => return Err(Untreated::NotPlanar(found).of(group.name)),
        }
        Ok(())
    }

    /// Units of impulse in which the Delassus matrix is about one. With E among its entries, no
    /// scaling of (33) by its largest ones would find them: the motion of bodies of tons would be
    /// right to ten digits only, and the residual would not notice.
    fn choose_units(&mut self) {
        let rows = self.work.rows.free_rates.len();
        let diagonal = |row: usize| self.work.rows.delassus[row * rows + row].abs();
        let unit = |mean: f64| if mean > 0.0 { (-0.5 * mean.portable_log2()).round().portable_exp2() } else { 1.0 };
        self.units.clear();
        self.units.resize(rows, 1.0);
        for (group, relays) in self.relays_of.iter().enumerate() {
            // All rows of a contact have one unit.
            let normal = (group < self.normal_count).then_some(group);
            let own = || normal.into_iter().chain(relays.clone().map(|relay| self.normal_count + relay));
            let mean = own().map(diagonal).sum::<f64>() / own().count() as f64;
            own().for_each(|row| self.units[row] = unit(mean));
        }
    }

    /// The LCP (33) of the rows and relays. Impulses are measured in the units, rates in their
    /// inverses, which changes no entry of E and 2 μ; as the units are powers of two, nothing is
    /// rounded.
    fn write(&mut self) -> Result<(), ContactError> {
        let (mut entries, mut offset) = self.lcp.take_data();
        let (normals, tangents) = (self.normal_count, self.relays.len());
        let (rows, size) = (normals + tangents, normals + 2 * tangents);
        let sign = |row: usize| if row < normals { 1.0 } else { self.relays[row - normals].sign };
        let (units, work) = (&self.units, &self.work.rows);
        entries.clear();
        entries.resize(size * size, 0.0);
        offset.clear();
        offset.extend((0..rows).map(|i| sign(i) * units[i] * work.free_rates[i]));
        offset.resize(size, 0.0);
        for j in 0..rows {
            for i in 0..rows {
                entries[j * size + i] = sign(i) * units[i] * sign(j) * units[j] * work.delassus[j * rows + i];
            }
        }
        for (k, relay) in self.relays.iter().enumerate() {
            let (right, left) = (normals + k, rows + k);
            let extra_bound = relay.extra_bound / units[right];
            // Λ_T = Λ_R - μ Λ_N - a moves the rates by -G_T (μ Λ_N + a).
            for i in 0..rows {
                let entry = entries[right * size + i];
                offset[i] -= entry * extra_bound;
                if let Some(normal) = relay.normal {
                    entries[normal * size + i] -= entry * relay.mu;
                }
            }
            // (30): ξ_R = ξ_T + ξ_L, and (31): Λ_L = 2 (μ Λ_N + a) - Λ_R.
            entries[left * size + right] = 1.0;
            entries[right * size + left] = -1.0;
            if let Some(normal) = relay.normal {
                entries[normal * size + left] = 2.0 * relay.mu;
            }
            offset[left] = 2.0 * extra_bound;
        }
        Ok(self.lcp.state(entries, offset)?)
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`Untreated::NotPlanar`] when a contact or friction element has friction along two tangents,
    /// as in space; or a number is not finite. A problem that was not solved is not an error but a
    /// status of the report.
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
        self.state(problem, force_rows)?;
        let (normals, tangents) = (self.normal_count, self.relays.len());
        let Self { work, relays_of, .. } = self;
        let is_warm = self.settings.warm_start;
        work.recall(is_warm, problem, normals + 2 * tangents, |group| {
            places([normals, tangents], &relays_of[group], group)
        });
        self.solve_lcp()?;
        let Self { work, relays, relays_of, lines, .. } = self;
        work.memory.forget();
        if is_warm && work.answer.report.is_solved() {
            work.start_from_basis();
            let start = &mut work.start;
            for (k, _) in relays.iter().enumerate().filter(|(_, relay)| relay.sign < 0.0) {
                let (right, left) = (normals + k, normals + tangents + k);
                (start[right], start[left]) = (!start[left], !start[right]);
            }
            work.memory.store(problem, start, |group| places([normals, tangents], &relays_of[group], group));
        }

        // Back to impulses by row: Λ_T = Λ_R - μ Λ_N - a.
        work.impulses.clear();
        work.impulses.extend(work.answer.z.iter().zip(&self.units).map(|(z, unit)| z * unit));
        let (normal_impulses, right) = work.impulses.split_at_mut(normals);
        for (relay, impulse) in relays.iter().zip(right) {
            let bound = relay.normal.map_or(0.0, |normal| relay.mu * normal_impulses[normal]) + relay.extra_bound;
            *impulse = relay.sign * (*impulse - bound);
        }
        let at = |group: usize, impulses: &[f64]| {
            let own = relays_of[group].clone();
            let normal = if group < normals { impulses[group] } else { 0.0 };
            let parts = relays[own.clone()].iter().zip(&impulses[normals..][own]);
            parts.fold([normal, 0.0, 0.0, 0.0], |[n, x, y, z], (relay, impulse)| {
                let [a, b, c] = relay.line.map(|along| along * impulse);
                [n, x + a, y + b, z + c]
            })
        };
        let sets = |count, shape| set(lines, count, shape);
        work.complete((problem, force_rows), &sets, &self.settings.lemke, at, solution);
        Ok(())
    }

    /// Solves the LCP, and where the path ends in a ray tries again with other tangents reversed;
    /// leaves the signs of the answer.
    fn solve_lcp(&mut self) -> Result<(), ContactError> {
        let mut iterations = 0;
        for attempt in 0..ATTEMPTS {
            let slips = &self.work.rows.free_rates[self.normal_count..];
            for (k, (relay, slip)) in self.relays.iter_mut().zip(slips).enumerate() {
                let is_reversed = match attempt {
                    0 => false,
                    1 => true,
                    2 => *slip > 0.0,
                    3 => *slip <= 0.0,
                    _ => (((attempt - 3) * (k + 1)) as f64 * GOLDEN_RATIO).fract() < 0.5,
                };
                relay.sign = if is_reversed { -1.0 } else { 1.0 };
            }
            self.write()?;
            // The start is in terms of the tangents as given.
            let LcpWorkspace { lemke, answer, start, .. } = &mut self.work;
            let start = if attempt == 0 { &start[..] } else { &[] };
            // Without load-dependent friction nothing is to be gained from another path.
            let is_last = attempt + 1 == ATTEMPTS || self.relays.iter().all(|relay| relay.mu == 0.0);
            if is_last {
                lemke.solve_or_enumerate(&self.lcp, &self.settings.lemke, start, answer);
            } else {
                lemke.solve(&self.lcp, &self.settings.lemke, start, answer);
            }
            iterations += answer.report.iterations;
            if is_last || matches!(answer.report.status, SolveStatus::Solved | SolveStatus::NoSolution) {
                break;
            }
        }
        self.work.answer.report.iterations = iterations;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{BodyKind, RandomContacts};
    use crate::{ContactCondition, ContactId, FrictionCondition, JointCondition};

    /// Coordinates with these masses and this free motion.
    fn free(masses: &[f64], free_motion: &[f64]) -> ContactProblem {
        let mut problem = ContactProblem { free_motion: free_motion.to_vec(), ..Default::default() };
        problem.inertia.set_diagonal(masses);
        problem.inertia.factor().unwrap();
        problem
    }

    /// A particle of 2 kg in the plane on the floor y ≥ 0 with μ = 0.5.
    fn particle(free_motion: [f64; 2]) -> ContactProblem {
        let mut problem = free(&[2.0; 2], &free_motion);
        problem.contacts.push(ContactCondition {
            id: ContactId::number(7),
            normal: Row::from_dense(&[0.0, 1.0]),
            tangents: [Row::from_dense(&[1.0, 0.0])].into_iter().collect(),
            mu: 0.5,
            ..Default::default()
        });
        problem
    }

    fn solve(problem: &ContactProblem) -> ContactSolution {
        problem.check().unwrap();
        let mut solution = ContactSolution::default();
        PlanarRelay::default().solve(problem, &mut solution).unwrap();
        assert!(solution.report.is_solved(), "{:?}", solution.report);
        solution
    }

    fn assert_close(values: &[f64], expected: &[f64]) {
        assert_eq!(values.len(), expected.len());
        // Numbers of the order of one, few operations.
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{values:?}, not {expected:?}");
    }

    #[test]
    fn a_particle_sticks_slides_and_flies() {
        // Falls with 3 m/s: normal impulse 6, so friction may be 3 N s and change the velocity by
        // 1.5 m/s.
        for (speed, left, friction) in [(1.0, 0.0, -2.0), (-1.0, 0.0, 2.0), (4.0, 2.5, -3.0), (-4.0, -2.5, 3.0)] {
            let solution = solve(&particle([speed, -3.0]));
            assert_close(&solution.motion, &[left, 0.0]);
            assert_close(&[solution.contacts[0].normal, solution.contacts[0].tangent[0]], &[6.0, friction]);
            assert_eq!(solution.contacts[0].id, ContactId::number(7));
        }
        let fly = solve(&particle([4.0, 0.1]));
        assert_eq!(fly.motion, [4.0, 0.1]);
        assert_eq!((fly.contacts[0].normal, fly.contacts[0].tangent), (0.0, [0.0; 3]));
    }

    #[test]
    fn restitution_and_belts_stand_in_the_biases() {
        // (20), (21): with ε_N = 0.5 it leaves with 1.5 m/s, normal impulse 9; over a belt of 1 m/s
        // it sticks with 1 m/s.
        let mut problem = particle([2.0, -3.0]);
        problem.contacts[0].normal_bias = 0.5 * -3.0;
        problem.contacts[0].tangent_bias[0] = -1.0;
        let solution = solve(&problem);
        assert_close(&solution.motion, &[1.0, 1.5]);
        assert_close(&[solution.contacts[0].normal, solution.contacts[0].tangent[0]], &[9.0, -2.0]);
    }

    #[test]
    fn the_parts_of_a_bound_add_up() {
        // μ Λ_N + a = 3 + 1 N s takes 2 m/s; in the air a alone takes 0.5 m/s.
        let mut problem = particle([4.0, -3.0]);
        problem.contacts[0].extra_bound = 1.0;
        assert_close(&solve(&problem).motion, &[2.0, 0.0]);
        let mut problem = particle([-4.0, 3.0]);
        problem.contacts[0].extra_bound = 1.0;
        let solution = solve(&problem);
        assert_close(&solution.motion, &[-3.5, 3.0]);
        assert_close(&solution.contacts[0].tangent, &[1.0, 0.0, 0.0]);
    }

    #[test]
    fn friction_without_a_normal_row_is_bounded_by_its_constant() {
        // 3 kg with 2 m/s, bound 4.5 N s: 0.5 m/s remain. With 1 m/s it stops and 3 N s are used.
        for (speed, left, impulse) in [(2.0, 0.5, -4.5), (1.0, 0.0, -3.0), (-2.0, -0.5, 4.5)] {
            let mut problem = free(&[3.0], &[speed]);
            let tangents = [Row::from_dense(&[1.0])].into_iter().collect();
            problem.friction.push(FrictionCondition { tangents, bound: 4.5, ..Default::default() });
            let solution = solve(&problem);
            assert_close(&solution.motion, &[left]);
            assert_close(&solution.friction[0], &[impulse, 0.0, 0.0]);
        }
    }

    #[test]
    fn the_lcp_is_that_of_the_paper() {
        // (33) with G = 1/2 for both rows, uncoupled, μ = 0.5, a = 3, free rates -3 and 1.
        let mut problem = particle([1.0, -3.0]);
        problem.contacts[0].extra_bound = 3.0;
        let lcp = PlanarRelay::default().lcp(&problem).unwrap();
        let expected = [[0.5, 0.0, 0.0], [-0.25, 0.5, 1.0], [1.0, -1.0, 0.0]];
        for (i, row) in expected.iter().enumerate() {
            assert_close(&[0, 1, 2].map(|j| lcp.matrix()[(i, j)]), row);
        }
        assert_close(lcp.offset(), &[-3.0, 1.0 - 0.5 * 3.0, 2.0 * 3.0]);
    }

    #[test]
    fn a_basis_found_with_reversed_tangents_is_kept_for_the_tangents_as_given() {
        // Leaning rods with much friction, where paths end in rays. The same problem again starts
        // at its answer: no pivot is needed.
        let family = RandomContacts {
            contact_count: 3,
            bodies: BodyKind::Rods,
            is_planar: true,
            mu: [1.0, 10.0],
            kick: 1.0,
            ..Default::default()
        };
        let mut reversed = 0;
        for seed in 0..2000 {
            let problem = family.problem(seed);
            let mut method = PlanarRelay::default();
            let [mut first, mut again] = [0; 2].map(|_| ContactSolution::default());
            method.solve(&problem, &mut first).unwrap();
            if !(first.report.is_solved() && method.relays.iter().any(|relay| relay.sign < 0.0)) {
                continue;
            }
            reversed += 1;
            method.solve(&problem, &mut again).unwrap();
            assert_eq!(again.report.iterations, 0, "seed {seed}");
            assert!(first.motion.iter().zip(&again.motion).all(|(a, b)| (a - b).abs() < 1e-10), "seed {seed}");
        }
        assert!(reversed > 5, "{reversed}");
    }

    #[test]
    fn a_contact_without_friction_has_a_normal_row_only() {
        let mut problem = particle([1.0, -3.0]);
        problem.contacts[0].mu = 0.0;
        // In space as well.
        problem.contacts[0].tangents.push(Row::from_dense(&[1.0, 0.0]));
        assert_eq!(PlanarRelay::default().lcp(&problem).unwrap().size(), 1);
        assert_close(&solve(&problem).motion, &[1.0, 0.0]);
    }

    #[test]
    fn a_sprag_clutch_turns_one_way() {
        // A shaft of 0.5 kg m² in a clutch that lets it turn forwards over a housing with 2 rad/s:
        // ω - 2 ≥ 0 ⊥ Λ ≥ 0.
        for (free_speed, speed, impulse) in [(5.0, 5.0, 0.0), (2.5, 2.5, 0.0), (1.0, 2.0, 0.5), (-3.0, 2.0, 2.5)] {
            let mut problem = free(&[0.5], &[free_speed]);
            let normal = Row::from_dense(&[1.0]);
            problem.contacts.push(ContactCondition { normal, normal_bias: -2.0, ..Default::default() });
            let solution = solve(&problem);
            assert_close(&solution.motion, &[speed]);
            assert_close(&[solution.contacts[0].normal], &[impulse]);
        }
        // Driven through a slipping coupling, which transmits at most 0.75 N m s from a shaft of 1
        // kg m² that turns backwards: the clutch holds, takes what the coupling transmits, and the
        // other shaft goes on with -4 + 0.75.
        let mut problem = free(&[0.5, 1.0], &[0.0, -4.0]);
        problem.contacts.push(ContactCondition { normal: Row::from_dense(&[1.0, 0.0]), ..Default::default() });
        let tangents = [Row::from_dense(&[1.0, -1.0])].into_iter().collect();
        problem.friction.push(FrictionCondition { tangents, bound: 0.75, ..Default::default() });
        let solution = solve(&problem);
        assert_close(&solution.motion, &[0.0, -3.25]);
        assert_close(&[solution.contacts[0].normal, solution.friction[0][0]], &[0.75, -0.75]);
        // Forwards it turns freely: the coupling drags it along to 0.75 / 0.5.
        problem.free_motion[1] = 4.0;
        assert_close(&solve(&problem).motion, &[1.5, 3.25]);
    }

    #[test]
    fn joints_hold_while_the_contact_acts() {
        // The particle, with a second one of 2 kg linked to it in both coordinates: twice the
        // momentum, and half of it through the link.
        let mut problem = free(&[2.0; 4], &[4.0, -3.0, 4.0, -3.0]);
        problem.contacts = particle([0.0; 2]).contacts;
        for i in 0..2 {
            let mut row = Row::new();
            row.push(i, 1.0);
            row.push(i + 2, -1.0);
            problem.joints.push(JointCondition { row, bias: 0.0, rounding: 0.0 });
        }
        let solution = solve(&problem);
        assert_close(&solution.motion, &[2.5, 0.0, 2.5, 0.0]);
        assert_close(&[solution.contacts[0].normal, solution.contacts[0].tangent[0]], &[12.0, -6.0]);
        assert_close(&solution.joints, &[3.0, -6.0]);
        // The first joint twice: the same motion, and its impulse in two parts.
        problem.joints.push(problem.joints[0].clone());
        let doubled = solve(&problem);
        assert_close(&doubled.motion, &[2.5, 0.0, 2.5, 0.0]);
        assert_close(&[doubled.joints[0] + doubled.joints[2], doubled.joints[1]], &[3.0, -6.0]);
        // And once more with another bias: no motion obeys both.
        problem.joints[2].bias = 1e-3;
        let mut contradiction = ContactSolution::default();
        PlanarRelay::default().solve(&problem, &mut contradiction).unwrap();
        assert_eq!(contradiction.report.status, SolveStatus::Inaccurate);
    }

    #[test]
    fn friction_in_space_is_refused_with_the_contact_and_the_method_that_can() {
        let mut problem = particle([1.0, -3.0]);
        problem.contacts[0].tangents.push(Row::from_dense(&[1.0, 0.0]));
        let mut method = PlanarRelay::default();
        let error = method.solve(&problem, &mut ContactSolution::default()).unwrap_err();
        assert_eq!(method.lcp(&problem).unwrap_err(), error);
        let text = error.to_string();
        for part in ["feature: 7", "friction along 2 tangent rows", "planar-relay", "the pyramid method one or two"] {
            assert!(text.contains(part), "{text}");
        }
        let mut problem = free(&[3.0], &[1.0]);
        problem.friction.push(FrictionCondition { id: 4, bound: 1.0, ..Default::default() });
        let text = method.lcp(&problem).unwrap_err().to_string();
        assert!(text.contains("friction element 4: friction along 0 tangent rows"), "{text}");
    }
}

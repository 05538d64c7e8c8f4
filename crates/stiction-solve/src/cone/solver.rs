//! The solver of cone problems: islands, the chain of methods on each, and the residual that
//! judges.
//!
//! Contacts that share no body, directly or through others, do not know of each other. Each such
//! island is loaded into a `space` of its own and solved by the `chain`. Then the whole is judged
//! from the problem as it was stated, and where the error is still too large, the islands go on to
//! smaller targets.

use super::body_space::BodySpace;
use super::certificate;
use super::chain::{Chain, ENOUGH};
use super::contact_space::ContactSpace;
use super::island::Island;
use super::law::{Cone, Law, LawKind};
use super::problem::{GlobalConeProblem, LocalConeProblem};
use super::residual::{self, ConeErrors, GlobalResidual};
use super::settings::{ConeSettings, ConeSolution};
use super::space::Space;
use crate::judge::{Judgement, judge_local, norm};
use crate::lcp::{nearest_power_of_two, root_power_of_two};
use crate::work::is_interrupted;
use crate::{ProblemError, SolveStatus, Work};

/// What the first target is of the tolerance: the equations of the methods have scales of their
/// own, and a second round costs more.
const FIRST_TARGET: f64 = 0.3;

/// Rounds, at most, each with a target smaller by this factor than the worst residual that was
/// reached before.
const ROUNDS: usize = 12;
const TARGET_FACTOR: f64 = 0.03;

/// Part of the worst residual that a round has to leave, for another one to be worth the while.
const GAIN: f64 = 0.5;

/// Factors on the first target with which a problem of a file is begun anew, where the judge did
/// not accept what was reached.
const NEW_BEGINNINGS: [f64; 3] = [1.0, 1e-3, 1e-6];

/// Contacts up to which an island whose masses are coupled is condensed to an explicit matrix.
const CONDENSED_LIMIT: usize = 100;

/// Solves cone problems, and keeps its memory and what follows from the pattern of the last ones.
///
/// ```
/// use stiction_solve::cone::{Cone, ConeSettings, ConeSolver, LocalConeProblem, SparseRows};
///
/// // W = 2 I, q = (-4, 3, 4), μ = 0.5: it slides, with r_N = 2 and friction of length 1 against (3, 4).
/// let matrix = SparseRows::from_triplets(3, 3, &[(0, 0, 2.0), (1, 1, 2.0), (2, 2, 2.0)])?;
/// let problem = LocalConeProblem::new(vec![Cone::coulomb(0.5)], matrix, vec![-4.0, 3.0, 4.0])?;
/// let mut solver = ConeSolver::default();
/// let solution = solver.solve_local(&problem, &ConeSettings::default(), None);
/// assert!(solution.report.is_solved());
/// assert!((solution.impulses[1] + 0.6).abs() < 1e-14);
/// # Ok::<(), stiction_solve::ProblemError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ConeSolver {
    planar: Engine<2, 3, 4>,
    spatial: Engine<3, 6, 8>,
    torsional: Engine<4, 6, 8>,
    residual: GlobalResidual,
    solution: ConeSolution,
}

impl ConeSolver {
    /// The last solution.
    pub fn solution(&self) -> &ConeSolution {
        &self.solution
    }

    /// Solves a local problem, from the impulses `start` if there are some.
    ///
    /// # Panics
    /// When `start` has not as many impulses as the problem has rows.
    pub fn solve_local(
        &mut self,
        problem: &LocalConeProblem,
        settings: &ConeSettings,
        start: Option<&[f64]>,
    ) -> &ConeSolution {
        let slots = problem.cones().iter().map(Cone::slot_count).max().unwrap_or(0);
        let Self { planar, spatial, torsional, solution, .. } = self;
        solution.joints.clear();
        solution.velocity.clear();
        match slots {
            0..=2 => planar.solve_local(problem, settings, start, solution),
            3 => spatial.solve_local(problem, settings, start, solution),
            _ => torsional.solve_local(problem, settings, start, solution),
        }
        &self.solution
    }

    /// Solves a global problem, from the impulses `start` of its contacts and joints if there are
    /// some.
    ///
    /// # Errors
    /// [`ProblemError`] when the problem does not pass its check, or its mass matrix is singular.
    ///
    /// # Panics
    /// When `start` has not as many impulses as the problem has rows.
    pub fn solve_global(
        &mut self,
        problem: &GlobalConeProblem,
        settings: &ConeSettings,
        start: Option<(&[f64], &[f64])>,
    ) -> Result<&ConeSolution, ProblemError> {
        problem.check()?;
        self.residual.prepare(problem)?;
        let slots = problem.cones().iter().map(Cone::slot_count).max().unwrap_or(3);
        let Self { planar, spatial, torsional, residual, solution } = self;
        match slots {
            0..=2 => planar.solve_global(problem, settings, start, residual, solution)?,
            3 => spatial.solve_global(problem, settings, start, residual, solution)?,
            _ => torsional.solve_global(problem, settings, start, residual, solution)?,
        }
        Ok(&self.solution)
    }
}

/// Rows that are solved together: a contact, or a few rows of joints.
#[derive(Clone, Copy, Debug)]
struct Group {
    law: Law,
    /// The contact, or none for joints.
    cone: Option<Cone>,
    first_row: usize,
    row_count: usize,
    /// Its number in its island.
    number: u32,
}

impl Group {
    fn new(cone: Option<Cone>, first_row: usize) -> Self {
        let (law, row_count) = cone.map_or((Law::JOINT, 1), |cone| (cone.law(), cone.row_count()));
        Self { law, cone, first_row, row_count, number: 0 }
    }

    /// Its rows of the problem and their biases.
    fn rows<'a>(&self, problem: &'a GlobalConeProblem) -> impl Iterator<Item = (&'a [(usize, f64)], f64)> + use<'a> {
        let (rows, biases) = match self.cone {
            Some(_) => (problem.contacts(), problem.contact_bias()),
            None => (problem.joints(), problem.joint_bias()),
        };
        (self.first_row..self.first_row + self.row_count).map(|row| (rows.row(row), biases[row]))
    }

    /// The slot of each row, and the factor on it.
    fn slots(&self) -> impl Iterator<Item = (usize, f64)> + use<> {
        let joint = self.cone.is_none().then_some(self.row_count);
        let joint = joint.into_iter().flat_map(|count| (0..count).map(|k| (k, 1.0)));
        joint.chain(self.cone.into_iter().flat_map(|cone| cone.slots()))
    }
}

/// Sets that are united: each is known by its smallest member.
#[derive(Clone, Debug, Default)]
struct Sets {
    parents: Vec<u32>,
}

impl Sets {
    fn reset(&mut self, count: usize) {
        self.parents.clear();
        self.parents.extend(0..count as u32);
    }

    fn find(&mut self, member: usize) -> usize {
        let mut node = member;
        while self.parents[node] as usize != node {
            self.parents[node] = self.parents[self.parents[node] as usize];
            node = self.parents[node] as usize;
        }
        node
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b)] = a.min(b) as u32;
    }
}

/// Space and unknowns of one island.
#[derive(Clone, Debug, Default)]
struct IslandSlot<const D: usize, const B: usize, const P: usize> {
    groups: Vec<usize>,
    bodies: Vec<usize>,
    body_space: BodySpace<D, B, P>,
    contact_space: ContactSpace<D>,
    is_condensed: bool,
    island: Island<D>,
}

/// All islands of problems whose contacts have up to D rows, and bodies of B coordinates, in
/// matrices with rows of P numbers for each.
#[derive(Clone, Debug, Default)]
struct Engine<const D: usize, const B: usize, const P: usize> {
    groups: Vec<Group>,
    slots: Vec<IslandSlot<D, B, P>>,
    island_count: usize,
    /// Bodies, or contacts, that know of each other, and the island of each smallest member.
    sets: Sets,
    island_of_root: Vec<Option<usize>>,
    /// The island of each body, where there is one, and its number there.
    homes: Vec<Option<(usize, usize)>>,
    /// For each row of a local problem its group, its slot and the semi-axis there; for each group
    /// the block of it that is being filled.
    row_owner: Vec<(usize, usize, f64)>,
    marks: Vec<(usize, usize)>,
    touched: Vec<usize>,
    touched_before: Vec<usize>,
    units: Units,
    /// The unit of each coordinate of a global problem: what a column of $H$ is multiplied by.
    coordinate_units: Vec<f64>,
}

/// The units in which a problem is solved, powers of two: rates are multiplied by one factor and
/// $W$ by another, so that both are about one and nothing overflows.
///
/// Both follow from $q$ and $W$ alone. So a problem in other units whose ratios are powers of two
/// is the same problem here, to the last bit, and takes the same way.
#[derive(Clone, Copy, Debug)]
struct Units {
    rate: f64,
    matrix: f64,
}

impl Default for Units {
    fn default() -> Self {
        Self { rate: 1.0, matrix: 1.0 }
    }
}

impl Units {
    /// Units in which these become one.
    fn new(rate: f64, matrix: f64) -> Self {
        let factor = |size: f64| if size > 0.0 && size.is_finite() { 1.0 / nearest_power_of_two(size) } else { 1.0 };
        Self { rate: factor(rate), matrix: factor(matrix) }
    }

    /// The factor on impulses.
    fn impulse(&self) -> f64 {
        self.rate / self.matrix
    }

    /// The law in these units.
    fn law(&self, law: Law) -> Law {
        Law { bound: self.impulse() * law.bound, ..law }
    }
}

/// Whether the judge of problem files decides, see [`ConeSettings::unscaled_tolerance`].
fn is_of_a_file(settings: &ConeSettings) -> bool {
    settings.unscaled_tolerance.is_finite()
}

/// No group yet.
const NONE: usize = usize::MAX;

impl<const D: usize, const B: usize, const P: usize> Engine<D, B, P> {
    /// Forgets all islands, and makes a group of each contact.
    fn begin(&mut self, cones: &[Cone], member_count: usize) {
        self.sets.reset(member_count);
        self.island_of_root.clear();
        self.island_of_root.resize(member_count, None);
        self.island_count = 0;
        self.slots.iter_mut().for_each(|slot| {
            slot.groups.clear();
            slot.bodies.clear();
        });
        self.groups.clear();
        let mut first_row = 0;
        for cone in cones {
            self.groups.push(Group::new(Some(*cone), first_row));
            first_row += cone.row_count();
        }
    }

    /// Puts each group into the island of a member, or into one of its own where it has none.
    fn number_groups(&mut self, member_of: impl Fn(usize, &Group) -> Option<usize>) {
        for index in 0..self.groups.len() {
            let root = member_of(index, &self.groups[index]).map(|member| self.sets.find(member));
            let island = root.and_then(|root| self.island_of_root[root]).unwrap_or(self.island_count);
            if island == self.island_count {
                self.island_count += 1;
                if self.slots.len() < self.island_count {
                    self.slots.push(IslandSlot::default());
                }
            }
            if let Some(root) = root {
                self.island_of_root[root] = Some(island);
            }
            let slot = &mut self.slots[island];
            self.groups[index].number = slot.groups.len() as u32;
            slot.groups.push(index);
        }
    }

    fn solve_local(
        &mut self,
        problem: &LocalConeProblem,
        settings: &ConeSettings,
        start: Option<&[f64]>,
        solution: &mut ConeSolution,
    ) {
        let size = norm(problem.offset());
        solution.certificate.clear();
        solution.impulses.clear();
        solution.impulses.resize(problem.offset().len(), 0.0);
        let judge = |solution: &ConeSolution| match is_of_a_file(settings) {
            true => Verdict::of_judgement(&judge_local(problem, &solution.impulses), settings),
            false => Verdict::of_errors(residual::local_errors(problem, &solution.impulses), settings),
        };
        if may_rest(problem.cones(), problem.offset(), size, settings) && judge(solution).rests(solution) {
            return;
        }
        self.units = Units::new(size, problem.mean_diagonal());
        self.load_local(problem);
        let start = start.map(|start| (start, [].as_slice()));
        self.solve_islands(settings, size, start, solution, judge);
        if !solution.report.is_solved()
            && problem.cones().len() <= certificate::ROW_LIMIT
            && let Some(certificate) = certificate::of_local(problem)
        {
            solution.report.status = SolveStatus::NoSolution;
            solution.certificate = certificate;
        }
    }

    fn load_local(&mut self, problem: &LocalConeProblem) {
        let matrix = problem.matrix();
        self.begin(problem.cones(), problem.cones().len());
        self.row_owner.clear();
        for (index, group) in self.groups.iter().enumerate() {
            self.row_owner.extend(group.slots().map(|(slot, axis)| (index, slot, axis)));
        }
        for row in 0..matrix.row_count() {
            let own = self.row_owner[row].0;
            let mut last = own; // the columns of a group usually follow one another
            for &(column, value) in matrix.row(row) {
                let other = self.row_owner[column].0;
                if value != 0.0 && other != last {
                    self.sets.unite(own, other);
                    last = other;
                }
            }
        }
        self.number_groups(|index, _| Some(index));
        self.marks.clear();
        self.marks.resize(self.groups.len(), (NONE, 0));
        let (groups, marks, units) = (&self.groups, &mut self.marks, self.units);
        for slot in &mut self.slots[..self.island_count] {
            slot.is_condensed = true;
            let space = &mut slot.contact_space;
            space.clear();
            for &index in &slot.groups {
                let group = &groups[index];
                let (mut offset, mut is_present) = ([0.0; D], [false; D]);
                for (k, (slot, axis)) in group.slots().enumerate() {
                    offset[slot] = units.rate * (axis * problem.offset()[group.first_row + k]);
                    is_present[slot] = true;
                }
                space.push_contact(units.law(group.law), offset);
                for (k, (row_slot, row_axis)) in group.slots().enumerate() {
                    for &(column, value) in matrix.row(group.first_row + k).iter().filter(|entry| entry.1 != 0.0) {
                        let (other, column_slot, column_axis) = self.row_owner[column];
                        let value = units.matrix * (row_axis * value * column_axis);
                        if other == index {
                            space.diagonal_mut()[row_slot][column_slot] += value;
                            continue;
                        }
                        let mark = &mut marks[other];
                        if mark.0 != index {
                            *mark = (index, space.push_block(groups[other].number as usize, [[0.0; D]; D]));
                        }
                        space.block_mut(mark.1)[row_slot][column_slot] += value;
                    }
                }
                space.end_contact(&is_present);
            }
        }
    }

    fn solve_global(
        &mut self,
        problem: &GlobalConeProblem,
        settings: &ConeSettings,
        start: Option<(&[f64], &[f64])>,
        residual: &mut GlobalResidual,
        solution: &mut ConeSolution,
    ) -> Result<(), ProblemError> {
        let size = residual.offset_norm();
        solution.certificate.clear();
        solution.impulses.clear();
        solution.impulses.resize(problem.contact_bias().len(), 0.0);
        solution.joints.clear();
        solution.joints.resize(problem.joint_bias().len(), 0.0);
        let may_rest = solution.joints.is_empty() && may_rest(problem.cones(), residual.offset(), size, settings);
        let mut judge = |solution: &ConeSolution, mean: f64| {
            let ConeSolution { impulses, joints, .. } = solution;
            match is_of_a_file(settings) {
                true => Verdict::of_judgement(&residual.judgement(problem, impulses, joints, mean), settings),
                false => Verdict::of_errors(residual.errors(problem, impulses, joints, mean), settings),
            }
        };
        // Without impulses both errors are the same, whatever the mean of the diagonal.
        if !(may_rest && judge(solution, 1.0).rests(solution)) {
            self.choose_units(problem, size);
            let mean = self.load_global(problem)?;
            self.solve_islands(settings, size, start, solution, |solution| judge(solution, mean));
        }
        solution.velocity.clear();
        solution.velocity.extend_from_slice(residual.velocity());
        if !solution.report.is_solved()
            && problem.cones().len() + 2 * problem.joint_bias().len() <= certificate::ROW_LIMIT
            && let Some(certificate) = residual.certificate(problem)
        {
            solution.report.status = SolveStatus::NoSolution;
            solution.certificate = certificate;
        }
        Ok(())
    }

    /// The units of a global problem.
    ///
    /// That of $W$ is what its diagonal would be on average if $M$ had nothing beside its own: a
    /// mobility in any coordinates, where a mean of masses and moments of inertia would change with
    /// the unit of length. Then each coordinate gets the unit in which its entry of $M$ is about
    /// one, so that lengths and angles compare.
    fn choose_units(&mut self, problem: &GlobalConeProblem, rate: f64) {
        let masses = &mut self.coordinate_units;
        masses.clear();
        masses.resize(problem.coordinate_count(), 0.0);
        problem.mass().iter().filter(|(row, column, _)| row == column).for_each(|entry| masses[entry.0] += entry.2);
        let rows = if problem.cones().is_empty() { problem.joints() } else { problem.contacts() };
        let has_mass = |entry: &&(usize, f64)| masses[entry.0] != 0.0;
        let mobility = |&(k, value): &(usize, f64)| value * (value / masses[k].abs());
        let of_row = |row: usize| rows.row(row).iter().filter(has_mass).map(mobility).sum::<f64>();
        let sum: f64 = (0..rows.row_count()).map(of_row).sum();
        self.units = Units::new(rate, sum / rows.row_count() as f64);
        let matrix = self.units.matrix;
        masses.iter_mut().for_each(|mass| *mass = 1.0 / root_power_of_two(mass.abs() / matrix));
    }

    /// Loads all islands; returns the mean of the diagonal of W over the rows of contacts.
    fn load_global(&mut self, problem: &GlobalConeProblem) -> Result<f64, ProblemError> {
        self.begin(problem.cones(), problem.coordinate_count().div_ceil(B));
        self.group_joints(problem);
        self.find_islands(problem);
        self.load_bodies(problem);
        self.load_rows(problem);
        self.finish_islands(problem)
    }

    /// Joint rows of the same bodies that follow one another are solved together.
    fn group_joints(&mut self, problem: &GlobalConeProblem) {
        self.touched_before.clear();
        for row in 0..problem.joints().row_count() {
            self.touched.clear();
            self.touched.extend(problem.joints().row(row).iter().map(|&(column, _)| column / B));
            self.touched.sort_unstable();
            self.touched.dedup();
            let can_join = row > 0 && self.touched == self.touched_before;
            match self.groups.last_mut() {
                Some(group) if can_join && group.cone.is_none() && group.row_count < D => group.row_count += 1,
                _ => self.groups.push(Group::new(None, row)),
            }
            std::mem::swap(&mut self.touched, &mut self.touched_before);
        }
    }

    /// Bodies that share a group, or whose masses are coupled, are in one island.
    fn find_islands(&mut self, problem: &GlobalConeProblem) {
        for &(row, column, value) in problem.mass() {
            if row / B != column / B && value != 0.0 {
                self.sets.unite(row / B, column / B);
            }
        }
        // The bodies that a group moves, one after another.
        let bodies = |group: &Group| {
            let entries = group.rows(problem).flat_map(|(row, _)| row).filter(|entry| entry.1 != 0.0);
            entries.map(|&(column, _)| column / B)
        };
        for group in &self.groups {
            let mut own = bodies(group);
            let Some(first) = own.next() else { continue };
            own.filter(|&body| body != first).for_each(|body| self.sets.unite(first, body));
        }
        self.number_groups(|_, group| bodies(group).next());
        self.homes.clear();
        for body in 0..self.island_of_root.len() {
            let island = self.island_of_root[self.sets.find(body)];
            self.homes.push(island.map(|island| (island, self.slots[island].bodies.len())));
            if let Some(island) = island {
                self.slots[island].bodies.push(body);
            }
        }
    }

    /// Masses and forces.
    fn load_bodies(&mut self, problem: &GlobalConeProblem) {
        for slot in &mut self.slots[..self.island_count] {
            slot.body_space.clear(slot.bodies.len());
        }
        for &(row, column, value) in problem.mass().iter().filter(|entry| entry.2 != 0.0) {
            let (Some((island, body)), Some((_, other))) = (self.homes[row / B], self.homes[column / B]) else {
                continue;
            };
            let units = self.coordinate_units[row] * self.coordinate_units[column];
            let (space, value) = (&mut self.slots[island].body_space, value / self.units.matrix * units);
            if row / B == column / B {
                space.mass_mut(body)[row % B][column % B] += value;
            } else {
                space.push_coupling((body, row % B), (other, column % B), value);
            }
        }
        for (body, home) in self.homes.iter().enumerate() {
            let &Some((island, local)) = home else { continue };
            let space = &mut self.slots[island].body_space;
            for k in 0..B {
                match problem.force().get(body * B + k) {
                    Some(&force) => {
                        let unit = self.coordinate_units[body * B + k];
                        space.force_mut(local)[k] = self.units.impulse() * force * unit;
                    }
                    // The last block may be larger than what is left.
                    None => space.mass_mut(local)[k][k] = 1.0,
                }
            }
        }
    }

    /// The rows of contacts and joints, group by group.
    fn load_rows(&mut self, problem: &GlobalConeProblem) {
        for slot in &mut self.slots[..self.island_count] {
            let space = &mut slot.body_space;
            for group in slot.groups.iter().map(|&index| &self.groups[index]) {
                let mut bias = [0.0; D];
                for ((slot, axis), (_, own)) in group.slots().zip(group.rows(problem)) {
                    bias[slot] = self.units.rate * (axis * own);
                }
                space.push_contact(self.units.law(group.law), bias);
                for ((slot, axis), (row, _)) in group.slots().zip(group.rows(problem)) {
                    for &(column, value) in row.iter().filter(|entry| entry.1 != 0.0) {
                        let (_, body) = self.homes[column / B].expect("a body that a group moves is in its island");
                        space.push_entry(slot, body, column % B, axis * value * self.coordinate_units[column]);
                    }
                }
                space.end_contact();
            }
        }
    }

    /// Computes what follows from the entries; returns the mean of the diagonal of W.
    fn finish_islands(&mut self, problem: &GlobalConeProblem) -> Result<f64, ProblemError> {
        let (mut sum, mut count) = (0.0, 0);
        for slot in &mut self.slots[..self.island_count] {
            if !slot.body_space.finish() {
                return Err(ProblemError::Pivot { row: slot.bodies[0] * B, pivot: 0.0 });
            }
            for (&index, w) in slot.groups.iter().zip(slot.body_space.diagonal()) {
                let group = &self.groups[index];
                if group.cone.is_some() || problem.cones().is_empty() {
                    for (slot, axis) in group.slots() {
                        sum += w[slot][slot].abs() / (axis * axis);
                        count += 1;
                    }
                }
            }
            let count = slot.groups.len();
            slot.is_condensed = count == 1 || (!slot.body_space.can_sweep() && count <= CONDENSED_LIMIT);
            if slot.is_condensed {
                slot.body_space.condense(&mut slot.contact_space);
            }
        }
        Ok(if count > 0 { sum / count as f64 / self.units.matrix } else { 1.0 })
    }

    /// Puts the start, or zero, into the islands.
    fn set_start(&mut self, start: Option<(&[f64], &[f64])>) {
        for slot in &mut self.slots[..self.island_count] {
            slot.island.r.clear();
            for group in slot.groups.iter().map(|&index| &self.groups[index]) {
                let mut r = [0.0; D];
                if let Some((contacts, joints)) = start {
                    let values = if group.cone.is_some() { contacts } else { joints };
                    for (k, (slot, axis)) in group.slots().enumerate() {
                        let value = self.units.impulse() * (values[group.first_row + k] / axis);
                        r[slot] = if value.is_finite() { value } else { 0.0 };
                    }
                }
                slot.island.r.push(r);
            }
        }
    }

    /// Runs the chain on all islands, with smaller targets as long as the errors are above the
    /// tolerances and some method still gains.
    fn solve_islands(
        &mut self,
        settings: &ConeSettings,
        norm: f64,
        start: Option<(&[f64], &[f64])>,
        solution: &mut ConeSolution,
        mut judge: impl FnMut(&ConeSolution) -> Verdict,
    ) {
        let is_small = norm == 0.0 || (norm < residual::ZERO_OFFSET && !is_of_a_file(settings));
        let scale = self.units.rate * if is_small { 1.0 } else { norm };
        let tolerance = settings.tolerance.min(settings.unscaled_tolerance);
        let first_target = FIRST_TARGET * tolerance * scale / (self.island_count.max(1) as f64).sqrt();
        solution.report.stages.clear();
        solution.report.islands = self.island_count;
        let mut verdict = Verdict::WORST;
        let mut work = Work::new(settings.work_limit);
        for (beginning, factor) in NEW_BEGINNINGS.into_iter().enumerate() {
            self.set_start(if beginning == 0 { start } else { None });
            let is_warm = beginning == 0 && start.is_some();
            let mut target = factor * first_target;
            let enough = factor * ENOUGH * tolerance * scale;
            let mut worst = f64::INFINITY;
            for round in 0..ROUNDS {
                for (number, slot) in self.slots[..self.island_count].iter_mut().enumerate() {
                    slot.island.work = work;
                    let stages = &mut solution.report.stages;
                    let IslandSlot { body_space, contact_space, island, .. } = slot;
                    let enough = if round == 0 { enough } else { target };
                    let plan = Plan { round, target, is_promising: worst * TARGET_FACTOR <= target, is_warm };
                    if slot.is_condensed {
                        run(Chain { space: contact_space, island, settings, stages, number, scale, enough }, &plan);
                    } else {
                        run(Chain { space: body_space, island, settings, stages, number, scale, enough }, &plan);
                    }
                    work = std::mem::take(&mut slot.island.work);
                }
                self.gather(solution);
                verdict = judge(solution);
                if verdict.is_accepted || work.is_spent() {
                    break;
                }
                // A target that every island has met, and the judge has not accepted, was too
                // large.
                let reached = self.slots[..self.island_count].iter().map(|slot| slot.island.best_residual);
                let reached = reached.fold(0.0, f64::max);
                if reached > GAIN * worst || reached == 0.0 {
                    break;
                }
                worst = reached;
                target = TARGET_FACTOR * target.min(reached);
            }
            // A new beginning with a smaller target is of use where the methods were content with
            // what the judge does not accept.
            let is_content = self.slots[..self.island_count].iter().all(|slot| slot.island.best_residual <= enough);
            if verdict.is_accepted || work.is_spent() || !is_of_a_file(settings) || !is_content {
                break;
            }
        }
        solution.report.errors = verdict.errors;
        solution.report.status = match () {
            () if verdict.is_accepted => SolveStatus::Solved,
            () if is_interrupted() => SolveStatus::Interrupted,
            () => SolveStatus::IterationLimit,
        };
    }

    fn gather(&self, solution: &mut ConeSolution) {
        for slot in &self.slots[..self.island_count] {
            for (&index, r) in slot.groups.iter().zip(&slot.island.r) {
                let group = &self.groups[index];
                let values = if group.cone.is_some() { &mut solution.impulses } else { &mut solution.joints };
                for (k, (slot, axis)) in group.slots().enumerate() {
                    values[group.first_row + k] = axis * r[slot] / self.units.impulse();
                }
            }
        }
    }
}

/// What is asked of a point, and whether it is met.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    errors: ConeErrors,
    is_accepted: bool,
}

impl Verdict {
    const WORST: Self =
        Self { errors: ConeErrors { unscaled: f64::INFINITY, scaled: f64::INFINITY }, is_accepted: false };

    fn of_errors(errors: ConeErrors, settings: &ConeSettings) -> Self {
        let is_accepted = errors.scaled <= settings.tolerance && errors.unscaled <= settings.unscaled_tolerance;
        Self { errors, is_accepted }
    }

    fn of_judgement(judgement: &Judgement, settings: &ConeSettings) -> Self {
        let errors = ConeErrors { unscaled: judgement.err_q.value, scaled: judgement.err_scaled.value };
        let is_accepted = judgement.err_q.is_within(settings.unscaled_tolerance)
            && judgement.err_scaled.is_within(settings.tolerance);
        Self { errors, is_accepted }
    }

    /// Notes in the solution that it needs no solving, if this is the verdict on no impulses and
    /// accepts them; says whether.
    fn rests(self, solution: &mut ConeSolution) -> bool {
        if self.is_accepted {
            let report = &mut solution.report;
            (report.status, report.errors, report.islands) = (SolveStatus::Solved, self.errors, 0);
            report.stages.clear();
        }
        self.is_accepted
    }
}

/// Whether no impulses at all may solve the problem with the offsets `q`, whose norm is `size`:
/// nothing approaches, or in a problem of a file, where the tolerance is that of its user, by no
/// more than the tolerance; and no friction has a bound of its own.
fn may_rest(cones: &[Cone], q: &[f64], size: f64, settings: &ConeSettings) -> bool {
    let slack = if is_of_a_file(settings) { settings.unscaled_tolerance * size } else { 0.0 };
    let mut row = 0;
    cones.iter().all(|cone| {
        let law = cone.law();
        let normal = q[row];
        row += cone.row_count();
        // The natural map at r = 0 is the distance of -û from the polar cone, |u_N| / √(1 + μ²) or
        // more.
        law.kind == LawKind::Contact && law.bound == 0.0 && normal >= -slack * (1.0 + law.mu)
    })
}

/// One round on an island.
struct Plan {
    round: usize,
    target: f64,
    /// Whether the last target was reached.
    is_promising: bool,
    is_warm: bool,
}

fn run<S: Space<D>, const D: usize>(mut chain: Chain<'_, S, D>, plan: &Plan) {
    if plan.round == 0 {
        chain.solve(plan.target, plan.is_warm);
    } else if chain.island.best_residual > plan.target {
        chain.improve(plan.target, plan.is_promising);
    }
}

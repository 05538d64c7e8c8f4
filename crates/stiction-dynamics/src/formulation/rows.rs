//! What the formulations share: the rows of a problem, their Delassus matrix, and the joints, which
//! are eliminated first; and for Lemke's method the way to a linear complementarity problem and
//! back.
//!
//! With the rows $J$ of contacts and friction one after another the rates are $J u_c + b + J P c$:
//! $u_c$ is the motion with the joints alone and $P$ the response of the jointed system, both from
//! [`ConstrainedMotion`]; without joints $u_\text{free}$ and $W^{-1} J^T$.

use std::ops::Range;

use stiction_solve::{LcpSolution, Lemke, LemkeSettings};

use super::memory::{Memory, Places};
use crate::constrained_motion::ConstrainedMotion;
use crate::contact_problem::Group;
use crate::error::Untreated;
use crate::judge::{Judge, SetOf, solved_limit};
use crate::{ContactError, ContactProblem, ContactSolution, Row};

/// The rows of contacts and friction one after another, in the order of the formulation, and the
/// joints, eliminated.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Entries of all rows, and where each row begins.
    entries: Vec<(usize, f64)>,
    starts: Vec<usize>,
    biases: Vec<f64>,
    joints: ConstrainedMotion,
    /// How motion and joint impulses respond to the impulses, row by row.
    responses: Vec<(Row, Row)>,
    /// One response as a dense vector.
    dense: Vec<f64>,
    /// The Delassus matrix $J P$ of the jointed system, column after column, and the rates without
    /// impulses.
    pub delassus: Vec<f64>,
    pub free_rates: Vec<f64>,
}

impl Rows {
    /// Begins a problem: removes all rows.
    pub fn begin(&mut self) {
        self.entries.clear();
        self.starts.clear();
        self.starts.push(0);
        self.biases.clear();
    }

    pub fn count(&self) -> usize {
        self.biases.len()
    }

    pub fn push(&mut self, entries: &[(usize, f64)], bias: f64) {
        self.entries.extend_from_slice(entries);
        self.starts.push(self.entries.len());
        self.biases.push(bias);
    }

    pub fn push_tangents(&mut self, group: &Group) {
        group.rough_tangents().iter().zip(group.tangent_bias).for_each(|(row, bias)| self.push(row.entries(), bias));
    }

    /// The rates of the rows in a motion, without their biases.
    fn rates(&self, motion: &[f64]) -> impl Iterator<Item = f64> {
        let rate =
            |ends: &[usize]| self.entries[ends[0]..ends[1]].iter().map(|&(k, value)| value * motion[k]).sum::<f64>();
        self.starts.windows(2).map(rate)
    }

    /// Eliminates the joints, and writes Delassus matrix and rates. The impulses of the first rows
    /// act along `force_rows` where these are given.
    pub fn condense(&mut self, problem: &ContactProblem, force_rows: Option<&[Row]>) -> Result<(), ContactError> {
        self.joints.factor(problem)?;
        let count = self.count();
        self.responses.resize_with(count.max(self.responses.len()), Default::default);
        self.dense.clear();
        self.dense.resize(problem.free_motion.len(), 0.0);
        let mut delassus = std::mem::take(&mut self.delassus);
        delassus.clear();
        for j in 0..count {
            let along = match force_rows.and_then(|rows| rows.get(j)) {
                Some(row) => row.entries(),
                None => &self.entries[self.starts[j]..self.starts[j + 1]],
            };
            let (motion, joint_impulses) = &mut self.responses[j];
            self.joints.respond(&problem.inertia, along, motion, joint_impulses);
            motion.add_to(1.0, &mut self.dense);
            delassus.extend(self.rates(&self.dense));
            self.responses[j].0.entries().iter().for_each(|&(index, _)| self.dense[index] = 0.0);
        }
        let mut free_rates = std::mem::take(&mut self.free_rates);
        free_rates.clear();
        free_rates.extend(self.rates(self.joints.motion()).zip(&self.biases).map(|(rate, bias)| rate + bias));
        (self.delassus, self.free_rates) = (delassus, free_rates);
        Ok(())
    }

    /// The motion with the joints alone, of the problem that was condensed last.
    pub fn constrained_motion(&self) -> &[f64] {
        self.joints.motion()
    }

    /// From impulses by row to motion and joint impulses.
    pub fn recover(&self, impulses: &[f64], solution: &mut ContactSolution) {
        solution.motion.clear();
        solution.motion.extend_from_slice(self.joints.motion());
        solution.joints.clear();
        solution.joints.extend_from_slice(self.joints.joint_impulses());
        for ((motion, joint_impulses), &impulse) in self.responses.iter().zip(impulses) {
            if impulse != 0.0 {
                motion.add_to(impulse, &mut solution.motion);
                joint_impulses.add_to(impulse, &mut solution.joints);
            }
        }
    }
}

/// To a linear complementarity problem and back: what the formulations for Lemke's method share.
#[derive(Clone, Debug, Default)]
pub(super) struct LcpWorkspace {
    pub rows: Rows,
    pub lemke: Lemke,
    pub answer: LcpSolution,
    /// Which unknowns the next solve starts with.
    pub start: Vec<bool>,
    /// Impulses by row.
    pub impulses: Vec<f64>,
    /// The basis of the last solution by contact.
    pub memory: Memory<bool>,
    judge: Judge,
}

impl LcpWorkspace {
    /// Writes the start: the basis that the groups had in the last solution, or none.
    pub fn recall(&mut self, is_warm: bool, problem: &ContactProblem, count: usize, places: impl Fn(usize) -> Places) {
        self.start.clear();
        if is_warm {
            self.memory.recall(problem, count, places, &mut self.start);
        }
    }

    /// Starts the next solve where the last one ended.
    pub fn start_from_basis(&mut self) {
        self.start.clear();
        self.start.extend_from_slice(self.lemke.basis());
    }

    /// From the impulses by row to a complete solution, with the report of Lemke's method, judged.
    /// `at` says which impulses belong to a group.
    pub fn complete<'a>(
        &mut self,
        (problem, force_rows): (&'a ContactProblem, Option<&[Row]>),
        sets: &SetOf<'a>,
        settings: &LemkeSettings,
        at: impl Fn(usize, &[f64]) -> [f64; 4],
        solution: &mut ContactSolution,
    ) {
        solution.report = self.answer.report.clone();
        self.rows.recover(&self.impulses, solution);
        solution.write_impulses(problem, |group| at(group, &self.impulses));
        self.judge.pronounce(problem, force_rows, sets, lcp_limit(problem, settings), solution);
    }
}

/// The largest residual of a solution by Lemke's method.
pub(super) fn lcp_limit(problem: &ContactProblem, settings: &LemkeSettings) -> f64 {
    solved_limit(problem.contacts.len()).min(settings.residual_tolerance)
}

/// Where the unknowns of a group stand among `r` normal impulses and then two parts of `k` unknowns
/// of friction: a contact has the normal impulse of its number, and `own` of each part.
pub(super) fn places([r, k]: [usize; 2], own: &Range<usize>, group: usize) -> Places {
    let normal = if group < r { group..group + 1 } else { 0..0 };
    [normal, r + own.start..r + own.end, r + k + own.start..r + k + own.end]
}

/// Normal and tangent impulses from those by row.
pub(super) fn impulses_at(normal: Option<usize>, tangents: Range<usize>, impulses: &[f64]) -> [f64; 4] {
    let mut out = [normal.map_or(0.0, |row| impulses[row]), 0.0, 0.0, 0.0];
    out[1..=tangents.len()].copy_from_slice(&impulses[tangents]);
    out
}

/// Refuses tangent rows that a polygon does not have.
pub(super) fn check_tangents(group: &Group) -> Result<(), ContactError> {
    match group.tangents.len() {
        1 | 2 => Ok(()),
        found => Err(Untreated::TangentCount(found).of(group.name)),
    }
}

/// Refuses friction without rows along which it could act.
pub(super) fn refuse_missing_tangents(problem: &ContactProblem) -> Result<(), ContactError> {
    match problem.groups().find(|group| group.has_friction() && group.tangents.is_empty()) {
        Some(group) => Err(Untreated::NoTangents.of(group.name)),
        None => Ok(()),
    }
}

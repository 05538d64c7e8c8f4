//! What the formulations share: the rows of a problem, their Delassus matrix, and the joints, which are eliminated first.
//!
//! With the rows $J$ one after another and the joints in front, the rates are $b + J W^{-1} J^T c$. Joints ask for rates of zero, so
//! their impulses follow from the others ([`MixedLcp::condense`]), and what is left is a problem of the other rows alone.

use stiction_solve::faer::MatRef;
use stiction_solve::residual::free_row_residual;
use stiction_solve::{Elimination, MixedLcp, SolveStatus};

use crate::contact::Tangents;
use crate::{ContactError, ContactProblem, ContactSolution, Inertia, Row};

/// The rows of a problem one after another: those of the joints, then those of contacts and friction in the order of the formulation.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Entries of all rows, and where each row begins.
    entries: Vec<(usize, f64)>,
    starts: Vec<usize>,
    /// The rates that the rows have in free motion.
    free_rates: Vec<f64>,
    /// $W^{-1} J^T$, row by row.
    solved: Vec<Row>,
    /// One solved row as a dense vector.
    dense: Vec<f64>,
}

/// What the joints were eliminated with.
pub(super) struct JointElimination {
    mixed: MixedLcp,
    factors: Elimination,
}

impl Rows {
    /// Begins a problem: removes all rows and adds those of the joints.
    pub fn begin(&mut self, problem: &ContactProblem) {
        self.entries.clear();
        self.starts.clear();
        self.starts.push(0);
        self.free_rates.clear();
        problem.joints.iter().for_each(|joint| self.push(&joint.row, joint.bias, &problem.free_motion));
    }

    pub fn count(&self) -> usize {
        self.free_rates.len()
    }

    pub fn push(&mut self, row: &Row, bias: f64, free_motion: &[f64]) {
        self.entries.extend_from_slice(row.entries());
        self.starts.push(self.entries.len());
        self.free_rates.push(row.dot(free_motion) + bias);
    }

    pub fn push_all(&mut self, rows: &[Row], bias: &[f64; 3], free_motion: &[f64]) {
        rows.iter().zip(bias).for_each(|(row, &bias)| self.push(row, bias, free_motion));
    }

    /// Writes the Delassus matrix, column after column, and the free rates of all rows but those of the joints, which are eliminated.
    /// Where there are joints, returns what they were eliminated with.
    pub fn condense(
        &mut self,
        problem: &ContactProblem,
        delassus: &mut Vec<f64>,
        free_rates: &mut Vec<f64>,
    ) -> Result<Option<JointElimination>, ContactError> {
        self.delassus(&problem.inertia, problem.free_motion.len(), delassus);
        free_rates.clear();
        let joint_count = problem.joints.len();
        if joint_count == 0 {
            free_rates.extend_from_slice(&self.free_rates);
            return Ok(None);
        }
        let count = self.count();
        let all = MatRef::from_column_major_slice(delassus, count, count);
        let (top, bottom) = all.split_at_row(joint_count);
        let ((a, b), (c, d)) = (top.split_at_col(joint_count), bottom.split_at_col(joint_count));
        let (joint_rates, own_rates) = self.free_rates.split_at(joint_count);
        let [a, b, c, d] = [a, b, c, d].map(|block| block.to_owned());
        let mixed = MixedLcp::new(a, b, c, d, joint_rates.to_vec(), own_rates.to_vec())?;
        let (condensed, rates, factors) = mixed.condense()?;
        delassus.clear();
        (0..condensed.ncols()).for_each(|j| delassus.extend_from_slice(condensed.col_as_slice(j)));
        free_rates.extend_from_slice(&rates);
        Ok(Some(JointElimination { mixed, factors }))
    }

    /// The Delassus matrix $J W^{-1} J^T$ over all rows, column after column; leaves $W^{-1} J^T$.
    fn delassus(&mut self, inertia: &Inertia, coordinate_count: usize, out: &mut Vec<f64>) {
        let count = self.count();
        self.solved.resize_with(count.max(self.solved.len()), Row::new);
        self.dense.clear();
        self.dense.resize(coordinate_count, 0.0);
        out.clear();
        for j in 0..count {
            let solved = &mut self.solved[j];
            inertia.solve_row(&self.entries[self.starts[j]..self.starts[j + 1]], solved);
            solved.add_to(1.0, &mut self.dense);
            let dense = &self.dense;
            out.extend(self.starts.windows(2).map(|ends| {
                self.entries[ends[0]..ends[1]].iter().map(|&(index, value)| value * dense[index]).sum::<f64>()
            }));
            solved.entries().iter().for_each(|&(index, _)| self.dense[index] = 0.0);
        }
    }

    /// From impulses by row to joints and motion. Those of the joints, which stand first, are recovered from the others and judged: a
    /// residual above the tolerance takes back that the problem is solved. Then $u = u_\text{free} + W^{-1} J^T c$.
    pub fn recover(
        &self,
        problem: &ContactProblem,
        elimination: Option<JointElimination>,
        residual_tolerance: f64,
        impulses: &mut [f64],
        solution: &mut ContactSolution,
    ) {
        let (joint_impulses, own_impulses) = impulses.split_at_mut(problem.joints.len());
        solution.joints.clear();
        if let Some(JointElimination { mixed, factors }) = elimination {
            solution.joints.extend(factors.recover(own_impulses));
            joint_impulses.copy_from_slice(&solution.joints);
            let residual = free_row_residual(&mixed, &solution.joints, own_impulses);
            if residual > solution.report.residual {
                solution.report.residual = residual;
                if solution.report.is_solved() && residual > residual_tolerance {
                    solution.report.status = SolveStatus::Inaccurate;
                }
            }
        }
        solution.motion.clear();
        solution.motion.extend_from_slice(&problem.free_motion);
        for (solved, &impulse) in self.solved.iter().zip(impulses.iter()) {
            if impulse != 0.0 {
                solved.add_to(impulse, &mut solution.motion);
            }
        }
    }
}

/// Refuses tangent rows that polygonal friction cannot treat.
pub(super) fn check_tangents(tangents: &Tangents, what: impl Fn() -> String) -> Result<(), ContactError> {
    match tangents.len() {
        1 | 2 => Ok(()),
        found => Err(ContactError::TangentCount { what: what(), found }),
    }
}

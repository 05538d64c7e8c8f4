//! What the formulations share: the rows of a problem, their Delassus matrix, and the joints, which are eliminated first.
//!
//! With the rows $J$ of contacts and friction one after another the rates are $J u_c + b + J P c$: $u_c$ is the motion with the joints
//! alone and $P$ the response of the jointed system, both from [`ConstrainedMotion`]; without joints $u_\text{free}$ and $W^{-1} J^T$.

use crate::constrained_motion::ConstrainedMotion;
use crate::contact::Tangents;
use crate::{ContactError, ContactProblem, ContactSolution, Inertia, Row};

/// The rows of contacts and friction one after another, in the order of the formulation, and the joints, eliminated.
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

    pub fn push(&mut self, row: &Row, bias: f64) {
        self.push_entries(row.entries(), bias);
    }

    pub fn push_entries(&mut self, entries: &[(usize, f64)], bias: f64) {
        self.entries.extend_from_slice(entries);
        self.starts.push(self.entries.len());
        self.biases.push(bias);
    }

    pub fn push_all(&mut self, rows: &[Row], bias: &[f64; 3]) {
        rows.iter().zip(bias).for_each(|(row, &bias)| self.push(row, bias));
    }

    /// Eliminates the joints, and writes the Delassus matrix of the jointed system, column after column, and the rates that the rows have
    /// without impulses.
    pub fn condense(
        &mut self,
        problem: &ContactProblem,
        delassus: &mut Vec<f64>,
        free_rates: &mut Vec<f64>,
    ) -> Result<(), ContactError> {
        self.joints.factor(problem)?;
        self.delassus(&problem.inertia, problem.free_motion.len(), delassus);
        let motion = self.joints.motion();
        free_rates.clear();
        free_rates.extend(self.starts.windows(2).zip(&self.biases).map(|(ends, bias)| {
            self.entries[ends[0]..ends[1]].iter().map(|&(index, value)| value * motion[index]).sum::<f64>() + bias
        }));
        Ok(())
    }

    /// The Delassus matrix $J P$ over all rows, column after column; leaves the responses.
    fn delassus(&mut self, inertia: &Inertia, coordinate_count: usize, out: &mut Vec<f64>) {
        let count = self.count();
        self.responses.resize_with(count.max(self.responses.len()), Default::default);
        self.dense.clear();
        self.dense.resize(coordinate_count, 0.0);
        out.clear();
        for j in 0..count {
            let (motion, joint_impulses) = &mut self.responses[j];
            self.joints.respond(inertia, &self.entries[self.starts[j]..self.starts[j + 1]], motion, joint_impulses);
            motion.add_to(1.0, &mut self.dense);
            let dense = &self.dense;
            out.extend(self.starts.windows(2).map(|ends| {
                self.entries[ends[0]..ends[1]].iter().map(|&(index, value)| value * dense[index]).sum::<f64>()
            }));
            motion.entries().iter().for_each(|&(index, _)| self.dense[index] = 0.0);
        }
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

/// Refuses tangent rows that a polygon does not have.
pub(super) fn check_tangents(tangents: &Tangents, what: impl Fn() -> String) -> Result<(), ContactError> {
    match tangents.len() {
        1 | 2 => Ok(()),
        found => Err(ContactError::TangentCount { what: what(), found }),
    }
}

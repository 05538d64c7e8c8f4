//! The motion that the joints alone would give, and how a jointed system answers to an impulse: one sparse factorisation for both.
//!
//! With the joints of a [`ContactProblem`] and an impulse along a row $J$ in addition to the free motion,
//!
//! $$ K \begin{pmatrix} u - u_\text{free} \\\\ c_j \end{pmatrix} = \begin{pmatrix} J^T \\\\ -(\nu u_\text{free} + b_j) \end{pmatrix}, \qquad
//! K = \begin{pmatrix} W & -\nu^T \\\\ \nu & 0 \end{pmatrix}. $$
//!
//! $J = 0$ gives the constrained motion $u_c$; the lower part zero gives the response to $J$. $K$ is as sparse as the mechanism:
//! for a chain or a tree the work grows with the number of its joints, where $\nu W^{-1} \nu^T$ as a dense matrix would cost its cube.
//! Only coordinates that a joint reaches stand in $K$, and a response is computed in the component that the row touches.
//!
//! **Redundant joints.** Rows that depend on each other make $K$ singular: the motion is unique, the impulses are not. What is
//! factored is $K$ with $\varepsilon D$ in the lower right corner, $D_i = \nu_i \operatorname{diag}(W)^{-1} \nu_i^T$, and its error is taken back by
//! repeating with the residual of $K$ itself:
//!
//! $$ \nu u^{(k+1)} + b_j + \varepsilon D (c_j^{(k+1)} - c_j^{(k)}) = 0. $$
//!
//! This is the method of multipliers (\[B82\] §2.2): it converges whenever the conditions do not contradict each other, by the factor
//! $\varepsilon / \lambda$ a step, where $\lambda$ is the smallest positive eigenvalue of $D^{-1/2} \nu W^{-1} \nu^T D^{-1/2}$. Of all impulses
//! that fit it gives those without a part in the null space of $\nu^T$, up to rounding, which $\varepsilon$ magnifies there: to
//! about $10^{-16} / \varepsilon$ of their size. Where conditions contradict each other no motion obeys them; [`joint_residual`](crate::joint_residual)
//! will say so.

use std::ops::Range;

use stiction_solve::{ProblemError, SparseLu};

use crate::{ContactError, ContactProblem, Inertia, Row};

/// The regularisation $\varepsilon$ of joint rows, relative to $D$. Too large: many repetitions where masses or lengths are far
/// apart. Too small: the impulses of redundant joints are shared at random.
const REGULARISATION: f64 = 1e-9;

/// Solves with the factors for one right-hand side, at least and at most. The second takes back the regularisation where joints are well
/// conditioned; nearly dependent ones need a few more.
const SOLVES: Range<usize> = 2..16;

/// A residual up to this, relative to the terms that it sums, is rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A solve that does not reduce the residual by this factor is the last.
const WORTH_REPEATING: f64 = 0.5;

/// Marks a coordinate that no joint reaches.
const FREE: usize = usize::MAX;

/// The joints of a problem, eliminated; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct ConstrainedMotion {
    /// $K$: coordinates that joints reach, then joint rows.
    saddle: SparseLu,
    /// The row of $K$ of each coordinate, or [`FREE`]; and the coordinate of each such row.
    row_of: Vec<usize>,
    coordinates: Vec<usize>,
    /// $\sqrt{W_{kk}}$ and $\sqrt{D_i}$ by position in the order of elimination.
    roots: Vec<f64>,
    motion: Vec<f64>,
    impulses: Vec<f64>,
    /// Right-hand side, solution and residual in the order of elimination.
    right: Vec<f64>,
    solution: Vec<f64>,
    residual: Vec<f64>,
    /// The entries of a row at coordinates that no joint reaches.
    free_entries: Vec<(usize, f64)>,
}

impl ConstrainedMotion {
    /// Factors the joints of a problem whose inertia is factored, and computes the constrained motion. Without joints there is nothing
    /// to do: the motion is the free one.
    ///
    /// # Errors
    /// [`ContactError::Inertia`] or [`ContactError::JointRow`] when a number is not finite, or the inertia is singular.
    pub fn factor(&mut self, problem: &ContactProblem) -> Result<(), ContactError> {
        self.motion.clear();
        self.motion.extend_from_slice(&problem.free_motion);
        self.impulses.clear();
        self.impulses.resize(problem.joints.len(), 0.0);
        self.row_of.clear();
        self.coordinates.clear();
        if problem.joints.is_empty() {
            return Ok(());
        }

        // The coordinates that joints reach, in their own order so that the pattern of K does not depend on that of the joints.
        let inertia = &problem.inertia;
        self.row_of.resize(problem.free_motion.len(), FREE);
        for &(index, _) in problem.joints.iter().flat_map(|joint| joint.row.entries()) {
            if self.row_of[index] == FREE {
                self.row_of[inertia.coupled(index)].fill(0);
            }
        }
        for (coordinate, row) in self.row_of.iter_mut().enumerate().filter(|(_, row)| **row != FREE) {
            *row = self.coordinates.len();
            self.coordinates.push(coordinate);
        }

        let (count, row_of) = (self.coordinates.len(), &self.row_of);
        let size = count + problem.joints.len();
        self.saddle.begin(size, count);
        inertia.for_each_entry(|i, j, value| {
            if row_of[i] != FREE {
                self.saddle.push(row_of[i], row_of[j], value);
            }
        });
        for (number, joint) in problem.joints.iter().enumerate() {
            for &(index, value) in joint.row.entries() {
                self.saddle.push(count + number, row_of[index], value);
                self.saddle.push(row_of[index], count + number, -value);
            }
            self.saddle.push_shift(count + number, REGULARISATION * regular_mobility(inertia, &joint.row));
        }
        self.saddle.assemble();
        self.saddle.factor().map_err(|error| match error {
            ProblemError::Pivot { row, pivot } if row < count => {
                ContactError::Inertia { coordinate: self.coordinates[row], pivot }
            }
            ProblemError::Pivot { row, pivot } => ContactError::JointRow { row: row - count, pivot },
            error => error.into(),
        })?;

        self.roots.clear();
        self.roots.extend(self.saddle.order().iter().map(|&row| match row.checked_sub(count) {
            Some(joint) => regular_mobility(inertia, &problem.joints[joint].row).sqrt(),
            None => inertia.entry(self.coordinates[row], self.coordinates[row]).abs().sqrt(),
        }));
        for vector in [&mut self.right, &mut self.solution, &mut self.residual] {
            vector.resize(size, 0.0);
        }
        self.right.fill(0.0);
        for (number, joint) in problem.joints.iter().enumerate() {
            self.right[self.saddle.position(count + number)] = -(joint.row.dot(&problem.free_motion) + joint.bias);
        }
        self.solve(0..size);
        for (&row, &value) in self.saddle.order().iter().zip(&self.solution) {
            match row.checked_sub(count) {
                Some(joint) => self.impulses[joint] = value,
                None => self.motion[self.coordinates[row]] += value,
            }
        }
        Ok(())
    }

    /// $u_c$: the motion with the joints and without contacts and friction.
    pub fn motion(&self) -> &[f64] {
        &self.motion
    }

    /// The impulses $c_j$ of the joints in that motion.
    pub fn joint_impulses(&self) -> &[f64] {
        &self.impulses
    }

    /// The matrix $K$ and its factors; without joints, those of the last problem that had some.
    pub fn matrix(&self) -> &SparseLu {
        &self.saddle
    }

    /// How motion and joint impulses change with a unit impulse along the row $J$ given by its entries: $W^{-1} (J^T + \nu^T c_j)$ and
    /// $c_j$, with $\nu$ times the first zero. Where no joint reaches this is $W^{-1} J^T$ of the inertia.
    ///
    /// `inertia` is that of the problem that was factored.
    pub fn respond(&mut self, inertia: &Inertia, entries: &[(usize, f64)], motion: &mut Row, joint_impulses: &mut Row) {
        joint_impulses.clear();
        let is_free = |&&(index, _): &&(usize, f64)| self.row_of.get(index).is_none_or(|&row| row == FREE);
        let free_count = entries.iter().filter(is_free).count();
        if free_count == entries.len() {
            inertia.solve_row(entries, motion);
            return;
        }
        motion.clear();
        if free_count > 0 {
            self.free_entries.clear();
            self.free_entries.extend(entries.iter().filter(is_free));
            inertia.solve_row(&self.free_entries, motion);
        }
        for (k, &(index, _)) in entries.iter().enumerate() {
            let row_of = &self.row_of;
            if row_of[index] == FREE {
                continue;
            }
            let own = self.saddle.component(row_of[index]);
            let position = |index: usize| (row_of[index] != FREE).then(|| self.saddle.position(row_of[index]));
            let is_own = |index: usize| position(index).is_some_and(|position| own.contains(&position));
            if entries[..k].iter().any(|&(earlier, _)| is_own(earlier)) {
                continue; // done with its component
            }
            self.right[own.clone()].fill(0.0);
            for &(index, value) in entries.iter().filter(|&&(index, _)| is_own(index)) {
                self.right[self.saddle.position(row_of[index])] += value;
            }
            self.solve(own.clone());
            for position in own {
                let (row, value) = (self.saddle.order()[position], self.solution[position]);
                if value != 0.0 {
                    match row.checked_sub(self.coordinates.len()) {
                        Some(joint) => joint_impulses.push(joint, value),
                        None => motion.push(self.coordinates[row], value),
                    }
                }
            }
        }
    }

    /// Solves with $K$ at the positions of one or more components, by repeating with the residual.
    ///
    /// The residual of a momentum over $\sqrt{W_{kk}}$ and that of a rate over $\sqrt{D_i}$ have the same unit, the root of an energy. Rates are
    /// measured against motion and right-hand side, momenta against joint impulses too, which can be far larger.
    fn solve(&mut self, positions: Range<usize>) {
        let Self { saddle, roots, right, solution, residual, coordinates, .. } = self;
        let is_joint = |position: usize| saddle.order()[position] >= coordinates.len();
        let over = |value: f64, root: f64| if root > 0.0 { value.abs() / root } else { 0.0 };
        let given = positions.clone().fold(0.0f64, |largest, k| largest.max(over(right[k], roots[k])));
        solution[positions.clone()].fill(0.0);
        residual[positions.clone()].copy_from_slice(&right[positions.clone()]);
        let mut last = f64::INFINITY;
        for count in 1..SOLVES.end {
            saddle.solve_at(positions.clone(), residual);
            positions.clone().for_each(|k| solution[k] += residual[k]);
            saddle.residual_at(positions.clone(), right, solution, residual);
            let (mut rate_size, mut momentum_size, mut rate_error, mut momentum_error) = (given, given, 0.0f64, 0.0f64);
            for k in positions.clone() {
                let (size, error) = (roots[k] * solution[k].abs(), over(residual[k], roots[k]));
                if is_joint(k) {
                    rate_error = rate_error.max(error);
                } else {
                    rate_size = rate_size.max(size);
                    momentum_error = momentum_error.max(error);
                }
                momentum_size = momentum_size.max(size);
            }
            let error = (rate_error / rate_size).max(momentum_error / momentum_size);
            if count >= SOLVES.start && (error <= ROUNDING || error.is_nan() || error > WORTH_REPEATING * last) {
                break;
            }
            last = error;
        }
    }
}

/// $\nu \operatorname{diag}(W)^{-1} \nu^T$: an estimate of how a row moves with a unit impulse along it, in its own units.
pub(crate) fn mobility(inertia: &Inertia, row: &Row) -> f64 {
    let term = |&(index, value): &(usize, f64)| {
        let mass = inertia.entry(index, index).abs();
        if mass > 0.0 { value * value / mass } else { 0.0 }
    };
    row.entries().iter().map(term).sum()
}

/// The same; one for a row without any mobility, whose impulse then stays zero.
fn regular_mobility(inertia: &Inertia, row: &Row) -> f64 {
    let mobility = mobility(inertia, row);
    if mobility == 0.0 { 1.0 } else { mobility }
}

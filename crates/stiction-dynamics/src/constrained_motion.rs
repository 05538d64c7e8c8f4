//! The motion that the joints alone would give, and how a jointed system answers to an impulse: one
//! sparse factorisation for both.
//!
//! With the joints of a [`ContactProblem`] and an impulse along a row $J$ in addition to the free
//! motion,
//!
//! $$ K \begin{pmatrix} u - u_\text{free} \\\\ c_j \end{pmatrix} = \begin{pmatrix} J^T \\\\ -(\nu u_\text{free} + b_j) \end{pmatrix}, \qquad
//! K = \begin{pmatrix} W & -\nu^T \\\\ \nu & 0 \end{pmatrix}. $$
//!
//! $J = 0$ gives the constrained motion $u_c$; the lower part zero gives the response to $J$. $K$
//! is as sparse as the mechanism: for a chain or a tree the work grows with the number of its
//! joints, where $\nu W^{-1} \nu^T$ as a dense matrix would cost its cube. Only coordinates that a
//! joint reaches stand in $K$, and a response is computed in the component that the row touches.
//!
//! **Redundant joints.** Rows that depend on each other make $K$ singular: the motion is unique,
//! the impulses are not. What is factored is $K$ with $\varepsilon D$ in the lower right corner,
//! $D_i = \nu_i \operatorname{diag}(W)^{-1} \nu_i^T$, and its error is taken back by repeating with
//! the residual of $K$ itself:
//!
//! $$ \nu u^{(k+1)} + b_j + \varepsilon D (c_j^{(k+1)} - c_j^{(k)}) = 0. $$
//!
//! This is the method of multipliers (\[B82\] §2.2): it converges whenever the conditions do not
//! contradict each other, by the factor $\varepsilon / \lambda$ a step, where $\lambda$ is the
//! smallest positive eigenvalue of $D^{-1/2} \nu W^{-1} \nu^T D^{-1/2}$. Of all impulses that fit
//! it gives those without a part in the null space of $\nu^T$, up to rounding, which $\varepsilon$
//! magnifies there: to about $10^{-16} / \varepsilon$ of their size. Where conditions contradict
//! each other no motion obeys them; [the judge](crate::judge) will say so.
//!
//! **Dead centres.** Rows that nearly depend on each other have a $\lambda$ near $\varepsilon$ or
//! below, and the repetition is slow. Then the steps are made conjugate, which takes two for each
//! such direction. Down to $\lambda \approx 10^{-15}$ this is solved to rounding; far below, the
//! rows count as dependent. In between an answer may be refused.

use std::ops::Range;

use stiction_solve::{ProblemError, SparseLu};

use crate::{ContactError, ContactProblem, Inertia, Row};

/// The regularisation $\varepsilon$ of joint rows, relative to $D$. Too large: many repetitions
/// where masses or lengths are far apart. Too small: the impulses of redundant joints are shared at
/// random.
const REGULARISATION: f64 = 1e-9;

/// Rates that contradict each other by more than this, relative to their size, do so because rows
/// depend on each other.
const CONTRADICTORY: f64 = 1e-6;

/// $(\sqrt 5 - 1)/2$.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

/// Solves with the factors for one right-hand side, at most, before they are accelerated. The
/// second takes back the regularisation where joints are well conditioned.
const REPETITIONS: usize = 16;

/// A residual up to this, relative to the terms that it sums, is rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A residual up to this that does not fall any more is rounding, too.
const NEARLY_ROUNDING: f64 = 256.0 * f64::EPSILON;

/// A solve that does not reduce the residual by this factor is the last of its kind.
const WORTH_REPEATING: f64 = 0.5;

/// Rounds of accelerated solves, at most; each round measures rates and momenta by the joint
/// impulses that the last one found.
const ACCELERATIONS: usize = 4;

/// Accelerated solves of a round, at most: two for each direction in which joints are nearly
/// dependent.
const DIRECTIONS: usize = 12;

/// A step whose image is smaller than this share of the residual changes nothing but its rounding:
/// the conditions contradict each other. Too large: dead centres are refused. Too small: impulses
/// of pure rounding noise.
const CONTRADICTION: f64 = 1e-8;

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
    /// The best solution so far, a step with the residual that it leaves, and what residuals are
    /// multiplied with to be compared.
    best: Vec<f64>,
    step: Vec<f64>,
    left: Vec<f64>,
    weights: Vec<f64>,
    /// The conjugate steps of one solve, each with its image.
    directions: Vec<f64>,
    /// The entries of a row at coordinates that no joint reaches.
    free_entries: Vec<(usize, f64)>,
}

impl ConstrainedMotion {
    /// Factors the joints of a problem whose inertia is factored, and computes the constrained
    /// motion. Without joints there is nothing to do: the motion is the free one.
    ///
    /// # Errors
    /// [`ContactError::Inertia`] or [`ContactError::JointRow`] when a number is not finite, or the
    /// inertia is singular.
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

        // The coordinates that joints reach, in their own order so that the pattern of K does not
        // depend on that of the joints.
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
        let Self { right, solution, residual, best, step, left, weights, .. } = self;
        for vector in [right, solution, residual, best, step, left, weights] {
            vector.resize(size, 0.0);
        }
        self.constrain(problem, &problem.free_motion);
        Ok(())
    }

    /// The motion that the joints of the problem that was factored make of another free motion, and
    /// their impulses in it.
    pub fn constrain(&mut self, problem: &ContactProblem, free_motion: &[f64]) {
        self.motion.clear();
        self.motion.extend_from_slice(free_motion);
        if problem.joints.is_empty() {
            return;
        }
        let (count, size) = (self.coordinates.len(), self.right.len());
        self.right.fill(0.0);
        for (number, joint) in problem.joints.iter().enumerate() {
            self.right[self.saddle.position(count + number)] = -(joint.row.dot(free_motion) + joint.bias);
        }
        let mut next = 0;
        while next < size {
            let component = self.saddle.component(self.saddle.order()[next]);
            next = component.end;
            self.solve(component);
        }
        for (&row, &value) in self.saddle.order().iter().zip(&self.solution) {
            match row.checked_sub(count) {
                Some(joint) => self.impulses[joint] = value,
                None => self.motion[self.coordinates[row]] += value,
            }
        }
    }

    /// $u_c$: the motion with the joints and without contacts and friction.
    pub fn motion(&self) -> &[f64] {
        &self.motion
    }

    /// The impulses $c_j$ of the joints in that motion.
    pub fn joint_impulses(&self) -> &[f64] {
        &self.impulses
    }

    /// Whether joint rows depend on each other: whether rates that were chosen without regard to
    /// them contradict each other.
    pub fn has_dependent_joints(&mut self) -> bool {
        let (count, size) = (self.coordinates.len(), self.right.len());
        let mut next = 0;
        while !self.impulses.is_empty() && next < size {
            let component = self.saddle.component(self.saddle.order()[next]);
            next = component.end;
            for k in component.clone() {
                // Multiples of the golden ratio, without their whole parts, are in no relation that
                // joints would have.
                let row = self.saddle.order()[k];
                let rate = ((row + 1) as f64 * GOLDEN_RATIO).fract() - 0.5;
                self.right[k] = if row >= count { self.roots[k] * rate } else { 0.0 };
            }
            self.solve(component.clone());
            self.saddle.residual_at(component.clone(), &self.right, &self.solution, &mut self.residual);
            let left = component.clone().filter(|&k| self.saddle.order()[k] >= count);
            let left = left.fold(0.0f64, |worst, k| worst.max(self.residual[k].abs() / self.roots[k]));
            if left.is_nan() || left > CONTRADICTORY {
                return true;
            }
        }
        false
    }

    /// The matrix $K$ and its factors; without joints, those of the last problem that had some.
    pub fn matrix(&self) -> &SparseLu {
        &self.saddle
    }

    /// How motion and joint impulses change with a unit impulse along the row $J$ given by its
    /// entries: $W^{-1} (J^T + \nu^T c_j)$ and $c_j$, with $\nu$ times the first zero. Where no
    /// joint reaches this is $W^{-1} J^T$ of the inertia.
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

    /// Solves with $K$ at the positions of a component: by repeating with the residual, and with
    /// conjugate steps in between where that is not enough. The best point is the answer.
    fn solve(&mut self, positions: Range<usize>) {
        self.solution[positions.clone()].fill(0.0);
        self.residual[positions.clone()].copy_from_slice(&self.right[positions.clone()]);
        let mut error = self.repeat(positions.clone());
        for _ in 0..ACCELERATIONS {
            if error <= NEARLY_ROUNDING || error.is_nan() {
                break;
            }
            self.best[positions.clone()].copy_from_slice(&self.solution[positions.clone()]);
            self.accelerate(positions.clone());
            let accelerated = self.repeat(positions.clone());
            if accelerated.is_nan() || accelerated > WORTH_REPEATING * error {
                if accelerated.is_nan() || accelerated > error {
                    self.solution[positions.clone()].copy_from_slice(&self.best[positions.clone()]);
                }
                break;
            }
            error = accelerated;
        }
    }

    /// Adds to the solution what the factors make of its residual, as often as it pays; at least
    /// twice, because the first solve leaves the regularisation. Returns the error of the last
    /// point.
    fn repeat(&mut self, positions: Range<usize>) -> f64 {
        let mut last = f64::INFINITY;
        for count in 1..=REPETITIONS {
            self.saddle.solve_at(positions.clone(), &mut self.residual);
            positions.clone().for_each(|k| self.solution[k] += self.residual[k]);
            self.saddle.residual_at(positions.clone(), &self.right, &self.solution, &mut self.residual);
            let [rate, momentum] = self.errors(positions.clone());
            let error = (rate[0] / rate[1]).max(momentum[0] / momentum[1]);
            if count > 1 && (error <= ROUNDING || error.is_nan() || error > WORTH_REPEATING * last) {
                return error;
            }
            last = error;
        }
        last
    }

    /// Largest residual of rates and of momenta, each with what it is measured against. A momentum
    /// over $\sqrt{W_{kk}}$ and a rate over $\sqrt{D_i}$ have the same unit, the root of an energy.
    /// Rates are measured against motion and right-hand side, momenta against joint impulses too,
    /// which can be far larger.
    fn errors(&self, positions: Range<usize>) -> [[f64; 2]; 2] {
        // No size is zero, so that nothing is divided by it: where all is zero the errors are too.
        let (mut rate, mut momentum, mut joint_size) = ([0.0f64, f64::MIN_POSITIVE], [0.0f64; 2], 0.0f64);
        for k in positions {
            let root = self.roots[k];
            let (size, error) = (root * self.solution[k].abs(), self.residual[k].abs() / root);
            rate[1] = rate[1].max(self.right[k].abs() / root);
            // Not a number stays so: `max` would lose it.
            let larger = |worst: f64| if error <= worst { worst } else { error };
            if self.saddle.order()[k] >= self.coordinates.len() {
                (rate[0], joint_size) = (larger(rate[0]), joint_size.max(size));
            } else {
                (momentum[0], rate[1]) = (larger(momentum[0]), rate[1].max(size));
            }
        }
        momentum[1] = rate[1].max(joint_size);
        [rate, momentum]
    }

    /// Goes on where repeating does not help: joints that are nearly dependent, as in a mechanism
    /// near its dead centre, with $\lambda$ below $\varepsilon$. The steps are made conjugate
    /// (generalised conjugate residuals, \[EES83\]), which finds each of a few such directions in
    /// one step or two.
    fn accelerate(&mut self, positions: Range<usize>) {
        let len = positions.len();
        self.directions.resize(self.directions.len().max(2 * DIRECTIONS * len), 0.0);
        // Residuals are compared in units of what they are measured against: else the rounding of
        // large momenta would hide rates.
        let [rate, momentum] = self.errors(positions.clone());
        for k in positions.clone() {
            let is_joint = self.saddle.order()[k] >= self.coordinates.len();
            self.weights[k] = 1.0 / (self.roots[k] * if is_joint { rate[1] } else { momentum[1] });
        }
        let weights = &self.weights[positions.clone()];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).zip(weights).map(|((a, b), w)| (a * w) * (b * w)).sum::<f64>();
        for count in 0..DIRECTIONS {
            let (earlier, own) = self.directions.split_at_mut(2 * count * len);
            let (step, rest) = own.split_at_mut(len);
            let image = &mut rest[..len];
            // The step p by the factors, and its image K p: what is taken from the residual.
            self.step[positions.clone()].copy_from_slice(&self.residual[positions.clone()]);
            self.saddle.solve_at(positions.clone(), &mut self.step);
            step.copy_from_slice(&self.step[positions.clone()]);
            self.saddle.residual_at(positions.clone(), &self.residual, &self.step, &mut self.left);
            let residual = &self.residual[positions.clone()];
            image.iter_mut().zip(residual).zip(&self.left[positions.clone()]).for_each(|((q, r), left)| *q = r - left);
            for pair in earlier.chunks_exact(2 * len) {
                let (other_step, other_image) = pair.split_at(len);
                let along = dot(image, other_image);
                image.iter_mut().zip(other_image).for_each(|(q, other)| *q -= along * other);
                step.iter_mut().zip(other_step).for_each(|(p, other)| *p -= along * other);
            }
            let (length, before) = (dot(image, image).sqrt(), dot(residual, residual).sqrt());
            if length.is_nan() || length <= CONTRADICTION * before {
                break;
            }
            image.iter_mut().chain(&mut *step).for_each(|value| *value /= length);
            let along = dot(image, residual);
            self.solution[positions.clone()].iter_mut().zip(&*step).for_each(|(x, p)| *x += along * p);
            self.saddle.residual_at(positions.clone(), &self.right, &self.solution, &mut self.residual);
            if dot(&self.residual[positions.clone()], &self.residual[positions.clone()]).sqrt() <= NEARLY_ROUNDING {
                break;
            }
        }
    }
}

/// $\nu \operatorname{diag}(W)^{-1} \nu^T$: an estimate of how a row moves with a unit impulse
/// along it, in its own units.
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

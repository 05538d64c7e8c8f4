//! A start that satisfies the joints: positions and velocities moved as little as possible.
//!
//! Gauss-Newton in the metric of the mass matrix: with the values $\Theta$ and rows $\nu$ of all
//! joints at $q$, the smallest move $\delta$ with $\nu \delta = -\Theta$ is
//! $\delta = -M^{-1} \nu^T \lambda$ with $\nu M^{-1} \nu^T \lambda = \Theta$, and
//! $q \leftarrow q \oplus \delta$. Velocities are projected the same way onto
//! $\nu v + \text{drift} = 0$. Rows that depend on others are left out by a Cholesky factorisation
//! with pivots, so that loops with redundant joints are assembled too.

use stiction_dynamics::{Inertia, Joint, MechanicalSystem, State};

use super::Multibody;

/// A row of the scaled matrix $\nu M^{-1} \nu^T$ depends on those before it when less than this is
/// left of its diagonal. Too large: rows that are nearly dependent are not met. Too small: rounding
/// moves bodies far.
const DEPENDENT: f64 = 1e-10;

/// Joints are met when no value is larger, in metres or radians. Rounding of coordinates of some
/// metres gives 1e-15.
const MET: f64 = 1e-13;

/// Most Gauss-Newton steps.
const STEP_LIMIT: usize = 100;

/// Most halvings of a step that does not bring the joints nearer.
const HALVING_LIMIT: usize = 20;

/// Largest turn or move of a coordinate in one Gauss-Newton step, in radians or metres: farther,
/// the linearisation says little.
const LARGEST_MOVE: f64 = 0.5;

/// How a start was assembled.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembly {
    /// The start.
    pub state: State,
    /// Largest value of a joint row that is left, in metres or radians.
    pub residual: f64,
    /// How far each body was moved, in metres, and turned, in radians.
    pub moves: Vec<(f64, f64)>,
    /// Largest change of a velocity coordinate, in m/s or rad/s, beside what the moves need.
    pub velocity_change: f64,
}

impl Multibody {
    fn joint_rows_at(&self, t: f64, q: &[f64]) -> Vec<Joint> {
        let mut rows = Vec::new();
        self.joints(t, q, &mut rows);
        rows
    }

    /// Values and rates of the joint rows of a state: each is zero when the state satisfies the
    /// joints.
    pub fn joint_violations(&self, state: &State) -> Vec<(f64, f64)> {
        let rows = self.joint_rows_at(state.t, &state.q);
        rows.iter().map(|row| (row.value, row.row.dot(&state.v) + row.drift)).collect()
    }

    /// How many joint rows follow from the others at this state. Their reactions are then not
    /// unique.
    pub fn redundant_joint_count(&self, state: &State) -> usize {
        let rows = self.joint_rows_at(state.t, &state.q);
        let factor = Delassus::new(self, state, &rows);
        rows.len() - factor.order.len()
    }

    /// The rates that the rows of the joints keep off where all the others are met, as near to zero
    /// as they come: not zero where joints contradict each other, as a drive on a body that another
    /// joint holds.
    pub fn contradicting_rates(&self, state: &State) -> Vec<f64> {
        let rows = self.joint_rows_at(state.t, &state.q);
        let targets: Vec<f64> = rows.iter().map(|row| -row.drift).collect();
        let motion = Delassus::new(self, state, &rows).smallest_change(&rows, &targets);
        rows.iter().map(|row| row.row.dot(&motion) + row.drift).collect()
    }

    /// Moves the bodies of a state as little as possible, by their masses, until the joints are
    /// met, and projects the velocities.
    ///
    /// What is left is in [`Assembly::residual`]: joints may be impossible to meet.
    pub fn assemble(&self, start: &State) -> Assembly {
        let mut state = start.clone();
        let mut rows = self.joint_rows_at(state.t, &state.q);
        let mut trial = state.q.clone();
        let mut trial_rows = Vec::new();
        for _ in 0..STEP_LIMIT {
            if largest(&rows) <= MET {
                break;
            }
            let targets: Vec<f64> = rows.iter().map(|row| -row.value).collect();
            let mut delta = Delassus::new(self, &state, &rows).smallest_change(&rows, &targets);
            let far = delta.iter().fold(0.0f64, |far, x| far.max(x.abs()));
            if far > LARGEST_MOVE {
                delta.iter_mut().for_each(|x| *x *= LARGEST_MOVE / far);
            }
            let mut share = 1.0;
            let is_nearer = (0..HALVING_LIMIT).any(|_| {
                self.displace(state.t, &state.q, &delta, share, &mut trial);
                trial_rows.clear();
                self.joints(state.t, &trial, &mut trial_rows);
                share *= 0.5;
                squares(&trial_rows) < squares(&rows)
            });
            if !is_nearer {
                break;
            }
            state.q.copy_from_slice(&trial);
            std::mem::swap(&mut rows, &mut trial_rows);
        }
        // The angular velocity in body axes stays what it is; then the rates are brought to zero.
        let targets: Vec<f64> = rows.iter().map(|row| -(row.row.dot(&state.v) + row.drift)).collect();
        let change = Delassus::new(self, &state, &rows).smallest_change(&rows, &targets);
        state.v.iter_mut().zip(&change).for_each(|(v, change)| *v += change);
        let moves = (0..self.model.bodies.len()).map(|body| {
            let [before, after] = [&start.q, &state.q].map(|q| self.pose(body, state.t, q));
            let turn = before.orientation.angle_between(after.orientation);
            ((after.position - before.position).length(), turn)
        });
        Assembly {
            residual: largest(&rows),
            moves: moves.collect(),
            velocity_change: change.iter().fold(0.0, |worst, x| worst.max(x.abs())),
            state,
        }
    }
}

fn largest(rows: &[Joint]) -> f64 {
    rows.iter().fold(0.0, |worst, row| worst.max(row.value.abs()))
}

fn squares(rows: &[Joint]) -> f64 {
    rows.iter().map(|row| row.value * row.value).sum()
}

/// $A = \nu M^{-1} \nu^T$, scaled to ones on the diagonal and factored with pivots:
/// $P A P^T \approx L L^T$ for the rows in `order`.
struct Delassus {
    inertia: Inertia,
    /// One over the square root of the diagonal of $A$; zero for a row without entries.
    scale: Vec<f64>,
    /// Independent rows, in the order of the pivots.
    order: Vec<usize>,
    /// Columns of $L$, each over all rows.
    columns: Vec<Vec<f64>>,
}

impl Delassus {
    fn new(system: &Multibody, state: &State, rows: &[Joint]) -> Self {
        let (n, m) = (state.v.len(), rows.len());
        let mut inertia = Inertia::default();
        system.mass_matrix(state.t, &state.q, &mut inertia);
        inertia.factor().expect("masses and inertias were checked");
        let mut matrix = vec![vec![0.0; m]; m];
        let mut column = vec![0.0; n];
        for j in 0..m {
            column.fill(0.0);
            rows[j].row.add_to(1.0, &mut column);
            inertia.solve_in_place(&mut column);
            for i in 0..m {
                matrix[i][j] = rows[i].row.dot(&column);
            }
        }
        let scale: Vec<f64> =
            (0..m).map(|i| if matrix[i][i] > 0.0 { 1.0 / matrix[i][i].sqrt() } else { 0.0 }).collect();
        let mut rest: Vec<f64> = (0..m).map(|i| matrix[i][i] * scale[i] * scale[i]).collect();
        let (mut order, mut columns): (Vec<usize>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
        while let Some(pivot) = (0..m).filter(|i| !order.contains(i)).max_by(|&i, &j| rest[i].total_cmp(&rest[j]))
            && rest[pivot] > DEPENDENT
        {
            let root = rest[pivot].sqrt();
            let mut column = vec![0.0; m];
            for i in (0..m).filter(|i| !order.contains(i)) {
                let known: f64 = columns.iter().map(|column| column[i] * column[pivot]).sum();
                column[i] = (matrix[i][pivot] * scale[i] * scale[pivot] - known) / root;
                rest[i] -= column[i] * column[i];
            }
            order.push(pivot);
            columns.push(column);
        }
        Self { inertia, scale, order, columns }
    }

    /// The smallest $\delta$, in the metric of the masses, with $\nu \delta$ equal to the targets
    /// of the independent rows.
    fn smallest_change(&self, rows: &[Joint], targets: &[f64]) -> Vec<f64> {
        let count = self.order.len();
        let mut x: Vec<f64> = self.order.iter().map(|&i| targets[i] * self.scale[i]).collect();
        for k in 0..count {
            x[k] /= self.columns[k][self.order[k]];
            for j in k + 1..count {
                x[j] -= self.columns[k][self.order[j]] * x[k];
            }
        }
        for k in (0..count).rev() {
            for j in k + 1..count {
                x[k] -= self.columns[k][self.order[j]] * x[j];
            }
            x[k] /= self.columns[k][self.order[k]];
        }
        let mut delta = vec![0.0; self.inertia.size()];
        for (k, &i) in self.order.iter().enumerate() {
            rows[i].row.add_to(x[k] * self.scale[i], &mut delta);
        }
        self.inertia.solve_in_place(&mut delta);
        delta
    }
}

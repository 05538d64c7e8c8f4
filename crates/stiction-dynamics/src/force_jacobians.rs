//! Derivatives of the generalised force, for schemes that treat it implicitly.
//!
//! $k_q$ is taken along the velocity coordinates, so that it exists where the configuration
//! contains quaternions: $k_q w = \frac{d}{d\varepsilon} k(t, q \oplus \varepsilon w, v)$ at
//! $\varepsilon = 0$, with $\oplus$ as in [`MechanicalSystem::advance`].

use crate::{ForceCause, Inertia, MechanicalSystem};

/// Step of the central differences, relative to the size of what is changed: the cube root of the
/// rounding unit balances truncation and rounding.
const DIFFERENCE_STEP: f64 = 6e-6;

/// Which derivatives of the force are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JacobianKind {
    /// $k_q$ and $k_v$ as they are; order two needs them.
    Exact,
    /// Approximations with $-k_q$ and $-k_v$ positive semidefinite but for antisymmetric parts,
    /// \[PAGT\] (9.2), (9.3): the matrix of the step is then positive definite for every step size.
    /// Parts without such an approximation are left out.
    Definite,
}

/// One entry of a derivative of the force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JacobianEntry {
    /// Coordinate of the force.
    pub row: usize,
    /// Velocity coordinate along which it is taken.
    pub column: usize,
    /// The derivative.
    pub value: f64,
    /// Where the force comes from.
    pub cause: ForceCause,
}

/// The derivatives $k_q$ and $k_v$ as lists of entries; those at the same place add up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForceJacobians {
    /// $k_q$.
    pub by_configuration: Vec<JacobianEntry>,
    /// $k_v$.
    pub by_velocity: Vec<JacobianEntry>,
}

impl ForceJacobians {
    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.by_configuration.clear();
        self.by_velocity.clear();
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.by_configuration.is_empty() && self.by_velocity.is_empty()
    }

    /// Evaluates the derivatives at a point and writes $W = \sum a_i M_i - b_v k_v - b_q k_q$: with
    /// the first of the kinds for which it is positive definite, else with the last one.
    pub(crate) fn state_inertia(
        &mut self,
        system: &dyn MechanicalSystem,
        kinds: &[JacobianKind],
        (t, q, v): (f64, &[f64], &[f64]),
        masses: &[(&Inertia, f64)],
        [b_v, b_q]: [f64; 2],
        inertia: &mut Inertia,
    ) {
        for (attempt, &kind) in kinds.iter().enumerate() {
            self.clear();
            system.force_jacobians(kind, t, q, v, self);
            let by_velocity = self.by_velocity.iter().map(|e| (e.row, e.column, -b_v * e.value));
            let by_configuration = self.by_configuration.iter().map(|e| (e.row, e.column, -b_q * e.value));
            inertia.set_sum(masses, by_velocity.chain(by_configuration));
            if attempt + 1 == kinds.len() || inertia.is_positive_definite() {
                break;
            }
        }
    }

    /// Appends the exact derivatives of a system by central differences of its forces, cause by
    /// cause.
    pub fn append_differences<S: MechanicalSystem + ?Sized>(&mut self, system: &S, t: f64, q: &[f64], v: &[f64]) {
        let n = system.velocity_count();
        let (mut direction, mut moved) = (vec![0.0; n], q.to_vec());
        let (mut ahead, mut behind) = (vec![0.0; n], vec![0.0; n]);
        let size = |values: &[f64]| values.iter().fold(1.0f64, |largest, value| largest.max(value.abs()));
        let (q_step, v_step) = (DIFFERENCE_STEP * size(q), DIFFERENCE_STEP * size(v));
        for cause in ForceCause::ALL {
            for column in 0..n {
                let push = |list: &mut Vec<JacobianEntry>, ahead: &[f64], behind: &[f64], step: f64| {
                    for row in 0..n {
                        let value = (ahead[row] - behind[row]) / (2.0 * step);
                        if value != 0.0 {
                            list.push(JacobianEntry { row, column, value, cause });
                        }
                    }
                };
                direction[column] = 1.0;
                for (sign, out) in [(1.0, &mut ahead), (-1.0, &mut behind)] {
                    system.displace(t, q, &direction, sign * q_step, &mut moved);
                    out.fill(0.0);
                    system.force_by_cause(cause, t, &moved, v, out);
                }
                push(&mut self.by_configuration, &ahead, &behind, q_step);
                direction[column] = 0.0;
                let mut changed = v.to_vec();
                for (sign, out) in [(1.0, &mut ahead), (-1.0, &mut behind)] {
                    changed[column] = v[column] + sign * v_step;
                    out.fill(0.0);
                    system.force_by_cause(cause, t, q, &changed, out);
                }
                push(&mut self.by_velocity, &ahead, &behind, v_step);
            }
        }
    }
}

/// Adds `factor` times the product of a list of entries with a vector to `out`; only the entries of
/// one cause, or all of them.
pub fn add_product(entries: &[JacobianEntry], cause: Option<ForceCause>, factor: f64, vector: &[f64], out: &mut [f64]) {
    for entry in entries {
        if cause.is_none_or(|cause| cause == entry.cause) {
            out[entry.row] += factor * entry.value * vector[entry.column];
        }
    }
}

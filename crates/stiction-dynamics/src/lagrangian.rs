//! Systems from their energies: the mass matrix $M(q)$ and the potential $V(q)$ in generalised
//! coordinates, by Lagrange's equations.
//!
//! \[ST96\] (5)-(10). With the kinetic energy $T = \tfrac12 v^T M(q) v$ and $L = T - V$, the
//! equations $\frac{d}{dt} \frac{\partial L}{\partial v} - \frac{\partial L}{\partial q} = Q$,
//! $\dot q = v$ become
//!
//! $$ M(q) \dot v = k(q, v) + Q, \qquad
//!    k_l = -\tfrac12 \sum_{ij} \left[ \frac{\partial m_{li}}{\partial q_j} + \frac{\partial m_{lj}}{\partial q_i}
//!          - \frac{\partial m_{ij}}{\partial q_l} \right] v_i v_j - \frac{\partial V}{\partial q_l}, $$
//!
//! where $Q$ are contact, friction, joint and applied forces. Constraints are functions of $q$, as
//! in (2), (3), (8) and (9): a gap $f(q) \ge 0$ or a joint $f(q) = 0$ with the row $\nabla f$.
//! Every derivative may be given, and comes from extrapolated differences where it is not.
//!
//! Differs from the paper: its (10) has the velocity terms with the other sign. With that sign the
//! energy is not kept; with this one $v \cdot k = -\tfrac12 v^T \dot M v - \dot V$, and so
//! $\dot T + \dot V = v \cdot Q$.
//!
//! A cart of 2 kg on rails carries a pendulum of 1 kg and 0.5 m. Nothing pushes the cart along, so
//! that the momentum along the rails stays zero; and the energy stays what it was:
//!
//! ```
//! use stiction_dynamics::{
//!     ContactMethod, ContactSolver, EventDriven, EventDrivenSettings, LagrangianSystem, Simulation, State, TimeGrid,
//! };
//!
//! let (cart, bob, length) = (2.0, 1.0, 0.5);
//! let mass = move |q: &[f64], m: &mut [f64]| {
//!     let coupling = bob * length * q[1].cos();
//!     m.copy_from_slice(&[cart + bob, coupling, coupling, bob * length * length]);
//! };
//! let potential = move |q: &[f64]| -bob * 9.81 * length * q[1].cos();
//! let system = LagrangianSystem::new(&["x", "angle"], mass, potential);
//!
//! let scheme = EventDriven::new(EventDrivenSettings::default(), ContactSolver::new(ContactMethod::default())?);
//! let start = State::new(0.0, vec![0.0, 1.0], vec![0.0, 0.0]);
//! let grid = TimeGrid { start: 0.0, end: 2.0, step: 0.1 };
//! let mut simulation = Simulation::new(Box::new(system), Box::new(scheme), start, grid);
//! let State { q, v, .. } = simulation.run()?;
//!
//! let coupling = bob * length * q[1].cos();
//! let momentum = (cart + bob) * v[0] + coupling * v[1];
//! let kinetic = 0.5 * (cart + bob) * v[0] * v[0] + coupling * v[0] * v[1] + 0.5 * bob * length * length * v[1] * v[1];
//! assert!(momentum.abs() < 1e-10);
//! assert!((kinetic + potential(q) - potential(&[0.0, 1.0])).abs() < 1e-10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::row_rates::{FIRST_MOVE, rate_by_differences};
use crate::{Contact, ContactId, ForceCause, FrictionElement, Inertia, Joint, MechanicalSystem, Row};

/// Given derivatives differ from differences by more than this, relative to the largest: one of
/// them is wrong. Too small: the rounding of differences of a rough function is called a mistake.
const DERIVATIVE_TOLERANCE: f64 = 1e-6;

/// Writes a vector or, row by row, a matrix that depends on the configuration. What it writes to
/// comes with zeros.
type Field = Box<dyn Fn(&[f64], &mut [f64]) + Send + Sync>;
/// A number that depends on the configuration.
type Scalar = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;
/// Writes the derivative of a matrix by the coordinate with this number.
type Derivative = Box<dyn Fn(&[f64], usize, &mut [f64]) + Send + Sync>;
/// Adds forces at $(t, q, v)$.
type Applied = Box<dyn Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync>;
/// Appends the contacts at $(t, q)$ with a gap up to the third number.
type Contacts = Box<dyn Fn(f64, &[f64], f64, &mut Vec<Contact>) + Send + Sync>;
/// Appends the friction elements at $(t, q)$.
type Elements = Box<dyn Fn(f64, &[f64], &mut Vec<FrictionElement>) + Send + Sync>;

/// A system given by $M(q)$ and $V(q)$; see the [module](self). The symmetric part of $M$ counts,
/// as in $\tfrac12 v^T M v$.
pub struct LagrangianSystem {
    coordinates: Vec<String>,
    mass: Field,
    potential: Scalar,
    mass_derivative: Option<Derivative>,
    gradient: Option<Field>,
    applied: Option<Applied>,
    gaps: Vec<Scalar>,
    contacts: Option<Contacts>,
    friction: Option<Elements>,
    joints: Vec<Scalar>,
}

/// What is wrong with the energies of a [`LagrangianSystem`] at a configuration: the number of its
/// coordinates, its mass matrix, or a derivative that was given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct LagrangianError(String);

impl LagrangianSystem {
    /// A system with these coordinates, the mass matrix that `mass` writes row by row, and this
    /// potential, in joules.
    pub fn new(
        coordinates: &[&str],
        mass: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
        potential: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            coordinates: coordinates.iter().map(|&name| name.to_owned()).collect(),
            mass: Box::new(mass),
            potential: Box::new(potential),
            mass_derivative: None,
            gradient: None,
            applied: None,
            gaps: Vec::new(),
            contacts: None,
            friction: None,
            joints: Vec::new(),
        }
    }

    /// Gives $\partial M / \partial q_l$, which `derivative(q, l, out)` writes row by row.
    #[must_use]
    pub fn with_mass_derivative(
        mut self,
        derivative: impl Fn(&[f64], usize, &mut [f64]) + Send + Sync + 'static,
    ) -> Self {
        self.mass_derivative = Some(Box::new(derivative));
        self
    }

    /// Gives $\partial V / \partial q$.
    #[must_use]
    pub fn with_gradient(mut self, gradient: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.gradient = Some(Box::new(gradient));
        self
    }

    /// Adds forces without a potential, which `force(t, q, v, out)` writes.
    #[must_use]
    pub fn with_applied_force(
        mut self,
        force: impl Fn(f64, &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Self {
        self.applied = Some(Box::new(force));
        self
    }

    /// Adds a contact without friction, $f(q) \ge 0$.
    #[must_use]
    pub fn with_gap(mut self, gap: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        self.gaps.push(Box::new(gap));
        self
    }

    /// Adds contacts with all that belongs to them, as in [`MechanicalSystem::contacts`].
    #[must_use]
    pub fn with_contacts(
        mut self,
        contacts: impl Fn(f64, &[f64], f64, &mut Vec<Contact>) + Send + Sync + 'static,
    ) -> Self {
        self.contacts = Some(Box::new(contacts));
        self
    }

    /// Adds dry friction without a load, as in [`MechanicalSystem::friction_elements`].
    #[must_use]
    pub fn with_friction(
        mut self,
        friction: impl Fn(f64, &[f64], &mut Vec<FrictionElement>) + Send + Sync + 'static,
    ) -> Self {
        self.friction = Some(Box::new(friction));
        self
    }

    /// Adds a bilateral constraint $f(q) = 0$, \[ST96\] (8).
    #[must_use]
    pub fn with_joint(mut self, value: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        self.joints.push(Box::new(value));
        self
    }

    /// Looks at the energies at a configuration: whether the mass matrix is positive definite, and
    /// given derivatives are those of differences.
    ///
    /// # Errors
    /// [`LagrangianError`] with what is wrong first.
    pub fn check(&self, q: &[f64]) -> Result<(), LagrangianError> {
        let n = self.coordinates.len();
        if q.len() != n {
            let found = q.len();
            let message = format!("the configuration has {found} numbers, and the system {n} coordinates");
            return Err(LagrangianError(message));
        }
        let mut inertia = Inertia::default();
        self.mass_matrix(0.0, q, &mut inertia);
        if let Err(crate::ContactError::Inertia { pivot, .. }) = inertia.factor() {
            let message = format!("the mass matrix is not positive definite: pivot {pivot:?}");
            return Err(LagrangianError(message + "; a velocity without kinetic energy is no coordinate"));
        }
        let compare = |what: &dyn Fn(usize) -> String, l: usize, given: &[f64], found: &[f64]| {
            let scale = found.iter().fold(1.0f64, |scale, value| scale.max(value.abs()));
            let is_right = |i: usize| (given[i] - found[i]).abs() <= DERIVATIVE_TOLERANCE * scale;
            let Some(i) = (0..given.len()).find(|&i| !is_right(i)) else { return Ok(()) };
            let (what, coordinate, given, found) = (what(i), &self.coordinates[l], given[i], found[i]);
            let message = format!("{what} along `{coordinate}` is given as {given:?}, but differences say {found:?}");
            Err(LagrangianError(message))
        };
        for l in 0..n {
            if let Some(given) = &self.mass_derivative {
                let mut derivative = vec![0.0; n * n];
                given(q, l, &mut derivative);
                let entry = |i: usize| format!("entry ({}, {}) of the mass matrix", i / n + 1, i % n + 1);
                compare(&entry, l, &derivative, &difference(&self.mass, n * n, q, l))?;
            }
        }
        if let Some(given) = &self.gradient {
            let mut gradient = vec![0.0; n];
            given(q, &mut gradient);
            let found = scalar_gradient(&self.potential, q);
            (0..n).try_for_each(|l| compare(&|_| "the potential".to_owned(), l, &gradient[l..=l], &found[l..=l]))?;
        }
        Ok(())
    }

    /// Writes the velocity terms $-\dot M v + \tfrac12 \partial (v^T M v) / \partial q$ of \[ST96\]
    /// (10), with its sign put right.
    fn velocity_terms(&self, q: &[f64], v: &[f64], k: &mut [f64]) {
        let n = v.len();
        k.fill(0.0);
        if v.iter().all(|v| *v == 0.0) {
            return;
        }
        let mut derivative = vec![0.0; n * n];
        for l in 0..n {
            match &self.mass_derivative {
                Some(given) => {
                    derivative.fill(0.0);
                    given(q, l, &mut derivative);
                }
                None => derivative = difference(&self.mass, n * n, q, l),
            }
            for i in 0..n {
                let row: f64 = (0..n).map(|j| 0.5 * (derivative[i * n + j] + derivative[j * n + i]) * v[j]).sum();
                k[i] -= row * v[l];
                k[l] += 0.5 * row * v[i];
            }
        }
    }
}

impl MechanicalSystem for LagrangianSystem {
    fn velocity_count(&self) -> usize {
        self.coordinates.len()
    }

    fn mass_matrix(&self, _t: f64, q: &[f64], out: &mut Inertia) {
        let n = self.coordinates.len();
        let mut mass = vec![0.0; n * n];
        (self.mass)(q, &mut mass);
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (mass[i * n + j] + mass[j * n + i]);
                (mass[i * n + j], mass[j * n + i]) = (mean, mean);
            }
        }
        out.push_block(n, &mass);
    }

    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        self.force_by_cause(ForceCause::Potential, t, q, v, k);
        let mut part = vec![0.0; k.len()];
        for cause in [ForceCause::Gyroscopic, ForceCause::Applied] {
            self.force_by_cause(cause, t, q, v, &mut part);
            k.iter_mut().zip(&part).for_each(|(k, part)| *k += part);
        }
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        match cause {
            ForceCause::Potential => {
                match &self.gradient {
                    Some(given) => given(q, k),
                    None => k.copy_from_slice(&scalar_gradient(&self.potential, q)),
                }
                k.iter_mut().for_each(|k| *k = -*k);
            }
            ForceCause::Gyroscopic => self.velocity_terms(q, v, k),
            ForceCause::Applied => {
                if let Some(force) = &self.applied {
                    force(t, q, v, k);
                }
            }
        }
    }

    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        for (number, function) in self.gaps.iter().enumerate() {
            let gap = function(q);
            if gap <= horizon {
                // Other identities than the numbers of those who write contacts themselves.
                let id = ContactId { first: 1, second: 1, feature: number as u64, ..ContactId::default() };
                let normal = Row::from_dense(&scalar_gradient(function, q));
                out.push(Contact { id, gap, normal, ..Default::default() });
            }
        }
        if let Some(contacts) = &self.contacts {
            contacts(t, q, horizon, out);
        }
    }

    fn friction_elements(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        if let Some(friction) = &self.friction {
            friction(t, q, out);
        }
    }

    fn joints(&self, _t: f64, q: &[f64], out: &mut Vec<Joint>) {
        out.extend(self.joints.iter().map(|function| {
            let row = Row::from_dense(&scalar_gradient(function, q));
            Joint { value: function(q), row, drift: 0.0 }
        }));
    }

    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        Some((self.potential)(q))
    }

    fn column_names(&self) -> Vec<String> {
        let rates = self.coordinates.iter().map(|name| format!("v_{name}"));
        self.coordinates.iter().cloned().chain(rates).collect()
    }
}

/// The derivative of a field of so many numbers along one coordinate.
fn difference(field: &Field, count: usize, q: &[f64], coordinate: usize) -> Vec<f64> {
    let mut moved = q.to_vec();
    rate_by_differences(FIRST_MOVE, count, |tau, out| {
        moved[coordinate] = q[coordinate] + tau;
        out.clear();
        out.resize(count, 0.0);
        field(&moved, out);
    })
}

/// The gradient of a function of the configuration.
fn scalar_gradient(function: &Scalar, q: &[f64]) -> Vec<f64> {
    let mut moved = q.to_vec();
    let along = |coordinate: usize| {
        moved.copy_from_slice(q);
        let rate = rate_by_differences(FIRST_MOVE, 1, |tau, out| {
            moved[coordinate] = q[coordinate] + tau;
            out.clear();
            out.push(function(&moved));
        });
        rate[0]
    };
    (0..q.len()).map(along).collect()
}

//! Accelerations and forces in given modes, and states that keep what the modes hold.
//!
//! With the rows $J$ of joints, closed normals and sticking tangents, and the directions $B$ of their forces,
//!
//! $$ M \dot v = k + B^T \lambda, \qquad J \dot v + \dot J v = 0, \qquad J M^{-1} B^T \lambda = -(J M^{-1} k + \dot J v). $$
//!
//! $B$ is $J$ but for the normal of a sliding contact, which brings its friction along: $n - \mu \sum_a e_a d_a T_a$ with the semi-axes $e$ and the unit
//! vector $d = e s / \lVert e s \rVert$ of the sliding velocity $s$ (\[TTP01\] (2)). A sliding friction element adds $-a d$ to $k$.
//!
//! The index was reduced by two derivatives, so that rounding and small errors would grow linearly in time; they are taken back
//! after every step by the smallest change of position and velocity, in the metric of $M$.

use super::dependent_rows::DependentRows;
use super::modes::{Forces, Modes, Sliding, norm};
use crate::constrained_motion::mobility;
use crate::{Contact, ContactId, FrictionElement, Inertia, Joint, MechanicalSystem, Row, RowRates, StepError};

/// A sliding velocity up to this share of the largest velocity has no direction of its own.
const NO_DIRECTION: f64 = 1e-15;

/// Newton steps of a projection, at most; the first leaves the square of a tiny error.
const PROJECTION_STEPS: usize = 4;

/// How often the search for a contact is widened before everything is asked for, and by which factor.
const WIDENINGS: usize = 3;
const WIDENING: f64 = 1e3;

/// Why there is no acceleration.
#[derive(Debug)]
pub(super) enum Fault {
    /// The step cannot be made.
    Step(StepError),
    /// The system does not know a contact any more that is closed.
    Lost(ContactId),
}

impl From<StepError> for Fault {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

/// A row that holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Joint(usize),
    Normal(usize),
    Tangent(usize, usize),
    Element(usize, usize),
}

/// Accelerations and forces of an instant, with all that they were computed from.
#[derive(Clone, Debug, Default)]
pub(super) struct Motion {
    /// In the order of the modes.
    pub contacts: Vec<Contact>,
    pub elements: Vec<FrictionElement>,
    pub joints: Vec<Joint>,
    pub rates: RowRates,
    pub inertia: Inertia,
    /// $k$ of the system, without friction elements.
    pub force: Vec<f64>,
    pub acceleration: Vec<f64>,
    /// Forces of the contacts along normal and tangents.
    pub contact_forces: Vec<(f64, [f64; 3])>,
    pub element_forces: Vec<[f64; 3]>,
    pub joint_forces: Vec<f64>,
    /// Sliding slower than this keeps the direction that it began or ended with, in m/s: its own is rounding.
    pub still_speed: f64,
    /// The largest force, in N.
    pub force_scale: f64,
    /// The largest acceleration without contacts, friction and joints, or of their rows, in m/s².
    pub acceleration_scale: f64,
    found: Vec<Contact>,
    held: Vec<Held>,
    solver: DependentRows,
    right: Vec<f64>,
    scales: Vec<f64>,
    near: Vec<f64>,
    /// $M^{-1} B^T$ column by column.
    columns: Vec<f64>,
    load: Vec<f64>,
    q: Vec<f64>,
}

impl Motion {
    /// Without memory; sliding slower than `still_speed`, in m/s, has no direction of its own.
    pub fn new(still_speed: f64) -> Self {
        Self { still_speed, ..Self::default() }
    }

    /// Acceleration and forces of a state in these modes. Contacts that are not closed have no force; their rows and rates are there.
    pub fn evaluate(
        &mut self,
        system: &dyn MechanicalSystem,
        modes: &Modes,
        t: f64,
        q: &[f64],
        v: &[f64],
    ) -> Result<usize, Fault> {
        self.look(system, modes, t, q)?;
        system.row_rates(t, q, v, (&self.contacts, &self.elements, &self.joints), &mut self.rates);
        self.weigh(system, t, q)?;
        let n = v.len();
        self.force.clear();
        self.force.resize(n, 0.0);
        system.force(t, q, v, &mut self.force);

        // Friction elements that slide have a known force.
        let nothing = self.still_speed.max(NO_DIRECTION * largest(v));
        self.load.clone_from(&self.force);
        self.element_forces.clear();
        for (element, (_, sliding)) in self.elements.iter().zip(&modes.elements) {
            let mut force = [0.0; 3];
            let count = element.tangents.len();
            if let Some(d) = sliding.direction(count, &[1.0; 3], &element.slip(v), nothing) {
                force = d.map(|d| -element.bound * d);
                element.tangents.iter().zip(force).for_each(|(row, force)| row.add_to(force, &mut self.load));
            }
            self.element_forces.push(force);
        }
        self.acceleration.clone_from(&self.load);
        self.inertia.solve_in_place(&mut self.acceleration);
        self.acceleration_scale = largest(&self.acceleration);
        self.force_scale = largest(&self.force);

        // The friction that each normal force brings along.
        self.contact_forces.clear();
        for (contact, mode) in self.contacts.iter().zip(&modes.contacts) {
            let mut friction = [0.0; 3];
            let (mu, axes) = (contact.friction.mu(), contact.friction.axes());
            if mode.is_closed
                && let Some(d) = mode.sliding.direction(contact.tangents.len(), &axes, &contact.slip(v), nothing)
            {
                friction = std::array::from_fn(|a| -mu * axes[a] * d[a]);
            }
            self.contact_forces.push((0.0, friction));
        }

        self.hold(modes, true);
        let count = self.held.len();
        self.columns.clear();
        self.columns.resize(count * n, 0.0);
        for (k, &held) in self.held.iter().enumerate() {
            let column = &mut self.columns[k * n..(k + 1) * n];
            row_of(held, &self.joints, &self.contacts, &self.elements).add_to(1.0, column);
            if let Held::Normal(i) = held {
                let friction = self.contact_forces[i].1;
                self.contacts[i].tangents.iter().zip(friction).for_each(|(row, share)| row.add_to(share, column));
            }
            self.inertia.solve_in_place(column);
        }
        self.right.clear();
        self.solver.begin(count);
        for (r, &held) in self.held.iter().enumerate() {
            let row = row_of(held, &self.joints, &self.contacts, &self.elements);
            let rate = match held {
                Held::Joint(i) => self.rates.joints[i],
                Held::Normal(i) => self.rates.normals[i],
                Held::Tangent(i, a) => self.rates.tangents[i][a],
                Held::Element(i, a) => self.rates.friction[i][a],
            };
            self.right.push(-(row.dot(&self.acceleration) + rate) / self.scales[r]);
            self.acceleration_scale = self.acceleration_scale.max(rate.abs());
            for k in 0..count {
                let entry = row.dot(&self.columns[k * n..(k + 1) * n]);
                self.solver.set(r, k, entry / (self.scales[r] * self.scales[k]));
            }
        }
        // Of all solutions the one nearest to the forces that the phase began with.
        self.near.clear();
        let begun = &modes.forces;
        self.near.extend(self.held.iter().zip(&self.scales).map(|(held, scale)| scale * force_of(*held, begun)));
        for (r, right) in self.right.iter_mut().enumerate() {
            *right -= (0..count).map(|k| self.solver.get(r, k) * self.near[k]).sum::<f64>();
        }
        let rank = self.solver.solve(modes.rank, &mut self.right);
        self.joint_forces.clear();
        self.joint_forces.resize(self.joints.len(), 0.0);
        for k in 0..count {
            let force = (self.right[k] + self.near[k]) / self.scales[k];
            let column = &self.columns[k * n..(k + 1) * n];
            self.acceleration.iter_mut().zip(column).for_each(|(a, x)| *a += force * x);
            self.force_scale = self.force_scale.max(force.abs());
            match self.held[k] {
                Held::Joint(i) => self.joint_forces[i] = force,
                Held::Normal(i) => {
                    let (normal, tangent) = &mut self.contact_forces[i];
                    *normal = force;
                    tangent.iter_mut().for_each(|share| *share *= force);
                }
                Held::Tangent(i, a) => self.contact_forces[i].1[a] = force,
                Held::Element(i, a) => self.element_forces[i][a] = force,
            }
        }
        Ok(rank)
    }

    /// Writes the rates of configuration and velocity where it was evaluated.
    pub fn write_rate(&self, system: &dyn MechanicalSystem, q: &[f64], v: &[f64], out: &mut [f64]) {
        system.configuration_rate(q, v, &mut out[..q.len()]);
        out[q.len()..].copy_from_slice(&self.acceleration);
    }

    /// Moves a configuration and its velocity by the least to what joints, closed contacts and what sticks ask for.
    pub fn project(
        &mut self,
        system: &dyn MechanicalSystem,
        modes: &Modes,
        t: f64,
        q: &mut Vec<f64>,
        v: &mut [f64],
    ) -> Result<(), Fault> {
        let mut last = f64::INFINITY;
        for _ in 0..PROJECTION_STEPS {
            self.look(system, modes, t, q)?;
            self.weigh(system, t, q)?;
            self.hold(modes, false);
            let (joints, contacts) = (&self.joints, &self.contacts);
            let violation = |held: &Held| match *held {
                Held::Joint(i) => joints[i].value,
                Held::Normal(i) => contacts[i].gap - modes.contacts[i].gap,
                Held::Tangent(..) | Held::Element(..) => 0.0,
            };
            self.right.clear();
            self.right.extend(self.held.iter().map(violation));
            let worst = largest(&self.right);
            // It falls quadratically, so what falls slowly is rounding.
            if worst == 0.0 || worst > 0.1 * last {
                break;
            }
            last = worst;
            self.least_change();
            self.q.clone_from(q);
            system.advance(&self.q, &self.load, 1.0, q);
        }
        self.look(system, modes, t, q)?;
        self.weigh(system, t, q)?;
        self.hold(modes, true);
        let (joints, contacts, elements) = (&self.joints, &self.contacts, &self.elements);
        let rate = |held: &Held| match *held {
            Held::Joint(i) => joints[i].row.dot(v) + joints[i].drift,
            Held::Normal(i) => contacts[i].normal.dot(v) + contacts[i].normal_drift,
            Held::Tangent(i, a) => contacts[i].slip(v)[a],
            Held::Element(i, a) => elements[i].slip(v)[a],
        };
        self.right.clear();
        self.right.extend(self.held.iter().map(rate));
        self.least_change();
        v.iter_mut().zip(&self.load).for_each(|(v, change)| *v += change);
        Ok(())
    }

    /// Finds contacts by their identity, friction elements and joints.
    pub fn look(&mut self, system: &dyn MechanicalSystem, modes: &Modes, t: f64, q: &[f64]) -> Result<(), Fault> {
        self.contacts.clear();
        if !modes.contacts.is_empty() {
            let mut horizon = modes.contacts.iter().fold(1e-6f64, |far, contact| far.max(2.0 * contact.gap));
            for widening in 0..=WIDENINGS {
                if widening == WIDENINGS {
                    horizon = f64::INFINITY;
                }
                self.found.clear();
                system.contacts(t, q, horizon, &mut self.found);
                let is_found = |id: ContactId| self.found.iter().any(|contact| contact.id == id);
                if modes.contacts.iter().all(|mode| is_found(mode.id)) {
                    break;
                }
                horizon *= WIDENING;
            }
            for mode in &modes.contacts {
                match self.found.iter().find(|contact| contact.id == mode.id) {
                    Some(contact) => self.contacts.push(contact.clone()),
                    None => return Err(Fault::Lost(mode.id)),
                }
            }
        }
        self.elements.clear();
        system.friction_elements(t, q, &mut self.elements);
        self.joints.clear();
        system.joints(t, q, &mut self.joints);
        Ok(())
    }

    /// The mass matrix, factored.
    fn weigh(&mut self, system: &dyn MechanicalSystem, t: f64, q: &[f64]) -> Result<(), StepError> {
        self.inertia.clear();
        system.mass_matrix(t, q, &mut self.inertia);
        self.inertia.factor().map_err(|source| StepError::Malformed { t, source })
    }

    /// Lists the rows that hold: joints, closed normals and, if asked for, what sticks.
    fn hold(&mut self, modes: &Modes, with_tangents: bool) {
        self.held.clear();
        self.held.extend((0..self.joints.len()).map(Held::Joint));
        for (i, (contact, mode)) in self.contacts.iter().zip(&modes.contacts).enumerate() {
            if mode.is_closed {
                self.held.push(Held::Normal(i));
                if with_tangents && mode.sliding == Sliding::Stick {
                    self.held.extend((0..contact.tangents.len()).map(|a| Held::Tangent(i, a)));
                }
            }
        }
        if with_tangents {
            for (i, (element, (_, sliding))) in self.elements.iter().zip(&modes.elements).enumerate() {
                if *sliding == Sliding::Stick {
                    self.held.extend((0..element.tangents.len()).map(|a| Held::Element(i, a)));
                }
            }
        }
        self.scales.clear();
        for &held in &self.held {
            let row = row_of(held, &self.joints, &self.contacts, &self.elements);
            let root = mobility(&self.inertia, row).sqrt();
            self.scales.push(if root > 0.0 { root } else { 1.0 });
        }
    }

    /// Writes into `load` the least change, in the metric of the mass matrix, that takes back the violations in `right` of the rows that hold.
    fn least_change(&mut self) {
        let (n, count) = (self.inertia.size(), self.held.len());
        self.columns.clear();
        self.columns.resize(count * n, 0.0);
        for (k, &held) in self.held.iter().enumerate() {
            let column = &mut self.columns[k * n..(k + 1) * n];
            row_of(held, &self.joints, &self.contacts, &self.elements).add_to(1.0, column);
            self.inertia.solve_in_place(column);
        }
        self.solver.begin(count);
        for (r, &held) in self.held.iter().enumerate() {
            let row = row_of(held, &self.joints, &self.contacts, &self.elements);
            self.right[r] /= -self.scales[r];
            for k in 0..count {
                let entry = row.dot(&self.columns[k * n..(k + 1) * n]);
                self.solver.set(r, k, entry / (self.scales[r] * self.scales[k]));
            }
        }
        self.solver.solve(None, &mut self.right);
        self.load.clear();
        self.load.resize(n, 0.0);
        for k in 0..count {
            let share = self.right[k] / self.scales[k];
            self.load.iter_mut().zip(&self.columns[k * n..(k + 1) * n]).for_each(|(sum, x)| *sum += share * x);
        }
    }

    /// Acceleration $n \dot v + \dot n v$ of the gap of a contact of the modes.
    pub fn gap_acceleration(&self, contact: usize) -> f64 {
        self.contacts[contact].normal.dot(&self.acceleration) + self.rates.normals[contact]
    }

    /// Acceleration $T \dot v + \dot T v$ of the sliding of a contact of the modes.
    pub fn slip_acceleration(&self, contact: usize) -> [f64; 3] {
        let (contact, rates) = (&self.contacts[contact], &self.rates.tangents[contact]);
        let mut slip = *rates;
        slip.iter_mut().zip(&contact.tangents).for_each(|(slip, row)| *slip += row.dot(&self.acceleration));
        slip
    }

    /// The same for a friction element.
    pub fn element_acceleration(&self, element: usize) -> [f64; 3] {
        let (element, rates) = (&self.elements[element], &self.rates.friction[element]);
        let mut slip = *rates;
        slip.iter_mut().zip(&element.tangents).for_each(|(slip, row)| *slip += row.dot(&self.acceleration));
        slip
    }

    /// How much of the friction bound of a contact is left: $\mu \lambda_n - \lVert c / e \rVert$.
    pub fn margin(&self, contact: usize) -> f64 {
        let (normal, tangent) = self.contact_forces[contact];
        let friction = &self.contacts[contact].friction;
        let axes = friction.axes();
        friction.mu() * normal - norm(&std::array::from_fn(|a| if axes[a] > 0.0 { tangent[a] / axes[a] } else { 0.0 }))
    }

    /// The same for a friction element.
    pub fn element_margin(&self, element: usize) -> f64 {
        self.elements[element].bound - norm(&self.element_forces[element])
    }
}

fn row_of<'a>(held: Held, joints: &'a [Joint], contacts: &'a [Contact], elements: &'a [FrictionElement]) -> &'a Row {
    match held {
        Held::Joint(i) => &joints[i].row,
        Held::Normal(i) => &contacts[i].normal,
        Held::Tangent(i, a) => &contacts[i].tangents[a],
        Held::Element(i, a) => &elements[i].tangents[a],
    }
}

/// What a row that holds has of these forces; nothing where there are none.
fn force_of(held: Held, forces: &Forces) -> f64 {
    let found = match held {
        Held::Joint(i) => forces.joints.get(i).copied(),
        Held::Normal(i) => forces.contacts.get(i).map(|force| force.0),
        Held::Tangent(i, a) => forces.contacts.get(i).map(|force| force.1[a]),
        Held::Element(i, a) => forces.elements.get(i).map(|force| force[a]),
    };
    found.unwrap_or(0.0)
}

pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

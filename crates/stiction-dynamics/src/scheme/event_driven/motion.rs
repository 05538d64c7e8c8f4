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

use std::ops::Range;

use super::dependent_rows::DependentRows;
use super::modes::{Forces, Modes, Part, Sliding, norm};
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

/// A part of the modes: whose tangents it has, and which.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slider {
    pub part: Part,
    owner: Owner,
    pub tangents: Range<usize>,
    /// Semi-axes of its tangents; zero for all others.
    pub axes: [f64; 3],
}

/// The place of a contact or a friction element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    Contact(usize),
    Element(usize),
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
    /// The names that the system gives them here.
    names: Vec<ContactId>,
    pub elements: Vec<FrictionElement>,
    pub joints: Vec<Joint>,
    /// What slides or sticks, in the order of the modes.
    pub sliders: Vec<Slider>,
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
        self.exchange_names();
        system.row_rates(t, q, v, (&self.contacts, &self.elements, &self.joints), &mut self.rates);
        self.exchange_names();
        self.weigh(system, t, q)?;
        let n = v.len();
        self.force.clear();
        self.force.resize(n, 0.0);
        system.force(t, q, v, &mut self.force);

        // What slides has a known friction: that of an element is a force, that of a contact a share of its normal force.
        let nothing = self.still_speed.max(NO_DIRECTION * largest(v));
        self.load.clone_from(&self.force);
        self.element_forces.clear();
        self.element_forces.resize(self.elements.len(), [0.0; 3]);
        self.contact_forces.clear();
        self.contact_forces.resize(self.contacts.len(), (0.0, [0.0; 3]));
        for (slider, (part, sliding)) in self.sliders.iter().zip(&modes.sliding) {
            let Some(d) = sliding.direction(slider.tangents.len(), &self.slip(slider, v), nothing) else { continue };
            match slider.owner {
                Owner::Contact(i) if modes.is_loaded(*part) => {
                    let mu = self.contacts[i].mu();
                    let shares = &mut self.contact_forces[i].1;
                    slider.tangents.clone().for_each(|a| shares[a] = -mu * slider.axes[a] * d[a]);
                }
                Owner::Contact(_) => {}
                Owner::Element(i) => {
                    let element = &self.elements[i];
                    let force = d.map(|d| -element.limit() * d);
                    element.tangents.iter().zip(force).for_each(|(row, force)| row.add_to(force, &mut self.load));
                    self.element_forces[i] = force;
                }
            }
        }
        self.acceleration.clone_from(&self.load);
        self.inertia.solve_in_place(&mut self.acceleration);
        self.acceleration_scale = largest(&self.acceleration);
        self.force_scale = largest(&self.force);

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

    /// Number of rows that hold.
    pub fn held_count(&self) -> usize {
        self.held.len()
    }

    /// The forces, moved inside their bounds by a share of the largest; none where they are.
    pub fn forces_inside(&self, modes: &Modes, share: f64) -> Option<Forces> {
        let mut forces = Forces {
            joints: self.joint_forces.clone(),
            contacts: self.contact_forces.clone(),
            elements: self.element_forces.clone(),
        };
        let mut is_inside = true;
        let least = share * self.force_scale;
        for ((normal, _), mode) in forces.contacts.iter_mut().zip(&modes.contacts) {
            if mode.is_closed && *normal < least {
                (*normal, is_inside) = (2.0 * least, false);
            }
        }
        for (slider, (part, sliding)) in self.sliders.iter().zip(&modes.sliding) {
            if *sliding != Sliding::Stick || !modes.is_loaded(*part) {
                continue;
            }
            let friction = norm(&self.friction(slider));
            let (mu, bound) = match slider.owner {
                Owner::Contact(i) => (self.contacts[i].mu(), forces.contacts[i].0),
                Owner::Element(i) => (0.0, self.elements[i].limit()),
            };
            // The nearest point of the narrowed cone |t| ≤ μ n, or interval.
            let narrow = (1.0 - share) * mu;
            let wanted = match slider.owner {
                Owner::Contact(_) if friction > narrow * bound => {
                    let normal = (bound + narrow * friction) / (1.0 + narrow * narrow);
                    Some((normal, (1.0 - share) * narrow * normal))
                }
                Owner::Element(_) if friction > (1.0 - share) * bound => Some((0.0, (1.0 - 2.0 * share) * bound)),
                _ => None,
            };
            if let Some((normal, length)) = wanted {
                is_inside = false;
                if let Owner::Contact(i) = slider.owner {
                    forces.contacts[i].0 = normal;
                }
                let factor = if friction > 0.0 { length / friction } else { 0.0 };
                for a in slider.tangents.clone() {
                    match slider.owner {
                        Owner::Contact(i) => forces.contacts[i].1[a] *= factor,
                        Owner::Element(i) => forces.elements[i][a] *= factor,
                    }
                }
            }
        }
        (!is_inside).then_some(forces)
    }

    /// Writes the rates of configuration and velocity where it was evaluated.
    pub fn write_rate(&self, system: &dyn MechanicalSystem, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        system.configuration_rate(t, q, v, &mut out[..q.len()]);
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
            system.displace(t, &self.q, &self.load, 1.0, q);
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
        self.names.clear();
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
                match modes.find(mode, &self.found) {
                    Some(contact) => {
                        // Of two coefficients the static one holds what sticks as a whole.
                        let mut own =
                            modes.sliding.iter().filter(|(part, _)| part.contact() == Some(mode.id)).peekable();
                        let sticks = own.peek().is_some() && own.all(|(_, sliding)| *sliding == Sliding::Stick);
                        self.contacts.push(Contact { id: mode.id, sticks, ..contact.clone() });
                        self.names.push(contact.id);
                    }
                    None => return Err(Fault::Lost(mode.id)),
                }
            }
        }
        self.elements.clear();
        system.friction_elements(t, q, &mut self.elements);
        for element in &mut self.elements {
            element.sticks = modes.sliding(Part::Element(element.id)) == Some(Sliding::Stick);
        }
        self.joints.clear();
        system.joints(t, q, &mut self.joints);
        self.sliders.clear();
        for &(part, _) in &modes.sliding {
            let (contacts, elements) = (&self.contacts, &self.elements);
            let contact = part.contact().and_then(|id| contacts.iter().position(|contact| contact.id == id));
            let element = elements.iter().position(|element| part == Part::Element(element.id));
            let (owner, axes, tangents) = match (contact, element) {
                (Some(i), _) => {
                    let own = Part::of_contact(&contacts[i]).find(|(other, _)| *other == part);
                    (Owner::Contact(i), contacts[i].friction.axes(), own)
                }
                (None, Some(i)) => (Owner::Element(i), [1.0; 3], Part::of_element(&elements[i])),
                (None, None) => {
                    let name = part.contact().map_or_else(|| format!("{part:?}"), |id| system.contact_name(id));
                    let reason = format!("{name}, which had friction, is not there any more");
                    return Err(Fault::Step(StepError::Phase { t, h: 0.0, reason }));
                }
            };
            // What has lost its friction has no tangents.
            let tangents = tangents.map_or(0..0, |(_, tangents)| tangents);
            let axes = std::array::from_fn(|a| if tangents.contains(&a) { axes[a] } else { 0.0 });
            self.sliders.push(Slider { part, owner, tangents, axes });
        }
        Ok(())
    }

    /// Exchanges the names that contacts have in the modes for those that the system gives them here, and back.
    fn exchange_names(&mut self) {
        self.contacts.iter_mut().zip(&mut self.names).for_each(|(contact, name)| std::mem::swap(&mut contact.id, name));
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
        let closed = modes.contacts.iter().enumerate().filter(|(_, mode)| mode.is_closed);
        self.held.extend(closed.map(|(i, _)| Held::Normal(i)));
        for (slider, (part, sliding)) in self.sliders.iter().zip(&modes.sliding) {
            if with_tangents && *sliding == Sliding::Stick && modes.is_loaded(*part) {
                self.held.extend(slider.tangents.clone().map(|a| match slider.owner {
                    Owner::Contact(i) => Held::Tangent(i, a),
                    Owner::Element(i) => Held::Element(i, a),
                }));
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

    /// Sliding velocity of a part, each component times its semi-axis.
    pub fn slip(&self, slider: &Slider, v: &[f64]) -> [f64; 3] {
        let slip = match slider.owner {
            Owner::Contact(i) => self.contacts[i].slip(v),
            Owner::Element(i) => self.elements[i].slip(v),
        };
        std::array::from_fn(|a| slider.axes[a] * slip[a])
    }

    /// Its rate $e (T \dot v + \dot T v)$.
    pub fn slip_acceleration(&self, slider: &Slider) -> [f64; 3] {
        let (rows, rates) = match slider.owner {
            Owner::Contact(i) => (&self.contacts[i].tangents, &self.rates.tangents[i]),
            Owner::Element(i) => (&self.elements[i].tangents, &self.rates.friction[i]),
        };
        let mut rate = [0.0; 3];
        for a in slider.tangents.clone() {
            rate[a] = slider.axes[a] * (rows[a].dot(&self.acceleration) + rates[a]);
        }
        rate
    }

    /// Friction of a part, each component over its semi-axis.
    pub fn friction(&self, slider: &Slider) -> [f64; 3] {
        let force = match slider.owner {
            Owner::Contact(i) => self.contact_forces[i].1,
            Owner::Element(i) => self.element_forces[i],
        };
        slider.over_axes(&force)
    }

    /// How much of the bound of a part is left: $\mu \lambda_n - \lVert c / e \rVert$ for a contact.
    pub fn margin(&self, slider: &Slider) -> f64 {
        let bound = match slider.owner {
            Owner::Contact(i) => self.contacts[i].mu() * self.contact_forces[i].0,
            Owner::Element(i) => self.elements[i].limit(),
        };
        bound - norm(&self.friction(slider))
    }
}

impl Slider {
    /// The tangents of this part of a vector, each component over its semi-axis.
    pub fn over_axes(&self, force: &[f64; 3]) -> [f64; 3] {
        std::array::from_fn(|a| if self.axes[a] > 0.0 { force[a] / self.axes[a] } else { 0.0 })
    }

    /// The tangents of this part of a vector, each component times its semi-axis.
    pub fn times_axes(&self, slip: &[f64; 3]) -> [f64; 3] {
        std::array::from_fn(|a| self.axes[a] * slip[a])
    }

    /// The same, to change it.
    pub fn pick_mut<'a, T>(&self, contacts: &'a mut [T], elements: &'a mut [T]) -> &'a mut T {
        match self.owner {
            Owner::Contact(i) => &mut contacts[i],
            Owner::Element(i) => &mut elements[i],
        }
    }

    /// What belongs to this part in lists of contacts and of elements.
    pub fn pick<'a, T>(&self, contacts: &'a [T], elements: &'a [T]) -> &'a T {
        match self.owner {
            Owner::Contact(i) => &contacts[i],
            Owner::Element(i) => &elements[i],
        }
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

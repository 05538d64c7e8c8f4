//! Accelerations and forces in given modes, and states that keep what the modes hold.
//!
//! With the rows $J$ of joints, closed normals and sticking tangents, and the directions $B$ of
//! their forces,
//!
//! $$ M \dot v = k + B^T \lambda, \qquad J \dot v + \dot J v = 0, \qquad
//!    J M^{-1} B^T \lambda = -(J M^{-1} k + \dot J v). $$
//!
//! $B$ is $J$ but for the normal of a sliding contact, which brings its friction along:
//! $n - \mu \sum_a e_a d_a T_a$ with the semi-axes $e$ and the unit vector
//! $d = e s / \lVert e s \rVert$ of the sliding velocity $s$ (\[TTP01\] (2)). A sliding friction
//! element with the bound $a$ adds $-a d$ to $k$.
//!
//! The index was reduced by two derivatives, so that rounding and small errors would grow linearly
//! in time. They are taken back after every integrator step by the smallest change of position and
//! velocity, in the metric of $M$.
//!
//! A *site* is where friction acts: a friction element, or a contact. Sites are numbered through,
//! the elements first.

use std::ops::Range;

use super::modes::{Forces, Modes, Part, Sliding};
use crate::constrained_motion::mobility;
use crate::contact::Tangents;
use crate::scheme::{At, Outcome};
use crate::vector::{largest, norm, refill, zero};
use crate::{Contact, ContactId, FrictionElement, Inertia, Joint, MechanicalSystem, Row, RowRates, State, StepError};
use stiction_solve::LeastSquares;
use stiction_solve::least_squares::Rank;

/// A sliding velocity up to this share of the largest velocity has no direction of its own. Too
/// large: slow sliding keeps an old direction. Too small: friction points where rounding does.
const NO_DIRECTION: f64 = 1e-15;

/// What is left of a row, relative to the largest, when it depends on those before. Too large:
/// mechanisms near a dead centre get loose. Too small: rounding counts as a row.
///
/// The rank is judged once, where a phase begins. Away from the configurations that joints allow,
/// their rows are independent by just as much as they are off, which must not count.
const DEPENDENT: Rank = Rank::Above(1e-8);

/// Newton steps of a projection, at most; the first leaves the square of a tiny error.
const PROJECTION_STEPS: usize = 4;

/// A projection goes on while the violation falls to this share. It falls quadratically, so what
/// falls slowly is rounding.
const PROJECTING: f64 = 0.1;

/// A part of the modes at a state: its site, its tangents there and their semi-axes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slider {
    pub part: Part,
    pub site: usize,
    pub tangents: Range<usize>,
    /// Zero for all other tangents of the site.
    pub axes: [f64; 3],
}

/// A row that holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Joint(usize),
    Normal(usize),
    /// A tangent of a site.
    Tangent(usize, usize),
}

/// Accelerations and forces of an instant, with all that they were computed from.
#[derive(Clone, Debug, Default)]
pub(super) struct Motion {
    /// In the order of the modes, with the names that the system gives them here.
    pub contacts: Vec<Contact>,
    pub elements: Vec<FrictionElement>,
    pub joints: Vec<Joint>,
    /// What slides or sticks, in the order of the modes.
    pub sliders: Vec<Slider>,
    pub rates: RowRates,
    pub inertia: Inertia,
    /// $k$ of the system, without friction elements.
    pub force: Vec<f64>,
    pub acceleration: Vec<f64>,
    pub forces: Forces,
    /// Sliding slower than this keeps the direction with which it began or ended, in m/s.
    pub still_speed: f64,
    /// The largest force, in N.
    pub force_scale: f64,
    /// The largest acceleration without contacts, friction and joints, or of their rows, in m/s².
    pub acceleration_scale: f64,
    held: Vec<Held>,
    /// Square roots of the mobilities of these rows, by which they are divided.
    scales: Vec<f64>,
    /// $M^{-1} B^T$ column by column.
    columns: Vec<f64>,
    solver: LeastSquares,
    right: Vec<f64>,
    load: Vec<f64>,
    found: Vec<Contact>,
    /// Names of the contacts of the modes.
    names: Vec<ContactId>,
    q: Vec<f64>,
}

impl Motion {
    /// Acceleration and forces of a state in these modes; the rank of the rows that hold. Contacts
    /// that are not closed have no force, but their rows and rates are there.
    ///
    /// # Errors
    /// [`StepError::Instant`] when a contact of the modes does not exist there.
    pub fn evaluate(&mut self, at: At<'_>, modes: &Modes, v: &[f64]) -> Outcome<usize> {
        self.look(at, modes)?;
        let rows = (&self.contacts[..], &self.elements[..], &self.joints[..]);
        at.system.row_rates(at.t, at.q, v, rows, &mut self.rates);
        self.weigh(at)?;
        at.force(v, &mut self.force);
        self.slide(modes, v);

        // Without what holds.
        self.acceleration.clone_from(&self.load);
        self.inertia.solve_in_place(&mut self.acceleration);
        self.acceleration_scale = largest(&self.acceleration);
        self.force_scale = largest(&self.force);

        // J M⁻¹ Bᵀ λ = -(J M⁻¹ k + d/dt J v), of all solutions the one nearest to the forces with
        // which the phase began.
        self.hold(modes, true);
        self.condense(true);
        self.right.clear();
        for (&held, scale) in self.held.iter().zip(&self.scales) {
            let row = row_of(held, &self.joints, &self.contacts, &self.elements);
            let rate = match held {
                Held::Joint(i) => self.rates.joints[i],
                Held::Normal(i) => self.rates.normals[i],
                Held::Tangent(site, a) => self.tangent_rates(site)[a],
            };
            self.right.push(-(row.dot(&self.acceleration) + rate) / scale);
            self.acceleration_scale = self.acceleration_scale.max(rate.abs());
        }
        let begun = |(held, scale): (&Held, &f64)| {
            let (joints, sites) = (&modes.forces.joints, &modes.forces.sites);
            let force = match *held {
                Held::Joint(i) => joints.get(i).copied(),
                Held::Normal(i) => sites.get(self.elements.len() + i).map(|force| force.0),
                Held::Tangent(site, a) => sites.get(site).map(|force| force.1[a]),
            };
            scale * force.unwrap_or(0.0)
        };
        let near: Vec<f64> = self.held.iter().zip(&self.scales).map(begun).collect();
        for (r, right) in self.right.iter_mut().enumerate() {
            *right -= near.iter().enumerate().map(|(k, near)| self.solver.entry(r, k) * near).sum::<f64>();
        }
        let rank = modes.rank.map_or(DEPENDENT, Rank::Known);
        let rank = self.solver.solve(rank, &mut self.right);

        zero(&mut self.forces.joints, self.joints.len());
        for (k, held) in self.held.iter().enumerate() {
            let force = (self.right[k] + near[k]) / self.scales[k];
            let column = &self.columns[k * v.len()..(k + 1) * v.len()];
            self.acceleration.iter_mut().zip(column).for_each(|(a, x)| *a += force * x);
            self.force_scale = self.force_scale.max(force.abs());
            match *held {
                Held::Joint(i) => self.forces.joints[i] = force,
                Held::Normal(i) => {
                    let (normal, tangent) = &mut self.forces.sites[self.elements.len() + i];
                    *normal = force;
                    tangent.iter_mut().for_each(|share| *share *= force);
                }
                Held::Tangent(site, a) => self.forces.sites[site].1[a] = force,
            }
        }
        Ok(rank)
    }

    /// The known friction of what slides. That of an element is a force, which joins the load. That
    /// of a contact is a share of its normal force, and so far only this share.
    fn slide(&mut self, modes: &Modes, v: &[f64]) {
        let nothing = self.still_speed.max(NO_DIRECTION * largest(v));
        self.load.clone_from(&self.force);
        zero(&mut self.forces.sites, self.elements.len() + self.contacts.len());
        for (slider, (part, sliding)) in self.sliders.iter().zip(&modes.sliding) {
            let Some(d) = sliding.direction(slider.tangents.len(), &self.slip(slider, v), nothing) else { continue };
            match self.contact_of(slider) {
                Some(contact) if modes.is_loaded(*part) => {
                    let mu = contact.mu();
                    let shares = &mut self.forces.sites[slider.site].1;
                    slider.tangents.clone().for_each(|a| shares[a] = -mu * slider.axes[a] * d[a]);
                }
                Some(_) => {}
                None => {
                    let element = &self.elements[slider.site];
                    let force = d.map(|d| -element.limit() * d);
                    element.tangents.iter().zip(force).for_each(|(row, force)| row.add_to(force, &mut self.load));
                    self.forces.sites[slider.site].1 = force;
                }
            }
        }
    }

    /// Number of rows that hold.
    pub fn held_count(&self) -> usize {
        self.held.len()
    }

    /// The forces, moved inside their bounds by a share of the largest; none where they are inside.
    pub fn forces_inside(&self, modes: &Modes, share: f64) -> Option<Forces> {
        let mut forces = self.forces.clone();
        let mut is_inside = true;
        let least = share * self.force_scale;
        for ((normal, _), mode) in forces.sites[self.elements.len()..].iter_mut().zip(&modes.contacts) {
            if mode.is_closed && *normal < least {
                (*normal, is_inside) = (2.0 * least, false);
            }
        }
        for (slider, (part, sliding)) in self.sliders.iter().zip(&modes.sliding) {
            if *sliding != Sliding::Stick || !modes.is_loaded(*part) {
                continue;
            }
            let friction = norm(&self.friction(slider));
            let (normal, tangent) = &mut forces.sites[slider.site];
            let length = match self.contact_of(slider) {
                // The nearest point of the narrowed cone |t| ≤ μ n.
                Some(contact) => {
                    let narrow = (1.0 - share) * contact.mu();
                    if friction <= narrow * *normal {
                        continue;
                    }
                    *normal = (*normal + narrow * friction) / (1.0 + narrow * narrow);
                    (1.0 - share) * narrow * *normal
                }
                None => {
                    let bound = self.elements[slider.site].limit();
                    if friction <= (1.0 - share) * bound {
                        continue;
                    }
                    (1.0 - 2.0 * share) * bound
                }
            };
            is_inside = false;
            let factor = if friction > 0.0 { length / friction } else { 0.0 };
            slider.tangents.clone().for_each(|a| tangent[a] *= factor);
        }
        (!is_inside).then_some(forces)
    }

    /// Writes the rates of configuration and velocity where it was evaluated.
    pub fn write_rate(&self, at: At<'_>, v: &[f64], out: &mut [f64]) {
        at.system.configuration_rate(at.t, at.q, v, &mut out[..at.q.len()]);
        out[at.q.len()..].copy_from_slice(&self.acceleration);
    }

    /// Moves a configuration and its velocity by the least to what joints, closed contacts and what
    /// sticks demand.
    pub fn project(&mut self, system: &dyn MechanicalSystem, modes: &Modes, State { t, q, v }: &mut State) -> Outcome {
        let mut last = f64::INFINITY;
        for _ in 0..PROJECTION_STEPS {
            self.look(At::new(system, *t, q), modes)?;
            self.weigh(At::new(system, *t, q))?;
            self.hold(modes, false);
            let (joints, contacts) = (&self.joints, &self.contacts);
            let violation = |held: &Held| match *held {
                Held::Joint(i) => joints[i].value,
                Held::Normal(i) => contacts[i].gap - modes.contacts[i].gap,
                Held::Tangent(..) => 0.0,
            };
            refill(&mut self.right, self.held.iter().map(violation));
            let worst = largest(&self.right);
            if worst == 0.0 || worst > PROJECTING * last {
                break;
            }
            last = worst;
            self.least_change();
            self.q.clone_from(q);
            system.displace(*t, &self.q, &self.load, 1.0, q);
        }
        self.look(At::new(system, *t, q), modes)?;
        self.weigh(At::new(system, *t, q))?;
        self.hold(modes, true);
        let rate = |held: &Held| match *held {
            Held::Joint(i) => self.joints[i].rate(v),
            Held::Normal(i) => self.contacts[i].rate(v),
            Held::Tangent(site, a) => self.slip_at(site, v)[a],
        };
        self.right = self.held.iter().map(rate).collect();
        self.least_change();
        v.iter_mut().zip(&self.load).for_each(|(v, change)| *v += change);
        Ok(())
    }

    /// Finds the contacts of the modes, friction elements, joints and sliders at a configuration.
    ///
    /// # Errors
    /// [`StepError::Instant`] when something that the modes list does not exist there.
    pub fn look(&mut self, at: At<'_>, modes: &Modes) -> Outcome {
        let (system, t) = (at.system, at.t);
        self.contacts.clear();
        // By their names, or all contacts where one goes by another name.
        refill(&mut self.names, modes.contacts.iter().map(|mode| mode.id));
        at.contacts_of(&self.names, &mut self.found);
        if self.found.len() < self.names.len() {
            at.contacts(f64::INFINITY, &mut self.found);
        }
        for mode in &modes.contacts {
            let found = modes.find(mode, &self.found);
            let contact = found.ok_or_else(|| lost(t, &system.contact_name(mode.id), "is closed"))?;
            // Of two coefficients the static one holds what sticks as a whole.
            let mut own = modes.sliding.iter().filter(|(part, _)| part.contact() == Some(mode.id)).peekable();
            let sticks = own.peek().is_some() && own.all(|(_, sliding)| *sliding == Sliding::Stick);
            self.contacts.push(Contact { sticks, ..contact.clone() });
        }
        at.friction(&mut self.elements);
        for element in &mut self.elements {
            element.sticks = modes.sliding(Part::Element(element.id)) == Some(Sliding::Stick);
        }
        at.joints(&mut self.joints);
        self.sliders.clear();
        for &(part, _) in &modes.sliding {
            let (contacts, elements) = (&self.contacts, &self.elements);
            let contact = part.contact().and_then(|id| modes.contacts.iter().position(|mode| mode.id == id));
            let element = elements.iter().position(|element| part == Part::Element(element.id));
            let (site, axes, tangents) = match (contact, element) {
                (Some(i), _) => {
                    let mut parts = Part::of_contact(modes.contacts[i].id, &contacts[i]);
                    (elements.len() + i, contacts[i].friction.axes(), parts.find(|(other, _)| *other == part))
                }
                (None, Some(i)) => (i, [1.0; 3], Part::of_element(&elements[i])),
                (None, None) => {
                    let name = part.contact().map_or_else(|| format!("{part:?}"), |id| system.contact_name(id));
                    return Err(lost(t, &name, "has friction"));
                }
            };
            // What has lost its friction has no tangents.
            let tangents = tangents.map_or(0..0, |(_, tangents)| tangents);
            let axes = std::array::from_fn(|a| if tangents.contains(&a) { axes[a] } else { 0.0 });
            self.sliders.push(Slider { part, site, tangents, axes });
        }
        Ok(())
    }

    /// The mass matrix, factored.
    fn weigh(&mut self, at: At<'_>) -> Outcome {
        at.factored_mass(&mut self.inertia).map_err(|source| StepError::Malformed { t: at.t, source })
    }

    /// Lists the rows that hold: joints, closed normals and, if asked for, what sticks.
    fn hold(&mut self, modes: &Modes, with_tangents: bool) {
        self.held.clear();
        self.held.extend((0..self.joints.len()).map(Held::Joint));
        let closed = modes.contacts.iter().enumerate().filter(|(_, mode)| mode.is_closed);
        self.held.extend(closed.map(|(i, _)| Held::Normal(i)));
        for (slider, (part, sliding)) in self.sliders.iter().zip(&modes.sliding) {
            if with_tangents && *sliding == Sliding::Stick && modes.is_loaded(*part) {
                self.held.extend(slider.tangents.clone().map(|a| Held::Tangent(slider.site, a)));
            }
        }
        self.scales.clear();
        for &held in &self.held {
            let row = row_of(held, &self.joints, &self.contacts, &self.elements);
            let root = mobility(&self.inertia, row).sqrt();
            self.scales.push(if root > 0.0 { root } else { 1.0 });
        }
    }

    /// Writes $M^{-1} B^T$ and, into the solver, $J M^{-1} B^T$ with rows and columns divided by
    /// their scales. Without friction $B$ is $J$.
    fn condense(&mut self, with_friction: bool) {
        let (n, count) = (self.inertia.size(), self.held.len());
        let row = |held: &Held| row_of(*held, &self.joints, &self.contacts, &self.elements);
        let rows: Vec<&Row> = self.held.iter().map(row).collect();
        zero(&mut self.columns, count * n);
        for (k, held) in self.held.iter().enumerate() {
            let column = &mut self.columns[k * n..(k + 1) * n];
            rows[k].add_to(1.0, column);
            if let Held::Normal(i) = *held
                && with_friction
            {
                let shares = self.forces.sites[self.elements.len() + i].1;
                self.contacts[i].tangents.iter().zip(shares).for_each(|(row, share)| row.add_to(share, column));
            }
            self.inertia.solve_in_place(column);
        }
        let (columns, scales) = (&self.columns, &self.scales);
        self.solver.fill(count, |k, out| {
            let column = &columns[k * n..(k + 1) * n];
            for (r, entry) in out.iter_mut().enumerate() {
                *entry = rows[r].dot(column) / (scales[r] * scales[k]);
            }
        });
    }

    /// Writes into `load` the least change, in the metric of the mass matrix, that takes back the
    /// violations in `right` of the rows that hold.
    fn least_change(&mut self) {
        let n = self.inertia.size();
        self.condense(false);
        self.right.iter_mut().zip(&self.scales).for_each(|(right, scale)| *right /= -scale);
        self.solver.solve(DEPENDENT, &mut self.right);
        zero(&mut self.load, n);
        for (k, scale) in self.scales.iter().enumerate() {
            let share = self.right[k] / scale;
            self.load.iter_mut().zip(&self.columns[k * n..(k + 1) * n]).for_each(|(sum, x)| *sum += share * x);
        }
    }

    /// The contact to which a slider belongs; none for one of a friction element.
    fn contact_of(&self, slider: &Slider) -> Option<&Contact> {
        slider.site.checked_sub(self.elements.len()).map(|i| &self.contacts[i])
    }

    fn tangents(&self, site: usize) -> &Tangents {
        match site.checked_sub(self.elements.len()) {
            Some(i) => &self.contacts[i].tangents,
            None => &self.elements[site].tangents,
        }
    }

    /// $\dot T v$ of a site.
    pub fn tangent_rates(&self, site: usize) -> [f64; 3] {
        match site.checked_sub(self.elements.len()) {
            Some(i) => self.rates.tangents[i],
            None => self.rates.friction[site],
        }
    }

    /// Sliding velocity of a site.
    pub fn slip_at(&self, site: usize, v: &[f64]) -> [f64; 3] {
        match site.checked_sub(self.elements.len()) {
            Some(i) => self.contacts[i].slip(v),
            None => self.elements[site].slip(v),
        }
    }

    /// Normal force of a contact of the modes.
    pub fn normal_force(&self, contact: usize) -> f64 {
        self.forces.sites[self.elements.len() + contact].0
    }

    /// Acceleration $n \dot v + \dot n v$ of the gap of a contact of the modes.
    pub fn gap_acceleration(&self, contact: usize) -> f64 {
        self.contacts[contact].normal.dot(&self.acceleration) + self.rates.normals[contact]
    }

    /// Sliding velocity of a part, each component times its semi-axis.
    pub fn slip(&self, slider: &Slider, v: &[f64]) -> [f64; 3] {
        slider.times_axes(&self.slip_at(slider.site, v))
    }

    /// Its rate $e (T \dot v + \dot T v)$.
    pub fn slip_acceleration(&self, slider: &Slider) -> [f64; 3] {
        let (rows, rates) = (self.tangents(slider.site), self.tangent_rates(slider.site));
        let mut rate = [0.0; 3];
        for a in slider.tangents.clone() {
            rate[a] = slider.axes[a] * (rows[a].dot(&self.acceleration) + rates[a]);
        }
        rate
    }

    /// Friction of a part, each component over its semi-axis.
    pub fn friction(&self, slider: &Slider) -> [f64; 3] {
        slider.over_axes(&self.forces.sites[slider.site].1)
    }

    /// How much of the bound of a part is left: $\mu \lambda_n - \lVert c / e \rVert$ for a
    /// contact.
    pub fn margin(&self, slider: &Slider) -> f64 {
        let bound = match self.contact_of(slider) {
            Some(contact) => contact.mu() * self.forces.sites[slider.site].0,
            None => self.elements[slider.site].limit(),
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
}

fn row_of<'a>(held: Held, joints: &'a [Joint], contacts: &'a [Contact], elements: &'a [FrictionElement]) -> &'a Row {
    match held {
        Held::Joint(i) => &joints[i].row,
        Held::Normal(i) => &contacts[i].normal,
        Held::Tangent(site, a) => match site.checked_sub(elements.len()) {
            Some(i) => &contacts[i].tangents[a],
            None => &elements[site].tangents[a],
        },
    }
}

/// The error of a state at which something does not exist that the modes list.
fn lost(t: f64, name: &str, what: &str) -> StepError {
    let reason = format!("{name}, which {what}, does not exist any more");
    StepError::Instant { t, reason, remedy: "choose a time-stepping scheme, such as `stewart-trinkle`" }
}

//! The modes of the phase that follows an instant: those that obey all laws.

use super::events::Trigger;
use super::modes::{ContactMode, Element, Forces, Modes, Sliding, dot, norm};
use super::motion::{Fault, largest};
use super::{EventDriven, Excluded};
use crate::{
    Contact, ContactCondition, FrictionCondition, FrictionElement, JointCondition, MechanicalSystem, State, StepError,
};

/// Forces and accelerations that violate a law by less than this share of the largest obey it.
const OBEYED: f64 = 1e-9;

/// Solutions of the solver are read with this tolerance; the equations of the phase then decide.
const READ: f64 = 1e-6;

/// How much faster than all accelerations the sliding of a contact counts where the solver proposes modes, so that its direction stays what it is.
const SLIDING_BIAS: f64 = 1e5;

/// A new direction of sliding must agree with its acceleration up to this angle.
const SAME_DIRECTION: f64 = 1e-5;

/// Sets of modes that are tried one after another, at most.
const TRIAL_LIMIT: usize = 4096;

impl EventDriven {
    /// Unit vector of the sliding velocity times semi-axes, where a contact slides.
    pub(super) fn slips(&self, contact: &Contact, v: &[f64]) -> Option<[f64; 3]> {
        let stopped = self.triggers.contains(&Trigger::Stops(Element::Contact(contact.id)));
        (contact.friction.mu() > 0.0 && !stopped).then(|| self.unit(contact.slip(v), contact.friction.axes())).flatten()
    }

    fn element_slips(&self, element: &FrictionElement, v: &[f64]) -> Option<[f64; 3]> {
        let stopped = self.triggers.contains(&Trigger::Stops(Element::Friction(element.id)));
        (!stopped).then(|| self.unit(element.slip(v), [1.0; 3])).flatten()
    }

    fn unit(&self, slip: [f64; 3], axes: [f64; 3]) -> Option<[f64; 3]> {
        let weighted: [f64; 3] = std::array::from_fn(|a| axes[a] * slip[a]);
        let speed = norm(&weighted);
        (speed > self.settings.still_speed).then(|| weighted.map(|part| part / speed))
    }

    /// Chooses modes that obey all laws. False when there are none.
    pub(super) fn decide(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        resting: &[Contact],
    ) -> Result<bool, Fault> {
        let mut elements = Vec::new();
        system.friction_elements(state.t, &state.q, &mut elements);
        // What the old modes and the events suggest.
        let suggested = self.suggest(system, state, resting, &elements)?;
        if self.accept(system, state, suggested)? {
            return Ok(true);
        }
        // What the solver of contact problems proposes: first with all that touch closed, then only those that carry a force.
        let Some((all, loaded)) = self.propose(system, state, resting, &elements)? else {
            return self.try_all(system, state, resting, &elements, None);
        };
        if self.accept(system, state, all.clone())? || self.accept(system, state, loaded)? {
            return Ok(true);
        }
        self.try_all(system, state, resting, &elements, Some(&all))
    }

    /// The old modes, changed by the events of the instant.
    fn suggest(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        resting: &[Contact],
        elements: &[FrictionElement],
    ) -> Result<Modes, Fault> {
        let v = &state.v;
        let needs_forces = self.triggers.iter().any(|trigger| matches!(trigger, Trigger::Slips(_)));
        if needs_forces {
            self.motion.evaluate(system, &self.modes, state.t, &state.q, v)?;
        }
        let mut modes = Modes::default();
        for contact in resting {
            let old = self.modes.contact(contact.id).copied();
            let sliding = match (self.slips(contact, v), old.map(|old| old.sliding)) {
                _ if contact.friction.mu() == 0.0 => Sliding::Free,
                (Some(direction), _) => Sliding::Slip(direction),
                // It has just begun.
                (None, Some(Sliding::Slip(reference)))
                    if !self.triggers.contains(&Trigger::Stops(Element::Contact(contact.id))) =>
                {
                    Sliding::Slip(reference)
                }
                _ => Sliding::Stick,
            };
            let is_closed = !self.triggers.contains(&Trigger::Opens(contact.id));
            modes.contacts.push(ContactMode { id: contact.id, is_closed, gap: self.kept_gap(contact), sliding });
        }
        for element in elements {
            let old = self.modes.sliding(Element::Friction(element.id));
            let sliding = match (self.element_slips(element, v), old) {
                _ if element.bound == 0.0 => Sliding::Free,
                (Some(direction), _) => Sliding::Slip(direction),
                (None, Some(Sliding::Slip(reference)))
                    if !self.triggers.contains(&Trigger::Stops(Element::Friction(element.id))) =>
                {
                    Sliding::Slip(reference)
                }
                _ => Sliding::Stick,
            };
            modes.elements.push((element.id, sliding));
        }
        for trigger in &self.triggers {
            let Trigger::Slips(element) = *trigger else { continue };
            // Against the friction that held it.
            let force = match element {
                Element::Contact(id) => {
                    let place = self.modes.contacts.iter().position(|mode| mode.id == id);
                    place.map(|i| {
                        let axes = self.motion.contacts[i].friction.axes();
                        let force = self.motion.contact_forces[i].1;
                        std::array::from_fn(|a| if axes[a] > 0.0 { force[a] / axes[a] } else { 0.0 })
                    })
                }
                Element::Friction(id) => {
                    let place = self.modes.elements.iter().position(|(other, _)| *other == id);
                    place.map(|i| self.motion.element_forces[i])
                }
            };
            if let Some(force) = force
                && norm(&force) > 0.0
            {
                modes.set_sliding(element, Sliding::Slip(force.map(|part| -part / norm(&force))));
            }
        }
        Ok(modes)
    }

    /// The gap that a contact keeps when it is closed: none, but for a penetration that was there before.
    fn kept_gap(&self, contact: &Contact) -> f64 {
        match self.modes.contact(contact.id) {
            Some(old) => old.gap,
            None if contact.gap < -self.settings.gap_tolerance => contact.gap,
            None => 0.0,
        }
    }

    /// Takes over modes that obey all laws.
    fn accept(&mut self, system: &dyn MechanicalSystem, state: &State, mut modes: Modes) -> Result<bool, Fault> {
        if !self.excluded.iter().all(|excluded| allows(&modes, *excluded)) {
            return Ok(false);
        }
        let rank = self.motion.evaluate(system, &modes, state.t, &state.q, &state.v)?;
        let motion = &self.motion;
        let (force, acceleration) =
            (OBEYED * motion.force_scale, OBEYED * motion.acceleration_scale.max(largest(&motion.acceleration)));
        let is_finite = motion.acceleration.iter().all(|a| a.is_finite());
        let begins = |slip: [f64; 3], axes: [f64; 3], velocity: [f64; 3], direction: [f64; 3]| {
            // What slides already does so as it did; what begins to must accelerate that way.
            if self.unit(velocity, axes).is_some() {
                return true;
            }
            let weighted: [f64; 3] = std::array::from_fn(|a| axes[a] * slip[a]);
            let along = dot(&weighted, &direction);
            let across: [f64; 3] = std::array::from_fn(|a| weighted[a] - along * direction[a]);
            along >= -acceleration && norm(&across) <= SAME_DIRECTION * along + acceleration
        };
        let obeys_contact = |(i, mode): (usize, &ContactMode)| {
            if !mode.is_closed {
                return motion.gap_acceleration(i) >= -acceleration;
            }
            let contact = &motion.contacts[i];
            motion.contact_forces[i].0 >= -force
                && match mode.sliding {
                    Sliding::Free => true,
                    Sliding::Stick => motion.margin(i) >= -force,
                    Sliding::Slip(direction) | Sliding::Begin(direction) => {
                        begins(motion.slip_acceleration(i), contact.friction.axes(), contact.slip(&state.v), direction)
                    }
                }
        };
        let obeys_element = |(i, (_, sliding)): (usize, &(u32, Sliding))| match *sliding {
            Sliding::Free => true,
            Sliding::Stick => motion.element_margin(i) >= -force,
            Sliding::Slip(direction) | Sliding::Begin(direction) => {
                let velocity = motion.elements[i].slip(&state.v);
                begins(motion.element_acceleration(i), [1.0; 3], velocity, direction)
            }
        };
        if !is_finite
            || !modes.contacts.iter().enumerate().all(obeys_contact)
            || !modes.elements.iter().enumerate().all(obeys_element)
            || !self.holds(&modes, acceleration)
        {
            return Ok(false);
        }
        // What is not closed leaves the modes, and its gap is looked at once it is one.
        self.touching.clear();
        self.touching.extend(modes.contacts.iter().filter(|mode| !mode.is_closed).map(|mode| (mode.id, mode.gap)));
        let Modes { contacts, forces, .. } = &mut modes;
        let mut is_closed = contacts.iter().map(|mode| mode.is_closed);
        forces.contacts.retain(|_| is_closed.next().unwrap_or(false));
        contacts.retain(|mode| mode.is_closed);
        modes.rank = Some(rank);
        self.modes = modes;
        Ok(true)
    }

    /// Whether rows that depend on each other do not contradict each other.
    fn holds(&self, modes: &Modes, acceleration: f64) -> bool {
        let motion = &self.motion;
        let joints = motion.joints.iter().zip(&motion.rates.joints);
        let tolerance = acceleration.max(OBEYED * largest(&motion.acceleration)) * 1e2;
        joints.map(|(joint, rate)| joint.row.dot(&motion.acceleration) + rate).all(|a| a.abs() <= tolerance)
            && modes.contacts.iter().enumerate().all(|(i, mode)| {
                !mode.is_closed
                    || (motion.gap_acceleration(i).abs() <= tolerance
                        && (mode.sliding != Sliding::Stick || largest(&motion.slip_acceleration(i)) <= tolerance))
            })
    }

    /// Modes from the contact problem on accelerations: with all contacts closed that do not part, and with those closed that carry a force. None when the
    /// problem is not solved.
    fn propose(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        resting: &[Contact],
        elements: &[FrictionElement],
    ) -> Result<Option<(Modes, Modes)>, Fault> {
        let v = &state.v;
        // Rows and rates of everything, with nothing closed.
        let mut modes = Modes::default();
        for contact in resting {
            let gap = self.kept_gap(contact);
            modes.contacts.push(ContactMode { id: contact.id, is_closed: false, gap, sliding: Sliding::Free });
        }
        modes.elements.extend(elements.iter().map(|element| (element.id, Sliding::Free)));
        self.motion.evaluate(system, &modes, state.t, &state.q, v)?;
        let motion = &self.motion;
        let scale = motion.acceleration_scale.max(largest(&motion.rates.normals)).max(f64::MIN_POSITIVE);
        let problem = &mut self.problem;
        problem.inertia.clone_from(&motion.inertia);
        problem.free_motion.clone_from(&motion.force);
        problem.inertia.solve_in_place(&mut problem.free_motion);
        problem.joints.clear();
        let joints = motion.joints.iter().zip(&motion.rates.joints);
        problem.joints.extend(joints.map(|(joint, &bias)| JointCondition { row: joint.row.clone(), bias }));
        // What slides: its velocity stands for its acceleration, enlarged so that no acceleration turns it.
        let bias = |slip: [f64; 3], rate: [f64; 3], slides: bool| -> [f64; 3] {
            let factor = if slides { SLIDING_BIAS * scale / norm(&slip) } else { 0.0 };
            std::array::from_fn(|a| rate[a] + factor * slip[a])
        };
        let slides: Vec<Option<[f64; 3]>> = resting.iter().map(|contact| self.slips(contact, v)).collect();
        let element_slides: Vec<Option<[f64; 3]>> =
            elements.iter().map(|element| self.element_slips(element, v)).collect();
        let problem = &mut self.problem;
        problem.contacts.clear();
        for (i, contact) in motion.contacts.iter().enumerate() {
            problem.contacts.push(ContactCondition {
                normal_bias: motion.rates.normals[i],
                tangent_bias: bias(contact.slip(v), motion.rates.tangents[i], slides[i].is_some()),
                ..ContactCondition::of(contact)
            });
        }
        problem.friction.clear();
        for (i, element) in motion.elements.iter().enumerate() {
            problem.friction.push(FrictionCondition {
                tangent_bias: bias(element.slip(v), motion.rates.friction[i], element_slides[i].is_some()),
                // Forces and not impulses.
                ..FrictionCondition::of(element, 1.0)
            });
        }
        let solved = self.solver.solve(&self.problem, &mut self.solution);
        solved.map_err(|source| StepError::Malformed { t: state.t, source })?;
        if !self.solution.report.is_solved() {
            return Ok(None);
        }

        // Read the modes.
        let (u, solution) = (&self.solution.motion, &self.solution);
        let largest_force = solution.contacts.iter().fold(largest(&motion.force), |most, force| most.max(force.normal));
        let still = READ * scale.max(largest(u));
        let sliding_of = |slides: Option<[f64; 3]>, axes: [f64; 3], slip: [f64; 3], force: [f64; 3]| match slides {
            Some(direction) => Sliding::Slip(direction),
            None if norm(&slip) <= still => Sliding::Stick,
            None => {
                // Against friction, whose direction the solver knows better than that of a slow sliding.
                let against: [f64; 3] = std::array::from_fn(|a| if axes[a] > 0.0 { -force[a] / axes[a] } else { 0.0 });
                let length = norm(&against);
                let weighted: [f64; 3] = std::array::from_fn(|a| axes[a] * slip[a]);
                let chosen = if length > 0.0 {
                    against.map(|part| part / length)
                } else {
                    weighted.map(|part| part / norm(&weighted))
                };
                Sliding::Slip(chosen)
            }
        };
        let mut loaded = modes.clone();
        for (i, contact) in motion.contacts.iter().enumerate() {
            let condition = &self.problem.contacts[i];
            let force = &solution.contacts[i];
            let sliding = match contact.friction.mu() {
                0.0 => Sliding::Free,
                _ => sliding_of(slides[i], contact.friction.axes(), condition.slip(u), force.tangent),
            };
            let carries = force.normal > READ * largest_force;
            let touches = condition.normal_rate(u) <= still;
            (modes.contacts[i].sliding, modes.contacts[i].is_closed) = (sliding, carries || touches);
            (loaded.contacts[i].sliding, loaded.contacts[i].is_closed) = (sliding, carries);
        }
        for (i, element) in motion.elements.iter().enumerate() {
            let slip = self.problem.friction[i].slip(u);
            let sliding = match element.bound {
                0.0 => Sliding::Free,
                _ => sliding_of(element_slides[i], [1.0; 3], slip, solution.friction[i]),
            };
            (modes.elements[i].1, loaded.elements[i].1) = (sliding, sliding);
        }
        modes.forces = Forces {
            joints: solution.joints.clone(),
            contacts: solution.contacts.iter().map(|force| (force.normal, force.tangent)).collect(),
            elements: solution.friction.to_vec(),
        };
        loaded.forces.clone_from(&modes.forces);
        Ok(Some((modes, loaded)))
    }

    /// Tries one set of modes after another: open or closed, sticking, sliding either way in the plane and as proposed in space.
    fn try_all(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        resting: &[Contact],
        elements: &[FrictionElement],
        proposed: Option<&Modes>,
    ) -> Result<bool, Fault> {
        let v = &state.v;
        let choices_of = |slides: Option<[f64; 3]>,
                          tangent_count: usize,
                          has_friction: bool,
                          proposed: Option<Sliding>| match (slides, has_friction) {
            (_, false) => vec![Sliding::Free],
            (Some(direction), _) => vec![Sliding::Slip(direction)],
            (None, _) => {
                let mut choices = vec![Sliding::Stick];
                if tangent_count == 1 {
                    choices.extend([1.0, -1.0].map(|sign| Sliding::Slip([sign, 0.0, 0.0])));
                }
                choices.extend(proposed.filter(|sliding| matches!(sliding, Sliding::Slip(_)) && tangent_count > 1));
                choices
            }
        };
        let mut choices: Vec<Vec<Option<Sliding>>> = Vec::new();
        for contact in resting {
            let other = proposed.and_then(|modes| modes.sliding(Element::Contact(contact.id)));
            let slides = self.slips(contact, v);
            let own = choices_of(slides, contact.tangents.len(), contact.friction.mu() > 0.0, other);
            choices.push(own.into_iter().map(Some).chain([None]).collect());
        }
        for element in elements {
            let other = proposed.and_then(|modes| modes.sliding(Element::Friction(element.id)));
            let slides = self.element_slips(element, v);
            let own = choices_of(slides, element.tangents.len(), element.bound > 0.0, other);
            choices.push(own.into_iter().map(Some).collect());
        }
        let count = choices.iter().map(Vec::len).try_fold(1usize, usize::checked_mul).unwrap_or(usize::MAX);
        if count > TRIAL_LIMIT {
            return Ok(false);
        }
        for mut number in 0..count {
            let mut chosen = choices.iter().map(|own| {
                let choice = own[number % own.len()];
                number /= own.len();
                choice
            });
            let mut modes = Modes::default();
            for contact in resting {
                let choice = chosen.next().flatten();
                modes.contacts.push(ContactMode {
                    id: contact.id,
                    is_closed: choice.is_some(),
                    gap: self.kept_gap(contact),
                    sliding: choice.unwrap_or(Sliding::Free),
                });
            }
            let sliding =
                elements.iter().zip(chosen).map(|(element, choice)| (element.id, choice.unwrap_or(Sliding::Free)));
            modes.elements.extend(sliding);
            if self.accept(system, state, modes)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether modes do not contain one that did not last.
fn allows(modes: &Modes, excluded: Excluded) -> bool {
    let is_closed = |id| modes.contact(id).map(|mode| mode.is_closed);
    match excluded {
        Excluded::Closed(id) => is_closed(id) != Some(true),
        Excluded::Open(id) => is_closed(id) != Some(false),
        Excluded::Stick(element) => modes.sliding(element) != Some(Sliding::Stick),
        Excluded::Slip(element) => !matches!(modes.sliding(element), Some(Sliding::Slip(_))),
    }
}

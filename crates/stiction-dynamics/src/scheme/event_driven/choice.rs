//! The modes of the phase that follows an instant: those that obey all laws.

use super::events::Trigger;
use super::modes::{ContactMode, Forces, Modes, Part, Sliding, dot, norm};
use super::motion::{Fault, Slider, largest};
use super::{EventDriven, Excluded};
use crate::scheme::refuse_one_way_elements;
use crate::{
    Contact, ContactCondition, ContactError, ContactId, FrictionCondition, FrictionElement, FrictionShape,
    JointCondition, MechanicalSystem, State, StepError,
};

/// Forces and accelerations that violate a law by less than this share of the largest obey it.
const OBEYED: f64 = 1e-9;

/// Solutions of the solver are read with this tolerance; the equations of the phase then decide.
const READ: f64 = 1e-6;

/// How much faster than all accelerations the sliding of a contact counts where the solver proposes modes, so that its direction stays what it is.
const SLIDING_BIAS: f64 = 1e5;

/// A new direction of sliding must agree with its acceleration up to this angle.
const SAME_DIRECTION: f64 = 1e-5;

/// Forces that are not unique keep this share of the largest force away from their bounds, if they can, and so often they are moved there. Too large: none are
/// found where contacts carry little. Too small: they soon leave.
const INSIDE: f64 = 1e-3;
const SHARINGS: usize = 200;

/// Sets of modes that are tried one after another, at most.
const TRIAL_LIMIT: usize = 4096;

/// How a choice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The modes stand.
    Made,
    /// Nothing obeys the laws, and something slides: the paradox of Painlevé.
    Paradox,
    /// Nothing obeys the laws.
    Impossible,
}

/// What is to be decided.
struct Instant {
    /// Everything closed, and everything sticking that has friction.
    modes: Modes,
    sliders: Vec<Slider>,
    /// Unit vectors of what slides already, times semi-axes.
    slides: Vec<Option<[f64; 3]>>,
}

impl EventDriven {
    /// Chooses modes that obey all laws.
    pub(super) fn choose(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        resting: &[Contact],
    ) -> Result<Choice, Fault> {
        let begins = self.begin_directions(system, state)?;
        let instant = self.look_at(system, state, resting)?;
        // What the old modes and the events suggest.
        let suggested = self.suggest(&instant, &begins);
        if self.accept_shared(system, state, suggested)? {
            return Ok(Choice::Made);
        }
        // What the solver of contact problems proposes: first with all that touch closed, then only those that carry a force.
        let proposed = self.propose(system, state, &instant)?;
        if let Some((all, loaded)) = &proposed
            && (self.accept_shared(system, state, all.clone())?
                || self.accept(system, state, all.clone())?
                || self.accept(system, state, loaded.clone())?)
        {
            return Ok(Choice::Made);
        }
        if self.try_all(system, state, &instant, proposed.as_ref().map(|(all, _)| all))? {
            return Ok(Choice::Made);
        }
        let sliders = instant.sliders.iter().zip(&instant.slides);
        let slides = sliders.filter(|(slider, _)| slider.part.contact().is_some()).any(|(_, slides)| slides.is_some());
        Ok(if slides { Choice::Paradox } else { Choice::Impossible })
    }

    /// Where what slips now does so: against the friction that held it.
    fn begin_directions(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
    ) -> Result<Vec<(Part, [f64; 3])>, Fault> {
        let mut begins = Vec::new();
        if self.triggers.iter().any(|trigger| matches!(trigger, Trigger::Slips(_))) {
            self.motion.evaluate(system, &self.modes, state.t, &state.q, &state.v)?;
            for slider in self.motion.sliders.iter().filter(|own| self.triggers.contains(&Trigger::Slips(own.part))) {
                let friction = self.motion.friction(slider);
                let length = norm(&friction);
                if length > 0.0 {
                    begins.push((slider.part, friction.map(|part| -part / length)));
                }
            }
        }
        Ok(begins)
    }

    fn look_at(&mut self, system: &dyn MechanicalSystem, state: &State, resting: &[Contact]) -> Result<Instant, Fault> {
        let mut modes = Modes::default();
        for contact in resting {
            modes.contacts.push(ContactMode { id: contact.id, is_closed: true, gap: self.kept_gap(contact) });
            modes.sliding.extend(Part::of_contact(contact).map(|(part, _)| (part, Sliding::Stick)));
        }
        let mut elements = Vec::new();
        system.friction_elements(state.t, &state.q, &mut elements);
        refuse_one_way_elements(state.t, "event-driven", &[], &elements).map_err(Fault::Step)?;
        let is_held = |element: &&FrictionElement| element.bound > 0.0 && element.shape != FrictionShape::Ball;
        if let Some(element) = elements.iter().find(is_held) {
            let (what, remedy) = (format!("friction element {}", element.id), "choose a time-stepping scheme");
            let source = ContactError::NotFollowed { what, remedy };
            return Err(Fault::Step(StepError::Malformed { t: state.t, source }));
        }
        let parts = elements.iter().filter_map(Part::of_element);
        modes.sliding.extend(parts.map(|(part, _)| (part, Sliding::Stick)));
        self.motion.look(system, &modes, state.t, &state.q)?;
        let slides = |slider: &Slider| {
            let stopped = self.triggers.contains(&Trigger::Stops(slider.part));
            if stopped { None } else { self.unit(&self.motion.slip(slider, &state.v)) }
        };
        let slides = self.motion.sliders.iter().map(slides).collect();
        Ok(Instant { modes, sliders: self.motion.sliders.clone(), slides })
    }

    /// The direction of a sliding velocity, where it is one.
    fn unit(&self, slip: &[f64; 3]) -> Option<[f64; 3]> {
        let speed = norm(slip);
        (speed > self.settings.still_speed).then(|| slip.map(|part| part / speed))
    }

    /// The old modes, changed by the events of the instant.
    fn suggest(&self, instant: &Instant, begins: &[(Part, [f64; 3])]) -> Modes {
        let mut modes = instant.modes.clone();
        for mode in &mut modes.contacts {
            mode.is_closed = !self.triggers.contains(&Trigger::Opens(mode.id));
        }
        for ((part, sliding), slides) in modes.sliding.iter_mut().zip(&instant.slides) {
            let begins = begins.iter().find(|(other, _)| other == part);
            *sliding = match (begins, slides, self.modes.sliding(*part)) {
                (Some((_, direction)), ..) | (None, Some(direction), _) => Sliding::Slip(*direction),
                // It has just begun.
                (None, None, Some(Sliding::Slip(reference))) if !self.triggers.contains(&Trigger::Stops(*part)) => {
                    Sliding::Slip(reference)
                }
                _ => Sliding::Stick,
            };
        }
        modes
    }

    /// The gap that a contact keeps when it is closed: the one with which it closed, which is rounding or a penetration of the start.
    fn kept_gap(&self, contact: &Contact) -> f64 {
        self.modes.contact(contact.id).map_or(contact.gap, |old| old.gap)
    }

    /// Takes over modes, where forces are not unique with such as are inside all bounds: those of the solver may stand at one, and leave it at once.
    fn accept_shared(&mut self, system: &dyn MechanicalSystem, state: &State, mut modes: Modes) -> Result<bool, Fault> {
        modes.forces = Forces::default();
        let rank = self.motion.evaluate(system, &modes, state.t, &state.q, &state.v)?;
        if rank < self.motion.held_count() {
            // Alternate between the bounds, narrowed, and the equations, of which the nearest solution is taken.
            for _ in 0..SHARINGS {
                let Some(inside) = self.motion.forces_inside(&modes, INSIDE) else { break };
                modes.forces = inside;
                self.motion.evaluate(system, &modes, state.t, &state.q, &state.v)?;
            }
        }
        self.accept(system, state, modes)
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
        let obeys_contact = |(i, mode): (usize, &ContactMode)| match mode.is_closed {
            true => motion.contact_forces[i].0 >= -force,
            false => motion.gap_acceleration(i) >= -acceleration,
        };
        let obeys_friction = |(slider, (part, sliding)): (&Slider, &(Part, Sliding))| match *sliding {
            _ if !modes.is_loaded(*part) => true,
            Sliding::Stick => motion.margin(slider) >= -force,
            // What slides already does so as it did; what begins to must accelerate that way.
            _ if self.unit(&motion.slip(slider, &state.v)).is_some() => true,
            Sliding::Slip(direction) | Sliding::Begin(direction) => {
                let rate = motion.slip_acceleration(slider);
                let along = dot(&rate, &direction);
                let across: [f64; 3] = std::array::from_fn(|a| rate[a] - along * direction[a]);
                along >= -acceleration && norm(&across) <= SAME_DIRECTION * along + acceleration
            }
        };
        if !is_finite
            || !modes.contacts.iter().enumerate().all(obeys_contact)
            || !motion.sliders.iter().zip(&modes.sliding).all(obeys_friction)
            || !self.holds(&modes, acceleration)
        {
            return Ok(false);
        }
        // What is not closed leaves the modes, and its gap is looked at once it is one.
        self.touching.clear();
        self.touching.extend(modes.contacts.iter().filter(|mode| !mode.is_closed).map(|mode| (mode.id, mode.gap)));
        modes.retain_contacts(|mode| mode.is_closed);
        modes.rank = Some(rank);
        self.modes = modes;
        Ok(true)
    }

    /// Whether rows that depend on each other do not contradict each other.
    fn holds(&self, modes: &Modes, acceleration: f64) -> bool {
        let motion = &self.motion;
        let tolerance = acceleration.max(OBEYED * largest(&motion.acceleration)) * 1e2;
        let joints = motion.joints.iter().zip(&motion.rates.joints);
        let mut joints = joints.map(|(joint, rate)| joint.row.dot(&motion.acceleration) + rate);
        let mut closed = modes.contacts.iter().enumerate().filter(|(_, mode)| mode.is_closed);
        let mut sticking = motion.sliders.iter().zip(&modes.sliding).filter(|(_, (part, sliding))| {
            *sliding == Sliding::Stick && part.contact().is_some() && modes.is_loaded(*part)
        });
        joints.all(|a| a.abs() <= tolerance)
            && closed.all(|(i, _)| motion.gap_acceleration(i).abs() <= tolerance)
            && sticking.all(|(slider, _)| largest(&motion.slip_acceleration(slider)) <= tolerance)
    }

    /// Modes from the contact problem on accelerations: with all contacts closed that do not part, and with those closed that carry a force. None when the
    /// problem is not solved.
    fn propose(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        instant: &Instant,
    ) -> Result<Option<(Modes, Modes)>, Fault> {
        let v = &state.v;
        // Rows and rates of everything, with nothing closed and nothing held.
        let mut open = Modes { contacts: instant.modes.contacts.clone(), ..Modes::default() };
        open.contacts.iter_mut().for_each(|mode| mode.is_closed = false);
        self.motion.evaluate(system, &open, state.t, &state.q, v)?;
        let motion = &self.motion;
        let scale = motion.acceleration_scale.max(largest(&motion.rates.normals)).max(f64::MIN_POSITIVE);

        // What slides: its velocity stands for its acceleration, enlarged so that no acceleration turns it.
        let (mut contact_biases, mut element_biases) = (motion.rates.tangents.to_vec(), motion.rates.friction.to_vec());
        let contact_slips: Vec<[f64; 3]> = motion.contacts.iter().map(|contact| contact.slip(v)).collect();
        let element_slips: Vec<[f64; 3]> = motion.elements.iter().map(|element| element.slip(v)).collect();
        for (slider, slides) in instant.sliders.iter().zip(&instant.slides) {
            if slides.is_some() {
                let slip = slider.pick(&contact_slips, &element_slips);
                let speed = slider.tangents.clone().map(|a| slip[a] * slip[a]).sum::<f64>().sqrt();
                let bias = slider.pick_mut(&mut contact_biases, &mut element_biases);
                slider.tangents.clone().for_each(|a| bias[a] += SLIDING_BIAS * scale / speed * slip[a]);
            }
        }
        let problem = &mut self.problem;
        problem.inertia.clone_from(&motion.inertia);
        problem.free_motion.clone_from(&motion.force);
        problem.inertia.solve_in_place(&mut problem.free_motion);
        problem.joints.clear();
        let joints = motion.joints.iter().zip(&motion.rates.joints);
        problem.joints.extend(joints.map(|(joint, &bias)| JointCondition {
            row: joint.row.clone(),
            bias,
            rounding: 0.0,
        }));
        problem.contacts.clear();
        let contacts = motion.contacts.iter().zip(&motion.rates.normals).zip(contact_biases);
        // What rests is proposed to go on so, with the static coefficient where there are two.
        let slides = |is_own: &dyn Fn(Part) -> bool| {
            let mut sliders = instant.sliders.iter().zip(&instant.slides);
            sliders.any(|(slider, slides)| is_own(slider.part) && slides.is_some())
        };
        let contact_sticks = |id: ContactId| !slides(&|part| part.contact() == Some(id));
        let element_sticks = |id: u32| !slides(&|part| part == Part::Element(id));
        problem.contacts.extend(contacts.map(|((contact, &normal_bias), tangent_bias)| ContactCondition {
            normal_bias,
            tangent_bias,
            ..ContactCondition::of(&Contact { sticks: contact_sticks(contact.id), ..contact.clone() })
        }));
        problem.friction.clear();
        // Forces and not impulses.
        let elements = motion.elements.iter().zip(element_biases);
        problem.friction.extend(elements.map(|(element, tangent_bias)| FrictionCondition {
            tangent_bias,
            ..FrictionCondition::of(&FrictionElement { sticks: element_sticks(element.id), ..element.clone() }, 1.0)
        }));
        let solved = self.solver.solve(&self.problem, &mut self.solution);
        solved.map_err(|source| StepError::Malformed { t: state.t, source })?;
        if !self.solution.report.is_solved() {
            return Ok(None);
        }

        // Read the modes.
        let (u, solution) = (&self.solution.motion, &self.solution);
        let largest_force = solution.contacts.iter().fold(largest(&motion.force), |most, force| most.max(force.normal));
        let still = READ * scale.max(largest(u));
        let mut modes = instant.modes.clone();
        modes.forces = Forces {
            joints: solution.joints.clone(),
            contacts: solution.contacts.iter().map(|force| (force.normal, force.tangent)).collect(),
            elements: solution.friction.to_vec(),
        };
        let contact_slips: Vec<[f64; 3]> = self.problem.contacts.iter().map(|contact| contact.slip(u)).collect();
        let element_slips: Vec<[f64; 3]> = self.problem.friction.iter().map(|element| element.slip(u)).collect();
        let contact_forces: Vec<[f64; 3]> = solution.contacts.iter().map(|force| force.tangent).collect();
        let places = instant.sliders.iter().zip(&instant.slides).zip(&mut modes.sliding);
        for ((slider, slides), (_, sliding)) in places {
            let slip = slider.times_axes(slider.pick(&contact_slips, &element_slips));
            let speed = slider.tangents.clone().fold(0.0f64, |most, a| most.max(slip[a].abs() / slider.axes[a]));
            // Against friction, whose direction the solver knows better than that of a slow sliding.
            let force = slider.over_axes(slider.pick(&contact_forces, &modes.forces.elements));
            let (against, length) = match norm(&force) {
                0.0 => (slip, norm(&slip)),
                length => (force.map(|part| -part), length),
            };
            *sliding = match slides {
                Some(direction) => Sliding::Slip(*direction),
                None if speed <= still => Sliding::Stick,
                None => Sliding::Slip(against.map(|part| part / length)),
            };
        }
        let mut loaded = modes.clone();
        for (i, force) in solution.contacts.iter().enumerate() {
            let carries = force.normal > READ * largest_force;
            let touches = self.problem.contacts[i].normal_rate(u) <= still;
            (modes.contacts[i].is_closed, loaded.contacts[i].is_closed) = (carries || touches, carries);
        }
        Ok(Some((modes, loaded)))
    }

    /// Tries one set of modes after another: open or closed, sticking, sliding either way in the plane and as proposed in space.
    fn try_all(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        instant: &Instant,
        proposed: Option<&Modes>,
    ) -> Result<bool, Fault> {
        let choices_of = |place: usize| match instant.slides[place] {
            Some(direction) => vec![Sliding::Slip(direction)],
            None => {
                let Slider { tangents, .. } = &instant.sliders[place];
                let mut choices = vec![Sliding::Stick];
                if tangents.len() == 1 {
                    let unit = |sign: f64| std::array::from_fn(|a| if tangents.contains(&a) { sign } else { 0.0 });
                    choices.extend([1.0, -1.0].map(|sign| Sliding::Slip(unit(sign))));
                } else {
                    let other = proposed.map(|modes| modes.sliding[place].1);
                    choices.extend(other.filter(|sliding| matches!(sliding, Sliding::Slip(_))));
                }
                choices
            }
        };
        // The number of a trial has these digits: of each contact how its parts slide, and whether it is open; then of the friction elements.
        let parts = || instant.sliders.iter().enumerate().map(|(place, slider)| (place, slider.part.contact()));
        let mut digits = Vec::new();
        for (i, mode) in instant.modes.contacts.iter().enumerate() {
            let own = parts().filter(|(_, contact)| *contact == Some(mode.id));
            digits.extend(own.map(|(place, _)| Digit::Sliding(place, choices_of(place))));
            digits.push(Digit::Open(i));
        }
        let elements = parts().filter(|(_, contact)| contact.is_none());
        digits.extend(elements.map(|(place, _)| Digit::Sliding(place, choices_of(place))));
        let count = digits.iter().map(Digit::count).try_fold(1usize, usize::checked_mul).unwrap_or(usize::MAX);
        if count > TRIAL_LIMIT {
            return Ok(false);
        }
        for mut number in 0..count {
            let mut modes = instant.modes.clone();
            for digit in &digits {
                let chosen = number % digit.count();
                number /= digit.count();
                match digit {
                    Digit::Sliding(place, choices) => modes.sliding[*place].1 = choices[chosen],
                    Digit::Open(i) => modes.contacts[*i].is_closed = chosen == 0,
                }
            }
            // How an open contact would slide does not matter.
            let is_new = |digit: &Digit| match digit {
                Digit::Sliding(place, choices) => {
                    let (part, sliding) = modes.sliding[*place];
                    modes.is_loaded(part) || sliding == choices[0]
                }
                Digit::Open(_) => true,
            };
            if digits.iter().all(is_new) && self.accept(system, state, modes)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What is varied from trial to trial.
enum Digit {
    /// How the part at this place slides.
    Sliding(usize, Vec<Sliding>),
    /// Whether the contact at this place is open.
    Open(usize),
}

impl Digit {
    fn count(&self) -> usize {
        match self {
            Self::Sliding(_, choices) => choices.len(),
            Self::Open(_) => 2,
        }
    }
}

/// Whether modes do not contain one that did not last.
fn allows(modes: &Modes, excluded: Excluded) -> bool {
    let is_closed = |id| modes.contact(id).map(|mode| mode.is_closed);
    match excluded {
        Excluded::Closed(id) => is_closed(id) != Some(true),
        Excluded::Open(id) => is_closed(id) != Some(false),
        Excluded::Stick(part) => modes.sliding(part) != Some(Sliding::Stick),
        Excluded::Slip(part) => !matches!(modes.sliding(part), Some(Sliding::Slip(_))),
    }
}

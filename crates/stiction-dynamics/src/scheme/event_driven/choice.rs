//! The choice of modes at a switch.
//!
//! Candidates are the old modes changed by the events, the modes that the contact solver proposes
//! for accelerations, and where these fail all combinations one after another. The first candidate
//! counts that obeys all laws:
//!
//! | what | obeys |
//! |---|---|
//! | closed contact | $\lambda_n \ge 0$ |
//! | open contact | $n \dot v + \dot n v \ge 0$ |
//! | sticking part | $\lVert c_t / e \rVert \le \mu \lambda_n$ |
//! | part that begins to slide | its acceleration is along its direction, against which friction acts |

use super::events::Trigger;
use super::modes::{Forces, GapMode, Modes, Part, Sliding, unit};
use super::motion::{Motion, Slider};
use super::phase::Phase;
use super::switch::Switch;
use crate::scheme::{Origin, Outcome, refuse_one_way};
use crate::vector::{dot, filled, largest, norm};
use crate::{
    Contact, ContactCondition, ContactError, ContactProblem, ContactSolution, ContactSolver, FrictionCondition,
    FrictionElement, FrictionShape, JointCondition,
};

/// Forces and accelerations that violate a law by less than this share of the largest obey it. Too
/// large: wrong modes are accepted, and end at once. Too small: rounding refuses right ones.
const OBEYED: f64 = 1e-9;

/// Rows that depend on others may be violated by so many times that much. Too large: contradictory
/// rows are accepted. Too small: redundant ones are refused by rounding.
const DEPENDENT_ROWS: f64 = 1e2;

/// Solutions of the solver are read with this tolerance; the equations of the phase then decide.
/// Wrong values cost trials.
const READ: f64 = 1e-6;

/// How much faster than all accelerations the sliding of a contact counts where the solver proposes
/// modes, so that its direction stays what it is. Too large: rounding. Too small: accelerations
/// turn the direction.
const SLIDING_BIAS: f64 = 1e5;

/// A new direction of sliding must agree with its acceleration up to this angle, in radians. Too
/// large: sliding begins with a wrong direction. Too small: the accuracy of the solver refuses
/// right ones.
const SAME_DIRECTION: f64 = 1e-5;

/// Forces that are not unique keep this share of the largest force away from their bounds, if they
/// can, and are moved there at most so often. Too large: none are found where contacts carry
/// little. Too small: forces soon leave.
const INSIDE: f64 = 1e-3;
const SHARINGS: usize = 200;

/// Combinations of modes that are tried one after another, at most.
const TRIAL_LIMIT: usize = 4096;

/// A choice of modes at a state.
pub(super) struct Choice<'a> {
    origin: Origin<'a>,
    switch: &'a Switch,
    motion: &'a mut Motion,
    /// Everything closed, and everything sticking that has friction.
    modes: Modes,
    sliders: Vec<Slider>,
    /// Unit vectors of what slides already, times semi-axes.
    slides: Vec<Option<[f64; 3]>>,
}

impl<'a> Choice<'a> {
    /// A choice for these contacts, which touch and neither part nor approach.
    pub fn new(origin: Origin<'a>, switch: &'a Switch, resting: &[Contact], motion: &'a mut Motion) -> Outcome<Self> {
        let mut modes = Modes::default();
        for contact in resting {
            // The gap with which it closed, which is rounding or a penetration of the start.
            let gap = switch.modes.contact(contact.id).map_or(contact.gap, |old| old.gap);
            modes.contacts.push(GapMode { id: contact.id, is_closed: true, gap });
            modes.sliding.extend(Part::of_contact(contact.id, contact).map(|(part, _)| (part, Sliding::Stick)));
        }
        let state = origin.state;
        let elements: Vec<FrictionElement> = filled(|out| origin.here().friction(out));
        refuse_one_way(state.t, "event-driven", &[], &elements)?;
        let is_held = |element: &&FrictionElement| element.bound > 0.0 && element.shape != FrictionShape::Ball;
        if let Some(element) = elements.iter().find(is_held) {
            let (what, remedy) = (format!("friction element {}", element.id), "choose a time-stepping scheme");
            return Err(origin.malformed(ContactError::NotFollowed { what, remedy }));
        }
        let parts = elements.iter().filter_map(Part::of_element);
        modes.sliding.extend(parts.map(|(part, _)| (part, Sliding::Stick)));
        motion.look(origin.here(), &modes)?;
        let slides = |slider: &Slider| {
            let stopped = switch.triggers.contains(&Trigger::Stops(slider.part));
            if stopped { None } else { unit(&motion.slip(slider, &state.v), motion.still_speed) }
        };
        let slides = motion.sliders.iter().map(slides).collect();
        let sliders = motion.sliders.clone();
        Ok(Self { origin, switch, motion, modes, sliders, slides })
    }

    /// Whether a contact slides already.
    pub fn has_sliding_contact(&self) -> bool {
        let mut sliders = self.sliders.iter().zip(&self.slides);
        sliders.any(|(slider, slides)| slider.part.contact().is_some() && slides.is_some())
    }

    /// The phase in the first modes that obey all laws; none where no modes do.
    pub fn make(&mut self, solver: &mut ContactSolver) -> Outcome<Option<Phase>> {
        let suggested = self.suggest()?;
        if let Some(phase) = self.accept_shared(suggested)? {
            return Ok(Some(phase));
        }
        // First with all contacts closed that touch, then only with those that carry a force.
        let proposed = self.propose(solver)?;
        if let Some((all, loaded)) = &proposed {
            if let Some(phase) = self.accept_shared(all.clone())? {
                return Ok(Some(phase));
            }
            for modes in [all, loaded] {
                if let Some(phase) = self.accept(modes.clone())? {
                    return Ok(Some(phase));
                }
            }
        }
        self.try_all(proposed.as_ref().map(|(all, _)| all))
    }

    /// The old modes, changed by the events. A part that begins to slide does so against the
    /// friction that held it.
    fn suggest(&mut self) -> Outcome<Modes> {
        let Switch { modes: old, triggers, .. } = self.switch;
        if triggers.iter().any(|trigger| matches!(trigger, Trigger::Slips(_))) {
            self.evaluate(old)?;
        }
        let begins = |part: Part| {
            let slips = triggers.contains(&Trigger::Slips(part));
            let slider = self.motion.sliders.iter().find(|slider| slips && slider.part == part)?;
            Some(unit(&self.motion.friction(slider), 0.0)?.map(|part| -part))
        };
        let mut modes = self.modes.clone();
        for mode in &mut modes.contacts {
            mode.is_closed = !triggers.contains(&Trigger::Opens(mode.id));
        }
        for ((part, sliding), slides) in modes.sliding.iter_mut().zip(&self.slides) {
            *sliding = match (begins(*part).or(*slides), old.sliding(*part)) {
                (Some(direction), _) => Sliding::Slip(direction),
                // It has just begun.
                (None, Some(Sliding::Slip(reference))) if !triggers.contains(&Trigger::Stops(*part)) => {
                    Sliding::Slip(reference)
                }
                _ => Sliding::Stick,
            };
        }
        Ok(modes)
    }

    /// Modes from the contact problem on accelerations: with all contacts closed that do not part,
    /// and with those closed that carry a force. None when the problem is not solved.
    fn propose(&mut self, solver: &mut ContactSolver) -> Outcome<Option<(Modes, Modes)>> {
        // Rows and rates of everything, with nothing closed and nothing held.
        let mut open = Modes { contacts: self.modes.contacts.clone(), ..Modes::default() };
        open.contacts.iter_mut().for_each(|mode| mode.is_closed = false);
        self.evaluate(&open)?;
        let scale = self.motion.acceleration_scale.max(largest(&self.motion.rates.normals)).max(f64::MIN_POSITIVE);
        let problem = self.state_problem(scale);
        let mut solution = ContactSolution::default();
        solver.solve(&problem, &mut solution).map_err(|source| self.origin.malformed(source))?;
        Ok(solution.report.is_solved().then(|| self.read(scale, &problem, &solution)))
    }

    /// The contact problem on accelerations, of which the largest is `scale`.
    fn state_problem(&self, scale: f64) -> ContactProblem {
        let motion = &*self.motion;
        // What slides: its velocity stands for its acceleration, enlarged so that no acceleration
        // turns it.
        let site_count = motion.elements.len() + motion.contacts.len();
        let mut biases: Vec<[f64; 3]> = (0..site_count).map(|site| motion.tangent_rates(site)).collect();
        let mut has_sliding = vec![false; site_count];
        for (slider, slides) in self.sliders.iter().zip(&self.slides) {
            if slides.is_some() {
                let slip = motion.slip_at(slider.site, &self.origin.state.v);
                let speed = slider.tangents.clone().map(|a| slip[a] * slip[a]).sum::<f64>().sqrt();
                let bias = &mut biases[slider.site];
                slider.tangents.clone().for_each(|a| bias[a] += SLIDING_BIAS * scale / speed * slip[a]);
                has_sliding[slider.site] = true;
            }
        }
        let mut problem = ContactProblem {
            inertia: motion.inertia.clone(),
            free_motion: motion.force.clone(),
            ..ContactProblem::default()
        };
        problem.inertia.solve_in_place(&mut problem.free_motion);
        let joints = motion.joints.iter().zip(&motion.rates.joints);
        problem.joints.extend(joints.map(|(joint, &bias)| JointCondition {
            row: joint.row.clone(),
            bias,
            rounding: 0.0,
        }));
        // What rests is proposed to go on so, with the static coefficient or bound where there are
        // two.
        for (site, element) in motion.elements.iter().enumerate() {
            let element = FrictionElement { sticks: !has_sliding[site], ..element.clone() };
            // Forces and not impulses: over one second.
            let tangent_bias = biases[site];
            problem.friction.push(FrictionCondition { tangent_bias, ..FrictionCondition::of(&element, 1.0) });
        }
        for (i, contact) in motion.contacts.iter().enumerate() {
            let site = motion.elements.len() + i;
            let contact = Contact { sticks: !has_sliding[site], ..contact.clone() };
            problem.contacts.push(ContactCondition {
                id: self.modes.contacts[i].id,
                normal_bias: motion.rates.normals[i],
                tangent_bias: biases[site],
                ..ContactCondition::of(&contact)
            });
        }
        problem
    }

    /// Reads modes from a solution of that problem.
    fn read(&self, scale: f64, problem: &ContactProblem, solution: &ContactSolution) -> (Modes, Modes) {
        let u = &solution.motion;
        let free = largest(&self.motion.force);
        let largest_force = solution.contacts.iter().fold(free, |most, force| most.max(force.normal));
        let still = READ * scale.max(largest(u));
        let mut modes = self.modes.clone();
        let elements = solution.friction.iter().map(|&friction| (0.0, friction));
        let contacts = solution.contacts.iter().map(|force| (force.normal, force.tangent));
        modes.forces = Forces { joints: solution.joints.clone(), sites: elements.chain(contacts).collect() };
        let elements = problem.friction.iter().map(|element| element.slip(u));
        let slips: Vec<[f64; 3]> = elements.chain(problem.contacts.iter().map(|contact| contact.slip(u))).collect();
        for ((slider, slides), (_, sliding)) in self.sliders.iter().zip(&self.slides).zip(&mut modes.sliding) {
            let slip = slider.times_axes(&slips[slider.site]);
            let speed = slider.tangents.clone().fold(0.0f64, |most, a| most.max(slip[a].abs() / slider.axes[a]));
            // Against friction, whose direction the solver knows better than that of a slow
            // sliding.
            let force = slider.over_axes(&modes.forces.sites[slider.site].1);
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
            let touches = problem.contacts[i].normal_rate(u) <= still;
            (modes.contacts[i].is_closed, loaded.contacts[i].is_closed) = (carries || touches, carries);
        }
        (modes, loaded)
    }

    /// Tries one combination of modes after another: contacts closed or open, parts sticking, or
    /// sliding either way in the plane and as proposed in space.
    fn try_all(&mut self, proposed: Option<&Modes>) -> Outcome<Option<Phase>> {
        let ways: Vec<Vec<Sliding>> = (0..self.sliders.len()).map(|place| self.ways(place, proposed)).collect();
        let contact_count = u32::try_from(self.modes.contacts.len()).unwrap_or(u32::MAX);
        let combinations = ways.iter().map(Vec::len).try_fold(1, usize::checked_mul);
        let count = combinations.zip(2usize.checked_pow(contact_count)).and_then(|(a, b)| a.checked_mul(b));
        for number in 0..count.filter(|&count| count <= TRIAL_LIMIT).unwrap_or(0) {
            let modes = self.combination(number, &ways);
            // How an open contact would slide does not matter.
            let mut parts = modes.sliding.iter().zip(&ways);
            if parts.all(|((part, sliding), ways)| modes.is_loaded(*part) || *sliding == ways[0])
                && let Some(phase) = self.accept(modes)?
            {
                return Ok(Some(phase));
            }
        }
        Ok(None)
    }

    /// The ways in which a part may slide.
    fn ways(&self, place: usize, proposed: Option<&Modes>) -> Vec<Sliding> {
        if let Some(direction) = self.slides[place] {
            return vec![Sliding::Slip(direction)];
        }
        let tangents = &self.sliders[place].tangents;
        let mut ways = vec![Sliding::Stick];
        if tangents.len() == 1 {
            let unit = |sign: f64| std::array::from_fn(|a| if tangents.contains(&a) { sign } else { 0.0 });
            ways.extend([1.0, -1.0].map(|sign| Sliding::Slip(unit(sign))));
        } else {
            let other = proposed.map(|modes| modes.sliding[place].1);
            ways.extend(other.filter(|sliding| matches!(sliding, Sliding::Slip(_))));
        }
        ways
    }

    /// The combination with this number. Its digits are, of each contact, how its parts slide and
    /// whether it is open, and then how the friction elements slide.
    fn combination(&self, mut number: usize, ways: &[Vec<Sliding>]) -> Modes {
        let mut modes = self.modes.clone();
        let mut digit = |count: usize| {
            let digit = number % count;
            number /= count;
            digit
        };
        let mut sliding = modes.sliding.iter_mut().zip(ways).peekable();
        for mode in &mut modes.contacts {
            while let Some(((_, sliding), ways)) = sliding.next_if(|((part, _), _)| part.contact() == Some(mode.id)) {
                *sliding = ways[digit(ways.len())];
            }
            mode.is_closed = digit(2) == 0;
        }
        sliding.for_each(|((_, sliding), ways)| *sliding = ways[digit(ways.len())]);
        modes
    }

    /// The phase in these modes, if they obey all laws, where forces are not unique with such as
    /// are inside all bounds: those of the solver may be at a bound, and leave it at once.
    fn accept_shared(&mut self, mut modes: Modes) -> Outcome<Option<Phase>> {
        modes.forces = Forces::default();
        let rank = self.evaluate(&modes)?;
        if rank < self.motion.held_count() {
            // Alternate between the bounds, narrowed, and the equations, of which the nearest
            // solution is taken.
            for _ in 0..SHARINGS {
                let Some(inside) = self.motion.forces_inside(&modes, INSIDE) else { break };
                modes.forces = inside;
                self.evaluate(&modes)?;
            }
        }
        self.accept(modes)
    }

    /// The phase in these modes, if they obey all laws.
    fn accept(&mut self, mut modes: Modes) -> Outcome<Option<Phase>> {
        if !self.switch.past.excluded.iter().all(|event| allows(&modes, *event)) {
            return Ok(None);
        }
        let rank = self.evaluate(&modes)?;
        if !self.obey(&modes) {
            return Ok(None);
        }
        // What is not closed leaves the modes, and its gap is watched once there is one.
        let open = modes.contacts.iter().filter(|mode| !mode.is_closed);
        let touching = open.map(|mode| (mode.id, mode.gap)).collect();
        modes.retain_contacts(|mode| mode.is_closed);
        modes.rank = Some(rank);
        let past = self.switch.past.clone();
        Ok(Some(Phase { modes, touching, flights: Vec::new(), next_step: f64::INFINITY, past }))
    }

    fn evaluate(&mut self, modes: &Modes) -> Outcome<usize> {
        self.motion.evaluate(self.origin.here(), modes, &self.origin.state.v)
    }

    /// Whether modes obey all laws with the forces and accelerations that the motion has in them.
    fn obey(&self, modes: &Modes) -> bool {
        let motion = &*self.motion;
        let force = OBEYED * motion.force_scale;
        let acceleration = OBEYED * motion.acceleration_scale.max(largest(&motion.acceleration));
        let obeys_contact = |(i, mode): (usize, &GapMode)| match mode.is_closed {
            true => motion.normal_force(i) >= -force,
            false => motion.gap_acceleration(i) >= -acceleration,
        };
        let obeys_friction = |(slider, (part, sliding)): (&Slider, &(Part, Sliding))| match *sliding {
            _ if !modes.is_loaded(*part) => true,
            Sliding::Stick => motion.margin(slider) >= -force,
            // What slides already does so as it did; what begins to must accelerate that way.
            _ if unit(&motion.slip(slider, &self.origin.state.v), motion.still_speed).is_some() => true,
            Sliding::Slip(direction) | Sliding::Begin(direction) => {
                let rate = motion.slip_acceleration(slider);
                let along = dot(&rate, &direction);
                let across: [f64; 3] = std::array::from_fn(|a| rate[a] - along * direction[a]);
                along >= -acceleration && norm(&across) <= SAME_DIRECTION * along + acceleration
            }
        };
        motion.acceleration.iter().all(|a| a.is_finite())
            && modes.contacts.iter().enumerate().all(obeys_contact)
            && motion.sliders.iter().zip(&modes.sliding).all(obeys_friction)
            && self.hold(modes, DEPENDENT_ROWS * acceleration)
    }

    /// Whether rows that depend on each other do not contradict each other: all that hold do so up
    /// to a tolerance.
    fn hold(&self, modes: &Modes, tolerance: f64) -> bool {
        let motion = &*self.motion;
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
}

/// Whether modes are others than those that this event ended at once.
fn allows(modes: &Modes, event: Trigger) -> bool {
    let is_closed = |id| modes.contact(id).map(|mode| mode.is_closed);
    match event {
        Trigger::Closes(id) => is_closed(id) != Some(false),
        Trigger::Opens(id) => is_closed(id) != Some(true),
        Trigger::Slips(part) => modes.sliding(part) != Some(Sliding::Stick),
        Trigger::Stops(part) => !matches!(modes.sliding(part), Some(Sliding::Slip(_))),
        Trigger::Renamed => true,
    }
}

//! Looks at a scene that is correct, and says what looks wrong in it.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use serde::Serialize;
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{
    Body, BodyKind, Dimension, Multibody, Oscillation, PlacedShape, Shape, combined_mass_properties,
};
use stiction_dynamics::{
    Contact, ContactId, ContactImpulse, Inertia, LinearSystem, MechanicalSystem, Overlap, Pointedness, Row, Rule,
    SchemeSettings, State, TotalCone,
};

use crate::load::{Loaded, SceneSystem};
use crate::model::{MET_AT_START, eigenvalues, extent, joint_place, row_unit, worst_rows};
use crate::place::Place;

/// Shapes that overlap by less than this at the start, in metres, touch. Too large: real overlaps
/// pass. Too small: rounding of poses is reported.
const OVERLAP: f64 = 1e-9;

/// Densities that solids, liquids and gases have, in kg/m³.
const DENSITIES: std::ops::Range<f64> = 0.1..1e5;

/// Areal densities of plane bodies, in kg/m².
const PLANE_DENSITIES: std::ops::Range<f64> = 1e-3..1e5;

/// Gravity of this size, in m/s², is that of a planet in centimetres per second squared.
const CENTIMETRE_GRAVITY: std::ops::Range<f64> = 100.0..2000.0;

/// Gravity of this size, in m/s², is that of a planet in millimetres per second squared.
const MILLIMETRE_GRAVITY: std::ops::Range<f64> = 2000.0..20000.0;

/// Speeds above this, in m/s, are rarely meant.
const HIGHEST_SPEED: f64 = 1e4;

/// Bodies of this size, in metres, are rarely meant: of two millimetres typed as metres, or of a
/// thousand.
const LARGEST_BODY: f64 = 50.0;

/// Steps in the period of an oscillation or of a spring, at least: with fewer the motion is not
/// followed.
const STEPS_PER_PERIOD: f64 = 8.0;

/// A body that turns by more than this in one step, in radians, is not resolved.
const LARGEST_TURN: f64 = 1.0;

/// Number of orientations that are tried in search of Painlevé's paradox.
const ORIENTATIONS: usize = 3600;

/// Contacts that are closed at the start, at most, among which wedged ones are looked for. Too
/// large: `check` takes longer than a second.
const MOST_WEDGED: usize = 60;

/// Contacts with a smaller share of the largest force are not named as wedged.
const LEAST_OF_WEDGE: f64 = 1e-6;

/// Contacts that are named as wedged, at most.
const MOST_NAMED: usize = 6;

/// The cosine of normals that face each other. Too large: corners are taken for play. Too small: only
/// parallel faces are looked at.
const OPPOSITE: f64 = -0.5;

/// Moments of inertia that differ by more than this factor make a needle: its spin has a time of its
/// own.
const NEEDLE: f64 = 1e5;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing to do.
    Note,
    /// Probably a mistake.
    Warning,
}

/// Something that looks wrong in a scene, or is worth knowing about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// What was found, and what to do about it.
    pub message: String,
    /// Where it was written: in the file, `scenes/rod.toml:12:3`, or in an option of the command
    /// line.
    pub place: String,
}

/// Everything that looks wrong in a scene, in the order of the file.
pub fn lint(loaded: &Loaded) -> Vec<Finding> {
    let start = loaded.start();
    let mut findings = match loaded.system() {
        SceneSystem::Bodies(bodies) => {
            let mut linter = Linter { loaded, system: &**bodies, findings: Vec::new() };
            for warning in loaded.warnings() {
                linter.add(Severity::Warning, Place::default(), warning.clone());
            }
            for (severity, place, message) in loaded.notes() {
                linter.add(*severity, place.clone(), message.clone());
            }
            linter.free_bodies();
            linter.gravity();
            linter.springs();
            for (index, body) in bodies.model().bodies.iter().enumerate() {
                for (place, message) in BODY_RULES.iter().filter_map(|rule| rule(loaded, bodies, body, index)) {
                    linter.add(Severity::Warning, place, message);
                }
            }
            linter.overlaps(start);
            linter.clearances(start);
            linter.joints(start);
            linter.painleve();
            linter.long_step();
            linter.wedges(start, |system, id| {
                if let Some(joint) = system.joint_of_stop(id) {
                    return joint_place(system, joint).key("limits");
                }
                let is_free = |body: &u32| system.model().bodies[*body as usize].kind.is_free();
                let body = [id.first, id.second].into_iter().find(is_free).unwrap_or(id.first);
                Place::top("body").index(body as usize)
            });
            linter.findings
        }
        SceneSystem::Matrices(system) => {
            let mut linter = Linter { loaded, system: &**system, findings: Vec::new() };
            linter.gaps(start);
            linter.long_step();
            linter.joints(start);
            linter.painleve();
            linter.wedges(start, |_, id| Place::top("system").key("contact").index(id.feature as usize));
            linter.findings
        }
    };
    findings.sort_by_key(|(offset, _)| *offset);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

struct Linter<'a, S> {
    loaded: &'a Loaded,
    system: &'a S,
    /// With the byte of the file that it is about, or the number of the edit after all of them.
    findings: Vec<(usize, Finding)>,
}

impl<S> Linter<'_, S> {
    fn long_step(&mut self) {
        let run = &self.loaded.scene().run;
        let (step, time) = (run.step, run.end - run.start);
        if step > time && time > 0.0 {
            let message = format!(
                "the step of {step:?} s is longer than the run of {time:?} s, which is made in one step: give a smaller one"
            );
            self.add(Severity::Warning, Place::top("run").key("step"), message);
        }
    }

    /// Schemes on the level of positions end an overlap within a step, by as fast a motion as that
    /// takes. The others let it be.
    fn what_becomes_of_overlap(&self, ended: &str, kept: &str) -> String {
        match self.loaded.scene().scheme.facts().overlap {
            Overlap::Ended => format!("the first step {ended}"),
            Overlap::Fading(rate) => format!("the scheme {ended} with the rate `{rate}`"),
            Overlap::Kept => format!("the scheme {kept}"),
        }
    }

    fn add(&mut self, severity: Severity, place: Place, message: String) {
        let (offset, place) = self.loaded.document().show(&place);
        self.findings.push((offset, Finding { severity, message, place }));
    }
}

impl<S: MechanicalSystem> Linter<'_, S> {
    /// Contacts that are closed at the start and can press against each other without any load;
    /// `place` says where one of them stands in the file.
    fn wedges(&mut self, start: &State, place: impl Fn(&S, ContactId) -> Place) {
        let mut closed = Vec::new();
        self.system.contacts(start.t, &start.q, OVERLAP, &mut closed);
        if closed.is_empty() || closed.len() > MOST_WEDGED {
            return;
        }
        // A scene that cannot be looked at so is refused by those who run it.
        let Ok(cone) = TotalCone::at(self.system, start, OVERLAP) else { return };
        let Pointedness::Wedged(stress) = cone.pointedness() else { return };
        // What needs no friction is said without it.
        let mut smooth = cone.problem().clone();
        smooth.contacts.iter_mut().for_each(|contact| contact.mu = 0.0);
        let smooth = TotalCone::new(smooth);
        let (stress, remedy) = match smooth.as_ref().map(TotalCone::pointedness) {
            Ok(Pointedness::Wedged(own)) if own.contacts.iter().any(|impulse| impulse.normal > 0.0) => {
                (own, "play ends it")
            }
            _ => (stress, "less friction or play ends it"),
        };
        let takes_part = |impulse: &&ContactImpulse| impulse.normal > LEAST_OF_WEDGE;
        let Some(first) = stress.contacts.iter().find(takes_part) else { return };
        let mut forces: Vec<String> = stress
            .contacts
            .iter()
            .filter(takes_part)
            .map(|impulse| {
                let [x, y, moment] = impulse.tangent;
                let mut text = format!("`{}` {:.3}", self.system.contact_name(impulse.id), impulse.normal);
                for (what, size) in [("friction", x.hypot(y)), ("torsion", moment.abs())] {
                    if size > LEAST_OF_WEDGE {
                        text += &format!(" with {what} {size:.3}");
                    }
                }
                text
            })
            .collect();
        if forces.len() > MOST_NAMED {
            let more = forces.len() - MOST_NAMED;
            forces.truncate(MOST_NAMED);
            forces.push(format!("{more} more"));
        }
        let joints = if stress.joints.iter().any(|c| c.abs() > LEAST_OF_WEDGE) { ", with the joints" } else { "" };
        let message = format!(
            "the contacts at the start are wedged: forces in the proportion of {}{joints} add up to nothing, so that their friction cone is not pointed. \
             Contact forces are then not unique and not bounded by the load, and bodies may jam; {remedy}",
            forces.join(", ")
        );
        self.add(Severity::Note, place(self.system, first.id), message);
    }
}

impl Linter<'_, Multibody> {
    /// A file that lacks its end may still be a scene, with too few bodies.
    fn free_bodies(&mut self) {
        if !self.system.model().bodies.iter().any(|body| body.kind.is_free()) {
            let message = "no body of the scene is free to move: is the end of the file missing?";
            self.add(Severity::Warning, Place::top("body"), message.to_owned());
        }
    }

    fn gravity(&mut self) {
        let (gravity, dimension) = (self.system.model().gravity, self.system.model().dimension);
        let (up, axis) = match dimension {
            Dimension::Plane => (gravity.y, "y"),
            Dimension::Space => (gravity.z, "z"),
        };
        let size = gravity.length();
        if up > 0.5 * size {
            let message = format!("gravity pulls upwards, along +{axis}: is its sign right? Downwards is `-{up:?}`");
            self.add(Severity::Warning, Place::top("gravity"), message);
        }
        let unit = match size {
            _ if CENTIMETRE_GRAVITY.contains(&size) => "centimetres",
            _ if MILLIMETRE_GRAVITY.contains(&size) => "millimetres",
            _ => return,
        };
        let message = format!("gravity is {size:?} m/s²: is it in {unit}? All lengths of a scene are in metres");
        self.add(Severity::Warning, Place::top("gravity"), message);
    }

    /// Springs that make schemes with explicit forces unstable.
    fn springs(&mut self) {
        let (h, model) = (self.loaded.scene().run.step, self.system.model());
        // A spring of the rate ω² = k/m and the damping δ/m, by schemes with explicit forces in the
        // middle of the step, is stable for h² k/m + p h δ/m < c.
        let (p, c) = match &self.loaded.scene().scheme {
            SchemeSettings::StewartTrinkle(settings) if settings.rule != Rule::Trapezoidal => (1.0, 2.0),
            SchemeSettings::StewartTrinkle(_) => (2.0, 4.0),
            SchemeSettings::MoreauMidpoint(settings) if !settings.implicit => (2.0, 4.0),
            _ => return,
        };
        for (index, spring) in model.springs.iter().enumerate() {
            // Turning of the bodies adds to this: what is found is not stable, what is not found
            // may be unstable all the same.
            let inverse_mass = |body: Option<usize>| match body.map(|body| &model.bodies[body].kind) {
                Some(BodyKind::Rigid { mass, .. } | BodyKind::Point { mass }) => 1.0 / mass,
                _ => 0.0,
            };
            let inverse_mass = inverse_mass(spring.first.body) + inverse_mass(spring.second.body);
            let (stiff, damped) = (spring.stiffness * inverse_mass, p * spring.damping * inverse_mass);
            if h * h * stiff + h * damped > c {
                let limit = 2.0 * c / (damped + (damped * damped + 4.0 * c * stiff).sqrt());
                let message = format!(
                    "spring `{}` is too stiff for a step of {h:?} s with a scheme that takes forces at the velocity before it: the motion \
                     grows without bound; take a step below {limit:.1e} s, or the scheme `trapezoidal`",
                    spring.name
                );
                self.add(Severity::Warning, Place::top("spring").index(index), message);
            }
        }
    }

    fn overlaps(&mut self, start: &State) {
        let mut contacts = Vec::new();
        self.system.contacts(start.t, &start.q, 0.0, &mut contacts);
        let mut deepest = BTreeMap::new();
        for contact in contacts.iter().filter(|contact| contact.gap < -OVERLAP) {
            if let Some(joint) = self.system.joint_of_stop(contact.id) {
                let name = self.system.contact_name(contact.id);
                let message = format!(
                    "joint `{}` starts {:.3e} beyond its limit `{name}`, in m or rad: move a body or the limit; {}",
                    self.system.model().joints[joint].name,
                    -contact.gap,
                    self.what_becomes_of_overlap("brings it back", "keeps it there")
                );
                self.add(Severity::Warning, joint_place(self.system, joint).key("limits"), message);
                continue;
            }
            let gap = deepest.entry((contact.id.first, contact.id.second)).or_insert(0.0f64);
            *gap = gap.min(contact.gap);
        }
        let bodies = &self.system.model().bodies;
        for ((first, second), gap) in deepest {
            let [a, b] = [first, second].map(|body| &bodies[body as usize]);
            let depth = -gap;
            let message = format!(
                "bodies `{}` and `{}` overlap by {depth:.3e} m at the start: move one of them, or exclude the pair with \
                 `[[ignore]]`; {}",
                a.name,
                b.name,
                self.what_becomes_of_overlap("pushes them apart", "keeps the overlap")
            );
            let moved = if b.kind.is_free() { second } else { first } as usize;
            self.add(Severity::Warning, Place::top("body").index(moved).key("position"), message);
        }
    }

    /// Play between two bodies on both sides that is less than the way of a fall within a step: what
    /// happens in it is not followed.
    fn clearances(&mut self, start: &State) {
        let (step, gravity) = (self.loaded.scene().run.step, self.system.model().gravity.length());
        let way = gravity * step * step;
        let mut contacts = Vec::new();
        self.system.contacts(start.t, &start.q, way, &mut contacts);
        contacts.retain(|contact| contact.gap > OVERLAP && self.system.joint_of_stop(contact.id).is_none());
        let mut least = BTreeMap::new();
        for (index, one) in contacts.iter().enumerate() {
            let pair = (one.id.first, one.id.second);
            let others = contacts[index + 1..].iter().filter(|other| (other.id.first, other.id.second) == pair);
            for other in others.filter(|other| faces_against(self.system, start, one, other)) {
                let play = least.entry(pair).or_insert(f64::INFINITY);
                *play = f64::min(*play, one.gap + other.gap);
            }
        }
        let bodies = &self.system.model().bodies;
        for ((first, second), play) in least.into_iter().filter(|(_, play)| *play < way) {
            let [a, b] = [first, second].map(|body| &bodies[body as usize]);
            let message = format!(
                "bodies `{}` and `{}` have a play of {play:.3e} m, less than the {way:.3e} m by which a fall grows in a step: \
                 the motion in it is not followed; a step below {:.1e} s follows it",
                a.name,
                b.name,
                (play / gravity).sqrt()
            );
            let moved = if b.kind.is_free() { second } else { first } as usize;
            self.add(Severity::Note, Place::top("body").index(moved).key("position"), message);
        }
    }

    /// Velocities that the joints do not allow, and rows that follow from others.
    fn joints(&mut self, start: &State) {
        let names = self.system.joint_names();
        let rates: Vec<f64> = self.system.joint_violations(start).iter().map(|violation| violation.1).collect();
        for (joint, row) in worst_rows(self.system, &rates).into_iter().enumerate() {
            let Some((row, rate)) = row.filter(|(_, rate)| rate.abs() > MET_AT_START) else { continue };
            let message = format!(
                "the velocities at the start do not fit joint `{}`: `{}` changes at {rate:.3e} {}/s; give others, or write \
                 `assemble = true` at the top of the scene; the first step takes them as an impact",
                self.system.model().joints[joint].name,
                names[row],
                row_unit(self.system, joint, &names[row])
            );
            self.add(Severity::Warning, joint_place(self.system, joint), message);
        }
        let redundant = self.system.redundant_joint_count(start);
        if redundant > 0 {
            let message = format!(
                "{redundant} of the {} joint rows follow from the others at the start: the motion is the same without them, and \
                 the reactions are not unique",
                names.len()
            );
            self.add(Severity::Note, Place::top("joint"), message);
        }
    }

    /// Contacts of plane bodies on half-planes whose friction is above the smallest one at which
    /// pressing on the contact accelerates it inwards.
    fn painleve(&mut self) {
        let model = self.system.model();
        if model.dimension != Dimension::Plane {
            return;
        }
        let mut notes = Vec::new();
        for (a, body) in model.bodies.iter().enumerate() {
            let BodyKind::Rigid { mass, inertia } = body.kind else { continue };
            let ratio = inertia.z_axis.z / mass;
            for (b, ground) in model.bodies.iter().enumerate() {
                if !self.system.may_collide(a, b) {
                    continue;
                }
                // The pair of shapes that is furthest above its limit stands for all.
                let mut worst: Option<(f64, f64)> = None;
                for (shape, surface) in body.shapes.iter().flat_map(|s| ground.shapes.iter().map(move |g| (s, g))) {
                    if !matches!(surface.placed.shape, Shape::HalfSpace { .. }) {
                        continue;
                    }
                    let Some(mu) = model.materials.friction(shape.material, surface.material) else { continue };
                    let limit = critical_friction(&shape.placed, ratio);
                    if mu > limit && worst.is_none_or(|(other, least)| limit / mu < least / other) {
                        worst = Some((mu, limit));
                    }
                }
                if let Some((mu, limit)) = worst {
                    let message = format!(
                        "friction {mu:?} of body `{}` on `{}` is above {limit:.3}: in some poses rigid bodies have no \
                         acceleration or several (Painlevé); the time stepping handles them",
                        body.name, ground.name
                    );
                    notes.push((a, message));
                }
            }
        }
        for (body, message) in notes {
            self.add(Severity::Note, Place::top("body").index(body), message);
        }
    }
}

/// Whether two contacts of one pair push against each other.
fn faces_against(system: &Multibody, start: &State, one: &Contact, other: &Contact) -> bool {
    let normal = |contact: &Contact| {
        let mut state = State { v: vec![0.0; start.v.len()], ..start.clone() };
        contact.normal.add_to(1.0, &mut state.v);
        // The row of a body that moves freely has the normal itself for its translation.
        let [first, second] =
            [contact.id.first, contact.id.second].map(|body| system.velocity(body as usize, &state).0);
        if system.model().bodies[contact.id.first as usize].kind.is_free() { first } else { -second }
    };
    normal(one).dot(normal(other)) < OPPOSITE
}

/// A rule about a body, with its number: what looks wrong in it, and where that stands.
type BodyRule = fn(&Loaded, &Multibody, &Body, usize) -> Option<(Place, String)>;

/// The rules about bodies.
const BODY_RULES: [BodyRule; 8] = [
    inertia_is_likely,
    size_is_likely,
    density_is_likely,
    speed_is_likely,
    way_is_short,
    turn_is_small,
    swing_is_resolved,
    fall_is_slow,
];

fn body_place(index: usize) -> Place {
    Place::top("body").index(index)
}

fn size_is_likely(_: &Loaded, _: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let size = body.shapes.iter().map(|shape| 2.0 * extent(&shape.placed.shape)).max_by(f64::total_cmp)?;
    let message = format!(
        "body `{}` is {size:.3e} m across: is it in millimetres? All lengths of a scene are in metres",
        body.name
    );
    (size > LARGEST_BODY && body.kind.is_free()).then(|| (body_place(index).key("shape"), message))
}

fn inertia_is_likely(_: &Loaded, system: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let BodyKind::Rigid { inertia, .. } = &body.kind else { return None };
    if system.model().dimension == Dimension::Plane {
        return None;
    }
    let [least, _, most] = eigenvalues(inertia);
    let message = format!(
        "body `{}` is a needle: its moments of inertia are from {least:.3e} to {most:.3e} kg m², and it spins up at a touch; \
         check them, or make it thicker",
        body.name
    );
    (most > NEEDLE * least).then(|| (body_place(index), message))
}

fn density_is_likely(loaded: &Loaded, system: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let dimension = system.model().dimension;
    let (range, unit) = match dimension {
        Dimension::Plane => (PLANE_DENSITIES, "kg/m²"),
        Dimension::Space => (DENSITIES, "kg/m³"),
    };
    let (BodyKind::Rigid { mass, .. } | BodyKind::Point { mass }) = body.kind else { return None };
    let parts: Vec<_> = body.shapes.iter().map(|shape| (shape.placed.clone(), 1.0)).collect();
    // Shapes without a volume have no density.
    let density = mass / combined_mass_properties(&parts, dimension).ok()?.mass;
    let key = if loaded.scene().bodies[index].density.is_some() { "density" } else { "mass" };
    let message = format!(
        "body `{}` has a density of {density:.3e} {unit}: check the units of its {key} and its shapes, kg and m",
        body.name
    );
    (!range.contains(&density)).then(|| (body_place(index).key(key), message))
}

/// The largest speed of a body and its angular velocity at the start, with the places where they
/// stand.
fn motion(body: &Body, index: usize) -> Option<[(f64, Place); 2]> {
    let place = body_place(index);
    match &body.kind {
        BodyKind::Static => None,
        BodyKind::Rigid { .. } | BodyKind::Point { .. } => Some([
            (body.velocity.length(), place.key("velocity")),
            (body.angular_velocity.length(), place.key("angular-velocity")),
        ]),
        BodyKind::Prescribed(motion) => {
            let speed = |o: &Oscillation| o.amplitude.length() * TAU * o.frequency;
            let swing: f64 = motion.oscillations.iter().map(speed).sum();
            let place = place.key("motion");
            Some([(motion.velocity.length() + swing, place.clone()), (motion.angular_velocity.length(), place)])
        }
    }
}

fn speed_is_likely(_: &Loaded, _: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let [(speed, place), _] = motion(body, index)?;
    // A square that overflows.
    let words = if speed.is_finite() { format!("at {speed:.3e}") } else { "faster than 1e150".to_owned() };
    (speed > HIGHEST_SPEED).then(|| (place, format!("body `{}` moves {words} m/s: check the units", body.name)))
}

fn way_is_short(loaded: &Loaded, system: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let ([(speed, place), _], size) = (motion(body, index)?, size(body, system.model().dimension)?);
    let (way, limit) = (speed * loaded.scene().run.step, size / speed);
    let message = format!(
        "body `{}` moves by {way:.3e} m in a step, more than its own size of {size:.3e} m: take a step below {limit:.1e} s",
        body.name
    );
    // A speed that overflows is told by the rule before, and no step is small enough for it.
    (way > size && limit > 0.0).then_some((place, message))
}

fn turn_is_small(loaded: &Loaded, _: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let [_, (spin, place)] = motion(body, index)?;
    let (turn, limit) = (spin * loaded.scene().run.step, LARGEST_TURN / spin);
    let message = format!("body `{}` turns by {turn:.3} rad in a step: take a step below {limit:.1e} s", body.name);
    (turn > LARGEST_TURN && limit > 0.0).then_some((place, message))
}

fn swing_is_resolved(loaded: &Loaded, _: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let BodyKind::Prescribed(motion) = &body.kind else { return None };
    let h = loaded.scene().run.step;
    let highest = motion.oscillations.iter().map(|o| o.frequency).fold(0.0, f64::max);
    let message = format!(
        "body `{}` oscillates with a period of {:.3e} s, of which the step of {h:?} s is {:.0} %: take a step below {:.1e} s",
        body.name,
        1.0 / highest,
        1e2 * h * highest,
        1.0 / (STEPS_PER_PERIOD * highest)
    );
    let is_coarse = h * highest * STEPS_PER_PERIOD > 1.0;
    is_coarse.then(|| (body_place(index).key("motion").key("oscillation"), message))
}

/// Bodies that fall on others faster than they start: they may move by more than their own size in
/// a step when they arrive.
fn fall_is_slow(loaded: &Loaded, system: &Multibody, body: &Body, index: usize) -> Option<(Place, String)> {
    let (model, run, start) = (system.model(), &loaded.scene().run, loaded.start());
    let (h, gravity, size) = (run.step, model.gravity.length(), size(body, system.model().dimension)?);
    let speed = body.velocity.length();
    // What moves as fast from the start is said already.
    if gravity == 0.0 || !body.kind.is_free() || speed * h > size {
        return None;
    }
    let up = -model.gravity / gravity;
    let height = |body: usize| system.pose(body, start.t, &start.q).position.dot(up);
    // Half-spaces are not passed through, however fast.
    let is_solid = |shape: &Shape| !matches!(shape, Shape::HalfSpace { .. }) && !shape.is_hole();
    let (other, drop) = (0..model.bodies.len())
        .filter(|&other| system.may_collide(index, other))
        .filter(|&other| model.bodies[other].shapes.iter().any(|shape| is_solid(&shape.placed.shape)))
        .map(|other| (other, height(index) - height(other)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let arrival = (speed * speed + 2.0 * gravity * drop.max(0.0)).sqrt().min(speed + gravity * (run.end - start.t));
    let message = format!(
        "body `{}` reaches up to {arrival:.3e} m/s when it falls on `{}`, and then moves by {:.3e} m in a step, more than its own \
         size of {size:.3e} m: take a step below {:.1e} s",
        body.name,
        model.bodies[other].name,
        arrival * h,
        size / arrival
    );
    (arrival * h > size).then(|| (body_place(index).key("position"), message))
}

impl Linter<'_, LinearSystem> {
    fn gaps(&mut self, start: &State) {
        for (index, contact) in self.system.data().contacts.iter().enumerate() {
            let gap = self.system.gap(index, start.t, &start.q);
            if gap >= -OVERLAP {
                continue;
            }
            let what = format!("contact `{}` is closed by {:.3e} m too much at the start", contact.name, -gap);
            let scheme = self.loaded.scene().scheme.facts();
            let (severity, message) = if scheme.overlap == Overlap::Kept {
                let name = scheme.named.name;
                (Severity::Note, format!("{what}; the scheme `{name}` takes it as closed and leaves it so"))
            } else {
                let end = self.what_becomes_of_overlap("pushes it open", "");
                (Severity::Warning, format!("{what}: change its `gap` or the position; {end}"))
            };
            self.add(severity, Place::top("system").key("contact").index(index).key("gap"), message);
        }
    }

    fn joints(&mut self, start: &State) {
        let mut joints = Vec::new();
        self.system.joints(start.t, &start.q, &mut joints);
        for (index, (joint, entry)) in joints.iter().zip(&self.system.data().joints).enumerate() {
            let (name, rate) = (&entry.name, joint.row.dot(&start.v) + joint.drift);
            let place = Place::top("system").key("joint").index(index);
            if joint.value.abs() > OVERLAP {
                let message = format!(
                    "joint `{name}` is off by {:.3e} at the start: change its `value` or the position; the first step pulls \
                     it together",
                    joint.value
                );
                self.add(Severity::Warning, place, message);
            } else if rate.abs() > OVERLAP {
                let message = format!(
                    "joint `{name}` comes apart at the rate {rate:.3e} at the start: change the velocity; the first step \
                     stops it with an impulse"
                );
                self.add(Severity::Warning, place, message);
            }
        }
    }

    /// Contacts whose friction is above $n M^{-1} n^T / \lVert T M^{-1} n^T \rVert$: sliding one
    /// way, pressing on the contact accelerates it inwards.
    fn painleve(&mut self) {
        let mut inertia = Inertia::default();
        self.system.mass_matrix(0.0, &[], &mut inertia);
        inertia.factor().expect("the mass matrix is positive definite");
        for (index, contact) in self.system.data().contacts.iter().enumerate() {
            let mut answer = contact.normal.clone();
            inertia.solve_in_place(&mut answer);
            let along = |row: &[f64]| Row::from_dense(row).dot(&answer);
            let sideways = contact.tangents.iter().map(|row| along(row).powi(2)).sum::<f64>().sqrt();
            let inwards = along(&contact.normal);
            if contact.mu * sideways > inwards {
                let limit = inwards / sideways;
                let message = format!(
                    "friction {:?} of contact `{}` is above {limit:.3}: sliding one way, it has no acceleration or several \
                     (Painlevé); the time stepping handles it",
                    contact.mu, contact.name
                );
                self.add(Severity::Note, Place::top("system").key("contact").index(index), message);
            }
        }
    }
}

/// The smallest width of the shapes of a body, in metres; none without finite shapes.
fn size(body: &Body, dimension: Dimension) -> Option<f64> {
    let width = |shape: &Shape| match *shape {
        _ if shape.is_infinite() => None,
        Shape::Sphere { radius: 0.0 } => None,
        Shape::Capsule { radius: 0.0, .. } => Some(2.0 * extent(shape)),
        _ => Some(2.0 * shape.thickness(dimension)),
    };
    body.shapes.iter().filter_map(|shape| width(&shape.placed.shape)).min_by(f64::total_cmp)
}

/// The least friction at which a plane body on a half-plane has a pose where
/// $n \cdot M^{-1} (n \pm \mu t) < 0$, if it touches with this shape.
///
/// With the contact at $(r_x, r_y)$ from the centre of mass, along tangent and normal, the left
/// side is $1/m + r_x (r_x \mp \mu r_y)/I$; its zero is $\mu = (I/m + r_x^2) / |r_x r_y|$, and the
/// least over all poses counts.
fn critical_friction(placed: &PlacedShape, inertia_over_mass: f64) -> f64 {
    let mut least = f64::INFINITY;
    for number in 0..ORIENTATIONS {
        let turn = DQuat::from_rotation_z(TAU * number as f64 / ORIENTATIONS as f64);
        let down = (turn * placed.orientation).inverse() * DVec3::NEG_Y;
        let Some(lowest) = placed.shape.farthest(Dimension::Plane, down) else { return f64::INFINITY };
        let DVec3 { x, y, .. } = turn * (placed.position + placed.orientation * lowest);
        if x * y != 0.0 {
            least = least.min((inertia_over_mass + x * x) / (x * y).abs());
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{parse, parse_with};
    use crate::{builtin, template};

    fn findings(text: &str, overrides: &[&str]) -> Vec<Finding> {
        let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
        lint(&parse_with(text, "x.toml", &overrides).unwrap())
    }

    #[test]
    fn built_in_scenes_have_no_warnings() {
        for scene in builtin::all() {
            let findings = findings(scene.text, &[]);
            assert!(findings.iter().all(|finding| finding.severity == Severity::Note), "{}: {findings:?}", scene.name);
        }
        assert_eq!(findings(&template("new"), &[]), []);
    }

    #[test]
    fn painleve_range_by_hand() {
        // A thin rod of half length 1: (1/3 + cos²)/(sin cos) is least, 4/3, at tan θ = 2.
        let rod = PlacedShape::centred(Shape::Capsule { half_length: 1.0, radius: 0.0 });
        // The scan misses the pose by at most half of a tenth of a degree, which enters squared.
        assert!((critical_friction(&rod, 1.0 / 3.0) - 4.0 / 3.0).abs() < 1e-5);
        // The contact of a centred disc lies below its centre: no moment arm.
        let disc = PlacedShape::centred(Shape::Sphere { radius: 1.0 });
        assert!(critical_friction(&disc, 0.5) > 1e12);
        // A flat ellipse is a rod.
        let flat = PlacedShape::centred(Shape::Ellipsoid { semi_axes: DVec3::new(1.0, 1e-4, 1.0) });
        assert!((critical_friction(&flat, 1.0 / 3.0) - 4.0 / 3.0).abs() < 1e-3);
        let scene = builtin::all().iter().find(|scene| scene.name == "painleve-rod").unwrap();
        let notes = findings(scene.text, &[]);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].message.starts_with("friction 2.0 of body `rod` on `table` is above 1.333: "), "{notes:?}");
        assert_eq!(findings(scene.text, &["material.0.friction=1.33"]), []);
        assert_eq!(findings(scene.text, &["material.0.friction=1.34"]).len(), 1);
    }

    #[test]
    fn wedged_contacts_are_named_with_the_forces_that_show_it() {
        // A disc between two walls that lean by 60°: wedged from μ = cot 60° = 0.577 on, by equal
        // forces whose friction is all of it.
        let groove = include_str!("../tests/cases/groove.toml");
        assert_eq!(findings(groove, &["material.0.friction=0.57"]), []);
        let notes = findings(groove, &["material.0.friction=0.58"]);
        assert_eq!((notes.len(), notes[0].severity), (1, Severity::Note), "{notes:?}");
        let expected = "the contacts at the start are wedged: forces in the proportion of `disc/walls#0` 1.000 with friction 0.577, \
                        `disc[0]/walls[1]#0` 1.000 with friction 0.577 add up to nothing";
        assert!(notes[0].message.starts_with(expected), "{notes:?}");
        assert!(notes[0].message.ends_with("less friction or play ends it"), "{notes:?}");
        let line = groove.lines().enumerate().filter(|(_, line)| *line == "[[body]]").nth(1).unwrap().0 + 1;
        assert!(notes[0].place.starts_with(&format!("x.toml:{line}:")), "{notes:?}");
        // Between walls that face each other friction is not needed.
        let walls = ["body.walls.shape.0.half-plane.normal=[1, 0]", "body.walls.shape.1.half-plane.normal=[-1, 0]"];
        let notes = findings(groove, &walls);
        assert!(
            notes[0].message.contains("`disc/walls#0` 1.000, `disc[0]/walls[1]#0` 1.000 add up to nothing"),
            "{notes:?}"
        );
        assert!(notes[0].message.ends_with("bodies may jam; play ends it"), "{notes:?}");
        // A disc that is a little away from its walls is not.
        assert_eq!(findings(groove, &["material.0.friction=0.58", "body.disc.position=[0.0, 0.001]"]), []);
        // The same as a system of matrices, held by a joint as well.
        let system = include_str!("../tests/cases/wedged-system.toml");
        let notes = findings(system, &[]);
        assert!(notes[0].message.contains("`stop` 1.000, with the joints add up to nothing"), "{notes:?}");
    }

    #[test]
    fn each_warning_has_its_place() {
        let rod = builtin::all()[0].text;
        let warnings = |overrides: &[&str]| -> Vec<String> {
            let all = findings(rod, overrides).into_iter();
            all.filter(|f| f.severity == Severity::Warning).map(|f| format!("{}: {}", f.place, f.message)).collect()
        };
        let line = |key: &str| rod.lines().position(|line| line.starts_with(key)).unwrap() + 1;
        let gravity = warnings(&["gravity=[0, -981.0]"]);
        let expected = "gravity is 981.0 m/s²: is it in centimetres? All lengths of a scene are in metres";
        assert_eq!(gravity, [format!("--set gravity=[0, -981.0]: {expected}")]);
        let in_file = lint(&parse(&rod.replace("-9.81", "-981.0"), "x.toml").unwrap());
        assert_eq!((&*in_file[0].place, &*in_file[0].message), (&*format!("x.toml:{}:11", line("gravity")), expected));
        // Half of 0.5 m at 30 degrees is 0.125 m below the centre, the surface 0.05 m more: 0.075 m
        // too deep.
        let overlap = warnings(&["body.rod.position=[0.0, 0.1]"]);
        assert_eq!(overlap.len(), 1);
        let expected =
            "--set body.rod.position=[0.0, 0.1]: bodies `rod` and `table` overlap by 7.500e-2 m at the start";
        assert!(overlap[0].starts_with(expected), "{overlap:?}");
        let heavy = warnings(&["body.rod.mass=1e9"]);
        assert!(heavy[0].contains("`rod` has a density of 1.7") && heavy[0].contains("kg/m²"), "{heavy:?}");
        let fast = warnings(&["body.rod.velocity=[1e5, 0]"]);
        assert!(fast[0].contains("moves at 1.000e5 m/s"), "{fast:?}");
        assert!(fast[1].contains("moves by 2.500e2 m in a step, more than its own size of 1.000e-1 m"), "{fast:?}");
        let spinning = warnings(&["body.rod.angular-velocity=1000"]);
        assert!(spinning[0].contains("turns by 2.500 rad in a step: take a step below 1.0e-3 s"), "{spinning:?}");
    }

    #[test]
    fn falls_are_looked_at_to_their_end() {
        // 11.4 m of free fall end at sqrt(2 · 9.81 · 11.4) = 14.96 m/s: 15 cm in a step, and the
        // marble is 2 cm thick.
        let drop = include_str!("../tests/cases/drop.toml");
        let fall = findings(drop, &[]);
        assert_eq!(fall.len(), 1, "{fall:?}");
        assert!(fall[0].message.contains("`marble` reaches up to 1.496e1 m/s when it falls on `ball`"), "{fall:?}");
        assert!(fall[0].message.contains("take a step below 1.3e-3 s"), "{fall:?}");
        assert_eq!(findings(drop, &["run.step=0.001"]), []);
        // It does not get that fast in 0.1 s.
        assert_eq!(findings(drop, &["run.end=0.1"]), []);
    }

    #[test]
    fn scenes_in_which_nothing_moves_are_warnings() {
        let rod = builtin::all()[0].text;
        for end in [rod.find("[[body]]").unwrap(), rod.rfind("[[body]]").unwrap()] {
            let findings = lint(&parse(&rod[..end], "x.toml").unwrap());
            assert_eq!(findings.len(), 1);
            assert!(findings[0].message.starts_with("no body of the scene is free to move"), "{findings:?}");
        }
    }

    #[test]
    fn normalised_quaternions_are_warnings() {
        let text = builtin::all()[2].text.replace("0.9737074591027911", "0.97371");
        let findings = lint(&parse(&text, "x.toml").unwrap());
        assert!(findings[0].message.contains("it was normalised to"), "{findings:?}");
    }
}

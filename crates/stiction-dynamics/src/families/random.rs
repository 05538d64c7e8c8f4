//! Bodies with random contacts between them and with the ground.

use super::Generator;
use super::bodies::{Assembly, Touch, along, box_inertia, frame, unit};
use crate::ContactProblem;

/// Contacts for each body, on average.
const CONTACTS_PER_BODY: f64 = 2.3;

/// Share of the contacts with the ground.
const GROUND_SHARE: f64 = 0.35;

/// The other body is one of this many before the first one.
const REACH: usize = 4;

/// Largest gap over step, in m/s, where there is one.
const LARGEST_GAP: f64 = 0.5;

/// Distance between contacts in a row, in m.
const SPACING: f64 = 0.25;

/// Random bodies with random contacts.
///
/// Bodies have masses of 0.5 to 2 kg. Normals are $(\pm 0.5, \pm 0.5, 1)$, normalised; a third of
/// the contacts is with the ground, the others with one of the four bodies before. The defaults are
/// an ordinary scene of boxes with 0.2 ≤ μ < 0.9 and no gaps; the options make it hard.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomContacts {
    /// Number of contacts; one body for every 2.3 of them.
    pub contact_count: usize,
    /// What the bodies are.
    pub bodies: BodyKind,
    /// Motion in the plane, with one tangent for each contact.
    pub is_planar: bool,
    /// Range of the coefficients of friction.
    pub mu: [f64; 2],
    /// Share of contacts without friction.
    pub frictionless_share: f64,
    /// Share of contacts with a gap, up to 0.5 m/s over the step.
    pub gap_share: f64,
    /// Share of contacts that repeat an earlier one: half of them exactly, half in a row or in a
    /// plane with it, at a multiple of 0.25 m along a tangent and with the same normal.
    pub redundant_share: f64,
    /// Factor on all masses.
    pub mass_scale: f64,
    /// Largest over smallest factor of the bodies of a problem, on top of their 0.5 to 2 kg. The
    /// factors between are spread on the logarithmic scale.
    pub mass_ratio: f64,
    /// Largest random velocity, in m/s and rad/s.
    pub kick: f64,
}

/// What the bodies of [`RandomContacts`] are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyKind {
    /// Boxes with half extents of 0.3 to 0.6 m, contacts on their lower and upper faces within 0.5
    /// m of the centre.
    #[default]
    Boxes,
    /// Thin rods of 0.6 to 1.4 m that lean at 30° to 75°, touching with their lower ends: where
    /// friction is large, pushing harder makes the contact point approach faster, which is
    /// Painlevé's paradox.
    Rods,
}

impl Default for RandomContacts {
    fn default() -> Self {
        Self {
            contact_count: 7,
            bodies: BodyKind::Boxes,
            is_planar: false,
            mu: [0.2, 0.9],
            frictionless_share: 0.0,
            gap_share: 0.0,
            redundant_share: 0.0,
            mass_scale: 1.0,
            mass_ratio: 1.0,
            kick: 0.3,
        }
    }
}

/// Where contacts may lie on a body.
enum Surface {
    Box {
        half_height: f64,
    },
    /// Unit vector towards the upper end, half the length, and the radius.
    Rod {
        axis: [f64; 3],
        half_length: f64,
        radius: f64,
    },
}

impl RandomContacts {
    /// The problem of a seed.
    pub fn problem(&self, seed: u64) -> ContactProblem {
        let mut random = Generator::new(seed);
        let mut assembly = Assembly::new(self.is_planar);
        let body_count = (self.contact_count as f64 / CONTACTS_PER_BODY).ceil() as usize;
        let factors = self.mass_factors(body_count, &mut random);
        let surfaces: Vec<Surface> = factors
            .into_iter()
            .map(|factor| {
                let mass = self.mass_scale * factor * random.uniform(0.5, 2.0);
                let (inertia, surface) = self.body(mass, &mut random);
                assembly.push_body(mass, inertia, self.kick, &mut random);
                surface
            })
            .collect();
        let mut touches: Vec<Touch> = Vec::with_capacity(self.contact_count);
        for number in 0..self.contact_count {
            let touch = if number > 0 && random.chance(self.redundant_share) {
                self.repeated(&touches[random.below(number)], &mut random)
            } else {
                self.touch(&surfaces, &mut random)
            };
            assembly.push_contact(&touch);
            touches.push(touch);
        }
        assembly.finish()
    }

    /// The factors on the masses: the smallest and the largest are there whenever there are two
    /// bodies.
    fn mass_factors(&self, body_count: usize, random: &mut Generator) -> Vec<f64> {
        let mut factors: Vec<f64> = (0..body_count).map(|_| random.logarithmic(1.0, self.mass_ratio)).collect();
        if let [lightest, heaviest, ..] = random.permutation(body_count)[..] {
            (factors[lightest], factors[heaviest]) = (1.0, self.mass_ratio);
        }
        factors
    }

    fn body(&self, mass: f64, random: &mut Generator) -> ([[f64; 3]; 3], Surface) {
        match self.bodies {
            BodyKind::Boxes => {
                let half_extents = [0; 3].map(|_| random.uniform(0.3, 0.6));
                (box_inertia(mass, half_extents), Surface::Box { half_height: half_extents[2] })
            }
            BodyKind::Rods => {
                let (half_length, radius) = (random.uniform(0.3, 0.7), random.uniform(0.01, 0.05));
                let (sine, cosine) = random.uniform(30f64.to_radians(), 75f64.to_radians()).sin_cos();
                let heading = if self.is_planar {
                    if random.chance(0.5) { 0.0 } else { std::f64::consts::PI }
                } else {
                    random.uniform(0.0, std::f64::consts::TAU)
                };
                let axis = [cosine * heading.cos(), if self.is_planar { 0.0 } else { cosine * heading.sin() }, sine];
                // A cylinder: m r²/2 about its axis, m (l²/12 + r²/4) across.
                let along_axis = mass * radius * radius / 2.0;
                let across = mass * (half_length * half_length / 3.0 + radius * radius / 4.0);
                let mut inertia = [[0.0; 3]; 3];
                for i in 0..3 {
                    for j in 0..3 {
                        inertia[i][j] = (along_axis - across) * axis[i] * axis[j] + if i == j { across } else { 0.0 };
                    }
                }
                (inertia, Surface::Rod { axis, half_length, radius })
            }
        }
    }

    fn touch(&self, surfaces: &[Surface], random: &mut Generator) -> Touch {
        let first = random.below(surfaces.len());
        let second = if first == 0 || random.chance(GROUND_SHARE) {
            None
        } else {
            Some(first - 1 - random.below(first.min(REACH)))
        };
        let tilt = [0; 2].map(|_| random.uniform(-0.5, 0.5));
        let normal = unit([tilt[0], if self.is_planar { 0.0 } else { tilt[1] }, 1.0]);
        Touch {
            first: (first, self.arm(&surfaces[first], -1.0, random)),
            second: second.map(|body| (body, self.arm(&surfaces[body], 1.0, random))),
            frame: frame(normal),
            normal_bias: if random.chance(self.gap_share) { random.uniform(0.0, LARGEST_GAP) } else { 0.0 },
            mu: self.friction(random),
        }
    }

    /// A contact point relative to the centre: below for the first body (`side` = -1), above for
    /// the second.
    fn arm(&self, surface: &Surface, side: f64, random: &mut Generator) -> [f64; 3] {
        let mut arm = match *surface {
            Surface::Box { half_height } => [random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), side * half_height],
            Surface::Rod { axis, half_length, radius } => {
                // The end itself below; anywhere on the upper half above.
                let place = if side < 0.0 { -half_length } else { half_length * random.uniform(0.0, 1.0) };
                along(random.vector(radius), place, axis)
            }
        };
        if self.is_planar {
            arm[1] = 0.0;
        }
        arm
    }

    /// A contact that adds nothing new to an earlier one, or little: of the same two bodies, with
    /// the same directions and gap.
    fn repeated(&self, earlier: &Touch, random: &mut Generator) -> Touch {
        let mut touch = Touch { mu: self.friction(random), ..earlier.clone() };
        if random.chance(0.5) {
            let tangent = if self.is_planar || random.chance(0.5) { touch.frame[1] } else { touch.frame[2] };
            let distance = SPACING * (random.below(5) as f64 - 2.0);
            touch.first.1 = along(touch.first.1, distance, tangent);
            touch.second = touch.second.map(|(body, arm)| (body, along(arm, distance, tangent)));
        }
        touch
    }

    fn friction(&self, random: &mut Generator) -> f64 {
        let mu = random.uniform(self.mu[0], self.mu[1]);
        if random.chance(self.frictionless_share) { 0.0 } else { mu }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Options at their limits, in the plane and in space.
    fn hard(seed: u64) -> RandomContacts {
        RandomContacts {
            contact_count: 1 + seed as usize % 20,
            bodies: if seed.is_multiple_of(3) { BodyKind::Rods } else { BodyKind::Boxes },
            is_planar: seed.is_multiple_of(2),
            mu: [0.0, 30.0],
            frictionless_share: 0.1,
            gap_share: 0.3,
            redundant_share: 0.3,
            mass_scale: 1e-6,
            mass_ratio: 1e4,
            kick: 1.0,
        }
    }

    #[test]
    fn problems_are_well_formed_and_repeat() {
        let mut gap_count = 0;
        for seed in 0..200 {
            let family = hard(seed);
            let problem = family.problem(seed);
            problem.check().unwrap();
            assert_eq!(problem.contacts.len(), family.contact_count);
            let ids: BTreeSet<_> = problem.contacts.iter().map(|contact| contact.id).collect();
            assert_eq!(ids.len(), family.contact_count, "seed {seed}: identities are distinct");
            for contact in &problem.contacts {
                assert!((0.0..30.0).contains(&contact.mu) && (0.0..LARGEST_GAP).contains(&contact.normal_bias));
                assert_eq!(contact.tangents.len(), if family.is_planar { 1 } else { 2 });
                gap_count += usize::from(contact.normal_bias > 0.0);
            }
            let again = family.problem(seed);
            assert_eq!(again.contacts, problem.contacts, "seed {seed}");
            assert_eq!(again.free_motion, problem.free_motion, "seed {seed}");
            assert_ne!(family.problem(seed + 1).free_motion, problem.free_motion, "seed {seed}");
        }
        // Of about 2000 contacts.
        assert!((400..800).contains(&gap_count), "{gap_count}");
    }

    #[test]
    fn the_mass_ratio_is_reached() {
        for seed in 0..50 {
            let family = RandomContacts { contact_count: 5, mass_ratio: 1e6, mass_scale: 1e3, ..Default::default() };
            let problem = family.problem(seed);
            let masses: Vec<f64> = (0..3).map(|body| problem.inertia.entry(6 * body, 6 * body)).collect();
            let (lightest, heaviest) =
                masses.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &mass| (low.min(mass), high.max(mass)));
            // Up to the masses of 0.5 to 2 kg themselves.
            assert!((0.25e6..4e6).contains(&(heaviest / lightest)), "seed {seed}: {masses:?}");
            assert!((0.5e3..2e3).contains(&lightest), "seed {seed}: {masses:?}");
        }
    }

    #[test]
    fn repeated_contacts_depend_on_each_other() {
        // Two contacts of one body, the second an exact copy of the first or on a line through it.
        let family = RandomContacts { contact_count: 2, redundant_share: 1.0, ..Default::default() };
        let (mut copies, mut shifted) = (0, 0);
        for seed in 0..200 {
            let problem = family.problem(seed);
            let [first, second] = [&problem.contacts[0], &problem.contacts[1]];
            // Translations see no difference between them.
            assert_eq!(first.normal.entries()[..3], second.normal.entries()[..3], "seed {seed}");
            if first.normal == second.normal { copies += 1 } else { shifted += 1 }
        }
        // Half are copies, and a fifth of the rest has the distance zero.
        assert!((90..150).contains(&copies) && (50..110).contains(&shifted), "{copies} {shifted}");
    }

    #[test]
    fn leaning_rods_with_large_friction_are_painleve_cases() {
        // n M⁻¹ (n + μ d) < 0 for a direction of friction d: pushing harder makes the contact point
        // approach.
        for is_planar in [true, false] {
            let (mut count, mut paradox_count) = (0, 0);
            for seed in 0..100 {
                let family = RandomContacts {
                    contact_count: 3,
                    bodies: BodyKind::Rods,
                    is_planar,
                    mu: [1.0, 30.0],
                    kick: 1.0,
                    ..Default::default()
                };
                let problem = family.problem(seed);
                for contact in &problem.contacts {
                    let mut solved = crate::Row::new();
                    problem.inertia.solve_row(contact.normal.entries(), &mut solved);
                    let mut push = vec![0.0; problem.free_motion.len()];
                    solved.add_to(1.0, &mut push);
                    let coupling = contact.tangents.iter().map(|row| row.dot(&push)).fold(0.0, f64::hypot);
                    count += 1;
                    paradox_count += usize::from(contact.normal.dot(&push) < contact.mu * coupling);
                }
            }
            assert!(2 * paradox_count > count, "planar {is_planar}: {paradox_count} of {count}");
        }
    }

    #[test]
    fn rods_are_hard_to_turn_across_and_easy_about_their_axis() {
        for seed in 0..20 {
            let family =
                RandomContacts { contact_count: 1, bodies: BodyKind::Rods, mu: [0.7, 0.7], ..Default::default() };
            let problem = family.problem(seed);
            assert_eq!(problem.contacts[0].mu, 0.7);
            let mass = problem.inertia.entry(0, 0);
            let entry = |i: usize, j: usize| problem.inertia.entry(3 + i, 3 + j);
            // The moments are (across, across, along): trace and sum of squares tell them apart.
            let trace = (0..3).map(|i| entry(i, i)).sum::<f64>();
            let squares = (0..9).map(|k| entry(k / 3, k % 3).powi(2)).sum::<f64>();
            // 2 c + a = trace, 2 c² + a² = squares, and c > a.
            let across = (2.0 * trace + (6.0 * squares - 2.0 * trace * trace).max(0.0).sqrt()) / 6.0;
            let along = trace - 2.0 * across;
            // m r²/2 with 1 to 5 cm, and m (l²/12 + r²/4) with a length of 0.6 to 1.4 m.
            assert!((0.00005..0.00125).contains(&(along / mass)), "seed {seed}: {along} {mass}");
            assert!((0.03..0.165).contains(&(across / mass)), "seed {seed}: {across} {mass}");
        }
    }

    #[test]
    fn contacts_in_a_row_are_shifted_on_both_bodies() {
        // The second of two contacts between bodies: its points on both are moved along one tangent
        // by the same multiple of 0.25 m.
        let family = RandomContacts { contact_count: 12, redundant_share: 0.9, ..Default::default() };
        let mut shifted = 0;
        for seed in 0..20 {
            let problem = family.problem(seed);
            for (i, contact) in problem.contacts.iter().enumerate() {
                let entries = contact.normal.entries();
                let same = |other: &&crate::ContactCondition| {
                    other.normal.entries().len() == 12
                        && [0, 6].iter().all(|&k| other.normal.entries()[k] == entries[k])
                        && other.normal.entries()[1..3] == entries[1..3]
                };
                let earlier = problem.contacts[..i].iter().find(|other| entries.len() == 12 && same(other));
                let Some(earlier) = earlier else { continue };
                // The moments of the normal rows change by the same shift, with opposite signs.
                for k in 3..6 {
                    let change = |from: usize| entries[from + k].1 - earlier.normal.entries()[from + k].1;
                    assert!((change(0) + change(6)).abs() < 1e-14, "seed {seed}");
                    shifted += usize::from(change(0).abs() > 0.01);
                }
            }
        }
        assert!(shifted > 20, "{shifted}");
    }
}

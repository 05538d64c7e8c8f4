//! Problems made from a seed, in the space of the bodies: random contacts, towers, chains. (Those
//! of mechanics, with walls, arches and piles, are in `stiction-dynamics`.)
//!
//! One velocity step of 0.01 s: the free velocity is kick · uniform(-1, 1) per component plus
//! gravity · h, and gaps are zero.
#![allow(dead_code, clippy::type_complexity)]

use stiction_solve::cone::{Cone, GlobalConeProblem};

pub mod collection;
pub mod known;

pub const STEP: f64 = 0.01;
pub const GRAVITY: f64 = 9.81;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count as u64) as usize
    }
}

pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = a.iter().map(|x| x * x).sum::<f64>().sqrt();
    a.map(|x| x / length)
}

/// The normal and two tangents.
pub fn frame(normal: [f64; 3]) -> [[f64; 3]; 3] {
    let other = if normal[1].abs() < 0.9 { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
    let first = unit(cross(other, normal));
    [normal, first, cross(normal, first)]
}

/// Bodies with masses and free velocities, then contacts.
#[derive(Default)]
pub struct Assembly {
    masses: Vec<(f64, [f64; 3])>,
    velocities: Vec<[f64; 6]>,
    contacts: Vec<(usize, [f64; 3], Option<(usize, [f64; 3])>, [[f64; 3]; 3], f64, f64)>,
    joints: Vec<(usize, [f64; 3], Option<(usize, [f64; 3])>)>,
}

impl Assembly {
    pub fn push_body(&mut self, mass: f64, inertia: [f64; 3], velocity: [f64; 6]) -> usize {
        self.masses.push((mass, inertia));
        self.velocities.push(velocity);
        self.masses.len() - 1
    }

    /// A body with a random free velocity, and gravity.
    pub fn push_kicked(&mut self, mass: f64, inertia: [f64; 3], kick: f64, random: &mut Random) -> usize {
        let mut velocity = [0.0; 6].map(|_: f64| random.uniform(-kick, kick));
        velocity[2] -= GRAVITY * STEP;
        self.push_body(mass, inertia, velocity)
    }

    pub fn push_contact(
        &mut self,
        first: (usize, [f64; 3]),
        second: Option<(usize, [f64; 3])>,
        normal: [f64; 3],
        bias: f64,
        mu: f64,
    ) {
        self.contacts.push((first.0, first.1, second, frame(normal), bias, mu));
    }

    pub fn push_ball_joint(&mut self, first: (usize, [f64; 3]), second: Option<(usize, [f64; 3])>) {
        self.joints.push((first.0, first.1, second));
    }

    pub fn contact_count(&self) -> usize {
        self.contacts.len()
    }

    pub fn finish(&self) -> GlobalConeProblem {
        let mut problem = GlobalConeProblem::default();
        problem.clear(6 * self.masses.len());
        for (body, ((mass, inertia), velocity)) in self.masses.iter().zip(&self.velocities).enumerate() {
            for k in 0..6 {
                let value = if k < 3 { *mass } else { inertia[k - 3] };
                problem.push_mass(6 * body + k, 6 * body + k, value);
                problem.force_mut()[6 * body + k] = value * velocity[k];
            }
        }
        let row = |first: (usize, [f64; 3]), second: Option<(usize, [f64; 3])>, direction: [f64; 3]| {
            let mut row = Vec::with_capacity(12);
            for ((body, arm), sign) in [(first, 1.0)].into_iter().chain(second.map(|second| (second, -1.0))) {
                let moment = cross(arm, direction);
                (0..3).for_each(|k| row.push((6 * body + k, sign * direction[k])));
                (0..3).for_each(|k| row.push((6 * body + 3 + k, sign * moment[k])));
            }
            row
        };
        for &(body, arm, second, frame, bias, mu) in &self.contacts {
            let rows = frame.map(|direction| row((body, arm), second, direction));
            problem.push_contact(Cone::coulomb(mu), rows, [bias, 0.0, 0.0]);
        }
        for &(body, arm, second) in &self.joints {
            for direction in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
                problem.push_joint(row((body, arm), second, direction), 0.0);
            }
        }
        problem
    }
}

pub fn box_inertia(mass: f64, half: [f64; 3]) -> [f64; 3] {
    let [x, y, z] = half.map(|half| half * half * mass / 3.0);
    [y + z, x + z, x + y]
}

/// Boxes with random contacts.
pub fn random(contacts: usize, seed: u64) -> GlobalConeProblem {
    let mut random = Random(seed);
    let mut assembly = Assembly::default();
    let bodies = (contacts as f64 / 2.3).ceil() as usize;
    for _ in 0..bodies {
        let mass = random.uniform(0.5, 2.0);
        let half = [0.0; 3].map(|_: f64| random.uniform(0.3, 0.6));
        assembly.push_kicked(mass, box_inertia(mass, half), 0.3, &mut random);
    }
    for number in 0..contacts {
        let body = number % bodies;
        let normal = unit([random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), 1.0]);
        let arm = |random: &mut Random, z| [random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), z];
        let first = (body, arm(&mut random, -0.4));
        let second = if body == 0 || random.uniform(0.0, 1.0) < 0.35 {
            None
        } else {
            Some((body - 1 - random.below(body.min(4)), arm(&mut random, 0.4)))
        };
        let mu = random.uniform(0.2, 0.9);
        assembly.push_contact(first, second, normal, 0.0, mu);
    }
    assembly.finish()
}

/// Unit cubes of 1 kg on top of each other, the top one with another mass.
pub fn tower(levels: usize, top_mass: f64, seed: u64) -> GlobalConeProblem {
    let mut random = Random(seed);
    let mut assembly = Assembly::default();
    for level in 0..levels {
        let mass = if level + 1 == levels { top_mass } else { 1.0 };
        assembly.push_kicked(mass, box_inertia(mass, [0.5; 3]), 0.05, &mut random);
        for (x, y) in [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)] {
            let second = level.checked_sub(1).map(|below| (below, [x, y, 0.5]));
            assembly.push_contact((level, [x, y, -0.5]), second, [0.0, 0.0, 1.0], 0.0, 0.5);
        }
    }
    assembly.finish()
}

/// A chain of boxes with ball joints that lies on the ground, two contacts a link.
pub fn chain(links: usize, seed: u64) -> GlobalConeProblem {
    let mut random = Random(seed);
    let mut assembly = Assembly::default();
    for link in 0..links {
        assembly.push_kicked(1.0, box_inertia(1.0, [0.5, 0.1, 0.1]), 0.3, &mut random);
        for x in [-0.4, 0.4] {
            assembly.push_contact((link, [x, 0.0, -0.1]), None, [0.0, 0.0, 1.0], 0.0, 0.5);
        }
        if link > 0 {
            assembly.push_ball_joint((link, [-0.5, 0.0, 0.0]), Some((link - 1, [0.5, 0.0, 0.0])));
        }
    }
    assembly.finish()
}

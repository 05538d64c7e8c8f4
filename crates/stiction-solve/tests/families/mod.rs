//! Problems made from a seed, in the space of the bodies: random contacts, towers, walls, arches, piles of spheres, chains.
//!
//! One velocity step of 0.01 s: the free velocity is kick · uniform(-1, 1) per component plus gravity · h, and gaps are zero.
#![allow(dead_code, clippy::type_complexity)]

use stiction_solve::cone::{Cone, GlobalConeProblem};

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

/// Bricks in running bond.
pub fn wall(rows: usize, columns: usize, seed: u64) -> GlobalConeProblem {
    let mut random = Random(seed);
    let mut assembly = Assembly::default();
    let half = [0.5, 0.25, 0.2];
    let centre = |row: usize, column: usize| (2 * column + row % 2) as f64 * half[0];
    for row in 0..rows {
        for column in 0..columns {
            let brick = assembly.push_kicked(1.0, box_inertia(1.0, half), 0.05, &mut random);
            let own = centre(row, column);
            let mut touch = |below: Option<(usize, f64)>, from: f64, to: f64| {
                for x in [from, to] {
                    for y in [-half[1], half[1]] {
                        let second = below.map(|(brick, centre)| (brick, [x - centre, y, half[2]]));
                        assembly.push_contact((brick, [x - own, y, -half[2]]), second, [0.0, 0.0, 1.0], 0.0, 0.6);
                    }
                }
            };
            if row == 0 {
                touch(None, own - half[0], own + half[0]);
                continue;
            }
            for other in 0..columns {
                let below = centre(row - 1, other);
                if (own - below).abs() < 1.5 * half[0] {
                    let (from, to) = (own.max(below) - half[0], own.min(below) + half[0]);
                    touch(Some(((row - 1) * columns + other, below)), from, to);
                }
            }
        }
    }
    assembly.finish()
}

/// Voussoirs of a semicircle.
pub fn arch(stones: usize, mu: f64, seed: u64) -> GlobalConeProblem {
    let mut random = Random(seed);
    let mut assembly = Assembly::default();
    let (inner, outer, half_width) = (4.0, 5.0, 0.5);
    let angle = std::f64::consts::PI / stones as f64;
    let middle = 0.5 * (inner + outer);
    let mass = middle * angle;
    let centre = |stone: usize| {
        let a = (stone as f64 + 0.5) * angle;
        [-middle * a.cos(), 0.0, middle * a.sin()]
    };
    let half = [0.5 * middle * angle, half_width, 0.5 * (outer - inner)];
    for _ in 0..stones {
        assembly.push_kicked(mass, box_inertia(mass, half), 0.02, &mut random);
    }
    for joint in 0..=stones {
        let a = joint as f64 * angle;
        // Along the arch, from its left end to its right one.
        let normal = [a.sin(), 0.0, a.cos()];
        for radius in [inner, outer] {
            for y in [-half_width, half_width] {
                let point = [-radius * a.cos(), y, radius * a.sin()];
                let arm = |stone: usize| {
                    let c = centre(stone);
                    [point[0] - c[0], point[1] - c[1], point[2] - c[2]]
                };
                if joint == stones {
                    assembly.push_contact((joint - 1, arm(joint - 1)), None, normal.map(|x| -x), 0.0, mu);
                } else {
                    let second = joint.checked_sub(1).map(|before| (before, arm(before)));
                    assembly.push_contact((joint, arm(joint)), second, normal, 0.0, mu);
                }
            }
        }
    }
    assembly.finish()
}

/// How spheres settle before their one step.
struct Settling {
    /// Whether the grid from which they fall fills the width of the box.
    fills_box: bool,
    /// Contacts of the crude steps are those with smaller gaps.
    reach: f64,
    /// Whether crude contacts close their gap, and push a tenth of an overlap apart, rather than only not approach each other.
    has_gap_term: bool,
    /// Sweeps of Gauss-Seidel in each crude step.
    sweeps: usize,
    /// Whether the one step begins with the velocities that are left, or at rest.
    keeps_velocities: bool,
}

/// Spheres that were dropped into an open box and settle in crude steps; then one step with gravity tilted, or not.
///
/// The family of SOLVERS.md, as far as it can be reconstructed: that text gives sizes, box, the number and length of the crude steps, the 2 mm, "no gap term". The layout,
/// the 30 sweeps, spin, and that the last step keeps the velocities are ours. Of some 20 such choices these come nearest to its counts of contacts (222, 422, 1074, 2209 for 100,
/// 200, 500, 1000 spheres; here 221, 423, 1130, 2360) and to the sweeps that plain Gauss-Seidel needs for 1e-8 (some 2000 at 200 spheres). Without the velocities, at rest, none of
/// them came near: see [`tight_pile`].
pub fn pile(spheres: usize, tilt: f64, seed: u64) -> GlobalConeProblem {
    let settling = Settling { fills_box: true, reach: 0.002, has_gap_term: false, sweeps: 30, keeps_velocities: true };
    settled_pile(spheres, tilt, seed, &settling)
}

/// The same with a gap term and at rest: spheres touch without overlap, most contacts carry and few slide much. Much harder: plain Gauss-Seidel hardly reaches 1e-4 at 200 spheres.
pub fn tight_pile(spheres: usize, tilt: f64, seed: u64) -> GlobalConeProblem {
    let settling = Settling { fills_box: false, reach: 0.02, has_gap_term: true, sweeps: 15, keeps_velocities: false };
    settled_pile(spheres, tilt, seed, &settling)
}

fn settled_pile(spheres: usize, tilt: f64, seed: u64, settling: &Settling) -> GlobalConeProblem {
    let mut random = Random(seed);
    let side = (1.05 * (spheres as f64).cbrt()).ceil().max(3.0);
    let mut radius = Vec::new();
    let mut position = Vec::new();
    let per_side = (side / 1.12).floor() as usize;
    let pitch = if settling.fills_box { side / per_side as f64 } else { 1.12 };
    for number in 0..spheres {
        radius.push(random.uniform(0.42, 0.55));
        let (layer, rest) = (number / (per_side * per_side), number % (per_side * per_side));
        let jitter = [0.0; 3].map(|_: f64| random.uniform(-0.04, 0.04));
        position.push([
            0.5 * pitch + pitch * (rest % per_side) as f64 + jitter[0],
            0.5 * pitch + pitch * (rest / per_side) as f64 + jitter[1],
            0.56 + 1.12 * layer as f64 + jitter[2],
        ]);
    }
    let mut velocity = vec![[0.0f64; 3]; spheres];
    let h = 0.005;
    let pairs = |position: &[[f64; 3]], radius: &[f64], reach: f64| {
        // A grid of cells as large as the largest sphere.
        let cell = 1.12;
        let key = |p: &[f64; 3]| p.map(|x| (x / cell).floor() as i32);
        let mut cells: std::collections::BTreeMap<[i32; 3], Vec<usize>> = Default::default();
        position.iter().enumerate().for_each(|(i, p)| cells.entry(key(p)).or_default().push(i));
        let mut found = Vec::new();
        for (i, p) in position.iter().enumerate() {
            let [x, y, z] = key(p);
            for (dx, dy, dz) in (-1..=1).flat_map(|a| (-1..=1).flat_map(move |b| (-1..=1).map(move |c| (a, b, c)))) {
                for &j in cells.get(&[x + dx, y + dy, z + dz]).into_iter().flatten().filter(|&&j| j > i) {
                    let d: f64 = (0..3).map(|k| (p[k] - position[j][k]).powi(2)).sum::<f64>().sqrt();
                    if d < radius[i] + radius[j] + reach {
                        found.push((i, j));
                    }
                }
            }
        }
        found
    };
    // 400 crude steps: impulses by a few sweeps from zero, friction of 0.4 with the spheres' spin.
    let mut spin = vec![[0.0f64; 3]; spheres];
    let walls = [(2, 1.0), (0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)];
    for _ in 0..400 {
        velocity.iter_mut().for_each(|v| v[2] -= GRAVITY * h);
        // First, second, normal, gap, and the impulse so far.
        let mut touching: Vec<(usize, Option<usize>, [f64; 3], f64, f64, [f64; 3])> = Vec::new();
        for (i, j) in pairs(&position, &radius, settling.reach) {
            let d: [f64; 3] = std::array::from_fn(|k| position[i][k] - position[j][k]);
            let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            touching.push((i, Some(j), d.map(|x| x / length), length - radius[i] - radius[j], 0.0, [0.0; 3]));
        }
        for i in 0..spheres {
            for (axis, sign) in walls {
                let wall = if sign > 0.0 { position[i][axis] } else { side - position[i][axis] };
                if wall - radius[i] < settling.reach {
                    let normal = std::array::from_fn(|k| if k == axis { sign } else { 0.0 });
                    touching.push((i, None, normal, wall - radius[i], 0.0, [0.0; 3]));
                }
            }
        }
        for _ in 0..settling.sweeps {
            for (i, j, normal, gap, push, drag) in &mut touching {
                let i = *i;
                let mass = |body: usize| 8.0 * radius[body].powi(3);
                let point = |velocity: &[[f64; 3]], spin: &[[f64; 3]], body: usize, sign: f64| {
                    let turn = cross(spin[body], normal.map(|x| -sign * radius[body] * x));
                    std::array::from_fn::<f64, 3, _>(|k| velocity[body][k] + turn[k])
                };
                let mut rate = point(&velocity, &spin, i, 1.0);
                let mut inverse = 1.0 / mass(i);
                if let Some(j) = *j {
                    let other = point(&velocity, &spin, j, -1.0);
                    (0..3).for_each(|k| rate[k] -= other[k]);
                    inverse += 1.0 / mass(j);
                }
                let along: f64 = (0..3).map(|k| rate[k] * normal[k]).sum();
                let bias = match settling.has_gap_term {
                    true if *gap > 0.0 => *gap / h,
                    true => 0.1 * *gap / h,
                    false => 0.0,
                };
                let new_push = (*push - (along + bias) / inverse).max(0.0);
                // A solid sphere is 1 + 5/2 times as easy to move at its surface, sideways.
                let mut new_drag: [f64; 3] =
                    std::array::from_fn(|k| drag[k] - (rate[k] - along * normal[k]) / (3.5 * inverse));
                let length = new_drag.iter().map(|x| x * x).sum::<f64>().sqrt();
                if length > 0.4 * new_push {
                    new_drag = new_drag.map(|x| x * 0.4 * new_push / length);
                }
                let change: [f64; 3] = std::array::from_fn(|k| (new_push - *push) * normal[k] + new_drag[k] - drag[k]);
                (*push, *drag) = (new_push, new_drag);
                for (body, sign) in [(i, 1.0)].into_iter().chain(j.map(|j| (j, -1.0))) {
                    let turn = cross(normal.map(|x| -sign * radius[body] * x), change.map(|x| sign * x));
                    let inertia = 0.4 * mass(body) * radius[body] * radius[body];
                    for k in 0..3 {
                        velocity[body][k] += sign * change[k] / mass(body);
                        spin[body][k] += turn[k] / inertia;
                    }
                }
            }
        }
        for i in 0..spheres {
            (0..3).for_each(|k| position[i][k] += h * velocity[i][k]);
        }
    }
    let mut assembly = Assembly::default();
    for i in 0..spheres {
        let mass = 8.0 * radius[i].powi(3);
        let inertia = 0.4 * mass * radius[i] * radius[i];
        let fall = GRAVITY * STEP;
        let mut free = [fall * tilt.sin(), 0.0, -fall * tilt.cos(), 0.0, 0.0, 0.0];
        if settling.keeps_velocities {
            (0..3).for_each(|k| (free[k], free[3 + k]) = (free[k] + velocity[i][k], spin[i][k]));
        }
        assembly.push_body(mass, [inertia; 3], free);
    }
    for (i, j) in pairs(&position, &radius, 0.002) {
        let d: [f64; 3] = std::array::from_fn(|k| position[i][k] - position[j][k]);
        let normal = unit(d);
        let arms = (normal.map(|x| -radius[i] * x), normal.map(|x| radius[j] * x));
        assembly.push_contact((i, arms.0), Some((j, arms.1)), normal, 0.0, 0.4);
    }
    for i in 0..spheres {
        for (axis, sign) in walls {
            let wall = if sign > 0.0 { position[i][axis] } else { side - position[i][axis] };
            if wall - radius[i] < 0.002 {
                let mut normal = [0.0; 3];
                normal[axis] = sign;
                assembly.push_contact((i, normal.map(|x| -radius[i] * x)), None, normal, 0.0, 0.4);
            }
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

//! Spheres in a box.

use std::collections::BTreeMap;

use super::bodies::{Assembly, Touch, along, cross, frame, unit};
use super::{GRAVITY, Generator, STEP};
use crate::ContactProblem;

/// Length of a crude step, in s, and their number.
const CRUDE_STEP: f64 = 0.005;
const CRUDE_STEPS: usize = 400;

/// Spheres nearer than this touch, in m.
const REACH: f64 = 0.002;

/// Coefficient of friction, and the range of radii, in m.
const MU: f64 = 0.4;
const RADII: [f64; 2] = [0.42, 0.55];

/// Extent of a cell of the grid in which neighbours are found, in m: no sphere is larger.
const CELL: f64 = 1.12;

/// Part of an overlap that a crude step of a tight pile takes back.
const PUSH_BACK: f64 = 0.1;

/// The floor and four walls: axis, and direction of the normal.
const WALLS: [(usize, f64); 5] = [(2, 1.0), (0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)];

/// Spheres of 0.42 to 0.55 m that were dropped into an open box and settled for two seconds in
/// crude steps (a few Gauss-Seidel sweeps each); then one step in which gravity may be tilted.
///
/// Where they still move a little, most methods solve the problem. A tight pile is at rest, its
/// spheres touch without overlap, most contacts carry and few slide much: much harder, because the
/// curve of smoothed solutions that leads to a solution turns back many times, and plain
/// Gauss-Seidel hardly moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Pile {
    /// Number of spheres.
    pub spheres: usize,
    /// Angle by which gravity is tilted in the step, in rad.
    pub tilt: f64,
    /// Whether the spheres are at rest and do not overlap.
    pub is_tight: bool,
}

impl Default for Pile {
    fn default() -> Self {
        Self { spheres: 200, tilt: 0.3, is_tight: false }
    }
}

/// Two spheres, or one and a wall, with the impulse so far.
struct CrudeContact {
    first: usize,
    second: Option<usize>,
    normal: [f64; 3],
    gap: f64,
    push: f64,
    drag: [f64; 3],
}

struct Spheres {
    side: f64,
    radius: Vec<f64>,
    position: Vec<[f64; 3]>,
    velocity: Vec<[f64; 3]>,
    spin: Vec<[f64; 3]>,
}

impl Pile {
    /// The problem of a seed.
    pub fn problem(&self, seed: u64) -> ContactProblem {
        let mut spheres = self.layers(seed);
        for _ in 0..CRUDE_STEPS {
            self.settle(&mut spheres);
        }
        let mut assembly = Assembly::new(false);
        let fall = GRAVITY * STEP;
        for i in 0..self.spheres {
            let moment = 0.4 * spheres.mass(i) * spheres.radius[i] * spheres.radius[i];
            let inertia = [[moment, 0.0, 0.0], [0.0, moment, 0.0], [0.0, 0.0, moment]];
            let mut velocity = [fall * self.tilt.sin(), 0.0, -fall * self.tilt.cos(), 0.0, 0.0, 0.0];
            if !self.is_tight {
                velocity[..3].iter_mut().zip(spheres.velocity[i]).for_each(|(v, own)| *v += own);
                velocity[3..].copy_from_slice(&spheres.spin[i]);
            }
            assembly.push_moving_body(spheres.mass(i), inertia, velocity);
        }
        for contact in spheres.contacts(REACH) {
            let arm = |body: usize, sign: f64| (body, contact.normal.map(|x| sign * spheres.radius[body] * x));
            assembly.push_contact(&Touch {
                first: arm(contact.first, -1.0),
                second: contact.second.map(|second| arm(second, 1.0)),
                frame: frame(contact.normal),
                normal_bias: 0.0,
                mu: MU,
            });
        }
        assembly.finish()
    }

    /// Layer above layer, with some disorder.
    fn layers(&self, seed: u64) -> Spheres {
        let mut random = Generator::new(seed);
        let side = (1.05 * (self.spheres as f64).cbrt()).ceil().max(3.0);
        let per_side = (side / CELL).floor() as usize;
        let pitch = if self.is_tight { CELL } else { side / per_side as f64 };
        let (mut radius, mut position) = (Vec::new(), Vec::new());
        for number in 0..self.spheres {
            radius.push(random.uniform(RADII[0], RADII[1]));
            let (layer, rest) = (number / (per_side * per_side), number % (per_side * per_side));
            let cell = [(rest % per_side) as f64, (rest / per_side) as f64, layer as f64];
            position.push(std::array::from_fn(|k| {
                let pitch = if k == 2 { CELL } else { pitch };
                pitch * (cell[k] + 0.5) + random.uniform(-0.04, 0.04)
            }));
        }
        let still = vec![[0.0; 3]; self.spheres];
        Spheres { side, radius, position, velocity: still.clone(), spin: still }
    }

    /// One crude step: some sweeps from zero impulses.
    fn settle(&self, spheres: &mut Spheres) {
        let (reach, sweeps) = if self.is_tight { (10.0 * REACH, 15) } else { (REACH, 30) };
        spheres.velocity.iter_mut().for_each(|v| v[2] -= GRAVITY * CRUDE_STEP);
        let mut contacts = spheres.contacts(reach);
        for _ in 0..sweeps {
            for contact in &mut contacts {
                let bias = match self.is_tight {
                    true if contact.gap > 0.0 => contact.gap / CRUDE_STEP,
                    true => PUSH_BACK * contact.gap / CRUDE_STEP,
                    false => 0.0,
                };
                spheres.push_apart(contact, bias);
            }
        }
        for (position, velocity) in spheres.position.iter_mut().zip(&spheres.velocity) {
            *position = along(*position, CRUDE_STEP, *velocity);
        }
    }
}

impl Spheres {
    fn mass(&self, sphere: usize) -> f64 {
        8.0 * self.radius[sphere].powi(3)
    }

    /// What is nearer than this, the spheres among each other first.
    fn contacts(&self, reach: f64) -> Vec<CrudeContact> {
        let key = |p: &[f64; 3]| p.map(|x| (x / CELL).floor() as i32);
        let mut cells: BTreeMap<[i32; 3], Vec<usize>> = BTreeMap::new();
        self.position.iter().enumerate().for_each(|(i, p)| cells.entry(key(p)).or_default().push(i));
        let mut found = Vec::new();
        let mut push = |first, second, normal, gap| {
            if gap < reach {
                found.push(CrudeContact { first, second, normal, gap, push: 0.0, drag: [0.0; 3] });
            }
        };
        let around = || (-1..=1).flat_map(|x| (-1..=1).flat_map(move |y| (-1..=1).map(move |z| [x, y, z])));
        for (i, p) in self.position.iter().enumerate() {
            let own = key(p);
            for step in around() {
                let cell = std::array::from_fn(|k| own[k] + step[k]);
                for &j in cells.get(&cell).into_iter().flatten().filter(|&&j| j > i) {
                    let between = along(*p, -1.0, self.position[j]);
                    let distance = between.iter().map(|x| x * x).sum::<f64>().sqrt();
                    push(i, Some(j), unit(between), distance - self.radius[i] - self.radius[j]);
                }
            }
        }
        for (i, p) in self.position.iter().enumerate() {
            for (axis, sign) in WALLS {
                let height = if sign > 0.0 { p[axis] } else { self.side - p[axis] };
                let normal = std::array::from_fn(|k| if k == axis { sign } else { 0.0 });
                push(i, None, normal, height - self.radius[i]);
            }
        }
        found
    }

    /// Velocity of the point of a sphere that lies against the normal times the sign.
    fn point_velocity(&self, sphere: usize, normal: [f64; 3], sign: f64) -> [f64; 3] {
        let turn = cross(self.spin[sphere], normal.map(|x| -sign * self.radius[sphere] * x));
        along(self.velocity[sphere], 1.0, turn)
    }

    /// Corrects the impulse of one contact, normal first.
    fn push_apart(&mut self, contact: &mut CrudeContact, bias: f64) {
        let CrudeContact { first, second, normal, .. } = *contact;
        let mut rate = self.point_velocity(first, normal, 1.0);
        let mut mobility = 1.0 / self.mass(first);
        if let Some(second) = second {
            rate = along(rate, -1.0, self.point_velocity(second, normal, -1.0));
            mobility += 1.0 / self.mass(second);
        }
        let approach: f64 = (0..3).map(|k| rate[k] * normal[k]).sum();
        let push = (contact.push - (approach + bias) / mobility).max(0.0);
        // A solid sphere is 1 + 5/2 times as easy to move at its surface, sideways.
        let slip = along(rate, -approach, normal);
        let mut drag = along(contact.drag, -1.0 / (3.5 * mobility), slip);
        let length = drag.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > MU * push {
            drag = drag.map(|x| x * MU * push / length);
        }
        let change: [f64; 3] = std::array::from_fn(|k| (push - contact.push) * normal[k] + drag[k] - contact.drag[k]);
        (contact.push, contact.drag) = (push, drag);
        for (body, sign) in [(first, 1.0)].into_iter().chain(second.map(|second| (second, -1.0))) {
            let impulse = change.map(|x| sign * x);
            let turn = cross(normal.map(|x| -sign * self.radius[body] * x), impulse);
            let moment = 0.4 * self.mass(body) * self.radius[body] * self.radius[body];
            self.velocity[body] = along(self.velocity[body], 1.0 / self.mass(body), impulse);
            self.spin[body] = along(self.spin[body], 1.0 / moment, turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pile_fills_its_box_and_rests_on_its_floor() {
        for is_tight in [false, true] {
            let pile = Pile { spheres: 60, is_tight, ..Default::default() };
            let mut spheres = pile.layers(3);
            (0..CRUDE_STEPS).for_each(|_| pile.settle(&mut spheres));
            for (p, r) in spheres.position.iter().zip(&spheres.radius) {
                assert!((0..3).all(|k| p[k] > r - 0.05 && (k == 2 || p[k] < spheres.side - r + 0.05)), "{p:?} {r}");
            }
            // It carries its weight: fewer contacts could not.
            let problem = pile.problem(3);
            problem.check().unwrap();
            assert!((90..240).contains(&problem.contacts.len()), "{}", problem.contacts.len());
            assert!(problem.contacts.iter().filter(|contact| contact.normal.entries().len() == 6).count() > 15);
            // A sphere that turns rubs on what it touches by its radius, away from the axis; the
            // mass tells the radius. Two that turn the same way rub twice.
            let turning: Vec<f64> = (0..360).map(|i| if i % 6 == 4 { 1.0 } else { 0.0 }).collect();
            for contact in &problem.contacts {
                let bodies: Vec<usize> = contact.normal.entries().iter().step_by(6).map(|(i, _)| i / 6).collect();
                let radii: f64 =
                    bodies.iter().map(|&body| 0.5 * problem.inertia.entry(6 * body, 6 * body).cbrt()).sum();
                let normal: Vec<f64> = contact.normal.entries()[..3].iter().map(|(_, n)| *n).collect();
                // The axis is y: cross(y, -normal) times the radii, along the tangents.
                let expected = [-normal[2] * radii, 0.0, normal[0] * radii];
                for (row, slip) in contact.tangents.iter().zip(contact.slip(&turning)) {
                    let along: f64 = row.entries()[..3].iter().zip(expected).map(|((_, t), x)| t * x).sum();
                    assert!((slip - along).abs() < 1e-12, "{slip} {along}");
                }
            }
            // A contact of two spheres turns with both of them; the pile that rises as one loses
            // the floor only.
            let rise: Vec<f64> = (0..360).map(|i| if i % 6 == 2 { 1.0 } else { 0.0 }).collect();
            for contact in &problem.contacts {
                let rate = contact.normal_rate(&rise);
                assert!(if contact.normal.entries().len() == 12 { rate.abs() < 1e-14 } else { rate >= 0.0 });
            }
        }
    }

    #[test]
    fn spheres_are_solid_and_gravity_is_tilted() {
        let fall = GRAVITY * STEP;
        for is_tight in [false, true] {
            let pile = Pile { spheres: 30, tilt: 0.3, is_tight };
            let problem = pile.problem(3);
            assert!(problem.contacts.iter().all(|contact| contact.mu == 0.4));
            let mut spins = 0;
            for sphere in 0..30 {
                // m = 8 r³, and 2/5 m r².
                let mass = problem.inertia.entry(6 * sphere, 6 * sphere);
                let radius = 0.5 * mass.cbrt();
                assert!((0.42..0.55).contains(&radius));
                for k in 3..6 {
                    let moment = problem.inertia.entry(6 * sphere + k, 6 * sphere + k);
                    assert!((moment - 0.4 * mass * radius * radius).abs() < 1e-14);
                }
                let motion = &problem.free_motion[6 * sphere..6 * sphere + 6];
                spins += usize::from(motion[3..].iter().any(|spin| *spin != 0.0));
                if is_tight {
                    assert_eq!(motion[..3], [fall * 0.3f64.sin(), 0.0, -fall * 0.3f64.cos()]);
                }
            }
            // A tight pile is at rest, the other one still turns here and there.
            assert!(if is_tight { spins == 0 } else { spins > 10 }, "{spins}");
        }
    }
}

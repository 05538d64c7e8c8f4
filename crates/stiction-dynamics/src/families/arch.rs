//! A round arch.

use std::f64::consts::PI;

use super::Generator;
use super::bodies::{Assembly, Touch};
use crate::ContactProblem;

/// Radii of the inner and the outer face, in m.
const RADII: [f64; 2] = [4.0, 5.0];

/// Extent across the arch, in m.
const WIDTH: f64 = 1.0;

/// A semicircular arch of equal voussoirs with four contacts a joint; both springings stand on the
/// ground.
///
/// The radii are 4 and 5 m, the width is 1 m, and the mass of a voussoir in kg is its length in m
/// along the middle of the arch. Its inertia is that of the straight box with these extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Arch {
    /// Number of voussoirs.
    pub voussoirs: usize,
    /// Coefficient of friction.
    pub mu: f64,
    /// Largest random velocity, in m/s and rad/s.
    pub kick: f64,
}

impl Default for Arch {
    fn default() -> Self {
        Self { voussoirs: 30, mu: 0.6, kick: 0.02 }
    }
}

impl Arch {
    /// The problem of a seed.
    pub fn problem(&self, seed: u64) -> ContactProblem {
        let mut random = Generator::new(seed);
        let mut assembly = Assembly::new(false);
        let radius = (RADII[0] + RADII[1]) / 2.0;
        // Angles go from the right springing, over the top, to the left one.
        let opening = PI / self.voussoirs as f64;
        let length = radius * opening;
        for voussoir in 0..self.voussoirs {
            let (sine, cosine) = (opening * (voussoir as f64 + 0.5)).sin_cos();
            // Along the radius, across the arch, along the arc.
            let [r, y, a] = [RADII[1] - RADII[0], WIDTH, length].map(|extent| extent * extent * length / 12.0);
            let (about_radius, about_y, about_arc) = (y + a, r + a, r + y);
            let (xx, zz) = (
                about_radius * cosine * cosine + about_arc * sine * sine,
                about_radius * sine * sine + about_arc * cosine * cosine,
            );
            let xz = (about_radius - about_arc) * sine * cosine;
            let inertia = [[xx, 0.0, xz], [0.0, about_y, 0.0], [xz, 0.0, zz]];
            assembly.push_body(length, inertia, self.kick, &mut random);
        }
        let centre = |voussoir: usize| {
            let (sine, cosine) = (opening * (voussoir as f64 + 0.5)).sin_cos();
            [radius * cosine, 0.0, radius * sine]
        };
        for joint in 0..=self.voussoirs {
            let (sine, cosine) = (opening * joint as f64).sin_cos();
            // The normal points along the arc to the voussoir that follows; at the left springing
            // the last one stands on the ground.
            let (first, second, sign) = match joint {
                0 => (0, None, 1.0),
                last if last == self.voussoirs => (last - 1, None, -1.0),
                joint => (joint, Some(joint - 1), 1.0),
            };
            let frame = [[-sign * sine, 0.0, sign * cosine], [cosine, 0.0, sine], [0.0, 1.0, 0.0]];
            for r in RADII {
                for y in [-WIDTH / 2.0, WIDTH / 2.0] {
                    let arm = |voussoir: usize| {
                        let [x, _, z] = centre(voussoir);
                        (voussoir, [r * cosine - x, y, r * sine - z])
                    };
                    assembly.push_contact(&Touch {
                        first: arm(first),
                        second: second.map(arm),
                        frame,
                        normal_bias: 0.0,
                        mu: self.mu,
                    });
                }
            }
        }
        assembly.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arch_stands_on_both_springings_and_weighs_its_length() {
        let problem = Arch { voussoirs: 30, ..Default::default() }.problem(5);
        problem.check().unwrap();
        assert_eq!((problem.contacts.len(), problem.free_motion.len()), (124, 180));
        let mass: f64 = (0..30).map(|voussoir| problem.inertia.entry(6 * voussoir, 6 * voussoir)).sum();
        assert!((mass - 4.5 * PI).abs() < 1e-12);
        // It rises as one body: the eight contacts with the ground open, no other moves.
        let rise: Vec<f64> = (0..180).map(|i| if i % 6 == 2 { 1.0 } else { 0.0 }).collect();
        let rates: Vec<f64> = problem.contacts.iter().map(|contact| contact.normal_rate(&rise)).collect();
        assert!(rates[..4].iter().chain(&rates[120..]).all(|rate| (rate - 1.0).abs() < 1e-15), "{rates:?}");
        assert!(rates[4..120].iter().all(|rate| rate.abs() < 1e-15));
    }

    #[test]
    fn the_arch_may_turn_as_one_body() {
        // About the middle between the springings: the joints do not notice.
        let arch = Arch { voussoirs: 7, ..Default::default() };
        let problem = arch.problem(5);
        let spin = [0.2, -0.3, 0.5];
        let mut motion = Vec::new();
        for voussoir in 0..7 {
            let (sine, cosine) = (PI / 7.0 * (voussoir as f64 + 0.5)).sin_cos();
            let velocity = crate::families::bodies::cross(spin, [4.5 * cosine, 0.0, 4.5 * sine]);
            motion.extend(velocity.into_iter().chain(spin));
        }
        for contact in &problem.contacts[4..28] {
            assert!(contact.normal_rate(&motion).abs() < 1e-14, "{contact:?}");
            assert!(contact.slip(&motion).iter().all(|slip| slip.abs() < 1e-14), "{contact:?}");
        }
    }

    #[test]
    fn voussoirs_have_the_inertia_of_boxes_along_the_arc() {
        let arch = Arch { voussoirs: 4, mu: 0.45, ..Default::default() };
        let problem = arch.problem(5);
        assert!(problem.contacts.iter().all(|contact| contact.mu == 0.45));
        for voussoir in 0..4 {
            let (sine, cosine) = (PI / 4.0 * (voussoir as f64 + 0.5)).sin_cos();
            let (radial, arc) = ([cosine, 0.0, sine], [-sine, 0.0, cosine]);
            let entry = |i: usize, j: usize| problem.inertia.entry(6 * voussoir + 3 + i, 6 * voussoir + 3 + j);
            let product = |a: [f64; 3], b: [f64; 3]| -> f64 {
                (0..3).flat_map(|i| (0..3).map(move |j| (i, j))).map(|(i, j)| a[i] * entry(i, j) * b[j]).sum()
            };
            // 1 m along the radius, 1 m across, and the length of the arc, which is also the mass.
            let length = 4.5 * PI / 4.0;
            assert!((product(radial, radial) - length * (1.0 + length * length) / 12.0).abs() < 1e-12);
            assert!((product(arc, arc) - length * (1.0 + 1.0) / 12.0).abs() < 1e-12);
            assert!(product(radial, arc).abs() < 1e-12);
            assert!((entry(1, 1) - length * (1.0 + length * length) / 12.0).abs() < 1e-12);
        }
    }
}

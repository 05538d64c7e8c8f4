//! From a cold start, neither the order of the contacts nor the units matter: where the motion is
//! unique, only rounding changes. Elsewhere the answers may differ, but both are answers.

use stiction_dynamics::families::Generator;
use stiction_dynamics::{ContactProblem, Inertia, Row};

use crate::cases::{Case, SAME_MOTION, family, solve_well, solver};
use crate::judge::Scale;
use crate::modes::motions;

/// Units of mass, length and time, as numbers of the new unit in the old one: g, lb, t; cm, ft, µm;
/// ms, min, 1/7 s.
const MASSES: [f64; 4] = [1e3, 1.0 / 0.45359237, 1e-3, 1.0];
const LENGTHS: [f64; 4] = [1e2, 1.0 / 0.3048, 1e6, 1.0];
const TIMES: [f64; 4] = [1e3, 1.0 / 60.0, 7.0, 1.0];

/// A problem in other units, and the factor of each coordinate of its motion.
fn in_units(problem: &ContactProblem, mass: f64, length: f64, time: f64) -> (ContactProblem, Vec<f64>) {
    // Linear velocities come first in the coordinates of a body: two of three in the plane, three
    // of six in space.
    let size = if problem.contacts[0].tangents.len() == 1 { 3 } else { 6 };
    let is_angular = |i: usize| if size == 3 { i % 3 == 2 } else { i % 6 >= 3 };
    let velocity = length / time;
    let count = problem.free_motion.len();
    let factors: Vec<f64> = (0..count).map(|i| if is_angular(i) { 1.0 / time } else { velocity }).collect();
    let mut inertia = Inertia::default();
    for start in (0..count).step_by(size) {
        let mut block = Vec::new();
        for i in start..start + size {
            for j in start..start + size {
                // The energy u_i W_ij u_j in its unit.
                block.push(problem.inertia.entry(i, j) * mass * velocity * velocity / (factors[i] * factors[j]));
            }
        }
        inertia.push_block(size, &block);
    }
    inertia.factor().unwrap();
    let row = |row: &Row| {
        let mut scaled = Row::new();
        row.entries().iter().for_each(|&(i, value)| scaled.push(i, value * if is_angular(i) { length } else { 1.0 }));
        scaled
    };
    let mut scaled = ContactProblem { inertia, ..problem.clone() };
    scaled.free_motion.iter_mut().zip(&factors).for_each(|(u, factor)| *u *= factor);
    for contact in &mut scaled.contacts {
        contact.normal = row(&contact.normal);
        contact.normal_bias *= velocity;
        contact.tangents = contact.tangents.iter().map(row).collect();
    }
    (scaled, factors)
}

#[test]
fn order_and_units_change_a_unique_motion_by_rounding_only() {
    let (mut count, mut unique_count) = (0, 0);
    for directions in [4, 8] {
        let mut solver = solver(directions, false);
        for (contact_count, seeds) in [(1, 200), (2, 400), (3, 60), (4, 200), (5, 200), (8, 300), (16, 50)] {
            for seed in 0..seeds {
                let case = Case::new(family(seed, contact_count), seed, directions);
                let problem = &case.problem;
                let plain = solve_well(&mut solver, problem, directions, &case.name);

                let mut random = Generator::new(seed);
                let order = random.permutation(contact_count);
                let mut permuted = problem.clone();
                permuted.contacts = order.iter().map(|&i| problem.contacts[i].clone()).collect();
                let name = format!("order {order:?}, {}", case.name);
                let permuted = solve_well(&mut solver, &permuted, directions, &name);

                let [mass, length, time] = [MASSES, LENGTHS, TIMES].map(|units| units[random.below(units.len())]);
                let (other, factors) = in_units(problem, mass, length, time);
                let name = format!("mass · {mass}, length · {length}, time · {time}, {}", case.name);
                let other = solve_well(&mut solver, &other, directions, &name);
                let back: Vec<f64> = other.motion.iter().zip(&factors).map(|(u, factor)| u / factor).collect();

                count += 1;
                if motions(problem, directions).is_some_and(|motions| motions.unique().is_some()) {
                    unique_count += 1;
                    let scale = Scale::of(problem);
                    for (what, motion) in [("order", &permuted.motion), ("units", &back)] {
                        let distance = scale.distance(problem, &plain.motion, motion);
                        assert!(distance <= SAME_MOTION, "{}: {what} moves it by {distance:e}", case.name);
                    }
                }
            }
        }
    }
    println!("{unique_count} of {count} motions were shown to be unique");
    assert!(unique_count > 1000, "{unique_count} of {count} motions were shown to be unique");
}

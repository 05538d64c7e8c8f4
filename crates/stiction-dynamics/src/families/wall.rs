//! A wall of bricks.

use super::Generator;
use super::bodies::{Assembly, Touch, box_inertia, frame};
use crate::ContactProblem;

/// Half extents of a brick, in m: along the wall, across it, upwards.
const HALF_BRICK: [f64; 3] = [0.5, 0.25, 0.2];

/// A wall in running bond: every other course is shifted by half a brick, and where two bricks lie
/// on each other there are four contacts, at the corners of the overlap.
///
/// Bricks are 1 × 0.5 × 0.4 m and weigh 1 kg. All courses have as many bricks, so that one end of
/// each hangs over by half of its length: a wall of 10 × 10 has 10 + 9 · 19 overlaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Wall {
    /// Number of courses.
    pub rows: usize,
    /// Bricks of a course.
    pub columns: usize,
    /// Coefficient of friction.
    pub mu: f64,
    /// Largest random velocity, in m/s and rad/s.
    pub kick: f64,
}

impl Default for Wall {
    fn default() -> Self {
        Self { rows: 10, columns: 10, mu: 0.6, kick: 0.05 }
    }
}

impl Wall {
    /// The problem of a seed.
    pub fn problem(&self, seed: u64) -> ContactProblem {
        let mut random = Generator::new(seed);
        let mut assembly = Assembly::new(false);
        let [half_length, half_width, half_height] = HALF_BRICK;
        // Centres along the wall, in half bricks, so that overlaps are found without rounding.
        let centre = |row: usize, column: usize| 2 * column + row % 2;
        for row in 0..self.rows {
            for column in 0..self.columns {
                let brick = row * self.columns + column;
                assembly.push_body(1.0, box_inertia(1.0, HALF_BRICK), self.kick, &mut random);
                let own = centre(row, column);
                let mut touch = |below: Option<(usize, usize)>, from: usize, to: usize| {
                    // Places are counted from the left end of a brick whose centre is 0, so that
                    // none is negative.
                    let arm = |centre: usize, place: usize| (place as f64 - 1.0 - centre as f64) * half_length;
                    for place in [from, to] {
                        for y in [-half_width, half_width] {
                            assembly.push_contact(&Touch {
                                first: (brick, [arm(own, place), y, -half_height]),
                                second: below.map(|(brick, centre)| (brick, [arm(centre, place), y, half_height])),
                                frame: frame([0.0, 0.0, 1.0]),
                                normal_bias: 0.0,
                                mu: self.mu,
                            });
                        }
                    }
                };
                if row == 0 {
                    touch(None, own, own + 2);
                    continue;
                }
                for other in 0..self.columns {
                    let below = centre(row - 1, other);
                    if own.abs_diff(below) == 1 {
                        let from = own.max(below);
                        touch(Some(((row - 1) * self.columns + other, below)), from, from + 1);
                    }
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
    fn a_wall_has_the_contacts_of_its_overlaps() {
        for (rows, columns, contacts) in [(1, 1, 4), (2, 2, 20), (10, 10, 724), (15, 15, 1684)] {
            let problem = Wall { rows, columns, ..Default::default() }.problem(3);
            problem.check().unwrap();
            assert_eq!((problem.contacts.len(), problem.free_motion.len()), (contacts, 6 * rows * columns));
        }
    }

    #[test]
    fn the_whole_wall_may_turn_as_one_body() {
        // About its foot: only the contacts with the ground notice.
        let wall = Wall { rows: 3, columns: 2, ..Default::default() };
        let problem = wall.problem(3);
        let spin = 0.3;
        let mut motion = Vec::new();
        for row in 0..wall.rows {
            for column in 0..wall.columns {
                let (x, z) = ((2 * column + row % 2) as f64 * 0.5, 0.4 * row as f64 + 0.2);
                motion.extend([spin * z, 0.0, -spin * x, 0.0, spin, 0.0]);
            }
        }
        for contact in &problem.contacts[8..] {
            assert!(contact.normal_rate(&motion).abs() < 1e-15, "{contact:?}");
            assert!(contact.slip(&motion).iter().all(|slip| slip.abs() < 1e-15), "{contact:?}");
        }
        assert!(problem.contacts[0].normal_rate(&motion).abs() > 0.1);
    }
}

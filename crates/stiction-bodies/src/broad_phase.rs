//! Which shapes are near each other: a sweep along one axis over bounding spheres.
//!
//! The cost grows with the number of shapes and of near pairs, not with all pairs.

use glamx::DVec3;

/// A shape in the sweep.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: f64,
    high: f64,
    shape: usize,
}

/// The sweep, kept from call to call for its memory.
#[derive(Clone, Debug, Default)]
pub struct BroadPhase {
    intervals: Vec<Interval>,
    spheres: Vec<(DVec3, f64)>,
}

impl BroadPhase {
    /// Calls `visit` for every pair of spheres (centre, radius) whose surfaces are at most
    /// `horizon` apart, once, in an order that depends on the spheres alone. Spheres of infinite
    /// radius are near everything.
    pub fn for_each_near_pair(
        &mut self,
        spheres: impl Iterator<Item = (DVec3, f64)>,
        horizon: f64,
        mut visit: impl FnMut(usize, usize),
    ) {
        self.spheres.clear();
        self.spheres.extend(spheres);
        let axis = widest_axis(&self.spheres);
        self.intervals.clear();
        for (shape, &(centre, radius)) in self.spheres.iter().enumerate() {
            let reach = radius + 0.5 * horizon;
            self.intervals.push(Interval { low: centre[axis] - reach, high: centre[axis] + reach, shape });
        }
        self.intervals.sort_unstable_by(|a, b| a.low.total_cmp(&b.low).then(a.shape.cmp(&b.shape)));
        for (i, first) in self.intervals.iter().enumerate() {
            for second in &self.intervals[i + 1..] {
                if second.low > first.high {
                    break;
                }
                let (a, b) = (first.shape.min(second.shape), first.shape.max(second.shape));
                let ((centre_a, radius_a), (centre_b, radius_b)) = (self.spheres[a], self.spheres[b]);
                let reach = radius_a + radius_b + horizon;
                if centre_a.distance_squared(centre_b) <= reach * reach {
                    visit(a, b);
                }
            }
        }
    }
}

/// The axis along which the centres of the finite spheres spread most.
fn widest_axis(spheres: &[(DVec3, f64)]) -> usize {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for (centre, _) in spheres.iter().filter(|(_, radius)| radius.is_finite()) {
        low = low.min(*centre);
        high = high.max(*centre);
    }
    let spread = high - low;
    (0..3).fold(0, |widest, axis| if spread[axis] > spread[widest] { axis } else { widest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use stiction_dynamics::families::Generator;

    #[test]
    fn finds_exactly_the_near_pairs() {
        // A jittered cloud and one infinite sphere, against all pairs.
        let mut random = Generator::new(1);
        let mut spheres: Vec<(DVec3, f64)> = (0..60)
            .map(|_| {
                let centre = DVec3::from_array([10.0, 3.0, 3.0].map(|extent| random.uniform(0.0, extent)));
                (centre, random.uniform(0.1, 0.5))
            })
            .collect();
        spheres.push((DVec3::ZERO, f64::INFINITY));
        let horizon = 0.3;
        let mut found = BTreeSet::new();
        BroadPhase::default().for_each_near_pair(spheres.iter().copied(), horizon, |a, b| {
            assert!(found.insert((a, b)), "pair ({a}, {b}) twice");
        });
        let mut expected = BTreeSet::new();
        for a in 0..spheres.len() {
            for b in a + 1..spheres.len() {
                if spheres[a].0.distance(spheres[b].0) - spheres[a].1 - spheres[b].1 <= horizon {
                    expected.insert((a, b));
                }
            }
        }
        assert_eq!(found, expected);
        assert!(expected.len() > 100);
    }
}

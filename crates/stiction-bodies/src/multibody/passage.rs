//! Bodies that pass through each other between two configurations.
//!
//! Only solid bodies can: balls, capsules, cylinders. A half-space has no other side, and what
//! leaves a hole is outside of it for good. On the way positions go straight and orientations turn
//! evenly. The gap of a pair changes by at most the way $L$ of one relative to the other, so that
//! from a gap $g$ a depth $d$ is not reached before the share $(g + d)/L$ of the way: conservative
//! advancement, by steps that cannot miss.

use glamx::DVec3;
use stiction_dynamics::{Passage, Way};

use super::Multibody;
use super::contacts::{Part, Search, contact_id};
use crate::collide::Touch;
use crate::pose::Pose;
use crate::shape::Shape;

/// Bodies have passed through each other where they overlap on the way by more than this share of
/// the smaller one. Overlaps at the ends of the way are judged elsewhere. Too large: what cuts a
/// corner passes. Too small: two bodies that roll on each other seem to, as their way is not
/// straight.
const DEEP: f64 = 0.1;

/// Overlap at which two bodies have just closed, beside what they overlapped at the start, as a
/// share of the smaller one. Too large: a scheme on the velocity level keeps that penetration. Too
/// small: rounding of positions.
const CLOSED: f64 = 1e-4;

/// But no more than this share of the way, so that the error falls with the step.
const CLOSED_WAY: f64 = 1e-3;

/// A gap that is linearised at the end of the way may miss the place where the two close by this
/// share of the smaller one. Too large: contacts push from afar, or add energy. Too small: steps
/// are cut for nothing.
const HELD: f64 = 1e-2;

/// The advancement ends when the gap is within this share of what it looks for.
const NEAR: f64 = 0.1;

/// Most steps of the advancement; where they do not suffice the bodies count as closed, which costs
/// a shorter step.
const STEP_LIMIT: usize = 100_000;

/// How a part moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Travel {
    /// Way of the origin of the shape, in metres, at most.
    length: f64,
    /// Turn, in radians.
    turn: f64,
}

impl Multibody {
    /// The first pair that passes through on the way.
    pub(super) fn find_passage(&self, way: Way, from: (f64, &[f64]), to: (f64, &[f64])) -> Option<Passage> {
        if self.thinnest == f64::INFINITY {
            return None;
        }
        let mut guard = self.search.lock();
        let Search { broad_phase, poses, end_poses, travels, pairs, touches, .. } = &mut *guard;
        self.take_poses(from.0, from.1, poses);
        self.take_poses(to.0, to.1, end_poses);
        travels.clear();
        travels.extend(self.parts.iter().map(|part| {
            let (start, end) = (&poses[part.body], &end_poses[part.body]);
            let arm = self.shape(part).placed.position.length();
            let turn = match start.orientation == end.orientation {
                true => 0.0,
                false => start.orientation.angle_between(end.orientation),
            };
            Travel { length: start.position.distance(end.position) + turn * arm, turn }
        }));
        // Where nothing moves far, compared with the thinnest shape, nothing passes.
        let reach = |part: &Part, travel: &Travel| match self.shape(part).placed.shape {
            Shape::Cylinder { .. } if travel.turn > 0.0 => f64::INFINITY,
            shape => travel.length + travel.turn * lever(&shape),
        };
        let farthest =
            self.parts.iter().zip(&*travels).fold(0.0f64, |far, (part, travel)| far.max(reach(part, travel)));
        if 2.0 * farthest <= DEEP * self.thinnest {
            return None;
        }

        pairs.clear();
        let place = |part: &Part, poses: &[Pose]| self.shape(part).placed.world_pose(&poses[part.body]);
        let spheres = self.parts.iter().zip(&*travels).map(|(part, travel)| {
            let middle = 0.5 * (place(part, poses).position + place(part, end_poses).position);
            // Surroundings take no part: they reach nothing.
            let radius =
                if is_solid(&self.shape(part).placed.shape) { part.bounding_radius + travel.length } else { -1.0 };
            (middle, radius)
        });
        broad_phase.for_each_near_pair(spheres, 0.0, |a, b| {
            let (first, second) = (&self.parts[a], &self.parts[b]);
            let solid = [first, second].iter().all(|part| is_solid(&self.shape(part).placed.shape));
            if solid && self.model.may_collide(&self.exclusions, first.body, second.body) {
                pairs.push((a, b));
            }
        });
        pairs.sort_unstable();
        let mut earliest: Option<Passage> = None;
        for &(a, b) in pairs.iter() {
            let order = self.ordered((a, b));
            let parts @ [first, second] = order.map(|part| &self.parts[part]);
            let ways = [first, second].map(|part| (poses[part.body], end_poses[part.body]));
            let mut pair = Pair {
                system: self,
                parts,
                ways,
                size: self.pair_size(self.shape(first), self.shape(second)),
                rate: relative_way(self, parts, &ways, order.map(|part| travels[part])),
                touches,
            };
            if let Some(share) = pair.passage(way)
                && earliest.is_none_or(|other| share < other.share)
            {
                earliest = Some(Passage { contact: contact_id(first, second, 0), share });
            }
        }
        earliest
    }

    /// Half the thickness of the thinnest solid shape, in metres; infinite where no two solid shapes
    /// can meet, so that nothing passes.
    pub(super) fn thinnest_part(&self) -> f64 {
        let solid = |part: &&Part| is_solid(&self.shape(part).placed.shape);
        let meet = |a: &Part| {
            let mut others = self.parts.iter().filter(solid);
            others.any(|b| self.model.may_collide(&self.exclusions, a.body, b.body))
        };
        let mut least = f64::INFINITY;
        if self.parts.iter().filter(solid).any(meet) {
            for part in self.parts.iter().filter(solid) {
                least = least.min(self.pair_size(self.shape(part), self.shape(part)));
            }
        }
        least
    }
}

/// Whether a shape has another side, on which a body that passed through it is outside again.
fn is_solid(shape: &Shape) -> bool {
    matches!(shape, Shape::Sphere { .. } | Shape::Capsule { .. } | Shape::Cylinder { .. })
}

/// How far from the shape's origin a turn moves its surface along its normal, in metres: a ball may
/// turn as it likes.
fn lever(shape: &Shape) -> f64 {
    match *shape {
        Shape::Capsule { half_length, .. } => half_length,
        _ => 0.0,
    }
}

/// The way of the surface of one part relative to the other, in metres, at most.
fn relative_way(system: &Multibody, parts: [&Part; 2], ways: &[(Pose, Pose); 2], travels: [Travel; 2]) -> f64 {
    let moves = ways.map(|(start, end)| end.position - start.position);
    let mut rate = (moves[0] - moves[1]).length();
    // A cylinder without end turns as far as the other part is away.
    let apart = ways[0].0.position.distance(ways[1].0.position) + moves[0].length() + moves[1].length();
    for i in 0..2 {
        let [shape, other] = [i, 1 - i].map(|i| &system.shape(parts[i]).placed);
        let lever = match shape.shape {
            Shape::Cylinder { .. } => apart + other.position.length() + parts[1 - i].bounding_radius,
            shape => lever(&shape),
        };
        if travels[i].turn > 0.0 {
            rate += travels[i].turn * (shape.position.length() + lever);
        }
    }
    rate
}

/// Two parts on their ways.
struct Pair<'a> {
    system: &'a Multibody,
    parts: [&'a Part; 2],
    /// Poses of the two bodies at the start and at the end.
    ways: [(Pose, Pose); 2],
    size: f64,
    /// The gap changes by at most this over the whole way, in metres.
    rate: f64,
    touches: &'a mut Vec<Touch>,
}

impl Pair<'_> {
    /// The share of the way after which the two have just closed, if they pass through each other.
    fn passage(&mut self, way: Way) -> Option<f64> {
        if 2.0 * self.rate <= DEEP * self.size {
            return None;
        }
        let start = self.gap(0.0);
        if start <= -DEEP * self.size || start > self.rate {
            return None; // overlaps from the start are judged elsewhere
        }
        let closes = |pair: &mut Self| {
            let overlap = (CLOSED * pair.size).min(CLOSED_WAY * pair.rate);
            let share = pair.first_below(start, start.min(0.0) - overlap, overlap / pair.size);
            share.filter(|share| *share < 1.0)
        };
        if way == Way::Predicted && self.gap(1.0) < 0.0 {
            return closes(self).filter(|share| !self.is_held_at_end(*share));
        }
        self.first_below(start, -DEEP * self.size, DEEP)?;
        closes(self)
    }

    /// Whether all gaps that are negative at the end, linearised there, agree that the two had just
    /// closed after this share of the way. If they do not, an impulse along their normals pushes
    /// from afar, or throws the bodies out on the wrong side.
    fn is_held_at_end(&mut self, share: f64) -> bool {
        self.gap(1.0);
        let between = [0, 1].map(|i| (self.body(i, share), self.ways[i].1));
        self.touches.iter().filter(|touch| touch.gap < 0.0).all(|touch| {
            let moved =
                |(start, end): (Pose, Pose), x: DVec3| x - start.transform_point(end.inverse_transform_point(x));
            let approach = moved(between[0], touch.point_on_first) - moved(between[1], touch.point_on_second);
            touch.gap - touch.normal.dot(approach) >= -HELD * self.size
        })
    }

    /// The first share of the way after which the gap is `level`, up to [`NEAR`] of a `depth`,
    /// which is a share of the smaller body; none if it stays above.
    fn first_below(&mut self, start: f64, level: f64, depth: f64) -> Option<f64> {
        let (mut share, mut gap) = (0.0, start);
        for _ in 0..STEP_LIMIT {
            if gap - level <= NEAR * depth * self.size {
                return Some(share);
            }
            share += (gap - level) / self.rate;
            if share >= 1.0 {
                return None;
            }
            gap = self.gap(share);
        }
        Some(share)
    }

    /// Where one of the two bodies is after a share of the way.
    fn body(&self, i: usize, share: f64) -> Pose {
        let (start, end) = &self.ways[i];
        Pose::new(start.position.lerp(end.position, share), start.orientation.slerp(end.orientation, share))
    }

    /// The least gap after a share of the way, in metres; leaves the touches behind.
    fn gap(&mut self, share: f64) -> f64 {
        let [first, second] = [0, 1].map(|i| self.body(i, share));
        self.system.collide_parts(self.parts, [&first, &second], f64::INFINITY, self.touches);
        self.touches.iter().fold(f64::INFINITY, |least, touch| least.min(touch.gap))
    }
}

//! Bodies that pass through each other between two configurations.
//!
//! Only solid bodies can. A half-space has no other side, and what leaves a hole is outside of it
//! for good. On the way positions go straight and orientations turn evenly. The gap of a pair changes by at most the way $L$ of one relative to the other, so that
//! from a gap $g$ a depth $d$ is not reached before the share $(g + d)/L$ of the way: conservative
//! advancement, by steps that cannot miss.

use glamx::DVec3;
use stiction_dynamics::{Passage, Way};

use super::Multibody;
use super::contacts::{Part, Search, contact_id};
use crate::collide::Touch;
use crate::pose::Pose;

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

/// How a body moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Travel {
    /// Way of its origin, in metres.
    length: f64,
    /// Turn, in radians.
    turn: f64,
}

impl Travel {
    /// The way of the surface of a part along its normal, in metres, at most.
    fn of(&self, part: &Part) -> f64 {
        if self.turn > 0.0 { self.length + self.turn * part.lever } else { self.length }
    }
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
        travels.extend(poses.iter().zip(&*end_poses).map(|(start, end)| Travel {
            length: start.position.distance(end.position),
            turn: match start.orientation == end.orientation {
                true => 0.0,
                false => start.orientation.angle_between(end.orientation),
            },
        }));
        // Where nothing moves far, compared with the thinnest shape, nothing passes.
        let solid = self.parts.iter().filter(|part| part.is_solid);
        let farthest = solid.fold(0.0f64, |far, part| far.max(travels[part.body].of(part)));
        if 2.0 * farthest <= DEEP * self.thinnest {
            return None;
        }

        pairs.clear();
        let spheres = self.parts.iter().map(|part| {
            let place = |poses: &[Pose]| poses[part.body].transform_point(part.centre);
            // Surroundings take no part: they reach nothing.
            let radius = if part.is_solid { part.bounding_radius + travels[part.body].of(part) } else { -1.0 };
            (0.5 * (place(poses) + place(end_poses)), radius)
        });
        broad_phase.for_each_near_pair(spheres, 0.0, |a, b| {
            let pair = [&self.parts[a], &self.parts[b]];
            let solid = pair.iter().all(|part| part.is_solid);
            if solid && self.model.may_collide(&self.exclusions, pair[0].body, pair[1].body) {
                pairs.push((a, b));
            }
        });
        pairs.sort_unstable();
        let mut earliest: Option<Passage> = None;
        for &(a, b) in pairs.iter() {
            let parts @ [first, second] = self.ordered((a, b)).map(|part| &self.parts[part]);
            let ways = [first, second].map(|part| (poses[part.body], end_poses[part.body]));
            let mut pair = Pair {
                system: self,
                parts,
                ways,
                size: self.pair_size(parts),
                rate: relative_way(parts, &ways, parts.map(|part| travels[part.body])),
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
        let solid = || self.parts.iter().filter(|part| part.is_solid);
        let meet = |a: &Part| solid().any(|b| self.model.may_collide(&self.exclusions, a.body, b.body));
        match solid().any(meet) {
            true => solid().fold(f64::INFINITY, |least, part| least.min(self.pair_size([part, part]))),
            false => f64::INFINITY,
        }
    }
}

/// The way of the surface of one part relative to the other, in metres, at most.
fn relative_way(parts: [&Part; 2], ways: &[(Pose, Pose); 2], travels: [Travel; 2]) -> f64 {
    let moves = ways.map(|(start, end)| end.position - start.position);
    let mut rate = (moves[0] - moves[1]).length();
    for i in 0..2 {
        let (part, other) = (parts[i], parts[1 - i]);
        // What has no end turns as far as the other part is away.
        let lever = if part.lever.is_finite() {
            part.lever
        } else {
            let apart = ways[0].0.position.distance(ways[1].0.position) + moves[0].length() + moves[1].length();
            part.centre.length() + apart + other.centre.length() + other.bounding_radius
        };
        if travels[i].turn > 0.0 {
            rate += travels[i].turn * lever;
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
        // What is farther than the whole way does not matter.
        self.system.collide_parts(self.parts, [&first, &second], self.rate, self.touches);
        self.touches.iter().fold(f64::INFINITY, |least, touch| least.min(touch.gap))
    }
}

//! Two convex polyhedra.
//!
//! For a unit vector $n$ from the second, $B$, to the first, $A$, the separation along it is
//!
//! $$ s(n) = \min_{a \in A} n \cdot a - \max_{b \in B} n \cdot b, \tag{1} $$
//!
//! and the gap of the two bodies is its largest value: the distance while they are apart, minus the
//! least translation that separates them while they overlap. Overlapping, it is reached at the
//! normal of a face of one of them or at the common perpendicular of two edges; apart, also along
//! the line between two corners, or a corner and an edge.
//!
//! **Bounds.** Any $p \in A$ bounds what the faces and edges of $B$ can give. For a face with normal
//! $n_i$ and plane $n_i \cdot x = o_i$, and for an edge between faces $i$ and $j$, along which
//! $n = \alpha n_i + \beta n_j$ with $\alpha, \beta \ge 0$ and $\alpha + \beta \ge 1$,
//!
//! $$ s(n_i) \le n_i \cdot p - o_i =: \sigma_i, \qquad s(n) \le \alpha \sigma_i + \beta \sigma_j \le \max(\sigma_i, \sigma_j) \text{ where both are } \le 0, \tag{2} $$
//!
//! and likewise with $p \in B$ for the features of $A$. Good points come from a search for the
//! nearest points of the two bodies \[GJK88\], and later from the middle of the common face. That
//! search need not converge: (2) holds for all points of a body, so that a bad one costs time, and
//! no feature that could win is left out. Nothing is kept from one call to the next.
//!
//! **Edges.** The common perpendicular of two edges with unit vectors $u$, $w$, at less than a right
//! angle, is that of $u + w$ and $w - u$: perpendicular to both as they were rounded, however small
//! their angle. It is a normal of the Minkowski sum where the arcs of normals of the two edges
//! cross \[Gre13\]: where $u$ goes into one of the faces at $w$ and out of the other, and $w$
//! likewise in the same sense.
//!
//! **Common face.** The face of the largest separation cuts the face of the other body that is most
//! opposed to it; all corners of their common polygon are touches. Where the two planes are parallel
//! the larger face cuts, so that tilts at rest do not change names, and crossings of edges see its
//! normal, whatever the angle of the edges. Elsewhere a crossing sees the common perpendicular, if
//! that is a normal of both bodies.

use glamx::{DMat3, DVec3};
use smallvec::SmallVec;

use super::{FeaturePair, Part, Touch};
use crate::pose::Pose;
use crate::shape::{Edge, View};

/// Gaps that differ by less than this share of the size are the same: a face is preferred to an
/// edge, and a corner stands for the nearest feature. Too large: the least gap is off by it. Too
/// small: rounding chooses.
const SAME: f64 = 1e-13;

/// Places nearer than this share of the size are one, and a fixed order decides about its name. Too
/// large: corners of the common face are off by it. Too small: names change by rounding.
const TIE: f64 = 5e-13;

/// Two faces are parallel when the sine of their angle is at most this, and the larger one cuts. Too
/// large: gaps at crossing edges, which see either normal, are off by its square. Too small: names
/// change as a body trembles.
const PARALLEL_FACES: f64 = 1e-5;

/// Two edges have no common perpendicular when the sine of their angle is at most this. Too large:
/// the gap is off by this share of their length. Too small: the place of their crossing is noise.
const PARALLEL_EDGES: f64 = 1e-12;

/// Two edges that are apart lie along each other when the sine of their angle is at most this, and
/// their ends are listed too.
const ALONG: f64 = 1e-3;

/// An edge crosses another one of a face, as seen along the normal of that face, when the sine of
/// their angle is more than this.
const CROSSING: f64 = 1e-13;

/// Corners of a common face beyond this number may be left out.
const CORNERS: usize = 8;

/// But only while that changes the area by less than this share.
const LOSS: f64 = 1e-9;

/// The search for near points ends when a step gains less than this share of their distance, or when
/// that is less than this share of the size. Too large: weaker bounds (2), more work after it. Too
/// small: more steps.
const NEAR: f64 = 1e-2;

/// And after this number of steps.
const STEPS: usize = 50;

/// Two polyhedra, seen from the second.
#[derive(Clone, Copy)]
struct Pair<'a> {
    first: View<'a>,
    second: View<'a>,
    /// Turns vectors of the first into those of the second.
    turn: DMat3,
    /// Origin of the first.
    shift: DVec3,
    /// Bounding radius of the larger one.
    size: f64,
}

/// A touch in the coordinates of the second.
#[derive(Clone, Copy)]
struct Local {
    pair: FeaturePair,
    gap: f64,
    normal: DVec3,
    on_first: DVec3,
    on_second: DVec3,
    parts: [Part; 2],
}

/// A face of the second body and the corner of the first that is lowest above it.
#[derive(Clone, Copy)]
struct FaceAxis {
    separation: f64,
    face: u32,
    vertex: u32,
}

/// An edge that may be where two bodies are nearest, in the coordinates of the second.
struct Candidate {
    edge: u32,
    vertices: [u32; 2],
    ends: [DVec3; 2],
    /// Unit vector from the first end to the second, and the length.
    along: DVec3,
    length: f64,
    /// Of the faces to the left and to the right.
    normals: [DVec3; 2],
}

/// What runs from a corner of the common face to the next one.
#[derive(Clone, Copy)]
enum Side {
    /// An edge of the incident face.
    Edge(u32),
    /// A half-edge of the reference face.
    Brink(u32),
}

/// A corner of the common face.
#[derive(Clone, Copy)]
struct Corner {
    place: DVec3,
    pair: FeaturePair,
    side: Side,
}

type Corners = SmallVec<[Corner; 16]>;

/// Appends the touches of two convex polyhedra whose gap is at most `horizon`, in ascending order of
/// their features.
pub(crate) fn collide_views(first: (View, &Pose), second: (View, &Pose), horizon: f64, touches: &mut Vec<Touch>) {
    let pair = Pair::new(first, second);
    let is_placed = pair.shift.is_finite() && pair.turn.is_finite();
    if !is_placed {
        return;
    }
    let Some(near) = pair.near_points(horizon) else { return };
    let mut found: SmallVec<[Local; 16]> = SmallVec::new();
    pair.find(near, horizon, &mut found);
    found.retain(|touch| touch.gap <= horizon);
    found.sort_unstable_by_key(|touch| touch.pair.code());
    found.dedup_by_key(|touch| touch.pair.code());
    let turn = DMat3::from_quat(second.1.orientation.normalize());
    touches.extend(found.iter().map(|touch| touch.in_world(second.1.position, &turn)));
}

/// The touch of two convex polyhedra at a pair of features, wherever they are; none where it does
/// not exist, as where two edges are parallel.
pub(crate) fn touch_of_views(first: (View, &Pose), second: (View, &Pose), feature: u64) -> Option<Touch> {
    let touch = Pair::new(first, second).at(FeaturePair::of(feature))?;
    Some(touch.in_world(second.1.position, &DMat3::from_quat(second.1.orientation.normalize())))
}

impl Local {
    #[inline]
    fn in_world(&self, position: DVec3, turn: &DMat3) -> Touch {
        let turned = |v: DVec3| *turn * v;
        let (on_first, on_second) = (position + turned(self.on_first), position + turned(self.on_second));
        let part = |part: Part| match part {
            Part::Line(u) => Part::Line(turned(u)),
            Part::Brink(m) => Part::Brink(turned(m)),
            other => other,
        };
        Touch {
            gap: self.gap,
            normal: turned(self.normal),
            point: 0.5 * (on_first + on_second),
            point_on_first: on_first,
            point_on_second: on_second,
            feature: self.pair.code(),
            parts: self.parts.map(part),
            radii: [0.0; 2],
        }
    }
}

impl<'a> Pair<'a> {
    fn new(first: (View<'a>, &Pose), second: (View<'a>, &Pose)) -> Self {
        let back = second.1.orientation.conjugate();
        let square = |view: &View| view.vertices.iter().map(|x| x.length_squared()).fold(0.0, f64::max);
        Self {
            first: first.0,
            second: second.0,
            turn: DMat3::from_quat((back * first.1.orientation).normalize()),
            shift: back * (first.1.position - second.1.position),
            size: square(&first.0).max(square(&second.0)).sqrt(),
        }
    }

    /// The same two, seen from the first.
    #[inline]
    fn swapped(&self) -> Self {
        let turn = self.turn.transpose();
        Self { first: self.second, second: self.first, turn, shift: -(turn * self.shift), size: self.size }
    }

    /// A point of the first.
    #[inline]
    fn place(&self, x: DVec3) -> DVec3 {
        self.turn * x + self.shift
    }

    /// A vector of the second as the first sees it.
    #[inline]
    fn seen(&self, v: DVec3) -> DVec3 {
        self.turn.transpose() * v
    }

    /// The corner of the first that is lowest along n, and how high it is.
    #[inline]
    fn lowest_of_first(&self, n: DVec3) -> (u32, f64) {
        let (vertex, height) = lowest(&self.first, self.seen(n));
        (vertex, height + n.dot(self.shift))
    }

    /// Points of the two bodies, nearly the nearest, or one of both where they overlap; nothing when
    /// they are more than `horizon` apart.
    fn near_points(&self, horizon: f64) -> Option<[DVec3; 2]> {
        let mut simplex: SmallVec<[[DVec3; 2]; 4]> = SmallVec::new();
        let mut near = [self.place(self.first.vertices[0]), self.second.vertices[0]];
        let mut v = if self.shift == DVec3::ZERO { DVec3::X } else { self.shift };
        for _ in 0..STEPS {
            let (a, low) = self.lowest_of_first(v);
            let (b, high) = lowest(&self.second, -v);
            let separation = low + high;
            if separation > horizon * v.length() {
                return None;
            }
            let two = [self.place(self.first.vertices[a as usize]), self.second.vertices[b as usize]];
            let is_nearest = !simplex.is_empty() && v.length_squared() - separation <= NEAR * v.length_squared();
            if is_nearest || simplex.contains(&two) {
                break;
            }
            simplex.push(two);
            let mut differences = [DVec3::ZERO; 4];
            differences.iter_mut().zip(&simplex).for_each(|(d, [a, b])| *d = a - b);
            let weights = nearest_to_origin(&differences[..simplex.len()]);
            if !weights.iter().all(|weight| weight.is_finite()) {
                break;
            }
            near = [0, 1].map(|i| simplex.iter().zip(weights).map(|(two, weight)| weight * two[i]).sum());
            let mut weight = weights.iter();
            simplex.retain(|_| weight.next().is_some_and(|weight| *weight > 0.0));
            v = near[0] - near[1];
            if simplex.len() == 4 || v.length() <= NEAR * self.size {
                break;
            }
        }
        Some(near)
    }

    /// All touches; the least gap is among them.
    fn find(&self, near: [DVec3; 2], horizon: f64, found: &mut SmallVec<[Local; 16]>) {
        let swapped = self.swapped();
        let same = SAME * self.size;
        let Some(of_second) = self.best_face(near[0], f64::NEG_INFINITY) else { return };
        let of_first = swapped.best_face(self.seen(near[1] - self.shift), of_second.separation + same);
        let (side, axis) = of_first.map_or((self, of_second), |axis| (&swapped, axis));
        if axis.separation > horizon {
            return;
        }
        let is_mirrored = of_first.is_some();
        let incident = side.incident_face(&axis);
        self.add_common_face(&swapped, is_mirrored, [axis.face, incident], found);
        let least = |found: &[Local]| found.iter().map(|touch| touch.gap).fold(f64::INFINITY, f64::min);
        if axis.separation >= -same && (least(found) - axis.separation).abs() <= same {
            return; // a corner is above the face: no other feature can be nearer
        }

        // A point inside of both, or between the two, and the edges that may still win.
        let middle = |of: fn(&Local) -> DVec3| found.iter().map(of).sum::<DVec3>() / found.len() as f64;
        let mut points = [near; 2];
        if !found.is_empty() {
            points[1] = [middle(|touch| touch.on_first), middle(|touch| touch.on_second)];
        }
        let limit = (axis.separation + same).min(0.0);
        let seen = points.map(|two| self.seen(two[1] - self.shift));
        let of_second = candidates(&self.second, points.map(|two| two[0]), limit, |x| x, |v| v);
        let of_first = match of_second.is_empty() {
            true => SmallVec::new(),
            false => candidates(&self.first, seen, limit, |x| self.place(x), |v| self.turn * v),
        };
        let edges = [of_first, of_second];
        let mut truth = axis.separation;
        let fallback = FeaturePair::VertexFace(axis.vertex, axis.face);
        let mut winner = if is_mirrored { fallback.mirrored() } else { fallback };
        if truth <= 0.0
            && let Some(crossing) = self.best_crossing(&edges, truth + same)
        {
            (truth, winner) = crossing;
        }
        if truth > 0.0 {
            // Below the plane of a face, but beside the body.
            found.retain(|touch| touch.gap >= 0.0);
        }
        let reached = least(found);
        let is_same = |touch: &Local, other: FeaturePair| {
            let crossing = self.crossing_of(touch.pair);
            crossing.is_some() && crossing == self.crossing_of(other)
        };
        if truth > 0.0 {
            if let Some((distance, nearest)) = self.nearest_edges(&edges)
                && distance < reached - same
            {
                found.retain(|touch| !is_same(touch, nearest));
                found.extend(self.at(nearest));
                self.add_ends_along(&edges, nearest, found);
            }
        } else if (reached - truth).abs() > same {
            found.retain(|touch| touch.gap >= truth - same);
            if least(found) > truth + same {
                found.retain(|touch| !is_same(touch, winner));
                found.extend(self.at(winner));
            }
        }
    }

    /// The face of the second with the largest separation, if that is more than `floor`; `point` is
    /// one of the first.
    fn best_face(&self, point: DVec3, floor: f64) -> Option<FaceAxis> {
        let faces = self.second.faces;
        let mut bounds: SmallVec<[f64; 128]> = faces.iter().map(|face| face.normal.dot(point) - face.offset).collect();
        let mut known: SmallVec<[FaceAxis; 8]> = SmallVec::new();
        let mut best = f64::NEG_INFINITY;
        loop {
            let mut face = 0;
            for i in 1..bounds.len() {
                if bounds[i] > bounds[face] {
                    face = i;
                }
            }
            let bound = bounds[face];
            if bound <= floor.max(best - SAME * self.size) {
                break;
            }
            bounds[face] = f64::NEG_INFINITY;
            let (vertex, height) = self.lowest_of_first(faces[face].normal);
            let separation = height - faces[face].offset;
            if separation > floor {
                best = best.max(separation);
                known.push(FaceAxis { separation, face: face as u32, vertex });
            }
        }
        let tied = known.into_iter().filter(|axis| axis.separation >= best - SAME * self.size);
        tied.min_by_key(|axis| axis.face)
    }

    /// The face of the first, at one of its lowest corners above a face of the second, that is most
    /// opposed to it.
    fn incident_face(&self, axis: &FaceAxis) -> u32 {
        let n = self.seen(self.second.faces[axis.face as usize].normal);
        let height = n.dot(self.first.vertices[axis.vertex as usize]) + TIE * self.size;
        let mut best = (0, f64::INFINITY);
        for (i, face) in self.first.faces.iter().enumerate() {
            let cosine = n.dot(face.normal);
            if cosine < best.1 - TIE && self.first.around(i as u32).any(|h| n.dot(self.first.start(h)) <= height) {
                best = (i as u32, cosine);
            }
        }
        best.0
    }

    /// Appends the corners of what two faces have in common: of the second and of the first, or, when
    /// mirrored, of the first and of the second.
    fn add_common_face(
        &self,
        swapped: &Self,
        is_mirrored: bool,
        [face, incident]: [u32; 2],
        found: &mut SmallVec<[Local; 16]>,
    ) {
        let side = if is_mirrored { swapped } else { self };
        let normals = [side.second.faces[face as usize].normal, side.turn * side.first.faces[incident as usize].normal];
        let is_parallel = (normals[0] + normals[1]).length_squared() <= PARALLEL_FACES * PARALLEL_FACES;
        let (mut side, mut faces, mut is_mirrored) = (side, [face, incident], is_mirrored);
        if is_parallel {
            // The larger face cuts; of two like ones that of the second.
            let areas = [area(&side.second, face), area(&side.first, incident)];
            let margin = LOSS * (areas[0] + areas[1]);
            let is_other = if is_mirrored { areas[0] <= areas[1] + margin } else { areas[1] > areas[0] + margin };
            if is_other {
                is_mirrored = !is_mirrored;
                side = if is_mirrored { swapped } else { self };
                faces = [incident, face];
            }
        }
        let (mut one, mut other) = (Corners::new(), Corners::new());
        let corners = side.common_polygon(faces, [&mut one, &mut other]);
        reduce(side.second.faces[faces[0] as usize].normal, corners);
        for corner in corners.iter() {
            if let FeaturePair::FaceVertex(face, vertex) = corner.pair
                && !is_parallel
                && !side.is_above(face, vertex)
            {
                continue;
            }
            let mut pair = if is_mirrored { corner.pair.mirrored() } else { corner.pair };
            if let Some(crossing) = self.crossing_of(pair)
                && !is_parallel
                && self.is_normal_crossing(crossing)
            {
                pair = FeaturePair::EdgeEdge(crossing[0], crossing[1]);
            }
            found.extend(self.at(pair));
        }
    }

    /// The two edges of a crossing.
    fn crossing_of(&self, pair: FeaturePair) -> Option<[u32; 2]> {
        let edge = |view: &View, h: u32| view.half_edges[h as usize].edge;
        match pair {
            FeaturePair::EdgeEdge(e, f) => Some([e, f]),
            FeaturePair::EdgeBrink(e, h) => Some([e, edge(&self.second, h)]),
            FeaturePair::BrinkEdge(h, f) => Some([edge(&self.first, h), f]),
            _ => None,
        }
    }

    /// Whether the common perpendicular of two edges is a normal of both bodies and meets both edges.
    fn is_normal_crossing(&self, [e, f]: [u32; 2]) -> bool {
        let arc = |view: &View, edge: u32| {
            let Edge { vertices, faces } = view.edges[edge as usize];
            let [start, end] = vertices.map(|vertex| view.vertices[vertex as usize]);
            let length = start.distance(end);
            (start, (end - start) / length, length, faces.map(|face| view.faces[face as usize].normal))
        };
        let (x, u, length, a) = arc(&self.first, e);
        let (x, u, a) = (self.place(x), self.turn * u, a.map(|normal| self.turn * normal));
        let (y, w, other_length, b) = arc(&self.second, f);
        let meets = |[s, t]: [f64; 2]| (0.0..=length).contains(&s) && (0.0..=other_length).contains(&t);
        arcs_cross((u, a), (w, b)).contains(&true) && crossing([(x, u), (y, w)]).is_some_and(|(_, feet)| meets(feet))
    }

    /// Whether a corner of the second is above a face of the first, along the normal of that face.
    fn is_above(&self, face: u32, vertex: u32) -> bool {
        let (view, n) = (&self.first, self.first.faces[face as usize].normal);
        let x = self.seen(self.second.vertices[vertex as usize] - self.shift);
        view.around(face).all(|h| {
            let [start, end] = [h, view.next(h)].map(|h| view.start(h));
            (end - start).cross(n).dot(x - start) <= TIE * self.size * (end - start).length()
        })
    }

    /// The polygon that a face of the second and one of the first have in common, seen along the
    /// normal of that of the second: the one of the first, cut along all brinks of the other.
    fn common_polygon<'c>(
        &self,
        [face, incident]: [u32; 2],
        [corners, spare]: [&'c mut Corners; 2],
    ) -> &'c mut Corners {
        let n = self.second.faces[face as usize].normal;
        corners.extend(self.first.around(incident).map(|h| {
            let half_edge = self.first.half_edges[h as usize];
            Corner {
                place: self.place(self.first.start(h)),
                pair: FeaturePair::VertexFace(half_edge.vertex, face),
                side: Side::Edge(half_edge.edge),
            }
        }));
        let tie = TIE * self.size;
        let mut outside = SmallVec::<[f64; 16]>::new();
        let (mut whole, mut cut) = (corners, spare);
        for h in self.second.around(face) {
            let next = self.second.next(h);
            let [start, end] = [h, next].map(|h| self.second.start(h));
            let outwards = (end - start).cross(n).normalize();
            outside.clear();
            outside.extend(whole.iter().map(|corner| outwards.dot(corner.place - start)));
            if outside.iter().all(|distance| *distance <= tie) {
                continue;
            }
            cut.clear();
            for (i, corner) in whole.iter().enumerate() {
                let following = (i + 1) % whole.len();
                let (here, there) = (outside[i], outside[following]);
                let crossing = || {
                    let pair = match corner.side {
                        Side::Edge(edge) => FeaturePair::EdgeBrink(edge, h),
                        Side::Brink(other) => {
                            let at = if other == next { other } else { h };
                            FeaturePair::FaceVertex(incident, self.second.half_edges[at as usize].vertex)
                        }
                    };
                    Corner { place: corner.place.lerp(whole[following].place, here / (here - there)), pair, ..*corner }
                };
                match (here <= tie, there <= tie) {
                    (true, true) => cut.push(*corner),
                    (true, false) if here >= -tie => cut.push(Corner { side: Side::Brink(h), ..*corner }),
                    (true, false) => cut.extend([*corner, Corner { side: Side::Brink(h), ..crossing() }]),
                    (false, true) if there < -tie => cut.push(crossing()),
                    (false, _) => {}
                }
            }
            std::mem::swap(&mut whole, &mut cut);
        }
        // Two corners at one place: the name with the lower code stays.
        let mut i = 0;
        while i < whole.len() && whole.len() > 1 {
            let j = (i + 1) % whole.len();
            if (whole[i].place - whole[j].place).reject_from_normalized(n).length() > tie {
                i += 1;
            } else if whole[i].pair.code() <= whole[j].pair.code() {
                whole[i].side = whole[j].side;
                whole.remove(j);
            } else {
                whole.remove(i);
            }
        }
        whole
    }

    /// The pair of edges whose common perpendicular separates by more than `floor`, and most.
    fn best_crossing(&self, edges: &[SmallVec<[Candidate; 16]>; 2], floor: f64) -> Option<(f64, FeaturePair)> {
        let mut best = None;
        let mut floor = floor;
        for a in &edges[0] {
            for b in &edges[1] {
                let [is_right, is_left] = arcs_cross((a.along, a.normals), (b.along, b.normals));
                if !is_right && !is_left {
                    continue;
                }
                let Some((across, _)) = perpendicular(a.along, b.along) else { continue };
                for n in [(is_right, across), (is_left, -across)].into_iter().filter(|n| n.0).map(|n| n.1) {
                    let separation = n.dot(a.ends[0] - b.ends[0]);
                    if separation > floor {
                        let real = self.lowest_of_first(n).1 + lowest(&self.second, -n).1;
                        if real >= separation - SAME * self.size {
                            best = Some((separation, FeaturePair::EdgeEdge(a.edge, b.edge)));
                            floor = separation + SAME * self.size;
                        }
                    }
                }
            }
        }
        best
    }

    /// The least distance of two edges, and where it is: at an end of one, or between the two.
    fn nearest_edges(&self, edges: &[SmallVec<[Candidate; 16]>; 2]) -> Option<(f64, FeaturePair)> {
        let mut best: Option<(f64, FeaturePair)> = None;
        let same = SAME * self.size;
        for a in &edges[0] {
            for b in &edges[1] {
                let mut consider = |distance: f64, pair: FeaturePair| {
                    if best.is_none_or(|best| distance < best.0 - same) {
                        best = Some((distance, pair));
                    }
                };
                for i in 0..2 {
                    let (distance, at) = b.nearest(a.ends[i], TIE * self.size);
                    let vertex = a.vertices[i];
                    consider(
                        distance,
                        match at {
                            Some(end) => FeaturePair::VertexVertex(vertex, b.vertices[end]),
                            None => FeaturePair::VertexEdge(vertex, b.edge),
                        },
                    );
                    if let (distance, None) = a.nearest(b.ends[i], TIE * self.size) {
                        consider(distance, FeaturePair::EdgeVertex(a.edge, b.vertices[i]));
                    }
                }
                if let Some((n, [s, t])) = crossing([(a.ends[0], a.along), (b.ends[0], b.along)])
                    && s > 0.0
                    && s < a.length
                    && t > 0.0
                    && t < b.length
                {
                    let apart = (a.ends[0] + s * a.along) - (b.ends[0] + t * b.along);
                    consider(n.dot(apart).abs(), FeaturePair::EdgeEdge(a.edge, b.edge));
                }
            }
        }
        best
    }

    /// Appends the ends of edges that lie along each other, where those are nearest.
    fn add_ends_along(
        &self,
        edges: &[SmallVec<[Candidate; 16]>; 2],
        winner: FeaturePair,
        found: &mut SmallVec<[Local; 16]>,
    ) {
        for a in &edges[0] {
            for b in &edges[1] {
                let is_meant = match winner {
                    FeaturePair::EdgeEdge(e, f) => a.edge == e && b.edge == f,
                    FeaturePair::VertexEdge(v, f) => a.vertices.contains(&v) && b.edge == f,
                    FeaturePair::EdgeVertex(e, v) => a.edge == e && b.vertices.contains(&v),
                    _ => false,
                };
                if !is_meant || a.along.cross(b.along).length() > ALONG {
                    continue;
                }
                for i in 0..2 {
                    let ends = [
                        (b.nearest(a.ends[i], TIE * self.size), FeaturePair::VertexEdge(a.vertices[i], b.edge)),
                        (a.nearest(b.ends[i], TIE * self.size), FeaturePair::EdgeVertex(a.edge, b.vertices[i])),
                    ];
                    let inside = ends.into_iter().filter(|end| end.0.1.is_none()).filter_map(|end| self.at(end.1));
                    found.extend(inside.filter(|touch| touch.gap > 0.0));
                }
            }
        }
    }

    /// The touch at a pair of features; nothing where it does not exist.
    fn at(&self, pair: FeaturePair) -> Option<Local> {
        use FeaturePair::{
            BrinkEdge, EdgeBrink, EdgeEdge, EdgeVertex, FaceVertex, VertexEdge, VertexFace, VertexVertex,
        };
        if matches!(pair, FaceVertex(..) | BrinkEdge(..) | EdgeVertex(..)) {
            // As the other one sees it.
            let touch = self.swapped().at(pair.mirrored())?;
            let part = |part: Part| match part {
                Part::Line(u) => Part::Line(self.turn * u),
                Part::Brink(m) => Part::Brink(self.turn * m),
                other => other,
            };
            return Some(Local {
                pair,
                gap: touch.gap,
                normal: -(self.turn * touch.normal),
                on_first: self.place(touch.on_second),
                on_second: self.place(touch.on_first),
                parts: [part(touch.parts[1]), part(touch.parts[0])],
            });
        }
        let corner = |v: u32| self.first.vertices.get(v as usize).map(|x| self.place(*x));
        let line = |view: &View, edge: u32| {
            let [start, end] = view.edges.get(edge as usize)?.vertices.map(|v| view.vertices[v as usize]);
            Some((start, (end - start).normalize()))
        };
        let of_first = |edge: u32| line(&self.first, edge).map(|(x, u)| (self.place(x), self.turn * u));
        let above = |on_first: DVec3, face: u32, parts: [Part; 2]| {
            let face = self.second.faces.get(face as usize)?;
            let gap = face.normal.dot(on_first) - face.offset;
            Some(Local { pair, gap, normal: face.normal, on_first, on_second: on_first - gap * face.normal, parts })
        };
        // Along the line between the two: they overlap where one is inside of the corner or edge of
        // the other.
        let apart = |on_first: DVec3, on_second: DVec3, faces: [SmallVec<[u32; 8]>; 2], parts: [Part; 2]| {
            let d = on_first - on_second;
            let back = self.seen(-d);
            let is_inside = |view: &View, faces: &[u32], d: DVec3| {
                faces.iter().all(|face| view.faces[*face as usize].normal.dot(d) < 0.0)
            };
            let overlap = is_inside(&self.second, &faces[1], d) || is_inside(&self.first, &faces[0], back);
            let sign = if overlap { -1.0 } else { 1.0 };
            let distance = d.length();
            let normal = if distance > 0.0 { sign * d / distance } else { DVec3::Z };
            Some(Local { pair, gap: sign * distance, normal, on_first, on_second, parts })
        };
        let at_edge = |view: &View, edge: u32| SmallVec::from_slice(&view.edges[edge as usize].faces);
        match pair {
            VertexFace(v, f) => above(corner(v)?, f, [Part::Point, Part::Plane]),
            EdgeBrink(e, h) => {
                let ((x, u), face) = (of_first(e)?, self.second.half_edges.get(h as usize)?.face);
                let [start, end] = [h, self.second.next(h)].map(|h| self.second.start(h));
                let outwards = (end - start).cross(self.second.faces[face as usize].normal).normalize();
                let rate = outwards.dot(u);
                if rate.abs() <= CROSSING {
                    return None;
                }
                let on_first = x + outwards.dot(start - x) / rate * u;
                above(on_first, face, [Part::Line(u), Part::Brink(outwards)])
            }
            EdgeEdge(e, f) => {
                let ((x, u), (y, w)) = (of_first(e)?, line(&self.second, f)?);
                let (n, [s, t]) = crossing([(x, u), (y, w)])?;
                let outwards = edge_normal(&self.second, f) - self.turn * edge_normal(&self.first, e);
                let normal = if n.dot(outwards) < 0.0 { -n } else { n };
                let (on_first, foot) = (x + s * u, y + t * w);
                let gap = normal.dot(on_first - foot);
                let on_second = on_first - gap * normal;
                Some(Local { pair, gap, normal, on_first, on_second, parts: [Part::Line(u), Part::Line(w)] })
            }
            VertexVertex(v, w) => {
                let other = *self.second.vertices.get(w as usize)?;
                let faces = [faces_at(&self.first, v), faces_at(&self.second, w)];
                apart(corner(v)?, other, faces, [Part::Point; 2])
            }
            VertexEdge(v, e) => {
                let (x, (y, w)) = (corner(v)?, line(&self.second, e)?);
                let faces = [faces_at(&self.first, v), at_edge(&self.second, e)];
                apart(x, y + (x - y).dot(w) * w, faces, [Part::Point, Part::Line(w)])
            }
            _ => None,
        }
    }
}

impl Candidate {
    /// The distance of a point, and the number of the end that is nearest to it, or none inside.
    fn nearest(&self, x: DVec3, tie: f64) -> (f64, Option<usize>) {
        let along = (x - self.ends[0]).dot(self.along);
        if along <= tie {
            return (x.distance(self.ends[0]), Some(0));
        }
        if along >= self.length - tie {
            return (x.distance(self.ends[1]), Some(1));
        }
        (x.distance(self.ends[0] + along * self.along), None)
    }
}

/// The edges for which the bound (2) is more than `limit`, which is not positive, at all points.
fn candidates(
    view: &View,
    points: [DVec3; 2],
    limit: f64,
    place: impl Fn(DVec3) -> DVec3,
    turn: impl Fn(DVec3) -> DVec3,
) -> SmallVec<[Candidate; 16]> {
    let is_below = |face: &crate::shape::Face| points.map(|x| face.normal.dot(x) - face.offset <= limit);
    let below: SmallVec<[[bool; 2]; 128]> = view.faces.iter().map(is_below).collect();
    let mut found = SmallVec::new();
    for (i, edge) in view.edges.iter().enumerate() {
        let [left, right] = edge.faces.map(|face| below[face as usize]);
        if (left[0] && right[0]) || (left[1] && right[1]) {
            continue;
        }
        let ends = edge.vertices.map(|vertex| view.vertices[vertex as usize]);
        let length = ends[0].distance(ends[1]);
        found.push(Candidate {
            edge: i as u32,
            vertices: edge.vertices,
            ends: ends.map(&place),
            along: turn((ends[1] - ends[0]) / length),
            length,
            normals: edge.faces.map(|face| turn(view.faces[face as usize].normal)),
        });
    }
    found
}

/// Twice the area of a face.
fn area(view: &View, face: u32) -> f64 {
    let range = view.around(face);
    let origin = view.start(range.start);
    let ends = |h: u32| [h, view.next(h)].map(|h| view.start(h) - origin);
    range.map(ends).map(|[a, b]| a.cross(b)).sum::<DVec3>().length()
}

/// The sum of the normals at an edge.
fn edge_normal(view: &View, edge: u32) -> DVec3 {
    view.edges[edge as usize].faces.iter().map(|face| view.faces[*face as usize].normal).sum()
}

/// The faces at a corner.
fn faces_at(view: &View, vertex: u32) -> SmallVec<[u32; 8]> {
    let around = view.half_edges.iter().filter(|half_edge| half_edge.vertex == vertex);
    around.map(|half_edge| half_edge.face).collect()
}

/// The corner that is lowest along a direction, and how high it is.
#[inline]
fn lowest(view: &View, direction: DVec3) -> (u32, f64) {
    let mut best = (0, f64::INFINITY);
    for (i, x) in view.vertices.iter().enumerate() {
        let height = direction.dot(*x);
        if height < best.1 {
            best = (i as u32, height);
        }
    }
    best
}

/// Whether the arcs of normals of two edges cross, along $u \times w$ and along $w \times u$: each is
/// given by its unit vector and the normals to its left and right.
fn arcs_cross((u, a): (DVec3, [DVec3; 2]), (w, b): (DVec3, [DVec3; 2])) -> [bool; 2] {
    const SLACK: f64 = 1e-15; // rounding of a product of unit vectors
    let [l, r] = b.map(|normal| u.dot(normal));
    let [m, s] = a.map(|normal| w.dot(normal));
    [l <= SLACK && r >= -SLACK && m <= SLACK && s >= -SLACK, l >= -SLACK && r <= SLACK && m >= -SLACK && s <= SLACK]
}

/// The unit vector along $u \times w$, of two unit vectors that are not parallel, and the sine of
/// their angle.
#[inline]
fn perpendicular(u: DVec3, w: DVec3) -> Option<(DVec3, f64)> {
    let side = if u.dot(w) < 0.0 { -1.0 } else { 1.0 };
    let twice = (u + side * w).cross(side * w - u);
    let length = twice.length();
    (length > 2.0 * PARALLEL_EDGES).then(|| (side * twice / length, 0.5 * length))
}

/// The common perpendicular of two lines through points along unit vectors, and how far from the
/// points it meets them.
#[inline]
fn crossing([(x, u), (y, w)]: [(DVec3, DVec3); 2]) -> Option<(DVec3, [f64; 2])> {
    let (n, sine) = perpendicular(u, w)?;
    let apart = y - x;
    // Across each of the lines, in the plane of both.
    let s = apart.cross(w).dot(n) / sine;
    Some((n, [s, (s * u - apart).dot(w)]))
}

/// Leaves out corners while there are many and they carry next to no area.
fn reduce(n: DVec3, corners: &mut Corners) {
    while corners.len() > CORNERS {
        let count = corners.len();
        let at = |i: usize| corners[i % count].place;
        let triangle = |a: DVec3, b: DVec3, c: DVec3| (b - a).cross(c - a).dot(n).abs();
        let whole: f64 = (2..count).map(|i| triangle(at(0), at(i - 1), at(i))).sum();
        let losses = (0..count).map(|i| (triangle(at(i + count - 1), at(i), at(i + 1)), i));
        let Some((loss, least)) = losses.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        if loss > LOSS * whole {
            return;
        }
        corners.remove(least);
    }
}

/// The weights of the point nearest to the origin in the hull of up to four points.
fn nearest_to_origin(points: &[DVec3]) -> [f64; 4] {
    let mut weights = [0.0; 4];
    match *points {
        [a, b] => {
            let along = b - a;
            let t = (-a.dot(along) / along.length_squared()).clamp(0.0, 1.0);
            (weights[0], weights[1]) = (1.0 - t, t);
        }
        [a, b, c] => weights[..3].copy_from_slice(&nearest_of_triangle(a, b, c)),
        [a, b, c, d] => {
            let all = [a, b, c, d];
            let mut least = f64::INFINITY;
            let mut inside = [0.0; 4];
            for out in 0..4 {
                let [i, j, k] = [(out + 1) % 4, (out + 2) % 4, (out + 3) % 4];
                let normal = (all[j] - all[i]).cross(all[k] - all[i]);
                let [height, origin] = [normal.dot(all[out] - all[i]), -normal.dot(all[i])];
                inside[out] = origin / height;
                if inside[out].is_nan() || inside[out] < 0.0 {
                    let three = nearest_of_triangle(all[i], all[j], all[k]);
                    let distance = (three[0] * all[i] + three[1] * all[j] + three[2] * all[k]).length_squared();
                    if distance < least {
                        least = distance;
                        weights = [0.0; 4];
                        (weights[i], weights[j], weights[k]) = (three[0], three[1], three[2]);
                    }
                }
            }
            if least == f64::INFINITY {
                let sum: f64 = inside.iter().sum();
                weights = inside.map(|weight| weight / sum);
            }
        }
        _ => weights[0] = 1.0,
    }
    weights
}

/// The weights of the point of a triangle that is nearest to the origin, by the region in which the
/// origin is.
#[inline]
fn nearest_of_triangle(a: DVec3, b: DVec3, c: DVec3) -> [f64; 3] {
    let (ab, ac) = (b - a, c - a);
    let [a1, a2] = [ab, ac].map(|side| -side.dot(a));
    if a1 <= 0.0 && a2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let [b1, b2] = [ab, ac].map(|side| -side.dot(b));
    if b1 >= 0.0 && b2 <= b1 {
        return [0.0, 1.0, 0.0];
    }
    let [c1, c2] = [ab, ac].map(|side| -side.dot(c));
    if c2 >= 0.0 && c1 <= c2 {
        return [0.0, 0.0, 1.0];
    }
    let of_c = a1 * b2 - b1 * a2;
    if of_c <= 0.0 && a1 >= 0.0 && b1 <= 0.0 {
        let t = a1 / (a1 - b1);
        return [1.0 - t, t, 0.0];
    }
    let of_b = c1 * a2 - a1 * c2;
    if of_b <= 0.0 && a2 >= 0.0 && c2 <= 0.0 {
        let t = a2 / (a2 - c2);
        return [1.0 - t, 0.0, t];
    }
    let of_a = b1 * c2 - c1 * b2;
    let (from_b, from_c) = (b2 - b1, c1 - c2);
    if of_a <= 0.0 && from_b >= 0.0 && from_c >= 0.0 {
        let t = from_b / (from_b + from_c);
        return [0.0, 1.0 - t, t];
    }
    let sum = of_a + of_b + of_c;
    [of_a / sum, of_b / sum, of_c / sum]
}

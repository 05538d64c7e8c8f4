//! Meshes against balls, capsules, boxes, hulls, half-spaces and each other.
//!
//! **Apart.** Two bodies touch first where the distance of their surfaces has a local minimum. There
//! the line between the two feet has a direction $n$ that both features can carry a force in: $n$
//! is in the cone of the second body's feature on the Gauss map, $-n$ in that of the first one's
//! ((1) and (2) of [`Mesh`](crate::shape::Mesh)). So features of the near surfaces are paired, and
//! the pairs kept whose feet are within both features and whose direction is in both cones. An inner
//! edge of a flat face is no edge, and a concave one has no cone: neither gives a contact.
//!
//! **In overlap** the same pairs are ways out: of a vertex through the face above it, of an edge
//! through another one. Of a convex body one way out is enough, the shortest; of a valley all are
//! needed. Which it is shows when one body is moved. Taken in order, shallow ones first, a way out
//! is real if it still is one after the others have been gone. The feet must be within both
//! features there, and the straight line between them inside both bodies. (1) That last condition
//! says how deep an overlap is believed: what has passed a surface as a whole, or a sheet with both
//! of its sides, is not drawn back. Of a ball or capsule the centre line may be below the surface by
//! its radius. When no way out is real although the surfaces cross, the shallowest is taken.
//!
//! **Faces on faces.** Where a face is nearly parallel to a face or edge, the common polygon is what
//! carries, and its corners are listed, each with its own gap: vertices over the face, vertices of
//! the face under the other one, and edges that cross. What lies inside of their hull is left out.

use std::cell::RefCell;

use glamx::DVec3;
use smallvec::SmallVec;
use stiction_solve::PortableMath as _;

use super::patch::{Patch, PatchEdge, Placed, Region, Solid, grown, is_crossed};
use super::{FeaturePair, Output, Part, Touch, direction_of};
use crate::pose::Pose;
use crate::shape::{Bend, NONE, Shape};

/// Lengths below this are rounding, relative to the coordinates. Too large: small features vanish.
/// Too small: a corner on a border is on neither side.
const ROUNDING: f64 = 1e-12;

/// Directions closer than this are the same, in radians. Too large: edges carry forces that they
/// cannot. Too small: a direction on the border of two cones is in none.
const SAME_DIRECTION: f64 = 1e-10;

/// Two edges are parallel when the sine of their angle is at most this; then their ends stand for
/// them. Too large: a crossing is missed. Too small: its place is rounding.
const PARALLEL_SINE: f64 = 1e-10;

/// Where the common perpendicular of two edges is as near as this to the normal of a face, in
/// radians, that face and the other edge meet. Too large: the gap is off by half its square. Too
/// small: at rest, rounding chooses between them.
const FACE_PREFERRED: f64 = 1e-6;

/// Bodies count as touching when they are nearer than this, relative to the coordinates, and ways
/// out lead this far. Too large: features of a tenth of it are confused. Too small: after a way out
/// rounding decides whether the bodies are apart.
const CLEAR: f64 = 1e-10;

/// Faces on faces, and edges on faces, are those with an angle of which this is the sine. Too large:
/// far corners are listed. Too small: a body turns through a face within a step.
const NEARLY_PARALLEL: f64 = 0.3;

/// Most corners of a face on a face that are kept whatever their shape.
const MOST_CORNERS: usize = 8;

/// Beyond those, a corner goes when less than this share of the area is lost.
const AREA_LOSS: f64 = 1e-9;

/// Buffers of a search, reused.
#[derive(Default)]
struct Scratch {
    first: Patch,
    second: Patch,
    candidates: Vec<Candidate>,
    expanded: Vec<u64>,
    chosen: Vec<u64>,
    found: Vec<Touch>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Features that face each other, with the distance of their feet along the normal from the second
/// to the first, without the radii.
#[derive(Clone, Copy)]
struct Candidate {
    pair: FeaturePair,
    normal: DVec3,
    distance: f64,
}

/// Two features held: their feet, and how they move.
struct Held {
    parts: [Part; 2],
    feet: [DVec3; 2],
    normal: DVec3,
    distance: f64,
}

/// Appends the contacts of two shapes of which one is a mesh; false where the pair is not known.
pub(super) fn collide(first: (&Shape, &Pose), second: (&Shape, &Pose), out: &mut Output) -> bool {
    if matches!((first.0, second.0), (Shape::Mesh(a), Shape::Mesh(b)) if !a.is_closed() && !b.is_closed()) {
        return false;
    }
    let mut corners = None;
    let mut unused = None;
    let (Some(a), Some(b)) = (Solid::of(first.0, &mut corners), Solid::of(second.0, &mut unused)) else {
        return false;
    };
    let origin = second.1.position;
    let (a, b) = (Placed::new(a, first.1, origin), Placed::new(b, second.1, origin));
    let is_finite = [first.1, second.1].iter().all(|pose| pose.position.is_finite() && pose.orientation.is_finite());
    if out.horizon > f64::NEG_INFINITY && is_finite {
        // Farther than that is nothing.
        let widest = [first, second].map(|(shape, _)| Some(shape.bounding_radius()).filter(|r| r.is_finite()));
        let farthest = 2.0 * (first.1.position.distance(origin) + widest.into_iter().flatten().sum::<f64>());
        let reach = (out.horizon + a.solid.radius() + b.solid.radius()).min(farthest + a.solid.radius());
        SCRATCH.with_borrow_mut(|scratch| search(&a, &b, reach, origin, scratch, out));
    }
    true
}

/// Appends contacts with these features held; false where no shape is a mesh. A pair is searched with
/// a mesh last, but for half-spaces.
pub(super) fn touches_of([first, second]: [(&Shape, &Pose); 2], features: &[u64], touches: &mut Vec<Touch>) -> bool {
    let is_mirrored = match (first.0, second.0) {
        (_, Shape::Mesh(_)) => matches!(first.0, Shape::HalfSpace { .. }),
        (Shape::Mesh(_), _) => !matches!(second.0, Shape::HalfSpace { .. }),
        _ => return false,
    };
    let [first, second] = if is_mirrored { [second, first] } else { [first, second] };
    let (mut of_first, mut of_second) = (None, None);
    let (Some(a), Some(b)) = (Solid::of(first.0, &mut of_first), Solid::of(second.0, &mut of_second)) else {
        return false;
    };
    let origin = second.1.position;
    let (a, b) = (Placed::new(a, first.1, origin), Placed::new(b, second.1, origin));
    let start = touches.len();
    let mut out = Output { horizon: f64::INFINITY, wanted: None, touches };
    for &feature in features {
        let pair = FeaturePair::of(feature);
        push_held(&a, &b, origin, if is_mirrored { pair.mirrored() } else { pair }, &mut out);
    }
    if is_mirrored {
        touches[start..].iter_mut().for_each(|touch| *touch = touch.mirrored());
    }
    true
}

/// Pushes the touch of two features, if they exist and are near enough.
fn push_held(a: &Placed, b: &Placed, origin: DVec3, pair: FeaturePair, out: &mut Output) {
    if let Some(Held { parts, feet: [x1, x2], normal, distance }) = held(a, b, pair) {
        let balls = [(x1 + origin, a.solid.radius()), (x2 + origin, b.solid.radius())];
        out.push(parts, balls, (normal, distance), pair.code());
    }
}

/// Two features wherever they are.
fn held(a: &Placed, b: &Placed, pair: FeaturePair) -> Option<Held> {
    let swapped = |held: Held| Held {
        parts: [held.parts[1], held.parts[0]],
        feet: [held.feet[1], held.feet[0]],
        normal: -held.normal,
        distance: held.distance,
    };
    match pair {
        FeaturePair::VertexFace(vertex, face) => {
            let (x, (normal, offset)) = (a.vertex(vertex)?, b.face(face)?);
            let distance = normal.dot(x) - offset;
            Some(Held { parts: [Part::Point, Part::Plane], feet: [x, x - distance * normal], normal, distance })
        }
        FeaturePair::EdgeEdge(e, k) => {
            let (first, second) = (a.edge(e)?, b.edge(k)?);
            let (u, v) = (first.along(), second.along());
            let cross = u.cross(v);
            let w = first.ends[0] - second.ends[0];
            let square = cross.length_squared();
            if square == 0.0 {
                return None;
            }
            let outwards = cross.dot(second.outwards() - first.outwards());
            let normal = if outwards < 0.0 { -cross } else { cross } / square.sqrt();
            let (s, t) = (-w.cross(v).dot(cross) / square, -w.cross(u).dot(cross) / square);
            let feet = [first.ends[0] + s * u, second.ends[0] + t * v];
            // Between the feet rounding of the normal is felt by the gap alone.
            let distance = normal.dot(feet[0] - feet[1]);
            Some(Held { parts: [Part::Line(u), Part::Line(v)], feet, normal, distance })
        }
        FeaturePair::EdgeBrink(e, half) => {
            let (k, side) = b.solid.edge_of_half(half)?;
            let (first, second) = (a.edge(e)?, b.edge(k)?);
            let (u, wall) = (first.along(), second.walls()[side]);
            let slope = wall.dot(u);
            let share = -wall.dot(first.ends[0] - second.ends[0]) / slope;
            if !share.is_finite() {
                return None;
            }
            let (normal, offset) = b.face(second.faces[side])?;
            let x = first.ends[0] + share * u;
            let distance = normal.dot(x) - offset;
            let feet = [x, x - distance * normal];
            Some(Held { parts: [Part::Line(u), Part::Brink(wall)], feet, normal, distance })
        }
        FeaturePair::VertexVertex(v, w) => {
            let (x, y) = (a.vertex(v)?, b.vertex(w)?);
            let (normal, distance) = direction_of(x - y).unwrap_or((DVec3::Z, 0.0));
            Some(Held { parts: [Part::Point; 2], feet: [x, y], normal, distance })
        }
        FeaturePair::VertexEdge(vertex, k) => {
            let (x, second) = (a.vertex(vertex)?, b.edge(k)?);
            let along = second.along();
            let foot = second.ends[0] + (x - second.ends[0]).dot(along) * along;
            let outwards = second.outwards();
            let (normal, distance) = match direction_of((x - foot).reject_from_normalized(along)) {
                // Below the edge the distance goes on with its sign.
                Some((normal, distance)) if normal.dot(outwards) < 0.0 => (-normal, -distance),
                Some(known) => known,
                None => (outwards, 0.0),
            };
            Some(Held { parts: [Part::Point, Part::Line(along)], feet: [x, foot], normal, distance })
        }
        FeaturePair::FaceVertex(..) | FeaturePair::BrinkEdge(..) | FeaturePair::EdgeVertex(..) => {
            held(b, a, pair.mirrored()).map(swapped)
        }
        FeaturePair::Numbered(_) | FeaturePair::EdgeFace(..) | FeaturePair::FaceEdge(..) => None,
    }
}

/// Finds near features, pairs them, and appends their contacts.
fn search(a: &Placed, b: &Placed, reach: f64, origin: DVec3, scratch: &mut Scratch, out: &mut Output) {
    let Scratch { first, second, candidates, expanded, chosen, found } = scratch;
    // So deep an overlap may be, beside what is within reach.
    let extents = [a, b].into_iter().filter_map(Placed::bounds_of_body).map(|[low, high]| (high - low).min_element());
    let deep = reach + extents.fold(f64::INFINITY, f64::min);
    gather(a, b, [reach, deep], first, second);
    first.has_valleys = true;
    second.has_valleys = !matches!(a.solid, Solid::Ball { .. } | Solid::Capsule { .. });
    if first.is_empty() || second.is_empty() {
        return;
    }
    let size = largest(first).max(if second.is_endless { 0.0 } else { largest(second) });
    let meeting = Meeting { a, b, first, second, reach, deep, size };
    candidates.clear();
    meeting.pair_up(candidates);
    candidates.sort_unstable_by(|m, n| n.distance.total_cmp(&m.distance).then(m.pair.cmp(&n.pair)));
    meeting.keep_real(candidates);
    // The nearest first: of two ways to see the same faces it is the better one.
    candidates.sort_unstable_by(|m, n| m.distance.total_cmp(&n.distance).then(m.pair.cmp(&n.pair)));
    expanded.clear();
    chosen.clear();
    for candidate in candidates.iter() {
        meeting.expand(candidate, expanded, chosen);
    }
    chosen.sort_unstable();
    chosen.dedup();
    found.clear();
    let mut all = Output { horizon: out.horizon, wanted: None, touches: found };
    chosen.iter().for_each(|&code| push_held(a, b, origin, FeaturePair::of(code), &mut all));
    // What is at the same place and holds in the same direction is one contact.
    let same = CLEAR * size;
    let start = out.touches.len();
    for touch in found.iter() {
        let is_known = out.touches[start..].iter().any(|other| {
            other.point.distance_squared(touch.point) <= same * same
                && other.normal.distance(touch.normal) <= FACE_PREFERRED
        });
        let is_crossing = |code: u64| same_crossing(FeaturePair::of(code), FeaturePair::of(touch.feature), a, b);
        if !is_known && !chosen.iter().any(|&code| is_crossing(code)) {
            out.touches.push(*touch);
        }
    }
}

/// Whether the first is the crossing of two edges of which the second one sees one as the border of
/// a face.
fn same_crossing(edges: FeaturePair, brink: FeaturePair, a: &Placed, b: &Placed) -> bool {
    let FeaturePair::EdgeEdge(e, k) = edges else { return false };
    match brink {
        FeaturePair::EdgeBrink(f, half) => e == f && b.solid.edge_of_half(half).is_some_and(|(edge, _)| edge == k),
        FeaturePair::BrinkEdge(half, f) => k == f && a.solid.edge_of_half(half).is_some_and(|(edge, _)| edge == e),
        _ => false,
    }
}

/// The largest coordinate of what was gathered.
fn largest(patch: &Patch) -> f64 {
    patch.bounds().map(|x| x.abs().max_element()).into_iter().fold(0.0, f64::max)
}

/// The near features of both.
fn gather(a: &Placed, b: &Placed, [reach, deep]: [f64; 2], first: &mut Patch, second: &mut Patch) {
    if let Solid::HalfSpace { .. } = b.solid {
        second.gather(b, Region::Box([DVec3::NEG_INFINITY, DVec3::INFINITY]));
        let (normal, offset) = b.face(0).unwrap_or_default();
        first.gather(a, Region::Below(normal, offset + reach));
        return;
    }
    let Some(bounds) = a.bounds() else { return first.gather(a, Region::Box([DVec3::INFINITY; 2])) };
    // A hair more than rounding, so that what is exactly as far as the reach is not lost.
    let reach = reach * (1.0 + ROUNDING) + ROUNDING * (bounds[0].abs() + bounds[1].abs()).max_element();
    let near_first = grown(bounds, reach);
    second.gather(b, Region::Box(near_first));
    let (Solid::Mesh(_), Solid::Mesh(_)) = (a.solid, b.solid) else {
        return first.gather(a, Region::Box(near_first));
    };
    let both = |near: [DVec3; 2], patch: &Patch| {
        let [low, high] = patch.bounds();
        Region::Box(grown([near[0].max(low), near[1].min(high)], deep))
    };
    first.gather(a, both(near_first, second));
    if !first.is_empty() {
        second.gather(b, both(near_first, first));
    }
}

/// What lies on a face: a face or an edge.
#[derive(Clone, Copy)]
enum Incident {
    Face(u32),
    Edge(u32),
}

/// A corner of the common polygon, in the axes of the face.
#[derive(Clone, Copy)]
struct Corner {
    x: f64,
    y: f64,
    code: u64,
}

impl Corner {
    fn turn(self, a: Self, b: Self) -> f64 {
        (a.x - self.x) * (b.y - self.y) - (a.y - self.y) * (b.x - self.x)
    }
}

type Corners = SmallVec<[Corner; 24]>;

/// Near features of two bodies.
struct Meeting<'a> {
    a: &'a Placed<'a>,
    b: &'a Placed<'a>,
    first: &'a Patch,
    second: &'a Patch,
    reach: f64,
    deep: f64,
    size: f64,
}

impl Meeting<'_> {
    /// All pairs that face each other within reach.
    fn pair_up(&self, out: &mut Vec<Candidate>) {
        for is_mirrored in [false, true] {
            self.vertices_on_faces(is_mirrored, out);
            self.vertices_at_edges(is_mirrored, out);
        }
        self.vertices_at_vertices(out);
        self.edges_at_edges(out);
    }

    /// The body whose smaller feature meets the larger one of the other.
    fn sides(&self, is_mirrored: bool) -> (&Patch, &Patch, f64) {
        match is_mirrored {
            false => (self.first, self.second, 1.0),
            true => (self.second, self.first, -1.0),
        }
    }

    fn vertices_on_faces(&self, is_mirrored: bool, out: &mut Vec<Candidate>) {
        let (of, on, sign) = self.sides(is_mirrored);
        for face in &on.faces {
            for vertex in &of.vertices {
                let distance = face.normal.dot(vertex.x) - face.offset;
                let is_near = distance <= self.reach
                    && of.is_farthest(vertex, -face.normal, SAME_DIRECTION)
                    && on.is_over(face, vertex.x, ROUNDING * self.size);
                if is_near {
                    let pair = FeaturePair::VertexFace(vertex.id, face.id);
                    let pair = if is_mirrored { pair.mirrored() } else { pair };
                    out.push(Candidate { pair, normal: sign * face.normal, distance });
                }
            }
        }
    }

    fn vertices_at_edges(&self, is_mirrored: bool, out: &mut Vec<Candidate>) {
        let (of, on, sign) = self.sides(is_mirrored);
        let rounding = ROUNDING * self.size;
        for edge in on.edges.iter().filter(|edge| edge.shape.bend != Bend::Concave) {
            let near = grown(edge.bounds, self.reach);
            for vertex in of.vertices.iter().filter(|vertex| Region::Box(near).meets([vertex.x; 2])) {
                let arm = vertex.x - edge.shape.ends[0];
                let share = arm.dot(edge.along);
                if !(share > rounding && share < edge.length - rounding) {
                    continue;
                }
                let across = arm - share * edge.along;
                // Over a face, the face carries.
                if edge.walls.iter().any(|wall| *wall != DVec3::ZERO && wall.dot(across) <= rounding) {
                    continue;
                }
                let Some((normal, distance)) = direction_of(across) else { continue };
                let is_near = distance <= self.reach && distance > CLEAR * self.size;
                if is_near && of.is_farthest(vertex, -normal, SAME_DIRECTION) {
                    let pair = FeaturePair::VertexEdge(vertex.id, edge.id);
                    let pair = if is_mirrored { pair.mirrored() } else { pair };
                    out.push(Candidate { pair, normal: sign * normal, distance });
                }
            }
        }
    }

    fn vertices_at_vertices(&self, out: &mut Vec<Candidate>) {
        for v in &self.first.vertices {
            for w in &self.second.vertices {
                let Some((normal, distance)) = direction_of(v.x - w.x) else { continue };
                let is_near = distance <= self.reach
                    && distance > CLEAR * self.size
                    && self.first.is_farthest(v, -normal, SAME_DIRECTION)
                    && self.second.is_farthest(w, normal, SAME_DIRECTION);
                if is_near {
                    out.push(Candidate { pair: FeaturePair::VertexVertex(v.id, w.id), normal, distance });
                }
            }
        }
    }

    fn edges_at_edges(&self, out: &mut Vec<Candidate>) {
        let open = |edge: &&PatchEdge| edge.shape.bend != Bend::Concave;
        for e in self.first.edges.iter().filter(open) {
            let near = Region::Box(grown(e.bounds, self.deep));
            for k in self.second.edges.iter().filter(open).filter(|k| near.meets(k.bounds)) {
                let cross = e.along.cross(k.along);
                let sine = cross.length();
                if sine <= PARALLEL_SINE {
                    continue;
                }
                let across = cross / sine;
                let side = across.dot(k.outwards - e.outwards);
                let normal = if side < 0.0 { -across } else { across };
                let least = |edge: &PatchEdge, n: DVec3| match edge.walls.map(|wall| wall.dot(n)) {
                    _ if edge.outwards == DVec3::ZERO => (f64::INFINITY, 0),
                    [a, b] if a <= b => (a, 0),
                    [_, b] => (b, 1),
                };
                let (of_first, of_second) = (least(e, -normal), least(k, normal));
                if of_first.0 < -SAME_DIRECTION || of_second.0 < -SAME_DIRECTION {
                    continue;
                }
                // Near the normal of a face, that face and the other edge.
                let pair = match (of_first, of_second) {
                    (_, (slope, side)) if slope <= FACE_PREFERRED && k.shape.faces[side] != NONE => {
                        let half = self.b.solid.half_edge(k.id, side);
                        half.map(|half| FeaturePair::EdgeBrink(e.id, half))
                    }
                    ((slope, side), _) if slope <= FACE_PREFERRED && e.shape.faces[side] != NONE => {
                        let half = self.a.solid.half_edge(e.id, side);
                        half.map(|half| FeaturePair::BrinkEdge(half, k.id))
                    }
                    _ => Some(FeaturePair::EdgeEdge(e.id, k.id)),
                };
                let Some(pair) = pair else { continue };
                if let Some(held) = held(self.a, self.b, pair)
                    && held.distance <= self.reach
                    && self.feet_are_within(pair, held.feet, DVec3::ZERO)
                {
                    out.push(Candidate { pair, normal: held.normal, distance: held.distance });
                }
            }
        }
    }

    /// Whether the feet are within the features, for a first body that was moved.
    fn feet_are_within(&self, pair: FeaturePair, [x1, x2]: [DVec3; 2], by: DVec3) -> bool {
        let rounding = ROUNDING * self.size;
        let within = |patch: &Patch, edge: u32, x: DVec3| {
            patch.edge(edge).is_some_and(|edge| {
                let share = (x - edge.shape.ends[0]).dot(edge.along);
                share >= -rounding && share <= edge.length + rounding
            })
        };
        let over =
            |patch: &Patch, face: u32, x: DVec3| patch.face(face).is_some_and(|face| patch.is_over(face, x, rounding));
        let edge_of = |placed: &Placed, half: u32| placed.solid.edge_of_half(half).map_or(NONE, |(edge, _)| edge);
        match pair {
            FeaturePair::VertexFace(_, face) => over(self.second, face, x1),
            FeaturePair::FaceVertex(face, _) => over(self.first, face, x2 - by),
            FeaturePair::EdgeEdge(e, k) => within(self.first, e, x1 - by) && within(self.second, k, x2),
            FeaturePair::EdgeBrink(e, half) => {
                within(self.first, e, x1 - by) && within(self.second, edge_of(self.b, half), x2)
            }
            FeaturePair::BrinkEdge(half, k) => {
                within(self.first, edge_of(self.a, half), x1 - by) && within(self.second, k, x2)
            }
            _ => true,
        }
    }

    /// Of the candidates that touch or overlap, which begin with the shallowest, drops those that
    /// are no way out once the others have been gone.
    fn keep_real(&self, candidates: &mut Vec<Candidate>) {
        let clear = CLEAR * self.size;
        let mut by = DVec3::ZERO;
        let shallowest = candidates.iter().find(|candidate| candidate.distance < clear).copied();
        let mut is_any = false;
        candidates.retain(|candidate| {
            if candidate.distance >= clear {
                return true;
            }
            let Some(distance) = self.way_out(candidate.pair, by) else { return false };
            by += (clear - distance).max(0.0) * candidate.normal;
            is_any = true;
            true
        });
        if let Some(shallowest) = shallowest
            && !is_any
            && self.surfaces_cross()
        {
            candidates.push(shallowest);
        }
    }

    /// The distance of a pair after the first body was moved, if it is a way out there: (1).
    fn way_out(&self, pair: FeaturePair, by: DVec3) -> Option<f64> {
        let clear = CLEAR * self.size;
        let Held { feet, distance, .. } = held(&self.a.moved(by), self.b, pair)?;
        if !self.feet_are_within(pair, feet, by) {
            return None;
        }
        if distance >= -8.0 * clear || self.second.is_endless {
            return Some(distance);
        }
        let [x1, x2] = feet;
        let is_inside = |placed: &Placed, by: DVec3| placed.is_inside([x1 - by, x2 - by], -distance, clear);
        (is_inside(self.a, by) && is_inside(self.b, DVec3::ZERO)).then_some(distance)
    }

    /// Whether an edge of one crosses a triangle of the other.
    fn surfaces_cross(&self) -> bool {
        let cross = |edges: &[PatchEdge], triangles: &[[DVec3; 3]]| {
            edges.iter().any(|edge| {
                let [p, q] = edge.shape.ends;
                triangles.iter().any(|&triangle| is_crossed([p, q], triangle, 0.0))
            })
        };
        cross(&self.first.edges, &self.second.triangles) || cross(&self.second.edges, &self.first.triangles)
    }

    /// The contacts of a candidate and of the faces that meet there.
    fn expand(&self, candidate: &Candidate, expanded: &mut Vec<u64>, chosen: &mut Vec<u64>) {
        let Candidate { pair, normal, .. } = *candidate;
        let is_aligned = |patch: &Patch, face: u32, n: DVec3| {
            let cosine = patch.face(face).map_or(0.0, |face| face.normal.dot(n));
            (cosine * cosine >= 1.0 - NEARLY_PARALLEL * NEARLY_PARALLEL && cosine > 0.0).then_some(cosine)
        };
        // The faces at a feature, and its edges.
        let of_vertex = |patch: &Patch, vertex: u32| -> (SmallVec<[u32; 16]>, SmallVec<[u32; 16]>) {
            let edges = patch.edges_at(vertex);
            (edges.clone().flat_map(|edge| edge.shape.faces).collect(), edges.map(|edge| edge.id).collect())
        };
        let of_edge = |patch: &Patch, edge: u32| -> (SmallVec<[u32; 16]>, SmallVec<[u32; 16]>) {
            let faces = patch.edge(edge).map_or([NONE; 2], |edge| edge.shape.faces);
            (SmallVec::from_slice(&faces), SmallVec::from_slice(&[edge]))
        };
        let of_face = |face: u32| (SmallVec::from_slice(&[face]), SmallVec::new());
        let of_half = |placed: &Placed, patch: &Patch, half: u32| match placed.solid.edge_of_half(half) {
            Some((edge, side)) => of_face(patch.edge(edge).map_or(NONE, |edge| edge.shape.faces[side])),
            None => of_face(NONE),
        };
        let ((faces_first, edges_first), (faces_second, edges_second)) = match pair {
            FeaturePair::VertexFace(v, f) => (of_vertex(self.first, v), of_face(f)),
            FeaturePair::FaceVertex(g, w) => (of_face(g), of_vertex(self.second, w)),
            FeaturePair::EdgeEdge(e, k) => (of_edge(self.first, e), of_edge(self.second, k)),
            FeaturePair::EdgeBrink(e, half) => (of_edge(self.first, e), of_half(self.b, self.second, half)),
            FeaturePair::BrinkEdge(half, k) => (of_half(self.a, self.first, half), of_edge(self.second, k)),
            FeaturePair::VertexVertex(v, w) => (of_vertex(self.first, v), of_vertex(self.second, w)),
            FeaturePair::VertexEdge(v, k) => (of_vertex(self.first, v), of_edge(self.second, k)),
            FeaturePair::EdgeVertex(e, w) => (of_edge(self.first, e), of_vertex(self.second, w)),
            FeaturePair::Numbered(_) | FeaturePair::EdgeFace(..) | FeaturePair::FaceEdge(..) => return,
        };
        let best = |patch: &Patch, faces: &[u32], n: DVec3| {
            let aligned = faces.iter().filter_map(|&face| Some((is_aligned(patch, face, n)?, face)));
            aligned.fold(None, |best: Option<(f64, u32)>, (cosine, face)| match best {
                Some((most, other)) if cosine < most || (cosine == most && face >= other) => Some((most, other)),
                _ => Some((cosine, face)),
            })
        };
        let g = best(self.first, &faces_first, -normal);
        let f = best(self.second, &faces_second, normal);
        let before = chosen.len();
        let mut is_seen = false;
        let mut once = |key: FeaturePair| {
            let is_new = !expanded.contains(&key.code());
            expanded.push(key.code());
            is_seen |= !is_new;
            is_new
        };
        match (g, f) {
            // The reference is the face along whose normal the bodies are farthest apart.
            (Some((along_first, g)), Some((along_second, f))) => {
                if once(FeaturePair::VertexVertex(g, f)) {
                    let is_first = along_first > along_second + FACE_PREFERRED * FACE_PREFERRED;
                    let (on, of) = if is_first { (g, f) } else { (f, g) };
                    self.corners(on, Incident::Face(of), is_first, chosen);
                }
            }
            (None, Some((_, f))) => {
                for &edge in edges_first.iter().filter(|&&edge| self.lies_along(self.first, edge, normal)) {
                    if once(FeaturePair::EdgeVertex(edge, f)) {
                        self.corners(f, Incident::Edge(edge), false, chosen);
                    }
                }
            }
            (Some((_, g)), None) => {
                for &edge in edges_second.iter().filter(|&&edge| self.lies_along(self.second, edge, normal)) {
                    if once(FeaturePair::VertexEdge(g, edge)) {
                        self.corners(g, Incident::Edge(edge), true, chosen);
                    }
                }
            }
            (None, None) => {}
        }
        let is_on_face = matches!(pair, FeaturePair::VertexFace(..) | FeaturePair::FaceVertex(..));
        let is_brink = matches!(pair, FeaturePair::EdgeBrink(..) | FeaturePair::BrinkEdge(..));
        // What faces carry is among their corners.
        let is_represented = (is_on_face || is_brink) && (chosen.len() > before || is_seen);
        if !is_represented {
            chosen.push(pair.code());
        }
    }

    fn lies_along(&self, patch: &Patch, edge: u32, normal: DVec3) -> bool {
        patch.edge(edge).is_some_and(|edge| edge.along.dot(normal).abs() <= NEARLY_PARALLEL)
    }

    /// Chooses the corners of what a face or an edge has in common with a face; mirrored when that
    /// face is one of the first body.
    fn corners(&self, on_face: u32, incident: Incident, is_mirrored: bool, chosen: &mut Vec<u64>) {
        let (of, on, _) = self.sides(is_mirrored);
        let placed = if is_mirrored { self.a } else { self.b };
        let Some(face) = on.face(on_face) else { return };
        let n = face.normal;
        let axis = n.any_orthonormal_vector();
        let (rounding, side) = (ROUNDING * self.size, n.cross(axis));
        let mut corners = Corners::new();
        let mut push = |pair: FeaturePair, x: DVec3| {
            let code = if is_mirrored { pair.mirrored().code() } else { pair.code() };
            let corner = Corner { x: axis.dot(x), y: side.dot(x), code };
            let same = CLEAR * self.size;
            if !corners.iter().any(|other| (other.x - corner.x).portable_hypot(other.y - corner.y) <= same) {
                corners.push(corner);
            }
        };
        let edges = || {
            let (face, edge) = match incident {
                Incident::Face(face) => (Some(face), None),
                Incident::Edge(edge) => (None, Some(edge)),
            };
            let of_face = face.into_iter().flat_map(|face| of.edges_of(face));
            of_face.chain(edge.into_iter().filter_map(|edge| of.edge(edge)))
        };
        for (vertex, x) in edges().flat_map(|edge| edge.shape.vertices.into_iter().zip(edge.shape.ends)) {
            if n.dot(x) - face.offset <= self.reach && on.is_over(face, x, rounding) {
                push(FeaturePair::VertexFace(vertex, on_face), x);
            }
        }
        if let Incident::Face(id) = incident
            && let Some(other) = of.face(id)
        {
            let ends = on.edges_of(on_face).flat_map(|edge| edge.shape.vertices.into_iter().zip(edge.shape.ends));
            for (vertex, x) in ends {
                let height = other.normal.dot(x) - other.offset;
                if height <= self.reach && of.is_over(other, x, rounding) {
                    push(FeaturePair::FaceVertex(id, vertex), x);
                }
            }
        }
        for (edge, brink) in edges().flat_map(|edge| on.edges_of(on_face).map(move |brink| (edge, brink))) {
            let side = usize::from(brink.shape.faces[0] != on_face);
            let (wall, arm) = (brink.walls[side], edge.shape.ends[0] - brink.shape.ends[0]);
            let slope = wall.dot(edge.along);
            let share = -wall.dot(arm) / slope;
            let x = edge.shape.ends[0] + share * edge.along;
            let along = (x - brink.shape.ends[0]).dot(brink.along);
            let is_within = |share: f64, length: f64| share > rounding && share < length - rounding;
            let is_crossing = brink.shape.bend != Bend::Concave
                && edge.shape.bend != Bend::Concave
                && is_within(share, edge.length)
                && is_within(along, brink.length)
                && n.dot(x) - face.offset <= self.reach;
            if !is_crossing {
                continue;
            }
            // A crossing moves along a tilted edge: then only the common perpendicular tells how the
            // gap changes.
            if n.dot(edge.along).abs() <= FACE_PREFERRED * slope.abs() {
                if let Some(half) = placed.solid.half_edge(brink.id, side) {
                    push(FeaturePair::EdgeBrink(edge.id, half), x);
                }
            } else {
                let pair = FeaturePair::EdgeEdge(edge.id, brink.id);
                let pair_in_order = if is_mirrored { pair.mirrored() } else { pair };
                // Only where the perpendicular points the same way as the face: outside of the cones of
                // both edges it may not.
                let up = if is_mirrored { -n } else { n };
                let is_same_way = held(self.a, self.b, pair_in_order).is_some_and(|held| {
                    let is_above = (held.distance < 0.0) == (n.dot(x) < face.offset);
                    held.normal.dot(up) > 0.0 && is_above && self.feet_are_within(pair_in_order, held.feet, DVec3::ZERO)
                });
                if is_same_way {
                    push(pair, x);
                }
            }
        }
        reduce(&mut corners, rounding);
        chosen.extend(corners.iter().map(|corner| corner.code));
    }
}

/// Leaves the corners of the hull, anticlockwise, and of many only those that matter.
fn reduce(corners: &mut Corners, rounding: f64) {
    if corners.len() <= 2 {
        return;
    }
    corners.sort_unstable_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)).then(a.code.cmp(&b.code)));
    let mut hull = Corners::new();
    let mut chain = |points: &mut dyn Iterator<Item = Corner>| {
        let start = hull.len();
        for point in points {
            while hull.len() >= start + 2 {
                let (a, b) = (hull[hull.len() - 2], hull[hull.len() - 1]);
                let length = (point.x - a.x).portable_hypot(point.y - a.y);
                if a.turn(b, point) > rounding * length {
                    break;
                }
                hull.pop();
            }
            hull.push(point);
        }
        hull.pop();
    };
    chain(&mut corners.iter().copied());
    chain(&mut corners.iter().rev().copied());
    let area = |hull: &Corners| (2..hull.len()).map(|i| hull[0].turn(hull[i - 1], hull[i])).sum::<f64>();
    let whole = area(&hull);
    while hull.len() > MOST_CORNERS {
        let count = hull.len();
        let loss = |i: usize| hull[(i + count - 1) % count].turn(hull[i], hull[(i + 1) % count]);
        let least = (1..count).fold(0, |best, i| if loss(i) < loss(best) { i } else { best });
        if loss(least) > AREA_LOSS * whole {
            break;
        }
        hull.remove(least);
    }
    *corners = hull;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::advance_orientation;
    use crate::shape::{Dimension, Mesh};
    use crate::touch_rates::{Twist, touch_rates};
    use glamx::DQuat;
    use std::sync::Arc;
    use stiction_dynamics::families::Generator;

    #[test]
    fn held_features_have_the_rates_of_differences() {
        // An octahedron, against itself and the others.
        let vertices = [1.0, -1.0].into_iter().flat_map(|s| [DVec3::X, DVec3::Y, DVec3::Z].map(|x| s * x)).collect();
        let triangles = vec![[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]];
        let mesh = Shape::Mesh(Arc::new(Mesh::new(vertices, triangles).unwrap()));
        let others = [
            Shape::Sphere { radius: 0.2 },
            Shape::Capsule { half_length: 0.6, radius: 0.1 },
            Shape::Cuboid { half_extents: DVec3::new(0.5, 0.4, 0.3) },
            mesh.clone(),
        ];
        let mut random = Generator::new(41);
        let mut kinds = [0; 9];
        for trial in 0..400 {
            for other in &others {
                let mut vector = |size: f64| DVec3::from_array(random.vector(size));
                let poses = [vector(1.6), vector(0.2)].map(|x| (x, vector(2.0)));
                let mut poses = poses.map(|(x, turn)| Pose::new(x, DQuat::from_scaled_axis(turn)));
                if trial % 4 == 0 {
                    // Faces on faces, for which the octahedron is turned like its mirror image.
                    let normal = poses[1].transform_vector(DVec3::ONE) / 3f64.sqrt();
                    let beside = normal.cross(vector(0.5));
                    poses[0] = Pose::new(poses[1].position + 1.3 * normal + beside, poses[1].orientation);
                }
                if trial % 4 == 1 {
                    // Beyond a corner.
                    poses[0].position = poses[1].transform_point(1.7 * DVec3::X) + vector(0.1);
                }
                let twists = poses.map(|pose| (pose.position, vector(1.0), vector(1.0)));
                let at = |tau: f64| {
                    [0, 1].map(|i| {
                        let (_, velocity, spin) = twists[i];
                        let spin_body = poses[i].inverse_transform_vector(spin);
                        let orientation = advance_orientation(poses[i].orientation, spin_body, tau);
                        Pose::new(poses[i].position + tau * velocity, orientation)
                    })
                };
                let mut found = Vec::new();
                let mut out = Output { horizon: 1.0, wanted: None, touches: &mut found };
                assert!(collide((other, &poses[0]), (&mesh, &poses[1]), &mut out));
                for touch in found {
                    let held = |tau: f64| {
                        let [first, second] = at(tau);
                        let mut held = Vec::new();
                        assert!(touches_of([(other, &first), (&mesh, &second)], &[touch.feature], &mut held));
                        held[0]
                    };
                    let [a, b] =
                        twists.map(|(origin, velocity, spin)| Twist { origin, velocity, spin, ..Twist::default() });
                    let rates = touch_rates(Dimension::Space, (other, &poses[0], &a), (&mesh, &poses[1], &b), &touch);
                    let slope = |of: fn(&Touch) -> DVec3| {
                        let central = |tau: f64| (of(&held(tau)) - of(&held(-tau))) / (2.0 * tau);
                        (4.0 * central(5e-5) - central(1e-4)) / 3.0
                    };
                    let exact = [slope(|t| t.normal), slope(|t| t.point_on_first), slope(|t| t.point_on_second)];
                    for (rate, exact) in rates.into_iter().zip(exact) {
                        // Edges that are nearly parallel and near corners turn fast.
                        let size = 1.0 + exact.length();
                        if size < 30.0 {
                            assert!(rate.distance(exact) <= 1e-7 * size * size, "{touch:?}: {rate} and {exact}");
                        }
                    }
                    let gap_rate = touch.normal.dot(a.at(touch.point_on_first) - b.at(touch.point_on_second));
                    let difference = (held(1e-5).gap - held(-1e-5).gap) / 2e-5;
                    assert!((gap_rate - difference).abs() <= 1e-6, "{touch:?}: {gap_rate} and {difference}");
                    kinds[(touch.feature >> 60) as usize] += 1;
                }
            }
        }
        // Between parallel faces the brink is one of the second body.
        assert!(kinds.iter().enumerate().all(|(kind, &count)| (count > 5) != [0, 5].contains(&kind)), "{kinds:?}");
    }
}

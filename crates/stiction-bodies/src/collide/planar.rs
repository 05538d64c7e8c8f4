//! Polygons, boxes, capsules and discs in the plane against each other and against chains.
//!
//! **Convex bodies.** A disc is a point with a radius, a capsule a segment with one, which has two
//! sides, and boxes and polygons have none: each is a core $A$ with a radius. The core of the first
//! is apart from that of the second when the origin is outside of $A - B$, whose sides are those of
//! $A$ and $B$, each with the farthest vertex of the other core. So one walk around both cores finds
//! every side of it (O(n + m): the farthest vertex goes round with the normal). The greatest height
//! $s$ over a side is the answer:
//!
//! - Overlap, $s \le 0$: the least translation that parts the cores has the length $-s$ along the
//!   normal of that side, and the vertex has its foot in the side.
//! - Apart, with the foot in the side: $s$ is the distance. Otherwise two vertices are nearest.
//!
//! The side is then the reference, and the side of the other core at that vertex which faces it the
//! incident one. Their common segment has two ends, and each is a contact: the end of the incident
//! side above the reference one, or, where it is beyond, the end of the reference side above the
//! incident one. Each has its own height and its own normal, so that no body turns through another.
//!
//! **Chains** have their solid on the right. A contact has a normal in the normal cone of the
//! chain: at an inner point of a segment its normal, at a convex corner all between those of its two
//! segments, at a concave corner none, and at the end of an open chain from its normal to the
//! direction in which the chain ends. So a body that slides along a chain meets no corner before it
//! is there, and lies in a valley with a contact on each slope.
//!
//! What is behind a chain is inside where the nearest point of the chain is in a segment or at a
//! concave corner: the solid of an open chain reaches as deep as its ends are not nearer. A vertex
//! inside is pushed out through the segment that is nearest to it. A body that crosses a chain with
//! no vertex inside is pushed out along the segment or side that is crossed least; a body all of
//! which is inside, through the nearest segment.

use glamx::{DVec2, DVec3};
use smallvec::SmallVec;
use stiction_solve::PortableMath as _;

use super::{FeaturePair, Output, Part, Touch, axis};
use crate::pose::Pose;
use crate::shape::{Dimension, Shape};

/// A side is the reference instead of an earlier one when its height is greater by this share of
/// the size. Too large: gaps are off by it. Too small: at rest the reference changes by rounding.
const LEVEL: f64 = 1e-13;

/// Ends of two sides are above each other within this share of the size. Too large: contacts are
/// that far beyond the end of a side. Too small: where sides end together, contacts change their
/// features by rounding.
const END: f64 = 1e-12;

/// One of two neighbours faces a side when the cosine of its angle is better by this. Too small: of
/// two that lie symmetrically rounding chooses.
const FACING: f64 = 1e-11;

/// A shape in the plane, in world axes, seen from the origin of the pair.
struct Outline {
    vertices: SmallVec<[DVec2; 8]>,
    /// Out of the solid, across the side that begins at the vertex of this number.
    normals: SmallVec<[DVec2; 8]>,
    /// Radius around it.
    radius: f64,
    /// 1 where the solid is on the left of the sides, -1 for a chain.
    turning: f64,
    /// Whether the last vertex is joined to the first.
    is_closed: bool,
    /// Radius of a circle around `centre` that holds the outline.
    size: f64,
    centre: DVec2,
}

/// A side of an outline.
struct Side {
    start: DVec2,
    normal: DVec2,
    along: DVec2,
    length: f64,
}

/// One end of the common segment of two sides.
#[derive(Clone, Copy)]
enum End {
    /// This vertex above the reference side.
    Vertex(usize),
    /// This vertex of the reference side above that side of the other outline.
    Under(usize, usize),
}

/// Where a point inside a chain is nearest to it.
#[derive(Clone, Copy, PartialEq)]
enum Nearest {
    Segment(usize),
    Corner(usize),
}

/// Whether the planar contacts of this pair are found here.
fn is_here(first: &Shape, second: &Shape) -> bool {
    use Shape::{Capsule, Cuboid, Polygon, Polyline, Sphere};
    let is_convex = |shape: &Shape| matches!(shape, Sphere { .. } | Capsule { .. } | Cuboid { .. } | Polygon(_));
    let has_sides = |shape: &Shape| matches!(shape, Cuboid { .. } | Polygon(_) | Polyline(_));
    (is_convex(first) || is_convex(second))
        && [first, second].into_iter().all(|shape| is_convex(shape) || has_sides(shape))
        && (has_sides(first) || has_sides(second))
}

/// The contacts of a pair that is treated here; else false.
pub(super) fn collide(first: (&Shape, &Pose), second: (&Shape, &Pose), out: &mut Output) -> bool {
    let Some(pair) = Pair::new(first, second) else { return false };
    let mut found = SmallVec::new();
    match [first.0, second.0].map(|shape| matches!(shape, Shape::Polyline(_))) {
        [true, _] => pair.against_chain(0, out.horizon, &mut found),
        [_, true] => pair.against_chain(1, out.horizon, &mut found),
        _ => pair.convex(out.horizon, &mut found),
    }
    found.sort_unstable_by_key(|touch: &Touch| touch.feature);
    out.touches.extend(found.into_iter().filter(|touch| touch.gap <= out.horizon));
    true
}

/// The touches with these features, however far apart; false where the pair is not treated here.
pub(super) fn touches_of(pair: [(&Shape, &Pose); 2], features: &[u64], touches: &mut Vec<Touch>) -> bool {
    let Some(pair) = Pair::new(pair[0], pair[1]) else { return false };
    touches.extend(features.iter().filter_map(|&feature| pair.touch(FeaturePair::of(feature))));
    true
}

impl Outline {
    fn of(shape: &Shape, pose: &Pose, origin: DVec3) -> Option<Self> {
        let u = axis(Dimension::Plane, pose).truncate();
        let centre = (pose.position - origin).truncate();
        let turned = |x: DVec2| DVec2::new(u.x * x.x - u.y * x.y, u.y * x.x + u.x * x.y);
        let placed = |x: &DVec3| centre + turned(x.truncate());
        let mut outline = Self {
            vertices: SmallVec::new(),
            normals: SmallVec::new(),
            radius: 0.0,
            turning: 1.0,
            is_closed: true,
            size: shape.bounding_radius(),
            centre,
        };
        let v = turned(DVec2::Y);
        match *shape {
            Shape::Sphere { radius } => {
                outline.vertices.push(centre);
                outline.radius = radius;
            }
            Shape::Capsule { half_length, radius } => {
                outline.vertices.extend([centre + half_length * u, centre - half_length * u]);
                outline.normals.extend([v, -v]);
                outline.radius = radius;
            }
            Shape::Cuboid { half_extents: e } => {
                outline.size = e.x.portable_hypot(e.y);
                let corner = |x: f64, y: f64| centre + (x * e.x * u + y * e.y * v);
                outline.vertices.extend([corner(1.0, 1.0), corner(-1.0, 1.0), corner(-1.0, -1.0), corner(1.0, -1.0)]);
                outline.normals.extend([v, -u, -v, u]);
            }
            Shape::Polygon(ref polygon) => {
                outline.vertices.extend(polygon.vertices.iter().map(placed));
                outline.normals.extend(polygon.normals.iter().map(|n| turned(n.truncate())));
            }
            Shape::Polyline(ref chain) => {
                outline.vertices.extend(chain.vertices.iter().map(placed));
                outline.normals.extend(chain.normals.iter().map(|n| turned(n.truncate())));
                outline.turning = -1.0;
                outline.is_closed = chain.is_closed;
            }
            _ => return None,
        }
        Some(outline)
    }

    fn next(&self, i: usize) -> usize {
        if i + 1 == self.vertices.len() { 0 } else { i + 1 }
    }

    fn previous(&self, i: usize) -> usize {
        if i == 0 { self.vertices.len() - 1 } else { i - 1 }
    }

    fn side(&self, number: usize) -> Side {
        let normal = self.normals[number];
        let along = self.turning * DVec2::new(-normal.y, normal.x);
        let start = self.vertices[number];
        Side { start, normal, along, length: (self.vertices[self.next(number)] - start).dot(along) }
    }

    fn height(&self, side: usize, x: DVec2) -> f64 {
        (x - self.vertices[side]).dot(self.normals[side])
    }

    /// The sides that end and begin at a vertex; none beyond the ends of a chain, nor of a point.
    fn sides_at(&self, vertex: usize) -> [Option<usize>; 2] {
        if self.normals.is_empty() {
            return [None; 2];
        }
        let before = (vertex > 0 || self.is_closed).then(|| self.previous(vertex));
        [before, (vertex < self.normals.len()).then_some(vertex)]
    }

    /// The farthest vertex against a direction, by walking forwards from one.
    fn walk_down(&self, direction: DVec2, from: usize) -> usize {
        let mut vertex = from;
        for _ in 0..self.vertices.len() {
            let next = self.next(vertex);
            if (self.vertices[next] - self.vertices[vertex]).dot(direction) >= 0.0 {
                break;
            }
            vertex = next;
        }
        vertex
    }

    /// The same among all.
    fn lowest(&self, direction: DVec2) -> usize {
        let height = |i: usize| (self.vertices[i] - self.vertices[0]).dot(direction);
        (1..self.vertices.len()).fold(0, |best, i| if height(i) < height(best) { i } else { best })
    }

    /// Whether the solid sticks out at a vertex.
    fn is_convex(&self, vertex: usize) -> bool {
        match self.sides_at(vertex) {
            [Some(before), Some(after)] => self.turning * self.normals[before].perp_dot(self.normals[after]) > 0.0,
            _ => true,
        }
    }

    /// Whether a direction is one of those out of the solid at a convex vertex, by more than
    /// `least` across each of its sides.
    fn has_normal(&self, vertex: usize, x: DVec2, least: f64) -> bool {
        let sides = self.sides_at(vertex);
        let [before, after] = sides.map(|side| side.map(|side| self.side(side)));
        before.as_ref().is_none_or(|side| x.dot(side.along) > least)
            && after.as_ref().is_none_or(|side| x.dot(side.along) < -least)
            && match (before, after) {
                (Some(end), None) | (None, Some(end)) => x.dot(end.normal) >= 0.0,
                _ => true,
            }
    }

    /// Whether a point is on the solid side of both sides at a convex vertex.
    fn is_behind(&self, vertex: usize, x: DVec2) -> bool {
        let sides = self.sides_at(vertex);
        sides.iter().any(Option::is_some) && sides.into_iter().flatten().all(|side| self.height(side, x) <= 0.0)
    }

    /// Whether a point is above a side, up to a slack, or inside and nearer to no other side: it
    /// leaves through the nearest.
    fn may_leave(&self, side: usize, x: DVec2, slack: f64) -> bool {
        let height = self.height(side, x);
        height >= -slack || (0..self.normals.len()).all(|other| self.height(other, x) <= height)
    }

    /// Where a point inside a chain is nearest to it; none for a point outside.
    fn inside_chain(&self, x: DVec2) -> Option<Nearest> {
        let mut least = f64::INFINITY;
        let mut nearest = None;
        for number in 0..self.normals.len() {
            let side = self.side(number);
            let e = x - side.start;
            let t = e.dot(side.along);
            let (square, place) = if t < 0.0 {
                (e.length_squared(), Nearest::Corner(number))
            } else if t > side.length {
                let end = self.next(number);
                ((x - self.vertices[end]).length_squared(), Nearest::Corner(end))
            } else {
                (e.dot(side.normal).powi(2), Nearest::Segment(number))
            };
            if square < least {
                least = square;
                nearest = Some(place);
            }
        }
        nearest.filter(|place| match *place {
            Nearest::Segment(number) => self.height(number, x) < 0.0,
            Nearest::Corner(vertex) => !self.is_convex(vertex),
        })
    }

    /// Whether a segment has inner points in a convex outline, deeper than `depth`; of a capsule,
    /// whether its axis crosses the segment.
    fn is_crossed_by(&self, [a, b]: [DVec2; 2], depth: f64) -> bool {
        if let [c, d] = self.vertices[..] {
            let are_apart = |a: DVec2, b: DVec2, c: DVec2, d: DVec2| {
                let across = (b - a).perp().normalize();
                let [h, k] = [c, d].map(|x| (x - a).dot(across));
                h.min(k) < 0.0 && h.max(k) > 0.0
            };
            return are_apart(a, b, c, d) && are_apart(c, d, a, b);
        }
        let (mut from, mut to) = (0.0f64, 1.0f64);
        for side in 0..self.normals.len() {
            let [h, k] = [a, b].map(|x| self.height(side, x) + depth);
            if h > 0.0 && k > 0.0 {
                return false;
            }
            if h > 0.0 {
                from = from.max(h / (h - k));
            } else if k > 0.0 {
                to = to.min(h / (h - k));
            }
        }
        from < to && !self.normals.is_empty()
    }
}

/// The side of one core with the vertex of the other that parts them best.
#[derive(Clone, Copy)]
struct Reference {
    /// Which of the two has the side.
    owner: usize,
    side: usize,
    vertex: usize,
    height: f64,
}

/// Two shapes, seen from the origin of the second.
struct Pair {
    outlines: [Outline; 2],
    origin: DVec3,
    size: f64,
}

type Touches = SmallVec<[Touch; 8]>;

impl Pair {
    fn new(first: (&Shape, &Pose), second: (&Shape, &Pose)) -> Option<Self> {
        if !is_here(first.0, second.0) {
            return None;
        }
        let origin = second.1.position.with_z(0.0);
        let outlines = [Outline::of(first.0, first.1, origin)?, Outline::of(second.0, second.1, origin)?];
        let size = outlines[0].size.max(outlines[1].size);
        Some(Self { outlines, origin, size })
    }

    fn radii(&self) -> f64 {
        self.outlines[0].radius + self.outlines[1].radius
    }

    /// The touch of a pair of features; none where there is none.
    fn touch(&self, features: FeaturePair) -> Option<Touch> {
        let has = |body: usize, vertex: u32, side: u32| {
            (vertex as usize) < self.outlines[body].vertices.len()
                && (side as usize) < self.outlines[1 - body].normals.len()
        };
        match features {
            FeaturePair::VertexFace(v, f) if has(0, v, f) => Some(self.vertex_face(0, v as usize, f as usize)),
            FeaturePair::FaceVertex(f, v) if has(1, v, f) => Some(self.vertex_face(1, v as usize, f as usize)),
            FeaturePair::VertexVertex(v, w) => {
                let [a, b] = &self.outlines;
                let (v, w) = (v as usize, w as usize);
                let (x, y) = (*a.vertices.get(v)?, *b.vertices.get(w)?);
                let is_apart = !a.is_behind(v, y) && !b.is_behind(w, x);
                if is_apart { self.vertices(v, w) } else { None }
            }
            _ => None,
        }
    }

    /// A vertex of one body above the plane of a side of the other.
    fn vertex_face(&self, body: usize, vertex: usize, side: usize) -> Touch {
        let [a, b] = [&self.outlines[body], &self.outlines[1 - body]];
        let (x, normal) = (a.vertices[vertex], b.normals[side]);
        let height = b.height(side, x);
        let foot = x - height * normal;
        let (v, f) = (vertex as u32, side as u32);
        if body == 0 {
            self.make([Part::Point, Part::Plane], [x, foot], (normal, height), FeaturePair::VertexFace(v, f))
        } else {
            self.make([Part::Plane, Part::Point], [foot, x], (-normal, height), FeaturePair::FaceVertex(f, v))
        }
    }

    /// Two vertices that are not at one place.
    fn vertices(&self, v: usize, w: usize) -> Option<Touch> {
        let [x, y] = [self.outlines[0].vertices[v], self.outlines[1].vertices[w]];
        let (normal, distance) = super::direction_of((x - y).extend(0.0))?;
        let features = FeaturePair::VertexVertex(v as u32, w as u32);
        Some(self.make([Part::Point; 2], [x, y], (normal.truncate(), distance), features))
    }

    fn make(
        &self,
        parts: [Part; 2],
        points: [DVec2; 2],
        (normal, distance): (DVec2, f64),
        features: FeaturePair,
    ) -> Touch {
        let radii = [self.outlines[0].radius, self.outlines[1].radius];
        let normal = normal.extend(0.0);
        let [x1, x2] = points.map(|x| self.origin + x.extend(0.0));
        let (point_on_first, point_on_second) = (x1 - radii[0] * normal, x2 + radii[1] * normal);
        let point = 0.5 * (point_on_first + point_on_second);
        let gap = distance - (radii[0] + radii[1]);
        Touch { gap, normal, point, point_on_first, point_on_second, feature: features.code(), parts, radii }
    }

    /// Visits every side of the difference of two cores.
    fn walk(&self, mut visit: impl FnMut(Reference)) {
        // The second first: on it the first stands.
        for owner in [1, 0] {
            let [a, b] = [&self.outlines[owner], &self.outlines[1 - owner]];
            let (mut vertex, mut last) = (0, DVec2::ZERO);
            for (side, &normal) in a.normals.iter().enumerate() {
                // After a sharp turn the walk could begin on a side that is highest.
                vertex = if normal.dot(last) > 0.0 { b.walk_down(normal, vertex) } else { b.lowest(normal) };
                last = normal;
                visit(Reference { owner, side, vertex, height: a.height(side, b.vertices[vertex]) });
            }
        }
    }

    fn convex(&self, horizon: f64, found: &mut Touches) {
        let reach = horizon + self.radii();
        let [a, b] = &self.outlines;
        if (a.centre - b.centre).length() > a.size + b.size + horizon {
            return;
        }
        let level = LEVEL * self.size;
        let mut best = Reference { owner: 1, side: 0, vertex: 0, height: f64::NEG_INFINITY };
        self.walk(|candidate| {
            if candidate.height > best.height + level {
                best = candidate;
            }
        });
        if best.height == f64::NEG_INFINITY || best.height > reach {
            return;
        }
        if best.height > 0.0 && !self.is_above(best) {
            match self.nearest() {
                Ok(reference) => best = reference,
                Err((v, w)) => {
                    found.extend(self.vertices(v, w));
                    return;
                }
            }
        }
        for end in self.ends(best).into_iter().flatten() {
            match end {
                End::Vertex(vertex) => found.push(self.vertex_face(1 - best.owner, vertex, best.side)),
                End::Under(side, vertex) => found.push(self.vertex_face(best.owner, vertex, side)),
            }
        }
        if found.is_empty() {
            found.push(self.vertex_face(1 - best.owner, best.vertex, best.side));
        }
    }

    /// Whether the vertex, or a neighbour at the same height, is above the side.
    fn is_above(&self, reference: Reference) -> bool {
        let [a, b] = [&self.outlines[reference.owner], &self.outlines[1 - reference.owner]];
        let side = a.side(reference.side);
        let vertex = reference.vertex;
        let around = [vertex, b.next(vertex), b.previous(vertex)].map(|i| b.vertices[i]);
        let as_low =
            around.iter().filter(|x| (**x - side.start).dot(side.normal) <= reference.height + LEVEL * self.size);
        let places = as_low.map(|x| (x - side.start).dot(side.along));
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), t| (l.min(t), h.max(t)));
        let slack = END * self.size;
        high >= -slack && low <= side.length + slack
    }

    /// The nearest features of two cores that are apart: a side and a vertex, or two vertices.
    fn nearest(&self) -> Result<Reference, (usize, usize)> {
        let (mut least, mut found) = (f64::INFINITY, Err((0, 0)));
        self.walk(|candidate| {
            let [a, b] = [&self.outlines[candidate.owner], &self.outlines[1 - candidate.owner]];
            let side = a.side(candidate.side);
            let x = b.vertices[candidate.vertex];
            let t = (x - side.start).dot(side.along);
            if t >= 0.0 && t <= side.length {
                if candidate.height > 0.0 && candidate.height < least {
                    (least, found) = (candidate.height, Ok(candidate));
                }
                return;
            }
            let corner = if t < 0.0 { candidate.side } else { a.next(candidate.side) };
            let distance = (x - a.vertices[corner]).length();
            if distance < least {
                let pair = [(candidate.vertex, corner), (corner, candidate.vertex)][1 - candidate.owner];
                (least, found) = (distance, Err(pair));
            }
        });
        found
    }

    /// The ends of the common segment of a side and of the side of the other that faces it.
    fn ends(&self, reference: Reference) -> [Option<End>; 2] {
        let [a, b] = [&self.outlines[reference.owner], &self.outlines[1 - reference.owner]];
        let side = a.side(reference.side);
        let slack = END * self.size;
        let place = |x: DVec2| (x - side.start).dot(side.along);
        let is_within = |t: f64| t >= -slack && t <= side.length + slack;
        let vertex = reference.vertex;
        if b.normals.is_empty() {
            return [is_within(place(b.vertices[vertex])).then_some(End::Vertex(vertex)), None];
        }
        let before = b.previous(vertex);
        let facing = |side: usize| b.normals[side].dot(a.normals[reference.side]);
        let incident = if facing(before) < facing(vertex) - FACING { before } else { vertex };
        let ends = [incident, b.next(incident)];
        let [t, u] = ends.map(|i| place(b.vertices[i]));
        let (low, high) = if t <= u { ((ends[0], t), (ends[1], u)) } else { ((ends[1], u), (ends[0], t)) };
        let under = |corner: usize| {
            let other = b.side(incident);
            let x = a.vertices[corner];
            let t = (x - other.start).dot(other.along);
            let is_below = (x - other.start).dot(other.normal) <= slack || (t >= -slack && t <= other.length + slack);
            is_below.then_some(End::Under(incident, corner))
        };
        let first = if low.1 >= -slack {
            is_within(low.1).then_some(End::Vertex(low.0))
        } else if high.1 > slack {
            under(reference.side)
        } else {
            None
        };
        let second = if high.1 <= side.length + slack {
            is_within(high.1).then_some(End::Vertex(high.0))
        } else if low.1 < side.length - slack {
            under(a.next(reference.side))
        } else {
            None
        };
        [first, second]
    }

    /// The contacts of a convex body with a chain, which is the body of that number.
    fn against_chain(&self, of_chain: usize, horizon: f64, found: &mut Touches) {
        let [chain, core] = [&self.outlines[of_chain], &self.outlines[1 - of_chain]];
        let slack = END * self.size;
        let reach = horizon + core.radius;
        let mut crossed: Option<(f64, Touch)> = None;
        for number in 0..chain.normals.len() {
            let side = chain.side(number);
            let e = core.centre - side.start;
            let (h, t) = (e.dot(side.normal), e.dot(side.along));
            let far = core.size + horizon;
            if h > far || t < -far || t > side.length + far {
                continue;
            }
            let vertex = core.lowest(side.normal);
            let height = chain.height(number, core.vertices[vertex]);
            if height > reach {
                continue;
            }
            self.on_segment(Reference { owner: of_chain, side: number, vertex, height }, reach, found);
            let ends = [side.start, chain.vertices[chain.next(number)]];
            if height < -slack && core.is_crossed_by(ends, slack) {
                self.least_crossed(of_chain, number, (vertex, height), &mut crossed);
            }
        }
        for corner in (0..chain.vertices.len()).filter(|corner| chain.is_convex(*corner)) {
            if (chain.vertices[corner] - core.centre).length() <= core.size + horizon {
                self.on_corner(of_chain, corner, found);
            }
        }
        // What is inside, or crosses, must not go unseen.
        if found.iter().any(|touch| touch.gap + core.radius <= slack) {
            return;
        }
        if let Some((_, touch)) = crossed {
            offer(found, touch);
            return;
        }
        let is_inside = core.vertices.iter().find_map(|x| chain.inside_chain(*x));
        let mut push = |number: usize| {
            offer(found, self.vertex_face(1 - of_chain, core.lowest(chain.normals[number]), number));
        };
        match is_inside {
            Some(Nearest::Segment(number)) => push(number),
            Some(Nearest::Corner(corner)) => chain.sides_at(corner).into_iter().flatten().for_each(push),
            None => {}
        }
    }

    /// Contacts above a segment of a chain, in its normal cones.
    fn on_segment(&self, reference: Reference, reach: f64, found: &mut Touches) {
        let of_chain = reference.owner;
        let [chain, core] = [&self.outlines[of_chain], &self.outlines[1 - of_chain]];
        let slack = END * self.size;
        for end in self.ends(reference).into_iter().flatten() {
            match end {
                End::Vertex(vertex) => {
                    let x = core.vertices[vertex];
                    let is_out = chain.height(reference.side, x) >= -slack;
                    if is_out || chain.inside_chain(x) == Some(Nearest::Segment(reference.side)) {
                        offer(found, self.vertex_face(1 - of_chain, vertex, reference.side));
                    }
                }
                End::Under(side, corner) if chain.is_convex(corner) => {
                    let x = chain.vertices[corner];
                    if core.may_leave(side, x, slack) {
                        offer(found, self.vertex_face(of_chain, corner, side));
                    }
                }
                End::Under(..) => {}
            }
        }
        // At a concave corner what is below both segments is held by both.
        if reference.height < -slack && reference.height <= reach {
            let x = core.vertices[reference.vertex];
            if let Some(Nearest::Corner(corner)) = chain.inside_chain(x)
                && chain.sides_at(corner).contains(&Some(reference.side))
            {
                offer(found, self.vertex_face(1 - of_chain, reference.vertex, reference.side));
            }
        }
    }

    /// Contacts of a convex corner of a chain, in its normal cone.
    fn on_corner(&self, of_chain: usize, corner: usize, found: &mut Touches) {
        let [chain, core] = [&self.outlines[of_chain], &self.outlines[1 - of_chain]];
        let slack = END * self.size;
        let x = chain.vertices[corner];
        for number in 0..core.normals.len() {
            let side = core.side(number);
            let t = (x - side.start).dot(side.along);
            let is_beside = t >= -slack && t <= side.length + slack && core.may_leave(number, x, 0.0);
            if is_beside && chain.has_normal(corner, -side.normal, 0.0) {
                offer(found, self.vertex_face(of_chain, corner, number));
            }
        }
        for (vertex, &y) in core.vertices.iter().enumerate() {
            let is_nearest = chain.has_normal(corner, y - x, slack)
                && (core.normals.is_empty() || core.has_normal(vertex, x - y, slack));
            let [v, w] = if of_chain == 1 { [vertex, corner] } else { [corner, vertex] };
            if let (true, Some(touch)) = (is_nearest, self.vertices(v, w)) {
                offer(found, touch);
            }
        }
    }

    /// How a body that crosses a segment leaves it on the shortest way: along its normal, or along
    /// that of a side of the body that a convex end of the segment may have.
    fn least_crossed(
        &self,
        of_chain: usize,
        number: usize,
        (vertex, height): (usize, f64),
        crossed: &mut Option<(f64, Touch)>,
    ) {
        let [chain, core] = [&self.outlines[of_chain], &self.outlines[1 - of_chain]];
        let mut take = |depth: f64, touch: Touch| {
            if crossed.is_none_or(|(best, _)| depth > best) {
                *crossed = Some((depth, touch));
            }
        };
        take(height, self.vertex_face(1 - of_chain, vertex, number));
        let ends = [number, chain.next(number)];
        for (side, &normal) in core.normals.iter().enumerate() {
            let [h, k] = ends.map(|end| core.height(side, chain.vertices[end]));
            let (deepest, end) = if h <= k { (h, ends[0]) } else { (k, ends[1]) };
            if chain.is_convex(end) && chain.has_normal(end, -normal, 0.0) {
                take(deepest, self.vertex_face(of_chain, end, side));
            }
        }
    }
}

/// Adds a touch unless its feature is there.
fn offer(found: &mut Touches, touch: Touch) {
    if found.iter().all(|other| other.feature != touch.feature) {
        found.push(touch);
    }
}

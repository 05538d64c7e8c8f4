//! Spheres and capsules against boxes and convex polyhedra.
//!
//! A sphere is a point and a capsule a segment $c + s u$, $|s| \le a$, each with a radius around
//! it. So what has to be found is where this core comes near to the polyhedron; the radius is taken
//! off at the end. All is done in the coordinates of the polyhedron.
//!
//! **The pairs of features.** An end of the core stands above a face (signed height above its
//! plane), beside an edge or before a corner (distances). The inside of a segment passes an edge, at
//! the signed distance along the common perpendicular, or a corner. Each such distance is one of two
//! points that do belong to the bodies. So each is a condition that must hold, and they may be
//! listed freely; but one that is nearest must be among them.
//!
//! **Apart.** At the nearest points $x_1 - x_2 = D n$ no motion along either body brings them
//! nearer: $\pm n \cdot u \le 0$ at an end at $\pm a$, and $n \cdot m \le 0$ for the directions $m$
//! from the edge or corner into the polyhedron. As both bodies are convex, this is also enough. Ends
//! are listed each with what is nearest to it. An end above a face always is: a capsule that lies on
//! a face rests on both ends. Where the capsule reaches over the border of the face it rests on that
//! edge instead. Pairs that fail the conditions by little are listed too ([`LEAN`]), because they
//! are where a capsule comes to rest that rocks. A capsule along an edge meets it with its ends and
//! with the corners of the edge.
//!
//! **Overlap.** Where the core itself is in the polyhedron, the gap is minus the least translation
//! that separates the two. Its direction is the normal of a face, or $u \times w$ for an edge along
//! $w$ between whose normals $u$ changes its side: there the difference of the two bodies, which is
//! convex too, has its faces. Of an edge and a face that are as good the face is taken.

use glamx::DVec3;
use smallvec::SmallVec;

use super::feature::FeaturePair;
use super::{Output, PARALLEL_SINE_TOLERANCE, Part, axis, direction_of, perpendicular};
use crate::pose::Pose;
use crate::shape::polytope::{Edge, Face, View};
use crate::shape::{Dimension, Shape};

/// A point that projects outside of a face, or beyond the end of an edge, by less than this fraction
/// of the edge is above it. Too large: a gap is too small or too large by that. Too small: a contact
/// at rest on a border changes its feature by rounding.
const BORDER: f64 = 4e-13;

/// A pair of features that is not the nearest one is listed while the sine of the angle by which
/// its normal would have to turn to be is at most this. Too large: contacts that carry nothing. Too
/// small: a capsule that rocks finds its second contact only when it has reached it.
const LEAN: f64 = 0.1;

/// The same for ends that reach over a border. Too large: an end is listed beside the edge that
/// carries it. Too small: neither is, by rounding.
const OVERHANG: f64 = 1e-9;

/// An edge separates better than a face when it does by more than this fraction of the size. Too
/// large: gaps are off by that. Too small: rounding decides.
const EDGE_ADVANTAGE: f64 = 1e-13;

/// The features of a pair that are listed.
type Features = SmallVec<[FeaturePair; 8]>;

/// What is asked of a polyhedron.
#[derive(Clone, Copy)]
pub(super) struct Facets<'a>(pub View<'a>);

impl Facets<'_> {
    pub(super) fn vertex(&self, vertex: u32) -> DVec3 {
        self.0.vertices[vertex as usize]
    }

    pub(super) fn normal(&self, face: u32) -> DVec3 {
        self.0.faces[face as usize].normal
    }

    /// Height of a point above the plane of a face.
    pub(super) fn height(&self, face: u32, x: DVec3) -> f64 {
        let Face { normal, offset, .. } = self.0.faces[face as usize];
        normal.dot(x) - offset
    }

    pub(super) fn face_count(&self) -> u32 {
        self.0.faces.len() as u32
    }

    pub(super) fn edge_count(&self) -> u32 {
        self.0.edges.len() as u32
    }

    pub(super) fn vertex_count(&self) -> u32 {
        self.0.vertices.len() as u32
    }

    pub(super) fn edge(&self, edge: u32) -> Edge {
        self.0.edges[edge as usize]
    }

    /// Where an edge begins, its unit direction and its length.
    pub(super) fn line(&self, edge: u32) -> (DVec3, DVec3, f64) {
        let [from, to] = self.edge(edge).vertices.map(|vertex| self.vertex(vertex));
        let length = (to - from).length();
        (from, (to - from) / length, length)
    }

    /// From the edge into its two faces, along them and across the edge.
    pub(super) fn inwards(&self, edge: u32, along: DVec3) -> [DVec3; 2] {
        let [left, right] = self.edge(edge).faces.map(|face| self.normal(face));
        [left.cross(along), along.cross(right)]
    }

    /// Outwards at an edge, not of unit length.
    pub(super) fn out_of_edge(&self, edge: u32) -> DVec3 {
        let [left, right] = self.edge(edge).faces.map(|face| self.normal(face));
        left + right
    }

    /// Whether a point projects into a face.
    pub(super) fn is_above(&self, face: u32, x: DVec3) -> bool {
        self.0.around(face).all(|half_edge| {
            let start = self.0.start(half_edge);
            let along = self.0.start(self.0.next(half_edge)) - start;
            along.cross(self.normal(face)).dot(x - start) <= BORDER * along.length_squared()
        })
    }

    /// Unit directions of the edges that leave a corner.
    pub(super) fn around(&self, vertex: u32) -> impl Iterator<Item = DVec3> {
        let edges = self.0.edges.iter().filter(move |edge| edge.vertices.contains(&vertex));
        edges.map(move |edge| {
            let other = if edge.vertices[0] == vertex { edge.vertices[1] } else { edge.vertices[0] };
            (self.vertex(other) - self.vertex(vertex)).normalize()
        })
    }

    /// The feature that is nearest to a point, as seen by vertex `end` of the other shape.
    fn nearest(&self, end: u32, x: DVec3) -> FeaturePair {
        let higher = |best: (u32, f64), face: u32| {
            let height = self.height(face, x);
            if height > best.1 { (face, height) } else { best }
        };
        let deepest = (0..self.face_count()).fold((0, f64::NEG_INFINITY), higher);
        if deepest.1 <= 0.0 {
            return FeaturePair::VertexFace(end, deepest.0);
        }
        let below = (0..self.face_count()).filter(|face| self.height(*face, x) > 0.0 && self.is_above(*face, x));
        if let Some((face, _)) =
            below.map(|face| (face, self.height(face, x))).reduce(|a, b| if b.1 > a.1 { b } else { a })
        {
            return FeaturePair::VertexFace(end, face);
        }
        let mut nearest = (f64::INFINITY, FeaturePair::VertexVertex(end, 0));
        for edge in 0..self.edge_count() {
            let (from, along, length) = self.line(edge);
            let place = (x - from).dot(along);
            let distance = (x - from - place.clamp(0.0, length) * along).length();
            if distance < nearest.0 {
                let [first, last] = self.edge(edge).vertices;
                let pair = if place <= BORDER * length {
                    FeaturePair::VertexVertex(end, first)
                } else if place >= (1.0 - BORDER) * length {
                    FeaturePair::VertexVertex(end, last)
                } else {
                    FeaturePair::VertexEdge(end, edge)
                };
                nearest = (distance, pair);
            }
        }
        nearest.1
    }
}

/// A point or segment, in the coordinates of a polyhedron.
struct Core {
    centre: DVec3,
    /// Unit direction of a segment.
    axis: DVec3,
    /// Zero for a point.
    half_length: f64,
}

/// Where a core and a polyhedron meet, in the coordinates of the latter.
#[derive(Clone, Copy)]
struct Meeting {
    parts: [Part; 2],
    points: [DVec3; 2],
    normal: DVec3,
    distance: f64,
}

impl Core {
    fn ends(&self) -> u32 {
        if self.half_length > 0.0 { 2 } else { 1 }
    }

    /// The end at $+a$, or at $-a$.
    fn end(&self, end: u32) -> DVec3 {
        self.centre + self.side(end) * self.half_length * self.axis
    }

    fn side(&self, end: u32) -> f64 {
        if end == 0 { 1.0 } else { -1.0 }
    }

    /// Two features held; none where they have no common perpendicular.
    fn meeting(&self, hull: &Facets, features: FeaturePair) -> Option<Meeting> {
        let (parts, points, (normal, distance)) = match features {
            FeaturePair::VertexFace(end, face) => {
                let (x, normal) = (self.end(end), hull.normal(face));
                let height = hull.height(face, x);
                ([Part::Point, Part::Plane], [x, x - height * normal], (normal, height))
            }
            FeaturePair::VertexEdge(end, edge) => {
                let (x, (from, along, _)) = (self.end(end), hull.line(edge));
                let foot = from + (x - from).dot(along) * along;
                let out = direction_of(x - foot).unwrap_or_else(|| (hull.out_of_edge(edge).normalize(), 0.0));
                ([Part::Point, Part::Line(along)], [x, foot], out)
            }
            FeaturePair::VertexVertex(end, vertex) => {
                let (x, corner) = (self.end(end), hull.vertex(vertex));
                let out = direction_of(x - corner).unwrap_or_else(|| (corner.normalize(), 0.0));
                ([Part::Point; 2], [x, corner], out)
            }
            FeaturePair::EdgeEdge(_, edge) => {
                let (from, along, _) = hull.line(edge);
                let cross = self.axis.cross(along);
                let square = cross.length_squared();
                if square <= PARALLEL_SINE_TOLERANCE * PARALLEL_SINE_TOLERANCE {
                    return None;
                }
                let side = if cross.dot(hull.out_of_edge(edge)) < 0.0 { -1.0 } else { 1.0 };
                let (normal, w) = (side * cross / square.sqrt(), self.centre - from);
                let x1 = self.centre - w.cross(along).dot(cross) / square * self.axis;
                let x2 = from - w.cross(self.axis).dot(cross) / square * along;
                ([Part::Line(self.axis), Part::Line(along)], [x1, x2], (normal, normal.dot(w)))
            }
            FeaturePair::EdgeVertex(_, vertex) => {
                let corner = hull.vertex(vertex);
                let foot = self.centre + (corner - self.centre).dot(self.axis) * self.axis;
                let out = || (perpendicular(Dimension::Space, self.axis), 0.0);
                let apart = direction_of(foot - corner).unwrap_or_else(out);
                ([Part::Line(self.axis), Part::Point], [foot, corner], apart)
            }
            _ => return None,
        };
        Some(Meeting { parts, points, normal, distance })
    }

    /// Whether the inside of the segment passes the inside of an edge there.
    fn crosses(&self, hull: &Facets, edge: u32, [x1, x2]: [DVec3; 2]) -> bool {
        let (from, along, length) = hull.line(edge);
        let place = (x2 - from).dot(along);
        self.has_inside(x1) && place > BORDER * length && place < (1.0 - BORDER) * length
    }

    /// Whether a point of the line is inside of the segment.
    fn has_inside(&self, x: DVec3) -> bool {
        (x - self.centre).dot(self.axis).abs() < (1.0 - BORDER) * self.half_length
    }

    /// The best direction to separate the two, as a face or an edge, and by how much it does; the
    /// second is negative in overlap.
    fn separation(&self, hull: &Facets) -> (FeaturePair, f64) {
        let mut best = (FeaturePair::VertexFace(0, 0), f64::NEG_INFINITY);
        for face in 0..hull.face_count() {
            let end = u32::from(hull.normal(face).dot(self.axis) > 0.0 && self.half_length > 0.0);
            let height = hull.height(face, self.end(end));
            if height > best.1 {
                best = (FeaturePair::VertexFace(end, face), height);
            }
        }
        if self.half_length == 0.0 {
            return best;
        }
        for edge in 0..hull.edge_count() {
            let [left, right] = hull.edge(edge).faces.map(|face| hull.normal(face).dot(self.axis));
            if left * right >= 0.0 {
                continue;
            }
            let pair = FeaturePair::EdgeEdge(0, edge);
            if let Some(meeting) = self.meeting(hull, pair)
                && meeting.distance > best.1 + EDGE_ADVANTAGE * self.half_length
            {
                best = (pair, meeting.distance);
            }
        }
        best
    }

    /// What to list of two bodies whose cores are apart.
    fn list_apart(&self, hull: &Facets, out: &mut Features) {
        let mut nearest: Option<(f64, FeaturePair)> = None;
        let mut offer = |pair: FeaturePair, distance: f64, is_listed: bool, out: &mut Features| {
            if is_listed {
                out.push(pair);
            }
            if nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, pair));
            }
        };
        for end in 0..self.ends() {
            let pair = hull.nearest(end, self.end(end));
            let Some(meeting) = self.meeting(hull, pair) else { continue };
            let rise = self.side(end) * meeting.normal.dot(self.axis);
            let allowed = match (pair, meeting.parts[1]) {
                (FeaturePair::VertexFace(..), _) => f64::INFINITY,
                (_, Part::Line(along)) if self.axis.cross(along).length() <= LEAN => LEAN,
                _ => OVERHANG,
            };
            offer(pair, meeting.distance, self.half_length == 0.0 || rise <= allowed, out);
        }
        if self.half_length == 0.0 {
            return;
        }
        for edge in 0..hull.edge_count() {
            let pair = FeaturePair::EdgeEdge(0, edge);
            let Some(meeting) = self.meeting(hull, pair) else { continue };
            let (_, along, _) = hull.line(edge);
            let leans = hull.inwards(edge, along).iter().any(|inwards| meeting.normal.dot(*inwards) > LEAN);
            let is_below = meeting.distance < -BORDER * self.half_length;
            if !leans && !is_below && self.crosses(hull, edge, meeting.points) {
                offer(pair, meeting.distance, true, out);
            }
        }
        for vertex in 0..hull.vertex_count() {
            let pair = FeaturePair::EdgeVertex(0, vertex);
            let Some(meeting) = self.meeting(hull, pair) else { continue };
            let fits = |along: DVec3| {
                let allowed = if self.axis.cross(along).length() <= LEAN { LEAN } else { OVERHANG };
                meeting.normal.dot(along) <= allowed
            };
            if self.has_inside(meeting.points[0]) && hull.around(vertex).all(fits) {
                offer(pair, meeting.distance, true, out);
            }
        }
        if let Some((_, pair)) = nearest
            && !out.contains(&pair)
        {
            out.push(pair);
        }
    }

    /// What to list of two bodies whose cores overlap, and which `best` would separate: nothing that
    /// would take a longer way.
    fn list_overlap(&self, hull: &Facets, (best, separation): (FeaturePair, f64), out: &mut Features) {
        let least = separation - EDGE_ADVANTAGE * self.half_length;
        let (normal, faces) = match best {
            FeaturePair::EdgeEdge(_, edge) => {
                (self.meeting(hull, best).map(|meeting| meeting.normal), hull.edge(edge).faces)
            }
            FeaturePair::VertexFace(_, face) => (Some(hull.normal(face)), [face; 2]),
            _ => return,
        };
        let Some(normal) = normal else { return };
        let least_cosine = (1.0 - LEAN * LEAN).sqrt();
        for face in faces {
            for end in 0..self.ends() {
                let pair = FeaturePair::VertexFace(end, face);
                let is_along = hull.normal(face).dot(normal) >= least_cosine;
                let is_short = hull.height(face, self.end(end)) >= least;
                if is_along && is_short && hull.is_above(face, self.end(end)) && !out.contains(&pair) {
                    out.push(pair);
                }
            }
        }
        if self.half_length > 0.0 {
            for edge in 0..hull.edge_count() {
                let pair = FeaturePair::EdgeEdge(0, edge);
                let Some(meeting) = self.meeting(hull, pair) else { continue };
                let is_short = meeting.distance >= least;
                if is_short && meeting.normal.dot(normal) >= least_cosine && self.crosses(hull, edge, meeting.points) {
                    out.push(pair);
                }
            }
        }
        if out.is_empty() {
            out.push(best);
        }
    }
}

/// A sphere or capsule against a box or convex polyhedron: those near ones that can carry, or those
/// that are `wanted`. False for other shapes.
pub(super) fn round_and_hull(
    (round, pose_first): (&Shape, &Pose),
    (shape, pose_second): (&Shape, &Pose),
    out: &mut Output,
) -> bool {
    let (half_length, radius) = match *round {
        Shape::Sphere { radius } => (0.0, radius),
        Shape::Capsule { half_length, radius } => (half_length, radius),
        _ => return false,
    };
    let centre = pose_second.inverse_transform_point(pose_first.position);
    let axis = pose_second.inverse_transform_vector(axis(Dimension::Space, pose_first));
    let core = Core { centre, axis, half_length };
    let meet = |view: View| meet(&core, radius, &Facets(view), pose_second, out);
    shape.with_view(meet).is_some()
}

fn meet(core: &Core, radius: f64, hull: &Facets, pose: &Pose, out: &mut Output) {
    let mut features = Features::new();
    match out.wanted {
        Some(wanted) => features.extend(wanted.iter().map(|code| FeaturePair::of(*code))),
        None => {
            let (best, separation) = core.separation(hull);
            if separation - radius - out.horizon > BORDER * (core.centre.length() + core.half_length + radius) {
                return;
            }
            if separation > 0.0 {
                core.list_apart(hull, &mut features);
            } else {
                core.list_overlap(hull, (best, separation), &mut features);
            }
        }
    }
    let in_world = |part: Part| match part {
        Part::Line(along) => Part::Line(pose.transform_vector(along).normalize()),
        part => part,
    };
    for pair in features {
        let Some(meeting) = core.meeting(hull, pair) else { continue };
        let [x1, x2] = meeting.points.map(|x| pose.transform_point(x));
        let apart = (pose.transform_vector(meeting.normal).normalize(), meeting.distance);
        out.push(meeting.parts.map(in_world), [(x1, radius), (x2, 0.0)], apart, pair.code());
    }
}

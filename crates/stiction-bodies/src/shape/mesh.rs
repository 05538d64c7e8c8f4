//! Surfaces of triangles: closed ones are bodies, open ones are terrain, solid below.
//!
//! What meets other shapes are not the triangles but what they make up. Triangles of one plane that
//! hang together are one **face**, however it was cut. Segments between the same two faces that lie
//! on one line are one **edge**. Ends of edges are **corners**. An edge is convex, concave, or the
//! border of an open surface; only what is convex can carry a force in a direction of its own.
//!
//! Which directions these are, the Gauss map tells. A face has its normal. With the unit vector
//! $w_i$ in the plane of face $i$, across the edge and out of the face, a convex edge has the
//! directions across it with
//!
//! $$ w_1 \cdot n \ge 0, \qquad w_2 \cdot n \ge 0, \tag{1} $$
//!
//! which is the arc between the two normals. A corner has the $n$ with $n \cdot r \le 0$ for the
//! rays $r$ along all sides of triangles that leave it: there the corner is farthest along $n$ of
//! all that is near it. (2) The border of an open surface counts as an edge between its face and a
//! wall straight down: in (1) $w_2$ is the normal of the face, and (2) has also $n \cdot n_f \ge 0$.

use std::fmt;

use glamx::DVec3;

use super::ShapeError;
use crate::collide::{MOST_FEATURES, Region};

/// Triangles lie in one plane when none of their corners is farther from it than this, relative to
/// the bounding radius. Too large: shallow edges vanish. Too small: a face that was computed with
/// rounding falls apart.
const SAME_PLANE: f64 = 1e-12;

/// A triangle whose height is at most this share of its longest side has no normal. Too large: long
/// thin triangles are refused. Too small: their normals are rounding.
const DEGENERATE: f64 = 1e-10;

/// Two faces look against each other when the cosine of their normals is below this; what lies
/// between them is a wall. Too near to -1: conical walls are not seen. Too near to zero: edges count
/// as thin walls.
const AGAINST: f64 = -0.9;

/// No face, edge or triangle.
pub(crate) const NONE: u32 = u32::MAX;

/// A surface of triangles, anticlockwise seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    pub(crate) vertices: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) faces: Vec<MeshFace>,
    /// The face of each triangle.
    pub(crate) face_of: Vec<u32>,
    pub(crate) edges: Vec<MeshEdge>,
    /// The edge on which each side of each triangle lies, `NONE` within a face.
    pub(crate) edge_of: Vec<[u32; 3]>,
    /// The rays of (2) of vertex v are `rays[first_ray[v]..first_ray[v + 1]]`; none where it is no
    /// corner or can carry no force.
    pub(crate) first_ray: Vec<u32>,
    pub(crate) rays: Vec<DVec3>,
    pub(crate) tree: BoxTree,
    is_closed: bool,
    bounding_radius: f64,
    thickness: f64,
}

/// All triangles of a plane that hang together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshFace {
    /// Unit normal out of the solid.
    pub normal: DVec3,
    /// Distance of the plane from the origin along the normal, in metres.
    pub offset: f64,
}

/// A straight line between two faces, or between a face and nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshEdge {
    /// Its ends.
    pub vertices: [u32; 2],
    /// The faces on its left and on its right, seen from outside along the edge; on the right of a
    /// border there is none: `u32::MAX`.
    pub faces: [u32; 2],
    /// How the surface bends there.
    pub bend: Bend,
}

/// How a surface bends at an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    /// Less than half of what is around is solid.
    Convex,
    /// More than half of it.
    Concave,
    /// The surface ends.
    Border,
}

/// Why triangles are no surface.
#[derive(Clone, Debug, PartialEq)]
pub enum MeshFault {
    /// There are no triangles.
    Empty,
    /// More vertices or triangles than features can be numbered.
    TooMany(usize),
    /// A coordinate of a vertex is not finite.
    NotFinite {
        /// The first such vertex.
        vertex: usize,
    },
    /// A triangle names a vertex that does not exist.
    NoSuchVertex {
        /// The first such triangle.
        triangle: usize,
        /// What it names.
        vertex: u32,
        /// How many there are.
        count: usize,
    },
    /// Triangles without area.
    Degenerate {
        /// How many.
        count: usize,
        /// The first one.
        triangle: usize,
        /// The middle of it, in metres.
        place: DVec3,
    },
    /// Sides with more than one triangle to their left: more than two triangles meet there, or
    /// neighbours are turned against each other.
    NotManifold {
        /// How many.
        count: usize,
        /// Two triangles at the first one.
        triangles: [usize; 2],
        /// The middle of it, in metres.
        place: DVec3,
    },
}

impl fmt::Display for MeshFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "there are no triangles"),
            Self::TooMany(count) => write!(f, "{count} sides of triangles are more than {MOST_FEATURES}; use fewer"),
            Self::NotFinite { vertex } => write!(f, "vertex {vertex} is not finite"),
            Self::NoSuchVertex { triangle, vertex, count } => {
                write!(f, "triangle {triangle} names vertex {vertex}, and there are {count}, counted from 0")
            }
            Self::Degenerate { count, triangle, place } => {
                write!(f, "{count} without area, first triangle {triangle} at {place} m; remove them")
            }
            Self::NotManifold { count, triangles: [a, b], place } => write!(
                f,
                "{count} sides where more than two triangles meet or neighbours are turned against each other, \
                 first between triangles {a} and {b} at {place} m; repair them"
            ),
        }
    }
}

impl std::error::Error for MeshFault {}

impl Mesh {
    /// The surface of these triangles, each by the numbers of its corners, anticlockwise seen from
    /// outside; lengths in metres.
    ///
    /// # Errors
    ///
    /// What is no surface is refused, with the number and the place of the faults.
    pub fn new(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, ShapeError> {
        check_triangles(&vertices, &triangles)?;
        let twins = twins(&vertices, &triangles)?;
        let is_closed = !twins.contains(&NONE);
        let bounding_radius = vertices.iter().map(|x| x.length()).fold(0.0, f64::max);
        let (faces, face_of) = merge_faces(&vertices, &triangles, &twins);
        let mut mesh = Self {
            tree: BoxTree::new(triangles.iter().map(|t| t.map(|v| vertices[v as usize]))),
            vertices,
            triangles,
            faces,
            face_of,
            edges: Vec::new(),
            edge_of: Vec::new(),
            first_ray: Vec::new(),
            rays: Vec::new(),
            is_closed,
            bounding_radius,
            thickness: f64::INFINITY,
        };
        mesh.merge_edges(&twins);
        mesh.number_faces();
        mesh.collect_rays();
        if is_closed {
            mesh.thickness = mesh.thinnest_wall();
        }
        Ok(mesh)
    }

    /// The vertices, in metres.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// The triangles, each by the numbers of its corners.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The faces: triangles of one plane merged.
    pub fn faces(&self) -> &[MeshFace] {
        &self.faces
    }

    /// The edges between different faces.
    pub fn edges(&self) -> &[MeshEdge] {
        &self.edges
    }

    /// Whether the surface has no border: then it is that of a body.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Radius of a ball around the origin that holds it, in metres.
    pub fn bounding_radius(&self) -> f64 {
        self.bounding_radius
    }

    /// Half the thinnest wall of a body, seen from the middle of each triangle straight through, in
    /// metres, and no more than half its least extent; infinite for terrain.
    pub fn thickness(&self) -> f64 {
        self.thickness
    }

    /// The corners of a triangle, in metres.
    pub(crate) fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|vertex| self.vertices[vertex as usize])
    }

    /// The nearest point of the surface, its triangle and its distance, in metres; the lowest number
    /// where several are as near.
    pub fn closest_point(&self, x: DVec3) -> (DVec3, usize, f64) {
        let mut best = (self.vertices[self.triangles[0][0] as usize], usize::MAX, f64::INFINITY);
        self.tree.nearest_first(x, |triangle, bound| {
            if triangle == usize::MAX {
                return bound <= best.2;
            }
            let point = closest_on_triangle(x, self.corners(triangle));
            let distance = point.distance(x);
            if distance < best.2 || (distance == best.2 && triangle < best.1) {
                best = (point, triangle, distance);
            }
            true
        });
        best
    }

    /// Chains of sides between the same two faces, on one line each.
    fn merge_edges(&mut self, twins: &[u32]) {
        let start = |side: u32| self.triangles[side as usize / 3][side as usize % 3];
        let end = |side: u32| self.triangles[side as usize / 3][(side as usize % 3 + 1) % 3];
        let face = |side: u32| self.face_of[side as usize / 3];
        let other = |side: u32| if twins[side as usize] == NONE { NONE } else { face(twins[side as usize]) };
        // Each side once, with the face of the lower number on its left.
        let is_side = |&side: &u32| face(side) < other(side);
        let sides: Vec<u32> = (0..twins.len() as u32).filter(is_side).collect();
        // A vertex is within an edge where exactly one side ends and one begins, of the same faces,
        // straight on.
        let mut meeting = vec![(0u8, NONE, NONE); self.vertices.len()];
        for &side in &sides {
            let begins = &mut meeting[start(side) as usize];
            *begins = (begins.0.saturating_add(1), side, begins.2);
            let ends = &mut meeting[end(side) as usize];
            *ends = (ends.0.saturating_add(1), ends.1, side);
        }
        let tolerance = SAME_PLANE * self.bounding_radius;
        let goes_on = |vertex: u32| {
            let (count, next, before) = meeting[vertex as usize];
            if count != 2 || next == NONE || before == NONE {
                return false;
            }
            let same = face(next) == face(before) && other(next) == other(before);
            let [a, x, b] = [start(before), vertex, end(next)].map(|v| self.vertices[v as usize]);
            let along = (b - a).normalize_or_zero();
            same && (x - a).cross(along).length() <= tolerance && (x - a).dot(b - x) > 0.0
        };
        let mut edge_of = vec![[NONE; 3]; self.triangles.len()];
        let mut chains = Vec::new();
        for &side in sides.iter().filter(|&&side| !goes_on(start(side))) {
            let mut last = side;
            while goes_on(end(last)) {
                last = meeting[end(last) as usize].1;
            }
            chains.push((start(side), end(last), side));
        }
        chains.sort_unstable_by_key(|&(a, b, side)| (a.min(b), a.max(b), face(side), other(side)));
        let mut edges = Vec::with_capacity(chains.len());
        for (number, &(first, last, begin)) in chains.iter().enumerate() {
            let mut side = begin;
            loop {
                for side in [side, twins[side as usize]].into_iter().filter(|&side| side != NONE) {
                    edge_of[side as usize / 3][side as usize % 3] = number as u32;
                }
                if end(side) == last {
                    break;
                }
                side = meeting[end(side) as usize].1;
            }
            let faces = [face(begin), other(begin)];
            let bend = match faces.map(|face| self.faces.get(face as usize).map(|face| face.normal)) {
                [Some(left), Some(right)] => {
                    let along = self.vertices[last as usize] - self.vertices[first as usize];
                    let turn = left.cross(right).dot(along);
                    // Two sheets back to back are a knife.
                    let is_convex = turn > 0.0 || (turn == 0.0 && left.dot(right) < 0.0);
                    if is_convex { Bend::Convex } else { Bend::Concave }
                }
                _ => Bend::Border,
            };
            edges.push(MeshEdge { vertices: [first, last], faces, bend });
        }
        (self.edges, self.edge_of) = (edges, edge_of);
    }

    /// Faces in the order of their lowest corner, then of their normals.
    fn number_faces(&mut self) {
        let mut lowest = vec![NONE; self.faces.len()];
        for edge in &self.edges {
            for &face in edge.faces.iter().filter(|&&face| face != NONE) {
                let low = &mut lowest[face as usize];
                *low = edge.vertices.into_iter().fold(*low, u32::min);
            }
        }
        let mut order: Vec<u32> = (0..self.faces.len() as u32).collect();
        let compare = |a: DVec3, b: DVec3| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)).then(a.z.total_cmp(&b.z));
        order.sort_by(|&a, &b| {
            let [a, b] = [a as usize, b as usize];
            lowest[a].cmp(&lowest[b]).then_with(|| compare(self.faces[a].normal, self.faces[b].normal))
        });
        let mut number = vec![NONE; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old as usize] = new as u32;
        }
        self.faces = order.iter().map(|&old| self.faces[old as usize]).collect();
        self.face_of.iter_mut().for_each(|face| *face = number[*face as usize]);
        for edge in &mut self.edges {
            edge.faces = edge.faces.map(|face| number.get(face as usize).copied().unwrap_or(NONE));
            if edge.faces[0] > edge.faces[1] {
                edge.faces.swap(0, 1);
                edge.vertices.swap(0, 1);
            }
        }
    }

    /// The rays (2) of the corners that can carry a force: those with two edges that bend outwards.
    fn collect_rays(&mut self) {
        let mut carrying = vec![0u8; self.vertices.len()];
        let mut is_border = vec![false; self.vertices.len()];
        for edge in self.edges.iter().filter(|edge| edge.bend != Bend::Concave) {
            for vertex in edge.vertices {
                carrying[vertex as usize] = carrying[vertex as usize].saturating_add(1);
                is_border[vertex as usize] |= edge.bend == Bend::Border;
            }
        }
        let mut rays: Vec<(u32, DVec3)> = Vec::new();
        for (triangle, corners) in self.triangles.iter().enumerate() {
            for (i, &vertex) in corners.iter().enumerate().filter(|&(_, &v)| carrying[v as usize] >= 2) {
                let [next, before] = [1, 2].map(|step| {
                    let to = self.vertices[corners[(i + step) % 3] as usize];
                    (to - self.vertices[vertex as usize]).normalize_or_zero()
                });
                rays.push((vertex, next));
                if is_border[vertex as usize] {
                    rays.push((vertex, before));
                    rays.push((vertex, -self.faces[self.face_of[triangle] as usize].normal));
                }
            }
        }
        rays.sort_by_key(|&(vertex, _)| vertex);
        rays.dedup();
        self.first_ray = vec![0; self.vertices.len() + 1];
        rays.iter().for_each(|&(vertex, _)| self.first_ray[vertex as usize + 1] += 1);
        for vertex in 0..self.vertices.len() {
            self.first_ray[vertex + 1] += self.first_ray[vertex];
        }
        self.rays = rays.into_iter().map(|(_, ray)| ray).collect();
    }

    /// Half the thinnest wall.
    fn thinnest_wall(&self) -> f64 {
        let extent = self.tree.bounds().map_or(DVec3::ZERO, |[low, high]| high - low);
        let mut least = extent.min_element();
        for triangle in 0..self.triangles.len() {
            let normal = self.faces[self.face_of[triangle] as usize].normal;
            let middle = self.corners(triangle).iter().sum::<DVec3>() / 3.0;
            let end = middle - least * normal;
            let mut found = least;
            self.tree.for_each_near(&Region::Box([middle.min(end), middle.max(end)]), |other| {
                let against = self.faces[self.face_of[other] as usize].normal.dot(normal) < AGAINST;
                if against && let Some(share) = crossing(middle, end, self.corners(other), 0.0) {
                    found = found.min(share * least);
                }
            });
            least = found;
        }
        0.5 * least
    }
}

/// Refuses what is not even triangles.
fn check_triangles(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), ShapeError> {
    let refuse = |fault| Err(ShapeError::Mesh(fault));
    if triangles.is_empty() {
        return refuse(MeshFault::Empty);
    }
    let most = vertices.len().max(3 * triangles.len());
    if most > MOST_FEATURES {
        return refuse(MeshFault::TooMany(most));
    }
    if let Some(vertex) = vertices.iter().position(|x| !x.is_finite()) {
        return refuse(MeshFault::NotFinite { vertex });
    }
    let (mut count, mut first) = (0, None);
    for (triangle, corners) in triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertices.len()) {
            return refuse(MeshFault::NoSuchVertex { triangle, vertex, count: vertices.len() });
        }
        let [a, b, c] = corners.map(|vertex| vertices[vertex as usize]);
        let longest = (b - a).length_squared().max((c - a).length_squared()).max((c - b).length_squared());
        if (b - a).cross(c - a).length() <= DEGENERATE * longest {
            count += 1;
            first.get_or_insert((triangle, (a + b + c) / 3.0));
        }
    }
    match first {
        Some((triangle, place)) => refuse(MeshFault::Degenerate { count, triangle, place }),
        None => Ok(()),
    }
}

/// For every side of every triangle, 3 times its number and the number of the corner where it
/// begins, the side along it the other way.
fn twins(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<Vec<u32>, ShapeError> {
    let mut sides: Vec<(u32, u32, bool, u32)> = Vec::with_capacity(3 * triangles.len());
    for (triangle, corners) in triangles.iter().enumerate() {
        for i in 0..3 {
            let (a, b) = (corners[i], corners[(i + 1) % 3]);
            sides.push((a.min(b), a.max(b), a > b, (3 * triangle + i) as u32));
        }
    }
    sides.sort_unstable();
    let mut twins = vec![NONE; sides.len()];
    let (mut count, mut first) = (0, None);
    for pair in sides.windows(2) {
        let [(a, b, forth, side), (c, d, back, other)] = [pair[0], pair[1]];
        if (a, b) != (c, d) {
            continue;
        }
        if forth == back {
            count += 1;
            let place = 0.5 * (vertices[a as usize] + vertices[b as usize]);
            first.get_or_insert(([side as usize / 3, other as usize / 3], place));
        } else {
            twins[side as usize] = other;
            twins[other as usize] = side;
        }
    }
    match first {
        Some((triangles, place)) => Err(ShapeError::Mesh(MeshFault::NotManifold { count, triangles, place })),
        None => Ok(twins),
    }
}

/// Triangles of one plane that hang together, grown from the largest ones.
fn merge_faces(vertices: &[DVec3], triangles: &[[u32; 3]], twins: &[u32]) -> (Vec<MeshFace>, Vec<u32>) {
    let corners = |triangle: usize| triangles[triangle].map(|vertex| vertices[vertex as usize]);
    let areas: Vec<DVec3> = (0..triangles.len())
        .map(|triangle| {
            let [a, b, c] = corners(triangle);
            (b - a).cross(c - a)
        })
        .collect();
    let mut order: Vec<usize> = (0..triangles.len()).collect();
    order.sort_by(|&a, &b| areas[b].length_squared().total_cmp(&areas[a].length_squared()).then(a.cmp(&b)));
    let tolerance = SAME_PLANE * vertices.iter().map(|x| x.length()).fold(0.0, f64::max);
    let (mut faces, mut face_of) = (Vec::new(), vec![NONE; triangles.len()]);
    let mut members = Vec::new();
    for seed in order {
        if face_of[seed] != NONE {
            continue;
        }
        let (origin, normal) = (corners(seed)[0], areas[seed].normalize());
        face_of[seed] = faces.len() as u32;
        members.clear();
        members.push(seed);
        let mut next = 0;
        while next < members.len() {
            let triangle = members[next];
            next += 1;
            for i in 0..3 {
                let twin = twins[3 * triangle + i];
                let other = twin as usize / 3;
                if twin == NONE || face_of[other] != NONE || areas[other].dot(normal) <= 0.0 {
                    continue;
                }
                if corners(other).iter().all(|x| (x - origin).dot(normal).abs() <= tolerance) {
                    face_of[other] = faces.len() as u32;
                    members.push(other);
                }
            }
        }
        members.sort_unstable();
        // With what each addition loses, so that many triangles are as exact as one.
        let (mut sum, mut lost) = (DVec3::ZERO, DVec3::ZERO);
        for &triangle in &members {
            let part = areas[triangle] - lost;
            let next = sum + part;
            lost = (next - sum) - part;
            sum = next;
        }
        let normal = sum.normalize();
        let height = |&triangle: &usize| corners(triangle).iter().map(|x| (x - origin).dot(normal)).sum::<f64>();
        let mean = members.iter().map(height).sum::<f64>() / (3 * members.len()) as f64;
        faces.push(MeshFace { normal, offset: origin.dot(normal) + mean });
    }
    (faces, face_of)
}

/// The point of a triangle that is nearest to x.
pub(crate) fn closest_on_triangle(x: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    let normal = (b - a).cross(c - a);
    let sides = [(a, b), (b, c), (c, a)];
    if sides.iter().all(|&(p, q)| normal.cross(q - p).dot(x - p) >= 0.0) {
        return x - normal * ((x - a).dot(normal) / normal.length_squared());
    }
    let on_side =
        |(p, q): (DVec3, DVec3)| p + (q - p) * ((x - p).dot(q - p) / (q - p).length_squared()).clamp(0.0, 1.0);
    let nearer = |best: DVec3, point: DVec3| if point.distance(x) < best.distance(x) { point } else { best };
    sides.into_iter().map(on_side).fold(a, nearer)
}

/// Which share of the way from one point to another one lies before a triangle, or a plane beside it
/// by at most a length; none where it is missed.
pub(crate) fn crossing(from: DVec3, to: DVec3, [a, b, c]: [DVec3; 3], beside: f64) -> Option<f64> {
    let normal = (b - a).cross(c - a);
    let (before, after) = (normal.dot(from - a), normal.dot(to - a));
    if before * after > 0.0 || before == after {
        return None;
    }
    let share = before / (before - after);
    let x = from + share * (to - from);
    let is_inside = [(a, b), (b, c), (c, a)].iter().all(|&(p, q)| {
        let inwards = normal.cross(q - p);
        inwards.dot(x - p) >= -beside * inwards.length()
    });
    is_inside.then_some(share)
}

/// Most triangles in a leaf of the tree.
const LEAF: usize = 4;

/// Boxes around boxes around triangles, in the order of a walk that goes down first: what follows a
/// box that is missed begins at `skip`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoxTree {
    nodes: Vec<Node>,
    triangles: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    low: DVec3,
    high: DVec3,
    skip: u32,
    /// Of a leaf, its triangles; empty for others.
    triangles: [u32; 2],
}

impl BoxTree {
    /// The tree over these triangles.
    fn new(triangles: impl Iterator<Item = [DVec3; 3]>) -> Self {
        let boxes: Vec<[DVec3; 2]> = triangles.map(|[a, b, c]| [a.min(b).min(c), a.max(b).max(c)]).collect();
        let mut tree = Self { nodes: Vec::new(), triangles: (0..boxes.len() as u32).collect() };
        tree.split(&boxes, 0, boxes.len());
        tree
    }

    /// Appends the tree over triangles `from..to`, halved across its longest side.
    fn split(&mut self, boxes: &[[DVec3; 2]], from: usize, to: usize) {
        let around = |bounds: [DVec3; 2], &triangle: &u32| {
            let [low, high] = boxes[triangle as usize];
            [bounds[0].min(low), bounds[1].max(high)]
        };
        let part = &mut self.triangles[from..to];
        let [low, high] = part.iter().fold([DVec3::INFINITY, DVec3::NEG_INFINITY], around);
        let number = self.nodes.len();
        self.nodes.push(Node { low, high, skip: 0, triangles: [0; 2] });
        if part.len() <= LEAF {
            self.nodes[number].triangles = [from as u32, to as u32];
        } else {
            let middle = |triangle: u32| boxes[triangle as usize][0] + boxes[triangle as usize][1];
            let spread = part.iter().fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], &triangle| {
                [low.min(middle(triangle)), high.max(middle(triangle))]
            });
            let spread = spread[1] - spread[0];
            let axis = (0..3).fold(0, |best, axis| if spread[axis] > spread[best] { axis } else { best });
            let half = part.len() / 2;
            let place = |triangle: u32| middle(triangle)[axis];
            part.select_nth_unstable_by(half, |&a, &b| place(a).total_cmp(&place(b)).then(a.cmp(&b)));
            self.split(boxes, from, from + half);
            self.split(boxes, from + half, to);
        }
        self.nodes[number].skip = self.nodes.len() as u32;
    }

    /// The box around all, if there is anything.
    pub(crate) fn bounds(&self) -> Option<[DVec3; 2]> {
        self.nodes.first().map(|node| [node.low, node.high])
    }

    /// Visits all triangles whose leaf meets a region, in a fixed order.
    pub(crate) fn for_each_near(&self, region: &Region, mut visit: impl FnMut(usize)) {
        let mut next = 0;
        while let Some(node) = self.nodes.get(next) {
            if !region.meets([node.low, node.high]) {
                next = node.skip as usize;
                continue;
            }
            next += 1;
            let [from, to] = node.triangles;
            self.triangles[from as usize..to as usize].iter().for_each(|&triangle| visit(triangle as usize));
        }
    }

    /// Visits leaves by their distance from a point while `visit(usize::MAX, bound)` finds the bound
    /// worth it, with `visit(triangle, bound)` for each triangle.
    fn nearest_first(&self, x: DVec3, mut visit: impl FnMut(usize, f64) -> bool) {
        let mut waiting = vec![(0.0, 0usize)];
        while let Some((bound, number)) = waiting.pop() {
            if !visit(usize::MAX, bound) {
                continue;
            }
            let node = &self.nodes[number];
            let [from, to] = node.triangles;
            self.triangles[from as usize..to as usize].iter().for_each(|&triangle| {
                visit(triangle as usize, bound);
            });
            if from == to {
                let left = number + 1;
                let right = self.nodes[left].skip as usize;
                let far = |node: usize| {
                    let Node { low, high, .. } = self.nodes[node];
                    (x.clamp(low, high).distance(x), node)
                };
                let (left, right) = (far(left), far(right));
                waiting.extend(if left.0 <= right.0 { [right, left] } else { [left, right] });
            }
        }
    }
}

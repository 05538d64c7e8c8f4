//! What of a shape lies near another one: its faces, edges and corners, whatever it is made of.
//!
//! Balls, capsules, half-spaces, polyhedra and meshes look alike here. A ball is a corner without
//! sides, and a capsule an edge without faces, each with a radius around it. What a feature needs
//! to carry a force in a direction is said in [`Mesh`]: conditions (1) of edges and (2) of corners.

use glamx::{DMat3, DVec3};

use crate::pose::Pose;
use crate::shape::{Bend, BoxCorners, Mesh, NONE, Shape, View, crossing};

/// A corner may be pressed into a valley by this share of the length of its edge. Too large: corners
/// count for faces of a bent surface that are not theirs. Too small: what is pressed into a corner is
/// not pushed out.
const VALLEY: f64 = 0.25;

/// A line crosses a triangle when the sine of their angle is more than this. Too small: a line along
/// a wall seems to cross it.
const GRAZING: f64 = 1e-6;

/// A shape seen as corners, edges and faces, in its own coordinates.
#[derive(Clone, Copy)]
pub(super) enum Solid<'a> {
    /// A ball: one corner with a radius.
    Ball { radius: f64 },
    /// A capsule: one edge along x with a radius.
    Capsule { half_length: f64, radius: f64 },
    /// One face without border.
    HalfSpace { normal: DVec3, offset: f64 },
    /// A convex polyhedron.
    Convex(View<'a>),
    /// A surface of triangles.
    Mesh(&'a Mesh),
}

/// An edge of a shape, in the coordinates of the shape or of the frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgeShape {
    pub vertices: [u32; 2],
    pub ends: [DVec3; 2],
    pub faces: [u32; 2],
    /// Normals of the faces; of a border, that of the face and that of a wall straight down; zero
    /// where there is none.
    pub normals: [DVec3; 2],
    pub bend: Bend,
}

impl EdgeShape {
    pub fn along(&self) -> DVec3 {
        (self.ends[1] - self.ends[0]).normalize_or_zero()
    }

    /// The vectors $w$ of (1), which lie in the faces across the edge and out of them. At a border
    /// the second one is the normal of the face.
    pub fn walls(&self) -> [DVec3; 2] {
        let along = self.along();
        match self.bend {
            Bend::Border => [along.cross(self.normals[0]), self.normals[0]],
            _ => [along.cross(self.normals[0]), -along.cross(self.normals[1])],
        }
    }

    /// A direction out of the solid; zero where all are.
    pub fn outwards(&self) -> DVec3 {
        let [a, b] = self.walls();
        // Beyond both faces: across the edge, and as much along the one as along the other normal.
        (a + b).normalize_or_zero()
    }
}

impl<'a> Solid<'a> {
    /// The view of a shape, if it has one. The corners of a box are kept in `corners`.
    pub fn of(shape: &'a Shape, corners: &'a mut Option<BoxCorners>) -> Option<Self> {
        Some(match *shape {
            Shape::Sphere { radius } => Self::Ball { radius },
            Shape::Capsule { half_length, radius } => Self::Capsule { half_length, radius },
            Shape::HalfSpace { normal, offset } => Self::HalfSpace { normal, offset },
            Shape::Cuboid { half_extents } => Self::Convex(corners.insert(BoxCorners::new(half_extents)).view()),
            Shape::Polytope(ref polytope) => Self::Convex(polytope.view()),
            Shape::Mesh(ref mesh) => Self::Mesh(mesh),
            _ => return None,
        })
    }

    pub fn radius(&self) -> f64 {
        match *self {
            Self::Ball { radius } | Self::Capsule { radius, .. } => radius,
            _ => 0.0,
        }
    }

    pub fn vertex(&self, vertex: u32) -> Option<DVec3> {
        match *self {
            Self::Ball { .. } => (vertex == 0).then_some(DVec3::ZERO),
            Self::Capsule { half_length, .. } => match vertex {
                0 => Some(half_length * DVec3::X),
                1 => Some(-half_length * DVec3::X),
                _ => None,
            },
            Self::HalfSpace { .. } => None,
            Self::Convex(view) => view.vertices.get(vertex as usize).copied(),
            Self::Mesh(mesh) => mesh.vertices.get(vertex as usize).copied(),
        }
    }

    /// Normal and offset of a face.
    pub fn face(&self, face: u32) -> Option<(DVec3, f64)> {
        match *self {
            Self::HalfSpace { normal, offset } => (face == 0).then_some((normal, offset)),
            Self::Convex(view) => view.faces.get(face as usize).map(|face| (face.normal, face.offset)),
            Self::Mesh(mesh) => mesh.faces.get(face as usize).map(|face| (face.normal, face.offset)),
            _ => None,
        }
    }

    pub fn edge(&self, edge: u32) -> Option<EdgeShape> {
        let (vertices, faces, bend) = match *self {
            Self::Capsule { .. } if edge == 0 => ([0, 1], [NONE; 2], Bend::Convex),
            Self::Convex(view) => {
                let edge = view.edges.get(edge as usize)?;
                (edge.vertices, edge.faces, Bend::Convex)
            }
            Self::Mesh(mesh) => {
                let edge = mesh.edges.get(edge as usize)?;
                (edge.vertices, edge.faces, edge.bend)
            }
            _ => return None,
        };
        let ends = [self.vertex(vertices[0])?, self.vertex(vertices[1])?];
        let normals = faces.map(|face| self.face(face).map_or(DVec3::ZERO, |(normal, _)| normal));
        Some(EdgeShape { vertices, ends, faces, normals, bend })
    }

    /// The edge of a half-edge, and on which side of it the face is.
    pub fn edge_of_half(&self, half_edge: u32) -> Option<(u32, usize)> {
        match *self {
            Self::Convex(view) => {
                let half_edge = view.half_edges.get(half_edge as usize)?;
                let faces = view.edges[half_edge.edge as usize].faces;
                Some((half_edge.edge, usize::from(faces[0] != half_edge.face)))
            }
            Self::Mesh(mesh) => {
                let side = (half_edge & 1) as usize;
                let edge = mesh.edges.get(half_edge as usize / 2)?;
                (edge.faces[side] != NONE).then_some((half_edge / 2, side))
            }
            _ => None,
        }
    }

    /// The half-edge of an edge on one of its sides.
    pub fn half_edge(&self, edge: u32, side: usize) -> Option<u32> {
        match *self {
            Self::Convex(view) => {
                let face = view.edges[edge as usize].faces[side];
                view.around(face).find(|&half| view.half_edges[half as usize].edge == edge)
            }
            Self::Mesh(_) => Some(2 * edge + side as u32),
            _ => None,
        }
    }
}

/// A shape and where it is, seen in axes parallel to the world's around the second body: there
/// coordinates are small even when both are far from the origin.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub solid: Solid<'a>,
    rotation: DMat3,
    shift: DVec3,
}

impl<'a> Placed<'a> {
    pub fn new(solid: Solid<'a>, pose: &Pose, origin: DVec3) -> Self {
        Self { solid, rotation: DMat3::from_quat(pose.orientation), shift: pose.position - origin }
    }

    pub fn vertex(&self, vertex: u32) -> Option<DVec3> {
        self.solid.vertex(vertex).map(|x| self.point(x))
    }

    pub fn face(&self, face: u32) -> Option<(DVec3, f64)> {
        let (normal, offset) = self.solid.face(face)?;
        let normal = self.rotation * normal;
        Some((normal, offset + normal.dot(self.shift)))
    }

    pub fn edge(&self, edge: u32) -> Option<EdgeShape> {
        let edge = self.solid.edge(edge)?;
        Some(EdgeShape {
            ends: edge.ends.map(|x| self.point(x)),
            normals: edge.normals.map(|normal| self.rotation * normal),
            ..edge
        })
    }

    fn point(&self, x: DVec3) -> DVec3 {
        self.rotation * x + self.shift
    }

    /// Moved by a vector.
    pub fn moved(&self, by: DVec3) -> Self {
        Self { shift: self.shift + by, ..*self }
    }

    /// The box in the frame around the shape; none where it has no end.
    pub fn bounds(&self) -> Option<[DVec3; 2]> {
        match self.solid {
            Solid::Ball { .. } => Some([self.shift; 2]),
            Solid::HalfSpace { .. } => None,
            Solid::Capsule { half_length, .. } => {
                Some(around([-1.0, 1.0].map(|s| self.point(s * half_length * DVec3::X))))
            }
            Solid::Convex(view) => Some(around(view.vertices.iter().map(|&x| self.point(x)))),
            Solid::Mesh(mesh) => mesh.tree.bounds().map(|bounds| self.turned(bounds)),
        }
    }

    /// The same of a body; none of terrain, or where the body has no end.
    pub fn bounds_of_body(&self) -> Option<[DVec3; 2]> {
        match self.solid {
            Solid::Mesh(mesh) if !mesh.is_closed() => None,
            _ => self.bounds(),
        }
    }

    /// Whether the line between two points, of a length, is inside of the body to within a length; for
    /// what is round, whether its core is no deeper than its radius.
    pub fn is_inside(&self, feet: [DVec3; 2], length: f64, near: f64) -> bool {
        let back = self.rotation.transpose();
        let feet = feet.map(|x| back * (x - self.shift));
        match self.solid {
            Solid::Ball { radius } | Solid::Capsule { radius, .. } => length <= radius,
            Solid::HalfSpace { .. } => true,
            Solid::Convex(view) => {
                view.faces.iter().all(|face| feet.iter().all(|x| face.normal.dot(*x) - face.offset <= near))
            }
            Solid::Mesh(mesh) => {
                let mut is_left = false;
                mesh.tree.for_each_near(&Region::Box(grown(around(feet), near)), |triangle| {
                    is_left = is_left || is_crossed(feet, mesh.corners(triangle), near);
                });
                !is_left
            }
        }
    }

    /// The box in the frame around a box of the shape's own coordinates.
    fn turned(&self, [low, high]: [DVec3; 2]) -> [DVec3; 2] {
        let (middle, half) = (self.point(0.5 * (low + high)), 0.5 * (high - low));
        let reach = self.rotation.x_axis.abs() * half.x
            + self.rotation.y_axis.abs() * half.y
            + self.rotation.z_axis.abs() * half.z;
        [middle - reach, middle + reach]
    }

    /// A region of the frame in the shape's own coordinates, or one around it.
    fn turned_back(&self, region: Region) -> Region {
        let back = self.rotation.transpose();
        let [low, high] = match region {
            Region::Box(bounds) => bounds,
            Region::Below(normal, offset) => return Region::Below(back * normal, offset - normal.dot(self.shift)),
        };
        let (middle, half) = (back * (0.5 * (low + high) - self.shift), 0.5 * (high - low));
        let reach = back.x_axis.abs() * half.x + back.y_axis.abs() * half.y + back.z_axis.abs() * half.z;
        Region::Box([middle - reach, middle + reach])
    }
}

/// The box around points.
pub(super) fn around(points: impl IntoIterator<Item = DVec3>) -> [DVec3; 2] {
    let empty = [DVec3::INFINITY, DVec3::NEG_INFINITY];
    points.into_iter().fold(empty, |[low, high], x| [low.min(x), high.max(x)])
}

/// A box grown by a length to all sides.
pub(super) fn grown([low, high]: [DVec3; 2], length: f64) -> [DVec3; 2] {
    [low - length, high + length]
}

/// Where features are looked for.
#[derive(Clone, Copy)]
pub(crate) enum Region {
    /// In a box.
    Box([DVec3; 2]),
    /// Below a plane, by its normal and offset.
    Below(DVec3, f64),
}

impl Region {
    /// Whether a box meets it.
    pub(crate) fn meets(&self, [low, high]: [DVec3; 2]) -> bool {
        match *self {
            Self::Box([least, most]) => low.cmple(most).all() && least.cmple(high).all(),
            Self::Below(normal, offset) => 0.5 * (normal.dot(low + high) - normal.abs().dot(high - low)) <= offset,
        }
    }
}

/// Whether a line crosses a triangle or comes nearer than a length to it, not along it and not within
/// that length of its own ends.
pub(super) fn is_crossed([from, to]: [DVec3; 2], triangle: [DVec3; 3], near: f64) -> bool {
    let normal = (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]);
    let (way, length) = (to - from, from.distance(to));
    let is_steep = way.dot(normal).abs() > GRAZING * length * normal.length();
    is_steep
        && crossing(from, to, triangle, near)
            .is_some_and(|share| share * length > near && (1.0 - share) * length > near)
}

pub(super) struct PatchFace {
    pub id: u32,
    pub normal: DVec3,
    pub offset: f64,
    /// Its triangles that are near.
    pub triangles: [u32; 2],
}

pub(super) struct PatchEdge {
    pub id: u32,
    pub shape: EdgeShape,
    pub along: DVec3,
    pub length: f64,
    pub walls: [DVec3; 2],
    pub outwards: DVec3,
    pub bounds: [DVec3; 2],
}

pub(super) struct PatchVertex {
    pub id: u32,
    pub x: DVec3,
    rays: [u32; 2],
}

/// The near features of a shape, in the order of their numbers, in the frame.
#[derive(Default)]
pub(super) struct Patch {
    pub faces: Vec<PatchFace>,
    pub edges: Vec<PatchEdge>,
    /// Only those that can carry a force.
    pub vertices: Vec<PatchVertex>,
    pub triangles: Vec<[DVec3; 3]>,
    rays: Vec<DVec3>,
    /// Whether its face is a half-space.
    pub is_endless: bool,
    /// Whether corners may be pressed into its concave edges; the core of what is round is not.
    pub has_valleys: bool,
    /// Faces with their edges, and vertices with theirs, by the places of these in the list.
    of_faces: Vec<(u32, u32)>,
    of_vertices: Vec<(u32, u32)>,
    near: Vec<(u32, u32)>,
    numbers: Vec<u32>,
}

impl Patch {
    /// The features of a shape that meet a region of the frame.
    pub fn gather(&mut self, placed: &Placed, near: Region) {
        self.faces.clear();
        self.edges.clear();
        self.vertices.clear();
        self.triangles.clear();
        self.rays.clear();
        self.is_endless = false;
        match placed.solid {
            Solid::Ball { .. } => self.vertices.push(PatchVertex { id: 0, x: placed.shift, rays: [0; 2] }),
            Solid::Capsule { .. } => {
                self.push_edge(placed, 0, near);
                let along = self.edges.first().map_or(DVec3::ZERO, |edge| edge.along);
                for (id, ray) in [along, -along].into_iter().enumerate() {
                    let Some(x) = placed.vertex(id as u32) else { continue };
                    self.rays.push(ray);
                    self.vertices.push(PatchVertex { id: id as u32, x, rays: [id as u32, id as u32 + 1] });
                }
            }
            Solid::HalfSpace { .. } => {
                self.is_endless = true;
                self.push_face(placed, 0, 0);
            }
            Solid::Convex(view) => self.gather_convex(placed, view, near),
            Solid::Mesh(mesh) => self.gather_mesh(placed, mesh, near),
        }
        self.of_faces.clear();
        self.of_vertices.clear();
        for (at, edge) in self.edges.iter().enumerate() {
            self.of_faces.extend(edge.shape.faces.map(|face| (face, at as u32)));
            self.of_vertices.extend(edge.shape.vertices.map(|vertex| (vertex, at as u32)));
        }
        self.of_faces.sort_unstable();
        self.of_vertices.sort_unstable();
    }

    fn push_face(&mut self, placed: &Placed, id: u32, from: usize) {
        if let Some((normal, offset)) = placed.face(id) {
            let triangles = [from as u32, self.triangles.len() as u32];
            self.faces.push(PatchFace { id, normal, offset, triangles });
        }
    }

    fn push_edge(&mut self, placed: &Placed, id: u32, near: Region) {
        let Some(shape) = placed.edge(id) else { return };
        let bounds = around(shape.ends);
        if near.meets(bounds) {
            let (along, length) = (shape.along(), shape.ends[0].distance(shape.ends[1]));
            let (walls, outwards) = (shape.walls(), shape.outwards());
            self.edges.push(PatchEdge { id, shape, along, length, walls, outwards, bounds });
        }
    }

    fn gather_convex(&mut self, placed: &Placed, view: View, near: Region) {
        for face in 0..view.faces.len() as u32 {
            let from = self.triangles.len();
            let mut corners = view.around(face).map(|half| placed.point(view.start(half)));
            let (Some(first), Some(mut last)) = (corners.next(), corners.next()) else { continue };
            for next in corners {
                if near.meets(around([first, last, next])) {
                    self.triangles.push([first, last, next]);
                }
                last = next;
            }
            if self.triangles.len() > from {
                self.push_face(placed, face, from);
            }
        }
        (0..view.edges.len() as u32).for_each(|edge| self.push_edge(placed, edge, near));
        self.near.clear();
        for (number, edge) in self.edges.iter().enumerate() {
            let [a, b] = edge.shape.vertices;
            self.near.extend([(a, 2 * number as u32), (b, 2 * number as u32 + 1)]);
        }
        self.near.sort_unstable();
        // A near corner has all of its edges near.
        let mut next = 0;
        while let Some(&(id, _)) = self.near.get(next) {
            let (from, x) = (self.rays.len() as u32, placed.point(view.vertices[id as usize]));
            while let Some(&(_, side)) = self.near.get(next).filter(|&&(vertex, _)| vertex == id) {
                let along = self.edges[side as usize / 2].along;
                self.rays.push(if side % 2 == 0 { along } else { -along });
                next += 1;
            }
            if near.meets([x; 2]) {
                self.vertices.push(PatchVertex { id, x, rays: [from, self.rays.len() as u32] });
            }
        }
    }

    fn gather_mesh(&mut self, placed: &Placed, mesh: &Mesh, near: Region) {
        let region = placed.turned_back(near);
        let mut found = std::mem::take(&mut self.near);
        let mut numbers = std::mem::take(&mut self.numbers);
        found.clear();
        mesh.tree.for_each_near(&region, |triangle| {
            if near.meets(around(mesh.corners(triangle).map(|x| placed.point(x)))) {
                found.push((mesh.face_of[triangle], triangle as u32));
            }
        });
        found.sort_unstable();
        for of_face in found.chunk_by(|a, b| a.0 == b.0) {
            let from = self.triangles.len();
            self.triangles.extend(of_face.iter().map(|&(_, t)| mesh.corners(t as usize).map(|x| placed.point(x))));
            self.push_face(placed, of_face[0].0, from);
        }
        let mut each = |of: &dyn Fn(usize) -> [u32; 3], push: &mut dyn FnMut(u32)| {
            numbers.clear();
            numbers.extend(found.iter().flat_map(|&(_, triangle)| of(triangle as usize)).filter(|&id| id != NONE));
            numbers.sort_unstable();
            numbers.dedup();
            numbers.iter().for_each(|&id| push(id));
        };
        each(&|triangle| mesh.edge_of[triangle], &mut |id| self.push_edge(placed, id, near));
        each(&|triangle| mesh.triangles[triangle], &mut |id| {
            let [from, to] = [0, 1].map(|i| mesh.first_ray[id as usize + i] as usize);
            let x = placed.point(mesh.vertices[id as usize]);
            if from < to && near.meets([x; 2]) {
                let first = self.rays.len() as u32;
                self.rays.extend(mesh.rays[from..to].iter().map(|&ray| placed.rotation * ray));
                self.vertices.push(PatchVertex { id, x, rays: [first, self.rays.len() as u32] });
            }
        });
        (self.near, self.numbers) = (found, numbers);
    }

    /// The box around the triangles that were gathered, or around the edges or corners of what is
    /// round.
    pub fn bounds(&self) -> [DVec3; 2] {
        match (self.triangles.is_empty(), self.edges.is_empty()) {
            (false, _) => around(self.triangles.iter().flatten().copied()),
            (true, false) => around(self.edges.iter().flat_map(|edge| edge.shape.ends)),
            (true, true) => around(self.vertices.iter().map(|vertex| vertex.x)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.faces.is_empty() && self.edges.is_empty() && self.vertices.is_empty()
    }

    pub fn face(&self, id: u32) -> Option<&PatchFace> {
        self.faces.binary_search_by_key(&id, |face| face.id).ok().map(|at| &self.faces[at])
    }

    pub fn edge(&self, id: u32) -> Option<&PatchEdge> {
        self.edges.binary_search_by_key(&id, |edge| edge.id).ok().map(|at| &self.edges[at])
    }

    /// The edges of a face.
    pub fn edges_of(&self, face: u32) -> impl Iterator<Item = &PatchEdge> + Clone {
        self.listed(&self.of_faces, face)
    }

    /// The edges that end at a vertex.
    pub fn edges_at(&self, vertex: u32) -> impl Iterator<Item = &PatchEdge> + Clone {
        self.listed(&self.of_vertices, vertex)
    }

    fn listed<'a>(&'a self, list: &'a [(u32, u32)], key: u32) -> impl Iterator<Item = &'a PatchEdge> + Clone {
        let from = list.partition_point(|&(other, _)| other < key);
        list[from..].iter().take_while(move |&&(other, _)| other == key).map(|&(_, at)| &self.edges[at as usize])
    }

    /// Condition (2): whether a corner is farthest along n of all near it.
    pub fn is_farthest(&self, vertex: &PatchVertex, n: DVec3, tolerance: f64) -> bool {
        let [from, to] = vertex.rays;
        self.rays[from as usize..to as usize].iter().all(|ray| n.dot(*ray) <= tolerance)
    }

    /// Whether a point is over a face, seen along its normal, to within a length. Beyond a concave
    /// edge the face goes on under the next one, as far as the point is below that one.
    pub fn is_over(&self, face: &PatchFace, x: DVec3, tolerance: f64) -> bool {
        self.is_endless
            || self.is_above(face, x, tolerance)
            || (self.has_valleys && self.is_under_next(face, x, tolerance))
    }

    /// Whether a point is over the triangles of a face.
    fn is_above(&self, face: &PatchFace, x: DVec3, tolerance: f64) -> bool {
        let n = face.normal;
        let [from, to] = face.triangles;
        let over = |&[a, b, c]: &[DVec3; 3]| {
            [(a, b), (b, c), (c, a)].into_iter().all(|(p, q)| {
                let inwards = n.cross(q - p);
                let side = inwards.dot(x - p);
                side >= 0.0 || side * side <= tolerance * tolerance * inwards.length_squared()
            })
        };
        self.triangles[from as usize..to as usize].iter().any(over)
    }

    /// Whether a point pressed into a valley belongs to a face of it: the nearest edge is concave, the
    /// point below the face beyond it, and seen along the bisector of the two it is below one of them,
    /// or beside by no more than it is deep.
    fn is_under_next(&self, face: &PatchFace, x: DVec3, tolerance: f64) -> bool {
        let height = face.normal.dot(x) - face.offset;
        let foot = x - height * face.normal;
        let mut nearest: Option<(f64, &PatchEdge)> = None;
        for edge in self.edges_of(face.id) {
            let share = (foot - edge.shape.ends[0]).dot(edge.along).clamp(0.0, edge.length);
            let distance = (edge.shape.ends[0] + share * edge.along).distance(foot);
            // Where two are as near, at a corner, both must be concave.
            let is_nearer = nearest.is_none_or(|(least, best)| {
                distance < least - tolerance || (distance < least + tolerance && best.shape.bend == Bend::Concave)
            });
            if is_nearer {
                nearest = Some((distance, edge));
            }
        }
        let Some((_, edge)) = nearest.filter(|(_, edge)| edge.shape.bend == Bend::Concave) else { return false };
        let beyond = usize::from(edge.shape.faces[0] == face.id);
        let Some(next) = self.face(edge.shape.faces[beyond]) else { return false };
        let depth = next.offset - next.normal.dot(x);
        let beside = depth + height.abs();
        if depth < -tolerance || beside > VALLEY * edge.length {
            return false;
        }
        let bisector = face.normal + next.normal;
        [face, next].into_iter().any(|side| {
            let way = (side.normal.dot(x) - side.offset) / side.normal.dot(bisector);
            way.is_finite() && self.is_above(side, x - way * bisector, beside + tolerance)
        })
    }
}

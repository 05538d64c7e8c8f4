//! Convex polyhedra: their corners, edges and faces, and how these hang together.
//!
//! Faces are merged: all corners of a plane belong to one face, however it was triangulated. So the
//! numbers of features do not depend on the triangulation, nor on the order of the points.
//!
//! **Hull.** Points enter one by one: triangles that see the new point make way for a fan from it to
//! their outline. The sign of
//!
//! $$ \det(a - d,\ b - d,\ c - d) $$
//!
//! is exact: rounding decides where its bound allows, and sums of products without rounding
//! elsewhere. So the triangles close for any input. Then neighbours in one plane become one face,
//! beginning with the largest triangle, whose plane is known best. A corner of fewer than three
//! faces is none, and the hull is taken again without it.

use std::cmp::Ordering;

use glamx::DVec3;

use super::ShapeError;

/// Points nearer to each other or to a plane than this share of the size are one, or in it. Too
/// large: flat edges are lost. Too small: rounding in the points makes needle-like faces.
const SAME_PLANE: f64 = 1e-13;

/// A hull thinner than this share of its size is flat. Too large: thin plates are refused. Too
/// small: the normals of its faces are rounding noise.
const FLAT: f64 = 1e-12;

/// A determinant of differences is known to this share of its products: seven roundings.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A convex polyhedron in its own coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Polytope {
    pub(crate) vertices: Vec<DVec3>,
    pub(crate) faces: Vec<Face>,
    pub(crate) half_edges: Vec<HalfEdge>,
    pub(crate) edges: Vec<Edge>,
}

/// A face: a plane and the half-edges around it, anticlockwise seen from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face {
    /// Unit normal out of the polyhedron.
    pub normal: DVec3,
    /// Distance of the plane from the origin along the normal, in metres.
    pub offset: f64,
    /// Its half-edges are `first..first + count`.
    pub first: u32,
    /// Number of its corners.
    pub count: u32,
}

/// An edge as one of its two faces sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfEdge {
    /// The corner where it begins; it ends where the next one of the face begins.
    pub vertex: u32,
    /// The face.
    pub face: u32,
    /// The edge.
    pub edge: u32,
}

/// An edge between two corners and two faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its ends.
    pub vertices: [u32; 2],
    /// The faces on its two sides: seen from outside with the first vertex below and the second
    /// above, left and right.
    pub faces: [u32; 2],
}

/// The corners, faces and edges of a convex polyhedron, wherever they are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub vertices: &'a [DVec3],
    pub faces: &'a [Face],
    pub half_edges: &'a [HalfEdge],
    pub edges: &'a [Edge],
}

impl<'a> View<'a> {
    /// The numbers of the half-edges around a face.
    #[inline]
    pub fn around(&self, face: u32) -> std::ops::Range<u32> {
        let Face { first, count, .. } = self.faces[face as usize];
        first..first + count
    }

    /// The next half-edge around the same face.
    #[inline]
    pub fn next(&self, half_edge: u32) -> u32 {
        let range = self.around(self.half_edges[half_edge as usize].face);
        if half_edge + 1 == range.end { range.start } else { half_edge + 1 }
    }

    /// Where a half-edge begins.
    #[inline]
    pub fn start(&self, half_edge: u32) -> DVec3 {
        self.vertices[self.half_edges[half_edge as usize].vertex as usize]
    }
}

impl Polytope {
    /// The convex hull of points, in metres; those inside of it or of its faces are left out.
    ///
    /// Corners are numbered in ascending order of x, then y, then z; faces and edges follow their
    /// corners.
    pub fn hull(points: &[DVec3]) -> Result<Self, ShapeError> {
        let refuse = |message: String| Err(ShapeError::NoHull { message });
        if points.len() < 4 {
            return refuse(format!("{} points are given, at least 4 are needed", points.len()));
        }
        if let Some(i) = points.iter().position(|x| !x.is_finite()) {
            return refuse(format!("point {i} is {:?}, give finite coordinates", points[i].to_array()));
        }
        let size = points.iter().map(|x| x.length()).fold(0.0, f64::max);
        if !(size * size).is_normal() || !(size * size * size * size).is_normal() {
            return refuse(format!("the farthest point is {size:e} m from the origin, use another unit"));
        }
        let tolerance = SAME_PLANE * size;
        let mut corners: Vec<DVec3> = points.iter().map(|&x| x + DVec3::ZERO).collect();
        corners.sort_by(|a, b| a.to_array().partial_cmp(&b.to_array()).unwrap_or(Ordering::Equal));
        let mut apart: Vec<DVec3> = Vec::new();
        for x in corners {
            let near = apart.iter().rev().take_while(|y| x.x - y.x <= tolerance).any(|y| x.distance(*y) <= tolerance);
            if !near {
                apart.push(x);
            }
        }
        let mut corners = apart;
        loop {
            let triangles = triangulated_hull(&corners, size)?;
            let Some((loops, used)) = merged(&corners, &triangles, tolerance) else {
                return refuse("the faces are too thin to tell them apart, remove points that nearly coincide".into());
            };
            if used.iter().all(|used| *used) {
                return Ok(Self::of_loops(corners, loops));
            }
            let mut used = used.iter();
            corners.retain(|_| used.next() == Some(&true));
        }
    }

    /// The polyhedron with these corners, and faces anticlockwise by their corners.
    fn of_loops(vertices: Vec<DVec3>, mut loops: Vec<Vec<u32>>) -> Self {
        for corners in &mut loops {
            let least = (0..corners.len()).min_by_key(|&i| corners[i]).unwrap_or(0);
            corners.rotate_left(least);
        }
        loops.sort();
        let (mut faces, mut half_edges) = (Vec::new(), Vec::<HalfEdge>::new());
        let mut sides = Vec::new();
        for (face, corners) in loops.iter().enumerate() {
            let first = half_edges.len() as u32;
            let count = corners.len() as u32;
            let points = || corners.iter().map(|&corner| vertices[corner as usize]);
            let middle = points().sum::<DVec3>() / f64::from(count);
            let mut area = DVec3::ZERO;
            for (i, &vertex) in corners.iter().enumerate() {
                let end = corners[(i + 1) % corners.len()];
                area += (vertices[vertex as usize] - middle).cross(vertices[end as usize] - middle);
                sides.push((vertex.min(end), vertex.max(end), vertex > end, half_edges.len()));
                half_edges.push(HalfEdge { vertex, face: face as u32, edge: 0 });
            }
            let normal = area.normalize();
            faces.push(Face { normal, offset: normal.dot(middle), first, count });
        }
        sides.sort_unstable();
        let mut edges = Vec::new();
        for two in sides.chunks_exact(2) {
            let face = two[0].3;
            for side in two {
                half_edges[side.3].edge = edges.len() as u32;
            }
            edges.push(Edge {
                vertices: [two[0].0, two[0].1],
                faces: [half_edges[face].face, half_edges[two[1].3].face],
            });
        }
        Self { vertices, faces, half_edges, edges }
    }

    /// The corners, in metres.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// The faces.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// The half-edges, face by face.
    pub fn half_edges(&self) -> &[HalfEdge] {
        &self.half_edges
    }

    /// The edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The faces as fans of triangles.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.faces.iter().flat_map(move |face| {
            let corner = move |i: u32| self.half_edges[(face.first + i) as usize].vertex;
            (2..face.count).map(move |i| [corner(0), corner(i - 1), corner(i)])
        })
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { vertices: &self.vertices, faces: &self.faces, half_edges: &self.half_edges, edges: &self.edges }
    }
}

/// The hull as triangles, anticlockwise seen from outside; neighbours may be in one plane.
fn triangulated_hull(points: &[DVec3], size: f64) -> Result<Vec<[u32; 3]>, ShapeError> {
    let refuse =
        |what: &str| Err(ShapeError::NoHull { message: format!("all points {what}, give points around a volume") });
    let farthest = |distance: &dyn Fn(DVec3) -> f64| {
        let all = points.iter().enumerate().map(|(i, &x)| (i, distance(x)));
        all.fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best })
    };
    let a = points[0];
    let (second, length) = farthest(&|x| a.distance(x));
    if length <= FLAT * size {
        return refuse("coincide");
    }
    let along = (points[second] - a) / length;
    let (third, width) = farthest(&|x| (x - a).cross(along).length());
    if width <= FLAT * size {
        return refuse("are on one line");
    }
    let normal = along.cross(points[third] - a) / width;
    let (fourth, height) = farthest(&|x| normal.dot(x - a).abs());
    if height <= FLAT * size {
        return refuse("are in one plane");
    }
    let [a, mut b, mut c, d] = [0, second, third, fourth].map(|i| i as u32);
    let sees = |[a, b, c]: [u32; 3], d: u32| {
        let [a, b, c, d] = [a, b, c, d].map(|i| points[i as usize]);
        orientation(a, b, c, d) == Ordering::Less
    };
    if sees([a, b, c], d) {
        (b, c) = (c, b);
    }
    let mut triangles = vec![[a, b, c], [a, c, d], [c, b, d], [b, a, d]];
    let mut outline = Vec::new();
    for point in (0..points.len() as u32).filter(|i| ![a, b, c, d].contains(i)) {
        outline.clear();
        triangles.retain(|&[a, b, c]| {
            let seen = sees([a, b, c], point);
            if seen {
                outline.extend([(a, b), (b, c), (c, a)]);
            }
            !seen
        });
        outline.sort_unstable();
        let new = outline.iter().filter(|(a, b)| outline.binary_search(&(*b, *a)).is_err());
        triangles.extend(new.map(|&(a, b)| [a, b, point]));
    }
    Ok(triangles)
}

/// The faces of a hull by their corners, and which points are corners of three of them; nothing when
/// the outline of a face is not one ring.
fn merged(points: &[DVec3], triangles: &[[u32; 3]], tolerance: f64) -> Option<(Vec<Vec<u32>>, Vec<bool>)> {
    let at = |corner: u32| points[corner as usize];
    let area = |&[a, b, c]: &[u32; 3]| (at(b) - at(a)).cross(at(c) - at(a));
    let mut sides: Vec<((u32, u32), usize)> = Vec::new();
    for (i, &[a, b, c]) in triangles.iter().enumerate() {
        sides.extend([((a, b), i), ((b, c), i), ((c, a), i)]);
    }
    sides.sort_unstable();
    let beside = |(a, b): (u32, u32)| sides.binary_search_by_key(&(b, a), |side| side.0).ok().map(|i| sides[i].1);
    let mut order: Vec<(f64, usize)> = triangles.iter().enumerate().map(|(i, t)| (area(t).length(), i)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut face_of = vec![usize::MAX; triangles.len()];
    let mut count = 0;
    for &(_, seed) in &order {
        if face_of[seed] != usize::MAX {
            continue;
        }
        let (normal, origin) = (area(&triangles[seed]).normalize_or_zero(), at(triangles[seed][0]));
        let mut open = vec![seed];
        face_of[seed] = count;
        while let Some(triangle) = open.pop() {
            let [a, b, c] = triangles[triangle];
            for side in [(a, b), (b, c), (c, a)] {
                let other = beside(side)?;
                let is_in_plane = |corner: u32| normal.dot(at(corner) - origin).abs() <= tolerance;
                if face_of[other] == usize::MAX && triangles[other].into_iter().all(is_in_plane) {
                    face_of[other] = count;
                    open.push(other);
                }
            }
        }
        count += 1;
    }
    let mut around = vec![Vec::new(); points.len()];
    let mut borders: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
    for (i, &[a, b, c]) in triangles.iter().enumerate() {
        for side in [(a, b), (b, c), (c, a)] {
            around[side.0 as usize].push(face_of[i]);
            if face_of[beside(side)?] != face_of[i] {
                borders[face_of[i]].push(side);
            }
        }
    }
    let used: Vec<bool> = around
        .iter_mut()
        .map(|faces| {
            faces.sort_unstable();
            faces.dedup();
            faces.len() >= 3
        })
        .collect();
    if !used.iter().all(|used| *used) {
        return Some((Vec::new(), used));
    }
    let loops = borders.iter_mut().map(|border| {
        border.sort_unstable();
        let mut corners = vec![border.first()?.0];
        for _ in 0..border.len() {
            let last = *corners.last()?;
            let i = border.binary_search_by_key(&last, |side| side.0).ok()?;
            corners.push(border[i].1);
        }
        let end = corners.pop();
        let is_ring = end == corners.first().copied() && !corners[1..].contains(&corners[0]);
        is_ring.then_some(corners)
    });
    Some((loops.collect::<Option<_>>()?, used))
}

/// The sign of $\det(a - d, b - d, c - d)$, exactly: less than zero when d is outside of the triangle
/// a, b, c seen anticlockwise.
fn orientation(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> Ordering {
    let rows = [a - d, b - d, c - d];
    let magnitudes = rows.map(|row| row.abs());
    let [p, q, r] = magnitudes;
    let bound = p.x * (q.y * r.z + q.z * r.y) + p.y * (q.z * r.x + q.x * r.z) + p.z * (q.x * r.y + q.y * r.x);
    let determinant = rows[0].dot(rows[1].cross(rows[2]));
    if determinant.abs() > ROUNDING * bound {
        return determinant.total_cmp(&0.0);
    }
    // Each difference is a rounded one and what it lost.
    let exact = [a, b, c].map(|x| {
        let [x, d] = [x.to_array(), d.to_array()];
        [0, 1, 2].map(|i| two_sum(x[i], -d[i]))
    });
    let mut sum: Vec<f64> = Vec::new();
    for (i, j, k, sign) in
        [(0, 1, 2, 1.0), (1, 2, 0, 1.0), (2, 0, 1, 1.0), (0, 2, 1, -1.0), (1, 0, 2, -1.0), (2, 1, 0, -1.0)]
    {
        for x in exact[0][i] {
            for y in exact[1][j] {
                for z in exact[2][k].map(|z| sign * z) {
                    if x == 0.0 || y == 0.0 || z == 0.0 {
                        continue;
                    }
                    let product = two_product(x, y);
                    for part in product.into_iter().flat_map(|part| two_product(part, z)) {
                        add(&mut sum, part);
                    }
                }
            }
        }
    }
    // The last part is larger than all before it together.
    sum.last().map_or(Ordering::Equal, |last| last.total_cmp(&0.0))
}

/// a + b rounded, and what was lost.
fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let rest = sum - a;
    [sum, (a - (sum - rest)) + (b - rest)]
}

/// a b rounded, and what was lost.
fn two_product(a: f64, b: f64) -> [f64; 2] {
    let product = a * b;
    [product, a.mul_add(b, -product)]
}

/// Adds to a sum that is kept as parts that do not overlap, in ascending order.
fn add(parts: &mut Vec<f64>, value: f64) {
    let mut carry = value;
    let mut kept = 0;
    for i in 0..parts.len() {
        let [sum, lost] = two_sum(carry, parts[i]);
        if lost != 0.0 {
            parts[kept] = lost;
            kept += 1;
        }
        carry = sum;
    }
    parts.truncate(kept);
    if carry != 0.0 {
        parts.push(carry);
    }
}

/// A box as a polyhedron: corner i has its x, y, z negative where the bits 0, 1, 2 of i are set;
/// the faces are +x, -x, +y, -y, +z, -z; edges along x come first, then those along y and z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoxCorners {
    vertices: [DVec3; 8],
    faces: [Face; 6],
}

/// How the edges and faces of a box hang together.
const BOX: ([HalfEdge; 24], [Edge; 12]) = box_topology();

const fn box_topology() -> ([HalfEdge; 24], [Edge; 12]) {
    let mut half_edges = [HalfEdge { vertex: 0, face: 0, edge: 0 }; 24];
    let mut edges = [Edge { vertices: [0; 2], faces: [0; 2] }; 12];
    let mut i = 0;
    while i < 24 {
        // Around a positive face across axis a the other two axes, b and c, go (-, -), (+, -),
        // (+, +), (-, +); around a negative one the reverse.
        let (face, corner) = (i / 4, i % 4);
        let (a, negative) = (face / 2, face % 2);
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        let turn = [(1, 1), (0, 1), (0, 0), (1, 0)];
        let (here, there) = match negative {
            0 => (turn[corner], turn[(corner + 1) % 4]),
            _ => (turn[3 - corner], turn[(6 - corner) % 4]),
        };
        let vertex = negative << a | here.0 << b | here.1 << c;
        let end = negative << a | there.0 << b | there.1 << c;
        let along = if here.0 == there.0 { c } else { b };
        let (low, left) = if vertex < end { (vertex, 0) } else { (end, 1) };
        // The bits across the edge, in order.
        let edge = 4 * along + (low >> (along + 1) << along | low & ((1 << along) - 1));
        half_edges[i] = HalfEdge { vertex: vertex as u32, face: face as u32, edge: edge as u32 };
        edges[edge].vertices = [low as u32, (low | 1 << along) as u32];
        edges[edge].faces[left] = face as u32;
        i += 1;
    }
    (half_edges, edges)
}

impl BoxCorners {
    /// Half the edge lengths, in metres.
    #[inline]
    pub fn new(half_extents: DVec3) -> Self {
        let mut vertices = [DVec3::ZERO; 8];
        for (i, vertex) in vertices.iter_mut().enumerate() {
            let sign = |bit: usize| if i >> bit & 1 == 0 { 1.0 } else { -1.0 };
            *vertex = DVec3::new(sign(0), sign(1), sign(2)) * half_extents;
        }
        let mut faces = [Face { normal: DVec3::ZERO, offset: 0.0, first: 0, count: 4 }; 6];
        for (i, face) in faces.iter_mut().enumerate() {
            face.normal[i / 2] = if i % 2 == 0 { 1.0 } else { -1.0 };
            face.offset = half_extents[i / 2];
            face.first = 4 * i as u32;
        }
        Self { vertices, faces }
    }

    #[inline]
    pub fn view(&self) -> View<'_> {
        View { vertices: &self.vertices, faces: &self.faces, half_edges: &BOX.0, edges: &BOX.1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_dynamics::families::Generator;

    fn checked(view: View) {
        for (h, half_edge) in view.half_edges.iter().enumerate() {
            let face = view.faces[half_edge.face as usize];
            let edge = view.edges[half_edge.edge as usize];
            let end = view.half_edges[view.next(h as u32) as usize].vertex;
            let side = usize::from(edge.vertices[0] != half_edge.vertex);
            assert_eq!([half_edge.vertex, end], [edge.vertices[side], edge.vertices[1 - side]]);
            assert_eq!(edge.faces[side], half_edge.face);
            assert!((face.normal.dot(view.start(h as u32)) - face.offset).abs() < 1e-13);
            // Anticlockwise: the middle of the face is to the left.
            let range = view.around(half_edge.face);
            let middle = range.clone().map(|h| view.start(h)).sum::<DVec3>() / range.len() as f64;
            let [a, b] = [h as u32, view.next(h as u32)].map(|h| view.start(h));
            assert!((b - a).cross(middle - a).dot(face.normal) > 0.0);
        }
        assert_eq!(view.vertices.len() + view.faces.len(), view.edges.len() + 2);
        for face in view.faces {
            assert!(view.vertices.iter().all(|x| face.normal.dot(*x) - face.offset < 1e-13));
        }
    }

    #[test]
    fn a_box_is_the_hull_of_its_corners() {
        let half_extents = DVec3::new(1.0, 2.0, 3.0);
        let corners = BoxCorners::new(half_extents);
        checked(corners.view());
        // With points inside, in the faces, on the edges, and all of them twice.
        let mut points = corners.vertices.to_vec();
        for x in [-1.0, 0.0, 0.3, 1.0] {
            for y in [-1.0, 0.2, 1.0] {
                points.extend([-1.0, 0.5, 1.0].map(|z| DVec3::new(x, y, z) * half_extents));
            }
        }
        points.extend_from_within(..);
        let hull = Polytope::hull(&points).unwrap();
        checked(hull.view());
        assert_eq!((hull.vertices.len(), hull.faces.len(), hull.edges.len()), (8, 6, 12));
        // The order of the points changes nothing.
        points.reverse();
        assert_eq!(Polytope::hull(&points).unwrap(), hull);
        // Turned, the points of a face leave its plane by rounding.
        let turn = glamx::DQuat::from_xyzw(0.1, 0.7, -0.3, 0.9).normalize();
        let turned: Vec<_> = points.iter().map(|&x| turn * x).collect();
        let hull = Polytope::hull(&turned).unwrap();
        checked(hull.view());
        assert_eq!((hull.vertices.len(), hull.faces.len(), hull.edges.len()), (8, 6, 12));
    }

    #[test]
    fn prisms_keep_their_sides() {
        for sides in [3, 5, 64, 200] {
            let corner = |i: usize, z: f64| {
                let (sine, cosine) = (i as f64 * std::f64::consts::TAU / sides as f64).sin_cos();
                DVec3::new(cosine, sine, z)
            };
            let points: Vec<_> = (0..sides).flat_map(|i| [corner(i, -0.5), corner(i, 0.5)]).collect();
            let hull = Polytope::hull(&points).unwrap();
            checked(hull.view());
            assert_eq!((hull.vertices.len(), hull.faces.len()), (2 * sides, sides + 2));
        }
    }

    #[test]
    fn random_hulls_hold_their_points() {
        let mut random = Generator::new(3);
        for count in [4, 5, 8, 20, 50, 300] {
            let points: Vec<_> = (0..count).map(|_| DVec3::from_array(random.vector(1.0))).collect();
            let hull = Polytope::hull(&points).unwrap();
            checked(hull.view());
            for face in &hull.faces {
                assert!(points.iter().all(|x| face.normal.dot(*x) - face.offset < 1e-13));
            }
        }
    }

    #[test]
    fn what_has_no_volume_is_refused() {
        let message = |points: &[DVec3]| Polytope::hull(points).unwrap_err().to_string();
        let plane: Vec<_> = (0..9).map(|i| DVec3::new((i % 3) as f64, (i / 3) as f64, 0.1 * i as f64)).collect();
        assert_eq!(message(&plane[..3]), "hull: 3 points are given, at least 4 are needed");
        assert_eq!(message(&plane), "hull: all points are in one plane, give points around a volume");
        assert_eq!(message(&[DVec3::X; 7]), "hull: all points coincide, give points around a volume");
        let line: Vec<_> = (0..9).map(|i| i as f64 * DVec3::new(0.1, 0.2, 0.3)).collect();
        assert_eq!(message(&line), "hull: all points are on one line, give points around a volume");
        let broken = [DVec3::X, DVec3::Y, DVec3::new(0.0, f64::NAN, 0.0), DVec3::Z];
        assert_eq!(message(&broken), "hull: point 2 is [0.0, NaN, 0.0], give finite coordinates");
        let far = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE].map(|x| 1e200 * x);
        assert!(message(&far).contains("use another unit"));
    }

    #[test]
    fn the_sign_of_a_determinant_is_exact() {
        // Above the plane x + y + z = 1 by one last digit, where rounding says nothing.
        let [a, b, c] = [DVec3::X, DVec3::Y, DVec3::Z];
        let third = 1.0 / 3.0; // a little below, so that the sum of three is below 1
        let on = DVec3::new(0.5, 0.25, 0.25);
        assert_eq!(orientation(a, b, c, on), Ordering::Equal);
        assert_eq!(orientation(a, b, c, on.with_z(0.25 + f64::EPSILON / 4.0)), Ordering::Less);
        assert_eq!(orientation(a, b, c, on.with_z(0.25 - f64::EPSILON / 8.0)), Ordering::Greater);
        assert_eq!(orientation(a, b, c, DVec3::splat(third)), Ordering::Greater);
    }
}

//! Meshes that collide, against planes, closed forms and brute force over triangles.

use std::collections::BTreeMap;
use std::sync::Arc;
use stiction_bodies::collide::{self, Touch};
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{Dimension, Mesh, Polytope, Pose, Shape};
use stiction_dynamics::families::Generator;

fn mesh(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Shape {
    Shape::Mesh(Arc::new(Mesh::new(vertices, triangles).unwrap()))
}

/// A mesh of triangles by their corners; equal ones are one vertex.
fn welded(triangles: &[[DVec3; 3]]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let (mut vertices, mut numbers) = (Vec::new(), BTreeMap::new());
    let mut number = |x: DVec3| {
        let next = vertices.len() as u32;
        *numbers.entry((x + DVec3::ZERO).to_array().map(f64::to_bits)).or_insert_with(|| {
            vertices.push(x);
            next
        })
    };
    let triangles = triangles.iter().map(|t| t.map(&mut number)).collect::<Vec<_>>();
    (vertices, triangles)
}

/// Triangles of a box with each side cut into n by n squares; turned inside out, the walls of a
/// room.
fn box_triangles(low: DVec3, high: DVec3, n: usize, is_room: bool) -> Vec<[DVec3; 3]> {
    let mut triangles = Vec::new();
    let at = |axis: usize, i: usize| {
        if i == n { high[axis] } else { low[axis] + (high[axis] - low[axis]) * i as f64 / n as f64 }
    };
    for axis in 0..3 {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        for side in [low[axis], high[axis]] {
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let corner = |di: usize, dj: usize| {
                    let mut x = DVec3::ZERO;
                    x[axis] = side;
                    x[b] = at(b, i + di);
                    x[c] = at(c, j + dj);
                    x
                };
                let [p, q, r, s] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                let pair = if (i + j) % 2 == 0 { [[p, q, r], [p, r, s]] } else { [[p, q, s], [q, r, s]] };
                let is_outwards = (side == high[axis]) != is_room;
                triangles.extend(pair.map(|[p, q, r]| if is_outwards { [p, q, r] } else { [p, r, q] }));
            }
        }
    }
    triangles
}

fn cube(n: usize) -> Shape {
    let (vertices, triangles) = welded(&box_triangles(-DVec3::ONE, DVec3::ONE, n, false));
    mesh(vertices, triangles)
}

/// The unit sphere as a subdivided octahedron.
fn ball_triangles(n: usize) -> Vec<[DVec3; 3]> {
    let mut triangles = Vec::new();
    for octant in 0..8 {
        let sign = |bit: i32| if octant >> bit & 1 == 0 { 1.0 } else { -1.0 };
        let signs = DVec3::new(sign(0), sign(1), sign(2));
        let at = |i: usize, j: usize| (DVec3::new(i as f64, j as f64, (n - i - j) as f64).normalize()) * signs;
        let mut push = |t: [DVec3; 3]| {
            let is_outwards = (t[1] - t[0]).cross(t[2] - t[0]).dot(t[0]) > 0.0;
            triangles.push(if is_outwards { t } else { [t[0], t[2], t[1]] });
        };
        for i in 0..n {
            for j in 0..n - i {
                push([at(i, j), at(i + 1, j), at(i, j + 1)]);
                if i + j + 2 <= n {
                    push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
                }
            }
        }
    }
    triangles
}

fn touches(first: (&Shape, &Pose), second: (&Shape, &Pose), horizon: f64) -> Vec<Touch> {
    let mut touches = Vec::new();
    collide::collide(Dimension::Space, first.0, first.1, second.0, second.1, horizon, &mut touches);
    touches
}

fn random_turn(random: &mut Generator) -> DQuat {
    let axis = DVec3::from_array(random.vector(1.0));
    DQuat::from_scaled_axis(axis.normalize_or(DVec3::X) * random.uniform(0.0, 3.1))
}

// ---- Distances by brute force.

fn point_triangle(x: DVec3, [a, b, c]: [DVec3; 3]) -> f64 {
    let n = (b - a).cross(c - a);
    if [(a, b), (b, c), (c, a)].iter().all(|&(p, q)| n.cross(q - p).dot(x - p) >= 0.0) {
        return (x - a).dot(n).abs() / n.length();
    }
    let side = |p: DVec3, q: DVec3| {
        (p + (q - p) * ((x - p).dot(q - p) / (q - p).length_squared()).clamp(0.0, 1.0)).distance(x)
    };
    side(a, b).min(side(b, c)).min(side(c, a))
}

/// Distance of two segments: of the lines where it is within both, or of an end.
fn segment_segment([a, b]: [DVec3; 2], [c, d]: [DVec3; 2]) -> f64 {
    let foot = |x: DVec3, p: DVec3, q: DVec3| {
        (p + (q - p) * ((x - p).dot(q - p) / (q - p).length_squared()).clamp(0.0, 1.0)).distance(x)
    };
    let ends = foot(a, c, d).min(foot(b, c, d)).min(foot(c, a, b)).min(foot(d, a, b));
    let (u, v, w) = (b - a, d - c, a - c);
    let cross = u.cross(v);
    let square = cross.length_squared();
    if square <= 1e-24 * u.length_squared() * v.length_squared() {
        return ends;
    }
    let (s, t) = (-w.cross(v).dot(cross) / square, -w.cross(u).dot(cross) / square);
    let inside = (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t);
    if inside { ends.min((w + s * u - t * v).length()) } else { ends }
}

fn triangle_triangle(t: [DVec3; 3], s: [DVec3; 3]) -> f64 {
    let points = t.iter().map(|&x| point_triangle(x, s)).chain(s.iter().map(|&x| point_triangle(x, t)));
    let sides = |t: [DVec3; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    let edges = sides(t).into_iter().flat_map(|e| sides(s).map(|k| segment_segment(e, k)));
    points.chain(edges).fold(f64::INFINITY, f64::min)
}

fn surfaces_distance(first: &[[DVec3; 3]], second: &[[DVec3; 3]]) -> f64 {
    let bounds = |t: &[DVec3; 3]| [t[0].min(t[1]).min(t[2]), t[0].max(t[1]).max(t[2])];
    let mut best = f64::INFINITY;
    for t in first {
        let [low, high] = bounds(t);
        for s in second {
            let [least, most] = bounds(s);
            let apart = (least - high).max(low - most).max(DVec3::ZERO);
            if apart.length_squared() < best * best {
                best = best.min(triangle_triangle(*t, *s));
            }
        }
    }
    best
}

/// A convex body in the world: corners, outward normals, directions of edges.
struct Convex {
    corners: Vec<DVec3>,
    normals: Vec<DVec3>,
    edges: Vec<DVec3>,
}

impl Convex {
    fn of(triangles: &[[DVec3; 3]]) -> Self {
        let mut distinct: [Vec<DVec3>; 3] = Default::default();
        let mut add = |to: usize, x: DVec3| {
            if !distinct[to].iter().any(|y| y.distance(x) < 1e-12) {
                distinct[to].push(x);
            }
        };
        for t in triangles {
            t.iter().for_each(|&x| add(0, x));
            add(1, (t[1] - t[0]).cross(t[2] - t[0]).normalize());
            (0..3).for_each(|i| add(2, (t[(i + 1) % 3] - t[i]).normalize()));
        }
        let [corners, normals, edges] = distinct;
        Self { corners, normals, edges }
    }

    fn moved(&self, pose: &Pose) -> Self {
        Self {
            corners: self.corners.iter().map(|&x| pose.transform_point(x)).collect(),
            normals: self.normals.iter().map(|&n| pose.transform_vector(n)).collect(),
            edges: self.edges.iter().map(|&e| pose.transform_vector(e)).collect(),
        }
    }

    /// The largest gap along any direction in which two convex bodies may first touch: minus the
    /// least way that separates them where it is negative.
    fn separation(&self, other: &Self) -> f64 {
        let gap = |n: DVec3| {
            let low = self.corners.iter().map(|x| x.dot(n)).fold(f64::INFINITY, f64::min);
            let high = other.corners.iter().map(|x| x.dot(n)).fold(f64::NEG_INFINITY, f64::max);
            low - high
        };
        let mut best = f64::NEG_INFINITY;
        other.normals.iter().for_each(|&n| best = best.max(gap(n)));
        self.normals.iter().for_each(|&n| best = best.max(gap(-n)));
        for e in &self.edges {
            for k in &other.edges {
                let cross = e.cross(*k);
                if cross.length() > 1e-9 {
                    let n = cross.normalize();
                    best = best.max(gap(n)).max(gap(-n));
                }
            }
        }
        best
    }
}

fn least(touches: &[Touch]) -> f64 {
    touches.iter().map(|touch| touch.gap).fold(f64::INFINITY, f64::min)
}

fn moved(triangles: &[[DVec3; 3]], pose: &Pose) -> Vec<[DVec3; 3]> {
    triangles.iter().map(|t| t.map(|x| pose.transform_point(x))).collect()
}

/// Poses of which many are near, parallel or nearly so.
fn random_pose(random: &mut Generator, trial: usize, reach: f64) -> Pose {
    let orientation = match trial % 5 {
        0 | 1 => random_turn(random),
        2 => DQuat::from_rotation_z(random.uniform(-3.0, 3.0)),
        3 => {
            let axis = DVec3::from_array(random.vector(1.0));
            DQuat::from_scaled_axis(axis * random.logarithmic(1e-9, 1e-1))
        }
        _ => DQuat::from_rotation_x(std::f64::consts::FRAC_PI_4) * DQuat::from_rotation_y(random.uniform(-1.0, 1.0)),
    };
    let direction = match trial % 3 {
        0 => DVec3::Z + 0.3 * DVec3::from_array(random.vector(1.0)),
        _ => DVec3::from_array(random.vector(1.0)),
    };
    Pose::new(direction.normalize_or(DVec3::X) * random.uniform(0.3, 1.0) * reach, orientation)
}

/// What a shape is made of in a test.
struct Solid {
    name: &'static str,
    shape: Shape,
    triangles: Vec<[DVec3; 3]>,
    radius: f64,
}

fn convex_solids() -> Vec<Solid> {
    let mut random = Generator::new(3);
    let points: Vec<DVec3> = (0..20).map(|_| DVec3::from_array(random.vector(0.7))).collect();
    let hull = Polytope::hull(&points).unwrap();
    let of_hull = hull.triangles().map(|t| t.map(|v| hull.vertices()[v as usize])).collect();
    let e = DVec3::new(0.5, 0.4, 0.3);
    vec![
        Solid {
            name: "box",
            shape: Shape::Cuboid { half_extents: e },
            triangles: box_triangles(-e, e, 1, false),
            radius: 0.0,
        },
        Solid { name: "hull", shape: Shape::Polytope(Arc::new(hull)), triangles: of_hull, radius: 0.0 },
    ]
}

fn convex_meshes() -> Vec<(&'static str, Vec<[DVec3; 3]>)> {
    vec![
        ("cube", box_triangles(-DVec3::ONE, DVec3::ONE, 1, false)),
        ("cube of 16 squares a side", box_triangles(-DVec3::ONE, DVec3::ONE, 4, false)),
        ("ball of 128 triangles", ball_triangles(4)),
    ]
}

#[test]
fn convex_meshes_are_as_far_as_their_triangles() {
    let trials = 20_000;
    for (what, triangles) in convex_meshes() {
        let (vertices, numbers) = welded(&triangles);
        let second = mesh(vertices, numbers);
        let convex_second = Convex::of(&triangles);
        let pose_second = Pose::new(DVec3::new(0.3, -0.2, 0.1), DQuat::from_scaled_axis(DVec3::new(0.4, 0.1, -0.7)));
        let world = moved(&triangles, &pose_second);
        let convex_second = convex_second.moved(&pose_second);
        for solid in convex_solids() {
            let mut random = Generator::new(17);
            let convex = Convex::of(&solid.triangles);
            let (mut worst, mut worst_deep, mut deep_count) = (0.0f64, 0.0f64, 0);
            for trial in 0..trials {
                let pose = pose_second.compose(&random_pose(&mut random, trial, 2.6));
                let found = touches((&solid.shape, &pose), (&second, &pose_second), 4.0);
                let separation = convex.moved(&pose).separation(&convex_second);
                if separation > 1e-9 {
                    let exact = surfaces_distance(&moved(&solid.triangles, &pose), &world);
                    let error = (least(&found) - exact).abs();
                    assert!(error <= 2e-12, "{} on {what}, {trial}: {} {exact}", solid.name, least(&found));
                    worst = worst.max(error);
                } else if separation > -0.15 {
                    deep_count += 1;
                    let error = found.iter().map(|touch| (touch.gap - separation).abs()).fold(f64::INFINITY, f64::min);
                    assert!(error <= 2e-12, "{} in {what}, {trial}: {separation} and {found:#?}", solid.name);
                    worst_deep = worst_deep.max(error);
                }
            }
            assert!(deep_count > trials / 40, "{deep_count}");
            println!("{} {what}: worst {worst:e} deep {worst_deep:e} {deep_count} radius {}", solid.name, solid.radius);
        }
    }
}

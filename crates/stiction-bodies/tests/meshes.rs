//! Meshes that collide, against planes, closed forms and brute force over triangles.

use std::collections::BTreeMap;
use std::sync::Arc;
use stiction_bodies::collide::{self, FeaturePair, Touch};
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

fn is_pierced([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let n = (b - a).cross(c - a);
    let (before, after) = (n.dot(p - a), n.dot(q - a));
    let x = p.lerp(q, before / (before - after));
    before * after < 0.0 && point_triangle(x, [a, b, c]) < 1e-12
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
}

fn convex_solids() -> Vec<Solid> {
    let mut random = Generator::new(3);
    let points: Vec<DVec3> = (0..20).map(|_| DVec3::from_array(random.vector(0.7))).collect();
    let hull = Polytope::hull(&points).unwrap();
    let of_hull = hull.triangles().map(|t| t.map(|v| hull.vertices()[v as usize])).collect();
    let e = DVec3::new(0.5, 0.4, 0.3);
    vec![
        Solid { name: "box", shape: Shape::Cuboid { half_extents: e }, triangles: box_triangles(-e, e, 1, false) },
        Solid { name: "hull", shape: Shape::Polytope(Arc::new(hull)), triangles: of_hull },
    ]
}

fn convex_meshes() -> Vec<(&'static str, Vec<[DVec3; 3]>)> {
    vec![
        ("cube", box_triangles(-DVec3::ONE, DVec3::ONE, 1, false)),
        ("cube of 16 squares a side", box_triangles(-DVec3::ONE, DVec3::ONE, 4, false)),
        ("ball of 128 triangles", ball_triangles(4)),
    ]
}

/// Depths up to which no overlap may be missed: half of the thinnest body.
const DEEP: f64 = 0.15;

/// Depths up to which the gap is the least way that separates convex bodies. Deeper ones may be
/// believed to end at another face, where the body is thinner than the way out.
const SHALLOW: f64 = 0.04;

#[test]
fn convex_meshes_are_as_far_as_their_triangles() {
    for (what, triangles) in convex_meshes() {
        let (vertices, numbers) = welded(&triangles);
        let trials = if what.starts_with("ball") { 4_000 } else { 20_000 };
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
                } else if separation > -DEEP {
                    deep_count += 1;
                    assert!(least(&found) < separation + 1e-12, "{} in {what}, {trial}: {separation}", solid.name);
                    if separation > -SHALLOW {
                        let error = found.iter().map(|t| (t.gap - separation).abs()).fold(f64::INFINITY, f64::min);
                        worst_deep = worst_deep.max(error);
                        assert!(error <= 2e-12, "{} in {what}, {trial}: {separation}", solid.name);
                    }
                }
            }
            assert!(deep_count > trials / 20, "{deep_count}");
            assert!(worst <= 2e-12 && worst_deep <= 2e-12);
        }
    }
}

#[test]
fn balls_and_capsules_are_as_far_as_the_triangles() {
    let bumps = |x: f64, y: f64| 0.05 * (9.0 * x).sin() * (7.0 * y).cos();
    let surfaces = [
        ("bumps", terrain(22, 4.0, bumps)),
        ("ball", ball_triangles(4)),
        ("room", room(2)),
        ("cube", box_triangles(-DVec3::ONE, DVec3::ONE, 1, false)),
    ];
    let half_length = 0.3;
    let shapes = [("ball", Shape::Sphere { radius: 0.1 }), ("capsule", Shape::Capsule { half_length, radius: 0.1 })];
    for (what, triangles) in surfaces {
        let surface = shape_of(&triangles);
        for (name, shape) in &shapes {
            let mut random = Generator::new(43);
            let mut count = 0;
            for trial in 0..3000 {
                let x = DVec3::from_array(random.vector(1.4))
                    * if what == "bumps" { DVec3::new(1.0, 1.0, 0.3) } else { DVec3::ONE };
                let pose = Pose::new(x, random_turn(&mut random));
                let ends = [1.0, -1.0].map(|s| pose.transform_point(s * half_length * DVec3::X));
                let of_triangle = |t: &[DVec3; 3]| match *name {
                    "ball" => point_triangle(pose.position, *t),
                    _ => {
                        let sides = [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
                        let to_sides = sides.iter().map(|side| segment_segment(ends, *side));
                        to_sides.chain(ends.map(|x| point_triangle(x, *t))).fold(f64::INFINITY, f64::min)
                    }
                };
                let exact = triangles.iter().map(of_triangle).fold(f64::INFINITY, f64::min);
                // Outside: the nearest triangle is seen from its front, wherever on it that is.
                let inside = |x: DVec3| match what {
                    "bumps" => x.z < bumps(x.x, x.y) + 0.02,
                    "room" => x.abs().max_element() > 0.999,
                    "cube" => x.abs().max_element() < 1.0,
                    _ => x.length() < 1.0,
                };
                let samples = (0..=20).map(|k| ends[0].lerp(ends[1], f64::from(k) / 20.0));
                if exact < 1e-3 || samples.into_iter().any(inside) || triangles.iter().any(|t| is_pierced(ends, *t)) {
                    continue;
                }
                count += 1;
                let found = touches((shape, &pose), (&surface, &Pose::IDENTITY), 2.0);
                let error = (least(&found) - (exact - 0.1)).abs();
                assert!(error <= 2e-15, "{name} on {what}, {trial} at {pose:?}: {} {}", least(&found), exact - 0.1);
            }
            assert!(count > 300, "{name} on {what}: {count}");
        }
    }
}

// ---- Flat and bent surfaces.

/// A surface over n by n squares of the unit square, stretched to a width, of a height.
fn terrain(n: usize, width: f64, height: impl Fn(f64, f64) -> f64) -> Vec<[DVec3; 3]> {
    let at = |i: usize, j: usize| {
        let [x, y] = [i, j].map(|k| width * (k as f64 / n as f64 - 0.5));
        DVec3::new(x, y, height(x, y))
    };
    let mut triangles = Vec::new();
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let [p, q, r, s] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        triangles.extend(if (i + j) % 2 == 0 { [[p, q, r], [p, r, s]] } else { [[p, q, s], [q, r, s]] });
    }
    triangles
}

fn shape_of(triangles: &[[DVec3; 3]]) -> Shape {
    let (vertices, triangles) = welded(triangles);
    mesh(vertices, triangles)
}

fn assert_near(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value:?}, expected {expected:?}");
}

#[test]
fn a_flat_mesh_of_800_triangles_is_a_plane() {
    let tilt = DQuat::from_rotation_x(0.3) * DQuat::from_rotation_y(-0.2);
    let normal = tilt * DVec3::Z;
    let plane: Vec<_> = terrain(20, 4.0, |_, _| 0.0).iter().map(|t| t.map(|x| tilt * x)).collect();
    let (vertices, triangles) = welded(&plane);
    let flat = Mesh::new(vertices, triangles).unwrap();
    assert_eq!((flat.triangles().len(), flat.faces().len(), flat.edges().len()), (800, 1, 4));
    assert!(!flat.is_closed() && flat.thickness() == f64::INFINITY);
    let flat = Shape::Mesh(Arc::new(flat));
    let ball = Shape::Sphere { radius: 0.1 };
    let cuboid = Shape::Cuboid { half_extents: DVec3::new(0.3, 0.2, 0.1) };
    let bar = Shape::Capsule { half_length: 0.3, radius: 0.05 };
    let place = Pose::new(DVec3::new(5.0, -3.0, 2.0), DQuat::from_rotation_z(0.4));
    let normal = place.transform_vector(normal);
    for step in 0..2000 {
        // Along a line that crosses vertices, sides and diagonals; the first steps are on vertices.
        let along = if step < 15 { 0.2 * f64::from(step) - 1.4 } else { f64::from(step) * 1.4e-3 - 1.4 };
        for gap in [0.0, 1e-9, -1e-3] {
            // Coordinates of 6 m have roundings of 1e-15 m, and a pose is composed of several.
            let at = |height: f64| place.compose(&Pose::new(tilt * DVec3::new(along, along, height + gap), tilt));
            let on_ball = touches((&ball, &at(0.1)), (&flat, &place), 0.05);
            assert_eq!(on_ball.len(), 1, "{on_ball:#?}");
            assert_near(on_ball[0].gap, gap, 4e-14, "gap of the ball");
            let off = on_ball[0].normal.distance(normal);
            assert!(off <= 4e-15, "{off:e} {}", on_ball[0].normal.length());
            for (shape, height, count) in [(&cuboid, 0.1, 4), (&bar, 0.05, 2)] {
                let found = touches((shape, &at(height)), (&flat, &place), 0.05);
                assert_eq!(found.len(), count, "{found:#?}");
                for touch in &found {
                    assert_near(touch.gap, gap, 4e-14, "gap");
                    assert!(touch.normal.distance(normal) <= 4e-15);
                }
                assert!(found.is_sorted_by(|a, b| a.feature < b.feature));
                // The same features all along.
                let codes = |touches: &[Touch]| touches.iter().map(|t| FeaturePair::of(t.feature)).collect::<Vec<_>>();
                let expected: Vec<_> = match count {
                    4 => [4, 5, 6, 7].map(|v| FeaturePair::VertexFace(v, 0)).to_vec(),
                    _ => [0, 1].map(|v| FeaturePair::VertexFace(v, 0)).to_vec(),
                };
                assert_eq!(codes(&found), expected);
            }
        }
    }
}

#[test]
fn a_ball_in_a_valley_touches_both_sides_and_on_a_ridge_one_edge() {
    // Sides of 45 degrees: a ball of radius r touches both with its centre r √2 above the bottom.
    let ball = Shape::Sphere { radius: 0.5 };
    for (sign, count) in [(1.0, 2), (-1.0, 1)] {
        let surface = shape_of(&terrain(10, 4.0, |x, _| sign * x.abs()));
        for gap in [1e-3, 0.0, -1e-3, -0.1] {
            let height = if count == 2 { (0.5 + gap) * 2f64.sqrt() } else { 0.5 + gap };
            let pose = Pose::new(DVec3::new(0.0, 0.123, height), DQuat::IDENTITY);
            let found = touches((&ball, &pose), (&surface, &Pose::IDENTITY), 0.05);
            assert_eq!(found.len(), count, "{found:#?}");
            let half = 0.5f64.sqrt();
            for touch in &found {
                assert_near(touch.gap, gap, 1e-14, "gap");
                let across = if count == 2 { half } else { 0.0 };
                assert_near(touch.normal.x.abs(), across, 1e-15, "normal");
                assert_near(touch.normal.z, (1.0 - across * across).sqrt(), 1e-15, "normal");
            }
        }
    }
    // The centre may be below the surface by the radius, and no deeper.
    let flat = shape_of(&terrain(10, 4.0, |_, _| 0.0));
    for (height, count) in [(-0.49, 1), (-0.51, 0)] {
        let pose = Pose::new(DVec3::new(0.1, 0.2, height), DQuat::IDENTITY);
        let found = touches((&ball, &pose), (&flat, &Pose::IDENTITY), 0.0);
        assert_eq!(found.len(), count, "{height}");
        found.iter().for_each(|touch| assert_near(touch.gap, height - 0.5, 1e-15, "deep"));
    }
}

/// Sides of a room from -1 to 1 with walls 0.1 thick: closed, with a surface inside and outside.
fn room(n: usize) -> Vec<[DVec3; 3]> {
    let mut triangles = box_triangles(-1.1 * DVec3::ONE, 1.1 * DVec3::ONE, n, false);
    triangles.extend(box_triangles(-DVec3::ONE, DVec3::ONE, n, true));
    triangles
}

#[test]
fn the_inner_corner_of_a_room_holds_a_box_by_three_walls() {
    let walls = shape_of(&room(5));
    let Shape::Mesh(mesh) = &walls else { unreachable!() };
    assert!(mesh.is_closed());
    assert_eq!(mesh.faces().len(), 12);
    assert_near(mesh.thickness(), 0.05, 1e-15, "half a wall");
    let half_extents = DVec3::new(0.3, 0.2, 0.1);
    let cuboid = Shape::Cuboid { half_extents };
    let part = shape_of(&box_triangles(-half_extents, half_extents, 3, false));
    for shape in [&cuboid, &part] {
        for gap in [0.0, 1e-9, -1e-9, 1e-4, -1e-4] {
            let pose = Pose::new(half_extents - DVec3::ONE + DVec3::splat(gap), DQuat::IDENTITY);
            let found = touches((shape, &pose), (&walls, &Pose::IDENTITY), 1e-3);
            assert_eq!(found.len(), 12, "{gap}: {found:#?}");
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                assert_eq!(found.iter().filter(|touch| touch.normal.distance(axis) <= 1e-15).count(), 4);
            }
            found.iter().for_each(|touch| assert_near(touch.gap, gap, 1e-15, "gap"));
            // The same with a tilt that moves the far corners by 1e-10 or less.
            let tilted = Pose { orientation: DQuat::from_scaled_axis(DVec3::new(1.0, -2.0, 0.5) * 1e-10), ..pose };
            let codes = |touches: &[Touch]| touches.iter().map(|t| t.feature).collect::<Vec<_>>();
            let again = touches((shape, &tilted), (&walls, &Pose::IDENTITY), 1e-3);
            again.iter().for_each(|touch| assert_near(touch.gap, gap, 2e-10, "gap of the tilted box"));
            assert_eq!(codes(&again), codes(&found), "{gap}");
        }
    }
}

#[test]
fn a_box_in_the_corner_of_a_bracket_touches_two_faces() {
    // An L: a foot of 2 by 1 and a leg of 1 by 2, one deep, from six convex corners and one concave.
    let outline = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)];
    let at = |i: usize, y: f64| DVec3::new(outline[i].0, y, outline[i].1);
    let mut triangles = Vec::new();
    for i in 0..6 {
        let j = (i + 1) % 6;
        triangles.extend([[at(i, 0.0), at(j, 0.0), at(j, 1.0)], [at(i, 0.0), at(j, 1.0), at(i, 1.0)]]);
    }
    for [a, b, c] in [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]] {
        triangles.extend([[at(a, 1.0), at(b, 1.0), at(c, 1.0)], [at(a, 0.0), at(c, 0.0), at(b, 0.0)]]);
    }
    let inside_out = triangles.iter().map(|t| t[0].dot(t[1].cross(t[2]))).sum::<f64>() < 0.0;
    let triangles: Vec<_> = triangles.iter().map(|&[a, b, c]| if inside_out { [a, c, b] } else { [a, b, c] }).collect();
    let bracket = shape_of(&triangles);
    let cuboid = Shape::Cuboid { half_extents: DVec3::new(0.2, 0.3, 0.25) };
    for gap in [0.0, 1e-6, -1e-6, -1e-2] {
        let pose = Pose::new(DVec3::new(1.2 + gap, 0.5, 1.25 + gap), DQuat::IDENTITY);
        let found = touches((&cuboid, &pose), (&bracket, &Pose::IDENTITY), 1e-3);
        let on = |axis: DVec3| found.iter().filter(|touch| touch.normal.distance(axis) <= 1e-15).count();
        assert_eq!((on(DVec3::X), on(DVec3::Z), found.len()), (4, 4, 8), "{gap}: {found:#?}");
        found.iter().for_each(|touch| assert_near(touch.gap, gap, 2e-15, "gap"));
    }
}

// ---- Invariances.

/// What is found with the shapes exchanged.
fn mirrored(touches: &[Touch]) -> Vec<Touch> {
    let mut mirrored: Vec<_> = touches.iter().map(Touch::mirrored).collect();
    mirrored.sort_by_key(|touch| touch.feature);
    mirrored
}

#[test]
fn swapped_turned_and_cut_otherwise_the_contacts_are_the_same() {
    let mut random = Generator::new(23);
    let whole = shape_of(&box_triangles(-DVec3::ONE, DVec3::ONE, 1, false));
    let cut = shape_of(&box_triangles(-DVec3::ONE, DVec3::ONE, 4, false));
    let cuboid = Shape::Cuboid { half_extents: DVec3::new(0.5, 0.4, 0.3) };
    let world = Pose::new(DVec3::new(0.4, 0.8, -0.3), random_turn(&mut random));
    let mut compared = 0;
    for trial in 0..3000 {
        let pose = random_pose(&mut random, trial, 2.0);
        let plain = touches((&cuboid, &pose), (&whole, &Pose::IDENTITY), 0.3);
        if plain.iter().any(|touch| touch.gap < -SHALLOW) {
            continue;
        }
        compared += 1;
        let swapped = touches((&whole, &Pose::IDENTITY), (&cuboid, &pose), 0.3);
        assert_eq!(swapped, mirrored(&plain));
        let of_cut = touches((&cuboid, &pose), (&cut, &Pose::IDENTITY), 0.3);
        let turned = touches((&cuboid, &world.compose(&pose)), (&whole, &world), 0.3);
        for (others, back) in [(&of_cut, Pose::IDENTITY), (&turned, world)] {
            assert_eq!(others.len(), plain.len(), "{trial}");
            for touch in &plain {
                let place = back.transform_point(touch.point);
                let nearest = others.iter().min_by(|a, b| {
                    let far =
                        |t: &Touch| t.point.distance(place) + t.normal.distance(back.transform_vector(touch.normal));
                    far(a).total_cmp(&far(b))
                });
                let other = nearest.unwrap();
                assert!(other.point.distance(place) <= 1e-11, "{trial}: {touch:?} {other:?}");
                assert_near(other.gap, touch.gap, 1e-13, "gap");
            }
        }
        let same = turned.iter().map(|t| t.feature).eq(plain.iter().map(|t| t.feature));
        assert!(same, "{trial}: features in another order");
    }
    assert!(compared > 600, "{compared}");
}

#[test]
fn features_that_are_held_are_where_the_search_finds_them() {
    let mut random = Generator::new(29);
    let surface = shape_of(&terrain(12, 3.0, |x, y| 0.3 * (3.0 * x).sin() * (2.0 * y + 1.0).cos()));
    let shapes = [
        Shape::Sphere { radius: 0.2 },
        Shape::Capsule { half_length: 0.4, radius: 0.1 },
        Shape::Cuboid { half_extents: DVec3::new(0.5, 0.4, 0.3) },
        cube(2),
    ];
    let mut count = 0;
    for trial in 0..1000 {
        for shape in &shapes {
            let mut pose = random_pose(&mut random, trial, 1.0);
            pose.position.z = pose.position.z.abs() + 0.2;
            let found = touches((shape, &pose), (&surface, &Pose::IDENTITY), 0.5);
            let features: Vec<u64> = found.iter().map(|touch| touch.feature).collect();
            let mut held = Vec::new();
            collide::touches_of(Dimension::Space, [(shape, &pose), (&surface, &Pose::IDENTITY)], &features, &mut held);
            assert_eq!(found, held);
            count += found.len();
            for touch in &found {
                assert!((touch.normal.length() - 1.0).abs() <= 1e-14 && touch.gap.is_finite());
                let apart = (touch.point_on_first - touch.point_on_second).dot(touch.normal);
                assert_near(apart, touch.gap, 1e-14, "the points are the gap apart");
            }
            if matches!(shape, Shape::Mesh(_)) {
                continue; // two meshes are searched in the order of the pair
            }
            let other_way = touches((&surface, &Pose::IDENTITY), (shape, &pose), 0.5);
            assert_eq!(other_way, mirrored(&found));
            let features: Vec<u64> = other_way.iter().map(|touch| touch.feature).collect();
            let pair = [(&surface, &Pose::IDENTITY), (shape, &pose)];
            let mut held = Vec::new();
            collide::touches_of(Dimension::Space, pair, &features, &mut held);
            assert_eq!(held, other_way);
        }
    }
    assert!(count > 5_000, "{count}");
}

#[test]
fn what_is_no_surface_is_refused_with_the_place() {
    let message = |vertices: &[DVec3], triangles: &[[u32; 3]]| {
        Mesh::new(vertices.to_vec(), triangles.to_vec()).unwrap_err().to_string()
    };
    let x = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, 2.0 * DVec3::X];
    assert_eq!(message(&x, &[]), "mesh: there are no triangles");
    assert_eq!(
        message(&x, &[[0, 1, 2], [0, 1, 9]]),
        "mesh: triangle 1 names vertex 9, and there are 5, counted from 0"
    );
    let degenerate = message(&x, &[[0, 1, 2], [0, 1, 4], [0, 0, 3]]);
    assert_eq!(degenerate, "mesh: 2 without area, first triangle 1 at [1, 0, 0] m; remove them");
    // The second one is turned against the first; the third is one too many.
    for third in [[0, 1, 3], [1, 0, 3]] {
        let wrong = message(&x, &[[0, 1, 2], third, [0, 1, 3]]);
        assert!(wrong.contains("at [0.5, 0, 0] m"), "{wrong}");
    }
    let mut bad = x.to_vec();
    bad[3].y = f64::NAN;
    assert_eq!(message(&bad, &[[0, 1, 2]]), "mesh: vertex 3 is not finite");
    assert_eq!(
        message(&[DVec3::X], &[[0, 0, 0]]),
        "mesh: 1 without area, first triangle 0 at [1, 0, 0] m; remove them"
    );
    // A pose that is none gives no contact, and no panic.
    let pose = Pose::new(DVec3::NAN, DQuat::IDENTITY);
    assert!(touches((&Shape::Sphere { radius: 1.0 }, &pose), (&cube(1), &Pose::IDENTITY), 1.0).is_empty());
}

#[test]
fn the_nearest_point_of_a_surface() {
    let triangles = ball_triangles(8);
    let (vertices, numbers) = welded(&triangles);
    let ball = Mesh::new(vertices, numbers).unwrap();
    let mut random = Generator::new(31);
    for _ in 0..500 {
        let x = DVec3::from_array(random.vector(1.5));
        let (point, triangle, distance) = ball.closest_point(x);
        let exact = triangles.iter().map(|&t| point_triangle(x, t)).fold(f64::INFINITY, f64::min);
        assert_near(distance, exact, 1e-14, "distance");
        assert_near(point.distance(x), distance, 1e-15, "the point is as far");
        let corners = ball.triangles()[triangle].map(|v| ball.vertices()[v as usize]);
        assert!(point_triangle(point, corners) <= 1e-15);
    }
}

#[test]
fn a_mesh_on_a_half_space_stands_on_the_corners_of_its_face() {
    let floor = Shape::HalfSpace { normal: DVec3::Z, offset: 0.5 };
    for n in [1, 6] {
        for gap in [0.0, 1e-9, -1e-3] {
            let pose = Pose::new(DVec3::new(0.3, 0.1, 1.5 + gap), DQuat::from_rotation_z(0.7));
            let found = touches((&cube(n), &pose), (&floor, &Pose::IDENTITY), 1e-2);
            assert_eq!(found.len(), 4, "{found:#?}");
            found.iter().for_each(|touch| assert_near(touch.gap, gap, 1e-15, "gap"));
        }
    }
}

/// Measures, when asked to by the variable STICTION_TIMES: microseconds of wall time per search.
#[test]
fn searches_in_large_meshes_are_local() {
    let bumps = |x: f64, y: f64| 0.05 * (9.0 * x).sin() * (7.0 * y).cos();
    let shapes = [
        ("ball", Shape::Sphere { radius: 0.05 }),
        ("box", Shape::Cuboid { half_extents: DVec3::new(0.05, 0.04, 0.03) }),
    ];
    for n in [22, 223, 300] {
        let begin = std::time::Instant::now();
        let surface = shape_of(&terrain(n, 4.0, bumps));
        let building = begin.elapsed();
        for (name, shape) in &shapes {
            let mut random = Generator::new(37);
            let (mut count, trials) = (0usize, 300usize);
            let mut poses = Vec::new();
            for _ in 0..trials {
                let [x, y] = [0; 2].map(|_| random.uniform(-1.8, 1.8));
                poses.push(Pose::new(DVec3::new(x, y, bumps(x, y) + 0.15), random_turn(&mut random)));
            }
            // Laid on the surface.
            for pose in &mut poses {
                for _ in 0..6 {
                    let gap = least(&touches((shape, pose), (&surface, &Pose::IDENTITY), 0.2));
                    pose.position.z -= gap.min(0.2);
                }
            }
            let begin = std::time::Instant::now();
            for pose in &poses {
                count += touches((shape, pose), (&surface, &Pose::IDENTITY), 1e-3).len();
            }
            let each = begin.elapsed().as_secs_f64() / trials as f64 * 1e6;
            if std::env::var_os("STICTION_TIMES").is_some() {
                println!("{name} on {} triangles, built in {building:?}: {each:.1} µs, {count} contacts", 2 * n * n);
            }
            assert!(count >= trials, "{name}: {count}");
        }
    }
}

#[test]
fn a_ball_beyond_the_corner_of_a_cube_touches_the_corner() {
    let ball = Shape::Sphere { radius: 0.5 };
    for n in [1, 3] {
        let pose = Pose::new(DVec3::new(1.2, 1.3, 1.6), DQuat::IDENTITY);
        let found = touches((&ball, &pose), (&cube(n), &Pose::IDENTITY), 1.0);
        // 0.2² + 0.3² + 0.6² = 0.7².
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_near(found[0].gap, 0.2, 1e-15, "gap");
        assert!(found[0].normal.distance(DVec3::new(2.0, 3.0, 6.0) / 7.0) <= 1e-15);
        assert!(matches!(FeaturePair::of(found[0].feature), FeaturePair::VertexVertex(0, _)));
    }
}

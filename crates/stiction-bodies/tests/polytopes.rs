//! Boxes and convex hulls against each other: the gap against distances by other algorithms, the
//! common face against closed forms, and what must not change anything.

#[allow(dead_code)] // all is in space here
#[path = "common/model.rs"]
mod common;

use std::f64::consts::{FRAC_PI_4, TAU};
use std::sync::Arc;

use stiction_bodies::collide::{FeaturePair, Touch, collide, touches_of};
use stiction_bodies::glamx::{DMat3, DQuat, DVec3};
use stiction_bodies::{Body, BodyKind, BodyShape, Dimension, Multibody, PlacedShape, Polytope, Pose, Shape};
use stiction_dynamics::families::Generator;
use stiction_dynamics::{ContactId, MechanicalSystem, RowRates};

/// Largest accepted error of the least gap, relative to the larger bounding radius.
const ERROR: f64 = 1e-12;

type Placed<'a> = (&'a Shape, Pose);

fn touches(first: Placed, second: Placed, horizon: f64) -> Vec<Touch> {
    let mut found = Vec::new();
    collide(Dimension::Space, first.0, &first.1, second.0, &second.1, horizon, &mut found);
    for touch in &found {
        let numbers = [touch.point, touch.point_on_first, touch.point_on_second, touch.normal];
        assert!(touch.gap.is_finite() && numbers.iter().all(|x| x.is_finite()), "{touch:?}");
        assert!((touch.normal.length() - 1.0).abs() < 1e-14, "{touch:?}");
        let apart = touch.point_on_first - touch.point_on_second - touch.gap * touch.normal;
        let far = touch.point.length() + first.0.bounding_radius() + second.0.bounding_radius();
        assert!(apart.length() <= 1e-14 * far, "{touch:?}");
    }
    assert!(found.windows(2).all(|two| two[0].feature < two[1].feature));
    found
}

fn features(found: &[Touch]) -> Vec<FeaturePair> {
    found.iter().map(|touch| FeaturePair::of(touch.feature)).collect()
}

fn least(found: &[Touch]) -> &Touch {
    found.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).expect("no touch")
}

fn cube(half: f64) -> Shape {
    Shape::Cuboid { half_extents: DVec3::splat(half) }
}

fn hull(points: &[DVec3]) -> Shape {
    Shape::Polytope(Arc::new(Polytope::hull(points).unwrap()))
}

fn random_hull(random: &mut Generator, count: usize) -> Shape {
    let direction = |random: &mut Generator| DVec3::from_array(random.vector(1.0)).normalize();
    hull(&(0..count).map(|_| direction(random) * random.uniform(0.8, 1.0)).collect::<Vec<_>>())
}

/// An upright prism around z.
fn prism(sides: usize, radius: f64, half_height: f64) -> Shape {
    let corner = |i: usize, z: f64| {
        let (sine, cosine) = (i as f64 * TAU / sides as f64).sin_cos();
        DVec3::new(radius * cosine, radius * sine, z)
    };
    let ends = [-half_height, half_height];
    hull(&(0..sides).flat_map(|i| ends.map(|z| corner(i, z))).collect::<Vec<_>>())
}

fn turned(random: &mut Generator) -> DQuat {
    let [x, y, z] = random.vector(1.0);
    DQuat::from_xyzw(x, y, z, random.uniform(-1.0, 1.0)).normalize()
}

fn polytope(shape: &Shape) -> Polytope {
    match shape {
        Shape::Polytope(polytope) => (**polytope).clone(),
        &Shape::Cuboid { half_extents } => {
            let sign = |i: usize, bit: usize| if i >> bit & 1 == 0 { 1.0 } else { -1.0 };
            let corner = |i: usize| DVec3::new(sign(i, 0), sign(i, 1), sign(i, 2)) * half_extents;
            Polytope::hull(&(0..8).map(corner).collect::<Vec<_>>()).unwrap()
        }
        _ => unreachable!(),
    }
}

/// A polyhedron in the world, for algorithms that see nothing but points, triangles and edges.
struct Solid {
    points: Vec<DVec3>,
    triangles: Vec<[DVec3; 3]>,
    normals: Vec<DVec3>,
    /// Ends, the normals of the two faces, and their cross product.
    edges: Vec<([DVec3; 2], [DVec3; 2], DVec3)>,
}

impl Solid {
    fn new(polytope: &Polytope, pose: &Pose) -> Self {
        let points: Vec<DVec3> = polytope.vertices().iter().map(|x| pose.transform_point(*x)).collect();
        let normals: Vec<DVec3> = polytope.faces().iter().map(|f| pose.transform_vector(f.normal)).collect();
        let triangles = polytope.triangles().map(|t| t.map(|i| points[i as usize])).collect();
        let edge = |edge: &stiction_bodies::Edge| {
            let [m, n] = edge.faces.map(|i| normals[i as usize]);
            (edge.vertices.map(|i| points[i as usize]), [m, n], m.cross(n))
        };
        let edges = polytope.edges().iter().map(edge).collect();
        Self { points, triangles, normals, edges }
    }

    fn lowest(&self, n: DVec3) -> f64 {
        self.points.iter().map(|x| n.dot(*x)).fold(f64::INFINITY, f64::min)
    }
}

/// The separation of a from b along n.
fn separation(a: &Solid, b: &Solid, n: DVec3) -> f64 {
    a.lowest(n) + b.lowest(-n)
}

/// The largest separation over all faces of the Minkowski sum: all normals, and all pairs of edges
/// whose arcs of normals cross, by the signs of four triple products.
fn best_separation(a: &Solid, b: &Solid) -> f64 {
    let mut best = f64::NEG_INFINITY;
    a.normals.iter().for_each(|n| best = best.max(separation(a, b, -n)));
    b.normals.iter().for_each(|n| best = best.max(separation(a, b, *n)));
    for ([p, q], [m, n], of_a) in &a.edges {
        for ([r, s], [k, l], of_b) in &b.edges {
            // The normals of a are turned round.
            let (mk, nk) = (-of_b.dot(*m), -of_b.dot(*n));
            if mk * nk > 0.0 {
                continue;
            }
            let (km, lm) = (of_a.dot(*k), of_a.dot(*l));
            if km * lm > 0.0 || km * nk < 0.0 {
                continue;
            }
            let cross = (*q - *p).cross(*s - *r);
            if cross.length() > 1e-9 * p.distance(*q) * r.distance(*s) {
                let cross = cross.normalize();
                let cross = if cross.dot(*k + *l - *m - *n) < 0.0 { -cross } else { cross };
                if cross.dot(*p - *r) > best {
                    best = best.max(separation(a, b, cross));
                }
            }
        }
    }
    best
}

/// Distance of a point from a triangle.
fn to_triangle(x: DVec3, [a, b, c]: [DVec3; 3]) -> f64 {
    let n = (b - a).cross(c - a);
    let inside = [(a, b), (b, c), (c, a)].iter().all(|(p, q)| (*q - *p).cross(x - *p).dot(n) >= 0.0);
    // Beyond the sides the edges are nearer, and are looked at on their own.
    if inside { (x - a).dot(n).abs() / n.length() } else { f64::INFINITY }
}

/// Distance of two segments.
fn of_segments([p, q]: [DVec3; 2], [r, s]: [DVec3; 2]) -> f64 {
    let to_segment = |x: DVec3, [a, b]: [DVec3; 2]| {
        let t = ((x - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
        x.distance(a.lerp(b, t))
    };
    let ends = [to_segment(p, [r, s]), to_segment(q, [r, s]), to_segment(r, [p, q]), to_segment(s, [p, q])];
    let mut best = ends.into_iter().fold(f64::INFINITY, f64::min);
    let n = (q - p).cross(s - r);
    // Each crosses the plane through the other along n: then they meet over each other.
    let sides = |x: DVec3, y: DVec3, m: DVec3, o: DVec3| (x - o).dot(m) * (y - o).dot(m) < 0.0;
    if sides(p, q, n.cross(s - r), r) && sides(r, s, n.cross(q - p), p) {
        best = best.min((p - r).dot(n).abs() / n.length());
    }
    best
}

/// Distance of two polyhedra that are apart, feature by feature.
fn distance(a: &Solid, b: &Solid) -> f64 {
    let mut best = f64::INFINITY;
    a.points.iter().for_each(|x| b.triangles.iter().for_each(|t| best = best.min(to_triangle(*x, *t))));
    b.points.iter().for_each(|x| a.triangles.iter().for_each(|t| best = best.min(to_triangle(*x, *t))));
    a.edges.iter().for_each(|e| b.edges.iter().for_each(|f| best = best.min(of_segments(e.0, f.0))));
    best
}

/// Compares the least gap of two placed shapes with that of other algorithms; its error relative to
/// the size.
fn error_of_gap(first: Placed, second: Placed, (a, b): (&Solid, &Solid), is_thorough: bool) -> f64 {
    let found = touches(first, second, f64::INFINITY);
    let size = first.0.bounding_radius().max(second.0.bounding_radius());
    let touch = least(&found);
    // A bound from below: the two are this far apart along the normal. One from above: between two
    // points of the bodies.
    let along = separation(a, b, touch.normal);
    let error = (touch.gap - along).abs() / size;
    if !is_thorough && along > 0.0 && error <= 0.1 * ERROR {
        let is_in = |solid: &Solid, x: DVec3| {
            let mut planes = solid.triangles.iter().map(|t| ((t[1] - t[0]).cross(t[2] - t[0]).normalize(), t[0]));
            planes.all(|(n, origin)| n.dot(x - origin) <= ERROR * size)
        };
        assert!(is_in(a, touch.point_on_first) && is_in(b, touch.point_on_second));
        return error;
    }
    let best = best_separation(a, b);
    if best > 0.0 {
        return (touch.gap - distance(a, b)).abs() / size;
    }
    // The other algorithm leaves out edges that are nearly parallel, but any separation is a bound.
    let other = (touch.gap - best).abs() / size;
    if touch.gap > best { other.min(error) } else { other }
}

/// The worst error of random poses: apart, touching, shallow, deep, aligned and almost aligned.
fn worst_of_poses(name: &str, first: &Shape, second: &Shape, count: usize, thorough: usize) -> f64 {
    let mut random = Generator::new(17);
    let mut worst = 0.0f64;
    let polytopes = [first, second].map(polytope);
    for trial in 0..count {
        let reach = first.bounding_radius() + second.bounding_radius();
        let mut a = Pose::new(DVec3::from_array(random.vector(0.7 * reach)), turned(&mut random));
        let b = Pose::new(DVec3::from_array(random.vector(0.1)), turned(&mut random));
        if trial % 4 == 3 {
            // Axes along those of the other one, but for a tiny turn.
            let quarter = |random: &mut Generator| DQuat::from_rotation_x(random.below(4) as f64 * TAU / 4.0);
            let tiny = random.logarithmic(1e-15, 1e-2);
            let tiny = DQuat::from_scaled_axis(DVec3::from_array(random.vector(tiny)));
            a.orientation = (b.orientation * quarter(&mut random) * tiny).normalize();
        }
        if trial % 4 >= 2 {
            // Touching, but for a little.
            let found = touches((first, a), (second, b), f64::INFINITY);
            let touch = least(&found);
            let wanted = [0.0, 1e-15, -1e-15, 1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3][random.below(10)];
            a.position -= (touch.gap - wanted) * touch.normal;
        }
        let (x, y) = (Solid::new(&polytopes[0], &a), Solid::new(&polytopes[1], &b));
        let error = error_of_gap((first, a), (second, b), (&x, &y), trial % thorough == 0);
        assert!(error <= ERROR, "{name}, trial {trial}: {error:e}\n{a:?}\n{b:?}");
        worst = worst.max(error);
    }
    println!("{name}: worst error of {count} poses {worst:.1e}");
    worst
}

#[test]
fn random_poses_of_boxes() {
    worst_of_poses("box-box", &cube(0.5), &Shape::Cuboid { half_extents: DVec3::new(0.3, 0.6, 0.9) }, 100_000, 4);
    worst_of_poses("box-plate", &cube(0.5), &Shape::Cuboid { half_extents: DVec3::new(2.0, 3.0, 1e-3) }, 20_000, 4);
    worst_of_poses("box-crumb", &cube(0.5), &cube(5e-4), 20_000, 4);
}

#[test]
fn random_poses_of_hulls() {
    let mut random = Generator::new(5);
    for (count, thorough) in [(8, 8), (20, 100), (50, 2000)] {
        let shapes = [0; 2].map(|_| random_hull(&mut random, count));
        worst_of_poses(&format!("hull {count}"), &shapes[0], &shapes[1], 100_000, thorough);
    }
    worst_of_poses("box-prism", &cube(0.5), &prism(16, 0.7, 0.4), 20_000, 40);
}

/// Area of the polygon of the touches, around the normal.
fn area(found: &[Touch], n: DVec3) -> f64 {
    let middle = found.iter().map(|touch| touch.point).sum::<DVec3>() / found.len() as f64;
    let x = n.any_orthonormal_vector();
    let y = n.cross(x);
    let arm = |touch: &Touch| touch.point - middle;
    let angle = |touch: &Touch| arm(touch).dot(y).atan2(arm(touch).dot(x));
    let mut ring: Vec<&Touch> = found.iter().collect();
    ring.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
    let next = |i: usize| arm(ring[(i + 1) % ring.len()]);
    (0..ring.len()).map(|i| 0.5 * arm(ring[i]).cross(next(i)).dot(n)).sum()
}

#[test]
fn a_cube_on_a_cube() {
    // Squares of side 1, one turned by the yaw: the common octagon has the area
    // 2 / (1 + sin + cos).
    let unit = cube(0.5);
    for yaw in [0.0, 1e-12, 1e-6, 0.1, FRAC_PI_4] {
        for gap in [0.0, 1e-15, -1e-15, 1e-9, -1e-9, 1e-3, -1e-3] {
            let upper = Pose::new(DVec3::new(0.0, 0.0, 1.0 + gap), DQuat::from_rotation_z(yaw));
            let found = touches((&unit, upper), (&unit, Pose::IDENTITY), 0.1);
            assert_eq!(found.len(), if yaw == 0.0 { 4 } else { 8 }, "{yaw}, {gap}");
            for touch in &found {
                assert!((touch.gap - (upper.position.z - 1.0)).abs() <= 1e-15, "{yaw}, {gap}: {touch:?}");
                assert!((touch.normal - DVec3::Z).length() <= 1e-15);
            }
            let exact = 2.0 / (1.0 + yaw.sin() + yaw.cos());
            assert!((area(&found, DVec3::Z) - exact).abs() <= 2e-12, "{yaw}, {gap}: {}", area(&found, DVec3::Z));
        }
    }
}

#[test]
fn a_cube_that_overhangs() {
    let unit = cube(0.5);
    for (x, y) in [(0.5, 0.0), (1e-9, 0.0), (1e-9, -1e-9), (1.0 - 1e-9, 0.0)] {
        let found = touches((&unit, Pose::new(DVec3::new(x, y, 1.0), DQuat::IDENTITY)), (&unit, Pose::IDENTITY), 0.0);
        assert_eq!(found.len(), 4, "{x}: {:?}", features(&found));
        assert!((area(&found, DVec3::Z) - (1.0 - x.abs()) * (1.0 - y.abs())).abs() <= 1e-15);
    }
}

#[test]
fn corners_and_edges_meet() {
    let unit = cube(0.5);
    let origin = (&unit, Pose::IDENTITY);
    for gap in [1e-9, 1e-3, 0.3] {
        // Corner to corner along the diagonal, edge to parallel edge, and corner to face.
        let place = DVec3::ONE + gap / 3f64.sqrt();
        let found = touches((&unit, Pose::new(place, DQuat::IDENTITY)), origin, 1.0);
        assert_eq!(features(&found), [FeaturePair::VertexVertex(7, 0)]);
        assert!((found[0].gap - gap).abs() <= 2e-16 && (found[0].normal - DVec3::ONE.normalize()).length() <= 1e-6);
        let place = DVec3::new(0.25, 1.0 + gap / 2f64.sqrt(), 1.0 + gap / 2f64.sqrt());
        let found = touches((&unit, Pose::new(place, DQuat::IDENTITY)), origin, 1.0);
        assert_eq!(found.len(), 2, "{:?}", features(&found));
        assert!(found.iter().all(|touch| (touch.gap - gap).abs() <= 3e-16));
        let ends: Vec<f64> = found.iter().map(|touch| touch.point.x).collect();
        assert!((ends[0] - ends[1]).abs() - 0.75 <= 1e-15);
    }
    // On its corner: the diagonal upright.
    let upright = DQuat::from_rotation_arc(DVec3::ONE.normalize(), DVec3::Z);
    for gap in [1e-3, 1e-9, 0.0, -1e-9, -1e-3] {
        let pose = Pose::new(DVec3::new(0.1, 0.2, 0.5 + 0.75f64.sqrt() + gap), upright);
        let found = touches((&unit, pose), origin, 0.1);
        assert_eq!(features(&found), [FeaturePair::VertexFace(7, 4)]);
        assert!((found[0].gap - gap).abs() <= 5e-16);
    }
    // Two cubes, each on an edge, crossed.
    for angle in [TAU / 4.0, 0.3, 1e-3, 1e-6] {
        for gap in [1e-3, 1e-9, -1e-9, -1e-3] {
            let tilted = DQuat::from_rotation_x(FRAC_PI_4);
            let upper = Pose::new(DVec3::new(0.0, 0.0, 2f64.sqrt() + gap), DQuat::from_rotation_z(angle) * tilted);
            let found = touches((&unit, upper), (&unit, Pose::new(DVec3::ZERO, tilted)), 0.1);
            let touch = least(&found);
            // Along a face it is the end of the edge that is deepest.
            let along_face = (gap - 0.5 * angle.sin()) / 2f64.sqrt();
            let exact = if gap < 0.0 { gap.max(along_face) } else { gap };
            assert!((touch.gap - exact).abs() <= 1e-15, "{angle}, {gap}: {touch:?}");
            if exact != gap {
                continue;
            }
            assert!((touch.normal - DVec3::Z).length() <= 1e-9, "{angle}, {gap}: {touch:?}");
            assert!(matches!(FeaturePair::of(touch.feature), FeaturePair::EdgeEdge(..)));
        }
    }
}

#[test]
fn prisms_stand_on_all_their_corners() {
    let table = Shape::Cuboid { half_extents: DVec3::new(3.0, 3.0, 0.5) };
    for sides in 5..=64 {
        let (radius, half) = (0.7, 0.4);
        let shape = prism(sides, radius, half);
        let pose = Pose::new(DVec3::new(0.1, -0.2, 0.5 + half), DQuat::from_rotation_z(0.123));
        let found = touches((&shape, pose), (&table, Pose::IDENTITY), 1e-6);
        assert_eq!(found.len(), sides);
        let exact = 0.5 * sides as f64 * radius * radius * (TAU / sides as f64).sin();
        assert!((area(&found, DVec3::Z) - exact).abs() <= 1e-14);
        assert!(found.iter().all(|touch| touch.gap.abs() <= 2e-16));
    }
}

#[test]
fn a_box_in_a_pocket() {
    // 1 mm between four walls, 1e-9 m from each: the gaps are differences of the coordinates.
    let (part, clearance) = (cube(5e-4), 1e-9);
    for side in [DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y] {
        let wall = Pose::new(side * (5e-4 + 5e-4 + clearance), DQuat::IDENTITY);
        let found = touches((&part, Pose::IDENTITY), (&part, wall), 1e-8);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|touch| (touch.gap - clearance).abs() <= 1e-15 && touch.normal == -side));
    }
}

#[test]
fn far_from_the_origin() {
    let unit = cube(0.5);
    let turn = DQuat::from_xyzw(0.1, 0.2, 0.3, 0.9).normalize();
    let far = DVec3::new(6e5, -8e5, 1e5);
    for gap in [1e-6, 0.0, -1e-6] {
        let upper = Pose::new(far + turn * DVec3::new(0.3, 0.2, 1.0 + gap), turn);
        let found = touches((&unit, upper), (&unit, Pose::new(far, turn)), 1e-3);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|touch| (touch.gap - gap).abs() <= 4e-10));
    }
}

#[test]
fn names_do_not_change_by_a_tremble() {
    let mut random = Generator::new(8);
    let (unit, plate) = (cube(0.5), Shape::Cuboid { half_extents: DVec3::new(2.0, 2.0, 0.2) });
    let stump = prism(7, 0.5, 0.5);
    for (shape, ground, height) in
        [(&unit, &plate, 0.7), (&unit, &unit, 1.0), (&stump, &unit, 1.0), (&stump, &plate, 0.7)]
    {
        let rest = Pose::new(DVec3::new(0.11, 0.07, height), DQuat::from_rotation_z(0.3));
        let names = features(&touches((shape, rest), (ground, Pose::IDENTITY), 1e-4));
        assert!(names.len() >= 4);
        for size in [1e-12, 1e-9, 1e-6] {
            for _ in 0..500 {
                let mut pose = rest;
                pose.position += DVec3::from_array(random.vector(size));
                pose.orientation =
                    (DQuat::from_scaled_axis(DVec3::from_array(random.vector(size))) * rest.orientation).normalize();
                let found = touches((shape, pose), (ground, Pose::IDENTITY), 1e-4);
                assert_eq!(features(&found), names, "{size:e}");
                // Nor do they depend on how they were found.
                let codes: Vec<u64> = found.iter().map(|touch| touch.feature).collect();
                let mut held = Vec::new();
                touches_of(Dimension::Space, [(shape, &pose), (ground, &Pose::IDENTITY)], &codes, &mut held);
                assert_eq!(held, found);
            }
        }
    }
    // Exactly above each other, where all corners coincide.
    for _ in 0..500 {
        let pose = Pose::new(DVec3::Z + DVec3::from_array(random.vector(1e-13)), DQuat::IDENTITY);
        let names = features(&touches((&unit, pose), (&unit, Pose::IDENTITY), 1e-4));
        assert!(names.iter().all(|name| matches!(name, FeaturePair::VertexFace(_, 4))) && names.len() == 4);
    }
}

/// Bodies that touch, overlap slightly and overlap deeply: what the search finds is what the same
/// features say when they are held there.
#[test]
fn features_that_are_held_are_where_the_search_finds_them() {
    let mut random = Generator::new(77);
    for trial in 0..4000 {
        let shapes = [0, 1].map(|_| match random.below(2) {
            0 => Shape::Cuboid { half_extents: DVec3::from_array([(); 3].map(|()| random.uniform(0.05, 0.5))) },
            _ => random_hull(&mut random, 12),
        });
        let pose = Pose::new(DVec3::from_array([(); 3].map(|()| random.uniform(-0.5, 0.5))), turned(&mut random));
        let found = touches((&shapes[0], pose), (&shapes[1], Pose::IDENTITY), 0.05);
        let codes: Vec<u64> = found.iter().map(|touch| touch.feature).collect();
        let mut held = Vec::new();
        let pair = [(&shapes[0], &pose), (&shapes[1], &Pose::IDENTITY)];
        touches_of(Dimension::Space, pair, &codes, &mut held);
        assert_eq!(held.len(), found.len(), "trial {trial}");
        for (a, b) in found.iter().zip(&held) {
            let off = (a.gap - b.gap).abs().max((a.normal - b.normal).length());
            assert!(off <= 1e-9, "trial {trial}: {a:?} is held as {b:?}");
        }
    }
}

#[test]
fn order_and_axes_do_not_matter() {
    let mut random = Generator::new(21);
    let shapes = [cube(0.5), random_hull(&mut random, 8), random_hull(&mut random, 20), prism(6, 0.6, 0.3)];
    for trial in 0..4000 {
        let [first, second] = [0; 2].map(|_| &shapes[random.below(shapes.len())]);
        let [mut a, b] = [1.0, 0.1].map(|size| Pose::new(DVec3::from_array(random.vector(size)), turned(&mut random)));
        if trial % 2 == 0 {
            let found = touches((first, a), (second, b), f64::INFINITY);
            a.position -= (least(&found).gap - random.uniform(-1e-3, 1e-3)) * least(&found).normal;
        }
        let found = touches((first, a), (second, b), 0.05);
        let mut mirrored: Vec<Touch> = touches((second, b), (first, a), 0.05)
            .into_iter()
            .map(|touch| {
                let mut other = touch.mirrored();
                other.feature = FeaturePair::of(touch.feature).mirrored().code();
                other
            })
            .collect();
        mirrored.sort_by_key(|touch| touch.feature);
        let whole = Pose::new(DVec3::from_array(random.vector(2.0)), turned(&mut random));
        let moved = touches((first, whole.compose(&a)), (second, whole.compose(&b)), 0.05);
        for (what, other, back) in [("swap", mirrored, Pose::IDENTITY), ("turn", moved, whole)] {
            assert_eq!(features(&found), features(&other), "{what}, trial {trial}");
            for (one, other) in found.iter().zip(&other) {
                let normal = back.inverse_transform_vector(other.normal);
                let point = back.inverse_transform_point(other.point);
                // A normal along a short distance is known to rounding over that distance.
                let loose = 1e-13 + 1e-14 / one.gap.abs().max(1e-9);
                assert!((one.gap - other.gap).abs() <= 1e-13, "{what}, trial {trial}: {one:?} {other:?}");
                assert!(
                    (one.normal - normal).length() <= loose && (one.point - point).length() <= 1e-9,
                    "{what}, trial {trial}: {one:?} {other:?}"
                );
            }
        }
    }
}

#[test]
fn a_pose_that_is_no_number_gives_no_touch() {
    let unit = cube(0.5);
    let nowhere = Pose::new(DVec3::new(f64::NAN, 0.0, 0.0), DQuat::IDENTITY);
    assert!(touches((&unit, nowhere), (&unit, Pose::IDENTITY), f64::INFINITY).is_empty());
    assert!(Shape::Cuboid { half_extents: DVec3::new(1.0, 0.0, 1.0) }.check(Dimension::Space).is_err());
    // The same place, where no direction is the way out.
    let found = touches((&unit, Pose::IDENTITY), (&unit, Pose::IDENTITY), f64::INFINITY);
    assert_eq!(least(&found).gap, -1.0);
}

/// Rates of the normal and tangent rows against central differences, extrapolated once, with the
/// features held; every kind of features occurs.
#[test]
fn rows_have_the_rates_of_differences() {
    let mut random = Generator::new(31);
    let shapes = [cube(0.5), random_hull(&mut random, 8), prism(6, 0.6, 0.3)];
    let mut seen = std::collections::BTreeSet::new();
    for trial in 0..300 {
        let bodies = [0, 1].map(|i| {
            let placed = PlacedShape {
                position: DVec3::from_array(random.vector(0.2)),
                orientation: turned(&mut random),
                ..PlacedShape::centred(shapes[random.below(shapes.len())].clone())
            };
            Body {
                name: ["a", "b"][i].into(),
                kind: BodyKind::Rigid { mass: 1.0, inertia: DMat3::IDENTITY },
                pose: Pose::new(DVec3::from_array(random.vector(1.2)), turned(&mut random)),
                turns: 0,
                velocity: DVec3::from_array(random.vector(1.0)),
                angular_velocity: DVec3::from_array(random.vector(2.0)),
                shapes: vec![BodyShape { placed, material: 0 }],
                group: 0,
            }
        });
        let system = Multibody::new(common::model(Dimension::Space, bodies.to_vec())).unwrap();
        let state = system.start(0.0);
        let mut contacts = Vec::new();
        system.contacts(0.0, &state.q, f64::INFINITY, &mut contacts);
        let ids: Vec<ContactId> = contacts.iter().map(|contact| contact.id).collect();
        let mut exact = RowRates::default();
        system.row_rates(0.0, &state.q, &state.v, (&contacts, &[], &[]), &mut exact);
        let after = |tau: f64| {
            let (mut q, mut held) = (state.q.clone(), Vec::new());
            system.advance(0.0, &state.q, &state.v, tau, &mut q);
            system.contacts_of(tau, &q, &ids, &mut held);
            assert_eq!(held.len(), ids.len());
            let rates = |c: &stiction_dynamics::Contact| {
                [c.normal.dot(&state.v), c.slip(&state.v)[0], c.slip(&state.v)[1], c.gap]
            };
            held.iter().map(rates).collect::<Vec<_>>()
        };
        let tau = 1e-4;
        let [narrow, wide] = [tau, 2.0 * tau].map(|tau| {
            let (ahead, behind) = (after(tau), after(-tau));
            let slope = |row: usize, k: usize| (ahead[row][k] - behind[row][k]) / (2.0 * tau);
            (0..ids.len()).map(|row| [0, 1, 2, 3].map(|k| slope(row, k))).collect::<Vec<_>>()
        });
        for (row, contact) in contacts.iter().enumerate() {
            let feature = FeaturePair::of(contact.id.feature);
            let [tangent, other, _] = exact.tangents[row];
            // And the gap itself changes by the normal row.
            let rates = [exact.normals[row], tangent, other, contact.normal.dot(&state.v)];
            let near = contact.gap.abs() < 0.05
                && matches!(
                    feature,
                    FeaturePair::VertexVertex(..) | FeaturePair::VertexEdge(..) | FeaturePair::EdgeVertex(..)
                );
            if near || rates.iter().any(|rate| rate.abs() > 50.0) {
                continue; // turns too fast for differences
            }
            seen.insert(contact.id.feature >> 60);
            // The gap at a brink also changes as the place slides along the edge, which is tilted.
            let is_brink = matches!(feature, FeaturePair::EdgeBrink(..) | FeaturePair::BrinkEdge(..));
            for k in 0..if is_brink { 3 } else { 4 } {
                let difference = narrow[row][k] + (narrow[row][k] - wide[row][k]) / 3.0;
                assert!(
                    (difference - rates[k]).abs() <= 1e-6 * (1.0 + rates[k].abs()),
                    "trial {trial}, {feature}, row {k}: {} and {difference}",
                    rates[k]
                );
            }
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
}

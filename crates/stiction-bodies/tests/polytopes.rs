//! Boxes and convex hulls against each other: the gap against distances by other algorithms, the
//! common face against closed forms, and what must not change anything.

#[path = "common/model.rs"]
mod common;

use std::f64::consts::{FRAC_PI_4, TAU};
use std::sync::Arc;

use stiction_bodies::collide::{FeaturePair, Touch, collide, touches_of};
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{Dimension, Polytope, Pose, Shape};
use stiction_dynamics::families::Generator;

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

/// A polyhedron in the world, for algorithms that see nothing but points, triangles and edges.
struct Solid {
    points: Vec<DVec3>,
    triangles: Vec<[DVec3; 3]>,
    normals: Vec<DVec3>,
    /// Ends, and the normals of the two faces.
    edges: Vec<([DVec3; 2], [DVec3; 2])>,
}

impl Solid {
    fn new((shape, pose): Placed) -> Self {
        let made;
        let polytope = match shape {
            Shape::Polytope(polytope) => polytope.as_ref(),
            Shape::Cuboid { half_extents } => {
                let corner = |i: usize| {
                    let sign = |bit: usize| if i >> bit & 1 == 0 { 1.0 } else { -1.0 };
                    DVec3::new(sign(0), sign(1), sign(2)) * half_extents
                };
                made = Polytope::hull(&(0..8).map(corner).collect::<Vec<_>>()).unwrap();
                &made
            }
            _ => unreachable!(),
        };
        let points: Vec<DVec3> = polytope.vertices().iter().map(|x| pose.transform_point(*x)).collect();
        let normals: Vec<DVec3> = polytope.faces().iter().map(|f| pose.transform_vector(f.normal)).collect();
        let triangles = polytope.triangles().map(|t| t.map(|i| points[i as usize])).collect();
        let edge = |edge: &stiction_bodies::Edge| {
            (edge.vertices.map(|i| points[i as usize]), edge.faces.map(|i| normals[i as usize]))
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
    for ([p, q], [m, n]) in &a.edges {
        let (m, n, across) = (-*m, -*n, m.cross(*n));
        for ([r, s], [k, l]) in &b.edges {
            let of_b = k.cross(*l);
            let (km, lm) = (across.dot(*k), across.dot(*l));
            let (mk, nk) = (of_b.dot(m), of_b.dot(n));
            let is_face = km * lm <= 0.0 && mk * nk <= 0.0 && km * nk >= 0.0;
            if !is_face {
                continue;
            }
            let cross = (*q - *p).cross(*s - *r);
            if cross.length() > 1e-9 * p.distance(*q) * r.distance(*s) {
                let cross = cross.normalize();
                let cross = if cross.dot(*k + *l + m + n) < 0.0 { -cross } else { cross };
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
fn error_of_gap(first: Placed, second: Placed, is_thorough: bool) -> f64 {
    let found = touches(first, second, f64::INFINITY);
    let (a, b) = (Solid::new(first), Solid::new(second));
    let size = first.0.bounding_radius().max(second.0.bounding_radius());
    let touch = least(&found);
    // A bound from below: the two are this far apart along the normal. One from above: between two
    // points of the bodies.
    let along = separation(&a, &b, touch.normal);
    let is_between = |solid: &Solid, x: DVec3| {
        let plane = |(n, t): (&DVec3, &[DVec3; 3])| n.dot(x - t[0]) <= 1e-12 * size;
        solid.triangles.iter().all(|t| plane((&(t[1] - t[0]).cross(t[2] - t[0]).normalize(), t)))
    };
    if !is_thorough && along > 0.0 && (touch.gap - along).abs() <= ERROR * size {
        assert!(is_between(&a, touch.point_on_first) && is_between(&b, touch.point_on_second));
        return (touch.gap - along).abs() / size;
    }
    let best = best_separation(&a, &b);
    let exact = if best > 0.0 { distance(&a, &b) } else { best };
    let error = (touch.gap - exact).abs() / size;
    // Pairs of edges that are nearly parallel are not seen by the other algorithm, but a separation is
    // one.
    if best <= 0.0 && touch.gap > exact { ((touch.gap - along).abs() / size).min(error) } else { error }
}

/// The worst error of random poses: apart, touching, shallow, deep, aligned and almost aligned.
fn worst_of_poses(name: &str, first: &Shape, second: &Shape, count: usize, thorough: usize) -> f64 {
    let mut random = Generator::new(17);
    let mut worst = 0.0f64;
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
        let error = error_of_gap((first, a), (second, b), trial % thorough == 0);
        if error > ERROR {
            let (x, y) = (Solid::new((first, a)), Solid::new((second, b)));
            for touch in touches((first, a), (second, b), f64::INFINITY) {
                println!(
                    "{} gap {:e} along {:e} n {}",
                    FeaturePair::of(touch.feature),
                    touch.gap,
                    separation(&x, &y, touch.normal),
                    touch.normal
                );
            }
            println!("best {:e} distance {:e}", best_separation(&x, &y), distance(&x, &y));
        }
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
    for (count, thorough) in [(8, 8), (20, 40), (50, 400)] {
        let shapes = [0; 2].map(|_| random_hull(&mut random, count));
        worst_of_poses(&format!("hull {count}"), &shapes[0], &shapes[1], 100_000, thorough);
    }
    worst_of_poses("box-prism", &cube(0.5), &prism(16, 0.7, 0.4), 20_000, 40);
}

//! Polygons, boxes and chains in the plane against distances by another algorithm.
//!
//! For convex bodies that is the convex hull of all differences of vertices, seen from the origin;
//! for chains the distances of all pairs of segments, with the parity of crossings for what is
//! inside.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use stiction_bodies::collide::{FeaturePair, Touch, collide, is_supported, touches_of};
use stiction_bodies::glamx::{DVec2, DVec3};
use stiction_bodies::{Dimension, Polygon, Polyline, Pose, Shape, ShapeError};
use stiction_dynamics::families::Generator;

const PLANE: Dimension = Dimension::Plane;
const FAR: f64 = f64::INFINITY;

/// Poses per pair.
const POSES: usize = 100_000;

/// Worst error of a gap, as a share of the size.
const EXACT: f64 = 1e-12;

fn polygon(corners: &[[f64; 2]]) -> Shape {
    Shape::Polygon(Arc::new(Polygon::new(corners.iter().map(|&[x, y]| DVec3::new(x, y, 0.0)).collect()).unwrap()))
}

fn chain(points: &[[f64; 2]], is_closed: bool) -> Shape {
    let points = points.iter().map(|&[x, y]| DVec3::new(x, y, 0.0)).collect();
    Shape::Polyline(Arc::new(Polyline::new(points, is_closed).unwrap()))
}

fn rectangle(x: f64, y: f64) -> Shape {
    Shape::Cuboid { half_extents: DVec3::new(x, y, 1.0) }
}

/// Corners on an ellipse.
fn round(count: usize, x: f64, y: f64) -> Shape {
    let corner = |i: usize| TAU * (i as f64 + 0.3) / count as f64;
    polygon(&(0..count).map(|i| [x * corner(i).cos(), y * corner(i).sin()]).collect::<Vec<_>>())
}

/// A cup, open upwards, clockwise.
fn cup() -> Shape {
    let points =
        [[-0.5, 0.6], [-0.4, 0.6], [-0.3, -0.2], [0.25, -0.3], [0.4, 0.5], [0.5, 0.55], [0.45, -0.5], [-0.5, -0.4]];
    chain(&points, true)
}

fn touches(first: (&Shape, &Pose), second: (&Shape, &Pose), horizon: f64) -> Vec<Touch> {
    let mut found = Vec::new();
    collide(PLANE, first.0, first.1, second.0, second.1, horizon, &mut found);
    assert!(found.windows(2).all(|pair| pair[0].feature < pair[1].feature), "in ascending order: {found:?}");
    for touch in &found {
        let along = touch.normal.dot(touch.point_on_first - touch.point_on_second);
        assert!((along - touch.gap).abs() < 1e-14 && (touch.normal.length() - 1.0).abs() < 1e-14, "{touch:?}");
        assert!(touch.normal.z == 0.0 && touch.point.is_finite());
    }
    found
}

fn least(touches: &[Touch]) -> f64 {
    touches.iter().map(|touch| touch.gap).fold(FAR, f64::min)
}

/// Corners in the world, and the radius around them.
fn corners(shape: &Shape, pose: &Pose) -> (Vec<DVec2>, f64) {
    let (points, radius) = match shape {
        Shape::Sphere { radius } => (vec![DVec3::ZERO], *radius),
        Shape::Capsule { half_length: a, radius } => (vec![*a * DVec3::X, -*a * DVec3::X], *radius),
        Shape::Cuboid { half_extents: e } => (
            vec![
                DVec3::new(e.x, e.y, 0.0),
                DVec3::new(-e.x, e.y, 0.0),
                DVec3::new(-e.x, -e.y, 0.0),
                DVec3::new(e.x, -e.y, 0.0),
            ],
            0.0,
        ),
        Shape::Polygon(polygon) => (polygon.vertices().to_vec(), 0.0),
        Shape::Polyline(chain) => (chain.vertices().to_vec(), 0.0),
        _ => unreachable!(),
    };
    (points.into_iter().map(|x| pose.transform_point(x).truncate()).collect(), radius)
}

fn from_segment(x: DVec2, [a, b]: [DVec2; 2]) -> f64 {
    let d = b - a;
    let t = ((x - a).dot(d) / d.length_squared()).clamp(0.0, 1.0);
    if t > 0.0 && t < 1.0 { (x - a).perp_dot(d).abs() / d.length() } else { (x - a).length().min((x - b).length()) }
}

/// The convex hull, anticlockwise.
fn hull(mut points: Vec<DVec2>) -> Vec<DVec2> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let half = |points: &mut dyn Iterator<Item = DVec2>| {
        let mut half: Vec<DVec2> = Vec::new();
        for p in points {
            while let [.., a, b] = half[..]
                && (b - a).perp_dot(p - a) <= 0.0
            {
                half.pop();
            }
            half.push(p);
        }
        half.pop();
        half
    };
    let mut hull = half(&mut points.iter().copied());
    hull.extend(half(&mut points.iter().rev().copied()));
    hull
}

/// Distance of two convex bodies; overlapping, minus the least translation that parts them.
fn distance(first: (&Shape, &Pose), second: (&Shape, &Pose)) -> f64 {
    let [(a, r), (b, s)] = [corners(first.0, first.1), corners(second.0, second.1)];
    let differences = a.iter().flat_map(|x| b.iter().map(move |y| *x - *y)).collect();
    let hull = hull(differences);
    let sides = (0..hull.len()).map(|i| [hull[i], hull[(i + 1) % hull.len()]]);
    let heights = sides.clone().map(|[a, b]| a.perp_dot(b) / (b - a).length());
    let depth = heights.fold(FAR, f64::min);
    let outside = sides.map(|side| from_segment(DVec2::ZERO, side)).fold(FAR, f64::min);
    (if depth >= 0.0 { -depth } else { outside }) - (r + s)
}

/// Distance of a body from a closed chain; nothing when they overlap.
fn from_chain(body: (&Shape, &Pose), chain: (&Shape, &Pose)) -> Option<f64> {
    let ((a, r), (c, _)) = (corners(body.0, body.1), corners(chain.0, chain.1));
    let sides = |points: &[DVec2]| -> Vec<[DVec2; 2]> {
        (0..points.len()).map(|i| [points[i], points[(i + 1) % points.len()]]).collect()
    };
    let is_in = |x: DVec2, sides: &[[DVec2; 2]]| {
        let crossings = sides
            .iter()
            .filter(|[a, b]| (a.y > x.y) != (b.y > x.y) && x.x < a.x + (x.y - a.y) / (b.y - a.y) * (b.x - a.x));
        crossings.count() % 2 == 1
    };
    let (own, other) = (if a.len() > 1 { sides(&a) } else { Vec::new() }, sides(&c));
    let crosses = |[a, b]: [DVec2; 2], [c, d]: [DVec2; 2]| {
        let side = |a: DVec2, b: DVec2, x: DVec2| (b - a).perp_dot(x - a) > 0.0;
        side(a, b, c) != side(a, b, d) && side(c, d, a) != side(c, d, b)
    };
    if is_in(a[0], &other)
        || (a.len() > 2 && is_in(c[0], &own))
        || own.iter().any(|x| other.iter().any(|y| crosses(*x, *y)))
    {
        return None;
    }
    let from_corners = a.iter().flat_map(|x| other.iter().map(move |side| from_segment(*x, *side)));
    let from_own = c.iter().flat_map(|x| own.iter().map(move |side| from_segment(*x, *side)));
    Some(from_corners.chain(from_own).fold(FAR, f64::min) - r)
}

/// A pose of the first body against the second at the origin: anywhere near, or with two sides
/// parallel to rounding or nearly so, at a small distance.
fn pose(random: &mut Generator, first: &Shape, second: &Shape) -> Pose {
    let reach = first.bounding_radius() + second.bounding_radius();
    let anywhere = Pose::planar(random.uniform(-reach, reach), random.uniform(-reach, reach), random.uniform(-PI, PI));
    let [(a, r), (b, s)] = [corners(first, &anywhere), corners(second, &Pose::IDENTITY)];
    if a.len() < 2 || b.len() < 2 || random.chance(0.5) {
        return anywhere;
    }
    let (i, j) = (random.below(a.len()), random.below(b.len()));
    let [d, e] = [a[(i + 1) % a.len()] - a[i], b[(j + 1) % b.len()] - b[j]];
    let tilt = [0.0, 1e-12, 1e-9, 1e-6][random.below(4)];
    let turn = d.angle_to(-e) + tilt;
    let angle = 2.0 * anywhere.orientation.z.atan2(anywhere.orientation.w) + turn;
    let turned = Pose::planar(0.0, 0.0, angle);
    let start = corners(first, &turned).0[i];
    let outwards = DVec2::new(e.y, -e.x).normalize();
    let gap = [0.0, 1e-15, -1e-12, 1e-9, -1e-9, 1e-3, -1e-3][random.below(7)];
    let place = b[j] + random.uniform(-0.5, 1.5) * e + (gap + r + s) * outwards - start;
    Pose::planar(place.x, place.y, angle)
}

fn convex_pairs() -> Vec<[Shape; 2]> {
    let disc = Shape::Sphere { radius: 0.3 };
    let capsule = Shape::Capsule { half_length: 0.6, radius: 0.1 };
    let line = Shape::Capsule { half_length: 0.7, radius: 0.0 };
    let stone = || polygon(&[[0.5, 0.1], [0.2, 0.6], [-0.4, 0.4], [-0.5, -0.3], [0.1, -0.5]]);
    let sliver = || polygon(&[[-1.0, 0.0], [1.0, -0.01], [0.9, 0.02]]);
    vec![
        [rectangle(0.5, 0.4), rectangle(0.7, 0.2)],
        [disc.clone(), rectangle(0.5, 0.4)],
        [rectangle(0.5, 0.4), capsule.clone()],
        [stone(), stone()],
        [stone(), rectangle(0.3, 0.6)],
        [stone(), disc],
        [capsule, stone()],
        [line, rectangle(0.3, 0.6)],
        [sliver(), stone()],
        [sliver(), round(24, 0.5, 0.3)],
        [round(9, 1e-3, 1e-3), rectangle(1.0, 0.5)],
    ]
}

#[test]
fn gaps_of_convex_bodies_are_distances_and_least_translations() {
    for [first, second] in convex_pairs() {
        let mut random = Generator::new(3);
        let size = first.bounding_radius().max(second.bounding_radius());
        let (mut worst, mut overlaps, mut faces) = (0.0f64, 0, 0);
        for trial in 0..POSES {
            let place = pose(&mut random, &first, &second);
            let found = touches((&first, &place), (&second, &Pose::IDENTITY), FAR);
            let expected = distance((&first, &place), (&second, &Pose::IDENTITY));
            let error = (least(&found) - expected).abs();
            let pair = [first.name(PLANE), second.name(PLANE)];
            assert!(error <= EXACT * size, "{pair:?} {trial}: {expected} but {found:?}, {place:?}");
            worst = worst.max(error);
            overlaps += usize::from(expected < 0.0);
            faces += usize::from(found.len() == 2);
            assert!((1..=2).contains(&found.len()));
        }
        println!("{} and {}: worst {:.1e} of the size", first.name(PLANE), second.name(PLANE), worst / size);
        let has_faces = ![&first, &second].iter().any(|shape| matches!(shape, Shape::Sphere { .. }));
        assert!(overlaps > POSES / 20 && (!has_faces || faces > POSES / 10), "{overlaps} {faces}");
    }
}

#[test]
fn gaps_from_chains_are_distances_and_no_overlap_is_missed() {
    let bodies = [
        Shape::Sphere { radius: 0.1 },
        Shape::Capsule { half_length: 0.3, radius: 0.05 },
        rectangle(0.2, 0.1),
        rectangle(0.8, 0.02),
        round(7, 0.3, 0.2),
    ];
    let cup = cup();
    for body in bodies {
        let mut random = Generator::new(4);
        let (mut worst, mut overlaps) = (0.0f64, 0);
        for trial in 0..POSES {
            let place = pose(&mut random, &body, &cup);
            let found = touches((&body, &place), (&cup, &Pose::IDENTITY), FAR);
            match from_chain((&body, &place), (&cup, &Pose::IDENTITY)) {
                Some(expected) if expected > 1e-11 => {
                    let error = (least(&found) - expected).abs();
                    assert!(error <= EXACT, "{} {trial}: {expected} but {found:?}, {place:?}", body.name(PLANE));
                    worst = worst.max(error);
                }
                _ => {
                    overlaps += 1;
                    assert!(least(&found) <= 1e-11, "{} {trial}: missed {found:?}, {place:?}", body.name(PLANE));
                }
            }
        }
        println!("{} and chain: worst {worst:.1e}, {overlaps} overlaps", body.name(PLANE));
        assert!(overlaps > POSES / 20 && overlaps < POSES * 9 / 10);
    }
}

#[test]
fn a_swap_mirrors_and_a_turn_of_the_world_turns() {
    let mut pairs = convex_pairs();
    pairs.extend([[rectangle(0.2, 0.1), cup()], [Shape::Sphere { radius: 0.1 }, cup()], [round(7, 0.3, 0.2), cup()]]);
    for [first, second] in pairs {
        let mut random = Generator::new(5);
        for _ in 0..2000 {
            let reach = first.bounding_radius() + second.bounding_radius();
            let a = Pose::planar(random.uniform(-reach, reach), random.uniform(-reach, reach), random.uniform(-PI, PI));
            let b = Pose::planar(0.1, -0.2, 0.3);
            let found = touches((&first, &a), (&second, &b), 1.0);
            let mut swapped = touches((&second, &b), (&first, &a), 1.0);
            let mirrored = |touch: &Touch| FeaturePair::of(touch.feature).mirrored().code();
            swapped.sort_by_key(mirrored);
            assert_eq!(found.len(), swapped.len(), "{found:?} {swapped:?}");
            for (touch, other) in found.iter().zip(&swapped) {
                assert_eq!(touch.feature, mirrored(other));
                assert!((touch.gap - other.gap).abs() < 4e-15 && (touch.normal + other.normal).length() < 4e-15);
                assert!((touch.point_on_first - other.point_on_second).length() < 4e-15);
            }

            let world = Pose::planar(0.3, 0.7, random.uniform(-PI, PI));
            let turned = touches((&first, &world.compose(&a)), (&second, &world.compose(&b)), 1.0);
            assert_eq!(found.len(), turned.len(), "{found:?} {turned:?}");
            for (touch, other) in found.iter().zip(&turned) {
                assert_eq!(touch.feature, other.feature);
                assert!((touch.gap - other.gap).abs() < 1e-14);
                // The direction between two points has as many digits as their distance.
                let is_pointed = matches!(FeaturePair::of(touch.feature), FeaturePair::VertexVertex(..));
                let tolerance = if is_pointed { 1e-11 } else { 1e-14 };
                assert!((world.transform_vector(touch.normal) - other.normal).length() < tolerance);
            }

            // The same by their features.
            let features: Vec<u64> = found.iter().map(|touch| touch.feature).collect();
            let mut again = Vec::new();
            touches_of(PLANE, [(&first, &a), (&second, &b)], &features, &mut again);
            assert_eq!(again, found);
        }
    }
}

#[test]
fn features_stay_under_small_motions() {
    let slab = chain(&[[-1.0, -0.1], [-1.0, 0.1], [1.0, 0.1], [1.0, -0.1]], true);
    let flat = polygon(&[[0.2, -0.1], [0.3, 0.2], [-0.2, 0.2], [-0.3, -0.1]]);
    let pairs = [
        [rectangle(0.5, 0.1), rectangle(1.0, 0.1)],
        [rectangle(1.0, 0.1), rectangle(0.5, 0.1)],
        [flat.clone(), rectangle(1.0, 0.1)],
        [Shape::Capsule { half_length: 0.3, radius: 0.1 }, rectangle(1.0, 0.1)],
        [rectangle(0.5, 0.1), slab.clone()],
        [flat, slab.clone()],
        [Shape::Capsule { half_length: 0.3, radius: 0.1 }, slab],
    ];
    for [first, second] in pairs {
        for x in [0.0, 0.013, 0.77] {
            let place = |dx: f64, dy: f64, turn: f64| Pose::planar(x + dx, 0.2 + dy, turn);
            let ids = |place: Pose, horizon: f64| -> Vec<u64> {
                touches((&first, &place), (&second, &Pose::IDENTITY), horizon)
                    .iter()
                    .map(|touch| touch.feature)
                    .collect()
            };
            let at_rest = ids(place(0.0, 0.0, 0.0), 1e-5);
            assert_eq!(at_rest.len(), 2, "{} at {x}", first.name(PLANE));
            let mut random = Generator::new(6);
            for motion in [1e-15, 1e-12, 1e-9, 1e-6] {
                for _ in 0..200 {
                    let [dx, dy, turn] = [0; 3].map(|_| random.uniform(-motion, motion));
                    assert_eq!(ids(place(dx, dy, turn), 1e-5), at_rest, "{} at {x}", first.name(PLANE));
                }
            }
        }
    }
    // Two that end together, where rounding could choose between the corners of either.
    let brick = rectangle(0.5, 0.1);
    let mut random = Generator::new(7);
    for _ in 0..1000 {
        let [dx, dy, turn] = [0; 3].map(|_| random.uniform(-2e-13, 2e-13));
        let found = touches((&brick, &Pose::planar(dx, 0.2 + dy, turn)), (&brick, &Pose::IDENTITY), 1e-5);
        let ids: Vec<String> = found.iter().map(|touch| FeaturePair::of(touch.feature).to_string()).collect();
        assert_eq!(ids, ["v2-f0", "v3-f0"]);
    }
}

/// Both lie along their common segment; each end has its own gap.
#[test]
fn two_bricks_by_hand() {
    let brick = rectangle(0.5, 0.1);
    // Turned by a slope of 0.001 about its lower left corner at (-0.2, 0.1), with a gap of 1e-6.
    let angle = 1e-3f64;
    let centre = DVec2::new(-0.2, 0.100001) + DVec2::from_angle(angle).rotate(DVec2::new(0.5, 0.1));
    let found = touches((&brick, &Pose::planar(centre.x, centre.y, angle)), (&brick, &Pose::IDENTITY), 1e-2);
    let ids: Vec<String> = found.iter().map(|touch| FeaturePair::of(touch.feature).to_string()).collect();
    assert_eq!(ids, ["v2-f0", "f2-v0"]);
    assert!((found[0].gap - 1e-6).abs() < 1e-16 && found[0].normal == DVec3::Y);
    // The corner (0.5, 0.1) below the lower side through (-0.2, 0.100001).
    let expected = 1e-6 * angle.cos() + 0.7 * angle.sin();
    assert!((found[1].gap - expected).abs() < 1e-16, "{} {expected}", found[1].gap);
    assert!((found[1].normal - DVec3::new(-angle.sin(), angle.cos(), 0.0)).length() < 1e-15);
}

#[test]
fn a_clearance_of_a_nanometre_is_one() {
    let peg = rectangle(0.01, 0.03);
    let wall = rectangle(0.02, 0.05);
    for place in [0.03 + 1e-9, -0.03 - 1e-9] {
        let found = touches((&peg, &Pose::planar(0.0, 0.004, 0.0)), (&wall, &Pose::planar(place, 0.0, 0.0)), 1e-6);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|touch| (touch.gap - 1e-9).abs() < 1e-15), "{found:?}");
    }
    let slot = chain(
        &[[-0.1, 0.0], [-0.01 - 1e-9, 0.0], [-0.01 - 1e-9, -0.1], [0.01 + 1e-9, -0.1], [0.01 + 1e-9, 0.0], [0.1, 0.0]],
        false,
    );
    let found = touches((&peg, &Pose::planar(0.0, -0.02, 0.0)), (&slot, &Pose::IDENTITY), 1e-6);
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|touch| (touch.gap - 1e-9).abs() < 1e-15), "{found:?}");
}

#[test]
fn a_divided_side_acts_as_a_whole_one() {
    let whole = chain(&[[-1.0, -0.2], [1.0, 0.3], [2.0, 1.5]], false);
    let between = |i: usize, n: usize| [-1.0 + 2.0 * i as f64 / n as f64, -0.2 + 0.5 * i as f64 / n as f64];
    let mut points: Vec<[f64; 2]> = (0..7).map(|i| between(i, 7)).collect();
    points.extend([[1.0, 0.3], [2.0, 1.5]]);
    let divided = chain(&points, false);
    let mut random = Generator::new(8);
    for body in [Shape::Sphere { radius: 0.1 }, rectangle(0.2, 0.1), round(5, 0.2, 0.1)] {
        for trial in 0..3000 {
            // Above inner points of the line as well.
            let foot = if trial % 3 == 0 { between(trial % 7, 7) } else { [random.uniform(-1.0, 2.0), 0.0] };
            let pose = Pose::planar(foot[0], foot[1] + random.uniform(-0.05, 0.3), random.uniform(-PI, PI));
            let [a, b] = [&whole, &divided].map(|chain| touches((&body, &pose), (chain, &Pose::IDENTITY), 0.2));
            assert_eq!(a, b);
        }
    }
}

#[test]
fn chains_have_contacts_in_their_normal_cones_alone() {
    // A valley at x = 0 and a peak at x = 2, slopes of one half.
    let chain = chain(&[[-2.0, 1.0], [0.0, 0.0], [2.0, 1.0], [4.0, 0.0]], false);
    let disc = Shape::Sphere { radius: 0.2 };
    let at = |x: f64, y: f64| touches((&disc, &Pose::planar(x, y, 0.0)), (&chain, &Pose::IDENTITY), 0.05);
    let slope = 1.25f64.sqrt();
    // In the valley both slopes, with the centre 0.2 √1.25 above the corner.
    let found = at(0.0, 0.2 * slope);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|touch| touch.gap.abs() < 1e-16 && (touch.normal.y - 1.0 / slope).abs() < 1e-15));
    // On the peak the corner alone, also a little beside it; beyond, the slope alone.
    for x in [2.0, 1.95, 2.08] {
        let found = at(x, 1.19);
        let ids: Vec<String> = found.iter().map(|touch| FeaturePair::of(touch.feature).to_string()).collect();
        assert_eq!(ids, ["v0-v2"], "{x}");
        assert!((found[0].gap - ((x - 2.0).hypot(0.19) - 0.2)).abs() < 1e-15);
    }
    assert_eq!(FeaturePair::of(at(2.3, 1.05)[0].feature), FeaturePair::VertexFace(0, 2));
    // Below, it is pushed out where it is; below the valley by both slopes.
    assert_eq!(FeaturePair::of(at(1.0, 0.3)[0].feature), FeaturePair::VertexFace(0, 1));
    let found = at(0.0, -0.1);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|touch| (touch.gap + 0.1 / slope + 0.2).abs() < 1e-15), "{found:?}");
    // Beside and below the end there is nothing.
    assert!(at(-2.7, 0.5).is_empty() && at(4.2, -1.0).is_empty());
    // A box across the valley stands on a corner at each slope; on the peak, on its side.
    let bar = rectangle(0.3, 0.05);
    let found = touches((&bar, &Pose::planar(0.0, 0.2, 0.0)), (&chain, &Pose::IDENTITY), 1e-6);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|touch| touch.gap.abs() < 1e-15 && (touch.normal.y - 1.0 / slope).abs() < 1e-15));
    let found = touches((&bar, &Pose::planar(2.1, 1.05, 0.0)), (&chain, &Pose::IDENTITY), 1e-6);
    assert_eq!(found.len(), 1);
    assert_eq!((FeaturePair::of(found[0].feature), found[0].normal), (FeaturePair::FaceVertex(2, 2), DVec3::Y));
}

#[test]
fn what_is_refused() {
    let ellipse = Shape::Ellipsoid { semi_axes: DVec3::ONE };
    for other in [rectangle(1.0, 1.0), round(5, 1.0, 1.0), cup()] {
        assert!(!is_supported(PLANE, &ellipse, &other) && !is_supported(PLANE, &other, &ellipse));
    }
    assert!(!is_supported(PLANE, &cup(), &cup()));
    let square = round(4, 1.0, 1.0);
    assert!(matches!(square.check(Dimension::Space), Err(ShapeError::PlaneOnly { .. })));
}

/// Far from the origin nothing is lost but the digits of the positions.
#[test]
fn far_from_the_origin() {
    let (stone, slab) = (round(5, 0.3, 0.2), rectangle(1.0, 0.1));
    let mut random = Generator::new(9);
    for _ in 0..1000 {
        // Multiples of 2^-20, so that sums with 2^20 are exact.
        let grid = |x: f64| (x * 1_048_576.0).round() / 1_048_576.0;
        let (x, y, angle) = (grid(random.uniform(-1.0, 1.0)), grid(random.uniform(-0.5, 0.5)), random.uniform(-PI, PI));
        let near = touches((&stone, &Pose::planar(x, y, angle)), (&slab, &Pose::IDENTITY), FAR);
        let far = Pose::planar(x + 1_048_576.0, y - 1_048_576.0, angle);
        let mut found = Vec::new();
        collide(PLANE, &stone, &far, &slab, &Pose::planar(1_048_576.0, -1_048_576.0, 0.0), FAR, &mut found);
        assert!(near.iter().zip(&found).all(|(a, b)| a.gap == b.gap && a.feature == b.feature), "{near:?} {found:?}");
    }
}

//! Round shapes in space against boxes, hulls and each other: gaps against an independent distance,
//! in tens of thousands of poses.
//!
//! The independent distance knows no features. A segment is minimised over by golden section, as
//! the distance from a convex body is convex along it, and the distance of a point comes from a
//! clamp or from a formula of the meridian. Overlap is measured by the best of all directions that
//! can be normals of the difference of the two bodies, each with the extent of both along it.

use stiction_bodies::collide::{FeaturePair, Touch, collide, touches_of};
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{Dimension, Pose, Shape};
use stiction_dynamics::families::Generator;

const FAR: f64 = f64::INFINITY;

fn touches(first: (&Shape, &Pose), second: (&Shape, &Pose), horizon: f64) -> Vec<Touch> {
    let mut out = Vec::new();
    collide(Dimension::Space, first.0, first.1, second.0, second.1, horizon, &mut out);
    out
}

fn least_gap(touches: &[Touch]) -> f64 {
    touches.iter().map(|touch| touch.gap).fold(FAR, f64::min)
}

fn vector(random: &mut Generator, size: f64) -> DVec3 {
    DVec3::from_array([0; 3].map(|_| random.uniform(-size, size)))
}

/// Any orientation; every fourth one along the axes to within a small angle, for what is parallel.
fn orientation(random: &mut Generator, trial: usize) -> DQuat {
    let quarter = |random: &mut Generator| (random.uniform(0.0, 4.0).floor()) * std::f64::consts::FRAC_PI_2;
    if trial % 4 != 0 {
        return DQuat::from_scaled_axis(vector(random, 3.0));
    }
    let small = 10f64.powf(random.uniform(-16.0, -1.0));
    let aligned = DQuat::from_rotation_z(quarter(random)) * DQuat::from_rotation_y(quarter(random));
    DQuat::from_scaled_axis(vector(random, small)) * aligned
}

/// Least value of a convex function between two places: golden section down to rounding.
fn least(f: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (from, to);
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    let mut best = f(from).min(f(to));
    for _ in 0..80 {
        best = best.min(fa).min(fb);
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - ratio * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + ratio * (high - low);
            fb = f(b);
        }
    }
    best
}

/// Distance of a point from a box, by a clamp.
fn box_distance(half: DVec3, x: DVec3) -> f64 {
    (x - x.clamp(-half, half)).length()
}

/// Minus the least translation that takes a segment out of a box: the best of all directions that
/// can separate them, each by the extent of both.
fn box_separation(half: DVec3, [p, q]: [DVec3; 2]) -> f64 {
    let along = q - p;
    let crossed = DVec3::AXES.map(|axis| axis.cross(along)).into_iter().filter(|n| n.length() > 1e-9 * along.length());
    let directions = DVec3::AXES.into_iter().chain(crossed.map(DVec3::normalize));
    let ways = directions.flat_map(|n| [n, -n]).map(|n| n.dot(p).min(n.dot(q)) - half.dot(n.abs()));
    ways.fold(f64::NEG_INFINITY, f64::max)
}

/// Signed distance of a segment, which may be a point, from a box around the origin.
fn segment_box(half: DVec3, ends: [DVec3; 2]) -> f64 {
    let separation = box_separation(half, ends);
    if separation <= 0.0 {
        return separation;
    }
    least(|s| box_distance(half, ends[0].lerp(ends[1], s)), 0.0, 1.0)
}

/// The two ends of what is around a sphere or capsule, in the coordinates of another shape, and its
/// radius.
fn core(shape: &Shape, pose: &Pose, other: &Pose) -> ([DVec3; 2], f64) {
    let (half_length, radius) = match *shape {
        Shape::Sphere { radius } => (0.0, radius),
        Shape::Capsule { half_length, radius } => (half_length, radius),
        _ => panic!("{shape:?} is not round"),
    };
    let end = |side: f64| other.inverse_transform_point(pose.transform_point(side * half_length * DVec3::X));
    ([end(1.0), end(-1.0)], radius)
}

/// What holds of the touches of every pair, whatever it is: units, consistency, order, swap, held
/// features, horizon.
#[track_caller]
fn check_touches(first: (&Shape, &Pose), second: (&Shape, &Pose), found: &[Touch], size: f64) {
    let context = || format!("{first:?} and {second:?}: {found:?}");
    assert!(found.is_sorted_by(|a, b| a.feature < b.feature), "{}", context());
    for touch in found {
        assert!((touch.normal.length() - 1.0).abs() < 4e-15, "{}", context());
        let apart = touch.point_on_first - touch.point_on_second - touch.gap * touch.normal;
        assert!(apart.length() <= 1e-12 * size, "{apart} {}", context());
    }
    let swapped = touches(second, first, FAR);
    assert_eq!(swapped.len(), found.len(), "{}", context());
    for touch in found {
        let feature = FeaturePair::of(touch.feature).mirrored().code();
        let other = swapped.iter().find(|other| other.feature == feature).unwrap();
        assert!((touch.gap - other.gap).abs() <= 1e-15 * size && (touch.normal + other.normal).length() < 1e-15);
    }
    let features: Vec<u64> = found.iter().map(|touch| touch.feature).collect();
    let mut held = Vec::new();
    touches_of(Dimension::Space, [first, second], &features, &mut held);
    assert_eq!(held, found, "{}", context());
    if let Some(middle) = found.get(found.len() / 2) {
        let near = touches(first, second, middle.gap);
        let expected: Vec<Touch> = found.iter().filter(|touch| touch.gap <= middle.gap).copied().collect();
        assert_eq!(near, expected, "{}", context());
    }
}

#[test]
fn spheres_and_capsules_on_boxes_have_the_exact_gap() {
    let mut random = Generator::new(18);
    let mut overlaps = [0; 2];
    for trial in 0..60_000 {
        let half = DVec3::from_array([0; 3].map(|_| 10f64.powf(random.uniform(-1.0, 0.5))));
        let radius = if trial % 7 == 0 { 0.0 } else { 10f64.powf(random.uniform(-3.0, 0.5)) };
        let round = if trial % 3 == 0 {
            Shape::Sphere { radius }
        } else {
            Shape::Capsule { half_length: 10f64.powf(random.uniform(-2.0, 1.0)), radius }
        };
        let cuboid = Shape::Cuboid { half_extents: half };
        let spread = if trial % 2 == 0 { 1.0 } else { 3.0 };
        let pose = Pose::new(vector(&mut random, 3.0), orientation(&mut random, trial + 1));
        let place = pose.transform_point(vector(&mut random, spread) * half);
        let own = Pose::new(place, pose.orientation * orientation(&mut random, trial));
        let (ends, _) = core(&round, &own, &pose);
        let expected = segment_box(half, ends) - radius;
        let found = touches((&round, &own), (&cuboid, &pose), FAR);
        let size = half.length().max(round.bounding_radius()) + 3.0;
        let error = least_gap(&found) - expected;
        assert!(
            error.abs() <= 1e-12 * size,
            "trial {trial}: {error:e}, {round:?} {own:?} {cuboid:?} {pose:?} {found:?}"
        );
        check_touches((&round, &own), (&cuboid, &pose), &found, size);
        overlaps[usize::from(expected < -radius)] += usize::from(expected < 0.0);
    }
    assert!(overlaps.iter().all(|count| *count > 3000), "{overlaps:?}");
}

/// The meridian of a cylinder or cone: half the length, and the radii at +x and -x.
fn meridian(shape: &Shape) -> (f64, [f64; 2]) {
    match *shape {
        Shape::Cylinder { radius, half_length } => (half_length, [radius; 2]),
        Shape::Cone { radius, half_height } => (half_height, [0.0, radius]),
        _ => panic!("{shape:?} is not turned"),
    }
}

/// Signed distance of a point from a cylinder or cone, as that from a polygon in the half-plane.
fn turned_distance(shape: &Shape, x: DVec3) -> f64 {
    let (half, [near, far]) = meridian(shape);
    let (a, r) = (x.x, x.y.hypot(x.z));
    let corners = [(-half, 0.0), (-half, far), (half, near), (half, 0.0)];
    let mut outside = f64::INFINITY;
    let mut inside = f64::NEG_INFINITY;
    for pair in corners.windows(2) {
        let [(a0, r0), (a1, r1)] = [pair[0], pair[1]];
        let (da, dr) = (a1 - a0, r1 - r0);
        let length = da.hypot(dr);
        if length == 0.0 {
            continue;
        }
        let s = (((a - a0) * da + (r - r0) * dr) / (length * length)).clamp(0.0, 1.0);
        outside = outside.min((a - a0 - s * da).hypot(r - r0 - s * dr));
        inside = inside.max(((r - r0) * da - (a - a0) * dr) / length);
    }
    if inside <= 0.0 { inside } else { outside }
}

fn turned(random: &mut Generator, is_cone: bool) -> Shape {
    let [radius, half_length] = [0; 2].map(|_| 10f64.powf(random.uniform(-1.0, 0.5)));
    if is_cone { Shape::Cone { radius, half_height: half_length } } else { Shape::Cylinder { radius, half_length } }
}

#[test]
fn spheres_and_capsules_on_cylinders_and_cones_have_the_exact_gap() {
    let mut random = Generator::new(19);
    let (mut overlaps, mut deep) = (0, 0);
    for trial in 0..60_000 {
        let solid = turned(&mut random, trial % 5 > 2);
        let (half, radii) = meridian(&solid);
        let extent = DVec3::new(half, radii[1], radii[1]);
        let radius = 10f64.powf(random.uniform(-3.0, 0.5));
        let round = if trial % 3 == 0 {
            Shape::Sphere { radius }
        } else {
            Shape::Capsule { half_length: 10f64.powf(random.uniform(-2.0, 1.0)), radius }
        };
        let spread = if trial % 2 == 0 { 1.0 } else { 3.0 };
        let pose = Pose::new(vector(&mut random, 3.0), orientation(&mut random, trial + 1));
        let place = pose.transform_point(vector(&mut random, spread) * extent);
        let own = Pose::new(place, pose.orientation * orientation(&mut random, trial));
        let (ends, _) = core(&round, &own, &pose);
        let is_point = matches!(round, Shape::Sphere { .. });
        let distance = if is_point {
            turned_distance(&solid, ends[0])
        } else {
            least(|s| turned_distance(&solid, ends[0].lerp(ends[1], s)).max(0.0), 0.0, 1.0)
        };
        let found = touches((&round, &own), (&solid, &pose), FAR);
        let size = solid.bounding_radius().max(round.bounding_radius()) + 3.0;
        let context = || format!("trial {trial}: {distance:e}, {round:?} {own:?} {solid:?} {pose:?} {found:?}");
        if is_point || distance > 0.0 {
            let error = least_gap(&found) - (distance - radius);
            assert!(error.abs() <= 1e-12 * size, "{error:e} {}", context());
        } else {
            deep += 1;
            assert!(least_gap(&found) <= -radius, "{}", context());
        }
        check_touches((&round, &own), (&solid, &pose), &found, size);
        overlaps += usize::from(distance < radius);
    }
    assert!(overlaps > 20_000 && deep > 5_000, "{overlaps} {deep}");
}

#[test]
fn cylinders_and_cones_on_a_half_space_have_the_exact_gap() {
    let mut random = Generator::new(20);
    let mut flat = 0;
    for trial in 0..30_000 {
        let solid = turned(&mut random, trial % 5 > 2);
        let normal = vector(&mut random, 1.0).normalize();
        let plane = Shape::HalfSpace { normal, offset: random.uniform(-1.0, 1.0) };
        let ground = Pose::new(vector(&mut random, 3.0), orientation(&mut random, trial + 1));
        let upright = DQuat::from_rotation_arc(DVec3::X, ground.transform_vector(normal));
        let turn = DQuat::from_axis_angle(DVec3::X, random.uniform(-3.0, 3.0));
        let pose = Pose::new(vector(&mut random, 3.0), upright * orientation(&mut random, trial) * turn);
        let (half, radii) = meridian(&solid);
        let Shape::HalfSpace { offset, .. } = plane else { unreachable!() };
        let up = pose.inverse_transform_vector(ground.transform_vector(normal));
        let to_plane = ground.transform_vector(normal).dot(pose.position - ground.position) - offset;
        let across = up.y.hypot(up.z);
        let expected = to_plane + (half * up.x - radii[0] * across).min(-half * up.x - radii[1] * across);
        let found = touches((&solid, &pose), (&plane, &ground), FAR);
        let error = least_gap(&found) - expected;
        assert!(error.abs() <= 1e-12 * (solid.bounding_radius() + 6.0), "trial {trial}: {error:e} {solid:?} {found:?}");
        check_touches((&solid, &pose), (&plane, &ground), &found, solid.bounding_radius() + 6.0);
        flat += usize::from(found.len() >= 16);
    }
    assert!(flat > 1000, "{flat}");
}

//! Round shapes in space against boxes, hulls and each other: gaps against an independent distance,
//! in tens of thousands of poses.
//!
//! The independent distance knows no features. A segment is minimised over by golden section, as
//! the distance from a convex body is convex along it, and the distance of a point comes from a
//! clamp or from a formula of the meridian. Overlap is measured by the best of all directions that
//! can be normals of the difference of the two bodies, each with the extent of both along it.

#[path = "common/model.rs"]
mod common;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
use std::sync::Arc;

use stiction_bodies::collide::{FeaturePair, Touch, collide, touches_of};
use stiction_bodies::glamx::{DMat3, DQuat, DVec3};
use stiction_bodies::{Body, BodyKind, BodyShape, Dimension, Multibody, PlacedShape, Polytope, Pose, Shape};
use stiction_dynamics::families::Generator;
use stiction_dynamics::{
    ContactMethod, ContactSolver, Simulation, State, StewartTrinkle, StewartTrinkleSettings, TimeGrid,
};

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
    if !trial.is_multiple_of(4) {
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
        if trial % 8 == 0 {
            // The same box as a hull of its corners, turned in its own coordinates.
            let turn = orientation(&mut random, 1);
            let hull = hull_of_box(half, turn);
            let turned = Pose::new(pose.position, pose.orientation * turn.conjugate());
            let found = touches((&round, &own), (&hull, &turned), FAR);
            let error = least_gap(&found) - expected;
            assert!(
                error.abs() <= 1e-12 * size,
                "trial {trial}: {error:e}, {round:?} {own:?} {hull:?} {turned:?} {found:?}"
            );
            check_touches((&round, &own), (&hull, &turned), &found, size);
        }
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

fn hull_of_box(half: DVec3, turn: DQuat) -> Shape {
    let side = |corner: usize, axis: usize| if corner >> axis & 1 == 0 { 1.0 } else { -1.0 };
    let corners: Vec<DVec3> = (0..8).map(|i| turn * (half * DVec3::new(side(i, 0), side(i, 1), side(i, 2)))).collect();
    Shape::Polytope(Arc::new(Polytope::hull(&corners).unwrap()))
}

/// Distance of a box from a cylinder or cone: the least over the edges of the box of the distance
/// from the solid, and over the rims of the solid of the distance from the box. Zero in overlap.
fn box_turned(half: DVec3, solid: &Shape, box_pose: &Pose, pose: &Pose) -> f64 {
    let side = |bit: usize, axis: usize| if bit >> axis & 1 == 0 { 1.0 } else { -1.0 };
    let mut best = FAR;
    for corner in 0..8 {
        for axis in (0..3).filter(|axis| corner >> axis & 1 == 0) {
            let x = half * DVec3::new(side(corner, 0), side(corner, 1), side(corner, 2));
            let ends = [x, x - 2.0 * half * DVec3::AXES[axis]];
            let ends = ends.map(|x| pose.inverse_transform_point(box_pose.transform_point(x)));
            best = best.min(least(|s| turned_distance(solid, ends[0].lerp(ends[1], s)).max(0.0), 0.0, 1.0));
        }
    }
    let (length, radii) = meridian(solid);
    for (x, radius) in [(length, radii[0]), (-length, radii[1])] {
        let distance = |angle: f64| {
            let point = DVec3::new(x, radius * angle.cos(), radius * angle.sin());
            box_distance(half, box_pose.inverse_transform_point(pose.transform_point(point)))
        };
        let step = std::f64::consts::TAU / 96.0;
        for k in 0..96 {
            let angle = k as f64 * step;
            // A minimum lies about the least of three neighbours.
            if distance(angle) <= distance(angle - step).min(distance(angle + step)) {
                best = best.min(least(distance, angle - step, angle + step));
            }
        }
    }
    // What is inside of the other, or passes through a face, has no edge and no rim near.
    let axis = [1.0, -1.0].map(|s| box_pose.inverse_transform_point(pose.transform_point(s * length * DVec3::X)));
    let is_inside = turned_distance(solid, pose.inverse_transform_point(box_pose.position)) <= 0.0;
    if is_inside || box_separation(half, axis) <= 0.0 { 0.0 } else { best }
}

#[test]
fn boxes_on_cylinders_and_cones_have_the_exact_gap() {
    let mut random = Generator::new(21);
    let (mut apart, mut overlaps, mut sharp) = (0, 0, 0);
    for trial in 0..20_000 {
        let solid = turned(&mut random, trial % 5 > 2);
        let half = DVec3::from_array([0; 3].map(|_| 10f64.powf(random.uniform(-1.0, 0.5))));
        let cuboid = Shape::Cuboid { half_extents: half };
        let pose = Pose::new(vector(&mut random, 3.0), orientation(&mut random, trial + 1));
        let reach = 1.5 * (half.length() + solid.bounding_radius());
        let mut own = Pose::new(pose.position, pose.orientation * orientation(&mut random, trial));
        own.position += random.uniform(0.1, 1.0) * reach * vector(&mut random, 1.0).normalize();
        let distance = box_turned(half, &solid, &own, &pose);
        let found = touches((&cuboid, &own), (&solid, &pose), FAR);
        let size = half.length().max(solid.bounding_radius());
        let context = || format!("trial {trial}: {distance:e}, {own:?} {cuboid:?} {solid:?} {pose:?} {found:#?}");
        check_touches((&cuboid, &own), (&solid, &pose), &found, size + 3.0);
        if distance < 1e-6 * size {
            overlaps += 1;
            assert!(distance > 0.0 || least_gap(&found) < 0.0, "{}", context());
            continue;
        }
        apart += 1;
        let error = least_gap(&found) - distance;
        assert!(error.abs() <= 1e-12 * (size + 3.0), "{error:e} {}", context());
        // Brought together along the normal, and by a billionth further.
        let touch = found.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).unwrap();
        let nearer = Pose::new(own.position - (distance + 1e-9 * size) * touch.normal, own.orientation);
        let found = touches((&cuboid, &nearer), (&solid, &pose), FAR);
        // What touches with a corner, or with an edge along a rim, may slip off beside it by a shorter
        // way. Most do not.
        let error = least_gap(&found) + 1e-9 * size;
        let is_sharp = error > 2e-12 * (size + 3.0);
        assert!(error >= -2e-12 * (size + 3.0) && least_gap(&found) < 0.0, "{error:e} {} {found:#?}", context());
        sharp += usize::from(is_sharp);
    }
    assert!(apart > 7_000 && overlaps > 2_500 && 3 * sharp < apart, "{apart} {overlaps} {sharp}");
}

/// Everything turned and moved together: the same contacts in the same order.
#[test]
fn a_turned_world_has_the_same_contacts() {
    let mut random = Generator::new(22);
    for trial in 0..4000 {
        let [first, second] = match trial % 4 {
            0 => [
                Shape::Capsule { half_length: 0.7, radius: 0.2 },
                Shape::Cuboid { half_extents: DVec3::new(0.5, 0.3, 0.8) },
            ],
            1 => [Shape::Capsule { half_length: 0.7, radius: 0.2 }, turned(&mut random, trial % 8 < 4)],
            2 => [hull_of_box(DVec3::new(0.4, 0.3, 0.2), DQuat::IDENTITY), turned(&mut random, trial % 8 < 4)],
            _ => [turned(&mut random, trial % 8 < 4), Shape::HalfSpace { normal: DVec3::Z, offset: 0.1 }],
        };
        let poses = [0; 2].map(|_| Pose::new(vector(&mut random, 1.5), orientation(&mut random, 1)));
        let world = Pose::new(vector(&mut random, 2.0), orientation(&mut random, 1));
        let moved = poses.map(|pose| world.compose(&pose));
        let here = touches((&first, &poses[0]), (&second, &poses[1]), FAR);
        let there = touches((&first, &moved[0]), (&second, &moved[1]), FAR);
        let features = |touches: &[Touch]| touches.iter().map(|touch| touch.feature).collect::<Vec<_>>();
        assert_eq!(features(&here), features(&there), "trial {trial}");
        for (a, b) in here.iter().zip(&there) {
            assert!((a.gap - b.gap).abs() < 1e-13, "trial {trial}: {a:?} {b:?}");
            let turned = world.transform_vector(a.normal) - b.normal;
            assert!(turned.length() < 1e-9, "trial {trial}: {a:?} {b:?}");
        }
    }
}

/// The least gap and the features of what is nearer than this.
fn near(first: (&Shape, &Pose), second: (&Shape, &Pose), horizon: f64) -> (Vec<String>, f64) {
    let found = touches(first, second, horizon);
    (found.iter().map(|touch| FeaturePair::of(touch.feature).to_string()).collect(), least_gap(&found))
}

#[test]
fn a_capsule_that_lies_has_two_contacts() {
    let capsule = Shape::Capsule { half_length: 1.0, radius: 0.25 };
    let cuboid = Shape::Cuboid { half_extents: DVec3::new(2.0, 0.5, 0.5) };
    let at = |x: f64, y: f64, z: f64, yaw: f64| Pose::new(DVec3::new(x, y, z), DQuat::from_rotation_z(yaw));
    // On a face: both ends above it. Across the face: on its two long edges. Over one border: an end
    // and the edge there. The features stay under rounding.
    for noise in [0.0, 1e-15, -1e-15, 1e-9, -1e-9] {
        let place = |x, y, yaw| Pose::new(DVec3::new(x, y, 0.75 + noise), DQuat::from_rotation_z(yaw + noise));
        let horizon = 1e-6;
        let cases = [
            (place(0.0, 0.0, 0.0), ["v0-f4", "v1-f4"]),
            (place(0.0, 0.0, FRAC_PI_2), ["e0-e2", "e0-e0"]),
            (place(1.5, 0.0, 0.0), ["v1-f4", "e0-e4"]),
        ];
        for (pose, expected) in cases {
            let (features, gap) = near((&capsule, &pose), (&cuboid, &Pose::IDENTITY), horizon);
            assert_eq!(features.len(), 2, "{features:?}");
            assert!((gap - noise).abs() < 1e-15, "{gap:e} {noise:e}");
            let kinds = |names: &[&str]| {
                names.iter().map(|name| name.split('-').next().unwrap().to_owned()).collect::<Vec<_>>()
            };
            let found: Vec<&str> = features.iter().map(String::as_str).collect();
            assert_eq!(kinds(&found), kinds(&expected), "{features:?}");
        }
    }
    // Along an edge, seen along the diagonal of the cube: both ends, or an end and a corner.
    let turned = Pose::new(DVec3::ZERO, DQuat::from_rotation_x(FRAC_PI_4));
    let height = 0.5f64.sqrt() + 0.25;
    for (x, expected) in [(0.0, ["v0-e", "v1-e"]), (1.5, ["v1-e", "e0-v"])] {
        let found = touches((&capsule, &at(x, 0.0, height, 0.0)), (&cuboid, &turned), 1e-6);
        assert_eq!(found.len(), 2, "{found:?}");
        for (touch, kind) in found.iter().zip(expected) {
            assert!(FeaturePair::of(touch.feature).to_string().starts_with(kind), "{found:?}");
            assert!(touch.gap.abs() < 1e-15 && (touch.normal - DVec3::Z).length() < 1e-14, "{touch:?}");
        }
    }
    // On a cylinder, along it and across its disc.
    let cylinder = Shape::Cylinder { radius: 0.5, half_length: 2.0 };
    let (features, gap) = near((&capsule, &at(0.0, 0.0, 0.75, 0.0)), (&cylinder, &Pose::IDENTITY), 1e-6);
    assert_eq!((features, gap), (vec!["v0-f2".to_owned(), "v1-f2".to_owned()], 0.0));
    let upright = Pose::new(DVec3::ZERO, DQuat::from_rotation_y(-FRAC_PI_2));
    let found = touches((&capsule, &at(0.0, 0.0, 2.25, 0.0)), (&cylinder, &upright), 1e-6);
    assert_eq!(found.len(), 2, "{found:?}");
    for touch in &found {
        assert!(touch.gap.abs() < 1e-15 && (touch.normal - DVec3::Z).length() < 1e-14, "{touch:?}");
        assert!((touch.point.x.abs() - 0.5).abs() < 1e-15, "{touch:?}");
    }
}

#[test]
fn a_cylinder_stands_and_lies_on_a_box_as_on_a_half_space() {
    let cylinder = Shape::Cylinder { radius: 0.5, half_length: 1.0 };
    let slab = Shape::Cuboid { half_extents: DVec3::new(2.0, 2.0, 0.5) };
    let plane = Shape::HalfSpace { normal: DVec3::Z, offset: 0.5 };
    let standing = Pose::new(DVec3::new(0.3, 0.2, 1.5), DQuat::from_rotation_y(-FRAC_PI_2));
    let lying = Pose::new(DVec3::new(0.3, 0.2, 1.0), DQuat::from_rotation_z(0.4));
    for (pose, count) in [(standing, 16), (lying, 2)] {
        let on_box = touches((&cylinder, &pose), (&slab, &Pose::IDENTITY), 1e-9);
        let on_plane = touches((&cylinder, &pose), (&plane, &Pose::IDENTITY), 1e-9);
        assert_eq!((on_box.len(), on_plane.len()), (count, count), "{on_box:?} {on_plane:?}");
        for a in &on_plane {
            let near = |b: &&Touch| (a.point - b.point).length() < 1e-14 && (a.normal - b.normal).length() < 1e-14;
            assert!(on_box.iter().any(|b| near(&b)) && a.gap.abs() < 1e-15, "{a:?} {on_box:?}");
        }
    }
    // Half over the border: the edge carries where it passes the rim.
    let overhanging = Pose::new(DVec3::new(2.0, 0.2, 1.5), standing.orientation);
    let found = touches((&cylinder, &overhanging), (&slab, &Pose::IDENTITY), 1e-9);
    let at_border = found.iter().filter(|touch| (touch.point.x - 2.0).abs() < 1e-12);
    let mut places: Vec<f64> = at_border.map(|touch| touch.point.y).collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() < 1e-12);
    assert!(places.len() == 2 && (places[0] + 0.3).abs() < 1e-12 && (places[1] - 0.7).abs() < 1e-12, "{places:?}");
}

/// A coin of radius 0.5 and thickness 0.1 on the ground after a second, in steps of 0.01 s.
fn coin_after_a_second((ground, place): (Shape, Pose), pose: Pose, velocity: DVec3, spin: DVec3) -> State {
    let coin = Shape::Cylinder { radius: 0.5, half_length: 0.05 };
    let body = |name: &str, kind: BodyKind, shape: Shape, pose: Pose| Body {
        name: name.into(),
        kind,
        pose,
        turns: 0,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        shapes: vec![BodyShape { placed: PlacedShape::centred(shape), material: 0 }],
        group: 0,
    };
    let inertia = DMat3::from_diagonal(DVec3::new(0.125, 0.0634, 0.0634));
    let mut coin = body("coin", BodyKind::Rigid { mass: 1.0, inertia }, coin, pose);
    (coin.velocity, coin.angular_velocity) = (velocity, spin);
    let model = common::model(Dimension::Space, vec![coin, body("ground", BodyKind::Static, ground, place)]);
    let system = Multibody::new(model).unwrap();
    let start = system.start(0.0);
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let scheme = StewartTrinkle::new(StewartTrinkleSettings::default(), solver);
    let grid = TimeGrid { start: 0.0, end: 1.0, step: 0.01 };
    let mut simulation = Simulation::new(Box::new(system), Box::new(scheme), start, grid);
    simulation.run_with(|_| {}).unwrap();
    simulation.state().clone()
}

#[test]
fn a_coin_rests_and_rolls() {
    let plane = Shape::HalfSpace { normal: DVec3::Z, offset: 0.0 };
    let slab = Shape::Cuboid { half_extents: DVec3::new(5.0, 5.0, 1.0) };
    let lower = Pose::new(-DVec3::Z, DQuat::IDENTITY);
    let flat = DQuat::from_rotation_y(-FRAC_PI_2);
    for ground in [(plane, Pose::IDENTITY), (slab, lower)] {
        let place = DVec3::new(0.1, 0.2, 0.05);
        let rests = coin_after_a_second(ground.clone(), Pose::new(place, flat), DVec3::ZERO, DVec3::ZERO);
        let moved = DVec3::new(rests.q[0], rests.q[1], rests.q[2]) - place;
        let aside = common::flat(Dimension::Plane, moved);
        assert!(aside.length() < 1e-13 && moved.z.abs() < 1e-12, "{moved}");
        assert!(rests.v.iter().all(|v| v.abs() < 1e-12), "{rests:?}");
        // On its edge with its axis along x: v + ω × (-r e_z) = 0 for ω = -v/r e_x.
        let upright = Pose::new(DVec3::new(0.0, 0.0, 0.5), DQuat::IDENTITY);
        let rolls = coin_after_a_second(ground, upright, 0.7 * DVec3::Y, -1.4 * DVec3::X);
        let moved = DVec3::new(rolls.q[0], rolls.q[1], rolls.q[2]) - DVec3::new(0.0, 0.7, 0.5);
        assert!(moved.length() < 1e-9, "{moved} {rolls:?}");
    }
}

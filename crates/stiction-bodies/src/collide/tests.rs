use super::*;
use crate::shape::{Polygon, Polyline};
use glamx::DQuat;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, FRAC_PI_6};
use std::sync::Arc;

const FAR: f64 = f64::INFINITY;

fn touches_of(dimension: Dimension, a: &(Shape, Pose), b: &(Shape, Pose), horizon: f64) -> Vec<Touch> {
    let mut touches = Vec::new();
    collide(dimension, &a.0, &a.1, &b.0, &b.1, horizon, &mut touches);
    touches
}

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::new(DVec3::new(x, y, z), DQuat::IDENTITY)
}

fn capsule(half_length: f64, radius: f64) -> Shape {
    Shape::Capsule { half_length, radius }
}

/// A regular hexagon around the origin, anticlockwise.
fn hexagon() -> Vec<DVec3> {
    (0..6).map(|i| 0.5 * DVec3::new((i as f64 * FRAC_PI_3).cos(), (i as f64 * FRAC_PI_3).sin(), 0.0)).collect()
}

fn find(touches: &[Touch], feature: u64) -> &Touch {
    let mut found = touches.iter().filter(|touch| touch.feature == feature);
    let touch = found.next().unwrap_or_else(|| panic!("no feature {feature} in {touches:?}"));
    assert!(found.next().is_none(), "feature {feature} twice in {touches:?}");
    touch
}

/// Numbers done by hand, so the tolerance is a few roundings of numbers of order one.
fn assert_touch(touch: &Touch, gap: f64, normal: [f64; 3], on_first: [f64; 3], on_second: [f64; 3]) {
    let tolerance = 4e-15;
    let (normal, on_first, on_second) =
        (DVec3::from_array(normal), DVec3::from_array(on_first), DVec3::from_array(on_second));
    assert!((touch.gap - gap).abs() < tolerance, "gap {} is not {gap}", touch.gap);
    assert!((touch.normal - normal).length() < tolerance, "normal {} is not {normal}", touch.normal);
    assert!((touch.point_on_first - on_first).length() < tolerance, "{} is not {on_first}", touch.point_on_first);
    assert!((touch.point_on_second - on_second).length() < tolerance, "{} is not {on_second}", touch.point_on_second);
    assert!((touch.point - 0.5 * (on_first + on_second)).length() < tolerance);
}

#[test]
fn sphere_on_half_space() {
    // Ground z ≤ 0.5 - 0.2 (the body sits 0.2 lower); ball of radius 0.5 with its centre at
    // height 1: gap 0.2.
    let ground = (Shape::HalfSpace { normal: DVec3::Z, offset: 0.5 }, at(0.0, 0.0, -0.2));
    let ball = (Shape::Sphere { radius: 0.5 }, at(2.0, 3.0, 1.0));
    let t = touches_of(Dimension::Space, &ball, &ground, FAR);
    assert_eq!(t.len(), 1);
    assert_touch(find(&t, 0), 0.2, [0.0, 0.0, 1.0], [2.0, 3.0, 0.5], [2.0, 3.0, 0.3]);
    let t = touches_of(Dimension::Space, &ground, &ball, FAR);
    assert_touch(find(&t, 0), 0.2, [0.0, 0.0, -1.0], [2.0, 3.0, 0.3], [2.0, 3.0, 0.5]);
    // The horizon counts in metres of gap, and includes its end.
    assert!(touches_of(Dimension::Space, &ball, &ground, 0.19).is_empty());
    assert_eq!(touches_of(Dimension::Space, &ball, &ground, t[0].gap).len(), 1);
}

#[test]
fn disc_on_a_slope() {
    // A half-plane turned by 90° about z has its normal along -x. Disc of radius 1 at x = -1.5:
    // gap 0.5.
    let wall = (Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 }, Pose::planar(0.0, 5.0, FRAC_PI_2));
    let disc = (Shape::Sphere { radius: 1.0 }, Pose::planar(-1.5, 2.0, 0.3));
    let t = touches_of(Dimension::Plane, &disc, &wall, FAR);
    assert_touch(find(&t, 0), 0.5, [-1.0, 0.0, 0.0], [-0.5, 2.0, 0.0], [0.0, 2.0, 0.0]);
}

#[test]
fn capsule_on_half_space() {
    // A rod of half-length 1, radius 0.1, tilted by 30° with its centre at height 1: ends at 1
    // ± 1/2.
    let ground = (Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 }, Pose::IDENTITY);
    let rod = (capsule(1.0, 0.1), Pose::planar(0.0, 1.0, FRAC_PI_6));
    for dimension in [Dimension::Plane, Dimension::Space] {
        let t = touches_of(dimension, &rod, &ground, FAR);
        assert_eq!(t.len(), 2);
        let x = 0.75f64.sqrt();
        assert_touch(find(&t, 0), 1.4, [0.0, 1.0, 0.0], [x, 1.4, 0.0], [x, 0.0, 0.0]);
        assert_touch(find(&t, 1), 0.4, [0.0, 1.0, 0.0], [-x, 0.4, 0.0], [-x, 0.0, 0.0]);
        let t = touches_of(dimension, &rod, &ground, 0.5);
        assert_eq!(t.len(), 1);
        assert_eq!(t[0].feature, 1);
    }
    // Radius zero: the segment itself.
    let line = (capsule(1.0, 0.0), Pose::planar(0.0, 1.0, FRAC_PI_2));
    let t = touches_of(Dimension::Plane, &line, &ground, FAR);
    assert_touch(find(&t, 1), 0.0, [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]);
}

#[test]
fn box_on_half_space() {
    let ground = (Shape::HalfSpace { normal: DVec3::Z, offset: 0.0 }, Pose::IDENTITY);
    let cuboid = (Shape::Cuboid { half_extents: DVec3::new(1.0, 2.0, 3.0) }, at(10.0, 0.0, 3.5));
    let t = touches_of(Dimension::Space, &cuboid, &ground, FAR);
    assert_eq!(t.len(), 8);
    // Corner 5 = 101 in binary: x and z negative. Lower corners are 0.5 above the ground, upper
    // ones 6.5.
    assert_touch(find(&t, 5), 0.5, [0.0, 0.0, 1.0], [9.0, 2.0, 0.5], [9.0, 2.0, 0.0]);
    assert_touch(find(&t, 2), 6.5, [0.0, 0.0, 1.0], [11.0, -2.0, 6.5], [11.0, -2.0, 0.0]);
    let near = touches_of(Dimension::Space, &cuboid, &ground, 1.0);
    assert_eq!(near.iter().map(|touch| touch.feature).collect::<Vec<_>>(), [4, 5, 6, 7]);

    // A square of half-diagonal √2 on its corner: corner 3, (-, -), is straight below the
    // centre when turned by 45°.
    let ground = (Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 }, Pose::IDENTITY);
    let square = (Shape::Cuboid { half_extents: DVec3::new(1.0, 1.0, 7.0) }, Pose::planar(0.0, 2.0, FRAC_PI_4));
    let t = touches_of(Dimension::Plane, &square, &ground, FAR);
    assert_eq!(t.len(), 4);
    let root = 2f64.sqrt();
    assert_touch(find(&t, 3), 2.0 - root, [0.0, 1.0, 0.0], [0.0, 2.0 - root, 0.0], [0.0, 0.0, 0.0]);
    assert_touch(find(&t, 1), 2.0, [0.0, 1.0, 0.0], [-root, 2.0, 0.0], [-root, 0.0, 0.0]);
    let t = touches_of(Dimension::Plane, &ground, &square, 1.0);
    assert_touch(find(&t, 3), 2.0 - root, [0.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0 - root, 0.0]);
}

#[test]
fn two_spheres() {
    // Centres 5 apart along (3, 4, 0)/5, radii 1 and 2: gap 2.
    let a = (Shape::Sphere { radius: 1.0 }, at(3.0, 4.0, 1.0));
    let b = (Shape::Sphere { radius: 2.0 }, at(0.0, 0.0, 1.0));
    let t = touches_of(Dimension::Space, &a, &b, FAR);
    assert_touch(find(&t, 0), 2.0, [0.6, 0.8, 0.0], [2.4, 3.2, 1.0], [1.2, 1.6, 1.0]);
}

#[test]
fn sphere_and_capsule() {
    let rod = (capsule(1.0, 0.25), at(0.0, 0.0, 0.0));
    // Beside the segment, over x = 0.5: distance 2, gap 2 - 0.75.
    let beside = (Shape::Sphere { radius: 0.5 }, at(0.5, 0.0, 2.0));
    let t = touches_of(Dimension::Space, &beside, &rod, FAR);
    assert_eq!(t.len(), 1);
    assert_touch(find(&t, 0), 1.25, [0.0, 0.0, 1.0], [0.5, 0.0, 1.5], [0.5, 0.0, 0.25]);
    // Beyond the end at x = -1, by (-3, 4): distance 5.
    let beyond = (Shape::Sphere { radius: 0.5 }, at(-4.0, 4.0, 0.0));
    for dimension in [Dimension::Plane, Dimension::Space] {
        let t = touches_of(dimension, &rod, &beyond, FAR);
        assert_touch(find(&t, 0), 4.25, [0.6, -0.8, 0.0], [-1.15, 0.2, 0.0], [-3.7, 3.6, 0.0]);
    }
}

#[test]
fn parallel_capsules_rest_on_two_contacts() {
    // Upper rod over x in [-0.5, 1.5], lower one over [-1, 1]: they meet from -0.5 (an end of
    // the upper one) to 1 (an end of the lower one). Axes 0.5 apart, radii 0.3 and 0.1.
    let lower = (capsule(1.0, 0.1), at(0.0, 0.0, 0.0));
    let upper = (capsule(1.0, 0.3), at(0.5, 0.5, 0.0));
    for dimension in [Dimension::Plane, Dimension::Space] {
        let t = touches_of(dimension, &upper, &lower, FAR);
        assert_eq!(t.len(), 2);
        assert_touch(find(&t, 1), 0.1, [0.0, 1.0, 0.0], [-0.5, 0.2, 0.0], [-0.5, 0.1, 0.0]);
        // The end of the lower one, on the side of the first's +x end.
        assert_touch(find(&t, 0), 0.1, [0.0, 1.0, 0.0], [1.0, 0.2, 0.0], [1.0, 0.1, 0.0]);
    }
    // Exactly above each other: end on end, twice, and not four times. Turning one end for end
    // changes the numbers only.
    let upper = (capsule(1.0, 0.3), at(0.0, 0.5, 0.0));
    let turned = (capsule(1.0, 0.3), Pose::new(upper.1.position, DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0)));
    for dimension in [Dimension::Plane, Dimension::Space] {
        let t = touches_of(dimension, &upper, &lower, FAR);
        assert_eq!(t.len(), 2);
        assert_touch(find(&t, 0), 0.1, [0.0, 1.0, 0.0], [1.0, 0.2, 0.0], [1.0, 0.1, 0.0]);
        assert_touch(find(&t, 1), 0.1, [0.0, 1.0, 0.0], [-1.0, 0.2, 0.0], [-1.0, 0.1, 0.0]);
        let t = touches_of(dimension, &turned, &lower, FAR);
        assert_eq!(t.len(), 2);
        assert_touch(find(&t, 0), 0.1, [0.0, 1.0, 0.0], [-1.0, 0.2, 0.0], [-1.0, 0.1, 0.0]);
    }
    // A short rod on a long one: both contacts are its own ends, and keep their sides in either
    // order.
    let short = (capsule(0.25, 0.3), at(0.5, 0.5, 0.0));
    let t = touches_of(Dimension::Plane, &short, &lower, FAR);
    assert_eq!(t.iter().map(|touch| touch.feature).collect::<Vec<_>>(), [0, 1]);
    let t = touches_of(Dimension::Plane, &lower, &short, FAR);
    assert_eq!(t.iter().map(|touch| touch.feature).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn capsules_end_to_end_and_end_to_side() {
    // In line: ends at x = 1 and x = 4, radii 0.5 and 1.
    let a = (capsule(1.0, 0.5), at(0.0, 0.0, 0.0));
    let b = (capsule(1.0, 1.0), at(5.0, 0.0, 0.0));
    for dimension in [Dimension::Plane, Dimension::Space] {
        let t = touches_of(dimension, &a, &b, FAR);
        assert_eq!(t.len(), 1);
        assert_touch(find(&t, 0), 1.5, [-1.0, 0.0, 0.0], [1.5, 0.0, 0.0], [3.0, 0.0, 0.0]);
    }
    // Upright on the side of a: the lower (-x) end of the upright rod at (0.25, 2).
    let upright = (capsule(1.0, 0.25), Pose::planar(0.25, 3.0, FRAC_PI_2));
    for dimension in [Dimension::Plane, Dimension::Space] {
        let t = touches_of(dimension, &upright, &a, FAR);
        assert_touch(find(&t, 1), 1.25, [0.0, 1.0, 0.0], [0.25, 1.75, 0.0], [0.25, 0.5, 0.0]);
        let t = touches_of(dimension, &a, &upright, FAR);
        assert_touch(find(&t, 3), 1.25, [0.0, -1.0, 0.0], [0.25, 0.5, 0.0], [0.25, 1.75, 0.0]);
    }
}

#[test]
fn crossed_capsules() {
    // In space: one along x, one along y and 1 above it, passing over x = 0.5, y = 0.
    let a = (capsule(1.0, 0.25), at(0.0, 0.0, 0.0));
    let b = (capsule(2.0, 0.5), Pose::new(DVec3::new(0.5, 1.0, 1.0), DQuat::from_rotation_z(FRAC_PI_2)));
    let t = touches_of(Dimension::Space, &b, &a, 0.3);
    assert_eq!(t.len(), 1);
    assert_touch(find(&t, 4), 0.25, [0.0, 0.0, 1.0], [0.5, 0.0, 0.5], [0.5, 0.0, 0.25]);
    // Axes that meet: the normal is still the common perpendicular.
    let b = (b.0, Pose::new(DVec3::new(0.5, 1.0, 0.0), b.1.orientation));
    let t = touches_of(Dimension::Space, &a, &b, -0.7);
    assert_touch(find(&t, 4), -0.75, [0.0, 0.0, 1.0], [0.5, 0.0, -0.25], [0.5, 0.0, 0.5]);

    // In the plane: they cross at (0.5, 0); from the centre of b at (0.5, 1.2) to that of a at
    // (0, 0) it is 1.3.
    let b = (capsule(2.0, 0.5), Pose::planar(0.5, 1.2, FRAC_PI_2));
    let t = touches_of(Dimension::Plane, &a, &b, -0.7);
    assert_eq!(t.len(), 1);
    let n = [-0.5 / 1.3, -1.2 / 1.3, 0.0];
    assert_touch(find(&t, 4), -0.75, n, [0.5 - 0.25 * n[0], -0.25 * n[1], 0.0], [0.5 + 0.5 * n[0], 0.5 * n[1], 0.0]);
    // Centres that coincide: across the axis of the second, which is along y.
    let b = (b.0, Pose::planar(0.0, 0.0, -FRAC_PI_2));
    let t = touches_of(Dimension::Plane, &a, &b, -0.7);
    assert_touch(find(&t, 4), -0.75, [1.0, 0.0, 0.0], [-0.25, 0.0, 0.0], [0.5, 0.0, 0.0]);
}

#[test]
fn almost_parallel_segments_hand_over_to_their_ends() {
    // Crossing at the angle that is just parallel, and at one that just is not: the least gap
    // is the same to the error promised beside the tolerance, L² sin² / (2 d) = 5e-13.
    for angle in [0.99e-6, 1.01e-6] {
        let a = (capsule(1.0, 0.0), at(0.0, 0.0, 0.0));
        let b = (capsule(1.0, 0.0), Pose::new(DVec3::new(0.0, 0.0, 1.0), DQuat::from_rotation_z(angle)));
        let t = touches_of(Dimension::Space, &a, &b, FAR);
        assert_eq!(t.iter().any(|touch| touch.feature == 4), angle > 1e-6);
        let least = t.iter().map(|touch| touch.gap).fold(FAR, f64::min);
        assert!((least - 1.0).abs() < 6e-13);
    }
}

#[test]
fn no_direction_is_never_nan() {
    let sphere = Shape::Sphere { radius: 0.5 };
    let rod = capsule(1.0, 0.25);
    let here = Pose::planar(0.3, -0.7, 0.4);
    let end = |pose: &Pose| Pose::new(pose.transform_point(DVec3::X), pose.orientation);
    for (dimension, fixed) in [(Dimension::Plane, DVec3::Y), (Dimension::Space, DVec3::Z)] {
        // Coinciding centres, and centres so near that their distance has no digits.
        let t = touches_of(dimension, &(sphere.clone(), here), &(sphere.clone(), here), FAR);
        assert_eq!((t[0].normal, t[0].gap), (fixed, -1.0));
        let t = touches_of(
            dimension,
            &(sphere.clone(), Pose::planar(5e-324, 0.0, 0.0)),
            &(sphere.clone(), Pose::IDENTITY),
            FAR,
        );
        assert_eq!(t[0].normal, fixed);
        let t = touches_of(
            dimension,
            &(sphere.clone(), Pose::planar(-1e-200, 0.0, 0.0)),
            &(sphere.clone(), Pose::IDENTITY),
            FAR,
        );
        assert_eq!(t[0].normal, -DVec3::X);
        // A ball at the middle and at the end of the axis of a capsule: across the axis.
        for pose in [here, end(&here)] {
            let t = touches_of(dimension, &(sphere.clone(), pose), &(rod.clone(), here), FAR);
            assert!((t[0].normal.length() - 1.0).abs() < 1e-15);
            assert!(t[0].normal.dot(here.transform_vector(DVec3::X)).abs() < 1e-15);
            assert!((t[0].gap + 0.75).abs() < 1e-15);
        }
        // A capsule on itself, and on its own continuation.
        for pose in [here, end(&end(&here))] {
            for touch in touches_of(dimension, &(rod.clone(), pose), &(rod.clone(), here), FAR) {
                assert!((touch.normal.length() - 1.0).abs() < 1e-15);
                assert!(touch.gap.is_finite() && touch.point.is_finite());
            }
        }
    }
    // An axis along z, or along y in the plane, leaves +x.
    let upright = Pose::new(DVec3::ZERO, DQuat::from_rotation_y(-FRAC_PI_2));
    let t = touches_of(Dimension::Space, &(sphere.clone(), Pose::IDENTITY), &(rod.clone(), upright), FAR);
    assert!((t[0].normal - DVec3::X).length() < 1e-15);
    let upright = Pose::planar(0.0, 0.0, FRAC_PI_2);
    let t = touches_of(Dimension::Plane, &(sphere, Pose::IDENTITY), &(rod, upright), FAR);
    assert!((t[0].normal - DVec3::X).length() < 1e-15 || (t[0].normal + DVec3::X).length() < 1e-15);
}

#[test]
fn supported_pairs() {
    let shapes = [
        Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 },
        Shape::Sphere { radius: 1.0 },
        capsule(1.0, 0.5),
        Shape::Cuboid { half_extents: DVec3::ONE },
    ];
    for a in &shapes {
        for b in &shapes {
            assert!(is_supported(Dimension::Space, a, b));
            // What is called supported must not panic.
            touches_of(Dimension::Space, &(a.clone(), Pose::IDENTITY), &(b.clone(), at(0.0, 3.0, 0.0)), FAR);
        }
    }
    let ground = (shapes[0].clone(), Pose::IDENTITY);
    assert!(touches_of(Dimension::Space, &ground, &ground, FAR).is_empty());
}

#[test]
#[should_panic(expected = "contacts between a box and a ellipse are not supported")]
fn an_unsupported_pair_is_our_own_bug() {
    let cuboid = (Shape::Cuboid { half_extents: DVec3::ONE }, Pose::IDENTITY);
    touches_of(Dimension::Plane, &cuboid, &(Shape::Ellipsoid { semi_axes: DVec3::ONE }, Pose::IDENTITY), FAR);
}

#[test]
fn disc_in_a_ring() {
    // Hole of radius 2 around (1, 0), disc of radius 0.5 at (1 + 0.6, 0.8): its centre is 1 away,
    // the gap 2 - 0.5 - 1. The normal points to the middle of the hole.
    let ring = (Shape::Cavity { radius: 2.0 }, Pose::planar(1.0, 0.0, 0.7));
    let disc = (Shape::Sphere { radius: 0.5 }, Pose::planar(1.6, 0.8, 0.2));
    let t = touches_of(Dimension::Plane, &disc, &ring, FAR);
    assert_touch(find(&t, 0), 0.5, [-0.6, -0.8, 0.0], [1.9, 1.2, 0.0], [2.2, 1.6, 0.0]);
    let t = touches_of(Dimension::Plane, &ring, &disc, FAR);
    assert_touch(find(&t, 0), 0.5, [0.6, 0.8, 0.0], [2.2, 1.6, 0.0], [1.9, 1.2, 0.0]);
    // In the middle up is as good as any other direction; beyond the wall the way out is back.
    let t = touches_of(Dimension::Plane, &(Shape::Sphere { radius: 0.5 }, Pose::planar(1.0, 0.0, 0.0)), &ring, FAR);
    assert_touch(find(&t, 0), 1.5, [0.0, 1.0, 0.0], [1.0, -0.5, 0.0], [1.0, -2.0, 0.0]);
    let t = touches_of(Dimension::Plane, &(Shape::Sphere { radius: 0.5 }, Pose::planar(5.0, 0.0, 0.0)), &ring, FAR);
    assert_touch(find(&t, 0), -2.5, [-1.0, 0.0, 0.0], [5.5, 0.0, 0.0], [3.0, 0.0, 0.0]);
    // A bead is a disc of radius zero.
    let t = touches_of(Dimension::Plane, &(Shape::Sphere { radius: 0.0 }, Pose::planar(1.0, -2.0, 0.0)), &ring, FAR);
    assert_touch(find(&t, 0), 0.0, [0.0, 1.0, 0.0], [1.0, -2.0, 0.0], [1.0, -2.0, 0.0]);
}

#[test]
fn capsule_and_box_in_a_cavity() {
    // The ends of the capsule are at (±1, 0, -1): √2 from the middle.
    let cavity = (Shape::Cavity { radius: 2.0 }, at(0.0, 0.0, 0.0));
    let t = touches_of(Dimension::Space, &(capsule(1.0, 0.25), at(0.0, 0.0, -1.0)), &cavity, FAR);
    assert_eq!(t.len(), 2);
    let root = 0.5f64.sqrt();
    assert!((find(&t, 0).gap - (1.75 - 2f64.sqrt())).abs() < 1e-15);
    assert!((find(&t, 0).normal - DVec3::new(-root, 0.0, root)).length() < 1e-15);
    assert!((find(&t, 1).normal - DVec3::new(root, 0.0, root)).length() < 1e-15);
    // A corner at (1, 2, 2) is 3 from the middle: it stands out by one.
    let t = touches_of(
        Dimension::Space,
        &(Shape::Cuboid { half_extents: DVec3::new(1.0, 2.0, 2.0) }, at(0.0, 0.0, 0.0)),
        &cavity,
        FAR,
    );
    assert_eq!(t.len(), 8);
    let third = 1.0 / 3.0;
    let wall = 2.0 * third;
    assert_touch(find(&t, 0), -1.0, [-third, -wall, -wall], [1.0, 2.0, 2.0], [wall, 2.0 * wall, 2.0 * wall]);
}

#[test]
fn sphere_in_a_tube_and_on_a_cylinder() {
    // Both along y, after a quarter turn about z; the ball is 5 from the axis, along (0.6, 0, 0.8),
    // and 7 along it.
    let along_y = Pose::new(DVec3::ZERO, DQuat::from_rotation_z(FRAC_PI_2));
    let ball = (Shape::Sphere { radius: 1.0 }, at(3.0, 7.0, 4.0));
    let t = touches_of(Dimension::Space, &ball, &(Shape::Tube { radius: 8.0 }, along_y), FAR);
    assert_touch(find(&t, 0), 2.0, [-0.6, 0.0, -0.8], [3.6, 7.0, 4.8], [4.8, 7.0, 6.4]);
    let t = touches_of(
        Dimension::Space,
        &ball,
        &(Shape::Cylinder { radius: 2.0, half_length: f64::INFINITY }, along_y),
        FAR,
    );
    assert_touch(find(&t, 0), 2.0, [0.6, 0.0, 0.8], [2.4, 7.0, 3.2], [1.2, 7.0, 1.6]);
    let t = touches_of(
        Dimension::Space,
        &(Shape::Cylinder { radius: 2.0, half_length: f64::INFINITY }, along_y),
        &ball,
        FAR,
    );
    assert_touch(find(&t, 0), 2.0, [-0.6, 0.0, -0.8], [1.2, 7.0, 1.6], [2.4, 7.0, 3.2]);
    // On the axis of a tube, here along x, any direction does: up.
    let ball = (Shape::Sphere { radius: 1.0 }, at(7.0, 0.0, 0.0));
    let t = touches_of(Dimension::Space, &ball, &(Shape::Tube { radius: 8.0 }, at(0.0, 0.0, 0.0)), FAR);
    assert_touch(find(&t, 0), 7.0, [0.0, 0.0, 1.0], [7.0, 0.0, -1.0], [7.0, 0.0, -8.0]);
}

#[test]
fn ellipsoid_on_a_half_space() {
    // Semi-axes 3, 1, 0.5, upright, its middle at height 2: 1.5 above the floor, at the pole.
    let ellipsoid = Shape::Ellipsoid { semi_axes: DVec3::new(3.0, 1.0, 0.5) };
    let floor = (Shape::HalfSpace { normal: DVec3::Z, offset: 0.0 }, at(0.0, 0.0, 0.0));
    let t = touches_of(Dimension::Space, &(ellipsoid.clone(), at(1.0, 2.0, 2.0)), &floor, FAR);
    assert_eq!(t.len(), 1);
    assert_touch(find(&t, 0), 1.5, [0.0, 0.0, 1.0], [1.0, 2.0, 1.5], [1.0, 2.0, 0.0]);
    // Against the slope n = (0.8, 0, 0.6): |(a_i n_i)| = |(2.4, 0, 0.3)| = √5.85, the lowest point
    // at -(7.2, 0, 0.15)/√5.85.
    let slope = (Shape::HalfSpace { normal: DVec3::new(0.8, 0.0, 0.6), offset: -5.0 }, at(0.0, 0.0, 0.0));
    let t = touches_of(Dimension::Space, &(ellipsoid, at(0.0, 0.0, 0.0)), &slope, FAR);
    let depth = 5.85f64.sqrt();
    assert!((find(&t, 0).gap - (5.0 - depth)).abs() < 1e-15);
    assert!((find(&t, 0).point_on_first - DVec3::new(-7.2, 0.0, -0.15) / depth).length() < 1e-15);
    // In the plane the depth plays no part.
    let ellipse = Shape::Ellipsoid { semi_axes: DVec3::new(3.0, 1.0, f64::NAN) };
    let ground = (Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 }, Pose::planar(0.0, 0.0, 0.0));
    let t = touches_of(Dimension::Plane, &(ellipse, Pose::planar(0.0, 4.0, FRAC_PI_2)), &ground, FAR);
    assert_touch(find(&t, 0), 1.0, [0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]);
}

#[test]
fn features_of_capsules_along_each_other_survive_rounding() {
    // Equal capsules side by side, shifted along their axes by roundings in both directions: two
    // contacts, always the same two.
    for orientation in [DQuat::IDENTITY, DQuat::from_rotation_z(std::f64::consts::PI)] {
        for shift in [0.0, 1e-16, -1e-16, 1e-12, -1e-12, 1e-3, -1e-3] {
            let a = (capsule(0.2, 0.1), at(0.0, 0.0, 0.0));
            let b = (capsule(0.2, 0.1), Pose::new(DVec3::new(shift, 0.2, 0.0), orientation));
            let t = touches_of(Dimension::Space, &a, &b, FAR);
            assert_eq!(t.len(), 2, "{shift}: {t:?}");
            for (feature, side) in [(0, 1.0), (1, -1.0)] {
                let touch = find(&t, feature);
                assert!(
                    (touch.point.x - side * 0.2).abs() <= 1.001e-3 && touch.gap.abs() < 1e-15,
                    "{shift}: {touch:?}"
                );
                assert!((touch.normal - DVec3::NEG_Y).length() < 1e-15, "{shift}: {touch:?}");
            }
        }
    }
}

#[test]
fn a_bush_on_a_shaft() {
    // Bore 0.11, shaft 0.10, the bush 4 mm lower: 6 mm of play are left above the shaft, and
    // nothing pushes elsewhere.
    let shaft = (Shape::Cylinder { radius: 0.10, half_length: f64::INFINITY }, at(0.3, 0.0, 0.0));
    let bush = (Shape::Tube { radius: 0.11 }, at(1.0, 0.0, -0.004));
    let t = touches_of(Dimension::Space, &bush, &shaft, FAR);
    assert_eq!(t.len(), 2);
    assert_touch(find(&t, 0), 0.006, [0.0, 0.0, 1.0], [1.11, 0.0, 0.106], [1.11, 0.0, 0.1]);
    assert_touch(find(&t, 1), 0.006, [0.0, 0.0, 1.0], [0.89, 0.0, 0.106], [0.89, 0.0, 0.1]);
    let t = touches_of(Dimension::Space, &shaft, &bush, FAR);
    assert_touch(find(&t, 0), 0.006, [0.0, 0.0, -1.0], [1.11, 0.0, 0.1], [1.11, 0.0, 0.106]);
    // Turned by the play over the half length of 0.11 m, the bush touches at both ends, above and
    // below.
    let angle = (0.01f64 / 0.11).asin();
    let turned = (bush.0, Pose::new(DVec3::new(1.0, 0.0, 0.0), DQuat::from_rotation_y(angle)));
    let t = touches_of(Dimension::Space, &turned, &shaft, FAR);
    assert!(t.iter().all(|touch| touch.gap.abs() < 1e-15), "{t:?}");
    assert_eq!(find(&t, 0).normal.z, 1.0);
    assert_eq!(find(&t, 1).normal.z, -1.0);
}

/// One body of each pair is carried through the other: the least gap changes its sign on the way,
/// or the pair is refused by name, or it is one that never meets.
#[test]
fn every_pair_collides_or_is_refused() {
    for dimension in [Dimension::Plane, Dimension::Space] {
        let normal = if dimension == Dimension::Plane { DVec3::Y } else { DVec3::Z };
        let shapes = [
            Shape::HalfSpace { normal, offset: 0.0 },
            Shape::Sphere { radius: 0.5 },
            Shape::Sphere { radius: 0.0 },
            capsule(0.5, 0.1),
            capsule(0.5, 0.0),
            Shape::Cuboid { half_extents: DVec3::new(0.5, 0.4, 0.3) },
            Shape::Ellipsoid { semi_axes: DVec3::new(0.5, 0.4, 0.3) },
            Shape::Cavity { radius: 2.0 },
            Shape::Cylinder { radius: 0.6, half_length: f64::INFINITY },
            Shape::Tube { radius: 2.0 },
            Shape::Polygon(Arc::new(Polygon::new(hexagon()).unwrap())),
            Shape::Polyline(Arc::new(Polyline::new(hexagon().into_iter().rev().collect(), true).unwrap())),
        ];
        let shapes: Vec<_> = shapes.into_iter().filter(|shape| shape.check(dimension).is_ok()).collect();
        for first in &shapes {
            for second in &shapes {
                let name = format!("{first:?} and {second:?} in {dimension:?}");
                assert_eq!(is_supported(dimension, first, second), is_supported(dimension, second, first), "{name}");
                if !is_supported(dimension, first, second) || never_meet(first, second) {
                    continue;
                }
                // Along the normal of the half-space, from far on one side to far on the other; a
                // little beside the centre.
                let gaps = (-300..=300).map(|k| {
                    let place = 0.013 * DVec3::X + k as f64 * 0.01 * normal;
                    let t = touches_of(
                        dimension,
                        &(first.clone(), Pose::new(place, DQuat::IDENTITY)),
                        &(second.clone(), Pose::IDENTITY),
                        FAR,
                    );
                    t.iter().map(|touch| touch.gap).fold(FAR, f64::min)
                });
                let gaps: Vec<f64> = gaps.collect();
                assert!(gaps.iter().any(|gap| *gap > 1e-3), "{name} are never apart");
                assert!(gaps.iter().any(|gap| *gap < -1e-3), "{name} never overlap");
            }
        }
    }
    // A shaft without ends does not fit into a cavity.
    assert!(!is_supported(
        Dimension::Space,
        &Shape::Cylinder { radius: 0.1, half_length: f64::INFINITY },
        &Shape::Cavity { radius: 1.0 }
    ));
}

#[test]
fn every_pair_is_known_or_refused() {
    let shapes = [
        Shape::HalfSpace { normal: DVec3::Z, offset: 0.0 },
        Shape::Sphere { radius: 0.5 },
        capsule(0.5, 0.1),
        Shape::Cuboid { half_extents: DVec3::ONE },
        Shape::Ellipsoid { semi_axes: DVec3::new(1.0, 0.5, 0.3) },
        Shape::Cavity { radius: 2.0 },
        Shape::Cylinder { radius: 0.2, half_length: f64::INFINITY },
        Shape::Tube { radius: 2.0 },
    ];
    let mut refused = 0;
    for first in &shapes {
        for second in &shapes {
            assert_eq!(is_supported(Dimension::Space, first, second), is_supported(Dimension::Space, second, first));
            if is_supported(Dimension::Space, first, second) {
                let t = touches_of(
                    Dimension::Space,
                    &(first.clone(), at(0.1, 0.0, 0.0)),
                    &(second.clone(), at(0.0, 0.2, 0.3)),
                    FAR,
                );
                assert_eq!(t.is_empty(), never_meet(first, second), "{first:?} {second:?}");
            } else {
                refused += 1;
            }
        }
    }
    // Box with ellipsoid, cylinder; ellipsoid with all but half-spaces:
    // sphere, capsule, ellipsoid, cavity, cylinder, tube; capsule with cylinder; cavity with
    // cylinder. Those of a shape with itself count once, all others twice.
    assert_eq!(refused, (2 * 2) + (5 * 2 + 1) + 2 + 2);
}

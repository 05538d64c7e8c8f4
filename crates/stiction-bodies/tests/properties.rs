//! What must hold for any pair of shapes.
//!
//! Lengths are of order one; half of all coordinates and angles come from a coarse lattice, so that
//! parallel, aligned and touching pairs are common.

use std::f64::consts::FRAC_PI_4;

use proptest::prelude::*;
use stiction_bodies::collide::{Touch, collide};
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{Dimension, Pose, Shape, advance_orientation};

const FAR: f64 = f64::INFINITY;

fn touches_of(dimension: Dimension, a: &(Shape, Pose), b: &(Shape, Pose), horizon: f64) -> Vec<Touch> {
    let mut touches = Vec::new();
    collide(dimension, &a.0, &a.1, &b.0, &b.1, horizon, &mut touches);
    touches
}

/// Distance between centre lines below which the property tests on derivatives do not look:
/// curvatures grow as one over the distance, and differences stop being derivatives.
const CLEARANCE: f64 = 0.3;

fn coordinate() -> impl Strategy<Value = f64> {
    prop_oneof![-2.0..2.0f64, (-4..=4i32).prop_map(|k| 0.5 * f64::from(k))]
}

fn angle() -> impl Strategy<Value = f64> {
    prop_oneof![-3.0..3.0f64, (-4..=4i32).prop_map(|k| f64::from(k) * FRAC_PI_4)]
}

fn vector() -> impl Strategy<Value = DVec3> {
    (coordinate(), coordinate(), coordinate()).prop_map(|(x, y, z)| DVec3::new(x, y, z))
}

fn orientation() -> impl Strategy<Value = DQuat> {
    (angle(), angle(), angle()).prop_map(|(a, b, c)| {
        (DQuat::from_rotation_z(a) * DQuat::from_rotation_y(b) * DQuat::from_rotation_x(c)).normalize()
    })
}

fn dimension() -> impl Strategy<Value = Dimension> {
    prop_oneof![Just(Dimension::Plane), Just(Dimension::Space)]
}

fn pose(dimension: Dimension) -> BoxedStrategy<Pose> {
    match dimension {
        Dimension::Plane => {
            (coordinate(), coordinate(), angle()).prop_map(|(x, y, phi)| Pose::planar(x, y, phi)).boxed()
        }
        Dimension::Space => (vector(), orientation()).prop_map(|(x, q)| Pose::new(x, q)).boxed(),
    }
}

fn size() -> impl Strategy<Value = f64> {
    prop_oneof![0.05..1.5f64, Just(0.5), Just(1.0)]
}

fn round_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        1 => size().prop_map(|radius| Shape::Sphere { radius }),
        3 => (size(), prop_oneof![0.0..0.5f64, Just(0.0)])
            .prop_map(|(half_length, radius)| Shape::Capsule { half_length, radius }),
    ]
}

fn half_space() -> impl Strategy<Value = Shape> {
    (angle(), coordinate())
        .prop_map(|(phi, offset)| Shape::HalfSpace { normal: DVec3::new(phi.cos(), phi.sin(), 0.0), offset })
}

fn hole() -> impl Strategy<Value = Shape> {
    prop_oneof![
        size().prop_map(|radius| Shape::Cavity { radius: 2.0 * radius }),
        size().prop_map(|radius| Shape::Tube { radius: 2.0 * radius }),
    ]
}

fn pair() -> impl Strategy<Value = (Dimension, (Shape, Pose), (Shape, Pose))> {
    let cuboid = (size(), size(), size()).prop_map(|(x, y, z)| Shape::Cuboid { half_extents: DVec3::new(x, y, z) });
    let ellipsoid = (size(), size(), size()).prop_map(|(x, y, z)| Shape::Ellipsoid { semi_axes: DVec3::new(x, y, z) });
    let convex = prop_oneof![round_shape(), cuboid];
    let movable = prop_oneof![3 => convex.clone(), 1 => ellipsoid];
    let outside = size().prop_map(|radius| Shape::Sphere { radius });
    let cylinder = size().prop_map(|radius| Shape::Cylinder { radius, half_length: f64::INFINITY });
    let shapes = prop_oneof![
        6 => (round_shape(), round_shape()),
        2 => (movable.clone(), half_space()),
        2 => (half_space(), movable),
        2 => (convex.clone(), hole()),
        1 => (hole(), convex),
        1 => (outside, cylinder),
    ];
    let is_possible = |(dimension, (a, b)): &(Dimension, (Shape, Shape))| {
        let is_planar = |shape: &Shape| !matches!(shape, Shape::Cylinder { .. } | Shape::Tube { .. });
        *dimension == Dimension::Space || (is_planar(a) && is_planar(b))
    };
    (dimension(), shapes)
        .prop_filter("a shape of space in the plane", is_possible)
        .prop_flat_map(|(dimension, (a, b))| (Just(dimension), (Just(a), pose(dimension)), (Just(b), pose(dimension))))
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) }
}

/// Half-length and radius of a sphere or capsule.
fn half_length_and_radius(shape: &Shape) -> (f64, f64) {
    match *shape {
        Shape::Sphere { radius } => (0.0, radius),
        Shape::Capsule { half_length, radius } => (half_length, radius),
        _ => unreachable!("only round shapes"),
    }
}

/// Least value of a convex function, by cutting the interval in three again and again.
fn least(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let mut best = f(low).min(f(high));
    for _ in 0..90 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        let (fa, fb) = (f(a), f(b));
        best = best.min(fa).min(fb);
        if fa <= fb {
            high = b;
        } else {
            low = a;
        }
    }
    best
}

/// A rigid motion: velocity of the centre in m/s and angular velocity in rad/s, both in world
/// axes.
#[derive(Clone, Copy, Debug)]
struct Motion {
    linear: DVec3,
    angular: DVec3,
}

impl Motion {
    fn at(&self, pose: &Pose, point: DVec3) -> DVec3 {
        self.linear + self.angular.cross(point - pose.position)
    }

    fn advance(&self, pose: &Pose, h: f64) -> Pose {
        let rate = pose.inverse_transform_vector(self.angular);
        Pose::new(pose.position + h * self.linear, advance_orientation(pose.orientation, rate, h))
    }
}

fn motion(dimension: Dimension) -> impl Strategy<Value = Motion> {
    let c = || -1.0..1.0f64;
    ((c(), c(), c()), (c(), c(), c())).prop_map(move |(v, w)| match dimension {
        Dimension::Plane => Motion { linear: DVec3::new(v.0, v.1, 0.0), angular: DVec3::new(0.0, 0.0, w.2) },
        Dimension::Space => Motion { linear: DVec3::new(v.0, v.1, v.2), angular: DVec3::new(w.0, w.1, w.2) },
    })
}

/// Whether the gap of this touch is smooth enough here to be differenced.
fn is_smooth(dimension: Dimension, a: &(Shape, Pose), b: &(Shape, Pose), touch: &Touch) -> bool {
    // An ellipsoid may be curved as much as 1.5²/0.05³, but the gap is a smooth function of its
    // rotation.
    if matches!(a.0, Shape::HalfSpace { .. }) || matches!(b.0, Shape::HalfSpace { .. }) {
        return true;
    }
    for (hole, other) in [(&a.0, &b.0), (&b.0, &a.0)] {
        let inner = match other {
            Shape::Sphere { radius } | Shape::Capsule { radius, .. } => *radius,
            _ => 0.0,
        };
        match hole {
            // The distance of the ball from the middle.
            Shape::Cavity { radius } | Shape::Tube { radius } => return radius - inner - touch.gap > CLEARANCE,
            Shape::Cylinder { radius, .. } => return touch.gap + radius + inner > CLEARANCE,
            _ => {}
        }
    }
    if touch.feature == 4 {
        let sine = a.1.transform_vector(DVec3::X).cross(b.1.transform_vector(DVec3::X)).length();
        if dimension == Dimension::Plane || sine < 0.2 {
            return false;
        }
    }
    touch.gap + half_length_and_radius(&a.0).1 + half_length_and_radius(&b.0).1 > CLEARANCE
}

proptest! {
    #![proptest_config(config())]

    /// The least gap is the distance of the centre lines less the radii. The squared distance
    /// of two points is convex in their two parameters, so nested searches find it without any
    /// of the case distinctions of `collide`. The square root turns a rounding of 1e-15 into 3e-8.
    #[test]
    fn least_gap_is_the_distance(
        (dimension, a, b) in (dimension(), round_shape(), round_shape())
            .prop_flat_map(|(d, a, b)| (Just(d), (Just(a), pose(d)), (Just(b), pose(d))))
    ) {
        let (a1, r1) = half_length_and_radius(&a.0);
        let (a2, r2) = half_length_and_radius(&b.0);
        let squared = least(-a1, a1, |s| {
            let x = a.1.transform_point(s * DVec3::X);
            least(-a2, a2, |t| (x - b.1.transform_point(t * DVec3::X)).length_squared())
        });
        let touches = touches_of(dimension, &a, &b, FAR);
        let gap = touches.iter().map(|touch| touch.gap).fold(FAR, f64::min);
        let expected = squared.sqrt() - r1 - r2;
        prop_assert!((gap - expected).abs() < 1e-7, "{gap} is not {expected}");
    }

    /// Sampled points of a shape over a half-space: none lower than the least gap, one almost
    /// as low.
    #[test]
    fn least_gap_over_a_half_space(
        (dimension, shape, ground) in (dimension(), round_shape(), half_space())
            .prop_flat_map(|(d, a, b)| (Just(d), (Just(a), pose(d)), (Just(b), pose(d))))
    ) {
        let (half, radius) = half_length_and_radius(&shape.0);
        let Shape::HalfSpace { normal, offset } = ground.0 else { unreachable!() };
        let height = |x: DVec3| normal.dot(ground.1.inverse_transform_point(x)) - offset;
        let sampled = least(-half, half, |s| height(shape.1.transform_point(s * DVec3::X))) - radius;
        let touches = touches_of(dimension, &shape, &ground, FAR);
        let gap = touches.iter().map(|touch| touch.gap).fold(FAR, f64::min);
        prop_assert!((gap - sampled).abs() < 1e-12);
    }

    /// The lowest point of a box is below its centre by the sum of its half-extents, each seen
    /// along the normal.
    #[test]
    fn least_gap_of_a_box(
        (dimension, half_extents, pose_of_box, ground) in (dimension(), (size(), size(), size()), half_space())
            .prop_flat_map(|(d, e, b)| (Just(d), Just(DVec3::new(e.0, e.1, e.2)), pose(d), (Just(b), pose(d))))
    ) {
        let Shape::HalfSpace { normal, offset } = ground.0 else { unreachable!() };
        let n = pose_of_box.inverse_transform_vector(ground.1.transform_vector(normal));
        let height = normal.dot(ground.1.inverse_transform_point(pose_of_box.position)) - offset;
        let depth = if dimension == Dimension::Plane { 0.0 } else { half_extents.z * n.z.abs() };
        let lowest = height - half_extents.x * n.x.abs() - half_extents.y * n.y.abs() - depth;
        let touches = touches_of(dimension, &(Shape::Cuboid { half_extents }, pose_of_box), &ground, FAR);
        let gap = touches.iter().map(|touch| touch.gap).fold(FAR, f64::min);
        prop_assert!((gap - lowest).abs() < 1e-13);
    }

    /// Sampled points of a shape in a hole: the farthest from the middle is as far as the least gap
    /// says.
    #[test]
    fn least_gap_in_a_hole(
        (dimension, shape, hole) in (dimension(), round_shape(), hole())
            .prop_filter("a tube is in space", |(d, _, hole)| {
                *d == Dimension::Space || matches!(hole, Shape::Cavity { .. })
            })
            .prop_flat_map(|(d, a, b)| (Just(d), (Just(a), pose(d)), (Just(b), pose(d))))
    ) {
        let (half, radius) = half_length_and_radius(&shape.0);
        let inside = |x: DVec3| {
            let local = hole.1.inverse_transform_point(x);
            match hole.0 {
                Shape::Cavity { radius } => radius - local.length(),
                Shape::Tube { radius } => radius - local.y.hypot(local.z),
                _ => unreachable!(),
            }
        };
        // A concave function along the segment: its least value is at an end.
        let middle = inside(shape.1.position);
        let ends = [half, -half].map(|s| inside(shape.1.transform_point(s * DVec3::X)));
        let sampled = ends[0].min(ends[1]) - radius;
        prop_assert!(sampled <= middle - radius + 1e-12);
        let touches = touches_of(dimension, &shape, &hole, FAR);
        let gap = touches.iter().map(|touch| touch.gap).fold(FAR, f64::min);
        prop_assert!((gap - sampled).abs() < 1e-12);
    }

    /// The lowest of many points of an ellipsoid is as low as the gap says, up to the distance of
    /// the samples.
    #[test]
    fn gap_of_an_ellipsoid(
        (dimension, semi_axes, place, ground) in (dimension(), (size(), size(), size()), half_space())
            .prop_flat_map(|(d, e, b)| (Just(d), Just(DVec3::new(e.0, e.1, e.2)), pose(d), (Just(b), pose(d))))
    ) {
        let Shape::HalfSpace { normal, offset } = ground.0 else { unreachable!() };
        let height = |x: DVec3| normal.dot(ground.1.inverse_transform_point(x)) - offset;
        let touches = touches_of(dimension, &(Shape::Ellipsoid { semi_axes }, place), &ground, FAR);
        prop_assert_eq!(touches.len(), 1);
        let mut lowest = FAR;
        let rings = if dimension == Dimension::Plane { 1 } else { 60 };
        for i in 0..120 {
            for j in 0..rings {
                let (phi, theta) = (f64::from(i) * std::f64::consts::TAU / 120.0, match rings {
                    1 => std::f64::consts::FRAC_PI_2,
                    _ => (f64::from(j) + 0.5) * std::f64::consts::PI / f64::from(rings),
                });
                let unit = DVec3::new(theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos());
                lowest = lowest.min(height(place.transform_point(semi_axes * unit)));
            }
        }
        // Samples are 3 degrees apart, of which half is missed in each angle: (0.026²/2)·2 of an
        // axis of up to 1.5 m.
        prop_assert!(lowest >= touches[0].gap - 1e-13 && lowest <= touches[0].gap + 1.1e-3, "{lowest} {touches:?}");
        // Its point lies on the ellipsoid.
        let local = place.inverse_transform_point(touches[0].point_on_first) / semi_axes;
        prop_assert!((local.length() - 1.0).abs() < 1e-12);
    }

    /// Points, normal and gap tell the same story, and the plane is not left.
    #[test]
    fn touches_are_consistent((dimension, a, b) in pair()) {
        for touch in touches_of(dimension, &a, &b, FAR) {
            prop_assert!((touch.normal.length() - 1.0).abs() < 1e-14);
            let across = touch.point_on_first - touch.point_on_second;
            // Inner contacts of almost parallel segments lose digits as one over the sine.
            prop_assert!((across - touch.gap * touch.normal).length() < 1e-9);
            prop_assert!((touch.point - 0.5 * (touch.point_on_first + touch.point_on_second)).length() < 1e-14);
            if dimension == Dimension::Plane {
                for v in [touch.normal, touch.point, touch.point_on_first, touch.point_on_second] {
                    prop_assert_eq!(v.z, 0.0);
                }
            }
        }
    }

    /// The horizon only leaves out.
    #[test]
    fn horizon_is_a_filter((dimension, a, b) in pair(), horizon in -1.0..2.0f64) {
        let all = touches_of(dimension, &a, &b, FAR);
        let expected: Vec<Touch> = all.into_iter().filter(|touch| touch.gap <= horizon).collect();
        prop_assert_eq!(touches_of(dimension, &a, &b, horizon), expected);
    }

    /// Exchanging the shapes mirrors the contacts.
    #[test]
    fn swapping_mirrors((dimension, a, b) in pair()) {
        let touches = touches_of(dimension, &a, &b, FAR);
        let mut swapped = touches_of(dimension, &b, &a, FAR);
        prop_assert_eq!(touches.len(), swapped.len());
        // Where the choice of the normal does not know the order; see the documentation of
        // `collide`.
        let is_fixed = |touch: &Touch| {
            let round = |shape: &Shape| matches!(shape, Shape::Sphere { .. } | Shape::Capsule { .. });
            round(&a.0) && round(&b.0) && {
                let (r1, r2) = (half_length_and_radius(&a.0).1, half_length_and_radius(&b.0).1);
                let fixed_normal = if dimension == Dimension::Plane { DVec3::Y } else { DVec3::Z };
                let points_coincide = touch.gap == -(r1 + r2) && touch.normal == fixed_normal;
                let centres_coincide = dimension == Dimension::Plane
                    && touch.feature == 4
                    && a.1.position == b.1.position;
                points_coincide || centres_coincide
            }
        };
        let mut alone = touches;
        alone.retain(|touch| {
            let mirrored = touch.mirrored();
            let found = swapped.iter().position(|other| {
                (other.gap - mirrored.gap).abs() < 1e-13
                    && (other.normal - mirrored.normal).length() < 1e-13
                    && (other.point_on_first - mirrored.point_on_first).length() < 1e-13
                    && (other.point_on_second - mirrored.point_on_second).length() < 1e-13
            });
            found.map(|index| swapped.swap_remove(index)).is_none()
        });
        for touch in &alone {
            prop_assert!(is_fixed(touch), "{touch:?} has no mirror in {swapped:?}");
            let found = swapped.iter().position(|other| other.gap == touch.gap);
            prop_assert!(found.is_some(), "{touch:?} has no mirror in {swapped:?}");
            swapped.swap_remove(found.unwrap());
        }
    }

    /// Moving the first shape along the normal opens the gap by as much. The curvature is at
    /// most one over the clearance, so a step of 1e-6 is off by at most 1e-11, and rounding
    /// adds 1e-15.
    #[test]
    fn the_normal_is_the_gradient((dimension, a, b) in pair()) {
        let step = 1e-6;
        for touch in touches_of(dimension, &a, &b, FAR) {
            if !is_smooth(dimension, &a, &b, &touch) {
                continue;
            }
            let moved = (a.0.clone(), Pose::new(a.1.position + step * touch.normal, a.1.orientation));
            let after = touches_of(dimension, &moved, &b, FAR);
            if let Some(after) = after.iter().find(|after| after.feature == touch.feature) {
                prop_assert!((after.gap - touch.gap - step).abs() < 2e-11);
            }
        }
    }

    /// The rate of the gap is the relative velocity at the contact along the normal, whichever
    /// of the three points is taken. Central differences over 2e-8 s, with roundings of 1e-15
    /// m: 1e-7. Where a foot reaches the end of a segment the second derivative jumps, by at
    /// most speed² / clearance, 300 m/s² here: 300·1e-8/4 = 8e-7.
    #[test]
    fn gap_rate_is_the_relative_normal_velocity(
        (dimension, a, b, m1, m2) in pair()
            .prop_flat_map(|(d, a, b)| (Just(d), Just(a), Just(b), motion(d), motion(d)))
    ) {
        let h = 1e-8;
        let moved = |h: f64| {
            let (a, b) = ((a.0.clone(), m1.advance(&a.1, h)), (b.0.clone(), m2.advance(&b.1, h)));
            touches_of(dimension, &a, &b, FAR)
        };
        let (before, after) = (moved(-h), moved(h));
        for touch in touches_of(dimension, &a, &b, FAR) {
            if !is_smooth(dimension, &a, &b, &touch) {
                continue;
            }
            let of = |list: &[Touch]| {
                list.iter().find(|other| other.feature == touch.feature).map(|other| other.gap)
            };
            let (Some(before), Some(after)) = (of(&before), of(&after)) else { continue };
            let measured = (after - before) / (2.0 * h);
            for (p1, p2) in [(touch.point_on_first, touch.point_on_second), (touch.point, touch.point)] {
                let rate = touch.normal.dot(m1.at(&a.1, p1) - m2.at(&b.1, p2));
                prop_assert!((measured - rate).abs() < 1e-6, "{measured} is not {rate} for {touch:?}");
            }
        }
    }

    /// Carrying both shapes along rigidly changes no gap and turns every normal.
    #[test]
    fn frame_does_not_matter(
        (dimension, a, b, frame) in pair().prop_flat_map(|(d, a, b)| (Just(d), Just(a), Just(b), pose(d)))
    ) {
        let carried = |x: &(Shape, Pose)| (x.0.clone(), frame.compose(&x.1));
        let touches = touches_of(dimension, &a, &b, FAR);
        let turned = touches_of(dimension, &carried(&a), &carried(&b), FAR);
        for touch in &touches {
            // Contacts that begin or end exactly here may be lost to rounding.
            let Some(other) = turned.iter().find(|other| other.feature == touch.feature) else { continue };
            prop_assert!((touch.gap - other.gap).abs() < 1e-9, "{touch:?} became {other:?}");
            if is_smooth(dimension, &a, &b, touch) {
                prop_assert!((frame.transform_vector(touch.normal) - other.normal).length() < 1e-12);
                prop_assert!((frame.transform_point(touch.point) - other.point).length() < 1e-12);
            }
        }
        // The least gap is never lost.
        let least_of = |list: &[Touch]| list.iter().map(|touch| touch.gap).fold(FAR, f64::min);
        if !touches.is_empty() {
            prop_assert!((least_of(&touches) - least_of(&turned)).abs() < 1e-9);
        }
    }
}

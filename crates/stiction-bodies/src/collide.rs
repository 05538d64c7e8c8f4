//! Gaps, normals and contact points between two shapes, in closed form.
//!
//! A capsule is a segment with a radius and a sphere is a point with a radius, so four distances do
//! everything: point to plane, point to point, point to segment, segment to segment. Every
//! [`Touch`] is one condition of non-penetration; a pair may give several, and together they hold
//! exactly when the shapes do not overlap.
//!
//! To first order a gap changes with `normal`·(velocity of the first at `point` - velocity of the
//! second at `point`). The two surface points differ only along the normal, so it does not matter
//! which of the three points is used.
//!
//! In the plane the shapes lie in z = 0 and turn about z. Components along z, which could only be
//! rounding, are dropped, so that normals and points have z = 0 exactly.

use crate::pose::Pose;
use crate::shape::{Dimension, Shape};
use glamx::DVec3;

/// Two segments are parallel when the sine of their angle is at most this. Then they have no
/// closest pair of inner points; the ends stand for it, and for half-length L and distance d they
/// see a distance at most L² sin²/(2d) too large. Too large: that error shows. Too small: the place
/// of the inner contact is rounding noise.
const PARALLEL_SINE_TOLERANCE: f64 = 1e-6;

/// One possible contact between two shapes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Distance between the two surface points along the normal, in metres: positive apart,
    /// negative in penetration.
    pub gap: f64,
    /// Unit normal in world axes, from the second shape towards the first. In the plane its z is
    /// exactly zero.
    pub normal: DVec3,
    /// The contact point, midway between the two surface points, in world coordinates, in metres.
    pub point: DVec3,
    /// The point of the first surface nearest to the second, in world coordinates, in metres.
    pub point_on_first: DVec3,
    /// The point of the second surface nearest to the first, in world coordinates, in metres.
    pub point_on_second: DVec3,
    /// Which part of the pair this is, the same from step to step: see [`collide`].
    pub feature: u32,
}

impl Touch {
    /// The same contact with the two shapes exchanged; the feature stays.
    pub fn mirrored(&self) -> Self {
        Self {
            normal: -self.normal,
            point_on_first: self.point_on_second,
            point_on_second: self.point_on_first,
            ..*self
        }
    }
}

/// Whether [`collide`] knows this pair. It knows every pair but a box with anything other than a
/// half-space.
pub fn is_supported(first: &Shape, second: &Shape) -> bool {
    match (first, second) {
        (Shape::Cuboid { .. }, other) | (other, Shape::Cuboid { .. }) => {
            matches!(other, Shape::HalfSpace { .. })
        }
        _ => true,
    }
}

/// Appends to `touches` the contacts between two shapes whose gap is at most `horizon`, in metres.
///
/// `pose_first` and `pose_second` are the poses of the shapes themselves in the world (see
/// [`PlacedShape::world_pose`](crate::shape::PlacedShape::world_pose)); the shapes must have passed
/// [`Shape::check`].
///
/// | pair | contacts | feature |
/// |---|---|---|
/// | half-space, half-space | none: neither moves freely | |
/// | sphere with sphere, half-space or capsule | one | 0 |
/// | capsule, half-space | one per end | 0: +x end, 1: -x end |
/// | box, half-space | one per corner: 8, or 4 in the plane | bits 0, 1, 2 are set where x, y, z is negative |
/// | capsule, capsule | up to five, see below | 0 to 4 |
///
/// **Two capsules.** Features 0 and 1 are the +x and -x ends of the first, 2 and 3 those of the
/// second, each against the inside of the other's segment where it projects there. Two ends that
/// are each the nearest point to the other make one contact, under the feature of the first's end.
/// So capsules that lie along each other rest on the two ends of their overlap. Feature 4 is the
/// pair of closest inner points of two segments that are not parallel.
///
/// In the plane, feature 4 means that the segments cross. That is penetration beyond what a
/// distance can measure: the gap is then minus the sum of the radii whatever the depth, and the
/// normal points from the centre of the second to the centre of the first, or across the axis of
/// the second when the centres coincide. Its gap has no gradient; the normal only says which way is
/// out.
///
/// **Where there is no direction.** Two points that coincide (centres of spheres, ends of capsules)
/// get the normal +z in space and +y in the plane. A point on the axis of a capsule gets that
/// direction made perpendicular to the axis, and +x made perpendicular when the axis is nearer to z
/// than to x and y (in the plane: when it is exactly y). The result is never NaN.
///
/// **Exchanging the shapes** gives the [mirrored](Touch::mirrored) contacts, with features 0, 1 and
/// 2, 3 of two capsules exchanged; except that the fixed normal of two coinciding points, or of
/// crossing planar capsules with one centre, is chosen without regard to the order.
///
/// # Panics
///
/// When the pair is not [supported](is_supported).
pub fn collide(
    dimension: Dimension,
    first: &Shape,
    pose_first: &Pose,
    second: &Shape,
    pose_second: &Pose,
    horizon: f64,
    touches: &mut Vec<Touch>,
) {
    use Shape::{Capsule, Cuboid, HalfSpace, Sphere};
    let mut out = Output { horizon, touches };
    let centre_first = in_dimension(dimension, pose_first.position);
    let centre_second = in_dimension(dimension, pose_second.position);
    match (*first, *second) {
        (HalfSpace { .. }, HalfSpace { .. }) => {}

        (Sphere { radius }, HalfSpace { normal, offset }) => {
            let plane = Plane::new(dimension, pose_second, normal, offset);
            out.point_on_plane(centre_first, radius, &plane, 0);
        }

        (Capsule { half_length, radius }, HalfSpace { normal, offset }) => {
            let plane = Plane::new(dimension, pose_second, normal, offset);
            let half_axis = half_length * axis(dimension, pose_first);
            out.point_on_plane(centre_first + half_axis, radius, &plane, 0);
            out.point_on_plane(centre_first - half_axis, radius, &plane, 1);
        }

        (Cuboid { half_extents }, HalfSpace { normal, offset }) => {
            let plane = Plane::new(dimension, pose_second, normal, offset);
            let (corner_count, depth) = match dimension {
                Dimension::Plane => (4, 0.0),
                Dimension::Space => (8, half_extents.z),
            };
            for corner in 0..corner_count {
                let side = |bit: u32| if corner >> bit & 1 == 0 { 1.0 } else { -1.0 };
                let local = DVec3::new(side(0) * half_extents.x, side(1) * half_extents.y, side(2) * depth);
                let arm = in_dimension(dimension, pose_first.transform_vector(local));
                out.point_on_plane(centre_first + arm, 0.0, &plane, corner);
            }
        }

        (Sphere { radius: r1 }, Sphere { radius: r2 }) => {
            let (normal, distance) = point_to_point(dimension, centre_first - centre_second);
            out.push(centre_first, r1, centre_second, r2, normal, distance, 0);
        }

        (Sphere { radius: r1 }, Capsule { half_length, radius: r2 }) => {
            let u = axis(dimension, pose_second);
            let e = centre_first - centre_second;
            let t = e.dot(u).clamp(-half_length, half_length);
            let (normal, distance) = if t.abs() < half_length {
                point_to_line(dimension, e, u)
            } else {
                direction_of(e - t * u).unwrap_or_else(|| (perpendicular(dimension, u), 0.0))
            };
            out.push(centre_first, r1, centre_second + t * u, r2, normal, distance, 0);
        }

        (Capsule { half_length: a1, radius: r1 }, Capsule { half_length: a2, radius: r2 }) => {
            let u1 = axis(dimension, pose_first);
            let u2 = axis(dimension, pose_second);
            capsule_capsule(
                dimension,
                &Segment { centre: centre_first, axis: u1, half_length: a1, radius: r1 },
                &Segment { centre: centre_second, axis: u2, half_length: a2, radius: r2 },
                &mut out,
            );
        }

        // The same pairs in the other order.
        (HalfSpace { .. }, Sphere { .. } | Capsule { .. } | Cuboid { .. }) | (Capsule { .. }, Sphere { .. }) => {
            let start = touches.len();
            collide(dimension, second, pose_second, first, pose_first, horizon, touches);
            for touch in &mut touches[start..] {
                *touch = touch.mirrored();
            }
        }

        (Cuboid { .. }, Sphere { .. } | Capsule { .. } | Cuboid { .. })
        | (Sphere { .. } | Capsule { .. }, Cuboid { .. }) => {
            panic!(
                "contacts between a {} and a {} are not supported; such a pair must be refused before",
                first.name(dimension),
                second.name(dimension)
            );
        }
    }
}

/// The capsule of the tables above, in the world: centre in metres, unit axis.
struct Segment {
    centre: DVec3,
    axis: DVec3,
    half_length: f64,
    radius: f64,
}

fn capsule_capsule(dimension: Dimension, first: &Segment, second: &Segment, out: &mut Output) {
    const SIDES: [f64; 2] = [1.0, -1.0];
    let (u1, u2) = (first.axis, second.axis);
    let (a1, a2) = (first.half_length, second.half_length);
    let (r1, r2) = (first.radius, second.radius);
    let w = first.centre - second.centre;

    // Ends of the first seen from the centre of the second, and the reverse; then where they
    // project.
    let e1 = SIDES.map(|side| w + side * a1 * u1);
    let e2 = SIDES.map(|side| side * a2 * u2 - w);
    let t = e1.map(|e| e.dot(u2));
    let s = e2.map(|e| e.dot(u1));

    for i in 0..2 {
        let x1 = first.centre + SIDES[i] * a1 * u1;
        if t[i].abs() < a2 {
            let (normal, distance) = point_to_line(dimension, e1[i], u2);
            out.push(x1, r1, second.centre + t[i] * u2, r2, normal, distance, i as u32);
            continue;
        }
        // The end projects beyond end j of the second. If end j projects beyond end i as well, the
        // two are nearest to each other. If not, end j is nearer to another point of the first and
        // makes its own contact there.
        let j = if t[i] > 0.0 { 0 } else { 1 };
        if SIDES[i] * s[j] >= a1 {
            let x2 = second.centre + SIDES[j] * a2 * u2;
            // Bracketed so that exchanging the shapes flips the sign of every bit of it.
            let (normal, distance) = point_to_point(dimension, w + (SIDES[i] * a1 * u1 - SIDES[j] * a2 * u2));
            out.push(x1, r1, x2, r2, normal, distance, i as u32);
        }
    }

    for j in 0..2 {
        if s[j].abs() < a1 {
            let x2 = second.centre + SIDES[j] * a2 * u2;
            let (normal, distance) = point_to_line(dimension, e2[j], u1);
            out.push(first.centre + s[j] * u1, r1, x2, r2, -normal, distance, 2 + j as u32);
        }
    }

    // The closest pair of the two lines, at parameters s and t: |w + s u1 - t u2| least. The triple
    // products are those of Lagrange's identity, and lose less to cancellation than the dot
    // products when the lines are almost parallel.
    let cross = u1.cross(u2);
    let sine = cross.length();
    if sine <= PARALLEL_SINE_TOLERANCE {
        return;
    }
    let s = -w.cross(u2).dot(cross) / (sine * sine);
    let t = -w.cross(u1).dot(cross) / (sine * sine);
    if s.abs() < a1 && t.abs() < a2 {
        let x1 = first.centre + s * u1;
        let x2 = second.centre + t * u2;
        match dimension {
            Dimension::Space => {
                // The common perpendicular is known from the axes even when the segments touch.
                let across = cross / sine;
                let side = w.dot(across);
                let normal = if side < 0.0 { -across } else { across };
                out.push(x1, r1, x2, r2, normal, side.abs(), 4);
            }
            Dimension::Plane => {
                let crossing = 0.5 * (x1 + x2);
                let normal = direction_of(w).map_or_else(|| perpendicular(dimension, u2), |(normal, _)| normal);
                out.push(crossing, r1, crossing, r2, normal, 0.0, 4);
            }
        }
    }
}

/// Where the touches go, if they are near enough.
struct Output<'a> {
    horizon: f64,
    touches: &'a mut Vec<Touch>,
}

impl Output<'_> {
    /// Balls of radius r1 and r2 around x1 and x2, whose centres are `distance` apart along
    /// `normal`.
    fn push(&mut self, x1: DVec3, r1: f64, x2: DVec3, r2: f64, normal: DVec3, distance: f64, feature: u32) {
        let gap = distance - (r1 + r2);
        if gap <= self.horizon {
            let point_on_first = x1 - r1 * normal;
            let point_on_second = x2 + r2 * normal;
            let point = 0.5 * (point_on_first + point_on_second);
            self.touches.push(Touch { gap, normal, point, point_on_first, point_on_second, feature });
        }
    }

    /// A ball of radius r around x on a plane.
    fn point_on_plane(&mut self, x: DVec3, r: f64, plane: &Plane, feature: u32) {
        let distance = plane.normal.dot(x - plane.origin) - plane.offset;
        self.push(x, r, x - distance * plane.normal, 0.0, plane.normal, distance, feature);
    }
}

/// The surface of a half-space in the world: normal·(x - origin) = offset.
struct Plane {
    normal: DVec3,
    origin: DVec3,
    offset: f64,
}

impl Plane {
    fn new(dimension: Dimension, pose: &Pose, normal: DVec3, offset: f64) -> Self {
        Self {
            normal: in_dimension(dimension, pose.transform_vector(normal)).normalize(),
            origin: in_dimension(dimension, pose.position),
            offset,
        }
    }
}

/// The same vector, without its z in the plane.
fn in_dimension(dimension: Dimension, v: DVec3) -> DVec3 {
    match dimension {
        Dimension::Plane => DVec3::new(v.x, v.y, 0.0),
        Dimension::Space => v,
    }
}

/// The axis of a capsule in the world.
fn axis(dimension: Dimension, pose: &Pose) -> DVec3 {
    in_dimension(dimension, pose.transform_vector(DVec3::X)).normalize()
}

/// Unit vector and length of d; nothing when d is zero or so small that it has no digits left.
fn direction_of(d: DVec3) -> Option<(DVec3, f64)> {
    let largest = d.abs().max_element();
    if largest < f64::MIN_POSITIVE {
        return None;
    }
    // Scaled first, so that squares do not underflow.
    let scaled = d / largest;
    let length = scaled.length();
    Some((scaled / length, largest * length))
}

/// Normal towards, and distance of, the point at d from the origin.
fn point_to_point(dimension: Dimension, d: DVec3) -> (DVec3, f64) {
    direction_of(d).unwrap_or_else(|| {
        let normal = match dimension {
            Dimension::Plane => DVec3::Y,
            Dimension::Space => DVec3::Z,
        };
        (normal, 0.0)
    })
}

/// Normal towards, and distance of, the point at e from the line through the origin along u.
fn point_to_line(dimension: Dimension, e: DVec3, u: DVec3) -> (DVec3, f64) {
    match dimension {
        // The normal follows from the line alone, so it is sharp even when the point is on the
        // line.
        Dimension::Plane => {
            let across = perpendicular(dimension, u);
            let side = across.dot(e);
            (if side < 0.0 { -across } else { across }, side.abs())
        }
        Dimension::Space => direction_of(e - e.dot(u) * u).unwrap_or_else(|| (perpendicular(dimension, u), 0.0)),
    }
}

/// A unit vector perpendicular to u: +z (in the plane +y) turned as little as possible, or +x when
/// u is in the way.
fn perpendicular(dimension: Dimension, u: DVec3) -> DVec3 {
    match dimension {
        Dimension::Plane => {
            if u.x > 0.0 || (u.x == 0.0 && u.y < 0.0) {
                DVec3::new(-u.y, u.x, 0.0)
            } else {
                DVec3::new(u.y, -u.x, 0.0)
            }
        }
        Dimension::Space => {
            let z_is_largest = u.z.abs() > u.x.abs() && u.z.abs() > u.y.abs();
            let seed = if z_is_largest { DVec3::X } else { DVec3::Z };
            (seed - seed.dot(u) * u).normalize()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::advance_orientation;
    use glamx::DQuat;
    use proptest::prelude::*;
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, FRAC_PI_6};

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

    fn find(touches: &[Touch], feature: u32) -> &Touch {
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
        assert!(
            (touch.point_on_second - on_second).length() < tolerance,
            "{} is not {on_second}",
            touch.point_on_second
        );
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
            assert_touch(find(&t, 2), 0.1, [0.0, 1.0, 0.0], [1.0, 0.2, 0.0], [1.0, 0.1, 0.0]);
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
        // A short rod on a long one: both contacts are its own ends.
        let short = (capsule(0.25, 0.3), at(0.5, 0.5, 0.0));
        let t = touches_of(Dimension::Plane, &short, &lower, FAR);
        assert_eq!(t.iter().map(|touch| touch.feature).collect::<Vec<_>>(), [0, 1]);
        let t = touches_of(Dimension::Plane, &lower, &short, FAR);
        assert_eq!(t.iter().map(|touch| touch.feature).collect::<Vec<_>>(), [2, 3]);
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
        assert_touch(
            find(&t, 4),
            -0.75,
            n,
            [0.5 - 0.25 * n[0], -0.25 * n[1], 0.0],
            [0.5 + 0.5 * n[0], 0.5 * n[1], 0.0],
        );
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
            let t = touches_of(dimension, &(sphere, here), &(sphere, here), FAR);
            assert_eq!((t[0].normal, t[0].gap), (fixed, -1.0));
            let t = touches_of(dimension, &(sphere, Pose::planar(5e-324, 0.0, 0.0)), &(sphere, Pose::IDENTITY), FAR);
            assert_eq!(t[0].normal, fixed);
            let t = touches_of(dimension, &(sphere, Pose::planar(-1e-200, 0.0, 0.0)), &(sphere, Pose::IDENTITY), FAR);
            assert_eq!(t[0].normal, -DVec3::X);
            // A ball at the middle and at the end of the axis of a capsule: across the axis.
            for pose in [here, end(&here)] {
                let t = touches_of(dimension, &(sphere, pose), &(rod, here), FAR);
                assert!((t[0].normal.length() - 1.0).abs() < 1e-15);
                assert!(t[0].normal.dot(here.transform_vector(DVec3::X)).abs() < 1e-15);
                assert!((t[0].gap + 0.75).abs() < 1e-15);
            }
            // A capsule on itself, and on its own continuation.
            for pose in [here, end(&end(&here))] {
                for touch in touches_of(dimension, &(rod, pose), &(rod, here), FAR) {
                    assert!((touch.normal.length() - 1.0).abs() < 1e-15);
                    assert!(touch.gap.is_finite() && touch.point.is_finite());
                }
            }
        }
        // An axis along z, or along y in the plane, leaves +x.
        let upright = Pose::new(DVec3::ZERO, DQuat::from_rotation_y(-FRAC_PI_2));
        let t = touches_of(Dimension::Space, &(sphere, Pose::IDENTITY), &(rod, upright), FAR);
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
        for (i, a) in shapes.iter().enumerate() {
            for (j, b) in shapes.iter().enumerate() {
                assert_eq!(is_supported(a, b), (i != 3 && j != 3) || i == 0 || j == 0);
                // What is called supported must not panic.
                if is_supported(a, b) {
                    touches_of(Dimension::Space, &(*a, Pose::IDENTITY), &(*b, at(0.0, 3.0, 0.0)), FAR);
                }
            }
        }
        let ground = (shapes[0], Pose::IDENTITY);
        assert!(touches_of(Dimension::Space, &ground, &ground, FAR).is_empty());
    }

    #[test]
    #[should_panic(expected = "contacts between a box and a disc are not supported")]
    fn an_unsupported_pair_is_our_own_bug() {
        let cuboid = (Shape::Cuboid { half_extents: DVec3::ONE }, Pose::IDENTITY);
        touches_of(Dimension::Plane, &cuboid, &(Shape::Sphere { radius: 1.0 }, Pose::IDENTITY), FAR);
    }

    // What must hold for any pair. Lengths are of order one; half of all coordinates and angles
    // come from a coarse lattice, so that parallel, aligned and touching pairs are common.

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

    fn pair() -> impl Strategy<Value = (Dimension, (Shape, Pose), (Shape, Pose))> {
        let cuboid = (size(), size(), size()).prop_map(|(x, y, z)| Shape::Cuboid { half_extents: DVec3::new(x, y, z) });
        let movable = prop_oneof![round_shape(), cuboid];
        let shapes = prop_oneof![
            3 => (round_shape(), round_shape()),
            1 => (movable.clone(), half_space()),
            1 => (half_space(), movable),
        ];
        (dimension(), shapes).prop_flat_map(|(dimension, (a, b))| {
            (Just(dimension), (Just(a), pose(dimension)), (Just(b), pose(dimension)))
        })
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
        if matches!(a.0, Shape::HalfSpace { .. }) || matches!(b.0, Shape::HalfSpace { .. }) {
            return true;
        }
        if touch.feature == 4 {
            let sine = axis(dimension, &a.1).cross(axis(dimension, &b.1)).length();
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
        /// of the case distinctions above. The square root turns a rounding of 1e-15 into 3e-8.
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
            // Where the choice of the normal does not know the order; see the documentation.
            let is_fixed = |touch: &Touch| {
                let round = |shape: &Shape| matches!(shape, Shape::Sphere { .. } | Shape::Capsule { .. });
                round(&a.0) && round(&b.0) && {
                    let (r1, r2) = (half_length_and_radius(&a.0).1, half_length_and_radius(&b.0).1);
                    let points_coincide =
                        touch.gap == -(r1 + r2) && touch.normal == point_to_point(dimension, DVec3::ZERO).0;
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
                let moved = (a.0, Pose::new(a.1.position + step * touch.normal, a.1.orientation));
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
                let (a, b) = ((a.0, m1.advance(&a.1, h)), (b.0, m2.advance(&b.1, h)));
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
            let carried = |x: &(Shape, Pose)| (x.0, frame.compose(&x.1));
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
}

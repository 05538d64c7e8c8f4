//! How the normal and the points of a contact move with the two bodies, in closed form.
//!
//! Each [`Touch`] joins two balls, of radius $r_1$ around $x_1$ and $r_2$ around $x_2$ (a hole is one of negative radius), with $x_1 - x_2 = D n$. What is
//! fixed in the bodies decides how $n$ turns: two points, a point and a plane, a point and a line, two lines, or the lowest point of an
//! ellipsoid. All angular velocities are constant, as [`row_rates`](stiction_dynamics::row_rates) asks for.

use glamx::DVec3;

use crate::collide::{Touch, axis, in_dimension};
use crate::pose::Pose;
use crate::shape::{Dimension, Shape};

/// A foot that is nearer to the end of its segment than this share of it is the end. Too large: the rates of a contact beside an end are those of the end.
/// Too small: an end is mistaken for the inside by rounding.
const END_ROUNDING: f64 = 1e-14;

/// The motion of a body: velocities of its points, and how they change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Twist {
    pub origin: DVec3,
    pub velocity: DVec3,
    pub spin: DVec3,
    /// Acceleration of the origin where it is prescribed; velocities of free bodies are held.
    pub acceleration: DVec3,
}

impl Twist {
    /// Velocity of the material at a place.
    pub fn at(&self, x: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(x - self.origin)
    }

    /// Rate of that velocity when the place moves.
    pub fn rate(&self, x_rate: DVec3) -> DVec3 {
        self.acceleration + self.spin.cross(x_rate - self.velocity)
    }
}

/// Rates of the normal, of the point on the first surface and of the point on the second one.
pub(crate) fn touch_rates(
    dimension: Dimension,
    (first, pose_first, a): (&Shape, &Pose, &Twist),
    (second, pose_second, b): (&Shape, &Pose, &Twist),
    touch: &Touch,
) -> [DVec3; 3] {
    use Shape::{Capsule, Cavity, Cuboid, Cylinder, Ellipsoid, HalfSpace, Sphere, Tube};
    let n = touch.normal;
    let [centre_first, centre_second] = [pose_first, pose_second].map(|pose| in_dimension(dimension, pose.position));
    let round = |shape: &Shape| match *shape {
        Sphere { radius } | Capsule { radius, .. } | Cylinder { radius } => radius,
        Cavity { radius } | Tube { radius } => -radius,
        Cuboid { .. } | Ellipsoid { .. } | HalfSpace { .. } => 0.0,
    };
    let (r1, r2) = (round(first), round(second));
    let (x1, x2) = (touch.point_on_first + r1 * n, touch.point_on_second - r2 * n);
    let surfaces = |[n_rate, x1_rate, x2_rate]: [DVec3; 3]| [n_rate, x1_rate - r1 * n_rate, x2_rate + r2 * n_rate];
    match (*first, *second) {
        (Ellipsoid { semi_axes }, HalfSpace { .. }) => {
            let n_rate = b.spin.cross(n);
            // x_i = -a_i m_i/|m| with m_i = a_i n_i in the axes of the body, where n turns with the difference of the spins.
            let m = semi_axes * pose_first.inverse_transform_vector(n);
            let m_rate = semi_axes * pose_first.inverse_transform_vector(n_rate - a.spin.cross(n));
            let length = m.length();
            let local = -semi_axes * (m_rate / length - m * (m.dot(m_rate) / length.powi(3)));
            let x1_rate = a.at(x1) + in_dimension(dimension, pose_first.transform_vector(local));
            [n_rate, x1_rate, on_plane(n, n_rate, x1, x2, x1_rate, b)]
        }
        (Sphere { .. } | Capsule { .. } | Cuboid { .. }, HalfSpace { .. }) => {
            let (n_rate, x1_rate) = (b.spin.cross(n), a.at(x1));
            surfaces([n_rate, x1_rate, on_plane(n, n_rate, x1, x2, x1_rate, b)])
        }
        (Sphere { .. } | Capsule { .. } | Cuboid { .. }, Cavity { .. }) | (Sphere { .. }, Sphere { .. }) => {
            surfaces(points(n, (x1, a), (x2, b)))
        }
        (Sphere { .. } | Capsule { .. } | Cuboid { .. }, Tube { .. })
        | (Sphere { .. } | Tube { .. }, Cylinder { .. }) => {
            surfaces(point_and_line(dimension, n, (x1, a), (x2, b), axis(dimension, pose_second)))
        }
        (Sphere { .. }, Capsule { half_length, .. }) => {
            let u = axis(dimension, pose_second);
            match (x1 - centre_second).dot(u).abs() < half_length {
                true => surfaces(point_and_line(dimension, n, (x1, a), (x2, b), u)),
                false => surfaces(points(n, (x1, a), (x2, b))),
            }
        }
        (Capsule { half_length: a1, .. }, Capsule { half_length: a2, .. }) => {
            let (u1, u2) = (axis(dimension, pose_first), axis(dimension, pose_second));
            surfaces(match touch.feature {
                4 if dimension == Dimension::Space => lines(n, (x1, a, u1), (x2, b, u2)),
                // An end of one on the inside of the other: the foot is farther from the end of its own segment.
                0..4 if is_inside(x2 - centre_second, u2, a2) > is_inside(x1 - centre_first, u1, a1).max(0.0) => {
                    point_and_line(dimension, n, (x1, a), (x2, b), u2)
                }
                0..4 if is_inside(x1 - centre_first, u1, a1) > 0.0 => {
                    let [n_rate, x2_rate, x1_rate] = point_and_line(dimension, -n, (x2, b), (x1, a), u1);
                    [-n_rate, x1_rate, x2_rate]
                }
                _ => points(n, (x1, a), (x2, b)),
            })
        }
        // The same pairs in the other order.
        _ => {
            let mirrored = touch.mirrored();
            let [n_rate, second_rate, first_rate] =
                touch_rates(dimension, (second, pose_second, b), (first, pose_first, a), &mirrored);
            [-n_rate, first_rate, second_rate]
        }
    }
}

/// How far a point of a segment around the origin is from its nearer end, as a share of half the length; zero at an end, up to rounding.
fn is_inside(x: DVec3, u: DVec3, half_length: f64) -> f64 {
    let inside = 1.0 - x.dot(u).abs() / half_length;
    if inside > END_ROUNDING { inside } else { 0.0 }
}

/// Rate of the foot of a point on a plane of the second body.
fn on_plane(n: DVec3, n_rate: DVec3, x1: DVec3, x2: DVec3, x1_rate: DVec3, b: &Twist) -> DVec3 {
    let distance = n.dot(x1 - x2);
    // The distance changes with the velocity of the foot's material, which may itself slide along the plane.
    let distance_rate = n.dot(x1_rate - b.at(x2));
    x1_rate - distance_rate * n - distance * n_rate
}

/// A point of each body.
fn points(n: DVec3, (x1, a): (DVec3, &Twist), (x2, b): (DVec3, &Twist)) -> [DVec3; 3] {
    let (x1_rate, x2_rate) = (a.at(x1), b.at(x2));
    let distance = n.dot(x1 - x2);
    let rate = x1_rate - x2_rate;
    let across = rate - n.dot(rate) * n;
    [if distance == 0.0 { DVec3::ZERO } else { across / distance }, x1_rate, x2_rate]
}

/// A point of the first body and a line of the second one, on which $x_2$ is the foot: seen from the second body the line rests.
fn point_and_line(
    dimension: Dimension,
    n: DVec3,
    (x1, a): (DVec3, &Twist),
    (x2, b): (DVec3, &Twist),
    u: DVec3,
) -> [DVec3; 3] {
    let seen = a.at(x1) - b.at(x1);
    let along = seen.dot(u) * u;
    let away = seen - along;
    let distance = n.dot(x1 - x2);
    // In the plane the normal follows from the line alone.
    let turning = match dimension {
        Dimension::Space if distance != 0.0 => (away - n.dot(away) * n) / distance,
        _ => DVec3::ZERO,
    };
    [turning + b.spin.cross(n), a.at(x1), b.at(x2) + along]
}

/// Two lines that are not parallel: the normal is their common perpendicular.
fn lines(n: DVec3, (x1, a, u1): (DVec3, &Twist, DVec3), (x2, b, u2): (DVec3, &Twist, DVec3)) -> [DVec3; 3] {
    let cross = u1.cross(u2);
    let side = if n.dot(cross) < 0.0 { -1.0 } else { 1.0 };
    let cross_rate = a.spin.cross(u1).cross(u2) + u1.cross(b.spin.cross(u2));
    let n_rate = side * (cross_rate - n * n.dot(cross_rate)) / cross.length();
    // s' u₁ - t' u₂ is what keeps the difference of the feet along the normal.
    let missing = n.dot(x1 - x2) * n_rate - (a.at(x1) - b.at(x2));
    let square = cross.length_squared();
    let s_rate = missing.cross(u2).dot(cross) / square;
    let t_rate = missing.cross(u1).dot(cross) / square;
    [n_rate, a.at(x1) + s_rate * u1, b.at(x2) + t_rate * u2]
}

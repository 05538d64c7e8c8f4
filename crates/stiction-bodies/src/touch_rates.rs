//! How the normal and the points of a contact move with the two bodies, in closed form.
//!
//! Each [`Touch`] joins two balls, of radius $r_1$ around $x_1$ and $r_2$ around $x_2$ (a hole is
//! one of negative radius), with $x_1 - x_2 = D n$. What is fixed in the bodies decides how $n$
//! turns: two points, a point and a plane, a point and a line, two lines, the lowest point of an
//! ellipsoid or of a rim, or a point or a line beside a rim or a cone. All angular velocities are constant, as [`row_rates`](stiction_dynamics::row_rates)
//! asks for.

use glamx::DVec3;

use crate::collide::{Part, Touch, in_dimension};
use crate::pose::Pose;
use crate::shape::{Dimension, Shape};

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
    let (n, [r1, r2]) = (touch.normal, touch.radii);
    let (x1, x2) = (touch.point_on_first + r1 * n, touch.point_on_second - r2 * n);
    let (p1, p2) = ((x1, a), (x2, b));
    let [n_rate, x1_rate, x2_rate] = match (touch.parts, first) {
        ([Part::Lowest, Part::Plane], &Shape::Ellipsoid { semi_axes }) => {
            let n_rate = b.spin.cross(n);
            // x_i = -a_i m_i/|m| with m_i = a_i n_i in the axes of the body, where n turns with the
            // difference of the spins.
            let m = semi_axes * pose_first.inverse_transform_vector(n);
            let m_rate = semi_axes * pose_first.inverse_transform_vector(n_rate - a.spin.cross(n));
            let length = m.length();
            let local = -semi_axes * (m_rate / length - m * (m.dot(m_rate) / length.powi(3)));
            let x1_rate = a.at(x1) + in_dimension(dimension, pose_first.transform_vector(local));
            [n_rate, x1_rate, on_plane(n, n_rate, x1, x2, x1_rate, b)]
        }
        ([Part::Point, Part::Plane], _) => {
            let (n_rate, x1_rate) = (b.spin.cross(n), a.at(x1));
            [n_rate, x1_rate, on_plane(n, n_rate, x1, x2, x1_rate, b)]
        }
        ([Part::Point, Part::Point], _) => points(n, p1, p2),
        ([Part::Point, Part::Line(u2)], _) => point_and_line(dimension, n, p1, p2, u2),
        ([Part::Line(u1), Part::Line(u2)], _) => lines(n, (x1, a, u1), (x2, b, u2)),
        ([Part::Line(u1), Part::Brink(m)], _) => {
            // The place slides along the line so that it stays above the edge.
            let (n_rate, seen) = (b.spin.cross(n), a.at(x1) - b.at(x1));
            let x1_rate = a.at(x1) - m.dot(seen) / m.dot(u1) * u1;
            [n_rate, x1_rate, on_plane(n, n_rate, x1, x2, x1_rate, b)]
        }
        ([Part::Rim(axis), Part::Plane], _) => {
            let n_rate = b.spin.cross(n);
            // Opposite to m = n - (n·w) w, where n turns with the difference of the spins.
            let seen = n_rate - a.spin.cross(n);
            let m = n - n.dot(axis) * axis;
            let (length, m_rate) = (m.length(), seen - seen.dot(axis) * axis);
            let radius = (x1 - pose_first.position).reject_from_normalized(axis).length();
            let x1_rate = a.at(x1) - radius / length * (m_rate - m * (m.dot(m_rate) / (length * length)));
            [n_rate, x1_rate, on_plane(n, n_rate, x1, x2, x1_rate, b)]
        }
        ([Part::Point, Part::Rim(axis)], _) => {
            let seen = a.at(x1) - b.at(x1);
            let foot_rate = around(seen, (x1, x2), pose_second, axis);
            let away = seen - foot_rate;
            let turning = (away - n * n.dot(away)) / n.dot(x1 - x2);
            [turning + b.spin.cross(n), a.at(x1), b.at(x2) + foot_rate]
        }
        ([Part::Line(u), Part::Rim(axis)], _) => {
            // The place slides along the line so that n stays across it.
            let u_rate = (a.spin - b.spin).cross(u);
            let seen = a.at(x1) - b.at(x1);
            let [moved, slid] = [seen, u].map(|motion| motion - around(motion, (x1, x2), pose_second, axis));
            let slide = -(moved.dot(u) + (x1 - x2).dot(u_rate)) / slid.dot(u);
            let away = moved + slide * slid;
            let turning = (away - n * n.dot(away)) / n.dot(x1 - x2);
            let foot_rate = seen + slide * u - away;
            [turning + b.spin.cross(n), a.at(x1) + slide * u, b.at(x2) + foot_rate]
        }
        ([Part::Point, Part::Slope(axis)], _) => {
            let seen = a.at(x1) - b.at(x1);
            let (sine, across) = (n.dot(axis), (x1 - pose_second.position).reject_from_normalized(axis));
            let cosine = (1.0 - sine * sine).sqrt();
            let out = across.normalize();
            let out_rate = (seen.reject_from_normalized(axis) - out * out.dot(seen)) / across.length();
            let turning = cosine * out_rate;
            let foot_rate = seen - n.dot(seen) * n - n.dot(x1 - x2) * turning;
            [turning + b.spin.cross(n), a.at(x1), b.at(x2) + foot_rate]
        }
        ([Part::Line(u), Part::Slope(axis)], _) => along_slope(n, (x1, a, u), (x2, b, axis), pose_second),
        ([Part::Crossing(u1), Part::Crossing(u2)], _) => {
            let (c1, c2) = (pose_first.position, pose_second.position);
            let n_rate = if c1 == c2 { b.spin.cross(n) } else { points(n, (c1, a), (c2, b))[0] };
            let [_, x_rate, _] = lines(n, (x1, a, u1), (x2, b, u2));
            [n_rate, x_rate, x_rate]
        }
        // The same in the other order.
        _ => {
            let mirrored = touch.mirrored();
            let [n_rate, second_rate, first_rate] =
                touch_rates(dimension, (second, pose_second, b), (first, pose_first, a), &mirrored);
            return [-n_rate, first_rate, second_rate];
        }
    };
    [n_rate, x1_rate - r1 * n_rate, x2_rate + r2 * n_rate]
}

/// Rate of the foot of a point on a plane of the second body.
fn on_plane(n: DVec3, n_rate: DVec3, x1: DVec3, x2: DVec3, x1_rate: DVec3, b: &Twist) -> DVec3 {
    let distance = n.dot(x1 - x2);
    // The distance changes with the velocity of the foot's material, which may itself slide along
    // the plane.
    let distance_rate = n.dot(x1_rate - b.at(x2));
    x1_rate - distance_rate * n - distance * n_rate
}

/// How the nearest point $x_2$ of a circle moves, where the circle rests, with a point $x_1$.
fn around(motion: DVec3, (x1, x2): (DVec3, DVec3), pose: &Pose, axis: DVec3) -> DVec3 {
    let [out, foot] = [x1, x2].map(|x| (x - pose.position).reject_from_normalized(axis));
    let distance = out.length();
    let sideways = axis.cross(out) / distance;
    foot.length() / distance * sideways.dot(motion) * sideways
}

/// A line of the first body and a cone of the second one: the normal is that of a plane that touches
/// the cone along a generatrix $g$ and is parallel to the line. Seen from the second body, the axis
/// and the tip rest.
fn along_slope(
    n: DVec3,
    (x1, a, u): (DVec3, &Twist, DVec3),
    (x2, b, axis): (DVec3, &Twist, DVec3),
    pose: &Pose,
) -> [DVec3; 3] {
    let sine = n.dot(axis);
    let cosine = (1.0 - sine * sine).sqrt();
    let (out, generatrix) = ((n - sine * axis) / cosine, (axis - sine * n) / cosine);
    // The tip lies where the generatrix meets the axis.
    let from_tip = x1 - (x2 + (x2 - pose.position).dot(out) / sine * generatrix);
    let (seen, u_rate) = (a.at(x1) - b.at(x1), (a.spin - b.spin).cross(u));
    let aside = n.cross(axis);
    let turning = -n.dot(u_rate) / aside.dot(u) * aside;
    let generatrix_rate = -sine / cosine * turning;
    // The difference from the tip has no part across the plane of n and g.
    let across = n.cross(generatrix);
    let across_rate = turning.cross(generatrix) + n.cross(generatrix_rate);
    let slide = -(across_rate.dot(from_tip) + across.dot(seen)) / across.dot(u);
    let x1_rate = seen + slide * u;
    let distance_rate = turning.dot(from_tip) + n.dot(x1_rate);
    let foot_rate = x1_rate - distance_rate * n - n.dot(x1 - x2) * turning;
    [turning + b.spin.cross(n), a.at(x1) + slide * u, b.at(x2) + foot_rate]
}

/// A point of each body.
fn points(n: DVec3, (x1, a): (DVec3, &Twist), (x2, b): (DVec3, &Twist)) -> [DVec3; 3] {
    let (x1_rate, x2_rate) = (a.at(x1), b.at(x2));
    let distance = n.dot(x1 - x2);
    let rate = x1_rate - x2_rate;
    let across = rate - n.dot(rate) * n;
    [if distance == 0.0 { DVec3::ZERO } else { across / distance }, x1_rate, x2_rate]
}

/// A point of the first body and a line of the second one, on which $x_2$ is the foot: seen from
/// the second body the line rests.
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

//! Where a body is: a position and a unit quaternion, and how a quaternion advances in time.
//!
//! Planar bodies live in the same space: position with z = 0, rotation about z. The quaternion is
//! then (0, 0, sin φ/2, cos φ/2), and every function here keeps the two zeros exact.

use std::f64::consts::{PI, TAU};

use glamx::{DQuat, DVec3};
use stiction_solve::PortableMath as _;

/// Half-angles below this, in radians, use the series of sin x / x. The first term left out is
/// x⁶/5040, far below rounding. Too large: the series is inaccurate. Too small: no harm until
/// squares underflow.
const SERIES_HALF_ANGLE: f64 = 1e-3;

/// Angles below this, in radians, use the series of (x - sin x) / x³. The first term left out is
/// 2e-7 x⁸, below rounding. Too small: the difference cancels.
const SERIES_ANGLE: f64 = 0.05;

/// Position and orientation of a body or of a shape: a map from local to world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// World coordinates of the local origin, in metres.
    pub position: DVec3,
    /// Unit quaternion that turns local vectors into world vectors.
    pub orientation: DQuat,
}

impl Pose {
    /// Local and world coordinates are the same.
    pub const IDENTITY: Self = Self { position: DVec3::ZERO, orientation: DQuat::IDENTITY };

    /// Position in metres, orientation a unit quaternion from local to world.
    pub fn new(position: DVec3, orientation: DQuat) -> Self {
        Self { position, orientation }
    }

    /// A pose in the plane z = 0: `x` and `y` in metres, `angle` in radians, anticlockwise about z.
    pub fn planar(x: f64, y: f64, angle: f64) -> Self {
        let (sine, cosine) = (0.5 * angle).portable_sin_cos();
        Self { position: DVec3::new(x, y, 0.0), orientation: DQuat::from_xyzw(0.0, 0.0, sine, cosine) }
    }

    /// Angle of a planar pose about z, in radians, in (-π, π]. Meaningless when the rotation is
    /// about another axis.
    pub fn planar_angle(&self) -> f64 {
        // q and -q are the same rotation; the half-angle covers a full turn.
        within_half_a_turn(2.0 * self.orientation.z.portable_atan2(self.orientation.w))
    }

    /// World coordinates of a local point, in metres.
    #[inline]
    pub fn transform_point(&self, local: DVec3) -> DVec3 {
        self.position + self.orientation * local
    }

    /// World components of a local vector, in the vector's unit.
    #[inline]
    pub fn transform_vector(&self, local: DVec3) -> DVec3 {
        self.orientation * local
    }

    /// Local coordinates of a world point, in metres.
    #[inline]
    pub fn inverse_transform_point(&self, world: DVec3) -> DVec3 {
        self.orientation.conjugate() * (world - self.position)
    }

    /// Local components of a world vector, in the vector's unit.
    #[inline]
    pub fn inverse_transform_vector(&self, world: DVec3) -> DVec3 {
        self.orientation.conjugate() * world
    }

    /// The pose in the world of something that has pose `local` relative to this one.
    pub fn compose(&self, local: &Pose) -> Pose {
        Pose { position: self.transform_point(local.position), orientation: self.orientation * local.orientation }
    }
}

impl Default for Pose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// The same angle in (-π, π].
pub(crate) fn within_half_a_turn(angle: f64) -> f64 {
    let turned = angle - TAU * (angle / TAU).round();
    if turned <= -PI { turned + TAU } else { turned }
}

/// The rotation about the axis of a vector by its length, in rad.
pub(crate) fn turn_by(rotation: DVec3) -> DQuat {
    let half = rotation * 0.5;
    let x = half.length();
    let sinc = sinc(x);
    DQuat::from_xyzw(sinc * half.x, sinc * half.y, sinc * half.z, x.portable_cos())
}

/// The orientation after turning for `h` seconds at the constant rate `angular_velocity_body`, in
/// rad/s and in body axes.
///
/// Exact up to rounding, for any angle: the quaternion is multiplied from the right by
///
/// $$ \exp(h \omega / 2) = \left( \frac{\sin x}{x} \frac{h \omega}{2}, \cos x \right), \qquad x = h |\omega| / 2, $$
///
/// and brought back to unit length, so that rounding does not accumulate in the norm.
pub fn advance_orientation(orientation: DQuat, angular_velocity_body: DVec3, h: f64) -> DQuat {
    (orientation * turn_by(angular_velocity_body * h)).normalize()
}

/// How the end of a turn moves when the vector of the turn, in rad and in body axes, changes at the
/// rate `change`: the angular velocity there, in body axes.
///
/// $$ \omega = \dot\varphi - \frac{1 - \cos x}{x^2} \varphi \times \dot\varphi + \frac{x - \sin x}{x^3} \varphi \times (\varphi \times \dot\varphi), \qquad x = |\varphi|. $$
pub fn turn_derivative(turn: DVec3, change: DVec3) -> DVec3 {
    let x = turn.length();
    // (1 - cos x) / x² by the half angle, which does not cancel; the other by its series where it
    // would.
    let first = 0.5 * sinc(0.5 * x).powi(2);
    let second = if x < SERIES_ANGLE {
        let y = x * x;
        (1.0 - y / 20.0 * (1.0 - y / 42.0 * (1.0 - y / 72.0))) / 6.0
    } else {
        (x - x.portable_sin()) / (x * x * x)
    };
    let across = turn.cross(change);
    change - first * across + second * turn.cross(across)
}

/// $\sin x / x$.
fn sinc(x: f64) -> f64 {
    if x < SERIES_HALF_ANGLE { 1.0 - x * x / 6.0 * (1.0 - x * x / 20.0) } else { x.portable_sin() / x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    fn assert_near(a: DVec3, b: DVec3, tolerance: f64) {
        assert!((a - b).length() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn quarter_turn_by_hand() {
        // A quarter turn about z takes x to y and y to -x.
        let pose = Pose::planar(1.0, 2.0, FRAC_PI_2);
        assert_near(pose.transform_point(DVec3::new(3.0, 0.0, 0.0)), DVec3::new(1.0, 5.0, 0.0), 1e-15);
        assert_near(pose.transform_vector(DVec3::Y), -DVec3::X, 1e-15);
        assert_near(pose.inverse_transform_point(DVec3::new(1.0, 5.0, 0.0)), DVec3::new(3.0, 0.0, 0.0), 1e-15);
        assert_near(pose.inverse_transform_vector(-DVec3::X), DVec3::Y, 1e-15);

        // The same turn in one step: π/2 rad in 0.5 s.
        let turned = advance_orientation(DQuat::IDENTITY, DVec3::new(0.0, 0.0, PI), 0.5);
        let root = 0.5f64.sqrt();
        assert!((turned - DQuat::from_xyzw(0.0, 0.0, root, root)).length() < 1e-15);
    }

    #[test]
    fn the_rate_is_in_body_axes() {
        // The body's x axis points along world y, so a rate about body x turns about world y: z
        // goes to x.
        let start = DQuat::from_rotation_z(FRAC_PI_2);
        let end = advance_orientation(start, DVec3::new(FRAC_PI_2, 0.0, 0.0), 1.0);
        assert_near(end * DVec3::Z, DVec3::X, 1e-15);
        assert_near(end * DVec3::X, DVec3::Y, 1e-15);
    }

    #[test]
    fn compose_is_one_after_the_other() {
        let outer = Pose::new(DVec3::new(1.0, -2.0, 0.5), DQuat::from_rotation_x(0.7));
        let inner = Pose::new(DVec3::new(0.3, 0.4, -1.0), DQuat::from_rotation_y(-1.1));
        let p = DVec3::new(0.2, 0.9, -0.6);
        let twice = outer.transform_point(inner.transform_point(p));
        assert_near(outer.compose(&inner).transform_point(p), twice, 1e-15);
        assert_near(outer.compose(&inner).inverse_transform_point(twice), p, 1e-15);
    }

    #[test]
    fn many_small_steps_keep_the_norm_and_the_angle() {
        let rate = DVec3::new(0.3, -0.5, 0.8);
        let h = 1e-4;
        let steps = 100_000;
        let start = DQuat::from_rotation_y(0.4);
        let mut q = start;
        for _ in 0..steps {
            q = advance_orientation(q, rate, h);
            assert!((q.length() - 1.0).abs() < 1e-14);
        }
        // Ten seconds at a constant body rate are one rotation about the axis of the rate. 1e5
        // steps, each with a rounding of about 1e-16: 1e-11 at the very worst.
        let exact = start * DQuat::from_axis_angle(rate.normalize(), rate.length() * h * steps as f64);
        let difference = (q - exact).length().min((q + exact).length());
        assert!(difference < 1e-11, "off by {difference:e}");
    }

    #[test]
    fn series_and_sine_agree_where_they_meet() {
        for x in [0.999 * SERIES_HALF_ANGLE, 1.001 * SERIES_HALF_ANGLE] {
            let q = advance_orientation(DQuat::IDENTITY, DVec3::new(2.0 * x, 0.0, 0.0), 1.0);
            assert!((q.x - x.sin()).abs() <= 2.0 * f64::EPSILON * x);
        }
    }

    #[test]
    fn tiny_angles_are_kept() {
        for angle in [0.0, 5e-324, 1e-200, 1e-160, 1e-100, 1e-20] {
            let q = advance_orientation(DQuat::IDENTITY, DVec3::new(0.0, angle, 0.0), 1.0);
            assert!(q.is_finite());
            assert_eq!(q.w, 1.0);
            assert!((q.y - 0.5 * angle).abs() <= f64::EPSILON * angle);
        }
    }

    #[test]
    fn planar_orientation_stays_planar() {
        let mut pose = Pose::planar(0.0, 0.0, 0.3);
        for _ in 0..1000 {
            pose.orientation = advance_orientation(pose.orientation, DVec3::new(0.0, 0.0, 2.0), 1e-3);
        }
        assert_eq!((pose.orientation.x, pose.orientation.y), (0.0, 0.0));
        assert!((pose.planar_angle() - 2.3).abs() < 1e-12);
        // 2.3 + 1.2 rad is past half a turn.
        pose.orientation = advance_orientation(pose.orientation, DVec3::new(0.0, 0.0, 1.2), 1.0);
        assert!((pose.planar_angle() - (3.5 - 2.0 * PI)).abs() < 1e-12);
    }
}

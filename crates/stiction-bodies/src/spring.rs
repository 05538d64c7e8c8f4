//! Springs and dampers, linear and torsional: their laws, in the relative position or rotation of
//! what they join.
//!
//! A spring between points $p_1$ and $p_2$ sees $d = p_1 - p_2$ and pulls the first point with
//!
//! $$ -(\gamma \varphi + \delta \dot\varphi) \nabla \varphi, \qquad
//!    \varphi = |d| - L \quad\text{or}\quad \varphi = a \cdot d - L, $$
//!
//! \[PAGT\] (9.1), where $\gamma$ is the stiffness, $\delta$ the damping, $L$ the rest length and
//! $a$ a fixed axis of the world. The second form is linear in positions: what the carts of
//! \[PAGT\] need. A spring of rest length zero is three of them, $-\gamma d - \delta \dot d$,
//! without a direction that would be lost at length zero.

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::{ValueError, check_not_negative};
use stiction_solve::PortableMath as _;

use crate::body::Body;
use crate::error::{check_ends, check_unit};
use crate::pose::within_half_a_turn;
use crate::shape::Dimension;

/// A spring and damper between two points.
#[derive(Clone, Debug, PartialEq)]
pub struct Spring {
    /// Name.
    pub name: String,
    /// Where it begins.
    pub first: Attachment,
    /// Where it ends.
    pub second: Attachment,
    /// Stiffness $\gamma$, in N/m.
    pub stiffness: f64,
    /// Damping $\delta$, in N s/m.
    pub damping: f64,
    /// Rest length $L$, in metres; with an axis it may be negative.
    pub rest_length: f64,
    /// Unit vector $a$ in world axes: only the distance along it is felt.
    pub axis: Option<DVec3>,
    /// Force that must be overcome before it gives way, in N: $-F \mathrm{Sgn}(\varphi)$ beside the
    /// others, \[GS05\] (3) on displacement level.
    pub preload: f64,
}

impl Spring {
    /// The bodies at its ends; none for the world.
    pub(crate) fn bodies(&self) -> [Option<usize>; 2] {
        [self.first.body, self.second.body]
    }

    /// Checks it beside these bodies.
    ///
    /// # Errors
    /// [`ValueError`] when it holds nothing, or a number, a point or an axis has no meaning.
    pub fn check(&self, dimension: Dimension, bodies: &[Body]) -> Result<(), ValueError> {
        let ends = self.bodies();
        check_ends(bodies, ends, ["bodies", "bodies.1"])?;
        check_strength([self.stiffness, self.damping], ["N/m", "N s/m"])?;
        for (number, Attachment { body, point }) in [self.first, self.second].into_iter().enumerate() {
            let key = format!("points.{number}");
            if let Some(body) = body.map(|body| &bodies[body]).filter(|body| body.is_point())
                && point != DVec3::ZERO
            {
                let message = format!("body `{}` is a point, and a spring holds on to it at its origin", body.name);
                let remedy = "give zeros for this point, or make the body `kind = \"rigid\"`";
                return Err(ValueError::new(key, message, remedy));
            }
            if !point.is_finite() || (dimension == Dimension::Plane && point.z != 0.0) {
                let remedy = "give finite coordinates, and 0 out of the plane";
                return Err(ValueError::new(key, format!("a point is {:?}", point.to_array()), remedy));
            }
        }
        match self.axis {
            Some(axis) => check_unit("axis", axis, dimension)?,
            None => check_not_negative("rest-length", "the rest length", self.rest_length, "m")?,
        }
        check_not_negative("preload", "the preload", self.preload, "N")?;
        let is_driven = |end: &Option<usize>| end.is_some_and(|body| bodies[body].kind.motion().is_some());
        if let Some(number) = ends.iter().position(is_driven).filter(|_| self.preload > 0.0) {
            let name = ends[number].map_or("", |body| &bodies[body].name);
            let message = format!("body `{name}` is prescribed, and a pre-stressed spring holds on to none");
            let remedy = "name another body, or remove `preload`";
            return Err(ValueError::new(format!("bodies.{number}"), message, remedy));
        }
        Ok(())
    }
}

/// Refuses stiffness and damping that are negative.
fn check_strength([stiffness, damping]: [f64; 2], units: [&str; 2]) -> Result<(), ValueError> {
    check_not_negative("stiffness", "the stiffness", stiffness, units[0])?;
    check_not_negative("damping", "the damping", damping, units[1])
}

/// Where an end of a spring is attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attachment {
    /// Number of the body; none for the world.
    pub body: Option<usize>,
    /// The point in coordinates of the body, or of the world, in metres.
    pub point: DVec3,
}

/// A spring and damper of a relative rotation.
///
/// The angle is that of the first body relative to the second, in the plane with all its turns. In
/// space it is the part of the relative rotation about the axis,
/// $2 \operatorname{atan2}(v \cdot a, w)$ of the quaternion $(w, v)$ from the axes of the first
/// body to those of the second, and $\varphi$ = angle - rest angle is taken in $(-\pi, \pi]$: the
/// spring jumps from one end of that range to the other. Where the axes of the two bodies differ by
/// half a turn across $a$, there is no angle, and no torque.
#[derive(Clone, Debug, PartialEq)]
pub struct TorsionSpring {
    /// Name.
    pub name: String,
    /// Number of the first body.
    pub first: usize,
    /// Number of the second body; none for the world.
    pub second: Option<usize>,
    /// Unit vector $a$ in coordinates of the first body, with which it turns; in the plane z.
    pub axis: DVec3,
    /// Stiffness, in N m/rad.
    pub stiffness: f64,
    /// Damping, in N m s/rad.
    pub damping: f64,
    /// Rest angle, in radians.
    pub rest_angle: f64,
}

impl TorsionSpring {
    /// The bodies at its ends; none for the world.
    pub(crate) fn bodies(&self) -> [Option<usize>; 2] {
        [Some(self.first), self.second]
    }

    /// Its angle in space between bodies with these orientations; none where there is no angle.
    pub(crate) fn twist(&self, orientation: impl Fn(usize) -> DQuat) -> Option<Twist> {
        let second = self.second.map_or(DQuat::IDENTITY, &orientation);
        Twist::new(self.axis, second.conjugate() * orientation(self.first))
    }

    /// Checks it beside these bodies.
    ///
    /// # Errors
    /// [`ValueError`] when it holds nothing, or a number or the axis has no meaning.
    pub fn check(&self, dimension: Dimension, bodies: &[Body]) -> Result<(), ValueError> {
        let ends = self.bodies();
        check_ends(bodies, ends, ["bodies", "bodies.1"])?;
        for (number, body) in ends.into_iter().flatten().enumerate() {
            if bodies[body].is_point() {
                let message = format!("body `{}` is a point, which does not rotate", bodies[body].name);
                let remedy = "name a rigid body, or make this one `kind = \"rigid\"`";
                return Err(ValueError::new(format!("bodies.{number}"), message, remedy));
            }
        }
        check_strength([self.stiffness, self.damping], ["N m/rad", "N m s/rad"])?;
        check_unit("axis", self.axis, dimension)
    }

    /// The angle at the start, with bodies of these poses at time `t`, in radians; zero where there
    /// is none.
    pub fn angle_at_start(&self, dimension: Dimension, bodies: &[Body], t: f64) -> f64 {
        match dimension {
            Dimension::Plane => {
                let angle = |body: usize| bodies[body].planar_angle_at(t);
                angle(self.first) - self.second.map_or(0.0, angle)
            }
            Dimension::Space => {
                let twist = self.twist(|body| bodies[body].pose_at(t).orientation);
                twist.map_or(0.0, |twist| twist.angle)
            }
        }
    }
}

/// The pull of a spring and of its damper: a vector each, which acts on the second point and
/// against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pull {
    pub(crate) spring: DVec3,
    pub(crate) damper: DVec3,
}

/// Derivatives of a [`Pull`] by $d$ and $\dot d$.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PullDerivatives {
    pub(crate) spring_by_distance: DMat3,
    pub(crate) damper_by_distance: DMat3,
    pub(crate) damper_by_rate: DMat3,
}

impl Spring {
    /// The pull at $d$ and $\dot d$. At length zero there is no direction, and no pull unless the
    /// rest length is zero.
    pub(crate) fn pull(&self, d: DVec3, rate: DVec3) -> Pull {
        let (gamma, delta) = (self.stiffness, self.damping);
        match self.line(d) {
            Line::Everywhere => Pull { spring: gamma * d, damper: delta * rate },
            Line::Along { u, phi, .. } => Pull { spring: gamma * phi * u, damper: delta * u.dot(rate) * u },
            Line::Lost => Pull { spring: DVec3::ZERO, damper: DVec3::ZERO },
        }
    }

    /// The exact derivatives.
    pub(crate) fn pull_derivatives(&self, d: DVec3, rate: DVec3) -> PullDerivatives {
        let mut derivatives = self.definite_derivatives(d);
        if let Line::Along { u, phi, turning } = self.line(d) {
            // du = P dd / |d| with the projector P = 1 - u uᵀ; an axis does not turn.
            let across = (DMat3::IDENTITY - outer(u, u)) * turning;
            derivatives.spring_by_distance += self.stiffness * phi * across;
            derivatives.damper_by_distance = self.damping * (outer(u, across * rate) + u.dot(rate) * across);
        }
        derivatives
    }

    /// $\gamma \nabla\varphi \nabla\varphi^T$ and $\delta \nabla\varphi \nabla\varphi^T$, \[PAGT\]
    /// (9.2), (9.3).
    pub(crate) fn definite_derivatives(&self, d: DVec3) -> PullDerivatives {
        let square = match self.line(d) {
            Line::Everywhere => DMat3::IDENTITY,
            Line::Along { u, .. } => outer(u, u),
            Line::Lost => DMat3::ZERO,
        };
        PullDerivatives {
            spring_by_distance: self.stiffness * square,
            damper_by_distance: DMat3::ZERO,
            damper_by_rate: self.damping * square,
        }
    }

    /// Energy stored at $d$, in joules.
    pub(crate) fn energy(&self, d: DVec3) -> f64 {
        let phi = match self.axis {
            Some(axis) => axis.dot(d) - self.rest_length,
            None => d.length() - self.rest_length,
        };
        0.5 * self.stiffness * phi * phi
    }

    /// The direction $\nabla \varphi$ along which it stretches, and $\varphi$; without a direction
    /// at length zero.
    pub(crate) fn elongation(&self, d: DVec3) -> (DVec3, f64) {
        match self.line(d) {
            Line::Along { u, phi, .. } => (u, phi),
            Line::Everywhere => (d.normalize_or_zero(), d.length()),
            Line::Lost => (DVec3::ZERO, -self.rest_length),
        }
    }

    fn line(&self, d: DVec3) -> Line {
        if let Some(u) = self.axis {
            return Line::Along { u, phi: u.dot(d) - self.rest_length, turning: 0.0 };
        }
        let length = d.length();
        if self.rest_length == 0.0 {
            Line::Everywhere
        } else if length < f64::MIN_POSITIVE {
            Line::Lost
        } else {
            Line::Along { u: d / length, phi: length - self.rest_length, turning: 1.0 / length }
        }
    }
}

/// The line on which a spring acts.
enum Line {
    /// All of them, as the rest length is zero.
    Everywhere,
    /// Along `u`, which turns by `turning` for each unit of $d$ across it.
    Along { u: DVec3, phi: f64, turning: f64 },
    /// None, as the length is zero.
    Lost,
}

/// Angle of a torsion spring in space, without its rest angle, and its gradient.
///
/// For the quaternion $(w, v)$ from the first to the second axes, $\dot\theta = g \cdot \Omega$
/// with the relative angular velocity $\Omega$ in axes of the first body and
///
/// $$ g = \frac{w^2 a + w\, a \times v + (v \cdot a)\, v}{w^2 + (v \cdot a)^2}. $$
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twist {
    /// In (-π, π].
    pub(crate) angle: f64,
    /// $g$, in axes of the first body.
    pub(crate) gradient: DVec3,
    axis: DVec3,
    w: f64,
    v: DVec3,
}

impl Twist {
    /// None where there is no angle.
    pub(crate) fn new(axis: DVec3, relative: DQuat) -> Option<Self> {
        let (w, v) = (relative.w, relative.xyz());
        let p = v.dot(axis);
        let size = w * w + p * p;
        if size < f64::MIN_POSITIVE {
            return None;
        }
        let gradient = (w * w * axis + w * axis.cross(v) + p * v) / size;
        Some(Self { angle: within_half_a_turn(2.0 * p.portable_atan2(w)), gradient, axis, w, v })
    }

    /// Change of the gradient along a relative rotation, both in axes of the first body.
    pub(crate) fn gradient_change(&self, rotation: DVec3) -> DVec3 {
        let Self { gradient, axis, w, v, .. } = *self;
        let p = v.dot(axis);
        // The change of the quaternion: half of its product with the rotation.
        let dw = -0.5 * v.dot(rotation);
        let dv = 0.5 * (w * rotation + v.cross(rotation));
        let dp = dv.dot(axis);
        let change = 2.0 * w * dw * axis + dw * axis.cross(v) + w * axis.cross(dv) + dp * v + p * dv;
        (change - 2.0 * (w * dw + p * dp) * gradient) / (w * w + p * p)
    }
}

/// $a b^T$.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    const RATE: DVec3 = DVec3::new(0.2, -0.7, 0.4);

    fn spring(rest_length: f64, axis: Option<DVec3>) -> Spring {
        let end = Attachment { body: None, point: DVec3::ZERO };
        Spring {
            name: "s".into(),
            first: end,
            second: end,
            stiffness: 10.0,
            damping: 2.0,
            rest_length,
            axis,
            preload: 0.0,
        }
    }

    #[test]
    fn pull_by_hand() {
        // d = (3, 4, 0) has length 5, u = (0.6, 0.8, 0): 10·(5 - 4) along u; u·rate = 0.12 - 0.56 =
        // -0.44, twice that as well.
        let d = DVec3::new(3.0, 4.0, 0.0);
        let Pull { spring: s, damper } = spring(4.0, None).pull(d, RATE);
        assert!((s - DVec3::new(6.0, 8.0, 0.0)).length() < 1e-14);
        assert!((damper - -0.88 * DVec3::new(0.6, 0.8, 0.0)).length() < 1e-14);
        assert!((spring(4.0, None).energy(d) - 5.0).abs() < 1e-14);
        // Along x: 10·(3 - 4) and 2·0.2.
        let along_x = spring(4.0, Some(DVec3::X));
        assert_eq!(along_x.pull(d, RATE), Pull { spring: -10.0 * DVec3::X, damper: 0.4 * DVec3::X });
        assert_eq!(along_x.energy(d), 5.0);
        // Rest length zero: no direction is needed, at length zero either.
        assert_eq!(spring(0.0, None).pull(d, RATE), Pull { spring: 10.0 * d, damper: 2.0 * RATE });
        assert_eq!(spring(0.0, None).pull(DVec3::ZERO, RATE).spring, DVec3::ZERO);
        assert_eq!(spring(1.0, None).pull(DVec3::ZERO, RATE).damper, DVec3::ZERO);
    }

    #[test]
    fn derivatives_are_those_of_the_pull() {
        let d = DVec3::new(0.3, -0.4, 0.5);
        for law in
            [spring(0.2, None), spring(1.5, None), spring(0.0, None), spring(-0.3, Some(DVec3::new(0.6, 0.0, 0.8)))]
        {
            let exact = law.pull_derivatives(d, RATE);
            let step = 1e-6;
            for axis in 0..3 {
                let (ahead, behind) =
                    (law.pull(d + step * DVec3::AXES[axis], RATE), law.pull(d - step * DVec3::AXES[axis], RATE));
                // Central differences: 1e-12 of truncation and 1e-10 of rounding.
                let measured = (ahead.spring - behind.spring) / (2.0 * step);
                assert!((measured - exact.spring_by_distance.col(axis)).length() < 1e-8, "{law:?}");
                let measured = (ahead.damper - behind.damper) / (2.0 * step);
                assert!((measured - exact.damper_by_distance.col(axis)).length() < 1e-8, "{law:?}");
                let by_rate = law.pull(d, RATE + DVec3::AXES[axis]).damper - law.pull(d, RATE).damper;
                assert!((by_rate - exact.damper_by_rate.col(axis)).length() < 1e-14, "{law:?}");
            }
        }
    }

    #[test]
    fn twist_by_hand_and_by_differences() {
        // About the axis itself the angle is that of the rotation, its gradient the axis.
        let axis = DVec3::new(0.6, 0.0, 0.8);
        let twist = Twist::new(axis, DQuat::from_axis_angle(axis, 2.5)).unwrap();
        assert!((twist.angle - 2.5).abs() < 1e-14 && (twist.gradient - axis).length() < 1e-14);
        // A turn about the axis adds to whatever there is besides.
        let start = DQuat::from_xyzw(0.3, -0.2, 0.5, 0.7).normalize();
        let angle = |q: DQuat| Twist::new(axis, q).unwrap().angle;
        let turned = start * DQuat::from_axis_angle(axis, 0.4);
        assert!((angle(turned) - angle(start) - 0.4).abs() < 1e-14);
        assert!(Twist::new(DVec3::Z, DQuat::from_rotation_x(PI)).is_none_or(|twist| twist.gradient.is_finite()));
        let twist = Twist::new(axis, start).unwrap();
        let step = 1e-6;
        for number in 0..3 {
            let rotation = DVec3::AXES[number];
            let at = |h: f64| Twist::new(axis, start * DQuat::from_scaled_axis(h * rotation)).unwrap();
            let (ahead, behind) = (at(step), at(-step));
            assert!(((ahead.angle - behind.angle) / (2.0 * step) - twist.gradient.dot(rotation)).abs() < 1e-9);
            let measured = (ahead.gradient - behind.gradient) / (2.0 * step);
            assert!((measured - twist.gradient_change(rotation)).length() < 1e-9);
        }
        assert_eq!(within_half_a_turn(PI), PI);
        assert!((within_half_a_turn(-3.5 * PI) - 0.5 * PI).abs() < 1e-14);
    }
}

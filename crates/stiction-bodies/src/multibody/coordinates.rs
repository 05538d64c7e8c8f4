//! Where the coordinates of each body stand, and poses and velocities from them.

use std::f64::consts::TAU;

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::State;
use stiction_solve::PortableMath as _;

use super::{Multibody, MultibodyModel};
use crate::body::{BodyKind, Motion};
use crate::pose::{Pose, advance_orientation, turn_by, turn_derivative};
use crate::shape::Dimension;

/// Where the coordinates of a body stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    PlaneRigid {
        q: usize,
        v: usize,
    },
    PlanePoint {
        q: usize,
        v: usize,
    },
    SpaceRigid {
        q: usize,
        v: usize,
        spin: SpinAxes,
    },
    SpacePoint {
        q: usize,
        v: usize,
    },
    /// Static or prescribed.
    Fixed,
}

/// Axes of the angular velocity of a body in space. Both keep the inertia constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SpinAxes {
    /// Body axes, for bodies in general.
    Body,
    /// World axes, for bodies whose inertia is the same about every axis: their rows do not turn with them, and an impact
    /// changes the recorded spin by the impulse alone.
    World,
}

impl SpinAxes {
    fn of(inertia: &DMat3) -> Self {
        if *inertia == DMat3::from_diagonal(DVec3::splat(inertia.x_axis.x)) { Self::World } else { Self::Body }
    }

    /// A world vector in these axes.
    pub(super) fn of_world(self, orientation: DQuat, vector: DVec3) -> DVec3 {
        match self {
            Self::Body => orientation.inverse() * vector,
            Self::World => vector,
        }
    }

    pub(super) fn to_world(self, orientation: DQuat, vector: DVec3) -> DVec3 {
        match self {
            Self::Body => orientation * vector,
            Self::World => vector,
        }
    }

    fn to_body(self, orientation: DQuat, vector: DVec3) -> DVec3 {
        match self {
            Self::Body => vector,
            Self::World => orientation.inverse() * vector,
        }
    }
}

/// The coordinates of all bodies.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    /// One for each body.
    pub(super) layout: Vec<Layout>,
    q_count: usize,
    pub(super) v_count: usize,
}

impl Coordinates {
    pub(super) fn new(model: &MultibodyModel) -> Self {
        let (mut q_count, mut v_count) = (0, 0);
        let mut layout = Vec::with_capacity(model.bodies.len());
        for body in &model.bodies {
            let (q, v) = (q_count, v_count);
            let (place, q_size, v_size) = match (&body.kind, model.dimension) {
                (BodyKind::Rigid { .. }, Dimension::Plane) => (Layout::PlaneRigid { q, v }, 3, 3),
                (BodyKind::Rigid { inertia, .. }, Dimension::Space) => {
                    (Layout::SpaceRigid { q, v, spin: SpinAxes::of(inertia) }, 7, 6)
                }
                (BodyKind::Point { .. }, Dimension::Plane) => (Layout::PlanePoint { q, v }, 2, 2),
                (BodyKind::Point { .. }, Dimension::Space) => (Layout::SpacePoint { q, v }, 3, 3),
                (BodyKind::Static | BodyKind::Prescribed(_), _) => (Layout::Fixed, 0, 0),
            };
            layout.push(place);
            q_count += q_size;
            v_count += v_size;
        }
        Self { layout, q_count, v_count }
    }

    /// Whether the coordinates of the angular velocity of a body turn with it.
    pub(super) fn spin_turns(&self, body: usize) -> bool {
        matches!(self.layout[body], Layout::SpaceRigid { spin: SpinAxes::Body, .. })
    }

    pub(super) fn advance(&self, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        for layout in &self.layout {
            let (i, j, straight) = match *layout {
                Layout::PlaneRigid { q, v } | Layout::SpaceRigid { q, v, .. } | Layout::SpacePoint { q, v } => {
                    (q, v, 3)
                }
                Layout::PlanePoint { q, v } => (q, v, 2),
                Layout::Fixed => continue,
            };
            for a in 0..straight {
                out[i + a] = q[i + a] + h * v[j + a];
            }
            if let Layout::SpaceRigid { spin, .. } = layout {
                let orientation = DQuat::from_xyzw(q[i + 4], q[i + 5], q[i + 6], q[i + 3]);
                let rate = spin.to_body(orientation, DVec3::from_slice(&v[j + 3..]));
                let turned = advance_orientation(orientation, rate, h);
                out[i + 3..i + 7].copy_from_slice(&[turned.w, turned.x, turned.y, turned.z]);
            }
        }
    }
}

impl Coordinates {
    /// The rate of the coordinates: of a quaternion half its product with the angular velocity in body axes.
    pub(super) fn rate(&self, q: &[f64], v: &[f64], out: &mut [f64]) {
        for layout in &self.layout {
            let (i, j, straight) = match *layout {
                Layout::PlaneRigid { q, v } | Layout::SpaceRigid { q, v, .. } | Layout::SpacePoint { q, v } => {
                    (q, v, 3)
                }
                Layout::PlanePoint { q, v } => (q, v, 2),
                Layout::Fixed => continue,
            };
            out[i..i + straight].copy_from_slice(&v[j..j + straight]);
            if let Layout::SpaceRigid { spin, .. } = layout {
                let orientation = DQuat::from_xyzw(q[i + 4], q[i + 5], q[i + 6], q[i + 3]);
                let spin = spin.to_body(orientation, DVec3::from_slice(&v[j + 3..]));
                let rate = orientation * DQuat::from_xyzw(0.5 * spin.x, 0.5 * spin.y, 0.5 * spin.z, 0.0);
                out[i + 3..i + 7].copy_from_slice(&[rate.w, rate.x, rate.y, rate.z]);
            }
        }
    }
}

impl Coordinates {
    /// How the end of a motion with velocity `v` moves when that changes by `w`: positions with it, orientations by the curvature of the turn.
    pub(super) fn advance_derivative(&self, v: &[f64], h: f64, w: &[f64], out: &mut [f64]) {
        out.copy_from_slice(w);
        for layout in &self.layout {
            let Layout::SpaceRigid { v: j, spin, .. } = *layout else { continue };
            let (rate, change) = (DVec3::from_slice(&v[j + 3..]), DVec3::from_slice(&w[j + 3..]));
            // World axes do not turn with the body: seen from them, the turn is the reverse.
            let turn = match spin {
                SpinAxes::Body => h * rate,
                SpinAxes::World => -h * rate,
            };
            out[j + 3..j + 6].copy_from_slice(&turn_derivative(turn, change).to_array());
        }
    }
}

impl Multibody {
    /// The state at the start, at time `t`.
    pub fn start(&self, t: f64) -> State {
        if let Some((q, v)) = &self.start {
            return State::new(t, q.clone(), v.clone());
        }
        let (mut q, mut v) =
            (Vec::with_capacity(self.coordinates.q_count), Vec::with_capacity(self.coordinates.v_count));
        for (body, layout) in self.model.bodies.iter().zip(&self.coordinates.layout) {
            let Pose { position, orientation } = body.pose;
            match layout {
                Layout::PlaneRigid { .. } => {
                    let angle = body.pose.planar_angle() + TAU * f64::from(body.turns);
                    q.extend([position.x, position.y, angle]);
                    v.extend([body.velocity.x, body.velocity.y, body.angular_velocity.z]);
                }
                Layout::PlanePoint { .. } => {
                    q.extend([position.x, position.y]);
                    v.extend([body.velocity.x, body.velocity.y]);
                }
                Layout::SpaceRigid { spin, .. } => {
                    let unit = orientation.normalize();
                    q.extend(position.to_array());
                    q.extend([unit.w, unit.x, unit.y, unit.z]);
                    v.extend(body.velocity.to_array());
                    v.extend(spin.of_world(unit, body.angular_velocity).to_array());
                }
                Layout::SpacePoint { .. } => {
                    q.extend(position.to_array());
                    v.extend(body.velocity.to_array());
                }
                Layout::Fixed => {}
            }
        }
        State::new(t, q, v)
    }

    /// Pose of a body.
    pub fn pose(&self, body: usize, t: f64, q: &[f64]) -> Pose {
        let start = &self.model.bodies[body].pose;
        match self.coordinates.layout[body] {
            Layout::PlaneRigid { q: i, .. } => Pose::planar(q[i], q[i + 1], q[i + 2]),
            Layout::PlanePoint { q: i, .. } => Pose::new(DVec3::new(q[i], q[i + 1], 0.0), start.orientation),
            Layout::SpaceRigid { q: i, .. } => {
                Pose::new(DVec3::from_slice(&q[i..]), DQuat::from_xyzw(q[i + 4], q[i + 5], q[i + 6], q[i + 3]))
            }
            Layout::SpacePoint { q: i, .. } => Pose::new(DVec3::from_slice(&q[i..]), start.orientation),
            Layout::Fixed => match &self.model.bodies[body].kind {
                BodyKind::Prescribed(motion) => prescribed_pose(start, motion, t),
                _ => *start,
            },
        }
    }

    /// Angle of a body in the plane with all its turns, in radians.
    pub(super) fn planar_angle(&self, body: usize, t: f64, q: &[f64]) -> f64 {
        match self.coordinates.layout[body] {
            Layout::PlaneRigid { q: i, .. } => q[i + 2],
            _ => self.model.bodies[body].planar_angle_at(t),
        }
    }

    /// Velocity of the origin and angular velocity of a body, both in world axes, in m/s and rad/s.
    pub fn velocity(&self, body: usize, state: &State) -> (DVec3, DVec3) {
        self.velocity_at(body, state.t, &state.q, &state.v)
    }

    /// The same, of a state in parts.
    pub(super) fn velocity_at(&self, body: usize, t: f64, q: &[f64], v: &[f64]) -> (DVec3, DVec3) {
        match self.coordinates.layout[body] {
            Layout::PlaneRigid { v: i, .. } => (DVec3::new(v[i], v[i + 1], 0.0), DVec3::new(0.0, 0.0, v[i + 2])),
            Layout::PlanePoint { v: i, .. } => (DVec3::new(v[i], v[i + 1], 0.0), DVec3::ZERO),
            Layout::SpaceRigid { v: i, spin, .. } => {
                let orientation = self.pose(body, t, q).orientation;
                (DVec3::from_slice(&v[i..]), spin.to_world(orientation, DVec3::from_slice(&v[i + 3..])))
            }
            Layout::SpacePoint { v: i, .. } => (DVec3::from_slice(&v[i..]), DVec3::ZERO),
            Layout::Fixed => match &self.model.bodies[body].kind {
                BodyKind::Prescribed(motion) => (prescribed_velocity(motion, t), motion.angular_velocity),
                _ => (DVec3::ZERO, DVec3::ZERO),
            },
        }
    }
}

pub(crate) fn prescribed_pose(start: &Pose, motion: &Motion, t: f64) -> Pose {
    let mut position = start.position + motion.velocity * t;
    for o in &motion.oscillations {
        position += o.amplitude * (TAU * o.frequency * t + o.phase).portable_sin();
    }
    let orientation = if motion.angular_velocity == DVec3::ZERO {
        start.orientation
    } else {
        turn_by(motion.angular_velocity * t) * start.orientation
    };
    Pose::new(position, orientation)
}

pub(super) fn prescribed_velocity(motion: &Motion, t: f64) -> DVec3 {
    let mut velocity = motion.velocity;
    for o in &motion.oscillations {
        let rate = TAU * o.frequency;
        velocity += o.amplitude * (rate * (rate * t + o.phase).portable_cos());
    }
    velocity
}

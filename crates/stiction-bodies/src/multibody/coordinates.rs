//! Where the coordinates of each body stand, and poses and velocities from them.

use std::f64::consts::TAU;
use std::ops::Range;

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::State;

use super::{Multibody, MultibodyModel};
use crate::body::{BodyKind, Motion};
use crate::pose::{Pose, advance_orientation, turn_derivative};
use crate::shape::Dimension;

/// Where the coordinates of a body stand: those of its position, then those of its orientation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// The first coordinate, and the first velocity.
    pub(super) q: usize,
    pub(super) v: usize,
    /// Coordinates of the position: two or three; none for the world and what no force moves.
    pub(super) straight: usize,
    pub(super) turn: Turn,
}

/// The coordinates of the orientation and of the angular velocity of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Turn {
    /// None: a point.
    #[default]
    None,
    /// An angle in the plane.
    Plane,
    /// A quaternion, and an angular velocity in body axes, which keep the inertia constant.
    Body,
    /// The same in world axes, for bodies whose inertia is the same about every axis: their rows do
    /// not turn with them, and an impact changes the recorded spin by the impulse alone.
    World,
}

impl Turn {
    fn in_space(inertia: &DMat3) -> Self {
        if *inertia == DMat3::from_diagonal(DVec3::splat(inertia.x_axis.x)) { Self::World } else { Self::Body }
    }

    /// The components of a vector that are coordinates of this turn.
    fn components(self) -> Range<usize> {
        match self {
            Self::None => 0..0,
            Self::Plane => 2..3,
            Self::Body | Self::World => 0..3,
        }
    }

    /// The axes of the angular velocity, in the coordinates in which it is given.
    pub(super) fn axes(self) -> &'static [DVec3] {
        &DVec3::AXES[self.components()]
    }

    /// Whether the orientation is a quaternion.
    pub(super) fn is_spatial(self) -> bool {
        matches!(self, Self::Body | Self::World)
    }

    /// A world vector in the axes of the angular velocity.
    fn of_world(self, orientation: DQuat, vector: DVec3) -> DVec3 {
        if self == Self::Body { orientation.inverse() * vector } else { vector }
    }

    pub(super) fn to_world(self, orientation: DQuat, vector: DVec3) -> DVec3 {
        if self == Self::Body { orientation * vector } else { vector }
    }

    fn to_body(self, orientation: DQuat, vector: DVec3) -> DVec3 {
        if self == Self::World { orientation.inverse() * vector } else { vector }
    }
}

impl Layout {
    /// Number of velocities.
    pub(super) fn v_count(&self) -> usize {
        self.straight + self.turn.axes().len()
    }

    /// Coordinates whose rates are velocities: all but those of a quaternion.
    fn flat(&self) -> usize {
        self.straight + usize::from(self.turn == Turn::Plane)
    }

    /// The position or velocity at the head of the coordinates or velocities of the body.
    fn linear(&self, values: &[f64]) -> DVec3 {
        DVec3::new(values[0], values[1], if self.straight == 3 { values[2] } else { 0.0 })
    }

    /// The orientation in space.
    fn orientation(&self, q: &[f64]) -> DQuat {
        let i = self.q + 3;
        DQuat::from_xyzw(q[i + 1], q[i + 2], q[i + 3], q[i])
    }

    /// Orientation in space, angular velocity in body axes, and the place of the quaternion.
    fn spin(&self, q: &[f64], v: &[f64]) -> Option<(DQuat, DVec3, Range<usize>)> {
        self.turn.is_spatial().then(|| {
            let orientation = self.orientation(q);
            let spin = self.turn.to_body(orientation, DVec3::from_slice(&v[self.v + 3..]));
            (orientation, spin, self.q + 3..self.q + 7)
        })
    }

    /// A world vector along each of the velocities of the turn, with its place.
    pub(super) fn turn_entries(&self, orientation: DQuat, angular: DVec3) -> impl Iterator<Item = (usize, f64)> {
        let (first, components) = (self.v + self.straight, self.turn.components());
        let angular = self.turn.of_world(orientation, angular).to_array();
        components.enumerate().map(move |(i, component)| (first + i, angular[component]))
    }

    /// A force and a torque, or a direction and its moment, along the velocities, with places.
    pub(super) fn entries(
        &self,
        orientation: DQuat,
        linear: DVec3,
        angular: DVec3,
    ) -> impl Iterator<Item = (usize, f64)> {
        // All rows of all contacts are made here, so this is an array and not a chain of iterators.
        let (first, components) = (self.v, self.turn.components());
        let count = self.straight + components.len();
        let mut values = [0.0; 6];
        values[..3].copy_from_slice(&linear.to_array());
        let angular = self.turn.of_world(orientation, angular).to_array();
        values[self.straight..count].copy_from_slice(&angular[components]);
        values.into_iter().take(count).enumerate().map(move |(i, value)| (first + i, value))
    }
}

/// The coordinates of all bodies.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    /// One for each body.
    pub(super) layout: Vec<Layout>,
    pub(super) v_count: usize,
}

impl Coordinates {
    pub(super) fn new(model: &MultibodyModel) -> Self {
        let (mut q, mut v) = (0, 0);
        let straight = model.dimension.axes();
        let layouts = model.bodies.iter().map(|body| {
            let (straight, turn) = match (&body.kind, model.dimension) {
                (BodyKind::Rigid { .. }, Dimension::Plane) => (straight, Turn::Plane),
                (BodyKind::Rigid { inertia, .. }, Dimension::Space) => (straight, Turn::in_space(inertia)),
                (BodyKind::Point { .. }, _) => (straight, Turn::None),
                (BodyKind::Static | BodyKind::Prescribed(_), _) => (0, Turn::None),
            };
            let layout = Layout { q, v, straight, turn };
            q += layout.flat() + if turn.is_spatial() { 4 } else { 0 };
            v += layout.v_count();
            layout
        });
        Self { layout: layouts.collect(), v_count: v }
    }

    /// Where the coordinates of a body stand; the world has none.
    pub(super) fn of(&self, body: Option<usize>) -> Layout {
        body.map_or_else(Layout::default, |body| self.layout[body])
    }

    pub(super) fn advance(&self, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        for layout in &self.layout {
            for (i, j) in (layout.q..).zip(layout.v..).take(layout.flat()) {
                out[i] = q[i] + h * v[j];
            }
            if let Some((orientation, spin, place)) = layout.spin(q, v) {
                let turned = advance_orientation(orientation, spin, h);
                out[place].copy_from_slice(&[turned.w, turned.x, turned.y, turned.z]);
            }
        }
    }

    /// The rate of the coordinates: of a quaternion half its product with the angular velocity in
    /// body axes.
    pub(super) fn rate(&self, q: &[f64], v: &[f64], out: &mut [f64]) {
        for layout in &self.layout {
            let (i, j, count) = (layout.q, layout.v, layout.flat());
            out[i..i + count].copy_from_slice(&v[j..j + count]);
            if let Some((orientation, spin, place)) = layout.spin(q, v) {
                let rate = orientation * DQuat::from_xyzw(0.5 * spin.x, 0.5 * spin.y, 0.5 * spin.z, 0.0);
                out[place].copy_from_slice(&[rate.w, rate.x, rate.y, rate.z]);
            }
        }
    }

    /// How the end of a motion with velocity `v` moves when that changes by `w`: positions with it,
    /// orientations by the curvature of the turn.
    pub(super) fn advance_derivative(&self, v: &[f64], h: f64, w: &[f64], out: &mut [f64]) {
        out.copy_from_slice(w);
        for layout in self.layout.iter().filter(|layout| layout.turn.is_spatial()) {
            let place = layout.v + 3..layout.v + 6;
            let (rate, change) = (DVec3::from_slice(&v[place.clone()]), DVec3::from_slice(&w[place.clone()]));
            // World axes do not turn with the body: seen from them, the turn is the reverse.
            let turn = if layout.turn == Turn::Body { h * rate } else { -h * rate };
            out[place].copy_from_slice(&turn_derivative(turn, change).to_array());
        }
    }
}

impl Multibody {
    /// The state at the start, at time `t`.
    pub fn start(&self, t: f64) -> State {
        if let Some((q, v)) = &self.start {
            return State::new(t, q.clone(), v.clone());
        }
        let (mut q, mut v) = (Vec::new(), Vec::new());
        for (body, layout) in self.model.bodies.iter().zip(&self.coordinates.layout) {
            q.extend_from_slice(&body.pose.position.to_array()[..layout.straight]);
            let unit = body.pose.orientation.normalize();
            match layout.turn {
                Turn::None => {}
                Turn::Plane => q.push(body.pose.planar_angle() + TAU * f64::from(body.turns)),
                Turn::Body | Turn::World => q.extend([unit.w, unit.x, unit.y, unit.z]),
            }
            v.extend(layout.entries(unit, body.velocity, body.angular_velocity).map(|(_, value)| value));
        }
        State::new(t, q, v)
    }

    /// The motion of a body that is prescribed.
    pub(super) fn motion(&self, body: usize) -> Option<&Motion> {
        self.model.bodies[body].kind.motion()
    }

    /// Pose of a body.
    pub fn pose(&self, body: usize, t: f64, q: &[f64]) -> Pose {
        let (layout, body) = (self.coordinates.layout[body], &self.model.bodies[body]);
        let place = &q[layout.q..];
        match layout.turn {
            Turn::Plane => Pose::planar(place[0], place[1], place[2]),
            Turn::Body | Turn::World => Pose::new(layout.linear(place), layout.orientation(q)),
            Turn::None if layout.straight == 0 => body.pose_at(t),
            Turn::None => Pose::new(layout.linear(place), body.pose.orientation),
        }
    }

    /// The same of a body or of the world.
    pub(super) fn pose_of(&self, body: Option<usize>, t: f64, q: &[f64]) -> Pose {
        body.map_or(Pose::IDENTITY, |body| self.pose(body, t, q))
    }

    /// Angle of a body in the plane with all its turns, in radians.
    pub(super) fn planar_angle(&self, body: usize, t: f64, q: &[f64]) -> f64 {
        match self.coordinates.layout[body] {
            Layout { turn: Turn::Plane, q: i, .. } => q[i + 2],
            _ => self.model.bodies[body].planar_angle_at(t),
        }
    }

    /// Velocity of the origin and angular velocity of a body, both in world axes, in m/s and rad/s.
    pub fn velocity(&self, body: usize, state: &State) -> (DVec3, DVec3) {
        self.velocity_at(body, (state.t, &state.q, &state.v))
    }

    /// The same, of a state in parts.
    pub(super) fn velocity_at(&self, body: usize, (t, q, v): (f64, &[f64], &[f64])) -> (DVec3, DVec3) {
        let layout = self.coordinates.layout[body];
        if layout.straight == 0 {
            let motion = self.motion(body);
            return motion.map_or_else(Default::default, |motion| (motion.velocity_at(t), motion.angular_velocity));
        }
        let own = &v[layout.v..];
        let spin = match layout.turn {
            Turn::None => DVec3::ZERO,
            Turn::Plane => DVec3::new(0.0, 0.0, own[2]),
            Turn::Body | Turn::World => layout.turn.to_world(layout.orientation(q), DVec3::from_slice(&own[3..])),
        };
        (layout.linear(own), spin)
    }
}

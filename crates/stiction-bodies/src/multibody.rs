//! Bodies, materials, forces and shapes as a [`MechanicalSystem`].
//!
//! Coordinates of a free body: in the plane $(x, y, \theta)$ with velocities $(\dot x, \dot y, \omega)$; in space the position and the unit
//! quaternion $(w, x, y, z)$ with the linear velocity in world axes and the angular velocity in body axes, so that the inertia is
//! constant. Points have no rotation. Static and prescribed bodies have no coordinates.

use std::collections::BTreeSet;
use std::sync::Mutex;

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::{
    Contact, ContactFrame, ContactId, ForceCause, FrictionElement, FrictionLaw, Inertia, MechanicalSystem, Row, State,
    Tangents,
};

use crate::body::{AppliedForce, Body, BodyKind, DryFriction, ForceAxes, Motion};
use crate::broad_phase::BroadPhase;
use crate::collide::{self, Touch};
use crate::error::BodyError;
use crate::material::MaterialTable;
use crate::pose::{Pose, advance_orientation};
use crate::shape::{Dimension, Shape};

/// A normal closer to the vertical than this (sine of the angle) takes its first tangent along x.
const VERTICAL_SINE: f64 = 1e-9;

/// All that a system of bodies consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct MultibodyModel {
    /// Plane or space.
    pub dimension: Dimension,
    /// Acceleration of gravity, in m/s².
    pub gravity: DVec3,
    /// The bodies.
    pub bodies: Vec<Body>,
    /// Materials and their friction.
    pub materials: MaterialTable,
    /// Applied forces and torques.
    pub forces: Vec<AppliedForce>,
    /// Friction that no load changes.
    pub dry_friction: Vec<DryFriction>,
    /// Pairs of bodies that do not collide.
    pub ignored_pairs: Vec<(usize, usize)>,
    /// Pairs of groups whose bodies do not collide.
    pub ignored_groups: Vec<(usize, usize)>,
    /// Names of the groups.
    pub group_names: Vec<String>,
}

/// Where the coordinates of a body stand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
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
    },
    SpacePoint {
        q: usize,
        v: usize,
    },
    /// Static or prescribed.
    Fixed,
}

/// A shape of some body.
#[derive(Clone, Debug)]
struct Part {
    body: usize,
    /// Which of the shapes of the body.
    number: u32,
    /// Radius of a sphere around the shape's own origin that holds it.
    bounding_radius: f64,
}

/// A system of bodies.
#[derive(Debug)]
pub struct Multibody {
    model: MultibodyModel,
    layout: Vec<Layout>,
    q_count: usize,
    v_count: usize,
    parts: Vec<Part>,
    /// Ignored pairs of bodies, smaller number first.
    ignored: BTreeSet<(usize, usize)>,
    ignored_groups: BTreeSet<(usize, usize)>,
    /// Memory of the contact search; a lock because the system is shared, uncontended in a simulation.
    search: Mutex<Search>,
}

#[derive(Debug, Default)]
struct Search {
    broad_phase: BroadPhase,
    poses: Vec<Pose>,
    pairs: Vec<(usize, usize)>,
    touches: Vec<Touch>,
}

impl Multibody {
    /// Builds the system.
    ///
    /// # Errors
    /// [`BodyError`] with the names of the bodies, materials and shapes that do not work.
    ///
    /// # Panics
    /// When an index of the model (a body of a force, a material of a shape) is out of range.
    pub fn new(model: MultibodyModel) -> Result<Self, BodyError> {
        let (mut q_count, mut v_count) = (0, 0);
        let mut layout = Vec::new();
        let mut parts = Vec::new();
        for (number, body) in model.bodies.iter().enumerate() {
            check_body(body, model.dimension)?;
            let (q, v) = (q_count, v_count);
            let (place, q_size, v_size) = match (&body.kind, model.dimension) {
                (BodyKind::Rigid { .. }, Dimension::Plane) => (Layout::PlaneRigid { q, v }, 3, 3),
                (BodyKind::Rigid { .. }, Dimension::Space) => (Layout::SpaceRigid { q, v }, 7, 6),
                (BodyKind::Point { .. }, Dimension::Plane) => (Layout::PlanePoint { q, v }, 2, 2),
                (BodyKind::Point { .. }, Dimension::Space) => (Layout::SpacePoint { q, v }, 3, 3),
                (BodyKind::Static | BodyKind::Prescribed(_), _) => (Layout::Fixed, 0, 0),
            };
            layout.push(place);
            q_count += q_size;
            v_count += v_size;
            for (shape_number, shape) in body.shapes.iter().enumerate() {
                let bounding_radius = bounding_radius(&shape.placed.shape);
                parts.push(Part { body: number, number: shape_number as u32, bounding_radius });
            }
        }
        let ordered = |&(a, b): &(usize, usize)| (a.min(b), a.max(b));
        let ignored = model.ignored_pairs.iter().map(ordered).collect();
        let ignored_groups = model.ignored_groups.iter().map(ordered).collect();
        let search = Mutex::default();
        let system = Self { model, layout, q_count, v_count, parts, ignored, ignored_groups, search };
        system.check_pairs()?;
        system.check_forces()?;
        Ok(system)
    }

    /// What the system consists of.
    pub fn model(&self) -> &MultibodyModel {
        &self.model
    }

    /// The state at the start, at time `t`.
    pub fn start(&self, t: f64) -> State {
        let (mut q, mut v) = (Vec::with_capacity(self.q_count), Vec::with_capacity(self.v_count));
        for (body, layout) in self.model.bodies.iter().zip(&self.layout) {
            let Pose { position, orientation } = body.pose;
            match layout {
                Layout::PlaneRigid { .. } => {
                    let angle = body.pose.planar_angle() + std::f64::consts::TAU * f64::from(body.turns);
                    q.extend([position.x, position.y, angle]);
                    v.extend([body.velocity.x, body.velocity.y, body.angular_velocity.z]);
                }
                Layout::PlanePoint { .. } => {
                    q.extend([position.x, position.y]);
                    v.extend([body.velocity.x, body.velocity.y]);
                }
                Layout::SpaceRigid { .. } => {
                    let unit = orientation.normalize();
                    q.extend(position.to_array());
                    q.extend([unit.w, unit.x, unit.y, unit.z]);
                    v.extend(body.velocity.to_array());
                    v.extend((unit.inverse() * body.angular_velocity).to_array());
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
        match self.layout[body] {
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

    /// Velocity of the origin and angular velocity of a body, both in world axes, in m/s and rad/s.
    pub fn velocity(&self, body: usize, state: &State) -> (DVec3, DVec3) {
        let v = &state.v;
        match self.layout[body] {
            Layout::PlaneRigid { v: i, .. } => (DVec3::new(v[i], v[i + 1], 0.0), DVec3::new(0.0, 0.0, v[i + 2])),
            Layout::PlanePoint { v: i, .. } => (DVec3::new(v[i], v[i + 1], 0.0), DVec3::ZERO),
            Layout::SpaceRigid { v: i, .. } => {
                let orientation = self.pose(body, state.t, &state.q).orientation;
                (DVec3::from_slice(&v[i..]), orientation * DVec3::from_slice(&v[i + 3..]))
            }
            Layout::SpacePoint { v: i, .. } => (DVec3::from_slice(&v[i..]), DVec3::ZERO),
            Layout::Fixed => match &self.model.bodies[body].kind {
                BodyKind::Prescribed(motion) => (prescribed_velocity(motion, state.t), motion.angular_velocity),
                _ => (DVec3::ZERO, DVec3::ZERO),
            },
        }
    }

    /// Whether two bodies may collide at all.
    fn may_collide(&self, a: usize, b: usize) -> bool {
        let bodies = &self.model.bodies;
        let (groups, pair) = ((bodies[a].group, bodies[b].group), (a.min(b), a.max(b)));
        a != b
            && (bodies[a].kind.is_free() || bodies[b].kind.is_free())
            && !self.ignored.contains(&pair)
            && !self.ignored_groups.contains(&(groups.0.min(groups.1), groups.0.max(groups.1)))
    }

    fn shape(&self, part: &Part) -> &Shape {
        &self.model.bodies[part.body].shapes[part.number as usize].placed.shape
    }

    /// Refuses pairs that may meet without a collision test or without friction.
    fn check_pairs(&self) -> Result<(), BodyError> {
        let bodies = &self.model.bodies;
        for (i, first) in self.parts.iter().enumerate() {
            for second in &self.parts[i + 1..] {
                if !self.may_collide(first.body, second.body) {
                    continue;
                }
                if !collide::is_supported(self.shape(first), self.shape(second)) {
                    return Err(BodyError::UnsupportedPair {
                        first_body: bodies[first.body].name.clone(),
                        first_shape: self.shape(first).name(self.model.dimension),
                        second_body: bodies[second.body].name.clone(),
                        second_shape: self.shape(second).name(self.model.dimension),
                    });
                }
                let material = |part: &Part| bodies[part.body].shapes[part.number as usize].material;
                let table = &self.model.materials;
                if table.friction(material(first), material(second)).is_none() {
                    return Err(BodyError::NoFriction {
                        first_material: table.materials[material(first)].name.clone(),
                        second_material: table.materials[material(second)].name.clone(),
                    });
                }
            }
        }
        let table = &self.model.materials;
        let single = table.materials.iter().map(|m| (format!("material `{}`", m.name), m.friction));
        let pairs = table.pairs.iter().map(|(&(a, b), &friction)| {
            (format!("materials `{}` and `{}`", table.materials[a].name, table.materials[b].name), friction)
        });
        for (what, value) in single.chain(pairs) {
            if !(value >= 0.0 && value.is_finite()) {
                let remedy = "a coefficient of friction is finite and not negative";
                return Err(BodyError::Value { what, quantity: "friction", value, remedy });
            }
        }
        Ok(())
    }

    fn check_forces(&self) -> Result<(), BodyError> {
        for (number, force) in self.model.forces.iter().enumerate() {
            let what = || format!("force {number}");
            let body = &self.model.bodies[force.body];
            let target = |reason| Err(BodyError::Target { what: what(), body: body.name.clone(), reason });
            if !body.kind.is_free() {
                return target("does not move freely, so that forces have no effect on it");
            }
            let is_point = matches!(body.kind, BodyKind::Point { .. });
            if is_point && (force.torque != DVec3::ZERO || force.point != DVec3::ZERO) {
                return target("is a point, which feels neither torques nor forces beside it");
            }
            for (quantity, vector) in [("force", force.force), ("torque", force.torque), ("point", force.point)] {
                if let Some(value) = vector.to_array().into_iter().find(|value| !value.is_finite()) {
                    return Err(BodyError::Value { what: what(), quantity, value, remedy: "it must be finite" });
                }
            }
            if self.model.dimension == Dimension::Plane && (force.force.z != 0.0 || force.point.z != 0.0) {
                let (quantity, value) = ("force out of the plane", force.force.z);
                return Err(BodyError::Value { what: what(), quantity, value, remedy: "it must lie in the plane" });
            }
        }
        for element in &self.model.dry_friction {
            let what = || format!("dry friction `{}`", element.name);
            if !(element.bound >= 0.0 && element.bound.is_finite()) {
                let (quantity, value, remedy) = ("bound", element.bound, "it must be finite and not negative");
                return Err(BodyError::Value { what: what(), quantity, value, remedy });
            }
            let body = &self.model.bodies[element.body];
            let other_is_free = element.against.is_some_and(|other| self.model.bodies[other].kind.is_free());
            if !body.kind.is_free() && !other_is_free {
                let reason = "does not move freely, and neither does what it slides on";
                return Err(BodyError::Target { what: what(), body: body.name.clone(), reason });
            }
            if element.axes.is_empty() || element.axes.len() > 2 || (element.is_rotational && element.axes.len() > 1) {
                let (quantity, value) = ("number of axes", element.axes.len() as f64);
                let remedy = "give one or two axes of sliding, or the one axis of a rotation";
                return Err(BodyError::Value { what: what(), quantity, value, remedy });
            }
        }
        Ok(())
    }

    /// Adds `sign` times the velocity of a body at the world point `point` along `direction` to a row; returns the part that
    /// is prescribed.
    fn add_point_velocity(
        &self,
        body: usize,
        pose: &Pose,
        t: f64,
        point: DVec3,
        direction: DVec3,
        sign: f64,
        row: &mut Row,
    ) -> f64 {
        let arm = point - pose.position;
        match self.layout[body] {
            Layout::PlaneRigid { v, .. } => {
                row.push(v, sign * direction.x);
                row.push(v + 1, sign * direction.y);
                row.push(v + 2, sign * (arm.x * direction.y - arm.y * direction.x));
            }
            Layout::PlanePoint { v, .. } => {
                row.push(v, sign * direction.x);
                row.push(v + 1, sign * direction.y);
            }
            Layout::SpaceRigid { v, .. } => {
                let moment = pose.orientation.inverse() * arm.cross(direction);
                for (i, value) in direction.to_array().into_iter().chain(moment.to_array()).enumerate() {
                    row.push(v + i, sign * value);
                }
            }
            Layout::SpacePoint { v, .. } => {
                direction.to_array().into_iter().enumerate().for_each(|(i, value)| row.push(v + i, sign * value));
            }
            Layout::Fixed => {
                if let BodyKind::Prescribed(motion) = &self.model.bodies[body].kind {
                    let velocity =
                        prescribed_velocity(motion, t) + motion.angular_velocity.cross(arm) + motion.surface_velocity;
                    return sign * velocity.dot(direction);
                }
            }
        }
        0.0
    }

    /// Adds `sign` times the rotation of a body about `axis` to a row; returns the part that is prescribed.
    fn add_rotation(&self, body: usize, pose: &Pose, axis: DVec3, sign: f64, row: &mut Row) -> f64 {
        match self.layout[body] {
            Layout::PlaneRigid { v, .. } => row.push(v + 2, sign * axis.z),
            Layout::SpaceRigid { v, .. } => {
                let local = pose.orientation.inverse() * axis;
                local.to_array().into_iter().enumerate().for_each(|(i, value)| row.push(v + 3 + i, sign * value));
            }
            Layout::PlanePoint { .. } | Layout::SpacePoint { .. } => {}
            Layout::Fixed => {
                if let BodyKind::Prescribed(motion) = &self.model.bodies[body].kind {
                    return sign * motion.angular_velocity.dot(axis);
                }
            }
        }
        0.0
    }

    /// The contact that a touch of two parts makes.
    fn contact(&self, first: &Part, second: &Part, poses: &[Pose], t: f64, touch: &Touch) -> Contact {
        let mut contact = Contact {
            id: ContactId {
                first: first.body as u32,
                second: second.body as u32,
                feature: (first.number << 20) | (second.number << 8) | touch.feature,
            },
            gap: touch.gap,
            frame: Some(ContactFrame { point: touch.point.to_array(), normal: touch.normal.to_array() }),
            ..Default::default()
        };
        // Each body by its own surface point, as the constraint functions of \[ST96\] have it. The points differ by the gap along
        // the normal, which the normal row does not feel.
        let row = |direction: DVec3, row: &mut Row| {
            let (a, b) = (first.body, second.body);
            self.add_point_velocity(a, &poses[a], t, touch.point_on_first, direction, 1.0, row)
                + self.add_point_velocity(b, &poses[b], t, touch.point_on_second, direction, -1.0, row)
        };
        contact.normal_drift = row(touch.normal, &mut contact.normal);
        let material = |part: &Part| self.model.bodies[part.body].shapes[part.number as usize].material;
        let mu = self.model.materials.friction(material(first), material(second)).unwrap_or(0.0);
        if mu > 0.0 {
            contact.friction = FrictionLaw::Coulomb { mu };
            let directions = tangent_directions(self.model.dimension, touch.normal);
            for (a, &direction) in directions[..tangent_count(self.model.dimension)].iter().enumerate() {
                let mut tangent = Row::new();
                contact.tangent_drift[a] = row(direction, &mut tangent);
                contact.tangents.push(tangent);
            }
        }
        contact
    }
}

impl MechanicalSystem for Multibody {
    fn velocity_count(&self) -> usize {
        self.v_count
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        for body in &self.model.bodies {
            match (&body.kind, self.model.dimension) {
                (BodyKind::Rigid { mass, inertia }, Dimension::Plane) => {
                    [*mass, *mass, inertia.z_axis.z].into_iter().for_each(|entry| out.push_scalar(entry));
                }
                (BodyKind::Rigid { mass, inertia }, Dimension::Space) => {
                    (0..3).for_each(|_| out.push_scalar(*mass));
                    if *inertia == DMat3::from_diagonal(inertia.diagonal()) {
                        inertia.diagonal().to_array().into_iter().for_each(|entry| out.push_scalar(entry));
                    } else {
                        out.push_block(3, &inertia.to_cols_array()); // symmetric: columns are rows
                    }
                }
                (BodyKind::Point { mass }, dimension) => {
                    (0..tangent_count(dimension) + 1).for_each(|_| out.push_scalar(*mass));
                }
                (BodyKind::Static | BodyKind::Prescribed(_), _) => {}
            }
        }
    }

    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        self.add_gravity(k);
        self.add_gyroscopic(v, k);
        self.add_applied(t, q, k);
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        match cause {
            ForceCause::Potential => self.add_gravity(k),
            ForceCause::Gyroscopic => self.add_gyroscopic(v, k),
            ForceCause::Applied => self.add_applied(t, q, k),
        }
    }

    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let mut guard = self.search.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Search { broad_phase, poses, pairs, touches } = &mut *guard;
        poses.clear();
        poses.extend((0..self.model.bodies.len()).map(|body| self.pose(body, t, q)));
        let shape_pose = |part: &Part| {
            self.model.bodies[part.body].shapes[part.number as usize].placed.world_pose(&poses[part.body])
        };
        pairs.clear();
        let spheres = self.parts.iter().map(|part| (shape_pose(part).position, part.bounding_radius));
        broad_phase.for_each_near_pair(spheres, horizon, |a, b| {
            if self.may_collide(self.parts[a].body, self.parts[b].body) {
                pairs.push((a, b));
            }
        });
        pairs.sort_unstable(); // contacts in the order of the scene, whatever the sweep found first
        for &(a, b) in pairs.iter() {
            let (mut first, mut second) = (&self.parts[a], &self.parts[b]);
            // The first body of a contact is one that moves.
            if !self.model.bodies[first.body].kind.is_free() {
                (first, second) = (second, first);
            }
            touches.clear();
            collide::collide(
                self.model.dimension,
                self.shape(first),
                &shape_pose(first),
                self.shape(second),
                &shape_pose(second),
                horizon,
                touches,
            );
            for touch in touches.iter() {
                out.push(self.contact(first, second, poses, t, touch));
            }
        }
    }

    fn friction_elements(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        for (id, element) in self.model.dry_friction.iter().enumerate() {
            let pose = self.pose(element.body, t, q);
            let against = element.against.map(|other| (other, self.pose(other, t, q)));
            let point = pose.transform_point(element.point);
            let mut tangents = Tangents::new();
            let mut tangent_drift = [0.0; 3];
            for (a, &axis) in element.axes.iter().enumerate() {
                let mut row = Row::new();
                let mut add = |body, pose: &Pose, sign| {
                    if element.is_rotational {
                        self.add_rotation(body, pose, axis, sign, &mut row)
                    } else {
                        self.add_point_velocity(body, pose, t, point, axis, sign, &mut row)
                    }
                };
                tangent_drift[a] = add(element.body, &pose, 1.0);
                if let Some((other, pose)) = &against {
                    tangent_drift[a] += add(*other, pose, -1.0);
                }
                tangents.push(row);
            }
            out.push(FrictionElement { id: id as u32, tangents, tangent_drift, bound: element.bound });
        }
    }

    fn advance(&self, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        for layout in &self.layout {
            let (i, j, straight) = match *layout {
                Layout::PlaneRigid { q, v } | Layout::SpaceRigid { q, v } | Layout::SpacePoint { q, v } => (q, v, 3),
                Layout::PlanePoint { q, v } => (q, v, 2),
                Layout::Fixed => continue,
            };
            for a in 0..straight {
                out[i + a] = q[i + a] + h * v[j + a];
            }
            if let Layout::SpaceRigid { .. } = layout {
                let orientation = DQuat::from_xyzw(q[i + 4], q[i + 5], q[i + 6], q[i + 3]);
                let turned = advance_orientation(orientation, DVec3::from_slice(&v[j + 3..]), h);
                out[i + 3..i + 7].copy_from_slice(&[turned.w, turned.x, turned.y, turned.z]);
            }
        }
    }

    fn potential_energy(&self, t: f64, q: &[f64]) -> Option<f64> {
        let energy = |(number, body): (usize, &Body)| match body.kind {
            BodyKind::Rigid { mass, .. } | BodyKind::Point { mass } => {
                -mass * self.model.gravity.dot(self.pose(number, t, q).position)
            }
            BodyKind::Static | BodyKind::Prescribed(_) => 0.0,
        };
        Some(self.model.bodies.iter().enumerate().map(energy).sum())
    }

    fn column_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for body in &self.model.bodies {
            names.extend(
                column_suffixes(&body.kind, self.model.dimension)
                    .iter()
                    .map(|suffix| format!("{}.{suffix}", body.name)),
            );
        }
        names
    }

    fn record(&self, state: &State, out: &mut Vec<f64>) {
        for (number, body) in self.model.bodies.iter().enumerate() {
            if body.kind == BodyKind::Static {
                continue;
            }
            let Pose { position, orientation } = self.pose(number, state.t, &state.q);
            let (velocity, spin) = self.velocity(number, state);
            let is_point = matches!(body.kind, BodyKind::Point { .. });
            match self.model.dimension {
                Dimension::Plane => {
                    out.extend([position.x, position.y]);
                    if !is_point {
                        out.push(match self.layout[number] {
                            Layout::PlaneRigid { q, .. } => state.q[q + 2], // all turns, not only the last one
                            _ => Pose::new(position, orientation).planar_angle(),
                        });
                    }
                    out.extend([velocity.x, velocity.y]);
                    if !is_point {
                        out.push(spin.z);
                    }
                }
                Dimension::Space => {
                    out.extend(position.to_array());
                    if !is_point {
                        out.extend([orientation.w, orientation.x, orientation.y, orientation.z]);
                    }
                    out.extend(velocity.to_array());
                    if !is_point {
                        out.extend(spin.to_array());
                    }
                }
            }
        }
    }

    fn contact_name(&self, id: ContactId) -> String {
        let (first, second) = self.body_names(id);
        let (shape_first, shape_second, feature) = (id.feature >> 20, (id.feature >> 8) & 0xfff, id.feature & 0xff);
        if shape_first == 0 && shape_second == 0 {
            format!("{first}/{second}#{feature}")
        } else {
            format!("{first}[{shape_first}]/{second}[{shape_second}]#{feature}")
        }
    }

    fn body_names(&self, id: ContactId) -> (String, String) {
        let name = |body: u32| self.model.bodies[body as usize].name.clone();
        (name(id.first), name(id.second))
    }
}

impl Multibody {
    fn add_gravity(&self, k: &mut [f64]) {
        for (body, layout) in self.model.bodies.iter().zip(&self.layout) {
            let (BodyKind::Rigid { mass, .. } | BodyKind::Point { mass }) = body.kind else { continue };
            let weight = mass * self.model.gravity;
            match *layout {
                Layout::PlaneRigid { v, .. } | Layout::PlanePoint { v, .. } => {
                    k[v] += weight.x;
                    k[v + 1] += weight.y;
                }
                Layout::SpaceRigid { v, .. } | Layout::SpacePoint { v, .. } => {
                    weight.to_array().into_iter().enumerate().for_each(|(i, value)| k[v + i] += value);
                }
                Layout::Fixed => {}
            }
        }
    }

    /// $-\omega \times I \omega$ in body axes.
    fn add_gyroscopic(&self, velocity: &[f64], k: &mut [f64]) {
        for (body, layout) in self.model.bodies.iter().zip(&self.layout) {
            if let (BodyKind::Rigid { inertia, .. }, Layout::SpaceRigid { v, .. }) = (&body.kind, *layout) {
                let spin = DVec3::from_slice(&velocity[v + 3..]);
                let torque = -spin.cross(*inertia * spin);
                torque.to_array().into_iter().enumerate().for_each(|(i, value)| k[v + 3 + i] += value);
            }
        }
    }

    fn add_applied(&self, t: f64, q: &[f64], k: &mut [f64]) {
        for applied in &self.model.forces {
            if !(applied.from <= t && t <= applied.until) {
                continue;
            }
            let pose = self.pose(applied.body, t, q);
            let (force, torque) = match applied.axes {
                ForceAxes::World => (applied.force, applied.torque),
                ForceAxes::Body => (pose.transform_vector(applied.force), pose.transform_vector(applied.torque)),
            };
            let torque = torque + pose.transform_vector(applied.point).cross(force);
            match self.layout[applied.body] {
                Layout::PlaneRigid { v, .. } => {
                    [force.x, force.y, torque.z].into_iter().enumerate().for_each(|(i, value)| k[v + i] += value);
                }
                Layout::PlanePoint { v, .. } => {
                    k[v] += force.x;
                    k[v + 1] += force.y;
                }
                Layout::SpaceRigid { v, .. } => {
                    let local = pose.inverse_transform_vector(torque);
                    let all = force.to_array().into_iter().chain(local.to_array());
                    all.enumerate().for_each(|(i, value)| k[v + i] += value);
                }
                Layout::SpacePoint { v, .. } => {
                    force.to_array().into_iter().enumerate().for_each(|(i, value)| k[v + i] += value);
                }
                Layout::Fixed => {}
            }
        }
    }
}

fn check_body(body: &Body, dimension: Dimension) -> Result<(), BodyError> {
    let mass_error = |quantity, value| Err(BodyError::Mass { body: body.name.clone(), quantity, value });
    if let BodyKind::Rigid { mass, .. } | BodyKind::Point { mass } = body.kind
        && !(mass > 0.0 && mass.is_finite())
    {
        return mass_error("mass", mass);
    }
    if let BodyKind::Rigid { inertia, .. } = body.kind {
        let planar = inertia.z_axis.z;
        match dimension {
            Dimension::Plane if !(planar > 0.0 && planar.is_finite()) => return mass_error("inertia", planar),
            Dimension::Space if !is_positive_definite(&inertia) => {
                return Err(BodyError::Inertia { body: body.name.clone() });
            }
            _ => {}
        }
    }
    for shape in &body.shapes {
        shape.placed.check(dimension).map_err(|source| BodyError::Shape { body: body.name.clone(), source })?;
        if matches!(shape.placed.shape, Shape::HalfSpace { .. }) && body.kind.is_free() {
            let shape = shape.placed.shape.name(dimension);
            return Err(BodyError::InfiniteShape { body: body.name.clone(), shape });
        }
    }
    Ok(())
}

/// Sylvester's criterion; entries that are not finite fail it.
fn is_positive_definite(m: &DMat3) -> bool {
    let asymmetry = (*m - m.transpose()).to_cols_array().into_iter().fold(0.0f64, |worst, x| worst.max(x.abs()));
    let largest = m.to_cols_array().into_iter().fold(0.0f64, |worst, x| worst.max(x.abs()));
    let minor = m.x_axis.x * m.y_axis.y - m.x_axis.y * m.y_axis.x;
    asymmetry <= 1e-12 * largest && m.x_axis.x > 0.0 && minor > 0.0 && m.determinant() > 0.0 && m.is_finite()
}

fn prescribed_pose(start: &Pose, motion: &Motion, t: f64) -> Pose {
    let mut position = start.position + motion.velocity * t;
    if let Some(o) = &motion.oscillation {
        position += o.amplitude * (std::f64::consts::TAU * o.frequency * t + o.phase).sin();
    }
    let orientation = if motion.angular_velocity == DVec3::ZERO {
        start.orientation
    } else {
        DQuat::from_scaled_axis(motion.angular_velocity * t) * start.orientation
    };
    Pose::new(position, orientation)
}

fn prescribed_velocity(motion: &Motion, t: f64) -> DVec3 {
    let mut velocity = motion.velocity;
    if let Some(o) = &motion.oscillation {
        let rate = std::f64::consts::TAU * o.frequency;
        velocity += o.amplitude * (rate * (rate * t + o.phase).cos());
    }
    velocity
}

fn tangent_count(dimension: Dimension) -> usize {
    match dimension {
        Dimension::Plane => 1,
        Dimension::Space => 2,
    }
}

/// Tangents of a unit normal. In the plane the normal turned clockwise; in space $n \times e_z$ normalised and its cross product
/// with $n$, as \[ST96\] §3 builds them, and along x where that vanishes.
fn tangent_directions(dimension: Dimension, normal: DVec3) -> [DVec3; 2] {
    match dimension {
        Dimension::Plane => [DVec3::new(normal.y, -normal.x, 0.0), DVec3::ZERO],
        Dimension::Space => {
            let across = normal.cross(DVec3::Z);
            let length = across.length();
            let first = if length < VERTICAL_SINE { DVec3::X } else { across / length };
            [first, first.cross(normal)]
        }
    }
}

fn bounding_radius(shape: &Shape) -> f64 {
    match *shape {
        Shape::HalfSpace { .. } => f64::INFINITY,
        Shape::Sphere { radius } => radius,
        Shape::Capsule { half_length, radius } => half_length + radius,
        Shape::Cuboid { half_extents } => half_extents.length(),
    }
}

fn column_suffixes(kind: &BodyKind, dimension: Dimension) -> &'static [&'static str] {
    match (kind, dimension) {
        (BodyKind::Static, _) => &[],
        (BodyKind::Point { .. }, Dimension::Plane) => &["x", "y", "vx", "vy"],
        (BodyKind::Point { .. }, Dimension::Space) => &["x", "y", "z", "vx", "vy", "vz"],
        (_, Dimension::Plane) => &["x", "y", "angle", "vx", "vy", "w"],
        (_, Dimension::Space) => &["x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz"],
    }
}

#[cfg(test)]
mod tests;

//! Masses, gravity, gyroscopic torques and applied forces.

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::Inertia;

use super::Multibody;
use super::coordinates::{Layout, Turn};
use crate::body::{AppliedForce, BodyKind, ForceAxes};
use crate::pose::Pose;

impl Multibody {
    /// The mass matrix, which the choice of coordinates makes constant.
    pub(super) fn add_masses(&self, out: &mut Inertia) {
        for (body, layout) in self.model.bodies.iter().zip(&self.coordinates.layout) {
            let Some(mass) = body.kind.mass() else { continue };
            (0..layout.straight).for_each(|_| out.push_scalar(mass));
            let BodyKind::Rigid { inertia, .. } = body.kind else { continue };
            if layout.turn == Turn::Plane {
                out.push_scalar(inertia.z_axis.z);
            } else if inertia == DMat3::from_diagonal(inertia.diagonal()) {
                inertia.diagonal().to_array().into_iter().for_each(|entry| out.push_scalar(entry));
            } else {
                out.push_block(3, &inertia.to_cols_array()); // symmetric: columns are rows
            }
        }
    }

    /// The potential energy of gravity, in joules; zero at the origin.
    pub(super) fn gravity_energy(&self, t: f64, q: &[f64]) -> f64 {
        let energy = |body: usize| {
            let height = |mass: f64| -mass * self.model.gravity.dot(self.pose(body, t, q).position);
            self.model.bodies[body].kind.mass().map_or(0.0, height)
        };
        (0..self.model.bodies.len()).map(energy).sum()
    }

    pub(super) fn add_gravity(&self, k: &mut [f64]) {
        for (body, layout) in self.model.bodies.iter().zip(&self.coordinates.layout) {
            let weight = (body.kind.mass().unwrap_or(0.0) * self.model.gravity).to_array();
            (0..layout.straight).for_each(|i| k[layout.v + i] += weight[i]);
        }
    }

    /// The bodies that turn in space: inertia, the coordinates of the angular velocity, and the
    /// place of these among the velocities.
    pub(super) fn spinning<'a>(&'a self, v: &'a [f64]) -> impl Iterator<Item = (Turn, DMat3, DVec3, usize)> + 'a {
        self.model.bodies.iter().zip(&self.coordinates.layout).filter_map(|(body, layout)| match body.kind {
            BodyKind::Rigid { inertia, .. } if layout.turn.is_spatial() => {
                Some((layout.turn, inertia, DVec3::from_slice(&v[layout.v + 3..]), layout.v + 3))
            }
            _ => None,
        })
    }

    /// $-\omega \times I \omega$ in body axes.
    pub(super) fn add_gyroscopic(&self, v: &[f64], k: &mut [f64]) {
        for (_, inertia, spin, place) in self.spinning(v) {
            let torque = (-spin.cross(inertia * spin)).to_array();
            (0..3).for_each(|i| k[place + i] += torque[i]);
        }
    }

    /// The forces that act at a time, each with the pose of its body, and force and torque about
    /// its point in world axes.
    pub(super) fn applied(&self, t: f64, q: &[f64]) -> impl Iterator<Item = (&AppliedForce, Pose, [DVec3; 2])> {
        self.model.forces.iter().filter(move |applied| applied.is_active(t)).map(move |applied| {
            let pose = self.pose(applied.body, t, q);
            let given = [applied.force, applied.torque];
            let in_world = match applied.axes {
                ForceAxes::World => given,
                ForceAxes::Body => given.map(|vector| pose.transform_vector(vector)),
            };
            (applied, pose, in_world)
        })
    }

    pub(super) fn add_applied(&self, t: f64, q: &[f64], k: &mut [f64]) {
        for (applied, pose, [force, torque]) in self.applied(t, q) {
            let torque = torque + pose.transform_vector(applied.point).cross(force);
            add_force(&self.coordinates.layout[applied.body], pose.orientation, force, torque, k);
        }
    }
}

/// Adds a force and a torque in world axes; the world and what does not move feel none.
pub(super) fn add_force(layout: &Layout, orientation: DQuat, force: DVec3, torque: DVec3, k: &mut [f64]) {
    layout.entries(orientation, force, torque).for_each(|(index, value)| k[index] += value);
}

//! Masses, gravity, gyroscopic torques and applied forces.

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::Inertia;

use super::Multibody;
use super::coordinates::Layout;
use crate::body::{Body, BodyKind, ForceAxes};
use crate::shape::Dimension;

impl Multibody {
    /// The mass matrix, which the choice of coordinates makes constant.
    pub(super) fn add_masses(&self, out: &mut Inertia) {
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
                (BodyKind::Point { mass }, Dimension::Plane) => (0..2).for_each(|_| out.push_scalar(*mass)),
                (BodyKind::Point { mass }, Dimension::Space) => (0..3).for_each(|_| out.push_scalar(*mass)),
                (BodyKind::Static | BodyKind::Prescribed(_), _) => {}
            }
        }
    }

    /// The potential energy of gravity, in joules; zero at the origin.
    pub(super) fn gravity_energy(&self, t: f64, q: &[f64]) -> f64 {
        let energy = |(number, body): (usize, &Body)| match body.kind {
            BodyKind::Rigid { mass, .. } | BodyKind::Point { mass } => {
                -mass * self.model.gravity.dot(self.pose(number, t, q).position)
            }
            BodyKind::Static | BodyKind::Prescribed(_) => 0.0,
        };
        self.model.bodies.iter().enumerate().map(energy).sum()
    }

    pub(super) fn add_gravity(&self, k: &mut [f64]) {
        for (body, layout) in self.model.bodies.iter().zip(&self.coordinates.layout) {
            let (BodyKind::Rigid { mass, .. } | BodyKind::Point { mass }) = body.kind else { continue };
            let weight = mass * self.model.gravity;
            match *layout {
                Layout::PlaneRigid { v, .. } | Layout::PlanePoint { v, .. } => add(k, v, [weight.x, weight.y]),
                Layout::SpaceRigid { v, .. } | Layout::SpacePoint { v, .. } => add(k, v, weight.to_array()),
                Layout::Fixed => {}
            }
        }
    }

    /// $-\omega \times I \omega$ in body axes.
    pub(super) fn add_gyroscopic(&self, velocity: &[f64], k: &mut [f64]) {
        for (body, layout) in self.model.bodies.iter().zip(&self.coordinates.layout) {
            if let (BodyKind::Rigid { inertia, .. }, Layout::SpaceRigid { v, .. }) = (&body.kind, *layout) {
                let spin = DVec3::from_slice(&velocity[v + 3..]);
                add(k, v + 3, (-spin.cross(*inertia * spin)).to_array());
            }
        }
    }

    pub(super) fn add_applied(&self, t: f64, q: &[f64], k: &mut [f64]) {
        for applied in &self.model.forces {
            if !applied.is_active(t) {
                continue;
            }
            let pose = self.pose(applied.body, t, q);
            let (force, torque) = match applied.axes {
                ForceAxes::World => (applied.force, applied.torque),
                ForceAxes::Body => (pose.transform_vector(applied.force), pose.transform_vector(applied.torque)),
            };
            let torque = torque + pose.transform_vector(applied.point).cross(force);
            self.add_force(Some(applied.body), pose.orientation, force, torque, k);
        }
    }

    /// Adds a force and a torque in world axes on a body with this orientation; the world and what does not move feel none.
    pub(super) fn add_force(
        &self,
        body: Option<usize>,
        orientation: DQuat,
        force: DVec3,
        torque: DVec3,
        k: &mut [f64],
    ) {
        match body.map_or(Layout::Fixed, |body| self.coordinates.layout[body]) {
            Layout::PlaneRigid { v, .. } => add(k, v, [force.x, force.y, torque.z]),
            Layout::PlanePoint { v, .. } => add(k, v, [force.x, force.y]),
            Layout::SpaceRigid { v, spin, .. } => {
                add(k, v, force.to_array());
                add(k, v + 3, spin.of_world(orientation, torque).to_array());
            }
            Layout::SpacePoint { v, .. } => add(k, v, force.to_array()),
            Layout::Fixed => {}
        }
    }
}

/// Adds values to the entries from `start` on.
fn add<const N: usize>(k: &mut [f64], start: usize, values: [f64; N]) {
    for i in 0..N {
        k[start + i] += values[i];
    }
}

//! Derivatives of the forces on bodies.
//!
//! Each velocity coordinate of a body is a rigid motion of it, a [`UnitMotion`]. Along it forces and torques change in the world, and
//! torques in body axes change by $-\rho \times \tau$ more, because the axes turn: $d(R^T \tau) = R^T (d\tau - \rho \times \tau)$.

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::{ForceCause, ForceJacobians, JacobianEntry, JacobianKind};

use super::Multibody;
use super::coordinates::{Layout, SpinAxes};
use crate::body::{BodyKind, ForceAxes};

/// The motion of a body that a unit of one velocity coordinate stands for, in world axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitMotion {
    pub(super) index: usize,
    pub(super) linear: DVec3,
    pub(super) angular: DVec3,
}

impl Multibody {
    /// The velocity coordinates of a body; none for the world and for bodies that do not move freely.
    pub(super) fn unit_motions(&self, body: Option<usize>, orientation: DQuat) -> impl Iterator<Item = UnitMotion> {
        let layout = body.map_or(Layout::Fixed, |body| self.coordinates.layout[body]);
        let (start, straight, count) = match layout {
            Layout::PlaneRigid { v, .. } => (v, 2, 3),
            Layout::PlanePoint { v, .. } => (v, 2, 2),
            Layout::SpaceRigid { v, .. } => (v, 3, 6),
            Layout::SpacePoint { v, .. } => (v, 3, 3),
            Layout::Fixed => (0, 0, 0),
        };
        (0..count).map(move |i| {
            let (linear, angular) = match layout {
                _ if i < straight => (DVec3::AXES[i], DVec3::ZERO),
                Layout::SpaceRigid { spin, .. } => (DVec3::ZERO, spin.to_world(orientation, DVec3::AXES[i - 3])),
                _ => (DVec3::ZERO, DVec3::Z),
            };
            UnitMotion { index: start + i, linear, angular }
        })
    }

    /// Appends the change of a force and a torque on a body, given in world axes, along a velocity coordinate.
    pub(super) fn push_change(
        &self,
        list: &mut Vec<JacobianEntry>,
        body: Option<usize>,
        orientation: DQuat,
        column: usize,
        force: DVec3,
        torque: DVec3,
        cause: ForceCause,
    ) {
        match body.map_or(Layout::Fixed, |body| self.coordinates.layout[body]) {
            Layout::PlaneRigid { v, .. } => push(list, v, column, [force.x, force.y, torque.z], cause),
            Layout::PlanePoint { v, .. } => push(list, v, column, [force.x, force.y], cause),
            Layout::SpaceRigid { v, spin, .. } => {
                push(list, v, column, force.to_array(), cause);
                push(list, v + 3, column, spin.of_world(orientation, torque).to_array(), cause);
            }
            Layout::SpacePoint { v, .. } => push(list, v, column, force.to_array(), cause),
            Layout::Fixed => {}
        }
    }

    /// $f(\omega) = I\omega \times \omega$ has $f'(\omega) = [I\omega]_\times - [\omega]_\times I$. Its antisymmetric part $F = [I\omega]_\times$ satisfies
    /// $F \omega = f$, \[PAGT\] §8, but is not the derivative, nor half of it. A body with the same inertia about every axis has $f = 0$.
    pub(super) fn add_gyroscopic_jacobian(&self, kind: JacobianKind, velocity: &[f64], out: &mut ForceJacobians) {
        for (body, layout) in self.model.bodies.iter().zip(&self.coordinates.layout) {
            let (BodyKind::Rigid { inertia, .. }, Layout::SpaceRigid { v, spin: SpinAxes::Body, .. }) =
                (&body.kind, *layout)
            else {
                continue;
            };
            let spin = DVec3::from_slice(&velocity[v + 3..]);
            let mut derivative = cross_matrix(*inertia * spin);
            if kind == JacobianKind::Exact {
                derivative -= cross_matrix(spin) * *inertia;
            }
            for axis in 0..3 {
                let column = derivative.col(axis).to_array();
                push(&mut out.by_velocity, v + 3, v + 3 + axis, column, ForceCause::Gyroscopic);
            }
        }
    }

    /// Exact $k_q$ of applied forces: those in body axes turn, and points of attack move.
    pub(super) fn add_applied_jacobian(&self, t: f64, q: &[f64], out: &mut ForceJacobians) {
        for applied in self.model.forces.iter().filter(|applied| applied.is_active(t)) {
            let pose = self.pose(applied.body, t, q);
            let spin_turns = self.coordinates.spin_turns(applied.body);
            let arm = pose.transform_vector(applied.point);
            let (force, torque) = match applied.axes {
                ForceAxes::World => (applied.force, applied.torque),
                ForceAxes::Body => (pose.transform_vector(applied.force), pose.transform_vector(applied.torque)),
            };
            let whole = torque + arm.cross(force);
            for column in self.unit_motions(Some(applied.body), pose.orientation).filter(|c| c.angular != DVec3::ZERO) {
                let turn = column.angular;
                let (force_change, mut torque_change) = match applied.axes {
                    ForceAxes::World => (DVec3::ZERO, turn.cross(arm).cross(force)),
                    ForceAxes::Body => (turn.cross(force), turn.cross(whole)),
                };
                if spin_turns {
                    torque_change -= turn.cross(whole);
                }
                let (body, list) = (Some(applied.body), &mut out.by_configuration);
                let (orientation, cause) = (pose.orientation, ForceCause::Applied);
                self.push_change(list, body, orientation, column.index, force_change, torque_change, cause);
            }
        }
    }
}

/// Appends those of the values that are not zero, as entries of a column from the row `start` on.
pub(super) fn push<const N: usize>(
    list: &mut Vec<JacobianEntry>,
    start: usize,
    column: usize,
    values: [f64; N],
    cause: ForceCause,
) {
    for (i, value) in values.into_iter().enumerate() {
        if value != 0.0 {
            list.push(JacobianEntry { row: start + i, column, value, cause });
        }
    }
}

/// $[a]_\times$, with $[a]_\times b = a \times b$.
fn cross_matrix(a: DVec3) -> DMat3 {
    DMat3::from_cols(a.cross(DVec3::X), a.cross(DVec3::Y), a.cross(DVec3::Z))
}

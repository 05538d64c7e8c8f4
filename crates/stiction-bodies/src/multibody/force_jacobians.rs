//! Derivatives of the forces on bodies.
//!
//! Each velocity coordinate of a body is a rigid motion of it, a [`UnitMotion`]. Along it forces
//! and torques change in the world, and torques in body axes change by $-\rho \times \tau$ more,
//! because the axes turn: $d(R^T \tau) = R^T (d\tau - \rho \times \tau)$.

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::{ForceCause, ForceJacobians, JacobianEntry, JacobianKind};

use super::Multibody;
use super::coordinates::{Layout, Turn};
use crate::body::ForceAxes;

/// The motion of a body that a unit of one velocity coordinate stands for, in world axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitMotion {
    pub(super) index: usize,
    pub(super) linear: DVec3,
    pub(super) angular: DVec3,
}

impl Layout {
    /// The velocity coordinates of a body; none for the world and for bodies that do not move
    /// freely.
    pub(super) fn unit_motions(self, orientation: DQuat) -> impl Iterator<Item = UnitMotion> {
        let straight = DVec3::AXES[..self.straight].iter().map(|&axis| (axis, DVec3::ZERO));
        let turns = self.turn.axes().iter().map(move |&axis| (DVec3::ZERO, self.turn.to_world(orientation, axis)));
        let motions = straight.chain(turns).enumerate();
        motions.map(move |(i, (linear, angular))| UnitMotion { index: self.v + i, linear, angular })
    }

    /// Appends the change of a force and a torque on a body, given in world axes, along a velocity
    /// coordinate.
    pub(super) fn push_change(
        self,
        list: &mut Vec<JacobianEntry>,
        orientation: DQuat,
        column: usize,
        [force, torque]: [DVec3; 2],
        cause: ForceCause,
    ) {
        let entries = self.entries(orientation, force, torque).filter(|(_, value)| *value != 0.0);
        list.extend(entries.map(|(row, value)| JacobianEntry { row, column, value, cause }));
    }
}

impl Multibody {
    /// $f(\omega) = I\omega \times \omega$ has $f'(\omega) = [I\omega]_\times - [\omega]_\times I$.
    /// Its antisymmetric part $F = [I\omega]_\times$ satisfies $F \omega = f$, \[PAGT\] §8, but is
    /// not the derivative, nor half of it. A body with the same inertia about every axis has
    /// $f = 0$.
    pub(super) fn add_gyroscopic_jacobian(&self, kind: JacobianKind, v: &[f64], out: &mut ForceJacobians) {
        for (_, inertia, spin, place) in self.spinning(v).filter(|(turn, ..)| *turn == Turn::Body) {
            let mut derivative = cross_matrix(inertia * spin);
            if kind == JacobianKind::Exact {
                derivative -= cross_matrix(spin) * inertia;
            }
            for (column, row) in (0..3).flat_map(|column| (0..3).map(move |row| (column, row))) {
                let value = derivative.col(column)[row];
                if value != 0.0 {
                    let (row, column, cause) = (place + row, place + column, ForceCause::Gyroscopic);
                    out.by_velocity.push(JacobianEntry { row, column, value, cause });
                }
            }
        }
    }

    /// Exact $k_q$ of applied forces: those in body axes turn, and points of attack move.
    pub(super) fn add_applied_jacobian(&self, t: f64, q: &[f64], out: &mut ForceJacobians) {
        for (applied, pose, [force, torque]) in self.applied(t, q) {
            let layout = self.coordinates.layout[applied.body];
            let arm = pose.transform_vector(applied.point);
            let whole = torque + arm.cross(force);
            for UnitMotion { index, angular: turn, .. } in layout.unit_motions(pose.orientation) {
                if turn == DVec3::ZERO {
                    continue;
                }
                let mut change = match applied.axes {
                    ForceAxes::World => [DVec3::ZERO, turn.cross(arm).cross(force)],
                    ForceAxes::Body => [turn.cross(force), turn.cross(whole)],
                };
                if layout.turn == Turn::Body {
                    change[1] -= turn.cross(whole);
                }
                let list = &mut out.by_configuration;
                layout.push_change(list, pose.orientation, index, change, ForceCause::Applied);
            }
        }
    }
}

/// $[a]_\times$, with $[a]_\times b = a \times b$.
fn cross_matrix(a: DVec3) -> DMat3 {
    DMat3::from_cols(a.cross(DVec3::X), a.cross(DVec3::Y), a.cross(DVec3::Z))
}

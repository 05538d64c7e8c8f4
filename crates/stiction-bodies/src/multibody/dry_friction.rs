//! Friction that no load changes, clutches and pre-stressed springs: rows along lines that a scene
//! draws.

use glamx::DVec3;
use stiction_dynamics::{
    Contact, ContactFrame, ContactId, ForceCause, ForceJacobians, FrictionElement, JacobianEntry, Restraint, Row,
    Tangents,
};

use super::Multibody;
use crate::body::{Clutch, DryFriction};
use crate::pose::Pose;
use crate::shape::Dimension;

/// Stands in place of the first body in the identity of a contact that is a clutch; the second
/// number is then that of the clutch.
const CLUTCH: u32 = u32::MAX - 1;

/// Displacement for differences of the force of a bias, in metres and radians. The force is smooth
/// and of the size of the bias, so that a third of the digits is lost to each of rounding and
/// curvature.
const DIFFERENCE: f64 = 1e-5;

/// A point of a body and what it slides on, or the two bodies of a rotation.
pub(super) struct Line {
    body: usize,
    against: Option<usize>,
    point: DVec3,
    is_rotational: bool,
}

impl From<&DryFriction> for Line {
    fn from(element: &DryFriction) -> Self {
        let &DryFriction { body, against, point, is_rotational, .. } = element;
        Self { body, against, point, is_rotational }
    }
}

impl From<&Clutch> for Line {
    fn from(element: &Clutch) -> Self {
        let &Clutch { body, against, point, is_rotational, .. } = element;
        Self { body, against, point, is_rotational }
    }
}

impl Multibody {
    /// Adds `factor` times the row of the velocity along an axis, and returns what does not come
    /// from the velocities.
    fn add_line(&self, line: &Line, axis: DVec3, factor: f64, t: f64, q: &[f64], row: &mut Row) -> f64 {
        let pose = self.pose(line.body, t, q);
        let point = pose.transform_point(line.point);
        let mut add = |body, pose: &Pose, sign| {
            if line.is_rotational {
                self.add_rotation(body, pose, axis, sign * factor, row)
            } else {
                self.add_point_velocity(body, pose, t, point, axis, sign * factor, row)
            }
        };
        let drift = add(line.body, &pose, 1.0);
        drift + line.against.map_or(0.0, |other| add(other, &self.pose(other, t, q), -1.0))
    }

    /// How the velocity along an axis changes while the velocity coordinates are held.
    pub(super) fn line_rate(&self, line: &Line, axis: DVec3, (t, q, v): (f64, &[f64], &[f64])) -> f64 {
        if line.is_rotational {
            return 0.0; // a fixed axis and constant spins
        }
        let [a, b] = [Some(line.body), line.against].map(|body| self.twist(body, (t, q, v)));
        let point_rate = a.at(self.pose(line.body, t, q).transform_point(line.point));
        axis.dot(a.rate(point_rate) - b.rate(point_rate))
    }

    pub(super) fn add_dry_friction(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        for (id, element) in self.model.dry_friction.iter().enumerate() {
            let mut tangents = Tangents::new();
            let mut tangent_drift = [0.0; 3];
            for (a, &axis) in element.axes.iter().enumerate() {
                let mut row = Row::new();
                // In units of the semi-axes an ellipse is a circle.
                tangent_drift[a] = self.add_line(&element.into(), axis, element.semi_axes[a], t, q, &mut row);
                tangents.push(row);
            }
            out.push(FrictionElement {
                id: id as u32,
                tangents,
                tangent_drift,
                bound: element.bound,
                static_bound: element.static_bound,
                shape: element.shape.clone(),
                ..Default::default()
            });
        }
    }

    /// Adds the biases of friction that has two bounds.
    pub(super) fn add_friction_bias(&self, t: f64, q: &[f64], k: &mut [f64]) {
        for element in self.model.dry_friction.iter().filter(|element| element.bias != 0.0) {
            let mut row = Row::new();
            self.add_line(&element.into(), element.axes[0], 1.0, t, q, &mut row);
            row.add_to(element.bias, k);
        }
    }

    /// Their derivatives by configuration, by central differences: few elements have a bias, and in
    /// the plane those of rotations do not change.
    pub(super) fn add_friction_bias_jacobian(&self, t: f64, q: &[f64], out: &mut ForceJacobians) {
        let changes = |element: &&DryFriction| {
            element.bias != 0.0 && !(element.is_rotational && self.model.dimension == Dimension::Plane)
        };
        if !self.model.dry_friction.iter().any(|element| changes(&element)) {
            return;
        }
        let n = self.coordinates.v_count;
        let (mut moved, mut direction) = (q.to_vec(), vec![0.0; n]);
        for element in self.model.dry_friction.iter().filter(changes) {
            let bodies = [Some(element.body), element.against];
            for body in bodies.into_iter().flatten() {
                let layout = self.coordinates.layout[body];
                for column in layout.v..layout.v + layout.v_count() {
                    direction[column] = 1.0;
                    let mut change = vec![0.0; n];
                    for sign in [1.0, -1.0] {
                        self.coordinates.advance(q, &direction, sign * DIFFERENCE, &mut moved);
                        let mut row = Row::new();
                        self.add_line(&element.into(), element.axes[0], 1.0, t, &moved, &mut row);
                        row.add_to(sign * element.bias / (2.0 * DIFFERENCE), &mut change);
                    }
                    direction[column] = 0.0;
                    let entries = change.iter().enumerate().filter(|(_, value)| **value != 0.0);
                    out.by_configuration.extend(entries.map(|(row, &value)| JacobianEntry {
                        row,
                        column,
                        value,
                        cause: ForceCause::Applied,
                    }));
                }
            }
        }
    }

    /// Appends the clutches, which are always there.
    pub(super) fn add_clutches(&self, t: f64, q: &[f64], out: &mut Vec<Contact>) {
        for (number, clutch) in self.model.clutches.iter().enumerate() {
            let point = self.pose(clutch.body, t, q).transform_point(clutch.point);
            let mut contact = Contact {
                id: ContactId { first: CLUTCH, second: number as u32, ..ContactId::default() },
                restraint: Restraint::Rate,
                frame: Some(ContactFrame { point: point.to_array(), normal: clutch.axis.to_array() }),
                ..Default::default()
            };
            contact.normal_drift = self.add_line(&clutch.into(), clutch.axis, 1.0, t, q, &mut contact.normal);
            out.push(contact);
        }
    }

    /// The clutch that a contact is, if it is one.
    pub(super) fn clutch(&self, id: ContactId) -> Option<&Clutch> {
        (id.first == CLUTCH).then(|| &self.model.clutches[id.second as usize])
    }
}

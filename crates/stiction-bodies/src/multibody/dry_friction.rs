//! Friction that no load changes, as rows.

use stiction_dynamics::{FrictionElement, Row, Tangents};

use super::Multibody;
use crate::pose::Pose;

impl Multibody {
    pub(super) fn add_dry_friction(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
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
}

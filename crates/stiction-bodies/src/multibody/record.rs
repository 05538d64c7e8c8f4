//! What a recording holds of each body: pose and velocity.

use stiction_dynamics::State;

use super::Multibody;
use super::coordinates::Layout;
use crate::body::BodyKind;
use crate::pose::Pose;
use crate::shape::Dimension;

impl Multibody {
    pub(super) fn columns(&self) -> Vec<String> {
        let mut names = Vec::new();
        for body in &self.model.bodies {
            let suffixes = column_suffixes(&body.kind, self.model.dimension).iter();
            names.extend(suffixes.map(|suffix| format!("{}.{suffix}", body.name)));
        }
        names.extend(
            self.recorded_coordinates().map(|(joint, suffix)| format!("{}.{suffix}", self.model.joints[joint].name)),
        );
        names
    }

    pub(super) fn record_bodies(&self, state: &State, out: &mut Vec<f64>) {
        for (number, body) in self.model.bodies.iter().enumerate() {
            if body.kind == BodyKind::Static {
                continue;
            }
            let pose = self.pose(number, state.t, &state.q);
            let Pose { position, orientation } = pose;
            let (velocity, spin) = self.velocity(number, state);
            let is_point = matches!(body.kind, BodyKind::Point { .. });
            match self.model.dimension {
                Dimension::Plane => {
                    out.extend([position.x, position.y]);
                    if !is_point {
                        out.push(match self.coordinates.layout[number] {
                            Layout::PlaneRigid { q, .. } => state.q[q + 2], // all turns, not only the last one
                            _ => pose.planar_angle(),
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
        let coordinates = self.recorded_coordinates();
        out.extend(coordinates.filter_map(|(joint, _)| self.joint_coordinate(joint, state.t, &state.q)));
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

//! What a recording holds of each body: pose and velocity.

use glamx::DQuat;
use stiction_dynamics::State;

use super::Multibody;
use super::coordinates::Turn;
use crate::body::BodyKind;
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
            let (velocity, spin) = self.velocity(number, state);
            let turns = !body.is_point();
            match self.model.dimension {
                Dimension::Plane => {
                    let angle = match self.coordinates.layout[number].turn {
                        Turn::Plane => self.planar_angle(number, state.t, &state.q), // all turns, not only the last one
                        _ => pose.planar_angle(),
                    };
                    out.extend([pose.position.x, pose.position.y]);
                    out.extend(turns.then_some(angle));
                    out.extend([velocity.x, velocity.y]);
                    out.extend(turns.then_some(spin.z));
                }
                Dimension::Space => {
                    let DQuat { x, y, z, w } = pose.orientation;
                    out.extend(pose.position.to_array());
                    out.extend(turns.then_some([w, x, y, z]).into_iter().flatten());
                    out.extend(velocity.to_array());
                    out.extend(turns.then_some(spin.to_array()).into_iter().flatten());
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

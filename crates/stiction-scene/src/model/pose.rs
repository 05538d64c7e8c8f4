//! Positions and orientations.

use stiction_bodies::Pose;
use stiction_bodies::glamx::DQuat;
use stiction_solve::PortableMath as _;

use super::Reader;
use super::values::{UNIT_TOLERANCE, list};
use crate::place::{Fault, Place};

/// Quaternions that differ from length one by up to this are normalised, with a warning; beyond,
/// they are a mistake.
const NORMALISED_UP_TO: f64 = 1e-3;

/// The unit quaternion that is meant, when it is not already of unit length.
pub(super) fn normalised(values: &[f64]) -> Option<Vec<f64>> {
    let length = length(values);
    ((length - 1.0).abs() > UNIT_TOLERANCE).then(|| values.iter().map(|value| value / length).collect())
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

impl Reader<'_> {
    /// The pose that the four keys of a body or of a shape give.
    pub(super) fn pose(
        &mut self,
        place: &Place,
        what: &str,
        position: &Option<Vec<f64>>,
        angle: Option<f64>,
        angle_degrees: Option<f64>,
        orientation: &Option<Vec<f64>>,
    ) -> Result<Pose, Fault> {
        let position = self.optional_vector(place, "position", position)?;
        if self.is_plane() {
            if orientation.is_some() {
                let message = "`orientation` is for scenes in space";
                return Err(place
                    .key("orientation")
                    .key_fault(message, "in the plane write `angle` or `angle-degrees`"));
            }
            let angle = match (angle, angle_degrees) {
                (Some(_), Some(_)) => {
                    let message = "both `angle` and `angle-degrees` are given";
                    return Err(place.key("angle-degrees").key_fault(message, "keep one of them"));
                }
                (Some(angle), None) => angle,
                (None, degrees) => degrees.unwrap_or(0.0).to_radians(),
            };
            return Ok(Pose::planar(position.x, position.y, angle));
        }
        for (key, value) in [("angle", angle), ("angle-degrees", angle_degrees)] {
            if let Some(value) = value {
                let half = if key == "angle" { value } else { value.to_radians() } / 2.0;
                let turn = list(&[half.portable_cos(), 0.0, 0.0, half.portable_sin()]);
                let help = format!("in space write `orientation`; {turn} is this angle about z");
                return Err(place.key(key).key_fault(format!("`{key}` is for scenes in the plane"), help));
            }
        }
        let Some(values) = orientation else { return Ok(Pose::new(position, DQuat::IDENTITY)) };
        let place = place.key("orientation");
        if values.len() != 4 {
            let message = format!("orientation has {} numbers, but a quaternion has four", values.len());
            return Err(place.fault(message, "write [w, x, y, z]; no rotation is [1.0, 0.0, 0.0, 0.0]"));
        }
        let length = length(values);
        let unit = normalised(values);
        if (length - 1.0).abs() > NORMALISED_UP_TO {
            let message = format!("orientation has length {length:?} and must have length 1");
            let help = match (length > 0.0).then_some(unit).flatten() {
                Some(unit) => {
                    format!("only lengths within {NORMALISED_UP_TO} of 1 are normalised; write {}", list(&unit))
                }
                None => "write [w, x, y, z]; no rotation is [1.0, 0.0, 0.0, 0.0]".to_owned(),
            };
            return Err(place.fault(message, help));
        }
        if let Some(unit) = &unit {
            self.warnings
                .push(format!("the orientation of {what} has length {length:?}; it was normalised to {}", list(unit)));
        }
        let q = unit.as_ref().unwrap_or(values);
        Ok(Pose::new(position, DQuat::from_xyzw(q[1], q[2], q[3], q[0])))
    }
}

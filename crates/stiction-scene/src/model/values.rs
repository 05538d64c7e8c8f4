//! Numbers and vectors with their checks.

use stiction_bodies::Dimension;
use stiction_bodies::glamx::DVec3;
use stiction_dynamics::{check_not_negative, check_positive};

use super::Reader;
use crate::place::{Fault, Place};
use crate::scene::Rotation;

/// Unit vectors and quaternions may differ from length one by this. Too large: gaps are off by this
/// fraction. Too small: vectors written with few digits are refused.
pub(super) const UNIT_TOLERANCE: f64 = 1e-9;

/// A fault unless the value is positive.
pub(super) fn positive(place: Place, what: &str, value: f64, unit: &str) -> Result<f64, Fault> {
    check_positive("", what, value, unit).map(|()| value).map_err(|error| place.value_fault(error))
}

/// A fault when the value is negative.
pub(super) fn not_negative(place: Place, what: &str, value: f64, unit: &str) -> Result<f64, Fault> {
    check_not_negative("", what, value, unit).map(|()| value).map_err(|error| place.value_fault(error))
}

/// `1 row`, `2 rows`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Numbers as one writes them in a file.
pub(super) fn list(values: &[f64]) -> String {
    let words: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", words.join(", "))
}

impl Reader<'_> {
    /// A vector with the number of components that the dimension asks for.
    pub(super) fn vector(&self, place: Place, what: &str, values: &[f64]) -> Result<DVec3, Fault> {
        match (self.dimension, values) {
            (Dimension::Plane, &[x, y]) => Ok(DVec3::new(x, y, 0.0)),
            (Dimension::Space, &[x, y, z]) => Ok(DVec3::new(x, y, z)),
            (dimension, _) => {
                let (here, wanted) = match dimension {
                    Dimension::Plane => ("in the plane", "two, [x, y]"),
                    Dimension::Space => ("in space", "three, [x, y, z]"),
                };
                let message = format!("{what} has {}, but {here} it has {wanted}", counted(values.len(), "number"));
                Err(place.fault(message, format!("write {wanted}, or change `dimension`")).against("dimension"))
            }
        }
    }

    /// The vector under a key that may be missing.
    pub(super) fn optional_vector(
        &self,
        place: &Place,
        key: &'static str,
        values: &Option<Vec<f64>>,
    ) -> Result<DVec3, Fault> {
        values.as_ref().map_or(Ok(DVec3::ZERO), |values| self.vector(place.key(key), key, values))
    }

    pub(super) fn unit_vector(&self, place: Place, what: &str, values: &[f64]) -> Result<DVec3, Fault> {
        let vector = self.vector(place.clone(), what, values)?;
        let length = vector.length();
        if (length - 1.0).abs() <= UNIT_TOLERANCE {
            return Ok(vector);
        }
        let message = format!("{what} has length {length:?} and must have length 1");
        let unit: Vec<f64> = values.iter().map(|value| value / length).collect();
        let help =
            if length > 0.0 { format!("write {}", list(&unit)) } else { "write a vector of length 1".to_owned() };
        Err(place.fault(message, help))
    }

    /// The angular velocity or torque under a key that may be missing.
    pub(super) fn rotation(
        &self,
        place: &Place,
        key: &'static str,
        rotation: &Option<Rotation>,
    ) -> Result<DVec3, Fault> {
        let (message, help) = match (self.dimension, rotation) {
            (_, None) => return Ok(DVec3::ZERO),
            (Dimension::Plane, &Some(Rotation::Plane(value))) => return Ok(DVec3::new(0.0, 0.0, value)),
            (Dimension::Space, Some(Rotation::Space(values))) => return self.vector(place.key(key), key, values),
            (Dimension::Plane, Some(Rotation::Space(_))) => {
                (format!("{key} is a list, but in the plane it is one number"), "write the part about z".to_owned())
            }
            (Dimension::Space, Some(Rotation::Plane(value))) => {
                let help = format!("write [0.0, 0.0, {value:?}] for a rotation about z");
                (format!("{key} is one number, but in space it has three, [x, y, z]"), help)
            }
        };
        Err(place.key(key).fault(message, help))
    }
}

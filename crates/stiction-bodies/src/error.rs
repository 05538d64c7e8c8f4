//! What can be wrong with a model of bodies.

use std::borrow::Cow;

use glamx::DVec3;
use stiction_dynamics::ValueError;
use stiction_solve::PortableMath as _;
use thiserror::Error;

use crate::body::Body;
use crate::shape::Dimension;

/// A model that cannot be built: the caller's mistake, with names and values.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BodyError {
    /// The mass, the inertia or a shape of a body cannot be.
    #[error("body `{body}`: {message}")]
    Body {
        /// Which body.
        body: String,
        /// What is wrong with it.
        message: String,
    },
    /// Two shapes that may meet, without a collision test or without friction of their materials.
    #[error("{}; {}", source.message, source.remedy)]
    Pair {
        /// Number of the second body.
        body: usize,
        /// Number of its shape.
        shape: usize,
        /// What is missing.
        source: ValueError,
    },
    /// A joint, spring, force, friction element or material that cannot be.
    #[error("{what}: {}; {}", source.message, source.remedy)]
    Part {
        /// Which one.
        what: String,
        /// What is wrong with it.
        source: ValueError,
    },
}

/// Unit vectors may differ from length one by this. Too large: coordinates and stiffnesses are off
/// by this share. Too small: vectors written with few digits are refused.
const UNIT_TOLERANCE: f64 = 1e-9;

/// Two axes are at right angles when their product is at most this.
const ORTHOGONAL_TOLERANCE: f64 = 1e-9;

/// Refuses numbers that are not finite.
pub(crate) fn check_finite(key: &'static str, what: &str, values: &[f64]) -> Result<(), ValueError> {
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(ValueError::new(key, format!("{what} is {value:?}"), "give a finite number")),
        None => Ok(()),
    }
}

/// Refuses an axis that is not of unit length.
pub(crate) fn check_unit(
    key: impl Into<Cow<'static, str>>,
    axis: DVec3,
    dimension: Dimension,
) -> Result<(), ValueError> {
    let length = axis.length();
    if (length - 1.0).abs() <= UNIT_TOLERANCE {
        return Ok(());
    }
    let unit = (axis / length).to_array();
    let remedy = match dimension {
        _ if !(length > 0.0 && length.is_finite()) => "write a vector of length 1".to_owned(),
        Dimension::Plane => format!("write {:?}", &unit[..2]),
        Dimension::Space => format!("write {unit:?}"),
    };
    Err(ValueError::new(key, format!("the axis has length {length:?} and must have length 1"), remedy))
}

/// Refuses two axes that are not at right angles.
pub(crate) fn check_right_angle(key: &'static str, first: DVec3, second: DVec3) -> Result<(), ValueError> {
    if first.dot(second).abs() <= ORTHOGONAL_TOLERANCE {
        return Ok(());
    }
    let angle = first.dot(second).clamp(-1.0, 1.0).portable_acos().to_degrees();
    let message = format!("the two axes make an angle of {angle:.6} degrees");
    Err(ValueError::new(key, message, "give axes at right angles to each other"))
}

/// Refuses ends that are the same, or of which none moves freely; no body stands for the world. The
/// keys are those of both ends and of the second one.
pub(crate) fn check_ends(
    bodies: &[Body],
    [first, second]: [Option<usize>; 2],
    [both, other]: [&'static str; 2],
) -> Result<(), ValueError> {
    let name = |end: Option<usize>| end.map_or("the world".to_owned(), |body| format!("`{}`", bodies[body].name));
    if first == second {
        let message = format!("{} is at both ends", name(first));
        return Err(ValueError::new(other, message, "name another body, or leave the second one out for the world"));
    }
    if [first, second].into_iter().flatten().any(|body| bodies[body].kind.is_free()) {
        return Ok(());
    }
    let message = format!("neither {} nor {} moves freely", name(first), name(second));
    Err(ValueError::new(both, message, "name a body that moves freely"))
}

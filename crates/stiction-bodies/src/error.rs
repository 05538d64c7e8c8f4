//! What can be wrong with a model of bodies.

use std::borrow::Cow;

use glamx::DVec3;
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
    #[error("{source}")]
    Pair {
        /// Number of the second body.
        body: usize,
        /// Number of its shape.
        shape: usize,
        /// What is missing.
        source: PartError,
    },
    /// A joint, spring, force, friction element or material that cannot be.
    #[error("{what}: {source}")]
    Part {
        /// Which one.
        what: String,
        /// What is wrong with it.
        source: PartError,
    },
}

/// What is wrong with a joint, a spring, a force, a friction element or a material.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{message}; {remedy}")]
pub struct PartError {
    /// Which of its properties, as scene files call it: `limits.lower`, `bodies.1`; empty for the
    /// whole.
    pub key: Cow<'static, str>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl PartError {
    pub(crate) fn new(
        key: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), message: message.into(), remedy: remedy.into() }
    }
}

/// Unit vectors may differ from length one by this. Too large: coordinates and stiffnesses are off
/// by this share. Too small: vectors written with few digits are refused.
const UNIT_TOLERANCE: f64 = 1e-9;

/// Two axes are at right angles when their product is at most this.
const ORTHOGONAL_TOLERANCE: f64 = 1e-9;

/// Refuses a number that is not positive and finite.
pub(crate) fn check_positive(
    key: impl Into<Cow<'static, str>>,
    what: &str,
    value: f64,
    unit: &str,
) -> Result<(), PartError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(PartError::new(key, format!("{what} is {value:?} {unit}"), "give a positive number"))
}

/// Refuses a number that is negative or not finite.
pub(crate) fn check_not_negative(key: &'static str, what: &str, value: f64, unit: &str) -> Result<(), PartError> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(PartError::new(key, format!("{what} is {value:?} {unit}"), "give zero or a positive number"))
}

/// Refuses a bound of what sticks that is below that of what slides; `sliding` is the key of that
/// one.
pub(crate) fn check_static(
    key: &'static str,
    sliding: &str,
    kinetic: f64,
    held: Option<f64>,
    unit: &str,
) -> Result<(), PartError> {
    let Some(held) = held else { return Ok(()) };
    check_not_negative(key, "the static bound", held, unit)?;
    if held >= kinetic && kinetic > 0.0 {
        return Ok(());
    }
    let message =
        format!("the static bound is {held:?} {unit}, and that of sliding, `{sliding}`, is {kinetic:?} {unit}");
    let remedy = format!("give a positive `{sliding}`, and a static bound not below it, or leave the key out");
    Err(PartError::new(key, message, remedy))
}

/// Refuses numbers that are not finite.
pub(crate) fn check_finite(key: &'static str, what: &str, values: &[f64]) -> Result<(), PartError> {
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(PartError::new(key, format!("{what} is {value:?}"), "give a finite number")),
        None => Ok(()),
    }
}

/// Refuses an axis that is not of unit length.
pub(crate) fn check_unit(
    key: impl Into<Cow<'static, str>>,
    axis: DVec3,
    dimension: Dimension,
) -> Result<(), PartError> {
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
    Err(PartError::new(key, format!("the axis has length {length:?} and must have length 1"), remedy))
}

/// Refuses two axes that are not at right angles.
pub(crate) fn check_right_angle(key: &'static str, first: DVec3, second: DVec3) -> Result<(), PartError> {
    if first.dot(second).abs() <= ORTHOGONAL_TOLERANCE {
        return Ok(());
    }
    let angle = first.dot(second).clamp(-1.0, 1.0).portable_acos().to_degrees();
    let message = format!("the two axes make an angle of {angle:.6} degrees");
    Err(PartError::new(key, message, "give axes at right angles to each other"))
}

/// Refuses ends that are the same, or of which none moves freely; no body stands for the world. The
/// keys are those of both ends and of the second one.
pub(crate) fn check_ends(
    bodies: &[Body],
    [first, second]: [Option<usize>; 2],
    [both, other]: [&'static str; 2],
) -> Result<(), PartError> {
    let name = |end: Option<usize>| end.map_or("the world".to_owned(), |body| format!("`{}`", bodies[body].name));
    if first == second {
        let message = format!("{} is at both ends", name(first));
        return Err(PartError::new(other, message, "name another body, or leave the second one out for the world"));
    }
    if [first, second].into_iter().flatten().any(|body| bodies[body].kind.is_free()) {
        return Ok(());
    }
    let message = format!("neither {} nor {} moves freely", name(first), name(second));
    Err(PartError::new(both, message, "name a body that moves freely"))
}

//! What can be wrong with a model of bodies.

use thiserror::Error;

use crate::shape::ShapeError;

/// A model that cannot be built: the caller's mistake, with names and values.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BodyError {
    /// A mass or inertia is not positive and finite.
    #[error("body `{body}`: {quantity} is {value}, and must be positive and finite")]
    Mass {
        /// Which body.
        body: String,
        /// `mass` or `inertia`.
        quantity: &'static str,
        /// The value found.
        value: f64,
    },
    /// An inertia tensor is not symmetric and positive definite.
    #[error("body `{body}`: the inertia tensor is not symmetric and positive definite")]
    Inertia {
        /// Which body.
        body: String,
    },
    /// A shape cannot be used.
    #[error("body `{body}`: {source}")]
    Shape {
        /// Which body.
        body: String,
        /// What is wrong with the shape.
        source: ShapeError,
    },
    /// An infinite shape other than a hole on a body that moves freely.
    #[error("body `{body}`: a {shape} is infinite and cannot move freely; make the body static or prescribed")]
    InfiniteShape {
        /// Which body.
        body: String,
        /// Name of the shape.
        shape: &'static str,
    },
    /// Two shapes that may meet, and for which there is no collision test.
    #[error(
        "{first_shape} of body `{first_body}` and {second_shape} of body `{second_body}` cannot collide yet; \
         exclude the pair (`[[ignore]]`), or use other shapes"
    )]
    UnsupportedPair {
        /// First body.
        first_body: String,
        /// Its shape.
        first_shape: &'static str,
        /// Second body.
        second_body: String,
        /// Its shape.
        second_shape: &'static str,
    },
    /// Two materials that may meet, and whose friction nobody has given.
    #[error(
        "no friction for the materials `{first_material}` and `{second_material}`, which can touch; \
         add them to the table of pairs, or choose a combination rule"
    )]
    NoFriction {
        /// First material.
        first_material: String,
        /// Second material.
        second_material: String,
    },
    /// A number is not usable.
    #[error("{what}: {quantity} is {value}; {remedy}")]
    Value {
        /// Which material, force or friction element.
        what: String,
        /// Which of its numbers.
        quantity: &'static str,
        /// The value found.
        value: f64,
        /// What to do.
        remedy: &'static str,
    },
    /// A joint that cannot be.
    #[error("joint `{joint}`: {reason}; {remedy}")]
    Joint {
        /// Which joint.
        joint: String,
        /// Why it cannot be.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A force, torque or friction acts on a body that cannot feel it.
    #[error("{what}: body `{body}` {reason}")]
    Target {
        /// Which force or friction element.
        what: String,
        /// Which body.
        body: String,
        /// Why it cannot.
        reason: &'static str,
    },
}

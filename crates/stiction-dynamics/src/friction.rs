//! Friction laws.

use serde::{Deserialize, Serialize};

/// The friction law of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum FrictionLaw {
    /// Frictionless.
    #[default]
    None,
    /// Coulomb's law: $\lVert c_t \rVert \le \mu c_n$, against the sliding velocity where there is one.
    Coulomb {
        /// Coefficient of friction $\mu \ge 0$.
        mu: f64,
    },
    /// An ellipsoid: $\sqrt{\sum_k (c_k / e_k)^2} \le \mu c_n$ over two tangents and, as a third row, the torsion about the normal. Friction dissipates
    /// as much as this set allows.
    Elliptic {
        /// Coefficient of friction $\mu \ge 0$.
        mu: f64,
        /// Semi-axes $e$: factors on $\mu$ along the tangents; for torsion a length, in metres.
        semi_axes: [f64; 3],
    },
}

impl FrictionLaw {
    /// The coefficient of friction $\mu$; zero without friction.
    pub fn mu(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Coulomb { mu } | Self::Elliptic { mu, .. } => mu,
        }
    }

    /// The semi-axes of the friction set along the tangent rows, over $\mu$.
    pub fn axes(&self) -> [f64; 3] {
        match *self {
            Self::None | Self::Coulomb { .. } => [1.0; 3],
            Self::Elliptic { semi_axes, .. } => semi_axes,
        }
    }
}

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
}

impl FrictionLaw {
    /// The coefficient of friction $\mu$; zero without friction.
    pub fn mu(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Coulomb { mu } => mu,
        }
    }
}

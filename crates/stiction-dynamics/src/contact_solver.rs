//! Chooses a formulation and a method, and keeps their workspace from step to step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use stiction_solve::{Lcp, LemkeSettings};

use crate::formulation::phantom_inertia::{PhantomInertia, PhantomInertiaSettings};
use crate::formulation::planar_relay::{PlanarRelay, PlanarRelaySettings};
use crate::formulation::pyramid::{Pyramid, PyramidSettings};
use crate::{ContactError, ContactProblem, ContactSolution};

/// How a contact problem is solved: friction approximation and method together, because not every product of them works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ContactMethod {
    /// Friction pyramid, solved by Lemke's method.
    Pyramid(PyramidSettings),
    /// Relay functions, in the plane only: the linear complementarity problem of \[GS05\].
    PlanarRelay(PlanarRelaySettings),
    /// Discrete acceleration with phantom inertia: the full-rank problem of \[PKF\].
    PhantomInertia(PhantomInertiaSettings),
}

impl ContactMethod {
    /// Settings of Lemke's method, which all of them use.
    pub fn lemke(&self) -> &LemkeSettings {
        match self {
            Self::Pyramid(settings) => &settings.lemke,
            Self::PlanarRelay(settings) => &settings.lemke,
            Self::PhantomInertia(settings) => &settings.lemke,
        }
    }
}

impl Default for ContactMethod {
    fn default() -> Self {
        Self::Pyramid(PyramidSettings::default())
    }
}

/// A contact method with its workspace.
#[derive(Clone, Debug)]
pub struct ContactSolver {
    method: Method,
}

#[derive(Clone, Debug)]
enum Method {
    Pyramid(Box<Pyramid>),
    PlanarRelay(Box<PlanarRelay>),
    PhantomInertia(Box<PhantomInertia>),
}

/// The corners of the friction set of a single tangent.
const LINE: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

impl ContactSolver {
    /// A solver for this method.
    ///
    /// # Errors
    /// [`ContactError`] when friction directions or other settings of the method are not usable.
    pub fn new(method: ContactMethod) -> Result<Self, ContactError> {
        if let Some((quantity, value)) = method.lemke().first_unusable() {
            let what = "the settings of Lemke's method".to_owned();
            return Err(ContactError::Coefficient { what, quantity, value });
        }
        let method = match method {
            ContactMethod::Pyramid(settings) => Method::Pyramid(Box::new(Pyramid::new(settings)?)),
            ContactMethod::PlanarRelay(settings) => Method::PlanarRelay(Box::new(PlanarRelay::new(settings))),
            ContactMethod::PhantomInertia(settings) => Method::PhantomInertia(Box::new(PhantomInertia::new(settings)?)),
        };
        Ok(Self { method })
    }

    /// Solves a problem whose inertia is factored; the report in `solution` says how well.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        problem.check()?;
        match &mut self.method {
            Method::Pyramid(method) => method.solve(problem, solution),
            Method::PlanarRelay(method) => method.solve(problem, solution),
            Method::PhantomInertia(method) => method.solve(problem, solution),
        }
    }

    /// The LCP that stands for a problem, to be saved and solved elsewhere.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn lcp(&self, problem: &ContactProblem) -> Result<Lcp, ContactError> {
        problem.check()?;
        match &self.method {
            Method::Pyramid(method) => method.clone().lcp(problem),
            Method::PlanarRelay(method) => method.clone().lcp(problem),
            Method::PhantomInertia(method) => method.clone().lcp(problem),
        }
    }

    /// The corners of the method's friction set of unit bound, for a contact with this many tangent rows.
    pub fn corners(&self, tangent_count: usize) -> &[[f64; 2]] {
        match &self.method {
            Method::Pyramid(method) => method.corners(tangent_count),
            Method::PlanarRelay(_) => &LINE,
            Method::PhantomInertia(method) => method.corners(tangent_count),
        }
    }

    /// Largest friction power per unit of the bound that the method's friction set allows against this sliding velocity:
    /// $\max_i -d_i^T s$, the paper's $\lambda$. For the exact cone it would be $\lVert s \rVert$.
    pub fn friction_support(&self, tangent_count: usize, slip: &[f64; 3]) -> f64 {
        let corners = self.corners(tangent_count).iter();
        corners.fold(0.0f64, |largest, d| largest.max(-(d[0] * slip[0] + d[1] * slip[1])))
    }

    /// Largest length of a friction impulse of unit bound: one for an inscribed polygon, more for a circumscribed one and for
    /// anisotropic directions.
    pub fn friction_reach(&self, tangent_count: usize) -> f64 {
        self.corners(tangent_count).iter().fold(0.0, |reach, d| reach.max(d[0].hypot(d[1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_lemke_are_checked_for_every_method() {
        for value in [-1e-10, f64::NAN, f64::INFINITY] {
            let lemke = LemkeSettings { residual_tolerance: value, ..Default::default() };
            for method in [
                ContactMethod::Pyramid(PyramidSettings { lemke: lemke.clone(), ..Default::default() }),
                ContactMethod::PlanarRelay(PlanarRelaySettings { lemke: lemke.clone(), ..Default::default() }),
                ContactMethod::PhantomInertia(PhantomInertiaSettings { lemke: lemke.clone(), ..Default::default() }),
            ] {
                let error = ContactSolver::new(method).unwrap_err();
                assert!(error.to_string().contains(&format!("residual-tolerance is {value}")), "{error}");
            }
        }
    }
}

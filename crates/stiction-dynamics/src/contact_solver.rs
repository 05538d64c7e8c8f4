//! Chooses a formulation and a method, and keeps their workspace from step to step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use stiction_solve::Lcp;

use crate::formulation::pyramid::{Pyramid, PyramidSettings};
use crate::{ContactError, ContactProblem, ContactSolution};

/// How a contact problem is solved: friction approximation and method together, because not every product of them works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ContactMethod {
    /// Friction pyramid, solved by Lemke's method.
    Pyramid(PyramidSettings),
}

impl Default for ContactMethod {
    fn default() -> Self {
        Self::Pyramid(PyramidSettings::default())
    }
}

/// A contact method with its workspace.
#[derive(Clone, Debug)]
pub struct ContactSolver {
    pyramid: Pyramid,
}

impl ContactSolver {
    /// A solver for this method.
    ///
    /// # Errors
    /// [`ContactError::Directions`] when the friction directions are not usable.
    pub fn new(method: ContactMethod) -> Result<Self, ContactError> {
        let ContactMethod::Pyramid(settings) = method;
        Ok(Self { pyramid: Pyramid::new(settings)? })
    }

    /// Solves a problem whose inertia is factored; the report in `solution` says how well.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        problem.check()?;
        self.pyramid.solve(problem, solution)
    }

    /// The LCP that stands for a problem, to be saved and solved elsewhere.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn lcp(&self, problem: &ContactProblem) -> Result<Lcp, ContactError> {
        problem.check()?;
        self.pyramid.clone().lcp(problem)
    }

    /// Largest friction power per unit of the bound that the method's friction set allows against this sliding velocity:
    /// $\max_i -d_i^T s$, the paper's $\lambda$. For the exact cone it would be $\lVert s \rVert$.
    pub fn friction_support(&self, tangent_count: usize, slip: &[f64; 3]) -> f64 {
        let corners = self.pyramid.corners(tangent_count);
        corners.iter().fold(0.0f64, |largest, d| largest.max(-(d[0] * slip[0] + d[1] * slip[1])))
    }

    /// Largest length of a friction impulse of unit bound: one for an inscribed polygon, more for anisotropic directions.
    pub fn friction_reach(&self, tangent_count: usize) -> f64 {
        self.pyramid.corners(tangent_count).iter().fold(0.0, |reach, d| reach.max(d[0].hypot(d[1])))
    }
}

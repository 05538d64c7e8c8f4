//! Chooses a formulation and a method, and keeps their workspace from step to step.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::PortableMath as _;

use stiction_solve::cone::GlobalConeProblem;
use stiction_solve::{Lcp, LemkeSettings};

use crate::formulation::exact_cone::{ExactCone, ExactConeSettings};
use crate::formulation::phantom_inertia::{PhantomInertia, PhantomInertiaSettings};
use crate::formulation::planar_relay::{PlanarRelay, PlanarRelaySettings};
use crate::formulation::pyramid::{Pyramid, PyramidSettings};
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, Polytope};

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
    /// The exact friction cone.
    Cone(ExactConeSettings),
}

impl ContactMethod {
    /// Settings of Lemke's method, where the method uses it.
    pub fn lemke(&self) -> Option<&LemkeSettings> {
        match self {
            Self::Pyramid(settings) => Some(&settings.lemke),
            Self::PlanarRelay(settings) => Some(&settings.lemke),
            Self::PhantomInertia(settings) => Some(&settings.lemke),
            Self::Cone(_) => None,
        }
    }

    /// Largest residual of a solved problem with this number of contacts.
    pub fn residual_tolerance(&self, contact_count: usize) -> f64 {
        match self {
            Self::Cone(settings) => settings.tolerances(contact_count)[1],
            _ => self.lemke().map_or(0.0, |lemke| lemke.residual_tolerance),
        }
    }
}

/// A contact problem in the form in which its method solves it, to be saved.
#[derive(Clone, Debug)]
pub enum StatedProblem {
    /// A linear complementarity problem.
    Lcp(Lcp),
    /// A problem over cones.
    Cone(GlobalConeProblem),
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
    Cone(Box<ExactCone>),
}

impl ContactSolver {
    /// A solver for this method.
    ///
    /// # Errors
    /// [`ContactError`] when friction directions or other settings of the method are not usable.
    pub fn new(method: ContactMethod) -> Result<Self, ContactError> {
        if let Some((quantity, value)) = method.lemke().and_then(LemkeSettings::first_unusable) {
            let what = "the settings of Lemke's method".to_owned();
            return Err(ContactError::Coefficient { what, quantity, value });
        }
        let method = match method {
            ContactMethod::Pyramid(settings) => Method::Pyramid(Box::new(Pyramid::new(settings)?)),
            ContactMethod::PlanarRelay(settings) => Method::PlanarRelay(Box::new(PlanarRelay::new(settings))),
            ContactMethod::PhantomInertia(settings) => Method::PhantomInertia(Box::new(PhantomInertia::new(settings)?)),
            ContactMethod::Cone(settings) => Method::Cone(Box::new(ExactCone::new(settings)?)),
        };
        Ok(Self { method })
    }

    /// Solves a problem whose inertia is factored; the report in `solution` says how well.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        problem.check()?;
        self.check_friction(problem)?;
        match &mut self.method {
            Method::Pyramid(method) => method.solve(problem, solution),
            Method::PlanarRelay(method) => method.solve(problem, solution),
            Method::PhantomInertia(method) => method.solve(problem, solution),
            Method::Cone(method) => method.solve(problem, solution),
        }
    }

    /// Whether the friction sets of the method are exact in space.
    pub fn is_round(&self) -> bool {
        matches!(self.method, Method::Cone(_))
    }

    /// Refuses friction sets that the method cannot describe.
    fn check_friction(&self, problem: &ContactProblem) -> Result<(), ContactError> {
        for contact in problem.contacts.iter().filter(|contact| contact.mu > 0.0 || contact.extra_bound > 0.0) {
            let what = || format!("contact {:?}", contact.id);
            let is_round = contact.friction_axes == [1.0; 3] && contact.friction_shape == FrictionShape::Ball;
            match (&self.method, &contact.friction_shape) {
                (Method::Pyramid(_), _) => {}
                (Method::Cone(_), FrictionShape::Polytope(_)) => return Err(ContactError::Polytope { what: what() }),
                (Method::Cone(_), _) => {}
                (Method::PlanarRelay(_), _) if !is_round => {
                    return Err(ContactError::NotRound { what: what(), method: "planar-relay" });
                }
                (Method::PhantomInertia(_), _) if !is_round => {
                    return Err(ContactError::NotRound { what: what(), method: "phantom-inertia" });
                }
                (Method::PlanarRelay(_) | Method::PhantomInertia(_), _) => {}
            }
        }
        Ok(())
    }

    /// The problem as the method states it, to be saved and solved elsewhere.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        problem.check()?;
        self.check_friction(problem)?;
        Ok(match &self.method {
            Method::Pyramid(method) => StatedProblem::Lcp(method.clone().lcp(problem)?),
            Method::PlanarRelay(method) => StatedProblem::Lcp(method.clone().lcp(problem)?),
            Method::PhantomInertia(method) => StatedProblem::Lcp(method.clone().lcp(problem)?),
            Method::Cone(method) => StatedProblem::Cone(method.cone_problem(problem)),
        })
    }

    /// The friction set with which the method replaces a shape, for a contact with this many tangent rows: a polytope for those that do not treat it as it is. All in
    /// units of the semi-axes.
    pub fn friction_shape(&self, tangent_count: usize, shape: &FrictionShape) -> FrictionShape {
        match (&self.method, shape) {
            (Method::Pyramid(method), _) => method.shape(tangent_count, shape),
            (Method::PhantomInertia(method), FrictionShape::Ball) => {
                let corners = method.corners(tangent_count).iter().map(|&[t, o]| [t, o, 0.0]).collect();
                Polytope::from_corners(corners)
                    .map_or(FrictionShape::Ball, |set| FrictionShape::Polytope(Arc::new(set)))
            }
            _ => shape.clone(),
        }
    }

    /// Largest friction power per unit of the bound that the method's friction set allows against this sliding velocity:
    /// $\max_i -d_i^T s$, the paper's $\lambda$; for the exact cone with semi-axes $e$ it is $\lVert e s \rVert$.
    pub fn friction_support(
        &self,
        tangent_count: usize,
        axes: &[f64; 3],
        shape: &FrictionShape,
        slip: &[f64; 3],
    ) -> f64 {
        let slip = std::array::from_fn(|k| axes[k] * slip[k]);
        let largest_of = |largest: f64, d: &[f64; 2]| largest.max(-(d[0] * slip[0] + d[1] * slip[1]));
        match (&self.method, shape) {
            (Method::Pyramid(method), FrictionShape::Ball | FrictionShape::DiscAndInterval) if tangent_count > 2 => {
                method
                    .solid_corners(shape)
                    .fold(0.0f64, |l, d| l.max(-(d[0] * slip[0] + d[1] * slip[1] + d[2] * slip[2])))
            }
            (_, FrictionShape::Polytope(_)) | (Method::PlanarRelay(_) | Method::Cone(_), _) => shape.support(&slip),
            (Method::Pyramid(method), _) => method.corners(tangent_count).iter().fold(0.0, largest_of),
            (Method::PhantomInertia(method), _) => method.corners(tangent_count).iter().fold(0.0, largest_of),
        }
    }

    /// How far a friction impulse is above its bound, by the method's friction set: not positive up to rounding. An inscribed polygon is measured by the
    /// shape around it.
    pub fn friction_excess(&self, axes: &[f64; 3], shape: &FrictionShape, bound: f64, impulse: &[f64; 3]) -> f64 {
        // Polygons around the circle reach farther than it.
        let reach = match &self.method {
            Method::PhantomInertia(method) => {
                method.corners(2).iter().fold(1.0f64, |reach, d| reach.max(d[0].portable_hypot(d[1])))
            }
            Method::Pyramid(method) => method.reach(),
            Method::PlanarRelay(_) | Method::Cone(_) => 1.0,
        };
        let scaled = std::array::from_fn(|k| impulse[k] / axes[k]);
        match shape {
            FrictionShape::Polytope(polytope) => polytope.excess(&scaled, bound),
            _ => shape.excess(&scaled.map(|y| y / reach), bound),
        }
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

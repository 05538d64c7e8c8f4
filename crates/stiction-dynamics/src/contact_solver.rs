//! Chooses a formulation and a method, and keeps their workspace from step to step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use stiction_solve::cone::GlobalConeProblem;
use stiction_solve::{Lcp, LemkeSettings};

use crate::contact::Tangents;
use crate::formulation::alternating::{Alternating, AlternatingSettings};
use crate::formulation::convex::Convex;
use crate::formulation::exact_cone::{ExactCone, ExactConeSettings};
use crate::formulation::phantom_inertia::{PhantomContact, PhantomInertia, PhantomInertiaSettings};
use crate::formulation::planar_relay::{PlanarRelay, PlanarRelaySettings};
use crate::formulation::pyramid::{Pyramid, PyramidSettings};
use crate::formulation::spatial_relay::SpatialRelaySettings;
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape};

/// How a contact problem is solved: friction approximation and method together, because not every product of them works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ContactMethod {
    /// Friction pyramid, solved by Lemke's method.
    Pyramid(PyramidSettings),
    /// Relay functions, in the plane only: the linear complementarity problem of \[GS05\].
    PlanarRelay(PlanarRelaySettings),
    /// A sum of relay functions, in space too: a friction pyramid in the terms of \[GS05\].
    SpatialRelay(SpatialRelaySettings),
    /// Discrete acceleration with phantom inertia: the full-rank problem of \[PKF\].
    PhantomInertia(PhantomInertiaSettings),
    /// The exact friction cone.
    Cone(ExactConeSettings),
    /// Normal and tangential problems in turn, with exact friction sets: for comparison, as it need not converge.
    Alternating(AlternatingSettings),
}

impl ContactMethod {
    /// Its name in scenes.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pyramid(_) => "pyramid",
            Self::PlanarRelay(_) => "planar-relay",
            Self::SpatialRelay(_) => "spatial-relay",
            Self::PhantomInertia(_) => "phantom-inertia",
            Self::Cone(_) => "cone",
            Self::Alternating(_) => "alternating",
        }
    }

    /// Settings of Lemke's method, where the method uses it.
    pub fn lemke(&self) -> Option<&LemkeSettings> {
        match self {
            Self::Pyramid(settings) => Some(&settings.lemke),
            Self::PlanarRelay(settings) => Some(&settings.lemke),
            Self::SpatialRelay(settings) => Some(&settings.lemke),
            Self::PhantomInertia(settings) => Some(&settings.lemke),
            Self::Cone(_) | Self::Alternating(_) => None,
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
    accepted: ContactMethod,
}

#[derive(Clone, Debug)]
enum Method {
    Pyramid(Box<Pyramid>),
    PlanarRelay(Box<PlanarRelay>),
    SpatialRelay(Box<PlanarRelay>),
    PhantomInertia(Box<PhantomInertia>),
    /// With what it does for sets of users.
    Cone(Box<ExactCone>, Box<Convex>),
    Alternating(Box<Alternating>),
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
        let accepted = method.clone();
        let method = match method {
            ContactMethod::Pyramid(settings) => Method::Pyramid(Box::new(Pyramid::new(settings)?)),
            ContactMethod::PlanarRelay(settings) => Method::PlanarRelay(Box::new(PlanarRelay::new(settings))),
            ContactMethod::SpatialRelay(settings) => Method::SpatialRelay(Box::new(settings.method()?)),
            ContactMethod::PhantomInertia(settings) => Method::PhantomInertia(Box::new(PhantomInertia::new(settings)?)),
            ContactMethod::Cone(settings) => {
                Method::Cone(Box::new(ExactCone::new(settings)?), Box::new(Convex::new()?))
            }
            ContactMethod::Alternating(settings) => Method::Alternating(Box::new(Alternating::new(settings)?)),
        };
        Ok(Self { method, accepted })
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
            Method::PlanarRelay(method) | Method::SpatialRelay(method) => method.solve(problem, solution),
            Method::PhantomInertia(method) => method.solve(problem, solution),
            Method::Cone(_, convex) if Convex::is_for(problem) => convex.solve(problem, solution),
            Method::Cone(method, _) => method.solve(problem, solution),
            Method::Alternating(method) => method.solve(problem, solution),
        }
    }

    /// Forgets the last solution, so that the next problem is solved without a start. Whether there was one.
    pub fn forget(&mut self) -> bool {
        match &mut self.method {
            Method::Pyramid(method) => method.forget(),
            Method::PlanarRelay(method) | Method::SpatialRelay(method) => method.forget(),
            Method::PhantomInertia(method) => method.forget(),
            Method::Cone(method, convex) => method.forget() | convex.forget(),
            Method::Alternating(method) => method.forget(),
        }
    }

    /// Solves a problem by the other methods for which it is the same problem, one after another until one solves it; whether there were any. Friction along a line is
    /// Coulomb's law for all of them; in space each has its own set.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed.
    pub fn solve_otherwise(
        &self,
        problem: &ContactProblem,
        solution: &mut ContactSolution,
    ) -> Result<bool, ContactError> {
        let is_line = |tangents: &Tangents| tangents.len() <= 1;
        let is_planar = problem.contacts.iter().all(|contact| is_line(&contact.tangents) && contact.is_round())
            && problem.friction.iter().all(|element| is_line(&element.tangents) && element.is_round());
        if !is_planar {
            return Ok(false);
        }
        let others = [
            ContactMethod::Cone(ExactConeSettings::default()),
            ContactMethod::Pyramid(PyramidSettings::default()),
            ContactMethod::PlanarRelay(PlanarRelaySettings::default()),
        ];
        for method in others {
            let mut other = Self::new(method)?;
            if std::mem::discriminant(&other.method) == std::mem::discriminant(&self.method) {
                continue;
            }
            other.solve(problem, solution)?;
            if solution.report.is_solved() {
                break;
            }
        }
        Ok(true)
    }

    /// Largest residual with which a step goes on, by the settings: what is above the limit of the judge is not solved, and its step is marked.
    pub fn accepted_residual(&self, contact_count: usize) -> f64 {
        self.accepted.residual_tolerance(contact_count)
    }

    /// Whether the friction sets of the method are exact in space.
    pub fn is_round(&self) -> bool {
        matches!(self.method, Method::Cone(..) | Method::Alternating(_))
    }

    /// Refuses friction sets that the method cannot describe.
    fn check_friction(&self, problem: &ContactProblem) -> Result<(), ContactError> {
        for contact in problem.contacts.iter().filter(|contact| contact.mu > 0.0 || contact.extra_bound > 0.0) {
            let what = || format!("contact {:?}", contact.id);
            let (count, axes, shape) = (contact.tangents.len(), contact.friction_axes, &contact.friction_shape);
            self.check_set(&what, count, (axes, shape), contact.phantom)?;
        }
        for element in &problem.friction {
            let what = || format!("friction element {}", element.id);
            // Its two parts have bounds of their own, and the tangential problem knows one for an element.
            if matches!(self.method, Method::Alternating(_)) && element.friction_shape == FrictionShape::DiscAndInterval
            {
                return Err(ContactError::NotRound { what: what(), method: "alternating" });
            }
            let set = ([1.0; 3], &element.friction_shape);
            self.check_set(&what, element.tangents.len(), set, PhantomContact::default())?;
        }
        Ok(())
    }

    /// Refuses a friction set, given by its semi-axes and in their units, that the method cannot describe.
    fn check_set(
        &self,
        what: &dyn Fn() -> String,
        tangent_count: usize,
        (axes, shape): ([f64; 3], &FrictionShape),
        phantom: PhantomContact,
    ) -> Result<(), ContactError> {
        let has_circle = axes == [1.0; 3];
        let is_round = has_circle && *shape == FrictionShape::Ball;
        let user = match &self.method {
            Method::Pyramid(_) => "the method `pyramid`",
            Method::PlanarRelay(_) => "the method `planar-relay`",
            Method::SpatialRelay(_) => "the method `spatial-relay`",
            Method::PhantomInertia(_) => "the method `phantom-inertia`",
            Method::Alternating(_) => "the method `alternating`",
            Method::Cone(..) => "",
        };
        let not_round = |method| Err(ContactError::NotRound { what: what(), method });
        match (&self.method, shape) {
            (Method::Cone(..), FrictionShape::Polytope(_)) => Err(ContactError::Polytope { what: what() }),
            (Method::Cone(..), _) => Ok(()),
            (_, FrictionShape::Convex(_)) => Err(ContactError::ConvexSet { what: what(), user }),
            (Method::Pyramid(_), _) => Ok(()),
            (Method::Alternating(_), FrictionShape::Polytope(_)) => Err(ContactError::Polytope { what: what() }),
            (Method::Alternating(_), _) => Ok(()),
            (Method::SpatialRelay(method), shape) if !method.can_span(tangent_count, shape) => {
                not_round("spatial-relay")
            }
            (Method::PlanarRelay(_), _) if !is_round => not_round("planar-relay"),
            (Method::PhantomInertia(method), shape)
                if !(is_round || has_circle && method.is_own(tangent_count, shape, phantom)) =>
            {
                not_round("phantom-inertia")
            }
            (Method::PlanarRelay(_) | Method::SpatialRelay(_) | Method::PhantomInertia(_), _) => Ok(()),
        }
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
            Method::PlanarRelay(method) | Method::SpatialRelay(method) => {
                StatedProblem::Lcp(method.clone().lcp(problem)?)
            }
            Method::PhantomInertia(method) => StatedProblem::Lcp(method.clone().lcp(problem)?),
            Method::Cone(method, _) => match Convex::first(problem) {
                Some(what) => return Err(ContactError::ConvexSet { what, user: "a problem file" }),
                None => StatedProblem::Cone(method.cone_problem(problem)),
            },
            Method::Alternating(_) => {
                StatedProblem::Cone(ExactCone::new(ExactConeSettings::default())?.cone_problem(problem))
            }
        })
    }

    /// The friction set with which the method replaces a shape, for a contact with this many tangent rows: a polytope for those that do not treat it as it is. All in
    /// units of the semi-axes.
    pub fn friction_set<'a>(&'a self, tangent_count: usize, shape: &'a FrictionShape) -> &'a FrictionShape {
        match &self.method {
            Method::Pyramid(method) => method.set(tangent_count, shape),
            Method::PhantomInertia(method) => method.set(tangent_count, shape),
            Method::SpatialRelay(method) => method.set(tangent_count, shape),
            Method::PlanarRelay(_) | Method::Cone(..) | Method::Alternating(_) => shape,
        }
    }

    /// As [`friction_set`](Self::friction_set), for a contact that may have lines of its own.
    pub fn contact_set(&self, tangent_count: usize, shape: &FrictionShape, phantom: PhantomContact) -> FrictionShape {
        let own = match &self.method {
            Method::PhantomInertia(_) => PhantomInertia::own_set(tangent_count, shape, phantom),
            _ => None,
        };
        own.unwrap_or_else(|| self.friction_set(tangent_count, shape).clone())
    }

    /// Writes the friction sets of the method into a problem that has those of the laws, so that whoever checks a solution sees by the problem alone what was solved.
    pub fn adopt_sets(&self, problem: &mut ContactProblem) {
        if matches!(self.method, Method::PlanarRelay(_) | Method::Cone(..) | Method::Alternating(_)) {
            return;
        }
        for contact in &mut problem.contacts {
            let set = self.contact_set(contact.tangents.len(), &contact.friction_shape, contact.phantom);
            if !set.is_same(&contact.friction_shape) {
                contact.friction_shape = set;
            }
        }
        for element in &mut problem.friction {
            let set = self.friction_set(element.tangents.len(), &element.friction_shape);
            if !set.is_same(&element.friction_shape) {
                element.friction_shape = set.clone();
            }
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

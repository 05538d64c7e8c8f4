//! Solves contact problems by a method of choice, and keeps its workspace from step to step.

use stiction_solve::cone::GlobalConeProblem;
use stiction_solve::{Lcp, LemkeSettings};

use crate::contact_problem::Group;
use crate::error::Untreated;
use crate::formulation::{ContactMethod, Formulation, FrictionSets, MethodFacts};
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, PhantomContact};

/// A contact problem in the form in which its method solves it, to be saved.
#[derive(Clone, Debug)]
pub enum StatedProblem {
    /// A linear complementarity problem.
    Lcp(Lcp),
    /// A problem over cones.
    Cone(GlobalConeProblem),
}

/// A contact method with its workspace.
#[derive(Debug)]
pub struct ContactSolver {
    method: ContactMethod,
    workspace: Box<dyn Formulation>,
}

impl Clone for ContactSolver {
    fn clone(&self) -> Self {
        Self { method: self.method.clone(), workspace: self.workspace.duplicate() }
    }
}

impl Default for ContactSolver {
    /// The default method.
    fn default() -> Self {
        Self::new(ContactMethod::default()).expect("the default settings of a method can be used")
    }
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
        Ok(Self { workspace: method.build()?, method })
    }

    /// Solves a problem whose inertia is factored; the report in `solution` says how well.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.check(problem)?;
        self.workspace.solve(problem, solution)
    }

    /// Refuses a problem that is malformed, or has friction sets that the method cannot describe.
    fn check(&self, problem: &ContactProblem) -> Result<(), ContactError> {
        problem.check()?;
        let is_refused = |group: &Group| group.has_friction() && !self.workspace.treats(group);
        let Some(Group { name, shape, .. }) = problem.groups().find(is_refused) else { return Ok(()) };
        let MethodFacts { named, sets, .. } = self.method.facts();
        let why = match shape {
            FrictionShape::Convex(_) => Untreated::ConvexSet(format!("the method `{}`", named.name)),
            FrictionShape::Polytope(_) if sets == FrictionSets::Round => Untreated::Polytope,
            _ => Untreated::NotRound(named.name),
        };
        Err(why.of(name))
    }

    /// Forgets the last solution, so that the next problem is solved without a start. Whether there
    /// was one.
    pub fn forget(&mut self) -> bool {
        self.workspace.forget()
    }

    /// Solves a problem by the other methods for which it is the same problem, one after another
    /// until one solves it; whether there were any. Friction along a line is Coulomb's law for all
    /// of them; in space each has its own set.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed.
    pub fn solve_otherwise(
        &self,
        problem: &ContactProblem,
        solution: &mut ContactSolution,
    ) -> Result<bool, ContactError> {
        if !problem.groups().all(|group| group.tangents.len() <= 1 && group.is_round()) {
            return Ok(false);
        }
        let others = [
            ContactMethod::Cone(Default::default()),
            ContactMethod::Pyramid(Default::default()),
            ContactMethod::PlanarRelay(Default::default()),
        ];
        for method in others.into_iter().filter(|other| other.name() != self.method.name()) {
            Self::new(method)?.solve(problem, solution)?;
            if solution.report.is_solved() {
                break;
            }
        }
        Ok(true)
    }

    /// Largest residual with which a step goes on, by the settings: what is above the limit of the
    /// judge is not solved, and its step is marked.
    pub fn accepted_residual(&self, contact_count: usize) -> f64 {
        self.method.residual_tolerance(contact_count)
    }

    /// Whether the friction sets of the method are exact in space.
    pub fn is_exact(&self) -> bool {
        self.method.facts().is_exact
    }

    /// The problem as the method states it, to be saved and solved elsewhere.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or outside what the method can treat.
    pub fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        self.check(problem)?;
        self.workspace.state(problem)
    }

    /// The friction set with which the method replaces a shape, for a contact with this many
    /// tangent rows that may have lines of its own: a polytope for those that do not treat it as it
    /// is. All in units of the semi-axes.
    pub fn friction_set(&self, tangent_count: usize, shape: &FrictionShape, phantom: PhantomContact) -> FrictionShape {
        self.workspace.friction_set(tangent_count, shape, phantom)
    }

    /// Writes the friction sets of the method into a problem that has those of the laws, so that
    /// whoever checks a solution sees by the problem alone what was solved.
    pub fn adopt_sets(&self, problem: &mut ContactProblem) {
        for contact in &mut problem.contacts {
            contact.friction_shape =
                self.friction_set(contact.tangents.len(), &contact.friction_shape, contact.phantom);
        }
        for element in &mut problem.friction {
            let none = PhantomContact::default();
            element.friction_shape = self.friction_set(element.tangents.len(), &element.friction_shape, none);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PhantomInertiaSettings, PlanarRelaySettings, PyramidSettings};

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

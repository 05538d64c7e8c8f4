//! How a [`ContactProblem`] becomes a complementarity problem, and its answer impulses again.
//!
//! A contact method is a file here. It states its facts beside its settings, and this module lists
//! it: a variant of [`ContactMethod`], and a line in each of the two functions below it. Scenes,
//! the command line, refusals and the table in the documents follow.

pub mod alternating;
pub(crate) mod convex;
mod directions;
pub mod exact_cone;
mod memory;
pub mod phantom_inertia;
pub mod planar_relay;
pub mod pyramid;
mod rows;
pub mod spatial_relay;

use std::fmt::Debug;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use stiction_solve::LemkeSettings;

use crate::contact_problem::Group;
use crate::setting::{Named, Suffix, ValueError, describe_choices, either};
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, PhantomContact, StatedProblem};

/// How a contact problem is solved: friction approximation and method together, because not every
/// product of them works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = describe)]
pub enum ContactMethod {
    /// See [`pyramid`].
    Pyramid(pyramid::PyramidSettings),
    /// See [`planar_relay`].
    PlanarRelay(planar_relay::PlanarRelaySettings),
    /// See [`spatial_relay`].
    SpatialRelay(spatial_relay::SpatialRelaySettings),
    /// See [`phantom_inertia`].
    PhantomInertia(phantom_inertia::PhantomInertiaSettings),
    /// See [`exact_cone`].
    Cone(exact_cone::ExactConeSettings),
    /// See [`alternating`].
    Alternating(alternating::AlternatingSettings),
}

impl ContactMethod {
    /// All methods, with default settings.
    pub fn all() -> [Self; 6] {
        [
            Self::Cone(Default::default()),
            Self::Pyramid(Default::default()),
            Self::PlanarRelay(Default::default()),
            Self::SpatialRelay(Default::default()),
            Self::PhantomInertia(Default::default()),
            Self::Alternating(Default::default()),
        ]
    }

    fn own(&self) -> &dyn MethodSettings {
        match self {
            Self::Pyramid(settings) => settings,
            Self::PlanarRelay(settings) => settings,
            Self::SpatialRelay(settings) => settings,
            Self::PhantomInertia(settings) => settings,
            Self::Cone(settings) => settings,
            Self::Alternating(settings) => settings,
        }
    }

    /// What the method is and can treat.
    pub fn facts(&self) -> MethodFacts {
        self.own().facts()
    }

    /// Its name in scenes.
    pub fn name(&self) -> &'static str {
        self.facts().named.name
    }

    /// The names of the methods that treat some friction sets: `` `a`, `b` or `c` ``.
    pub fn named_with(sets: FrictionSets) -> String {
        let able = Self::all().map(|method| method.facts()).into_iter().filter(|facts| facts.sets >= sets);
        either(able.map(|facts| facts.named.name))
    }

    /// Settings of Lemke's method, where the method uses it.
    pub fn lemke(&self) -> Option<&LemkeSettings> {
        self.own().lemke()
    }

    /// Largest residual of a solved problem with this number of contacts.
    pub fn residual_tolerance(&self, contact_count: usize) -> f64 {
        self.own().residual_tolerance(contact_count)
    }

    /// Checks the settings, for contacts with this many tangent rows.
    ///
    /// # Errors
    /// [`ValueError`] with the keys from the name of the method on.
    pub fn check(&self, tangent_count: usize) -> Result<(), ValueError> {
        let own = self.own();
        let lemke = own.lemke().and_then(LemkeSettings::first_unusable).map_or(Ok(()), |(key, value)| {
            let remedy = if value < 0.0 { "give zero or a positive number" } else { "give at least 1" };
            Err(ValueError::new(key, format!("`{key}` is {value:?}"), remedy).inside("lemke"))
        });
        own.check(tangent_count).and(lemke).map_err(|error| error.inside(self.name()))
    }

    /// The method with its workspace.
    pub(crate) fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        self.own().build()
    }
}

impl Default for ContactMethod {
    fn default() -> Self {
        Self::Pyramid(Default::default())
    }
}

fn describe(schema: &mut Schema) {
    describe_choices(schema, &ContactMethod::all().map(|method| method.facts().named));
}

/// What a contact method is and can treat, whatever its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodFacts {
    /// Name, description and short forms.
    pub named: Named,
    /// Which friction sets it treats.
    pub sets: FrictionSets,
    /// Whether those in space are exact: no polygon stands for a circle.
    pub is_exact: bool,
}

impl MethodFacts {
    /// A method whose sets in space are polygons.
    fn new(name: &'static str, summary: &'static str, suffixes: &'static [Suffix], sets: FrictionSets) -> Self {
        Self { named: Named { name, summary, suffixes }, sets, is_exact: false }
    }
}

/// Friction sets that a method treats, each with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrictionSets {
    /// Friction along a line, as in the plane.
    Line,
    /// Coulomb's circle.
    Circle,
    /// Sums of segments: ellipses, and torsion with a bound of its own.
    Segments,
    /// Ellipsoids of sliding and torsion.
    Round,
    /// Polytopes.
    Polytopes,
}

impl FrictionSets {
    /// What they are, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Line => "friction along a line, as in the plane",
            Self::Circle => "Coulomb's circle",
            Self::Segments => "circle and ellipse, torsion with a bound of its own",
            Self::Round => "circle and ellipse, all torsion",
            Self::Polytopes => "circle and ellipse, all torsion, polytopes",
        }
    }
}

/// What the settings of a contact method state about it, in its own file.
trait MethodSettings {
    /// What the method is and can treat.
    fn facts(&self) -> MethodFacts;

    /// Settings of Lemke's method, where the method uses it. They are checked for it.
    fn lemke(&self) -> Option<&LemkeSettings> {
        None
    }

    /// Largest residual of a solved problem with this number of contacts.
    fn residual_tolerance(&self, _contact_count: usize) -> f64 {
        self.lemke().map_or(0.0, |lemke| lemke.residual_tolerance)
    }

    /// Checks the settings, for contacts with this many tangent rows.
    fn check(&self, _tangent_count: usize) -> Result<(), ValueError> {
        Ok(())
    }

    /// The method with its workspace.
    fn build(&self) -> Result<Box<dyn Formulation>, ContactError>;
}

/// A contact method at work: what [`ContactSolver`](crate::ContactSolver) asks of it.
pub(crate) trait Formulation: Debug + Send + Sync + Duplicate {
    /// Whether the method can describe the friction of a contact or a friction element.
    fn treats(&self, group: &Group) -> bool;

    /// The friction set with which the method replaces a shape, for this many tangent rows, in
    /// units of the semi-axes. `phantom` is what a contact has of its own.
    fn friction_set(&self, _tangent_count: usize, shape: &FrictionShape, _phantom: PhantomContact) -> FrictionShape {
        shape.clone()
    }

    /// Solves a problem whose inertia is factored; the report in `solution` says how well.
    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError>;

    /// Forgets the last solution, so that the next problem is solved without a start. Whether there
    /// was one.
    fn forget(&mut self) -> bool;

    /// The problem in the form in which the method solves it, to be saved.
    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError>;
}

/// What makes copies of a method, whichever it is.
pub(crate) trait Duplicate {
    /// The same method with a workspace of its own.
    fn duplicate(&self) -> Box<dyn Formulation>;
}

impl<T: Formulation + Clone + 'static> Duplicate for T {
    fn duplicate(&self) -> Box<dyn Formulation> {
        Box::new(self.clone())
    }
}

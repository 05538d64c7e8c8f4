//! What can go wrong in a contact problem or in a step.

use stiction_solve::{ProblemError, SolveReport, SolveStatus};
use thiserror::Error;

use crate::{ContactId, ContactProblem, ContactSolution, MechanicalSystem, Place, SchemeSettings};

/// Contacts that a message names, at most.
const MOST_NAMES: usize = 4;

/// A contact problem that cannot be stated or that the chosen method cannot treat.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ContactError {
    /// The inertia is not positive definite.
    #[error("the inertia is singular or indefinite at velocity coordinate {coordinate} (pivot {pivot:e})")]
    Inertia {
        /// First velocity coordinate of the block that could not be factored.
        coordinate: usize,
        /// The pivot that was not positive.
        pivot: f64,
    },
    /// A size does not fit the number of velocity coordinates.
    #[error("{what} has {found} entries, but the system has {expected} velocity coordinates")]
    Size {
        /// Which of the data.
        what: &'static str,
        /// Entries found.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// A row points outside the velocity coordinates.
    #[error("{what}: a row has an entry at velocity coordinate {index}, but there are only {count}")]
    RowIndex {
        /// Which contact, joint or friction element.
        what: String,
        /// The index found.
        index: usize,
        /// Number of velocity coordinates.
        count: usize,
    },
    /// A coefficient is negative, infinite or not a number.
    #[error("{what}: {quantity} is {value}, and must be finite and not negative")]
    Coefficient {
        /// Which contact or friction element.
        what: String,
        /// Which coefficient.
        quantity: &'static str,
        /// The value found.
        value: f64,
    },
    /// Friction that the chosen method cannot treat.
    #[error("{what}: {why}")]
    Friction {
        /// Which contact or friction element.
        what: String,
        /// Why not.
        why: Untreated,
    },
    /// A friction set that the event-driven scheme does not follow.
    #[error(
        "{what}: the scheme `event-driven` follows round friction sets, no polytopes and no sets of users, with the method `cone` in space; {remedy}"
    )]
    NotFollowed {
        /// Which contact.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The friction directions given by the user are not usable.
    #[error("friction directions: {0}")]
    Directions(String),
    /// The phantom inertia given by the user is not usable.
    #[error("the phantom inertia rho is {rho} kg, and must be finite and not negative; leave it out to have it chosen")]
    PhantomInertia {
        /// The value found.
        rho: f64,
    },
    /// Lines that depend on each other, without phantom inertia.
    #[error(
        "the phantom inertia rho is 0 and there are {lines} lines in the tangent plane, which depend on each other: the motion does not \
         determine how it is made of them; give 2 lines, or a positive rho, or leave rho out to have it chosen"
    )]
    NoPhantomInertia {
        /// Number of lines.
        lines: usize,
    },
    /// Joint and friction rows depend on each other, so that their forces cannot be eliminated.
    #[error(
        "the {size} joint and friction rows depend on each other (smallest pivot {smallest_pivot:.1e} of the largest), \
         and their forces cannot be eliminated; the pyramid method states an LCP for such a problem"
    )]
    RedundantRows {
        /// Number of joint and friction rows.
        size: usize,
        /// Smallest pivot of their Delassus matrix divided by the largest.
        smallest_pivot: f64,
    },
    /// A joint row cannot be eliminated, because a number is not finite.
    #[error(
        "joint row {row} cannot be eliminated (pivot {pivot:e}): check that its entries and the inertia are finite"
    )]
    JointRow {
        /// Which joint row, from 0.
        row: usize,
        /// The pivot found.
        pivot: f64,
    },
    /// A solution that belongs to another problem.
    #[error("the solution has {found} {what}, but the problem has {expected}: it belongs to another one")]
    OtherProblem {
        /// What there are too many or too few of.
        what: &'static str,
        /// Their number in the solution.
        found: usize,
        /// Their number in the problem.
        expected: usize,
    },
    /// The complementarity problem behind it could not be stated.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// Why a method cannot treat some friction.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Untreated {
    /// A number of tangent rows that a polygon does not have.
    #[error("{0} tangent rows; polygonal friction treats one (plane) or two (space)")]
    TangentCount(usize),
    /// Friction that does not act along a single line, given to a method for the plane.
    #[error(
        "friction along {0} tangent rows; the planar-relay method treats exactly one, as in the plane, and the pyramid method one or two"
    )]
    NotPlanar(usize),
    /// Friction that has no row along which it could act.
    #[error("it has friction, but no tangent rows; give it one (plane) or two (space), or no friction")]
    NoTangents,
    /// A friction set other than Coulomb's circle, given to this method for it alone.
    #[error(
        "its friction set is not Coulomb's circle, which alone the method `{0}` treats; choose the method `cone` or `pyramid`"
    )]
    NotRound(&'static str),
    /// A polytope as friction set, given to a method for round ones.
    #[error("its friction set is a polytope, which only the method `pyramid` treats")]
    Polytope,
    /// A friction set of a user, where this one cannot use it.
    #[error(
        "its friction set is a convex set of the user's own, which {0} cannot use; choose the method `cone`, or give the set by its corners, as `FrictionLaw::directions`"
    )]
    ConvexSet(String),
}

impl Untreated {
    /// The error of a contact or a friction element.
    pub(crate) fn of(self, what: impl ToString) -> ContactError {
        ContactError::Friction { what: what.to_string(), why: self }
    }
}

/// A step that could not be made.
#[derive(Clone, Debug, Error)]
pub enum StepError {
    /// The contact problem of the step was not solved, whatever was [tried](crate::scheme::ladder).
    /// The problem rides along, to be saved and replayed.
    #[error(
        "the step from t = {t} s was not solved: {}{} ({}, residual {:.1e} after {} iterations, {} contacts); tried a cold start, and other methods, \
         no recovery of penetration and a shorter step where that is possible. Try a much smaller step, or another scheme or contact method",
        known(report), among(stuck), spoken_status(report), report.residual, report.iterations, problem.contacts.len()
    )]
    Unsolved {
        /// Start of the step, in seconds.
        t: f64,
        /// How the solve ended.
        report: SolveReport,
        /// The problem.
        problem: Box<ContactProblem>,
        /// The worst contact first, then those that touch what it touches.
        contacts: Vec<ContactId>,
        /// Their names, once someone who knows the system has [named](Self::named) them.
        stuck: Vec<String>,
    },
    /// The contact problem of the step was malformed.
    #[error("the step from t = {t} s: {source}")]
    Malformed {
        /// Start of the step, in seconds.
        t: f64,
        /// What was wrong.
        source: ContactError,
    },
    /// A number of the state became infinite or undefined.
    #[error("the step from t = {t} s made {what} {index} {value}: check masses, forces and the step size")]
    NotFinite {
        /// Start of the step, in seconds.
        t: f64,
        /// `coordinate` or `velocity`.
        what: &'static str,
        /// Which one, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// Impacts or ends of sliding follow each other without end.
    #[error(
        "the step from t = {t} s did not get beyond {count} impacts or ends of sliding at one instant: \
         raise `rest-speed` or `still-speed` of the scheme `trapezoidal`, take a smaller step, or choose another scheme"
    )]
    Impacts {
        /// When, in seconds.
        t: f64,
        /// How many.
        count: usize,
    },
    /// A smooth motion could not be followed.
    #[error(
        "the motion from t = {t} s could not be followed with steps of {h:.1e} s or more: {reason}; \
         choose a time-stepping scheme, such as `trapezoidal`, or change what happens there"
    )]
    Phase {
        /// When, in seconds.
        t: f64,
        /// The step that was too long.
        h: f64,
        /// What went wrong.
        reason: String,
    },
    /// The event-driven scheme does not get beyond an instant.
    #[error("at t = {t} s {reason}; {remedy}")]
    Instant {
        /// When, in seconds.
        t: f64,
        /// What goes on there, with the names of the contacts.
        reason: String,
        /// What to try.
        remedy: &'static str,
    },
    /// The scheme does not treat an element of the system.
    #[error(
        "at t = {t} s: the scheme `{scheme}` does not treat {what}; choose {}",
        SchemeSettings::named_with(|facts| facts.one_way)
    )]
    Element {
        /// When, in seconds.
        t: f64,
        /// The scheme.
        scheme: &'static str,
        /// What it does not treat.
        what: &'static str,
    },
    /// Two bodies pass through each other however the step is cut.
    #[error(
        "the step from t = {t} s: `{first}` and `{second}` pass through each other, even when the step is cut to {h:.1e} s; \
         take a step below {h:.1e} s, or the scheme `event-driven`"
    )]
    Passage {
        /// Start of the step, in seconds.
        t: f64,
        /// First body.
        first: String,
        /// Second body.
        second: String,
        /// The shortest step that was tried, in seconds.
        h: f64,
    },
    /// A contact has two coefficients of friction, of which the system did not say that there are
    /// any.
    #[error(
        "the step from t = {t} s: `{contact}` has a static coefficient of friction, and `has_static_friction` of its system is false; \
         let it be true"
    )]
    StaticFriction {
        /// Start of the step, in seconds.
        t: f64,
        /// The contact.
        contact: String,
    },
    /// The step size is not usable.
    #[error("the step size is {h} s, and must be positive and finite")]
    StepSize {
        /// The step size found, in seconds.
        h: f64,
    },
}

impl StepError {
    /// The error of a step whose contact problem was not solved; takes the problem.
    pub(crate) fn unsolved(t: f64, problem: &mut ContactProblem, solution: &ContactSolution) -> Self {
        let problem = Box::new(std::mem::take(problem));
        let worst = match solution.worst {
            Place::Contact(i) => problem.contacts.get(i),
            _ => None,
        };
        // Without a worst contact, those that push hardest.
        let mut contacts: Vec<ContactId> = worst.map(|contact| contact.id).into_iter().collect();
        let touches =
            |i: usize| worst.is_none_or(|worst| shares_coordinate(&worst.normal, &problem.contacts[i].normal));
        let mut pushing: Vec<usize> = (0..problem.contacts.len().min(solution.contacts.len()))
            .filter(|&i| solution.contacts[i].normal > 0.0 && touches(i))
            .collect();
        pushing.sort_by(|&a, &b| solution.contacts[b].normal.total_cmp(&solution.contacts[a].normal).then(a.cmp(&b)));
        for i in pushing {
            if contacts.len() < MOST_NAMES && !contacts.contains(&problem.contacts[i].id) {
                contacts.push(problem.contacts[i].id);
            }
        }
        Self::Unsolved { t, report: solution.report.clone(), problem, contacts, stuck: Vec::new() }
    }

    /// The same error with the names that the system gives to its contacts.
    pub fn named(mut self, system: &dyn MechanicalSystem) -> Self {
        if let Self::Unsolved { contacts, stuck, .. } = &mut self {
            *stuck = contacts.iter().map(|&id| system.contact_name(id)).collect();
        }
        self
    }
}

fn shares_coordinate(a: &crate::Row, b: &crate::Row) -> bool {
    a.entries().iter().any(|&(k, _)| b.entries().iter().any(|&(other, _)| other == k))
}

/// What is known of a problem that was not solved.
fn known(report: &SolveReport) -> &'static str {
    match report.status {
        SolveStatus::NoSolution => "it is proved that no motion and no forces obey all laws",
        SolveStatus::SecondaryRay => "no motion was found that obeys all laws, as where bodies are wedged",
        SolveStatus::Breakdown => "numbers became infinite or undefined on the way",
        SolveStatus::Interrupted => "the solve was interrupted",
        SolveStatus::Solved | SolveStatus::Inaccurate | SolveStatus::IterationLimit => {
            "a motion was not found to the accuracy that counts as solved"
        }
    }
}

fn spoken_status(report: &SolveReport) -> &'static str {
    match report.status {
        SolveStatus::Solved => "solved",
        SolveStatus::NoSolution => "no solution",
        SolveStatus::SecondaryRay => "Lemke's path ended in a ray",
        SolveStatus::IterationLimit => "limit of iterations reached",
        SolveStatus::Inaccurate => "inaccurate",
        SolveStatus::Breakdown => "breakdown",
        SolveStatus::Interrupted => "interrupted",
    }
}

fn among(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", among {}", names.join(", ")) }
}

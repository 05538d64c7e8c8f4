//! Where a step begins, and what its system says there and on the way.

use crate::static_friction::Coefficients;
use crate::vector::zero;
use crate::{
    Contact, ContactError, ContactId, ForceCause, FrictionElement, Inertia, Joint, MechanicalSystem, State, StepError,
};

/// What a part of a step comes to.
pub(crate) type Outcome<T = ()> = Result<T, StepError>;

/// The beginning of a step: a system in a state, and which coefficients of friction hold in the
/// step.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub system: &'a dyn MechanicalSystem,
    pub state: &'a State,
    pub coefficients: Option<&'a Coefficients<'a>>,
}

/// A system at a time and a configuration. What it says there replaces what a buffer held.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub system: &'a dyn MechanicalSystem,
    coefficients: Option<&'a Coefficients<'a>>,
    pub t: f64,
    pub q: &'a [f64],
}

impl<'a> Origin<'a> {
    /// The system in a state, with kinetic friction.
    pub fn new(system: &'a dyn MechanicalSystem, state: &'a State) -> Self {
        Self { system, state, coefficients: None }
    }

    /// The system at the start.
    pub fn here(self) -> At<'a> {
        self.at(self.state.t, &self.state.q)
    }

    /// The system elsewhere.
    pub fn at<'b>(self, t: f64, q: &'b [f64]) -> At<'b>
    where
        'a: 'b,
    {
        At { system: self.system, coefficients: self.coefficients, t, q }
    }

    /// Writes $q \oplus h u$.
    pub fn advance(self, u: &[f64], h: f64, out: &mut Vec<f64>) {
        out.resize(self.state.q.len(), 0.0);
        self.system.advance(self.state.t, &self.state.q, u, h, out);
    }

    /// The error of a problem that is malformed.
    pub fn malformed(self, source: ContactError) -> StepError {
        StepError::Malformed { t: self.state.t, source }
    }
}

impl<'a> At<'a> {
    /// A system at a time and a configuration, with kinetic friction.
    pub fn new(system: &'a dyn MechanicalSystem, t: f64, q: &'a [f64]) -> Self {
        Self { system, coefficients: None, t, q }
    }

    /// All contacts up to a gap.
    pub fn contacts(self, horizon: f64, out: &mut Vec<Contact>) {
        out.clear();
        self.system.contacts(self.t, self.q, horizon, out);
        self.choose(out);
    }

    /// The contacts with these ids.
    pub fn contacts_of(self, ids: &[ContactId], out: &mut Vec<Contact>) {
        out.clear();
        if !ids.is_empty() {
            self.system.contacts_of(self.t, self.q, ids, out);
            self.choose(out);
        }
    }

    fn choose(self, contacts: &mut [Contact]) {
        if let Some(coefficients) = self.coefficients {
            coefficients.choose(contacts);
        }
    }

    /// Friction elements.
    pub fn friction(self, out: &mut Vec<FrictionElement>) {
        out.clear();
        self.system.friction_elements(self.t, self.q, out);
        if let Some(coefficients) = self.coefficients {
            coefficients.choose_bounds(out);
        }
    }

    /// Joint rows.
    pub fn joints(self, out: &mut Vec<Joint>) {
        out.clear();
        self.system.joints(self.t, self.q, out);
    }

    /// The mass matrix.
    pub fn mass(self, out: &mut Inertia) {
        out.clear();
        self.system.mass_matrix(self.t, self.q, out);
    }

    /// The mass matrix, factored.
    ///
    /// # Errors
    /// [`ContactError`] when it is singular.
    pub fn factored_mass(self, out: &mut Inertia) -> Result<(), ContactError> {
        self.mass(out);
        out.factor()
    }

    /// The force at a velocity.
    pub fn force(self, v: &[f64], out: &mut Vec<f64>) {
        zero(out, v.len());
        self.system.force(self.t, self.q, v, out);
    }

    /// The part of it with this cause.
    pub fn force_by_cause(self, cause: ForceCause, v: &[f64], out: &mut Vec<f64>) {
        zero(out, v.len());
        self.system.force_by_cause(cause, self.t, self.q, v, out);
    }

    /// The kinetic energy at a velocity; its inertia and momentum stay in the buffers.
    pub fn kinetic_energy(self, v: &[f64], inertia: &mut Inertia, momentum: &mut Vec<f64>) -> f64 {
        self.mass(inertia);
        zero(momentum, v.len());
        inertia.apply(v, momentum);
        0.5 * crate::vector::dot(momentum, v)
    }
}

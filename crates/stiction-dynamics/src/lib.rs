//! Nonsmooth mechanics: contact problems, time-stepping schemes, and the audit of every step.
//!
//! The path of one step:
//!
//! 1. a [`MechanicalSystem`] says what it is: inertia, forces, [`Contact`]s, friction, joints;
//! 2. a [`Scheme`] writes a [`ContactProblem`], the one form in which all linear schemes end;
//! 3. a [`ContactSolver`] turns it into a complementarity problem ([`formulation`]), solves it, and
//!    lets an independent residual judge;
//! 4. the scheme reads the motion back into a [`Step`];
//! 5. the [`Audit`] checks the step against the laws and balances its energy.
//!
//! [`Simulation`] repeats this over a [`TimeGrid`].

pub mod acceleration;
mod advance_derivative;
mod audit;
mod consistent_start;
pub mod constrained_motion;
mod contact;
pub mod contact_problem;
mod contact_solver;
mod convex_set;
mod error;
mod events;
pub mod existence;
#[cfg(any(test, feature = "testing"))]
pub mod families;
mod force_jacobians;
pub mod formulation;
mod friction;
mod inertia;
mod joint_projection;
mod joint_redundancy;
pub mod judge;
pub mod lagrangian;
pub mod least_norm;
mod linear_system;
mod natural_map;
pub mod polytope;
#[cfg(any(test, feature = "testing"))]
pub mod reference;
mod row;
pub mod row_rates;
pub mod scheme;
mod setting;
mod simulation;
mod state;
pub mod static_friction;
mod system;
pub mod total_cone;
mod vector;

pub use acceleration::{Instant, InstantContact, Motions};
pub use audit::{Audit, EnergyByCause, StepAudit};
pub use consistent_start::consistent_start;
pub use constrained_motion::ConstrainedMotion;
pub use contact::{
    Contact, ContactFrame, ContactId, FrictionElement, ImpactLaw, Joint, Restitution, Restraint, Tangents,
};
pub use contact_problem::{
    ContactCondition, ContactImpulse, ContactProblem, ContactSolution, FrictionCondition, JointCondition,
};
pub use contact_solver::{ContactSolver, StatedProblem};
pub use convex_set::{ConvexSet, ConvexSetError, SharedSet};
pub use error::{ContactError, StepError, Untreated};
pub use events::{ContactMode, Event, ModeTracker, friction_mode};
pub use existence::{Existence, RestCondition};
pub use force_jacobians::{ForceJacobians, JacobianEntry, JacobianKind};
pub use formulation::alternating::{Alternating, AlternatingSettings};
pub use formulation::exact_cone::{ExactCone, ExactConeSettings};
pub use formulation::phantom_inertia::{PhantomContact, PhantomInertia, PhantomInertiaSettings, check_independence};
pub use formulation::planar_relay::{PlanarRelay, PlanarRelaySettings};
pub use formulation::pyramid::{Directions, Pyramid, PyramidSettings};
pub use formulation::spatial_relay::SpatialRelaySettings;
pub use formulation::{ContactMethod, FrictionSets, MethodFacts};
pub use friction::{FrictionLaw, FrictionShape};
pub use inertia::Inertia;
pub use joint_redundancy::{JointRedundancy, joint_redundancy};
pub use judge::{Judge, Place, Verdict, solved_limit};
pub use lagrangian::{LagrangianError, LagrangianSystem};
pub use least_norm::{LeastNorm, least_norm_forces};
pub use linear_system::{
    LinearContact, LinearFriction, LinearJoint, LinearSystem, LinearSystemData, LinearSystemError,
};
pub use polytope::{Polytope, PolytopeError};
pub use row::Row;
pub use row_rates::RowRates;
pub use scheme::collision::ImpactOrder;
pub use scheme::event_driven::{EventDriven, EventDrivenSettings};
pub use scheme::implicit_ncp::{ImplicitNcp, ImplicitNcpSettings};
pub use scheme::moreau_midpoint::{MoreauMidpoint, MoreauMidpointSettings};
pub use scheme::rule::Rule;
pub use scheme::stewart_trinkle::{Linearization, StewartTrinkle, StewartTrinkleSettings, Version};
pub use scheme::trapezoidal::{ClosingTime, Jacobians, Trapezoidal, TrapezoidalRule, TrapezoidalSettings};
pub use scheme::{Impacts, Overlap, Rung, Sample, Scheme, SchemeFacts, SchemeSettings, Step, StepKind, StepReport};
pub use setting::{Named, Suffix, ValueError, check_not_negative, check_positive, check_share, check_static};
pub use simulation::{Simulation, TimeGrid};
pub use state::State;
pub use system::{ForceCause, MechanicalSystem, Passage, Way};
pub use total_cone::{Bound, Pointedness, SelfStress, TotalCone};

//! Contact problems made from a seed: the same problems for tests, benchmarks and comparisons with
//! other programs.
//!
//! | family | what it is hard for |
//! |---|---|
//! | [`RandomContacts`] | nothing in particular; by its options, large friction, mass ratios, redundant contacts, Painlevé's paradox |
//! | [`Tower`] | forces that are far from unique, ties in every ratio test; with a heavy top, mass ratios |
//! | [`Wall`] | the same, with many contacts |
//! | [`Arch`] | forces that must go all the way around |
//! | [`Pile`] | contacts that stick here and slide there, far from any order; tight ones, smoothed solutions that turn back |
//! | [`Wedge`] | forces that balance each other, without bound, and more than one motion |
//! | [`Chain`] | many joints, each of which depends on all others; with masses far apart, ill-conditioned ones |
//!
//! A family is a struct of options with defaults, and its method `problem` makes one problem of
//! each seed: one step of size [`STEP`]. The free motion $u_\text{free}$ is kick · uniform(-1, 1)
//! per coordinate, plus gravity · h. Inertias are factored, contacts are numbered in their order,
//! and no gap is negative: so a solution exists, whatever the coefficients of friction
//! (\[ST96\]).
//!
//! In space a body has the six coordinates $(v_x, v_y, v_z, \omega_x, \omega_y, \omega_z)$ along
//! the axes of the world, $z$ upwards. In the plane it has three of them, $(v_x, v_z, \omega_y)$.
//!
//! ```
//! use stiction_dynamics::families::{RandomContacts, Tower};
//!
//! let random = RandomContacts { contact_count: 7, ..Default::default() }.problem(42);
//! assert_eq!(random.contacts.len(), 7);
//! let tower = Tower { levels: 10, ..Default::default() }.problem(0);
//! assert_eq!(tower.contacts.len(), 40);
//! ```

mod arch;
mod bodies;
mod chain;
mod generator;
mod pile;
mod random;
mod tower;
mod wall;
mod wedge;

pub use arch::Arch;
pub use chain::Chain;
pub use generator::Generator;
pub use pile::Pile;
pub use random::{BodyKind, RandomContacts};
pub use tower::Tower;
pub use wall::Wall;
pub use wedge::Wedge;

/// Length of the step, in s.
pub const STEP: f64 = 0.01;

/// Acceleration of gravity, in m/s².
pub const GRAVITY: f64 = 9.81;

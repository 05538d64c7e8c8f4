//! How a [`ContactProblem`](crate::ContactProblem) becomes a complementarity problem, and its answer impulses again.

mod basis_memory;
pub(crate) mod convex;
pub mod exact_cone;
pub mod phantom_inertia;
pub mod planar_relay;
pub mod pyramid;
mod rows;

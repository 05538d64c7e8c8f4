//! How a [`ContactProblem`](crate::ContactProblem) becomes a complementarity problem, and its answer impulses again.

pub mod pyramid;

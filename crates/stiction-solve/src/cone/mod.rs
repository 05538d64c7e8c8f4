//! Contacts with exact friction cones: problems, residuals, methods.
//!
//! | file | what |
//! |---|---|
//! | [`law`] | [`Cone`]: half-line, Coulomb in the plane and in space, ellipsoid with torsion |
//! | [`problem`] | [`LocalConeProblem`] with an explicit matrix, [`GlobalConeProblem`] in the space of the bodies |
//! | [`residual`] | how well impulses solve a problem; written by no method |

mod alart_curnier;
mod block_lu;
mod body_space;
pub mod certificate;
mod chain;
mod contact_space;
mod gauss_seidel;
mod interior_point;
mod island;
pub mod law;
mod newton;
mod one_contact;
pub mod problem;
mod proximal;
pub mod residual;
pub mod settings;
pub mod solver;
mod space;
pub mod sparse_rows;

pub use law::Cone;
pub use problem::{GlobalConeProblem, LocalConeProblem};
pub use residual::{ConeErrors, global_errors, local_errors};
pub use settings::{ConeMethod, ConeReport, ConeSettings, ConeSolution, ConeStage};
pub use solver::ConeSolver;
pub use sparse_rows::SparseRows;

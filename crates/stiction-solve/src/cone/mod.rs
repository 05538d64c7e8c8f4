//! Contacts with exact friction cones: problems, residuals, methods.
//!
//! [`ConeSolver`] takes a [`GlobalConeProblem`] (bodies, joints, contacts) or a
//! [`LocalConeProblem`] (an explicit matrix), splits it into islands, and runs a chain of methods
//! on each until the residual, computed by none of them, is below the tolerance.
//!
//! | file | what |
//! |---|---|
//! | [`law`] | [`Cone`]: half-line, Coulomb in the plane and in space, ellipsoid with torsion, fixed bounds |
//! | [`problem`] | the two shapes of a problem |
//! | [`residual`] | how well impulses solve a problem; written by no method |
//! | [`certificate`] | impulses that prove that there is no solution |
//! | [`solver`] | [`ConeSolver`]: islands, memory, the verdict |
//! | [`settings`] | tolerances and limits, reports and solutions |
//! | `chain` | which method comes after which |
//! | `one_contact` | one contact alone, exactly |
//! | `gauss_seidel` | one contact after another |
//! | `alart_curnier`, `newton` | the nonsmooth equations, and Newton's method on them |
//! | `path` | the curve of solutions of smoothed equations, around its turns |
//! | `interior_point` | from far away, over second-order cones |
//! | `pyramids` | Lemke's method on polyhedral cones, as a start |
//! | `active_set` | Newton's method with given modes, changed one at a time, for the last digits |
//! | `island` | the unknowns of one island, and its best point |
//! | `space`, `body_space`, `contact_space` | rates, sweeps and Newton steps in the two shapes |
//! | [`sparse_rows`] | a matrix by rows |
//! | `block_lu` | sparse factorisation in blocks |
//!
//! ```
//! use stiction_solve::cone::{Cone, ConeSettings, ConeSolver, GlobalConeProblem};
//!
//! // A mass of 2 kg falls at 3 m/s and slides at 4 m/s when it meets the ground: friction takes μ · 3 = 1.5 m/s of it.
//! let mut problem = GlobalConeProblem::default();
//! problem.clear(3);
//! (0..3).for_each(|i| problem.push_mass(i, i, 2.0));
//! problem.force_mut().copy_from_slice(&[-6.0, 8.0, 0.0]);
//! problem.push_contact(Cone::coulomb(0.5), [[(0, 1.0)], [(1, 1.0)], [(2, 1.0)]], [0.0; 3]);
//! let mut solver = ConeSolver::default();
//! let solution = solver.solve_global(&problem, &ConeSettings::default(), None)?;
//! assert!(solution.report.is_solved());
//! assert!((solution.velocity[1] - 2.5).abs() < 1e-12);
//! # Ok::<(), stiction_solve::ProblemError>(())
//! ```

mod active_set;
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
mod path;
pub mod problem;
mod pyramids;
pub mod residual;
pub mod settings;
pub mod solver;
mod space;
pub mod sparse_rows;

pub use law::Cone;
pub use problem::{GlobalConeProblem, LocalConeProblem};
pub use residual::{ConeErrors, global_errors, judge_global, local_errors};
pub use settings::{ConeMethod, ConeReport, ConeSettings, ConeSolution, ConeStage};
pub use solver::ConeSolver;
pub use sparse_rows::SparseRows;

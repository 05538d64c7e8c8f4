//! Complementarity problems: statements, methods, and a residual that judges every answer.
//!
//! Four kinds of thing are kept apart, as types:
//!
//! | kind | here |
//! |---|---|
//! | problem | [`Lcp`], [`ContactLcp`]: checked when they are made |
//! | settings | [`LemkeSettings`]: every tolerance by name, with a default |
//! | report | [`SolveReport`]: status, residual, iterations |
//! | solution | [`LcpSolution`] |
//!
//! The linear complementarity problem $\mathrm{LCP}(M, q)$ asks for $z$ with
//!
//! $$ 0 \le z \perp w = M z + q \ge 0. $$
//!
//! A method may believe that it has finished, but it does not decide: [`residual`] recomputes how
//! well the point solves the original problem, and the status is [`SolveStatus::Solved`] only when
//! that number is below the tolerance.
//!
//! | problem | method |
//! |---|---|
//! | contacts with polygonal friction ([`ContactLcp`]), and any other LCP | [`lemke`] |
//! | the same, to read and to compare with | [`lemke_tableau`] |
//! | all solutions of a small LCP | [`enumerate`](mod@enumerate) |
//! | contacts with exact friction cones | [`cone::ConeSolver`] |
//! | the same, in files of the field | `fclib`, with the feature of that name |
//! | nonlinear equations with kinks, as of a nonlinear complementarity problem | [`SemismoothNewton`] |
//! | sparse linear equations of springs and joints | [`SparseLu`] |
//! | dense linear equations that depend on each other | [`LeastSquares`] |
//!
//! ```
//! use stiction_solve::{Lcp, LemkeSettings, SolveStatus, faer::mat};
//!
//! // w = 2 z - 1: the only solution is z = 1/2, w = 0.
//! let lcp = Lcp::new(mat![[2.0]], vec![-1.0])?;
//! let solution = lcp.solve(&LemkeSettings::default());
//! assert_eq!(solution.report.status, SolveStatus::Solved);
//! assert_eq!(solution.z, [0.5]);
//! # Ok::<(), stiction_solve::ProblemError>(())
//! ```

mod active_inverse;
pub mod cone;
pub mod contact_lcp;
pub mod dense_lu;
pub mod enumerate;
pub mod error;
mod exact;
mod factor_pattern;
#[cfg(feature = "fclib")]
pub mod fclib;
pub mod judge;
pub mod lcp;
pub mod lcp_refine;
pub mod least_squares;
pub mod lemke;
pub mod lemke_problem;
pub mod lemke_settings;
pub mod lemke_tableau;
pub mod portable;
pub mod problem_file;
pub mod report;
pub mod residual;
pub mod semismooth_newton;
pub mod sparse_lu;
pub mod work;

pub use contact_lcp::{ContactLcp, ContactLcpData, FrictionGroup};
pub use dense_lu::DenseLu;
pub use enumerate::{Enumeration, enumerate};
pub use error::ProblemError;
pub use faer;
pub use judge::{Judgement, judge_lcp};
pub use lcp::{Lcp, LcpSolution, Scaling};
pub use least_squares::LeastSquares;
pub use lemke::{Lemke, LemkeStage};
pub use lemke_problem::LemkeProblem;
pub use lemke_settings::LemkeSettings;
pub use lemke_tableau::LemkeTableau;
pub use portable::PortableMath;
pub use report::{SolveReport, SolveStatus};
pub use semismooth_newton::{NewtonReport, NewtonSettings, NonsmoothEquations, SemismoothNewton};
pub use sparse_lu::SparseLu;
pub use work::Work;

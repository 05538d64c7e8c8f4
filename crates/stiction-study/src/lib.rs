//! Experiments: published results beside ours, and figures.
//!
//! [`reproduce`] repeats the papers' experiments, [`run_figure`] draws a run folder, [`figure`] is
//! the drawing board of both, [`converge`](mod@converge) compares schemes over step sizes,
//! [`solve_problem`] compares methods on problem files.

pub mod bench;
mod certified;
pub mod converge;
pub mod figure;
pub mod reproduce;
pub mod run_figure;
pub mod solve_problem;

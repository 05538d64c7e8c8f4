//! Benchmarks: accuracy beside speed, on problems made from seeds.
//!
//! | id | measures |
//! |---|---|
//! | `lemke` | the revised method cold and warm, and the tableau, on families of contact problems: [`lemke`] |
//! | `cones` | the exact cone cold and warm, on families of contact problems: [`cones`] |
//! | `joints` | chains of links with hinges and one contact: time over length: [`joints`] |
//! | `siconos` | the same LCP files by Siconos, where it is installed: [`siconos`] |
//! | `step` | whole time steps of built-in scenes, without audit and recording: [`step`] |
//!
//! Times are per-thread processor time, best of a few, with a [reference kernel](timing::reference_kernel) in the same run: on a
//! shared machine compare ratios, and between machines divide by the kernel.

pub mod cones;
pub mod joints;
pub mod lemke;
pub mod siconos;
pub mod step;
pub mod timing;

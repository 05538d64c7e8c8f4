//! Benchmarks: accuracy beside speed, on problems made from seeds.
//!
//! | id | measures |
//! |---|---|
//! | `lemke` | the revised method cold and warm, and the tableau, on families of contact problems: [`lemke`] |
//! | `cones` | the exact cone cold and warm, on families of contact problems: [`cones`] |
//! | `joints` | chains of links with hinges and one contact: time over length: [`joints`] |
//! | `siconos` | the same LCP files by Siconos, where it is installed: [`siconos`] |
//! | `stages` | which stage of the chain of cones, and which path of Lemke's method, solves what: [`stages`] |
//! | `step` | whole time steps of built-in scenes, without audit and recording: [`step`] |
//!
//! Times are per-thread processor time, best of a few, with a
//! [reference kernel](timing::reference_kernel) in the same run: on a shared machine compare
//! ratios, and between machines divide by the kernel.

use serde::Serialize;
use stiction_dynamics::ContactProblem;
use stiction_dynamics::families::Generator;

pub mod cones;
pub mod joints;
pub mod lemke;
pub mod siconos;
pub mod stages;
pub mod step;
pub mod timing;

/// Velocities are changed by up to this share before a warm start.
const WARM_CHANGE: f64 = 0.01;

/// A line of a benchmark: of a table for people, and an object for programs.
pub trait Row: Serialize {
    /// What the table shows.
    const TITLE: &'static str;
    /// Headings of its columns.
    const HEADINGS: &'static [&'static str];

    /// What stands in the columns.
    fn cells(&self) -> Vec<String>;

    /// Whether all problems of the line were solved.
    fn is_solved(&self) -> bool {
        true
    }
}

/// Microseconds, for a cell.
fn micro(seconds: f64) -> String {
    format!("{:.1} µs", 1e6 * seconds)
}

/// A family of problems with its options.
struct Case {
    name: String,
    seeds: u64,
    problem: Box<dyn Fn(u64) -> ContactProblem>,
}

impl Case {
    fn new(name: impl Into<String>, seeds: u64, problem: impl Fn(u64) -> ContactProblem + 'static) -> Self {
        Self { name: name.into(), seeds, problem: Box::new(problem) }
    }
}

/// The same contacts a moment later: other velocities.
fn a_moment_later(problem: &ContactProblem, seed: u64) -> ContactProblem {
    let (mut changed, mut random) = (problem.clone(), Generator::new(seed));
    changed.free_motion.iter_mut().for_each(|u| *u *= 1.0 + random.uniform(-WARM_CHANGE, WARM_CHANGE));
    changed
}

/// Measures case after case; `progress` is told how many of how many are done.
fn measure_each<C, R, E>(
    cases: &[C],
    mut progress: impl FnMut(usize, usize),
    measure: impl Fn(&C) -> Result<R, E>,
) -> Result<Vec<R>, E> {
    let mut rows = Vec::new();
    for (done, case) in cases.iter().enumerate() {
        progress(done, cases.len());
        rows.push(measure(case)?);
    }
    progress(cases.len(), cases.len());
    Ok(rows)
}

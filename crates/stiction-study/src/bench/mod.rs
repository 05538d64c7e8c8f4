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

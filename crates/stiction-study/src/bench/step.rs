//! Whole time steps of built-in scenes: contacts, problem, solver and scheme, without audit and
//! recording.

use std::time::Duration;

use serde::Serialize;
use stiction_scene::SceneError;
use stiction_scene::load::load;

use super::timing::processor_time;
use super::{Row, measure_each};

/// Runs of a scene, at least, and the time that all of them take, at least; the best one counts.
const RUNS: usize = 5;
const LONG_ENOUGH: Duration = Duration::from_millis(200);

/// The scenes that are measured.
pub const SCENES: [&str; 6] = ["rod", "sliding-block", "incline", "box-on-corners", "two-balls", "four-balls"];

/// One scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRow {
    /// Name of the scene.
    pub scene: &'static str,
    /// Steps of a run.
    pub steps: u64,
    /// Solves per step, from several linearisations and growing active sets.
    pub solves_per_step: f64,
    /// Largest LCP of the run.
    pub largest_lcp: usize,
    /// Largest residual of a solve.
    pub residual: f64,
    /// Seconds per step, averaged over the run.
    pub per_step: f64,
}

impl Row for StepRow {
    const TITLE: &'static str = "Time steps of built-in scenes, without audit and recording";
    const HEADINGS: &'static [&'static str] = &["scene", "steps", "solves/step", "largest n", "residual", "per step"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.scene.to_owned(),
            self.steps.to_string(),
            format!("{:.2}", self.solves_per_step),
            self.largest_lcp.to_string(),
            format!("{:.1e}", self.residual),
            format!("{:.2} µs", 1e6 * self.per_step),
        ]
    }
}

/// Runs every scene; `progress` is told how many of how many are done.
///
/// # Errors
/// [`SceneError`] when a built-in scene cannot be run.
///
/// # Panics
/// When a step of a built-in scene fails.
pub fn measure(progress: impl FnMut(usize, usize)) -> Result<Vec<StepRow>, SceneError> {
    measure_each(&SCENES, progress, |&scene| {
        let loaded = load(scene, &[])?;
        let mut row =
            StepRow { scene, steps: 0, solves_per_step: 0.0, largest_lcp: 0, residual: 0.0, per_step: f64::INFINITY };
        let first = processor_time();
        let mut runs = 0;
        while runs < RUNS || processor_time() - first < LONG_ENOUGH {
            runs += 1;
            let mut simulation = loaded.simulation();
            let began = processor_time();
            while !simulation.is_finished() {
                simulation.step().expect("a built-in scene runs to its end");
            }
            let spent = (processor_time() - began).as_secs_f64();
            row.per_step = row.per_step.min(spent / simulation.steps_done() as f64);
        }
        // Once more for the counts, which would be part of the time.
        let mut simulation = loaded.simulation();
        let mut solves = 0;
        while !simulation.is_finished() {
            simulation.step().expect("a built-in scene runs to its end");
            for report in &simulation.last_step().report.solves {
                solves += 1;
                row.largest_lcp = row.largest_lcp.max(report.size);
                row.residual = row.residual.max(report.residual);
            }
        }
        row.steps = simulation.steps_done();
        row.solves_per_step = f64::from(solves) / row.steps as f64;
        Ok(row)
    })
}

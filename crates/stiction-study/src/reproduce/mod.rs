//! The papers' experiments: published and reference numbers beside ours, and their figures redrawn.

pub mod report;

mod event_driven;
mod four_balls;
mod friction_set;
mod painleve;
mod phantom_inertia;
mod rod;
mod sphere_spin;
mod sphere_valley;
mod trapezoidal;
mod woodpecker;

use serde::Serialize;
use stiction_dynamics::{ContactError, StepError};
use stiction_scene::scene_error::SceneError;
use thiserror::Error;

use crate::figure::Figure;

/// One number of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Which experiment.
    pub id: &'static str,
    /// Which paper, by its key in the bibliography.
    pub paper: &'static str,
    /// What the number is, with its unit.
    pub quantity: String,
    /// The number that the paper prints.
    pub published: Option<f64>,
    /// The number of an independent reference solution.
    pub reference: Option<f64>,
    /// Our number.
    pub computed: f64,
    /// Largest accepted difference from the reference, or from the published number where there is no reference.
    pub tolerance: f64,
    /// Whether it is met.
    pub ok: bool,
}

/// A figure of an experiment.
#[derive(Clone, Debug)]
pub struct NamedFigure {
    /// Name of its file, without an ending.
    pub name: &'static str,
    /// The figure.
    pub figure: Figure,
}

/// What an experiment gives.
#[derive(Clone, Debug, Default)]
pub struct Reproduction {
    /// The numbers.
    pub rows: Vec<Row>,
    /// The figures.
    pub figures: Vec<NamedFigure>,
    /// What a reader of the paper should know: where it is silent or in error, and why numbers differ from the printed ones.
    pub remarks: &'static [&'static str],
}

/// How much is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All of it.
    Full,
    /// Without the runs at the smallest steps, and without their numbers.
    Quick,
}

/// An experiment that could not be run.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// Its scene could not be built.
    #[error(transparent)]
    Scene(#[from] Box<SceneError>),
    /// One of its steps could not be made.
    #[error(transparent)]
    Step(#[from] Box<StepError>),
    /// An instant of it is malformed.
    #[error(transparent)]
    Instant(#[from] ContactError),
}

/// An experiment of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its identity on the command line.
    pub id: &'static str,
    /// What it is.
    pub title: &'static str,
    run: Run,
}

/// An experiment as a function; its second argument hears what is being computed.
type Run = fn(Effort, &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError>;

impl Experiment {
    /// What it is, without the paper's key in front.
    pub fn name(&self) -> &'static str {
        self.title.split_once("] ").map_or(self.title, |(_, name)| name)
    }

    /// Runs it; `progress` hears what is being computed.
    ///
    /// # Errors
    /// [`ReproduceError`] when a scene cannot be built or a step cannot be made.
    pub fn run(&self, effort: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
        (self.run)(effort, progress)
    }
}

/// All experiments.
pub const EXPERIMENTS: [Experiment; 12] = [
    Experiment { id: "rod", title: "[ST96] a spinning rod falls on a table", run: rod::reproduce },
    Experiment {
        id: "four-balls",
        title: "[ST96] a ball is thrown at three others in a line",
        run: four_balls::reproduce,
    },
    Experiment {
        id: "double-pendulum",
        title: "[PAGT] a double pendulum beside a wall",
        run: trapezoidal::double_pendulum,
    },
    Experiment { id: "carts-damper", title: "[PAGT] two carts and a stopper, damper", run: trapezoidal::carts_damper },
    Experiment { id: "carts-spring", title: "[PAGT] two carts and a stopper, spring", run: trapezoidal::carts_spring },
    Experiment { id: "free-top", title: "a free top, order two", run: trapezoidal::free_top },
    Experiment { id: "woodpecker", title: "[GS05] a woodpecker hammers down a pole", run: woodpecker::reproduce },
    Experiment {
        id: "sphere-spin",
        title: "[TTP01] a spinning ball is stopped by friction about the normal",
        run: sphere_spin::aligned,
    },
    Experiment {
        id: "sphere-spin-misaligned",
        title: "[TTP01] a spinning ball is stopped by friction directions that miss the true one",
        run: sphere_spin::misaligned,
    },
    Experiment {
        id: "sphere-valley",
        title: "[TTP01] a ball in the valley between two spheres",
        run: sphere_valley::reproduce,
    },
    Experiment {
        id: "phantom-inertia",
        title: "[PKF] a particle and an arm by the full-rank problem",
        run: phantom_inertia::reproduce,
    },
    Experiment {
        id: "painleve",
        title: "the rod of Painlevé: none, one, two or three motions",
        run: painleve::reproduce,
    },
];

/// Rows of one experiment, judged as they are added.
struct Rows {
    id: &'static str,
    paper: &'static str,
    rows: Vec<Row>,
}

impl Rows {
    fn new(id: &'static str, paper: &'static str) -> Self {
        Self { id, paper, rows: Vec::new() }
    }

    fn add(
        &mut self,
        quantity: impl Into<String>,
        published: Option<f64>,
        reference: Option<f64>,
        computed: f64,
        tolerance: f64,
    ) {
        let target = reference.or(published).unwrap_or(f64::NAN);
        let ok = (computed - target).abs() <= tolerance;
        let (id, paper, quantity) = (self.id, self.paper, quantity.into());
        self.rows.push(Row { id, paper, quantity, published, reference, computed, tolerance, ok });
    }

    fn into_rows(self) -> Vec<Row> {
        self.rows
    }
}

/// Order of convergence: slope of the least-squares line through (log h, log error).
///
/// A slope over several steps and not a ratio of two, because the phase of an impact within a step makes single ratios erratic.
pub fn fitted_order(errors: &[(f64, f64)]) -> f64 {
    let count = errors.len() as f64;
    let points = errors.iter().map(|&(h, error)| (h.ln(), error.ln()));
    let (sum_x, sum_y) = points.clone().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (covariance, variance) = points
        .fold((0.0, 0.0), |sum, (x, y)| (sum.0 + (x - mean_x) * (y - mean_y), sum.1 + (x - mean_x) * (x - mean_x)));
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_met_within_its_tolerance_on_both_sides_and_never_without_a_number() {
        let mut rows = Rows::new("rod", "ST96");
        for computed in [1.9, 2.1, 1.7, 2.3, f64::NAN, f64::INFINITY] {
            rows.add("near the reference, far from print", Some(5.0), Some(2.0), computed, 0.2);
        }
        rows.add("print alone", Some(5.0), None, 5.1, 0.2);
        rows.add("neither", None, None, 5.1, 0.2);
        let met: Vec<bool> = rows.into_rows().iter().map(|row| row.ok).collect();
        assert_eq!(met, [true, true, false, false, false, false, true, false]);
    }

    #[test]
    fn the_order_of_an_exact_power_is_its_exponent() {
        let errors: Vec<(f64, f64)> = [0.1, 0.05, 0.02].map(|h: f64| (h, 3.0 * h.powf(1.7))).to_vec();
        assert!((fitted_order(&errors) - 1.7).abs() < 1e-12);
    }
}

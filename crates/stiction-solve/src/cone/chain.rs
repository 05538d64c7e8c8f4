//! The chain of methods on one island: the cheap ones first, each from the best point of those
//! before.
//!
//! 1. One contact: its closed form.
//! 2. Gauss-Seidel, and on with it while that promises to be cheaper than Newton's method.
//! 3. On piles, the rest of the path of smoothed equations.
//! 4. Newton's method with $\rho_i = 1 / W_{ii}$; the whole path of smoothed equations; wherever
//!    one of them ends near a solution, the active set.
//! 5. Newton's method from the answers of Lemke's method on pyramids; interior points, in two
//!    kinds, and Newton's method from there.
//! 6. Gauss-Seidel to its limit.
//!
//! `docs/solvers.md` says for each stage and constant which problem needs it, and what was tried
//! and removed.
//!
//! The best point is kept throughout, and every stage is logged.

use super::active_set;
use super::gauss_seidel;
use super::interior_point::{self, Shift};
use super::island::Island;
use super::newton::{self, LAST_EPSILON, NewtonRun};
use super::path::{self, FirstWidth, PathRun};
use super::pyramids::{PyramidStart, Pyramids};
use super::settings::{ConeMethod, ConeSettings, ConeStage};
use super::space::Space;
use crate::PortableMath as _;
use crate::lemke_settings::FIRST_UNEVEN;

/// First $\varepsilon$ of Newton's method.
const FIRST_EPSILON: f64 = 1e-4;

/// The $\varepsilon$ with which a point that is nearly a solution is improved.
const POLISH_EPSILON: f64 = 1e-7;

/// Part of the tolerance up to which a residual is usually good enough for the errors that judge;
/// where it is not, there will be a smaller target.
pub(crate) const ENOUGH: f64 = 0.9;

/// A residual up to this, relative to the free rates, is nearly there.
const NEAR_RESIDUAL: f64 = 1e-5;

/// Short steps after which Newton's method is given up: soon where interior points may do better,
/// late after them.
const FEW_SHORT_STEPS: usize = 8;
const MANY_SHORT_STEPS: usize = 25;

/// Sweeps that cost as much as the steps that Newton's method usually needs, if both grew with the
/// number of contacts.
const SWEEPS_PER_NEWTON: f64 = 60.0;

/// Runs of the interior-point method: how the shift follows, and whether the start is cold.
const INTERIOR_RUNS: [(Shift, bool); 3] =
    [(Shift::Linearised, false), (Shift::Linearised, true), (Shift::Lagged, false)];

/// Runs along the path of smoothed equations, each with a factor on $1 / W_{ii}$: loosely at first,
/// then closely. Another factor is another path.
const PATHS: [(f64, PathRun); 6] = [
    (3.0, whole_path(0.05, 0.1, 100)),
    (3.0, whole_path(0.02, 0.2, 200)),
    (0.3, whole_path(0.05, 0.1, 150)),
    (10.0, whole_path(0.05, 0.1, 150)),
    (1.0, whole_path(0.02, 0.2, 200)),
    (10.0, whole_path(0.005, 0.1, 400)),
];

const fn whole_path(close: f64, loose: f64, limit: usize) -> PathRun {
    PathRun { first_width: FirstWidth::Speed, close, loose, growth: 2.0, limit }
}

/// The rest of a path, from where sweeps have come to on a pile: a factor on $1 / W_{ii}$, and how
/// it is followed, with long steps at first.
const SHORT_PATH: (f64, PathRun) =
    (3.0, PathRun { first_width: FirstWidth::Residual(10.0), close: 0.2, loose: 0.2, growth: 4.0, limit: 100 });

/// Rows of contacts for each coordinate of the bodies up to which an island is a pile, and contacts
/// from which on. Its forces are nearly unique then, and much of it slides: Newton's method usually
/// fails on it. Stacks and walls have many more rows.
const PILE_ROWS: f64 = 1.3;
const PILE_CONTACTS: usize = 150;

/// A residual up to this, relative to the free rates, where a path ended, is left to Newton's
/// method.
const PATH_END: f64 = 1e-4;

/// Sequences of pyramids. Where there are many solutions, each start may lead to another.
const PYRAMIDS: [PyramidStart; 10] = [
    turned(8, 0.0),
    turned(8, 0.5),
    turned(16, 0.0),
    turned(6, 0.0),
    turned(12, 0.3),
    turned(8, 0.25),
    turned(4, 0.0),
    turned(16, 0.5),
    turned(8, 0.75),
    turned(5, 0.5),
];

const fn turned(sides: usize, part: f64) -> PyramidStart {
    PyramidStart { sides, part, covering: 0 }
}

/// Starts of the last resort. Fewer: solutions are missed. More: problems without one take longer.
const LAST_PYRAMIDS: usize = 24;

/// One of them: its two paths of Lemke's method begin far from all others.
fn last_pyramid(number: usize) -> PyramidStart {
    PyramidStart { sides: [8, 5, 12, 4][number % 4], part: 0.0, covering: FIRST_UNEVEN + 2 * number }
}

/// The part of the residual that a turn has to leave.
const TURN_GAIN: f64 = 0.8;

/// The part of the residual that has to be left since the active set was of no use for it to be
/// tried again.
const ANOTHER: f64 = 0.5;

/// One island with its log.
pub(crate) struct Chain<'a, S, const D: usize> {
    pub space: &'a mut S,
    pub island: &'a mut Island<D>,
    pub settings: &'a ConeSettings,
    pub stages: &'a mut Vec<ConeStage>,
    /// Number of the island, for the log.
    pub number: usize,
    /// What residuals are divided by in the log.
    pub scale: f64,
    /// A residual up to this is worth a judgement before the long way, though it may miss the
    /// target.
    pub enough: f64,
}

impl<S: Space<D>, const D: usize> Chain<'_, S, D> {
    /// Runs the stages until the residual is below `target`; the island is left at the best point.
    pub fn solve(&mut self, target: f64, is_warm: bool) {
        self.island.prepare(self.space);
        self.run_stages(target, is_warm);
        self.island.r.copy_from_slice(&self.island.best);
    }

    /// Goes on from the best point to a smaller target; by all methods where the last target was
    /// reached.
    pub fn improve(&mut self, target: f64, is_promising: bool) {
        self.island.make_room();
        if !self.newton(target, LAST_EPSILON, MANY_SHORT_STEPS) {
            if is_promising {
                self.island.restore(self.space);
                self.run_stages(target, true);
            } else {
                self.sweep_to_the_limit(target);
            }
        }
        self.island.r.copy_from_slice(&self.island.best);
    }

    fn run_stages(&mut self, target: f64, is_warm: bool) -> bool {
        if self.space.laws().len() == 1 && self.space.can_sweep() {
            let Island { r, contacts, alphas, .. } = &mut *self.island;
            self.space.sweep(r, contacts, alphas, true);
            self.island.measure(self.space);
            // Torsion that has its bound for itself is found by an iteration, which may be slow;
            // and a matrix may be singular.
            if self.log(ConeMethod::OneContact, 0, 1, target) {
                return true;
            }
        }
        if is_warm && self.island.measure(self.space) <= target {
            return true;
        }
        if self.space.can_sweep() && self.sweep_while_it_pays(target, is_warm) {
            return true;
        }
        self.island.make_room();
        if !is_warm && self.is_pile() {
            self.island.restore(self.space);
            if self.follow_path(target, 0, SHORT_PATH.0, SHORT_PATH.1) {
                return true;
            }
        }
        if self.newton(target, FIRST_EPSILON, FEW_SHORT_STEPS) {
            return true;
        }
        if self.follow_paths(target) {
            return true;
        }
        // The target is less than what is asked for. What lies between is worth a judgement before
        // the long way.
        if self.is_enough() {
            return true;
        }
        if self.turn_pyramids(target, PYRAMIDS) {
            return true;
        }
        for (number, (shift, is_cold)) in INTERIOR_RUNS.into_iter().enumerate() {
            self.island.restore(self.space);
            let limit = self.settings.interior_limit;
            let iterations = interior_point::run(self.space, self.island, target, limit, shift, is_cold);
            if iterations == 0 {
                continue;
            }
            // Newton's method goes on from the interior point itself, whose scales tell closed
            // contacts from open ones.
            if self.log(ConeMethod::InteriorPoint, number, iterations, target)
                || self.newton_with(target, FIRST_EPSILON, MANY_SHORT_STEPS)
            {
                return true;
            }
        }
        self.sweep_to_the_limit(target) || self.turn_pyramids(target, (0..LAST_PYRAMIDS).map(last_pyramid))
    }

    /// Whether the best point is likely to be good enough, though it may miss the target.
    fn is_enough(&self) -> bool {
        self.island.best_residual <= self.enough
    }

    /// Whether the island has about as many rows as coordinates, and many of both.
    fn is_pile(&self) -> bool {
        let count = self.space.laws().len();
        let rows = (count * D) as f64;
        count >= PILE_CONTACTS && self.space.coordinate_count().is_some_and(|n| rows <= PILE_ROWS * n as f64)
    }

    /// Runs along whole paths from the best point.
    fn follow_paths(&mut self, target: f64) -> bool {
        PATHS.iter().enumerate().any(|(number, &(factor, run))| {
            self.island.restore(self.space);
            self.follow_path(target, 1 + number, factor, run)
        })
    }

    /// Runs along a path from the point that stands in the island, with Newton's method where it
    /// ends near.
    fn follow_path(&mut self, target: f64, number: usize, factor: f64, mut run: PathRun) -> bool {
        if self.is_enough() {
            return true;
        }
        run.limit = run.limit.min(self.settings.path_limit);
        if run.limit == 0 {
            return false;
        }
        self.set_scales(factor);
        let steps = path::run(self.space, self.island, target, &run);
        if self.log(ConeMethod::Path, number, steps, target) {
            return true;
        }
        if self.island.best_residual > PATH_END * self.scale {
            return false;
        }
        self.island.restore(self.space);
        self.set_scales(1.0);
        self.newton_once(target, POLISH_EPSILON, FEW_SHORT_STEPS) || self.change_modes(target)
    }

    /// Newton's method from the answers of Lemke's method on pyramids, each turned towards the
    /// sliding of the one before.
    fn turn_pyramids(&mut self, target: f64, starts: impl IntoIterator<Item = PyramidStart>) -> bool {
        if self.settings.pyramid_limit == 0 {
            return false;
        }
        let Some(mut pyramids) = Pyramids::new(self.space, self.island) else { return false };
        for (number, start) in starts.into_iter().enumerate() {
            pyramids.begin(&start);
            let mut last = f64::INFINITY;
            for _ in 0..self.settings.pyramid_limit {
                if self.island.work.is_spent() {
                    return false;
                }
                let Some((pivots, residual)) = pyramids.next(self.space, self.island) else { return false };
                self.set_scales(1.0);
                if self.log(ConeMethod::Pyramids, number, pivots, target)
                    || self.newton_with(target, FIRST_EPSILON, MANY_SHORT_STEPS)
                    || self.is_enough()
                {
                    return true;
                }
                if residual > TURN_GAIN * last {
                    break;
                }
                last = residual;
            }
        }
        false
    }

    fn sweep_while_it_pays(&mut self, target: f64, is_warm: bool) -> bool {
        let first = if is_warm { self.settings.warm_sweeps } else { self.settings.first_sweeps };
        let limit = if is_warm { first } else { self.settings.sweep_limit };
        let sweeps = gauss_seidel::sweep(self.space, self.island, target, limit, |progress| {
            if progress.count < first {
                return true;
            }
            let needed = (target / progress.change).portable_ln() / progress.rate().min(0.999_999).portable_ln();
            progress.count as f64 + needed < SWEEPS_PER_NEWTON
        });
        self.log(ConeMethod::GaussSeidel, 0, sweeps, target)
    }

    fn sweep_to_the_limit(&mut self, target: f64) -> bool {
        if !self.space.can_sweep() {
            return false;
        }
        self.island.restore(self.space);
        let sweeps = gauss_seidel::sweep(self.space, self.island, target, self.settings.sweep_limit, |_| true);
        self.log(ConeMethod::GaussSeidel, 1, sweeps, target)
    }

    /// Newton's method from the best point.
    fn newton(&mut self, target: f64, first_epsilon: f64, short_step_limit: usize) -> bool {
        self.island.restore(self.space);
        self.set_scales(1.0);
        self.newton_with(target, first_epsilon, short_step_limit)
    }

    /// Newton's method from the point and with the scales that stand in the island, and the active
    /// set where it comes near.
    fn newton_with(&mut self, target: f64, first_epsilon: f64, short_step_limit: usize) -> bool {
        self.newton_once(target, first_epsilon, short_step_limit) || self.change_modes(target)
    }

    /// The active set from the best point, where that is near, so that only a few contacts are in
    /// the wrong mode, and was not tried.
    fn change_modes(&mut self, target: f64) -> bool {
        let near = (ANOTHER * self.island.tried_modes).min(NEAR_RESIDUAL * self.scale);
        if self.island.best_residual > near {
            return false;
        }
        let from = self.island.best_residual;
        let steps = active_set::run(self.space, self.island, target, self.scale, self.settings.active_set_limit);
        self.island.tried_modes = from.min(self.island.best_residual);
        self.log(ConeMethod::ActiveSet, 0, steps, target)
    }

    /// Gives Newton's method this multiple of $1 / W_{ii}$ as scales.
    fn set_scales(&mut self, factor: f64) {
        let Island { run_rho, rho, .. } = &mut *self.island;
        run_rho.clear();
        run_rho.extend(rho.iter().map(|rho| factor * rho));
    }

    /// One run of Newton's method from the point and with the scales that stand in the island.
    fn newton_once(&mut self, target: f64, first_epsilon: f64, short_step_limit: usize) -> bool {
        let run = NewtonRun { first_epsilon, step_limit: self.settings.newton_limit, short_step_limit };
        let steps = newton::run(self.space, self.island, target, &run);
        self.log(ConeMethod::Newton, 0, steps, target)
    }

    /// Notes a run of a method; whether the best point is below the target.
    fn log(&mut self, method: ConeMethod, run: usize, iterations: usize, target: f64) -> bool {
        let residual = self.island.best_residual / self.scale;
        if iterations > 0 {
            self.stages.push(ConeStage { island: self.number, method, run, iterations, residual });
        }
        self.island.best_residual <= target
    }
}

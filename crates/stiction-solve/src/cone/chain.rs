//! The chain of methods on one island: the cheap ones first, each from the best point of those before.
//!
//! 1. One contact: its closed form.
//! 2. Gauss-Seidel, and on with it while that promises to be cheaper than Newton's method.
//! 3. Newton's method with $\rho_i = 1 / W_{ii}$.
//! 4. Interior points, and Newton's method from there with several $\rho$.
//! 5. Gauss-Seidel to its limit.
//!
//! The best point is kept throughout, and every stage is logged.

use super::gauss_seidel;
use super::interior_point;
use super::island::Island;
use super::newton::{self, NewtonRun};
use super::settings::{ConeMethod, ConeSettings, ConeStage};
use super::space::Space;

/// First $\varepsilon$ of Newton's method, and its smallest value.
const FIRST_EPSILON: f64 = 1e-4;
const LAST_EPSILON: f64 = 1e-10;

/// Steps without a gain of a tenth after which Newton's method is given up.
const PATIENCE: usize = 10;

/// Sweeps that cost as much as all steps that Newton's method usually needs, if costs were as the counts of contacts alone.
const SWEEPS_PER_NEWTON: f64 = 150.0;

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
}

impl<S: Space<D>, const D: usize> Chain<'_, S, D> {
    fn log(&mut self, method: ConeMethod, iterations: usize) {
        let residual = self.island.best_residual / self.scale;
        self.stages.push(ConeStage { island: self.number, method, iterations, residual });
    }

    /// Runs the stages until the residual is below `target`; returns that of the best point, at which the island is left.
    pub fn solve(&mut self, target: f64, is_warm: bool) -> f64 {
        self.island.prepare(self.space);
        let count = self.space.laws().len();
        if count == 1 && self.space.can_sweep() {
            let Island { r, contacts, alphas, .. } = &mut *self.island;
            self.space.sweep(r, contacts, alphas, true, false);
            self.island.measure(self.space);
            self.log(ConeMethod::OneContact, 1);
            return self.finish();
        }
        if is_warm && self.island.measure(self.space) <= target {
            return self.finish();
        }
        if self.space.can_sweep() {
            let first = if is_warm { self.settings.warm_sweeps } else { self.settings.first_sweeps };
            let limit = self.settings.sweep_limit;
            if newton::env("GSONLY", 0.0) > 0.0 {
                for k in 0..20 {
                    let sweeps = gauss_seidel::sweep(self.space, self.island, target, 500, |_, _, _| true);
                    let res = self.island.measure(self.space);
                    eprintln!("gs {k} {} res {:.3e} rate {:.4}", sweeps.count, res/self.scale, sweeps.rate);
                    if res < target { break; }
                }
            }
            let sweeps = gauss_seidel::sweep(self.space, self.island, target, limit, |change, rate, done| {
                if done < first {
                    return true;
                }
                let needed = (target / change).ln() / rate.min(0.999_999).ln();
                done as f64 + needed < SWEEPS_PER_NEWTON
            });
            self.log(ConeMethod::GaussSeidel, sweeps.count);
            if sweeps.residual <= target {
                return self.finish();
            }
        }
        if newton::env("PROXFIRST", 0.0) > 0.0 {
            let steps = super::proximal::run(self.space, self.island, target, newton::env("ALPHA", 1e-2), newton::env("PLIM", 200.0) as usize);
            self.log(ConeMethod::Newton, steps);
            if self.island.best_residual <= target { return self.finish(); }
            self.island.restore(self.space);
        }
        if self.newton(target, 1.0, newton::env("EPS", 1e-4)) {
            return self.finish();
        }
        self.island.restore(self.space);
        let iterations = interior_point::run(self.space, self.island, target, self.settings.interior_limit);
        self.log(ConeMethod::InteriorPoint, iterations);
        if iterations > 0 {
            if self.island.best_residual <= target || self.newton_with(target, FIRST_EPSILON) {
                return self.finish();
            }
        }
        for (rho_factor, epsilon) in [(1.0, FIRST_EPSILON), (10.0, FIRST_EPSILON), (100.0, FIRST_EPSILON), (100.0, 1e-7)] {
            if self.island.best_residual <= target {
                return self.finish();
            }
            self.island.restore(self.space);
            if self.newton(target, rho_factor, epsilon) {
                return self.finish();
            }
        }
        if self.space.can_sweep() {
            self.island.restore(self.space);
            let limit = self.settings.sweep_limit;
            let sweeps = gauss_seidel::sweep(self.space, self.island, target, limit, |_, _, _| true);
            self.log(ConeMethod::GaussSeidel, sweeps.count);
            self.island.restore(self.space);
            self.newton(target, 1.0, 1e-6);
        }
        self.finish()
    }

    /// Goes on from the best point to a smaller target.
    pub fn improve(&mut self, target: f64) -> f64 {
        for (rho_factor, epsilon) in [(1.0, LAST_EPSILON), (1.0, 1e-7), (10.0, 1e-8)] {
            self.island.restore(self.space);
            if self.island.best_residual <= target || self.newton(target, rho_factor, epsilon) {
                return self.finish();
            }
        }
        if self.space.can_sweep() {
            self.island.restore(self.space);
            let limit = self.settings.sweep_limit;
            let sweeps = gauss_seidel::sweep(self.space, self.island, target, limit, |_, _, _| true);
            self.log(ConeMethod::GaussSeidel, sweeps.count);
        }
        self.finish()
    }

    fn newton(&mut self, target: f64, rho_factor: f64, first_epsilon: f64) -> bool {
        let Island { run_rho, rho, .. } = &mut *self.island;
        run_rho.clear();
        run_rho.extend(rho.iter().map(|rho| rho_factor * rho));
        self.newton_with(target, first_epsilon)
    }

    /// Newton's method with the scales that stand in the island.
    fn newton_with(&mut self, target: f64, first_epsilon: f64) -> bool {
        let run = NewtonRun {
            first_epsilon,
            last_epsilon: newton::env("LASTEPS", 1e-8).min(first_epsilon),
            step_limit: self.settings.newton_limit,
            patience: PATIENCE,
        };
        let end = newton::run(self.space, self.island, target, &run);
        self.log(ConeMethod::Newton, end.steps);
        self.island.best_residual <= target
    }

    fn finish(&mut self) -> f64 {
        self.island.r.copy_from_slice(&self.island.best);
        self.island.best_residual
    }
}

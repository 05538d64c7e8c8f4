//! Semismooth Newton on the equations of Alart and Curnier, with the impulses and the motion as
//! unknowns.
//!
//! Each step solves $A\,du + (B + \varepsilon I)\,dr = -F$, $du = W\,dr$: in the space of the
//! bodies or of the contacts, see [`Space`](super::space::Space). The equations have no derivative
//! at many points, their Jacobian is singular wherever forces are not unique, and far from the
//! solution a step may lead anywhere. So
//!
//! - $\varepsilon$ makes every step defined; it falls with the residual, and disappears from the
//!   solution because it only multiplies steps;
//! - a step is shortened until the residual is below the largest of the last few, which may be
//!   exceeded for a while;
//! - where that fails, the point is projected on the cones, some sweeps of Gauss-Seidel are made,
//!   and $\varepsilon$ grows.

use super::alart_curnier;
use super::gauss_seidel;
use super::island::{Island, residual_of};
use super::space::Space;

/// The smallest $\varepsilon$. A smaller one is not worth the digits that it costs in the matrix.
pub(crate) const LAST_EPSILON: f64 = 1e-8;

/// Steps without a gain of a tenth after which a run is given up.
const PATIENCE: usize = 10;

/// Residuals that a new one is compared with.
const MEMORY: usize = 10;

/// Halvings of a step before it counts as failed.
const HALVINGS: usize = 8;

/// Steps shorter than this are short.
const SHORT_STEP: f64 = 0.1;

/// Sweeps after a failed step.
const RECOVERY_SWEEPS: usize = 25;

/// What steers a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NewtonRun {
    /// First $\varepsilon$.
    pub first_epsilon: f64,
    /// Factorisations.
    pub step_limit: usize,
    /// Steps that had to be shortened much, or failed, after which it is given up.
    pub short_step_limit: usize,
}

/// Runs from the point of the island, with the scales `run_rho`, until the residual is below
/// `target`; returns the number of factorisations.
pub(crate) fn run<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    settings: &NewtonRun,
) -> usize {
    let count = space.laws().len();
    let mut epsilon = settings.first_epsilon;
    island.measure(space);
    let mut merit = residual_of(space, &island.r, &island.u, &island.run_rho);
    let mut history = [merit; MEMORY];
    let (mut best, mut best_step) = (merit, 0);
    let (mut steps, mut short_steps) = (0, 0);
    while island.best_residual > target && steps < settings.step_limit {
        let is_patient = steps <= best_step + PATIENCE && short_steps < settings.short_step_limit;
        if !is_patient || island.work.is_spent() {
            break;
        }
        island.a.clear();
        island.b.clear();
        for i in 0..count {
            let rho = island.run_rho[i];
            let (f, a, mut b) = alart_curnier::linearised(&space.laws()[i], &island.r[i], &island.u[i], rho);
            (0..D).for_each(|k| b[k][k] += epsilon);
            island.f[i] = f;
            island.a.push(a);
            island.b.push(b);
        }
        steps += 1;
        island.work.spend(space.step_work());
        let is_defined = space.newton_step(&island.a, &island.b, &island.f, &mut island.dr);
        let largest = history.iter().fold(0.0f64, |largest, &merit| largest.max(merit));
        let merit_of =
            |space: &_, island: &Island<D>| residual_of(space, &island.trial, &island.trial_u, &island.run_rho);
        let found = if is_defined { island.shorten(space, largest, HALVINGS, merit_of) } else { None };
        if let Some((_, found)) = found {
            if found < 0.5 * merit {
                epsilon = (0.1 * epsilon).max(LAST_EPSILON);
            }
            merit = found;
        }
        if found.is_none() {
            island.project(space);
            epsilon = (3.0 * epsilon).min(1.0);
            if space.can_sweep() {
                gauss_seidel::sweep(space, island, target, RECOVERY_SWEEPS, |_| true);
            } else {
                island.measure(space);
            }
            merit = residual_of(space, &island.r, &island.u, &island.run_rho);
            history = [merit; MEMORY];
        }
        let is_long = found.map_or(!is_defined, |(length, _)| length >= SHORT_STEP);
        short_steps += usize::from(!is_long);
        history[steps % MEMORY] = merit;
        let residual = residual_of(space, &island.r, &island.u, &island.rho);
        island.keep(residual);
        if merit < 0.9 * best {
            (best, best_step) = (merit, steps);
        }
    }
    steps
}

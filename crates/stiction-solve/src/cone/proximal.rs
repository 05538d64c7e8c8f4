//! Proximal points: a sequence of problems with $W + \alpha / \rho$ in place of $W$, each solved by Newton's method.
//!
//! Around a centre $r^k$ the rates get the part $\frac{\alpha}{\rho} (r - r^k)$, as if every contact had a little compliance. That makes forces
//! unique and Newton's method reliable, and vanishes when the centre stands still: the next centre is the solution of the
//! problem before (\[ABH18\] §5.6). $\alpha$ falls when Newton's method needs few steps, and grows when it fails.

use super::alart_curnier;
use super::gauss_seidel;
use super::island::{Island, residual_of};
use super::space::Space;

/// Added to $B$, so that it can be inverted where a contact sticks.
const EPSILON: f64 = 1e-10;

/// Part of the residual that Newton's method has to leave of each problem.
const INNER_GAIN: f64 = 0.1;

/// Steps of Newton's method for one problem, residuals that a new one is compared with, and halvings of a step.
const INNER_LIMIT: usize = 7;
const MEMORY: usize = 3;
const HALVINGS: usize = 7;

/// With this many steps or fewer $\alpha$ shrinks by the first factor, and after a failure it grows by the second, up to the last.
const FEW_STEPS: usize = 4;
const SHRINKAGE: f64 = 0.3;
const GROWTH: f64 = 3.0;
const LARGEST_ALPHA: f64 = 1e3;

/// Sweeps after a failure.
const RECOVERY_SWEEPS: usize = 10;

/// Iterates from the best point; returns the number of factorisations.
pub(crate) fn run<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    first_alpha: f64,
    limit: usize,
) -> usize {
    let count = space.laws().len();
    let mut alpha = first_alpha;
    let mut steps = 0;
    island.restore(space);
    let mut outer = residual_of(space, &island.r, &island.u, &island.rho);
    // An infinite residual can neither be compared nor reduced.
    while steps < limit && outer > target && outer.is_finite() && !island.work.is_spent() {
        island.centre.clear();
        island.centre.extend_from_slice(&island.r);
        let inner_target = (INNER_GAIN * outer).max(0.5 * target);
        let mut merit = outer;
        let mut inner_steps = 0;
        let mut history = [merit; MEMORY];
        let mut is_failed = false;
        while merit > inner_target && steps < limit {
            island.a.clear();
            island.b.clear();
            for i in 0..count {
                let rho = island.rho[i];
                let factor = alpha / rho;
                let u: [f64; D] =
                    std::array::from_fn(|k| island.u[i][k] + factor * (island.r[i][k] - island.centre[i][k]));
                let (f, a, mut b) = alart_curnier::linearised(&space.laws()[i], &island.r[i], &u, rho);
                for k in 0..D {
                    for l in 0..D {
                        b[k][l] += factor * a[k][l];
                    }
                    b[k][k] += EPSILON;
                }
                island.f[i] = f;
                island.a.push(a);
                island.b.push(b);
            }
            steps += 1;
            inner_steps += 1;
            island.work.spend(space.step_work());
            let is_defined = space.newton_step(&island.a, &island.b, &island.f, &mut island.dr);
            let largest = history.iter().fold(0.0f64, |largest, &merit| largest.max(merit));
            let merit_of = |space: &_, island: &Island<D>| shifted_residual(space, island, alpha);
            let found = if is_defined { island.shorten(space, largest, HALVINGS, merit_of) } else { None };
            merit = found.map_or(merit, |(_, found)| found);
            history[inner_steps % MEMORY] = merit;
            if found.is_none() || inner_steps > INNER_LIMIT {
                is_failed = true;
                break;
            }
        }
        if is_failed {
            alpha = (alpha * GROWTH).min(LARGEST_ALPHA);
            island.restore(space);
            if space.can_sweep() {
                gauss_seidel::sweep(space, island, target, RECOVERY_SWEEPS, |_| true);
                island.project(space);
            }
        } else if inner_steps <= FEW_STEPS {
            alpha *= SHRINKAGE;
        }
        space.rates(&island.r, &mut island.u);
        outer = residual_of(space, &island.r, &island.u, &island.rho);
        island.keep(outer);
    }
    steps
}

/// The residual at the trial point with the part of the centre.
fn shifted_residual<const D: usize>(space: &impl Space<D>, island: &Island<D>, alpha: f64) -> f64 {
    let mut sum = 0.0;
    for (i, law) in space.laws().iter().enumerate() {
        let rho = island.rho[i];
        let (r, centre) = (&island.trial[i], &island.centre[i]);
        let u: [f64; D] = std::array::from_fn(|k| island.trial_u[i][k] + alpha / rho * (r[k] - centre[k]));
        let f = alart_curnier::value(law, r, &u, rho);
        sum += f.iter().map(|f| f * f).sum::<f64>() / (rho * rho);
    }
    if sum.is_finite() { sum.sqrt() } else { f64::INFINITY }
}

//! Interior points, with De Saxcé's shift taken from the iteration before.
//!
//! With the shift $s_i = \mu_i \lVert u_{T,i} \rVert$ held, the problem is a monotone complementarity problem over second-order cones,
//!
//! $$ \hat u = W r + q + s, \qquad K \ni r \perp \hat u \in K^*. $$
//!
//! In $x = (\mu r_N, r_T)$ and $y = (\hat u_N / \mu, \hat u_T)$ both cones are Lorentz's. An iterate keeps $x$ and $y$ inside of them and takes a
//! damped Newton step towards $\hat u = W r + q + s$ and $x \circ y = \sigma \nu e$, in the scaling of Nesterov and Todd (\[NT98\]): with $J = \mathrm{diag}(1, -I)$,
//! $\bar x = x / \sqrt{x^T J x}$, $\bar y$ alike, $2 \gamma^2 = 1 + \bar x^T \bar y$ and $\bar w = (\bar y + J \bar x) / (2 \gamma)$,
//!
//! $$ dy + \Theta\,dx = \sigma \nu x^{-1} - y, \qquad \Theta = \sqrt{\tfrac{y^T J y}{x^T J x}}\ (2 \bar w \bar w^T - J), \qquad \Theta x = y, \qquad x^{-1} = \frac{J x}{x^T J x}. $$
//!
//! So $W\,dr + T \Theta T\,dr$ is known, $T = \mathrm{diag}(\mu, I)$: the matrix of a [Newton step](super::space::Space::newton_step) with $A = I$. The shift
//! is renewed in each iteration, with or without its derivative in the step. Nothing makes this converge, but it usually comes near a solution from afar, where Newton's method on
//! the exact equations does not.

use super::island::{Island, residual_of};
use super::law::{Law, LawKind, tangent_norm};
use super::space::Space;

/// Part of the way to the boundary that a step goes at most.
const BOUNDARY: f64 = 0.95;

/// Coefficients of friction below this are none: the cone would be too thin for its scaling.
const THIN: f64 = 1e-8;

/// Regularisation of joints, relative to their $W_{ii}$.
const JOINT_EPSILON: f64 = 1e-9;

/// Complementarity relative to the scale of the rates at which it ends.
const END: f64 = 1e-9;

/// A cold start has all impulses along the normals, and rates of this multiple of those without impulses.
const FAR: f64 = 10.0;

/// Bounds of the part $\sigma$ of the complementarity that is aimed at.
const LEAST_CENTRING: f64 = 0.05;
const MOST_CENTRING: f64 = 0.6;

/// Steps shorter than this lead nowhere, and after some of them it is given up.
const SHORT_STEP: f64 = 0.03;
const SHORT_STEP_LIMIT: usize = 4;

/// Scales of Newton's method afterwards lie between one and this, in units of $1 / W_{ii}$.
const LARGEST_SCALE: f64 = 1e4;

/// Whether the tangents of a law take part.
fn has_cone(law: &Law) -> bool {
    law.kind == LawKind::Contact && law.mu > THIN
}

/// $x^T J x$.
#[inline(always)]
fn determinant<const D: usize>(x: &[f64; D]) -> f64 {
    let length = tangent_norm(x);
    (x[0] - length) * (x[0] + length)
}

/// The longest step along `dx` that stays in the Lorentz cone.
fn longest_step<const D: usize>(x: &[f64; D], dx: &[f64; D]) -> f64 {
    // x₀ + α dx₀ ≥ |x₁ + α dx₁|: the smaller positive root of a quadratic a α² + 2 b α + c with c > 0.
    let (mut a, mut b, c) = (dx[0] * dx[0], x[0] * dx[0], determinant(x));
    for k in 1..D {
        a -= dx[k] * dx[k];
        b -= x[k] * dx[k];
    }
    let mut longest = if dx[0] < 0.0 { -x[0] / dx[0] } else { f64::INFINITY };
    let discriminant = b * b - a * c;
    if discriminant >= 0.0 {
        let root = discriminant.sqrt();
        // The two roots without cancellation.
        let sum = if b < 0.0 { -b + root } else { -b - root };
        for candidate in [c / sum, sum / a] {
            if candidate > 0.0 && candidate < longest {
                longest = candidate;
            }
        }
    }
    longest
}

/// How the shift follows the sliding velocity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shift {
    /// It is that of the iteration before. The matrix stays monotone, but the sequence of shifts need not converge.
    Lagged,
    /// Its derivative is part of the Newton step, $ds = \mu\, n \cdot d\hat u_T$. Shifts converge, but steps may be blocked.
    Linearised,
}

impl Shift {
    /// Factor on the derivative of the shift.
    fn shift_slope(self) -> f64 {
        match self {
            Self::Lagged => 0.0,
            Self::Linearised => 1.0,
        }
    }

    /// Least complementarity that is aimed at, over what the mistakes of the shifts amount to.
    fn balance(self) -> f64 {
        match self {
            Self::Lagged => 0.1,
            Self::Linearised => 1.0,
        }
    }
}

/// Iterates from the point of the island, or far from all boundaries (`is_cold`); keeps the best point, and leaves scales for Newton's method in `run_rho`. Returns the number
/// of iterations, zero when the laws are not cones.
pub(crate) fn run<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    limit: usize,
    kind: Shift,
    is_cold: bool,
) -> usize {
    let count = space.laws().len();
    if space.laws().iter().any(|law| law.bound > 0.0 || law.kind == LawKind::Friction) {
        return 0;
    }
    // Scale of the rates: those without impulses.
    island.trial.fill([0.0; D]);
    space.rates(&island.trial, &mut island.trial_u);
    let square: f64 = island.trial_u.as_flattened().iter().map(|u| u * u).sum();
    let speed = (square / count as f64).sqrt();
    if speed == 0.0 || !speed.is_finite() {
        return 0;
    }
    // Inside both cones, with some distance to the boundary.
    space.rates(&island.r, &mut island.u);
    island.slack.clear();
    island.slack_step.clear();
    island.slack_step.resize(count, [0.0; D]);
    for i in 0..count {
        let law = &space.laws()[i];
        let (r, u) = (&mut island.r[i], &island.u[i]);
        let mut slack = *u;
        if law.kind == LawKind::Contact {
            let least = 0.1 * speed * island.rho[i];
            r[0] = r[0].max(least);
            let length = tangent_norm(r);
            let bound = if has_cone(law) { 0.5 * law.mu * r[0] } else { 0.0 };
            if length > bound {
                (1..D).for_each(|k| r[k] *= bound / length);
            }
            slack[0] = (2.0 * law.mu * tangent_norm(u)).max(u[0]).max(0.1 * speed);
            if is_cold {
                (*r, slack) = ([0.0; D], [0.0; D]);
                (r[0], slack[0]) = (FAR * speed * island.rho[i], FAR * speed);
            }
        }
        island.slack.push(slack);
    }
    let mut iterations = 0;
    let mut last_step = 0.5f64;
    let mut short_steps = 0;
    while iterations < limit && !island.work.is_spent() {
        space.rates(&island.r, &mut island.u);
        let residual = residual_of(space, &island.r, &island.u, &island.rho);
        // The interior point itself is never a solution: its projection may be.
        island.keep(residual);
        if residual <= target {
            break;
        }
        // Complementarity, and how far the slacks are from the rates.
        let (mut gap, mut cones) = (0.0, 0);
        for i in 0..count {
            let law = &space.laws()[i];
            if law.kind == LawKind::Contact {
                let tangents = if has_cone(law) { D } else { 1 };
                gap += (0..tangents).map(|k| island.r[i][k] * island.slack[i][k]).sum::<f64>();
                cones += 1;
            }
        }
        if cones == 0 {
            break;
        }
        let nu = gap / cones as f64;
        let mean_rho = island.rho.iter().sum::<f64>() / count as f64;
        if nu <= END * END * speed * speed * mean_rho {
            break;
        }
        // As little centring as the last step allowed, but complementarity must not run ahead of the shift.
        let mut unbalance = 0.0;
        for i in 0..count {
            let law = &space.laws()[i];
            if law.kind == LawKind::Contact {
                let shift = if has_cone(law) { law.mu * tangent_norm(&island.slack[i]) } else { 0.0 };
                unbalance += (island.u[i][0] + shift - island.slack[i][0]).abs() * island.r[i][0];
            }
        }
        let sigma = (1.0 - last_step).powi(2).clamp(LEAST_CENTRING, MOST_CENTRING);
        let sigma = sigma.max((kind.balance() * unbalance / gap).min(1.0));
        let exact = kind.shift_slope();
        island.a.clear();
        island.b.clear();
        for i in 0..count {
            let law = space.laws()[i];
            let (r, u, slack) = (island.r[i], island.u[i], island.slack[i]);
            let (mut a, mut b, mut f) = ([[0.0; D]; D], [[0.0; D]; D], [0.0; D]);
            if law.kind == LawKind::Joint {
                for k in 0..D {
                    a[k][k] = 1.0;
                    b[k][k] = JOINT_EPSILON / island.rho[i];
                    f[k] = u[k];
                }
            } else if !has_cone(&law) {
                a[0][0] = 1.0;
                b[0][0] = slack[0] / r[0];
                f[0] = u[0] - sigma * nu / r[0];
                for k in 1..D {
                    b[k][k] = 1.0;
                    f[k] = r[k];
                }
            } else {
                let mut x = r;
                x[0] *= law.mu;
                let mut y = slack;
                y[0] /= law.mu;
                let (x_square, y_square) =
                    (determinant(&x).max(f64::MIN_POSITIVE), determinant(&y).max(f64::MIN_POSITIVE));
                let (x_root, y_root) = (x_square.sqrt(), y_square.sqrt());
                let product: f64 = (0..D).map(|k| x[k] * y[k]).sum::<f64>() / (x_root * y_root);
                let gamma = (0.5 * (1.0 + product)).sqrt();
                let sign = |k: usize| if k == 0 { 1.0 } else { -1.0 };
                let w: [f64; D] = std::array::from_fn(|k| (y[k] / y_root + sign(k) * x[k] / x_root) / (2.0 * gamma));
                let scale = y_root / x_root;
                let t = |k: usize| if k == 0 { law.mu } else { 1.0 };
                let sliding = tangent_norm(&slack);
                let shift = law.mu * sliding;
                if sliding > 0.0 {
                    (1..D).for_each(|k| a[0][k] = exact * law.mu * slack[k] / sliding);
                }
                for k in 0..D {
                    a[k][k] = 1.0;
                    for l in 0..D {
                        let own = if k == l { sign(k) } else { 0.0 };
                        b[k][l] = t(k) * scale * (2.0 * w[k] * w[l] - own) * t(l);
                    }
                    // û is not the rate yet: W dr - dû = û - u - s, and dû = T (σ ν x⁻¹ - y) - T Θ T dr.
                    let inverse = sign(k) * x[k] / x_square;
                    f[k] = u[k] - t(k) * sigma * nu * inverse;
                    if k == 0 {
                        f[k] += shift;
                        if sliding > 0.0 {
                            f[k] +=
                                (1..D).map(|l| exact * law.mu * slack[l] / sliding * (u[l] - slack[l])).sum::<f64>();
                        }
                    }
                }
            }
            island.f[i] = f;
            island.a.push(a);
            island.b.push(b);
        }
        iterations += 1;
        island.work.spend(space.step_work());
        if !space.newton_step(&island.a, &island.b, &island.f, &mut island.dr) {
            break;
        }
        // dû = W dr + (u + s - û), with W dr from rates: those of r + dr less those of r.
        for i in 0..count {
            (0..D).for_each(|k| island.trial[i][k] = island.r[i][k] + island.dr[i][k]);
        }
        space.rates(&island.trial, &mut island.trial_u);
        let mut step = 1.0 / BOUNDARY;
        for i in 0..count {
            let law = &space.laws()[i];
            if law.kind == LawKind::Joint {
                continue;
            }
            let shift = if has_cone(law) { law.mu * tangent_norm(&island.slack[i]) } else { 0.0 };
            let (mut x, mut dx) = (island.r[i], island.dr[i]);
            let mut y = island.slack[i];
            let mut dy: [f64; D] = std::array::from_fn(|k| island.trial_u[i][k] - island.slack[i][k]);
            dy[0] += shift;
            let sliding = tangent_norm(&island.slack[i]);
            if has_cone(law) && sliding > 0.0 {
                dy[0] += (1..D).map(|l| exact * law.mu * island.slack[i][l] / sliding * dy[l]).sum::<f64>();
            }
            island.slack_step[i] = dy;
            if has_cone(law) {
                x[0] *= law.mu;
                dx[0] *= law.mu;
                y[0] /= law.mu;
                dy[0] /= law.mu;
                step = step.min(longest_step(&x, &dx)).min(longest_step(&y, &dy));
            } else {
                for (value, change) in [(x[0], dx[0]), (y[0], dy[0])] {
                    if change < 0.0 {
                        step = step.min(-value / change);
                    }
                }
            }
        }
        let step = (BOUNDARY * step).min(1.0);
        last_step = step;
        for i in 0..count {
            for k in 0..D {
                island.r[i][k] += step * island.dr[i][k];
                island.slack[i][k] += step * island.slack_step[i][k];
            }
        }
        short_steps = if step < SHORT_STEP { short_steps + 1 } else { 0 };
        if short_steps >= SHORT_STEP_LIMIT || !island.r.as_flattened().iter().all(|r| r.is_finite()) {
            break;
        }
    }
    // A contact that carries much and moves little has a large ratio of impulse to rate: it is closed, and a large scale says so.
    island.run_rho.clear();
    for i in 0..count {
        let (r, u) = (&island.r[i], &island.slack[i]);
        let size = |x: &[f64; D]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let ratio = if island.rho[i] > 0.0 { size(r) / (size(u) * island.rho[i]) } else { 1.0 };
        let ratio = if ratio.is_finite() { ratio.sqrt().clamp(1.0, LARGEST_SCALE) } else { LARGEST_SCALE };
        island.run_rho.push(ratio * island.rho[i]);
    }
    space.rates(&island.r, &mut island.u);
    iterations
}

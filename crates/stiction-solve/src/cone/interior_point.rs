//! Interior points, with De Saxcé's shift taken from the iteration before.
//!
//! With the shift $s_i = \mu_i \lVert u_{T,i} \rVert$ held, the problem is a monotone
//! complementarity problem over second-order cones,
//!
//! $$ \hat u = W r + q + s, \qquad K \ni r \perp \hat u \in K^*. $$
//!
//! In $x = (\mu r_N, r_T)$ and $y = (\hat u_N / \mu, \hat u_T)$ both cones are Lorentz's. An
//! iterate keeps $x$ and $y$ inside of them and takes a damped Newton step towards
//! $\hat u = W r + q + s$ and $x \circ y = \sigma \nu e$, in the scaling of Nesterov and Todd
//! (\[NT98\]): with $J = \mathrm{diag}(1, -I)$, $\bar x = x / \sqrt{x^T J x}$, $\bar y$ alike,
//! $2 \gamma^2 = 1 + \bar x^T \bar y$ and $\bar w = (\bar y + J \bar x) / (2 \gamma)$,
//!
//! $$ dy + \Theta\,dx = \sigma \nu x^{-1} - y, \qquad \Theta = \sqrt{\tfrac{y^T J y}{x^T J x}}\ (2 \bar w \bar w^T - J), \qquad \Theta x = y, \qquad x^{-1} = \frac{J x}{x^T J x}. $$
//!
//! So $W\,dr + T \Theta T\,dr$ is known, $T = \mathrm{diag}(\mu, I)$: the matrix of a
//! [Newton step](super::space::Space::newton_step) with $A = I$. The shift is renewed in each
//! iteration, with or without its derivative in the step. Nothing makes this converge, but it
//! usually comes near a solution from afar, where Newton's method on the exact equations does not.

use super::island::Island;
use super::law::{Law, LawKind, tangent_norm};
use super::space::{Small, Space};

/// Part of the way to the boundary that a step goes at most.
const BOUNDARY: f64 = 0.95;

/// Coefficients of friction below this are none: the cone would be too thin for its scaling.
const THIN: f64 = 1e-8;

/// Regularisation of joints, relative to their $W_{ii}$.
const JOINT_EPSILON: f64 = 1e-9;

/// Complementarity relative to the scale of the rates at which it ends.
const END: f64 = 1e-9;

/// A cold start has all impulses along the normals, and rates of this multiple of those without
/// impulses.
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
    // x₀ + α dx₀ ≥ |x₁ + α dx₁|: the smaller positive root of a quadratic a α² + 2 b α + c with c >
    // 0.
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
    /// It is that of the iteration before. The matrix stays monotone, but the sequence of shifts
    /// need not converge.
    Lagged,
    /// Its derivative is part of the Newton step, $ds = \mu\, n \cdot d\hat u_T$. Shifts converge,
    /// but steps may be blocked.
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

/// $T = \mathrm{diag}(\mu, I)$.
#[inline(always)]
fn weight(law: &Law, k: usize) -> f64 {
    if k == 0 { law.mu } else { 1.0 }
}

/// The shift $s$ at a slack, and its derivative by the slack.
fn shift_at<const D: usize>(law: &Law, slack: &[f64; D], kind: Shift) -> (f64, [f64; D]) {
    let (sliding, mut slope) = (tangent_norm(slack), [0.0; D]);
    if !has_cone(law) {
        return (0.0, slope);
    }
    if sliding > 0.0 {
        (1..D).for_each(|k| slope[k] = kind.shift_slope() * law.mu * slack[k] / sliding);
    }
    (law.mu * sliding, slope)
}

/// Iterates from the point of the island, or far from all boundaries (`is_cold`); keeps the best
/// point, and leaves scales for Newton's method in `run_rho`. Returns the number of iterations,
/// zero when the laws are not cones.
pub(crate) fn run<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    limit: usize,
    kind: Shift,
    is_cold: bool,
) -> usize {
    if space.laws().iter().any(|law| law.bound > 0.0 || law.kind == LawKind::Friction) {
        return 0;
    }
    let speed = island.free_speed(space);
    if speed == 0.0 || !speed.is_finite() {
        return 0;
    }
    start(space, island, speed, is_cold);
    let mean_rho = island.rho.iter().sum::<f64>() / island.rho.len() as f64;
    let (mut iterations, mut last_step, mut short_steps) = (0, 0.5f64, 0);
    while iterations < limit && !island.work.is_spent() {
        // The interior point itself is never a solution: its projection may be.
        if island.measure(space) <= target {
            break;
        }
        let (gap, unbalance, cones) = complementarity(space.laws(), island);
        let nu = gap / cones as f64;
        if cones == 0 || nu <= END * END * speed * speed * mean_rho {
            break;
        }
        // As little centring as the last step allowed, but complementarity must not run ahead of
        // the shift.
        let sigma = (1.0 - last_step).powi(2).clamp(LEAST_CENTRING, MOST_CENTRING);
        let sigma = sigma.max((kind.balance() * unbalance / gap).min(1.0));
        island.a.clear();
        island.b.clear();
        for (i, law) in space.laws().iter().enumerate() {
            let point = (&island.r[i], &island.u[i], &island.slack[i]);
            let (f, a, b) = equations(law, point, island.rho[i], sigma * nu, kind);
            island.f[i] = f;
            island.a.push(a);
            island.b.push(b);
        }
        iterations += 1;
        island.work.spend(space.step_work());
        if !space.newton_step(&island.a, &island.b, &island.f, &mut island.dr) {
            break;
        }
        last_step = (BOUNDARY * longest_of_all(space, island, kind)).min(1.0);
        for i in 0..island.r.len() {
            for k in 0..D {
                island.r[i][k] += last_step * island.dr[i][k];
                island.slack[i][k] += last_step * island.slack_step[i][k];
            }
        }
        short_steps = if last_step < SHORT_STEP { short_steps + 1 } else { 0 };
        if short_steps >= SHORT_STEP_LIMIT || !island.r.as_flattened().iter().all(|r| r.is_finite()) {
            break;
        }
    }
    leave_scales(island);
    space.rates(&island.r, &mut island.u);
    iterations
}

/// Impulses and slacks inside both cones, with some distance to the boundary.
fn start<const D: usize>(space: &mut impl Space<D>, island: &mut Island<D>, speed: f64, is_cold: bool) {
    space.rates(&island.r, &mut island.u);
    island.slack.clear();
    island.slack_step.clear();
    island.slack_step.resize(island.r.len(), [0.0; D]);
    for (i, law) in space.laws().iter().enumerate() {
        let (r, u, rho) = (&mut island.r[i], &island.u[i], island.rho[i]);
        let mut slack = *u;
        if law.kind == LawKind::Contact && is_cold {
            (*r, slack) = ([0.0; D], [0.0; D]);
            (r[0], slack[0]) = (FAR * speed * rho, FAR * speed);
        } else if law.kind == LawKind::Contact {
            r[0] = r[0].max(0.1 * speed * rho);
            let length = tangent_norm(r);
            let bound = if has_cone(law) { 0.5 * law.mu * r[0] } else { 0.0 };
            if length > bound {
                (1..D).for_each(|k| r[k] *= bound / length);
            }
            slack[0] = (2.0 * law.mu * tangent_norm(u)).max(u[0]).max(0.1 * speed);
        }
        island.slack.push(slack);
    }
}

/// Complementarity, how far the slacks are from the rates with their shifts, and the number of
/// contacts.
fn complementarity<const D: usize>(laws: &[Law], island: &Island<D>) -> (f64, f64, usize) {
    let (mut gap, mut unbalance, mut cones) = (0.0, 0.0, 0);
    for (i, law) in laws.iter().enumerate().filter(|(_, law)| law.kind == LawKind::Contact) {
        let (r, u, slack) = (&island.r[i], &island.u[i], &island.slack[i]);
        let rows = if has_cone(law) { D } else { 1 };
        gap += (0..rows).map(|k| r[k] * slack[k]).sum::<f64>();
        unbalance += (u[0] + shift_at(law, slack, Shift::Lagged).0 - slack[0]).abs() * r[0];
        cones += 1;
    }
    (gap, unbalance, cones)
}

/// $F$, $A$ and $B$ of a [Newton step](Space::newton_step) of one contact towards the
/// complementarity `goal` $= \sigma \nu$.
fn equations<const D: usize>(
    law: &Law,
    (r, u, slack): (&[f64; D], &[f64; D], &[f64; D]),
    rho: f64,
    goal: f64,
    kind: Shift,
) -> ([f64; D], Small<D>, Small<D>) {
    let (mut a, mut b, mut f) = ([[0.0; D]; D], [[0.0; D]; D], [0.0; D]);
    if law.kind == LawKind::Joint {
        (0..D).for_each(|k| (a[k][k], b[k][k], f[k]) = (1.0, JOINT_EPSILON / rho, u[k]));
        return (f, a, b);
    }
    if !has_cone(law) {
        (a[0][0], b[0][0], f[0]) = (1.0, slack[0] / r[0], u[0] - goal / r[0]);
        (1..D).for_each(|k| (b[k][k], f[k]) = (1.0, r[k]));
        return (f, a, b);
    }
    let (mut x, mut y) = (*r, *slack);
    x[0] *= law.mu;
    y[0] /= law.mu;
    let (x_square, y_square) = (determinant(&x).max(f64::MIN_POSITIVE), determinant(&y).max(f64::MIN_POSITIVE));
    let (x_root, y_root) = (x_square.sqrt(), y_square.sqrt());
    let product: f64 = (0..D).map(|k| x[k] * y[k]).sum::<f64>() / (x_root * y_root);
    let gamma = (0.5 * (1.0 + product)).sqrt();
    let sign = |k: usize| if k == 0 { 1.0 } else { -1.0 };
    let w: [f64; D] = std::array::from_fn(|k| (y[k] / y_root + sign(k) * x[k] / x_root) / (2.0 * gamma));
    let (shift, slope) = shift_at(law, slack, kind);
    a[0] = slope;
    for k in 0..D {
        a[k][k] = 1.0;
        for l in 0..D {
            let own = if k == l { sign(k) } else { 0.0 };
            b[k][l] = weight(law, k) * (y_root / x_root) * (2.0 * w[k] * w[l] - own) * weight(law, l);
        }
        // û is not the rate yet: W dr - dû = û - u - s, and dû = T (σ ν x⁻¹ - y) - T Θ T dr.
        f[k] = u[k] - weight(law, k) * goal * (sign(k) * x[k] / x_square);
    }
    f[0] += shift + (1..D).map(|l| slope[l] * (u[l] - slack[l])).sum::<f64>();
    (f, a, b)
}

/// The longest step for which all impulses and slacks stay in their cones; the steps of the slacks
/// are left in the island.
fn longest_of_all<const D: usize>(space: &mut impl Space<D>, island: &mut Island<D>, kind: Shift) -> f64 {
    // dû = W dr + (u + s - û), with W dr from rates: those of r + dr less those of r.
    for ((trial, r), dr) in island.trial.iter_mut().zip(&island.r).zip(&island.dr) {
        (0..D).for_each(|k| trial[k] = r[k] + dr[k]);
    }
    space.rates(&island.trial, &mut island.trial_u);
    let mut longest = 1.0 / BOUNDARY;
    for (i, law) in space.laws().iter().enumerate().filter(|(_, law)| law.kind != LawKind::Joint) {
        let (mut x, mut dx, mut y) = (island.r[i], island.dr[i], island.slack[i]);
        let mut dy: [f64; D] = std::array::from_fn(|k| island.trial_u[i][k] - y[k]);
        let (shift, slope) = shift_at(law, &y, kind);
        dy[0] += shift;
        dy[0] += (1..D).map(|l| slope[l] * dy[l]).sum::<f64>();
        island.slack_step[i] = dy;
        if has_cone(law) {
            x[0] *= law.mu;
            dx[0] *= law.mu;
            y[0] /= law.mu;
            dy[0] /= law.mu;
            longest = longest.min(longest_step(&x, &dx)).min(longest_step(&y, &dy));
        } else {
            for (value, change) in [(x[0], dx[0]), (y[0], dy[0])] {
                longest = if change < 0.0 { longest.min(-value / change) } else { longest };
            }
        }
    }
    longest
}

/// Scales for Newton's method: a contact that carries much and moves little has a large ratio of
/// impulse to rate, so it is closed.
fn leave_scales<const D: usize>(island: &mut Island<D>) {
    let size = |x: &[f64; D]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    island.run_rho.clear();
    for ((r, slack), &rho) in island.r.iter().zip(&island.slack).zip(&island.rho) {
        let ratio = if rho > 0.0 { size(r) / (size(slack) * rho) } else { 1.0 };
        let ratio = if ratio.is_finite() { ratio.sqrt().clamp(1.0, LARGEST_SCALE) } else { LARGEST_SCALE };
        island.run_rho.push(ratio * rho);
    }
}

//! The path of smoothed equations, followed around its turns: what Lemke's method is for polyhedral
//! cones.
//!
//! The corners of Alart's and Curnier's equations (see [`alart_curnier`]) are rounded with a small
//! impulse $\varepsilon = \rho w$, $w$ a velocity: with
//! $\max_\varepsilon(a, b) = \frac12 \big( a + b + \sqrt{(a - b)^2 + 4 \varepsilon^2} \big)$,
//!
//! $$ F_N = r_N - \max\nolimits_\varepsilon(r_N - \rho u_N, 0), \qquad F_T = r_T - \frac{b}{\max_\varepsilon(b, \sqrt{\lVert t \rVert^2 + \varepsilon^2})}\, t, \qquad
//!    t = r_T - \rho u_T, \quad b = \mu \max\nolimits_\varepsilon(r_N - \rho u_N, 0) + a. $$
//!
//! At a solution $r_N\, \rho u_N = \varepsilon^2$, and a sticking contact creeps, the more so the
//! nearer its friction is to its bound. So all derivatives exist, and forces are unique where those
//! of the problem itself are not, away from all bounds.
//!
//! For large $w$ there is one solution, and Newton's method finds it. From there the solutions
//! $(r, \ln w)$ form a curve that leads to $w = 0$. But it does not do so monotonically: friction
//! is not monotone, and in piles that slide here and stick there the curve turns back many times.
//! Methods that only make $w$ smaller, interior points among them, end at the first turn, where the
//! Jacobian is singular. So the curve is followed by its length,
//!
//! $$ ds^2 = \sum_i \frac{\lVert dr_i \rVert^2}{n \rho_i^2 w^2} + (d \ln w)^2, $$
//!
//! a step along the tangent at a time, together with Newton's step across it (Euler and Newton,
//! \[AG90\] §6). Forward is where $\ln w$ falls while the determinant of the Jacobian has the sign
//! that it has at the beginning, and grows where it has the other: that sign changes at each turn,
//! and unlike the last direction it is not lost when a long step leads from one branch to another.

use super::alart_curnier;
use super::island::{Island, residual_of};
use super::law::{Law, LawKind, tangent_norm};
use super::space::{Small, Space};
use crate::PortableMath as _;

/// The multiple of the mean of the free rates at which $w$ has gone astray.
const ASTRAY: f64 = 1e3;

/// Growth of the first $w$ where Newton's method does not come to the path, or no step along it is
/// found; how often the latter.
const WIDENING: f64 = 3.0;
const NEW_BEGINNINGS: usize = 5;

/// Added to $B$, so that its inverse does not cost too many digits of the matrix. Too small: steps
/// of rounding noise, and the path ends at about the root of this. Too large: steps across the path
/// are short of it.
const EPSILON: f64 = 1e-7;

/// Residual as for [`PathRun::close`] up to which the first point has to come near the path: the
/// first direction is found there.
const BEGINNING: f64 = 0.05;

/// First length of a step along the path, and its least one.
const FIRST_STRIDE: f64 = 1.0;
const LEAST_STRIDE: f64 = 1e-6;

/// Reduction of the length after a return to the last point near the path.
const REDUCTION: f64 = 0.2;

/// Halvings of the length before a step goes across the path only, and the shortest part of such a
/// step.
const HALVINGS: usize = 10;
const SHORTEST: f64 = 0.02;

/// Part by which the residual has to fall in a step across the path, for each part of the step.
const DESCENT: f64 = 1e-4;

/// Largest change of $\ln w$ in a step.
const LARGEST_FALL: f64 = 5.0;

/// Where the path begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FirstWidth {
    /// $w$ is the mean of the free rates: there is one solution, and the whole path is ahead.
    Speed,
    /// $w$ is this multiple of the mean residual of the point, if that is less. What sweeps have
    /// solved already is not gone through again, but the path may be another one.
    Residual(f64),
}

/// How closely a run follows the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathRun {
    pub first_width: FirstWidth,
    /// Residual over $w$ and the root of the number of contacts up to which a point is near the
    /// path, so that a step along it may be made.
    pub close: f64,
    /// The same for the point to which a step along the path leads.
    pub loose: f64,
    /// Growth of the length of steps along the path after one that was good at once.
    pub growth: f64,
    /// Factorisations.
    pub limit: usize,
}

/// $F$, $A$ and $B$ as in [`alart_curnier::linearised`], smoothed, and the derivative of $F$ by
/// $\ln \varepsilon$.
#[inline(always)]
fn linearised<const D: usize>(
    law: &Law,
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
    epsilon: f64,
) -> ([f64; D], Small<D>, Small<D>, [f64; D]) {
    if law.kind == LawKind::Joint {
        let (f, a, b) = alart_curnier::linearised(law, r, u, rho);
        return (f, a, b, [0.0; D]);
    }
    let mut f_width = [0.0; D];
    let (mut f, mut a, mut b) = ([0.0; D], [[0.0; D]; D], [[0.0; D]; D]);
    let (mut normal, mut slope, mut normal_width) = (0.0, 0.0, 0.0);
    if law.kind == LawKind::Contact {
        let complement;
        (normal, slope, complement, normal_width) = larger(r[0] - rho * u[0], 0.0, epsilon);
        f_width[0] = -normal_width;
        f[0] = r[0] - normal;
        a[0][0] = rho * slope;
        b[0][0] = complement;
    } else {
        f[0] = r[0];
        b[0][0] = 1.0;
    }
    let bound = law.mu * normal + law.bound;
    let mut t = [0.0; D];
    (1..D).for_each(|k| t[k] = r[k] - rho * u[k]);
    let square = (1..D).map(|k| t[k] * t[k]).sum::<f64>();
    let length = (square + epsilon * epsilon).sqrt();
    let (radius, by_bound, by_length, by_width) = larger(bound, length, epsilon);
    let bound_width = law.mu * normal_width;
    let length_width = if length > 0.0 { epsilon * epsilon / length } else { 0.0 };
    let radius_width = by_bound * bound_width + by_length * length_width + by_width;
    let ratio = if radius > 0.0 { bound / radius } else { 0.0 };
    let rest = if radius > 0.0 { (radius - bound) / radius } else { 1.0 };
    for k in 1..D {
        f[k] = r[k] - ratio * t[k];
        let direction = if radius > 0.0 { t[k] / radius } else { 0.0 };
        for l in 1..D {
            let along = if length > 0.0 { ratio * by_length * direction * t[l] / length } else { 0.0 };
            let own = f64::from(k == l);
            a[k][l] = rho * (ratio * own - along);
            b[k][l] = rest * own + along;
        }
        f_width[k] = -direction * (bound_width - ratio * radius_width);
        let by_normal = direction * (1.0 - ratio * by_bound) * law.mu * slope;
        a[k][0] = rho * by_normal;
        b[k][0] = -by_normal;
    }
    (f, a, b, f_width)
}

/// $\max_\varepsilon(a, b)$ with its derivatives by $a$ and by $b$, which sum to one, and by
/// $\ln \varepsilon$.
#[inline(always)]
fn larger(a: f64, b: f64, epsilon: f64) -> (f64, f64, f64, f64) {
    let difference = a - b;
    let root = (difference * difference + 4.0 * epsilon * epsilon).sqrt();
    if root == 0.0 {
        return (a, 0.5, 0.5, 0.0);
    }
    // The smaller of the two parts without cancellation.
    let small = 2.0 * epsilon * epsilon / (root + difference.abs());
    let (value, share) = (a.max(b) + small, small / root);
    let by_width = 2.0 * epsilon * epsilon / root;
    if difference >= 0.0 { (value, 1.0 - share, share, by_width) } else { (value, share, 1.0 - share, by_width) }
}

/// The norm of $F / \rho$ of the point, smoothed with $w$.
fn smoothed_residual<const D: usize>(
    space: &impl Space<D>,
    r: &[[f64; D]],
    u: &[[f64; D]],
    rho: &[f64],
    width: f64,
) -> f64 {
    let mut sum = 0.0;
    for (i, law) in space.laws().iter().enumerate() {
        let f = value(law, &r[i], &u[i], rho[i], width * rho[i]);
        sum += f.iter().map(|f| f * f).sum::<f64>() / (rho[i] * rho[i]);
    }
    if sum.is_finite() { sum.sqrt() } else { f64::INFINITY }
}

/// $F$ alone.
#[inline(always)]
fn value<const D: usize>(law: &Law, r: &[f64; D], u: &[f64; D], rho: f64, epsilon: f64) -> [f64; D] {
    if law.kind == LawKind::Joint {
        return alart_curnier::value(law, r, u, rho);
    }
    let mut f = *r;
    let normal = if law.kind == LawKind::Contact { larger(r[0] - rho * u[0], 0.0, epsilon).0 } else { 0.0 };
    f[0] -= normal;
    let bound = law.mu * normal + law.bound;
    let mut t = [0.0; D];
    (1..D).for_each(|k| t[k] = r[k] - rho * u[k]);
    let length = tangent_norm(&t).portable_hypot(epsilon);
    let radius = larger(bound, length, epsilon).0;
    let ratio = if radius > 0.0 { bound / radius } else { 0.0 };
    (1..D).for_each(|k| f[k] -= ratio * t[k]);
    f
}

/// Runs from the point of the island, with the scales `run_rho`, until its residual is below
/// `target`; keeps the best point. Returns the number of factorisations.
pub(crate) fn run<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    settings: &PathRun,
) -> usize {
    let root = (space.laws().len() as f64).sqrt();
    let speed = island.free_speed(space);
    if speed == 0.0 || !speed.is_finite() {
        return 0;
    }
    let mut residual = island.measure(space);
    let mut width = match settings.first_width {
        FirstWidth::Speed => speed,
        FirstWidth::Residual(factor) => speed.min(factor * residual / root),
    };
    let mut merit = smoothed_residual(space, &island.r, &island.u, &island.run_rho, width);
    // The direction of the path, of length one in the metric of the path; none before the first
    // point near it.
    island.direction.fill([0.0; D]);
    let mut direction_width = 0.0;
    let (mut is_begun, mut new_beginnings) = (false, 0);
    let mut stride = FIRST_STRIDE;
    let mut near_width = width;
    let mut steps = 0;
    while residual > target
        && steps < settings.limit
        && width < ASTRAY * speed
        && stride > LEAST_STRIDE
        && new_beginnings <= NEW_BEGINNINGS
        && !island.work.is_spent()
    {
        steps += 1;
        if !find_steps(space, island, width) {
            break;
        }
        // Near the path: a new direction, and a point to come back to.
        let close = if is_begun { settings.close } else { settings.close.min(BEGINNING) };
        let is_near = merit <= close * width * root;
        if is_near {
            direction_width = turn(island, space.determinant_sign(), width, root);
            island.centre.clear();
            island.centre.extend_from_slice(&island.r);
            near_width = width;
            is_begun = true;
        }
        let across = if is_begun { change_across(island, direction_width, width, root) } else { 0.0 };
        let line = Line { across, direction_width, merit, width, loose: settings.loose, root };
        if let Some(found) = search(space, island, &line, if is_near { stride } else { 0.0 }) {
            (merit, width) = (found.merit, found.width);
            residual = residual_of(space, &island.r, &island.u, &island.rho);
            island.keep(residual);
            if is_near {
                stride = if found.tries == 1 { settings.growth * stride } else { found.advance.max(0.1 * stride) };
            }
            continue;
        }
        if is_begun && !is_near {
            island.r.copy_from_slice(&island.centre);
            space.rates(&island.r, &mut island.u);
            width = near_width;
            stride *= REDUCTION;
        } else {
            // Nor does a shorter step lead on from a point near the path: begin again where it is
            // wider.
            if is_begun {
                new_beginnings += 1;
                (is_begun, stride) = (false, FIRST_STRIDE);
            }
            width *= WIDENING;
        }
        merit = smoothed_residual(space, &island.r, &island.u, &island.run_rho, width);
    }
    steps
}

/// Finds Newton's step `dr` and the `tangent`, the derivative of $r$ by $\ln w$; whether that was
/// possible.
fn find_steps<const D: usize>(space: &mut impl Space<D>, island: &mut Island<D>, width: f64) -> bool {
    island.a.clear();
    island.b.clear();
    for (i, law) in space.laws().iter().enumerate() {
        let rho = island.run_rho[i];
        let (f, a, mut b, f_width) = linearised(law, &island.r[i], &island.u[i], rho, width * rho);
        (0..D).for_each(|k| b[k][k] += EPSILON);
        (island.f[i], island.f_width[i]) = (f, f_width);
        island.a.push(a);
        island.b.push(b);
    }
    island.work.spend(space.step_work());
    space.newton_step(&island.a, &island.b, &island.f, &mut island.dr)
        && space.newton_step_again(&island.f_width, &mut island.tangent)
}

/// Takes the direction of the path, that of (x, 1) with the tangent x or against it; returns its
/// part along $\ln w$.
fn turn<const D: usize>(island: &mut Island<D>, determinant_sign: f64, width: f64, root: f64) -> f64 {
    let unit = |rho: f64| 1.0 / (rho * width * root);
    let mut square = 1.0;
    for (&rho, tangent) in island.run_rho.iter().zip(&island.tangent) {
        square += unit(rho) * unit(rho) * tangent.iter().map(|x| x * x).sum::<f64>();
    }
    let direction_width = -determinant_sign / square.sqrt();
    for ((&rho, tangent), direction) in island.run_rho.iter().zip(&island.tangent).zip(&mut island.direction) {
        let factor = unit(rho) * direction_width;
        (0..D).for_each(|k| direction[k] = factor * tangent[k]);
    }
    direction_width
}

/// The step across the path is dr + c x with the change c of $\ln w$ that makes it normal to the
/// direction: this c.
fn change_across<const D: usize>(island: &Island<D>, direction_width: f64, width: f64, root: f64) -> f64 {
    let (mut of_step, mut of_tangent) = (0.0, direction_width);
    for (i, rho) in island.run_rho.iter().enumerate() {
        let unit = 1.0 / (rho * width * root);
        for k in 0..D {
            of_step += unit * island.direction[i][k] * island.dr[i][k];
            of_tangent += unit * island.direction[i][k] * island.tangent[i][k];
        }
    }
    -of_step / of_tangent
}

/// What a step is made of, and what it is compared with.
struct Line {
    /// Change of $\ln w$ of a whole step across the path, and for each unit of length along it.
    across: f64,
    direction_width: f64,
    merit: f64,
    width: f64,
    loose: f64,
    root: f64,
}

/// A step that was accepted.
struct Found {
    merit: f64,
    width: f64,
    advance: f64,
    tries: usize,
}

/// Goes along and across the path, less and less along; then only across, less and less.
fn search<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    line: &Line,
    mut advance: f64,
) -> Option<Found> {
    let (mut part, mut tries) = (1.0, 0);
    while part > SHORTEST {
        let change = (part * line.across + advance * line.direction_width).clamp(-LARGEST_FALL, LARGEST_FALL);
        for i in 0..island.r.len() {
            for k in 0..D {
                island.trial[i][k] = island.r[i][k] + part * island.dr[i][k] + change * island.tangent[i][k];
            }
        }
        space.rates(&island.trial, &mut island.trial_u);
        let width = line.width * change.portable_exp();
        let merit = smoothed_residual(space, &island.trial, &island.trial_u, &island.run_rho, width);
        tries += 1;
        let is_accepted = if advance > 0.0 {
            merit <= line.loose * width * line.root
        } else {
            merit / width <= (1.0 - DESCENT * part) * line.merit / line.width
        };
        if is_accepted {
            std::mem::swap(&mut island.r, &mut island.trial);
            std::mem::swap(&mut island.u, &mut island.trial_u);
            return Some(Found { merit, width, advance, tries });
        }
        if advance > 0.0 {
            advance = if tries > HALVINGS { 0.0 } else { 0.5 * advance };
        } else {
            part *= 0.5;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::Cone;

    #[test]
    fn derivatives_are_those_of_differences() {
        let points = [
            ([1.0, 0.2, 0.1], [0.3, 0.5, -0.2]),
            ([1.0, 0.2, 0.1], [-0.3, 0.05, -0.02]),
            ([0.1, 0.2, 0.1], [0.9, 0.5, -0.2]),
            ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ];
        let laws = [Cone::coulomb(0.6), Cone::Coulomb { mu: 0.4, bound: 0.3 }, Cone::Friction { rows: 2, bound: 0.3 }];
        let (rho, epsilon, h) = (0.7, 0.05, 1e-6);
        for law in laws.map(|cone| cone.law()) {
            for (r, u) in points {
                let (f, a, b, f_width) = linearised(&law, &r, &u, rho, epsilon);
                let close = |x: f64, y: f64| (x - y).abs() < 1e-4;
                let wider = value(&law, &r, &u, rho, epsilon * (1.0 + h));
                for i in 0..3 {
                    assert!(close(f[i], value(&law, &r, &u, rho, epsilon)[i]));
                    assert!(close((wider[i] - f[i]) / h, f_width[i]), "width {i}: {law:?} {r:?} {u:?}");
                    for j in 0..3 {
                        let (mut r_moved, mut u_moved) = (r, u);
                        r_moved[j] += h;
                        u_moved[j] += h;
                        let by_r = (value(&law, &r_moved, &u, rho, epsilon)[i] - f[i]) / h;
                        let by_u = (value(&law, &r, &u_moved, rho, epsilon)[i] - f[i]) / h;
                        assert!(close(by_r, b[i][j]), "B {i} {j}: {law:?} {r:?} {u:?}: {by_r} {}", b[i][j]);
                        assert!(close(by_u, a[i][j]), "A {i} {j}: {law:?} {r:?} {u:?}: {by_u} {}", a[i][j]);
                    }
                }
            }
        }
    }
}

//! Newton's method with the modes of all contacts given, and one mode changed at a time where a
//! bound is met: an active set on the cone itself.
//!
//! An open contact has $r = 0$, a sticking one $u = 0$. A sliding one, with
//! $t = r_T / \lVert r_T \rVert$ and $\alpha = -t^T u_T / \lVert r_T \rVert$, has
//!
//! $$ u_N = 0, \qquad (I - t t^T)\, u_T = 0, \qquad \lVert r_T \rVert = \mu r_N + a, $$
//!
//! which are smooth also where it slides by next to nothing, $\alpha \to 0$. There the projections
//! of the other methods cannot tell sliding from sticking.
//!
//! Where bodies wedge each other, sticking contacts may contradict each other by a little, as by
//! the rounding of their gaps over the step: some contact has to slide by that, with friction at
//! its bound, however far the forces are from there. $W$ does not feel these forces, which bear on
//! each other alone. So steps have a compliance $\varepsilon$: rates that contradict each other
//! push the forces along until a contact meets its bound, the step ends there, and that contact
//! changes its mode. As the step only is compliant, $\varepsilon$ is not in the solution. After a
//! full step the contact that violates its mode most changes it: an open one that approaches is
//! closed, a sliding one that is pushed by its friction sticks.

use super::alart_curnier;
use super::island::Island;
use super::law::{Law, LawKind, tangent_norm};
use super::space::{Small, Space};
use crate::DenseLu;

/// The compliance $\varepsilon$, relative to $W_{ii}$, is the norm of the equations relative to the
/// free rates, but within these: rates that contradict each other move forces by about as much as
/// there is in a step. Smaller: nothing is left of $W$ beside $1 / \varepsilon$. Larger: steps are
/// shorter than they have to be.
const LEAST_COMPLIANCE: f64 = 1e-11;
const LEAST_SPARSE_COMPLIANCE: f64 = 1e-9;
const LARGEST_COMPLIANCE: f64 = 1e-3;

/// Rows up to which $W$ is written out.
const DENSE_ROWS: usize = 450;

/// A violated mode is changed from this part of the target on.
const VIOLATION: f64 = 1e-2;

/// What a contact does: whether its normal row is closed, and whether its tangents are at their
/// bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mode {
    is_closed: bool,
    slides: bool,
}

impl Mode {
    /// The mode that the projections show.
    fn of<const D: usize>(law: &Law, r: &[f64; D], u: &[f64; D], rho: f64) -> Self {
        if law.kind == LawKind::Joint {
            return Self { is_closed: true, slides: false };
        }
        let normal = if law.kind == LawKind::Friction { 0.0 } else { r[0] - rho * u[0] };
        let length = (1..D).map(|k| (r[k] - rho * u[k]) * (r[k] - rho * u[k])).sum::<f64>().sqrt();
        Self { is_closed: normal > 0.0, slides: length > law.mu * normal.max(0.0) + law.bound }
    }

    /// Whether the tangents may carry nothing.
    fn is_smooth(self, law: &Law) -> bool {
        law.kind != LawKind::Joint && law.bound == 0.0 && (law.mu == 0.0 || !self.is_closed)
    }

    /// The equations of the mode, rigid, see [`Space::newton_step`].
    fn equations<const D: usize>(
        self,
        law: &Law,
        (r, u, rho): (&[f64; D], &[f64; D], f64),
    ) -> ([f64; D], Small<D>, Small<D>) {
        let (mut f, mut a, mut b) = ([0.0; D], [[0.0; D]; D], [[0.0; D]; D]);
        let mut still = |k: usize| {
            f[k] = rho * u[k];
            a[k][k] = rho;
        };
        let mut free = [false; D];
        match self.is_closed {
            true => still(0),
            false => free[0] = true,
        }
        let friction = tangent_norm(r);
        if self.is_smooth(law) || self.slides && friction == 0.0 {
            free[1..].fill(true);
        } else if !self.slides {
            (1..D).for_each(still);
        } else {
            let t: [f64; D] = std::array::from_fn(|k| if k == 0 { 0.0 } else { r[k] / friction });
            let along: f64 = (1..D).map(|k| t[k] * u[k]).sum();
            let alpha = (-along / friction).max(0.0);
            let beyond = friction - law.mu * r[0] - law.bound;
            for k in 1..D {
                f[k] = rho * (u[k] - along * t[k]) + t[k] * beyond;
                for l in 1..D {
                    let across = f64::from(k == l) - t[k] * t[l];
                    a[k][l] = rho * across;
                    b[k][l] = rho * alpha * across + t[k] * t[l];
                }
                b[k][0] = -law.mu * t[k];
            }
        }
        for k in (0..D).filter(|&k| free[k]) {
            f[k] = r[k];
            b[k][k] = 1.0;
        }
        (f, a, b)
    }

    /// The part of the step `dr` after which a bound is met, and the mode from there on.
    fn first_bound<const D: usize>(self, law: &Law, r: &[f64; D], dr: &[f64; D]) -> Option<(f64, Self)> {
        if law.kind == LawKind::Joint {
            return None;
        }
        let opens = (self.is_closed && r[0] + dr[0] < 0.0 && dr[0] < 0.0)
            .then(|| ((r[0] / -dr[0]).max(0.0), Self { is_closed: false, ..self }));
        let is_bounded = !self.slides && !self.is_smooth(law);
        let slides = is_bounded.then(|| first_at_bound(law, r, dr)).flatten();
        let slides = slides.map(|part| (part, Self { slides: true, ..self }));
        match (opens, slides) {
            (Some(opens), Some(slides)) => Some(if slides.0 <= opens.0 { slides } else { opens }),
            (opens, slides) => opens.or(slides),
        }
    }

    /// By how much a point violates its mode, as a velocity, and the mode that is meant.
    fn violation<const D: usize>(self, law: &Law, r: &[f64; D], u: &[f64; D]) -> (f64, Self) {
        if !self.is_closed && law.kind == LawKind::Contact && u[0] < 0.0 {
            return (-u[0], Self { is_closed: true, ..self });
        }
        let friction = tangent_norm(r);
        if self.slides && !self.is_smooth(law) && friction > 0.0 {
            let along = (1..D).map(|k| r[k] * u[k]).sum::<f64>() / friction;
            return (along.max(0.0), Self { slides: false, ..self });
        }
        (0.0, self)
    }
}

/// The part of the step after which $\lVert r_T \rVert = \mu r_N + a$, if that is within it.
fn first_at_bound<const D: usize>(law: &Law, r: &[f64; D], dr: &[f64; D]) -> Option<f64> {
    let (bound, change) = (law.mu * r[0] + law.bound, law.mu * dr[0]);
    let product = |a: &[f64; D], b: &[f64; D]| (1..D).map(|k| a[k] * b[k]).sum::<f64>();
    // c + 2 b x + a x² = 0.
    let c = product(r, r) - bound * bound;
    let b = product(r, dr) - bound * change;
    let a = product(dr, dr) - change * change;
    if c >= 0.0 {
        return (b > 0.0).then_some(0.0);
    }
    let root = (b * b - a * c).max(0.0).sqrt();
    // With c < 0: where the bound grows faster than friction there may be no root.
    let x = if b + root > 0.0 { -c / (b + root) } else { return None };
    (x < 1.0).then_some(x)
}

/// Iterates from the best point with the modes that it shows, where rates are of the size `scale`;
/// returns the number of factorisations.
pub(crate) fn run<const D: usize>(
    space: &mut impl Space<D>,
    island: &mut Island<D>,
    target: f64,
    scale: f64,
    limit: usize,
) -> usize {
    // A bound that splits has two modes of sliding, which are not made here.
    if space.laws().iter().any(|law| law.splits) {
        return 0;
    }
    island.restore(space);
    island.measure(space);
    let count = space.laws().len();
    island.modes.clear();
    for (i, law) in space.laws().iter().enumerate() {
        let mode = Mode::of(law, &island.r[i], &island.u[i], island.rho[i]);
        island.modes.push(mode);
    }
    let mut dense = Dense::new(space, island);
    let least = if dense.is_some() { LEAST_COMPLIANCE } else { LEAST_SPARSE_COMPLIANCE };
    let (mut is_full, mut steps) = (false, 0);
    while steps < limit && island.best_residual > target && !island.work.is_spent() {
        let found = state(space, island);
        if !found.is_finite() {
            break;
        }
        if std::mem::take(&mut is_full) && change_worst(space, island, (VIOLATION * target).max(found)) {
            continue;
        }
        let epsilon = (found / scale).clamp(least, LARGEST_COMPLIANCE);
        // Where A asks for a rate.
        for ((a, b), rho) in island.a.iter().zip(&mut island.b).zip(&island.rho) {
            let rates = a.as_flattened();
            b.as_flattened_mut().iter_mut().zip(rates).for_each(|(b, a)| *b += epsilon / rho * a);
        }
        steps += 1;
        let is_defined = match &mut dense {
            Some(dense) => dense.step(island),
            None => {
                island.work.spend(space.step_work());
                space.newton_step(&island.a, &island.b, &island.f, &mut island.dr)
            }
        };
        if !is_defined {
            break;
        }
        let laws = space.laws();
        let bounds = (0..count).filter_map(|i| {
            let (part, mode) = island.modes[i].first_bound(&laws[i], &island.r[i], &island.dr[i])?;
            Some((part, i, mode))
        });
        let first = bounds.min_by(|a, b| a.0.total_cmp(&b.0));
        let length = first.map_or(1.0, |(part, ..)| part.min(1.0));
        for (i, law) in laws.iter().enumerate() {
            let r = &mut island.r[i];
            (0..D).for_each(|k| r[k] += length * island.dr[i][k]);
            // Back to the bound, which is round.
            let friction = tangent_norm(r);
            if island.modes[i].slides && friction > 0.0 {
                let bound = (law.mu * r[0] + law.bound).max(0.0);
                r[1..].iter_mut().for_each(|r| *r *= bound / friction);
            }
        }
        is_full = first.is_none();
        if let Some((_, i, mode)) = first {
            island.modes[i] = mode;
            if mode.is_smooth(&laws[i]) {
                island.r[i] = [0.0; D];
            } else if !mode.is_closed {
                island.r[i][0] = 0.0;
            }
        }
        island.measure(space);
    }
    steps
}

/// Writes the equations of all modes into the island; returns their norm, as a velocity.
fn state<const D: usize>(space: &impl Space<D>, island: &mut Island<D>) -> f64 {
    island.a.clear();
    island.b.clear();
    let mut sum = 0.0;
    for (i, law) in space.laws().iter().enumerate() {
        let rho = island.rho[i];
        let (f, a, b) = island.modes[i].equations(law, (&island.r[i], &island.u[i], rho));
        sum += f.iter().map(|f| f * f).sum::<f64>() / (rho * rho);
        island.f[i] = f;
        island.a.push(a);
        island.b.push(b);
    }
    sum.sqrt()
}

/// $W$ written out, column after column, for steps with all the digits that there are.
struct Dense {
    w: Vec<f64>,
    lu: DenseLu,
}

impl Dense {
    /// $W$ from rates; none where the island is too large.
    fn new<const D: usize>(space: &mut impl Space<D>, island: &mut Island<D>) -> Option<Self> {
        let rows = space.laws().len() * D;
        if rows > DENSE_ROWS {
            return None;
        }
        Some(Self { w: island.write_out(space), lu: DenseLu::default() })
    }

    /// Solves $(A W + B)\,dr = -F$; whether that was possible.
    fn step<const D: usize>(&mut self, island: &mut Island<D>) -> bool {
        let Island { a, b, f, dr, work, .. } = island;
        let rows = f.len() * D;
        work.spend((rows * rows * rows / 3) as u64);
        let is_regular = self.lu.factor(rows, |column, out| {
            let rates = self.w[column * rows..(column + 1) * rows].as_chunks::<D>().0;
            for ((out, a), rate) in out.as_chunks_mut::<D>().0.iter_mut().zip(&*a).zip(rates) {
                *out = std::array::from_fn(|k| (0..D).map(|l| a[k][l] * rate[l]).sum());
            }
            (0..D).for_each(|k| out[column / D * D + k] += b[column / D][k][column % D]);
        });
        dr.iter_mut().zip(f).for_each(|(dr, f)| *dr = f.map(|f| -f));
        if is_regular.is_ok() {
            self.lu.solve_in_place(dr.as_flattened_mut());
        }
        is_regular.is_ok() && dr.as_flattened().iter().all(|x| x.is_finite())
    }
}

/// Changes the mode that is violated most, if that is by more than `least`; says whether.
fn change_worst<const D: usize>(space: &mut impl Space<D>, island: &mut Island<D>, least: f64) -> bool {
    let laws = space.laws();
    let violations = laws.iter().enumerate().map(|(i, law)| {
        let (violation, mode) = island.modes[i].violation(law, &island.r[i], &island.u[i]);
        (violation, i, mode)
    });
    let worst = violations.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|worst| worst.0 > least);
    let Some((_, i, mode)) = worst else { return false };
    if mode.is_closed && !island.modes[i].is_closed {
        // Closed by the impulse that the projections give it.
        let (r, u, rho) = (&mut island.r[i], &island.u[i], island.rho[i]);
        let f = alart_curnier::value(&laws[i], r, u, rho);
        (0..D).for_each(|k| r[k] -= f[k]);
        let friction = tangent_norm(r);
        island.modes[i] = Mode { is_closed: true, slides: friction > 0.999 * (laws[i].mu * r[0] + laws[i].bound) };
        island.measure(space);
    } else {
        island.modes[i] = mode;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::{Cone, ConeMethod, ConeSettings, ConeSolver, LocalConeProblem, SparseRows};

    #[test]
    fn the_bound_is_met_where_it_is_said() {
        // |(0.1, 0) + x (0.3, 0.4)| = 0.5 (1 + x): 0.01 + 0.06 x + 0.25 x² = 0.25 + 0.5 x + 0.25 x²
        // has no positive root; with half the growth there is one.
        let law = Cone::coulomb(0.5).law();
        assert_eq!(first_at_bound(&law, &[1.0, 0.1, 0.0], &[1.0, 0.3, 0.4]), None);
        let (r, dr) = ([1.0, 0.1, 0.0], [0.5, 0.6, 0.8]);
        let x = first_at_bound(&law, &r, &dr).unwrap();
        let at: [f64; 3] = std::array::from_fn(|k| r[k] + x * dr[k]);
        assert!((at[1].hypot(at[2]) - 0.5 * at[0]).abs() < 1e-15 && x > 0.0, "{x}");
        // At the bound already: at once, if it leads out.
        assert_eq!(first_at_bound(&law, &[1.0, 0.5, 0.0], &[0.0, 0.1, 0.0]), Some(0.0));
        assert_eq!(first_at_bound(&law, &[1.0, 0.5, 0.0], &[0.0, -0.1, 0.0]), None);
    }

    #[test]
    fn contacts_that_contradict_each_other_slide() {
        // A plate with the coordinates (x, y, angle) on two feet at x = ∓1, 0.1 below its middle,
        // thrown down and aside. Both feet would stick, but the tangent rate of the second one is
        // off by 1e-9, as by a gap that closes: so one of them slides by that, with friction at its
        // bound, against the other.
        let rows = [[0.0, 1.0, -1.0], [1.0, 0.0, 0.1], [0.0, 1.0, 1.0], [1.0, 0.0, 0.1]];
        let (free, contradiction) = ([0.2, -1.0, 0.0], [0.0, 0.0, 0.0, 1e-9]);
        let product = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let entries: Vec<(usize, usize, f64)> =
            (0..4).flat_map(|i| (0..4).map(move |j| (i, j, product(&rows[i], &rows[j])))).collect();
        let matrix = SparseRows::from_triplets(4, 4, &entries).unwrap();
        let offset: Vec<f64> = (0..4).map(|i| product(&rows[i], &free) + contradiction[i]).collect();
        let problem = LocalConeProblem::new(vec![Cone::planar(0.8); 2], matrix, offset).unwrap();
        // Sticking with little friction at both feet, far from where one of them slides.
        let start = [0.49, -0.1, 0.51, -0.1];
        let settings =
            ConeSettings { tolerance: 1e-14, newton_limit: 0, path_limit: 0, warm_sweeps: 0, ..Default::default() };
        let mut solver = ConeSolver::default();
        let solution = solver.solve_local(&problem, &settings, Some(&start));
        assert!(solution.report.is_solved(), "{:?}", solution.report);
        assert_eq!(solution.report.stages.last().unwrap().method, ConeMethod::ActiveSet);
        let r = &solution.impulses;
        assert!((r[0] + r[2] - 1.0).abs() < 1e-8 && (r[3].abs() - 0.8 * r[2]).abs() < 1e-14, "{r:?}");
    }
}

//! Newton's method with the modes of all contacts given: open, sticking or sliding.
//!
//! For a local problem $u = W r + q$ and a guess that shows the modes. Open contacts have $r = 0$, sticking ones $u = 0$. A sliding contact has the unknowns $r$
//! and $\alpha$ with
//!
//! $$ u_N = 0, \qquad u_T + \alpha r_T = 0, \qquad \lVert r_T \rVert^2 = (\mu r_N + a)^2, $$
//!
//! which are smooth also where it slides by next to nothing, $\alpha \to 0$. There the projections of the other methods cannot tell sliding from sticking: the two ends
//! of an edge whose gaps close at different rates cannot both stick, and one of them slides by the square of a small number, with friction at its bound.
//!
//! The equations are dense and may be dependent, so steps are those of least length. This is a last resort for small problems.

use faer::Mat;

use super::law::LawKind;
use super::problem::LocalConeProblem;

/// Newton steps, at most.
const STEP_LIMIT: usize = 30;

/// A normal impulse below this share of the largest one belongs to an open contact.
const NO_IMPULSE: f64 = 1e-12;

/// A sliding velocity up to this, relative to the largest free rate, is rounding.
const SLIDES: f64 = 1e-13;

/// Singular values below this, relative to the largest, count as zero.
const DEPENDENT: f64 = 1e-13;

/// A step below this, relative to the impulses, is rounding.
const ROUNDING: f64 = 1e-16;

/// One contact: its rows, where its unknowns begin, and what it does.
struct Contact {
    first_row: usize,
    row_count: usize,
    /// Number of normal rows, 0 or 1, which come first.
    normal_count: usize,
    mu: f64,
    bound: f64,
    mode: Mode,
    /// First unknown; its rows and then, for a sliding contact, α.
    unknown: usize,
}

#[derive(PartialEq)]
enum Mode {
    Open,
    Stick,
    Slide,
}

/// Moves impulses to the solution with the modes that they show: a contact slides whose friction is above the share `at_bound` of its bound and whose sliding velocity is
/// above rounding. Returns whether there were steps to make. The caller judges the result.
pub fn refine_by_modes(problem: &LocalConeProblem, at_bound: f64, r: &mut [f64]) -> bool {
    let (w, q) = (problem.matrix(), problem.offset());
    let size = q.len();
    if size == 0 || r.iter().any(|r| !r.is_finite()) {
        return false;
    }
    // Impulses in units of velocities.
    let scale = (0..size).map(|row| w.entry(row, row)).sum::<f64>() / size as f64;
    if !(scale > 0.0 && scale.is_finite()) {
        return false;
    }
    let mut x: Vec<f64> = r.iter().map(|r| scale * r).collect();
    let largest = x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let fastest = q.iter().fold(0.0f64, |fastest, q| fastest.max(q.abs()));

    let mut contacts = Vec::new();
    let (mut row, mut unknown_count) = (0, 0);
    for cone in problem.cones() {
        let law = cone.law();
        let normal_count = usize::from(law.kind == LawKind::Contact);
        let row_count = cone.row_count();
        // An ellipsoid is round in other unknowns, which are not made here; and one bound for all tangents is meant.
        if law.splits || cone.slots().any(|(_, axis)| axis != 1.0) {
            return false;
        }
        let bound = scale * law.bound;
        let normal = if normal_count == 1 { x[row] } else { 0.0 };
        let friction = norm(&x[row + normal_count..row + row_count]);
        let limit = law.mu * normal + bound;
        let is_open = normal_count == 1 && normal <= NO_IMPULSE * largest && bound == 0.0;
        let has_tangents = row_count > normal_count;
        let slip = norm(&(row + normal_count..row + row_count).map(|row| w.dot(row, r) + q[row]).collect::<Vec<_>>());
        let mode = match () {
            () if is_open => Mode::Open,
            () if has_tangents && friction >= at_bound * limit && slip > SLIDES * fastest => Mode::Slide,
            () => Mode::Stick,
        };
        let contact =
            Contact { first_row: row, row_count, normal_count, mu: law.mu, bound, mode, unknown: unknown_count };
        unknown_count += match contact.mode {
            Mode::Open => 0,
            Mode::Stick => row_count,
            Mode::Slide => row_count + 1,
        };
        if contact.mode == Mode::Open {
            x[row..row + row_count].fill(0.0);
        }
        row += row_count;
        contacts.push(contact);
    }
    // Frictionless contacts slide without α: their tangents carry nothing.
    let mut alphas = vec![0.0; contacts.len()];
    let rate = |x: &[f64], row: usize| w.dot(row, x) / scale + q[row];
    for (contact, alpha) in contacts.iter().zip(&mut alphas) {
        let rows = contact.first_row + contact.normal_count..contact.first_row + contact.row_count;
        let (slip, friction): (Vec<f64>, Vec<f64>) = rows.map(|row| (rate(&x, row), x[row])).unzip();
        let square: f64 = friction.iter().map(|f| f * f).sum();
        if contact.mode == Mode::Slide && square > 0.0 {
            *alpha = (-dot(&slip, &friction) / square).max(0.0);
        }
    }

    for _ in 0..STEP_LIMIT {
        let mut matrix = Mat::<f64>::zeros(unknown_count, unknown_count);
        let mut residual = vec![0.0; unknown_count];
        for (contact, &alpha) in contacts.iter().zip(&alphas).filter(|(contact, _)| contact.mode != Mode::Open) {
            for k in 0..contact.row_count {
                let (equation, row) = (contact.unknown + k, contact.first_row + k);
                residual[equation] = rate(&x, row);
                for other in contacts.iter().filter(|other| other.mode != Mode::Open) {
                    for j in 0..other.row_count {
                        matrix[(equation, other.unknown + j)] += w.entry(row, other.first_row + j) / scale;
                    }
                }
                if contact.mode == Mode::Slide && k >= contact.normal_count {
                    residual[equation] += alpha * x[row];
                    matrix[(equation, equation)] += alpha;
                    matrix[(equation, contact.unknown + contact.row_count)] = x[row];
                }
            }
            if contact.mode == Mode::Slide {
                let equation = contact.unknown + contact.row_count;
                let normal = if contact.normal_count == 1 { x[contact.first_row] } else { 0.0 };
                let limit = contact.mu * normal + contact.bound;
                let tangents = contact.first_row + contact.normal_count..contact.first_row + contact.row_count;
                let length = norm(&x[tangents.clone()]).max(f64::MIN_POSITIVE);
                // Over the length, so that all equations are velocities.
                residual[equation] = (length * length - limit * limit) / (2.0 * length);
                for row in tangents {
                    matrix[(equation, contact.unknown + row - contact.first_row)] = x[row] / length;
                }
                if contact.normal_count == 1 {
                    matrix[(equation, contact.unknown)] = -contact.mu * limit / length;
                }
            }
        }
        let Some(step) = least_step(&matrix, &residual) else { return false };
        let (mut moved, mut size) = (0.0f64, 0.0f64);
        for (contact, alpha) in contacts.iter().zip(&mut alphas).filter(|(contact, _)| contact.mode != Mode::Open) {
            for k in 0..contact.row_count {
                let change = step[contact.unknown + k];
                x[contact.first_row + k] -= change;
                moved = moved.max(change.abs());
                size = size.max(x[contact.first_row + k].abs());
            }
            if contact.mode == Mode::Slide {
                *alpha -= step[contact.unknown + contact.row_count];
            }
        }
        if !moved.is_finite() {
            return false;
        }
        if moved <= ROUNDING * size {
            break;
        }
    }
    r.iter_mut().zip(&x).for_each(|(r, x)| *r = x / scale);
    true
}

/// The shortest of the vectors that meet the equations best.
fn least_step(matrix: &Mat<f64>, right: &[f64]) -> Option<Vec<f64>> {
    let size = right.len();
    let decomposition = matrix.svd().ok()?;
    let (u, v, values) = (decomposition.U(), decomposition.V(), decomposition.S().column_vector());
    let mut step = vec![0.0; size];
    for k in 0..size {
        if values[k] > DEPENDENT * values[0] {
            let along = (0..size).map(|i| u[(i, k)] * right[i]).sum::<f64>() / values[k];
            (0..size).for_each(|i| step[i] += along * v[(i, k)]);
        }
    }
    Some(step)
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::{Cone, SparseRows, local_errors};

    #[test]
    fn sliding_too_slow_for_projections_is_found() {
        // A plate with the coordinates (x, y, angle) on two feet at x = ∓1, 0.1 below its middle, thrown down and aside. Both feet would stick, but the tangent rate of the
        // second one is off by 1e-9, as by a gap that closes: so one of them slides by that, with friction at its bound, against the other.
        let rows = [[0.0, 1.0, -1.0], [1.0, 0.0, 0.1], [0.0, 1.0, 1.0], [1.0, 0.0, 0.1]];
        let (free, contradiction) = ([0.2, -1.0, 0.0], [0.0, 0.0, 0.0, 1e-9]);
        let product = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let entries: Vec<(usize, usize, f64)> =
            (0..4).flat_map(|i| (0..4).map(move |j| (i, j, product(&rows[i], &rows[j])))).collect();
        let matrix = SparseRows::from_triplets(4, 4, &entries).unwrap();
        let offset = (0..4).map(|i| product(&rows[i], &free) + contradiction[i]).collect();
        let problem = LocalConeProblem::new(vec![Cone::planar(0.8); 2], matrix, offset).unwrap();
        let solved: Vec<Vec<f64>> = [-1.0, 1.0]
            .into_iter()
            .filter_map(|sign| {
                let mut r = vec![0.5, -0.1 - 0.4 * sign, 0.5, 0.4 * sign];
                assert!(refine_by_modes(&problem, 1.0 - 1e-6, &mut r));
                (local_errors(&problem, &r).scaled < 1e-14).then_some(r)
            })
            .collect();
        assert_eq!(solved.len(), 1, "friction acts against the sliding, not with it");
        let r = &solved[0];
        assert!((r[0] + r[2] - 1.0).abs() < 1e-8 && (r[3].abs() - 0.8 * r[2]).abs() < 1e-14, "{r:?}");
    }

    #[test]
    fn what_has_no_size_is_left_alone() {
        let matrix = SparseRows::from_triplets(1, 1, &[(0, 0, 0.0)]).unwrap();
        let problem = LocalConeProblem::new(vec![Cone::HalfLine], matrix, vec![1.0]).unwrap();
        assert!(!refine_by_modes(&problem, 1.0, &mut [1.0]));
        let problem = LocalConeProblem::default();
        assert!(!refine_by_modes(&problem, 1.0, &mut []));
    }
}

//! How well a point solves a problem: used for every method, written by none.
//!
//! The residual of a point $z$ of an [`Lcp`] is $\lVert \min(\tilde z, \tilde w) \rVert_\infty$ in
//! the problem's own scale ([`Scaling`](crate::Scaling)): $\tilde w_i = r_i w_i / s$ and
//! $\tilde z_i = z_i / (c_i s)$, with $w = M z + q$ recomputed from the original data. It is zero
//! exactly at the solutions, has no unit, and does not change when masses, lengths or times are
//! measured in other units (up to the rounding of the scale to powers of two).

use std::cmp::Ordering;

use crate::exact::{sign_of_sum, simplified};
use crate::{ContactLcp, ContactLcpData, Lcp, LemkeProblem};

/// Residual of `z` in the scale of `lcp`; also writes $w = M z + q$ into `w`. A point that is not
/// finite has residual infinity.
pub fn lcp_residual(lcp: &Lcp, z: &[f64], w: &mut Vec<f64>) -> f64 {
    let n = lcp.size();
    assert_eq!(z.len(), n, "the point has {} entries, the LCP {n}", z.len());
    w.clear();
    w.extend_from_slice(lcp.offset());
    for j in 0..n {
        if z[j] != 0.0 {
            w.iter_mut().zip(lcp.column(j)).for_each(|(w, entry)| *w += entry * z[j]);
        }
    }
    let scaling = lcp.scaling();
    let mut worst = 0.0f64;
    for i in 0..n {
        let z_scaled = z[i] / (scaling.columns[i] * scaling.offset);
        let w_scaled = w[i] * scaling.rows[i] / scaling.offset;
        if !(z_scaled.is_finite() && w_scaled.is_finite()) {
            return f64::INFINITY;
        }
        worst = worst.max(z_scaled.min(w_scaled).abs());
    }
    worst
}

/// Residual of `z` in the scale of a contact LCP; also writes $w = M z + q$ into `w`. A point that
/// is not finite has residual infinity.
///
/// $W$ is applied to the impulses by row, which the weights add up to; nothing is shared with the
/// products of the methods.
pub fn contact_lcp_residual(problem: &ContactLcp, z: &[f64], w: &mut Vec<f64>) -> f64 {
    let n = problem.unknown_count();
    assert_eq!(z.len(), n, "the point has {} entries, the LCP {n}", z.len());
    let ContactLcpData { delassus, free_rates, groups, directions } = problem.data();
    let rows = free_rates.len();
    // The memory of w also holds impulses and rates while they are needed.
    w.clear();
    w.resize(n + 2 * rows, 0.0);
    let (slack, rest) = w.split_at_mut(n);
    let (impulses, rates) = rest.split_at_mut(rows);
    problem.impulses(z, impulses);
    rates.copy_from_slice(free_rates);
    for (column, &impulse) in impulses.iter().enumerate() {
        if impulse != 0.0 {
            let column = &delassus[column * rows..(column + 1) * rows];
            rates.iter_mut().zip(column).for_each(|(rate, entry)| *rate += entry * impulse);
        }
    }
    let mut worst = 0.0f64;
    for (number, group) in groups.iter().enumerate() {
        let unknowns = problem.unknowns_of(number);
        let mut next = unknowns.start + group.directions.len();
        let normal = group.normal.map(|row| {
            slack[next] = rates[row];
            next += 1;
            z[next - 1]
        });
        if group.tangent_count > 0 {
            let weights = &z[unknowns.start..unknowns.start + group.directions.len()];
            slack[next] = group.mu * normal.unwrap_or(0.0) + group.bound - weights.iter().sum::<f64>();
            for (i, direction) in directions[group.directions.clone()].iter().enumerate() {
                let own = &rates[group.tangent..group.tangent + group.tangent_count];
                slack[unknowns.start + i] =
                    own.iter().zip(direction).map(|(rate, along)| along * rate).sum::<f64>() + z[next];
            }
        }
        for i in unknowns {
            let (z_scaled, w_scaled) = (z[i] / problem.unknown_scale(i), slack[i] * problem.slack_scale(i));
            if !(z_scaled.is_finite() && w_scaled.is_finite()) {
                worst = f64::INFINITY;
            }
            worst = worst.max(z_scaled.min(w_scaled).abs());
        }
    }
    w.truncate(n);
    worst
}

/// Whether $y \ge 0$ with $M^T y \le 0$ and $q^T y < 0$, which proves that no $z \ge 0$ makes
/// $w = M z + q \ge 0$: it would follow that $0 \le y^T w = (M^T y)^T z + q^T y < 0$. The signs are
/// exact, so this holds for the problem to its last bit.
pub fn proves_no_solution(lcp: &Lcp, y: &[f64]) -> bool {
    let product = |column: &[f64]| sign_of_sum(column.iter().zip(y).filter(|(_, y)| **y != 0.0).map(|(a, y)| (*a, *y)));
    y.iter().all(|&y| y >= 0.0 && y.is_finite())
        && product(lcp.offset()) == Ordering::Less
        && (0..lcp.size()).all(|j| product(lcp.column(j)) != Ordering::Greater)
}

/// A vector near `y` that [`proves_no_solution`], if there is one: `y` itself, or what is left of
/// it when the rounding of its last digits is taken away.
pub fn certificate_near(lcp: &Lcp, y: &[f64]) -> Option<Vec<f64>> {
    simplified(y).find(|y| proves_no_solution(lcp, y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn residual_is_zero_at_a_solution_and_counts_every_kind_of_violation() {
        // w = (2 z1 - 2, z2 + 1): the solution is z = (1, 0), w = (0, 1).
        let lcp = Lcp::new(mat![[2.0, 0.0], [0.0, 1.0]], vec![-2.0, 1.0]).unwrap();
        let mut w = Vec::new();
        assert_eq!(lcp_residual(&lcp, &[1.0, 0.0], &mut w), 0.0);
        assert_eq!(w, [0.0, 1.0]);
        // Penetrating (w1 < 0), pulling (z2 < 0), and both positive at once.
        assert!(lcp_residual(&lcp, &[0.5, 0.0], &mut w) > 0.1);
        assert!(lcp_residual(&lcp, &[1.0, -0.5], &mut w) > 0.1);
        assert!(lcp_residual(&lcp, &[1.5, 0.0], &mut w) > 0.1);
        assert_eq!(lcp_residual(&lcp, &[f64::NAN, 0.0], &mut w), f64::INFINITY);
    }

    #[test]
    fn a_certificate_is_checked_in_every_part() {
        // w = (z1 - z2 - 1, z2 - z1 - 1): the sum is -2 whatever z is.
        let lcp = Lcp::new(mat![[1.0, -1.0], [-1.0, 1.0]], vec![-1.0, -1.0]).unwrap();
        assert!(proves_no_solution(&lcp, &[1.0, 1.0]));
        assert!(!proves_no_solution(&lcp, &[1.0, 0.5]), "Mᵀy has a positive entry");
        assert!(!proves_no_solution(&lcp, &[1.0, -1.0]), "y is negative");
        let feasible = Lcp::new(mat![[1.0, -1.0], [-1.0, 1.0]], vec![-1.0, 1.0]).unwrap();
        assert!(!proves_no_solution(&feasible, &[1.0, 1.0]), "qᵀy is not negative");
    }

    #[test]
    fn residual_does_not_depend_on_units() {
        // The same problem in other units: rows by powers of two, columns by powers of two.
        let lcp = Lcp::new(mat![[2.0, 1.0], [1.0, 3.0]], vec![-2.0, -1.0]).unwrap();
        let scaled = Lcp::new(
            mat![[2.0 * 1024.0 * 8.0, 1.0 * 1024.0], [8.0 / 64.0, 3.0 / 64.0]],
            vec![-2.0 * 1024.0, -1.0 / 64.0],
        )
        .unwrap();
        let mut w = Vec::new();
        let z = [0.7, 0.3];
        let first = lcp_residual(&lcp, &z, &mut w);
        let second = lcp_residual(&scaled, &[0.7 / 8.0, 0.3], &mut w);
        assert!(first > 0.01);
        // Equal up to the factor of two by which the scales may be rounded.
        assert!(second / first <= 2.0 && first / second <= 2.0, "{first} {second}");
    }
}

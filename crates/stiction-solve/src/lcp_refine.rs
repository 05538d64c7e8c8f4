//! The last digits of a solution of an LCP: its basis solved once more, with residuals of twice the
//! precision.
//!
//! Where unknowns are large and differences of them small, as the friction bound
//! $\mu c_n - \sum \beta$ of heavy bodies in units in which rates are about one, a solution that is
//! good in the scale of the problem leaves much of $e_q$. What is left then is the rounding of the
//! unknowns alone.

use crate::{DenseLu, Lcp};

/// Steps of refinement; each gains what the factors have of digits.
const STEPS: usize = 4;

/// The solution with the basis of `z`, refined; none where its block is singular.
pub fn refine(lcp: &Lcp, z: &[f64]) -> Option<Vec<f64>> {
    let basis: Vec<usize> = (0..lcp.size()).filter(|&i| z[i] > 0.0).collect();
    let scaling = lcp.scaling();
    let mut lu = DenseLu::default();
    let fill = |j: usize, column: &mut [f64]| {
        for (entry, &row) in column.iter_mut().zip(&basis) {
            *entry = lcp.column(basis[j])[row] * scaling.rows[row] * scaling.columns[basis[j]];
        }
    };
    lu.factor(basis.len(), fill).ok()?;
    let mut refined = z.to_vec();
    for _ in 0..STEPS {
        let mut step: Vec<f64> = basis.iter().map(|&row| -slack(lcp, &refined, row) * scaling.rows[row]).collect();
        lu.solve_in_place(&mut step);
        if step.iter().any(|step| !step.is_finite()) {
            return None;
        }
        for (&i, step) in basis.iter().zip(&step) {
            refined[i] = (refined[i] + step * scaling.columns[i]).max(0.0);
        }
    }
    Some(refined)
}

/// Row `i` of $M z + q$, summed with twice the precision: products and sums with their rounding
/// (Ogita, Rump and Oishi 2005).
fn slack(lcp: &Lcp, z: &[f64], i: usize) -> f64 {
    let (mut sum, mut rest) = (lcp.offset()[i], 0.0);
    for (j, &z) in z.iter().enumerate().filter(|(_, z)| **z != 0.0) {
        let entry = lcp.column(j)[i];
        let product = entry * z;
        let product_rest = entry.mul_add(z, -product);
        let next = sum + product;
        let part = next - sum;
        rest += (sum - (next - part)) + (product - part) + product_rest;
        sum = next;
    }
    sum + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn the_last_digits_are_found() {
        // z = (3e9, 1) with the rows 1e-9 z1 + z2 = 4 and z1 - 3e9 z2 = 0; the start is off in
        // both.
        let lcp = Lcp::new(mat![[1e-9, 1.0], [1.0, -3e9]], vec![-4.0, 0.0]).unwrap();
        let z = refine(&lcp, &[3e9 + 7.0, 1.0 + 1e-6]).unwrap();
        assert!((z[0] - 3e9).abs() <= 1e-6 && (z[1] - 1.0).abs() <= 1e-15, "{z:?}");
        assert!(slack(&lcp, &z, 1).abs() <= 1e-6);
        let singular = Lcp::new(mat![[1.0, 1.0], [1.0, 1.0]], vec![-1.0, -1.0]).unwrap();
        assert!(refine(&singular, &[0.5, 0.5]).is_none());
    }
}

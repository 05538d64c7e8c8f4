//! How the end of a motion with constant velocity moves when that velocity changes, from
//! [`advance`](MechanicalSystem::advance) alone.
//!
//! With $q^+ = q \oplus h v$, the answer for a change $w$ is the $x$ with
//! $\Gamma(q^+, t + h) x = \tfrac1h \tfrac{d}{d\varepsilon} (q \oplus h (v + \varepsilon w))$ at
//! $\varepsilon = 0$, where $\Gamma x$ is the
//! [rate of the configuration](MechanicalSystem::configuration_rate) that moves with $x$. Where
//! turns are coordinates, as in quaternions, $x$ differs from $w$ by the curvature of the way,
//! $O(h v w)$.

use faer::Mat;
use faer::linalg::solvers::SolveLstsq;

use crate::MechanicalSystem;
use crate::row_rates::{FIRST_MOVE, rate_by_differences};

/// The derivative by extrapolated differences; see [`MechanicalSystem::advance_derivative`].
pub(crate) fn advance_derivative_by_differences<S: MechanicalSystem + ?Sized>(
    system: &S,
    (t, q, v, h): (f64, &[f64], &[f64], f64),
    w: &[f64],
    out: &mut [f64],
) {
    let n = v.len();
    let mut end = q.to_vec();
    system.advance(t, q, v, h, &mut end);
    let mut changed: Vec<f64> = v.iter().zip(w).map(|(v, w)| v + w).collect();
    if q.len() == n && is_straight(q, v, h, &end) {
        // A map that depends on time may be straight for some times or velocities only.
        let mut there = q.to_vec();
        system.advance(t, q, &changed, h, &mut there);
        let is_straight_there = is_straight(q, &changed, h, &there);
        system.displace(t + h, &end, w, h, &mut there);
        if is_straight_there && is_straight(&end, w, h, &there) {
            out.copy_from_slice(w);
            return;
        }
    }
    let largest = w.iter().fold(0.0f64, |largest, w| largest.max(w.abs()));
    if largest == 0.0 || h == 0.0 {
        out.copy_from_slice(w);
        return;
    }
    let rate = rate_by_differences(FIRST_MOVE / (h * largest), q.len(), |epsilon, out| {
        changed.iter_mut().zip(v.iter().zip(w)).for_each(|(changed, (v, w))| *changed = v + epsilon * w);
        out.resize(q.len(), 0.0);
        system.advance(t, q, &changed, h, out);
    });
    let (mut unit, mut column) = (vec![0.0; n], q.to_vec());
    let mut rates = Mat::<f64>::zeros(q.len(), n);
    for k in 0..n {
        unit[k] = 1.0;
        system.configuration_rate(t + h, &end, &unit, &mut column);
        unit[k] = 0.0;
        (0..q.len()).for_each(|i| rates[(i, k)] = column[i]);
    }
    let right = Mat::from_fn(q.len(), 1, |i, _| rate[i] / h);
    let x = rates.qr().solve_lstsq(&right);
    (0..n).for_each(|k| out[k] = x[(k, 0)]);
}

/// Whether a motion with constant velocity ended at $q + h v$.
fn is_straight(q: &[f64], v: &[f64], h: f64, end: &[f64]) -> bool {
    end.iter().zip(q.iter().zip(v)).all(|(end, (q, v))| *end == q + h * v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::FreeTop;

    #[test]
    fn a_turn_about_the_axis_of_the_spin_is_as_it_is_and_one_across_is_curved() {
        // ω = (0, 0, 3), h = 0.5: a turn by φ = 1.5. For w along z, x = w. For w along x, x = (sin
        // φ / φ, (cos φ - 1) / φ) in the axes that have turned with the body.
        let (q, spin, h) = ([0.8, 0.6, 0.0, 0.0], [0.0, 0.0, 3.0], 0.5);
        let mut out = [0.0; 3];
        FreeTop::default().advance_derivative(0.0, &q, &spin, h, &[0.0, 0.0, 2.0], &mut out);
        assert!(out.iter().zip([0.0, 0.0, 2.0]).all(|(a, b)| (a - b).abs() < 1e-13), "{out:?}");
        FreeTop::default().advance_derivative(0.0, &q, &spin, h, &[1.0, 0.0, 0.0], &mut out);
        let angle = 1.5f64;
        let expected = [angle.sin() / angle, (angle.cos() - 1.0) / angle, 0.0];
        assert!(out.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-13), "{out:?} and not {expected:?}");
    }
}

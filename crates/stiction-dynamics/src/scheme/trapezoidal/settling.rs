//! Short steps after a jump of the velocities, where dampers are stiff.
//!
//! A damper of rate $\lambda$ ends what a jump has left in it within some $1/\lambda$. The
//! trapezoidal rule multiplies it by $(1 - z/2)/(1 + z/2)$ in a step with $z = \lambda h$, which is
//! almost $-1$ for a stiff one: the rule is stable, not L-stable, and without a cure the damper
//! would ring for thousands of steps, and carry the bodies off by $h \Delta v$. Backward Euler
//! would forget the jump, but put it half a step late into the positions, which costs an order too.
//! So the steps after a jump begin with a small $z$ and grow: the fast motion is followed while it
//! lasts. Whatever its rate, one of the growing steps has a $z$ near two, where the rule takes all
//! of it. Order two is that of the rule itself, since every step is one of the rule.

use super::Trapezoidal;
use crate::scheme::{Origin, Step};
use crate::{ForceCause, ForceJacobians, Inertia, JacobianKind, State};

/// $\lambda h$ of the first step after a jump. Too large: the fast motion is followed badly. Too
/// small: more steps.
const FIRST: f64 = 0.1;

/// Growth $g$ of the steps. The way that a damper lets bodies go after a jump,
/// $\Delta v / \lambda$, is off by about $(g - 1)^2/6$ of itself, 0.7 % with this one; of the jump
/// itself $\prod \tanh(\tfrac12 \ln(z_i/2))$ is left, below 1e-9. Too large: both are seen. Too
/// small: more steps.
const GROWTH: f64 = 1.2;

/// Where the steps after a jump stand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Settling {
    /// Velocities have jumped, and the step that follows is not yet chosen.
    #[default]
    Due,
    /// The next step may be this long, in seconds.
    Below(f64),
    /// No limit.
    Over,
}

impl Trapezoidal {
    /// Shortens the step that begins as far as stiff dampers need it after a jump.
    pub(super) fn limit_after_jump(&mut self, origin: Origin<'_>, out: &mut Step) {
        if self.settings.paper {
            return;
        }
        if self.settling == Settling::Due {
            let rate = damping_rate(origin, &mut self.jacobians, &mut self.mass);
            self.settling =
                if rate * self.full_step.h > FIRST { Settling::Below(FIRST / rate) } else { Settling::Over };
        }
        if let Settling::Below(limit) = self.settling {
            out.h = out.h.min(limit);
        }
    }

    /// Lets the steps grow after one of this length.
    pub(super) fn grow_after(&mut self, h: f64) {
        if let Settling::Below(limit) = self.settling
            && h >= limit
        {
            let next = GROWTH * limit;
            self.settling = if next < self.full_step.h { Settling::Below(next) } else { Settling::Over };
        }
    }
}

/// An upper estimate of the fastest rate at which dampers end a motion, in 1/s: the largest sum of
/// a row of $M^{-1/2} k_v M^{-1/2}$ with the diagonal of $M$.
fn damping_rate(origin: Origin<'_>, jacobians: &mut ForceJacobians, mass: &mut Inertia) -> f64 {
    let Origin { system, state: State { t, q, v }, .. } = origin;
    jacobians.clear();
    system.force_jacobians(JacobianKind::Exact, *t, q, v, jacobians);
    if jacobians.by_velocity.is_empty() {
        return 0.0;
    }
    origin.here().mass(mass);
    let mut sums = vec![0.0; v.len()];
    for entry in jacobians.by_velocity.iter().filter(|entry| entry.cause != ForceCause::Gyroscopic) {
        let scale = (mass.entry(entry.row, entry.row) * mass.entry(entry.column, entry.column)).sqrt();
        sums[entry.row] += entry.value.abs() / scale;
    }
    sums.into_iter().fold(0.0, f64::max)
}

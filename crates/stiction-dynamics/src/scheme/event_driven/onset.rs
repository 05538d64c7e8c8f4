//! The direction in which sliding begins in space.
//!
//! Where sticking ends, the sliding velocity $s$ starts from nothing, and friction depends on its
//! direction $d = e s / \lVert e s \rVert$ alone. The acceleration of sliding is $\dot s(t, d)$. It
//! is zero at the instant $t_0$ when friction has just reached its bound, in the direction $d_0$. A
//! direction other than $d_0$ would accelerate it at once, against that direction. So it stays at
//! $d_0$ and turns with the load, $s = O((t - t_0)^2)$, and at every time it is nearly the
//! direction of the acceleration itself:
//!
//! $$ e\, \dot s(t, d) = \kappa\, d, \qquad \kappa \ge 0. $$
//!
//! These equations do not contain $s$. The motion with these directions is smooth from the start.
//! There Newton's method for the stages of the true motion begins; its derivative of $d$ by $s$ is
//! as large as $1 / \lVert s \rVert$.

use super::modes::{Modes, Sliding};
use super::motion::Motion;
use crate::scheme::{At, Outcome};
use crate::vector::{dot, norm};
use stiction_solve::DenseLu;
use stiction_solve::PortableMath as _;

/// Newton steps for the directions, at most.
const STEPS: usize = 8;

/// The directions are found when the acceleration across them is below this share of the one along
/// them. Too large: Newton's method for the stages begins too far away. Too small: more
/// evaluations.
const FOUND: f64 = 1e-9;

/// Angle of the differences of Newton's matrix, in radians. Too large: slow convergence. Too small:
/// rounding.
const DIFFERENCE: f64 = 1e-6;

/// Largest angle of a Newton step, in radians. Too large: directions overshoot. Too small: more
/// steps.
const LARGEST_TURN: f64 = 0.5;

/// A direction across that of a part that begins to slide, to which it may turn; with the place of
/// the part in the modes.
#[derive(Clone, Copy, Debug)]
struct Turn {
    place: usize,
    direction: [f64; 3],
    across: [f64; 3],
}

/// The modes in which every part that slides in space slower than the still speed begins to slide.
/// None when there is no such part. The motion has looked at this state.
pub(super) fn begin(motion: &Motion, modes: &Modes, v: &[f64]) -> Option<Modes> {
    let mut changed = modes.clone();
    for ((_, sliding), slider) in changed.sliding.iter_mut().zip(&motion.sliders) {
        if let Sliding::Slip(direction) = *sliding
            && slider.tangents.len() > 1
            && norm(&motion.slip(slider, v)) <= motion.still_speed
        {
            *sliding = Sliding::Begin(direction);
        }
    }
    (changed != *modes).then_some(changed)
}

/// Evaluates the motion with the directions in which sliding begins at this state. The modes keep
/// them for the next evaluation.
pub(super) fn evaluate(motion: &mut Motion, at: At<'_>, modes: &mut Modes, v: &[f64]) -> Outcome {
    motion.evaluate(at, modes, v)?;
    let mut newton = DenseLu::default();
    for _ in 0..STEPS {
        let turns = list(motion, modes);
        let (mut residual, along) = residual(motion, &turns);
        if residual.iter().all(|r| r.abs() <= FOUND * along) {
            break;
        }
        // The change of the acceleration across with each turn.
        let mut columns = Vec::new();
        for Turn { place, direction, across } in &turns {
            modes.sliding[*place].1 = Sliding::Begin(turned(direction, across, DIFFERENCE));
            motion.evaluate(at, modes, v)?;
            modes.sliding[*place].1 = Sliding::Begin(*direction);
            let (moved, _) = self::residual(motion, &turns);
            let mut column: Vec<f64> = moved.iter().zip(&residual).map(|(a, b)| (a - b) / DIFFERENCE).collect();
            // What is across turns as well.
            let number = columns.len();
            column[number] -= dot(&motion.slip_acceleration(&motion.sliders[*place]), direction);
            columns.push(column);
        }
        if newton.factor(turns.len(), |k, out| out.copy_from_slice(&columns[k])).is_err() {
            break;
        }
        newton.solve_in_place(&mut residual);
        for (turn, angle) in turns.iter().zip(&residual) {
            if let Sliding::Begin(direction) = &mut modes.sliding[turn.place].1 {
                *direction = turned(direction, &turn.across, (-angle).clamp(-LARGEST_TURN, LARGEST_TURN));
            }
        }
        motion.evaluate(at, modes, v)?;
    }
    Ok(())
}

/// Accelerations of sliding times semi-axes across all directions, and the largest along one.
fn residual(motion: &Motion, turns: &[Turn]) -> (Vec<f64>, f64) {
    let rate = |turn: &Turn| motion.slip_acceleration(&motion.sliders[turn.place]);
    let along = turns.iter().fold(0.0f64, |along, turn| along.max(dot(&rate(turn), &turn.direction).abs()));
    (turns.iter().map(|turn| dot(&rate(turn), &turn.across)).collect(), along)
}

fn list(motion: &Motion, modes: &Modes) -> Vec<Turn> {
    let mut turns = Vec::new();
    for (place, ((_, sliding), slider)) in modes.sliding.iter().zip(&motion.sliders).enumerate() {
        if let Sliding::Begin(direction) = *sliding {
            let across = across(&direction, &slider.axes).into_iter();
            turns.extend(across.map(|across| Turn { place, direction, across }));
        }
    }
    turns
}

/// Unit vectors across a direction and each other, among the tangents that have friction.
fn across(direction: &[f64; 3], axes: &[f64; 3]) -> Vec<[f64; 3]> {
    let mut found: Vec<[f64; 3]> = Vec::new();
    let mut units: Vec<usize> = (0..3).filter(|&a| axes[a] > 0.0).collect();
    // What is least along the direction first; the last one is left over.
    units.sort_by(|&a, &b| direction[a].abs().total_cmp(&direction[b].abs()));
    units.pop();
    for a in units {
        let mut vector = [0.0; 3];
        vector[a] = 1.0;
        for other in std::iter::once(direction).chain(&found) {
            let part = dot(&vector, other);
            vector.iter_mut().zip(other).for_each(|(x, y)| *x -= part * y);
        }
        let length = norm(&vector);
        found.push(vector.map(|x| x / length));
    }
    found
}

/// A direction, turned by an angle towards one across it.
fn turned(direction: &[f64; 3], across: &[f64; 3], angle: f64) -> [f64; 3] {
    let moved: [f64; 3] = std::array::from_fn(|a| direction[a] + angle.portable_tan() * across[a]);
    let length = norm(&moved);
    moved.map(|x| x / length)
}

//! Where rows of redundant joints may be evaluated: on the configurations that satisfy the joints.
//!
//! Rows that depend on each other do so there and nowhere else. At a prediction $q \oplus \tau u$,
//! which misses the joints $\Theta = 0$ by the curvature of their manifold, $O(\tau^2)$, the
//! redundant rows of a spatial linkage (Bricard's, for one) are independent by just as much: taken
//! at their word they would lock it. So the prediction is moved onto the manifold first, by Newton
//! steps that are smallest in the metric of the mass matrix:
//!
//! $$ M \delta = \nu^T \lambda, \qquad \nu \delta = -\Theta(q \oplus \tau u), \qquad u \leftarrow u + \delta / \tau. $$
//!
//! Independent rows lose nothing by a prediction that is off by $O(\tau^2)$, and are left where
//! they are.

use crate::scheme::origin::{At, Outcome};
use crate::vector::{refill, zero};
use crate::{ConstrainedMotion, ContactProblem, Joint, JointCondition, StepError};

/// Newton steps, at most. The first leaves the square of a small error.
const STEP_LIMIT: usize = 4;

/// A value up to this is met, in metres or radians: rounding of coordinates of some metres.
const MET: f64 = 1e-14;

/// Moves predictions onto the joints of a system, if these are redundant. It keeps its memory from
/// step to step.
#[derive(Clone, Debug, Default)]
pub(crate) struct JointProjection {
    /// Whether rows depend on each other; unknown before the first step.
    is_redundant: Option<bool>,
    elimination: ConstrainedMotion,
    problem: ContactProblem,
    joints: Vec<Joint>,
}

impl JointProjection {
    /// Moves the prediction `q_out` $= q \oplus \tau u$ onto the joints, and `u` with it. `start`
    /// is at $q$, at the time of the prediction. Does nothing where no rows depend on each other at
    /// $q$, which is judged once, at the first call.
    ///
    /// # Errors
    /// [`StepError::Malformed`] when the mass matrix cannot be factored.
    pub(crate) fn project(&mut self, start: At<'_>, tau: f64, u: &mut [f64], q_out: &mut [f64]) -> Outcome {
        let is_redundant = match self.is_redundant {
            Some(known) => known,
            None => {
                self.linearize(start)?;
                *self.is_redundant.insert(self.elimination.has_dependent_joints())
            }
        };
        if !is_redundant || tau == 0.0 {
            return Ok(());
        }
        let mut last = f64::INFINITY;
        for _ in 0..STEP_LIMIT {
            self.linearize(At::new(start.system, start.t, q_out))?;
            let worst = self.joints.iter().fold(0.0f64, |worst, joint| worst.max(joint.value.abs()));
            // It falls quadratically, so what falls slowly is rounding.
            if worst <= MET || worst > 0.5 * last {
                break;
            }
            last = worst;
            u.iter_mut().zip(self.elimination.motion()).for_each(|(u, delta)| *u += delta / tau);
            start.system.advance(start.t - tau, start.q, u, tau, q_out);
        }
        Ok(())
    }

    /// Makes rates that are to take back drift agree with each other, where rows depend on each
    /// other: each becomes what the smallest motion that meets them best gives it. The drift of a
    /// configuration off the manifold contradicts itself by its square, and would be refused.
    ///
    /// The rows are those of the configuration that was projected last.
    pub(crate) fn reconcile(&mut self, rates: &mut [f64]) {
        if self.is_redundant != Some(true) {
            return;
        }
        self.problem.joints.iter_mut().zip(&*rates).for_each(|(joint, rate)| joint.bias = -rate);
        self.elimination.constrain(&self.problem, &self.problem.free_motion);
        let motion = self.elimination.motion();
        rates.iter_mut().zip(&self.problem.joints).for_each(|(rate, joint)| *rate = joint.row.dot(motion));
    }

    /// Evaluates the joints at a configuration, and the smallest move onto their tangents.
    fn linearize(&mut self, at: At<'_>) -> Outcome {
        let malformed = |source| StepError::Malformed { t: at.t, source };
        at.joints(&mut self.joints);
        at.factored_mass(&mut self.problem.inertia).map_err(malformed)?;
        zero(&mut self.problem.free_motion, at.system.velocity_count());
        let condition = |joint: &Joint| JointCondition { row: joint.row.clone(), bias: joint.value, rounding: 0.0 };
        refill(&mut self.problem.joints, self.joints.iter().map(condition));
        self.elimination.factor(&self.problem).map_err(malformed)
    }
}

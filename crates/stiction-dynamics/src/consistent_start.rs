//! Initial velocities that the contacts and joints allow.
//!
//! \[GS05\] (33) with $\Delta t = 0$: no force acts within no time, so that what is left of the
//! step is an inelastic impact of all that is closed,
//!
//! $$ M(q) (u - v) = \nu^T c_j + \sum (n^T c_n + T^T c_t), \qquad \nu u + b_j = 0, \qquad 0 \le n u + b_n \perp c_n \ge 0, $$
//!
//! with friction as in every step. Velocities that are consistent already stay as they are, because
//! they solve it without impulses.

use crate::scheme::origin::Origin;
use crate::vector::filled;
use crate::{
    Contact, ContactCondition, ContactProblem, ContactSolution, ContactSolver, Joint, JointCondition, MechanicalSystem,
    State, StepError,
};

/// The state with velocities that neither close a contact whose gap is at most `gap_tolerance`, in
/// metres, nor break a joint.
///
/// # Errors
/// [`StepError`] when the problem is malformed or not solved.
pub fn consistent_start(
    system: &dyn MechanicalSystem,
    state: &State,
    solver: &mut ContactSolver,
    gap_tolerance: f64,
) -> Result<State, StepError> {
    let origin = Origin::new(system, state);
    let mut problem = ContactProblem { free_motion: state.v.clone(), ..Default::default() };
    origin.here().factored_mass(&mut problem.inertia).map_err(|source| origin.malformed(source))?;
    let contacts: Vec<Contact> = filled(|out| origin.here().contacts(gap_tolerance, out));
    let joints: Vec<Joint> = filled(|out| origin.here().joints(out));
    problem.contacts.extend(contacts.iter().map(ContactCondition::of));
    problem.joints.extend(joints.iter().map(|joint| JointCondition::of(joint, 0.0)));
    solver.adopt_sets(&mut problem);
    let mut solution = ContactSolution::default();
    solver.solve(&problem, &mut solution).map_err(|source| origin.malformed(source))?;
    if !solution.report.is_solved() {
        return Err(StepError::unsolved(state.t, &mut problem, &solution));
    }
    Ok(State::new(state.t, state.q.clone(), solution.motion))
}

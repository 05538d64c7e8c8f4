//! The ladder of a contact problem that is not solved at once: what is tried before a step is given
//! up.
//!
//! | rung | what changes |
//! |---|---|
//! | [`Rung::Cold`] | the start: a warm one may lead an iteration or a path astray |
//! | [`Rung::OtherMethod`] | the method, where another one solves the very same problem, as in the plane |
//! | [`Rung::WithoutRecovery`] | the problem: penetrations are not taken back in this step |
//! | [`Rung::ShorterStep`] | the step: it is halved, and the next one makes up for it |
//!
//! The third rung is what \[ST96\] §3.2 promises a solution for: where no gap at the start of a
//! step is negative, the problem has one, whatever the friction. Gaps that are negative by rounding
//! or by the curvature of the last step break that promise exactly where a mechanism jams. A
//! penetration that is left is taken back by later steps, and the certificate shows it. Every rung
//! that was needed is reported.

use super::{Outcome, Step, check_finite};
use crate::{ContactError, ContactSolver, StepError};

/// What was needed to solve a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// A start from nothing.
    Cold,
    /// Another method for the same problem.
    OtherMethod,
    /// Leaving penetrations as they are for this step.
    WithoutRecovery,
    /// A shorter step.
    ShorterStep,
}

impl Rung {
    /// All rungs, from the top.
    pub const ALL: [Self; 4] = [Self::Cold, Self::OtherMethod, Self::WithoutRecovery, Self::ShorterStep];

    /// What it is, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Cold => "from a cold start",
            Self::OtherMethod => "by another method",
            Self::WithoutRecovery => "without taking back penetration",
            Self::ShorterStep => "with a shorter step",
        }
    }
}

/// Solves the contact problem of a step, down the ladder where that is needed, and keeps the
/// reports.
///
/// # Errors
/// [`StepError`] when the problem is malformed or not solved, which moves it into the error, or
/// when the motion is not finite.
pub(super) fn solve_problem(solver: &mut ContactSolver, t: f64, out: &mut Step) -> Outcome {
    solver.adopt_sets(&mut out.problem);
    let malformed = |source| StepError::Malformed { t, source };
    solver.solve(&out.problem, &mut out.solution).map_err(malformed)?;
    if !is_accepted(solver, out) {
        descend(solver, out).map_err(malformed)?;
        if !is_accepted(solver, out) {
            return Err(StepError::unsolved(t, &mut out.problem, &out.solution));
        }
    }
    check_finite(t, "velocity", &out.solution.motion)
}

/// Whether the step may go on with a solve, whose report it then keeps.
fn is_accepted(solver: &ContactSolver, out: &mut Step) -> bool {
    let report = &out.solution.report;
    let is_accepted = report.is_solved() || report.residual <= solver.accepted_residual(out.problem.contacts.len());
    if is_accepted {
        out.report.solves.push(report.clone());
    }
    is_accepted
}

/// Tries the rungs until one solves the problem. Where none does, the problem is left as it was
/// stated, with what the method said of it.
fn descend(solver: &mut ContactSolver, out: &mut Step) -> Result<(), ContactError> {
    let stated = out.problem.clone();
    let mut first = out.solution.clone();
    let mut iterations = first.report.iterations;
    for rung in Rung::ALL {
        let was_tried = match rung {
            Rung::Cold if solver.forget() => {
                solver.solve(&out.problem, &mut out.solution)?;
                first.clone_from(&out.solution);
                true
            }
            Rung::Cold => false,
            Rung::OtherMethod => solver.solve_otherwise(&out.problem, &mut out.solution)?,
            Rung::WithoutRecovery => {
                let mut penetrates = false;
                for contact in &mut out.problem.contacts {
                    penetrates |= contact.recovery < 0.0;
                    contact.normal_bias -= contact.recovery;
                    contact.recovery = 0.0;
                }
                if penetrates {
                    solver.forget();
                    solver.solve(&out.problem, &mut out.solution)?;
                    if !out.solution.report.is_solved() {
                        solver.solve_otherwise(&out.problem, &mut out.solution)?;
                    }
                }
                penetrates
            }
            // That is for the scheme.
            Rung::ShorterStep => false,
        };
        if was_tried {
            iterations += out.solution.report.iterations;
        }
        if was_tried && out.solution.report.is_solved() {
            out.solution.report.iterations = iterations;
            out.report.rung = out.report.rung.max(Some(rung));
            return Ok(());
        }
    }
    (out.problem, out.solution) = (stated, first);
    Ok(())
}

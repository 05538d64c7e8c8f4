//! Shocks: where no acceleration obeys the laws, an impact happens although nothing approaches (the paradox of Painlevé).

use super::EventDriven;
use super::modes::{Part, norm};
use crate::scheme::{Step, StepKind, solve_problem};
use crate::{Contact, ContactCondition, JointCondition, MechanicalSystem, State, StepError};

/// A shock makes contacts part with this share of the closing speed: a trace, which is taken back.
const PARTING: f64 = 0.5;

impl EventDriven {
    /// The impact problem although nothing approaches. Contacts are asked to part by a trace of speed, since with none at all the motion before it would be an answer.
    pub(super) fn shock(
        &mut self,
        system: &dyn MechanicalSystem,
        state: &State,
        resting: &[Contact],
        out: &mut Step,
    ) -> Result<(), StepError> {
        self.collision.begin(system, state, &self.joints, out)?;
        out.kind = StepKind::Shock;
        for contact in resting {
            let own = ContactCondition::of(contact);
            let normal_bias = own.normal_bias - PARTING * self.settings.closing_speed;
            out.problem.contacts.push(ContactCondition { normal_bias, ..own });
            out.contacts.push(contact.clone());
        }
        solve_problem(&mut self.solver, state.t, out)?;
        self.take_parting_back(state.t, out)?;
        out.state.v.clone_from(&out.solution.motion);
        self.modes.retain_contacts(|_| false);
        self.triggers.clear();
        self.excluded.clear();
        self.touching.clear();
        Ok(())
    }

    /// Brings contacts that a shock has loaded from their trace of speed to rest, by less of the same impulses.
    fn take_parting_back(&mut self, t: f64, out: &mut Step) -> Result<(), StepError> {
        let Step { problem, solution, contacts, .. } = out;
        problem
            .contacts
            .iter_mut()
            .for_each(|condition| condition.normal_bias += PARTING * self.settings.closing_speed);
        // The rows that hold: normals that are loaded, and the tangents of those that stick.
        let still = self.settings.still_speed;
        let mut held = Vec::new();
        for (i, (condition, impulse)) in problem.contacts.iter().zip(&solution.contacts).enumerate() {
            if impulse.normal > 0.0 {
                held.push((i, None));
                let slip = condition.slip(&solution.motion);
                for (_, tangents) in Part::of_contact(&contacts[i]) {
                    if norm(&std::array::from_fn(|a| if tangents.contains(&a) { slip[a] } else { 0.0 })) <= still {
                        held.extend(tangents.map(|a| (i, Some(a))));
                    }
                }
            }
        }
        let own = &mut self.problem;
        own.inertia.clone_from(&problem.inertia);
        own.free_motion.clone_from(&solution.motion);
        own.contacts.clear();
        own.friction.clear();
        own.joints.clone_from(&problem.joints);
        own.joints.extend(held.iter().map(|&(i, tangent)| {
            let condition = &problem.contacts[i];
            let (row, bias) = match tangent {
                None => (&condition.normal, condition.normal_bias),
                Some(a) => (&condition.tangents[a], condition.tangent_bias[a]),
            };
            JointCondition { row: row.clone(), bias, rounding: 0.0 }
        }));
        self.solver.solve(own, &mut self.solution).map_err(|source| StepError::Malformed { t, source })?;
        if !self.solution.report.is_solved() {
            return Err(StepError::unsolved(t, &mut self.problem, &self.solution));
        }
        let (joints, others) = self.solution.joints.split_at(problem.joints.len());
        solution.joints.iter_mut().zip(joints).for_each(|(sum, change)| *sum += change);
        for (&(i, tangent), change) in held.iter().zip(others) {
            match tangent {
                None => solution.contacts[i].normal += change,
                Some(a) => solution.contacts[i].tangent[a] += change,
            }
        }
        solution.motion.clone_from(&self.solution.motion);
        Ok(())
    }
}

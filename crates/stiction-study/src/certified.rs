//! Runs with the audit on, and whether their certificates are met.
//!
//! Whoever shows a number of a run asks here first: a number of a run whose certificate is not met
//! is not a result.

use stiction_dynamics::{Audit, MechanicalSystem, Simulation, State, Step, StepAudit, StepError};
use stiction_scene::summary::Certificate;
use stiction_solve::{SolveReport, SolveStatus};

use crate::converge::Convergence;

/// Checks of the certificate that a scheme meets only where its step is small enough. All others
/// are laws, and hold at every step.
const ACCURACY: [&str; 4] = ["penetration_share", "passages", "push_distance", "contact_gain"];

/// Audits a run while it goes on.
#[derive(Default)]
pub(crate) struct Auditor {
    audit: Audit,
}

impl Auditor {
    /// Examines the last step.
    pub(crate) fn observe(&mut self, simulation: &Simulation) -> StepAudit {
        self.observe_step(simulation.system(), simulation.before(), simulation.last_step())
    }

    /// Examines a step from a state.
    pub(crate) fn observe_step(&mut self, system: &dyn MechanicalSystem, before: &State, step: &Step) -> StepAudit {
        self.audit.observe(system, before, step)
    }

    /// Sums and extremes so far.
    pub(crate) fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Whether the certificate of the steps so far is met.
    pub(crate) fn verdict(&self) -> Verdict {
        let certificate = Certificate::new(&self.audit);
        let unmet = certificate.checks.iter().filter(|check| !check.ok).map(|check| {
            let limit = check.limit.map_or_else(String::new, |limit| format!(", limit {limit:.1e}"));
            (check.name.clone(), format!("{} {:.1e}{limit}", check.name, check.worst))
        });
        Verdict { unmet: unmet.collect(), known: Vec::new() }
    }

    /// Runs to the end; `observer` sees the certificate of every step.
    pub(crate) fn run(
        mut self,
        simulation: &mut Simulation,
        mut observer: impl FnMut(&Simulation, &StepAudit),
    ) -> Result<(Verdict, Audit), Box<StepError>> {
        while !simulation.is_finished() {
            simulation.step()?;
            let certificate = self.observe(simulation);
            observer(simulation, &certificate);
        }
        Ok((self.verdict(), self.audit))
    }
}

/// Whether the certificate of a run is met, and what it does not meet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// Name of each check that is not met, and what was found.
    unmet: Vec<(String, String)>,
    /// Checks that the run is known not to meet, and why.
    known: Vec<String>,
}

impl Verdict {
    /// The verdict on a single problem: that of the judge who wrote its report.
    pub(crate) fn of_solve(report: &SolveReport) -> Self {
        let unmet = match report.status {
            SolveStatus::Solved => Vec::new(),
            status => vec![("residual".to_owned(), format!("{status:?}, residual {:.1e}", report.residual))],
        };
        Self { unmet, ..Default::default() }
    }

    /// The verdict on the runs of a scheme in a comparison.
    pub(crate) fn of_runs(convergence: &Convergence, scheme: &str) -> Self {
        let runs = convergence.runs.iter().filter(|run| run.scheme == scheme);
        let unmet = runs.filter(|run| !run.certificate.starts_with("met"));
        let unmet = unmet.map(|run| (String::new(), format!("h = {:.1e}: {}", run.step, run.certificate)));
        Self { unmet: unmet.collect(), ..Default::default() }
    }

    /// Leaves out a check that the run is known not to meet, for a reason: it is there to break it,
    /// as where a paper's failure is repeated, or its measure does not reach so far.
    pub(crate) fn but_for(mut self, check: &str, reason: &str) -> Self {
        self.unmet.retain(|(name, _)| name != check);
        self.know(&format!("{check}: {reason}"));
        self
    }

    /// This and the verdict on another run.
    pub(crate) fn and(mut self, other: &Verdict) -> Self {
        self.unmet.extend_from_slice(&other.unmet);
        other.known.iter().for_each(|known| self.know(known));
        self
    }

    /// Runs of one kind are known for the same reason, which is said once.
    fn know(&mut self, reason: &str) {
        if !self.known.iter().any(|known| known == reason) {
            self.known.push(reason.to_owned());
        }
    }

    /// Whether all laws are kept, whatever the step costs in accuracy.
    pub(crate) fn keeps_laws(&self) -> bool {
        self.unmet.iter().all(|(name, _)| ACCURACY.contains(&name.as_str()))
    }

    /// Whether it is met.
    pub(crate) fn is_met(&self) -> bool {
        self.unmet.is_empty()
    }

    /// `met`, or what is not.
    pub(crate) fn words(&self) -> String {
        match (self.is_met(), self.known.is_empty()) {
            (true, true) => "met".to_owned(),
            (true, false) => format!("met but for {}", self.known.join("; ")),
            (false, _) => {
                let mut found: Vec<&str> = self.unmet.iter().map(|(_, text)| text.as_str()).collect();
                found.dedup();
                format!("not met: {}", found.join("; "))
            }
        }
    }

    /// A verdict that something is not met.
    #[cfg(test)]
    pub(crate) fn unmet(text: &str) -> Self {
        Self { unmet: vec![(String::new(), text.to_owned())], ..Default::default() }
    }
}

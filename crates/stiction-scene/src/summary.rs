//! The summary of a run: what ran, how it ended, and its certificate.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stiction_dynamics::{Audit, Rung, State, StepAudit, solved_limit};

use crate::files::SceneFile;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It reached its end.
    Finished,
    /// The user stopped it.
    Interrupted,
    /// A step could not be solved.
    Unsolved,
    /// A file could not be written.
    NotWritten,
}

/// Where a run comes from, told by whoever starts it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Commit of the source; empty where it is not known.
    pub commit: String,
    /// What looks wrong in the scene, a sentence each.
    pub warnings: Vec<String>,
}

/// `summary.json` of a run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of Stiction that made the folder.
    pub stiction: String,
    /// Commit of the source, where it is known.
    #[serde(default)]
    pub commit: String,
    /// When the run began, as `2026-11-18T20:45:00Z`.
    #[serde(default)]
    pub date: String,
    /// Processor and operating system, as `x86_64-linux`.
    #[serde(default)]
    pub platform: String,
    /// Name of the scene.
    pub scene: String,
    /// SHA-256 of `scene.toml`, the scene with all defaults.
    #[serde(default)]
    pub scene_sha256: String,
    /// The files that the scene names, as they were when it was loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SceneFile>,
    /// What looked wrong in the scene before the run.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// How the run ended.
    pub outcome: Outcome,
    /// Why it ended there, unless it finished.
    pub message: Option<String>,
    /// Scheme and its settings.
    pub scheme: serde_json::Value,
    /// Contact method and its settings.
    pub method: serde_json::Value,
    /// Step size, in seconds.
    pub step: f64,
    /// Start, in seconds.
    pub start: f64,
    /// Time reached, in seconds.
    pub end: f64,
    /// Steps made.
    pub steps: u64,
    /// Wall time of the run with audit and recording, in seconds.
    pub wall_time_s: f64,
    /// What the solver did: pivots of Lemke's method, sweeps, steps of Newton's method.
    pub iterations: Iterations,
    /// The certificate.
    pub certificate: Certificate,
    /// Energy by cause over the whole run, in joules.
    pub energy: BTreeMap<String, f64>,
    /// Number of events: changes of mode of a contact.
    pub event_count: usize,
    /// The first events.
    pub events: Vec<EventSummary>,
    /// Recorded columns of the last state, by name.
    pub final_columns: BTreeMap<String, f64>,
    /// Configuration at the end.
    pub final_q: Vec<f64>,
    /// Velocity at the end.
    pub final_v: Vec<f64>,
    /// SHA-256 of time, configuration and velocity of the start and of every step, bit by bit.
    pub digest: String,
}

/// Iterations of the solver over a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iterations {
    /// In all steps.
    pub total: usize,
    /// Mean of all steps, those of no length among them.
    pub mean: f64,
    /// Most in one step.
    pub most: usize,
}

impl From<&Audit> for Iterations {
    fn from(audit: &Audit) -> Self {
        let mean = audit.iteration_count as f64 / audit.step_count.max(1) as f64;
        Self { total: audit.iteration_count, mean, most: audit.most_iterations }
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventSummary {
    /// Start of the step, in seconds.
    pub t: f64,
    /// Which contact.
    pub contact: String,
    /// Mode before.
    pub from: String,
    /// Mode after.
    pub to: String,
}

/// Whether every step solved the true problem, in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Whether every number with a limit is within it.
    pub met: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// Steps of a fixed-point scheme that did not converge and were accepted.
    pub unconverged_steps: usize,
    /// Steps in which a contact was held by more than its kinetic friction, so that sliding was
    /// possible, too.
    #[serde(default)]
    pub held_steps: usize,
    /// Steps in which a contact slides with its static coefficient of friction and sticks with its
    /// kinetic one.
    #[serde(default)]
    pub undecided_steps: usize,
    /// Steps that were solved on a second try only, by what it took.
    pub second_tries: BTreeMap<String, usize>,
    /// What else there is to know: a solver that was asked for less, the first bodies that passed
    /// through each other.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One number of the certificate over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Name of the column in `audit.parquet`.
    pub name: String,
    /// What it means, in a few words.
    pub meaning: String,
    /// Worst of all steps.
    pub worst: f64,
    /// Mean of all steps.
    pub mean: f64,
    /// Largest value accepted; none where the number is only reported.
    pub limit: Option<f64>,
    /// Whether the worst is within the limit.
    pub ok: bool,
}

// The limits are those of the certificate alone. Settings of a scene may loosen a solver; they do
// not loosen the word "solved".

/// Limit of momentum and of the laws, relative. Rounding gives about 1e-14; a wrong answer gives
/// more than 1e-6. The laws of a step with very many contacts are met as well as its residual,
/// whose limit is that of the [judge](stiction_dynamics::judge).
const LAW_LIMIT: f64 = 1e-9;

/// Limit of the relative balance of kinetic energy and work, which holds to rounding.
const BALANCE_LIMIT: f64 = 1e-10;

/// Limit of a penetration, relative to the smaller body: what a picture does not show. A scheme
/// that takes positions as they come, as Moreau's, needs steps in which nothing moves by more than
/// this.
const PENETRATION_LIMIT: f64 = 1e-3;

/// Limit of the distance from which a contact may push, relative to the smaller body. Bodies that
/// roll leave the linearised gap by the square of their way in a step.
const PUSH_LIMIT: f64 = 1e-2;

/// Limit of the energy that contact impulses add over the run, relative to its largest kinetic
/// energy. To take back a penetration within its limit adds less.
const GAIN_LIMIT: f64 = 1e-3;

impl Certificate {
    /// The certificate of an audited run.
    pub fn new(audit: &Audit) -> Self {
        let solved = solved_limit(audit.most_contacts);
        let law = LAW_LIMIT.max(solved);
        let checks: Vec<Check> = [
            ("residual", "residual of the complementarity problem, scaled", Some(solved)),
            ("momentum", "imbalance of momentum, relative", Some(LAW_LIMIT)),
            ("complementarity", "pushing without touching, or pulling; relative", Some(law)),
            ("cone_violation", "friction beyond its bound, relative", Some(law)),
            ("dissipation_defect", "friction that does not oppose sliding fully, relative", Some(law)),
            ("kinetic_balance", "kinetic energy against the work of all impulses, relative", Some(BALANCE_LIMIT)),
            ("penetration_share", "penetration at the end of a step, of the smaller body", Some(PENETRATION_LIMIT)),
            ("passages", "steps in which bodies passed through each other", Some(0.0)),
            ("push_distance", "distance from which a contact pushed, of the smaller body", Some(PUSH_LIMIT)),
            ("contact_gain", "energy that contacts added in all, of the largest energy", Some(GAIN_LIMIT)),
            ("penetration", "deepest penetration at the end of a step, m", None),
            ("roundness_defect", "friction polygon against the round cone, relative", None),
            ("joint_drift", "largest violation of a joint, m or rad", None),
            ("energy_unexplained", "energy change without a cause, J", None),
        ]
        .into_iter()
        .map(|(name, meaning, limit)| {
            let column = StepAudit::names().iter().position(|other| *other == name).expect("a column of the audit");
            let steps = audit.step_count.max(1) as f64;
            let (mut worst, mut mean) = (audit.worst.values()[column], audit.sum.values()[column] / steps);
            match name {
                "contact_gain" if audit.sum.contact_gain > 0.0 => {
                    worst = audit.sum.contact_gain / audit.largest_energy;
                    mean = worst / steps;
                }
                "passages" => worst = audit.sum.passages,
                _ => {}
            }
            // A number that is not one is within no limit. The worst does not see it, as after an
            // overflow of energies, but the sum does.
            let ok = mean.is_finite() && limit.is_none_or(|limit| worst.abs() <= limit);
            Check { name: name.into(), meaning: meaning.into(), worst, mean, limit, ok }
        })
        .collect();
        let tries = Rung::ALL.iter().zip(audit.rung_counts).filter(|(_, count)| *count > 0);
        let second_tries = tries.map(|(rung, count)| (rung.meaning().to_owned(), count)).collect();
        let held = "a contact was held by more than its kinetic friction: it could have slid as well, and rested because it had \
                    rested before";
        let undecided = "a contact slides with its static coefficient of friction and sticks with the kinetic one: which of \
                         both is right is not decided";
        let notes = [(audit.held_count, held), (audit.undecided_count, undecided)]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("in {count} step{} {what}", if count == 1 { "" } else { "s" }))
            .collect();
        Self {
            met: checks.iter().all(|check| check.ok),
            checks,
            unconverged_steps: audit.unconverged_count,
            held_steps: audit.held_count,
            undecided_steps: audit.undecided_count,
            second_tries,
            notes,
        }
    }

    /// Notes that the solver was asked for less than the certificate wants.
    pub(crate) fn note_tolerance(&mut self, asked: f64) {
        let wanted =
            self.checks.iter().find(|check| check.name == "residual").and_then(|check| check.limit).unwrap_or(0.0);
        if asked.is_nan() || asked > wanted {
            self.notes.push(format!(
                "the solver was asked for a residual of {asked:.0e} only; the certificate wants {wanted:.0e}"
            ));
        }
    }
}

/// Energy by cause over a whole run; the states of energy (kinetic, potential) are left out.
pub(crate) fn energy_by_cause(audit: &Audit) -> BTreeMap<String, f64> {
    let is_by_cause = |name: &str| ["total_change", "work_", "energy_"].iter().any(|prefix| name.starts_with(prefix));
    let sums = StepAudit::names().into_iter().zip(audit.sum.values());
    sums.filter(|(name, _)| is_by_cause(name)).map(|(name, value)| (name.to_string(), value)).collect()
}

/// Takes one state into the digest of a run.
pub(crate) fn digest_state(hash: &mut Sha256, state: &State) {
    for value in [state.t].iter().chain(&state.q).chain(&state.v) {
        hash.update(value.to_le_bytes());
    }
}

/// A digest as hexadecimal digits.
pub(crate) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Date and time of day in universal time, to the second.
pub(crate) fn date_of(time: SystemTime) -> String {
    chrono::DateTime::<chrono::Utc>::from(time).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

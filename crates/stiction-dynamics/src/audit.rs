//! The certificate of a step, computed outside the solver from the original data.
//!
//! Every step is asked: do the bodies penetrate, does an impulse leave its friction cone, does a
//! contact push without touching, does friction dissipate as much as its law allows, is momentum
//! balanced, do joints drift, and where did the energy go?
//!
//! Energy by cause: each impulse $p$ of a step (contact, friction, joint, applied force) does the
//! work $\tfrac12 (v + v^+) \cdot p$, and these works add up to
//! $\tfrac12 (v + v^+) \cdot \hat M (v^+ - v)$, which is the change of kinetic energy where the
//! inertia $\hat M$ of the step is that of its ends. Where the inertia changes, the rest counts
//! with the velocity terms, which do no work together with it. What the scheme itself adds to the
//! total energy comes from the scheme's defect formula, and what remains is reported by itself as
//! unexplained. A step that carries [samples](crate::Sample) is integrated over them instead.

mod accounts;
mod geometry;
mod samples;

use serde::Serialize;

use accounts::Accounts;
use geometry::Geometry;

use crate::scheme::origin::Origin;
use crate::static_friction::sticks_in;
use crate::vector::{dot, largest, refill, zero};
use crate::{ContactId, ForceCause, FrictionShape, Inertia, Joint, MechanicalSystem, State, Step, StepKind};

/// Impulses below this share of the momentum are not told from its rounding, and are measured
/// against this share.
const ROUNDING_SHARE: f64 = 1e-4;

/// Friction beyond the kinetic bound by this share of the largest impulse is held by the static one
/// alone. Below, it is rounding at the bound.
const HELD: f64 = 1e-9;

/// The certificate of one step. "Relative" means relative to the largest impulse or the largest
/// kinetic energy of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StepAudit {
    /// Deepest penetration of any contact at the end of the step, in metres.
    pub penetration: f64,
    /// How far a friction impulse exceeds its bound, relative.
    pub cone_violation: f64,
    /// Largest power of a normal impulse: pushing without touching, or pulling; relative.
    pub complementarity: f64,
    /// How much less friction dissipates than the friction set of the method allows, relative.
    pub dissipation_defect: f64,
    /// How much less friction dissipates than the law itself allows, as the round cone of Coulomb's
    /// law, relative: the price of a polygon.
    pub roundness_defect: f64,
    /// Imbalance of momentum, relative.
    pub momentum: f64,
    /// Largest value of a joint condition at the end of the step, in metres or radians.
    pub joint_drift: f64,
    /// Change of kinetic energy minus the work of all impulses, relative; rounding only.
    pub kinetic_balance: f64,
    /// Residual of the worst solve of the step, as the solvers' judge gave it.
    pub residual: f64,
    /// Deepest penetration at the end of the step, relative to the smaller body of its pair.
    pub penetration_share: f64,
    /// One when two bodies passed through each other between the two states.
    pub passages: f64,
    /// Largest gap that stayed open, at both ends of the step and where contacts were stated,
    /// between two bodies that pushed each other; relative to the smaller one.
    pub push_distance: f64,
    /// Energy that contact and friction impulses added against their laws, in joules.
    pub contact_gain: f64,
    /// Energy by cause.
    pub energy: EnergyByCause,
}

/// Where the energy of a step came from and went to, in joules; positive increases the energy of
/// the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EnergyByCause {
    /// Kinetic energy at the end.
    pub kinetic: f64,
    /// Potential energy at the end; zero where the system has none.
    pub potential: f64,
    /// Change of kinetic energy.
    pub kinetic_change: f64,
    /// Change of kinetic plus potential energy.
    pub total_change: f64,
    /// Work of normal impulses: the loss of impacts.
    pub normal: f64,
    /// Work of friction impulses on the sliding: never positive for a solved step that slides on.
    pub friction: f64,
    /// Work of driven bodies (belts, tracks) through contacts and friction.
    pub drive: f64,
    /// Work of joint impulses.
    pub joints: f64,
    /// Work of forces with a potential.
    pub potential_forces: f64,
    /// Work of the gyroscopic and other velocity terms, with what changes of the inertia add to the
    /// kinetic energy; zero in the continuous model.
    pub gyroscopic: f64,
    /// Work of all other forces.
    pub applied: f64,
    /// What the scheme adds, by its defect formula and by the inertia that changes within the step.
    pub numerical: f64,
    /// Change of the total energy that none of the causes explains.
    pub unexplained: f64,
}

/// Computes certificates and keeps the worst and the sum of each.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// The worst of every number so far.
    pub worst: StepAudit,
    /// The sum of every number so far; energies are totals by cause.
    pub sum: StepAudit,
    /// Number of audited steps.
    pub step_count: usize,
    /// Most contacts in the problem of one step.
    pub most_contacts: usize,
    /// Steps whose fixed point was not reached.
    pub unconverged_count: usize,
    /// Steps that needed a rung of the [ladder](crate::scheme::ladder), in the order of
    /// [`Rung::ALL`](crate::Rung::ALL).
    pub rung_counts: [usize; 4],
    /// Steps in which a contact was held by more than its kinetic friction: it could have begun to
    /// slide as well, and did not because it rested.
    pub held_count: usize,
    /// Steps in which a contact slides with its static coefficient of friction and sticks with its
    /// kinetic one; see [`static_friction`](crate::static_friction).
    pub undecided_count: usize,
    /// Iterations of the solver in all steps: pivots, sweeps, steps of Newton's method.
    pub iteration_count: usize,
    /// Most iterations in one step.
    pub most_iterations: usize,
    /// Largest kinetic energy so far, that of free motions among it, in joules.
    pub largest_energy: f64,
    /// When two bodies first passed through each other, in seconds, and a contact of theirs.
    pub first_passage: Option<(f64, ContactId)>,
    /// Energy that the last impact took, which its decompression may give back, in joules.
    impact_loss: f64,
    geometry: Geometry,
    inertia: Inertia,
    joints: Vec<Joint>,
    force: Vec<f64>,
    mean: Vec<f64>,
    change: Vec<f64>,
    balance: Vec<f64>,
}

impl Audit {
    /// Examines the step that led from `before` to `step.state`.
    pub fn observe(&mut self, system: &dyn MechanicalSystem, before: &State, step: &Step) -> StepAudit {
        let (origin, mut audit) = (Origin::new(system, before), StepAudit::default());
        refill(&mut self.mean, before.v.iter().zip(&step.state.v).map(|(a, b)| 0.5 * (a + b)));
        let kinetic_before = self.take_energies(origin, step, &mut audit.energy);
        if step.samples.is_empty() {
            let mut scales = self.take_momentum(origin, step, kinetic_before, &mut audit.energy);
            self.take_impulses(step, &mut scales, &mut audit);
            self.judge_laws(step, scales, &mut audit);
        } else {
            self.judge_samples(origin, step, kinetic_before, &mut audit);
            let work = audit.energy.normal + audit.energy.friction;
            self.judge_gain(step, work, &mut audit);
        }
        self.conclude(origin, step, audit)
    }

    /// Energies before and after, each with its own inertia. Returns the kinetic energy before.
    fn take_energies(&mut self, origin: Origin<'_>, step: &Step, energy: &mut EnergyByCause) -> f64 {
        let Origin { system, state: before, .. } = origin;
        let mut kinetic =
            |state: &State| origin.at(state.t, &state.q).kinetic_energy(&state.v, &mut self.inertia, &mut self.balance);
        let kinetic_before = kinetic(before);
        energy.kinetic = kinetic(&step.state);
        let potential_before = system.potential_energy(before.t, &before.q).unwrap_or(0.0);
        energy.potential = system.potential_energy(step.state.t, &step.state.q).unwrap_or(0.0);
        energy.kinetic_change = energy.kinetic - kinetic_before;
        energy.total_change = energy.kinetic_change + energy.potential - potential_before;
        energy.numerical = step.report.energy_defect;
        kinetic_before
    }

    /// The change of momentum less the impulse of the forces, $M (v^+ - v) - h k$, into the
    /// balance, and the works of the forces. Returns what impulses and energies are measured
    /// against.
    fn take_momentum(
        &mut self,
        origin: Origin<'_>,
        step: &Step,
        kinetic_before: f64,
        energy: &mut EnergyByCause,
    ) -> Scales {
        let Origin { system, state: before, .. } = origin;
        let (n, h) = (system.velocity_count(), step.h);
        let (v, v_new) = (&before.v, &step.state.v);
        refill(&mut self.change, v_new.iter().zip(v).map(|(a, b)| a - b));
        zero(&mut self.balance, n);
        zero(&mut self.force, n);
        origin.at(step.linearized_time, &step.linearized_at).mass(&mut self.inertia);
        self.inertia.apply(v_new, &mut self.balance);
        let mut impulse_scale = ROUNDING_SHARE * largest(&self.balance);
        match step.averages_mass {
            false => self.inertia.apply(&self.change, &mut self.balance),
            true => {
                self.balance.fill(0.0);
                for (t, q) in [(before.t, &before.q), (step.state.t, &step.state.q)] {
                    origin.at(t, q).mass(&mut self.inertia);
                    self.inertia.apply(&self.change, &mut self.force);
                    self.balance.iter_mut().zip(&self.force).for_each(|(sum, part)| *sum += 0.5 * part);
                }
            }
        }
        impulse_scale = impulse_scale.max(largest(&self.balance));
        // Kinetic energy that comes from the change of the inertia, not from impulses.
        let inertia_change = energy.kinetic_change - dot(&self.balance, &self.mean);
        for i in 0..n {
            self.balance[i] -= h * step.force[i];
            impulse_scale = impulse_scale.max((h * step.force[i]).abs());
        }
        let works = [&mut energy.potential_forces, &mut energy.gyroscopic, &mut energy.applied];
        for (cause, work) in ForceCause::ALL.into_iter().zip(works) {
            step.write_force_part(system, cause, &mut self.force);
            *work = h * dot(&self.force, &self.mean);
        }
        energy.gyroscopic += inertia_change;
        energy.numerical += inertia_change;

        // Energies are measured against the largest kinetic energy of the step; that of the free
        // motion counts, because a system at rest has no other.
        self.inertia.apply(&step.problem.free_motion, &mut self.force);
        let kinetic_free = 0.5 * dot(&self.force, &step.problem.free_motion);
        let energy_scale = kinetic_before.max(energy.kinetic).max(kinetic_free);
        self.largest_energy = self.largest_energy.max(energy_scale);
        Scales { impulse: impulse_scale, energy: energy_scale }
    }

    /// Momentum: $M (v^+ - v) = h k + \sum$ rows · impulses; and the work of every impulse.
    fn take_impulses(&mut self, step: &Step, scales: &mut Scales, audit: &mut StepAudit) {
        let mut accounts = Accounts {
            balance: &mut self.balance,
            energy: &mut audit.energy,
            velocity: &self.mean,
            weight: 1.0,
            duration: 1.0,
            largest_impulse: scales.impulse,
        };
        for (joint, &impulse) in step.joints.iter().zip(&step.solution.joints) {
            accounts.joint(joint, impulse);
        }
        for (i, (contact, impulse)) in step.contacts.iter().zip(&step.solution.contacts).enumerate() {
            accounts.contact(contact, impulse.normal + step.restitution.get(i).unwrap_or(&0.0), &impulse.tangent);
        }
        for (element, impulse) in step.friction.iter().zip(&step.solution.friction) {
            accounts.element(element, impulse);
        }
        scales.impulse = accounts.largest_impulse;

        let energy = &mut audit.energy;
        let external = energy.normal + energy.friction + energy.drive + energy.joints + energy.applied;
        let explained = external + energy.potential_forces + energy.gyroscopic;
        energy.unexplained = energy.total_change - external - energy.numerical;
        audit.momentum = relative(largest(&self.balance), scales.impulse);
        audit.kinetic_balance = relative((energy.kinetic_change - explained).abs(), scales.energy);
        let work = energy.normal + energy.friction;
        let work = if step.restitution.is_empty() { work.min(work_on_problem(step, &mut self.mean)) } else { work };
        self.judge_gain(step, work, audit);
    }

    /// The laws, contact by contact, for the motion that they were stated for.
    fn judge_laws(&mut self, step: &Step, scales: Scales, audit: &mut StepAudit) {
        let motion = &step.solution.motion;
        let conditions = step.problem.contacts.iter().zip(&step.contacts);
        let mut is_held = false;
        for ((condition, contact), impulse) in conditions.zip(&step.solution.contacts) {
            let bound = condition.mu * impulse.normal + condition.extra_bound;
            // What rounding makes of a gap is no distance.
            let rate = condition.normal_rate(motion);
            let power = impulse.normal * (rate.abs() - condition.rounding).max(0.0);
            let pulling = (-impulse.normal).max(0.0);
            audit.complementarity = audit.complementarity.max(relative(power.abs(), scales.energy));
            audit.complementarity = audit.complementarity.max(relative(pulling, scales.impulse));
            let slip = condition.slip(motion);
            let bounds = |mu: f64| mu * impulse.normal + condition.extra_bound;
            let rubbing = Rubbing {
                axes: condition.friction_axes,
                sets: [&condition.friction_shape, &contact.friction.shape()],
                bound,
                two: contact.static_mu.map(|mu| [mu, contact.friction.mu()].map(bounds)),
                impulse: impulse.tangent,
                slip,
                sticks: sticks_in(step, &condition.tangents, slip),
            };
            is_held |= audit.judge_friction(&rubbing, scales);
        }
        let elements = step.problem.friction.iter().zip(&step.friction);
        for ((condition, element), impulse) in elements.zip(&step.solution.friction) {
            let slip = condition.slip(motion);
            let rubbing = Rubbing {
                axes: [1.0; 3],
                sets: [&condition.friction_shape, &element.shape],
                bound: condition.bound,
                two: element.static_bound.map(|bound| [bound, element.bound].map(|bound| step.h * bound)),
                impulse: *impulse,
                slip,
                sticks: sticks_in(step, &condition.tangents, slip),
            };
            is_held |= audit.judge_friction(&rubbing, scales);
        }
        self.held_count += usize::from(is_held);
    }

    /// Keeps the work that contact and friction impulses add. Their laws allow none: an impact
    /// takes at least what its decompression gives back.
    fn judge_gain(&mut self, step: &Step, work: f64, audit: &mut StepAudit) {
        let loss = std::mem::replace(&mut self.impact_loss, 0.0);
        audit.contact_gain = match step.kind {
            StepKind::Decompression => (work - loss).max(0.0),
            _ => work.max(0.0),
        };
        if step.kind == StepKind::Impact {
            self.impact_loss = (-work).max(0.0);
        }
    }

    /// Adds the geometry of the step, asked of the system anew, and keeps the worst and the sum.
    fn conclude(&mut self, origin: Origin<'_>, step: &Step, mut audit: StepAudit) -> StepAudit {
        let passed = self.geometry.judge(origin, step, &mut audit);
        self.first_passage = self.first_passage.or(passed.map(|contact| (origin.state.t, contact)));
        origin.at(step.state.t, &step.state.q).joints(&mut self.joints);
        audit.joint_drift = self.joints.iter().fold(0.0, |largest, joint| largest.max(joint.value.abs()));
        audit.residual = step.report.solves.iter().fold(audit.residual, |worst, solve| worst.max(solve.residual));

        self.worst.combine(audit, |a, b| if b.abs() > a.abs() { b } else { a });
        self.sum.combine(audit, |a, b| a + b);
        self.step_count += 1;
        self.most_contacts = self.most_contacts.max(step.problem.contacts.len());
        self.unconverged_count += usize::from(!step.report.converged);
        self.undecided_count += usize::from(step.report.undecided_friction > 0);
        if let Some(rung) = step.report.rung {
            self.rung_counts[rung as usize] += 1;
        }
        let iterations = step.report.solves.iter().map(|solve| solve.iterations).sum();
        self.iteration_count += iterations;
        self.most_iterations = self.most_iterations.max(iterations);
        audit
    }
}

/// The largest impulse and the largest kinetic energy of a step, against which others are measured.
#[derive(Clone, Copy)]
struct Scales {
    impulse: f64,
    energy: f64,
}

/// Friction that is to be judged, as impulses.
struct Rubbing<'a> {
    axes: [f64; 3],
    /// The set that the problem states, and that of the law.
    sets: [&'a FrictionShape; 2],
    bound: f64,
    /// The static and the kinetic bound, where there are two.
    two: Option<[f64; 2]>,
    impulse: [f64; 3],
    slip: [f64; 3],
    sticks: bool,
}

impl StepAudit {
    /// Every number with its name, in the order of the audit table.
    fn fields(&mut self) -> [(&'static str, &mut f64); 26] {
        let energy = &mut self.energy;
        [
            ("penetration", &mut self.penetration),
            ("cone_violation", &mut self.cone_violation),
            ("complementarity", &mut self.complementarity),
            ("dissipation_defect", &mut self.dissipation_defect),
            ("roundness_defect", &mut self.roundness_defect),
            ("momentum", &mut self.momentum),
            ("joint_drift", &mut self.joint_drift),
            ("kinetic_balance", &mut self.kinetic_balance),
            ("residual", &mut self.residual),
            ("penetration_share", &mut self.penetration_share),
            ("passages", &mut self.passages),
            ("push_distance", &mut self.push_distance),
            ("contact_gain", &mut self.contact_gain),
            ("kinetic", &mut energy.kinetic),
            ("potential", &mut energy.potential),
            ("kinetic_change", &mut energy.kinetic_change),
            ("total_change", &mut energy.total_change),
            ("work_normal", &mut energy.normal),
            ("work_friction", &mut energy.friction),
            ("work_drive", &mut energy.drive),
            ("work_joints", &mut energy.joints),
            ("work_potential", &mut energy.potential_forces),
            ("work_gyroscopic", &mut energy.gyroscopic),
            ("work_applied", &mut energy.applied),
            ("energy_numerical", &mut energy.numerical),
            ("energy_unexplained", &mut energy.unexplained),
        ]
    }

    /// Names of the numbers in the order of [`values`](Self::values): the columns of the audit
    /// table.
    pub fn names() -> [&'static str; 26] {
        Self::default().fields().map(|(name, _)| name)
    }

    /// All numbers, in the order of [`names`](Self::names).
    pub fn values(&self) -> [f64; 26] {
        let mut copy = *self;
        copy.fields().map(|(_, value)| *value)
    }

    /// Judges friction by the set that the problem states and by that of the law, and which of two
    /// bounds was used: the static one is for what sticks. Whether it is held by more than kinetic
    /// friction.
    fn judge_friction(&mut self, rubbing: &Rubbing<'_>, scales: Scales) -> bool {
        let Rubbing { axes, sets: [set, law], bound, impulse, slip, .. } = *rubbing;
        let y = std::array::from_fn(|k| impulse[k] / axes[k]);
        let s = std::array::from_fn(|k| axes[k] * slip[k]);
        let excess = set.excess(&y, bound);
        self.cone_violation = self.cone_violation.max(relative(excess.max(0.0), scales.impulse));
        // Power that the friction set allows against this sliding, minus the power that friction
        // has.
        let dissipated = -(impulse[0] * slip[0] + impulse[1] * slip[1] + impulse[2] * slip[2]);
        let allowed = bound * set.support(&s);
        let defect = (allowed - dissipated).abs();
        self.dissipation_defect = self.dissipation_defect.max(relative(defect, scales.energy));
        let round = (bound * law.support(&s) - dissipated).max(0.0);
        self.roundness_defect = self.roundness_defect.max(relative(round, scales.energy));

        let Some([static_bound, kinetic]) = rubbing.two else { return false };
        let most = if rubbing.sticks { static_bound } else { kinetic };
        let beyond = (bound - most).max(0.0);
        self.cone_violation = self.cone_violation.max(relative(beyond, scales.impulse));
        rubbing.sticks && set.excess(&y, kinetic) > HELD * scales.impulse
    }

    fn combine(&mut self, mut other: Self, rule: impl Fn(f64, f64) -> f64) {
        for ((_, mine), (_, theirs)) in self.fields().into_iter().zip(other.fields()) {
            *mine = rule(*mine, *theirs);
        }
    }
}

/// The work of contact and friction impulses over the mean of the motions without and with them, as
/// the problem states them. A step in which sliding turns around by other forces has friction that
/// adds energy over the mean of its two velocities, and takes energy over this one.
fn work_on_problem(step: &Step, mean: &mut Vec<f64>) -> f64 {
    let (free, motion) = (&step.problem.free_motion, &step.solution.motion);
    refill(mean, free.iter().zip(motion).map(|(a, b)| 0.5 * (a + b)));
    let mut work = 0.0;
    for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
        work += impulse.normal * contact.rate(mean);
        let slip = contact.slip(mean);
        work += (0..3).map(|a| impulse.tangent[a] * slip[a]).sum::<f64>();
    }
    for (element, impulse) in step.friction.iter().zip(&step.solution.friction) {
        if element.displacement.is_some() {
            continue;
        }
        let slip = element.slip(mean);
        work += (0..3).map(|a| impulse[a] * slip[a]).sum::<f64>();
    }
    work
}

fn relative(value: f64, scale: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value / scale }
}

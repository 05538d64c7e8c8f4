//! Steps that are wrong on purpose: the audit must name what is wrong, and say how much.

use stiction_dynamics::{
    Audit, Contact, ContactId, ContactMethod, ContactSolver, Directions, EventDriven, EventDrivenSettings,
    ExactConeSettings, ForceCause, FrictionElement, FrictionLaw, FrictionShape, Inertia, Joint, MechanicalSystem,
    PyramidSettings, Row, Scheme, State, Step, StepAudit, StewartTrinkle, StewartTrinkleSettings,
};

const G: f64 = 9.81;
const MASS: f64 = 2.0;
const MU: f64 = 0.5;
const BELT: f64 = 0.5;
const BRAKE: f64 = 4.0;
const PUSH: f64 = 6.0;
const H: f64 = 0.1;

/// A block of 2 kg on a belt that runs backwards at 0.5 m/s, with the coordinates x, y (upwards), z
/// and w. Along z a brake of 4 N holds it, which knows no load; w is held by a joint against a push
/// of 6 N. In space its contact has two tangents, along x and z, and there is no brake.
struct Block {
    is_in_space: bool,
}

fn along(k: usize) -> Row {
    let mut row = Row::new();
    row.push(k, 1.0);
    row
}

impl MechanicalSystem for Block {
    fn velocity_count(&self) -> usize {
        4
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        (0..4).for_each(|_| out.push_scalar(MASS));
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[0.0, -MASS * G, 0.0, PUSH]);
    }
    fn force_by_cause(&self, cause: ForceCause, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        match cause {
            ForceCause::Potential => k[1] = -MASS * G,
            ForceCause::Gyroscopic => {}
            ForceCause::Applied => k[3] = PUSH,
        }
    }
    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        Some(MASS * G * q[1])
    }
    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        if q[1] <= horizon {
            let tangents = if self.is_in_space { vec![along(0), along(2)] } else { vec![along(0)] };
            out.push(Contact {
                id: ContactId::number(0),
                gap: q[1],
                normal: along(1),
                tangents: tangents.into(),
                tangent_drift: [BELT, 0.0, 0.0],
                friction: FrictionLaw::Coulomb { mu: MU },
                ..Default::default()
            });
        }
    }
    fn friction_elements(&self, _t: f64, _q: &[f64], out: &mut Vec<FrictionElement>) {
        if !self.is_in_space {
            out.push(FrictionElement {
                tangents: [along(2)].into_iter().collect(),
                bound: BRAKE,
                ..Default::default()
            });
        }
    }
    fn joints(&self, _t: f64, q: &[f64], out: &mut Vec<Joint>) {
        out.push(Joint { value: q[3], row: along(3), drift: 0.0 });
    }
}

const BLOCK: Block = Block { is_in_space: false };

// The honest step in closed form: what the impulses are, and the velocity of sliding at its end.
const WEIGHT: f64 = MASS * G * H;
const FRICTION: f64 = MU * WEIGHT;
const SLIP: f64 = 3.0 - FRICTION / MASS + BELT;
const BRAKED: f64 = 1.0 - BRAKE * H / MASS;

fn start() -> State {
    State::new(0.0, vec![0.0; 4], vec![3.0, 0.0, 1.0, 0.0])
}

fn step(mut scheme: impl Scheme) -> (Step, ContactSolver) {
    let mut step = Step::default();
    scheme.step(&BLOCK, &start(), H, &mut step).unwrap();
    (step, cone())
}

fn cone() -> ContactSolver {
    ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap()
}

fn stepped() -> Step {
    step(StewartTrinkle::new(StewartTrinkleSettings::default(), cone())).0
}

fn smooth() -> Step {
    step(EventDriven::new(EventDrivenSettings::default(), cone())).0
}

fn judge(step: &Step) -> StepAudit {
    Audit::default().observe(&BLOCK, &start(), step)
}

/// The audit of a step that was changed.
fn changed(mut step: Step, change: impl FnOnce(&mut Step)) -> StepAudit {
    change(&mut step);
    judge(&step)
}

#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-11, "{what}: {found} and not {expected}");
}

/// Nothing to complain of.
#[track_caller]
fn assert_clean(audit: &StepAudit) {
    let laws = &audit.values()[..9];
    assert!(
        laws.iter().all(|value| value.abs() < 1e-11),
        "{:?}",
        StepAudit::names().iter().zip(laws).collect::<Vec<_>>()
    );
    assert!(audit.energy.unexplained.abs() < 1e-11, "{audit:?}");
}

#[test]
fn an_honest_step_has_nothing_to_hide_and_its_energy_by_cause() {
    for step in [stepped(), smooth()] {
        let audit = judge(&step);
        assert_clean(&audit);
        let energy = &audit.energy;
        // Over the mean of the velocities, which is exact for constant forces.
        let (slip, braked) = (3.0 - 0.5 * FRICTION / MASS + BELT, 0.5 * (1.0 + BRAKED));
        assert_close(energy.friction, -FRICTION * slip - BRAKE * H * braked, "work of friction");
        assert_close(energy.drive, FRICTION * BELT, "work of the belt");
        assert_close(energy.normal, 0.0, "work of normal impulses");
        assert_close(energy.joints, 0.0, "work of the joint");
        let kinetic = 0.5 * MASS * ((SLIP - BELT).powi(2) + BRAKED * BRAKED);
        assert_close(energy.kinetic, kinetic, "kinetic energy");
        assert_close(energy.kinetic_change, kinetic - 0.5 * MASS * 10.0, "its change");
    }
}

/// What holds whether the step has samples or not: the end of the step is looked at for itself.
#[test]
fn a_wrong_end_is_named() {
    for step in [stepped, smooth] {
        let audit = changed(step(), |step| step.state.q[1] = -0.01);
        assert_close(audit.penetration, 0.01, "penetration");
        assert_close(audit.energy.unexplained, -MASS * G * 0.01, "unexplained energy");
        assert_close(changed(step(), |step| step.state.q[1] = 0.01).penetration, 0.0, "a gap is none");
        assert_close(changed(step(), |step| step.state.q[3] = -0.02).joint_drift, 0.02, "joint drift");
        // Faster by 0.1 m/s than the impulses say.
        let audit = changed(step(), |step| step.state.v[0] += 0.1);
        assert_close(audit.momentum, MASS * 0.1 / WEIGHT, "momentum");
        assert!(audit.kinetic_balance > 0.01 && audit.energy.unexplained > 0.1, "{audit:?}");
        let worst = changed(step(), |step| {
            step.report.solves.resize(1, step.solution.report.clone());
            step.report.solves[0].residual = 0.25;
        });
        assert_close(worst.residual, 0.25, "residual of a solve");
    }
}

#[test]
fn wrong_impulses_are_named() {
    // The largest kinetic energy is that of the free motion, and all masses are 2 kg.
    let free = 9.0 + (G * H).powi(2) + 1.0 + (PUSH * H / MASS).powi(2);

    // Friction beyond its bound, by a tenth: it also takes more than the law allows.
    let audit = changed(stepped(), |step| step.solution.contacts[0].tangent[0] *= 1.1);
    assert_close(audit.cone_violation, 0.1 * FRICTION / WEIGHT, "cone violation");
    assert_close(audit.dissipation_defect, 0.1 * FRICTION * SLIP / free, "dissipation beyond the law");
    assert_close(audit.roundness_defect, 0.0, "nor is that a fault of a polygon");
    assert_close(audit.momentum, 0.1 * FRICTION / WEIGHT, "momentum");
    let audit = changed(stepped(), |step| step.solution.friction[0][0] *= 1.25);
    assert_close(audit.cone_violation, 0.25 * BRAKE * H / WEIGHT, "cone violation of the brake");

    // Friction that pushes, and none at all.
    for (factor, missing) in [(-1.0, 2.0), (0.0, 1.0)] {
        let audit = changed(stepped(), |step| step.solution.contacts[0].tangent[0] *= factor);
        assert_close(audit.dissipation_defect, missing * FRICTION * SLIP / free, "dissipation defect");
        assert_close(audit.roundness_defect, missing * FRICTION * SLIP / free, "roundness defect");
        assert_close(audit.cone_violation, 0.0, "it is within its bound");
        let audit = changed(stepped(), |step| step.solution.friction[0][0] *= factor);
        assert_close(audit.dissipation_defect, missing * BRAKE * H * BRAKED / free, "defect of the brake");
    }

    // A contact that pushes while it opens, and one that pulls.
    let audit = changed(stepped(), |step| step.solution.motion[1] = 0.3);
    assert_close(audit.complementarity, WEIGHT * 0.3 / free, "pushing without touching");
    let audit = changed(stepped(), |step| step.solution.contacts[0].normal = -1.0);
    assert_close(audit.complementarity, 1.0 / WEIGHT, "pulling");
    // An impulse of the joint that does not exist.
    let audit = changed(stepped(), |step| step.solution.joints[0] = 0.0);
    assert_close(audit.momentum, PUSH * H / WEIGHT, "momentum of what the joint holds");
    // What the scheme says of itself is believed, and counted.
    let audit = changed(stepped(), |step| step.report.energy_defect += 0.5);
    assert_close(audit.energy.unexplained, -0.5, "energy that the scheme claims to add");

    // Friction that is not of the load is allowed.
    let audit = changed(stepped(), |step| {
        step.problem.contacts[0].extra_bound = 0.2;
        step.solution.contacts[0].tangent[0] -= 0.2;
    });
    assert_close(audit.cone_violation, 0.0, "within μ c_n + a");
    assert_close(audit.dissipation_defect, 0.0, "the largest that μ c_n + a allows");
    let audit = changed(stepped(), |step| step.problem.contacts[0].extra_bound = 0.2);
    assert_close(audit.dissipation_defect, 0.2 * SLIP / free, "less than μ c_n + a allows");
}

#[test]
fn driven_bodies_and_restitution_do_work() {
    let honest = judge(&stepped()).energy;
    // A floor that comes up, and a brake that turns against the motion.
    let rising = changed(stepped(), |step| step.contacts[0].normal_drift = 0.2).energy;
    assert_close(rising.normal - honest.normal, 0.2 * WEIGHT, "work on the gap");
    assert_close(rising.drive, honest.drive - 0.2 * WEIGHT, "work of the floor");
    let turning = changed(stepped(), |step| step.friction[0].tangent_drift[0] = 0.3).energy;
    assert_close(turning.friction - honest.friction, -BRAKE * H * 0.3, "work on the sliding of the brake");
    assert_close(turning.drive - honest.drive, BRAKE * H * 0.3, "work of what drives the brake");
    // What an impact law gives back counts as an impulse: 1 N s more than the momentum takes.
    let back = changed(stepped(), |step| step.restitution = vec![1.0]);
    assert_close(back.momentum, 1.0 / (WEIGHT + 1.0), "momentum with restitution");
}

#[test]
fn samples_that_are_wrong_are_named() {
    // The largest kinetic energy is that of the start.
    let kinetic = 0.5 * MASS * 10.0;
    let all =
        |change: fn(&mut stiction_dynamics::Sample)| changed(smooth(), |step| step.samples.iter_mut().for_each(change));
    let last =
        |change: fn(&mut stiction_dynamics::Sample)| changed(smooth(), |step| change(step.samples.last_mut().unwrap()));

    // Where the last sample is, the block and the brake are still a little faster than at the end.
    let t = smooth().samples.last().unwrap().state.t;
    let (slip, braked) = (3.0 - FRICTION / MASS * t / H + BELT, 1.0 - BRAKE * t / MASS);

    let audit = all(|sample| sample.contacts[0].1[0] *= 1.1);
    assert_close(audit.cone_violation, 0.1 * FRICTION / WEIGHT, "cone violation");
    assert_close(audit.momentum, 0.1 * FRICTION / WEIGHT, "momentum");
    let audit = last(|sample| sample.friction[0][0] *= 1.25);
    assert_close(audit.cone_violation, 0.25 * BRAKE * H / WEIGHT, "cone violation of the brake");
    for missing in [2.0, 1.0] {
        let audit = match missing {
            2.0 => last(|sample| sample.contacts[0].1[0] *= -1.0),
            _ => last(|sample| sample.contacts[0].1[0] = 0.0),
        };
        assert_close(audit.dissipation_defect, missing * FRICTION * slip / kinetic, "dissipation defect");
        let audit = match missing {
            2.0 => last(|sample| sample.friction[0][0] *= -1.0),
            _ => last(|sample| sample.friction[0][0] = 0.0),
        };
        assert_close(audit.dissipation_defect, missing * BRAKE * H * braked / kinetic, "defect of the brake");
    }
    let audit = last(|sample| sample.state.v[1] = 0.3);
    assert_close(audit.complementarity, WEIGHT * 0.3 / kinetic, "pushing without touching");
    let audit = last(|sample| sample.contacts[0].0 = -10.0);
    assert_close(audit.complementarity, 10.0 * H / WEIGHT, "pulling");
    // Accelerations into the floor and out of the joint, beside the largest one, that of gravity.
    for k in [1, 3] {
        let audit = changed(smooth(), |step| step.samples.last_mut().unwrap().acceleration[k] = -1.0);
        assert_close(audit.residual, 1.0 / G, "acceleration of what is held");
    }
    let audit = all(|sample| sample.joints[0] = 0.0);
    assert_close(audit.momentum, PUSH * H / WEIGHT, "momentum of what the joint holds");
    let audit = all(|sample| sample.state.v[3] = 0.2);
    assert_close(audit.energy.joints, -PUSH * H * 0.2, "work of the joint");
    assert_close(audit.energy.applied, PUSH * H * 0.2, "work of the push");
    assert_close(audit.energy.unexplained, 0.0, "both together do none");
    let audit = all(|sample| sample.weight *= 1.01);
    assert!(audit.momentum > 1e-3 && audit.kinetic_balance > 1e-3, "{audit:?}");
}

#[test]
fn the_price_of_a_polygon_is_told_from_a_fault() {
    // Sliding between two of the four directions: the largest power is that along one of them, and
    // a circle would allow more.
    let directions = Directions::Regular(4);
    let pyramid = || {
        ContactSolver::new(ContactMethod::Pyramid(PyramidSettings {
            directions: directions.clone(),
            ..Default::default()
        }))
        .unwrap()
    };
    let (block, state) = (Block { is_in_space: true }, State::new(0.0, vec![0.0; 4], vec![1.5, 0.0, 1.8, 0.0]));
    let mut scheme = StewartTrinkle::new(StewartTrinkleSettings::default(), pyramid());
    let mut step = Step::default();
    scheme.step(&block, &state, H, &mut step).unwrap();
    let audit = Audit::default().observe(&block, &state, &step);
    let u = &step.solution.motion;
    let slip = [u[0] + BELT, u[2]];
    let free = 1.5f64.powi(2) + (G * H).powi(2) + 1.8f64.powi(2) + (PUSH * H / MASS).powi(2);
    let price = slip[0].hypot(slip[1]) - slip[0].abs().max(slip[1].abs());
    assert!(price > 0.2, "{slip:?}");
    assert_close(audit.roundness_defect, FRICTION * price / free, "roundness defect");
    assert_close(audit.dissipation_defect, 0.0, "dissipation defect");
    // Stated with the exact cone, the same step is wrong.
    step.problem.contacts[0].friction_shape = FrictionShape::Ball;
    let audit = Audit::default().observe(&block, &state, &step);
    assert_close(audit.dissipation_defect, FRICTION * price / free, "dissipation defect by the cone");
}

/// A mass of 1 kg + 1 kg/m · x, pushed by 3 N.
struct Growing;

impl MechanicalSystem for Growing {
    fn velocity_count(&self) -> usize {
        1
    }
    fn mass_matrix(&self, _t: f64, q: &[f64], out: &mut Inertia) {
        out.push_scalar(1.0 + q[0]);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k[0] = 3.0;
    }
    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}
}

#[test]
fn an_inertia_that_is_the_mean_of_the_ends_is_taken_as_that() {
    // From 0 to 1 m in 1 s the mean is 1.5 kg: 3 N s change the velocity by 2 m/s.
    let mut step = Step {
        h: 1.0,
        state: State::new(1.0, vec![1.0], vec![2.5]),
        linearized_at: vec![1.0],
        force_at: State::new(0.0, vec![0.0], vec![0.5]),
        force: vec![3.0],
        averages_mass: true,
        ..Default::default()
    };
    step.problem.inertia.set_diagonal(&[1.0]);
    step.problem.free_motion = vec![0.0];
    let before = State::new(0.0, vec![0.0], vec![0.5]);
    let judge = |step: &Step| Audit::default().observe(&Growing, &before, step).momentum;
    assert_close(judge(&step), 0.0, "momentum with the mean");
    // With the mass of the end 4 N s would have been needed.
    step.averages_mass = false;
    assert_close(judge(&step), 1.0 / 4.0, "momentum with the mass of the end");
}

#[test]
fn the_worst_keeps_its_sign_and_the_sum_adds_up() {
    let mut audit = Audit::default();
    let (honest, mut wrong) = (stepped(), stepped());
    wrong.state.q[1] = -0.01;
    wrong.report.converged = false;
    let single = judge(&honest);
    for step in [&honest, &wrong, &honest] {
        audit.observe(&BLOCK, &start(), step);
    }
    assert_eq!((audit.step_count, audit.unconverged_count), (3, 1));
    assert_close(audit.worst.penetration, 0.01, "worst penetration");
    assert_close(audit.worst.energy.unexplained, -MASS * G * 0.01, "worst unexplained energy");
    assert_close(audit.worst.energy.friction, single.energy.friction, "worst work of friction");
    assert_close(audit.sum.penetration, 0.01, "sum of penetrations");
    assert_close(audit.sum.energy.friction, 3.0 * single.energy.friction, "sum of the work of friction");
    // Every number has its own place in the table.
    let names: std::collections::BTreeSet<_> = StepAudit::names().into_iter().collect();
    assert_eq!(names.len(), single.values().len());
    let place = |name: &str| audit.worst.values()[StepAudit::names().iter().position(|other| *other == name).unwrap()];
    assert_close(place("penetration"), 0.01, "the column of penetrations");
    assert_close(place("energy_unexplained"), -MASS * G * 0.01, "the column of unexplained energy");
}

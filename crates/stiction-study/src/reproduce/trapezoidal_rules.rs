//! \[PAGT\] §§ 2, 3, 9 and 10: the classical, the modified and the linear trapezoidal rule in one
//! step and over a time, the derivatives (9.2), and the cubic that finds a collision.

use stiction_dynamics::reference::{BentOscillator, SpringOrbit};
use stiction_dynamics::{ClosingTime, Contact, Inertia, Jacobians, Row as GapRow, TrapezoidalRule};

use super::trapezoidal::distance;
use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "trapezoidal-rules",
    title: "[PAGT] the trapezoidal rules: classical, modified, linear",
    remarks: &[
        "Theorem 3.2: the classical rule (2.4) and the modified one (2.5) differ by h³ in a step, and not at all where the inertia is constant. Theorem 3.3: the linear one (2.6) differs from them by h² where it is not, which costs an order.",
        "Theorem 3.4 (ii): with derivatives of the force that are off by a constant, velocities differ by h² in a step and positions by h³. Over a time both are of order one.",
        "Order one of the derivatives (9.2) is that of a spring that stays loaded. The default of the scheme has the exact ones wherever its matrix stays positive definite.",
        "§10 finds a collision by a cubic in time through the gaps at both ends of the step. It is exact where gaps are linear, as in the paper's examples. Else it is off by h⁴; a further short step closes what is left.",
    ],
    run: reproduce,
};

/// Stiffness and rest length of the spring, and the radius of its orbit.
const ORBIT: SpringOrbit = SpringOrbit { stiffness: 20.0, rest_length: 1.0 };
const RADIUS: f64 = 1.5;

/// How long runs are that are compared with closed forms, in s.
const END: f64 = 2.0;

/// The rules as printed, with forces at both ends of the step.
fn classical() -> TrapezoidalSettings {
    TrapezoidalSettings { rule: TrapezoidalRule::Classical, ..modified() }
}

fn modified() -> TrapezoidalSettings {
    TrapezoidalSettings { paper: true, iterate: true, ..Default::default() }
}

fn linear(jacobians: Jacobians) -> TrapezoidalSettings {
    TrapezoidalSettings { jacobians, ..Default::default() }
}

/// Errors by step.
type Errors = Vec<(f64, f64)>;

/// A run from a state over a time: where it ends, and how far its first step went.
fn run(
    rows: &mut Rows,
    system: impl MechanicalSystem + 'static,
    start: State,
    (h, time): (f64, f64),
    settings: TrapezoidalSettings,
) -> Result<(State, f64), ReproduceError> {
    let grid = (h, start.t + time);
    let scheme = SchemeSettings::Trapezoidal(settings);
    let mut run = simulation(system, &scheme, ContactMethod::default(), start, grid)?;
    let mut first = None;
    rows.run(&mut run, |s, _| {
        first.get_or_insert(s.last_step().h);
    })?;
    Ok((run.state().clone(), first.unwrap_or(f64::NAN)))
}

fn steps(powers: std::ops::Range<i32>) -> impl Iterator<Item = f64> {
    powers.map(|power| 0.5f64.powi(power))
}

/// Adds an order with the errors that it comes from.
fn add_order(rows: &mut Rows, quantity: impl Into<String>, expected: f64, tolerance: f64, errors: Errors) {
    rows.add(quantity, expected, fitted_order(&errors), Measured(tolerance));
    rows.last().errors = errors;
}

/// Differences between two rules after one step, of positions and of velocities.
fn differences(
    rows: &mut Rows,
    system: impl MechanicalSystem + Copy + 'static,
    start: &State,
    settings: [TrapezoidalSettings; 2],
) -> Result<[Errors; 2], ReproduceError> {
    let mut found = [Vec::new(), Vec::new()];
    for h in steps(5..11) {
        let [a, b] = settings.clone().map(|settings| run(rows, system, start.clone(), (h, h), settings));
        let ((a, _), (b, _)) = (a?, b?);
        found[0].push((h, distance(&a.q, &b.q)));
        found[1].push((h, distance(&a.v, &b.v)));
    }
    but_for_inertia(rows);
    Ok(found)
}

/// Leaves out what the audit cannot say of an inertia that changes.
fn but_for_inertia(rows: &mut Rows) {
    let reason = "the linear rule (2.6) has M(t, q) of the end at the place of the start, which is its error";
    for (check, reason) in
        [("kinetic_balance", "with M(t, q) forces also do work on the inertia"), ("momentum", reason)]
    {
        if !rows.is_met() {
            rows.but_for(check, reason);
        }
    }
}

/// Adds the order of the error at the end of runs against the closed form, and the ratio of the
/// last two errors.
fn add_errors(
    rows: &mut Rows,
    (name, order, tolerances): (&str, f64, [f64; 2]),
    system: impl MechanicalSystem + Copy + 'static,
    solution: impl Fn(f64) -> State,
    settings: &TrapezoidalSettings,
) -> Result<(), ReproduceError> {
    let mut errors = Vec::new();
    for h in steps(5..11) {
        let (end, _) = run(rows, system, solution(0.0), (h, END), settings.clone())?;
        errors.push((h, distance(&end.q, &solution(END).q)));
    }
    but_for_inertia(rows);
    let ratio = errors[errors.len() - 2].1 / errors[errors.len() - 1].1;
    let quantity = format!("ratio of the errors at h = 2^-9 and 2^-10 against the closed form, {name}");
    rows.add(quantity, 2f64.powf(order), ratio, Measured(tolerances[0]));
    add_order(rows, format!("order of the error against the closed form, {name}"), order, tolerances[1], errors);
    Ok(())
}

/// A particle that falls freely on the unit circle around the origin.
#[derive(Clone, Copy)]
struct Ball;

/// Gravity, in m/s².
const GRAVITY: f64 = 9.81;

/// Place and velocity of the particle where it meets the circle.
const MEETING: [[f64; 2]; 2] = [[0.6, 0.8], [1.0, -2.0]];

impl MechanicalSystem for Ball {
    fn velocity_count(&self) -> usize {
        2
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        (0..2).for_each(|_| out.push_scalar(1.0));
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[0.0, -GRAVITY]);
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let length = q[0].hypot(q[1]);
        if length - 1.0 <= horizon {
            let normal = GapRow::from_dense(&[q[0] / length, q[1] / length]);
            out.push(Contact { gap: length - 1.0, normal, ..Default::default() });
        }
    }
}

/// Errors of the time at which the particle meets the circle, by steps of which that is the three
/// fifths.
fn closing_errors(rows: &mut Rows, closing_time: ClosingTime) -> Result<Errors, ReproduceError> {
    let [q, v] = MEETING;
    let mut found = Vec::new();
    for h in steps(3..8) {
        let before = -0.6 * h;
        let at = [q[0] + before * v[0], q[1] + before * (v[1] - 0.5 * GRAVITY * before)];
        let start = State::new(before, at.to_vec(), vec![v[0], v[1] - GRAVITY * before]);
        let settings = TrapezoidalSettings { closing_time, ..Default::default() };
        let (_, first) = run(rows, Ball, start, (h, h), settings)?;
        found.push((h, (first + before).abs()));
    }
    Ok(found)
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    let start = BentOscillator::solution(0.0);
    let orbit = |t: f64| ORBIT.solution(RADIUS, t);
    let largest = |errors: &Errors| errors.iter().fold(0.0f64, |most, (_, error)| most.max(*error));

    rows.progress("one step");
    let exact = linear(Jacobians::Exact);
    let [q, v] = differences(rows, BentOscillator, &start, [classical(), modified()])?;
    add_order(rows, "Theorem 3.2: order in h of q of (2.5) - (2.4) in a step, M(t, q)", 4.0, 0.1, q);
    add_order(rows, "Theorem 3.2: order in h of v of (2.5) - (2.4) in a step, M(t, q)", 3.0, 0.1, v);
    let [q, v] = differences(rows, ORBIT, &orbit(0.0), [classical(), modified()])?;
    let quantity = "Theorem 3.2: largest difference of (2.5) and (2.4) in a step, M constant";
    rows.add(quantity, 0.0, largest(&q).max(largest(&v)), Rounding);
    let [q, v] = differences(rows, BentOscillator, &start, [exact.clone(), modified()])?;
    add_order(rows, "Theorem 3.3: order in h of q of (2.6) - (2.5) in a step, M(t, q)", 3.0, 0.1, q);
    add_order(rows, "Theorem 3.3: order in h of v of (2.6) - (2.5) in a step, M(t, q)", 2.0, 0.1, v);
    for (name, jacobians, orders, tolerance) in [
        ("3.4 (iii): exact derivatives", Jacobians::Exact, [4.0, 3.0], 0.1),
        ("3.4 (ii): derivatives (9.2)", Jacobians::Definite, [3.0, 2.0], 0.02),
    ] {
        let found = differences(rows, ORBIT, &orbit(0.0), [linear(jacobians), modified()])?;
        for ((what, order), errors) in ["q", "v"].into_iter().zip(orders).zip(found) {
            let quantity = format!("Theorem {name}: order in h of {what} of (2.10) - (2.5) in a step, M constant");
            add_order(rows, quantity, order, tolerance, errors);
        }
    }

    rows.progress("over a time");
    for (name, settings, order, tolerances) in [
        ("classical (2.4), M(t, q)", classical(), 2.0, [3e-4, 5e-3]),
        ("modified (2.5), M(t, q)", modified(), 2.0, [3e-4, 5e-3]),
        ("linear (2.6), M(t, q)", exact, 1.0, [0.05, 0.1]),
    ] {
        add_errors(rows, (name, order, tolerances), BentOscillator, BentOscillator::solution, &settings)?;
    }
    for (name, jacobians, order) in [
        ("loaded spring, exact derivatives", Jacobians::Exact, 2.0),
        ("loaded spring, derivatives (9.2)", Jacobians::Definite, 1.0),
    ] {
        add_errors(rows, (name, order, [0.05, 0.1]), ORBIT, orbit, &linear(jacobians))?;
    }

    rows.progress("the cubic of §10");
    let errors = closing_errors(rows, ClosingTime::Cubic)?;
    let quantity = "§10: order in h of the time of collision by the cubic of the gap, curved gap";
    add_order(rows, quantity, 4.0, 0.2, errors);
    let error = largest(&closing_errors(rows, ClosingTime::Way)?);
    let quantity = "(6.2): largest error of the time of collision by the gap on the way, s";
    rows.add(quantity, 0.0, error, Measured(5e-12));
    Ok(())
}

//! The linearly implicit trapezoidal scheme against the tables of \[PAGT\], references and closed
//! forms.

use stiction_dynamics::reference::{Carts, DoublePendulum, FreeTop, PendulumInAngles};
use stiction_dynamics::{
    Contact, ContactMethod, ContactSolver, FrictionLaw, ImpactLaw, Inertia, MechanicalSystem, Restitution, Row,
    Simulation, State, StepKind, TimeGrid, Trapezoidal, TrapezoidalSettings,
};

#[track_caller]
fn assert_close(value: f64, expected: f64, tolerance: f64, reason: &str) {
    assert!((value - expected).abs() <= tolerance, "{value:?} is not {expected:?} ± {tolerance:e} ({reason})");
}

fn simulation(
    system: impl MechanicalSystem + 'static,
    start: State,
    (step, end): (f64, f64),
    settings: TrapezoidalSettings,
) -> Simulation {
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let scheme = Box::new(Trapezoidal::new(settings, solver));
    Simulation::new(Box::new(system), scheme, start, TimeGrid { start: 0.0, end, step })
}

fn paper() -> TrapezoidalSettings {
    TrapezoidalSettings { paper: true, ..Default::default() }
}

fn poisson(e: f64) -> Option<Restitution> {
    Some(Restitution { law: ImpactLaw::Poisson, normal: e, tangential: 0.0 })
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Slope of log error over log h by least squares.
fn fitted_order(rows: &[(f64, f64)]) -> f64 {
    let n = rows.len() as f64;
    let points: Vec<(f64, f64)> = rows.iter().map(|(h, error)| (h.ln(), error.ln())).collect();
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let top: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    top / points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>()
}

/// Event-driven, 40 digits, at T = 2.5.
const PENDULUM_END: [f64; 4] = [0.02196211769492439, -0.9997588036053267, 0.02376948677391344, -1.999757170312499];

#[test]
fn the_double_pendulum_meets_the_table_of_the_paper() {
    // h = 2^-k: error of the positions, -Θ₁, -Θ₂ of an independent implementation of the plain
    // scheme.
    let table = [
        (5, 2.38220e-3, -1.26743e-3, -3.18347e-3),
        (6, 6.13727e-4, -3.13787e-4, -8.28505e-4),
        (7, 1.54449e-4, -7.82203e-5, -2.13707e-4),
        (8, 3.94525e-5, -1.95355e-5, -5.47614e-5),
        (9, 1.00658e-5, -4.88281e-6, -1.37139e-5),
        (10, 2.41592e-6, -1.22128e-6, -3.43789e-6),
        (11, 6.15741e-7, -3.04900e-7, -8.59981e-7),
    ];
    for (power, error, first, second) in table {
        let h = 0.5f64.powi(power);
        let system = DoublePendulum { gravity: 9.8, wall: poisson(0.1) };
        let mut run = simulation(system, DoublePendulum::start(), (h, 2.5), paper());
        let (mut times, mut solves) = (Vec::new(), 0);
        run.run_with(|s| {
            solves += s.last_step().report.solves.len();
            if s.last_step().kind == StepKind::Impact {
                times.push(s.state().t);
            }
        })
        .unwrap();
        let q = &run.state().q;
        assert_eq!(times.len(), 5, "collisions at h = 2^-{power}");
        assert_eq!(solves, (2.5 / h) as usize + 3 * 5, "one LCP per step, three more per collision");
        let [theta_1, theta_2] = DoublePendulum::joint_values(q);
        assert_close(distance(q, &PENDULUM_END), error, 1e-3 * error, "Table 10.1, E_h");
        assert_close(-theta_1, first, 1e-3 * first.abs(), "Table 10.1, first joint");
        assert_close(-theta_2, second, 1e-3 * second.abs(), "Table 10.1, second joint");
        if power == 11 {
            let expected = [0.54550805144, 0.70793269999, 1.28472664595, 2.09773945488, 2.13164028430];
            for (time, expected) in times.iter().zip(expected) {
                assert_close(*time, expected, 2e-6, "time of a collision");
            }
        }
    }
}

#[test]
fn the_carts_meet_the_tables_of_the_paper() {
    // δ, largest |x₂ - x₁ - 5|, first impact, positions at t = 4; γ = 100.
    for (damping, deviation, impact, x1, x2) in [
        (1e2, 3.48396e-2, 0.0568586927, 0.19800271, 5.17713780),
        (1e3, 3.43099e-3, 0.0557696497, 0.21662340, 5.21436955),
        (1e6, 4.51725e-6, 0.0556360812, 0.23840545, 5.23840233),
        (f64::INFINITY, 0.0, 0.0556359437, 0.23458450, 5.23458450),
    ] {
        let start = State::new(0.0, vec![0.1, 5.1], vec![-2.0, -2.0]);
        let (run, first, largest) = carts(100.0, damping, start, 4.0, |q| (q[1] - q[0] - 5.0).abs());
        assert_close(largest, deviation, 6e-6 * deviation + 1e-12, "six printed digits");
        assert_close(first.unwrap(), impact, 6e-11, "first impact");
        assert_close(run.q[0], x1, 6e-9, "x1(4)");
        assert_close(run.q[1], x2, 6e-9, "x2(4)");
    }
    for (stiffness, deviation, x1, x2) in [
        (1e2, 0.195081, 0.20452427, 4.90217981),
        (1e4, 3.01151e-2, 0.20002163, 4.91848992),
        (1e6, 2.95462e-3, 0.19918896, 4.92020586),
        (f64::INFINITY, 0.0, 0.2, 4.92022575),
    ] {
        // The rigid link takes the velocity of the first cart.
        let start = State::new(0.0, vec![0.2, 5.2], vec![-3.0, -3.0]);
        let (run, first, largest) = carts(stiffness, 10.0, start, 2.0, |q| (q[0] - 0.2).abs());
        assert_close(largest, deviation, 6e-6 * deviation + 1e-12, "six printed digits");
        assert_close(run.q[0], x1, 6e-9, "x1(2)");
        assert_close(run.q[1], x2, 6e-9, "x2(2)");
        if stiffness == 1e2 {
            assert_close(first.unwrap(), 0.0724227276, 6e-11, "impact");
        }
    }
    let start = State::new(0.0, vec![0.2, 5.2], vec![-3.0, -3.0]);
    carts(1e10, 1e10, start, 2.0, |_| 0.0);
}

/// Runs the carts; the end, the time of the first impact, and the largest of some number at any
/// step. Energy never rises.
fn carts(
    stiffness: f64,
    damping: f64,
    start: State,
    end: f64,
    deviation: impl Fn(&[f64]) -> f64,
) -> (State, Option<f64>, f64) {
    let system = Carts { stiffness, damping };
    let energy = move |state: &State| {
        let kinetic: f64 = state.v.iter().map(|v| 0.5 * v * v).sum();
        kinetic + system.potential_energy(state.t, &state.q).unwrap()
    };
    let mut run = simulation(system, start, (0.01, end), paper());
    let (mut first, mut largest) = (None, 0.0f64);
    let mut before = energy(run.state());
    run.run_with(|s| {
        // At the times of the grid, as the reference has it.
        let steps = s.state().t / 0.01;
        if (steps - steps.round()).abs() < 1e-9 {
            largest = largest.max(deviation(&s.state().q));
        }
        if s.last_step().kind == StepKind::Impact && first.is_none() && !s.last_step().contacts.is_empty() {
            first = Some(s.state().t);
        }
        // Compression and decompression count together: the first takes what the second gives back
        // a part of.
        let after = energy(s.state());
        if s.last_step().kind != StepKind::Impact {
            assert!(after <= before + 1e-12, "energy rises from {before} to {after} at t = {}", s.state().t);
            before = after;
        }
    })
    .unwrap();
    (run.state().clone(), first, largest)
}

#[test]
fn the_free_top_is_of_order_two() {
    let end = [0.20605198904, 0.56350916391, 1.36167267508];
    let mut errors = Vec::new();
    for power in 4..=10 {
        let h = 0.5f64.powi(power);
        let mut run = simulation(FreeTop::default(), FreeTop::start(), (h, 10.0), TrapezoidalSettings::default());
        run.run().unwrap();
        errors.push((h, distance(&run.state().v, &end)));
    }
    assert_close(errors[6].1, 1.294e-6, 0.001e-6, "reference, four digits");
    assert!(fitted_order(&errors) > 1.9, "{}", fitted_order(&errors));
}

#[test]
fn the_pendulum_in_angles_is_of_order_two_with_iteration() {
    let run = |iterate, h: f64| {
        let settings = TrapezoidalSettings { iterate, ..Default::default() };
        let mut run = simulation(PendulumInAngles { gravity: 9.8 }, PendulumInAngles::start(), (h, 1.0), settings);
        run.run_with(|s| assert!(s.last_step().report.converged)).unwrap();
        run.state().q.clone()
    };
    let reference = run(true, 0.5f64.powi(15));
    let order = |iterate| {
        let rows: Vec<(f64, f64)> =
            (4..=10).map(|power| 0.5f64.powi(power)).map(|h| (h, distance(&run(iterate, h), &reference))).collect();
        fitted_order(&rows)
    };
    let (iterated, linear) = (order(true), order(false));
    assert!(iterated > 1.9, "{iterated}");
    assert!((0.8..1.3).contains(&linear), "Theorem 3.4: {linear}");
}

/// A particle of unit mass in the plane that touches a circle around the origin from inside or
/// outside, without friction, under gravity.
struct CircularTrack {
    radius: f64,
    is_inside: bool,
    restitution: Restitution,
}

const GRAVITY: f64 = 9.81;

impl MechanicalSystem for CircularTrack {
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
        let sign = if self.is_inside { -1.0 } else { 1.0 };
        let distance = q[0].hypot(q[1]);
        let gap = sign * (distance - self.radius);
        if gap <= horizon {
            let normal = Row::from_dense(&[sign * q[0] / distance, sign * q[1] / distance]);
            out.push(Contact { gap, normal, restitution: self.restitution, ..Default::default() });
        }
    }
}

/// Errors of the end of a run against a reference, for steps from 2^-first to 2^-last.
fn errors(powers: std::ops::RangeInclusive<i32>, reference: &[f64], run: impl Fn(f64) -> Vec<f64>) -> Vec<(f64, f64)> {
    powers.map(|power| 0.5f64.powi(power)).map(|h| (h, distance(&run(h), reference))).collect()
}

/// Angle from the vertical of a pendulum of length one at time `t`, by the classical method of
/// Runge and Kutta with small steps.
fn pendulum_angle(angle: f64, rate: f64, sign: f64, t: f64) -> f64 {
    let steps = 200_000;
    let h = t / steps as f64;
    let f = |y: [f64; 2]| [y[1], -sign * GRAVITY * y[0].sin()];
    let mut y = [angle, rate];
    for _ in 0..steps {
        let k1 = f(y);
        let k2 = f([y[0] + 0.5 * h * k1[0], y[1] + 0.5 * h * k1[1]]);
        let k3 = f([y[0] + 0.5 * h * k2[0], y[1] + 0.5 * h * k2[1]]);
        let k4 = f([y[0] + h * k3[0], y[1] + h * k3[1]]);
        for i in 0..2 {
            y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        }
    }
    y[0]
}

#[test]
fn curved_contacts_keep_order_two_without_false_collisions() {
    // A bead in a ring, from the bottom with 2 m/s, and a marble on a circle, 0.1 rad off its top:
    // both are pendulums.
    for (is_inside, angle, speed, end) in [(true, 0.0, 2.0, 1.0), (false, 0.1, 0.0, 0.5)] {
        let sign = if is_inside { -1.0f64 } else { 1.0 };
        let exact = pendulum_angle(angle, speed, -sign, end);
        let at = |angle: f64| vec![angle.sin(), sign * angle.cos()];
        let run = |h: f64| {
            let system = CircularTrack { radius: 1.0, is_inside, restitution: Restitution::default() };
            let start = State::new(0.0, at(angle), vec![speed * angle.cos(), -sign * speed * angle.sin()]);
            let mut run = simulation(system, start, (h, end), TrapezoidalSettings::default());
            run.run_with(|s| {
                assert_eq!((s.last_step().kind, s.last_step().report.solves.len()), (StepKind::Smooth, 1), "h = {h}");
            })
            .unwrap();
            let gap = run.state().q[0].hypot(run.state().q[1]) - 1.0;
            assert!(gap.abs() <= 1e-4 * (32.0 * h) * (32.0 * h), "gap {gap} at h = {h}");
            run.state().q.clone()
        };
        let rows = errors(5..=11, &at(exact), run);
        assert!(fitted_order(&rows) > 1.8, "inside {is_inside}: {} {rows:?}", fitted_order(&rows));
    }
}

#[test]
fn the_pendulum_with_wall_is_of_order_two_for_all_restitutions() {
    for e in [0.0, 1.0] {
        let run = |h: f64| {
            let system = DoublePendulum { gravity: 9.8, wall: poisson(e) };
            let mut run = simulation(system, DoublePendulum::start(), (h, 1.2), TrapezoidalSettings::default());
            run.run().unwrap();
            run.state().q.clone()
        };
        // Below the steps at which the phase of an impact within its step decides the error.
        let rows = errors(7..=13, &run(0.5f64.powi(17)), run);
        assert!(fitted_order(&rows) > 1.8, "e = {e}: {} {rows:?}", fitted_order(&rows));
    }
}

#[test]
fn energy_and_drift_of_the_free_pendulum_over_a_thousand_seconds() {
    let h = 0.5f64.powi(7);
    let system = DoublePendulum { gravity: 9.8, wall: None };
    let energy_scale = system.energy(&DoublePendulum::start()).abs();
    let run = |settings| {
        let mut run = simulation(system, DoublePendulum::start(), (h, 1000.0), settings);
        let start = system.energy(run.state());
        let (mut drift, mut theta) = (0.0f64, [0.0f64; 2]);
        run.run_with(|s| {
            drift = drift.max((system.energy(s.state()) - start).abs() / energy_scale);
            let values = DoublePendulum::joint_values(&s.state().q);
            (0..2).for_each(|i| theta[i] = theta[i].max(values[i].abs()));
        })
        .unwrap();
        (drift, theta)
    };
    let (drift, _) = run(paper());
    assert!(drift <= 1e-10, "energy of the plain scheme: {drift:e}");
    let (_, theta) = run(TrapezoidalSettings::default());
    assert!(theta[0] <= 1e-5 && theta[1] <= 3e-5, "{theta:?}");
}

/// A disc of radius 0.1 and unit mass on the floor $y \ge 0.1$ with friction, sliding and turning;
/// or a block, which does not turn.
struct OnTheFloor {
    mu: f64,
    turns: bool,
    slope: f64,
}

impl MechanicalSystem for OnTheFloor {
    fn velocity_count(&self) -> usize {
        3
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        [1.0, 1.0, 0.4 * 0.01].into_iter().for_each(|mass| out.push_scalar(mass));
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[-GRAVITY * self.slope.sin(), -GRAVITY * self.slope.cos(), 0.0]);
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        if q[1] <= horizon {
            let arm = if self.turns { 0.1 } else { 0.0 };
            out.push(Contact {
                gap: q[1],
                normal: Row::from_dense(&[0.0, 1.0, 0.0]),
                tangents: [Row::from_dense(&[1.0, 0.0, arm])].into_iter().collect(),
                friction: FrictionLaw::Coulomb { mu: self.mu },
                ..Default::default()
            });
        }
    }
}

/// Whether a step that ends at `t` ends between the times of its grid: at an event.
fn is_between(t: f64, step: f64) -> bool {
    (t / step - (t / step).round()).abs() > 1e-9
}

#[test]
fn a_sliding_block_stops_where_it_should_and_stays() {
    // μ = 0.5, v₀ = 6: 3.669725 m, 1.223242 s.
    let start = State::new(0.0, vec![0.0; 3], vec![6.0, 0.0, 0.0]);
    let system = OnTheFloor { mu: 0.5, turns: false, slope: 0.0 };
    let mut run = simulation(system, start, (0.01, 3.0), TrapezoidalSettings::default());
    let (mut stops, stop) = (Vec::new(), 6.0 / (0.5 * GRAVITY));
    run.run_with(|s| {
        if is_between(s.state().t, 0.01) {
            stops.push(s.state().t);
        }
        if s.state().t > stop + 1e-9 {
            assert!(s.state().v.iter().all(|v| v.abs() <= 1e-12), "{:?} at {}", s.state().v, s.state().t);
        }
    })
    .unwrap();
    let distance = 36.0 / (2.0 * 0.5 * GRAVITY);
    assert_close(run.state().q[0], distance, 1e-9 * distance, "stopping distance");
    assert_eq!(stops.len(), 1);
    assert_close(stops[0], stop, 1e-9, "time");
}

#[test]
fn a_stop_within_the_first_step_is_located() {
    // As above, in one step of twice that time: the deceleration is constant, so the scheme is
    // exact but for where sliding ends.
    let start = State::new(0.0, vec![0.0; 3], vec![6.0, 0.0, 0.0]);
    let system = OnTheFloor { mu: 0.5, turns: false, slope: 0.0 };
    let mut run = simulation(system, start, (2.0, 2.0), TrapezoidalSettings::default());
    run.run().unwrap();
    assert_close(run.state().q[0], 36.0 / (2.0 * 0.5 * GRAVITY), 1e-12, "stopping distance");
    assert_close(run.state().v[0], 0.0, 1e-12, "at rest");
}

#[test]
fn a_block_thrown_up_a_steep_slope_turns_back_at_the_right_time() {
    // tan 40° > μ = 0.5: up with g (sin + μ cos), down with g (sin - μ cos).
    let slope = 40f64.to_radians();
    let (up, down) = (GRAVITY * (slope.sin() + 0.5 * slope.cos()), GRAVITY * (slope.sin() - 0.5 * slope.cos()));
    let start = State::new(0.0, vec![0.0; 3], vec![3.0, 0.0, 0.0]);
    let mut run =
        simulation(OnTheFloor { mu: 0.5, turns: false, slope }, start, (0.01, 1.0), TrapezoidalSettings::default());
    run.run().unwrap();
    let rest = 1.0 - 3.0 / up;
    assert_close(run.state().q[0], 4.5 / up - 0.5 * down * rest * rest, 1e-10, "closed form");
    assert_close(run.state().v[0], -down * rest, 1e-10, "closed form");
}

#[test]
fn a_sliding_ball_begins_to_roll_at_the_right_time() {
    // v₀ = 2, μ = 0.3, inertia 2/5 m r²: rolls from 2 v₀ / (7 μ g) = 0.194165 s, x = 0.332855 m,
    // with 5/7 v₀.
    let start = State::new(0.0, vec![0.0; 3], vec![2.0, 0.0, 0.0]);
    let mut run =
        simulation(OnTheFloor { mu: 0.3, turns: true, slope: 0.0 }, start, (0.01, 0.5), TrapezoidalSettings::default());
    let mut rolls = Vec::new();
    run.run_with(|s| {
        if is_between(s.state().t, 0.01) {
            rolls.push((s.state().t, s.state().q[0]));
        }
    })
    .unwrap();
    let time = 4.0 / (7.0 * 0.3 * GRAVITY);
    assert_eq!(rolls.len(), 1);
    assert_close(rolls[0].0, time, 1e-9, "slide to roll");
    assert_close(rolls[0].1, 2.0 * time - 0.5 * 0.3 * GRAVITY * time * time, 1e-9, "place");
    assert_close(run.state().v[0], 10.0 / 7.0, 1e-12, "rolling velocity");
    assert_close(run.state().v[0] + 0.1 * run.state().v[2], 0.0, 1e-12, "no slip");
}

#[test]
fn a_bouncing_ball_comes_to_rest_in_time() {
    // From 1 m with e = 0.5 at √(2h/g) (1 + e)/(1 - e) = 1.354571 s, with e = 0.8 at 4.063713 s;
    // apex e^2n.
    for (e, rest) in [(0.5, 1.354571), (0.8, 4.063713)] {
        for law in [ImpactLaw::Newton, ImpactLaw::Poisson] {
            let restitution = Restitution { law, normal: e, tangential: 0.0 };
            let system = CircularTrack { radius: 1.0, is_inside: false, restitution };
            let start = State::new(0.0, vec![0.0, 2.0], vec![0.0; 2]);
            let mut run = simulation(system, start, (0.01, 5.0), TrapezoidalSettings::default());
            let mut last = 0.0;
            run.run_with(|s| {
                if s.last_step().kind == StepKind::Impact {
                    last = s.state().t;
                }
            })
            .unwrap();
            // Bounces lower than the gap tolerance, 1e-9 m, end it: their speed is 1.4e-4 m/s, and
            // they would take 2 v / g (1 - e).
            assert_close(last, rest, 2.0 * 1.4e-4 / GRAVITY / (1.0 - e), "last impact");
            assert_close(run.state().q[1], 1.0, 1e-9, "at rest on the top");
            assert!(run.state().v[1].abs() < 1e-9, "{:?}", run.state().v);
        }
    }
}

#[test]
fn the_energy_that_stabilisation_costs_falls_faster_than_the_square_of_the_step() {
    // Over 50 s of the free double pendulum, largest relative change of the energy: a part that
    // grows, of order three, and one that stays bounded, of order two.
    let system = DoublePendulum { gravity: 9.8, wall: None };
    let start = system.energy(&DoublePendulum::start());
    let drift = |h: f64| {
        let mut run = simulation(system, DoublePendulum::start(), (h, 50.0), TrapezoidalSettings::default());
        let mut drift = 0.0f64;
        run.run_with(|s| drift = drift.max((system.energy(s.state()) / start - 1.0).abs())).unwrap();
        drift
    };
    let rows: Vec<(f64, f64)> = (6..=10).map(|power| 0.5f64.powi(power)).map(|h| (h, drift(h))).collect();
    let order = fitted_order(&rows);
    assert!((2.1..3.1).contains(&order), "{order} {rows:?}");
}

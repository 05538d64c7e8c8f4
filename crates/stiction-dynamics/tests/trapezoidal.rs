//! The linearly implicit trapezoidal scheme against the tables of \[PAGT\], references and closed forms.

use stiction_dynamics::reference::{Carts, DoublePendulum, FreeTop, PendulumInAngles};
use stiction_dynamics::{
    ContactMethod, ContactSolver, ImpactLaw, MechanicalSystem, Restitution, Simulation, State, StepKind, TimeGrid,
    Trapezoidal, TrapezoidalSettings,
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
const PENDULUM_END: [f64; 4] = [0.02196211769492439, -0.99975880360532674, 0.02376948677391344, -1.99975717031249908];

#[test]
fn the_double_pendulum_meets_the_table_of_the_paper() {
    // h = 2^-k: error of the positions, -Θ₁, -Θ₂ of an independent implementation of the plain scheme.
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

/// Runs the carts; the end, the time of the first impact, and the largest of some number at any step. Energy never rises.
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
        // Compression and decompression count together: the first takes what the second gives back a part of.
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

//! Both versions of Stewart and Trinkle's scheme with rows from the start, the mean and the end of
//! the step, on systems whose inertia changes and on curved surfaces; the growing active set;
//! contacts chosen at the start.

use stiction_dynamics::{
    Contact, ContactId, ContactMethod, ContactSolver, Inertia, Joint, LagrangianSystem, Linearization,
    MechanicalSystem, Row, Scheme, Simulation, State, Step, StewartTrinkle, StewartTrinkleSettings, TimeGrid, Version,
};

/// The linearisations, each with its share of the step.
const PLACES: [(Linearization, f64); 3] =
    [(Linearization::Start, 0.0), (Linearization::Mean, 0.5), (Linearization::End, 1.0)];
const VERSIONS: [Version; 2] = [Version::Linear, Version::FixedPoint];

/// A mass of 1 kg + 3 kg/m · x that is pushed by 3 N along x ≥ 0, over a bumpy gap.
struct Growing;

impl MechanicalSystem for Growing {
    fn velocity_count(&self) -> usize {
        2
    }
    fn mass_matrix(&self, _t: f64, q: &[f64], out: &mut Inertia) {
        out.push_scalar(1.0 + 3.0 * q[0]);
        out.push_scalar(1.0);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[3.0, -9.81]);
    }
    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        // y ≥ x²/2.
        let gap = q[1] - 0.5 * q[0] * q[0];
        if gap <= horizon {
            out.push(Contact { gap, normal: Row::from_dense(&[-q[0], 1.0]), ..Default::default() });
        }
    }
}

fn scheme(settings: StewartTrinkleSettings) -> StewartTrinkle {
    StewartTrinkle::new(settings, ContactSolver::new(ContactMethod::default()).unwrap())
}

fn step_of(system: &dyn MechanicalSystem, settings: StewartTrinkleSettings, state: &State, h: f64) -> Step {
    let mut out = Step::default();
    scheme(settings).step(system, state, h, &mut out).unwrap();
    out
}

fn step(settings: StewartTrinkleSettings, state: &State, h: f64) -> Step {
    step_of(&Growing, settings, state, h)
}

#[test]
fn the_inertia_is_that_of_the_start_the_mean_or_the_end() {
    let state = State::new(0.0, vec![0.4, 0.5], vec![2.0, 0.0]);
    for (linearization, theta) in PLACES {
        for version in VERSIONS {
            let settings = StewartTrinkleSettings { version, linearization, ..Default::default() };
            let out = step(settings, &state, 0.05);
            // [ST96] remark 4: M(q̂)(v⁺ - v) = h k, in flight; the fixed point knows its own end.
            let v_hat = if version == Version::Linear { 2.0 } else { out.state.v[0] };
            let mass = 1.0 + 3.0 * (0.4 + theta * 0.05 * v_hat);
            let defect = mass * (out.state.v[0] - 2.0) - 0.05 * 3.0;
            assert!(defect.abs() < 1e-10, "{version:?} {linearization:?}: {defect:e}, {:?}", out.state);
            assert!(
                out.report.converged && (version == Version::Linear || theta == 0.0 || out.report.linearizations > 2)
            );
        }
    }
}

#[test]
fn gaps_are_linearised_where_rows_are_or_met_at_the_end() {
    let state = State::new(0.0, vec![0.4, 0.09], vec![2.0, -1.0]);
    let gap = |q: &[f64]| q[1] - 0.5 * q[0] * q[0];
    for (linearization, theta) in PLACES {
        for version in VERSIONS {
            let settings = StewartTrinkleSettings { version, linearization, ..Default::default() };
            let out = step(settings, &state, 0.02);
            assert!(out.solution.contacts[0].normal > 0.0);
            let (q, v) = (&state.q, &state.v);
            let q_hat = [q[0] + theta * 0.02 * v[0], q[1] + theta * 0.02 * v[1]];
            let end = &out.state.q;
            let remains = match version {
                Version::Linear => gap(&q_hat) - q_hat[0] * (end[0] - q_hat[0]) + (end[1] - q_hat[1]),
                Version::FixedPoint => gap(end),
            };
            assert!(remains.abs() < 1e-12, "{version:?} {linearization:?}: {remains:e}");
        }
    }
}

/// A particle inside a ring of radius 1, without gravity and friction.
fn ring() -> LagrangianSystem {
    LagrangianSystem::new(&["x", "y"], |_, m| (m[0], m[3]) = (1.0, 1.0), |_| 0.0).with_gap(|q| 1.0 - q[0].hypot(q[1]))
}

#[test]
fn on_a_circle_the_speed_falls_by_the_turn_of_the_normal() {
    // Every step is a chord; its speed is v = 2 sin(α/2)/h. The impulse acts along the normal at
    // the start, the mean or the end of the next chord, so that the velocity across it stays: with
    // θ, v⁺ cos((1/2 - θ) α⁺) = v cos(α/2 + θ α⁺).
    let h = 0.05;
    for (linearization, theta) in PLACES {
        let settings = StewartTrinkleSettings { version: Version::FixedPoint, linearization, ..Default::default() };
        // The chord before the start ends there.
        let mut turn = 0.2f64;
        let speed = |turn: f64| 2.0 * (0.5 * turn).sin() / h;
        let (sine, cosine) = (0.5 * turn).sin_cos();
        let start = State::new(0.0, vec![1.0, 0.0], vec![speed(turn) * sine, speed(turn) * cosine]);
        let grid = TimeGrid { start: 0.0, end: 50.0 * h, step: h };
        let mut simulation = Simulation::new(Box::new(ring()), Box::new(scheme(settings)), start, grid);
        for number in 0..50 {
            simulation.step().unwrap();
            assert!(simulation.last_step().report.converged);
            let before = turn;
            for _ in 0..60 {
                let new = speed(before) * (0.5 * before + theta * turn).cos() / ((0.5 - theta) * turn).cos();
                turn = 2.0 * (0.5 * h * new).asin();
            }
            let v = &simulation.state().v;
            let found = v[0].hypot(v[1]);
            assert!((found - speed(turn)).abs() < 1e-9, "{linearization:?}, step {number}: {found} {}", speed(turn));
        }
        // 1 - θ α² per step: nothing is lost with rows from the start.
        let left = speed(turn) / speed(0.2);
        assert!(if theta == 0.0 { (left - 1.0).abs() < 1e-9 } else { left < 0.8 }, "{linearization:?}: {left}");
    }
}

/// A particle between walls that move, with a rail y = sin x that holds it or not.
struct Driven {
    has_rail: bool,
}

impl MechanicalSystem for Driven {
    fn velocity_count(&self) -> usize {
        2
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0, 2.0]);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[-1.0, 0.5]);
    }
    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        // x ≥ 0.3 t + 0.05 t².
        let gap = q[0] - 0.3 * t - 0.05 * t * t;
        if gap <= horizon {
            let normal = Row::from_dense(&[1.0, 0.0]);
            out.push(Contact { gap, normal, normal_drift: -0.3 - 0.1 * t, ..Default::default() });
        }
    }
    fn joints(&self, _t: f64, q: &[f64], out: &mut Vec<stiction_dynamics::Joint>) {
        if self.has_rail {
            let row = Row::from_dense(&[-q[0].cos(), 1.0]);
            out.push(stiction_dynamics::Joint { value: q[1] - q[0].sin(), row, drift: 0.0 });
        }
    }
}

#[test]
fn driven_walls_and_joints_are_met_wherever_rows_are_taken() {
    let (h, end) = (0.02, 1.0);
    for (linearization, theta) in PLACES {
        for version in VERSIONS {
            for has_rail in [false, true] {
                let settings = StewartTrinkleSettings { version, linearization, ..Default::default() };
                let start = State::new(0.0, vec![0.0, 0.0], vec![0.3, 0.3]);
                let grid = TimeGrid { start: 0.0, end, step: h };
                let system = Box::new(Driven { has_rail });
                let mut simulation = Simulation::new(system, Box::new(scheme(settings)), start, grid);
                let state = simulation.run().unwrap();
                // Linearised in time as well, the wall is met up to its acceleration times (1 - θ)²
                // h²/2.
                let lag = if version == Version::Linear { 0.05 * ((1.0 - theta) * h).powi(2) } else { 0.0 };
                let wall = 0.3 * end + 0.05 * end * end;
                assert!((state.q[0] - wall + lag).abs() < 1e-10, "{version:?} {linearization:?}: {state:?}");
                let rail = (state.q[1] - state.q[0].sin()).abs();
                let allowed = if version == Version::Linear { h * h } else { 1e-11 };
                assert!(!has_rail || rail < allowed, "{version:?} {linearization:?}: {rail:e}");
            }
        }
    }
}

/// A slide that a drive moves by 0.3 m/s.
struct Slide;

impl MechanicalSystem for Slide {
    fn velocity_count(&self) -> usize {
        1
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0]);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
    }
    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}
    fn joints(&self, t: f64, q: &[f64], out: &mut Vec<Joint>) {
        out.push(Joint { value: q[0] - 0.3 * t, row: Row::from_dense(&[1.0]), drift: -0.3 });
    }
}

#[test]
fn a_drive_takes_along_what_has_another_velocity_wherever_its_row_is_taken() {
    for (linearization, _) in PLACES {
        for version in VERSIONS {
            for speed in [0.0, -1.0, 0.3] {
                let settings = StewartTrinkleSettings { version, linearization, ..Default::default() };
                let mut out = Step::default();
                let start = State::new(0.0, vec![0.0], vec![speed]);
                scheme(settings).step(&Slide, &start, 0.02, &mut out).unwrap();
                let (q, v) = (out.state.q[0], out.state.v[0]);
                assert!((v - 0.3).abs() < 1e-13 && (q - 0.006).abs() < 1e-15, "{version:?} {linearization:?}: {q} {v}");
            }
        }
    }
}

/// A particle above a slope that throws it against a second one, which throws it against a wall:
/// each is met only because of the one before.
struct Corner;

impl Corner {
    fn gaps(q: &[f64]) -> [(f64, [f64; 3]); 3] {
        [(q[0] + q[1], [1.0, 1.0, 0.0]), (0.02 - q[0] + q[2], [-1.0, 0.0, 1.0]), (0.001 - q[2], [0.0, 0.0, -1.0])]
    }
}

impl MechanicalSystem for Corner {
    fn velocity_count(&self) -> usize {
        3
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0; 3]);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
    }
    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        for (i, (gap, normal)) in Self::gaps(q).into_iter().enumerate().filter(|(_, (gap, _))| *gap <= horizon) {
            let id = ContactId::number(i as u32);
            out.push(Contact { id, gap, normal: Row::from_dense(&normal), ..Default::default() });
        }
    }
}

#[test]
fn the_active_set_grows_until_nothing_is_violated() {
    // [ST96] §4: at q + h v only the first slope is violated; the solution with it violates the
    // second, and with both the wall.
    let state = State::new(0.0, vec![0.0, 0.01, 0.0], vec![0.0, -10.0, 0.0]);
    for (linearization, _) in PLACES {
        for version in VERSIONS {
            let settings = StewartTrinkleSettings { version, linearization, ..Default::default() };
            let out = step_of(&Corner, settings, &state, 0.01);
            assert_eq!((out.report.growths, out.contacts.len()), (2, 3), "{version:?} {linearization:?}");
            assert!(out.solution.contacts.iter().all(|contact| contact.normal > 0.0));
            // All three are met: z = 0.001, x = 0.021, y = -0.021.
            let expected = [0.021, -0.021, 0.001];
            assert!(out.state.q.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", out.state);
        }
    }
}

#[test]
fn contacts_chosen_at_the_start_need_one_linearisation() {
    let state = State::new(0.0, vec![0.4, 0.0801], vec![2.0, 0.0]);
    let settings =
        StewartTrinkleSettings { version: Version::FixedPoint, activation_gap: Some(1e-3), ..Default::default() };
    let out = step(settings, &state, 0.01);
    assert_eq!((out.report.linearizations, out.report.converged), (1, true));
    assert_eq!(out.solution.contacts.len(), 1);
}

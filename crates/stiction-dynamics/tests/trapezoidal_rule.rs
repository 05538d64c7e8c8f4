//! The trapezoidal rule of the methods of [TTP01]: order two where contacts stay as they are, no
//! rebound where they close, no flip where sliding ends.

use stiction_dynamics::reference::DoublePendulum;
use stiction_dynamics::{
    Audit, Contact, ContactMethod, ContactSolver, ExactConeSettings, FrictionLaw, ImplicitNcp, ImplicitNcpSettings,
    Inertia, MechanicalSystem, Row, Rule, Scheme, State, Step, StewartTrinkle, StewartTrinkleSettings, Version,
};

const G: f64 = 9.81;

/// A particle of 1 kg above a surface.
struct Particle {
    force: [f64; 3],
    /// Height of the surface, and its slope, by the first coordinate.
    surface: fn(f64) -> (f64, f64),
    mu: f64,
    /// Force against the velocity, in N s/m.
    damping: f64,
}

impl MechanicalSystem for Particle {
    fn velocity_count(&self) -> usize {
        3
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0; 3]);
    }
    fn force(&self, _t: f64, _q: &[f64], v: &[f64], k: &mut [f64]) {
        (0..3).for_each(|i| k[i] = self.force[i] - self.damping * v[i]);
    }
    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let (height, slope) = (self.surface)(q[0]);
        let gap = q[2] - height;
        if gap <= horizon {
            let length = slope.hypot(1.0);
            out.push(Contact {
                gap,
                normal: Row::from_dense(&[-slope, 0.0, 1.0]),
                tangents: [Row::from_dense(&[1.0 / length, 0.0, slope / length]), Row::from_dense(&[0.0, 1.0])]
                    .into_iter()
                    .collect(),
                friction: if self.mu > 0.0 { FrictionLaw::Coulomb { mu: self.mu } } else { FrictionLaw::None },
                ..Default::default()
            });
        }
    }
}

fn schemes(rule: Rule) -> [(&'static str, Box<dyn Scheme>); 3] {
    let solver = || ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap();
    let linear = StewartTrinkleSettings { rule, ..Default::default() };
    let fixed = StewartTrinkleSettings { version: Version::FixedPoint, ..linear.clone() };
    let implicit = ImplicitNcpSettings { rule, ..Default::default() };
    [
        ("linear", Box::new(StewartTrinkle::new(linear, solver()))),
        ("fixed-point", Box::new(StewartTrinkle::new(fixed, solver()))),
        ("implicit", Box::new(ImplicitNcp::new(implicit, solver()))),
    ]
}

/// Steps of `h` until `end`; every step is audited, and `see` looks at it.
fn run(
    system: &dyn MechanicalSystem,
    scheme: &mut dyn Scheme,
    mut state: State,
    (h, end): (f64, f64),
    mut see: impl FnMut(&Step),
) -> State {
    let (mut out, mut audit) = (Step::default(), Audit::default());
    for _ in 0..(end / h).round() as usize {
        scheme.step(system, &state, h, &mut out).unwrap();
        let step = audit.observe(system, &state, &out);
        let errors = [step.momentum, step.cone_violation, step.complementarity, step.dissipation_defect];
        assert!(errors.into_iter().all(|error| error < 1e-9), "{step:?}");
        see(&out);
        state.clone_from(&out.state);
    }
    state
}

/// Errors with steps of 0.02 and 0.01 by each scheme of a rule.
fn errors(
    rule: Rule,
    system: &dyn MechanicalSystem,
    start: &State,
    end: f64,
    error: &dyn Fn(&State) -> f64,
) -> Vec<(&'static str, [f64; 2])> {
    let one = |h: f64| {
        schemes(rule)
            .map(|(name, mut scheme)| (name, error(&run(system, &mut *scheme, start.clone(), (h, end), |_| {}))))
    };
    one(0.02).into_iter().zip(one(0.01)).map(|((name, coarse), (_, fine))| (name, [coarse, fine])).collect()
}

#[test]
fn a_particle_that_turns_down_a_slope_keeps_the_sum_of_its_speed_and_its_speed_downwards() {
    // μ = tan α: friction a v/|v| and the pull a downwards are as large, d|v|/dt = -d(v_y)/dt.
    let angle = 0.4f64;
    let force = [0.0, G * angle.sin(), -G * angle.cos()];
    let system = Particle { force, surface: |_| (0.0, 0.0), mu: angle.tan(), damping: 0.0 };
    let start = State::new(0.0, vec![0.0; 3], vec![3.0, 0.0, 0.0]);
    let error = |state: &State| state.v[0].hypot(state.v[1]) + state.v[1] - 3.0;
    for (name, [coarse, fine]) in errors(Rule::Trapezoidal, &system, &start, 1.0, &error) {
        println!("slope {name}: {coarse:e} {fine:e}");
        assert!(fine.abs() < 5e-4 && (3.5..4.5).contains(&(coarse / fine)), "{name}: {coarse:e} {fine:e}");
    }
    for (name, [coarse, fine]) in errors(Rule::Euler, &system, &start, 1.0, &error) {
        println!("slope Euler {name}: {coarse:e} {fine:e}");
        assert!((1.7..2.3).contains(&(coarse / fine)), "{name}: {coarse:e} {fine:e}");
    }
}

#[test]
fn a_particle_in_a_bowl_keeps_its_energy() {
    let system = Particle { force: [0.0, 0.0, -G], surface: |x| (0.5 * x * x, x), mu: 0.0, damping: 0.0 };
    let start = State::new(0.0, vec![1.0, 0.0, 0.5], vec![0.0; 3]);
    let energy = |state: &State| 0.5 * state.v.iter().map(|v| v * v).sum::<f64>() + G * state.q[2];
    let error = |state: &State| energy(state) - energy(&start);
    for (rule, ratios) in [(Rule::Trapezoidal, 3.2..4.8), (Rule::Euler, 1.5..2.5)] {
        for (name, [coarse, fine]) in errors(rule, &system, &start, 0.8, &error) {
            println!("bowl {rule:?} {name}: {coarse:e} {fine:e}");
            assert!(ratios.contains(&(coarse / fine)), "{rule:?}, {name}: {coarse:e} {fine:e}");
        }
    }
}

#[test]
fn forces_that_depend_on_the_velocity_cost_the_linear_version_an_order() {
    // Falls freely against a damper: v = -g (1 - exp(-t)).
    let system = Particle { force: [0.0, 0.0, -G], surface: |_| (-1e3, 0.0), mu: 0.0, damping: 1.0 };
    let start = State::new(0.0, vec![0.0; 3], vec![0.0; 3]);
    let error = |state: &State| state.v[2] + G * (1.0 - (-1.0f64).exp());
    let ratios: Vec<f64> = errors(Rule::Trapezoidal, &system, &start, 1.0, &error)
        .into_iter()
        .map(|(_, [coarse, fine])| coarse / fine)
        .collect();
    assert!((ratios[0] - 2.0).abs() < 0.05 && ratios[1..].iter().all(|ratio| (ratio - 4.0).abs() < 0.05), "{ratios:?}");
}

#[test]
fn joints_are_met_to_order_two() {
    let system = DoublePendulum { gravity: 9.8, wall: None };
    let start = State::new(0.0, vec![0.8, -0.6, 1.6, -1.2], vec![0.0; 4]);
    let energy = |state: &State| {
        0.5 * {
            let mut inertia = Inertia::default();
            let mut momentum = vec![0.0; 4];
            system.mass_matrix(0.0, &state.q, &mut inertia);
            inertia.apply(&state.v, &mut momentum);
            momentum.iter().zip(&state.v).map(|(p, v)| p * v).sum::<f64>()
        } + system.potential_energy(0.0, &state.q).unwrap()
    };
    let drift = |state: &State| {
        let mut joints = Vec::new();
        system.joints(0.0, &state.q, &mut joints);
        joints.iter().fold(0.0f64, |worst, joint| worst.max(joint.value.abs()))
    };
    for (name, [coarse, fine]) in
        errors(Rule::Trapezoidal, &system, &start, 1.0, &|state| energy(state) - energy(&start))
    {
        println!("pendulum {name}: {coarse:e} {fine:e}");
        assert!(coarse.abs() > 2.8 * fine.abs(), "{name}: {coarse:e} {fine:e}");
    }
    for (name, [coarse, fine]) in errors(Rule::Trapezoidal, &system, &start, 1.0, &drift) {
        println!("pendulum drift {name}: {coarse:e} {fine:e}");
        assert!(fine < 1e-3 && fine < 0.4 * coarse, "{name}: {coarse:e} {fine:e}");
    }
}

#[test]
fn what_lands_stays_and_what_stops_stands() {
    // Falls 10 cm, slides on with 1 m/s, and stops after v²/(2 μ g) more.
    let system = Particle { force: [0.0, 0.0, -G], surface: |_| (0.0, 0.0), mu: 0.5, damping: 0.0 };
    for (name, mut scheme) in schemes(Rule::Trapezoidal) {
        let start = State::new(0.0, vec![0.0, 0.0, 0.1], vec![1.0, 0.0, 0.0]);
        let mut fastest_up = 0.0f64;
        let end = run(&system, &mut *scheme, start, (0.013, 1.3), |step| {
            fastest_up = fastest_up.max(step.state.v[2]);
        });
        assert!(fastest_up < 1e-9, "{name} bounces with {fastest_up}");
        assert!(end.q[2].abs() < 1e-9 && end.v.iter().all(|v| v.abs() < 1e-9), "{name}: {end:?}");
        let start = State::new(0.0, vec![0.0; 3], vec![1.0, 0.0, 0.0]);
        let mut speeds = Vec::new();
        let end = run(&system, &mut *scheme, start, (0.013, 0.52), |step| speeds.push(step.state.v[0]));
        println!("{name}: {} {:?}", end.q[0] - 1.0 / G, &speeds[14..19]);
        assert!((end.q[0] - 1.0 / G).abs() < 1e-3, "{name}: {}", end.q[0]);
        assert!(end.v.iter().all(|v| v.abs() < 1e-12), "{name}: {:?}", end.v);
    }
}

#[test]
fn a_settled_contact_keeps_a_share_of_its_rate_and_no_more() {
    // It rests, and a rate w of its gap appears: after a step the gap is h β w and its rate
    // (2 β - 1) w, where a mirror would give -w for ever.
    let beta = 1.5 - 2f64.sqrt();
    let (h, w) = (0.01, 1e-3);
    let system = Particle { force: [0.0, 0.0, -G], surface: |_| (0.0, 0.0), mu: 0.0, damping: 0.0 };
    for (name, mut scheme) in schemes(Rule::Trapezoidal) {
        let rest = State::new(0.0, vec![0.0; 3], vec![0.0; 3]);
        let mut state = run(&system, &mut *scheme, rest, (h, 3.0 * h), |_| {});
        state.v[2] = w;
        let mut out = Step::default();
        scheme.step(&system, &state, h, &mut out).unwrap();
        let (gap, rate) = (out.state.q[2], out.state.v[2]);
        assert!((gap - h * beta * w).abs() < 1e-14, "{name}: {gap}");
        assert!((rate - (2.0 * beta - 1.0) * w).abs() < 1e-12, "{name}: {rate}");
    }
}

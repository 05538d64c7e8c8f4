//! [PKF]: a configuration map that depends on time, q̇ = Γ(t) v. Axes that turn are a matter of
//! description: the motion is that of fixed axes.

use stiction_dynamics::reference::TurningAxes;
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, EventDriven, EventDrivenSettings, ExactConeSettings, ImplicitNcp,
    ImplicitNcpSettings, MechanicalSystem, MoreauMidpoint, MoreauMidpointSettings, Scheme, Simulation, State, Step,
    StewartTrinkle, StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings, Version,
};

fn solver() -> ContactSolver {
    ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap()
}

fn particle(rate: f64) -> TurningAxes {
    TurningAxes { mass: 2.0, gravity: 9.81, stiffness: 5.0, mu: 0.2, rate }
}

/// Position and velocity along fixed axes at the end, and the worst audit. It begins with 3 m/s
/// along (0.6, 0.8) at (0.5, 0).
fn end(system: TurningAxes, scheme: Box<dyn Scheme>, h: f64, end: f64) -> (Vec<f64>, Audit) {
    let start = 0.25;
    let v = system.to_turning(start, [1.8, 2.4, 0.0]);
    let state = State::new(start, vec![0.5, 0.0, 0.0], v.to_vec());
    let grid = TimeGrid { start, end: start + end, step: h };
    let mut simulation = Simulation::new(Box::new(system.clone()), scheme, state, grid);
    let mut audit = Audit::default();
    while !simulation.is_finished() {
        simulation.step().unwrap();
        audit.observe(simulation.system(), simulation.before(), simulation.last_step());
    }
    let State { t, q, v } = simulation.state();
    (q.iter().copied().chain(system.to_fixed(*t, [v[0], v[1], v[2]])).collect(), audit)
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

fn event_driven() -> Box<dyn Scheme> {
    Box::new(EventDriven::new(EventDrivenSettings::default(), solver()))
}

#[test]
fn the_event_driven_scheme_finds_the_motion_of_fixed_axes() {
    // Without a spring it slides 9/(2 · 0.2 · 9.81) m in a straight line and stops, whatever the
    // axes do.
    let way = 9.0 / (0.4 * 9.81);
    for rate in [0.0, 0.7, -6.0] {
        let free = TurningAxes { stiffness: 0.0, ..particle(rate) };
        let (found, audit) = end(free, event_driven(), 0.5, 2.0);
        let expected = [0.5 + 0.6 * way, 0.8 * way, 0.0, 0.0, 0.0, 0.0];
        assert!(largest_difference(&found, &expected) < 1e-10, "{rate}: {found:?} {expected:?}");
        assert!(audit.worst.energy.unexplained.abs() < 1e-9 && audit.worst.momentum < 1e-9, "{:?}", audit.worst);
    }
    let (fixed, _) = end(particle(0.0), event_driven(), 0.1, 0.6);
    let (turning, _) = end(particle(3.0), event_driven(), 0.1, 0.6);
    assert!(largest_difference(&fixed, &turning) < 1e-10, "{fixed:?} {turning:?}");
}

#[test]
fn schemes_find_it_with_their_order() {
    let (exact, _) = end(particle(0.0), event_driven(), 0.1, 0.6);
    let fixed_point = || StewartTrinkleSettings { version: Version::FixedPoint, ..Default::default() };
    type Make<'a> = (&'static str, f64, &'a dyn Fn() -> Box<dyn Scheme>);
    let schemes: [Make; 5] = [
        ("stewart-trinkle", 1.0, &|| Box::new(StewartTrinkle::new(StewartTrinkleSettings::default(), solver()))),
        ("fixed-point", 1.0, &|| Box::new(StewartTrinkle::new(fixed_point(), solver()))),
        ("moreau-midpoint", 1.0, &|| Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver()))),
        ("implicit-ncp", 1.0, &|| Box::new(ImplicitNcp::new(ImplicitNcpSettings::default(), solver()))),
        ("trapezoidal", 2.0, &|| Box::new(Trapezoidal::new(TrapezoidalSettings::default(), solver()))),
    ];
    for (name, order, scheme) in schemes {
        let error = |h| largest_difference(&end(particle(3.0), scheme(), h, 0.6).0, &exact);
        let (coarse, fine) = (error(4e-3), error(2e-3));
        let found = (coarse / fine).log2();
        assert!((found - order).abs() < 0.15, "{name}: {coarse:.2e} {fine:.2e}, order {found:.2}");
    }
}

#[test]
fn both_halves_of_the_midpoint_rule_have_their_own_time() {
    // Half a step with the velocity of the start and half with that of the end, each along the axes
    // of its own middle.
    let (t, h, v) = (0.3, 0.2, [1.5, -0.7, 0.0]);
    let system = TurningAxes { stiffness: 0.0, mu: 0.0, ..particle(2.0) };
    let state = State::new(t, vec![0.1, 0.2, 0.0], v.to_vec());
    let mut step = Step::default();
    MoreauMidpoint::new(MoreauMidpointSettings::default(), solver()).step(&system, &state, h, &mut step).unwrap();
    let end = &step.state.v;
    let first = system.to_fixed(t + 0.25 * h, v);
    let second = system.to_fixed(t + 0.75 * h, [end[0], end[1], end[2]]);
    let expected: [f64; 3] = std::array::from_fn(|i| state.q[i] + 0.5 * h * (first[i] + second[i]));
    assert!(largest_difference(&step.state.q, &expected) < 1e-14, "{:?} {expected:?}", step.state.q);
}

#[test]
fn the_derivative_of_a_motion_is_taken_where_it_ends() {
    // A change w of the velocity moves the end by Γ(t + h/2) w, which is Γ(t + h) x: x is w turned
    // back by half of the turn.
    let (system, t, h, w) = (particle(0.8), 0.3, 0.5, [1.0, 0.0, 0.5]);
    let mut x = [0.0; 3];
    for v in [[0.0; 3], [1.0, -2.0, 0.3]] {
        system.advance_derivative(t, &[0.1, 0.2, 0.3], &v, h, &w, &mut x);
        let angle: f64 = -0.8 * 0.25;
        let expected = [angle.cos(), angle.sin(), 0.5];
        assert!(largest_difference(&x, &expected) < 1e-12, "{x:?} {expected:?}");
    }
    // At rest at a time when the axes are those of the coordinates.
    system.advance_derivative(-0.25, &[0.1, 0.2, 0.3], &[0.0; 3], h, &w, &mut x);
    assert!(largest_difference(&x, &[(0.2f64).cos(), -(0.2f64).sin(), 0.5]) < 1e-12, "{x:?}");
    let mut rate = [0.0; 3];
    system.configuration_rate(t, &[0.1, 0.2, 0.3], &[1.0, 0.0, 2.0], &mut rate);
    assert!(largest_difference(&rate, &[(0.24f64).cos(), (0.24f64).sin(), 2.0]) < 1e-13, "{rate:?}");
}

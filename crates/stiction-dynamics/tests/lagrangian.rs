//! Systems from M(q) and V(q) against closed forms, in every scheme.

use std::f64::consts::FRAC_PI_2;

use stiction_dynamics::reference::{DoublePendulum, PendulumInAngles};
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, EventDriven, EventDrivenSettings, ForceCause, ImplicitNcp,
    ImplicitNcpSettings, LagrangianSystem, MechanicalSystem, MoreauMidpoint, MoreauMidpointSettings, Scheme,
    Simulation, State, StewartTrinkle, StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings, Version,
};

const GRAVITY: f64 = 9.81;

/// Both bobs of unit mass, both rods of unit length, in angles.
fn double_pendulum() -> LagrangianSystem {
    let mass = |q: &[f64], m: &mut [f64]| {
        let c = (q[0] - q[1]).cos();
        m.copy_from_slice(&[2.0, c, c, 1.0]);
    };
    LagrangianSystem::new(&["upper", "lower"], mass, |q| -GRAVITY * (2.0 * q[0].cos() + q[1].cos()))
}

fn with_derivatives(system: LagrangianSystem) -> LagrangianSystem {
    let derivative = |q: &[f64], l: usize, out: &mut [f64]| {
        let s = if l == 0 { -(q[0] - q[1]).sin() } else { (q[0] - q[1]).sin() };
        (out[1], out[2]) = (s, s);
    };
    let gradient = |q: &[f64], out: &mut [f64]| {
        (out[0], out[1]) = (2.0 * GRAVITY * q[0].sin(), GRAVITY * q[1].sin());
    };
    system.with_mass_derivative(derivative).with_gradient(gradient)
}

/// Masses of cart and bob, length of the pendulum, and how far it swings.
const CART: (f64, f64, f64, f64) = (2.0, 1.0, 0.5, 1.2);

/// A pendulum on a cart.
fn cart_pendulum() -> LagrangianSystem {
    let (cart, bob, length, _) = CART;
    let mass = move |q: &[f64], m: &mut [f64]| {
        let coupling = bob * length * q[1].cos();
        m.copy_from_slice(&[cart + bob, coupling, coupling, bob * length * length]);
    };
    LagrangianSystem::new(&["x", "angle"], mass, move |q| -bob * GRAVITY * length * q[1].cos())
}

/// The period of a pendulum on a cart that was let go at rest: with the momentum of the cart
/// eliminated, the energy gives
/// $4 \sqrt{l/g} \int_0^{\pi/2} \sqrt{(1 - r \cos^2 \varphi) / (1 - k^2 \sin^2 \theta)}\, d\theta$
/// with $\sin (\varphi/2) = k \sin \theta$. The midpoint rule converges exponentially for periodic
/// functions.
fn cart_period() -> f64 {
    let (cart, bob, length, swing) = CART;
    let (r, k) = (bob / (cart + bob), (swing / 2.0f64).sin());
    let count = 40;
    let sum: f64 = (0..count)
        .map(|i| {
            let sine = k * (FRAC_PI_2 * (f64::from(i) + 0.5) / f64::from(count)).sin();
            let cosine = 1.0 - 2.0 * sine * sine;
            ((1.0 - r * cosine * cosine) / (1.0 - sine * sine)).sqrt()
        })
        .sum();
    4.0 * (length / GRAVITY).sqrt() * FRAC_PI_2 / f64::from(count) * sum
}

fn solver() -> ContactSolver {
    ContactSolver::new(ContactMethod::default()).unwrap()
}

fn event_driven() -> Box<dyn Scheme> {
    Box::new(EventDriven::new(EventDrivenSettings::default(), solver()))
}

fn run(system: LagrangianSystem, scheme: Box<dyn Scheme>, start: State, end: f64, h: f64) -> (State, Audit) {
    let grid = TimeGrid { start: 0.0, end, step: h };
    let mut simulation = Simulation::new(Box::new(system), scheme, start, grid);
    let mut audit = Audit::default();
    let observe = |s: &Simulation| {
        audit.observe(s.system(), s.before(), s.last_step());
    };
    let state = simulation.run_with(observe).unwrap().clone();
    (state, audit)
}

#[test]
fn velocity_terms_are_those_of_the_double_pendulum() {
    let by_hand = PendulumInAngles { gravity: GRAVITY };
    for (name, system) in [("differences", double_pendulum()), ("given", with_derivatives(double_pendulum()))] {
        for (q, v) in [([1.0, 0.4], [2.0, -3.0]), ([-0.3, 2.9], [0.7, 11.0]), ([0.2, 0.2], [0.0, 0.0])] {
            let (mut k, mut expected, mut part) = ([0.0; 2], [0.0; 2], [0.0; 2]);
            system.force(0.0, &q, &v, &mut k);
            by_hand.force(0.0, &q, &v, &mut expected);
            for i in 0..2 {
                assert!((k[i] - expected[i]).abs() < 1e-11 * (1.0 + expected[i].abs()), "{name}: {k:?} {expected:?}");
            }
            // With s = sin(q₀ - q₁): (-s v₁², s v₀²), and not the other sign of the printed (10).
            system.force_by_cause(ForceCause::Gyroscopic, 0.0, &q, &v, &mut part);
            let s = (q[0] - q[1]).sin();
            assert!((part[0] + s * v[1] * v[1]).abs() < 1e-10 && (part[1] - s * v[0] * v[0]).abs() < 1e-10, "{part:?}");
        }
    }
}

#[test]
fn angles_and_cartesian_coordinates_swing_alike_and_keep_the_energy() {
    let start = PendulumInAngles::start();
    let (state, audit) = run(double_pendulum(), event_driven(), start.clone(), 2.0, 0.05);
    let pendulum = DoublePendulum { gravity: GRAVITY, wall: None };
    let grid = TimeGrid { start: 0.0, end: 2.0, step: 0.05 };
    let mut cartesian = Simulation::new(Box::new(pendulum), event_driven(), DoublePendulum::start(), grid);
    let expected = cartesian.run().unwrap();
    let (x, y) = (state.q[0].sin(), -state.q[0].cos());
    let found = [x, y, x + state.q[1].sin(), y - state.q[1].cos()];
    assert!(found.iter().zip(&expected.q).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {:?}", expected.q);
    // The audit does not let velocity terms do work: with the printed sign this is 0.1 and more.
    assert!(audit.worst.kinetic_balance < 1e-11, "{:?}", audit.worst);
    assert!(audit.sum.energy.total_change.abs() < 1e-10, "{:?}", audit.sum.energy);
    assert!(audit.sum.energy.gyroscopic.abs() < 1e-10, "{:?}", audit.sum.energy);
}

#[test]
fn a_pendulum_on_a_cart_returns_after_its_period_in_every_scheme() {
    let period = cart_period();
    let start = State::new(0.0, vec![0.0, CART.3], vec![0.0, 0.0]);
    let error = |state: &State| {
        let parts = state.q.iter().zip(&start.q).chain(state.v.iter().zip(&start.v));
        parts.fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()))
    };
    let (state, _) = run(cart_pendulum(), event_driven(), start.clone(), period, period / 20.0);
    assert!(error(&state) < 1e-9, "{state:?}");

    let fixed_point = StewartTrinkleSettings { version: Version::FixedPoint, ..Default::default() };
    type Make<'a> = &'a dyn Fn() -> Box<dyn Scheme>;
    let schemes: [(&str, f64, Make<'_>); 5] = [
        ("stewart-trinkle", 1.0, &|| Box::new(StewartTrinkle::new(StewartTrinkleSettings::default(), solver()))),
        ("fixed point", 1.0, &|| Box::new(StewartTrinkle::new(fixed_point.clone(), solver()))),
        ("moreau-midpoint", 1.0, &|| Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver()))),
        ("implicit-ncp", 1.0, &|| Box::new(ImplicitNcp::new(ImplicitNcpSettings::default(), solver()))),
        ("trapezoidal", 2.0, &|| {
            Box::new(Trapezoidal::new(TrapezoidalSettings { iterate: true, ..Default::default() }, solver()))
        }),
    ];
    for (name, order, scheme) in schemes {
        let runs = [1000.0, 2000.0].map(|count| run(cart_pendulum(), scheme(), start.clone(), period, period / count));
        let [coarse, fine] = [0, 1].map(|i| error(&runs[i].0));
        let found = (coarse / fine).log2();
        println!("{name}: {coarse:e} {fine:e} order {found}, {:?}", runs[1].1.worst);
        assert!((found - order).abs() < 0.1 && fine < 0.05, "{name}: errors {coarse:e}, {fine:e}");
        // Works explain the kinetic energy to rounding although the inertia changes.
        assert!(runs.iter().all(|(_, audit)| audit.worst.kinetic_balance < 1e-12), "{name}: {:?}", runs[1].1.worst);
        // What remains is the quadrature of the potential.
        let unexplained = runs.iter().map(|(_, audit)| audit.sum.energy.unexplained.abs()).fold(0.0, f64::max);
        assert!(unexplained < 1e-9, "{name}: {unexplained:e}");
    }
}

#[test]
fn gaps_and_joints_are_functions_of_the_configuration() {
    // A particle in polar coordinates, M = diag(1, r²), on a string of 1 m: thrown from r = 0.6
    // with the angular velocity 5, it flies straight until the string is taut at the angle
    // acos(0.6), keeps its momentum r² ω = 1.8 through the inelastic jerk, and circles with ω =
    // 1.8.
    let polar = || LagrangianSystem::new(&["r", "angle"], |q, m| (m[0], m[3]) = (1.0, q[0] * q[0]), |_| 0.0);
    let start = State::new(0.0, vec![0.6, 0.0], vec![0.0, 5.0]);
    // 0.6 + i 3 t has length 1 at 3 t = 0.8.
    let (taut, angle, end) = (0.8 / 3.0, 0.6f64.acos(), 1.0);
    let (state, audit) = run(polar().with_gap(|q| 1.0 - q[0]), event_driven(), start, end, 0.1);
    let expected = [1.0, angle + 1.8 * (end - taut), 0.0, 1.8];
    let found = [state.q[0], state.q[1], state.v[0], state.v[1]];
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {expected:?}");
    // Radial velocity at the jerk: √(3² - 1.8²).
    assert!((audit.sum.energy.normal + 0.5 * (9.0 - 1.8 * 1.8)).abs() < 1e-9, "{:?}", audit.sum.energy);

    // The same circle by a joint, in two schemes.
    let start = State::new(0.0, vec![1.0, 0.0], vec![0.0, 1.8]);
    let fixed_point = StewartTrinkleSettings { version: Version::FixedPoint, ..Default::default() };
    for scheme in [event_driven(), Box::new(StewartTrinkle::new(fixed_point, solver()))] {
        let (state, _) = run(polar().with_joint(|q| q[0] - 1.0), scheme, start.clone(), end, 0.1);
        assert!((state.q[0] - 1.0).abs() < 1e-12 && (state.q[1] - 1.8).abs() < 1e-9, "{state:?}");
    }
}

#[test]
fn wrong_energies_are_refused_by_name() {
    assert_eq!(with_derivatives(double_pendulum()).check(&[0.3, 1.0]), Ok(()));
    let message = double_pendulum().check(&[0.3]).unwrap_err().to_string();
    assert_eq!(message, "the configuration has 1 numbers, and the system 2 coordinates");
    let wrong = double_pendulum().with_gradient(|q, out| (out[0], out[1]) = (2.0 * GRAVITY * q[0].sin(), q[1].sin()));
    let message = wrong.check(&[0.3, 1.0]).unwrap_err().to_string();
    assert!(message.contains("the potential along `lower`"), "{message}");
    let wrong =
        double_pendulum().with_mass_derivative(|q, _, out| (out[1], out[2]) = ([-(q[0] - q[1]).sin(); 2]).into());
    let message = wrong.check(&[0.3, 1.0]).unwrap_err().to_string();
    assert!(message.contains("entry (1, 2) of the mass matrix along `lower`"), "{message}");
    let massless = LagrangianSystem::new(&["x", "y"], |_, m| m[0] = 1.0, |_| 0.0);
    let message = massless.check(&[0.0, 0.0]).unwrap_err().to_string();
    assert!(message.starts_with("the mass matrix is not positive definite: pivot 0.0; "), "{message}");
    // Only the symmetric part of M is in the kinetic energy.
    let skew = LagrangianSystem::new(&["x", "y"], |_, m| m.copy_from_slice(&[1.0, 0.4, 0.0, 1.0]), |_| 0.0);
    let mut inertia = stiction_dynamics::Inertia::default();
    skew.mass_matrix(0.0, &[0.0, 0.0], &mut inertia);
    assert_eq!((inertia.entry(0, 1), inertia.entry(1, 0)), (0.2, 0.2));
}

#[test]
fn velocity_terms_are_those_of_the_symmetric_part() {
    // vᵀ M v = v₁² + q₁ v₁ v₂ + v₂², so k = -Ṁ v + ½ ∂(vᵀ M v)/∂q = (0, -½ v₁²).
    let by_differences = || {
        let mass = |q: &[f64], m: &mut [f64]| m.copy_from_slice(&[1.0, q[0], 0.0, 1.0]);
        LagrangianSystem::new(&["x", "y"], mass, |_| 0.0)
    };
    let given = by_differences().with_mass_derivative(|_, l, m| m[1] = if l == 0 { 1.0 } else { 0.0 });
    assert_eq!(given.check(&[0.3, 0.0]), Ok(()));
    for system in [by_differences(), given] {
        let mut k = [f64::NAN; 2];
        system.force_by_cause(ForceCause::Gyroscopic, 0.0, &[0.3, 0.0], &[3.0, 2.0], &mut k);
        assert!(k[0].abs() < 1e-11 && (k[1] + 4.5).abs() < 1e-11, "{k:?}");
    }
}

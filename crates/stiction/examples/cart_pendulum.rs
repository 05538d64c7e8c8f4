//! A system from its energies: a pendulum on a cart, given by M(q) and V(q) alone, in every scheme.
//!
//! Let go at rest, it is back after one period, which an integral gives. Run it with
//! `cargo run --package stiction --example cart_pendulum`.

use std::f64::consts::FRAC_PI_2;

use stiction::dynamics::{
    Audit, ContactMethod, ContactSolver, EventDriven, EventDrivenSettings, ImplicitNcp, ImplicitNcpSettings,
    LagrangianSystem, MoreauMidpoint, MoreauMidpointSettings, Scheme, Simulation, State, StewartTrinkle,
    StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings,
};

const GRAVITY: f64 = 9.81;
/// Masses of the cart and the bob in kg, length of the pendulum in m, and how far it swings in rad.
const CART: f64 = 2.0;
const BOB: f64 = 1.0;
const LENGTH: f64 = 0.5;
const SWING: f64 = 1.2;

/// Coordinates: the place of the cart, and the angle of the pendulum from the vertical.
fn system() -> LagrangianSystem {
    let mass = |q: &[f64], m: &mut [f64]| {
        let coupling = BOB * LENGTH * q[1].cos();
        m.copy_from_slice(&[CART + BOB, coupling, coupling, BOB * LENGTH * LENGTH]);
    };
    let potential = |q: &[f64]| -BOB * GRAVITY * LENGTH * q[1].cos();
    LagrangianSystem::new(&["x", "angle"], mass, potential)
}

/// The momentum along the rails is zero, which leaves an energy of the angle φ alone: T = 4 √(l/g)
/// ∫ √((1 - r cos² φ) / (1 - k² sin² θ)) dθ over a quarter turn, with sin(φ/2) = k sin θ.
fn period() -> f64 {
    let (r, k) = (BOB / (CART + BOB), (SWING / 2.0).sin());
    let count = 40; // the midpoint rule converges exponentially for periodic functions
    let value = |i: i32| {
        let sine = k * (FRAC_PI_2 * (f64::from(i) + 0.5) / f64::from(count)).sin();
        let cosine = 1.0 - 2.0 * sine * sine;
        ((1.0 - r * cosine * cosine) / (1.0 - sine * sine)).sqrt()
    };
    4.0 * (LENGTH / GRAVITY).sqrt() * FRAC_PI_2 / f64::from(count) * (0..count).map(value).sum::<f64>()
}

/// How far the state after one period is from the start, and by how much the energy changed.
fn run(scheme: Box<dyn Scheme>, steps: f64) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let start = State::new(0.0, vec![0.0, SWING], vec![0.0, 0.0]);
    let grid = TimeGrid { start: 0.0, end: period(), step: period() / steps };
    let mut simulation = Simulation::new(Box::new(system()), scheme, start.clone(), grid);
    let mut audit = Audit::default();
    simulation.run_with(|s| {
        audit.observe(s.system(), s.before(), s.last_step());
    })?;
    let State { q, v, .. } = simulation.state();
    let parts = q.iter().zip(&start.q).chain(v.iter().zip(&start.v));
    let error = parts.fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()));
    Ok((error, audit.sum.energy.total_change))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    system().check(&[0.0, SWING])?;
    println!("period {:.9} s", period());
    let solver = || ContactSolver::new(ContactMethod::default());
    let second = TrapezoidalSettings { iterate: true, ..Default::default() };
    let schemes: [(&str, f64, Box<dyn Scheme>); 5] = [
        ("event-driven", 20.0, Box::new(EventDriven::new(EventDrivenSettings::default(), solver()?))),
        ("trapezoidal", 2000.0, Box::new(Trapezoidal::new(second, solver()?))),
        ("moreau-midpoint", 2000.0, Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver()?))),
        ("stewart-trinkle", 2000.0, Box::new(StewartTrinkle::new(StewartTrinkleSettings::default(), solver()?))),
        ("implicit-ncp", 2000.0, Box::new(ImplicitNcp::new(ImplicitNcpSettings::default(), solver()?))),
    ];
    for ((name, steps, scheme), limit) in schemes.into_iter().zip([1e-9, 1e-4, 0.05, 0.05, 0.05]) {
        let (error, energy) = run(scheme, steps)?;
        println!("{name:16} {steps:5} steps: back up to {error:.1e}, energy changed by {energy:+.1e} J");
        assert!(error < limit, "{name} is not back after one period");
    }
    Ok(())
}

//! \[ST96\] §2: equations of motion from $M(q)$ and $V(q)$, and the sign of the velocity terms in
//! (10).

use std::f64::consts::FRAC_PI_2;

use stiction_dynamics::reference::PendulumInAngles;
use stiction_dynamics::{ForceCause, LagrangianSystem};

use super::dissipation::energy_changes;
use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "lagrange",
    title: "[ST96] systems from M(q) and V(q), by Lagrange's equations",
    remarks: &[
        "(10) as printed has the velocity terms with the wrong sign: M v̇ = −½ Σ […] v_i v_j − ∂V/∂q is what Lagrange's equations (7) give. With the printed sign the double pendulum changes its energy.",
        "The pendulum on a cart is given by its energies alone; all derivatives come from differences. Its period is an integral over the swing.",
    ],
    run: reproduce,
};

const GRAVITY: f64 = 9.81;
/// Masses of the cart and the bob in kg, length of the pendulum in m, and how far it swings in rad.
const CART: f64 = 2.0;
const BOB: f64 = 1.0;
const LENGTH: f64 = 0.5;
const SWING: f64 = 1.2;

fn cart_pendulum() -> LagrangianSystem {
    let mass = |q: &[f64], m: &mut [f64]| {
        let coupling = BOB * LENGTH * q[1].cos();
        m.copy_from_slice(&[CART + BOB, coupling, coupling, BOB * LENGTH * LENGTH]);
    };
    LagrangianSystem::new(&["x", "angle"], mass, |q| -BOB * GRAVITY * LENGTH * q[1].cos())
}

/// The period of the pendulum on the cart: its momentum along the rails is zero, which leaves an
/// energy of the angle alone.
fn period() -> f64 {
    let (r, k) = (BOB / (CART + BOB), (SWING / 2.0).sin());
    let count = 40;
    let value = |i: i32| {
        let sine = k * (FRAC_PI_2 * (f64::from(i) + 0.5) / f64::from(count)).sin();
        let cosine = 1.0 - 2.0 * sine * sine;
        ((1.0 - r * cosine * cosine) / (1.0 - sine * sine)).sqrt()
    };
    4.0 * (LENGTH / GRAVITY).sqrt() * FRAC_PI_2 / f64::from(count) * (0..count).map(value).sum::<f64>()
}

/// The double pendulum of unit masses and lengths, with the velocity terms of (7) or with the
/// printed sign of (10).
fn double_pendulum(is_printed: bool) -> LagrangianSystem {
    let mass = |q: &[f64], m: &mut [f64]| {
        let c = (q[0] - q[1]).cos();
        m.copy_from_slice(&[2.0, c, c, 1.0]);
    };
    let system = LagrangianSystem::new(&["upper", "lower"], mass, |q| -GRAVITY * (2.0 * q[0].cos() + q[1].cos()));
    match is_printed {
        false => system,
        // Minus twice the velocity terms (-s v₁², s v₀²) turns their sign.
        true => system.with_applied_force(|_, q, v, k| {
            let s = (q[0] - q[1]).sin();
            (k[0], k[1]) = (2.0 * s * v[1] * v[1], -2.0 * s * v[0] * v[0]);
        }),
    }
}

/// Where a run ends, and its change of energy step by step.
fn run(
    rows: &mut Rows,
    system: LagrangianSystem,
    scheme: &SchemeSettings,
    start: &State,
    grid: (f64, f64),
) -> Result<(State, Curve), ReproduceError> {
    let mut simulation = simulation(system, scheme, ContactMethod::default(), start.clone(), grid)?;
    let points = energy_changes(rows, &mut simulation)?;
    Ok((simulation.state().clone(), points))
}

/// Schemes and their orders.
fn orders() -> [(SchemeSettings, f64); 4] {
    let trapezoidal = TrapezoidalSettings { iterate: true, ..Default::default() };
    let [position, velocity, implicit] = ["stewart-trinkle", "moreau-midpoint", "implicit-ncp"].map(scheme);
    [(position, 1.0), (velocity, 1.0), (implicit, 1.0), (SchemeSettings::Trapezoidal(trapezoidal), 2.0)]
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("a double pendulum");
    let exact = scheme("event-driven");
    let mut series = Vec::new();
    for (sign, is_printed) in [("right sign", false), ("printed sign", true)] {
        let start = PendulumInAngles::start();
        let (state, points) = run(rows, double_pendulum(is_printed), &exact, &start, (0.02, 2.0))?;
        let change = points[points.len() - 1].1;
        let quantity = format!("double pendulum, {sign} of (10): change of the energy in 2 s, J (event-driven)");
        if is_printed {
            rows.add_between(quantity, (0.5, 2.0), change);
        } else {
            rows.add(quantity, 0.0, change, Measured(1e-12));
            // The velocity terms against those written by hand.
            let (mut found, mut by_hand, mut weight) = ([0.0; 2], [0.0; 2], [0.0; 2]);
            let (q, v) = (&state.q, &state.v);
            let system = double_pendulum(false);
            system.force_by_cause(ForceCause::Gyroscopic, 0.0, q, v, &mut found);
            system.force_by_cause(ForceCause::Potential, 0.0, q, v, &mut weight);
            PendulumInAngles { gravity: GRAVITY }.force(0.0, q, v, &mut by_hand);
            for i in 0..2 {
                let quantity = format!("velocity term {} of (10) at the end, N m (differences)", i + 1);
                rows.add(quantity, by_hand[i] - weight[i], found[i], Measured([1e-12, 2e-12][i]));
            }
        }
        series.push(curve(sign, points));
    }

    rows.progress("a pendulum on a cart");
    let period = period();
    let start = State::new(0.0, vec![0.0, SWING], vec![0.0, 0.0]);
    let error =
        |(end, _): (State, Curve)| largest_difference(end.q.iter().chain(&end.v), start.q.iter().chain(&start.v));
    let end = run(rows, cart_pendulum(), &exact, &start, (period / 20.0, period))?;
    let quantity = "pendulum on a cart: distance from its start after one period (event-driven)";
    rows.add(quantity, 0.0, error(end), Rounding);
    for (scheme, order) in orders() {
        let mut errors = Vec::new();
        for count in [500.0, 1000.0, 2000.0, 4000.0] {
            let h = period / count;
            errors.push((h, error(run(rows, cart_pendulum(), &scheme, &start, (h, period))?)));
        }
        let quantity = format!("pendulum on a cart: order of the distance after one period ({})", scheme.name());
        rows.add_between(quantity, (order - 0.05, order + 0.05), fitted_order(&errors));
    }
    let panels = vec![panel("A double pendulum by (10)", "t, s", "change of the energy, J", series)];
    let title = "The velocity terms of Lagrange's equations, and their sign";
    rows.figure("lagrange", title, "Stewart and Trinkle 1996, equation (10)", (1, 800, 450), panels);
    Ok(())
}

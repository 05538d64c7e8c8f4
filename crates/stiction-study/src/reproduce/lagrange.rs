//! \[ST96\] §2: equations of motion from $M(q)$ and $V(q)$, and the sign of the velocity terms in (10).

use std::f64::consts::FRAC_PI_2;

use stiction_dynamics::reference::PendulumInAngles;
use stiction_dynamics::{
    ContactMethod, ContactSolver, EventDriven, EventDrivenSettings, ForceCause, ImplicitNcp, ImplicitNcpSettings,
    LagrangianSystem, MechanicalSystem, MoreauMidpoint, MoreauMidpointSettings, Scheme, Simulation, State, StepAudit,
    StewartTrinkle, StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings,
};

use super::{Auditor, Effort, Measured, NamedFigure, ReproduceError, Reproduction, Rows, Verdict, fitted_order};
use crate::figure::{Figure, Panel, Series};

/// What a reader of the paper should know.
const REMARKS: &[&str] = &[
    "(10) as printed has the velocity terms with the wrong sign: M v̇ = −½ Σ […] v_i v_j − ∂V/∂q is what Lagrange's equations (7) give. With the printed sign the double pendulum changes its energy.",
    "The pendulum on a cart is given by its energies alone; all derivatives come from differences. Its period is an integral over the swing.",
];

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

/// The period of the pendulum on the cart: its momentum along the rails is zero, which leaves an energy of the angle alone.
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

/// The double pendulum of unit masses and lengths, with the velocity terms of (7) or with the printed sign of (10).
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

/// Where a run ends, its change of energy step by step, and whether it is certified.
type Outcome = (State, Vec<(f64, f64)>, Verdict);

fn run(
    system: LagrangianSystem,
    scheme: Box<dyn Scheme>,
    start: State,
    end: f64,
    h: f64,
) -> Result<Outcome, ReproduceError> {
    let grid = TimeGrid { start: 0.0, end, step: h };
    let mut simulation = Simulation::new(Box::new(system), scheme, start, grid);
    let (mut total, mut points) = (0.0, vec![(0.0, 0.0)]);
    let observe = |s: &Simulation, audit: &StepAudit| {
        total += audit.energy.total_change;
        points.push((s.state().t, total));
    };
    let (verdict, _) = Auditor::default().run(&mut simulation, observe)?;
    Ok((simulation.state().clone(), points, verdict))
}

fn solver() -> Result<ContactSolver, ReproduceError> {
    Ok(ContactSolver::new(ContactMethod::default())?)
}

fn event_driven() -> Result<Box<dyn Scheme>, ReproduceError> {
    Ok(Box::new(EventDriven::new(EventDrivenSettings::default(), solver()?)))
}

/// A scheme by its name.
fn scheme(name: &str) -> Result<Box<dyn Scheme>, ReproduceError> {
    let solver = solver()?;
    Ok(match name {
        "stewart-trinkle" => Box::new(StewartTrinkle::new(StewartTrinkleSettings::default(), solver)),
        "moreau-midpoint" => Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver)),
        "implicit-ncp" => Box::new(ImplicitNcp::new(ImplicitNcpSettings::default(), solver)),
        _ => Box::new(Trapezoidal::new(TrapezoidalSettings { iterate: true, ..Default::default() }, solver)),
    })
}

/// The whole experiment.
pub(super) fn reproduce(_: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
    let mut rows = Rows::new("lagrange", "ST96");
    let mut panel = Panel {
        title: "A double pendulum by (10)".into(),
        x_label: "t, s".into(),
        y_label: "change of the energy, J".into(),
        ..Default::default()
    };
    progress("a double pendulum");
    for (sign, is_printed) in [("right sign", false), ("printed sign", true)] {
        let (state, points, verdict) =
            run(double_pendulum(is_printed), event_driven()?, PendulumInAngles::start(), 2.0, 0.02)?;
        rows.fed_by(&verdict);
        let change = points.last().map_or(f64::NAN, |point| point.1);
        let quantity = format!("double pendulum, {sign} of (10): change of the energy in 2 s, J (event-driven)");
        match is_printed {
            false => {
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
            true => rows.add_between(quantity, (0.5, 2.0), change),
        }
        panel.series.push(Series { label: sign.to_owned(), points, ..Default::default() });
    }

    progress("a pendulum on a cart");
    let period = period();
    let start = State::new(0.0, vec![0.0, SWING], vec![0.0, 0.0]);
    let error = |state: &State| {
        let parts = state.q.iter().zip(&start.q).chain(state.v.iter().zip(&start.v));
        parts.fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()))
    };
    let (state, ..) = run(cart_pendulum(), event_driven()?, start.clone(), period, period / 20.0)?;
    let quantity = "pendulum on a cart: distance from its start after one period (event-driven)";
    rows.add(quantity, 0.0, error(&state), Measured(5e-14));
    for (name, order) in
        [("stewart-trinkle", 1.0), ("moreau-midpoint", 1.0), ("implicit-ncp", 1.0), ("trapezoidal", 2.0)]
    {
        let (mut errors, mut verdict) = (Vec::new(), Verdict::default());
        for count in [500.0, 1000.0, 2000.0, 4000.0] {
            let h = period / count;
            let (state, _, certificate) = run(cart_pendulum(), scheme(name)?, start.clone(), period, h)?;
            errors.push((h, error(&state)));
            verdict = verdict.and(&certificate);
        }
        rows.fed_by(&verdict);
        let quantity = format!("pendulum on a cart: order of the distance after one period ({name})");
        rows.add_between(quantity, (order - 0.05, order + 0.05), fitted_order(&errors));
    }
    let figure = Figure {
        title: "The velocity terms of Lagrange's equations, and their sign".into(),
        subtitle: "Stewart and Trinkle 1996, equation (10)".into(),
        panels: vec![panel],
        columns: 1,
        size: (800, 450),
        ..Default::default()
    };
    Ok(rows.into_reproduction(vec![NamedFigure { name: "lagrange", figure }], REMARKS))
}

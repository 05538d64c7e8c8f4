//! Orders of schemes on a system of one's own, and a figure of them: a pendulum in one formula.
//!
//! Run it with `cargo run --package stiction-study --example own_system`.

use std::sync::Arc;

use stiction_dynamics::{Contact, ContactSolver, Inertia, MechanicalSystem, Simulation, State, TimeGrid};
use stiction_study::converge::{EventDrivenLimits, Plan, ReferenceChoice, SchemeChoice, Subject, converge};

/// A pendulum of 1 kg and 1 m; q is its angle from the vertical.
struct Pendulum;

impl MechanicalSystem for Pendulum {
    fn velocity_count(&self) -> usize {
        1
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0]);
    }

    fn force(&self, _t: f64, q: &[f64], _v: &[f64], k: &mut [f64]) {
        k[0] = -9.81 * q[0].sin();
    }

    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plan = Plan {
        subject: Subject::System {
            title: "A pendulum".to_owned(),
            simulation: Arc::new(|scheme, step| {
                let start = State::new(0.0, vec![1.0], vec![0.0]);
                let grid = TimeGrid { start: 0.0, end: 1.0, step };
                Simulation::new(Box::new(Pendulum), scheme.build(ContactSolver::default()), start, grid)
            }),
        },
        edits: Vec::new(),
        schemes: ["stewart-trinkle", "trapezoidal"].map(SchemeChoice::named).to_vec(),
        steps: (4..10).map(|power| 0.5f64.powi(power)).collect(),
        reference: ReferenceChoice::Automatic,
        reference_step: None,
        limits: EventDrivenLimits::default(),
    };
    let convergence = converge(&plan, &mut |_| {})?;
    for (scheme, expected) in convergence.schemes.iter().zip([1.0, 2.0]) {
        let order = scheme.order.ok_or("no order")?;
        println!("{}: order {order:.2}", scheme.scheme);
        assert!((order - expected).abs() < 0.1, "{order} is not {expected}");
    }
    let file = std::env::temp_dir().join("stiction-pendulum-orders.svg");
    convergence.figure().write(&file)?;
    println!("errors over steps: {}", file.display());
    Ok(())
}

//! A system of one's own: a bead slides in a rough bowl y = x² until friction holds it on the
//! slope.
//!
//! Three formulas make the system: mass, force, and the gap with its normal. Run it with
//! `cargo run --package stiction --example bowl`.

use stiction::dynamics::{
    Audit, Contact, ContactId, ContactMethod, ContactSolver, FrictionLaw, Inertia, MechanicalSystem, Row, Simulation,
    State, StewartTrinkle, StewartTrinkleSettings, TimeGrid, Version,
};

/// A bead of unit mass in a vertical plane, q = (x, y).
struct Bowl {
    mu: f64,
}

impl MechanicalSystem for Bowl {
    fn velocity_count(&self) -> usize {
        2
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0, 1.0]);
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[0.0, -9.81]);
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let (x, y) = (q[0], q[1]);
        let length = (1.0 + 4.0 * x * x).sqrt();
        // The level set (y - x²)/√(1 + 4x²) is the distance to first order, and zero exactly on the
        // bowl.
        let gap = (y - x * x) / length;
        if gap <= horizon {
            let slope = -2.0 * x / length - 4.0 * x * gap / (length * length);
            out.push(Contact {
                id: ContactId::number(0),
                gap,
                normal: Row::from_dense(&[slope, 1.0 / length]),
                tangents: [Row::from_dense(&[1.0 / length, 2.0 * x / length])].into_iter().collect(),
                friction: FrictionLaw::Coulomb { mu: self.mu },
                ..Default::default()
            });
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bowl = Bowl { mu: 0.3 };
    let limit = bowl.mu / 2.0; // it can rest where the slope 2x is at most μ
    let settings = StewartTrinkleSettings { version: Version::FixedPoint, ..Default::default() };
    let scheme = StewartTrinkle::new(settings, ContactSolver::new(ContactMethod::default())?);
    let start = State::new(0.0, vec![1.0, 1.0], vec![0.0, 0.0]);
    let grid = TimeGrid { start: 0.0, end: 5.0, step: 1e-3 };
    let mut simulation = Simulation::new(Box::new(bowl), Box::new(scheme), start, grid);
    let mut audit = Audit::default();
    simulation.run_with(|s| {
        audit.observe(s.system(), s.before(), s.last_step());
    })?;
    let state = simulation.state();
    println!(
        "rests at x = {:.6} with |v| = {:.1e}; |x| ≤ {limit} is possible",
        state.q[0],
        state.v[0].hypot(state.v[1])
    );
    println!("worst residual {:.1e}, worst penetration {:.1e} m", audit.worst.residual, audit.worst.penetration);
    assert!(state.q[0].abs() <= limit && state.v[0].abs() < 1e-9, "a bead at rest beyond the friction angle");
    Ok(())
}

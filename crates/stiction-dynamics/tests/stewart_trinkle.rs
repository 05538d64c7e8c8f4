//! The fixed-point version of Stewart and Trinkle's scheme on systems whose inertia changes, and with contacts chosen at the start.

use stiction_dynamics::{
    Contact, ContactMethod, ContactSolver, Inertia, MechanicalSystem, Row, Scheme, State, Step, StewartTrinkle,
    StewartTrinkleSettings, Version,
};

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

fn step(settings: StewartTrinkleSettings, state: &State, h: f64) -> Step {
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let mut out = Step::default();
    StewartTrinkle::new(settings, solver).step(&Growing, state, h, &mut out).unwrap();
    out
}

#[test]
fn the_fixed_point_has_the_inertia_of_its_own_end() {
    let state = State::new(0.0, vec![0.4, 0.5], vec![2.0, 0.0]);
    let settings = StewartTrinkleSettings { version: Version::FixedPoint, ..Default::default() };
    let out = step(settings, &state, 0.05);
    assert!(out.report.converged && out.report.linearizations > 2, "{:?}", out.report);
    // [ST96] §3.6: M(q⁺)(v⁺ - v) = h k, in flight.
    let mass = 1.0 + 3.0 * out.state.q[0];
    assert!((mass * (out.state.v[0] - 2.0) - 0.05 * 3.0).abs() < 1e-10, "{:?}", out.state);
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

//! The trapezoidal scheme on scenes: stops with a friction polygon; and starts that overlap, for
//! every scheme.

use stiction_scene::{Loaded, SceneError};

/// Loads a built-in scene with overrides.
fn load(name: &str, overrides: &[&str]) -> Result<Loaded, SceneError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    stiction_scene::load(name, &overrides)
}

#[test]
fn a_block_stops_within_its_first_step() {
    // 6 m/s at 2° to the polygon of directions, μ = 0.5: 36 / (2 · 0.5 · 9.81) = 3.669725 m. The
    // polygon turns friction by up to π/16, so 0.5 %.
    let loaded = load("sliding-block", &["scheme.trapezoidal={}", "run.step=2.0"]).unwrap();
    let mut simulation = loaded.simulation();
    simulation.run().unwrap();
    let state = simulation.state();
    let distance = state.q[0].hypot(state.q[1]);
    assert!((distance / 3.669725 - 1.0).abs() < 5e-3, "{distance} m");
    assert!(state.v.iter().all(|v| v.abs() < 1e-9), "{:?}", state.v);
}

#[test]
fn a_deep_overlap_is_refused_unless_it_is_asked_for() {
    for scheme in ["stewart-trinkle", "moreau-midpoint", "trapezoidal", "event-driven", "implicit-ncp"] {
        let scheme = format!("scheme.{scheme}={{}}");
        let deep = [scheme.as_str(), "body.rod.position=[0.0, -10.0]"];
        let error = load("rod", &deep).unwrap_err().to_string();
        assert!(error.contains("bodies `rod` and `table` overlap by "), "{error}");
        load("rod", &[&deep[..], &["run.deepest-overlap=11.0"]].concat()).unwrap();
        // Less than half of its length: a warning, as before.
        load("rod", &[scheme.as_str(), "body.rod.position=[0.0, 0.0]"]).unwrap();
    }
}

#[test]
fn a_double_pendulum_swings_for_a_thousand_seconds() {
    // With restitution 0.1 it comes to rest at its wall, through impacts and projections that have
    // less and less to do.
    let loaded = load("double-pendulum", &["scheme.trapezoidal={}", "run.step=0.0078125", "run.end=1000.0"]).unwrap();
    let mut simulation = loaded.simulation();
    simulation.run().unwrap();
    let state = simulation.state();
    assert!(state.v.iter().all(|v| v.abs() < 1e-9), "{:?}", state.v);
    // Both rods hang down, each of a length of one.
    for (q, expected) in state.q.iter().zip([0.0, -1.0, 0.0, -2.0]) {
        assert!((q - expected).abs() < 1e-9, "{:?}", state.q);
    }
}

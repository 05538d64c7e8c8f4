//! Published systems with their numbers, straight on the mechanics: no bodies, no scene files.

use stiction_dynamics::reference::{Rod, Slider};
use stiction_dynamics::{
    Audit, ContactMethod, ContactMode, ContactSolver, ModeTracker, Simulation, State, StewartTrinkle,
    StewartTrinkleSettings, TimeGrid, Version,
};

#[track_caller]
fn assert_close(value: f64, expected: f64, tolerance: f64, reason: &str) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} ± {tolerance} ({reason})");
}

fn scheme(version: Version) -> Box<StewartTrinkle> {
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    Box::new(StewartTrinkle::new(StewartTrinkleSettings { version, ..Default::default() }, solver))
}

fn rod(version: Version, h: f64, end: f64) -> Simulation {
    Simulation::new(Box::new(Rod::default()), scheme(version), Rod::start(), TimeGrid { start: 0.0, end, step: h })
}

/// Start of the first step in which each end carried impulse, and the velocity after the impact.
struct RodRun {
    first: (f64, Vec<f64>),
    second: (f64, Vec<f64>),
    last: State,
}

fn run_rod(version: Version, h: f64) -> RodRun {
    let mut simulation = rod(version, h, 0.7);
    let mut tracker = ModeTracker::default();
    let mut events = Vec::new();
    let mut impacts: Vec<(f64, Vec<f64>)> = Vec::new();
    simulation
        .run_with(|simulation| {
            events.clear();
            let modes = tracker.observe(simulation.before(), simulation.last_step(), &mut events);
            let is_impact = modes.contains(&ContactMode::Impact);
            if events.iter().any(|event| event.to == ContactMode::Impact) {
                impacts.push((simulation.before().t, Vec::new()));
            }
            if is_impact {
                impacts.last_mut().unwrap().1 = simulation.state().v.clone();
            }
        })
        .unwrap();
    assert_eq!(impacts.len(), 2, "the rod has two impacts");
    let second = impacts.pop().unwrap();
    RodRun { first: impacts.pop().unwrap(), second, last: simulation.state().clone() }
}

#[test]
fn rod_events_at_a_fine_step() {
    for version in [Version::Linear, Version::FixedPoint] {
        let h = 1e-4;
        let run = run_rod(version, h);
        // The end of a step is where its positions hold.
        assert_close(run.first.0 + h, 0.38581775171, h, "first impact, within one step");
        assert_close(run.second.0 + h, 0.54731841967, h, "second impact, within one step");
        for (i, expected) in [-1.390096118, -0.612948534, 5.151087899].into_iter().enumerate() {
            assert_close(run.first.1[i], expected, 0.003, "velocity after the first impact, order h");
        }
        for (i, expected) in [-0.111977233, 0.0, 0.0].into_iter().enumerate() {
            assert_close(run.second.1[i], expected, 0.003, "velocity after the second impact, order h");
        }
        assert_close(run.last.q[0], -0.22735998270, 2e-4, "x at rest, order h");
        // Rounding of a gap, 1e-17 m, over h.
        assert!(run.last.v.iter().all(|v| v.abs() < 1e-11), "at rest: {:?}", run.last.v);
    }
}

#[test]
fn rod_contact_times_and_spike_at_the_step_of_the_paper() {
    // [ST96] §4: t ≈ 0.383 and 0.548 at h = 0.0025, read at the start of the step; Figure 4 shows
    // the spike in θ′.
    for version in [Version::Linear, Version::FixedPoint] {
        let run = run_rod(version, 0.0025);
        assert_close(run.first.0, 0.3825, 1e-12, "start of the step");
        assert_close(run.second.0, 0.5475, 1e-12, "start of the step");
    }
    let mut simulation = rod(Version::FixedPoint, 0.0025, 0.39);
    let mut spins = Vec::new();
    simulation.run_with(|simulation| spins.push(simulation.state().v[2])).unwrap();
    let touch = spins.iter().position(|spin| (spin - 4.0).abs() > 1e-9).unwrap();
    assert_close(spins[touch], 1.77, 0.005, "the spike");
    assert_close(spins[touch + 1], 5.18, 0.005, "after the spike");
}

#[test]
fn every_rod_step_is_certified() {
    for version in [Version::Linear, Version::FixedPoint] {
        let mut simulation = rod(version, 0.0025, 1.0);
        let mut audit = Audit::default();
        simulation
            .run_with(|s| {
                audit.observe(s.system(), s.before(), s.last_step());
            })
            .unwrap();
        let worst = audit.worst;
        assert!(worst.residual <= 1e-12, "{worst:?}");
        assert!(worst.momentum <= 1e-12, "{worst:?}");
        assert!(worst.kinetic_balance <= 1e-10, "{worst:?}");
        assert!(worst.cone_violation <= 1e-12 && worst.complementarity <= 1e-10, "{worst:?}");
        assert!(worst.dissipation_defect <= 1e-10, "{worst:?}");
        // Gravity is a linear potential and the inertia constant, so the defect formula explains
        // everything.
        assert!(worst.energy.unexplained.abs() <= 1e-12, "{worst:?}");
        if version == Version::FixedPoint {
            assert!(worst.penetration <= 1e-10, "{worst:?}");
            assert_eq!(audit.unconverged_count, 0);
        }
        // 9.826 J at the start, 0.4905 J at rest.
        assert_close(audit.sum.energy.total_change, 0.4905 - 9.826, 1e-9, "energy from start to rest");
        assert!(audit.sum.energy.normal < -8.0 && audit.sum.energy.friction < -0.3, "{:?}", audit.sum);
    }
}

#[test]
fn a_slider_with_bounded_friction_stops_where_it_must() {
    // Deceleration 10 from 2 m/s: 0.2 m, less v₀h/2 for the implicit position update.
    let run = |h: f64| {
        let grid = TimeGrid { start: 0.0, end: 0.5, step: h };
        let start = State::new(0.0, vec![0.0], vec![2.0]);
        let slider = Slider { mass: 3.0, bound: 30.0 };
        let mut simulation = Simulation::new(Box::new(slider), scheme(Version::Linear), start, grid);
        simulation.run().unwrap().clone()
    };
    let state = run(1e-3);
    // Sum of h v: 2h(199 + … ) = 0.2 - v₀h/2 exactly.
    assert_close(state.q[0], 0.199, 1e-12, "[ST96] §3.5 at h = 1e-3");
    assert!(state.v[0].abs() < 1e-15);
    assert_close(run(1e-5).q[0], 0.2, 1.1e-5, "order h");
}

#[test]
fn a_step_that_is_not_positive_is_refused() {
    use stiction_dynamics::{Scheme, Step};
    for h in [0.0, -1.0, f64::NAN] {
        let error = scheme(Version::Linear).step(&Rod::default(), &Rod::start(), h, &mut Step::default()).unwrap_err();
        assert!(error.to_string().contains("must be positive and finite"), "{error}");
    }
}

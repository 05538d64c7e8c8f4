//! A drawer pulled off its centre line: it jams where the closed form says so, in every scheme and
//! for every step, and the run says how it was solved.
//!
//! The pull $F$ acts at the distance $e = 0.14$ m from the centre line of a drawer of length
//! $l = 0.2$ m. Two diagonal corners carry the moment $F e = N l$, and their friction holds
//! $2 \mu N \ge F$: it jams from $\mu = l / 2e = 0.714$ on, whatever the force.

use stiction_dynamics::{Audit, Simulation};
use stiction_scene::parse;

const DRAWER: &str = r#"format = 1
name = "drawer"
dimension = "plane"
gravity = [0.0, 0.0]
run = { step = 0.001, end = 0.5 }
[[material]]
name = "wood"
friction = 0.4
[[body]]
name = "guides"
kind = "static"
material = "wood"
[[body.shape]]
half-plane = { normal = [0.0, 1.0], offset = -0.1505 }
[[body.shape]]
half-plane = { normal = [0.0, -1.0], offset = -0.1505 }
[[body]]
name = "drawer"
material = "wood"
mass = 2.0
[[body.shape]]
box = { size = [0.2, 0.3] }
[[force]]
body = "drawer"
force = [10.0, 0.0]
point = [0.1, 0.14]
"#;

/// The drawer at the end of its run, with the audit.
fn pulled(scheme: &str, mu: f64, step: f64) -> (Simulation, Audit) {
    let text = DRAWER
        .replace("friction = 0.4", &format!("friction = {mu:?}"))
        .replace("step = 0.001", &format!("step = {step:?}"));
    let mut simulation = parse(&format!("{text}[scheme.{scheme}]\n"), "drawer.toml").unwrap().simulation();
    let mut audit = Audit::default();
    let run = simulation.run_with(|s| {
        audit.observe(s.system(), s.before(), s.last_step());
    });
    if let Err(error) = run {
        panic!("{scheme}, friction {mu}, step {step}: {error}");
    }
    (simulation, audit)
}

fn judge(scheme: &str, steps: &[f64], slides_at: f64) {
    for &step in steps {
        for mu in [slides_at, 0.72, 0.8, 2.0] {
            let (simulation, audit) = pulled(scheme, mu, step);
            let name = format!("{scheme}, friction {mu}, step {step}");
            let (x, speed) = (simulation.state().q[0], simulation.state().v[0]);
            if mu < 0.714 {
                // Once the corners carry, it accelerates with (1 - 0.70/0.714) F/m = 0.1 m/s² or
                // more.
                assert!(speed > 0.03 && x > 0.005, "{name}: slides, at {x} m with {speed} m/s");
            } else {
                assert!(speed.abs() < 1e-9 && x < 2e-3, "{name}: jams, at {x} m with {speed} m/s");
            }
            assert!(audit.worst.residual <= 1e-10, "{name}: residual {}", audit.worst.residual);
        }
    }
}

#[test]
fn stewart_trinkle_jams() {
    judge("stewart-trinkle", &[1e-2, 1e-3, 1e-4], 0.70);
    // A step that theory promises no solution for was solved on the last rung, and said so: the
    // gaps of the wedged corners are negative by the curvature of a step.
    let (_, audit) = pulled("stewart-trinkle", 0.8, 1e-3);
    assert_eq!(audit.rung_counts, [0, 0, 1, 0]);
}

#[test]
fn moreau_midpoint_jams() {
    judge("moreau-midpoint", &[1e-2, 1e-3, 1e-4], 0.70);
}

#[test]
fn trapezoidal_jams() {
    judge("trapezoidal", &[1e-2, 1e-3, 1e-4], 0.70);
}

#[test]
fn implicit_ncp_jams() {
    // The line through the two corners is within both friction cones from μ = 0.2/0.3 on. There a
    // drawer that its impact has wedged may stay, pressed by the guides alone, beside the motion
    // that the closed form is about: two solutions, of which this scheme finds the wedged one.
    // Below, it slides.
    judge("implicit-ncp", &[1e-2, 1e-3], 0.65);
}

#[test]
fn event_driven_jams() {
    judge("event-driven", &[1e-2], 0.70);
}

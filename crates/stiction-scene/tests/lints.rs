//! What `check` says of sizes, gravity and steps that look wrong, and that it is right about them;
//! prescribed motions along an ellipse.

use std::f64::consts::TAU;

use stiction_bodies::BodyKind;
use stiction_scene::{Severity, lint, parse, parse_with};

const BOX: &str = r#"
format = 1
name = "crate"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = { step = 0.001, end = 0.1 }
material = [{ name = "wood", friction = 0.4 }]
[[body]]
name = "floor"
kind = "static"
material = "wood"
shape = [{ half-space = { normal = [0.0, 0.0, 1.0] } }]
[[body]]
name = "box"
material = "wood"
density = 700.0
position = [0.0, 0.0, 0.1]
shape = [{ box = { size = [0.2, 0.2, 0.2] } }]
"#;

/// A mass of 0.5 kg on a spring of 200 N/m and a damper of 2 N s/m.
const SPRING: &str = r#"
format = 1
name = "spring"
dimension = "plane"
gravity = [0.0, 0.0]
run = { step = 0.001, end = 20.0 }
material = [{ name = "wood", friction = 0.4 }]
[[body]]
name = "mass"
kind = "point"
material = "wood"
mass = 0.5
position = [0.9, 0.0]
[[spring]]
name = "coil"
bodies = ["mass"]
points = [[0.0, 0.0], [0.0, 0.0]]
axis = [1.0, 0.0]
stiffness = 200.0
damping = 2.0
rest-length = 1.0
"#;

const TRACK: &str = r#"
format = 1
name = "feeder"
dimension = "plane"
gravity = [0.0, -9.81]
run = { step = 0.0005, end = 0.1 }
material = [{ name = "steel", friction = 0.3 }]
[[body]]
name = "track"
kind = "prescribed"
material = "steel"
motion = { oscillation = MOTION }
shape = [{ half-plane = { normal = [0.0, 1.0] } }]
[[body]]
name = "part"
material = "steel"
mass = 0.01
position = [0.0, 0.01]
shape = [{ box = { size = [0.04, 0.02] } }]
"#;

fn warnings(text: &str, overrides: &[&str]) -> Vec<String> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let findings = lint(&parse_with(text, "x.toml", &overrides).unwrap());
    findings.into_iter().filter(|it| it.severity == Severity::Warning).map(|it| it.message).collect()
}

#[test]
fn millimetres_typed_as_metres_are_found() {
    assert_eq!(warnings(BOX, &[]), [""; 0]);
    let sizes = ["body.box.shape.0.box.size=[200.0, 200.0, 200.0]", "body.box.position=[0.0, 0.0, 100.0]"];
    let found = warnings(BOX, &sizes);
    assert!(
        found.len() == 1 && found[0].starts_with("body `box` is 3.464e2 m across: is it in millimetres?"),
        "{found:?}"
    );
}

#[test]
fn gravity_upwards_is_found() {
    let found = warnings(BOX, &["gravity=[0.0, 0.0, 9.81]"]);
    assert!(found.len() == 1 && found[0].starts_with("gravity pulls upwards, along +z"), "{found:?}");
    // Sideways, or a slope drawn level, is as one likes.
    assert_eq!(warnings(BOX, &["gravity=[9.81, 0.0, 0.0]"]), [""; 0]);
    assert_eq!(warnings(BOX, &["gravity=[0.0, 0.0, 0.0]"]), [""; 0]);
    let plane =
        warnings(&TRACK.replace("MOTION", "{ amplitude = [0.0, 0.001], frequency = 50 }"), &["gravity=[0.0, 9.81]"]);
    assert!(plane.len() == 1 && plane[0].contains("along +y"), "{plane:?}");
}

#[test]
fn steps_that_make_a_spring_unstable_are_found_where_they_do() {
    // Amplitude at the end of a run with a step somewhat below and above the limit that the message
    // names.
    for (scheme, limit) in [
        // h² k/m + h δ/m < 2 with k/m = 400, δ/m = 4.
        ("stewart-trinkle={}", 0.5 * (-0.01 + (0.0001f64 + 4.0 * 2.0 / 400.0).sqrt())),
        // h² k/m + 2 h δ/m < 4.
        ("moreau-midpoint={}", 0.5 * (-0.02 + (0.0004f64 + 4.0 * 4.0 / 400.0).sqrt())),
        ("stewart-trinkle={rule=\"trapezoidal\"}", 0.5 * (-0.02 + (0.0004f64 + 4.0 * 4.0 / 400.0).sqrt())),
    ] {
        for (factor, is_stable) in [(0.97, true), (1.03, false)] {
            let overrides = [format!("scheme={{{scheme}}}"), format!("run.step={}", factor * limit)];
            let loaded = parse_with(SPRING, "x.toml", &overrides).unwrap();
            let found = lint(&loaded);
            assert_eq!(found.is_empty(), is_stable, "{scheme} {factor}: {found:?}");
            let mut simulation = loaded.simulation();
            while !simulation.is_finished() && simulation.state().q[0].abs() < 1e6 {
                simulation.step().unwrap();
            }
            let stretch = simulation.state().q[0] - 1.0;
            assert_eq!(stretch.abs() < 0.11, is_stable, "{scheme} {factor}: {stretch}");
            if !is_stable {
                assert!(found[0].message.contains(&format!("take a step below {limit:.1e} s")), "{found:?}");
            }
        }
    }
    assert_eq!(warnings(SPRING, &["scheme={trapezoidal={}}", "run.step=0.2"]), [""; 0]);
    assert_eq!(warnings(SPRING, &["scheme={moreau-midpoint={implicit=true}}", "run.step=0.2"]), [""; 0]);
}

#[test]
fn steps_that_miss_an_oscillation_are_found() {
    let scene = TRACK.replace("MOTION", "{ amplitude = [0.0, 0.0001], frequency = 50 }");
    assert_eq!(warnings(&scene, &[]), [""; 0]);
    let found = warnings(&scene, &["run.step=0.005"]);
    let expected = "body `track` oscillates with a period of 2.000e-2 s, of which the step of 0.005 s is 25 %: take a step below 2.5e-3 s";
    assert_eq!(found, [expected]);
}

#[test]
fn two_oscillations_make_an_ellipse() {
    // x = 1 mm sin(2π 50 t), y = 0.2 mm sin(2π 50 t + 90°), along any axis.
    let list = "[{ amplitude = [0.001, 0.0], frequency = 50 }, { amplitude = [0.0, 0.0002], frequency = 50, phase = 1.5707963267948966 }]";
    let loaded = parse(&TRACK.replace("MOTION", list), "x.toml").unwrap();
    let (bodies, start) = (loaded.system().bodies().expect("it has bodies"), loaded.start());
    for t in [0.0, 0.0012, 0.007, 0.0191] {
        let position = bodies.pose(0, t, &start.q).position;
        let (x, y) = (position.x / 0.001, position.y / 0.0002);
        assert!((x * x + y * y - 1.0).abs() < 1e-12 && (x - (TAU * 50.0 * t).sin()).abs() < 1e-12, "{t}: {x} {y}");
    }
    // It is written as it was, and reads back.
    for written in [list, "{ amplitude = [0.001, 0.0], frequency = 50.0, phase = 0.25 }"] {
        let scene = parse(&TRACK.replace("MOTION", written), "x.toml").unwrap().into_scene();
        let again =
            parse(&scene.to_toml(), "again.toml").unwrap_or_else(|error| panic!("{error}\n{}", scene.to_toml()));
        assert_eq!(again.scene(), &scene, "{}", scene.to_toml());
        let BodyKind::Prescribed(motion) = &again.system().bodies().expect("it has bodies").model().bodies[0].kind
        else {
            panic!("it is prescribed")
        };
        assert_eq!(motion.oscillations.len(), if written == list { 2 } else { 1 });
    }
    // A mistake in one of them has its place.
    let error =
        parse(&TRACK.replace("MOTION", &list.replacen("frequency = 50", "frequency = -50", 1)), "x.toml").unwrap_err();
    assert_eq!(error.to_string(), "x.toml:12:67: the frequency is -50.0 Hz");
    let error = parse(&TRACK.replace("MOTION", "3"), "x.toml").unwrap_err();
    assert!(error.to_string().starts_with("x.toml:12:26: "), "{error}");
    // A part on it is carried along: by the law of friction it slides forwards on the whole.
    let mut simulation = loaded.simulation();
    while !simulation.is_finished() {
        simulation.step().unwrap();
    }
    assert!(simulation.state().q[0].abs() > 1e-4, "{}", simulation.state().q[0]);
}

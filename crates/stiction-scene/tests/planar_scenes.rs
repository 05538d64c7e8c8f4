//! Scenes of polygons and boxes in the plane against closed forms: what must jam or stand does not
//! move, and what must slide does so as the formula says.

use stiction_dynamics::{Audit, Simulation};
use stiction_scene::{builtin, load, parse};

/// Runs a built-in scene with these values to its end; every step is solved, and the audit finds
/// its laws met.
fn run(name: &str, overrides: &[&str]) -> Simulation {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    to_end(load(name, &overrides).unwrap().simulation())
}

fn to_end(mut simulation: Simulation) -> Simulation {
    let mut audit = Audit::default();
    let end = simulation.run_with(|s| {
        audit.observe(s.system(), s.before(), s.last_step());
    });
    end.unwrap_or_else(|error| panic!("{error}"));
    assert!(audit.worst.residual <= 1e-10, "residual {:e}", audit.worst.residual);
    simulation
}

fn fastest(simulation: &Simulation) -> f64 {
    simulation.state().v.iter().fold(0.0, |most, v| v.abs().max(most))
}

/// The tilt at which two opposite corners touch, and the share of the load that friction holds:
/// μ 2 e cos θ / H, as the scene says.
fn held(mu: f64) -> f64 {
    let (d, c, length, e) = (0.04, 0.0006, 0.06, 0.1);
    let tilt = (0..60).fold(0.01f64, |tilt, _| {
        let miss = (d + c) * tilt.cos() - length * tilt.sin() - d;
        tilt + miss / ((d + c) * tilt.sin() + length * tilt.cos())
    });
    let lever = length * tilt.cos() + (d + c) * tilt.sin();
    2.0 * mu * e * tilt.cos() / lever
}

#[test]
fn a_sleeve_jams_or_slides() {
    assert!((1.0 / held(1.0) - 0.302_023_278).abs() < 1e-9, "as the scene says");
    for step in ["run.step=0.01", "run.step=0.001"] {
        for mu in [0.303, 0.4, 1.0] {
            let end = run("sleeve", &[step, &format!("material.steel.friction={mu}")]);
            assert!(fastest(&end) <= 1e-10, "{step}, friction {mu}: {:e} m/s", fastest(&end));
        }
        for mu in [0.1, 0.25, 0.3] {
            let end = run("sleeve", &[step, &format!("material.steel.friction={mu}")]);
            // 20 N on 1 kg for 0.3 s.
            let expected = -20.0 * (1.0 - held(mu)) * 0.3;
            let v = end.state().v[1];
            assert!((v / expected - 1.0).abs() <= 1e-8, "{step}, friction {mu}: {v} and {expected} m/s");
        }
    }
}

/// The arch of nine stones with another thickness, as text.
fn arch(thickness: f64) -> String {
    let count = 9;
    let half = std::f64::consts::PI / (2 * count) as f64;
    let (inner, outer) = (1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness);
    // Centroid of the trapezium between the two chords, from the centre of the arch.
    let centre = 2.0 / 3.0 * half.cos() * (outer * outer + outer * inner + inner * inner) / (outer + inner);
    let corner = |r: f64, side: f64| format!("[{:?}, {:?}]", r * half.cos() - centre, side * r * half.sin());
    let points = [(inner, -1.0), (outer, -1.0), (outer, 1.0), (inner, 1.0)].map(|(r, side)| corner(r, side)).join(", ");
    let text = builtin::all().iter().find(|scene| scene.name == "arch").unwrap().text;
    let mut arch = text[..text.find("[[body]]\nname = \"stone-1\"").unwrap()].to_owned();
    for i in 0..count {
        let angle = (2 * i + 1) as f64 * half;
        arch += &format!(
            "[[body]]\nname = \"stone-{i}\"\nmaterial = \"stone\"\ndensity = 2500.0\nposition = [{:?}, {:?}]\n\
             angle = {angle:?}\n[[body.shape]]\npolygon = {{ points = [{points}] }}\n",
            centre * angle.cos(),
            centre * angle.sin()
        );
    }
    arch
}

/// The least thickness of such an arch with a line of thrust inside is 0.1015254675 m, by a program
/// in the thrust at the crown and its height, with one inequality for each rim of each joint.
#[test]
fn an_arch_stands_above_its_limit_thickness_and_falls_below() {
    for (thickness, stands) in [(0.1010, false), (0.1020, true), (0.15, true)] {
        let end = to_end(parse(&arch(thickness), "arch.toml").unwrap().simulation());
        let speed = fastest(&end);
        assert!(if stands { speed <= 1e-9 } else { speed > 1e-3 }, "thickness {thickness}: {speed:e}");
    }
    assert!(fastest(&run("arch", &["run.step=0.001", "run.end=0.2"])) <= 1e-9);
    assert!(fastest(&run("arch", &["material.stone.friction=0.3"])) > 0.1);
}

#[test]
fn a_card_house_stands_by_friction() {
    for step in ["run.step=0.01", "run.step=0.001"] {
        assert!(fastest(&run("card-house", &[step, "material.paper.friction=0.165"])) <= 1e-10);
        assert!(fastest(&run("card-house", &[step, "material.paper.friction=0.16"])) > 1e-2);
    }
}

#[test]
fn a_peg_finds_its_hole_and_one_that_is_too_rough_does_not() {
    for step in ["run.step=0.001", "run.step=0.0005"] {
        let end = run("peg-in-hole", &[step]);
        let q = &end.state().q;
        // On the bottom at -0.08 m, within its play of 10 µm.
        assert!((q[1] + 0.05).abs() < 1e-5 && q[0].abs() <= 1.1e-5, "{q:?}");
    }
}

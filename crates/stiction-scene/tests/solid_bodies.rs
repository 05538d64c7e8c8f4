//! Boxes, hulls and meshes on each other: what rests does not creep, what slides goes straight, what
//! is piled up stands, and what is fast does not pass through.

use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_dynamics::{Audit, Simulation};
use stiction_scene::{load, parse_with};

/// A scene in space with gravity (m/s²), a step (s), an end (s), a friction coefficient, bodies as
/// text, and one material.
fn scene(gravity: DVec3, [step, end, friction]: [f64; 3], bodies: &str) -> String {
    format!(
        "format = 1\nname = \"case\"\ndimension = \"space\"\ngravity = {:?}\nrun = {{ step = {step:e}, end = {end:e} }}\n\
         [[material]]\nname = \"wood\"\nfriction = {friction:e}\n{bodies}",
        gravity.to_array()
    )
}

/// A box with its mass (kg) and state; without a mass it is static.
fn cuboid(name: &str, mass: Option<f64>, [size, position, velocity]: [DVec3; 3], turn: DQuat) -> String {
    let DQuat { x, y, z, w } = turn;
    let motion = mass.map_or("kind = \"static\"".to_owned(), |mass| {
        format!("mass = {mass:e}\nvelocity = {:?}", velocity.to_array())
    });
    format!(
        "[[body]]\nname = \"{name}\"\nmaterial = \"wood\"\nposition = {:?}\norientation = [{w:?}, {x:?}, {y:?}, {z:?}]\n{motion}\n\
         [[body.shape]]\nbox = {{ size = {:?} }}\n",
        position.to_array(),
        size.to_array()
    )
}

fn simulation(text: &str, overrides: &[&str]) -> Simulation {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    parse_with(text, "case.toml", &overrides).unwrap().simulation()
}

/// Runs to the end; every step is solved, and the audit finds its laws met.
fn run(mut simulation: Simulation, mut observe: impl FnMut(&Simulation)) -> Simulation {
    let mut audit = Audit::default();
    let end = simulation.run_with(|s| {
        audit.observe(s.system(), s.before(), s.last_step());
        observe(s);
    });
    end.unwrap_or_else(|error| panic!("{error}"));
    assert!(audit.worst.residual <= 1e-10, "residual {:e}", audit.worst.residual);
    simulation
}

/// Gravity on a slope of this angle (rad), downhill along a direction in the plane.
fn on_slope(angle: f64, downhill: DVec3) -> DVec3 {
    9.81 * (angle.sin() * downhill - angle.cos() * DVec3::Z)
}

const BOX: DVec3 = DVec3::new(0.2, 0.3, 0.1);
const TABLE: DVec3 = DVec3::new(40.0, 40.0, 1.0);

/// A box on a large static box whose top is at z = 0, moving with a velocity.
fn box_on_box(velocity: DVec3, turn: DQuat) -> String {
    cuboid("table", None, [TABLE, DVec3::new(0.0, 0.0, -0.5), DVec3::ZERO], DQuat::IDENTITY)
        + &cuboid("box", Some(2.0), [BOX, DVec3::new(0.0, 0.0, 0.05), velocity], turn)
}

#[test]
fn below_the_limit_of_friction_a_box_on_a_box_does_not_creep() {
    let friction = 0.5f64;
    for (step, share, direction) in
        [(0.01, 0.9, DVec3::X), (0.01, 0.99, DVec3::new(0.6, 0.8, 0.0)), (0.001, 0.99, DVec3::X)]
    {
        let gravity = on_slope((share * friction).atan(), direction);
        let text = scene(gravity, [step, 2.0, friction], &box_on_box(DVec3::ZERO, DQuat::from_rotation_z(0.3)));
        let mut fastest = 0.0f64;
        run(simulation(&text, &[]), |s| fastest = s.state().v.iter().fold(fastest, |most, v| most.max(v.abs())));
        assert!(fastest <= 1e-12, "{share} of the limit, step {step}: {fastest:e} m/s");
    }
}

#[test]
fn above_the_limit_it_slides_as_the_closed_form_says() {
    let (friction, end) = (0.5f64, 1.0);
    for share in [1.01, 1.1] {
        let angle = (share * friction).atan();
        let gravity = on_slope(angle, DVec3::X);
        let text = scene(gravity, [0.01, end, friction], &box_on_box(DVec3::ZERO, DQuat::IDENTITY));
        let expected = 9.81 * (angle.sin() - friction * angle.cos());
        let simulation = run(simulation(&text, &["scheme={trapezoidal={}}"]), |_| {});
        let acceleration = simulation.state().v[0] / end;
        assert!((acceleration / expected - 1.0).abs() <= 1e-6, "{acceleration} is not {expected}");
    }
}

#[test]
fn a_box_that_slides_goes_straight_and_does_not_lift() {
    for j in 0..8 {
        let angle = (2.0 + 22.5 * f64::from(j)).to_radians();
        let along = DVec3::new(angle.cos(), angle.sin(), 0.0);
        let bodies = box_on_box(6.0 * along, DQuat::from_rotation_z(angle));
        let text = scene(DVec3::new(0.0, 0.0, -9.81), [0.01, 1.0, 0.3], &bodies);
        let (mut sideways, mut lift) = (0.0f64, 0.0f64);
        run(simulation(&text, &[]), |s| {
            let place = DVec3::from_slice(&s.state().q[..3]);
            sideways = sideways.max(place.dot(along.cross(DVec3::Z)).abs());
            lift = lift.max((place.z - 0.05).abs());
        });
        assert!(sideways <= 1e-12 && lift <= 1e-12, "{j}: {sideways:e} m sideways, {lift:e} m up");
    }
}

/// The largest move of any body from its start, in metres.
fn drift(name: &str, overrides: &[&str]) -> f64 {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let simulation = load(name, &overrides).unwrap().simulation();
    let start = simulation.state().q.clone();
    let mut most = 0.0f64;
    run(simulation, |s| {
        for (now, then) in s.state().q.chunks(7).zip(start.chunks(7)) {
            most = most.max(DVec3::from_slice(&now[..3]).distance(DVec3::from_slice(&then[..3])));
        }
    });
    most
}

#[test]
fn stacks_stand() {
    let ten = drift("stack", &["run.end=10.0"]);
    assert!(ten <= 1e-9, "{ten:e} m");
    let fifty = drift("stack", &["body.cube.copies.count=[1, 1, 50]", "run.end=0.5"]);
    assert!(fifty <= 1e-9, "{fifty:e} m");
}

#[test]
fn the_heavy_do_not_press_the_light_into_the_floor() {
    for mass in [1e3, 1e4] {
        let moved = drift("heavy-on-light", &[&format!("body.heavy.mass={mass:e}"), "run.end=1.0"]);
        assert!(moved <= 1e-9, "{mass} kg: {moved:e} m");
    }
}

#[test]
fn a_box_on_balls_rolls_as_its_closed_form_says() {
    // The header of the scene: a = g sin α (M + n m/2)/(M + 7 n m/20).
    let simulation = load("rolling-box", &[]).unwrap().simulation();
    let end = run(simulation, |_| {});
    let state = end.state();
    let acceleration = 0.9207669006894902;
    let x = state.q[state.q.len() - 7];
    let expected = 0.5 * acceleration * state.t * state.t;
    assert!((x - expected).abs() <= 1e-6 * expected, "{x} is not {expected}");
}

#[test]
fn a_bullet_of_a_millimetre_does_not_pass_a_wall_of_a_millimetre() {
    // 10 m in a step, with and without spin.
    for (spin, step) in [(0.0, 0.01), (300.0, 0.01), (50.0, 0.001)] {
        let bullet = cuboid(
            "bullet",
            Some(1e-5),
            [DVec3::splat(1e-3), DVec3::new(-5.3217, 1e-4, 0.0), DVec3::new(1000.0, 0.0, 0.0)],
            DQuat::IDENTITY,
        )
        .replace("[[body.shape]]", &format!("angular-velocity = [0.0, {spin:e}, 20.0]\n[[body.shape]]"));
        let wall =
            cuboid("wall", None, [DVec3::new(1e-3, 0.5, 0.5), DVec3::ZERO, DVec3::ZERO], DQuat::from_rotation_x(0.2));
        let text = scene(DVec3::ZERO, [step, 5.0 * step, 0.0], &(wall + &bullet));
        let end = run(simulation(&text, &[]), |_| {});
        let x = end.state().q[0];
        assert!(x < 0.0, "spin {spin} rad/s, step {step} s: at x = {x} m");
    }
}

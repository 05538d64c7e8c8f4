//! The four-bar linkage with play in one joint: the pin in its hole, and the ideal linkage as the
//! limit of no play.

use stiction_dynamics::{Simulation, StepKind};
use stiction_scene::{builtin, load, parse};

const CRANK: f64 = 0.1;
const COUPLER: f64 = 0.25;
const ROCKER: f64 = 0.2;
const PIVOTS: f64 = 0.25;
const SPEED: f64 = 30.0;
const PIN: f64 = 0.01;

fn linkage(overrides: &[String]) -> Simulation {
    load("four-bar-clearance", overrides).unwrap().simulation()
}

/// Centre of the pin, on the rocker, less centre of the hole, on the coupler.
fn eccentricity(q: &[f64]) -> [f64; 2] {
    let at = |body: usize, arm: f64| {
        let (sin, cos) = q[3 * body + 2].sin_cos();
        [q[3 * body] + arm * cos, q[3 * body + 1] + arm * sin]
    };
    let (pin, hole) = (at(2, 0.5 * ROCKER), at(1, 0.5 * COUPLER));
    [pin[0] - hole[0], pin[1] - hole[1]]
}

/// Angle of the rocker of the ideal linkage: the end of coupler and rocker is where their circles
/// meet.
fn ideal_rocker(t: f64) -> f64 {
    let (sin, cos) = (SPEED * t).sin_cos();
    let b = [CRANK * cos, CRANK * sin];
    let to_pivot = [PIVOTS - b[0], -b[1]];
    let f = to_pivot[0].hypot(to_pivot[1]);
    let along = (COUPLER * COUPLER - ROCKER * ROCKER + f * f) / (2.0 * f);
    let across = (COUPLER * COUPLER - along * along).sqrt();
    let u = [to_pivot[0] / f, to_pivot[1] / f];
    let c = [b[0] + along * u[0] - across * u[1], b[1] + along * u[1] + across * u[0]];
    c[1].atan2(c[0] - PIVOTS)
}

/// With other friction, play and step.
fn changed(mu: f64, play: f64, h: f64) -> Vec<String> {
    vec![
        format!("material.steel.friction={mu}"),
        format!("body.coupler.shape.0.ring.radius={}", PIN + play),
        format!("run.step={h}"),
    ]
}

/// What a run shows.
#[derive(Debug, Default)]
struct Seen {
    /// Largest distance of the centres less the play, in metres.
    beyond: f64,
    /// Largest difference from the angle of the ideal rocker, in radians.
    off: f64,
    /// Mean square of the difference from its rate, in rad²/s².
    rate_off: f64,
    /// Sum of the normal impulses on the coupler up to every 20 ms, in N s.
    impulses: Vec<[f64; 2]>,
    /// Largest rate of the rocker, in rad/s.
    fastest: f64,
}

/// Keeps a value whenever another 20 ms are over.
fn sample(t: f64, value: [f64; 2], samples: &mut Vec<[f64; 2]>) {
    if t > 0.02 * (samples.len() + 1) as f64 - 1e-9 {
        samples.push(value);
    }
}

fn see(overrides: &[String], play: f64) -> Seen {
    let (mut seen, mut impulse) = (Seen::default(), [0.0; 2]);
    linkage(overrides)
        .run_with(|s| {
            let (state, step) = (s.state(), s.last_step());
            let e = eccentricity(&state.q);
            seen.beyond = seen.beyond.max(e[0].hypot(e[1]) - play);
            seen.off = seen.off.max((state.q[8] - ideal_rocker(state.t)).abs());
            seen.fastest = seen.fastest.max(state.v[8].abs());
            let ideal = (ideal_rocker(state.t + 1e-6) - ideal_rocker(state.t - 1e-6)) / 2e-6;
            seen.rate_off += step.h * (state.v[8] - ideal).powi(2);
            for (contact, part) in step.contacts.iter().zip(&step.solution.contacts) {
                let normal = contact.frame.unwrap().normal;
                impulse = [impulse[0] + normal[0] * part.normal, impulse[1] + normal[1] * part.normal];
            }
            sample(state.t, impulse, &mut seen.impulses);
        })
        .unwrap();
    seen
}

#[test]
fn the_pin_stays_in_its_hole() {
    let (play, mu) = (5e-4, 0.1);
    let (mut impacts, mut carried, mut sides) = (0, 0.0, [0.0f64; 4]);
    linkage(&[])
        .run_with(|s| {
            let step = s.last_step();
            let e = eccentricity(&s.state().q);
            let distance = e[0].hypot(e[1]);
            // A contact that is carried takes back what the curvature of a step cost it, here
            // 3.4e-7 m; at a quarter of the step, 6e-9 m.
            assert!(distance <= play + 1e-6, "{distance} at {}", s.state().t);
            sides = [sides[0].min(e[0]), sides[1].max(e[0]), sides[2].min(e[1]), sides[3].max(e[1])];
            impacts += usize::from(step.kind == StepKind::Impact);
            for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
                if impulse.normal == 0.0 {
                    continue;
                }
                carried += step.h;
                // The coupler is pushed to the side on which the pin is, up to the turn of the
                // normal within a step.
                let normal = contact.frame.unwrap().normal;
                assert!(impulse.normal > 0.0 && (normal[0] * e[0] + normal[1] * e[1]) / distance > 0.9);
                assert!(impulse.tangent[0].abs() <= mu * impulse.normal * (1.0 + 1e-9));
            }
        })
        .unwrap();
    assert!(impacts > 5, "{impacts} impacts");
    assert!(carried > 0.4, "carried for {carried} s of 0.5 s");
    assert!(sides.iter().all(|side| side.abs() > 0.8 * play), "it has not been everywhere: {sides:?}");
}

#[test]
fn with_little_play_it_is_the_ideal_linkage() {
    // A shift of the pin in the hole by e turns the rocker by e·u/(c sin γ) with u along the
    // coupler, and the transmission angle γ is smallest with the crank towards the other pivot: cos
    // γ = (b² + c² - (d - a)²)/(2 b c) = 0.8. So at most 8.33/m of the play, which the pin uses
    // fully. At 5e-6 m, what it goes beyond is up to 0.6 % of it.
    let worst = 1.0 / (ROCKER * 0.6);
    let mut last = f64::INFINITY;
    for play in [5e-4, 5e-5, 5e-6] {
        let seen = see(&changed(0.1, play, 2.5e-5), play);
        assert!(seen.off < 1.01 * worst * play, "{play}: {seen:?}");
        assert!(seen.off > 0.99 * worst * play, "{play}: {seen:?}");
        assert!(seen.rate_off < 0.2 * last, "{play}: {seen:?}, before {last}");
        last = seen.rate_off;
    }
}

#[test]
fn without_friction_it_carries_what_the_ideal_joint_carries() {
    let text = builtin::all().iter().find(|scene| scene.name == "four-bar-clearance").unwrap().text;
    let joint = "[[joint]]\nname = \"C\"\nbodies = [\"coupler\", \"rocker\"]\n\
                 revolute = { frames = [{ point = [0.125, 0.0] }, { point = [0.1, 0.0] }] }\n";
    let text = format!("{text}{joint}").replace("step = 0.0001", "step = 2.5e-5");
    let mut simulation = parse(&text, "ideal.toml").unwrap().simulation();
    let names = simulation.system().joint_names();
    let [x, y] = ["C.x", "C.y"].map(|row| names.iter().position(|name| name == row).unwrap());
    let (mut impulse, mut ideal) = ([0.0; 2], Vec::new());
    simulation
        .run_with(|s| {
            assert!(s.last_step().contacts.is_empty(), "jointed bodies do not collide");
            let joints = &s.last_step().solution.joints;
            impulse = [impulse[0] + joints[x], impulse[1] + joints[y]];
            sample(s.state().t, impulse, &mut ideal);
            assert!((s.state().q[8] - ideal_rocker(s.state().t)).abs() < 1e-7, "{}", s.state().t);
        })
        .unwrap();
    assert_eq!(ideal.len(), 25);
    // Forces agree only in the mean over flights and impacts, and impulses up to the speeds across
    // the play, which shrink slowly.
    for (play, tolerance) in [(5e-4, 0.3), (5e-5, 0.06), (5e-6, 0.02)] {
        let seen = see(&changed(0.0, play, 2.5e-5), play);
        let differences = seen.impulses.iter().zip(&ideal).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]));
        let worst = differences.fold(0.0, f64::max);
        assert!(worst < tolerance, "{play}: {worst} N s of {:?}", ideal.last());
    }
}

#[test]
fn steps_too_long_for_the_play_stay_bounded() {
    // In 0.3 ms the pin would run several times around a hole of 5 µm. Before such steps were
    // halved, its speed grew without bound.
    for (play, h) in [(5e-5, 1e-3), (5e-6, 1e-4), (5e-6, 3e-4), (5e-7, 1e-4)] {
        for mu in [0.0, 0.1] {
            let seen = see(&changed(mu, play, h), play);
            // What is left is the curvature of the links' own paths in a step: relative
            // accelerations of some 100 m/s².
            assert!(seen.beyond < 500.0 * h * h, "{mu} {play} {h}: {seen:?}");
            assert!(seen.fastest < 25.0, "{mu} {play} {h}: {seen:?}");
        }
    }
}

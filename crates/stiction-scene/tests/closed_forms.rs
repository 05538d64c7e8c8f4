//! Built-in scenes against closed forms, and against what their headers say there is to see.

use stiction_dynamics::{Contact, Simulation};
use stiction_scene::load;

fn run(scene: &str, overrides: &[&str], observe: impl FnMut(&Simulation)) -> Simulation {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let mut simulation = load(scene, &overrides).unwrap().build().unwrap();
    simulation.run_with(observe).unwrap();
    simulation
}

/// How far the z axis of the first body leans from the vertical, in radians.
fn tilt(q: &[f64]) -> f64 {
    let (x, y) = (q[4], q[5]);
    (1.0 - 2.0 * (x * x + y * y)).clamp(-1.0, 1.0).acos()
}

#[test]
fn a_bead_in_a_ring_is_a_pendulum() {
    // v = 2 m/s at the bottom of 1 m: amplitude 2 asin(v/(2√(g r))), period 4 K(sin(amplitude/2))/√(g/r) = 2.060346 s.
    let (amplitude, period) = (0.649929600112763, 2.060346217396023);
    let (mut largest, mut crossings, mut last) = (0.0f64, Vec::new(), 0.0f64);
    run("bead-in-ring", &[], |s| {
        let (x, y) = (s.state().q[0], s.state().q[1]);
        assert!((x.hypot(y) - 1.0).abs() < 1e-10, "it stays on the ring");
        largest = largest.max(x.atan2(-y));
        if last < 0.0 && x >= 0.0 {
            crossings.push(s.state().t);
        }
        last = x;
    });
    // Order one: about a share h/T·2π of both.
    assert!((largest - amplitude).abs() < 1e-3, "{largest} is not {amplitude}");
    assert!((crossings[0] - period).abs() < 1e-3, "{crossings:?} is not {period}");
}

#[test]
fn a_fast_bead_leaves_the_ring() {
    // With 5 m/s it leaves at cos θ = (2 - v²/(g r))/3 from the bottom, beyond the horizontal.
    let g = 9.81;
    let expected = (2.0 - 25.0 / g) / 3.0f64;
    let mut left = None;
    run("bead-in-ring", &["body.bead.velocity=[5.0, 0.0]", "run.end=1.0"], |s| {
        let radius = s.state().q[0].hypot(s.state().q[1]);
        if left.is_none() && radius < 1.0 - 1e-7 {
            left = Some(-s.state().q[1]);
        }
    });
    let left = left.expect("it leaves");
    assert!((left - expected).abs() < 0.01, "cos θ = {left}, not {expected}");
}

#[test]
fn a_marble_leaves_the_sphere_at_two_thirds() {
    let (mut left, mut contacts) = (None, Vec::<Contact>::new());
    run("marble-outside-sphere", &[], |s| {
        contacts.clear();
        s.system().contacts(s.state().t, &s.state().q, 1e-9, &mut contacts);
        if left.is_none() && contacts.is_empty() {
            left = Some((s.state().t, s.state().q[2]));
        }
    });
    let (t, height) = left.expect("it leaves");
    // Leaving is where a force passes through zero, so the error of order one shows.
    assert!((t - 0.463081).abs() < 1e-3 && (height - 2.0 / 3.0).abs() < 1e-3, "{t} {height}");
}

#[test]
fn a_sliding_ball_rolls_in_the_end() {
    // 2 v/(7 μ g), and 12 v²/(49 μ g) of way until then.
    let mut rolling = None;
    let simulation = run("slide-to-roll", &[], |s| {
        let v = &s.state().v;
        if rolling.is_none() && (v[0] - 0.1 * v[4]).abs() < 1e-12 {
            rolling = Some((s.state().t, s.state().q[0]));
        }
    });
    let (t, x) = rolling.expect("it rolls");
    let h = 5e-4;
    assert!((0.0..=h).contains(&(t - 0.194165)), "{t}");
    assert!((x - 0.332855).abs() < 2.0 * h * 1.43, "{x}");
    assert!((simulation.state().v[0] - 1.428571).abs() < 1e-6, "{:?}", simulation.state());
}

#[test]
fn springing_turns_into_swinging_and_back() {
    let (mut springing, mut swinging) = (Vec::new(), Vec::new());
    let window = 2.0;
    let mut next = 0.0;
    run("elastic-pendulum", &[], |s| {
        if s.state().t >= next {
            next += window;
            springing.push(0.0f64);
            swinging.push(0.0f64);
        }
        let (x, y) = (s.state().q[0], s.state().q[1]);
        *springing.last_mut().unwrap() = springing.last().unwrap().max((y + 1.0).abs());
        *swinging.last_mut().unwrap() = swinging.last().unwrap().max(x.abs());
    });
    // Up and down at first, from side to side after 6 s, and up and down again at 12 s.
    assert!(springing[0] > 0.19 && swinging[0] < 0.15, "{springing:?} {swinging:?}");
    assert!(swinging[3] > 0.35, "{swinging:?}");
    assert!(springing[5] > 0.19 && swinging[5] < 0.2, "{springing:?} {swinging:?}");
}

#[test]
fn a_rattleback_turns_back_one_way_only() {
    let spin = |overrides: &[&str]| *run("rattleback", overrides, |_| {}).state().v.last().unwrap();
    let back = spin(&["run.step=5e-5"]);
    assert!(back > 0.3, "{back}");
    let on = spin(&["run.step=5e-5", "body.stone.angular-velocity=[0.0, 0.0, 5.0]"]);
    assert!(on > 4.0, "{on}");
}

#[test]
fn a_tippe_top_turns_upside_down_by_friction() {
    let simulation = run("tippe-top", &[], |_| {});
    let q = &simulation.state().q;
    assert!(tilt(q) > 2.8, "{}", tilt(q));
    // On its stem: the middle of the small ball is 5 mm high.
    let axis_height = (1.0 - 2.0 * (q[4] * q[4] + q[5] * q[5])) * 0.016;
    assert!((q[2] + axis_height - 0.005).abs() < 1e-6, "{q:?}");
    let smooth = run("tippe-top", &["material.wood.friction=0"], |_| {});
    assert!(tilt(&smooth.state().q) < 0.3, "{}", tilt(&smooth.state().q));
}

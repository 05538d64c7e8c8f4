//! The event-driven scheme on scenes: closed forms, published events, and every built-in scene.

use stiction_dynamics::{Audit, ContactMode, Event, ModeTracker, RowRates, Simulation, State, StepError, StepKind};
use stiction_scene::{builtin, load, parse};

/// What happened in a run.
struct Record {
    events: Vec<Event>,
    audit: Audit,
    /// States at the times of the grid.
    states: Vec<State>,
    kinds: Vec<StepKind>,
    /// Ends of all steps, in seconds.
    ends: Vec<f64>,
}

impl Record {
    fn first(&self, from: ContactMode, to: ContactMode) -> f64 {
        self.events.iter().find(|event| event.from == from && event.to == to).expect("the event happens").t
    }

    fn end(&self) -> &State {
        self.states.last().unwrap()
    }
}

fn observe(simulation: &mut Simulation) -> Result<Record, StepError> {
    let mut tracker = ModeTracker::default();
    let mut record =
        Record { events: Vec::new(), audit: Audit::default(), states: Vec::new(), kinds: Vec::new(), ends: Vec::new() };
    record.states.push(simulation.state().clone());
    while !simulation.is_finished() {
        let done = simulation.steps_done();
        simulation.step()?;
        let (before, step) = (simulation.before(), simulation.last_step());
        tracker.observe(before, step, &mut record.events);
        record.audit.observe(simulation.system(), before, step);
        record.kinds.push(step.kind);
        record.ends.push(step.state.t);
        if simulation.steps_done() > done {
            record.states.push(simulation.state().clone());
        }
    }
    Ok(record)
}

fn run(scene: &str, overrides: &[&str]) -> Record {
    let mut all = vec!["scheme={event-driven={}}".to_owned()];
    all.extend(overrides.iter().map(|&text| text.to_owned()));
    observe(&mut load(scene, &all).unwrap().simulation()).unwrap()
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let error = found - expected;
    assert!(error.abs() <= tolerance, "{what}: {found:.13} and not {expected:.13}, off by {error:.1e}");
}

/// The certificate of a run that is exact up to rounding.
#[track_caller]
fn assert_certified(audit: &Audit) {
    assert_certified_from(audit, 0.0);
}

/// The same for a start that penetrates.
#[track_caller]
fn assert_certified_from(audit: &Audit, penetration: f64) {
    let worst = &audit.worst;
    for (what, value, limit) in [
        ("penetration", worst.penetration - penetration, 1e-12),
        ("cone violation", worst.cone_violation, 1e-9),
        ("complementarity", worst.complementarity, 1e-9),
        ("dissipation defect", worst.dissipation_defect, 1e-9),
        ("momentum", worst.momentum, 1e-9),
        ("joint drift", worst.joint_drift, 1e-12),
        ("kinetic balance", worst.kinetic_balance, 1e-10),
        ("residual", worst.residual, 1e-10),
        ("unexplained energy", worst.energy.unexplained, 1e-9),
    ] {
        assert!(value.abs() <= limit, "{what}: {value:e} above {limit:e}");
    }
}

/// Reference: an event-driven computation of its own; the digits are those that it printed.
#[test]
fn a_ball_between_two_spheres_rolls_then_slides_then_falls() {
    let valley = run("sphere-valley", &["run.step=0.1", "run.end=4"]);
    // The steps that do not end on the grid end with an event.
    let events: Vec<f64> =
        valley.ends.iter().copied().filter(|t| (10.0 * t - (10.0 * t).round()).abs() > 1e-6).collect();
    let [begins, first_breaks, second_breaks] = events[..] else { panic!("three events, and not {events:?}") };
    assert_close(begins, 2.94480675774, 1e-10, "the second contact slides");
    assert_close(first_breaks, 3.213205817, 1e-9, "the first contact breaks");
    assert_close(second_breaks, 3.701600417, 1e-9, "the second contact breaks");
    let expected = [
        (1, [0.25144318956, 8.78057164268, 0.53629065817, -0.01535738664, 0.00733921425, 0.47128000556, 0.25629048296]),
        (2, [1.22047967649, 8.69897070975, 1.52477259543, -0.21392806414, 0.10223509592, 1.35250470012, 0.72868079824]),
        (3, [3.65058248, 7.98967519, 3.52643698, -1.61127314, 0.76754061, 3.40385091, 1.68188947]),
    ];
    for (t, numbers) in expected {
        let State { q, v, .. } = valley.states.iter().find(|state| (state.t - t as f64).abs() < 1e-9).unwrap();
        // The reference has eleven digits while the second contact rolls, eight when it slides.
        let tolerance = if t < 3 { 2e-11 } else { 6e-9 };
        // x, z, vx, vz, ω; the ball turns in world axes.
        let found = [q[0], q[2], v[0], v[2], v[3], v[4], v[5]];
        for (found, expected) in found.into_iter().zip(numbers) {
            assert_close(found, expected, tolerance, &format!("state at {t} s"));
        }
        assert_close(q[1], 6.62105263158, 1e-11, "y");
    }
}

#[test]
fn a_ball_comes_to_rest_through_infinitely_many_bounces() {
    for (e, rest) in [(0.8, 4.063713), (0.5, 1.354571)] {
        let ball = run("bouncing-ball", &["run.step=0.1", &format!("material.rubber.restitution={e}")]);
        let exact = (2.0f64 / 9.81).sqrt() * (1.0 + e) / (1.0 - e);
        assert_close(exact, rest, 1e-6, "the closed form");
        // The last event closes the contact. What the closing speed leaves out is 2 e v_c / ((1 -
        // e) g).
        let closed = ball.events.last().unwrap();
        assert!(closed.to != ContactMode::Open && closed.to != ContactMode::Impact, "{closed:?}");
        assert_close(closed.t, exact, 1e-9, "rest");
        assert_close(ball.end().q[1], 0.1, 1e-15, "height at rest");
        assert_eq!(ball.end().v[1], 0.0);
        assert!(ball.kinds.iter().filter(|kind| **kind == StepKind::Impact).count() > 30);
        assert_certified(&ball.audit);
    }
}

#[test]
fn a_block_slides_to_a_stop() {
    let block = run("sliding-block", &["method={cone={}}", "run.step=0.05"]);
    let (v, mu, g) = (6.0, 0.5, 9.81);
    assert_close(block.first(ContactMode::Slip, ContactMode::Stick), v / (mu * g), 1e-12, "time of the stop");
    let way = v * v / (2.0 * mu * g);
    let angle = 2f64.to_radians();
    assert_close(block.end().q[0], way * angle.cos(), 1e-12, "x");
    assert_close(block.end().q[1], way * angle.sin(), 1e-12, "y");
    assert!(block.end().v.iter().all(|v| v.abs() < 1e-12), "{:?}", block.end().v);
    assert_certified(&block.audit);
}

/// Four contacts share a load in infinitely many ways; some of them are beyond the bound of a
/// contact, and the motion is the same.
#[test]
fn a_block_holds_up_to_its_friction_limit_and_slides_beyond() {
    let block = |mu: &str, end: &str| {
        let own = [format!("material.wood.friction={mu}"), format!("run.end={end}"), "method={cone={}}".into()];
        run("incline", &[&own[0], &own[1], &own[2], "run.step=0.1"])
    };
    let holds = block("0.5", "10.0");
    let (start, end) = (&holds.states[0], holds.end());
    assert!(start.q.iter().zip(&end.q).all(|(a, b)| (a - b).abs() < 1e-15), "{end:?}");
    assert!(end.v.iter().all(|v| v.abs() < 1e-15), "{end:?}");
    assert_certified(&holds.audit);

    let slope = 0.495f64.atan();
    let slides = block("0.49", "1.0");
    let way = 0.5 * 9.81 * (slope.sin() - 0.49 * slope.cos());
    let (start, end) = (&slides.states[0], slides.end());
    assert_close(end.q[0] - start.q[0], way * slope.cos(), 1e-12, "x");
    assert_close(end.q[1] - start.q[1], 0.0, 1e-12, "y");
    assert_close(end.q[2] - start.q[2], -way * slope.sin(), 1e-12, "z");
    assert_certified(&slides.audit);
}

#[test]
fn a_sliding_ball_begins_to_roll() {
    let ball = run("slide-to-roll", &["run.step=0.05"]);
    let (v, mu, g) = (2.0, 0.3, 9.81);
    let t = 2.0 * v / (7.0 * mu * g);
    assert_close(ball.first(ContactMode::Slip, ContactMode::Stick), t, 1e-12, "time of rolling");
    assert_close(ball.end().v[0], 5.0 / 7.0 * v, 1e-12, "speed of rolling");
    let way = v * t - 0.5 * mu * g * t * t + 5.0 / 7.0 * v * (0.5 - t);
    assert_close(ball.end().q[0], way, 1e-12, "way");
    assert_certified(&ball.audit);
}

#[test]
fn torsion_with_its_own_bound_ends_at_its_own_time() {
    // The ball of above also spins about the normal, which friction in the plane does not feel.
    let (v, mu, g, e, radius, spin) = (2.0f64, 0.3, 9.81, 0.02, 0.1, 3.0);
    let separate = ["material.wood.torsion-radius=0.02", "material.wood.torsion=separate"];
    let overrides = ["run.step=0.05", "run.end=0.5", "body.ball.angular-velocity=[0.0,0.0,3.0]"];
    let ball = run("slide-to-roll", &[&overrides[..], &separate[..]].concat());
    let (rolls, stops) = (2.0 * v / (7.0 * mu * g), 0.4 * radius * radius * spin / (mu * g * e));
    let off_grid = ball.ends.iter().copied().filter(|t| (20.0 * t - (20.0 * t).round()).abs() > 1e-6);
    let mut events: Vec<f64> = off_grid.collect();
    events.sort_by(f64::total_cmp);
    assert_eq!(events.len(), 2, "{events:?}");
    assert_close(events[0], rolls.min(stops), 1e-12, "first event");
    assert_close(events[1], rolls.max(stops), 1e-12, "second event");
    assert_close(ball.end().v[0], 5.0 / 7.0 * v, 1e-12, "speed of rolling");
    assert_close(ball.end().v[5], 0.0, 1e-13, "spin");
    assert_certified(&ball.audit);
    // With one bound for both, sliding ends later and spinning with it.
    let coupled = run("slide-to-roll", &[&overrides[..], &separate[..1]].concat());
    assert!(coupled.first(ContactMode::Slip, ContactMode::Stick) > rolls.max(stops) + 1e-3);
    assert_certified(&coupled.audit);
}

/// Sliding to the left under an angle at which no acceleration exists: a shock stops the end, and
/// the rod turns about it.
#[test]
fn the_rod_of_painleve_is_stopped_by_a_shock() {
    let rod = run("painleve-rod", &["run.end=0.2", "run.step=0.01"]);
    assert_eq!(rod.kinds[0], StepKind::Shock);
    assert_eq!((rod.events[0].t, rod.events[0].to), (0.0, ContactMode::Shock));
    assert_eq!((rod.events[1].from, rod.events[1].to), (ContactMode::Shock, ContactMode::Stick));
    // The end stops: the angular momentum about it, m v sin θ, goes on with the moment of inertia
    // 4/3 m.
    let theta = 2f64.atan();
    let mut first = load("painleve-rod", &["scheme={event-driven={}}".to_owned()]).unwrap().simulation();
    first.step().unwrap();
    assert_close(first.state().v[2], 0.75 * theta.sin(), 1e-10, "spin after the shock");
    // Then it turns freely about the end: ½ (4/3) ω² + g sin θ stays.
    let energy = |state: &State| 2.0 / 3.0 * state.v[2] * state.v[2] + 9.81 * state.q[2].sin();
    // The shock asks the end to part with half the closing speed, 5e-11 m/s, so that it is not left
    // as it is.
    assert_close(energy(rod.end()), energy(first.state()), 1e-10, "energy about the end");
    assert_certified(&rod.audit);
}

/// The complete elliptic integral of the first kind, by the arithmetic-geometric mean.
fn elliptic(k: f64) -> f64 {
    let (mut a, mut b) = (1.0, (1.0 - k * k).sqrt());
    for _ in 0..10 {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    std::f64::consts::PI / (a + b)
}

#[test]
fn a_bead_in_a_ring_keeps_the_period_of_a_pendulum() {
    // 2 m/s at the bottom of 1 m: sin(amplitude/2) = v/(2√(g r)).
    let k = 1.0 / 9.81f64.sqrt();
    let period = 4.0 * elliptic(k) / 9.81f64.sqrt();
    let bead = run("bead-in-ring", &[&format!("run.end={period:?}"), &format!("run.step={:?}", period / 32.0)]);
    assert_close(bead.end().q[0], 0.0, 1e-10, "x after a period");
    assert_close(bead.end().v[0], 2.0, 1e-10, "velocity after a period");
    assert_certified(&bead.audit);
    // With 5 m/s it leaves at cos θ = (2 - v²/(g r))/3 from the bottom.
    let fast = run("bead-in-ring", &["body.bead.velocity=[5.0, 0.0]", "run.end=0.6", "run.step=0.01"]);
    let opens = fast.events.iter().find(|event| event.to == ContactMode::Open).unwrap().t;
    let cosine = (2.0 - 25.0 / 9.81) / 3.0;
    // On the way v² = 25 - 2 g (1 - cos θ): the time by quadrature of dθ/v.
    let (end, cells): (f64, u32) = (f64::acos(cosine), 20_000);
    let width = end / f64::from(cells);
    let slowness = |angle: f64| 1.0 / (25.0 - 2.0 * 9.81 * (1.0 - angle.cos())).sqrt();
    let time: f64 = (0..cells)
        .map(|cell| {
            let from = f64::from(cell) * width;
            width / 6.0 * (slowness(from) + 4.0 * slowness(from + 0.5 * width) + slowness(from + width))
        })
        .sum();
    assert_close(opens, time, 1e-10, "it leaves the ring");
}

const PENDULUM: &str = r#"
format = 1
name = "hinged-bar"
dimension = "DIMENSION"
gravity = GRAVITY
[run]
step = 0.1
end = 3.0
[scheme.event-driven]
[[body]]
name = "bar"
position = POSITION
mass = 2.0
inertia = INERTIA
[[joint]]
name = "hinge"
bodies = ["bar"]
HINGE
"#;

/// A bar of inertia J about its centre, hinged at the distance a, starts horizontally: a pendulum
/// of length l = a + J/(m a) and amplitude 90°.
#[test]
fn a_hinged_bar_keeps_the_period_of_a_pendulum() {
    let (a, inertia, mass, g) = (0.5, 0.3, 2.0, 9.81);
    let length: f64 = a + inertia / (mass * a);
    let period = 4.0 * elliptic(0.5f64.sqrt()) * (length / g).sqrt();
    let plane = PENDULUM
        .replace("DIMENSION", "plane")
        .replace("GRAVITY", "[0.0, -9.81]")
        .replace("POSITION", "[0.5, 0.0]")
        .replace("INERTIA", "0.3")
        .replace("HINGE", "revolute = { anchor = [0.0, 0.0] }");
    let space = PENDULUM
        .replace("DIMENSION", "space")
        .replace("GRAVITY", "[0.0, -9.81, 0.0]")
        .replace("POSITION", "[0.5, 0.0, 0.0]")
        .replace("INERTIA", "[0.1, 0.35, 0.3]")
        .replace("HINGE", "revolute = { anchor = [0.0, 0.0, 0.0], axis = [0.0, 0.0, 1.0] }");
    for text in [plane, space] {
        let text = text.replace("end = 3.0", &format!("end = {period:?}")).replace("step = 0.1", "step = 0.05");
        let bar = observe(&mut parse(&text, "hinged-bar.toml").unwrap().simulation()).unwrap();
        assert_close(bar.end().q[0], 0.5, 1e-10, "x after a period");
        assert_close(bar.end().q[1], 0.0, 1e-10, "y after a period");
        assert_certified(&bar.audit);
    }
}

/// What a recording shows of a step are its impulses: the integrals of forces that are known.
#[test]
fn impulses_of_a_step_are_the_integrals_of_its_forces() {
    let (mass, mu, g) = (1.0, 0.5, 9.81);
    let overrides = ["scheme={event-driven={}}", "method={cone={}}", "run.step=0.05", "run.end=1.0"];
    let mut block = load("sliding-block", &overrides.map(str::to_owned)).unwrap().simulation();
    block
        .run_with(|s| {
            let step = s.last_step();
            let mut momentum = vec![0.0; step.state.v.len()];
            for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
                contact.normal.add_to(impulse.normal, &mut momentum);
                contact.tangents.iter().zip(impulse.tangent).for_each(|(row, c)| row.add_to(c, &mut momentum));
            }
            assert_close(momentum[2], mass * g * step.h, 1e-13, "weight");
            let friction = momentum[0].hypot(momentum[1]);
            assert_close(friction, mu * mass * g * step.h, 1e-13, "friction");
            assert!(momentum[0] < 0.0, "against the sliding");
            assert_close(step.force[2], -mass * g, 1e-12, "mean force");
        })
        .unwrap();

    // Over a period a bar takes no momentum, so that its hinge gives back what gravity does.
    let (mass, length) = (2.0, 0.5f64 + 0.3 / (2.0 * 0.5));
    let period = 4.0 * elliptic(0.5f64.sqrt()) * (length / g).sqrt();
    let bar = PENDULUM
        .replace("DIMENSION", "plane")
        .replace("GRAVITY", "[0.0, -9.81]")
        .replace("POSITION", "[0.5, 0.0]")
        .replace("INERTIA", "0.3")
        .replace("HINGE", "revolute = { anchor = [0.0, 0.0] }")
        .replace("end = 3.0", &format!("end = {period:?}"))
        .replace("step = 0.1", "step = 0.05");
    let mut bar = parse(&bar, "hinged-bar.toml").unwrap().simulation();
    let mut momentum = vec![0.0; 3];
    bar.run_with(|s| {
        let step = s.last_step();
        let rows = step.joints.iter().zip(&step.solution.joints);
        rows.for_each(|(joint, impulse)| joint.row.add_to(*impulse, &mut momentum));
    })
    .unwrap();
    assert_close(momentum[0], 0.0, 1e-9, "momentum across");
    assert_close(momentum[1], mass * g * period, 1e-9, "momentum against gravity");
}

/// Rates of rows in closed form against extrapolated differences, on every scene: joints, contacts
/// of all shapes, friction, stops.
#[test]
fn rates_of_rows_agree_with_differences() {
    // Its pins start in the middle of their holes, where a normal has no rate.
    let is_compared = |name: &str| name != "four-bar-clearance";
    for scene in builtin::mechanisms().filter(|scene| is_compared(scene.name)) {
        let simulation = load(scene.name, &[]).unwrap().simulation();
        let (system, start) = (simulation.system(), simulation.state());
        let n = system.velocity_count();
        for trial in 0..4 {
            // Multiples of the golden ratio, without their whole parts, for velocities in no
            // special relation.
            let v: Vec<f64> =
                (0..n).map(|i| ((i + 7 * trial + 1) as f64 * 0.618_033_988_749_895).fract() - 0.5).collect();
            let mut q = start.q.clone();
            system.advance(0.0, &start.q, &v, 0.1 * trial as f64, &mut q);
            let (t, mut contacts, mut friction, mut joints) = (0.2, Vec::new(), Vec::new(), Vec::new());
            system.contacts(t, &q, f64::INFINITY, &mut contacts);
            system.friction_elements(t, &q, &mut friction);
            system.joints(t, &q, &mut joints);
            let (mut exact, mut differences) = (RowRates::default(), RowRates::default());
            system.row_rates(t, &q, &v, (&contacts, &friction, &joints), &mut exact);
            differences.by_differences(system, (t, &q, &v), (&contacts, &friction, &joints));
            let flat = |rates: &RowRates| -> Vec<f64> {
                let tangents = rates.tangents.iter().chain(&rates.friction).flatten();
                rates.normals.iter().chain(tangents).chain(&rates.joints).copied().collect()
            };
            for (number, (a, b)) in flat(&exact).iter().zip(flat(&differences)).enumerate() {
                let name = scene.name;
                // A wrong term would be off by its own size; the differences are poor where a
                // tangent turns fast.
                assert!((a - b).abs() <= 1e-5 * (1.0 + a.abs()), "{name}, row {number} of trial {trial}: {a} and {b}");
            }
        }
    }
}

/// The shorter end of a long scene, and the exact cone where the scene has a polygon.
fn own_settings(scene: &str) -> Vec<&'static str> {
    match scene {
        "andrews" => vec!["run.end=0.003"],
        "bricard" => vec!["run.end=0.1"],
        "four-bar-clearance" => vec!["run.end=0.03"],
        "rattleback" => vec!["run.end=0.2", "run.step=0.001"],
        "tippe-top" => vec!["run.end=2.0", "run.step=0.01"],
        "four-balls" | "incline" | "sliding-block" | "two-balls" => vec!["method={cone={}}", "run.step=0.02"],
        _ => vec![],
    }
}

#[test]
fn every_built_in_mechanism_is_certified_and_repeats_to_the_bit() {
    for scene in builtin::mechanisms() {
        if scene.name == "sphere-spin-misaligned" {
            // Its friction set is a polytope, and so is its method.
            let refused = load(scene.name, &["scheme={event-driven={}}".to_owned()]).unwrap_err().to_string();
            assert!(refused.contains("exact friction cone"), "{refused}");
            continue;
        }
        let settings = own_settings(scene.name);
        let (first, second) = (run(scene.name, &settings), run(scene.name, &settings));
        println!("{}", scene.name);
        // The start of the paper is rounded.
        assert_certified_from(&first.audit, if scene.name == "woodpecker" { 8.8e-7 } else { 0.0 });
        assert!(first.states.len() > 2 && first.states == second.states, "{} does not repeat", scene.name);
    }
}

/// A ball whose bounces accumulate: too few events are allowed, or bounces of any speed count. What
/// to try must be keys that a scene may have.
#[test]
fn an_instant_without_an_end_names_its_contacts_and_keys_that_exist() {
    let cases = [("event-limit=3", "more than 3 events"), ("closing-speed=1e-300", "time stands still")];
    for (setting, reason) in cases {
        let overrides = [format!("scheme={{event-driven={{{setting}}}}}"), "run.step=1.0".to_owned()];
        let error = observe(&mut load("bouncing-ball", &overrides).unwrap().simulation()).err().unwrap();
        assert!(matches!(error, StepError::Instant { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains("ball/floor#0"), "{text}");
        let (settings, _) = text.split_once(" of the scheme `event-driven`").expect(&text);
        let (_, settings) = settings.split_once("raise ").expect(&text);
        let keys: Vec<&str> = settings.split('`').skip(1).step_by(2).collect();
        assert!(keys.len() >= 2, "{text}");
        for key in keys {
            load("bouncing-ball", &[format!("scheme={{event-driven={{{key}=4}}}}")]).expect(key);
        }
    }
}

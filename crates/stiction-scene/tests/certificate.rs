//! The certificate judges by limits of its own: a run that is wrong is not certified, whatever its
//! settings, and what used to be wrong is right.

use std::ops::ControlFlow;

use stiction_dynamics::{Audit, State, Step};
use stiction_scene::run::run;
use stiction_scene::summary::{Certificate, Outcome, Summary};
use stiction_scene::{builtin, parse_with};

const BULLET: &str = include_str!("cases/bullet.toml");
const DROP: &str = include_str!("cases/drop.toml");
const BUSHING: &str = include_str!("cases/bushing.toml");
const CHAIN: &str = include_str!("cases/chain-joint-friction.toml");
const CAPSULES: &str = include_str!("cases/parcap.toml");

const SCHEMES: [&str; 5] = ["stewart-trinkle", "moreau-midpoint", "trapezoidal", "implicit-ncp", "event-driven"];

fn summary_of(text: &str, overrides: &[String]) -> Summary {
    let loaded = parse_with(text, "case.toml", overrides).unwrap();
    let folder = tempfile::tempdir().unwrap();
    run(&loaded, &folder.path().join("run"), &Default::default(), &mut |_| ControlFlow::Continue(())).unwrap().summary
}

fn with(scheme: &str, overrides: &[String]) -> Vec<String> {
    [format!("scheme={{{scheme}={{}}}}")].into_iter().chain(overrides.iter().cloned()).collect()
}

fn exceeded(certificate: &Certificate) -> Vec<&str> {
    certificate.checks.iter().filter(|check| !check.ok).map(|check| check.name.as_str()).collect()
}

fn builtin_text(name: &str) -> &'static str {
    builtin::all().iter().find(|scene| scene.name == name).unwrap().text
}

#[test]
fn settings_of_a_scene_do_not_loosen_the_certificate() {
    let settings = "method={cone={residual-tolerance=1e10,tolerance=1e9}}";
    let loose = summary_of(builtin_text("four-balls"), &[settings.to_owned()]);
    // Whatever the solver was asked for, the word is that of the residual: the judge may have had
    // the answer worked out further.
    let residual = loose.certificate.checks.iter().find(|check| check.name == "residual").unwrap();
    assert_eq!(residual.limit, Some(1e-10), "the limit is the certificate's own");
    assert_eq!(residual.ok, residual.worst <= 1e-10, "{residual:?}");
    assert_eq!(loose.certificate.met, exceeded(&loose.certificate).is_empty());
    assert!(loose.certificate.notes.iter().any(|note| note.contains("asked for a residual of 1e10")), "{loose:?}");
    // A gap of a kilometre counts as closed: the rod hangs in the air.
    let hanging = summary_of(builtin_text("rod"), &["scheme={event-driven={gap-tolerance=1e3}}".to_owned()]);
    assert_eq!(exceeded(&hanging.certificate), ["push_distance"]);
    let honest = summary_of(builtin_text("four-balls"), &[]);
    assert!(honest.certificate.met && honest.certificate.notes.is_empty(), "{:?}", honest.certificate);
}

/// Both judge by one residual with one allowance for rounding. At the step of \[TTP01\] gaps
/// divided by it are rounding of 1e-12 m/s.
#[test]
fn what_the_implicit_scheme_calls_solved_is_certified() {
    for h in ["0.0012", "0.0006"] {
        let overrides = ["scheme={implicit-ncp={}}".to_owned(), format!("run.step={h}")];
        let summary = summary_of(builtin_text("sphere-valley"), &overrides);
        assert_eq!(summary.outcome, Outcome::Finished, "{h}: {:?}", summary.message);
        assert!(summary.certificate.met, "{h}: {:?}", exceeded(&summary.certificate));
    }
}

/// The pendulum comes to rest at the wall, where the rates of its rods are rounding of what moves
/// them: no measure of them alone can be met.
#[test]
fn a_pendulum_beside_a_wall_is_followed_for_long() {
    for (scheme, end) in [("trapezoidal", "1000.0"), ("event-driven", "20.0")] {
        let summary = summary_of(builtin_text("double-pendulum"), &with(scheme, &[format!("run.end={end}")]));
        assert_eq!(summary.outcome, Outcome::Finished, "{scheme}: {:?}", summary.message);
        assert!(summary.certificate.met, "{scheme}: {:?}", exceeded(&summary.certificate));
    }
}

/// A state behind the target, reached from one in front of it, is a passage whatever made the step.
#[test]
fn the_audit_sees_bodies_that_pass_through_each_other() {
    let simulation = parse_with(BULLET, "bullet.toml", &[]).unwrap().simulation();
    let (system, before) = (simulation.system(), simulation.state());
    let n = system.velocity_count();
    let passages = |place: [f64; 2]| {
        let mut step =
            Step { h: 0.01, state: State { t: 0.01, ..before.clone() }, force: vec![0.0; n], ..Step::default() };
        (step.state.q[7], step.state.q[8]) = (place[0], place[1]);
        (step.linearized_at, step.force_at) = (before.q.clone(), before.clone());
        step.problem.free_motion = vec![0.0; n];
        step.problem.inertia.set_diagonal(&vec![1.0; n]);
        step.solution.motion = vec![0.0; n];
        let mut audit = Audit::default();
        let passages = audit.observe(system, before, &step).passages;
        assert_eq!(audit.first_passage.is_some(), passages > 0.0);
        assert_eq!(
            Certificate::new(&audit).checks.iter().find(|check| check.name == "passages").unwrap().ok,
            passages == 0.0
        );
        passages
    };
    assert_eq!(passages([0.55, 0.0]), 1.0);
    assert_eq!(passages([-0.56, 0.0]), 0.0);
    // A way that passes the centre of the target at a distance. They touch at 0.11 m, and overlaps
    // of more than a tenth of the bullet's 0.01 m count.
    let beside = |distance: f64| [0.55, 1.1 * distance / (0.55f64.powi(2) - distance.powi(2)).sqrt()];
    assert_eq!(passages(beside(0.1095)), 0.0);
    assert_eq!(passages(beside(0.1085)), 1.0);
}

/// Without restitution both go on with the common velocity that momentum gives them, at 0.01/1.01
/// of the speed.
#[test]
fn a_bullet_of_any_speed_stops_in_every_scheme() {
    for speed in [15.0, 21.9, 25.0, 50.0, 100.0, 1e3, 1e4] {
        for scheme in SCHEMES {
            let summary = summary_of(BULLET, &with(scheme, &[format!("body.bullet.velocity=[{speed:?},0.0,0.0]")]));
            assert!(
                summary.outcome == Outcome::Finished && summary.certificate.met,
                "{scheme} at {speed}: {summary:?}"
            );
            let (target, bullet) = (summary.final_columns["target.vx"], summary.final_columns["bullet.vx"]);
            for v in [target, bullet] {
                assert!((v - speed * 0.01 / 1.01).abs() < 1e-9 * speed, "{scheme} at {speed}: {target} {bullet}");
            }
            // Touching at 0.11 m, behind which the bullet stays; a scheme on the velocity level
            // keeps less than 1e-3 of its radius.
            let apart = summary.final_columns["target.x"] - summary.final_columns["bullet.x"];
            assert!((apart - 0.11).abs() < 1e-5, "{scheme} at {speed}: {apart}");
        }
    }
}

/// An inelastic impact takes energy, wherever the marble hits the ball; 15 m/s are 15 of its radii
/// in a step.
#[test]
fn a_marble_that_falls_on_a_ball_gains_no_energy() {
    // Places on a spiral over the ball, of radius 0.11 with the marble's.
    let places = (0..10).map(|k| {
        let (radius, angle) = (0.105 * (k as f64 / 10.0).sqrt(), 2.4 * k as f64);
        [radius * angle.cos(), radius * angle.sin(), 11.3 + 0.07 * k as f64]
    });
    // A grazing blow, a marble that rolls off, and one that comes back to the ball within a step:
    // the ball is so round that a straight way says they began deep within each other.
    let round = [[0.036218, -0.082794, 9.366507], [-0.002767, -0.010848, 4.482007], [0.047039, -0.001227, 0.670569]];
    for [x, y, z] in places.chain([[0.003, 0.0, 11.6]]).chain(round) {
        for scheme in SCHEMES {
            let summary = summary_of(DROP, &with(scheme, &[format!("body.marble.position=[{x:?},{y:?},{z:?}]")]));
            assert!(summary.energy["total_change"] < 1e-9, "{scheme} from {x} {y} {z}: {:?}", summary.energy);
            assert_eq!(exceeded(&summary.certificate), [""; 0], "{scheme} from {x} {y} {z}");
        }
    }
}

#[test]
fn energies_beyond_all_numbers_are_not_certified() {
    // The square of the speed overflows; the balance of energies is no number then, and nobody can
    // say that it holds.
    let fast = ["body.ball.velocity=[1e160,0.0]", "run.end=0.1"].map(str::to_owned);
    let summary = summary_of(builtin_text("bouncing-ball"), &fast);
    assert!(!summary.certificate.met, "{:?}", summary.certificate);
}

#[test]
fn a_bush_hangs_on_its_shaft() {
    for scheme in SCHEMES {
        let summary = summary_of(BUSHING, &with(scheme, &[]));
        assert!(summary.outcome == Outcome::Finished && summary.certificate.met, "{scheme}: {:?}", summary.certificate);
        // The play of 0.01 m; a scheme on the velocity level keeps less than 1e-3 of the radius.
        assert!((summary.final_columns["bushing.z"] + 0.01).abs() < 1e-4, "{scheme}: {:?}", summary.final_columns);
    }
    let cavity = BUSHING.replace("tube =", "cavity =");
    let error = parse_with(&cavity, "case.toml", &[]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the cylinder of body `shaft` and the cavity of body `bushing` cannot collide"), "{text}");
}

/// Two capsules on three, all parallel and at rest. The contacts of such a pair must not change
/// their names by rounding, or one is lost for a step.
#[test]
fn parallel_capsules_stay_at_rest() {
    let loaded = parse_with(CAPSULES, "case.toml", &["run.end=3.0".to_owned()]).unwrap();
    let mut simulation = loaded.simulation();
    let start = simulation.state().clone();
    let system = |state: &State| loaded.simulation().system().potential_energy(state.t, &state.q).unwrap();
    let mut audit = Audit::default();
    let mut farthest = 0.0f64;
    let end = simulation
        .run_with(|s| {
            audit.observe(s.system(), s.before(), s.last_step());
            let moved = s.state().q.iter().zip(&start.q).map(|(a, b)| (a - b).abs());
            farthest = moved.fold(farthest, f64::max);
        })
        .unwrap()
        .clone();
    assert!(farthest < 1e-9, "{farthest}");
    assert!(Certificate::new(&audit).met);
    // Rounding of 85 J of potential energy.
    assert!(system(&end) - system(&start) + audit.worst.energy.kinetic < 1e-11);
}

#[test]
fn capsules_that_fall_into_a_wedge_gain_no_energy() {
    // Steps are cut where capsules close, down to a microsecond; within it an overlap of 5 µm was
    // taken back at 5 m/s, which gave a fifth of all the energy.
    let capsules = include_str!("cases/capsules-40-in-v.toml");
    let summary = summary_of(capsules, &["run.end=0.36".to_owned()]);
    assert_eq!(exceeded(&summary.certificate), [""; 0]);
}

/// Five links with friction in their pins come to rest on each other: contacts at one pin nearly
/// contradict each other, features of capsules that come to lie along each other pass from one to
/// the other, and cut steps follow impacts. Energy only falls, and at rest nothing moves.
#[test]
fn a_chain_with_joint_friction_comes_to_rest_in_every_scheme() {
    for scheme in SCHEMES {
        let summary = summary_of(CHAIN, &with(scheme, &[]));
        assert_eq!(summary.outcome, Outcome::Finished, "{scheme}");
        assert!(summary.certificate.met, "{scheme}: {:?}", exceeded(&summary.certificate));
        let mut simulation = parse_with(CHAIN, "chain.toml", &with(scheme, &[])).unwrap().simulation();
        simulation.run_with(|_| {}).unwrap();
        let fastest = simulation.state().v.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        assert!(fastest < 1e-6, "{scheme}: still moves with {fastest} m/s");
    }
}

/// The forces on a light body cancel to seven digits: its acceleration is no better than their
/// rounding, and right.
#[test]
fn a_light_body_between_strong_forces_is_certified() {
    let text = builtin::all().iter().find(|scene| scene.name == "double-pendulum").unwrap().text;
    let changes = ["body.upper.mass=1e-6", "run.end=0.78125"].map(str::to_owned);
    let summary = summary_of(text, &with("event-driven", &changes));
    assert_eq!(summary.outcome, Outcome::Finished);
    assert!(summary.certificate.met, "{:?}", exceeded(&summary.certificate));
}

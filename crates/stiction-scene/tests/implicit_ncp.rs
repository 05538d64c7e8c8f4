//! The implicit scheme on every built-in scene, and on bodies that are thrown: no step fails, laws
//! are met, and a warm start saves iterations.

mod thrown;

use stiction_dynamics::{Audit, Simulation};
use stiction_scene::{builtin, load, parse};

/// Scenes whose impacts give something back, which the scheme refuses, and what makes them
/// inelastic.
const REFUSED: [(&str, &[&str]); 8] = [
    ("bouncing-ball", &["material.rubber.restitution=0"]),
    ("carts-damper", &["system.contact.stopper.restitution=0"]),
    ("carts-spring", &["system.contact.stopper.restitution=0"]),
    ("double-pendulum", &["material.steel.restitution=0"]),
    ("four-bar-clearance", &["material.steel.restitution=0"]),
    ("newton-cradle", &["material.steel.restitution=0"]),
    ("superball", &["material.rubber.restitution=0", "material.rubber.tangential-restitution=0"]),
    ("woodpecker", &["system.contact.beak.restitution=0"]),
];

/// Steps of a scene, at most; its end comes earlier in most.
const STEP_LIMIT: u64 = 1000;

/// Runs to the end, or so many steps, and audits every step.
fn run(what: &str, simulation: &mut Simulation) -> Audit {
    let mut audit = Audit::default();
    while !simulation.is_finished() && simulation.steps_done() < STEP_LIMIT {
        simulation.step().unwrap_or_else(|error| panic!("{what}: {error}"));
        let step = simulation.last_step();
        audit.observe(simulation.system(), simulation.before(), step);
    }
    audit
}

/// What every step has to meet, whatever the scene.
fn assert_laws(what: &str, audit: &Audit) {
    let worst = &audit.worst;
    let what = format!("{what}: {worst:?}");
    assert!(worst.residual <= 1e-10 && worst.momentum <= 1e-9, "{what}");
    assert!(worst.complementarity <= 1e-9 && worst.cone_violation <= 1e-9, "{what}");
    assert!(worst.dissipation_defect <= 1e-9 && worst.kinetic_balance <= 1e-10, "{what}");
    assert!(worst.penetration <= 1e-13 && worst.joint_drift <= 1e-13, "{what}");
}

/// A built-in scene with this scheme, without restitution, with or without a warm start.
fn built_in(name: &str, warm_start: bool) -> Simulation {
    let inelastic = REFUSED.iter().find(|(refused, _)| *refused == name).map_or(&[][..], |(_, overrides)| *overrides);
    let mut overrides: Vec<String> = inelastic.iter().map(|&text| text.to_owned()).collect();
    overrides.push(format!("scheme={{implicit-ncp={{warm-start={warm_start}}}}}"));
    load(name, &overrides).unwrap_or_else(|error| panic!("{name}: {error}")).simulation()
}

#[test]
fn no_step_of_any_scene_fails_and_a_warm_start_halves_the_iterations() {
    let mut slow = Vec::new();
    for name in builtin::mechanisms().map(|scene| scene.name) {
        let [warm, cold] = [true, false].map(|warm_start| run(name, &mut built_in(name, warm_start)));
        assert_laws(name, &warm);
        assert_laws(name, &cold);
        let [warm_mean, cold_mean] = [&warm, &cold].map(|audit| audit.iteration_count as f64 / audit.step_count as f64);
        let counts = (warm.iteration_count, cold.iteration_count, warm.most_iterations);
        eprintln!("{name:24} {warm_mean:5.2} warm, {cold_mean:5.2} cold, at most {}", warm.most_iterations);
        // Without a start, one iteration is enough for some scenes: nothing to halve. The first
        // steps of a run have no start.
        let is_halved = 2 * warm.iteration_count <= cold.iteration_count + 10 || cold_mean < 1.1;
        if !is_halved
            || warm.iteration_count > cold.iteration_count + 10
            || warm.most_iterations > 20
            || warm_mean > 1.5
        {
            slow.push((name, counts));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

#[test]
fn scenes_with_restitution_are_refused_with_the_remedy() {
    for (name, _) in REFUSED {
        let Err(error) = load(name, &["scheme={implicit-ncp={}}".to_owned()]) else { panic!("{name} is accepted") };
        let message = format!("{error:?} {error}");
        for part in ["the impacts of the scheme `implicit-ncp` are inelastic", "choose a scheme with restitution"] {
            assert!(message.contains(part), "{name}: {message}");
        }
    }
}

#[test]
fn thrown_bodies_never_defeat_a_step() {
    // Edges and faces come down: forces are not unique, the matrix of Newton's method is singular,
    // and ends of an edge slide very slowly.
    let (mut step_count, mut iteration_count) = (0, 0);
    for case in 0..24 {
        for method in ["cone", "pyramid"] {
            let what = format!("case {case}, {method}");
            let scene = thrown::scene(case, "implicit-ncp = {}", method, [0.002, 0.0005, 0.01][case as usize % 3]);
            let loaded = parse(&scene, "thrown.toml").unwrap_or_else(|error| panic!("{what}: {error}"));
            let audit = run(&what, &mut loaded.simulation());
            assert_laws(&what, &audit);
            step_count += audit.step_count;
            iteration_count += audit.iteration_count;
        }
    }
    assert!(
        step_count > 10_000 && iteration_count < 2 * step_count,
        "{iteration_count} iterations in {step_count} steps"
    );
}

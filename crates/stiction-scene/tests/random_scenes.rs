//! Boxes, capsules and balls thrown on a floor: whatever happens, every step is solved and
//! balanced.

mod thrown;

use stiction_dynamics::Audit;
use stiction_scene::load::parse;

#[test]
fn thrown_bodies_never_defeat_a_step_with_polygons() {
    throw("pyramid", 1e-12);
}

#[test]
fn thrown_bodies_never_defeat_a_step_with_cones() {
    // Up to what counts as solved: two ends of an edge may have to slide by less than the solver
    // can tell from sticking.
    throw("cone", 1e-10);
}

/// Throws bodies, with steps solved by a method up to this residual.
fn throw(method: &str, residual: f64) {
    let mut step_count = 0;
    for version in ["linear", "fixed-point"] {
        for case in 0..40 {
            let scheme = format!("stewart-trinkle = {{ version = \"{version}\" }}");
            let scene = thrown::scene(case, &scheme, method, [0.001, 0.002, 0.005, 0.01][case as usize % 4]);
            let loaded = parse(&scene, "thrown.toml").unwrap_or_else(|error| panic!("{case}: {error}"));
            let mut simulation = loaded.simulation();
            let mut audit = Audit::default();
            simulation
                .run_with(|s| {
                    audit.observe(s.system(), s.before(), s.last_step());
                })
                .unwrap_or_else(|error| panic!("case {case}, {version}: {error}"));
            let worst = audit.worst;
            let what = format!("case {case}, {version}: {worst:?}");
            assert!(worst.residual <= residual && worst.momentum <= 1e-11, "{what}");
            assert!(worst.kinetic_balance <= 1e-10, "{what}");
            assert!(worst.cone_violation <= 1e-10 && worst.complementarity <= 1e-9, "{what}");
            assert!(worst.dissipation_defect <= 1e-9, "{what}");
            if version == "fixed-point" && audit.unconverged_count == 0 {
                assert!(worst.penetration <= 1e-10, "{what}");
            }
            step_count += audit.step_count;
        }
    }
    assert!(step_count > 20_000, "{step_count}");
}

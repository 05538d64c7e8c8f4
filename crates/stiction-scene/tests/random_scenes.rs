//! Boxes, capsules and balls thrown on a floor: whatever happens, every step is solved and balanced.

use std::fmt::Write;

use stiction_dynamics::Audit;
use stiction_dynamics::families::Generator;
use stiction_scene::load::parse;

fn scene(case: u64, version: &str, method: &str) -> String {
    let mut random = Generator::new(1000 + case);
    let (h, mu) = ([0.001, 0.002, 0.005, 0.01][case as usize % 4], [0.3, 0.8, 2.0][case as usize % 3]);
    let mut text = format!(
        r#"
format = 1
name = "thrown"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = {{ step = {h:?}, end = 0.8 }}
scheme = {{ stewart-trinkle = {{ version = "{version}" }} }}
method = {{ {method} = {{}} }}
material = [{{ name = "wood", friction = {mu:?} }}]
# Boxes meet nothing but the floor yet.
ignore = [{{ groups = ["boxes", "boxes"] }}, {{ groups = ["boxes", "round"] }}]
[[body]]
name = "floor"
kind = "static"
material = "wood"
shape = [{{ half-space = {{ normal = [0.0, 0.0, 1.0] }} }}]
"#
    );
    for number in 0..2 + case % 4 {
        let (shape, group) = match number % 3 {
            0 => {
                let size = [0; 3].map(|_| random.uniform(0.06, 0.4));
                (format!("box = {{ size = {size:?} }}"), "boxes")
            }
            1 => {
                let (length, radius) = (random.uniform(0.1, 0.5), random.uniform(0.03, 0.1));
                (format!("capsule = {{ length = {length:?}, radius = {radius:?} }}"), "round")
            }
            _ => (format!("sphere = {{ radius = {:?} }}", random.uniform(0.05, 0.2)), "round"),
        };
        let density = random.uniform(50.0, 2000.0);
        let position = [0.7 * number as f64, random.uniform(-0.3, 0.3), random.uniform(0.35, 0.8)];
        let (velocity, spin) = (random.vector(2.0), random.vector(9.0));
        write!(
            text,
            "[[body]]\nname = \"b{number}\"\ngroup = \"{group}\"\nmaterial = \"wood\"\ndensity = {density:?}\n\
             position = {position:?}\nvelocity = {velocity:?}\nangular-velocity = {spin:?}\nshape = [{{ {shape} }}]\n"
        )
        .expect("writing to a string");
    }
    text
}

#[test]
fn thrown_bodies_never_defeat_a_step_with_polygons() {
    throw("pyramid", 1e-12);
}

#[test]
fn thrown_bodies_never_defeat_a_step_with_cones() {
    // Up to what counts as solved: two ends of an edge may have to slide by less than the solver can tell from sticking.
    throw("cone", 1e-10);
}

/// Throws bodies, with steps solved by a method up to this residual.
fn throw(method: &str, residual: f64) {
    let mut step_count = 0;
    for version in ["linear", "fixed-point"] {
        for case in 0..40 {
            let loaded =
                parse(&scene(case, version, method), "thrown.toml").unwrap_or_else(|error| panic!("{case}: {error}"));
            let mut simulation = loaded.build().unwrap();
            let mut audit = Audit::default();
            simulation
                .run_with(|s| {
                    audit.observe(s.system(), s.scheme().contact_solver(), s.before(), s.last_step());
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

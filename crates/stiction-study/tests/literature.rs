//! Closed forms and published numbers, through scene files: what a user of the command line would
//! see.

use std::f64::consts::PI;
use std::sync::LazyLock;

use stiction_dynamics::{Audit, Simulation};
use stiction_scene::builtin;
use stiction_scene::load::{load, parse};
use stiction_study::reproduce::{EXPERIMENTS, Effort, Reproduction};

#[track_caller]
fn assert_close(value: f64, expected: f64, tolerance: f64, reason: &str) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} ± {tolerance} ({reason})");
}

fn simulation(scene: &str, overrides: &[String]) -> Simulation {
    load(scene, overrides).unwrap().simulation()
}

/// A box on a horizontal floor under a tilted gravity: downhill is the direction x, along the first
/// friction direction.
fn tilted_box(slope: f64, mu: f64, directions: &str, h: f64, end: f64) -> Simulation {
    let angle = slope.atan();
    let text = format!(
        r#"
format = 1
name = "tilted"
dimension = "space"
gravity = [{:?}, 0.0, {:?}]
[run]
step = {h:?}
end = {end:?}
[method.pyramid]
directions = {directions}
[[material]]
name = "wood"
friction = {mu:?}
[[body]]
name = "floor"
kind = "static"
material = "wood"
[[body.shape]]
half-space = {{ normal = [0.0, 0.0, 1.0] }}
[[body]]
name = "block"
material = "wood"
density = 500.0
position = [0.0, 0.0, 0.05]
[[body.shape]]
box = {{ size = [0.4, 0.4, 0.1] }}
"#,
        9.81 * angle.sin(),
        -9.81 * angle.cos(),
    );
    parse(&text, "tilted.toml").unwrap().simulation()
}

/// Figures of each experiment of the papers, so that none is lost unseen.
const EXPERIMENTS_OF_PAPERS: [(&str, usize); 19] = [
    ("rod", 1),
    ("four-balls", 1),
    ("two-balls", 1),
    ("lagrange", 1),
    ("dissipation", 1),
    ("curved-surfaces", 1),
    ("double-pendulum", 1),
    ("carts-damper", 1),
    ("carts-spring", 1),
    ("trapezoidal-rules", 0),
    ("friction-cone", 0),
    ("free-top", 1),
    ("woodpecker", 1),
    ("sphere-spin", 2),
    ("sphere-spin-misaligned", 2),
    ("sphere-valley", 2),
    ("phantom-inertia", 2),
    ("elements", 0),
    ("painleve", 1),
];

/// A quick experiment makes no more steps than this: seconds of work.
const QUICK_STEPS: u64 = 300_000;

/// What the experiments of the papers give, each run once for all tests.
static RESULTS: LazyLock<Vec<(&str, Reproduction)>> = LazyLock::new(|| {
    let of_papers = EXPERIMENTS.iter().filter(|experiment| experiment.id != "schemes");
    of_papers.map(|experiment| (experiment.id, experiment.run(Effort::Quick, &mut |_| {}).unwrap())).collect()
});

fn result(id: &str) -> &'static Reproduction {
    &RESULTS.iter().find(|(other, _)| *other == id).expect(id).1
}

#[test]
fn every_number_with_a_reference_is_met_by_certified_runs() {
    let mut ids: Vec<_> = RESULTS.iter().map(|(id, _)| *id).collect();
    let mut expected = EXPERIMENTS_OF_PAPERS.map(|(id, _)| id);
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    for (id, figures) in EXPERIMENTS_OF_PAPERS {
        let result = result(id);
        let missed: Vec<_> = result.rows.iter().filter(|row| !row.ok).collect();
        assert!(missed.is_empty(), "{missed:#?}");
        assert_eq!(result.figures.len(), figures, "{id}");
        assert!(result.steps <= QUICK_STEPS, "{id} makes {} steps when it should be quick", result.steps);
        // Every number of a run stands beside what the certificate of that run says.
        let of_instants = ["painleve", "dissipation", "friction-cone"];
        let uncertified = result.rows.iter().filter(|row| row.certificate.is_none()).count();
        assert!(uncertified == 0 || of_instants.contains(&id), "{id}: {uncertified} numbers without a certificate");
    }
}

#[test]
fn every_tolerance_is_as_wide_as_its_reason_says() {
    let rows = RESULTS.iter().flat_map(|(_, result)| &result.rows);
    let unfair: Vec<_> = rows.clone().filter(|row| !row.has_fair_tolerance()).collect();
    assert!(unfair.is_empty(), "{unfair:#?}");
    let without: Vec<_> =
        rows.filter(|row| row.reason.is_none() && row.least.is_none() && row.most.is_none()).collect();
    assert!(without.is_empty(), "{without:#?}");
}

#[test]
fn rows_that_the_page_of_the_papers_names_are_there() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers.md")).unwrap();
    let quantities: Vec<&str> =
        RESULTS.iter().flat_map(|(_, result)| &result.rows).map(|row| row.quantity.as_str()).collect();
    let mut count = 0;
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let place = line.trim_matches('|').split(" | ").nth(1).unwrap_or_default();
        // Without what stands between backquotes, the names are quoted after the word `row`.
        let words: String = place.split('`').step_by(2).collect();
        let Some((_, named)) = words.split_once("row") else { continue };
        for name in named.split('"').skip(1).step_by(2) {
            let is_there = |quantity: &&str| name.split('…').all(|part| quantity.contains(part.trim()));
            assert!(quantities.iter().any(is_there), "no row is called {name}: {line}");
            count += 1;
        }
    }
    assert!(count > 40, "the page names {count} rows only");
}

#[test]
fn print_that_our_numbers_round_to_otherwise_is_named() {
    // [ST96] Table 1: the six entries of h = 0.01 and 0.005, which an independent implementation
    // does not meet either.
    let rows = &result("four-balls").rows;
    let unlike: Vec<_> = rows.iter().filter(|row| row.differs_from_print).map(|row| row.quantity.as_str()).collect();
    assert_eq!(unlike.len(), 10, "{unlike:?}");
    // And "about an order of magnitude", which is half of one.
    let (table, spins): (Vec<&str>, Vec<&str>) = unlike.iter().partition(|name| name.contains("Table 1"));
    assert!(table.iter().all(|name| name.contains("0.01)") || name.contains("0.005)")), "{table:?}");
    assert!(table.len() == 6 && spins.iter().all(|name| name.contains("angular velocities over")), "{spins:?}");
}

#[test]
fn the_period_of_the_woodpecker_by_the_rule_is_that_of_an_independent_implementation() {
    // From beak to beak, mean of twenty cycles.
    let rows = &result("woodpecker").rows;
    let computed = |quantity: &str| rows.iter().find(|row| row.quantity == quantity).expect(quantity).computed;
    for (h, period, descent) in [("3e-4", 0.1468200, 0.0199437378434), ("1e-4", 0.1462550, 0.0196119203997)] {
        // Times of steps: the mean is exact but for the rounding of these times.
        assert_close(computed(&format!("period of the rule, s, Δt = {h}")), period, 1e-9, "period");
        assert_close(computed(&format!("descent of the rule, m, Δt = {h}")), descent, 1e-9, "descent");
    }
}

#[test]
fn a_block_below_the_friction_angle_does_not_creep() {
    // [ST96]-type schemes stick exactly: what remains is rounding. 10 s at every step size.
    for h in [0.1, 0.01, 1e-3, 1e-4, 1e-5] {
        let mut incline = simulation("incline", &[format!("run.step={h:?}"), "run.end=10.0".into()]);
        let start = incline.state().clone();
        let end = incline.run().unwrap();
        let moved = (0..3).map(|i| (end.q[i] - start.q[i]).powi(2)).sum::<f64>().sqrt();
        assert!(moved / 10.0 <= 1e-12, "h = {h}: {} m/s", moved / 10.0);
    }
}

#[test]
fn the_incline_scene_is_at_99_percent_of_the_friction_angle() {
    // Beyond the angle it must slide, or the test above would test nothing.
    let mut slower = simulation("incline", &["material.0.friction=0.49".into(), "run.end=1.0".into()]);
    let start = slower.state().clone();
    let end = slower.run().unwrap();
    // tan = 0.495 on μ = 0.49: a = g (sin - μ cos) = g cos (0.005), and s = a (t² + h t)/2 for the
    // implicit update.
    let cosine = 1.0 / (1.0f64 + 0.495 * 0.495).sqrt();
    let expected = 9.81 * cosine * 0.005 * (1.0 + 0.01) / 2.0;
    let moved = (0..3).map(|i| (end.q[i] - start.q[i]).powi(2)).sum::<f64>().sqrt();
    assert_close(moved, expected, 1e-9, "uniform acceleration");
}

#[test]
fn between_two_friction_directions_the_limit_is_smaller_by_a_cosine() {
    let (mu, k) = (0.5, 8);
    let turned: Vec<String> = (0..k)
        .map(|i| {
            let angle = PI / k as f64 + 2.0 * PI * i as f64 / k as f64;
            format!("[{:?}, {:?}]", angle.cos(), angle.sin())
        })
        .collect();
    let turned = format!("[{}]", turned.join(", "));
    let limit = mu * (PI / k as f64).cos();
    let moved = |slope: f64, directions: &str| {
        let mut block = tilted_box(slope, mu, directions, 1e-3, 2.0);
        block.run().unwrap().q[0]
    };
    assert!(moved(0.99 * mu, "8").abs() / 2.0 <= 1e-12, "along a direction it holds up to μ");
    assert!(moved(1.01 * mu, "8") > 1e-3);
    assert!(moved(0.99 * limit, &turned).abs() / 2.0 <= 1e-12, "between two it holds up to μ cos(π/k)");
    assert!(moved(1.01 * limit, &turned) > 1e-3);
}

#[test]
fn a_sliding_block_stops_where_it_must_in_every_direction() {
    // μ = 0.5, v₀ = 6: 3.669725 m. The inscribed polygon is weaker by up to cos(π/k) and bends by
    // up to π/k.
    let (speed, k, h): (f64, f64, f64) = (6.0, 32.0, 1e-3);
    let exact = speed * speed / (2.0 * 0.5 * 9.81);
    for j in 0..16 {
        let angle = (2.0 + 22.5 * f64::from(j)).to_radians();
        let velocity = format!("body.block.velocity=[{:?}, {:?}, 0.0]", speed * angle.cos(), speed * angle.sin());
        let mut block = simulation("sliding-block", &[velocity, format!("run.step={h:?}")]);
        let start = block.state().q.clone();
        let mut lift = 0.0f64;
        block.run_with(|s| lift = lift.max((s.state().q[2] - start[2]).abs())).unwrap();
        let (state, mut turn) = (block.state(), 0.0f64);
        let (x, y) = (state.q[0] - start[0], state.q[1] - start[1]);
        turn = turn.max((y.atan2(x) - angle + PI).rem_euclid(2.0 * PI) - PI).abs();
        assert!(turn <= PI / k, "launched at {angle}: turned by {turn}");
        let distance = x.hypot(y) + speed * h / 2.0;
        assert!(distance >= exact - 1e-9 && distance <= exact / (PI / k).cos() + 1e-4, "{distance} against {exact}");
        assert!(lift <= 1e-12, "lift {lift}");
        assert!(state.v.iter().all(|v| v.abs() < 1e-11), "{:?}", state.v);
    }
}

/// One coordinate or one body of 1 kg that rests, and something that runs beside it.
const SYSTEM: &str = "[system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\n";
const BODIES: &str = "dimension = \"plane\"\ngravity = [0.0, 0.0]\n[[body]]\nname = \"block\"\nmass = 1.0\ninertia = 1.0\n\
                      [[body]]\nname = \"belt\"\nkind = \"prescribed\"\nmotion = { velocity = [1.0, 0.0], angular-velocity = 3.0 }\n";

#[test]
fn a_drift_carries_what_rubs_on_it_what_it_drives_and_what_stands_on_it() {
    // Friction of 2 N takes 1 kg to the 1 m/s of the belt in half a second; a clutch does not let
    // the wheel fall behind its driver; a floor that rises takes along what lies on it.
    let felt = "bound = 2.0\n";
    let rubs =
        format!("{SYSTEM}[[system.dry-friction]]\nname = \"felt\"\ntangents = [[1.0]]\ntangent-drift = [-1.0]\n{felt}");
    let rubs_bodies = format!(
        "{BODIES}[[dry-friction]]\nname = \"felt\"\nbody = \"block\"\nagainst = \"belt\"\naxes = [[1.0, 0.0]]\n{felt}"
    );
    let driven = format!("{SYSTEM}[[system.clutch]]\nname = \"sprag\"\nrow = [1.0]\ndrift = -3.0\n");
    let driven_bodies =
        format!("{BODIES}[[clutch]]\nname = \"sprag\"\nbody = \"block\"\nagainst = \"belt\"\nrotational = true\n");
    let system = SYSTEM.replace("mass", "force = [-9.81]\nmass");
    let lifted =
        format!("{system}[[system.contact]]\nname = \"floor\"\ngap = 0.0\nnormal = [1.0]\nnormal-drift = -0.5\n");
    for scheme in ["stewart-trinkle", "moreau-midpoint", "implicit-ncp"] {
        for (scene, coordinate, end, expected) in [
            (&rubs, 0, 0.25, 0.5),
            (&rubs, 0, 1.0, 1.0),
            (&rubs_bodies, 0, 0.25, 0.5),
            (&rubs_bodies, 0, 1.0, 1.0),
            (&driven, 0, 1.0, 3.0),
            (&driven_bodies, 2, 1.0, 3.0),
            (&lifted, 0, 1.0, 0.5),
        ] {
            let run = format!("run = {{ step = 0.0625, end = {end:?} }}\nscheme.{scheme} = {{}}\n");
            let text = format!("format = 1\nname = \"drift\"\n{run}{scene}");
            let mut simulation = parse(&text, "drift.toml").unwrap().simulation();
            let found = simulation.run().unwrap().v[coordinate];
            assert_close(found, expected, 1e-13, &format!("{scheme} at {end} s: {scene}"));
        }
    }
}

#[test]
fn a_block_on_a_belt_reaches_the_speed_of_the_belt() {
    let mut belt = simulation("belt", &[]);
    let mut audit = Audit::default();
    belt.run_with(|s| {
        audit.observe(s.system(), s.before(), s.last_step());
    })
    .unwrap();
    let v = &belt.state().v;
    assert_close(v[0], 1.0, 1e-12, "the belt runs with 1 m/s");
    assert!(v[1..].iter().all(|v| v.abs() < 1e-12), "{v:?}");
    // The belt works μ m g over its own way while the block slides: twice what the block gets;
    // friction takes the other half.
    let energy = audit.sum.energy;
    assert!(energy.drive > 0.0 && energy.friction < 0.0, "{energy:?}");
    assert_close(
        energy.drive + energy.friction,
        energy.kinetic_change,
        1e-9,
        "belt minus friction is the block's energy",
    );
}

#[test]
fn a_hyperstatic_box_stands_still_and_its_corners_carry_its_weight() {
    let mut rest = simulation("box-on-corners", &[]);
    let start = rest.state().clone();
    rest.run().unwrap();
    let (state, step) = (rest.state(), rest.last_step());
    assert!(state.v.iter().all(|v| v.abs() < 1e-11), "{:?}", state.v);
    assert!((0..3).all(|i| (state.q[i] - start.q[i]).abs() < 1e-12));
    let carried: f64 = step.solution.contacts.iter().map(|contact| contact.normal).sum();
    let weight = -step.force[2] * step.h;
    assert_close(carried, weight, 1e-10 * weight, "the sum is unique although its parts are not");
}

#[test]
fn a_painleve_rod_stops_in_a_shock() {
    // No forces satisfy the laws at the first instant; an impulse must. In the limit h → 0 the
    // sliding end sticks at once: the impulse p that makes its velocity zero, G p = -v, with v =
    // (v₀, 0) along tangent and normal.
    let after_shock = |h: f64| {
        let mut rod = simulation("painleve-rod", &[format!("run.step={h:?}"), format!("run.end={:?}", 3.0 * h)]);
        let start = rod.state().clone();
        rod.run().unwrap();
        (start, rod.state().clone())
    };
    let (start, end) = after_shock(1e-6);
    let (sine, cosine) = start.q[2].sin_cos();
    // Arm from the centre to the lower end, whichever side it is.
    let arm = if sine > 0.0 { (-cosine, -sine) } else { (cosine, sine) };
    let (n, t) = ([0.0, 1.0, arm.0], [1.0, 0.0, -arm.1]);
    let mass = [1.0, 1.0, 1.0 / 3.0];
    let dot = |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|i| a[i] * b[i] / mass[i]).sum::<f64>();
    let (nn, nt, tt) = (dot(&n, &n), dot(&n, &t), dot(&t, &t));
    let slip: f64 = (0..3).map(|i| t[i] * start.v[i]).sum();
    assert!(slip < 0.0, "it slides to the left");
    // A nn - μ |nt| < 0 is the paradox itself.
    assert!(nn - 2.0 * nt.abs() < 0.0, "{nn} {nt}");
    let determinant = nn * tt - nt * nt;
    let (p_n, p_t) = (nt * slip / determinant, -nn * slip / determinant);
    assert!(p_n > 0.0 && p_t.abs() <= 2.0 * p_n, "sticking is inside the cone: {p_n} {p_t}");
    for i in 0..3 {
        let expected = start.v[i] + (n[i] * p_n + t[i] * p_t) / mass[i];
        assert_close(end.v[i], expected, 1e-4, "velocity after the shock, order h");
    }
    let (_, coarse) = after_shock(1e-4);
    assert!((0..3).all(|i| (coarse.v[i] - end.v[i]).abs() < 1e-2), "the shock does not depend on h");
}

#[test]
fn work_by_cause_explains_the_kinetic_energy_in_every_scene() {
    for scene in builtin::all() {
        let mut simulation = simulation(scene.name, &[]);
        let mut audit = Audit::default();
        simulation
            .run_with(|s| {
                audit.observe(s.system(), s.before(), s.last_step());
            })
            .unwrap();
        let worst = audit.worst;
        assert!(worst.kinetic_balance <= 1e-10, "{}: {worst:?}", scene.name);
        // The residual is relative to what the impulses of an island act against; a block that
        // rests on a belt has little of that beside its speed.
        assert!(worst.momentum <= 1e-11 && worst.residual <= 1e-10, "{}: {worst:?}", scene.name);
        // Where bodies meet by faces, some of the forces that are not unique are near nothing, and
        // so is the bound of their friction: the limits are those of the certificate.
        let [bound, laws] = if scene.is_assembly { [1e-9; 2] } else { [1e-11, 1e-10] };
        assert!(worst.cone_violation <= bound && worst.complementarity <= laws, "{}: {worst:?}", scene.name);
        assert!(worst.dissipation_defect <= laws, "{}: {worst:?}", scene.name);
    }
}

#[test]
fn the_rod_of_the_scene_is_the_rod_of_the_formulas() {
    // The same rod twice: as bodies and shapes, and as three formulas written by hand.
    use stiction_dynamics::reference::Rod;
    use stiction_dynamics::{ContactMethod, ContactSolver, StewartTrinkle, StewartTrinkleSettings};
    let mut scene = simulation("rod", &[]);
    let scheme =
        StewartTrinkle::new(StewartTrinkleSettings::default(), ContactSolver::new(ContactMethod::default()).unwrap());
    let mut formulas = Simulation::new(Box::new(Rod::default()), Box::new(scheme), Rod::start(), scene.grid());
    while !scene.is_finished() {
        scene.step().unwrap();
        formulas.step().unwrap();
        for i in 0..3 {
            let t = scene.state().t;
            assert_close(scene.state().q[i], formulas.state().q[i], 1e-10, &format!("coordinate {i} at t = {t}"));
            assert_close(scene.state().v[i], formulas.state().v[i], 1e-9, &format!("velocity {i} at t = {t}"));
        }
    }
}

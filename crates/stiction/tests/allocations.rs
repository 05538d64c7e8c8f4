//! A steady step allocates nothing: contacts, problem, solver and scheme live in memory that the
//! first steps have taken.

use stiction::scene::load::load;

/// Allocations of `count` steps after `warm_up` steps.
fn allocations(scene: &str, overrides: &[&str], warm_up: u64, count: u64) -> u64 {
    let overrides: Vec<String> = overrides.iter().chain(&["run.end=1e3"]).map(|&text| text.to_owned()).collect();
    let mut simulation = load(scene, &overrides).unwrap().simulation();
    (0..warm_up).for_each(|_| simulation.step().unwrap());
    let mut problem_size = 0;
    let counted = allocation_counter::measure(|| {
        for _ in 0..count {
            simulation.step().unwrap();
            problem_size += simulation.last_step().solution.report.size;
        }
    });
    assert_eq!(simulation.steps_done(), warm_up + count, "{scene} ended on the way");
    assert!(problem_size > 0, "{scene} has no contact to solve for");
    counted.count_total
}

#[test]
fn the_counter_counts() {
    assert!(allocation_counter::measure(|| drop(std::hint::black_box(vec![1.0; 10]))).count_total > 0);
}

#[test]
fn a_steady_step_allocates_nothing() {
    for (scene, overrides) in [
        ("rod", &[][..]),
        ("rod", &["scheme.stewart-trinkle.version=\"fixed-point\""]),
        ("sliding-block", &[]),
        ("incline", &[]),
        ("incline", &["method.pyramid.warm-start=false"]),
        ("belt", &[]),
        ("box-on-corners", &[]),
        ("rod", &["method={planar-relay={}}"]),
        ("rod", &["method={planar-relay={warm-start=false}}"]),
        ("rod", &["method={phantom-inertia={}}"]),
        ("rod", &["method={phantom-inertia={warm-start=false}}"]),
        ("two-balls", &["method={phantom-inertia={}}"]),
        ("four-balls", &["method={phantom-inertia={}}"]),
        // Four feet of a box are redundant, and their rows are relaxed: the memory for that is kept
        // as well.
        ("sliding-block", &["method={phantom-inertia={}}"]),
        ("incline", &["method={phantom-inertia={}}"]),
        ("bead-in-ring", &[]),
        ("rattleback", &[]),
        ("incline", &["scheme={trapezoidal={}}"]),
        ("bead-in-ring", &["scheme={trapezoidal={}}"]),
    ] {
        assert_eq!(allocations(scene, overrides, 700, 100), 0, "{scene} {overrides:?}");
    }
}

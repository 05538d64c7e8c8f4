//! The orders of the trapezoidal scheme on scenes with friction and impacts: the fitted slope of
//! the error against the event-driven reference, over at least five halvings. \[PAGT\] promises
//! two; 1.8 allows for the place of an event within its step, which moves from grid to grid.

use stiction_scene::{Edit, open};
use stiction_study::converge::{
    Convergence, EventDrivenLimits, Plan, ReferenceChoice, ReferenceKind, SchemeChoice, converge,
};

/// Least order that counts as two.
const ORDER: f64 = 1.8;

/// Compares the trapezoidal scheme, with default settings, with the reference over six halvings
/// from the coarsest step.
fn compare(scene: &str, coarsest: f64, overrides: &[&str]) -> Convergence {
    let plan = Plan {
        subject: open(scene).unwrap().into(),
        edits: overrides.iter().map(|text| Edit::set(text).unwrap()).collect(),
        schemes: vec![SchemeChoice::named("trapezoidal")],
        steps: (0..7).map(|power| coarsest * 0.5f64.powi(power)).collect(),
        reference: ReferenceChoice::Automatic,
        reference_step: None,
        limits: EventDrivenLimits::default(),
    };
    let result = converge(&plan, &mut |_| {}).unwrap();
    assert_eq!(result.runs.len(), plan.steps.len(), "{scene}: {:?}", result.schemes);
    result
}

#[track_caller]
fn assert_order_two(scene: &str, coarsest: f64, overrides: &[&str]) {
    let result = compare(scene, coarsest, overrides);
    assert_eq!(result.reference.kind, ReferenceKind::EventDriven, "{scene}");
    assert_order(scene, &result);
}

#[track_caller]
fn assert_order(scene: &str, result: &Convergence) {
    let errors: Vec<(f64, f64)> = result.runs.iter().map(|run| (run.step, run.error)).collect();
    let order = result.schemes[0].order.unwrap();
    assert!(order > ORDER, "{scene}: order {order}, {errors:?}");
}

#[test]
fn ends_of_sliding_where_rows_turn() {
    // The end of a rod, and a pin in a hole: their tangents turn with the motion, and the slip of a
    // step is no larger than what the turn changes in it.
    assert_order_two("rod", 0.02, &[]);
    assert_order_two("rod", 0.01, &["material.steel.friction=0.45", "body.rod.inertia=0.006"]);
    assert_order_two("four-bar-clearance", 4e-4, &[]);
}

#[test]
fn a_shock_is_not_mirrored() {
    // The slip of Painlevé's rod ends at once; a mean velocity that obeys the friction law would
    // turn it round.
    assert_order_two("painleve-rod", 8e-3, &[]);
}

#[test]
fn impacts_with_joints_for_all_restitutions() {
    for e in ["0.0", "0.1", "1.0"] {
        assert_order_two("double-pendulum", 0.0625, &[&format!("material.steel.restitution={e}")]);
    }
}

#[test]
fn a_start_that_overlaps() {
    // The woodpecker starts 8.8e-7 m inside its rod, the block on the belt 3.7e-6 m: what takes
    // that back within a step throws them off.
    assert_order_two("woodpecker", 8e-4, &[]);
    let belt = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/vibrating-belt-overlap.toml");
    assert_order_two(belt, 8e-4, &["run.end=0.2"]);
}

#[test]
fn stiff_dampers_and_springs_after_impacts() {
    // The trapezoidal rule alone lets a stiff damper ring after an impact: errors of 7e-2 m at
    // every step.
    assert_order("carts-damper", &compare("carts-damper", 0.08, &["system.damping=[[1e6,-1e6],[-1e6,1e6]]"]));
    assert_order_two("carts-damper", 0.08, &[]);
    // The spring swings with a period of 0.09 s.
    assert_order_two("carts-spring", 4e-3, &[]);
}

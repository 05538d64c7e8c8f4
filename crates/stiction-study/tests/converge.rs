//! Convergence of the schemes on built-in scenes: order, numerical energy, and what a comparison
//! refuses.

use stiction_dynamics::{Audit, SchemeSettings};
use stiction_scene::{Edit, load, open};
use stiction_study::converge::{
    ConvergeError, Convergence, EventDrivenLimits, Plan, ReferenceChoice, ReferenceKind, SchemeChoice, converge,
};

fn set(text: &str) -> Edit {
    Edit::set(text).unwrap()
}

fn plan(scene: &str, end: f64, coarsest: f64, schemes: &[&str]) -> Plan {
    Plan {
        subject: open(scene).unwrap().into(),
        edits: vec![Edit::option("an end", "run.end", end)],
        schemes: schemes.iter().map(|scheme| SchemeChoice::named(scheme)).collect(),
        // Six halvings.
        steps: (0..7).map(|power| coarsest * 0.5f64.powi(power)).collect(),
        reference: ReferenceChoice::Automatic,
        reference_step: None,
        limits: EventDrivenLimits::default(),
    }
}

fn compare(plan: &Plan) -> Convergence {
    converge(plan, &mut |_| {}).unwrap()
}

#[test]
fn the_event_driven_reference_of_the_double_pendulum_is_the_one_of_40_digits() {
    // E of Table 10.1 of [PAGT] for h = 2⁻⁵ … 2⁻¹¹: the distance of the plain scheme from an
    // independent solution in the four coordinates together. The largest of the four is between
    // half of it and all of it; a reference that is wrong by 3e-7 m fails at the last step.
    let distances = [2.38220e-3, 6.13727e-4, 1.54449e-4, 3.94525e-5, 1.00658e-5, 2.41592e-6, 6.15741e-7];
    let plain = SchemeChoice { name: "plain".into(), edit: set("scheme.trapezoidal.paper=true") };
    let mut plan = plan("double-pendulum", 2.5, 0.03125, &["trapezoidal"]);
    plan.schemes.push(plain);
    let result = compare(&plan);
    assert_eq!(result.reference.kind, ReferenceKind::EventDriven);
    assert_eq!((result.reference.scheme.as_str(), result.reference.step), ("event-driven", None));
    let floor = result.reference.error_floor.unwrap();
    assert!((1e-13..1e-11).contains(&floor), "{floor}");
    for (run, distance) in result.runs.iter().filter(|run| run.scheme == "plain").zip(distances) {
        let share = run.error_at_end / distance;
        assert!((0.5 - 1e-3..1.0 + 1e-3).contains(&share), "{run:?}: {share} of {distance}");
    }
    // The error is that of the whole motion: while the pendulum swings it is more than at the end,
    // where it is nearly at rest and joints are stabilised.
    let mut stabilised = result.runs.iter().filter(|run| run.scheme == "trapezoidal");
    assert!(stabilised.all(|run| run.error > 2.0 * run.error_at_end), "{:?}", result.runs);
    for summary in &result.schemes {
        let order = summary.order.unwrap();
        assert!((1.9..2.2).contains(&order), "{}: {order}", summary.scheme);
    }
}

#[test]
fn a_run_of_the_reference_itself_is_at_its_floor_and_has_no_order() {
    let result = compare(&plan("double-pendulum", 1.0, 0.1, &["event-driven"]));
    let floor = result.reference.error_floor.unwrap();
    assert_eq!(result.runs.len(), 7);
    assert!(result.runs.iter().all(|run| run.error <= floor), "{floor} {:?}", result.runs);
    assert_eq!(result.schemes[0].order, None);
    // The figure shows the floor where errors come near it, and only there.
    assert!(result.figure().panels.iter().all(|panel| panel.rules.len() == 1));
    let result = compare(&plan("double-pendulum", 1.0, 0.1, &["trapezoidal"]));
    assert!(result.figure().panels.iter().all(|panel| panel.rules.is_empty()));
}

#[test]
fn where_the_event_driven_scheme_is_refused_the_reference_is_fine_and_the_reason_is_said() {
    let result = compare(&plan("incline", 0.1, 0.05, &["stewart-trinkle"]));
    let why = "the scheme `event-driven` follows the exact friction cone, and not the polygon of `pyramid`";
    let document = serde_json::to_value(&result).unwrap();
    let reference = &document["reference"];
    assert_eq!(reference["kind"], "fine");
    assert_eq!(reference["scheme"], "trapezoidal");
    assert_eq!(reference["step"], 0.05 / 64.0 / 16.0);
    assert_eq!(reference["error_floor"], serde_json::Value::Null);
    assert_eq!(
        reference["passed_over"],
        serde_json::json!([{ "scheme": "event-driven", "reason": why, "has_failed": false }])
    );
    let subtitle = result.figure().subtitle;
    assert!(subtitle.contains("Errors against trapezoidal with a step of 4.9e-5 s"), "{subtitle}");
    assert!(subtitle.contains(&format!("Not against event-driven: {why}")), "{subtitle}");
    // The JSON of the other kind.
    let document = serde_json::to_value(compare(&plan("free-top", 1.0, 0.1, &["trapezoidal"]))).unwrap();
    assert_eq!(document["reference"]["kind"], "event-driven");
    assert_eq!(document["reference"]["tolerance"], 1e-13);
    assert_eq!(document["reference"]["passed_over"], serde_json::json!([]));
}

#[test]
fn a_motion_with_too_many_events_or_too_much_work_is_compared_with_a_fine_run() {
    let generous = EventDrivenLimits::default();
    let meagre = std::time::Duration::ZERO;
    for (limits, said) in [
        (EventDrivenLimits { stops: 3, ..generous }, "it had used up 3 stops at events at t = 0.7"),
        (EventDrivenLimits { time: meagre, ..generous }, "it had used up 0 s of processor time at t = 0.03"),
    ] {
        let limited = Plan { limits, ..plan("double-pendulum", 1.0, 0.03125, &["trapezoidal"]) };
        let result = compare(&limited);
        assert_eq!(result.reference.kind, ReferenceKind::Fine);
        let [passed_over] = result.reference.passed_over.as_slice() else { panic!("{:?}", result.reference) };
        assert!(passed_over.scheme == "event-driven" && passed_over.reason.starts_with(said), "{passed_over:?}");
        // As many stops as it may make are none too many.
        let exactly = EventDrivenLimits { stops: 6, ..generous };
        assert_eq!(compare(&Plan { limits: exactly, ..limited.clone() }).reference.kind, ReferenceKind::EventDriven);
        let fewer = EventDrivenLimits { stops: 5, ..generous };
        assert_eq!(compare(&Plan { limits: fewer, ..limited.clone() }).reference.kind, ReferenceKind::Fine);
        // Asked for by name it goes on.
        let named = ReferenceChoice::Scheme(SchemeChoice::named("event-driven"));
        let result = compare(&Plan { reference: named, ..limited });
        assert_eq!((result.reference.kind, result.reference.stops), (ReferenceKind::EventDriven, 6));
    }
}

#[test]
fn where_the_trapezoidal_scheme_is_refused_too_the_first_scheme_that_is_not_gives_the_fine_run() {
    let schemes = ["event-driven", "moreau-midpoint", "stewart-trinkle"];
    let mut plan = Plan { reference: ReferenceChoice::Fine, ..plan("free-top", 1.0, 0.1, &schemes) };
    plan.edits.push(set("scheme.trapezoidal.iteration-limit=0"));
    let reference = compare(&plan).reference;
    assert_eq!((reference.kind, reference.scheme.as_str()), (ReferenceKind::Fine, "moreau-midpoint"));
    let [passed_over] = reference.passed_over.as_slice() else { panic!("{reference:?}") };
    assert!(passed_over.scheme == "trapezoidal" && passed_over.reason.contains("limit of iterations is 0"));
    // Where none is left, the last one's reason is the error.
    plan.schemes.truncate(1);
    assert!(matches!(converge(&plan, &mut |_| {}), Err(ConvergeError::Scene(_))));
}

#[test]
fn a_run_that_fails_is_reported_and_the_others_go_on() {
    // One event in a step is not enough for the collisions from 0.5 s on.
    let hasty = SchemeChoice { name: "hasty".into(), edit: set("scheme.event-driven.event-limit=1") };
    let mut plan = plan("double-pendulum", 1.0, 0.03125, &["trapezoidal"]);
    plan.schemes.insert(0, hasty);
    let result = compare(&plan);
    let [hasty, trapezoidal] = result.schemes.as_slice() else { panic!("{:?}", result.schemes) };
    assert_eq!(hasty.failed.len(), 7);
    assert!(hasty.failed[0].reason.contains("more than 1 events"), "{:?}", hasty.failed);
    assert!(hasty.order.is_none() && result.runs.iter().all(|run| run.scheme == "trapezoidal"));
    assert!(trapezoidal.failed.is_empty() && trapezoidal.order.is_some_and(|order| order > 1.8), "{trapezoidal:?}");
}

#[test]
fn settings_of_a_scheme_stay_with_it() {
    let plan = plan("double-pendulum", 0.5, 0.0625, &["trapezoidal"]);
    let errors = |plan: &Plan| -> Vec<f64> {
        let result = compare(plan);
        assert_eq!(result.reference.kind, ReferenceKind::EventDriven);
        result.runs.iter().map(|run| run.error).collect()
    };
    let mut paper = plan.clone();
    paper.edits.push(set("scheme.trapezoidal.paper=true"));
    assert_ne!(errors(&paper), errors(&plan), "the setting reaches the runs of its scheme");
    let mut other = plan.clone();
    other.edits.push(set("scheme.moreau-midpoint.theta=0.7"));
    other.edits.push(set("'scheme' . \"stewart-trinkle\".version=linear"));
    assert_eq!(errors(&other), errors(&plan), "and no others");
    let mut looser = plan.clone();
    looser.edits.push(set("scheme.event-driven.tolerance=1e-9"));
    assert_eq!(compare(&looser).reference.tolerance, Some(1e-9));
    // One for all would compare a scheme with itself, and a step for all would show no order.
    let mut all = plan.clone();
    all.edits.push(set("scheme={ trapezoidal = {} }"));
    assert!(matches!(converge(&all, &mut |_| {}), Err(ConvergeError::Plan(_))));
    let mut step = plan.clone();
    step.edits.push(set("run.step=0.01"));
    assert_eq!(errors(&step), errors(&plan));
}

#[test]
fn the_trapezoidal_scheme_is_of_order_two_on_scenes() {
    // A loaded nonlinear spring, the gyroscopic term, curved contacts from inside and outside,
    // joints.
    for (scene, end, coarsest) in [
        ("elastic-pendulum", 2.0, 0.03125),
        ("free-top", 4.0, 0.0625),
        ("bead-in-ring", 1.0, 0.03125),
        ("marble-outside-sphere", 0.4, 0.025),
        ("double-pendulum", 0.5, 0.03125),
    ] {
        let result = compare(&plan(scene, end, coarsest, &["trapezoidal"]));
        assert_eq!(result.reference.kind, ReferenceKind::EventDriven, "{scene}");
        let order = result.schemes[0].order.unwrap();
        assert!(order > 1.8, "{scene}: {order} {:?}", result.runs);
        // What the scheme adds to the energy shrinks with it, where there is any.
        if ["elastic-pendulum", "free-top"].contains(&scene) {
            let order = result.schemes[0].energy_order.unwrap();
            assert!(order > 1.8, "{scene}: numerical energy {order} {:?}", result.runs);
        }
    }
}

#[test]
fn the_other_schemes_show_their_orders() {
    let result = converge(&plan("elastic-pendulum", 1.0, 0.008, &["stewart-trinkle", "moreau-midpoint"]), &mut |_| {});
    let result = result.unwrap();
    let orders: Vec<f64> = result.schemes.iter().map(|scheme| scheme.order.unwrap()).collect();
    assert!((0.9..1.2).contains(&orders[0]) && (1.9..2.1).contains(&orders[1]), "{orders:?}");
    let energies: Vec<f64> = result.schemes.iter().map(|scheme| scheme.energy_order.unwrap()).collect();
    assert!(energies[0] > 0.9 && energies[1] > 0.9, "{energies:?}");
}

#[test]
fn a_scheme_that_cannot_treat_the_scene_is_left_out_with_the_reason() {
    let result = converge(&plan("bouncing-ball", 0.6, 0.02, &["stewart-trinkle", "trapezoidal"]), &mut |_| {}).unwrap();
    let refused = result.schemes[0].refused.as_deref().unwrap();
    assert!(refused.contains("the impacts of the scheme `stewart-trinkle` are inelastic"), "{refused}");
    assert!(result.schemes[1].refused.is_none() && result.runs.len() == 7);
    assert!(result.figure().draw().unwrap().to_svg().starts_with("<svg"));
}

#[test]
fn steps_that_cannot_be_compared_are_refused() {
    for steps in [vec![0.1], vec![0.1, 0.1], vec![0.1, -0.1], vec![0.1, f64::NAN]] {
        let plan = Plan { steps, ..plan("free-top", 1.0, 0.1, &["trapezoidal"]) };
        assert!(matches!(converge(&plan, &mut |_| {}), Err(ConvergeError::Plan(_))));
    }
    let event_driven = ReferenceChoice::Scheme(SchemeChoice::named("event-driven"));
    for (reference, reference_step) in [(ReferenceChoice::Fine, 0.0), (event_driven, 0.01)] {
        let plan = plan("free-top", 1.0, 0.1, &["trapezoidal"]);
        let plan = Plan { reference, reference_step: Some(reference_step), ..plan };
        assert!(matches!(converge(&plan, &mut |_| {}), Err(ConvergeError::Plan(_))), "{reference_step}");
    }
}

#[test]
fn what_a_scheme_adds_to_the_energy_shrinks_at_its_order_on_every_scene() {
    for scene in stiction_scene::builtin::mechanisms() {
        let name = scene.name;
        let base = load(name, &[]).unwrap();
        let (step, end) = (base.scene().run.step, base.scene().run.end.min(1.0));
        // The position-level scheme is of order one, the others of order two.
        let is_first_order = matches!(base.scene().scheme, SchemeSettings::StewartTrinkle(_));
        let order = if is_first_order { 1.0 } else { 2.0 };
        let halvings = 3;
        let mut scale = 0.0f64;
        let energies: Vec<f64> = (0..=halvings)
            .map(|power| {
                let overrides = [format!("run.step={}", step * 0.5f64.powi(power)), format!("run.end={end}")];
                let mut simulation = load(name, &overrides).unwrap().simulation();
                let mut audit = Audit::default();
                simulation
                    .run_with(|s| {
                        audit.observe(s.system(), s.before(), s.last_step());
                    })
                    .unwrap();
                let energy = &audit.sum.energy;
                let turned_over = [energy.potential_forces, energy.friction, energy.normal, energy.total_change];
                scale = turned_over.iter().fold(scale, |scale, work| scale.max(work.abs()));
                energy.numerical
            })
            .collect();
        let is_rounding = energies.iter().all(|energy| energy.abs() <= 1e-12 * scale + 1e-14);
        let observed = (energies[0] / energies[halvings as usize]).abs().log2() / f64::from(halvings);
        assert!(is_rounding || observed > order - 0.2, "{name}: order {observed} of {energies:?}, scale {scale}");
    }
}

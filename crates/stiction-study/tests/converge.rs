//! Convergence of the schemes on built-in scenes: order, numerical energy, and what a comparison refuses.

use stiction_dynamics::Audit;
use stiction_scene::load;
use stiction_scene::scene::SchemeSettings;
use stiction_study::converge::{ConvergeError, Plan, converge};

fn plan(scene: &str, end: f64, coarsest: f64, schemes: &[&str]) -> Plan {
    let named = |scheme: &str| (scheme.to_owned(), format!("scheme.{scheme}={{}}"));
    Plan {
        scene: scene.to_owned(),
        overrides: vec![format!("run.end={end}")],
        schemes: schemes.iter().map(|scheme| named(scheme)).collect(),
        // Six halvings.
        steps: (0..7).map(|power| coarsest * 0.5f64.powi(power)).collect(),
        reference: named("trapezoidal"),
        reference_step: None,
    }
}

#[test]
fn the_trapezoidal_scheme_is_of_order_two_on_scenes() {
    // A loaded nonlinear spring, the gyroscopic term, curved contacts from inside and outside, joints.
    for (scene, end, coarsest) in [
        ("elastic-pendulum", 2.0, 0.03125),
        ("free-top", 4.0, 0.0625),
        ("bead-in-ring", 1.0, 0.03125),
        ("marble-outside-sphere", 0.4, 0.025),
        ("double-pendulum", 0.5, 0.03125),
    ] {
        let result = converge(&plan(scene, end, coarsest, &["trapezoidal"]), &mut |_| {}).unwrap();
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
    assert!(result.figure().to_svg().unwrap().starts_with("<svg"));
}

#[test]
fn steps_that_cannot_be_compared_are_refused() {
    for steps in [vec![0.1], vec![0.1, 0.1], vec![0.1, -0.1], vec![0.1, f64::NAN]] {
        let plan = Plan { steps, ..plan("free-top", 1.0, 0.1, &["trapezoidal"]) };
        assert!(matches!(converge(&plan, &mut |_| {}), Err(ConvergeError::Steps(_))));
    }
}

#[test]
fn what_a_scheme_adds_to_the_energy_shrinks_at_its_order_on_every_scene() {
    for scene in stiction_scene::builtin::all() {
        let name = scene.name;
        let base = load(name, &[]).unwrap();
        let (step, end) = (base.scene.run.step, base.scene.run.end.min(1.0));
        // The position-level scheme is of order one, the others of order two.
        let is_first_order = matches!(base.scene.scheme, SchemeSettings::StewartTrinkle(_));
        let order = if is_first_order { 1.0 } else { 2.0 };
        let halvings = 3;
        let mut scale = 0.0f64;
        let energies: Vec<f64> = (0..=halvings)
            .map(|power| {
                let overrides = [format!("run.step={}", step * 0.5f64.powi(power)), format!("run.end={end}")];
                let mut simulation = load(name, &overrides).unwrap().build().unwrap();
                let mut audit = Audit::default();
                simulation
                    .run_with(|s| {
                        audit.observe(s.system(), s.scheme().contact_solver(), s.before(), s.last_step());
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

//! Every scheme on every built-in scene: error against the event-driven scheme over some halvings
//! of the step, observed order, certificate.
//!
//! A scheme that treats a scene must approach the reference with the order of its construction, and
//! every one of its runs must be certified. A scheme that cannot treat a scene says so before its
//! first step, and that reason stands in the table. Where a row is red, one of the two is not true.

use std::time::Duration;

use stiction_scene::{Edit, builtin};

use super::*;
use crate::converge::{
    Convergence, EventDrivenLimits, Plan, ReferenceChoice, ReferenceKind, Run, SchemeChoice, SchemeSummary, converge,
    order,
};

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "schemes",
    title: "every scheme on every built-in scene, against the event-driven one",
    remarks: &[
        "In none of the papers: a table of our own. The error is the largest difference of any coordinate from the event-driven reference, at all times of the coarsest grid; its order is the slope over all halvings. Where a scheme does not locate events, single errors are small or large by chance, \
         by where an impact falls within its step: there the order is the median of the slopes between all pairs of steps.",
        "Laws (residual, momentum, complementarity, friction, balance of energy) are certified at every step; penetration, passing through and gained energy at the smallest. Asked for are 0.6 of an order where the scheme has order one, and 1.8 where it has order two: that allows for events. An error below a hundred times that of the reference has no order, and needs none.",
        "A scene is compared as long as its motion has a limit for h → 0 that all impact laws share, and not longer than errors grow by less than they shrink: the table says to which time. \
         Friction polygons of scenes are replaced by the round cone, which is what the event-driven scheme follows. \
         Scenes of bodies that meet by faces have no such reference.",
    ],
    run: reproduce,
};

/// The schemes that are compared, and the least order that counts as approaching the reference.
/// Where events are not located, their place within a step changes the error by a factor of about
/// four from step to step, and a slope over six halvings by up to a third. Where they are, errors
/// are not erratic.
const SCHEMES: [(&str, f64, Colour); 4] = [
    ("stewart-trinkle", 0.6, Colour::BLUE),
    ("moreau-midpoint", 0.6, Colour::GREEN),
    ("trapezoidal", 1.8, Colour::VERMILLION),
    ("implicit-ncp", 0.6, Colour::PURPLE),
];

/// Largest error of its own that the event-driven scheme may have, in metres or radians.
const REFERENCE_ERROR: f64 = 1e-8;

/// Halvings of the step.
const HALVINGS: i32 = 7;
const QUICK_HALVINGS: i32 = 6;

/// How a scene is compared where it is not from eight times its own step and to its own end.
struct Special {
    scene: &'static str,
    /// Coarsest step, in seconds.
    coarsest: Option<f64>,
    end: Option<f64>,
    overrides: &'static [&'static str],
    /// Why.
    reason: &'static str,
}

const ROUND: &[&str] = &["method.cone={}"];

const SPECIAL: [Special; 13] = [
    Special { end: Some(0.1), ..to("bricard", "to 0.1 s, which takes long enough") },
    Special {
        coarsest: Some(8e-5),
        end: Some(0.3),
        ..to(
            "carts-damper",
            "to 0.3 s, by steps that resolve the 5e-4 s in which the damper slows the carts: impacts follow each other within them",
        )
    },
    Special { coarsest: Some(0.005), ..to("carts-spring", "steps that resolve the spring") },
    Special {
        end: Some(0.58),
        overrides: ROUND,
        ..to(
            "four-balls",
            "to 0.58 s: the collision of four balls after that has no limit for h → 0; round friction cone",
        )
    },
    Special {
        coarsest: Some(0.0002),
        end: Some(0.1),
        overrides: &["scheme.trapezoidal.gap-tolerance=1e-11"],
        ..to(
            "four-bar-clearance",
            "to 0.1 s: later impacts of the pin spread errors; steps that resolve its flight; gap-tolerance of `trapezoidal` 1e-11 m, \
             because what it calls closed it hits early: with 1e-9 m errors end at 3e-8 rad",
        )
    },
    Special { end: Some(1.0), overrides: ROUND, ..to("incline", "round friction cone, to 1 s: it rests") },
    Special { end: Some(0.25), ..to("rattleback", "to 0.25 s, which takes long enough") },
    Special { overrides: ROUND, ..to("sliding-block", "round friction cone") },
    Special { coarsest: Some(0.07), ..to("sphere-spin-misaligned", "from the step of the paper on") },
    Special { end: Some(3.0), ..to("sphere-valley", "to 3 s: afterwards contacts break, and errors spread") },
    Special { coarsest: Some(0.002), end: Some(0.5), ..to("tippe-top", "to 0.5 s: turning over spreads errors") },
    Special { overrides: ROUND, ..to("two-balls", "round friction cone") },
    Special { end: Some(0.3), ..to("woodpecker", "to 0.3 s, two cycles") },
];

/// A scene that is compared in another way, for a reason.
const fn to(scene: &'static str, reason: &'static str) -> Special {
    Special { scene, coarsest: None, end: None, overrides: &[], reason }
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    let mut panels = vec![key()];
    let halvings = rows.full_or(HALVINGS, QUICK_HALVINGS);
    for scene in builtin::mechanisms() {
        let convergence =
            compare(scene.name, halvings, &mut |what| (rows.progress)(&format!("{}: {what}", scene.name)))?;
        let first = rows.rows.len();
        add_scene(rows, scene.name, &convergence);
        panels.push(scene_panel(scene.name, &convergence, &rows.rows[first..]));
    }
    const COLUMNS: usize = 4;
    let layout = (COLUMNS, 1400, 80 + 230 * panels.len().div_ceil(COLUMNS) as u32);
    let subtitle = "Largest error of a coordinate against the event-driven scheme, over the step";
    rows.figure("schemes", "Every scheme on every built-in scene", subtitle, layout, panels);
    Ok(())
}

fn special(scene: &str) -> Option<&'static Special> {
    SPECIAL.iter().find(|special| special.scene == scene)
}

/// Compares all schemes on one scene.
fn compare(scene: &str, halvings: i32, progress: &mut dyn FnMut(&str)) -> Result<Convergence, ReproduceError> {
    let special = special(scene);
    let of_special = special.map_or(&[][..], |special| special.overrides).iter();
    let mut edits: Vec<Edit> = of_special.map(|text| Edit::set(text)).collect::<Result<_, _>>().map_err(Box::new)?;
    if let Some(end) = special.and_then(|special| special.end) {
        edits.push(Edit::option("an earlier end", "run.end", end));
    }
    let document = stiction_scene::open(scene).map_err(Box::new)?;
    let own = document.clone().load(Vec::new()).map_err(Box::new)?.scene().run.step;
    let coarsest = special.and_then(|special| special.coarsest).unwrap_or(8.0 * own);
    let plan = Plan {
        subject: document.into(),
        edits,
        schemes: SCHEMES.iter().map(|(name, ..)| SchemeChoice::named(name)).collect(),
        steps: (0..=halvings).map(|k| coarsest * 0.5f64.powi(k)).collect(),
        reference: ReferenceChoice::Automatic,
        reference_step: None,
        limits: EventDrivenLimits { time: Duration::from_secs(10), ..Default::default() },
    };
    Ok(converge(&plan, progress)?)
}

/// The rows of one scene: the reference, and every scheme.
fn add_scene(rows: &mut Rows, scene: &str, convergence: &Convergence) {
    let reference = &convergence.reference;
    let why = special(scene).map_or_else(String::new, |special| format!("; {}", special.reason));
    if reference.kind == ReferenceKind::EventDriven {
        let floor = reference.error_floor.unwrap_or(f64::NAN);
        let is_certified = reference.certificate.starts_with("met");
        let row = rows.row(format!("{scene}, event-driven: estimate of its own error"), floor);
        rows.rows.push(Row {
            most: Some(REFERENCE_ERROR),
            tolerance: 0.5 * REFERENCE_ERROR,
            ok: floor <= REFERENCE_ERROR && is_certified,
            certificate: Some(reference.certificate.clone()),
            note: Some(format!("{}{why}", reference.description())),
            ..row
        });
    }
    for passed_over in reference.passed_over.iter().filter(|other| other.scheme == "event-driven") {
        let row = rows.row(format!("{scene}, event-driven"), f64::NAN);
        let note = format!("{}; errors against {}{why}", passed_over.reason, reference.description());
        rows.rows.push(Row { ok: !passed_over.has_failed, note: Some(note), ..row });
    }
    for (summary, (_, least, _)) in convergence.schemes.iter().zip(SCHEMES) {
        rows.rows.push(scheme_row(rows, scene, convergence, summary, least));
    }
}

/// The median of the slopes between all pairs of errors above the floor (Theil and Sen), which
/// single errors do not move.
fn median_order(errors: &[(f64, f64)], floor: f64) -> Option<f64> {
    let errors: Vec<_> =
        errors.iter().filter(|(_, error)| *error > floor).map(|(h, error)| (h.ln(), error.ln())).collect();
    let pairs = errors.iter().enumerate().flat_map(|(i, a)| errors[..i].iter().map(move |b| (a.1 - b.1) / (a.0 - b.0)));
    let mut slopes: Vec<f64> = pairs.collect();
    slopes.sort_by(f64::total_cmp);
    let count = slopes.len();
    (count > 0).then(|| 0.5 * (slopes[(count - 1) / 2] + slopes[count / 2]))
}

/// The row of a scheme on a scene.
fn scheme_row(rows: &Rows, scene: &str, convergence: &Convergence, summary: &SchemeSummary, least: f64) -> Row {
    let scheme = &summary.scheme;
    if let Some(reason) = &summary.refused {
        return Row { ok: true, note: Some(reason.clone()), ..rows.row(format!("{scene}, {scheme}"), f64::NAN) };
    }
    let errors = convergence.errors(scheme);
    // Laws hold at every step. What a step costs in accuracy, as penetration, must be little enough
    // at the smallest one.
    let runs: Vec<_> = convergence.runs.iter().filter(|run| run.scheme == *scheme).collect();
    let is_met = |run: &&&Run| run.certificate.starts_with("met");
    let worst = runs.iter().find(|run| !run.keeps_laws).or(runs.last()).map(|run| run.certificate.clone());
    let is_certified = runs.iter().all(|run| run.keeps_laws) && runs.last().as_ref().is_none_or(is_met);
    let largest = errors.iter().map(|(_, error)| *error).fold(0.0, f64::max);
    let mut note = match errors.as_slice() {
        [(_, first), .., (_, last)] if *first < largest => {
            format!("error {first:.1e} → {last:.1e}, largest {largest:.1e}")
        }
        [(_, first), .., (_, last)] => format!("error {first:.1e} → {last:.1e}"),
        _ => "no order".to_owned(),
    };
    let uncertified = runs.iter().rfind(|run| !is_met(run));
    if let (true, Some(run)) = (is_certified, uncertified) {
        note = format!("{note}; certified below h = {:.1e}, where {}", run.step, run.certificate);
    }
    if let Some(failed) = summary.failed.first() {
        note = format!("h = {:.1e}: {}; {note}", failed.step, failed.reason);
    }
    let is_whole = summary.failed.is_empty() && errors.iter().all(|(_, error)| error.is_finite());
    let base =
        Row { certificate: worst, note: Some(note), errors: errors.clone(), ..rows.row(String::new(), f64::NAN) };
    let halvings = errors.len().saturating_sub(1);
    let floor = convergence.floor().unwrap_or(0.0);
    let order = if least > 1.0 { order(&errors, floor) } else { median_order(&errors, floor) };
    match (order, convergence.floor()) {
        // As exact as the reference at every step, or at all but one.
        (None, Some(floor)) => Row {
            quantity: format!("{scene}, {scheme}: largest error over {halvings} halvings"),
            computed: largest,
            most: Some(floor),
            tolerance: 0.5 * floor,
            ok: is_whole && is_certified && errors.last().is_some_and(|(_, error)| *error <= floor),
            ..base
        },
        (order, _) => {
            let order = order.unwrap_or(f64::NAN);
            Row {
                quantity: format!("{scene}, {scheme}: order over {halvings} halvings"),
                computed: order,
                least: Some(least),
                tolerance: f64::INFINITY,
                ok: is_whole && is_certified && order >= least,
                ..base
            }
        }
    }
}

/// Errors of all schemes on one scene over the step.
fn scene_panel(scene: &str, convergence: &Convergence, rows: &[Row]) -> Panel {
    // Errors of the two schemes of order one often lie on each other: the one below is wider. A
    // scheme without errors keeps its place, so that all panels have its marker.
    let series = SCHEMES.into_iter().enumerate().map(|(place, (scheme, _, colour))| Series {
        kind: SeriesKind::LineAndPoints,
        width: 2.7 - 0.5 * place as f64,
        ..coloured("", convergence.errors(scheme), colour)
    });
    let red = rows.iter().filter(|row| !row.ok).filter_map(|row| row.quantity.split(", ").nth(1));
    let red: Vec<&str> = red.map(|text| text.split(':').next().unwrap_or(text)).collect();
    let suffix = if red.is_empty() { String::new() } else { format!(" (red: {})", red.join(", ")) };
    let panel = panel(format!("{scene}{suffix}"), "step, s", "error", series.collect());
    Panel { log_x: true, log_y: true, legend: Legend::Hidden, ..panel }
}

/// What the colours mean.
fn key() -> Panel {
    let series = SCHEMES.map(|(scheme, _, colour)| Series {
        kind: SeriesKind::LineAndPoints,
        width: 2.0,
        ..coloured(scheme, Vec::new(), colour)
    });
    let range = Some((0.0, 1.0));
    Panel { is_picture: true, x_range: range, y_range: range, series: series.to_vec(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::converge::{FailedRun, Reference};

    /// A comparison of one scheme that was made up: its errors by halved steps, and what the
    /// certificates say.
    fn made_up(scheme: &str, errors: &[f64], certificate: &str) -> Convergence {
        let run = |(k, error): (usize, &f64)| Run {
            scheme: scheme.to_owned(),
            step: 0.1 * 0.5f64.powi(k as i32),
            error: *error,
            error_at_end: *error,
            numerical_energy: 0.0,
            certificate: certificate.to_owned(),
            keeps_laws: !certificate.contains("residual"),
            solves: 1,
            time: 1.0,
        };
        Convergence {
            scene: "rod".to_owned(),
            reference: Reference {
                kind: ReferenceKind::EventDriven,
                scheme: "event-driven".to_owned(),
                step: None,
                tolerance: Some(1e-13),
                stops: 0,
                error_floor: Some(1e-13),
                certificate: "met".to_owned(),
                passed_over: Vec::new(),
            },
            runs: errors.iter().enumerate().map(run).collect(),
            schemes: vec![SchemeSummary { scheme: scheme.to_owned(), ..Default::default() }],
        }
    }

    fn judged(convergence: &Convergence) -> Row {
        let mut deaf = |_: &str| {};
        let rows = Rows::new("schemes", "none", Effort::Quick, &mut deaf);
        let summary = &convergence.schemes[0];
        let least = SCHEMES.iter().find(|(scheme, ..)| *scheme == summary.scheme).unwrap().1;
        scheme_row(&rows, "rod", convergence, summary, least)
    }

    #[test]
    fn a_scheme_that_does_not_approach_the_reference_is_red() {
        let falling: Vec<f64> = (0..6).map(|k| 1e-3 * 0.25f64.powi(k)).collect();
        let slowly: Vec<f64> = (0..6).map(|k| 1e-3 * 0.5f64.powi(k)).collect();
        let good = judged(&made_up("trapezoidal", &falling, "met"));
        assert!(good.ok && (good.computed - 2.0).abs() < 1e-12 && good.least == Some(1.8), "{good:?}");
        assert_eq!(good.errors.len(), 6);
        // The errors of a located stop that is none: the same at every step.
        assert!(!judged(&made_up("trapezoidal", &[8e-3; 6], "met")).ok);
        // Order one is too little for a scheme of order two, and enough for one of order one.
        assert!(!judged(&made_up("trapezoidal", &slowly, "met")).ok);
        assert!(judged(&made_up("moreau-midpoint", &slowly, "met")).ok);
        // Single errors that are small or large by chance count for little, at an end too.
        let by_chance = [1e-6, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5];
        let row = judged(&made_up("moreau-midpoint", &by_chance, "met"));
        assert!(row.ok && (row.computed - 1.0).abs() < 0.3, "{row:?}");
        assert!(row.note.as_ref().unwrap().contains("largest 5.0e-4"), "{row:?}");
        // But errors that stay or grow are seen, whatever the first.
        assert!(!judged(&made_up("moreau-midpoint", &[1e-1, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3], "met")).ok);
        assert!(!judged(&made_up("moreau-midpoint", &[1e-3, 1e-3, 2e-3, 2e-3, 4e-3, 4e-3], "met")).ok);
        // Right, but not certified.
        let red = judged(&made_up("trapezoidal", &falling, "not met: residual 4.5e-9, limit 1.0e-10"));
        assert!(!red.ok && red.standing() == "NOT CERTIFIED", "{red:?}");
        // What the step costs counts at the smallest one alone.
        let mut coarse = made_up("moreau-midpoint", &falling, "met");
        coarse.runs[0].certificate = "not met: penetration_share 2.0e-2, limit 1.0e-3".to_owned();
        let row = judged(&coarse);
        assert!(row.ok && row.note.as_ref().unwrap().contains("certified below h = 1.0e-1"), "{row:?}");
        coarse.runs.last_mut().unwrap().certificate = "not met: penetration_share 2.0e-3, limit 1.0e-3".to_owned();
        assert!(!judged(&coarse).ok);
        // As exact as the reference: no order, and none is needed.
        let exact = judged(&made_up("trapezoidal", &[1e-15; 6], "met"));
        assert!(exact.ok && exact.computed == 1e-15, "{exact:?}");
        assert!(!judged(&made_up("trapezoidal", &[f64::NAN; 6], "met")).ok);
        assert!(!judged(&made_up("trapezoidal", &[1e-3, 2.5e-4, f64::NAN], "met")).ok);
    }

    #[test]
    fn a_run_that_fails_is_red_and_a_refusal_is_a_note() {
        let mut failed = made_up("trapezoidal", &[1e-3, 2.5e-4], "met");
        failed.schemes[0].failed.push(FailedRun { step: 0.1, reason: "not solved".to_owned() });
        let row = judged(&failed);
        assert!(!row.ok && row.note.as_ref().unwrap().contains("not solved"), "{row:?}");
        let mut refused = made_up("trapezoidal", &[], "met");
        refused.schemes[0].refused = Some("it has no impacts".to_owned());
        let row = judged(&refused);
        assert!(row.ok && row.computed.is_nan() && row.note.as_deref() == Some("it has no impacts"), "{row:?}");
        assert_eq!(row.standing(), "note");
    }

    #[test]
    fn the_table_of_a_scene_has_every_scheme() {
        for (scene, refusing) in [("slide-to-roll", 0), ("newton-cradle", 2)] {
            let convergence = compare(scene, QUICK_HALVINGS, &mut |_| {}).unwrap();
            let mut deaf = |_: &str| {};
            let mut rows = Rows::new("schemes", "none", Effort::Quick, &mut deaf);
            add_scene(&mut rows, scene, &convergence);
            assert_eq!(rows.rows.len(), 1 + SCHEMES.len(), "{:?}", rows.rows);
            assert!(rows.rows.iter().all(|row| row.ok), "{:#?}", rows.rows);
            let notes: Vec<_> = rows.rows.iter().filter(|row| row.standing() == "note").collect();
            assert_eq!(notes.len(), refusing);
            assert!(notes.iter().all(|row| row.note.as_ref().unwrap().contains("inelastic")), "{notes:?}");
            let orders = rows.rows.iter().filter(|row| !row.errors.is_empty());
            assert!(orders.clone().all(|row| row.errors.len() == 7), "six halvings");
        }
        let scenes: Vec<&str> = builtin::all().iter().map(|scene| scene.name).collect();
        assert!(SPECIAL.iter().all(|special| scenes.contains(&special.scene)), "every special scene exists");
    }
}

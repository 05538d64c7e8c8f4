//! \[TTP01\] §4, problem 1: a ball spins in place until friction about the normal stops it.
//!
//! Experiment 1 has a friction direction along the true friction, experiment 2 has none. Both methods of the paper: `stewart-trinkle` with the paper's directions, by Lemke's
//! method, and `implicit-ncp` with the same set or with the ellipsoid itself.

use stiction_dynamics::{Simulation, StepAudit};

use super::friction_set::{FrictionSet, picture, section};
use super::{
    Effort, Exact, Measured, NamedFigure, Printed, ReproduceError, Reproduction, Rounding, Rows, Tolerance, Verdict,
    scene, torsion,
};
use crate::figure::{Colour, Figure, Legend, Panel, Series, SeriesKind};

/// The step of the paper, in seconds.
const STEP: f64 = 0.07;

/// Deceleration of the spin that the ellipsoid gives, in rad/s².
const TRUE_SLOPE: f64 = -1.962;

/// What a reader of the paper should know.
const ALIGNED_REMARKS: &[&str] = &[
    "The paper prints A = JᵀMJ, and means JᵀM⁻¹J; in (3) the normal component of b is −9.81.",
    "One of the 20 directions is the true friction, so that linearised and exact friction agree. The direction alone is enough: the LCP then has three unknowns.",
    "Both methods are compared at the same step, where they agree to rounding.",
];

/// What a reader of the paper should know.
const MISALIGNED_REMARKS: &[&str] = &[
    "None of the six directions is the true friction, which is the lowest point of the ellipsoid. What they span reaches less deep, and the spin ends later by the ratio of the two moments.",
    "The paper reports a very small velocity that remains after spinning stopped. With an accurate LCP it does not appear.",
    "Both methods are compared at the same step, where they agree to rounding.",
];

/// Directions of the paper on the ellipsoid with the torsion radius `radius`: rings (number of directions, angle out of the tangent plane) and two poles or none.
pub(super) fn directions(radius: f64, rings: &[(usize, f64)], has_poles: bool) -> Vec<[f64; 3]> {
    let mut directions = Vec::new();
    for &(count, rise) in rings {
        let length = 1.0 / rise.cos().hypot(rise.sin() / radius);
        for i in 0..count {
            let turn = std::f64::consts::TAU * i as f64 / count as f64;
            directions.push([rise.cos() * turn.cos(), rise.cos() * turn.sin(), rise.sin()].map(|x| length * x));
        }
    }
    if has_poles {
        directions.extend([[0.0, 0.0, radius], [0.0, 0.0, -radius]]);
    }
    directions
}

/// Directions (5): Figure 3 of the paper.
pub(super) fn figure_3(radius: f64) -> Vec<[f64; 3]> {
    directions(radius, &[(8, 0.0), (5, 0.5), (5, -0.5)], true)
}

/// Normal force for which the paper draws the friction sets, in N.
const DRAWN_NORMAL_FORCE: f64 = 5.0;

/// One step: its end, the six velocities there, and the mean force of the contact (normal, two tangents, torsion).
struct Sample {
    t: f64,
    v: Vec<f64>,
    force: [f64; 4],
    size: usize,
}

fn run(name: &str, overrides: &[String]) -> Result<(Vec<Sample>, Verdict), ReproduceError> {
    let (mut simulation, auditor) = scene(name, overrides)?;
    let mut samples = Vec::new();
    let observe = |simulation: &Simulation, _: &StepAudit| {
        let step = simulation.last_step();
        let impulse = step.solution.contacts.first().copied().unwrap_or_default();
        let [t, o, r] = impulse.tangent;
        samples.push(Sample {
            t: step.state.t,
            v: step.state.v.clone(),
            force: [impulse.normal, t, o, r].map(|c| c / step.h),
            size: step.solution.report.size,
        });
    };
    let (verdict, _) = auditor.run(&mut simulation, observe)?;
    Ok((samples, verdict))
}

/// The scene with other friction directions.
fn with_directions(directions: &[[f64; 3]]) -> String {
    format!("pair.0.friction-directions={directions:?}")
}

/// Adds velocities and forces of a run: the steps to `last` and to the one after it, in which the spin ends.
fn add_run(rows: &mut Rows, name: &str, samples: &[Sample], last: usize, expected: [f64; 3], known: [Tolerance; 3]) {
    let (before, at) = (&samples[last], &samples[last + 1]);
    let [spin, moment, last_moment] = expected;
    rows.add(format!("{name}: spin at t = {:.2}, rad/s", before.t), spin, before.v[5], known[0]);
    rows.add(format!("{name}: spin at t = {:.2}, rad/s", at.t), 0.0, at.v[5], Rounding);
    rows.add(format!("{name}: moment until then, N m"), moment, before.force[3], known[1]);
    rows.add(format!("{name}: moment in the last step, N m"), last_moment, at.force[3], known[2]);
    let normal = samples.iter().map(|sample| (sample.force[0] - 9.81).abs()).fold(0.0, f64::max);
    rows.add(
        format!("{name}: normal force, N"),
        9.81,
        9.81 + normal,
        if name == "NCP" { Measured(1e-11) } else { Rounding },
    );
    let others = samples.iter().flat_map(|sample| &sample.v[..5]).fold(0.0f64, |worst, v| worst.max(v.abs()));
    rows.add(format!("{name}: largest other velocity"), 0.0, others, Rounding);
}

/// Experiment 1.
pub(super) fn aligned(_: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
    let mut rows = Rows::new("sphere-spin", "TTP01");
    let (expected, known) = ([0.03924, -0.7848, -0.224228571429], [Rounding, Rounding, Printed(12)]);
    progress("the LCP of 20 directions");
    let (lcp, lcp_verdict) = run("sphere-spin-misaligned", &[with_directions(&figure_3(0.4))])?;
    rows.fed_by(&lcp_verdict);
    add_run(&mut rows, "LCP", &lcp, 13, expected, known);
    rows.add("LCP: unknowns", 22.0, lcp[0].size as f64, Exact);
    progress("the LCP of one direction");
    let (one, one_verdict) = run("sphere-spin-misaligned", &[with_directions(&[[0.0, 0.0, -0.4]])])?;
    rows.fed_by(&one_verdict);
    add_run(&mut rows, "LCP of one direction", &one, 13, expected, known);
    rows.add("LCP of one direction: unknowns", 3.0, one[0].size as f64, Exact);
    add_translation(&mut rows, progress)?;
    progress("the instant of the start");
    torsion::add_spin(&mut rows)?;
    progress("the implicit scheme");
    let (ncp, ncp_verdict) = run("sphere-spin", &["scheme.implicit-ncp={}".into()])?;
    rows.fed_by(&ncp_verdict);
    add_run(&mut rows, "NCP", &ncp, 13, expected, known);
    rows.fed_by(&lcp_verdict);
    let slope = (lcp[12].v[5] - lcp[0].v[5]) / (12.0 * STEP);
    rows.add("slope of the spin, rad/s²", TRUE_SLOPE, slope, Rounding);
    progress("the friction sets");
    let ellipsoid = FrictionSet::of_scene("sphere-spin", &[], DRAWN_NORMAL_FORCE)?;
    let hull = FrictionSet::of_scene("sphere-spin-misaligned", &[with_directions(&figure_3(0.4))], DRAWN_NORMAL_FORCE)?;
    let sets = set_figure("sphere-spin-sets", 3, &ellipsoid, &hull);
    let title = "The spin of a ball is stopped by friction about the normal";
    let figures = vec![sets, figure("sphere-spin", title, [4, 5], &lcp, Some(&ncp))];
    Ok(rows.into_reproduction(figures, ALIGNED_REMARKS))
}

/// §4.2, its last remark: with one direction, about the normal, nothing resists a translation, and the ball goes on for ever.
fn add_translation(rows: &mut Rows, progress: &mut dyn FnMut(&str)) -> Result<(), ReproduceError> {
    progress("the ball of one direction that translates");
    let throw = || {
        vec![with_directions(&[[0.0, 0.0, -0.4]]), "body.ball.velocity=[0.3, -0.4, 0.0]".into(), "run.end=14.0".into()]
    };
    let implicit = throw().into_iter().chain(["scheme.implicit-ncp={}".into()]).collect();
    for (name, overrides) in [("LCP", throw()), ("NCP", implicit)] {
        let (samples, verdict) = run("sphere-spin-misaligned", &overrides)?;
        rows.fed_by(&verdict);
        let last = samples.last().expect("steps");
        let speed = last.v[0].hypot(last.v[1]);
        rows.add(
            format!("{name} of one direction, thrown: speed at t = {:.0}, m/s", last.t),
            0.5,
            speed,
            Measured(1e-14),
        );
        rows.add(
            format!("{name} of one direction, thrown: spin at t = 1.05, rad/s"),
            0.0,
            samples[14].v[5],
            Measured(1e-14),
        );
        let roll = samples.iter().flat_map(|sample| &sample.v[3..5]).fold(0.0f64, |most, v| most.max(v.abs()));
        rows.add(
            format!("{name} of one direction, thrown: largest spin along the plane, rad/s"),
            0.0,
            roll,
            Measured(1e-14),
        );
    }
    Ok(())
}

/// Experiment 2.
pub(super) fn misaligned(_: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
    let mut rows = Rows::new("sphere-spin-misaligned", "TTP01");
    let (expected, known) = ([0.0370176, -0.687493712, -0.211529], [Printed(7), Printed(9), Printed(6)]);
    progress("the LCP");
    let (lcp, lcp_verdict) = run("sphere-spin-misaligned", &[])?;
    rows.fed_by(&lcp_verdict);
    add_run(&mut rows, "LCP", &lcp, 15, expected, known);
    progress("the implicit scheme with the same set");
    let (ncp, ncp_verdict) = run("sphere-spin-misaligned", &["scheme.implicit-ncp={}".into()])?;
    rows.fed_by(&ncp_verdict);
    add_run(&mut rows, "NCP", &ncp, 15, expected, known);
    for (name, samples, verdict) in [("NCP", &ncp, &ncp_verdict), ("LCP", &lcp, &lcp_verdict)] {
        rows.fed_by(verdict);
        let slope = (samples[12].v[5] - samples[0].v[5]) / (12.0 * STEP);
        rows.add(format!("{name}: slope of the spin, rad/s²"), -1.718734280424, slope, Printed(12));
    }
    let impulse = lcp.iter().map(|sample| STEP * sample.force[3]).sum::<f64>();
    rows.add("LCP: whole torsional impulse, N m s", -0.7848, impulse, Rounding);
    let largest = lcp.last().expect("steps").v.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
    rows.add("LCP: velocity that remains", 0.0, largest, Measured(1e-14));
    let title = "A ball spins in place, with friction directions that miss the true one";
    progress("the friction sets");
    let ellipsoid = FrictionSet::of_scene("sphere-spin", &[], DRAWN_NORMAL_FORCE)?;
    let hull = FrictionSet::of_scene("sphere-spin-misaligned", &[], DRAWN_NORMAL_FORCE)?;
    // The moment that stops the ball of the reference, over that of Coulomb's bound, is what the directions in the scene span.
    let arm = expected[1].abs() / (0.2 * 9.81);
    let quantity = "largest moment that the directions span, N m, for μ c_n = 1 N";
    rows.add(quantity, arm, hull.reach([0.0, 0.0, -1.0]), Measured(1e-9));
    let sets = set_figure("sphere-spin-misaligned-sets", 6, &ellipsoid, &hull);
    let figures = vec![sets, figure("sphere-spin-misaligned", title, [7, 8], &lcp, None)];
    Ok(rows.into_reproduction(figures, MISALIGNED_REMARKS))
}

/// The friction ellipsoid with the directions on it, what these directions span, and cuts through both.
fn set_figure(name: &'static str, number: u32, ellipsoid: &FrictionSet, hull: &FrictionSet) -> NamedFigure {
    let directions = hull.corners();
    let sets = [("ellipsoid", ellipsoid, Colour::BLUE), ("span of the directions", hull, Colour::VERMILLION)];
    let label = format!("the {} directions", directions.len());
    let width = 2.8 * ellipsoid.reach([1.0, 0.0, 0.0]);
    let picture = |title: &str, set| picture(title, set, &directions, &label, width);
    let mut upright = section("Cut along the first tangent", [0, 2], &sets);
    // Friction against the spin is the point of the set with the least moment.
    for (name, set, colour) in sets {
        upright.series.push(Series {
            label: format!("against the spin: {name}"),
            points: vec![(0.0, -set.reach([0.0, 0.0, -1.0]))],
            colour: Some(colour),
            kind: SeriesKind::Points,
            width: 2.5,
        });
    }
    let figure = Figure {
        title: "What friction may be".into(),
        subtitle: format!(
            "Trinkle, Tzitzouris and Pang 2001, Figure {number}: c_n = {DRAWN_NORMAL_FORCE} N, μ = 0.2; two tangential forces c_t and c_o, \
             and the moment c_r about the normal. Drawn from the sets by which the contact is solved"
        ),
        panels: vec![
            picture(&format!("Figure {number}: the ellipsoid, and directions on it"), ellipsoid),
            picture("What the directions span: the set of the LCP", hull),
            section("Cut without moment", [0, 1], &sets),
            upright,
        ],
        columns: 2,
        size: (1100, 900),
        ..Default::default()
    };
    NamedFigure { name, figure }
}

/// Velocities and forces over time, beside the true ones.
fn figure(name: &'static str, title: &str, numbers: [u32; 2], lcp: &[Sample], ncp: Option<&[Sample]>) -> NamedFigure {
    let start = 0.0;
    let spin = |samples: &[Sample]| -> Vec<(f64, f64)> {
        std::iter::once((start, 1.962)).chain(samples.iter().map(|sample| (sample.t, sample.v[5]))).collect()
    };
    let exact = vec![(0.0, 1.962), (1.0, 0.0), (lcp.last().map_or(1.0, |sample| sample.t), 0.0)];
    let others = lcp.iter().map(|s| (s.t, s.v[..5].iter().fold(0.0f64, |worst, v| worst.max(v.abs())))).collect();
    let dots = |label: &str, points, colour| Series {
        label: label.into(),
        points,
        colour: Some(colour),
        kind: SeriesKind::Points,
        width: 2.0,
    };
    let line = |label: &str, points, colour, kind| Series {
        label: label.into(),
        points,
        colour: Some(colour),
        kind,
        width: 1.5,
    };
    let mut velocities = Panel {
        title: format!("Figure {}: velocities", numbers[0]),
        x_label: "time, s".into(),
        y_label: "rad/s, m/s".into(),
        legend: Legend::Above,
        series: vec![
            line("exact spin", exact, Colour::INK, SeriesKind::Dashed),
            dots("spin, LCP", spin(lcp), Colour::VERMILLION),
            dots("largest other velocity", others, Colour::GREEN),
        ],
        ..Default::default()
    };
    let force =
        |samples: &[Sample], k: usize| -> Vec<(f64, f64)> { samples.iter().map(|s| (s.t, s.force[k])).collect() };
    let end = lcp.last().map_or(1.0, |sample| sample.t);
    let mut forces = Panel {
        title: format!("Figure {}: friction", numbers[1]),
        x_label: "time, s".into(),
        y_label: "N, N m".into(),
        legend: Legend::Above,
        series: vec![
            line(
                "exact moment",
                vec![(0.0, -0.7848), (1.0, -0.7848), (1.0, 0.0), (end, 0.0)],
                Colour::INK,
                SeriesKind::Dashed,
            ),
            line("moment, LCP", force(lcp, 3), Colour::VERMILLION, SeriesKind::LineAndPoints),
            line("tangential force", force(lcp, 1), Colour::GREEN, SeriesKind::LineAndPoints),
        ],
        ..Default::default()
    };
    if let Some(ncp) = ncp {
        velocities.series.push(line("spin, NCP", spin(ncp), Colour::BLUE, SeriesKind::Line));
        forces.series.push(dots("moment, NCP", force(ncp, 3), Colour::BLUE));
    }
    let subtitle = format!("Trinkle, Tzitzouris and Pang 2001, Figures {} and {}, h = {STEP}", numbers[0], numbers[1]);
    let figure = Figure {
        title: title.into(),
        subtitle,
        panels: vec![velocities, forces],
        columns: 2,
        size: (1100, 480),
        ..Default::default()
    };
    NamedFigure { name, figure }
}

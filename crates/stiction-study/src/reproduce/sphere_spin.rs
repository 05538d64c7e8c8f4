//! \[TTP01\] §4, problem 1: a ball spins in place until friction about the normal stops it.
//!
//! Experiment 1 has a friction direction along the true friction, experiment 2 has none. Both
//! methods of the paper: `stewart-trinkle` with the paper's directions, by Lemke's method, and
//! `implicit-ncp` with the same set or with the ellipsoid itself.

use super::friction_set::{FrictionSet, picture, section};
use super::torsion::{Sample, history, samples};
use super::*;

/// An experiment.
pub(super) const ALIGNED: Experiment = Experiment {
    id: "sphere-spin",
    title: "[TTP01] a spinning ball is stopped by friction about the normal",
    remarks: &[
        "The paper prints A = JᵀMJ, and means JᵀM⁻¹J; in (3) the normal component of b is −9.81.",
        "One of the 20 directions is the true friction, so that linearised and exact friction agree. The direction alone is enough: the LCP then has three unknowns.",
        "Both methods are compared at the same step, where they agree to rounding.",
    ],
    run: aligned,
};

/// An experiment.
pub(super) const MISALIGNED: Experiment = Experiment {
    id: "sphere-spin-misaligned",
    title: "[TTP01] a spinning ball is stopped by friction directions that miss the true one",
    remarks: &[
        "None of the six directions is the true friction, which is the lowest point of the ellipsoid. What they span reaches less deep, and the spin ends later by the ratio of the two moments.",
        "The paper reports a very small velocity that remains after spinning stopped. With an accurate LCP it does not appear.",
        "Both methods are compared at the same step, where they agree to rounding.",
    ],
    run: misaligned,
};

/// The step of the paper, in seconds.
const STEP: f64 = 0.07;

/// Deceleration of the spin that the ellipsoid gives, in rad/s².
const TRUE_SLOPE: f64 = -1.962;

/// Directions (5) of the paper on the ellipsoid with this torsion radius, its Figure 3: three rings
/// out of the tangent plane, and two poles.
pub(super) fn figure_3(radius: f64) -> Vec<[f64; 3]> {
    let mut directions = Vec::new();
    for (count, rise) in [(8, 0.0f64), (5, 0.5), (5, -0.5)] {
        let length = 1.0 / rise.cos().hypot(rise.sin() / radius);
        for i in 0..count {
            let turn = std::f64::consts::TAU * f64::from(i) / f64::from(count);
            directions.push([rise.cos() * turn.cos(), rise.cos() * turn.sin(), rise.sin()].map(|x| length * x));
        }
    }
    directions.extend([[0.0, 0.0, radius], [0.0, 0.0, -radius]]);
    directions
}

/// Normal force for which the paper draws the friction sets, in N.
const DRAWN_NORMAL_FORCE: f64 = 5.0;

fn run(rows: &mut Rows, name: &str, overrides: &[String]) -> Result<Vec<Sample>, ReproduceError> {
    samples(rows, &mut scene(name, overrides)?)
}

/// The setting that makes the scheme implicit.
const IMPLICIT: &str = "scheme.implicit-ncp={}";

/// The scene with other friction directions.
fn with_directions(directions: &[[f64; 3]]) -> String {
    format!("pair.0.friction-directions={directions:?}")
}

/// The largest size of some components of the velocity.
fn largest(samples: &[Sample], components: std::ops::Range<usize>) -> f64 {
    samples.iter().flat_map(|sample| &sample.v[components.clone()]).fold(0.0, |most, v| most.max(v.abs()))
}

/// Adds velocities and forces of a run: the steps to `last` and to the one after it, in which the
/// spin ends.
fn add_run(
    rows: &mut Rows,
    name: &str,
    samples: &[Sample],
    last: usize,
    [(spin, of_spin), (moment, of_moment), (last_moment, of_last)]: [(f64, Tolerance); 3],
) {
    let (before, at) = (&samples[last], &samples[last + 1]);
    rows.add(format!("{name}: spin at t = {:.2}, rad/s", before.t), spin, before.v[5], of_spin);
    rows.add(format!("{name}: spin at t = {:.2}, rad/s", at.t), 0.0, at.v[5], Rounding);
    rows.add(format!("{name}: moment until then, N m"), moment, before.forces[0][3], of_moment);
    rows.add(format!("{name}: moment in the last step, N m"), last_moment, at.forces[0][3], of_last);
    let off = samples.iter().map(|sample| (sample.forces[0][0] - 9.81).abs()).fold(0.0, f64::max);
    // Newton's method leaves more than rounding.
    let tolerance = if name == "NCP" { Measured(1e-11) } else { Rounding };
    rows.add(format!("{name}: normal force, N"), 9.81, 9.81 + off, tolerance);
    rows.add(format!("{name}: largest other velocity"), 0.0, largest(samples, 0..5), Rounding);
}

/// The mean deceleration of the spin over twelve steps, in rad/s².
fn slope(samples: &[Sample]) -> f64 {
    (samples[12].v[5] - samples[0].v[5]) / (12.0 * STEP)
}

/// Experiment 1.
fn aligned(rows: &mut Rows) -> Result<(), ReproduceError> {
    let expected = [(0.03924, Rounding), (-0.7848, Rounding), (-0.224228571429, Printed(12))];
    rows.progress("the LCP of 20 directions");
    let twenty = [with_directions(&figure_3(0.4))];
    let lcp = run(rows, "sphere-spin-misaligned", &twenty)?;
    let verdict = rows.verdict.clone();
    add_run(rows, "LCP", &lcp, 13, expected);
    rows.add("LCP: unknowns", 22.0, lcp[0].size as f64, Exact);
    rows.progress("the LCP of one direction");
    let one = run(rows, "sphere-spin-misaligned", &[with_directions(&[[0.0, 0.0, -0.4]])])?;
    add_run(rows, "LCP of one direction", &one, 13, expected);
    rows.add("LCP of one direction: unknowns", 3.0, one[0].size as f64, Exact);
    add_translation(rows)?;
    rows.progress("the instant of the start");
    torsion::add_spin(rows)?;
    rows.progress("the implicit scheme");
    let ncp = run(rows, "sphere-spin", &[IMPLICIT.into()])?;
    add_run(rows, "NCP", &ncp, 13, expected);
    rows.verdict = verdict;
    rows.add("slope of the spin, rad/s²", TRUE_SLOPE, slope(&lcp), Rounding);
    rows.progress("the friction sets");
    let ellipsoid = FrictionSet::of_scene("sphere-spin", &[], DRAWN_NORMAL_FORCE)?;
    let hull = FrictionSet::of_scene("sphere-spin-misaligned", &twenty, DRAWN_NORMAL_FORCE)?;
    set_figure(rows, "sphere-spin-sets", 3, &ellipsoid, &hull);
    figure(rows, "The spin of a ball is stopped by friction about the normal", [4, 5], &lcp, Some(&ncp));
    Ok(())
}

/// §4.2, its last remark: with one direction, about the normal, nothing resists a translation, and
/// the ball goes on for ever.
fn add_translation(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("the ball of one direction that translates");
    let throw =
        [with_directions(&[[0.0, 0.0, -0.4]]), "body.ball.velocity=[0.3, -0.4, 0.0]".into(), "run.end=14.0".into()];
    for (name, overrides) in [("LCP", throw.to_vec()), ("NCP", [&throw[..], &[IMPLICIT.into()]].concat())] {
        let samples = run(rows, "sphere-spin-misaligned", &overrides)?;
        let last = samples.last().expect("steps");
        let of = |what: String| format!("{name} of one direction, thrown: {what}");
        let speed = last.v[0].hypot(last.v[1]);
        rows.add(of(format!("speed at t = {:.0}, m/s", last.t)), 0.5, speed, Rounding);
        rows.add(of("spin at t = 1.05, rad/s".into()), 0.0, samples[14].v[5], Rounding);
        let roll = largest(&samples, 3..5);
        rows.add(of("largest spin along the plane, rad/s".into()), 0.0, roll, Rounding);
    }
    Ok(())
}

/// Experiment 2.
fn misaligned(rows: &mut Rows) -> Result<(), ReproduceError> {
    let expected = [(0.0370176, Printed(7)), (-0.687493712, Printed(9)), (-0.211529, Printed(6))];
    rows.progress("the LCP");
    let lcp = run(rows, "sphere-spin-misaligned", &[])?;
    let of_lcp = rows.verdict.clone();
    add_run(rows, "LCP", &lcp, 15, expected);
    rows.progress("the implicit scheme with the same set");
    let ncp = run(rows, "sphere-spin-misaligned", &[IMPLICIT.into()])?;
    add_run(rows, "NCP", &ncp, 15, expected);
    rows.add("NCP: slope of the spin, rad/s²", -1.718734280424, slope(&ncp), Printed(12));
    rows.verdict = of_lcp;
    rows.add("LCP: slope of the spin, rad/s²", -1.718734280424, slope(&lcp), Printed(12));
    let impulse = lcp.iter().map(|sample| STEP * sample.forces[0][3]).sum::<f64>();
    rows.add("LCP: whole torsional impulse, N m s", -0.7848, impulse, Rounding);
    rows.add("LCP: velocity that remains", 0.0, largest(&lcp[lcp.len() - 1..], 0..6), Rounding);
    rows.progress("the friction sets");
    let ellipsoid = FrictionSet::of_scene("sphere-spin", &[], DRAWN_NORMAL_FORCE)?;
    let hull = FrictionSet::of_scene("sphere-spin-misaligned", &[], DRAWN_NORMAL_FORCE)?;
    // The moment that stops the ball of the reference, over that of Coulomb's bound, is what the
    // directions in the scene span.
    let arm = 0.687493712 / (0.2 * 9.81);
    let quantity = "largest moment that the directions span, N m, for μ c_n = 1 N";
    rows.add(quantity, arm, hull.reach([0.0, 0.0, -1.0]), Measured(1e-9));
    set_figure(rows, "sphere-spin-misaligned-sets", 6, &ellipsoid, &hull);
    let title = "A ball spins in place, with friction directions that miss the true one";
    figure(rows, title, [7, 8], &lcp, None);
    Ok(())
}

/// The friction ellipsoid with the directions on it, what these directions span, and cuts through
/// both.
fn set_figure(rows: &mut Rows, name: &'static str, number: u32, ellipsoid: &FrictionSet, hull: &FrictionSet) {
    let directions = hull.corners();
    let sets = [("ellipsoid", ellipsoid, Colour::BLUE), ("span of the directions", hull, Colour::VERMILLION)];
    let label = format!("the {} directions", directions.len());
    let width = 2.8 * ellipsoid.reach([1.0, 0.0, 0.0]);
    let picture = |title: &str, set| picture(title, set, &directions, &label, width);
    let mut upright = section("Cut along the first tangent", [0, 2], &sets);
    // Friction against the spin is the point of the set with the least moment.
    for (name, set, colour) in sets {
        let lowest = vec![(0.0, -set.reach([0.0, 0.0, -1.0]))];
        upright.series.push(Series { width: 2.5, ..dots(format!("against the spin: {name}"), lowest, colour) });
    }
    let subtitle = format!(
        "Trinkle, Tzitzouris and Pang 2001, Figure {number}: c_n = {DRAWN_NORMAL_FORCE} N, μ = 0.2; two tangential forces c_t and c_o, \
         and the moment c_r about the normal. Drawn from the sets by which the contact is solved"
    );
    let panels = vec![
        picture(&format!("Figure {number}: the ellipsoid, and directions on it"), ellipsoid),
        picture("What the directions span: the set of the LCP", hull),
        section("Cut without moment", [0, 1], &sets),
        upright,
    ];
    rows.figure(name, "What friction may be", subtitle, (2, 1100, 900), panels);
}

/// Velocities and forces over time, beside the true ones.
fn figure(rows: &mut Rows, title: &str, numbers: [u32; 2], lcp: &[Sample], ncp: Option<&[Sample]>) {
    let spin = |samples: &[Sample]| -> Curve {
        std::iter::once((0.0, 1.962)).chain(history(samples, |sample| sample.v[5])).collect()
    };
    let force = |samples, k: usize| history(samples, |sample| sample.forces[0][k]);
    let end = lcp.last().map_or(1.0, |sample| sample.t);
    let others = history(lcp, |sample| largest(std::slice::from_ref(sample), 0..5));
    let dashed = |label: &str, points| Series { kind: SeriesKind::Dashed, ..coloured(label, points, Colour::INK) };
    let dotted =
        |label: &str, points, colour| Series { kind: SeriesKind::LineAndPoints, ..coloured(label, points, colour) };
    let mut velocities = vec![
        dashed("exact spin", vec![(0.0, 1.962), (1.0, 0.0), (end, 0.0)]),
        dots("spin, LCP", spin(lcp), Colour::VERMILLION),
        dots("largest other velocity", others, Colour::GREEN),
    ];
    let mut forces = vec![
        dashed("exact moment", vec![(0.0, -0.7848), (1.0, -0.7848), (1.0, 0.0), (end, 0.0)]),
        dotted("moment, LCP", force(lcp, 3), Colour::VERMILLION),
        dotted("tangential force", force(lcp, 1), Colour::GREEN),
    ];
    if let Some(ncp) = ncp {
        velocities.push(coloured("spin, NCP", spin(ncp), Colour::BLUE));
        forces.push(dots("moment, NCP", force(ncp, 3), Colour::BLUE));
    }
    let panels = [("velocities", "rad/s, m/s", velocities), ("friction", "N, N m", forces)];
    let panels = panels.into_iter().zip(numbers).map(|((what, unit, series), number)| {
        let title = format!("Figure {number}: {what}");
        Panel { legend: Legend::Above, ..panel(title, "time, s", unit, series) }
    });
    let subtitle = format!("Trinkle, Tzitzouris and Pang 2001, Figures {} and {}, h = {STEP}", numbers[0], numbers[1]);
    rows.figure(rows.id, title, subtitle, (2, 1100, 480), panels.collect());
}

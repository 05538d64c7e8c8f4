//! The rod of Painlevé: how many motions an instant has, and which. It is in none of the five
//! papers; the bounds on friction are those of Theorem 1 of \[TTP01\].

use stiction_dynamics::families::Generator;
use stiction_dynamics::reference::painleve_rod;
use stiction_dynamics::{PhantomInertia, PhantomInertiaSettings};

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "painleve",
    title: "the rod of Painlevé: none, one, two or three motions",
    remarks: &[
        "In none of the papers, but in textbooks: mass 1 kg, half length 1 m, one end on rough ground. Normal forces follow from a_N = A λ + b with A = 1 + 3 cos²θ − 3 μ sin θ cos θ.",
        "Where A is negative there may be no motion, or two; at rest even three. All motions are found by enumeration, none is missed: each basis is decided.",
        "Theorem 1 of [TTP01] speaks of a bound on friction that it does not compute. Here it is computed; for one sliding contact it is the threshold of the paradox, (1 + 3 cos²θ)/(3 sin θ cos θ). At rest a motion exists whatever the friction; random states show it.",
    ],
    run: reproduce,
};

/// Random states at rest, and of a quick look.
const RANDOM_STATES: usize = 1000;
const QUICK_STATES: usize = 100;

/// The end slides to the left.
const LEFT: Option<[f64; 2]> = Some([-1.0, 0.0]);

/// Normal forces of all motions, ascending.
fn normal_forces(
    angle: f64,
    mu: f64,
    omega: f64,
    push: f64,
    sliding: Option<[f64; 2]>,
) -> Result<Vec<f64>, ReproduceError> {
    let method = PhantomInertia::new(PhantomInertiaSettings::default())?;
    let motions = painleve_rod(angle, mu, omega, push, sliding).motions(&method)?.unwrap_or_default();
    let mut forces: Vec<f64> = motions.solutions.iter().map(|solution| solution.contacts[0].normal).collect();
    forces.sort_by(f64::total_cmp);
    Ok(forces)
}

/// States with a known number of motions: angle, friction, rate, push, sliding; their normal
/// forces, ascending, and the decimals of these.
type Listed = (&'static str, f64, f64, f64, f64, Option<[f64; 2]>, &'static [f64], i32);

fn listed() -> [Listed; 4] {
    let (flat, steep) = (30f64.to_radians(), 2.0f64.atan());
    let at_rest = "tan θ = 2, μ = 2, at rest, ω = 3.5, f = -40";
    [
        ("θ = 30°, μ = 0.5, sliding", flat, 0.5, 0.0, 0.0, LEFT, &[3.772379109606], 12),
        ("tan θ = 2, μ = 2, sliding", steep, 2.0, 0.0, 0.0, LEFT, &[], 12),
        ("tan θ = 2, μ = 2, sliding, ω = 4", steep, 2.0, 4.0, 0.0, LEFT, &[0.0, 5.626043819998], 12),
        (at_rest, steep, 2.0, 3.5, -40.0, None, &[0.0, 1.433416362, 9.381766910], 9),
    ]
}

/// The friction from which on the paradox begins.
fn threshold(angle: f64) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    (1.0 + 3.0 * cosine * cosine) / (3.0 * sine * cosine)
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("the listed states");
    for (name, angle, mu, omega, push, sliding, forces, decimals) in listed() {
        let found = normal_forces(angle, mu, omega, push, sliding)?;
        rows.add(format!("{name}: number of motions"), forces.len() as f64, found.len() as f64, Exact);
        for (i, &force) in forces.iter().enumerate() {
            let computed = found.get(i).copied().unwrap_or(f64::NAN);
            rows.add(format!("{name}: normal force {}, N", i + 1), force, computed, Printed(decimals));
        }
    }

    rows.progress("bounds on friction");
    for degrees in [30.0f64, 2.0f64.atan().to_degrees(), 80.0] {
        let angle = degrees.to_radians();
        let bounds = painleve_rod(angle, 0.1, 0.0, 0.0, LEFT).existence()?;
        for (what, bound) in [("one exists", bounds.existence_bound), ("it is unique", bounds.uniqueness_bound)] {
            let quantity = format!("Theorem 1: friction up to which {what}, sliding, θ = {degrees:.0}°");
            rows.add(quantity, threshold(angle), bound.unwrap_or(f64::NAN), Rounding);
        }
    }

    rows.progress("random states at rest");
    let mut random = Generator::new(2001);
    let mut without = 0;
    let count = rows.full_or(RANDOM_STATES, QUICK_STATES);
    for _ in 0..count {
        let (angle, mu) = (random.uniform(0.05, 1.5), random.uniform(0.0, 4.0));
        let (omega, push) = (random.uniform(-6.0, 6.0), random.uniform(-60.0, 60.0));
        without += usize::from(normal_forces(angle, mu, omega, push, None)?.is_empty());
    }
    rows.add(format!("{count} random states at rest: without a motion"), 0.0, without as f64, Exact);

    rows.progress("the map of motions");
    map(rows)
}

/// Number of motions of the sliding rod over angle and friction, and the curve beyond which the
/// paradox begins.
fn map(rows: &mut Rows) -> Result<(), ReproduceError> {
    let (columns, lines) = rows.full_or((60, 40), (30, 20));
    let names =
        [("none", Colour::VERMILLION), ("one", Colour::GREY.towards(Colour::WHITE, 0.7)), ("two", Colour::BLUE)];
    let mut panels = Vec::new();
    for (title, omega) in [("Not turning: ω = 0", 0.0), ("Turning: ω = 4 rad/s", 4.0)] {
        let mut points: [Curve; 3] = Default::default();
        for i in 0..columns {
            for j in 0..lines {
                let degrees = 90.0 * (i as f64 + 0.5) / columns as f64;
                let mu = 3.0 * (j as f64 + 0.5) / lines as f64;
                let count = normal_forces(degrees.to_radians(), mu, omega, 0.0, LEFT)?.len().min(2);
                points[count].push((degrees, mu));
            }
        }
        let boundary = (1..360).map(|k| 0.25 * f64::from(k)).map(|degrees| (degrees, threshold(degrees.to_radians())));
        let boundary = boundary.filter(|(_, mu)| *mu < 3.0).collect();
        let clouds = names.iter().zip(points);
        let clouds = clouds.map(|((name, colour), points)| Series { width: 1.6, ..dots(*name, points, *colour) });
        let paradox = coloured("μ = (1 + 3 cos²θ)/(3 sin θ cos θ)", boundary, Colour::INK);
        panels.push(Panel {
            x_range: Some((0.0, 90.0)),
            y_range: Some((0.0, 3.0)),
            legend: Legend::Above,
            ..panel(title, "angle θ, degrees", "friction μ", clouds.chain([paradox]).collect())
        });
    }
    let subtitle = "Rod of 1 kg and half length 1 m, its end slides to the left; all solutions by enumeration";
    let title = "How many motions a sliding rod has";
    rows.figure("painleve", title, subtitle, (1, 900, 1000), panels);
    Ok(())
}

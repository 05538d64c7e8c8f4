//! \[ST96\] §4, second test: a ball is thrown at three others in a line.
//!
//! Table 1 of the paper measures against its own finest step: velocities by $\int_0^1 \lVert v^h - v \rVert_\infty dt$ with $v$ constant in
//! every step, positions by the largest difference of any coordinate at any time, and the variation as the largest total variation
//! of any velocity component. All 24 coordinates count, orientations as $\int \omega dt$. A multiple impact with friction has no
//! unique limit $h \to 0$, so only numbers at the same step can be compared. The reference column is an independent implementation
//! with g = 9.82 m/s², which the paper does not state.

use stiction_dynamics::{Simulation, StepAudit, StepKind};

use super::{
    Effort, Exact, Measured, NamedFigure, Printed, ReproduceError, Reproduction, Rounding, Rows, Verdict, scene,
};
use crate::figure::{Anchor, Colour, Figure, Legend, Mark, Outline, Panel, Series, SeriesKind, Stroke};

/// What a reader of the paper should know.
const REMARKS: &[&str] = &[
    "The paper does not state gravity: 9.82 m/s² gives its table. Errors are those against the run with the smallest step; the variation is the largest total variation of any one component.",
    "Six entries of Table 1, those of h = 0.01 and 0.005, differ from print in the third or fourth digit (by 1.1 % at most), here as in an independent implementation that agrees with ours; all others agree in all digits.",
    "There is no unique limit for h → 0: how the collision falls across two steps changes its outcome. So states are compared at equal h, not with a limit.",
    "Angular velocities err 4.5 to 7.5 times as much as velocities in these norms, which the paper calls about an order of magnitude. The reference is the same run by the relay formulation.",
    "Where n × z vanishes (a ball on the table) the first friction direction is x; any multiple of 45° gives the same octagon.",
];

/// Step sizes of Table 1, in seconds; the last one is the paper's "exact" solution.
const STEPS: [f64; 5] = [0.02, 0.01, 0.005, 0.0025, 0.00125];

/// Table 1 as printed: velocity error, position error, velocity variation.
const PUBLISHED: [[Option<&str>; 3]; 5] = [
    [Some("0.5050"), Some("0.2505"), Some("19.4046")],
    [Some("0.3523"), Some("0.2015"), Some("19.1728")],
    [Some("0.1657"), Some("0.0838"), Some("19.1702")],
    [Some("0.0700"), Some("0.0298"), Some("19.0862")],
    [None, None, Some("19.0690")],
];

/// The same from an independent implementation.
const REFERENCE: [[Option<f64>; 3]; 5] = [
    [Some(0.5050), Some(0.2505), Some(19.4046)],
    [Some(0.3518), Some(0.2007), Some(19.1701)],
    [Some(0.1660), Some(0.0829), Some(19.1704)],
    [Some(0.0700), Some(0.0298), Some(19.0862)],
    [None, None, Some(19.0690)],
];

/// Final x, y, vx, vy and angular velocity of the balls at the finest step, from the same implementation.
const FINAL: [[f64; 7]; 4] = [
    [0.906244077, 0.158000876, 0.235957432, 0.253261475, -2.532615, 2.359574, -1.967383],
    [1.055881477, -0.014504270, 0.130416267, -0.033586703, 0.335867, 1.304163, -0.852212],
    [1.265796279, -0.016561494, 0.155652250, -0.038926175, 0.389262, 1.556523, 0.872467],
    [1.468089752, 0.002979146, 0.161427537, 0.006993382, -0.069934, 1.614275, -0.242705],
];

/// How far the ratios of errors by the relay formulation are from those by the pyramid at most, for all steps but the finest.
const RELAY_TOLERANCES: [f64; 4] = [1e-12, 3e-12, 1e-10, 1e-11];

/// Radius of the balls, in metres.
const RADIUS: f64 = 0.1;

/// Velocity coordinates of the four balls.
const COORDINATES: usize = 24;

/// A run: per step the velocity in world axes, and the configuration with orientations as integrals of it.
struct BallRun {
    h: f64,
    /// Velocity during every step.
    velocities: Vec<[f64; COORDINATES]>,
    /// Configuration at the start and after every step.
    positions: Vec<[f64; COORDINATES]>,
    /// Unknowns of the largest LCP.
    largest_lcp: usize,
    /// Most times that the set of active contacts grew in one step, and steps in which it did.
    growths: (usize, usize),
    /// Contacts of the step with the largest normal impulse between balls: point, impulse on the first body.
    hit: Vec<([f64; 3], [f64; 3])>,
    hit_time: f64,
    verdict: Verdict,
}

fn run_balls(h: f64) -> Result<BallRun, ReproduceError> {
    run_balls_by(h, &[])
}

/// The same with other settings.
fn run_balls_by(h: f64, settings: &[&str]) -> Result<BallRun, ReproduceError> {
    let settings = settings.iter().map(|setting| (*setting).to_owned());
    let overrides: Vec<String> = std::iter::once(format!("run.step={h:?}")).chain(settings).collect();
    let (mut simulation, auditor) = scene("four-balls", &overrides)?;
    let names = simulation.system().column_names();
    let column = |ball: usize, name: &str| {
        let wanted = format!("ball{ball}.{name}");
        names.iter().position(|other| *other == wanted).expect("a column of the scene")
    };
    let columns =
        |kinds: [&str; 6]| -> Vec<usize> { (0..4).flat_map(|ball| kinds.map(|kind| column(ball, kind))).collect() };
    let velocity_columns = columns(["vx", "vy", "vz", "wx", "wy", "wz"]);
    let position_columns = columns(["x", "y", "z", "x", "y", "z"]);
    let mut values = Vec::new();
    simulation.system().record(simulation.state(), &mut values);
    let mut start = [0.0; COORDINATES];
    for (i, &column) in position_columns.iter().enumerate() {
        start[i] = if i % 6 < 3 { values[column] } else { 0.0 };
    }
    let mut run = BallRun {
        h,
        velocities: Vec::new(),
        positions: vec![start],
        largest_lcp: 0,
        growths: (0, 0),
        hit: Vec::new(),
        hit_time: 0.0,
        verdict: Verdict::default(),
    };
    let mut strongest = 0.0;
    let observe = |simulation: &Simulation, _: &StepAudit| {
        values.clear();
        simulation.system().record(simulation.state(), &mut values);
        let mut velocity = [0.0; COORDINATES];
        velocity_columns.iter().enumerate().for_each(|(i, &column)| velocity[i] = values[column]);
        let mut position = *run.positions.last().expect("the start");
        (0..COORDINATES).for_each(|i| position[i] += h * velocity[i]);
        run.velocities.push(velocity);
        run.positions.push(position);
        let step = simulation.last_step();
        let size = step.report.solves.iter().map(|solve| solve.size).max().unwrap_or(0);
        run.largest_lcp = run.largest_lcp.max(size);
        let grown = step.report.growths;
        run.growths = (run.growths.0.max(grown), run.growths.1 + usize::from(grown > 0));
        let between = step.contacts.iter().zip(&step.solution.contacts);
        let impulse = between.filter(|(contact, _)| contact.id.second != 0).map(|(_, impulse)| impulse.normal).sum();
        if impulse > strongest {
            strongest = impulse;
            run.hit_time = simulation.before().t;
            run.hit = step
                .contacts
                .iter()
                .zip(&step.solution.contacts)
                .map(|(contact, impulse)| {
                    let frame = contact.frame.unwrap_or_default();
                    // The impulse in world axes is what the rows give to the first body: its linear part.
                    let mut total = vec![0.0; simulation.state().v.len()];
                    contact.normal.add_to(impulse.normal, &mut total);
                    contact.tangents.iter().enumerate().for_each(|(a, row)| row.add_to(impulse.tangent[a], &mut total));
                    let first = 6 * (contact.id.first as usize - 1);
                    (frame.point, [total[first], total[first + 1], total[first + 2]])
                })
                .collect();
        }
    };
    let (verdict, _) = auditor.run(&mut simulation, observe)?;
    Ok(BallRun { verdict, ..run })
}

/// Velocity errors of a run against the finest one, by the norm of Table 1: of the centres alone, and of the angular velocities alone.
fn errors_by_kind(run: &BallRun, finest: &BallRun) -> [f64; 2] {
    let ratio = (run.h / finest.h).round() as usize;
    [false, true].map(|is_angular| {
        let coordinates = || (0..COORDINATES).filter(|i| (i % 6 >= 3) == is_angular);
        let worst = |k: usize, exact: &[f64; COORDINATES]| {
            coordinates().fold(0.0f64, |worst, i| worst.max((run.velocities[k / ratio][i] - exact[i]).abs()))
        };
        finest.velocities.iter().enumerate().map(|(k, exact)| finest.h * worst(k, exact)).sum()
    })
}

/// Velocity error, position error and variation of a run, the errors against the finest one.
fn measures(run: &BallRun, finest: &BallRun) -> [f64; 3] {
    let ratio = (run.h / finest.h).round() as usize;
    let difference = |a: &[f64; COORDINATES], b: &[f64; COORDINATES]| {
        (0..COORDINATES).fold(0.0f64, |worst, i| worst.max((a[i] - b[i]).abs()))
    };
    let mut velocity_error = 0.0;
    let mut position_error = 0.0f64;
    for (k, exact) in finest.velocities.iter().enumerate() {
        velocity_error += finest.h * difference(&run.velocities[k / ratio], exact);
    }
    for (k, exact) in finest.positions.iter().enumerate() {
        // Straight between the steps.
        let (step, share) = (k / ratio, (k % ratio) as f64 / ratio as f64);
        let mut position = run.positions[step];
        if share > 0.0 {
            (0..COORDINATES).for_each(|i| position[i] += share * run.h * run.velocities[step][i]);
        }
        position_error = position_error.max(difference(&position, exact));
    }
    let variation = (0..COORDINATES)
        .map(|i| run.velocities.windows(2).map(|pair| (pair[1][i] - pair[0][i]).abs()).sum::<f64>())
        .fold(0.0, f64::max);
    [velocity_error, position_error, variation]
}

/// The whole experiment.
pub(super) fn reproduce(_: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
    let mut rows = Rows::new("four-balls", "ST96");
    let mut runs = Vec::new();
    for h in STEPS {
        progress(&format!("h = {h}"));
        runs.push(run_balls(h)?);
    }
    let finest = runs.last().expect("five steps");
    for (i, run) in runs.iter().enumerate() {
        let computed = measures(run, finest);
        rows.fed_by(&run.verdict.clone().and(&finest.verdict));
        for (j, name) in ["velocity error", "position error", "velocity variation"].into_iter().enumerate() {
            if REFERENCE[i][j].is_some() {
                let quantity = format!("Table 1: {name} (h = {})", run.h);
                rows.add_printed(quantity, PUBLISHED[i][j], REFERENCE[i][j], computed[j], Printed(4));
            }
        }
    }
    rows.fed_by(&finest.verdict);
    let (velocity, position) = (finest.velocities.last().expect("steps"), finest.positions.last().expect("steps"));
    for (ball, expected) in FINAL.iter().enumerate() {
        let at = |name: &str| format!("ball {ball} at t = 1: {name} (h = {})", finest.h);
        let first = 6 * ball;
        let values = [
            ("x, m", position[first]),
            ("y, m", position[first + 1]),
            ("x velocity, m/s", velocity[first]),
            ("y velocity, m/s", velocity[first + 1]),
            ("x angular velocity, rad/s", velocity[first + 3]),
            ("y angular velocity, rad/s", velocity[first + 4]),
            ("z angular velocity, rad/s", velocity[first + 5]),
        ];
        for (i, (name, value)) in values.into_iter().enumerate() {
            // Nine digits after the point, six of the angular velocities.
            rows.add(at(name), expected[i], value, Printed(if i < 4 { 9 } else { 6 }));
        }
        rows.add(at("z, m"), RADIUS, position[first + 2], Rounding);
    }
    // The frictional impulse of the collision lifts the thrown ball, and the second one of the others.
    for (ball, lift) in [(0, 3.24e-3), (2, 0.36e-3)] {
        let late = finest.positions.iter().skip((0.5 / finest.h).round() as usize);
        let height = late.fold(0.0f64, |most, position| most.max(position[6 * ball + 2]));
        let quantity = format!("the collision lifts ball {ball} by, m (h = {})", finest.h);
        rows.add(quantity, lift, height - RADIUS, Printed(5));
    }
    add_exact_times(&mut rows, finest)?;
    progress("angular errors, by the relay formulation too");
    // The same octagon as a sum of relays, \[GS05\] (33): another LCP, another way back to the impulses, the same motion.
    const RELAY: [&str; 1] = ["method.spatial-relay.directions=8"];
    let finest_relay = run_balls_by(finest.h, &RELAY)?;
    for (run, tolerance) in runs.iter().zip(RELAY_TOLERANCES) {
        let relay = run_balls_by(run.h, &RELAY)?;
        let verdicts = [&finest.verdict, &relay.verdict, &finest_relay.verdict];
        rows.fed_by(&verdicts.into_iter().fold(run.verdict.clone(), Verdict::and));
        let [centres, spins] = errors_by_kind(run, finest);
        let [relay_centres, relay_spins] = errors_by_kind(&relay, &finest_relay);
        let quantity = format!("error of the angular velocities over that of the velocities (h = {})", run.h);
        rows.add_printed(quantity, Some("10"), Some(relay_spins / relay_centres), spins / centres, Measured(tolerance));
    }
    rows.fed_by(&runs.iter().fold(Verdict::default(), |all, run| all.and(&run.verdict)));
    let largest = runs.iter().map(|run| run.largest_lcp).max().unwrap_or(0);
    rows.add_printed("unknowns of the largest LCP", Some("70"), Some(70.0), largest as f64, Exact);
    let most = runs.iter().map(|run| run.growths.0).max().unwrap_or(0);
    rows.add("most growths of the active set in one step", 2.0, most as f64, Exact);
    progress("figures");
    let figures = vec![figure(finest)];
    Ok(rows.into_reproduction(figures, REMARKS))
}

/// When the ball reaches the table and the others, by the event-driven scheme, and that it rolls in between.
fn add_exact_times(rows: &mut Rows, finest: &BallRun) -> Result<(), ReproduceError> {
    // That scheme has the round cone; the ball sticks to the table, whatever the shape of the friction set.
    let overrides = ["scheme.event-driven={}", "method.cone={}", "run.step=0.05", "run.end=0.6"].map(str::to_owned);
    let (mut simulation, auditor) = scene("four-balls", &overrides)?;
    let mut impacts: Vec<f64> = Vec::new();
    let observe = |s: &Simulation, _: &StepAudit| {
        let is_new = impacts.last().is_none_or(|last| s.state().t > last + 1e-6);
        if s.last_step().kind == StepKind::Impact && is_new {
            impacts.push(s.state().t);
        }
    };
    let (verdict, _) = auditor.run(&mut simulation, observe)?;
    rows.fed_by(&verdict);
    for (i, (name, expected)) in [("the table", 0.428135), ("the other balls", 0.582300)].into_iter().enumerate() {
        let quantity = format!("ball 0 reaches {name}, s (event-driven)");
        rows.add(quantity, expected, impacts.get(i).copied().unwrap_or(f64::NAN), Printed(6));
    }
    rows.fed_by(&finest.verdict);
    // Rolling without slip leaves five sevenths of the velocity of a ball that did not turn.
    let rolling = finest.velocities[(0.5 / finest.h).round() as usize];
    for (i, (name, thrown)) in [("x", 1.5), ("y", 0.1)].into_iter().enumerate() {
        let quantity = format!("ball 0 rolls: {name} velocity, m/s (h = {})", finest.h);
        rows.add(quantity, 5.0 / 7.0 * thrown, rolling[i], Rounding);
    }
    Ok(())
}

/// Figures 6 to 8 of the paper: impulses at the collision, elevation and plan of the trajectories.
fn figure(run: &BallRun) -> NamedFigure {
    let colours = [Colour::VERMILLION, Colour::BLUE, Colour::GREEN, Colour::PURPLE];
    let hit_step = (run.hit_time / run.h).round() as usize;
    let mut impulses = Panel {
        title: format!("Figure 6: impulses at the collision, t = {:.4} s", run.hit_time),
        x_label: "x, m".into(),
        y_label: "z, m".into(),
        equal_aspect: true,
        outlines: vec![Outline::ground(0.0)],
        ..Default::default()
    };
    for (ball, colour) in colours.into_iter().enumerate() {
        let at = &run.positions[hit_step][6 * ball..];
        impulses.outlines.push(Outline {
            fill: Some((colour, 0.1)),
            stroke: Some(Stroke { colour, width: 1.2, dashed: false }),
            ..Outline::disc((at[0], at[2]), RADIUS)
        });
    }
    let largest = run.hit.iter().fold(0.0f64, |largest, (_, p)| largest.max(p[0].hypot(p[2])));
    for (point, impulse) in &run.hit {
        let scale = 1.6 * RADIUS / largest;
        let from = (point[0], point[2]);
        let to = (point[0] + scale * impulse[0], point[2] + scale * impulse[2]);
        impulses.outlines.push(arrow(from, to));
    }
    let views = [("Figure 7: elevation", "z, m", 2), ("Figure 8: plan", "y, m", 1)];
    let mut panels = vec![impulses];
    for (title, label, axis) in views {
        let mut panel = Panel {
            title: title.into(),
            x_label: "x, m".into(),
            y_label: label.into(),
            equal_aspect: true,
            legend: Legend::Above,
            ..Default::default()
        };
        for (ball, colour) in colours.into_iter().enumerate() {
            let points: Vec<(f64, f64)> =
                run.positions.iter().map(|position| (position[6 * ball], position[6 * ball + axis])).collect();
            for &(x, y) in [points[0], points[points.len() - 1]].iter() {
                panel.outlines.push(Outline {
                    fill: Some((colour, 0.08)),
                    stroke: Some(Stroke { colour, width: 0.8, dashed: false }),
                    ..Outline::disc((x, y), RADIUS)
                });
            }
            let label = format!("ball {ball}");
            panel.series.push(Series {
                label,
                points,
                colour: Some(colour),
                kind: SeriesKind::Line,
                ..Default::default()
            });
        }
        if axis == 2 {
            panel.outlines.push(Outline::ground(0.0));
        } else {
            let start = &run.positions[0];
            let text = "thrown".to_string();
            panel.marks.push(Mark {
                at: (start[0], start[1] - RADIUS),
                text,
                anchor: Anchor::Below,
                ..Default::default()
            });
        }
        panels.push(panel);
    }
    let figure = Figure {
        title: "A ball is thrown at three others in a line".into(),
        subtitle:
            "Stewart and Trinkle 1996, Figures 6 to 8, h = 0.00125; impulses act on the ball above or to the left"
                .into(),
        panels,
        columns: 1,
        // The elevation is as high as all the rest.
        row_weights: vec![1.0, 1.9, 1.0],
        size: (900, 1350),
    };
    NamedFigure { name: "four-balls", figure }
}

/// An arrow as one open line.
fn arrow(from: (f64, f64), to: (f64, f64)) -> Outline {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let head = |turn: f64| {
        let (sine, cosine) = turn.sin_cos();
        (to.0 - 0.18 * (cosine * x - sine * y), to.1 - 0.18 * (sine * x + cosine * y))
    };
    Outline {
        points: vec![from, to, head(0.4), to, head(-0.4)],
        closed: false,
        stroke: Some(Stroke { colour: Colour::INK, width: 1.6, dashed: false }),
        ..Default::default()
    }
}

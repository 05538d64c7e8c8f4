//! \[ST96\] §4, second test: a ball is thrown at three others in a line.
//!
//! Table 1 of the paper measures against its own finest step: velocities by
//! $\int_0^1 \lVert v^h - v \rVert_\infty dt$ with $v$ constant in every step, positions by the
//! largest difference of any coordinate at any time, and the variation as the largest total
//! variation of any velocity component. All 24 coordinates count, orientations as $\int \omega dt$.
//! A multiple impact with friction has no unique limit $h \to 0$, so only numbers at the same step
//! can be compared. The reference column is an independent implementation with g = 9.82 m/s², which
//! the paper does not state.

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "four-balls",
    title: "[ST96] a ball is thrown at three others in a line",
    remarks: &[
        "The paper does not state gravity: 9.82 m/s² gives its table. Errors are those against the run with the smallest step; the variation is the largest total variation of any one component.",
        "Six entries of Table 1, those of h = 0.01 and 0.005, differ from print in the third or fourth digit (by 1.1 % at most), here as in an independent implementation that agrees with ours; all others agree in all digits.",
        "There is no unique limit for h → 0: how the collision falls across two steps changes its outcome. So states are compared at equal h, not with a limit.",
        "Angular velocities err 4.5 to 7.5 times as much as velocities in these norms, which the paper calls about an order of magnitude. The reference is the same run by the relay formulation.",
        "Where n × z vanishes (a ball on the table) the first friction direction is x; any multiple of 45° gives the same octagon.",
    ],
    run: reproduce,
};

/// Step sizes of Table 1, in seconds; the last one is the paper's "exact" solution.
const STEPS: [f64; 5] = [0.02, 0.01, 0.005, 0.0025, 0.00125];

/// Table 1: velocity error, position error, velocity variation. Each as printed, and as an
/// independent implementation has it; the last run has no errors.
const TABLE: [[(Option<&str>, f64); 3]; 5] = [
    [(Some("0.5050"), 0.5050), (Some("0.2505"), 0.2505), (Some("19.4046"), 19.4046)],
    [(Some("0.3523"), 0.3518), (Some("0.2015"), 0.2007), (Some("19.1728"), 19.1701)],
    [(Some("0.1657"), 0.1660), (Some("0.0838"), 0.0829), (Some("19.1702"), 19.1704)],
    [(Some("0.0700"), 0.0700), (Some("0.0298"), 0.0298), (Some("19.0862"), 19.0862)],
    [(None, 0.0), (None, 0.0), (Some("19.0690"), 19.0690)],
];

/// Final x, y, vx, vy and angular velocity of the balls at the finest step, from the same
/// implementation.
const FINAL: [[f64; 7]; 4] = [
    [0.906244077, 0.158000876, 0.235957432, 0.253261475, -2.532615, 2.359574, -1.967383],
    [1.055881477, -0.014504270, 0.130416267, -0.033586703, 0.335867, 1.304163, -0.852212],
    [1.265796279, -0.016561494, 0.155652250, -0.038926175, 0.389262, 1.556523, 0.872467],
    [1.468089752, 0.002979146, 0.161427537, 0.006993382, -0.069934, 1.614275, -0.242705],
];

/// How far the ratios of errors by the relay formulation are from those by the pyramid at most, for
/// all steps but the finest.
const RELAY_TOLERANCES: [f64; 4] = [1e-12, 3e-12, 1e-10, 1e-11];

/// Radius of the balls, in metres.
const RADIUS: f64 = 0.1;

/// Velocity coordinates of the four balls.
const COORDINATES: usize = 24;

/// A run: per step the velocity in world axes, and the configuration with orientations as integrals
/// of it.
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
    /// Contacts of the step with the largest normal impulse between balls: point, impulse on the
    /// first body.
    hit: Vec<([f64; 3], [f64; 3])>,
    hit_time: f64,
}

/// Runs the scene with this step and other settings.
fn run_balls(rows: &mut Rows, h: f64, settings: &[&str]) -> Result<BallRun, ReproduceError> {
    let settings = settings.iter().map(|setting| (*setting).to_owned());
    let overrides: Vec<String> = std::iter::once(format!("run.step={h:?}")).chain(settings).collect();
    let mut simulation = scene("four-balls", &overrides)?;
    let balls = ["ball0", "ball1", "ball2", "ball3"];
    let velocities = Columns::new(&simulation, &balls, &["vx", "vy", "vz", "wx", "wy", "wz"]);
    let positions = Columns::new(&simulation, &balls, &["x", "y", "z", "x", "y", "z"]).of(&simulation);
    let mut run = BallRun {
        h,
        velocities: Vec::new(),
        // Orientations begin at zero.
        positions: vec![std::array::from_fn(|i| if i % 6 < 3 { positions[i] } else { 0.0 })],
        largest_lcp: 0,
        growths: (0, 0),
        hit: Vec::new(),
        hit_time: 0.0,
    };
    let mut strongest = 0.0;
    rows.run(&mut simulation, |simulation, _| {
        let values = velocities.of(simulation);
        let velocity: [f64; COORDINATES] = std::array::from_fn(|i| values[i]);
        let mut position = *run.positions.last().expect("the start");
        (0..COORDINATES).for_each(|i| position[i] += h * velocity[i]);
        run.velocities.push(velocity);
        run.positions.push(position);
        let step = simulation.last_step();
        let size = step.report.solves.iter().map(|solve| solve.size).max().unwrap_or(0);
        run.largest_lcp = run.largest_lcp.max(size);
        let grown = step.report.growths;
        run.growths = (run.growths.0.max(grown), run.growths.1 + usize::from(grown > 0));
        let contacts = || step.contacts.iter().zip(&step.solution.contacts);
        let between = contacts().filter(|(contact, _)| contact.id.second != 0);
        let impulse = between.map(|(_, impulse)| impulse.normal).sum();
        if impulse > strongest {
            strongest = impulse;
            run.hit_time = simulation.before().t;
            let hit = contacts().map(|(contact, impulse)| {
                // The impulse in world axes is what the rows give to the first body: its linear
                // part.
                let mut total = vec![0.0; simulation.state().v.len()];
                contact.normal.add_to(impulse.normal, &mut total);
                contact.tangents.iter().enumerate().for_each(|(a, row)| row.add_to(impulse.tangent[a], &mut total));
                let first = 6 * (contact.id.first as usize - 1);
                (contact.frame.unwrap_or_default().point, [total[first], total[first + 1], total[first + 2]])
            });
            run.hit = hit.collect();
        }
    })?;
    Ok(run)
}

/// Velocity errors of a run against the finest one, by the norm of Table 1: of the centres alone,
/// and of the angular velocities alone.
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

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    let mut runs = Vec::new();
    for h in STEPS {
        rows.progress(format!("h = {h}"));
        runs.push(run_balls(rows, h, &[])?);
    }
    let verdict = rows.verdict.clone();
    let finest = runs.last().expect("five steps");
    for (run, line) in runs.iter().zip(TABLE) {
        let names = ["velocity error", "position error", "velocity variation"];
        for ((name, (printed, reference)), computed) in names.into_iter().zip(line).zip(measures(run, finest)) {
            if printed.is_some() {
                let quantity = format!("Table 1: {name} (h = {})", run.h);
                rows.add_printed(quantity, printed, Some(reference), computed, Printed(4));
            }
        }
    }
    add_end(rows, finest);
    add_exact_times(rows)?;
    rows.verdict = verdict.clone();
    // Rolling without slip leaves five sevenths of the velocity of a ball that did not turn.
    let rolling = &finest.velocities[(0.5 / finest.h).round() as usize];
    let of_axis = |axis: &str| format!("ball 0 rolls: {axis} velocity, m/s (h = {})", finest.h);
    rows.add_each(of_axis, &["x", "y"], &[5.0 / 7.0 * 1.5, 5.0 / 7.0 * 0.1], rolling, Rounding);

    rows.progress("angular errors, by the relay formulation too");
    // The same octagon as a sum of relays, \[GS05\] (33): another LCP, another way back to the
    // impulses, the same motion.
    const RELAY: [&str; 1] = ["method.spatial-relay.directions=8"];
    let relays = STEPS.into_iter().map(|h| run_balls(rows, h, &RELAY)).collect::<Result<Vec<_>, _>>()?;
    for ((run, relay), tolerance) in runs.iter().zip(&relays).zip(RELAY_TOLERANCES) {
        let [centres, spins] = errors_by_kind(run, finest);
        let [relay_centres, relay_spins] = errors_by_kind(relay, &relays[STEPS.len() - 1]);
        let quantity = format!("error of the angular velocities over that of the velocities (h = {})", run.h);
        let reference = relay_spins / relay_centres;
        rows.add_printed(quantity, Some("10"), Some(reference), spins / centres, Measured(tolerance));
    }
    rows.verdict = verdict;
    let largest = runs.iter().map(|run| run.largest_lcp).max().unwrap_or(0);
    rows.add_printed("unknowns of the largest LCP", Some("70"), Some(70.0), largest as f64, Exact);
    let most = runs.iter().map(|run| run.growths.0).max().unwrap_or(0);
    rows.add("most growths of the active set in one step", 2.0, most as f64, Exact);
    rows.progress("figures");
    figure(rows, finest);
    Ok(())
}

/// Where the balls are and how they move at the end.
fn add_end(rows: &mut Rows, finest: &BallRun) {
    let (velocity, position) = (finest.velocities.last().expect("steps"), finest.positions.last().expect("steps"));
    for (ball, expected) in FINAL.iter().enumerate() {
        let at = |name: &str| format!("ball {ball} at t = 1: {name} (h = {})", finest.h);
        let (x, v) = (&position[6 * ball..], &velocity[6 * ball..]);
        let names = ["x, m", "y, m", "x velocity, m/s", "y velocity, m/s"];
        rows.add_each(at, &names, &expected[..4], &[x[0], x[1], v[0], v[1]], Printed(9));
        let names = ["x angular velocity, rad/s", "y angular velocity, rad/s", "z angular velocity, rad/s"];
        rows.add_each(at, &names, &expected[4..], &v[3..], Printed(6));
        rows.add(at("z, m"), RADIUS, x[2], Rounding);
    }
    // The frictional impulse of the collision lifts the thrown ball, and the second one of the
    // others.
    for (ball, lift) in [(0, 3.24e-3), (2, 0.36e-3)] {
        let late = finest.positions.iter().skip((0.5 / finest.h).round() as usize);
        let height = late.fold(0.0f64, |most, position| most.max(position[6 * ball + 2]));
        let quantity = format!("the collision lifts ball {ball} by, m (h = {})", finest.h);
        rows.add(quantity, lift, height - RADIUS, Printed(5));
    }
}

/// When the ball reaches the table and the others, by the event-driven scheme.
fn add_exact_times(rows: &mut Rows) -> Result<(), ReproduceError> {
    // That scheme has the round cone; the ball sticks to the table, whatever the shape of the
    // friction set.
    let overrides = ["scheme.event-driven={}", "method.cone={}", "run.step=0.05", "run.end=0.6"].map(str::to_owned);
    let mut simulation = scene("four-balls", &overrides)?;
    let mut impacts = vec![];
    rows.run(&mut simulation, |s, _| {
        let is_new = impacts.last().is_none_or(|last| s.state().t > last + 1e-6);
        if s.last_step().kind == StepKind::Impact && is_new {
            impacts.push(s.state().t);
        }
    })?;
    impacts.resize(2, f64::NAN);
    let of = |name: &str| format!("ball 0 reaches {name}, s (event-driven)");
    rows.add_each(of, &["the table", "the other balls"], &[0.428135, 0.582300], &impacts, Printed(6));
    Ok(())
}

/// Figures 6 to 8 of the paper: impulses at the collision, elevation and plan of the trajectories.
fn figure(rows: &mut Rows, run: &BallRun) {
    let colours = [Colour::VERMILLION, Colour::BLUE, Colour::GREEN, Colour::PURPLE];
    let at_hit = &run.positions[(run.hit_time / run.h).round() as usize];
    let disc = |centre, colour, fill, width| body(Outline::disc(centre, RADIUS), colour, fill, width);
    let mut outlines = vec![Outline::ground(0.0)];
    for (ball, colour) in colours.into_iter().enumerate() {
        outlines.push(disc((at_hit[6 * ball], at_hit[6 * ball + 2]), colour, 0.1, 1.2));
    }
    let largest = run.hit.iter().fold(0.0f64, |largest, (_, p)| largest.max(p[0].hypot(p[2])));
    for (point, impulse) in &run.hit {
        let scale = 1.6 * RADIUS / largest;
        let from = (point[0], point[2]);
        outlines.push(arrow(from, (point[0] + scale * impulse[0], point[2] + scale * impulse[2])));
    }
    let title = format!("Figure 6: impulses at the collision, t = {:.4} s", run.hit_time);
    let mut panels = vec![Panel { equal_aspect: true, outlines, ..panel(title, "x, m", "z, m", Vec::new()) }];
    for (title, label, axis) in [("Figure 7: elevation", "z, m", 2), ("Figure 8: plan", "y, m", 1)] {
        let (mut series, mut outlines, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        for (ball, colour) in colours.into_iter().enumerate() {
            let points: Curve =
                run.positions.iter().map(|position| (position[6 * ball], position[6 * ball + axis])).collect();
            outlines.extend([points[0], points[points.len() - 1]].map(|centre| disc(centre, colour, 0.08, 0.8)));
            series.push(coloured(format!("ball {ball}"), points, colour));
        }
        if axis == 2 {
            outlines.push(Outline::ground(0.0));
        } else {
            let at = (run.positions[0][0], run.positions[0][1] - RADIUS);
            marks.push(Mark { at, text: "thrown".to_string(), anchor: Anchor::Below, ..Default::default() });
        }
        let view = panel(title, "x, m", label, series);
        panels.push(Panel { equal_aspect: true, legend: Legend::Above, outlines, marks, ..view });
    }
    let subtitle =
        "Stewart and Trinkle 1996, Figures 6 to 8, h = 0.00125; impulses act on the ball above or to the left";
    rows.figure("four-balls", "A ball is thrown at three others in a line", subtitle, (1, 900, 1350), panels);
    // The elevation is as high as all the rest.
    rows.set_row_weights(vec![1.0, 1.9, 1.0]);
}

/// An arrow as one open line.
fn arrow(from: (f64, f64), to: (f64, f64)) -> Outline {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let head = |turn: f64| {
        let (sine, cosine) = turn.sin_cos();
        (to.0 - 0.18 * (cosine * x - sine * y), to.1 - 0.18 * (sine * x + cosine * y))
    };
    line(vec![from, to, head(0.4), to, head(-0.4)], Colour::INK, 1.6)
}

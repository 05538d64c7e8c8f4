//! \[ST96\] §4, first test of the balls: one of a pair is thrown at the other, from the air or by
//! way of the table. With Figure 1, the polygon inside of the friction cone.
//!
//! The paper gives no data for this test; the balls are those of its second one. What is asked for
//! are closed forms: the flight, the roll, and the impact in which everything sticks.

use std::f64::consts::TAU;

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "two-balls",
    title: "[ST96] a ball is thrown at another",
    remarks: &[
        "The paper names the two throws without their data. Here the balls, the friction and gravity are those of the four balls; the direct throw starts at (0.6, 0, 0.45) m, in the plane of both balls.",
        "The direct throw presses the other ball onto the table, and all contacts stick: the velocities after the impact follow from two balances of momentum. In steps the impact falls across two, and friction of the first has only a part of the normal impulse: the spin is off by 2 %, at every h another number.",
    ],
    run: reproduce,
};

/// Data of the balls and of the throws, in SI units.
const RADIUS: f64 = 0.1;
const INERTIA: f64 = 0.004;
const GRAVITY: f64 = 9.82;
const SPEED: f64 = 1.5;
const TARGET: [f64; 2] = [1.0, 0.1];
const DIRECT: [f64; 2] = [0.6, 0.45];
/// Height of the fall and sideways offset of the throw by way of the table.
const DROP: f64 = 0.4;
const OFFSET: f64 = 0.02;

/// The throw at the other ball from the air, as changes of the scene.
const DIRECT_THROW: [&str; 3] =
    ["body.ball0.position=[0.6,0.0,0.45]", "body.ball1.position=[1.0,0.0,0.1]", "run.end=0.3"];

/// The event-driven scheme, with the round cone.
const EXACTLY: [&str; 3] = ["scheme={event-driven={}}", "method={cone={}}", "run.step=0.01"];

/// Columns that are followed: per ball x, z, their rates, and the spin about y.
const COLUMNS: [&str; 5] = ["x", "z", "vx", "vz", "wy"];

struct Throw {
    /// Time, and the columns of both balls.
    states: Vec<(f64, Vec<f64>)>,
    /// Times of impacts of a scheme that locates them.
    impacts: Vec<f64>,
}

impl Throw {
    /// The columns at the end of the first step that reaches a time.
    fn at(&self, time: f64) -> &[f64] {
        self.states.iter().find(|(t, _)| *t >= time - 1e-12).map_or(&[f64::NAN; 10], |(_, values)| values)
    }
}

fn run(rows: &mut Rows, overrides: &[&str]) -> Result<Throw, ReproduceError> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let mut simulation = scene("two-balls", &overrides)?;
    let columns = Columns::new(&simulation, &["ball0", "ball1"], &COLUMNS);
    let pick = |s: &Simulation| (s.state().t, columns.of(s));
    let mut throw = Throw { states: vec![pick(&simulation)], impacts: Vec::new() };
    rows.run(&mut simulation, |s, _| {
        throw.states.push(pick(s));
        if s.last_step().kind == StepKind::Impact {
            throw.impacts.push(s.state().t);
        }
    })?;
    Ok(throw)
}

/// When the thrown ball meets the other one from the air: their centres are two radii apart.
fn direct_hit() -> f64 {
    let apart = |t: f64| (DIRECT[0] + SPEED * t - TARGET[0]).hypot(DIRECT[1] - 0.5 * GRAVITY * t * t - TARGET[1]);
    let (mut before, mut after) = (0.0, 0.2);
    for _ in 0..100 {
        let middle = 0.5 * (before + after);
        if apart(middle) > 2.0 * RADIUS { before = middle } else { after = middle }
    }
    after
}

/// Velocities after the direct hit, where everything sticks: of the thrown ball vx, vz, ω, of the
/// other one vx, ω.
///
/// With the speed s of the other ball, which rolls, and the spin ω of the thrown one, the latter
/// moves with (s, 0) + (s + r ω)(n_z, -n_x); impulses of contact do no work on such velocities, so
/// that the momentum along both stays.
fn after_direct_hit(t: f64) -> [f64; 5] {
    let v = [SPEED, -GRAVITY * t];
    let n =
        [DIRECT[0] + SPEED * t - TARGET[0], DIRECT[1] - 0.5 * GRAVITY * t * t - TARGET[1]].map(|x| x / (2.0 * RADIUS));
    let (r, i) = (RADIUS, INERTIA);
    let a_ss = (1.0 + n[1]).powi(2) + n[0] * n[0] + 1.0 + i / (r * r);
    let a_sw = r * ((1.0 + n[1]) * n[1] + n[0] * n[0]);
    let a_ww = r * r + i;
    let (b_s, b_w) = ((1.0 + n[1]) * v[0] - n[0] * v[1], r * (n[1] * v[0] - n[0] * v[1]));
    let determinant = a_ss * a_ww - a_sw * a_sw;
    let (s, w) = ((a_ww * b_s - a_sw * b_w) / determinant, (a_ss * b_w - a_sw * b_s) / determinant);
    let turn = s + r * w;
    [s + turn * n[1], -turn * n[0], w, s, s / r]
}

/// Names of those five, where they are among the columns, how far they are by the event-driven
/// scheme at most, and by steps: in these the impact falls across two, in the first of which
/// friction has a part of the normal impulse only.
const AFTER: [(&str, usize, Tolerance, f64); 5] = [
    ("thrown ball, x velocity, m/s", 2, Rounding, 0.02),
    ("thrown ball, z velocity, m/s", 3, Rounding, 0.02),
    ("thrown ball, spin, rad/s", 4, Measured(1e-12), 0.3),
    ("other ball, x velocity, m/s", 7, Rounding, 0.005),
    ("other ball, spin, rad/s", 9, Measured(1e-12), 0.05),
];

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("thrown directly");
    let hit = direct_hit();
    let direct = run(rows, &[&EXACTLY[..], &DIRECT_THROW].concat())?;
    let found = direct.impacts.first().copied().unwrap_or(f64::NAN);
    rows.add("thrown directly: the balls meet, s (event-driven)", hit, found, Rounding);
    let expected = after_direct_hit(hit);
    // The state at the end of the impact is the last one at its time.
    let after = direct.states.iter().rfind(|(t, _)| *t == found).map_or(&[f64::NAN; 10][..], |(_, values)| values);
    for ((name, column, tolerance, _), expected) in AFTER.into_iter().zip(expected) {
        let quantity = format!("thrown directly: {name} after the impact (event-driven)");
        rows.add(quantity, expected, after[column], tolerance);
    }
    let h = 0.000625;
    let direct = run(rows, &[&DIRECT_THROW[..], &["run.step=0.000625"]].concat())?;
    for ((name, column, _, bound), expected) in AFTER.into_iter().zip(expected) {
        let quantity = format!("thrown directly: {name} after the impact (linear, h = {h})");
        rows.add(quantity, expected, direct.at(hit + 2.0 * h)[column], Measured(bound));
    }

    rows.progress("thrown on the table");
    let fall = (2.0 * DROP / GRAVITY).sqrt();
    let rolling = 5.0 / 7.0 * SPEED;
    let reach = TARGET[0] - (4.0 * RADIUS * RADIUS - OFFSET * OFFSET).sqrt();
    let meeting = fall + (reach - SPEED * fall) / rolling;
    let exact = run(rows, &[&EXACTLY[..], &["run.end=0.7"]].concat())?;
    let next = |after: f64| exact.impacts.iter().copied().find(|t| *t > after).unwrap_or(f64::NAN);
    rows.add("thrown on the table: it lands, s (event-driven)", fall, next(0.0), Rounding);
    rows.add("thrown on the table: the balls meet, s (event-driven)", meeting, next(fall + 1e-3), Rounding);
    let table = run(rows, &["run.end=0.7"])?;
    let quantity = "thrown on the table: it rolls with 5/7 of its speed, m/s (h = 0.0025)";
    rows.add(quantity, rolling, table.at(0.5)[2], Rounding);

    let panels = vec![cone(), side("thrown directly", &direct), side("thrown on the table", &table)];
    let subtitle = "Stewart and Trinkle 1996, Figure 1 and the first test of the balls";
    rows.figure("two-balls", "A ball is thrown at another", subtitle, (1, 800, 1150), panels);
    rows.set_row_weights(vec![1.2, 1.0, 1.0]);
    Ok(())
}

/// A throw from the side.
fn side(title: &str, throw: &Throw) -> Panel {
    let mut panel = Panel {
        equal_aspect: true,
        legend: Legend::Above,
        outlines: vec![Outline::ground(0.0)],
        ..panel(title, "x, m", "z, m", Vec::new())
    };
    for (ball, (name, colour)) in
        [("thrown ball", Colour::VERMILLION), ("other ball", Colour::BLUE)].into_iter().enumerate()
    {
        let points: Curve = throw.states.iter().map(|(_, v)| (v[5 * ball], v[5 * ball + 1])).collect();
        for centre in [points[0], points[points.len() - 1]] {
            panel.outlines.push(body(Outline::disc(centre, RADIUS), colour, 0.1, 1.0));
        }
        panel.series.push(coloured(name, points, colour));
    }
    panel
}

/// Figure 1: the round cone and the octagon inside of it, with its eight directions, seen from the
/// side and above.
fn cone() -> Panel {
    let corner = |i: u32, count: u32| {
        let angle = TAU * f64::from(i) / f64::from(count);
        (angle.cos(), 1.6 + 0.35 * angle.sin())
    };
    let around = |count: u32| Outline { points: (0..count).map(|i| corner(i, count)).collect(), ..Default::default() };
    let ray = |to: (f64, f64), colour| line(vec![(0.0, 0.0), to], colour, 1.2);
    let mut outlines = vec![body(around(96), Colour::BLUE, 0.08, 1.2), body(around(8), Colour::VERMILLION, 0.12, 1.2)];
    outlines.extend((0..8).map(|i| ray(corner(i, 8), Colour::VERMILLION)));
    outlines.extend([(-1.0, 1.6), (1.0, 1.6)].map(|side| ray(side, Colour::BLUE)));
    outlines.push(ray((0.0, 2.3), Colour::INK));
    let mark = |at, text: &str| Mark { at, text: text.to_owned(), anchor: Anchor::Right, ..Default::default() };
    Panel {
        equal_aspect: true,
        is_picture: true,
        outlines,
        marks: vec![mark((0.0, 2.3), "n"), mark(corner(0, 8), "n + μ d")],
        ..panel("Figure 1: the friction cone, and its approximation by eight directions", "", "", Vec::new())
    }
}

//! \[ST96\] §4, first test of the balls: one of a pair is thrown at the other, from the air or by way of the table. With Figure 1, the polygon inside of the friction cone.
//!
//! The paper gives no data for this test; the balls are those of its second one. What is asked for are closed forms: the flight, the roll, and the impact in which everything
//! sticks.

use std::f64::consts::TAU;

use stiction_dynamics::{Simulation, StepAudit, StepKind};

use super::{Effort, Measured, NamedFigure, ReproduceError, Reproduction, Rounding, Rows, Verdict, scene};
use crate::figure::{Anchor, Colour, Figure, Legend, Mark, Outline, Panel, Series, Stroke};

/// What a reader of the paper should know.
const REMARKS: &[&str] = &[
    "The paper names the two throws without their data. Here the balls, the friction and gravity are those of the four balls; the direct throw starts at (0.6, 0, 0.45) m, in the plane of both balls.",
    "The direct throw presses the other ball onto the table, and all contacts stick: the velocities after the impact follow from two balances of momentum. In steps the impact falls across two, and friction of the first has only a part of the normal impulse: the spin is off by 2 %, at every h another number.",
];

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

/// Columns that are followed: per ball x, z, their rates, and the spin about y.
const COLUMNS: [&str; 5] = ["x", "z", "vx", "vz", "wy"];

struct Throw {
    /// Time, and the columns of both balls.
    states: Vec<(f64, [f64; 10])>,
    /// Times of impacts of a scheme that locates them.
    impacts: Vec<f64>,
    verdict: Verdict,
}

impl Throw {
    /// The columns at the end of the first step that reaches a time.
    fn at(&self, time: f64) -> [f64; 10] {
        self.states.iter().find(|(t, _)| *t >= time - 1e-12).map_or([f64::NAN; 10], |(_, values)| *values)
    }
}

fn run(overrides: &[&str]) -> Result<Throw, ReproduceError> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let (mut simulation, auditor) = scene("two-balls", &overrides)?;
    let names = simulation.system().column_names();
    let places: Vec<usize> = ["ball0", "ball1"]
        .iter()
        .flat_map(|ball| COLUMNS.map(|column| format!("{ball}.{column}")))
        .map(|name| names.iter().position(|other| *other == name).expect("a column of the scene"))
        .collect();
    let mut values = Vec::new();
    let mut pick = |s: &Simulation| {
        values.clear();
        s.system().record(s.state(), &mut values);
        (s.state().t, std::array::from_fn(|i| values[places[i]]))
    };
    let mut throw = Throw { states: vec![pick(&simulation)], impacts: Vec::new(), verdict: Verdict::default() };
    let observe = |s: &Simulation, _: &StepAudit| {
        throw.states.push(pick(s));
        if s.last_step().kind == StepKind::Impact {
            throw.impacts.push(s.state().t);
        }
    };
    let (verdict, _) = auditor.run(&mut simulation, observe)?;
    Ok(Throw { verdict, ..throw })
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

/// Velocities after the direct hit, where everything sticks: of the thrown ball vx, vz, ω, of the other one vx, ω.
///
/// With the speed s of the other ball, which rolls, and the spin ω of the thrown one, the latter moves with
/// (s, 0) + (s + r ω)(n_z, -n_x); impulses of contact do no work on such velocities, so that the momentum along both stays.
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

/// Names of those five, and where they are among the columns.
const AFTER: [(&str, usize); 5] = [
    ("thrown ball, x velocity, m/s", 2),
    ("thrown ball, z velocity, m/s", 3),
    ("thrown ball, spin, rad/s", 4),
    ("other ball, x velocity, m/s", 7),
    ("other ball, spin, rad/s", 9),
];

/// How far the velocities after an impact are from those of one impact, at most: it falls across two steps, in the first of which friction has a part of the normal impulse only.
const IN_TWO_STEPS: [f64; 5] = [0.02, 0.02, 0.3, 0.005, 0.05];

/// The whole experiment.
pub(super) fn reproduce(_: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
    let mut rows = Rows::new("two-balls", "ST96");
    let exactly = ["scheme={event-driven={}}", "method={cone={}}"];

    progress("thrown directly");
    let hit = direct_hit();
    let direct = run(&[&exactly[..], &DIRECT_THROW, &["run.step=0.01"]].concat())?;
    rows.fed_by(&direct.verdict);
    let found = direct.impacts.first().copied().unwrap_or(f64::NAN);
    rows.add("thrown directly: the balls meet, s (event-driven)", hit, found, Measured(1e-14));
    let expected = after_direct_hit(hit);
    // The state at the end of the impact is the last one at its time.
    let after = direct.states.iter().rfind(|(t, _)| *t == found).map_or([f64::NAN; 10], |(_, values)| *values);
    for (i, (name, column)) in AFTER.into_iter().enumerate() {
        let quantity = format!("thrown directly: {name} after the impact (event-driven)");
        rows.add(quantity, expected[i], after[column], if name.contains("spin") { Measured(1e-12) } else { Rounding });
    }
    let stepped = run(&[&DIRECT_THROW[..], &["run.step=0.000625"]].concat())?;
    rows.fed_by(&stepped.verdict);
    for (i, (name, column)) in AFTER.into_iter().enumerate() {
        let quantity = format!("thrown directly: {name} after the impact (linear, h = 0.000625)");
        rows.add(quantity, expected[i], stepped.at(hit + 2.0 * 0.000625)[column], Measured(IN_TWO_STEPS[i]));
    }
    let direct = stepped;

    progress("thrown on the table");
    let fall = (2.0 * DROP / GRAVITY).sqrt();
    let rolling = 5.0 / 7.0 * SPEED;
    let reach = TARGET[0] - (4.0 * RADIUS * RADIUS - OFFSET * OFFSET).sqrt();
    let meeting = fall + (reach - SPEED * fall) / rolling;
    let table = run(&[&exactly[..], &["run.step=0.01", "run.end=0.7"]].concat())?;
    rows.fed_by(&table.verdict);
    let impacts: Vec<f64> =
        [0.0, fall + 1e-3].map(|after| table.impacts.iter().copied().find(|t| *t > after).unwrap_or(f64::NAN)).to_vec();
    rows.add("thrown on the table: it lands, s (event-driven)", fall, impacts[0], Measured(1e-14));
    rows.add("thrown on the table: the balls meet, s (event-driven)", meeting, impacts[1], Measured(1e-13));
    let stepped = run(&["run.end=0.7"])?;
    rows.fed_by(&stepped.verdict);
    let speed = stepped.at(0.5)[2];
    rows.add("thrown on the table: it rolls with 5/7 of its speed, m/s (h = 0.0025)", rolling, speed, Measured(1e-14));

    let figures = vec![figure(&direct, &stepped)];
    Ok(rows.into_reproduction(figures, REMARKS))
}

/// Figure 1 of the paper, and both throws from the side.
fn figure(direct: &Throw, table: &Throw) -> NamedFigure {
    let mut panels = vec![cone()];
    for (title, throw) in [("thrown directly", direct), ("thrown on the table", table)] {
        let mut panel = Panel {
            title: title.into(),
            x_label: "x, m".into(),
            y_label: "z, m".into(),
            equal_aspect: true,
            legend: Legend::Above,
            outlines: vec![Outline::ground(0.0)],
            ..Default::default()
        };
        for (ball, colour) in [Colour::VERMILLION, Colour::BLUE].into_iter().enumerate() {
            let points: Vec<(f64, f64)> = throw.states.iter().map(|(_, v)| (v[5 * ball], v[5 * ball + 1])).collect();
            for &centre in [points[0], points[points.len() - 1]].iter() {
                panel.outlines.push(Outline {
                    fill: Some((colour, 0.1)),
                    stroke: Some(Stroke { colour, width: 1.0, dashed: false }),
                    ..Outline::disc(centre, RADIUS)
                });
            }
            let label = ["thrown ball", "other ball"][ball].to_owned();
            panel.series.push(Series { label, points, colour: Some(colour), ..Default::default() });
        }
        panels.push(panel);
    }
    let figure = Figure {
        title: "A ball is thrown at another".into(),
        subtitle: "Stewart and Trinkle 1996, Figure 1 and the first test of the balls".into(),
        panels,
        columns: 1,
        row_weights: vec![1.2, 1.0, 1.0],
        size: (800, 1150),
    };
    NamedFigure { name: "two-balls", figure }
}

/// Figure 1: the round cone and the octagon inside of it, with its eight directions, seen from the side and above.
fn cone() -> Panel {
    let seen = |angle: f64, radius: f64, height: f64| (radius * angle.cos(), height + 0.35 * radius * angle.sin());
    let mut panel = Panel {
        title: "Figure 1: the friction cone, and its approximation by eight directions".into(),
        equal_aspect: true,
        is_picture: true,
        ..Default::default()
    };
    let rim = (0..96).map(|i| seen(TAU * f64::from(i) / 96.0, 1.0, 1.6)).collect();
    let line = |points: Vec<(f64, f64)>, closed: bool, colour: Colour, fill: f64| Outline {
        points,
        closed,
        fill: closed.then_some((colour, fill)),
        stroke: Some(Stroke { colour, width: 1.2, dashed: false }),
        ..Default::default()
    };
    panel.outlines.push(line(rim, true, Colour::BLUE, 0.08));
    let corners: Vec<(f64, f64)> = (0..8).map(|i| seen(TAU * f64::from(i) / 8.0, 1.0, 1.6)).collect();
    panel.outlines.push(line(corners.clone(), true, Colour::VERMILLION, 0.12));
    for corner in &corners {
        panel.outlines.push(line(vec![(0.0, 0.0), *corner], false, Colour::VERMILLION, 0.0));
    }
    for side in [-1.0, 1.0] {
        panel.outlines.push(line(vec![(0.0, 0.0), (side, 1.6)], false, Colour::BLUE, 0.0));
    }
    panel.outlines.push(line(vec![(0.0, 0.0), (0.0, 2.3)], false, Colour::INK, 0.0));
    let mark = |at, text: &str, anchor| Mark { at, text: text.to_owned(), anchor, ..Default::default() };
    panel.marks.push(mark((0.0, 2.3), "n", Anchor::Right));
    panel.marks.push(mark(corners[0], "n + μ d", Anchor::Right));
    panel
}

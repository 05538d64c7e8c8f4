//! \[PAGT\] §10: the double pendulum beside a wall and the carts with a stopper, and the free top
//! behind §8.
//!
//! The numbers of the paper are those of its plain scheme, so the setting `paper` is used.
//! Reference numbers are those of an independent implementation of it, and of an event-driven
//! solution with 40 digits for the end of the pendulum.

use stiction_dynamics::reference::{Carts, DoublePendulum, FreeTop};
use stiction_dynamics::{ImpactLaw, Restitution};
use stiction_scene::Edit;

use super::*;
use crate::converge::{EventDrivenLimits, Plan, ReferenceChoice, SchemeChoice, converge};

/// An experiment.
pub(super) const DOUBLE_PENDULUM: Experiment = Experiment {
    id: "double-pendulum",
    title: "[PAGT] a double pendulum beside a wall",
    remarks: &[
        "The numbers of the paper are those of its plain scheme: no stabilisation of joints, no located reversals. It is the setting `paper` here.",
        "20 of the 21 printed entries agree in all digits; the error at h = 2⁻¹¹ is 6.157e-7 and printed as 6.15e-7. The columns of the joints are −Θ.",
        "The active set (6.1) taken literally loses every impact: a contact turns active early, and the condition on the mean velocity mirrors the velocity. Active is what touches.",
        "The error is that against an event-driven solution with 40 digits.",
        "Joint errors over 1000 s: the plain scheme agrees with the independent implementation in its two digits where the motion is not chaotic. Stabilised, ours holds the joints in a slightly different way than the independent implementation does: \
         there the law is asked for that both obey, that joint errors do not grow.",
    ],
    run: double_pendulum,
};

/// An experiment.
pub(super) const CARTS_DAMPER: Experiment = Experiment {
    id: "carts-damper",
    title: "[PAGT] two carts and a stopper, damper",
    remarks: &[
        "Before the impact the runs approach the rigid link as 1/δ. After it they do not: with a damper the impulse strikes one cart, with a rigid link both, and Theorem 9.3 does not cover impacts.",
        "The plain scheme, whose numbers and curves these are, is not the motion after an impact with δ = 1e6: the trapezoidal rule does not damp what is much faster than its step, and the carts ring at every step size. \
         By default the scheme begins with short steps after an impact, and is of order two.",
        "The paper prints curves; the reference is an independent implementation. Energy never rises.",
    ],
    run: carts_damper,
};

/// An experiment.
pub(super) const CARTS_SPRING: Experiment = Experiment {
    id: "carts-spring",
    title: "[PAGT] two carts and a stopper, spring",
    remarks: &[
        "The runs approach the rigid stop as 1/√γ.",
        "The paper prints curves; the reference is an independent implementation. Energy never rises.",
    ],
    run: carts_spring,
};

/// An experiment.
pub(super) const FREE_TOP: Experiment = Experiment {
    id: "free-top",
    title: "a free top, order two",
    remarks: &[
        "In none of the papers: the gyroscopic force behind §8 of [PAGT]. Its F(v) is antisymmetric but not half of the derivative, and gives order one. With the exact derivative the order is two.",
    ],
    run: free_top,
};

/// End of the pendulum at t = 2.5 s.
pub(super) const PENDULUM_END: [f64; 4] =
    [0.02196211769492439, -0.9997588036053267, 0.02376948677391344, -1.999757170312499];

/// Its velocity there.
pub(super) const PENDULUM_END_VELOCITY: [f64; 4] =
    [-0.01217470743986077, -0.000267446864915078, 0.0641768785709046, -0.000129451143840027];

/// Energy of the pendulum at the end, in joules.
pub(super) const PENDULUM_ENERGY: f64 = -29.393123052629806;

/// Times of its collisions, in seconds.
pub(super) const COLLISIONS: [f64; 5] = [0.54550805144, 0.70793269999, 1.28472664595, 2.09773945488, 2.13164028430];

/// Which bob collides, and its velocity just before, in m/s.
pub(super) const COLLIDING: [(u8, f64); 5] =
    [(1, -1.984493531), (2, -4.013683456), (1, -0.679614454), (2, -0.489951770), (1, -1.030536788)];

/// The ratios of Table 10.1 as printed, of the errors at one step and at half of it: for h = 2⁻⁶ …
/// 2⁻¹¹.
const PENDULUM_RATIOS: [[&str; 3]; 6] = [
    ["3.88", "4.04", "3.84"],
    ["3.97", "4.01", "3.88"],
    ["3.91", "4.00", "3.90"],
    ["3.92", "4.00", "3.99"],
    ["4.17", "4.00", "3.99"],
    ["3.93", "4.01", "4.00"],
];

/// Largest joint errors of the plain scheme over 1000 s at h = 2⁻⁷ of an independent
/// implementation, of both rods, by restitution of the wall.
const JOINT_DRIFT: [(Option<f64>, [f64; 2]); 2] = [(None, [1.2e-4, 3.6e-4]), (Some(0.1), [1.1e-4, 2.5e-4])];

/// Restitutions of the wall for the stabilised scheme.
const STABILISED: [Option<f64>; 3] = [None, Some(0.1), Some(1.0)];

/// Table 10.1 for h = 2⁻⁵ … 2⁻¹¹: error and joint errors as printed, and as an independent
/// implementation has them.
const PENDULUM_TABLE: [([&str; 3], [f64; 3]); 7] = [
    (["2.38e-3", "-1.27e-3", "-3.18e-3"], [2.38220e-3, -1.26743e-3, -3.18347e-3]),
    (["6.14e-4", "-3.14e-4", "-8.29e-4"], [6.13727e-4, -3.13787e-4, -8.28505e-4]),
    (["1.54e-4", "-7.82e-5", "-2.14e-4"], [1.54449e-4, -7.82203e-5, -2.13707e-4]),
    (["3.95e-5", "-1.95e-5", "-5.48e-5"], [3.94525e-5, -1.95355e-5, -5.47614e-5]),
    (["1.01e-5", "-4.88e-6", "-1.37e-5"], [1.00658e-5, -4.88281e-6, -1.37139e-5]),
    (["2.42e-6", "-1.22e-6", "-3.44e-6"], [2.41592e-6, -1.22128e-6, -3.43789e-6]),
    (["6.15e-7", "-3.05e-7", "-8.60e-7"], [6.15741e-7, -3.04900e-7, -8.59981e-7]),
];

/// Relative error of a number of the reference with six digits, with what rounding adds.
const TABLE_ROUNDING: f64 = 1e-5;

/// Step of the carts, in seconds.
const CART_STEP: f64 = 0.01;

/// Damping, largest $|x_2 - x_1 - 5|$, first impact, largest distance from the rigid link before
/// it, end of both carts.
const DAMPER_TABLE: [(f64, f64, f64, f64, [f64; 2]); 4] = [
    (1e2, 3.48396e-2, 0.0568586927, 1.63e-3, [0.19800271, 5.17713780]),
    (1e3, 3.43099e-3, 0.0557696497, 1.84e-4, [0.21662340, 5.21436955]),
    (1e6, 4.51725e-6, 0.0556360812, 1.87e-7, [0.23840545, 5.23840233]),
    (f64::INFINITY, 0.0, 0.0556359437, 0.0, [0.23458450, 5.23458450]),
];

/// Stiffness, largest $|x_1 - 0.2|$, end of both carts.
const SPRING_TABLE: [(f64, f64, [f64; 2]); 4] = [
    (1e2, 0.195081, [0.20452427, 4.90217981]),
    (1e4, 3.01151e-2, [0.20002163, 4.91848992]),
    (1e6, 2.95462e-3, [0.19918896, 4.92020586]),
    (f64::INFINITY, 0.0, [0.2, 4.92022575]),
];

/// The stiffest link that is not rigid: rounding of its large forces shows in the energy.
const STIFFEST: f64 = 1e6;

/// Time of the impact of the first row of that table, in seconds.
const SPRING_IMPACT: f64 = 0.0724227276;

/// Angular velocity of the free top at t = 10 s, in body axes.
const TOP_END: [f64; 3] = [0.20605198904, 0.56350916391, 1.36167267508];

/// A run of the trapezoidal scheme from 0 to a time.
fn trapezoidal(
    system: impl MechanicalSystem + 'static,
    start: State,
    grid: (f64, f64),
    settings: TrapezoidalSettings,
) -> Result<Simulation, ReproduceError> {
    simulation(system, &SchemeSettings::Trapezoidal(settings), ContactMethod::default(), start, grid)
}

fn plain() -> TrapezoidalSettings {
    TrapezoidalSettings { paper: true, ..Default::default() }
}

pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// A panel of curves over time.
fn over_time<L: Into<String>>(title: &str, y_label: &str, series: impl IntoIterator<Item = (L, Curve)>) -> Panel {
    let series: Vec<Series> = series.into_iter().map(|(label, points)| curve(label, points)).collect();
    let end = series.iter().flat_map(|series| series.points.last()).fold(0.0f64, |end, (t, _)| end.max(*t));
    Panel { x_range: Some((0.0, end)), ..panel(title, "time, s", y_label, series) }
}

/// The pendulum with a wall of this restitution, or with none.
fn pendulum(restitution: Option<f64>) -> DoublePendulum {
    let wall = restitution.map(|normal| Restitution { law: ImpactLaw::Poisson, normal, tangential: 0.0 });
    DoublePendulum { gravity: 9.8, wall }
}

/// Table 10.1 and Figure 2.
fn double_pendulum(rows: &mut Rows) -> Result<(), ReproduceError> {
    let system = pendulum(Some(0.1));
    let mut curves: [Curve; 3] = Default::default();
    let (mut coarser, mut coarser_energy) = ([f64::NAN; 3], f64::NAN);
    let count = rows.full_or(PENDULUM_TABLE.len(), 5);
    for (i, (printed, reference)) in PENDULUM_TABLE[..count].iter().enumerate() {
        let power = i as i32 + 5;
        let h = 0.5f64.powi(power);
        rows.progress(format!("h = 2^-{power}"));
        let mut run = trapezoidal(system, DoublePendulum::start(), (h, 2.5), plain())?;
        let (mut times, mut solves) = (Vec::new(), 0);
        curves = Default::default();
        rows.run(&mut run, |s, _| {
            let state = s.state();
            solves += s.last_step().report.solves.len();
            if s.last_step().kind == StepKind::Impact {
                times.push(state.t);
            }
            let values = [state.q[0], state.q[2], system.energy(state)];
            curves.iter_mut().zip(values).for_each(|(curve, value)| curve.push((state.t, value)));
        })?;
        let [first, second] = DoublePendulum::joint_values(&run.state().q);
        let found = [distance(&run.state().q, &PENDULUM_END), -first, -second];
        for (j, name) in ["error of the positions", "-Θ of the upper rod", "-Θ of the lower rod"].iter().enumerate() {
            let quantity = format!("{name}, h = 2^-{power}");
            let tolerance = significant(6, reference[j]);
            rows.add_printed(quantity, Some(printed[j]), Some(reference[j]), found[j], tolerance);
            if i > 0 {
                let quantity = format!("ratio of the {name} to that at twice the step, h = 2^-{power}");
                let expected = PENDULUM_TABLE[i - 1].1[j] / reference[j];
                let tolerance = Measured(2.0 * TABLE_ROUNDING * expected);
                let printed = PENDULUM_RATIOS[i - 1][j];
                rows.add_printed(quantity, Some(printed), Some(expected), coarser[j] / found[j], tolerance);
            }
        }
        coarser = found;
        rows.add(format!("collisions, h = 2^-{power}"), 5.0, times.len() as f64, Exact);
        rows.add(format!("complementarity problems, h = 2^-{power}"), 2.5 / h + 15.0, solves as f64, Exact);
        let energy = system.energy(run.state());
        if i + 1 == PENDULUM_TABLE.len() {
            for (number, (time, expected)) in times.iter().zip(COLLISIONS).enumerate() {
                let quantity = format!("time of collision {}, s, h = 2^-11", number + 1);
                rows.add(quantity, expected, *time, Measured(2e-6));
            }
            // Order two: what both steps miss is extrapolated away, but for the share that the
            // places of impacts within their steps leave.
            let limit = energy + (energy - coarser_energy) / 3.0;
            let quantity = "energy at the end, J, extrapolated from h = 2^-10 and 2^-11";
            rows.add(quantity, PENDULUM_ENERGY, limit, Measured(1e-6));
        }
        coarser_energy = energy;
    }
    let [first, second, energy] = curves;
    let panels = vec![
        over_time("Distance of the bobs from the wall", "x, m", [("upper bob", first), ("lower bob", second)]),
        over_time("Total energy", "energy, J", [("", energy)]),
    ];
    let subtitle = "Potra, Anitescu, Gavrea and Trinkle, Figure 2; plain scheme, e = 0.1";
    let title = "A double pendulum beside a wall";
    rows.figure("double-pendulum", title, subtitle, (2, 1000, 430), panels);
    if !rows.is_quick {
        add_joint_drift(rows)?;
    }
    rows.progress("event-driven");
    event_driven::add_double_pendulum(rows)
}

/// What a long run of the pendulum reaches.
struct LongRun {
    /// Largest joint errors in the first and in the second half.
    joints: [[f64; 2]; 2],
    /// Largest relative change of the energy.
    energy: f64,
}

impl LongRun {
    /// The largest error of a joint.
    fn largest(&self, joint: usize) -> f64 {
        self.joints[0][joint].max(self.joints[1][joint])
    }
}

fn long_run(
    rows: &mut Rows,
    restitution: Option<f64>,
    settings: TrapezoidalSettings,
    end: f64,
) -> Result<LongRun, ReproduceError> {
    let system = pendulum(restitution);
    let start = system.energy(&DoublePendulum::start());
    let (mut joints, mut energy) = ([[0.0f64; 2]; 2], 0.0f64);
    let mut run = trapezoidal(system, DoublePendulum::start(), (0.5f64.powi(7), end), settings)?;
    rows.run(&mut run, |s, _| {
        let values = DoublePendulum::joint_values(&s.state().q);
        let half = usize::from(s.state().t > 0.5 * end);
        joints[half].iter_mut().zip(values).for_each(|(most, value)| *most = most.max(value.abs()));
        energy = energy.max((system.energy(s.state()) / start - 1.0).abs());
    })?;
    Ok(LongRun { joints, energy })
}

/// Joint errors over 1000 s, and the energy without a wall.
fn add_joint_drift(rows: &mut Rows) -> Result<(), ReproduceError> {
    let words = |restitution: Option<f64>| restitution.map_or_else(|| "no wall".to_owned(), |e| format!("e = {e}"));
    let rods = ["upper", "lower"];
    for (restitution, expected) in JOINT_DRIFT {
        let wall = words(restitution);
        rows.progress(format!("joint errors over 1000 s, {wall}, plain"));
        let run = long_run(rows, restitution, plain(), 1000.0)?;
        let of_rod = |rod: &str| format!("largest |Θ| of the {rod} rod over 1000 s, h = 2^-7, {wall}, plain");
        rows.add_each(of_rod, &rods, &expected, &[run.largest(0), run.largest(1)], Printed(5));
    }
    for restitution in STABILISED {
        let wall = words(restitution);
        rows.progress(format!("joint errors over 1000 s, {wall}, stabilised"));
        let run = long_run(rows, restitution, TrapezoidalSettings::default(), 1000.0)?;
        // An impact also ends the rates that joints still have, which are of order two in the step.
        // The contact gives a little of that energy; the joints take more.
        if restitution == Some(1.0) {
            rows.but_for("contact_gain", "a sum over many elastic impacts, of order two in the step");
        }
        for (i, rod) in rods.into_iter().enumerate() {
            let quantity = format!(
                "largest |Θ| of the {rod} rod in 500 s … 1000 s over that before, h = 2^-7, {wall}, stabilised"
            );
            rows.add_between(quantity, (0.0, 1.5), run.joints[1][i] / run.joints[0][i]);
        }
    }
    rows.progress("energy over 200 s");
    let run = long_run(rows, None, plain(), 200.0)?;
    rows.add("largest |Θ| over 200 s, h = 2^-7, no wall, plain", 3.6e-4, run.largest(1), Printed(5));
    let quantity = "largest relative change of the energy over 200 s, h = 2^-7, no wall, plain";
    rows.add(quantity, 0.0, run.energy, Measured(2e-13));
    Ok(())
}

/// One run of the carts.
struct CartRun {
    end: State,
    first_impact: f64,
    /// Largest deviation at the times of the grid.
    deviation: f64,
    /// Largest rise of the energy over a step, an impact counted as a whole.
    rise: f64,
    /// Change of the energy that no cause explains, in joules.
    unexplained: f64,
    /// Places of both carts at the times of the grid up to the first impact.
    before_impact: Vec<[f64; 2]>,
    /// What is drawn, and the energy.
    curves: [Curve; 2],
}

/// Runs the carts; `length` is what the paper draws, `rest` what it should be.
fn run_carts(
    rows: &mut Rows,
    carts: Carts,
    start: State,
    end: f64,
    length: impl Fn(&[f64]) -> f64,
    rest: f64,
) -> Result<CartRun, ReproduceError> {
    let energy = |state: &State| {
        let kinetic: f64 = state.v.iter().map(|v| 0.5 * v * v).sum();
        kinetic + carts.potential_energy(state.t, &state.q).unwrap_or(0.0)
    };
    let mut before = energy(&start);
    let mut simulation = trapezoidal(carts, start.clone(), (CART_STEP, end), plain())?;
    let mut run = CartRun {
        end: start,
        first_impact: f64::NAN,
        deviation: 0.0,
        rise: f64::NEG_INFINITY,
        unexplained: f64::NAN,
        before_impact: Vec::new(),
        curves: Default::default(),
    };
    let mut steps = 0;
    let audit = rows.run(&mut simulation, |s, _| {
        let (state, step) = (s.state(), s.last_step());
        if s.steps_done() > steps {
            steps = s.steps_done();
            run.deviation = run.deviation.max((length(&state.q) - rest).abs());
            if run.first_impact.is_nan() {
                run.before_impact.push([state.q[0], state.q[1]]);
            }
        }
        let is_impact = step.kind == StepKind::Impact;
        if is_impact && run.first_impact.is_nan() && !step.contacts.is_empty() {
            run.first_impact = state.t;
        }
        let now = energy(state);
        run.curves[0].push((state.t, length(&state.q)));
        run.curves[1].push((state.t, now));
        if !is_impact {
            run.rise = run.rise.max(now - before);
            before = now;
        }
    })?;
    Ok(CartRun { end: simulation.state().clone(), unexplained: audit.sum.energy.unexplained, ..run })
}

/// A number as one writes it in a table, or the rigid link that it tends to.
fn parameter(name: &str, value: f64) -> String {
    if value.is_finite() { format!("{name} = {value:e}") } else { "rigid link".to_owned() }
}

/// Adds the deviation, which has six digits, and none with the rigid link.
fn add_deviation(rows: &mut Rows, what: &str, expected: f64, found: f64, at: &str) {
    let tolerance = if expected == 0.0 { Rounding } else { significant(6, expected) };
    rows.add(format!("largest {what}, m, {at}"), expected, found, tolerance);
}

/// Adds where the carts end, and what their energy does; `stiffest` is what rounding leaves of it
/// where the link is stiffest.
fn add_end(rows: &mut Rows, run: &CartRun, (time, at): (f64, &str), end: [f64; 2], unexplained: Tolerance) {
    for (i, expected) in end.into_iter().enumerate() {
        rows.add(format!("x{} at t = {time} s, m, {at}", i + 1), expected, run.end.q[i], Printed(8));
    }
    rows.add(format!("largest rise of the energy, J, {at}"), 0.0, run.rise.max(0.0), Rounding);
    rows.add(format!("change of the energy that no cause explains, J, {at}"), 0.0, run.unexplained, unexplained);
}

/// Figures 4 and 5: deviation and energy of all rows of a table.
fn cart_figure(rows: &mut Rows, title: &str, figure: &str, labels: [&str; 2], runs: Vec<(String, CartRun)>) {
    let (mut deviations, mut energies) = (Vec::new(), Vec::new());
    for (label, run) in runs {
        let [deviation, energy] = run.curves;
        deviations.push((label.clone(), deviation));
        energies.push((label, energy));
    }
    let subtitle = format!("Potra, Anitescu, Gavrea and Trinkle, {figure}; plain scheme, h = 0.01");
    let panels = vec![over_time(labels[0], labels[1], deviations), over_time("Total energy", "energy, J", energies)];
    rows.figure(rows.id, title, subtitle, (2, 1000, 430), panels);
}

/// The carts with a stiffer and stiffer damper: Figure 4.
fn carts_damper(rows: &mut Rows) -> Result<(), ReproduceError> {
    let run_damper = |rows: &mut Rows, damping| {
        let start = State::new(0.0, vec![0.1, 5.1], vec![-2.0, -2.0]);
        run_carts(rows, Carts { stiffness: 100.0, damping }, start, 4.0, |q| q[1] - q[0], 5.0)
    };
    let mut runs = Vec::new();
    for (damping, ..) in DAMPER_TABLE {
        runs.push((parameter("δ", damping), run_damper(rows, damping)?));
    }
    let rigid = runs[DAMPER_TABLE.len() - 1].1.before_impact.clone();
    let mut distances = Vec::new();
    for ((at, run), (damping, deviation, impact, distance, end)) in runs.iter().zip(DAMPER_TABLE) {
        add_deviation(rows, "|x₂ - x₁ - 5|", deviation, run.deviation, at);
        rows.add(format!("first impact, s, {at}"), impact, run.first_impact, Printed(10));
        if damping.is_finite() {
            let found = largest_difference(run.before_impact.iter().flatten(), rigid.iter().flatten());
            let quantity = format!("largest distance from the rigid link before the impact, m, {at}");
            rows.add(quantity, distance, found, Measured(0.005 * distance));
            distances.push((damping, found));
        }
        let unexplained = if damping == STIFFEST { Measured(1e-10) } else { Rounding };
        add_end(rows, run, (4.0, at), end, unexplained);
    }
    // Without the softest one, which is not yet in the limit.
    let order = fitted_order(&distances[1..]);
    rows.add("order in δ of the distance from the rigid link, δ ≥ 1e3", -1.0, order, Measured(0.01));
    add_ringing(rows)?;
    runs.pop();
    let labels = ["Distance between the carts", "x₂ − x₁, m"];
    cart_figure(rows, "Two carts and a stopper, stiffer and stiffer dampers", "Figure 4", labels, runs);
    Ok(())
}

/// After an impact with the stiffest damper: the scheme approaches the motion by default, and does
/// not in its plain form.
fn add_ringing(rows: &mut Rows) -> Result<(), ReproduceError> {
    let edit = Edit::option("the plain scheme", "scheme.trapezoidal.paper", true);
    let plain = SchemeChoice { name: "plain".to_owned(), edit };
    let plan = Plan {
        subject: stiction_scene::open("carts-damper").map_err(Box::new)?.into(),
        edits: vec![Edit::set("system.damping=[[1e6, -1e6], [-1e6, 1e6]]").map_err(Box::new)?],
        schemes: vec![SchemeChoice::named("trapezoidal"), plain],
        steps: (0..6).map(|k| CART_STEP * 0.5f64.powi(k)).collect(),
        reference: ReferenceChoice::Scheme(SchemeChoice::named("event-driven")),
        reference_step: None,
        limits: EventDrivenLimits::default(),
    };
    let convergence = converge(&plan, rows.progress)?;
    let words = [("default settings", (1.8, f64::INFINITY)), ("plain: it does not fall", (f64::NEG_INFINITY, 0.5))];
    for (summary, (settings, range)) in convergence.schemes.iter().zip(words) {
        let quantity = format!("order of the error, δ = 1e6, over five halvings, {settings}");
        rows.join(Verdict::of_runs(&convergence, &summary.scheme));
        rows.add_between(quantity, range, summary.order.unwrap_or(f64::NAN));
    }
    Ok(())
}

/// The carts with a stiffer and stiffer spring: Figure 5.
fn carts_spring(rows: &mut Rows) -> Result<(), ReproduceError> {
    let run_spring = |rows: &mut Rows, stiffness, damping| {
        let start = State::new(0.0, vec![0.2, 5.2], vec![-3.0, -3.0]);
        run_carts(rows, Carts { stiffness, damping }, start, 2.0, |q| q[0] - Carts::EQUILIBRIUM, 0.0)
    };
    let mut runs = Vec::new();
    for (stiffness, ..) in SPRING_TABLE {
        runs.push((parameter("γ", stiffness), run_spring(rows, stiffness, 10.0)?));
    }
    let mut deviations = Vec::new();
    for ((at, run), (stiffness, deviation, end)) in runs.iter().zip(SPRING_TABLE) {
        add_deviation(rows, "|x₁ - 0.2|", deviation, run.deviation, at);
        if stiffness == SPRING_TABLE[0].0 {
            rows.add(format!("impact, s, {at}"), SPRING_IMPACT, run.first_impact, Printed(10));
        }
        let unexplained = if stiffness == STIFFEST { Measured(2e-11) } else { Rounding };
        add_end(rows, run, (2.0, at), end, unexplained);
        deviations.push((stiffness, run.deviation));
    }
    let order = fitted_order(&deviations[1..3]);
    rows.add("order in γ of the deviation, γ ≥ 1e4", -0.5, order, Measured(0.01));
    let stiff = run_spring(rows, 1e10, 1e10)?;
    let reason = "spring and damper cancel to less than 1e-8 of themselves, which leaves so much rounding";
    rows.but_for("momentum", reason);
    rows.add("largest rise of the energy, J, γ = δ = 1e10", 0.0, stiff.rise.max(0.0), Rounding);
    runs.pop();
    let labels = ["First cart from where the spring is unloaded", "x₁ − 0.2 m, m"];
    cart_figure(rows, "Two carts and a stopper, stiffer and stiffer springs", "Figure 5", labels, runs);
    Ok(())
}

/// The free top: order two with quaternions and the gyroscopic term.
fn free_top(rows: &mut Rows) -> Result<(), ReproduceError> {
    let end = event_driven::free_top_end(rows)?;
    let of_component = |number: &str| format!("angular velocity {number} at t = 10 s, rad/s (event-driven)");
    rows.add_each(of_component, &["1", "2", "3"], &TOP_END, &end.v, Printed(11));
    let (mut errors, mut turns) = (Vec::new(), Vec::new());
    let mut curves: [Curve; 3] = Default::default();
    for power in 4..=rows.full_or(10, 8) {
        let h = 0.5f64.powi(power);
        rows.progress(format!("h = 2^-{power}"));
        let mut run = trapezoidal(FreeTop::default(), FreeTop::start(), (h, 10.0), TrapezoidalSettings::default())?;
        curves = Default::default();
        rows.run(&mut run, |s, _| {
            curves.iter_mut().zip(&s.state().v).for_each(|(curve, rate)| curve.push((s.state().t, *rate)));
        })?;
        errors.push((h, distance(&run.state().v, &TOP_END)));
        // Rotations differ by 2√2 times as much as their quaternions, in the norm of their nine
        // entries.
        turns.push((h, 8.0f64.sqrt() * distance(&run.state().q, &end.q)));
    }
    if !rows.is_quick {
        let [error, turn] = [&errors, &turns].map(|errors| errors[errors.len() - 1].1);
        rows.add("error of the angular velocity, rad/s, h = 2^-10", 1.294e-6, error, Printed(9));
        rows.add("error of the rotation matrix, h = 2^-10", 1.007e-6, turn, Printed(9));
    }
    for (name, errors) in [("angular velocity", errors), ("rotation", turns)] {
        let halvings = errors.len() - 1;
        rows.add_between(format!("order of the {name} over {halvings} halvings"), (1.95, 2.05), fitted_order(&errors));
    }
    let series = ["about the axis of moment 1", "of moment 2", "of moment 3"].into_iter().zip(curves);
    let panels = vec![over_time("Angular velocity in body axes", "rad/s", series)];
    let subtitle = "moments 1, 2, 3 kg m²; trapezoidal scheme";
    rows.figure("free-top", "A free top", subtitle, (1, 700, 400), panels);
    Ok(())
}

//! \[ST96\] §4: a spinning rod falls on a table, and §3.5: a slider with friction that no load
//! changes.
//!
//! The paper prints contact times and figures. The event table is that of an event-driven solution
//! without complementarity problems, accurate to 1e-11; it takes the start height of 1 m and g =
//! 9.81 m/s², which the paper does not state but its times imply.

use stiction_dynamics::reference::{Rod, Slider};
use stiction_dynamics::{ContactMode, ModeTracker};

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "rod",
    title: "[ST96] a spinning rod falls on a table",
    remarks: &[
        "The paper does not state the height of the fall and gravity: 1.0 m and 9.81 m/s² give its times. They are read off at h = 0.0025, as the starts of the steps of contact: 0.3825 and 0.5475, printed as 0.383 and 0.548.",
        "The friction vectors as printed omit the radius of the ends. With it the first impact is a case of Painlevé, as the text says.",
        "The reference is event-driven, with an error below 1e-11.",
        "Steps of 1/25 s, which the paper calls insufficient: one linearisation leaves the rod 6 % too far, and the fixed point lets it lie down after the first impact.",
        "§3.5: a slider with a friction bound that does not depend on the load; the implicit update of the position, q + h v at the end of the step, stops it v₀h/2 early: after 0.199 m at h = 0.001.",
    ],
    run: reproduce,
};

/// Reference values of the event-driven solution, in SI units.
pub(super) mod exact {
    pub const FIRST_IMPACT: f64 = 0.38581775171;
    pub const BEFORE_FIRST: [f64; 3] = [0.0, -3.784872144, 4.0];
    pub const AFTER_FIRST: [f64; 3] = [-1.390096118, -0.612948534, 5.151087899];
    pub const FIRST_IMPULSE: [f64; 2] = [3.171923610, -1.390096118];
    pub const STICK_TO_SLIP: f64 = 0.41911325442;
    pub const SECOND_IMPACT: f64 = 0.54731841967;
    pub const BEFORE_SECOND: [f64; 3] = [-1.395107337, -2.138550172, 8.554200690];
    pub const AFTER_SECOND: [f64; 3] = [-0.111977233, 0.0, 0.0];
    pub const REST: f64 = 0.56634275423;
    pub const X_AT_REST: f64 = -0.22735998270;
    /// Lost in the first impact, while sliding, in the second impact, and in the last slide.
    pub const ENERGY_LOST: [f64; 4] = [5.998058, 0.004407, 3.326766, 0.006269];
    /// $n \cdot M^{-1} (n - \mu t)$ at the first impact, in 1/kg: negative in the paradox of
    /// Painlevé.
    pub const PAINLEVE: f64 = -1.55;
}

/// Where energy is lost.
pub(super) const PHASES: [&str; 4] =
    ["in the first impact", "while sliding", "in the second impact", "in the last slide"];

/// The six step sizes over which the order is fitted, in seconds.
const ORDER_STEPS: [f64; 6] = [0.02, 0.01, 0.005, 0.0025, 0.00125, 0.000625];

/// How far the energies lost at h = 1e-5 are from those of the limit at most, in joules: some times
/// what such a step gives.
const ENERGY_TOLERANCE: [f64; 4] = [3e-4, 1e-5, 3e-4, 1e-5];

/// Rod of the paper, for the picture: half length and radius, in metres.
const HALF_LENGTH: f64 = 0.25;
const RADIUS: f64 = 0.05;

/// What the velocities are called.
pub(super) const VELOCITIES: [&str; 3] = ["x velocity, m/s", "y velocity, m/s", "angular velocity, rad/s"];

/// What one run of the rod shows; what did not happen is not a number.
struct RodRun {
    /// Start of the step, velocity after the impact, and its impulse, for every impact.
    impacts: Vec<Impact>,
    /// End of the step in which the first contact turned from sticking to sliding.
    stick_to_slip: Option<f64>,
    /// End of the step after which nothing slides.
    rest: Option<f64>,
    /// Energy lost by contact in four phases.
    lost: [f64; 4],
    /// State at the start and after every step.
    states: Vec<State>,
    /// Change of the energy in all steps that no cause explains, in joules.
    unexplained: f64,
}

#[derive(Clone)]
struct Impact {
    start: f64,
    velocity: Vec<f64>,
    impulse: [f64; 2],
}

impl RodRun {
    fn impact(&self, number: usize) -> Impact {
        let missing = || Impact { start: f64::NAN, velocity: vec![f64::NAN; 3], impulse: [f64::NAN; 2] };
        self.impacts.get(number).cloned().unwrap_or_else(missing)
    }

    fn x_at_rest(&self) -> f64 {
        self.states[self.states.len() - 1].q[0]
    }
}

/// Runs the built-in scene with another step and version of the scheme.
fn run_rod(rows: &mut Rows, version: &str, h: f64) -> Result<RodRun, ReproduceError> {
    let overrides =
        [format!("run.step={h}"), format!("scheme.stewart-trinkle.version={version}"), "run.end=0.7".to_string()];
    let mut simulation = scene("rod", &overrides)?;
    let mut tracker = ModeTracker::default();
    let mut events = Vec::new();
    let mut run = RodRun {
        impacts: Vec::new(),
        stick_to_slip: None,
        rest: None,
        lost: [0.0; 4],
        states: vec![simulation.state().clone()],
        unexplained: f64::NAN,
    };
    let audit = rows.run(&mut simulation, |simulation, certificate| {
        let (before, step, energy) = (simulation.before(), simulation.last_step(), &certificate.energy);
        events.clear();
        let modes = tracker.observe(before, step, &mut events).to_vec();
        if events.iter().any(|event| event.to == ContactMode::Impact) {
            run.impacts.push(Impact { start: before.t, velocity: Vec::new(), impulse: [0.0; 2] });
        }
        let is_impact = modes.contains(&ContactMode::Impact);
        if is_impact && let Some(impact) = run.impacts.last_mut() {
            impact.velocity = step.state.v.clone();
            for contact in &step.solution.contacts {
                impact.impulse[0] += contact.normal;
                impact.impulse[1] += contact.tangent[0];
            }
        }
        if run.impacts.len() == 1 && modes.contains(&ContactMode::Slip) {
            run.stick_to_slip.get_or_insert(step.state.t);
        }
        if run.impacts.len() == 2 && !is_impact && modes.iter().all(|mode| *mode != ContactMode::Slip) {
            run.rest.get_or_insert(step.state.t);
        }
        let phase = match (run.impacts.len(), is_impact) {
            (0 | 1, true) => 0,
            (0 | 1, false) => 1,
            (_, true) => 2,
            (_, false) => 3,
        };
        run.lost[phase] -= energy.normal + energy.friction;
        run.states.push(step.state.clone());
    })?;
    Ok(RodRun { unexplained: audit.sum.energy.unexplained, ..run })
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    for version in ["linear", "fixed-point"] {
        add_reading(rows, version)?;
        add_events(rows, version)?;
        if !rows.is_quick {
            add_limit(rows, version)?;
        }
    }

    rows.progress("steps of 1/25 s");
    let h = 0.04;
    // One linearisation per step, as in the paper: the formulas of the rod have no size by which a
    // step would be halved.
    let x = plain(rows, Rod::default(), Rod::start(), (h, 1.0))?;
    rows.but_for("penetration_share", "the step is too long, which is shown here");
    rows.add("x at rest, m (linear, formulas, h = 0.04): 1/25 s is not sufficient", -0.2412, x, Printed(4));
    let error = (run_rod(rows, "fixed-point", h)?.x_at_rest() - exact::X_AT_REST).abs();
    rows.add_between("error of x at rest, m (fixed-point, h = 0.04): 1/25 s is not sufficient", (0.05, 0.5), error);

    rows.progress("a slider with bounded friction");
    for h in [1e-3, 1e-4] {
        // Deceleration 10 m/s² from 2 m/s: 0.2 m, and v₀h/2 less for the implicit update of the
        // position.
        let start = State::new(0.0, vec![0.0], vec![2.0]);
        let stop = plain(rows, Slider { mass: 1.0, bound: 10.0 }, start, (h, 0.5))?;
        rows.add(format!("§3.5: slider stops after, m (h = {h})"), 0.2 - 2.0 * h / 2.0, stop, Rounding);
    }

    rows.progress("event-driven");
    event_driven::add_rod(rows)?;
    rows.progress("figures");
    figure(rows)
}

/// What the paper reads off at h = 0.0025: 0.383 and 0.548 are the starts of the steps of contact,
/// rounded.
fn add_reading(rows: &mut Rows, version: &str) -> Result<(), ReproduceError> {
    let h = 0.0025;
    rows.progress(format!("{version} version, h = {h}"));
    let run = run_rod(rows, version, h)?;
    let at = |what: &str| format!("{what} ({version}, h = {h})");
    for (i, (which, printed, start)) in
        [("first", "0.383", 0.3825), ("second", "0.548", 0.5475)].into_iter().enumerate()
    {
        let quantity = at(&format!("{which} contact, start of its step, s"));
        rows.add_printed(quantity, Some(printed), Some(start), run.impact(i).start, Rounding);
    }
    if version == "fixed-point" {
        let touch = run.states.iter().position(|state| (state.v[2] - 4.0).abs() > 1e-9).unwrap_or(0);
        let spin = |offset: usize| run.states.get(touch + offset).map_or(f64::NAN, |state| state.v[2]);
        rows.add(at("spike of the angular velocity at first contact, rad/s"), 1.77, spin(0), Printed(2));
        rows.add(at("angular velocity after the spike, rad/s"), 5.18, spin(1), Printed(2));
    }
    Ok(())
}

/// The event table at h = 1e-4.
fn add_events(rows: &mut Rows, version: &str) -> Result<(), ReproduceError> {
    let h = 1e-4;
    rows.progress(format!("{version} version, h = 1e-4"));
    let run = run_rod(rows, version, h)?;
    let at = |what: &str| format!("{what} ({version}, h = {h})");
    let [first, second] = [run.impact(0), run.impact(1)];
    // Positions hold at the end of a step.
    rows.add(at("first impact, s"), exact::FIRST_IMPACT, first.start + h, Measured(h));
    let after = |name: &str| at(&format!("after the first impact: {name}"));
    rows.add_each(after, &VELOCITIES, &exact::AFTER_FIRST, &first.velocity, Measured(0.003));
    let of_impulse = |name: &str| at(&format!("{name} impulse of the first impact, N s"));
    rows.add_each(of_impulse, &["normal", "tangential"], &exact::FIRST_IMPULSE, &first.impulse, Measured(0.003));
    let slip = run.stick_to_slip.unwrap_or(f64::NAN);
    rows.add(at("sticking turns to sliding, s"), exact::STICK_TO_SLIP, slip, Measured(3.0 * h));
    rows.add(at("second impact, s"), exact::SECOND_IMPACT, second.start + h, Measured(h));
    // Both ends stand: what is left of turning is the penetration of an end, and of falling
    // nothing.
    let of_turning = if version == "linear" { 1e-5 } else { 1e-10 };
    for (i, tolerance) in [Measured(0.003), Rounding, Measured(of_turning)].into_iter().enumerate() {
        let quantity = at(&format!("after the second impact: {}", VELOCITIES[i]));
        rows.add(quantity, exact::AFTER_SECOND[i], second.velocity[i], tolerance);
    }
    rows.add(at("at rest, s"), exact::REST, run.rest.unwrap_or(f64::NAN), Measured(3.0 * h));
    rows.add(at("x at rest, m"), exact::X_AT_REST, run.x_at_rest(), Measured(2e-4));
    Ok(())
}

/// What the version tends to: a run at h = 1e-5, and the order.
fn add_limit(rows: &mut Rows, version: &str) -> Result<(), ReproduceError> {
    rows.progress(format!("{version} version, h = 1e-5"));
    let run = run_rod(rows, version, 1e-5)?;
    let at = |what: &str| format!("{what} ({version}, h = 0.00001)");
    rows.add(at("x at rest, m"), exact::X_AT_REST, run.x_at_rest(), Measured(2e-5));
    for (i, phase) in PHASES.into_iter().enumerate() {
        let quantity = at(&format!("energy lost {phase}, J"));
        rows.add(quantity, exact::ENERGY_LOST[i], run.lost[i], Measured(ENERGY_TOLERANCE[i]));
    }
    rows.add(at("change of the energy that no cause explains, J"), 0.0, run.unexplained, Measured(1e-9));

    rows.progress(format!("{version} version, order over six step sizes"));
    let mut errors = Vec::new();
    for h in ORDER_STEPS {
        errors.push((h, (run_rod(rows, version, h)?.x_at_rest() - exact::X_AT_REST).abs()));
    }
    // A coarse step leaves the linearised gap by the square of its way, which is part of the error
    // whose order is asked for.
    rows.but_for("penetration_share", "coarse steps leave the linearised gap, in order two");
    let quantity = format!("order of x at rest over h = 0.02 to 0.000625 ({version})");
    rows.add_between(quantity, (0.9, 1.15), fitted_order(&errors));
    Ok(())
}

/// Where the first coordinate of a system ends by the linear version.
fn plain(
    rows: &mut Rows,
    system: impl MechanicalSystem + 'static,
    start: State,
    grid: (f64, f64),
) -> Result<f64, ReproduceError> {
    let mut simulation = simulation(system, &scheme("stewart-trinkle"), ContactMethod::default(), start, grid)?;
    rows.run(&mut simulation, |_, _| {})?;
    Ok(simulation.state().q[0])
}

/// Figures 2 to 5 of the paper in one: poses with their times, and the three velocities for four
/// step sizes.
fn figure(rows: &mut Rows) -> Result<(), ReproduceError> {
    let steps = [0.01, 0.005, 0.0025, 0.00125];
    let runs = steps.into_iter().map(|h| run_rod(rows, "linear", h)).collect::<Result<Vec<_>, _>>()?;
    let mut poses = Panel {
        equal_aspect: true,
        outlines: vec![Outline::ground(0.0)],
        ..panel("Figure 2: the rod, h = 0.0025", "x, m", "y, m", Vec::new())
    };
    let times = [0.0, 0.1, 0.19, 0.26, 0.32, 0.385, 0.42, 0.46, 0.5, 0.55, 0.6];
    for (i, &t) in times.iter().enumerate() {
        let state = &runs[2].states[f64::round(t / 0.0025) as usize];
        let (x, y, theta) = (state.q[0], state.q[1], state.q[2]);
        let arm = (HALF_LENGTH * theta.cos(), HALF_LENGTH * theta.sin());
        let colour = Colour::SKY.towards(Colour::INK, i as f64 / (times.len() - 1) as f64);
        let rod = Outline::capsule((x - arm.0, y - arm.1), (x + arm.0, y + arm.1), RADIUS);
        poses.outlines.push(body(rod, colour, 0.12, 1.2));
        // The time stands at the upper end: on the right while the rod falls, on the left while it
        // tips over.
        let side = if arm.1 < 0.0 { -1.0 } else { 1.0 };
        let anchor = if t > 0.35 { Anchor::Left } else { Anchor::Right };
        let at = (x + side * arm.0 + if t > 0.35 { -RADIUS } else { 0.0 }, y + side * arm.1);
        if y > 0.1 {
            poses.marks.push(Mark { at, text: format!("{t:.2} s"), anchor, colour, ..Default::default() });
        }
    }
    let mut panels = vec![poses];
    for (title, label, component) in [
        ("Figure 3: vertical velocity", "vy, m/s", 1),
        ("Figure 4: angular velocity", "ω, rad/s", 2),
        ("Figure 5: horizontal velocity", "vx, m/s", 0),
    ] {
        let velocity = |(h, run): (&f64, &RodRun)| {
            let points = run.states.iter().map(|state| (state.t, state.v[component])).collect();
            Series { width: 1.2, ..curve(format!("h = {h}"), points) }
        };
        panels.push(panel(title, "t, s", label, steps.iter().zip(&runs).map(velocity).collect()));
    }
    let subtitle = "Stewart and Trinkle 1996, Figures 2 to 5, computed with the linear version of their scheme";
    rows.figure("rod", "A spinning rod falls on a table", subtitle, (2, 1000, 760), panels);
    Ok(())
}

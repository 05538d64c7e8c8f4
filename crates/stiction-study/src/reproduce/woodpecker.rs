//! \[GS05\] §4: the woodpecker toy by Moreau's midpoint rule, its limit cycle by a return map.
//!
//! The section of the map is where the bird swings up through $\varphi_S = -0.45$ while the lower
//! sleeve is jammed: nothing moves but the bird there, so the state on the section is one number,
//! $\omega_S$, and the map has one multiplier. The reference is an event-driven solution of the
//! limit cycle with an error below 1e-12 in its period.

use stiction_dynamics::reference::Woodpecker;
use stiction_dynamics::{AlternatingSettings, ContactMode, ModeTracker, PlanarRelaySettings, consistent_start};

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "woodpecker",
    title: "[GS05] a woodpecker hammers down a pole",
    remarks: &[
        "The paper prints curves and no numbers of the motion; the reference is the limit cycle by arcs in closed form and located events, with an error below 1e-12 in its period.",
        "Table I starts the sleeve at φ_M = −0.1036, a penetration of 8.8e-7 m, which counts as closed.",
        "Contacts are solved by the relay of the paper, (33). Rows “of the rule” compare with an independent implementation of the same rule at the same step, from beak to beak, \
         and agree in all its digits; the others with the limit cycle itself.",
        "The multiplier of the cycle is −0.84: cycles alternate about it for long. So the first are left out and twenty are averaged.",
        "The beak is not necessary, as the paper says: without it the toy hammers on with a shorter period, and all events are of the sleeve.",
        "The velocities of Table I are consistent with its closed contact: the problem (33) with Δt = 0 leaves them as they are. The paper calls 6 the largest dimension of (33); \
         with one contact at a time, as in these runs, it is 3.",
        "The alternation of normal and tangential problems, which §5 names, solves every step of the woodpecker, some of them after ten thousands of iterations where the sleeve jams: (33) takes a few pivots.",
        "A period of 0.1452 s that is printed elsewhere (Leine, Glocker and van Campen) is 0.53 % shorter than that of these equations and no target.",
    ],
    run: reproduce,
};

/// Period of the limit cycle, in s.
pub(super) const PERIOD: f64 = 0.145976065144;
/// Descent per cycle, in m.
pub(super) const DESCENT: f64 = 0.0194453792847;
/// Mean speed of the descent, in m/s.
pub(super) const MEAN_SPEED: f64 = 0.133209367341;

/// Period of the limit cycle without the beak, in s, by an independent program; our event-driven
/// scheme gives the digits that follow.
pub(super) const BEAKLESS_PERIOD: f64 = 0.130300;
const BEAKLESS_PERIOD_LOCATED: f64 = 0.1303002728311;

/// A number of the state, its name, its least and largest value in the cycle, and how well each is
/// known.
pub(super) type Range = (usize, &'static str, [f64; 2], [Tolerance; 2]);

/// What the state reaches in the cycle.
pub(super) const RANGES: [Range; 5] = [
    (1, "φ_M", [-0.103448276, 0.103448276], [Printed(9); 2]),
    (2, "φ_S", [LOWEST_ANGLE, 0.12], [Measured(5e-10), Rounding]),
    (3, "v, m/s", [-0.3759634, 0.0828310], [Measured(2e-7); 2]),
    (4, "ω_M, rad/s", [-11.4141088, 31.8560405], [Measured(1e-6); 2]),
    (5, "ω_S, rad/s", [-10.5037993, 17.6001560], [Printed(7), Measured(1e-6)]),
];

/// Period and descent of an independent implementation of the midpoint rule, by step: between the
/// steps in which the beak hits, mean of twenty cycles. Periods are multiples of a twentieth of the
/// step, and exact.
const BY_STEP: [(f64, f64, f64); 4] = [
    (3e-4, 0.1468200, 0.0199437378434),
    (1e-4, 0.1462550, 0.0196119203997),
    (1e-5, 0.1460020, 0.0194607054005),
    (1e-6, 0.1459773, 0.0194460),
];

/// Floquet multiplier of the cycle.
const MULTIPLIER: f64 = -0.839156;
/// Lowest angle of the bird.
const LOWEST_ANGLE: f64 = -0.529471967111;
/// Normal impulse of the beak, in N s.
pub(super) const BEAK_IMPULSE: f64 = 1.28450293e-3;

/// The nine events of a cycle: contact (from 0: beak, lower, upper sleeve), what it becomes, and
/// the time after the beak has hit.
pub(super) const EVENTS: [(usize, ContactMode, f64, &str); 9] = [
    (0, ContactMode::Impact, 0.0, "beak hits"),
    (2, ContactMode::Impact, 0.000579522, "upper sleeve hits, slips"),
    (2, ContactMode::Open, 0.002434212, "upper sleeve opens"),
    (1, ContactMode::Impact, 0.037722623, "lower sleeve hits, separates"),
    (1, ContactMode::Impact, 0.040451357, "lower sleeve hits, slips"),
    (1, ContactMode::Stick, 0.086571479, "lower sleeve jams"),
    (1, ContactMode::Slip, 0.126164886, "lower sleeve slips"),
    (1, ContactMode::Open, 0.131985643, "lower sleeve opens"),
    (2, ContactMode::Impact, 0.142874711, "upper sleeve hits, separates"),
];

/// States of an independent implementation of the same rule, at Δt = 1e-4.
const STATES: [(f64, [f64; 6]); 2] = [
    (0.05, [-0.004407467745, -0.1036, -0.392981586347, 0.0, 0.0, 14.667583730228]),
    (0.1, [-0.007094524535, 0.022166321270, 0.008792454468, -0.071520694709, -4.636980467935, -5.804023655487]),
];

/// Step at which events are listed and figures drawn.
const FIGURE_STEP: f64 = 1e-5;
/// Where the section lies.
const SECTION: f64 = -0.45;
/// Cycles of a run, how many of the first are left out and how many are then averaged: the
/// multiplier is close to -1, so the cycle is approached slowly.
const CYCLES: f64 = 36.0;
const LEFT_OUT: usize = 14;
const AVERAGED: usize = 20;
/// Rounding of some ten thousand steps, in metres.
const RULE_ROUNDING: f64 = 2e-12;
/// A contact that opens within this many steps after its impact has separated in it.
const SEPARATES_WITHIN: f64 = 3.5;

/// A passage through the section.
struct Crossing {
    t: f64,
    height: f64,
    omega: f64,
}

/// An event of a contact, numbered from 0: beak, lower, upper sleeve.
struct PeckEvent {
    contact: usize,
    to: ContactMode,
    t: f64,
    /// First coordinate at the end of its step, in m.
    height: f64,
    impulse: f64,
}

/// A long run.
#[derive(Default)]
struct PeckRun {
    crossings: Vec<Crossing>,
    events: Vec<PeckEvent>,
    /// The last states.
    tail: Vec<State>,
    /// Unknowns of the largest problem (33).
    largest: usize,
}

/// The relay of the paper, (33).
fn relay() -> ContactMethod {
    ContactMethod::PlanarRelay(PlanarRelaySettings::default())
}

/// The midpoint rule from a state, for some time.
fn peck_from(
    toy: &Woodpecker,
    method: ContactMethod,
    start: State,
    (h, duration): (f64, f64),
) -> Result<Simulation, ReproduceError> {
    let grid = (h, start.t + duration);
    simulation(toy.system(), &scheme("moreau-midpoint"), method, start, grid)
}

/// The toy without its beak, which \[GS05\] §4 says to work as well: one so short that it reaches
/// the pole nowhere.
pub(super) fn beakless() -> Woodpecker {
    Woodpecker { beak_length: 0.0, ..Default::default() }
}

/// Where a step passes the section upwards, by linear interpolation.
fn crossing(before: &State, after: &State) -> Option<Crossing> {
    if !(before.q[2] < SECTION && after.q[2] >= SECTION) {
        return None;
    }
    let share = (SECTION - before.q[2]) / (after.q[2] - before.q[2]);
    let between = |a: f64, b: f64| a + share * (b - a);
    Some(Crossing {
        t: between(before.t, after.t),
        height: between(before.q[0], after.q[0]),
        omega: between(before.v[2], after.v[2]),
    })
}

fn peck(rows: &mut Rows, toy: &Woodpecker, h: f64) -> Result<PeckRun, ReproduceError> {
    let mut simulation = peck_from(toy, relay(), Woodpecker::start(), (h, CYCLES * PERIOD))?;
    let end = simulation.grid().end;
    let (mut run, mut tracker, mut events) = (PeckRun::default(), ModeTracker::default(), Vec::new());
    let mut last_impact = [f64::NEG_INFINITY; 3];
    let mut last_push = [f64::NEG_INFINITY; 3];
    rows.run(&mut simulation, |s, _| {
        let (before, step) = (s.before(), s.last_step());
        run.largest = step.report.solves.iter().fold(run.largest, |largest, solve| largest.max(solve.size));
        run.crossings.extend(crossing(before, s.state()));
        events.clear();
        tracker.observe(before, step, &mut events);
        for event in &events {
            let contact = event.contact.feature as usize;
            let follows_impact = event.t - last_impact[contact] < SEPARATES_WITHIN * h;
            match event.to {
                ContactMode::Impact => last_impact[contact] = event.t,
                // What an impact turns into belongs to it.
                _ if follows_impact => continue,
                _ => {}
            }
            // A contact opens when its force ends. Its gap grows with the third power of time, and
            // is seen only later.
            let t = if event.to == ContactMode::Open { last_push[contact] } else { event.t };
            let height = step.state.q[0];
            run.events.push(PeckEvent { contact, to: event.to, t, height, impulse: event.impulse });
        }
        for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
            if impulse.normal > 0.0 {
                last_push[contact.id.feature as usize] = step.state.t;
            }
        }
        if s.state().t > end - 2.0 * PERIOD {
            run.tail.push(s.state().clone());
        }
    })?;
    Ok(run)
}

impl PeckRun {
    /// Mean over the last cycles of what changes between two crossings.
    fn mean_change(&self, value: impl Fn(&Crossing) -> f64) -> f64 {
        let last = self.crossings.len() - 1;
        (value(&self.crossings[last]) - value(&self.crossings[last - AVERAGED])) / AVERAGED as f64
    }

    /// Where among the events a contact becomes something.
    fn places(&self, contact: usize, to: ContactMode) -> Vec<usize> {
        let is_one = |i: &usize| (self.events[*i].contact, self.events[*i].to) == (contact, to);
        (0..self.events.len()).filter(is_one).collect()
    }

    /// Period and descent from beak to beak, over the cycles that count.
    fn beak_to_beak(&self) -> (f64, f64) {
        let hits = self.places(0, ContactMode::Impact);
        let (Some(first), Some(last)) = (hits.get(LEFT_OUT), hits.get(LEFT_OUT + AVERAGED)) else {
            return (f64::NAN, f64::NAN);
        };
        let (first, last) = (&self.events[*first], &self.events[*last]);
        ((last.t - first.t) / AVERAGED as f64, (first.height - last.height) / AVERAGED as f64)
    }

    /// Period from jam to jam of the lower sleeve, over the last cycles.
    fn jam_to_jam(&self) -> f64 {
        let jams = self.places(1, ContactMode::Stick);
        let Some(before) = jams.len().checked_sub(AVERAGED + 1) else { return f64::NAN };
        (self.events[jams[jams.len() - 1]].t - self.events[jams[before]].t) / AVERAGED as f64
    }

    /// The events of each of the last cycles, from one hit of the beak to the next.
    fn cycles(&self) -> Vec<&[PeckEvent]> {
        let hits = self.places(0, ContactMode::Impact);
        let skipped = hits.len().saturating_sub(AVERAGED + 1);
        hits[skipped..].windows(2).map(|pair| &self.events[pair[0]..pair[1]]).collect()
    }
}

/// The return map: from $\omega_S$ on the section to that at the next passage, with the verdict on
/// the way.
fn return_map(omega: f64, h: f64) -> Result<(f64, Verdict), ReproduceError> {
    let toy = Woodpecker::default();
    let closed = -(toy.sleeve_radius - toy.pole_radius) / toy.sleeve_half_height;
    let start = State::new(0.0, vec![0.0, closed, SECTION], vec![0.0, 0.0, omega]);
    let mut simulation = peck_from(&toy, relay(), start, (h, 3.0 * PERIOD))?;
    let mut auditor = Auditor::default();
    while !simulation.is_finished() {
        simulation.step().map_err(Box::new)?;
        auditor.observe(&simulation);
        if let Some(crossing) = crossing(simulation.before(), simulation.state()) {
            return Ok((crossing.omega, auditor.verdict()));
        }
    }
    Ok((f64::NAN, auditor.verdict()))
}

/// Slope of the return map at its fixed point, by a straight line through many points: the steps
/// blur each of them a little.
fn multiplier(rows: &mut Rows, fixed_point: f64) -> Result<f64, ReproduceError> {
    const POINTS: usize = 60;
    const HALF_WIDTH: f64 = 0.15;
    const STEP: f64 = 2e-6;
    let (mut covariance, mut variance) = (0.0, 0.0);
    for i in 0..POINTS {
        let offset = HALF_WIDTH * (2.0 * (i as f64 + 0.5) / POINTS as f64 - 1.0);
        let (omega, verdict) = return_map(fixed_point + offset, STEP)?;
        covariance += offset * (omega - fixed_point);
        variance += offset * offset;
        rows.join(verdict);
    }
    Ok(covariance / variance)
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    let names = ["y, m", "φ_M", "φ_S", "v, m/s", "ω_M, rad/s", "ω_S, rad/s"];
    for (t, expected) in STATES {
        let mut simulation = peck_from(&Woodpecker::default(), relay(), Woodpecker::start(), (1e-4, t))?;
        rows.run(&mut simulation, |_, _| {})?;
        let state = simulation.state();
        let of = |name: &str| format!("{name} at t = {t} s, Δt = 1e-4");
        rows.add_each(of, &names, &expected, &[&state.q[..], &state.v].concat(), Printed(12));
    }

    let mut runs = Vec::new();
    for &h in rows.full_or(&[3e-4, 1e-4, 3e-5, 1e-5, 1e-6][..], &[3e-4, 1e-4, 3e-5]) {
        rows.progress(format!("limit cycle, Δt = {h:e}"));
        runs.push((h, peck(rows, &Woodpecker::default(), h)?));
    }
    let mut errors = Vec::new();
    for (h, run) in &runs {
        let period = run.mean_change(|crossing| crossing.t);
        errors.push((*h, (period - PERIOD).abs()));
        // The rule is of order one: what it misses is about 2.8 Δt, and as much of the descent at
        // the mean speed.
        rows.add(format!("period, s, Δt = {h:e}"), PERIOD, period, Measured(3.5 * h));
        let descent = -run.mean_change(|crossing| crossing.height);
        let quantity = format!("descent per cycle, m, Δt = {h:e}");
        rows.add(quantity, DESCENT, descent, Measured(20.0 * MEAN_SPEED * h));
        if let Some((_, other_period, other_descent)) = BY_STEP.into_iter().find(|(step, ..)| step == h) {
            let (period, descent) = run.beak_to_beak();
            rows.add(format!("period of the rule, s, Δt = {h:e}"), other_period, period, Rounding);
            let tolerance = if *h < FIGURE_STEP { Printed(7) } else { Measured(RULE_ROUNDING) };
            rows.add(format!("descent of the rule, m, Δt = {h:e}"), other_descent, descent, tolerance);
        }
    }
    // The smallest step only for its period: the cycle is the same to what a figure shows.
    let (step, finest) = runs.iter().rfind(|(h, _)| *h >= FIGURE_STEP).expect("coarse steps are there");
    rows.add_between("unknowns of the largest problem (33)", (3.0, 6.0), finest.largest as f64);
    let of_cycles = rows.verdict.clone();
    add_variants(rows)?;
    if !rows.is_quick {
        rows.verdict = of_cycles;
        rows.add_between("order of the period", (0.8, 1.4), fitted_order(&errors));
        add_cycle(rows, finest)?;
    }
    rows.progress("event-driven");
    event_driven::add_woodpecker(rows)?;
    figure(rows, finest, *step);
    Ok(())
}

/// What the paper says beside: (33) with Δt = 0 on the velocities of Table I, the alternation in
/// place of (33), the toy without its beak.
fn add_variants(rows: &mut Rows) -> Result<(), ReproduceError> {
    let (toy, start) = (Woodpecker::default(), Woodpecker::start());
    let consistent = consistent_start(&toy.system(), &start, &mut ContactSolver::new(relay())?, 0.0);
    let change = largest_difference(&start.v, &consistent.map_err(Box::new)?.v);
    rows.add("change of the velocities of Table I by (33) with Δt = 0", 0.0, change, Exact);

    rows.progress("alternation of normal and tangential problems");
    let (t, expected) = STATES[1];
    let alternating = ContactMethod::Alternating(AlternatingSettings::default());
    let mut simulation = peck_from(&toy, alternating, start, (1e-4, t))?;
    let mut fallen_back = 0.0;
    rows.run(&mut simulation, |s, _| fallen_back += f64::from(s.last_step().report.rung.is_some()))?;
    let state = simulation.state();
    let error = largest_difference(state.q.iter().chain(&state.v), &expected);
    rows.add(format!("error at t = {t} s by the alternation, Δt = 1e-4"), 0.0, error, Measured(1e-10));
    rows.add("steps that the alternation leaves to another method", 0.0, fallen_back, Exact);

    for &h in rows.full_or(&[1e-4, 1e-5][..], &[]) {
        rows.progress(format!("without the beak, Δt = {h:e}"));
        let period = peck(rows, &beakless(), h)?.jam_to_jam();
        let quantity = format!("period without the beak, s, Δt = {h:e}");
        rows.add(quantity, BEAKLESS_PERIOD_LOCATED, period, Measured(3.5 * h));
    }
    Ok(())
}

/// Events and multiplier of the limit cycle at Δt = 1e-5.
fn add_cycle(rows: &mut Rows, finest: &PeckRun) -> Result<(), ReproduceError> {
    // The order of the events in every one of the last cycles, and their mean times.
    let in_order = |cycle: &&[PeckEvent]| {
        let found = cycle.iter().map(|event| (event.contact, event.to));
        found.eq(EVENTS.iter().map(|(contact, to, ..)| (*contact, *to)))
    };
    let good: Vec<_> = finest.cycles().into_iter().filter(in_order).collect();
    rows.add("cycles with the nine events in order, Δt = 1e-5", AVERAGED as f64, good.len() as f64, Exact);
    let mean =
        |value: &dyn Fn(&[PeckEvent]) -> f64| good.iter().map(|cycle| value(cycle)).sum::<f64>() / good.len() as f64;
    for (i, (_, _, time, name)) in EVENTS.iter().enumerate().skip(1) {
        let computed = mean(&|cycle| cycle[i].t - cycle[0].t);
        // What the rule misses grows over the cycle.
        let steps = if *time < 0.01 { 1.0 } else { 3.5 };
        rows.add(format!("{name}, s after the beak, Δt = 1e-5"), *time, computed, Measured(steps * FIGURE_STEP));
    }
    let impulse = mean(&|cycle| cycle[0].impulse);
    rows.add("normal impulse of the beak, N s, Δt = 1e-5", BEAK_IMPULSE, impulse, Measured(0.002 * BEAK_IMPULSE));
    let lowest = finest.tail.iter().fold(f64::INFINITY, |lowest, state| lowest.min(state.q[2]));
    rows.add("lowest φ_S, Δt = 1e-5", LOWEST_ANGLE, lowest, Measured(1e-3));

    rows.progress("multiplier of the return map");
    let last = &finest.crossings[finest.crossings.len() - AVERAGED..];
    let slope = multiplier(rows, last.iter().map(|crossing| crossing.omega).sum::<f64>() / AVERAGED as f64)?;
    rows.add("Floquet multiplier", MULTIPLIER, slope, Measured(0.01 * MULTIPLIER.abs()));
    Ok(())
}

/// Figures 4 to 6 of the paper: angles and velocities over two cycles, and the limit cycle in the
/// phase plane.
fn figure(rows: &mut Rows, run: &PeckRun, step: f64) {
    let begin = run.tail.first().map_or(0.0, |state| state.t);
    let over_time = |value: &dyn Fn(&State) -> f64| -> Curve {
        run.tail.iter().map(|state| (state.t - begin, value(state))).collect()
    };
    let panel =
        |title: &str, x_label: &str, y_label: &str, points| panel(title, x_label, y_label, vec![curve("", points)]);
    let parts = [("woodpecker", 2, "S", "Figure 4"), ("sleeve", 1, "M", "Figure 5")];
    let labels = |symbol: &str| (format!("φ_{symbol}, rad"), format!("ω_{symbol}, rad/s"));
    let mut panels = Vec::new();
    for (name, index, symbol, figure) in parts {
        let (angle, velocity) = labels(symbol);
        let title = |what: &str| format!("{figure}: {name}, {what}");
        panels.push(panel(&title("angle"), "time, s", &angle, over_time(&|state| state.q[index])));
        panels.push(panel(&title("velocity"), "time, s", &velocity, over_time(&|state| state.v[index])));
    }
    for (name, index, symbol, _) in parts {
        let (angle, velocity) = labels(symbol);
        let points: Curve = run.tail.iter().map(|state| (state.q[index], state.v[index])).collect();
        let range = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), (x, _)| (x.min(a), x.max(b)));
        // The cycle runs along its ends, which must not lie on the axis.
        let margin = 0.04 * (range.1 - range.0);
        let cycle = panel(&format!("Figure 6: limit cycle of the {name}"), &angle, &velocity, points);
        panels.push(Panel { x_range: Some((range.0 - margin, range.1 + margin)), ..cycle });
    }
    let subtitle =
        format!("Glocker and Studer 2005, Figures 4 to 6; midpoint rule, Δt = {step:e}, two cycles after 34 others");
    rows.figure("woodpecker", "The woodpecker toy", subtitle, (2, 1000, 1000), panels);
}

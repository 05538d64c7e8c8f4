//! The same experiments by the event-driven scheme, to the digits of their references.

use stiction_dynamics::reference::{DoublePendulum, FreeTop, Rod, Woodpecker};
use stiction_dynamics::{Contact, ContactMode, Event, ImpactLaw, ModeTracker, Restitution};

use super::*;

/// Cycles of the woodpecker after which its start is forgotten: each leaves 0.84 of the distance
/// from the limit cycle.
const CYCLES: f64 = 120.0;

/// Step at which the extremes of a cycle are looked for, in seconds.
const LOOKING_STEP: f64 = 1e-5;

/// What a run leaves.
#[derive(Default)]
struct Located {
    events: Vec<Event>,
    /// First coordinate at the events.
    heights: Vec<f64>,
    impacts: Vec<Jump>,
    /// Energy that normal forces and friction took in steps of no length, and in the phases after
    /// them, in joules; the first phase has no impact before it.
    lost: Vec<[f64; 2]>,
    /// Least and largest value of the coordinates, then of the velocities.
    ranges: Vec<(f64, f64)>,
    end: State,
    /// Change of the energy in all steps that no cause explains, in joules.
    unexplained: f64,
}

/// An impact: its time, the velocities around it, and its impulses.
#[derive(Clone)]
struct Jump {
    t: f64,
    /// Coordinates.
    q: Vec<f64>,
    before: Vec<f64>,
    after: Vec<f64>,
    /// The contact with the largest impulse, and this impulse along the normal and the tangent.
    contact: Contact,
    impulse: [f64; 2],
}

impl Located {
    /// An impact; of one that did not happen, numbers that are not met.
    fn impact(&self, number: usize) -> Jump {
        let missing = vec![f64::NAN; self.end.v.len()];
        let none = || Jump {
            t: f64::NAN,
            q: missing.clone(),
            before: missing.clone(),
            after: missing.clone(),
            contact: Contact::default(),
            impulse: [f64::NAN; 2],
        };
        self.impacts.get(number).cloned().unwrap_or_else(none)
    }
}

fn run(
    rows: &mut Rows,
    system: impl MechanicalSystem + 'static,
    start: State,
    grid: (f64, f64),
) -> Result<Located, ReproduceError> {
    let ranges = start.q.iter().chain(&start.v).map(|x| (*x, *x)).collect();
    let mut located = Located { lost: vec![[0.0; 2]], ranges, ..Default::default() };
    let mut simulation = simulation(system, &scheme("event-driven"), ContactMethod::default(), start, grid)?;
    let mut tracker = ModeTracker::default();
    let audit = rows.run(&mut simulation, |s, certificate| {
        let step = s.last_step();
        tracker.observe(s.before(), step, &mut located.events);
        located.heights.resize(located.events.len(), s.before().q[0]);
        for state in step.samples.iter().map(|sample| &sample.state).chain([s.state()]) {
            let now = state.q.iter().chain(&state.v);
            located.ranges.iter_mut().zip(now).for_each(|(range, x)| *range = (range.0.min(*x), range.1.max(*x)));
        }
        if step.kind == StepKind::Impact {
            let contacts = step.contacts.iter().zip(&step.solution.contacts);
            let largest = contacts.max_by(|(_, a), (_, b)| a.normal.total_cmp(&b.normal));
            located.impacts.extend(largest.map(|(contact, impulse)| Jump {
                t: s.state().t,
                q: s.state().q.clone(),
                before: s.before().v.clone(),
                after: s.state().v.clone(),
                contact: contact.clone(),
                impulse: [impulse.normal, impulse.tangent[0]],
            }));
            located.lost.push([0.0; 2]);
        }
        let lost = located.lost.last_mut().expect("it begins with one");
        lost[usize::from(step.h > 0.0)] -= certificate.energy.normal + certificate.energy.friction;
    })?;
    Ok(Located { unexplained: audit.sum.energy.unexplained, end: simulation.state().clone(), ..located })
}

/// The event table of the rod.
pub(super) fn add_rod(rows: &mut Rows) -> Result<(), ReproduceError> {
    use rod::{VELOCITIES, exact};
    let found = run(rows, Rod::default(), Rod::start(), (0.01, 0.7))?;
    // Of times and places the table has eleven digits, of velocities and impulses nine.
    let of = |what: &str| format!("{what} (event-driven)");
    let [first, second] = [found.impact(0), found.impact(1)];
    for (which, impact, t, before, after) in [
        ("first", &first, exact::FIRST_IMPACT, exact::BEFORE_FIRST, exact::AFTER_FIRST),
        ("second", &second, exact::SECOND_IMPACT, exact::BEFORE_SECOND, exact::AFTER_SECOND),
    ] {
        rows.add(of(&format!("{which} impact, s")), t, impact.t, Printed(11));
        for (i, name) in VELOCITIES.into_iter().enumerate() {
            let [quantity_before, quantity_after] =
                ["before", "after"].map(|when| of(&format!("{when} the {which} impact: {name}")));
            rows.add(quantity_before, before[i], impact.before[i], Printed(9));
            rows.add(quantity_after, after[i], impact.after[i], Printed(9));
        }
    }
    let of_impulse = |name: &str| of(&format!("{name} impulse of the first impact, N s"));
    rows.add_each(of_impulse, &["normal", "tangential"], &exact::FIRST_IMPULSE, &first.impulse, Printed(9));
    let time = |event: Option<&Event>| event.map_or(f64::NAN, |event| event.t);
    let becomes = |from, to| move |event: &&Event| event.from == from && event.to == to;
    let slip = found.events.iter().find(becomes(ContactMode::Stick, ContactMode::Slip));
    rows.add(of("sticking turns to sliding, s"), exact::STICK_TO_SLIP, time(slip), Printed(11));
    let stop = found.events.iter().rev().find(becomes(ContactMode::Slip, ContactMode::Stick));
    rows.add(of("at rest, s"), exact::REST, time(stop), Printed(11));
    rows.add(of("x at rest, m"), exact::X_AT_REST, found.end.q[0], Printed(11));

    let lost = |phase: usize| found.lost.get(1 + phase / 2).map_or(f64::NAN, |lost| lost[phase % 2]);
    let lost = [0, 1, 2, 3].map(lost);
    let of_phase = |phase: &str| of(&format!("energy lost {phase}, J"));
    rows.add_each(of_phase, &rod::PHASES, &exact::ENERGY_LOST, &lost, Printed(6));
    rows.add(of("change of the energy that no cause explains, J"), 0.0, found.unexplained, Rounding);
    // The paradox of Painlevé: friction of the sliding contact makes its normal acceleration grow
    // with a force that presses.
    let Rod { mass, inertia, mu, .. } = Rod::default();
    let Jump { contact, before, .. } = first;
    let sign = contact.tangents.first().map_or(f64::NAN, |tangent| tangent.dot(&before).signum());
    let mut force = vec![0.0; 3];
    contact.normal.add_to(1.0, &mut force);
    contact.tangents.iter().for_each(|tangent| tangent.add_to(-mu * sign, &mut force));
    let acceleration = [force[0] / mass, force[1] / mass, force[2] / inertia];
    let paradox = contact.normal.dot(&acceleration);
    rows.add(of("n·M⁻¹(n − μt) of the first impact, 1/kg"), exact::PAINLEVE, paradox, Printed(2));
    Ok(())
}

/// Collisions and end of the double pendulum.
pub(super) fn add_double_pendulum(rows: &mut Rows) -> Result<(), ReproduceError> {
    use trapezoidal::{COLLIDING, COLLISIONS, PENDULUM_END, PENDULUM_END_VELOCITY, PENDULUM_ENERGY};
    let wall = Some(Restitution { law: ImpactLaw::Poisson, normal: 0.1, tangential: 0.0 });
    let system = DoublePendulum { gravity: 9.8, wall };
    let found = run(rows, system, DoublePendulum::start(), (0.05, 2.5))?;
    let (count, expected) = (found.impacts.len() as f64, COLLISIONS.len() as f64);
    rows.add("number of collisions (event-driven)", expected, count, Exact);
    for (i, (t, (bob, approach))) in COLLISIONS.into_iter().zip(COLLIDING).enumerate() {
        let of = |what: &str| format!("collision {}{what} (event-driven)", i + 1);
        let impact = found.impact(i);
        rows.add(of(", s"), t, impact.t, Measured(1e-11));
        // The bob that is at the wall.
        let hits = usize::from(impact.q[0].abs() >= impact.q[2].abs());
        rows.add(of(": bob"), f64::from(bob), (hits + 1) as f64, Exact);
        rows.add(of(": velocity of the bob before, m/s"), approach, impact.before[2 * hits], Printed(9));
    }
    for (i, name) in ["x₁", "y₁", "x₂", "y₂"].into_iter().enumerate() {
        rows.add(format!("{name} at 2.5 s, m (event-driven)"), PENDULUM_END[i], found.end.q[i], Rounding);
        let quantity = format!("velocity of {name} at 2.5 s, m/s (event-driven)");
        rows.add(quantity, PENDULUM_END_VELOCITY[i], found.end.v[i], Rounding);
    }
    rows.add("energy at 2.5 s, J (event-driven)", PENDULUM_ENERGY, system.energy(&found.end), Rounding);
    Ok(())
}

/// The end of the free top.
pub(super) fn free_top_end(rows: &mut Rows) -> Result<State, ReproduceError> {
    Ok(run(rows, FreeTop::default(), FreeTop::start(), (1.0, 10.0))?.end)
}

/// The limit cycle of the woodpecker.
pub(super) fn add_woodpecker(rows: &mut Rows) -> Result<(), ReproduceError> {
    use woodpecker::{BEAK_IMPULSE, DESCENT, EVENTS, MEAN_SPEED, PERIOD, RANGES};
    let end = CYCLES * PERIOD;
    let found = run(rows, Woodpecker::default().system(), Woodpecker::start(), (0.01, end))?;
    let events = &found.events;
    let is_hit = |event: &Event| event.contact.feature == 0 && event.to == ContactMode::Impact;
    let hits: Vec<usize> = (0..events.len()).filter(|&i| is_hit(&events[i])).collect();
    let &[.., first, last] = hits.as_slice() else {
        rows.add("beaks that hit (event-driven)", CYCLES, hits.len() as f64, Measured(1.0));
        return Ok(());
    };
    let of = |what: &str| format!("{what} (event-driven)");
    let (period, descent) = (events[last].t - events[first].t, found.heights[first] - found.heights[last]);
    rows.add(of("period, s"), PERIOD, period, Measured(2e-12));
    rows.add(of("descent per cycle, m"), DESCENT, descent, Measured(2e-12));
    rows.add(of("mean speed, m/s"), MEAN_SPEED, descent / period, Measured(3e-12));
    rows.add(of("normal impulse of the beak, N s"), BEAK_IMPULSE, events[first].impulse, Measured(1e-12));
    let mut rest = &events[first..last];
    for (contact, to, t, name) in EVENTS.into_iter().skip(1) {
        let place = rest.iter().position(|event| event.contact.feature as usize == contact && event.to == to);
        let computed = place.map_or(f64::NAN, |place| rest[place].t - events[first].t);
        rest = &rest[place.map_or(rest.len(), |place| place + 1)..];
        rows.add(of(&format!("{name}, s after the beak")), t, computed, Printed(9));
    }
    add_beakless(rows)?;
    if rows.is_quick {
        return Ok(());
    }
    // One more cycle, looked at often enough to see its extremes: between its samples the digits of
    // the reference are the same.
    let cycle = run(rows, Woodpecker::default().system(), found.end.clone(), (LOOKING_STEP, end + PERIOD))?;
    for (k, name, references, tolerances) in RANGES {
        let (least, largest) = cycle.ranges[k];
        for (i, (which, computed)) in [("least", least), ("largest", largest)].into_iter().enumerate() {
            rows.add(of(&format!("{which} {name}")), references[i], computed, tolerances[i]);
        }
    }
    Ok(())
}

/// The limit cycle without the beak, from jam to jam of the lower sleeve.
fn add_beakless(rows: &mut Rows) -> Result<(), ReproduceError> {
    let end = CYCLES * woodpecker::BEAKLESS_PERIOD;
    let found = run(rows, woodpecker::beakless().system(), Woodpecker::start(), (0.01, end))?;
    let is_jam = |event: &Event| event.contact.feature == 1 && event.to == ContactMode::Stick;
    let jams: Vec<f64> = found.events.iter().filter(|event| is_jam(event)).map(|event| event.t).collect();
    let period = jams.windows(2).last().map_or(f64::NAN, |pair| pair[1] - pair[0]);
    rows.add("period without the beak, s (event-driven)", woodpecker::BEAKLESS_PERIOD, period, Printed(6));
    let hits = found.events.iter().filter(|event| event.contact.feature == 0).count();
    rows.add("events of the beak that is not there (event-driven)", 0.0, hits as f64, Exact);
    Ok(())
}

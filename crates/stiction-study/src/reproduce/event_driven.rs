//! The same experiments by the event-driven scheme, to the digits of their references.

use stiction_dynamics::reference::{DoublePendulum, FreeTop, Rod, Woodpecker};
use stiction_dynamics::{
    Contact, ContactMethod, ContactMode, ContactSolver, Event, EventDriven, EventDrivenSettings, ImpactLaw,
    MechanicalSystem, ModeTracker, Restitution, Simulation, State, StepAudit, StepKind, TimeGrid,
};

use super::{
    Auditor, Effort, Exact, Measured, Printed, ReproduceError, Rounding, Rows, Tolerance, Verdict, rod, trapezoidal,
    woodpecker,
};

/// Cycles of the woodpecker after which its start is forgotten: each leaves 0.84 of the distance from the limit cycle.
const CYCLES: f64 = 120.0;

/// Step at which the extremes of a cycle are looked for, in seconds.
const LOOKING_STEP: f64 = 1e-5;

/// What a run leaves.
struct Located {
    events: Vec<Event>,
    /// First coordinate at the events.
    heights: Vec<f64>,
    impacts: Vec<Jump>,
    /// Energy that normal forces and friction took in steps of no length, and in the phases after them, in joules; the first phase has no impact before
    /// it.
    lost: Vec<[f64; 2]>,
    /// Least and largest value of the coordinates, then of the velocities.
    ranges: Vec<(f64, f64)>,
    end: State,
    /// Change of the energy in all steps that no cause explains, in joules.
    unexplained: f64,
    verdict: Verdict,
}

/// An impact: its time, the velocities around it, and its impulses.
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

impl Jump {
    /// An impact that did not happen, so that its numbers are not met.
    fn none(coordinates: usize) -> Self {
        let missing = vec![f64::NAN; coordinates];
        Self {
            t: f64::NAN,
            q: missing.clone(),
            before: missing.clone(),
            after: missing,
            contact: Contact::default(),
            impulse: [f64::NAN; 2],
        }
    }
}

fn run(
    system: impl MechanicalSystem + 'static,
    start: State,
    (step, end): (f64, f64),
) -> Result<Located, ReproduceError> {
    let solver = ContactSolver::new(ContactMethod::default())?;
    let scheme = Box::new(EventDriven::new(EventDrivenSettings::default(), solver));
    let mut simulation =
        Simulation::new(Box::new(system), scheme, start.clone(), TimeGrid { start: start.t, end, step });
    let mut tracker = ModeTracker::default();
    let mut located = Located {
        events: Vec::new(),
        heights: Vec::new(),
        impacts: Vec::new(),
        lost: vec![[0.0; 2]],
        ranges: start.q.iter().chain(&start.v).map(|x| (*x, *x)).collect(),
        end: start,
        unexplained: f64::NAN,
        verdict: Verdict::default(),
    };
    let observe = |s: &Simulation, certificate: &StepAudit| {
        let step = s.last_step();
        tracker.observe(s.before(), step, &mut located.events);
        located.heights.resize(located.events.len(), s.before().q[0]);
        for state in step.samples.iter().map(|sample| &sample.state).chain([s.state()]) {
            let now = state.q.iter().chain(&state.v);
            located.ranges.iter_mut().zip(now).for_each(|(range, x)| *range = (range.0.min(*x), range.1.max(*x)));
        }
        let lost = -certificate.energy.normal - certificate.energy.friction;
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
        located.lost.last_mut().expect("it begins with one")[usize::from(step.h > 0.0)] += lost;
    };
    let (verdict, audit) = Auditor::default().run(&mut simulation, observe)?;
    (located.verdict, located.unexplained) = (verdict, audit.sum.energy.unexplained);
    located.end.clone_from(simulation.state());
    Ok(located)
}

/// The event table of the rod.
pub(super) fn add_rod(rows: &mut Rows) -> Result<(), ReproduceError> {
    let found = run(Rod::default(), Rod::start(), (0.01, 0.7))?;
    rows.fed_by(&found.verdict);
    // Of times and places the table has eleven digits, of velocities nine.
    let mut add = |what: &str, reference: f64, computed: f64| {
        let decimals = if what.ends_with("/s") || what.ends_with("N s") { 9 } else { 11 };
        rows.add(format!("{what} (event-driven)"), reference, computed, Printed(decimals));
    };
    let nothing = Jump::none(3);
    let impact = |number: usize| found.impacts.get(number).unwrap_or(&nothing);
    let names = ["x velocity, m/s", "y velocity, m/s", "angular velocity, rad/s"];
    use rod::exact;
    let table = [
        ("first", exact::FIRST_IMPACT, exact::BEFORE_FIRST, exact::AFTER_FIRST),
        ("second", exact::SECOND_IMPACT, exact::BEFORE_SECOND, exact::AFTER_SECOND),
    ];
    for (number, (which, t, before, after)) in table.into_iter().enumerate() {
        let impact = impact(number);
        add(&format!("{which} impact, s"), t, impact.t);
        for (i, name) in names.into_iter().enumerate() {
            add(&format!("before the {which} impact: {name}"), before[i], impact.before[i]);
            add(&format!("after the {which} impact: {name}"), after[i], impact.after[i]);
        }
    }
    for (i, name) in ["normal", "tangential"].into_iter().enumerate() {
        add(&format!("{name} impulse of the first impact, N s"), exact::FIRST_IMPULSE[i], impact(0).impulse[i]);
    }
    let time = |event: Option<&Event>| event.map_or(f64::NAN, |event| event.t);
    let becomes = |from, to| move |event: &&Event| event.from == from && event.to == to;
    let slip = found.events.iter().find(becomes(ContactMode::Stick, ContactMode::Slip));
    add("sticking turns to sliding, s", exact::STICK_TO_SLIP, time(slip));
    let stop = found.events.iter().rev().find(becomes(ContactMode::Slip, ContactMode::Stick));
    add("at rest, s", exact::REST, time(stop));
    add("x at rest, m", exact::X_AT_REST, found.end.q[0]);

    // Energies have six digits.
    let lost = |phase: usize| found.lost.get(1 + phase / 2).map_or(f64::NAN, |lost| lost[phase % 2]);
    for (i, phase) in rod::PHASES.into_iter().enumerate() {
        let quantity = format!("energy lost {phase}, J (event-driven)");
        rows.add(quantity, exact::ENERGY_LOST[i], lost(i), Printed(6));
    }
    let quantity = "change of the energy that no cause explains, J (event-driven)";
    rows.add(quantity, 0.0, found.unexplained, Rounding);
    // The paradox of Painlevé: friction of the sliding contact makes its normal acceleration grow with a force that presses.
    let Rod { mass, inertia, mu, .. } = Rod::default();
    let Jump { contact, before, .. } = impact(0);
    let sign = contact.tangents.first().map_or(f64::NAN, |tangent| tangent.dot(before).signum());
    let mut force = vec![0.0; 3];
    contact.normal.add_to(1.0, &mut force);
    contact.tangents.iter().for_each(|tangent| tangent.add_to(-mu * sign, &mut force));
    let acceleration = [force[0] / mass, force[1] / mass, force[2] / inertia];
    let quantity = "n·M⁻¹(n − μt) of the first impact, 1/kg (event-driven)";
    rows.add(quantity, exact::PAINLEVE, contact.normal.dot(&acceleration), Printed(2));
    Ok(())
}

/// Collisions and end of the double pendulum.
pub(super) fn add_double_pendulum(rows: &mut Rows) -> Result<(), ReproduceError> {
    let wall = Some(Restitution { law: ImpactLaw::Poisson, normal: 0.1, tangential: 0.0 });
    let system = DoublePendulum { gravity: 9.8, wall };
    let found = run(system, DoublePendulum::start(), (0.05, 2.5))?;
    rows.fed_by(&found.verdict);
    let count = found.impacts.len() as f64;
    rows.add("number of collisions (event-driven)", trapezoidal::COLLISIONS.len() as f64, count, Exact);
    let nothing = Jump::none(4);
    for (i, t) in trapezoidal::COLLISIONS.into_iter().enumerate() {
        let (bob, approach) = trapezoidal::COLLIDING[i];
        let Jump { t: computed, q, before, .. } = found.impacts.get(i).unwrap_or(&nothing);
        rows.add(format!("collision {}, s (event-driven)", i + 1), t, *computed, Measured(1e-11));
        // The bob that is at the wall.
        let hits = if q[0].abs() < q[2].abs() { 1 } else { 2 };
        rows.add(format!("collision {}: bob (event-driven)", i + 1), f64::from(bob), f64::from(hits), Exact);
        let quantity = format!("collision {}: velocity of the bob before, m/s (event-driven)", i + 1);
        rows.add(quantity, approach, before[2 * (hits - 1) as usize], Printed(9));
    }
    for (i, (name, reference)) in ["x₁", "y₁", "x₂", "y₂"].into_iter().zip(trapezoidal::PENDULUM_END).enumerate()
    {
        rows.add(format!("{name} at 2.5 s, m (event-driven)"), reference, found.end.q[i], Rounding);
        let (quantity, reference) =
            (format!("velocity of {name} at 2.5 s, m/s (event-driven)"), trapezoidal::PENDULUM_END_VELOCITY[i]);
        rows.add(quantity, reference, found.end.v[i], Rounding);
    }
    let energy = system.energy(&found.end);
    rows.add("energy at 2.5 s, J (event-driven)", trapezoidal::PENDULUM_ENERGY, energy, Rounding);
    Ok(())
}

/// The end of the free top.
pub(super) fn free_top_end() -> Result<(State, Verdict), ReproduceError> {
    let found = run(FreeTop::default(), FreeTop::start(), (1.0, 10.0))?;
    Ok((found.end, found.verdict))
}

/// The limit cycle of the woodpecker.
pub(super) fn add_woodpecker(rows: &mut Rows, effort: Effort) -> Result<(), ReproduceError> {
    let end = CYCLES * woodpecker::PERIOD;
    let found = run(Woodpecker::default().system(), Woodpecker::start(), (0.01, end))?;
    rows.fed_by(&found.verdict);
    let events = &found.events;
    let is_hit = |event: &Event| event.contact.feature == 0 && event.to == ContactMode::Impact;
    let hits: Vec<usize> = (0..events.len()).filter(|&i| is_hit(&events[i])).collect();
    let &[.., first, last] = hits.as_slice() else {
        rows.add("beaks that hit (event-driven)", CYCLES, hits.len() as f64, Measured(1.0));
        return Ok(());
    };
    let add = |rows: &mut Rows, what: &str, reference: f64, computed: f64, tolerance: Tolerance| {
        rows.add(format!("{what} (event-driven)"), reference, computed, tolerance);
    };
    add(rows, "period, s", woodpecker::PERIOD, events[last].t - events[first].t, Measured(2e-12));
    add(rows, "descent per cycle, m", woodpecker::DESCENT, found.heights[first] - found.heights[last], Measured(2e-12));
    let speed = (found.heights[first] - found.heights[last]) / (events[last].t - events[first].t);
    add(rows, "mean speed, m/s", woodpecker::MEAN_SPEED, speed, Measured(3e-12));
    add(rows, "normal impulse of the beak, N s", woodpecker::BEAK_IMPULSE, events[first].impulse, Measured(1e-12));
    let mut rest = &events[first..last];
    for (contact, to, t, name) in woodpecker::EVENTS.into_iter().skip(1) {
        let place = rest.iter().position(|event| event.contact.feature as usize == contact && event.to == to);
        let computed = place.map_or(f64::NAN, |place| rest[place].t - events[first].t);
        rest = &rest[place.map_or(rest.len(), |place| place + 1)..];
        add(rows, &format!("{name}, s after the beak"), t, computed, Printed(9));
    }
    add_beakless(rows)?;
    if effort == Effort::Quick {
        return Ok(());
    }
    // One more cycle, looked at often enough to see its extremes: between its samples the digits of the reference are the same.
    let cycle = run(Woodpecker::default().system(), found.end.clone(), (LOOKING_STEP, end + woodpecker::PERIOD))?;
    rows.fed_by(&cycle.verdict);
    for (k, name, references, tolerances) in woodpecker::RANGES {
        let (least, largest) = cycle.ranges[k];
        for (i, (which, computed)) in [("least", least), ("largest", largest)].into_iter().enumerate() {
            add(rows, &format!("{which} {name}"), references[i], computed, tolerances[i]);
        }
    }
    Ok(())
}

/// The limit cycle without the beak, from jam to jam of the lower sleeve.
fn add_beakless(rows: &mut Rows) -> Result<(), ReproduceError> {
    let end = CYCLES * woodpecker::BEAKLESS_PERIOD;
    let found = run(woodpecker::beakless().system(), Woodpecker::start(), (0.01, end))?;
    rows.fed_by(&found.verdict);
    let is_jam = |event: &Event| event.contact.feature == 1 && event.to == ContactMode::Stick;
    let jams: Vec<f64> = found.events.iter().filter(|event| is_jam(event)).map(|event| event.t).collect();
    let period = jams.windows(2).last().map_or(f64::NAN, |pair| pair[1] - pair[0]);
    // The reference has six digits.
    let reference = woodpecker::BEAKLESS_PERIOD;
    rows.add("period without the beak, s (event-driven)", reference, period, Printed(6));
    let hits = found.events.iter().filter(|event| event.contact.feature == 0).count();
    rows.add("events of the beak that is not there (event-driven)", 0.0, hits as f64, Exact);
    Ok(())
}

//! The same experiments by the event-driven scheme, to the digits of their references.

use stiction_dynamics::reference::{DoublePendulum, Rod, Woodpecker};
use stiction_dynamics::{
    Audit, ContactMethod, ContactMode, ContactSolver, Event, EventDriven, EventDrivenSettings, ImpactLaw,
    MechanicalSystem, ModeTracker, Restitution, Simulation, State, StepKind, TimeGrid,
};

use super::{ReproduceError, Rows, rod, trapezoidal, woodpecker};

/// Cycles of the woodpecker after which its start is forgotten: each leaves 0.84 of the distance from the limit cycle.
const CYCLES: f64 = 120.0;

/// What a run leaves.
struct Located {
    events: Vec<Event>,
    /// First coordinate at the events.
    heights: Vec<f64>,
    impacts: Vec<Jump>,
    /// Energy that normal forces and friction took in steps of no length, and in the phases after them, in joules. The first phase has no impact before it.
    lost: Vec<[f64; 2]>,
    end: State,
}

/// An impact: its time, the velocities around it, and its impulses.
struct Jump {
    t: f64,
    before: Vec<f64>,
    after: Vec<f64>,
    /// Along the normal and the tangent, of the contact with the largest one.
    impulse: [f64; 2],
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
    let mut located =
        Located { events: Vec::new(), heights: Vec::new(), impacts: Vec::new(), lost: vec![[0.0; 2]], end: start };
    let mut audit = Audit::default();
    simulation
        .run_with(|s| {
            let step = s.last_step();
            tracker.observe(s.before(), step, &mut located.events);
            located.heights.resize(located.events.len(), s.before().q[0]);
            let is_impact = step.kind == StepKind::Impact;
            if is_impact {
                located.lost.push([0.0; 2]);
            }
            let energy = audit.observe(s.system(), s.scheme().contact_solver(), s.before(), step).energy;
            let lost = located.lost.len() - 1;
            located.lost[lost][usize::from(step.h > 0.0)] -= energy.normal + energy.friction;
            if is_impact {
                let contacts = &step.solution.contacts;
                let largest = contacts.iter().max_by(|a, b| a.normal.total_cmp(&b.normal));
                located.impacts.push(Jump {
                    t: s.state().t,
                    before: s.before().v.clone(),
                    after: s.state().v.clone(),
                    impulse: largest.map_or([f64::NAN; 2], |impulse| [impulse.normal, impulse.tangent[0]]),
                });
            }
        })
        .map_err(Box::new)?;
    located.end.clone_from(simulation.state());
    Ok(located)
}

/// The event table of the rod.
pub(super) fn add_rod(rows: &mut Rows) -> Result<(), ReproduceError> {
    let found = run(Rod::default(), Rod::start(), (0.01, 0.7))?;
    let mut add = |what: &str, reference: f64, computed: f64| {
        rows.add(format!("{what} (event-driven)"), None, Some(reference), computed, 1e-9);
    };
    let nothing = Jump { t: f64::NAN, before: vec![f64::NAN; 3], after: vec![f64::NAN; 3], impulse: [f64::NAN; 2] };
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
    let lost = |impact: usize, phase: usize| found.lost.get(impact).map_or(f64::NAN, |lost| lost[phase]);
    let losses = [lost(1, 0), lost(1, 1), lost(2, 0), lost(2, 1)];
    for (i, phase) in rod::PHASES.into_iter().enumerate() {
        let quantity = format!("energy lost {phase}, J (event-driven)");
        // The digits of the table.
        rows.add(quantity, None, Some(exact::ENERGY_LOST[i]), losses[i], 6e-7);
    }
    Ok(())
}

/// Collisions and end of the double pendulum.
pub(super) fn add_double_pendulum(rows: &mut Rows) -> Result<(), ReproduceError> {
    let wall = Some(Restitution { law: ImpactLaw::Poisson, normal: 0.1, tangential: 0.0 });
    let found = run(DoublePendulum { gravity: 9.8, wall }, DoublePendulum::start(), (0.05, 2.5))?;
    let count = found.impacts.len() as f64;
    rows.add("number of collisions (event-driven)", None, Some(trapezoidal::COLLISIONS.len() as f64), count, 0.0);
    for (i, t) in trapezoidal::COLLISIONS.into_iter().enumerate() {
        let computed = found.impacts.get(i).map_or(f64::NAN, |impact| impact.t);
        rows.add(format!("collision {}, s (event-driven)", i + 1), None, Some(t), computed, 1e-10);
    }
    for (i, (name, reference)) in ["x₁", "y₁", "x₂", "y₂"].into_iter().zip(trapezoidal::PENDULUM_END).enumerate()
    {
        rows.add(format!("{name} at 2.5 s, m (event-driven)"), None, Some(reference), found.end.q[i], 1e-10);
    }
    Ok(())
}

/// The limit cycle of the woodpecker.
pub(super) fn add_woodpecker(rows: &mut Rows) -> Result<(), ReproduceError> {
    let end = CYCLES * woodpecker::PERIOD;
    let found = run(Woodpecker::default().system(), Woodpecker::start(), (0.01, end))?;
    let events = &found.events;
    let is_hit = |event: &Event| event.contact.feature == 0 && event.to == ContactMode::Impact;
    let hits: Vec<usize> = (0..events.len()).filter(|&i| is_hit(&events[i])).collect();
    let &[.., first, last] = hits.as_slice() else {
        rows.add("beaks that hit (event-driven)", None, Some(CYCLES), hits.len() as f64, 1.0);
        return Ok(());
    };
    let mut add = |what: &str, reference: f64, computed: f64, tolerance: f64| {
        rows.add(format!("{what} (event-driven)"), None, Some(reference), computed, tolerance);
    };
    add("period, s", woodpecker::PERIOD, events[last].t - events[first].t, 1e-9);
    add("descent per cycle, m", woodpecker::DESCENT, found.heights[first] - found.heights[last], 1e-9);
    add("normal impulse of the beak, N s", woodpecker::BEAK_IMPULSE, events[first].impulse, 1e-11);
    let mut rest = &events[first..last];
    for (contact, to, t, name) in woodpecker::EVENTS.into_iter().skip(1) {
        let place = rest.iter().position(|event| event.contact.feature as usize == contact && event.to == to);
        let computed = place.map_or(f64::NAN, |place| rest[place].t - events[first].t);
        rest = &rest[place.map_or(rest.len(), |place| place + 1)..];
        add(&format!("{name}, s after the beak"), t, computed, 1e-8);
    }
    Ok(())
}

//! \[TTP01\] §2 and §3 at the start of its two problems: forces and accelerations of the instant,
//! and what Theorem 1 says of it. And what is seen of the steps of both.

use stiction_dynamics::existence::RestCondition;
use stiction_dynamics::{Instant, InstantContact, Step};

use super::*;

/// One step of a ball: its end, position, velocities, and what its contacts do.
pub(super) struct Sample {
    pub t: f64,
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    /// Mean forces of the contacts with the first and with the second body: normal, two tangents,
    /// torsion.
    pub forces: [[f64; 4]; 2],
    /// Largest sliding at the second one.
    pub slip: f64,
    /// Gaps at the end of the step.
    pub gaps: [f64; 2],
    pub iterations: usize,
    /// Unknowns of the last problem.
    pub size: usize,
}

/// Runs to the end; all its steps.
pub(super) fn samples(rows: &mut Rows, simulation: &mut Simulation) -> Result<Vec<Sample>, ReproduceError> {
    let mut samples = Vec::new();
    rows.run(simulation, |simulation, _| samples.push(sample(simulation.system(), simulation.last_step())))?;
    Ok(samples)
}

pub(super) fn sample(system: &dyn MechanicalSystem, step: &Step) -> Sample {
    let mut sample = Sample {
        t: step.state.t,
        q: step.state.q.clone(),
        v: step.state.v.clone(),
        forces: [[0.0; 4]; 2],
        slip: 0.0,
        gaps: [f64::INFINITY; 2],
        iterations: step.report.solves.iter().map(|solve| solve.iterations).sum(),
        size: step.solution.report.size,
    };
    let place = |body: u32| (body as usize).min(1);
    for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
        let number = place(contact.id.second);
        let [t, o, r] = impulse.tangent;
        sample.forces[number] = [impulse.normal, t, o, r].map(|c| c / step.h);
        if number == 1 && impulse.normal > 0.0 {
            sample.slip = contact.slip(&step.state.v).iter().fold(0.0, |slip, s| slip.max(s.abs()));
        }
    }
    let mut nearby = Vec::new();
    system.contacts(step.state.t, &step.state.q, f64::INFINITY, &mut nearby);
    nearby.iter().for_each(|contact| sample.gaps[place(contact.id.second)] = contact.gap);
    sample
}

/// A value of all samples over time.
pub(super) fn history(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Curve {
    samples.iter().map(|sample| (sample.t, value(sample))).collect()
}

/// Sliding slower than this is none, in m/s.
const STILL: f64 = 1e-12;

/// The instant at which a scene starts. Its contacts must touch, and their rows must not turn, as
/// where nothing moves, or only about a normal.
fn start_of(scene: &str) -> Result<Instant, ReproduceError> {
    let simulation = super::scene(scene, &[])?;
    let (system, state) = (simulation.system(), simulation.state());
    let mut instant = Instant { force: vec![0.0; state.v.len()], ..Default::default() };
    system.mass_matrix(state.t, &state.q, &mut instant.inertia);
    instant.inertia.factor()?;
    system.force(state.t, &state.q, &state.v, &mut instant.force);
    let mut contacts = Vec::new();
    system.contacts(state.t, &state.q, f64::INFINITY, &mut contacts);
    for contact in contacts {
        let (axes, slip) = (contact.friction.axes(), contact.slip(&state.v));
        let scaled: [f64; 3] = std::array::from_fn(|a| axes[a] * slip[a]);
        let speed = scaled.iter().map(|s| s * s).sum::<f64>().sqrt();
        let [t, o, r] = scaled.map(|s| s / speed);
        instant.contacts.push(InstantContact {
            id: contact.id,
            mu: contact.friction.mu(),
            semi_axes: Some(axes),
            sliding: (speed > STILL).then_some([t, o]),
            drilling: if speed > STILL { r } else { 0.0 },
            normal: contact.normal,
            tangents: contact.tangents,
            ..Default::default()
        });
    }
    Ok(instant)
}

/// The spinning ball of problem 1: (2) and (3) by hand are $c_r = -\mu e_r m g$ and
/// $\dot\omega = 2.5\, c_r$.
pub(super) fn add_spin(rows: &mut Rows) -> Result<(), ReproduceError> {
    let mut instant = start_of("sphere-spin")?;
    let solution = instant.solve_exact()?;
    rows.solved(&solution);
    rows.add("instant: moment, N m", -0.7848, solution.contacts[0].tangent[2], Rounding);
    rows.add("instant: angular acceleration, rad/s²", -1.962, solution.motion[5], Rounding);
    // Theorem 1 (A) at rest: 4 > μ² Σ w_a² e_a² A_aa for all unit vectors w, with the largest e_a²
    // A_aa = 3.5.
    instant.contacts[0].sliding = None;
    let bound = instant.existence()?.uniqueness_bound.unwrap_or(f64::NAN);
    // 2 / √3.5 = 1.069, less what a polyhedron around the ball costs.
    rows.add_between("Theorem 1 (A) at rest: friction with one motion only, up to", (0.99, 1.07), bound);
    Ok(())
}

/// Forces of a contact of the ball in the valley: normal, along the seam, across it, moment about
/// the normal.
pub(super) const FORCES: [&str; 4] =
    ["normal force, N", "force along the seam, N", "force across it, N", "moment, N m"];

/// The forces of the contacts of the valley. The system's tangent at the second contact points
/// along -x.
pub(super) fn forces(number: usize, normal: f64, tangent: [f64; 3]) -> [f64; 4] {
    let sign = if number == 1 { -1.0 } else { 1.0 };
    [normal, sign * tangent[0], sign * tangent[1], tangent[2]]
}

/// The ball in the valley at its start, where both contacts rest: forces of the reference, and (B)
/// of Theorem 1, because eight rows on six coordinates depend on each other.
pub(super) fn add_valley(rows: &mut Rows, expected: &[[f64; 4]; 2]) -> Result<(), ReproduceError> {
    let instant = start_of("sphere-valley")?;
    let said = instant.existence()?;
    let holds = f64::from(u8::from(said.rest == RestCondition::Holds && !said.is_definite));
    rows.add("Theorem 1 at the start: (B) holds where (A) does not apply", 1.0, holds, Exact);
    let solution = instant.solve_exact()?;
    rows.solved(&solution);
    for (number, (found, expected)) in solution.contacts.iter().zip(expected).enumerate() {
        let of = |name: &str| format!("instant of the start, contact {}: {name}", number + 1);
        rows.add_each(of, &FORCES, expected, &forces(number, found.normal, found.tangent), Printed(9));
    }
    Ok(())
}

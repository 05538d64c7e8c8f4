//! \[ST96\] §3.3: what steps do to the energy. The rule (20), the bound (24), and the loss in
//! flight.

use stiction_dynamics::families::{GRAVITY, RandomContacts, STEP};
use stiction_dynamics::{ContactProblem, Inertia};

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dissipation",
    title: "[ST96] what steps do to the energy: (20), (24), flight",
    remarks: &[
        "(24) as printed has kᵀq where the potential of a constant force is −kᵀq. With the printed sign the bound fails in more than a third of the random problems here; with the right one it holds in all, and what is missing at equality is Σ c_n gap/h.",
        "(20): a step changes the energy by V(q⁺) − V(q) − V′(q⁺)(q⁺ − q), which is never positive for a convex V and never negative for a concave one.",
        "In flight the scheme loses ½ m (g h)² in every step, of order h over a given time, as the text says.",
    ],
    run: reproduce,
};

/// A potential with its first two derivatives.
type Potential = fn(f64) -> [f64; 3];

fn convex(q: f64) -> [f64; 3] {
    [0.5 * q * q + 0.25 * q.powi(4), q + q.powi(3), 1.0 + 3.0 * q * q]
}

/// One step of (20) for a unit mass: $v^+ = v - h V'(q^+)$, $q^+ = q + \tfrac h2 (v + v^+)$, by
/// Newton's method.
fn rule_20(potential: Potential, [q, v]: [f64; 2], h: f64) -> [f64; 2] {
    let mut end = q + h * v;
    for _ in 0..50 {
        let [_, slope, curvature] = potential(end);
        // q⁺ - q - h v + h²/2 V′(q⁺) = 0.
        end -= (end - q - h * v + 0.5 * h * h * slope) / (1.0 + 0.5 * h * h * curvature);
    }
    [end, v - h * potential(end)[1]]
}

/// Least and largest change of the energy in a step of (20), and by how much it misses its formula.
fn changes_20(potential: Potential) -> [f64; 3] {
    let mut found = [f64::INFINITY, f64::NEG_INFINITY, 0.0f64];
    for h in [0.01, 0.05, 0.2] {
        for i in 0..40 {
            for j in 0..40 {
                let [q, v] = [i, j].map(|k| -1.95 + 0.1 * f64::from(k));
                let [end, speed] = rule_20(potential, [q, v], h);
                let (fall, slope) = (potential(end)[0] - potential(q)[0], potential(end)[1]);
                let change = 0.5 * (speed * speed - v * v) + fall;
                found[0] = found[0].min(change);
                found[1] = found[1].max(change);
                found[2] = found[2].max((change - (fall - slope * (end - q))).abs());
            }
        }
    }
    found
}

/// How far a solved problem is above the bound (24), with the potential $-k^T q$ and with the
/// printed $k^T q$, and what is missing at equality; relative to the kinetic energy.
fn bound_24(problem: &ContactProblem, solution: &ContactSolution) -> [f64; 3] {
    let u = &solution.motion;
    let kinetic = |inertia: &Inertia, v: &[f64]| {
        let mut momentum = vec![0.0; v.len()];
        inertia.apply(v, &mut momentum);
        0.5 * momentum.iter().zip(v).map(|(p, v)| p * v).sum::<f64>()
    };
    // Gravity acts along the third of the six coordinates of a body.
    let fall: Vec<f64> = (0..u.len()).map(|i| if i % 6 == 2 { -STEP * GRAVITY } else { 0.0 }).collect();
    let mut impulse = vec![0.0; u.len()];
    problem.inertia.apply(&fall, &mut impulse);
    let v: Vec<f64> = problem.free_motion.iter().zip(&fall).map(|(free, fall)| free - fall).collect();
    let change: Vec<f64> = u.iter().zip(&v).map(|(u, v)| u - v).collect();
    let power: f64 = impulse.iter().zip(u).map(|(p, u)| p * u).sum();
    let (mut friction, mut missing) = (0.0, 0.0);
    for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
        friction += contact.tangents.iter().zip(impulse.tangent).map(|(row, p)| p * row.dot(u)).sum::<f64>();
        missing += impulse.normal * contact.normal_bias;
    }
    let (before, after) = (kinetic(&problem.inertia, &v), kinetic(&problem.inertia, u));
    let right = before + friction - kinetic(&problem.inertia, &change);
    let scale = before.max(after);
    [(after - power - right) / scale, (after + power - right) / scale, missing / scale]
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("the rule (20)");
    let concave: Potential = |q| convex(q).map(|value| -value);
    let neither: Potential = |q| [-q.cos(), q.sin(), q.cos()];
    const INFINITY: f64 = f64::INFINITY;
    let [least, most, miss] = changes_20(convex);
    rows.add_between("(20), convex V = q²/2 + q⁴/4: largest change of the energy in a step, J", (-1e-3, 0.0), most);
    rows.add("(20), convex V: change of the energy against its formula, J", 0.0, miss, Rounding);
    rows.add_between("(20), convex V: least change of the energy in a step, J", (-INFINITY, -0.1), least);
    let [least, most, _] = changes_20(concave);
    rows.add_between("(20), concave V = −q²/2 − q⁴/4: least change of the energy in a step, J", (0.0, 1e-3), least);
    rows.add_between("(20), concave V: largest change of the energy in a step, J", (0.1, INFINITY), most);
    let [least, most, _] = changes_20(neither);
    rows.add_between("(20), V = −cos q: least change of the energy in a step, J", (-INFINITY, -1e-3), least);
    rows.add_between("(20), V = −cos q: largest change of the energy in a step, J", (1e-3, INFINITY), most);

    rows.progress("the bound (24)");
    let mut solver = ContactSolver::new(ContactMethod::default())?;
    let (mut cases, mut printed_fails) = (0, 0);
    let (mut excess, mut miss) = (f64::NEG_INFINITY, 0.0f64);
    for contact_count in [1, 2, 4, 8] {
        for seed in 0..250 {
            let family = RandomContacts { contact_count, gap_share: 0.7, kick: 1.0, ..Default::default() };
            let problem = family.problem(seed);
            let mut solution = ContactSolution::default();
            solver.solve(&problem, &mut solution)?;
            rows.solved(&solution);
            let [right, printed, missing] = bound_24(&problem, &solution);
            excess = excess.max(right);
            miss = miss.max((right + missing).abs());
            cases += 1;
            printed_fails += usize::from(printed > 1e-10);
        }
    }
    let sample = format!("{cases} random problems with gaps");
    rows.add_between(format!("(24) with −kᵀq: largest excess, relative ({sample})"), (-1.0, 1e-13), excess);
    let quantity = format!("(24) and Σ c_n gap/h: equality up to, relative ({sample})");
    rows.add(quantity, 0.0, miss, Rounding);
    let share = printed_fails as f64 / cases as f64;
    rows.add_between(format!("(24) with the printed kᵀq: share that violates it ({sample})"), (0.1, 0.9), share);

    rows.progress("the loss in flight");
    let mut series = Vec::new();
    for h in [0.01, 0.005, 0.0025] {
        let mut simulation = scene("rod", &[format!("run.step={h}"), "run.end=0.35".into()])?;
        let points = energy_changes(rows, &mut simulation)?;
        // The rod of 1 kg falls with 9.81 m/s².
        let quantity = format!("energy lost in 0.35 s of flight, J (linear, h = {h})");
        rows.add(quantity, 0.5 * 9.81 * 9.81 * h * 0.35, -points[points.len() - 1].1, Rounding);
        series.push(curve(format!("h = {h}"), points));
    }
    let title = "Energy that the steps take in flight: ½ m g² h t";
    let panels = vec![panel(title, "t, s", "change of the energy, J", series)];
    let subtitle = "Stewart and Trinkle 1996, section 3.3: the falling rod before its first impact";
    let title = "The scheme dissipates in flight, of order h";
    rows.figure("dissipation", title, subtitle, (1, 800, 450), panels);
    Ok(())
}

/// Runs to the end; the change of the energy since the start, step by step.
pub(super) fn energy_changes(rows: &mut Rows, simulation: &mut Simulation) -> Result<Curve, ReproduceError> {
    let (mut total, mut points) = (0.0, vec![(0.0, 0.0)]);
    rows.run(simulation, |s, audit| {
        total += audit.energy.total_change;
        points.push((s.state().t, total));
    })?;
    Ok(points)
}

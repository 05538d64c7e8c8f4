//! \[ST96\] §3.6 and remark 4 after (16): what one linearisation does where surfaces are curved,
//! and the fixed point that cures it.

use stiction_dynamics::reference::Rod;
use stiction_dynamics::{Inertia, LagrangianSystem, Linearization, Version};

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "curved-surfaces",
    title: "[ST96] one linearisation on curved surfaces, and the fixed point that cures it",
    remarks: &[
        "The paper says that the linear version can produce velocities that are entirely unphysical, without an example. Here it is its own rod without friction, dropped from 0.5 m with 5 rad/s at h = 0.05 s: the prediction turns the rod by 14°, the step ends within the table, and the next one throws it out with 64 rad/s and three times the energy. References are from an independent program.",
        "This is the plain scheme on formulas. Scenes made of bodies have sizes, and a step that ends deep within a body is halved there.",
        "Rows from the mean or the start of the step (remark 4) do not throw this rod, and the fixed point does not with any of them.",
        "On a circle the fixed point brakes by 1 − θ α² per step of the turn α, with θ = 0, ½, 1 for rows from the start, the mean and the end. Rows from the start keep the speed: with a constant inertia that is the method SHAKE.",
    ],
    run: reproduce,
};

/// The places of rows with their names and shares of the step.
const PLACES: [(&str, Linearization, f64); 3] =
    [("start", Linearization::Start, 0.0), ("mean", Linearization::Mean, 0.5), ("end", Linearization::End, 1.0)];

/// What a run shows.
struct CurvedRun {
    /// Largest energy relative to that at the start, and largest speed of the last coordinate.
    energy: f64,
    spin: f64,
    unconverged: usize,
    /// Time and energy, relative to that at the start.
    points: Curve,
    end: State,
}

fn run(
    rows: &mut Rows,
    system: impl MechanicalSystem + 'static,
    (version, linearization): (Version, Linearization),
    start: State,
    grid: (f64, f64),
) -> Result<CurvedRun, ReproduceError> {
    let settings = StewartTrinkleSettings { version, linearization, linearization_limit: 200, ..Default::default() };
    let mut inertia = Inertia::default();
    system.mass_matrix(0.0, &start.q, &mut inertia);
    let mut momentum = vec![0.0; start.v.len()];
    inertia.apply(&start.v, &mut momentum);
    let kinetic = 0.5 * momentum.iter().zip(&start.v).map(|(p, v)| p * v).sum::<f64>();
    let energy_at_start = kinetic + system.potential_energy(0.0, &start.q).unwrap_or(0.0);
    let scheme = SchemeSettings::StewartTrinkle(settings);
    let mut simulation = simulation(system, &scheme, ContactMethod::default(), start, grid)?;
    let (mut points, mut spin) = (vec![(0.0, 1.0)], 0.0f64);
    let audit = rows.run(&mut simulation, |s, audit| {
        points.push((s.state().t, (audit.energy.kinetic + audit.energy.potential) / energy_at_start));
        spin = spin.max(s.state().v.last().map_or(0.0, |v| v.abs()));
    })?;
    let energy = points.iter().skip(1).fold(f64::NEG_INFINITY, |most, (_, energy)| most.max(*energy));
    let end = simulation.state().clone();
    Ok(CurvedRun { energy, spin, unconverged: audit.unconverged_count, points, end })
}

/// Rods without friction that the linear version throws: moment of inertia, spin, step, and what an
/// independent program finds with one linearisation at the end: the largest energy relative to that
/// at the start, and the largest spin.
const RODS: [(f64, f64, f64, [f64; 2]); 2] = [
    (0.002, 5.0, 0.05, [3.054864824480519, 63.510831199213825]),
    (0.0005, 40.0, 0.02, [5.762816629027825, 197.35327507840861]),
];

/// What the same program finds with the fixed point: the largest energy, which is that of the first
/// steps of the fall, and the spin of the first rod with rows from the start, the mean and the end.
const CURED_ENERGY: [f64; 2] = [0.9755993661257605, 0.9963718718190385];
const CURED_SPIN: [f64; 3] = [11.673053556666037, 11.92158375981088, 12.03531354504609];

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("a rod that is thrown");
    let mut thrown_rods = Vec::new();
    for (i, (inertia, spin, h, thrown)) in RODS.into_iter().enumerate() {
        let rod = || Rod { inertia, mu: 0.0, ..Default::default() };
        let start = || State::new(0.0, vec![0.0, 0.5, std::f64::consts::FRAC_PI_6], vec![0.0, 0.0, spin]);
        let of = |what: &str, how: &str| format!("rod with {spin} rad/s: {what} ({how}, h = {h})");
        let (energy, largest_spin) = ("largest energy, of that at the start", "largest spin, rad/s");
        let linear = run(rows, rod(), (Version::Linear, Linearization::End), start(), (h, 1.0))?;
        for check in ["penetration_share", "contact_gain", "push_distance"] {
            rows.but_for(check, "the linear version is shown where it fails");
        }
        rows.add(of(energy, "linear"), thrown[0], linear.energy, [Measured(5e-10), Rounding][i]);
        rows.add(of(largest_spin, "linear"), thrown[1], linear.spin, [Measured(2e-8), Rounding][i]);
        for (j, (place, linearization, _)) in PLACES.into_iter().enumerate() {
            let cured = run(rows, rod(), (Version::FixedPoint, linearization), start(), (h, 1.0))?;
            let how = format!("fixed point, rows from the {place}");
            rows.add(of(energy, &how), CURED_ENERGY[i], cured.energy, Rounding);
            if i == 0 {
                rows.add(of(largest_spin, &how), CURED_SPIN[j], cured.spin, Measured([1e-8, 2e-11, 1e-10][j]));
            }
            rows.add(of("steps without a fixed point", &how), 0.0, cured.unconverged as f64, Exact);
            if i == 0 && linearization == Linearization::End {
                thrown_rods.push(curve("fixed point", cured.points));
            }
        }
        if i == 0 {
            thrown_rods.push(curve("linear", linear.points));
        }
    }

    rows.progress("a bead on a circle");
    let mut beads = Vec::new();
    for (place, linearization, theta) in PLACES {
        let bead = LagrangianSystem::new(&["x", "y"], |_, m| (m[0], m[3]) = (1.0, 1.0), |_| 0.0)
            .with_gap(|q| 1.0 - q[0].hypot(q[1]));
        // A step is a chord, and v⁺ cos((½ - θ) α⁺) = v cos(α/2 + θ α⁺) with v = 2 sin(α/2)/h.
        let (h, count) = (0.05, 100);
        let mut turn = 0.1f64;
        let speed = |turn: f64| 2.0 * (0.5 * turn).sin() / h;
        let (sine, cosine) = (0.5 * turn).sin_cos();
        let start = State::new(0.0, vec![1.0, 0.0], vec![speed(turn) * sine, speed(turn) * cosine]);
        let found = run(rows, bead, (Version::FixedPoint, linearization), start, (h, f64::from(count) * h))?;
        for _ in 0..count {
            let before = turn;
            for _ in 0..60 {
                let new = speed(before) * (0.5 * before + theta * turn).cos() / ((0.5 - theta) * turn).cos();
                turn = 2.0 * (0.5 * h * new).asin();
            }
        }
        let quantity = format!("bead on a circle: speed after {count} steps, m/s (fixed point, rows from the {place})");
        rows.add(quantity, speed(turn), found.end.v[0].hypot(found.end.v[1]), Measured(1e-12));
        beads.push(curve(format!("the {place}"), found.points));
    }
    let energies = |title: &str, series| panel(title, "t, s", "energy, of that at the start", series);
    let panels = vec![
        energies("A rod without friction, h = 0.05 s", thrown_rods),
        energies("A bead on a circle by the fixed point, rows from", beads),
    ];
    let title = "One linearisation on curved surfaces, and the fixed point that cures it";
    let subtitle = "Stewart and Trinkle 1996, section 3.6 and remark 4";
    rows.figure("curved-surfaces", title, subtitle, (1, 800, 700), panels);
    Ok(())
}

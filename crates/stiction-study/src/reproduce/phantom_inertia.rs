//! \[PKF\]: the full-rank problem with phantom inertia, on a particle and on an arm; the paper itself prints no numbers.

use stiction_dynamics::reference::{pushed_particle, touching_arm};
use stiction_dynamics::{
    ContactProblem, ContactSolution, ExactCone, ExactConeSettings, PhantomInertia, PhantomInertiaSettings,
};
use stiction_solve::LemkeSettings;

use super::{Effort, NamedFigure, ReproduceError, Reproduction, Rows, Verdict};
use crate::figure::{Figure, Panel, Series};

/// What a reader of the paper should know.
const REMARKS: &[&str] = &[
    "The paper gives the formulation and no numbers; the reference is an independent implementation. σ₋ is paired with κ₊ and σ₊ with κ₋: the other pairing does not dissipate.",
    "The phantom inertia ρ does not change the motion: every case is solved for ρ from 1e-3 to 1e3.",
];

/// Values of $\rho$: chosen by the method, and over six decades.
const RHO: [Option<f64>; 5] = [None, Some(1e-3), Some(1.0), Some(30.0), Some(1e3)];

/// All numbers of the reference hold to this.
const TOLERANCE: f64 = 1e-10;

/// An instant, and what an independent implementation found for it.
struct Case {
    name: &'static str,
    problem: ContactProblem,
    lines: usize,
    acceleration: [f64; 3],
    normal: f64,
    tangential: Option<[f64; 2]>,
}

fn cases() -> [Case; 4] {
    let slide = [2.5, -6.93351193466, -4.4635185093];
    [
        Case {
            name: "A: particle, k = 4",
            problem: particle(),
            lines: 4,
            acceleration: [0.53164123828, 0.53164123828, 0.0],
            normal: 19.62,
            tangential: Some([-7.93671752344, -5.93671752344]),
        },
        Case {
            name: "B: arm slides, k = 4",
            problem: touching_arm(slide),
            lines: 4,
            acceleration: [0.501355341892, 1.40559476629, -3.88610006491],
            normal: 10.2557951064,
            tangential: Some([6.15347706382, -1.47186474041]),
        },
        Case {
            name: "B: arm slides, k = 8",
            problem: touching_arm(slide),
            lines: 8,
            acceleration: [0.801983156161, 1.35029665402, -3.73321531973],
            normal: 10.2203786659,
            tangential: None,
        },
        Case {
            name: "C: arm sticks",
            problem: touching_arm([0.0, -6.93351193466, -1.4635185093]),
            lines: 4,
            acceleration: [0.0; 3],
            normal: 10.4761370884,
            tangential: Some([-3.47982133478, -1.07643488101]),
        },
    ]
}

/// The particle of case A.
fn particle() -> ContactProblem {
    pushed_particle(2.0, [9.0, 7.0, -19.62])
}

/// The problem of the particle with four lines and this phantom inertia: its condition, and its solution.
fn particle_lcp(rho: f64) -> Result<(f64, Vec<f64>), ReproduceError> {
    let mut method = PhantomInertia::new(PhantomInertiaSettings { lines: 4, rho: Some(rho), ..Default::default() })?;
    let lcp = method.lcp(&particle())?;
    let values = lcp.matrix().singular_values().unwrap_or_default();
    let condition = values.first().zip(values.last()).map_or(f64::NAN, |(largest, least)| largest / least);
    Ok((condition, lcp.solve(&LemkeSettings::default()).z))
}

/// What the particle shows beside its motion: the sliding along the lines, the rank of the problem, and the exact cone.
fn add_particle(rows: &mut Rows) -> Result<(), ReproduceError> {
    let (condition, z) = particle_lcp(1.0)?;
    // The normal force, then sliding along the lines forwards, then backwards.
    rows.add("A: sliding κ₂₊, ρ = 1", None, Some(0.751854249492), z[2], TOLERANCE);
    let others = (1..9).filter(|k| *k != 2).fold(0.0f64, |most, k| most.max(z[k]));
    rows.add("A: largest other κ, ρ = 1", None, Some(0.0), others, TOLERANCE);
    // As far as the digits of the reference go: 25 and 2e7.
    rows.add_between("A: condition of the problem, ρ = 1", (24.5, 25.5), condition);
    rows.add_between("A: condition of the problem, ρ = 1e-6", (1.5e7, 2.5e7), particle_lcp(1e-6)?.0);
    let mut solution = ContactSolution::default();
    ExactCone::new(ExactConeSettings::default())?.solve(&particle(), &mut solution)?;
    rows.fed_by(&Verdict::of_solve(&solution.report));
    for (i, expected) in [0.628227373769, 0.488621290709, 0.0].into_iter().enumerate() {
        let quantity = format!("A: particle, exact cone: acceleration {}", i + 1);
        rows.add(quantity, None, Some(expected), solution.motion[i], TOLERANCE);
    }
    Ok(())
}

/// What the paper claims, in a picture: the problem has full rank for almost every phantom inertia.
fn figure(effort: Effort) -> Result<NamedFigure, ReproduceError> {
    let mut conditions = Vec::new();
    let points = if effort == Effort::Full { 1800 } else { 180 };
    for k in 0..=points {
        let rho = 10f64.powf(-6.0 + 9.0 * f64::from(k) / f64::from(points));
        conditions.push((rho, particle_lcp(rho)?.0));
    }
    let figure = Figure {
        title: "Phantom inertia gives the problem full rank".to_owned(),
        subtitle: "Particle of case A, four lines. The paper has no figure of results; at ρ = 8 kg the rank is lost, which it leaves out".to_owned(),
        panels: vec![Panel {
            title: "Condition of the problem".to_owned(),
            x_label: "phantom inertia ρ, kg".to_owned(),
            y_label: "largest by smallest singular value".to_owned(),
            log_x: true,
            log_y: true,
            series: vec![Series { points: conditions, ..Default::default() }],
            ..Default::default()
        }],
        columns: 1,
        size: (760, 430),
        ..Default::default()
    };
    Ok(NamedFigure { name: "phantom-inertia", figure })
}

/// The whole experiment.
pub(super) fn reproduce(effort: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
    let mut rows = Rows::new("phantom-inertia", "PKF");
    for case in cases() {
        progress(case.name);
        for rho in RHO {
            let settings = PhantomInertiaSettings { lines: case.lines, rho, ..Default::default() };
            let mut method = PhantomInertia::new(settings)?;
            let mut solution = ContactSolution::default();
            method.solve(&case.problem, &mut solution)?;
            rows.fed_by(&Verdict::of_solve(&solution.report));
            let rho = rho.map_or_else(|| "ρ chosen".to_owned(), |rho| format!("ρ = {rho}"));
            let at = |quantity: &str| format!("{}, {rho}: {quantity}", case.name);
            for (i, &expected) in case.acceleration.iter().enumerate() {
                let quantity = at(&format!("acceleration {}", i + 1));
                rows.add(quantity, None, Some(expected), solution.motion[i], TOLERANCE);
            }
            let impulse = &solution.contacts[0];
            rows.add(at("normal force, N"), None, Some(case.normal), impulse.normal, TOLERANCE);
            for (i, &expected) in case.tangential.iter().flatten().enumerate() {
                let quantity = at(&format!("friction force {}, N", i + 1));
                rows.add(quantity, None, Some(expected), impulse.tangent[i], TOLERANCE);
            }
        }
    }
    add_particle(&mut rows)?;
    let figures = vec![figure(effort)?];
    Ok(rows.into_reproduction(figures, REMARKS))
}

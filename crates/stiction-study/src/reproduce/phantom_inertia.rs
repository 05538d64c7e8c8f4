//! \[PKF\]: the full-rank problem with phantom inertia, on a particle and on an arm; the paper itself prints no numbers.

use stiction_dynamics::reference::{pushed_particle, touching_arm};
use stiction_dynamics::{ContactProblem, ContactSolution, PhantomInertia, PhantomInertiaSettings};

use super::{Effort, ReproduceError, Reproduction, Rows};

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
            problem: pushed_particle(2.0, [9.0, 7.0, -19.62]),
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

/// The whole experiment.
pub(super) fn reproduce(_: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
    let mut rows = Rows::new("phantom-inertia", "PKF");
    for case in cases() {
        progress(case.name);
        for rho in RHO {
            let settings = PhantomInertiaSettings { lines: case.lines, rho, ..Default::default() };
            let mut method = PhantomInertia::new(settings)?;
            let mut solution = ContactSolution::default();
            method.solve(&case.problem, &mut solution)?;
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
    Ok(Reproduction { rows: rows.into_rows(), figures: Vec::new(), remarks: REMARKS })
}

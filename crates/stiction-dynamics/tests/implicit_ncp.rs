//! The implicit scheme of Tzitzouris and Pang on the examples of [TTP01] and on systems from other
//! papers.

use stiction_dynamics::reference::{DoublePendulum, Rod};
use stiction_dynamics::{
    Audit, Contact, ContactId, ContactMethod, ContactSolver, ExactConeSettings, FrictionLaw, ImplicitNcp,
    ImplicitNcpSettings, Inertia, MechanicalSystem, Row, Scheme, State, Step, StepError,
};

/// A ball of unit mass and radius that touches fixed spheres from outside; its orientation does not
/// matter.
struct Ball {
    force: [f64; 3],
    /// Centres and radii.
    spheres: Vec<([f64; 3], f64)>,
    friction: FrictionLaw,
}

impl MechanicalSystem for Ball {
    fn velocity_count(&self) -> usize {
        6
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        [1.0, 1.0, 1.0, 0.4, 0.4, 0.4].into_iter().for_each(|mass| out.push_scalar(mass));
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        k[..3].copy_from_slice(&self.force);
    }
    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        for (i, (centre, radius)) in self.spheres.iter().enumerate() {
            let to: [f64; 3] = std::array::from_fn(|k| q[k] - centre[k]);
            let distance = to.iter().map(|x| x * x).sum::<f64>().sqrt();
            let n = to.map(|x| x / distance);
            // The first tangent turns about the vertical with the normal, as tangents of systems
            // do.
            let across = n[0].hypot(n[1]);
            let t = if across < 1e-9 { [1.0, 0.0, 0.0] } else { [n[1] / across, -n[0] / across, 0.0] };
            let o = [t[1] * n[2] - t[2] * n[1], t[2] * n[0] - t[0] * n[2], t[0] * n[1] - t[1] * n[0]];
            // The point of the ball at -n: velocity v + ω × (-n), so that direction d has the
            // moment n-arm (-n) × d.
            let row = |d: [f64; 3]| {
                let moment = [d[1] * n[2] - d[2] * n[1], d[2] * n[0] - d[0] * n[2], d[0] * n[1] - d[1] * n[0]];
                Row::from_dense(&[d[0], d[1], d[2], moment[0], moment[1], moment[2]])
            };
            let gap = distance - radius - 1.0;
            if gap <= horizon {
                out.push(Contact {
                    id: ContactId::number(i as u32),
                    gap,
                    normal: row(n),
                    tangents: [row(t), row(o), Row::from_dense(&[0.0, 0.0, 0.0, n[0], n[1], n[2]])]
                        .into_iter()
                        .collect(),
                    friction: self.friction.clone(),
                    ..Default::default()
                });
            }
        }
    }
}

/// Problem 2 of the paper.
fn valley() -> (Ball, State) {
    let ball = Ball {
        force: [1.0, 2.6, -9.81],
        spheres: vec![([0.0; 3], 10.0), ([0.0, 11.4, 0.0], 9.0)],
        friction: FrictionLaw::Elliptic { mu: 0.2, semi_axes: [1.0, 1.0, 0.3] },
    };
    let state = State::new(0.0, vec![0.0, 6.62105263157895, 8.78417110772903, 0.0, 0.0, 0.0], vec![0.0; 6]);
    (ball, state)
}

fn scheme(settings: ImplicitNcpSettings) -> ImplicitNcp {
    let solver = ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap();
    ImplicitNcp::new(settings, solver)
}

/// Runs to the end and lets `see` look at every step; returns the last state.
fn run(
    system: &dyn MechanicalSystem,
    scheme: &mut ImplicitNcp,
    start: State,
    h: f64,
    steps: usize,
    mut see: impl FnMut(&State, &Step, &ImplicitNcp),
) -> State {
    let (mut state, mut step) = (start, Step::default());
    for _ in 0..steps {
        scheme.step(system, &state, h, &mut step).unwrap_or_else(|error| panic!("{error}"));
        see(&state, &step, scheme);
        state.copy_from(&step.state);
    }
    state
}

#[test]
fn the_ball_between_two_spheres_has_the_reference_values() {
    let (ball, start) = valley();
    let mut audit = Audit::default();
    let (mut states, mut deepest, mut iterations) = (Vec::new(), 0.0f64, 0);
    run(&ball, &mut scheme(ImplicitNcpSettings::default()), start, 0.1, 40, |before, step, _| {
        audit.observe(&ball, before, step);
        for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
            if impulse.normal > 0.0 {
                deepest = deepest.max(contact.gap.abs());
            }
        }
        iterations += step.report.solves.iter().map(|solve| solve.iterations).sum::<usize>();
        states.push(step.state.clone());
    });
    eprintln!("iterations {iterations}, gap {deepest:e}");
    for (value, expected) in [
        (states[9].q[0], 0.287318183403),
        (states[19].q[0], 1.378643068486),
        (states[29].q[0], 4.166254371493),
        (states[29].v[0], 3.901986115134),
    ] {
        assert!((value - expected).abs() < 1e-10, "{value} and not {expected}");
    }
    assert!(deepest <= 1e-12, "{deepest:e}");
    let worst = &audit.worst;
    for value in [worst.cone_violation, worst.complementarity, worst.dissipation_defect, worst.momentum] {
        assert!(value < 1e-9, "{worst:?}");
    }
    assert!(worst.penetration < 1e-12 && worst.kinetic_balance < 1e-9, "{worst:?}");
}

#[test]
fn the_scheme_has_order_one_and_finds_the_events() {
    // Against the event-driven reference at t = 3: the error over h is the same within 15 % for h ≤
    // 0.02.
    let reference = [3.65058248, 6.62105263, 7.98967519];
    let mut ratios = Vec::new();
    for (h, steps) in [(0.02, 150), (0.01, 300), (0.005, 600), (0.002, 1500)] {
        let (ball, start) = valley();
        let end = run(&ball, &mut scheme(ImplicitNcpSettings::default()), start, h, steps, |_, _, _| {});
        let error = (0..3).fold(0.0f64, |error, k| error.max((end.q[k] - reference[k]).abs()));
        ratios.push(error / h);
    }
    let (least, most) = ratios.iter().fold((f64::MAX, 0.0f64), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(most <= 1.15 * least, "{ratios:?}");
    // Sliding at the second contact, and the loss of the two.
    let (ball, start) = valley();
    let (h, mut slides, mut last) = (0.01, f64::INFINITY, [0.0; 2]);
    run(&ball, &mut scheme(ImplicitNcpSettings::default()), start, h, 400, |before, step, _| {
        for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
            let number = contact.id.feature as usize;
            if impulse.normal > 0.0 {
                last[number] = step.state.t;
            }
            let slip = contact.slip(&step.state.v);
            if number == 1 && slip.iter().any(|slip| slip.abs() > 1e-6) {
                slides = slides.min(before.t);
            }
        }
    });
    for (found, expected) in [(slides, 2.94480675774), (last[0], 3.213205817), (last[1], 3.701600417)] {
        assert!((found - expected).abs() <= 2.0 * h, "{found} and not {expected}");
    }
}

#[test]
fn newton_ends_quadratically_and_a_warm_start_halves_its_work() {
    let mut counts = [0; 2];
    let mut quadratic = 0;
    for (count, warm_start) in counts.iter_mut().zip([true, false]) {
        let (ball, start) = valley();
        let settings = ImplicitNcpSettings { warm_start, ..Default::default() };
        run(&ball, &mut scheme(settings), start, 0.01, 360, |_, step, scheme| {
            *count += step.report.solves.iter().map(|solve| solve.iterations).sum::<usize>();
            let history = &scheme.newton_report().history;
            // Two residuals in a row, the first below 1e-4, which is beyond the kinks, and the
            // second above rounding.
            for pair in history.windows(2).filter(|pair| pair[0] < 1e-4 && pair[1] > 1e-11) {
                assert!(pair[1] < 0.3 * pair[0], "{history:?}");
                quadratic += usize::from(pair[1] < 30.0 * pair[0] * pair[0]);
            }
        });
    }
    eprintln!("{counts:?} iterations, {quadratic} quadratic steps");
    assert!(2 * counts[0] <= counts[1], "{counts:?}");
    assert!(quadratic > 30, "{quadratic}");
}

#[test]
fn spinning_stops_to_rounding() {
    // Problem 1, experiment 1: a plane is a sphere of which the ball sees the top only.
    let plane = Ball {
        force: [0.0, 0.0, -9.81],
        spheres: vec![([0.0, 0.0, -1e3], 1e3)],
        friction: FrictionLaw::Elliptic { mu: 0.2, semi_axes: [1.0, 1.0, 0.4] },
    };
    let start = State::new(0.0, vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.962]);
    let mut seen = Vec::new();
    run(&plane, &mut scheme(ImplicitNcpSettings::default()), start, 0.07, 17, |_, step, _| {
        let impulse = &step.solution.contacts[0];
        seen.push([step.state.v[5], impulse.normal / 0.07, impulse.tangent[2] / 0.07]);
    });
    for (k, expected) in [(13, [0.03924, 9.81, -0.7848]), (14, [0.0, 9.81, -0.224228571429]), (16, [0.0, 9.81, 0.0])] {
        assert!(seen[k].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-10), "{k}: {:?}", seen[k]);
    }
}

#[test]
fn the_rod_and_a_jointed_pendulum_keep_their_laws() {
    // [ST96]: a spinning rod falls on a table, with a Painlevé impact.
    let rod = Rod::default();
    let mut audit = Audit::default();
    let end = run(&rod, &mut scheme(ImplicitNcpSettings::default()), Rod::start(), 0.0025, 400, |before, step, _| {
        audit.observe(&rod, before, step);
    });
    let worst = &audit.worst;
    assert!(worst.penetration < 1e-12 && worst.momentum < 1e-9 && worst.cone_violation < 1e-9, "{worst:?}");
    assert!(worst.dissipation_defect < 1e-9, "{worst:?}");
    assert!(end.v.iter().all(|v| v.abs() < 1e-9), "it comes to rest: {end:?}");
    // [PAGT]: two point masses on rods beside a wall. Positions meet the joints to rounding.
    let pendulum = DoublePendulum { gravity: 9.81, wall: Some(Default::default()) };
    let mut audit = Audit::default();
    let start = DoublePendulum::start();
    run(&pendulum, &mut scheme(ImplicitNcpSettings::default()), start, 0.002, 500, |before, step, _| {
        audit.observe(&pendulum, before, step);
    });
    let worst = &audit.worst;
    assert!(worst.joint_drift < 1e-11 && worst.penetration < 1e-11 && worst.momentum < 1e-9, "{worst:?}");
}

#[test]
fn a_step_that_is_not_solved_is_an_error() {
    let (ball, start) = valley();
    let settings = ImplicitNcpSettings { iteration_limit: 1, restart_limit: 0, ..Default::default() };
    let error = scheme(settings).step(&ball, &start, 0.1, &mut Step::default()).expect_err("one iteration is too few");
    let StepError::Unsolved { report, problem, .. } = error else { panic!("{error}") };
    assert!(!report.is_solved() && report.residual > 1e-10 && report.iterations == 1, "{report:?}");
    assert!(!problem.contacts.is_empty());
}

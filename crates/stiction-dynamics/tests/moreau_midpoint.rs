//! Moreau's midpoint rule against published states and closed forms.

use stiction_dynamics::reference::Woodpecker;
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, LinearContact, LinearSystem, LinearSystemData, MoreauMidpoint,
    MoreauMidpointSettings, Restitution, Scheme, Simulation, State, Step, TimeGrid,
};

fn scheme(theta: f64) -> MoreauMidpoint {
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    MoreauMidpoint::new(MoreauMidpointSettings { theta, ..Default::default() }, solver)
}

fn simulate(system: LinearSystem, start: State, step: f64, end: f64) -> Simulation {
    let grid = TimeGrid { start: start.t, end, step };
    Simulation::new(Box::new(system), Box::new(scheme(0.5)), start, grid)
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, and not {expected} ± {tolerance:e}");
}

#[test]
fn woodpecker_passes_through_the_reference_states() {
    // An independent implementation of the midpoint rule, Δt = 1e-4: (y, φ_M, φ_S, v, ω_M, ω_S).
    let references = [
        (0.05, [-0.004407467745, -0.1036, -0.392981586347, 0.0, 0.0, 14.667583730228], [1e-9; 6]),
        (
            0.1,
            [-0.007094524535, 0.022166321270, 0.008792454468, -0.071520694709, -4.636980467935, -5.804023655487],
            [1e-9; 6],
        ),
    ];
    for (t, expected, tolerance) in references {
        let mut simulation = simulate(Woodpecker::default().system(), Woodpecker::start(), 1e-4, t);
        let state = simulation.run().unwrap();
        for (i, found) in state.q.iter().chain(&state.v).enumerate() {
            assert_close(*found, expected[i], tolerance[i], &format!("coordinate {i} at {t} s"));
        }
    }
}

#[test]
fn every_step_of_the_woodpecker_is_certified() {
    let mut simulation = simulate(Woodpecker::default().system(), Woodpecker::start(), 1e-4, 0.5);
    let mut audit = Audit::default();
    simulation
        .run_with(|s| {
            audit.observe(s.system(), s.before(), s.last_step());
        })
        .unwrap();
    let worst = audit.worst;
    assert!(worst.residual <= 1e-12 && worst.momentum <= 1e-12, "{worst:?}");
    assert!(worst.kinetic_balance <= 1e-10, "{worst:?}");
    assert!(worst.cone_violation <= 1e-12 && worst.dissipation_defect <= 1e-10, "{worst:?}");
    // The spring is a quadratic potential: the defect formula is exact.
    assert!(worst.energy.unexplained.abs() <= 1e-14, "{:e}", worst.energy.unexplained);
    // About 1e-4 J of falling per cycle are lost in impacts and friction, and nothing is gained
    // there.
    assert!(audit.sum.energy.normal < -1e-4 && audit.sum.energy.friction < -1e-4, "{:?}", audit.sum.energy);
}

/// Unit masses on a line, each touching the next one when their coordinates are equal, and a floor
/// under the first.
fn balls(count: usize, gravity: f64, floor: bool, restitution: f64) -> LinearSystem {
    let row = |entries: &[(usize, f64)]| {
        let mut row = vec![0.0; count];
        entries.iter().for_each(|&(i, value)| row[i] = value);
        row
    };
    let contact = |name: String, normal| LinearContact {
        name,
        normal,
        restitution: Restitution { normal: restitution, ..Default::default() },
        ..Default::default()
    };
    let mut contacts: Vec<LinearContact> =
        (1..count).map(|i| contact(format!("pair {i}"), row(&[(i, 1.0), (i - 1, -1.0)]))).collect();
    if floor {
        contacts.push(contact("floor".to_owned(), row(&[(0, 1.0)])));
    }
    LinearSystem::new(LinearSystemData {
        coordinates: (0..count).map(|i| format!("x{i}")).collect(),
        mass: (0..count).map(|i| row(&[(i, 1.0)])).collect(),
        force: vec![-gravity; count],
        contacts,
        ..Default::default()
    })
    .unwrap()
}

#[test]
fn a_bouncing_ball_rises_by_the_square_of_restitution_and_comes_to_rest() {
    // From 1 m with e: apex after bounce n is e^{2n}; at rest after √(2h/g) (1 + e)/(1 - e).
    for (e, rest) in [(0.8, 4.063713), (0.5, 1.354571)] {
        let errors: Vec<f64> = [2e-3, 1e-3, 5e-4, 2.5e-4]
            .iter()
            .map(|&h| {
                let start = State::new(0.0, vec![1.0], vec![0.0]);
                let mut simulation = simulate(balls(1, 9.81, true, e), start, h, rest + 1.0);
                let (mut apexes, mut highest, mut last_move, mut rising) = (Vec::new(), 0.0f64, 0.0, false);
                simulation
                    .run_with(|s| {
                        let (x, v) = (s.state().q[0], s.state().v[0]);
                        if v > 0.0 {
                            rising = true;
                            highest = 0.0;
                        }
                        highest = highest.max(x);
                        if v <= 0.0 && std::mem::take(&mut rising) {
                            apexes.push(highest);
                        }
                        if v.abs() > 2.0 * 9.81 * h {
                            last_move = s.state().t;
                        }
                    })
                    .unwrap();
                for (n, apex) in apexes.iter().take(3).enumerate() {
                    assert_close(*apex, e.powi(2 * (n as i32 + 1)), 20.0 * h, &format!("apex {n}, e {e}, h {h}"));
                }
                // The last bounces are shorter than a step; what is left of them is of the order
                // √h.
                assert_close(last_move, rest, 6.0 * h.sqrt(), &format!("at rest, e {e}, h {h}"));
                let end = simulation.state();
                assert!(end.v[0].abs() < 1e-12 && end.q[0].abs() < 10.0 * h, "{end:?}");
                (apexes[0] - e * e).abs()
            })
            .collect();
        assert!(errors[3] < 0.5 * errors[0], "the apex does not converge: {errors:?}");
    }
}

#[test]
fn a_block_at_rest_does_not_fall_for_a_step() {
    // Gaps of rounding size, above and below zero.
    for gap in [0.0, 1e-17, -1e-17, 5e-13] {
        let mut simulation = simulate(balls(1, 9.81, true, 0.5), State::new(0.0, vec![gap], vec![0.0]), 1e-3, 1.0);
        simulation.run_with(|s| assert_eq!(s.state().v[0], 0.0, "gap {gap:e}, t {}", s.state().t)).unwrap();
        assert_eq!(simulation.state().q[0], gap);
    }
}

#[test]
fn a_cradle_by_the_simultaneous_law() {
    // Three equal balls, e = 1, two at rest and in touch: (-1/3, 2/3, 2/3). A step of length zero
    // is the pure impact law.
    let system = balls(3, 0.0, false, 1.0);
    let start = State::new(2.0, vec![0.0; 3], vec![1.0, 0.0, 0.0]);
    let mut step = Step::default();
    scheme(0.5).step(&system, &start, 0.0, &mut step).unwrap();
    for (found, expected) in step.state.v.iter().zip([-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]) {
        assert_close(*found, expected, 1e-15, "velocity after the impact");
    }
    assert_eq!((step.state.t, &step.state.q), (2.0, &start.q), "time and positions stay");
    // With e = 0 all three go on together.
    scheme(0.5).step(&balls(3, 0.0, false, 0.0), &start, 0.0, &mut step).unwrap();
    assert!(step.state.v.iter().all(|v| (v - 1.0 / 3.0).abs() < 1e-15), "{:?}", step.state.v);
}

#[test]
fn a_superball_reverses_its_spin() {
    // A solid sphere, radius r, inertia 2/5 m r², v = (v_x, -v_y), spin ω (positive: top moves
    // along x, surface slip v_x + r ω at the floor when ω is counted against the rolling
    // direction). Slip γ_T = v_x + r ω; with ε_T and enough friction γ_T⁺ = -ε_T γ_T, so the
    // tangential impulse is -(1 + ε_T) γ_T m_T with m_T = 2/7 m.
    let (m, r, e_n, e_t) = (0.1, 0.03, 0.9, 0.7);
    let inertia = 0.4 * m * r * r;
    let superball = |mu: f64| {
        LinearSystem::new(LinearSystemData {
            coordinates: ["x", "y", "angle"].map(str::to_owned).to_vec(),
            mass: vec![vec![m, 0.0, 0.0], vec![0.0, m, 0.0], vec![0.0, 0.0, inertia]],
            contacts: vec![LinearContact {
                name: "floor".to_owned(),
                normal: vec![0.0, 1.0, 0.0],
                tangents: vec![vec![1.0, 0.0, r]],
                mu,
                restitution: Restitution { normal: e_n, tangential: e_t, ..Default::default() },
                ..Default::default()
            }],
            ..Default::default()
        })
        .unwrap()
    };
    let (vx, vy, omega) = (1.0, -2.0, 40.0);
    let slip = vx + r * omega;
    let start = State::new(0.0, vec![0.0; 3], vec![vx, vy, omega]);
    let mut step = Step::default();
    scheme(0.5).step(&superball(2.0), &start, 0.0, &mut step).unwrap();
    let impulse = -(1.0 + e_t) * slip * m * 2.0 / 7.0;
    let v = &step.state.v;
    assert_close(v[0], vx + impulse / m, 1e-14, "vx");
    assert_close(v[1], -e_n * vy, 1e-14, "vy");
    assert_close(v[2], omega + r * impulse / inertia, 1e-12, "spin");
    assert_close(v[0] + r * v[2], -e_t * slip, 1e-13, "slip");
    // With little friction the impulse is bounded by μ Λ_N, and the slip keeps its sign.
    scheme(0.5).step(&superball(0.1), &start, 0.0, &mut step).unwrap();
    let bound = 0.1 * (1.0 + e_n) * -vy * m;
    assert_close(step.state.v[0], vx - bound / m, 1e-14, "vx with little friction");
    assert!(step.state.v[0] + r * step.state.v[2] > 0.0);
}

#[test]
fn a_moving_floor_pushes_and_the_energy_is_accounted_for() {
    // The floor rises with 0.5 m/s, e = 0: the ball goes with it. With e = 1 a ball at rest leaves
    // with twice that.
    for (e, expected) in [(0.0, 0.5), (1.0, 1.0)] {
        let mut data = LinearSystemData {
            coordinates: vec!["x".to_owned()],
            mass: vec![vec![2.0]],
            contacts: vec![LinearContact {
                name: "piston".to_owned(),
                normal: vec![1.0],
                normal_drift: -0.5,
                restitution: Restitution { normal: e, ..Default::default() },
                ..Default::default()
            }],
            ..Default::default()
        };
        let start = State::new(0.0, vec![0.0], vec![0.0]);
        let mut simulation = simulate(LinearSystem::new(data.clone()).unwrap(), start, 1e-2, 0.1);
        let mut audit = Audit::default();
        simulation
            .run_with(|s| {
                audit.observe(s.system(), s.before(), s.last_step());
            })
            .unwrap();
        assert_close(simulation.state().v[0], expected, 1e-15, "velocity");
        let energy = audit.sum.energy;
        assert_close(energy.drive + energy.normal, 0.5 * 2.0 * expected * expected, 1e-14, "work of the piston");
        assert!(audit.worst.energy.unexplained.abs() < 1e-14);
        // Bad numbers are refused with their name.
        data.contacts[0].restitution.normal = 1.5;
        let error = LinearSystem::new(data).unwrap_err().to_string();
        assert_eq!(error, "the restitution of contact `piston` is 1.5: give a number from 0 to 1");
    }
}

#[test]
fn theta_changes_the_position_and_the_energy_as_its_formula_says() {
    // Free fall: x = -½ g t² with θ = ½; the position is off by (θ - ½) g h t, and no energy is
    // unexplained.
    for theta in [0.5, 0.75, 1.0] {
        let grid = TimeGrid { start: 0.0, end: 1.0, step: 0.01 };
        let start = State::new(0.0, vec![0.0], vec![0.0]);
        let system = balls(1, 9.81, false, 0.0);
        let mut simulation = Simulation::new(Box::new(system), Box::new(scheme(theta)), start, grid);
        let mut audit = Audit::default();
        simulation
            .run_with(|s| {
                audit.observe(s.system(), s.before(), s.last_step());
            })
            .unwrap();
        let expected = -0.5 * 9.81 - (theta - 0.5) * 9.81 * 0.01;
        assert_close(simulation.state().q[0], expected, 1e-12, &format!("height with θ = {theta}"));
        assert!(audit.worst.energy.unexplained.abs() < 1e-12, "{:?}", audit.worst);
    }
}

#[test]
fn malformed_matrices_are_refused_by_name() {
    let good = || LinearSystemData {
        coordinates: vec!["a".to_owned(), "b".to_owned()],
        mass: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
        ..Default::default()
    };
    let contact = || LinearContact { name: "stop".to_owned(), normal: vec![1.0, 0.0], ..Default::default() };
    let refused = |change: &dyn Fn(&mut LinearSystemData)| {
        let mut data = good();
        change(&mut data);
        LinearSystem::new(data).unwrap_err().to_string()
    };
    for (message, part) in [
        (
            refused(&|d| d.mass = vec![vec![1.0, 1.0], vec![1.0, 1.0]]),
            "not positive definite: the pivot of coordinate `b` is 0.0e0",
        ),
        (refused(&|d| d.mass = vec![vec![1.0, 0.5], vec![0.0, 1.0]]), "entries (2, 1) and (1, 2) differ"),
        (refused(&|d| d.mass = vec![vec![1.0, 0.0]]), "the mass matrix, by rows, has 1 entries"),
        (refused(&|d| d.stiffness = vec![vec![1.0], vec![0.0, 1.0]]), "row 1 of the stiffness matrix has 1 entries"),
        (refused(&|d| d.damping = vec![vec![f64::NAN, 0.0], vec![0.0; 2]]), "is NaN: give a finite number"),
        (refused(&|d| d.force = vec![1.0]), "the force has 1 entries, but there are 2 coordinates"),
        (
            refused(&|d| d.contacts.push(LinearContact { normal: vec![1.0], ..contact() })),
            "the normal row of contact `stop` has 1 entries",
        ),
        (
            refused(&|d| d.contacts.push(LinearContact { mu: -0.1, ..contact() })),
            "the coefficient of friction of contact `stop` is -0.1: give a number that is not negative",
        ),
        (
            refused(&|d| d.contacts.push(LinearContact { tangents: vec![vec![0.0; 2]; 3], ..contact() })),
            "contact `stop` has 3 rows of sliding velocity, but none to two are possible",
        ),
    ] {
        assert!(message.contains(part), "{message}");
    }
}

//! Two coefficients of friction against closed forms, in every scheme.

use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, EventDriven, EventDrivenSettings, ExactConeSettings, ImplicitNcp,
    ImplicitNcpSettings, LinearContact, LinearSystem, LinearSystemData, MechanicalSystem, MoreauMidpoint,
    MoreauMidpointSettings, PhantomInertiaSettings, PlanarRelaySettings, PyramidSettings, Scheme, Simulation, State,
    StewartTrinkle, StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings, Version,
};

const G: f64 = 9.81;
const STATIC: f64 = 0.6;
const KINETIC: f64 = 0.4;

/// A block of 2 kg on one or two tangents and a normal, with a force and, along the first tangent,
/// a spring to the origin; the ground may be a belt.
fn block(force: &[f64], stiffness: f64, belt: f64) -> LinearSystem {
    let n = force.len();
    let unit = |k: usize| (0..n).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
    let mut spring = vec![vec![0.0; n]; n];
    spring[0][0] = stiffness;
    let mut tangent_drift = vec![0.0; n - 1];
    tangent_drift[0] = -belt;
    LinearSystem::new(LinearSystemData {
        coordinates: ["x", "y", "z"][3 - n..].iter().map(|name| (*name).to_owned()).collect(),
        mass: (0..n).map(|k| unit(k).iter().map(|x| 2.0 * x).collect()).collect(),
        stiffness: spring,
        force: force.to_vec(),
        contacts: vec![LinearContact {
            name: "ground".into(),
            normal: unit(n - 1),
            tangents: (0..n - 1).map(unit).collect(),
            tangent_drift,
            mu: KINETIC,
            static_mu: Some(STATIC),
            ..Default::default()
        }],
        ..Default::default()
    })
    .unwrap()
}

fn solver(method: &ContactMethod) -> ContactSolver {
    ContactSolver::new(method.clone()).unwrap()
}

/// Every scheme, and whether its positions are exact where forces are constant.
fn schemes(method: &ContactMethod) -> Vec<(&'static str, bool, Box<dyn Scheme>)> {
    let fixed_point = StewartTrinkleSettings { version: Version::FixedPoint, ..Default::default() };
    vec![
        ("stewart-trinkle", false, Box::new(StewartTrinkle::new(Default::default(), solver(method)))),
        ("fixed-point", false, Box::new(StewartTrinkle::new(fixed_point, solver(method)))),
        ("moreau", false, Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver(method)))),
        ("implicit-ncp", false, Box::new(ImplicitNcp::new(ImplicitNcpSettings::default(), solver(method)))),
        ("trapezoidal", true, Box::new(Trapezoidal::new(TrapezoidalSettings::default(), solver(method)))),
        ("event-driven", true, Box::new(EventDriven::new(EventDrivenSettings::default(), solver(method)))),
    ]
}

fn cone() -> ContactMethod {
    ContactMethod::Cone(ExactConeSettings::default())
}

/// Runs to the end with the audit on, and shows every state.
fn run(
    system: LinearSystem,
    scheme: Box<dyn Scheme>,
    (q, v): (Vec<f64>, Vec<f64>),
    (step, end): (f64, f64),
    mut observe: impl FnMut(&Simulation),
) -> (State, Audit) {
    let grid = TimeGrid { start: 0.0, end, step };
    let mut simulation = Simulation::new(Box::new(system), scheme, State::new(0.0, q, v), grid);
    let mut audit = Audit::default();
    while !simulation.is_finished() {
        simulation.step().unwrap();
        let step = audit.observe(simulation.system(), simulation.before(), simulation.last_step());
        assert!(
            step.cone_violation < 1e-9 && step.dissipation_defect < 1e-9 && step.momentum < 1e-9,
            "{step:?} at {}",
            simulation.state().t
        );
        observe(&simulation);
    }
    (simulation.state().clone(), audit)
}

/// Weight on a slope of this tangent, along it and onto it.
fn weight(tangent: f64) -> (f64, f64) {
    let cosine = 1.0 / tangent.hypot(1.0);
    (2.0 * G * tangent * cosine, -2.0 * G * cosine)
}

#[test]
fn between_the_friction_angles_a_block_rests_if_it_rests_and_slides_if_it_slides() {
    let (along, onto) = weight(0.5);
    let cosine = -onto / (2.0 * G);
    // tan α = 0.5: sliding down it accelerates with g (sin α - 0.4 cos α), and sliding up it is
    // braked with g (sin α + 0.4 cos α).
    let (down, up) = (G * cosine * (0.5 - KINETIC), G * cosine * (0.5 + KINETIC));
    for (name, is_exact, scheme) in schemes(&cone()) {
        let (end, audit) =
            run(block(&[along, onto], 0.0, 0.0), scheme, (vec![0.0; 2], vec![0.0; 2]), (0.01, 1.0), |_| {});
        assert!(end.q[0].abs() < 1e-12 && end.v[0].abs() < 1e-12, "{name} rests: {end:?}");
        assert_eq!(audit.held_count, audit.step_count, "{name}: every step has a second solution");
        assert_eq!(audit.undecided_count, 0);
        let (_, _, scheme) = schemes(&cone()).into_iter().find(|(other, ..)| *other == name).unwrap();
        let start = (vec![0.0; 2], vec![0.3, 0.0]);
        let (end, audit) = run(block(&[along, onto], 0.0, 0.0), scheme, start, (0.01, 1.0), |_| {});
        assert!((end.v[0] - (0.3 + down)).abs() < 1e-9, "{name} slides: {end:?}");
        assert!(!is_exact || (end.q[0] - (0.3 + 0.5 * down)).abs() < 1e-9, "{name} slides: {end:?}");
        assert_eq!(audit.held_count, 0, "{name}");
        // Thrown up it stops, and stays: the kinetic coefficient alone would let it come back.
        let (_, _, scheme) = schemes(&cone()).into_iter().find(|(other, ..)| *other == name).unwrap();
        let start = (vec![0.0; 2], vec![-2.0, 0.0]);
        let (end, audit) = run(block(&[along, onto], 0.0, 0.0), scheme, start, (0.01, 1.0), |_| {});
        assert!(end.v[0].abs() < 1e-12, "{name} stops: {end:?}");
        let way = -2.0 / up;
        let tolerance = if is_exact { 1e-9 } else { 2.0 * 0.01 };
        assert!((end.q[0] - way).abs() < tolerance, "{name} stops at {} and not at {way}", end.q[0]);
        assert!(audit.held_count > 0, "{name}");
    }
}

#[test]
fn every_method_rests_and_slides_alike() {
    let (along, onto) = weight(0.5);
    for method in [
        cone(),
        ContactMethod::Pyramid(PyramidSettings::default()),
        ContactMethod::PlanarRelay(PlanarRelaySettings::default()),
        ContactMethod::PhantomInertia(PhantomInertiaSettings::default()),
    ] {
        for (v, expected) in [(0.0, 0.0), (0.3, 0.3 + 0.5 * G * (0.5 - KINETIC) / 1.25f64.sqrt())] {
            let scheme = Box::new(StewartTrinkle::new(Default::default(), solver(&method)));
            let start = (vec![0.0; 2], vec![v, 0.0]);
            let (end, _) = run(block(&[along, onto], 0.0, 0.0), scheme, start, (0.01, 0.5), |_| {});
            assert!((end.v[0] - expected).abs() < 1e-10, "{method:?}: {end:?}");
        }
    }
}

#[test]
fn beyond_the_static_angle_it_breaks_away_and_slides_with_the_kinetic_coefficient() {
    // tan α = 0.61, in the plane and across a slope in space.
    let (along, onto) = weight(0.61);
    let a = G * (0.61 - KINETIC) / 0.61f64.hypot(1.0);
    for (name, _, scheme) in schemes(&cone()) {
        let (end, audit) =
            run(block(&[along, onto], 0.0, 0.0), scheme, (vec![0.0; 2], vec![0.0; 2]), (0.01, 0.5), |_| {});
        assert!((end.v[0] - 0.5 * a).abs() < 1e-9, "{name}: {end:?}, and not {}", 0.5 * a);
        assert_eq!((audit.held_count, audit.undecided_count), (0, 0), "{name}");
    }
    for (name, _, scheme) in schemes(&cone()) {
        let force = [0.6 * along, 0.8 * along, onto];
        let (end, _) = run(block(&force, 0.0, 0.0), scheme, (vec![0.0; 3], vec![0.0; 3]), (0.01, 0.5), |_| {});
        let expected = [0.3 * a, 0.4 * a];
        assert!((0..2).all(|i| (end.v[i] - expected[i]).abs() < 1e-9), "{name}: {end:?}, and not {expected:?}");
    }
}

/// A block on a belt that runs with V, held by a spring: it sticks, breaks away where the spring
/// has the static friction, slides back, and sticks again.
struct StickSlip {
    omega: f64,
    speed: f64,
}

impl StickSlip {
    const STIFFNESS: f64 = 50.0;

    fn new() -> Self {
        Self { omega: (Self::STIFFNESS / 2.0f64).sqrt(), speed: 0.2 }
    }

    /// Half of the way between the ends of the spring's force, as an elongation.
    fn amplitude(&self) -> f64 {
        (STATIC - KINETIC) * G / self.omega.powi(2)
    }

    fn breakaway(&self) -> f64 {
        STATIC * G / self.omega.powi(2) / self.speed
    }

    /// How long it slides.
    fn slide(&self) -> f64 {
        (std::f64::consts::TAU - 2.0 * (self.amplitude() * self.omega / self.speed).atan()) / self.omega
    }

    fn period(&self) -> f64 {
        self.slide() + 2.0 * self.amplitude() / self.speed
    }

    /// Position and velocity at a time.
    fn state(&self, t: f64) -> (f64, f64) {
        let (a, v, w) = (self.amplitude(), self.speed, self.omega);
        if t <= self.breakaway() {
            return (v * t, v);
        }
        let tau = (t - self.breakaway()) % self.period();
        let middle = KINETIC * G / (w * w);
        if tau <= self.slide() {
            let (sine, cosine) = (w * tau).sin_cos();
            return (middle + a * cosine + v / w * sine, v * cosine - a * w * sine);
        }
        (middle - a + v * (tau - self.slide()), v)
    }
}

#[test]
fn stick_and_slip_on_a_belt_have_their_period() {
    let exact = StickSlip::new();
    let end = exact.breakaway() + 3.3 * exact.period();
    let start = || (vec![0.0; 2], vec![exact.speed, 0.0]);
    let system = || block(&[0.0, -2.0 * G], StickSlip::STIFFNESS, exact.speed);
    let error = |state: &State| {
        let (x, v) = exact.state(state.t);
        (state.q[0] - x).abs().max((state.v[0] - v).abs())
    };
    for (name, _, scheme) in schemes(&cone()) {
        let (step, tolerance) = match name {
            "event-driven" => (0.05, 1e-9),
            "trapezoidal" => (2e-3, 2e-2),
            _ => (5e-4, 4e-2),
        };
        let (mut worst, mut breakaways, mut was_stuck) = (0.0f64, Vec::new(), true);
        let (_, audit) = run(system(), scheme, start(), (step, end), |simulation| {
            let state = simulation.state();
            // Where a velocity jumps in the limit of long times, a step early or late is not an
            // error of the size of the jump.
            worst = worst.max(error(state));
            let is_stuck = (state.v[0] - exact.speed).abs() < 1e-9;
            if was_stuck && !is_stuck {
                breakaways.push(simulation.before().t);
            }
            was_stuck = is_stuck;
        });
        assert!(worst < tolerance, "{name}: {worst:.2e}");
        assert_eq!(breakaways.len(), 4, "{name}: {breakaways:?}");
        let first = exact.breakaway();
        let late = if name == "event-driven" { 1e-9 } else { 1.01 * step };
        assert!((breakaways[0] - first).abs() <= late, "{name}: {} and not {first}", breakaways[0]);
        assert!(audit.held_count > 0 && audit.undecided_count == 0, "{name}");
    }
}

#[test]
fn a_growing_pull_breaks_away_at_the_static_bound() {
    // The same by a step count: the spring has μ_s N in step `first`; the step in which it has more
    // slides with μ_k.
    let exact = StickSlip::new();
    let h = 1e-3;
    let first = (exact.breakaway() / h).ceil() as usize;
    let scheme = Box::new(StewartTrinkle::new(Default::default(), solver(&cone())));
    let system = block(&[0.0, -2.0 * G], StickSlip::STIFFNESS, exact.speed);
    let mut forces = Vec::new();
    run(system, scheme, (vec![0.0; 2], vec![exact.speed, 0.0]), (h, 2.0 * exact.breakaway()), |simulation| {
        forces.push(simulation.last_step().solution.contacts[0].tangent[0] / h);
    });
    let normal = 2.0 * G;
    let largest = forces.iter().fold(0.0f64, |most, force| most.max(*force));
    let broke = forces.iter().position(|force| (force - KINETIC * normal).abs() < 1e-9 * normal && *force < largest);
    assert!(largest <= STATIC * normal * (1.0 + 1e-9), "{largest}");
    assert!(largest > STATIC * normal - StickSlip::STIFFNESS * exact.speed * h * 1.01, "{largest}");
    let slides_from = forces
        .windows(2)
        .position(|pair| pair[0] > 1.4 * KINETIC * normal && (pair[1] - KINETIC * normal).abs() < 1e-9);
    assert!(broke.is_some() && slides_from.is_some_and(|place| place.abs_diff(first) <= 2), "{slides_from:?} {first}");
}

#[test]
fn the_audit_sees_a_static_coefficient_that_slides() {
    // A step by Coulomb's law with the static coefficient, on a slope where it slides; then it is
    // told of the kinetic one.
    let (along, onto) = weight(0.8);
    let system = block(&[along, onto], 0.0, 0.0);
    let mut coulomb = system.data().contacts[0].clone();
    (coulomb.mu, coulomb.static_mu) = (STATIC, None);
    let single = LinearSystem::new(LinearSystemData {
        coordinates: vec!["x".into(), "y".into()],
        mass: vec![vec![2.0, 0.0], vec![0.0, 2.0]],
        force: vec![along, onto],
        contacts: vec![coulomb],
        ..Default::default()
    })
    .unwrap();
    let mut scheme = StewartTrinkle::new(Default::default(), solver(&cone()));
    let state = State::new(0.0, vec![0.0; 2], vec![0.0; 2]);
    let mut step = stiction_dynamics::Step::default();
    scheme.step(&single, &state, 0.01, &mut step).unwrap();
    assert!(Audit::default().observe(&single, &state, &step).cone_violation < 1e-12);
    step.contacts[0].friction = stiction_dynamics::FrictionLaw::Coulomb { mu: KINETIC };
    step.contacts[0].static_mu = Some(STATIC);
    let found = Audit::default().observe(&system, &state, &step).cone_violation;
    assert!(found > 0.05, "{found}");
}

#[test]
fn a_system_that_does_not_say_so_is_refused() {
    struct Silent(LinearSystem);
    impl MechanicalSystem for Silent {
        fn velocity_count(&self) -> usize {
            2
        }
        fn mass_matrix(&self, t: f64, q: &[f64], out: &mut stiction_dynamics::Inertia) {
            self.0.mass_matrix(t, q, out);
        }
        fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
            self.0.force(t, q, v, k);
        }
        fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<stiction_dynamics::Contact>) {
            self.0.contacts(t, q, horizon, out);
        }
    }
    for (name, _, mut scheme) in schemes(&cone()) {
        let system = Silent(block(&[0.0, -2.0 * G], 0.0, 0.0));
        let state = State::new(0.0, vec![0.0; 2], vec![0.0; 2]);
        let made = scheme.step(&system, &state, 0.01, &mut stiction_dynamics::Step::default());
        // The event-driven scheme reads both coefficients by itself.
        match name {
            "event-driven" => made.unwrap(),
            _ => assert!(made.unwrap_err().to_string().contains("let it be true"), "{name}"),
        }
    }
    let mut data = LinearContact { name: "c".into(), normal: vec![1.0], mu: 0.4, ..Default::default() };
    data.static_mu = Some(0.3);
    let system = LinearSystem::new(LinearSystemData {
        coordinates: vec!["x".into()],
        mass: vec![vec![1.0]],
        contacts: vec![data],
        ..Default::default()
    });
    assert!(system.unwrap_err().to_string().contains("give at least the coefficient of friction"));
}

#[test]
fn impacts_have_the_static_coefficient_in_steps_and_the_kinetic_one_by_events() {
    // A body that is hit off its centre: M = [[2, 1], [1, 2]], falling with 1 m/s. To stick it
    // needs half of the normal impulse, between the two coefficients. Time-stepping schemes choose
    // the static one for what does not slide before, and it sticks; the event-driven one makes
    // impacts with the kinetic one, c = 1.875 and Δv_x = (0.8 - 1) c / 3.
    let system = || {
        LinearSystem::new(LinearSystemData {
            coordinates: vec!["x".into(), "y".into()],
            mass: vec![vec![2.0, 1.0], vec![1.0, 2.0]],
            contacts: vec![LinearContact {
                name: "ground".into(),
                normal: vec![0.0, 1.0],
                tangents: vec![vec![1.0, 0.0]],
                mu: KINETIC,
                static_mu: Some(STATIC),
                ..Default::default()
            }],
            ..Default::default()
        })
        .unwrap()
    };
    for (name, _, scheme) in schemes(&cone()) {
        let (end, _) = run(system(), scheme, (vec![0.0; 2], vec![0.0, -1.0]), (0.01, 0.05), |_| {});
        let expected = if name == "event-driven" { -0.125 } else { 0.0 };
        assert!((end.v[0] - expected).abs() < 1e-9 && end.v[1].abs() < 1e-9, "{name}: {end:?}");
    }
    // What slides before goes on with the kinetic one in all of them: 0.5 m/s lose 0.4 of the 1
    // m/s, where the static one would take all.
    for (name, _, scheme) in schemes(&cone()) {
        let (end, _) = run(block(&[0.0, 0.0], 0.0, 0.0), scheme, (vec![0.0; 2], vec![0.5, -1.0]), (0.01, 0.05), |_| {});
        assert!((end.v[0] - 0.1).abs() < 1e-9 && end.v[1].abs() < 1e-9, "{name}: {end:?}");
    }
}

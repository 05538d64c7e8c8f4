//! Friction that no load changes, with any convex set and with two bounds ([ST96] §3.5 and its
//! remark), against closed forms in every scheme that treats it; refused by name where one does
//! not.
//!
//! A puck of 1 kg that rests is pushed by a constant force $f$. What friction gives back is the
//! point of the set nearest to $-f$, so that it begins to slide with the acceleration $f - P_K(f)$
//! for a set that is its own reflection, and keeps that direction: friction stays where it is. So
//! velocities are exact in every scheme.

mod capsule;

use std::sync::Arc;

use capsule::Capsule;

use stiction_dynamics::{
    AlternatingSettings, Audit, Contact, ContactCondition, ContactMethod, ContactProblem, ContactSolution,
    ContactSolver, ConvexSet, EventDriven, EventDrivenSettings, ExactConeSettings, FrictionElement, FrictionLaw,
    FrictionShape, ImplicitNcp, ImplicitNcpSettings, Inertia, MechanicalSystem, MoreauMidpoint, MoreauMidpointSettings,
    PhantomInertiaSettings, PlanarRelaySettings, Polytope, PyramidSettings, Row, Scheme, Simulation,
    SpatialRelaySettings, State, StewartTrinkle, StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings,
};

/// A puck with unit inertia in the plane and about its axis, pushed by a force, on friction along
/// the first coordinates.
struct Puck {
    force: [f64; 3],
    element: FrictionElement,
}

impl Puck {
    fn new(force: [f64; 3], tangent_count: usize, bound: f64, shape: FrictionShape) -> Self {
        let unit = |k: usize| Row::from_dense(&std::array::from_fn::<f64, 3, _>(|i| f64::from(u8::from(i == k))));
        let tangents = (0..tangent_count).map(unit).collect();
        Self { force, element: FrictionElement { tangents, bound, shape, ..Default::default() } }
    }
}

impl MechanicalSystem for Puck {
    fn velocity_count(&self) -> usize {
        3
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0; 3]);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&self.force);
    }
    fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}
    fn has_static_friction(&self) -> bool {
        self.element.static_bound.is_some()
    }
    fn friction_elements(&self, _t: f64, _q: &[f64], out: &mut Vec<FrictionElement>) {
        out.push(self.element.clone());
    }
}

fn solver(method: &ContactMethod) -> ContactSolver {
    ContactSolver::new(method.clone()).unwrap()
}

fn pyramid() -> ContactMethod {
    ContactMethod::Pyramid(PyramidSettings::default())
}

fn cone() -> ContactMethod {
    ContactMethod::Cone(ExactConeSettings::default())
}

/// The time-stepping schemes, then the event-driven one.
fn schemes(method: &ContactMethod) -> Vec<(&'static str, Box<dyn Scheme>)> {
    vec![
        ("stewart-trinkle", Box::new(StewartTrinkle::new(StewartTrinkleSettings::default(), solver(method)))),
        ("moreau-midpoint", Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver(method)))),
        ("implicit-ncp", Box::new(ImplicitNcp::new(ImplicitNcpSettings::default(), solver(method)))),
        ("trapezoidal", Box::new(Trapezoidal::new(TrapezoidalSettings::default(), solver(method)))),
        ("event-driven", Box::new(EventDriven::new(EventDrivenSettings::default(), solver(method)))),
    ]
}

/// The velocity after one second from this one on, with the audit of the run.
fn run(puck: Puck, scheme: Box<dyn Scheme>, v: [f64; 3]) -> (Vec<f64>, Audit) {
    let grid = TimeGrid { start: 0.0, end: 1.0, step: 1.0 / 64.0 };
    let mut simulation = Simulation::new(Box::new(puck), scheme, State::new(0.0, vec![0.0; 3], v.to_vec()), grid);
    let mut audit = Audit::default();
    while !simulation.is_finished() {
        simulation.step().unwrap();
        let seen = audit.observe(simulation.system(), simulation.before(), simulation.last_step());
        assert!(seen.cone_violation.max(seen.dissipation_defect).max(seen.momentum) < 1e-9, "{seen:?}");
        assert!(seen.roundness_defect < 1e-9, "the set is solved as it is: {seen:?}");
    }
    (simulation.state().v.clone(), audit)
}

fn assert_close(found: &[f64], expected: [f64; 3], what: &str) {
    let error = found.iter().zip(expected).fold(0.0f64, |error, (a, b)| error.max((a - b).abs()));
    assert!(error < 1e-9, "{what}: {found:?} and not {expected:?}");
}

#[test]
fn polytopes_by_their_corners_and_by_half_spaces() {
    // A diamond with the corners (±1, 0) and (0, ±2), given by its sides; a triangle, given by its
    // corners.
    let sides = [[1.0, 0.5, 0.0], [1.0, -0.5, 0.0], [-1.0, 0.5, 0.0], [-1.0, -0.5, 0.0]];
    let diamond = || FrictionShape::Polytope(Arc::new(Polytope::from_half_spaces(&sides, 2).unwrap()));
    let corners = vec![[1.0, 0.0, 0.0], [-0.5, 0.5, 0.0], [-0.5, -1.0, 0.0]];
    let triangle = || FrictionShape::Polytope(Arc::new(Polytope::from_corners(corners.clone()).unwrap()));
    // Friction is the point nearest to -f, worked out by hand; twice the bound doubles it.
    let cases = [
        // (0.49, 1) is inside; (2, 2) leads to the side 2 x + y = 2 at (0.4, 1.2); (0, 5) to the
        // corner (0, 2).
        (diamond(), 1.0, [0.49, 1.0, 0.0], [0.0, 0.0, 0.0]),
        (diamond(), 1.0, [2.0, 2.0, 0.0], [1.6, 0.8, 0.0]),
        (diamond(), 2.0, [4.0, 4.0, 0.0], [3.2, 1.6, 0.0]),
        (diamond(), 1.0, [0.0, 5.0, 0.0], [0.0, 3.0, 0.0]),
        // Pushed to the left, the corner (1, 0) holds 1 N; to the right the side x = -0.5 half of
        // that, at the height 0.
        (triangle(), 1.0, [-3.0, 0.0, 0.0], [-2.0, 0.0, 0.0]),
        (triangle(), 1.0, [3.0, 0.0, 0.0], [2.5, 0.0, 0.0]),
        (triangle(), 2.0, [0.9, 0.5, 0.0], [0.0, 0.0, 0.0]),
    ];
    for (shape, bound, force, expected) in cases {
        let all = schemes(&pyramid());
        for (name, scheme) in all.into_iter().filter(|(name, _)| *name != "event-driven") {
            let (v, _) = run(Puck::new(force, 2, bound, shape.clone()), scheme, [0.0; 3]);
            assert_close(&v, expected, &format!("{name} under {force:?}"));
        }
    }
    // Torsion is one of the directions: pushed and turned, an octahedron with the corners ±1, ±1,
    // ±0.5 has the facet x + y + 2 r = 1.
    let octahedron = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]].map(|c: [f64; 3]| [c, c.map(|c| -c)]).concat();
    for (name, scheme) in schemes(&pyramid()).into_iter().filter(|(name, _)| *name != "event-driven") {
        let shape = FrictionShape::Polytope(Arc::new(Polytope::from_corners(octahedron.clone()).unwrap()));
        // (1, 1, 1) is by 3 / √6 outside of it: (1, 1, 1) - (1, 1, 2) / 2 is on its edge r = 0.
        let (v, _) = run(Puck::new([1.0, 1.0, 1.0], 3, 1.0, shape), scheme, [0.0; 3]);
        assert_close(&v, [0.5, 0.5, 1.0], name);
    }
}

#[test]
fn sets_of_a_user() {
    for tangent_count in [2, 3] {
        let axis = if tangent_count == 2 { [0.8, 0.6, 0.0] } else { [2.0 / 3.0, 1.0 / 3.0, -2.0 / 3.0] };
        let capsule = || Capsule { axis, half: 0.5, radius: 0.7, is_flat: tangent_count == 2 };
        let shape = FrictionLaw::convex(1.0, [1.0; 3], Arc::new(capsule())).unwrap().shape();
        for force in [[2.0, -0.4, 0.9], [0.3, 1.7, -0.2], [0.4, 0.1, 0.2]] {
            let force: [f64; 3] = std::array::from_fn(|k| if k < tangent_count { force[k] } else { 0.0 });
            let held = capsule().nearest(&force.map(|f| f / 1.5)).map(|y| 1.5 * y);
            let expected = std::array::from_fn(|k| force[k] - held[k]);
            for (name, scheme) in schemes(&cone()).into_iter().filter(|(name, _)| *name != "event-driven") {
                let (v, _) = run(Puck::new(force, tangent_count, 1.5, shape.clone()), scheme, [0.0; 3]);
                assert_close(&v, expected, &format!("{name} under {force:?}, {tangent_count} rows"));
            }
        }
    }
}

#[test]
fn a_bound_of_its_own_for_what_sticks() {
    // 4 N while it slides, 6 N while it sticks: under 5 N it rests, and goes on with 1 m/s² if it
    // moves; under 7 N it breaks away.
    for name in ["stewart-trinkle", "moreau-midpoint", "implicit-ncp", "trapezoidal", "event-driven"] {
        for (force, start, expected, is_held) in
            [(5.0, 0.0, 0.0, true), (5.0, 0.3, 1.3, false), (7.0, 0.0, 3.0, false), (3.0, 0.0, 0.0, false)]
        {
            let (_, scheme) = schemes(&cone()).into_iter().find(|(other, _)| *other == name).unwrap();
            let mut puck = Puck::new([force, 0.0, 0.0], 1, 4.0, FrictionShape::Ball);
            puck.element.static_bound = Some(6.0);
            let (v, audit) = run(puck, scheme, [start, 0.0, 0.0]);
            assert_close(&v, [expected, 0.0, 0.0], &format!("{name} under {force} N from {start} m/s"));
            assert_eq!(audit.held_count, if is_held { audit.step_count } else { 0 }, "{name} under {force} N");
            assert_eq!(audit.undecided_count, 0, "{name}");
        }
        // Thrown against the force it stops after 0.3 / 9 s, and stays.
        let (_, scheme) = schemes(&cone()).into_iter().find(|(other, _)| *other == name).unwrap();
        let mut puck = Puck::new([5.0, 0.0, 0.0], 1, 4.0, FrictionShape::Ball);
        puck.element.static_bound = Some(6.0);
        let (v, _) = run(puck, scheme, [-0.3, 0.0, 0.0]);
        assert!(v[0].abs() < 1e-12, "{name}: {v:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let corners = vec![[1.0, 0.0, 0.0], [-0.5, 0.5, 0.0], [-0.5, -1.0, 0.0]];
    let polytope = || FrictionShape::Polytope(Arc::new(Polytope::from_corners(corners.clone()).unwrap()));
    let capsule = Capsule { axis: [1.0, 0.0, 0.0], half: 0.5, radius: 0.7, is_flat: true };
    let convex = FrictionLaw::convex(1.0, [1.0; 3], Arc::new(capsule)).unwrap().shape();
    let alternating = ContactMethod::Alternating(AlternatingSettings::default());
    let refused = |name: &str, method: ContactMethod, shape: &FrictionShape, count: usize| {
        let (_, mut scheme) = schemes(&method).into_iter().find(|(other, _)| *other == name).unwrap();
        let puck = Puck::new([2.0, 2.0, 0.0], count, 1.0, shape.clone());
        let mut out = stiction_dynamics::Step::default();
        let error = scheme.step(&puck, &State::new(0.0, vec![0.0; 3], vec![0.0; 3]), 0.01, &mut out).unwrap_err();
        error.to_string()
    };
    let polygonal = [
        (cone(), "which only the method `pyramid` treats"),
        (alternating.clone(), "which only the method `pyramid` treats"),
        (ContactMethod::SpatialRelay(SpatialRelaySettings::default()), "choose the method `cone` or `pyramid`"),
        (ContactMethod::PlanarRelay(PlanarRelaySettings::default()), "choose the method `cone` or `pyramid`"),
        (ContactMethod::PhantomInertia(PhantomInertiaSettings::default()), "choose the method `cone` or `pyramid`"),
    ];
    for (method, remedy) in polygonal {
        let message = refused("stewart-trinkle", method, &polytope(), 2);
        assert!(message.contains("friction element 0") && message.contains(remedy), "{message}");
    }
    for method in [pyramid(), alternating.clone(), ContactMethod::PlanarRelay(PlanarRelaySettings::default())] {
        let message = refused("moreau-midpoint", method, &convex, 2);
        assert!(message.contains("friction element 0") && message.contains("choose the method `cone`"), "{message}");
    }
    let message = refused("stewart-trinkle", alternating, &FrictionShape::DiscAndInterval, 3);
    assert!(message.contains("friction element 0") && message.contains("`alternating`"), "{message}");
    for (method, shape) in [(pyramid(), polytope()), (cone(), convex.clone())] {
        let message = refused("event-driven", method, &shape, 2);
        assert!(
            message.contains("friction element 0") && message.contains("choose a time-stepping scheme"),
            "{message}"
        );
    }
    // More directions than rows.
    let message = refused("stewart-trinkle", pyramid(), &polytope(), 1);
    assert!(message.contains("direction 1 of friction element 0 is not along its 1 tangent rows"), "{message}");
    let message = refused("stewart-trinkle", cone(), &convex, 1);
    assert!(message.contains("friction element 0 has more directions than its 1 tangent rows"), "{message}");
    // Two bounds of which the system does not speak.
    let mut puck = Puck::new([2.0, 2.0, 0.0], 2, 1.0, FrictionShape::Ball);
    puck.element.static_bound = Some(2.0);
    struct Silent(Puck);
    impl MechanicalSystem for Silent {
        fn velocity_count(&self) -> usize {
            3
        }
        fn mass_matrix(&self, t: f64, q: &[f64], out: &mut Inertia) {
            self.0.mass_matrix(t, q, out);
        }
        fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
            self.0.force(t, q, v, k);
        }
        fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<Contact>) {}
        fn friction_elements(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
            self.0.friction_elements(t, q, out);
        }
    }
    let mut scheme = StewartTrinkle::new(StewartTrinkleSettings::default(), solver(&cone()));
    let mut out = stiction_dynamics::Step::default();
    let start = State::new(0.0, vec![0.0; 3], vec![0.0; 3]);
    let message = scheme.step(&Silent(puck), &start, 0.01, &mut out).unwrap_err().to_string();
    assert!(message.contains("friction element 0") && message.contains("has_static_friction"), "{message}");
}

#[test]
fn the_audit_sees_a_static_bound_that_slides() {
    // A step that slides with 6 N under 9 N; then it is told that 6 N are the bound of what sticks,
    // and 4 N that of what slides.
    let puck = |bound: f64, held: Option<f64>| {
        let mut puck = Puck::new([9.0, 0.0, 0.0], 1, bound, FrictionShape::Ball);
        puck.element.static_bound = held;
        puck
    };
    let mut scheme = StewartTrinkle::new(StewartTrinkleSettings::default(), solver(&cone()));
    let state = State::new(0.0, vec![0.0; 3], vec![0.0; 3]);
    let mut step = stiction_dynamics::Step::default();
    scheme.step(&puck(6.0, None), &state, 0.01, &mut step).unwrap();
    assert!(Audit::default().observe(&puck(6.0, None), &state, &step).cone_violation < 1e-12);
    (step.friction[0].bound, step.friction[0].static_bound) = (4.0, Some(6.0));
    let found = Audit::default().observe(&puck(4.0, Some(6.0)), &state, &step).cone_violation;
    assert!(found > 0.05, "{found}");
}

#[test]
fn the_alternation_knows_constant_bounds_and_drifts_in_units_of_semi_axes() {
    // A contact with a constant part of its bound, on a belt, in an ellipse: normal and tangential
    // problems do not meet, so that one round solves both.
    let mut problem = ContactProblem { free_motion: vec![1.0, 0.5, -1.0], ..Default::default() };
    problem.inertia.set_diagonal(&[2.0, 1.5, 1.0]);
    problem.inertia.factor().unwrap();
    problem.contacts.push(ContactCondition {
        normal: Row::from_dense(&[0.0, 0.0, 1.0]),
        tangents: [Row::from_dense(&[1.0]), Row::from_dense(&[0.0, 1.0])].into_iter().collect(),
        tangent_bias: [0.4, -1.7, 0.0],
        mu: 0.3,
        friction_axes: [1.0, 0.5, 1.0],
        extra_bound: 0.2,
        ..Default::default()
    });
    let solve = |method: ContactMethod| {
        let mut solution = ContactSolution::default();
        solver(&method).solve(&problem, &mut solution).unwrap();
        assert!(solution.report.is_solved(), "{:?}", solution.report);
        solution
    };
    let exact = solve(cone());
    let found = solve(ContactMethod::Alternating(AlternatingSettings::default()));
    let error = exact.motion.iter().zip(&found.motion).fold(0.0f64, |error, (a, b)| error.max((a - b).abs()));
    assert!(error < 1e-9, "{:?} and not {:?}", found.motion, exact.motion);
    // On the ellipse with the bound 0.3 · 1 + 0.2.
    let [t, o, _] = found.contacts[0].tangent;
    assert!((t.hypot(o / 0.5) - 0.5).abs() < 1e-9, "{t} {o}");
}

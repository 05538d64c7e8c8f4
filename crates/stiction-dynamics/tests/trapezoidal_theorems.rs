//! The theorems of [PAGT] §§ 3 and 8 on random systems: orders of the linear rule, and the bound on
//! the kinetic energy.

use std::f64::consts::FRAC_PI_3;

use faer::{Mat, Side};
use stiction_dynamics::families::Generator;
use stiction_dynamics::reference::{BentOscillator, SpringOrbit};
use stiction_dynamics::{
    ClosingTime, Contact, ContactId, ContactMethod, ContactSolver, ForceCause, ForceJacobians, FrictionLaw, ImpactLaw,
    Inertia, JacobianEntry, JacobianKind, Jacobians, MechanicalSystem, Restitution, Row, Scheme, Simulation, State,
    Step, StepKind, TimeGrid, TotalCone, Trapezoidal, TrapezoidalRule, TrapezoidalSettings,
};

fn scheme(settings: TrapezoidalSettings) -> Trapezoidal {
    Trapezoidal::new(settings, ContactSolver::new(ContactMethod::default()).unwrap())
}

fn one_step(system: &dyn MechanicalSystem, start: &State, h: f64, settings: TrapezoidalSettings) -> State {
    let mut step = Step::default();
    scheme(settings).step(system, start, h, &mut step).unwrap();
    assert!(step.h == h && step.report.converged);
    step.state
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn modified() -> TrapezoidalSettings {
    TrapezoidalSettings { paper: true, iterate: true, ..Default::default() }
}

fn classical() -> TrapezoidalSettings {
    TrapezoidalSettings { rule: TrapezoidalRule::Classical, ..modified() }
}

/// A random system with constant inertia: gyroscopic forces F(v) v with an antisymmetric F, a
/// linear spring and damper, a cubic spring where it is asked for, a load that swings, and fixed
/// walls.
#[derive(Clone)]
struct Generic {
    mass: Mat<f64>,
    stiffness: Mat<f64>,
    damping: Mat<f64>,
    load: Vec<f64>,
    /// F(v) = Σ v_k A_k.
    gyroscopic: Vec<Mat<f64>>,
    cubic: f64,
    /// By how much the definite derivatives are off.
    wrong: Option<[Mat<f64>; 2]>,
    walls: Vec<Wall>,
}

#[derive(Clone)]
struct Wall {
    normal: Vec<f64>,
    tangents: Vec<Vec<f64>>,
    mu: f64,
    restitution: f64,
}

fn random_matrix(random: &mut Generator, n: usize) -> Mat<f64> {
    Mat::from_fn(n, n, |_, _| random.uniform(-1.0, 1.0))
}

impl Generic {
    fn new(random: &mut Generator, n: usize) -> Self {
        let factor = random_matrix(random, n);
        let mut mass = &factor * factor.transpose();
        (0..n).for_each(|i| mass[(i, i)] += 0.5);
        let [a, b] = [0; 2].map(|_| random_matrix(random, n));
        let gyroscopic = (0..n).map(|_| {
            let a = random_matrix(random, n);
            &a - a.transpose()
        });
        Self {
            gyroscopic: gyroscopic.collect(),
            mass,
            stiffness: &a * a.transpose(),
            damping: &b * b.transpose(),
            load: (0..n).map(|_| random.uniform(-5.0, 5.0)).collect(),
            cubic: 0.0,
            wrong: None,
            walls: Vec::new(),
        }
    }

    fn coriolis(&self, v: &[f64]) -> Mat<f64> {
        let n = v.len();
        self.gyroscopic.iter().zip(v).fold(Mat::zeros(n, n), |sum, (a, v)| sum + faer::Scale(*v) * a)
    }

    /// ‖B‖ as a map from velocities, measured by the root of their energy, to forces, measured by
    /// that of the energy they give.
    fn operator_norm(&self, b: &Mat<f64>) -> f64 {
        let root = self.inverse_root();
        (&root * b * &root).singular_values().unwrap()[0]
    }

    /// M^{-1/2}.
    fn inverse_root(&self) -> Mat<f64> {
        let eigen = self.mass.self_adjoint_eigen(Side::Lower).unwrap();
        let n = self.mass.nrows();
        let scaled = Mat::from_fn(n, n, |i, j| eigen.U()[(i, j)] / eigen.S().column_vector()[j].sqrt());
        &scaled * eigen.U().transpose()
    }

    /// The length of a force.
    fn force_norm(&self, force: &[f64]) -> f64 {
        let force = Mat::from_fn(force.len(), 1, |i, _| force[i]);
        (&self.inverse_root() * &force).norm_l2()
    }

    fn speed(&self, v: &[f64]) -> f64 {
        let v = Mat::from_fn(v.len(), 1, |i, _| v[i]);
        (v.transpose() * &self.mass * &v)[(0, 0)].sqrt()
    }
}

impl MechanicalSystem for Generic {
    fn velocity_count(&self) -> usize {
        self.mass.nrows()
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        let n = self.mass.nrows();
        let entries: Vec<f64> = (0..n * n).map(|k| self.mass[(k / n, k % n)]).collect();
        out.push_block(n, &entries);
    }

    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        let n = q.len();
        let f = self.coriolis(v);
        for i in 0..n {
            k[i] = self.load[i] * (3.0 * t).sin() - self.cubic * q[i].powi(3);
            k[i] += (0..n)
                .map(|j| f[(i, j)] * v[j] - self.stiffness[(i, j)] * q[j] - self.damping[(i, j)] * v[j])
                .sum::<f64>();
        }
    }

    fn force_jacobians(&self, kind: JacobianKind, t: f64, q: &[f64], v: &[f64], out: &mut ForceJacobians) {
        if kind == JacobianKind::Exact {
            return out.append_differences(self, t, q, v);
        }
        let n = q.len();
        let f = self.coriolis(v);
        let cause = ForceCause::Applied;
        for (row, column) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let mut values = [-self.stiffness[(row, column)], f[(row, column)] - self.damping[(row, column)]];
            if let Some(wrong) = &self.wrong {
                values.iter_mut().zip(wrong).for_each(|(value, wrong)| *value += wrong[(row, column)]);
            }
            out.by_configuration.push(JacobianEntry { row, column, value: values[0], cause });
            out.by_velocity.push(JacobianEntry { row, column, value: values[1], cause });
        }
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        for (number, wall) in self.walls.iter().enumerate() {
            let normal = Row::from_dense(&wall.normal);
            let gap = normal.dot(q);
            if gap <= horizon {
                out.push(Contact {
                    id: ContactId::number(number as u32),
                    gap,
                    normal,
                    tangents: wall.tangents.iter().map(|row| Row::from_dense(row)).collect(),
                    friction: FrictionLaw::Coulomb { mu: wall.mu },
                    restitution: Restitution { law: ImpactLaw::Poisson, normal: wall.restitution, tangential: 0.0 },
                    ..Default::default()
                });
            }
        }
    }
}

/// Slopes of the differences of positions and velocities after one step of two schemes, for steps
/// of `2^-power` and an eighth of it.
fn slopes(system: &dyn MechanicalSystem, start: &State, power: i32, settings: [TrapezoidalSettings; 2]) -> [f64; 2] {
    let differences = [power, power + 3].map(|power| {
        let h = 0.5f64.powi(power);
        let [a, b] = settings.clone().map(|settings| one_step(system, start, h, settings));
        [distance(&a.q, &b.q), distance(&a.v, &b.v)]
    });
    [0, 1].map(|i| (differences[0][i] / differences[1][i]).log2() / 3.0)
}

#[test]
fn wrong_derivatives_cost_an_order_in_velocities_and_not_in_positions() {
    // Theorem 3.4 (ii) and, without what is wrong, (iii).
    for seed in 0..40 {
        let mut random = Generator::new(seed);
        let n = 1 + random.below(4);
        let mut system = Generic { cubic: 2.0, ..Generic::new(&mut random, n) };
        let [q, v] = [0; 2].map(|_| (0..n).map(|_| random.uniform(0.5, 1.0)).collect::<Vec<f64>>());
        let start = State::new(0.3, q, v);
        system.wrong = Some([0; 2].map(|_| random_matrix(&mut random, n)));
        let definite = TrapezoidalSettings { paper: true, ..Default::default() };
        let [q, v] = slopes(&system, &start, 9, [definite, modified()]);
        assert!((q - 3.0).abs() < 0.2 && (v - 2.0).abs() < 0.2, "seed {seed}: {q} and {v}");
        // The exact ones, with forces that do not depend on time: the scheme has these in the
        // middle of the step.
        system.load.fill(0.0);
        let exact = TrapezoidalSettings { jacobians: Jacobians::Exact, ..Default::default() };
        let [q, v] = slopes(&system, &start, 7, [exact, modified()]);
        assert!(q > 3.7 && v > 2.7, "seed {seed}: {q} and {v}");
    }
}

#[test]
fn classical_and_modified_rule_differ_by_the_cube_of_the_step_and_not_where_the_inertia_is_constant() {
    for t in [0.0, 0.4, 1.3] {
        let start = BentOscillator::solution(t);
        let [q, v] = slopes(&BentOscillator, &start, 7, [classical(), modified()]);
        assert!((q - 4.0).abs() < 0.1 && (v - 3.0).abs() < 0.1, "Theorem 3.2: {q} and {v}");
        let exact = TrapezoidalSettings { jacobians: Jacobians::Exact, ..Default::default() };
        let [q, v] = slopes(&BentOscillator, &start, 7, [exact, modified()]);
        assert!((q - 3.0).abs() < 0.1 && (v - 2.0).abs() < 0.1, "Theorem 3.3: {q} and {v}");
    }
    // (2.4) itself, by substitution.
    let (start, h) = (BentOscillator::solution(0.4), 0.1);
    let end = one_step(&BentOscillator, &start, h, classical());
    let acceleration = |state: &State| {
        let (mut inertia, mut k) = (Inertia::default(), vec![0.0; 2]);
        BentOscillator.mass_matrix(state.t, &state.q, &mut inertia);
        BentOscillator.force(state.t, &state.q, &state.v, &mut k);
        inertia.factor().unwrap();
        inertia.solve_in_place(&mut k);
        k
    };
    let (first, last) = (acceleration(&start), acceleration(&end));
    for i in 0..2 {
        let expected = start.v[i] + 0.5 * h * (first[i] + last[i]);
        assert!((end.v[i] - expected).abs() < 1e-12, "{} and {expected}", end.v[i]);
        assert!((end.q[i] - start.q[i] - 0.5 * h * (start.v[i] + end.v[i])).abs() < 1e-14);
    }
    let orbit = SpringOrbit { stiffness: 20.0, rest_length: 1.0 };
    let start = orbit.solution(1.5, 0.0);
    let [a, b] = [classical(), modified()].map(|settings| one_step(&orbit, &start, 0.05, settings));
    assert!(distance(&a.v, &b.v) < 1e-13 && distance(&a.q, &b.q) < 1e-14);
}

#[test]
fn rules_have_their_orders_against_closed_forms() {
    let orbit = SpringOrbit { stiffness: 20.0, rest_length: 1.0 };
    let run = |bent: bool, settings: &TrapezoidalSettings, h: f64| {
        let system: Box<dyn MechanicalSystem> = if bent { Box::new(BentOscillator) } else { Box::new(orbit) };
        let solution = |t: f64| if bent { BentOscillator::solution(t) } else { orbit.solution(1.5, t) };
        let grid = TimeGrid { start: 0.0, end: 1.0, step: h };
        let mut run = Simulation::new(system, Box::new(scheme(settings.clone())), solution(0.0), grid);
        run.run().unwrap();
        distance(&run.state().q, &solution(1.0).q)
    };
    let linear = |jacobians| TrapezoidalSettings { jacobians, ..Default::default() };
    for (name, bent, settings, order) in [
        ("classical", true, classical(), 2.0f64),
        ("modified", true, modified(), 2.0),
        ("linear, M(t, q)", true, linear(Jacobians::Exact), 1.0),
        ("linear, exact derivatives", false, linear(Jacobians::Exact), 2.0),
        ("linear, (9.2)", false, linear(Jacobians::Definite), 1.0),
    ] {
        let ratio = run(bent, &settings, 0.5f64.powi(8)) / run(bent, &settings, 0.5f64.powi(9));
        assert!((ratio - 2f64.powf(order)).abs() < 0.05, "{name}: {ratio}");
    }
}

#[test]
fn the_kinetic_energy_is_bounded_as_theorem_8_1_says() {
    let (mut slid, mut collided, mut nearest) = (0, 0, 0.0f64);
    for seed in 0..60 {
        let mut random = Generator::new(seed);
        let n = 2 + random.below(4);
        let mut system = Generic::new(&mut random, n);
        // Walls through the start, some of which it runs into. At most half as many as coordinates,
        // so that they are not wedged as a rule.
        let mut vector = |n: usize| (0..n).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<f64>>();
        let walls: Vec<[Vec<f64>; 2]> = (0..n / 2).map(|_| [vector(n), vector(n)]).collect();
        let v = vector(n);
        for [normal, tangent] in walls {
            let (mu, restitution) = (random.uniform(0.0, 1.0), random.uniform(0.0, 1.0));
            system.walls.push(Wall { normal, tangents: vec![tangent], mu, restitution });
        }
        // The constants of (8.2) and (8.3), in the norms of the energy; positions by their own
        // length.
        let root = system.inverse_root();
        let c1 = system.force_norm(&system.load);
        let c2 = (&root * &system.stiffness).singular_values().unwrap()[0];
        let [c3, c4] = [&system.damping, &system.stiffness].map(|b| system.operator_norm(b));
        let c5 = c3;
        let m = root.singular_values().unwrap()[0];
        let end = 0.5;
        for power in [5, 7, 9] {
            let h = 0.5f64.powi(power);
            // One step: ρ' (1 - hα) ≤ ρ (1 + hα + h c₃ + h² c₄/2) + h (c₁ + c₂ |q|), |q'| ≤ |q| + h
            // m (ρ + ρ')/2.
            let alpha = 0.5 * (c5 + 0.5 * h * c4);
            let settings = TrapezoidalSettings { paper: true, ..Default::default() };
            let mut scheme = scheme(settings);
            let (mut state, mut step) = (State::new(0.0, vec![0.0; n], v.clone()), Step::default());
            let mut before_impact = 0.0;
            // The growth of a step in the form of (8.9), and the factor of collisions.
            let growth = |h: f64| {
                let c9 = ((1.0 + h * alpha + h * c3 + 0.5 * h * h * c4) / (1.0 - h * alpha) - 1.0) / h;
                c9.max((c1 + c2) / (1.0 - h * alpha)).max(m)
            };
            let (mut bound, mut factor) = (system.speed(&state.v).max(1.0), 1.0);
            while state.t < end - 1e-12 {
                let (rho, size) = (system.speed(&state.v), distance(&state.q, &vec![0.0; n]));
                let left = h - (state.t / h).fract() * h;
                let asked = if left < 1e-9 * h { h } else { left };
                scheme.step(&system, &state, asked, &mut step).unwrap();
                let (taken, after) = (step.h, system.speed(&step.state.v));
                match step.kind {
                    StepKind::Smooth => {
                        // A step that ends early is a part of one, with velocities between those of
                        // its ends.
                        if taken == asked {
                            let alpha = 0.5 * (c5 + 0.5 * taken * c4);
                            let most = rho * (1.0 + taken * (alpha + c3) + 0.5 * taken * taken * c4)
                                + taken * (c1 + c2 * size);
                            let most = most / (1.0 - taken * alpha);
                            assert!(
                                after <= most * (1.0 + 1e-12),
                                "seed {seed}, h {h}, t {}: {after} and {most}",
                                state.t
                            );
                            nearest = nearest.max(after / most);
                            slid += usize::from(step.solution.contacts.iter().any(|impulse| impulse.normal > 0.0));
                        }
                    }
                    StepKind::Impact => {
                        before_impact = rho;
                        assert!(after <= rho * (1.0 + 1e-12), "a compression loses energy");
                    }
                    StepKind::Decompression => {
                        let restitution: Vec<f64> =
                            step.contacts.iter().map(|contact| contact.restitution.normal).collect();
                        let mut cone = TotalCone::new(step.problem.clone()).unwrap();
                        // Contacts that were closed give nothing back.
                        let worst = cone.collision_constant(&restitution).unwrap();
                        let given: Vec<f64> =
                            step.restitution.iter().map(|given| f64::from(u8::from(*given > 0.0))).collect();
                        let given: Vec<f64> = restitution.iter().zip(given).map(|(e, given)| e * given).collect();
                        let constant = cone.collision_constant(&given).unwrap();
                        let gain = (after / before_impact).powi(2);
                        assert!(gain <= constant * (1.0 + 1e-9), "seed {seed}: {gain} and {constant}");
                        factor *= worst.max(constant).sqrt();
                        collided += 1;
                    }
                    _ => assert!(after <= rho * (1.0 + 1e-12)),
                }
                bound *= (2.0 * growth(h) * taken).exp();
                let reached = after.max(1.0 + distance(&step.state.q, &vec![0.0; n]));
                assert!(reached <= bound * factor, "seed {seed}, h {h}: {reached} and {bound}");
                std::mem::swap(&mut state, &mut step.state);
            }
        }
    }
    assert!(
        slid > 1000 && collided > 50 && nearest > 0.9,
        "{slid} steps with contact, {collided} collisions, {nearest}"
    );
}

/// A particle that falls on the unit circle.
struct Marble;

impl MechanicalSystem for Marble {
    fn velocity_count(&self) -> usize {
        2
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        (0..2).for_each(|_| out.push_scalar(1.0));
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[0.0, -9.81]);
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let length = q[0].hypot(q[1]);
        if length - 1.0 <= horizon {
            let normal = Row::from_dense(&[q[0] / length, q[1] / length]);
            let restitution = Restitution { law: ImpactLaw::Poisson, normal: 0.5, tangential: 0.0 };
            out.push(Contact { gap: length - 1.0, normal, restitution, ..Default::default() });
        }
    }
}

#[test]
fn the_cubic_of_the_gap_finds_collisions_to_the_fourth_order_and_the_same_motion() {
    // On the circle at 60° with the velocity (1, -2) at t = 0.
    let (sine, cosine) = FRAC_PI_3.sin_cos();
    let start =
        |t: f64| State::new(t, vec![cosine + t, sine - 2.0 * t - 0.5 * 9.81 * t * t], vec![1.0, -2.0 - 9.81 * t]);
    let settings = |closing_time| TrapezoidalSettings { closing_time, ..Default::default() };
    let errors = [3, 4, 5, 6].map(|power| {
        let h = 0.5f64.powi(power);
        let mut step = Step::default();
        scheme(settings(ClosingTime::Cubic)).step(&Marble, &start(-0.6 * h), h, &mut step).unwrap();
        (step.h - 0.6 * h).abs()
    });
    for pair in errors.windows(2) {
        assert!((3.5..4.5).contains(&(pair[0] / pair[1]).log2()), "{errors:?}");
    }
    let run = |closing_time| {
        let grid = TimeGrid { start: -0.1, end: 0.4, step: 0.05 };
        let mut run = Simulation::new(Box::new(Marble), Box::new(scheme(settings(closing_time))), start(-0.1), grid);
        let mut impacts = Vec::new();
        run.run_with(|s| {
            if s.last_step().kind == StepKind::Impact {
                impacts.push(s.state().t);
            }
        })
        .unwrap();
        (run.state().clone(), impacts)
    };
    let ((a, first), (b, second)) = (run(ClosingTime::Way), run(ClosingTime::Cubic));
    assert_eq!(first.len(), second.len());
    // What is left of a gap after a first cubic is closed by a second one.
    assert!(first[0].abs() < 1e-9 && (first[0] - second[0]).abs() < 1e-5, "{first:?} and {second:?}");
    assert!(distance(&a.q, &b.q) < 1e-4, "{a:?} and {b:?}");
}

/// One coordinate of 2 kg under the force $t^2 - 19.62$, above a floor that rises with 0.5 m/s.
struct Lift;

impl MechanicalSystem for Lift {
    fn velocity_count(&self) -> usize {
        1
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[2.0]);
    }
    fn force(&self, t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k[0] = t * t - 19.62;
    }
    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let gap = q[0] - 0.5 * t;
        if gap <= horizon {
            out.push(Contact { gap, normal: Row::from_dense(&[1.0]), normal_drift: -0.5, ..Default::default() });
        }
    }
}

#[test]
fn the_classical_rule_has_the_forces_of_both_ends() {
    // In flight: v' = v + h/2 (k(0) + k(h)) / m.
    let h = 0.25;
    let settings = TrapezoidalSettings { rule: TrapezoidalRule::Classical, iterate: true, ..Default::default() };
    let mut step = Step::default();
    scheme(settings).step(&Lift, &State::new(0.0, vec![9.0], vec![1.0]), h, &mut step).unwrap();
    let expected = 1.0 - 9.81 * h + 0.25 * h * h * h;
    assert!((step.state.v[0] - expected).abs() < 1e-14, "{:?}, not {expected}", step.state);
}

#[test]
fn the_cubic_knows_that_a_floor_rises() {
    // From 0.3 m with 1 m/s downwards. The way of a step is a parabola between its velocities, and
    // so is the gap: 0.3 - 1.5 t + a t²/2 with the mean acceleration a of the step.
    let (h, state) = (0.25, State::new(0.0, vec![0.3], vec![-1.0]));
    let settings = TrapezoidalSettings { closing_time: ClosingTime::Cubic, ..Default::default() };
    let mut step = Step::default();
    scheme(settings).step(&Lift, &state, h, &mut step).unwrap();
    let a = (step.state.v[0] + 1.0) / step.h;
    let expected = (-1.5 + (2.25 - 0.6 * a).sqrt()) / -a;
    assert!((step.h - expected).abs() < 1e-13, "{} and not {expected}", step.h);
}

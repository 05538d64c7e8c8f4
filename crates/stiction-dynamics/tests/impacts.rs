//! Impact laws side by side: what a row of balls and a rod do with each of them, and which of them
//! create energy.

use stiction_dynamics::{
    Audit, Contact, ContactId, ContactMethod, ContactSolver, FrictionLaw, ImpactLaw, ImpactOrder, Inertia,
    MechanicalSystem, Restitution, Row, Simulation, State, StepKind, TimeGrid, Trapezoidal, TrapezoidalSettings,
};

/// Three balls of unit mass in a row, the last two touching.
struct Cradle {
    restitution: Restitution,
}

impl MechanicalSystem for Cradle {
    fn velocity_count(&self) -> usize {
        3
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        (0..3).for_each(|_| out.push_scalar(1.0));
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        for i in 0..2 {
            let gap = q[i + 1] - q[i] - 1.0;
            if gap <= horizon {
                let mut normal = Row::new();
                normal.push(i, -1.0);
                normal.push(i + 1, 1.0);
                let (id, restitution) = (ContactId::number(i as u32), self.restitution);
                out.push(Contact { id, gap, normal, restitution, ..Default::default() });
            }
        }
    }
}

fn run(system: impl MechanicalSystem + 'static, start: State, settings: TrapezoidalSettings) -> (State, Audit) {
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let grid = TimeGrid { start: 0.0, end: 0.2, step: 0.01 };
    let mut simulation = Simulation::new(Box::new(system), Box::new(Trapezoidal::new(settings, solver)), start, grid);
    let mut audit = Audit::default();
    simulation
        .run_with(|s| {
            let step = audit.observe(s.system(), s.before(), s.last_step());
            assert!(step.momentum < 1e-11 && step.kinetic_balance < 1e-12, "{step:?}");
        })
        .unwrap();
    (simulation.state().clone(), audit)
}

#[test]
fn the_order_of_impacts_decides_what_the_cradle_does() {
    for law in [ImpactLaw::Newton, ImpactLaw::Poisson] {
        for (order, expected) in [
            (ImpactOrder::Simultaneous, [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]),
            (ImpactOrder::FastestFirst, [0.0, 0.0, 1.0]),
        ] {
            let restitution = Restitution { law, normal: 1.0, tangential: 0.0 };
            let start = State::new(0.0, vec![0.0, 1.105, 2.105], vec![1.0, 0.0, 0.0]);
            let settings = TrapezoidalSettings { impact_order: order, ..Default::default() };
            let (end, audit) = run(Cradle { restitution }, start, settings);
            for (v, expected) in end.v.iter().zip(expected) {
                assert!((v - expected).abs() < 1e-12, "{law:?} {order:?}: {:?}", end.v);
            }
            // All four keep the energy: with e = 1 and no friction, what the normal impulses take
            // they give back.
            assert!(audit.sum.energy.normal.abs() < 1e-12, "{law:?} {order:?}: {}", audit.sum.energy.normal);
        }
    }
}

#[test]
fn without_restitution_the_row_moves_on_together() {
    for order in [ImpactOrder::Simultaneous, ImpactOrder::FastestFirst] {
        let start = State::new(0.0, vec![0.0, 1.105, 2.105], vec![1.0, 0.0, 0.0]);
        let settings = TrapezoidalSettings { impact_order: order, ..Default::default() };
        let (end, audit) = run(Cradle { restitution: Restitution::default() }, start, settings);
        // Momentum 1 shared by three: 1/3 each; energy 1/2 - 1/6 lost. One after another it takes
        // many impacts to get there, the last of them slower than the rest speed and together.
        assert!(end.v.iter().all(|v| (v - 1.0 / 3.0).abs() < 1e-9), "{order:?}: {:?}", end.v);
        assert!((audit.sum.energy.normal + 1.0 / 3.0).abs() < 1e-9, "{}", audit.sum.energy.normal);
    }
}

/// A slender rod of unit mass and half length one that strikes the floor with its lower end, which
/// is at 45° below its centre.
struct StrikingRod {
    restitution: Restitution,
    mu: f64,
}

impl MechanicalSystem for StrikingRod {
    fn velocity_count(&self) -> usize {
        3
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        [1.0, 1.0, 1.0 / 3.0].into_iter().for_each(|mass| out.push_scalar(mass));
    }

    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
    }

    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let (sine, cosine) = q[2].sin_cos();
        let gap = q[1] - sine;
        if gap <= horizon {
            out.push(Contact {
                gap,
                normal: Row::from_dense(&[0.0, 1.0, -cosine]),
                tangents: [Row::from_dense(&[1.0, 0.0, sine])].into_iter().collect(),
                friction: FrictionLaw::Coulomb { mu: self.mu },
                restitution: self.restitution,
                ..Default::default()
            });
        }
    }
}

#[test]
fn newtons_law_and_poissons_as_printed_can_create_energy_and_the_audit_tells() {
    // The end slides forward when it strikes, and friction turns it back within the impact: Kane's
    // paradox. Newton's law then asks for more rebound than the impulse has energy for. Poisson's
    // law as printed gives impulses back without friction. With friction in the decompression, as
    // in the compression, a single contact only loses energy.
    let angle = std::f64::consts::FRAC_PI_4;
    let largest_gain = |law: ImpactLaw, restitution_friction: bool| {
        let gains = (0..60).map(|number| {
            let slip = -3.0 + 0.1 * f64::from(number);
            let restitution = Restitution { law, normal: 0.9, tangential: 0.0 };
            let start = State::new(0.0, vec![0.0, angle.sin() + 0.005, angle], vec![slip, -1.0, 0.0]);
            let energy = |v: &[f64]| 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2] / 3.0);
            let before = energy(&start.v);
            let settings = TrapezoidalSettings { restitution_friction, ..Default::default() };
            let (end, audit) = run(StrikingRod { restitution, mu: 0.5 }, start, settings);
            let gain = energy(&end.v) - before;
            // The audit knows it by cause, to rounding.
            let by_cause = audit.sum.energy.normal + audit.sum.energy.friction;
            assert!((by_cause - gain).abs() < 1e-12, "{law:?}: {by_cause} and not {gain}");
            gain
        });
        gains.fold(f64::NEG_INFINITY, f64::max)
    };
    assert!(largest_gain(ImpactLaw::Newton, false) > 0.01);
    assert!(largest_gain(ImpactLaw::Poisson, false) > 0.01);
    let with_friction = largest_gain(ImpactLaw::Poisson, true);
    assert!(with_friction <= 1e-12, "{with_friction}");
}

#[test]
fn a_collision_is_recorded_as_two_steps_without_length() {
    let restitution = Restitution { law: ImpactLaw::Poisson, normal: 0.5, tangential: 0.0 };
    let start = State::new(0.0, vec![0.0, 1.055, 3.0], vec![1.0, 0.0, 0.0]);
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let scheme = Box::new(Trapezoidal::new(TrapezoidalSettings::default(), solver));
    let grid = TimeGrid { start: 0.0, end: 0.1, step: 0.01 };
    let mut simulation = Simulation::new(Box::new(Cradle { restitution }), scheme, start, grid);
    let mut kinds = Vec::new();
    simulation
        .run_with(|s| {
            let step = s.last_step();
            if step.kind != StepKind::Smooth {
                assert_eq!(step.h, 0.0);
                assert!((s.state().t - 0.055).abs() < 1e-12, "{}", s.state().t);
                kinds.push((step.kind, step.solution.contacts[0].normal, step.restitution.first().copied()));
            }
        })
        .unwrap();
    // Compression to the common velocity 1/2 with the impulse 1/2; half of it comes back.
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    assert!(matches!(kinds[0], (StepKind::Impact, c, None) if (c - 0.5).abs() < 1e-14), "{kinds:?}");
    assert!(
        matches!(kinds[1], (StepKind::Decompression, c, Some(given)) if c.abs() < 1e-14 && (given - 0.25).abs() < 1e-14)
    );
    assert!((simulation.state().v[0] - 0.25).abs() < 1e-14 && (simulation.state().v[1] - 0.75).abs() < 1e-14);
}

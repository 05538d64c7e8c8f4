//! In the plane the friction pyramid, the relay functions, phantom inertia and the cone are one
//! law: the same trajectories.

use stiction_dynamics::reference::{Rod, Woodpecker};
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, ExactConeSettings, MechanicalSystem, MoreauMidpoint, MoreauMidpointSettings,
    PhantomInertiaSettings, PlanarRelaySettings, Scheme, Simulation, State, StewartTrinkle, StewartTrinkleSettings,
    TimeGrid,
};

/// Largest difference of any coordinate or velocity, relative to the largest of its kind in the
/// run.
const TOLERANCE: f64 = 1e-10;

fn methods() -> [(&'static str, ContactMethod); 4] {
    [
        ("pyramid", ContactMethod::default()),
        ("planar-relay", ContactMethod::PlanarRelay(PlanarRelaySettings::default())),
        ("phantom-inertia", ContactMethod::PhantomInertia(PhantomInertiaSettings::default())),
        ("cone", ContactMethod::Cone(ExactConeSettings::default())),
    ]
}

/// All states of a run, every step certified.
fn states(system: Box<dyn MechanicalSystem>, scheme: Box<dyn Scheme>, start: State, grid: TimeGrid) -> Vec<Vec<f64>> {
    let mut simulation = Simulation::new(system, scheme, start, grid);
    let (mut states, mut audit) = (Vec::new(), Audit::default());
    simulation
        .run_with(|s| {
            states.push(s.state().q.iter().chain(&s.state().v).copied().collect());
            audit.observe(s.system(), s.before(), s.last_step());
        })
        .unwrap();
    let worst = audit.worst;
    assert!(worst.residual <= 1e-10 && worst.momentum <= 1e-9 && worst.kinetic_balance <= 1e-10, "{worst:?}");
    assert!(worst.cone_violation <= 1e-9 && worst.dissipation_defect <= 1e-9, "{worst:?}");
    states
}

fn compare(what: &str, run: impl Fn(ContactSolver) -> Vec<Vec<f64>>) {
    let runs = methods().map(|(name, method)| (name, run(ContactSolver::new(method).unwrap())));
    let (_, reference) = &runs[0];
    let size = reference[0].len();
    let largest: Vec<f64> =
        (0..size).map(|i| reference.iter().fold(1e-3, |largest, state| state[i].abs().max(largest))).collect();
    for (name, states) in &runs[1..] {
        assert_eq!(states.len(), reference.len());
        for (step, (a, b)) in states.iter().zip(reference).enumerate() {
            for i in 0..size {
                let difference = (a[i] - b[i]).abs() / largest[i];
                assert!(difference <= TOLERANCE, "{what}, {name}: step {step}, column {i} differs by {difference:e}");
            }
        }
    }
}

#[test]
fn of_the_rod() {
    compare("rod", |solver| {
        let scheme = StewartTrinkle::new(StewartTrinkleSettings::default(), solver);
        let grid = TimeGrid { start: 0.0, end: 1.0, step: 1e-3 };
        states(Box::new(Rod::default()), Box::new(scheme), Rod::start(), grid)
    });
}

#[test]
fn of_the_woodpecker() {
    compare("woodpecker", |solver| {
        let scheme = MoreauMidpoint::new(MoreauMidpointSettings::default(), solver);
        let grid = TimeGrid { start: 0.0, end: 1.0, step: 1e-4 };
        states(Box::new(Woodpecker::default().system()), Box::new(scheme), Woodpecker::start(), grid)
    });
}

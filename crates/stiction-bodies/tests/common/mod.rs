//! Bodies, models and runs for the tests of joints.

mod model;

use stiction_bodies::glamx::{DMat3, DVec3};
use stiction_bodies::{Body, BodyKind, BodyShape, Multibody, MultibodyModel, PlacedShape, Pose, Shape};
use stiction_dynamics::scheme::stewart_trinkle::Version;
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, MoreauMidpoint, MoreauMidpointSettings, Scheme, Simulation, StewartTrinkle,
    StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings,
};

pub use model::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchemeName {
    Linear,
    FixedPoint,
    Moreau,
    Trapezoidal,
}

pub const SCHEMES: [SchemeName; 4] =
    [SchemeName::Linear, SchemeName::FixedPoint, SchemeName::Moreau, SchemeName::Trapezoidal];

pub fn rigid(name: &str, mass: f64, moments: DVec3, position: DVec3) -> Body {
    Body {
        name: name.into(),
        kind: BodyKind::Rigid { mass, inertia: DMat3::from_diagonal(moments) },
        pose: Pose { position, ..Pose::IDENTITY },
        turns: 0,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        shapes: Vec::new(),
        group: 0,
    }
}

pub fn point(name: &str, mass: f64, position: DVec3) -> Body {
    Body { kind: BodyKind::Point { mass }, ..rigid(name, mass, DVec3::ONE, position) }
}

pub fn sphere(radius: f64) -> BodyShape {
    BodyShape { placed: PlacedShape::centred(Shape::Sphere { radius }), material: 0 }
}

pub fn simulation(model: MultibodyModel, scheme: SchemeName, h: f64, end: f64) -> Simulation {
    let system = Multibody::new(model).unwrap();
    let start = system.start(0.0);
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let linear = StewartTrinkleSettings::default();
    let scheme: Box<dyn Scheme> = match scheme {
        SchemeName::Linear => Box::new(StewartTrinkle::new(linear, solver)),
        SchemeName::FixedPoint => {
            Box::new(StewartTrinkle::new(StewartTrinkleSettings { version: Version::FixedPoint, ..linear }, solver))
        }
        SchemeName::Moreau => Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver)),
        SchemeName::Trapezoidal => Box::new(Trapezoidal::new(TrapezoidalSettings::default(), solver)),
    };
    Simulation::new(Box::new(system), scheme, start, TimeGrid { start: 0.0, end, step: h })
}

/// A run to its end, audited.
pub fn simulate(model: MultibodyModel, scheme: SchemeName, h: f64, end: f64) -> (Simulation, Audit) {
    let mut simulation = simulation(model, scheme, h, end);
    let mut audit = Audit::default();
    simulation
        .run_with(|s| {
            audit.observe(s.system(), s.before(), s.last_step());
        })
        .unwrap();
    (simulation, audit)
}

//! Bodies, models and runs for the tests of joints.

use stiction_bodies::glamx::{DMat3, DVec3};
use stiction_bodies::{
    Body, BodyKind, BodyShape, Dimension, Material, MaterialTable, Multibody, MultibodyModel, PlacedShape, Pose, Shape,
    Surface,
};
use stiction_dynamics::scheme::stewart_trinkle::Version;
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, MoreauMidpoint, MoreauMidpointSettings, Scheme, Simulation, StewartTrinkle,
    StewartTrinkleSettings, TimeGrid, Trapezoidal, TrapezoidalSettings,
};

pub const GRAVITY: f64 = 9.81;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchemeName {
    Linear,
    FixedPoint,
    Moreau,
    Trapezoidal,
}

pub const SCHEMES: [SchemeName; 4] =
    [SchemeName::Linear, SchemeName::FixedPoint, SchemeName::Moreau, SchemeName::Trapezoidal];

/// The vector without what leaves the plane.
pub fn flat(dimension: Dimension, vector: DVec3) -> DVec3 {
    match dimension {
        Dimension::Plane => DVec3::new(vector.x, vector.y, 0.0),
        Dimension::Space => vector,
    }
}

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

/// A model with gravity along -y in the plane and along -z in space.
pub fn model(dimension: Dimension, bodies: Vec<Body>) -> MultibodyModel {
    let steel = Material { name: "steel".into(), surface: Surface { friction: 0.3, ..Default::default() } };
    MultibodyModel {
        dimension,
        gravity: GRAVITY * if dimension == Dimension::Plane { -DVec3::Y } else { -DVec3::Z },
        bodies,
        materials: MaterialTable { materials: vec![steel], ..Default::default() },
        forces: Vec::new(),
        dry_friction: Vec::new(),
        joints: Vec::new(),
        springs: Vec::new(),
        torsion_springs: Vec::new(),
        ignored_pairs: Vec::new(),
        ignored_groups: Vec::new(),
        group_names: vec!["default".into()],
    }
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
            audit.observe(s.system(), s.scheme().contact_solver(), s.before(), s.last_step());
        })
        .unwrap();
    (simulation, audit)
}

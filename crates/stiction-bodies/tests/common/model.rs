//! A model without joints.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{Body, Dimension, Material, MaterialTable, MultibodyModel, Surface};

pub const GRAVITY: f64 = 9.81;

/// The vector without what leaves the plane.
pub fn flat(dimension: Dimension, vector: DVec3) -> DVec3 {
    match dimension {
        Dimension::Plane => DVec3::new(vector.x, vector.y, 0.0),
        Dimension::Space => vector,
    }
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
        clutches: Vec::new(),
        joints: Vec::new(),
        springs: Vec::new(),
        torsion_springs: Vec::new(),
        ignored_pairs: Vec::new(),
        ignored_groups: Vec::new(),
        group_names: vec!["default".into()],
    }
}

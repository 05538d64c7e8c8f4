//! From a scene to a model of bodies or a system of matrices, with every check that needs more than the type of a key.
//!
//! The first thing that is wrong ends it, as a [`Fault`] that knows its place in the scene.

mod bodies;
mod collisions;
mod defaults;
mod forces;
mod joints;
mod mass;
mod materials;
mod names;
mod overlap;
mod pose;
mod settings;
mod shapes;
mod springs;
mod system;
mod values;

use stiction_bodies::{BodyError, Dimension, MultibodyModel};

use crate::load::missing_key_help;
use crate::scene::Scene;
use crate::scene_error::{Fault, Place};

pub(crate) use collisions::Collisions;
pub(crate) use defaults::resolve;
pub(crate) use joints::{MET_AT_START, check_start, joint_place, row_unit, worst_rows};
pub(crate) use names::is_plain_name;
pub(crate) use overlap::check_overlaps;
pub(crate) use shapes::extent;
pub(crate) use system::{BESIDE_SYSTEM, check_no_bodies, linear_system};

use collisions::{Ignored, check_pairs};

/// The model of a scene, and remarks on what was changed on the way.
pub(crate) fn model(scene: &Scene, warnings: &mut Vec<String>) -> Result<MultibodyModel, Fault> {
    let missing = |name: &'static str| {
        Place::top(name).fault(format!("`{name}` is missing in the scene"), missing_key_help(name))
    };
    let dimension = scene.dimension.ok_or_else(|| missing("dimension"))?;
    let gravity = scene.gravity.as_ref().ok_or_else(|| missing("gravity"))?;
    Reader::check_settings(scene)?;
    let mut reader = Reader { scene, dimension, warnings };
    let gravity = reader.vector(Place::top("gravity"), "gravity", gravity)?;
    let materials = reader.materials()?;
    let group_names = reader.group_names();
    let bodies = reader.bodies(&group_names)?;
    let forces = reader.forces()?;
    let dry_friction = reader.dry_friction()?;
    let clutches = reader.clutches()?;
    let joints = reader.joints(&bodies)?;
    let springs = reader.springs(&bodies)?;
    let torsion_springs = reader.torsion_springs(&bodies)?;
    let Ignored { pairs: ignored_pairs, groups: ignored_groups } = reader.ignored(&group_names)?;
    let model = MultibodyModel {
        dimension,
        gravity,
        bodies,
        materials,
        forces,
        dry_friction,
        clutches,
        joints,
        springs,
        torsion_springs,
        ignored_pairs,
        ignored_groups,
        group_names,
    };
    check_pairs(&model)?;
    Ok(model)
}

/// A fault for a mistake that the model found although the scene passed all checks here.
pub(crate) fn body_fault(scene: &Scene, error: &BodyError) -> Fault {
    if let BodyError::Joint { joint, reason, remedy } = error {
        let index = scene.joints.iter().position(|entry| entry.name == *joint).unwrap_or(0);
        return Place::top("joint").index(index).fault(format!("joint `{joint}`: {reason}"), *remedy);
    }
    let name = match error {
        BodyError::Mass { body, .. }
        | BodyError::Inertia { body }
        | BodyError::Shape { body, .. }
        | BodyError::InfiniteShape { body, .. }
        | BodyError::Target { body, .. }
        | BodyError::UnsupportedPair { first_body: body, .. } => Some(body),
        BodyError::NoFriction { .. } | BodyError::Value { .. } | BodyError::Joint { .. } => None,
    };
    let place = match scene.bodies.iter().position(|body| Some(&body.name) == name) {
        Some(index) => Place::top("body").index(index),
        None => Place::default(),
    };
    place.fault(error.to_string(), "change the value that the message names")
}

/// A scene on its way into a model. Each subject has its part of the methods, in its own file.
struct Reader<'a> {
    scene: &'a Scene,
    dimension: Dimension,
    warnings: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn is_plane(&self) -> bool {
        self.dimension == Dimension::Plane
    }
}

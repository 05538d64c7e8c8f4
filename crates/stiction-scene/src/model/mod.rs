//! From a scene to a model of bodies or a system of matrices, with every check that needs more than
//! the type of a key.
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
mod surfaces;
mod system;
mod values;

use stiction_bodies::{BodyError, Dimension, MultibodyModel};

use crate::place::{Fault, Place};
use crate::read::missing_key_help;
use crate::scene::Scene;
use crate::surfaces::Surfaces;

pub(crate) use defaults::resolve;
pub(crate) use joints::{MET_AT_START, check_start, joint_place, row_unit, worst_rows};
pub(crate) use mass::eigenvalues;
pub(crate) use names::made_plain;
pub(crate) use overlap::check_overlaps;
pub(crate) use shapes::extent;
pub(crate) use system::{BESIDE_SYSTEM, check_no_bodies, linear_system};

/// The model of a scene, and remarks on what was changed on the way.
pub(crate) fn model(
    scene: &Scene,
    warnings: &mut Vec<String>,
    surfaces: &mut Surfaces,
) -> Result<MultibodyModel, Fault> {
    let missing = |name: &'static str| {
        Place::top(name).fault(format!("`{name}` is missing in the scene"), missing_key_help(name))
    };
    let dimension = scene.dimension.ok_or_else(|| missing("dimension"))?;
    let gravity = scene.gravity.as_ref().ok_or_else(|| missing("gravity"))?;
    Reader::check_settings(scene)?;
    let mut reader = Reader { scene, dimension, warnings, surfaces };
    let gravity = reader.vector(Place::top("gravity"), "gravity", gravity)?;
    let materials = reader.materials()?;
    let group_names = reader.group_names();
    let bodies = reader.bodies(&group_names)?;
    let model = MultibodyModel {
        dimension,
        gravity,
        materials,
        forces: reader.forces(&bodies)?,
        dry_friction: reader.dry_friction(&bodies)?,
        clutches: reader.clutches(&bodies)?,
        joints: reader.joints(&bodies)?,
        springs: reader.springs(&bodies)?,
        torsion_springs: reader.torsion_springs(&bodies)?,
        bodies,
        ignored_pairs: Vec::new(),
        ignored_groups: Vec::new(),
        group_names,
    };
    let [ignored_pairs, ignored_groups] = reader.ignored(&model.group_names)?;
    Ok(MultibodyModel { ignored_pairs, ignored_groups, ..model })
}

/// The fault of a mistake that only the whole model shows.
pub(crate) fn body_fault(scene: &Scene, error: BodyError) -> Fault {
    let number = match &error {
        BodyError::Body { body, .. } => scene.bodies.iter().position(|entry| entry.name == *body),
        BodyError::Part { .. } => None,
        BodyError::Pair { body, shape, source } => {
            return Place::top("body").index(*body).key("shape").index(*shape).value_fault(source.clone());
        }
    };
    let place = number.map_or_else(Place::default, |index| Place::top("body").index(index));
    place.fault(error.to_string(), "change the value that the message names")
}

/// A scene on its way into a model. Each subject has its part of the methods, in its own file.
struct Reader<'a> {
    scene: &'a Scene,
    dimension: Dimension,
    warnings: &'a mut Vec<String>,
    surfaces: &'a mut Surfaces,
}

impl Reader<'_> {
    fn is_plane(&self) -> bool {
        self.dimension == Dimension::Plane
    }
}

//! The defaults of a scene, written out.

use stiction_bodies::{Dimension, MultibodyModel};

use super::pose::normalised;
use crate::scene::{KindName, Rotation, Scene};
use crate::system_entry::SystemEntry;

/// Fills in every default of a scene that was accepted, and normalises its quaternions; `model` is
/// what [`model`](super::model()) has made of its bodies.
pub(crate) fn resolve(scene: &mut Scene, model: Option<&MultibodyModel>) {
    if let Some(system) = &mut scene.system {
        resolve_system(system);
    }
    let is_plane = scene.dimension == Some(Dimension::Plane);
    let zeros = || vec![0.0; if is_plane { 2 } else { 3 }];
    let no_rotation = || if is_plane { Rotation::Plane(0.0) } else { Rotation::Space(zeros()) };
    let fill_pose = |position: &mut Option<Vec<f64>>,
                     angle: &mut Option<f64>,
                     angle_degrees: &Option<f64>,
                     orientation: &mut Option<Vec<f64>>| {
        position.get_or_insert_with(zeros);
        if !is_plane {
            let given = orientation.get_or_insert_with(|| vec![1.0, 0.0, 0.0, 0.0]);
            *given = normalised(given).unwrap_or_else(|| given.clone());
        } else if angle_degrees.is_none() {
            angle.get_or_insert(0.0);
        }
    };
    for body in &mut scene.bodies {
        fill_pose(&mut body.position, &mut body.angle, &body.angle_degrees, &mut body.orientation);
        if body.kind.is_free() {
            body.velocity.get_or_insert_with(zeros);
        }
        if body.kind == KindName::Rigid {
            body.angular_velocity.get_or_insert_with(no_rotation);
        }
        if let Some(motion) = &mut body.motion {
            motion.velocity.get_or_insert_with(zeros);
            motion.angular_velocity.get_or_insert_with(no_rotation);
            motion.surface_velocity.get_or_insert_with(zeros);
        }
        for shape in &mut body.shapes {
            fill_pose(&mut shape.position, &mut shape.angle, &shape.angle_degrees, &mut shape.orientation);
            shape.material = shape.material.take().or_else(|| body.material.clone());
        }
    }
    let start = scene.run.start;
    for force in &mut scene.forces {
        force.force.get_or_insert_with(zeros);
        force.torque.get_or_insert_with(no_rotation);
        force.point.get_or_insert_with(zeros);
        force.from.get_or_insert(start);
    }
    for joint in &mut scene.joints {
        let axis = [&mut joint.revolute, &mut joint.prismatic, &mut joint.cylindrical].into_iter().flatten();
        let motors = axis.map(|entry| &mut entry.motor).chain(joint.distance.as_mut().map(|entry| &mut entry.motor));
        motors.flatten().for_each(|motor| motor.from = motor.from.or(Some(start)));
    }
    let points = scene.dry_friction.iter_mut().map(|element| &mut element.point);
    for point in points.chain(scene.clutches.iter_mut().map(|clutch| &mut clutch.point)) {
        point.get_or_insert_with(zeros);
    }
    let Some(model) = model else { return };
    for (entry, spring) in scene.springs.iter_mut().zip(&model.springs) {
        entry.points.get_or_insert_with(|| vec![zeros(), zeros()]);
        entry.rest_length = Some(spring.rest_length);
    }
    for (entry, spring) in scene.torsion_springs.iter_mut().zip(&model.torsion_springs) {
        entry.rest_angle = Some(spring.rest_angle);
    }
}

fn resolve_system(system: &mut SystemEntry) {
    let zeros = vec![0.0; system.coordinates.len()];
    system.damping.get_or_insert_with(|| vec![zeros.clone(); zeros.len()]);
    system.stiffness.get_or_insert_with(|| vec![zeros.clone(); zeros.len()]);
    for vector in [&mut system.force, &mut system.start.position, &mut system.start.velocity] {
        vector.get_or_insert_with(|| zeros.clone());
    }
    for contact in &mut system.contacts {
        contact.tangent_drift.get_or_insert_with(|| vec![0.0; contact.tangents.len()]);
    }
    for element in &mut system.dry_friction {
        element.tangent_drift.get_or_insert_with(|| vec![0.0; element.tangents.len()]);
    }
}

//! The defaults of a scene, written out.

use stiction_bodies::{Dimension, MultibodyModel};

use super::pose::normalised;
use crate::scene::{KindName, Rotation, Scene};

/// Fills in every default of a scene of which [`model`](super::model()) has made this one, and normalises its quaternions.
pub(crate) fn resolve(scene: &mut Scene, model: &MultibodyModel) {
    let is_plane = scene.dimension == Dimension::Plane;
    let zeros = || Some(vec![0.0; if is_plane { 2 } else { 3 }]);
    let no_rotation = || Some(if is_plane { Rotation::Plane(0.0) } else { Rotation::Space(vec![0.0; 3]) });
    let fill_pose = |position: &mut Option<Vec<f64>>,
                     angle: &mut Option<f64>,
                     angle_degrees: &Option<f64>,
                     orientation: &mut Option<Vec<f64>>| {
        *position = position.take().or_else(zeros);
        if is_plane && angle_degrees.is_none() {
            *angle = angle.or(Some(0.0));
        }
        if !is_plane {
            let given = orientation.take().unwrap_or_else(|| vec![1.0, 0.0, 0.0, 0.0]);
            *orientation = Some(normalised(&given).unwrap_or(given));
        }
    };
    for body in &mut scene.bodies {
        fill_pose(&mut body.position, &mut body.angle, &body.angle_degrees, &mut body.orientation);
        if body.kind.is_free() {
            body.velocity = body.velocity.take().or_else(zeros);
        }
        if body.kind == KindName::Rigid {
            body.angular_velocity = body.angular_velocity.take().or_else(no_rotation);
        }
        if let Some(motion) = &mut body.motion {
            motion.velocity = motion.velocity.take().or_else(zeros);
            motion.angular_velocity = motion.angular_velocity.take().or_else(no_rotation);
            motion.surface_velocity = motion.surface_velocity.take().or_else(zeros);
        }
        for shape in &mut body.shapes {
            fill_pose(&mut shape.position, &mut shape.angle, &shape.angle_degrees, &mut shape.orientation);
            shape.material = shape.material.take().or_else(|| body.material.clone());
        }
    }
    for force in &mut scene.forces {
        force.force = force.force.take().or_else(zeros);
        force.torque = force.torque.take().or_else(no_rotation);
        force.point = force.point.take().or_else(zeros);
        force.from = force.from.or(Some(scene.run.start));
    }
    for element in &mut scene.dry_friction {
        element.point = element.point.take().or_else(zeros);
    }
    for (entry, spring) in scene.springs.iter_mut().zip(&model.springs) {
        entry.points = entry.points.take().or_else(|| Some(vec![zeros()?, zeros()?]));
        entry.rest_length = Some(spring.rest_length);
    }
    for (entry, spring) in scene.torsion_springs.iter_mut().zip(&model.torsion_springs) {
        entry.rest_angle = Some(spring.rest_angle);
    }
}

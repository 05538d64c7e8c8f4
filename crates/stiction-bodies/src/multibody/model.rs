//! What a system consists of, and what must hold for it.

use std::collections::BTreeSet;

use glamx::{DMat3, DVec3};

use crate::body::{AppliedForce, Body, BodyKind, Clutch, DryFriction};
use crate::collide;
use crate::error::BodyError;
use crate::joint::BodyJoint;
use crate::material::MaterialTable;
use crate::shape::Dimension;
use crate::spring::{Spring, TorsionSpring};

/// How far an inertia may be from symmetric, relative to its largest entry. Too large: the mass matrix is not symmetric.
/// Too small: an inertia that was turned into other axes is refused for its rounding.
const SYMMETRY_TOLERANCE: f64 = 1e-12;

/// All that a system of bodies consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct MultibodyModel {
    /// Plane or space.
    pub dimension: Dimension,
    /// Acceleration of gravity, in m/s².
    pub gravity: DVec3,
    /// The bodies.
    pub bodies: Vec<Body>,
    /// Materials and their friction.
    pub materials: MaterialTable,
    /// Applied forces and torques.
    pub forces: Vec<AppliedForce>,
    /// Friction that no load changes.
    pub dry_friction: Vec<DryFriction>,
    /// What holds back one direction.
    pub clutches: Vec<Clutch>,
    /// Joints.
    pub joints: Vec<BodyJoint>,
    /// Springs and dampers between points.
    pub springs: Vec<Spring>,
    /// Springs and dampers of relative rotations.
    pub torsion_springs: Vec<TorsionSpring>,
    /// Pairs of bodies that do not collide, beside those that a joint connects.
    pub ignored_pairs: Vec<(usize, usize)>,
    /// Pairs of groups whose bodies do not collide.
    pub ignored_groups: Vec<(usize, usize)>,
    /// Names of the groups.
    pub group_names: Vec<String>,
}

/// Bodies and groups that do not collide, as pairs with the smaller number first.
#[derive(Debug)]
pub(super) struct Exclusions {
    bodies: BTreeSet<(usize, usize)>,
    groups: BTreeSet<(usize, usize)>,
}

impl Exclusions {
    pub(super) fn new(model: &MultibodyModel) -> Self {
        let ordered = |pairs: &[(usize, usize)]| pairs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        let mut bodies: BTreeSet<(usize, usize)> = ordered(&model.ignored_pairs);
        bodies.extend(ordered(&model.jointed_pairs()));
        Self { bodies, groups: ordered(&model.ignored_groups) }
    }
}

impl MultibodyModel {
    /// Pairs of bodies that do not collide because of a joint between them.
    pub fn jointed_pairs(&self) -> Vec<(usize, usize)> {
        let silent = self.joints.iter().filter(|joint| !joint.can_collide);
        silent.filter_map(|joint| Some((joint.first, joint.second?))).collect()
    }

    /// Whether two bodies may collide at all.
    pub(super) fn may_collide(&self, exclusions: &Exclusions, a: usize, b: usize) -> bool {
        let bodies = &self.bodies;
        let (groups, pair) = ((bodies[a].group, bodies[b].group), (a.min(b), a.max(b)));
        a != b
            && (bodies[a].kind.is_free() || bodies[b].kind.is_free())
            && !exclusions.bodies.contains(&pair)
            && !exclusions.groups.contains(&(groups.0.min(groups.1), groups.0.max(groups.1)))
    }

    /// Refuses what cannot be simulated.
    pub(super) fn check(&self, exclusions: &Exclusions) -> Result<(), BodyError> {
        for body in &self.bodies {
            check_body(body, self.dimension)?;
        }
        self.check_pairs(exclusions)?;
        self.check_materials()?;
        self.check_forces()?;
        self.check_dry_friction()?;
        self.check_springs()?;
        self.joints.iter().try_for_each(|joint| joint.check(self.dimension, &self.bodies))
    }

    /// Refuses pairs that may meet without a collision test or without friction.
    fn check_pairs(&self, exclusions: &Exclusions) -> Result<(), BodyError> {
        for (a, first_body) in self.bodies.iter().enumerate() {
            for first in &first_body.shapes {
                for (b, second_body) in self.bodies.iter().enumerate().skip(a + 1) {
                    if !self.may_collide(exclusions, a, b) {
                        continue;
                    }
                    for second in &second_body.shapes {
                        let (first_shape, second_shape) = (&first.placed.shape, &second.placed.shape);
                        if !collide::is_supported(first_shape, second_shape) {
                            return Err(BodyError::UnsupportedPair {
                                first_body: first_body.name.clone(),
                                first_shape: first_shape.name(self.dimension),
                                second_body: second_body.name.clone(),
                                second_shape: second_shape.name(self.dimension),
                            });
                        }
                        if self.materials.friction(first.material, second.material).is_none() {
                            let name = |material: usize| self.materials.materials[material].name.clone();
                            return Err(BodyError::NoFriction {
                                first_material: name(first.material),
                                second_material: name(second.material),
                            });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn check_materials(&self) -> Result<(), BodyError> {
        let table = &self.materials;
        let single = table.materials.iter().map(|m| (format!("material `{}`", m.name), &m.surface));
        let pairs = table.pairs.iter().map(|(&(a, b), surface)| {
            (format!("materials `{}` and `{}`", table.materials[a].name, table.materials[b].name), surface)
        });
        for (what, surface) in single.chain(pairs) {
            let value = surface.friction;
            if !(value >= 0.0 && value.is_finite()) {
                let remedy = "a coefficient of friction is finite and not negative";
                return Err(BodyError::Value { what, quantity: "friction", value, remedy });
            }
            for value in [surface.restitution.normal, surface.restitution.tangential] {
                if !(0.0..=1.0).contains(&value) {
                    let remedy = "a coefficient of restitution is a number from 0 to 1";
                    return Err(BodyError::Value { what, quantity: "restitution", value, remedy });
                }
            }
        }
        Ok(())
    }

    fn check_forces(&self) -> Result<(), BodyError> {
        for (number, force) in self.forces.iter().enumerate() {
            let what = || format!("force {number}");
            let body = &self.bodies[force.body];
            let target = |reason| Err(BodyError::Target { what: what(), body: body.name.clone(), reason });
            if !body.kind.is_free() {
                return target("does not move freely, so that forces have no effect on it");
            }
            let is_point = matches!(body.kind, BodyKind::Point { .. });
            if is_point && (force.torque != DVec3::ZERO || force.point != DVec3::ZERO) {
                return target("is a point, which feels neither torques nor forces beside it");
            }
            for (quantity, vector) in [("force", force.force), ("torque", force.torque), ("point", force.point)] {
                if let Some(value) = vector.to_array().into_iter().find(|value| !value.is_finite()) {
                    return Err(BodyError::Value { what: what(), quantity, value, remedy: "it must be finite" });
                }
            }
            if self.dimension == Dimension::Plane && (force.force.z != 0.0 || force.point.z != 0.0) {
                let (quantity, value) = ("force out of the plane", force.force.z);
                return Err(BodyError::Value { what: what(), quantity, value, remedy: "it must lie in the plane" });
            }
        }
        Ok(())
    }

    fn check_dry_friction(&self) -> Result<(), BodyError> {
        for element in &self.dry_friction {
            let what = || format!("dry friction `{}`", element.name);
            if !(element.bound >= 0.0 && element.bound.is_finite()) {
                let (quantity, value, remedy) = ("bound", element.bound, "it must be finite and not negative");
                return Err(BodyError::Value { what: what(), quantity, value, remedy });
            }
            let body = &self.bodies[element.body];
            let other_is_free = element.against.is_some_and(|other| self.bodies[other].kind.is_free());
            if !body.kind.is_free() && !other_is_free {
                let reason = "does not move freely, and neither does what it slides on";
                return Err(BodyError::Target { what: what(), body: body.name.clone(), reason });
            }
            if element.axes.is_empty() || element.axes.len() > 2 || (element.is_rotational && element.axes.len() > 1) {
                let (quantity, value) = ("number of axes", element.axes.len() as f64);
                let remedy = "give one or two axes of sliding, or the one axis of a rotation";
                return Err(BodyError::Value { what: what(), quantity, value, remedy });
            }
            for value in element.semi_axes {
                if !(value > 0.0 && value.is_finite()) {
                    let (quantity, remedy) = ("semi-axis", "it must be finite and positive");
                    return Err(BodyError::Value { what: what(), quantity, value, remedy });
                }
            }
            if !element.bias.is_finite() || (element.bias != 0.0 && element.axes.len() > 1) {
                let (quantity, value, remedy) = ("bias", element.bias, "it must be finite, and along one axis");
                return Err(BodyError::Value { what: what(), quantity, value, remedy });
            }
        }
        for clutch in &self.clutches {
            let is_free = |body: usize| self.bodies[body].kind.is_free();
            if !is_free(clutch.body) && !clutch.against.is_some_and(is_free) {
                let reason = "does not move freely, and neither does what it moves against";
                let (what, body) = (format!("clutch `{}`", clutch.name), self.bodies[clutch.body].name.clone());
                return Err(BodyError::Target { what, body, reason });
            }
        }
        Ok(())
    }
}

fn check_body(body: &Body, dimension: Dimension) -> Result<(), BodyError> {
    let mass_error = |quantity, value| Err(BodyError::Mass { body: body.name.clone(), quantity, value });
    if let BodyKind::Rigid { mass, .. } | BodyKind::Point { mass } = body.kind
        && !(mass > 0.0 && mass.is_finite())
    {
        return mass_error("mass", mass);
    }
    if let BodyKind::Rigid { inertia, .. } = body.kind {
        let planar = inertia.z_axis.z;
        match dimension {
            Dimension::Plane if !(planar > 0.0 && planar.is_finite()) => return mass_error("inertia", planar),
            Dimension::Space if !is_positive_definite(&inertia) => {
                return Err(BodyError::Inertia { body: body.name.clone() });
            }
            _ => {}
        }
    }
    for shape in &body.shapes {
        shape.placed.check(dimension).map_err(|source| BodyError::Shape { body: body.name.clone(), source })?;
        if !shape.placed.shape.may_move() && body.kind.is_free() {
            let shape = shape.placed.shape.name(dimension);
            return Err(BodyError::InfiniteShape { body: body.name.clone(), shape });
        }
    }
    Ok(())
}

/// Sylvester's criterion; entries that are not finite fail it.
fn is_positive_definite(m: &DMat3) -> bool {
    let largest_of = |m: &DMat3| m.to_cols_array().into_iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let (asymmetry, largest) = (largest_of(&(*m - m.transpose())), largest_of(m));
    let minor = m.x_axis.x * m.y_axis.y - m.x_axis.y * m.y_axis.x;
    asymmetry <= SYMMETRY_TOLERANCE * largest
        && m.x_axis.x > 0.0
        && minor > 0.0
        && m.determinant() > 0.0
        && m.is_finite()
}

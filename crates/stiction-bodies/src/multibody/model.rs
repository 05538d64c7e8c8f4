//! What a system consists of, and what must hold for it.

use std::collections::BTreeSet;

use glamx::{DMat3, DVec3};
use stiction_dynamics::{Restitution, ValueError, check_not_negative, check_share};

use crate::body::{AppliedForce, Body, BodyKind, BodyShape, Clutch, DryFriction};
use crate::collide;
use crate::error::BodyError;
use crate::joint::BodyJoint;
use crate::material::MaterialTable;
use crate::shape::Dimension;
use crate::spring::{Spring, TorsionSpring};

/// How far an inertia may be from symmetric, relative to its largest entry. Too large: the mass
/// matrix is not symmetric. Too small: an inertia that was turned into other axes is refused for
/// its rounding.
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
#[derive(Clone, Debug)]
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
        let (dimension, bodies) = (self.dimension, &self.bodies[..]);
        let named = |kind: &str, name: &str, result: Result<(), ValueError>| {
            result.map_err(|source| BodyError::Part { what: format!("{kind} `{name}`"), source })
        };
        for (number, force) in self.forces.iter().enumerate() {
            named("force", &number.to_string(), force.check(dimension, bodies))?;
        }
        for element in &self.dry_friction {
            named("dry friction", &element.name, element.check(dimension, bodies))?;
        }
        for clutch in &self.clutches {
            named("clutch", &clutch.name, clutch.check(dimension, bodies))?;
        }
        for spring in &self.springs {
            named("spring", &spring.name, spring.check(dimension, bodies))?;
        }
        for spring in &self.torsion_springs {
            named("torsion spring", &spring.name, spring.check(dimension, bodies))?;
        }
        for joint in &self.joints {
            named("joint", &joint.name, joint.check(dimension, bodies))?;
        }
        Ok(())
    }

    /// Refuses pairs that may meet without a collision test or without friction.
    fn check_pairs(&self, exclusions: &Exclusions) -> Result<(), BodyError> {
        for (b, second) in self.bodies.iter().enumerate() {
            for (a, first) in self.bodies[..b].iter().enumerate() {
                if !self.may_collide(exclusions, a, b) {
                    continue;
                }
                for first_shape in &first.shapes {
                    for (shape, second_shape) in second.shapes.iter().enumerate() {
                        self.check_pair([first, second], [first_shape, second_shape])
                            .map_err(|source| BodyError::Pair { body: b, shape, source })?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_pair(&self, bodies: [&Body; 2], shapes: [&BodyShape; 2]) -> Result<(), ValueError> {
        let [first, second] = bodies.map(|body| &body.name);
        if !collide::is_supported(self.dimension, &shapes[0].placed.shape, &shapes[1].placed.shape) {
            let names = shapes.map(|shape| shape.placed.shape.name(self.dimension));
            let message = format!(
                "the {} of body `{first}` and the {} of body `{second}` cannot collide yet",
                names[0], names[1]
            );
            let remedy = format!(
                "use other shapes (the reference of the scene format lists those that collide), or let the two pass through each \
                 other: `[[ignore]]` with `bodies = [\"{first}\", \"{second}\"]`"
            );
            return Err(ValueError::new("", message, remedy));
        }
        let materials = shapes.map(|shape| shape.material);
        if self.materials.friction(materials[0], materials[1]).is_none() {
            let [m, n] = materials.map(|material| &self.materials.materials[material].name);
            let message = format!(
                "body `{first}` of `{m}` can touch body `{second}` of `{n}`, and no friction is given for these materials"
            );
            let remedy = format!(
                "add `[[pair]]` with `materials = [\"{m}\", \"{n}\"]` and `friction`, or choose a rule for all pairs: \
                 `[contact]` with `combine = \"geometric-mean\"`"
            );
            return Err(ValueError::new("", message, remedy));
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
            let Restitution { normal, tangential, .. } = surface.restitution;
            check_not_negative("friction", "the coefficient of friction", surface.friction, "")
                .and_then(|()| check_share("restitution", "the coefficient of restitution", normal))
                .and_then(|()| check_share("tangential-restitution", "the coefficient of restitution", tangential))
                .map_err(|source| BodyError::Part { what, source })?;
        }
        Ok(())
    }
}

fn check_body(body: &Body, dimension: Dimension) -> Result<(), BodyError> {
    let wrong = |message: String| Err(BodyError::Body { body: body.name.clone(), message });
    let positive = |quantity: &str, value: f64| match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => wrong(format!("{quantity} is {value}, and must be positive and finite")),
    };
    body.kind.mass().map_or(Ok(()), |mass| positive("mass", mass))?;
    if let BodyKind::Rigid { inertia, .. } = body.kind {
        if dimension == Dimension::Plane {
            positive("inertia", inertia.z_axis.z)?;
        } else if !is_positive_definite(&inertia) {
            return wrong("the inertia tensor is not symmetric and positive definite".to_owned());
        }
    }
    for BodyShape { placed, .. } in &body.shapes {
        placed.check(dimension).or_else(|error| wrong(error.to_string()))?;
        if !placed.shape.may_move() && body.kind.is_free() {
            let shape = placed.shape.name(dimension);
            return wrong(format!("a {shape} is infinite and cannot move freely; make the body static or prescribed"));
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

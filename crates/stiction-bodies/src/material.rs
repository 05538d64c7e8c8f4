//! Materials, and the friction and restitution between them.

use std::collections::BTreeMap;

use glamx::DVec3;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_dynamics::{FrictionLaw, PhantomContact, Restitution};

/// How a coefficient of two materials follows from theirs, where the table of pairs has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CombinationRule {
    /// The smaller one.
    Minimum,
    /// The larger one.
    Maximum,
    /// $(a + b)/2$.
    Mean,
    /// $\sqrt{a b}$.
    GeometricMean,
}

impl CombinationRule {
    /// The coefficient of a pair.
    pub fn combine(self, first: f64, second: f64) -> f64 {
        match self {
            Self::Minimum => first.min(second),
            Self::Maximum => first.max(second),
            Self::Mean => (first + second) / 2.0,
            Self::GeometricMean => (first * second).sqrt(),
        }
    }
}

/// Whether friction against sliding and friction against drilling share one bound. \[TTP01\] §2
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Torsion {
    /// They share it, as the points of a small patch do: an ellipsoid.
    #[default]
    Coupled,
    /// Each has its own: an ellipse, and an interval.
    Separate,
}

/// A direction that is fixed in the body of one of two materials: grain, grooves, brush marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grain {
    /// Number of that material.
    pub material: usize,
    /// The direction, in axes of the body, of any length.
    pub direction: DVec3,
}

/// What two surfaces do to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Coefficient of friction; of two the kinetic one.
    pub friction: f64,
    /// Coefficient of friction while a contact sticks, not below the other one; none where it is
    /// the same.
    pub static_friction: Option<f64>,
    /// Radius of the friction against drilling about the normal, in metres: the largest moment is
    /// this times the largest friction. Zero: there is none.
    pub torsion_radius: f64,
    /// Whether drilling and sliding share one bound.
    pub torsion: Torsion,
    /// Direction of the first tangent, in the plane of contact; left out, tangents follow from the
    /// normal.
    pub grain: Option<Grain>,
    /// Factors on the friction along the grain and across it; ones when left out.
    pub friction_axes: Option<[f64; 2]>,
    /// A polytope in place of the ellipsoid, with the coefficient of friction: along the two
    /// tangents and about the normal.
    pub polytope: Option<FrictionLaw>,
    /// What impacts give back.
    pub restitution: Restitution,
    /// What the method `phantom-inertia` does differently for contacts of these materials.
    pub phantom: PhantomContact,
}

/// A material.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name, unique in its table.
    pub name: String,
    /// What it does to itself.
    pub surface: Surface,
}

/// Materials, pairs of them with their own coefficients, and the rule for all other pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaterialTable {
    /// The materials.
    pub materials: Vec<Material>,
    /// Coefficients of pairs; the smaller number comes first.
    pub pairs: BTreeMap<(usize, usize), Surface>,
    /// The rule; none means that every pair of different materials that can touch must be in the
    /// table.
    pub rule: Option<CombinationRule>,
}

impl MaterialTable {
    /// What a pair of materials does to each other; none when neither the table nor a rule says it.
    pub fn surface(&self, first: usize, second: usize) -> Option<Surface> {
        let pair = (first.min(second), first.max(second));
        let (a, b) = (&self.materials[first].surface, &self.materials[second].surface);
        match self.pairs.get(&pair) {
            Some(surface) => Some(surface.clone()),
            None if first == second => Some(a.clone()),
            // Shares of velocities and shares of impulses cannot be combined.
            None if a.restitution.law != b.restitution.law => None,
            // Nor can friction sets of different kinds.
            None if a.torsion != b.torsion && a.torsion_radius > 0.0 && b.torsion_radius > 0.0 => None,
            None => self.rule.map(|rule| Surface {
                torsion: if a.torsion_radius > 0.0 { a.torsion } else { b.torsion },
                grain: None,
                friction_axes: None,
                polytope: None,
                friction: rule.combine(a.friction, b.friction),
                static_friction: (a.static_friction.is_some() || b.static_friction.is_some()).then(|| {
                    let [first, second] = [a, b].map(|surface| surface.static_friction.unwrap_or(surface.friction));
                    rule.combine(first, second)
                }),
                torsion_radius: rule.combine(a.torsion_radius, b.torsion_radius),
                restitution: Restitution {
                    law: a.restitution.law,
                    normal: rule.combine(a.restitution.normal, b.restitution.normal),
                    tangential: rule.combine(a.restitution.tangential, b.restitution.tangential),
                },
                phantom: combine_phantom(rule, a.phantom, b.phantom),
            }),
        }
    }

    /// Whether any material or pair has two coefficients of friction.
    pub fn has_static_friction(&self) -> bool {
        let own = self.materials.iter().map(|material| &material.surface);
        own.chain(self.pairs.values()).any(|surface| surface.static_friction.is_some())
    }

    /// Coefficient of friction of a pair; none when neither the table nor a rule says it.
    pub fn friction(&self, first: usize, second: usize) -> Option<f64> {
        self.surface(first, second).map(|surface| surface.friction)
    }
}

/// The finer of two sets of lines, and both phantom inertias by the rule; what only one of them
/// says, holds.
fn combine_phantom(rule: CombinationRule, first: PhantomContact, second: PhantomContact) -> PhantomContact {
    let both = first.rho.zip(second.rho).map(|(a, b)| rule.combine(a, b));
    PhantomContact { lines: first.lines.max(second.lines), rho: both.or(first.rho).or(second.rho) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_dynamics::ImpactLaw;

    #[test]
    fn the_table_comes_before_the_rule() {
        let rough = |friction| Surface { friction, ..Default::default() };
        let material = |name: &str, friction| Material { name: name.into(), surface: rough(friction) };
        let mut table =
            MaterialTable { materials: vec![material("steel", 0.2), material("rubber", 0.8)], ..Default::default() };
        assert_eq!(table.friction(0, 0), Some(0.2));
        assert_eq!(table.friction(0, 1), None);
        for (rule, expected) in [
            (CombinationRule::Minimum, 0.2),
            (CombinationRule::Maximum, 0.8),
            (CombinationRule::Mean, 0.5),
            (CombinationRule::GeometricMean, 0.4),
        ] {
            table.rule = Some(rule);
            assert!((table.friction(1, 0).unwrap() - expected).abs() < 1e-15, "{rule:?}");
        }
        table.pairs.insert((0, 1), rough(0.65));
        assert_eq!(table.friction(1, 0), Some(0.65));
        // Restitution follows the same rule.
        table.pairs.clear();
        table.rule = Some(CombinationRule::Mean);
        table.materials[0].surface.restitution = Restitution { normal: 1.0, tangential: 0.5, ..Default::default() };
        let combined = table.surface(0, 1).unwrap().restitution;
        assert_eq!(combined, Restitution { normal: 0.5, tangential: 0.25, ..Default::default() });
        // A material without a static coefficient has that of sliding.
        assert_eq!((table.surface(0, 1).unwrap().static_friction, table.has_static_friction()), (None, false));
        table.materials[1].surface.static_friction = Some(1.0);
        assert_eq!(table.surface(0, 1).unwrap().static_friction, Some(0.5 * (0.2 + 1.0)));
        assert!(table.has_static_friction());
        // The finer polygon, and what only one of them says.
        table.materials[0].surface.phantom = PhantomContact { lines: Some(3), rho: None };
        table.materials[1].surface.phantom = PhantomContact { lines: Some(8), rho: Some(2.0) };
        assert_eq!(table.surface(0, 1).unwrap().phantom, PhantomContact { lines: Some(8), rho: Some(2.0) });
        table.materials[0].surface.phantom.rho = Some(1.0);
        assert_eq!(table.surface(0, 1).unwrap().phantom.rho, Some(1.5));
        // Drilling with and without a bound of its own cannot be combined.
        table.materials[0].surface.torsion_radius = 0.01;
        table.materials[1].surface = Surface { torsion: Torsion::Separate, torsion_radius: 0.02, ..rough(0.8) };
        assert_eq!(table.surface(0, 1), None);
        table.materials[0].surface.torsion = Torsion::Separate;
        assert_eq!(table.surface(0, 1).unwrap().torsion, Torsion::Separate);
        // Coefficients of different laws have different meanings.
        table.materials[0].surface.restitution.law = ImpactLaw::Poisson;
        assert_eq!(table.surface(0, 1), None);
    }
}

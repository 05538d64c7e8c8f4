//! Materials and the friction between them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the friction of two materials follows from theirs, where the table of pairs has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CombinationRule {
    /// The smaller one.
    Minimum,
    /// The larger one.
    Maximum,
    /// $(\mu_1 + \mu_2)/2$.
    Mean,
    /// $\sqrt{\mu_1 \mu_2}$.
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

/// A material.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name, unique in its table.
    pub name: String,
    /// Coefficient of friction against itself.
    pub friction: f64,
}

/// Materials, pairs of them with their own friction, and the rule for all other pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaterialTable {
    /// The materials.
    pub materials: Vec<Material>,
    /// Friction of pairs; the smaller number comes first.
    pub pairs: BTreeMap<(usize, usize), f64>,
    /// The rule; none means that every pair of different materials that can touch must be in the table.
    pub rule: Option<CombinationRule>,
}

impl MaterialTable {
    /// Coefficient of friction of a pair; none when neither the table nor a rule says it.
    pub fn friction(&self, first: usize, second: usize) -> Option<f64> {
        let pair = (first.min(second), first.max(second));
        let (a, b) = (self.materials[first].friction, self.materials[second].friction);
        match self.pairs.get(&pair) {
            Some(&friction) => Some(friction),
            None if first == second => Some(a),
            None => self.rule.map(|rule| rule.combine(a, b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_comes_before_the_rule() {
        let material = |name: &str, friction| Material { name: name.into(), friction };
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
        table.pairs.insert((0, 1), 0.65);
        assert_eq!(table.friction(1, 0), Some(0.65));
    }
}

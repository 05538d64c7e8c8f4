//! Interior points.
use super::island::Island;
use super::space::Space;
pub(crate) fn run<const D: usize>(_space: &mut impl Space<D>, _island: &mut Island<D>, _target: f64, _limit: usize) -> usize { 0 }

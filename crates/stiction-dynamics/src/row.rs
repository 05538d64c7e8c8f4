//! A sparse row over the velocity coordinates: the gradient of a gap, a sliding direction, a joint
//! row.

use smallvec::SmallVec;

/// A sparse row over the velocity coordinates. Two bodies in space fill twelve entries, which live
/// in place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    entries: SmallVec<[(usize, f64); 12]>,
}

impl Row {
    /// The row without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// A row from all its entries, zeros left out.
    pub fn from_dense(values: &[f64]) -> Self {
        let entries = values.iter().copied().enumerate().filter(|&(_, value)| value != 0.0).collect();
        Self { entries }
    }

    /// Adds an entry. An index may stand twice; its values then add up.
    pub fn push(&mut self, index: usize, value: f64) {
        self.entries.push((index, value));
    }

    /// Adds `factor` times another row.
    pub fn push_scaled(&mut self, factor: f64, other: &Self) {
        self.entries.extend(other.entries.iter().map(|&(index, value)| (index, factor * value)));
    }

    /// This row times a factor.
    pub fn scaled(&self, factor: f64) -> Self {
        Self { entries: self.entries.iter().map(|&(index, value)| (index, factor * value)).collect() }
    }

    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The entries as (index, value).
    pub fn entries(&self) -> &[(usize, f64)] {
        &self.entries
    }

    /// The product with a dense vector.
    pub fn dot(&self, vector: &[f64]) -> f64 {
        self.entries.iter().map(|&(index, value)| value * vector[index]).sum()
    }

    /// Adds `factor` times this row to a dense vector.
    pub fn add_to(&self, factor: f64, vector: &mut [f64]) {
        for &(index, value) in &self.entries {
            vector[index] += factor * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_indices_add_up() {
        let mut row = Row::from_dense(&[1.0, 0.0, -2.0]);
        row.push(2, 5.0);
        assert_eq!(row.entries().len(), 3);
        assert_eq!(row.dot(&[10.0, 7.0, 1.0]), 13.0);
        let mut vector = [0.0; 3];
        row.add_to(2.0, &mut vector);
        assert_eq!(vector, [2.0, 0.0, 6.0]);
    }
}

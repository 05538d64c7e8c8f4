//! What every contact and friction element had in the last solution, so that a similar problem can
//! start from it.

use std::ops::Range;

use crate::ContactProblem;
use crate::contact_problem::GroupName;

/// Some values of every contact and friction element: which unknowns were basic, or impulses.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory<T> {
    /// Sorted by name; those of each group are a range of `values`.
    ranges: Vec<(GroupName, Range<usize>)>,
    values: Vec<T>,
}

/// Where the values of one group stand: in up to three places.
pub(super) type Places = [Range<usize>; 3];

impl<T: Copy + Default> Memory<T> {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Empties the memory. Whether there was something in it.
    pub fn forget(&mut self) -> bool {
        let was_warm = !self.is_empty();
        self.ranges.clear();
        self.values.clear();
        was_warm
    }

    /// Stores values; `places` tells where those of each contact and then of each friction element
    /// stand.
    pub fn store(&mut self, problem: &ContactProblem, values: &[T], places: impl Fn(usize) -> Places) {
        self.forget();
        for (number, group) in problem.groups().enumerate() {
            let first = self.values.len();
            places(number).into_iter().for_each(|range| self.values.extend_from_slice(&values[range]));
            self.ranges.push((group.name, first..self.values.len()));
        }
        self.ranges.sort_unstable_by_key(|(name, _)| *name);
    }

    /// Writes the values that the groups of a problem had, so many in all; new ones, and those of
    /// another shape, start from nothing.
    pub fn recall(&self, problem: &ContactProblem, count: usize, places: impl Fn(usize) -> Places, start: &mut Vec<T>) {
        start.clear();
        start.resize(count, T::default());
        for (number, group) in problem.groups().enumerate() {
            let Ok(place) = self.ranges.binary_search_by_key(&group.name, |(name, _)| *name) else { continue };
            let own = places(number);
            let values = &self.values[self.ranges[place].1.clone()];
            if own.iter().map(Range::len).sum::<usize>() == values.len() {
                own.into_iter().flatten().zip(values).for_each(|(i, &value)| start[i] = value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactCondition, ContactId, FrictionCondition};

    #[test]
    fn a_basis_follows_its_contacts() {
        let contact = |number| ContactCondition { id: ContactId::number(number), ..Default::default() };
        let mut problem = ContactProblem { contacts: vec![contact(5), contact(3)], ..Default::default() };
        problem.friction.push(FrictionCondition { id: 5, ..Default::default() });
        let mut memory = Memory::default();
        // Unknowns 0 and 2 of contact 5, 1 of contact 3, 3 of the element.
        let basis = [true, false, true, true];
        memory.store(&problem, &basis, |group| {
            [[0..1, 2..3, 0..0], [1..2, 0..0, 0..0], [3..4, 0..0, 0..0]][group].clone()
        });
        // Another order, a new contact 4, and contact 3 with another number of unknowns.
        problem.contacts = vec![contact(4), contact(3), contact(5)];
        let mut start = Vec::new();
        let places = [[0..1, 0..0, 0..0], [1..3, 0..0, 0..0], [3..5, 0..0, 0..0], [5..6, 0..0, 0..0]];
        memory.recall(&problem, 6, |group| places[group].clone(), &mut start);
        assert_eq!(start, [false, false, false, true, true, true]);
        memory.forget();
        memory.recall(&problem, 6, |group| places[group].clone(), &mut start);
        assert_eq!(start, [false; 6]);
    }
}

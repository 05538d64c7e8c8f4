//! The basis of the last solution by contact, so that a similar problem can start from it.

use std::ops::Range;

use crate::{ContactId, ContactProblem};

/// Which unknowns of every contact and friction element were basic.
#[derive(Clone, Debug, Default)]
pub(super) struct BasisMemory {
    /// Sorted by name; the flags of each are a range of `flags`.
    ranges: Vec<(GroupName, Range<usize>)>,
    flags: Vec<bool>,
}

/// What identifies a contact or a friction element from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupName {
    Contact(ContactId),
    Element(u32),
}

/// Where the unknowns of one group stand: in up to three places.
pub(super) type Places = [Range<usize>; 3];

impl BasisMemory {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn clear(&mut self) {
        self.ranges.clear();
        self.flags.clear();
    }

    /// Stores a basis; `places` tells where the unknowns of each contact and then of each friction element stand.
    pub fn store(&mut self, problem: &ContactProblem, basis: &[bool], places: impl Fn(usize) -> Places) {
        self.clear();
        for (group, name) in names(problem).enumerate() {
            let first = self.flags.len();
            places(group).into_iter().for_each(|range| self.flags.extend_from_slice(&basis[range]));
            self.ranges.push((name, first..self.flags.len()));
        }
        self.ranges.sort_unstable_by_key(|(name, _)| *name);
    }

    /// Writes the basis that the groups of a problem with this many unknowns had; new ones, and those of another shape, start without
    /// force.
    pub fn recall(
        &self,
        problem: &ContactProblem,
        unknown_count: usize,
        places: impl Fn(usize) -> Places,
        start: &mut Vec<bool>,
    ) {
        start.clear();
        start.resize(unknown_count, false);
        for (group, name) in names(problem).enumerate() {
            let Ok(place) = self.ranges.binary_search_by_key(&name, |(name, _)| *name) else { continue };
            let own = places(group);
            let flags = &self.flags[self.ranges[place].1.clone()];
            if own.iter().map(Range::len).sum::<usize>() == flags.len() {
                own.into_iter().flatten().zip(flags).for_each(|(unknown, &flag)| start[unknown] = flag);
            }
        }
    }
}

/// The names of the groups of a problem, in order.
fn names(problem: &ContactProblem) -> impl Iterator<Item = GroupName> {
    let contacts = problem.contacts.iter().map(|contact| GroupName::Contact(contact.id));
    contacts.chain(problem.friction.iter().map(|element| GroupName::Element(element.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactCondition, FrictionCondition};

    #[test]
    fn a_basis_follows_its_contacts() {
        let contact = |number| ContactCondition { id: ContactId::number(number), ..Default::default() };
        let mut problem = ContactProblem { contacts: vec![contact(5), contact(3)], ..Default::default() };
        problem.friction.push(FrictionCondition { id: 5, ..Default::default() });
        let mut memory = BasisMemory::default();
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
        memory.clear();
        memory.recall(&problem, 6, |group| places[group].clone(), &mut start);
        assert_eq!(start, [false; 6]);
    }
}

//! What contacts and friction elements do during a phase without events.

use crate::ContactId;

/// How a contact or friction element moves along its tangents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sliding {
    /// Without friction: nothing holds it.
    Free,
    /// Friction holds it.
    Stick,
    /// It slides. The unit vector of its sliding velocity, each part times its semi-axis, at the start of the step; in the plane a sign.
    Slip([f64; 3]),
    /// It begins to slide and is so slow that its velocity has no direction yet: this one counts.
    Begin([f64; 3]),
}

impl Sliding {
    /// The unit vector of the sliding velocity `slip`, each part times its semi-axis; none for what does not slide. A velocity up to `nothing` has the
    /// direction that sliding began or ended with, and one that has just reversed that before it did. So a step that goes beyond the end of
    /// sliding, where it will be cut, meets no jump of friction.
    pub fn direction(self, tangent_count: usize, axes: &[f64; 3], slip: &[f64; 3], nothing: f64) -> Option<[f64; 3]> {
        let reference = match self {
            Self::Free | Self::Stick => return None,
            Self::Begin(direction) => return Some(direction),
            Self::Slip(reference) => reference,
        };
        let weighted: [f64; 3] = std::array::from_fn(|a| axes[a] * slip[a]);
        let length = norm(&weighted);
        if tangent_count == 1 || length <= nothing {
            return Some(reference);
        }
        let side = if dot(&weighted, &reference) < 0.0 { -1.0 } else { 1.0 };
        Some(weighted.map(|part| side * part / length))
    }
}

/// A closed contact, or one of which that is to be found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ContactMode {
    pub id: ContactId,
    /// Whether it carries a force and keeps its gap.
    pub is_closed: bool,
    /// The gap that it keeps: nothing, but for a penetration of the start.
    pub gap: f64,
    pub sliding: Sliding,
}

/// Something that slides or sticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    Contact(ContactId),
    Friction(u32),
}

/// The modes of all closed contacts and of all friction elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Modes {
    pub contacts: Vec<ContactMode>,
    /// In the order of the system.
    pub elements: Vec<(u32, Sliding)>,
    /// How many of the rows that hold are independent; found with the next evaluation when it is none.
    pub rank: Option<usize>,
    /// Forces that obey all laws where the phase begins, of joints, contacts (normal and tangents) and friction elements; nothing for zeros. Where
    /// rows depend on each other, the nearest ones are taken.
    pub forces: Forces,
}

/// Forces of joints, of contacts along normal and tangents, and of friction elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Forces {
    pub joints: Vec<f64>,
    pub contacts: Vec<(f64, [f64; 3])>,
    pub elements: Vec<[f64; 3]>,
}

impl Modes {
    pub fn contact(&self, id: ContactId) -> Option<&ContactMode> {
        self.contacts.iter().find(|contact| contact.id == id)
    }

    /// How something slides; none for what is not part of the modes.
    pub fn sliding(&self, element: Element) -> Option<Sliding> {
        match element {
            Element::Contact(id) => self.contact(id).map(|contact| contact.sliding),
            Element::Friction(id) => self.elements.iter().find(|(other, _)| *other == id).map(|(_, sliding)| *sliding),
        }
    }

    pub fn set_sliding(&mut self, element: Element, sliding: Sliding) {
        match element {
            Element::Contact(id) => {
                let contacts = self.contacts.iter_mut().filter(|contact| contact.id == id);
                contacts.for_each(|contact| contact.sliding = sliding);
            }
            Element::Friction(id) => {
                let elements = self.elements.iter_mut().filter(|(other, _)| *other == id);
                elements.for_each(|(_, own)| *own = sliding);
            }
        }
    }
}

pub(super) fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn norm(a: &[f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

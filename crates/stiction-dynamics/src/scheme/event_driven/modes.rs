//! The modes of a phase: which contacts are closed, what sticks, and what slides where to.

use std::ops::Range;

use crate::vector::{dot, norm};
use crate::{Contact, ContactId, FrictionElement, FrictionShape};

/// A contact that goes on under another name keeps its gap up to this, in metres. Too large: a
/// contact elsewhere on the same bodies is taken for it. Too small: a long integrator step, which
/// is cut there later, does not find it.
const RENAMED_GAP: f64 = 1e-4;

/// How friction acts on a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sliding {
    /// It holds the part.
    Stick,
    /// The part slides. The unit vector of its sliding velocity at the start of the integrator
    /// step, each component times its semi-axis; in the plane a sign.
    Slip([f64; 3]),
    /// The part begins to slide. Its velocity has no direction yet; this one counts.
    Begin([f64; 3]),
}

impl Sliding {
    /// The direction of a sliding velocity `slip`, whose components come times their semi-axes;
    /// none for what sticks.
    ///
    /// A velocity up to `nothing` has the direction with which sliding began or ended. One that
    /// has just reversed has the direction that it had before. So an integrator step beyond the
    /// end of sliding, where it will be cut, meets no jump of friction.
    pub fn direction(self, tangent_count: usize, slip: &[f64; 3], nothing: f64) -> Option<[f64; 3]> {
        let reference = match self {
            Self::Stick => return None,
            Self::Begin(direction) => return Some(direction),
            Self::Slip(reference) => reference,
        };
        let length = norm(slip);
        if tangent_count == 1 || length <= nothing {
            return Some(reference);
        }
        let side = if dot(slip, &reference) < 0.0 { -1.0 } else { 1.0 };
        Some(slip.map(|part| side * part / length))
    }
}

/// What sticks or slides on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Friction of a contact.
    Contact(ContactId),
    /// Torsion of a contact, where it has a bound of its own.
    Torsion(ContactId),
    /// A friction element.
    Element(u32),
}

impl Part {
    /// The contact that it belongs to.
    pub fn contact(self) -> Option<ContactId> {
        match self {
            Self::Contact(id) | Self::Torsion(id) => Some(id),
            Self::Element(_) => None,
        }
    }

    /// The parts of a contact and their tangents; none without friction.
    pub fn of_contact(id: ContactId, contact: &Contact) -> impl Iterator<Item = (Self, Range<usize>)> + use<> {
        let count = contact.tangents.len();
        let has_own_torsion = count > 2 && contact.friction.shape() == FrictionShape::DiscAndInterval;
        let parts = match (contact.friction.mu() > 0.0, has_own_torsion) {
            (false, _) => [None, None],
            (true, false) => [Some((Self::Contact(id), 0..count)), None],
            (true, true) => [Some((Self::Contact(id), 0..2)), Some((Self::Torsion(id), 2..3))],
        };
        parts.into_iter().flatten()
    }

    /// A friction element and its tangents; none where its bound is zero.
    pub fn of_element(element: &FrictionElement) -> Option<(Self, Range<usize>)> {
        (element.bound > 0.0).then(|| (Self::Element(element.id), 0..element.tangents.len()))
    }
}

/// Whether a contact is closed. In a phase all listed contacts are; in a trial some are open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GapMode {
    pub id: ContactId,
    /// Whether it carries a force and keeps its gap.
    pub is_closed: bool,
    /// The gap that it keeps: the one with which it closed.
    pub gap: f64,
}

/// The modes of all contacts and friction elements that take part.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Modes {
    pub contacts: Vec<GapMode>,
    /// What is not listed is free to move.
    pub sliding: Vec<(Part, Sliding)>,
    /// How many of the rows that hold are independent; unknown before the first evaluation.
    pub rank: Option<usize>,
    /// Forces that obey all laws where the phase begins; empty for zeros. Where rows depend on each
    /// other, the forces nearest to these are taken.
    pub forces: Forces,
}

/// Forces of joint rows, and of sites along normal and tangents. The sites are the friction
/// elements, whose normal force is zero, and after them the contacts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Forces {
    pub joints: Vec<f64>,
    pub sites: Vec<(f64, [f64; 3])>,
}

impl Modes {
    pub fn contact(&self, id: ContactId) -> Option<&GapMode> {
        self.contacts.iter().find(|contact| contact.id == id)
    }

    /// The contact of a mode among those of another state. The system may give it another name
    /// there when a feature passes from one body to the other. Then it is the contact of the same
    /// bodies that no other mode has and whose gap is nearest.
    pub fn find<'a>(&self, mode: &GapMode, found: &'a [Contact]) -> Option<&'a Contact> {
        let id = mode.id;
        let same = found.iter().find(|contact| contact.id == id);
        same.or_else(|| {
            let is_pair = |other: ContactId| (other.first, other.second) == (id.first, id.second);
            let distance = |contact: &Contact| (contact.gap - mode.gap).abs();
            let others = found.iter().filter(|contact| is_pair(contact.id) && self.contact(contact.id).is_none());
            others.filter(|other| distance(other) <= RENAMED_GAP).min_by(|a, b| distance(a).total_cmp(&distance(b)))
        })
    }

    /// Whether a part belongs to a closed contact or to a friction element.
    pub fn is_loaded(&self, part: Part) -> bool {
        part.contact().is_none_or(|id| self.contact(id).is_some_and(|mode| mode.is_closed))
    }

    /// How a part slides; none for one that these modes do not list.
    pub fn sliding(&self, part: Part) -> Option<Sliding> {
        self.sliding.iter().find(|(other, _)| *other == part).map(|(_, sliding)| *sliding)
    }

    /// Leaves some contacts out, with all that belongs to them.
    pub fn retain_contacts(&mut self, stays: impl Fn(&GapMode) -> bool) {
        let Forces { sites, .. } = &mut self.forces;
        let element_count = sites.len().saturating_sub(self.contacts.len());
        let mut flags = std::iter::repeat_n(true, element_count).chain(self.contacts.iter().map(&stays));
        sites.retain(|_| flags.next().unwrap_or(false));
        self.contacts.retain(|mode| stays(mode));
        let contacts = &self.contacts;
        self.sliding
            .retain(|(part, _)| part.contact().is_none_or(|id| contacts.iter().any(|contact| contact.id == id)));
    }
}

/// The direction of a vector that is longer than `nothing`.
pub(super) fn unit(a: &[f64; 3], nothing: f64) -> Option<[f64; 3]> {
    let length = norm(a);
    (length > nothing).then(|| a.map(|part| part / length))
}

//! Contacts that overlap when they are found.
//!
//! To take an overlap $d$ back within a step needs the speed $d/h$, which grows without bound as
//! steps get shorter. So a contact is closed at the gap with which it was found, if that is
//! negative; this gap shrinks with a rate of its own
//! ([`overlap_recovery`](super::TrapezoidalSettings::overlap_recovery)), and where the contact
//! parts it does not sink back.

use super::Trapezoidal;
use crate::ContactId;
use crate::vector::has;
use stiction_solve::PortableMath as _;

impl Trapezoidal {
    /// Finds the contacts that are closed elsewhere than at zero: all that are closed before the
    /// first step, and later those that overlap when they are found.
    pub(super) fn find_overlaps(&mut self) {
        let Self { start, overlaps, carried, settings, has_begun, .. } = self;
        overlaps.retain(|(id, _)| start.iter().any(|contact| contact.id == *id));
        for contact in start.iter().filter(|contact| !has(carried, contact.id)) {
            match overlaps.binary_search_by_key(&contact.id, |(id, _)| *id) {
                Ok(place) => overlaps[place].1 = overlaps[place].1.max(contact.gap.min(0.0)),
                Err(place) if !*has_begun || contact.gap < -settings.gap_tolerance => {
                    overlaps.insert(place, (contact.id, contact.gap));
                }
                Err(_) => {}
            }
        }
    }

    /// Shrinks overlaps over a time.
    pub(super) fn recover_overlaps(&mut self, h: f64) {
        let shrinks = (-self.settings.overlap_recovery * h).portable_exp();
        self.overlaps.iter_mut().for_each(|(_, gap)| *gap *= shrinks);
    }
}

/// The gap at which a contact is closed, in metres.
pub(super) fn closed_at(overlaps: &[(ContactId, f64)], id: ContactId) -> f64 {
    overlaps.binary_search_by_key(&id, |(id, _)| *id).map_or(0.0, |place| overlaps[place].1)
}

//! Bodies that are inside each other at the start.

use stiction_bodies::{Body, Multibody};
use stiction_dynamics::{Contact, MechanicalSystem, Restraint, State};

use super::extent;
use crate::place::{Fault, Place};
use crate::scene::Scene;

/// Refuses a start at which bodies overlap deeply. What a scheme makes of it is no motion of these
/// bodies: most push them apart within a step, with the depth over the step as speed, and every law
/// holds in that step.
pub(crate) fn check_overlaps(scene: &Scene, multibody: &Multibody, start: &State) -> Result<(), Fault> {
    let mut contacts = Vec::new();
    multibody.contacts(start.t, &start.q, 0.0, &mut contacts);
    let bodies = &multibody.model().bodies;
    let is_of_bodies =
        |contact: &&Contact| multibody.joint_of_stop(contact.id).is_none() && contact.restraint == Restraint::Gap;
    for contact in contacts.iter().filter(is_of_bodies) {
        let [first, second] = [contact.id.first, contact.id.second].map(|body| body as usize);
        let half_size = [first, second].map(|body| reach(&bodies[body])).into_iter().fold(f64::INFINITY, f64::min);
        let limit = scene.run.deepest_overlap.unwrap_or(half_size);
        if -contact.gap > limit {
            let moved = if bodies[second].kind.is_free() { second } else { first };
            let message = format!(
                "bodies `{}` and `{}` overlap by {:.3e} m at the start, more than {limit:.3e} m",
                bodies[first].name, bodies[second].name, -contact.gap
            );
            let help =
                "move one of them, exclude the pair with `[[ignore]]`, or let it pass with `run.deepest-overlap`";
            return Err(Place::top("body").index(moved).key("position").fault(message, help));
        }
    }
    Ok(())
}

/// Half the size of a body: how far its largest finite shape reaches from its middle, in metres.
/// Endless without one, and for a point, which has no depth to compare with.
fn reach(body: &Body) -> f64 {
    let reach = body.shapes.iter().map(|shape| extent(&shape.placed.shape)).fold(0.0, f64::max);
    if reach > 0.0 { reach } else { f64::INFINITY }
}

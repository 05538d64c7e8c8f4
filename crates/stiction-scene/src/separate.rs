//! Bodies that start in overlap, moved apart.
//!
//! Of two convex bodies the deepest contact has the least translation that parts them: its depth
//! along its normal. Both bodies move by half of it where both are free. That may push them into
//! others, so it is repeated until no contact of bodies is deeper than rounding.

use std::collections::BTreeMap;

use stiction_bodies::Multibody;
use stiction_bodies::glamx::DVec3;
use stiction_dynamics::{Contact, MechanicalSystem, Restraint, State};

use crate::load::Loaded;
use crate::scene::Scene;

/// Overlaps up to this stay, in metres. Too large: the first step parts bodies that should rest. Too
/// small: rounding of poses never ends it.
const REST: f64 = 1e-12;

/// Rounds after which bodies are taken for wedged.
const MOST_ROUNDS: usize = 1000;

/// A body that was moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Its name.
    pub body: String,
    /// How far, in metres, in world axes.
    pub way: [f64; 3],
}

/// The scene with bodies moved apart that start in overlap, and which were moved; none of them for a
/// scene without.
///
/// # Errors
/// A sentence when they cannot be parted by moving them along their contacts.
pub fn separated(loaded: &Loaded) -> Result<(Scene, Vec<Moved>), String> {
    let mut scene = loaded.scene().clone();
    let Some(system) = loaded.system().bodies() else { return Ok((scene, Vec::new())) };
    let start = loaded.start();
    let mut q = start.q.clone();
    let mut contacts = Vec::new();
    for round in 0.. {
        contacts.clear();
        system.contacts(start.t, &q, 0.0, &mut contacts);
        let deepest = deepest(system, &contacts);
        if deepest.is_empty() {
            break;
        }
        if round == MOST_ROUNDS {
            let (first, second) = system.body_names(deepest[0].id);
            return Err(format!("`{first}` and `{second}` cannot be moved apart: there is no room for them"));
        }
        let mut way = vec![0.0; start.v.len()];
        for contact in deepest {
            add_way(system, &State { q: q.clone(), ..start.clone() }, contact, &mut way);
        }
        let mut moved = q.clone();
        system.advance(start.t, &q, &way, 1.0, &mut moved);
        q = moved;
    }
    let mut list = Vec::new();
    for (body, entry) in scene.bodies.iter_mut().enumerate() {
        let [from, to] = [&start.q, &q].map(|q| system.pose(body, start.t, q).position);
        if from != to {
            let axes = entry.position.as_ref().map_or(3, Vec::len);
            entry.position = Some(to.to_array()[..axes].to_vec());
            list.push(Moved { body: entry.name.clone(), way: (to - from).to_array() });
        }
    }
    Ok((scene, list))
}

/// The deepest contact of each pair of bodies that overlap.
fn deepest<'a>(system: &Multibody, contacts: &'a [Contact]) -> Vec<&'a Contact> {
    let mut pairs: BTreeMap<_, &Contact> = BTreeMap::new();
    for contact in contacts {
        let is_of_bodies = system.joint_of_stop(contact.id).is_none() && contact.restraint == Restraint::Gap;
        if is_of_bodies && contact.gap < -REST {
            let pair = pairs.entry((contact.id.first, contact.id.second)).or_insert(contact);
            if contact.gap < pair.gap {
                *pair = contact;
            }
        }
    }
    pairs.into_values().collect()
}

/// Adds the way that parts two bodies, as a velocity of one second: along the row of the normal, but
/// without rotation.
fn add_way(system: &Multibody, state: &State, contact: &Contact, way: &mut [f64]) {
    let bodies = [contact.id.first, contact.id.second].map(|body| body as usize);
    let mut unit = State { v: vec![0.0; state.v.len()], ..state.clone() };
    let mut straight = Vec::new();
    for &(index, value) in contact.normal.entries() {
        unit.v[index] = 1.0;
        let moves = bodies.iter().any(|&body| {
            let (velocity, spin) = system.velocity(body, &unit);
            velocity != DVec3::ZERO && spin == DVec3::ZERO
        });
        unit.v[index] = 0.0;
        if moves {
            straight.push((index, value));
        }
    }
    // Of two free bodies the squares sum to two, of one to one.
    let squares: f64 = straight.iter().map(|(_, value)| value * value).sum();
    if squares > 0.0 {
        straight.iter().for_each(|(index, value)| way[*index] -= contact.gap * value / squares);
    }
}

//! The contact search: near pairs, their gaps, and the rows of each contact.

use std::sync::{Mutex, MutexGuard, PoisonError};

use glamx::DVec3;
use stiction_dynamics::{Contact, ContactFrame, ContactId, FrictionLaw, Row};

use super::passage::Travel;
use super::{Multibody, MultibodyModel};
use crate::body::BodyShape;
use crate::broad_phase::BroadPhase;
use crate::collide::{self, Touch};
use crate::material::Torsion;
use crate::pose::Pose;
use crate::shape::Dimension;

/// A normal closer to the vertical than this (sine of the angle) takes its first tangent along x.
const VERTICAL_SINE: f64 = 1e-9;

/// A grain that is nearer to the normal than this (sine of the angle) has no direction in the plane
/// of contact: there all directions are across it.
const END_GRAIN: f64 = 1e-9;

/// A shape of some body.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) body: usize,
    /// Which of the shapes of the body.
    pub(super) number: u32,
    /// Radius of a sphere around the shape's own origin that holds it.
    pub(super) bounding_radius: f64,
}

impl Part {
    /// The shapes of all bodies, in the order of the model.
    pub(super) fn all(model: &MultibodyModel) -> Vec<Self> {
        let mut parts = Vec::new();
        for (body, entry) in model.bodies.iter().enumerate() {
            for (number, shape) in entry.shapes.iter().enumerate() {
                let bounding_radius = shape.placed.shape.bounding_radius();
                parts.push(Self { body, number: number as u32, bounding_radius });
            }
        }
        parts
    }
}

/// Memory of the contact search; a lock because the system is shared, uncontended in a simulation.
/// A copy of the system begins without it.
#[derive(Debug, Default)]
pub(super) struct SearchMemory(Mutex<Search>);

impl SearchMemory {
    pub(super) fn lock(&self) -> MutexGuard<'_, Search> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for SearchMemory {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// What the search keeps from call to call.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) broad_phase: BroadPhase,
    pub(super) poses: Vec<Pose>,
    pub(super) end_poses: Vec<Pose>,
    pub(super) travels: Vec<Travel>,
    pub(super) pairs: Vec<(usize, usize)>,
    /// The contacts that are looked for, sorted.
    wanted: Vec<ContactId>,
    pub(super) touches: Vec<Touch>,
}

impl Multibody {
    pub(super) fn shape(&self, part: &Part) -> &BodyShape {
        &self.model.bodies[part.body].shapes[part.number as usize]
    }

    /// Appends the contacts whose gap is at most `horizon`, in the order of the scene.
    pub(super) fn find_contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let mut guard = self.search.lock();
        let Search { broad_phase, poses, pairs, touches, .. } = &mut *guard;
        self.take_poses(t, q, poses);
        let shape_pose = |part: &Part| self.shape(part).placed.world_pose(&poses[part.body]);
        pairs.clear();
        let spheres = self.parts.iter().map(|part| (shape_pose(part).position, part.bounding_radius));
        broad_phase.for_each_near_pair(spheres, horizon, |a, b| {
            if self.model.may_collide(&self.exclusions, self.parts[a].body, self.parts[b].body) {
                pairs.push((a, b));
            }
        });
        pairs.sort_unstable(); // contacts in the order of the scene, whatever the sweep found first
        for &pair in pairs.iter() {
            out.extend(self.contacts_of_pair(pair, (t, &poses[..]), horizon, touches, |_| true));
        }
    }

    /// Appends the contacts with these ids, however far apart, in the order of the scene: an id
    /// names two shapes, and no others are looked at.
    pub(super) fn find_contacts_of(&self, t: f64, q: &[f64], ids: &[ContactId], out: &mut Vec<Contact>) {
        if ids.is_empty() {
            return;
        }
        let mut guard = self.search.lock();
        let Search { poses, pairs, touches, wanted, .. } = &mut *guard;
        wanted.clear();
        wanted.extend(ids);
        wanted.sort_unstable();
        let is_wanted = |id: ContactId| wanted.binary_search(&id).is_ok();
        pairs.clear();
        pairs.extend(wanted.iter().filter_map(|id| {
            let [first, second] = shapes_of(*id)
                .map(|shape| self.parts.binary_search_by_key(&shape, |part| (part.body as u32, part.number)).ok());
            let (first, second) = (first?, second?);
            Some((first.min(second), first.max(second)))
        }));
        pairs.sort_unstable();
        pairs.dedup();
        if !pairs.is_empty() {
            self.take_poses(t, q, poses);
        }
        for &pair in pairs.iter() {
            out.extend(self.contacts_of_pair(pair, (t, &poses[..]), f64::INFINITY, touches, is_wanted));
        }
        let others = out.len();
        if wanted.iter().any(|id| self.joint_of_stop(*id).is_some()) {
            self.add_stops(t, q, f64::INFINITY, out);
        }
        if wanted.iter().any(|id| self.clutch(*id).is_some()) {
            self.add_clutches(t, q, out);
        }
        let mut number = 0;
        out.retain(|contact| {
            number += 1;
            number <= others || is_wanted(contact.id)
        });
    }

    /// The poses of all bodies.
    pub(super) fn take_poses(&self, t: f64, q: &[f64], poses: &mut Vec<Pose>) {
        poses.clear();
        poses.extend((0..self.model.bodies.len()).map(|body| self.pose(body, t, q)));
    }

    /// The numbers of two parts, that first whose body moves.
    pub(super) fn ordered(&self, (a, b): (usize, usize)) -> [usize; 2] {
        if self.model.bodies[self.parts[a].body].kind.is_free() { [a, b] } else { [b, a] }
    }

    /// Where two parts come nearer than `horizon`, with bodies in these poses.
    pub(super) fn collide_parts(&self, parts: [&Part; 2], bodies: [&Pose; 2], horizon: f64, touches: &mut Vec<Touch>) {
        let [first, second] = parts.map(|part| &self.shape(part).placed);
        let poses = [first.world_pose(bodies[0]), second.world_pose(bodies[1])];
        touches.clear();
        let dimension = self.model.dimension;
        collide::collide(dimension, &first.shape, &poses[0], &second.shape, &poses[1], horizon, touches);
    }

    /// The contacts of a pair of parts that come nearer than `horizon`.
    fn contacts_of_pair<'a>(
        &'a self,
        pair: (usize, usize),
        (t, poses): (f64, &'a [Pose]),
        horizon: f64,
        touches: &'a mut Vec<Touch>,
        is_wanted: impl Fn(ContactId) -> bool + 'a,
    ) -> impl Iterator<Item = Contact> + 'a {
        let parts @ [first, second] = self.ordered(pair).map(|part| &self.parts[part]);
        self.collide_parts(parts, parts.map(|part| &poses[part.body]), horizon, touches);
        let wanted = touches.iter().filter(move |touch| is_wanted(contact_id(first, second, touch.feature)));
        wanted.map(move |touch| self.contact(first, second, poses, t, touch))
    }

    /// Half the least thickness of the thinner of two shapes, in metres; of a point or segment on a
    /// wall half its length, or its distance from the origin of its body.
    pub(super) fn pair_size(&self, first: &BodyShape, second: &BodyShape) -> f64 {
        let least = |measure: &dyn Fn(&BodyShape) -> f64| {
            let sizes = [first, second].map(measure).into_iter();
            sizes.filter(|size| *size > 0.0 && size.is_finite()).reduce(f64::min)
        };
        least(&|shape| shape.placed.shape.thickness(self.model.dimension))
            .or_else(|| least(&|shape| shape.placed.shape.bounding_radius()))
            .or_else(|| least(&|shape| shape.placed.position.length()))
            .unwrap_or(1.0)
    }

    /// The size of the smaller shape of a contact, in metres; a stop has none, and no clutch.
    pub(super) fn size_of_contact(&self, id: ContactId) -> Option<f64> {
        if self.joint_of_stop(id).is_some() || self.clutch(id).is_some() {
            return None;
        }
        let [first, second] =
            shapes_of(id).map(|(body, shape)| &self.model.bodies[body as usize].shapes[shape as usize]);
        Some(self.pair_size(first, second))
    }

    /// The contact that a touch of two parts makes.
    fn contact(&self, first: &Part, second: &Part, poses: &[Pose], t: f64, touch: &Touch) -> Contact {
        let mut contact = Contact {
            id: contact_id(first, second, touch.feature),
            gap: touch.gap,
            frame: Some(ContactFrame { point: touch.point.to_array(), normal: touch.normal.to_array() }),
            ..Default::default()
        };
        // Each body by its own surface point, as the constraint functions of [ST96] have it. The
        // points differ by the gap along the normal, which the normal row does not feel.
        let row = |direction: DVec3, row: &mut Row| {
            let (a, b) = (first.body, second.body);
            self.add_point_velocity(a, &poses[a], t, touch.point_on_first, direction, 1.0, row)
                + self.add_point_velocity(b, &poses[b], t, touch.point_on_second, direction, -1.0, row)
        };
        contact.normal_drift = row(touch.normal, &mut contact.normal);
        let (m, n) = (self.shape(first).material, self.shape(second).material);
        let surface = self.model.materials.surface(m, n).unwrap_or_default();
        contact.restitution = surface.restitution;
        contact.phantom = surface.phantom;
        contact.static_mu = surface.static_friction;
        let mu = surface.friction;
        if mu > 0.0 {
            let mut directions = tangent_directions(self.model.dimension, touch.normal);
            let mut axes = surface.friction_axes.unwrap_or([1.0; 2]);
            if let Some(grain) = surface.grain {
                let body = if grain.material == m { first.body } else { second.body };
                let along = (poses[body].orientation * grain.direction).reject_from_normalized(touch.normal);
                if along.length() > END_GRAIN * grain.direction.length() {
                    directions[0] = along.normalize();
                    directions[1] = directions[0].cross(touch.normal);
                } else {
                    axes = [axes[0].min(axes[1]); 2];
                }
            }
            contact.friction = match (&surface.polytope, surface.torsion_radius, axes) {
                (Some(law), ..) => law.clone(),
                (None, 0.0, [1.0, 1.0]) => FrictionLaw::Coulomb { mu },
                (None, 0.0, [along, across]) => FrictionLaw::Elliptic { mu, semi_axes: [along, across, 1.0] },
                (None, radius, [along, across]) => {
                    let semi_axes = [along, across, radius];
                    match surface.torsion {
                        Torsion::Coupled => FrictionLaw::Elliptic { mu, semi_axes },
                        Torsion::Separate => FrictionLaw::EllipseAndTorsion { mu, semi_axes },
                    }
                }
            };
            for (a, &direction) in directions[..self.model.dimension.axes() - 1].iter().enumerate() {
                contact.tangents.push(Row::new());
                contact.tangent_drift[a] = row(direction, &mut contact.tangents[a]);
            }
            let has_torsion = surface.torsion_radius > 0.0 || surface.polytope.is_some();
            if has_torsion && self.model.dimension == Dimension::Space {
                let mut torsion = Row::new();
                let (a, b) = (first.body, second.body);
                contact.tangent_drift[2] = self.add_rotation(a, &poses[a], touch.normal, 1.0, &mut torsion)
                    + self.add_rotation(b, &poses[b], touch.normal, -1.0, &mut torsion);
                contact.tangents.push(torsion);
            }
        }
        contact
    }

    /// `first/second#feature`; the numbers of the shapes are left out when both are the first of
    /// their body. Of a stop `hinge.lower` or `hinge.upper`, of a clutch its name.
    pub(super) fn name_of_contact(&self, id: ContactId) -> String {
        if let Some(clutch) = self.clutch(id) {
            return clutch.name.clone();
        }
        if let Some(joint) = self.joint_of_stop(id) {
            let end = if id.feature == 0 { "lower" } else { "upper" };
            return format!("{}.{end}", self.model.joints[joint].name);
        }
        let [first, second] = [id.first, id.second].map(|body| &self.model.bodies[body as usize].name);
        let feature = id.feature & 0xff;
        match shapes_of(id) {
            [(_, 0), (_, 0)] => format!("{first}/{second}#{feature}"),
            [(_, m), (_, n)] => format!("{first}[{m}]/{second}[{n}]#{feature}"),
        }
    }

    /// Names of the two bodies of a contact.
    pub(super) fn bodies_of_contact(&self, id: ContactId) -> (String, String) {
        let (first, second) = match (self.joint_of_stop(id), self.clutch(id)) {
            (Some(joint), _) => (self.model.joints[joint].first, self.model.joints[joint].second),
            (None, Some(clutch)) => (clutch.body, clutch.against),
            (None, None) => (id.first as usize, Some(id.second as usize)),
        };
        let name = |body: usize| self.model.bodies[body].name.clone();
        (name(first), second.map_or_else(|| "world".to_owned(), name))
    }
}

/// The identity of a contact of two parts.
pub(super) fn contact_id(first: &Part, second: &Part, feature: u32) -> ContactId {
    ContactId {
        first: first.body as u32,
        second: second.body as u32,
        feature: (first.number << 20) | (second.number << 8) | feature,
    }
}

/// The bodies of a contact, each with the number of its shape.
fn shapes_of(id: ContactId) -> [(u32, u32); 2] {
    [(id.first, id.feature >> 20), (id.second, (id.feature >> 8) & 0xfff)]
}

/// Tangents of a unit normal. In the plane the normal turned clockwise; in space $n \times e_z$
/// normalised and its cross product with $n$, as \[ST96\] §3 builds them, and along x where that
/// vanishes.
pub(super) fn tangent_directions(dimension: Dimension, normal: DVec3) -> [DVec3; 2] {
    match dimension {
        Dimension::Plane => [DVec3::new(normal.y, -normal.x, 0.0), DVec3::ZERO],
        Dimension::Space => {
            let across = normal.cross(DVec3::Z);
            let length = across.length();
            let first = if length < VERTICAL_SINE { DVec3::X } else { across / length };
            [first, first.cross(normal)]
        }
    }
}

/// The same tangents with their rates, for a normal that turns at a rate.
pub(super) fn tangent_rates(dimension: Dimension, normal: DVec3, rate: DVec3) -> [(DVec3, DVec3); 2] {
    let [first, second] = tangent_directions(dimension, normal);
    match dimension {
        Dimension::Plane => [(first, DVec3::new(rate.y, -rate.x, 0.0)), (second, DVec3::ZERO)],
        Dimension::Space => {
            let length = normal.cross(DVec3::Z).length();
            let across_rate = rate.cross(DVec3::Z);
            let first_rate = match length < VERTICAL_SINE {
                true => DVec3::ZERO,
                false => (across_rate - first * first.dot(across_rate)) / length,
            };
            [(first, first_rate), (second, first_rate.cross(normal) + first.cross(rate))]
        }
    }
}

/// The same for tangents along a grain and across it, where the grain turns at a rate of its own;
/// none where it has no direction in the plane of contact.
pub(super) fn grain_rates(
    (normal, normal_rate): (DVec3, DVec3),
    (grain, grain_rate): (DVec3, DVec3),
) -> Option<[(DVec3, DVec3); 2]> {
    let height = normal.dot(grain);
    let along = grain - height * normal;
    let length = along.length();
    if length <= END_GRAIN * grain.length() {
        return None;
    }
    let height_rate = normal_rate.dot(grain) + normal.dot(grain_rate);
    let along_rate = grain_rate - height_rate * normal - height * normal_rate;
    let first = along / length;
    let first_rate = (along_rate - first * first.dot(along_rate)) / length;
    Some([(first, first_rate), (first.cross(normal), first_rate.cross(normal) + first.cross(normal_rate))])
}

//! The contact search: near pairs, their gaps, and the rows of each contact.

use std::sync::{Mutex, MutexGuard, PoisonError};

use glamx::DVec3;
use smallvec::SmallVec;
use stiction_dynamics::{Contact, ContactFrame, ContactId, FrictionLaw, Row};

use super::passage::Travel;
use super::{Multibody, MultibodyModel};
use crate::body::BodyShape;
use crate::broad_phase::BroadPhase;
use crate::collide::{self, FeaturePair, Touch};
use crate::material::Torsion;
use crate::pose::Pose;
use crate::shape::{Dimension, Shape};

/// A normal closer to the vertical than this (sine of the angle) takes its first tangent along x.
const VERTICAL_SINE: f64 = 1e-9;

/// A grain that is nearer to the normal than this (sine of the angle) has no direction in the plane
/// of contact: there all directions are across it.
const END_GRAIN: f64 = 1e-9;

/// A shape of some body, with what the search asks of it again and again.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) body: usize,
    /// Which of the shapes of the body.
    pub(super) number: u16,
    /// Centre of a ball that holds the shape, in body coordinates, and its radius.
    pub(super) centre: DVec3,
    pub(super) bounding_radius: f64,
    /// How far from the origin of the body a turn moves the surface along its normal, in metres: a
    /// ball may turn as it likes.
    pub(super) lever: f64,
    /// Half the least thickness of the shape, in metres.
    pub(super) thickness: f64,
    /// Whether it has another side, on which a body that passed through it is outside again. A
    /// half-space has none, and what leaves a hole is outside of it for good.
    pub(super) is_solid: bool,
}

impl Part {
    /// The shapes of all bodies, in the order of the model.
    pub(super) fn all(model: &MultibodyModel) -> Vec<Self> {
        let mut parts = Vec::new();
        for (body, entry) in model.bodies.iter().enumerate() {
            for (number, BodyShape { placed, .. }) in entry.shapes.iter().enumerate() {
                let shape = &placed.shape;
                let (centre, bounding_radius) = shape.bounding_ball();
                let centre = placed.pose().transform_point(centre);
                let across = match *shape {
                    Shape::Sphere { .. } => 0.0,
                    Shape::Capsule { half_length, .. } => half_length,
                    _ => bounding_radius,
                };
                parts.push(Self {
                    body,
                    number: number as u16,
                    centre,
                    bounding_radius,
                    lever: centre.length() + across,
                    thickness: shape.thickness(model.dimension),
                    is_solid: !matches!(shape, Shape::HalfSpace { .. }) && !shape.is_hole(),
                });
            }
        }
        parts
    }
}

/// Which contacts of a pair are looked for.
#[derive(Clone, Copy)]
enum Sought<'a> {
    /// Those whose gap is at most this, in metres.
    Nearer(f64),
    /// Those with these ids, which are sorted.
    These(&'a [ContactId]),
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
        pairs.clear();
        let spheres =
            self.parts.iter().map(|part| (poses[part.body].transform_point(part.centre), part.bounding_radius));
        broad_phase.for_each_near_pair(spheres, horizon, |a, b| {
            if self.model.may_collide(&self.exclusions, self.parts[a].body, self.parts[b].body) {
                pairs.push((a, b));
            }
        });
        pairs.sort_unstable(); // contacts in the order of the scene, whatever the sweep found first
        for &pair in pairs.iter() {
            self.add_contacts_of_pair(pair, (t, &poses[..]), Sought::Nearer(horizon), touches, out);
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
            let [first, second] = shapes_of(*id).map(|shape| self.part(shape));
            let (first, second) = (first?, second?);
            Some((first.min(second), first.max(second)))
        }));
        pairs.sort_unstable();
        pairs.dedup();
        if !pairs.is_empty() {
            self.take_poses(t, q, poses);
        }
        for &pair in pairs.iter() {
            self.add_contacts_of_pair(pair, (t, &poses[..]), Sought::These(wanted), touches, out);
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

    /// Appends the contacts of a pair of parts that are sought.
    fn add_contacts_of_pair(
        &self,
        pair: (usize, usize),
        (t, poses): (f64, &[Pose]),
        sought: Sought<'_>,
        touches: &mut Vec<Touch>,
        out: &mut Vec<Contact>,
    ) {
        let parts @ [first, second] = self.ordered(pair).map(|part| &self.parts[part]);
        let bodies = parts.map(|part| &poses[part.body]);
        match sought {
            Sought::Nearer(horizon) => self.collide_parts(parts, bodies, horizon, touches),
            Sought::These(wanted) => {
                let [low, high] = [0, u64::MAX].map(|feature| contact_id(first, second, feature));
                let from = wanted.partition_point(|id| *id < low);
                let these = wanted[from..].iter().take_while(|id| **id <= high).map(|id| id.feature);
                let features: SmallVec<[u64; 16]> = these.collect();
                let placed = parts.map(|part| &self.shape(part).placed);
                let [pose_first, pose_second] = [0, 1].map(|i| placed[i].world_pose(bodies[i]));
                touches.clear();
                let pair = [(&placed[0].shape, &pose_first), (&placed[1].shape, &pose_second)];
                collide::touches_of(self.model.dimension, pair, &features, touches);
            }
        }
        out.extend(touches.iter().map(|touch| self.contact(first, second, poses, t, touch)));
    }

    /// Half the least thickness of the thinner of two shapes, in metres; of a point or segment on a
    /// wall half its length, or its distance from the origin of its body.
    pub(super) fn pair_size(&self, pair: [&Part; 2]) -> f64 {
        let least = |measure: fn(&Part) -> f64| {
            let sizes = pair.map(measure).into_iter();
            sizes.filter(|size| *size > 0.0 && size.is_finite()).reduce(f64::min)
        };
        least(|part| part.thickness)
            .or_else(|| least(|part| part.bounding_radius))
            .or_else(|| least(|part| part.centre.length()))
            .unwrap_or(1.0)
    }

    /// The shape with this number of a body with this number.
    fn part(&self, shape: (u32, u16)) -> Option<usize> {
        self.parts.binary_search_by_key(&shape, |part| (part.body as u32, part.number)).ok()
    }

    /// The size of the smaller shape of a contact, in metres; a stop has none, and no clutch.
    pub(super) fn size_of_contact(&self, id: ContactId) -> Option<f64> {
        if self.joint_of_stop(id).is_some() || self.clutch(id).is_some() {
            return None;
        }
        let [first, second] = shapes_of(id).map(|shape| self.part(shape));
        Some(self.pair_size([&self.parts[first?], &self.parts[second?]]))
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
        let feature = FeaturePair::of(id.feature);
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
pub(super) fn contact_id(first: &Part, second: &Part, feature: u64) -> ContactId {
    ContactId { first: first.body as u32, second: second.body as u32, shapes: [first.number, second.number], feature }
}

/// The bodies of a contact, each with the number of its shape.
pub(super) fn shapes_of(id: ContactId) -> [(u32, u16); 2] {
    [(id.first, id.shapes[0]), (id.second, id.shapes[1])]
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

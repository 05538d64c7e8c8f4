//! Bodies, materials, forces and shapes as a [`MechanicalSystem`].
//!
//! Coordinates of a free body: in the plane $(x, y, \theta)$ with velocities
//! $(\dot x, \dot y, \omega)$; in space the position and the unit quaternion $(w, x, y, z)$ with
//! the linear velocity in world axes and the angular velocity in body axes, so that the inertia is
//! constant; a body with the same inertia about every axis, such as a ball, has its angular
//! velocity in world axes. Points have no rotation. Static and prescribed bodies have no
//! coordinates.

mod assemble;
mod contacts;
mod coordinates;
mod dry_friction;
mod force_jacobians;
mod forces;
mod joints;
mod model;
mod passage;
mod record;
mod row_rates;
mod rows;
mod springs;

#[cfg(test)]
mod spring_tests;
#[cfg(test)]
mod tests;

use stiction_dynamics::{
    Contact, ContactId, ForceCause, ForceJacobians, FrictionElement, Inertia, JacobianKind, Joint, MechanicalSystem,
    Passage, RowRates, State, Way,
};

use crate::collide;
use crate::error::BodyError;
use crate::joint::JointRow;

use contacts::{Part, SearchMemory};
use coordinates::Coordinates;
use model::Exclusions;

pub use assemble::Assembly;
pub use model::MultibodyModel;

/// A system of bodies.
#[derive(Clone, Debug)]
pub struct Multibody {
    model: MultibodyModel,
    coordinates: Coordinates,
    parts: Vec<Part>,
    /// Half the thickness of the thinnest solid shape, in metres; infinite where no two can meet.
    thinnest: f64,
    exclusions: Exclusions,
    /// Coordinates and velocities of the start, where they are not those of the bodies.
    start: Option<(Vec<f64>, Vec<f64>)>,
    /// What the rows of each joint hold.
    joint_rows: Vec<Vec<JointRow>>,
    search: SearchMemory,
}

impl Multibody {
    /// Builds the system.
    ///
    /// # Errors
    /// [`BodyError`] with the names of the bodies, materials and shapes that do not work.
    ///
    /// # Panics
    /// When an index of the model (a body of a force, a material of a shape) is out of range.
    pub fn new(model: MultibodyModel) -> Result<Self, BodyError> {
        let exclusions = Exclusions::new(&model);
        model.check(&exclusions)?;
        let kinds = |rows: Vec<(_, JointRow)>| rows.into_iter().map(|(_, kind)| kind).collect();
        let mut system = Self {
            thinnest: f64::INFINITY,
            coordinates: Coordinates::new(&model),
            parts: Part::all(&model),
            exclusions,
            start: None,
            joint_rows: model.joints.iter().map(|joint| joint.kind.rows(model.dimension)).map(kinds).collect(),
            search: SearchMemory::default(),
            model,
        };
        system.thinnest = system.thinnest_part();
        Ok(system)
    }

    /// Starts from these coordinates and velocities instead of those of the bodies, for instance
    /// after [`assemble`](Self::assemble).
    pub fn set_start(&mut self, state: &State) {
        self.start = Some((state.q.clone(), state.v.clone()));
    }

    /// Whether two bodies, by number, collide where they meet.
    pub fn may_collide(&self, a: usize, b: usize) -> bool {
        self.model.may_collide(&self.exclusions, a, b)
    }

    /// The names of two bodies that may meet at corners of which contacts come and go.
    pub fn meet_at_corners(&self) -> Option<[&str; 2]> {
        let bodies = &self.model.bodies;
        let shapes = |body: usize| bodies[body].shapes.iter().map(|shape| &shape.placed.shape);
        let pairs = (0..bodies.len()).flat_map(|a| (0..a).map(move |b| (b, a)));
        let mut pairs = pairs.filter(|&(a, b)| self.may_collide(a, b));
        let pair = pairs.find(|&(a, b)| shapes(a).any(|m| shapes(b).any(|n| collide::meet_at_corners(m, n))))?;
        Some([pair.0, pair.1].map(|body| bodies[body].name.as_str()))
    }

    /// What the system consists of.
    pub fn model(&self) -> &MultibodyModel {
        &self.model
    }
}

impl MechanicalSystem for Multibody {
    fn velocity_count(&self) -> usize {
        self.coordinates.v_count
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        self.add_masses(out);
    }

    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        self.add_gravity(k);
        self.add_gyroscopic(v, k);
        self.add_applied(t, q, k);
        self.add_motors(t, q, k);
        self.add_friction_bias(t, q, k);
        self.add_springs(None, t, q, v, k);
    }

    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        match cause {
            ForceCause::Potential => self.add_gravity(k),
            ForceCause::Gyroscopic => self.add_gyroscopic(v, k),
            ForceCause::Applied => {
                self.add_applied(t, q, k);
                self.add_motors(t, q, k);
                self.add_friction_bias(t, q, k);
            }
        }
        self.add_springs(Some(cause), t, q, v, k);
    }

    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        self.find_contacts(t, q, horizon, out);
        self.add_stops(t, q, horizon, out);
        if horizon >= 0.0 {
            self.add_clutches(t, q, out);
        }
    }

    fn contacts_of(&self, t: f64, q: &[f64], ids: &[ContactId], out: &mut Vec<Contact>) {
        self.find_contacts_of(t, q, ids, out);
    }

    fn contact_size(&self, id: ContactId) -> Option<f64> {
        self.size_of_contact(id)
    }

    fn passage(&self, way: Way, from: (f64, &[f64]), to: (f64, &[f64])) -> Option<Passage> {
        self.find_passage(way, from, to)
    }

    fn friction_elements(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        self.add_dry_friction(t, q, out);
        self.add_joint_friction(t, q, out);
        self.add_preloads(t, q, out);
    }

    fn joints(&self, t: f64, q: &[f64], out: &mut Vec<Joint>) {
        self.add_joints(t, q, out);
    }

    fn joint_names(&self) -> Vec<String> {
        self.model.joints.iter().flat_map(|joint| joint.row_names(self.model.dimension)).collect()
    }

    fn force_jacobians(&self, kind: JacobianKind, t: f64, q: &[f64], v: &[f64], out: &mut ForceJacobians) {
        self.add_gyroscopic_jacobian(kind, v, out);
        self.add_spring_jacobians(kind, t, q, v, out);
        if kind == JacobianKind::Exact {
            self.add_applied_jacobian(t, q, out);
            self.add_friction_bias_jacobian(t, q, out);
        }
    }

    fn has_static_friction(&self) -> bool {
        self.model.materials.has_static_friction()
            || self.model.dry_friction.iter().any(|element| element.static_bound.is_some())
            || self.model.joints.iter().any(|joint| joint.static_friction.is_some())
    }

    fn displace(&self, _t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        self.coordinates.advance(q, v, h, out);
    }

    fn configuration_rate(&self, _t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        self.coordinates.rate(q, v, out);
    }

    fn advance_derivative(&self, _t: f64, _q: &[f64], v: &[f64], h: f64, w: &[f64], out: &mut [f64]) {
        self.coordinates.advance_derivative(v, h, w, out);
    }

    fn row_rates(
        &self,
        t: f64,
        q: &[f64],
        v: &[f64],
        rows: (&[Contact], &[FrictionElement], &[Joint]),
        out: &mut RowRates,
    ) {
        self.write_row_rates((t, q, v), rows, out);
    }

    fn potential_energy(&self, t: f64, q: &[f64]) -> Option<f64> {
        Some(self.gravity_energy(t, q) + self.spring_energy(t, q))
    }

    fn column_names(&self) -> Vec<String> {
        self.columns()
    }

    fn record(&self, state: &State, out: &mut Vec<f64>) {
        self.record_bodies(state, out);
    }

    fn contact_name(&self, id: ContactId) -> String {
        self.name_of_contact(id)
    }

    // In the order of `friction_elements`: dry friction, joints, springs.
    fn friction_name(&self, id: u32) -> String {
        let MultibodyModel { dry_friction, joints, springs, .. } = &self.model;
        let names = dry_friction.iter().map(|element| &element.name).chain(joints.iter().map(|joint| &joint.name));
        let mut names = names.chain(springs.iter().map(|spring| &spring.name));
        names.nth(id as usize).cloned().unwrap_or_default()
    }

    fn body_names(&self, id: ContactId) -> (String, String) {
        self.bodies_of_contact(id)
    }
}

//! The one small problem in which every linear scheme ends.
//!
//! $$ \begin{aligned}
//! W (u - u_\text{free}) &= \nu^T c_j + \sum (n^T c_n + T^T c_t) && \text{momentum} \\\\
//! \nu u + b_j &= 0 && \text{joints} \\\\
//! 0 \le n u + b_n &\perp c_n \ge 0 && \text{no penetration, no pulling} \\\\
//! (T u + b_t,\ c_t) &\text{ obey the friction law with bound } \mu c_n + a && \text{friction}
//! \end{aligned} $$
//!
//! Only the meaning of the letters changes from scheme to scheme: $u$ is a new velocity, a mean
//! velocity or an acceleration, $W$ the mass matrix or something larger, the biases $b$ carry gaps,
//! restitution and drift. Schemes write this struct, contact methods solve it, the audit checks it,
//! problem files store it.

use std::fmt;

use smallvec::SmallVec;
use stiction_solve::SolveReport;

use crate::contact::{Tangents, slip};
use crate::judge::Place;
use crate::{Contact, ContactError, ContactId, FrictionElement, FrictionShape, Inertia, Joint, PhantomContact, Row};

/// Inertia, free motion and conditions; see the [module](self) for the letters.
#[derive(Clone, Debug, Default)]
pub struct ContactProblem {
    /// $W$, factored.
    pub inertia: Inertia,
    /// $u_\text{free}$: the motion without contacts, friction and joints.
    pub free_motion: Vec<f64>,
    /// Bilateral conditions.
    pub joints: Vec<JointCondition>,
    /// Unilateral contacts with friction.
    pub contacts: Vec<ContactCondition>,
    /// Friction without a normal row.
    pub friction: Vec<FrictionCondition>,
}

/// $\nu u + b_j = 0$.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointCondition {
    /// The row $\nu$.
    pub row: Row,
    /// The bias $b_j$.
    pub bias: f64,
    /// By how much the bias may be off, because it was computed as a difference of coordinates.
    pub rounding: f64,
}

/// $0 \le n u + b_n \perp c_n \ge 0$, and friction with the bound $\mu c_n + a$.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactCondition {
    /// Which contact.
    pub id: ContactId,
    /// The row $n$.
    pub normal: Row,
    /// The bias $b_n$.
    pub normal_bias: f64,
    /// By how much that bias may be off, because a gap is a difference of coordinates.
    pub rounding: f64,
    /// The part of the bias, not positive, that takes back a penetration. The problem without it
    /// has a solution where the one with it may have none (\[ST96\] §3.2).
    pub recovery: f64,
    /// The rows $T$.
    pub tangents: Tangents,
    /// The biases $b_t$.
    pub tangent_bias: [f64; 3],
    /// Coefficient of friction $\mu$.
    pub mu: f64,
    /// Semi-axes of the friction ellipsoid along the tangent rows, as factors on $\mu$: ones for a
    /// circle, a length for a row of torsion.
    pub friction_axes: [f64; 3],
    /// The friction set in units of these semi-axes, for a bound of one: that of the law, or the
    /// polytope with which a method replaces it.
    pub friction_shape: FrictionShape,
    /// Load-independent part $a$ of the friction bound, an impulse in N s.
    pub extra_bound: f64,
    /// What the method `phantom-inertia` does differently for this contact.
    pub phantom: PhantomContact,
}

/// Friction with the fixed bound $a$.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrictionCondition {
    /// Which friction element.
    pub id: u32,
    /// The rows $T$.
    pub tangents: Tangents,
    /// The biases $b_t$.
    pub tangent_bias: [f64; 3],
    /// The bound $a$, an impulse in N s.
    pub bound: f64,
    /// The friction set for a bound of one.
    pub friction_shape: FrictionShape,
}

/// The impulse of a contact, acting on its first body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactImpulse {
    /// Which contact.
    pub id: ContactId,
    /// Normal impulse $c_n$, in N s.
    pub normal: f64,
    /// Friction impulse $c_t$ along the tangent rows, in N s.
    pub tangent: [f64; 3],
}

/// What a contact method returns.
#[derive(Clone, Debug, Default)]
pub struct ContactSolution {
    /// $u$.
    pub motion: Vec<f64>,
    /// $c_j$, in the order of the joints.
    pub joints: Vec<f64>,
    /// Impulses in the order of the contacts.
    pub contacts: Vec<ContactImpulse>,
    /// Impulses in the order of the friction elements.
    pub friction: SmallVec<[[f64; 3]; 4]>,
    /// How the solve ended.
    pub report: SolveReport,
    /// Where the largest residual is.
    pub worst: Place,
}

/// Which contact or friction element, the same from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupName {
    Contact(ContactId),
    Element(u32),
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contact(id) => write!(f, "contact {id:?}"),
            Self::Element(id) => write!(f, "friction element {id}"),
        }
    }
}

/// A contact or a friction element: what is said of both.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub name: GroupName,
    /// Row and bias of the normal; none of a friction element.
    pub normal: Option<(&'a Row, f64)>,
    pub tangents: &'a [Row],
    pub tangent_bias: [f64; 3],
    pub mu: f64,
    /// The part of the bound that does not depend on the load.
    pub bound: f64,
    pub axes: [f64; 3],
    pub shape: &'a FrictionShape,
    pub phantom: PhantomContact,
}

impl<'a> Group<'a> {
    pub fn has_friction(&self) -> bool {
        self.normal.is_none() || self.mu > 0.0 || self.bound > 0.0
    }

    /// The tangents along which friction acts.
    pub fn rough_tangents(&self) -> &'a [Row] {
        if self.has_friction() { self.tangents } else { &[] }
    }

    /// Whether its friction set is that of Coulomb's law.
    pub fn is_round(&self) -> bool {
        self.axes == [1.0; 3] && *self.shape == FrictionShape::Ball
    }

    /// Sliding velocity in units of the semi-axes.
    pub fn scaled_slip(&self, motion: &[f64]) -> [f64; 3] {
        let slip = slip(self.tangents, &self.tangent_bias, motion);
        std::array::from_fn(|k| self.axes[k] * slip[k])
    }
}

impl ContactProblem {
    /// The contacts, and then the friction elements.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Group<'_>> + Clone {
        let contacts = self.contacts.iter().map(|contact| Group {
            name: GroupName::Contact(contact.id),
            normal: Some((&contact.normal, contact.normal_bias)),
            tangents: &contact.tangents,
            tangent_bias: contact.tangent_bias,
            mu: contact.mu,
            bound: contact.extra_bound,
            axes: contact.friction_axes,
            shape: &contact.friction_shape,
            phantom: contact.phantom,
        });
        contacts.chain(self.friction.iter().map(|element| Group {
            name: GroupName::Element(element.id),
            normal: None,
            tangents: &element.tangents,
            tangent_bias: element.tangent_bias,
            mu: 0.0,
            bound: element.bound,
            axes: [1.0; 3],
            shape: &element.friction_shape,
            phantom: PhantomContact::default(),
        }))
    }

    /// The friction sets in the order of the groups.
    pub(crate) fn shapes_mut(&mut self) -> impl Iterator<Item = &mut FrictionShape> {
        let contacts = self.contacts.iter_mut().map(|contact| &mut contact.friction_shape);
        contacts.chain(self.friction.iter_mut().map(|element| &mut element.friction_shape))
    }

    /// Checks sizes, rows and coefficients.
    ///
    /// # Errors
    /// [`ContactError`] that names the contact, joint or friction element and the value that is
    /// wrong.
    pub fn check(&self) -> Result<(), ContactError> {
        let count = self.free_motion.len();
        if self.inertia.size() != count {
            return Err(ContactError::Size { what: "the mass matrix", found: self.inertia.size(), expected: count });
        }
        let check_row = |what: &dyn Fn() -> String, row: &Row| match row.entries().iter().find(|&&(i, _)| i >= count) {
            Some(&(index, _)) => Err(ContactError::RowIndex { what: what(), index, count }),
            None => Ok(()),
        };
        for (i, joint) in self.joints.iter().enumerate() {
            check_row(&|| format!("joint row {i}"), &joint.row)?;
        }
        for group in self.groups() {
            let what = || group.name.to_string();
            let mut rows = group.normal.map(|(row, _)| row).into_iter().chain(group.tangents);
            rows.try_for_each(|row| check_row(&what, row))?;
            let bound = match group.name {
                GroupName::Contact(_) => "load-independent friction bound",
                GroupName::Element(_) => "friction bound",
            };
            let [x, y, z] = group.axes.map(|axis| ("semi-axis of friction", axis));
            for (quantity, value) in [("friction coefficient", group.mu), x, y, z, (bound, group.bound)] {
                if !(value >= 0.0 && value.is_finite()) {
                    return Err(ContactError::Coefficient { what: what(), quantity, value });
                }
            }
            group.check_shape()?;
        }
        Ok(())
    }
}

impl ContactProblem {
    /// Adds `factor` times the impulses $\nu^T c_j + \sum (n^T c_n + T^T c_t)$ of a solution.
    pub fn add_impulses(&self, factor: f64, solution: &ContactSolution, momentum: &mut [f64]) {
        for (joint, impulse) in self.joints.iter().zip(&solution.joints) {
            joint.row.add_to(factor * impulse, momentum);
        }
        for (contact, impulse) in self.contacts.iter().zip(&solution.contacts) {
            contact.normal.add_to(factor * impulse.normal, momentum);
            contact.tangents.iter().zip(impulse.tangent).for_each(|(row, part)| row.add_to(factor * part, momentum));
        }
        for (element, impulse) in self.friction.iter().zip(&solution.friction) {
            element.tangents.iter().zip(impulse).for_each(|(row, part)| row.add_to(factor * part, momentum));
        }
    }
}

impl JointCondition {
    /// The condition that a joint row keeps its value, but for a rate at which it may change.
    pub fn of(joint: &Joint, rate: f64) -> Self {
        Self { row: joint.row.clone(), bias: joint.drift - rate, rounding: 0.0 }
    }
}

impl Group<'_> {
    /// Refuses a friction set that reaches beyond the tangents.
    fn check_shape(&self) -> Result<(), ContactError> {
        let count = self.tangents.len();
        let reason = match self.shape {
            FrictionShape::Convex(set) if set.reaches_beyond(count) => {
                format!("the friction set of {} has more directions than its {count} tangent rows", self.name)
            }
            FrictionShape::Polytope(polytope) => {
                let is_beyond = |corner: &[f64; 3]| corner.iter().skip(count).any(|d| *d != 0.0);
                let Some(i) = polytope.corners().iter().position(is_beyond) else { return Ok(()) };
                format!("direction {i} of {} is not along its {count} tangent rows", self.name)
            }
            _ => return Ok(()),
        };
        Err(ContactError::Directions(reason))
    }
}

impl ContactSolution {
    /// Writes the impulses of contacts and friction elements: normal and tangents, by their number
    /// among both.
    pub(crate) fn write_impulses(&mut self, problem: &ContactProblem, impulse: impl Fn(usize) -> [f64; 4]) {
        self.contacts.clear();
        self.contacts.extend(problem.contacts.iter().enumerate().map(|(i, contact)| {
            let [normal, tangent @ ..] = impulse(i);
            ContactImpulse { id: contact.id, normal, tangent }
        }));
        self.friction.clear();
        let elements = problem.contacts.len()..problem.contacts.len() + problem.friction.len();
        self.friction.extend(elements.map(|i| {
            let [_, tangent @ ..] = impulse(i);
            tangent
        }));
    }

    /// The same impulses one after another.
    pub(crate) fn impulses(&self) -> impl Iterator<Item = (f64, [f64; 3])> {
        let contacts = self.contacts.iter().map(|impulse| (impulse.normal, impulse.tangent));
        contacts.chain(self.friction.iter().map(|tangent| (0.0, *tangent)))
    }
}

impl Default for ContactCondition {
    /// No rows, no friction.
    fn default() -> Self {
        Self::of(&Contact::default())
    }
}

impl ContactCondition {
    /// The condition of a contact as it stands: the drifts of its rows as biases, no friction but
    /// that of its law. Schemes put their own biases in place of these.
    pub fn of(contact: &Contact) -> Self {
        Self {
            id: contact.id,
            normal: contact.normal.clone(),
            normal_bias: contact.normal_drift,
            rounding: 0.0,
            recovery: 0.0,
            tangents: contact.tangents.clone(),
            tangent_bias: contact.tangent_drift,
            mu: contact.mu(),
            friction_axes: contact.friction.axes(),
            friction_shape: contact.friction.shape(),
            extra_bound: 0.0,
            phantom: contact.phantom,
        }
    }

    /// Rate $n u + b_n$ at which the condition stands for this motion.
    pub fn normal_rate(&self, motion: &[f64]) -> f64 {
        self.normal.dot(motion) + self.normal_bias
    }

    /// Sliding velocity $T u + b_t$ for this motion.
    pub fn slip(&self, motion: &[f64]) -> [f64; 3] {
        slip(&self.tangents, &self.tangent_bias, motion)
    }
}

impl FrictionCondition {
    /// The condition of a friction element over this time, in s: its bound is an impulse.
    pub fn of(element: &FrictionElement, h: f64) -> Self {
        Self {
            id: element.id,
            tangents: element.tangents.clone(),
            tangent_bias: element.tangent_drift,
            bound: h * element.limit(),
            friction_shape: element.shape.clone(),
        }
    }

    /// The same, where a displacement $x$ counts as it will be after this time:
    /// $x / h + T (u - \theta \hat v)$, if it was taken where the velocity $\hat v$ leads in the
    /// share $\theta$ of it.
    pub fn after(element: &FrictionElement, h: f64, share: f64, v_hat: &[f64]) -> Self {
        let mut condition = Self::of(element, h);
        if let Some(x) = element.displacement {
            condition.tangent_bias[0] = x / h - share * element.tangents[0].dot(v_hat);
        }
        condition
    }

    /// Whether its friction set is a ball.
    pub fn is_round(&self) -> bool {
        self.friction_shape == FrictionShape::Ball
    }

    /// Sliding velocity $T u + b_t$ for this motion.
    pub fn slip(&self, motion: &[f64]) -> [f64; 3] {
        slip(&self.tangents, &self.tangent_bias, motion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrictionLaw;

    fn row(entries: &[f64]) -> Row {
        Row::from_dense(entries)
    }

    #[test]
    fn a_condition_says_what_its_contact_says() {
        let friction = FrictionLaw::EllipseAndTorsion { mu: 0.4, semi_axes: [1.0, 0.5, 0.1] };
        let contact = Contact {
            id: ContactId::number(7),
            gap: 0.3,
            normal: row(&[0.0, 1.0, 0.0]),
            tangents: [row(&[1.0, 0.0, 0.0]), row(&[0.0, 0.0, 1.0])].into_iter().collect(),
            normal_drift: -0.2,
            tangent_drift: [0.5, -0.6, 0.0],
            friction,
            ..Default::default()
        };
        let condition = ContactCondition::of(&contact);
        assert_eq!(
            (condition.id, &condition.normal, &condition.tangents),
            (contact.id, &contact.normal, &contact.tangents)
        );
        assert_eq!((condition.mu, condition.extra_bound), (0.4, 0.0));
        assert_eq!(condition.friction_axes, [1.0, 0.5, 0.1]);
        assert_eq!(condition.friction_shape, FrictionShape::DiscAndInterval);
        // Rates are those of the gap and of the sliding, drift included; the gap itself is a matter
        // of the scheme.
        let v = [3.0, 4.0, 5.0];
        assert_eq!(condition.normal_rate(&v), 4.0 - 0.2);
        assert_eq!(condition.slip(&v), [3.5, 4.4, 0.0]);
        assert_eq!(condition.slip(&v), contact.slip(&v));
    }

    #[test]
    fn the_bound_of_a_friction_element_is_an_impulse() {
        let tangents = [row(&[1.0, 0.0])].into_iter().collect();
        let (tangent_drift, static_bound) = ([0.25, 0.0, 0.0], Some(50.0));
        let mut element =
            FrictionElement { id: 3, tangents, tangent_drift, bound: 40.0, static_bound, ..Default::default() };
        let condition = FrictionCondition::of(&element, 0.01);
        // 40 N over 0.01 s; 50 N while it sticks.
        assert_eq!((condition.id, condition.bound), (3, 0.4));
        element.sticks = true;
        assert_eq!(FrictionCondition::of(&element, 0.01).bound, 0.5);
        assert_eq!(condition.slip(&[2.0, 9.0]), [2.25, 0.0, 0.0]);
    }

    #[test]
    fn what_is_malformed_is_named_with_its_value() {
        let sound = || {
            let mut problem = ContactProblem { free_motion: vec![0.0; 2], ..Default::default() };
            problem.inertia.set_diagonal(&[1.0, 1.0]);
            let tangents = || [row(&[0.0, 1.0])].into_iter().collect();
            let contact = ContactCondition { normal: row(&[1.0]), tangents: tangents(), mu: 0.5, ..Default::default() };
            problem.contacts.push(contact);
            problem.friction.push(FrictionCondition { id: 4, tangents: tangents(), bound: 1.0, ..Default::default() });
            problem.joints.push(JointCondition { row: row(&[1.0]), bias: 0.0, rounding: 0.0 });
            problem
        };
        sound().check().unwrap();
        let polytope = |corner: [f64; 3]| FrictionLaw::directions(0.5, &[[1.0, 0.0, 0.0], corner]).unwrap().shape();
        let far = || row(&[0.0, 0.0, 0.0, 1.0]);
        type Spoil<'a> = &'a dyn Fn(&mut ContactProblem);
        let cases: [(&str, Spoil); 13] = [
            ("the mass matrix", &|problem| problem.free_motion.push(0.0)),
            ("joint row 0", &|problem| problem.joints[0].row = far()),
            ("contact", &|problem| problem.contacts[0].normal = far()),
            ("contact", &|problem| problem.contacts[0].tangents[0] = far()),
            ("friction coefficient is -0.2", &|problem| problem.contacts[0].mu = -0.2),
            ("semi-axis of friction is -2", &|problem| problem.contacts[0].friction_axes[1] = -2.0),
            ("load-independent friction bound is NaN", &|problem| problem.contacts[0].extra_bound = f64::NAN),
            ("direction 1 of contact", &|problem| problem.contacts[0].friction_shape = polytope([0.0, 1.0, 0.0])),
            ("not along its 1 tangent rows", &|problem| problem.contacts[0].friction_shape = polytope([0.0, 0.0, 1.0])),
            ("friction element 4", &|problem| problem.friction[0].tangents[0] = far()),
            ("friction bound is -3", &|problem| problem.friction[0].bound = -3.0),
            ("direction 1 of friction", &|problem| problem.friction[0].friction_shape = polytope([0.0, 1.0, 0.0])),
            ("along its 1 tangent rows", &|problem| problem.friction[0].friction_shape = polytope([0.0, 0.0, 1.0])),
        ];
        for (name, spoil) in cases {
            let mut problem = sound();
            spoil(&mut problem);
            let error = problem.check().unwrap_err().to_string();
            assert!(error.contains(name), "{error} does not say {name}");
        }
    }
}

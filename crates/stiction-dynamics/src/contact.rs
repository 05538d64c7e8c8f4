//! What a system says about its possible contacts, its load-independent friction and its joints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::{FrictionLaw, FrictionShape, PhantomContact, Row};

/// Tangent rows of a contact: one in the plane, two in space, three with torsion.
pub type Tangents = SmallVec<[Row; 2]>;

/// Identity of a contact, the same from step to step as long as it is the same place of the same
/// pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContactId {
    /// Number of the first body, or whatever the system counts by.
    pub first: u32,
    /// Number of the second body.
    pub second: u32,
    /// Numbers of the shapes that meet, each among those of its body.
    pub shapes: [u16; 2],
    /// Which of the contacts of the pair.
    pub feature: u64,
}

impl ContactId {
    /// An identity for systems that simply number their contacts.
    pub fn number(number: u32) -> Self {
        Self { feature: number.into(), ..Self::default() }
    }
}

/// One possible contact at a given time and configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contact {
    /// Stable identity.
    pub id: ContactId,
    /// Distance, in metres; positive apart, negative when penetrating.
    pub gap: f64,
    /// The row $n$: the gap changes at the rate $n \cdot v$ + `normal_drift`.
    pub normal: Row,
    /// The rows $T$: the first body slides over the second with $T v$ + `tangent_drift`.
    pub tangents: Tangents,
    /// Part of the gap rate that does not come from $v$ (a driven body), in m/s.
    pub normal_drift: f64,
    /// Part of the sliding velocity that does not come from $v$ (a belt), in m/s.
    pub tangent_drift: [f64; 3],
    /// Friction law; of two coefficients the kinetic one.
    pub friction: FrictionLaw,
    /// Coefficient of friction while the contact sticks, not below that of `friction`; none where
    /// it is the same. A system whose contacts have it says so by
    /// [`has_static_friction`](crate::MechanicalSystem::has_static_friction).
    pub static_mu: Option<f64>,
    /// Whether the static coefficient holds: chosen by the scheme, see
    /// [`static_friction`](crate::static_friction).
    pub sticks: bool,
    /// What an impact gives back; a scheme whose impacts are inelastic ignores it.
    pub restitution: Restitution,
    /// Whether the gap is restrained, or only its rate.
    pub restraint: Restraint,
    /// What the method `phantom-inertia` does differently for this contact.
    pub phantom: PhantomContact,
    /// Where the contact is, for recordings and pictures; the mechanics do not use it.
    pub frame: Option<ContactFrame>,
}

impl Contact {
    /// Rate $n \cdot v$ + drift of the gap.
    pub fn rate(&self, v: &[f64]) -> f64 {
        self.normal.dot(v) + self.normal_drift
    }

    /// Sliding velocity $T v$ + drift.
    pub fn slip(&self, v: &[f64]) -> [f64; 3] {
        slip(&self.tangents, &self.tangent_drift, v)
    }

    /// The coefficient of friction that holds: the static one where that was chosen.
    pub fn mu(&self) -> f64 {
        self.static_mu.filter(|_| self.sticks).unwrap_or_else(|| self.friction.mu())
    }
}

/// The sliding velocity of some tangent rows; zero along those that do not exist.
pub(crate) fn slip(tangents: &[Row], drift: &[f64; 3], v: &[f64]) -> [f64; 3] {
    let mut slip = [0.0; 3];
    for (a, row) in tangents.iter().enumerate() {
        slip[a] = row.dot(v) + drift[a];
    }
    slip
}

/// What the coefficients of restitution refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImpactLaw {
    /// Newton: the velocity after the impact is that share of the velocity before it, reversed.
    /// \[GS05\] (11)
    #[default]
    Newton,
    /// Poisson: the impulse of the decompression is that share of the impulse of the compression.
    /// \[PAGT\] (6.7)
    Poisson,
}

/// What an impact gives back, each share from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Restitution {
    /// Whether velocities or impulses are meant.
    pub law: ImpactLaw,
    /// In normal direction, $\varepsilon_N$ or $e$.
    pub normal: f64,
    /// In tangential direction, $\varepsilon_T$, as far as friction allows; Newton's law only.
    pub tangential: f64,
}

/// What a unilateral condition restrains: the graph $\mathrm{Upr}$ of \[GS05\] (2) stands on
/// displacement or on velocity level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restraint {
    /// The gap: $0 \le g \perp \lambda \ge 0$. Bodies, stops.
    #[default]
    Gap,
    /// The rate alone: $0 \le \dot g \perp \lambda \ge 0$ at all times. A sprag clutch, a ratchet
    /// with fine teeth. The gap is then zero and has no meaning.
    Rate,
}

/// Place and axes of a contact in world coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactFrame {
    /// Contact point, in metres.
    pub point: [f64; 3],
    /// Unit normal, from the second body to the first.
    pub normal: [f64; 3],
}

/// Dry friction whose bound does not depend on a normal load: a gear box, a packing, a brake
/// (\[ST96\] §3.5).
///
/// It has no normal row, and so is not a contact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrictionElement {
    /// Identity, the same from step to step.
    pub id: u32,
    /// The rows $T$: sliding velocity $T v$ + `tangent_drift`. One to three.
    pub tangents: Tangents,
    /// Part of the sliding velocity that does not come from $v$, in m/s (rad/s for a rotation).
    pub tangent_drift: [f64; 3],
    /// Largest friction force, in N (N m for a rotation); of two bounds that of sliding.
    pub bound: f64,
    /// The bound while it sticks, not below `bound`; none where it is the same. A system whose
    /// elements have it says so by
    /// [`has_static_friction`](crate::MechanicalSystem::has_static_friction).
    pub static_bound: Option<f64>,
    /// Whether the static bound holds: chosen by the scheme, see
    /// [`static_friction`](crate::static_friction).
    pub sticks: bool,
    /// What friction along the rows may be for a bound of one: a ball, or any other convex set
    /// (\[ST96\] §3.5, remark).
    pub shape: FrictionShape,
    /// The displacement $x$ of a pre-stressed spring, which has the rate $T v$ + drift: the force
    /// is then $-\mathrm{bound} \cdot \mathrm{Sgn}(x)$, the relay of \[GS05\] (3) on displacement
    /// level, and has the potential $\mathrm{bound} \cdot \lvert x \rvert$. None for friction, the
    /// relay on velocity level.
    pub displacement: Option<f64>,
}

impl FrictionElement {
    /// The bound that holds: the static one where that was chosen.
    pub fn limit(&self) -> f64 {
        self.static_bound.filter(|_| self.sticks).unwrap_or(self.bound)
    }

    /// Sliding velocity $T v$ + drift.
    pub fn slip(&self, v: &[f64]) -> [f64; 3] {
        slip(&self.tangents, &self.tangent_drift, v)
    }
}

/// One row of a bilateral constraint $\Theta(t, q) = 0$.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joint {
    /// Value $\Theta$ of the constraint, in metres or radians.
    pub value: f64,
    /// The row $\nu$: $\Theta$ changes at the rate $\nu \cdot v$ + `drift`.
    pub row: Row,
    /// Part of the rate that does not come from $v$.
    pub drift: f64,
}

impl Joint {
    /// Rate $\nu \cdot v$ + drift of the constraint.
    pub fn rate(&self, v: &[f64]) -> f64 {
        self.row.dot(v) + self.drift
    }
}

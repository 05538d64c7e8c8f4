//! The trait that a mechanical system implements: what users bring.

use crate::advance_derivative::advance_derivative_by_differences;
use crate::row_rates::configuration_rate_by_differences;
use crate::{Contact, ContactId, ForceJacobians, FrictionElement, Inertia, JacobianKind, Joint, RowRates, State};

/// Where a part of the generalised force comes from; the audit keeps their work apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForceCause {
    /// Forces with a potential: $-\partial V / \partial q$.
    Potential,
    /// Velocity-product terms that do no work: $-\omega \times I \omega$ and its like, and those of
    /// an inertia that changes with the configuration, $-\tfrac12 v^T \dot M v$, which do none
    /// together with its change.
    Gyroscopic,
    /// All others.
    Applied,
}

impl ForceCause {
    /// All causes, in the order in which parts by cause are written.
    pub const ALL: [Self; 3] = [Self::Potential, Self::Gyroscopic, Self::Applied];
}

/// Two bodies that pass through each other on the straight way between two configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// A contact of the two bodies.
    pub contact: ContactId,
    /// Share of the way after which they have just closed, more than 0 and less than 1.
    pub share: f64,
}

/// What a way between two configurations is, of which [`MechanicalSystem::passage`] is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The bodies took it: whatever passes through on it has passed through.
    Taken,
    /// They would take it without their contacts, and contacts are then stated at its end. Two
    /// bodies that overlap there are held apart as long as the gap linearised at the end agrees on
    /// where they close.
    Predicted,
}

/// A system with finitely many degrees of freedom, contacts, dry friction and joints:
///
/// $$ M(t, q) \dot v = k(t, q, v) + \text{contact, friction and joint forces}. $$
///
/// A pendulum of three formulas and a pile of a thousand bodies alike. All quantities in SI units;
/// forces and rows are taken in the coordinates of $v$.
pub trait MechanicalSystem: Send + Sync {
    /// Number of velocity coordinates.
    fn velocity_count(&self) -> usize;

    /// Writes the mass matrix $M(t, q)$ into `out`, which comes cleared.
    fn mass_matrix(&self, t: f64, q: &[f64], out: &mut Inertia);

    /// Writes the generalised force $k(t, q, v)$ into `k`.
    fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]);

    /// Writes into `k` the part of [`force`](Self::force) that has this cause. The parts add up to
    /// the whole.
    ///
    /// By default everything is [`ForceCause::Applied`].
    fn force_by_cause(&self, cause: ForceCause, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        match cause {
            ForceCause::Applied => self.force(t, q, v, k),
            ForceCause::Potential | ForceCause::Gyroscopic => k.fill(0.0),
        }
    }

    /// Appends all contacts whose gap at $(t, q)$ is at most `horizon` (in metres) to `out`, which
    /// comes empty.
    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>);

    /// Appends the contacts with these ids at $(t, q)$, however far apart, to `out`, which comes
    /// empty: in the order of [`contacts`](Self::contacts), and without those that do not exist
    /// there.
    ///
    /// By default by a search for all contacts; systems that know where an id belongs override it.
    fn contacts_of(&self, t: f64, q: &[f64], ids: &[ContactId], out: &mut Vec<Contact>) {
        if !ids.is_empty() {
            self.contacts(t, q, f64::INFINITY, out);
            out.retain(|contact| ids.contains(&contact.id));
        }
    }

    /// Whether contacts may have two coefficients of friction, [`Contact::static_mu`].
    fn has_static_friction(&self) -> bool {
        false
    }

    /// Length against which the gap of a contact is measured, in metres (radians for the stop of a
    /// hinge): the size of the smaller of its two bodies.
    ///
    /// By default none: bodies have no size. The audit then takes 1.
    fn contact_size(&self, _id: ContactId) -> Option<f64> {
        None
    }

    /// The first two bodies that pass through each other on the way from one time and configuration
    /// to another, if there are any.
    ///
    /// By default none: a gap that knows no shapes turns negative and stays so.
    fn passage(&self, _way: Way, _from: (f64, &[f64]), _to: (f64, &[f64])) -> Option<Passage> {
        None
    }

    /// Appends the dry friction elements that have no normal row to `out`, which comes empty.
    fn friction_elements(&self, _t: f64, _q: &[f64], _out: &mut Vec<FrictionElement>) {}

    /// Appends the rows of the bilateral constraints to `out`, which comes empty; always the same
    /// ones in the same order.
    fn joints(&self, _t: f64, _q: &[f64], _out: &mut Vec<Joint>) {}

    /// Names of the rows of [`joints`](Self::joints), for recordings and messages; those without
    /// one are numbered.
    fn joint_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Appends the derivatives of [`force`](Self::force) to `out`, which comes empty.
    ///
    /// By default central differences for [`JacobianKind::Exact`], which needs a thousand force
    /// evaluations where there are some hundred coordinates, and nothing for
    /// [`JacobianKind::Definite`].
    fn force_jacobians(&self, kind: JacobianKind, t: f64, q: &[f64], v: &[f64], out: &mut ForceJacobians) {
        if kind == JacobianKind::Exact {
            out.append_differences(self, t, q, v);
        }
    }

    /// Writes into `out` the configuration that is reached from `q` with constant velocity `v`
    /// after `h` seconds, as if the time stood still at `t`: the solution of
    /// $\dot q = \Gamma(q, t) v$ (\[PKF\], before (4)) with that $t$.
    ///
    /// By default $q + h v$, that is $\Gamma = 1$; systems with quaternions, or with velocities
    /// along axes of their own, override it.
    fn displace(&self, _t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        for i in 0..q.len() {
            out[i] = q[i] + h * v[i];
        }
    }

    /// Writes into `out` the configuration that is reached from `q` with constant velocity `v` in
    /// the `h` seconds from `t` on.
    ///
    /// By default [`displace`](Self::displace) with the time in the middle: exact where $\Gamma$
    /// does not depend on time, else with an error of $O(h^3)$, below that of every scheme.
    fn advance(&self, t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
        self.displace(t + 0.5 * h, q, v, h, out);
    }

    /// Writes into `out` the rate $\Gamma(q, t) v$ of the configuration: the derivative of
    /// [`displace`](Self::displace) after no time.
    ///
    /// By default $v$ where the motion is straight, else extrapolated differences of `displace`.
    fn configuration_rate(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        configuration_rate_by_differences(self, t, q, v, out);
    }

    /// Writes into `out` how the end of the motion moves when its velocity changes by `w`: the
    /// velocity that leads, at the time $t + h$, from `advance(t, q, v, h)` to
    /// `advance(t, q, v + w, h)` in `h` seconds, for a small `w`.
    ///
    /// By default $w$ where the motion is straight, else from extrapolated differences of
    /// `advance`.
    fn advance_derivative(&self, t: f64, q: &[f64], v: &[f64], h: f64, w: &[f64], out: &mut [f64]) {
        advance_derivative_by_differences(self, (t, q, v, h), w, out);
    }

    /// Writes into `out` how the rows of these contacts, friction elements and joints at $(t, q)$
    /// change along the motion with the constant velocity `v`; see [`row_rates`](crate::row_rates).
    ///
    /// By default extrapolated differences, which need some twenty evaluations of all rows.
    fn row_rates(
        &self,
        t: f64,
        q: &[f64],
        v: &[f64],
        rows: (&[Contact], &[FrictionElement], &[Joint]),
        out: &mut RowRates,
    ) {
        out.by_differences(self, (t, q, v), rows);
    }

    /// Potential energy $V(t, q)$ in joules, where the system has one.
    fn potential_energy(&self, _t: f64, _q: &[f64]) -> Option<f64> {
        None
    }

    /// Names of the recorded columns of a state, in the order of [`record`](Self::record).
    fn column_names(&self) -> Vec<String> {
        let n = self.velocity_count();
        (0..n).map(|i| format!("q{i}")).chain((0..n).map(|i| format!("v{i}"))).collect()
    }

    /// Appends the values of the recorded columns of a state to `out`.
    fn record(&self, state: &State, out: &mut Vec<f64>) {
        out.extend_from_slice(&state.q);
        out.extend_from_slice(&state.v);
    }

    /// Name of a contact for recordings and messages.
    fn contact_name(&self, id: ContactId) -> String {
        format!("contact {}-{}-{}", id.first, id.second, id.feature)
    }

    /// Name of a friction element for recordings.
    fn friction_name(&self, id: u32) -> String {
        format!("friction {id}")
    }

    /// Names of the two bodies of a contact for recordings.
    fn body_names(&self, id: ContactId) -> (String, String) {
        (id.first.to_string(), id.second.to_string())
    }
}

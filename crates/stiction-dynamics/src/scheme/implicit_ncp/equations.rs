//! The equations of one implicit step.
//!
//! Unknowns are $u = v^{l+1}$, then for every contact $c_n$ and friction $y$ in units of its
//! semi-axes, the friction of elements, the impulses of joints. With $q^{l+1} = q^l \oplus h u$,
//! $W_n$ and $W_t$ the mobilities of the rows, $\rho_n = 1 / W_n$, $\rho_t = 1 / W_t$:
//!
//! $$ \begin{aligned}
//! 0 &= M(q^{l+1}) (u - v^l) - h k(t^{l+1}, q^{l+1}, u) - \textstyle\sum (n c_n + T^T e y) - \nu^T c_j, \\\\
//! 0 &= c_n - (c_n - \rho_n \psi(q^{l+1}) / h)_+, \\\\
//! 0 &= y - P_b(y - \rho_t\, e\, (T u + b_t)), \qquad b = \mu (c_n - \rho_n \psi / h)_+, \\\\
//! 0 &= \Theta(q^{l+1}) / h.
//! \end{aligned} $$
//!
//! All rows belong to $q^{l+1}$. $P_b$ is the projection on the friction set with the bound $b$.
//! Everything is scaled to the root of an energy.
//!
//! By the trapezoidal [rule](crate::scheme::rule) the unknown is the mean velocity, and these are
//! the equations of half the step with half of its impulses: all rows belong to the middle
//! $q^l \oplus \tfrac h2 u$, and only $\psi$ and $\Theta$ to the end $q^l \oplus h u$. The end is
//! `reach` times as far as the rows.
//!
//! Their derivative stands in `derivative.rs`.
//!
//! **Tangents.** A system chooses the tangents of a contact anew at every configuration, and may
//! turn them suddenly. Where the friction set is the same in all directions of the plane, they are
//! turned back to those at which the step began.

use faer::Mat;
use stiction_solve::NonsmoothEquations;
use stiction_solve::PortableMath as _;

use super::derivative::DerivativeMemory;
use crate::natural_map::{Friction, Law};
use crate::scheme::{At, Origin};
use crate::vector::zero;
use crate::{
    Contact, ContactId, ContactImpulse, ContactSolution, FrictionElement, FrictionShape, Inertia, Joint, Restraint, Row,
};

/// Momentum is balanced up to this share of the largest impulse of the step. Too small: one more
/// iteration in most steps.
const IMPULSE_SHARE: f64 = 1e-10;

/// Rounding of a momentum, relative to the largest one.
const MOMENTUM_ROUNDING: f64 = 1e-14;

/// A contact or a friction element that takes part, with its place among the unknowns.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Which contact; none for a friction element.
    pub id: Option<ContactId>,
    /// The contact where the step began, or an empty one.
    pub reference: Contact,
    /// Tangent rows with friction.
    pub tangent_count: usize,
    pub mu: f64,
    /// Bound of an element, an impulse.
    pub bound: f64,
    pub axes: [f64; 3],
    /// The friction set by the contact method.
    pub shape: FrictionShape,
    /// What the trapezoidal rule keeps of the rates where the step begins: of the gap, and of the
    /// sliding along the tangents of the reference.
    pub kept_rate: f64,
    pub kept_slip: [f64; 3],
    /// First unknown: $c_n$ where there is a normal, then $y$.
    pub first: usize,
    /// $\rho_n$ and $\rho_t$.
    pub rho: [f64; 2],
}

impl Block {
    pub fn normal_count(&self) -> usize {
        usize::from(self.id.is_some())
    }

    pub fn unknown_count(&self) -> usize {
        self.normal_count() + self.tangent_count
    }

    /// How the tangents of its contact are turned back: cosine and sine. Only where friction does
    /// not change when they turn.
    pub fn turn(&self, contact: &Contact) -> [f64; 2] {
        let is_round = self.axes[0] == self.axes[1] && self.shape.is_round_in_the_plane();
        if self.tangent_count > 1 && is_round { turn(contact, &self.reference) } else { [1.0, 0.0] }
    }
}

/// The system at one velocity $u$.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub q: Vec<f64>,
    /// The contacts of the blocks as the system gives them, and how their tangents are turned:
    /// cosine and sine.
    pub contacts: Vec<Contact>,
    pub turns: Vec<[f64; 2]>,
    pub elements: Vec<FrictionElement>,
    pub joints: Vec<Joint>,
    /// The end of the step, where it is beyond the rows.
    q_end: Vec<f64>,
    end_contacts: Vec<Contact>,
    end_joints: Vec<Joint>,
    /// $M (u - v) - h k$.
    pub momentum: Vec<f64>,
    pub inertia: Inertia,
    pub found: Vec<Contact>,
    force: Vec<f64>,
}

impl Point {
    /// The end of the step.
    pub fn end(&self, reach: f64) -> &[f64] {
        if reach == 1.0 { &self.q } else { &self.q_end }
    }
}

/// The unknowns of a step, and their units.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The length of the step up to the rows; the end of the step is `reach` times as far.
    pub h: f64,
    pub reach: f64,
    /// What is kept of the rates of joints.
    pub kept_joints: Vec<f64>,
    pub blocks: Vec<Block>,
    /// The contacts among them.
    pub ids: Vec<ContactId>,
    /// Roots of the diagonal of $M$, and of the mobilities of joints.
    pub mass_roots: Vec<f64>,
    pub joint_roots: Vec<f64>,
    /// The root of an energy.
    pub scale: f64,
}

/// The equations of one step; see the [module](self).
#[derive(Clone, Copy)]
pub(super) struct StepEquations<'a> {
    pub origin: Origin<'a>,
    pub layout: &'a Layout,
}

/// The equations as Newton's method sees them.
pub(super) struct Unknowns<'a> {
    pub equations: StepEquations<'a>,
    pub workspace: &'a mut Workspace,
}

/// Memory of the equations.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    /// The system at the last velocity that was asked for, with that velocity.
    point: Point,
    u: Vec<f64>,
    is_located: bool,
    /// The largest impulse at the unknowns of the last evaluation, in units of the root of an
    /// energy.
    largest_impulse: f64,
    derivative: DerivativeMemory,
}

impl Workspace {
    /// Forgets where the system was evaluated, for a new step.
    pub fn begin(&mut self) {
        self.is_located = false;
    }

    /// Evaluates the system at the velocity of some unknowns, unless it is there already.
    fn locate(&mut self, equations: StepEquations<'_>, z: &[f64]) {
        let Layout { mass_roots, scale, .. } = equations.layout;
        let mut velocity = z.iter().zip(mass_roots).map(|(z, root)| z * (scale / root));
        if !(self.is_located && self.u.iter().all(|u| velocity.next() == Some(*u))) {
            equations.velocity(z, &mut self.u);
            equations.locate(&self.u, &mut self.point);
            self.is_located = true;
        }
    }
}

impl<'a> StepEquations<'a> {
    /// Number of unknowns.
    pub fn size(self) -> usize {
        self.first_joint() + self.layout.joint_roots.len()
    }

    /// The system at a place of the rows.
    pub fn at<'b>(self, q: &'b [f64]) -> At<'b>
    where
        'a: 'b,
    {
        self.origin.at(self.origin.state.t + self.layout.h, q)
    }

    /// Evaluates the system at the velocity `u`.
    pub fn locate(self, u: &[f64], point: &mut Point) {
        let Layout { h, reach, blocks, ids, .. } = self.layout;
        self.origin.advance(u, *h, &mut point.q);
        let at = self.at(&point.q);
        at.friction(&mut point.elements);
        at.joints(&mut point.joints);
        // A feature that does not exist here stays as it was where the step began.
        at.contacts_of(ids, &mut point.found);
        let known = blocks.iter().filter(|block| block.id.is_some()).map(|block| &block.reference);
        pick(known, &mut point.found, &mut point.contacts);
        self.turn_back_tangents(&point.contacts, &mut point.turns);
        if *reach != 1.0 {
            // The end of the step. A feature that does not exist there goes on as it is here.
            self.origin.advance(u, reach * h, &mut point.q_end);
            let end = self.origin.at(at.t + (reach - 1.0) * h, &point.q_end);
            end.joints(&mut point.end_joints);
            end.contacts_of(ids, &mut point.found);
            pick(point.contacts.iter(), &mut point.found, &mut point.end_contacts);
        }
        // What is restrained on the other level, in the letters of these equations: the rate of a
        // clutch as a gap, a displacement as sliding.
        for contact in point.contacts.iter_mut().filter(|contact| contact.restraint == Restraint::Rate) {
            contact.gap = h * contact.rate(u);
        }
        for element in &mut point.elements {
            if let Some(x) = element.displacement {
                element.tangent_drift[0] = x / h - element.tangents[0].dot(u);
            }
        }

        // M (u - v) - h k, all at the end of the step.
        at.force(u, &mut point.force);
        at.mass(&mut point.inertia);
        zero(&mut point.momentum, u.len());
        let change: Vec<f64> = u.iter().zip(&self.origin.state.v).map(|(u, v)| u - v).collect();
        point.inertia.apply(&change, &mut point.momentum);
        point.momentum.iter_mut().zip(&point.force).for_each(|(sum, k)| *sum -= h * k);
    }

    /// Says how the tangents of the contacts are turned back.
    pub fn turn_back_tangents(self, contacts: &[Contact], turns: &mut Vec<[f64; 2]>) {
        turns.clear();
        turns.extend(self.layout.blocks.iter().zip(contacts).map(|(block, contact)| block.turn(contact)));
    }

    /// Contacts and joints at the end of the step.
    pub fn end(self, point: &Point) -> (&[Contact], &[Joint]) {
        match self.layout.reach {
            1.0 => (&point.contacts, &point.joints),
            _ => (&point.end_contacts, &point.end_joints),
        }
    }

    /// Adds the tangent rows of a block with friction $y$ to a momentum, with a factor.
    pub fn add_friction(self, block: usize, point: &Point, y: &[f64; 3], factor: f64, out: &mut [f64]) {
        let own = &self.layout.blocks[block];
        let (tangents, turn) = self.tangents(block, point);
        let impulse = turn_back(turn, &std::array::from_fn(|k| own.axes[k] * y[k]));
        for (row, impulse) in tangents[..own.tangent_count].iter().zip(impulse) {
            row.add_to(factor * impulse, out);
        }
    }

    pub fn tangents(self, block: usize, point: &Point) -> (&[Row], [f64; 2]) {
        match self.layout.blocks[block].id {
            Some(_) => (&point.contacts[block].tangents, point.turns[block]),
            None => (&point.elements[block - point.contacts.len()].tangents, [1.0, 0.0]),
        }
    }

    /// Sliding of a block in units of its semi-axes.
    pub fn slip(self, block: usize, point: &Point, u: &[f64]) -> [f64; 3] {
        let (slip, turn) = match self.layout.blocks[block].id {
            Some(_) => (point.contacts[block].slip(u), point.turns[block]),
            None => (point.elements[block - point.contacts.len()].slip(u), [1.0, 0.0]),
        };
        let turned = turn_forward(turn, &slip);
        let Block { axes, kept_slip, .. } = &self.layout.blocks[block];
        std::array::from_fn(|k| axes[k] * (turned[k] - kept_slip[k]))
    }

    /// $\psi / h$ of a block, with the whole step, beyond what is kept.
    pub fn gap_rate(self, block: usize, point: &Point) -> f64 {
        let own = &self.layout.blocks[block];
        own.id.map_or(0.0, |_| self.end(point).0[block].gap / (self.layout.reach * self.layout.h) - own.kept_rate)
    }

    /// The momentum with all impulses.
    fn balance(self, point: &Point, z: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&point.momentum);
        for (i, block) in self.layout.blocks.iter().enumerate() {
            let (normal, y) = self.impulses(i, z);
            if block.id.is_some() {
                point.contacts[i].normal.add_to(-normal, out);
            }
            self.add_friction(i, point, &y, -1.0, out);
        }
        let first = self.first_joint();
        for (j, joint) in point.joints.iter().enumerate() {
            joint.row.add_to(-z[first + j] * self.layout.scale / self.layout.joint_roots[j], out);
        }
    }

    pub fn first_joint(self) -> usize {
        self.origin.state.v.len() + self.layout.blocks.iter().map(Block::unknown_count).sum::<usize>()
    }

    /// $u$ of the unknowns.
    pub fn velocity(self, z: &[f64], u: &mut Vec<f64>) {
        u.clear();
        u.extend(z.iter().zip(&self.layout.mass_roots).map(|(z, root)| z * (self.layout.scale / root)));
    }

    /// $c_n$ and $y$ of a block.
    pub fn impulses(self, block: usize, z: &[f64]) -> (f64, [f64; 3]) {
        let own = &self.layout.blocks[block];
        let normals = own.normal_count();
        let normal = if normals == 1 { z[own.first] * self.unit(own.rho[0]) } else { 0.0 };
        let unit = self.unit(own.rho[1]);
        let y = std::array::from_fn(|k| if k < own.tangent_count { z[own.first + normals + k] * unit } else { 0.0 });
        (normal, y)
    }

    /// The impulse of an unknown that is one.
    pub fn unit(self, rho: f64) -> f64 {
        self.layout.scale * rho.sqrt()
    }

    /// Friction of a block, in units of its semi-axes, that belongs to a normal impulse and the
    /// sliding at `u`: the projection of the law. It is `y` itself at a solution.
    pub fn friction(self, block: usize, point: &Point, u: &[f64], (normal, y): (f64, &[f64; 3])) -> [f64; 3] {
        let own = &self.layout.blocks[block];
        let slip = self.slip(block, point, u);
        let x = std::array::from_fn(|k| if k < own.tangent_count { y[k] - own.rho[1] * slip[k] } else { 0.0 });
        own.shape.nearest(&x, own.mu * normal + own.bound)
    }

    /// The equations of a block, in its impulses.
    pub fn law(self, block: usize, point: &Point, u: &[f64], z: &[f64]) -> Law {
        let own = &self.layout.blocks[block];
        let friction = Friction {
            shape: &own.shape,
            tangent_count: own.tangent_count,
            mu: own.mu,
            bound: own.bound,
            rho: own.rho,
            has_normal: own.id.is_some(),
        };
        friction.law(self.impulses(block, z), (self.gap_rate(block, point), self.slip(block, point, u)))
    }

    /// Writes the unknowns of a solution; those of contacts that it does not know stay as they are.
    pub fn write_unknowns(self, solution: &ContactSolution, turns: &[[f64; 2]], z: &mut [f64]) {
        let Layout { reach, blocks, ids, mass_roots, joint_roots, scale, .. } = self.layout;
        for (z, (u, root)) in z.iter_mut().zip(solution.motion.iter().zip(mass_roots)) {
            *z = u * root / scale;
        }
        for (i, block) in blocks.iter().enumerate() {
            let impulse = match block.id {
                Some(id) => {
                    let Some(known) = solution.contacts.iter().find(|impulse| impulse.id == id) else { continue };
                    z[block.first] = known.normal / (reach * self.unit(block.rho[0]));
                    turn_forward(turns.get(i).copied().unwrap_or([1.0, 0.0]), &known.tangent)
                }
                None => solution.friction.get(i - ids.len()).copied().unwrap_or_default(),
            };
            for k in 0..block.tangent_count {
                let unit = reach * block.axes[k] * self.unit(block.rho[1]);
                z[block.first + block.normal_count() + k] = impulse[k] / unit;
            }
        }
        let joints = solution.joints.iter().zip(joint_roots);
        for (z, (c, root)) in z[self.first_joint()..].iter_mut().zip(joints) {
            *z = c * root / (reach * scale);
        }
    }

    /// Writes the solution that some unknowns are.
    pub fn write_solution(self, z: &[f64], u: Vec<f64>, point: &Point, solution: &mut ContactSolution) {
        let Layout { reach, blocks, joint_roots, scale, .. } = self.layout;
        solution.contacts.clear();
        solution.friction.clear();
        for (i, block) in blocks.iter().enumerate() {
            // Friction belongs to the impulse and the sliding, without the rounding of the gap.
            let (normal, y) = self.impulses(i, z);
            let y = self.friction(i, point, &u, (normal.max(0.0), &y));
            let scaled = std::array::from_fn(|k| reach * block.axes[k] * y[k]);
            match block.id {
                Some(id) => {
                    let (normal, tangent) = ((reach * normal).max(0.0), turn_back(point.turns[i], &scaled));
                    solution.contacts.push(ContactImpulse { id, normal, tangent });
                }
                None => solution.friction.push(scaled),
            }
        }
        let joints = z[self.first_joint()..].iter().zip(joint_roots);
        solution.joints.clear();
        solution.joints.extend(joints.map(|(z, root)| reach * z * scale / root));
        solution.motion = u;
    }
}

impl NonsmoothEquations for Unknowns<'_> {
    fn size(&self) -> usize {
        self.equations.size()
    }

    fn evaluate(&mut self, z: &[f64], f: &mut [f64]) {
        let (equations, n) = (self.equations, self.equations.origin.state.v.len());
        let Layout { h, reach, blocks, mass_roots, joint_roots, kept_joints, scale, .. } = equations.layout;
        self.workspace.locate(equations, z);
        let Workspace { point, u, largest_impulse, .. } = &mut *self.workspace;
        equations.balance(point, z, &mut f[..n]);
        f[..n].iter_mut().zip(mass_roots).for_each(|(f, root)| *f /= root * scale);
        for (i, block) in blocks.iter().enumerate() {
            let law = equations.law(i, point, u, z);
            let mut next = block.first;
            if block.id.is_some() {
                f[next] = law.normal[0] / equations.unit(block.rho[0]);
                next += 1;
            }
            (0..block.tangent_count).for_each(|k| f[next + k] = law.friction[k] / equations.unit(block.rho[1]));
        }
        let forces = point.force.iter().zip(mass_roots).map(|(k, root)| h * k / (root * scale));
        let impulses = forces.chain(z[n..].iter().copied());
        *largest_impulse = impulses.fold(0.0, |largest, c| largest.max(c.abs()));
        let first = equations.first_joint();
        for (j, joint) in equations.end(point).1.iter().enumerate() {
            let rate = joint.value / (reach * h) - kept_joints[j];
            f[first + j] = rate / (joint_roots[j] * scale);
        }
    }

    // Gaps and joints are differences of coordinates, with their rounding; momentum is better
    // known, and compared with the impulses of the step.
    fn is_met(&self, f: &[f64], tolerance: f64) -> bool {
        let n = self.equations.origin.state.v.len();
        let momentum = (IMPULSE_SHARE * self.workspace.largest_impulse).max(MOMENTUM_ROUNDING).min(tolerance);
        f[..n].iter().all(|f| f.abs() <= momentum) && f[n..].iter().all(|f| f.abs() <= tolerance)
    }

    fn derivative(&mut self, z: &[f64], out: &mut Mat<f64>) {
        self.workspace.locate(self.equations, z);
        let Workspace { point, u, derivative, .. } = &mut *self.workspace;
        self.equations.write_derivative(z, u, point, derivative, out);
    }
}

/// Takes the contacts with the ids of known ones out of those that were found, or else the known
/// ones.
pub(super) fn pick<'a>(known: impl Iterator<Item = &'a Contact>, found: &mut [Contact], out: &mut Vec<Contact>) {
    out.clear();
    out.extend(known.map(|known| {
        let found = found.iter_mut().find(|contact| contact.id == known.id);
        found.map_or_else(|| known.clone(), std::mem::take)
    }));
}

/// Cosine and sine of the angle by which the two tangents of a contact are turned, so that they are
/// as near as possible to those of another one.
pub(super) fn turn(contact: &Contact, reference: &Contact) -> [f64; 2] {
    let ([Some(a), Some(b)], [Some(c), Some(d)]) =
        ([0, 1].map(|k| contact.tangents.get(k)), [0, 1].map(|k| reference.tangents.get(k)))
    else {
        return [1.0, 0.0];
    };
    let (cosine, sine) = (product(a, c) + product(b, d), product(b, c) - product(a, d));
    let length = cosine.portable_hypot(sine);
    if length > 0.0 { [cosine / length, sine / length] } else { [1.0, 0.0] }
}

fn product(a: &Row, b: &Row) -> f64 {
    let entries = |row: &Row, index: usize| row.entries().iter().filter(|e| e.0 == index).map(|e| e.1).sum::<f64>();
    a.entries().iter().map(|&(index, value)| value * entries(b, index)).sum()
}

/// Components along the turned tangents, of those along the system's own.
pub(super) fn turn_forward([cosine, sine]: [f64; 2], x: &[f64; 3]) -> [f64; 3] {
    [cosine * x[0] + sine * x[1], cosine * x[1] - sine * x[0], x[2]]
}

/// The inverse of [`turn_forward`].
pub(super) fn turn_back([cosine, sine]: [f64; 2], x: &[f64; 3]) -> [f64; 3] {
    [cosine * x[0] - sine * x[1], cosine * x[1] + sine * x[0], x[2]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tangents_are_turned_back_where_friction_is_round() {
        let contact = |angle: f64| {
            let (sine, cosine) = angle.sin_cos();
            let rows = [Row::from_dense(&[cosine, sine]), Row::from_dense(&[-sine, cosine])];
            Contact { tangents: rows.into_iter().collect(), ..Default::default() }
        };
        let block = |axes: [f64; 3]| Block {
            id: Some(ContactId::default()),
            reference: contact(0.0),
            tangent_count: 2,
            mu: 0.5,
            bound: 0.0,
            axes,
            shape: FrictionShape::Ball,
            kept_rate: 0.0,
            kept_slip: [0.0; 3],
            first: 0,
            rho: [1.0; 2],
        };
        let turned = contact(2.5);
        let slip = turned.slip(&[3.0, -1.0]);
        let back = turn_forward(block([1.0; 3]).turn(&turned), &slip);
        assert!((back[0] - 3.0).abs() < 1e-14 && (back[1] + 1.0).abs() < 1e-14, "{back:?}");
        let forth = turn_back(block([1.0; 3]).turn(&turned), &back);
        assert!((0..2).all(|k| (forth[k] - slip[k]).abs() < 1e-14), "{forth:?}");
        assert_eq!(block([1.0, 0.5, 1.0]).turn(&turned), [1.0, 0.0]);
    }
}

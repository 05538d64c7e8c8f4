//! The derivative of the equations of a step.
//!
//! Let $D$ say how the end of the step moves with $u$: $q^{l+1}(u + w) = q^{l+1} \oplus h D w$, the
//! identity but for turns. Let $\partial_k$ be the derivative along the velocity coordinate $k$ at
//! $q^{l+1}$. Then
//!
//! $$ \begin{aligned}
//! d(\psi / h) &= n D w, \qquad d(\Theta / h) = \nu D w, \qquad d(T u) = T w + h \textstyle\sum_k (\partial_k T) u\, (D w)_k, \\\\
//! d(\text{momentum}) &= (M - h k_v) w + h \textstyle\sum_k \left( (\partial_k M)(u - v^l) - h\, \partial_k k - \partial_k (n c_n + T^T c_t + \nu^T c_j) \right) (D w)_k.
//! \end{aligned} $$
//!
//! What is restrained on the other level has its own terms: the rate of a clutch is no gap,
//! $d(n u + b) = n w + h \sum_k \partial_k (n u + b) (D w)_k$, and the displacement $x$ of a
//! pre-stressed spring is no rate, $d(x / h) = T D w$.
//!
//! The large terms are exact: they are rows, inertia and forces that the system gives. The changes
//! of rows and inertia are central differences, and their rounding comes with the factor $h$. So a
//! matrix that should be singular is so up to rounding.
//!
//! **Groups.** The rows of a contact change with the coordinates of its bodies only. Coordinates
//! that no contact, friction element or joint shares are moved together, in one evaluation of the
//! system; in a heap that takes a few groups, however many bodies there are.

use faer::Mat;
use stiction_solve::PortableMath as _;

use super::equations::{Point, StepEquations, pick, turn_forward};
use crate::natural_map::Law;
use crate::vector::zero;
use crate::{ForceJacobians, Inertia, JacobianKind, Restraint, Row, State};

/// How far coordinates are moved for differences, in metres or radians: the cube root of the
/// rounding unit.
const DIFFERENCE: f64 = 6e-6;

/// Up to so many coordinates, each is moved alone: a small system may leave zeros out of its rows
/// that are none elsewhere.
const ALONE: usize = 12;

/// Memory of the derivative.
#[derive(Clone, Debug, Default)]
pub(super) struct DerivativeMemory {
    ahead: Point,
    behind: Point,
    forces: ForceJacobians,
    groups: Groups,
    direction: Vec<f64>,
    /// $D$, column after column, and the same of the end of the step.
    motion: Vec<f64>,
    end_motion: Vec<f64>,
    /// Change of the momentum along every coordinate, column after column.
    momentum: Vec<f64>,
    /// Change of the sliding of every block along every coordinate, and of the rate of every
    /// clutch.
    slips: Vec<[f64; 3]>,
    rates: Vec<f64>,
}

/// Which coordinates are moved together.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// The coordinates of every contact, friction element and joint row, in this order; sorted.
    coordinates: Vec<Vec<usize>>,
    /// The group of every coordinate.
    group_of: Vec<usize>,
    count: usize,
}

impl Groups {
    /// Finds groups, each coordinate in the first one in which it meets no other of its rows.
    fn find(&mut self, n: usize, point: &Point) {
        // Coordinates with a common inertia belong to one body, which may leave some of them out of
        // its rows.
        let mut partners = vec![Vec::new(); n];
        point.inertia.for_each_entry(|i, j, _| partners[i].push(j));
        let contacts = point.contacts.iter().map(|contact| (Some(&contact.normal), &contact.tangents[..]));
        let elements = point.elements.iter().map(|element| (None, &element.tangents[..]));
        let joints = point.joints.iter().map(|joint| (Some(&joint.row), &[][..]));
        let items = contacts.chain(elements).chain(joints);
        let count = point.contacts.len() + point.elements.len() + point.joints.len();
        self.coordinates.resize_with(count, Vec::new);
        for (list, (first, others)) in self.coordinates.iter_mut().zip(items) {
            let rows = first.into_iter().chain(others);
            list.clear();
            match n <= ALONE {
                true => list.extend(0..n),
                false => {
                    let entries = rows.flat_map(|row: &Row| row.entries().iter().map(|entry| entry.0));
                    list.extend(entries.flat_map(|k| partners[k].iter().copied()));
                }
            }
            list.sort_unstable();
            list.dedup();
        }
        self.group_of.clear();
        let mut items_of = vec![Vec::new(); n];
        for (item, list) in self.coordinates.iter().enumerate() {
            list.iter().for_each(|&k| items_of[k].push(item));
        }
        let mut taken: Vec<Vec<bool>> = Vec::new();
        for items in &items_of {
            let free = taken.iter().position(|taken| items.iter().all(|&item| !taken[item]));
            let group = free.unwrap_or(taken.len());
            if group == taken.len() {
                taken.push(vec![false; count]);
            }
            items.iter().for_each(|&item| taken[group][item] = true);
            self.group_of.push(group);
        }
        self.count = taken.len();
    }

    /// The coordinate of a group that moves an item.
    fn coordinate(&self, item: usize, group: usize) -> Option<usize> {
        self.coordinates[item].iter().copied().find(|&k| self.group_of[k] == group)
    }
}

impl StepEquations<'_> {
    /// Writes the derivative at the unknowns `z`, of velocity `u`, for which the system is
    /// evaluated in `point`.
    pub(super) fn write_derivative(
        self,
        z: &[f64],
        u: &[f64],
        point: &Point,
        memory: &mut DerivativeMemory,
        out: &mut Mat<f64>,
    ) {
        let laws: Vec<Law> = (0..self.layout.blocks.len()).map(|i| self.law(i, point, u, z)).collect();
        self.write_by_impulses(point, &laws, out);
        self.find_motion(u, memory);
        self.find_changes(z, u, point, memory);
        self.write_by_velocities(point, &laws, memory, out);
    }

    /// The columns of the impulses.
    fn write_by_impulses(self, point: &Point, laws: &[Law], out: &mut Mat<f64>) {
        let n = self.origin.state.v.len();
        let mut column = vec![0.0; n];
        for (i, block) in self.layout.blocks.iter().enumerate() {
            let (law, normals) = (&laws[i], block.normal_count());
            for a in 0..block.unknown_count() {
                let is_normal = a < normals;
                let unit = self.unit(block.rho[usize::from(!is_normal)]);
                column.fill(0.0);
                if is_normal {
                    point.contacts[i].normal.add_to(-unit, &mut column);
                    out[(block.first, block.first)] = law.normal[1];
                } else {
                    let mut y = [0.0; 3];
                    y[a - normals] = unit;
                    self.add_friction(i, point, &y, -1.0, &mut column);
                }
                (0..n).for_each(|k| {
                    out[(k, block.first + a)] = column[k] / (self.layout.mass_roots[k] * self.layout.scale)
                });
                for k in 0..block.tangent_count {
                    let by = if is_normal { law.by_normal[k] } else { law.by_y[k][a - normals] };
                    out[(block.first + normals + k, block.first + a)] = by * unit / self.unit(block.rho[1]);
                }
            }
        }
        let first = self.first_joint();
        for (j, joint) in point.joints.iter().enumerate() {
            for &(k, value) in joint.row.entries() {
                out[(k, first + j)] -= value / (self.layout.joint_roots[j] * self.layout.mass_roots[k]);
            }
        }
    }

    /// $D$.
    fn find_motion(self, u: &[f64], memory: &mut DerivativeMemory) {
        let (State { t, q, .. }, n) = (self.origin.state, u.len());
        zero(&mut memory.direction, n);
        for (motion, h) in
            [(&mut memory.motion, self.layout.h), (&mut memory.end_motion, self.layout.reach * self.layout.h)]
        {
            motion.resize(n * n, 0.0);
            for (j, column) in motion.chunks_exact_mut(n).enumerate() {
                memory.direction[j] = 1.0;
                self.origin.system.advance_derivative(*t, q, u, h, &memory.direction, column);
                memory.direction[j] = 0.0;
            }
        }
    }

    /// The changes of momentum and sliding along the coordinates at the end of the step, with $u$
    /// as it is: what the sums over $k$ contain.
    fn find_changes(self, z: &[f64], u: &[f64], point: &Point, memory: &mut DerivativeMemory) {
        let (n, h) = (u.len(), self.layout.h);
        zero(&mut memory.momentum, n * n);
        zero(&mut memory.slips, n * self.layout.blocks.len());
        zero(&mut memory.rates, n * self.layout.blocks.len());
        memory.forces.clear();
        let at = self.at(&point.q);
        at.system.force_jacobians(JacobianKind::Exact, at.t, at.q, u, &mut memory.forces);
        for entry in &memory.forces.by_configuration {
            memory.momentum[entry.column * n + entry.row] -= h * entry.value;
        }
        self.find_inertia_changes(u, point, memory);

        memory.groups.find(n, point);
        let first_joint = self.first_joint();
        let DerivativeMemory { ahead, behind, groups, direction, momentum, slips, rates, .. } = memory;
        for group in 0..groups.count {
            (0..n).for_each(|k| direction[k] = f64::from(groups.group_of[k] == group));
            self.evaluate_rows(point, direction, DIFFERENCE, ahead);
            self.evaluate_rows(point, direction, -DIFFERENCE, behind);
            for i in 0..self.layout.blocks.len() {
                let Some(k) = groups.coordinate(i, group) else { continue };
                let (normal, y) = self.impulses(i, z);
                let column = &mut momentum[k * n..(k + 1) * n];
                for (moved, factor) in [(&*ahead, 0.5 / DIFFERENCE), (&*behind, -0.5 / DIFFERENCE)] {
                    if self.layout.blocks[i].id.is_some() {
                        moved.contacts[i].normal.add_to(-factor * normal, column);
                    }
                    self.add_friction(i, moved, &y, -factor, column);
                    let place = k * self.layout.blocks.len() + i;
                    if self.is_clutch(i, point) {
                        rates[place] += factor * moved.contacts[i].rate(u);
                    }
                    // A displacement is the same at every velocity that leads to this
                    // configuration.
                    if !self.is_displacement(i, point) {
                        let slip = self.slip(i, moved, u);
                        slips[place].iter_mut().zip(slip).for_each(|(change, slip)| *change += factor * slip);
                    }
                }
            }
            for (j, (a, b)) in ahead.joints.iter().zip(&behind.joints).enumerate() {
                let Some(k) = groups.coordinate(self.layout.blocks.len() + j, group) else { continue };
                let impulse = z[first_joint + j] * self.layout.scale / self.layout.joint_roots[j];
                let column = &mut momentum[k * n..(k + 1) * n];
                a.row.add_to(-impulse * 0.5 / DIFFERENCE, column);
                b.row.add_to(impulse * 0.5 / DIFFERENCE, column);
            }
        }
    }

    /// Adds $(\partial_k M)(u - v)$. Nothing where the inertia is constant, which it is when it
    /// does not change along all coordinates at once.
    fn find_inertia_changes(self, u: &[f64], point: &Point, memory: &mut DerivativeMemory) {
        let n = u.len();
        let change: Vec<f64> = u.iter().zip(&self.origin.state.v).map(|(u, v)| u - v).collect();
        let mut product = vec![0.0; n];
        let (at, mut q, mut inertia) = (self.at(&point.q), point.q.clone(), Inertia::default());
        let mut apply = |direction: &[f64], distance: f64, product: &mut [f64]| {
            at.system.displace(at.t, at.q, direction, distance, &mut q);
            self.at(&q).mass(&mut inertia);
            inertia.apply(&change, product);
        };
        let mut here = vec![0.0; n];
        point.inertia.apply(&change, &mut here);
        // Uneven distances, so that changes do not cancel.
        memory.direction.iter_mut().enumerate().for_each(|(k, d)| *d = 1.0 + (1.3 * k as f64).portable_sin());
        apply(&memory.direction, 1e-3, &mut product);
        memory.direction.fill(0.0);
        if product == here {
            return;
        }
        for k in 0..n {
            memory.direction[k] = 1.0;
            let column = &mut memory.momentum[k * n..(k + 1) * n];
            for sign in [1.0, -1.0] {
                apply(&memory.direction, sign * DIFFERENCE, &mut product);
                column.iter_mut().zip(&product).for_each(|(sum, part)| *sum += sign * part / (2.0 * DIFFERENCE));
            }
            memory.direction[k] = 0.0;
        }
    }

    /// Contacts, friction elements and joints where the end of the step is moved along a direction.
    fn evaluate_rows(self, point: &Point, direction: &[f64], distance: f64, moved: &mut Point) {
        moved.q.clone_from(&point.q);
        let at = self.at(&point.q);
        at.system.displace(at.t, at.q, direction, distance, &mut moved.q);
        let at = self.at(&moved.q);
        at.friction(&mut moved.elements);
        at.joints(&mut moved.joints);
        at.contacts_of(&self.layout.ids, &mut moved.found);
        // What is not known there has not changed.
        pick(point.contacts.iter(), &mut moved.found, &mut moved.contacts);
        self.turn_back_tangents(&moved.contacts, &mut moved.turns);
    }

    /// The columns of the velocities.
    fn write_by_velocities(self, point: &Point, laws: &[Law], memory: &DerivativeMemory, out: &mut Mat<f64>) {
        let (n, h, count) = (self.origin.state.v.len(), self.layout.h, self.layout.blocks.len());
        // M - h k_v, in physical units first.
        point.inertia.for_each_entry(|i, j, value| out[(i, j)] += value);
        for entry in &memory.forces.by_velocity {
            out[(entry.row, entry.column)] -= h * entry.value;
        }
        let first_joint = self.first_joint();
        let (mut sparse, mut slips, mut rates) = (Vec::new(), vec![[0.0; 3]; count], vec![0.0; count]);
        let (end_contacts, end_joints) = self.end(point);
        let motions = memory.motion.chunks_exact(n).zip(memory.end_motion.chunks_exact(n));
        for (j, (motion, end_motion)) in motions.enumerate() {
            sparse.clear();
            sparse.extend(motion.iter().copied().enumerate().filter(|(_, d)| *d != 0.0));
            slips.fill([0.0; 3]);
            rates.fill(0.0);
            for &(k, d) in &sparse {
                let changes = &memory.momentum[k * n..(k + 1) * n];
                changes.iter().enumerate().for_each(|(i, change)| out[(i, j)] += h * d * change);
                for (slip, change) in slips.iter_mut().zip(&memory.slips[k * count..(k + 1) * count]) {
                    slip.iter_mut().zip(change).for_each(|(slip, change)| *slip += h * d * change);
                }
                for (rate, change) in rates.iter_mut().zip(&memory.rates[k * count..(k + 1) * count]) {
                    *rate += h * d * change;
                }
            }
            // One unit of the unknown.
            let unit = self.layout.scale / self.layout.mass_roots[j];
            (0..n).for_each(|i| out[(i, j)] *= unit / (self.layout.mass_roots[i] * self.layout.scale));
            for (i, block) in self.layout.blocks.iter().enumerate() {
                let law = &laws[i];
                let direct = match self.is_displacement(i, point) {
                    true => [block.axes[0] * self.tangents(i, point).0[0].dot(motion), 0.0, 0.0],
                    false => self.entries_of_slip(i, point, j),
                };
                let slip: [f64; 3] = std::array::from_fn(|k| unit * (direct[k] + slips[i][k]));
                let mut gap = 0.0;
                if block.id.is_some() {
                    let normal = &end_contacts[i].normal;
                    gap = match self.is_clutch(i, point) {
                        true => unit * (entry(normal, j) + rates[i]),
                        false => unit * normal.dot(end_motion),
                    };
                    out[(block.first, j)] = law.normal[2] * gap / self.unit(block.rho[0]);
                }
                for k in 0..block.tangent_count {
                    let along: f64 = (0..block.tangent_count).map(|l| law.by_slip[k][l] * slip[l]).sum();
                    out[(block.first + block.normal_count() + k, j)] =
                        (along + law.by_gap[k] * gap) / self.unit(block.rho[1]);
                }
            }
            for (i, joint) in end_joints.iter().enumerate() {
                out[(first_joint + i, j)] =
                    unit * joint.row.dot(end_motion) / (self.layout.joint_roots[i] * self.layout.scale);
            }
        }
    }

    /// Sliding of a block with a unit of one velocity, in units of its semi-axes and without drift.
    fn entries_of_slip(self, block: usize, point: &Point, coordinate: usize) -> [f64; 3] {
        let (tangents, turn) = self.tangents(block, point);
        let mut slip = [0.0; 3];
        for (slip, row) in slip.iter_mut().zip(tangents) {
            *slip = entry(row, coordinate);
        }
        let turned = turn_forward(turn, &slip);
        std::array::from_fn(|k| self.layout.blocks[block].axes[k] * turned[k])
    }

    fn is_clutch(self, block: usize, point: &Point) -> bool {
        self.layout.blocks[block].id.is_some() && point.contacts[block].restraint == Restraint::Rate
    }

    fn is_displacement(self, block: usize, point: &Point) -> bool {
        let element = block.checked_sub(point.contacts.len()).and_then(|element| point.elements.get(element));
        element.is_some_and(|element| element.displacement.is_some())
    }
}

/// The entry of a row for a coordinate.
fn entry(row: &Row, coordinate: usize) -> f64 {
    row.entries().iter().filter(|entry| entry.0 == coordinate).map(|entry| entry.1).sum()
}

#[cfg(test)]
mod tests {
    use stiction_solve::NonsmoothEquations;

    use super::super::equations::{Block, Layout, Unknowns, Workspace};
    use crate::reference::{DoublePendulum, FreeTop, Rod};
    use crate::scheme::origin::Origin;
    use crate::{
        Contact, ContactId, FrictionElement, FrictionLaw, FrictionShape, Inertia, Joint, MechanicalSystem, Row,
    };

    use super::*;

    /// Points in polar coordinates $(r, \varphi)$, one after another, each on a spring and before a
    /// rough wall $x \le 2$; friction along the way of each, and a rod between the first two.
    struct PolarPoints(usize);

    impl MechanicalSystem for PolarPoints {
        fn velocity_count(&self) -> usize {
            2 * self.0
        }
        fn mass_matrix(&self, _t: f64, q: &[f64], out: &mut Inertia) {
            q.chunks_exact(2).for_each(|q| out.push_block(2, &[1.5, 0.0, 0.0, 1.5 * q[0] * q[0]]));
        }
        fn force(&self, _t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
            for (k, (q, v)) in k.chunks_exact_mut(2).zip(q.chunks_exact(2).zip(v.chunks_exact(2))) {
                k.copy_from_slice(&[1.5 * q[0] * v[1] * v[1] - 30.0 * q[0], -3.0 * q[0] * v[0] * v[1]]);
            }
        }
        fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
            for (i, q) in q.chunks_exact(2).enumerate() {
                let (sine, cosine) = q[1].sin_cos();
                let row = |entries: [f64; 2]| {
                    let mut row = Row::new();
                    (0..2).for_each(|k| row.push(2 * i + k, entries[k]));
                    row
                };
                let contact = Contact {
                    id: ContactId::number(i as u32),
                    gap: 2.0 - q[0] * cosine,
                    normal: row([-cosine, q[0] * sine]),
                    tangents: [row([sine, q[0] * cosine])].into_iter().collect(),
                    friction: FrictionLaw::Coulomb { mu: 0.4 },
                    ..Default::default()
                };
                if contact.gap <= horizon {
                    out.push(contact);
                }
            }
        }
        fn friction_elements(&self, _t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
            for (i, q) in q.chunks_exact(2).enumerate() {
                let mut row = Row::new();
                row.push(2 * i + 1, q[0]);
                out.push(FrictionElement {
                    id: i as u32,
                    tangents: [row].into_iter().collect(),
                    bound: 3.0,
                    ..Default::default()
                });
            }
        }
        fn joints(&self, _t: f64, q: &[f64], out: &mut Vec<Joint>) {
            let [x, y] = [q[0] * q[1].cos() - q[2] * q[3].cos(), q[0] * q[1].sin() - q[2] * q[3].sin()];
            let row = Row::from_dense(&[
                2.0 * (x * q[1].cos() + y * q[1].sin()),
                2.0 * q[0] * (y * q[1].cos() - x * q[1].sin()),
                -2.0 * (x * q[3].cos() + y * q[3].sin()),
                -2.0 * q[2] * (y * q[3].cos() - x * q[3].sin()),
            ]);
            out.push(Joint { row, value: x * x + y * y - 0.5, drift: 0.0 });
        }
    }

    /// A top whose axis $x$ must not point below the horizon, and rubs there: turns are
    /// coordinates. Or, on the other levels, it must not sink, and a pre-stressed spring pulls it
    /// to the horizon.
    struct LeaningTop {
        top: FreeTop,
        is_one_way: bool,
    }

    impl MechanicalSystem for LeaningTop {
        fn velocity_count(&self) -> usize {
            3
        }
        fn mass_matrix(&self, t: f64, q: &[f64], out: &mut Inertia) {
            self.top.mass_matrix(t, q, out);
        }
        fn force(&self, t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
            self.top.force(t, q, v, k);
        }
        fn displace(&self, t: f64, q: &[f64], v: &[f64], h: f64, out: &mut [f64]) {
            self.top.displace(t, q, v, h, out);
        }
        fn friction_elements(&self, t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
            if self.is_one_way {
                let mut contacts = Vec::new();
                self.contacts(t, q, 0.0, &mut contacts);
                let tangents = [contacts.remove(0).normal].into_iter().collect();
                out.push(FrictionElement { tangents, displacement: Some(height(q)[0]), ..Default::default() });
            }
        }
        fn contacts(&self, _t: f64, q: &[f64], _horizon: f64, out: &mut Vec<Contact>) {
            let up = height(q);
            out.push(Contact {
                gap: if self.is_one_way { 0.0 } else { up[0] },
                restraint: if self.is_one_way { Restraint::Rate } else { Restraint::Gap },
                normal_drift: if self.is_one_way { 0.3 * up[1] } else { 0.0 },
                normal: Row::from_dense(&[0.0, -up[2], up[1]]),
                tangents: [Row::from_dense(&up)].into_iter().collect(),
                friction: FrictionLaw::Coulomb { mu: 0.4 },
                ..Default::default()
            });
        }
    }

    /// The vertical in body axes; the height of the axis x is its first component, with the rate ω
    /// · (x × vertical).
    fn height(q: &[f64]) -> [f64; 3] {
        let [s, x, y, z] = [q[0], q[1], q[2], q[3]];
        [2.0 * (x * z - s * y), 2.0 * (y * z + s * x), 1.0 - 2.0 * (x * x + y * y)]
    }

    /// The largest difference between the derivative and central differences of the equations.
    fn error(system: &dyn MechanicalSystem, q: &[f64], v: &[f64], h: f64) -> f64 {
        error_by(1.0, system, q, v, h).max(error_by(2.0, system, q, v, 0.5 * h))
    }

    /// The same by one rule.
    fn error_by(reach: f64, system: &dyn MechanicalSystem, q: &[f64], v: &[f64], h: f64) -> f64 {
        let n = v.len();
        let (mut contacts, mut elements, mut joints) = (Vec::new(), Vec::new(), Vec::new());
        system.contacts(0.0, q, f64::INFINITY, &mut contacts);
        system.friction_elements(0.0, q, &mut elements);
        system.joints(0.0, q, &mut joints);
        let mut first = n;
        let mut blocks = Vec::new();
        let ids = contacts.iter().map(|contact| Some(contact.id)).chain(elements.iter().map(|_| None));
        for (i, id) in ids.enumerate() {
            let reference = contacts.get(i).cloned().unwrap_or_default();
            // Friction slides, and a spring is held.
            let bound = match i.checked_sub(contacts.len()).map(|element| elements[element].displacement) {
                None => 0.0,
                Some(None) => 0.7,
                Some(Some(_)) => 30.0,
            };
            let mu = if id.is_some() { 0.4 } else { 0.0 };
            let block = Block {
                id,
                reference,
                tangent_count: 1,
                mu,
                bound,
                axes: [0.8; 3],
                shape: FrictionShape::Ball,
                kept_rate: 0.02 * (reach - 1.0),
                kept_slip: [0.01 * (reach - 1.0); 3],
                first,
                rho: [1.3, 0.7],
            };
            first += block.unknown_count();
            blocks.push(block);
        }
        let (mass_roots, joint_roots) = (vec![1.2; n], vec![0.9; joints.len()]);
        let kept_joints = vec![0.03 * (reach - 1.0); joints.len()];
        let mut workspace = Workspace::default();
        let ids = blocks.iter().filter_map(|block| block.id).collect();
        let layout = Layout { h, reach, kept_joints, blocks, ids, mass_roots, joint_roots, scale: 1.7 };
        let state = State::new(0.0, q.to_vec(), v.to_vec());
        let equations = StepEquations { origin: Origin::new(system, &state), layout: &layout };
        let mut equations = Unknowns { equations, workspace: &mut workspace };
        let size = equations.size();
        let mut worst = 0.0f64;
        // Impulses of some size, so that contacts press and slide one way, stick, and are open.
        for (push, slide) in [(3.0, 0.2), (3.0, 2.0), (-3.0, 0.1)] {
            let z: Vec<f64> = (0..size)
                .map(|i| match i {
                    _ if i < n => (v[i] + 0.3 * (1.7 * i as f64).sin()) * 1.2 / 1.7,
                    _ if i % 2 == n % 2 => push + 0.1 * i as f64,
                    _ => slide * (1.0 + 0.1 * i as f64),
                })
                .collect();
            let mut matrix = Mat::zeros(size, size);
            equations.derivative(&z, &mut matrix);
            let (mut ahead, mut behind, mut moved) = (vec![0.0; size], vec![0.0; size], z.clone());
            for j in 0..size {
                moved[j] = z[j] + 1e-5;
                equations.evaluate(&moved, &mut ahead);
                moved[j] = z[j] - 1e-5;
                equations.evaluate(&moved, &mut behind);
                moved[j] = z[j];
                for i in 0..size {
                    let error = (matrix[(i, j)] - (ahead[i] - behind[i]) / 2e-5).abs();
                    worst = worst.max(error);
                }
            }
        }
        worst
    }

    #[test]
    fn it_is_that_of_the_equations() {
        let pendulum = DoublePendulum { gravity: 9.8, wall: None };
        let top = |is_one_way| LeaningTop { top: FreeTop::default(), is_one_way };
        for (name, error) in [
            ("rod", error(&Rod::default(), &[0.1, 0.3, 0.7], &[1.0, -2.0, 4.0], 0.1)),
            ("top", error(&FreeTop::default(), &[0.8, 0.6, 0.0, 0.0], &[1.0, -2.0, 4.0], 0.1)),
            ("leaning top", error(&top(false), &[0.8, 0.6, 0.0, 0.0], &[1.0, -2.0, 4.0], 0.1)),
            // Clutches and springs know Euler's rule only.
            ("one-way top", error_by(1.0, &top(true), &[0.8, 0.6, 0.0, 0.0], &[1.0, -2.0, 4.0], 0.1)),
            ("pendulum", error(&pendulum, &[0.8, -0.6, 1.6, -1.2], &[3.0, 4.0, -1.0, 0.5], 0.1)),
            ("points", error(&PolarPoints(2), &[1.5, 0.2, 1.1, 0.9], &[0.4, -1.0, 0.7, 2.0], 0.1)),
        ] {
            assert!(error < 1e-8, "{name}: {error:e}");
        }
        // So many that coordinates move together.
        let (q, v): (Vec<f64>, Vec<f64>) =
            (0..16).map(|k| (1.2 + 0.3 * (2.1 * k as f64).sin(), (0.9 * k as f64).cos())).unzip();
        let error = error(&PolarPoints(8), &q, &v, 0.1);
        assert!(error < 1e-8, "{error:e}");
    }
}

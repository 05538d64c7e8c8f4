//! The total friction cone of contacts and joints: whether it is pointed, and what follows from
//! that.
//!
//! \[PAGT\] §6.2. Of all impulses that contacts and joints can give together,
//!
//! $$ \widehat{FC} = \Bigl\\{ \nu^T c_\nu + \sum_j (n_j^T c_{n,j} + T_j^T c_{t,j}) \Bigm| c_{n,j} \ge 0,\ c_{t,j} \in \mu_j c_{n,j} F_j \Bigr\\}, $$
//!
//! the cone is *pointed* if only zero impulses add up to zero. If it is not, bodies are wedged:
//! there is a state of self-stress, impulses that balance each other without any load. Contact
//! forces are then neither unique nor bounded by the load, and a drawer jams.
//!
//! **The programs.** Lengths are those in the metric of the inertia,
//! $\lVert f \rVert^2 = f^T M^{-1} f$: that of an impulse is the root of twice the kinetic energy
//! that it gives to a system at rest. For weights $w_j \ge 0$ two convex programs are dual to each
//! other,
//!
//! $$ S(w) = \max_{c} \Bigl\\{ \sum_j w_j c_{n,j} \Bigm| \lVert \nu^T c_\nu + J^T c \rVert \le 1 \Bigr\\} = \min_{v} \Bigl\\{ \lVert v \rVert_M
//! \Bigm| \nu v = 0,\ n_j v \ge \mu_j \sigma_j(T_j v) + w_j \Bigr\\}, $$
//!
//! with the support function $\sigma_j$ of the friction set. The second one says what pointed means
//! in motions: one can leave all contacts at once, steeper than their friction angles. Every
//! impulse bounds $S$ from below and every such motion from above, so that an answer is checked by
//! putting it in ([`Bound`]).
//!
//! The cones are replaced by their edges $g_i$, with $G = (g_i \cdot M^{-1} g_j)$ where joints are
//! eliminated ([`ConstrainedMotion`]). The least distance of $\sum z_i g_i$ from zero with
//! $\sum w_i z_i = 1$ is a least-squares problem with signs, the LCP
//! $0 \le z \perp (G + w w^T) z - w \ge 0$: it always has a solution. For round cones, edges are
//! added where the motion found is nearer to the contact than its friction angle allows, until
//! there are none.
//!
//! **The constants.** With $\lVert n_j \rVert$ and $\lVert \nu_i \rVert$ as units of impulses, so
//! that the constant has none,
//!
//! $$ \max_{i, j} (\lVert n_j \rVert c_{n,j},\ \lVert \nu_i \rVert \lvert c_{\nu,i} \rvert) \le c_{FC} \lVert f \rVert. $$
//!
//! A collision by Poisson's law, as printed, ends with at most $c_c$ times the kinetic energy: the
//! compression gives $f^c$ with
//! $\lVert v^c \rVert^2 + \lVert f^c \rVert^2 \le \lVert v^- \rVert^2$, because it ends with
//! $v^c \cdot f^c \le 0$; what is given back, $F^r = \sum e_j n_j^T c_{n,j}^c$, is perpendicular to
//! $v^c$, because contacts that push do not move; and the decompression only loses from there. So
//!
//! $$ \lVert v^+ \rVert^2 \le \lVert v^c \rVert^2 + \lVert F^r \rVert^2 \le c_c \lVert v^- \rVert^2, \qquad c_c = \max(1, \kappa^2), \qquad \lVert F^r \rVert \le \kappa \lVert f^c \rVert, $$
//!
//! and with $F^r = \bar e f^c + \sum (e_j - \bar e) n_j^T c_{n,j} - \bar e \sum T_j^T c_{t,j}$ for
//! any $\bar e$,
//!
//! $$ \kappa \le \bar e + S(w), \qquad w_j = \lvert e_j - \bar e \rvert \lVert n_j \rVert + \bar e \mu_j \max_{y \in F_j} \lVert T_j^T y \rVert. $$
//!
//! Without friction and with one $e$ that is $\kappa = e$: no energy is gained. The definition of
//! the paper lacks the $\mu$ that its (9.10) has, and its $c_c$ also counts the edges of the cones,
//! which this bound does not need.

use faer::{Mat, Side};
use stiction_solve::{Lcp, LemkeSettings, SolveStatus};

use crate::{
    ConstrainedMotion, ContactCondition, ContactError, ContactImpulse, ContactProblem, FrictionShape, JointCondition,
    MechanicalSystem, Row, State, joint_redundancy,
};

/// A cone whose impulses of length one can add up to less than this is not pointed. Too large: a
/// steep wedge counts as one that jams. Too small: rounding of the geometry, which enters by its
/// root, counts as a way out.
const BLUNT: f64 = 1e-7;

/// The edges of round cones suffice when both bounds agree to this, relative.
const AGREEMENT: f64 = 1e-11;

/// Rounds in which edges are added, at most. Each squares the error of the last one, roughly.
const ROUNDS: usize = 40;

/// How far away a point is of which the nearest point of a friction set is taken for the one in its
/// direction; sets are of size one.
const FAR: f64 = 1e8;

/// A number between two others that are known by substitution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// It is at least this: an impulse shows it.
    pub least: f64,
    /// It is at most this: a motion shows it. Infinite where the cone is not pointed, or none was
    /// found.
    pub most: f64,
}

/// Impulses of contacts and joints that add up to nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfStress {
    /// Impulses in the order of the contacts; the largest normal impulse is one, where there is
    /// one.
    pub contacts: Vec<ContactImpulse>,
    /// Impulses in the order of the joint rows; the largest is one where no contact takes part.
    pub joints: Vec<f64>,
}

/// Whether only zero impulses add up to zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Pointedness {
    /// They do, and this motion proves it: it keeps the joints and leaves every contact steeper
    /// than its friction angle, $n_j v \ge \mu_j \sigma_j(T_j v) + \lVert n_j \rVert$.
    Pointed {
        /// The motion.
        escape: Vec<f64>,
    },
    /// They do not, and these impulses prove it.
    Wedged(SelfStress),
    /// Rounding did not allow to tell.
    Undecided,
}

/// The total friction cone of some contacts and joints; see the [module](self).
#[derive(Clone, Debug)]
pub struct TotalCone {
    problem: ContactProblem,
    joints: ConstrainedMotion,
    /// $\lVert n_j \rVert$, joints left out of account.
    lengths: Vec<f64>,
    /// Those of the program that is being solved.
    edges: Vec<Edge>,
    pointedness: Pointedness,
}

/// One edge of a friction cone: a unit of normal impulse with friction.
#[derive(Clone, Debug)]
struct Edge {
    contact: usize,
    /// Friction along the tangent rows.
    friction: [f64; 3],
    row: Row,
    /// The motion that it gives to the system with its joints.
    response: Row,
    /// The impulses of the joints in that.
    joints: Row,
}

/// What a program found.
struct Optimum {
    bound: Bound,
    /// The impulses that show the lower bound, for a sum of $w_j c_{n,j}$ of one.
    stress: SelfStress,
    /// The motion that shows the upper bound; empty without one.
    motion: Vec<f64>,
}

impl SelfStress {
    /// The same with a largest normal impulse of one.
    fn scaled(mut self) -> Self {
        let largest = self.contacts.iter().fold(0.0f64, |most, impulse| most.max(impulse.normal));
        for impulse in &mut self.contacts {
            impulse.normal /= largest;
            impulse.tangent.iter_mut().for_each(|c| *c /= largest);
        }
        self.joints.iter_mut().for_each(|c| *c /= largest);
        self
    }
}

impl TotalCone {
    /// The cone of all contacts and joints of a problem, whose inertia must be symmetric.
    /// Load-independent friction is bounded, and does not count.
    ///
    /// # Errors
    /// [`ContactError`] when the problem is malformed or its inertia is singular.
    pub fn new(mut problem: ContactProblem) -> Result<Self, ContactError> {
        problem.check()?;
        problem.inertia.factor()?;
        let mut joints = ConstrainedMotion::default();
        joints.factor(&problem)?;
        let length = |row: &Row| row.dot(&problem.inertia.response(row)).max(0.0).sqrt();
        let lengths = problem.contacts.iter().map(|contact| length(&contact.normal)).collect();
        let pointedness = Pointedness::Undecided;
        let mut cone = Self { problem, joints, lengths, edges: Vec::new(), pointedness };
        cone.pointedness = cone.find_pointedness()?;
        Ok(cone)
    }

    /// The cone of the contacts of a system whose gap is at most `gap`, in metres, and of its
    /// joints.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn at(system: &dyn MechanicalSystem, state: &State, gap: f64) -> Result<Self, ContactError> {
        let mut problem = ContactProblem { free_motion: vec![0.0; system.velocity_count()], ..Default::default() };
        system.mass_matrix(state.t, &state.q, &mut problem.inertia);
        let (mut contacts, mut joints) = (Vec::new(), Vec::new());
        system.contacts(state.t, &state.q, gap, &mut contacts);
        system.joints(state.t, &state.q, &mut joints);
        problem.contacts = contacts.iter().map(ContactCondition::of).collect();
        problem.joints =
            joints.into_iter().map(|joint| JointCondition { row: joint.row, ..Default::default() }).collect();
        Self::new(problem)
    }

    /// The contacts and joints of the cone.
    pub fn problem(&self) -> &ContactProblem {
        &self.problem
    }

    /// Whether it is pointed, with the proof.
    pub fn pointedness(&self) -> &Pointedness {
        &self.pointedness
    }

    /// The constant $c_{FC}$ of \[PAGT\] §6.2, in the norms of the [module](self): no impulse of a
    /// contact or joint is larger than that many times the impulse that all of them give together.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn force_constant(&mut self) -> Result<Bound, ContactError> {
        match self.pointedness {
            Pointedness::Pointed { .. } => {}
            Pointedness::Wedged(_) => return Ok(Bound { least: f64::INFINITY, most: f64::INFINITY }),
            Pointedness::Undecided => return Ok(Bound { least: 0.0, most: f64::INFINITY }),
        }
        let mut largest = Bound { least: 0.0, most: 0.0 };
        let mut take = |bound: Bound| {
            largest = Bound { least: largest.least.max(bound.least), most: largest.most.max(bound.most) };
        };
        for j in 0..self.lengths.len() {
            let weights: Vec<f64> =
                self.lengths.iter().enumerate().map(|(i, &length)| if i == j { length } else { 0.0 }).collect();
            take(self.most_impulse(&weights)?);
        }
        // A joint row that only pushes one way, or the other, is a contact without friction.
        for i in 0..self.problem.joints.len() {
            for sign in [1.0, -1.0] {
                let mut problem = self.problem.clone();
                let row = problem.joints.remove(i).row;
                problem.contacts.push(ContactCondition { normal: row.scaled(sign), ..Default::default() });
                let mut cone = Self::new(problem)?;
                let mut weights = vec![0.0; cone.lengths.len()];
                weights[self.lengths.len()] = cone.lengths[self.lengths.len()];
                take(cone.most_impulse(&weights)?);
            }
        }
        Ok(largest)
    }

    /// The constant $c_c$ of \[PAGT\] §6.2 for contacts that give back these shares of their
    /// impulses: after a collision by Poisson's law the kinetic energy is at most that many times
    /// what it was. It holds for contacts without driven bodies, and without the setting
    /// `restitution-friction`; infinite where the cone is not pointed.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    ///
    /// # Panics
    /// When there are not as many shares as contacts.
    pub fn collision_constant(&mut self, restitution: &[f64]) -> Result<f64, ContactError> {
        let contacts = &self.problem.contacts;
        assert_eq!(restitution.len(), contacts.len(), "a share for every contact");
        // Lengths with the joints, which take part in both phases.
        let (mut normals, mut frictions) = (Vec::new(), Vec::new());
        let count = self.problem.free_motion.len();
        for contact in contacts {
            let mut rows = vec![(&contact.normal, 1.0)];
            rows.extend(contact.tangents.iter().zip(contact.friction_axes));
            let responses = rows.iter().map(|(row, _)| {
                let (mut response, mut joints) = (Row::new(), Row::new());
                self.joints.respond(&self.problem.inertia, row.entries(), &mut response, &mut joints);
                let mut dense = vec![0.0; count];
                response.add_to(1.0, &mut dense);
                dense
            });
            let responses: Vec<Vec<f64>> = responses.collect();
            let gram =
                Mat::from_fn(rows.len(), rows.len(), |i, j| rows[i].1 * rows[j].1 * rows[i].0.dot(&responses[j]));
            normals.push(gram[(0, 0)].max(0.0).sqrt());
            let k = rows.len() - 1;
            let tangents = gram.submatrix(1, 1, k, k);
            let eigenvalues = tangents.self_adjoint_eigenvalues(Side::Lower).unwrap_or_default();
            let radius = match &contact.friction_shape {
                FrictionShape::Ball => 1.0,
                FrictionShape::DiscAndInterval => std::f64::consts::SQRT_2,
                FrictionShape::Polytope(polytope) => {
                    polytope.corners().iter().map(|y| y.iter().map(|y| y * y).sum::<f64>().sqrt()).fold(0.0, f64::max)
                }
                // The box around it.
                shape @ FrictionShape::Convex(_) => {
                    let reach = |k: usize| {
                        let far = |sign: f64| shape.support(&std::array::from_fn(|i| if i == k { sign } else { 0.0 }));
                        far(1.0).max(far(-1.0))
                    };
                    (0..k).map(|k| reach(k) * reach(k)).sum::<f64>().sqrt()
                }
            };
            let longest = eigenvalues.last().copied().unwrap_or(0.0).max(0.0).sqrt();
            frictions.push(contact.mu * radius * longest);
        }
        let mut kappa = f64::INFINITY;
        for &mean in restitution.iter().chain(&[0.0]) {
            let weight = |j: usize| (restitution[j] - mean).abs() * normals[j] + mean * frictions[j];
            let weights: Vec<f64> = (0..normals.len()).map(weight).collect();
            kappa = kappa.min(mean + self.most_impulse(&weights)?.most);
        }
        Ok((kappa * kappa).max(1.0))
    }

    /// $S(w)$.
    fn most_impulse(&mut self, weights: &[f64]) -> Result<Bound, ContactError> {
        if weights.iter().all(|&weight| weight == 0.0) {
            return Ok(Bound { least: 0.0, most: 0.0 });
        }
        match self.pointedness {
            Pointedness::Pointed { .. } => Ok(self.solve(weights)?.bound),
            _ => Ok(Bound { least: 0.0, most: f64::INFINITY }),
        }
    }

    fn find_pointedness(&mut self) -> Result<Pointedness, ContactError> {
        let lengths = self.lengths.clone();
        let mut found = Pointedness::Pointed { escape: vec![0.0; self.problem.free_motion.len()] };
        if lengths.iter().any(|&length| length > 0.0) {
            let optimum = self.solve(&lengths)?;
            found = match optimum.bound {
                bound if bound.least >= 1.0 / BLUNT => return Ok(Pointedness::Wedged(optimum.stress.scaled())),
                bound if bound.most.is_finite() => Pointedness::Pointed { escape: optimum.motion },
                _ => Pointedness::Undecided,
            };
        }
        Ok(match self.dependent_joints()? {
            Some(joints) => Pointedness::Wedged(SelfStress { joints, ..self.impulses(&[]) }),
            None => found,
        })
    }

    /// Impulses of joints that add up to nothing, if rows depend on each other.
    fn dependent_joints(&self) -> Result<Option<Vec<f64>>, ContactError> {
        let redundancy = joint_redundancy(&self.problem.inertia, self.problem.joints.iter().map(|joint| &joint.row));
        let Some(&first) = redundancy.removable.first() else { return Ok(None) };
        let kept: Vec<usize> = (0..self.problem.joints.len()).filter(|i| !redundancy.removable.contains(i)).collect();
        let joints = kept.iter().map(|&i| self.problem.joints[i].clone()).collect();
        let problem = ContactProblem { joints, contacts: Vec::new(), friction: Vec::new(), ..self.problem.clone() };
        let (mut motion, mut response, mut impulses) = (ConstrainedMotion::default(), Row::new(), Row::new());
        motion.factor(&problem)?;
        motion.respond(&problem.inertia, self.problem.joints[first].row.entries(), &mut response, &mut impulses);
        let mut stress = vec![0.0; self.problem.joints.len()];
        stress[first] = 1.0;
        impulses.entries().iter().for_each(|&(i, impulse)| stress[kept[i]] += impulse);
        let largest = stress.iter().fold(0.0f64, |most, c| most.max(c.abs()));
        stress.iter_mut().for_each(|c| *c /= largest);
        Ok(Some(stress))
    }

    /// The impulses of these weights of the edges.
    fn impulses(&self, z: &[f64]) -> SelfStress {
        let mut stress = SelfStress {
            contacts: self
                .problem
                .contacts
                .iter()
                .map(|contact| ContactImpulse { id: contact.id, ..Default::default() })
                .collect(),
            joints: vec![0.0; self.problem.joints.len()],
        };
        for (edge, &z) in self.edges.iter().zip(z) {
            let impulse = &mut stress.contacts[edge.contact];
            impulse.normal += z;
            impulse.tangent.iter_mut().zip(edge.friction).for_each(|(c, friction)| *c += z * friction);
            edge.joints.add_to(z, &mut stress.joints);
        }
        stress
    }

    /// Adds the edge of a contact with the friction `y`, in units of the semi-axes, for a bound of
    /// one.
    fn add_edge(&mut self, contact: usize, y: [f64; 3]) {
        let condition = &self.problem.contacts[contact];
        let friction: [f64; 3] = std::array::from_fn(|k| condition.mu * condition.friction_axes[k] * y[k]);
        let mut row = condition.normal.clone();
        for (tangent, friction) in condition.tangents.iter().zip(friction).filter(|(_, friction)| *friction != 0.0) {
            row.push_scaled(friction, tangent);
        }
        let (mut response, mut joints) = (Row::new(), Row::new());
        self.joints.respond(&self.problem.inertia, row.entries(), &mut response, &mut joints);
        self.edges.push(Edge { contact, friction, row, response, joints });
    }

    /// How much steeper than its friction angle a motion leaves a contact, $n v - \mu \sigma(T v)$,
    /// and the sliding in units of the semi-axes.
    fn margin(&self, contact: usize, v: &[f64]) -> (f64, [f64; 3]) {
        let condition = &self.problem.contacts[contact];
        let mut slip = [0.0; 3];
        for (k, row) in condition.tangents.iter().enumerate() {
            slip[k] = condition.friction_axes[k] * row.dot(v);
        }
        (condition.normal.dot(v) - condition.mu * condition.friction_shape.support(&slip), slip)
    }

    /// $\lVert v \rVert_M$.
    fn speed(&self, v: &[f64]) -> f64 {
        let mut momentum = vec![0.0; v.len()];
        self.problem.inertia.apply(v, &mut momentum);
        momentum.iter().zip(v).map(|(p, v)| p * v).sum::<f64>().max(0.0).sqrt()
    }

    /// Both programs for these weights, one for each contact, not all zero.
    fn solve(&mut self, weights: &[f64]) -> Result<Optimum, ContactError> {
        let n = self.problem.free_motion.len();
        let mut best = Optimum {
            bound: Bound { least: 0.0, most: f64::INFINITY },
            stress: SelfStress::default(),
            motion: Vec::new(),
        };
        self.edges.clear();
        for contact in 0..weights.len() {
            first_edges(&self.problem.contacts[contact]).into_iter().for_each(|y| self.add_edge(contact, y));
        }
        for _ in 0..ROUNDS {
            let w: Vec<f64> = self.edges.iter().map(|edge| weights[edge.contact]).collect();
            let mut matrix = Mat::zeros(w.len(), w.len());
            for (j, edge) in self.edges.iter().enumerate() {
                let mut response = vec![0.0; n];
                edge.response.add_to(1.0, &mut response);
                (0..w.len()).for_each(|i| matrix[(i, j)] = self.edges[i].row.dot(&response) + w[i] * w[j]);
            }
            let answer = Lcp::new(matrix, w.iter().map(|w| -w).collect())?.solve(&LemkeSettings::default());
            if answer.report.status != SolveStatus::Solved {
                break;
            }
            let sum: f64 = answer.z.iter().zip(&w).map(|(z, w)| z * w).sum();
            let z: Vec<f64> = answer.z.iter().map(|z| z / sum).collect();
            let mut v = vec![0.0; n];
            self.edges.iter().zip(&z).for_each(|(edge, z)| edge.response.add_to(*z, &mut v));
            let (distance, last) = (self.speed(&v), best.bound);
            let impulses = self.impulses(&z);
            if 1.0 / distance > best.bound.least {
                best.bound.least = 1.0 / distance;
                best.stress = impulses.clone();
            }
            if distance <= BLUNT {
                break;
            }
            // The nearest point of a convex set sees all of it on one side: g_i · v ≥ d² w_i.
            v.iter_mut().for_each(|v| *v /= distance * distance);
            let margins: Vec<(f64, [f64; 3])> = (0..weights.len()).map(|j| self.margin(j, &v)).collect();
            if let Some(motion) = self.feasible(&v, weights, &margins) {
                let speed = self.speed(&motion);
                if speed < best.bound.most {
                    (best.bound.most, best.motion) = (speed, motion);
                }
            }
            if best.bound.most <= (1.0 + AGREEMENT) * best.bound.least || best.bound == last {
                break;
            }
            // The edges that carry something stay. New are those that the motion is nearest to, and
            // what rounds off the impulses between two edges.
            let mut carries = z.iter().map(|&z| z > 0.0);
            self.edges.retain(|_| carries.next().is_some_and(|carries| carries));
            for contact in 0..weights.len() {
                let condition = &self.problem.contacts[contact];
                if condition.mu == 0.0 || condition.tangents.is_empty() {
                    self.add_edge(contact, [0.0; 3]);
                    continue;
                }
                let axes = condition.friction_axes;
                let used = impulses.contacts[contact].tangent;
                let used = std::array::from_fn(|k| if axes[k] > 0.0 { used[k] / axes[k] } else { 0.0 });
                let against = margins[contact].1.map(|slip| -slip);
                let points = [against, used].map(|direction| point_towards(&condition.friction_shape, direction));
                points.into_iter().flatten().for_each(|y| self.add_edge(contact, y));
            }
        }
        Ok(best)
    }

    /// A motion near `v` that leaves every contact as the weights ask: by some of the escape, where
    /// there is one, else by more of the motion itself.
    fn feasible(&self, v: &[f64], weights: &[f64], margins: &[(f64, [f64; 3])]) -> Option<Vec<f64>> {
        if let Pointedness::Pointed { escape } = &self.pointedness {
            let missing = |j: usize| (weights[j] - margins[j].0).max(0.0) / self.margin(j, escape).0;
            let share = (0..weights.len()).filter(|&j| self.lengths[j] > 0.0).map(missing).fold(0.0, f64::max);
            return Some(v.iter().zip(escape).map(|(v, escape)| v + share * escape).collect());
        }
        let met = (0..weights.len()).filter(|&j| weights[j] > 0.0).map(|j| margins[j].0 / weights[j]);
        let least = met.fold(f64::INFINITY, f64::min);
        (least > 0.0).then(|| v.iter().map(|v| v / least).collect())
    }
}

/// The point of a friction set that is farthest in a direction; none without a direction.
fn point_towards(shape: &FrictionShape, direction: [f64; 3]) -> Option<[f64; 3]> {
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    (length > 0.0).then(|| shape.nearest(&direction.map(|x| FAR * x / length), 1.0))
}

/// Edges to begin with: the ends of a line, the corners of a polytope, some points of a round set.
fn first_edges(contact: &ContactCondition) -> Vec<[f64; 3]> {
    let axis = |k: usize, sign: f64| std::array::from_fn(|i| if i == k { sign } else { 0.0 });
    match &contact.friction_shape {
        _ if contact.mu == 0.0 || contact.tangents.is_empty() => vec![[0.0; 3]],
        // No friction is in the set, too, and need not be between its corners.
        FrictionShape::Polytope(polytope) => polytope.corners().iter().copied().chain([[0.0; 3]]).collect(),
        shape => (0..contact.tangents.len())
            .flat_map(|k| [1.0, -1.0].into_iter().filter_map(move |sign| point_towards(shape, axis(k, sign))))
            .collect(),
    }
}

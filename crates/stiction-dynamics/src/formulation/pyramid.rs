//! The friction pyramid: Coulomb's cone spanned by finitely many directions, as a linear complementarity problem.
//!
//! \[ST96\] (12), (17), (29) and, for friction without a normal row, (32). Per contact, `beta` are the weights of the directions $d_i$,
//! `slip` is the paper's $\lambda$:
//!
//! $$ \begin{aligned}
//! 0 \le \beta_i &\perp \lambda + d_i^T u + b_i \ge 0, \\\\
//! 0 \le c_n &\perp n^T u + b_n \ge 0, \\\\
//! 0 \le \lambda &\perp \mu c_n + a - \textstyle\sum_i \beta_i \ge 0.
//! \end{aligned} $$
//!
//! In the plane two directions describe Coulomb's law exactly. In space the regular $k$-gon is inscribed in the circle: friction
//! is never too large, and too small by at most the factor $\cos(\pi/k)$. A [`FrictionShape::Polytope`] is taken as it is, an ellipse has the corners of the
//! circle in units of its semi-axes, and torsion makes solids of them: rings of the same corners at 45 degrees above and below, and two poles, for the ellipsoid; the prism
//! over them where torsion has a bound of its own. Where there are joints they are eliminated first, from
//! the rows of the contacts, so that what is left has the structure of a [`ContactLcp`].

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stiction_solve::PortableMath as _;
use stiction_solve::{ContactLcp, FrictionGroup, Lcp, LcpSolution, Lemke, LemkeProblem, LemkeSettings};

use super::basis_memory::BasisMemory;
use super::rows::{Rows, check_tangents};
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings, StatedSet};
use crate::judge::{Judge, solved_limit};
use crate::setting::{Named, SettingError, Suffix};
use crate::{
    ContactError, ContactImpulse, ContactProblem, ContactSolution, FrictionShape, PhantomContact, Polytope,
    StatedProblem,
};

/// Number of friction directions in space when nothing else is said: the octagon of \[ST96\].
const DEFAULT_DIRECTIONS: usize = 8;

/// Directions closer to each other than this, relative to their length, are the same.
const SAME_DIRECTION: f64 = 1e-12;

/// Sine and cosine of the 45 degrees at which the rings of the solid for torsion stand.
const RING_SHARE: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Settings of the pyramid method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PyramidSettings {
    /// Friction directions of contacts in space; in the plane there are always two.
    pub directions: Directions,
    /// Start each solve from the basis of the last one. Faster; where forces are not unique, it stays with those of the last step.
    pub warm_start: bool,
    /// Settings of Lemke's method.
    pub lemke: LemkeSettings,
}

impl Default for PyramidSettings {
    fn default() -> Self {
        Self { directions: Directions::default(), warm_start: true, lemke: LemkeSettings::default() }
    }
}

/// Friction directions in the tangent plane: an even number of regular ones, or a list of pairs along the two tangents.
///
/// A list may describe anisotropic friction: a direction of length 0.5 halves the friction along it. With every direction
/// its opposite must be there, \[ST96\] (13), and together they must span the plane.
#[derive(Clone, Debug, PartialEq)]
pub enum Directions {
    /// The regular polygon with this even number of corners, at least four; the first corner lies on the first tangent.
    Regular(usize),
    /// These corners.
    Given(Vec<[f64; 2]>),
}

/// Most friction directions of a contact. The polygon is then within 5e-6 of the circle; more only take memory, and work that grows with their square.
pub const MOST_DIRECTIONS: usize = 1000;

impl Default for Directions {
    fn default() -> Self {
        Self::Regular(DEFAULT_DIRECTIONS)
    }
}

impl Directions {
    /// The corners, checked.
    ///
    /// # Errors
    /// [`ContactError::Directions`] with what is wrong.
    pub fn corners(&self) -> Result<Vec<[f64; 2]>, ContactError> {
        let refuse = |reason: String| Err(ContactError::Directions(reason));
        match self {
            &Self::Regular(count) if count < 4 || count % 2 == 1 => {
                refuse(format!("{count} is not usable; take an even number of at least 4"))
            }
            &Self::Regular(count) if count > MOST_DIRECTIONS => {
                refuse(format!("{count} is more than the limit of {MOST_DIRECTIONS}; the exact cone is `method.cone`"))
            }
            &Self::Regular(count) => Ok(regular_polygon(count)),
            Self::Given(corners) if corners.len() > MOST_DIRECTIONS => {
                refuse(format!("{} are more than the limit of {MOST_DIRECTIONS}", corners.len()))
            }
            Self::Given(corners) => {
                for (i, d) in corners.iter().enumerate() {
                    if !(d[0].is_finite() && d[1].is_finite()) || d[0].portable_hypot(d[1]) == 0.0 {
                        return refuse(format!(
                            "direction {i} is {d:?}; every direction needs a finite, positive length"
                        ));
                    }
                    let tolerance = SAME_DIRECTION * d[0].portable_hypot(d[1]);
                    if !corners.iter().any(|e| (e[0] + d[0]).portable_hypot(e[1] + d[1]) <= tolerance) {
                        let opposite = [-d[0], -d[1]];
                        return refuse(format!(
                            "direction {i} is {d:?}, but its opposite {opposite:?} is not in the list"
                        ));
                    }
                }
                let spans = corners.iter().any(|d| {
                    let first = corners[0];
                    let area = (first[0] * d[1] - first[1] * d[0]).abs();
                    area > SAME_DIRECTION * first[0].portable_hypot(first[1]) * d[0].portable_hypot(d[1])
                });
                if !spans {
                    return refuse(format!("{} directions do not span the tangent plane", corners.len()));
                }
                Ok(corners.clone())
            }
        }
    }
}

/// The corners $(\cos 2\pi i/k, \sin 2\pi i/k)$. Opposite corners are exact opposites, and the axes are exact.
fn regular_polygon(count: usize) -> Vec<[f64; 2]> {
    let half = count / 2;
    let mut corners: Vec<[f64; 2]> = (0..half)
        .map(|i| {
            if 2 * i == half {
                return [0.0, 1.0];
            }
            let (sine, cosine) = (std::f64::consts::TAU * i as f64 / count as f64).portable_sin_cos();
            [cosine, sine]
        })
        .collect();
    corners.extend_from_within(..);
    corners[half..].iter_mut().for_each(|corner| *corner = [-corner[0], -corner[1]]);
    corners
}

impl Serialize for Directions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Regular(count) => count.serialize(serializer),
            Self::Given(corners) => corners.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Directions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A visitor and not an untagged enum, which would lose the place of an error in the file.
        struct DirectionsVisitor;
        impl<'de> Visitor<'de> for DirectionsVisitor {
            type Value = Directions;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "an even number of directions, or a list of pairs such as [[1, 0], [-1, 0], [0, 1], [0, -1]]",
                )
            }
            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<Directions, E> {
                usize::try_from(count).map(Directions::Regular).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Directions, E> {
                usize::try_from(count)
                    .map(Directions::Regular)
                    .map_err(|_| E::custom(format!("{count} friction directions; take an even number of at least 4")))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Directions, A::Error> {
                let mut corners = Vec::new();
                while let Some(corner) = sequence.next_element::<[f64; 2]>()? {
                    corners.push(corner);
                }
                Ok(Directions::Given(corners))
            }
        }
        let directions = deserializer.deserialize_any(DirectionsVisitor)?;
        directions.corners().map_err(D::Error::custom)?;
        Ok(directions)
    }
}

impl JsonSchema for Directions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Directions".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An even number of regular friction directions, or a list of pairs along the two tangents",
            "oneOf": [
                { "type": "integer", "minimum": 4, "multipleOf": 2 },
                { "type": "array", "items": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 } }
            ]
        })
    }
}

/// An answer with a residual above this share of what counts as solved is worked out again, so many times at most, with a tolerance this much below what is missing.
const POLISH_ABOVE: f64 = 0.01;
const TIGHTENINGS: usize = 2;
const TIGHTER: f64 = 0.1;

impl MethodSettings for PyramidSettings {
    fn facts(&self) -> MethodFacts {
        MethodFacts {
            named: Named {
                name: "pyramid",
                summary: "Friction pyramid, solved by Lemke's method. [ST96]",
                suffixes: &[Suffix::Count { of: "friction directions", key: "directions" }],
            },
            sets: FrictionSets::Polytopes,
            is_exact: false,
        }
    }

    fn lemke(&self) -> Option<&LemkeSettings> {
        Some(&self.lemke)
    }

    fn check(&self, _: usize) -> Result<(), SettingError> {
        let remedy = "give an even number from 4 to 1000, or a list of pairs with their opposites";
        let unusable = |error: ContactError| SettingError::new("directions", error.to_string(), remedy);
        self.directions.corners().map(drop).map_err(unusable)
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(Pyramid::new(self.clone())?))
    }
}

impl Formulation for Pyramid {
    fn check_set(&self, what: &dyn Fn() -> String, set: StatedSet<'_>) -> Result<(), ContactError> {
        set.refuse_of_user(what, "the method `pyramid`")
    }

    fn friction_set(&self, tangent_count: usize, shape: &FrictionShape, _: PhantomContact) -> FrictionShape {
        self.set(tangent_count, shape).clone()
    }

    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve(problem, solution)
    }

    fn forget(&mut self) -> bool {
        self.forget()
    }

    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        Ok(StatedProblem::Lcp(self.clone().lcp(problem)?))
    }

    fn duplicate(&self) -> Box<dyn Formulation> {
        Box::new(self.clone())
    }
}

/// The two directions of a single tangent.
const LINE: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

/// The pyramid method with its workspace.
#[derive(Clone, Debug)]
pub struct Pyramid {
    settings: PyramidSettings,
    /// The two directions of a line, then the corners in space.
    directions: Vec<[f64; 2]>,
    /// The same as sets, made when someone asks: of the tangent plane, of the ellipsoid with torsion, of the prism.
    sets: [OnceLock<FrictionShape>; 3],
    lcp: ContactLcp,
    lemke: Lemke,
    answer: LcpSolution,
    /// Contacts (normal, tangents), friction elements.
    rows: Rows,
    /// Impulses by row.
    impulses: Vec<f64>,
    /// Which unknowns the next solve starts with.
    start: Vec<bool>,
    memory: BasisMemory,
    judge: Judge,
    /// An answer that was worked out again.
    tightened: ContactSolution,
}

impl Pyramid {
    /// The method with these settings.
    ///
    /// # Errors
    /// [`ContactError::Directions`] when the directions are not usable.
    pub fn new(settings: PyramidSettings) -> Result<Self, ContactError> {
        let mut directions = LINE.to_vec();
        directions.extend(settings.directions.corners()?);
        Ok(Self {
            settings,
            directions,
            sets: Default::default(),
            lcp: ContactLcp::default(),
            lemke: Lemke::default(),
            answer: LcpSolution::default(),
            rows: Rows::default(),
            impulses: Vec::new(),
            start: Vec::new(),
            memory: BasisMemory::default(),
            judge: Judge::default(),
            tightened: ContactSolution::default(),
        })
    }

    /// The friction directions of a contact with this many tangent rows.
    pub fn corners(&self, tangent_count: usize) -> &[[f64; 2]] {
        &self.directions[self.corner_range(tangent_count)]
    }

    /// The corners of a solid for three tangent rows, in units of the semi-axes.
    pub(crate) fn solid_corners(&self, shape: &FrictionShape) -> impl Iterator<Item = [f64; 3]> {
        let is_prism = *shape == FrictionShape::DiscAndInterval;
        let [radius, height] = if is_prism { [1.0; 2] } else { [RING_SHARE; 2] };
        let plane =
            move |height: f64, radius: f64| self.corners(2).iter().map(move |&[t, o]| [radius * t, radius * o, height]);
        let middle = (!is_prism).then(|| plane(0.0, 1.0)).into_iter().flatten();
        let poles = (!is_prism).then_some([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]).into_iter().flatten();
        middle.chain(plane(height, radius)).chain(plane(-height, radius)).chain(poles)
    }

    /// The set with which a shape is replaced, for this many tangent rows.
    pub(crate) fn set<'a>(&'a self, tangent_count: usize, shape: &'a FrictionShape) -> &'a FrictionShape {
        let place = match (tangent_count, shape) {
            (_, FrictionShape::Polytope(_) | FrictionShape::Convex(_)) | (0 | 1, _) => return shape,
            (2, _) => 0,
            (_, FrictionShape::Ball) => 1,
            (_, FrictionShape::DiscAndInterval) => 2,
        };
        self.sets[place].get_or_init(|| {
            let corners = match place {
                0 => self.corners(2).iter().map(|&[t, o]| [t, o, 0.0]).collect(),
                _ => self.solid_corners(shape).collect(),
            };
            FrictionShape::Polytope(Arc::new(Polytope::from_corners(corners).expect("the corners were checked")))
        })
    }

    /// Whether a polytope is the one with which this method replaces the circle.
    fn is_own(&self, polytope: &Arc<Polytope>) -> bool {
        matches!(self.sets[0].get(), Some(FrictionShape::Polytope(own)) if Arc::ptr_eq(own, polytope))
    }

    /// Appends the directions of a friction set over this many tangent rows that are not those of all others; none where they are.
    fn own_directions(
        &self,
        count: usize,
        (axes, shape): ([f64; 3], &FrictionShape),
        out: &mut Vec<[f64; 3]>,
    ) -> Option<Range<usize>> {
        let first = out.len();
        let scaled = |d: [f64; 3]| std::array::from_fn(|k| axes[k] * d[k]);
        match shape {
            FrictionShape::Polytope(polytope) if self.is_own(polytope) && axes == [1.0; 3] => return None,
            FrictionShape::Polytope(polytope) => out.extend(polytope.corners().iter().map(|&d| scaled(d))),
            shape if count == 3 => out.extend(self.solid_corners(shape).map(scaled)),
            _ if axes == [1.0; 3] => return None,
            _ => out.extend(self.corners(count).iter().map(|&[t, o]| scaled([t, o, 0.0]))),
        }
        Some(first..out.len())
    }

    fn corner_range(&self, tangent_count: usize) -> Range<usize> {
        match tangent_count {
            0 => 0..0,
            1 => 0..LINE.len(),
            _ => LINE.len()..self.directions.len(),
        }
    }

    /// The LCP that stands for a contact problem whose inertia is factored, joints eliminated: to be saved and solved elsewhere. Its
    /// unknowns stand in the paper's order.
    ///
    /// # Errors
    /// [`ContactError`] as for [`solve`](Self::solve).
    pub fn lcp(&mut self, problem: &ContactProblem) -> Result<Lcp, ContactError> {
        self.state(problem)?;
        Ok(self.lcp.to_lcp()?.permuted(&self.lcp.order_of_the_paper()))
    }

    /// The same problem in the shape in which it is solved.
    ///
    /// # Errors
    /// [`ContactError`] as for [`solve`](Self::solve).
    pub fn contact_lcp(&mut self, problem: &ContactProblem) -> Result<ContactLcp, ContactError> {
        self.state(problem)?;
        Ok(self.lcp.clone())
    }

    /// States the complementarity problem.
    fn state(&mut self, problem: &ContactProblem) -> Result<(), ContactError> {
        let mut data = self.lcp.take_data();
        data.clear();
        data.directions.extend(self.directions.iter().map(|&[t, o]| [t, o, 0.0]));

        self.rows.begin();
        for contact in &problem.contacts {
            let normal = self.rows.count();
            self.rows.push(&contact.normal, contact.normal_bias);
            let mut group = FrictionGroup { normal: Some(normal), tangent: normal + 1, ..Default::default() };
            if contact.mu > 0.0 || contact.extra_bound > 0.0 {
                // The third row is the torsion, for which there are solids.
                if contact.tangents.len() != 3 {
                    check_tangents(&contact.tangents, || format!("contact {:?}", contact.id))?;
                }
                self.rows.push_all(&contact.tangents, &contact.tangent_bias);
                group.tangent_count = contact.tangents.len();
                let set = (contact.friction_axes, &contact.friction_shape);
                let own = self.own_directions(group.tangent_count, set, &mut data.directions);
                group.directions = own.unwrap_or_else(|| self.corner_range(group.tangent_count));
                (group.mu, group.bound) = (contact.mu, contact.extra_bound);
            }
            data.groups.push(group);
        }
        for element in &problem.friction {
            let tangent_count = element.tangents.len();
            if tangent_count != 3 {
                check_tangents(&element.tangents, || format!("friction element {}", element.id))?;
            }
            let tangent = self.rows.count();
            self.rows.push_all(&element.tangents, &element.tangent_bias);
            let set = ([1.0; 3], &element.friction_shape);
            let own = self.own_directions(tangent_count, set, &mut data.directions);
            let directions = own.unwrap_or_else(|| self.corner_range(tangent_count));
            data.groups.push(FrictionGroup {
                normal: None,
                tangent,
                tangent_count,
                directions,
                mu: 0.0,
                bound: element.bound,
            });
        }

        self.rows.condense(problem, &mut data.delassus, &mut data.free_rates)?;
        self.lcp.state(data)?;
        Ok(())
    }

    /// Forgets the last basis: the next problem is solved without a start. Whether there was one.
    pub(crate) fn forget(&mut self) -> bool {
        let was_warm = !self.memory.is_empty();
        self.memory.clear();
        was_warm
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a contact has more tangent rows than the pyramid can treat, or a number is not finite.
    /// A problem that was not solved is not an error but a status of the report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.state(problem)?;
        self.start.clear();
        let places = |lcp: &ContactLcp, group: usize| [lcp.unknowns_of(group), 0..0, 0..0];
        if self.settings.warm_start {
            let count = self.lcp.unknown_count();
            self.memory.recall(problem, count, |group| places(&self.lcp, group), &mut self.start);
        }
        let limit = solved_limit(problem.contacts.len()).min(self.settings.lemke.residual_tolerance);
        self.lemke.solve_or_enumerate(&self.lcp, &self.settings.lemke, &self.start, &mut self.answer);
        self.complete(problem, limit, solution);
        // Solved by the measure of the LCP and not well by the judge's: its basis is worked out more exactly.
        for _ in 0..TIGHTENINGS {
            let residual = solution.report.residual;
            if residual <= POLISH_ABOVE * limit || !self.answer.report.is_solved() || !residual.is_finite() {
                break;
            }
            let exact = LemkeSettings {
                residual_tolerance: TIGHTER
                    * self.answer.report.residual.min(self.settings.lemke.residual_tolerance)
                    * POLISH_ABOVE
                    * limit
                    / residual,
                ..self.settings.lemke.clone()
            };
            self.start.clear();
            self.start.extend_from_slice(self.lemke.basis());
            self.lemke.solve(&self.lcp, &exact, &self.start, &mut self.answer);
            let mut tightened = std::mem::take(&mut self.tightened);
            self.complete(problem, limit, &mut tightened);
            let is_better = tightened.report.residual < residual;
            if is_better {
                std::mem::swap(solution, &mut tightened);
            }
            self.tightened = tightened;
            if !is_better {
                break;
            }
        }
        self.memory.clear();
        if self.settings.warm_start && solution.report.is_solved() {
            self.memory.store(problem, self.lemke.basis(), |group| places(&self.lcp, group));
        }
        Ok(())
    }

    /// From the answer of the LCP to a complete solution, judged.
    fn complete(&mut self, problem: &ContactProblem, limit: f64, solution: &mut ContactSolution) {
        solution.report = self.answer.report.clone();
        // Back to impulses by row, and to the motion u = u_c + P c.
        self.impulses.clear();
        self.impulses.resize(self.rows.count(), 0.0);
        self.lcp.impulses(&self.answer.z, &mut self.impulses);
        self.rows.recover(&self.impulses, solution);
        let own_impulses = &self.impulses;
        let tangent_impulse = |group: &FrictionGroup| {
            let mut tangent = [0.0; 3];
            let own = &own_impulses[group.tangent..group.tangent + group.tangent_count];
            tangent[..group.tangent_count].copy_from_slice(own);
            tangent
        };
        let (contacts, elements) = self.lcp.data().groups.split_at(problem.contacts.len());
        solution.contacts.clear();
        solution.contacts.extend(problem.contacts.iter().zip(contacts).map(|(contact, group)| ContactImpulse {
            id: contact.id,
            normal: group.normal.map_or(0.0, |row| own_impulses[row]),
            tangent: tangent_impulse(group),
        }));
        solution.friction.clear();
        solution.friction.extend(elements.iter().map(tangent_impulse));
        let mut judge = std::mem::take(&mut self.judge);
        judge.pronounce(problem, None, &|count, shape| self.set(count, shape), limit, solution);
        self.judge = judge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactCondition, ContactId, FrictionCondition, JointCondition, Row};

    fn pyramid(directions: Directions) -> Pyramid {
        Pyramid::new(PyramidSettings { directions, ..Default::default() }).unwrap()
    }

    /// A particle of 2 kg on the floor z ≥ 0 with μ = 0.5.
    fn particle(free_motion: [f64; 3]) -> ContactProblem {
        let mut problem = ContactProblem { free_motion: free_motion.to_vec(), ..Default::default() };
        problem.inertia.set_diagonal(&[2.0; 3]);
        problem.inertia.factor().unwrap();
        problem.contacts.push(ContactCondition {
            id: ContactId::number(0),
            normal: Row::from_dense(&[0.0, 0.0, 1.0]),
            tangents: [Row::from_dense(&[1.0, 0.0, 0.0]), Row::from_dense(&[0.0, 1.0, 0.0])].into_iter().collect(),
            mu: 0.5,
            ..Default::default()
        });
        problem
    }

    fn solve(problem: &ContactProblem, method: &mut Pyramid) -> ContactSolution {
        problem.check().unwrap();
        let mut solution = ContactSolution::default();
        method.solve(problem, &mut solution).unwrap();
        assert!(solution.report.is_solved(), "{:?}", solution.report);
        solution
    }

    #[test]
    fn a_particle_sticks_slides_and_flies() {
        let mut method = pyramid(Directions::Regular(8));
        // Falls with 3 m/s and drifts with 1 m/s: normal impulse 6, friction needs 2 ≤ 0.5 · 6. It sticks.
        let stick = solve(&particle([1.0, 0.0, -3.0]), &mut method);
        assert!(stick.motion.iter().all(|u| u.abs() < 1e-15));
        assert!((stick.contacts[0].normal - 6.0).abs() < 1e-15 && (stick.contacts[0].tangent[0] + 2.0).abs() < 1e-15);
        // With 4 m/s along a direction it slides on with 4 - 3/2.
        let slide = solve(&particle([4.0, 0.0, -3.0]), &mut method);
        assert!((slide.motion[0] - 2.5).abs() < 1e-15 && slide.motion[1].abs() < 1e-15);
        // Upwards it flies.
        let fly = solve(&particle([4.0, 0.0, 0.1]), &mut method);
        assert_eq!(fly.motion, [4.0, 0.0, 0.1]);
        assert_eq!(fly.contacts[0].normal, 0.0);
    }

    #[test]
    fn between_two_directions_the_friction_is_smaller_by_the_cosine() {
        // Sticking limit along the bisector of two corners of the octagon: μ cos(π/8).
        let angle = std::f64::consts::PI / 8.0;
        let push = |share: f64| {
            let speed = share * 0.5 * angle.cos() * 3.0;
            particle([speed * angle.cos(), speed * angle.sin(), -3.0])
        };
        let mut method = pyramid(Directions::Regular(8));
        let slip = |solution: ContactSolution| solution.motion[0].hypot(solution.motion[1]);
        assert!(slip(solve(&push(0.999), &mut method)) < 1e-14);
        assert!(slip(solve(&push(1.001), &mut method)) > 1e-4);
    }

    #[test]
    fn given_directions_can_be_anisotropic() {
        // Friction along y is half of that along x: pushed along y with 2 m/s the particle keeps 2 - 0.25 · 3.
        let directions = Directions::Given(vec![[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]]);
        let solution = solve(&particle([0.0, 2.0, -3.0]), &mut pyramid(directions));
        assert!((solution.motion[1] - 1.25).abs() < 1e-15, "{:?}", solution.motion);
    }

    #[test]
    fn unusable_directions_are_refused_with_a_reason() {
        for (directions, reason) in [
            (Directions::Regular(5), "5 is not usable"),
            (Directions::Regular(2), "2 is not usable"),
            (
                Directions::Given(vec![[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]),
                "its opposite [-1.0, -0.0] is not in the list",
            ),
            (Directions::Given(vec![[1.0, 0.0], [-1.0, 0.0]]), "do not span"),
            (Directions::Given(vec![[f64::NAN, 0.0]]), "finite, positive length"),
        ] {
            let error = directions.corners().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn regular_corners_are_exact_opposites_of_unit_length() {
        for count in [4, 6, 8, 32] {
            let corners = regular_polygon(count);
            assert_eq!(corners.len(), count);
            for i in 0..count / 2 {
                assert_eq!(corners[i + count / 2], [-corners[i][0], -corners[i][1]]);
                assert!((corners[i][0].hypot(corners[i][1]) - 1.0).abs() < 1e-15);
            }
            assert_eq!(corners[0], [1.0, 0.0]);
        }
    }

    #[test]
    fn friction_without_a_normal_row_is_bounded_by_its_constant() {
        // [ST96] (32): 3 kg with 2 m/s, bound 4.5 N s: 0.5 m/s remain. With 1 m/s it stops and 3 N s are used.
        let mut method = pyramid(Directions::default());
        for (speed, left, impulse) in [(2.0, 0.5, -4.5), (1.0, 0.0, -3.0), (-2.0, -0.5, 4.5)] {
            let mut problem = ContactProblem { free_motion: vec![speed], ..Default::default() };
            problem.inertia.set_diagonal(&[3.0]);
            problem.inertia.factor().unwrap();
            problem.friction.push(FrictionCondition {
                tangents: [Row::from_dense(&[1.0])].into_iter().collect(),
                bound: 4.5,
                ..Default::default()
            });
            let solution = solve(&problem, &mut method);
            assert!((solution.motion[0] - left).abs() < 1e-15);
            assert!((solution.friction[0][0] - impulse).abs() < 1e-14);
        }
    }

    #[test]
    fn joints_hold_while_the_contact_acts() {
        // Two particles of 1 kg in a line, rigidly linked (u1 = u2), the first runs into a wall u1 ≥ 0 with -2 m/s:
        // the wall must take the momentum of both, 4 N s, and the link carries half of it.
        let mut problem = ContactProblem { free_motion: vec![-2.0, -2.0], ..Default::default() };
        problem.inertia.set_diagonal(&[1.0, 1.0]);
        problem.inertia.factor().unwrap();
        problem.joints.push(JointCondition { row: Row::from_dense(&[1.0, -1.0]), bias: 0.0, rounding: 0.0 });
        problem.contacts.push(ContactCondition { normal: Row::from_dense(&[1.0, 0.0]), ..Default::default() });
        let solution = solve(&problem, &mut pyramid(Directions::default()));
        assert!(solution.motion.iter().all(|u| u.abs() < 1e-15));
        assert!((solution.contacts[0].normal - 4.0).abs() < 1e-14);
        assert!((solution.joints[0] + 2.0).abs() < 1e-14);
    }

    #[test]
    fn an_unsymmetric_inertia_is_treated() {
        // W = [[2, 1], [0, 2]], u_free = (1, -1), floor u2 ≥ 0: W (u - u_free) = (0, c) gives u2 = 0, u1 = 1 - (1)(1)/2.
        let mut problem = ContactProblem { free_motion: vec![1.0, -1.0], ..Default::default() };
        problem.inertia.set_entries(2, [(0, 0, 2.0), (0, 1, 1.0), (1, 1, 2.0)]);
        problem.inertia.factor().unwrap();
        problem.contacts.push(ContactCondition { normal: Row::from_dense(&[0.0, 1.0]), ..Default::default() });
        let solution = solve(&problem, &mut pyramid(Directions::default()));
        assert!((solution.motion[0] - 0.5).abs() < 1e-15 && solution.motion[1].abs() < 1e-15);
        assert!((solution.contacts[0].normal - 2.0).abs() < 1e-15);
    }

    #[test]
    fn a_malformed_problem_names_the_contact() {
        let mut problem = particle([0.0; 3]);
        problem.contacts[0].mu = -0.2;
        assert!(problem.check().unwrap_err().to_string().contains("friction coefficient is -0.2"));
        let mut problem = particle([0.0; 3]);
        problem.contacts[0].normal.push(7, 1.0);
        assert!(problem.check().unwrap_err().to_string().contains("velocity coordinate 7, but there are only 3"));
    }
}

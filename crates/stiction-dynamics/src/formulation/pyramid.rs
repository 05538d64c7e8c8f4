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
//! is never too large, and too small by at most the factor $\cos(\pi/k)$. The unknowns stand in the paper's order: all
//! $\beta$, then all $c_n$, then all $\lambda$.

use faer::Mat;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stiction_solve::{Lcp, LemkeSettings, LemkeTableau, MixedLcp};

use crate::contact::Tangents;
use crate::{ContactError, ContactImpulse, ContactProblem, ContactSolution, Row};

/// Number of friction directions in space when nothing else is said: the octagon of \[ST96\].
const DEFAULT_DIRECTIONS: usize = 8;

/// Directions closer to each other than this, relative to their length, are the same.
const SAME_DIRECTION: f64 = 1e-12;

/// Settings of the pyramid method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PyramidSettings {
    /// Friction directions of contacts in space; in the plane there are always two.
    pub directions: Directions,
    /// Settings of Lemke's method.
    pub lemke: LemkeSettings,
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
            &Self::Regular(count) => Ok(regular_polygon(count)),
            Self::Given(corners) => {
                for (i, d) in corners.iter().enumerate() {
                    if !(d[0].is_finite() && d[1].is_finite()) || d[0].hypot(d[1]) == 0.0 {
                        return refuse(format!(
                            "direction {i} is {d:?}; every direction needs a finite, positive length"
                        ));
                    }
                    let tolerance = SAME_DIRECTION * d[0].hypot(d[1]);
                    if !corners.iter().any(|e| (e[0] + d[0]).hypot(e[1] + d[1]) <= tolerance) {
                        let opposite = [-d[0], -d[1]];
                        return refuse(format!(
                            "direction {i} is {d:?}, but its opposite {opposite:?} is not in the list"
                        ));
                    }
                }
                let spans = corners.iter().any(|d| {
                    let first = corners[0];
                    let area = (first[0] * d[1] - first[1] * d[0]).abs();
                    area > SAME_DIRECTION * first[0].hypot(first[1]) * d[0].hypot(d[1])
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
            let (sine, cosine) = (std::f64::consts::TAU * i as f64 / count as f64).sin_cos();
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

/// The pyramid method with its workspace.
#[derive(Clone, Debug)]
pub struct Pyramid {
    settings: PyramidSettings,
    /// Corners in space.
    space: Vec<[f64; 2]>,
    tableau: LemkeTableau,
    /// $W^{-1} J^T$, row by row in the order joints, contacts (normal, tangents), friction elements.
    solved_rows: Vec<Row>,
    /// One solved row as a dense vector.
    dense: Vec<f64>,
}

/// The two directions of a single tangent.
const LINE: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

/// An impulse unknown of the LCP, as a combination of at most two rows of the contact problem.
#[derive(Clone, Copy)]
struct Column {
    rows: [usize; 2],
    factors: [f64; 2],
}

impl Pyramid {
    /// The method with these settings.
    ///
    /// # Errors
    /// [`ContactError::Directions`] when the directions are not usable.
    pub fn new(settings: PyramidSettings) -> Result<Self, ContactError> {
        let space = settings.directions.corners()?;
        Ok(Self { settings, space, tableau: LemkeTableau::default(), solved_rows: Vec::new(), dense: Vec::new() })
    }

    /// The friction directions of a contact with this many tangent rows.
    pub fn corners(&self, tangent_count: usize) -> &[[f64; 2]] {
        match tangent_count {
            0 => &[],
            1 => &LINE,
            _ => &self.space,
        }
    }

    /// The LCP that stands for a contact problem whose inertia is factored, joints eliminated: to be saved and solved elsewhere.
    ///
    /// # Errors
    /// [`ContactError`] as for [`solve`](Self::solve).
    pub fn lcp(&mut self, problem: &ContactProblem) -> Result<Lcp, ContactError> {
        match self.state(problem)?.form {
            Form::Pure(lcp) => Ok(lcp),
            Form::Mixed(mixed) => Ok(mixed.eliminate()?.0),
        }
    }

    /// States the complementarity problem, and leaves $W^{-1} J^T$ in the workspace.
    fn state(&mut self, problem: &ContactProblem) -> Result<Statement, ContactError> {
        let joint_count = problem.joints.len();

        // The rows of the problem one after another, and the rates that they have in free motion.
        let mut rows: Vec<&Row> = Vec::new();
        let mut free_rates: Vec<f64> = Vec::new();
        let mut push = |row, bias| {
            rows.push(row);
            free_rates.push(Row::dot(row, &problem.free_motion) + bias);
        };
        for joint in &problem.joints {
            push(&joint.row, joint.bias);
        }
        let mut weights: Vec<Column> = Vec::new(); // columns of β
        let mut normals: Vec<Column> = Vec::new(); // columns of c_n
        let mut bounds: Vec<Bound> = Vec::new(); // rows of λ
        let mut row_count = joint_count;
        for (i, contact) in problem.contacts.iter().enumerate() {
            let normal = row_count;
            push(&contact.normal, contact.normal_bias);
            normals.push(Column { rows: [normal; 2], factors: [1.0, 0.0] });
            row_count += 1;
            if contact.mu > 0.0 || contact.extra_bound > 0.0 {
                check_tangents(&contact.tangents, || format!("contact {:?}", contact.id))?;
                for (a, tangent) in contact.tangents.iter().enumerate() {
                    push(tangent, contact.tangent_bias[a]);
                }
                let first = weights.len();
                let corners = if contact.tangents.len() == 1 { &LINE[..] } else { &self.space };
                push_weights(&mut weights, row_count, contact.tangents.len(), corners);
                bounds.push(Bound {
                    weights: first..weights.len(),
                    normal: Some((i, contact.mu)),
                    constant: contact.extra_bound,
                });
                row_count += contact.tangents.len();
            }
        }
        for element in &problem.friction {
            check_tangents(&element.tangents, || format!("friction element {}", element.id))?;
            for (a, tangent) in element.tangents.iter().enumerate() {
                push(tangent, element.tangent_bias[a]);
            }
            let first = weights.len();
            let corners = if element.tangents.len() == 1 { &LINE[..] } else { &self.space };
            push_weights(&mut weights, row_count, element.tangents.len(), corners);
            bounds.push(Bound { weights: first..weights.len(), normal: None, constant: element.bound });
            row_count += element.tangents.len();
        }

        // The Delassus matrix G = J W⁻¹ Jᵀ over all rows.
        let size = rows.len();
        self.solved_rows.resize_with(size.max(self.solved_rows.len()), Row::new);
        for (row, solved) in rows.iter().zip(&mut self.solved_rows) {
            problem.inertia.solve_row(row, solved);
        }
        self.dense.clear();
        self.dense.resize(problem.free_motion.len(), 0.0);
        let mut delassus = Mat::<f64>::zeros(size, size);
        for j in 0..size {
            self.solved_rows[j].add_to(1.0, &mut self.dense);
            delassus.col_as_slice_mut(j).iter_mut().zip(&rows).for_each(|(entry, row)| *entry = row.dot(&self.dense));
            self.solved_rows[j].entries().iter().for_each(|&(index, _)| self.dense[index] = 0.0);
        }

        // [ST96] (29), and (32) for the friction elements: unknowns β, c_n, λ.
        let impulse_count = weights.len() + normals.len();
        let unknown_count = impulse_count + bounds.len();
        let column =
            |unknown: usize| if unknown < weights.len() { weights[unknown] } else { normals[unknown - weights.len()] };
        let mut matrix = Mat::<f64>::zeros(unknown_count, unknown_count);
        let mut offset = vec![0.0; unknown_count];
        let mut rates = vec![0.0; size];
        for j in 0..impulse_count {
            // The rates that a unit of this impulse gives to all rows, then to all unknowns.
            let Column { rows: [first, second], factors } = column(j);
            let (one, two) = (delassus.col_as_slice(first), delassus.col_as_slice(second));
            for row in 0..size {
                rates[row] = factors[0] * one[row] + factors[1] * two[row];
            }
            let target = matrix.col_as_slice_mut(j);
            let columns = weights.iter().chain(&normals);
            target.iter_mut().zip(columns).for_each(|(entry, column)| *entry = column.combine(|row| rates[row]));
            offset[j] = column(j).combine(|row| free_rates[row]);
        }
        for (b, bound) in bounds.iter().enumerate() {
            let unknown = impulse_count + b;
            for weight in bound.weights.clone() {
                matrix[(weight, unknown)] = 1.0;
                matrix[(unknown, weight)] = -1.0;
            }
            if let Some((contact, mu)) = bound.normal {
                matrix[(unknown, weights.len() + contact)] = mu;
            }
            offset[unknown] = bound.constant;
        }

        let form = if joint_count == 0 {
            Form::Pure(Lcp::new(matrix, offset)?)
        } else {
            Form::Mixed(MixedLcp::new(
                delassus.submatrix(0, 0, joint_count, joint_count).to_owned(),
                Mat::from_fn(joint_count, unknown_count, |i, j| {
                    if j < impulse_count { column(j).combine(|row| delassus[(i, row)]) } else { 0.0 }
                }),
                Mat::from_fn(unknown_count, joint_count, |i, j| {
                    if i < impulse_count { column(i).combine(|row| delassus[(row, j)]) } else { 0.0 }
                }),
                matrix,
                free_rates[..joint_count].to_vec(),
                offset,
            )?)
        };
        let weight_count = weights.len();
        weights.extend(normals);
        Ok(Statement { form, columns: weights, weight_count, row_count: size })
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a contact has more tangent rows than the pyramid can treat, or the joints are redundant.
    /// A problem that was not solved is not an error but a status of the report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        let Statement { form, columns, weight_count, row_count } = self.state(problem)?;
        let z = match form {
            Form::Pure(lcp) => {
                let answer = self.tableau.solve(&lcp, &self.settings.lemke);
                solution.joints.clear();
                solution.report = answer.report;
                answer.z
            }
            Form::Mixed(mixed) => {
                let answer = mixed.solve(&mut self.tableau, &self.settings.lemke)?;
                solution.joints.clone_from(&answer.free);
                solution.report = answer.report;
                answer.z
            }
        };

        // Back to impulses by row, and to the motion u = u_free + W⁻¹ Jᵀ c.
        let joint_count = problem.joints.len();
        let mut impulses = vec![0.0; row_count];
        impulses[..joint_count].copy_from_slice(&solution.joints);
        for (column, &value) in columns.iter().zip(&z) {
            impulses[column.rows[0]] += column.factors[0] * value;
            impulses[column.rows[1]] += column.factors[1] * value;
        }
        solution.motion.clear();
        solution.motion.extend_from_slice(&problem.free_motion);
        for (solved, &impulse) in self.solved_rows.iter().zip(&impulses) {
            if impulse != 0.0 {
                solved.add_to(impulse, &mut solution.motion);
            }
        }
        let mut row = joint_count;
        let take_tangents = |row: &mut usize, count: usize| {
            let mut tangent = [0.0; 3];
            tangent[..count].copy_from_slice(&impulses[*row..*row + count]);
            *row += count;
            tangent
        };
        solution.contacts.clear();
        for (i, contact) in problem.contacts.iter().enumerate() {
            row += 1;
            let has_friction = contact.mu > 0.0 || contact.extra_bound > 0.0;
            let tangent = take_tangents(&mut row, if has_friction { contact.tangents.len() } else { 0 });
            solution.contacts.push(ContactImpulse { id: contact.id, normal: z[weight_count + i], tangent });
        }
        solution.friction.clear();
        for element in &problem.friction {
            solution.friction.push(take_tangents(&mut row, element.tangents.len()));
        }
        Ok(())
    }
}

/// The complementarity problem of a contact problem, and how its unknowns become impulses.
struct Statement {
    form: Form,
    /// The impulse unknowns: all $\beta$, then all $c_n$.
    columns: Vec<Column>,
    weight_count: usize,
    /// Rows of joints, contacts and friction elements.
    row_count: usize,
}

/// Without joints, or with them.
enum Form {
    Pure(Lcp),
    Mixed(MixedLcp),
}

/// A row of $\lambda$: $\mu c_n + a - \sum \beta \ge 0$.
struct Bound {
    weights: std::ops::Range<usize>,
    /// Contact number and $\mu$; none for friction without a normal row.
    normal: Option<(usize, f64)>,
    constant: f64,
}

impl Column {
    /// The combination of values that belong to rows.
    fn combine(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.factors[0] * value(self.rows[0]) + self.factors[1] * value(self.rows[1])
    }
}

fn check_tangents(tangents: &Tangents, what: impl Fn() -> String) -> Result<(), ContactError> {
    match tangents.len() {
        1 | 2 => Ok(()),
        found => Err(ContactError::TangentCount { what: what(), found }),
    }
}

fn push_weights(weights: &mut Vec<Column>, first_row: usize, tangent_count: usize, corners: &[[f64; 2]]) {
    let second_row = first_row + tangent_count - 1;
    weights.extend(corners.iter().map(|&factors| Column { rows: [first_row, second_row], factors }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactCondition, ContactId, FrictionCondition, JointCondition};

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
        problem.joints.push(JointCondition { row: Row::from_dense(&[1.0, -1.0]), bias: 0.0 });
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
        problem.inertia.set_dense(faer::mat![[2.0, 1.0], [0.0, 2.0]]);
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

//! Theorem 1 of \[TTP01\] made practical: when an instant has a motion, when it has one only, and
//! up to which friction.
//!
//! With $J$ for the rows of the contacts, $A = J M^{-1} J^T$ and $b = J M^{-1} f + \dot J v$, the
//! theorem says of the problem of an [`Instant`]:
//!
//! - (A) If $A$ is positive definite, there is a $\bar\mu > 0$ such that a solution exists,
//!   whatever $b$, while no *sliding* contact has more friction. If the *resting* ones have no more
//!   either, it is the only one.
//! - (B) If all contacts rest, a solution exists whatever the friction, if $b \cdot c \ge 0$ for
//!   all forces $c$ within the friction cones that move nothing, $J^T c = 0$.
//!
//! The paper leaves $\bar\mu$ to estimates that it calls very conservative. Here it is computed.
//! Let $\tilde A(\mu)$ map the forces $c = (c_n, c_t \text{ at rest})$ to accelerations, with the
//! friction $-\mu_i s_i c_{in}$ of the sliding contacts in its columns.
//!
//! *A motion exists* while $c^T \tilde A c > 0$ for all $c \ne 0$ with $c_n \ge 0$: then the LCP of
//! any friction polygon is copositive, and its rays have no forces. The form is affine in $\mu$, so
//! the box $[0, \bar\mu]$ of all coefficients is inside if its corners are. The tangential forces
//! are eliminated (their minimum is a Schur complement), and what is left is a test of strict
//! copositivity by principal submatrices.
//!
//! *It is the only one* where all contacts slide, if and only if $\tilde A$ is a P-matrix
//! \[CPS92, Theorem 3.3.7\]; its minors are affine in each $\mu_i$, so corners decide again. With
//! contacts at rest, two solutions that differ by $\Delta$ have
//! $\Delta^T \tilde A \Delta \le \sum \mu_i |\Delta_{in}| |(\tilde A \Delta)_{it}|$: write maximum
//! dissipation for both, with the force of the other scaled into the own cone. So there are no two
//! while
//!
//! $$ \tilde A - \sum_{\text{at rest}} \mu_i\, e_{in} w_i^T \tilde A_{it} \quad \text{is positive definite for all unit vectors } w_i. $$
//!
//! **Torsion.** With rows in units of the semi-axes the ellipsoid of the paper is a ball over three
//! tangents, and nothing changes but that $w_i$ are unit vectors in space. Those of a polyhedron
//! around the ball stand for them, which makes the second bound too small by up to 7 %.
//!
//! How tight that is: with one sliding contact both bounds are the threshold of Painlevé's paradox
//! itself. Where all contacts slide, the second bound is exact: beyond it there are forces with no
//! motion or with several. The first one is not, because a matrix need not be copositive for all
//! its LCPs to have solutions; and with contacts at rest the second one is an estimate from below:
//! for a rod on one end that rests it is 96 % of the threshold at 46° from the ground, 54 % at 11°
//! and 21 % at 86°. [`Instant::motions`] counts what really happens.

use std::sync::OnceLock;

use faer::{Mat, Side};
use stiction_solve::PortableMath as _;
use stiction_solve::{Lcp, LemkeSettings, SolveStatus};

use crate::{ContactError, Instant, Polytope, Row};

/// $A$ counts as definite when its smallest eigenvalue is larger than this, with its diagonal
/// scaled to one.
const DEFINITE: f64 = 1e-10;

/// Corners of the polygon around the unit circle that stands for the vectors $w$: the bound is too
/// small by $1 - \cos(\pi / 32)$, half a percent.
const CIRCLE_CORNERS: usize = 32;

/// Corners of the box of coefficients up to which all are tried; and contacts up to which all
/// principal submatrices are.
const CORNER_LIMIT: usize = 1 << 12;
const CONTACT_LIMIT: usize = 10;

/// A bound beyond this is none.
const NO_BOUND: f64 = 1e6;

/// Halvings by which a bound is found, in a ratio of two.
const HALVINGS: usize = 45;

/// What Theorem 1 of \[TTP01\] says of an instant; see the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Existence {
    /// Smallest eigenvalue of $A$ over the rows that matter (normals, and tangents of contacts at
    /// rest), with its diagonal scaled to one.
    pub definiteness: f64,
    /// Condition (A): whether $A$ is positive definite.
    pub is_definite: bool,
    /// Condition (B).
    pub rest: RestCondition,
    /// Whatever the forces, a motion exists while no sliding contact has more friction than this;
    /// infinite where no friction is too much, and none where $A$ is not definite or there are too
    /// many contacts to say.
    pub existence_bound: Option<f64>,
    /// And it is the only one while no contact at all has more friction than this.
    pub uniqueness_bound: Option<f64>,
    /// Whether the theorem proves, for the coefficients of the instant, that a motion exists.
    pub is_proved: bool,
    /// And that it is the only one.
    pub is_proved_unique: bool,
}

/// Condition (B) of the theorem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestCondition {
    /// A contact slides, so that it says nothing.
    Slides,
    /// No force that moves nothing works against the motion: there is a solution.
    Holds,
    /// One does. In space it may be one between the circle and the polygon around it that was
    /// looked at.
    Fails,
    /// Rounding did not allow to tell.
    Undecided,
}

impl Instant {
    /// Evaluates the conditions of Theorem 1 of \[TTP01\] and computes its bounds on friction; see
    /// [`existence`](crate::existence).
    ///
    /// # Errors
    /// [`ContactError`] when the instant is malformed.
    pub fn existence(&self) -> Result<Existence, ContactError> {
        let form = Form::new(self)?;
        let definiteness = form.definiteness();
        let is_definite = definiteness > DEFINITE;
        let bounds = if is_definite { [form.existence_bound(), form.uniqueness_bound()] } else { [None; 2] };
        let rest = form.rest_condition(self);
        let largest = |is_sliding_only: bool| {
            let counts = self.contacts.iter().filter(|contact| !is_sliding_only || contact.sliding.is_some());
            counts.map(|contact| contact.mu).fold(0.0, f64::max)
        };
        let is_below = |mu: f64, bound: Option<f64>| bound.is_some_and(|bound| mu < bound);
        let is_proved_unique = is_below(largest(false), bounds[1]);
        Ok(Existence {
            definiteness,
            is_definite,
            rest,
            existence_bound: bounds[0],
            uniqueness_bound: bounds[1],
            is_proved: is_proved_unique || rest == RestCondition::Holds || is_below(largest(true), bounds[0]),
            is_proved_unique,
        })
    }
}

/// The quadratic form of an instant, over the normal forces first and the tangential ones of
/// contacts at rest after them.
struct Form {
    contact_count: usize,
    /// $A$ over these forces.
    matrix: Mat<f64>,
    /// For each contact: what its friction adds to its column for each unit of $\mu$, where it
    /// slides.
    friction_columns: Vec<Option<Vec<f64>>>,
    /// For each contact: where its tangential forces stand, where it rests with friction.
    tangents: Vec<std::ops::Range<usize>>,
    /// $\dot J v$ of these rows.
    bias: Vec<f64>,
    /// Units of the forces, in which the diagonal of the matrix is one: signs of forms and minors
    /// do not depend on them.
    scales: Vec<f64>,
}

impl Form {
    fn new(instant: &Instant) -> Result<Self, ContactError> {
        let (problem, _) = instant.problem()?;
        let mut rows: Vec<Row> = instant.contacts.iter().map(|contact| contact.normal.clone()).collect();
        let mut bias: Vec<f64> = instant.contacts.iter().map(|contact| contact.normal_bias).collect();
        let mut tangents = Vec::new();
        for contact in &problem.contacts {
            let first = rows.len();
            rows.extend(contact.tangents.iter().cloned());
            bias.extend(contact.tangents.iter().zip(contact.tangent_bias).map(|(_, bias)| bias));
            tangents.push(first..rows.len());
        }
        let response = |row: &Row| {
            let answer = problem.inertia.response(row);
            rows.iter().map(|row| row.dot(&answer)).collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<f64>> = rows.iter().map(response).collect();
        let scales: Vec<f64> = (0..rows.len()).map(|i| 1.0 / columns[i][i].max(f64::MIN_POSITIVE).sqrt()).collect();
        let friction_columns = instant.contacts.iter().enumerate().map(|(j, contact)| {
            contact.kinetic().map(|kinetic| {
                let mut along = Row::new();
                for (row, s) in contact.tangents.iter().zip(kinetic) {
                    along.push_scaled(-s, row);
                }
                response(&along).iter().zip(&scales).map(|(entry, scale)| scale * entry * scales[j]).collect()
            })
        });
        Ok(Self {
            contact_count: instant.contacts.len(),
            matrix: Mat::from_fn(rows.len(), rows.len(), |i, j| scales[i] * columns[j][i] * scales[j]),
            friction_columns: friction_columns.collect(),
            tangents,
            bias: bias.iter().zip(&scales).map(|(bias, scale)| bias * scale).collect(),
            scales,
        })
    }

    fn definiteness(&self) -> f64 {
        let eigenvalues = symmetric_part(&self.matrix).self_adjoint_eigenvalues(Side::Lower).unwrap_or_default();
        eigenvalues.first().copied().unwrap_or(1.0)
    }

    fn sliding_count(&self) -> usize {
        self.friction_columns.iter().flatten().count()
    }

    /// $\tilde A$ at a corner of the box of coefficients, numbered by the bits of `corner`: zero or
    /// `mu` for each sliding contact.
    fn at_corner(&self, corner: usize, mu: f64) -> Mat<f64> {
        let mut matrix = self.matrix.clone();
        let sliding = self.friction_columns.iter().enumerate().filter_map(|(j, column)| Some((j, column.as_ref()?)));
        for (_, (j, column)) in sliding.enumerate().filter(|(bit, _)| corner >> bit & 1 == 1) {
            column.iter().enumerate().for_each(|(i, value)| matrix[(i, j)] += mu * value);
        }
        matrix
    }

    fn existence_bound(&self) -> Option<f64> {
        let corners = 1usize.checked_shl(self.sliding_count() as u32).filter(|&corners| corners <= CORNER_LIMIT)?;
        (self.contact_count <= CONTACT_LIMIT).then(|| {
            largest(|mu| {
                (1..corners).all(|corner| {
                    let form = symmetric_part(&self.at_corner(corner, mu));
                    self.over_normals(&form).is_some_and(|normals| is_strictly_copositive(&normals))
                })
            })
        })
    }

    /// The least value of a form over the tangential forces, as a form of the normal ones.
    fn over_normals(&self, form: &Mat<f64>) -> Option<Mat<f64>> {
        let (n, size) = (self.contact_count, form.nrows());
        let normals = form.submatrix(0, 0, n, n).to_owned();
        if n == size {
            return Some(normals);
        }
        let tangents = form.submatrix(n, n, size - n, size - n).llt(Side::Lower).ok()?;
        let coupling = form.submatrix(n, 0, size - n, n);
        Some(normals - coupling.transpose() * faer::linalg::solvers::Solve::solve(&tangents, coupling))
    }

    fn uniqueness_bound(&self) -> Option<f64> {
        let sliding = 1usize.checked_shl(self.sliding_count() as u32).filter(|&corners| corners <= CORNER_LIMIT)?;
        let at_rest: Vec<usize> = (0..self.contact_count).filter(|&i| !self.tangents[i].is_empty()).collect();
        if at_rest.is_empty() {
            return (self.contact_count <= CONTACT_LIMIT)
                .then(|| largest(|mu| (1..sliding).all(|corner| is_p_matrix(&self.at_corner(corner, mu)))));
        }
        let directions: Vec<Vec<Vec<f64>>> =
            at_rest.iter().map(|&i| around_the_unit_ball(self.tangents[i].len())).collect();
        let choices = directions.iter().try_fold(sliding, |product, own| product.checked_mul(own.len()))?;
        (choices <= CORNER_LIMIT).then(|| {
            largest(|mu| {
                (0..choices).all(|choice| {
                    let matrix = self.at_corner(choice % sliding, mu);
                    let mut form = matrix.clone();
                    let mut rest = choice / sliding;
                    for (&contact, directions) in at_rest.iter().zip(&directions) {
                        let w = &directions[rest % directions.len()];
                        rest /= directions.len();
                        for (row, w) in self.tangents[contact].clone().zip(w) {
                            let scale = self.scales[contact] / self.scales[row];
                            for j in 0..form.ncols() {
                                form[(contact, j)] -= mu * w * scale * matrix[(row, j)];
                            }
                        }
                    }
                    symmetric_part(&form).llt(Side::Lower).is_ok()
                })
            })
        })
    }

    /// Condition (B): whether $\frac12 c^T A c + \dot J v \cdot c$ is bounded from below over the
    /// friction cones, which a convex LCP decides. ($b$ differs from $\dot J v$ by what does no
    /// work on forces that move nothing.)
    fn rest_condition(&self, instant: &Instant) -> RestCondition {
        if self.sliding_count() > 0 {
            return RestCondition::Slides;
        }
        // The edges of the cones: a normal force with friction to each corner of a polygon around
        // the circle.
        let size = self.bias.len();
        let mut edges: Vec<Vec<f64>> = Vec::new();
        for (contact, tangents) in self.tangents.iter().enumerate() {
            let mut normal = vec![0.0; size];
            normal[contact] = 1.0 / self.scales[contact];
            if tangents.is_empty() {
                edges.push(normal);
                continue;
            }
            for direction in around_the_unit_ball(tangents.len()) {
                let mut edge = normal.clone();
                for (row, w) in tangents.clone().zip(direction) {
                    edge[row] = instant.contacts[contact].mu * w / self.scales[row];
                }
                edges.push(edge);
            }
        }
        // The edges as they are may differ much in length; their lengths do not matter.
        for edge in &mut edges {
            let length = edge.iter().map(|x| x * x).sum::<f64>().sqrt();
            edge.iter_mut().for_each(|x| *x /= length);
        }
        let product = |a: &[f64], b: &[f64]| {
            let moved = |i: usize| (0..size).map(|j| self.matrix[(i, j)] * b[j]).sum::<f64>();
            (0..size).map(|i| a[i] * moved(i)).sum::<f64>()
        };
        let matrix = Mat::from_fn(edges.len(), edges.len(), |i, j| product(&edges[i], &edges[j]));
        let offset = edges.iter().map(|edge| edge.iter().zip(&self.bias).map(|(c, b)| c * b).sum()).collect();
        let Ok(lcp) = Lcp::new(matrix, offset) else { return RestCondition::Undecided };
        match lcp.solve(&LemkeSettings::default()).report.status {
            SolveStatus::Solved => RestCondition::Holds,
            SolveStatus::NoSolution | SolveStatus::SecondaryRay => RestCondition::Fails,
            _ => RestCondition::Undecided,
        }
    }
}

/// The largest $\mu$ up to which a condition holds that holds at zero, and does not come back once
/// it is lost.
fn largest(holds: impl Fn(f64) -> bool) -> f64 {
    if holds(NO_BOUND) {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while holds(high) {
        (low, high) = (high, 2.0 * high);
    }
    while low == 0.0 && high > 1.0 / NO_BOUND {
        let middle = 0.5 * high;
        if holds(middle) { low = middle } else { high = middle }
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// Corners of a polygon that holds the unit circle, or of a polyhedron that holds the unit ball; of
/// the interval from -1 to 1 for one tangent.
fn around_the_unit_ball(dimension: usize) -> Vec<Vec<f64>> {
    match dimension {
        1 => return vec![vec![-1.0], vec![1.0]],
        2 => {}
        _ => return around_the_sphere().to_vec(),
    }
    let angle = std::f64::consts::PI / CIRCLE_CORNERS as f64;
    let radius = 1.0 / angle.portable_cos();
    (0..CIRCLE_CORNERS)
        .map(|corner| {
            let (sine, cosine) = (2.0 * angle * corner as f64).portable_sin_cos();
            vec![radius * cosine, radius * sine]
        })
        .collect()
}

/// The corners of an icosahedron and the middles of its edges, moved out until they hold the unit
/// ball: their radius is 1.07.
fn around_the_sphere() -> &'static [Vec<f64>] {
    static CORNERS: OnceLock<Vec<Vec<f64>>> = OnceLock::new();
    CORNERS.get_or_init(|| {
        let golden = 0.5 * (1.0 + 5f64.sqrt());
        let mut corners: Vec<[f64; 3]> = Vec::new();
        for turn in 0..3 {
            for (a, b) in [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)] {
                let mut corner = [0.0; 3];
                (corner[(turn + 1) % 3], corner[(turn + 2) % 3]) = (a, b);
                corners.push(corner);
            }
        }
        // Neighbours are two apart.
        let mut middles = Vec::new();
        for (i, a) in corners.iter().enumerate() {
            for b in &corners[..i] {
                if (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>() < 4.1 {
                    middles.push(std::array::from_fn(|k| a[k] + b[k]));
                }
            }
        }
        corners.extend(middles);
        for corner in &mut corners {
            let length = corner.iter().map(|x| x * x).sum::<f64>().sqrt();
            corner.iter_mut().for_each(|x| *x /= length);
        }
        let hull = Polytope::from_corners(corners.clone()).expect("corners that are not zero");
        let inside = hull.facets().iter().map(|facet| facet.offset).fold(1.0, f64::min);
        corners.iter().map(|corner| corner.iter().map(|x| x / inside).collect()).collect()
    })
}

fn symmetric_part(matrix: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]))
}

/// The principal submatrices, small ones before those that contain them.
fn principal_submatrices(matrix: &Mat<f64>) -> impl Iterator<Item = Mat<f64>> + '_ {
    (1usize..1 << matrix.nrows()).map(|chosen| {
        let rows: Vec<usize> = (0..matrix.nrows()).filter(|row| chosen >> row & 1 == 1).collect();
        Mat::from_fn(rows.len(), rows.len(), |i, j| matrix[(rows[i], rows[j])])
    })
}

/// Whether $x^T S x > 0$ for all $x \ge 0$ but zero. On the simplex of $x$ the least value is taken
/// within one of its faces, where $S x = \lambda \mathbf{1}$ for the rows and columns of the face:
/// it is negative if and only if $S y = \mathbf{1}$ there has a solution $y < 0$. Where the face is
/// singular, the least value may be zero: that is no proof of anything.
fn is_strictly_copositive(symmetric: &Mat<f64>) -> bool {
    principal_submatrices(symmetric).all(|face| {
        let ones = Mat::<f64>::from_fn(face.nrows(), 1, |_, _| 1.0);
        let y = faer::linalg::solvers::Solve::solve(&face.partial_piv_lu(), &ones);
        let is_regular = (0..face.nrows()).all(|i| y[(i, 0)].is_finite());
        face[(0, 0)] > 0.0 && is_regular && !(0..face.nrows()).all(|i| y[(i, 0)] < 0.0)
    })
}

/// Whether all principal minors are positive.
fn is_p_matrix(matrix: &Mat<f64>) -> bool {
    principal_submatrices(matrix).all(|minor| minor.determinant() > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Generator;
    use crate::reference::painleve_rod as rod;
    use crate::{ContactId, InstantContact, PhantomInertia, PhantomInertiaSettings};

    const LEFT: Option<[f64; 2]> = Some([-1.0, 0.0]);

    fn motion_count(instant: &Instant) -> usize {
        let method = PhantomInertia::new(PhantomInertiaSettings::default()).unwrap();
        let motions = instant.motions(&method).unwrap().unwrap();
        assert_eq!(motions.undecided, 0);
        motions.solutions.len()
    }

    /// Coefficient from which the rod shows the paradox.
    fn threshold(angle: f64) -> f64 {
        let (sine, cosine) = angle.sin_cos();
        (1.0 + 3.0 * cosine * cosine) / (3.0 * sine * cosine)
    }

    #[test]
    fn the_bounds_of_a_sliding_rod_are_the_threshold_of_the_paradox() {
        for angle in [0.2, 0.5, 1.0, 2.0f64.atan(), 1.4] {
            let bound = threshold(angle);
            let below = rod(angle, 0.999 * bound, 0.0, 0.0, LEFT).existence().unwrap();
            assert!((below.existence_bound.unwrap() - bound).abs() < 1e-9 * bound, "{below:?}");
            assert!((below.uniqueness_bound.unwrap() - bound).abs() < 1e-9 * bound, "{below:?}");
            assert!(below.is_definite && below.is_proved && below.is_proved_unique);
            assert_eq!(below.rest, RestCondition::Slides);
            let above = rod(angle, 1.001 * bound, 0.0, 0.0, LEFT);
            let said = above.existence().unwrap();
            assert!(!said.is_proved && !said.is_proved_unique);
            // Enumeration agrees: one motion below for all rates, none or two above.
            for omega in [0.0, 1.0, 3.0, 10.0] {
                assert_eq!(motion_count(&rod(angle, 0.999 * bound, omega, 0.0, LEFT)), 1);
                assert!([0, 2].contains(&motion_count(&rod(angle, 1.001 * bound, omega, 0.0, LEFT))));
            }
        }
        // Sliding to the other side, no friction is too much.
        let dragged = rod(1.0, 5.0, 0.0, 0.0, Some([1.0, 0.0])).existence().unwrap();
        assert_eq!((dragged.existence_bound, dragged.uniqueness_bound), (Some(f64::INFINITY), Some(f64::INFINITY)));
    }

    #[test]
    fn at_rest_a_motion_exists_always_and_is_unique_up_to_the_bound() {
        let mut generator = Generator::new(3);
        for angle in [0.3, 0.8, 2.0f64.atan(), 1.4] {
            let said = rod(angle, 0.0, 0.0, 0.0, None);
            // Without friction the tangent does not count; the bound is that of a rod with some.
            assert!(said.existence().unwrap().is_proved_unique);
            let bound = rod(angle, 0.1, 0.0, 0.0, None).existence().unwrap().uniqueness_bound.unwrap();
            assert!(bound > 0.0 && bound <= threshold(angle), "{angle}: {bound}");
            for _ in 0..200 {
                let (omega, push) = (generator.uniform(-6.0, 6.0), generator.uniform(-60.0, 60.0));
                let instant = rod(angle, 0.999 * bound, omega, push, None);
                assert!(instant.existence().unwrap().is_proved_unique);
                assert_eq!(motion_count(&instant), 1);
                let steep = rod(angle, 3.0 * threshold(angle), omega, push, None).existence().unwrap();
                assert!(steep.rest == RestCondition::Holds && steep.is_proved && !steep.is_proved_unique);
            }
        }
    }

    /// A rod with both ends on the ground in random states: planar, half length one.
    fn two_ends(random: &mut Generator, mu: f64, sliding: [Option<[f64; 2]>; 2], shape: [f64; 4]) -> Instant {
        let mut instant = Instant::default();
        [1.0, 1.0, 1.0 / 3.0].iter().for_each(|&mass| instant.inertia.push_scalar(mass));
        instant.inertia.factor().unwrap();
        instant.force = (0..3).map(|_| random.uniform(-10.0, 10.0)).collect();
        for (number, sliding) in sliding.into_iter().enumerate() {
            let (x, y) = (shape[2 * number], shape[2 * number + 1]);
            let mut contact =
                InstantContact { id: ContactId::number(number as u32), mu, sliding, ..Default::default() };
            [(1, 1.0), (2, x)].iter().for_each(|&(index, value)| contact.normal.push(index, value));
            let mut tangent = Row::new();
            [(0, 1.0), (2, -y)].iter().for_each(|&(index, value)| tangent.push(index, value));
            contact.tangents.push(tangent);
            contact.normal_bias = random.uniform(-5.0, 5.0);
            contact.tangent_bias[0] = random.uniform(-5.0, 5.0);
            instant.contacts.push(contact);
        }
        instant
    }

    #[test]
    fn two_contacts_have_one_motion_below_the_bounds_and_others_above() {
        let mut random = Generator::new(11);
        let sides = [Some([-1.0, 0.0]), Some([1.0, 0.0]), None];
        let (mut others, mut bounded) = (0, 0);
        for case in 0..300 {
            let mut shape = [0.0; 4].map(|_: f64| random.uniform(-1.5, 1.5));
            // Apart, so that the normals do not depend on each other.
            shape[2] = shape[0] + random.uniform(0.5, 2.0);
            let sliding = [sides[case % 3], sides[case / 3 % 3]];
            let said = two_ends(&mut random, 0.1, sliding, shape).existence().unwrap();
            if sliding == [None; 2] {
                // Four rows and three coordinates.
                assert!(!said.is_definite && said.uniqueness_bound.is_none(), "{said:?}");
                continue;
            }
            let [exists, unique] = [said.existence_bound, said.uniqueness_bound].map(Option::unwrap);
            assert!(unique > 0.0 && exists > 0.0, "{said:?}");
            bounded += usize::from(unique.is_finite());
            let (unique, exists) = (unique.min(10.0), exists.min(10.0));
            for _ in 0..20 {
                assert_eq!(motion_count(&two_ends(&mut random, 0.999 * unique, sliding, shape)), 1, "{said:?}");
                // For a motion to exist, the friction of an end at rest does not matter.
                let mut rough = two_ends(&mut random, 0.999 * exists, sliding, shape);
                rough
                    .contacts
                    .iter_mut()
                    .filter(|contact| contact.sliding.is_none())
                    .for_each(|contact| contact.mu = 8.0);
                assert!(motion_count(&rough) >= 1, "{said:?}");
                if sliding.iter().all(Option::is_some) {
                    others += usize::from(motion_count(&two_ends(&mut random, 1.1 * unique, sliding, shape)) != 1);
                }
            }
        }
        // The bound for sliding contacts is exact: above it there is none, or more than one, for
        // some forces.
        assert!(bounded > 100 && others > 100, "{bounded} {others}");
    }

    #[test]
    fn a_squeezed_body_fails_at_rest() {
        // A mass between two walls whose surfaces curve towards each other.
        let squeezed = |biases: [f64; 2]| {
            let mut instant = Instant { force: vec![0.0, 0.0], ..Default::default() };
            instant.inertia.push_scalar(1.0);
            instant.inertia.push_scalar(1.0);
            instant.inertia.factor().unwrap();
            for (number, (sign, bias)) in [1.0, -1.0].into_iter().zip(biases).enumerate() {
                let id = ContactId::number(number as u32);
                let mut contact = InstantContact { id, mu: 0.5, normal_bias: bias, ..Default::default() };
                contact.normal.push(0, sign);
                let mut tangent = Row::new();
                tangent.push(1, 1.0);
                contact.tangents.push(tangent);
                instant.contacts.push(contact);
            }
            instant.existence().unwrap()
        };
        let closing = squeezed([-1.0, 0.5]);
        assert!(!closing.is_definite && closing.existence_bound.is_none());
        assert_eq!(closing.rest, RestCondition::Fails);
        assert!(!closing.is_proved);
        let opening = squeezed([-1.0, 1.5]);
        assert!(opening.rest == RestCondition::Holds && opening.is_proved && !opening.is_proved_unique);
    }

    #[test]
    fn copositive_is_less_than_definite_and_more_than_nothing() {
        let matrix = |entries: [[f64; 3]; 3]| Mat::from_fn(3, 3, |i, j| entries[i][j]);
        let copositive = matrix([[1.0, 2.0, 0.0], [2.0, 1.0, 0.5], [0.0, 0.5, 1.0]]);
        assert!(is_strictly_copositive(&copositive) && copositive.llt(Side::Lower).is_err());
        assert!(!is_strictly_copositive(&matrix([[1.0, -2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])));
        // Each pair is fine, all three together are not.
        let pairs = matrix([[1.0, -0.6, -0.6], [-0.6, 1.0, -0.6], [-0.6, -0.6, 1.0]]);
        assert!(!is_strictly_copositive(&pairs));
        assert!(is_p_matrix(&matrix([[1.0, 5.0, 0.0], [0.0, 1.0, 5.0], [0.0, 0.0, 1.0]])));
        assert!(!is_p_matrix(&copositive));
    }

    #[test]
    fn the_bound_at_rest_is_that_of_its_form_in_the_plane_and_in_space() {
        // For one contact at rest the form loses its sign at μ² max(w·A_tt w) = 4 (A_nn -
        // A_nt²/A_tt): with A_tt = 1 + 3 sin² θ, A_nn A_tt - A_nt² = 4 for the rod.
        for angle in [0.2f64, 0.8, 1.4] {
            let along = 1.0 + 3.0 * angle.sin().powi(2);
            let said = rod(angle, 0.1, 0.0, 0.0, None).existence().unwrap();
            let bound = said.uniqueness_bound.unwrap();
            assert!((bound - 4.0 / along).abs() < 1e-9 * bound, "{angle}: {bound}");
            // In space it is worst across the rod, where the end is as easy to move as it can be, A
            // = 4. The polygon around the circle takes half a percent off, and never adds any.
            for heading in (0..8).map(|k| f64::from(k) * std::f64::consts::PI / 64.0) {
                let bound = rod_in_space(angle, heading, None).existence().unwrap().uniqueness_bound.unwrap();
                let share = bound / (2.0 / along.sqrt());
                assert!((0.995..1.0 + 1e-9).contains(&share), "{angle} {heading}: {share}");
            }
        }
    }

    #[test]
    fn a_rod_that_slides_in_space_has_the_threshold_of_the_plane() {
        for heading in [0.0f64, 0.7, 2.0] {
            let back = Some([-heading.cos(), -heading.sin()]);
            let said = rod_in_space(1.0, heading, back).existence().unwrap();
            for bound in [said.existence_bound.unwrap(), said.uniqueness_bound.unwrap()] {
                assert!((bound - threshold(1.0)).abs() < 1e-9 * bound, "{heading}: {said:?}");
            }
        }
    }

    /// The rod of the plane in space: it leans back from the end on the ground by `angle`, towards
    /// `heading`.
    fn rod_in_space(angle: f64, heading: f64, sliding: Option<[f64; 2]>) -> Instant {
        let axis = [angle.cos() * heading.cos(), angle.cos() * heading.sin(), angle.sin()];
        let mut instant = Instant { force: vec![0.0; 6], ..Default::default() };
        (0..3).for_each(|_| instant.inertia.push_scalar(1.0));
        // 1/3 across; what it is about the axis does not matter.
        let moment = |i: usize, j: usize| f64::from(u8::from(i == j)) / 3.0 - 0.2 * axis[i] * axis[j];
        let block: Vec<f64> = (0..9).map(|k| moment(k / 3, k % 3)).collect();
        instant.inertia.push_block(3, &block);
        instant.inertia.factor().unwrap();
        let row = |d: [f64; 3]| {
            // The arm is -axis: d and arm × d.
            let turn =
                [axis[2] * d[1] - axis[1] * d[2], axis[0] * d[2] - axis[2] * d[0], axis[1] * d[0] - axis[0] * d[1]];
            Row::from_dense(&[d[0], d[1], d[2], turn[0], turn[1], turn[2]])
        };
        let tangents = [row([1.0, 0.0, 0.0]), row([0.0, 1.0, 0.0])].into_iter().collect();
        let normal = row([0.0, 0.0, 1.0]);
        instant.contacts.push(InstantContact { mu: 0.1, sliding, normal, tangents, ..Default::default() });
        instant
    }

    #[test]
    fn a_slot_fails_at_rest_only_where_friction_jams_it() {
        // A mass between two walls that lean by 0.4 rad, both of which come closer: forces can
        // balance each other where μ > tan 0.4.
        let (sine, cosine) = 0.4f64.sin_cos();
        for (mu, expected) in [(0.3, RestCondition::Holds), (0.41, RestCondition::Holds), (0.43, RestCondition::Fails)]
        {
            let mut instant = Instant { force: vec![0.0; 2], ..Default::default() };
            (0..2).for_each(|_| instant.inertia.push_scalar(4.0));
            instant.inertia.factor().unwrap();
            for (number, side) in [1.0, -1.0].into_iter().enumerate() {
                instant.contacts.push(InstantContact {
                    id: ContactId::number(number as u32),
                    mu,
                    normal_bias: -1.0,
                    normal: Row::from_dense(&[side * cosine, sine]),
                    tangents: [Row::from_dense(&[-side * sine, cosine])].into_iter().collect(),
                    ..Default::default()
                });
            }
            let said = instant.existence().unwrap();
            assert!(!said.is_definite);
            assert_eq!((said.rest, said.is_proved), (expected, expected == RestCondition::Holds), "{mu}");
        }
    }

    /// Normal, first tangent, friction and sliding of a contact.
    type OnUnitMasses<'a> = (&'a [f64], &'a [f64], f64, Option<[f64; 2]>);

    /// Contacts with these normals and first tangents on unit masses.
    fn unit_masses(size: usize, contacts: &[OnUnitMasses]) -> Instant {
        let mut instant = Instant { force: vec![0.0; size], ..Default::default() };
        (0..size).for_each(|_| instant.inertia.push_scalar(1.0));
        instant.inertia.factor().unwrap();
        for (number, &(normal, tangent, mu, sliding)) in contacts.iter().enumerate() {
            instant.contacts.push(InstantContact {
                id: ContactId::number(number as u32),
                normal: Row::from_dense(normal),
                tangents: [Row::from_dense(tangent)].into_iter().collect(),
                mu,
                sliding,
                ..Default::default()
            });
        }
        instant
    }

    #[test]
    fn the_friction_of_one_contact_may_be_worse_than_that_of_both() {
        // Normals at 60°: A = [1 a; a 1] with a = 1/2. The friction of the first presses the second
        // down, that of the second lifts the first: the matrix is [1, a + μ₂; a - μ₁, 1]. With one
        // μ for both it keeps its form; with μ₁ alone that loses its sign at a - μ/2 = -1, with μ₂
        // alone the determinant does at 1 - a² = a μ.
        let (a, b) = (0.5f64, 0.75f64.sqrt());
        let slides =
            [(&[1.0, 0.0][..], &[0.0, 1.0 / b][..], 0.1, Some([1.0, 0.0])), (&[a, b], &[1.0, -a / b], 0.1, LEFT)];
        let said = unit_masses(2, &slides).existence().unwrap();
        assert!((said.existence_bound.unwrap() - 3.0).abs() < 1e-9, "{said:?}");
        assert!((said.uniqueness_bound.unwrap() - 1.5).abs() < 1e-9, "{said:?}");
    }

    #[test]
    fn what_sticks_beside_a_sliding_contact_counts_for_existence_with_its_forces_alone() {
        // The first contact slides along the row in which the second one sticks; all rows are
        // orthonormal. The form is n² + t² - μ n t, positive up to μ = 2.
        let contacts = |mu: f64, rough: f64| {
            let first = (&[1.0, 0.0, 0.0][..], &[0.0, 0.0, 1.0][..], mu, Some([1.0, 0.0]));
            unit_masses(3, &[first, (&[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0], rough, None)]).existence().unwrap()
        };
        let said = contacts(1.9, 50.0);
        assert!((said.existence_bound.unwrap() - 2.0).abs() < 1e-9, "{said:?}");
        // However rough the second one is, there is a motion; whether it is the only one is another
        // question.
        assert!(said.is_proved && !said.is_proved_unique && said.rest == RestCondition::Slides);
        assert!(!contacts(2.1, 0.1).is_proved);
    }

    #[test]
    fn nothing_is_not_more_than_nothing() {
        assert!(!is_strictly_copositive(&Mat::zeros(1, 1)));
        assert!(!is_strictly_copositive(&Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { -1.0 })));
    }
}

//! Friction in space as a sum of relays: the friction pyramid in the terms of Glocker and Studer.
//!
//! \[GS05\] §6 states its procedure for one relay per contact and says that it was made for spatial
//! friction by pyramids. A centrally symmetric polygon is the sum of its sides as segments, so
//! friction in a polygon with $2m$ corners is the sum of $m$ relays along the half sides
//! $d_1, \dots, d_m$,
//!
//! $$ \Lambda_T = \sum_j d_j \lambda_j, \qquad -\lambda_j \in \bar\Lambda \thinspace \mathrm{Sgn}(d_j \cdot \xi_T), \qquad \bar\Lambda = \mu \Lambda_N + a. $$
//!
//! The normal cone of a sum of convex sets is the intersection of their normal cones. So friction
//! that dissipates the most along every line does so in the polygon: with the corners of the
//! [pyramid](super::pyramid) this is the same law, in $1 + 2m$ unknowns per contact for its
//! $2 + 2m$, and (33) holds as it stands, with several tangents for one normal. Torsion with a
//! bound of its own is one more relay, about the normal. An ellipsoid with torsion is no sum of
//! segments, and a polytope need not be one; they are refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::LemkeSettings;

use super::directions::{Corners, Directions};
use super::planar_relay::{PlanarRelay, PlanarRelaySettings};
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings};
use crate::setting::{Suffix, ValueError};
use crate::{ContactError, FrictionShape};

/// Settings of the spatial relay method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SpatialRelaySettings {
    /// Corners of the friction polygon in space, an even number from 4 to 1000; half as many
    /// relays. In the plane there is always one relay.
    #[schemars(range(min = 4, max = 1000))]
    pub directions: usize,
    /// Start each solve from the basis of the last one. Faster; where forces are not unique, it
    /// stays with those of the last step.
    pub warm_start: bool,
    /// Settings of Lemke's method.
    pub lemke: LemkeSettings,
}

impl Default for SpatialRelaySettings {
    fn default() -> Self {
        Self { directions: 8, warm_start: true, lemke: LemkeSettings::default() }
    }
}

impl MethodSettings for SpatialRelaySettings {
    fn facts(&self) -> MethodFacts {
        let summary = "A sum of relay functions, in space too: a friction pyramid in the terms of [GS05].";
        MethodFacts::new(
            "spatial-relay",
            summary,
            &[Suffix::Count { of: "friction directions", key: "directions" }],
            FrictionSets::Segments,
        )
    }

    fn lemke(&self) -> Option<&LemkeSettings> {
        Some(&self.lemke)
    }

    fn check(&self, _: usize) -> Result<(), ValueError> {
        Directions::Regular(self.directions).check("give an even number from 4 to 1000")
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        let settings = PlanarRelaySettings { warm_start: self.warm_start, lemke: self.lemke.clone() };
        Ok(Box::new(PlanarRelay::along(settings, Lines::new(self.directions)?)))
    }
}

/// The half sides of a regular polygon in the circle, and the sets that their relays span.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    half_sides: Vec<[f64; 2]>,
    corners: Corners,
}

impl Lines {
    fn new(directions: usize) -> Result<Self, ContactError> {
        let corners = Directions::Regular(directions).corners()?;
        let half_side = |pair: &[[f64; 2]]| [0.5 * (pair[1][0] - pair[0][0]), 0.5 * (pair[1][1] - pair[0][1])];
        let half_sides = corners[..=directions / 2].windows(2).map(half_side).collect();
        Ok(Self { half_sides, corners: Corners::new(corners) })
    }

    /// The lines of the relays of a contact with this many tangent rows and these semi-axes.
    pub fn of(&self, tangent_count: usize, axes: [f64; 3]) -> impl Iterator<Item = [f64; 3]> {
        let half_sides: &[[f64; 2]] = if tangent_count == 1 { &[[1.0, 0.0]] } else { &self.half_sides };
        let plane = half_sides.iter().map(move |&[t, o]| [axes[0] * t, axes[1] * o, 0.0]);
        plane.chain((tangent_count == 3).then_some([0.0, 0.0, axes[2]]))
    }

    /// Whether relays can stand for a friction set, or it is one of theirs already.
    pub fn can_span(&self, tangent_count: usize, shape: &FrictionShape) -> bool {
        match shape {
            FrictionShape::Polytope(_) => self.corners.has_set(shape),
            FrictionShape::Ball => tangent_count <= 2,
            FrictionShape::DiscAndInterval => true,
            FrictionShape::Convex(_) => false,
        }
    }

    /// The set that the relays span in place of a shape.
    pub fn set<'a>(&'a self, tangent_count: usize, shape: &'a FrictionShape) -> &'a FrictionShape {
        self.corners.set(tangent_count, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ContactCondition, ContactMethod, ContactProblem, ContactSolution, ContactSolver, FrictionCondition,
        PyramidSettings, Row,
    };

    fn solver(directions: usize) -> ContactSolver {
        ContactSolver::new(ContactMethod::SpatialRelay(SpatialRelaySettings { directions, ..Default::default() }))
            .unwrap()
    }

    /// A particle of 2 kg on the floor z ≥ 0 with μ = 0.5.
    fn particle(free_motion: [f64; 3]) -> ContactProblem {
        let mut problem = ContactProblem { free_motion: free_motion.to_vec(), ..Default::default() };
        problem.inertia.set_diagonal(&[2.0; 3]);
        problem.inertia.factor().unwrap();
        problem.contacts.push(ContactCondition {
            normal: Row::from_dense(&[0.0, 0.0, 1.0]),
            tangents: [Row::from_dense(&[1.0, 0.0, 0.0]), Row::from_dense(&[0.0, 1.0, 0.0])].into_iter().collect(),
            mu: 0.5,
            ..Default::default()
        });
        problem
    }

    fn solve(solver: &mut ContactSolver, problem: &ContactProblem) -> ContactSolution {
        let mut solution = ContactSolution::default();
        solver.solve(problem, &mut solution).unwrap();
        assert!(solution.report.is_solved(), "{:?}", solution.report);
        solution
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-13), "{found:?}, not {expected:?}");
    }

    #[test]
    fn a_particle_slides_along_a_corner_and_sticks_in_the_polygon() {
        // It falls with 3 m/s: Λ_N = 6 N s, and friction of 3 N s at a corner of the square takes
        // 1.5 m/s along x.
        let mut square = solver(4);
        let solution = solve(&mut square, &particle([4.0, 0.0, -3.0]));
        assert_close(&solution.motion, &[2.5, 0.0, 0.0]);
        assert_close(&solution.contacts[0].tangent, &[-3.0, 0.0, 0.0]);
        // Across a side of the square friction is 3/√2 N s; of 8 corners, one lies at 45 degrees.
        let diagonal = |take: f64| 4.0 - take / 2.0 / 2f64.sqrt();
        let solution = solve(&mut square, &particle([4.0, 4.0, -3.0]));
        assert_close(&solution.motion, &[diagonal(3.0 / 2f64.sqrt()), diagonal(3.0 / 2f64.sqrt()), 0.0]);
        let solution = solve(&mut solver(8), &particle([4.0, 4.0, -3.0]));
        assert_close(&solution.motion, &[diagonal(3.0), diagonal(3.0), 0.0]);
        // 1 + 2 · 4 unknowns.
        assert_eq!(solution.report.size, 9);
        let solution = solve(&mut square, &particle([0.7, 0.7, -3.0]));
        assert_close(&solution.motion, &[0.0, 0.0, 0.0]);
        assert_close(&solution.contacts[0].tangent, &[-1.4, -1.4, 0.0]);
    }

    #[test]
    fn it_is_the_law_of_the_pyramid() {
        // Semi-axes, a load-independent part and torsion of its own beside friction without a
        // normal; directions at random.
        for (count, shape) in [(2, FrictionShape::Ball), (3, FrictionShape::DiscAndInterval)] {
            for directions in [4, 8, 14] {
                let mut relay = solver(directions);
                let settings = PyramidSettings { directions: Directions::Regular(directions), ..Default::default() };
                let mut pyramid = ContactSolver::new(ContactMethod::Pyramid(settings)).unwrap();
                for k in 0..40 {
                    let angle = 0.37 * k as f64;
                    let mut problem = particle([4.0 * angle.cos(), 4.0 * angle.sin(), -3.0]);
                    let mut masses = vec![2.0; 3];
                    masses.push(0.1);
                    problem.inertia.clear();
                    problem.inertia.set_diagonal(&masses);
                    problem.inertia.factor().unwrap();
                    problem.free_motion.push(2.0 - 0.1 * k as f64);
                    let contact = &mut problem.contacts[0];
                    // Coupled, so that friction changes the load.
                    contact.normal = Row::from_dense(&[0.2, -0.3, 1.0, 0.1]);
                    contact.friction_axes = [1.0, 0.6, 0.05];
                    contact.friction_shape = shape.clone();
                    contact.extra_bound = 0.1;
                    if count == 3 {
                        contact.tangents.push(Row::from_dense(&[0.0, 0.0, 0.0, 1.0]));
                    }
                    let tangents = [Row::from_dense(&[1.0, 0.0, 0.0, 0.2]), Row::from_dense(&[0.0, 1.0, 0.0, 0.0])];
                    problem.friction.push(FrictionCondition {
                        tangents: tangents.into_iter().collect(),
                        bound: 0.4,
                        ..Default::default()
                    });
                    let (found, expected) = (solve(&mut relay, &problem), solve(&mut pyramid, &problem));
                    let far = found.motion.iter().zip(&expected.motion).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(far < 1e-11, "{far:e} at {k} with {directions} directions, {count} tangents");
                }
            }
        }
    }

    #[test]
    fn what_relays_do_not_span_is_refused_by_name() {
        let mut problem = particle([1.0, 0.0, -3.0]);
        problem.contacts[0].tangents.push(Row::from_dense(&[0.0, 0.0, 0.0]));
        let error = solver(8).solve(&problem, &mut ContactSolution::default()).unwrap_err().to_string();
        assert!(error.contains("spatial-relay") && error.contains("`cone` or `pyramid`"), "{error}");
        for count in [0, 2, 7, 1002] {
            let settings = SpatialRelaySettings { directions: count, ..Default::default() };
            let error = ContactSolver::new(ContactMethod::SpatialRelay(settings)).unwrap_err().to_string();
            assert!(error.contains(&count.to_string()), "{error}");
        }
    }
}

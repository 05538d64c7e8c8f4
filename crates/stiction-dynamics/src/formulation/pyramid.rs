//! The friction pyramid: Coulomb's cone spanned by finitely many directions, as a linear
//! complementarity problem.
//!
//! \[ST96\] (12), (17), (29) and, for friction without a normal row, (32). Per contact, `beta` are
//! the weights of the directions $d_i$, `slip` is the paper's $\lambda$:
//!
//! $$ \begin{aligned}
//! 0 \le \beta_i &\perp \lambda + d_i^T u + b_i \ge 0, \\\\
//! 0 \le c_n &\perp n^T u + b_n \ge 0, \\\\
//! 0 \le \lambda &\perp \mu c_n + a - \textstyle\sum_i \beta_i \ge 0.
//! \end{aligned} $$
//!
//! In the plane two directions describe Coulomb's law exactly. In space the regular $k$-gon is
//! inscribed in the circle: friction is never too large, and too small by at most the factor
//! $\cos(\pi/k)$. A [`FrictionShape::Polytope`] is taken as it is, an ellipse has the corners of
//! the circle in units of its semi-axes, and torsion makes solids of them: rings of the same
//! corners at 45 degrees above and below, and two poles, for the ellipsoid; the prism over them
//! where torsion has a bound of its own. Where there are joints they are eliminated first, from the
//! rows of the contacts, so that what is left has the structure of a [`ContactLcp`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::{ContactLcp, FrictionGroup, Lcp, LemkeProblem, LemkeSettings};

use super::directions::Corners;
use super::rows::{LcpWorkspace, check_tangents, impulses_at, lcp_limit};
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings};
use crate::contact_problem::Group;
use crate::setting::{Suffix, ValueError};
use crate::{ContactError, ContactProblem, ContactSolution, FrictionShape, PhantomContact, StatedProblem};

pub use super::directions::{Directions, MOST_DIRECTIONS};

/// Settings of the pyramid method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PyramidSettings {
    /// Friction directions of contacts in space; in the plane there are always two.
    pub directions: Directions,
    /// Start each solve from the basis of the last one. Faster; where forces are not unique, it
    /// stays with those of the last step.
    pub warm_start: bool,
    /// Settings of Lemke's method.
    pub lemke: LemkeSettings,
}

impl Default for PyramidSettings {
    fn default() -> Self {
        Self { directions: Directions::default(), warm_start: true, lemke: LemkeSettings::default() }
    }
}

/// An answer with a residual above this share of what counts as solved is worked out again, so many
/// times at most, with a tolerance this much below what is missing.
const POLISH_ABOVE: f64 = 0.01;
const TIGHTENINGS: usize = 2;
const TIGHTER: f64 = 0.1;

impl MethodSettings for PyramidSettings {
    fn facts(&self) -> MethodFacts {
        let summary = "Friction pyramid, solved by Lemke's method. [ST96]";
        MethodFacts::new(
            "pyramid",
            summary,
            &[Suffix::Count { of: "friction directions", key: "directions" }],
            FrictionSets::Polytopes,
        )
    }

    fn lemke(&self) -> Option<&LemkeSettings> {
        Some(&self.lemke)
    }

    fn check(&self, _: usize) -> Result<(), ValueError> {
        self.directions.check("give an even number from 4 to 1000, or a list of pairs with their opposites")
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(Pyramid::new(self.clone())?))
    }
}

impl Formulation for Pyramid {
    fn treats(&self, group: &Group) -> bool {
        !matches!(group.shape, FrictionShape::Convex(_))
    }

    fn friction_set(&self, tangent_count: usize, shape: &FrictionShape, _: PhantomContact) -> FrictionShape {
        self.corners.set(tangent_count, shape).clone()
    }

    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve(problem, solution)
    }

    fn forget(&mut self) -> bool {
        self.work.memory.forget()
    }

    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        Ok(StatedProblem::Lcp(self.clone().lcp(problem)?))
    }
}

/// The pyramid method with its workspace.
#[derive(Clone, Debug)]
pub struct Pyramid {
    settings: PyramidSettings,
    /// The friction polygon in space, and its sets.
    corners: Corners,
    lcp: ContactLcp,
    /// Its rows: contacts (normal, tangents), friction elements.
    work: LcpWorkspace,
    /// An answer that was worked out again.
    tightened: ContactSolution,
}

impl Pyramid {
    /// The method with these settings.
    ///
    /// # Errors
    /// [`ContactError::Directions`] when the directions are not usable.
    pub fn new(settings: PyramidSettings) -> Result<Self, ContactError> {
        let corners = Corners::new(settings.directions.corners()?);
        let (lcp, work, tightened) = Default::default();
        Ok(Self { settings, corners, lcp, work, tightened })
    }

    /// The friction directions of a contact with this many tangent rows.
    pub fn corners(&self, tangent_count: usize) -> &[[f64; 2]] {
        self.corners.of(tangent_count)
    }

    /// The corners of a solid for three tangent rows, in units of the semi-axes.
    pub(crate) fn solid_corners(&self, shape: &FrictionShape) -> impl Iterator<Item = [f64; 3]> {
        self.corners.solid(shape)
    }

    /// The LCP that stands for a contact problem whose inertia is factored, joints eliminated: to
    /// be saved and solved elsewhere. Its unknowns stand in the paper's order.
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
        let rows = &mut self.work.rows;
        let mut data = self.lcp.take_data();
        data.clear();
        rows.begin();
        for group in problem.groups() {
            let normal = group.normal.map(|(row, bias)| {
                rows.push(row.entries(), bias);
                rows.count() - 1
            });
            // The third row is the torsion, for which there are solids.
            if group.has_friction() && group.tangents.len() != 3 {
                check_tangents(&group)?;
            }
            let (tangent, tangent_count) = (rows.count(), group.rough_tangents().len());
            rows.push_tangents(&group);
            let first = data.directions.len();
            let scaled = |d: [f64; 3]| std::array::from_fn(|k| group.axes[k] * d[k]);
            match group.shape {
                _ if tangent_count == 0 => {}
                FrictionShape::Polytope(own) => data.directions.extend(own.corners().iter().map(|&d| scaled(d))),
                shape if tangent_count == 3 => data.directions.extend(self.corners.solid(shape).map(scaled)),
                _ => {
                    let corners = self.corners.of(tangent_count).iter();
                    data.directions.extend(corners.map(|&[t, o]| scaled([t, o, 0.0])));
                }
            }
            let directions = first..data.directions.len();
            let (mu, bound) = if tangent_count > 0 { (group.mu, group.bound) } else { (0.0, 0.0) };
            data.groups.push(FrictionGroup { normal, tangent, tangent_count, directions, mu, bound });
        }
        rows.condense(problem, None)?;
        std::mem::swap(&mut data.delassus, &mut rows.delassus);
        std::mem::swap(&mut data.free_rates, &mut rows.free_rates);
        Ok(self.lcp.state(data)?)
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a contact has more tangent rows than the pyramid can treat, or a
    /// number is not finite. A problem that was not solved is not an error but a status of the
    /// report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.state(problem)?;
        let Self { settings: PyramidSettings { lemke, warm_start, .. }, lcp, work, .. } = self;
        let places = |group: usize| [lcp.unknowns_of(group), 0..0, 0..0];
        work.recall(*warm_start, problem, lcp.unknown_count(), places);
        work.lemke.solve_or_enumerate(lcp, lemke, &work.start, &mut work.answer);
        let limit = lcp_limit(problem, lemke);
        let corners = &self.corners;
        let complete = |work: &mut LcpWorkspace, solution: &mut ContactSolution| {
            // Impulses by row, and the motion u = u_c + P c.
            work.impulses.clear();
            work.impulses.resize(work.rows.count(), 0.0);
            lcp.impulses(&work.answer.z, &mut work.impulses);
            let at = |group: usize, impulses: &[f64]| {
                let FrictionGroup { normal, tangent, tangent_count, .. } = lcp.data().groups[group];
                impulses_at(normal, tangent..tangent + tangent_count, impulses)
            };
            work.complete((problem, None), &|count, shape| corners.set(count, shape), lemke, at, solution);
        };
        complete(work, solution);
        // Solved by the measure of the LCP and not well by the judge's: its basis is worked out
        // more exactly.
        for _ in 0..TIGHTENINGS {
            let (residual, report) = (solution.report.residual, &work.answer.report);
            if residual <= POLISH_ABOVE * limit || !report.is_solved() || !residual.is_finite() {
                break;
            }
            let own = report.residual.min(lemke.residual_tolerance);
            let residual_tolerance = TIGHTER * own * POLISH_ABOVE * limit / residual;
            work.start_from_basis();
            let exact = LemkeSettings { residual_tolerance, ..lemke.clone() };
            work.lemke.solve(lcp, &exact, &work.start, &mut work.answer);
            complete(work, &mut self.tightened);
            if self.tightened.report.residual < residual {
                std::mem::swap(solution, &mut self.tightened);
            } else {
                break;
            }
        }
        work.memory.forget();
        if *warm_start && solution.report.is_solved() {
            work.memory.store(problem, work.lemke.basis(), places);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulation::directions::regular_polygon;
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
        // Falls with 3 m/s and drifts with 1 m/s: normal impulse 6, friction needs 2 ≤ 0.5 · 6. It
        // sticks.
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
        // Friction along y is half of that along x: pushed along y with 2 m/s the particle keeps 2
        // - 0.25 · 3.
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
        // [ST96] (32): 3 kg with 2 m/s, bound 4.5 N s: 0.5 m/s remain. With 1 m/s it stops and 3 N
        // s are used.
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
        // Two particles of 1 kg in a line, rigidly linked (u1 = u2), the first runs into a wall u1
        // ≥ 0 with -2 m/s: the wall must take the momentum of both, 4 N s, and the link carries
        // half of it.
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
        // W = [[2, 1], [0, 2]], u_free = (1, -1), floor u2 ≥ 0: W (u - u_free) = (0, c) gives u2 =
        // 0, u1 = 1 - (1)(1)/2.
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

//! Normal and tangential problems in turn: the alternation of Panagiotopoulos, which \[GS05\] §5
//! names beside its own complementarity problem.
//!
//! With the friction impulses held, the normal impulses solve a convex program; with the normal
//! impulses held, so does friction, because its bounds are then numbers:
//!
//! $$ \min_{c_n \ge 0} \tfrac12 c_n^T G_{NN} c_n + (b_N + G_{NT} c_t)^T c_n, \qquad
//! \min_{c_t \in C(\mu c_n + a)} \tfrac12 c_t^T G_{TT} c_t + (b_T + G_{TN} c_n)^T c_t. $$
//!
//! The two are solved in turn, with joints in both, until the [judge](crate::judge) says that the
//! pair solves the contact problem. Both are [contact problems](ContactProblem) themselves: one
//! without friction, and one without normals, in which every bound is a number. Friction sets are
//! exact.
//!
//! **What it misses.** Each part is solved however friction is; together they are a fixed-point
//! iteration, which nothing makes a contraction. A single contact that slides has
//! $c_n \mapsto (-b_N \pm \mu G_{NT} c_n) / G_{NN}$, so that it converges with the factor
//!
//! $$ \kappa = \mu \lvert G_{NT} \rvert / G_{NN}, $$
//!
//! and not at all for $\kappa \ge 1$. That is Painlevé's bound on one side, where friction presses
//! the contact and there may be no solution or several. On the other side friction lifts it: the
//! problem has exactly one solution, which the complementarity problem finds, and the alternation
//! swings between two wrong answers. Of several solutions it finds only those that attract it.
//! Where wedges or chains of contacts jam, $\kappa$ is near one, and rounds are many. None of this
//! is hidden: what is not reached is not solved, and the step goes on down its ladder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::SolveStatus;

use super::exact_cone::ExactCone;
use super::rows::refuse_missing_tangents;
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings};
use crate::contact_problem::Group;
use crate::judge::{Judge, own_set, solved_limit};
use crate::setting::{ValueError, at_least_one, check_positive};
use crate::{
    ContactCondition, ContactError, ContactImpulse, ContactProblem, ContactSolution, FrictionShape, StatedProblem,
};

/// Rounds after which a residual that has not halved is given up. A factor of 0.99 halves it in 69.
const PATIENCE: usize = 100;

/// Settings of the alternation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AlternatingSettings {
    /// Residual at which the rounds end; one that is not reached may still count as solved. Too
    /// small: rounds that rounding makes useless.
    pub tolerance: f64,
    /// Rounds, at most; each is a normal and a tangential problem.
    pub iteration_limit: usize,
    /// Start each solve from the friction of the last one.
    pub warm_start: bool,
}

impl Default for AlternatingSettings {
    fn default() -> Self {
        Self { tolerance: 1e-13, iteration_limit: 2000, warm_start: true }
    }
}

impl MethodSettings for AlternatingSettings {
    fn facts(&self) -> MethodFacts {
        let summary = "Normal and tangential problems in turn, with exact friction sets: for comparison, as it need not converge. [GS05]";
        MethodFacts { is_exact: true, ..MethodFacts::new("alternating", summary, &[], FrictionSets::Round) }
    }

    fn check(&self, _: usize) -> Result<(), ValueError> {
        check_positive("tolerance", "the tolerance", self.tolerance, "(relative)")?;
        at_least_one("iteration-limit", "rounds", self.iteration_limit)
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(Alternating::new(self.clone())?))
    }
}

impl Formulation for Alternating {
    fn treats(&self, group: &Group) -> bool {
        match group.shape {
            FrictionShape::Ball => true,
            // Its two parts have bounds of their own, and the tangential problem knows one for an
            // element.
            FrictionShape::DiscAndInterval => group.normal.is_some(),
            FrictionShape::Polytope(_) | FrictionShape::Convex(_) => false,
        }
    }

    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve(problem, solution)
    }

    fn forget(&mut self) -> bool {
        self.methods.iter_mut().for_each(|method| _ = method.forget());
        self.memory.take().is_some()
    }

    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        Ok(StatedProblem::Cone(self.methods[0].cone_problem(problem)))
    }
}

/// The alternation with its workspace.
#[derive(Clone, Debug, Default)]
pub struct Alternating {
    settings: AlternatingSettings,
    /// Of the normal and of the tangential problem: method, statement and answer.
    methods: [ExactCone; 2],
    problems: [ContactProblem; 2],
    answers: [ContactSolution; 2],
    /// What follows from the impulses of the other part.
    push: Vec<f64>,
    best: ContactSolution,
    memory: Option<ContactSolution>,
    judge: Judge,
}

impl Alternating {
    /// The method with these settings.
    ///
    /// # Errors
    /// [`ContactError::Coefficient`] when the tolerance is not positive.
    pub fn new(settings: AlternatingSettings) -> Result<Self, ContactError> {
        if !(settings.tolerance > 0.0 && settings.tolerance.is_finite()) {
            let what = "the settings of the alternation".to_owned();
            return Err(ContactError::Coefficient { what, quantity: "tolerance", value: settings.tolerance });
        }
        Ok(Self { settings, ..Default::default() })
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a number is not finite, the inertia is singular, or friction has no
    /// tangent rows. A problem that was not solved is not an error but a status of the report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        refuse_missing_tangents(problem)?;
        self.state(problem);
        let limit = solved_limit(problem.contacts.len());
        self.begin(problem, solution);
        let (mut iterations, mut last_gain, mut gained) = (0, 0, f64::INFINITY);
        self.best.report.residual = f64::INFINITY;
        for round in 1..=self.settings.iteration_limit.max(1) {
            self.turn(problem, solution)?;
            iterations += self.answers.iter().map(|answer| answer.report.iterations).sum::<usize>();
            solution.report.status = SolveStatus::IterationLimit;
            self.judge.pronounce(problem, None, &own_set, limit, solution);
            let residual = solution.report.residual;
            if residual < self.best.report.residual {
                self.best.clone_from(solution);
            }
            if residual <= 0.5 * gained {
                (gained, last_gain) = (residual, round);
            }
            if self.best.report.residual <= self.settings.tolerance || round - last_gain >= PATIENCE {
                break;
            }
        }
        solution.clone_from(&self.best);
        solution.report.iterations = iterations;
        self.memory = (self.settings.warm_start && solution.report.is_solved()).then(|| solution.clone());
        Ok(())
    }

    /// States both parts: the contacts without friction, and without normals and load.
    fn state(&mut self, problem: &ContactProblem) {
        let [normal, tangential] = &mut self.problems;
        normal.clone_from(problem);
        normal.friction.clear();
        for contact in &mut normal.contacts {
            contact.tangents.clear();
            (contact.mu, contact.extra_bound) = (0.0, 0.0);
        }
        tangential.clone_from(problem);
        for contact in &mut tangential.contacts {
            contact.normal.clear();
            (contact.normal_bias, contact.rounding, contact.mu) = (0.0, 0.0, 0.0);
        }
    }

    /// Begins with the friction of the last solution, or without.
    fn begin(&self, problem: &ContactProblem, solution: &mut ContactSolution) {
        let known = self.memory.as_ref();
        let of = |id| known.and_then(|known| known.contacts.iter().find(|impulse| impulse.id == id));
        let start = |contact: &ContactCondition| match of(contact.id) {
            Some(impulse) => *impulse,
            None => ContactImpulse { id: contact.id, ..Default::default() },
        };
        solution.contacts.clear();
        solution.contacts.extend(problem.contacts.iter().map(start));
        let elements = known.map(|known| &known.friction).filter(|known| known.len() == problem.friction.len());
        solution.friction = elements.cloned().unwrap_or_default();
        solution.friction.resize(problem.friction.len(), [0.0; 3]);
        solution.report.size = problem.contacts.len() + problem.friction.len();
    }

    /// One round: the normal problem with the friction of the solution, then the tangential problem
    /// with the normal impulses found.
    fn turn(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.push.clear();
        self.push.resize(problem.free_motion.len(), 0.0);
        for (group, (_, impulse)) in problem.groups().zip(solution.impulses()) {
            group.tangents.iter().zip(impulse).for_each(|(row, c)| row.add_to(c, &mut self.push));
        }
        self.solve_part(problem, 0)?;
        for (impulse, found) in solution.contacts.iter_mut().zip(&self.answers[0].contacts) {
            impulse.normal = found.normal;
        }

        self.push.fill(0.0);
        let stated = self.problems[1].contacts.iter_mut();
        for ((contact, impulse), stated) in problem.contacts.iter().zip(&solution.contacts).zip(stated) {
            contact.normal.add_to(impulse.normal, &mut self.push);
            stated.extra_bound = contact.mu * impulse.normal.max(0.0) + contact.extra_bound;
        }
        self.solve_part(problem, 1)?;
        let [_, answer] = &self.answers;
        for (impulse, found) in solution.contacts.iter_mut().zip(&answer.contacts) {
            impulse.tangent = found.tangent;
        }
        solution.friction.clone_from(&answer.friction);
        // Its motion and joints follow from both.
        solution.motion.clone_from(&answer.motion);
        solution.joints.clone_from(&answer.joints);
        Ok(())
    }

    /// Solves one part, pushed by the other.
    fn solve_part(&mut self, problem: &ContactProblem, part: usize) -> Result<(), ContactError> {
        problem.inertia.solve_in_place(&mut self.push);
        let stated = &mut self.problems[part];
        stated.free_motion.clear();
        stated.free_motion.extend(problem.free_motion.iter().zip(&self.push).map(|(free, push)| free + push));
        self.methods[part].solve(stated, &mut self.answers[part])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{BodyKind, RandomContacts};
    use crate::{ContactMethod, ContactSolver, ExactConeSettings, FrictionCondition, PlanarRelay, Row};

    fn solve(problem: &ContactProblem) -> ContactSolution {
        let mut solution = ContactSolution::default();
        Alternating::new(AlternatingSettings::default()).unwrap().solve(problem, &mut solution).unwrap();
        solution
    }

    fn by_cone(problem: &ContactProblem) -> ContactSolution {
        let mut solution = ContactSolution::default();
        let mut solver = ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap();
        solver.solve(problem, &mut solution).unwrap();
        solution
    }

    /// One contact in the plane with $G_{NN} = G_{TT} = 1$ and $G_{NT} = -g$ that falls with 1 m/s
    /// and slides forwards: friction, backwards, lifts it.
    fn leaning(g: f64, mu: f64, slide: f64) -> ContactProblem {
        let mut problem = ContactProblem { free_motion: vec![-1.0, slide], ..Default::default() };
        problem.inertia.set_diagonal(&[1.0; 2]);
        problem.inertia.factor().unwrap();
        let root = (1.0 - g * g).sqrt();
        problem.contacts.push(ContactCondition {
            normal: Row::from_dense(&[1.0, 0.0]),
            tangents: [Row::from_dense(&[-g, root])].into_iter().collect(),
            mu,
            ..Default::default()
        });
        problem
    }

    #[test]
    fn it_converges_with_the_factor_of_the_coupling_and_swings_beyond_one() {
        // Sliding on: c_t = -μ c_n and c_n = 1 - g μ c_n, so c_n = 1 / (1 + g μ), for any μ.
        let g = 0.8;
        for (mu, converges) in
            [(0.25, true), (0.5, true), (1.0, true), (1.2, true), (1.3, false), (2.0, false), (5.0, false)]
        {
            let problem = leaning(g, mu, 20.0);
            let expected = 1.0 / (1.0 + g * mu);
            let found = solve(&problem);
            assert_eq!(found.report.is_solved(), converges, "μ = {mu}: {:?}", found.report);
            if converges {
                assert!((found.contacts[0].normal - expected).abs() < 1e-9, "μ = {mu}: {:?}", found.contacts);
            }
            // The complementarity problem has the one solution, however large the friction is.
            let mut relay = ContactSolution::default();
            PlanarRelay::default().solve(&problem, &mut relay).unwrap();
            assert!(relay.report.is_solved() && (relay.contacts[0].normal - expected).abs() < 1e-12, "{relay:?}");
        }
        // The work is that of the factor κ = μ g: log(1e-13) / log κ rounds, each with some
        // iterations.
        let rounds = |mu: f64| solve(&leaning(g, mu, 20.0)).report.iterations as f64;
        assert!(rounds(1.2) > 10.0 * rounds(0.25), "{} and {}", rounds(1.2), rounds(0.25));
    }

    #[test]
    fn it_finds_what_the_cone_finds_where_friction_is_moderate() {
        for (is_planar, mu) in [(true, [0.0, 0.4]), (false, [0.0, 0.3])] {
            let family = RandomContacts {
                contact_count: 4,
                bodies: BodyKind::Rods,
                is_planar,
                mu,
                kick: 1.0,
                ..Default::default()
            };
            let mut solved = 0;
            for seed in 0..60 {
                let problem = family.problem(seed);
                let (found, expected) = (solve(&problem), by_cone(&problem));
                if !(found.report.is_solved() && expected.report.is_solved()) {
                    continue;
                }
                solved += 1;
                let far = found.motion.iter().zip(&expected.motion).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                let size = expected.motion.iter().fold(1.0f64, |size, u| size.max(u.abs()));
                assert!(far < 1e-7 * size, "seed {seed}: {far:e}");
            }
            assert!(solved >= 50, "{solved} of 60, plane: {is_planar}");
        }
    }

    #[test]
    fn ellipses_torsion_and_friction_elements_are_exact() {
        let mut problem = ContactProblem { free_motion: vec![2.0, 1.0, -3.0, 4.0], ..Default::default() };
        problem.inertia.set_diagonal(&[2.0, 2.0, 2.0, 0.1]);
        problem.inertia.factor().unwrap();
        let row = |values: [f64; 4]| Row::from_dense(&values);
        problem.contacts.push(ContactCondition {
            normal: row([0.1, 0.0, 1.0, 0.0]),
            tangents: [row([1.0, 0.0, 0.0, 0.0]), row([0.0, 1.0, 0.0, 0.0]), row([0.0, 0.0, 0.0, 1.0])]
                .into_iter()
                .collect(),
            mu: 0.3,
            friction_axes: [1.0, 0.5, 0.05],
            ..Default::default()
        });
        let tangents = [row([1.0, 0.0, 0.0, 0.2]), row([0.0, 1.0, 0.0, 0.0])].into_iter().collect();
        problem.friction.push(FrictionCondition { tangents, bound: 0.2, ..Default::default() });
        for shape in [FrictionShape::Ball, FrictionShape::DiscAndInterval] {
            problem.contacts[0].friction_shape = shape;
            let (found, expected) = (solve(&problem), by_cone(&problem));
            assert!(found.report.is_solved() && expected.report.is_solved(), "{:?}", found.report);
            let far = found.motion.iter().zip(&expected.motion).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 1e-10, "{far:e}");
        }
    }
}

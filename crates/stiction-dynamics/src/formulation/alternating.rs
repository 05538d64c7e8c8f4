//! Normal and tangential problems in turn: the alternation of Panagiotopoulos, which \[GS05\] §5 names beside its own complementarity problem.
//!
//! With the friction impulses held, the normal impulses solve a convex program; with the normal impulses held, so does friction, because its bounds are then numbers:
//!
//! $$ \min_{c_n \ge 0} \tfrac12 c_n^T G_{NN} c_n + (b_N + G_{NT} c_t)^T c_n, \qquad
//! \min_{c_t \in C(\mu c_n + a)} \tfrac12 c_t^T G_{TT} c_t + (b_T + G_{TN} c_n)^T c_t. $$
//!
//! The two are solved in turn, with joints in both, until the [judge](crate::judge) says that the pair solves the contact problem. Both are [contact problems](ContactProblem)
//! themselves: one without friction, and one in which every contact is a friction element. Friction sets are exact.
//!
//! **What it misses.** Each part is solved however friction is; together they are a fixed-point iteration, which nothing makes a contraction. A single contact that slides has
//! $c_n \mapsto (-b_N \pm \mu G_{NT} c_n) / G_{NN}$, so that it converges with the factor
//!
//! $$ \kappa = \mu \lvert G_{NT} \rvert / G_{NN}, $$
//!
//! and not at all for $\kappa \ge 1$. That is Painlevé's bound on one side, where friction presses the contact and there may be no solution or several. On the other side friction lifts it:
//! the problem has exactly one solution, which the complementarity problem finds, and the alternation swings between two wrong answers. Of several solutions it finds only
//! those that attract it. Where wedges or chains of contacts jam, $\kappa$ is near one, and rounds are many. None of this is hidden: what is not reached is not solved, and the step goes on down its
//! ladder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stiction_solve::SolveStatus;

use super::exact_cone::{ExactCone, ExactConeSettings};
use super::{Formulation, FrictionSets, MethodFacts, MethodSettings, StatedSet};
use crate::contact::Tangents;
use crate::judge::{Judge, own_set, solved_limit};
use crate::setting::{Named, SettingError, at_least_one, positive};
use crate::{
    ContactCondition, ContactError, ContactImpulse, ContactProblem, ContactSolution, FrictionCondition, FrictionShape,
    Row, StatedProblem,
};

/// Rounds after which a residual that has not halved is given up. A factor of 0.99 halves it in 69.
const PATIENCE: usize = 100;

/// Settings of the alternation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AlternatingSettings {
    /// Residual at which the rounds end; one that is not reached may still count as solved. Too small: rounds that rounding makes useless.
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
        MethodFacts {
            named: Named {
                name: "alternating",
                summary: "Normal and tangential problems in turn, with exact friction sets: for comparison, as it need not converge. [GS05]",
                suffixes: &[],
            },
            sets: FrictionSets::Round,
            is_exact: true,
        }
    }

    fn check(&self, _: usize) -> Result<(), SettingError> {
        positive("tolerance", "the tolerance", self.tolerance, "(relative)")?;
        at_least_one("iteration-limit", "rounds", self.iteration_limit)
    }

    fn build(&self) -> Result<Box<dyn Formulation>, ContactError> {
        Ok(Box::new(Alternating::new(self.clone())?))
    }
}

impl Formulation for Alternating {
    fn check_set(&self, what: &dyn Fn() -> String, set: StatedSet<'_>) -> Result<(), ContactError> {
        set.refuse_of_user(what, "the method `alternating`")?;
        match set.shape {
            FrictionShape::Polytope(_) => Err(ContactError::Polytope { what: what() }),
            // Its two parts have bounds of their own, and the tangential problem knows one for an element.
            FrictionShape::DiscAndInterval if !set.has_normal => {
                Err(ContactError::NotRound { what: what(), method: "alternating" })
            }
            _ => Ok(()),
        }
    }

    fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.solve(problem, solution)
    }

    fn forget(&mut self) -> bool {
        self.forget()
    }

    fn state(&self, problem: &ContactProblem) -> Result<StatedProblem, ContactError> {
        Ok(StatedProblem::Cone(self.methods[0].cone_problem(problem)))
    }

    fn duplicate(&self) -> Box<dyn Formulation> {
        Box::new(self.clone())
    }
}

/// The alternation with its workspace.
#[derive(Clone, Debug)]
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
        let method = || ExactCone::new(ExactConeSettings::default());
        Ok(Self {
            settings,
            methods: [method()?, method()?],
            problems: Default::default(),
            answers: Default::default(),
            push: Vec::new(),
            best: ContactSolution::default(),
            memory: None,
            judge: Judge::default(),
        })
    }

    /// Forgets the last solution. Whether there was one.
    pub(crate) fn forget(&mut self) -> bool {
        self.methods.iter_mut().for_each(|method| _ = method.forget());
        self.memory.take().is_some()
    }

    /// Solves a contact problem whose inertia is factored.
    ///
    /// # Errors
    /// [`ContactError`] when a number is not finite, the inertia is singular, or friction has no tangent rows. A problem that was not solved is not an error but a status of the
    /// report.
    pub fn solve(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.state(problem)?;
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

    /// States both parts, with the motion of the whole problem.
    fn state(&mut self, problem: &ContactProblem) -> Result<(), ContactError> {
        for part in &mut self.problems {
            part.inertia.clone_from(&problem.inertia);
            part.joints.clone_from(&problem.joints);
            part.contacts.clear();
            part.friction.clear();
        }
        let [normal, tangential] = &mut self.problems;
        for contact in &problem.contacts {
            normal.contacts.push(ContactCondition {
                id: contact.id,
                normal: contact.normal.clone(),
                normal_bias: contact.normal_bias,
                rounding: contact.rounding,
                ..Default::default()
            });
            for (range, bias) in parts(contact) {
                let tangents = scaled(&contact.tangents[range.clone()], &contact.friction_axes[range]);
                let id = tangential.friction.len() as u32;
                tangential.friction.push(FrictionCondition { id, tangents, tangent_bias: bias, ..Default::default() });
            }
            if contact.tangents.is_empty() && (contact.mu > 0.0 || contact.extra_bound > 0.0) {
                return Err(ContactError::NoTangents { what: format!("contact {:?}", contact.id) });
            }
        }
        for element in &problem.friction {
            let id = tangential.friction.len() as u32;
            tangential.friction.push(FrictionCondition { id, ..element.clone() });
        }
        Ok(())
    }

    /// Begins with the friction of the last solution, or without.
    fn begin(&self, problem: &ContactProblem, solution: &mut ContactSolution) {
        let start = |contact: &ContactCondition| {
            let memory = self.memory.as_ref()?;
            memory.contacts.iter().find(|impulse| impulse.id == contact.id).copied()
        };
        solution.contacts.clear();
        solution.contacts.extend(
            problem
                .contacts
                .iter()
                .map(|contact| start(contact).unwrap_or(ContactImpulse { id: contact.id, ..Default::default() })),
        );
        let known = self.memory.as_ref().map(|memory| &memory.friction);
        solution.friction = known.filter(|known| known.len() == problem.friction.len()).cloned().unwrap_or_default();
        solution.friction.resize(problem.friction.len(), [0.0; 3]);
        solution.report.size = problem.contacts.len() + problem.friction.len();
    }

    /// One round: the normal problem with the friction of the solution, then the tangential problem with the normal impulses found.
    fn turn(&mut self, problem: &ContactProblem, solution: &mut ContactSolution) -> Result<(), ContactError> {
        self.push.clear();
        self.push.resize(problem.free_motion.len(), 0.0);
        for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
            contact.tangents.iter().zip(impulse.tangent).for_each(|(row, c)| row.add_to(c, &mut self.push));
        }
        for (element, impulse) in problem.friction.iter().zip(&solution.friction) {
            element.tangents.iter().zip(impulse).for_each(|(row, &c)| row.add_to(c, &mut self.push));
        }
        self.solve_part(problem, 0)?;
        for (impulse, found) in solution.contacts.iter_mut().zip(&self.answers[0].contacts) {
            impulse.normal = found.normal;
        }

        self.push.fill(0.0);
        let mut bounds = self.problems[1].friction.iter_mut();
        for (contact, impulse) in problem.contacts.iter().zip(&solution.contacts) {
            contact.normal.add_to(impulse.normal, &mut self.push);
            let bound = contact.mu * impulse.normal.max(0.0) + contact.extra_bound;
            parts(contact).for_each(|_| bounds.next().expect("every part was stated").bound = bound);
        }
        self.solve_part(problem, 1)?;
        let [_, answer] = &self.answers;
        let mut found = answer.friction.iter();
        for (contact, impulse) in problem.contacts.iter().zip(&mut solution.contacts) {
            impulse.tangent = [0.0; 3];
            for (range, _) in parts(contact) {
                let part = found.next().expect("every part was solved");
                range.zip(part).for_each(|(k, &y)| impulse.tangent[k] = contact.friction_axes[k] * y);
            }
        }
        solution.friction.clear();
        solution.friction.extend(found.copied());
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

/// The tangent rows that share a bound, with their biases: all of them, or the two of the plane and that of the torsion. None without friction.
fn parts(contact: &ContactCondition) -> impl Iterator<Item = (std::ops::Range<usize>, [f64; 3])> {
    let count = if contact.mu > 0.0 || contact.extra_bound > 0.0 { contact.tangents.len() } else { 0 };
    let is_split = count == 3 && contact.friction_shape == FrictionShape::DiscAndInterval;
    let ranges = if is_split { [0..2, 2..3] } else { [0..count, 0..0] };
    let bias = contact.tangent_bias;
    let axes = contact.friction_axes;
    ranges.into_iter().filter(|range| !range.is_empty()).map(move |range| {
        let mut own = [0.0; 3];
        range.clone().for_each(|k| own[k - range.start] = axes[k] * bias[k]);
        (range, own)
    })
}

/// Rows in units of the semi-axes, in which an ellipse is a circle.
fn scaled(tangents: &[Row], axes: &[f64]) -> Tangents {
    let scale = |(row, axis): (&Row, &f64)| {
        let mut out = Row::new();
        row.entries().iter().for_each(|&(index, value)| out.push(index, axis * value));
        out
    };
    tangents.iter().zip(axes).map(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{BodyKind, RandomContacts};
    use crate::{ContactMethod, ContactSolver, PlanarRelay};

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

    /// One contact in the plane with $G_{NN} = G_{TT} = 1$ and $G_{NT} = -g$ that falls with 1 m/s and slides forwards: friction, backwards, lifts it.
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
        // The work is that of the factor κ = μ g: log(1e-13) / log κ rounds, each with some iterations.
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

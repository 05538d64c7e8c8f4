//! Forces and accelerations of one instant, and how many of them there are.
//!
//! Contacts that slide are told from contacts that rest, the sets $\mathcal{N}$ and $\mathcal{R}$
//! of \[TTP01\]. With $\dot v$ for the acceleration, $s$ for the unit vector of a sliding velocity,
//! and $f$ for all applied and gyroscopic forces:
//!
//! $$ \begin{aligned}
//! M \dot v &= f + \sum_{\mathcal{N}} (n^T - \mu T^T s) \lambda_n + \sum_{\mathcal{R}} (n^T \lambda_n + T^T \lambda_t), \\\\
//! 0 \le \lambda_n &\perp n \dot v + \dot n v \ge 0, \\\\
//! (T \dot v + \dot T v,\ \lambda_t) &\text{ obey the friction law with bound } \mu \lambda_n \text{ on } \mathcal{R}.
//! \end{aligned} $$
//!
//! The friction of a sliding contact is known up to its normal force. It makes the matrix of the
//! problem unsymmetric, and its diagonal may become negative: then there may be no solution (the
//! paradox of Painlevé), or several. Velocities are those of the instant: contacts that part or
//! approach do not belong here.
//!
//! **Torsion.** The friction set is the ellipsoid (1) of \[TTP01\],
//! $\sum (\lambda_a / e_a)^2 \le (\mu \lambda_n)^2$ over the tangents and the row of torsion. With
//! the rows $e_a T_a$ it is a ball in the unknowns $\lambda_a / e_a$, and that is how every method
//! sees it. A contact that slides and drills with $(v_t, v_o, v_r)$ has
//! $s_a = e_a v_a / \lVert e v \rVert$ and the friction $-\mu \lambda_n e_a s_a$, which is (2)
//! solved.

use stiction_solve::PortableMath as _;
use stiction_solve::enumerate::LARGEST_SIZE;
use stiction_solve::{ContactLcp, FrictionGroup, LcpSolution, Lemke, LemkeProblem, LemkeSettings, enumerate};

use crate::contact::Tangents;
use crate::formulation::convex::Convex;
use crate::least_norm::least_norm_with_kinetic;
use crate::{
    ContactCondition, ContactError, ContactId, ContactProblem, ContactSolution, Directions, FrictionShape, Inertia,
    LeastNorm, PhantomContact, PhantomInertia, PlanarRelay, Pyramid, PyramidSettings, Row, Untreated,
};

/// A sliding direction whose length differs from one by more is refused.
const UNIT_LENGTH: f64 = 1e-9;

/// Directions of the pyramids from whose answers the exact friction set is tried.
const EXACT_STARTS: [usize; 4] = [8, 16, 32, 4];

/// Two solutions whose accelerations differ by less, relative to the largest and to that of the
/// free motion, are the same motion.
const SAME_MOTION: f64 = 1e-9;

/// What acts at one instant; see the [module](self) for the letters.
#[derive(Clone, Debug, Default)]
pub struct Instant {
    /// $M$, factored.
    pub inertia: Inertia,
    /// $f$, in N (N m for a rotation).
    pub force: Vec<f64>,
    /// Closed contacts.
    pub contacts: Vec<InstantContact>,
}

/// A closed contact that slides or rests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstantContact {
    /// Which contact.
    pub id: ContactId,
    /// The row $n$.
    pub normal: Row,
    /// $\dot n v$, in m/s².
    pub normal_bias: f64,
    /// The rows $T$: one or two, and that of torsion.
    pub tangents: Tangents,
    /// $\dot T v$, in m/s².
    pub tangent_bias: [f64; 3],
    /// Coefficient of friction $\mu$: kinetic where it slides, static where it rests.
    pub mu: f64,
    /// Unit vector $s$ of the sliding velocity along the tangents, in units of the semi-axes; none
    /// where the contact rests.
    pub sliding: Option<[f64; 2]>,
    /// Its component about the normal, where the contact slides and drills.
    pub drilling: f64,
    /// Semi-axes $e$ of friction as factors on $\mu$, of torsion a length in metres; none are ones.
    pub semi_axes: Option<[f64; 3]>,
    /// What the method `phantom-inertia` does differently for this contact: $k_i$ and $\rho_i$.
    pub phantom: PhantomContact,
}

impl InstantContact {
    fn axes(&self) -> [f64; 3] {
        self.semi_axes.unwrap_or([1.0; 3])
    }

    /// Friction along the tangents for each unit of $-\mu \lambda_n$, where it is known.
    pub(crate) fn kinetic(&self) -> Option<[f64; 3]> {
        let ([t, o], axes) = (self.sliding?, self.axes());
        Some([axes[0] * t, axes[1] * o, axes[2] * self.drilling])
    }
}

/// All motions of an instant that enumeration found.
#[derive(Clone, Debug, Default)]
pub struct Motions {
    /// One solution for each motion.
    pub solutions: Vec<ContactSolution>,
    /// Bases that could not be decided. With none, the list is complete: if it is empty, there is
    /// no solution.
    pub undecided: usize,
}

impl Motions {
    /// Adds a motion that is not among them; what is small beside the free motion is rounding.
    fn add(&mut self, solution: ContactSolution, free: &[f64]) {
        let free = free.iter().fold(0.0f64, |largest, u| largest.max(u.abs()));
        let is_same = |other: &ContactSolution| {
            let pairs = || other.motion.iter().zip(&solution.motion);
            let largest = pairs().fold(free, |largest, (a, b)| largest.max(a.abs()).max(b.abs()));
            pairs().all(|(a, b)| (a - b).abs() <= SAME_MOTION * largest)
        };
        if !self.solutions.iter().any(is_same) {
            self.solutions.push(solution);
        }
    }
}

impl Instant {
    /// Forces and accelerations by the friction pyramid. The report says how it ended; an instant
    /// without solution is no error.
    ///
    /// # Errors
    /// [`ContactError`] when the instant is malformed.
    pub fn solve_pyramid(&self, settings: &PyramidSettings) -> Result<ContactSolution, ContactError> {
        let (problem, force_rows) = self.problem()?;
        let mut solution = self.solve_in_units(&problem, &force_rows, settings)?;
        self.finish(&mut solution);
        Ok(solution)
    }

    /// Forces and accelerations with the friction set as it is, by Newton's method from the answers
    /// of pyramids. The report says how it ended.
    ///
    /// # Errors
    /// [`ContactError`] when the instant is malformed.
    pub fn solve_exact(&self) -> Result<ContactSolution, ContactError> {
        let (problem, force_rows) = self.problem()?;
        let mut method = Convex::new()?;
        let mut solution = ContactSolution::default();
        for count in EXACT_STARTS {
            let settings = PyramidSettings { directions: Directions::Regular(count), ..Default::default() };
            solution = self.solve_in_units(&problem, &force_rows, &settings)?;
            method.improve(&problem, Some(&force_rows), &mut solution);
            if solution.report.is_solved() {
                break;
            }
        }
        self.finish(&mut solution);
        Ok(solution)
    }

    /// The answer of a pyramid, with friction in units of the semi-axes.
    fn solve_in_units(
        &self,
        problem: &ContactProblem,
        force_rows: &[Row],
        settings: &PyramidSettings,
    ) -> Result<ContactSolution, ContactError> {
        let (lcp, solved) = Self::pyramid_lcp(problem, force_rows, settings)?;
        let mut answer = LcpSolution::default();
        Lemke::default().solve_or_enumerate(&lcp, &settings.lemke, &[], &mut answer);
        let z = (answer.z.len() == lcp.unknown_count()).then_some(&answer.z[..]);
        let mut solution = Self::of_pyramid(problem, &lcp, &solved, z);
        solution.report = answer.report;
        Ok(solution)
    }

    /// The LCP of the pyramid, and $M^{-1}$ times its columns.
    fn pyramid_lcp(
        problem: &ContactProblem,
        force_rows: &[Row],
        settings: &PyramidSettings,
    ) -> Result<(ContactLcp, Vec<Row>), ContactError> {
        let pyramid = Pyramid::new(settings.clone())?;
        let mut lcp = ContactLcp::default();
        let mut data = lcp.take_data();
        data.clear();
        let (mut rows, mut columns): (Vec<(&Row, f64)>, Vec<&Row>) = (Vec::new(), Vec::new());
        for (contact, force_row) in problem.contacts.iter().zip(force_rows) {
            let normal = rows.len();
            rows.push((&contact.normal, contact.normal_bias));
            columns.push(force_row);
            rows.extend(contact.tangents.iter().zip(contact.tangent_bias));
            columns.extend(&contact.tangents);
            let first = data.directions.len();
            match contact.tangents.len() {
                3 => data.directions.extend(pyramid.solid_corners(&FrictionShape::Ball)),
                count => data.directions.extend(pyramid.corners(count).iter().map(|&[t, o]| [t, o, 0.0])),
            }
            data.groups.push(FrictionGroup {
                normal: Some(normal),
                tangent: normal + 1,
                tangent_count: contact.tangents.len(),
                directions: first..data.directions.len(),
                mu: contact.mu,
                bound: 0.0,
            });
        }
        let mut solved = vec![Row::new(); columns.len()];
        for (column, solved) in columns.iter().zip(&mut solved) {
            problem.inertia.solve_row(column.entries(), solved);
            let mut dense = vec![0.0; problem.free_motion.len()];
            solved.add_to(1.0, &mut dense);
            data.delassus.extend(rows.iter().map(|(row, _)| row.dot(&dense)));
        }
        data.free_rates.extend(rows.iter().map(|(row, bias)| row.dot(&problem.free_motion) + bias));
        lcp.state(data)?;
        Ok((lcp, solved))
    }

    /// Forces and accelerations that belong to a solution of that LCP; none without.
    fn of_pyramid(problem: &ContactProblem, lcp: &ContactLcp, solved: &[Row], z: Option<&[f64]>) -> ContactSolution {
        let mut solution = ContactSolution { motion: problem.free_motion.clone(), ..Default::default() };
        let mut forces = vec![0.0; solved.len()];
        if let Some(z) = z {
            lcp.impulses(z, &mut forces);
        }
        solved.iter().zip(&forces).for_each(|(solved, &force)| solved.add_to(force, &mut solution.motion));
        for (contact, group) in problem.contacts.iter().zip(&lcp.data().groups) {
            let mut tangent = [0.0; 3];
            let own = &forces[group.tangent..group.tangent + group.tangent_count];
            tangent[..own.len()].copy_from_slice(own);
            let normal = group.normal.map_or(0.0, |row| forces[row]);
            solution.contacts.push(crate::ContactImpulse { id: contact.id, normal, tangent });
        }
        solution
    }

    /// Forces and accelerations by relay functions, \[GS05\] (27), (33), where all contacts that
    /// rest have one tangent; those that slide may have two, as their friction is known.
    ///
    /// # Errors
    /// [`Untreated::NotPlanar`] when a contact with two tangents rests; else [`ContactError`] when
    /// the instant is malformed.
    pub fn solve_relay(&self, method: &mut PlanarRelay) -> Result<ContactSolution, ContactError> {
        self.solve_in_the_plane(|problem, force_rows, solution| method.solve_along(problem, force_rows, solution))
    }

    /// Forces and accelerations by phantom inertia.
    ///
    /// # Errors
    /// [`ContactError`] when the instant is malformed.
    pub fn solve_phantom(&self, method: &mut PhantomInertia) -> Result<ContactSolution, ContactError> {
        self.solve_in_the_plane(|problem, force_rows, solution| method.solve_along(problem, force_rows, solution))
    }

    fn solve_in_the_plane(
        &self,
        solve: impl FnOnce(&ContactProblem, Option<&[Row]>, &mut ContactSolution) -> Result<(), ContactError>,
    ) -> Result<ContactSolution, ContactError> {
        let (problem, force_rows) = self.problem_without_torsion()?;
        let mut solution = ContactSolution::default();
        solve(&problem, Some(&force_rows), &mut solution)?;
        self.finish(&mut solution);
        Ok(solution)
    }

    /// All motions, by trying every basis of the LCP of phantom inertia, which has full rank; none
    /// when it has more than [`LARGEST_SIZE`] unknowns: one for each contact, and $2k$ more for
    /// each that rests. With three lines or more the slip of an open contact is a sum of them in
    /// many ways, so that bases stay undecided; two lines decide.
    ///
    /// # Errors
    /// [`ContactError`] when the instant is malformed, or its friction rows depend on each other.
    pub fn motions(&self, method: &PhantomInertia) -> Result<Option<Motions>, ContactError> {
        let (problem, force_rows) = self.problem_without_torsion()?;
        let mut method = method.clone();
        let lcp = method.lcp_along(&problem, Some(&force_rows))?;
        let Some(found) = enumerate(&lcp, &method.settings().lemke) else { return Ok(None) };
        let mut motions = Motions { undecided: found.undecided, ..Default::default() };
        for z in &found.solutions {
            let mut solution = method.solution_at(&problem, Some(&force_rows), z);
            if !solution.report.is_solved() {
                motions.undecided += 1;
                continue;
            }
            self.finish(&mut solution);
            motions.add(solution, &problem.free_motion);
        }
        Ok(Some(motions))
    }

    /// All motions with the friction pyramid of these settings, by trying every basis of its LCP;
    /// none when it has more than [`LARGEST_SIZE`] unknowns: one for each contact, and one more
    /// than there are corners for each that rests. A contact that rests with torsion has $3k + 2$
    /// corners for $k$ directions, so that four directions are as many as there is room for.
    ///
    /// # Errors
    /// [`ContactError`] when the instant is malformed.
    pub fn motions_by_pyramid(&self, settings: &PyramidSettings) -> Result<Option<Motions>, ContactError> {
        let (problem, force_rows) = self.problem()?;
        let (lcp, solved) = Self::pyramid_lcp(&problem, &force_rows, settings)?;
        if lcp.unknown_count() > LARGEST_SIZE {
            return Ok(None);
        }
        let Some(found) = enumerate(&lcp.to_lcp()?, &settings.lemke) else { return Ok(None) };
        let mut motions = Motions { undecided: found.undecided, ..Default::default() };
        for z in &found.solutions {
            let mut solution = Self::of_pyramid(&problem, &lcp, &solved, Some(z));
            self.finish(&mut solution);
            motions.add(solution, &problem.free_motion);
        }
        Ok(Some(motions))
    }

    /// The contact forces of least norm among all that give the accelerations of a solution and
    /// obey the laws, with the friction of resting contacts within the polygon of these `corners`;
    /// see [`least_norm`](crate::least_norm).
    ///
    /// # Errors
    /// [`ContactError`] when the instant is malformed, the solution is not one of it, or the
    /// corners are not those of a polygon.
    pub fn least_norm_forces(
        &self,
        solution: &ContactSolution,
        corners: &[[f64; 2]],
        settings: &LemkeSettings,
    ) -> Result<LeastNorm, ContactError> {
        let (mut problem, _) = self.problem_without_torsion()?;
        if let Some(contact) = self.contacts.iter().find(|contact| contact.axes()[..2] != [1.0; 2]) {
            let reason =
                format!("contact {:?} has semi-axes; forces of least norm are found for round friction", contact.id);
            return Err(ContactError::Directions(reason));
        }
        let mut kinetic = Vec::new();
        for (condition, contact) in problem.contacts.iter_mut().zip(&self.contacts) {
            (condition.tangents, condition.mu) = (contact.tangents.clone(), contact.mu);
            kinetic.push(contact.sliding);
        }
        least_norm_with_kinetic(&problem, &kinetic, solution, corners, settings)
    }

    /// The same, for methods of the tangent plane.
    fn problem_without_torsion(&self) -> Result<(ContactProblem, Vec<Row>), ContactError> {
        if let Some(contact) = self.contacts.iter().find(|contact| contact.tangents.len() > 2 && contact.mu > 0.0) {
            let what = format!("contact {:?}", contact.id);
            return Err(Untreated::TangentCount(contact.tangents.len()).of(what));
        }
        self.problem()
    }

    /// The contact problem with $u = \dot v$ and rows in units of the semi-axes, where sliding
    /// contacts have no friction of their own, and the rows along which the normal forces act:
    /// $n - \mu s^T T$ for them.
    pub(crate) fn problem(&self) -> Result<(ContactProblem, Vec<Row>), ContactError> {
        let mut problem = ContactProblem { inertia: self.inertia.clone(), ..Default::default() };
        let mut force_rows = Vec::new();
        for contact in &self.contacts {
            let what = || format!("contact {:?}", contact.id);
            if let Some(&value) = contact.axes().iter().find(|e| !(**e > 0.0 && e.is_finite())) {
                return Err(ContactError::Coefficient { what: what(), quantity: "semi-axis of friction", value });
            }
            if !(1..=3).contains(&contact.tangents.len()) && contact.mu > 0.0 {
                return Err(Untreated::TangentCount(contact.tangents.len()).of(what()));
            }
            let mut force_row = contact.normal.clone();
            if let (Some([t, o]), Some(kinetic)) = (contact.sliding, contact.kinetic()) {
                let s = [t, o, contact.drilling];
                let length = contact.tangents.iter().zip(s).fold(0.0f64, |length, (_, s)| length.portable_hypot(s));
                if (length - 1.0).abs() > UNIT_LENGTH || length.is_nan() {
                    let s = &s[..contact.tangents.len().max(2)];
                    let reason = format!("contact {:?} slides along {s:?}, which is not a unit vector", contact.id);
                    return Err(ContactError::Directions(reason));
                }
                for (row, s) in contact.tangents.iter().zip(kinetic) {
                    force_row.push_scaled(-contact.mu * s, row);
                }
            }
            force_rows.push(force_row);
            let rests = contact.sliding.is_none() && contact.mu > 0.0;
            let axes = contact.axes();
            problem.contacts.push(ContactCondition {
                id: contact.id,
                normal: contact.normal.clone(),
                normal_bias: contact.normal_bias,
                tangents: match rests {
                    true => contact.tangents.iter().zip(axes).map(|(row, axis)| row.scaled(axis)).collect(),
                    false => Tangents::new(),
                },
                tangent_bias: std::array::from_fn(|a| axes[a] * contact.tangent_bias[a]),
                mu: if rests { contact.mu } else { 0.0 },
                phantom: contact.phantom,
                ..Default::default()
            });
        }
        problem.free_motion.extend_from_slice(&self.force);
        problem.check()?;
        // The sliding rows are not part of the problem's own, and the coefficient of a sliding
        // contact is not either.
        for contact in &self.contacts {
            let (what, value) = (|| format!("contact {:?}", contact.id), contact.mu);
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ContactError::Coefficient { what: what(), quantity: "friction coefficient", value });
            }
            let mut entries = contact.tangents.iter().flat_map(|row| row.entries());
            if let Some(&(index, _)) = entries.find(|&&(index, _)| index >= self.force.len()) {
                return Err(ContactError::RowIndex { what: what(), index, count: self.force.len() });
            }
        }
        problem.inertia.solve_in_place(&mut problem.free_motion);
        Ok((problem, force_rows))
    }

    /// Writes friction in its own units, and that of the sliding contacts.
    fn finish(&self, solution: &mut ContactSolution) {
        for (contact, force) in self.contacts.iter().zip(&mut solution.contacts) {
            let axes = contact.axes();
            match contact.kinetic() {
                Some(kinetic) => {
                    (0..contact.tangents.len())
                        .for_each(|a| force.tangent[a] = -contact.mu * kinetic[a] * force.normal);
                }
                None => (0..3).for_each(|a| force.tangent[a] *= axes[a]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PhantomInertiaSettings;
    use crate::families::Generator;
    use crate::reference::painleve_rod as rod;

    const G: f64 = 9.81;

    fn phantom() -> PhantomInertia {
        PhantomInertia::new(PhantomInertiaSettings::default()).unwrap()
    }

    const LEFT: Option<[f64; 2]> = Some([-1.0, 0.0]);

    /// Normal forces of all motions, ascending; the list must be complete.
    fn forces(instant: &Instant) -> Vec<f64> {
        let motions = instant.motions(&phantom()).unwrap().unwrap();
        assert_eq!(motions.undecided, 0);
        let mut forces: Vec<f64> = motions.solutions.iter().map(|solution| solution.contacts[0].normal).collect();
        forces.sort_by(f64::total_cmp);
        forces
    }

    fn assert_forces(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        // The printed numbers have nine decimals or more.
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn the_rod_of_painleve_has_no_motion_one_two_or_three() {
        let steep = 2.0f64.atan();
        assert_forces(&forces(&rod(30f64.to_radians(), 0.5, 0.0, 0.0, LEFT)), &[3.772379109606]);
        assert_forces(&forces(&rod(steep, 2.0, 0.0, 0.0, LEFT)), &[]);
        assert_forces(&forces(&rod(steep, 2.0, 4.0, 0.0, LEFT)), &[0.0, 5.626043819998]);
        assert_forces(&forces(&rod(steep, 2.0, 3.5, -40.0, None)), &[0.0, 1.433416362, 9.381766910]);
    }

    #[test]
    fn both_methods_find_one_of_the_motions_or_say_that_there_is_none() {
        let steep = 2.0f64.atan();
        for instant in [
            rod(0.5, 0.5, 0.0, 0.0, LEFT),
            rod(steep, 2.0, 4.0, 0.0, LEFT),
            rod(steep, 2.0, 3.5, -40.0, None),
            rod(0.7, 0.4, 0.0, -2.0, None),
        ] {
            let known = forces(&instant);
            let solutions = [instant.solve_pyramid(&PyramidSettings::default()), instant.solve_phantom(&mut phantom())];
            for solution in solutions.map(Result::unwrap) {
                assert!(solution.report.is_solved(), "{:?}", solution.report);
                let found = solution.contacts[0];
                assert!(known.iter().any(|force| (force - found.normal).abs() < 1e-9), "{found:?} {known:?}");
                // Momentum by hand: x and y of the centre carry push plus friction, weight plus
                // normal force.
                let push = instant.force[0];
                assert!((solution.motion[0] - push - found.tangent[0]).abs() < 1e-12);
                assert!((solution.motion[1] + G - found.normal).abs() < 1e-12);
            }
        }
        let none = rod(steep, 2.0, 0.0, 0.0, LEFT);
        assert!(!none.solve_pyramid(&PyramidSettings::default()).unwrap().report.is_solved());
        assert!(!none.solve_phantom(&mut phantom()).unwrap().report.is_solved());
    }

    #[test]
    fn at_rest_there_is_always_a_motion() {
        // [ST96] and others prove it for contacts without sliding velocity: the matrix is
        // copositive.
        let mut generator = Generator::new(7);
        let mut several = 0;
        for _ in 0..1000 {
            let (angle, mu) = (generator.uniform(0.05, 1.5), generator.uniform(0.0, 4.0));
            let (omega, push) = (generator.uniform(-6.0, 6.0), generator.uniform(-60.0, 60.0));
            let instant = rod(angle, mu, omega, push, None);
            let count = forces(&instant).len();
            assert!(count >= 1, "{angle} {mu} {omega} {push}");
            several += usize::from(count > 1);
            assert!(instant.solve_phantom(&mut phantom()).unwrap().report.is_solved());
        }
        assert!(several > 0, "the states should reach the paradox");
    }

    #[test]
    fn a_sliding_direction_must_be_a_unit_vector() {
        let error = rod(0.5, 0.5, 0.0, 0.0, Some([0.5, 0.0])).solve_phantom(&mut phantom()).unwrap_err();
        assert!(error.to_string().contains("[0.5, 0.0], which is not a unit vector"), "{error}");
    }
}

//! When a problem has no solution: a set of normal impulses that proves it.
//!
//! Impulses $d \ge 0$ along the normals, and $\lambda$ of any sign at the joints, that together
//! move nothing but work against the biases,
//!
//! $$ H_N^T d + G^T \lambda = 0, \qquad w_N^T d + b^T \lambda < 0, $$
//!
//! prove that there is no solution: it would have $u_N = H_N v + w_N \ge 0$ and $G v + b = 0$, and
//! so $0 \le d^T u_N + \lambda^T (G v + b) < 0$. A body that is squeezed between two walls that
//! close in on each other is of this kind. Friction cannot help, whatever its law.
//!
//! In the form with an explicit matrix the first condition is $\sum_i d_i W_{N_i,\cdot} = 0$, and
//! $q$ stands for $w$.
//!
//! Both conditions are checked exactly, so that they hold for the problem to its last bit: one
//! whose data are rounded may have a solution with huge impulses.

use std::cmp::Ordering;

use faer::Mat;

use super::law::LawKind;
use super::problem::{GlobalConeProblem, LocalConeProblem};
use super::sparse_rows::SparseRows;
use crate::exact::{sign_of_sum, simplified};
use crate::{Lcp, LemkeSettings, SparseLu};

/// Rows up to which a certificate is looked for: it takes a dense matrix.
pub(crate) const ROW_LIMIT: usize = 300;

/// Whether the normal impulses `d`, one for each contact, and `joints` prove that a global problem
/// has no solution. The entry of a contact without a normal row does not count.
///
/// # Panics
/// When the numbers of impulses are not those of contacts and joint rows.
pub fn proves_no_global_solution(problem: &GlobalConeProblem, d: &[f64], joints: &[f64]) -> bool {
    assert_eq!((d.len(), joints.len()), (problem.cones().len(), problem.joint_bias().len()), "impulses");
    let contacts = normal_rows(problem.cones())
        .map(|(contact, row)| (d[contact], problem.contacts().row(row), problem.contact_bias()[row]));
    let joints = joints
        .iter()
        .enumerate()
        .map(|(row, &impulse)| (impulse, problem.joints().row(row), problem.joint_bias()[row]));
    normal_rows(problem.cones()).all(|(contact, _)| d[contact] >= 0.0)
        && moves_nothing_and_works(problem.coordinate_count(), contacts.chain(joints))
}

/// Whether the normal impulses `d`, one for each contact, prove that a local problem has no
/// solution. The entry of a contact without a normal row does not count.
///
/// # Panics
/// When there are not as many impulses as contacts.
pub fn proves_no_local_solution(problem: &LocalConeProblem, d: &[f64]) -> bool {
    assert_eq!(d.len(), problem.cones().len(), "impulses");
    let rows = normal_rows(problem.cones())
        .map(|(contact, row)| (d[contact], problem.matrix().row(row), problem.offset()[row]));
    normal_rows(problem.cones()).all(|(contact, _)| d[contact] >= 0.0)
        && moves_nothing_and_works(problem.offset().len(), rows)
}

/// Checks the two conditions for rows with their impulses and biases, exactly.
fn moves_nothing_and_works<'a>(columns: usize, rows: impl Iterator<Item = (f64, &'a [(usize, f64)], f64)>) -> bool {
    let mut terms: Vec<Vec<(f64, f64)>> = vec![Vec::new(); columns];
    let mut work = Vec::new();
    for (impulse, row, bias) in rows.filter(|row| row.0 != 0.0) {
        if !impulse.is_finite() {
            return false;
        }
        row.iter().for_each(|&(column, value)| terms[column].push((impulse, value)));
        work.push((impulse, bias));
    }
    sign_of_sum(work.iter().copied()) == Ordering::Less
        && terms.iter().all(|terms| sign_of_sum(terms.iter().copied()) == Ordering::Equal)
}

/// Contacts that have a normal row, with it.
fn normal_rows(cones: &[super::Cone]) -> impl Iterator<Item = (usize, usize)> {
    let mut next = 0;
    cones.iter().enumerate().filter_map(move |(contact, cone)| {
        let row = next;
        next += cone.row_count();
        (cone.law().kind == LawKind::Contact).then_some((contact, row))
    })
}

/// Looks for a certificate of a local problem: impulses that were checked, one for each contact.
pub(crate) fn of_local(problem: &LocalConeProblem) -> Option<Vec<f64>> {
    let rows: Vec<(usize, usize)> = normal_rows(problem.cones()).collect();
    let matrix = Mat::from_fn(rows.len(), rows.len(), |i, j| problem.matrix().entry(rows[i].1, rows[j].1));
    let offset: Vec<f64> = rows.iter().map(|&(_, row)| problem.offset()[row]).collect();
    let z = least_motion(matrix, &offset)?;
    simplified(&z).find_map(|z| {
        let mut d = vec![0.0; problem.cones().len()];
        rows.iter().zip(&z).for_each(|(&(contact, _), &z)| d[contact] = z);
        proves_no_local_solution(problem, &d).then_some(d)
    })
}

/// Looks for a certificate of a global problem with the factors of its mass matrix: impulses that
/// were checked, one for each contact and then those of the joints.
pub(crate) fn of_global(problem: &GlobalConeProblem, mass: &SparseLu, workspace: &mut Vec<f64>) -> Option<Vec<f64>> {
    // Rows with their biases: the normals, and each joint row in both directions.
    let contacts =
        normal_rows(problem.cones()).map(|(_, row)| (problem.contacts(), row, 1.0, problem.contact_bias()[row]));
    let joints = |sign: f64| {
        let biases = problem.joint_bias().iter().enumerate();
        biases.map(move |(row, &bias)| (problem.joints(), row, sign, sign * bias))
    };
    let rows: Vec<(&SparseRows, usize, f64, f64)> = contacts.chain(joints(1.0)).chain(joints(-1.0)).collect();
    let count = rows.len();
    let mut matrix = Mat::zeros(count, count);
    let mut column = vec![0.0; problem.coordinate_count()];
    for j in 0..count {
        let (of, row, sign, _) = rows[j];
        column.fill(0.0);
        mass.solve_entries(of.row(row), workspace, |i, value| column[i] = sign * value);
        for i in 0..count {
            matrix[(i, j)] = rows[i].2 * rows[i].0.dot(rows[i].1, &column);
        }
    }
    let offset: Vec<f64> = rows.iter().map(|row| row.3).collect();
    let z = least_motion(matrix, &offset)?;
    simplified(&z).find_map(|z| {
        let mut d = vec![0.0; problem.cones().len()];
        let mut next = 0;
        for (contact, _) in normal_rows(problem.cones()) {
            d[contact] = z[next];
            next += 1;
        }
        let joint_count = problem.joint_bias().len();
        let joints: Vec<f64> = (0..joint_count).map(|row| z[next + row] - z[next + joint_count + row]).collect();
        proves_no_global_solution(problem, &d, &joints).then(|| [d, joints].concat())
    })
}

/// The impulses $z \ge 0$ that minimise $\frac12 z^T W z + \frac12 (c^T z + 1)^2$ with
/// $c = q / \lVert q \rVert$: where a certificate exists, it makes both terms zero. A convex
/// problem, and so an LCP that Lemke's method solves.
fn least_motion(mut matrix: Mat<f64>, offset: &[f64]) -> Option<Vec<f64>> {
    let count = offset.len();
    let norm = offset.iter().map(|q| q * q).sum::<f64>().sqrt();
    if count == 0 || norm == 0.0 {
        return None;
    }
    let mean = (0..count).map(|i| matrix[(i, i)]).sum::<f64>() / count as f64;
    let scale = if mean > 0.0 { 1.0 / mean } else { 1.0 };
    let c: Vec<f64> = offset.iter().map(|q| q / norm).collect();
    for j in 0..count {
        for i in 0..count {
            matrix[(i, j)] = scale * matrix[(i, j)] + c[i] * c[j];
        }
    }
    let solution = Lcp::new(matrix, c).ok()?.solve(&LemkeSettings::default());
    let largest = solution.z.iter().fold(0.0f64, |largest, &z| largest.max(z));
    // What is rounding beside the largest is none: a proof has to be exact.
    Some(solution.z.iter().map(|&z| if z > 1e-13 * largest { z } else { 0.0 }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SolveStatus;
    use crate::cone::{Cone, ConeSettings, ConeSolver};

    /// A body between a floor and a ceiling, which come closer at these rates.
    fn squeezed(floor: f64, ceiling: f64) -> GlobalConeProblem {
        let mut problem = GlobalConeProblem::default();
        problem.clear(3);
        (0..3).for_each(|i| problem.push_mass(i, i, 2.0));
        problem.force_mut()[2] = 0.3;
        let tangents = [vec![(1, 1.0)], vec![(2, 1.0)]];
        let contact = |sign: f64| [vec![(0, sign)]].into_iter().chain(tangents.clone());
        problem.push_contact(Cone::coulomb(0.5), contact(1.0), [-floor, 0.0, 0.0]);
        problem.push_contact(Cone::coulomb(0.5), contact(-1.0), [-ceiling, 0.0, 0.0]);
        problem
    }

    #[test]
    fn a_squeezed_body_has_no_solution_and_that_is_proved() {
        let problem = squeezed(1.0, 0.5);
        assert!(proves_no_global_solution(&problem, &[1.0, 1.0], &[]));
        assert!(!proves_no_global_solution(&problem, &[1.0, 0.9], &[]), "it moves the body");
        assert!(!proves_no_global_solution(&problem, &[-1.0, -1.0], &[]), "a pull");
        assert!(!proves_no_global_solution(&squeezed(1.0, -1.0), &[1.0, 1.0], &[]), "there is just room");
        let mut solver = ConeSolver::default();
        let settings = ConeSettings::default();
        assert_eq!(solver.solve_global(&problem, &settings, None).unwrap().report.status, SolveStatus::NoSolution);
        // With room there is a solution: it is pushed up with the floor.
        let solution = solver.solve_global(&squeezed(1.0, -1.5), &settings, None).unwrap();
        assert_eq!(solution.report.status, SolveStatus::Solved);
        assert!((solution.velocity[0] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_joint_may_be_part_of_the_proof() {
        // Held at rest, and pushed by the floor.
        let mut problem = squeezed(1.0, -5.0);
        problem.push_joint([(0, 1.0)], 0.0);
        assert!(proves_no_global_solution(&problem, &[1.0, 0.0], &[-1.0]));
        let solution = ConeSolver::default().solve_global(&problem, &ConeSettings::default(), None).unwrap().clone();
        assert_eq!(solution.report.status, SolveStatus::NoSolution);
    }

    #[test]
    fn a_local_problem_is_proved_by_its_matrix() {
        let matrix = SparseRows::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)]).unwrap();
        let cones = vec![Cone::HalfLine; 2];
        let problem = LocalConeProblem::new(cones.clone(), matrix.clone(), vec![-1.0, 0.5]).unwrap();
        assert!(proves_no_local_solution(&problem, &[1.0, 1.0]) && of_local(&problem).is_some());
        let feasible = LocalConeProblem::new(cones, matrix, vec![-1.0, 1.5]).unwrap();
        assert!(!proves_no_local_solution(&feasible, &[1.0, 1.0]) && of_local(&feasible).is_none());
    }
}

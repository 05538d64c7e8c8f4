//! What the library says of a problem: the one place of the soak that calls it.

use std::path::{Path, PathBuf};
use stiction_solve::cone::{Cone, ConeSettings, ConeSolver, GlobalConeProblem, LocalConeProblem, SparseRows};
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::problem_file::write_lcp;
use stiction_solve::{
    ContactLcp, ContactLcpData, FrictionGroup, Lcp, LcpSolution, Lemke, LemkeProblem, LemkeSettings, SolveStatus,
};

use crate::case::{Bodies, Case, Statement};

/// How much larger the error without units may be, as in `stiction solve`.
pub const SCALED_FACTOR: f64 = 100.0;

/// A word and the point that comes with it.
pub struct Answer {
    pub status: SolveStatus,
    pub point: Vec<f64>,
}

/// Solves a case from nothing; `as_bodies` hands over bodies in place of $W$ where there are some, and contacts in place of a written-out LCP.
pub fn answer(case: &Case, as_bodies: bool) -> Answer {
    match &case.statement {
        Statement::Cones { .. } => {
            let settings = ConeSettings {
                tolerance: SCALED_FACTOR * case.tolerance,
                unscaled_tolerance: case.tolerance,
                ..Default::default()
            };
            let mut solver = ConeSolver::default();
            let solution = match cone_problem(&case.statement, as_bodies) {
                FclibProblem::Local(problem) => solver.solve_local(&problem, &settings, None),
                FclibProblem::Global(problem) => {
                    solver.solve_global(&problem, &settings, None).expect("masses are positive")
                }
            };
            Answer { status: solution.report.status, point: solution.impulses.clone() }
        }
        Statement::Polygons { .. } => {
            let contacts = polygons(&case.statement);
            if as_bodies {
                lemke(&contacts, case.tolerance)
            } else {
                lemke(&contacts.to_lcp().expect("its numbers are finite"), case.tolerance)
            }
        }
        Statement::Lcp { .. } => lemke(&written_out(&case.statement), case.tolerance),
    }
}

fn lemke(problem: &impl LemkeProblem, tolerance: f64) -> Answer {
    let settings = LemkeSettings { residual_tolerance: tolerance, ..Default::default() };
    let mut solution = LcpSolution::default();
    Lemke::default().solve_or_enumerate(problem, &settings, &[], &mut solution);
    Answer { status: solution.report.status, point: solution.z }
}

fn cone_problem(statement: &Statement, as_bodies: bool) -> FclibProblem {
    let Statement::Cones { mu, delassus, offset, bodies } = statement else { unreachable!("only cones come here") };
    if let (true, Some(Bodies { layout, velocity, bias })) = (as_bodies, bodies) {
        let mut problem = GlobalConeProblem::default();
        problem.clear(velocity.len());
        for (k, (inverse_mass, v)) in layout.inverse_masses.iter().zip(velocity).enumerate() {
            problem.push_mass(k, k, 1.0 / inverse_mass);
            problem.force_mut()[k] = v / inverse_mass;
        }
        for (i, rows) in layout.contacts.iter().enumerate() {
            let rows = rows.iter().map(|row| row.iter().copied());
            problem.push_contact(Cone::coulomb(mu[i]), rows, bias[3 * i..3 * i + 3].iter().copied());
        }
        return FclibProblem::Global(problem);
    }
    let n = offset.len();
    let mut matrix = SparseRows::new(n);
    for row in delassus.chunks_exact(n) {
        matrix.push_row(row.iter().copied().enumerate().filter(|(_, value)| *value != 0.0));
    }
    let cones = mu.iter().map(|&mu| Cone::coulomb(mu)).collect();
    FclibProblem::Local(LocalConeProblem::new(cones, matrix, offset.clone()).expect("its numbers are finite"))
}

fn polygons(statement: &Statement) -> ContactLcp {
    let Statement::Polygons { mu, delassus, offset, directions } = statement else {
        unreachable!("only polygons come here")
    };
    let group = |(i, &mu): (usize, &f64)| FrictionGroup {
        normal: Some(3 * i),
        tangent: 3 * i + 1,
        tangent_count: 2,
        directions: 0..directions.len(),
        mu,
        bound: 0.0,
    };
    // W is symmetric, so rows are columns.
    ContactLcp::new(ContactLcpData {
        delassus: delassus.clone(),
        free_rates: offset.clone(),
        groups: mu.iter().enumerate().map(group).collect(),
        directions: directions.iter().map(|d| [d[0], d[1], 0.0]).collect(),
    })
    .expect("its numbers are finite")
}

fn written_out(statement: &Statement) -> Lcp {
    let Statement::Lcp { matrix, offset } = statement else { unreachable!("only LCPs come here") };
    let n = offset.len();
    let columns = (0..n * n).map(|k| matrix[(k % n) * n + k / n]).collect();
    Lcp::from_columns(columns, offset.clone()).expect("its numbers are finite")
}

/// Writes a case for `stiction solve`, and says where.
pub fn save(case: &Case, as_bodies: bool, folder: &Path, name: &str) -> Result<PathBuf, String> {
    match &case.statement {
        Statement::Cones { .. } => {
            let path = folder.join(format!("{name}.hdf5"));
            fclib::write(&path, &cone_problem(&case.statement, as_bodies), name).map_err(|error| error.to_string())?;
            Ok(path)
        }
        Statement::Polygons { .. } | Statement::Lcp { .. } => {
            let lcp = match &case.statement {
                Statement::Lcp { .. } => written_out(&case.statement),
                _ => polygons(&case.statement).to_lcp().map_err(|error| error.to_string())?,
            };
            let path = folder.join(name);
            write_lcp(&path, &lcp).map_err(|error| error.to_string())?;
            Ok(path)
        }
    }
}

//! What the library says of a problem: the one place of the soak that calls it.

use std::path::{Path, PathBuf};

use stiction_solve::cone::{Cone, GlobalConeProblem, LocalConeProblem, SparseRows};
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::problem_file::write_lcp;
use stiction_solve::work::DEFAULT_WORK_LIMIT;
use stiction_solve::{ContactLcp, ContactLcpData, FrictionGroup, Lcp, LemkeProblem};
use stiction_study::solve_problem::{Method, Problem, Request, solve_problem};

use crate::case::{Bodies, Case, Statement};

/// Multiplications that a solve may take: a tenth of the default, so that one that goes beyond is
/// known as a hang.
const WORK_LIMIT: u64 = DEFAULT_WORK_LIMIT / 10;

/// What `stiction solve` says.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// This point solves it.
    Solved(Vec<f64>),
    NoSolution,
    NotSolved,
}

/// Solves a case from nothing, by the chain of methods and the judge of `stiction solve`;
/// `as_bodies` hands over bodies in place of $W$ where there are some.
pub fn answer(case: &Case, as_bodies: bool) -> Answer {
    let problem = written(&case.statement, as_bodies);
    let request = Request { tolerance: case.tolerance, work_limit: WORK_LIMIT, repeats: 1 };
    let answer = solve_problem(&problem, Method::Automatic, &request).expect("masses are positive");
    let answer = answer.expect("this method takes problems of any size");
    let (status, point) = (answer.status, answer.z.or(answer.r));
    match (status, point) {
        ("solved", Some(point)) => Answer::Solved(point),
        ("no-solution", _) => Answer::NoSolution,
        _ => Answer::NotSolved,
    }
}

/// A case as a problem of the library.
fn written(statement: &Statement, as_bodies: bool) -> Problem {
    const FINITE: &str = "its numbers are finite";
    match statement {
        Statement::Cones { mu, bodies: Some(bodies), .. } if as_bodies => {
            let Bodies { layout, velocity, bias } = bodies;
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
            Problem::Cones(FclibProblem::Global(problem))
        }
        Statement::Cones { mu, delassus, offset, .. } => {
            let n = offset.len();
            let mut matrix = SparseRows::new(n);
            for row in delassus.chunks_exact(n) {
                matrix.push_row(row.iter().copied().enumerate().filter(|(_, value)| *value != 0.0));
            }
            let cones = mu.iter().map(|&mu| Cone::coulomb(mu)).collect();
            let problem = LocalConeProblem::new(cones, matrix, offset.clone()).expect(FINITE);
            Problem::Cones(FclibProblem::Local(problem))
        }
        Statement::Polygons { mu, delassus, offset, directions } => {
            let group = |(i, &mu): (usize, &f64)| FrictionGroup {
                normal: Some(3 * i),
                tangent: 3 * i + 1,
                tangent_count: 2,
                directions: 0..directions.len(),
                mu,
                bound: 0.0,
            };
            // W is symmetric, so rows are columns.
            let data = ContactLcpData {
                delassus: delassus.clone(),
                free_rates: offset.clone(),
                groups: mu.iter().enumerate().map(group).collect(),
                directions: directions.iter().map(|d| [d[0], d[1], 0.0]).collect(),
            };
            Problem::Lcp(ContactLcp::new(data).expect(FINITE).to_lcp().expect(FINITE))
        }
        Statement::Lcp { matrix, offset } => {
            let n = offset.len();
            let columns = (0..n * n).map(|k| matrix[(k % n) * n + k / n]).collect();
            Problem::Lcp(Lcp::from_columns(columns, offset.clone()).expect(FINITE))
        }
    }
}

/// Writes a case for `stiction solve`, and says where.
pub fn save(case: &Case, as_bodies: bool, folder: &Path, name: &str) -> Result<PathBuf, String> {
    match written(&case.statement, as_bodies) {
        Problem::Cones(problem) => {
            let path = folder.join(format!("{name}.hdf5"));
            fclib::write(&path, &problem, name).map_err(|error| error.to_string())?;
            Ok(path)
        }
        Problem::Lcp(lcp) => {
            let path = folder.join(name);
            write_lcp(&path, &lcp).map_err(|error| error.to_string())?;
            Ok(path)
        }
    }
}

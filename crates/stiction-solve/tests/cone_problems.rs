//! Friction problems that others made, where they are at hand.
//!
//! The folder is named by `STICTION_PROBLEMS`, or is `shared/problems` beside the checkout. Without it there is nothing to test.

use std::path::{Path, PathBuf};

use stiction_solve::cone::{ConeErrors, ConeSettings, ConeSolver, global_errors, local_errors};
use stiction_solve::fclib::{self, FclibProblem};

fn files(kind: &str) -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/problems");
    let folder = std::env::var_os("STICTION_PROBLEMS").map_or(beside, PathBuf::from).join(kind);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no folder {}", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files
}

/// Solves the problem of a file; its status, and the errors computed again.
fn solve(path: &Path, settings: &ConeSettings) -> (bool, ConeErrors, String) {
    let mut solver = ConeSolver::default();
    match fclib::read(path).unwrap().problem {
        FclibProblem::Local(problem) => {
            let solution = solver.solve_local(&problem, settings, None);
            let errors = local_errors(&problem, &solution.impulses);
            (solution.report.is_solved(), errors, format!("{:?}", solution.report))
        }
        FclibProblem::Global(problem) => {
            let solution = solver.solve_global(&problem, settings, None).unwrap();
            let errors = global_errors(&problem, &solution.impulses, &solution.joints).unwrap();
            (solution.report.is_solved(), errors, format!("{:?}", solution.report))
        }
    }
}

fn all_are_solved(kind: &str, tolerance: f64, unscaled_tolerance: f64) {
    for path in files(kind) {
        let settings = ConeSettings { tolerance, unscaled_tolerance, ..Default::default() };
        let (is_solved, errors, report) = solve(&path, &settings);
        assert!(is_solved, "{}: {report}", path.display());
        assert!(errors.scaled <= tolerance && errors.unscaled <= unscaled_tolerance, "{}: {errors:?}", path.display());
    }
}

#[test]
fn every_spatial_local_problem_is_solved() {
    all_are_solved("fc3d", 1e-8, 1e-10);
}

#[test]
fn every_spatial_global_problem_is_solved() {
    all_are_solved("gfc3d", 1e-8, 1e-10);
}

#[test]
fn every_planar_global_problem_is_solved() {
    all_are_solved("gfc2d", 1e-8, 1e-10);
}

#[test]
fn every_planar_local_problem_is_solved() {
    all_are_solved("fc2d", 1e-8, 1e-8);
}

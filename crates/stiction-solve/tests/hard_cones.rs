//! Friction problems that were once answered wrongly, not at all, or for ever; the files are in `cases/`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stiction_solve::SolveStatus;
use stiction_solve::cone::{ConeSettings, ConeSolution, ConeSolver, LocalConeProblem};
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::work::watch;

mod families;

fn local_case(name: &str) -> LocalConeProblem {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    match fclib::read(&file).unwrap().problem {
        FclibProblem::Local(problem) => problem,
        FclibProblem::Global(_) => panic!("{name} is a local problem"),
    }
}

fn solve_local(problem: &LocalConeProblem, settings: &ConeSettings) -> ConeSolution {
    ConeSolver::default().solve_local(problem, settings, None).clone()
}

#[test]
fn numbers_beyond_all_bounds_do_not_keep_a_solve_from_ending() {
    // Proximal points compared infinities for ever.
    for name in ["cone-hang-W1e300.hdf5", "cone-hang-indefinite-12.hdf5"] {
        let solution = solve_local(&local_case(name), &ConeSettings::default());
        let is_finite = solution.report.errors.scaled.is_finite();
        assert!(is_finite || !solution.report.is_solved(), "{name}: {:?}", solution.report);
    }
}

#[test]
fn a_work_limit_ends_a_solve() {
    // A tower with a heavy top takes some hundred thousand multiplications.
    let problem = families::tower(8, 1e3, 1);
    let settings = ConeSettings { work_limit: 2_000, ..Default::default() };
    let solution = ConeSolver::default().solve_global(&problem, &settings, None).unwrap().clone();
    assert_eq!(solution.report.status, SolveStatus::IterationLimit);
    assert!(solution.report.iterations() < 20, "{:?}", solution.report.stages);
    let settings = ConeSettings::default();
    assert!(ConeSolver::default().solve_global(&problem, &settings, None).unwrap().report.is_solved());
}

#[test]
fn a_solve_ends_soon_after_somebody_asks_for_it() {
    // Nothing solves a problem to a tolerance of zero, so every method is tried.
    let problem = families::tower(60, 1e3, 1);
    let settings = ConeSettings { tolerance: 0.0, sweep_limit: usize::MAX, ..Default::default() };
    let flag = Arc::new(AtomicBool::new(false));
    let setter = std::thread::spawn({
        let flag = Arc::clone(&flag);
        move || {
            std::thread::sleep(Duration::from_millis(50));
            flag.store(true, Ordering::Relaxed);
            Instant::now()
        }
    });
    let _watch = watch(&flag);
    let solution = ConeSolver::default().solve_global(&problem, &settings, None).unwrap().clone();
    let asked = setter.join().unwrap();
    assert_eq!(solution.report.status, SolveStatus::Interrupted);
    // A single iteration takes milliseconds; the bound leaves room for a busy machine.
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}

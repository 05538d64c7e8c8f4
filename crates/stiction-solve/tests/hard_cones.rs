//! Friction problems that were once answered wrongly, not at all, or for ever; the files are in
//! `problems/`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stiction_solve::SolveStatus;
use stiction_solve::cone::{
    Cone, ConeSettings, ConeSolution, ConeSolver, GlobalConeProblem, LocalConeProblem, SparseRows, judge_global,
};
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::judge::judge_local;
use stiction_solve::work::watch;

mod families;

use families::known::Known;

fn local_case(name: &str) -> LocalConeProblem {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems/fc3d").join(name);
    match fclib::read(&file).unwrap() {
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
    for name in ["huge-matrix.hdf5", "indefinite-12.hdf5"] {
        let solution = solve_local(&local_case(name), &ConeSettings::default());
        let is_finite = solution.report.errors.scaled.is_finite();
        assert!(is_finite || !solution.report.is_solved(), "{name}: {:?}", solution.report);
    }
}

/// Settings of a problem of a file.
fn of_a_file(tolerance: f64) -> ConeSettings {
    ConeSettings { tolerance, unscaled_tolerance: tolerance, ..Default::default() }
}

#[test]
fn huge_and_tiny_numbers_are_solved_in_units_of_their_own() {
    // q ~ 1e160, whose square is infinite, was answered with zero; W ~ 1e300 was not answered at
    // all.
    for name in ["overflow-4.hdf5", "huge-matrix.hdf5"] {
        let problem = local_case(name);
        let solution = solve_local(&problem, &of_a_file(1e-8));
        let judgement = judge_local(&problem, &solution.impulses);
        assert!(solution.report.is_solved() && judgement.accepts(1e-8), "{name}: {judgement:?}");
        assert!(!judge_local(&problem, &vec![0.0; problem.offset().len()]).accepts(1e-2), "{name}: zero is none");
    }
    // Offsets far below what once counted as zero.
    for seed in 0..20 {
        let problem = Known { rate_unit: 1e-17, ..Known::new(4, 0.5) }.cones(seed);
        let solution = solve_local(&problem, &of_a_file(1e-8));
        let largest = solution.impulses.iter().fold(0.0f64, |largest, r| largest.max(r.abs()));
        let usual = Known::new(4, 0.5).cones(seed);
        let usual = solve_local(&usual, &of_a_file(1e-8));
        let expected = usual.impulses.iter().fold(0.0f64, |largest, r| largest.max(r.abs()));
        assert!(solution.report.is_solved() && largest >= 0.5e-17 * expected, "{seed}: {largest:e}, {expected}");
    }
}

#[test]
fn tangents_that_move_nothing_slide() {
    // W = diag(3.67, 0, 0): u_T = q_T whatever r is, and friction is at its bound against it.
    let problem = local_case("singular-one-contact.hdf5");
    let solution = solve_local(&problem, &of_a_file(1e-10));
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    let (r, q) = (&solution.impulses, problem.offset());
    assert!((problem.matrix().entry(0, 0) * r[0] + q[0]).abs() <= 1e-12 * q[0].abs());
    assert!((r[1] * q[2] - r[2] * q[1]).abs() <= 1e-10 * r[0] * q[1].hypot(q[2]), "{r:?} against {q:?}");
    assert!(r[1] * q[1] + r[2] * q[2] < 0.0);
}

#[test]
fn known_solutions_are_found_in_any_units() {
    for (mu, least) in [(0.3, 0.999), (2.0, 0.999), (10.0, 0.95)] {
        let (mut count, mut found) = (0, 0);
        for (contacts, seeds) in [(1, 20), (8, 20), (30, 8), (60, 3)] {
            for (matrix_unit, rate_unit) in [(1.0, 1.0), (1e-6, 1.0), (1e6, 1.0), (1.0, 1e-6), (1.0, 1e6)] {
                for seed in 200..200 + seeds {
                    let problem = Known { matrix_unit, rate_unit, ..Known::new(contacts, mu) }.cones(seed);
                    let solution = solve_local(&problem, &of_a_file(1e-8));
                    assert_ne!(solution.report.status, SolveStatus::NoSolution);
                    count += 1;
                    found += usize::from(judge_local(&problem, &solution.impulses).accepts(1e-8));
                }
            }
        }
        assert!(found as f64 >= least * count as f64, "μ = {mu}: {found} of {count}");
    }
}

#[test]
fn a_larger_tolerance_is_met_where_a_smaller_one_is() {
    // The measure by which methods stop is not that of the judge: contacts of very different
    // masses, in units in which impulses are large numbers.
    for seed in 0..40 {
        let known = Known { matrix_unit: 1e-4, ..Known::new(10, 0.6) }.cones(seed);
        let (cones, matrix, offset) = known.into_parts();
        let scale = |row: usize| 10f64.powi((row as i32 / 3 * 7 + seed as i32) % 5 - 2);
        let triplets: Vec<(usize, usize, f64)> = (0..offset.len())
            .flat_map(|row| {
                matrix.row(row).iter().map(move |&(column, value)| (row, column, scale(row) * value * scale(column)))
            })
            .collect();
        let matrix = SparseRows::from_triplets(offset.len(), offset.len(), &triplets).unwrap();
        let offset = offset.iter().enumerate().map(|(row, q)| scale(row) * q).collect();
        let problem = LocalConeProblem::new(cones, matrix, offset).unwrap();
        let is_solved = |tolerance: f64| solve_local(&problem, &of_a_file(tolerance)).report.is_solved();
        let solved = [1e-8, 1e-6, 1e-4].map(is_solved);
        assert!(solved.is_sorted(), "seed {seed}: {solved:?}");
        assert!(solved[0], "seed {seed}");
    }
}

#[test]
fn a_residual_that_is_small_in_one_measure_alone_leads_to_a_new_beginning() {
    // Heavy bodies, μ = 5: the methods stopped at 1.6e-7 without units, short of their target and
    // below the tolerance, and the other error was 1.3e-4.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems/gfc3d/loose-60-mu5-heavy.hdf5");
    let FclibProblem::Global(problem) = fclib::read(&file).unwrap() else { panic!("it has bodies") };
    for tolerance in [1e-4, 1e-5, 1e-6, 1e-7, 1e-8] {
        let mut solver = ConeSolver::default();
        let solution = solver.solve_global(&problem, &of_a_file(tolerance), None).unwrap();
        let judgement = judge_global(&problem, &solution.impulses, &solution.joints).unwrap();
        assert!(judgement.accepts(tolerance), "{tolerance:e}: {judgement:?}");
    }
}

#[test]
fn balls_that_wedge_each_other_are_solved_to_the_last_digits() {
    // A step of 56 balls in a silo. Contacts that stick contradict each other by 1e-9: one has to
    // slide by that, far from the forces that Newton's method comes to.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems/gfc3d/silo-step.hdf5");
    let FclibProblem::Global(problem) = fclib::read(&file).unwrap() else { panic!("it has bodies") };
    let mut solver = ConeSolver::default();
    let solution = solver.solve_global(&problem, &of_a_file(1e-12), None).unwrap();
    assert!(solution.report.is_solved(), "{:?}", solution.report.errors);
    let judgement = judge_global(&problem, &solution.impulses, &solution.joints).unwrap();
    assert!(judgement.accepts(1e-12), "{judgement:?}");
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

#[test]
fn rates_that_cancel_are_judged_in_all_units() {
    // A body whose bias takes back its free rates: q = 0, and rounding has to be measured by the
    // terms of q. By itself it is 16 ε |H v|, which in small units of length counted as an error of
    // 1e-6.
    for unit in [1e-6, 1.0, 1e3, 1e9] {
        let mut problem = GlobalConeProblem::default();
        problem.clear(3);
        let velocity = [0.3 * unit, -0.7 * unit, 0.2 * unit];
        for (k, v) in velocity.into_iter().enumerate() {
            problem.push_mass(k, k, 2.0);
            problem.force_mut()[k] = 2.0 * v;
        }
        let rows = [[(0, 0.6), (1, 0.8)], [(0, 0.8), (1, -0.6)], [(2, 1.0), (0, 0.0)]];
        let bias = rows.map(|row| -row.iter().map(|&(k, value)| value * velocity[k]).sum::<f64>());
        problem.push_contact(Cone::coulomb(0.5), rows, bias);
        let mut solver = ConeSolver::default();
        let solution = solver.solve_global(&problem, &of_a_file(1e-8), None).unwrap();
        let judgement = judge_global(&problem, &solution.impulses, &solution.joints).unwrap();
        assert!(solution.report.is_solved() && judgement.accepts(1e-8), "{unit:e}: {judgement:?}");
        // It is a measure all the same: an impulse that does not belong there is seen.
        let judgement = judge_global(&problem, &[1e-3 * unit, 0.0, 0.0], &[]).unwrap();
        assert!(!judgement.accepts(1e-6), "{unit:e}: {judgement:?}");
    }
}

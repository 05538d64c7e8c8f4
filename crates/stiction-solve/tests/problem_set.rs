//! Every problem of `problems/` by every method that claims to solve it, and the public collections
//! where they are at hand.
//!
//! The collections are in the folder that `STICTION_PROBLEMS` names, or in `shared/problems` beside
//! the checkout. What they test, the problems of the repository test too: without the collections
//! the tests are shorter, not empty.

use std::path::{Path, PathBuf};

use stiction_solve::cone::{ConeSettings, ConeSolver, judge_global};
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::judge::judge_local;
use stiction_solve::problem_file::{read_lcp, read_matrix};
use stiction_solve::residual::proves_no_solution;
use stiction_solve::{Lcp, LemkeSettings, LemkeTableau, SolveStatus, enumerate, judge_lcp};

mod families;

use families::collection::{Answer, global_cones, lcps};

/// The problems of a kind (`lcp`, `fc2d`, ...) in `problems/` and in the collections.
fn problems(kind: &str) -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let collections = std::env::var_os("STICTION_PROBLEMS").map_or(workspace.join("../shared/problems"), PathBuf::from);
    let mut paths = Vec::new();
    for folder in [workspace.join("problems"), collections] {
        let Ok(entries) = std::fs::read_dir(folder.join(kind)) else { continue };
        paths.extend(entries.map(|entry| entry.expect("a readable folder").path()));
    }
    paths.sort();
    paths
}

fn own(kind: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems").join(kind).join(name)
}

/// $\max_i |\min(z_i, (M z + q)_i)|$ over the largest offset, summed by hand in the problem's own
/// units.
fn violation(lcp: &Lcp, z: &[f64]) -> f64 {
    let size = lcp.offset().iter().fold(0.0f64, |size, q| size.max(q.abs()));
    let slack = |i: usize| lcp.offset()[i] + (0..z.len()).map(|j| lcp.matrix()[(i, j)] * z[j]).sum::<f64>();
    (0..z.len()).map(|i| z[i].min(slack(i)).abs()).fold(0.0, f64::max) / size
}

fn is_near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * b.abs().max(1.0))
}

#[test]
fn the_files_are_what_the_generators_make() {
    // To the digits of sines and cosines, which differ between system libraries.
    for entry in lcps() {
        let lcp = read_lcp(&own("lcp", entry.name)).unwrap();
        assert!(is_near(lcp.offset(), entry.lcp.offset(), 1e-12), "{}: q", entry.name);
        for j in 0..lcp.size() {
            assert!(is_near(lcp.column(j), entry.lcp.column(j), 1e-12), "{}: column {j}", entry.name);
        }
    }
    for (name, problem) in global_cones() {
        let FclibProblem::Global(file) = fclib::read(own("gfc3d", &format!("{name}.hdf5"))).unwrap() else {
            panic!("{name} has bodies")
        };
        assert!(is_near(file.force(), problem.force(), 1e-12), "{name}: f");
        assert_eq!(file.cones(), problem.cones(), "{name}: mu");
        assert_eq!(file.joint_bias().len(), problem.joint_bias().len(), "{name}: joints");
    }
}

#[test]
fn every_lcp_has_its_known_answer_by_every_method() {
    let settings = LemkeSettings::default();
    for entry in lcps() {
        let (name, lcp) = (entry.name, read_lcp(&own("lcp", entry.name)).unwrap());
        let revised = lcp.solve(&settings);
        let tableau = LemkeTableau::default().solve(&lcp, &settings);
        let all = (lcp.size() <= 12).then(|| enumerate(&lcp, &settings).expect("small enough"));
        match entry.answer {
            Answer::All(known) => {
                for method in [&revised, &tableau] {
                    assert!(method.report.is_solved(), "{name}: {:?}", method.report);
                    assert!(known.iter().any(|z| is_near(&method.z, z, 1e-12)), "{name}: {:?}", method.z);
                }
                let all = all.unwrap();
                assert_eq!((all.solutions.len(), all.undecided), (known.len(), 0), "{name}: {:?}", all.solutions);
                for z in &known {
                    assert!(all.solutions.iter().any(|found| is_near(found, z, 1e-12)), "{name}: {z:?} is missing");
                }
            }
            Answer::One(known) => {
                let file = read_matrix(&own("lcp", name).join("z.mtx")).unwrap();
                assert!(is_near(&(0..file.nrows()).map(|i| file[(i, 0)]).collect::<Vec<_>>(), &known, 1e-12), "{name}");
                assert!(judge_lcp(&lcp, &known).accepts(1e-10), "{name}: {:?}", judge_lcp(&lcp, &known));
                for method in [&revised, &tableau] {
                    assert_ne!(method.report.status, SolveStatus::NoSolution, "{name}: a false proof");
                    assert!(!method.report.is_solved() || violation(&lcp, &method.z) <= 1e-9, "{name}");
                }
                assert!(revised.report.is_solved(), "{name}: {:?}", revised.report);
            }
            Answer::None(proof) => {
                assert!(proves_no_solution(&lcp, &proof), "{name}");
                for method in [&revised, &tableau] {
                    assert!(!method.report.is_solved(), "{name}: {:?}", method.z);
                }
                assert_eq!(revised.report.status, SolveStatus::NoSolution, "{name}");
                assert!(all.unwrap().solutions.is_empty(), "{name}");
            }
        }
    }
}

/// LCPs of `problems/` that have no solution, or none that double precision tells from its
/// neighbours to 1e-10.
const WITHOUT_ANSWER: [&str; 4] = ["heavy-bodies-24", "ill-conditioned-3", "painleve-none-1", "squeezed-2"];

#[test]
fn every_lcp_is_solved() {
    let folders = problems("lcp");
    assert!(folders.len() >= 12, "{folders:?}");
    for folder in folders.iter().filter(|folder| !WITHOUT_ANSWER.iter().any(|name| folder.ends_with(name))) {
        let lcp = read_lcp(folder).unwrap();
        let solution = lcp.solve(&LemkeSettings::default());
        assert!(solution.report.is_solved(), "{}: {:?}", folder.display(), solution.report);
        assert!(violation(&lcp, &solution.z) <= 1e-9, "{}: {:e}", folder.display(), violation(&lcp, &solution.z));
    }
}

#[test]
fn lemkes_answer_is_among_those_that_enumeration_finds() {
    let mut compared = 0;
    for folder in problems("lcp") {
        let lcp = read_lcp(&folder).unwrap();
        let settings = LemkeSettings::default();
        let lemke = LemkeTableau::default().solve(&lcp, &settings);
        let Some(all) = enumerate(&lcp, &settings) else { continue };
        if all.solutions.is_empty() {
            assert!(!lemke.report.is_solved() || all.undecided > 0, "{}: {:?}", folder.display(), lemke.z);
            continue;
        }
        compared += 1;
        assert_ne!(lemke.report.status, SolveStatus::NoSolution, "{}: a false proof", folder.display());
        let is_among = all.solutions.iter().any(|z| is_near(&lemke.z, z, 1e-9));
        assert!(!lemke.report.is_solved() || is_among || all.undecided > 0, "{}: {:?}", folder.display(), lemke.z);
    }
    assert!(compared >= 4, "{compared} problems are small enough");
}

/// Solves all problems of a kind to a tolerance and measures the errors again; at least `least`
/// problems are there.
fn all_are_solved(kind: &str, least: usize, tolerance: f64, unscaled_tolerance: f64) {
    let files = problems(kind);
    assert!(files.len() >= least, "{kind}: {files:?}");
    for path in files.iter().filter(|path| !path.ends_with("indefinite-12.hdf5")) {
        let settings = ConeSettings { tolerance, unscaled_tolerance, ..Default::default() };
        let mut solver = ConeSolver::default();
        let (report, judgement) = match fclib::read(path).unwrap() {
            FclibProblem::Local(problem) => {
                let solution = solver.solve_local(&problem, &settings, None);
                (&solution.report, judge_local(&problem, &solution.impulses))
            }
            FclibProblem::Global(problem) => {
                let solution = solver.solve_global(&problem, &settings, None).unwrap();
                (&solution.report, judge_global(&problem, &solution.impulses, &solution.joints).unwrap())
            }
        };
        assert!(report.is_solved(), "{}: {report:?}", path.display());
        let [scaled, unscaled] = [judgement.err_scaled, judgement.err_q].map(|measure| measure.value);
        assert!(scaled <= tolerance && unscaled <= unscaled_tolerance, "{}: {judgement:?}", path.display());
    }
}

#[test]
fn every_spatial_local_problem_is_solved() {
    all_are_solved("fc3d", 6, 1e-8, 1e-10);
}

#[test]
fn every_spatial_global_problem_is_solved() {
    all_are_solved("gfc3d", 6, 1e-8, 1e-10);
}

#[test]
fn every_planar_problem_of_the_collections_is_solved() {
    all_are_solved("fc2d", 0, 1e-8, 1e-8);
    all_are_solved("gfc2d", 0, 1e-8, 1e-10);
}

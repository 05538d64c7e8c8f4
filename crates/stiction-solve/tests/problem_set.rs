//! Problems that others made, where they are at hand.
//!
//! The folder is named by `STICTION_PROBLEMS`, or is `shared/problems` beside the checkout. Without it there is nothing to test.

use std::path::{Path, PathBuf};

use stiction_solve::problem_file::read_lcp;
use stiction_solve::{LemkeSettings, LemkeTableau, SolveStatus, enumerate};

fn problem_folders() -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/problems");
    let folder = std::env::var_os("STICTION_PROBLEMS").map_or(beside, PathBuf::from).join("lcp");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no folder {}", folder.display());
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    folders.sort();
    folders
}

#[test]
fn every_lcp_of_the_collection_is_solved() {
    for folder in problem_folders() {
        let lcp = read_lcp(&folder).unwrap();
        let settings = LemkeSettings::default();
        let solution = lcp.solve(&settings);
        assert!(solution.report.is_solved(), "{}: {:?}", folder.display(), solution.report);
        // The residual once more, by hand and in the problem's own units.
        let size = lcp.offset().iter().fold(0.0f64, |size, q| size.max(q.abs()));
        for i in 0..lcp.size() {
            let w = lcp.offset()[i] + (0..lcp.size()).map(|j| lcp.matrix()[(i, j)] * solution.z[j]).sum::<f64>();
            let error = solution.z[i].min(w).abs();
            assert!(error <= 1e-10 * size, "{}: row {i} has {error}", folder.display());
        }
    }
}

#[test]
fn lemkes_answer_is_among_those_that_enumeration_finds() {
    for folder in problem_folders() {
        let lcp = read_lcp(&folder).unwrap();
        let settings = LemkeSettings::default();
        let lemke = LemkeTableau::default().solve(&lcp, &settings);
        let Some(all) = enumerate(&lcp, &settings) else { continue };
        assert!(!all.solutions.is_empty(), "{}", folder.display());
        assert_ne!(lemke.report.status, SolveStatus::NoSolution, "{}: a false proof", folder.display());
        let is_among =
            all.solutions.iter().any(|z| z.iter().zip(&lemke.z).all(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0)));
        assert!(!lemke.report.is_solved() || is_among || all.undecided > 0, "{}: {:?}", folder.display(), lemke.z);
    }
}

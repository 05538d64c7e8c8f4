//! How many problems that were made around a solution are solved, by number of contacts, friction
//! and units.
//!
//! `cargo run --example known_solutions [PROBLEMS [FIRST_SEED]]` prints a table; the judge is that
//! of problem files, at a tolerance of 1e-8.

use std::time::Instant;

use stiction_solve::cone::{ConeSettings, ConeSolver};
use stiction_solve::judge::judge_local;
use stiction_solve::{LemkeSettings, SolveStatus, judge_lcp};

#[path = "../tests/families/mod.rs"]
mod families;

use families::known::Known;

const TOLERANCE: f64 = 1e-8;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let count = arguments.next().unwrap_or(2);
    let first = arguments.next().unwrap_or(0);
    let settings = ConeSettings { tolerance: TOLERANCE, unscaled_tolerance: TOLERANCE, ..Default::default() };
    let mut solver = ConeSolver::default();
    println!(
        "{:>8} {:>6} {:>8} {:>8} {:>14} {:>14} {:>10}",
        "contacts", "mu", "matrix", "rates", "cones", "LCPs", "longest"
    );
    let units = [(1.0, 1.0), (1e-6, 1.0), (1e6, 1.0), (1.0, 1e-6), (1.0, 1e6)];
    for mu in [0.3, 1.0, 2.0, 10.0] {
        for contacts in [1, 4, 12, 30, 60] {
            for (matrix_unit, rate_unit) in units {
                let known = Known { matrix_unit, rate_unit, ..Known::new(contacts, mu) };
                let (mut cones, mut lcps, mut lcp_count, mut longest) = (0, 0, 0, 0.0f64);
                let mut missed = Vec::new();
                for seed in first..first + count {
                    let began = Instant::now();
                    let problem = known.cones(seed);
                    let solution = solver.solve_local(&problem, &settings, None);
                    assert_ne!(solution.report.status, SolveStatus::NoSolution, "{known:?} {seed}: there is one");
                    let is_solved = judge_local(&problem, &solution.impulses).accepts(TOLERANCE);
                    cones += u64::from(is_solved);
                    if !is_solved {
                        missed.push(seed);
                    }
                    longest = longest.max(began.elapsed().as_secs_f64());
                    if contacts <= 30 {
                        let (lcp, z) = known.lcp(seed);
                        debug_assert!(judge_lcp(&lcp, &z).err_scaled.value < 1e-6);
                        let solution = lcp.solve(&LemkeSettings::default());
                        assert_ne!(solution.report.status, SolveStatus::NoSolution, "{known:?} {seed}: there is one");
                        lcp_count += 1;
                        lcps += u64::from(judge_lcp(&lcp, &solution.z).accepts(TOLERANCE));
                    }
                }
                println!(
                    "{contacts:>8} {mu:>6} {matrix_unit:>8.0e} {rate_unit:>8.0e} {cones:>6} of {count:<4} {lcps:>6} of {lcp_count:<4} {longest:>8.3} s {missed:?}"
                );
            }
        }
    }
}

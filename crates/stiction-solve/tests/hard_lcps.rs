//! LCPs that were once answered wrongly; the files are in `problems/lcp/`.

use std::path::Path;

use stiction_solve::lcp_refine::refine;
use stiction_solve::problem_file::read_lcp;
use stiction_solve::residual::proves_no_solution;
use stiction_solve::{Lcp, LemkeSettings, LemkeTableau, SolveStatus, enumerate, faer::mat, judge_lcp};

mod families;

use families::Random;
use families::known::Known;

fn case(name: &str) -> Lcp {
    read_lcp(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems/lcp").join(name)).unwrap()
}

/// $\min(z, M z + q)$ in the units of the problem, summed by hand, with what rounding takes from
/// each product and each sum added at the end.
fn largest_violation(lcp: &Lcp, z: &[f64]) -> f64 {
    let slack = |i: usize| {
        let (mut sum, mut rest) = (lcp.offset()[i], 0.0);
        for (j, z) in z.iter().enumerate() {
            let entry = lcp.matrix()[(i, j)];
            let (product, next) = (entry * z, sum + entry * z);
            let part = next - sum;
            rest += (sum - (next - part)) + (product - part) + entry.mul_add(*z, -product);
            sum = next;
        }
        sum + rest
    };
    (0..z.len()).map(|i| z[i].min(slack(i)).abs()).fold(0.0, f64::max)
}

#[test]
fn what_is_wrong_in_its_own_units_is_not_accepted() {
    // Heavy bodies in SI units: the residual in the scale of the problem is 1e-12, the friction law
    // is off by a thousandth of q.
    let lcp = case("heavy-bodies-24");
    let solution = lcp.solve(&LemkeSettings::default());
    let violation = largest_violation(&lcp, &solution.z);
    let judgement = judge_lcp(&lcp, &solution.z);
    assert!(judgement.accepts(1e-10) == (violation < 1e-8), "{violation:e}, {judgement:?}");
    // Known solutions in units from natural to absurd: what is accepted is small in its own units,
    // too.
    for power in [0, 6, 8, 9, 10, 12] {
        let known = Known { matrix_unit: 10f64.powi(-power), ..Known::new(3, 0.7) };
        for seed in 0..30 {
            let (lcp, _) = known.lcp(seed);
            let solution = lcp.solve(&LemkeSettings::default());
            let size = lcp.offset().iter().fold(0.0f64, |size, q| size.max(q.abs()));
            for z in [Some(solution.z.clone()), refine(&lcp, &solution.z)].into_iter().flatten() {
                if judge_lcp(&lcp, &z).accepts(1e-10) {
                    assert!(largest_violation(&lcp, &z) <= 1e-7 * size, "1e-{power}, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn no_solution_is_never_said_of_a_positive_definite_problem() {
    // Such a problem has exactly one solution. Of condition 1e7 and with a tolerance below rounding
    // enumeration missed it.
    for (name, tolerance) in [("ill-conditioned-3", 1e-10), ("tight-tolerance-2", 1e-17)] {
        let lcp = case(name);
        let settings = LemkeSettings { residual_tolerance: tolerance, ..Default::default() };
        let found = enumerate(&lcp, &settings).unwrap();
        assert!(!found.solutions.is_empty() || found.undecided > 0, "{name}");
        let solution = lcp.solve(&settings);
        assert_ne!(solution.report.status, SolveStatus::NoSolution, "{name}");
        assert!(judge_lcp(&lcp, &solution.z).accepts(1e-8), "{name}: {:?}", judge_lcp(&lcp, &solution.z));
    }
    let mut random = Random(7);
    for number in 0..200 {
        // A = I + 1e-6 B Bᵀ-like: columns nearly parallel, and offsets from tiny to beyond the
        // squares that a f64 holds.
        let n = 2 + random.below(3);
        let factors: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
        let small = 10f64.powf(random.uniform(-8.0, -1.0));
        let matrix =
            stiction_solve::faer::Mat::from_fn(n, n, |i, j| factors[i] * factors[j] + if i == j { small } else { 0.0 });
        let size = 10f64.powf(random.uniform(-170.0, 170.0));
        let offset = (0..n).map(|_| size * random.uniform(-1.0, 1.0)).collect();
        let lcp = Lcp::new(matrix, offset).unwrap();
        for tolerance in [1e-10, 1e-17] {
            let settings = LemkeSettings { residual_tolerance: tolerance, ..Default::default() };
            let solution = lcp.solve(&settings);
            assert_ne!(solution.report.status, SolveStatus::NoSolution, "{number}");
            let tableau = LemkeTableau::default().solve(&lcp, &settings);
            assert_ne!(tableau.report.status, SolveStatus::NoSolution, "{number}");
        }
    }
}

#[test]
fn no_solution_comes_with_its_proof() {
    // w = (z1 - z2 - 1, z2 - z1 - 1): the sum is -2 whatever z is.
    let lcp = Lcp::new(mat![[1.0, -1.0], [-1.0, 1.0]], vec![-1.0, -1.0]).unwrap();
    let solution = lcp.solve(&LemkeSettings::default());
    assert_eq!(solution.report.status, SolveStatus::NoSolution);
    assert!(solution.certificate.is_empty() || proves_no_solution(&lcp, &solution.certificate));
    // The same with a matrix that is not quite singular: z1 = z2 ≈ 1e16 is a solution.
    let lcp = Lcp::new(mat![[1.0 + 2e-16, -1.0], [-1.0, 1.0 + 2e-16]], vec![-1.0, -1.0]).unwrap();
    assert!(!proves_no_solution(&lcp, &[1.0, 1.0]));
    assert_ne!(lcp.solve(&LemkeSettings::default()).report.status, SolveStatus::NoSolution);
}

#[test]
fn known_solutions_are_found_in_any_units() {
    let (mut count, mut found) = (0, 0);
    for (contacts, seeds) in [(1, 20), (4, 20), (12, 6)] {
        for mu in [0.3, 1.0, 2.0] {
            for (matrix_unit, rate_unit) in [(1.0, 1.0), (1e-6, 1.0), (1e6, 1.0), (1.0, 1e-6), (1.0, 1e6)] {
                for seed in 100..100 + seeds {
                    let (lcp, z) = Known { matrix_unit, rate_unit, ..Known::new(contacts, mu) }.lcp(seed);
                    assert!(judge_lcp(&lcp, &z).err_scaled.value < 1e-12, "the solution that it was made of");
                    let solution = lcp.solve(&LemkeSettings::default());
                    assert_ne!(solution.report.status, SolveStatus::NoSolution);
                    count += 1;
                    found += usize::from(judge_lcp(&lcp, &solution.z).accepts(1e-8));
                }
            }
        }
    }
    assert!(found as f64 >= 0.999 * count as f64, "{found} of {count}");
}

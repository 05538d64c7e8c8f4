//! What must hold for any cone problem: a solution is one, and every other status is true.

mod families;

use families::{Assembly, Random, box_inertia, unit};
use stiction_solve::SolveStatus;
use stiction_solve::cone::{Cone, ConeSettings, ConeSolver, GlobalConeProblem};

/// How a random problem is made.
struct Kind {
    /// Bodies are pressed between walls that close in.
    is_squeezed: bool,
}

/// A few bodies with masses far apart, contacts of which some repeat others, friction from none to
/// ten.
fn problem(seed: u64) -> (GlobalConeProblem, Kind) {
    let mut random = Random(seed);
    let mut assembly = Assembly::default();
    let bodies = 1 + random.below(4);
    let ratio = [1.0, 1e2, 1e4, 1e6][random.below(4)];
    for _ in 0..bodies {
        let mass = random.uniform(0.5, 2.0) * f64::powf(ratio, random.uniform(-0.5, 0.5));
        let half = [0.0; 3].map(|_: f64| random.uniform(0.2, 0.6));
        assembly.push_kicked(mass, box_inertia(mass, half), 0.5, &mut random);
    }
    let largest_mu = [0.0, 0.5, 2.0, 10.0][random.below(4)];
    let contacts = 1 + random.below(10);
    let mut last = None;
    for _ in 0..contacts {
        let own = (random.below(bodies), [0.0; 3].map(|_: f64| random.uniform(-0.5, 0.5)));
        let other = random.below(bodies + 1);
        let second =
            (other < bodies && other != own.0).then(|| (other, [0.0; 3].map(|_: f64| random.uniform(-0.5, 0.5))));
        let normal = unit([random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), 1.0]);
        let gap = if random.below(3) == 0 { random.uniform(0.0, 0.3) } else { 0.0 };
        let mut contact = (own, second, normal, gap, random.uniform(0.0, largest_mu));
        // The same once more, or at the same place with other friction.
        if let Some(last) = last
            && random.below(4) == 0
        {
            contact = last;
        }
        last = Some(contact);
        assembly.push_contact(contact.0, contact.1, contact.2, contact.3, contact.4);
    }
    let is_squeezed = random.below(10) == 0;
    if is_squeezed {
        // Two walls against each other through the centre of a body, closer by the sum of their
        // speeds.
        let body = random.below(bodies);
        let normal = unit([random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)]);
        let speed = random.uniform(0.1, 1.0);
        assembly.push_contact((body, [0.0; 3]), None, normal, -speed, 0.3);
        assembly.push_contact((body, [0.0; 3]), None, normal.map(|x| -x), 0.5 * speed, 0.3);
    }
    (assembly.finish(), Kind { is_squeezed })
}

/// The largest violation of the law of Coulomb, over the size of the free rates: written out, with
/// nothing of the library.
fn violation(problem: &GlobalConeProblem, impulses: &[f64], joints: &[f64]) -> f64 {
    let n = problem.coordinate_count();
    let mut masses = vec![0.0; n];
    problem.mass().iter().for_each(|&(row, column, value)| {
        assert_eq!(row, column);
        masses[row] += value;
    });
    let velocity = |impulses: &[f64], joints: &[f64]| -> Vec<f64> {
        let mut momentum = problem.force().to_vec();
        for (row, impulse) in impulses.iter().enumerate() {
            problem.contacts().row(row).iter().for_each(|&(column, value)| momentum[column] += impulse * value);
        }
        for (row, impulse) in joints.iter().enumerate() {
            problem.joints().row(row).iter().for_each(|&(column, value)| momentum[column] += impulse * value);
        }
        momentum.iter().zip(&masses).map(|(momentum, mass)| momentum / mass).collect()
    };
    let rates = |v: &[f64]| -> Vec<f64> {
        let rate =
            |row: usize| problem.contacts().row(row).iter().map(|&(column, value)| value * v[column]).sum::<f64>();
        (0..problem.contact_bias().len()).map(|row| rate(row) + problem.contact_bias()[row]).collect()
    };
    let joint_rates = |v: &[f64]| -> Vec<f64> {
        let rate = |row: usize| problem.joints().row(row).iter().map(|&(column, value)| value * v[column]).sum::<f64>();
        (0..problem.joint_bias().len()).map(|row| rate(row) + problem.joint_bias()[row]).collect()
    };
    let free = velocity(&vec![0.0; impulses.len()], &vec![0.0; joints.len()]);
    let size = rates(&free).iter().chain(&joint_rates(&free)).map(|u| u * u).sum::<f64>().sqrt();
    let v = velocity(impulses, joints);
    let u = rates(&v);
    let diagonal: f64 = (0..impulses.len())
        .map(|row| {
            problem.contacts().row(row).iter().map(|&(column, value)| value * value / masses[column]).sum::<f64>()
        })
        .sum::<f64>()
        / impulses.len() as f64;
    let mut worst = joint_rates(&v).iter().fold(0.0f64, |worst, rate| worst.max(rate.abs()));
    for (contact, cone) in problem.cones().iter().enumerate() {
        let Cone::Coulomb { mu, bound: 0.0 } = *cone else { panic!("only Coulomb's cones are made here") };
        let (r, u) = (&impulses[3 * contact..3 * contact + 3], &u[3 * contact..3 * contact + 3]);
        // Impulses as rates, by the mean of the diagonal of W.
        let r: [f64; 3] = std::array::from_fn(|k| r[k] * diagonal);
        let (friction, sliding) = (r[1].hypot(r[2]), u[1].hypot(u[2]));
        worst = worst.max(-r[0]).max(-u[0]).max(r[0].min(u[0]).abs());
        worst = worst.max(friction - mu * r[0]);
        // Sliding: friction is at its bound, against the motion. Whichever is larger gives the
        // direction, and the other one differs.
        let against = (0..2).map(|k| (r[1 + k] * sliding + mu * r[0] * u[1 + k]).abs()).fold(0.0, f64::max);
        worst = worst.max(against / sliding.max(mu * r[0]).max(f64::MIN_POSITIVE));
    }
    worst / size.max(1e-14)
}

#[test]
fn every_solution_is_one_and_every_other_status_is_true() {
    let settings = ConeSettings { sweep_limit: 1000, ..Default::default() };
    let mut solver = ConeSolver::default();
    let mut counts = [0; 3];
    let (mut worst, mut squeezed) = (0.0f64, 0);
    for seed in 0..10_500 {
        let (problem, kind) = problem(seed);
        squeezed += usize::from(kind.is_squeezed);
        let solution = solver.solve_global(&problem, &settings, None).unwrap();
        match solution.report.status {
            SolveStatus::Solved => {
                assert!(!kind.is_squeezed, "{seed}: there is no solution");
                counts[0] += 1;
                // The errors of single contacts add up to that of the norm, in other words: a small
                // factor.
                let violation = violation(&problem, &solution.impulses, &solution.joints);
                assert!(violation <= 20.0 * settings.tolerance, "{seed}: {violation:e}, {:?}", solution.report);
                worst = worst.max(violation);
            }
            SolveStatus::NoSolution => {
                assert!(kind.is_squeezed, "{seed}: contacts with gaps always leave a solution");
                counts[1] += 1;
            }
            _ => {
                // Nothing is claimed; the point that comes with it has the error that is reported.
                assert!(solution.report.errors.scaled > settings.tolerance, "{seed}: {:?}", solution.report);
                counts[2] += 1;
            }
        }
        assert!(solution.impulses.iter().chain(&solution.velocity).all(|x| x.is_finite()), "{seed}");
    }
    println!(
        "solved {}, proved without solution {} of {squeezed}, not converged {}, worst {worst:e}",
        counts[0], counts[1], counts[2]
    );
    assert!(counts[0] >= 9_300 && counts[2] <= 60, "{counts:?}");
    assert!(counts[1] * 100 >= 95 * squeezed, "{counts:?} of {squeezed}");
}

#[test]
fn families_are_solved() {
    let settings = ConeSettings::default();
    let mut solver = ConeSolver::default();
    let problems = [
        ("tower", families::tower(10, 1.0, 1)),
        ("heavy tower", families::tower(10, 1e3, 2)),
        ("chain", families::chain(20, 5)),
        ("random", families::random(40, 6)),
    ];
    for (name, problem) in problems {
        let solution = solver.solve_global(&problem, &settings, None).unwrap();
        assert!(solution.report.is_solved(), "{name}: {:?}", solution.report);
        let violation = violation(&problem, &solution.impulses, &solution.joints);
        assert!(violation <= 20.0 * settings.tolerance, "{name}: {violation:e}");
    }
}

#[test]
fn a_start_at_the_solution_needs_no_iteration() {
    let settings = ConeSettings::default();
    let mut solver = ConeSolver::default();
    let problem = families::tower(10, 1.0, 1);
    let first = solver.solve_global(&problem, &settings, None).unwrap().clone();
    let again = solver.solve_global(&problem, &settings, Some((&first.impulses, &first.joints))).unwrap();
    assert!(again.report.is_solved());
    assert!(again.report.iterations() <= 2, "{:?}", again.report);
}

#[test]
fn masses_that_couple_bodies_and_are_not_symmetric_are_no_special_case() {
    // Springs between neighbours, and a gyroscopic part.
    let mut problem = families::random(20, 3);
    let n = problem.coordinate_count();
    for i in 0..n - 6 {
        problem.push_mass(i, i, 0.2);
        problem.push_mass(i, i + 6, -0.1);
        problem.push_mass(i + 6, i, -0.1);
        problem.push_mass(i + 6, i + 6, 0.1);
    }
    for body in 0..n / 6 {
        problem.push_mass(6 * body + 3, 6 * body + 4, 0.01);
        problem.push_mass(6 * body + 4, 6 * body + 3, -0.01);
    }
    let mut solver = ConeSolver::default();
    let solution = solver.solve_global(&problem, &ConeSettings::default(), None).unwrap();
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    let errors = stiction_solve::cone::global_errors(&problem, &solution.impulses, &[]).unwrap();
    assert!(errors.scaled <= 1e-8, "{errors:?}");
}

#[test]
fn other_laws_are_solved_in_one_problem_with_contacts() {
    // A body on the ground with torsion, one that slides on rails with fixed friction, a smooth
    // stop, and a bound with two parts.
    let mut problem = GlobalConeProblem::default();
    problem.clear(12);
    for i in 0..12 {
        problem.push_mass(i, i, if i % 6 < 3 { 2.0 } else { 0.1 });
        problem.force_mut()[i] = [0.3, -0.2, -0.5, 0.02, 0.01, 0.3][i % 6];
    }
    let ellipsoid = Cone::Ellipsoid { mu: 0.4, bound: 0.0, semi_axes: [1.0, 0.7, 0.2] };
    problem.push_contact(ellipsoid, [[(2, 1.0)], [(0, 1.0)], [(1, 1.0)], [(5, 1.0)]], [0.0; 4]);
    problem.push_contact(Cone::Friction { rows: 2, bound: 0.1 }, [[(6, 1.0)], [(7, 1.0)]], [0.0; 2]);
    problem.push_contact(Cone::HalfLine, [[(8, 1.0)]], [0.0]);
    problem.push_contact(
        Cone::Coulomb { mu: 0.3, bound: 0.05 },
        [[(2, 1.0), (8, 0.1)], [(0, 1.0), (7, 0.2)], [(1, 1.0), (6, 0.1)]],
        [0.0; 3],
    );
    let mut solver = ConeSolver::default();
    let solution = solver.solve_global(&problem, &ConeSettings::default(), None).unwrap();
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    let r = &solution.impulses;
    let ellipse = (r[1].powi(2) + (r[2] / 0.7).powi(2) + (r[3] / 0.2).powi(2)).sqrt();
    assert!(ellipse <= 0.4 * r[0] * (1.0 + 1e-8), "{r:?}");
    assert!(r[4].hypot(r[5]) <= 0.1 * (1.0 + 1e-8) && r[6] >= 0.0, "{r:?}");
}

#[test]
fn torsion_with_a_bound_of_its_own_is_solved() {
    // Bodies on up to four patches of the ground each, off their centres, so that everything acts
    // on everything.
    let (mut slides, mut drills) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let bodies = 1 + random.below(3);
        let mut problem = GlobalConeProblem::default();
        problem.clear(6 * bodies);
        for i in 0..6 * bodies {
            problem.push_mass(i, i, if i % 6 < 3 { 2.0 } else { 0.3 });
            problem.force_mut()[i] = if i % 6 == 2 { -1.0 } else { random.uniform(-0.6, 0.6) };
        }
        let mut laws = Vec::new();
        for body in 0..bodies {
            for _ in 0..1 + random.below(4) {
                let [x, y, z] = [random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), -0.3];
                let (mu, e) = (random.uniform(0.1, 0.9), random.uniform(0.05, 0.4));
                let at = |entries: [(usize, f64); 3]| entries.map(|(k, value)| (6 * body + k, value));
                let rows = [
                    at([(2, 1.0), (3, y), (4, -x)]),
                    at([(0, 1.0), (4, z), (5, -y)]),
                    at([(1, 1.0), (3, -z), (5, x)]),
                    at([(5, 1.0), (3, 0.0), (4, 0.0)]),
                ];
                let cone = Cone::EllipseAndTorsion { mu, bound: 0.0, semi_axes: [1.0, 0.6, e] };
                problem.push_contact(cone, rows, [0.0; 4]);
                laws.push((mu, e));
            }
        }
        let mut solver = ConeSolver::default();
        let settings = ConeSettings { tolerance: 1e-12, ..Default::default() };
        let solution = solver.solve_global(&problem, &settings, None).unwrap();
        assert!(solution.report.is_solved(), "seed {seed}: {:?}", solution.report);
        // The law from the impulses and the velocities that follow from them.
        let r = &solution.impulses;
        let mut v = problem.force().to_vec();
        r.iter().enumerate().for_each(|(row, &r)| problem.contacts().add_row_to(row, r, &mut v));
        v.iter_mut().enumerate().for_each(|(i, v)| *v /= if i % 6 < 3 { 2.0 } else { 0.3 });
        for (i, (mu, e)) in laws.into_iter().enumerate() {
            let [normal, t, o, torsion] = [0, 1, 2, 3].map(|k| r[4 * i + k]);
            let rates = [0, 1, 2, 3].map(|k| problem.contacts().dot(4 * i + k, &v));
            assert!(normal > -1e-10 && rates[0] > -1e-8 && (normal * rates[0]).abs() < 1e-8, "seed {seed}");
            let (bound, slip) = (mu * normal, rates[1].hypot(0.6 * rates[2]));
            assert!(t.hypot(o / 0.6) <= bound + 1e-8 && torsion.abs() <= e * bound + 1e-8, "seed {seed}");
            // Each part dissipates as much as it can.
            assert!((t * rates[1] + o * rates[2] + bound * slip).abs() < 1e-7, "seed {seed}");
            assert!((torsion * rates[3] + e * bound * rates[3].abs()).abs() < 1e-7, "seed {seed}");
            slides += usize::from(normal > 1e-3 && slip > 1e-3);
            drills += usize::from(normal > 1e-3 && torsion.abs() < (1.0 - 1e-3) * e * bound);
        }
    }
    assert!(slides > 20 && drills > 20, "{slides} {drills}");
}

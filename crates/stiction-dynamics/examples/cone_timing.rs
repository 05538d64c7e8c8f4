//! Times and stages of the cone solver on families of problems and on the FCLIB files of a folder.
//!
//! `cargo run -p stiction-dynamics --example cone_timing -- tower50 wall pile200 tight200s ../shared/problems/fc3d`
//!
//! Seeds begin at 1001, or at `FIRST_SEED`; `SEED=k` picks the one with the number k, `SEEDS=n`
//! takes n of them; `VERBOSE=1` shows the stages.
use std::time::Instant;

use stiction_dynamics::families::{Arch, Chain, Generator, Pile, RandomContacts, Tower, Wall, Wedge};
use stiction_dynamics::{ContactProblem, ExactCone, ExactConeSettings};
use stiction_solve::cone::{ConeMethod, ConeSettings, ConeSolution, ConeSolver, GlobalConeProblem};
use stiction_solve::fclib::{self, FclibProblem};

fn describe(solution: &ConeSolution) -> String {
    let report = &solution.report;
    let mut text = String::new();
    for stage in report.stages.iter().take(20) {
        let letter = match stage.method {
            ConeMethod::OneContact => '1',
            ConeMethod::GaussSeidel => 'G',
            ConeMethod::Newton => 'N',
            ConeMethod::Path => 'H',
            ConeMethod::Pyramids => 'L',
            ConeMethod::InteriorPoint => 'I',
            ConeMethod::ActiveSet => 'A',
        };
        text += &format!(" {letter}{}({:.0e})", stage.iterations, stage.residual);
    }
    format!(
        "{:?} q {:.1e} s {:.1e} islands {}{text}",
        report.status, report.errors.unscaled, report.errors.scaled, report.islands
    )
}

/// Best of a few repeats, in µs, with the last solution.
fn best(mut solve: impl FnMut() -> ConeSolution) -> (f64, ConeSolution) {
    let (mut best, mut last) = (f64::INFINITY, None);
    let begin = Instant::now();
    for repeat in 0..50 {
        let start = Instant::now();
        last = Some(solve());
        best = best.min(start.elapsed().as_secs_f64() * 1e6);
        if repeat >= 2 && begin.elapsed().as_secs_f64() > 0.2 {
            break;
        }
    }
    (best, last.expect("at least one repeat"))
}

/// The problem as the solver takes it.
fn as_cones(problem: &ContactProblem) -> GlobalConeProblem {
    ExactCone::new(ExactConeSettings::default()).expect("settings").cone_problem(problem)
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}

fn family(name: &str, seeds: u64, make: impl Fn(u64) -> ContactProblem, settings: &ConeSettings) {
    let is_verbose = std::env::var("VERBOSE").is_ok();
    let (mut times, mut solved, mut contacts, mut worst) = (Vec::new(), 0, 0, 0.0f64);
    let first_seed = number("FIRST_SEED").unwrap_or(1001);
    let numbers = number("SEED").map_or(0..number("SEEDS").unwrap_or(seeds), |seed| seed..seed + 1);
    let seeds = numbers.end - numbers.start;
    for seed in numbers {
        let problem = as_cones(&make(first_seed + seed));
        contacts += problem.cones().len();
        let mut solver = ConeSolver::default();
        let (time, solution) = best(|| solver.solve_global(&problem, settings, None).expect("a mass matrix").clone());
        solved += usize::from(solution.report.is_solved());
        worst = worst.max(solution.report.errors.scaled);
        if is_verbose || !solution.report.is_solved() {
            println!("  {name} {seed}: {time:.0} us {}", describe(&solution));
        }
        times.push(time);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{name:14} {:5} contacts  solved {solved}/{seeds}  median {:9.1} us  max {:9.1}  worst {worst:.1e}",
        contacts / seeds as usize,
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

/// The same contacts with velocities changed by up to one percent, from the solution before.
fn warm(name: &str, seeds: u64, make: impl Fn(u64) -> ContactProblem, settings: &ConeSettings) {
    let (mut times, mut solved) = (Vec::new(), 0);
    for seed in 0..seeds {
        let mut problem = as_cones(&make(1001 + seed));
        let mut solver = ConeSolver::default();
        let before = solver.solve_global(&problem, settings, None).expect("a mass matrix").clone();
        let mut random = Generator::new(seed);
        problem.force_mut().iter_mut().for_each(|force| *force *= 1.0 + random.uniform(-0.01, 0.01));
        let start = Some((before.impulses.as_slice(), before.joints.as_slice()));
        let (time, solution) = best(|| solver.solve_global(&problem, settings, start).expect("a mass matrix").clone());
        solved += usize::from(solution.report.is_solved());
        if std::env::var("VERBOSE").is_ok() {
            println!("  {name} {seed}: {time:.0} us {}", describe(&solution));
        }
        times.push(time);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{name:14} solved {solved}/{seeds}  median {:9.1} us  max {:9.1}",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

fn main() {
    let mut settings = ConeSettings::default();
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        arguments = ["rand20", "tower10"].map(str::to_owned).to_vec();
    }
    for argument in arguments {
        match argument.as_str() {
            "tight" => settings = ConeSettings { tolerance: 1e-8, unscaled_tolerance: 1e-10, ..settings },
            "both" => settings = ConeSettings { tolerance: 1e-8, unscaled_tolerance: 1e-8, ..settings },
            "loose" => settings = ConeSettings { tolerance: 1e-4, ..settings },
            "middle" => settings = ConeSettings { tolerance: 1e-6, ..settings },
            "sweeps" => {
                // Gauss-Seidel alone.
                settings = ConeSettings { newton_limit: 0, path_limit: 0, interior_limit: 0, ..settings }
            }
            "rand1" => family(
                "rand1",
                20,
                |seed| RandomContacts { contact_count: 1, ..Default::default() }.problem(seed),
                &settings,
            ),
            "rand7" => family(
                "rand7",
                20,
                |seed| RandomContacts { contact_count: 7, ..Default::default() }.problem(seed),
                &settings,
            ),
            "rand20" => family(
                "rand20",
                20,
                |seed| RandomContacts { contact_count: 20, ..Default::default() }.problem(seed),
                &settings,
            ),
            "warm20" => warm(
                "warm20",
                20,
                |seed| RandomContacts { contact_count: 20, ..Default::default() }.problem(seed),
                &settings,
            ),
            "warm50" => warm(
                "warm50",
                10,
                |seed| Tower { levels: 50, top_mass: 1.0, ..Default::default() }.problem(seed),
                &settings,
            ),
            "warmwall" => warm(
                "warmwall",
                10,
                |seed| Wall { rows: 10, columns: 10, ..Default::default() }.problem(seed),
                &settings,
            ),
            "rand100" => family(
                "rand100",
                10,
                |seed| RandomContacts { contact_count: 100, ..Default::default() }.problem(seed),
                &settings,
            ),
            "tower10" => family(
                "tower10",
                10,
                |seed| Tower { levels: 10, top_mass: 1.0, ..Default::default() }.problem(seed),
                &settings,
            ),
            "heavy10" => family(
                "heavy10",
                10,
                |seed| Tower { levels: 10, top_mass: 1e3, ..Default::default() }.problem(seed),
                &settings,
            ),
            "tower50" => family(
                "tower50",
                10,
                |seed| Tower { levels: 50, top_mass: 1.0, ..Default::default() }.problem(seed),
                &settings,
            ),
            "tower100" => family(
                "tower100",
                10,
                |seed| Tower { levels: 100, top_mass: 1.0, ..Default::default() }.problem(seed),
                &settings,
            ),
            "wall" => {
                family("wall", 10, |seed| Wall { rows: 10, columns: 10, ..Default::default() }.problem(seed), &settings)
            }
            "wall15" => family(
                "wall15",
                10,
                |seed| Wall { rows: 15, columns: 15, ..Default::default() }.problem(seed),
                &settings,
            ),
            "arch" => family("arch", 10, |seed| Arch { mu: 0.6, ..Default::default() }.problem(seed), &settings),
            "arch3" => family("arch3", 10, |seed| Arch { mu: 0.3, ..Default::default() }.problem(seed), &settings),
            "wedge" => family("wedge", 10, |seed| Wedge { blocks: 30, ..Default::default() }.problem(seed), &settings),
            pile if pile.starts_with("pile") || pile.starts_with("tight") => {
                // pile200 is tilted, pile200s settled.
                let is_settled = pile.ends_with('s');
                let count = pile.trim_start_matches(char::is_alphabetic).trim_end_matches('s');
                let Ok(spheres) = count.parse() else {
                    panic!("{pile}: pile or tight, the number of spheres, and perhaps an s")
                };
                let tilt = if is_settled { 0.0 } else { 0.3 };
                let is_tight = pile.starts_with("tight");
                let seeds = if spheres < 100 {
                    20
                } else if spheres < 1000 {
                    10
                } else {
                    2
                };
                family(pile, seeds, |seed| Pile { spheres, tilt, is_tight }.problem(seed), &settings)
            }
            "chain10" => family(
                "chain10",
                10,
                |seed| Chain { links: 10, is_lying: true, ..Default::default() }.problem(seed),
                &settings,
            ),
            "chain30" => family(
                "chain30",
                10,
                |seed| Chain { links: 30, is_lying: true, ..Default::default() }.problem(seed),
                &settings,
            ),
            "chain100" => family(
                "chain100",
                10,
                |seed| Chain { links: 100, is_lying: true, ..Default::default() }.problem(seed),
                &settings,
            ),
            "chain300" => family(
                "chain300",
                10,
                |seed| Chain { links: 300, is_lying: true, ..Default::default() }.problem(seed),
                &settings,
            ),
            folder => {
                let mut paths: Vec<_> = match std::fs::read_dir(folder) {
                    Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
                    Err(_) => vec![folder.into()],
                };
                paths.sort();
                for path in paths {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    let mut solver = ConeSolver::default();
                    let (time, solution) = match fclib::read(&path) {
                        Ok(FclibProblem::Local(problem)) => {
                            best(|| solver.solve_local(&problem, &settings, None).clone())
                        }
                        Ok(FclibProblem::Global(problem)) => {
                            best(|| solver.solve_global(&problem, &settings, None).expect("a mass matrix").clone())
                        }
                        Err(error) => {
                            println!("{error}");
                            continue;
                        }
                    };
                    println!("{name:34} {time:9.1} us {}", describe(&solution));
                }
            }
        }
    }
}

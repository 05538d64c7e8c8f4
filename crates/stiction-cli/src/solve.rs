//! `stiction solve PROBLEM`: one problem or a folder of them, by one method or all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use serde_json::Value;
use stiction_scene::write_atomically;
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::problem_file::{MATRIX_FILE, read_lcp};
use stiction_solve::work::{DEFAULT_WORK_LIMIT, watch};
use stiction_solve::{Lcp, LemkeSettings};
use stiction_study::solve_cones::{ConeAnswer, ConeChoice, contact_count, solve_cones};
use stiction_study::solve_problem::{LcpAnswer, LcpMethod, solve_lcp};

use crate::failure::{BAD_INPUT, Failure, INTERRUPTED, UNSOLVED};

/// Numbers of a certificate that are printed; `--json` has them all.
const SHOWN: usize = 12;

/// Arguments of `solve`.
#[derive(Args)]
pub struct SolveArguments {
    /// An FCLIB file (.hdf5), a folder with M.mtx and q.mtx, or a folder with such files and folders at any depth
    problem: PathBuf,
    /// Method
    #[arg(long, value_name = "M", value_enum, default_value = "automatic")]
    method: Method,
    /// Largest error of an answer, err_q and err_scaled alike
    #[arg(long, value_name = "E", default_value = "1e-10")]
    tol: f64,
    /// Multiplications, roughly, after which a method gives up
    #[arg(long, value_name = "N", default_value_t = DEFAULT_WORK_LIMIT)]
    work_limit: u64,
    /// Write the answer as JSON; one problem and one method only
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the answers as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Method {
    /// Whatever suits the problem, and what comes next where that fails
    Automatic,
    /// LCP: Lemke's method in revised form
    Lemke,
    /// LCP: Lemke's method on the explicit tableau
    Tableau,
    /// LCP: all complementary bases, at most 20 unknowns
    Enumerate,
    /// Friction problem: block Gauss-Seidel
    GaussSeidel,
    /// Friction problem: semismooth Newton
    Newton,
    /// Friction problem: interior points
    InteriorPoint,
    /// Every method that takes problems of this kind
    All,
}

impl Method {
    /// The methods for LCPs that it stands for.
    fn for_lcps(self) -> &'static [LcpMethod] {
        match self {
            Self::Automatic => &[LcpMethod::Automatic],
            Self::Lemke => &[LcpMethod::Lemke],
            Self::Tableau => &[LcpMethod::Tableau],
            Self::Enumerate => &[LcpMethod::Enumerate],
            Self::All => &LcpMethod::ALL,
            Self::GaussSeidel | Self::Newton | Self::InteriorPoint => &[],
        }
    }

    /// The methods for friction problems that it stands for.
    fn for_cones(self) -> &'static [ConeChoice] {
        match self {
            Self::Automatic => &[ConeChoice::Automatic],
            Self::GaussSeidel => &[ConeChoice::GaussSeidel],
            Self::Newton => &[ConeChoice::Newton],
            Self::InteriorPoint => &[ConeChoice::InteriorPoint],
            Self::All => &ConeChoice::ALL,
            Self::Lemke | Self::Tableau | Self::Enumerate => &[],
        }
    }
}

/// A problem in memory.
enum Problem {
    Lcp(Lcp),
    Cones(FclibProblem),
}

/// Runs the command. A problem that no chosen method solves gives exit code 3, one that cannot be read 2 or 4.
pub fn solve(arguments: &SolveArguments) -> Result<ExitCode, Failure> {
    if !(arguments.tol > 0.0 && arguments.tol.is_finite()) {
        return Err(Failure::new(BAD_INPUT, format!("--tol {}: it must be positive and finite", arguments.tol)));
    }
    let problems = problems(&arguments.problem)?;
    if let Some(out) = &arguments.out {
        refuse_input_as_output(&arguments.problem, out)?;
    }
    if arguments.out.is_some() && (problems.len() > 1 || arguments.method == Method::All) {
        return Err(Failure::new(BAD_INPUT, "--out takes one problem and one method"));
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    // Without a handler an interrupt ends the process at once, which is as well.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    let _watch = watch(&interrupted);
    let mut documents = Vec::new();
    let mut all_solved = true;
    let mut unreadable = None;
    if !arguments.json {
        say!(
            "{:<34} {:>5} {:<14} {:<12} {:>9} {:>9} {:>7} {:>12}",
            "problem",
            "size",
            "method",
            "status",
            "err_q",
            "scaled",
            "steps",
            "time"
        );
    }
    for path in &problems {
        let problem = match read(path) {
            Ok(problem) => problem,
            // One bad file does not cost the answers of the others.
            Err(failure) => {
                let code = failure.report();
                unreadable.get_or_insert(code);
                continue;
            }
        };
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let is_taken = match &problem {
            Problem::Lcp(_) => !arguments.method.for_lcps().is_empty(),
            Problem::Cones(_) => !arguments.method.for_cones().is_empty(),
        };
        if !is_taken {
            unreadable.get_or_insert(wrong_method(path, &problem, arguments.method).report());
            continue;
        }
        let answers = match &problem {
            Problem::Lcp(lcp) => lcp_answers(&name, lcp, arguments),
            Problem::Cones(problem) => cone_answers(&name, path, problem, arguments)?,
        };
        if interrupted.load(Ordering::Relaxed) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        let is_solved = answers.iter().any(|answer| answer["status"] == "solved");
        for mut document in answers {
            if let Some(out) = &arguments.out {
                write_atomically(out, format!("{document:#}\n").as_bytes())
                    .map_err(|error| Failure::io("write", out, &error))?;
            }
            document["problem"] = path.display().to_string().into();
            documents.push(document);
        }
        all_solved &= is_solved;
    }
    if arguments.json && !(documents.is_empty() && unreadable.is_some()) {
        say!("{:#}", Value::Array(documents));
    }
    let verdict = if all_solved { ExitCode::SUCCESS } else { ExitCode::from(UNSOLVED) };
    Ok(unreadable.unwrap_or(verdict))
}

/// An answer must not take the place of its problem.
fn refuse_input_as_output(problem: &Path, out: &Path) -> Result<(), Failure> {
    let (Ok(input), Ok(output)) = (problem.canonicalize(), out.canonicalize()) else { return Ok(()) };
    let is_part = output.parent() == Some(&input) && output.extension().is_some_and(|ending| ending == "mtx");
    if input == output || is_part {
        let message = format!("--out {}: this is the problem itself\n  help: name another file", out.display());
        return Err(Failure::new(BAD_INPUT, message));
    }
    Ok(())
}

/// A method for the other kind of problem.
fn wrong_method(path: &Path, problem: &Problem, method: Method) -> Failure {
    let (kind, others) = match problem {
        Problem::Lcp(_) => ("an LCP", "lemke, tableau, enumerate"),
        Problem::Cones(_) => ("a friction problem", "gauss-seidel, newton, interior-point"),
    };
    let name = method.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let message = format!("{}: {kind}, which the method `{name}` does not take", path.display());
    Failure::new(BAD_INPUT, format!("{message}\n  help: take automatic, all, or one of {others}"))
}

fn read(path: &Path) -> Result<Problem, Failure> {
    if path.is_dir() {
        return Ok(Problem::Lcp(read_lcp(path)?));
    }
    Ok(Problem::Cones(fclib::read(path)?.problem))
}

/// Solves an LCP with every chosen method, and prints a row for each.
fn lcp_answers(name: &str, lcp: &Lcp, arguments: &SolveArguments) -> Vec<Value> {
    let settings =
        LemkeSettings { residual_tolerance: arguments.tol, work_limit: arguments.work_limit, ..Default::default() };
    let mut answers = Vec::new();
    for &method in arguments.method.for_lcps() {
        let Some(answer) = solve_lcp(lcp, method, &settings) else {
            if !arguments.json {
                say!("{name:<34} {:>5} {:<14} too large for this method", lcp.size(), method.name());
            }
            continue;
        };
        if !arguments.json {
            let LcpAnswer { method, status, err_q, err_scaled, iterations, time_s, .. } = answer;
            print_row(name, lcp.size(), (method, status), [err_q, err_scaled, time_s], iterations);
            if let Some(count) = answer.solution_count {
                say!("{:<34} {count} solution{}", "", if count == 1 { "" } else { "s" });
            }
            print_remark(&answer.certificate, "y ≥ 0 with Mᵀy ≤ 0 and qᵀy < 0", status, answer.rounding, arguments.tol);
        }
        answers.push(serde_json::to_value(&answer).expect("an answer is plain data"));
    }
    answers
}

/// Solves a friction problem with every chosen method, and prints a row for each.
fn cone_answers(
    name: &str,
    path: &Path,
    problem: &FclibProblem,
    arguments: &SolveArguments,
) -> Result<Vec<Value>, Failure> {
    let size = contact_count(problem);
    let mut answers = Vec::new();
    for &method in arguments.method.for_cones() {
        let answer = solve_cones(problem, method, arguments.tol, arguments.work_limit)
            .map_err(|error| Failure::new(BAD_INPUT, format!("{}: {error}", path.display())))?;
        if !arguments.json {
            let ConeAnswer { method, status, err_q, err_scaled, iterations, time_s, .. } = answer;
            print_row(name, size, (method, status), [err_q, err_scaled, time_s], iterations);
            let meaning = "normal impulses that move nothing and work against the offsets";
            print_remark(&answer.certificate, meaning, status, answer.rounding, arguments.tol);
        }
        answers.push(serde_json::to_value(&answer).expect("an answer is plain data"));
    }
    Ok(answers)
}

/// What a row does not show: the proof that there is no solution, or that the errors are what rounding leaves of them.
fn print_remark(certificate: &Option<Vec<f64>>, meaning: &str, status: &str, rounding: [f64; 2], tolerance: f64) {
    let largest = rounding[0].max(rounding[1]);
    match certificate {
        Some(numbers) => {
            let shown: Vec<String> = numbers.iter().take(SHOWN).map(|number| format!("{number}")).collect();
            let rest = if numbers.len() > SHOWN { ", …" } else { "" };
            say!("{:<34} proved by {meaning}: ({}{rest})", "", shown.join(", "));
        }
        None if status == "no-solution" => say!("{:<34} proved by exclusion of every complementary basis", ""),
        None if largest > tolerance && largest.is_finite() => {
            say!("{:<34} rounding alone is {largest:.1e} in these units: no smaller error can be told", "");
        }
        None => {}
    }
}

fn print_row(
    name: &str,
    size: usize,
    (method, status): (&str, &str),
    [err_q, err_scaled, time_s]: [f64; 3],
    steps: usize,
) {
    let time = if time_s < 0.01 { format!("{:.1} µs", 1e6 * time_s) } else { format!("{:.1} ms", 1e3 * time_s) };
    say!("{name:<34} {size:>5} {method:<14} {status:<12} {err_q:>9.1e} {err_scaled:>9.1e} {steps:>7} {time:>12}");
}

/// The problems that an argument names, in order: files, and folders with matrices.
fn problems(argument: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_file = |path: &Path| {
        path.is_file() && path.extension().is_some_and(|ending| ["hdf5", "h5"].iter().any(|known| ending == *known))
    };
    let is_problem = |path: &Path| is_file(path) || path.join(MATRIX_FILE).is_file();
    if is_problem(argument) {
        return Ok(vec![argument.to_owned()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![argument.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::new(BAD_INPUT, format!("there is no folder `{}`", folder.display())),
            ErrorKind::NotADirectory => {
                let message = format!("`{}` is not a folder, and not an FCLIB file (.hdf5)", folder.display());
                Failure::new(BAD_INPUT, message)
            }
            _ => Failure::io("read", &folder, &error),
        })?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if is_problem(&path) {
                found.push(path);
            } else if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        let message = format!(
            "{}: neither an FCLIB file (.hdf5), nor a folder with {MATRIX_FILE}, nor one with such files or folders at any depth",
            argument.display()
        );
        return Err(Failure::new(BAD_INPUT, message));
    }
    Ok(found)
}

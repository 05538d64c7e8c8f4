//! `stiction solve PROBLEM`: one problem or a folder of them, by one method or all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::Value;
use stiction_scene::run_folder::write_atomically;
use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::problem_file::{MATRIX_FILE, read_lcp};
use stiction_solve::{Lcp, LemkeSettings};
use stiction_study::solve_cones::{ConeAnswer, ConeChoice, contact_count, solve_cones};
use stiction_study::solve_problem::{LcpAnswer, LcpMethod, solve_lcp};

use crate::failure::{BAD_INPUT, Failure, UNSOLVED};

/// Arguments of `solve`.
#[derive(Args)]
pub struct SolveArguments {
    /// An FCLIB file (.hdf5), a folder with M.mtx and q.mtx, or a folder of such files and folders
    problem: PathBuf,
    /// Method
    #[arg(long, value_name = "M", value_enum, default_value = "automatic")]
    method: Method,
    /// Largest residual of an answer: of an LCP in its own scale, of a friction problem err_q (and err_scaled up to 100 times that)
    #[arg(long, value_name = "E", default_value = "1e-10")]
    tol: f64,
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
    if arguments.out.is_some() && (problems.len() > 1 || arguments.method == Method::All) {
        return Err(Failure::new(BAD_INPUT, "--out takes one problem and one method"));
    }
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
        let answers = match &problem {
            Problem::Lcp(lcp) => lcp_answers(&name, lcp, arguments),
            Problem::Cones(problem) => cone_answers(&name, path, problem, arguments)?,
        };
        let is_solved = answers.iter().any(|answer| answer["status"] == "solved");
        for mut document in answers {
            if let Some(out) = &arguments.out {
                write_atomically(out, format!("{document:#}\n").as_bytes())?;
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

fn read(path: &Path) -> Result<Problem, Failure> {
    if path.is_dir() {
        return Ok(Problem::Lcp(read_lcp(path)?));
    }
    Ok(Problem::Cones(fclib::read(path)?.problem))
}

/// Solves an LCP with every chosen method, and prints a row for each.
fn lcp_answers(name: &str, lcp: &Lcp, arguments: &SolveArguments) -> Vec<Value> {
    let settings = LemkeSettings { residual_tolerance: arguments.tol, ..Default::default() };
    let methods = arguments.method.for_lcps();
    if methods.is_empty() && !arguments.json {
        say!("{name:<34} {:>5} an LCP, which this method does not take", lcp.size());
    }
    let mut answers = Vec::new();
    for &method in methods {
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
    let methods = arguments.method.for_cones();
    let size = contact_count(problem);
    if methods.is_empty() && !arguments.json {
        say!("{name:<34} {size:>5} a friction problem, which this method does not take");
    }
    let mut answers = Vec::new();
    for &method in methods {
        let answer = solve_cones(problem, method, arguments.tol)
            .map_err(|error| Failure::new(BAD_INPUT, format!("{}: {error}", path.display())))?;
        if !arguments.json {
            let ConeAnswer { method, status, err_q, err_scaled, iterations, time_s, .. } = answer;
            print_row(name, size, (method, status), [err_q, err_scaled, time_s], iterations);
        }
        answers.push(serde_json::to_value(&answer).expect("an answer is plain data"));
    }
    Ok(answers)
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
    let entries = std::fs::read_dir(argument).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::new(BAD_INPUT, format!("there is no folder `{}`", argument.display())),
        ErrorKind::NotADirectory => {
            let message = format!("`{}` is not a folder, and not an FCLIB file (.hdf5)", argument.display());
            Failure::new(BAD_INPUT, message)
        }
        _ => Failure::io("read", argument, &error),
    })?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_problem(path)).collect();
    found.sort();
    if found.is_empty() {
        let message = format!(
            "{}: neither an FCLIB file (.hdf5), nor a folder with {MATRIX_FILE}, nor one with such files and folders",
            argument.display()
        );
        return Err(Failure::new(BAD_INPUT, message));
    }
    Ok(found)
}

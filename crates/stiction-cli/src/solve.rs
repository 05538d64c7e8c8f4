//! `stiction solve PROBLEM`: one problem or a folder of them, by one method or all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::Value;
use stiction_scene::write_atomically;
use stiction_solve::problem_file::MATRIX_FILE;
use stiction_solve::work::{DEFAULT_WORK_LIMIT, watch};
use stiction_study::solve_problem::{Answer, Method, Problem, Request, solve_problem};

use crate::failure::{BAD_INPUT, Failure, INTERRUPTED, UNSOLVED};

/// Numbers of a certificate that are printed; `--json` has them all.
const SHOWN: usize = 12;

/// Most repeats of a solve that is too short to be timed.
const REPEATS: usize = 20;

/// The word for every method that takes problems of a kind.
const ALL: &str = "all";

/// Arguments of `solve`.
#[derive(Args)]
pub struct SolveArguments {
    /// An FCLIB file (.hdf5), a folder with M.mtx and q.mtx, or a folder with such files and
    /// folders at any depth
    problem: PathBuf,
    /// Method
    #[arg(long, value_name = "M", value_parser = method_names(), default_value = "automatic")]
    method: String,
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

fn method_names() -> PossibleValuesParser {
    let methods = Method::ALL.map(|(_, name, what)| PossibleValue::new(name).help(what));
    let all = PossibleValue::new(ALL).help("Every method that takes problems of this kind");
    PossibleValuesParser::new(methods.into_iter().chain([all]))
}

/// The methods that are asked for and take a problem.
fn methods<'a>(name: &'a str, problem: &'a Problem) -> impl Iterator<Item = Method> + 'a {
    let asked = Method::ALL.into_iter().filter(move |method| name == ALL || name == method.1);
    asked.map(|method| method.0).filter(|method| method.takes(problem))
}

/// Runs the command. A problem that no chosen method solves gives exit code 3, one that cannot be
/// read 2 or 4.
pub fn solve(arguments: &SolveArguments) -> Result<ExitCode, Failure> {
    if !(arguments.tol > 0.0 && arguments.tol.is_finite()) {
        return Err(Failure::new(BAD_INPUT, format!("--tol {}: it must be positive and finite", arguments.tol)));
    }
    let problems = problems(&arguments.problem)?;
    if let Some(out) = &arguments.out {
        refuse_input_as_output(&arguments.problem, out)?;
    }
    if arguments.out.is_some() && (problems.len() > 1 || arguments.method == ALL) {
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
        let problem = match Problem::read::<Failure>(path) {
            Ok(problem) => problem,
            // One bad file does not cost the answers of the others.
            Err(failure) => {
                let code = failure.report();
                unreadable.get_or_insert(code);
                continue;
            }
        };
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        if methods(&arguments.method, &problem).next().is_none() {
            unreadable.get_or_insert(wrong_method(path, &problem, &arguments.method).report());
            continue;
        }
        let answers = answers(&name, path, &problem, arguments)?;
        if interrupted.load(Ordering::Relaxed) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        let is_solved = answers.iter().any(|answer| answer.status == "solved");
        for answer in answers {
            let mut document = serde_json::to_value(&answer).expect("an answer is plain data");
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
fn wrong_method(path: &Path, problem: &Problem, name: &str) -> Failure {
    let kind = match problem {
        Problem::Lcp(_) => "an LCP",
        Problem::Cones(_) => "a friction problem",
    };
    let others: Vec<&str> = methods(ALL, problem).map(Method::name).skip(1).collect();
    let message = format!("{}: {kind}, which the method `{name}` does not take", path.display());
    Failure::new(BAD_INPUT, format!("{message}\n  help: take automatic, all, or one of {}", others.join(", ")))
}

/// Solves a problem with every chosen method, and prints a row for each.
fn answers(name: &str, path: &Path, problem: &Problem, arguments: &SolveArguments) -> Result<Vec<Answer>, Failure> {
    let request = Request { tolerance: arguments.tol, work_limit: arguments.work_limit, repeats: REPEATS };
    let mut answers = Vec::new();
    for method in methods(&arguments.method, problem) {
        let answer = solve_problem(problem, method, &request)
            .map_err(|error| Failure::new(BAD_INPUT, format!("{}: {error}", path.display())))?;
        match answer {
            Some(answer) => {
                if !arguments.json {
                    print_answer(name, problem, &answer, arguments.tol);
                }
                answers.push(answer);
            }
            None if !arguments.json => {
                say!("{name:<34} {:>5} {:<14} too large for this method", problem.size(), method.name());
            }
            None => {}
        }
    }
    Ok(answers)
}

fn print_answer(name: &str, problem: &Problem, answer: &Answer, tolerance: f64) {
    let Answer { method, status, err_q, err_scaled, iterations, time_s, rounding, .. } = answer;
    let time = if *time_s < 0.01 { format!("{:.1} µs", 1e6 * time_s) } else { format!("{:.1} ms", 1e3 * time_s) };
    let size = problem.size();
    say!("{name:<34} {size:>5} {method:<14} {status:<12} {err_q:>9.1e} {err_scaled:>9.1e} {iterations:>7} {time:>12}");
    if let Some(count) = answer.solution_count {
        say!("{:<34} {count} solution{}", "", if count == 1 { "" } else { "s" });
    }
    // What the row does not show: the proof that there is no solution, or that the errors are what
    // rounding leaves of them.
    let largest = rounding[0].max(rounding[1]);
    let meaning = match problem {
        Problem::Lcp(_) => "y ≥ 0 with Mᵀy ≤ 0 and qᵀy < 0",
        Problem::Cones(_) => "normal impulses that move nothing and work against the offsets",
    };
    match &answer.certificate {
        Some(numbers) => {
            let shown: Vec<String> = numbers.iter().take(SHOWN).map(|number| format!("{number}")).collect();
            let rest = if numbers.len() > SHOWN { ", …" } else { "" };
            say!("{:<34} proved by {meaning}: ({}{rest})", "", shown.join(", "));
        }
        None if *status == "no-solution" => say!("{:<34} proved by exclusion of every complementary basis", ""),
        None if largest > tolerance && largest.is_finite() => {
            say!("{:<34} rounding alone is {largest:.1e} in these units: no smaller error can be told", "");
        }
        None => {}
    }
}

/// The problems that an argument names, in order: files, and folders with matrices.
pub(crate) fn problems(argument: &Path) -> Result<Vec<PathBuf>, Failure> {
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

//! `stiction solve PROBLEM`: one problem or a folder of them, by one method or all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use stiction_scene::run_folder::write_atomically;
use stiction_solve::LemkeSettings;
use stiction_solve::problem_file::{MATRIX_FILE, read_lcp};
use stiction_study::solve_problem::{LcpAnswer, LcpMethod, solve_lcp};

use crate::failure::{BAD_INPUT, Failure, UNSOLVED};

/// Arguments of `solve`.
#[derive(Args)]
pub struct SolveArguments {
    /// A folder with M.mtx and q.mtx, or a folder of such folders
    problem: PathBuf,
    /// Method
    #[arg(long, value_name = "M", value_enum, default_value = "automatic")]
    method: Method,
    /// Largest residual of an answer, in the problem's own scale
    #[arg(long, value_name = "E", default_value = "1e-10")]
    tol: f64,
    /// Write the answer as JSON; one problem and one method only
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the answers as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    /// Lemke, and enumeration where it fails and the problem is small
    Automatic,
    /// Lemke's method in revised form
    Lemke,
    /// Lemke's method on the explicit tableau
    Tableau,
    /// All complementary bases, at most 20 unknowns
    Enumerate,
    /// Every method
    All,
}

/// Runs the command. A problem that no chosen method solves gives exit code 3, one that cannot be read 2 or 4.
pub fn solve(arguments: &SolveArguments) -> Result<ExitCode, Failure> {
    if !(arguments.tol > 0.0 && arguments.tol.is_finite()) {
        return Err(Failure::new(BAD_INPUT, format!("--tol {}: it must be positive and finite", arguments.tol)));
    }
    let methods: &[LcpMethod] = match arguments.method {
        Method::Automatic => &[LcpMethod::Automatic],
        Method::Lemke => &[LcpMethod::Lemke],
        Method::Tableau => &[LcpMethod::Tableau],
        Method::Enumerate => &[LcpMethod::Enumerate],
        Method::All => &LcpMethod::ALL,
    };
    let settings = LemkeSettings { residual_tolerance: arguments.tol, ..Default::default() };
    let problems = problems(&arguments.problem)?;
    if arguments.out.is_some() && (problems.len() > 1 || methods.len() > 1) {
        return Err(Failure::new(BAD_INPUT, "--out takes one problem and one method"));
    }
    let mut documents = Vec::new();
    let mut all_solved = true;
    let mut unreadable = None;
    if !arguments.json {
        say!(
            "{:<28} {:>5} {:<10} {:<12} {:>9} {:>9} {:>7} {:>12}",
            "problem",
            "n",
            "method",
            "status",
            "err_q",
            "scaled",
            "pivots",
            "time"
        );
    }
    for folder in &problems {
        let lcp = match read_lcp(folder) {
            Ok(lcp) => lcp,
            // One bad file does not cost the answers of the others.
            Err(error) => {
                let code = Failure::from(error).report();
                unreadable.get_or_insert(code);
                continue;
            }
        };
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let mut is_solved = false;
        for &method in methods {
            let Some(answer) = solve_lcp(&lcp, method, &settings) else {
                if !arguments.json {
                    say!("{name:<28} {:>5} {:<10} too large for this method", lcp.size(), method.name());
                }
                continue;
            };
            is_solved |= answer.status == "solved";
            if !arguments.json {
                print_row(&name, lcp.size(), &answer);
            }
            let mut document = serde_json::to_value(&answer).map_err(|error| Failure::new(BAD_INPUT, error))?;
            if let Some(out) = &arguments.out {
                write_atomically(out, format!("{document:#}\n").as_bytes())?;
            }
            document["problem"] = folder.display().to_string().into();
            documents.push(document);
        }
        all_solved &= is_solved;
    }
    if arguments.json && !(documents.is_empty() && unreadable.is_some()) {
        say!("{:#}", serde_json::Value::Array(documents));
    }
    let verdict = if all_solved { ExitCode::SUCCESS } else { ExitCode::from(UNSOLVED) };
    Ok(unreadable.unwrap_or(verdict))
}

fn print_row(name: &str, size: usize, answer: &LcpAnswer) {
    let count = answer
        .solution_count
        .map_or_else(String::new, |count| format!("  {count} solution{}", if count == 1 { "" } else { "s" }));
    say!(
        "{name:<28} {size:>5} {:<10} {:<12} {:>9.1e} {:>9.1e} {:>7} {:>9.1} µs{count}",
        answer.method,
        answer.status,
        answer.err_q,
        answer.err_scaled,
        answer.iterations,
        1e6 * answer.time_s,
    );
}

/// The problem folders that an argument names, in order.
fn problems(argument: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_problem = |path: &Path| path.join(MATRIX_FILE).is_file();
    if is_problem(argument) {
        return Ok(vec![argument.to_owned()]);
    }
    let entries = std::fs::read_dir(argument).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::new(BAD_INPUT, format!("there is no folder `{}`", argument.display())),
        ErrorKind::NotADirectory => Failure::new(BAD_INPUT, format!("`{}` is not a folder", argument.display())),
        _ => Failure::io("read", argument, &error),
    })?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_problem(path)).collect();
    found.sort();
    if found.is_empty() {
        let message = format!("{}: neither a folder with {MATRIX_FILE} nor one with such folders", argument.display());
        return Err(Failure::new(BAD_INPUT, message));
    }
    Ok(found)
}

//! The same LCP files by Siconos's lexicographic Lemke, where its Python package is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use stiction_dynamics::families::RandomContacts;
use stiction_dynamics::{Pyramid, PyramidSettings};
use stiction_solve::problem_file::{read_lcp, write_lcp};
use stiction_solve::{Lcp, LcpSolution, Lemke, LemkeProblem, LemkeSettings};

use super::timing::best_time;
use super::{Row, measure_each, micro};

/// The script that times Siconos.
const SCRIPT: &str = include_str!("siconos_lcp.py");

/// Interpreters that are tried: that of the path, and that of the system, which sees the packages
/// of the distribution.
const INTERPRETERS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// An answer counts as solved up to this error, relative to the largest offset.
const SOLVED: f64 = 1e-9;

/// Contacts of the families that are compared, and seeds of each.
const SIZES: [(usize, u64); 5] = [(1, 10), (7, 10), (20, 10), (50, 10), (100, 3)];

/// One size of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiconosRow {
    /// Number of contacts.
    pub contacts: usize,
    /// Number of problems.
    pub problems: usize,
    /// Problems that we solved.
    pub solved: usize,
    /// Problems that Siconos solved.
    pub siconos_solved: usize,
    /// Our mean time in seconds, scaling included.
    pub time: f64,
    /// Mean time of Siconos in seconds.
    pub siconos_time: f64,
    /// Median over the problems of Siconos's time over ours, those that it does not solve included.
    pub ratio: f64,
    /// The same over those that it solves; none if it solves none.
    pub ratio_where_solved: Option<f64>,
}

impl Row for SiconosRow {
    const TITLE: &'static str =
        "The same files by Siconos (lexicographic Lemke); ratios are medians of its time over ours";
    const HEADINGS: &'static [&'static str] =
        &["contacts", "solved", "Siconos", "time", "Siconos", "ratio", "where it solves"];

    fn cells(&self) -> Vec<String> {
        let solved = |count: usize| format!("{count}/{}", self.problems);
        vec![
            self.contacts.to_string(),
            solved(self.solved),
            solved(self.siconos_solved),
            micro(self.time),
            micro(self.siconos_time),
            format!("{:.1}", self.ratio),
            self.ratio_where_solved.map_or("–".to_owned(), |ratio| format!("{ratio:.1}")),
        ]
    }

    fn is_solved(&self) -> bool {
        self.solved == self.problems
    }
}

/// One line of the script.
#[derive(Deserialize)]
struct SiconosAnswer {
    time: f64,
    error: f64,
}

/// An interpreter that has Siconos.
pub fn interpreter() -> Option<&'static str> {
    INTERPRETERS.into_iter().find(|interpreter| {
        let output = Command::new(interpreter).args(["-c", "import siconos.numerics"]).output();
        output.is_ok_and(|output| output.status.success())
    })
}

/// Compares on problems written to files under `folder`.
///
/// # Errors
/// A message that says what could not be written, started or understood.
pub fn measure(
    interpreter: &str,
    folder: &Path,
    progress: impl FnMut(usize, usize),
) -> Result<Vec<SiconosRow>, String> {
    measure_each(&SIZES, progress, |&(contact_count, seeds)| {
        let mut pyramid = Pyramid::new(PyramidSettings::default()).map_err(|error| error.to_string())?;
        let family = RandomContacts { contact_count, ..Default::default() };
        let mut folders: Vec<PathBuf> = Vec::new();
        for seed in 0..seeds {
            let lcp = pyramid.lcp(&family.problem(seed)).map_err(|error| error.to_string())?;
            let path = folder.join(format!("random-{contact_count}-{seed}"));
            write_lcp(&path, &lcp).map_err(|error| error.to_string())?;
            folders.push(path);
        }
        let output = Command::new(interpreter)
            .args(["-c", SCRIPT])
            .args(&folders)
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .output()
            .map_err(|error| format!("{interpreter} could not be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Siconos prints remarks of its own between our lines.
        let answers: Vec<SiconosAnswer> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if answers.len() != folders.len() {
            let problem = String::from_utf8_lossy(&output.stderr);
            return Err(format!("Siconos answered {} of {} problems: {problem}", answers.len(), folders.len()));
        }
        compare(contact_count, &folders, &answers)
    })
}

fn compare(contacts: usize, folders: &[PathBuf], answers: &[SiconosAnswer]) -> Result<SiconosRow, String> {
    let settings = LemkeSettings::default();
    let mut lemke = Lemke::default();
    let mut solution = LcpSolution::default();
    let (mut times, mut solved) = (Vec::new(), 0);
    for folder in folders {
        let lcp = read_lcp(folder).map_err(|error| error.to_string())?;
        let solve = best_time(|| lemke.solve(&lcp, &settings, &[], &mut solution));
        // Scaling is part of the work; copying the data for it is not.
        let columns: Vec<f64> = (0..lcp.size()).flat_map(|j| lcp.column(j)).copied().collect();
        let copy = best_time(|| drop(std::hint::black_box((columns.clone(), lcp.offset().to_vec()))));
        let state = best_time(|| drop(Lcp::from_columns(columns.clone(), lcp.offset().to_vec())));
        times.push(solve + (state - copy).max(0.0));
        let size = lcp.offset().iter().fold(0.0f64, |size, q| size.max(q.abs()));
        lcp.judge(&solution.z, &mut solution.w);
        let error = solution.z.iter().zip(&solution.w).fold(0.0f64, |worst, (z, w)| worst.max(z.min(*w).abs()));
        solved += usize::from(solution.report.is_solved() && error <= SOLVED * size);
    }
    let pairs: Vec<(f64, bool)> =
        answers.iter().zip(&times).map(|(answer, time)| (answer.time / time, answer.error <= SOLVED)).collect();
    let count = folders.len() as f64;
    Ok(SiconosRow {
        contacts,
        problems: folders.len(),
        solved,
        siconos_solved: pairs.iter().filter(|(_, is_solved)| *is_solved).count(),
        time: times.iter().sum::<f64>() / count,
        siconos_time: answers.iter().map(|answer| answer.time).sum::<f64>() / count,
        ratio: median(pairs.iter().map(|(ratio, _)| *ratio)).unwrap_or(f64::NAN),
        ratio_where_solved: median(pairs.iter().filter(|(_, is_solved)| *is_solved).map(|(ratio, _)| *ratio)),
    })
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 0 => Some(0.5 * (values[middle - 1] + values[middle])),
        _ => Some(values[middle]),
    }
}

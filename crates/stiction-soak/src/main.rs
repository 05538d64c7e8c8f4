//! A soak: attacks on Stiction with inputs of which the truth is known, for as long as one likes.
//!
//! | file | attack |
//! |---|---|
//! | `problems.rs` | random problems: `case.rs` makes them from known solutions over bodies of `layout.rs`, `answer.rs` asks the library, `judge.rs` judges in `double_double.rs` |
//! | `scenes.rs` | scenes with other bytes and values |
//! | `files.rs` | damaged problem files and run folders |
//! | `kills.rs` | runs that are killed or interrupted |
//! | `grid.rs` | scenes × schemes × methods × steps, the records of `run_record.rs` against the certificate |
//!
//! Everything follows from the seed: the same seed and the same number of rounds give the same
//! inputs.

mod answer;
mod case;
mod child;
mod double_double;
mod files;
mod grid;
mod judge;
mod kills;
mod layout;
mod problems;
mod run_record;
mod scenes;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use problems::Problems;
use tally::Soak;

const HELP: &str = "\
usage: stiction-soak --stiction PROGRAM [--minutes N | --rounds N] [--seed N] [--out FOLDER] [--only ATTACK] [--keep-all]
attacks: problems, scenes, files, kills, grid
";

/// Problems of one round.
const PROBLEMS: u64 = 400;

/// An attack by its name, how often it comes in a round, and what one attempt is.
type Attack = (&'static str, u64, fn(&mut Soak, u64) -> Result<(), String>);

/// The attacks on the command.
const ATTACKS: [Attack; 4] = [
    ("scenes", 40, scenes::attack),
    ("files", 10, files::attack),
    ("kills", 4, kills::attack),
    ("grid", 20, grid::attack),
];

/// What the command line asks for.
struct Arguments {
    stiction: PathBuf,
    minutes: Option<f64>,
    rounds: Option<u64>,
    seed: u64,
    out: PathBuf,
    only: Option<String>,
    keeps_all: bool,
    work: Option<std::ops::Range<u64>>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            stiction: "stiction".into(),
            minutes: None,
            rounds: None,
            seed: 1,
            out: std::env::temp_dir().join("stiction-soak"),
            only: None,
            keeps_all: false,
            work: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is not a number"));
            match word.as_str() {
                "--stiction" => arguments.stiction = value()?.into(),
                "--minutes" => {
                    let text = value()?;
                    arguments.minutes = Some(text.parse().map_err(|_| format!("{text} is not a number"))?);
                }
                "--rounds" => arguments.rounds = Some(number(value()?)?),
                "--seed" => arguments.seed = number(value()?)?,
                "--out" => arguments.out = value()?.into(),
                "--only" => arguments.only = Some(value()?),
                "--keep-all" => arguments.keeps_all = true,
                "--work" => {
                    let text = value()?;
                    let (from, to) = text.split_once("..").ok_or("--work needs a range")?;
                    arguments.work = Some(number(from.into())?..number(to.into())?);
                }
                unknown => return Err(format!("there is no option {unknown}")),
            }
        }
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprint!("error: {message}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if let Some(numbers) = arguments.work {
        problems::work(arguments.seed, numbers);
        return ExitCode::SUCCESS;
    }
    match soak(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(1)
        }
    }
}

/// Runs rounds until the time is up or their number is reached; whether nothing was found.
fn soak(arguments: Arguments) -> Result<bool, String> {
    println!("seed {}", arguments.seed);
    let end = arguments.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(60.0 * minutes));
    let rounds = arguments.rounds.unwrap_or(if end.is_some() { u64::MAX } else { 1 });
    // It is started in other folders.
    let stiction = std::fs::canonicalize(&arguments.stiction).unwrap_or(arguments.stiction);
    let mut soak = Soak::new(arguments.seed, stiction, arguments.out, arguments.keeps_all, end);
    let is_asked = |attack: &str| arguments.only.as_deref().is_none_or(|only| only == attack);
    let mut problems = Problems::default();
    let mut round = 0;
    while round < rounds && !soak.is_over() {
        if is_asked("problems") {
            problems.attack(&mut soak, round * PROBLEMS..(round + 1) * PROBLEMS)?;
        }
        for (name, count, attack) in ATTACKS.iter().filter(|(name, ..)| is_asked(name)) {
            for number in round * count..(round + 1) * count {
                if soak.is_over() {
                    break;
                }
                attack(&mut soak, number).map_err(|error| format!("{name} {number}: {error}"))?;
            }
        }
        round += 1;
    }
    problems.report();
    Ok(soak.report())
}

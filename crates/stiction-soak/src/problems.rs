//! Attack: random problems of which the truth is known, judged apart from the library.
//!
//! The problems are solved in a process of their own, which says a line for each, so that a solve
//! that never ends or that tears down its process costs one problem and not the soak.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use stiction_study::bench::timing::process_time;

use crate::answer::{Answer, answer, save};
use crate::case::{Case, Truth, cases};
use crate::judge::judge;
use crate::tally::{Fault, Soak};

/// A solve that takes more processor time has gone beyond any limit of work; it is far above the
/// slowest. Time on the clock would blame a busy machine.
const HANG: Duration = Duration::from_secs(300);

/// How often the worker looks at its processor time.
const LOOK: Duration = Duration::from_millis(200);

/// A worker that says nothing for so long waits for something, and does not compute.
const SILENCE: Duration = Duration::from_secs(3600);

/// How much above the tolerance our error may be, because the library adds in another order.
const SLACK: f64 = 2.0;

/// What came of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Solved, and it is; or without solution, and it is.
    Right,
    /// Solved up to rounding, though above the tolerance.
    Rounded,
    /// No word; a solution is known.
    NotFound,
    /// No word, and there is no solution.
    NotProved,
    FalseSolved,
    FalseNoSolution,
    /// Called without solution, where one exists up to the rounding of the data.
    DoubtfulNoSolution,
    /// A point that is not finite came back.
    NotFinite,
    Panic,
    Hang,
}

impl Outcome {
    /// All of them: their names, the heads of their columns, and which fault they are.
    const ALL: [(Self, &'static str, &'static str, Option<Fault>); 10] = [
        (Self::Right, "right", "right", None),
        (Self::Rounded, "rounded", "rounded", None),
        (Self::NotFound, "not-found", "missed", None),
        (Self::NotProved, "not-proved", "unproved", None),
        (Self::FalseSolved, "false-solved", "false+", Some(Fault::FalseSolved)),
        (Self::FalseNoSolution, "false-no-solution", "false-", Some(Fault::FalseNoSolution)),
        (Self::DoubtfulNoSolution, "doubtful-no-solution", "doubtful", None),
        (Self::NotFinite, "not-finite", "NaN", Some(Fault::NotFinite)),
        (Self::Panic, "panic", "panic", Some(Fault::Panic)),
        (Self::Hang, "hang", "hang", Some(Fault::Hang)),
    ];

    fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, ..)| *known == name).map(|(outcome, ..)| *outcome)
    }

    /// Whether the solution that is known to exist, or another one, was found.
    fn is_found(self) -> bool {
        matches!(self, Self::Right | Self::Rounded)
    }

    fn fault(self) -> Option<Fault> {
        Self::ALL[self as usize].3
    }
}

/// The seed of problem number `number`, and whether it is handed over as bodies.
fn seed_of(seed: u64, number: u64) -> (u64, bool) {
    (seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(number), number.is_multiple_of(2))
}

/// Solves the problems with these numbers and prints a line for each: the other side of [`attack`].
pub fn work(seed: u64, numbers: std::ops::Range<u64>) {
    std::panic::set_hook(Box::new(|_| ()));
    let watch = Watch::start();
    for number in numbers {
        let (case_seed, as_bodies) = seed_of(seed, number);
        for (part, case) in cases(case_seed).iter().enumerate() {
            let began = process_time();
            watch.begin(number, part);
            let (outcome, detail) = std::panic::catch_unwind(|| outcome_of(case, as_bodies)).unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
                (Outcome::Panic, text.replace('\n', " "))
            });
            let seconds = (process_time() - began).as_secs_f64();
            println!("{number}\t{part}\t{}\t{seconds:.3}\t{detail}", outcome.name());
        }
        println!("{number}\tend");
        let _ = std::io::stdout().flush(); // a parent that has gone wants nothing more
    }
}

/// Ends the worker when a solve takes more than [`HANG`], with a line that says so.
struct Watch {
    /// Number and part of the problem, and the processor time in milliseconds at which it began.
    now: Arc<[AtomicU64; 3]>,
}

impl Watch {
    fn start() -> Self {
        let now = Arc::new([const { AtomicU64::new(0) }; 3]);
        let watched = Arc::clone(&now);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(LOOK);
                let [number, part, began] = [0, 1, 2].map(|k| watched[k].load(Ordering::SeqCst));
                let spent = process_time().saturating_sub(Duration::from_millis(began));
                if spent > HANG {
                    let hang = Outcome::Hang.name();
                    println!("{number}\t{part}\t{hang}\t{:.3}\tthe worker was ended", spent.as_secs_f64());
                    std::process::exit(1);
                }
            }
        });
        Self { now }
    }

    fn begin(&self, number: u64, part: usize) {
        let began = u64::try_from(process_time().as_millis()).unwrap_or(u64::MAX);
        for (place, value) in self.now.iter().zip([number, part as u64, began]) {
            place.store(value, Ordering::SeqCst);
        }
    }
}

fn outcome_of(case: &Case, as_bodies: bool) -> (Outcome, String) {
    let point = match (answer(case, as_bodies), case.truth) {
        (Answer::Solved(point), _) => point,
        (Answer::NoSolution, Truth::Unsolvable) => return (Outcome::Right, String::new()),
        (Answer::NoSolution, Truth::Solvable) => return (Outcome::FalseNoSolution, String::new()),
        (Answer::NoSolution, Truth::NearlySolvable) => return (Outcome::DoubtfulNoSolution, String::new()),
        (Answer::NotSolved, Truth::Unsolvable) => return (Outcome::NotProved, String::new()),
        (Answer::NotSolved, _) => return (Outcome::NotFound, String::new()),
    };
    let errors = judge(&case.statement, &point);
    let detail = format!("err {:.1e}, scaled {:.1e}, rounding {:.1e}", errors.unscaled, errors.scaled, errors.rounding);
    let tolerance = SLACK * case.tolerance;
    let rounding = [errors.rounding, errors.scaled_rounding];
    let outcome = if point.iter().any(|x| !x.is_finite()) {
        Outcome::NotFinite
    } else if errors.unscaled <= tolerance && errors.scaled <= tolerance {
        Outcome::Right
    } else if errors.unscaled <= tolerance + rounding[0] && errors.scaled <= tolerance + rounding[1] {
        Outcome::Rounded
    } else {
        Outcome::FalseSolved
    };
    (outcome, detail)
}

/// Counts of a group of problems, by outcome.
type Counts = [usize; Outcome::ALL.len()];

/// Counts of problems with a known solution and the same in other units: whether it was missed as
/// it is, and whether it was rescaled.
type Pairs = [[usize; 2]; 2];

fn print_pairs(class: &str, pairs: Pairs) {
    let [[both, only_as_it_is], [only_rescaled, neither]] = pairs;
    let all = both + only_as_it_is + only_rescaled + neither;
    let differing = 100.0 * (only_as_it_is + only_rescaled) as f64 / all.max(1) as f64;
    println!("{class:<20} {both:>7} {only_as_it_is:>14} {only_rescaled:>14} {neither:>9} {differing:>10.3} %");
}

/// What all rounds together found.
#[derive(Default)]
pub struct Problems {
    by_family: BTreeMap<String, Counts>,
    /// By kind, class of friction and how it was rescaled: problems of at most sixty contacts with
    /// a solution.
    targets: BTreeMap<(String, String), Counts>,
    /// By kind and class of friction: the same problems in two units.
    pairs: BTreeMap<String, Pairs>,
    /// Number of the problem that was added last as it is, and what came of it.
    last: Option<(u64, Outcome)>,
    slowest: f64,
}

impl Problems {
    /// Solves the problems with these numbers, or as many as there is time for.
    pub fn attack(&mut self, soak: &mut Soak, numbers: std::ops::Range<u64>) -> Result<(), String> {
        let mut next = numbers.start;
        while next < numbers.end && !soak.is_over() {
            let program = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
            let range = format!("{next}..{}", numbers.end);
            let mut worker = Command::new(program)
                .args(["--seed", &soak.seed.to_string(), "--work", &range])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|error| format!("the worker does not start: {error}"))?;
            let output = BufReader::new(worker.stdout.take().ok_or("the worker has no output")?);
            let (sender, lines) = mpsc::channel();
            let reader = std::thread::spawn(move || {
                output.lines().map_while(Result::ok).take_while(|line| sender.send(line.clone()).is_ok()).count()
            });
            let mut part = 0;
            loop {
                match lines.recv_timeout(SILENCE) {
                    Ok(line) => {
                        let fields: Vec<&str> = line.split('\t').collect();
                        if let [_, "end"] = fields[..] {
                            (next, part) = (next + 1, 0);
                            if soak.is_over() {
                                break;
                            }
                        } else if let [_, _, outcome, seconds, detail] = fields[..] {
                            let outcome = Outcome::from_name(outcome).ok_or("the worker says an unknown word")?;
                            self.slowest = self.slowest.max(seconds.parse().unwrap_or_default());
                            self.add(soak, next, part, outcome, detail)?;
                            part += 1;
                            if outcome == Outcome::Hang {
                                next += 1;
                                break;
                            }
                        }
                    }
                    // It says nothing: it hangs, or it is gone.
                    Err(reason) if next < numbers.end => {
                        let is_hang = reason == mpsc::RecvTimeoutError::Timeout;
                        let outcome = if is_hang { Outcome::Hang } else { Outcome::Panic };
                        self.add(soak, next, part, outcome, "the process was ended")?;
                        next += 1;
                        break;
                    }
                    Err(_) => break,
                }
            }
            let _ = worker.kill(); // it may have ended by itself
            worker.wait().map_err(|error| format!("the worker cannot be waited for: {error}"))?;
            drop(lines);
            let _ = reader.join(); // it ends with the output, and returns a count that nobody needs
        }
        Ok(())
    }

    fn add(&mut self, soak: &mut Soak, number: u64, part: usize, outcome: Outcome, detail: &str) -> Result<(), String> {
        let (case_seed, as_bodies) = seed_of(soak.seed, number);
        let Some(case) = cases(case_seed).into_iter().nth(part) else { return Err("the worker counts wrong".into()) };
        soak.done("problems");
        self.by_family.entry(case.family.clone()).or_default()[outcome as usize] += 1;
        if case.is_target {
            let kind = case.family.split(' ').next().unwrap_or_default();
            let class = format!("{kind} {}", case.friction);
            let scale = case.rescaled.map_or("as it is".into(), |(name, _)| format!("{name} rescaled"));
            self.targets.entry((class.clone(), scale)).or_default()[outcome as usize] += 1;
            match (case.rescaled, self.last) {
                (None, _) => self.last = Some((number, outcome)),
                (Some(_), Some((of, as_it_is))) if of == number => {
                    let [first, second] = [as_it_is, outcome].map(|outcome| usize::from(!outcome.is_found()));
                    self.pairs.entry(class).or_default()[first][second] += 1;
                }
                _ => {} // the worker ended between the two
            }
        }
        let is_worth_keeping =
            outcome == Outcome::DoubtfulNoSolution || (outcome == Outcome::NotFound && case.is_target);
        if outcome.fault().is_some() || (soak.keeps_all && is_worth_keeping) {
            let name = format!("problem-{}-{number}-{part}-{}", soak.seed, outcome.name());
            let rescaled = case.rescaled.map_or(String::new(), |(what, power)| format!(", {what} x 1e{power}"));
            let path = save(&case, as_bodies, &soak.findings()?, &name)?;
            let note = format!(
                "{}, {} of size {}, {}{rescaled}, tolerance {:e}, {:?}: {detail}; stiction solve {} --tol {:e}",
                outcome.name(),
                case.family,
                case.statement.size(),
                case.friction,
                case.tolerance,
                case.truth,
                path.display(),
                case.tolerance
            );
            soak.note(outcome.fault(), &note)?;
        }
        Ok(())
    }

    /// The tables.
    pub fn report(&self) {
        if self.by_family.is_empty() {
            return;
        }
        println!("\nproblems with known truth");
        // Each column is as wide as its head, and at least so wide.
        let width = |head: &str| head.len().max(6) + 1;
        let heads = Outcome::ALL.map(|(_, _, head, _)| format!("{head:>width$}", width = width(head)));
        println!("{:<28} {:>7} {}", "family", "all", heads.concat());
        for (family, counts) in &self.by_family {
            let columns = Outcome::ALL.iter().zip(counts);
            let columns: String =
                columns.map(|((_, _, head, _), count)| format!("{count:>width$}", width = width(head))).collect();
            println!("{family:<28} {:>7} {columns}", counts.iter().sum::<usize>());
        }
        println!("\nknown solutions found, at most 60 contacts (slowest solve {:.2} s)", self.slowest);
        for ((class, scale), counts) in &self.targets {
            let found = counts[Outcome::Right as usize] + counts[Outcome::Rounded as usize];
            let all = counts.iter().sum::<usize>();
            let share = 100.0 * found as f64 / all as f64;
            println!("{class:<20} {scale:<18} {found:>7} of {all:>7}  {share:>8.3} %");
        }
        println!("\nthe same problem in two units: where its solution was found");
        println!(
            "{:<20} {:>7} {:>14} {:>14} {:>9} {:>12}",
            "class", "both", "only as it is", "only rescaled", "neither", "differing"
        );
        let mut sum = Pairs::default();
        for (class, pairs) in &self.pairs {
            print_pairs(class, *pairs);
            sum.iter_mut().flatten().zip(pairs.iter().flatten()).for_each(|(sum, count)| *sum += count);
        }
        print_pairs("all", sum);
    }
}

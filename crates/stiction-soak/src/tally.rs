//! What a soak has done and found so far, and where it keeps the inputs that failed.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Called solved, and it is not.
    FalseSolved,
    /// Called without solution, and it has one.
    FalseNoSolution,
    /// Called certified, and what was recorded contradicts it.
    FalseCertificate,
    /// A number that is none, under exit 0 or from a solver.
    NotFinite,
    /// The program panicked, or ended by a signal that nobody sent.
    Panic,
    /// It did not end.
    Hang,
    /// A run folder that cannot be read, or less than there was before.
    DataLost,
}

impl Fault {
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::FalseSolved, "false solved"),
        (Self::FalseNoSolution, "false no-solution"),
        (Self::FalseCertificate, "false certificates"),
        (Self::NotFinite, "NaN under exit 0"),
        (Self::Panic, "panics"),
        (Self::Hang, "hangs"),
        (Self::DataLost, "data lost"),
    ];
}

/// One soak.
pub struct Soak {
    pub seed: u64,
    /// The command `stiction`.
    pub stiction: PathBuf,
    /// Whether problems that were merely not solved are kept too.
    pub keeps_all: bool,
    out: PathBuf,
    end: Option<Instant>,
    done: BTreeMap<&'static str, usize>,
    faults: BTreeMap<Fault, usize>,
}

impl Soak {
    pub fn new(seed: u64, stiction: PathBuf, out: PathBuf, keeps_all: bool, end: Option<Instant>) -> Self {
        Self { seed, stiction, keeps_all, out, end, done: BTreeMap::new(), faults: BTreeMap::new() }
    }

    /// The seed of an attempt of an attack, which has a factor and a bit of its own.
    pub fn seed_of(&self, number: u64, factor: u64, bit: u32) -> u64 {
        self.seed.wrapping_mul(factor).wrapping_add(number).wrapping_add(1 << bit)
    }

    /// Whether the time is up; never where a count was asked for.
    pub fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Counts one attempt of an attack.
    pub fn done(&mut self, attack: &'static str) {
        *self.done.entry(attack).or_default() += 1;
    }

    /// The folder for inputs that failed, which appears with the first of them.
    pub fn findings(&self) -> Result<PathBuf, String> {
        std::fs::create_dir_all(&self.out).map_err(|error| format!("{}: {error}", self.out.display()))?;
        Ok(self.out.clone())
    }

    /// Says what was found, here and in the folder's list, and counts it where it is a fault.
    pub fn note(&mut self, fault: Option<Fault>, text: &str) -> Result<(), String> {
        if let Some(fault) = fault {
            *self.faults.entry(fault).or_default() += 1;
            println!("FAULT {text}");
        }
        let path = self.findings()?.join("README");
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        writeln!(file, "{text}").map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The last table; whether nothing was found.
    pub fn report(&self) -> bool {
        println!("\nattempts");
        for (attack, count) in &self.done {
            println!("{attack:<20} {count:>8}");
        }
        println!("\nmust be zero");
        for (fault, name) in Fault::ALL {
            println!("{name:<20} {:>8}", self.faults.get(&fault).unwrap_or(&0));
        }
        if self.faults.is_empty() {
            return true;
        }
        println!("\ninputs that failed are in {}; repeat with --seed {}", self.out.display(), self.seed);
        false
    }
}

//! Attack: problem files and run folders with damaged bytes. Commands may refuse them or say what
//! is left; they do not panic or hang.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stiction_dynamics::families::Generator;

use crate::answer::save;
use crate::case::cases;
use crate::child::{Running, Scratch};
use crate::scenes::with_other_bytes;
use crate::tally::Soak;

/// How long a command may take with such a file: the problems are small.
const LIMIT: Duration = Duration::from_secs(120);

/// Most contacts or unknowns of a problem that is damaged.
const LARGEST: usize = 12;

/// Damages a problem file and a file of a run folder, and hands them to the commands that read
/// them.
pub fn attack(soak: &mut Soak, number: u64) -> Result<(), String> {
    let seed = soak.seed_of(number, 37, 41);
    let mut random = Generator::new(seed);
    let scratch = Scratch::new("files")?;
    let case = (seed..).flat_map(cases).find(|case| case.statement.size() <= LARGEST).ok_or("no small problem")?;
    let problem = save(&case, number.is_multiple_of(2), scratch.path(), "problem")?;
    damage(soak, &scratch, &problem, &["solve", "--method", "all"], number, &mut random)?;

    let scene = ["incline", "rod", "four-balls", "double-pendulum"][random.below(4)];
    let run = ["run", scene, "--end", "0.05", "--out", "run"];
    Running::start(&soak.stiction, scratch.path(), &run)?.end(LIMIT)?;
    let run = scratch.path().join("run");
    if run.is_dir() {
        let command: &[&str] = if random.chance(0.5) { &["plot", "--list"] } else { &["plot"] };
        damage(soak, &scratch, &run, command, number, &mut random)?;
    }
    Ok(())
}

/// Damages one file at or below a path and runs a command on the path.
fn damage(
    soak: &mut Soak,
    scratch: &Scratch,
    path: &Path,
    command: &[&str],
    number: u64,
    random: &mut Generator,
) -> Result<(), String> {
    let mut files = files_below(path)?;
    files.sort();
    let file = &files[random.below(files.len())];
    let mut bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    for _ in 0..1 + random.below(3) {
        bytes = with_other_bytes(&bytes, random);
    }
    std::fs::write(file, &bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    soak.done("damaged files");
    let argument = path.to_string_lossy().into_owned();
    let arguments: Vec<&str> =
        command[..1].iter().copied().chain([argument.as_str()]).chain(command[1..].iter().copied()).collect();
    let ended = Running::start(&soak.stiction, scratch.path(), &arguments)?.end(LIMIT)?;
    if let Some(fault) = ended.fault() {
        let name = format!("file-{}-{number}-{}", soak.seed, file.file_name().unwrap_or_default().to_string_lossy());
        let kept = soak.findings()?.join(name);
        std::fs::write(&kept, &bytes).map_err(|error| format!("{}: {error}", kept.display()))?;
        let note = format!("{fault:?}, damaged {}: stiction {}: {}", kept.display(), arguments.join(" "), ended.text);
        soak.note(Some(fault), &note)?;
    }
    Ok(())
}

fn files_below(path: &Path) -> Result<Vec<PathBuf>, String> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    entries.flatten().try_fold(Vec::new(), |mut files, entry| {
        files.append(&mut files_below(&entry.path())?);
        Ok(files)
    })
}

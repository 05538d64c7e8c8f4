//! Attack: runs that are killed or interrupted at any moment. What was there before is still there,
//! and what is there can be read.

use std::time::Duration;

use stiction_dynamics::families::Generator;

use crate::child::{Running, Scratch};
use crate::run_record::RunRecord;
use crate::tally::{Fault, Soak};

/// How long a run may take to end, or to be made whole.
const LIMIT: Duration = Duration::from_secs(120);

/// Makes a run, ends a second one of the same name in the middle, and looks at what is there.
pub fn attack(soak: &mut Soak, number: u64) -> Result<(), String> {
    let mut random = Generator::new(soak.seed_of(number, 41, 42));
    let scratch = Scratch::new("kills")?;
    let folder = scratch.path();
    let scene = ["rod", "woodpecker", "four-balls", "incline"][random.below(4)];
    let run = folder.join("run");
    let first = ["run", scene, "--end", "0.1", "--out", "run"];
    let made = Running::start(&soak.stiction, folder, &first)?.end(LIMIT)?;
    soak.done("kills");
    let before = RunRecord::read(&run).map_err(|error| format!("{scene} does not run: {error}\n{}", made.text))?;
    std::fs::write(run.join("notes.txt"), "mine").map_err(|error| format!("notes: {error}"))?;

    let signal = ["KILL", "TERM", "INT"][random.below(3)];
    let again = ["run", scene, "--step", "1e-6", "--out", "run"];
    let mut running = Running::start(&soak.stiction, folder, &again)?;
    let moment = Duration::from_millis(random.below(1500) as u64);
    let has_ended = running.wait(moment)?;
    running.signal(signal)?;
    let ended = running.end(LIMIT)?;
    let mut complaints = Vec::new();
    if ended.text.contains("panicked at") || ended.is_hang {
        complaints.push((ended.fault().unwrap_or(Fault::Panic), "the run did not end well".to_owned()));
    }
    // Without an end there is no new run of this name: the old one is there, with everything in it.
    if !has_ended {
        match RunRecord::read(&run) {
            Ok(after) if after.summary["digest"] == before.summary["digest"] => {}
            Ok(after) if after.summary["outcome"] == "finished" => {}
            Ok(_) => complaints.push((Fault::DataLost, "a finished run was replaced by a shorter one".into())),
            Err(error) => complaints.push((Fault::DataLost, error)),
        }
        if signal != "KILL" && ended.code == Some(130) {
            let aside = folder.join("run.unfinished");
            if let Err(error) = RunRecord::read(&aside) {
                complaints.push((Fault::DataLost, format!("what was interrupted cannot be read: {error}")));
            }
        }
    }
    if !run.join("notes.txt").is_file() {
        complaints.push((Fault::DataLost, "a file of the user is gone".into()));
    }
    // And the next run needs no help.
    let next = Running::start(&soak.stiction, folder, &first)?.end(LIMIT)?;
    if !matches!(next.code, Some(0 | 1)) || RunRecord::read(&run).is_err() || !run.join("notes.txt").is_file() {
        complaints.push((Fault::DataLost, format!("the next run does not come to its end: {}", next.text)));
    }
    for (fault, complaint) in complaints {
        let note = format!("{fault:?}, {scene} ended by {signal} after {moment:?} (number {number}): {complaint}");
        soak.note(Some(fault), &note)?;
    }
    Ok(())
}

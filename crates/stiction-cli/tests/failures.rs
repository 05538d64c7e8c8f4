//! Everything that goes wrong, as people meet it: the message, the exit code, and what is on the
//! disk afterwards.
//!
//! In all cases: no panic, nothing half-written under a final name, and nothing lost that was there
//! before.

#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use common::{PRESS, command, expect, folder, json, stiction, text};
use stiction_scene::record::ROWS_PER_GROUP;
use stiction_scene::table_file::Table;

const TABLES: [&str; 4] = ["states.parquet", "contacts.parquet", "audit.parquet", "events.parquet"];

/// Longest time that something may take which normally takes seconds: so long that only a hang
/// exceeds it.
const PATIENCE: Duration = Duration::from_secs(300);

/// Every file and folder below a folder, with the bytes of the files.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.append(&mut contents(&path));
            found.insert(path, Vec::new());
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            found.insert(path, bytes);
        }
    }
    found
}

/// Names of what is directly in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| text(entry.expect("an entry").file_name().as_encoded_bytes())).collect();
    names.sort();
    names
}

fn summary(run: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(run.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

fn table(path: &Path) -> Table {
    Table::read(path).unwrap_or_else(|error| panic!("{error}"))
}

/// A command that fails: its exit code, parts of its message, nothing on standard output, and the
/// folder as it was before.
#[track_caller]
fn refuses(folder: &Path, arguments: &[&str], code: i32, parts: &[&str]) {
    let before = contents(folder);
    let output = stiction(folder, arguments);
    expect(&output, code, parts);
    let errors = text(&output.stderr);
    assert!(errors.starts_with("error: "), "{arguments:?}: {errors}");
    assert!(parts.iter().all(|part| errors.contains(part)), "{arguments:?}, on standard error: {errors}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    let changed: Vec<_> =
        contents(folder).into_iter().filter(|(path, bytes)| before.get(path) != Some(bytes)).collect();
    assert!(changed.is_empty(), "{arguments:?} wrote {:?}", changed.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(contents(folder).len(), before.len(), "{arguments:?} removed something");
}

/// The text of a built-in scene with one piece replaced, as a file; returns the line of the
/// replacement.
fn write_scene(folder: &Path, file: &str, scene: &str, from: &str, to: &str) -> usize {
    let text = text(&stiction(folder, &["scenes", scene]).stdout);
    let place = text.find(from).unwrap_or_else(|| panic!("`{from}` is not in {scene}"));
    std::fs::write(folder.join(file), text.replacen(from, to, 1)).expect("written");
    text[..place].lines().count() + usize::from(text[..place].ends_with('\n'))
}

/// A scene with one mistake: `run` and `check` name file and line, say what is wrong and what to
/// do, and write nothing.
#[track_caller]
fn scene_is_refused(scene: &str, from: &str, to: &str, parts: &[&str]) {
    let dir = folder();
    let line = write_scene(dir.path(), "bad.toml", scene, from, to);
    let place = format!("bad.toml:{line}:");
    let parts = [&[place.as_str(), "help: "], parts].concat();
    refuses(dir.path(), &["run", "bad.toml"], 2, &parts);
    refuses(dir.path(), &["check", "bad.toml"], 2, &parts);
}

// -------------------------------------------------------------------------------------------------------------
// scenes

#[test]
fn unknown_key_comes_with_a_suggestion() {
    let parts = ["unknown key `fricton` in material `steel`", "did you mean `friction`?"];
    scene_is_refused("rod", "friction = 0.6", "fricton = 0.6", &parts);
}

#[test]
fn masses_that_are_not_positive() {
    for (mass, said) in [("0.0", "0.0"), ("0", "0.0"), ("-1.5", "-1.5")] {
        let parts = [&format!("the mass is {said} kg"), "give a positive number"];
        scene_is_refused("rod", "mass = 1.0", &format!("mass = {mass}"), &parts);
    }
    let dir = folder();
    refuses(dir.path(), &["run", "rod", "--set", "body.rod.mass=0"], 2, &["--set body.rod.mass=0: the mass is 0.0 kg"]);
}

#[test]
fn numbers_that_are_not_finite() {
    scene_is_refused("rod", "mass = 1.0", "mass = nan", &["body `rod`, `mass` is nan", "give a finite number"]);
    scene_is_refused("rod", "[0.0, -9.81]", "[0.0, -inf]", &["gravity 2 is -inf", "give a finite number"]);
    let dir = folder();
    refuses(dir.path(), &["run", "rod", "--step", "nan"], 2, &["--step NaN: `run`, `step` is nan", "finite"]);
    refuses(dir.path(), &["run", "rod", "--end", "inf"], 2, &["--end inf: `run`, `end` is inf", "finite"]);
    refuses(dir.path(), &["check", "rod", "--set", "body.rod.mass=nan"], 2, &["--set body.rod.mass=nan", "finite"]);
}

#[test]
fn quaternion_far_from_unit_length_is_refused() {
    let turn = "orientation = [0.9737074591027911, 0.0, 0.22780207217579573, 0.0]";
    let parts = ["orientation has length 2.0 and must have length 1", "only lengths within 0.001 of 1 are normalised"];
    scene_is_refused(
        "incline",
        turn,
        "orientation = [0.0, 0.0, 2.0, 0.0]",
        &[&parts[..], &["[0.0, 0.0, 1.0, 0.0]"]].concat(),
    );
    scene_is_refused("incline", turn, "orientation = [0.0, 0.0, 0.0, 0.0]", &["orientation has length 0.0"]);
}

#[test]
fn quaternion_close_to_unit_length_is_normalised_and_that_is_said() {
    let dir = folder();
    let said = "the orientation of body `box` has length 1.0005; it was normalised to [1.0, 0.0, 0.0, 0.0]";
    let run = |out: &str, orientation: &str| {
        let orientation = format!("body.box.orientation={orientation}");
        let output = stiction(dir.path(), &["run", "box-on-corners", "--json", "--out", out, "--set", &orientation]);
        expect(&output, 0, &[]);
        (text(&output.stderr), json(&output)["digest"].clone())
    };
    let (warning, digest) = run("close", "[1.0005, 0.0, 0.0, 0.0]");
    assert!(warning.starts_with("warning: ") && warning.contains(said), "{warning}");
    assert_eq!((String::new(), digest), run("unit", "[1.0, 0.0, 0.0, 0.0]"), "it ran as if it had been written so");
    let resolved = std::fs::read_to_string(dir.path().join("close/scene.toml")).expect("the resolved scene");
    assert!(resolved.contains("[1.0, 0.0, 0.0, 0.0]") && !resolved.contains("1.0005"), "{resolved}");
    // `check` finds it too, once.
    let close = "body.box.orientation=[1.0005, 0.0, 0.0, 0.0]";
    let output = stiction(dir.path(), &["check", "box-on-corners", "--set", close]);
    expect(&output, 1, &["warning: "]);
    assert_eq!(text(&output.stdout).matches(said).count(), 1, "{}", text(&output.stdout));
}

#[test]
fn negative_friction() {
    let parts = ["the coefficient of friction is -0.2", "give zero or a positive number"];
    scene_is_refused("rod", "friction = 0.6", "friction = -0.2", &parts);
    let dir = folder();
    let arguments = ["run", "rod", "--set", "material.steel.friction=-0.2"];
    refuses(dir.path(), &arguments, 2, &["--set material.steel.friction=-0.2", parts[0]]);
}

#[test]
fn steps_that_are_not_positive() {
    for step in ["0.0", "-0.5"] {
        let said = format!("the step is {step} s");
        scene_is_refused("rod", "step = 0.0025", &format!("step = {step}"), &[&said, "give a positive number"]);
    }
    let dir = folder();
    refuses(dir.path(), &["run", "rod", "--step", "0"], 2, &["--step 0: the step is 0.0 s", "give a positive number"]);
}

#[test]
fn end_before_the_start() {
    let parts = ["the end, 1.0 s, is before the start, 5.0 s", "give an `end` that is not before `start`"];
    let dir = folder();
    write_scene(dir.path(), "late.toml", "rod", "end = 1.0", "end = 1.0\nstart = 5.0");
    refuses(dir.path(), &["run", "late.toml"], 2, &parts);
    refuses(dir.path(), &["run", "rod", "--end", "-1"], 2, &["--end -1: the end, -1.0 s, is before the start, 0.0 s"]);
}

#[test]
fn overlap_at_the_start_names_the_bodies_and_the_depth() {
    let dir = folder();
    let line = write_scene(dir.path(), "deep.toml", "rod", "position = [0.0, 1.0]", "position = [0.0, 0.0]");
    // A capsule of half length 0.25 m and radius 0.05 m at 30°: its lower end is 0.25 sin 30° +
    // 0.05 below its centre.
    let said = format!("deep.toml:{line}:12: ");
    let parts =
        ["bodies `rod` and `table` overlap by 1.750e-1 m at the start", "move one of them", "pushes them apart"];
    let output = stiction(dir.path(), &["check", "deep.toml"]);
    expect(&output, 1, &[&[said.as_str(), "warning: "], &parts[..]].concat());
    // Only schemes on the level of positions push.
    let output = stiction(dir.path(), &["check", "deep.toml", "--set", "scheme={ trapezoidal = {} }"]);
    expect(&output, 1, &["overlap by 1.750e-1 m", "the scheme keeps the overlap"]);
    // A run says it first, and goes on; its certificate is not met, because the bodies penetrate
    // and are pushed apart.
    let output = stiction(dir.path(), &["run", "deep.toml", "--json", "--out", "run"]);
    let errors = text(&output.stderr);
    expect(&output, 1, &[]);
    let summary = json(&output);
    let checks = summary["certificate"]["checks"].as_array().unwrap();
    let exceeded: Vec<_> = checks.iter().filter(|check| check["ok"] == false).map(|check| &check["name"]).collect();
    assert_eq!(exceeded, ["penetration_share", "contact_gain"]);
    assert!(errors.starts_with(&format!("warning: {said}{}", parts[0])), "{errors}");
    assert_eq!(json(&output)["outcome"], "finished");
    // Bodies that only touch do not overlap.
    let touching = ["check", "deep.toml", "--set", "body.rod.position=[0.0, 0.175]"];
    expect(&stiction(dir.path(), &touching), 0, &["nothing wrong"]);
}

#[test]
fn two_bodies_of_one_name() {
    scene_is_refused(
        "rod",
        "name = \"rod\"\nmaterial",
        "name = \"table\"\nmaterial",
        &["two bodies are named `table`"],
    );
}

#[test]
fn truncated_scene() {
    let dir = folder();
    let whole = text(&stiction(dir.path(), &["scenes", "rod"]).stdout);
    let cut = |length: usize| {
        std::fs::write(dir.path().join("cut.toml"), &whole.as_bytes()[..length]).expect("written");
    };
    // In the middle of the last shape: the line, and what TOML expects there.
    let place = whole.rfind("capsule").expect("a capsule");
    cut(place + "capsule = { length".len());
    let line = whole[..place].lines().count() + 1;
    refuses(dir.path(), &["run", "cut.toml"], 2, &[&format!("cut.toml:{line}:"), "help: "]);
    // Anywhere: refused, or a scene that is whole without the rest. Then nothing is free to move,
    // unless only numbers of the last body are missing, which no reader can know.
    let last_body = whole.rfind("[[body]]").expect("a body");
    for length in (0..whole.len()).step_by(23) {
        cut(length);
        let output = stiction(dir.path(), &["check", "cut.toml"]);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(!all.contains("panicked"), "{length}: {all}");
        match output.status.code() {
            Some(2) => assert!(text(&output.stderr).starts_with("error: cut.toml:"), "{length}: {all}"),
            Some(1) => assert!(all.contains("is the end of the file missing?"), "{length}: {all}"),
            _ => assert!(output.status.success() && length > last_body, "{length}: {all}"),
        }
    }
    // Inside a character of two bytes.
    cut(whole.find('é').expect("Painlevé") + 1);
    refuses(dir.path(), &["run", "cut.toml"], 2, &["cut.toml", "UTF-8", "help: "]);
}

// --------------------------------------------------------------------------------------------------------------
// files

#[test]
fn missing_files() {
    let dir = folder();
    // An argument that names nothing is a mistake of the user …
    let scene = ["there is no file and no built-in scene `nowhere.toml`", "check the path", "`rod`"];
    refuses(dir.path(), &["run", "nowhere.toml"], 2, &scene);
    refuses(dir.path(), &["check", "nowhere.toml"], 2, &scene);
    refuses(dir.path(), &["run", "slidingblock"], 2, &["did you mean `sliding-block`?"]);
    refuses(dir.path(), &["plot", "nowhere"], 2, &["`nowhere` is not a run folder: there is no such folder"]);
    refuses(dir.path(), &["solve", "nowhere"], 2, &["there is no folder `nowhere`"]);
    // … a file that has to be there and is not, or is no file, could not be read.
    refuses(dir.path(), &["run", "."], 4, &["cannot read `.`", "help: "]);
    expect(&stiction(dir.path(), &["run", "rod", "--out", "run"]), 0, &[]);
    for file in TABLES {
        let path = dir.path().join("run").join(file);
        let bytes = std::fs::read(&path).expect("a table");
        std::fs::remove_file(&path).expect("removed");
        refuses(dir.path(), &["plot", "run"], 4, &["run folder `run`", file, "No such file"]);
        std::fs::write(&path, bytes).expect("written");
    }
    std::fs::remove_file(dir.path().join("run/scene.toml")).expect("removed");
    refuses(dir.path(), &["plot", "run"], 4, &["run folder `run`", "scene.toml", "No such file"]);
    std::fs::remove_file(dir.path().join("run/summary.json")).expect("removed");
    refuses(dir.path(), &["plot", "run"], 2, &["`run` is not a run folder", "summary.json"]);
}

#[test]
fn truncated_table() {
    let dir = folder();
    expect(&stiction(dir.path(), &["run", "rod", "--out", "run"]), 0, &[]);
    for file in TABLES {
        let path = dir.path().join("run").join(file);
        let whole = std::fs::read(&path).expect("a table");
        for length in [0, 3, 4, 11, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).expect("written");
            refuses(dir.path(), &["plot", "run"], 2, &["run folder `run`", file, "is truncated: its end is missing"]);
        }
        // Cut in the middle and closed with an end that does not belong to it.
        std::fs::write(&path, [&whole[..whole.len() / 2], &whole[whole.len() - 60..]].concat()).expect("written");
        refuses(
            dir.path(),
            &["plot", "run", "rod.y", "--out", "y.svg"],
            2,
            &["run folder `run`", file, "cannot be decoded"],
        );
        std::fs::write(&path, &whole).expect("written");
    }
    expect(&stiction(dir.path(), &["plot", "run"]), 0, &["figure.png"]);
}

const MATRIX: &str = "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n1 2 1\n2 1 1\n2 2 2\n";
const OFFSET: &str = "%%MatrixMarket matrix array real general\n2 1\n-5\n-6\n";

fn write_problem(folder: &Path, matrix: &str, offset: &str) {
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("M.mtx"), matrix).expect("written");
    std::fs::write(folder.join("q.mtx"), offset).expect("written");
}

/// The text up to the end of this line, counted from 1.
fn first_lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').take(count).collect()
}

#[test]
fn truncated_problem() {
    let dir = folder();
    let problem = dir.path().join("problem");
    // The table of answers has its heading already when the first problem is read, so `--json`.
    let arguments = ["solve", "problem", "--json"];
    for line in 2..MATRIX.lines().count() {
        write_problem(&problem, &first_lines(MATRIX, line), OFFSET);
        let said = format!("problem/M.mtx:{line}: the file ends after {} of 4 entries: it is truncated", line - 2);
        refuses(dir.path(), &arguments, 2, &[&said]);
    }
    for line in 2..OFFSET.lines().count() {
        write_problem(&problem, MATRIX, &first_lines(OFFSET, line));
        let said = format!("problem/q.mtx:{line}: the file ends after {} of 2 entries: it is truncated", line - 2);
        refuses(dir.path(), &arguments, 2, &[&said]);
    }
    write_problem(&problem, &first_lines(MATRIX, 1), OFFSET);
    refuses(dir.path(), &arguments, 2, &["problem/M.mtx:1: the file ends before the line of sizes"]);
    write_problem(&problem, "", OFFSET);
    refuses(dir.path(), &arguments, 2, &["problem/M.mtx:1: the first line must be"]);
    // In the middle of a line, and one that is no text.
    write_problem(&problem, MATRIX.strip_suffix(" 2\n").expect("the last entry"), OFFSET);
    refuses(dir.path(), &arguments, 2, &["problem/M.mtx:6: 2 words, but 3 are needed"]);
    std::fs::write(problem.join("M.mtx"), b"%%MatrixMarket \xff").expect("written");
    refuses(dir.path(), &arguments, 2, &["problem/M.mtx", "UTF-8"]);
    std::fs::write(problem.join("M.mtx"), MATRIX).expect("written");
    std::fs::remove_file(problem.join("q.mtx")).expect("removed");
    refuses(dir.path(), &[&arguments[..], &["--out", "z.json"]].concat(), 4, &["problem/q.mtx", "No such file"]);
}

#[test]
fn one_truncated_problem_does_not_cost_the_answers_of_the_others() {
    let dir = folder();
    write_problem(&dir.path().join("set/a"), MATRIX, OFFSET);
    write_problem(&dir.path().join("set/b"), &first_lines(MATRIX, 4), OFFSET);
    write_problem(&dir.path().join("set/c"), MATRIX, OFFSET);
    let output = stiction(dir.path(), &["solve", "set", "--json"]);
    expect(&output, 2, &["error: set/b/M.mtx:4: the file ends after 2 of 4 entries"]);
    let answers = json(&output);
    let problems: Vec<_> = answers.as_array().expect("an array").iter().map(|answer| &answer["problem"]).collect();
    assert_eq!(problems, ["set/a", "set/c"]);
}

#[test]
fn output_that_exists_is_never_overwritten() {
    let dir = folder();
    let write = |path: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, "{\"mine\": true}").expect("written");
    };
    write("letters/summary.json");
    write("file");
    write("a.partial/draft");
    write("b.old.partial/draft");
    write("scene.toml");
    std::fs::create_dir(dir.path().join("empty")).expect("a folder");
    let remedy = "choose another with `--out` or remove it";
    let run = |out: &str, parts: &[&str]| refuses(dir.path(), &["run", "rod", "--out", out], 2, parts);
    run("letters", &["`letters` exists and is not a run folder that Stiction made", remedy]);
    run("letters/", &["`letters` exists and is not a run folder that Stiction made", remedy]);
    run("empty", &["`empty` exists and is not a run folder that Stiction made", remedy]);
    run("file", &["`file` exists and is not a folder", remedy]);
    run("a", &["`a.partial` is needed while the run is written", "choose another folder with `--out`"]);
    run("b", &["`b.old.partial` is needed while the run is written", "choose another folder with `--out`"]);
    run("..", &["`..` does not name a folder to write"]);
    refuses(dir.path(), &["run", "rod", "--out", "file/run"], 4, &["file"]);
    refuses(dir.path(), &["new", "scene"], 2, &["scene.toml exists already"]);
    // A run replaces an earlier one of ours, and not before it has begun.
    expect(&stiction(dir.path(), &["run", "rod", "--out", "run"]), 0, &[]);
    refuses(dir.path(), &["run", "rod", "--out", "run", "--step", "0"], 2, &["--step 0"]);
    expect(&stiction(dir.path(), &["run", "incline", "--out", "run"]), 0, &[]);
    assert_eq!(summary(&dir.path().join("run"))["scene"], "incline");
}

#[test]
fn output_that_is_lost_is_a_failure() {
    let dir = folder();
    let full = || File::options().write(true).open("/dev/full").expect("the device that is always full");
    for arguments in [&["schema"][..], &["scenes"], &["completions", "bash"], &["--help"], &["--version"]] {
        let output = command(dir.path(), arguments).stdout(full()).output().expect("it starts");
        expect(&output, 4, &["error: cannot write to standard output: No space left on device"]);
    }
    let output = command(dir.path(), &["run", "rod", "--json", "--out", "run"]).stdout(full()).output();
    expect(&output.expect("it starts"), 4, &["cannot write to standard output"]);
    assert_eq!(summary(&dir.path().join("run"))["outcome"], "finished", "the run itself is whole");
    // A reader that has seen enough is no failure.
    for arguments in [&["schema"][..], &["completions", "bash"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(dir.path(), arguments).stdout(writer).output().expect("it starts");
        expect(&output, 0, &[]);
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

// ---------------------------------------------------------------------------------------------------------
// full disks

/// A run whose tables were cut short: whole under its name, with the outcome, and each table
/// readable. Gives the rows of the tables.
#[track_caller]
fn is_kept_with_its_outcome(run: &Path) -> [usize; 4] {
    let parent = run.parent().expect("a folder");
    assert_eq!(names_in(parent), [text(run.file_name().expect("a name").as_encoded_bytes())], "nothing beside the run");
    let mut expected = [&TABLES[..], &["scene.toml", "summary.json"]].concat();
    expected.sort_unstable();
    assert_eq!(names_in(run), expected);
    assert_eq!(summary(run)["outcome"], "not-written");
    TABLES.map(|name| {
        let table = table(&run.join(name));
        let times = table.real("t").expect("the time");
        assert!(times.is_sorted(), "{name}");
        times.len()
    })
}

#[test]
fn rows_that_fail_only_when_the_table_is_closed() {
    let dir = folder();
    std::fs::create_dir(dir.path().join("out")).expect("a folder");
    // 10 000 steps are less than a row group, so that every table is written when it is closed. No
    // file may become longer than 150 blocks of 512 or 1024 bytes; the audit needs more, the events
    // less.
    let steps = 10_000;
    assert!(steps < ROWS_PER_GROUP);
    let script = "trap '' XFSZ; ulimit -f 150; exec \"$0\" run rod --step 0.0001 --end 1 --json --out out/run";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_stiction")])
        .current_dir(dir.path())
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    let lost = "cannot write all of `out/run/audit.parquet`: File too large (os error 27); \
                it holds the first 0 rows, the last 10000 are lost";
    expect(&output, 4, &[]);
    assert!(text(&output.stderr).starts_with("error: ") && text(&output.stderr).contains(lost), "{output:?}");
    let run = dir.path().join("out/run");
    let [_, _, audit, events] = is_kept_with_its_outcome(&run);
    let summary = summary(&run);
    assert_eq!(audit, 0);
    assert_eq!(events as u64, summary["event_count"].as_u64().expect("a count"), "this table is whole");
    assert!(summary["message"].as_str().expect("a message").contains(lost), "{summary:#}");
    assert_eq!(summary["steps"], steps, "every step was made");
    assert_eq!(json(&output)["outcome"], "not-written");
    assert_eq!(json(&output)["digest"], summary["digest"]);
}

/// A file system that fills up.
struct SmallDisk {
    mount_point: tempfile::TempDir,
}

impl SmallDisk {
    /// With these limits, as `mount` takes them. `None` where mounting is not permitted, which is
    /// said, and is a failure in continuous integration.
    fn new(limits: &str) -> Option<Self> {
        let mount_point = folder();
        let output =
            Command::new("mount").args(["-t", "tmpfs", "-o", limits, "tmpfs"]).arg(mount_point.path()).output();
        let reason = match output {
            Ok(output) if output.status.success() => return Some(Self { mount_point }),
            Ok(output) => text(&output.stderr),
            Err(error) => error.to_string(),
        };
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "a small file system is needed: {reason}");
        // Not through the macro, whose output a test that passes does not show.
        let _ = writeln!(std::io::stderr(), "SKIPPED: full disk; cannot mount a small file system: {}", reason.trim());
        None
    }

    fn path(&self) -> &Path {
        self.mount_point.path()
    }

    fn change(&self, limits: &str) {
        let options = format!("remount,{limits}");
        let status = Command::new("mount").args(["-o", &options]).arg(self.path()).status().expect("mount");
        assert!(status.success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.mount_point.path()).status();
    }
}

/// 50 000 steps: three full row groups and a rest, in all about 1.5 MB.
const LONG_ROD: [&str; 8] = ["run", "rod", "--step", "0.0001", "--end", "5", "--out", "run"];

#[test]
fn full_disk_keeps_what_was_written_and_says_what_was_not() {
    // No room to begin with: nothing is left behind.
    for size in [12, 20, 24, 28, 64] {
        let Some(disk) = SmallDisk::new(&format!("size={size}k")) else { return };
        refuses(disk.path(), &LONG_ROD, 4, &["run.partial", "No space left on device"]);
        assert_eq!(names_in(disk.path()), [""; 0], "{size} KiB");
    }

    // Room for some row groups: the more, the more.
    let mut kept_before = 0;
    for size in [160, 300, 600, 1200] {
        let Some(disk) = SmallDisk::new(&format!("size={size}k")) else { return };
        let output = stiction(disk.path(), &LONG_ROD);
        expect(&output, 4, &[]);
        let errors = text(&output.stderr);
        assert!(errors.starts_with("error: ") && errors.contains("cannot write all of `run/"), "{errors}");
        assert!(errors.contains("No space left on device") && !errors.contains("partial"), "{errors}");
        assert!(text(&output.stdout).contains("folder  run"), "{}", text(&output.stdout));
        let run = disk.path().join("run");
        let rows = is_kept_with_its_outcome(&run);
        let summary = summary(&run);
        let message = summary["message"].as_str().expect("a message");
        assert!(errors.contains(message));
        let [steps, events] = ["steps", "event_count"].map(|key| summary[key].as_u64().expect("a count") as usize);
        for (name, rows) in TABLES.iter().zip(rows) {
            // Every table is whole, or what it lost is told.
            let told = format!("`run/{name}`: No space left on device (os error 28); it holds the first {rows} rows");
            let is_whole = match *name {
                "states.parquet" => rows == steps + 1,
                "audit.parquet" => rows == steps,
                "events.parquet" => rows == events,
                _ => table(&run.join(name)).real("t").expect("the time").last().copied() == summary["end"].as_f64(),
            };
            assert_ne!(is_whole, message.contains(&told), "{size} KiB, {name}: {rows} rows; {message}");
            assert!(is_whole || rows % ROWS_PER_GROUP == 0, "{size} KiB, {name}: {rows} rows");
        }
        let kept: usize = rows.iter().sum();
        assert!(kept >= kept_before, "more space, fewer rows");
        kept_before = kept;

        // With room again, the next run takes the place of this one.
        disk.change("size=8m");
        expect(&stiction(disk.path(), &LONG_ROD), 0, &["every step solved the true problem"]);
        assert_eq!(names_in(disk.path()), ["run"]);
    }
    assert!(kept_before > ROWS_PER_GROUP, "a row group was kept");
}

#[test]
fn full_disk_leaves_the_finished_run_and_names_the_folder_of_the_other() {
    let Some(disk) = SmallDisk::new("size=8m") else { return };
    expect(&stiction(disk.path(), &LONG_ROD), 0, &[]);
    let finished = contents(&disk.path().join("run"));
    let mut filling = File::create(disk.path().join("filling")).expect("a file");
    let mut length = 0;
    while filling.write_all(&[1; 4096]).is_ok() {
        length += 4096;
    }
    filling.set_len(length - 600 * 1024).expect("a shorter file");
    let output = stiction(disk.path(), &LONG_ROD);
    expect(&output, 4, &["cannot write all of `run.unfinished/", "No space left on device"]);
    assert!(!text(&output.stderr).contains("`run/"), "{}", text(&output.stderr));
    assert_eq!(summary(&disk.path().join("run.unfinished"))["outcome"], "not-written");
    assert_eq!(contents(&disk.path().join("run")), finished);
}

#[test]
fn files_that_find_the_disk_full_do_not_appear() {
    let Some(disk) = SmallDisk::new("size=256k") else { return };
    let dir = folder();
    expect(&stiction(dir.path(), &["run", "rod", "--out", "run"]), 0, &[]);
    write_problem(&dir.path().join("problem"), MATRIX, OFFSET);
    // What is left is less than any page.
    let filling = File::create(disk.path().join("filling")).expect("a file");
    while (&filling).write(&[1; 4096]).is_ok() {}
    let on_disk = |name: &str| text(disk.path().join(name).as_os_str().as_encoded_bytes());
    let full = |arguments: &[&str]| {
        let output = stiction(dir.path(), arguments);
        expect(&output, 4, &["No space left on device"]);
        assert_eq!(names_in(disk.path()), ["filling"], "{arguments:?}");
    };
    full(&["new", &on_disk("scene")]);
    full(&["plot", "run", "--out", &on_disk("figure.png")]);
    full(&["solve", "problem", "--out", &on_disk("z.json")]);
    full(&["run", "rod", "--out", &on_disk("run")]);
}

#[test]
fn failed_step_is_saved_whole_or_not_at_all() {
    // The folder itself, the unfinished run, its marker and reserve, the scene and four tables are
    // nine. Then come the folder of the problem and its two files; the summary takes the place of
    // the reserve.
    for limit in 9..=12 {
        let Some(disk) = SmallDisk::new(&format!("size=8m,nr_inodes={limit}")) else { return };
        let dir = folder();
        std::fs::write(dir.path().join("press.toml"), PRESS).expect("written");
        let run = disk.path().join("run");
        let out = text(run.as_os_str().as_encoded_bytes());
        let output = stiction(dir.path(), &["run", "press.toml", "--out", &out]);
        expect(&output, 3, &["was not solved", "every step up to there"]);
        let summary = summary(&run);
        assert_eq!(summary["outcome"], "unsolved", "{limit}");
        let is_saved = limit == 12;
        assert_eq!(run.join("failed-step").exists(), is_saved, "{limit}");
        let message = summary["message"].as_str().expect("a message");
        assert_eq!(message.contains("its problem is not saved"), !is_saved, "{limit}: {message}");
        assert_eq!(text(&output.stderr).contains("stiction solve"), is_saved, "{limit}");
        if is_saved {
            let problem = format!("{out}/failed-step");
            expect(&stiction(dir.path(), &["solve", &problem]), 3, &["no-solution"]);
        }
    }
}

// ------------------------------------------------------------------------------------------------------------
// signals

/// A command that runs until it is ended, at the latest with the test.
struct Running {
    child: Child,
    folder: PathBuf,
}

impl Running {
    /// Starts a run that does not end by itself for days, and waits until each table that grows has
    /// a row group on the disk.
    fn long_run(folder: &Path, out: &str) -> Self {
        let file = |name: &str| File::create(folder.join(name)).expect("a file for what is printed");
        let arguments = ["run", "rod", "--end", "1e9", "--json", "--out", out];
        let child = command(folder, &arguments)
            .stdout(Stdio::from(file("stdout")))
            .stderr(Stdio::from(file("stderr")))
            .spawn()
            .expect("the command starts");
        let mut running = Self { child, folder: folder.to_owned() };
        wait_for("a row group of each table", || {
            assert_eq!(running.child.try_wait().expect("its status"), None, "{}", running.printed("stderr"));
            let has_rows = |name: &&str| {
                let table = Table::read(folder.join(format!("{out}.partial")).join(name));
                table.is_ok_and(|table| table.row_count() >= ROWS_PER_GROUP)
            };
            TABLES[..3].iter().all(has_rows).then_some(())
        });
        running
    }

    fn printed(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).expect("what was printed")
    }

    fn send(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(status.success(), "{signal}");
    }

    fn wait(&mut self) -> ExitStatus {
        wait_for("the end of the run", || self.child.try_wait().expect("its status"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks until there is an answer.
#[track_caller]
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = look() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn interrupted_run_is_whole_up_to_there() {
    let dir = folder();
    let mut running = Running::long_run(dir.path(), "run");
    running.send("-INT");
    let status = running.wait();
    assert_eq!(status.code(), Some(130), "{}", running.printed("stderr"));
    let output = Output { status, stdout: running.printed("stdout").into(), stderr: running.printed("stderr").into() };
    expect(&output, 130, &[]);
    assert_eq!(names_in(dir.path()), ["run", "stderr", "stdout"]);
    let run = dir.path().join("run");
    let summary = summary(&run);
    assert_eq!(summary["outcome"], "interrupted");
    assert_eq!(summary["message"], format!("stopped at t = {} s", summary["end"].as_f64().expect("a time")));
    assert_eq!(json(&output)["digest"], summary["digest"]);
    // No row is lost: one per step, and one for the start.
    let steps = summary["steps"].as_u64().expect("a count") as usize;
    let states = table(&run.join("states.parquet"));
    assert!(steps >= ROWS_PER_GROUP);
    assert_eq!(states.row_count(), steps + 1);
    assert_eq!(states.real("t").expect("the time").last().copied(), summary["end"].as_f64());
    assert_eq!(states.real("rod.x").expect("a column").last().copied(), summary["final_columns"]["rod.x"].as_f64());
    assert_eq!(table(&run.join("audit.parquet")).row_count(), steps);
    assert!(table(&run.join("contacts.parquet")).row_count() >= ROWS_PER_GROUP);
    assert_eq!(table(&run.join("events.parquet")).row_count() as u64, summary["event_count"]);
    expect(&stiction(dir.path(), &["plot", "run", "rod.y", "--out", "y.png"]), 0, &["y.png"]);
}

/// Whether a process is stopped, and so not in the middle of a write.
#[cfg(target_os = "linux")]
fn is_stopped(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a living process");
    // The state follows the name, which is in parentheses.
    status.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

#[cfg(target_os = "linux")]
#[test]
fn killed_run_leaves_readable_tables_and_the_earlier_run() {
    for has_earlier_run in [false, true] {
        let dir = folder();
        let run = dir.path().join("run");
        if has_earlier_run {
            expect(&stiction(dir.path(), &["run", "incline", "--out", "run"]), 0, &[]);
        }
        let before = has_earlier_run.then(|| contents(&run));

        let mut running = Running::long_run(dir.path(), "run");
        // Nobody else writes there meanwhile.
        let second = stiction(dir.path(), &["run", "rod", "--out", "run"]);
        expect(&second, 2, &["another run is writing to `run.partial`", "wait for it or choose another folder"]);
        // A kill within the one write of a row group may cut a table. Stopped first, it is within
        // none.
        running.send("-STOP");
        wait_for("the process to stop", || is_stopped(running.child.id()).then_some(()));
        running.child.kill().expect("killed");
        assert_eq!(running.wait().code(), None);

        // Under the final name there is what was there before.
        assert_eq!(run.exists().then(|| contents(&run)), before);
        // The unfinished folder has no summary, and tables that are readable up to their last full
        // row group.
        let partial = dir.path().join("run.partial");
        assert!(!partial.join("summary.json").exists());
        for name in TABLES {
            let table = table(&partial.join(name));
            assert_eq!(table.row_count() % ROWS_PER_GROUP, 0, "{name}");
            assert_eq!(table.row_count() > 0, name != "events.parquet", "{name}");
        }
        let states = table(&partial.join("states.parquet"));
        let times = states.real("t").expect("the time");
        // Times are sums or products of the step: equal up to rounding.
        assert!(times.iter().enumerate().all(|(row, t)| (t - 0.0025 * row as f64).abs() < 1e-6), "no row is missing");
        let scene = ["check", "run.partial/scene.toml"];
        expect(&stiction(dir.path(), &scene), 0, &["nothing wrong"]);
        // It is not taken for a run.
        refuses(dir.path(), &["plot", "run.partial"], 2, &["`run.partial` is not a run folder", "no `summary.json`"]);

        // The next run needs no help.
        expect(&stiction(dir.path(), &["run", "rod", "--out", "run"]), 0, &["every step solved the true problem"]);
        assert_eq!(names_in(dir.path()), ["run", "stderr", "stdout"]);
        assert_eq!(summary(&run)["scene"], "rod");
    }
}

#[test]
fn a_run_that_fails_or_is_interrupted_leaves_the_finished_one_and_the_files_of_the_user() {
    let dir = folder();
    let run = dir.path().join("run");
    expect(&stiction(dir.path(), &["run", "incline", "--out", "run"]), 0, &[]);
    std::fs::write(run.join("notes.txt"), "mine").expect("written");
    let before = contents(&run);

    // A step that cannot be solved, and an interrupt.
    std::fs::write(dir.path().join("press.toml"), PRESS).expect("written");
    let failed = stiction(dir.path(), &["run", "press.toml", "--out", "run"]);
    expect(&failed, 3, &["`run` holds a run that reached its end, and stays", "run.unfinished"]);
    assert_eq!(contents(&run), before);
    assert_eq!(summary(&dir.path().join("run.unfinished"))["outcome"], "unsolved");
    let mut running = Running::long_run(dir.path(), "run");
    running.send("-INT");
    assert_eq!(running.wait().code(), Some(130));
    assert_eq!(contents(&run), before);
    assert_eq!(summary(&dir.path().join("run.unfinished"))["outcome"], "interrupted");

    // A run that reaches its end takes the place, and what the user put there stays.
    expect(&stiction(dir.path(), &["run", "rod", "--out", "run"]), 0, &[]);
    assert_eq!(summary(&run)["scene"], "rod");
    assert_eq!(std::fs::read_to_string(run.join("notes.txt")).expect("kept"), "mine");
}

#[test]
fn a_signal_is_answered_inside_a_solve() {
    // Masses of 1e160 kg: the solve of the first step went on for ever, whatever was sent.
    for signal in ["-INT", "-TERM"] {
        let dir = folder();
        let out = File::create(dir.path().join("said")).expect("created");
        let arguments = ["run", "belt", "--set", "body.block.mass=1e160", "--out", "run"];
        let child = command(dir.path(), &arguments)
            .stdout(out.try_clone().expect("one more handle"))
            .stderr(out)
            .spawn()
            .expect("the command starts");
        let mut running = Running { child, folder: dir.path().to_owned() };
        std::thread::sleep(Duration::from_millis(500));
        if running.child.try_wait().expect("its status").is_none() {
            running.send(signal);
        }
        let status = running.wait();
        // The solve may have come to its limit of work before, and be called unsolved: an end as
        // well.
        assert!(matches!(status.code(), Some(130 | 3)), "{status:?}");
        let outcome = summary(&dir.path().join("run"))["outcome"].clone();
        assert!(outcome == "interrupted" || outcome == "unsolved", "{outcome}");
        assert!(!dir.path().join("run.partial").exists());
    }
}

#[test]
fn nothing_of_a_scene_acts_on_the_terminal() {
    let dir = folder();
    let hostile = "\u{1b}]0;pwned\u{7}";
    let scene = PRESS.replace("material = \"steel\"\nshape", "material = \"\\u001b]0;pwned\\u0007\"\nshape");
    assert_ne!(scene, PRESS);
    // In a name, in the text of a line that is shown, and in what is no TOML at all.
    for (file, scene) in
        [("name.toml", scene), ("line.toml", format!("format = 1 # {hostile}\n")), ("raw.toml", hostile.into())]
    {
        std::fs::write(dir.path().join(file), scene).expect("written");
        for arguments in [["check", file], ["run", file]] {
            // Forced styles, as on a terminal.
            let output = command(dir.path(), &arguments)
                .env_remove("NO_COLOR")
                .env("CLICOLOR_FORCE", "1")
                .output()
                .expect("the command starts");
            assert_eq!(output.status.code(), Some(2));
            for bytes in [&output.stdout, &output.stderr] {
                let said = text(bytes);
                assert!(!said.contains('\u{7}') && !said.contains("\u{1b}]"), "{said:?}");
            }
        }
    }
}

#[test]
fn directions_without_number_are_refused_before_they_take_memory() {
    let dir = folder();
    for (key, limit) in [("pyramid.directions", "1000"), ("phantom-inertia.lines", "500")] {
        let setting = format!("method.{key}=100000000");
        refuses(
            dir.path(),
            &["check", "four-balls", "--set", &setting],
            2,
            &[key.split('.').next_back().unwrap_or(key), limit],
        );
    }
}

#[test]
fn matrices_that_announce_far_more_than_they_hold_are_refused() {
    let dir = folder();
    let matrix = "%%MatrixMarket matrix coordinate real general\n16000 16000 1\n1 1 1.0\n";
    write_problem(&dir.path().join("problem"), matrix, OFFSET);
    let output = stiction(dir.path(), &["solve", "problem"]);
    expect(&output, 2, &["M.mtx:2", "16000 x 16000 is too large to be held densely"]);
}

#[test]
fn who_asks_for_json_gets_json() {
    let dir = folder();
    std::fs::write(dir.path().join("press.toml"), PRESS).expect("written");
    for (arguments, code) in [
        (&["run", "rodd", "--json"][..], 2),
        (&["check", "rod", "--set", "run.step=-1", "--json"], 2),
        (&["run", "rod", "--json", "--no-such-option"], 2),
        (&["solve", "nowhere", "--json"], 2),
    ] {
        let output = stiction(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let document = json(&output);
        assert_eq!(document["exit_code"], code, "{arguments:?}");
        assert!(document["error"].as_str().is_some_and(|message| !message.is_empty()), "{document}");
        assert!(!output.stderr.is_empty(), "people read standard error");
    }
    // A step that cannot be solved has its summary, once, and its message on standard error.
    let output = stiction(dir.path(), &["run", "press.toml", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(json(&output)["outcome"], "unsolved");
    assert!(text(&output.stderr).contains("its problem is saved"), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_work_is_said_before_the_work() {
    let dir = folder();
    std::fs::write(dir.path().join("file"), "").expect("written");
    // In all cases at once: the work would take minutes.
    let began = Instant::now();
    refuses(dir.path(), &["converge", "woodpecker", "--out", "x.gif"], 2, &["x.gif", ".svg", ".pdf"]);
    refuses(dir.path(), &["reproduce", "--out", "file"], 4, &["cannot make file"]);
    refuses(dir.path(), &["run", "rod", "--step", "1e-14", "--end", "1"], 2, &["1.0e14 steps", "larger `step`"]);
    refuses(dir.path(), &["check", "/dev/zero"], 2, &["/dev/zero"]);
    let both = ["run", "rod", "--step", "0.01", "--set", "run.step=0.02"];
    refuses(dir.path(), &both, 2, &["--step and --set run.step=0.02 say the same thing"]);
    assert!(began.elapsed() < PATIENCE, "nothing was computed");
    let output = stiction(dir.path(), &["check", "rod", "--set", "run.step=100"]);
    expect(&output, 1, &["the step of 100.0 s is longer than the run"]);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#[test]
fn digests_do_not_depend_on_the_variant_of_the_mathematical_library() {
    // The library of the system chooses its functions by the processor; with these it takes those
    // for processors without fused multiplication.
    let dir = folder();
    for scene in ["andrews", "four-bar-clearance", "tippe-top"] {
        let arguments = ["run", scene, "--json", "--out", scene];
        let digest = |tunables: &str| {
            let output = command(dir.path(), &arguments).env("GLIBC_TUNABLES", tunables).output().expect("it starts");
            json(&output)["digest"].clone()
        };
        let without = digest("glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX2_Usable,-FMA_Usable");
        assert_eq!(digest(""), without, "{scene}");
    }
}

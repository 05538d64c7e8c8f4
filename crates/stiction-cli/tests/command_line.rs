//! The command as people use it: what it prints, what it leaves on the disk, and its exit codes.

mod common;

use common::{PRESS, command, expect, folder, json, stiction, text};

#[test]
fn a_run_leaves_a_whole_folder_and_a_certificate() {
    let dir = folder();
    let output = stiction(dir.path(), &["run", "rod"]);
    expect(&output, 0, &["certificate: every step solved the true problem", "open → impact", "digest", "runs/rod"]);
    for file in ["summary.json", "states.parquet", "contacts.parquet", "audit.parquet", "events.parquet", "scene.toml"]
    {
        assert!(dir.path().join("runs/rod").join(file).is_file(), "{file}");
    }
    assert!(!dir.path().join("runs/rod.partial").exists());
    // The folder is ours, so it may be replaced.
    expect(&stiction(dir.path(), &["run", "rod"]), 0, &["certificate"]);
}

#[test]
fn the_same_scene_gives_the_same_digest() {
    let dir = folder();
    let digest = |out: &str, extra: &[&str]| {
        let output = stiction(dir.path(), &[&["run", "box-on-corners", "--json", "--out", out], extra].concat());
        expect(&output, 0, &[]);
        json(&output)["digest"].as_str().expect("a digest").to_string()
    };
    assert_eq!(digest("a", &[]), digest("b", &[]));
    assert_ne!(digest("a", &[]), digest("c", &["--step", "0.002"]), "another step is another run");
}

#[test]
fn a_scene_is_read_from_standard_input() {
    use std::io::Write;
    use std::process::Stdio;
    let dir = folder();
    let scene = stiction(dir.path(), &["scenes", "rod"]).stdout;
    let piped = |text: &[u8], arguments: &[&str]| {
        let mut command = command(dir.path(), arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = piped(&scene, &["run", "-", "--end", "0.05", "--json", "--out", "piped"]);
    expect(&output, 0, &[]);
    let named = stiction(dir.path(), &["run", "rod", "--end", "0.05", "--json", "--out", "named"]);
    assert_eq!(json(&output)["digest"], json(&named)["digest"]);
    let wrong = text(&scene).replace("friction = ", "friction = -");
    expect(&piped(wrong.as_bytes(), &["check", "-"]), 2, &["standard input:", "the coefficient of friction is -"]);
}

#[test]
fn the_resolved_scene_runs_again_to_the_same_digest() {
    let dir = folder();
    let digest = |scene: &str, out: &str, extra: &[&str]| {
        let output = stiction(dir.path(), &[&["run", scene, "--json", "--out", out], extra].concat());
        expect(&output, 0, &[]);
        json(&output)["digest"].clone()
    };
    assert_eq!(digest("rod", "a", &["--set", "run.end=0.5"]), digest("a/scene.toml", "b", &[]));
}

#[test]
fn options_that_do_not_exist_are_answered_with_those_that_do() {
    let dir = folder();
    expect(&stiction(dir.path(), &["run", "rod", "--scheme", "euler"]), 2, &["stewart-trinkle"]);
    expect(&stiction(dir.path(), &["run", "rod", "--method", "pyramids"]), 2, &["cone", "pyramid"]);
    expect(&stiction(dir.path(), &["run", "incline", "--method", "pyramid:7"]), 2, &["--method", "even number"]);
    expect(&stiction(dir.path(), &["run", "rod", "--set", "record.columns=[\"rod.q\"]"]), 2, &["rod.q"]);
    assert!(!dir.path().join("runs").exists(), "nothing was written");
}

#[test]
fn check_finds_what_looks_wrong() {
    let dir = folder();
    expect(&stiction(dir.path(), &["check", "rod"]), 0, &["Painlevé", "nothing wrong"]);
    let overlap = ["check", "rod", "--set", "body.rod.position=[0.0, 0.0]"];
    expect(&stiction(dir.path(), &overlap), 1, &["rod", "table"]);
    assert_eq!(json(&stiction(dir.path(), &["check", "rod", "--json"]))["ok"], true);
    let expected =
        ["`lower-sleeve` is closed by 8.8", "a system with 3 contacts, 3 degrees of freedom", "nothing wrong"];
    expect(&stiction(dir.path(), &["check", "woodpecker"]), 0, &expected);
    let singular = ["check", "woodpecker", "--set", "system.mass.0=[0, 0, 0]"];
    expect(&stiction(dir.path(), &singular), 2, &["the mass matrix is not symmetric"]);
}

#[test]
fn a_new_scene_runs_and_is_never_overwritten() {
    let dir = folder();
    expect(&stiction(dir.path(), &["new", "first"]), 0, &["first.toml"]);
    expect(&stiction(dir.path(), &["check", "first.toml"]), 0, &[]);
    expect(&stiction(dir.path(), &["run", "first.toml"]), 0, &["every step solved"]);
    expect(&stiction(dir.path(), &["new", "first"]), 2, &["exists already"]);
}

#[test]
fn lists_and_schema_are_machine_readable() {
    let dir = folder();
    assert!(json(&stiction(dir.path(), &["schema"]))["properties"]["gravity"].is_object());
    let scenes = json(&stiction(dir.path(), &["scenes", "--json"]));
    let names: Vec<_> = scenes.as_array().expect("an array").iter().map(|scene| scene["name"].clone()).collect();
    for name in ["rod", "sliding-block", "incline", "belt", "box-on-corners", "painleve-rod"] {
        assert!(names.contains(&name.into()), "{name} in {names:?}");
    }
    expect(&stiction(dir.path(), &["--version"]), 0, &["stiction 0.1.0 ("]);
    expect(&stiction(dir.path(), &["completions", "bash"]), 0, &["complete"]);
}

#[test]
fn pictures_of_a_run() {
    let dir = folder();
    expect(&stiction(dir.path(), &["run", "rod", "--out", "run"]), 0, &[]);
    expect(&stiction(dir.path(), &["plot", "run"]), 0, &["figure.png"]);
    let png = std::fs::read(dir.path().join("run/figure.png")).expect("a picture");
    assert!(png.starts_with(b"\x89PNG") && png.len() > 20_000);
    expect(&stiction(dir.path(), &["plot", "run", "rod.vy", "rod.w", "--out", "curves.svg"]), 0, &["curves.svg"]);
    let svg = std::fs::read_to_string(dir.path().join("curves.svg")).expect("a picture");
    assert!(svg.contains("<svg") && !svg.contains("<text"), "text is drawn as outlines");
    expect(&stiction(dir.path(), &["plot", "run", "rod.vz"]), 2, &["rod.vz"]);

    let some = ["plot", "run", "--panels", "poses,energy", "--from", "0.3", "--to", "0.6", "--size", "800x300"];
    expect(&stiction(dir.path(), &[&some[..], &["--out", "some.pdf"]].concat()), 0, &["some.pdf"]);
    let pdf = std::fs::read(dir.path().join("some.pdf")).expect("a document");
    assert!(pdf.starts_with(b"%PDF") && String::from_utf8_lossy(&pdf).contains("/MediaBox [0 0 600 225]"));
    expect(&stiction(dir.path(), &["plot", "run", "--panels", "pose"]), 2, &["poses, velocities, coordinates"]);
    expect(&stiction(dir.path(), &["plot", "run", "--size", "big"]), 2, &["as in 640x480"]);
    expect(&stiction(dir.path(), &["plot", "run", "--from", "3"]), 2, &["the run goes from 0 to 1 s"]);
    expect(&stiction(dir.path(), &["plot", "run", "--from", "1", "--to", "0"]), 2, &["is not before --to 0"]);
    expect(&stiction(dir.path(), &["plot", "run", "--out", "figure.gif"]), 2, &["gif"]);
    expect(&stiction(dir.path(), &["plot", "run", "--list"]), 0, &["rod.vx", "residual"]);
}

#[test]
fn reproduce_speaks_json() {
    let dir = folder();
    let output = stiction(dir.path(), &["reproduce", "rod", "--json"]);
    expect(&output, 0, &[]);
    let rows = json(&output);
    let rows = rows.as_array().expect("an array");
    assert!(rows.len() >= 40 && rows.iter().all(|row| row["ok"] == true));
    for key in ["id", "paper", "quantity", "published", "reference", "computed", "tolerance", "ok"] {
        assert!(rows[0].get(key).is_some(), "{key}");
    }
    expect(&stiction(dir.path(), &["reproduce", "rods"]), 2, &["rods", "rod"]);
    // The numbers alone have no folder.
    expect(&stiction(dir.path(), &["reproduce", "rod", "--json", "--out", "papers"]), 2, &["--json", "--out"]);
}

#[test]
fn reproduce_writes_a_report_with_its_figures() {
    let dir = folder();
    let output = stiction(dir.path(), &["reproduce", "free-top", "phantom-inertia", "--quick", "--out", "papers"]);
    expect(&output, 0, &["142 of 142 numbers met", "report.html"]);
    let page = std::fs::read_to_string(dir.path().join("papers/report.html")).unwrap();
    assert_eq!(page.matches("<h2 ").count(), 2);
    assert_eq!(page.matches("<img ").count(), 3);
    assert!(page.contains("142 of 142 numbers are met"));
    let mut files: Vec<_> =
        std::fs::read_dir(dir.path().join("papers")).unwrap().map(|f| f.unwrap().file_name()).collect();
    files.sort();
    let figures = [
        "free-top.png",
        "free-top.svg",
        "phantom-inertia-model.png",
        "phantom-inertia-model.svg",
        "phantom-inertia.png",
        "phantom-inertia.svg",
        "report.html",
    ];
    assert_eq!(files, figures);
}

#[test]
fn problems_are_solved_or_said_not_to_be() {
    let dir = folder();
    let write = |name: &str, matrix: &str, offset: &str| {
        std::fs::create_dir_all(dir.path().join(name)).expect("a folder");
        std::fs::write(dir.path().join(name).join("M.mtx"), matrix).expect("written");
        std::fs::write(dir.path().join(name).join("q.mtx"), offset).expect("written");
    };
    let matrix = |entries: &str| format!("%%MatrixMarket matrix coordinate real general\n{entries}");
    let offset = |entries: &str| format!("%%MatrixMarket matrix array real general\n{entries}");
    // 2 z1 + z2 = 5, z1 + 2 z2 = 6: z = (4/3, 7/3).
    write("set/good", &matrix("2 2 4\n1 1 2\n1 2 1\n2 1 1\n2 2 2\n"), &offset("2 1\n-5\n-6\n"));
    expect(&stiction(dir.path(), &["solve", "set/good", "--out", "z.json"]), 0, &["solved", "automatic"]);
    let answer: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("z.json")).expect("an answer")).expect("JSON");
    assert!((answer["z"][1].as_f64().expect("a number") - 7.0 / 3.0).abs() < 1e-14);
    assert_eq!(answer["status"], "solved");
    expect(&stiction(dir.path(), &["solve", "set", "--method", "all"]), 0, &["lemke", "enumerate"]);
    // A folder is searched to its ground.
    write("deep/er/by/one", &matrix("1 1 1\n1 1 2\n"), &offset("1 1\n-1\n"));
    write("deep/two", &matrix("1 1 1\n1 1 2\n"), &offset("1 1\n-1\n"));
    let answers = json(&stiction(dir.path(), &["solve", "deep", "--json"]));
    let problems: Vec<_> = answers.as_array().expect("an array").iter().map(|answer| &answer["problem"]).collect();
    assert_eq!(problems, ["deep/er/by/one", "deep/two"]);
    // w = -z - 1 has no solution, and that is proved; no vector is given.
    write("set/none", &matrix("1 1 1\n1 1 -1\n"), &offset("1 1\n-1\n"));
    let output = stiction(dir.path(), &["solve", "set/none", "--json"]);
    expect(&output, 3, &["no-solution"]);
    assert!(json(&output)[0].get("z").is_none());
    expect(&stiction(dir.path(), &["solve", "set/good", "--tol", "0"]), 2, &["--tol"]);
    // Enumeration that excludes every basis is a proof as well, and both are shown.
    expect(&stiction(dir.path(), &["solve", "set/none", "--method", "enumerate"]), 3, &["no-solution", "proved by"]);
    expect(&stiction(dir.path(), &["solve", "set/none"]), 3, &["no-solution", "proved by"]);
    // A tolerance below rounding refuses nothing that rounding alone keeps from it.
    expect(&stiction(dir.path(), &["solve", "set/good", "--tol", "1e-17"]), 0, &["solved", "rounding alone"]);
    // A method for the other kind of problem is a mistake of the user, not a problem that is not
    // solved.
    expect(&stiction(dir.path(), &["solve", "set/good", "--method", "newton"]), 2, &["does not take", "lemke"]);
}

#[test]
fn an_answer_does_not_take_the_place_of_its_problem() {
    let dir = folder();
    let folder = dir.path().join("p");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("M.mtx"), "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
        .expect("written");
    std::fs::write(folder.join("q.mtx"), "%%MatrixMarket matrix array real general\n1 1\n-1\n").expect("written");
    for out in ["p/M.mtx", "p/../p/q.mtx"] {
        let before = std::fs::read(dir.path().join(out)).expect("a file");
        expect(&stiction(dir.path(), &["solve", "p", "--out", out]), 2, &["the problem itself"]);
        assert_eq!(std::fs::read(dir.path().join(out)).expect("a file"), before);
    }
    expect(&stiction(dir.path(), &["solve", "p", "--out", "p/z.json"]), 0, &["solved"]);
    let case = concat!(env!("CARGO_MANIFEST_DIR"), "/../../problems/fc3d/singular-one-contact.hdf5");
    std::fs::copy(case, dir.path().join("c.hdf5")).expect("a copy");
    let before = std::fs::read(dir.path().join("c.hdf5")).expect("a file");
    expect(&stiction(dir.path(), &["solve", "c.hdf5", "--out", "./c.hdf5"]), 2, &["the problem itself"]);
    assert_eq!(std::fs::read(dir.path().join("c.hdf5")).expect("a file"), before);
}

#[test]
fn false_answers_to_problem_files_are_not_given() {
    let dir = folder();
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../problems");
    let status = |name: &str, tolerance: &str| {
        let output = stiction(dir.path(), &["solve", &format!("{cases}/{name}"), "--tol", tolerance, "--json"]);
        let answer = json(&output)[0].clone();
        (answer["status"].as_str().expect("a word").to_owned(), answer["err_q"].as_f64().unwrap_or(f64::INFINITY))
    };
    // The friction law was off by a thousandth: what is called solved is so in its own units.
    let (word, err_q) = status("lcp/heavy-bodies-24", "1e-10");
    assert!(word != "solved" || err_q <= 1e-8, "{word} {err_q}");
    // Positive definite matrices have a solution, at any tolerance.
    for (name, tolerance) in [("lcp/ill-conditioned-3", "1e-10"), ("lcp/tight-tolerance-2", "1e-17")] {
        assert_eq!(status(name, tolerance).0, "solved", "{name}");
    }
    for name in ["fc3d/known-mu10-8", "fc3d/known-wedge-12"] {
        for tolerance in ["1e-4", "1e-6", "1e-8"] {
            assert_eq!(status(&format!("{name}.hdf5"), tolerance).0, "solved", "{name} {tolerance}");
        }
    }
}

#[test]
fn a_step_without_solution_is_kept_said_and_replayed() {
    let dir = folder();
    std::fs::write(dir.path().join("press.toml"), PRESS).expect("written");
    let output = stiction(dir.path(), &["run", "press.toml", "--out", "run"]);
    expect(&output, 3, &["was not solved", "run/failed-step", "every step up to there"]);
    let summary = std::fs::read_to_string(dir.path().join("run/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["outcome"], "unsolved");
    // The ceiling reaches the disc after 0.5 s; until then everything is kept.
    let end = summary["end"].as_f64().expect("a time");
    assert!((end - 0.5).abs() < 0.002, "{end}");
    expect(&stiction(dir.path(), &["plot", "run", "disc.y", "--out", "y.png"]), 0, &[]);
    // The saved problem has no solution, and enumeration proves it.
    expect(&stiction(dir.path(), &["solve", "run/failed-step"]), 3, &["no-solution"]);
}

#[test]
fn a_step_of_the_cone_that_was_not_solved_can_be_replayed() {
    let dir = folder();
    // A tolerance that rounding does not allow.
    let method = "method={cone={tolerance=1e-30, residual-tolerance=1e-30}}";
    let output = stiction(dir.path(), &["run", "incline", "--set", method, "--out", "run"]);
    expect(&output, 3, &["was not solved", "run/failed-step.hdf5"]);
    let output = stiction(dir.path(), &["solve", "run/failed-step.hdf5", "--json"]);
    expect(&output, 0, &[]);
    assert_eq!(json(&output)[0]["status"], "solved");
    assert_eq!(json(&output)[0]["r"].as_array().unwrap().len() % 3, 0);
    expect(&stiction(dir.path(), &["solve", "run/failed-step.hdf5", "--method", "lemke"]), 2, &["does not take"]);
    std::fs::write(dir.path().join("broken.hdf5"), "no HDF5").unwrap();
    expect(&stiction(dir.path(), &["solve", "broken.hdf5"]), 2, &["broken.hdf5", "an HDF5 file is needed"]);
}

#[test]
fn benchmarks_give_accuracy_beside_speed() {
    let dir = folder();
    let output = stiction(dir.path(), &["bench", "step", "--json"]);
    expect(&output, 0, &[]);
    let document = json(&output);
    assert!(document["reference_kernel_s"].as_f64().expect("a time") > 0.0);
    let rows = document["step"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["scene"] == "four-balls" && row["largest_lcp"] == 70), "{document}");
    for row in rows {
        assert!(row["residual"].as_f64().expect("a residual") <= 1e-10, "{row}");
        assert!(row["per_step"].as_f64().expect("a time") > 0.0, "{row}");
    }
    expect(
        &stiction(dir.path(), &["bench", "speed"]),
        2,
        &["no benchmark `speed`", "lemke, cones, joints, step, siconos"],
    );
}

#[test]
fn converge_says_what_it_measures_against() {
    let dir = folder();
    let short = ["--steps", "0.02,0.01", "--schemes", "trapezoidal", "--end", "0.1"];
    let converge =
        |scene: &str, more: &[&str]| stiction(dir.path(), &[&["converge", scene], &short[..], more].concat());
    let event_driven = "Errors against event-driven with a tolerance of 1e-13, no events; its own error is about";
    expect(&converge("double-pendulum", &[]), 0, &[event_driven, "figure  runs/converge-double-pendulum.png"]);
    let fine = "Errors against trapezoidal with a step of 6.3e-4 s";
    let why = "Not against event-driven: the scheme `event-driven` follows the exact friction cone";
    expect(&converge("incline", &[]), 0, &[fine, why]);
    expect(&converge("double-pendulum", &["--reference", "fine"]), 0, &[fine]);
    let step = ["--reference-step", "0.0025"];
    expect(&converge("double-pendulum", &step), 0, &["Errors against trapezoidal with a step of 2.5e-3 s"]);
    expect(&converge("incline", &["--reference", "event-driven"]), 2, &["exact friction cone", "[method.cone]"]);
    expect(&converge("double-pendulum", &["--reference", "euler"]), 2, &["--reference euler: there is only", "fine"]);
    let document = json(&converge("double-pendulum", &["--json"]));
    assert_eq!(document["reference"]["kind"], "event-driven");
    assert!(document["runs"][0]["error"].as_f64().expect("a number") < 1e-2);
}

#[test]
fn a_comparison_without_any_run_to_its_end_is_a_failure() {
    let dir = folder();
    std::fs::write(dir.path().join("press.toml"), PRESS).expect("written");
    let arguments = ["converge", "press.toml", "--steps", "0.002,0.001", "--schemes", "trapezoidal"];
    expect(&stiction(dir.path(), &arguments), 3, &["trapezoidal with a step of 0.0000625 s: the step from t ="]);
}

//! Between a scene and its states there is no function of the system's mathematical library: its
//! last digits depend on the machine.

use std::path::{Path, PathBuf};

/// Functions of `f64` that come from the system, and those of the geometry that call them.
const OF_THE_SYSTEM: [&str; 24] = [
    "sin",
    "cos",
    "tan",
    "sin_cos",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "exp2",
    "exp_m1",
    "ln",
    "log2",
    "log10",
    "ln_1p",
    "powf",
    "cbrt",
    "hypot",
    "from_scaled_axis",
    "from_axis_angle",
    "from_rotation_z",
];

/// What no state depends on: problems and systems for tests, and remarks about a scene.
const ELSEWHERE: [&str; 4] = ["families", "reference", "lint.rs", "tests.rs"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if ELSEWHERE.iter().any(|other| name.ends_with(other)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_state_depends_on_the_mathematical_functions_of_the_system() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in ["stiction-solve", "stiction-dynamics", "stiction-bodies", "stiction-scene"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    let mut calls = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let is_call = |name: &&str| {
                [format!(".{name}("), format!("f64::{name}"), format!("DQuat::{name}(")].iter().any(|call| {
                    line.match_indices(call.as_str()).any(|(place, _)| {
                        // Not the beginning of a longer name.
                        call.ends_with('(')
                            || !line[place + call.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
                    })
                })
            };
            if OF_THE_SYSTEM.iter().any(is_call) {
                calls.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(calls.is_empty(), "use `PortableMath` in\n{}", calls.join("\n"));
}

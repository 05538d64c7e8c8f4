//! What the tests of the command share: start it, and read what it says.

use std::path::Path;
use std::process::{Command, Output};

/// The command with these arguments, about to be started in a folder.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stiction"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    command
}

pub fn stiction(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the command starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document on standard output")
}

/// The exit code, and parts of what was printed on either stream.
#[track_caller]
pub fn expect(output: &Output, code: i32, parts: &[&str]) {
    let all = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{all}");
    assert!(!all.contains("panicked"), "{all}");
    for part in parts {
        assert!(all.contains(part), "`{part}` is missing in:\n{all}");
    }
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A disc between a floor and a ceiling that comes down: at some step no velocity keeps both apart.
pub const PRESS: &str = r#"
format = 1
name = "press"
dimension = "plane"
gravity = [0.0, -9.81]
run = { step = 0.001, end = 1.0 }
material = [{ name = "steel", friction = 0.3 }]
[[body]]
name = "floor"
kind = "static"
material = "steel"
shape = [{ half-plane = { normal = [0.0, 1.0] } }]
[[body]]
name = "ceiling"
kind = "prescribed"
material = "steel"
position = [0.0, 0.25]
shape = [{ half-plane = { normal = [0.0, -1.0] } }]
motion = { velocity = [0.0, -0.1] }
[[body]]
name = "disc"
material = "steel"
density = 1000.0
position = [0.0, 0.1]
shape = [{ disc = { radius = 0.1 } }]
"#;

//! Puts the commit into `--version` and into the summaries of runs, where there is one.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/refs/heads");
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map_or_else(|| "no commit".to_string(), |output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    println!("cargo:rustc-env=STICTION_COMMIT={commit}");
    println!("cargo:rustc-env=STICTION_VERSION={} ({commit})", env!("CARGO_PKG_VERSION"));
}

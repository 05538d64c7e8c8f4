//! The documentation of every crate, where any warning is a failure.

use crate::process;
use crate::workspace::Workspace;

/// Builds the documentation and looks for warnings in what cargo says.
///
/// The usual way, `RUSTDOCFLAGS="-D warnings"`, would replace the flags in `.cargo/config.toml` and with them the header
/// that renders the formulas. For the same reason flags from outside are taken away.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let mut doc = workspace.cargo(&["doc", "--workspace", "--no-deps", "--color", "never"]);
    doc.env_remove("RUSTDOCFLAGS").env_remove("CARGO_ENCODED_RUSTDOCFLAGS");
    let said = process::run_and_keep_stderr(&mut doc)?;
    match warnings(&said).as_slice() {
        [] => Ok(()),
        found => Err(format!("{} warning lines, the first: {}", found.len(), found[0])),
    }
}

/// The lines with which a warning begins.
fn warnings(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("warning")).collect()
}

#[cfg(test)]
mod tests {
    use super::warnings;

    #[test]
    fn only_the_first_line_of_a_warning_counts() {
        let said = "\
 Documenting stiction-solve v0.1.0
warning: unresolved link to `Lpc`
  --> crates/stiction-solve/src/lib.rs:3:20
   = note: a warning can have notes
warning[E0000]: another
    Finished `dev` profile in 1.0s";
        assert_eq!(warnings(said), ["warning: unresolved link to `Lpc`", "warning[E0000]: another"]);
        assert!(warnings("    Finished `dev` profile in 1.0s").is_empty());
    }
}

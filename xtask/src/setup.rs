//! The tools that suites need, and what to do when one is missing.
//!
//! A Rust toolchain is enough for everything today. On a toolchain that rustup manages, a missing
//! component is added with rustup. On Debian as root, a missing program is installed from its
//! Debian package. Anywhere else we install nothing: the suites which need the tool are skipped,
//! and the tool is named.

use crate::process;
use crate::workspace::Workspace;
use std::path::Path;

/// One tool, where it comes from, and who needs it.
#[derive(Debug, PartialEq, Eq)]
pub struct Need {
    /// What people call it.
    pub tool: &'static str,
    /// A command that succeeds when the tool is there.
    pub probe: &'static [&'static str],
    /// The rustup component that provides it, if one does.
    pub component: Option<&'static str>,
    /// The Debian package that provides it, if one does.
    pub package: Option<&'static str>,
    /// The suites that cannot run without it.
    pub suites: &'static [&'static str],
}

/// Every tool that any suite needs besides cargo itself.
pub const NEEDS: &[Need] = &[
    component("rustfmt", "rustfmt", &["cargo", "fmt", "--version"], &["format"]),
    component("clippy", "rust-clippy", &["cargo", "clippy", "--version"], &["clippy"]),
];

/// A component of the toolchain.
const fn component(
    tool: &'static str,
    package: &'static str,
    probe: &'static [&'static str],
    suites: &'static [&'static str],
) -> Need {
    Need { tool, probe, component: Some(tool), package: Some(package), suites }
}

/// What the machine allows us to install with.
#[derive(Clone, Copy)]
struct Machine {
    has_rustup: bool,
    is_debian_root: bool,
}

impl Machine {
    fn look() -> Self {
        let is_root =
            || process::capture(std::process::Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0");
        let is_debian_root = Path::new("/etc/debian_version").exists() && is_root();
        Self { has_rustup: process::works(&["rustup", "--version"]), is_debian_root }
    }
}

/// The commands that install a missing tool; none where nothing may be installed. A component goes
/// before a package: a Debian rustfmt belongs to Debian's compiler, not to the one of rustup.
fn remedy(need: &Need, machine: Machine) -> Vec<Vec<&'static str>> {
    match (need.component, need.package) {
        (Some(component), _) if machine.has_rustup => vec![vec!["rustup", "component", "add", component]],
        (_, Some(package)) if machine.is_debian_root => {
            vec![vec!["apt-get", "update"], vec!["apt-get", "install", "--yes", "--no-install-recommends", package]]
        }
        _ => Vec::new(),
    }
}

/// Looks for every tool that the chosen suites need, installs what can be installed, and returns
/// what is still missing.
pub fn prepare(workspace: &Workspace, suites: &[&str]) -> Vec<&'static Need> {
    let machine = Machine::look();
    let is_needed = |need: &&Need| need.suites.iter().any(|suite| suites.contains(suite));
    if !NEEDS.iter().any(|need| is_needed(&need)) {
        println!("nothing besides cargo");
    }
    let mut missing = Vec::new();
    for need in NEEDS.iter().filter(is_needed) {
        if process::works(need.probe) {
            println!("{}: found", need.tool);
            continue;
        }
        println!("{}: missing", need.tool);
        let commands = remedy(need, machine);
        if commands.is_empty() {
            println!("{}: it cannot be installed from here", need.tool);
        }
        let install = |words: &Vec<&str>| {
            process::run(workspace.command(words[0]).args(&words[1..]).env("DEBIAN_FRONTEND", "noninteractive"))
        };
        // An installation that fails is no error by itself: what counts is whether the tool works
        // afterwards.
        if let Err(message) = commands.iter().try_for_each(install) {
            println!("{}: {message}", need.tool);
        }
        if !process::works(need.probe) {
            missing.push(need);
        }
    }
    missing
}

/// Why a suite has to be skipped, if it has to.
pub fn reason_to_skip(suite: &str, missing: &[&Need]) -> Option<String> {
    let tools: Vec<&str> = missing.iter().filter(|need| need.suites.contains(&suite)).map(|need| need.tool).collect();
    if tools.is_empty() { None } else { Some(format!("needs {}", tools.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELSEWHERE: Machine = Machine { has_rustup: false, is_debian_root: false };
    const DEBIAN_ROOT: Machine = Machine { has_rustup: false, is_debian_root: true };
    const RUSTUP: Machine = Machine { has_rustup: true, is_debian_root: false };
    const BOTH: Machine = Machine { has_rustup: true, is_debian_root: true };

    const PROGRAM: Need = Need {
        tool: "node",
        probe: &["node", "--version"],
        component: None,
        package: Some("nodejs"),
        suites: &["viewer", "pages"],
    };
    const COMPONENT: Need = component("clippy", "rust-clippy", &["cargo", "clippy", "--version"], &["clippy"]);
    const UNPACKAGED: Need =
        Need { tool: "oracle", probe: &["oracle"], component: None, package: None, suites: &["pages"] };

    /// The last word of the last command.
    fn installed(need: &Need, machine: Machine) -> Option<(&'static str, &'static str)> {
        remedy(need, machine).last().map(|words| (words[0], words[words.len() - 1]))
    }

    #[test]
    fn debian_root_installs_packages() {
        assert_eq!(installed(&PROGRAM, DEBIAN_ROOT), Some(("apt-get", "nodejs")));
        assert_eq!(installed(&PROGRAM, BOTH), Some(("apt-get", "nodejs")));
        assert_eq!(installed(&COMPONENT, DEBIAN_ROOT), Some(("apt-get", "rust-clippy")));
    }

    #[test]
    fn rustup_adds_its_own_components_and_nothing_else() {
        assert_eq!(installed(&COMPONENT, RUSTUP), Some(("rustup", "clippy")));
        assert_eq!(installed(&COMPONENT, BOTH), Some(("rustup", "clippy")));
        assert_eq!(installed(&PROGRAM, RUSTUP), None);
    }

    #[test]
    fn elsewhere_or_without_a_package_nothing_is_installed() {
        assert_eq!(installed(&PROGRAM, ELSEWHERE), None);
        assert_eq!(installed(&COMPONENT, ELSEWHERE), None);
        assert_eq!(installed(&UNPACKAGED, BOTH), None);
    }

    #[test]
    fn a_skipped_suite_names_all_its_missing_tools() {
        let missing = [&PROGRAM, &UNPACKAGED];
        assert_eq!(reason_to_skip("pages", &missing).as_deref(), Some("needs node, oracle"));
        assert_eq!(reason_to_skip("viewer", &missing).as_deref(), Some("needs node"));
        assert_eq!(reason_to_skip("clippy", &missing), None);
    }

    #[test]
    fn every_need_belongs_to_suites_that_exist() {
        for need in NEEDS {
            for suite in need.suites {
                assert!(
                    crate::test::SUITES.iter().any(|known| known.name == *suite),
                    "{}: no suite {suite}",
                    need.tool
                );
            }
        }
    }
}

//! Why a run has no picture.

use std::path::PathBuf;

use stiction_scene::table_file::TableError;
use thiserror::Error;

use super::PanelKind;

/// Names of columns without those of contacts that an error lists at most.
const LISTED_COLUMNS: usize = 60;

/// Why a run has no picture.
#[derive(Debug, Error)]
pub enum RunFigureError {
    /// The path is not the folder of a finished run.
    #[error("`{}` is not a run folder: {reason}", run.display())]
    NotARun {
        /// The path.
        run: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A file of the run folder is missing or unreadable.
    #[error("run folder `{}`: cannot read `{file}`: {source}", run.display())]
    File {
        /// The run folder.
        run: PathBuf,
        /// Name of the file in it.
        file: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A table of the run folder is missing, cut off, damaged, or lacks a column.
    #[error("run folder `{}`: {source}", run.display())]
    Table {
        /// The run folder.
        run: PathBuf,
        /// What is wrong with the table.
        source: TableError,
    },
    /// The scene of the run cannot be built again.
    #[error("run folder `{}`: `scene.toml` is not the scene of a run: {reason}", run.display())]
    Scene {
        /// The run folder.
        run: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing to draw.
    #[error("run folder `{}`: {reason}", run.display())]
    Nothing {
        /// The run folder.
        run: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The run has none of the panels that were asked for.
    #[error("run folder `{}` has no panel {}; it has {}", run.display(), words(asked), words(known))]
    NoPanel {
        /// The run folder.
        run: PathBuf,
        /// What was asked for.
        asked: Vec<PanelKind>,
        /// What there is.
        known: Vec<PanelKind>,
    },
    /// There is no column of that name.
    #[error("run folder `{}` has no column `{column}`{}; there are {}", run.display(), offer(near), list(columns))]
    UnknownColumn {
        /// The run folder.
        run: PathBuf,
        /// The name asked for.
        column: String,
        /// The name that resembles it most, if one does.
        near: Option<String>,
        /// All names, as [`available_columns`](super::available_columns) gives them.
        columns: Vec<String>,
    },
}

fn words(kinds: &[PanelKind]) -> String {
    kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(", ")
}

fn offer(near: &Option<String>) -> String {
    near.as_deref().map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// All names in one sentence; the columns that every contact has are written once.
fn list(columns: &[String]) -> String {
    let owners: Vec<&str> = columns.iter().filter_map(|name| name.strip_suffix(".c_n")).collect();
    let is_of_contact = |name: &&String| name.rsplit_once('.').is_some_and(|(owner, _)| owners.contains(&owner));
    let (contacts, plain): (Vec<&String>, Vec<&String>) = columns.iter().partition(is_of_contact);
    let shown: Vec<&str> = plain.iter().take(LISTED_COLUMNS).map(|name| name.as_str()).collect();
    let mut text = shown.join(", ");
    if plain.len() > shown.len() {
        text.push_str(&format!(" and {} more", plain.len() - shown.len()));
    }
    if let Some((contact, _)) = contacts.first().and_then(|name| name.rsplit_once('.')) {
        let of_first = contacts.iter().filter_map(|name| name.strip_prefix(contact)?.strip_prefix('.'));
        let suffixes: Vec<&str> = of_first.collect();
        text.push_str(&format!("; and for every contact, as in `{contact}.{}`: {}", suffixes[0], suffixes.join(", ")));
    }
    text
}

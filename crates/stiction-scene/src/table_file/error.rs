//! What can go wrong with a table, in words.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::ColumnKind;

/// Why a table could not be written or read.
#[derive(Debug, Error)]
pub enum TableError {
    /// The operating system refused to open, read or write the file.
    #[error("cannot {action} `{}`: {cause}", file.display())]
    Io {
        /// The table file.
        file: PathBuf,
        /// What was tried: `create`, `write`, `read`.
        action: &'static str,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Writing stopped early; the file is readable and holds the first rows.
    #[error("cannot write all of `{}`: {cause}; it holds the first {rows_kept} rows, the last {rows_lost} are lost", file.display())]
    Incomplete {
        /// The table file.
        file: PathBuf,
        /// Rows in the file, all of them whole.
        rows_kept: u64,
        /// Rows appended after those.
        rows_lost: u64,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Two columns were given the same name.
    #[error("cannot create `{}`: two columns are named `{column}`", file.display())]
    DuplicateColumn {
        /// The table file.
        file: PathBuf,
        /// The repeated name.
        column: String,
    },
    /// The file does not begin as Parquet files do.
    #[error("`{}` is not a Parquet file", file.display())]
    NotParquet {
        /// The table file.
        file: PathBuf,
    },
    /// The file begins as a Parquet file and lacks its end.
    #[error("`{}` is truncated: its end is missing, so the program that wrote it was stopped or the copy is not whole", file.display())]
    Truncated {
        /// The table file.
        file: PathBuf,
    },
    /// The file has both ends, and something between them is wrong or unknown to us.
    #[error("`{}` cannot be decoded: {reason}", file.display())]
    Damaged {
        /// The table file.
        file: PathBuf,
        /// What the decoder found.
        reason: String,
    },
    /// The file has a column of a type that is neither real, integer nor text, or one with nulls.
    #[error("`{}`: column `{column}` is {found}; a table has columns of DOUBLE, INT64 and STRING without nulls", file.display())]
    ForeignColumn {
        /// The table file.
        file: PathBuf,
        /// Name of the column.
        column: String,
        /// Its type in the words of the Parquet format.
        found: String,
    },
    /// There is no column of that name.
    #[error("`{}` has no column `{column}`{}", file.display(), offer(near, others))]
    MissingColumn {
        /// The table file.
        file: PathBuf,
        /// The name asked for.
        column: String,
        /// Existing names that resemble it, best first.
        near: Vec<String>,
        /// When none does: the first names of the table.
        others: Vec<String>,
    },
    /// The column exists and holds something else.
    #[error("`{}`: column `{column}` is {found}, not {wanted}", file.display())]
    WrongKind {
        /// The table file.
        file: PathBuf,
        /// Name of the column.
        column: String,
        /// What was asked for.
        wanted: ColumnKind,
        /// What it holds.
        found: ColumnKind,
    },
}

impl TableError {
    /// Whether the cause is the machine (a full disk, missing rights) and not what the file holds or the caller asked for.
    pub fn is_io(&self) -> bool {
        matches!(self, TableError::Io { .. } | TableError::Incomplete { .. })
    }

    /// The same error about a table whose folder has another name by now.
    pub(crate) fn moved_to(mut self, folder: &Path) -> Self {
        let (TableError::Io { file, .. }
        | TableError::Incomplete { file, .. }
        | TableError::DuplicateColumn { file, .. }
        | TableError::NotParquet { file }
        | TableError::Truncated { file }
        | TableError::Damaged { file, .. }
        | TableError::ForeignColumn { file, .. }
        | TableError::MissingColumn { file, .. }
        | TableError::WrongKind { file, .. }) = &mut self;
        *file = folder.join(file.file_name().unwrap_or_default());
        self
    }
}

/// The half-sentence of [`TableError::MissingColumn`] that names what could have been meant.
fn offer(near: &[String], others: &[String]) -> String {
    let list = |names: &[String]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        quoted.join(", ")
    };
    if !near.is_empty() {
        format!("; did you mean {}?", list(near))
    } else if !others.is_empty() {
        format!("; it has {}", list(others))
    } else {
        String::new()
    }
}

//! Tables of named columns in Parquet files.
//!
//! A [`TableWriter`] takes rows one by one and writes them out a row group at a time; a [`Table`]
//! is a whole file in memory. Three kinds of column are enough for a run folder: reals (DOUBLE,
//! byte-stream-split), integers (INT64) and texts (UTF-8 strings), the last two with a dictionary.
//! All are compressed with LZ4_RAW and have no nulls: a real that is not known is NaN. The units of
//! the columns stand in the metadata of the file under [`UNITS_KEY`], as a JSON object by column.
//!
//! A row group is encoded in memory first and reaches the file in one piece with a footer, over the
//! footer of the row groups before it. So a table is readable from its first moment on, and when
//! the process is killed it holds every full row group; only a kill during that one write leaves a
//! file without its end, which the reader then says. When the disk is full, the old footer is put
//! back where it was, which takes no space. The stock writer would write the one footer at the very
//! end.
//!
//! Between the row groups and the footer stands a seal: a mark of eight bytes and a SHA-256 of all
//! other bytes of the file. Other readers go by the offsets in the footer and never see it. Ours
//! refuses a table whose seal is broken or missing before it decodes anything, so that it need not
//! doubt what it decodes. (The Parquet library cannot write checksums of pages, and those would
//! leave the footer open.)

mod read;
mod write;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use thiserror::Error;

pub use read::Table;
pub use write::TableWriter;

/// The four bytes at both ends of every Parquet file.
const MAGIC: &[u8; 4] = b"PAR1";

/// The bytes before the digest in a seal.
const SEAL_MARK: &[u8; 8] = b"STICTION";
/// Bytes of a seal.
const SEAL_LENGTH: usize = SEAL_MARK.len() + 32;

/// The seal over bytes that are digested already and a footer.
fn seal(digest: Sha256, footer: &[u8]) -> [u8; SEAL_LENGTH] {
    let mut seal = [0; SEAL_LENGTH];
    seal[..SEAL_MARK.len()].copy_from_slice(SEAL_MARK);
    seal[SEAL_MARK.len()..].copy_from_slice(&digest.chain_update(footer).finalize());
    seal
}

/// Key of the units in the metadata of a file: a JSON object from names of columns to units.
pub const UNITS_KEY: &str = "stiction.units";

/// A column that is to be written: its name, its unit, and its rows that are not in the file yet.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    /// Name of the column; a dot has no special meaning (`rod.x`).
    name: String,
    /// Unit of its numbers, `m/s`; `1` for numbers without one, empty for texts and where it is not
    /// known.
    unit: String,
    rows: Column,
}

impl ColumnSpec {
    /// A column of real numbers in this unit: `m/s`, `1` for numbers without one, empty where it is
    /// not known.
    pub fn real(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), rows: Column::Real(Vec::new()) }
    }

    /// A column of integers, which count something.
    pub fn integer(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: "1".into(), rows: Column::Integer(Vec::new()) }
    }

    /// A column of texts.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: String::new(), rows: Column::Text(Vec::new()) }
    }
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// For a column of reals.
    Real(f64),
    /// For a column of integers.
    Integer(i64),
    /// For a column of texts.
    Text(&'a str),
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

/// The values of one column, first row first.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// 64-bit floating-point numbers; NaN where a value is not known.
    Real(Vec<f64>),
    /// 64-bit signed integers.
    Integer(Vec<i64>),
    /// UTF-8 strings.
    Text(Vec<String>),
}

/// Why a table could not be written or read.
#[derive(Clone, Debug, Error)]
pub enum TableError {
    /// The operating system refused to create, read or write the file.
    #[error("cannot {action} `{}`: {cause}", file.display())]
    Io {
        /// The table file.
        file: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the operating system said.
        cause: Arc<io::Error>,
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
        cause: Arc<io::Error>,
    },
    /// The file is no table of ours, or not one that has what was asked of it.
    #[error("`{}` {reason}", file.display())]
    Unusable {
        /// The table file.
        file: PathBuf,
        /// What is wrong with it, as the rest of a sentence.
        reason: String,
    },
}

impl TableError {
    /// Whether the cause is the machine (a full disk, missing rights) and not what the file holds
    /// or the caller asked for.
    pub fn is_io(&self) -> bool {
        !matches!(self, TableError::Unusable { .. })
    }

    /// The same error about a table whose folder has another name by now.
    pub(crate) fn moved_to(mut self, folder: &Path) -> Self {
        let (TableError::Io { file, .. } | TableError::Incomplete { file, .. } | TableError::Unusable { file, .. }) =
            &mut self;
        *file = folder.join(file.file_name().unwrap_or_default());
        self
    }
}

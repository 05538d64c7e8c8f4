//! Tables of named columns in Parquet files.
//!
//! A [`TableWriter`] takes rows one by one and writes them out a row group at a time; a [`Table`] is a whole file in memory.
//! Three kinds of column are enough for a run folder: reals (DOUBLE, byte-stream-split), integers (INT64) and texts (UTF-8
//! strings), the last two with a dictionary. All are compressed with LZ4_RAW and have no nulls: a real that is not known is NaN.
//!
//! A row group is encoded in memory first and reaches the file in one piece with a footer, over the footer of the row groups
//! before it. So a table is readable from its first moment on, and when the process is killed it holds every full row group;
//! only a kill during that one write leaves a file without its end, which the reader then says. When the disk is full, the
//! old footer is put back where it was, which takes no space.
//!
//! The footer carries a SHA-256 of the whole file, taken with the digest's own 64 characters as zeros, under a key that other
//! readers ignore. A table that was altered on its way is refused before anything in it is decoded.

mod buffer;
mod digest;
mod error;
mod read;
mod schema;
mod table;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;

pub use buffer::RowWriter;
pub use error::TableError;
pub use table::{Column, Table};
pub use write::TableWriter;

/// The four bytes at both ends of every Parquet file.
const MAGIC: &[u8; 4] = b"PAR1";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// 64-bit floating-point numbers; NaN where a value is not known.
    Real,
    /// 64-bit signed integers.
    Integer,
    /// UTF-8 strings.
    Text,
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnKind::Real => "real",
            ColumnKind::Integer => "integer",
            ColumnKind::Text => "text",
        })
    }
}

/// Name and kind of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Name of the column; a dot has no special meaning (`rod.x`).
    pub name: String,
    /// What the column holds.
    pub kind: ColumnKind,
}

impl ColumnSpec {
    /// A column of real numbers.
    pub fn real(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Real }
    }

    /// A column of integers.
    pub fn integer(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Integer }
    }

    /// A column of texts.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Text }
    }
}

//! A table in memory, and its columns by name.

use std::path::{Path, PathBuf};

use super::read::read_table;
use super::{ColumnKind, TableError};

/// Names at least this similar (Jaro-Winkler, 0 to 1) are offered in place of a missing column.
const NEAR_NAME_SIMILARITY: f64 = 0.75;
/// At most this many names are offered.
const NEAR_NAME_COUNT: usize = 4;

/// The values of one column, first row first.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers.
    Real(Vec<f64>),
    /// Integers.
    Integer(Vec<i64>),
    /// Texts.
    Text(Vec<String>),
}

impl Column {
    /// What the column holds.
    pub fn kind(&self) -> ColumnKind {
        match self {
            Column::Real(_) => ColumnKind::Real,
            Column::Integer(_) => ColumnKind::Integer,
            Column::Text(_) => ColumnKind::Text,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Column::Real(values) => values.len(),
            Column::Integer(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table in memory.
#[derive(Clone, Debug)]
pub struct Table {
    pub(super) file: PathBuf,
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) row_count: usize,
}

impl Table {
    /// Reads a whole table file.
    ///
    /// # Errors
    /// A [`TableError`] for a file that cannot be read, is not Parquet, was cut off, is damaged, or has columns of other types
    /// than a [`TableWriter`](super::TableWriter) writes. Files of other programs carry no digest, and damage inside their values can go unseen.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TableError> {
        read_table(path.as_ref())
    }

    /// The file the table was read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Names of the columns, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The column of that name, whatever it holds.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let index = self.names.iter().position(|known| known == name)?;
        Some(&self.columns[index])
    }

    /// The real column of that name.
    ///
    /// # Errors
    /// [`TableError::MissingColumn`] with names that resemble the one given, or [`TableError::WrongKind`].
    pub fn real(&self, name: &str) -> Result<&[f64], TableError> {
        match self.existing(name)? {
            Column::Real(values) => Ok(values),
            other => Err(self.wrong_kind(name, ColumnKind::Real, other)),
        }
    }

    /// The integer column of that name.
    ///
    /// # Errors
    /// As [`Table::real`].
    pub fn integer(&self, name: &str) -> Result<&[i64], TableError> {
        match self.existing(name)? {
            Column::Integer(values) => Ok(values),
            other => Err(self.wrong_kind(name, ColumnKind::Integer, other)),
        }
    }

    /// The text column of that name.
    ///
    /// # Errors
    /// As [`Table::real`].
    pub fn text(&self, name: &str) -> Result<&[String], TableError> {
        match self.existing(name)? {
            Column::Text(values) => Ok(values),
            other => Err(self.wrong_kind(name, ColumnKind::Text, other)),
        }
    }

    fn existing(&self, name: &str) -> Result<&Column, TableError> {
        self.column(name).ok_or_else(|| {
            let mut scored: Vec<(f64, &String)> = self
                .names
                .iter()
                .map(|known| (strsim::jaro_winkler(name, known), known))
                .filter(|(similarity, _)| *similarity >= NEAR_NAME_SIMILARITY)
                .collect();
            scored.sort_by(|a, b| b.0.total_cmp(&a.0));
            let near: Vec<String> = scored.into_iter().take(NEAR_NAME_COUNT).map(|(_, known)| known.clone()).collect();
            let others = if near.is_empty() {
                let mut first: Vec<String> = self.names.iter().take(NEAR_NAME_COUNT).cloned().collect();
                if self.names.len() > first.len() {
                    first.push("…".to_owned());
                }
                first
            } else {
                Vec::new()
            };
            TableError::MissingColumn { file: self.file.clone(), column: name.to_owned(), near, others }
        })
    }

    fn wrong_kind(&self, name: &str, wanted: ColumnKind, found: &Column) -> TableError {
        TableError::WrongKind { file: self.file.clone(), column: name.to_owned(), wanted, found: found.kind() }
    }
}

//! Reading: a whole file, its seal, then every column.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use sha2::{Digest, Sha256};

use super::{Column, MAGIC, SEAL_LENGTH, SEAL_MARK, TableError, UNITS_KEY, seal};
use crate::scene_error::most_similar;

/// Columns that an error names in place of one that is missing, at most.
const NAMED_COLUMNS: usize = 4;

/// A table in memory.
#[derive(Clone, Debug)]
pub struct Table {
    file: PathBuf,
    names: Vec<String>,
    columns: Vec<Column>,
    units: BTreeMap<String, String>,
    row_count: usize,
}

impl Table {
    /// Reads a whole table file.
    ///
    /// # Errors
    /// A [`TableError`] for a file that cannot be read, or is not as a
    /// [`TableWriter`](super::TableWriter) left it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TableError> {
        let file = path.as_ref().to_owned();
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => Bytes::from(bytes),
            Err(cause) => return Err(TableError::Io { file, action: "read", cause: Arc::new(cause) }),
        };
        match check_seal(&bytes).and_then(|()| decode(bytes).map_err(|error| format!("cannot be decoded: {error}"))) {
            Ok(table) => Ok(Self { file, ..table }),
            Err(reason) => Err(TableError::Unusable { file, reason }),
        }
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

    /// The unit of the column of that name: `m/s`; `1` for numbers without one, empty for texts and
    /// where it is not known.
    pub fn unit(&self, name: &str) -> Option<&str> {
        self.units.get(name).map(String::as_str)
    }

    /// The real column of that name.
    ///
    /// # Errors
    /// [`TableError::Unusable`] when there is no such column, with a name that resembles the one
    /// given, or it holds something else.
    pub fn real(&self, name: &str) -> Result<&[f64], TableError> {
        match self.column(name) {
            Some(Column::Real(values)) => Ok(values),
            other => Err(self.unusable(name, "real numbers", other)),
        }
    }

    /// The integer column of that name.
    ///
    /// # Errors
    /// As [`Table::real`].
    pub fn integer(&self, name: &str) -> Result<&[i64], TableError> {
        match self.column(name) {
            Some(Column::Integer(values)) => Ok(values),
            other => Err(self.unusable(name, "integers", other)),
        }
    }

    /// The text column of that name.
    ///
    /// # Errors
    /// As [`Table::real`].
    pub fn text(&self, name: &str) -> Result<&[String], TableError> {
        match self.column(name) {
            Some(Column::Text(values)) => Ok(values),
            other => Err(self.unusable(name, "texts", other)),
        }
    }

    fn unusable(&self, name: &str, wanted: &str, found: Option<&Column>) -> TableError {
        let names = || self.names.iter().map(String::as_str);
        let reason = match (found, most_similar(name, names())) {
            (Some(_), _) => format!("has a column `{name}`, but not one of {wanted}"),
            (None, Some(similar)) => format!("has no column `{name}`; did you mean `{similar}`?"),
            (None, None) => {
                let first: Vec<_> = names().take(NAMED_COLUMNS).map(|name| format!("`{name}`")).collect();
                let more = if names().count() > NAMED_COLUMNS { ", …" } else { "" };
                format!("has no column `{name}`; it has {}{more}", first.join(", "))
            }
        };
        TableError::Unusable { file: self.file.clone(), reason }
    }
}

/// Whether a file has the two ends of a Parquet file and an unbroken seal; if not, what is wrong.
fn check_seal(bytes: &[u8]) -> Result<(), String> {
    // A file shorter than the magic is compared as far as it goes.
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
        return Err("is not a Parquet file".to_owned());
    }
    let Some((rest, &[a, b, c, d, ..])) =
        bytes.split_last_chunk::<8>().filter(|(rest, end)| !rest.is_empty() && end.ends_with(MAGIC))
    else {
        return Err(
            "is truncated: its end is missing, so the program that wrote it was stopped or the copy is not whole"
                .to_owned(),
        );
    };
    let footer_length = u32::from_le_bytes([a, b, c, d]) as usize;
    let footer_start = rest.len().checked_sub(footer_length);
    let seal_start = footer_start.and_then(|start| start.checked_sub(SEAL_LENGTH));
    let is_whole = footer_start
        .zip(seal_start)
        .filter(|(_, seal_start)| bytes[*seal_start..].starts_with(SEAL_MARK))
        .map(|(footer_start, seal_start)| {
            let digest = Sha256::new_with_prefix(&bytes[..seal_start]);
            seal(digest, &bytes[footer_start..]) == bytes[seal_start..footer_start]
        });
    match is_whole {
        Some(true) => Ok(()),
        Some(false) => {
            Err("cannot be decoded: its bytes are not those that were written (their digest differs)".to_owned())
        }
        None => Err("cannot be decoded: it was altered, or another program wrote it".to_owned()),
    }
}

/// The table in bytes that a writer of ours has sealed.
fn decode(bytes: Bytes) -> Result<Table, ParquetError> {
    let reader = SerializedFileReader::new(bytes)?;
    let metadata = reader.metadata().file_metadata();
    let fields = metadata.schema_descr().columns();
    let names = fields.iter().map(|field| field.name().to_owned()).collect();
    let mut columns: Vec<Column> = fields
        .iter()
        .map(|field| match field.physical_type() {
            PhysicalType::DOUBLE => Column::Real(Vec::new()),
            PhysicalType::INT64 => Column::Integer(Vec::new()),
            _ => Column::Text(Vec::new()),
        })
        .collect();
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number)?;
        let rows = group.metadata().num_rows() as usize;
        for (i, column) in columns.iter_mut().enumerate() {
            match (group.get_column_reader(i)?, column) {
                (ColumnReader::DoubleColumnReader(reader), Column::Real(values)) => read_values(reader, rows, values)?,
                (ColumnReader::Int64ColumnReader(reader), Column::Integer(values)) => {
                    read_values(reader, rows, values)?
                }
                (ColumnReader::ByteArrayColumnReader(reader), Column::Text(values)) => {
                    let mut texts = Vec::new();
                    read_values(reader, rows, &mut texts)?;
                    for text in &texts {
                        values.push(text.as_utf8()?.to_owned());
                    }
                }
                _ => return Err(ParquetError::General(format!("column {i} has a type of its own"))),
            }
        }
    }
    let units = metadata.key_value_metadata().and_then(|pairs| pairs.iter().find(|pair| pair.key == UNITS_KEY));
    let units = units.and_then(|pair| serde_json::from_str(pair.value.as_ref()?).ok()).unwrap_or_default();
    Ok(Table { file: PathBuf::new(), names, columns, units, row_count: metadata.num_rows() as usize })
}

/// Appends so many values of one column.
fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let mut missing = rows;
    while missing > 0 {
        match reader.read_records(missing, None, None, values)? {
            (0, ..) => return Err(ParquetError::General(format!("{missing} values of a row group are missing"))),
            (read, ..) => missing -= read,
        }
    }
    Ok(())
}

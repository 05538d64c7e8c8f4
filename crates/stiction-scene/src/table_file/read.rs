//! Reading: the ends of the file, its digest, then every column.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArrayType, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use sha2::{Digest, Sha256};

use super::digest::{DIGEST_LENGTH, digest_place, hexadecimal};
use super::schema::kind_of;
use super::{Column, ColumnKind, MAGIC, Table, TableError};

/// Shortest possible Parquet file: both magics and the length of the footer.
const SMALLEST_FILE: u64 = 12;
/// Bytes read at once to check the digest.
const DIGEST_BLOCK: usize = 1 << 16;
/// Rows asked of the decoder at once. Bounds what a damaged page that claims billions of values can make us allocate.
pub(super) const READ_BATCH: usize = 1 << 14;

/// The table in a file.
pub(super) fn read_table(path: &Path) -> Result<Table, TableError> {
    let parquet_file = open(path)?;
    // In a file without a digest, damage can violate what the decoder asserts.
    catch_unwind(AssertUnwindSafe(|| decode(path.to_owned(), parquet_file))).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "the decoder gave up".to_owned());
        Err(TableError::Damaged { file: path.to_owned(), reason })
    })
}

/// Opens a file that has the two ends of a Parquet file and, if it has a digest, the right one.
fn open(path: &Path) -> Result<File, TableError> {
    let io_error = |cause| TableError::Io { file: path.to_owned(), action: "read", cause };
    let read_at = |mut file: &File, offset: u64, bytes: &mut [u8]| {
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(bytes)).map_err(io_error)
    };

    let file = File::open(path).map_err(io_error)?;
    let status = file.metadata().map_err(io_error)?;
    if status.is_dir() {
        return Err(io_error(io::ErrorKind::IsADirectory.into()));
    }
    let length = status.len();
    // A file shorter than the magic is compared as far as it goes.
    let mut head = *MAGIC;
    read_at(&file, 0, &mut head[..length.min(4) as usize])?;
    if &head != MAGIC {
        return Err(TableError::NotParquet { file: path.to_owned() });
    }
    let mut end = [0; 8];
    if length >= SMALLEST_FILE {
        read_at(&file, length - 8, &mut end)?;
    }
    let [a, b, c, d, magic @ ..] = end;
    if &magic != MAGIC {
        return Err(TableError::Truncated { file: path.to_owned() });
    }

    let footer_length = u64::from(u32::from_le_bytes([a, b, c, d])) + end.len() as u64;
    let footer_start = length.checked_sub(footer_length).ok_or_else(|| TableError::Damaged {
        file: path.to_owned(),
        reason: "its footer is said to be longer than the file".to_owned(),
    })?;
    let mut footer = vec![0; footer_length as usize];
    read_at(&file, footer_start, &mut footer)?;
    if let Some(place) = digest_place(&footer) {
        let place = place..place + DIGEST_LENGTH;
        let promised = footer[place.clone()].to_owned();
        footer[place].fill(b'0');
        let mut digest = Sha256::new();
        let mut block = vec![0; DIGEST_BLOCK];
        let mut offset = 0;
        while offset < footer_start {
            let count = (footer_start - offset).min(DIGEST_BLOCK as u64);
            let part = &mut block[..count as usize];
            read_at(&file, offset, part)?;
            digest.update(part);
            offset += count;
        }
        if hexadecimal(digest.chain_update(&footer)).as_bytes() != promised {
            return Err(TableError::Damaged {
                file: path.to_owned(),
                reason: "its bytes are not those that were written (their digest differs)".to_owned(),
            });
        }
    }
    Ok(file)
}

fn decode(file: PathBuf, parquet_file: File) -> Result<Table, TableError> {
    let damaged = |reason: String| TableError::Damaged { file: file.clone(), reason };
    // An I/O error comes wrapped in the decoder's own error type.
    let decode_error = |error: ParquetError| match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(cause) if cause.kind() != io::ErrorKind::UnexpectedEof => {
                TableError::Io { file: file.clone(), action: "read", cause: *cause }
            }
            Ok(cause) => damaged(cause.to_string()),
            Err(inner) => damaged(inner.to_string()),
        },
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => damaged(text),
        other => damaged(other.to_string()),
    };

    let reader = SerializedFileReader::new(parquet_file).map_err(decode_error)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut names = Vec::with_capacity(schema.num_columns());
    let mut columns = Vec::with_capacity(schema.num_columns());
    for descriptor in schema.columns() {
        let name = descriptor.path().parts().join(".");
        columns.push(match kind_of(descriptor) {
            Ok(ColumnKind::Real) => Column::Real(Vec::new()),
            Ok(ColumnKind::Integer) => Column::Integer(Vec::new()),
            Ok(ColumnKind::Text) => Column::Text(Vec::new()),
            Err(found) => {
                return Err(TableError::ForeignColumn { file: file.clone(), column: name, found });
            }
        });
        names.push(name);
    }

    let mut row_count = 0;
    for group_index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group_index).map_err(decode_error)?;
        let group_rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| damaged(format!("row group {group_index} has a negative row count")))?;
        if group.num_columns() != columns.len() {
            return Err(damaged(format!(
                "row group {group_index} has {} columns, the schema {}",
                group.num_columns(),
                columns.len()
            )));
        }
        for (column_index, column) in columns.iter_mut().enumerate() {
            let chunk = group.metadata().column(column_index);
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            if start < 0 || chunk.compressed_size() < 0 {
                return Err(damaged(format!("column `{}` begins or ends outside the file", names[column_index])));
            }
            let reader = group.get_column_reader(column_index).map_err(decode_error)?;
            match (reader, &mut *column) {
                (ColumnReader::DoubleColumnReader(reader), Column::Real(values)) => {
                    read_values(reader, group_rows, values)
                }
                (ColumnReader::Int64ColumnReader(reader), Column::Integer(values)) => {
                    read_values(reader, group_rows, values)
                }
                (ColumnReader::ByteArrayColumnReader(reader), Column::Text(values)) => {
                    read_texts(reader, group_rows, values)
                }
                _ => Err(ParquetError::General("its type changes".to_owned())),
            }
            .map_err(decode_error)?;
            if column.len() != row_count + group_rows {
                return Err(damaged(format!(
                    "column `{}` has {} values where {} rows end",
                    names[column_index],
                    column.len(),
                    row_count + group_rows
                )));
            }
        }
        row_count += group_rows;
    }
    let promised = reader.metadata().file_metadata().num_rows();
    if usize::try_from(promised) != Ok(row_count) {
        return Err(damaged(format!("the footer promises {promised} rows, and there are {row_count}")));
    }
    Ok(Table { file, names, columns, row_count })
}

/// Appends the values of one column chunk, `rows` of them or fewer when the chunk has fewer.
fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let mut remaining = rows;
    while remaining > 0 {
        let (read, _, _) = reader.read_records(remaining.min(READ_BATCH), None, None, values)?;
        if read == 0 {
            break;
        }
        remaining -= read;
    }
    Ok(())
}

/// As [`read_values`], for texts.
fn read_texts(
    mut reader: ColumnReaderImpl<ByteArrayType>,
    rows: usize,
    texts: &mut Vec<String>,
) -> Result<(), ParquetError> {
    let mut remaining = rows;
    let mut batch = Vec::new();
    while remaining > 0 {
        batch.clear();
        let (read, _, _) = reader.read_records(remaining.min(READ_BATCH), None, None, &mut batch)?;
        if read == 0 {
            break;
        }
        for text in &batch {
            texts.push(text.as_utf8()?.to_owned());
        }
        remaining -= read;
    }
    Ok(())
}

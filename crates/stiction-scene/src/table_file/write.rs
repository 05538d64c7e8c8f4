//! Writing: row groups one after the other, each with a footer that the next one overwrites.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::SchemaDescPtr;
use sha2::{Digest, Sha256};

use super::buffer::{ColumnBuffer, RowWriter};
use super::digest::{DIGEST_KEY, DIGEST_LENGTH, digest_place, hexadecimal};
use super::schema::schema_of;
use super::{ColumnSpec, MAGIC, TableError};

/// Where the bytes of a table go: a file, or in the tests a small disk that fills up.
pub(super) trait Sink: Send {
    /// Writes all bytes at `offset` from the start, or fails with any part of them written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts off whatever follows the first `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

impl Sink for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A row group that is in the file.
struct WrittenGroup {
    metadata: RowGroupMetaData,
    /// Length of the file up to here, and what its digest was.
    start: u64,
    digest_before: Sha256,
}

/// Writes a table row by row.
///
/// Rows are kept in memory until a row group is full. [`TableWriter::close`] writes the rest; a writer that is dropped does
/// the same and ignores what goes wrong.
pub struct TableWriter {
    file: PathBuf,
    sink: Box<dyn Sink>,
    specs: Vec<ColumnSpec>,
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    rows_per_group: usize,
    buffers: Vec<ColumnBuffer>,
    buffered_rows: usize,
    appended_rows: u64,
    /// Encodes a row group in memory; its count of all bytes so far gives the offsets in the file.
    encoder: TrackedWrite<Vec<u8>>,
    groups: Vec<WrittenGroup>,
    /// Length of the file up to the end of the last whole row group.
    whole_length: u64,
    /// Digest of that part of the file.
    digest: Sha256,
    /// Why writing stopped.
    failure: Option<io::Error>,
    is_closed: bool,
}

impl fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableWriter")
            .field("file", &self.file)
            .field("columns", &self.specs.len())
            .field("appended_rows", &self.appended_rows)
            .finish_non_exhaustive()
    }
}

impl TableWriter {
    /// Creates the file, or empties the one of that name, for rows of the given columns.
    ///
    /// # Errors
    /// [`TableError::DuplicateColumn`], or [`TableError::Io`] when the file cannot be created.
    ///
    /// # Panics
    /// When there are no columns or `rows_per_group` is zero.
    pub fn create(path: impl AsRef<Path>, columns: Vec<ColumnSpec>, rows_per_group: usize) -> Result<Self, TableError> {
        let path = path.as_ref();
        let mut names = HashSet::new();
        if let Some(repeated) = columns.iter().find(|spec| !names.insert(&spec.name)) {
            return Err(TableError::DuplicateColumn { file: path.to_owned(), column: repeated.name.clone() });
        }
        let sink =
            File::create(path).map_err(|cause| TableError::Io { file: path.to_owned(), action: "create", cause })?;
        Self::with_sink(path, Box::new(sink), columns, rows_per_group)
    }

    pub(super) fn with_sink(
        path: &Path,
        sink: Box<dyn Sink>,
        specs: Vec<ColumnSpec>,
        rows_per_group: usize,
    ) -> Result<Self, TableError> {
        assert!(!specs.is_empty(), "a table needs at least one column");
        assert!(rows_per_group > 0, "a row group needs at least one row");
        let (schema, properties) = schema_of(&specs);
        let io_error = |cause| TableError::Io { file: path.to_owned(), action: "write", cause };
        let mut encoder = TrackedWrite::new(Vec::new());
        encoder.write_all(MAGIC).and_then(|()| encoder.flush()).map_err(io_error)?;
        let mut writer = Self {
            file: path.to_owned(),
            sink,
            buffers: specs.iter().map(|spec| ColumnBuffer::new(spec.kind)).collect(),
            specs,
            schema,
            properties,
            rows_per_group,
            buffered_rows: 0,
            appended_rows: 0,
            encoder,
            groups: Vec::new(),
            whole_length: MAGIC.len() as u64,
            digest: Sha256::new_with_prefix(MAGIC),
            failure: None,
            is_closed: false,
        };
        if let Err(cause) = writer.write_encoded(0) {
            writer.is_closed = true; // there is no table to save
            return Err(io_error(cause));
        }
        Ok(writer)
    }

    /// Appends one row. The closure gives the values from the first column to the last:
    ///
    /// ```
    /// # use stiction_scene::table_file::{ColumnSpec, TableError, TableWriter};
    /// # fn main() -> Result<(), TableError> {
    /// # let path = std::env::temp_dir().join(format!("stiction-table-{}.parquet", std::process::id()));
    /// let columns = vec![ColumnSpec::real("t"), ColumnSpec::text("mode")];
    /// let mut writer = TableWriter::create(&path, columns, 4096)?;
    /// writer.append(|row| {
    ///     row.real(0.25);
    ///     row.text("stick");
    /// })?;
    /// assert_eq!(writer.close()?, 1);
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`TableError::Io`] when this row filled a row group that could not be written, and for every row after that.
    /// [`TableWriter::close`] then saves what can be saved.
    ///
    /// # Panics
    /// When the values do not fit the columns in number and kind.
    pub fn append(&mut self, fill: impl FnOnce(&mut RowWriter<'_>)) -> Result<(), TableError> {
        if let Some(cause) = &self.failure {
            return Err(self.write_error(copy_of(cause)));
        }
        let mut row = RowWriter::new(&self.specs, &mut self.buffers);
        fill(&mut row);
        row.finish();
        self.buffered_rows += 1;
        self.appended_rows += 1;
        if self.buffered_rows < self.rows_per_group {
            return Ok(());
        }
        self.write_group().map_err(|cause| {
            self.failure = Some(copy_of(&cause));
            self.write_error(cause)
        })
    }

    /// Rows appended so far, written or not.
    pub fn row_count(&self) -> u64 {
        self.appended_rows
    }

    /// Writes the last rows, and returns the number of rows in the file.
    ///
    /// # Errors
    /// [`TableError::Incomplete`] when some rows could not be written and the file is readable without them;
    /// [`TableError::Io`] when not even a footer could be written.
    pub fn close(mut self) -> Result<u64, TableError> {
        self.is_closed = true;
        self.write_rest()
    }

    fn write_error(&self, cause: io::Error) -> TableError {
        TableError::Io { file: self.file.clone(), action: "write", cause }
    }

    /// Encodes the buffered rows as a row group and writes it after the last one, with the footer that includes it.
    fn write_group(&mut self) -> io::Result<()> {
        let ordinal =
            i32::try_from(self.groups.len()).map_err(|_| io::Error::other("the file has too many row groups"))?;
        let mut group = SerializedRowGroupWriter::new(
            self.schema.clone(),
            self.properties.clone(),
            &mut self.encoder,
            ordinal,
            None,
        );
        for buffer in &mut self.buffers {
            let mut column = group.next_column()?.expect("the schema has a column for every buffer");
            match buffer {
                ColumnBuffer::Real(values) => {
                    column.typed::<DoubleType>().write_batch(values, None, None)?;
                    values.clear();
                }
                ColumnBuffer::Integer(values) => {
                    column.typed::<Int64Type>().write_batch(values, None, None)?;
                    values.clear();
                }
                ColumnBuffer::Text { bytes, ends } => {
                    let all = ByteArray::from(std::mem::take(bytes));
                    let mut start = 0;
                    let texts: Vec<ByteArray> = ends
                        .drain(..)
                        .map(|end| {
                            let text = all.slice(start, end - start);
                            start = end;
                            text
                        })
                        .collect();
                    column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                }
            }
            column.close()?;
        }
        let metadata = RowGroupMetaData::clone(&*group.close()?);
        self.buffered_rows = 0;

        self.encoder.flush()?;
        let start = self.whole_length;
        self.groups.push(WrittenGroup { metadata, start, digest_before: self.digest.clone() });
        self.whole_length += self.encoder.inner().len() as u64;
        self.digest.update(self.encoder.inner());
        self.write_encoded(start).inspect_err(|_| {
            self.give_up_last_group();
        })
    }

    /// Writes what was encoded and the footer in one piece. The file ends with it: it reaches further than the footer that
    /// was there before.
    fn write_encoded(&mut self, start: u64) -> io::Result<()> {
        let footer = self.footer()?;
        let bytes = self.encoder.inner_mut();
        bytes.extend_from_slice(&footer);
        self.sink.write_at(start, bytes)?;
        bytes.clear();
        Ok(())
    }

    /// Forgets the last row group; false when there is none.
    fn give_up_last_group(&mut self) -> bool {
        let Some(group) = self.groups.pop() else { return false };
        self.whole_length = group.start;
        self.digest = group.digest_before;
        true
    }

    /// Writes what is buffered. After a failure, now or before, puts the footer back over what the failed row group left; a
    /// file system that needs new space even for that is given the space of row groups, from the last one on.
    fn write_rest(&mut self) -> Result<u64, TableError> {
        if self.failure.is_none() && self.buffered_rows > 0 {
            // A closure that panicked in `append` leaves a row that is filled in part.
            for buffer in &mut self.buffers {
                buffer.truncate(self.buffered_rows);
            }
            self.failure = self.write_group().err();
        }
        if self.failure.is_some() {
            while let Err(cause) = self.write_footer() {
                if !self.give_up_last_group() {
                    return Err(self.write_error(cause));
                }
                let _ = self.sink.truncate(self.whole_length);
            }
        }
        let rows_kept = self.written_rows();
        match self.failure.take() {
            None => Ok(rows_kept),
            Some(cause) => Err(TableError::Incomplete {
                file: self.file.clone(),
                rows_kept,
                rows_lost: self.appended_rows - rows_kept,
                cause,
            }),
        }
    }

    fn written_rows(&self) -> u64 {
        let rows = self.groups.iter().map(|group| group.metadata.num_rows());
        rows.sum::<i64>() as u64
    }

    /// The footer of a file that ends with the last row group.
    fn footer(&self) -> io::Result<Vec<u8>> {
        let metadata = ParquetMetaData::new(
            FileMetaData::new(
                self.properties.writer_version().as_num(),
                self.written_rows() as i64,
                Some(self.properties.created_by().to_owned()),
                Some(vec![KeyValue::new(DIGEST_KEY.to_owned(), "0".repeat(DIGEST_LENGTH))]),
                self.schema.clone(),
                None,
            ),
            self.groups.iter().map(|group| group.metadata.clone()).collect(),
        );
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &metadata).finish()?;
        let digest = hexadecimal(self.digest.clone().chain_update(&footer));
        let place = digest_place(&footer).expect("the footer has the key we gave it");
        footer[place..place + DIGEST_LENGTH].copy_from_slice(digest.as_bytes());
        Ok(footer)
    }

    fn write_footer(&mut self) -> io::Result<()> {
        let footer = self.footer()?;
        self.sink.write_at(self.whole_length, &footer)?;
        self.sink.truncate(self.whole_length + footer.len() as u64)
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        if !self.is_closed {
            // There is nobody left to tell; `close` is the way that reports.
            let _ = self.write_rest();
        }
    }
}

/// The same error once more: `io::Error` cannot be cloned, and a writer that failed says why each time it is asked.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

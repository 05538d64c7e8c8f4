//! Tables of named columns in Parquet files.
//!
//! A [`TableWriter`] takes rows one by one and writes them out a row group at a time; a [`Table`] is a whole file in memory.
//! Three kinds of column are enough for a run folder: reals (DOUBLE, byte-stream-split), integers (INT64) and texts (UTF-8
//! strings), the last two with a dictionary. All are compressed with LZ4_RAW and have no nulls: a real that is not known is NaN.
//!
//! A row group is encoded in memory first and reaches the file in one piece, at an offset that the writer keeps. When the
//! disk is full, the footer is therefore written over whatever followed the last whole row group, and the file stays readable.
//!
//! The footer carries a SHA-256 of the whole file, taken with the digest's own 64 characters as zeros, under a key that other
//! readers ignore. A table that was altered on its way is refused before anything in it is decoded.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, SchemaDescPtr, SchemaDescriptor, Type};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The four bytes at both ends of every Parquet file.
const MAGIC: &[u8; 4] = b"PAR1";
/// Shortest possible Parquet file: both magics and the length of the footer.
const SMALLEST_FILE: u64 = 12;
/// Key of the digest in the footer.
const DIGEST_KEY: &str = "stiction.sha256";
/// Hexadecimal characters of a SHA-256.
const DIGEST_LENGTH: usize = 64;
/// Bytes between key and digest in the footer: the Thrift header of a string field, and the string's length.
const DIGEST_HEADER: [u8; 2] = [0x18, DIGEST_LENGTH as u8];
/// Bytes read at once to check the digest.
const DIGEST_BLOCK: usize = 1 << 16;
/// Rows asked of the decoder at once. Bounds what a damaged page that claims billions of values can make us allocate.
const READ_BATCH: usize = 1 << 14;
/// Names at least this similar (Jaro-Winkler, 0 to 1) are offered in place of a missing column.
const NEAR_NAME_SIMILARITY: f64 = 0.75;
/// At most this many names are offered.
const NEAR_NAME_COUNT: usize = 4;

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

/// The same error once more: `io::Error` cannot be cloned, and a writer that failed says why each time it is asked.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

// ---------------------------------------------------------------------------------------------------------------- writing

/// Where the bytes of a table go: a file, or in the tests a small disk that fills up.
trait Sink: Send {
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

/// The rows of one column that are not in the file yet.
enum ColumnBuffer {
    Real(Vec<f64>),
    Integer(Vec<i64>),
    /// All texts one after the other, and where each ends.
    Text {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
}

impl ColumnBuffer {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Real => ColumnBuffer::Real(Vec::new()),
            ColumnKind::Integer => ColumnBuffer::Integer(Vec::new()),
            ColumnKind::Text => ColumnBuffer::Text { bytes: Vec::new(), ends: Vec::new() },
        }
    }

    fn truncate(&mut self, rows: usize) {
        match self {
            ColumnBuffer::Real(values) => values.truncate(rows),
            ColumnBuffer::Integer(values) => values.truncate(rows),
            ColumnBuffer::Text { bytes, ends } => {
                ends.truncate(rows);
                bytes.truncate(ends.last().copied().unwrap_or(0));
            }
        }
    }
}

/// One row while it is being filled, column by column from the left. Made by [`TableWriter::append`].
pub struct RowWriter<'a> {
    specs: &'a [ColumnSpec],
    buffers: &'a mut [ColumnBuffer],
    next: usize,
}

impl RowWriter<'_> {
    fn next_buffer(&mut self, given: ColumnKind) -> (&ColumnSpec, &mut ColumnBuffer) {
        let column = self.next;
        assert!(column < self.specs.len(), "a row of {} columns was given one more {given} value", self.specs.len());
        self.next += 1;
        let spec = &self.specs[column];
        assert!(spec.kind == given, "column `{}` is {}, and was given a value that is {given}", spec.name, spec.kind);
        (spec, &mut self.buffers[column])
    }

    /// Fills the next column, which is of kind [`ColumnKind::Real`].
    ///
    /// # Panics
    /// When the next column is of another kind or the row is full.
    pub fn real(&mut self, value: f64) {
        match self.next_buffer(ColumnKind::Real) {
            (_, ColumnBuffer::Real(values)) => values.push(value),
            (spec, _) => unreachable!("buffer of column `{}` differs from its kind", spec.name),
        }
    }

    /// Fills as many real columns as there are values.
    ///
    /// # Panics
    /// As [`RowWriter::real`].
    pub fn reals(&mut self, values: &[f64]) {
        for &value in values {
            self.real(value);
        }
    }

    /// Fills the next column, which is of kind [`ColumnKind::Integer`].
    ///
    /// # Panics
    /// When the next column is of another kind or the row is full.
    pub fn integer(&mut self, value: i64) {
        match self.next_buffer(ColumnKind::Integer) {
            (_, ColumnBuffer::Integer(values)) => values.push(value),
            (spec, _) => unreachable!("buffer of column `{}` differs from its kind", spec.name),
        }
    }

    /// Fills the next column, which is of kind [`ColumnKind::Text`].
    ///
    /// # Panics
    /// When the next column is of another kind or the row is full.
    pub fn text(&mut self, value: &str) {
        match self.next_buffer(ColumnKind::Text) {
            (_, ColumnBuffer::Text { bytes, ends }) => {
                bytes.extend_from_slice(value.as_bytes());
                ends.push(bytes.len());
            }
            (spec, _) => unreachable!("buffer of column `{}` differs from its kind", spec.name),
        }
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
/// Rows are kept in memory until a row group is full. [`TableWriter::close`] writes the rest and the footer, without which
/// no reader understands the file; a writer that is dropped does the same and ignores what goes wrong.
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

    fn with_sink(
        path: &Path,
        mut sink: Box<dyn Sink>,
        specs: Vec<ColumnSpec>,
        rows_per_group: usize,
    ) -> Result<Self, TableError> {
        assert!(!specs.is_empty(), "a table needs at least one column");
        assert!(rows_per_group > 0, "a row group needs at least one row");
        let (schema, properties) = schema_of(&specs);
        let io_error = |cause| TableError::Io { file: path.to_owned(), action: "write", cause };
        let mut encoder = TrackedWrite::new(Vec::new());
        encoder.write_all(MAGIC).and_then(|()| encoder.flush()).map_err(io_error)?;
        sink.write_at(0, encoder.inner()).map_err(io_error)?;
        encoder.inner_mut().clear();
        Ok(Self {
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
        })
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
        let mut row = RowWriter { specs: &self.specs, buffers: &mut self.buffers, next: 0 };
        fill(&mut row);
        let given = row.next;
        assert!(given == self.specs.len(), "a row of {} columns was given only {given} values", self.specs.len());
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

    /// Writes the last rows and the footer, and returns the number of rows in the file.
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

    /// Encodes the buffered rows as a row group and writes it after the last one.
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
        self.sink.write_at(self.whole_length, self.encoder.inner())?;
        self.groups.push(WrittenGroup { metadata, start: self.whole_length, digest_before: self.digest.clone() });
        self.whole_length += self.encoder.inner().len() as u64;
        self.digest.update(self.encoder.inner());
        self.encoder.inner_mut().clear();
        Ok(())
    }

    /// Writes what is buffered, then the footer; gives up row groups from the end until there is space for a footer.
    fn write_rest(&mut self) -> Result<u64, TableError> {
        if self.failure.is_none() && self.buffered_rows > 0 {
            // A closure that panicked in `append` leaves a row that is filled in part.
            for buffer in &mut self.buffers {
                buffer.truncate(self.buffered_rows);
            }
            self.failure = self.write_group().err();
        }
        while let Err(cause) = self.write_footer() {
            self.failure.get_or_insert(copy_of(&cause));
            match self.groups.pop() {
                Some(group) => {
                    self.whole_length = group.start;
                    self.digest = group.digest_before;
                }
                None => return Err(self.write_error(cause)),
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

    fn write_footer(&mut self) -> io::Result<()> {
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
        // Over what a failed row group left behind, so that the footer needs as little new space as possible.
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

/// Where the characters of the digest begin in a footer, if it has one.
fn digest_place(footer: &[u8]) -> Option<usize> {
    let mark = [DIGEST_KEY.as_bytes(), &DIGEST_HEADER].concat();
    // The last one: names of columns come before it.
    let place = footer.windows(mark.len()).rposition(|window| window == mark)?;
    let start = place + mark.len();
    (start + DIGEST_LENGTH <= footer.len()).then_some(start)
}

fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The Parquet schema for the columns, and how each is encoded.
fn schema_of(specs: &[ColumnSpec]) -> (SchemaDescPtr, WriterPropertiesPtr) {
    let fields = specs
        .iter()
        .map(|spec| {
            let physical = match spec.kind {
                ColumnKind::Real => PhysicalType::DOUBLE,
                ColumnKind::Integer => PhysicalType::INT64,
                ColumnKind::Text => PhysicalType::BYTE_ARRAY,
            };
            let logical = (spec.kind == ColumnKind::Text).then_some(LogicalType::String);
            let field = Type::primitive_type_builder(&spec.name, physical)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(logical)
                .build()
                .expect("a required column of these types is valid");
            Arc::new(field)
        })
        .collect();
    let root = Type::group_type_builder("schema").with_fields(fields).build().expect("a flat schema is valid");

    let mut properties = WriterProperties::builder()
        .set_created_by(format!("stiction version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::LZ4_RAW)
        .set_dictionary_enabled(true)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for spec in specs.iter().filter(|spec| spec.kind == ColumnKind::Real) {
        // A path of one part, however many dots the name has.
        let path = ColumnPath::new(vec![spec.name.clone()]);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
    }
    (Arc::new(SchemaDescriptor::new(Arc::new(root))), Arc::new(properties.build()))
}

// ---------------------------------------------------------------------------------------------------------------- reading

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
    file: PathBuf,
    names: Vec<String>,
    columns: Vec<Column>,
    row_count: usize,
}

impl Table {
    /// Reads a whole table file.
    ///
    /// # Errors
    /// A [`TableError`] for a file that cannot be read, is not Parquet, was cut off, is damaged, or has columns of other types
    /// than a [`TableWriter`] writes. Files of other programs carry no digest, and damage inside their values can go unseen.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TableError> {
        let path = path.as_ref();
        let file = path.to_owned();
        let parquet_file = open(path)?;
        // In a file without a digest, damage can violate what the decoder asserts.
        match catch_unwind(AssertUnwindSafe(|| decode(file, parquet_file))) {
            Ok(result) => result,
            Err(panic) => Err(TableError::Damaged {
                file: path.to_owned(),
                reason: panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                    .unwrap_or_else(|| "the decoder gave up".to_owned()),
            }),
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

/// Which of our kinds a Parquet column is, or its type in words.
fn kind_of(descriptor: &ColumnDescriptor) -> Result<ColumnKind, String> {
    let is_flat =
        descriptor.path().parts().len() == 1 && descriptor.max_def_level() == 0 && descriptor.max_rep_level() == 0;
    let logical = descriptor.logical_type_ref();
    let converted = descriptor.converted_type();
    let is_plain = logical.is_none() && converted == ConvertedType::NONE;
    let is_signed_64 = converted == ConvertedType::INT_64
        || matches!(
            logical,
            Some(LogicalType::Integer(kind)) if kind.is_signed && kind.bit_width == 64
        );
    let is_string = converted == ConvertedType::UTF8 || matches!(logical, Some(LogicalType::String));
    match descriptor.physical_type() {
        PhysicalType::DOUBLE if is_flat && is_plain => Ok(ColumnKind::Real),
        PhysicalType::INT64 if is_flat && (is_plain || is_signed_64) => Ok(ColumnKind::Integer),
        PhysicalType::BYTE_ARRAY if is_flat && is_string => Ok(ColumnKind::Text),
        physical => {
            let shape = if descriptor.max_rep_level() > 0 || descriptor.path().parts().len() > 1 {
                "nested "
            } else if descriptor.max_def_level() > 0 {
                "optional "
            } else {
                ""
            };
            let meaning = logical.map_or(String::new(), |logical| format!(" ({logical:?})"));
            Err(format!("{shape}{physical}{meaning}"))
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Values that a careless encoding loses: signed zero, subnormals, infinities, the ends of the range.
    const DELICATE: [f64; 10] =
        [0.0, -0.0, 5e-324, -2.2e-308, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1];

    fn columns() -> Vec<ColumnSpec> {
        vec![
            ColumnSpec::real("t"),
            ColumnSpec::real("rod.x"),
            ColumnSpec::integer("iterations"),
            ColumnSpec::text("mode"),
        ]
    }

    fn append_row(writer: &mut TableWriter, row: usize) -> Result<(), TableError> {
        writer.append(|out| {
            out.real(0.01 * row as f64);
            out.real(DELICATE[row % DELICATE.len()]);
            out.integer((row as i64 % 7 - 3) * (i64::MAX / 3));
            out.text(["stick", "slip", "", "Größe μ"][row % 4]);
        })
    }

    fn check_rows(table: &Table, rows: usize) {
        assert_eq!(table.row_count(), rows);
        let bits = |values: &[f64]| -> Vec<u64> { values.iter().map(|x| x.to_bits()).collect() };
        let t: Vec<f64> = (0..rows).map(|row| 0.01 * row as f64).collect();
        let x: Vec<f64> = (0..rows).map(|row| DELICATE[row % DELICATE.len()]).collect();
        assert_eq!(bits(table.real("t").unwrap()), bits(&t));
        assert_eq!(bits(table.real("rod.x").unwrap()), bits(&x));
        for row in 0..rows {
            assert_eq!(table.integer("iterations").unwrap()[row], (row as i64 % 7 - 3) * (i64::MAX / 3));
            assert_eq!(table.text("mode").unwrap()[row], ["stick", "slip", "", "Größe μ"][row % 4]);
        }
    }

    fn write_rows(path: &Path, rows: usize, rows_per_group: usize) {
        let mut writer = TableWriter::create(path, columns(), rows_per_group).unwrap();
        for row in 0..rows {
            append_row(&mut writer, row).unwrap();
        }
        assert_eq!(writer.row_count(), rows as u64);
        assert_eq!(writer.close().unwrap(), rows as u64);
    }

    #[test]
    fn what_is_written_is_read_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        // No rows, one, a row group that is just full, several, and more than the reader asks for at once.
        for (rows, rows_per_group) in [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 4), (2 * READ_BATCH + 3, usize::MAX)] {
            write_rows(&path, rows, rows_per_group);
            let table = Table::read(&path).unwrap();
            assert_eq!(table.names(), ["t", "rod.x", "iterations", "mode"]);
            check_rows(&table, rows);
        }
    }

    #[test]
    fn dictionary_that_overflows_falls_back_and_is_still_exact() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let text = |row: usize| format!("{row:0>100}");
        let columns = vec![ColumnSpec::text("label"), ColumnSpec::integer("row")];
        let mut writer = TableWriter::create(&path, columns, 1 << 20).unwrap();
        // 300 000 different integers are 2.4 MB and the texts 30 MB; the default limit of a dictionary is 1 MiB.
        let rows = 300_000;
        for row in 0..rows {
            writer
                .append(|out| {
                    out.text(&text(row));
                    out.integer(row as i64);
                })
                .unwrap();
        }
        writer.close().unwrap();
        let table = Table::read(&path).unwrap();
        for row in 0..rows {
            assert_eq!(table.text("label").unwrap()[row], text(row));
            assert_eq!(table.integer("row").unwrap()[row], row as i64);
        }
    }

    #[test]
    fn same_rows_give_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        write_rows(&first, 500, 64);
        write_rows(&second, 500, 64);
        assert_eq!(std::fs::read(first).unwrap(), std::fs::read(second).unwrap());
    }

    #[test]
    fn full_row_group_reaches_the_file_before_close() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let mut writer = TableWriter::create(&path, columns(), 8).unwrap();
        let length = || std::fs::metadata(&path).unwrap().len();
        for row in 0..7 {
            append_row(&mut writer, row).unwrap();
        }
        assert_eq!(length(), 4);
        append_row(&mut writer, 7).unwrap();
        assert!(length() > 4);
        assert!(matches!(Table::read(&path), Err(TableError::Truncated { .. })));
    }

    #[test]
    fn dropped_writer_leaves_a_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let mut writer = TableWriter::create(&path, columns(), 8).unwrap();
        for row in 0..11 {
            append_row(&mut writer, row).unwrap();
        }
        drop(writer);
        check_rows(&Table::read(&path).unwrap(), 11);
    }

    #[test]
    fn row_that_panics_halfway_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let mut writer = TableWriter::create(&path, columns(), 8).unwrap();
        append_row(&mut writer, 0).unwrap();
        let result = catch_unwind(AssertUnwindSafe(|| {
            writer.append(|out| {
                out.real(1.0);
                out.integer(1);
            })
        }));
        let message = *result.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, "column `rod.x` is real, and was given a value that is integer");
        drop(writer);
        check_rows(&Table::read(&path).unwrap(), 1);
    }

    #[test]
    #[should_panic(expected = "a row of 4 columns was given only 1 values")]
    fn short_row_panics() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let mut writer = TableWriter::create(path, columns(), 8).unwrap();
        writer.append(|out| out.real(1.0)).unwrap();
    }

    #[test]
    #[should_panic(expected = "a row of 1 columns was given one more real value")]
    fn long_row_panics() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let mut writer = TableWriter::create(path, vec![ColumnSpec::real("t")], 8).unwrap();
        writer.append(|out| out.reals(&[1.0, 2.0])).unwrap();
    }

    #[test]
    fn mistakes_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let twice = vec![ColumnSpec::real("t"), ColumnSpec::text("t")];
        let error = TableWriter::create(&path, twice, 8).unwrap_err();
        assert!(error.to_string().ends_with("two columns are named `t`"));
        assert!(!path.exists());

        let nowhere = folder.path().join("missing").join("table.parquet");
        let error = TableWriter::create(&nowhere, columns(), 8).unwrap_err();
        assert!(error.is_io(), "{error}");
        assert!(Table::read(&nowhere).unwrap_err().is_io());
        assert!(Table::read(folder.path()).unwrap_err().is_io());

        write_rows(&path, 3, 8);
        let table = Table::read(&path).unwrap();
        let error = table.real("rod.xx").unwrap_err();
        assert!(!error.is_io());
        assert!(error.to_string().ends_with("has no column `rod.xx`; did you mean `rod.x`?"), "{error}");
        let error = table.real("q").unwrap_err();
        assert!(error.to_string().ends_with("it has `t`, `rod.x`, `iterations`, `mode`"), "{error}");
        let error = table.real("mode").unwrap_err();
        assert!(error.to_string().ends_with("column `mode` is text, not real"), "{error}");
        assert!(table.column("mode").is_some() && table.column("q").is_none());
    }

    #[test]
    fn cut_or_foreign_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        write_rows(&path, 50, 20);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = Table::read(&path).unwrap_err();
            assert!(
                matches!(error, TableError::Truncated { .. } | TableError::Damaged { .. }),
                "cut to {length} bytes: {error}"
            );
        }
        for foreign in [&b"t,x\n0,1\n"[..], b"P", b"PK\x03\x04", b"{\"stiction\": 1}"] {
            std::fs::write(&path, foreign).unwrap();
            let error = Table::read(&path).unwrap_err();
            let is_prefix = MAGIC.starts_with(foreign);
            assert_eq!(matches!(error, TableError::NotParquet { .. }), !is_prefix, "{error}");
        }
        // Both ends and nothing that makes sense between them.
        std::fs::write(&path, b"PAR1\xff\xff\xff\xffPAR1").unwrap();
        let error = Table::read(&path).unwrap_err();
        assert!(matches!(error, TableError::Damaged { .. }), "{error}");
    }

    #[test]
    fn every_changed_byte_is_found_or_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        write_rows(&path, 40, 20);
        let whole = std::fs::read(&path).unwrap();
        let footer = whole.len() - 8 - read_footer_length(&whole);
        let digest = footer + digest_place(&whole[footer..]).unwrap();
        let key = digest - DIGEST_HEADER.len() - DIGEST_KEY.len();
        for position in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[position] ^= change;
                std::fs::write(&path, &bytes).unwrap();
                match Table::read(&path) {
                    Err(error) => assert!(!error.is_io(), "byte {position}: {error}"),
                    // Without its key the digest is not seen; the rows are whole.
                    Ok(table) => {
                        assert!((key..digest).contains(&position), "byte {position} ^ {change}");
                        check_rows(&table, 40);
                    }
                }
            }
        }
    }

    fn read_footer_length(whole: &[u8]) -> usize {
        let end = whole.len() - 8;
        u32::from_le_bytes(whole[end..end + 4].try_into().unwrap()) as usize
    }

    #[test]
    fn damage_without_a_digest_is_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        write_rows(&path, 40, 20);
        let mut whole = std::fs::read(&path).unwrap();
        let footer = whole.len() - 8 - read_footer_length(&whole);
        let place = footer + digest_place(&whole[footer..]).unwrap();
        whole[place - DIGEST_HEADER.len() - 1] = b'x';
        for position in 0..whole.len() {
            for change in [0x01, 0x08, 0x40, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[position] ^= change;
                std::fs::write(&path, &bytes).unwrap();
                // A change inside a value is no error. One that is found is the file's fault, not the machine's.
                if let Err(error) = Table::read(&path) {
                    assert!(!error.is_io(), "byte {position}: {error}");
                }
            }
        }
    }

    /// A disk with room for `capacity` bytes, shared with the test that looks at it.
    struct SmallDisk {
        bytes: Arc<Mutex<Vec<u8>>>,
        capacity: usize,
    }

    impl Sink for SmallDisk {
        fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            let mut disk = self.bytes.lock().unwrap();
            let start = offset as usize;
            let end = (start + bytes.len()).min(self.capacity);
            if disk.len() < end {
                disk.resize(end, 0);
            }
            let fitting = end.saturating_sub(start);
            disk[start..start + fitting].copy_from_slice(&bytes[..fitting]);
            match fitting == bytes.len() {
                true => Ok(()),
                false => Err(io::ErrorKind::StorageFull.into()),
            }
        }

        fn truncate(&mut self, length: u64) -> io::Result<()> {
            self.bytes.lock().unwrap().truncate(length as usize);
            Ok(())
        }
    }

    #[test]
    fn full_disk_keeps_whole_row_groups() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let (rows, rows_per_group) = (100, 10);
        let mut most_kept = 0;
        for capacity in (0..).step_by(97) {
            let bytes = Arc::new(Mutex::new(Vec::new()));
            let disk = SmallDisk { bytes: bytes.clone(), capacity };
            let Ok(mut writer) = TableWriter::with_sink(&path, Box::new(disk), columns(), rows_per_group) else {
                continue;
            };
            let mut failures = 0;
            for row in 0..rows {
                match append_row(&mut writer, row) {
                    Ok(()) => assert_eq!(failures, 0, "a writer that failed stays failed"),
                    Err(error) => {
                        assert!(error.is_io());
                        failures += 1;
                    }
                }
            }
            let outcome = writer.close();
            std::fs::write(&path, &*bytes.lock().unwrap()).unwrap();
            match outcome {
                Ok(kept) => {
                    assert_eq!(kept, rows as u64);
                    check_rows(&Table::read(&path).unwrap(), rows);
                    break;
                }
                Err(TableError::Incomplete { rows_kept, rows_lost, cause, .. }) => {
                    assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
                    assert_eq!(rows_kept % rows_per_group as u64, 0);
                    assert!(rows_lost > 0 && rows_kept + rows_lost <= rows as u64);
                    assert!(rows_kept >= most_kept, "more space, fewer rows");
                    most_kept = rows_kept;
                    check_rows(&Table::read(&path).unwrap(), rows_kept as usize);
                }
                Err(error) => assert!(error.is_io() && most_kept == 0, "{error}"),
            }
        }
        assert!(most_kept > 0);
    }

    #[test]
    fn columns_of_other_types_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let field = Type::primitive_type_builder("n", PhysicalType::INT32)
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .unwrap();
        let root = Type::group_type_builder("schema").with_fields(vec![Arc::new(field)]).build().unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(root)));
        let metadata = ParquetMetaData::new(FileMetaData::new(1, 0, None, None, schema, None), Vec::new());
        let mut bytes = MAGIC.to_vec();
        ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
        std::fs::write(&path, bytes).unwrap();
        let error = Table::read(&path).unwrap_err().to_string();
        assert!(error.contains("column `n` is optional INT32"), "{error}");
    }
}

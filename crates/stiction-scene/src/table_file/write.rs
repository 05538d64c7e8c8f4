//! Writing: row groups one after the other, each with a footer that the next one overwrites.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type};
use sha2::{Digest, Sha256};

use super::{Column, ColumnKind, ColumnSpec, TableError, UNITS_KEY, Value, seal};

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

/// The start of the file, or the end of a row group in it.
#[derive(Clone)]
struct Mark {
    /// Length of the file up to here.
    length: u64,
    /// Rows up to here.
    rows: u64,
    /// Digest of the bytes up to here.
    digest: Sha256,
}

/// Writes a table row by row.
///
/// Rows are kept in memory until a row group is full. [`TableWriter::close`] writes the rest; a writer that is dropped does
/// the same and ignores what goes wrong.
pub struct TableWriter {
    file: PathBuf,
    sink: Box<dyn Sink>,
    columns: Vec<ColumnSpec>,
    rows_per_group: usize,
    /// The rows that are not in the file yet.
    rows: Vec<Column>,
    /// Encodes row groups in memory. It counts the bytes that were taken out of it, which gives the offsets in the file.
    encoder: SerializedFileWriter<Vec<u8>>,
    schema: Arc<SchemaDescriptor>,
    /// The start, and the ends of the row groups that are in the file.
    marks: Vec<Mark>,
    /// Why writing stopped.
    failure: Option<Arc<io::Error>>,
    is_closed: bool,
}

impl fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableWriter").field("file", &self.file).field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl TableWriter {
    /// Creates the file, or empties the one of that name, for rows of the given columns.
    ///
    /// # Errors
    /// [`TableError::Unusable`] when two columns have one name, or [`TableError::Io`] when the file cannot be created.
    ///
    /// # Panics
    /// When there are no columns or `rows_per_group` is zero.
    pub fn create(path: impl AsRef<Path>, columns: Vec<ColumnSpec>, rows_per_group: usize) -> Result<Self, TableError> {
        let file = path.as_ref().to_owned();
        let mut names = HashSet::new();
        if let Some(repeated) = columns.iter().find(|spec| !names.insert(&spec.name)) {
            let reason = format!("cannot be created: two columns are named `{}`", repeated.name);
            return Err(TableError::Unusable { file, reason });
        }
        match File::create(&file) {
            Ok(sink) => Self::with_sink(&file, Box::new(sink), columns, rows_per_group),
            Err(cause) => Err(TableError::Io { file, action: "create", cause: Arc::new(cause) }),
        }
    }

    pub(super) fn with_sink(
        path: &Path,
        sink: Box<dyn Sink>,
        columns: Vec<ColumnSpec>,
        rows_per_group: usize,
    ) -> Result<Self, TableError> {
        assert!(!columns.is_empty(), "a table needs at least one column");
        assert!(rows_per_group > 0, "a row group needs at least one row");
        let schema = Arc::new(schema_of(&columns));
        let encoder =
            SerializedFileWriter::new(Vec::new(), schema.root_schema_ptr(), Arc::new(properties_of(&columns)));
        let mut writer = Self {
            file: path.to_owned(),
            sink,
            rows: columns.iter().map(|spec| Column::empty(spec.kind)).collect(),
            columns,
            rows_per_group,
            encoder: encoder.expect("memory can be written to"),
            schema,
            marks: Vec::new(),
            failure: None,
            is_closed: false,
        };
        if let Err(cause) = writer.write_encoded(Mark { length: 0, rows: 0, digest: Sha256::new() }) {
            writer.is_closed = true; // there is no table to save
            return Err(writer.write_error(&Arc::new(cause)));
        }
        Ok(writer)
    }

    /// Appends one row, given from the first column to the last:
    ///
    /// ```
    /// # use stiction_scene::table_file::{ColumnSpec, TableError, TableWriter};
    /// # fn main() -> Result<(), TableError> {
    /// # let path = std::env::temp_dir().join(format!("stiction-table-{}.parquet", std::process::id()));
    /// let columns = vec![ColumnSpec::real("t", "s"), ColumnSpec::text("mode")];
    /// let mut writer = TableWriter::create(&path, columns, 4096)?;
    /// writer.append(&[0.25.into(), "stick".into()])?;
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
    pub fn append(&mut self, row: &[Value<'_>]) -> Result<(), TableError> {
        if let Some(cause) = &self.failure {
            return Err(self.write_error(cause));
        }
        let (count, given) = (self.columns.len(), row.len());
        assert!(given == count, "a row of {count} columns was given {given} values");
        for (spec, value) in self.columns.iter().zip(row) {
            let fits = match value {
                Value::Real(_) => spec.kind == ColumnKind::Real,
                Value::Integer(_) => spec.kind == ColumnKind::Integer,
                Value::Text(_) => spec.kind == ColumnKind::Text,
            };
            assert!(fits, "column `{}` is {:?}, and was given {value:?}", spec.name, spec.kind);
        }
        for (column, value) in self.rows.iter_mut().zip(row) {
            match (column, value) {
                (Column::Real(values), Value::Real(value)) => values.push(*value),
                (Column::Integer(values), Value::Integer(value)) => values.push(*value),
                (Column::Text(values), Value::Text(value)) => values.push((*value).to_owned()),
                _ => unreachable!("the kinds have been compared"),
            }
        }
        if self.rows[0].len() == self.rows_per_group {
            self.write_group();
        }
        self.failure.as_ref().map_or(Ok(()), |cause| Err(self.write_error(cause)))
    }

    /// Writes the last rows, and returns the number of rows in the file.
    ///
    /// # Errors
    /// [`TableError::Incomplete`] when some rows could not be written and the file is readable without them;
    /// [`TableError::Io`] when not even a footer could be written.
    pub fn close(mut self) -> Result<u64, TableError> {
        self.finish()
    }

    fn write_error(&self, cause: &Arc<io::Error>) -> TableError {
        TableError::Io { file: self.file.clone(), action: "write", cause: cause.clone() }
    }

    /// Writes the rows as a row group after the last one, and keeps what goes wrong, and the rows, for the end.
    fn write_group(&mut self) {
        let mark = self.marks.last().expect("the start is marked").clone();
        let rows = mark.rows + self.rows[0].len() as u64;
        match self.encode_rows().and_then(|()| self.write_encoded(Mark { rows, ..mark })) {
            Ok(()) => self.rows.iter_mut().zip(&self.columns).for_each(|(rows, spec)| *rows = Column::empty(spec.kind)),
            Err(cause) => self.failure = Some(Arc::new(cause)),
        }
    }

    fn encode_rows(&mut self) -> io::Result<()> {
        let mut group = self.encoder.next_row_group()?;
        for column in &self.rows {
            let mut writer = group.next_column()?.expect("the schema has a column for every one of ours");
            match column {
                Column::Real(values) => writer.typed::<DoubleType>().write_batch(values, None, None)?,
                Column::Integer(values) => writer.typed::<Int64Type>().write_batch(values, None, None)?,
                Column::Text(values) => {
                    let texts: Vec<ByteArray> = values.iter().map(|text| text.as_str().into()).collect();
                    writer.typed::<ByteArrayType>().write_batch(&texts, None, None)?
                }
            };
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes what is encoded, and the end of the file, where the last row group ends; then `mark`, which is to have the
    /// rows up to there, marks the end of what was encoded.
    fn write_encoded(&mut self, mut mark: Mark) -> io::Result<()> {
        self.encoder.flush()?;
        let mut bytes = std::mem::take(self.encoder.inner_mut());
        let start = mark.length;
        mark.length += bytes.len() as u64;
        mark.digest.update(&bytes);
        bytes.extend(self.end(self.marks.len(), &mark)?);
        self.sink.write_at(start, &bytes)?;
        self.marks.push(mark);
        Ok(())
    }

    /// Seal and footer of a file that ends with the last of so many row groups, at that mark.
    fn end(&self, group_count: usize, mark: &Mark) -> io::Result<Vec<u8>> {
        let units: BTreeMap<_, _> = self.columns.iter().map(|spec| (&spec.name, &spec.unit)).collect();
        let units = serde_json::to_string(&units).expect("texts by texts are JSON");
        let properties = self.encoder.properties();
        let file = FileMetaData::new(
            properties.writer_version().as_num(),
            mark.rows as i64,
            Some(properties.created_by().to_owned()),
            Some(vec![KeyValue::new(UNITS_KEY.to_owned(), units)]),
            self.schema.clone(),
            None,
        );
        let groups = self.encoder.flushed_row_groups()[..group_count].to_vec();
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &ParquetMetaData::new(file, groups)).finish()?;
        Ok([&seal(mark.digest.clone(), &footer)[..], &footer].concat())
    }

    /// Writes the last rows. After a failure, now or before, puts the end back over what the failed row group left; a file
    /// system that needs new space even for that is given the space of row groups, from the last one on.
    fn finish(&mut self) -> Result<u64, TableError> {
        self.is_closed = true;
        if self.failure.is_none() && self.rows[0].len() > 0 {
            self.write_group();
        }
        let appended = |mark: &Mark| mark.rows + self.rows[0].len() as u64;
        let appended = self.marks.last().map_or(0, appended);
        let Some(cause) = self.failure.take() else { return Ok(appended) };
        loop {
            let mark = self.marks.last().expect("the start is marked");
            let restored = self.end(self.marks.len() - 1, mark).and_then(|end| {
                self.sink.write_at(mark.length, &end)?;
                self.sink.truncate(mark.length + end.len() as u64)
            });
            let (file, rows_kept) = (self.file.clone(), mark.rows);
            match restored {
                Ok(()) => {
                    let rows_lost = appended - rows_kept;
                    return Err(TableError::Incomplete { file, rows_kept, rows_lost, cause });
                }
                Err(cause) if self.marks.len() == 1 => return Err(self.write_error(&Arc::new(cause))),
                Err(_) => {
                    self.marks.pop();
                    let _ = self.sink.truncate(self.marks[self.marks.len() - 1].length);
                }
            }
        }
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        if !self.is_closed {
            // There is nobody left to tell; `close` is the way that reports.
            let _ = self.finish();
        }
    }
}

/// The columns in the words of the Parquet format.
fn schema_of(columns: &[ColumnSpec]) -> SchemaDescriptor {
    let field = |spec: &ColumnSpec| {
        let (physical, logical) = match spec.kind {
            ColumnKind::Real => (PhysicalType::DOUBLE, None),
            ColumnKind::Integer => (PhysicalType::INT64, None),
            ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(&spec.name, physical).with_repetition(Repetition::REQUIRED);
        Arc::new(field.with_logical_type(logical).build().expect("a required column of these types is valid"))
    };
    let fields = columns.iter().map(field).collect();
    let root = Type::group_type_builder("schema").with_fields(fields).build().expect("a flat schema is valid");
    SchemaDescriptor::new(Arc::new(root))
}

/// How the columns are encoded.
fn properties_of(columns: &[ColumnSpec]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("stiction version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::LZ4_RAW)
        .set_dictionary_enabled(true)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for spec in columns.iter().filter(|spec| spec.kind == ColumnKind::Real) {
        // A path of one part, however many dots the name has.
        let path = ColumnPath::new(vec![spec.name.clone()]);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
    }
    properties.build()
}

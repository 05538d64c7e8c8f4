//! Writing: row groups one after the other, each with a footer that the next one overwrites.

use std::collections::{BTreeMap, HashSet};
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

use super::{Column, ColumnSpec, TableError, UNITS_KEY, Value, seal};

/// Where the bytes of a table go: a file, or in the tests a small disk that fills up.
pub(super) trait Sink: Send {
    /// Writes all bytes at `offset` from the start, where the file ends with them, or fails with
    /// any part of them written.
    fn end_with(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
}

impl Sink for File {
    fn end_with(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)?;
        self.set_len(offset + bytes.len() as u64)
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
/// Rows are kept in memory until a row group is full. [`TableWriter::close`] writes the rest; a
/// writer that is dropped does the same and ignores what goes wrong.
pub struct TableWriter {
    file: PathBuf,
    sink: Box<dyn Sink>,
    columns: Vec<ColumnSpec>,
    /// Rows that the columns hold.
    row_count: usize,
    rows_per_group: usize,
    /// Encodes row groups in memory. It counts the bytes that were taken out of it, which gives the
    /// offsets in the file.
    encoder: SerializedFileWriter<Vec<u8>>,
    schema: Arc<SchemaDescriptor>,
    /// The start, and the ends of the row groups that are in the file.
    marks: Vec<Mark>,
    /// Why writing stopped.
    failure: Option<Arc<io::Error>>,
}

impl TableWriter {
    /// Creates the file, or empties the one of that name, for rows of the given columns.
    ///
    /// # Errors
    /// [`TableError::Unusable`] when two columns have one name, or [`TableError::Io`] when the file
    /// cannot be created.
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
            columns,
            row_count: 0,
            rows_per_group,
            encoder: encoder.expect("memory can be written to"),
            schema,
            marks: Vec::new(),
            failure: None,
        };
        match writer.write_encoded(Mark { length: 0, rows: 0, digest: Sha256::new() }) {
            Ok(()) => Ok(writer),
            Err(cause) => Err(writer.write_error(&Arc::new(cause))),
        }
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
    /// [`TableError::Io`] when this row filled a row group that could not be written, and for every
    /// row after that. [`TableWriter::close`] then saves what can be saved.
    ///
    /// # Panics
    /// When the values do not fit the columns in number and kind.
    pub fn append(&mut self, row: &[Value<'_>]) -> Result<(), TableError> {
        if let Some(cause) = &self.failure {
            return Err(self.write_error(cause));
        }
        let (count, given) = (self.columns.len(), row.len());
        assert!(given == count, "a row of {count} columns was given {given} values");
        for (ColumnSpec { name, rows, .. }, value) in self.columns.iter().zip(row) {
            let fits = matches!(
                (rows, value),
                (Column::Real(_), Value::Real(_))
                    | (Column::Integer(_), Value::Integer(_))
                    | (Column::Text(_), Value::Text(_))
            );
            assert!(fits, "column `{name}` was given {value:?}");
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            match (&mut column.rows, value) {
                (Column::Real(rows), Value::Real(value)) => rows.push(*value),
                (Column::Integer(rows), Value::Integer(value)) => rows.push(*value),
                (Column::Text(rows), Value::Text(value)) => rows.push((*value).to_owned()),
                _ => unreachable!("the kinds have been compared"),
            }
        }
        self.row_count += 1;
        if self.row_count == self.rows_per_group {
            self.write_group();
        }
        self.failure.as_ref().map_or(Ok(()), |cause| Err(self.write_error(cause)))
    }

    /// Writes the last rows, and returns the number of rows in the file.
    ///
    /// # Errors
    /// [`TableError::Incomplete`] when some rows could not be written and the file is readable
    /// without them; [`TableError::Io`] when not even a footer could be written.
    pub fn close(mut self) -> Result<u64, TableError> {
        self.finish()
    }

    fn write_error(&self, cause: &Arc<io::Error>) -> TableError {
        TableError::Io { file: self.file.clone(), action: "write", cause: cause.clone() }
    }

    /// Writes the rows as a row group after the last one, or keeps what goes wrong, and their
    /// number, for the end.
    fn write_group(&mut self) {
        let mark = self.marks.last().expect("the start is marked").clone();
        let rows = mark.rows + self.row_count as u64;
        match self.encode_rows().and_then(|()| self.write_encoded(Mark { rows, ..mark })) {
            Ok(()) => self.row_count = 0,
            Err(cause) => self.failure = Some(Arc::new(cause)),
        }
    }

    fn encode_rows(&mut self) -> io::Result<()> {
        let mut group = self.encoder.next_row_group()?;
        for column in &mut self.columns {
            let mut writer = group.next_column()?.expect("the schema has a column for every one of ours");
            match &mut column.rows {
                Column::Real(rows) => {
                    writer.typed::<DoubleType>().write_batch(rows, None, None)?;
                    rows.clear();
                }
                Column::Integer(rows) => {
                    writer.typed::<Int64Type>().write_batch(rows, None, None)?;
                    rows.clear();
                }
                Column::Text(rows) => {
                    let texts: Vec<ByteArray> = rows.drain(..).map(|text| text.into_bytes().into()).collect();
                    writer.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes what is encoded, and the end of the file, where the last row group ends; then `mark`,
    /// which is to have the rows up to there, marks the end of what was encoded.
    fn write_encoded(&mut self, mut mark: Mark) -> io::Result<()> {
        self.encoder.flush()?;
        let mut bytes = std::mem::take(self.encoder.inner_mut());
        let start = mark.length;
        mark.length += bytes.len() as u64;
        mark.digest.update(&bytes);
        bytes.extend(self.end(self.marks.len(), &mark)?);
        self.sink.end_with(start, &bytes)?;
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

    /// Writes the last rows. After a failure, now or before, puts the end back over what the failed
    /// row group left; a file system that needs new space even for that is given the space of row
    /// groups, from the last one on. A second call has nothing to do.
    fn finish(&mut self) -> Result<u64, TableError> {
        if self.failure.is_none() && self.row_count > 0 {
            self.write_group();
        }
        let appended = self.marks.last().map_or(0, |mark| mark.rows) + std::mem::take(&mut self.row_count) as u64;
        let Some(cause) = self.failure.take() else { return Ok(appended) };
        loop {
            let mark = self.marks.last().expect("the start is marked");
            let end = self.end(self.marks.len() - 1, mark);
            match end.and_then(|end| self.sink.end_with(mark.length, &end)) {
                Ok(()) => {
                    let (file, rows_kept, rows_lost) = (self.file.clone(), mark.rows, appended - mark.rows);
                    return Err(TableError::Incomplete { file, rows_kept, rows_lost, cause });
                }
                Err(cause) if self.marks.len() == 1 => return Err(self.write_error(&Arc::new(cause))),
                Err(_) => {
                    self.marks.pop();
                    let _ = self.sink.end_with(self.marks[self.marks.len() - 1].length, &[]);
                }
            }
        }
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        // There is nobody left to tell; `close` is the way that reports.
        let _ = self.finish();
    }
}

/// The columns in the words of the Parquet format.
fn schema_of(columns: &[ColumnSpec]) -> SchemaDescriptor {
    let field = |spec: &ColumnSpec| {
        let (physical, logical) = match spec.rows {
            Column::Real(_) => (PhysicalType::DOUBLE, None),
            Column::Integer(_) => (PhysicalType::INT64, None),
            Column::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
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
    for spec in columns.iter().filter(|spec| matches!(spec.rows, Column::Real(_))) {
        // A path of one part, however many dots the name has.
        let path = ColumnPath::new(vec![spec.name.clone()]);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
    }
    properties.build()
}

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataWriter};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::write::Sink;
use super::*;

/// Values that a careless encoding loses: signed zero, subnormals, infinities, the ends of the
/// range.
const DELICATE: [f64; 10] =
    [0.0, -0.0, 5e-324, -2.2e-308, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1];

fn columns() -> Vec<ColumnSpec> {
    vec![
        ColumnSpec::real("t", "s"),
        ColumnSpec::real("rod.x", "m"),
        ColumnSpec::integer("iterations"),
        ColumnSpec::text("mode"),
    ]
}

fn append_row(writer: &mut TableWriter, row: usize) -> Result<(), TableError> {
    writer.append(&[
        (0.01 * row as f64).into(),
        DELICATE[row % DELICATE.len()].into(),
        Value::Integer((row as i64 % 7 - 3) * (i64::MAX / 3)),
        ["stick", "slip", "", "Größe μ"][row % 4].into(),
    ])
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
    assert_eq!(writer.close().unwrap(), rows as u64);
}

#[test]
fn what_is_written_is_read_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    // No rows, one, a row group that is just full, several, and more than fit into one page.
    for (rows, rows_per_group) in [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 4), (32_771, usize::MAX)] {
        write_rows(&path, rows, rows_per_group);
        let table = Table::read(&path).unwrap();
        assert_eq!(table.names(), ["t", "rod.x", "iterations", "mode"]);
        check_rows(&table, rows);
        let units = ["t", "rod.x", "iterations", "mode", "missing"].map(|name| table.unit(name));
        assert_eq!(units, [Some("s"), Some("m"), Some("1"), Some(""), None]);
    }
}

#[test]
fn dictionary_that_overflows_falls_back_and_is_still_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    let text = |row: usize| format!("{row:0>100}");
    let columns = vec![ColumnSpec::text("label"), ColumnSpec::integer("row")];
    let mut writer = TableWriter::create(&path, columns, 1 << 20).unwrap();
    // 300 000 different integers are 2.4 MB and the texts 30 MB; the default limit of a dictionary
    // is 1 MiB.
    let rows = 300_000;
    for row in 0..rows {
        writer.append(&[text(row).as_str().into(), Value::Integer(row as i64)]).unwrap();
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
fn full_row_groups_are_readable_before_close() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    let mut writer = TableWriter::create(&path, columns(), 8).unwrap();
    for row in 0..27 {
        // What a process that is killed here leaves behind.
        check_rows(&Table::read(&path).unwrap(), row / 8 * 8);
        append_row(&mut writer, row).unwrap();
    }
    writer.close().unwrap();
    check_rows(&Table::read(&path).unwrap(), 27);
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
fn row_that_does_not_fit_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    let mut writer = TableWriter::create(&path, columns(), 8).unwrap();
    append_row(&mut writer, 0).unwrap();
    let wrong_kind = [1.0.into(), Value::Integer(1), Value::Integer(1), "slip".into()];
    let too_long = [1.0.into(), 1.0.into(), Value::Integer(1), "slip".into(), 1.0.into()];
    for (row, said) in [
        (&wrong_kind[..], "column `rod.x` was given Integer(1)"),
        (&wrong_kind[..1], "a row of 4 columns was given 1 values"),
        (&too_long[..], "a row of 4 columns was given 5 values"),
    ] {
        let result = catch_unwind(AssertUnwindSafe(|| writer.append(row)));
        assert_eq!(*result.unwrap_err().downcast::<String>().unwrap(), said);
    }
    drop(writer);
    check_rows(&Table::read(&path).unwrap(), 1);
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    let twice = vec![ColumnSpec::real("t", "s"), ColumnSpec::text("t")];
    let error = TableWriter::create(&path, twice, 8).err().unwrap();
    assert!(error.to_string().ends_with("two columns are named `t`"));
    assert!(!path.exists());

    let nowhere = folder.path().join("missing").join("table.parquet");
    let error = TableWriter::create(&nowhere, columns(), 8).err().unwrap();
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
    assert!(error.to_string().ends_with("has a column `mode`, but not one of real numbers"), "{error}");
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
        let is_told = ["is truncated", "cannot be decoded"].iter().any(|words| error.to_string().contains(words));
        assert!(is_told && !error.is_io(), "cut to {length} bytes: {error}");
    }
    for foreign in [&b"t,x\n0,1\n"[..], b"P", b"PK\x03\x04", b"{\"stiction\": 1}"] {
        std::fs::write(&path, foreign).unwrap();
        let error = Table::read(&path).unwrap_err();
        let is_prefix = MAGIC.starts_with(foreign);
        assert_eq!(error.to_string().ends_with("is not a Parquet file"), !is_prefix, "{error}");
    }
    // Both ends and nothing that makes sense between them.
    std::fs::write(&path, b"PAR1\xff\xff\xff\xffPAR1").unwrap();
    let error = Table::read(&path).unwrap_err();
    assert!(error.to_string().contains("cannot be decoded"), "{error}");
}

#[test]
fn every_changed_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    write_rows(&path, 40, 20);
    let whole = std::fs::read(&path).unwrap();
    for position in 0..whole.len() {
        for change in [0x01, 0x08, 0x40, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[position] ^= change;
            std::fs::write(&path, &bytes).unwrap();
            let error = Table::read(&path).unwrap_err();
            assert!(!error.is_io(), "byte {position}: {error}");
        }
    }
}

/// How a disk takes new bytes for old ones.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Overwriting {
    /// In their place.
    InPlace,
    /// Beside them, in whole blocks, and the old ones are freed afterwards.
    CopyOnWrite,
}

/// Bytes of such a block.
const COPIED_BLOCK: usize = 2048;

/// A disk with room for `capacity` bytes, shared with the test that looks at it.
struct SmallDisk {
    bytes: Arc<Mutex<Vec<u8>>>,
    capacity: usize,
    overwriting: Overwriting,
}

impl Sink for SmallDisk {
    fn end_with(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.bytes.lock().unwrap();
        let needed = disk.len() + bytes.len().next_multiple_of(COPIED_BLOCK);
        if self.overwriting == Overwriting::CopyOnWrite && !bytes.is_empty() && needed > self.capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let start = offset as usize;
        let end = (start + bytes.len()).min(self.capacity);
        if disk.len() < end {
            disk.resize(end, 0);
        }
        let fitting = end.saturating_sub(start);
        disk[start..start + fitting].copy_from_slice(&bytes[..fitting]);
        if fitting < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.truncate(end);
        Ok(())
    }
}

#[test]
fn full_disk_keeps_whole_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    // The last five rows are written by `close`.
    let (rows, rows_per_group) = (105, 10);
    for overwriting in [Overwriting::InPlace, Overwriting::CopyOnWrite] {
        let (mut most_kept, mut given_up, mut failed_at_close) = (0, 0, 0);
        for capacity in (0..).step_by(97) {
            let bytes = Arc::new(Mutex::new(Vec::new()));
            let disk = SmallDisk { bytes: bytes.clone(), capacity, overwriting };
            let Ok(mut writer) = TableWriter::with_sink(&path, Box::new(disk), columns(), rows_per_group) else {
                assert_eq!(most_kept, 0, "room for rows, and then none for a table");
                continue;
            };
            let mut accepted = 0;
            for row in 0..rows {
                match append_row(&mut writer, row) {
                    Ok(()) => {
                        assert_eq!(accepted, row, "a writer that failed stays failed");
                        accepted += 1;
                    }
                    Err(error) => assert!(error.is_io()),
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
                    failed_at_close += usize::from(accepted == rows);
                    assert!(rows_kept >= most_kept, "more space, fewer rows");
                    most_kept = rows_kept;
                    let groups_lost = accepted / rows_per_group - rows_kept as usize / rows_per_group;
                    assert!(groups_lost <= 1, "the space of one group is enough for a footer");
                    given_up += groups_lost;
                    check_rows(&Table::read(&path).unwrap(), rows_kept as usize);
                }
                Err(error) => assert!(error.is_io() && most_kept == 0, "{overwriting:?}: {error}"),
            }
        }
        assert!(most_kept > 0 && failed_at_close > 0);
        // Where the old footer can be put back in its place, no group that was written is lost.
        assert_eq!(given_up > 0, overwriting == Overwriting::CopyOnWrite, "{given_up} groups were given up");
    }
}

#[test]
fn tables_of_other_programs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    let field =
        Type::primitive_type_builder("n", PhysicalType::INT32).with_repetition(Repetition::OPTIONAL).build().unwrap();
    let root = Type::group_type_builder("schema").with_fields(vec![Arc::new(field)]).build().unwrap();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(root)));
    let metadata = ParquetMetaData::new(FileMetaData::new(1, 0, None, None, schema, None), Vec::new());
    let mut bytes = MAGIC.to_vec();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    std::fs::write(&path, bytes).unwrap();
    let error = Table::read(&path).unwrap_err().to_string();
    assert!(error.contains("another program wrote it"), "{error}");
}

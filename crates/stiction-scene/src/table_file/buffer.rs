//! The rows that are not in the file yet, and how a row is filled.

use super::{ColumnKind, ColumnSpec};

/// The rows of one column that are not in the file yet.
pub(super) enum ColumnBuffer {
    Real(Vec<f64>),
    Integer(Vec<i64>),
    /// All texts one after the other, and where each ends.
    Text {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
}

impl ColumnBuffer {
    pub(super) fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Real => ColumnBuffer::Real(Vec::new()),
            ColumnKind::Integer => ColumnBuffer::Integer(Vec::new()),
            ColumnKind::Text => ColumnBuffer::Text { bytes: Vec::new(), ends: Vec::new() },
        }
    }

    pub(super) fn truncate(&mut self, rows: usize) {
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

/// One row while it is being filled, column by column from the left. Made by [`TableWriter::append`](super::TableWriter::append).
pub struct RowWriter<'a> {
    specs: &'a [ColumnSpec],
    buffers: &'a mut [ColumnBuffer],
    next: usize,
}

impl<'a> RowWriter<'a> {
    pub(super) fn new(specs: &'a [ColumnSpec], buffers: &'a mut [ColumnBuffer]) -> Self {
        Self { specs, buffers, next: 0 }
    }

    /// Ends the row, which must be full.
    pub(super) fn finish(self) {
        let (count, given) = (self.specs.len(), self.next);
        assert!(given == count, "a row of {count} columns was given only {given} values");
    }

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

//! Kinds of column in the words of the Parquet format, and back.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, SchemaDescPtr, SchemaDescriptor, Type};

use super::{ColumnKind, ColumnSpec};

/// The Parquet schema for the columns, and how each is encoded.
pub(super) fn schema_of(specs: &[ColumnSpec]) -> (SchemaDescPtr, WriterPropertiesPtr) {
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

/// Which of our kinds a Parquet column is, or its type in words.
pub(super) fn kind_of(descriptor: &ColumnDescriptor) -> Result<ColumnKind, String> {
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

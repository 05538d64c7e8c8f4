//! (being written)

pub mod run_folder;
pub mod table_file;

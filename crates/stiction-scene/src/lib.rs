//! Scene files, run folders and recordings.
//!
//! A scene is a TOML file ([`scene`]); [`load()`] reads it and says where a mistake stands,
//! [`lint()`] says what looks wrong, and [`run::run`] simulates it into a run folder: states,
//! contacts, certificates and events as tables, with a [`summary`].

mod atomic_write;
pub mod builtin;
mod copies;
mod decompose;
pub mod document;
pub mod files;
pub mod joint_entry;
pub mod lint;
pub mod load;
pub mod mesh_file;
mod model;
mod place;
mod portable;
mod read;
pub mod record;
pub mod run;
pub mod run_folder;
pub mod scene;
pub mod scene_error;
pub mod separate;
pub mod set;
pub mod summary;
pub mod surface_entry;
mod surfaces;
pub mod system_entry;
pub mod table_file;
pub mod tally;

pub use atomic_write::write_atomically;
pub use builtin::{BuiltinScene, template};
pub use copies::CopiesEntry;
pub use document::Document;
pub use lint::{Finding, Severity, lint};
pub use load::{Loaded, SceneSystem, load, open, parse, parse_with};
pub use scene::Scene;
pub use scene_error::{SceneError, TextError};
pub use set::Edit;

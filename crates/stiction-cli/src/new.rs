//! `stiction new NAME`: a commented scene to start from.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use stiction_scene::builtin::template;
use stiction_scene::load::parse;

use crate::failure::{BAD_INPUT, Failure};

/// Arguments of `new`.
#[derive(Args)]
pub struct NewArguments {
    /// Name of the scene; the file is NAME.toml
    name: String,
}

/// Runs the command. An existing file is never touched.
pub fn new(arguments: &NewArguments) -> Result<ExitCode, Failure> {
    let name = arguments.name.strip_suffix(".toml").unwrap_or(&arguments.name);
    let path = PathBuf::from(format!("{name}.toml"));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let text = template(stem);
    parse(&text, &path.display().to_string())?; // the name itself may be unusable
    match std::fs::File::create_new(&path) {
        Ok(mut file) => std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|error| {
            let _ = std::fs::remove_file(&path); // rather no scene than half of one
            Failure::io("write", &path, &error)
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::new(BAD_INPUT, format!("{} exists already; choose another name", path.display())));
        }
        Err(error) => return Err(Failure::io("write", &path, &error)),
    }
    say!("wrote {0}; try: stiction run {0}", path.display());
    Ok(ExitCode::SUCCESS)
}

//! The files that a scene names: found beside it, read once, and known by their content.
//!
//! A path is relative to the folder of the scene, and to the current one for a scene from standard
//! input, from a program or from the library. It stays in that folder, unless the scene says
//! `allow-outside = true`: a scene that somebody sent reads nothing else. Links are followed before
//! this is decided.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::mesh_file::LARGEST_MESH_FILE;
use crate::place::{Fault, Place};
use crate::summary::hexadecimal;

/// A file that a scene names, as it was when the scene was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneFile {
    /// Its path as it stands in the scene.
    pub path: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Number of its bytes.
    pub bytes: u64,
    /// Whether it was another one, or none, when the run ended.
    #[serde(default)]
    pub has_changed: bool,
    /// Where it was found.
    #[serde(skip)]
    pub(crate) found: PathBuf,
}

impl SceneFile {
    /// Looks at the file again.
    pub(crate) fn look_again(&mut self) {
        let is_same = |bytes: Vec<u8>| hexadecimal(Sha256::new_with_prefix(bytes)) == self.sha256;
        let has_size = fs::metadata(&self.found).is_ok_and(|status| status.len() == self.bytes);
        self.has_changed = !(has_size && fs::read(&self.found).is_ok_and(is_same));
    }
}

/// The files of a scene.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// The folder of the scene; empty for the current one.
    folder: PathBuf,
    may_leave: bool,
    /// What was read, in the order in which it was asked for.
    pub(crate) read: Vec<SceneFile>,
}

impl Files {
    pub(crate) fn new(folder: Option<&Path>, may_leave: bool) -> Self {
        Self { folder: folder.map(Path::to_owned).unwrap_or_default(), may_leave, read: Vec::new() }
    }

    /// The bytes of a file that stands at a place of the scene.
    pub(crate) fn read(&mut self, place: &Place, written: &str) -> Result<Vec<u8>, Fault> {
        let path = self.find(place, written)?;
        let failed = |cause: std::io::Error| {
            place.fault(format!("cannot read `{}`: {cause}", path.display()), "check that the file may be read")
        };
        let status = fs::metadata(&path).map_err(failed)?;
        if !status.is_file() {
            return Err(place.fault(format!("`{written}` is not a file"), "name a file"));
        }
        let too_large = || {
            let message = format!("`{written}` has more than the {} MB that a file may have", LARGEST_MESH_FILE >> 20);
            place.fault(message, "give a coarser surface")
        };
        if status.len() > LARGEST_MESH_FILE {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(status.len() as usize);
        // It may grow while it is read.
        File::open(&path).map_err(failed)?.take(LARGEST_MESH_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LARGEST_MESH_FILE {
            return Err(too_large());
        }
        if !self.read.iter().any(|file| file.path == written) {
            self.read.push(SceneFile {
                path: written.to_owned(),
                sha256: hexadecimal(Sha256::new_with_prefix(&bytes)),
                bytes: bytes.len() as u64,
                has_changed: false,
                found: path,
            });
        }
        Ok(bytes)
    }

    /// Where a path of the scene leads; a fault when it leaves the folder.
    pub(crate) fn find(&self, place: &Place, written: &str) -> Result<PathBuf, Fault> {
        let path = Path::new(written);
        let outside = |how: &str| {
            let message = format!("`{written}` {how}, and the files of a scene are in its folder");
            let help = "put the file beside the scene, or write `allow-outside = true` at the top of the scene";
            place.fault(message, help)
        };
        if written.is_empty() {
            return Err(place.fault("the path is empty", "name a file"));
        }
        if !self.may_leave {
            if path.is_absolute() || path.has_root() || matches!(path.components().next(), Some(Component::Prefix(_))) {
                return Err(outside("is an absolute path"));
            }
            let mut depth = 0i64;
            for component in path.components() {
                depth += match component {
                    Component::ParentDir => -1,
                    Component::Normal(_) => 1,
                    _ => 0,
                };
                if depth < 0 {
                    return Err(outside("leaves it by `..`"));
                }
            }
        }
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let joined = folder.join(path);
        let missing = |cause: std::io::Error| {
            let message = format!("cannot read `{}`: {cause}", joined.display());
            place.fault(message, "check the path: it is relative to the folder of the scene")
        };
        let found = fs::canonicalize(&joined).map_err(missing)?;
        if !self.may_leave && !found.starts_with(fs::canonicalize(folder).map_err(missing)?) {
            return Err(outside("is a link out of it"));
        }
        Ok(found)
    }

    /// The folder of the scene.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The path of a file beside another one, as scenes write it.
pub(crate) fn beside(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

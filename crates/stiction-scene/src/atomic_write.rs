//! Files that are whole whenever somebody looks.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file so that its path never shows half of it: to a temporary name beside it, then
/// renamed.
///
/// A link is followed, and what is not an ordinary file (`/dev/stdout`) is written to directly.
///
/// # Errors
/// What the operating system said; what was at the path before is then still there.
pub fn write_atomically(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let given = path.as_ref();
    let path = match fs::metadata(given) {
        Ok(status) if !status.is_file() => return fs::write(given, bytes),
        Ok(_) => fs::canonicalize(given)?,
        Err(_) => given.to_owned(),
    };
    // No other living writer has this number.
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = with_suffix(&path, &format!(".{}-{number}.tmp", std::process::id()));
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// The path beside `path` whose name is longer by the suffix.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.file_name().map(OsStr::to_owned).unwrap_or_default();
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn atomic_write_replaces_and_leaves_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("summary.json");
        write_atomically(&path, b"first").unwrap();
        write_atomically(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names_in(home.path()), ["summary.json"]);

        let error = write_atomically(home.path().join("none").join("x"), b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(write_atomically(home.path(), b"").is_err());
        assert!(write_atomically("", b"").is_err());
        assert_eq!(names_in(home.path()), ["summary.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let home = tempfile::tempdir().unwrap();
        let (path, link) = (home.path().join("summary.json"), home.path().join("summary"));
        fs::write(&path, "first").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_atomically(&link, b"{}").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}");
        assert!(link.is_symlink());
        write_atomically("/dev/null", b"gone").unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }
}

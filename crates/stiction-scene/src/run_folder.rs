//! The folder a run writes to: whole under its name, or unfinished under `NAME.partial`.
//!
//! A run fills `NAME.partial/` and takes the name `NAME/` when all files are closed, so that a reader never meets half a run.
//! An older run of that name is moved to `NAME.old.partial/` first and removed last: whenever the process dies, the old run
//! or the new one is there. Only folders that Stiction made are ever replaced. A finished one is known by its
//! `summary.json`, which has the version under the key `stiction`; an unfinished one by the marker file `.stiction-partial`,
//! which the run keeps locked while it lives.
//!
//! However a run ends by itself, it takes its name with a summary that tells the outcome. One that did not reach its end leaves a finished run of
//! that name where it is, and becomes `NAME.unfinished/` beside it. Of a run that is replaced only the files that runs write are removed: what
//! else lies in its folder moves to the new one. For the case of a full disk a run
//! holds some room for the summary from the start. A process that is killed leaves `NAME.partial/` without a summary: an
//! incomplete folder, but one whose tables are readable up to their last full row group. The next run of that name removes
//! it, so whoever wants those rows renames it first.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use stiction_solve::problem_file::{MATRIX_FILE, OFFSET_FILE};
use thiserror::Error;

use crate::record::file;

/// The file that tells a finished run folder from any other.
pub const SUMMARY_FILE: &str = "summary.json";
/// The key of [`SUMMARY_FILE`] that holds the version of Stiction.
pub const VERSION_KEY: &str = "stiction";
/// The file that tells an unfinished run folder from any other.
pub const MARKER_FILE: &str = ".stiction-partial";

/// The file that keeps room on the disk for the summary while the run is written.
const RESERVE_FILE: &str = ".stiction-reserve";

/// The key of [`SUMMARY_FILE`] that holds the outcome, and its value for a run that reached its end.
const FINISHED: (&str, &str) = ("outcome", "finished");

/// Everything that a run writes into its folder. Nothing else is ever removed from one.
const OWN_FILES: [&str; 10] = [
    SUMMARY_FILE,
    MARKER_FILE,
    RESERVE_FILE,
    file::SCENE,
    file::STATES,
    file::CONTACTS,
    file::JOINTS,
    file::AUDIT,
    file::EVENTS,
    file::FAILED_CONE_STEP,
];

/// The one folder in a run folder, and all that a run writes there.
const OWN_FOLDER: (&str, [&str; 2]) = (file::FAILED_STEP, [MATRIX_FILE, OFFSET_FILE]);

/// Why a run folder could not be made or finished.
#[derive(Debug, Error)]
pub enum RunFolderError {
    /// The path has no last part to name a folder by, as `/` or `..`.
    #[error("`{}` does not name a folder to write; give one with a name, as `--out runs/rod`", path.display())]
    NoName {
        /// The path that was given.
        path: PathBuf,
    },
    /// There is a file, or a link to nowhere, where the folder would be.
    #[error("`{}` exists and is not a folder; choose another with `--out` or remove it", path.display())]
    NotAFolder {
        /// What is in the way.
        path: PathBuf,
    },
    /// The folder exists and was not made by a run.
    #[error("`{}` exists and is not a run folder that Stiction made; choose another with `--out` or remove it", path.display())]
    NotOurs {
        /// The folder that is in the way.
        path: PathBuf,
    },
    /// The place where the run would be written holds something that no run left behind.
    #[error("`{}` is needed while the run is written, and Stiction did not make what is there; choose another folder with `--out` or remove it", path.display())]
    ForeignPartial {
        /// What is in the way.
        path: PathBuf,
    },
    /// Another process is writing the same run folder.
    #[error("another run is writing to `{}`; wait for it or choose another folder with `--out`", path.display())]
    Busy {
        /// The folder the other run writes to.
        path: PathBuf,
    },
    /// The folder has no summary by which it could be known as a run.
    #[error("`{}` has no `{SUMMARY_FILE}` with the key `{VERSION_KEY}`", path.display())]
    NoSummary {
        /// The unfinished folder.
        path: PathBuf,
    },
    /// The run could not take its name. What it wrote is still there.
    #[error("the run stays in `{}`, move it before the next one: {cause}", partial.display())]
    Unfinished {
        /// The folder that holds the run.
        partial: PathBuf,
        /// Why it has not been renamed.
        cause: Box<RunFolderError>,
    },
    /// The operating system refused.
    #[error("cannot {action} `{}`: {cause}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
}

impl RunFolderError {
    /// Whether the machine is the cause (a full disk, missing rights), and not the path that was chosen.
    pub fn is_io(&self) -> bool {
        match self {
            RunFolderError::Io { .. } => true,
            RunFolderError::Unfinished { cause, .. } => cause.is_io(),
            _ => false,
        }
    }
}

/// Attaches what was tried, and on what, to an I/O error.
fn while_trying<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> RunFolderError + 'a {
    move |cause| RunFolderError::Io { action, path: path.to_owned(), cause }
}

/// A run folder that is being written.
///
/// A value that is dropped without [`RunFolder::finish`] leaves `NAME.partial` in place; the next run of that name removes it.
#[derive(Debug)]
pub struct RunFolder {
    target: PathBuf,
    partial: PathBuf,
    old: PathBuf,
    /// The open marker, locked. `None` where the file system knows no locks.
    lock: Option<File>,
}

impl RunFolder {
    /// Makes `NAME.partial/` beside the path, with the folders above it.
    ///
    /// What an earlier run left unfinished there is removed. A finished run of that name stays until [`RunFolder::finish`];
    /// one that a process died while replacing is put back.
    ///
    /// # Errors
    /// When the path is taken by something that Stiction did not make, is being written by another run, or cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RunFolderError> {
        let path = path.as_ref();
        let Some(name) = path.file_name() else {
            return Err(RunFolderError::NoName { path: path.to_owned() });
        };
        // Without the separator that may follow the name, which would hide a link.
        let mut target = path.with_file_name(name);
        // A link to a run folder: write where it points to, and leave the link alone.
        if fs::symlink_metadata(&target).is_ok_and(|status| status.is_symlink()) {
            target = fs::canonicalize(&target).map_err(|_| RunFolderError::NotAFolder { path: target })?;
        }
        let partial = with_suffix(&target, ".partial");
        let old = with_suffix(&target, ".old.partial");

        let is_taken = check_target(&target)?;
        clear_leftover(&partial)?;
        if exists(&old)? {
            if is_taken {
                // A process died while it replaced that run: what lies there beside the run's own files belongs to the new one.
                if exists(&old.join(MARKER_FILE))? || is_run_folder(&old).map_err(while_trying("read", &old))? {
                    move_foreign(&old, &target).map_err(while_trying("move files out of", &old))?;
                }
                clear_leftover(&old)?;
            } else if is_run_folder(&old).map_err(while_trying("read", &old))? {
                fs::rename(&old, &target).map_err(while_trying("rename", &old))?;
            } else {
                clear_leftover(&old)?;
            }
        }

        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(while_trying("create the folder", parent))?;
        }
        fs::create_dir(&partial).map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => RunFolderError::Busy { path: partial.clone() },
            _ => while_trying("create the folder", &partial)(cause),
        })?;
        let marker = partial.join(MARKER_FILE);
        let file = File::create_new(&marker).map_err(|cause| {
            let _ = fs::remove_dir(&partial);
            while_trying("create", &marker)(cause)
        })?;
        let lock = file.try_lock().is_ok().then_some(file);
        Ok(Self { target, partial, old, lock })
    }

    /// Where a file of the run is to be written now, inside the unfinished folder.
    ///
    /// # Panics
    /// When the name leads out of the folder.
    pub fn path_of(&self, name: impl AsRef<Path>) -> PathBuf {
        let name = name.as_ref();
        assert!(
            name.components().all(|part| matches!(part, Component::Normal(_))) && name.file_name().is_some(),
            "`{}` is not a name inside a run folder",
            name.display()
        );
        self.partial.join(name)
    }

    /// The folder as it is while the run is written: `NAME.partial`.
    pub fn partial_path(&self) -> &Path {
        &self.partial
    }

    /// The folder as it will be when it is finished.
    pub fn final_path(&self) -> &Path {
        &self.target
    }

    /// The folder of a run that does not reach its end: it does not take the place of one that did.
    pub fn unfinished_path(&self) -> PathBuf {
        if is_finished_run(&self.target) { with_suffix(&self.target, ".unfinished") } else { self.target.clone() }
    }

    /// Holds room on the disk until the summary is written, so that it fits when the tables have filled the disk.
    ///
    /// # Errors
    /// [`RunFolderError::Io`] when there is not even so much room.
    pub fn reserve(&self, bytes: usize) -> Result<(), RunFolderError> {
        let path = self.partial.join(RESERVE_FILE);
        fs::write(&path, vec![0; bytes]).map_err(while_trying("write", &path))
    }

    /// Writes the summary, in the room that was reserved for it.
    ///
    /// # Errors
    /// [`RunFolderError::Unfinished`], which names the folder that holds the run.
    pub fn write_summary(&self, text: &str) -> Result<(), RunFolderError> {
        let _ = fs::remove_file(self.partial.join(RESERVE_FILE));
        write_atomically(self.partial.join(SUMMARY_FILE), text.as_bytes())
            .map_err(|cause| RunFolderError::Unfinished { partial: self.partial.clone(), cause: Box::new(cause) })
    }

    /// Gives the folder its final name in place of an older run, and returns it. All files must be closed.
    ///
    /// This is the end of a failed or interrupted run too: its summary tells the outcome, and its files are whole. But it does not replace a run that
    /// reached its end: where there is one, it becomes `NAME.unfinished`.
    ///
    /// # Errors
    /// [`RunFolderError::Unfinished`], which names the folder that holds the run.
    pub fn finish(mut self) -> Result<PathBuf, RunFolderError> {
        if !is_finished_run(&self.partial) {
            self.target = self.unfinished_path();
            self.old = with_suffix(&self.target, ".old.partial");
        }
        match self.take_name() {
            Ok(()) => Ok(self.target),
            Err(cause) => Err(RunFolderError::Unfinished { partial: self.partial, cause: Box::new(cause) }),
        }
    }

    fn take_name(&mut self) -> Result<(), RunFolderError> {
        if !is_run_folder(&self.partial).map_err(while_trying("read", &self.partial))? {
            return Err(RunFolderError::NoSummary { path: self.partial.clone() });
        }
        // Not everybody lets a folder be renamed that has an open file.
        self.lock = None;
        // Looked at again: hours may have passed.
        let is_taken = check_target(&self.target)?;
        if is_taken {
            fs::rename(&self.target, &self.old).map_err(while_trying("rename", &self.target))?;
        }
        if let Err(cause) = fs::rename(&self.partial, &self.target) {
            if is_taken {
                // If this fails too, the old run is still whole, and `create` puts it back.
                let _ = fs::rename(&self.old, &self.target);
            }
            return Err(while_trying("rename", &self.partial)(cause));
        }
        // The run is in place. What cannot be tidied up here is harmless, and the next run tidies it up.
        let _ = fs::remove_file(self.target.join(MARKER_FILE));
        if is_taken && move_foreign(&self.old, &self.target).is_ok() {
            let _ = remove_own_folder(&self.old);
        }
        Ok(())
    }

    /// Removes the unfinished folder: for a run that ended before it had anything to tell.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn discard(mut self) -> Result<(), RunFolderError> {
        self.lock = None;
        remove_own_folder(&self.partial).map_err(while_trying("remove", &self.partial))
    }
}

/// Whether the path is a folder that a run of Stiction has finished: its `summary.json` has a version under `stiction`.
///
/// # Errors
/// When the summary exists and cannot be read.
pub fn is_run_folder(path: &Path) -> io::Result<bool> {
    let summary = read_summary(path)?;
    Ok(summary.is_some_and(|summary| summary.get(VERSION_KEY).is_some_and(|it| it.is_string())))
}

/// Whether the path holds a run that reached its end; one whose summary cannot be read is none.
fn is_finished_run(path: &Path) -> bool {
    let (key, finished) = FINISHED;
    let summary = read_summary(path).ok().flatten();
    summary
        .is_some_and(|summary| summary.get(VERSION_KEY).is_some() && summary.get(key).is_some_and(|it| it == finished))
}

/// The summary of a run folder, where there is one.
fn read_summary(path: &Path) -> io::Result<Option<serde_json::Value>> {
    let text = match fs::read(path.join(SUMMARY_FILE)) {
        Ok(text) => text,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Ok(None),
                _ => Err(error),
            };
        }
    };
    Ok(serde_json::from_slice(&text).ok())
}

/// Writes a file so that its path never shows half of it: to a temporary name beside it, then renamed.
///
/// A link is followed, and what is not an ordinary file (`/dev/stdout`) is written to directly.
///
/// # Errors
/// [`RunFolderError::Io`]; what was at the path before is then still there.
pub fn write_atomically(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), RunFolderError> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let given = path.as_ref();
    let mut path = given.to_owned();
    if let Ok(status) = fs::metadata(given) {
        if !status.is_file() {
            return fs::write(given, bytes).map_err(while_trying("write", given));
        }
        path = fs::canonicalize(given).map_err(while_trying("write", given))?;
    }
    if path.file_name().is_none() {
        return Err(RunFolderError::NoName { path });
    }
    let (temporary, mut file) = loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let suffix = format!(".{}-{number}.tmp", std::process::id());
        let temporary = with_suffix(&path, &suffix);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => break (temporary, file),
            // Left behind by a process that had our number.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(while_trying("write", given)(cause)),
        }
    };
    let written = file.write_all(bytes);
    drop(file);
    written.and_then(|()| fs::rename(&temporary, &path)).map_err(|cause| {
        let _ = fs::remove_file(&temporary);
        while_trying("write", given)(cause)
    })
}

/// The path beside `path` whose name is longer by the suffix.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.file_name().map(OsStr::to_owned).unwrap_or_default();
    name.push(suffix);
    path.with_file_name(name)
}

/// Whether there is anything at the path, even a link to nowhere.
fn exists(path: &Path) -> Result<bool, RunFolderError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        // A folder above it is a file: said when that folder is to be made.
        Err(cause) if cause.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(cause) => Err(while_trying("read", path)(cause)),
    }
}

/// Whether there is a run that may be replaced; an error when there is something else.
fn check_target(target: &Path) -> Result<bool, RunFolderError> {
    if !exists(target)? {
        return Ok(false);
    }
    let path = target.to_owned();
    if !target.is_dir() {
        Err(RunFolderError::NotAFolder { path })
    } else if !is_run_folder(target).map_err(while_trying("read", target))? {
        Err(RunFolderError::NotOurs { path })
    } else {
        Ok(true)
    }
}

/// Removes what an earlier run left at the path, if anything; an error when something else is there or that run still lives.
fn clear_leftover(path: &Path) -> Result<(), RunFolderError> {
    if !exists(path)? {
        return Ok(());
    }
    let foreign = || RunFolderError::ForeignPartial { path: path.to_owned() };
    let status = fs::symlink_metadata(path).map_err(while_trying("read", path))?;
    if !status.is_dir() {
        return Err(foreign());
    }
    let marker = path.join(MARKER_FILE);
    if exists(&marker)? {
        let file = OpenOptions::new().write(true).open(&marker).map_err(while_trying("open", &marker))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(RunFolderError::Busy { path: path.to_owned() });
        }
    } else {
        // A run that was moved aside, or a folder that a run died in the first or last moment of.
        let mut entries = fs::read_dir(path).map_err(while_trying("read", path))?;
        let is_empty = entries.next().is_none();
        if !is_empty && !is_run_folder(path).map_err(while_trying("read", path))? {
            return Err(foreign());
        }
    }
    if !foreign_names(path).map_err(while_trying("read", path))?.is_empty() {
        return Err(foreign());
    }
    remove_own_folder(path).map_err(while_trying("remove", path))
}

/// Removes a folder and the files of its run, the marker last: whenever the process dies, the rest is still known as ours. A folder in which there is
/// anything else stays, with that in it.
fn remove_own_folder(path: &Path) -> io::Result<()> {
    let marker = path.join(MARKER_FILE);
    // On a full disk there may be no room for a marker; then it is done without.
    let _ = File::create(&marker);
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (name, place) = (entry.file_name(), entry.path());
        if name == OWN_FOLDER.0 && is_own(path, &name) {
            fs::remove_dir_all(place)?;
        } else if name != MARKER_FILE && is_own(path, &name) {
            fs::remove_file(place)?;
        }
    }
    match fs::remove_file(&marker) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir(path),
    }
}

/// Whether a run wrote what has this name in its folder, whole or as the temporary file that a process died with.
fn is_own(folder: &Path, name: &OsStr) -> bool {
    let (own_folder, its_files) = OWN_FOLDER;
    let is_one_of = |own: &[&str], name: &OsStr| {
        let text = name.to_string_lossy();
        own.iter().any(|own| text == *own || text.strip_prefix(own).is_some_and(is_temporary_suffix))
    };
    let place = folder.join(name);
    if name == own_folder && place.is_dir() {
        let mut entries = fs::read_dir(place).into_iter().flatten();
        return entries.all(|entry| entry.is_ok_and(|entry| is_one_of(&its_files, &entry.file_name())));
    }
    is_one_of(&OWN_FILES, name) && !place.is_dir()
}

/// Whether a name ends as those of [`write_atomically`] do: `.PROCESS-NUMBER.tmp`.
fn is_temporary_suffix(suffix: &str) -> bool {
    let numbers = suffix.strip_prefix('.').and_then(|rest| rest.strip_suffix(".tmp")).and_then(|it| it.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// What in a run folder no run wrote.
fn foreign_names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut foreign = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !is_own(folder, &name) {
            foreign.push(name);
        }
    }
    foreign.sort();
    Ok(foreign)
}

/// Moves what no run wrote into another folder of the same place, under a longer name where its own is taken.
fn move_foreign(from: &Path, to: &Path) -> io::Result<()> {
    for name in foreign_names(from)? {
        let mut place = to.join(&name);
        let mut number = 0;
        while fs::symlink_metadata(&place).is_ok() {
            number += 1;
            place = with_suffix(&to.join(&name), &format!(".{number}"));
        }
        fs::rename(from.join(&name), place)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = r#"{"stiction": "0.1.0", "outcome": "finished"}"#;
    const INTERRUPTED: &str = r#"{"stiction": "0.1.0", "outcome": "interrupted"}"#;

    fn names_in(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A finished run whose one file holds the text.
    fn finished_run(target: &Path, text: &str) {
        let run = RunFolder::create(target).unwrap();
        fs::write(run.path_of("states.parquet"), text).unwrap();
        write_atomically(run.path_of(SUMMARY_FILE), SUMMARY.as_bytes()).unwrap();
        assert_eq!(run.finish().unwrap(), target);
    }

    fn states_of(folder: &Path) -> String {
        fs::read_to_string(folder.join("states.parquet")).unwrap()
    }

    #[test]
    fn run_takes_its_name_when_finished() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("deep").join("er").join("rod");
        let run = RunFolder::create(&target).unwrap();
        assert_eq!(run.final_path(), target);
        assert_eq!(run.partial_path(), target.with_file_name("rod.partial"));
        assert_eq!(run.path_of("states.parquet"), run.partial_path().join("states.parquet"));
        assert!(!target.exists() && run.partial_path().is_dir());
        fs::write(run.path_of("states.parquet"), "new").unwrap();
        write_atomically(run.path_of(SUMMARY_FILE), SUMMARY.as_bytes()).unwrap();
        assert_eq!(run.finish().unwrap(), target);
        assert_eq!(names_in(target.parent().unwrap()), ["rod"]);
        assert_eq!(names_in(&target), ["states.parquet", "summary.json"]);
        assert!(is_run_folder(&target).unwrap());
    }

    #[test]
    fn own_run_is_replaced_only_at_the_end() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("rod");
        finished_run(&target, "first");
        fs::create_dir(target.join("frames")).unwrap();
        fs::write(target.join("frames").join("1.png"), "").unwrap();

        let run = RunFolder::create(&target).unwrap();
        fs::write(run.path_of("states.parquet"), "second").unwrap();
        assert_eq!(states_of(&target), "first");
        write_atomically(run.path_of(SUMMARY_FILE), SUMMARY.as_bytes()).unwrap();
        run.finish().unwrap();
        assert_eq!(states_of(&target), "second");
        assert_eq!(names_in(home.path()), ["rod"]);
        // What the user put there has stayed.
        assert_eq!(names_in(&target), ["frames", "states.parquet", "summary.json"]);
        assert_eq!(names_in(&target.join("frames")), ["1.png"]);
    }

    #[test]
    fn a_run_that_did_not_reach_its_end_does_not_replace_one_that_did() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("rod");
        let aside = home.path().join("rod.unfinished");
        finished_run(&target, "whole");
        for text in ["half", "less"] {
            let run = RunFolder::create(&target).unwrap();
            fs::write(run.path_of("states.parquet"), text).unwrap();
            run.write_summary(INTERRUPTED).unwrap();
            assert_eq!(run.finish().unwrap(), aside);
            assert_eq!((states_of(&target), states_of(&aside)), ("whole".into(), text.into()));
            assert_eq!(names_in(home.path()), ["rod", "rod.unfinished"]);
        }
        // Nothing whole is lost where there is nothing whole, and a whole run replaces anything.
        let other = home.path().join("other");
        for (summary, text) in [(INTERRUPTED, "half"), (INTERRUPTED, "less"), (SUMMARY, "whole")] {
            let run = RunFolder::create(&other).unwrap();
            fs::write(run.path_of("states.parquet"), text).unwrap();
            run.write_summary(summary).unwrap();
            assert_eq!(run.finish().unwrap(), other);
            assert_eq!(states_of(&other), text);
        }
    }

    #[test]
    fn files_of_the_user_outlive_every_kind_of_replacement() {
        let home = tempfile::tempdir().unwrap();
        let (target, old) = (home.path().join("rod"), home.path().join("rod.old.partial"));
        finished_run(&target, "first");
        // Beside the run's own files, in the one folder that is its own, and with names that look like ours.
        fs::create_dir(target.join(file::FAILED_STEP)).unwrap();
        fs::write(target.join(file::FAILED_STEP).join(MATRIX_FILE), "").unwrap();
        fs::write(target.join(file::FAILED_STEP).join("thoughts.txt"), "mine").unwrap();
        for name in ["notes.md", "summary.json.bak", "scene.toml.12-3.tmp", "states.parquet.copy"] {
            fs::write(target.join(name), "mine").unwrap();
        }
        finished_run(&target, "second");
        let kept =
            ["failed-step", "notes.md", "states.parquet", "states.parquet.copy", "summary.json", "summary.json.bak"];
        assert_eq!(names_in(&target), kept);
        assert_eq!(fs::read_to_string(target.join("failed-step").join("thoughts.txt")).unwrap(), "mine");

        // A process that died after the new run took its name, and a second file of the same name.
        finished_run(&old, "first");
        fs::write(old.join("notes.md"), "older").unwrap();
        RunFolder::create(&target).unwrap().discard().unwrap();
        assert_eq!(fs::read_to_string(target.join("notes.md")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(target.join("notes.md.1")).unwrap(), "older");
        assert_eq!(names_in(home.path()), ["rod"]);

        // In what a killed run left: the next run asks.
        let partial = RunFolder::create(&target).unwrap().partial_path().to_owned();
        fs::write(partial.join("notes.md"), "mine").unwrap();
        let error = RunFolder::create(&target).unwrap_err();
        assert!(matches!(error, RunFolderError::ForeignPartial { .. }), "{error}");
        assert!(partial.join("notes.md").is_file());
    }

    #[test]
    fn trailing_separator_names_the_same_folder() {
        let home = tempfile::tempdir().unwrap();
        let run = RunFolder::create(home.path().join("rod").join("")).unwrap();
        assert_eq!(run.partial_path(), home.path().join("rod.partial"));
    }

    #[test]
    fn foreign_folder_is_never_touched() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("thesis");
        fs::create_dir(&target).unwrap();
        let contents: [&[(&str, &str)]; 5] = [
            &[],
            &[("chapter.tex", "work of years")],
            &[(SUMMARY_FILE, "not JSON")],
            &[(SUMMARY_FILE, "{\"version\": \"1\"}")],
            &[(SUMMARY_FILE, "[\"stiction\"]")],
        ];
        for files in contents {
            for (name, text) in files {
                fs::write(target.join(name), text).unwrap();
            }
            let error = RunFolder::create(&target).unwrap_err();
            assert!(matches!(error, RunFolderError::NotOurs { .. }), "{error}");
            assert!(!error.is_io());
            let message = error.to_string();
            assert!(message.contains("thesis") && message.contains("--out"));
            for (name, text) in files {
                assert_eq!(fs::read_to_string(target.join(name)).unwrap(), *text);
                fs::remove_file(target.join(name)).unwrap();
            }
        }
        assert_eq!(names_in(home.path()), ["thesis"]);
    }

    #[test]
    fn file_or_nameless_path_is_a_mistake() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("notes");
        fs::write(&file, "text").unwrap();
        let error = RunFolder::create(&file).unwrap_err();
        assert!(matches!(error, RunFolderError::NotAFolder { .. }));
        assert!(!error.is_io());
        for path in ["", "/", ".", "..", "runs/.."] {
            let error = RunFolder::create(path).unwrap_err();
            assert!(matches!(error, RunFolderError::NoName { .. }), "{path}: {error}");
            assert!(!error.is_io());
        }
        // A file where a folder above would have to be is the machine's word, not ours.
        let error = RunFolder::create(file.join("rod")).unwrap_err();
        assert!(error.is_io(), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    }

    #[test]
    fn own_leftover_is_replaced_and_a_foreign_one_is_not() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("rod");
        let run = RunFolder::create(&target).unwrap();
        fs::write(run.path_of("states.parquet"), "half").unwrap();
        let partial = run.partial_path().to_owned();
        drop(run);
        assert_eq!(names_in(&partial), [MARKER_FILE, "states.parquet"]);

        let run = RunFolder::create(&target).unwrap();
        assert_eq!(names_in(&partial), [MARKER_FILE]);
        run.discard().unwrap();
        assert!(!partial.exists());

        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("draft"), "mine").unwrap();
        let error = RunFolder::create(&target).unwrap_err();
        assert!(matches!(error, RunFolderError::ForeignPartial { .. }), "{error}");
        assert!(!error.is_io() && error.to_string().contains("rod.partial"));
        assert_eq!(names_in(&partial), ["draft"]);

        fs::remove_dir_all(&partial).unwrap();
        fs::write(&partial, "a file").unwrap();
        let error = RunFolder::create(&target).unwrap_err();
        assert!(matches!(error, RunFolderError::ForeignPartial { .. }), "{error}");
        assert!(partial.is_file());
    }

    #[test]
    fn folder_of_a_living_run_is_busy() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("rod");
        let living = RunFolder::create(&target).unwrap();
        fs::write(living.path_of("states.parquet"), "half").unwrap();
        let error = RunFolder::create(&target).unwrap_err();
        assert!(matches!(error, RunFolderError::Busy { .. }), "{error}");
        assert!(!error.is_io());
        assert!(living.path_of("states.parquet").exists());
        drop(living);
        RunFolder::create(&target).unwrap();
    }

    #[test]
    fn reserve_gives_way_to_the_summary() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("rod");
        let run = RunFolder::create(&target).unwrap();
        run.reserve(10_000).unwrap();
        assert_eq!(fs::metadata(run.path_of(RESERVE_FILE)).unwrap().len(), 10_000);
        run.write_summary(SUMMARY).unwrap();
        run.finish().unwrap();
        assert_eq!(names_in(&target), ["summary.json"]);

        // A summary that cannot be written says where the run is.
        let run = RunFolder::create(&target).unwrap();
        fs::create_dir(run.path_of(SUMMARY_FILE)).unwrap();
        let error = run.write_summary(SUMMARY).unwrap_err();
        assert!(error.is_io() && error.to_string().contains("the run stays in"), "{error}");
        assert!(error.to_string().contains("rod.partial"), "{error}");
    }

    #[test]
    fn run_without_a_summary_keeps_its_partial_name() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("rod");
        finished_run(&target, "first");
        let run = RunFolder::create(&target).unwrap();
        let partial = run.partial_path().to_owned();
        let error = run.finish().unwrap_err();
        assert!(!error.is_io());
        let message = error.to_string();
        assert!(message.contains("the run stays in") && message.contains("rod.partial"));
        assert!(partial.is_dir());
        assert_eq!(states_of(&target), "first");
    }

    #[test]
    fn foreign_folder_that_appears_during_the_run_is_not_touched() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("rod");
        let run = RunFolder::create(&target).unwrap();
        fs::write(run.path_of("states.parquet"), "new").unwrap();
        write_atomically(run.path_of(SUMMARY_FILE), SUMMARY.as_bytes()).unwrap();
        fs::create_dir(&target).unwrap();
        fs::write(target.join("draft"), "mine").unwrap();
        let error = run.finish().unwrap_err();
        assert!(matches!(error, RunFolderError::Unfinished { .. }) && !error.is_io(), "{error}");
        assert_eq!(names_in(&target), ["draft"]);
        assert_eq!(states_of(&home.path().join("rod.partial")), "new");
    }

    #[test]
    fn death_between_the_renames_loses_neither_run() {
        let home = tempfile::tempdir().unwrap();
        let (target, old) = (home.path().join("rod"), home.path().join("rod.old.partial"));
        // After the first rename: the old run is aside, the new one still partial.
        finished_run(&target, "first");
        let run = RunFolder::create(&target).unwrap();
        fs::write(run.path_of("states.parquet"), "second").unwrap();
        drop(run);
        fs::rename(&target, &old).unwrap();
        let run = RunFolder::create(&target).unwrap();
        assert_eq!(states_of(&target), "first");
        run.discard().unwrap();
        assert_eq!(names_in(home.path()), ["rod"]);

        // After the second: both runs are whole, the marker is still in the new one.
        fs::rename(&target, &old).unwrap();
        finished_run(&home.path().join("other"), "second");
        fs::rename(home.path().join("other"), &target).unwrap();
        fs::write(target.join(MARKER_FILE), "").unwrap();
        RunFolder::create(&target).unwrap().discard().unwrap();
        assert_eq!(states_of(&target), "second");
        assert_eq!(names_in(home.path()), ["rod"]);

        // While the old run was being removed: no summary any more, but our marker.
        fs::create_dir(&old).unwrap();
        fs::write(old.join(MARKER_FILE), "").unwrap();
        fs::write(old.join("states.parquet"), "first").unwrap();
        RunFolder::create(&target).unwrap().discard().unwrap();
        assert_eq!(names_in(home.path()), ["rod"]);

        // What somebody else keeps under that name.
        fs::create_dir(&old).unwrap();
        fs::write(old.join("draft"), "mine").unwrap();
        let error = RunFolder::create(&target).unwrap_err();
        assert!(matches!(error, RunFolderError::ForeignPartial { .. }), "{error}");
        assert_eq!(names_in(&old), ["draft"]);
    }

    #[test]
    #[should_panic(expected = "is not a name inside a run folder")]
    fn name_that_leads_out_panics() {
        let home = tempfile::tempdir().unwrap();
        let run = RunFolder::create(home.path().join("rod")).unwrap();
        run.path_of("../rod/summary.json");
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
        assert!(error.is_io() && error.to_string().contains("none"));
        assert!(write_atomically(home.path(), b"").unwrap_err().is_io());
        assert_eq!(names_in(home.path()), ["summary.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        use std::os::unix::fs::symlink;
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (target, link) = (home.join("rod"), home.join("latest"));
        finished_run(&target, "first");
        symlink(&target, &link).unwrap();
        let run = RunFolder::create(&link).unwrap();
        fs::write(run.path_of("states.parquet"), "second").unwrap();
        write_atomically(run.path_of(SUMMARY_FILE), SUMMARY.as_bytes()).unwrap();
        assert_eq!(run.finish().unwrap(), target);
        assert_eq!(states_of(&link), "second");
        assert_eq!(names_in(&home), ["latest", "rod"]);

        symlink(target.join("summary.json"), home.join("summary")).unwrap();
        write_atomically(home.join("summary"), b"{}").unwrap();
        assert_eq!(fs::read(target.join("summary.json")).unwrap(), b"{}");

        symlink(home.join("nowhere"), home.join("dangling")).unwrap();
        let error = RunFolder::create(home.join("dangling")).unwrap_err();
        assert!(matches!(error, RunFolderError::NotAFolder { .. }));
        write_atomically("/dev/null", b"gone").unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }

    #[cfg(unix)]
    #[test]
    fn folder_that_cannot_be_renamed_is_kept_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let parent = home.path().join("runs");
        let target = parent.join("rod");
        let run = RunFolder::create(&target).unwrap();
        write_atomically(run.path_of(SUMMARY_FILE), SUMMARY.as_bytes()).unwrap();
        fs::set_permissions(&parent, fs::Permissions::from_mode(0o555)).unwrap();
        // An administrator may rename in spite of it; then there is nothing to test.
        let may_write = File::create(parent.join("probe")).is_ok();
        let outcome = run.finish();
        fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).unwrap();
        if !may_write {
            let error = outcome.unwrap_err();
            assert!(error.is_io(), "{error}");
            assert!(error.to_string().contains("rod.partial"));
            assert!(is_run_folder(&parent.join("rod.partial")).unwrap());
        }
    }
}

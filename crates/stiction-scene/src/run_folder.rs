//! The folder a run writes to: whole under its name, or unfinished under `NAME.partial`.
//!
//! A run fills `NAME.partial/` and takes the name `NAME/` when all files are closed, so that a
//! reader never meets half a run. An older run of that name is moved to `NAME.old.partial/` first
//! and removed last: whenever the process dies, the old run or the new one is there. Only folders
//! that Stiction made are ever replaced. A finished one is known by its `summary.json`, which has
//! the version under the key `stiction`; an unfinished one by the marker file `.stiction-partial`,
//! which the run keeps locked while it lives.
//!
//! However a run ends by itself, it takes its name with a summary that tells the outcome. One that
//! did not reach its end leaves a finished run of that name where it is, and becomes
//! `NAME.unfinished/` beside it. Of a run that is replaced only the files that runs write are
//! removed: what else lies in its folder moves to the new one. For the case of a full disk a run
//! holds some room for the summary from the start. A process that is killed leaves `NAME.partial/`
//! without a summary: an incomplete folder, but one whose tables are readable up to their last full
//! row group. The next run of that name removes it, so whoever wants those rows renames it first.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Component, Path, PathBuf};

use stiction_solve::problem_file::{MATRIX_FILE, OFFSET_FILE};
use thiserror::Error;

use crate::atomic_write::with_suffix;
use crate::portable::{SURFACES, is_surface_name};
use crate::record::file;

/// The file that tells a finished run folder from any other.
pub const SUMMARY_FILE: &str = "summary.json";
/// The key of [`SUMMARY_FILE`] that holds the version of Stiction.
pub const VERSION_KEY: &str = "stiction";
/// The file that tells an unfinished run folder from any other.
pub const MARKER_FILE: &str = ".stiction-partial";

/// The file that keeps room on the disk for the summary while the run is written.
const RESERVE_FILE: &str = ".stiction-reserve";

/// The key of [`SUMMARY_FILE`] that holds the outcome, and its value for a run that reached its
/// end.
const FINISHED: (&str, &str) = ("outcome", "finished");

/// Everything that a run writes into its folder. Nothing else is ever removed from one. What a
/// folder is known by comes last.
const OWN_FILES: [&str; 11] = [
    RESERVE_FILE,
    file::SCENE,
    file::STATES,
    file::CONTACTS,
    file::JOINTS,
    file::FRICTION,
    file::AUDIT,
    file::EVENTS,
    file::FAILED_CONE_STEP,
    SUMMARY_FILE,
    MARKER_FILE,
];

/// A folder in a run folder, and whether a run writes a file of this name there.
type OwnFolder = (&'static str, fn(&str) -> bool);

/// The folders that a run makes in its folder.
const OWN_FOLDERS: [OwnFolder; 2] =
    [(file::FAILED_STEP, |name| [MATRIX_FILE, OFFSET_FILE].contains(&name)), (SURFACES, is_surface_name)];

/// Why a run folder could not be made or finished.
#[derive(Debug, Error)]
pub enum RunFolderError {
    /// The path has no last part to name a folder by, as `/` or `..`.
    #[error("`{}` does not name a folder to write; give one with a name, as `--out runs/rod`", .0.display())]
    NoName(PathBuf),
    /// There is a file, or a link to nowhere, where the folder would be.
    #[error("`{}` exists and is not a folder; choose another with `--out` or remove it", .0.display())]
    NotAFolder(PathBuf),
    /// The folder exists and was not made by a run.
    #[error("`{}` exists and is not a run folder that Stiction made; choose another with `--out` or remove it", .0.display())]
    NotOurs(PathBuf),
    /// The place where the run would be written holds something that no run left behind.
    #[error("`{}` is needed while the run is written, and Stiction did not make what is there; choose another folder with `--out` or remove it", .0.display())]
    ForeignPartial(PathBuf),
    /// Another process is writing the same run folder.
    #[error("another run is writing to `{}`; wait for it or choose another folder with `--out`", .0.display())]
    Busy(PathBuf),
    /// The folder has no summary by which it could be known as a run.
    #[error("`{}` has no `{SUMMARY_FILE}` with the key `{VERSION_KEY}`", .0.display())]
    NoSummary(PathBuf),
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
    /// Whether the machine is the cause (a full disk, missing rights), and not the path that was
    /// chosen.
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
/// A value that is dropped without [`RunFolder::finish`] leaves `NAME.partial` in place; the next
/// run of that name removes it.
#[derive(Debug)]
pub(crate) struct RunFolder {
    target: PathBuf,
    partial: PathBuf,
    /// The open marker, locked. `None` where the file system knows no locks.
    lock: Option<File>,
}

impl RunFolder {
    /// Makes `NAME.partial/` beside the path, with the folders above it.
    ///
    /// What an earlier run left unfinished there is removed. A finished run of that name stays
    /// until [`RunFolder::finish`]; one that a process died while replacing is put back.
    pub(crate) fn create(path: impl AsRef<Path>) -> Result<Self, RunFolderError> {
        let path = path.as_ref();
        let name = path.file_name().ok_or_else(|| RunFolderError::NoName(path.to_owned()))?;
        // Without the separator that may follow the name, which would hide a link.
        let mut target = path.with_file_name(name);
        // A link to a run folder: write where it points to, and leave the link alone.
        if target.is_symlink() {
            target = fs::canonicalize(&target).map_err(|_| RunFolderError::NotAFolder(target))?;
        }
        let is_taken = check_target(&target)?;
        let partial = with_suffix(&target, ".partial");
        clear_leftover(&partial)?;
        // A process may have died while it replaced a run: between the two renames, or after them.
        let old = old_of(&target);
        if !is_taken && is_run(&old) {
            fs::rename(&old, &target).map_err(while_trying("rename", &old))?;
        } else {
            if is_taken && is_ours(&old) {
                move_foreign(&old, &target).map_err(while_trying("move files out of", &old))?;
            }
            clear_leftover(&old)?;
        }

        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(while_trying("create the folder", parent))?;
        }
        fs::create_dir(&partial).map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => RunFolderError::Busy(partial.clone()),
            _ => while_trying("create the folder", &partial)(cause),
        })?;
        let marker = partial.join(MARKER_FILE);
        let file = File::create_new(&marker).map_err(|cause| {
            let _ = fs::remove_dir(&partial);
            while_trying("create", &marker)(cause)
        })?;
        let lock = file.try_lock().is_ok().then_some(file);
        Ok(Self { target, partial, lock })
    }

    /// Where a file of the run is to be written now, inside the unfinished folder.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        let name = Path::new(name);
        assert!(
            name.components().all(|part| matches!(part, Component::Normal(_))) && name.file_name().is_some(),
            "`{}` is not a name inside a run folder",
            name.display()
        );
        self.partial.join(name)
    }

    /// The folder as it is while the run is written: `NAME.partial`.
    #[cfg(test)]
    pub(crate) fn partial_path(&self) -> &Path {
        &self.partial
    }

    /// The folder as it will be when it is finished.
    pub(crate) fn final_path(&self) -> &Path {
        &self.target
    }

    /// The folder of a run that does not reach its end: it does not take the place of one that did.
    pub(crate) fn unfinished_path(&self) -> PathBuf {
        if is_finished_run(&self.target) { with_suffix(&self.target, ".unfinished") } else { self.target.clone() }
    }

    /// Holds room on the disk until the summary is written, so that it fits when the tables have
    /// filled the disk.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), RunFolderError> {
        self.write(RESERVE_FILE, &vec![0; bytes])
    }

    /// Writes a small file of the run. It need not be atomic: nobody reads the folder before it has
    /// its name.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RunFolderError> {
        let path = self.path_of(name);
        fs::write(&path, bytes).map_err(while_trying("write", &path))
    }

    /// Writes a surface of the scene, into its folder.
    pub(crate) fn write_surface(&self, name: &str, bytes: &[u8]) -> Result<(), RunFolderError> {
        let folder = self.path_of(SURFACES);
        fs::create_dir_all(&folder).map_err(while_trying("create the folder", &folder))?;
        self.write(name, bytes)
    }

    /// Writes the summary, in the room that was reserved for it.
    pub(crate) fn write_summary(&self, text: &str) -> Result<(), RunFolderError> {
        let _ = fs::remove_file(self.path_of(RESERVE_FILE));
        self.write(SUMMARY_FILE, text.as_bytes()).map_err(|cause| self.unfinished(cause))
    }

    fn unfinished(&self, cause: RunFolderError) -> RunFolderError {
        RunFolderError::Unfinished { partial: self.partial.clone(), cause: Box::new(cause) }
    }

    /// Gives the folder its final name in place of an older run, and returns it. All files must be
    /// closed.
    ///
    /// This is the end of a failed or interrupted run too: its summary tells the outcome, and its
    /// files are whole. But it does not replace a run that reached its end: where there is one, it
    /// becomes `NAME.unfinished`.
    pub(crate) fn finish(mut self) -> Result<PathBuf, RunFolderError> {
        if !is_finished_run(&self.partial) {
            self.target = self.unfinished_path();
        }
        // Not everybody lets a folder be renamed that has an open file.
        self.lock = None;
        self.take_name().map_err(|cause| self.unfinished(cause))?;
        Ok(self.target)
    }

    fn take_name(&self) -> Result<(), RunFolderError> {
        if !is_run(&self.partial) {
            return Err(RunFolderError::NoSummary(self.partial.clone()));
        }
        // Looked at again: hours may have passed.
        let (is_taken, old) = (check_target(&self.target)?, old_of(&self.target));
        if is_taken {
            fs::rename(&self.target, &old).map_err(while_trying("rename", &self.target))?;
        }
        if let Err(cause) = fs::rename(&self.partial, &self.target) {
            if is_taken {
                // If this fails too, the old run is still whole, and `create` puts it back.
                let _ = fs::rename(&old, &self.target);
            }
            return Err(while_trying("rename", &self.partial)(cause));
        }
        // The run is in place. What cannot be tidied up here is harmless, and the next run tidies
        // it up.
        let _ = fs::remove_file(self.target.join(MARKER_FILE));
        if is_taken && move_foreign(&old, &self.target).is_ok() {
            let _ = remove_own_folder(&old);
        }
        Ok(())
    }

    /// Removes the unfinished folder: for a run that ended before it had anything to tell.
    pub(crate) fn discard(mut self) -> Result<(), RunFolderError> {
        self.lock = None;
        remove_own_folder(&self.partial).map_err(while_trying("remove", &self.partial))
    }
}

/// Where a run is put while another one takes its name.
fn old_of(target: &Path) -> PathBuf {
    with_suffix(target, ".old.partial")
}

/// The summary of a folder that a run of Stiction has finished: its `summary.json` has a version
/// under `stiction`.
fn summary_of(path: &Path) -> io::Result<Option<serde_json::Value>> {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    match fs::read(path.join(SUMMARY_FILE)) {
        Ok(text) => {
            let summary = serde_json::from_slice(&text).ok();
            Ok(summary.filter(|summary: &serde_json::Value| summary[VERSION_KEY].is_string()))
        }
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the path is a folder that a run of Stiction has finished.
///
/// # Errors
/// When the summary exists and cannot be read.
pub fn is_run_folder(path: &Path) -> io::Result<bool> {
    summary_of(path).map(|summary| summary.is_some())
}

/// The same where a summary that cannot be read is none: its folder is not touched then.
fn is_run(path: &Path) -> bool {
    is_run_folder(path).unwrap_or(false)
}

/// Whether the path holds a run that reached its end.
fn is_finished_run(path: &Path) -> bool {
    let (key, finished) = FINISHED;
    summary_of(path).is_ok_and(|summary| summary.is_some_and(|summary| summary[key] == finished))
}

/// Whether a run made the folder, and finished it or not.
fn is_ours(path: &Path) -> bool {
    path.join(MARKER_FILE).exists() || is_run(path)
}

/// Whether there is a run that may be replaced; an error when there is something else.
fn check_target(target: &Path) -> Result<bool, RunFolderError> {
    let path = target.to_owned();
    match fs::symlink_metadata(target) {
        Err(_) => Ok(false), // what else is wrong is said when the folder is to be made
        Ok(_) if !target.is_dir() => Err(RunFolderError::NotAFolder(path)),
        Ok(_) if !is_run(target) => Err(RunFolderError::NotOurs(path)),
        Ok(_) => Ok(true),
    }
}

/// Removes what an earlier run left at the path, if anything; an error when something else is there
/// or that run still lives.
fn clear_leftover(path: &Path) -> Result<(), RunFolderError> {
    let Ok(status) = fs::symlink_metadata(path) else { return Ok(()) };
    if let Ok(marker) = OpenOptions::new().write(true).open(path.join(MARKER_FILE))
        && let Err(TryLockError::WouldBlock) = marker.try_lock()
    {
        return Err(RunFolderError::Busy(path.to_owned()));
    }
    let foreign = || RunFolderError::ForeignPartial(path.to_owned());
    if !status.is_dir() {
        return Err(foreign());
    }
    let names = names_in(path).map_err(while_trying("read", path))?;
    // A run may have died in the first moment of its folder.
    if !(names.is_empty() || is_ours(path)) || names.iter().any(|name| !is_own(path, name)) {
        return Err(foreign());
    }
    remove_own_folder(path).map_err(while_trying("remove", path))
}

/// Removes the files of a run, what it is known by last, so that the rest is still known as ours
/// whenever the process dies; then the folder. One in which there is anything else stays, with that
/// in it.
fn remove_own_folder(path: &Path) -> io::Result<()> {
    for (folder, _) in OWN_FOLDERS.iter().filter(|(folder, _)| is_own(path, OsStr::new(folder))) {
        let _ = fs::remove_dir_all(path.join(folder)); // what is left of it is found below
    }
    for name in OWN_FILES {
        match fs::remove_file(path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir(path)
}

/// Whether a run wrote what has this name in its folder.
fn is_own(folder: &Path, name: &OsStr) -> bool {
    let place = folder.join(name);
    if !place.is_dir() {
        return OWN_FILES.iter().any(|own| name == *own);
    }
    let Some((_, is_its)) = OWN_FOLDERS.iter().find(|(own, _)| name == *own) else { return false };
    names_in(&place).is_ok_and(|names| names.iter().all(|name| name.to_str().is_some_and(is_its)))
}

/// Names of what is directly in a folder, in order.
fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Moves what no run wrote into another folder of the same place, under a longer name where its own
/// is taken.
fn move_foreign(from: &Path, to: &Path) -> io::Result<()> {
    for name in names_in(from)?.iter().filter(|name| !is_own(from, name)) {
        let numbers = (1..).map(|number| with_suffix(&to.join(name), &format!(".{number}")));
        let places = std::iter::once(to.join(name)).chain(numbers);
        let place = places.into_iter().find(|place| fs::symlink_metadata(place).is_err()).expect("numbers do not end");
        fs::rename(from.join(name), place)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = r#"{"stiction": "0.1.0", "outcome": "finished"}"#;
    const INTERRUPTED: &str = r#"{"stiction": "0.1.0", "outcome": "interrupted"}"#;

    fn names_in(folder: &Path) -> Vec<String> {
        super::names_in(folder).unwrap().into_iter().map(|name| name.into_string().unwrap()).collect()
    }

    /// A finished run whose one file holds the text.
    fn finished_run(target: &Path, text: &str) {
        let run = RunFolder::create(target).unwrap();
        fs::write(run.path_of("states.parquet"), text).unwrap();
        run.write_summary(SUMMARY).unwrap();
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
        run.write_summary(SUMMARY).unwrap();
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
        run.write_summary(SUMMARY).unwrap();
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
        // Beside the run's own files, in the one folder that is its own, and with names that look
        // like ours.
        fs::create_dir(target.join(file::FAILED_STEP)).unwrap();
        fs::write(target.join(file::FAILED_STEP).join(MATRIX_FILE), "").unwrap();
        fs::write(target.join(file::FAILED_STEP).join("thoughts.txt"), "mine").unwrap();
        for name in ["notes.md", "summary.json.bak", "scene.toml.12-3.tmp", "states.parquet.copy"] {
            fs::write(target.join(name), "mine").unwrap();
        }
        finished_run(&target, "second");
        let kept = [
            "failed-step",
            "notes.md",
            "scene.toml.12-3.tmp",
            "states.parquet",
            "states.parquet.copy",
            "summary.json",
            "summary.json.bak",
        ];
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
        run.write_summary(SUMMARY).unwrap();
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
        run.write_summary(SUMMARY).unwrap();
        assert_eq!(run.finish().unwrap(), target);
        assert_eq!(states_of(&link), "second");
        assert_eq!(names_in(&home), ["latest", "rod"]);

        symlink(home.join("nowhere"), home.join("dangling")).unwrap();
        let error = RunFolder::create(home.join("dangling")).unwrap_err();
        assert!(matches!(error, RunFolderError::NotAFolder { .. }));
    }

    #[cfg(unix)]
    #[test]
    fn folder_that_cannot_be_renamed_is_kept_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let parent = home.path().join("runs");
        let target = parent.join("rod");
        let run = RunFolder::create(&target).unwrap();
        run.write_summary(SUMMARY).unwrap();
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

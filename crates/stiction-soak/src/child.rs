//! The command `stiction` as a process of its own: how it ended, and what it said.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::tally::Fault;

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How long a process may take to end after it was asked to: a second is promised, and machines are
/// busy.
const GRACE: Duration = Duration::from_secs(20);

/// A running command.
pub struct Running {
    child: Child,
    out: PathBuf,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// It had to be killed.
    pub is_hang: bool,
    /// Both streams.
    pub text: String,
}

impl Ended {
    /// What is wrong with how it ended, if anything.
    pub fn fault(&self) -> Option<Fault> {
        let is_panic = self.text.contains("panicked at") || (!self.is_hang && !matches!(self.code, Some(0..=4 | 130)));
        match () {
            () if is_panic => Some(Fault::Panic),
            () => self.is_hang.then_some(Fault::Hang),
        }
    }
}

impl Running {
    /// Starts the command in a folder.
    pub fn start(stiction: &Path, folder: &Path, arguments: &[&str]) -> Result<Self, String> {
        let out = folder.join("said");
        let file = File::create(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let same = file.try_clone().map_err(|error| format!("{}: {error}", out.display()))?;
        let child = Command::new(stiction)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(same)
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", stiction.display()))?;
        Ok(Self { child, out })
    }

    /// Waits until it ends or the time is up; whether it has ended.
    pub fn wait(&mut self, limit: Duration) -> Result<bool, String> {
        let began = Instant::now();
        loop {
            if self.child.try_wait().map_err(|error| format!("waiting for stiction: {error}"))?.is_some() {
                return Ok(true);
            }
            if began.elapsed() >= limit {
                return Ok(false);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Sends it a signal by name.
    pub fn signal(&mut self, name: &str) -> Result<(), String> {
        if name == "KILL" {
            let _ = self.child.kill(); // it may have ended by itself
            return Ok(());
        }
        let mut kill = Command::new("kill");
        kill.arg(format!("-{name}")).arg(self.child.id().to_string()).stderr(Stdio::null());
        kill.status().map(|_| ()).map_err(|error| format!("the command `kill` does not start: {error}"))
    }

    /// Waits for its end, kills it where that does not come, and says how it was.
    pub fn end(mut self, limit: Duration) -> Result<Ended, String> {
        let is_hang = !self.wait(limit)?;
        if is_hang {
            let _ = self.child.kill(); // it may have ended by itself meanwhile
        }
        let status = self.child.wait().map_err(|error| format!("waiting for stiction: {error}"))?;
        let text = std::fs::read(&self.out).map_err(|error| format!("{}: {error}", self.out.display()))?;
        Ok(Ended { code: status.code(), is_hang, text: String::from_utf8_lossy(&text).into_owned() })
    }

    /// Lets it work for a while, then asks it to stop.
    pub fn end_early(mut self, limit: Duration) -> Result<Ended, String> {
        if !self.wait(limit)? {
            self.signal("TERM")?;
        }
        self.end(GRACE)
    }
}

/// A folder that is removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("stiction-soak-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path); // of a process that had our number
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // what is left is in the folder for temporary files
    }
}

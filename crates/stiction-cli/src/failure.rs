//! How a command fails: a message on standard error and an exit code.

use std::process::ExitCode;

use miette::{GraphicalReportHandler, GraphicalTheme};
use stiction_scene::run::RunError;
use stiction_scene::scene_error::SceneError;
use stiction_solve::fclib::FclibError;
use stiction_solve::problem_file::ProblemFileError;
use stiction_study::converge::ConvergeError;
use stiction_study::figure::FigureError;
use stiction_study::reproduce::ReproduceError;
use stiction_study::run_figure::RunFigureError;

/// A check that the user asked for failed.
pub const CHECK_FAILED: u8 = 1;
/// Bad usage or input.
pub const BAD_INPUT: u8 = 2;
/// A step or problem could not be solved.
pub const UNSOLVED: u8 = 3;
/// A file could not be read or written.
pub const INPUT_OUTPUT: u8 = 4;
/// Interrupted by the user.
pub const INTERRUPTED: u8 = 130;

/// What went wrong, and the exit code that says so.
pub struct Failure {
    code: u8,
    /// Already laid out for the terminal.
    text: String,
    /// What went wrong, in one line without styles.
    message: String,
    /// Whether a JSON document is on standard output already.
    has_document: bool,
}

impl Failure {
    /// A failure with this exit code and message.
    pub fn new(code: u8, message: impl std::fmt::Display) -> Self {
        let text = message.to_string();
        Self { code, message: text.clone(), text, has_document: false }
    }

    /// A file that could not be read or written.
    pub fn io(action: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(INPUT_OUTPUT, format!("cannot {action} {}: {error}", path.display()))
    }

    /// A failure of the machine, or else a mistake of the user.
    fn of(is_io: bool, error: impl std::fmt::Display) -> Self {
        Self::new(if is_io { INPUT_OUTPUT } else { BAD_INPUT }, error)
    }

    /// The same with something to add.
    pub fn with_note(mut self, note: &str) -> Self {
        self.text += note;
        self.message += note;
        self
    }

    /// The same, of a command that has printed its JSON document all the same.
    pub fn after_document(mut self, has_document: bool) -> Self {
        self.has_document = has_document;
        self
    }

    /// Prints the failure as a JSON document too, unless there is one.
    pub fn report_as_json(&self) -> ExitCode {
        if !self.has_document {
            let message = stiction_scene::scene_error::printable(&self.message);
            say!("{:#}", serde_json::json!({ "error": message, "exit_code": self.code }));
        }
        self.report()
    }

    /// Prints the message and gives the exit code.
    pub fn report(&self) -> ExitCode {
        complain!("{RED}error:{RED:#} {}", self.text.trim_end());
        ExitCode::from(self.code)
    }
}

/// The style of what went wrong.
pub const RED: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Self {
        let theme = if is_styled() { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let mut text = String::new();
        let code = if error.is_io() { INPUT_OUTPUT } else { BAD_INPUT };
        match GraphicalReportHandler::new_themed(theme).with_width(110).render_report(&mut text, &error) {
            Ok(()) => {
                let message = format!("{error}; {}", error.remedy());
                Self { code, text: format!("{error}\n{}", without_headline(&text)), message, has_document: false }
            }
            Err(_) => Self::new(code, error),
        }
    }
}

/// The graphical report without its first line, which repeats the message.
fn without_headline(text: &str) -> String {
    let place = text.lines().position(|line| line.contains("╭─") || line.contains("help:"));
    place.map_or_else(String::new, |place| text.lines().skip(place).collect::<Vec<_>>().join("\n"))
}

fn is_styled() -> bool {
    use std::io::IsTerminal;
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::of(error.is_io(), error)
    }
}

impl From<ProblemFileError> for Failure {
    fn from(error: ProblemFileError) -> Self {
        // A file that is no text was read.
        let is_unread = |cause: &std::io::Error| cause.kind() != std::io::ErrorKind::InvalidData;
        Self::of(matches!(&error, ProblemFileError::Io { cause, .. } if is_unread(cause)), error)
    }
}

impl From<FclibError> for Failure {
    fn from(error: FclibError) -> Self {
        Self::of(error.is_io(), error)
    }
}

impl From<RunFigureError> for Failure {
    fn from(error: RunFigureError) -> Self {
        let is_io = match &error {
            RunFigureError::File { .. } => true,
            RunFigureError::Table { source, .. } => source.is_io(),
            _ => false,
        };
        Self::of(is_io, error)
    }
}

impl From<FigureError> for Failure {
    fn from(error: FigureError) -> Self {
        Self::of(matches!(error, FigureError::Io { .. }), error)
    }
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Self {
        match error {
            ReproduceError::Scene(error) => (*error).into(),
            ReproduceError::Converge(error) => error.into(),
            error => Self::new(UNSOLVED, error),
        }
    }
}

impl From<ConvergeError> for Failure {
    fn from(error: ConvergeError) -> Self {
        match error {
            ConvergeError::Scene(error) => (*error).into(),
            ConvergeError::Plan(_) => Self::new(BAD_INPUT, error),
            error => Self::new(UNSOLVED, error),
        }
    }
}

//! `stiction plot RUN`: a run as a picture.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use stiction_study::figure::check_extension;
use stiction_study::run_figure::{available_columns, column_figure, default_figure};

use crate::failure::Failure;

/// Arguments of `plot`.
#[derive(Args)]
pub struct PlotArguments {
    /// A run folder
    run: PathBuf,
    /// Columns to draw, for example rod.vy rod.w [default: a figure that suits the scene]
    columns: Vec<String>,
    /// Column of the horizontal axis
    #[arg(long, value_name = "COLUMN", default_value = "t", requires = "columns")]
    against: String,
    /// The picture; its ending says whether PNG or SVG [default: RUN/figure.png]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// List the columns that can be drawn
    #[arg(long, conflicts_with_all = ["columns", "out"])]
    list: bool,
}

/// Runs the command.
pub fn plot(arguments: &PlotArguments) -> Result<ExitCode, Failure> {
    if arguments.list {
        for column in available_columns(&arguments.run)? {
            say!("{column}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(out) = &arguments.out {
        check_extension(out)?;
    }
    let figure = if arguments.columns.is_empty() {
        default_figure(&arguments.run)?
    } else {
        column_figure(&arguments.run, &arguments.columns, &arguments.against)?
    };
    let out = arguments.out.clone().unwrap_or_else(|| arguments.run.join("figure.png"));
    figure.write(&out)?;
    say!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}

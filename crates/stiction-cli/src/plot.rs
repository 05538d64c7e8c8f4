//! `stiction plot RUN`: a run as a picture.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use stiction_study::figure::check_extension;
use stiction_study::run_figure::{PanelKind, Selection, available_columns, column_figure, default_figure};

use crate::failure::{BAD_INPUT, Failure};

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
    /// Panels of the figure that suits the scene: poses, velocities, coordinates, modes, forces,
    /// energy, certificate [default: all that the run has]
    #[arg(long, value_name = "P,…", value_delimiter = ',', conflicts_with = "columns", value_parser = panel)]
    panels: Vec<PanelKind>,
    /// Leave out what is before this time, in seconds
    #[arg(long, value_name = "T")]
    from: Option<f64>,
    /// Leave out what is after this time, in seconds
    #[arg(long, value_name = "T")]
    to: Option<f64>,
    /// Width and height, in pixels of 1/96 inch, for example 640x480; a PNG has twice as many
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(u32, u32)>,
    /// The picture; its ending says whether PNG, SVG or PDF [default: RUN/figure.png]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// List the columns that can be drawn
    #[arg(long, conflicts_with_all = ["columns", "panels", "from", "to", "size", "out"])]
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
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from >= to
    {
        return Err(Failure::new(BAD_INPUT, format!("--from {from} is not before --to {to}")));
    }
    let selection = Selection { panels: arguments.panels.clone(), from: arguments.from, to: arguments.to };
    let mut figure = if arguments.columns.is_empty() {
        default_figure(&arguments.run, &selection)?
    } else {
        column_figure(&arguments.run, &selection, &arguments.columns, &arguments.against)?
    };
    figure.size = arguments.size.unwrap_or(figure.size);
    let out = arguments.out.clone().unwrap_or_else(|| arguments.run.join("figure.png"));
    figure.write(&out)?;
    say!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}

fn panel(word: &str) -> Result<PanelKind, String> {
    let words = PanelKind::ALL.map(PanelKind::word).join(", ");
    let kind = PanelKind::ALL.into_iter().find(|kind| kind.word() == word);
    kind.ok_or_else(|| format!("there is no such panel; there are {words}"))
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    parts.ok_or_else(|| "a size is two whole numbers of pixels, as in 640x480".to_owned())
}

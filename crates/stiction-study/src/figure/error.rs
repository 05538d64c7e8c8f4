//! What can go wrong between a figure and its file.

use std::path::PathBuf;

/// Why a figure was not drawn or not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The file name asks for a format that is not offered.
    #[error("{}: cannot write a figure as `.{extension}`; use `.svg`, `.pdf` or `.png`", path.display())]
    UnsupportedFormat {
        /// The file that was asked for.
        path: PathBuf,
        /// Its extension, empty when it has none.
        extension: String,
    },
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The figure has no panel.
    #[error("the figure has no panels")]
    NoPanels,
    /// The panels, with their titles and labels, leave no room for the data.
    #[error("a figure of {width} by {height} pixels is too small for its {panels} panels and their labels")]
    TooSmall {
        /// Width of the figure, in pixels.
        width: u32,
        /// Height of the figure, in pixels.
        height: u32,
        /// Number of panels.
        panels: usize,
    },
    /// The figure is larger than a picture may be.
    #[error("a figure of {width} by {height} pixels is too large; each side may have {most}")]
    TooLarge {
        /// Width of the figure, in pixels.
        width: u32,
        /// Height of the figure, in pixels.
        height: u32,
        /// The longest side accepted, in pixels.
        most: u32,
    },
    /// A range is empty, reversed, not finite, or not positive on a logarithmic axis.
    #[error("panel {panel}: the {axis} range is {from} to {to}{}", if *log { " on a logarithmic axis" } else { "" })]
    Range {
        /// Which panel, counted from 0.
        panel: usize,
        /// `'x'` or `'y'`.
        axis: char,
        /// Start of the range.
        from: f64,
        /// End of the range.
        to: f64,
        /// Whether the axis is logarithmic.
        log: bool,
    },
    /// Equal scales were asked for on logarithmic axes.
    #[error("panel {panel}: equal aspect needs linear axes")]
    EqualAspect {
        /// Which panel, counted from 0.
        panel: usize,
    },
    /// The picture could not be encoded as PNG.
    #[error("the figure could not be encoded as PNG: {0}")]
    Png(String),
    /// The font could not be reduced to the letters of the figure.
    #[error("the letters of the figure could not be embedded in the PDF: {0}")]
    Pdf(String),
}

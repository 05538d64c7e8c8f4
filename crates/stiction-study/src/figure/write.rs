//! From a figure to its file.
//!
//! The picture is drawn as SVG with text, read back with the embedded fonts, and from there either written as SVG whose
//! text consists of outlines, or rendered to pixels.

use std::path::Path;

use resvg::{tiny_skia, usvg};
use stiction_scene::write_atomically;

use super::{Figure, FigureError, canvas, draw};

/// Pixels of a PNG per pixel of the SVG, along each side.
pub const PNG_SCALE: u32 = 2;

/// Decimals of the coordinates in a written SVG, in units of the fine grid on which it is drawn.
const COORDINATE_DECIMALS: u8 = 1;

enum Format {
    Svg,
    Png,
}

impl Figure {
    /// The figure as an SVG document. Its text consists of outlines, so that it needs no font.
    ///
    /// # Errors
    /// When a range cannot be drawn, there is nothing to draw, or the size leaves no room for the panels.
    pub fn to_svg(&self) -> Result<String, FigureError> {
        let options = usvg::WriteOptions {
            coordinates_precision: COORDINATE_DECIMALS,
            indent: usvg::Indent::None,
            ..usvg::WriteOptions::default()
        };
        let svg = self.tree()?.to_string(&options);
        // Without a view box, programs that show the picture in another size would cut it instead of scaling it.
        let (width, height) = self.size;
        Ok(svg.replacen("<svg ", &format!("<svg viewBox=\"0 0 {width} {height}\" "), 1))
    }

    /// The figure as a PNG file, with [`PNG_SCALE`] times the pixels of the SVG.
    ///
    /// # Errors
    /// As [`Figure::to_svg`], and when the picture cannot be encoded.
    pub fn to_png(&self) -> Result<Vec<u8>, FigureError> {
        let tree = self.tree()?;
        let (width, height) = (self.size.0 * PNG_SCALE, self.size.1 * PNG_SCALE);
        let mut pixels = tiny_skia::Pixmap::new(width, height)
            .ok_or_else(|| FigureError::Png(format!("no picture of {width} by {height} pixels")))?;
        let scale = PNG_SCALE as f32;
        resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| FigureError::Png(e.to_string()))
    }

    /// Writes the figure to a file whose extension is `svg` or `png`.
    ///
    /// The file gets its name only when it is complete; an older one of that name is replaced.
    ///
    /// # Errors
    /// As [`Figure::to_svg`], and when the extension is another one or the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FigureError> {
        let path = path.as_ref();
        let bytes = match format_of(path)? {
            Format::Svg => self.to_svg()?.into_bytes(),
            Format::Png => self.to_png()?,
        };
        write_atomically(path, &bytes).map_err(|source| FigureError::Io { path: path.to_path_buf(), source })
    }

    fn tree(&self) -> Result<usvg::Tree, FigureError> {
        let options = usvg::Options { fontdb: canvas::font_database(), ..usvg::Options::default() };
        Ok(usvg::Tree::from_str(&draw::picture(self)?, &options)?)
    }
}

fn format_of(path: &Path) -> Result<Format, FigureError> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    match extension.to_ascii_lowercase().as_str() {
        "svg" => Ok(Format::Svg),
        "png" => Ok(Format::Png),
        _ => Err(FigureError::UnsupportedFormat { path: path.to_path_buf(), extension }),
    }
}

/// Whether a figure can be written under this name, for those who ask before they compute it.
///
/// # Errors
/// [`FigureError::UnsupportedFormat`] when the extension is neither `svg` nor `png`.
pub fn check_extension(path: impl AsRef<Path>) -> Result<(), FigureError> {
    format_of(path.as_ref()).map(|_| ())
}

//! From a drawing to its file.

use std::fmt::Write as _;
use std::path::Path;

use stiction_scene::write_atomically;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::drawing::{Drawing, Pen, Segment};
use super::geometry::Point;
use super::{Colour, Figure, FigureError, pdf};

/// Pixels of a PNG per pixel of the SVG, along each side.
pub const PNG_SCALE: u32 = 2;

/// The formats, by the endings of their files.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Png,
    Pdf,
}

impl Figure {
    /// Draws the figure and writes it, as [`Drawing::write`] does.
    ///
    /// # Errors
    /// As [`Figure::draw`] and [`Drawing::write`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FigureError> {
        format_of(path.as_ref())?;
        self.draw()?.write(path)
    }
}

impl Drawing {
    /// The drawing as an SVG document. Its text consists of outlines, so that it needs no font.
    pub fn to_svg(&self) -> String {
        let (width, height) = self.size;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n"
        );
        for shape in self.shapes() {
            svg.push_str("<path d=\"");
            shape.path.iter().for_each(|segment| put_segment(&mut svg, segment));
            svg.push('"');
            match shape.fill {
                None => svg.push_str(" fill=\"none\""),
                Some((colour, opacity)) => {
                    put(&mut svg, format_args!(" fill=\"{}\"", hex(colour)));
                    if opacity < 1.0 {
                        put(&mut svg, format_args!(" fill-opacity=\"{}\"", brief(opacity)));
                    }
                }
            }
            if let Some(Pen { colour, width, dash, is_round }) = shape.pen {
                put(&mut svg, format_args!(" stroke=\"{}\" stroke-width=\"{}\"", hex(colour), brief(width)));
                if let Some([dash, space]) = dash {
                    put(&mut svg, format_args!(" stroke-dasharray=\"{} {}\"", brief(dash), brief(space)));
                }
                if is_round {
                    let cap = if dash.is_none() { " stroke-linecap=\"round\"" } else { "" };
                    put(&mut svg, format_args!(" stroke-linejoin=\"round\"{cap}"));
                }
            }
            svg.push_str("/>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The drawing as a PNG file, with [`PNG_SCALE`] times the pixels of the SVG.
    ///
    /// # Errors
    /// When the picture cannot be encoded.
    pub fn to_png(&self) -> Result<Vec<u8>, FigureError> {
        let (width, height) = (self.size.0 * PNG_SCALE, self.size.1 * PNG_SCALE);
        let mut pixels = Pixmap::new(width, height)
            .ok_or_else(|| FigureError::Png(format!("no picture of {width} by {height} pixels")))?;
        let scale = PNG_SCALE as f32;
        let transform = Transform::from_scale(scale, scale);
        for shape in self.shapes() {
            // An outline without extent has nothing to fill.
            let Some(path) = skia_path(&shape.path) else { continue };
            if let Some((colour, opacity)) = shape.fill {
                let paint = skia_paint(colour, opacity);
                pixels.fill_path(&path, &paint, FillRule::Winding, transform, None);
            }
            if let Some(pen) = shape.pen {
                let stroke = Stroke {
                    width: pen.width as f32,
                    line_cap: if pen.is_round && pen.dash.is_none() { LineCap::Round } else { LineCap::Butt },
                    line_join: if pen.is_round { LineJoin::Round } else { LineJoin::Miter },
                    dash: pen.dash.and_then(|[dash, space]| StrokeDash::new(vec![dash as f32, space as f32], 0.0)),
                    ..Stroke::default()
                };
                pixels.stroke_path(&path, &skia_paint(pen.colour, 1.0), &stroke, transform, None);
            }
        }
        pixels.encode_png().map_err(|e| FigureError::Png(e.to_string()))
    }

    /// The drawing as a PDF document of one page, with its text as text and the letters that it uses.
    ///
    /// # Errors
    /// When the font cannot be reduced to these letters.
    pub fn to_pdf(&self) -> Result<Vec<u8>, FigureError> {
        pdf::document(self)
    }

    /// Writes the drawing to a file whose extension is `svg`, `png` or `pdf`.
    ///
    /// The file gets its name only when it is complete; an older one of that name is replaced.
    ///
    /// # Errors
    /// When the extension is another one, the picture cannot be encoded, or the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FigureError> {
        let path = path.as_ref();
        let bytes = match format_of(path)? {
            Format::Svg => self.to_svg().into_bytes(),
            Format::Png => self.to_png()?,
            Format::Pdf => self.to_pdf()?,
        };
        write_atomically(path, &bytes).map_err(|source| FigureError::Io { path: path.to_path_buf(), source })
    }
}

/// Writing into a string does not fail.
fn put(svg: &mut String, text: std::fmt::Arguments) {
    svg.write_fmt(text).expect("a string takes all text");
}

fn put_segment(svg: &mut String, segment: &Segment) {
    let at = |(x, y): Point| format!("{} {}", brief(x), brief(y));
    match *segment {
        Segment::Move(to) => put(svg, format_args!("M{}", at(to))),
        Segment::Line(to) => put(svg, format_args!("L{}", at(to))),
        Segment::Quadratic(a, to) => put(svg, format_args!("Q{} {}", at(a), at(to))),
        Segment::Cubic(a, b, to) => put(svg, format_args!("C{} {} {}", at(a), at(b), at(to))),
        Segment::Close => svg.push('Z'),
    }
}

/// A length in hundredths of a pixel.
fn brief(length: f64) -> f64 {
    let rounded = (100.0 * length).round() / 100.0;
    if rounded == 0.0 { 0.0 } else { rounded }
}

fn hex(Colour(r, g, b): Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn skia_paint(Colour(r, g, b): Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, (255.0 * opacity).round() as u8);
    paint
}

fn skia_path(path: &[Segment]) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    let at = |(x, y): Point| (x as f32, y as f32);
    for segment in path {
        match *segment {
            Segment::Move(to) => builder.move_to(at(to).0, at(to).1),
            Segment::Line(to) => builder.line_to(at(to).0, at(to).1),
            Segment::Quadratic(a, to) => builder.quad_to(at(a).0, at(a).1, at(to).0, at(to).1),
            Segment::Cubic(a, b, to) => builder.cubic_to(at(a).0, at(a).1, at(b).0, at(b).1, at(to).0, at(to).1),
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}

fn format_of(path: &Path) -> Result<Format, FigureError> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    match extension.to_ascii_lowercase().as_str() {
        "svg" => Ok(Format::Svg),
        "png" => Ok(Format::Png),
        "pdf" => Ok(Format::Pdf),
        _ => Err(FigureError::UnsupportedFormat { path: path.to_path_buf(), extension }),
    }
}

/// Whether a figure can be written under this name, for those who ask before they compute it.
///
/// # Errors
/// [`FigureError::UnsupportedFormat`] when the extension is none of `svg`, `png` and `pdf`.
pub fn check_extension(path: impl AsRef<Path>) -> Result<(), FigureError> {
    format_of(path.as_ref()).map(|_| ())
}

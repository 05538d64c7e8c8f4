//! From a drawing to its file.

use std::fmt::Write as _;
use std::path::Path;

use stiction_scene::write_atomically;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathSegment, Pixmap, Point, Stroke, StrokeDash, Transform};

use super::drawing::{Drawing, Item, Pen};
use super::{Colour, Figure, FigureError};

/// Pixels of a PNG per pixel of the SVG, along each side.
pub const PNG_SCALE: u32 = 2;

impl Figure {
    /// Draws the figure and writes it, as [`Drawing::write`] does.
    ///
    /// # Errors
    /// As [`Figure::draw`] and [`Drawing::write`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FigureError> {
        check_extension(&path)?;
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
        for item in self.outlines() {
            let (path, style) = match item {
                Item::Fill(path, colour, opacity) if opacity < 1.0 => {
                    (path, format!("fill=\"{}\" fill-opacity=\"{}\"", hex(colour), brief(opacity as f32)))
                }
                Item::Fill(path, colour, _) => (path, format!("fill=\"{}\"", hex(colour))),
                Item::Line(path, pen) => (path, svg_pen(&pen)),
                Item::Text(_) => unreachable!("text has become outlines"),
            };
            svg.push_str("<path d=\"");
            path.segments().for_each(|segment| put_segment(&mut svg, segment));
            put(&mut svg, format_args!("\" {style}/>\n"));
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
        let place = Transform::from_scale(PNG_SCALE as f32, PNG_SCALE as f32);
        for item in self.outlines() {
            match item {
                Item::Fill(path, colour, opacity) => {
                    pixels.fill_path(&path, &skia_paint(colour, opacity), FillRule::Winding, place, None);
                }
                Item::Line(path, pen) => {
                    let stroke = Stroke {
                        width: pen.width as f32,
                        line_cap: if pen.has_round_ends() { LineCap::Round } else { LineCap::Butt },
                        line_join: if pen.is_round { LineJoin::Round } else { LineJoin::Miter },
                        dash: pen.dash.and_then(|dash| StrokeDash::new(dash.map(|length| length as f32).to_vec(), 0.0)),
                        ..Stroke::default()
                    };
                    pixels.stroke_path(&path, &skia_paint(pen.colour, 1.0), &stroke, place, None);
                }
                Item::Text(_) => unreachable!("text has become outlines"),
            }
        }
        pixels.encode_png().map_err(|e| FigureError::Png(e.to_string()))
    }

    /// Writes the drawing to a file whose extension is `svg`, `png` or `pdf`.
    ///
    /// The file gets its name only when it is complete; an older one of that name is replaced.
    ///
    /// # Errors
    /// When the extension is another one, or the picture cannot be encoded or written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FigureError> {
        let path = path.as_ref();
        let bytes = match check_extension(path)? {
            "svg" => self.to_svg().into_bytes(),
            "png" => self.to_png()?,
            _ => self.to_pdf()?,
        };
        write_atomically(path, &bytes).map_err(|source| FigureError::Io { path: path.to_path_buf(), source })
    }
}

/// The format of a figure under this name, for those who ask first: `svg`, `png` or `pdf`.
///
/// # Errors
/// [`FigureError::UnsupportedFormat`] when the extension is none of these.
pub fn check_extension(path: impl AsRef<Path>) -> Result<&'static str, FigureError> {
    let path = path.as_ref();
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let format = ["svg", "png", "pdf"].into_iter().find(|format| extension.eq_ignore_ascii_case(format));
    format.ok_or_else(|| FigureError::UnsupportedFormat { path: path.to_path_buf(), extension })
}

/// Writing into a string does not fail.
fn put(svg: &mut String, text: std::fmt::Arguments) {
    svg.write_fmt(text).expect("a string takes all text");
}

fn put_segment(svg: &mut String, segment: PathSegment) {
    let at = |point: Point| format!("{} {}", brief(point.x), brief(point.y));
    match segment {
        PathSegment::MoveTo(to) => put(svg, format_args!("M{}", at(to))),
        PathSegment::LineTo(to) => put(svg, format_args!("L{}", at(to))),
        PathSegment::QuadTo(a, to) => put(svg, format_args!("Q{} {}", at(a), at(to))),
        PathSegment::CubicTo(a, b, to) => put(svg, format_args!("C{} {} {}", at(a), at(b), at(to))),
        PathSegment::Close => svg.push('Z'),
    }
}

fn svg_pen(pen: &Pen) -> String {
    let (colour, width) = (hex(pen.colour), brief(pen.width as f32));
    let mut style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"");
    if let Some([dash, space]) = pen.dash.map(|dash| dash.map(|length| brief(length as f32))) {
        put(&mut style, format_args!(" stroke-dasharray=\"{dash} {space}\""));
    }
    if pen.is_round {
        style.push_str(" stroke-linejoin=\"round\"");
    }
    if pen.has_round_ends() {
        style.push_str(" stroke-linecap=\"round\"");
    }
    style
}

/// A length in hundredths of a pixel.
fn brief(length: f32) -> f64 {
    // The sum makes a zero of a negative one.
    (100.0 * f64::from(length)).round() / 100.0 + 0.0
}

fn hex(Colour(r, g, b): Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn skia_paint(Colour(r, g, b): Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, (255.0 * opacity).round() as u8);
    paint
}

//! The drawing surface: plotters' SVG backend on a fine grid, with the embedded font.
//!
//! The backend knows integer coordinates only, so the picture is drawn on [`UNITS`] grid units per pixel and scaled by
//! its `viewBox`. What the backend has no call for (dashes, rounded joins, clipping, heavier letters) is inherited from the
//! group in which its elements are placed.

use std::sync::{Arc, OnceLock};

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle, TextStyle};
use resvg::usvg::fontdb;

use super::polyline::{Point, Rect};
use super::ticks::Label;
use super::{Colour, FigureError};

/// Grid units per pixel.
const UNITS: f64 = 64.0;
/// Height over em of the embedded font: plotters scales letters by their height.
const HEIGHT_PER_EM: f64 = 1.121;
/// Ratio by which plotters divides a font size before it writes it into an SVG.
const BACKEND_FONT_RATIO: f64 = 1.24;
/// Depth of the baseline below the top of a line, in em, as plotters' SVG backend assumes it.
const BACKEND_BASELINE: f64 = 0.76;
/// Thickening of the light letters of the embedded font, in em: for running text.
pub(super) const REGULAR: f64 = 0.022;
/// Thickening of the letters, in em: for headings.
pub(super) const BOLD: f64 = 0.05;
/// Size of an exponent relative to its base.
const EXPONENT_SIZE: f64 = 0.72;
/// How far an exponent is raised, in em of its base.
const EXPONENT_RISE: f64 = 0.42;

/// The embedded fonts, and the family name under which usvg finds the main one.
struct Fonts {
    database: Arc<fontdb::Database>,
    family: String,
}

fn fonts() -> &'static Fonts {
    static FONTS: OnceLock<Fonts> = OnceLock::new();
    FONTS.get_or_init(|| {
        let mut database = fontdb::Database::new();
        database.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
        let face = database.faces().next().expect("the embedded font is readable");
        let family = face.families.first().expect("the embedded font has a name").0.clone();
        // Only for letters that the main font lacks.
        database.load_font_data(epaint_default_fonts::HACK_REGULAR.to_vec());
        if plotters::style::register_font(&family, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT).is_err() {
            panic!("the embedded font is readable");
        }
        Fonts { database: Arc::new(database), family }
    })
}

/// The fonts for reading a drawn picture back.
pub(super) fn font_database() -> Arc<fontdb::Database> {
    Arc::clone(&fonts().database)
}

fn font(size: f64) -> FontDesc<'static> {
    FontDesc::new(FontFamily::Name(&fonts().family), size, FontStyle::Normal)
}

/// Width of a line of text, in pixels, at a font size in pixels.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let measured = font(HEIGHT_PER_EM * 1000.0).layout_box(text).map_or(0, |((left, _), (right, _))| right - left);
    f64::from(measured) / 1000.0 * size
}

/// Width of the label of a tick, in pixels.
pub(super) fn label_width(label: &Label, size: f64) -> f64 {
    let exponent = label.exponent.map_or(0.0, |e| text_width(&exponent_text(e), size * EXPONENT_SIZE));
    text_width(&label.text, size) + exponent
}

fn exponent_text(exponent: i32) -> String {
    exponent.to_string().replace('-', "\u{2212}")
}

/// Breaks a text at its spaces into lines no wider than `width`, where it can.
pub(super) fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// A line to draw: colour, opacity in 0..=1, width in pixels.
#[derive(Clone, Copy)]
pub(super) struct Pen {
    pub(super) colour: Colour,
    pub(super) opacity: f64,
    pub(super) width: f64,
}

impl Pen {
    pub(super) fn new(colour: Colour, width: f64) -> Self {
        Pen { colour, opacity: 1.0, width }
    }

    fn style(&self, filled: bool) -> ShapeStyle {
        let stroke_width = (self.width * UNITS).round().max(0.0) as u32;
        ShapeStyle { color: rgb(self.colour).mix(self.opacity), filled, stroke_width }
    }
}

/// How a line of text is drawn.
#[derive(Clone, Copy)]
pub(super) struct Pencil {
    /// Font size, in pixels.
    pub(super) size: f64,
    pub(super) colour: Colour,
    /// Thickening of the letters, in em.
    pub(super) weight: f64,
    pub(super) align: Align,
    /// Whether the text reads upwards.
    pub(super) upwards: bool,
    /// Width of a white rim that keeps the text apart from what is below it, in pixels.
    pub(super) halo: f64,
}

/// Which part of a text stands at the given point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Start,
    Middle,
    End,
}

impl Pencil {
    pub(super) fn new(size: f64, colour: Colour) -> Self {
        Pencil { size, colour, weight: REGULAR, align: Align::Start, upwards: false, halo: 0.0 }
    }
}

fn rgb(colour: Colour) -> RGBColor {
    RGBColor(colour.0, colour.1, colour.2)
}

fn grid((x, y): Point) -> (i32, i32) {
    ((x * UNITS).round() as i32, (y * UNITS).round() as i32)
}

/// A picture in the making, in pixels.
pub(super) struct Canvas {
    size: (u32, u32),
    body: String,
    clip_count: usize,
}

impl Canvas {
    pub(super) fn new(size: (u32, u32)) -> Self {
        Canvas { size, body: String::new(), clip_count: 0 }
    }

    /// Draws with plotters inside a group that has the given attributes.
    fn group<E: std::fmt::Display>(
        &mut self,
        attributes: &str,
        draw: impl FnOnce(&mut SVGBackend) -> Result<(), E>,
    ) -> Result<(), FigureError> {
        let mut drawn = String::new();
        let mut backend = SVGBackend::with_string(&mut drawn, self.size);
        draw(&mut backend).map_err(|e| FigureError::Drawing(e.to_string()))?;
        drop(backend);
        // The backend writes a whole document; only what stands between its outermost tags is wanted.
        let inner = drawn
            .split_once('>')
            .and_then(|(_, rest)| rest.rsplit_once("</svg>"))
            .map(|(inner, _)| inner)
            .ok_or_else(|| FigureError::Drawing("the backend wrote no document".to_string()))?;
        self.body.push_str(&format!("<g {attributes}>{inner}</g>\n"));
        Ok(())
    }

    /// Starts a region outside of which nothing is drawn, until [`Canvas::end_clip`].
    pub(super) fn begin_clip(&mut self, rect: &Rect) {
        let (left, top) = grid((rect.left, rect.top));
        let (width, height) = grid((rect.width(), rect.height()));
        let id = self.clip_count;
        self.clip_count += 1;
        self.body.push_str(&format!(
            "<clipPath id=\"clip{id}\"><rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/></clipPath>\n\
             <g clip-path=\"url(#clip{id})\">\n"
        ));
    }

    pub(super) fn end_clip(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// Draws polylines with rounded joins.
    pub(super) fn polylines(&mut self, pieces: &[Vec<Point>], pen: Pen, dashed: bool) -> Result<(), FigureError> {
        let width = pen.width.max(0.5) * UNITS;
        let attributes = if dashed {
            let (dash, space) = (4.0 * width, 2.6 * width);
            format!("stroke-linejoin=\"round\" stroke-dasharray=\"{dash:.0} {space:.0}\"")
        } else {
            "stroke-linejoin=\"round\" stroke-linecap=\"round\"".to_string()
        };
        self.group(&attributes, |backend| {
            pieces.iter().try_for_each(|piece| match piece.as_slice() {
                [] => Ok(()),
                // A point without neighbours would be invisible as a line.
                [point] => {
                    let radius = (1.2 * width).round() as u32;
                    backend.draw_circle(grid(*point), radius, &pen.style(true), true)
                }
                points => backend.draw_path(points.iter().map(|&p| grid(p)), &pen.style(false)),
            })
        })
    }

    /// Draws separate segments with square ends.
    pub(super) fn segments(&mut self, segments: &[(Point, Point)], pen: Pen, dashed: bool) -> Result<(), FigureError> {
        let attributes =
            if dashed { format!("stroke-dasharray=\"{:.0} {:.0}\"", 5.0 * UNITS, 3.5 * UNITS) } else { String::new() };
        self.group(&attributes, |backend| {
            segments.iter().try_for_each(|&(from, to)| backend.draw_line(grid(from), grid(to), &pen.style(false)))
        })
    }

    /// Fills polygons.
    pub(super) fn polygons(
        &mut self,
        polygons: &[Vec<Point>],
        colour: Colour,
        opacity: f64,
    ) -> Result<(), FigureError> {
        let style = Pen { colour, opacity: opacity.clamp(0.0, 1.0), width: 0.0 }.style(true);
        self.group("", |backend| {
            let drawn = polygons.iter().filter(|polygon| polygon.len() >= 3);
            drawn.into_iter().try_for_each(|polygon| backend.fill_polygon(polygon.iter().map(|&p| grid(p)), &style))
        })
    }

    /// Fills discs.
    pub(super) fn discs(&mut self, centres: &[Point], radius: f64, colour: Colour) -> Result<(), FigureError> {
        let radius = (radius * UNITS).round() as u32;
        self.group("", |backend| {
            let style = Pen::new(colour, 0.0).style(true);
            centres.iter().try_for_each(|&centre| backend.draw_circle(grid(centre), radius, &style, true))
        })
    }

    /// Writes a line of text with its baseline through `at`.
    pub(super) fn text(&mut self, text: &str, at: Point, pencil: Pencil) -> Result<(), FigureError> {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if text.trim().is_empty() {
            return Ok(());
        }
        let shift = BACKEND_BASELINE * pencil.size;
        let (corner, transform) = if pencil.upwards {
            ((at.0 - shift, at.1), FontTransform::Rotate270)
        } else {
            ((at.0, at.1 - shift), FontTransform::None)
        };
        let h_pos = match pencil.align {
            Align::Start => HPos::Left,
            Align::Middle => HPos::Center,
            Align::End => HPos::Right,
        };
        let font = font(pencil.size * UNITS * BACKEND_FONT_RATIO).transform(transform);
        let halo = (pencil.halo > 0.0).then_some((Colour::WHITE, 2.0 * pencil.halo));
        for (colour, stroke) in halo.into_iter().chain([(pencil.colour, pencil.weight * pencil.size)]) {
            let Colour(r, g, b) = colour;
            let width = stroke * UNITS;
            let attributes =
                format!("stroke=\"#{r:02x}{g:02x}{b:02x}\" stroke-width=\"{width:.1}\" stroke-linejoin=\"round\"");
            let style = TextStyle {
                font: font.clone(),
                color: rgb(colour).to_backend_color(),
                pos: Pos::new(h_pos, VPos::Top),
            };
            self.group(&attributes, |backend| backend.draw_text(&text, &style, grid(corner)))?;
        }
        Ok(())
    }

    /// Writes the label of a tick, with its exponent, with the baseline through `at`.
    pub(super) fn label(&mut self, label: &Label, at: Point, pencil: Pencil) -> Result<(), FigureError> {
        let Some(exponent) = label.exponent else {
            return self.text(&label.text, at, pencil);
        };
        let width = label_width(label, pencil.size);
        let left = match pencil.align {
            Align::Start => at.0,
            Align::Middle => at.0 - width / 2.0,
            Align::End => at.0 - width,
        };
        let start = Pencil { align: Align::Start, ..pencil };
        self.text(&label.text, (left, at.1), start)?;
        let raised = (left + text_width(&label.text, pencil.size), at.1 - EXPONENT_RISE * pencil.size);
        self.text(&exponent_text(exponent), raised, Pencil { size: pencil.size * EXPONENT_SIZE, ..start })
    }

    /// The picture as an SVG document that still contains text.
    pub(super) fn finish(self) -> String {
        let (width, height) = self.size;
        let (right, bottom) = (f64::from(width) * UNITS, f64::from(height) * UNITS);
        format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {right} {bottom}\" xmlns=\"http://www.w3.org/2000/svg\">\n\
             {}</svg>\n",
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resvg::usvg;

    /// The box of the outlines of a text of 20 pixels, written at (20, 60).
    fn drawn_box(text: &str) -> usvg::Rect {
        let mut canvas = Canvas::new((600, 100));
        let pencil = Pencil { weight: 0.0, ..Pencil::new(20.0, Colour::INK) };
        canvas.text(text, (20.0, 60.0), pencil).unwrap();
        let options = usvg::Options { fontdb: font_database(), ..usvg::Options::default() };
        let read = |svg: &str| usvg::Tree::from_str(svg, &options).unwrap();
        let outlines = read(&canvas.finish()).to_string(&usvg::WriteOptions::default());
        read(&outlines).root().abs_bounding_box()
    }

    #[test]
    fn text_is_as_wide_as_it_is_measured() {
        for text in ["tangential velocity (m/s)", "0.05", "\u{2212}12.5", "h = 0.02", "μ = 0.6, ε = ½, θ × φ ≤ 10²"]
        {
            let drawn = drawn_box(text);
            let measured = text_width(text, 20.0);
            // The outlines lack the bearings at both ends, at most 0.1 em each.
            let difference = measured - f64::from(drawn.width());
            assert!((-1.0..4.0).contains(&difference), "{text}: measured {measured}, drawn {}", drawn.width());
            assert!((f64::from(drawn.left()) - 20.0).abs() < 2.5, "{text} starts at {}", drawn.left());
        }
    }

    #[test]
    fn letters_stand_on_the_baseline() {
        let drawn = drawn_box("HHH");
        assert!((drawn.bottom() - 60.0).abs() < 0.1, "the baseline is at {}", drawn.bottom());
        assert!((drawn.height() - 0.693 * 20.0).abs() < 0.3, "capitals are {} high", drawn.height());
    }

    #[test]
    fn long_text_breaks_at_spaces() {
        let lines = wrapped("one two three four", 10.0, text_width("one two", 10.0) + 1.0);
        assert_eq!(lines, ["one two", "three", "four"]);
    }
}

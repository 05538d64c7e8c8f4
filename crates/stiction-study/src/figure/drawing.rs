//! A drawn figure: outlines and lines of text in their places, in pixels, y downwards.
//!
//! A figure is laid out and drawn once; the writers of SVG, PNG and PDF all read the same list.
//! Nothing reaches beyond what is to be seen, so that no writer has to cut anything off.

use tiny_skia::{Path, PathBuilder, Transform};

use super::Colour;
use super::font::{Weight, glyphs, outline, text_width};
use super::geometry::{Point, Rect};

/// Height of capital letters and digits, in em.
pub(super) const CAP_HEIGHT: f64 = 0.7;
/// Depth of letters below the baseline, in em.
pub(super) const DESCENT: f64 = 0.22;
/// Length of a dash and of the space behind it, in widths of the line.
const DASH: [f64; 2] = [4.0, 2.6];
/// The same for straight reference lines, in pixels.
const RULE_DASH: [f64; 2] = [5.0, 3.5];
/// Width of the white rim around text over the data, in pixels.
const HALO: f64 = 2.0;
/// Text boxes that share less than this, in pixels, only touch.
const TOUCH: f64 = 0.5;

/// A line along an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub(super) colour: Colour,
    /// In pixels.
    pub(super) width: f64,
    /// Dash and space, in pixels.
    pub(super) dash: Option<[f64; 2]>,
    /// Whether corners are round, and the ends of lines that are not dashed.
    pub(super) is_round: bool,
}

impl Pen {
    /// For curves: round ends and corners.
    pub(super) fn round(colour: Colour, width: f64, is_dashed: bool) -> Self {
        let dash = is_dashed.then(|| DASH.map(|length| length * width.max(0.5)));
        Pen { colour, width, dash, is_round: true }
    }

    /// For straight lines with square ends.
    pub(super) fn square(colour: Colour, width: f64, is_dashed: bool) -> Self {
        Pen { colour, width, dash: is_dashed.then_some(RULE_DASH), is_round: false }
    }

    pub(super) fn has_round_ends(&self) -> bool {
        self.is_round && self.dash.is_none()
    }
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) text: String,
    /// Start of the baseline.
    pub(super) at: Point,
    /// Font size, in pixels.
    pub(super) size: f64,
    pub(super) weight: Weight,
    pub(super) colour: Colour,
    /// Whether the text reads upwards.
    pub(super) upwards: bool,
    /// A white rim that keeps the text apart from what is below it.
    pub(super) halo: Option<Pen>,
}

impl Text {
    /// Regular text from left to right.
    pub(super) fn new(text: &str, at: Point, size: f64, colour: Colour) -> Self {
        let text = text.to_owned();
        Text { text, at, size, weight: Weight::Regular, colour, upwards: false, halo: None }
    }

    /// Keeps the text apart from what is below it.
    pub(super) fn with_halo(self) -> Self {
        Text { halo: Some(Pen::round(Colour::WHITE, 2.0 * HALO, false)), ..self }
    }

    /// Moves the text so that this share of it is left of, or below, where it was to begin.
    pub(super) fn aligned(mut self, share: f64) -> Self {
        let back = share * self.width();
        self.at = self.place((-back / self.size, 0.0));
        self
    }

    /// Makes the letters smaller where the text would be longer than this, in pixels.
    pub(super) fn fitted(mut self, length: f64) -> Self {
        self.size *= (length / self.width().max(1.0)).min(1.0);
        self
    }

    pub(super) fn width(&self) -> f64 {
        text_width(&self.text, self.size, self.weight)
    }

    /// Takes a point beside the start of the text, in em, y upwards, to the picture.
    pub(super) fn place(&self, (x, y): Point) -> Point {
        let (x, y) = (self.size * x, self.size * y);
        if self.upwards { (self.at.0 - y, self.at.1 - x) } else { (self.at.0 + x, self.at.1 - y) }
    }

    /// The box around the text.
    pub(super) fn rect(&self) -> Rect {
        let (a, b) = (self.place((0.0, -DESCENT)), self.place((self.width() / self.size, CAP_HEIGHT)));
        Rect { left: a.0.min(b.0), top: a.1.min(b.1), right: a.0.max(b.0), bottom: a.1.max(b.1) }
    }

    /// The outlines of the letters; none when nothing is seen.
    pub(super) fn path(&self) -> Option<Path> {
        let mut path = PathBuilder::new();
        let (glyphs, _) = glyphs(&self.text, self.weight);
        for glyph in glyphs {
            let at = self.place((glyph.x, glyph.rise));
            let scale = (self.size * glyph.scale * self.weight.em(1.0)) as f32;
            let (right, up) = if self.upwards { ((0.0, -scale), (-scale, 0.0)) } else { ((scale, 0.0), (0.0, -scale)) };
            let place = Transform::from_row(right.0, right.1, up.0, up.1, at.0 as f32, at.1 as f32);
            if let Some(letter) = outline(glyph.id, self.weight).and_then(|letter| letter.transform(place)) {
                path.push_path(&letter);
            }
        }
        path.finish()
    }
}

/// A part of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// An outline that is filled with a colour of some opacity in 0..=1.
    Fill(Path, Colour, f64),
    /// An outline with a line along it.
    Line(Path, Pen),
    Text(Text),
}

/// A figure with everything in its place, ready to be written in any format.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub(super) title: String,
    /// Width and height, in pixels.
    pub(super) size: (u32, u32),
    /// From the bottom to the top.
    pub(super) items: Vec<Item>,
}

impl Drawing {
    /// Lines of text that cover each other, and those that leave the page, paired with nothing.
    ///
    /// A figure that is meant to be read has none.
    pub fn text_collisions(&self) -> Vec<(String, String)> {
        let page = Rect { left: 0.0, top: 0.0, right: f64::from(self.size.0), bottom: f64::from(self.size.1) };
        let texts = self.items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text) } else { None });
        let texts: Vec<(&Text, Rect)> = texts.map(|text| (text, text.rect().grown(-TOUCH))).collect();
        let mut collisions = Vec::new();
        for (i, (text, rect)) in texts.iter().enumerate() {
            if !page.contains((rect.left, rect.top)) || !page.contains((rect.right, rect.bottom)) {
                collisions.push((text.text.clone(), String::new()));
            }
            let covered = texts[..i].iter().filter(|(_, other)| other.overlaps(rect));
            collisions.extend(covered.map(|(other, _)| (other.text.clone(), text.text.clone())));
        }
        collisions
    }

    /// The drawing as outlines alone, for formats that know nothing of text.
    pub(super) fn outlines(&self) -> Vec<Item> {
        let mut outlines = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let Item::Text(text) = item else {
                outlines.push(item.clone());
                continue;
            };
            if let Some(path) = text.path() {
                outlines.extend(text.halo.map(|pen| Item::Line(path.clone(), pen)));
                outlines.push(Item::Fill(path, text.colour, 1.0));
            }
        }
        outlines
    }

    /// Draws polylines.
    pub(super) fn lines<L: AsRef<[Point]>>(&mut self, lines: &[L], pen: Pen) {
        let mut path = PathBuilder::new();
        for line in lines {
            match *line.as_ref() {
                // A point without neighbours would be invisible as a line.
                [(x, y)] => path.push_circle(x as f32, y as f32, 0.5 * pen.width as f32),
                ref line => put_polyline(&mut path, line),
            }
        }
        self.items.extend(path.finish().map(|path| Item::Line(path, pen)));
    }

    /// Fills polygons.
    pub(super) fn polygons(&mut self, polygons: &[Vec<Point>], colour: Colour, opacity: f64) {
        let mut path = PathBuilder::new();
        for polygon in polygons.iter().filter(|polygon| polygon.len() >= 3) {
            put_polyline(&mut path, polygon);
            path.close();
        }
        self.items.extend(path.finish().map(|path| Item::Fill(path, colour, opacity.clamp(0.0, 1.0))));
    }

    /// Writes a line of text.
    pub(super) fn text(&mut self, text: Text) {
        if !text.text.trim().is_empty() {
            self.items.push(Item::Text(text));
        }
    }
}

fn put_polyline(path: &mut PathBuilder, points: &[Point]) {
    let Some(&first) = points.first() else { return };
    path.move_to(first.0 as f32, first.1 as f32);
    points[1..].iter().for_each(|point| path.line_to(point.0 as f32, point.1 as f32));
}

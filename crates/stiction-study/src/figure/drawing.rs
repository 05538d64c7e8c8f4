//! A drawn figure: outlines and lines of text in their places, in pixels, y downwards.
//!
//! A figure is laid out and drawn once; the writers of SVG, PNG and PDF all read the same list. Nothing
//! reaches beyond what is to be seen, so that no writer has to cut anything off.

use super::Colour;
use super::font::{Weight, glyphs, outline, text_width};
use super::geometry::{Point, Rect};
use super::layout::{CAP_HEIGHT, DESCENT};

/// Length of a dash and of the space behind it, in widths of the line.
const DASH: [f64; 2] = [4.0, 2.6];
/// The same for straight reference lines, in pixels.
const RULE_DASH: [f64; 2] = [5.0, 3.5];
/// Width of the white rim around text over the data, in pixels.
const HALO: f64 = 2.0;
/// Distance of the handles of a cubic curve along a quarter of the unit circle.
const QUARTER: f64 = 0.552_284_749_830_793_4;
/// Text boxes that share less than this, in pixels, only touch.
const TOUCH: f64 = 0.5;

/// A piece of an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Segment {
    Move(Point),
    Line(Point),
    Quadratic(Point, Point),
    Cubic(Point, Point, Point),
    Close,
}

/// A line along an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub(super) colour: Colour,
    /// In pixels.
    pub(super) width: f64,
    /// Dash and space, in pixels.
    pub(super) dash: Option<[f64; 2]>,
    /// Whether ends and corners are round.
    pub(super) is_round: bool,
}

/// An outline that is filled, followed by a line, or both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) path: Vec<Segment>,
    /// Colour and opacity in 0..=1.
    pub(super) fill: Option<(Colour, f64)>,
    pub(super) pen: Option<Pen>,
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
    /// Whether a white rim keeps the text apart from what is below it.
    pub(super) has_halo: bool,
}

impl Text {
    /// Regular text from left to right.
    pub(super) fn new(text: &str, at: Point, size: f64, colour: Colour) -> Self {
        let text = text.to_owned();
        Text { text, at, size, weight: Weight::Regular, colour, upwards: false, has_halo: false }
    }

    /// Moves the text so that this share of it is left of, or below, the point where it was to begin.
    pub(super) fn aligned(mut self, share: f64) -> Self {
        let back = share * self.width();
        self.at = self.place((-back / self.size, 0.0));
        self
    }

    fn width(&self) -> f64 {
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

    /// The white rim, when there is one.
    pub(super) fn halo(&self) -> Option<Pen> {
        let pen = Pen { colour: Colour::WHITE, width: 2.0 * HALO, dash: None, is_round: true };
        self.has_halo.then_some(pen)
    }

    /// The letters as outlines, over their rim.
    pub(super) fn shapes(&self) -> impl Iterator<Item = Shape> {
        let place = |point: Point| self.place(point);
        let (glyphs, _) = glyphs(&self.text, self.weight);
        let path: Vec<Segment> = glyphs.iter().flat_map(|glyph| outline(glyph, self.weight, &place)).collect();
        let rim = self.halo().map(|pen| Shape { path: path.clone(), fill: None, pen: Some(pen) });
        rim.into_iter().chain([Shape { path, fill: Some((self.colour, 1.0)), pen: None }])
    }
}

/// A part of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Shape(Shape),
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
    pub(super) fn new(title: &str, size: (u32, u32)) -> Self {
        Drawing { title: title.to_owned(), size, items: Vec::new() }
    }

    /// Pairs of lines of text that cover each other, and lines that leave the page, paired with nothing.
    ///
    /// A figure that is meant to be read has none.
    pub fn text_collisions(&self) -> Vec<(String, String)> {
        let page = Rect { left: 0.0, top: 0.0, right: f64::from(self.size.0), bottom: f64::from(self.size.1) };
        let texts: Vec<(&Text, Rect)> = self.texts().map(|text| (text, text.rect().grown(-TOUCH))).collect();
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

    fn texts(&self) -> impl Iterator<Item = &Text> {
        self.items.iter().filter_map(|item| match item {
            Item::Text(text) => Some(text),
            Item::Shape(_) => None,
        })
    }

    /// The drawing as outlines alone, for formats that know nothing of text.
    pub(super) fn shapes(&self) -> impl Iterator<Item = Shape> {
        self.items.iter().flat_map(|item| match item {
            Item::Shape(shape) => vec![shape.clone()],
            Item::Text(text) => text.shapes().collect(),
        })
    }

    fn shape(&mut self, path: Vec<Segment>, fill: Option<(Colour, f64)>, pen: Option<Pen>) {
        if !path.is_empty() {
            self.items.push(Item::Shape(Shape { path, fill, pen }));
        }
    }

    /// Draws polylines with rounded joins.
    pub(super) fn polylines(&mut self, lines: &[Vec<Point>], colour: Colour, width: f64, is_dashed: bool) {
        // A point without neighbours would be invisible as a line.
        let (points, lines): (Vec<&Vec<Point>>, Vec<&Vec<Point>>) = lines.iter().partition(|line| line.len() == 1);
        let points: Vec<Point> = points.into_iter().map(|point| point[0]).collect();
        self.discs(&points, 1.2 * width, colour);
        let dash = is_dashed.then(|| DASH.map(|length| length * width.max(0.5)));
        let path = lines.into_iter().flat_map(|line| polyline(line, false)).collect();
        self.shape(path, None, Some(Pen { colour, width, dash, is_round: true }));
    }

    /// Draws separate segments with square ends.
    pub(super) fn segments(&mut self, segments: &[(Point, Point)], colour: Colour, width: f64, is_dashed: bool) {
        let path = segments.iter().flat_map(|&(from, to)| [Segment::Move(from), Segment::Line(to)]).collect();
        let dash = is_dashed.then_some(RULE_DASH);
        self.shape(path, None, Some(Pen { colour, width, dash, is_round: false }));
    }

    /// Fills polygons.
    pub(super) fn polygons(&mut self, polygons: &[Vec<Point>], colour: Colour, opacity: f64) {
        let drawn = polygons.iter().filter(|polygon| polygon.len() >= 3);
        let path = drawn.flat_map(|polygon| polyline(polygon, true)).collect();
        self.shape(path, Some((colour, opacity.clamp(0.0, 1.0))), None);
    }

    /// Fills discs.
    pub(super) fn discs(&mut self, centres: &[Point], radius: f64, colour: Colour) {
        let path = centres.iter().flat_map(|&centre| circle(centre, radius)).collect();
        self.shape(path, Some((colour, 1.0)), None);
    }

    /// Writes a line of text.
    pub(super) fn text(&mut self, text: Text) {
        if !text.text.trim().is_empty() {
            self.items.push(Item::Text(text));
        }
    }
}

fn polyline(points: &[Point], is_closed: bool) -> impl Iterator<Item = Segment> {
    let start = points.first().map(|&first| Segment::Move(first));
    let lines = points.iter().skip(1).map(|&point| Segment::Line(point));
    start.into_iter().chain(lines).chain(is_closed.then_some(Segment::Close))
}

fn circle((x, y): Point, radius: f64) -> Vec<Segment> {
    let at = |(dx, dy): Point| (x + radius * dx, y + radius * dy);
    let mut path = vec![Segment::Move(at((1.0, 0.0)))];
    for (a, b) in
        [((1.0, 0.0), (0.0, 1.0)), ((0.0, 1.0), (-1.0, 0.0)), ((-1.0, 0.0), (0.0, -1.0)), ((0.0, -1.0), (1.0, 0.0))]
    {
        let (from, to) = ((a.0 + QUARTER * b.0, a.1 + QUARTER * b.1), (b.0 + QUARTER * a.0, b.1 + QUARTER * a.1));
        path.push(Segment::Cubic(at(from), at(to), at(b)));
    }
    path.push(Segment::Close);
    path
}

//! Figures: panels of curves, bodies and annotations, as SVG, PNG or PDF.
//!
//! A [`Figure`] is plain data: panels on a grid, each with series, outlines of bodies, reference
//! lines and text. Fields left at their default are chosen from the data: ranges, ticks and
//! colours.
//!
//! ```
//! use stiction_study::figure::{Figure, Panel, Series};
//!
//! let fall = (0..=50).map(|i| f64::from(i) * 0.02).map(|t| (t, 1.0 - 4.905 * t * t)).collect();
//! let figure = Figure {
//!     title: "Free fall".into(),
//!     panels: vec![Panel {
//!         x_label: "time (s)".into(),
//!         y_label: "height (m)".into(),
//!         series: vec![Series { label: "centre".into(), points: fall, ..Series::default() }],
//!         ..Panel::default()
//!     }],
//!     ..Figure::default()
//! };
//! assert!(figure.draw()?.to_svg().starts_with("<svg"));
//! # Ok::<(), stiction_study::figure::FigureError>(())
//! ```
//!
//! A figure is laid out and drawn once, as a [`Drawing`] that is then written in any format. The
//! fonts are part of the program; the text of an SVG consists of outlines, and a PDF contains its
//! letters: a figure is the same on every machine.

mod annotations;
mod axis;
mod colour;
mod draw;
mod drawing;
mod error;
mod font;
mod geometry;
mod layout;
mod pdf;
mod write;

#[cfg(test)]
mod tests;

pub use colour::Colour;
pub use drawing::Drawing;
pub use error::FigureError;
pub use write::{PNG_SCALE, check_extension};

/// A figure: a heading and a grid of panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Heading; nothing is drawn when empty. Broken into lines when it is too long.
    pub title: String,
    /// A second, quieter heading, for the data of the experiment.
    pub subtitle: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Panels beside each other. An impossible number is taken as the nearest possible one.
    pub columns: usize,
    /// Heights of the rows relative to each other; 1 for every row that is not listed, or listed
    /// with a height that is not positive.
    pub row_weights: Vec<f64>,
    /// Width and height, in pixels of the SVG; a PNG has [`PNG_SCALE`] times as many.
    pub size: (u32, u32),
}

impl Default for Figure {
    fn default() -> Self {
        Figure {
            title: String::new(),
            subtitle: String::new(),
            panels: Vec::new(),
            columns: 2,
            row_weights: Vec::new(),
            size: (900, 640),
        }
    }
}

/// One pair of axes and what is drawn on them.
///
/// Drawn in this order: outlines, reference lines, series, marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Heading of the panel.
    pub title: String,
    /// Quantity and unit of the horizontal axis.
    pub x_label: String,
    /// Quantity and unit of the vertical axis.
    pub y_label: String,
    /// Range of the horizontal axis; found from the data when `None`.
    pub x_range: Option<(f64, f64)>,
    /// Range of the vertical axis; found from the data inside `x_range` when `None`.
    pub y_range: Option<(f64, f64)>,
    /// Whether a unit is as long on both axes, as bodies need. A range found from the data is
    /// widened for it; where both ranges are given, the axes become shorter.
    pub equal_aspect: bool,
    /// Whether the horizontal axis is logarithmic. Points that are not positive are left out.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic. Points that are not positive are left out.
    pub log_y: bool,
    /// Words at places of the horizontal axis, instead of numbers.
    pub x_names: Option<Vec<(f64, String)>>,
    /// Words at places of the vertical axis, instead of numbers; without any the axis is bare.
    pub y_names: Option<Vec<(f64, String)>>,
    /// Whether axes, ticks and grid are left out, as in a picture whose coordinates mean nothing.
    pub is_picture: bool,
    /// Curves and point clouds.
    pub series: Vec<Series>,
    /// Bodies, grounds and walls.
    pub outlines: Vec<Outline>,
    /// Vertical and horizontal reference lines.
    pub rules: Vec<Rule>,
    /// Text at points of the data.
    pub marks: Vec<Mark>,
    /// Where the legend goes. Series without a label are not in it.
    pub legend: Legend,
}

/// A curve or a cloud of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub label: String,
    /// Points in the order in which they are joined. One that is not finite, or not positive on a
    /// logarithmic axis, leaves a gap. Long series are thinned to what the pixels can show, and
    /// keep their extremes.
    pub points: Vec<(f64, f64)>,
    /// Colour; the next of [`Colour::SERIES`] when `None`.
    pub colour: Option<Colour>,
    /// Width of the line, in pixels, and measure of the points; a very wide line has square ends.
    pub width: f64,
    /// How the points are drawn.
    pub kind: SeriesKind,
}

impl Default for Series {
    fn default() -> Self {
        Series { label: String::new(), points: Vec::new(), colour: None, width: 1.5, kind: SeriesKind::Line }
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeriesKind {
    /// Joined by straight lines.
    #[default]
    Line,
    /// Held until the next point: a horizontal line, then a vertical one.
    Steps,
    /// Joined by a dashed line.
    Dashed,
    /// Not joined. The shape of the marker differs from series to series.
    Points,
    /// Joined by straight lines, with a marker on each point.
    LineAndPoints,
    /// Not joined, and round in every series.
    Dots,
}

/// A line in the colour, width and dash of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Colour of the line.
    pub colour: Colour,
    /// Width, in pixels.
    pub width: f64,
    /// Whether it is dashed.
    pub dashed: bool,
}

impl Default for Stroke {
    fn default() -> Self {
        Stroke { colour: Colour::INK, width: 1.0, dashed: false }
    }
}

/// The outline of a body, a ground or a wall, in data coordinates.
///
/// An infinite coordinate reaches the edge of the panel and does not widen the axes, as in
/// [`Outline::ground`]. A coordinate that is not a number breaks the outline off.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Corners in order.
    pub points: Vec<(f64, f64)>,
    /// Whether the last corner is joined to the first.
    pub closed: bool,
    /// Colour of the inside, and its opacity in 0..=1.
    pub fill: Option<(Colour, f64)>,
    /// The line along the corners.
    pub stroke: Option<Stroke>,
    /// Whether short slanted lines stand on its right-hand side, as on a fixed ground.
    pub hatched: bool,
    /// Whether it lies in the background: the axes are not widened to show it.
    pub background: bool,
}

impl Default for Outline {
    fn default() -> Self {
        Outline {
            points: Vec::new(),
            closed: true,
            fill: None,
            stroke: Some(Stroke::default()),
            hatched: false,
            background: false,
        }
    }
}

impl Outline {
    /// The rod between `a` and `b` with rounded ends of the given radius.
    pub fn capsule(a: (f64, f64), b: (f64, f64), radius: f64) -> Outline {
        const HALF: usize = 24;
        let across = (b.1 - a.1).atan2(b.0 - a.0) - std::f64::consts::FRAC_PI_2;
        let turn = |i: usize| across + std::f64::consts::PI * i as f64 / HALF as f64;
        let around =
            |centre: (f64, f64), angle: f64| (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin());
        let points = (0..=HALF).map(|i| around(b, turn(i))).chain((HALF..=2 * HALF).map(|i| around(a, turn(i))));
        Outline { points: points.collect(), ..Outline::default() }
    }

    /// A disc.
    pub fn disc(centre: (f64, f64), radius: f64) -> Outline {
        const CORNERS: usize = 72;
        let angles = (0..CORNERS).map(|i| std::f64::consts::TAU * i as f64 / CORNERS as f64);
        let points = angles.map(|angle| (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())).collect();
        Outline { points, ..Outline::default() }
    }

    /// A level ground at height `y` through the whole panel, hatched below.
    pub fn ground(y: f64) -> Outline {
        Outline::wall((f64::NEG_INFINITY, y), (f64::INFINITY, y))
    }

    /// A fixed straight edge, hatched on the right-hand side of the way from `from` to `to`.
    pub fn wall(from: (f64, f64), to: (f64, f64)) -> Outline {
        let stroke = Some(Stroke { colour: Colour::GREY, width: 1.2, dashed: false });
        Outline { points: vec![from, to], closed: false, stroke, hatched: true, ..Outline::default() }
    }
}

/// Text at a point of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// The point, in data coordinates. Outside the panel nothing is drawn.
    pub at: (f64, f64),
    /// The text, on one line.
    pub text: String,
    /// On which side of the point the text stands. Where that would cover something, another side
    /// is taken, or more distance; where every place would cover another text, the mark is left
    /// out.
    pub anchor: Anchor,
    /// Other points that will do, best first, where there is no clear place around the first one.
    pub alternatives: Vec<(f64, f64)>,
    /// Colour of the text.
    pub colour: Colour,
}

/// On which side of its point a text stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// Above the point.
    #[default]
    Above,
    /// To the right of the point.
    Right,
    /// To the left of the point.
    Left,
    /// Below the point.
    Below,
    /// Above and to the right of the point.
    AboveRight,
    /// Above and to the left of the point.
    AboveLeft,
    /// Below and to the right of the point.
    BelowRight,
    /// Below and to the left of the point.
    BelowLeft,
}

impl Anchor {
    /// Every side, the best first.
    pub(crate) const ALL: [Anchor; 8] = [
        Anchor::Above,
        Anchor::Right,
        Anchor::Left,
        Anchor::Below,
        Anchor::AboveRight,
        Anchor::AboveLeft,
        Anchor::BelowRight,
        Anchor::BelowLeft,
    ];

    /// Where the text is as seen from its point: to the right and downwards.
    pub(crate) fn direction(self) -> (f64, f64) {
        match self {
            Anchor::Above => (0.0, -1.0),
            Anchor::Right => (1.0, 0.0),
            Anchor::Left => (-1.0, 0.0),
            Anchor::Below => (0.0, 1.0),
            Anchor::AboveRight => (1.0, -1.0),
            Anchor::AboveLeft => (-1.0, -1.0),
            Anchor::BelowRight => (1.0, 1.0),
            Anchor::BelowLeft => (-1.0, 1.0),
        }
    }
}

/// A vertical or horizontal reference line through the whole panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Where it stands. The axis is widened to show it, unless its range is given.
    pub position: RulePosition,
    /// Text beside it; empty for none.
    pub label: String,
    /// Whether it is dashed.
    pub dashed: bool,
    /// Colour of line and label.
    pub colour: Colour,
}

impl Default for Rule {
    fn default() -> Self {
        Rule { position: RulePosition::Y(0.0), label: String::new(), dashed: true, colour: Colour::GREY }
    }
}

/// Where a reference line stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RulePosition {
    /// A vertical line at this x.
    X(f64),
    /// A horizontal line at this y.
    Y(f64),
}

/// Where the legend of a panel goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Legend {
    /// In rows above the panel, where it covers nothing.
    #[default]
    Above,
    /// Nowhere.
    Hidden,
}

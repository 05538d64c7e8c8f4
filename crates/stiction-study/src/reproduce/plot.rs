//! What the figures of the experiments are made of.

use crate::figure::{Colour, Outline, Panel, Series, SeriesKind, Stroke};

/// Points in the order in which they are joined.
pub(super) type Curve = Vec<(f64, f64)>;

/// A curve in the next colour.
pub(super) fn curve(label: impl Into<String>, points: Curve) -> Series {
    Series { label: label.into(), points, ..Default::default() }
}

/// A curve in a colour.
pub(super) fn coloured(label: impl Into<String>, points: Curve, colour: Colour) -> Series {
    Series { colour: Some(colour), ..curve(label, points) }
}

/// Points that are not joined.
pub(super) fn dots(label: impl Into<String>, points: Curve, colour: Colour) -> Series {
    Series { kind: SeriesKind::Points, width: 2.0, ..coloured(label, points, colour) }
}

/// Curves over the same axes.
pub(super) fn panel(title: impl Into<String>, x_label: &str, y_label: &str, series: Vec<Series>) -> Panel {
    Panel { title: title.into(), x_label: x_label.into(), y_label: y_label.into(), series, ..Default::default() }
}

/// An open line.
pub(super) fn line(points: Curve, colour: Colour, width: f64) -> Outline {
    Outline { points, closed: false, stroke: Some(Stroke { colour, width, dashed: false }), ..Default::default() }
}

/// A body in a colour, filled with a share of it.
pub(super) fn body(outline: Outline, colour: Colour, fill: f64, width: f64) -> Outline {
    let stroke = Some(Stroke { colour, width, dashed: false });
    Outline { fill: Some((colour, fill)), stroke, ..outline }
}

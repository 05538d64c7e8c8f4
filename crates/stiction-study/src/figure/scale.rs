//! From data to pixels: the range of an axis and the map along it.

use super::{Figure, FigureError, Outline, Panel, RulePosition, SeriesKind};

/// Pixels farther out than this are moved in; the numbers stay well conditioned, and nobody sees the difference.
const FARTHEST_PIXEL: f64 = 1e7;
/// Share of the range, or of its decades, that is added on either side of the data.
const PADDING: f64 = 0.05;
/// Data are clipped to this size before a range is made of them, so that its width is a number.
const LARGEST_VALUE: f64 = 1e300;
/// A range narrower than this, relative to its values, is taken as a single value: ticks could not tell its ends apart.
const NARROWEST_RANGE: f64 = 1e-12;

/// Which axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    X,
    Y,
}

/// The map from data to pixels along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) log: bool,
    /// Pixel of `min`.
    pub(super) from: f64,
    /// Pixel of `max`.
    pub(super) to: f64,
}

impl Scale {
    /// The pixel of a value, or `None` when it has none. Infinity lies beyond the edge.
    pub(super) fn pixel(&self, value: f64) -> Option<f64> {
        if value.is_nan() || (self.log && value <= 0.0) {
            return None;
        }
        let share = if self.log {
            (value.log10() - self.min.log10()) / (self.max.log10() - self.min.log10())
        } else {
            (value - self.min) / (self.max - self.min)
        };
        Some((self.from + share * (self.to - self.from)).clamp(-FARTHEST_PIXEL, FARTHEST_PIXEL))
    }
}

/// The least and the greatest of the values an axis has to show.
#[derive(Clone, Copy)]
struct Extent {
    log: bool,
    bounds: Option<(f64, f64)>,
}

impl Extent {
    fn include(&mut self, value: f64) {
        if !value.is_finite() || (self.log && value <= 0.0) {
            return;
        }
        let least = if self.log { 1.0 / LARGEST_VALUE } else { -LARGEST_VALUE };
        let value = value.clamp(least, LARGEST_VALUE);
        self.bounds = Some(self.bounds.map_or((value, value), |(min, max)| (min.min(value), max.max(value))));
    }
}

/// Refuses ranges that cannot be drawn.
pub(super) fn check_ranges(figure: &Figure) -> Result<(), FigureError> {
    for (panel, p) in figure.panels.iter().enumerate() {
        for (axis, range, log) in [('x', p.x_range, p.log_x), ('y', p.y_range, p.log_y)] {
            if let Some((from, to)) = range
                && !((to - from).is_finite() && from < to && (!log || from > 0.0))
            {
                return Err(FigureError::Range { panel, axis, from, to, log });
            }
        }
        if p.equal_aspect && (p.log_x || p.log_y) {
            return Err(FigureError::EqualAspect { panel });
        }
    }
    Ok(())
}

/// The range of one axis: the one that was given, or the one that shows the data.
pub(super) fn range(panel: &Panel, axis: Axis) -> (f64, f64) {
    let (given, log, other_log) = match axis {
        Axis::X => (panel.x_range, panel.log_x, panel.log_y),
        Axis::Y => (panel.y_range, panel.log_y, panel.log_x),
    };
    if let Some(range) = given {
        return range;
    }
    // Where the x range is given, the y range follows the part of the series inside it.
    let window = if axis == Axis::Y { panel.x_range } else { None };
    let pick = |(x, y): (f64, f64)| if axis == Axis::X { (x, y) } else { (y, x) };

    let mut extent = Extent { log, bounds: None };
    for &point in panel.series.iter().flat_map(|series| &series.points) {
        let (value, other) = pick(point);
        let is_seen = window.is_none_or(|(from, to)| (from..=to).contains(&other));
        if other.is_finite() && (!other_log || other > 0.0) && is_seen {
            extent.include(value);
        }
    }
    let foreground = panel.outlines.iter().filter(|outline: &&Outline| !outline.background);
    for &point in foreground.flat_map(|outline| &outline.points) {
        extent.include(pick(point).0);
    }
    for mark in &panel.marks {
        extent.include(pick(mark.at).0);
    }
    for rule in &panel.rules {
        match (rule.position, axis) {
            (RulePosition::X(x), Axis::X) => extent.include(x),
            (RulePosition::Y(y), Axis::Y) => extent.include(y),
            _ => {}
        }
    }

    let is_marked = |kind| matches!(kind, SeriesKind::Points | SeriesKind::LineAndPoints | SeriesKind::Dots);
    let has_markers = panel.series.iter().any(|series| is_marked(series.kind));
    // Curves over time run from edge to edge; markers and bodies need room around them.
    let padding = if axis == Axis::Y || has_markers || !panel.outlines.is_empty() { PADDING } else { 0.0 };
    padded(extent, padding)
}

/// The bounds with room around them, and a range of some width for a single value or none.
fn padded(extent: Extent, padding: f64) -> (f64, f64) {
    match (extent.bounds, extent.log) {
        (None, false) => (0.0, 1.0),
        (None, true) => (1.0, 10.0),
        (Some((min, max)), true) if max / min - 1.0 <= NARROWEST_RANGE => (min / 2.0, max * 2.0),
        (Some((min, max)), true) => {
            let room = 10_f64.powf(padding * (max.log10() - min.log10()));
            ((min / room).max(1.0 / LARGEST_VALUE), (max * room).min(LARGEST_VALUE))
        }
        (Some((min, max)), false) if max - min <= NARROWEST_RANGE * max.abs().max(min.abs()) => {
            let room = if max == 0.0 { 1.0 } else { 0.1 * max.abs() };
            (min - room, max + room)
        }
        (Some((min, max)), false) => (min - padding * (max - min), max + padding * (max - min)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Rule, Series};
    use super::*;

    fn panel(points: Vec<(f64, f64)>) -> Panel {
        Panel { series: vec![Series { points, ..Series::default() }], ..Panel::default() }
    }

    #[test]
    fn a_range_shows_the_data_and_ignores_what_is_not_a_number() {
        let p = panel(vec![(0.0, 1.0), (2.0, 3.0), (f64::NAN, 50.0), (90.0, f64::INFINITY), (1.0, f64::NAN)]);
        assert_eq!(range(&p, Axis::X), (0.0, 2.0));
        assert_eq!(range(&p, Axis::Y), (0.9, 3.1));
    }

    #[test]
    fn degenerate_data_have_a_range_of_some_width() {
        assert_eq!(range(&panel(vec![]), Axis::Y), (0.0, 1.0));
        assert_eq!(range(&panel(vec![(0.0, 0.0), (1.0, 0.0)]), Axis::Y), (-1.0, 1.0));
        assert_eq!(range(&panel(vec![(5.0, -20.0)]), Axis::Y), (-22.0, -18.0));
        assert_eq!(range(&panel(vec![(5.0, -20.0)]), Axis::X), (4.5, 5.5));
        let (min, max) = range(&panel(vec![(0.0, f64::MAX), (1.0, f64::MIN)]), Axis::Y);
        assert!((max - min).is_finite());
        let log = Panel { log_y: true, ..panel(vec![(0.0, 0.0), (1.0, -3.0)]) };
        assert_eq!(range(&log, Axis::Y), (1.0, 10.0));
    }

    #[test]
    fn a_logarithmic_axis_leaves_out_what_is_not_positive_and_pads_by_decades() {
        let p = Panel { log_y: true, ..panel(vec![(0.0, 1e-4), (1.0, 1e6), (2.0, 0.0), (3.0, -7.0)]) };
        let (min, max) = range(&p, Axis::Y);
        // Ten decades, a twentieth of them on either side.
        assert!((min.log10() + 4.5).abs() < 1e-12 && (max.log10() - 6.5).abs() < 1e-12, "{min} {max}");
        let scale = Scale { min: 1e-4, max: 1e6, log: true, from: 0.0, to: 100.0 };
        assert_eq!(scale.pixel(0.0), None);
        assert!((scale.pixel(10.0).unwrap() - 50.0).abs() < 1e-12);
    }

    #[test]
    fn the_y_range_follows_the_x_range() {
        let p = Panel { x_range: Some((0.0, 1.0)), ..panel(vec![(0.0, 0.0), (1.0, 1.0), (2.0, 100.0)]) };
        assert_eq!(range(&p, Axis::Y), (-0.05, 1.05));
    }

    #[test]
    fn infinite_ends_of_a_ground_do_not_widen_the_axes() {
        let p = Panel { outlines: vec![Outline::disc((0.0, 1.0), 1.0), Outline::ground(0.0)], ..Panel::default() };
        let (min, max) = range(&p, Axis::X);
        assert!(min > -1.2 && max < 1.2, "{min} {max}");
        let rules = vec![Rule { position: RulePosition::Y(4.0), ..Rule::default() }];
        assert!(range(&Panel { rules, ..p }, Axis::Y).1 > 4.0);
    }

    #[test]
    fn impossible_ranges_are_refused_with_their_values() {
        let refused =
            |panel: Panel| check_ranges(&Figure { panels: vec![panel], ..Figure::default() }).unwrap_err().to_string();
        assert_eq!(refused(Panel { x_range: Some((2.0, 1.0)), ..Panel::default() }), "panel 0: the x range is 2 to 1");
        assert_eq!(
            refused(Panel { y_range: Some((0.0, 1.0)), log_y: true, ..Panel::default() }),
            "panel 0: the y range is 0 to 1 on a logarithmic axis"
        );
        assert!(refused(Panel { y_range: Some((0.0, f64::NAN)), ..Panel::default() }).contains("0 to NaN"));
        assert!(refused(Panel { equal_aspect: true, log_x: true, ..Panel::default() }).contains("equal aspect"));
    }
}

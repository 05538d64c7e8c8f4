//! Places inside a panel: marks, the labels of reference lines, and the legend go where they cover nothing.

use super::drawing::Text;
use super::font::{Weight, text_width};
use super::geometry::{Point, Rect, clip_segment, polygon_contains};
use super::layout::{
    CAP_HEIGHT, DESCENT, Frame, LEGEND_SIZE, outline_area, outline_lines, pixel, rule_segment, series_lines,
    series_markers, y_label_offset,
};
use super::{Anchor, Colour, Legend, Mark, Panel, Rule, RulePosition};

/// Font size of marks and of the labels of reference lines, in pixels.
const MARK_SIZE: f64 = 11.0;
/// Height of such a text, in pixels.
const MARK_HEIGHT: f64 = (CAP_HEIGHT + DESCENT) * MARK_SIZE;
/// Distance from a point to a text beside it, in pixels.
const MARK_GAP: f64 = 5.0;
/// Distances that are tried, relative to that.
const MARK_DISTANCES: [f64; 3] = [1.0, 2.0, 3.5];
/// Distance that a text keeps from the sides of the panel, in pixels.
const MARK_INSET: f64 = 3.0;
/// Distance between the places along a level line that are tried for its label, in pixels.
const LABEL_STEP: f64 = 12.0;
/// Distance that a text keeps from other texts, in pixels.
const TEXT_ROOM: f64 = 3.0;
/// Distance that a text keeps from markers, in pixels.
const MARKER_ROOM: f64 = 3.0;

/// Length of the sample of a series in a legend, in pixels.
pub(super) const SAMPLE_LENGTH: f64 = 20.0;
/// Distance from that sample to its text, in pixels.
pub(super) const SAMPLE_GAP: f64 = 6.0;
/// Distance between the lines of a legend, in pixels.
pub(super) const LEGEND_LINE: f64 = 17.0;
/// Distance between the columns of a legend, in pixels.
const LEGEND_COLUMN_GAP: f64 = 14.0;
/// Distance of a legend from the axes, in pixels.
const LEGEND_INSET: f64 = 8.0;
/// Distance from a legend above the panel to its axes, in pixels.
const LEGEND_RISE: f64 = 8.0;
/// Empty rim inside the box of a legend, in pixels.
const LEGEND_PADDING: f64 = 4.0;
/// Shares of the free room at the left of a legend and above it: corners first, then the middles of the sides, then the
/// rest of the upper and lower edges.
const LEGEND_PLACES: [(f64, f64); 12] = [
    (1.0, 0.0),
    (0.0, 0.0),
    (1.0, 1.0),
    (0.0, 1.0),
    (1.0, 0.5),
    (0.0, 0.5),
    (0.5, 0.0),
    (0.5, 1.0),
    (0.75, 0.0),
    (0.25, 0.0),
    (0.75, 1.0),
    (0.25, 1.0),
];

/// What a legend or a label may not cover, in pixels.
#[derive(Default)]
pub(super) struct Obstacles {
    lines: Vec<Vec<Point>>,
    markers: Vec<Point>,
    areas: Vec<Vec<Point>>,
    texts: Vec<Rect>,
}

impl Obstacles {
    /// Series, outlines and reference lines of a panel.
    pub(super) fn new(panel: &Panel, frame: &Frame) -> Self {
        let mut obstacles = Obstacles::default();
        for series in &panel.series {
            obstacles.lines.extend(series_lines(series, frame));
            obstacles.markers.extend(series_markers(series, frame));
        }
        for outline in &panel.outlines {
            obstacles.lines.extend(outline_lines(outline, frame));
            if outline.fill.is_some() {
                obstacles.areas.push(outline_area(outline, frame));
            }
        }
        for rule in &panel.rules {
            obstacles.lines.extend(rule_segment(rule.position, frame).map(|(from, to)| vec![from, to]));
        }
        obstacles
    }

    fn hit_text(&self, rect: &Rect) -> bool {
        self.texts.iter().any(|text| text.overlaps(rect))
    }

    fn hit_drawing(&self, rect: &Rect) -> bool {
        let centre = ((rect.left + rect.right) / 2.0, (rect.top + rect.bottom) / 2.0);
        self.markers.iter().any(|&marker| rect.grown(MARKER_ROOM).contains(marker))
            || self.areas.iter().any(|area| polygon_contains(area, centre))
            || self.lines.iter().any(|line| {
                line.windows(2).any(|pair| clip_segment(pair[0], pair[1], rect).is_some())
                    || (line.len() == 1 && rect.contains(line[0]))
            })
    }

    /// The first of the texts that covers nothing, or else the first that covers no other text.
    fn choose(&mut self, texts: &[Text]) -> Option<Text> {
        let covers_no_text = |text: &&Text| !self.hit_text(&text.rect().grown(TEXT_ROOM));
        let is_clear = |text: &&Text| covers_no_text(text) && !self.hit_drawing(&text.rect().grown(1.0));
        let text = texts.iter().find(is_clear).or_else(|| texts.iter().find(covers_no_text))?.clone();
        self.texts.push(text.rect());
        Some(text)
    }
}

/// Marks and labels of reference lines in their places. Those for which there is none are left out.
pub(super) fn annotations(panel: &Panel, frame: &Frame, obstacles: &mut Obstacles) -> Vec<Text> {
    let marks: Vec<Text> = panel.marks.iter().filter_map(|mark| obstacles.choose(&mark_places(mark, frame))).collect();
    let rules: Vec<Text> = panel.rules.iter().filter_map(|rule| obstacles.choose(&label_places(rule, frame))).collect();
    marks.into_iter().chain(rules).collect()
}

/// A text whose box has its corner at the given point.
fn text_at(text: &str, left: f64, top: f64, colour: Colour) -> Text {
    Text { has_halo: true, ..Text::new(text, (left, top + CAP_HEIGHT * MARK_SIZE), MARK_SIZE, colour) }
}

/// Places for a mark around its points, best first; none when it is outside the panel.
fn mark_places(mark: &Mark, frame: &Frame) -> Vec<Text> {
    let plot = &frame.plot;
    let seen = |at: (f64, f64)| pixel(at, frame).filter(|&p| plot.grown(0.5).contains(p));
    if seen(mark.at).is_none() {
        return Vec::new();
    }
    let width = text_width(&mark.text, MARK_SIZE, Weight::Regular);
    let place = |(x, y): Point, anchor: Anchor, distance: f64| {
        let (dx, dy) = match anchor {
            Anchor::Above => (0.0, -1.0),
            Anchor::Below => (0.0, 1.0),
            Anchor::Left => (-1.0, 0.0),
            Anchor::Right => (1.0, 0.0),
            Anchor::AboveLeft => (-1.0, -1.0),
            Anchor::AboveRight => (1.0, -1.0),
            Anchor::BelowLeft => (-1.0, 1.0),
            Anchor::BelowRight => (1.0, 1.0),
        };
        // On a diagonal the corner of the text is as near as its side is elsewhere.
        let gap = distance * if dx != 0.0 && dy != 0.0 { 0.5 * MARK_GAP } else { MARK_GAP };
        let left = x - width / 2.0 + dx * (width / 2.0 + gap);
        let top = y - CAP_HEIGHT * MARK_SIZE / 2.0 + dy * (MARK_HEIGHT / 2.0 + gap);
        let left = left.min(plot.right - width - MARK_INSET).max(plot.left + MARK_INSET);
        text_at(&mark.text, left, top.min(plot.bottom - MARK_HEIGHT).max(plot.top), mark.colour)
    };
    let anchors = [
        mark.anchor,
        Anchor::Above,
        Anchor::Right,
        Anchor::Left,
        Anchor::Below,
        Anchor::AboveRight,
        Anchor::AboveLeft,
        Anchor::BelowRight,
        Anchor::BelowLeft,
    ];
    let points = std::iter::once(mark.at).chain(mark.alternatives.iter().copied()).filter_map(seen);
    let around = |point: Point| {
        MARK_DISTANCES.iter().flat_map(move |&distance| anchors.map(|anchor| place(point, anchor, distance)))
    };
    points.flat_map(around).collect()
}

/// Places for the label of a reference line, best first; none when it has no label or is outside the panel.
fn label_places(rule: &Rule, frame: &Frame) -> Vec<Text> {
    let plot = &frame.plot;
    let Some((start, _)) = rule_segment(rule.position, frame).filter(|_| !rule.label.is_empty()) else {
        return Vec::new();
    };
    let width = text_width(&rule.label, MARK_SIZE, Weight::Regular);
    let mut corners = Vec::new();
    match rule.position {
        // Beside the line, from the top downwards.
        RulePosition::X(_) => {
            let steps = (plot.height() / (MARK_HEIGHT + 2.0)) as usize;
            for top in (0..steps).map(|k| plot.top + 2.0 + k as f64 * (MARK_HEIGHT + 2.0)) {
                corners.extend([(start.0 + MARK_GAP, top), (start.0 - MARK_GAP - width, top)]);
            }
        }
        // Above or below the line, from the right end to the left.
        RulePosition::Y(_) => {
            let steps = ((plot.width() - width) / LABEL_STEP).max(0.0) as usize + 1;
            for left in (0..steps).map(|k| plot.right - width - 2.0 - LABEL_STEP * k as f64) {
                corners.extend([(left, start.1 - 3.0 - MARK_HEIGHT), (left, start.1 + 4.0)]);
            }
        }
    }
    let fits = |&(left, top): &Point| {
        left >= plot.left && left + width <= plot.right && top >= plot.top && top + MARK_HEIGHT <= plot.bottom
    };
    let texts = corners.into_iter().filter(fits).map(|(left, top)| text_at(&rule.label, left, top, rule.colour));
    texts.collect()
}

/// One entry of a legend that has its place.
pub(super) struct LegendEntry {
    /// Which series.
    pub(super) series: usize,
    /// Left end of the sample, at half the height of the letters.
    pub(super) at: Point,
}

/// A legend that has its place.
#[derive(Default)]
pub(super) struct LegendBox {
    pub(super) rect: Rect,
    pub(super) entries: Vec<LegendEntry>,
    /// Whether it lies over the axes and wants a background.
    pub(super) is_inside: bool,
}

pub(super) fn has_legend(panel: &Panel) -> bool {
    panel.legend != Legend::Hidden && panel.series.iter().any(|series| !series.label.is_empty())
}

fn labelled(panel: &Panel) -> Vec<usize> {
    (0..panel.series.len()).filter(|&i| !panel.series[i].label.is_empty()).collect()
}

/// Widths of the columns when the entries of the legend stand row by row in this many columns.
fn legend_columns(panel: &Panel, columns: usize) -> Vec<f64> {
    let mut widths = vec![0.0_f64; columns];
    for (k, &series) in labelled(panel).iter().enumerate() {
        let text = text_width(&panel.series[series].label, LEGEND_SIZE, Weight::Regular);
        widths[k % columns] = widths[k % columns].max(SAMPLE_LENGTH + SAMPLE_GAP + text);
    }
    widths
}

/// Width and height of a legend with this many columns, without the rim, in pixels.
fn legend_size(panel: &Panel, columns: usize) -> (f64, f64) {
    let width = legend_columns(panel, columns).iter().sum::<f64>() + LEGEND_COLUMN_GAP * (columns - 1) as f64;
    (width, labelled(panel).len().div_ceil(columns) as f64 * LEGEND_LINE)
}

/// The number of columns and of lines that a legend of at most this width has.
pub(super) fn legend_grid(panel: &Panel, width: f64) -> (usize, usize) {
    let count = labelled(panel).len();
    let columns = (1..=count).rev().find(|&columns| legend_size(panel, columns).0 <= width).unwrap_or(1);
    (columns, count.div_ceil(columns))
}

fn legend_at(panel: &Panel, columns: usize, left: f64, top: f64, is_inside: bool) -> LegendBox {
    let (width, height) = legend_size(panel, columns);
    let widths = legend_columns(panel, columns);
    let entries = labelled(panel).into_iter().enumerate().map(|(k, series)| {
        let x = left + widths[..k % columns].iter().map(|w| w + LEGEND_COLUMN_GAP).sum::<f64>();
        LegendEntry { series, at: (x, top + LEGEND_LINE * ((k / columns) as f64 + 0.5)) }
    });
    let rect = Rect { left, top, right: left + width, bottom: top + height }.grown(LEGEND_PADDING);
    LegendBox { rect, entries: entries.collect(), is_inside }
}

/// The place of the legend, or `None` when there is none that covers nothing.
pub(super) fn legend(panel: &Panel, frame: &Frame, obstacles: &Obstacles) -> Option<LegendBox> {
    if !has_legend(panel) {
        return Some(LegendBox::default());
    }
    let plot = &frame.plot;
    if frame.legend_above {
        let (columns, lines) = legend_grid(panel, frame.cell.right - plot.left);
        let top = plot.top - LEGEND_RISE - lines as f64 * LEGEND_LINE;
        // A long one starts above the labels of the ticks, but leaves the label of the axis alone.
        let farthest = plot.left - y_label_offset(frame) + LEGEND_RISE;
        let left = (frame.cell.right - legend_size(panel, columns).0).clamp(farthest, plot.left);
        return Some(legend_at(panel, columns, left, top, false));
    }
    let count = labelled(panel).len();
    let mut shapes = vec![1, 2, count];
    shapes.retain(|&columns| columns <= count);
    shapes.dedup();
    let candidates = shapes.iter().flat_map(|&columns| LEGEND_PLACES.map(|place| (columns, place)));
    let boxes = candidates.map(|(columns, (x_share, y_share))| {
        let (width, height) = legend_size(panel, columns);
        let room = plot.grown(-LEGEND_INSET);
        let left = room.left + x_share * (room.width() - width);
        legend_at(panel, columns, left, room.top + y_share * (room.height() - height), true)
    });
    boxes.into_iter().find(|candidate| {
        let rect = candidate.rect.grown(2.0);
        let is_inside = rect.left >= plot.left
            && rect.right <= plot.right + LEGEND_PADDING
            && rect.top >= plot.top - LEGEND_PADDING
            && rect.bottom <= plot.bottom;
        is_inside && !obstacles.hit_text(&rect) && !obstacles.hit_drawing(&rect)
    })
}

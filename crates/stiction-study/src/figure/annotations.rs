//! Texts inside a panel: marks and the labels of reference lines go where they cover nothing.

use super::drawing::{CAP_HEIGHT, DESCENT, Text};
use super::font::{Weight, text_width};
use super::geometry::{Point, Rect, clip_segment};
use super::layout::{Frame, outline_lines, pixel, rule_segment, series_lines, series_markers};
use super::{Anchor, Colour, Mark, Panel, Rule, RulePosition};

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
/// Distance between the places along a reference line that are tried for its label, in pixels.
const LABEL_STEP: f64 = 12.0;
/// Distance that a text keeps from other texts and from markers, in pixels.
const TEXT_ROOM: f64 = 3.0;

/// What a text may not cover, in pixels.
struct Obstacles {
    /// A line of one point is a marker.
    lines: Vec<Vec<Point>>,
    texts: Vec<Rect>,
}

impl Obstacles {
    /// Series, outlines and reference lines of a panel.
    fn new(panel: &Panel, frame: &Frame) -> Self {
        let series = panel.series.iter().flat_map(|series| series_lines(series, frame));
        let markers = panel.series.iter().flat_map(|series| series_markers(series, frame)).map(|marker| vec![marker]);
        let outlines = panel.outlines.iter().flat_map(|outline| outline_lines(outline, frame));
        let rules = panel.rules.iter().filter_map(|rule| rule_segment(rule.position, frame)).map(Vec::from);
        Obstacles { lines: series.chain(markers).chain(outlines).chain(rules).collect(), texts: Vec::new() }
    }

    fn hit_drawing(&self, rect: &Rect) -> bool {
        self.lines.iter().any(|line| match line[..] {
            [marker] => rect.grown(TEXT_ROOM).contains(marker),
            _ => line.windows(2).any(|pair| clip_segment(pair[0], pair[1], rect).is_some()),
        })
    }

    /// The first of the texts that covers nothing, or else the first that covers no other text.
    fn choose(&mut self, texts: Vec<Text>) -> Option<Text> {
        let covers_text = |rect: Rect| self.texts.iter().any(|other| other.overlaps(&rect));
        let mut free: Vec<Text> = texts.into_iter().filter(|text| !covers_text(text.rect().grown(TEXT_ROOM))).collect();
        let clear = free.iter().position(|text| !self.hit_drawing(&text.rect().grown(1.0))).unwrap_or(0);
        let text = (clear < free.len()).then(|| free.swap_remove(clear))?;
        self.texts.push(text.rect());
        Some(text)
    }
}

/// Marks and labels of reference lines in their places. Those for which there is none are left out.
pub(super) fn annotations(panel: &Panel, frame: &Frame) -> Vec<Text> {
    let marks = panel.marks.iter().map(|mark| mark_places(mark, frame));
    let labels = panel.rules.iter().map(|rule| label_places(rule, frame));
    let mut obstacles = Obstacles::new(panel, frame);
    marks.chain(labels).filter_map(|places| obstacles.choose(places)).collect()
}

/// Places for a mark around its points, best first; none when it is outside the panel.
fn mark_places(mark: &Mark, frame: &Frame) -> Vec<Text> {
    let seen = |at: (f64, f64)| pixel(at, frame).filter(|&p| frame.plot.grown(0.5).contains(p));
    if seen(mark.at).is_none() {
        return Vec::new();
    }
    let points = std::iter::once(mark.at).chain(mark.alternatives.iter().copied()).filter_map(seen);
    places(&mark.text, mark.colour, mark.anchor, points, frame)
}

/// Places for the label of a reference line, best first; none when it is outside the panel.
fn label_places(rule: &Rule, frame: &Frame) -> Vec<Text> {
    let plot = &frame.plot;
    let Some([start, _]) = rule_segment(rule.position, frame).filter(|_| !rule.label.is_empty()) else {
        return Vec::new();
    };
    let points: Vec<Point> = match rule.position {
        // Beside the line, from the top downwards.
        RulePosition::X(_) => {
            let steps = (plot.height() / LABEL_STEP) as usize;
            (0..steps).map(|k| (start.0, plot.top + MARK_HEIGHT / 2.0 + LABEL_STEP * k as f64)).collect()
        }
        // Above or below the line, from the right end to the left.
        RulePosition::Y(_) => {
            let half = text_width(&rule.label, MARK_SIZE, Weight::Regular) / 2.0;
            let steps = ((plot.width() - 2.0 * half) / LABEL_STEP).max(0.0) as usize + 1;
            (0..steps).map(|k| (plot.right - half - MARK_INSET - LABEL_STEP * k as f64, start.1)).collect()
        }
    };
    let anchor = if matches!(rule.position, RulePosition::X(_)) { Anchor::Right } else { Anchor::Above };
    places(&rule.label, rule.colour, anchor, points.into_iter(), frame)
}

/// Places for a text around some points of the picture, best first.
fn places(text: &str, colour: Colour, anchor: Anchor, points: impl Iterator<Item = Point>, frame: &Frame) -> Vec<Text> {
    let plot = &frame.plot;
    let width = text_width(text, MARK_SIZE, Weight::Regular);
    let place = |(x, y): Point, anchor: Anchor, distance: f64| {
        let (dx, dy) = anchor.direction();
        // On a diagonal the corner of the text is as near as its side is elsewhere.
        let gap = distance * if dx != 0.0 && dy != 0.0 { 0.5 * MARK_GAP } else { MARK_GAP };
        let left = x - width / 2.0 + dx * (width / 2.0 + gap);
        let top = y - CAP_HEIGHT * MARK_SIZE / 2.0 + dy * (MARK_HEIGHT / 2.0 + gap);
        Text::new(text, (left, top + CAP_HEIGHT * MARK_SIZE), MARK_SIZE, colour).with_halo()
    };
    let sides = || std::iter::once(anchor).chain(Anchor::ALL);
    let around = |point: Point| {
        MARK_DISTANCES.into_iter().flat_map(move |distance| sides().map(move |side| place(point, side, distance)))
    };
    let fits = |text: &Text| {
        let rect = text.rect();
        plot.contains((rect.left - MARK_INSET, rect.top)) && plot.contains((rect.right + MARK_INSET, rect.bottom))
    };
    points.flat_map(around).filter(fits).collect()
}

//! Draws a figure that has been laid out.

use super::drawing::{Drawing, Text};
use super::font::Weight;
use super::geometry::{Point, Rect, clip_polyline};
use super::layout::{
    AXIS_LABEL_SIZE, CAP_HEIGHT, CUT, FACTOR_RISE, Frame, LEGEND_SIZE, LINE_SPACING, PANEL_TITLE_SIZE, TICK_GAP,
    TICK_LABEL_SIZE, TICK_LENGTH, factor_label, fitting_size, layout, outline_area, outline_lines, rule_segment,
    series_lines, series_markers, text_block, x_label_offset, x_label_room, y_label_offset,
};
use super::placement::{SAMPLE_GAP, SAMPLE_LENGTH};
use super::{Colour, Figure, FigureError, Outline, Panel, Series, SeriesKind};

/// Width of the axes, in pixels.
const AXIS_WIDTH: f64 = 0.9;
/// Width of grid lines, in pixels.
const GRID_WIDTH: f64 = 0.7;
/// Length of a tick without label, in pixels.
const MINOR_TICK_LENGTH: f64 = 2.0;
/// Distance between the lines of a hatch, in pixels.
const HATCH_SPACING: f64 = 7.0;
/// Width of the lines of a hatch, in pixels.
const HATCH_WIDTH: f64 = 0.8;
/// Depth of a hatch, in pixels.
const HATCH_DEPTH: f64 = 6.0;
/// Width of the white rim around markers, in pixels.
const MARKER_RIM: f64 = 0.8;
/// Opacity of the background of a legend over the grid.
const LEGEND_OPACITY: f64 = 0.85;

impl Figure {
    /// Finds a place for everything and draws it.
    ///
    /// # Errors
    /// When a range cannot be drawn, there is nothing to draw, or the size leaves no room for the panels.
    pub fn draw(&self) -> Result<Drawing, FigureError> {
        let layout = layout(self)?;
        let mut drawing = Drawing::new(&self.title, self.size);
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        let page = Rect { left: 0.0, top: 0.0, right: width, bottom: height };
        drawing.polygons(&[corners(&page)], Colour::WHITE, 1.0);
        layout.heading.into_iter().for_each(|line| drawing.text(line));
        for (panel, frame) in self.panels.iter().zip(&layout.frames) {
            draw_panel(&mut drawing, panel, frame);
        }
        Ok(drawing)
    }
}

fn corners(rect: &Rect) -> Vec<Point> {
    vec![(rect.left, rect.top), (rect.right, rect.top), (rect.right, rect.bottom), (rect.left, rect.bottom)]
}

/// The colour of a series, its own or the next in turn.
fn colour(panel: &Panel, series: usize) -> Colour {
    panel.series[series].colour.unwrap_or(Colour::SERIES[series % Colour::SERIES.len()])
}

fn draw_panel(drawing: &mut Drawing, panel: &Panel, frame: &Frame) {
    draw_grid(drawing, frame);
    draw_axes(drawing, panel, frame);
    draw_axis_texts(drawing, panel, frame);
    panel.outlines.iter().for_each(|outline| draw_outline(drawing, outline, frame));
    for rule in &panel.rules {
        let segment: Vec<(Point, Point)> = rule_segment(rule.position, frame).into_iter().collect();
        drawing.segments(&segment, rule.colour, 1.0, rule.dashed);
    }
    for (i, series) in panel.series.iter().enumerate() {
        let is_dashed = series.kind == SeriesKind::Dashed;
        drawing.polylines(&series_lines(series, frame), colour(panel, i), series.width, is_dashed);
    }
    for (i, series) in panel.series.iter().enumerate() {
        draw_markers(drawing, &series_markers(series, frame), series, i, colour(panel, i));
    }
    frame.annotations.iter().for_each(|text| drawing.text(text.clone()));
    draw_legend(drawing, panel, frame);
}

/// Light lines at the labelled ticks.
fn draw_grid(drawing: &mut Drawing, frame: &Frame) {
    let plot = &frame.plot;
    let vertical = frame.x_ticks.major.iter().filter_map(|tick| frame.x.pixel(tick.value));
    let horizontal = frame.y_ticks.major.iter().filter_map(|tick| frame.y.pixel(tick.value));
    let lines: Vec<(Point, Point)> = vertical
        .map(|x| ((x, plot.top), (x, plot.bottom)))
        .chain(horizontal.map(|y| ((plot.left, y), (plot.right, y))))
        .collect();
    drawing.segments(&lines, Colour::PALE, GRID_WIDTH, false);
}

/// The two axes with their ticks.
fn draw_axes(drawing: &mut Drawing, panel: &Panel, frame: &Frame) {
    let plot = &frame.plot;
    let mut lines = Vec::new();
    for (ticks, scale, is_x) in [(&frame.x_ticks, &frame.x, true), (&frame.y_ticks, &frame.y, false)] {
        let major = ticks.major.iter().map(|tick| (tick.value, TICK_LENGTH));
        let all = major.chain(ticks.minor.iter().map(|&value| (value, MINOR_TICK_LENGTH)));
        lines.extend(all.filter_map(|(value, length)| {
            let at = scale.pixel(value)?;
            Some(match is_x {
                true => ((at, plot.bottom), (at, plot.bottom + length)),
                false => ((plot.left, at), (plot.left - length, at)),
            })
        }));
    }
    if !panel.is_picture {
        lines.push(((plot.left, plot.top), (plot.left, plot.bottom + AXIS_WIDTH / 2.0)));
        lines.push(((plot.left - AXIS_WIDTH / 2.0, plot.bottom), (plot.right, plot.bottom)));
    }
    drawing.segments(&lines, Colour::INK, AXIS_WIDTH, false);
}

/// The numbers at the ticks, the labels of the axes, and the title of the panel.
fn draw_axis_texts(drawing: &mut Drawing, panel: &Panel, frame: &Frame) {
    let plot = &frame.plot;
    let tick = |label: &str, at: Point, share: f64| Text::new(label, at, TICK_LABEL_SIZE, Colour::INK).aligned(share);
    let below = plot.bottom + TICK_LENGTH + TICK_GAP + CAP_HEIGHT * TICK_LABEL_SIZE + 1.0;
    for (x, label) in frame.x_ticks.major.iter().filter_map(|tick| Some((frame.x.pixel(tick.value)?, &tick.label))) {
        drawing.text(tick(label, (x, below), 0.5));
    }
    for (y, label) in frame.y_ticks.major.iter().filter_map(|tick| Some((frame.y.pixel(tick.value)?, &tick.label))) {
        let at = (plot.left - TICK_LENGTH - TICK_GAP, y + CAP_HEIGHT * TICK_LABEL_SIZE / 2.0);
        drawing.text(tick(label, at, 1.0));
    }
    let label_line = plot.bottom + x_label_offset();
    if let Some(exponent) = frame.y_ticks.factor {
        drawing.text(tick(&factor_label(exponent), (plot.left - TICK_LENGTH, plot.top - FACTOR_RISE), 1.0));
    }
    if let Some(exponent) = frame.x_ticks.factor {
        drawing.text(tick(&factor_label(exponent), (plot.right, label_line), 1.0));
    }

    let middle = ((plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0);
    let x_label = text_block(&panel.x_label, AXIS_LABEL_SIZE, Weight::Regular, x_label_room(frame));
    for (k, line) in x_label.lines.iter().enumerate() {
        let at = (middle.0, label_line + LINE_SPACING * x_label.size * k as f64);
        drawing.text(Text::new(line, at, x_label.size, Colour::INK).aligned(0.5));
    }
    let y_label = text_block(&panel.y_label, AXIS_LABEL_SIZE, Weight::Regular, frame.cell.height());
    for (k, line) in y_label.lines.iter().rev().enumerate() {
        let x = plot.left - y_label_offset(frame) - LINE_SPACING * y_label.size * k as f64;
        let text = Text { upwards: true, ..Text::new(line, (x, middle.1), y_label.size, Colour::INK) }.aligned(0.5);
        // Beside the middle of the axis, or as near to it as the cell allows.
        let rect = text.rect();
        let shift = (frame.cell.top - rect.top).max(0.0) - (rect.bottom - frame.cell.bottom).max(0.0);
        drawing.text(Text { at: (text.at.0, text.at.1 + shift), ..text });
    }
    let title = text_block(&panel.title, PANEL_TITLE_SIZE, Weight::Bold, frame.cell.right - plot.left);
    for (k, line) in title.lines.iter().enumerate() {
        let y = frame.cell.top + CAP_HEIGHT * PANEL_TITLE_SIZE + LINE_SPACING * title.size * k as f64;
        drawing.text(Text { weight: Weight::Bold, ..Text::new(line, (plot.left, y), title.size, Colour::INK) });
    }
}

fn draw_outline(drawing: &mut Drawing, outline: &Outline, frame: &Frame) {
    if let Some((colour, opacity)) = outline.fill {
        drawing.polygons(&[outline_area(outline, frame)], colour, opacity);
    }
    let lines = outline_lines(outline, frame);
    if outline.hatched {
        let colour = outline.stroke.map_or(Colour::GREY, |stroke| stroke.colour);
        let edge = frame.plot.grown(CUT);
        let strokes = lines.iter().flat_map(|line| hatch(line)).flat_map(|(a, b)| clip_polyline(&[a, b], &edge));
        let strokes: Vec<(Point, Point)> = strokes.map(|stroke| (stroke[0], stroke[1])).collect();
        drawing.segments(&strokes, colour, HATCH_WIDTH, false);
    }
    if let Some(stroke) = outline.stroke {
        drawing.polylines(&lines, stroke.colour, stroke.width, stroke.dashed);
    }
}

/// Short lines on the right-hand side of a polyline, leaning back.
fn hatch(line: &[Point]) -> Vec<(Point, Point)> {
    let mut strokes = Vec::new();
    let mut next = 0.0;
    for pair in line.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let length = dx.hypot(dy);
        if length == 0.0 {
            continue;
        }
        // Pixels grow downwards, so that the right-hand side of (1, 0) is (0, 1).
        let (along, right) = ((dx / length, dy / length), (-dy / length, dx / length));
        while next <= length {
            let from = (pair[0].0 + next * along.0, pair[0].1 + next * along.1);
            let to = (from.0 + HATCH_DEPTH * (right.0 - along.0), from.1 + HATCH_DEPTH * (right.1 - along.1));
            strokes.push((from, to));
            next += HATCH_SPACING;
        }
        next -= length;
    }
    strokes
}

/// Markers with a white rim; their shape tells series apart without colour.
fn draw_markers(drawing: &mut Drawing, centres: &[Point], series: &Series, index: usize, colour: Colour) {
    let radius = 1.6 + 0.9 * series.width;
    let rim = (radius + MARKER_RIM, Colour::WHITE);
    let has_rim = series.kind == SeriesKind::LineAndPoints;
    let layers = if has_rim { vec![rim, (radius, colour)] } else { vec![(radius, colour)] };
    for (radius, colour) in layers {
        // Corners at these angles, scaled so that the areas look alike.
        let shape = if series.kind == SeriesKind::Dots { 0 } else { index % 4 };
        let (corners, start, size) = match shape {
            0 => {
                drawing.discs(centres, radius, colour);
                continue;
            }
            1 => (4, std::f64::consts::FRAC_PI_4, 1.25),
            2 => (3, -std::f64::consts::FRAC_PI_2, 1.4),
            _ => (4, 0.0, 1.35),
        };
        let angle = |k: usize| start + std::f64::consts::TAU * k as f64 / corners as f64;
        let around = |c: &Point| {
            (0..corners).map(|k| (c.0 + size * radius * angle(k).cos(), c.1 + size * radius * angle(k).sin())).collect()
        };
        let polygons: Vec<Vec<Point>> = centres.iter().map(around).collect();
        drawing.polygons(&polygons, colour, 1.0);
    }
}

fn draw_legend(drawing: &mut Drawing, panel: &Panel, frame: &Frame) {
    let legend = &frame.legend;
    if legend.is_inside {
        drawing.polygons(&[corners(&legend.rect)], Colour::WHITE, LEGEND_OPACITY);
    }
    for entry in &legend.entries {
        let series = &panel.series[entry.series];
        let (x, y) = entry.at;
        let colour = colour(panel, entry.series);
        if !matches!(series.kind, SeriesKind::Points | SeriesKind::Dots) {
            let sample = vec![(x, y), (x + SAMPLE_LENGTH, y)];
            drawing.polylines(&[sample], colour, series.width, series.kind == SeriesKind::Dashed);
        }
        if !series_markers(series, frame).is_empty() {
            draw_markers(drawing, &[(x + SAMPLE_LENGTH / 2.0, y)], series, entry.series, colour);
        }
        let at = (x + SAMPLE_LENGTH + SAMPLE_GAP, y + CAP_HEIGHT * LEGEND_SIZE / 2.0);
        let size = fitting_size(&series.label, LEGEND_SIZE, Weight::Regular, frame.cell.right - at.0);
        drawing.text(Text::new(&series.label, at, size, Colour::INK));
    }
}

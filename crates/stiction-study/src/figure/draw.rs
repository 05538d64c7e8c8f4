//! Draws a figure that has been laid out.

use super::annotations::annotations;
use super::drawing::{Drawing, Item, Pen};
use super::geometry::{Point, Rect, clip_polyline};
use super::layout::{
    CUT, Frame, LegendEntry, SAMPLE_LENGTH, TICK_LENGTH, layout, legend, outline_area, outline_lines, rule_segment,
    series_lines, series_markers, surroundings,
};
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
/// Lines that are wider than this are bars with square ends, in pixels.
const THICK: f64 = 4.0;
/// Width of the white rim around markers, in pixels.
const MARKER_RIM: f64 = 0.8;

impl Figure {
    /// Finds a place for everything and draws it.
    ///
    /// # Errors
    /// When a range cannot be drawn, or the size leaves no room for the panels, or there are none.
    pub fn draw(&self) -> Result<Drawing, FigureError> {
        let layout = layout(self)?;
        let mut drawing = Drawing { title: self.title.clone(), size: self.size, items: Vec::new() };
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        drawing.polygons(&[vec![(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]], Colour::WHITE, 1.0);
        drawing.items.extend(layout.heading.into_iter().map(Item::Text));
        for (panel, frame) in self.panels.iter().zip(&layout.frames) {
            draw_panel(&mut drawing, panel, frame);
        }
        Ok(drawing)
    }
}

/// The colour of a series, its own or the next in turn.
fn colour(panel: &Panel, series: usize) -> Colour {
    panel.series[series].colour.unwrap_or(Colour::SERIES[series % Colour::SERIES.len()])
}

fn draw_panel(drawing: &mut Drawing, panel: &Panel, frame: &Frame) {
    draw_axes(drawing, panel, frame);
    surroundings(panel, frame).into_iter().for_each(|text| drawing.text(text));
    panel.outlines.iter().for_each(|outline| draw_outline(drawing, outline, frame));
    for rule in &panel.rules {
        let segment: Vec<[Point; 2]> = rule_segment(rule.position, frame).into_iter().collect();
        drawing.lines(&segment, Pen::square(rule.colour, 1.0, rule.dashed));
    }
    for (i, series) in panel.series.iter().enumerate() {
        drawing.lines(&series_lines(series, frame), pen(series, colour(panel, i)));
    }
    for (i, series) in panel.series.iter().enumerate() {
        draw_markers(drawing, &series_markers(series, frame), series, i, colour(panel, i));
    }
    annotations(panel, frame).into_iter().for_each(|text| drawing.text(text));
    for LegendEntry { series: i, at: (x, y), text } in legend(panel, frame) {
        let series = &panel.series[i];
        if !matches!(series.kind, SeriesKind::Points | SeriesKind::Dots) {
            drawing.lines(&[[(x, y), (x + SAMPLE_LENGTH, y)]], pen(series, colour(panel, i)));
        }
        if !series_markers(series, frame).is_empty() {
            draw_markers(drawing, &[(x + SAMPLE_LENGTH / 2.0, y)], series, i, colour(panel, i));
        }
        drawing.text(text);
    }
}

fn pen(series: &Series, colour: Colour) -> Pen {
    match series.width > THICK {
        true => Pen::square(colour, series.width, false),
        false => Pen::round(colour, series.width, series.kind == SeriesKind::Dashed),
    }
}

/// The two axes with their ticks, and light lines at those with labels.
fn draw_axes(drawing: &mut Drawing, panel: &Panel, frame: &Frame) {
    let Rect { left, top, right, bottom } = frame.plot;
    let (mut grid, mut lines) = (Vec::new(), Vec::new());
    for x in frame.x_ticks.major.iter().filter_map(|tick| frame.x.pixel(tick.value)) {
        grid.push([(x, top), (x, bottom)]);
        lines.push([(x, bottom), (x, bottom + TICK_LENGTH)]);
    }
    for y in frame.y_ticks.major.iter().filter_map(|tick| frame.y.pixel(tick.value)) {
        grid.push([(left, y), (right, y)]);
        lines.push([(left, y), (left - TICK_LENGTH, y)]);
    }
    let minor = frame.x_ticks.minor.iter().filter_map(|&value| frame.x.pixel(value));
    lines.extend(minor.map(|x| [(x, bottom), (x, bottom + MINOR_TICK_LENGTH)]));
    let minor = frame.y_ticks.minor.iter().filter_map(|&value| frame.y.pixel(value));
    lines.extend(minor.map(|y| [(left, y), (left - MINOR_TICK_LENGTH, y)]));
    if !panel.is_picture {
        lines.push([(left, top), (left, bottom + AXIS_WIDTH / 2.0)]);
        lines.push([(left - AXIS_WIDTH / 2.0, bottom), (right, bottom)]);
    }
    drawing.lines(&grid, Pen::square(Colour::PALE, GRID_WIDTH, false));
    drawing.lines(&lines, Pen::square(Colour::INK, AXIS_WIDTH, false));
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
        drawing.lines(&strokes.collect::<Vec<_>>(), Pen::square(colour, HATCH_WIDTH, false));
    }
    if let Some(stroke) = outline.stroke {
        drawing.lines(&lines, Pen::round(stroke.colour, stroke.width, stroke.dashed));
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
    // Corners at these angles, scaled so that the areas look alike; the first is as good as round.
    let (corners, start, size) = match if series.kind == SeriesKind::Dots { 0 } else { index % 4 } {
        0 => (24, 0.0, 1.0),
        1 => (4, std::f64::consts::FRAC_PI_4, 1.25),
        2 => (3, -std::f64::consts::FRAC_PI_2, 1.4),
        _ => (4, 0.0, 1.35),
    };
    for (radius, colour) in layers {
        let angle = |k: usize| start + std::f64::consts::TAU * k as f64 / corners as f64;
        let around = |c: &Point| {
            (0..corners).map(|k| (c.0 + size * radius * angle(k).cos(), c.1 + size * radius * angle(k).sin())).collect()
        };
        let polygons: Vec<Vec<Point>> = centres.iter().map(around).collect();
        drawing.polygons(&polygons, colour, 1.0);
    }
}

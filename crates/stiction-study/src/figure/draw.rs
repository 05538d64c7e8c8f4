//! Draws a figure that has been laid out.

use super::canvas::{Align, BOLD, Canvas, Pen, Pencil, text_width};
use super::layout::{
    AXIS_LABEL_SIZE, CAP_HEIGHT, FACTOR_RISE, Frame, LEGEND_SIZE, LINE_SPACING, LegendBox, MARK_SIZE, PANEL_TITLE_SIZE,
    SAMPLE_GAP, SAMPLE_LENGTH, SUBTITLE_SIZE, TICK_GAP, TICK_LABEL_SIZE, TICK_LENGTH, TITLE_SIZE, factor_label,
    fitting_size, layout, legend, outline_area, outline_lines, place_annotations, rule_segment, series_lines,
    series_markers, text_block, x_label_offset, x_label_room, y_label_offset,
};
use super::polyline::{Point, Rect};
use super::{Colour, Figure, FigureError, Outline, Panel, Series, SeriesKind};

/// Width of the axes, in pixels.
const AXIS_WIDTH: f64 = 0.9;
/// Width of grid lines, in pixels.
const GRID_WIDTH: f64 = 0.7;
/// Length of a tick without label, in pixels.
const MINOR_TICK_LENGTH: f64 = 2.0;
/// Lines may stand out of the axes by this much, in pixels, so that one along an edge keeps its width.
const CLIP_RIM: f64 = 1.2;
/// Distance between the lines of a hatch, in pixels.
const HATCH_SPACING: f64 = 7.0;
/// Depth of a hatch, in pixels.
const HATCH_DEPTH: f64 = 6.0;
/// Width of the white rim around markers, in pixels.
const MARKER_RIM: f64 = 0.8;
/// Width of the white rim around text over the data, in pixels.
const HALO: f64 = 2.0;
/// Opacity of the background of a legend over the grid.
const LEGEND_OPACITY: f64 = 0.85;

/// The figure as an SVG document that still contains text.
pub(super) fn picture(figure: &Figure) -> Result<String, FigureError> {
    let layout = layout(figure)?;
    let mut canvas = Canvas::new(figure.size);
    let (width, height) = (f64::from(figure.size.0), f64::from(figure.size.1));
    let page = Rect { left: 0.0, top: 0.0, right: width, bottom: height };
    canvas.polygons(&[corners(&page)], Colour::WHITE, 1.0)?;
    for line in &layout.heading {
        let pencil = if line.is_title {
            Pencil { weight: BOLD, ..Pencil::new(TITLE_SIZE, Colour::INK) }
        } else {
            Pencil::new(SUBTITLE_SIZE, Colour::GREY)
        };
        canvas.text(&line.text, line.at, pencil)?;
    }
    for (panel, frame) in figure.panels.iter().zip(&layout.frames) {
        draw_panel(&mut canvas, panel, frame)?;
    }
    Ok(canvas.finish())
}

fn corners(rect: &Rect) -> Vec<Point> {
    vec![(rect.left, rect.top), (rect.right, rect.top), (rect.right, rect.bottom), (rect.left, rect.bottom)]
}

/// The colour of a series, its own or the next in turn.
fn colour(panel: &Panel, series: usize) -> Colour {
    panel.series[series].colour.unwrap_or(Colour::SERIES[series % Colour::SERIES.len()])
}

fn draw_panel(canvas: &mut Canvas, panel: &Panel, frame: &Frame) -> Result<(), FigureError> {
    let plot = &frame.plot;
    draw_grid(canvas, frame)?;
    draw_axes(canvas, panel, frame)?;

    canvas.begin_clip(&plot.grown(CLIP_RIM));
    for outline in &panel.outlines {
        draw_outline(canvas, outline, frame)?;
    }
    for rule in &panel.rules {
        let segment: Vec<(Point, Point)> = rule_segment(rule.position, frame).into_iter().collect();
        canvas.segments(&segment, Pen::new(rule.colour, 1.0), rule.dashed)?;
    }
    for (i, series) in panel.series.iter().enumerate() {
        let pen = Pen::new(colour(panel, i), series.width);
        canvas.polylines(&series_lines(series, frame), pen, series.kind == SeriesKind::Dashed)?;
    }
    canvas.end_clip();

    // Markers on the edge of the axes are shown whole.
    for (i, series) in panel.series.iter().enumerate() {
        draw_markers(canvas, &series_markers(series, frame), series, i, colour(panel, i))?;
    }

    let annotations = place_annotations(panel, frame);
    for (rule, text) in panel.rules.iter().zip(&annotations.rules) {
        if let Some(text) = text {
            canvas.text(&rule.label, text.at, Pencil { halo: HALO, ..Pencil::new(MARK_SIZE, rule.colour) })?;
        }
    }
    for (mark, text) in panel.marks.iter().zip(&annotations.marks) {
        if let Some(text) = text {
            canvas.text(&mark.text, text.at, Pencil { halo: HALO, ..Pencil::new(MARK_SIZE, mark.colour) })?;
        }
    }
    draw_legend(canvas, panel, frame, &legend(panel, frame).unwrap_or_default())
}

/// Light lines at the labelled ticks.
fn draw_grid(canvas: &mut Canvas, frame: &Frame) -> Result<(), FigureError> {
    let plot = &frame.plot;
    let vertical = frame.x_ticks.major.iter().filter_map(|tick| frame.x.pixel(tick.value));
    let horizontal = frame.y_ticks.major.iter().filter_map(|tick| frame.y.pixel(tick.value));
    let lines: Vec<(Point, Point)> = vertical
        .map(|x| ((x, plot.top), (x, plot.bottom)))
        .chain(horizontal.map(|y| ((plot.left, y), (plot.right, y))))
        .collect();
    canvas.segments(&lines, Pen::new(Colour::PALE, GRID_WIDTH), false)
}

/// The two axes with ticks, labels and titles.
fn draw_axes(canvas: &mut Canvas, panel: &Panel, frame: &Frame) -> Result<(), FigureError> {
    let plot = &frame.plot;
    let pen = Pen::new(Colour::INK, AXIS_WIDTH);
    let mut lines = Vec::new();
    for (ticks, length) in [
        (frame.x_ticks.major.iter().map(|tick| tick.value).collect::<Vec<_>>(), TICK_LENGTH),
        (frame.x_ticks.minor.clone(), MINOR_TICK_LENGTH),
    ] {
        let pixels = ticks.into_iter().filter_map(|value| frame.x.pixel(value));
        lines.extend(pixels.map(|x| ((x, plot.bottom), (x, plot.bottom + length))));
    }
    for (ticks, length) in [
        (frame.y_ticks.major.iter().map(|tick| tick.value).collect::<Vec<_>>(), TICK_LENGTH),
        (frame.y_ticks.minor.clone(), MINOR_TICK_LENGTH),
    ] {
        let pixels = ticks.into_iter().filter_map(|value| frame.y.pixel(value));
        lines.extend(pixels.map(|y| ((plot.left, y), (plot.left - length, y))));
    }
    if !panel.is_picture {
        lines.push(((plot.left, plot.top), (plot.left, plot.bottom + AXIS_WIDTH / 2.0)));
        lines.push(((plot.left - AXIS_WIDTH / 2.0, plot.bottom), (plot.right, plot.bottom)));
    }
    canvas.segments(&lines, pen, false)?;

    let tick_pencil = Pencil::new(TICK_LABEL_SIZE, Colour::INK);
    let below = plot.bottom + TICK_LENGTH + TICK_GAP + CAP_HEIGHT * TICK_LABEL_SIZE + 1.0;
    for tick in &frame.x_ticks.major {
        if let Some(x) = frame.x.pixel(tick.value) {
            canvas.label(&tick.label, (x, below), Pencil { align: Align::Middle, ..tick_pencil })?;
        }
    }
    for tick in &frame.y_ticks.major {
        if let Some(y) = frame.y.pixel(tick.value) {
            let at = (plot.left - TICK_LENGTH - TICK_GAP, y + CAP_HEIGHT * TICK_LABEL_SIZE / 2.0);
            canvas.label(&tick.label, at, Pencil { align: Align::End, ..tick_pencil })?;
        }
    }
    let label_line = plot.bottom + x_label_offset();
    if let Some(exponent) = frame.y_ticks.factor {
        let at = (plot.left - TICK_LENGTH, plot.top - FACTOR_RISE);
        canvas.label(&factor_label(exponent), at, Pencil { align: Align::End, ..tick_pencil })?;
    }
    if let Some(exponent) = frame.x_ticks.factor {
        let label = factor_label(exponent);
        canvas.label(&label, (plot.right, label_line), Pencil { align: Align::End, ..tick_pencil })?;
    }

    let middle = ((plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0);
    let x_label = text_block(&panel.x_label, AXIS_LABEL_SIZE, x_label_room(frame));
    let x_pencil = Pencil { align: Align::Middle, ..Pencil::new(x_label.size, Colour::INK) };
    for (k, line) in x_label.lines.iter().enumerate() {
        canvas.text(line, (middle.0, label_line + LINE_SPACING * x_label.size * k as f64), x_pencil)?;
    }
    let y_label = text_block(&panel.y_label, AXIS_LABEL_SIZE, frame.cell.height());
    let y_pencil = Pencil { align: Align::Middle, upwards: true, ..Pencil::new(y_label.size, Colour::INK) };
    // Beside the middle of the axis, or as near to it as the cell allows.
    let longest = y_label.lines.iter().map(|line| text_width(line, y_label.size)).fold(0.0, f64::max);
    let (highest, lowest) = (frame.cell.top + longest / 2.0, frame.cell.bottom - longest / 2.0);
    let y_middle = middle.1.min(lowest).max(highest);
    for (k, line) in y_label.lines.iter().rev().enumerate() {
        let x = plot.left - y_label_offset(frame) - LINE_SPACING * y_label.size * k as f64;
        canvas.text(line, (x, y_middle), y_pencil)?;
    }
    let title = text_block(&panel.title, PANEL_TITLE_SIZE, frame.cell.right - plot.left);
    let title_pencil = Pencil { weight: BOLD, ..Pencil::new(title.size, Colour::INK) };
    for (k, line) in title.lines.iter().enumerate() {
        let y = frame.cell.top + CAP_HEIGHT * PANEL_TITLE_SIZE + LINE_SPACING * title.size * k as f64;
        canvas.text(line, (plot.left, y), title_pencil)?;
    }
    Ok(())
}

fn draw_outline(canvas: &mut Canvas, outline: &Outline, frame: &Frame) -> Result<(), FigureError> {
    if let Some((colour, opacity)) = outline.fill {
        canvas.polygons(&[outline_area(outline, frame)], colour, opacity)?;
    }
    let lines = outline_lines(outline, frame);
    if outline.hatched {
        let colour = outline.stroke.map_or(Colour::GREY, |stroke| stroke.colour);
        let strokes: Vec<(Point, Point)> = lines.iter().flat_map(|line| hatch(line)).collect();
        canvas.segments(&strokes, Pen::new(colour, 0.8), false)?;
    }
    if let Some(stroke) = outline.stroke {
        canvas.polylines(&lines, Pen::new(stroke.colour, stroke.width), stroke.dashed)?;
    }
    Ok(())
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
fn draw_markers(
    canvas: &mut Canvas,
    centres: &[Point],
    series: &Series,
    index: usize,
    colour: Colour,
) -> Result<(), FigureError> {
    let radius = 1.6 + 0.9 * series.width;
    let rim = (radius + MARKER_RIM, Colour::WHITE);
    let layers = if series.kind == SeriesKind::Points { vec![(radius, colour)] } else { vec![rim, (radius, colour)] };
    for (radius, colour) in layers {
        // Corners at these angles, scaled so that the areas look alike.
        let (corners, start, size) = match index % 4 {
            0 => {
                canvas.discs(centres, radius, colour)?;
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
        canvas.polygons(&polygons, colour, 1.0)?;
    }
    Ok(())
}

fn draw_legend(canvas: &mut Canvas, panel: &Panel, frame: &Frame, legend: &LegendBox) -> Result<(), FigureError> {
    if legend.is_inside {
        canvas.polygons(&[corners(&legend.rect)], Colour::WHITE, LEGEND_OPACITY)?;
    }
    for entry in &legend.entries {
        let series = &panel.series[entry.series];
        let (x, y) = entry.at;
        let colour = colour(panel, entry.series);
        if series.kind != SeriesKind::Points {
            let sample = vec![(x, y), (x + SAMPLE_LENGTH, y)];
            canvas.polylines(&[sample], Pen::new(colour, series.width), series.kind == SeriesKind::Dashed)?;
        }
        if matches!(series.kind, SeriesKind::Points | SeriesKind::LineAndPoints) {
            draw_markers(canvas, &[(x + SAMPLE_LENGTH / 2.0, y)], series, entry.series, colour)?;
        }
        let at = (x + SAMPLE_LENGTH + SAMPLE_GAP, y + CAP_HEIGHT * LEGEND_SIZE / 2.0);
        let size = fitting_size(&series.label, LEGEND_SIZE, frame.cell.right - at.0);
        canvas.text(&series.label, at, Pencil::new(size, Colour::INK))?;
    }
    Ok(())
}

//! Where everything goes: the grid of panels, and in each the axes with the texts around them.
//!
//! The room that the texts need depends on the ticks, and the ticks depend on the room that is
//! left. Both are found by going around a few times. Panels of a column share their left and right
//! edges, panels of a row their lower one.

use super::axis::{self, Axis, Scale, Ticks, written_power};
use super::drawing::{CAP_HEIGHT, DESCENT, Text};
use super::font::{Weight, wrapped};
use super::geometry::{Point, Rect, clip_polygon, clip_polyline, thinned};
use super::{Colour, Figure, FigureError, Legend, Outline, Panel, RulePosition, Series, SeriesKind};

/// Font sizes, in pixels: the figure's title and subtitle, titles of panels, labels of axes, and
/// those of ticks and legends.
const TITLE_SIZE: f64 = 17.0;
const SUBTITLE_SIZE: f64 = 12.5;
const PANEL_TITLE_SIZE: f64 = 13.0;
const AXIS_LABEL_SIZE: f64 = 12.0;
const TICK_LABEL_SIZE: f64 = 11.0;
/// Distance from one line of text to the next, in em.
const LINE_SPACING: f64 = 1.4;
/// Distance between title, legend, axes, numbers and label, in pixels.
const GAP: f64 = 8.0;
/// Distance between texts beside each other, in pixels.
const TEXT_GAP: f64 = 14.0;
/// Length of a tick, and distance from its end to its label, in pixels.
pub(super) const TICK_LENGTH: f64 = 4.0;
/// Length of the sample of a series in a legend, in pixels.
pub(super) const SAMPLE_LENGTH: f64 = 20.0;
/// Distance from that sample to its text, in pixels.
const SAMPLE_GAP: f64 = 6.0;
/// Distance between the lines of a legend, in pixels.
const LEGEND_LINE: f64 = 17.0;

/// Empty rim of the figure, in pixels.
const MARGIN: f64 = 20.0;
/// Distance between panels, in pixels.
const PANEL_GAP: f64 = 26.0;
/// Distance between the heading and the panels, in pixels.
const HEADING_GAP: f64 = 18.0;
/// The shortest axis that is drawn, in pixels.
const SHORTEST_AXIS: f64 = 40.0;
/// The longest side of a figure, in pixels: its PNG has 64 million of them.
const LONGEST_SIDE: u32 = 4000;

/// Smallest distance between ticks of a horizontal axis and of a vertical one, in pixels.
const TICK_SPACING: (f64, f64) = (56.0, 34.0);

/// Room below the lowest ground where there is some to spare, in pixels: enough for its hatch.
const GROUND_DEPTH: f64 = 10.0;
/// How far a body may dip into the ground unnoticed, relative to the height of the picture.
const UNSEEN_DIP: f64 = 1e-3;
/// Times that room and ticks are computed from each other.
const ROUNDS: usize = 4;
/// Width of the columns to which series are thinned, in pixels: one pixel of a PNG.
const THINNING_COLUMN: f64 = 0.5;
/// Lines are cut off this far outside the axes, in pixels: one along an edge keeps its width.
pub(super) const CUT: f64 = 1.2;

/// A pair of axes that has its place.
pub(super) struct Frame {
    /// The rectangle between the axes.
    pub(super) plot: Rect,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) x_ticks: Ticks,
    pub(super) y_ticks: Ticks,
    /// The room for the axes and everything around them.
    pub(super) cell: Rect,
}

/// Everything that has its place before drawing starts.
pub(super) struct Layout {
    pub(super) heading: Vec<Text>,
    pub(super) frames: Vec<Frame>,
}

/// Finds a place for everything.
pub(super) fn layout(figure: &Figure) -> Result<Layout, FigureError> {
    let count = figure.panels.len();
    let (width, height) = figure.size;
    if count == 0 {
        return Err(FigureError::NoPanels);
    }
    if width > LONGEST_SIDE || height > LONGEST_SIDE {
        return Err(FigureError::TooLarge { width, height, most: LONGEST_SIDE });
    }
    axis::check_ranges(figure)?;

    let (page_width, page_height) = (f64::from(width), f64::from(height));
    let mut heading = Vec::new();
    let mut top = MARGIN;
    for (text, size, weight, colour) in [
        (&figure.title, TITLE_SIZE, Weight::Bold, Colour::INK),
        (&figure.subtitle, SUBTITLE_SIZE, Weight::Regular, Colour::GREY),
    ] {
        for line in wrapped(text, size, weight, page_width - 2.0 * MARGIN) {
            top += size * if heading.is_empty() { CAP_HEIGHT } else { LINE_SPACING };
            heading.push(Text { weight, ..Text::new(&line, (MARGIN, top), size, colour) });
        }
    }
    if !heading.is_empty() {
        top += HEADING_GAP;
    }
    let columns = figure.columns.clamp(1, count);
    let cells =
        cells(figure, columns, Rect { left: MARGIN, top, right: page_width - MARGIN, bottom: page_height - MARGIN });

    let ranges = figure.panels.iter().map(|panel| (axis::range(panel, Axis::X), axis::range(panel, Axis::Y)));
    let ranges: Vec<_> = ranges.collect();
    // The room around the axes: how far what stands there reaches out.
    let mut insets = vec![Rect { left: 50.0, top: 24.0, right: 12.0, bottom: 44.0 }; count];
    for round in 0.. {
        let axes = figure.panels.iter().zip(&ranges).zip(cells.iter().zip(&insets));
        let frames = axes.map(|((panel, ranges), (cell, insets))| frame(panel, *ranges, cell, insets));
        let frames: Option<Vec<Frame>> = frames.collect();
        let frames = frames.ok_or(FigureError::TooSmall { width, height, panels: count })?;
        if round == ROUNDS {
            return Ok(Layout { heading, frames });
        }
        let needed: Vec<Rect> = figure.panels.iter().zip(&frames).map(|(panel, frame)| room(panel, frame)).collect();
        for (i, inset) in insets.iter_mut().enumerate() {
            let largest = |panels: &mut dyn Iterator<Item = usize>, side: fn(&Rect) -> f64| {
                panels.map(|panel| side(&needed[panel])).fold(0.0, f64::max)
            };
            let same_column = || (i % columns..count).step_by(columns);
            let same_row = || i / columns * columns..((i / columns + 1) * columns).min(count);
            *inset = Rect {
                left: largest(&mut same_column(), |room| room.left),
                top: needed[i].top,
                right: largest(&mut same_column(), |room| room.right),
                bottom: largest(&mut same_row(), |room| room.bottom),
            };
        }
    }
    unreachable!("the last round has returned")
}

/// The grid of panels on the page below the heading.
fn cells(figure: &Figure, columns: usize, page: Rect) -> Vec<Rect> {
    let count = figure.panels.len();
    let rows = count.div_ceil(columns);
    let cell_width = (page.width() - PANEL_GAP * (columns - 1) as f64) / columns as f64;
    let weight = |row: usize| figure.row_weights.get(row).copied().filter(|w| *w > 0.0 && w.is_finite()).unwrap_or(1.0);
    let weights: Vec<f64> = (0..rows).map(weight).collect();
    let unit_height = (page.height() - PANEL_GAP * (rows - 1) as f64) / weights.iter().sum::<f64>();
    let cell = |panel: usize| {
        let (row, column) = (panel / columns, panel % columns);
        let left = page.left + column as f64 * (cell_width + PANEL_GAP);
        let top = page.top + weights[..row].iter().map(|weight| weight * unit_height + PANEL_GAP).sum::<f64>();
        // Of two columns, a panel that is alone in the last row has both.
        let is_alone = columns == 2 && column == 0 && panel + 1 == count;
        let right = if is_alone { page.right } else { left + cell_width };
        Rect { left, top, right, bottom: top + weights[row] * unit_height }
    };
    (0..count).map(cell).collect()
}

/// The axes inside a cell with the given room around them, or `None` when they become too short.
fn frame(
    panel: &Panel,
    (mut x_range, mut y_range): ((f64, f64), (f64, f64)),
    cell: &Rect,
    insets: &Rect,
) -> Option<Frame> {
    let mut plot = Rect {
        left: cell.left + insets.left,
        top: cell.top + insets.top,
        right: cell.right - insets.right,
        bottom: cell.bottom - insets.bottom,
    };
    if plot.width() < SHORTEST_AXIS || plot.height() < SHORTEST_AXIS {
        return None;
    }
    if panel.equal_aspect {
        let (x_span, y_span) = (x_range.1 - x_range.0, y_range.1 - y_range.0);
        let pixels_per_unit = (plot.width() / x_span).min(plot.height() / y_span);
        let spare_x = plot.width() / pixels_per_unit - x_span;
        let spare_y = plot.height() / pixels_per_unit - y_span;
        match panel.x_range {
            None => x_range = (x_range.0 - spare_x / 2.0, x_range.1 + spare_x / 2.0),
            Some(_) => plot.right -= spare_x * pixels_per_unit,
        }
        let ground_depth = GROUND_DEPTH / pixels_per_unit;
        let below = if has_lowest_ground(panel) { spare_y.min(ground_depth) } else { spare_y / 2.0 };
        match panel.y_range {
            None => y_range = (y_range.0 - below, y_range.1 + spare_y - below),
            Some(_) => plot.bottom -= spare_y * pixels_per_unit,
        }
    }
    let x = Scale { min: x_range.0, max: x_range.1, log: panel.log_x, from: plot.left, to: plot.right };
    let y = Scale { min: y_range.0, max: y_range.1, log: panel.log_y, from: plot.bottom, to: plot.top };

    let choose = |scale: &Scale, names: &Option<Vec<(f64, String)>>, most: usize| match names {
        _ if panel.is_picture => Ticks::default(),
        Some(names) => axis::named(scale.min, scale.max, names),
        None if scale.log => axis::logarithmic(scale.min, scale.max, most),
        None => axis::linear(scale.min, scale.max, most),
    };
    let y_ticks = choose(&y, &panel.y_names, (plot.height() / TICK_SPACING.1) as usize + 1);
    let most = (plot.width() / TICK_SPACING.0) as usize + 1;
    // Neighbouring labels have to keep their distance.
    let fits = |ticks: &Ticks| {
        let spans = ticks.major.iter().map(|tick| {
            let half = Text::new(&tick.label, (0.0, 0.0), TICK_LABEL_SIZE, Colour::INK).width() / 2.0;
            (x.pixel(tick.value).unwrap_or(plot.left), half)
        });
        let spans: Vec<(f64, f64)> = spans.collect();
        spans.windows(2).all(|w| w[0].0 + w[0].1 + TEXT_GAP <= w[1].0 - w[1].1)
    };
    let mut choices = (2..=most).rev().map(|most| choose(&x, &panel.x_names, most));
    let x_ticks = choices.find(fits).unwrap_or_else(|| choose(&x, &panel.x_names, 2));
    Some(Frame { plot, x, y, x_ticks, y_ticks, cell: *cell })
}

/// Whether the lowest thing in the panel is a ground from edge to edge: what is below it needs no
/// room. Bodies may dip into it by what nobody sees.
fn has_lowest_ground(panel: &Panel) -> bool {
    let is_ground = |outline: &&Outline| outline.points.iter().all(|point| point.0.is_infinite());
    let (grounds, bodies): (Vec<_>, Vec<_>) = panel.outlines.iter().partition(is_ground);
    let heights = |outlines: &[&Outline]| {
        let heights = outlines.iter().flat_map(|outline| &outline.points).map(|point| point.1);
        heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)))
    };
    let ((ground, _), (low, high)) = (heights(&grounds), heights(&bodies));
    ground < f64::INFINITY && ground - low <= UNSEEN_DIP * (high.max(ground) - ground)
}

/// How far what stands around the axes reaches out, on each side.
fn room(panel: &Panel, frame: &Frame) -> Rect {
    let plot = &frame.plot;
    let texts = surroundings(panel, frame).into_iter().map(|text| text.rect());
    let samples = legend(panel, frame).into_iter().map(|entry| entry.text.rect());
    let start = Rect { left: 4.0, top: 4.0, right: 4.0, bottom: 4.0 };
    texts.chain(samples).fold(start, |room, text| Rect {
        left: room.left.max(plot.left - text.left),
        top: room.top.max(plot.top - text.top),
        // The last label of an axis may stand out; whatever is longer has the cell.
        right: room.right.max((text.right - plot.right).min(text.width() / 2.0)),
        bottom: room.bottom.max(text.bottom - plot.bottom),
    })
}

/// The texts around the axes: numbers at the ticks, labels, the title.
pub(super) fn surroundings(panel: &Panel, frame: &Frame) -> Vec<Text> {
    let plot = &frame.plot;
    let text = |text: &str, at: Point, size: f64| Text::new(text, at, size, Colour::INK);
    let mut texts = Vec::new();
    let below = plot.bottom + 2.0 * TICK_LENGTH + CAP_HEIGHT * TICK_LABEL_SIZE;
    for tick in &frame.x_ticks.major {
        let at = (frame.x.pixel(tick.value).unwrap_or(plot.left), below);
        texts.push(text(&tick.label, at, TICK_LABEL_SIZE).aligned(0.5));
    }
    let mut left = plot.left - 2.0 * TICK_LENGTH;
    for tick in &frame.y_ticks.major {
        let y = frame.y.pixel(tick.value).unwrap_or(plot.bottom) + CAP_HEIGHT * TICK_LABEL_SIZE / 2.0;
        let label = text(&tick.label, (plot.left - 2.0 * TICK_LENGTH, y), TICK_LABEL_SIZE).aligned(1.0);
        left = left.min(label.at.0);
        texts.push(label);
    }
    let middle = ((plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0);
    let lines = |label: &str, ticks: &Ticks, length: f64| {
        wrapped(&with_factor(label, ticks.factor), AXIS_LABEL_SIZE, Weight::Regular, length)
    };
    let mut y = below + GAP + CAP_HEIGHT * AXIS_LABEL_SIZE;
    for line in lines(&panel.x_label, &frame.x_ticks, plot.width()) {
        texts.push(text(&line, (middle.0, y), AXIS_LABEL_SIZE).fitted(plot.width()).aligned(0.5));
        y += LINE_SPACING * AXIS_LABEL_SIZE;
    }
    let mut x = left - GAP;
    for line in lines(&panel.y_label, &frame.y_ticks, frame.cell.height()).iter().rev() {
        let line = Text { upwards: true, ..text(line, (x, middle.1), AXIS_LABEL_SIZE) }.aligned(0.5);
        // Beside the middle of the axis, or as near to it as the cell allows.
        let rect = line.rect();
        let shift = (frame.cell.top - rect.top).max(0.0) - (rect.bottom - frame.cell.bottom).max(0.0);
        texts.push(Text { at: (line.at.0, line.at.1 + shift), ..line });
        x -= LINE_SPACING * AXIS_LABEL_SIZE;
    }
    let samples = legend(panel, frame).into_iter().map(|entry| entry.text.rect().top);
    let top = samples.fold(plot.top - TICK_LABEL_SIZE / 2.0, f64::min);
    let mut y = top - GAP - DESCENT * PANEL_TITLE_SIZE;
    for line in wrapped(&panel.title, PANEL_TITLE_SIZE, Weight::Bold, frame.cell.right - plot.left).iter().rev() {
        let title = Text { weight: Weight::Bold, ..text(line, (plot.left, y), PANEL_TITLE_SIZE) };
        texts.push(title.fitted(frame.cell.right - plot.left));
        y -= LINE_SPACING * PANEL_TITLE_SIZE;
    }
    texts
}

/// The label of an axis whose numbers have a common power of ten, which stands before the unit.
fn with_factor(label: &str, factor: Option<i32>) -> String {
    match (factor.map(written_power), label.split_once(" (")) {
        (None, _) => label.to_owned(),
        (Some(power), Some((quantity, unit))) => format!("{quantity} ({power} {unit}"),
        (Some(power), None) => format!("{label} ({power})"),
    }
}

/// One entry of a legend that has its place.
pub(super) struct LegendEntry {
    /// Which series.
    pub(super) series: usize,
    /// Left end of the sample, at half the height of the letters.
    pub(super) at: Point,
    pub(super) text: Text,
}

/// The legend above the axes, row by row in as many columns as there is room for.
pub(super) fn legend(panel: &Panel, frame: &Frame) -> Vec<LegendEntry> {
    let labelled = panel.series.iter().enumerate().filter(|(_, series)| !series.label.is_empty());
    let labelled: Vec<(usize, &Series)> = labelled.filter(|_| panel.legend != Legend::Hidden).collect();
    let room = frame.cell.right - frame.plot.left;
    let text = |series: &Series| Text::new(&series.label, (0.0, 0.0), TICK_LABEL_SIZE, Colour::INK);
    let widths = |columns: usize| {
        let mut widths = vec![0.0_f64; columns];
        for (k, (_, series)) in labelled.iter().enumerate() {
            widths[k % columns] = widths[k % columns].max(SAMPLE_LENGTH + SAMPLE_GAP + text(series).width());
        }
        widths
    };
    let fits = |widths: &Vec<f64>| widths.iter().map(|width| width + TEXT_GAP).sum::<f64>() <= room + TEXT_GAP;
    let widths = (1..=labelled.len()).rev().map(widths).find(fits).unwrap_or_else(|| vec![room]);
    let columns = widths.len();
    let top = frame.plot.top - GAP - labelled.len().div_ceil(columns) as f64 * LEGEND_LINE;
    let entry = |(k, (series, shown)): (usize, (usize, &Series))| {
        let x = frame.plot.left + widths[..k % columns].iter().map(|width| width + TEXT_GAP).sum::<f64>();
        let y = top + LEGEND_LINE * ((k / columns) as f64 + 0.5);
        let at = (x + SAMPLE_LENGTH + SAMPLE_GAP, y + CAP_HEIGHT * TICK_LABEL_SIZE / 2.0);
        LegendEntry { series, at: (x, y), text: Text { at, ..text(shown) }.fitted(frame.cell.right - at.0) }
    };
    labelled.into_iter().enumerate().map(entry).collect()
}

/// The samples of a series, joined, thinned and cut off outside the axes.
pub(super) fn series_lines(series: &Series, frame: &Frame) -> Vec<Vec<Point>> {
    if matches!(series.kind, SeriesKind::Points | SeriesKind::Dots) {
        return Vec::new();
    }
    let mut pieces: Vec<Vec<Point>> = vec![Vec::new()];
    for &point in &series.points {
        let piece = pieces.last_mut().expect("there is a first piece");
        match (pixel(point, frame), piece.last()) {
            (Some((x, y)), Some(&(_, held))) if series.kind == SeriesKind::Steps => piece.extend([(x, held), (x, y)]),
            (Some(at), _) => piece.push(at),
            (None, Some(_)) => pieces.push(Vec::new()),
            (None, None) => {}
        }
    }
    let edge = frame.plot.grown(CUT);
    pieces.iter().flat_map(|piece| clip_polyline(&thinned(piece, THINNING_COLUMN), &edge)).collect()
}

/// The markers of a series inside the axes, one per pixel of a PNG.
pub(super) fn series_markers(series: &Series, frame: &Frame) -> Vec<Point> {
    if !matches!(series.kind, SeriesKind::Points | SeriesKind::LineAndPoints | SeriesKind::Dots) {
        return Vec::new();
    }
    let mut taken = std::collections::HashSet::new();
    let inside = frame.plot.grown(0.5);
    let pixels = series.points.iter().filter_map(|&point| pixel(point, frame)).filter(|&p| inside.contains(p));
    pixels.filter(|p| taken.insert(((p.0 / THINNING_COLUMN) as i64, (p.1 / THINNING_COLUMN) as i64))).collect()
}

/// The pixel of a finite point that both axes can show.
pub(super) fn pixel((x, y): (f64, f64), frame: &Frame) -> Option<Point> {
    if !x.is_finite() || !y.is_finite() {
        return None;
    }
    Some((frame.x.pixel(x)?, frame.y.pixel(y)?))
}

/// The corners of an outline in pixels, up to the first that is not a number.
fn outline_pixels(outline: &Outline, frame: &Frame) -> Vec<Point> {
    outline.points.iter().map_while(|&(x, y)| Some((frame.x.pixel(x)?, frame.y.pixel(y)?))).collect()
}

/// The line along an outline, cut off outside the axes.
pub(super) fn outline_lines(outline: &Outline, frame: &Frame) -> Vec<Vec<Point>> {
    let mut points = outline_pixels(outline, frame);
    if outline.closed && points.len() == outline.points.len() && points.len() > 2 {
        points.push(points[0]);
    }
    clip_polyline(&points, &frame.plot.grown(CUT))
}

/// The inside of an outline, cut off outside the axes.
pub(super) fn outline_area(outline: &Outline, frame: &Frame) -> Vec<Point> {
    clip_polygon(&outline_pixels(outline, frame), &frame.plot.grown(CUT))
}

/// A reference line in pixels, when it is inside the axes.
pub(super) fn rule_segment(position: RulePosition, frame: &Frame) -> Option<[Point; 2]> {
    let plot = &frame.plot;
    let (from, to) = match position {
        RulePosition::X(x) => ((frame.x.pixel(x)?, plot.bottom), (frame.x.pixel(x)?, plot.top)),
        RulePosition::Y(y) => ((plot.left, frame.y.pixel(y)?), (plot.right, frame.y.pixel(y)?)),
    };
    let edge = plot.grown(0.5);
    (edge.contains(from) && edge.contains(to)).then_some([from, to])
}

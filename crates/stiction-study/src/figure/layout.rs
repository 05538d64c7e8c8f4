//! Where everything goes: the grid of panels and the room for labels; [`placement`](super::placement) finds places inside.
//!
//! The room that labels need depends on the ticks, and the ticks depend on the room that is left. Both are found by going
//! around a few times. Panels of a column share their left and right edges, panels of a row their upper and lower ones.

use super::drawing::Text;
use super::font::{Weight, text_width, wrapped};
use super::geometry::{Point, Rect, Thinner, clip_polygon, clip_polyline};
use super::placement::{LEGEND_LINE, LegendBox, Obstacles, annotations, has_legend, legend, legend_grid};
use super::scale::{self, Axis, Scale};
use super::ticks::{self, Ticks, written_power};
use super::{Colour, Figure, FigureError, Legend, Outline, Panel, RulePosition, Series, SeriesKind};

/// Font size of the figure's title, in pixels.
pub(super) const TITLE_SIZE: f64 = 17.0;
/// Font size of the figure's subtitle, in pixels.
pub(super) const SUBTITLE_SIZE: f64 = 12.5;
/// Font size of the title of a panel, in pixels.
pub(super) const PANEL_TITLE_SIZE: f64 = 13.0;
/// Font size of the labels of the axes, in pixels.
pub(super) const AXIS_LABEL_SIZE: f64 = 12.0;
/// Font size of the labels of ticks, in pixels.
pub(super) const TICK_LABEL_SIZE: f64 = 11.0;
/// Font size of legends, in pixels.
pub(super) const LEGEND_SIZE: f64 = 11.0;

/// Length of a tick, in pixels.
pub(super) const TICK_LENGTH: f64 = 4.0;
/// Distance from the end of a tick to its label, in pixels.
pub(super) const TICK_GAP: f64 = 4.0;
/// Distance from the labels of the ticks to the label of the axis, in pixels.
const AXIS_LABEL_GAP: f64 = 8.0;
/// Distance from the top of a vertical axis to the factor of its labels, in pixels.
pub(super) const FACTOR_RISE: f64 = 9.0;
/// Distance from the title of a panel to what is below it, in pixels.
const TITLE_GAP: f64 = 9.0;
/// Height of capital letters and digits, in em.
pub(super) const CAP_HEIGHT: f64 = 0.7;
/// Depth of letters below the baseline, in em.
pub(super) const DESCENT: f64 = 0.22;

/// Empty rim of the figure, in pixels.
pub(super) const MARGIN: f64 = 20.0;
/// Distance between panels beside each other, in pixels.
const COLUMN_GAP: f64 = 28.0;
/// Distance between panels below each other, in pixels.
const ROW_GAP: f64 = 26.0;
/// Distance from one line of the headings to the next, in em.
pub(super) const LINE_SPACING: f64 = 1.35;
/// Distance from the title to the subtitle, in em of the latter.
const SUBTITLE_SPACING: f64 = 1.6;
/// Distance between the heading and the panels, in pixels.
const HEADING_GAP: f64 = 18.0;
/// The shortest axis that is drawn, in pixels.
const SHORTEST_AXIS: f64 = 40.0;
/// The longest side of a figure, in pixels: its PNG has 64 million of them.
const LONGEST_SIDE: u32 = 4000;

/// Lines of a title of a panel or a label of an axis, as long as its letters do not become too small for that.
const MOST_LINES: usize = 2;
/// The smallest letters of such a text, relative to their usual size.
const SMALLEST_SHARE: f64 = 0.7;

/// Desired distance between ticks of a horizontal axis, in pixels.
const X_TICK_SPACING: f64 = 62.0;
/// Ticks that a short horizontal axis may have, too, as long as their labels keep their distance.
const FEW_TICKS: usize = 5;
/// Desired distance between ticks of a vertical axis, in pixels.
const Y_TICK_SPACING: f64 = 34.0;
/// Smallest distance between labels of a horizontal axis, in pixels.
const TICK_LABEL_SPACING: f64 = 14.0;

/// Room below the lowest ground where there is some to spare, in pixels: enough for its hatch.
const GROUND_DEPTH: f64 = 10.0;
/// How far a body may dip into the ground without being noticed, relative to the height of the picture.
const UNSEEN_DIP: f64 = 1e-3;
/// Times that room and ticks are computed from each other.
const ROUNDS: usize = 4;
/// Width of the columns to which series are thinned, in pixels: one pixel of a PNG.
const THINNING_COLUMN: f64 = 0.5;
/// Lines are cut off this far outside the axes, in pixels, so that one along an edge keeps its width.
pub(super) const CUT: f64 = 1.2;

/// The room around a pair of axes, in pixels.
#[derive(Clone, Copy, Default)]
struct Insets {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Height of a legend above the axes; the panels of a row do not share it.
    legend: f64,
}

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
    pub(super) legend_above: bool,
    /// Labels of reference lines, and marks.
    pub(super) annotations: Vec<Text>,
    pub(super) legend: LegendBox,
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
    scale::check_ranges(figure)?;

    let (page_width, page_height) = (f64::from(width), f64::from(height));
    let mut heading: Vec<Text> = Vec::new();
    let mut y = MARGIN;
    let title = (&figure.title, TITLE_SIZE, Weight::Bold, Colour::INK);
    let subtitle = (&figure.subtitle, SUBTITLE_SIZE, Weight::Regular, Colour::GREY);
    for (text, size, weight, colour) in [title, subtitle] {
        for line in wrapped(text, size, weight, page_width - 2.0 * MARGIN) {
            y += match heading.last() {
                None => CAP_HEIGHT * size,
                Some(last) if last.weight != weight => SUBTITLE_SPACING * size,
                Some(_) => LINE_SPACING * size,
            };
            heading.push(Text { weight, ..Text::new(&line, (MARGIN, y), size, colour) });
        }
    }
    if !heading.is_empty() {
        y += HEADING_GAP;
    }

    let columns = figure.columns.clamp(1, count);
    let rows = count.div_ceil(columns);
    let cell_width = (page_width - 2.0 * MARGIN - COLUMN_GAP * (columns - 1) as f64) / columns as f64;
    let weight = |row: usize| figure.row_weights.get(row).copied().filter(|w| *w > 0.0 && w.is_finite()).unwrap_or(1.0);
    let weights: Vec<f64> = (0..rows).map(weight).collect();
    let unit_height = (page_height - MARGIN - y - ROW_GAP * (rows - 1) as f64) / weights.iter().sum::<f64>();
    let cell = |panel: usize| {
        let (row, column) = (panel / columns, panel % columns);
        let left = MARGIN + column as f64 * (cell_width + COLUMN_GAP);
        let top = y + weights[..row].iter().map(|weight| weight * unit_height + ROW_GAP).sum::<f64>();
        // Of two columns, a panel that is alone in the last row has both.
        let is_alone = columns == 2 && column == 0 && panel + 1 == count;
        let right = if is_alone { page_width - MARGIN } else { left + cell_width };
        Rect { left, top, right, bottom: top + weights[row] * unit_height }
    };

    let ranges: Vec<_> = figure.panels.iter().map(|p| (scale::range(p, Axis::X), scale::range(p, Axis::Y))).collect();
    let too_small = || FigureError::TooSmall { width, height, panels: count };
    let mut insets = vec![Insets { left: 50.0, right: 12.0, top: 24.0, bottom: 44.0, legend: 0.0 }; count];
    let mut above: Vec<bool> = figure.panels.iter().map(|p| p.legend == Legend::Above && has_legend(p)).collect();
    loop {
        let mut frames = Vec::new();
        for _ in 0..ROUNDS {
            frames.clear();
            for (i, panel) in figure.panels.iter().enumerate() {
                let frame = frame(panel, ranges[i], &cell(i), &insets[i], above[i]).ok_or_else(too_small)?;
                frames.push(frame);
            }
            let needed: Vec<Insets> =
                figure.panels.iter().zip(&frames).map(|(panel, frame)| needed_insets(panel, frame)).collect();
            for (i, inset) in insets.iter_mut().enumerate() {
                let same_column = || (i % columns..count).step_by(columns);
                let same_row = || i / columns * columns..((i / columns + 1) * columns).min(count);
                inset.legend = needed[i].legend;
                inset.left = same_column().map(|k| needed[k].left).fold(0.0, f64::max);
                inset.right = same_column().map(|k| needed[k].right).fold(0.0, f64::max);
                inset.top = same_row().map(|k| needed[k].top).fold(0.0, f64::max);
                inset.bottom = same_row().map(|k| needed[k].bottom).fold(0.0, f64::max);
            }
        }
        // Legends that found no place inside go above their panels, and everything makes room for them.
        let mut is_settled = true;
        for ((panel, frame), above) in figure.panels.iter().zip(&mut frames).zip(&mut above) {
            let mut obstacles = Obstacles::new(panel, frame);
            frame.annotations = annotations(panel, frame, &mut obstacles);
            match legend(panel, frame, &obstacles) {
                Some(legend) => frame.legend = legend,
                None => (*above, is_settled) = (true, false),
            }
        }
        if is_settled {
            return Ok(Layout { heading, frames });
        }
    }
}

/// The axes inside a cell with the given room around them, or `None` when they become too short.
fn frame(
    panel: &Panel,
    (mut x_range, mut y_range): ((f64, f64), (f64, f64)),
    cell: &Rect,
    insets: &Insets,
    legend_above: bool,
) -> Option<Frame> {
    let mut plot = Rect {
        left: cell.left + insets.left,
        top: cell.top + insets.top + insets.legend,
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
        if panel.x_range.is_none() {
            x_range = (x_range.0 - spare_x / 2.0, x_range.1 + spare_x / 2.0);
        } else {
            plot.right -= spare_x * pixels_per_unit;
        }
        if panel.y_range.is_some() {
            plot.bottom -= spare_y * pixels_per_unit;
        } else if has_lowest_ground(panel) {
            let below = spare_y.min(GROUND_DEPTH / pixels_per_unit);
            y_range = (y_range.0 - below, y_range.1 + spare_y - below);
        } else {
            y_range = (y_range.0 - spare_y / 2.0, y_range.1 + spare_y / 2.0);
        }
    }
    let x = Scale { min: x_range.0, max: x_range.1, log: panel.log_x, from: plot.left, to: plot.right };
    let y = Scale { min: y_range.0, max: y_range.1, log: panel.log_y, from: plot.bottom, to: plot.top };

    let choose = |scale: &Scale, most: usize| {
        if panel.is_picture {
            ticks::named(scale.min, scale.max, &[])
        } else if scale.log {
            ticks::logarithmic(scale.min, scale.max, most)
        } else {
            ticks::linear(scale.min, scale.max, most)
        }
    };
    let y_ticks = match &panel.y_names {
        Some(names) => ticks::named(y.min, y.max, names),
        None => choose(&y, (plot.height() / Y_TICK_SPACING) as usize + 1),
    };
    let mut most = ((plot.width() / X_TICK_SPACING) as usize + 1).max(FEW_TICKS);
    let x_ticks = loop {
        let x_ticks = match &panel.x_names {
            Some(names) => ticks::named(x.min, x.max, names),
            None => choose(&x, most),
        };
        // Neighbouring labels have to keep their distance.
        let spans = x_ticks.major.iter().map(|tick| {
            let centre = x.pixel(tick.value).unwrap_or(plot.left);
            (centre, width(&tick.label, TICK_LABEL_SIZE) / 2.0)
        });
        let spans: Vec<(f64, f64)> = spans.collect();
        let fits = spans.windows(2).all(|w| w[0].0 + w[0].1 + TICK_LABEL_SPACING <= w[1].0 - w[1].1);
        if fits || most <= 2 {
            break x_ticks;
        }
        most -= 1;
    };
    let (annotations, legend) = (Vec::new(), LegendBox::default());
    Some(Frame { plot, x, y, x_ticks, y_ticks, cell: *cell, legend_above, annotations, legend })
}

/// Whether the lowest thing in the panel is a ground from edge to edge: what is below it needs no room. Bodies may dip into
/// it by what nobody sees.
fn has_lowest_ground(panel: &Panel) -> bool {
    let lowest = |outline: &Outline| outline.points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let is_ground = |outline: &Outline| outline.points.iter().all(|point| point.0.is_infinite());
    let (grounds, bodies): (Vec<&Outline>, Vec<&Outline>) =
        panel.outlines.iter().partition(|outline| is_ground(outline));
    let highest = |outline: &Outline| outline.points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let ground = grounds.into_iter().map(lowest).fold(f64::INFINITY, f64::min);
    let body = bodies.iter().map(|body| lowest(body)).fold(f64::INFINITY, f64::min);
    let top = bodies.iter().map(|body| highest(body)).fold(ground, f64::max);
    ground < f64::INFINITY && ground - body <= UNSEEN_DIP * (top - ground)
}

/// The room that the labels around these axes take.
fn needed_insets(panel: &Panel, frame: &Frame) -> Insets {
    let mut insets = Insets { right: 4.0, bottom: TICK_LENGTH + TICK_GAP, ..Insets::default() };

    insets.left = y_label_offset(frame);
    insets.left += text_block(&panel.y_label, AXIS_LABEL_SIZE, Weight::Regular, frame.cell.height()).depth();
    insets.bottom += CAP_HEIGHT * TICK_LABEL_SIZE + 2.0;
    let x_label = text_block(&panel.x_label, AXIS_LABEL_SIZE, Weight::Regular, x_label_room(frame));
    if !x_label.lines.is_empty() {
        insets.bottom += AXIS_LABEL_GAP + x_label.depth();
    }
    for tick in &frame.x_ticks.major {
        let half = width(&tick.label, TICK_LABEL_SIZE) / 2.0;
        if let Some(x) = frame.x.pixel(tick.value) {
            insets.right = insets.right.max(x + half - frame.plot.right);
            insets.left = insets.left.max(frame.plot.left - (x - half));
        }
    }

    // The factor of the labels stands above them, to the left of the title.
    insets.top = TICK_LABEL_SIZE / 2.0;
    if let Some(exponent) = frame.y_ticks.factor {
        insets.left = insets.left.max(width(&factor_label(exponent), TICK_LABEL_SIZE) + TICK_LENGTH);
        insets.top = FACTOR_RISE + TICK_LABEL_SIZE;
    }
    let title = text_block(&panel.title, PANEL_TITLE_SIZE, Weight::Bold, frame.cell.right - frame.plot.left);
    if !title.lines.is_empty() {
        insets.top = insets.top.max(TITLE_GAP + title.depth());
    }
    if frame.legend_above {
        insets.legend = legend_grid(panel, frame.cell.right - frame.plot.left).1 as f64 * LEGEND_LINE;
    }
    insets
}

/// Distance from the axis to the right edge of its rotated label, in pixels.
pub(super) fn y_label_offset(frame: &Frame) -> f64 {
    let widest = frame.y_ticks.major.iter().map(|tick| width(&tick.label, TICK_LABEL_SIZE)).fold(0.0, f64::max);
    TICK_LENGTH + TICK_GAP + widest + AXIS_LABEL_GAP
}

/// Distance from the axis to the baseline of its label, in pixels.
pub(super) fn x_label_offset() -> f64 {
    TICK_LENGTH + TICK_GAP + CAP_HEIGHT * TICK_LABEL_SIZE + 2.0 + AXIS_LABEL_GAP + CAP_HEIGHT * AXIS_LABEL_SIZE
}

/// The text that stands for a common factor of the labels of an axis.
pub(super) fn factor_label(exponent: i32) -> String {
    format!("\u{00d7}{}", written_power(exponent))
}

/// Width of a line of regular text, in pixels.
fn width(text: &str, size: f64) -> f64 {
    text_width(text, size, Weight::Regular)
}

/// A text in as many lines as it needs.
pub(super) struct TextBlock {
    pub(super) lines: Vec<String>,
    /// Font size, in pixels.
    pub(super) size: f64,
}

impl TextBlock {
    /// From the top of the first line to the bottom of the last, in pixels; zero without text.
    fn depth(&self) -> f64 {
        let further = self.lines.len().saturating_sub(1) as f64;
        if self.lines.is_empty() { 0.0 } else { (CAP_HEIGHT + DESCENT + further * LINE_SPACING) * self.size }
    }
}

/// Breaks a text into at most [`MOST_LINES`] lines of the given length, in pixels; where that is not enough, all of it
/// becomes smaller.
pub(super) fn text_block(text: &str, largest: f64, weight: Weight, length: f64) -> TextBlock {
    let mut size = largest;
    loop {
        let lines = wrapped(text, size, weight, length);
        let fitting = lines.iter().map(|line| fitting_size(line, size, weight, length)).fold(size, f64::min);
        if (lines.len() <= MOST_LINES && fitting == size) || size < SMALLEST_SHARE * largest {
            return TextBlock { lines, size: fitting };
        }
        size *= 0.97;
    }
}

/// Room for the label of a horizontal axis, in pixels: what the factor of the ticks leaves.
pub(super) fn x_label_room(frame: &Frame) -> f64 {
    let factor = frame.x_ticks.factor.map_or(0.0, |e| width(&factor_label(e), TICK_LABEL_SIZE) + AXIS_LABEL_GAP);
    frame.plot.width() - 2.0 * factor
}

/// Size at which a text fits into `width`, in pixels, at most `size`.
pub(super) fn fitting_size(text: &str, size: f64, weight: Weight, width: f64) -> f64 {
    size.min(size * width / text_width(text, size, weight).max(1.0))
}

/// The samples of a series, joined, thinned and cut off outside the axes.
pub(super) fn series_lines(series: &Series, frame: &Frame) -> Vec<Vec<Point>> {
    if matches!(series.kind, SeriesKind::Points | SeriesKind::Dots) {
        return Vec::new();
    }
    let mut thinner = Thinner::new(THINNING_COLUMN);
    let mut previous: Option<Point> = None;
    for point in &series.points {
        let pixel = pixel(*point, frame);
        match (pixel, previous) {
            (Some((x, y)), Some((_, held))) if series.kind == SeriesKind::Steps => {
                thinner.push((x, held));
                thinner.push((x, y));
            }
            (Some(at), _) => thinner.push(at),
            (None, _) => thinner.gap(),
        }
        previous = pixel;
    }
    let edge = frame.plot.grown(CUT);
    thinner.finish().iter().flat_map(|piece| clip_polyline(piece, &edge)).collect()
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
pub(super) fn rule_segment(position: RulePosition, frame: &Frame) -> Option<(Point, Point)> {
    let plot = &frame.plot;
    let (from, to) = match position {
        RulePosition::X(x) if x.is_finite() => {
            let x = frame.x.pixel(x)?;
            ((x, plot.bottom), (x, plot.top))
        }
        RulePosition::Y(y) if y.is_finite() => {
            let y = frame.y.pixel(y)?;
            ((plot.left, y), (plot.right, y))
        }
        _ => return None,
    };
    let edge = plot.grown(0.5);
    (edge.contains(from) && edge.contains(to)).then_some((from, to))
}

//! An axis: its range, the map from data to pixels, and its ticks.
//!
//! Linear axes take the smallest step of the form 1, 2 or 5 times a power of ten that gives few
//! enough ticks. Logarithmic axes take powers of ten, with 2 and 5 between them where there are
//! few.

use super::{Figure, FigureError, Panel, RulePosition, SeriesKind};

/// Pixels farther out than this are moved in, which keeps the numbers well conditioned.
const FARTHEST_PIXEL: f64 = 1e7;
/// Share of the range, or of its decades, that is added on either side of the data.
const PADDING: f64 = 0.05;
/// Data are clipped to this size before a range is made of them, so that its width is a number.
const LARGEST_VALUE: f64 = 1e300;
/// A range narrower than this, relative to its values, is taken as a single value.
const NARROWEST_RANGE: f64 = 1e-12;
/// Numbers from the first of these powers of ten up to the second are written out.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -3..5;
/// Share of a step, or of a decade, by which a tick may lie outside the range. It absorbs rounding.
const EDGE_TOLERANCE: f64 = 1e-9;

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
        let along = |value: f64| if self.log { value.log10() } else { value };
        let share = (along(value) - along(self.min)) / (along(self.max) - along(self.min));
        Some((self.from + share * (self.to - self.from)).clamp(-FARTHEST_PIXEL, FARTHEST_PIXEL))
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
    let pick = |&(x, y): &(f64, f64)| if axis == Axis::X { (x, y) } else { (y, x) };
    let is_seen = |other: f64| {
        let is_inside = window.is_none_or(|(from, to)| (from..=to).contains(&other));
        other.is_finite() && (!other_log || other > 0.0) && is_inside
    };
    let samples = panel.series.iter().flat_map(|series| &series.points).map(pick);
    let samples = samples.filter(|(_, other)| is_seen(*other)).map(|(value, _)| value);
    let foreground = panel.outlines.iter().filter(|outline| !outline.background);
    let corners = foreground.flat_map(|outline| &outline.points).map(|point| pick(point).0);
    let marks = panel.marks.iter().map(|mark| pick(&mark.at).0);
    let rules = panel.rules.iter().filter_map(|rule| match (rule.position, axis) {
        (RulePosition::X(at), Axis::X) | (RulePosition::Y(at), Axis::Y) => Some(at),
        _ => None,
    });
    let values = samples.chain(corners).chain(marks).chain(rules);

    let least = if log { 1.0 / LARGEST_VALUE } else { -LARGEST_VALUE };
    let shown = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in shown.map(|value| value.clamp(least, LARGEST_VALUE)) {
        (min, max) = (min.min(value), max.max(value));
    }
    // Curves over time run from edge to edge; markers and bodies need room around them.
    let is_marked = |kind| matches!(kind, SeriesKind::Points | SeriesKind::LineAndPoints | SeriesKind::Dots);
    let has_markers = panel.series.iter().any(|series| is_marked(series.kind));
    let padding = if axis == Axis::Y || has_markers || !panel.outlines.is_empty() { PADDING } else { 0.0 };
    padded(min, max, log, padding)
}

/// The bounds with room around them, and a range of some width for a single value or none.
fn padded(min: f64, max: f64, log: bool, padding: f64) -> (f64, f64) {
    if min > max {
        return if log { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    let is_single = max - min <= NARROWEST_RANGE * max.abs().max(min.abs());
    match (is_single, log) {
        (true, true) => (min / 2.0, max * 2.0),
        (true, false) => {
            let room = if max == 0.0 { 1.0 } else { 0.1 * max.abs() };
            (min - room, max + room)
        }
        (false, true) => {
            let room = 10_f64.powf(padding * (max.log10() - min.log10()));
            ((min / room).max(1.0 / LARGEST_VALUE), (max * room).min(LARGEST_VALUE))
        }
        (false, false) => (min - padding * (max - min), max + padding * (max - min)),
    }
}

/// A place on an axis and its label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// The ticks of one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ticks {
    pub(super) major: Vec<Tick>,
    /// Short ticks without label.
    pub(super) minor: Vec<f64>,
    /// All labels are to be multiplied by ten to this power.
    pub(super) factor: Option<i32>,
}

/// Ten to an integer power, correctly rounded: `powi` is not for negative powers.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().expect("a power of ten is a number")
}

/// Ten to an integer power, as it is written.
pub(super) fn written_power(exponent: i32) -> String {
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize).expect("a digit"),
        None => '⁻',
    };
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}

/// The words of an axis inside its range.
pub(super) fn named(min: f64, max: f64, names: &[(f64, String)]) -> Ticks {
    let inside = names.iter().filter(|(value, _)| (min..=max).contains(value));
    let tick = |(value, label): &(f64, String)| Tick { value: *value, label: label.clone() };
    Ticks { major: inside.map(tick).collect(), ..Ticks::default() }
}

/// At most `most` ticks on a linear axis from `min` to `max`; `most` is at least 2.
pub(super) fn linear(min: f64, max: f64, most: usize) -> Ticks {
    let most = most.max(2);
    let first_exponent = ((max - min) / most as f64).log10().floor() as i32;
    let steps = (first_exponent..).flat_map(|exponent| [1.0, 2.0, 5.0].map(|mantissa| (mantissa, exponent)));
    let mut places = steps.map(|(mantissa, exponent)| {
        let step = mantissa * power_of_ten(exponent);
        (exponent, step, (min / step - EDGE_TOLERANCE).ceil(), (max / step + EDGE_TOLERANCE).floor())
    });
    let (exponent, step, first, last) =
        places.find(|(_, _, first, last)| last - first < most as f64).expect("steps grow without end");
    let largest = (first.abs().max(last.abs()) * step).max(step);
    let magnitude = largest.log10().floor() as i32;
    // The shorter way of writing the largest label: 100001, and not 1.00001 with a factor.
    let plain_length = magnitude.max(0) + 1 + if exponent < 0 { 1 - exponent } else { 0 };
    let short_length = 1 + if magnitude > exponent { 1 + magnitude - exponent } else { 0 };
    let is_plain = PLAIN_EXPONENTS.contains(&magnitude) || plain_length <= short_length;
    let factor = if is_plain { None } else { Some(magnitude) };
    let shift = factor.unwrap_or(0);
    let decimals = (shift - exponent).max(0) as usize;
    let tick = |i: usize| {
        // The sum makes a zero of a negative one.
        let value = (first + i as f64) * step + 0.0;
        let decimals = if value == 0.0 { 0 } else { decimals };
        let label = format!("{:.decimals$}", value / power_of_ten(shift));
        Tick { value, label: label.replace('-', "\u{2212}") }
    };
    let count = (last - first + 1.0).max(0.0) as usize;
    Ticks { major: (0..count).map(tick).collect(), minor: Vec::new(), factor }
}

/// At most `most` ticks, at least 2, on a logarithmic axis from `min` to `max`, both positive.
pub(super) fn logarithmic(min: f64, max: f64, most: usize) -> Ticks {
    let most = most.max(2);
    let (low, high) = (min.log10() - EDGE_TOLERANCE, max.log10() + EDGE_TOLERANCE);
    let (first, last) = (low.ceil() as i32, high.floor() as i32);
    let value = |&(mantissa, exponent): &(i32, i32)| f64::from(mantissa) * power_of_ten(exponent);
    let multiples = |mantissas: &[i32]| -> Vec<(i32, i32)> {
        let all = (first - 1..=last).flat_map(|exponent| mantissas.iter().map(move |&mantissa| (mantissa, exponent)));
        all.filter(|multiple| (low..=high).contains(&value(multiple).log10())).collect()
    };

    // Few decades: 1, 2 and 5 in each, as plain numbers where these are short.
    if last - first < 2 {
        let choices = [[1, 2, 5].as_slice(), [1, 3].as_slice()].map(multiples);
        if let Some(chosen) = choices.into_iter().find(|chosen| (2..=most).contains(&chosen.len())) {
            let is_plain = chosen.iter().all(|(_, exponent)| (PLAIN_EXPONENTS.start..4).contains(exponent));
            let label = |multiple: &(i32, i32)| match (is_plain, *multiple) {
                (true, (_, exponent)) => format!("{:.*}", (-exponent).max(0) as usize, value(multiple)),
                (false, (1, exponent)) => written_power(exponent),
                (false, (mantissa, exponent)) => format!("{mantissa}\u{00d7}{}", written_power(exponent)),
            };
            let major = chosen.iter().map(|c| Tick { value: value(c), label: label(c) }).collect();
            let minor = multiples(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).into_iter().filter(|c| !chosen.contains(c));
            return Ticks { minor: minor.map(|c| value(&c)).collect(), major, factor: None };
        }
        if last <= first {
            return linear(min, max, most);
        }
    }
    let stride = ((last - first + 1) as usize).div_ceil(most) as i32;
    let (major, minor): (Vec<i32>, Vec<i32>) = (first..=last).partition(|exponent| exponent % stride == 0);
    let tick = |exponent: i32| Tick { value: power_of_ten(exponent), label: written_power(exponent) };
    let minor = match stride {
        1 => multiples(&[2, 3, 4, 5, 6, 7, 8, 9]).iter().map(value).collect(),
        _ => minor.into_iter().map(power_of_ten).collect(),
    };
    Ticks { major: major.into_iter().map(tick).collect(), minor, factor: None }
}

#[cfg(test)]
mod tests {
    use super::super::{Outline, Rule, Series};
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

    fn texts(ticks: &Ticks) -> Vec<&str> {
        ticks.major.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn steps_are_one_two_or_five() {
        assert_eq!(texts(&linear(0.0, 1.0, 6)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&linear(0.0, 1.0, 5)), ["0", "0.5", "1.0"]);
        assert_eq!(
            texts(&linear(0.0, 1.0, 11)),
            "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0".split(' ').collect::<Vec<_>>()
        );
        assert_eq!(texts(&linear(-12.0, 31.0, 6)), ["\u{2212}10", "0", "10", "20", "30"]);
        assert_eq!(texts(&linear(3.0, 203.0, 5)), ["50", "100", "150", "200"]);
    }

    #[test]
    fn the_ends_of_the_range_are_ticks_in_spite_of_rounding() {
        // 0.1 + 0.2 is 0.30000000000000004, three tenths of an ulp of trouble.
        assert_eq!(texts(&linear(0.1, 0.1 + 0.2, 4)), ["0.1", "0.2", "0.3"]);
        assert_eq!(texts(&linear(0.1 + 0.2, 0.6, 4)), ["0.3", "0.4", "0.5", "0.6"]);
    }

    #[test]
    fn there_are_never_too_many_ticks_and_never_too_few() {
        for most in 3..12 {
            for k in 0..400 {
                let min = -3.7 + f64::from(k) * 0.031;
                let span = 10_f64.powf(f64::from(k % 23) * 0.37 - 4.0);
                let count = linear(min, min + span, most).major.len();
                assert!(count <= most, "{count} ticks from {min} over {span}, most {most}");
                // A step is at most 2.5 times the one before it: no more than this share of ticks
                // is lost.
                assert!(
                    count as f64 >= ((most + 1) as f64 / 2.5).floor() - 1.0,
                    "{count} of {most} from {min} over {span}"
                );
            }
        }
    }

    #[test]
    fn very_large_and_very_small_numbers_share_a_factor() {
        let large = linear(0.0, 4e6, 5);
        assert_eq!((texts(&large), large.factor), (vec!["0", "1", "2", "3", "4"], Some(6)));
        let small = linear(-2e-7, 2e-7, 5);
        assert_eq!((texts(&small), small.factor), (vec!["\u{2212}2", "\u{2212}1", "0", "1", "2"], Some(-7)));
        let offset = linear(100_000.0, 100_002.0, 3);
        assert_eq!((texts(&offset), offset.factor), (vec!["100000", "100001", "100002"], None));
        let plain = linear(0.0, 0.004, 5);
        assert_eq!((texts(&plain), plain.factor), (vec!["0", "0.001", "0.002", "0.003", "0.004"], None));
        let extreme = linear(-1e300, 1e300, 5);
        assert_eq!(
            (texts(&extreme), extreme.factor),
            (vec!["\u{2212}1.0", "\u{2212}0.5", "0", "0.5", "1.0"], Some(300))
        );
    }

    #[test]
    fn decades_on_a_logarithmic_axis() {
        let ticks = logarithmic(1e-6, 1.0, 8);
        assert_eq!(texts(&ticks), ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"]);
        assert_eq!(ticks.minor.len(), 6 * 8);
        // 21 decades on 6 ticks: every fourth, on multiples of four.
        assert_eq!(texts(&logarithmic(1e-16, 1e4, 6)), ["10⁻¹⁶", "10⁻¹²", "10⁻⁸", "10⁻⁴", "10⁰", "10⁴"]);
    }

    #[test]
    fn few_decades_get_two_and_five() {
        let ticks = logarithmic(0.004, 0.12, 8);
        assert_eq!(texts(&ticks), ["0.005", "0.01", "0.02", "0.05", "0.1"]);
        assert!(ticks.minor.contains(&0.03), "{:?}", ticks.minor);
        let small = logarithmic(1.5e-7, 1.2e-6, 8);
        assert_eq!(texts(&small), ["2\u{00d7}10⁻⁷", "5\u{00d7}10⁻⁷", "10⁻⁶"]);
    }

    #[test]
    fn less_than_a_decade_falls_back_to_linear_ticks() {
        assert_eq!(texts(&logarithmic(2.1, 2.9, 5)), ["2.2", "2.4", "2.6", "2.8"]);
    }
}

//! Where the ticks of an axis stand, and what is written at them.
//!
//! Linear axes take the smallest step of the form 1, 2 or 5 times a power of ten that gives few enough ticks. The numbers
//! are built from integers, so that no rounding error reaches a label. Logarithmic axes take powers of ten, with 2 and 5
//! between them where there are few.

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

/// Numbers below ten to this power are written out.
const LARGEST_PLAIN_EXPONENT: i32 = 5;
/// Numbers of at least ten to this power are written out.
const SMALLEST_PLAIN_EXPONENT: i32 = -3;
/// Share of a step, or of a decade, by which a tick may lie outside the range. It absorbs the rounding of the range.
const EDGE_TOLERANCE: f64 = 1e-9;

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

/// Minus signs of their proper width.
fn with_minus(text: String) -> String {
    text.replace('-', "\u{2212}")
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
    let rough = (max - min) / most as f64;
    let mut exponent = rough.log10().floor() as i32 - 1;
    let mut mantissas = [1_i32, 2, 5].into_iter().cycle();
    loop {
        let mantissa = mantissas.next().expect("a cycle has no end");
        if mantissa == 1 {
            exponent += 1;
        }
        let step = f64::from(mantissa) * power_of_ten(exponent);
        let first = (min / step - EDGE_TOLERANCE).ceil();
        let last = (max / step + EDGE_TOLERANCE).floor();
        if last - first + 1.0 > most as f64 {
            continue;
        }
        let largest = (first.abs().max(last.abs()) * step).max(step);
        let magnitude = largest.log10().floor() as i32;
        // Both ways of writing the largest label, in letters: 100001 is better than 1.00001 with a factor.
        let plain_length = magnitude.max(0) + 1 + if exponent < 0 { 1 - exponent } else { 0 };
        let short_length = 1 + if magnitude > exponent { 1 + magnitude - exponent } else { 0 };
        let is_usual = (SMALLEST_PLAIN_EXPONENT..LARGEST_PLAIN_EXPONENT).contains(&magnitude);
        let factor = if is_usual || plain_length <= short_length { None } else { Some(magnitude) };
        // The label is an integer of units ten to the `exponent`, shifted by the factor.
        let shift = exponent - factor.unwrap_or(0);
        let count = (last - first) as i64 + 1;
        let major = (0..count.max(0)).map(|i| first + i as f64).map(|k| {
            let units = k * f64::from(mantissa);
            let text = if units == 0.0 {
                "0".to_string()
            } else if shift >= 0 {
                format!("{:.0}", units * power_of_ten(shift))
            } else {
                format!("{:.*}", (-shift) as usize, units / power_of_ten(-shift))
            };
            Tick { value: k * step, label: with_minus(text) }
        });
        return Ticks { major: major.collect(), minor: Vec::new(), factor };
    }
}

/// At most `most` ticks on a logarithmic axis from `min` to `max`, both positive; `most` is at least 2.
pub(super) fn logarithmic(min: f64, max: f64, most: usize) -> Ticks {
    let most = most.max(2);
    let inside =
        |value: f64| value.log10() >= min.log10() - EDGE_TOLERANCE && value.log10() <= max.log10() + EDGE_TOLERANCE;
    let first = (min.log10() - EDGE_TOLERANCE).ceil() as i32;
    let last = (max.log10() + EDGE_TOLERANCE).floor() as i32;
    let multiples = |mantissas: &[i32]| -> Vec<(i32, i32)> {
        let decades = first - 1..=last;
        let all = decades.flat_map(|exponent| mantissas.iter().map(move |&mantissa| (mantissa, exponent)));
        all.filter(|&(mantissa, exponent)| inside(f64::from(mantissa) * power_of_ten(exponent))).collect()
    };
    let value = |(mantissa, exponent): (i32, i32)| f64::from(mantissa) * power_of_ten(exponent);

    // Few decades: 1, 2 and 5 in each, as plain numbers where these are short.
    if last - first < 2 {
        for mantissas in [[1, 2, 5].as_slice(), [1, 3].as_slice()] {
            let chosen = multiples(mantissas);
            if chosen.len() < 2 || chosen.len() > most {
                continue;
            }
            let plain = chosen.iter().all(|&(_, exponent)| (SMALLEST_PLAIN_EXPONENT..4).contains(&exponent));
            let label = |(mantissa, exponent): (i32, i32)| match (plain, mantissa) {
                (true, _) => format!("{:.*}", (-exponent).max(0) as usize, value((mantissa, exponent))),
                (false, 1) => written_power(exponent),
                (false, _) => format!("{mantissa}\u{00d7}{}", written_power(exponent)),
            };
            let major: Vec<Tick> = chosen.iter().map(|&c| Tick { value: value(c), label: label(c) }).collect();
            let minor = multiples(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).into_iter().filter(|c| !chosen.contains(c));
            return Ticks { minor: minor.map(value).collect(), major, factor: None };
        }
        if last <= first {
            return linear(min, max, most);
        }
    }

    let decades = (last - first + 1) as usize;
    let stride = decades.div_ceil(most) as i32;
    let major = (first..=last)
        .filter(|exponent| exponent % stride == 0)
        .map(|exponent| Tick { value: power_of_ten(exponent), label: written_power(exponent) });
    let minor: Vec<f64> = if stride == 1 {
        multiples(&[2, 3, 4, 5, 6, 7, 8, 9]).into_iter().map(value).collect()
    } else {
        (first..=last).filter(|exponent| exponent % stride != 0).map(power_of_ten).collect()
    };
    Ticks { major: major.collect(), minor, factor: None }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                // A step is at most 2.5 times the one before it, so that no more than this share of the ticks is lost.
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

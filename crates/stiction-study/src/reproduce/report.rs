//! One page with everything: the experiments, their numbers, their figures, and what to know about
//! them.
//!
//! The page is one HTML file without scripts and without anything outside it, so that it can be
//! sent, printed and kept.

use std::collections::BTreeMap;

use super::{Experiment, Reproduction, Row, Tally};
use crate::figure::{Drawing, FigureError};

/// The papers, by their keys.
const PAPERS: [(&str, &str, &str); 5] = [
    (
        "ST96",
        "D. E. Stewart and J. C. Trinkle",
        "An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and Coulomb friction, 1996",
    ),
    (
        "GS05",
        "C. Glocker and C. Studer",
        "Formulation and preparation for numerical evaluation of linear complementarity systems in dynamics, 2005",
    ),
    (
        "PAGT",
        "F. A. Potra, M. Anitescu, B. Gavrea and J. Trinkle",
        "A linearly implicit trapezoidal method for integrating stiff multibody dynamics with contact, joints, and friction, 2006",
    ),
    (
        "TTP01",
        "J. C. Trinkle, J. A. Tzitzouris and J. S. Pang",
        "Dynamic multi-rigid-body systems with concurrent distributed contacts, 2001",
    ),
    (
        "PKF",
        "A. Peiret, J. Kövecses and J. M. Font-Llagunes",
        "The discretized Coulomb friction model in a non-singular complementarity formulation for multibody systems with contacts",
    ),
];

/// Significant digits of a number beyond those that its tolerance reaches.
const EXTRA_DIGITS: i32 = 2;

const STYLE: &str = "
:root { color-scheme: light; --ink: #1c2026; --quiet: #667080; --line: #dfe3e8; --ok: #1a7f4b; --bad: #b3261e; --bar: #9db8d9; }
body { font: 16px/1.55 system-ui, 'Segoe UI', 'Noto Sans', sans-serif; color: var(--ink); max-width: 72rem; margin: 3rem auto; padding: 0 1.5rem; }
h1 { font-size: 2rem; margin: 0 0 .25rem; } h2 { font-size: 1.35rem; margin: 3.5rem 0 .25rem; border-top: 1px solid var(--line); padding-top: 2rem; }
p.source, p.lead { color: var(--quiet); margin: 0 0 1rem; } p.lead { font-size: 1.1rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums; margin: 1rem 0; }
th { text-align: right; font-weight: 600; color: var(--quiet); border-bottom: 1px solid var(--ink); padding: .3rem .5rem; vertical-align: bottom; }
td { text-align: right; border-bottom: 1px solid var(--line); padding: .22rem .5rem; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; padding-left: 0; min-width: 24rem; }
small { color: var(--quiet); } td.met { color: var(--ok); } td.missed { color: var(--bad); font-weight: 700; }
.bar { display: inline-block; width: 4.5rem; height: .55rem; background: #eef1f5; vertical-align: middle; } .bar i { display: block; height: 100%; background: var(--bar); }
figure { margin: 1.5rem 0; } figure img { width: 100%; height: auto; }
.wide { overflow-x: auto; } code { overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; } li { margin: .3rem 0; } a { color: inherit; }
@media (max-width: 48rem) {
body { margin: 1rem auto; padding: 0 .75rem; } h1 { font-size: 1.5rem; } th:first-child, td:first-child { min-width: 11rem; }
}
@media print {
body { margin: 0; max-width: none; padding: 0; font-size: 10pt; } h2 { break-before: page; border: 0; margin: 0; padding: 0; }
table { font-size: 7.5pt; } th:first-child, td:first-child { min-width: 75mm; } td, th { padding: .1rem .3rem; } .bar { width: 2.5rem; }
tr, figure { break-inside: avoid; } thead { display: table-header-group; } figure { margin: .75rem 0; } figure img { display: block; width: auto; max-width: 100%; max-height: 205mm; margin: 0 auto; }
}
";

/// The figures of the experiments, drawn, by their names.
///
/// # Errors
/// [`FigureError`] when a figure cannot be drawn.
pub fn drawings(results: &[(&Experiment, Reproduction)]) -> Result<BTreeMap<&'static str, Drawing>, FigureError> {
    let figures = results.iter().flat_map(|(_, result)| &result.figures);
    figures.map(|named| Ok((named.name, named.figure.draw()?))).collect()
}

/// The page for these experiments and what they gave, with the [`drawings`] of their figures.
pub fn html(results: &[(&Experiment, Reproduction)], drawings: &BTreeMap<&'static str, Drawing>) -> String {
    let tally = Tally::of(results.iter().flat_map(|(_, result)| &result.rows));
    let Tally { count, met, .. } = tally;
    let unlike_print = tally.unlike_print();
    let version = env!("CARGO_PKG_VERSION");
    let contents = table(
        &["experiment", "paper", "numbers", "met", "largest share of its tolerance"],
        results.iter().map(|(experiment, result)| contents_of(experiment, result)),
    );
    let experiments: String =
        results.iter().map(|(experiment, result)| section(experiment, result, drawings)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Stiction: the papers' experiments</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>The papers' experiments, computed again</h1>\n\
         <p class=\"lead\">Stiction {version}. {met} of {count} numbers are met{unlike_print}. Every figure is drawn from a run that was made for this page.</p>\n\
         {contents}\
         <p>A number is met when it differs from its reference, or where there is none from the printed number, by no more than the \
         tolerance beside it, or lies in the range that is asked for; and when the certificate of the run behind it is met. Where our number, rounded as the paper rounds, \
         is not the printed one, the row says that it differs from print. References come from implementations and event-driven solutions that share no code with this one.</p>\n\
         {experiments}</body>\n</html>\n"
    )
}

/// A table with these heads.
fn table(heads: &[&str], lines: impl Iterator<Item = String>) -> String {
    let heads: String = heads.iter().map(|head| format!("<th>{head}</th>")).collect();
    let lines: String = lines.collect();
    format!("<div class=\"wide\">\n<table>\n<thead><tr>{heads}</tr></thead>\n{lines}</table>\n</div>\n")
}

/// The line of an experiment in the table of contents.
fn contents_of(experiment: &Experiment, result: &Reproduction) -> String {
    let Tally { count, met, .. } = Tally::of(&result.rows);
    let share = result.rows.iter().map(share_of_tolerance).fold(0.0, f64::max);
    let class = if met == count { "met" } else { "missed" };
    format!(
        "<tr><td><a href=\"#{id}\">{title}</a></td><td>{paper}</td><td>{count}</td><td class=\"{class}\">{met}</td><td>{bar} {share:.2}</td></tr>\n",
        id = experiment.id,
        title = title_of(experiment),
        paper = paper_of(result),
        bar = bar(share),
    )
}

fn section(experiment: &Experiment, result: &Reproduction, drawings: &BTreeMap<&'static str, Drawing>) -> String {
    let (id, title, key) = (experiment.id, title_of(experiment), paper_of(result));
    let of_paper = PAPERS.iter().find(|(known, ..)| *known == key);
    let source = of_paper.map_or_else(String::new, |(_, authors, title)| {
        format!("<p class=\"source\">{authors}: <em>{title}</em> [{key}]. <code>stiction reproduce {id}</code></p>\n")
    });
    let figures = result.figures.iter().filter_map(|named| {
        let (alt, image) = (escaped(&named.figure.title), percent_encoded(&drawings.get(named.name)?.to_svg()));
        Some(format!("<figure><img alt=\"{alt}\" src=\"data:image/svg+xml,{image}\"></figure>\n"))
    });
    let remarks: String = result.remarks.iter().map(|remark| format!("<li>{}</li>\n", with_code(remark))).collect();
    let remarks = if remarks.is_empty() { remarks } else { format!("<ul>\n{remarks}</ul>\n") };
    let heads = ["quantity", "published", "reference", "computed", "difference", "tolerance", "", ""];
    let numbers = table(&heads, result.rows.iter().map(line));
    format!("<h2 id=\"{id}\">{title}</h2>\n{source}{}{remarks}{numbers}", figures.collect::<String>())
}

/// The line of a number.
fn line(row: &Row) -> String {
    let target = row.reference.or(row.published);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let cells = [
        escaped(&row.quantity) + &small_print(row),
        or_dash(row.printed.map(|text| minus(text.to_owned()))),
        or_dash(row.wanted(|value| number(value, row.tolerance)).map(minus)),
        or_dash((!row.computed.is_nan()).then(|| number(row.computed, digits_of(row)))),
        or_dash(target.map(|target| short(row.computed - target))),
        or_dash(target.map(|_| short(row.tolerance))),
        bar(share_of_tolerance(row)),
    ];
    let class = if row.ok { "met" } else { "missed" };
    let standing = match row.standing() {
        "ok" => "✓",
        "NOT MET" => "not met",
        "NOT CERTIFIED" => "not certified",
        standing => standing,
    };
    format!("<tr><td>{}</td><td class=\"{class}\">{standing}</td></tr>\n", cells.join("</td><td>"))
}

fn paper_of(result: &Reproduction) -> &'static str {
    result.rows.first().map_or("", |row| row.paper)
}

/// What stands below a quantity.
fn small_print(row: &Row) -> String {
    let lines: Vec<String> = row.notes().iter().map(|line| with_code(line)).collect();
    if lines.is_empty() { String::new() } else { format!("<br><small>{}</small>", lines.join("<br>")) }
}

/// The tolerance that gives a number its digits: of a range, a hundredth of it.
fn digits_of(row: &Row) -> f64 {
    match (row.least, row.most) {
        (None, None) => row.tolerance,
        _ if row.tolerance.is_finite() => 0.1 * row.tolerance,
        _ => 0.1 * row.computed.abs(),
    }
}

/// How much of its tolerance a row uses up, or how far it is from the middle of its range.
fn share_of_tolerance(row: &Row) -> f64 {
    let middle = row.least.zip(row.most).map(|(least, most)| 0.5 * (least + most));
    match row.reference.or(row.published).or(middle) {
        Some(target) if row.computed == target => 0.0,
        Some(target) => (row.computed - target).abs() / row.tolerance,
        None => row.most.map_or(0.0, |most| row.computed / most),
    }
}

fn bar(share: f64) -> String {
    format!("<span class=\"bar\"><i style=\"width:{:.0}%\"></i></span>", 100.0 * share.clamp(0.0, 1.0))
}

/// A number with the digits that its tolerance calls for, and a few more.
fn number(value: f64, tolerance: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return minus(format!("{value}"));
    }
    let size = value.abs().log10().floor() as i32;
    let finest = if tolerance > 0.0 { tolerance.log10().floor() as i32 - EXTRA_DIGITS } else { size };
    if (-3..6).contains(&size) {
        minus(format!("{value:.*}", (-finest).clamp(0, 13) as usize))
    } else {
        minus(format!("{value:.*e}", (size - finest).clamp(1, 13) as usize))
    }
}

/// A number of which only the size matters.
fn short(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { minus(format!("{value:.1e}")) }
}

/// The name of an experiment with a capital letter.
fn title_of(experiment: &Experiment) -> String {
    let mut letters = experiment.name().chars();
    escaped(&letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect()))
}

/// A typographic minus.
fn minus(text: String) -> String {
    text.replace('-', "−")
}

/// Text that means itself in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text in which what stands between backticks is code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').map(escaped).enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{part}</code>") } else { part }).collect()
}

/// Text as the data of a URL within double quotes.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '%' => encoded.push_str("%25"),
            '#' => encoded.push_str("%23"),
            '<' => encoded.push_str("%3C"),
            '>' => encoded.push_str("%3E"),
            '"' => encoded.push('\''),
            '\n' => encoded.push(' '),
            other => encoded.push(other),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Figure, Panel, Series};
    use crate::reproduce::{EXPERIMENTS, NamedFigure};

    fn row(computed: f64, ok: bool) -> Row {
        let quantity = "a < b & \"c\"".to_owned();
        let reference = Some(2.0);
        Row { id: "rod", paper: "ST96", quantity, reference, computed, tolerance: 1e-3, ok, ..Default::default() }
    }

    fn page(result: Reproduction) -> String {
        let results = [(&EXPERIMENTS[0], result)];
        html(&results, &drawings(&results).unwrap())
    }

    #[test]
    fn the_page_holds_every_number_and_figure_and_says_what_is_missed() {
        let series = Series { points: vec![(0.0, 0.0), (1.0, 2.0)], ..Default::default() };
        let figure = Figure {
            title: "A line".into(),
            panels: vec![Panel { series: vec![series], ..Default::default() }],
            ..Default::default()
        };
        let result = Reproduction {
            rows: vec![row(2.0004, true), row(2.5, false)],
            figures: vec![NamedFigure { name: "line", figure }],
            remarks: &["mind the <gap>, set `a < b` here"],
            steps: 1,
        };
        let page = page(result);
        assert!(
            page.contains("1 of 2 numbers are met") && page.contains("2.00040") && page.contains("not met"),
            "{page}"
        );
        assert!(
            page.contains("a &lt; b &amp; &quot;c&quot;")
                && page.contains("mind the &lt;gap&gt;, set <code>a &lt; b</code> here")
        );
        assert!(page.contains("D. E. Stewart") && page.contains("id=\"rod\"") && page.contains("href=\"#rod\""));
        // The overview names the worst row: 0.5 is 500 times its tolerance.
        assert!(page.contains("<td>2</td><td class=\"missed\">1</td>") && page.contains(" 500.00</td>"), "{page}");
        // The figure is whole and closes none of the tags around it.
        let image = page.split("src=\"data:image/svg+xml,").nth(1).unwrap().split('"').next().unwrap();
        assert!(
            image.starts_with("%3Csvg") && image.trim_end().ends_with("%3C/svg%3E") && !image.contains(['<', '>', '#'])
        );
    }

    #[test]
    fn the_page_shows_ranges_notes_print_and_certificates() {
        let range = Row { reference: None, least: Some(0.9), most: Some(1.15), tolerance: 0.125, ..row(1.0, true) };
        let note = Row { reference: None, note: Some("it cannot".to_owned()), ..row(f64::NAN, true) };
        let unlike = Row { printed: Some("2.10"), differs_from_print: true, ..row(2.0004, true) };
        let failed =
            Row { certificate: Some("not met: residual 2.5e-10, limit 1.0e-10".to_owned()), ..row(2.0, false) };
        let result = Reproduction { rows: vec![range, note, unlike, failed], ..Default::default() };
        let page = page(result);
        for part in [
            "2 of 3 numbers are met, 1 differ from print",
            "<td>0.9 to 1.15</td>",
            "<small>it cannot</small>",
            "<td>2.10</td>",
            ">differs from print<",
            "certificate not met: residual",
            ">not certified<",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }

    #[test]
    fn numbers_have_the_digits_of_their_tolerance() {
        assert_eq!(number(-0.123_456_789, 1e-4), "−0.123457");
        assert_eq!(number(6.157_412e-7, 6e-10), "6.15741e−7");
        assert_eq!(number(20.0, 0.0), "20");
        assert_eq!(number(0.0, 1e-9), "0");
        assert_eq!(number(f64::NAN, 1e-9), "NaN");
    }
}

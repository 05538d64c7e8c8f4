//! Whole figures: that they are drawn, that they are written, and that nothing is left behind.

use std::path::{Path, PathBuf};

use tiny_skia::Pixmap;

use super::{
    Anchor, Colour, Figure, FigureError, Mark, Outline, PNG_SCALE, Panel, Rule, RulePosition, Series, SeriesKind,
    Stroke,
};

/// A folder of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stiction-figure-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A rod that falls, hits the ground with its lower end and slides.
fn poses() -> Panel {
    let mut outlines = vec![Outline::ground(0.0)];
    let mut marks = Vec::new();
    for k in 0..12 {
        let t = 0.08 * f64::from(k);
        let angle = 1.05 - 0.10 * t - 1.0 * (t - 0.35).max(0.0).powi(2) * 2.6;
        let (sin, cos) = angle.sin_cos();
        let y = (1.0 - 4.905 * t * t).max(0.5 * sin.abs() + 0.05);
        let x = 0.9 * t + 0.28 * f64::from(k);
        let (a, b) = ((x - 0.5 * cos, y - 0.5 * sin), (x + 0.5 * cos, y + 0.5 * sin));
        let colour = Colour::SKY.towards(Colour::BLUE, f64::from(k) / 11.0);
        outlines.push(Outline {
            fill: Some((colour, 0.25)),
            stroke: Some(Stroke { colour, width: 1.1, dashed: false }),
            ..Outline::capsule(a, b, 0.05)
        });
        if k % 2 == 0 {
            let text = format!("{t:.2} s");
            marks.push(Mark { at: (b.0, b.1 + 0.05), text, ..Mark::default() });
        }
    }
    Panel {
        title: "(a) Poses".into(),
        x_label: "x (m)".into(),
        y_label: "y (m)".into(),
        equal_aspect: true,
        outlines,
        marks,
        ..Panel::default()
    }
}

/// A velocity that falls, jumps at an impact and decays, with four step sizes.
fn velocities(title: &str, y_label: &str, phase: f64, kind: SeriesKind) -> Panel {
    let series = [0.02, 0.01, 0.005, 0.0025].map(|h: f64| {
        let count = (1.0 / h).round() as i32;
        let points = (0..=count).map(|i| f64::from(i) * h).map(|t| {
            let impact = 0.38 + 1.5 * h;
            let v = if t < impact { -9.81 * t } else { 2.4 * (-3.0 * (t - impact)).exp() * (9.0 * t + phase).cos() };
            (t, v * (1.0 + 2.0 * h * phase))
        });
        Series { label: format!("h = {h}"), points: points.collect(), kind, ..Series::default() }
    });
    let rule = Rule { position: RulePosition::X(0.383), label: "first touch".into(), ..Rule::default() };
    Panel {
        title: title.into(),
        x_label: "time (s)".into(),
        y_label: y_label.into(),
        series: series.into(),
        rules: vec![rule],
        ..Panel::default()
    }
}

fn gallery() -> Figure {
    Figure {
        title: "A rod falls on a rough ground".into(),
        subtitle: "length 1 m, mass 1 kg, μ = 0.6, ε = 0; four step sizes h in seconds".into(),
        panels: vec![
            poses(),
            velocities("(b) Vertical velocity", "velocity (m/s)", 0.0, SeriesKind::Line),
            velocities("(c) Horizontal velocity", "velocity (m/s)", 1.3, SeriesKind::Steps),
            velocities("(d) Angular velocity", "angular velocity (rad/s)", 2.6, SeriesKind::Line),
        ],
        size: (1000, 720),
        ..Figure::default()
    }
}

fn convergence() -> Figure {
    let steps: Vec<f64> = (0..7).map(|k| 0.05 * 0.5_f64.powi(k)).collect();
    let errors = |constant: f64, order: f64| steps.iter().map(|&h| (h, constant * h.powf(order))).collect::<Vec<_>>();
    let series = |label: &str, points, kind| Series { label: label.into(), points, kind, ..Series::default() };
    Figure {
        title: "Convergence".into(),
        panels: vec![Panel {
            x_label: "step size h (s)".into(),
            y_label: "error in the final position (m)".into(),
            log_x: true,
            log_y: true,
            series: vec![
                series("Stewart-Trinkle", errors(0.3, 1.04), SeriesKind::LineAndPoints),
                series("Moreau midpoint", errors(0.11, 0.97), SeriesKind::LineAndPoints),
                series("trapezoidal", errors(0.8, 1.99), SeriesKind::LineAndPoints),
                Series { colour: Some(Colour::GREY), ..series("slope 1", errors(0.6, 1.0), SeriesKind::Dashed) },
            ],
            ..Panel::default()
        }],
        size: (620, 460),
        ..Figure::default()
    }
}

fn semilog() -> Figure {
    let residual = |rate: f64, floor: f64| {
        (0..120).map(f64::from).map(|k| (k, (10.0_f64).powf(-rate * k) * (1.2 + (0.9 * k).sin()) + floor)).collect()
    };
    let series = |label: &str, points| Series { label: label.into(), points, ..Series::default() };
    Figure {
        panels: vec![Panel {
            title: "Residual of the contact problem".into(),
            x_label: "iteration".into(),
            y_label: "residual (m/s)".into(),
            log_y: true,
            series: vec![series("Gauss-Seidel", residual(0.06, 0.0)), series("Newton", residual(0.4, 3e-15))],
            rules: vec![Rule { position: RulePosition::Y(1e-10), label: "tolerance".into(), ..Rule::default() }],
            ..Panel::default()
        }],
        size: (560, 400),
        ..Figure::default()
    }
}

/// Everything that is hard to draw.
fn oddities() -> Figure {
    let flat =
        Series { label: "constant".into(), points: (0..5).map(|k| (f64::from(k), 0.3)).collect(), ..Series::default() };
    let mut broken: Vec<(f64, f64)> = (0..200).map(|k| f64::from(k) * 0.05).map(|t| (t, t.sin() * 2e-7)).collect();
    broken[80].1 = f64::NAN;
    broken[81].1 = f64::INFINITY;
    broken[83].0 = f64::NAN;
    let noise = |k: u32| f64::from(k.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
    let crowd = |level: f64| (0..1500).map(|k| (f64::from(k), level + noise(k))).collect::<Vec<_>>();
    let single = Series { points: vec![(2.0, 5.0)], ..Series::default() };
    Figure {
        panels: vec![
            Panel { title: "Constant".into(), series: vec![flat], ..Panel::default() },
            Panel { title: "One point".into(), series: vec![single, Series::default()], ..Panel::default() },
            Panel {
                title: "Gaps and a factor".into(),
                x_label: "time (s)".into(),
                y_label: "gap (m)".into(),
                series: vec![Series { label: "gap".into(), points: broken, ..Series::default() }],
                ..Panel::default()
            },
            Panel {
                title: "No room for a legend".into(),
                series: (0..5)
                    .map(|k| Series {
                        label: format!("sensor number {k}"),
                        points: crowd(0.7 * f64::from(k)),
                        width: 0.6,
                        ..Series::default()
                    })
                    .collect(),
                ..Panel::default()
            },
            Panel { title: "Nothing".into(), ..Panel::default() },
            Panel {
                title: "Bodies cut off".into(),
                equal_aspect: true,
                x_range: Some((0.0, 2.0)),
                y_range: Some((0.0, 1.0)),
                outlines: vec![
                    Outline { fill: Some((Colour::ORANGE, 0.4)), ..Outline::disc((2.0, 0.5), 0.3) },
                    Outline { fill: Some((Colour::GREEN, 0.4)), ..Outline::capsule((0.5, 0.3), (0.9, 0.5), 0.1) },
                    Outline::wall((0.2, 0.9), (0.2, 0.1)),
                ],
                series: vec![Series {
                    label: "path".into(),
                    points: vec![(0.0, 0.0), (1.0, 2.0), (1.5, 0.2), (9.0, 0.9)],
                    kind: SeriesKind::LineAndPoints,
                    ..Series::default()
                }],
                ..Panel::default()
            },
        ],
        columns: 3,
        size: (1200, 640),
        ..Figure::default()
    }
}

/// Long names, little room, crowded marks.
fn crowded() -> Figure {
    let wave = |k: i32| (0..100).map(|i| f64::from(i) * 0.1).map(|t| (t, 1e5 + (t + f64::from(k)).sin())).collect();
    let ring = (0..14).map(|k| f64::from(k) * 0.45).map(|a| Mark {
        at: (a.cos() * 0.2, a.sin() * 0.2),
        text: format!("{a:.2} rad"),
        anchor: Anchor::Right,
        colour: Colour::BLUE,
        ..Mark::default()
    });
    let rule = |x: f64, label: &str| Rule { position: RulePosition::X(x), label: label.into(), ..Rule::default() };
    Figure {
        title: "A title that is far too long for the width of the figure and has to go on in a second line".into(),
        subtitle: "and a subtitle of the same kind, which names all data of the experiment: mass, length, friction, \
                   restitution"
            .into(),
        panels: vec![
            Panel {
                title: "Long names in the legend and long numbers at the ticks".into(),
                x_label: "time since the beginning of the experiment (s)".into(),
                y_label: "height of the centre of mass above the ground (m)".into(),
                series: (0..3)
                    .map(|k| Series {
                        label: format!("run {k} with a name that fills a line by itself and more"),
                        points: wave(k),
                        ..Series::default()
                    })
                    .collect(),
                ..Panel::default()
            },
            Panel {
                title: "Crowded marks".into(),
                equal_aspect: true,
                marks: ring.collect(),
                outlines: vec![Outline { hatched: true, ..Outline::disc((0.0, 0.0), 0.2) }],
                ..Panel::default()
            },
            Panel {
                title: "Less than a decade".into(),
                x_label: "h".into(),
                log_x: true,
                log_y: true,
                series: vec![Series {
                    label: "error".into(),
                    points: vec![(2.1e-7, 3.0), (3.3e-7, 4.0), (4.4e-7, 4.5), (1.4e-6, 5.8)],
                    kind: SeriesKind::Points,
                    ..Series::default()
                }],
                rules: vec![rule(4.0e-7, "one"), rule(4.2e-7, "two"), rule(1.3e-6, "three, at the edge")],
                ..Panel::default()
            },
            Panel {
                title: "From edge to edge".into(),
                y_label: "energy (J)".into(),
                y_range: Some((0.0, 1.0)),
                x_range: Some((0.0, 1e6)),
                x_label: "step".into(),
                series: vec![Series {
                    points: vec![(0.0, 0.0), (2e5, 0.0), (5e5, 1.0), (1e6, 1.0)],
                    kind: SeriesKind::LineAndPoints,
                    label: "energy".into(),
                    ..Series::default()
                }],
                ..Panel::default()
            },
        ],
        size: (640, 560),
        ..Figure::default()
    }
}

fn all_figures() -> [(&'static str, Figure); 5] {
    [
        ("gallery", gallery()),
        ("convergence", convergence()),
        ("semilog", semilog()),
        ("oddities", oddities()),
        ("crowded", crowded()),
    ]
}

/// Share of the pixels that are not white, and of those in full colour.
fn inked(picture: &Pixmap) -> (f64, f64) {
    let count = picture.pixels().len() as f64;
    let dark = picture.pixels().iter().filter(|p| (p.red(), p.green(), p.blue()) != (255, 255, 255)).count() as f64;
    let coloured = picture.pixels().iter().filter(|p| p.red().abs_diff(p.blue()) > 80).count() as f64;
    (dark / count, coloured / count)
}

fn error_of(result: Result<(), FigureError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_gallery_is_written_in_every_format() {
    let folder = Folder::new("gallery");
    for (name, figure) in all_figures() {
        let (svg, png) = (folder.0.join(format!("{name}.svg")), folder.0.join(format!("{name}.png")));
        let drawing = figure.draw().unwrap();
        for path in [&svg, &png, &folder.0.join(format!("{name}.pdf"))] {
            drawing.write(path).unwrap();
        }

        let text = std::fs::read_to_string(&svg).unwrap();
        assert!(!text.contains("<text"), "{name}: text was left as text");
        let (width, height) = figure.size;
        let opening = text.split_once('>').unwrap().0;
        for attribute in [format!("viewBox=\"0 0 {width} {height}\""), format!(" width=\"{width}\"")] {
            assert_eq!(opening.matches(&attribute).count(), 1, "{name}: {opening}");
        }
        // Letters alone have tens of curves each.
        let curve_count = text.matches(['L', 'Q', 'C']).count();
        assert!(curve_count > 1000, "{name}: only {curve_count} lines and curves");

        let picture = Pixmap::load_png(&png).unwrap();
        assert_eq!((picture.width(), picture.height()), (figure.size.0 * PNG_SCALE, figure.size.1 * PNG_SCALE));
        let (dark, coloured) = inked(&picture);
        assert!(
            (0.01..0.5).contains(&dark) && coloured > 0.0004,
            "{name}: {dark} of the pixels drawn, {coloured} coloured"
        );
    }
    // For looking at them.
    if let Some(copies) = std::env::var_os("STICTION_FIGURES") {
        for name in folder.files() {
            std::fs::copy(folder.0.join(&name), Path::new(&copies).join(&name)).unwrap();
        }
    }
    assert_eq!(folder.files().len(), 15, "{:?}", folder.files());
}

#[test]
fn an_independent_reader_sees_in_the_svg_what_the_png_shows() {
    for (name, figure) in all_figures() {
        let drawing = figure.draw().unwrap();
        let ours = Pixmap::decode_png(&drawing.to_png().unwrap()).unwrap();
        let tree = resvg::usvg::Tree::from_str(&drawing.to_svg(), &resvg::usvg::Options::default()).unwrap();
        let mut theirs = Pixmap::new(ours.width(), ours.height()).unwrap();
        let scale = resvg::tiny_skia::Transform::from_scale(PNG_SCALE as f32, PNG_SCALE as f32);
        resvg::render(&tree, scale, &mut theirs.as_mut());
        // Coordinates are written in hundredths of a pixel: edges differ by a shade.
        let unlike = ours.data().iter().zip(theirs.data()).filter(|(a, b)| a.abs_diff(**b) > 48).count();
        assert!((unlike as f64) < 1e-4 * ours.data().len() as f64, "{name}: {unlike} values differ");
    }
}

#[test]
fn a_pdf_has_its_text_as_text_with_the_letters_it_needs() {
    let drawing = gallery().draw().unwrap();
    let pdf = drawing.to_pdf().unwrap();
    assert_eq!(pdf, drawing.to_pdf().unwrap());
    assert!(pdf.starts_with(b"%PDF-1.") && pdf.trim_ascii_end().ends_with(b"%%EOF"));
    let text = String::from_utf8_lossy(&pdf);
    for part in ["NotoSans-Regular", "NotoSans-Bold", "/ToUnicode", "/FontFile2", "/MediaBox [0 0 750 540]"] {
        assert!(text.contains(part), "{part} is missing");
    }
    // The letters of the title in the table beside the bold font, and not those that do not occur.
    assert!(text.contains("> <0041>") && text.contains("> <03BC>") && !text.contains("> <0051>"), "A and μ, but no Q");
    // Two fonts of 200 kB would not fit.
    assert!((5_000..120_000).contains(&pdf.len()), "{} bytes", pdf.len());
}

#[test]
fn texts_that_cover_each_other_are_found() {
    assert!(gallery().draw().unwrap().text_collisions().is_empty());
    let ticks = Panel {
        y_names: Some(vec![(0.5, "one".into()), (0.51, "two".into())]),
        y_range: Some((0.0, 1.0)),
        ..Panel::default()
    };
    let figure = Figure { panels: vec![ticks], ..Figure::default() };
    assert_eq!(figure.draw().unwrap().text_collisions(), [("one".to_owned(), "two".to_owned())]);
}

#[test]
fn an_old_file_is_replaced_and_no_other_remains() {
    let folder = Folder::new("replace");
    let path = folder.0.join("figure.svg");
    std::fs::write(&path, "old").unwrap();
    semilog().write(&path).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("<svg"));
    assert_eq!(folder.files(), ["figure.svg"]);
}

#[test]
fn a_failed_write_names_the_file_and_leaves_nothing_behind() {
    let folder = Folder::new("failed");
    // A folder stands where the file should go: the last step, the renaming, fails.
    let taken = folder.0.join("taken.png");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("inside"), "").unwrap();
    let message = error_of(semilog().write(&taken));
    assert!(message.contains("taken.png"), "{message}");
    assert_eq!(folder.files(), ["taken.png"]);

    let message = error_of(semilog().write(folder.0.join("missing").join("figure.svg")));
    assert!(message.contains("figure.svg") && message.contains("missing"), "{message}");
    assert_eq!(folder.files(), ["taken.png"]);
}

#[test]
fn other_formats_are_refused_by_name() {
    let folder = Folder::new("formats");
    for (name, extension) in [("figure.gif", "`.gif`"), ("figure", "`.`")] {
        let message = error_of(semilog().write(folder.0.join(name)));
        assert!(message.contains(extension) && message.contains(".svg") && message.contains(".png"), "{message}");
    }
    assert!(folder.files().is_empty());
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let refused = |figure: Figure| figure.draw().unwrap_err();
    assert!(matches!(refused(Figure::default()), FigureError::NoPanels));
    assert!(matches!(refused(Figure { size: (120, 90), ..gallery() }), FigureError::TooSmall { width: 120, .. }));
    assert!(matches!(refused(Figure { size: (0, 0), ..gallery() }), FigureError::TooSmall { .. }));
    assert!(matches!(refused(Figure { size: (100_000, 600), ..gallery() }), FigureError::TooLarge { .. }));
}

#[test]
fn a_spike_in_a_million_samples_reaches_the_picture() {
    let count = 1_000_000_u32;
    let points = |spike: u32| {
        (0..count).map(|i| (f64::from(i), if i == spike { 1.0 } else { 0.0 })).collect::<Vec<(f64, f64)>>()
    };
    let figure = |spike| Figure {
        panels: vec![Panel {
            series: vec![Series { points: points(spike), colour: Some(Colour(255, 0, 0)), ..Series::default() }],
            y_range: Some((-0.1, 1.1)),
            ..Panel::default()
        }],
        size: (300, 200),
        ..Figure::default()
    };
    let red_above_the_middle = |figure: &Figure| {
        let picture = Pixmap::decode_png(&figure.draw().unwrap().to_png().unwrap()).unwrap();
        let upper = picture.pixels().iter().take(picture.pixels().len() / 2);
        upper.filter(|p| p.red() > 200 && p.green() < 100).count()
    };
    assert!(red_above_the_middle(&figure(654_321)) > 50);
    assert_eq!(red_above_the_middle(&figure(count)), 0);
    // What is written is for the pixels, not for the samples.
    let length = figure(654_321).draw().unwrap().to_svg().len();
    assert!(length < 200_000, "{length} bytes");
}

#[test]
fn the_same_figure_is_written_alike_twice() {
    assert_eq!(gallery().draw().unwrap().to_svg(), gallery().draw().unwrap().to_svg());
}

#[test]
fn letters_of_markup_are_only_letters() {
    let mut figure = semilog();
    figure.title = "a < b & \"c\" > 'd' \u{0}\u{1b}[31m\n</svg><script>alert(1)</script>".into();
    let svg = figure.draw().unwrap().to_svg();
    // Text is drawn as outlines, so that nothing of it is markup.
    assert_eq!(svg.matches("</svg>").count(), 1);
    assert!(!svg.contains("script") && !svg.contains("<text") && !svg.contains(['\u{0}', '\u{1b}']));
}

#[test]
fn rows_take_the_heights_that_they_are_given() {
    let weighted = |row_weights: Vec<f64>| {
        let frames = super::layout::layout(&Figure { row_weights, ..gallery() }).unwrap().frames;
        let heights: Vec<f64> = frames.iter().map(|frame| frame.cell.height()).collect();
        heights
    };
    let (even, uneven) = (weighted(vec![]), weighted(vec![3.0]));
    assert_eq!(weighted(vec![-1.0, f64::NAN]), even, "heights that are none");
    assert!((even[0] - even[2]).abs() < 1e-9, "{even:?}");
    assert!((uneven[0] - 3.0 * uneven[2]).abs() < 1e-9, "{uneven:?}");
    assert!((uneven[0] + uneven[2] - even[0] - even[2]).abs() < 1e-9, "{even:?} {uneven:?}");
}

#[test]
fn an_axis_may_have_words_and_a_background_does_not_widen_it() {
    let panel = Panel {
        y_names: Some(vec![(0.0, "below".into()), (1.0, "above".into()), (9.0, "unseen".into())]),
        outlines: vec![
            Outline { points: vec![(-1.0, -0.1), (1.0, 1.1)], ..Outline::default() },
            Outline { background: true, ..Outline::wall((-500.0, -400.0), (500.0, 400.0)) },
        ],
        ..Panel::default()
    };
    let layout = super::layout::layout(&Figure { panels: vec![panel], ..Figure::default() }).unwrap();
    let frame = &layout.frames[0];
    let words: Vec<&str> = frame.y_ticks.major.iter().map(|tick| tick.label.as_str()).collect();
    assert_eq!(words, ["below", "above"]);
    assert!(frame.x.max < 2.0 && frame.y.max < 2.0, "{} {}", frame.x.max, frame.y.max);
}

#[test]
fn a_mark_moves_to_where_nothing_is_covered() {
    // A thicket of lines around the origin; a clear place around (8, 8).
    let thicket: Vec<(f64, f64)> =
        (-60..=60).map(|k| f64::from(k) * 0.1).flat_map(|x| [(x, -5.0), (x + 0.05, 5.0)]).collect();
    let mark = Mark { text: "here".into(), alternatives: vec![(1.0, 1.0), (8.0, 8.0)], ..Mark::default() };
    let panel = |mark: Mark| Panel {
        x_range: Some((-10.0, 10.0)),
        y_range: Some((-10.0, 10.0)),
        series: vec![Series { points: thicket.clone(), ..Series::default() }],
        marks: vec![mark],
        ..Panel::default()
    };
    let place = |mark: &Mark| {
        let panel = panel(mark.clone());
        let layout = super::layout::layout(&Figure { panels: vec![panel.clone()], ..Figure::default() }).unwrap();
        let frame = &layout.frames[0];
        let at = super::annotations::annotations(&panel, frame)[0].at;
        let corner = (frame.x.pixel(8.0).unwrap(), frame.y.pixel(8.0).unwrap());
        (at.0 - corner.0).hypot(at.1 - corner.1)
    };
    assert!(place(&mark) < 60.0, "{} pixels from the clear place", place(&mark));
    assert!(place(&Mark { alternatives: Vec::new(), ..mark }) > 150.0, "no other place is allowed");
}

#[test]
fn a_picture_has_no_axes() {
    let panel = |is_picture| Panel { is_picture, outlines: vec![Outline::disc((0.0, 0.0), 1.0)], ..Panel::default() };
    let figure = |is_picture| Figure { panels: vec![panel(is_picture)], ..Figure::default() };
    let ticks = |is_picture| {
        let layout = super::layout::layout(&figure(is_picture)).unwrap();
        layout.frames[0].x_ticks.major.len() + layout.frames[0].y_ticks.major.len()
    };
    assert!(ticks(false) > 4 && ticks(true) == 0);
    let marks = |is_picture| figure(is_picture).draw().unwrap().to_svg().matches("<path").count();
    assert!(marks(true) < marks(false), "neither axes nor numbers are left");
}

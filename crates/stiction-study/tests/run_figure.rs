//! Pictures of real runs: the built-in scenes, columns, and folders that are no runs.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use stiction_scene::table_file::Table;
use stiction_scene::{builtin, load, run};
use stiction_study::figure::{Figure, Panel, RulePosition, SeriesKind};
use stiction_study::run_figure::{
    PanelKind, RunFigureError, Selection, available_columns, column_figure, default_figure,
};
use tempfile::TempDir;

/// The whole run.
const ALL: Selection = Selection { panels: Vec::new(), from: None, to: None };

/// Runs a built-in scene with some of its settings changed.
fn run_scene(folder: &TempDir, name: &str, overrides: &[&str]) -> PathBuf {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let loaded = load::load(name, &overrides).expect("a built-in scene loads");
    let out = folder.path().join(name);
    run::run(&loaded, &out, &Default::default(), &mut |_| ControlFlow::Continue(())).expect("the run is written");
    out
}

fn titles(figure: &Figure) -> Vec<&str> {
    figure.panels.iter().map(|panel| panel.title.as_str()).collect()
}

fn panel<'a>(figure: &'a Figure, title: &str) -> &'a Panel {
    figure.panels.iter().find(|panel| panel.title.starts_with(title)).unwrap_or_else(|| panic!("{:?}", titles(figure)))
}

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}

/// Every panel shows something.
fn assert_not_empty(figure: &Figure) {
    for panel in &figure.panels {
        let points = panel.series.iter().flat_map(|series| &series.points).filter(|point| point.1.is_finite()).count();
        assert!(points > 0 || !panel.outlines.is_empty(), "{}: {} is empty", figure.title, panel.title);
    }
}

/// Every panel shows something else than zero, and no text covers another one or leaves the page.
fn assert_readable(figure: &Figure) {
    assert_not_empty(figure);
    for panel in figure.panels.iter().filter(|panel| panel.outlines.is_empty()) {
        let largest = drawn(panel).into_iter().map(f64::abs).fold(0.0, f64::max);
        let range = panel.y_range.map_or(0.0, |(low, high)| low.abs().max(high.abs()));
        assert!(panel.log_y || largest > 1e-9 * range, "{}: {} shows zero", figure.title, panel.title);
    }
    let collisions = figure.draw().unwrap().text_collisions();
    assert!(collisions.is_empty(), "{}: {collisions:?}", figure.title);
}

#[test]
fn the_rod_has_the_panels_of_the_paper() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rod", &[]);
    let figure = default_figure(&run, &ALL).unwrap();
    let expected = [
        "Poses, darker with time",
        "Vertical velocity",
        "Angular velocity",
        "Horizontal velocity",
        "Contact modes",
        "Normal force between impacts, peaks cut off",
        "Energy",
        "Certificate",
    ];
    assert_eq!(titles(&figure), expected);
    assert_not_empty(&figure);
    assert!(figure.title.contains("rod"), "{}", figure.title);
    for part in ["stewart-trinkle linear", "pyramid", "step 0.0025 s", "finished at t = 1 s", "residual", "digest"] {
        assert!(figure.subtitle.contains(part), "{part} is not in: {}", figure.subtitle);
    }

    // [ST96] Figure 3: two impacts, at the start of the steps at 0.3825 and 0.5475 s, shown in
    // every velocity curve.
    for title in ["Vertical velocity", "Angular velocity", "Horizontal velocity"] {
        let at: Vec<f64> = panel(&figure, title)
            .rules
            .iter()
            .map(|rule| match rule.position {
                RulePosition::X(t) => t,
                RulePosition::Y(_) => panic!("a level line in {title}"),
            })
            .collect();
        assert_eq!(at.len(), 2, "{title}: {at:?}");
        assert!((at[0] - 0.3825).abs() < 1e-9 && (at[1] - 0.5475).abs() < 1e-9, "{at:?}");
    }
    // It starts without vertical velocity and rests in the end; before the impact it falls freely.
    let fall = &panel(&figure, "Vertical velocity").series[0].points;
    assert_eq!(fall.len(), 401);
    assert!((fall[100].1 + 9.81 * 0.25).abs() < 1e-9 && fall[400].1.abs() < 1e-9, "{:?} {:?}", fall[100], fall[400]);

    let poses = &figure.panels[0];
    let bodies = poses.outlines.iter().filter(|outline| outline.closed).count();
    assert!((10..=16).contains(&bodies), "{bodies} poses");
    assert!(poses.outlines.iter().any(|outline| outline.hatched), "the table is not drawn");
    assert!(poses.marks.first().unwrap().text.starts_with("0 s"), "{:?}", poses.marks);

    // Losses and what is left add up to what there was: the energy curves agree with each other.
    let energy = panel(&figure, "Energy");
    let last = |label: &str| energy.series.iter().find(|s| s.label == label).unwrap().points.last().unwrap().1;
    let first = energy.series.iter().find(|series| series.label == "total").unwrap().points[0].1;
    let sum = last("total") + last("lost in impacts") + last("lost to friction") + last("lost by the scheme");
    assert!((sum - first).abs() < 1e-9 * first, "{sum} is not {first}");

    let svg = figure.draw().unwrap().to_svg();
    assert!(svg.len() > 10_000, "{} bytes of SVG", svg.len());
}

/// Runs a scene that is given as text.
fn run_text(folder: &TempDir, text: &str) -> PathBuf {
    let loaded = load::parse(text, "scene.toml").expect("the scene is well formed");
    let out = folder.path().join(&loaded.scene().name);
    run::run(&loaded, &out, &Default::default(), &mut |_| ControlFlow::Continue(())).expect("the run is written");
    out
}

/// The forces of a panel: all values that are numbers.
fn drawn(panel: &Panel) -> Vec<f64> {
    panel.series.iter().flat_map(|series| &series.points).map(|point| point.1).filter(|y| y.is_finite()).collect()
}

/// At every time of the curve of the total, what was lost so far, what is there, and what was
/// brought give what there was.
fn assert_energies_add_up(energy: &Panel, tolerance: f64) {
    let curve = |label: &str| energy.series.iter().find(|series| series.label == label).map(|series| &series.points);
    let total = curve("total").or_else(|| curve("kinetic = total")).expect("the total is drawn");
    for (row, &(t, total_now)) in total.iter().enumerate() {
        let mut sum = total_now;
        for series in &energy.series {
            assert!(series.points.len() == total.len(), "{} has a value at each time of the total", series.label);
            match () {
                () if series.label.starts_with("lost") => sum += series.points[row].1,
                () if series.label.starts_with("brought") => sum -= series.points[row].1,
                () => {}
            }
        }
        assert!((sum - total[0].1).abs() <= tolerance, "at t = {t}: {sum} J is not {} J", total[0].1);
    }
}

#[test]
fn forces_are_impulses_over_the_length_of_their_own_step() {
    // A ball of 700 kg/m³ and 0.1 m on a level floor presses with its weight, whether it slides or
    // rolls; the scheme ends a step where rolling begins.
    let weight = 700.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-3 * 9.81;
    let folder = TempDir::new().unwrap();
    for scheme in ["scheme.trapezoidal={}", "scheme.event-driven={}", "scheme.stewart-trinkle={}"] {
        let run = run_scene(&folder, "slide-to-roll", &[scheme]);
        let figure = default_figure(&run, &ALL).unwrap();
        let forces = panel(&figure, "Normal force");
        let points = &forces.series[0].points;
        assert!((points[0].0, points.last().unwrap().0) == (0.0, 0.5), "the curve covers the run");
        for force in drawn(forces) {
            assert!((force - weight).abs() <= 1e-9 * weight, "{scheme}: {force} N is not {weight} N");
        }
        // Friction takes 2/7 of the kinetic energy, and the panel shows it although the run has a
        // step more than its grid.
        let energy = panel(&figure, "Energy");
        let kinetic = 0.5 * weight / 9.81 * 4.0;
        let lost = energy.series.iter().find(|series| series.label == "lost to friction").expect("the loss is drawn");
        let expected = 2.0 / 7.0 * kinetic;
        assert!(
            (lost.points.last().unwrap().1 - expected).abs() <= 0.01 * expected,
            "{scheme}: {:?}",
            lost.points.last()
        );
        assert_energies_add_up(energy, 1e-9 * kinetic);
    }
}

#[test]
fn impulses_of_impacts_are_no_forces() {
    // A ball of 1 kg falls from 1 m with e = 0.5 and is at rest from 1.354571 s on. While it
    // bounces no force acts between the impacts; at rest the floor carries its weight.
    let folder = TempDir::new().unwrap();
    let run = run_text(
        &folder,
        r#"
format = 1
name = "bounce"
dimension = "plane"
gravity = [0.0, -9.81]
run = { step = 0.01, end = 2.0 }
[scheme.trapezoidal]
rest-speed = 1e-3
[[material]]
name = "steel"
friction = 0.0
restitution = 0.5
impact-law = "poisson"
[[body]]
name = "floor"
kind = "static"
material = "steel"
[[body.shape]]
half-plane = { normal = [0.0, 1.0] }
[[body]]
name = "ball"
kind = "point"
mass = 1.0
material = "steel"
position = [0.0, 1.0]
[[body.shape]]
disc = { radius = 0.0 }
"#,
    );
    let figure = default_figure(&run, &ALL).unwrap();
    let forces = panel(&figure, "Normal force between impacts");
    let rest = (2.0_f64 / 9.81).sqrt() * 3.0;
    let points: Vec<_> = forces.series[0].points.iter().filter(|point| point.1.is_finite()).collect();
    assert!((points[0].0 - rest).abs() < 2e-3, "the first force acts at {} s, rest begins at {rest} s", points[0].0);
    // A micronewton more or less takes back what rounding left of the gap.
    assert!(points.iter().all(|point| (point.1 - 9.81).abs() < 1e-6), "{points:?}");
    assert_energies_add_up(panel(&figure, "Energy"), 1e-9 * 9.81);
}

#[test]
fn the_forces_of_a_linkage_with_play_integrate_to_its_impulses() {
    // Steps of any length: the area under the drawn curve is the sum of the impulses of all steps
    // that have a length and are no impact.
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "four-bar-clearance", &["run.end=0.1"]);
    let figure = default_figure(&run, &ALL).unwrap();
    let contacts = Table::read(run.join("contacts.parquet")).unwrap();
    let (h, impulse, mode) =
        (contacts.real("h").unwrap(), contacts.real("c_n").unwrap(), contacts.text("mode").unwrap());
    let expected: f64 = (0..h.len()).filter(|&i| h[i] > 0.0 && mode[i] != "impact").map(|i| impulse[i]).sum();
    let forces = panel(&figure, "Normal force");
    let area = |points: &[(f64, f64)]| {
        let pairs = points.windows(2).filter(|pair| pair[0].1.is_finite() && pair[1].1.is_finite());
        pairs.map(|pair| 0.5 * (pair[0].1 + pair[1].1) * (pair[1].0 - pair[0].0)).sum::<f64>()
    };
    let drawn: f64 = forces.series.iter().map(|series| area(&series.points)).sum();
    assert!(expected > 0.0 && (drawn - expected).abs() <= 1e-6 * expected, "{drawn} N s against {expected} N s");
    assert_energies_add_up(panel(&figure, "Energy"), 1e-2 * drawn_range(panel(&figure, "Energy")));
}

/// Largest value of a panel less its smallest.
fn drawn_range(panel: &Panel) -> f64 {
    let (low, high) = drawn(panel).iter().fold((f64::MAX, f64::MIN), |(low, high), &y| (low.min(y), high.max(y)));
    high - low
}

#[test]
fn kinetic_energy_is_called_total_only_where_it_is() {
    let scene = |name: &str, gravity: f64| {
        format!(
            "format = 1\nname = \"{name}\"\ndimension = \"plane\"\ngravity = [0.0, {gravity:?}]\nrun = {{ step = 0.001, end = 0.05 }}\n\
             [[body]]\nname = \"shot\"\nkind = \"point\"\nmass = 1.0\nvelocity = [100.0, 0.0]\n"
        )
    };
    let folder = TempDir::new().unwrap();
    let labels = |name: &str, gravity: f64| -> Vec<String> {
        let figure = default_figure(&run_text(&folder, &scene(name, gravity)), &ALL).unwrap();
        panel(&figure, "Energy").series.iter().map(|series| series.label.clone()).collect()
    };
    assert_eq!(labels("weightless", 0.0), ["kinetic = total"]);
    // It falls 12 mm and gains 0.12 J of 5000 J: little, and yet not nothing.
    assert_eq!(labels("falling", -9.81)[..3], ["total", "kinetic", "potential"]);
}

#[test]
fn the_limit_of_a_hinge_carries_a_moment() {
    // A bar of 2 kg and length 1 m, hinged at its left end, lies level on the lower limit of its
    // angle: 2 kg × 9.81 m/s² × 0.5 m.
    let folder = TempDir::new().unwrap();
    let run = run_text(
        &folder,
        r#"
format = 1
name = "flap"
dimension = "plane"
gravity = [0.0, -9.81]
run = { step = 0.01, end = 0.1 }
[[body]]
name = "bar"
mass = 2.0
inertia = 0.2
position = [0.5, 0.0]
[[joint]]
name = "hinge"
bodies = ["bar"]
revolute = { anchor = [0.0, 0.0], limits = { lower = 0.0 } }
"#,
    );
    let figure = default_figure(&run, &ALL).unwrap();
    let moment = panel(&figure, "Moment of limits and clutches");
    assert_eq!(moment.y_label, "moment (N m)");
    assert!(drawn(moment).iter().all(|moment| (moment - 9.81).abs() < 1e-9), "{:?}", drawn(moment));
    assert!(!titles(&figure).iter().any(|title| title.starts_with("Normal force")), "{:?}", titles(&figure));
    let columns = column_figure(&run, &ALL, &names(&["hinge.lower.c_n", "hinge.lower.gap"]), "t").unwrap();
    let labels: Vec<&str> = columns.panels.iter().map(|panel| panel.y_label.as_str()).collect();
    assert_eq!(labels, ["hinge.lower.c_n (N m s)", "hinge.lower.gap (rad)"]);
    // The pin carries the weight.
    assert!(available_columns(&run).unwrap().contains(&"hinge.x.value".to_owned()));
    let pin = column_figure(&run, &ALL, &names(&["hinge.y.force"]), "t").unwrap();
    assert_eq!(drawn(&pin.panels[0]).len(), 10);
    assert!(drawn(&pin.panels[0]).iter().all(|force| (force - 19.62).abs() < 1e-9), "{:?}", drawn(&pin.panels[0]));
}

#[test]
fn every_built_in_scene_has_a_figure_without_empty_panels_or_overlapping_labels() {
    let folder = TempDir::new().unwrap();
    for scene in builtin::all() {
        // A short run of each; the default length is for the scenes' own tests.
        let run = run_scene(&folder, scene.name, &["run.end=0.1"]);
        let figure = default_figure(&run, &ALL).unwrap();
        assert_eq!(figure.title, scene.title);
        assert_readable(&figure);
        // What has no panel is zero, and the heading says so.
        let has = |title: &str| {
            let zero = figure.subtitle.split_once("zero throughout: ").map_or("", |parts| parts.1);
            assert!(
                titles(&figure).iter().any(|shown| shown.starts_with(title)) || zero.contains(&title.to_lowercase()),
                "{title}: {:?}, {}",
                titles(&figure),
                figure.subtitle
            );
        };
        panel(&figure, "Certificate");
        has("Energy");
        if scene.text.contains("[system]") {
            has("Coordinate");
            continue;
        }
        panel(&figure, "Pose");
        let is_plane = scene.text.contains("dimension = \"plane\"");
        for title in if is_plane { ["Vertical velocity", "Horizontal velocity"] } else { ["Speed", "Angular"] } {
            has(title);
        }
        if !is_plane {
            // Two different views, and the axes are named.
            let views = &figure.panels[..2];
            assert_ne!((&views[0].x_label, &views[0].y_label), (&views[1].x_label, &views[1].y_label));
            assert!(views[0].title.contains('–'), "{}", views[0].title);
        }
    }
}

#[test]
fn links_rods_and_pins_of_mechanisms_are_drawn() {
    let folder = TempDir::new().unwrap();
    // The outlines of the last of the poses, and the pins, by scene.
    for (scene, links, grounded, moving) in
        [("andrews", 7, 4, 6), ("bricard", 5, 2, 4), ("four-bar-clearance", 3, 2, 1), ("double-pendulum", 2, 1, 0)]
    {
        let run = run_scene(&folder, scene, &["run.end=0.02"]);
        let figure = default_figure(&run, &ALL).unwrap();
        let poses = panel(&figure, "Pose");
        let wide =
            poses.outlines.iter().filter_map(|outline| outline.stroke).filter(|stroke| stroke.width > 2.0).count();
        let rods = poses.outlines.iter().filter(|outline| !outline.closed && outline.points.len() == 2).count();
        assert!(wide == links || (scene == "double-pendulum" && rods >= links), "{scene}: {wide} links, {rods} rods");
        let dots = |width: f64| {
            let pins = poses.series.iter().filter(|series| series.kind == SeriesKind::Dots && series.width == width);
            pins.map(|series| series.points.len()).sum::<usize>()
        };
        assert_eq!((dots(2.2), dots(1.2)), (grounded, moving), "{scene}");
    }
}

#[test]
fn a_single_body_in_space_shows_which_way_it_turns() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rattleback", &["run.end=0.5"]);
    let figure = default_figure(&run, &ALL).unwrap();
    let spin = panel(&figure, "Angular velocity").series.iter().find(|series| series.label == "about z").unwrap();
    // It starts with -5 rad/s.
    assert_eq!(spin.points[0], (0.0, -5.0));
    assert!(spin.points.iter().all(|point| point.1 < 0.0));
    let poses = panel(&figure, "Poses side by side");
    assert_eq!(poses.x_names.as_ref().unwrap().len(), 6);
}

#[test]
fn panels_and_times_can_be_chosen() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rod", &[]);
    let chosen = Selection { panels: vec![PanelKind::Energy, PanelKind::Modes], from: Some(0.3), to: Some(0.6) };
    let figure = default_figure(&run, &chosen).unwrap();
    assert_eq!(titles(&figure), ["Contact modes", "Energy"]);
    // States are 2.5 ms apart; both impacts are within.
    let energy = panel(&figure, "Energy");
    let total = &energy.series[0].points;
    assert_eq!(total.len(), 121);
    assert!((total[0].0 - 0.3).abs() < 1e-9 && (total[120].0 - 0.6).abs() < 1e-9, "{:?}", energy.x_range);
    assert_eq!(energy.rules.len(), 2);
    assert_energies_add_up(energy, 1e-9 * total[0].1);
    let columns = column_figure(&run, &chosen, &names(&["rod.vy", "residual", "rod/table#1.c_n"]), "t").unwrap();
    assert!(columns.panels.iter().all(|panel| panel.series[0].points.len() == 121));
    // The right end touches at 0.3825 s; the values stand beside their own times.
    let first = columns.panels[2].series[0].points.iter().find(|point| point.1 > 0.0).unwrap();
    assert!((first.0 - 0.385).abs() < 1e-9, "{first:?}");

    let fails = |selection: &Selection| default_figure(&run, selection).unwrap_err().to_string();
    let late = fails(&Selection { from: Some(2.0), ..ALL });
    assert!(late.contains("no states from 2 to inf s; the run goes from 0 to 1 s"), "{late}");
    let unknown = fails(&Selection { panels: vec![PanelKind::Coordinates], ..ALL });
    assert!(unknown.contains("has no panel coordinates; it has poses, velocities, modes"), "{unknown}");
}

#[test]
fn a_system_of_matrices_has_curves_of_its_coordinates() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "woodpecker", &["run.end=0.2"]);
    let figure = default_figure(&run, &ALL).unwrap();
    let expected = [
        "Coordinate y",
        "Velocity of y",
        "Coordinate phi_m",
        "Velocity of phi_m",
        "Coordinate phi_s",
        "Velocity of phi_s",
        "Contact modes",
        "Normal force between impacts",
        "Energy",
        "Certificate",
    ];
    assert_eq!(titles(&figure), expected);
    assert_not_empty(&figure);
    assert!(figure.subtitle.starts_with("moreau-midpoint, planar-relay, step 0.0001 s"), "{}", figure.subtitle);
    let labels: Vec<&str> = figure.panels[..6].iter().map(|panel| panel.y_label.as_str()).collect();
    assert_eq!(labels, ["y (m)", "v_y (m/s)", "phi_m (rad)", "v_phi_m (rad/s)", "phi_s (rad)", "v_phi_s (rad/s)"]);
    // The beak hits once, after 0.081 s.
    let rules = &panel(&figure, "Velocity of phi_s").rules;
    assert!(rules.iter().any(|rule| matches!(rule.position, RulePosition::X(t) if (t - 0.08).abs() < 3e-3)));
    assert_eq!(panel(&figure, "Contact modes").y_names.as_ref().unwrap().len(), 3);

    let figure = column_figure(&run, &ALL, &names(&["phi_m", "phi_s", "v_phi_s", "y", "beak.c_n"]), "t").unwrap();
    let labels: Vec<&str> = figure.panels.iter().map(|panel| panel.y_label.as_str()).collect();
    assert_eq!(labels, ["angle (rad)", "v_phi_s (rad/s)", "y (m)", "beak.c_n (N s)"]);
    let figure = column_figure(&run, &ALL, &names(&["v_phi_s"]), "phi_s").unwrap();
    assert_eq!(figure.panels[0].x_label, "phi_s (rad)");
    // Contacts of matrices have a gap and no place.
    let columns = available_columns(&run).unwrap();
    assert!(columns.contains(&"beak.gap".to_owned()) && !columns.contains(&"beak.x".to_owned()), "{columns:?}");
    column_figure(&run, &ALL, &columns, "t").unwrap().draw().unwrap().to_svg();
    let error = column_figure(&run, &ALL, &names(&["?"]), "t").unwrap_err().to_string();
    assert!(error.contains("for every contact, as in `beak.gap`") && !error.contains("upper-sleeve"), "{error}");
}

#[test]
fn many_coordinates_share_panels_by_unit() {
    let folder = TempDir::new().unwrap();
    let scene = r#"
format = 1
name = "chain"
run = { step = 0.01, end = 0.5 }
[system]
coordinates = ["a", "b", "c", "phi"]
units = ["m", "m", "m", "rad"]
mass = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
stiffness = [[2, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 1, 0], [0, 0, 0, 1]]
start = { velocity = [1.0, 0.0, 0.0, 0.0] }
"#;
    let loaded = load::parse(scene, "chain.toml").unwrap();
    let out = folder.path().join("chain");
    run::run(&loaded, &out, &Default::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    let figure = default_figure(&out, &ALL).unwrap();
    assert_eq!(titles(&figure), ["Coordinates", "Velocities", "Energy", "Certificate"]);
    assert_eq!(figure.panels[0].y_label, "m");
    let labels: Vec<&str> = figure.panels[1].series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["v_a", "v_b", "v_c"]);
    // What does not move has no panel.
    assert!(figure.subtitle.ends_with("zero throughout: coordinate phi, velocity of phi"), "{}", figure.subtitle);
    figure.draw().unwrap().to_png().unwrap();
}

#[test]
fn rounding_does_not_fill_a_panel() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "incline", &["run.end=0.5"]);
    let figure = default_figure(&run, &ALL).unwrap();
    // The block does not move; its velocities are rounding.
    assert!(figure.subtitle.ends_with("zero throughout: speed, angular velocity, energy"), "{}", figure.subtitle);
    let figure = column_figure(&run, &ALL, &names(&["block.vx"]), "t").unwrap();
    assert!(figure.panels[0].y_range.unwrap().1 >= 1e-3);
}

#[test]
fn a_run_that_recorded_little_has_the_panels_it_can_have() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rod", &["record.columns=[\"rod.vy\"]", "record.interval=7"]);
    let figure = default_figure(&run, &ALL).unwrap();
    assert_not_empty(&figure);
    let titles = titles(&figure);
    assert!(titles.contains(&"Vertical velocity"), "{titles:?}");
    assert!(!titles.iter().any(|title| title.starts_with("Pose") || *title == "Horizontal velocity"), "{titles:?}");
    // Work that was not recorded cannot be added up.
    assert!(panel(&figure, "Energy").series.iter().all(|series| !series.label.starts_with("lost")));
}

#[test]
fn columns_of_one_kind_share_a_panel() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rod", &[]);
    let columns = names(&["rod.vx", "rod.w", "rod.vy", "residual", "rod/table#1.c_n", "kinetic", "rod.vx"]);
    let figure = column_figure(&run, &ALL, &columns, "t").unwrap();
    let labels: Vec<&str> = figure.panels.iter().map(|panel| panel.y_label.as_str()).collect();
    assert_eq!(labels, ["velocity (m/s)", "rod.w (rad/s)", "residual", "rod/table#1.c_n (N s)", "kinetic (J)"]);
    let velocities: Vec<&str> = figure.panels[0].series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(velocities, ["rod.vx", "rod.vy"], "named twice, drawn once");
    // Zero has no logarithm: it is drawn at the floor.
    assert!(figure.panels[2].log_y && figure.panels[2].series[0].points.iter().all(|p| p.1.is_nan() || p.1 >= 1e-17));
    // The end of the rod is in the air before 0.38 s: no values there, and values after.
    let impulse = &figure.panels[3].series[0].points;
    assert!(impulse.iter().filter(|point| point.0 < 0.37).all(|point| point.1.is_nan()));
    let resting = impulse.last().unwrap().1;
    // Half the weight of 1 kg over a step of 0.0025 s, by symmetry.
    assert!((resting - 0.5 * 9.81 * 0.0025).abs() < 1e-6, "{resting}");
    assert_not_empty(&figure);
    figure.draw().unwrap().to_svg();

    let map = column_figure(&run, &ALL, &names(&["rod.y"]), "rod.x").unwrap();
    assert!(map.panels[0].equal_aspect && map.panels[0].rules.is_empty());
    assert_eq!((map.panels[0].x_label.as_str(), map.panels[0].y_label.as_str()), ("rod.x (m)", "rod.y (m)"));
    let phase = column_figure(&run, &ALL, &names(&["rod.w"]), "rod.angle").unwrap();
    // The start: 30 degrees, 4 rad/s.
    assert_eq!(phase.panels[0].series[0].points[0], (30_f64.to_radians(), 4.0));
}

#[test]
fn all_available_columns_can_be_drawn() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rod", &["run.end=0.45"]);
    let columns = available_columns(&run).unwrap();
    for expected in
        ["t", "rod.x", "rod.w", "residual", "iterations", "rod/table#1.f_n", "work_friction", "rod/table#1.gap"]
    {
        assert!(columns.iter().any(|column| column == expected), "{expected} is not in {columns:?}");
    }
    assert!(!columns.iter().any(|column| column.ends_with(".mode") || column.ends_with(".t")), "{columns:?}");
    column_figure(&run, &ALL, &columns, "t").unwrap().draw().unwrap().to_svg();
}

#[test]
fn an_unknown_column_is_an_error_with_a_suggestion() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rod", &["run.end=0.45"]);
    let fails =
        |columns: &[&str], against: &str| column_figure(&run, &ALL, &names(columns), against).unwrap_err().to_string();
    let error = fails(&["rod.vz"], "t");
    let expected = [run.to_str().unwrap(), "`rod.vz`", "did you mean `rod.v", "rod.angle", "residual", "c_n"];
    assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    assert!(fails(&["rod/table#1.cn"], "t").contains("did you mean `rod/table#1.c_n`?"));
    assert!(fails(&["rod.x"], "rod.anlge").contains("did you mean `rod.angle`?"));
    assert!(!fails(&["?"], "t").contains("did you mean"));
    assert!(matches!(column_figure(&run, &ALL, &[], "t"), Err(RunFigureError::Nothing { .. })));
    // Texts are no numbers.
    assert!(matches!(
        column_figure(&run, &ALL, &names(&["rod/table#1.mode"]), "t"),
        Err(RunFigureError::UnknownColumn { .. })
    ));
}

#[test]
fn a_folder_that_is_no_run_is_named_with_what_is_missing() {
    let folder = TempDir::new().unwrap();
    let all = |path: &Path| {
        [
            default_figure(path, &ALL).unwrap_err(),
            column_figure(path, &ALL, &names(&["t"]), "t").unwrap_err(),
            available_columns(path).unwrap_err(),
        ]
    };
    let missing = folder.path().join("nowhere");
    for (path, reason) in [(folder.path(), "summary.json"), (missing.as_path(), "no such folder")] {
        for error in all(path) {
            let text = error.to_string();
            assert!(matches!(error, RunFigureError::NotARun { .. }), "{text}");
            assert!(text.contains(path.to_str().unwrap()) && text.contains(reason), "{text}");
        }
    }

    let run = run_scene(&folder, "rod", &["run.end=0.45"]);
    let states = run.join("states.parquet");
    let whole = fs::read(&states).unwrap();
    fs::write(&states, &whole[..whole.len() / 2]).unwrap();
    for error in all(&run) {
        let text = error.to_string();
        assert!(text.contains("states.parquet") && text.contains("truncated"), "{text}");
    }
    fs::write(&states, &whole).unwrap();
    fs::remove_file(run.join("audit.parquet")).unwrap();
    let text = default_figure(&run, &ALL).unwrap_err().to_string();
    assert!(text.contains("audit.parquet") && text.contains(run.to_str().unwrap()), "{text}");
}

#[test]
fn a_scene_that_cannot_be_read_again_is_an_error() {
    let folder = TempDir::new().unwrap();
    let run = run_scene(&folder, "rod", &["run.end=0.1"]);
    fs::write(run.join("scene.toml"), "format = 1\nwhat = 2\n").unwrap();
    let error = default_figure(&run, &ALL).unwrap_err();
    assert!(matches!(error, RunFigureError::Scene { .. }), "{error}");
    // Columns need no scene.
    column_figure(&run, &ALL, &names(&["rod.x"]), "t").unwrap();
    fs::remove_file(run.join("scene.toml")).unwrap();
    assert!(default_figure(&run, &ALL).unwrap_err().to_string().contains("scene.toml"));
}

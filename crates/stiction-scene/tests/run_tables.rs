//! What the tables of a run folder hold: every column is documented, forces are those of mechanics,
//! and the summary is whole.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use stiction_scene::record::file;
use stiction_scene::run::run;
use stiction_scene::summary::{Origin, Summary};
use stiction_scene::table_file::Table;
use stiction_scene::{load, parse};

const PAGE: &str = include_str!("../../../docs/columns.md");

/// A block on a slope of 30° that sticks, a door with friction in its hinge, and a slide.
const PLANE: &str = r#"
format = 1
name = "door"
dimension = "plane"
gravity = [0.0, -9.81]
run = { step = 0.001, end = 0.2 }
material = [{ name = "wood", friction = 0.8 }]
[[body]]
name = "slope"
kind = "static"
material = "wood"
angle = 0.5235987755982988
shape = [{ half-plane = { normal = [0.0, 1.0] } }]
[[body]]
name = "block"
material = "wood"
mass = 2.0
position = [-0.05, 0.08660254037844387]
angle = 0.5235987755982988
shape = [{ box = { size = [0.2, 0.2] } }]
[[body]]
name = "door"
material = "wood"
mass = 1.0
inertia = 0.5
position = [5.0, 9.0]
angular-velocity = 1.0
[[body]]
name = "slide"
material = "wood"
mass = 1.0
inertia = 0.5
position = [9.0, 9.0]
[[joint]]
name = "hinge"
bodies = ["door"]
revolute = { anchor = [5.0, 9.0], friction = 1.0 }
[[joint]]
name = "rail"
bodies = ["slide"]
prismatic = { anchor = [9.0, 9.0], axis = [0.0, 1.0], friction = 20.0 }
"#;

fn run_into(folder: &Path, loaded: &stiction_scene::Loaded) -> Summary {
    let origin = Origin { commit: "0123abcd".into(), warnings: vec!["mind the gap".into()] };
    run(loaded, &folder.join("run"), &origin, &mut |_| ControlFlow::Continue(())).unwrap().summary
}

/// Rows of the table of columns of a section: name and unit.
fn documented(section: &str) -> BTreeMap<String, String> {
    let (_, rest) = PAGE.split_once(&format!("## `{section}`\n")).unwrap_or_else(|| panic!("no section `{section}`"));
    let section = rest.split("\n## ").next().unwrap_or(rest);
    let mut columns = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for name in cells[1].split(", ") {
            columns.insert(name.trim_matches('`').to_owned(), cells[2].to_owned());
        }
    }
    columns
}

#[test]
fn every_column_is_documented_with_its_unit() {
    let scenes = [
        parse(PLANE, "door.toml").unwrap(),
        load("four-balls", &["run.end=0.01".into()]).unwrap(),
        load("woodpecker", &["run.end=0.01".into()]).unwrap(),
        load("bricard", &["run.end=0.01".into()]).unwrap(),
    ];
    let tables = [file::CONTACTS, file::FRICTION, file::JOINTS, file::AUDIT, file::EVENTS];
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for loaded in &scenes {
        let folder = tempfile::tempdir().unwrap();
        run_into(folder.path(), loaded);
        for name in tables {
            let path = folder.path().join("run").join(name);
            if !path.exists() {
                continue;
            }
            let (table, page) = (Table::read(&path).unwrap(), documented(name));
            for column in table.names() {
                let unit = page.get(column).unwrap_or_else(|| panic!("`{column}` of `{name}` is not documented"));
                assert_eq!(table.unit(column), Some(unit.as_str()), "`{column}` of `{name}`");
                seen.entry(name).or_default().insert(column.clone());
            }
        }
        let (states, page) =
            (Table::read(folder.path().join("run").join(file::STATES)).unwrap(), documented(file::STATES));
        let coordinates = loaded.scene().system.as_ref().map_or(&[][..], |system| &system.coordinates);
        for column in states.names() {
            let unit = states.unit(column).unwrap();
            let (owner, ending) = column.split_once('.').unwrap_or(("", column));
            let is_joint = loaded.scene().joints.iter().any(|joint| joint.name == owner);
            let pattern = match column {
                _ if coordinates.contains(column) => "COORDINATE".to_owned(),
                _ if column.starts_with("v_") => "v_COORDINATE".to_owned(),
                _ if owner.is_empty() => column.clone(),
                _ => format!("{}.{ending}", if is_joint { "JOINT" } else { "BODY" }),
            };
            let wanted = page.get(&pattern).unwrap_or_else(|| panic!("`{column}`: `{pattern}` is not documented"));
            assert!(wanted.split(" or ").any(|one| one == unit), "`{column}` is in {unit:?}, documented in {wanted:?}");
        }
    }
    // And nothing is documented that is not written.
    for name in tables {
        assert_eq!(documented(name).into_keys().collect::<BTreeSet<_>>(), seen[name], "{name}");
    }
}

#[test]
fn friction_of_joints_and_forces_of_contacts_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &parse(PLANE, "door.toml").unwrap());
    let table = |name: &str| Table::read(folder.path().join("run").join(name)).unwrap();
    let friction = table(file::FRICTION);
    let (names, modes) = (friction.text("element").unwrap(), friction.text("mode").unwrap());
    let (f, c, h) = (friction.real("f_t1").unwrap(), friction.real("c_t1").unwrap(), friction.real("h").unwrap());
    let (bound, slip) = (friction.real("bound").unwrap(), friction.real("slip_1").unwrap());
    assert_eq!(friction.row_count(), 2 * 200);
    for row in 0..friction.row_count() {
        assert_eq!(f[row], c[row] / h[row]);
        match names[row].as_str() {
            // 1 N m against 1 rad/s on 0.5 kg m²: -2 rad/s², at rest after half a second, not
            // before the end of 0.2 s.
            "hinge" => {
                assert_eq!((modes[row].as_str(), bound[row]), ("slip", 1.0));
                assert!((f[row] + 1.0).abs() < 1e-9, "{}", f[row]);
                let after = 1.0 - 2e-3 * (row / 2 + 1) as f64;
                assert!((slip[row] - after).abs() < 1e-9, "{} {after}", slip[row]);
            }
            // 9.81 N of weight, and 20 N would be needed to move it.
            "rail" => {
                assert_eq!((modes[row].as_str(), bound[row]), ("stick", 20.0));
                assert!((f[row].abs() - 9.81).abs() < 1e-9 && slip[row].abs() < 1e-12, "{} {}", f[row], slip[row]);
            }
            other => panic!("{other}"),
        }
    }
    // The block rests on two corners: m g cos 30° and m g sin 30° together, in every step, whatever
    // its length.
    let contacts = table(file::CONTACTS);
    let real = |name: &str| contacts.real(name).unwrap();
    let mut sums: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
    for row in 0..contacts.row_count() {
        let sum = sums.entry(real("t")[row].to_bits()).or_default();
        *sum = [sum[0] + real("f_n")[row], sum[1] + real("f_t1")[row]];
        assert_eq!(real("f_n")[row], real("c_n")[row] / real("h")[row]);
        assert!(real("slip_1")[row].abs() < 1e-9 && real("gap")[row].abs() < 1e-9);
    }
    let (sin, cos) = 30f64.to_radians().sin_cos();
    for [normal, tangent] in sums.into_values() {
        assert!((normal - 2.0 * 9.81 * cos).abs() < 1e-6 && (tangent.abs() - 2.0 * 9.81 * sin).abs() < 1e-6);
    }
}

#[test]
fn gap_and_sliding_are_those_at_the_end_of_the_step() {
    // The rod of [ST96]: half length 0.25 m, radius 0.05 m. While its end sticks it turns about it,
    // and the tangent row turns with it: by the rows of the start or of the middle it would seem to
    // slide.
    for scheme in ["stewart-trinkle", "trapezoidal"] {
        let folder = tempfile::tempdir().unwrap();
        run_into(folder.path(), &load("rod", &[format!("scheme={{{scheme}={{}}}}")]).unwrap());
        let table = |name: &str| Table::read(folder.path().join("run").join(name)).unwrap();
        let (contacts, states, audit) = (table(file::CONTACTS), table(file::STATES), table(file::AUDIT));
        let [y, angle, vx, w] = ["rod.y", "rod.angle", "rod.vx", "rod.w"].map(|name| states.real(name).unwrap());
        let [gap, slip] = ["gap", "slip_1"].map(|name| contacts.real(name).unwrap());
        let names = contacts.text("contact").unwrap();
        let steps = audit.integer("contacts").unwrap().iter().enumerate();
        let steps: Vec<usize> = steps.flat_map(|(step, &count)| std::iter::repeat_n(step, count as usize)).collect();
        let mut most = 0.0f64;
        for (row, step) in steps.into_iter().enumerate() {
            let at = step + 1; // the first state is the start
            let side = if names[row].ends_with("#0") { 1.0 } else { -1.0 };
            let lever = side * 0.25 * angle[at].sin() - 0.05;
            assert!((gap[row] - (y[at] + lever)).abs() < 1e-12, "{scheme} {} {}", gap[row], y[at] + lever);
            let sliding = vx[at] - w[at] * lever;
            // The point of a contact is anywhere between the bodies.
            let tolerance = 1e-12 + (w[at] * gap[row]).abs();
            assert!((slip[row].abs() - sliding.abs()).abs() < tolerance, "{scheme} {} {sliding}", slip[row]);
            most = most.max(sliding.abs());
        }
        assert!(most > 0.1, "{scheme}: it slides at some time");
    }
}

#[test]
fn steps_of_no_length_have_impulses_and_no_forces() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &load("bouncing-ball", &["scheme={trapezoidal={}}".into()]).unwrap());
    let contacts = Table::read(folder.path().join("run").join(file::CONTACTS)).unwrap();
    let [h, c, f] = ["h", "c_n", "f_n"].map(|name| contacts.real(name).unwrap());
    let impacts: Vec<usize> = (0..contacts.row_count()).filter(|&row| h[row] == 0.0).collect();
    assert!(impacts.iter().any(|&row| c[row] > 0.0));
    assert!(impacts.iter().all(|&row| f[row].is_nan()));
}

#[test]
fn the_summary_says_where_a_run_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = load("rod", &["run.end=0.01".into()]).unwrap();
    let summary = run_into(folder.path(), &loaded);
    let text = std::fs::read_to_string(folder.path().join("run/summary.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((json["commit"].as_str(), &json["warnings"]), (Some("0123abcd"), &serde_json::json!(["mind the gap"])));
    assert_eq!(json["stiction"], env!("CARGO_PKG_VERSION"));
    let platform = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    assert_eq!(json["platform"], platform);
    // 2026-11-18T20:45:00Z
    let date = json["date"].as_str().unwrap();
    assert!(date.len() == 20 && date.ends_with('Z') && &date[10..11] == "T" && date.starts_with("20"), "{date}");
    // The hash is that of the file beside it, and another scene has another one.
    assert_eq!(summary.scene_sha256.len(), 64);
    let again = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(folder.path().join("run/scene.toml")).unwrap();
    assert_eq!(run_into(again.path(), &parse(&text, "scene.toml").unwrap()).scene_sha256, summary.scene_sha256);
    let other = tempfile::tempdir().unwrap();
    let friction = ["run.end=0.01".to_owned(), "material.steel.friction=0.59".to_owned()];
    assert_ne!(run_into(other.path(), &load("rod", &friction).unwrap()).scene_sha256, summary.scene_sha256);
}

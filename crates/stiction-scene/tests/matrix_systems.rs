//! Scenes whose system is given by matrices: the woodpecker against the same system in code, carts
//! with a joint and dry friction against closed forms, and every mistake at its place.

use std::ops::ControlFlow;

use stiction_dynamics::reference::Woodpecker;
use stiction_dynamics::{Audit, LinearContact, LinearSystem};
use stiction_scene::record::file;
use stiction_scene::table_file::Table;
use stiction_scene::{Finding, Loaded, SceneSystem, Severity, lint, load, parse, parse_with};

/// Two carts on a rod are pulled towards a third one, which a brake holds. Line numbers in the
/// tests below are those of this file.
const CARTS: &str = include_str!("cases/carts.toml");

fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in the text");
    text.replacen(from, to, 1)
}

/// Asserts the place, the message and the help of the error that a change makes.
#[track_caller]
fn assert_error(from: &str, to: &str, display: &str, help: &str) {
    let error = parse(&changed(CARTS, from, to), "x.toml").expect_err("a mistake");
    assert_eq!(error.to_string(), format!("x.toml:{display}"));
    assert_eq!(error.remedy(), help);
}

fn matrices(loaded: &Loaded) -> LinearSystem {
    match loaded.system() {
        SceneSystem::Matrices(system) => (**system).clone(),
        SceneSystem::Bodies(_) => panic!("bodies"),
    }
}

/// The same up to the rounding of a few operations.
#[track_caller]
fn assert_same(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 2e-15 * expected.abs(), "{what}: {found:e}, and not {expected:e}");
}

// ------------------------------------------------------------------------------------------------
// scenes that work

#[test]
fn the_scene_of_the_woodpecker_is_the_system_of_the_code() {
    let loaded = load("woodpecker", &[]).unwrap();
    let (found, expected) = (matrices(&loaded), Woodpecker::default().system());
    let (found, expected) = (found.data(), expected.data());
    assert_eq!(found.coordinates, expected.coordinates);
    assert_eq!((&found.damping, &found.stiffness), (&expected.damping, &expected.stiffness));
    for i in 0..3 {
        for j in 0..3 {
            assert_same(found.mass[i][j], expected.mass[i][j], &format!("mass ({i}, {j})"));
        }
        assert_same(found.force[i], expected.force[i], &format!("force {i}"));
    }
    let (contacts, expected) = (&found.contacts, &expected.contacts);
    assert_eq!(contacts.len(), 3);
    for (contact, expected) in contacts.iter().zip(expected) {
        assert_same(contact.gap, expected.gap, &contact.name);
        for (row, expected) in contact.tangents.iter().zip(&expected.tangents) {
            row.iter().zip(expected).for_each(|(a, b)| assert_same(*a, *b, &contact.name));
        }
        // What is left is written in the paper as it stands in the file.
        let bare = |it: &LinearContact| LinearContact {
            gap: 0.0,
            tangents: Vec::new(),
            tangent_drift: Vec::new(),
            ..it.clone()
        };
        assert_eq!(bare(contact), bare(expected));
    }
    assert!(found.friction.is_empty() && found.joints.is_empty());
    let start = loaded.start();
    assert_eq!(*start, Woodpecker::start());
}

#[test]
fn the_scene_of_the_woodpecker_passes_through_the_reference_states() {
    // An independent implementation of the midpoint rule with the same step: (y, φ_M, φ_S, v, ω_M,
    // ω_S). The data differ from those of the code in the last digit only, and the motion does not
    // amplify that much until then.
    for (t, expected) in [
        (0.05, [-0.004407467745, -0.1036, -0.392981586347, 0.0, 0.0, 14.667583730228]),
        (0.1, [-0.007094524535, 0.022166321270, 0.008792454468, -0.071520694709, -4.636980467935, -5.804023655487]),
    ] {
        let mut simulation = load("woodpecker", &[format!("run.end={t}")]).unwrap().simulation();
        let state = simulation.run().unwrap();
        for (found, expected) in state.q.iter().chain(&state.v).zip(expected) {
            assert!((found - expected).abs() <= 1e-9, "at {t} s: {found}, and not {expected}");
        }
    }
}

#[test]
fn every_method_gives_the_same_woodpecker() {
    let states = ["{pyramid={}}", "{planar-relay={}}", "{phantom-inertia={}}"].map(|method| {
        let overrides = [format!("method={method}"), "run.end=0.1".to_owned()];
        let mut simulation = load("woodpecker", &overrides).unwrap().simulation();
        simulation.run().unwrap().clone()
    });
    for other in &states[1..] {
        let pairs = states[0].q.iter().chain(&states[0].v).zip(other.q.iter().chain(&other.v));
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-9), "{:?} {other:?}", states[0]);
    }
}

#[test]
fn carts_on_a_rod_push_the_braked_one() {
    // 3 kg are pulled by 6 N: 2 m/s² over the metre to the stop, 2 m/s after 1 s. The impact is
    // inelastic: 6 N s on 4 kg are 1.5 m/s, and from there on (6 N - 1 N)/4 kg: 2.75 m/s at 2 s,
    // after another 1.5 + 1.25/2 m.
    for scheme in ["{moreau-midpoint={}}", "{stewart-trinkle={}}"] {
        let loaded = parse_with(CARTS, "x.toml", &[format!("scheme={scheme}")]).unwrap();
        let mut simulation = loaded.simulation();
        let (mut audit, mut before) = (Audit::default(), [0.0; 3]);
        simulation
            .run_with(|s| {
                audit.observe(s.system(), s.before(), s.last_step());
                if s.state().t < 0.99 {
                    before = [s.state().v[0], s.state().v[1], s.state().q[2]];
                }
            })
            .unwrap();
        // The brake holds the third cart while nothing pushes it.
        assert!((before[0] - before[1]).abs() < 1e-12 && before[2] == 1.5, "{before:?}");
        let state = simulation.state();
        // The impact and the change of force lie within a step of where they belong: a few m/s²
        // times 0.001 s.
        for v in &state.v {
            assert!((v - 2.75).abs() < 5e-3, "{scheme}: {state:?}");
        }
        assert!((state.q[2] - 3.625).abs() < 5e-3, "{scheme}: {state:?}");
        let worst = audit.worst;
        assert!(worst.residual <= 1e-12 && worst.momentum <= 1e-12 && worst.joint_drift <= 1e-12, "{worst:?}");
        // The brake: 1 N over 2.125 m.
        assert!((audit.sum.energy.friction + 2.125).abs() < 5e-3, "{:?}", audit.sum.energy);
    }
}

#[test]
fn a_drift_drives_a_joint() {
    // The rod grows by 0.1 m/s: the carts come apart at that rate, and their common centre does not
    // notice.
    let overrides = ["system.joint.rod.drift=-0.1", "system.force=[0, 0, 0]", "run.end=0.5"].map(str::to_owned);
    let mut simulation = parse_with(CARTS, "x.toml", &overrides).unwrap().simulation();
    let state = simulation.run().unwrap();
    assert!((state.q[1] - state.q[0] - 0.55).abs() < 1e-12, "{state:?}");
    assert!(
        (state.v[0] + 2.0 * state.v[1]).abs() < 1e-12 && (state.v[1] - state.v[0] - 0.1).abs() < 1e-12,
        "{state:?}"
    );
}

#[test]
fn the_resolved_copy_reads_back_and_has_every_default() {
    let with_tangent =
        changed(CARTS, "1.0]\n\n[[system.dry", "1.0]\ntangents = [[1.0, 0.0, 0.0]]\nfriction = 1e-7\n\n[[system.dry");
    for text in [CARTS, &with_tangent] {
        let scene = parse(text, "x.toml").unwrap().into_scene();
        let copy = scene.to_toml();
        let again = parse(&copy, "copy.toml").unwrap_or_else(|error| panic!("{error}\n{copy}")).into_scene();
        assert_eq!(again, scene, "{copy}");
        assert_eq!(again.to_toml(), copy);
        for line in [
            "    [0.0, 2.0, 0.0],",
            "damping = [",
            "stiffness = [",
            "start = { position = [0.0, 0.5, 1.5], velocity = [0.0, 0.0, 0.0] }",
            "normal-drift = 0.0",
            "tangential-restitution = 0.0",
            "drift = 0.0",
        ] {
            assert!(copy.lines().any(|found| found == line), "`{line}` is not in\n{copy}");
        }
        assert!(!copy.contains("gravity") && !copy.contains("[contact]"), "{copy}");
    }
    let scene = parse(&with_tangent, "x.toml").unwrap().into_scene();
    assert!(scene.to_toml().contains("friction = 1e-7\n"), "{}", scene.to_toml());
    assert!(scene.check().unwrap().system().bodies().is_none());
}

#[test]
fn overrides_reach_into_the_system() {
    let overrides = ["system.mass.1=[0, 5, 0]", "system.dry-friction.brake.bound=3", "system.start.velocity=[1, 1, 0]"];
    let loaded = parse_with(CARTS, "x.toml", &overrides.map(str::to_owned)).unwrap();
    let system = matrices(&loaded);
    assert_eq!((system.data().mass[1][1], system.data().friction[0].bound), (5.0, 3.0));
    assert_eq!(loaded.start().v, [1.0, 1.0, 0.0]);
    let blamed = |text: &str| {
        let error = parse_with(CARTS, "x.toml", &[text.to_owned()]).unwrap_err();
        format!("{error} | {}", error.remedy())
    };
    assert_eq!(
        blamed("system.contact.stop.friction=-1"),
        "--set system.contact.stop.friction=-1: the coefficient of friction is -1.0 | give zero or a positive number"
    );
    assert!(blamed("system.contact.stopp.gap=1").contains("did you mean `stop`?"));
}

#[test]
fn a_run_records_coordinates_by_name_and_contacts_without_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let overrides = ["run.end=1.1", "record.columns=[\"c\", \"v_a\"]"].map(str::to_owned);
    let loaded = parse_with(CARTS, "x.toml", &overrides).unwrap();
    let run = stiction_scene::run::run(&loaded, &folder.path().join("run"), &Default::default(), &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(run.summary.certificate.met);
    let names: Vec<&str> = run.summary.final_columns.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "b", "c", "v_a", "v_b", "v_c"]);
    assert_eq!(run.summary.events[0].contact, "stop");
    let states = Table::read(run.folder.join(file::STATES)).unwrap();
    assert_eq!(states.names(), ["t", "c", "v_a"]);
    let contacts = Table::read(run.folder.join(file::CONTACTS)).unwrap();
    assert!(contacts.text("contact").unwrap().iter().all(|name| name == "stop"));
    assert!(contacts.text("body_1").unwrap().iter().all(String::is_empty));
    assert!(contacts.real("x").unwrap().iter().all(|x| x.is_nan()) && contacts.real("gap").unwrap()[0].abs() < 1e-2);

    let wrong = parse_with(CARTS, "x.toml", &["record.columns=[\"v_d\"]".to_owned()]).unwrap();
    let error = stiction_scene::run::run(&wrong, &folder.path().join("no"), &Default::default(), &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(error.unwrap_err().to_string().contains("did you mean `v_"));
}

#[test]
fn the_linter_looks_at_gaps_joints_and_the_range_of_painleve() {
    let findings = |overrides: &[&str]| -> Vec<Finding> {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        lint(&parse_with(CARTS, "x.toml", &overrides).unwrap())
    };
    let said = |finding: &Finding| format!("{}: {}", finding.place, finding.message);
    assert_eq!(findings(&[]), []);
    let deep = findings(&["system.contact.stop.gap=-1.25"]);
    assert!(
        said(&deep[0])
            .starts_with("--set system.contact.stop.gap=-1.25: contact `stop` is closed by 2.500e-1 m too much"),
        "{deep:?}"
    );
    assert_eq!(deep[0].severity, Severity::Note);
    let deep = findings(&["system.contact.stop.gap=-1.25", "scheme={stewart-trinkle={}}"]);
    assert_eq!(deep[0].severity, Severity::Warning);
    let off = findings(&["system.joint.rod.value=-0.75"]);
    assert!(said(&off[0]).starts_with("x.toml:27:1: joint `rod` is off by -2.500e-1 at the start"), "{off:?}");
    assert_eq!(off[0].severity, Severity::Warning);
    let rate = findings(&["system.joint.rod.drift=0.5"]);
    assert!(said(&rate[0]).contains("joint `rod` comes apart at the rate 5.000e-1"), "{rate:?}");
    // n M⁻¹ nᵀ = 1/2 + 1 and T M⁻¹ nᵀ = -1/2 for sliding along b: the limit is 3.
    let rough = |mu: &str| {
        let friction = format!("system.contact.stop.friction={mu}");
        findings(&["system.contact.stop.tangents=[[0.0, 1.0, 0.0]]", &friction])
    };
    assert_eq!(rough("2.99"), []);
    assert!(
        rough("3.01")[0].message.starts_with("friction 3.01 of contact `stop` is above 3.000"),
        "{:?}",
        rough("3.01")
    );
}

// --------------------------------------------------------------------------------------------------
// mistakes, by place

#[test]
fn a_system_stands_alone() {
    let bodies = "a scene is made of bodies or of a system: remove the one or the other";
    assert_error(
        "[[system.joint]]",
        "[[body]]\nname = \"ball\"\nmass = 1.0\n\n[[system.joint]]",
        "27:3: `body` does not go with `[system]`",
        bodies,
    );
    for (line, help) in [
        ("dimension = \"plane\"", "leave it out: a system moves along the coordinates that it names"),
        ("gravity = [0.0, -9.81]", "leave it out, and add the weights to `force` of the system"),
        (
            "material = [{ name = \"steel\", friction = 0.3 }]",
            "leave it out, and write friction and restitution in each `[[system.contact]]`",
        ),
        (
            "contact = { combine = \"mean\" }",
            "leave it out, and write friction and restitution in each `[[system.contact]]`",
        ),
        ("force = [{ body = \"a\" }]", "leave it out, and write `force` in the table `[system]`"),
        (
            "dry-friction = [{ name = \"a\", body = \"b\", bound = 1.0 }]",
            "write it as `[[system.dry-friction]]`, with rows",
        ),
        ("ignore = []", bodies),
    ] {
        let key = line.split(' ').next().unwrap();
        let display = format!("3:1: `{key}` does not go with `[system]`");
        assert_error("\n\n[run]", &format!("\n{line}\n[run]"), &display, help);
    }
    // Bodies come first, wherever they stand.
    let text = changed(CARTS, "\n\n[run]", "\ngravity = [0.0, -9.81]\n[run]") + "[[body]]\nname = \"ball\"\n";
    assert_eq!(parse(&text, "x.toml").unwrap_err().to_string(), "x.toml:31:3: `body` does not go with `[system]`");
}

#[test]
fn unknown_and_missing_keys() {
    assert_error(
        "normal =",
        "noraml =",
        "20:1: unknown key `noraml` in `system`, contact `stop`",
        "did you mean `normal`? (the keys here are `name`, `gap`, `normal`, `normal-drift`, `tangents`, `tangent-drift`, \
         `friction`, `static-friction`, `restitution`, `impact-law`, `tangential-restitution` and `phantom-inertia`)",
    );
    assert_error(
        "[system]\n",
        "[system]\nstifness = [[1.0]]\n",
        "11:1: unknown key `stifness` in `system`",
        "did you mean `stiffness`? (the keys here are `coordinates`, `units`, `mass`, `damping`, `stiffness`, `force`, \
         `start`, `contact`, `dry-friction`, `clutch`, `pre-stressed-spring` and `joint`)",
    );
    // No advice that would lead to the next error.
    let error = parse(&changed(CARTS, "[system]\n", "[system]\ngravity = 9.81\n"), "x.toml").unwrap_err();
    assert!(error.remedy().starts_with("the keys here are `coordinates`"), "{}", error.remedy());
    assert_error(
        "velocity = [0.0, 0.0, 0.0] }",
        "speed = 1.0 }",
        "15:39: unknown key `speed` in `system`, `start`",
        "the keys here are `position` and `velocity`",
    );
    assert_error(
        "coordinates = [\"a\", \"b\", \"c\"]\n",
        "",
        "10:1: `coordinates` is missing in `system`",
        "add `coordinates = [\"x\", \"phi\"]`",
    );
    assert_error("gap = 0.0\n", "", "17:1: `gap` is missing in `system`, contact `stop`", "add `gap = 0.01`");
    assert_error(
        "bound = 1.0\n",
        "",
        "22:1: `bound` is missing in `system`, dry-friction `brake`",
        "add `bound = 10.0`",
    );
    assert_error(
        "row = [-1.0, 1.0, 0.0]\n",
        "",
        "27:1: `row` is missing in `system`, joint `rod`",
        "add `row = [1.0, -1.0]`",
    );
    assert_error(
        "[\"m\", \"m\", \"m\"]",
        "[\"m\", \"m\", \"deg\"]",
        "12:20: `system`, units 3 cannot be `deg`",
        "the choices are `m` and `rad`",
    );
    assert_error(
        "mass = [[1.0,",
        "mass = [[\"1\",",
        "13:10: `system`, mass 1 1 is the text \"1\", and must be a number",
        "write a number",
    );
    assert_error("gap = 0.0", "gap = nan", "19:7: `system`, contact `stop`, `gap` is nan", "give a finite number");
}

#[test]
fn shapes_of_matrices_and_rows() {
    let per_coordinate = "write one number per coordinate, for a, b, c";
    assert_error(
        ", [0.0, 0.0, 1.0]]",
        "]",
        "13:8: the mass matrix has 2 rows, and the system 3 coordinates",
        "write 3 rows of 3 numbers",
    );
    assert_error(
        "[0.0, 2.0, 0.0]",
        "[0.0, 2.0]",
        "13:26: row 2 of the mass matrix has 2 numbers, and the system 3 coordinates",
        per_coordinate,
    );
    for key in ["damping", "stiffness"] {
        assert_error(
            "force = [6",
            &format!("{key} = [[1.0]]\nforce = [6"),
            &format!("14:{}: the {key} matrix has 1 row, and the system 3 coordinates", key.len() + 4),
            "write 3 rows of 3 numbers",
        );
    }
    let short = |what: &str| format!("{what} has 2 numbers, and the system 3 coordinates");
    for (from, to, place, what) in [
        ("[6.0, 0.0, 0.0]", "[6.0, 0.0]", "14:9", "the force"),
        ("[\"m\", \"m\", \"m\"]", "[\"m\", \"m\"]", "12:9", "`units`"),
        ("[0.0, 0.5, 1.5]", "[0.0, 0.5]", "15:22", "the position at the start"),
        ("[0.0, 0.0, 0.0] }", "[0.0, 0.0] }", "15:50", "the velocity at the start"),
        ("[0.0, -1.0, 1.0]", "[0.0, -1.0]", "20:10", "the normal row of contact `stop`"),
        ("[[0.0, 0.0, 1.0]]", "[[0.0, 1.0]]", "24:13", "tangent 1 of dry friction `brake`"),
        ("[-1.0, 1.0, 0.0]", "[-1.0, 1.0]", "30:7", "the row of joint `rod`"),
    ] {
        assert_error(from, to, &format!("{place}: {}", short(what)), per_coordinate);
    }
    assert_error(
        "normal = [0.0, -1.0, 1.0]",
        "normal = [0.0, 0.0, 0.0]",
        "20:10: the normal row of contact `stop` is zero",
        "give at least one coordinate a part in it",
    );
}

#[test]
fn mass_matrices() {
    assert_error(
        "[0.0, 2.0, 0.0]",
        "[0.5, 2.0, 0.0]",
        "13:27: the mass matrix is not symmetric: entries (2, 1) and (1, 2) differ, 0.5 and 0.0",
        "write the same number in both places",
    );
    let inertia = "give every coordinate an inertia of its own, or remove the coordinates that follow from others";
    assert_error(
        "[0.0, 0.0, 1.0]]",
        "[0.0, 0.0, 0.0]]",
        "13:8: the mass matrix is not positive definite: the pivot of coordinate `c` is 0.0e0",
        inertia,
    );
    assert_error(
        "mass = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]",
        "mass = [[1.0, 2.0, 0.0], [2.0, 3.0, 0.0]",
        "13:8: the mass matrix is not positive definite: the pivot of coordinate `b` is -1.0e0",
        inertia,
    );
}

#[test]
fn names() {
    let other = "give one of them another name";
    assert_error("\"b\", \"c\"]", "\"a\", \"c\"]", "11:21: two coordinates are named `a`", other);
    assert_error(
        "\"b\", \"c\"]",
        "\"v_a\", \"c\"]",
        "11:21: `v_a` is the column of the velocity of `a`, and cannot be the name of a coordinate",
        "give the coordinate another name",
    );
    assert_error(
        "\"b\", \"c\"]",
        "\"t\", \"c\"]",
        "11:21: `t` is the column of the time, and cannot be the name of a coordinate",
        "give the coordinate another name",
    );
    assert_error(
        "\"b\", \"c\"]",
        "\"b.x\", \"c\"]",
        "11:21: `b.x` cannot be the name of a coordinate",
        "use letters, digits, `-` and `_`, as in `b-x`",
    );
    assert_error(
        "\"stop\"",
        "\"the stop\"",
        "18:8: `the stop` cannot be the name of a contact",
        "use letters, digits, `-` and `_`, as in `the-stop`",
    );
    assert_error(
        "\n[[system.dry",
        "[[system.contact]]\nname = \"stop\"\ngap = 0.0\nnormal = [1.0, 0.0, 0.0]\n[[system.dry",
        "22:8: two contacts are named `stop`, numbers 1 and 2",
        other,
    );
    assert_error(
        "\n[[system.joint",
        "[[system.dry-friction]]\nname = \"brake\"\ntangents = [[1.0, 0.0, 0.0]]\nbound = 1.0\n[[system.joint",
        "27:8: two dry friction elements are named `brake`, numbers 1 and 2",
        other,
    );
    let text = format!("{CARTS}[[system.joint]]\nname = \"rod\"\nrow = [0.0, 0.0, 1.0]\n");
    let error = parse(&text, "x.toml").unwrap_err();
    assert_eq!(error.to_string(), "x.toml:32:8: two joints are named `rod`, numbers 1 and 2");
    let text = changed(CARTS, "[\"a\", \"b\", \"c\"]", "[]");
    assert_eq!(parse(&text, "x.toml").unwrap_err().to_string(), "x.toml:11:15: the system has no coordinates");
}

#[test]
fn coefficients() {
    let gap = "gap = 0.0\n";
    let with = |line: &str| format!("gap = 0.0\n{line}\n");
    let range = "give a number from 0 to 1";
    for (key, words) in [
        ("restitution", "the coefficient of restitution"),
        ("tangential-restitution", "the coefficient of tangential restitution"),
    ] {
        for value in ["1.5", "-0.25"] {
            let display = format!("20:{}: {words} is {value}", key.len() + 4);
            assert_error(gap, &with(&format!("{key} = {value}")), &display, range);
        }
    }
    let positive = "give zero or a positive number";
    assert_error(gap, &with("friction = -0.5"), "20:12: the coefficient of friction is -0.5", positive);
    assert_error("bound = 1.0", "bound = -1.0", "25:9: the bound is -1.0 N", positive);
    assert_error(
        gap,
        &with("friction = 0.5"),
        "20:12: contact `stop` has friction and no tangents",
        "give the row of its sliding velocity, as in `tangents = [[1.0, 0.0]]`, or leave out `friction`",
    );
    let inelastic = changed(CARTS, "[scheme.moreau-midpoint]", "[scheme.stewart-trinkle]");
    let error = parse(&changed(&inelastic, gap, &with("restitution = 0.5")), "x.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.toml:20:15: `restitution` is 0.5, but the impacts of the scheme `stewart-trinkle` are inelastic"
    );
    assert!(error.remedy().contains("a scheme with restitution, `moreau-midpoint`"), "{}", error.remedy());
}

#[test]
fn tangents_and_the_methods_that_treat_them() {
    let two = "tangents = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]";
    let relay = |text: &str| changed(text, "[scheme", "[method.planar-relay]\n[scheme");
    let help = "choose `[method.pyramid]` or `[method.phantom-inertia]`, which treat both, or give one tangent";
    let rough = changed(CARTS, "gap = 0.0", &format!("gap = 0.0\nfriction = 0.5\n{two}"));
    let braked = changed(CARTS, "tangents = [[0.0, 0.0, 1.0]]", two);
    for (text, place, what) in [(&rough, "22:12", "contact `stop`"), (&braked, "25:12", "dry friction `brake`")] {
        let error = parse(&relay(text), "x.toml").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "x.toml:{place}: {what} has friction along two tangents, and the method `planar-relay` treats friction \
                 along one"
            )
        );
        assert_eq!(error.remedy(), help);
        // The others do.
        for method in ["{pyramid={}}", "{phantom-inertia={}}"] {
            let overrides = [format!("method={method}"), "run.end=0.01".to_owned()];
            parse_with(text, "x.toml", &overrides).unwrap().simulation().run().unwrap();
        }
    }
    // Without friction, tangents do not matter.
    assert!(parse(&relay(&changed(&rough, "friction = 0.5\n", "")), "x.toml").is_ok());
    assert_error(
        "gap = 0.0",
        "gap = 0.0\ntangents = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]",
        "20:12: contact `stop` has 3 tangents",
        "give one for sliding along a line, or two in a plane",
    );
    assert_error(
        "[[0.0, 0.0, 1.0]]",
        "[]",
        "24:12: dry friction `brake` has no tangents",
        "give the row of its sliding velocity",
    );
    assert_error(
        "bound = 1.0",
        "bound = 1.0\ntangent-drift = [0.5, 0.5]",
        "26:17: dry friction `brake` has 1 tangent, and 2 numbers in `tangent-drift`",
        "write one number per tangent",
    );
}

#[test]
fn joints_that_say_nothing_new() {
    let text = format!("{CARTS}[[system.joint]]\nname = \"again\"\nrow = [2.0, -2.0, 0.0]\n");
    let error = parse(&text, "x.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.toml:33:7: the row of joint `again` is zero, or a combination of the rows of the joints before it"
    );
    assert_eq!(error.remedy(), "remove the joint, or correct its row");
}

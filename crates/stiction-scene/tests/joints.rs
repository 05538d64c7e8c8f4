//! Joints in scene files: from the text to the motion, mistakes at their place, starts that are
//! assembled.

use stiction_scene::record::file;
use stiction_scene::table_file::Table;
use stiction_scene::{Loaded, Scene, SceneError, lint, load, parse};

/// A pendulum in the plane. Lines added at the end begin at 16.
const PLANE: &str = r#"format = 1
name = "test"
dimension = "plane"
gravity = [0.0, -9.81]
run = { step = 0.001, end = 0.1 }
[[body]]
name = "rod"
position = [0.5, 0.0]
mass = 1.0
inertia = 0.1
[[body]]
name = "bob"
kind = "point"
position = [1.0, 0.0]
mass = 2.0
"#;

/// Two bodies in space. Lines added at the end begin at 20.
const SPACE: &str = r#"format = 1
name = "test"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = { step = 0.001, end = 0.1 }
[[body]]
name = "a"
position = [0.5, 0.0, 0.0]
mass = 1.0
inertia = [0.1, 0.2, 0.25]
[[body]]
name = "b"
position = [1.5, 0.0, 0.0]
orientation = [0.6, 0.0, 0.8, 0.0]
mass = 1.0
inertia = [0.1, 0.2, 0.25]
[[body]]
name = "ground"
kind = "static"
"#;

fn joined(text: &str, joint: &str) -> String {
    format!("{text}[[joint]]\nname = \"j\"\n{joint}\n")
}

fn loaded(text: &str) -> Loaded {
    parse(text, "x.toml").unwrap_or_else(|error| panic!("{error}\n{}", error.remedy()))
}

#[track_caller]
fn assert_refused(text: &str, joint: &str, display: &str, help: &str) {
    let error: SceneError = match parse(&joined(text, joint), "x.toml") {
        Ok(_) => panic!("this joint is accepted: {joint}"),
        Err(error) => error,
    };
    assert_eq!(error.to_string(), format!("x.toml:{display}"));
    assert_eq!(error.remedy(), help);
}

#[test]
fn every_type_is_read_and_written_back() {
    let plane = [
        ("fixed = {}", vec!["j.x", "j.y", "j.twist"]),
        (
            "fixed = { frames = [{ zero = [1, 0] }, { point = [0.5, 0], zero = [1, 0] }] }",
            vec!["j.x", "j.y", "j.twist"],
        ),
        ("revolute = { anchor = [0, 0] }", vec!["j.x", "j.y"]),
        (
            "revolute = { anchor = [0, 0], limits = { lower = -7.0 }, friction = 1, motor = { torque = 2.0, until = 1 } }",
            vec!["j.x", "j.y"],
        ),
        ("revolute = { anchor = [0, 0], drive = { rate = 0.0 } }", vec!["j.x", "j.y", "j.drive"]),
        ("prismatic = { anchor = [0, 0], axis = [2, 1], motor = { force = 1 } }", vec!["j.side", "j.twist"]),
        (
            "prismatic = { frames = [{ axis = [0, 2] }, { point = [0.5, -3.0], axis = [0, 1] }] }",
            vec!["j.side", "j.twist"],
        ),
        ("distance = { anchors = [[0.5, 0], [0, 1]] }", vec!["j.length"]),
        ("distance = { anchors = [[0.5, 0], [0, 1]], limits = { upper = 2.0 } }", vec![]),
        ("distance = { frames = [{}, { point = [0.5, 2.0] }], length = 2.0 }", vec!["j.length"]),
    ];
    let space = [
        ("fixed = { anchor = [1, 0, 0] }", vec!["j.x", "j.y", "j.z", "j.tilt1", "j.tilt2", "j.twist"]),
        ("ball = { anchor = [1, 0, 0] }", vec!["j.x", "j.y", "j.z"]),
        ("ball = { frames = [{ point = [0.5, 0, 0] }, { point = [0.14, 0, -0.48] }] }", vec!["j.x", "j.y", "j.z"]),
        (
            "revolute = { anchor = [1, 0, 0], axis = [0, 3, 4], limits = { lower = -1, upper = 2 } }",
            vec!["j.x", "j.y", "j.z", "j.tilt1", "j.tilt2"],
        ),
        (
            "prismatic = { anchor = [1, 0, 0], axis = [0, 3, 4] }",
            vec!["j.side1", "j.side2", "j.tilt1", "j.tilt2", "j.twist"],
        ),
        (
            "cylindrical = { anchor = [1, 0, 0], axis = [0, 3, 4], friction = 0.1 }",
            vec!["j.side1", "j.side2", "j.tilt1", "j.tilt2"],
        ),
        ("universal = { anchor = [1, 0, 0], axes = [[1, 0, 0], [0, 0, 2]] }", vec!["j.x", "j.y", "j.z", "j.cross"]),
        ("planar = { anchor = [1, 0, 0], axis = [0, 3, 4] }", vec!["j.normal", "j.tilt1", "j.tilt2"]),
        (
            "distance = { anchors = [[0, 0, 0], [2, 0, 0]], drive = { offset = 2.0, oscillation = { amplitude = 0.1, frequency = 1 } } }",
            vec!["j.drive"],
        ),
    ];
    let plane = plane.iter().map(|(joint, rows)| (PLANE, "bodies = [\"rod\"]", joint, rows));
    let space = space.iter().map(|(joint, rows)| (SPACE, "bodies = [\"a\", \"b\"]", joint, rows));
    for (text, bodies, joint, rows) in plane.chain(space) {
        let scene = loaded(&joined(text, &format!("{bodies}\n{joint}"))).into_scene();
        let copy = scene.to_toml();
        let again = loaded(&copy).into_scene();
        assert_eq!(again, scene, "{copy}");
        assert_eq!(
            copy.lines().filter(|line| line.starts_with("[joint") || line.starts_with("[[joint")).count(),
            1,
            "{copy}"
        );
        let mut simulation = scene.simulation().unwrap();
        assert_eq!(simulation.system().joint_names(), *rows, "{joint}");
        simulation.run().unwrap_or_else(|error| panic!("{joint}: {error}"));
        // Frames that meet at the start stay together.
        let (system, state) = (simulation.system(), simulation.state());
        let mut values = Vec::new();
        system.joints(state.t, &state.q, &mut values);
        assert!(values.iter().all(|row| row.value.abs() < 1e-6), "{joint}: {values:?}");
    }
    let schema = Scene::schema().to_string();
    for word in ["JointEntry", "cylindrical", "\"drive\"", "\"assemble\"", "\"zero\""] {
        assert!(schema.contains(word), "{word}");
    }
}

#[test]
fn mistakes_are_found_at_their_place() {
    let two = "name two bodies, or one for a joint on the world";
    let world = "bodies = [\"rod\"]\n";
    assert_refused(
        PLANE,
        "bodies = [\"rod\", \"rod\"]\nfixed = {}",
        "18:18: `rod` is at both ends",
        "name another body, or leave the second one out for the world",
    );
    assert_refused(PLANE, "bodies = []\nfixed = {}", "18:10: joint `j` has 0 bodies", two);
    assert_refused(
        PLANE,
        "bodies = [\"rot\"]\nfixed = {}",
        "18:11: there is no body `rot`",
        "did you mean `rod`? (the bodies are `rod` and `bob`)",
    );
    assert_refused(
        SPACE,
        "bodies = [\"ground\"]\nfixed = {}",
        "22:10: neither `ground` nor the world moves freely",
        "name a body that moves freely",
    );
    assert_refused(
        PLANE,
        world,
        "16:1: joint `j` has no type",
        "give one of `fixed`, `revolute`, `prismatic` and `distance`",
    );
    assert_refused(
        PLANE,
        &format!("{world}fixed = {{}}\nrevolute = {{}}"),
        "20:1: joint `j` is both `fixed` and `revolute`",
        "keep one; a joint for each if both are meant",
    );
    assert_refused(
        PLANE,
        &format!("{world}ball = {{ anchor = [0, 0] }}"),
        "19:1: `ball` is for scenes in space",
        "in the plane write `revolute`, which is a pin there",
    );
    assert_refused(
        PLANE,
        &format!("{world}revolute = {{ anchor = [0, 0], axis = [0, 1] }}"),
        "19:31: a pin in the plane has no `axis`: it is about z",
        "remove `axis`",
    );
    assert_refused(
        PLANE,
        &format!("{world}revolute = {{}}"),
        "19:12: joint `j` has neither an `anchor` nor `frames`",
        "give the place in world coordinates at the start, as in `anchor = [0.0, 0.0]`",
    );
    assert_refused(
        PLANE,
        &format!("{world}revolute = {{ anchor = [0, 0], speed = 1 }}"),
        "19:31: unknown key `speed` in joint `j`, `revolute`",
        "the keys here are `anchor`, `axis`, `frames`, `limits`, `friction`, `static-friction`, `motor` and `drive`",
    );
    let both = "bodies = [\"a\", \"b\"]\n";
    assert_refused(
        SPACE,
        &format!("{both}revolute = {{ anchor = [0, 0, 0], axis = [0, 0, 0] }}"),
        "23:41: the axis has length zero",
        "give a direction; its length does not matter, unless it is zero",
    );
    assert_refused(
        SPACE,
        &format!("{both}universal = {{ anchor = [0, 0, 0], axes = [[1, 0, 0], [1, 1, 0]] }}"),
        "23:42: the two axes make an angle of 45.000000 degrees",
        "give axes at right angles to each other",
    );
    let hinge = |rest: &str| format!("{both}revolute = {{ anchor = [1, 0, 0], axis = [0, 0, 1], {rest} }}");
    assert_refused(
        SPACE,
        &hinge("limits = { lower = 1.0, upper = -1.0 }"),
        "23:61: the lower limit, 1.0 rad, is not below the upper one, -1.0 rad",
        "write `lower = -1.0, upper = 1.0`",
    );
    assert_refused(
        SPACE,
        &hinge("limits = { lower = -1.0, upper = 4.0 }"),
        "23:85: `upper` is 4.0 rad, but the angle of a joint in space is between -π and π",
        "count the angle from another start, or use a smaller limit",
    );
    assert_refused(
        SPACE,
        &hinge("limits = { upper = 1.0 }"),
        "23:61: in space an angle has both limits, or none: it does not count turns",
        "give the other limit too, between -π and π",
    );
    assert_refused(
        SPACE,
        &hinge("friction = -2.0"),
        "23:63: the friction is -2.0 N m",
        "give zero or a positive number",
    );
    assert_refused(
        SPACE,
        &hinge("drive = {}"),
        "23:60: joint `j` is driven, but has no law",
        "give `rate`, `oscillation`, `offset`, or several of them",
    );
    assert_refused(
        SPACE,
        &hinge("motor = { force = 1.0 }"),
        "23:62: a motor along an angle has no `force`",
        "write `torque`",
    );
    assert_refused(
        SPACE,
        &hinge("limits = { lower = -1.0, upper = 1.0, restitution = 0.5 }"),
        "23:104: `restitution` is 0.5, but the impacts of the scheme `stewart-trinkle` are inelastic",
        "choose a scheme with restitution, `moreau-midpoint`, `trapezoidal` or `event-driven`, or leave the key out",
    );
    assert_refused(
        PLANE,
        "bodies = [\"bob\"]\nfixed = {}",
        "19:9: body `bob` is a point, and has no rotation for a fixed joint",
        "make the body rigid, or join it by a ball (a pin in the plane) or a distance",
    );
    let named = joined(PLANE, "bodies = [\"rod\"]\nfixed = {}").replace("name = \"j\"", "name = \"bob\"");
    let error = parse(&named, "x.toml").unwrap_err();
    assert_eq!(error.to_string(), "x.toml:17:8: joint `bob` has the name of body `bob`");
}

/// The rod turns about its left end at the origin, and carries the bob on its right end, each by
/// 0.1 m off.
const APART: &str = "bodies = [\"rod\"]\nrevolute = { frames = [{ point = [-0.5, 0.1] }, {}] }
[[joint]]\nname = \"pin\"\nbodies = [\"bob\", \"rod\"]\nrevolute = { frames = [{}, { point = [0.6, 0] }] }";

#[test]
fn starts_that_do_not_meet_are_refused_or_assembled() {
    let help = "move the bodies or the frames by that much, or write `assemble = true` at the top of the scene, \
                which moves the bodies as little as possible";
    assert_refused(PLANE, APART, "19:12: joint `j` is not met at the start: `j.y` is off by 1.000000e-1 m", help);
    let text = format!("assemble = true\n{}", joined(PLANE, APART));
    let assembled = loaded(&text);
    let [warning] = assembled.warnings() else { panic!("{:?}", assembled.warnings()) };
    assert!(warning.starts_with("to meet the joints, `assemble` moved body `rod` by "), "{warning}");
    assert!(warning.contains("moved body `bob` by"), "{warning}");
    let (system, state) = (assembled.system().bodies().unwrap(), assembled.start());
    assert!(system.joint_violations(state).iter().all(|row| row.0.abs() < 1e-12 && row.1.abs() < 1e-12));
    // The resolved copy starts from the same assembled state.
    assert_eq!(loaded(&assembled.scene().to_toml()).start(), state);

    let impossible = text.replace("point = [0.6, 0]", "point = [0.6, 0] }, {");
    assert!(parse(&impossible, "x.toml").unwrap_err().to_string().contains("3 frames are given, and two are needed"));
    let far = format!(
        "{text}[[joint]]\nname = \"far\"\nbodies = [\"bob\"]\nrevolute = {{ frames = [{{}}, {{ point = [9, 0] }}] }}\n"
    );
    let error = parse(&far, "x.toml").unwrap_err().to_string();
    assert!(error.contains("the joints cannot be met: `"), "{error}");
}

#[test]
fn velocities_that_do_not_fit_are_found_and_projected() {
    let moving = PLANE.replace("inertia = 0.1\n", "inertia = 0.1\nvelocity = [1.0, 0.0]\n");
    let text = joined(&moving, "bodies = [\"rod\"]\nrevolute = { anchor = [0, 0] }");
    let findings = lint(&loaded(&text));
    assert_eq!(findings.len(), 1);
    let expected = "the velocities at the start do not fit joint `j`: `j.x` changes at 1.000e0 m/s";
    assert!(findings[0].message.starts_with(expected) && findings[0].place == "x.toml:20:12", "{findings:?}");
    let assembled = loaded(&format!("assemble = true\n{text}"));
    assert_eq!(
        assembled.warnings(),
        ["to meet the joints, `assemble` changed velocities by up to 1.000e0 m/s or rad/s"]
    );
    assert!(assembled.start().v.iter().all(|v| v.abs() < 1e-15));
}

#[test]
fn limits_beyond_the_start_and_redundant_rows_are_told() {
    let hinge = "bodies = [\"rod\"]\nrevolute = { anchor = [0, 0], limits = { lower = 0.5 } }";
    let findings = lint(&loaded(&joined(PLANE, hinge)));
    assert!(findings[0].message.starts_with("joint `j` starts 5.000e-1 beyond its limit `j.lower`"), "{findings:?}");
    let twice =
        joined(PLANE, "bodies = [\"rod\"]\nfixed = {}\n[[joint]]\nname = \"k\"\nbodies = [\"rod\"]\nfixed = {}");
    let findings = lint(&loaded(&twice));
    assert!(findings[0].message.starts_with("3 of the 6 joint rows follow from the others"), "{findings:?}");
}

#[test]
fn a_run_records_joints() {
    let text =
        joined(PLANE, "bodies = [\"rod\"]\nprismatic = { anchor = [0, 0], axis = [1, 0], motor = { force = 3.0 } }");
    let folder = std::env::temp_dir().join(format!("stiction-joints-{}", std::process::id()));
    let run = stiction_scene::run::run(&loaded(&text), &folder, &Default::default(), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let table = Table::read(run.folder.join(file::JOINTS)).unwrap();
    assert_eq!(table.names(), ["t", "h", "joint", "value", "impulse", "force"]);
    assert_eq!(table.text("joint").unwrap()[..2], ["j.side", "j.twist"]);
    std::fs::remove_dir_all(&run.folder).unwrap();
    // 3 N on 1 kg for 0.1 s: 0.015 m, less h/2 of the last velocity for the scheme.
    assert!((run.summary.final_columns["j.displacement"] - 0.01515).abs() < 1e-12, "{:?}", run.summary.final_columns);
    let joints = 100 * 2;
    assert_eq!(table.row_count(), joints);
    // For 1 ms, the weight of 9.81 N on the side row, and its moment at 0.5 m from the anchor.
    let impulses = table.real("impulse").unwrap();
    assert!((impulses[0] - 9.81e-3).abs() < 1e-12 && (impulses[1] - 4.905e-3).abs() < 1e-12, "{:?}", &impulses[..2]);
}

#[test]
fn the_squeezing_mechanism_begins_as_published() {
    // CWI test set: β̈ = 14222.4439199541 and Θ̈ = -10666.8329399656 rad/s² at the dead point of
    // the start, whatever the spring does. One step from rest gives the acceleration up to the
    // order of the turn within it, h² β̈ = 1e-8.
    let mut simulation = load("andrews", &["run.step=1e-6".into()]).unwrap().simulation();
    simulation.step().unwrap();
    let spin = |body: usize| simulation.state().v[3 * body + 2] / 1e-6;
    assert!((spin(0) / 14222.443919954114 - 1.0).abs() < 1e-7, "{}", spin(0));
    assert!(((spin(1) - spin(0)) / -10666.832939965585 - 1.0).abs() < 1e-7, "{}", spin(1));
    for body in 2..7 {
        assert!(spin(body).abs() < 1e-2, "body {body}: {}", spin(body));
    }
}

#[test]
fn the_squeezing_mechanism_ends_as_published() {
    // CWI test set, at t = 0.03 s: crank, K3, K5 and K7. Order two: at 1e-5 s the crank is off by
    // 3e-5 rad after two and a half turns.
    let mut simulation = load("andrews", &[]).unwrap().simulation();
    simulation.run().unwrap();
    for (body, expected, tolerance) in [
        (0, 15.81077119629904, 5e-5),
        (2, 0.04082224013073101, 5e-7),
        (4, 0.5244099658805304, 5e-8),
        (6, 1.048080741042263, 5e-8),
    ] {
        let angle = simulation.state().q[3 * body + 2];
        assert!((angle - expected).abs() < tolerance, "K{}: {angle} is not {expected}", body + 1);
    }
}

#[test]
fn the_linkage_of_bricard_swings_and_keeps_its_energy() {
    let mut simulation = load("bricard", &[]).unwrap().simulation();
    let mut audit = stiction_dynamics::Audit::default();
    simulation
        .run_with(|s| {
            audit.observe(s.system(), s.before(), s.last_step());
        })
        .unwrap();
    let (mut values, names) = (Vec::new(), simulation.system().column_names());
    simulation.system().record(simulation.state(), &mut values);
    let angle = |hinge: usize| values[names.iter().position(|name| *name == format!("hinge{hinge}.angle")).unwrap()];
    // The same linkage without its redundant row, extrapolated from steps of 1 ms and 0.5 ms:
    // 2.895501 and -0.197168 rad, in turn.
    for hinge in 0..6 {
        let expected = match hinge {
            5 => 0.197168, // the ground is its second body, and would be the first one in the order around the loop
            1 | 3 => -0.197168,
            _ => 2.895501,
        };
        assert!((angle(hinge) - expected).abs() < 1e-4, "hinge {hinge}: {}", angle(hinge));
    }
    assert!(audit.sum.energy.total_change.abs() < 1e-5, "{:?}", audit.sum.energy);
    assert!(audit.worst.joint_drift < 1e-8, "{:e}", audit.worst.joint_drift);
}

#[test]
fn joints_that_contradict_each_other_are_refused_by_name() {
    // A rod that one joint holds, and another one turns. Without the drive the two agree, and the
    // second one follows from the first.
    let both = |drive: &str| {
        format!(
            "{PLANE}[[joint]]\nname = \"hold\"\nbodies = [\"rod\"]\nfixed = {{}}\n[[joint]]\nname = \"turn\"\nbodies = [\"rod\"]\n\
             revolute = {{ anchor = [0.5, 0.0]{drive} }}\n"
        )
    };
    let error = parse(&both(", drive = { rate = 1.0 }"), "x.toml").map(|_| ()).unwrap_err();
    let text = format!("{error}");
    assert!(text.contains("contradicts the others") && text.contains("rad/s"), "{text}");
    assert!(error.remedy().contains("remove a joint or a drive"), "{}", error.remedy());
    loaded(&both(""));
    loaded(&both(", drive = { rate = 0.0 }"));
}

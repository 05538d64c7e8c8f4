//! Scene files from end to end: the built-in ones run, resolved copies read back, every mistake is
//! found at its place, and the schema knows every key.

use std::collections::BTreeSet;

use stiction_bodies::BodyKind;
use stiction_dynamics::Contact;
use stiction_scene::{Loaded, Scene, SceneError, builtin, load, parse, parse_with, template};

/// A scene in the plane that is correct. Line numbers in the tests below are those of this text.
const PLANE: &str = r#"format = 1
name = "test"
dimension = "plane"
gravity = [0.0, -9.81]

[run]
step = 0.01
end = 1.0

[[material]]
name = "steel"
friction = 0.6

[[body]]
name = "table"
kind = "static"
material = "steel"
[[body.shape]]
half-plane = { normal = [0.0, 1.0], offset = 0.0 }

[[body]]
name = "rod"
material = "steel"
position = [0.0, 1.0]
mass = 1.0
inertia = 0.002
[[body.shape]]
capsule = { length = 0.5, radius = 0.05 }
"#;

/// A scene in space that is correct.
const SPACE: &str = r#"format = 1
name = "test"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = { step = 0.01, end = 1.0 }

[[material]]
name = "steel"
friction = 0.6

[[body]]
name = "floor"
kind = "static"
material = "steel"
[[body.shape]]
half-space = { normal = [0.0, 0.0, 1.0] }

[[body]]
name = "brick"
material = "steel"
position = [0.0, 0.0, 1.0]
mass = 1.0
[[body.shape]]
box = { size = [0.4, 0.2, 0.1] }
"#;

/// `text` with one piece replaced, which must be there.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in the text");
    text.replacen(from, to, 1)
}

fn fails(text: &str) -> SceneError {
    match parse(text, "x.toml") {
        Ok(_) => panic!("this scene is accepted:\n{text}"),
        Err(error) => error,
    }
}

/// Asserts the place, the message and the help of the error that a change makes.
#[track_caller]
fn assert_error(text: &str, from: &str, to: &str, display: &str, help: &str) {
    let error = fails(&changed(text, from, to));
    assert_eq!(error.to_string(), format!("x.toml:{display}"));
    assert_eq!(error.remedy(), help);
}

/// Like `assert_error`, for lines at the end of the text. Their first line is 29 in the plane and
/// 26 in space.
#[track_caller]
fn assert_error_after(text: &str, lines: &str, display: &str, help: &str) {
    let error = fails(&format!("{text}{lines}\n"));
    assert_eq!(error.to_string(), format!("x.toml:{display}"));
    assert_eq!(error.remedy(), help);
}

/// How a body moves.
fn kind_of(loaded: &Loaded, body: usize) -> BodyKind {
    loaded.system().bodies().expect("it has bodies").model().bodies[body].kind.clone()
}

fn built_in(name: &str, overrides: &[&str]) -> Loaded {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    load(name, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

// ------------------------------------------------------------------------------------------------
// scenes that work

#[test]
fn every_built_in_scene_loads_builds_and_steps() {
    for scene in builtin::all() {
        let loaded = load(scene.name, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.warnings(), [""; 0]);
        let mut simulation = loaded.simulation();
        for _ in 0..5 {
            simulation.step().unwrap_or_else(|error| panic!("{}: {error}", scene.name));
        }
        assert_eq!(simulation.steps_done(), 5);
    }
    let mut simulation = parse(&template("new"), "new.toml").unwrap().simulation();
    simulation.run().unwrap();
    let mut columns = Vec::new();
    simulation.system().record(simulation.state(), &mut columns);
    let names = simulation.system().column_names();
    let column = |name: &str| columns[names.iter().position(|other| other == name).unwrap()];
    // Down the ramp with g (sin 30° - 0.4 cos 30°) for 1.5 s: 1.5² / 2 of it.
    let expected = 9.81 * (0.5 - 0.4 * 0.75f64.sqrt()) * 1.5 * 1.5 / 2.0 * 0.75f64.sqrt() + 0.0433;
    assert!((column("block.x") - expected).abs() < 0.01, "{} is not {expected}", column("block.x"));
    assert!(column("wheel.w") < -1.0, "the wheel rolls down to the right");
}

#[test]
fn resolved_copy_reads_back_as_the_same_scene() {
    let kitchen_sink = format!(
        "{SPACE}{}",
        r#"
[[body]]
name = "mass"
kind = "point"
density = 1000
material = "steel"
velocity = [1, 2, 3]
group = "balls"
[[body.shape]]
sphere = { radius = 0.1 }

[[body]]
name = "track"
kind = "prescribed"
orientation = [0.6, 0.0, 0.8, 0.0]
[body.motion]
angular-velocity = [0.0, 0.0, 1.0]
oscillation = { amplitude = [0.0, 0.0, 0.001], frequency = 50.0 }
[[body.shape]]
half-space = { normal = [0.0, 0.6, 0.8], offset = -3.0 }
material = "wood"

[[body]]
name = "top"
material = "steel"
position = [5.0, 0.0, 1.0]
density = 700
[[body.shape]]
ellipsoid = { semi-axes = [0.3, 0.2, 0.1] }
[[body]]
name = "surroundings"
kind = "static"
material = "steel"
group = "balls"
shape = [{ cavity = { radius = 50 } }, { tube = { radius = 40 } }, { cylinder = { radius = 0.1 }, position = [0, 30, 0] }]

[[material]]
name = "wood"
friction = 0.3
[[pair]]
materials = ["wood", "steel"]
friction = 0.45
[contact]
combine = "minimum"
[record]
interval = 10
columns = ["brick.x"]
[[force]]
body = "brick"
torque = [0, 0, 1]
axes = "body"
until = 0.5
[[dry-friction]]
name = "brake"
body = "brick"
axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
bound = 10.0
[[spring]]
name = "rope"
bodies = ["brick", "mass"]
points = [[0.1, 0.0, 0.0], [0.0, 0.0, 0.0]]
stiffness = 10.0
[[spring]]
name = "dashpot"
bodies = ["brick"]
damping = 3
axis = [0.0, 0.6, 0.8]
[[torsion-spring]]
name = "wire"
bodies = ["track", "brick"]
axis = [0.0, 0.6, 0.8]
stiffness = 2.0
[[ignore]]
bodies = ["brick", "mass"]
[[ignore]]
groups = ["balls", "balls"]
[[ignore]]
groups = ["default", "default"]
[[ignore]]
groups = ["default", "balls"]
[scheme.stewart-trinkle]
version = "fixed-point"
[method.pyramid]
directions = [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]]
lemke = { residual-tolerance = 1e-11 }
"#
    );
    let texts = builtin::all().iter().map(|scene| scene.text.to_owned());
    let others = [template("new"), kitchen_sink, PLANE.to_owned(), SPACE.to_owned()];
    for text in texts.chain(others) {
        let scene = parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}")).into_scene();
        let copy = scene.to_toml();
        let again = parse(&copy, "copy.toml").unwrap_or_else(|error| panic!("{error}\n{copy}"));
        assert_eq!(again.scene(), &scene, "{copy}");
        assert_eq!(again.scene().to_toml(), copy);
        assert_eq!(scene.check().unwrap().start(), again.start());
    }
}

#[test]
fn resolved_copy_has_every_default() {
    let copy = parse(PLANE, "x.toml").unwrap().scene().to_toml();
    for line in [
        "start = 0.0",
        "[scheme.stewart-trinkle]",
        "version = \"linear\"",
        "position-tolerance = 1e-11",
        "directions = 8",
        "residual-tolerance = 1e-10",
        "interval = 1",
        "kind = \"rigid\"",
        "group = \"default\"",
        "angle = 0.0",
        "velocity = [0.0, 0.0]",
        "angular-velocity = 0.0",
        "capsule = { length = 0.5, radius = 0.05 }",
    ] {
        assert!(copy.lines().any(|found| found == line), "`{line}` is not in\n{copy}");
    }
}

#[test]
fn blocks_on_a_plane_start_exactly_on_it() {
    for (name, count) in [("incline", 4), ("sliding-block", 4), ("belt", 4), ("box-on-corners", 4), ("painleve-rod", 1)]
    {
        let loaded = built_in(name, &[]);
        let mut contacts: Vec<Contact> = Vec::new();
        loaded.system().mechanics().contacts(0.0, &loaded.start().q, 1e-3, &mut contacts);
        assert_eq!(contacts.len(), count, "{name}");
        for contact in contacts {
            // Coordinates of at most 1 m carry a rounding of 1e-16 m.
            assert!(contact.gap.abs() <= 1.2e-16, "{name}: gap {:e}", contact.gap);
        }
    }
}

#[test]
fn incline_does_not_creep() {
    let mut simulation = built_in("incline", &[]).simulation();
    let start = simulation.state().clone();
    simulation.run().unwrap();
    let moved: f64 = (0..3).map(|i| (simulation.state().q[i] - start.q[i]).powi(2)).sum::<f64>().sqrt();
    assert!(moved / 10.0 <= 1e-12, "{moved:e} m in 10 s");
}

#[test]
fn belt_carries_the_block_along() {
    let mut simulation = built_in("belt", &[]).simulation();
    simulation.run().unwrap();
    let v = &simulation.state().v;
    assert!((v[0] - 1.0).abs() <= 1e-12 && v[1].abs() <= 1e-12 && v[2].abs() <= 1e-12, "{v:?}");
}

#[test]
fn box_on_corners_stays_and_painleve_rod_stops_its_end() {
    let mut simulation = built_in("box-on-corners", &[]).simulation();
    let start = simulation.state().clone();
    simulation.run().unwrap();
    for (end, start) in simulation.state().q.iter().zip(&start.q) {
        assert!((end - start).abs() < 1e-12, "{end} is not {start}");
    }

    let mut simulation = built_in("painleve-rod", &[]).simulation();
    simulation.step().unwrap();
    // Velocity of the lower end, which is at (-cos θ, -sin θ) from the centre.
    let state = simulation.state();
    let (sine, cosine) = state.q[2].sin_cos();
    let end = [state.v[0] + state.v[2] * sine, state.v[1] - state.v[2] * cosine];
    assert!(end[0].abs() < 0.01 && end[1].abs() < 0.01, "{end:?}");
    // It rises about the end that sticks, and falls back.
    let mut highest = 0.0f64;
    simulation.run_with(|simulation| highest = highest.max(simulation.state().q[2])).unwrap();
    assert!((highest.to_degrees() - 67.65).abs() < 0.05, "{} degrees", highest.to_degrees());
    assert!(simulation.state().v[2] < 0.0);
}

#[test]
fn rod_comes_to_rest_on_the_table() {
    let mut simulation = built_in("rod", &["run.step=1e-4"]).simulation();
    let state = simulation.run().unwrap();
    // Event-driven reference: at rest at x = -0.22735998270, turned by half a turn; 2e-4 is fair at
    // this step.
    assert!((state.q[0] + 0.22735998270).abs() <= 2e-4, "x = {}", state.q[0]);
    assert!((state.q[1] - 0.05).abs() < 1e-9 && (state.q[2] - std::f64::consts::PI).abs() < 1e-9, "{:?}", state.q);
    assert!(state.v.iter().all(|v| v.abs() < 1e-9), "{:?}", state.v);
}

#[test]
fn sliding_block_stops_where_it_should() {
    let mut simulation = built_in("sliding-block", &[]).simulation();
    simulation.run().unwrap();
    let state = simulation.state();
    let distance = state.q[0].hypot(state.q[1]);
    // The scheme takes the velocity at the end of each step: v₀ h/2 is missing in the sum. The
    // pyramid's friction is at least cos(π/32) of the cone's.
    let (exact, h) = (36.0 / 9.81, 0.001);
    let longest = exact / (std::f64::consts::PI / 32.0).cos() + 1e-4;
    assert!((exact - 1e-4..longest).contains(&(distance + 6.0 * h / 2.0)), "{distance} m");
    assert!(state.v.iter().all(|v| v.abs() < 1e-12), "{:?}", state.v);
    assert!((state.q[2] - 0.05).abs() <= 1e-12, "it neither lifts nor sinks: {}", state.q[2]);
}

#[test]
fn mass_follows_from_shapes_when_asked() {
    let kind = |text: &str| kind_of(&parse(text, "x.toml").unwrap(), 1);
    // The brick: 12 I = m (0.2² + 0.1², 0.4² + 0.1², 0.4² + 0.2²).
    let BodyKind::Rigid { mass, inertia } = kind(SPACE) else { panic!("it is rigid") };
    assert_eq!(mass, 1.0);
    for (moment, expected) in [inertia.x_axis.x, inertia.y_axis.y, inertia.z_axis.z].into_iter().zip([0.05, 0.17, 0.2])
    {
        assert!((moment - expected / 12.0).abs() < 1e-16);
    }
    // 0.4 · 0.2 · 0.1 m³ of water: 8 kg.
    let BodyKind::Rigid { mass, inertia } = kind(&changed(SPACE, "mass = 1.0", "density = 1000")) else {
        panic!("it is rigid")
    };
    assert!((mass - 8.0).abs() < 1e-14 && (inertia.z_axis.z - 8.0 * 0.2 / 12.0).abs() < 1e-15);
    let full = "mass = 1.0\ninertia = [[2.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]]";
    let BodyKind::Rigid { inertia, .. } = kind(&changed(SPACE, "mass = 1.0", full)) else { panic!("it is rigid") };
    assert_eq!((inertia.x_axis.y, inertia.y_axis.x, inertia.z_axis.z), (0.5, 0.5, 3.0));
}

// --------------------------------------------------------------------------------------------------
// mistakes, by place

#[test]
fn text_that_is_not_toml() {
    let quoted = "write text in quotes, numbers as 0.5 or 1e-3, and commas between the elements of a list";
    let toml = "a scene is written in TOML: `key = value` lines, `[table]` and `[[element of a list]]` headers";
    assert_error(PLANE, "\"static\"", "static", "16:8: string values must be quoted", quoted);
    assert_error(PLANE, "[0.0, 1.0]", "[0.0 1.0]", "19:26: string values must be quoted", quoted);
    assert_error(PLANE, "[run]", "[run", "6:5: unclosed table, expected `]`", toml);
    assert_error(
        PLANE,
        "mass = 1.0",
        "mass = 1.0\nmass = 2.0",
        "26:1: duplicate key",
        "remove one of the two, or start another element with its `[[…]]` line",
    );
}

#[test]
fn format_comes_first() {
    assert_error(PLANE, "format = 1\n", "", "1:1: `format` is missing", "write `format = 1` as the first line");
    let help = "write `format = 1`, or use a version of Stiction that reads the scene";
    for (format, found) in [("2", "2"), ("\"1\"", "not a whole number"), ("1.0", "not a whole number")] {
        assert_error(
            PLANE,
            "format = 1\n",
            &format!("format = {format}\nunknown = 3\n"),
            &format!("1:10: the format of this scene is {found}, and this version of Stiction reads format 1"),
            help,
        );
    }
}

#[test]
fn unknown_keys_get_a_suggestion() {
    assert_error(
        PLANE,
        "friction = 0.6",
        "frictoin = 0.6",
        "12:1: unknown key `frictoin` in material `steel`",
        "did you mean `friction`? (the keys here are `name`, `friction`, `static-friction`, `restitution`, `impact-law`, `tangential-restitution`, `torsion-radius`, `torsion` and `phantom-inertia`)",
    );
    assert_error(
        PLANE,
        "radius = 0.05 }",
        "radius = 0.05, colour = 3 }",
        "28:42: unknown key `colour` in body `rod`, shape 1, `capsule`",
        "the keys here are `length` and `radius`",
    );
    let error = fails(&PLANE.replace("[[body", "[[bodies"));
    assert_eq!(error.to_string(), "x.toml:14:3: unknown key `bodies` in the scene");
    assert!(error.remedy().starts_with("did you mean `body`?"), "{}", error.remedy());
    let error = fails(&changed(PLANE, "mass = 1.0", "angular_velocity = 1.0"));
    assert_eq!(error.to_string(), "x.toml:25:1: unknown key `angular_velocity` in body `rod`");
    assert!(error.remedy().starts_with("did you mean `angular-velocity`?"), "{}", error.remedy());
    let error = fails(&format!("{PLANE}gravity = 3\n"));
    assert_eq!(error.to_string(), "x.toml:29:1: unknown key `gravity` in body `rod`, shape 1");
    assert!(error.remedy().starts_with("`gravity` belongs to the top of the scene"), "{}", error.remedy());
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nversoin = \"linear\"",
        "30:1: unknown key `versoin` in `scheme`, `stewart-trinkle`",
        "did you mean `version`? (the keys here are `version`, `linearization`, `rule`, `position-tolerance`, `linearization-limit` and `activation-gap`)",
    );
    // Keys and values of choices.
    assert_error(
        PLANE,
        "\"plane\"",
        "\"plain\"",
        "3:13: `dimension` cannot be `plain`",
        "did you mean `plane`? (the choices are `plane` and `space`)",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart]",
        "29:9: `scheme` cannot be `stewart`",
        "did you mean `stewart-trinkle`? (the choices are `stewart-trinkle`, `moreau-midpoint`, `trapezoidal`, `event-driven` and `implicit-ncp`)",
    );
    assert_error_after(PLANE, "[method]", "29:1: `method` names no choices", "name one");
    assert_error(
        PLANE,
        "[run]",
        "method = \"cone\"\n[run]",
        "6:10: `method` is the name `cone` alone, and `cone` is a table of settings",
        "write a table, which may be empty: `method = { cone = {} }`",
    );
    // Keys of the top that stand after a table.
    assert_error(
        PLANE,
        "gravity = [0.0, -9.81]\n\n[run]",
        "[run]\ngravity = [0.0, -9.81]",
        "5:1: unknown key `gravity` in `run`",
        "`gravity` belongs to the top of the scene: write it before the first table; the keys here are `step`, `end`, \
         `start`, `deepest-overlap` and `consistent-start`",
    );
}

#[test]
fn missing_keys_are_said_where() {
    assert_error(PLANE, "name = \"test\"\n", "", "1:1: `name` is missing in the scene", "add `name = \"rod\"`");
    assert_error(
        PLANE,
        "dimension = \"plane\"\n",
        "",
        "1:1: `dimension` is missing in the scene",
        "add `dimension = \"plane\"` or `dimension = \"space\"`",
    );
    assert_error(
        PLANE,
        "gravity = [0.0, -9.81]\n",
        "",
        "1:1: `gravity` is missing in the scene",
        "there is no hidden gravity: write `gravity = [0.0, -9.81]` in the plane, `gravity = [0.0, 0.0, -9.81]` in space, \
         or zeros",
    );
    assert_error(PLANE, "step = 0.01\n", "", "6:1: `step` is missing in `run`", "add `step = 0.001`");
    assert_error(
        PLANE,
        "friction = 0.6\n",
        "",
        "10:1: `friction` is missing in material `steel`",
        "add `friction = 0.5`",
    );
    assert_error(PLANE, "name = \"rod\"\n", "", "21:1: `name` is missing in body 2", "add `name = \"rod\"`");
    assert_error(
        PLANE,
        "length = 0.5, ",
        "",
        "28:11: `length` is missing in body `rod`, shape 1, `capsule`",
        "add `length = 0.5`",
    );
}

#[test]
fn types_are_told_in_plain_words() {
    assert_error(
        PLANE,
        "mass = 1.0",
        "mass = \"1\"",
        "25:8: body `rod`, `mass` is the text \"1\", and must be a number",
        "write a number",
    );
    assert_error(
        PLANE,
        "[0.0, -9.81]",
        "-9.81",
        "4:11: `gravity` is the number -9.81, and must be a list",
        "write a list",
    );
    assert_error(
        PLANE,
        "[0.0, 1.0]\nmass",
        "[0.0, \"1\"]\nmass",
        "24:18: body `rod`, position 2 is the text \"1\", and must be a number",
        "write a number",
    );
    assert_error(
        PLANE,
        "name = \"test\"",
        "name = 3",
        "2:8: `name` is the whole number 3, and must be text in quotes",
        "write text in quotes",
    );
    assert_error(
        PLANE,
        "inertia = 0.002",
        "inertia = true",
        "26:11: body `rod`, `inertia` is true, and must be a number or a list of numbers",
        "write a number or a list of numbers",
    );
    assert_error_after(
        PLANE,
        "[record]\ninterval = -1",
        "30:12: `record`, `interval` is the whole number -1, and must be a whole number that is not negative",
        "write a whole number that is not negative",
    );
    let error = fails(&format!("{PLANE}[method.pyramid]\ndirections = 7\n"));
    assert_eq!(
        error.to_string(),
        "x.toml:30:14: `method`, `pyramid`, `directions`: friction directions: 7 is not usable"
    );
    assert_eq!(error.remedy(), "take an even number of at least 4");
}

#[test]
fn numbers_are_finite_everywhere() {
    assert_error(PLANE, "mass = 1.0", "mass = nan", "25:8: body `rod`, `mass` is nan", "give a finite number");
    assert_error(PLANE, "-9.81]", "-inf]", "4:17: gravity 2 is -inf", "give a finite number");
    assert_error(
        PLANE,
        "radius = 0.05",
        "radius = 1e999",
        "28:36: body `rod`, shape 1, `capsule`, `radius` is 1e999",
        "give a finite number",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nposition-tolerance = inf",
        "30:22: `scheme`, `stewart-trinkle`, `position-tolerance` is inf",
        "give a finite number",
    );
}

#[test]
fn names_are_plain_and_unique() {
    let help = "use letters, digits, `-` and `_`, as in `a-b`";
    assert_error(PLANE, "\"test\"", "\"a/b\"", "2:8: `a/b` cannot be the name of a scene", help);
    assert_error(PLANE, "\"rod\"", "\"a.b\"", "22:8: `a.b` cannot be the name of a body", help);
    assert_error(PLANE, "\"rod\"", "\"\"", "22:8: `` cannot be the name of a body", "use letters, digits, `-` and `_`");
    assert_error(
        PLANE,
        "\"rod\"",
        "\"table\"",
        "22:8: two bodies are named `table`, numbers 1 and 2",
        "give one of them another name",
    );
    assert_error_after(
        PLANE,
        "[[material]]\nname = \"steel\"\nfriction = 0.1",
        "30:8: two materials are named `steel`, numbers 1 and 2",
        "give one of them another name",
    );
}

#[test]
fn run_settings() {
    assert_error(PLANE, "step = 0.01", "step = 0.0", "7:8: the step is 0.0 s", "give a positive number");
    assert_error(PLANE, "step = 0.01", "step = -1", "7:8: the step is -1.0 s", "give a positive number");
    assert_error(
        PLANE,
        "step = 0.01",
        "step = 1e-17",
        "7:8: the step, 1e-17 s, is lost in the rounding of the time",
        "give a step well above 2.2e-16 s",
    );
    assert_error(
        PLANE,
        "end = 1.0",
        "end = 1.0\nstart = 2.0",
        "8:7: the end, 1.0 s, is before the start, 2.0 s",
        "give an `end` that is not before `start`",
    );
    assert_error_after(
        PLANE,
        "[record]\ninterval = 0",
        "30:12: the recording interval is 0 steps",
        "give 1 to record every step",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nposition-tolerance = 0.0",
        "30:22: the position tolerance is 0.0 m",
        "give a positive number",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nlinearization-limit = 0",
        "30:23: the limit of linearisations is 0",
        "give at least 1",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nlinearization = \"mean\"\nactivation-gap = 1e-3",
        "30:17: with `activation-gap`, contacts are linearised at the start of a step, not at its mean",
        "leave out `linearization`, or the `activation-gap`",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nlinearization = \"middle\"",
        "30:17: `scheme`, `stewart-trinkle`, `linearization` cannot be `middle`",
        "the choices are `start`, `mean` and `end`",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nlinearization = \"mean\"\nrule = \"trapezoidal\"",
        "30:17: the trapezoidal rule linearises in the middle of a step, and `linearization` has no say in it",
        "leave out `linearization`, or write rule = \"euler\"",
    );
    assert_error_after(
        PLANE,
        "[scheme.trapezoidal]\nrule = \"classical\"",
        "30:8: the classical rule weighs forces with the inertia at the end of the step, which one linear problem does not know",
        "write `iterate = true` beside it, or leave `rule` out",
    );
    assert_error_after(
        PLANE,
        "[scheme.trapezoidal]\nrule = \"simpson\"",
        "30:8: `scheme`, `trapezoidal`, `rule` cannot be `simpson`",
        "the choices are `modified` and `classical`",
    );
    assert_error_after(
        PLANE,
        "[scheme.trapezoidal]\nclosing-time = \"quartic\"",
        "30:16: `scheme`, `trapezoidal`, `closing-time` cannot be `quartic`",
        "the choices are `way` and `cubic`",
    );
    assert_error_after(
        PLANE,
        "[scheme.stewart-trinkle]\nrule = \"trapezoidal\"\nactivation-gap = 1e-3",
        "30:8: the trapezoidal rule and `activation-gap` contradict each other: one takes contacts in the middle of a step, the other at its start",
        "leave out `activation-gap`, or write rule = \"euler\"",
    );
    assert_error_after(
        PLANE,
        "[scheme.implicit-ncp]\nrule = \"midpoint\"",
        "30:8: `scheme`, `implicit-ncp`, `rule` cannot be `midpoint`",
        "the choices are `euler` and `trapezoidal`",
    );
    assert_error_after(
        PLANE,
        "[method.pyramid.lemke]\nweak-pivot = -1.0",
        "30:14: `weak-pivot` is -1.0",
        "give zero or a positive number",
    );
}

#[test]
fn lengths_of_vectors() {
    let plane = "write two, [x, y], or change `dimension`";
    let space = "write three, [x, y, z], or change `dimension`";
    assert_error(
        PLANE,
        "[0.0, -9.81]",
        "[0.0, 0.0, -9.81]",
        "4:11: gravity has 3 numbers, but in the plane it has two, [x, y]",
        plane,
    );
    assert_error(
        SPACE,
        "[0.0, 0.0, -9.81]",
        "[0.0, -9.81]",
        "4:11: gravity has 2 numbers, but in space it has three, [x, y, z]",
        space,
    );
    assert_error(
        PLANE,
        "[0.0, 1.0]\nmass",
        "[0.0]\nmass",
        "24:12: position has 1 number, but in the plane it has two, [x, y]",
        plane,
    );
    assert_error(
        PLANE,
        "[0.0, 1.0], o",
        "[0.0, 1.0, 0.0], o",
        "19:25: the normal has 3 numbers, but in the plane it has two, [x, y]",
        plane,
    );
    assert_error(
        SPACE,
        "[0.4, 0.2, 0.1]",
        "[0.4, 0.2]",
        "24:16: size has 2 numbers, but in space it has three, [x, y, z]",
        space,
    );
    assert_error(
        PLANE,
        "mass = 1.0",
        "mass = 1.0\nangular-velocity = [0.0, 0.0, 1.0]",
        "26:20: angular-velocity is a list, but in the plane it is one number",
        "write the part about z",
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        "mass = 1.0\nangular-velocity = 2",
        "23:20: angular-velocity is one number, but in space it has three, [x, y, z]",
        "write [0.0, 0.0, 2.0] for a rotation about z",
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        "mass = 1.0\nangular-velocity = [1, 2]",
        "23:20: angular-velocity has 2 numbers, but in space it has three, [x, y, z]",
        space,
    );
}

#[test]
fn poses() {
    assert_error(
        PLANE,
        "mass = 1.0",
        "mass = 1.0\nangle = 1.0\nangle-degrees = 2.0",
        "27:1: both `angle` and `angle-degrees` are given",
        "keep one of them",
    );
    assert_error(
        PLANE,
        "mass = 1.0",
        "mass = 1.0\norientation = [1, 0, 0, 0]",
        "26:1: `orientation` is for scenes in space",
        "in the plane write `angle` or `angle-degrees`",
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        "mass = 1.0\nangle = 0.0",
        "23:1: `angle` is for scenes in the plane",
        "in space write `orientation`; [1.0, 0.0, 0.0, 0.0] is this angle about z",
    );
    let no_rotation = "write [w, x, y, z]; no rotation is [1.0, 0.0, 0.0, 0.0]";
    assert_error(
        SPACE,
        "mass = 1.0",
        "mass = 1.0\norientation = [1, 0, 0]",
        "23:15: orientation has 3 numbers, but a quaternion has four",
        no_rotation,
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        "mass = 1.0\norientation = [0, 0, 0, 0]",
        "23:15: orientation has length 0.0 and must have length 1",
        no_rotation,
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        "mass = 1.0\norientation = [0, 0, 2, 0]",
        "23:15: orientation has length 2.0 and must have length 1",
        "only lengths within 0.001 of 1 are normalised; write [0.0, 0.0, 1.0, 0.0]",
    );
    // Close to one: normalised, and said.
    let loaded =
        parse(&changed(SPACE, "mass = 1.0", "mass = 1.0\norientation = [0.707, 0.707, 0.0, 0.0]"), "x.toml").unwrap();
    assert_eq!(loaded.warnings().len(), 1);
    assert!(
        loaded.warnings()[0].starts_with("the orientation of body `brick` has length 0.99984898859"),
        "{:?}",
        loaded.warnings()
    );
    let orientation = loaded.scene().bodies[1].orientation.as_ref().unwrap();
    assert!((orientation[0] - 0.5f64.sqrt()).abs() < 1e-15 && (orientation[1] - 0.5f64.sqrt()).abs() < 1e-15);
    // Closer still: left as it is.
    let text = changed(SPACE, "mass = 1.0", "mass = 1.0\norientation = [0.0, 0.60000000003, 0.80000000004, 0.0]");
    let loaded = parse(&text, "x.toml").unwrap();
    assert!(loaded.warnings().is_empty());
    assert_eq!(loaded.scene().bodies[1].orientation.as_ref().unwrap()[1], 0.60000000003);
}

#[test]
fn masses() {
    assert_error(PLANE, "mass = 1.0", "mass = 0.0", "25:8: the mass is 0.0 kg", "give a positive number");
    assert_error(PLANE, "mass = 1.0", "mass = -2", "25:8: the mass is -2.0 kg", "give a positive number");
    assert_error(
        PLANE,
        "inertia = 0.002",
        "inertia = -0.002",
        "26:11: the inertia is -0.002 kg m²",
        "give a positive number",
    );
    assert_error(
        PLANE,
        "inertia = 0.002",
        "density = 0.002",
        "26:1: body `rod` has both `mass` and `density`",
        "keep one of them",
    );
    assert_error(
        PLANE,
        "mass = 1.0",
        "density = 1.0",
        "26:1: body `rod` has both `density` and `inertia`",
        "remove `inertia`, which follows from shapes and density, or give `mass` in place of `density`",
    );
    assert_error(
        PLANE,
        "mass = 1.0\n",
        "",
        "21:1: body `rod` of kind `rigid` has no mass",
        "give `mass`, or `density` if the mass is to follow from the shapes; a body that does not move is `kind = \"static\"`",
    );
    assert_error(SPACE, "mass = 1.0", "density = -1.0", "22:11: the density is -1.0 kg/m³", "give a positive number");
    assert_error(
        SPACE,
        "[[body.shape]]\nbox = { size = [0.4, 0.2, 0.1] }\n",
        "",
        "22:8: the inertia of body `brick` cannot follow from its shapes: it has no shapes",
        "give `inertia`, or make the body `kind = \"point\"`",
    );
    assert_error(
        PLANE,
        "mass = 1.0\ninertia = 0.002\n[[body.shape]]\ncapsule = { length = 0.5, radius = 0.05 }",
        "density = 1.0\n[[body.shape]]\ncapsule = { length = 0.5, radius = 0.0 }",
        "25:11: the mass of body `rod` cannot follow from its shapes: a capsule of its shapes has no area",
        "give `mass` and `inertia` in place of `density`",
    );
    assert_error(
        SPACE,
        "[0.4, 0.2, 0.1] }",
        "[0.4, 0.2, 0.1] }\nposition = [0.25, 0.0, -0.5]",
        "22:8: the shapes of body `brick` have their centre of mass at [0.25, 0.0, -0.5], but the origin of a body is its \
         centre of mass",
        "add [-0.25, -0.0, 0.5] to the `position` of every shape (the first is then at [0.0, 0.0, 0.0]), and move the body to \
         where its centre of mass is; or give both `mass` and `inertia`",
    );
}

#[test]
fn inertia_tensors() {
    let with = |inertia: &str| format!("mass = 1.0\ninertia = {inertia}");
    let form = "in space it is [Ixx, Iyy, Izz] or three rows of three";
    assert_error(
        SPACE,
        "mass = 1.0",
        &with("2.0"),
        &format!("23:11: inertia is one number, but {form}"),
        "write it in that form",
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        &with("[1.0, 2.0]"),
        &format!("23:11: inertia is a list of 2, but {form}"),
        "write it in that form",
    );
    assert_error(
        PLANE,
        "inertia = 0.002",
        "inertia = [1.0, 2.0, 3.0]",
        "26:11: inertia is a list of 3, but in the plane it is one number",
        "write it in that form",
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        &with("[1.0, 1.0, 3.0]"),
        "23:11: no body has this inertia: of its principal moments [1.0, 1.0, 3.0] kg m² the largest is more than the sum of the \
         others",
        "check the numbers; only a flat body reaches the sum, and none goes beyond it",
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        &with("[1.0, 0.0, 1.0]"),
        "23:11: the inertia is not positive definite: its principal moments are [0.0, 1.0, 1.0] kg m²",
        "give an inertia whose principal moments are positive",
    );
    assert_error(
        SPACE,
        "mass = 1.0",
        &with("[[2.0, 0.5, 0.0], [0.4, 2.0, 0.0], [0.0, 0.0, 3.0]]"),
        "23:30: the inertia is not symmetric: 0.5 and 0.4 stand across the diagonal",
        "make the two entries equal",
    );
    assert!(parse(&changed(SPACE, "mass = 1.0", &with("[1.0, 2.0, 3.0]")), "x.toml").is_ok(), "a flat body");
    let error = fails(&changed(SPACE, "mass = 1.0", &with("[1.0, [2.0], 3.0]")));
    assert!(
        error.to_string().starts_with("x.toml:23:11: body `brick`, `inertia`: expected a number in the plane, or"),
        "{error}"
    );
}

#[test]
fn keys_that_a_kind_does_not_have() {
    let prescribed = "remove it, or make the body `kind = \"prescribed\"` with a table `[body.motion]`";
    assert_error(
        PLANE,
        "kind = \"static\"",
        "kind = \"static\"\nvelocity = [1, 0]",
        "17:1: body `table` of kind `static` cannot have `velocity`",
        prescribed,
    );
    assert_error(
        PLANE,
        "kind = \"static\"",
        "kind = \"static\"\nmass = 3",
        "17:1: body `table` of kind `static` cannot have `mass`",
        "remove it: a body that does not move has no mass",
    );
    assert_error(
        PLANE,
        "[[body.shape]]\nhalf",
        "[body.motion]\nvelocity = [1, 0]\n[[body.shape]]\nhalf",
        "18:7: body `table` of kind `static` cannot have `motion`",
        "remove it, or make the body `kind = \"prescribed\"`",
    );
    assert_error(
        PLANE,
        "\"static\"",
        "\"prescribed\"",
        "16:8: body `table` is prescribed, but has no `motion`",
        "add a table `[body.motion]` with `velocity`, `angular-velocity`, `surface-velocity` or `oscillation`, or make the body \
         `kind = \"static\"`",
    );
    assert_error(
        PLANE,
        "kind = \"static\"",
        "kind = \"prescribed\"\nvelocity = [1, 0]\nmotion = {}",
        "17:1: body `table` of kind `prescribed` cannot have `velocity`",
        "write it into the table `[body.motion]`",
    );
    assert_error(
        PLANE,
        "name = \"rod\"",
        "name = \"rod\"\nkind = \"point\"",
        "27:1: body `rod` of kind `point` cannot have `inertia`",
        "a point does not rotate: remove it, or make the body `kind = \"rigid\"`",
    );
}

#[test]
fn shapes() {
    let plane = "`half-plane`, `disc`, `ring`, `capsule`, `box`, `ellipse`, `polygon` or `polyline`";
    let space = "`half-space`, `sphere`, `cavity`, `cylinder`, `tube`, `capsule`, `box`, `ellipsoid`, `cone`, `hull`, `mesh`, \
                 `height-field` or `decompose`";
    assert_error(
        PLANE,
        "capsule = { length = 0.5, radius = 0.05 }",
        "sphere = { radius = 0.05 }",
        "28:1: there is no sphere in the plane",
        &format!("use `disc`; the shapes in the plane are {plane}"),
    );
    assert_error(
        SPACE,
        "half-space",
        "half-plane",
        "16:1: there is no half-plane in space",
        &format!("use `half-space`; the shapes in space are {space}"),
    );
    let capsule = "capsule = { length = 0.5, radius = 0.05 }";
    assert_error(
        PLANE,
        capsule,
        "tube = { radius = 0.05 }",
        "28:1: there is no tube in the plane",
        &format!("use `ring`; the shapes in the plane are {plane}"),
    );
    assert_error(
        SPACE,
        "half-space = { normal = [0.0, 0.0, 1.0] }",
        "ring = { radius = 1.0 }",
        "16:1: there is no ring in space",
        &format!("use `cavity` or `tube`; the shapes in space are {space}"),
    );
    for (wrong, message) in [
        ("disc = { radius = -0.1 }", "28:19: the radius is -0.1 m"),
        ("ellipse = { semi-axes = [0.2, 0.0] }", "28:31: a semi-axis is 0.0 m"),
        ("ellipse = { semi-axes = [0.2] }", "28:25: semi-axes has 1 number, but in the plane it has two, [x, y]"),
    ] {
        let error = fails(&changed(PLANE, capsule, wrong));
        assert_eq!(error.to_string(), format!("x.toml:{message}"));
    }
    let floor = "half-plane = { normal = [0.0, 1.0], offset = 0.0 }";
    assert_error(PLANE, floor, "ring = { radius = 0 }", "19:19: the radius is 0.0 m", "give a positive number");
    // A point needs its mass to be given.
    let bead = changed(PLANE, capsule, "disc = { radius = 0 }");
    parse(&bead, "x.toml").unwrap();
    assert_error(
        &bead,
        "mass = 1.0\ninertia = 0.002",
        "density = 1.0",
        "25:11: the mass of body `rod` cannot follow from its shapes: a disc of its shapes has no area",
        "give `mass` and `inertia` in place of `density`",
    );
    // A body may have a hole, whose mass does not follow from it. Here, with the floor below, it
    // meets nothing.
    let link = changed(PLANE, capsule, "ring = { radius = 0.5 }");
    let mut simulation = parse(&link, "x.toml").unwrap().simulation();
    simulation.step().unwrap();
    for (mass, message, help) in [
        ("density = 1.0", "25:11: the mass", "give `mass` and `inertia` in place of `density`"),
        ("mass = 1.0", "25:8: the inertia", "give `inertia`, or make the body `kind = \"point\"`"),
    ] {
        let rest =
            "of body `rod` cannot follow from its shapes: a ring of its shapes is infinite, without a mass of its own";
        assert_error(&link, "mass = 1.0\ninertia = 0.002", mass, &format!("{message} {rest}"), help);
    }
    assert_error(
        PLANE,
        "capsule = { length = 0.5, radius = 0.05 }\n",
        "",
        "27:1: a shape of body `rod` does not say which shape it is",
        &format!("give one of {plane}"),
    );
    assert_error_after(
        PLANE,
        "disc = { radius = 1.0 }",
        "28:1: one shape has `disc` and `capsule`",
        "keep one, and give each other one its own `[[body.shape]]`",
    );
    assert_error(
        PLANE,
        "radius = 0.05",
        "radius = -0.05",
        "28:36: the radius is -0.05 m",
        "give zero or a positive number",
    );
    assert_error(PLANE, "length = 0.5", "length = 0", "28:22: the length is 0.0 m", "give a positive number");
    assert_error(SPACE, "0.2, 0.1]", "0.0, 0.1]", "24:22: an edge of the box is 0.0 m", "give a positive number");
    assert_error(
        PLANE,
        "normal = [0.0, 1.0]",
        "normal = [3.0, 4.0]",
        "19:25: the normal has length 5.0 and must have length 1",
        "write [0.6, 0.8]",
    );
    assert_error(
        PLANE,
        "normal = [0.0, 1.0]",
        "normal = [0, 0]",
        "19:25: the normal has length 0.0 and must have length 1",
        "write a vector of length 1",
    );
    assert_error(
        PLANE,
        "capsule = { length = 0.5, radius = 0.05 }",
        "half-plane = { normal = [0.0, 1.0] }",
        "28:1: body `rod` of kind `rigid` cannot have a half-plane, which is infinite",
        "make the body `kind = \"static\"` or `kind = \"prescribed\"`, or give it another shape",
    );
    assert_error(
        PLANE,
        "material = \"steel\"\nposition",
        "position",
        "26:1: shape 1 of body `rod` has no material",
        "give `material` to the body or to the shape",
    );
}

#[test]
fn materials_and_pairs() {
    let unknown = "did you mean `steel`? (the materials are `steel`)";
    assert_error(
        PLANE,
        "friction = 0.6",
        "friction = -0.6",
        "12:12: the coefficient of friction is -0.6",
        "give zero or a positive number",
    );
    assert_error(PLANE, "material = \"steel\"", "material = \"steal\"", "17:12: there is no material `steal`", unknown);
    assert_error(
        PLANE,
        "radius = 0.05 }",
        "radius = 0.05 }\nmaterial = \"stel\"",
        "29:12: there is no material `stel`",
        unknown,
    );
    let pair = |materials: &str, friction: &str| format!("[[pair]]\nmaterials = {materials}\nfriction = {friction}");
    assert_error_after(PLANE, &pair("[\"steel\", \"steele\"]", "0.1"), "30:23: there is no material `steele`", unknown);
    assert_error_after(PLANE, &pair("[\"steel\"]", "0.1"), "30:13: 1 given, and two are needed", "name two materials");
    assert_error_after(
        PLANE,
        &pair("[\"steel\", \"steel\", \"steel\"]", "0.1"),
        "30:13: 3 given, and two are needed",
        "name two materials",
    );
    assert_error_after(
        PLANE,
        &pair("[\"steel\", \"steel\"]", "0.1"),
        "30:13: the pair is `steel` twice",
        "the `friction` of a material is its friction against itself; a pair has two different ones",
    );

    let two = changed(PLANE, "[[material]]", "[[material]]\nname = \"wood\"\nfriction = 0.3\n[[material]]");
    let two = changed(&two, "name = \"rod\"\nmaterial = \"steel\"", "name = \"rod\"\nmaterial = \"wood\"");
    assert_error_after(
        &two,
        "",
        "30:1: body `table` of `steel` can touch body `rod` of `wood`, and no friction is given for these materials",
        "add `[[pair]]` with `materials = [\"steel\", \"wood\"]` and `friction`, or choose a rule for all pairs: `[contact]` with \
         `combine = \"geometric-mean\"`",
    );
    assert!(parse(&format!("{two}[contact]\ncombine = \"maximum\"\n"), "x.toml").is_ok());
    assert!(parse(&format!("{two}{}\n", pair("[\"wood\", \"steel\"]", "0.2")), "x.toml").is_ok());
    assert!(parse(&format!("{two}[[ignore]]\nbodies = [\"rod\", \"table\"]\n"), "x.toml").is_ok());
    assert_error_after(
        &two,
        &pair("[\"wood\", \"steel\"]", "-1"),
        "34:12: the coefficient of friction is -1.0",
        "give zero or a positive number",
    );
    assert_error_after(
        &two,
        &format!("{}\n{}", pair("[\"wood\", \"steel\"]", "0.2"), pair("[\"steel\", \"wood\"]", "0.2")),
        "36:13: the friction of `steel` and `wood` is given twice",
        "remove one of the two tables",
    );
    assert_error_after(
        &two,
        "[contact]\ncombine = \"average\"",
        "33:11: `contact`, `combine` cannot be `average`",
        "the choices are `minimum`, `maximum`, `mean` and `geometric-mean`",
    );
}

#[test]
fn pairs_of_shapes_that_cannot_collide() {
    let second = "[[body]]\nname = \"disc\"\nmaterial = \"steel\"\nmass = 1\n[[body.shape]]\ndisc = { radius = 0.1 }";
    let oval = changed(PLANE, "capsule = { length = 0.5, radius = 0.05 }", "ellipse = { semi-axes = [0.2, 0.1] }");
    assert_error_after(
        &oval,
        second,
        "33:1: the ellipse of body `rod` and the disc of body `disc` cannot collide yet",
        "use other shapes (the reference of the scene format lists those that collide), or let the two pass through each other: \
         `[[ignore]]` with `bodies = [\"rod\", \"disc\"]`",
    );
    let ignore = "[[ignore]]\nbodies = [\"rod\", \"disc\"]\n";
    assert!(parse(&format!("{oval}{second}\n{ignore}"), "x.toml").is_ok());
    let groups = "[[ignore]]\ngroups = [\"default\", \"default\"]\n";
    assert!(parse(&format!("{oval}{second}\n{groups}"), "x.toml").is_ok());
}

#[test]
fn forces() {
    let bodies = "did you mean `rod`? (the bodies are `table` and `rod`)";
    assert_error_after(PLANE, "[[force]]\nbody = \"rot\"\nforce = [1, 0]", "30:8: there is no body `rot`", bodies);
    assert_error_after(
        PLANE,
        "[[force]]\nbody = \"table\"\nforce = [1, 0]",
        "30:8: body `table` does not move freely, and forces do not move it",
        "name a body that moves freely",
    );
    assert_error_after(
        PLANE,
        "[[force]]\nbody = \"rod\"",
        "29:1: neither a force nor a torque is given",
        "give `force`, `torque` or both",
    );
    assert_error_after(
        PLANE,
        "[[force]]\nbody = \"rod\"\nforce = [1, 0]\nfrom = 1.0\nuntil = 0.5",
        "33:9: the force ends at 0.5 s and begins at 1.0 s",
        "give an `until` that is later than `from`",
    );
    let point = changed(PLANE, "name = \"rod\"", "name = \"rod\"\nkind = \"point\"");
    let point = changed(&point, "inertia = 0.002\n", "");
    assert_error_after(
        &point,
        "[[force]]\nbody = \"rod\"\ntorque = 1.0",
        "31:10: body `rod` is a point, and has no `torque` other than zero",
        "remove it, or make the body `kind = \"rigid\"`",
    );
}

#[test]
fn dry_friction() {
    let element = |lines: &str| format!("[[dry-friction]]\nname = \"brake\"\nbody = \"rod\"\nbound = 1.0\n{lines}");
    let fails = |lines: &str, display: &str, help: &str| assert_error_after(PLANE, &element(lines), display, help);
    fails(
        "",
        "29:1: dry friction `brake` has no `axes`",
        "give one or two directions of sliding, as in `axes = [[1.0, 0.0]]`",
    );
    fails("axes = [[2.0, 0.0]]", "33:9: the axis has length 2.0 and must have length 1", "write [1.0, 0.0]");
    fails(
        "axes = [[1.0, 0.0], [0.6, 0.8]]",
        "33:8: the two axes make an angle of 53.130102 degrees",
        "give axes at right angles to each other",
    );
    fails("axes = []", "33:8: 0 axes are given", "give one or two");
    fails(
        "rotational = true\naxes = [[1.0, 0.0]]",
        "34:1: a rotation in the plane has no `axes`: it is about z",
        "remove `axes`",
    );
    fails(
        "against = \"rod\"\naxes = [[1.0, 0.0]]",
        "33:11: `rod` is at both ends",
        "name another body, or leave the second one out for the world",
    );
    fails(
        "against = \"tabel\"",
        "33:11: there is no body `tabel`",
        "did you mean `table`? (the bodies are `table` and `rod`)",
    );
    assert_error_after(
        PLANE,
        "[[dry-friction]]\nname = \"brake\"\nbody = \"table\"\nbound = 1.0\naxes = [[1, 0]]",
        "31:8: neither `table` nor the world moves freely",
        "name a body that moves freely",
    );
    assert_error_after(
        PLANE,
        "[[dry-friction]]\nname = \"brake\"\nbody = \"rod\"\nbound = -1.0\naxes = [[1, 0]]",
        "32:9: the bound is -1.0 N",
        "give zero or a positive number",
    );
    assert!(parse(&format!("{PLANE}{}", element("rotational = true\n")), "x.toml").is_ok());
    let space = "[[dry-friction]]\nname = \"brake\"\nbody = \"brick\"\nbound = 1.0\nrotational = true\n";
    assert!(parse(&format!("{SPACE}{space}axes = [[0, 0, 1]]\n"), "x.toml").is_ok());
    assert_error_after(
        SPACE,
        &format!("{space}axes = [[0, 0, 1], [1, 0, 0]]"),
        "30:8: 2 axes are given",
        "give the one axis of the rotation",
    );
}

#[test]
fn springs() {
    let spring = |lines: &str| format!("[[spring]]\nname = \"s\"\n{lines}");
    let fails = |lines: &str, display: &str, help: &str| assert_error_after(PLANE, &spring(lines), display, help);
    let zero = "give zero or a positive number";
    let rod = "bodies = [\"rod\"]";
    fails(&format!("{rod}\nstiffness = -1"), "32:13: the stiffness is -1.0 N/m", zero);
    fails(&format!("{rod}\ndamping = -0.5"), "32:11: the damping is -0.5 N s/m", zero);
    fails(&format!("{rod}\nstiffness = 1\nrest-length = -0.1"), "33:15: the rest length is -0.1 m", zero);
    fails(rod, "29:1: neither stiffness nor damping is given", "give `stiffness`, `damping` or both");
    fails("stiffness = 1", "29:1: `bodies` is missing in spring `s`", "add `bodies = [\"rod\", \"table\"]`");
    fails(
        "bodies = [\"rod\", \"rod\"]\nstiffness = 1",
        "31:18: `rod` is at both ends",
        "name another body, or leave the second one out for the world",
    );
    fails(
        "bodies = [\"rod\", \"tabel\"]\nstiffness = 1",
        "31:18: there is no body `tabel`",
        "did you mean `table`? (the bodies are `table` and `rod`)",
    );
    fails(
        "bodies = [\"table\"]\nstiffness = 1",
        "31:10: neither `table` nor the world moves freely",
        "name a body that moves freely",
    );
    let wall = changed(PLANE, "name = \"rod\"", "name = \"wall\"\nkind = \"static\"");
    let wall = changed(&wall, "mass = 1.0\ninertia = 0.002\n", "");
    assert_error_after(
        &wall,
        &spring("bodies = [\"table\", \"wall\"]\nstiffness = 1"),
        "30:10: neither `table` nor `wall` moves freely",
        "name a body that moves freely",
    );
    fails(
        "bodies = []\nstiffness = 1",
        "31:10: 0 bodies are named, and one or two are possible",
        "name the two bodies, or one that is joined to the world",
    );
    fails(
        &format!("{rod}\nstiffness = 1\naxis = [0, 0]"),
        "33:8: the axis has length 0.0 and must have length 1",
        "write a vector of length 1",
    );
    fails(
        &format!("{rod}\nstiffness = 1\npoints = [[0, 0]]"),
        "33:10: 1 points are given, and two are needed",
        "give the point of the first body and that of the second, or of the world",
    );
    fails(
        &format!("{rod}\nstiffness = 1\npoints = [[0, 0], [1, 2, 3]]"),
        "33:19: a point has 3 numbers, but in the plane it has two, [x, y]",
        "write two, [x, y], or change `dimension`",
    );
    fails(
        &format!("{rod}\nstiffness = 1\npoints = [[0, 0], [0, 1]]"),
        "29:1: the points of spring `s` coincide at the start, and give it no rest length",
        "give `rest-length`; with 0.0 the spring draws the two points together",
    );
    fails(
        &format!("{rod}\nstifness = 1"),
        "32:1: unknown key `stifness` in spring `s`",
        "did you mean `stiffness`? (the keys here are `name`, `bodies`, `points`, `stiffness`, `damping`, `rest-length`, \
         `axis` and `preload`)",
    );
    let twice = spring(&format!("{rod}\nstiffness = 1\n{}", spring(&format!("{rod}\nstiffness = 1"))));
    assert_error_after(
        PLANE,
        &twice,
        "34:8: two springs are named `s`, numbers 1 and 2",
        "give one of them another name",
    );
    let point = changed(PLANE, "name = \"rod\"", "name = \"rod\"\nkind = \"point\"");
    let point = changed(&point, "inertia = 0.002\n", "");
    assert_error_after(
        &point,
        &spring(&format!("{rod}\nstiffness = 1\npoints = [[0.1, 0], [0, 0]]")),
        "33:11: body `rod` is a point, and a spring holds on to it at its origin",
        "give zeros for this point, or make the body `kind = \"rigid\"`",
    );
    assert_error_after(
        &point,
        "[[torsion-spring]]\nname = \"t\"\nbodies = [\"rod\"]\nstiffness = 1",
        "31:11: body `rod` is a point, which does not rotate",
        "name a rigid body, or make this one `kind = \"rigid\"`",
    );
    for accepted in [
        "stiffness = 1\nrest-length = 0.0\npoints = [[0, 0], [0, 1]]",
        "stiffness = 1\nrest-length = -1.0\naxis = [0.6, 0.8]",
        "damping = 1",
    ] {
        parse(&format!("{PLANE}{}\n", spring(&format!("{rod}\n{accepted}"))), "x.toml").unwrap();
    }
}

#[test]
fn torsion_springs() {
    let plane = "[[torsion-spring]]\nname = \"t\"\nbodies = [\"rod\", \"table\"]\n";
    assert_error_after(
        PLANE,
        &format!("{plane}stiffness = 1\naxis = [0, 0, 1]"),
        "33:1: a torsion spring in the plane has no `axis`: it is about z",
        "remove `axis`",
    );
    assert_error_after(
        PLANE,
        &format!("{plane}stiffness = -1"),
        "32:13: the stiffness is -1.0 N m/rad",
        "give zero or a positive number",
    );
    let space = "[[torsion-spring]]\nname = \"t\"\nbodies = [\"brick\"]\nstiffness = 1\n";
    assert_error_after(
        SPACE,
        space.trim_end(),
        "25:1: torsion spring `t` has no `axis`",
        "give the axis of the rotation in axes of the first body, as in `axis = [0.0, 0.0, 1.0]`",
    );
    assert_error_after(
        SPACE,
        &format!("{space}axis = [0, 0, 0]"),
        "29:8: the axis has length 0.0 and must have length 1",
        "write a vector of length 1",
    );
    // Without a rest angle the spring is unloaded at the start, here two turns and a little.
    let turned = changed(PLANE, "mass = 1.0", "angle = 13.0\nmass = 1.0");
    let scene = parse(&format!("{turned}{plane}stiffness = 1\n"), "x.toml").unwrap().into_scene();
    assert!((scene.torsion_springs[0].rest_angle.unwrap() - 13.0).abs() < 1e-14, "{:?}", scene.torsion_springs);
}

/// The length at the start is that at the start of the run, where a prescribed body may be
/// elsewhere than at time 0.
#[test]
fn rest_lengths_are_those_at_the_start_of_the_run() {
    let text = changed(PLANE, "step = 0.01", "step = 0.01\nstart = 0.5");
    let hand = "[[body]]\nname = \"hand\"\nkind = \"prescribed\"\nmotion = { velocity = [2.0, 0.0] }\n";
    let spring = "[[spring]]\nname = \"s\"\nbodies = [\"rod\", \"hand\"]\nstiffness = 1\n";
    let scene = parse(&format!("{text}{hand}{spring}"), "x.toml").unwrap().into_scene();
    // From (1, 0) to (0, 1).
    assert!((scene.springs[0].rest_length.unwrap() - 2f64.sqrt()).abs() < 1e-15);
}

#[test]
fn ignored_pairs() {
    let form = "give `bodies = [\"a\", \"b\"]` or `groups = [\"a\", \"b\"]`";
    let message = "29:1: an `ignore` table names bodies or groups, one of the two";
    assert_error_after(PLANE, "[[ignore]]", message, form);
    assert_error_after(
        PLANE,
        "[[ignore]]\nbodies = [\"rod\", \"table\"]\ngroups = [\"default\", \"default\"]",
        message,
        form,
    );
    assert_error_after(
        PLANE,
        "[[ignore]]\nbodies = [\"rod\"]",
        "30:10: 1 given, and two are needed",
        "name two bodies",
    );
    assert_error_after(
        PLANE,
        "[[ignore]]\nbodies = [\"rod\", \"chair\"]",
        "30:18: there is no body `chair`",
        "the bodies are `table` and `rod`",
    );
    assert_error_after(
        PLANE,
        "[[ignore]]\nbodies = [\"rod\", \"rod\"]",
        "30:10: body `rod` is named twice",
        "name two bodies; a body never collides with itself",
    );
    assert_error_after(
        PLANE,
        "[[ignore]]\ngroups = [\"defualt\", \"default\"]",
        "30:11: no body is in a group `defualt`",
        "did you mean `default`? (the groups are `default`)",
    );
}

#[test]
fn prescribed_motion() {
    let belt = |motion: &str| changed(PLANE, "kind = \"static\"", &format!("kind = \"prescribed\"\nmotion = {motion}"));
    let loaded = parse(
        &belt("{ surface-velocity = [1, 0], oscillation = { amplitude = [0, 0.001], frequency = 50 } }"),
        "x.toml",
    );
    let BodyKind::Prescribed(motion) = kind_of(&loaded.unwrap(), 0) else { panic!("it is prescribed") };
    assert_eq!((motion.surface_velocity.x, motion.oscillations[0].frequency), (1.0, 50.0));
    let error = fails(&belt("{ oscillation = { amplitude = [0, 0.001], frequency = -50 } }"));
    assert_eq!(error.to_string(), "x.toml:17:64: the frequency is -50.0 Hz");
    let error = fails(&belt("{ velocity = [1] }"));
    assert_eq!(error.to_string(), "x.toml:17:23: velocity has 1 number, but in the plane it has two, [x, y]");
}

#[test]
fn damaged_files_are_errors_inside_the_text() {
    let check = |text: &str| {
        if let Err(error) = parse(text, "x.toml") {
            let SceneError::Text(error) = error else { panic!("{error}") };
            let line = text.split('\n').nth(error.line - 1).unwrap_or_else(|| panic!("{error}\n{text}"));
            assert!(error.column <= line.chars().count() + 1, "{error}\n{text}");
            assert!(!error.help.is_empty() && !error.message.is_empty(), "{error}");
        }
    };
    for text in [PLANE, SPACE, include_str!("cases/carts.toml")] {
        for (position, _) in text.char_indices() {
            check(&text[..position]);
            check(&format!("{}{}", &text[..position], &text[position + 1..]));
            for inserted in ["é", "9", "\n", "\"", "[", "nan"] {
                check(&format!("{}{inserted}{}", &text[..position], &text[position..]));
            }
        }
        check(&text.replace('\n', "\r\n"));
        assert!(parse(&text.replace('\n', "\r\n"), "x.toml").is_ok());
        assert!(parse(&format!("\u{feff}{text}"), "x.toml").is_ok(), "a byte order mark");
    }
}

// ------------------------------------------------------------------------------------------------
// finding and changing

#[test]
fn files_come_before_built_in_scenes_and_unknown_ones_are_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, PLANE).unwrap();
    let loaded = load(path.to_str().unwrap(), &[]).unwrap();
    assert_eq!((loaded.scene().name.as_str(), loaded.document().text()), ("test", PLANE));
    assert_eq!(loaded.document().name(), path.to_str().unwrap());
    assert_eq!(load("rod", &[]).unwrap().document().name(), "scenes/rod.toml");

    let error = load("slidingblock", &[]).unwrap_err();
    assert!(!error.is_io());
    assert_eq!(error.to_string(), "there is no file and no built-in scene `slidingblock`");
    assert!(
        error.remedy().starts_with("check the path; did you mean `sliding-block`? (the built-in scenes are `rod`,"),
        "{}",
        error.remedy()
    );
    let error = load("scenes/rood.toml", &[]).unwrap_err();
    assert!(error.remedy().contains("did you mean `rod`?"), "{}", error.remedy());
    let error = load(folder.path().to_str().unwrap(), &[]).unwrap_err();
    assert!(error.is_io() && error.to_string().starts_with("cannot read"), "{error}");
    std::fs::write(&path, b"name = \"\xff\"").unwrap();
    let error = load(path.to_str().unwrap(), &[]).unwrap_err();
    assert!(!error.is_io() && error.to_string().contains("UTF-8"), "{error}");
}

#[test]
fn overrides_change_the_scene_and_are_blamed_for_their_mistakes() {
    let loaded = built_in(
        "rod",
        &["run.step=1e-4", "material.steel.friction=0.3", "method.pyramid.directions=32", "body.rod.velocity=[1,0]"],
    );
    assert_eq!(loaded.scene().run.step, 1e-4);
    assert_eq!(loaded.scene().materials[0].friction, 0.3);
    assert_eq!(loaded.scene().bodies[1].velocity, Some(vec![1.0, 0.0]));
    assert_eq!(loaded.document().edits().len(), 4);
    assert_eq!(loaded.document().text(), builtin::all()[0].text, "the text stays");

    let blamed = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
        let error = parse_with(PLANE, "x.toml", &overrides).unwrap_err();
        format!("{error} | {}", error.remedy())
    };
    assert_eq!(blamed(&["run.end=2", "run.step=0"]), "--set run.step=0: the step is 0.0 s | give a positive number");
    assert_eq!(
        blamed(&["run.setp=0.1", "run.end=2"]),
        "--set run.setp=0.1: unknown key `setp` in `run` | did you mean `step`? (the keys here are `step`, `end`, `start`, `deepest-overlap` and `consistent-start`)"
    );
    assert_eq!(
        blamed(&["run.step=fast"]),
        "--set run.step=fast: `run`, `step` is the text \"fast\", and must be a number | write a number"
    );
    assert_eq!(
        blamed(&["body.rod.mass=nan"]),
        "--set body.rod.mass=nan: body `rod`, `mass` is nan | give a finite number"
    );
    assert!(
        blamed(&["body.rot.mass=1"])
            .starts_with("--set body.rot.mass=1: `body` has no element named `rot` | did you mean `rod`?")
    );

    // What is right in the file and contradicts an override is the mistake of the override.
    let text = changed(PLANE, "friction = 0.6", "friction = 0.6\nrestitution = 0.5");
    let text = format!("{text}[scheme.moreau-midpoint]\n");
    parse(&text, "x.toml").unwrap();
    let error = parse_with(&text, "x.toml", &["scheme.implicit-ncp={}".to_owned()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set scheme.implicit-ncp={}: `restitution` is 0.5, but the impacts of the scheme `implicit-ncp` are inelastic"
    );

    // A mistake of the file stays at its line in the file, whatever was added above it.
    let text = changed(PLANE, "mass = 1.0", "mass = -1.0");
    let error = parse_with(&text, "x.toml", &["title=hello".to_owned(), "run.start=0.1".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "x.toml:25:8: the mass is -1.0 kg");
    let error = parse_with("name = \n", "x.toml", &["run.step=1".to_owned()]).unwrap_err();
    assert!(error.to_string().starts_with("x.toml:1:"), "{error}");
    // And what the file lacks, an override may bring.
    let text = changed(PLANE, "step = 0.01\n", "");
    assert_eq!(parse_with(&text, "x.toml", &["run.step=0.5".to_owned()]).unwrap().scene().run.step, 0.5);
}

#[test]
fn changed_scenes_are_checked_again() {
    let mut scene = parse(PLANE, "x.toml").unwrap().into_scene();
    scene.run.step = 0.25;
    assert_eq!(scene.simulation().unwrap().grid().step_count(), 4);
    scene.bodies[1].mass = Some(f64::NAN);
    let error = scene.simulation().err().expect("nan is no mass").to_string();
    assert_eq!(error, "scene `test`: `body[1].mass`: body `rod`, `mass` is nan");
    // By the rules of scene files, and from there on as well.
    let refused = |change: fn(&mut Scene)| {
        let mut scene = parse(PLANE, "x.toml").unwrap().into_scene();
        change(&mut scene);
        let error = scene.check().unwrap_err();
        format!("{error} | {}", error.remedy())
    };
    assert_eq!(
        refused(|scene| scene.bodies[1].mass = Some(-1.0)),
        "scene `test`: `body[1].mass`: the mass is -1.0 kg | give a positive number"
    );
    assert_eq!(
        refused(|scene| scene.materials[0].restitution = 0.5).split(" | ").next(),
        Some(
            "scene `test`: `material[0].restitution`: `restitution` is 0.5, but the impacts of the scheme \
             `stewart-trinkle` are inelastic"
        )
    );
}

#[test]
fn reports_show_the_line() {
    let error = fails(&changed(PLANE, "friction = 0.6", "friction = -0.6"));
    let mut report = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .render_report(&mut report, &error)
        .unwrap();
    for piece in
        ["x.toml:12:12: the coefficient of friction is -0.6", "12 │ friction = -0.6", "here", "help: give zero or"]
    {
        assert!(report.contains(piece), "`{piece}` is not in\n{report}");
    }
}

// -------------------------------------------------------------------------------------------------------------
// the schema

/// Enough of JSON Schema to judge a scene: what the schema generator writes, and a panic at
/// anything else.
fn validate(
    schema: &serde_json::Value,
    root: &serde_json::Value,
    value: &serde_json::Value,
    place: &str,
) -> Result<(), String> {
    use serde_json::Value;
    let Value::Object(rules) = schema else {
        return if schema == &Value::Bool(false) { Err(format!("{place} is not allowed")) } else { Ok(()) };
    };
    for (rule, argument) in rules {
        match rule.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => {}
            "$ref" => {
                let pointer = argument.as_str().unwrap().strip_prefix('#').unwrap();
                validate(root.pointer(pointer).unwrap(), root, value, place)?;
            }
            "anyOf" | "oneOf" => {
                let results = argument.as_array().unwrap().iter().map(|schema| validate(schema, root, value, place));
                let fitting = results.filter(Result::is_ok).count();
                if fitting == 0 || (rule == "oneOf" && fitting > 1) {
                    return Err(format!("{place} fits {fitting} of {rule}"));
                }
            }
            "type" => {
                let fits = |name: &Value| match name.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "number" => value.is_number(),
                    "integer" => value.is_i64() || value.is_u64(),
                    other => panic!("type {other}"),
                };
                let is_type = argument.as_array().map_or_else(|| fits(argument), |names| names.iter().any(fits));
                if !is_type {
                    return Err(format!("{place} is not of type {argument}"));
                }
            }
            "const" if value != argument => return Err(format!("{place} is not {argument}")),
            "enum" if !argument.as_array().unwrap().contains(value) => {
                return Err(format!("{place} is not in {argument}"));
            }
            "const" | "enum" => {}
            "properties" => {
                for (key, schema) in argument.as_object().unwrap() {
                    if let Some(inner) = value.get(key) {
                        validate(schema, root, inner, &format!("{place}.{key}"))?;
                    }
                }
            }
            "additionalProperties" => {
                assert_eq!(argument, &Value::Bool(false));
                let known = rules.get("properties").and_then(Value::as_object);
                for key in value.as_object().into_iter().flat_map(|object| object.keys()) {
                    if !known.is_some_and(|known| known.contains_key(key)) {
                        return Err(format!("{place} has an unknown key {key}"));
                    }
                }
            }
            "required" => {
                for key in argument.as_array().unwrap() {
                    if value.is_object() && value.get(key.as_str().unwrap()).is_none() {
                        return Err(format!("{place} has no {key}"));
                    }
                }
            }
            "items" => {
                for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
                    validate(argument, root, inner, &format!("{place}[{index}]"))?;
                }
            }
            "minItems" | "maxItems" => {
                let count = value.as_array().map_or(0, Vec::len) as u64;
                let limit = argument.as_u64().unwrap();
                let is_wrong = if rule == "minItems" { count < limit } else { count > limit };
                if value.is_array() && is_wrong {
                    return Err(format!("{place} has {count} items, {rule} is {limit}"));
                }
            }
            "minimum" if value.as_f64().is_some_and(|number| number < argument.as_f64().unwrap()) => {
                return Err(format!("{place} is below {argument}"));
            }
            "maximum" if value.as_f64().is_some_and(|number| number > argument.as_f64().unwrap()) => {
                return Err(format!("{place} is above {argument}"));
            }
            "minimum" | "maximum" => {}
            "multipleOf" => {
                if value.as_u64().is_some_and(|number| number % argument.as_u64().unwrap() != 0) {
                    return Err(format!("{place} is not a multiple of {argument}"));
                }
            }
            other => panic!("the schema has a rule `{other}` that this test does not know, at {place}"),
        }
    }
    Ok(())
}

fn as_json(text: &str) -> serde_json::Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

#[test]
fn every_scene_fits_the_schema_and_mistakes_do_not() {
    let schema = Scene::schema();
    let check = |text: &str| validate(&schema, &schema, &as_json(text), "scene");
    for text in builtin::all().iter().map(|scene| scene.text).chain([PLANE, SPACE, &template("new")]) {
        check(text).unwrap();
        check(&parse(text, "x.toml").unwrap().scene().to_toml()).unwrap();
    }
    for (from, to) in [
        ("format = 1\n", ""),
        ("format = 1\n", "format = 2\n"),
        ("mass = 1.0", "mass = \"1\""),
        ("mass = 1.0", "weight = 1.0"),
        ("friction = 0.6", "friction = -0.6"),
        ("\"plane\"", "\"plain\""),
        ("[0.0, -9.81]", "[0.0]"),
        ("inertia = 0.002", "inertia = [1.0]"),
        ("radius = 0.05", "radius = true"),
        ("[run]", "[method.pyramid]\ndirections = 7\n[run]"),
        ("[run]", "[scheme.moreau]\n[run]"),
        ("gravity = [0.0, -9.81]\n", ""),
        ("[run]", "[system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\n[run]"),
    ] {
        assert!(check(&changed(PLANE, from, to)).is_err(), "{to}");
    }
}

/// The names of all properties in a schema.
fn property_names(schema: &serde_json::Value, names: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(rules) => {
            for (rule, argument) in rules {
                if rule == "properties" {
                    names.extend(argument.as_object().unwrap().keys().cloned());
                }
                property_names(argument, names);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|schema| property_names(schema, names)),
        _ => {}
    }
}

#[test]
fn schema_and_reference_page_know_every_key() {
    let mut names = BTreeSet::new();
    property_names(&Scene::schema(), &mut names);
    let page = include_str!("../../../docs/scene-format.md");
    let keys = "format name title description dimension gravity run step end start deepest-overlap consistent-start overlap-recovery scheme stewart-trinkle version rule \
                position-tolerance linearization linearization-limit activation-gap implicit-ncp restart-limit event-driven event-limit event-tolerance closing-speed moreau-midpoint theta gap-tolerance stabilize-joints implicit trapezoidal paper jacobians stabilize locate-stops iterate iteration-tolerance iteration-limit rest-speed still-speed impact-order restitution-friction method cone tolerance sweep-limit newton-limit interior-limit pyramid directions warm-start planar-relay spatial-relay alternating phantom-inertia lines rho lemke residual-tolerance pivot-tolerance \
                tie-tolerance weak-pivot pivots-per-unknown paths work-limit record interval columns contact combine material friction static-friction restitution impact-law tangential-restitution torsion-radius torsion grain direction friction-axes friction-directions friction-half-spaces pair materials \
                body kind position angle angle-degrees orientation velocity angular-velocity mass inertia density group motion \
                surface-velocity oscillation amplitude frequency phase shape half-plane half-space disc sphere capsule box \
                ring cavity cylinder tube ellipse ellipsoid semi-axes \
                closing-time \
                normal offset radius length size force torque point axes from until dry-friction against rotational bound bound-backwards static-bound clutch pre-stressed-spring preload \
                ignore bodies groups system coordinates units damping stiffness gap normal-drift tangents tangent-drift \
                joint value row drift \
                assemble fixed ball revolute prismatic cylindrical universal planar distance collide \
                anchor anchors axis frames zero limits lower upper motor drive rate \
                allow-outside cone height hull mesh height-field heights decompose pieces concavity resolution polygon polyline closed \
                file unit scale part centred repair copies count spacing stagger \
                spring torsion-spring points rest-length rest-angle";
    let keys: BTreeSet<String> = keys.split_whitespace().map(str::to_owned).collect();
    assert_eq!(names, keys);
    for key in keys {
        assert!(page.contains(&format!("`{key}`")), "the reference page does not explain `{key}`");
    }
}

/// Every TOML example of the reference page is read as it stands, after what it needs.
#[test]
fn examples_of_the_reference_page_are_correct() {
    let page = include_str!("../../../docs/scene-format.md");
    let examples: Vec<&str> = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 10);
    for example in examples {
        let table: toml::Table = toml::from_str(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        if table.contains_key("format") {
            parse(example, "example.toml").unwrap_or_else(|error| panic!("{error}\n{example}"));
        }
        // The keys of a piece are checked by reading it into a whole scene.
        let mut whole: toml::Table = toml::from_str(PLANE).unwrap();
        for (key, value) in table {
            whole.insert(key, value);
        }
        let text = toml::to_string(&whole).unwrap();
        toml::from_str::<Scene>(&text).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

#[test]
fn the_angle_at_the_start_keeps_its_turns() {
    for angle in [10.0, -7.5, 3.0, 0.5] {
        let rod = load("rod", &["body.rod.angle-degrees=0.0".into()]).unwrap();
        let text = rod.scene().to_toml().replace("angle-degrees = 0.0", &format!("angle = {angle:?}"));
        let loaded = parse(&text, "turned.toml").unwrap();
        let state = loaded.start();
        assert!((state.q[2] - angle).abs() < 1e-14, "{} for {angle}", state.q[2]);
    }
}

#[test]
fn friction_sets_of_pairs_are_checked() {
    let scene = |pair: &str, method: &str| {
        let text = format!(
            r#"
format = 1
name = "grain"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = {{ step = 0.01, end = 0.1 }}
method = {{ {method} = {{}} }}
material = [{{ name = "wood", friction = 0.3 }}, {{ name = "steel", friction = 0.2 }}]
pair = [{{ materials = ["wood", "steel"], friction = 0.3, {pair} }}]
"#
        );
        parse(&text, "grain.toml").map(|_| ()).map_err(|error| error.to_string())
    };
    let grain = "grain = { material = \"wood\", direction = [1.0, 0.0, 0.0] }";
    scene(&format!("{grain}, friction-axes = [1.0, 0.5]"), "cone").unwrap();
    scene("torsion-radius = 0.01, torsion = \"separate\"", "pyramid").unwrap();
    scene("friction-half-spaces = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 5], [0, 0, -5]]", "pyramid")
        .unwrap();
    for (pair, method, message) in [
        ("friction-axes = [1.0, 0.5]".to_owned(), "cone", "need a direction that is fixed in one of the bodies"),
        (format!("{grain}, friction-axes = [1.0, -0.5]"), "cone", "`friction-axes` is [1.0, -0.5]"),
        (grain.replace("wood", "ice"), "cone", "ice"),
        (grain.replace("1.0", "0.0"), "cone", "the direction of the grain is [0.0, 0.0, 0.0]"),
        ("friction-directions = [[1, 0, 0]]".to_owned(), "cone", "the method `cone` treats round friction sets"),
        ("friction-directions = [[1, 0]]".to_owned(), "pyramid", "row 1 of `friction-directions` has 2 numbers"),
        ("friction-half-spaces = [[1, 0, 0]]".to_owned(), "pyramid", "do not bound the friction"),
        ("torsion-radius = 0.01".to_owned(), "phantom-inertia", "treats Coulomb's circle only"),
    ] {
        let error = scene(&pair, method).unwrap_err();
        assert!(error.contains(message), "{pair}: {error}");
    }
}

#[test]
fn a_flag_that_is_watched_stops_a_run_inside_its_steps() {
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let home = tempfile::tempdir().unwrap();
    let loaded = stiction_scene::load::load("rod", &[]).unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let _watch = stiction_solve::work::watch(&flag);
    // The observer is asked between steps and never stops; it sets the flag as a signal would.
    let mut observer = |_: &stiction_scene::run::Progress| {
        flag.store(true, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let overrides = ["run.step=1e-5".to_owned()];
    let long = stiction_scene::load::load("rod", &overrides).unwrap();
    let finished =
        stiction_scene::run::run(&long, &home.path().join("run"), &Default::default(), &mut observer).unwrap();
    assert_eq!(finished.summary.outcome, stiction_scene::summary::Outcome::Interrupted);
    assert!(finished.summary.steps < 100_000 && finished.failure.is_none());
    // And from the start, where not one step is made.
    flag.store(true, Ordering::Relaxed);
    let stopped =
        stiction_scene::run::run(&loaded, &home.path().join("other"), &Default::default(), &mut observer).unwrap();
    assert_eq!((stopped.summary.steps, stopped.summary.message.as_deref()), (0, Some("stopped at t = 0 s")));
    assert!(stopped.folder.join("states.parquet").is_file());
}

//! Scenes by every scheme and method, against closed forms, and what is said when one cannot treat
//! a law.

use stiction_scene::{load, parse};

fn run(scene: &str, overrides: &[&str]) -> stiction_dynamics::Simulation {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let mut simulation = load(scene, &overrides).unwrap().simulation();
    simulation.run().unwrap();
    simulation
}

#[test]
fn bouncing_ball_is_at_rest_when_its_bounces_are_over() {
    for (e, rest) in [("0.8", 4.063713), ("0.5", 1.354571)] {
        let overrides = [format!("material.rubber.restitution={e}"), "run.step=1e-4".to_owned()];
        let mut simulation = load("bouncing-ball", &overrides).unwrap().simulation();
        let mut last_move = 0.0;
        let mut apex = 0.0f64;
        simulation
            .run_with(|s| {
                // Faster than what gravity gives within two steps: still bouncing.
                if s.state().v[1].abs() > 2.0 * 9.81 * 1e-4 {
                    last_move = s.state().t;
                }
                if (0.46..1.1).contains(&s.state().t) {
                    apex = apex.max(s.state().q[1] - 0.1);
                }
            })
            .unwrap();
        assert!((last_move - rest).abs() < 0.05, "e = {e}: at rest after {last_move}, and not {rest}");
        let e: f64 = e.parse().unwrap();
        assert!((apex - e * e).abs() < 2e-3, "e = {e}: first apex {apex}");
        let state = simulation.state();
        assert!(state.v.iter().all(|v| v.abs() < 1e-12), "{state:?}");
        assert!((state.q[1] - 0.1).abs() < 1e-3, "{state:?}");
    }
}

#[test]
fn cradle_follows_the_simultaneous_law() {
    // n = 4 balls at rest: the first goes back with (1 - n)/(1 + n), the others leave with 2/(1 +
    // n).
    let simulation = run("newton-cradle", &[]);
    let v = &simulation.state().v;
    assert!((v[0] + 0.6).abs() < 1e-14, "{v:?}");
    assert!((1..5).all(|ball| (v[3 * ball] - 0.4).abs() < 1e-14), "{v:?}");
    // Inelastic: all go on together.
    let simulation = run("newton-cradle", &["material.steel.restitution=0"]);
    let v = &simulation.state().v;
    assert!((0..5).all(|ball| (v[3 * ball] - 0.2).abs() < 1e-14), "{v:?}");
}

#[test]
fn superball_leaves_the_floor_with_reversed_slip() {
    // Before the first bounce: slip s = v_x + r ω at the floor; after it -e_T s, and the momenta
    // about the contact stay.
    let simulation = run("superball", &["run.end=0.5"]);
    let (m, r, inertia, e_t) = (0.1, 0.03, 3.6e-5, 0.8);
    let (vx, omega) = (0.6, 20.0);
    let effective = 1.0 / (1.0 / m + r * r / inertia);
    let impulse = -(1.0 + e_t) * (vx + r * omega) * effective;
    let v = &simulation.state().v;
    assert!((v[0] - (vx + impulse / m)).abs() < 1e-12, "{v:?}");
    assert!((v[2] - (omega + r * impulse / inertia)).abs() < 1e-10, "{v:?}");
}

#[test]
fn midpoint_rule_agrees_with_the_other_scheme_on_a_slide() {
    // No impact, no curvature: both stop the block at the same place up to the order of the step.
    let moreau = run("sliding-block", &["scheme={moreau-midpoint={}}"]);
    let stewart_trinkle = run("sliding-block", &[]);
    assert!((moreau.state().q[0] - stewart_trinkle.state().q[0]).abs() < 1e-2);
    assert!((moreau.state().q[0] - 3.669725).abs() < 1e-4, "{}", moreau.state().q[0]);
    assert!(moreau.state().v.iter().all(|v| v.abs() < 1e-12), "{:?}", moreau.state().v);
}

#[test]
fn restitution_out_of_range_or_out_of_reach_is_refused() {
    let scene = |scheme: &str, material: &str| {
        format!(
            "format = 1\nname = \"x\"\ndimension = \"plane\"\ngravity = [0.0, -9.81]\nrun = {{ step = 0.1, end = 1.0 }}\n\
             {scheme}[[material]]\nname = \"steel\"\nfriction = 0.3\n{material}\n"
        )
    };
    let moreau = "[scheme.moreau-midpoint]\n";
    for (text, parts) in [
        (scene(moreau, "restitution = 1.2"), ["the coefficient of restitution is 1.2", "give a number from 0 to 1"]),
        (scene(moreau, "restitution = -0.1"), ["the coefficient of restitution is -0.1", "give a number from 0 to 1"]),
        (
            scene(moreau, "tangential-restitution = 2.0"),
            ["the coefficient of tangential restitution is 2.0", "give a number from 0 to 1"],
        ),
        (
            scene("", "restitution = 0.5"),
            [
                "the impacts of the scheme `stewart-trinkle` are inelastic",
                "a scheme with restitution, `moreau-midpoint`",
            ],
        ),
        (scene("[scheme.moreau-midpoint]\ntheta = 1.5\n", ""), ["`theta` is 1.5", "give a number from 0 to 1"]),
        (
            scene("[scheme.moreau-midpoint]\ngap-tolerance = -1.0\n", ""),
            ["the gap tolerance is -1.0 m", "give zero or a positive number"],
        ),
    ] {
        let error = parse(&text, "x.toml").unwrap_err();
        let message = format!("{error:?} {error}");
        for part in parts {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn methods_agree_in_the_plane() {
    // The rod of the paper over its two impacts: one law, four problems.
    let states = ["{pyramid={}}", "{planar-relay={}}", "{spatial-relay={}}", "{phantom-inertia={}}"]
        .map(|method| run("rod", &[&format!("method={method}"), "run.end=0.7"]).state().clone());
    for other in &states[1..] {
        let pairs = states[0].q.iter().chain(&states[0].v).zip(other.q.iter().chain(&other.v));
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-10), "{:?} {other:?}", states[0]);
    }
}

#[test]
fn relays_in_space_are_the_pyramid_in_every_scheme() {
    // A ball thrown at three others: the same polygon by two complementarity problems. Forces of a
    // resting ball are not unique, so motions are compared, over the throw.
    for scheme in ["stewart-trinkle", "moreau-midpoint", "trapezoidal", "implicit-ncp"] {
        let states = ["{pyramid={directions=6}}", "{spatial-relay={directions=6}}"].map(|method| {
            let changes =
                [&format!("scheme={{{scheme}={{}}}}"), &format!("method={method}"), "run.end=0.55", "run.step=0.01"];
            run("four-balls", &changes).state().clone()
        });
        let pairs = states[0].q.iter().chain(&states[0].v).zip(states[1].q.iter().chain(&states[1].v));
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-8), "{scheme}: {states:?}");
    }
}

#[test]
fn an_alternation_follows_a_ball_from_sliding_to_rolling() {
    // One contact whose friction does not change its load: every round is exact.
    let states = ["{cone={}}", "{alternating={}}"]
        .map(|method| run("slide-to-roll", &[&format!("method={method}")]).state().clone());
    let pairs = states[0].q.iter().chain(&states[0].v).zip(states[1].q.iter().chain(&states[1].v));
    assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-9), "{states:?}");
}

#[test]
fn phantom_inertia_holds_a_block_that_the_pyramid_holds() {
    // At 99 % of the friction limit; the outer polygon holds more, never less. Another value of ρ
    // gives the same rest.
    for overrides in [&["method={phantom-inertia={}}"][..], &["method={phantom-inertia={rho=0.3, lines=6}}"]] {
        let simulation = run("incline", overrides);
        assert!(simulation.state().v.iter().all(|v| v.abs() < 1e-10), "{:?}", simulation.state().v);
    }
}

#[test]
fn settings_that_a_method_cannot_use_are_refused() {
    let method = |dimension: &str, gravity: &str, method: &str| {
        format!(
            "format = 1\nname = \"x\"\ndimension = \"{dimension}\"\ngravity = {gravity}\nrun = {{ step = 0.1, end = 1.0 }}\n{method}"
        )
    };
    let plane = |text: &str| method("plane", "[0.0, -9.81]", text);
    for (text, parts) in [
        (
            method("space", "[0.0, 0.0, -9.81]", "[method.phantom-inertia]\nrho = 0.0\n"),
            ["4 lines in the tangent plane, which depend on each other", "with 2 lines `rho` may be 0"],
        ),
        (plane("[method.phantom-inertia]\nrho = -1.0\n"), ["x.toml:7", "-1"]),
        (plane("[method.phantom-inertia]\nlines = 1\n"), ["x.toml:7", "give at least 2"]),
        (
            method("space", "[0.0, 0.0, -9.81]", "[method.planar-relay]\n"),
            ["treats contacts in the plane, and this scene is in space", "choose `cone`, `pyramid`, `spatial-relay`"],
        ),
        (plane("[method.spatial-relay]\ndirections = 7\n"), ["x.toml:7", "give an even number from 4 to 1000"]),
        (plane("[method.alternating]\ntolerance = 0.0\n"), ["x.toml:7", "the tolerance is 0.0"]),
        (plane("[method.alternating]\niteration-limit = 0\n"), ["x.toml:7", "the limit of rounds is 0"]),
        (
            method(
                "space",
                "[0.0, 0.0, -9.81]",
                "[method.spatial-relay]\n[[material]]\nname = \"m\"\nfriction = 0.1\ntorsion-radius = 0.1\n",
            ),
            ["no sum of relays", "torsion = \\\"separate\\\""],
        ),
    ] {
        let error = parse(&text, "x.toml").unwrap_err();
        let message = format!("{error} {error:?}");
        for part in parts {
            assert!(message.contains(part), "`{part}` is missing in {message}");
        }
    }
    // What a setting's own type refuses has its remedy, too.
    for (setting, remedy) in
        [("rho = -1.0", "leave it out to have it chosen"), ("lines = 1", "give at least 2, such as lines = 4")]
    {
        let error = parse(&plane(&format!("[method.phantom-inertia]\n{setting}\n")), "x.toml").unwrap_err();
        assert_eq!(error.remedy(), remedy);
        assert!(!error.to_string().contains(remedy), "{error} says it twice");
    }
}

#[test]
fn lines_and_phantom_inertia_of_contacts_are_read_and_checked() {
    let scene = |dimension: &str, gravity: &str, method: &str, own: &str| {
        let text = format!(
            "format = 1\nname = \"x\"\ndimension = \"{dimension}\"\ngravity = {gravity}\nrun = {{ step = 0.01, end = 0.1 }}\n\
             contact = {{ combine = \"mean\" }}\n[method.{method}]\n[[material]]\nname = \"a\"\nfriction = 0.5\n{own}\n"
        );
        parse(&text, "x.toml")
    };
    let space = |method: &str, own: &str| scene("space", "[0.0, 0.0, -9.81]", method, own);
    let plane = |method: &str, own: &str| scene("plane", "[0.0, -9.81]", method, own);
    space("phantom-inertia", "phantom-inertia = { lines = 2, rho = 0.0 }").unwrap();
    plane("phantom-inertia", "phantom-inertia = { rho = 0.0 }").unwrap();
    for (found, parts) in [
        (space("phantom-inertia", "phantom-inertia = { rho = 0.0 }"), ["x.toml:11", "4 lines in the tangent plane"]),
        (space("phantom-inertia", "phantom-inertia = { lines = 1 }"), ["x.toml:11", "give at least 2"]),
        (space("phantom-inertia", "phantom-inertia = { rho = -1.0 }"), ["x.toml:11", "rho is -1"]),
        (space("cone", "phantom-inertia = { lines = 3 }"), ["x.toml:11", "choose `[method.phantom-inertia]`"]),
        (
            plane("phantom-inertia", "phantom-inertia = { lines = 3 }"),
            ["x.toml:11", "along one tangent friction is exact"],
        ),
    ] {
        let error = found.unwrap_err();
        let message = format!("{error} {error:?}");
        for part in parts {
            assert!(message.contains(part), "`{part}` is missing in {message}");
        }
    }
    // A particle on two rough planes of a system of matrices: each with its own polygon.
    let system = |method: &str, own: &str| {
        let text = format!(
            "format = 1\nname = \"x\"\nrun = {{ step = 0.01, end = 0.2 }}\n{method}\n[system]\ncoordinates = [\"x\", \"y\", \"z\"]\n\
             mass = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]\nforce = [9.0, 7.0, -19.62]\n\
             [[system.contact]]\nname = \"floor\"\ngap = 0.0\nnormal = [0.0, 0.0, 1.0]\n\
             tangents = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]\nfriction = 0.5\n{own}\n"
        );
        parse(&text, "x.toml")
    };
    let end = |method: &str, own: &str| {
        let mut simulation = system(method, own).unwrap().simulation();
        simulation.run().unwrap().v.clone()
    };
    // Case A of four lines, as an acceleration over 0.2 s; two lines hold it.
    let octagon = end("[method.phantom-inertia]\nlines = 2", "phantom-inertia = { lines = 4, rho = 0.3 }");
    assert!((octagon[0] - 0.2 * 0.53164123828).abs() < 1e-10 && (octagon[1] - octagon[0]).abs() < 1e-12, "{octagon:?}");
    for rho in ["", "\nrho = 0.0"] {
        let square = end(&format!("[method.phantom-inertia]\nlines = 2{rho}"), "");
        assert!(square.iter().all(|v| v.abs() < 1e-12), "{square:?}");
    }
    let error = system("[method.phantom-inertia]\nrho = 0.0", "").err().unwrap();
    assert!(format!("{error} {error:?}").contains("set `lines = 2`"), "{error:?}");
}

#[test]
fn impacts_that_accumulate_are_over_in_time() {
    // The four balls under the scheme that locates impacts: a ball between table and neighbour hits
    // both in turn, ever faster.
    let mut longest = 0;
    let mut impacts = 0;
    let mut simulation =
        load("four-balls", &["scheme={trapezoidal={}}".into(), "run.end=0.65".into()]).unwrap().simulation();
    let mut steps = 0;
    while !simulation.is_finished() {
        simulation.step().unwrap();
        impacts = if simulation.steps_done() > steps { 0 } else { impacts + 1 };
        steps = simulation.steps_done();
        longest = longest.max(impacts);
    }
    assert!(longest < 500, "{longest} events in one step");
}

#[test]
fn rows_from_the_start_the_mean_and_the_end_brake_a_bead_in_a_ring_by_their_share() {
    // [ST96] remark 4 with the fixed point of §3.6: without gravity, the speed falls by 1 - θ α²
    // per step of the turn α = v h/r.
    let speed = |linearization: &str| {
        let overrides = [
            "scheme.stewart-trinkle.version=\"fixed-point\"",
            &format!("scheme.stewart-trinkle.linearization={linearization:?}"),
            "gravity=[0.0,0.0]",
            "run.step=0.01",
            "run.end=1.0",
        ];
        let simulation = run("bead-in-ring", &overrides);
        let (q, v) = (&simulation.state().q, &simulation.state().v);
        assert!((q[0].hypot(q[1]) - 1.0).abs() < 1e-10, "{q:?}");
        v[0].hypot(v[1])
    };
    let [start, mean, end] = ["start", "mean", "end"].map(speed);
    // The first chord leaves the tangent: v cos(α/2) for each; then nothing, or dv/dt = -θ v³ h: v
    // = 2/√(1 + 8 θ h t).
    for (theta, found) in [(0.0, start), (0.5, mean), (1.0, end)] {
        let expected = 2.0 / f64::sqrt(1.0 + 8.0 * theta * 0.01);
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
}

#[test]
fn scenes_with_joints_and_contacts_run_with_rows_from_the_start_and_the_mean() {
    // A linkage with redundant rows among them.
    for scene in ["bricard", "andrews", "belt", "rod", "four-balls"] {
        for linearization in ["start", "mean"] {
            for version in ["linear", "fixed-point"] {
                let overrides = [
                    format!("scheme={{stewart-trinkle={{version={version:?},linearization={linearization:?}}}}}"),
                    "run.end=0.02".to_owned(),
                ];
                let mut simulation = load(scene, &overrides).unwrap().simulation();
                let mut audit = stiction_dynamics::Audit::default();
                let observe = |s: &stiction_dynamics::Simulation| {
                    audit.observe(s.system(), s.before(), s.last_step());
                };
                simulation.run_with(observe).unwrap_or_else(|error| panic!("{scene} {overrides:?}: {error}"));
                let worst = audit.worst;
                assert!(worst.residual < 1e-10 && worst.momentum < 1e-9, "{scene} {overrides:?}: {worst:?}");
                assert!(audit.unconverged_count == 0, "{scene} {overrides:?}: {}", audit.unconverged_count);
                let drift = if version == "linear" { 1e-3 } else { 1e-10 };
                assert!(worst.joint_drift < drift, "{scene} {overrides:?}: {worst:?}");
            }
        }
    }
}

#[test]
fn equal_coefficients_of_friction_are_one() {
    // What is asked of the system goes through the choice of a coefficient, and comes out the same
    // to the last bit.
    for (scene, end) in [("rod", "0.7"), ("incline", "0.1"), ("four-bar-clearance", "0.05"), ("woodpecker", "0.1")] {
        for scheme in ["stewart-trinkle", "moreau-midpoint", "trapezoidal", "implicit-ncp"] {
            let base = vec![format!("run.end={end}"), format!("scheme={{{scheme}={{}}}}")];
            let Ok(loaded) = load(scene, &base) else { continue };
            let mut text: toml::Table = loaded.scene().to_toml().parse().unwrap();
            let rough = |key: &str, table: &mut toml::Table| {
                for entry in table.get_mut(key).and_then(toml::Value::as_array_mut).into_iter().flatten() {
                    let entry = entry.as_table_mut().unwrap();
                    match entry.get("friction").and_then(toml::Value::as_float) {
                        Some(mu) if mu > 0.0 => entry.insert("static-friction".into(), mu.into()),
                        _ => continue,
                    };
                }
            };
            rough("material", &mut text);
            rough("pair", &mut text);
            if let Some(system) = text.get_mut("system").and_then(toml::Value::as_table_mut) {
                rough("contact", system);
            }
            let written = toml::to_string(&text).unwrap();
            assert!(written.contains("static-friction"), "{scene}");
            let mut both = parse(&written, "both.toml").unwrap().simulation();
            let mut one = loaded.simulation();
            one.run().unwrap();
            both.run().unwrap();
            assert_eq!(one.state(), both.state(), "{scene} by {scheme}");
        }
    }
}

#[test]
fn static_friction_of_bodies_holds_and_lets_go() {
    // The block of `incline`, on a slope of tangent 0.5 with the coefficients 0.6 and 0.4: it rests
    // from rest, and slides when it is pushed.
    let scene = |scheme: &str, speed: f64| {
        let text = format!(
            "format = 1\nname = \"slope\"\ndimension = \"plane\"\ngravity = [{:?}, {:?}]\nrun = {{ step = 0.01, end = 0.5 }}\n\
             scheme = {{ {scheme} = {{}} }}\n\
             [[material]]\nname = \"a\"\nfriction = 0.4\nstatic-friction = 0.6\n\
             [[body]]\nname = \"ground\"\nkind = \"static\"\n[[body.shape]]\nhalf-plane = {{ normal = [0.0, 1.0], offset = 0.0 }}\nmaterial = \"a\"\n\
             [[body]]\nname = \"block\"\nkind = \"point\"\nmass = 2.0\nposition = [0.0, 0.1]\nvelocity = [{speed:?}, 0.0]\n\
             [[body.shape]]\ndisc = {{ radius = 0.1 }}\nmaterial = \"a\"\n",
            9.81 * 0.5 / 1.25f64.sqrt(),
            -9.81 / 1.25f64.sqrt()
        );
        parse(&text, "slope.toml")
    };
    for scheme in ["stewart-trinkle", "moreau-midpoint", "trapezoidal", "implicit-ncp", "event-driven"] {
        for (speed, expected) in [(0.0, 0.0), (0.2, 0.2 + 0.5 * 9.81 * 0.1 / 1.25f64.sqrt())] {
            let mut simulation = scene(scheme, speed).unwrap().simulation();
            let found = simulation.run().unwrap().v[0];
            assert!((found - expected).abs() < 1e-9, "{scheme}: {found} and not {expected}");
        }
    }
    for (entry, part) in [
        ("static-friction = 0.3", "less than `friction`"),
        ("static-friction = -1.0", "give zero or a positive number"),
    ] {
        let text = format!(
            "format = 1\nname = \"x\"\ndimension = \"plane\"\ngravity = [0.0, -9.81]\nrun = {{ step = 0.01, end = 0.1 }}\n\
             [[material]]\nname = \"a\"\nfriction = 0.4\n{entry}\n"
        );
        let error = parse(&text, "x.toml").unwrap_err();
        let message = format!("{error} {error:?}");
        assert!(message.contains("x.toml:9") && message.contains(part), "{message}");
    }
    let text = "format = 1\nname = \"x\"\ndimension = \"plane\"\ngravity = [0.0, -9.81]\nrun = { step = 0.01, end = 0.1 }\n\
                [[material]]\nname = \"a\"\nfriction = 0.0\nstatic-friction = 0.2\n";
    let error = parse(text, "x.toml").unwrap_err();
    assert!(format!("{error} {error:?}").contains("a contact without friction has no static friction"), "{error:?}");
}

#[test]
fn a_step_that_static_friction_leaves_undecided_is_counted_and_told() {
    // A block of 20 N stands between two slabs, which press its sides with 30 N in all and are torn
    // upwards by 60 N. With the static coefficient they carry 18 N of it, and the 2 N left on the
    // floor do not hold it against a push of 2 N: everything slides. With the kinetic one they
    // carry 12 N, and the floor holds: what broke away sticks. The next step rests on that.
    for scheme in ["stewart-trinkle", "moreau-midpoint", "trapezoidal", "implicit-ncp"] {
        let text = format!(
            "format = 1\nname = \"slabs\"\nrun = {{ step = 0.01, end = 0.1 }}\nscheme.{scheme} = {{}}\n[system]\n\
             coordinates = [\"x_slabs\", \"z_slabs\", \"y\", \"z\"]\nforce = [-30.0, 60.0, 2.0, -20.0]\n\
             mass = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 2.0]]\n\
             [[system.contact]]\nname = \"sides\"\ngap = 0.0\nnormal = [1.0, 0.0, 0.0, 0.0]\ntangents = [[0.0, 1.0, 0.0, -1.0]]\n\
             friction = 0.4\nstatic-friction = 0.6\n\
             [[system.contact]]\nname = \"floor\"\ngap = 0.0\nnormal = [0.0, 0.0, 0.0, 1.0]\ntangents = [[0.0, 0.0, 1.0, 0.0]]\n\
             friction = 0.4\nstatic-friction = 0.6\n"
        );
        let home = tempfile::tempdir().unwrap();
        let mut observer = |_: &stiction_scene::run::Progress| std::ops::ControlFlow::Continue(());
        let finished = stiction_scene::run::run(
            &parse(&text, "slabs.toml").unwrap(),
            &home.path().join("run"),
            &Default::default(),
            &mut observer,
        )
        .unwrap();
        let certificate = &finished.summary.certificate;
        assert_eq!((certificate.undecided_steps, certificate.held_steps), (1, 0), "{scheme}: {certificate:?}");
        assert!(certificate.met, "{scheme}: {certificate:?}");
        let written = std::fs::read_to_string(finished.folder.join("summary.json")).unwrap();
        assert!(written.contains("\"undecided_steps\": 1"), "{written}");
    }
}

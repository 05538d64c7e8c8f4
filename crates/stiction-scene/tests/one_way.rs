//! One-way elements of \[GS05\] §2 against closed forms: clutches, friction with two bounds,
//! pre-stressed springs; and velocities that are made consistent at the start.

use stiction_dynamics::{Audit, Simulation};
use stiction_scene::load::parse;

const CLUTCH_SCHEMES: [&str; 3] = ["stewart-trinkle", "moreau-midpoint", "implicit-ncp"];
const ALL_SCHEMES: [&str; 5] = ["stewart-trinkle", "moreau-midpoint", "implicit-ncp", "trapezoidal", "event-driven"];

/// Schemes that take the velocity at the end for the whole step lag by half a step: a distance with
/// the constant deceleration from `v` to rest is shorter by `v h / 2`.
fn lag(scheme: &str, v: f64, h: f64) -> f64 {
    if ["stewart-trinkle", "implicit-ncp"].contains(&scheme) { 0.5 * v * h } else { 0.0 }
}

/// Runs a scene to its end, with its audit.
fn run(scheme: &str, h: f64, end: f64, rest: &str) -> (Simulation, Audit) {
    let text =
        format!("format = 1\nname = \"one-way\"\nrun = {{ step = {h}, end = {end} }}\nscheme.{scheme} = {{}}\n{rest}");
    let mut simulation =
        parse(&text, "one-way.toml").unwrap_or_else(|error| panic!("{error:?}")).scene().simulation().unwrap();
    let mut audit = Audit::default();
    while !simulation.is_finished() {
        simulation.step().unwrap();
        audit.observe(simulation.system(), simulation.before(), simulation.last_step());
    }
    (simulation, audit)
}

/// Whether no energy comes from nowhere, in joules.
fn assert_balanced(audit: &Audit, what: &str) {
    let worst = &audit.worst;
    assert!(worst.contact_gain < 1e-12, "{what}: contacts add {:.1e} J", worst.contact_gain);
    assert!(worst.energy.unexplained.abs() < 1e-11, "{what}: {:.1e} J unexplained", worst.energy.unexplained);
    assert!(worst.complementarity < 1e-10 && worst.momentum < 1e-10, "{what}: {worst:?}");
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-9, "{what}: {found} and not {expected}");
}

#[test]
fn a_clutch_lets_one_direction_pass_and_holds_the_other() {
    // 1 kg with 2 m/s against 4 N: it stops after 0.5 s and 0.5 m, and is held there by 4 N.
    let system = "[system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\nforce = [-4.0]\nstart = { velocity = [2.0] }\n\
                  [[system.clutch]]\nname = \"ratchet\"\nrow = [1.0]\n";
    let h = 1.0 / 64.0;
    for scheme in CLUTCH_SCHEMES {
        let (simulation, audit) = run(scheme, h, 2.0, system);
        let state = simulation.state();
        close(state.q[0], 0.5 - lag(scheme, 2.0, h), scheme);
        close(state.v[0], 0.0, scheme);
        close(simulation.last_step().solution.contacts[0].normal / h, 4.0, scheme);
        assert_balanced(&audit, scheme);
        // On a belt that runs backwards with 1 m/s it is held by the belt, and goes on with that:
        // after 0.75 s.
        let belt = system.replace("row = [1.0]", "row = [1.0]\ndrift = -1.0").replace("[2.0]", "[4.0]");
        let (moved, _) = run(scheme, h, 2.0, &belt);
        close(moved.state().v[0], 1.0, scheme);
        close(moved.last_step().solution.contacts[0].normal / h, 4.0, scheme);
        // Without the clutch it would be back long since.
        let free = system.split("[[system").next().unwrap();
        assert!(run(scheme, h, 2.0, free).0.state().q[0] < -3.0);
    }
}

#[test]
fn a_clutch_engages_between_two_wheels_as_an_impact_does() {
    // The wheel of 2 kg m² may overrun the one of 3 kg m². It begins slower, and both go on with (3
    // · 5 + 2 · 1) / 5 rad/s; a torque of 1 N m then lets it run ahead.
    let wheels = |torque: f64| {
        format!(
            "dimension = \"plane\"\ngravity = [0.0, 0.0]\n\
             [[body]]\nname = \"driver\"\nmass = 1.0\ninertia = 3.0\nangular-velocity = 5.0\nposition = [0.0, 0.0]\n\
             [[body]]\nname = \"driven\"\nmass = 1.0\ninertia = 2.0\nangular-velocity = 1.0\nposition = [1.0, 0.0]\n\
             [[clutch]]\nname = \"sprag\"\nbody = \"driven\"\nagainst = \"driver\"\nrotational = true\n\
             [[force]]\nbody = \"driven\"\ntorque = {torque}\nfrom = 1.03\n"
        )
    };
    for scheme in CLUTCH_SCHEMES {
        let (simulation, audit) = run(scheme, 0.125, 1.0, &wheels(0.0));
        close(simulation.state().v[2], 3.4, scheme);
        close(simulation.state().v[5], 3.4, scheme);
        assert_balanced(&audit, scheme);
        let (simulation, _) = run(scheme, 0.125, 3.0, &wheels(1.0));
        close(simulation.state().v[2], 3.4, scheme);
        // From the step to 1.125 s on, in which all of them see it.
        close(simulation.state().v[5], 4.4, scheme);
        // The name of the clutch stands in recordings.
        let id = simulation.last_step().contacts[0].id;
        assert_eq!(simulation.system().contact_name(id), "sprag");
        assert_eq!(simulation.system().body_names(id), ("driven".to_owned(), "driver".to_owned()));
    }
}

#[test]
fn a_ratchet_in_space_holds_what_slid_up() {
    // Up a slope of 3 : 4 without friction with 3 m/s, g sin = 6 m/s²: 0.75 m, and it stays there.
    let block = "dimension = \"space\"\ngravity = [0.0, 0.0, -10.0]\n\
                 [[body]]\nname = \"sledge\"\nmass = 2.0\ninertia = [0.1, 0.1, 0.1]\nvelocity = [2.4, 0.0, 1.8]\n\
                 [[joint]]\nname = \"rail\"\nbodies = [\"sledge\"]\nprismatic = { anchor = [0.0, 0.0, 0.0], axis = [0.8, 0.0, 0.6] }\n\
                 [[clutch]]\nname = \"pawl\"\nbody = \"sledge\"\naxis = [0.8, 0.0, 0.6]\n";
    let h = 1.0 / 32.0;
    for scheme in CLUTCH_SCHEMES {
        let (simulation, audit) = run(scheme, h, 1.0, block);
        let expected = 0.75 - lag(scheme, 3.0, h);
        close(simulation.state().q[0], 0.8 * expected, scheme);
        close(simulation.state().q[2], 0.6 * expected, scheme);
        close(simulation.last_step().solution.contacts[0].normal / h, 12.0, scheme);
        assert_balanced(&audit, scheme);
    }
}

#[test]
fn friction_has_a_bound_for_each_direction() {
    // 1 kg with 2 m/s under -1 N: 1 N of friction forwards stops it after 1 s and 1 m; 3 N
    // backwards hold it.
    let scene = |force: f64, velocity: f64| {
        format!(
            "[system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\nforce = [{force}]\nstart = {{ velocity = [{velocity}] }}\n\
             [[system.dry-friction]]\nname = \"pad\"\ntangents = [[1.0]]\nbound = 1.0\nbound-backwards = 3.0\n"
        )
    };
    let h = 1.0 / 64.0;
    for scheme in ALL_SCHEMES {
        let (simulation, audit) = run(scheme, h, 2.0, &scene(-1.0, 2.0));
        close(simulation.state().q[0], 1.0 - lag(scheme, 2.0, h), scheme);
        close(simulation.state().v[0], 0.0, scheme);
        assert_balanced(&audit, scheme);
        // Drawn back by 4 N it goes with 1 m/s².
        let (simulation, _) = run(scheme, h, 2.0, &scene(-4.0, 0.0));
        close(simulation.state().v[0], -2.0, scheme);
        // The same between bodies, with a torque arm: a wheel braked at its rim.
        let wheel = "dimension = \"plane\"\ngravity = [0.0, 0.0]\n\
                     [[body]]\nname = \"wheel\"\nmass = 1.0\ninertia = 0.5\nangular-velocity = 4.0\n\
                     [[force]]\nbody = \"wheel\"\ntorque = -1.0\n\
                     [[dry-friction]]\nname = \"brake\"\nbody = \"wheel\"\nrotational = true\nbound = 1.0\nbound-backwards = 3.0\n";
        let (simulation, _) = run(scheme, h, 2.0, wheel);
        // 2 N m on 0.5 kg m²: 4 rad/s² for 1 s, 2 rad.
        close(simulation.state().q[2], 2.0 - lag(scheme, 4.0, h), scheme);
        close(simulation.state().v[2], 0.0, scheme);
    }
}

#[test]
fn what_dry_friction_stopped_stands_by_the_trapezoidal_rule_too() {
    // 1 kg with 2 m/s against 1 N: 2 m within 2 s. Conditions on the mean velocity alone would
    // leave it flipping between two velocities.
    for scheme in ["stewart-trinkle", "implicit-ncp"] {
        let text = format!(
            "format = 1\nname = \"stop\"\nrun = {{ step = 0.3, end = 3.0 }}\nscheme.{scheme}.rule = \"trapezoidal\"\n\
             [system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\nforce = [0.0]\nstart = {{ velocity = [2.0] }}\n\
             [[system.dry-friction]]\nname = \"pad\"\ntangents = [[1.0]]\nbound = 1.0\n"
        );
        let mut simulation = parse(&text, "stop.toml").unwrap_or_else(|error| panic!("{error:?}")).simulation();
        simulation.run().unwrap();
        let state = simulation.state();
        assert!(state.v[0].abs() < 1e-12 && (state.q[0] - 2.0).abs() < 0.03, "{scheme}: {state:?}");
    }
}

#[test]
fn friction_that_no_load_changes_may_be_an_ellipse() {
    // Semi-axes 1 and 2 N, 1 kg: from rest under (3, 0) N it goes with 2 m/s², under (0, 3) N with
    // 1 m/s², and (0.6, 1.6) N, on the boundary, moves nothing.
    for scheme in ALL_SCHEMES {
        for (force, expected) in [([3.0, 0.0], [2.0, 0.0]), ([0.0, 3.0], [0.0, 1.0]), ([0.599, 1.599], [0.0, 0.0])] {
            let scene = format!(
                "dimension = \"space\"\ngravity = [0.0, 0.0, 0.0]\n[[body]]\nname = \"puck\"\nkind = \"point\"\nmass = 1.0\n\
                 [[force]]\nbody = \"puck\"\nforce = [{}, {}, 0.0]\n\
                 [[dry-friction]]\nname = \"felt\"\nbody = \"puck\"\naxes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]\nbound = 1.0\nsemi-axes = [1.0, 2.0]\n",
                force[0], force[1]
            );
            let (simulation, _) = run(scheme, 1.0 / 64.0, 1.0, &scene);
            for k in 0..2 {
                close(simulation.state().v[k], expected[k], &format!("{scheme} under {force:?}"));
            }
        }
    }
}

#[test]
fn friction_that_no_load_changes_may_be_a_polytope() {
    // The diamond with the corners (±1, 0) and (0, ±2) N: under (2, 2) N it holds the point (0.4,
    // 1.2) of its side, and 1 kg goes with (1.6, 0.8) m/s². A triangle holds 1 N to the left and
    // half of that to the right.
    let diamond = "friction-half-spaces = [[1, 0.5], [1, -0.5], [-1, 0.5], [-1, -0.5]]";
    let triangle = "friction-directions = [[1, 0], [-0.5, 0.5], [-0.5, -1]]";
    for scheme in ALL_SCHEMES.into_iter().filter(|scheme| *scheme != "event-driven") {
        for (set, force, expected) in [
            (diamond, [2.0, 2.0], [1.6, 0.8]),
            (diamond, [0.49, 1.0], [0.0, 0.0]),
            (triangle, [-3.0, 0.0], [-2.0, 0.0]),
            (triangle, [3.0, 0.0], [2.5, 0.0]),
        ] {
            let [x, y] = force;
            let bodies = format!(
                "method.pyramid = {{}}\ndimension = \"space\"\ngravity = [0.0, 0.0, 0.0]\n[[body]]\nname = \"puck\"\nkind = \"point\"\nmass = 1.0\n\
                 [[force]]\nbody = \"puck\"\nforce = [{x}, {y}, 0.0]\n\
                 [[dry-friction]]\nname = \"felt\"\nbody = \"puck\"\naxes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]\nbound = 1.0\n{set}\n"
            );
            let system = format!(
                "method.pyramid = {{}}\n[system]\ncoordinates = [\"x\", \"y\"]\nmass = [[1.0, 0.0], [0.0, 1.0]]\nforce = [{x}, {y}]\n\
                 [[system.dry-friction]]\nname = \"felt\"\ntangents = [[1.0, 0.0], [0.0, 1.0]]\nbound = 1.0\n{set}\n"
            );
            for scene in [bodies, system] {
                let (simulation, _) = run(scheme, 1.0 / 64.0, 1.0, &scene);
                for k in 0..2 {
                    close(simulation.state().v[k], expected[k], &format!("{scheme} under {force:?}"));
                }
            }
        }
    }
}

#[test]
fn friction_that_no_load_changes_may_hold_more_than_it_brakes() {
    // 1 kg, 2 N of friction and 3 N while it sticks: 2.5 N do not move it, and drive it with 0.5
    // m/s² once it moves; 4 N tear it away.
    for scheme in ALL_SCHEMES {
        for (force, start, expected) in [(2.5, 0.0, 0.0), (2.5, 0.2, 0.7), (4.0, 0.0, 2.0)] {
            let system = format!(
                "[system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\nforce = [{force}]\nstart = {{ velocity = [{start}] }}\n\
                 [[system.dry-friction]]\nname = \"pad\"\ntangents = [[1.0]]\nbound = 2.0\nstatic-bound = 3.0\n"
            );
            let sledge = format!(
                "dimension = \"plane\"\ngravity = [0.0, 0.0]\n[[body]]\nname = \"sledge\"\nkind = \"point\"\nmass = 1.0\nvelocity = [{start}, 0.0]\n\
                 [[force]]\nbody = \"sledge\"\nforce = [{force}, 0.0]\n\
                 [[dry-friction]]\nname = \"pad\"\nbody = \"sledge\"\naxes = [[1.0, 0.0]]\nbound = 2.0\nstatic-bound = 3.0\n"
            );
            // The same of a joint: a slide on the world.
            let slide = format!(
                "dimension = \"plane\"\ngravity = [0.0, 0.0]\n[[body]]\nname = \"slide\"\nmass = 1.0\ninertia = 1.0\nvelocity = [{start}, 0.0]\n\
                 [[force]]\nbody = \"slide\"\nforce = [{force}, 0.0]\n\
                 [[joint]]\nname = \"rail\"\nbodies = [\"slide\"]\nprismatic = {{ anchor = [0.0, 0.0], axis = [1.0, 0.0], friction = 2.0, static-friction = 3.0 }}\n"
            );
            for scene in [system, sledge, slide] {
                let (simulation, audit) = run(scheme, 1.0 / 64.0, 1.0, &scene);
                close(simulation.state().v[0], expected, &format!("{scheme} under {force} N from {start} m/s"));
                let held = force < 3.0 && start == 0.0;
                assert_eq!(audit.held_count > 0, held, "{scheme} under {force} N from {start} m/s");
            }
        }
    }
}

#[test]
fn a_pre_stressed_spring_gives_way_beyond_its_preload() {
    let system = |force: f64, rest: &str| {
        format!(
            "[system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\nforce = [{force}]\n{rest}\n\
             [[system.pre-stressed-spring]]\nname = \"spring\"\nrow = [1.0]\npreload = 2.0\n"
        )
    };
    let h = 1.0 / 64.0;
    for scheme in CLUTCH_SCHEMES {
        // 1.5 N do not move it; nor -1.5 N.
        for force in [1.5, -1.5] {
            let (simulation, audit) = run(scheme, h, 1.0, &system(force, ""));
            close(simulation.state().q[0], 0.0, scheme);
            close(simulation.last_step().solution.friction[0][0] / h, -force, scheme);
            assert_balanced(&audit, scheme);
        }
        // 5 N on 3 N/m: (5 - 2) / 3 = 1 m, reached through a strong damper.
        let rest = "stiffness = [[3.0]]\ndamping = [[3.4641016151377544]]";
        let (simulation, audit) = run(scheme, h, 20.0, &system(5.0, rest));
        close(simulation.state().q[0], 1.0, scheme);
        assert!(audit.worst.energy.unexplained.abs() < 1e-9, "{scheme}: {:?}", audit.worst.energy);
        // Let go 1 m away it falls by 2 m/s²: 1 - t², and passes through.
        let (simulation, audit) = run(scheme, h, 0.5, &system(0.0, "start = { position = [1.0] }"));
        close(simulation.state().q[0], 0.75 - 2.0 * lag(scheme, 0.5, h), scheme);
        assert_balanced(&audit, scheme);
        // A displacement that a step can take back is gone after it, where the scheme meets
        // positions at its end.
        if scheme != "moreau-midpoint" {
            let (simulation, _) = run(scheme, h, h, &system(0.0, "start = { position = [2e-4] }"));
            assert!(simulation.state().q[0].abs() < 1e-15, "{scheme}: {:?}", simulation.state());
        }
        // There in the middle of the next one: x/2 and -x/h after the first step, and nothing after
        // the second.
        if scheme == "moreau-midpoint" {
            for (steps, place, speed) in [(1.0, 1e-4, -2e-4 / h), (2.0, 0.0, 0.0)] {
                let (simulation, _) = run(scheme, h, steps * h, &system(0.0, "start = { position = [2e-4] }"));
                let state = simulation.state();
                assert!((state.q[0] - place).abs() + (state.v[0] - speed).abs() < 1e-14, "{steps}: {state:?}");
            }
        }
        // It may be unstrained elsewhere.
        let elsewhere = system(0.0, "start = { position = [-0.2998] }").replace("preload", "value = 0.3\npreload");
        let (simulation, _) = run(scheme, h, 2.0 * h, &elsewhere);
        assert!((simulation.state().q[0] + 0.3).abs() < 1e-14, "{scheme}: {:?}", simulation.state());
        // So it is wherever the rows are taken: from 1e-4 m before zero, 1 m/s less 64e-4 lead
        // there.
        for place in ["start", "mean", "end"] {
            let rest = system(0.0, &format!("start = {{ position = [{:?}], velocity = [1.0] }}", 1e-4 - h));
            let head = format!(
                "format = 1\nname = \"one-way\"\nrun = {{ step = {h}, end = {h} }}\nscheme.stewart-trinkle.linearization = \"{place}\"\n{rest}"
            );
            let mut simulation = parse(&head, "one-way.toml").unwrap_or_else(|error| panic!("{error:?}")).simulation();
            let state = simulation.run().unwrap();
            assert!(state.q[0].abs() < 1e-15, "rows from the {place}: {state:?}");
            close(state.v[0], 1.0 - 64e-4, place);
        }
        // With dry friction of 0.5 N it comes to rest, where the spring is not strained: after 1,
        // 0.6, 0.36 ... of the way.
        let rest = "start = { position = [1.0] }\ndry-friction = [{ name = \"pad\", tangents = [[1.0]], bound = 0.5 }]";
        let (simulation, _) = run(scheme, h, 12.0, &system(0.0, rest));
        close(simulation.state().q[0], 0.0, scheme);
        close(simulation.state().v[0], 0.0, scheme);
    }
}

#[test]
fn a_pre_stressed_spring_joins_bodies() {
    // A door of 2 kg hangs on a spring of 0.5 m with 30 N: its weight of 20 N does not stretch it;
    // 40 N do, by (40 - 30) / 100 m.
    for scheme in CLUTCH_SCHEMES {
        for (mass, expected) in [(2.0, -0.5), (4.0, -0.6)] {
            let scene = format!(
                "dimension = \"plane\"\ngravity = [0.0, -10.0]\n[[body]]\nname = \"door\"\nkind = \"point\"\nmass = {mass}\nposition = [0.0, -0.5]\n\
                 [[spring]]\nname = \"spring\"\nbodies = [\"door\"]\nstiffness = 100.0\ndamping = 40.0\nrest-length = 0.5\npreload = 30.0\n"
            );
            let (simulation, audit) = run(scheme, 1.0 / 64.0, 12.0, &scene);
            close(simulation.state().q[1], expected, &format!("{scheme}, {mass} kg"));
            // ½ 100 N/m x² + 30 N x of the spring beside the weight.
            let (state, x) = (simulation.state(), -0.5 - expected);
            let energy = mass * 10.0 * expected + 50.0 * x * x + 30.0 * x;
            close(simulation.system().potential_energy(state.t, &state.q).unwrap(), energy, scheme);
            assert!(audit.worst.contact_gain < 1e-9, "{scheme}: {:?}", audit.worst);
        }
    }
}

#[test]
fn velocities_at_the_start_are_made_consistent() {
    // A ball on the floor that would fall with 1 m/s and slide with 2 m/s, μ = 0.5: an inelastic
    // impact leaves 1.5 m/s. Two wheels on a clutch take their common speed.
    let ball = "dimension = \"plane\"\ngravity = [0.0, 0.0]\nrun.consistent-start = true\n\
                [[material]]\nname = \"steel\"\nfriction = 0.5\nrestitution = 0.8\n\
                [[body]]\nname = \"floor\"\nkind = \"static\"\nmaterial = \"steel\"\nshape = [{ half-plane = { normal = [0.0, 1.0] } }]\n\
                [[body]]\nname = \"block\"\nmass = 1.0\nkind = \"point\"\nvelocity = [2.0, -1.0]\nmaterial = \"steel\"\nshape = [{ disc = { radius = 0.0 } }]\n";
    let text =
        format!("format = 1\nname = \"start\"\nrun.step = 0.1\nrun.end = 1.0\nscheme.moreau-midpoint = {{}}\n{ball}");
    let simulation =
        parse(&text, "start.toml").unwrap_or_else(|error| panic!("{error:?}")).scene().simulation().unwrap();
    close(simulation.state().v[0], 1.5, "sliding");
    close(simulation.state().v[1], 0.0, "falling");
    // Without the option they stay as they are given.
    let text = text.replace("run.consistent-start = true\n", "");
    let simulation = parse(&text, "start.toml").unwrap().scene().simulation().unwrap();
    assert_eq!(simulation.state().v, [2.0, -1.0]);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let system = "[system]\ncoordinates = [\"x\", \"y\"]\nmass = [[1.0, 0.0], [0.0, 1.0]]\n";
    let plane = "dimension = \"plane\"\ngravity = [0.0, 0.0]\n[[body]]\nname = \"a\"\nmass = 1.0\ninertia = 1.0\n[[body]]\nname = \"p\"\nkind = \"point\"\nmass = 1.0\nposition = [3.0, 0.0]\n";
    let friction = "[[dry-friction]]\nname = \"f\"\nbody = \"a\"\n";
    let two = "axes = [[1.0, 0.0], [0.0, 1.0]]\nbound = 1.0\n";
    let pad = "[[system.dry-friction]]\nname = \"d\"\ntangents = [[1.0, 0.0]]\nbound = 1.0\n";
    let cases = [
        (
            "trapezoidal",
            format!("{system}[[system.clutch]]\nname = \"c\"\nrow = [1.0, 0.0]\n"),
            "does not treat clutch `c`",
        ),
        (
            "event-driven",
            format!("{plane}[[clutch]]\nname = \"c\"\nbody = \"a\"\nrotational = true\n"),
            "does not treat clutch `c`",
        ),
        (
            "event-driven",
            format!("{plane}[[spring]]\nname = \"s\"\nbodies = [\"a\", \"p\"]\nstiffness = 1.0\npreload = 1.0\n"),
            "pre-stressed spring `s`",
        ),
        (
            "implicit-ncp.rule = \"trapezoidal\" #",
            format!("{plane}[[clutch]]\nname = \"c\"\nbody = \"a\"\nrotational = true\n"),
            "does not treat clutch `c`",
        ),
        (
            "stewart-trinkle",
            format!("{plane}[[spring]]\nname = \"s\"\nbodies = [\"a\", \"p\"]\nstiffness = 1.0\npreload = -1.0\n"),
            "the preload is -1.0 N",
        ),
        (
            "stewart-trinkle",
            format!("{system}[[system.pre-stressed-spring]]\nname = \"s\"\nrow = [1.0, 0.0]\npreload = 0.0\n"),
            "the preload is 0.0 N",
        ),
        (
            "stewart-trinkle",
            format!("{system}[[system.clutch]]\nname = \"c\"\nrow = [0.0, 0.0]\n"),
            "the row of clutch `c` is zero",
        ),
        (
            "stewart-trinkle",
            format!(
                "{system}[[system.contact]]\nname = \"c\"\ngap = 1.0\nnormal = [1.0, 0.0]\n[[system.clutch]]\nname = \"c\"\nrow = [1.0, 0.0]\n"
            ),
            "a contact is named `c`, too",
        ),
        (
            "stewart-trinkle",
            format!("{system}{pad}[[system.pre-stressed-spring]]\nname = \"d\"\nrow = [1.0, 0.0]\npreload = 1.0\n"),
            "dry friction is named `d`, too",
        ),
        ("stewart-trinkle", format!("{plane}[[clutch]]\nname = \"c\"\nbody = \"b\"\nrotational = true\n"), "`b`"),
        ("stewart-trinkle", format!("{plane}[[clutch]]\nname = \"c\"\nbody = \"a\"\n"), "clutch `c` has no `axis`"),
        (
            "stewart-trinkle",
            format!("{plane}[[clutch]]\nname = \"c\"\nbody = \"p\"\nrotational = true\n"),
            "a point does not rotate",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}axes = [[1.0, 0.0], [0.0, 1.0]]\nbound = 1.0\nbound-backwards = 2.0\n"),
            "2 directions of sliding",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}axes = [[1.0, 0.0]]\nbound = 1.0\nbound-backwards = -2.0\n"),
            "the bound backwards is -2.0 N",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}axes = [[1.0, 0.0]]\nbound = 1.0\nsemi-axes = [1.0, 2.0]\n"),
            "2 semi-axes are given, and 1 axis",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}axes = [[1.0, 0.0], [0.0, 1.0]]\nbound = 1.0\nsemi-axes = [1.0, 0.0]\n"),
            "a semi-axis is 0.0",
        ),
        (
            "event-driven",
            format!("{plane}{friction}{two}friction-directions = [[1, 0], [-1, 0]]\n"),
            "follows round friction sets, and no polytopes",
        ),
        (
            "stewart-trinkle = {}\nmethod.cone",
            format!("{plane}{friction}{two}friction-directions = [[1, 0], [-1, 0]]\n"),
            "the method `cone` treats round friction sets",
        ),
        (
            "stewart-trinkle = {}\nmethod.planar-relay",
            format!("{system}{pad}friction-half-spaces = [[1], [-2]]\n"),
            "the method `planar-relay` treats round friction sets",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}{two}friction-directions = [[1, 0, 0]]\n"),
            "row 1 of `friction-directions` has 3 numbers",
        ),
        ("stewart-trinkle", format!("{system}{pad}friction-half-spaces = [[1]]\n"), "do not bound the friction"),
        (
            "stewart-trinkle",
            format!("{system}{pad}friction-half-spaces = []\n"),
            "give rows that end friction on all sides, as in `friction-half-spaces = [[1.0], [-1.0]]`",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}{two}friction-directions = []\n"),
            "as in `friction-directions = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]`",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}{two}friction-directions = [[1, 0], [0, 0]]\n"),
            "row 2 of `friction-directions` is zero",
        ),
        (
            "trapezoidal",
            format!("{system}[[system.pre-stressed-spring]]\nname = \"s\"\nrow = [1.0, 0.0]\npreload = 1.0\n"),
            "a spring without `preload` goes with every scheme",
        ),
        (
            "stewart-trinkle.rule = \"trapezoidal\" #",
            format!("{system}[[system.clutch]]\nname = \"c\"\nrow = [1.0, 0.0]\n"),
            "leave out `rule = \\\"trapezoidal\\\"`, or choose `moreau-midpoint` or `implicit-ncp`",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}{two}friction-directions = [[1, 0]]\nfriction-half-spaces = [[1, 0]]\n"),
            "both `friction-directions` and `friction-half-spaces` are given",
        ),
        (
            "stewart-trinkle",
            format!("{plane}{friction}{two}friction-directions = [[1, 0]]\nsemi-axes = [1.0, 2.0]\n"),
            "both `friction-directions` and `semi-axes` are given",
        ),
        (
            "stewart-trinkle",
            format!("{system}{pad}friction-directions = [[1]]\nbound-backwards = 2.0\n"),
            "both `friction-directions` and `bound-backwards` are given",
        ),
        (
            "stewart-trinkle",
            format!("{system}{pad}static-bound = 2.0\nbound-backwards = 2.0\n"),
            "both `bound-backwards` and `static-bound` are given",
        ),
        ("stewart-trinkle", format!("{system}{pad}static-bound = 0.5\n"), "the static bound is 0.5 N"),
        ("stewart-trinkle", format!("{system}{pad}static-bound = -0.5\n"), "the static bound is -0.5 N"),
        (
            "stewart-trinkle",
            format!("{plane}{friction}rotational = true\nbound = 0.0\nstatic-bound = 1.0\n"),
            "give a positive `bound`",
        ),
        (
            "stewart-trinkle",
            format!(
                "{plane}[[joint]]\nname = \"j\"\nbodies = [\"a\"]\nrevolute = {{ anchor = [0.0, 0.0], static-friction = 1.0 }}\n"
            ),
            "give a positive `friction`",
        ),
        (
            "stewart-trinkle",
            format!(
                "{plane}[[joint]]\nname = \"j\"\nbodies = [\"a\"]\nrevolute = {{ anchor = [0.0, 0.0], friction = 2.0, static-friction = 1.0 }}\n"
            ),
            "the static bound is 1.0 N m",
        ),
    ];
    for (scheme, rest, expected) in cases {
        let text =
            format!("format = 1\nname = \"bad\"\nrun = {{ step = 0.1, end = 1.0 }}\nscheme.{scheme} = {{}}\n{rest}");
        let error = parse(&text, "bad.toml").expect_err(expected);
        let message = format!("{error} {error:?}");
        assert!(message.contains(expected), "{message} does not say {expected}");
    }
}

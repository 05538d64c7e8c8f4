//! Bodies that start in overlap are moved apart along the least translation; needles and narrow play
//! are found.

use stiction_scene::separate::separated;
use stiction_scene::{Loaded, Severity, lint, parse};

fn scene(bodies: &str) -> Loaded {
    let text = format!(
        "format = 1\nname = \"parts\"\ndimension = \"space\"\ngravity = [0.0, 0.0, -10.0]\n\
         run = {{ step = 0.01, end = 0.1 }}\nmaterial = [{{ name = \"steel\", friction = 0.5 }}]\n{bodies}"
    );
    parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn ball(name: &str, position: [f64; 3]) -> String {
    format!(
        "[[body]]\nname = \"{name}\"\nmaterial = \"steel\"\nmass = 1.0\nposition = {position:?}\n\
         shape = [{{ sphere = {{ radius = 0.1 }} }}]\n"
    )
}

const FLOOR: &str = "[[body]]\nname = \"floor\"\nkind = \"static\"\nmaterial = \"steel\"\n\
                     shape = [{ half-space = { normal = [0.0, 0.0, 1.0] } }]\n";

#[test]
fn balls_part_along_the_line_of_their_centres() {
    // Radii 0.1, distance 0.15 along (0.6, 0.8): each moves by half of 0.05.
    let both = ball("a", [0.0, 0.0, 1.0]) + &ball("b", [0.09, 0.12, 1.0]);
    let loaded = scene(&both);
    let (apart, moved) = separated(&loaded).unwrap();
    assert_eq!(moved.iter().map(|it| it.body.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    for (body, expected) in moved.iter().zip([[-0.015, -0.02, 0.0], [0.015, 0.02, 0.0]]) {
        let error = body.way.iter().zip(expected).map(|(a, b)| f64::abs(a - b)).fold(0.0, f64::max);
        assert!(error < 1e-15, "{body:?}");
    }
    let again = parse(&apart.to_toml(), "apart.toml").unwrap();
    assert!(lint(&again).iter().all(|finding| !finding.message.contains("overlap")));
    assert!(separated(&again).unwrap().1.is_empty());
    // On a floor that stays, one that is 0.02 in it, and pushed up again by another one below.
    let stack = format!("{FLOOR}{}{}", ball("a", [0.0, 0.0, 0.08]), ball("b", [0.0, 0.0, 0.26]));
    let (apart, moved) = separated(&scene(&stack)).unwrap();
    assert_eq!(moved.len(), 2);
    let height = |body: usize| apart.bodies[body].position.as_ref().unwrap()[2];
    assert!((height(1) - 0.1).abs() < 2e-12 && (height(2) - 0.3).abs() < 4e-12, "{} {}", height(1), height(2));
}

#[test]
fn needles_are_found() {
    // Moments of 1 and 1e-6.
    let needle = ball("needle", [0.0, 0.0, 1.0]).replace("mass = 1.0", "mass = 1.0\ninertia = [1e-6, 1.0, 1.0]");
    let findings = lint(&scene(&needle));
    assert!(findings.iter().any(|it| it.severity == Severity::Warning && it.message.contains("is a needle")));
    let rod = needle.replace("1e-6", "1e-4");
    assert!(!lint(&scene(&rod)).iter().any(|it| it.message.contains("is a needle")));
}

#[test]
fn narrow_play_is_found() {
    // A pin in a bush with a clearance of 1e-4 m on each side; a fall grows by 1e-3 m in a step.
    let pin = ball("pin", [0.0, 0.0, 1.0]);
    let walls = |gap: f64| {
        let wall = |name: &str, x: f64, normal: f64| {
            format!(
                "{{ half-space = {{ normal = [{normal:?}, 0.0, 0.0] }}, position = [{x:?}, 0.0, 0.0] }}{}",
                if name == "last" { "" } else { ", " }
            )
        };
        let shapes = wall("first", -0.1 - gap, 1.0) + &wall("last", 0.1 + gap, -1.0);
        format!("{pin}[[body]]\nname = \"slot\"\nkind = \"static\"\nmaterial = \"steel\"\nshape = [{shapes}]\n")
    };
    let found = |gap: f64| lint(&scene(&walls(gap))).into_iter().find(|it| it.message.contains("a play of"));
    let note = found(1e-4).expect("a note");
    assert_eq!(note.severity, Severity::Note);
    assert!(note.message.contains("a play of 2.000e-4 m, less than the 1.000e-3 m"), "{}", note.message);
    assert!(note.message.contains("below 4.5e-3 s"), "{}", note.message); // √(2e-4/10)
    assert!(found(6e-4).is_none());
}

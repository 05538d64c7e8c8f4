//! The scenes that come with the library, and one to start from.

use crate::model::is_plain_name;

/// A scene that comes with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinScene {
    /// Name, by which [`load`](fn@crate::load) finds it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
    /// What it is, in one line; the same as in the file.
    pub title: &'static str,
}

macro_rules! builtin {
    ($name:literal, $title:literal) => {
        BuiltinScene { name: $name, text: include_str!(concat!("../../../scenes/", $name, ".toml")), title: $title }
    };
}

const ALL: [BuiltinScene; 28] = [
    builtin!("rod", "The falling, spinning rod of Stewart and Trinkle (1996)"),
    builtin!("sliding-block", "A block that slides to a stop, against the exact distance"),
    builtin!("incline", "A block that must not creep, at 99 % of the friction limit"),
    builtin!("belt", "A block on a belt reaches the speed of the belt"),
    builtin!("box-on-corners", "Forces that are not unique, motion that is"),
    builtin!("four-balls", "A ball is thrown at three others in a line, Stewart and Trinkle (1996)"),
    builtin!("two-balls", "A thrown ball lands, rolls and hits another, after Stewart and Trinkle (1996)"),
    builtin!("painleve-rod", "A sliding rod without a rigid acceleration, answered by a shock"),
    builtin!("bouncing-ball", "A ball bounces to rest through infinitely many impacts"),
    builtin!("newton-cradle", "A row of balls by the simultaneous impact law"),
    builtin!("superball", "A superball turns its spin around at every bounce"),
    builtin!("woodpecker", "The woodpecker toy of Glocker and Studer (2005) hammers down its pole"),
    builtin!("double-pendulum", "A double pendulum collides with a wall, order two"),
    builtin!("carts-damper", "Two carts with a stiff damper and a stopper"),
    builtin!("carts-spring", "Two carts with a stiff spring and a stopper"),
    builtin!("free-top", "A free top: the gyroscopic term and quaternions in second order"),
    builtin!("andrews", "Andrews' squeezing mechanism: three loops under a constant torque"),
    builtin!("bricard", "Bricard's linkage moves although its hinges leave it no freedom by count"),
    builtin!("four-bar-clearance", "A four-bar linkage with play in one joint"),
    builtin!("elastic-pendulum", "A mass on a spring: springing turns into swinging and back"),
    builtin!("bead-in-ring", "A bead in a ring swings like a pendulum"),
    builtin!("marble-outside-sphere", "A marble leaves a sphere at two thirds of its height"),
    builtin!("slide-to-roll", "A sliding ball begins to roll, with five sevenths of its speed"),
    builtin!("rattleback", "A rattleback stops spinning, rattles, and spins the other way"),
    builtin!("tippe-top", "A spinning top turns upside down"),
    builtin!("sphere-spin", "A spinning ball stops by drilling friction, Trinkle, Tzitzouris and Pang (2001)"),
    builtin!(
        "sphere-spin-misaligned",
        "A spinning ball whose friction directions miss the true one, Trinkle, Tzitzouris and Pang (2001)"
    ),
    builtin!(
        "sphere-valley",
        "A ball rolls, slides and drills between two spheres, Trinkle, Tzitzouris and Pang (2001)"
    ),
];

/// All built-in scenes.
pub fn all() -> &'static [BuiltinScene] {
    &ALL
}

/// A scene to start from, with a comment on every key. Characters that cannot stand in a name become `-`.
pub fn template(name: &str) -> String {
    let mut name: String = name.chars().map(|c| if is_plain_name(&c.to_string()) { c } else { '-' }).collect();
    if name.is_empty() {
        name.push_str("scene");
    }
    TEMPLATE.replace("NAME", &name)
}

const TEMPLATE: &str = r#"# A scene of Stiction. SI units: metres, kilograms, seconds, newtons, radians.
# Keys that are commented out show their default, or an example.

format = 1                     # version of this format
name = "NAME"                  # the run folder takes this name
title = "A block slides down a ramp and a disc rolls after it"
dimension = "plane"            # or "space": then vectors have three numbers
gravity = [0.0, -9.81]         # m/s²

[run]
step = 0.001                   # s
end = 1.5                      # s
# start = 0.0

# [scheme.stewart-trinkle]     # the scheme, and its settings
# version = "linear"           # or "fixed-point"

# [method.pyramid]             # how contact problems are solved
# directions = 8               # friction directions in space; in the plane there are always two

# [record]
# interval = 1                 # every how many steps a row is written
# columns = ["block.x", "block.vx"]  # default: all

[contact]
combine = "geometric-mean"     # friction of two materials: minimum, maximum, mean or geometric-mean

[[material]]
name = "wood"
friction = 0.4                 # against itself

[[material]]
name = "rubber"
friction = 0.9

[[pair]]                       # a measured pair comes before the rule
materials = ["wood", "rubber"]
friction = 0.7

[[body]]                       # a ramp: everything below a line, turned by -30 degrees
name = "ramp"
kind = "static"                # rigid (default), point, static or prescribed
material = "wood"
angle-degrees = -30.0
[[body.shape]]
half-plane = { normal = [0.0, 1.0], offset = 0.0 }

[[body]]
name = "block"
material = "wood"
position = [0.043301270189221935, 0.075] # of the centre of mass, in m
angle-degrees = -30.0          # or angle = … in radians
# velocity = [0.0, 0.0]        # m/s
# angular-velocity = 0.0       # rad/s
mass = 2.0                     # kg; or density = … in kg/m² (kg/m³ in space)
# inertia = 0.02               # kg m²; without it, it follows from the shapes
[[body.shape]]
box = { size = [0.3, 0.1732050807568877] } # also: disc = { radius = … }, capsule = { length = …, radius = … }

[[body]]
name = "wheel"
material = "rubber"
position = [-0.55, 0.45]       # it falls a little before it rolls
density = 20.0
group = "wheels"
[[body.shape]]
disc = { radius = 0.1 }

# A disc cannot collide with a box yet: let them pass through each other.
[[ignore]]
bodies = ["block", "wheel"]

# [[force]]
# body = "block"
# force = [5.0, 0.0]           # N
# from = 0.0
# until = 0.5
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parse;

    #[test]
    fn titles_and_names_are_those_of_the_files() {
        for scene in all() {
            let loaded = parse(scene.text, scene.name).unwrap();
            assert_eq!(loaded.scene().name, scene.name);
            assert_eq!(loaded.scene().title.as_deref(), Some(scene.title));
            assert!(scene.text.starts_with("# "), "{} says what there is to see", scene.name);
        }
    }

    #[test]
    fn every_file_in_the_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let mut names: Vec<String> = all().iter().map(|scene| scene.name.to_owned()).collect();
        files.sort();
        names.sort();
        assert_eq!(files, names);
    }

    #[test]
    fn the_template_takes_any_name() {
        for (name, expected) in [("my-scene", "my-scene"), ("a b/c", "a-b-c"), ("", "scene")] {
            assert_eq!(parse(&template(name), "new.toml").unwrap().scene().name, expected);
        }
    }
}

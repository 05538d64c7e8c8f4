//! With the exact cone nothing depends on the axes of the world, on the order of the bodies or on
//! the units: incline, sliding block and slide-to-roll over one second.

use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_scene::parse;

/// A block or a ball on a plane, thrown.
struct Throw {
    name: &'static str,
    friction: f64,
    /// Lean of gravity against the plane, in radians.
    lean: f64,
    shape: Shape,
    velocity: DVec3,
    step: f64,
}

enum Shape {
    Block([f64; 3]),
    Ball(f64),
}

/// How the same is written down: world axes turned, units of length and mass smaller by factors,
/// another body first.
struct Writing {
    turn: DQuat,
    length: f64,
    mass: f64,
    is_reversed: bool,
}

const PLAIN: Writing = Writing { turn: DQuat::IDENTITY, length: 1.0, mass: 1.0, is_reversed: false };

/// Position, velocity and spin at the end, in plain axes and units.
fn end(throw: &Throw, scheme: &str, writing: &Writing) -> [DVec3; 3] {
    let Writing { turn, length, mass, is_reversed } = *writing;
    let vector = |v: DVec3| format!("{:?}", (turn * v * length).to_array());
    let orientation = format!("{:?}", [turn.w, turn.x, turn.y, turn.z]);
    let gravity = vector(9.81 * DVec3::new(throw.lean.sin(), 0.0, -throw.lean.cos()));
    let (height, shape) = match throw.shape {
        Shape::Block(size) => (0.5 * size[2], format!("box = {{ size = {:?} }}", size.map(|x| x * length))),
        Shape::Ball(radius) => (radius, format!("sphere = {{ radius = {:?} }}", radius * length)),
    };
    let (position, velocity) = (vector(DVec3::new(0.0, 0.0, height)), vector(throw.velocity));
    let plane = format!(
        "[[body]]\nname = \"plane\"\nkind = \"static\"\nmaterial = \"wood\"\norientation = {orientation}\n\
         shape = [{{ half-space = {{ normal = [0.0, 0.0, 1.0] }} }}]\n"
    );
    let thing = format!(
        "[[body]]\nname = \"thing\"\nmaterial = \"wood\"\norientation = {orientation}\nposition = {position}\n\
         velocity = {velocity}\nmass = {mass:?}\nshape = [{{ {shape} }}]\n"
    );
    let bodies = if is_reversed { thing + &plane } else { plane + &thing };
    // Tolerances have units, too.
    let tolerances = match scheme {
        "stewart-trinkle" => format!("position-tolerance = {:?}", 1e-11 * length),
        "moreau-midpoint" => format!("gap-tolerance = {:?}", 1e-12 * length),
        _ => format!(
            "gap-tolerance = {:?}, rest-speed = {:?}, still-speed = {:?}",
            1e-9 * length,
            1e-6 * length,
            1e-9 * length
        ),
    };
    let text = format!(
        "format = 1\nname = \"{}\"\ndimension = \"space\"\ngravity = {gravity}\nrun = {{ step = {:?}, end = 1.0 }}\n\
         scheme = {{ {scheme} = {{ {tolerances} }} }}\nmaterial = [{{ name = \"wood\", friction = {:?} }}]\n{bodies}",
        throw.name, throw.step, throw.friction
    );
    let mut simulation = parse(&text, "thrown.toml").unwrap_or_else(|error| panic!("{error}\n{text}")).simulation();
    simulation.run().unwrap();
    let (mut values, names) = (Vec::new(), simulation.system().column_names());
    simulation.system().record(simulation.state(), &mut values);
    let column = |name: &str| values[names.iter().position(|other| *other == format!("thing.{name}")).unwrap()];
    let back = |names: [&str; 3]| turn.inverse() * DVec3::from_array(names.map(column));
    [back(["x", "y", "z"]) / length, back(["vx", "vy", "vz"]) / length, back(["wx", "wy", "wz"])]
}

#[test]
fn axes_order_and_units_do_not_matter() {
    let throws = [
        Throw {
            name: "incline",
            friction: 0.5,
            lean: 0.459,
            shape: Shape::Block([0.2, 0.2, 0.1]),
            velocity: DVec3::ZERO,
            step: 0.01,
        },
        Throw {
            name: "sliding-block",
            friction: 0.5,
            lean: 0.0,
            shape: Shape::Block([0.4, 0.4, 0.1]),
            velocity: DVec3::new(5.996344962114574, 0.2093969802150058, 0.0),
            step: 1e-3,
        },
        Throw {
            name: "slide-to-roll",
            friction: 0.3,
            lean: 0.0,
            shape: Shape::Ball(0.1),
            velocity: DVec3::new(2.0, 0.0, 0.0),
            step: 5e-3,
        },
    ];
    let turns = [
        DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.7),
        DQuat::from_axis_angle(DVec3::new(-2.0, 0.3, 1.0).normalize(), 2.9),
        DQuat::from_rotation_z(0.3),
    ];
    for throw in &throws {
        for scheme in ["stewart-trinkle", "moreau-midpoint", "trapezoidal"] {
            let plain = end(throw, scheme, &PLAIN);
            let turned = turns.map(|turn| Writing { turn, ..PLAIN });
            let others = [
                Writing { length: 1e3, mass: 1e3, ..PLAIN },
                Writing { length: 39.37, mass: 2.2, ..PLAIN },
                Writing { is_reversed: true, ..PLAIN },
            ];
            for (number, writing) in turned.iter().chain(&others).enumerate() {
                let other = end(throw, scheme, writing);
                for (a, b) in plain.iter().zip(&other) {
                    let difference = (*a - *b).length() / a.length().max(1.0);
                    assert!(difference < 1e-9, "{}, {scheme}, writing {number}: {plain:?} {other:?}", throw.name);
                }
            }
        }
    }
}

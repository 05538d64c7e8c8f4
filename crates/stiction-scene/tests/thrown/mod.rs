//! Random bodies that are thrown on a floor.

use std::fmt::Write;

use stiction_dynamics::families::Generator;

/// A few boxes, capsules and balls above a floor, with this scheme, method and step.
pub fn scene(case: u64, scheme: &str, method: &str, h: f64) -> String {
    let mut random = Generator::new(1000 + case);
    let mu = [0.3, 0.8, 2.0][case as usize % 3];
    let mut text = format!(
        r#"
format = 1
name = "thrown"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = {{ step = {h:?}, end = 0.8 }}
scheme = {{ {scheme} }}
method = {{ {method} = {{}} }}
material = [{{ name = "wood", friction = {mu:?} }}]
# Boxes meet nothing but the floor yet.
ignore = [{{ groups = ["boxes", "boxes"] }}, {{ groups = ["boxes", "round"] }}]
[[body]]
name = "floor"
kind = "static"
material = "wood"
shape = [{{ half-space = {{ normal = [0.0, 0.0, 1.0] }} }}]
"#
    );
    for number in 0..2 + case % 4 {
        let (shape, group) = match number % 3 {
            0 => {
                let size = [0; 3].map(|_| random.uniform(0.06, 0.4));
                (format!("box = {{ size = {size:?} }}"), "boxes")
            }
            1 => {
                let (length, radius) = (random.uniform(0.1, 0.5), random.uniform(0.03, 0.1));
                (format!("capsule = {{ length = {length:?}, radius = {radius:?} }}"), "round")
            }
            _ => (format!("sphere = {{ radius = {:?} }}", random.uniform(0.05, 0.2)), "round"),
        };
        let density = random.uniform(50.0, 2000.0);
        let position = [0.7 * number as f64, random.uniform(-0.3, 0.3), random.uniform(0.35, 0.8)];
        let (velocity, spin) = (random.vector(2.0), random.vector(9.0));
        write!(
            text,
            "[[body]]\nname = \"b{number}\"\ngroup = \"{group}\"\nmaterial = \"wood\"\ndensity = {density:?}\n\
             position = {position:?}\nvelocity = {velocity:?}\nangular-velocity = {spin:?}\nshape = [{{ {shape} }}]\n"
        )
        .expect("writing to a string");
    }
    text
}

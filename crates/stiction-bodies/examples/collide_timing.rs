//! Times of the contact search between two boxes or hulls, in ns of this thread: at rest with sides
//! aligned and turned, tilted, in any way, apart, and farther apart than what is looked for.
//!
//! `cargo run -p stiction-bodies --example collide_timing [box]`; a name picks one kind.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use stiction_bodies::collide::collide;
use stiction_bodies::glamx::{DQuat, DVec3};
use stiction_bodies::{Dimension, Polytope, Pose, Shape};
use stiction_dynamics::families::Generator;

/// Least time of a call over many batches: others share the machine.
fn least_time(mut call: impl FnMut()) -> f64 {
    let batch = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..200).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / 200.0
    };
    (0..100).map(|_| batch(&mut call)).fold(f64::INFINITY, f64::min)
}

/// A hull of points on a ball that stands on one of its faces: turned so that it looks down.
fn hull(random: &mut Generator, count: usize) -> (Shape, DQuat, f64) {
    let points: Vec<_> = (0..count).map(|_| 0.5 * DVec3::from_array(random.vector(1.0)).normalize()).collect();
    let polytope = Polytope::hull(&points).expect("points around a volume");
    let face = polytope.faces()[0];
    let down = DQuat::from_rotation_arc(face.normal, -DVec3::Z);
    (Shape::Polytope(Arc::new(polytope)), down, face.offset)
}

fn main() {
    let mut random = Generator::new(3);
    let unit = (Shape::Cuboid { half_extents: DVec3::splat(0.5) }, DQuat::IDENTITY, 0.5);
    let shapes = [
        ("box", unit.clone()),
        ("hull 8", hull(&mut random, 8)),
        ("hull 20", hull(&mut random, 20)),
        ("hull 50", hull(&mut random, 50)),
        ("hull 200", hull(&mut random, 200)),
    ];
    let columns = ["", "aligned", "rest", "tilted", "any way", "apart", "far", "points"];
    println!("{}", columns.map(|column| format!("{column:>9}")).concat());
    let only = std::env::args().nth(1);
    for (name, (shape, down, height)) in shapes.iter().filter(|(name, _)| only.as_deref().is_none_or(|o| o == *name)) {
        // On the face that the other one turns up.
        let ground = Pose::new(DVec3::ZERO, DQuat::from_rotation_x(std::f64::consts::PI) * *down);
        let turn = |z: f64, tilt: f64, yaw: f64| {
            let place = DVec3::new(0.02, 0.01, 2.0 * height + z);
            Pose::new(place, (DQuat::from_rotation_x(tilt) * DQuat::from_rotation_z(yaw) * *down).normalize())
        };
        let mut points = 0;
        let mut time = |pose: Pose, horizon: f64| {
            let mut touches = Vec::new();
            let took = least_time(|| {
                touches.clear();
                let (first, second) = (black_box((shape, &pose)), (shape, &ground));
                collide(Dimension::Space, first.0, first.1, second.0, second.1, horizon, &mut touches);
                black_box(&touches);
            });
            points = points.max(touches.len());
            took
        };
        let aligned = time(turn(-1e-9, 0.0, 0.0), 1e-3);
        let rest = time(turn(-1e-9, 0.0, 0.3), 1e-3);
        let tilted = time(turn(1e-3, 0.01, 0.3), 1e-2);
        let poses: Vec<Pose> = (0..20)
            .map(|_| {
                let [x, y, z] = random.vector(1.0);
                let place = 0.9 * DVec3::from_array(random.vector(1.0)).normalize();
                Pose::new(place, DQuat::from_xyzw(x, y, z, random.uniform(-1.0, 1.0)).normalize())
            })
            .collect();
        let any = poses.iter().map(|pose| time(*pose, 0.05)).sum::<f64>() / 20.0;
        let (apart, far) = (time(turn(0.1, 0.01, 0.3), 0.2), time(turn(0.1, 0.01, 0.3), 0.05));
        let times = [aligned, rest, tilted, any, apart, far, points as f64];
        println!("{name:>9}{}", times.map(|time| format!("{time:>9.0}")).concat());
    }
}

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, Simulation, StewartTrinkle, StewartTrinkleSettings, TimeGrid,
};

use super::contacts::tangent_directions;
use super::*;
use crate::body::{AppliedForce, Body, BodyKind, BodyShape, DryFriction, ForceAxes, Motion, Oscillation};
use crate::material::{CombinationRule, Material, MaterialTable, Surface};
use crate::pose::Pose;
use crate::shape::{Dimension, PlacedShape, Shape};

pub(super) fn body(name: &str, kind: BodyKind, shape: Shape) -> Body {
    Body {
        name: name.into(),
        kind,
        pose: Pose::IDENTITY,
        turns: 0,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        shapes: vec![BodyShape { placed: PlacedShape::centred(shape), material: 0 }],
        group: 0,
    }
}

pub(super) fn model(dimension: Dimension, bodies: Vec<Body>) -> MultibodyModel {
    MultibodyModel {
        dimension,
        gravity: if dimension == Dimension::Plane { DVec3::new(0.0, -9.81, 0.0) } else { DVec3::new(0.0, 0.0, -9.81) },
        bodies,
        materials: MaterialTable {
            materials: vec![Material {
                name: "steel".into(),
                surface: Surface { friction: 0.5, ..Default::default() },
            }],
            ..Default::default()
        },
        forces: Vec::new(),
        dry_friction: Vec::new(),
        clutches: Vec::new(),
        joints: Vec::new(),
        springs: Vec::new(),
        torsion_springs: Vec::new(),
        ignored_pairs: Vec::new(),
        ignored_groups: Vec::new(),
        group_names: vec!["default".into()],
    }
}

pub(super) const SPHERE: Shape = Shape::Sphere { radius: 0.5 };
const FLOOR: Shape = Shape::HalfSpace { normal: DVec3::Z, offset: 0.0 };

pub(super) fn rigid(mass: f64, inertia: DVec3) -> BodyKind {
    BodyKind::Rigid { mass, inertia: DMat3::from_diagonal(inertia) }
}

fn simulate(model: MultibodyModel, h: f64, end: f64) -> (Simulation, Audit) {
    let system = Multibody::new(model).unwrap();
    let start = system.start(0.0);
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let scheme = StewartTrinkle::new(StewartTrinkleSettings::default(), solver);
    let grid = TimeGrid { start: 0.0, end, step: h };
    let mut simulation = Simulation::new(Box::new(system), Box::new(scheme), start, grid);
    let mut audit = Audit::default();
    simulation
        .run_with(|s| {
            audit.observe(s.system(), s.before(), s.last_step());
        })
        .unwrap();
    (simulation, audit)
}

/// Rows against differences: the gap and the sliding of two moving bodies, one of them prescribed.
#[test]
fn rows_and_drift_are_the_rates_of_the_gaps() {
    let mut first = body("a", rigid(2.0, DVec3::new(0.1, 0.2, 0.25)), Shape::Capsule { half_length: 0.4, radius: 0.1 });
    first.pose = Pose::new(DVec3::new(0.1, -0.2, 0.3), DQuat::from_xyzw(0.2, -0.1, 0.3, 0.9).normalize());
    first.velocity = DVec3::new(0.3, -0.4, 0.5);
    first.angular_velocity = DVec3::new(1.0, 2.0, -0.5);
    let motion = Motion {
        velocity: DVec3::new(0.2, 0.1, -0.3),
        angular_velocity: DVec3::new(0.3, -0.7, 0.2),
        oscillations: vec![
            Oscillation { amplitude: DVec3::new(0.01, 0.0, 0.02), frequency: 3.0, phase: 0.4 },
            Oscillation { amplitude: DVec3::new(0.02, 0.01, 0.0), frequency: 3.0, phase: 1.9 },
        ],
        surface_velocity: DVec3::ZERO,
    };
    let mut second = body("b", BodyKind::Prescribed(motion), SPHERE);
    second.pose = Pose::new(DVec3::new(0.4, 0.5, 0.8), DQuat::IDENTITY);
    let system = Multibody::new(model(Dimension::Space, vec![first, second])).unwrap();
    let state = system.start(0.2);
    let contacts_at = |dt: f64| {
        let mut q = state.q.clone();
        system.advance(0.0, &state.q, &state.v, dt, &mut q);
        let mut contacts = Vec::new();
        system.contacts(state.t + dt, &q, f64::INFINITY, &mut contacts);
        contacts
    };
    let (now, dt) = (contacts_at(0.0), 1e-6);
    assert_eq!(now.len(), 1);
    let rate = (contacts_at(dt)[0].gap - contacts_at(-dt)[0].gap) / (2.0 * dt);
    let computed = now[0].normal.dot(&state.v) + now[0].normal_drift;
    assert!((rate - computed).abs() < 1e-8, "{rate} {computed}");
    // The tangential velocity by hand: difference of the velocities of the two surface points along
    // the tangents.
    let point = DVec3::from(now[0].frame.unwrap().point);
    let normal = DVec3::from(now[0].frame.unwrap().normal);
    let at = |number: usize, point: DVec3| {
        let (v, w) = system.velocity(number, &state);
        v + w.cross(point - system.pose(number, state.t, &state.q).position)
    };
    let half_gap = 0.5 * now[0].gap * normal;
    let slip = at(0, point + half_gap) - at(1, point - half_gap);
    for (a, direction) in tangent_directions(Dimension::Space, normal).into_iter().enumerate() {
        let computed = now[0].tangents[a].dot(&state.v) + now[0].tangent_drift[a];
        assert!((computed - slip.dot(direction)).abs() < 1e-14);
        assert!(direction.dot(normal).abs() < 1e-15 && (direction.length() - 1.0).abs() < 1e-15);
    }
}

#[test]
fn the_end_of_a_motion_moves_with_its_velocity() {
    // One body whose spin is in world axes, and one whose spin is in body axes.
    let ball = body("ball", rigid(1.0, DVec3::splat(0.4)), Shape::Sphere { radius: 1.0 });
    let top = body("top", rigid(1.0, DVec3::new(1.0, 2.0, 2.5)), Shape::Sphere { radius: 1.0 });
    let system = Multibody::new(model(Dimension::Space, vec![ball, top])).unwrap();
    let q = [0.1, 0.2, 3.0, 0.8, 0.0, 0.6, 0.0, 4.0, 0.2, 3.0, 0.8, 0.0, 0.6, 0.0];
    let v = [1.0, 2.0, 3.0, -0.9, 2.0, 0.7, 0.5, 0.1, 0.3, 1.9, -2.0, 0.8];
    let w = [0.3, -0.2, 0.1, 1.0, -0.4, 0.8, 0.2, 0.4, -0.7, 0.9, 0.5, -1.0];
    for h in [1e-3, 0.02, 0.4] {
        let (mut end, mut moved, mut expected) = (q.to_vec(), q.to_vec(), q.to_vec());
        let mut found = [0.0; 12];
        system.advance(0.0, &q, &v, h, &mut end);
        system.advance_derivative(0.0, &q, &v, h, &w, &mut found);
        let epsilon = 1e-5;
        for sign in [1.0, -1.0] {
            let changed: Vec<f64> = v.iter().zip(w).map(|(v, w)| v + sign * epsilon * w).collect();
            system.advance(0.0, &q, &changed, h, &mut moved);
            system.advance(0.0, &end, &found, sign * epsilon * h, &mut expected);
            let error = moved.iter().zip(&expected).fold(0.0f64, |error, (a, b)| error.max((a - b).abs()));
            assert!(error < 1e-10 * h, "h = {h}: {error:e}");
        }
    }
}

#[test]
fn a_free_top_turns_as_it_must_to_order_one() {
    // [PAGT] free top: ω(10) = (0.20605198904, 0.56350916391, 1.36167267508) for I = (1, 2, 3), ω₀
    // = (0.6, 0, 1.4).
    let error = |h: f64| {
        let mut top = body("top", rigid(1.0, DVec3::new(1.0, 2.0, 3.0)), SPHERE);
        top.angular_velocity = DVec3::new(0.6, 0.0, 1.4);
        let mut model = model(Dimension::Space, vec![top]);
        model.gravity = DVec3::ZERO;
        let (simulation, _) = simulate(model, h, 10.0);
        let v = &simulation.state().v;
        let exact = [0.20605198904, 0.56350916391, 1.36167267508];
        (0..3).fold(0.0f64, |worst, i| worst.max((v[3 + i] - exact[i]).abs()))
    };
    let (coarse, fine) = (error(1e-3), error(2.5e-4));
    assert!(fine < 2e-3, "{fine}");
    assert!((3.2..5.0).contains(&(coarse / fine)), "order one: {coarse} {fine}");
}

#[test]
fn a_ball_slides_then_rolls() {
    // v₀ = 2, μ = 0.3: rolls from t = 2v₀/(7μg) = 0.194165 s with 5/7 v₀ = 1.428571 m/s.
    let mut ball = body("ball", rigid(1.0, DVec3::splat(0.1)), SPHERE); // (2/5) m r²
    ball.pose.position.z = 0.5;
    ball.velocity.x = 2.0;
    let mut model = model(Dimension::Space, vec![body("floor", BodyKind::Static, FLOOR), ball]);
    model.materials.materials[0].surface.friction = 0.3;
    let (simulation, audit) = simulate(model, 1e-4, 0.5);
    let v = &simulation.state().v;
    assert!((v[0] - 2.0 * 5.0 / 7.0).abs() < 1e-9, "{v:?}");
    assert!((v[0] - 0.5 * v[4]).abs() < 1e-9, "rolls without sliding: {v:?}");
    assert!((simulation.state().q[2] - 0.5).abs() < 1e-12);
    assert!(audit.worst.kinetic_balance < 1e-10 && audit.worst.momentum < 1e-12, "{:?}", audit.worst);
    assert!(audit.worst.energy.unexplained.abs() < 1e-12, "{:?}", audit.worst);
}

#[test]
fn points_forces_and_dry_friction_in_the_plane() {
    // A point of 2 kg without gravity: 6 N for one second, dry friction 2 N: a = 2 m/s² and 1 m/s²
    // back afterwards.
    let mut point = body("point", BodyKind::Point { mass: 2.0 }, SPHERE);
    point.shapes.clear();
    let mut model = model(Dimension::Plane, vec![point]);
    model.gravity = DVec3::ZERO;
    model.forces.push(AppliedForce {
        body: 0,
        force: DVec3::new(6.0, 0.0, 0.0),
        torque: DVec3::ZERO,
        point: DVec3::ZERO,
        axes: ForceAxes::World,
        from: 0.0,
        until: 1.0,
    });
    model.dry_friction.push(DryFriction {
        name: "brake".into(),
        body: 0,
        against: None,
        point: DVec3::ZERO,
        axes: vec![DVec3::X, DVec3::Y],
        is_rotational: false,
        bound: 2.0,
        static_bound: None,
        semi_axes: [1.0; 2],
        shape: Default::default(),
        bias: 0.0,
    });
    let (simulation, audit) = simulate(model, 1e-3, 2.0);
    assert!((simulation.state().v[0] - 1.0).abs() < 1e-12, "{:?}", simulation.state());
    // The force gave 6 N · 1 m (up to order h), friction took 2 N · (1 + 1.5) m.
    assert!((audit.sum.energy.applied - 6.0).abs() < 1e-9, "{:?}", audit.sum.energy);
    assert!((audit.sum.energy.friction + 5.0).abs() < 1e-9, "{:?}", audit.sum.energy);
}

#[test]
fn a_force_beside_the_centre_turns_the_body() {
    let mut bar = body("bar", rigid(1.0, DVec3::new(1.0, 1.0, 0.5)), SPHERE);
    bar.pose = Pose::new(DVec3::ZERO, DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
    let mut model = model(Dimension::Space, vec![bar]);
    model.gravity = DVec3::ZERO;
    // Body point (1, 0, 0) lies at world (0, 1, 0); body force (0, 1, 0) is world (-1, 0, 0):
    // torque (0,1,0)×(-1,0,0) = +z.
    model.forces.push(AppliedForce {
        body: 0,
        force: DVec3::Y,
        torque: DVec3::ZERO,
        point: DVec3::X,
        axes: ForceAxes::Body,
        from: 0.0,
        until: f64::INFINITY,
    });
    let system = Multibody::new(model).unwrap();
    let start = system.start(0.0);
    let mut k = vec![0.0; 6];
    system.force(0.0, &start.q, &start.v, &mut k);
    for (i, expected) in [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0].into_iter().enumerate() {
        assert!((k[i] - expected).abs() < 1e-15, "{k:?}");
    }
}

#[test]
fn what_cannot_collide_is_refused_by_name_and_can_be_excluded() {
    let egg = Shape::Ellipsoid { semi_axes: DVec3::new(0.5, 0.4, 0.3) };
    let bodies =
        || vec![body("egg", rigid(1.0, DVec3::ONE), egg.clone()), body("ball", rigid(1.0, DVec3::ONE), SPHERE)];
    let error = Multibody::new(model(Dimension::Space, bodies())).unwrap_err().to_string();
    assert!(error.contains("ellipsoid of body `egg`") && error.contains("sphere of body `ball`"), "{error}");
    let mut excluded = model(Dimension::Space, bodies());
    excluded.ignored_pairs.push((1, 0));
    assert!(Multibody::new(excluded).is_ok());
    let mut grouped = model(Dimension::Space, bodies());
    grouped.bodies[1].group = 1;
    grouped.ignored_groups.push((1, 0));
    assert!(Multibody::new(grouped).is_ok());
}

#[test]
fn excluded_bodies_pass_through_each_other() {
    let pair = |ignore: bool| {
        let mut left = body("left", rigid(1.0, DVec3::splat(0.1)), SPHERE);
        left.pose.position.x = -1.0;
        left.velocity.x = 2.0;
        let mut model = model(Dimension::Space, vec![left, body("right", rigid(1.0, DVec3::splat(0.1)), SPHERE)]);
        model.gravity = DVec3::ZERO;
        model.ignored_pairs.extend(ignore.then_some((0, 1)));
        simulate(model, 1e-2, 1.0).0.state().v[0]
    };
    assert_eq!(pair(true), 2.0);
    assert!((pair(false) - 1.0).abs() < 1e-12, "inelastic: both go on with half the speed");
}

#[test]
fn missing_friction_and_bad_numbers_are_named() {
    let bodies = || {
        let mut ball = body("ball", rigid(1.0, DVec3::ONE), SPHERE);
        ball.shapes[0].material = 1;
        vec![ball, body("floor", BodyKind::Static, FLOOR)]
    };
    let mut table = model(Dimension::Space, bodies());
    table
        .materials
        .materials
        .push(Material { name: "rubber".into(), surface: Surface { friction: 0.9, ..Default::default() } });
    let error = Multibody::new(table.clone()).unwrap_err().to_string();
    assert!(error.contains("`ball` of `rubber` can touch body `floor` of `steel`"), "{error}");
    table.materials.rule = Some(CombinationRule::Mean);
    assert!(Multibody::new(table).is_ok());

    let refuse = |change: fn(&mut MultibodyModel)| {
        let mut model = model(Dimension::Space, vec![body("ball", rigid(1.0, DVec3::ONE), SPHERE)]);
        change(&mut model);
        Multibody::new(model).unwrap_err().to_string()
    };
    assert!(refuse(|m| m.bodies[0].kind = rigid(f64::NAN, DVec3::ONE)).contains("mass is NaN"));
    assert!(refuse(|m| m.bodies[0].kind = rigid(0.0, DVec3::ONE)).contains("mass is 0"));
    assert!(refuse(|m| m.bodies[0].kind = rigid(1.0, DVec3::new(1.0, -1.0, 1.0))).contains("inertia tensor"));
    assert!(refuse(|m| m.materials.materials[0].surface.friction = -0.1).contains("friction is -0.1"));
    assert!(refuse(|m| m.materials.materials[0].surface.restitution.normal = 1.5).contains("restitution is 1.5"));
    assert!(refuse(|m| m.bodies[0].shapes[0].placed.shape = FLOOR).contains("cannot move freely"));
    assert!(refuse(|m| m.bodies[0].shapes[0].placed.shape = Shape::Sphere { radius: -1.0 }).contains("`ball`"));
}

/// Rows against differences along `advance`, coordinate by coordinate, for every pair of shapes
/// that has one smooth gap.
#[test]
fn rows_are_the_gradients_of_the_gaps() {
    let ellipsoid = Shape::Ellipsoid { semi_axes: DVec3::new(0.3, 0.2, 0.1) };
    let ball = Shape::Sphere { radius: 0.2 };
    let capsule = Shape::Capsule { half_length: 0.3, radius: 0.1 };
    let cuboid = Shape::Cuboid { half_extents: DVec3::new(0.3, 0.2, 0.1) };
    let tilted = |v: DVec3| Shape::HalfSpace { normal: v.normalize(), offset: -0.4 };
    let (space, plane) = (DVec3::new(0.2, -0.3, 0.9), DVec3::new(0.4, 0.9, 0.0));
    let cases = [
        (Dimension::Plane, ball.clone(), Shape::Cavity { radius: 1.5 }),
        (Dimension::Plane, Shape::Sphere { radius: 0.0 }, Shape::Cavity { radius: 1.5 }),
        (Dimension::Plane, capsule.clone(), Shape::Cavity { radius: 1.5 }),
        (Dimension::Plane, cuboid.clone(), Shape::Cavity { radius: 1.5 }),
        (Dimension::Plane, ellipsoid.clone(), tilted(plane)),
        (Dimension::Plane, ball.clone(), SPHERE),
        (Dimension::Space, ball.clone(), Shape::Cavity { radius: 1.5 }),
        (Dimension::Space, cuboid.clone(), Shape::Cavity { radius: 1.5 }),
        (Dimension::Space, ball.clone(), Shape::Tube { radius: 1.2 }),
        (Dimension::Space, capsule, Shape::Tube { radius: 1.2 }),
        (Dimension::Space, cuboid, Shape::Tube { radius: 1.2 }),
        (Dimension::Space, ball.clone(), Shape::Cylinder { radius: 0.3, half_length: f64::INFINITY }),
        (Dimension::Space, ellipsoid, tilted(space)),
        (Dimension::Space, ball, SPHERE),
    ];
    for (dimension, first, second) in cases {
        for inertia in [DVec3::splat(0.3), DVec3::new(0.2, 0.3, 0.4)] {
            let mut moving = body("moving", rigid(1.0, inertia), first.clone());
            let mut still = body("still", BodyKind::Static, second.clone());
            let turn = |angle: f64| match dimension {
                Dimension::Plane => DQuat::from_rotation_z(angle),
                Dimension::Space => DQuat::from_scaled_axis(angle * DVec3::new(0.6, -0.5, 0.4)),
            };
            let z = if dimension == Dimension::Space { 0.3 } else { 0.0 };
            moving.pose = Pose::new(DVec3::new(0.5, 0.7, z), turn(0.8));
            moving.shapes[0].placed.position = DVec3::new(0.1, -0.05, 0.3 * z); // off the centre of mass
            moving.shapes[0].placed.orientation = turn(-0.3);
            still.pose = Pose::new(DVec3::new(0.1, -0.1, z / 2.0), turn(1.9));
            // Both may move where they can.
            if second.may_move() {
                still.kind = rigid(2.0, DVec3::new(0.5, 0.4, 0.3));
                still.shapes[0].placed.position = DVec3::new(-0.15, 0.1, 0.2 * z);
            }
            let system = Multibody::new(model(dimension, vec![still, moving])).unwrap();
            let (state, n) = (system.start(0.0), system.velocity_count());
            let contacts_at = |direction: &[f64], h: f64| {
                let (mut q, mut contacts) = (state.q.clone(), Vec::new());
                system.advance(0.0, &state.q, direction, h, &mut q);
                system.contacts(0.0, &q, f64::INFINITY, &mut contacts);
                contacts
            };
            let contacts = contacts_at(&vec![0.0; n], 0.0);
            assert!(!contacts.is_empty());
            // An id leads back to its contact alone.
            let mut all = Vec::new();
            system.contacts(0.0, &state.q, f64::INFINITY, &mut all);
            for contact in &all {
                let mut found = Vec::new();
                system.contacts_of(0.0, &state.q, &[contact.id], &mut found);
                assert_eq!(found, std::slice::from_ref(contact));
            }
            for (number, contact) in contacts.iter().enumerate() {
                for i in 0..n {
                    let mut direction = vec![0.0; n];
                    direction[i] = 1.0;
                    let step = 1e-5;
                    let gap = |h: f64| contacts_at(&direction, h)[number].gap;
                    // Curvatures of up to 1/0.1 m: 1e-9 of truncation, 1e-11 of rounding.
                    let measured = (gap(step) - gap(-step)) / (2.0 * step);
                    let computed = contact.normal.dot(&direction);
                    assert!((measured - computed).abs() < 1e-8, "{first:?} {second:?} {i}: {measured} {computed}");
                }
            }
        }
    }
}

/// A pin in the hole of a link, both moving and turning: the gap in closed form, its rate and the
/// sliding against differences, the contact on the side of the hole to which the pin has moved, in
/// whichever order the bodies are listed.
#[test]
fn a_pin_in_the_hole_of_a_moving_link() {
    let (r, bore) = (0.02, 0.025);
    let mut pin = body("pin", rigid(0.4, DVec3::splat(0.01)), Shape::Sphere { radius: r });
    let mut link = body("link", rigid(0.7, DVec3::splat(0.02)), Shape::Cavity { radius: bore });
    let (pin_at, hole_at) = (DVec3::new(0.1, 0.03, 0.0), DVec3::new(-0.2, -0.01, 0.0));
    pin.shapes[0].placed.position = pin_at;
    link.shapes[0].placed.position = hole_at;
    let (turn_pin, turn_link) = (DQuat::from_rotation_z(0.7), DQuat::from_rotation_z(-1.3));
    let offset = DVec3::new(0.003, 0.004, 0.0); // centre of the pin in the hole, 5 mm: it touches
    pin.pose = Pose::new(offset - turn_pin * pin_at, turn_pin);
    link.pose = Pose::new(-(turn_link * hole_at), turn_link);
    (pin.velocity, pin.angular_velocity) = (DVec3::new(0.3, -0.2, 0.0), DVec3::new(0.0, 0.0, 1.7));
    (link.velocity, link.angular_velocity) = (DVec3::new(-0.1, 0.25, 0.0), DVec3::new(0.0, 0.0, -2.3));
    for bodies in [vec![pin.clone(), link.clone()], vec![link.clone(), pin.clone()]] {
        let pin_is_first = bodies[0].name == "pin";
        let system = Multibody::new(model(Dimension::Plane, bodies)).unwrap();
        let state = system.start(0.0);
        let pose_at = |h: f64, body: usize| {
            let mut q = state.q.clone();
            system.advance(0.0, &state.q, &state.v, h, &mut q);
            system.pose(body, h, &q)
        };
        let contact_at = |h: f64| {
            let (mut q, mut contacts) = (state.q.clone(), Vec::new());
            system.advance(0.0, &state.q, &state.v, h, &mut q);
            system.contacts(h, &q, f64::INFINITY, &mut contacts);
            assert_eq!(contacts.len(), 1);
            contacts.remove(0)
        };
        let (pin_body, link_body) = if pin_is_first { (0, 1) } else { (1, 0) };
        let centres =
            |h: f64| pose_at(h, pin_body).transform_point(pin_at) - pose_at(h, link_body).transform_point(hole_at);
        let contact = contact_at(0.0);
        for h in [0.0, 1e-3, 5e-3, -2e-3] {
            assert!((contact_at(h).gap - (bore - r - centres(h).length())).abs() < 1e-15);
        }
        // From the second to the first: into the hole on the pin, outwards on the link.
        let frame = contact.frame.unwrap();
        let (normal, point) = (DVec3::from(frame.normal), DVec3::from(frame.point));
        let outwards = offset / offset.length();
        assert!((normal - if pin_is_first { -outwards } else { outwards }).length() < 1e-14, "{normal}");
        assert!((point - bore * outwards).length() < 1e-14, "{point}");
        let step = 1e-6;
        let rate = (contact_at(step).gap - contact_at(-step).gap) / (2.0 * step);
        // The centres turn about each other with some 100 rad/s: a third derivative of up to 1e4
        // m/s³ gives 2e-9, rounding 1e-10.
        assert!((rate - contact.normal.dot(&state.v)).abs() < 1e-8, "{rate}");
        // Sliding: the velocities of the two material points at the contact.
        let velocity = |body: usize| {
            let local = pose_at(0.0, body).inverse_transform_point(point);
            let small = 1e-6;
            (pose_at(small, body).transform_point(local) - pose_at(-small, body).transform_point(local)) / (2.0 * small)
        };
        let slip = tangent_directions(Dimension::Plane, normal)[0].dot(velocity(0) - velocity(1));
        assert!((slip - contact.tangents[0].dot(&state.v)).abs() < 1e-9, "{slip}");
    }
    // In the middle there is no direction, and still a contact with a normal.
    pin.pose.position -= offset;
    let system = Multibody::new(model(Dimension::Plane, vec![link, pin])).unwrap();
    let (state, mut contacts) = (system.start(0.0), Vec::new());
    system.contacts(0.0, &state.q, 1.0, &mut contacts);
    let frame = contacts[0].frame.unwrap();
    assert!((contacts[0].gap - (bore - r)).abs() < 1e-15 && (DVec3::from(frame.normal).length() - 1.0).abs() < 1e-15);
    assert!(contacts[0].normal.dot(&state.v).is_finite() && contacts[0].tangents[0].dot(&state.v).is_finite());
}

#[test]
fn infinite_shapes_other_than_holes_do_not_move_freely() {
    for shape in [FLOOR, Shape::Cylinder { radius: 1.0, half_length: f64::INFINITY }] {
        let free = model(Dimension::Space, vec![body("hole", rigid(1.0, DVec3::ONE), shape)]);
        let error = Multibody::new(free).unwrap_err().to_string();
        assert!(error.contains("is infinite and cannot move freely"), "{error}");
    }
}

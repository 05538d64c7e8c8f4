//! Rates of rows in closed form against differences: every pair of shapes, every joint, in both
//! dimensions, between bodies that move freely and bodies that are driven.

#[path = "common/model.rs"]
mod common;

use std::sync::Arc;

use common::flat;
use stiction_bodies::collide::{is_supported, never_meet};
use stiction_bodies::glamx::{DMat3, DQuat, DVec3};
use stiction_bodies::{
    Body, BodyJoint, BodyKind, BodyShape, Clutch, Dimension, DryFriction, Grain, JointDrive, JointFrame, JointKind,
    JointLimits, Motion, Multibody, MultibodyModel, Oscillation, PlacedShape, Polygon, Polyline, Polytope, Pose, Shape,
};
use stiction_dynamics::families::Generator;
use stiction_dynamics::{ContactId, MechanicalSystem, RowRates, State};

const DIMENSIONS: [Dimension; 2] = [Dimension::Plane, Dimension::Space];

/// Without gravity, and with friction about the normal.
fn model(dimension: Dimension, bodies: Vec<Body>) -> MultibodyModel {
    let mut model = common::model(dimension, bodies);
    model.gravity = DVec3::ZERO;
    model.materials.materials[0].surface.torsion_radius = 0.1;
    model
}

fn shapes(dimension: Dimension) -> Vec<Shape> {
    let mut shapes = vec![
        Shape::HalfSpace { normal: flat(dimension, DVec3::new(0.48, 0.6, 0.64)).normalize(), offset: -1.5 },
        Shape::Sphere { radius: 0.3 },
        Shape::Capsule { half_length: 0.7, radius: 0.2 },
        Shape::Cuboid { half_extents: DVec3::new(0.3, 0.5, 0.4) },
        Shape::Ellipsoid { semi_axes: DVec3::new(0.3, 0.5, 0.8) },
        Shape::Cavity { radius: 4.0 },
    ];
    if dimension == Dimension::Space {
        shapes.extend([
            Shape::Cylinder { radius: 0.25, half_length: f64::INFINITY },
            Shape::Tube { radius: 4.0 },
            Shape::Cylinder { radius: 0.25, half_length: 0.4 },
            Shape::Cone { radius: 0.3, half_height: 0.4 },
            Shape::Polytope(Arc::new(Polytope::hull(&[DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z]).unwrap())),
        ]);
    }
    if dimension == Dimension::Plane {
        let corners = [(0.5, 0.1), (0.2, 0.6), (-0.4, 0.4), (-0.5, -0.3), (0.1, -0.5)];
        let corners: Vec<DVec3> = corners.into_iter().map(|(x, y)| DVec3::new(x, y, 0.0)).collect();
        shapes.push(Shape::Polygon(Arc::new(Polygon::new(corners.clone()).unwrap())));
        // A wedge cut out makes it concave.
        let chain = corners.into_iter().rev().chain([DVec3::new(0.1, 0.05, 0.0)]).collect();
        shapes.push(Shape::Polyline(Arc::new(Polyline::new(chain, true).unwrap())));
    }
    shapes
}

fn vector(random: &mut Generator, dimension: Dimension, size: f64) -> DVec3 {
    flat(dimension, DVec3::from_array([0; 3].map(|_| random.uniform(-size, size))))
}

/// An angular velocity, or an axis of rotation.
fn spin(random: &mut Generator, dimension: Dimension) -> DVec3 {
    match dimension {
        Dimension::Plane => random.uniform(-2.0, 2.0) * DVec3::Z,
        Dimension::Space => vector(random, dimension, 2.0),
    }
}

fn turned(random: &mut Generator, dimension: Dimension) -> DQuat {
    DQuat::from_scaled_axis(spin(random, dimension))
}

/// A body with a shape off its centre, free or driven in all the ways that there are.
fn body(name: &str, random: &mut Generator, dimension: Dimension, shape: Option<Shape>, is_driven: bool) -> Body {
    let (position, orientation) = (vector(random, dimension, 0.3), turned(random, dimension));
    let placed = shape.map(|shape| PlacedShape { shape, position, orientation });
    let mut body = Body {
        name: name.into(),
        kind: BodyKind::Rigid { mass: 1.0, inertia: DMat3::IDENTITY },
        pose: Pose::new(vector(random, dimension, 1.0), turned(random, dimension)),
        turns: 0,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        shapes: placed.into_iter().map(|placed| BodyShape { placed, material: 0 }).collect(),
        group: 0,
    };
    if is_driven {
        body.kind = BodyKind::Prescribed(Motion {
            velocity: vector(random, dimension, 1.0),
            angular_velocity: spin(random, dimension),
            oscillations: vec![
                Oscillation { amplitude: vector(random, dimension, 0.2), frequency: 0.7, phase: 0.4 },
                Oscillation { amplitude: flat(dimension, DVec3::new(0.05, -0.08, 0.03)), frequency: 0.9, phase: 1.3 },
            ],
            surface_velocity: vector(random, dimension, 1.0),
        });
    } else {
        body.velocity = vector(random, dimension, 1.0);
        body.angular_velocity = spin(random, dimension);
    }
    body
}

/// Rates of all rows by kind: normals, tangents, friction, joints.
type Rows = [Vec<f64>; 4];

/// $n v$, $T v$ and $\nu v$ with their drifts after `tau` seconds of the motion with constant
/// velocities; of the contacts with these ids, in their order.
fn rates_after(system: &Multibody, state: &State, ids: &[ContactId], tau: f64) -> Rows {
    let (t, v) = (state.t + tau, &state.v);
    let mut q = state.q.clone();
    system.advance(0.0, &state.q, v, tau, &mut q);
    let (mut contacts, mut friction, mut joints) = (Vec::new(), Vec::new(), Vec::new());
    system.contacts_of(t, &q, ids, &mut contacts);
    system.friction_elements(t, &q, &mut friction);
    system.joints(t, &q, &mut joints);
    contacts.sort_by_key(|contact| contact.id);
    [
        contacts.iter().map(|contact| contact.normal.dot(v) + contact.normal_drift).collect(),
        contacts.iter().flat_map(|contact| contact.slip(v)).collect(),
        friction.iter().flat_map(|element| element.slip(v)).collect(),
        joints.iter().map(|joint| joint.row.dot(v) + joint.drift).collect(),
    ]
}

/// Compares all rates of a system at its start with central differences, extrapolated twice; the
/// number of rows by kind whose rate is not zero.
#[track_caller]
fn compare(model: MultibodyModel, what: &str) -> [usize; 4] {
    let system = Multibody::new(model).unwrap();
    let state = system.start(0.3);
    let (t, q, v) = (state.t, &state.q, &state.v);
    let (mut contacts, mut friction, mut joints) = (Vec::new(), Vec::new(), Vec::new());
    system.contacts(t, q, f64::INFINITY, &mut contacts);
    system.friction_elements(t, q, &mut friction);
    system.joints(t, q, &mut joints);
    contacts.sort_by_key(|contact| contact.id);
    let ids: Vec<ContactId> = contacts.iter().map(|contact| contact.id).collect();
    let mut exact = RowRates::default();
    system.row_rates(t, q, v, (&contacts, &friction, &joints), &mut exact);
    let [tangents, of_friction] = [&exact.tangents, &exact.friction].map(|rows| rows.as_flattened().to_vec());
    let exact: Rows = [exact.normals, tangents, of_friction, exact.joints];
    // What systems without closed forms have.
    let mut plain = RowRates::default();
    plain.by_differences(&system, (t, q, v), (&contacts, &friction, &joints));
    let [tangents, of_friction] = [&plain.tangents, &plain.friction].map(|rows| rows.as_flattened().to_vec());
    let plain: Rows = [plain.normals, tangents, of_friction, plain.joints];

    let steps = [4e-4, 2e-4, 1e-4];
    let differences = steps.map(|tau| {
        let (ahead, behind) = (rates_after(&system, &state, &ids, tau), rates_after(&system, &state, &ids, -tau));
        let slope = |(a, b): (&f64, &f64)| (a - b) / (2.0 * tau);
        let rows = std::array::from_fn(|kind| ahead[kind].iter().zip(&behind[kind]).map(slope).collect());
        let same_length = |kind: usize| ahead[kind].len() == behind[kind].len();
        ((0..4).all(same_length), rows)
    });
    let [(_, coarse), (_, middle), (_, fine)]: [(bool, Rows); 3] = differences.clone();
    assert!(differences.iter().all(|(is_whole, _)| *is_whole), "{what}: a contact comes or goes");
    let mut counts = [0; 4];
    for (kind, name) in ["normal", "tangent", "friction", "joint"].into_iter().enumerate() {
        assert_eq!(exact[kind].len(), fine[kind].len(), "{what}");
        for (row, &a) in exact[kind].iter().enumerate() {
            let once = [(middle[kind][row], coarse[kind][row]), (fine[kind][row], middle[kind][row])];
            let [wide, narrow] = once.map(|(finer, coarser)| finer + (finer - coarser) / 3.0);
            let b = narrow + (narrow - wide) / 15.0;
            // Rounding of the differences; a wrong term would be off by its own size.
            assert!((a - b).abs() <= 1e-8 * (1.0 + a.abs()), "{what}, {name} {row}: {a} and {b}");
            let c = plain[kind][row];
            assert!((a - c).abs() <= 1e-8 * (1.0 + a.abs()), "{what}, {name} {row} by differences: {a} and {c}");
            counts[kind] += usize::from(a.abs() > 1e-3);
        }
    }
    counts
}

#[test]
fn every_pair_of_shapes_has_the_rates_of_differences() {
    for dimension in DIMENSIONS {
        let shapes = shapes(dimension);
        let mut random = Generator::new(5);
        for (first, second) in shapes.iter().flat_map(|a| shapes.iter().map(move |b| (a.clone(), b.clone()))) {
            if !is_supported(dimension, &first, &second) || never_meet(&first, &second) {
                continue;
            }
            let name = format!("{dimension:?}, {} and {}", first.name(dimension), second.name(dimension));
            let mut counts = [0; 4];
            for trial in 0..12 {
                // A wall does not move freely; all others do both.
                let is_driven = match [first.clone(), second.clone()].map(|shape| shape.may_move()) {
                    [true, true] => [trial % 3 == 1, trial % 3 == 2],
                    [may_first, may_second] => [!may_first, !may_second],
                };
                let mut bodies = vec![
                    body("a", &mut random, dimension, Some(first.clone()), is_driven[0]),
                    body("b", &mut random, dimension, Some(second.clone()), is_driven[1]),
                ];
                // Balls and boxes apart, near enough for rates that matter.
                if [first.clone(), second.clone()].iter().all(|shape| !shape.is_infinite()) {
                    bodies[0].pose.position += flat(dimension, DVec3::new(2.0, 1.5, 1.0));
                }
                let grain = (trial % 2 == 1).then(|| vector(&mut random, dimension, 1.0));
                let mut model = model(dimension, bodies);
                model.materials.materials[0].surface.grain = grain.map(|direction| Grain { material: 0, direction });
                let own = compare(model, &format!("{name}, trial {trial}"));
                counts.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            assert!(counts[0] > 6 && counts[1] > 6, "{name}: {counts:?}");
        }
    }
}

// The closed form took the axes for two points and divided by their distance, which is zero where
// they cross: the rate was infinite.
#[test]
fn capsules_that_cross_in_the_plane_have_the_rates_of_differences() {
    let shape = Shape::Capsule { half_length: 0.7, radius: 0.2 };
    let mut random = Generator::new(11);
    for trial in 0..12 {
        let mut bodies = ["a", "b"].map(|name| {
            let is_driven = name == "b" && trial % 2 == 1;
            let mut body = body(name, &mut random, Dimension::Plane, Some(shape.clone()), is_driven);
            body.shapes[0].placed = PlacedShape::centred(shape.clone());
            body.pose = Pose::planar(random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), random.uniform(-0.4, 0.4));
            body
        });
        bodies[0].pose.orientation *= DQuat::from_rotation_z(1.5);
        let model = model(Dimension::Plane, bodies.to_vec());
        let system = Multibody::new(model.clone()).unwrap();
        let mut contacts = Vec::new();
        system.contacts(0.3, &system.start(0.3).q, f64::INFINITY, &mut contacts);
        assert!(trial % 2 == 1 || contacts.iter().any(|contact| contact.id.feature == 4), "trial {trial}");
        assert!(compare(model, &format!("trial {trial}"))[0] > 0);
    }
}

#[test]
fn every_joint_has_the_rates_of_differences() {
    let kinds = [
        JointKind::Fixed,
        JointKind::Ball,
        JointKind::Revolute,
        JointKind::Prismatic,
        JointKind::Cylindrical,
        JointKind::Universal,
        JointKind::Planar,
        JointKind::Distance { length: Some(1.0) },
        JointKind::Distance { length: None },
    ];
    for dimension in DIMENSIONS {
        let mut random = Generator::new(7);
        for kind in kinds.into_iter().filter(|kind| kind.exists_in(dimension)) {
            let mut counts = [0; 4];
            for trial in 0..12 {
                // Free against free, against driven, against the world.
                let mut bodies = vec![body("a", &mut random, dimension, None, false)];
                if trial % 3 < 2 {
                    bodies.push(body("b", &mut random, dimension, None, trial % 3 == 1));
                }
                let second = (trial % 3 < 2).then_some(1);
                let axis = match (dimension, kind) {
                    (Dimension::Plane, JointKind::Revolute | JointKind::Fixed) => DVec3::Z,
                    _ => vector(&mut random, dimension, 1.0),
                };
                let frame = JointFrame::new(vector(&mut random, dimension, 1.0), axis);
                let mut joint = BodyJoint::new("joint", kind, &bodies, (0, second), 0.3, frame);
                // Away from where the joint holds, as an integrator is: no term vanishes by chance.
                joint.frames[0].point += vector(&mut random, dimension, 0.5);
                if dimension == Dimension::Space {
                    let tilt = DQuat::from_scaled_axis(vector(&mut random, dimension, 0.3));
                    joint.frames[0].axis = tilt * joint.frames[0].axis;
                    joint.frames[0].side = tilt * joint.frames[0].side;
                }
                if kind.coordinate().is_some() {
                    joint.friction = 1.0;
                    if trial % 2 == 0 {
                        joint.limits = JointLimits { lower: Some(-3.0), upper: Some(3.0), ..Default::default() };
                    } else {
                        let law = JointDrive { offset: 0.1, rate: 0.3, amplitude: 0.2, frequency: 0.6, phase: 0.5 };
                        joint.drive = Some(law);
                    }
                }
                let mut model = model(dimension, bodies);
                model.joints.push(joint);
                let own = compare(model, &format!("{dimension:?}, {kind:?}, trial {trial}"));
                counts.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            assert!(counts[3] > 0 || kind.coordinate().is_some(), "{dimension:?}, {kind:?}: {counts:?}");
            if kind.coordinate().is_some() {
                // In the plane an angle has no rate but that of its drive.
                let is_angle = dimension == Dimension::Plane && kind == JointKind::Revolute;
                assert!(counts[3] > 0 && (is_angle || (counts[0] > 0 && counts[2] > 0)), "{kind:?}: {counts:?}");
            }
        }
    }
}

#[test]
fn dry_friction_and_clutches_have_the_rates_of_differences() {
    for dimension in DIMENSIONS {
        let mut random = Generator::new(9);
        let mut counts = [0; 4];
        for trial in 0..12 {
            let mut bodies = vec![body("a", &mut random, dimension, None, false)];
            if trial % 3 < 2 {
                bodies.push(body("b", &mut random, dimension, None, trial % 3 == 1));
            }
            let axes = vec![DVec3::new(0.6, 0.8, 0.0), DVec3::new(-0.8, 0.6, 0.0)];
            let mut model = model(dimension, bodies);
            let dry = DryFriction {
                name: "brake".into(),
                body: 0,
                against: (trial % 3 < 2).then_some(1),
                point: vector(&mut random, dimension, 0.5),
                axes,
                is_rotational: false,
                bound: 1.0,
                static_bound: None,
                semi_axes: [1.5, 0.5],
                shape: Default::default(),
                bias: 0.0,
            };
            let bearing =
                DryFriction { name: "bearing".into(), axes: vec![DVec3::Z], is_rotational: true, ..dry.clone() };
            for friction in [&dry, &bearing] {
                let DryFriction { body, against, point, is_rotational, .. } = *friction;
                let axis = friction.axes[0];
                model.clutches.push(Clutch { name: friction.name.clone(), body, against, point, axis, is_rotational });
            }
            model.dry_friction.extend([dry, bearing]);
            let own = compare(model, &format!("{dimension:?}, trial {trial}"));
            counts.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        assert!(counts[0] >= 8 && counts[2] > 12, "{counts:?}");
    }
}

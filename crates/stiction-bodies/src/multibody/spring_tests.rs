use std::f64::consts::TAU;

use glamx::{DMat3, DQuat, DVec3};
use stiction_dynamics::families::Generator;
use stiction_dynamics::{
    Audit, ContactMethod, ContactSolver, ForceCause, ForceJacobians, JacobianEntry, JacobianKind, MechanicalSystem,
    MoreauMidpoint, MoreauMidpointSettings, Scheme, Simulation, StewartTrinkle, StewartTrinkleSettings, TimeGrid,
};

use super::tests::{SPHERE, body, model, rigid};
use super::{Multibody, MultibodyModel};
use crate::body::{AppliedForce, BodyKind, ForceAxes, Motion, Oscillation};
use crate::pose::Pose;
use crate::shape::Dimension;
use crate::spring::{Attachment, Spring, TorsionSpring};

const CAUSES: [ForceCause; 3] = [ForceCause::Potential, ForceCause::Gyroscopic, ForceCause::Applied];

fn vector(random: &mut Generator, dimension: Dimension, size: f64) -> DVec3 {
    let vector = DVec3::from_array(random.vector(size));
    if dimension == Dimension::Plane { vector.with_z(0.0) } else { vector }
}

/// A rigid body without and one with the same inertia about every axis, a point, a prescribed and a
/// static body, everything tied to everything by springs of all kinds, and forces on top.
fn tied(seed: u64, dimension: Dimension) -> MultibodyModel {
    let mut random = Generator::new(seed);
    let skew = DMat3::from_quat(DQuat::from_rotation_x(0.7) * DQuat::from_rotation_y(-0.4));
    let inertia = skew * DMat3::from_diagonal(DVec3::new(0.3, 0.5, 0.7)) * skew.transpose();
    let symmetric = (inertia + inertia.transpose()) * 0.5;
    let motion = Motion {
        velocity: vector(&mut random, dimension, 1.0),
        angular_velocity: DVec3::new(0.0, 0.0, 0.9),
        oscillations: vec![Oscillation { amplitude: vector(&mut random, dimension, 0.1), frequency: 2.0, phase: 0.3 }],
        surface_velocity: vector(&mut random, dimension, 1.0),
    };
    let kinds = [
        BodyKind::Rigid { mass: 2.0, inertia: symmetric },
        rigid(1.0, DVec3::splat(0.4)),
        BodyKind::Point { mass: 1.5 },
        BodyKind::Prescribed(motion),
        BodyKind::Static,
    ];
    let mut bodies = Vec::new();
    for (number, kind) in kinds.into_iter().enumerate() {
        let mut body = body(&format!("b{number}"), kind, SPHERE);
        body.shapes.clear();
        let position = DVec3::AXES[number % 3].with_z(0.0) * 2.0 + vector(&mut random, dimension, 1.0);
        let turn = match dimension {
            Dimension::Plane => DQuat::from_rotation_z(random.uniform(-3.0, 3.0)),
            Dimension::Space => DQuat::from_scaled_axis(DVec3::from_array(random.vector(0.8))),
        };
        body.pose = Pose::new(position, turn);
        body.velocity = vector(&mut random, dimension, 2.0);
        body.angular_velocity = match dimension {
            Dimension::Plane => DVec3::new(0.0, 0.0, random.uniform(-3.0, 3.0)),
            Dimension::Space => DVec3::from_array(random.vector(3.0)),
        };
        bodies.push(body);
    }
    let mut model = model(dimension, bodies);
    let pairs = [(0, Some(1)), (1, Some(2)), (2, Some(0)), (3, Some(0)), (1, Some(4)), (0, None), (1, Some(3))];
    for (number, (first, second)) in pairs.into_iter().enumerate() {
        let mut end = |body: Option<usize>| Attachment {
            body,
            point: if body == Some(2) { DVec3::ZERO } else { vector(&mut random, dimension, 0.5) },
        };
        let ends = (end(Some(first)), end(second));
        model.springs.push(Spring {
            preload: 0.0,
            name: format!("s{number}"),
            first: ends.0,
            second: ends.1,
            stiffness: random.uniform(1.0, 50.0),
            damping: if number % 3 == 2 { 0.0 } else { random.uniform(0.5, 5.0) },
            rest_length: if number == 1 { 0.0 } else { random.uniform(0.2, 2.0) },
            axis: (number == 2).then(|| vector(&mut random, dimension, 1.0).normalize()),
        });
    }
    for (number, (first, second)) in [(0, Some(1)), (1, None), (3, Some(0)), (1, Some(4))].into_iter().enumerate() {
        model.torsion_springs.push(TorsionSpring {
            name: format!("t{number}"),
            first,
            second,
            axis: if dimension == Dimension::Plane {
                DVec3::Z
            } else {
                vector(&mut random, dimension, 1.0).normalize()
            },
            stiffness: random.uniform(0.5, 10.0),
            damping: random.uniform(0.1, 2.0),
            rest_angle: random.uniform(-0.4, 0.4),
        });
    }
    for (body, axes) in [(0, ForceAxes::World), (0, ForceAxes::Body), (1, ForceAxes::World), (1, ForceAxes::Body)] {
        model.forces.push(AppliedForce {
            body,
            force: vector(&mut random, dimension, 3.0),
            torque: if dimension == Dimension::Plane { DVec3::Z } else { vector(&mut random, dimension, 2.0) },
            point: vector(&mut random, dimension, 0.5),
            axes,
            from: 0.0,
            until: 1.0,
        });
    }
    model
}

/// The sum of the entries of a cause as a matrix, row by row.
fn dense(entries: &[JacobianEntry], cause: Option<ForceCause>, n: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    for entry in entries.iter().filter(|entry| cause.is_none_or(|cause| cause == entry.cause)) {
        matrix[entry.row * n + entry.column] += entry.value;
    }
    matrix
}

fn jacobians(system: &Multibody, kind: JacobianKind, t: f64, q: &[f64], v: &[f64]) -> ForceJacobians {
    let mut out = ForceJacobians::default();
    system.force_jacobians(kind, t, q, v, &mut out);
    out
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

#[test]
fn exact_jacobians_are_the_differences() {
    for dimension in [Dimension::Plane, Dimension::Space] {
        for seed in 0..40 {
            let system = Multibody::new(tied(seed, dimension)).unwrap();
            let (state, n) = (system.start(0.3), system.velocity_count());
            let exact = jacobians(&system, JacobianKind::Exact, state.t, &state.q, &state.v);
            let mut differences = ForceJacobians::default();
            differences.append_differences(&system, state.t, &state.q, &state.v);
            for cause in CAUSES {
                for (name, found, measured) in [
                    ("k_q", &exact.by_configuration, &differences.by_configuration),
                    ("k_v", &exact.by_velocity, &differences.by_velocity),
                ] {
                    let (found, measured) = (dense(found, Some(cause), n), dense(measured, Some(cause), n));
                    let scale = largest(&measured).max(1.0);
                    for (i, (a, b)) in found.iter().zip(&measured).enumerate() {
                        // Truncation of central differences over 2e-5, where springs are about 1 m
                        // long.
                        let what = format!("{dimension:?} {seed} {cause:?} {name} ({}, {})", i / n, i % n);
                        assert!((a - b).abs() <= 1e-6 * scale, "{what}: {a} is not {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn definite_jacobians_dissipate() {
    for dimension in [Dimension::Plane, Dimension::Space] {
        for seed in 0..40 {
            let system = Multibody::new(tied(seed, dimension)).unwrap();
            let (state, n) = (system.start(0.3), system.velocity_count());
            let definite = jacobians(&system, JacobianKind::Definite, state.t, &state.q, &state.v);
            let mut random = Generator::new(seed);
            for list in [&definite.by_configuration, &definite.by_velocity] {
                let matrix = dense(list, None, n);
                assert!(largest(&matrix) > 1.0);
                for _ in 0..50 {
                    let x: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
                    let form: f64 = (0..n * n).map(|i| x[i / n] * matrix[i] * x[i % n]).sum();
                    assert!(form <= 1e-12 * largest(&matrix), "{dimension:?} {seed}: {form}");
                }
            }
            // The gyroscopic part is antisymmetric and gives the torque itself.
            let gyroscopic = dense(&definite.by_velocity, Some(ForceCause::Gyroscopic), n);
            let mut torque = vec![0.0; n];
            system.force_by_cause(ForceCause::Gyroscopic, state.t, &state.q, &state.v, &mut torque);
            for i in 0..n {
                let product: f64 = (0..n).map(|j| gyroscopic[i * n + j] * state.v[j]).sum();
                assert!((product - torque[i]).abs() < 1e-12);
                assert!((0..n).all(|j| gyroscopic[i * n + j] == -gyroscopic[j * n + i]));
            }
        }
    }
}

#[test]
fn at_rest_both_kinds_are_the_same() {
    for dimension in [Dimension::Plane, Dimension::Space] {
        for seed in 0..20 {
            let mut model = tied(seed, dimension);
            model.forces.clear();
            for body in &mut model.bodies {
                (body.velocity, body.angular_velocity) = (DVec3::ZERO, DVec3::ZERO);
                if matches!(body.kind, BodyKind::Prescribed(_)) {
                    body.kind = BodyKind::Static;
                }
            }
            // Everything at its rest length; the spring without one joins two points at one place.
            let poses: Vec<Pose> = model.bodies.iter().map(|body| body.pose).collect();
            let place = |end: &Attachment| end.body.map_or(end.point, |body| poses[body].transform_point(end.point));
            for spring in &mut model.springs {
                if spring.rest_length == 0.0 {
                    let body = spring.first.body.unwrap();
                    spring.first.point = poses[body].inverse_transform_point(place(&spring.second));
                } else {
                    let d = place(&spring.first) - place(&spring.second);
                    spring.rest_length = spring.axis.map_or(d.length(), |axis| axis.dot(d));
                }
            }
            for spring in &mut model.torsion_springs {
                spring.rest_angle = spring.angle_at_start(dimension, &model.bodies, 0.0);
            }
            let unloaded = Multibody::new(model).unwrap();
            let (state, n) = (unloaded.start(0.0), unloaded.velocity_count());
            let [exact, definite] = [JacobianKind::Exact, JacobianKind::Definite]
                .map(|kind| jacobians(&unloaded, kind, 0.0, &state.q, &state.v));
            for (a, b) in
                [(exact.by_configuration, definite.by_configuration), (exact.by_velocity, definite.by_velocity)]
            {
                let (a, b) = (dense(&a, None, n), dense(&b, None, n));
                let scale = largest(&b);
                assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-12 * scale), "{dimension:?} {seed}");
            }
            assert!(unloaded.potential_energy(0.0, &state.q).unwrap().is_finite());
        }
    }
}

#[test]
fn forces_are_the_gradient_of_the_energy() {
    for dimension in [Dimension::Plane, Dimension::Space] {
        for seed in 0..20 {
            let system = Multibody::new(tied(seed, dimension)).unwrap();
            let (state, n) = (system.start(0.3), system.velocity_count());
            let mut k = vec![0.0; n];
            system.force_by_cause(ForceCause::Potential, state.t, &state.q, &state.v, &mut k);
            for i in 0..n {
                let step = 1e-5;
                let energy = |h: f64| {
                    let (mut direction, mut moved) = (vec![0.0; n], state.q.clone());
                    direction[i] = 1.0;
                    system.advance(0.0, &state.q, &direction, h, &mut moved);
                    system.potential_energy(state.t, &moved).unwrap()
                };
                let slope = (energy(step) - energy(-step)) / (2.0 * step);
                // Truncation of order step², times third derivatives of some hundreds; rounding of
                // 1e-14 J over the step.
                assert!((k[i] + slope).abs() < 1e-6, "{dimension:?} {seed} {i}: {} is not {}", k[i], -slope);
            }
            // The causes add up to the force.
            let mut whole = vec![0.0; n];
            system.force(state.t, &state.q, &state.v, &mut whole);
            for cause in CAUSES {
                system.force_by_cause(cause, state.t, &state.q, &state.v, &mut k);
                whole.iter_mut().zip(&k).for_each(|(whole, k)| *whole -= k);
            }
            assert!(largest(&whole) < 1e-12);
        }
    }
}

fn simulate(model: MultibodyModel, moreau: bool, h: f64, end: f64) -> (Simulation, Audit) {
    let system = Multibody::new(model).unwrap();
    let start = system.start(0.0);
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let scheme: Box<dyn Scheme> = match moreau {
        true => Box::new(MoreauMidpoint::new(MoreauMidpointSettings::default(), solver)),
        false => Box::new(StewartTrinkle::new(StewartTrinkleSettings::default(), solver)),
    };
    let grid = TimeGrid { start: 0.0, end, step: h };
    let mut simulation = Simulation::new(Box::new(system), scheme, start, grid);
    let mut audit = Audit::default();
    simulation
        .run_with(|s| {
            audit.observe(s.system(), s.before(), s.last_step());
        })
        .unwrap();
    (simulation, audit)
}

/// A point of mass `mass` on a spring that hangs at the origin.
fn hanging(mass: f64, spring: Spring) -> MultibodyModel {
    let mut bob = body("bob", BodyKind::Point { mass }, SPHERE);
    bob.shapes.clear();
    let mut model = model(Dimension::Plane, vec![bob]);
    model.springs.push(spring);
    model
}

fn spring(stiffness: f64, damping: f64, rest_length: f64, axis: Option<DVec3>) -> Spring {
    Spring {
        preload: 0.0,
        name: "spring".into(),
        first: Attachment { body: Some(0), point: DVec3::ZERO },
        second: Attachment { body: None, point: DVec3::ZERO },
        stiffness,
        damping,
        rest_length,
        axis,
    }
}

/// Slope of log(error) over log(h), by least squares.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let logs: Vec<(f64, f64)> = samples.iter().map(|(h, e)| (h.ln(), e.ln())).collect();
    let mean = logs.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let (top, bottom) = logs
        .iter()
        .fold((0.0, 0.0), |sum, (x, y)| (sum.0 + (x - mean.0) * (y - mean.1), sum.1 + (x - mean.0) * (x - mean.0)));
    top / bottom
}

#[test]
fn an_oscillator_comes_back_after_its_period() {
    // Along x, 2 kg on 50 N/m: ω = 5 /s. Rest length 0.5, start at 0.8 m: x = 0.5 + 0.3 cos ωt,
    // whichever way it is held.
    let laws = [(0.5, Some(DVec3::X)), (0.5, None), (0.0, None)];
    for (moreau, order) in [(false, 1.0), (true, 2.0)] {
        for (rest_length, axis) in laws {
            let errors: Vec<(f64, f64)> = [200.0, 400.0, 800.0, 1600.0, 3200.0]
                .into_iter()
                .map(|count| {
                    let mut model = hanging(2.0, spring(50.0, 0.0, rest_length, axis));
                    model.gravity = DVec3::ZERO;
                    model.bodies[0].pose.position.x = rest_length + 0.3;
                    // After a period and a quarter the error of the phase is largest in the
                    // position.
                    let end = 1.25 * TAU / 5.0;
                    let (simulation, audit) = simulate(model, moreau, end / count, end);
                    // The defect formula of Moreau's rule is exact up to quadratic potentials.
                    let unexplained = audit.worst.energy.unexplained.abs();
                    assert!(unexplained < if moreau { 1e-14 } else { 1e-4 }, "{:?}", audit.worst.energy);
                    let state = simulation.state();
                    let error = (state.q[0] - rest_length).abs().max((state.v[0] + 1.5).abs() / 5.0);
                    (1.0 / count, error)
                })
                .collect();
            let fitted = slope(&errors);
            assert!((fitted - order).abs() < 0.05, "order {fitted}, not {order}: {errors:?}");
        }
    }
}

#[test]
fn a_damped_oscillator_decays_as_it_must() {
    // x'' + 2 D ω x' + ω² x = 0 with ω = 5 /s, D = 4/(2·2·5) = 0.2: the energy that is lost is the
    // work of the damper.
    let mut model = hanging(2.0, spring(50.0, 4.0, 0.0, Some(DVec3::X)));
    model.gravity = DVec3::ZERO;
    model.bodies[0].pose.position.x = 0.3;
    let end = 1.0;
    let (simulation, audit) = simulate(model, true, 1e-4, end);
    let (omega, rate) = (5.0f64, 1.0f64);
    let fast = (omega * omega - rate * rate).sqrt();
    let expected = 0.3 * (-rate * end).exp() * ((fast * end).cos() + rate / fast * (fast * end).sin());
    // Explicit damping is of order one: D ω h = 1e-4 of the amplitude and more.
    assert!((simulation.state().q[0] - expected).abs() < 1e-4, "{} is not {expected}", simulation.state().q[0]);
    let lost = audit.sum.energy.total_change;
    assert!(lost < -1.0 && (audit.sum.energy.applied - lost).abs() < 1e-6, "{:?}", audit.sum.energy);
}

#[test]
fn a_torsion_pendulum_swings_with_its_period() {
    // A disc of 0.5 kg m² on 8 N m/rad: ω = 4 /s; twisted by two turns, which count.
    let mut disc = body("disc", rigid(1.0, DVec3::splat(0.5)), SPHERE);
    disc.shapes.clear();
    disc.turns = 2;
    let mut model = model(Dimension::Plane, vec![disc]);
    model.gravity = DVec3::ZERO;
    model.torsion_springs.push(TorsionSpring {
        name: "wire".into(),
        first: 0,
        second: None,
        axis: DVec3::Z,
        stiffness: 8.0,
        damping: 0.0,
        rest_angle: 0.0,
    });
    let (simulation, _) = simulate(model, true, 1e-4, 0.25 * TAU / 4.0);
    let state = simulation.state();
    // Order two: (ω h)² times the amplitude of 12.6 rad is 2e-6.
    assert!(state.q[2].abs() < 1e-5 && (state.v[2] + 4.0 * 2.0 * TAU).abs() < 1e-5, "{state:?}");
}

#[test]
fn energy_of_a_spring_pendulum_is_the_work_of_its_forces() {
    // A stiff spring with a bob that swings: the potential energy falls by the work of spring and
    // gravity up to the error of the scheme, and the defect formula explains it all: Simpson's rule
    // is exact up to h^5.
    for moreau in [false, true] {
        let run = |h: f64| {
            let mut model = hanging(1.0, spring(200.0, 0.0, 1.0, None));
            model.bodies[0].pose.position = DVec3::new(0.8, -0.8, 0.0);
            let (_, audit) = simulate(model, moreau, h, 1.0);
            assert!(audit.worst.kinetic_balance < 1e-12, "{:?}", audit.worst);
            let energy = audit.sum.energy;
            let fall = energy.total_change - energy.kinetic_change;
            assert!(energy.potential_forces.abs() > 0.5, "{energy:?}");
            ((energy.potential_forces + fall).abs(), energy.unexplained.abs())
        };
        let (coarse, fine) = (run(1e-3), run(1e-4));
        assert!(fine.0 < 0.02 && fine.0 < 0.2 * coarse.0 + 1e-9, "{coarse:?} {fine:?}");
        assert!(coarse.1 < 1e-10 && fine.1 < 1e-11, "{coarse:?} {fine:?}");
    }
}

#[test]
fn a_driven_spring_works_and_stores_nothing() {
    let motion = Motion { velocity: DVec3::X, ..Default::default() };
    let mut hand = body("hand", BodyKind::Prescribed(motion), SPHERE);
    hand.shapes.clear();
    let mut held = hanging(1.0, spring(10.0, 0.0, 0.0, None));
    held.gravity = DVec3::ZERO;
    held.bodies.push(hand);
    held.springs[0].second.body = Some(1);
    let (_, audit) = simulate(held, true, 1e-3, 1.0);
    // x = t - sin(ω t)/ω with ω² = 10: the kinetic energy ½(1 - cos ω)² is the work of the hand.
    let energy = audit.sum.energy;
    let expected = 0.5 * (1.0 - 10f64.sqrt().cos()).powi(2);
    assert!((energy.applied - expected).abs() < 1e-5, "{energy:?} {expected}");
    assert!(energy.unexplained.abs() < 1e-12 && energy.potential == 0.0, "{energy:?}");
}

#[test]
fn springs_that_cannot_be_are_refused() {
    let refuse = |change: fn(&mut MultibodyModel)| {
        let mut model = tied(1, Dimension::Space);
        change(&mut model);
        Multibody::new(model).unwrap_err().to_string()
    };
    assert!(refuse(|m| m.springs[0].stiffness = -1.0).contains("spring `s0`: the stiffness is -1"));
    assert!(refuse(|m| m.springs[0].damping = f64::NAN).contains("spring `s0`: the damping is NaN"));
    assert!(refuse(|m| m.springs[0].rest_length = -1.0).contains("rest length is -1"));
    assert!(refuse(|m| m.springs[2].axis = Some(DVec3::ZERO)).contains("the axis has length 0"));
    assert!(refuse(|m| m.springs[1].second.point = DVec3::X).contains("`b2` is a point"));
    assert!(refuse(|m| m.springs[0].second.body = Some(0)).contains("`b0` is at both ends"));
    assert!(refuse(|m| m.springs[4].first.body = None).contains("nor `b4` moves freely"));
    assert!(refuse(|m| m.torsion_springs[1].second = Some(2)).contains("`b2` is a point, which does not rotate"));
    assert!(refuse(|m| m.torsion_springs[1].axis = DVec3::ONE).contains("the axis has length 1.7"));
}

//! Theorem 9.1 of \[PAGT\]: with the definite derivatives (9.2), (9.3) no step of the trapezoidal
//! scheme creates energy, however stiff the springs and dampers are.
//!
//! For springs with deformations φ and stiffnesses γ, dampers δ, and other forces k₂,
//!
//! ```text
//! w₁ᵀ M w₁ + Σ γ (φ + h ∇φ·u)² ≤ w₂ᵀ M w₂ + Σ γ φ²,   w₁ = v⁺ - b, w₂ = v + b, b = h/4 M⁻¹ (k₂(t) + k₂(t⁺)), u = (v + v⁺)/2,
//! ```
//!
//! with φ and ∇φ at the start of the step. Its proof gives more: what is missing on the left is
//! exactly 2h Σ δ (∇φ·u)² of the dampers, and twice the work of friction. Both are checked here,
//! from the poses and velocities of bodies alone.

#[allow(dead_code)] // runs are made here step by step
mod common;

use common::*;
use glamx::DVec3;
use stiction_bodies::glamx;
use stiction_bodies::{
    AppliedForce, Attachment, BodyJoint, BodyKind, BodyShape, Dimension, ForceAxes, JointFrame, JointKind, Multibody,
    MultibodyModel, PlacedShape, Pose, Shape, Spring,
};
use stiction_dynamics::families::Generator;
use stiction_dynamics::judge::SOLVED;
use stiction_dynamics::scheme::trapezoidal::Jacobians;
use stiction_dynamics::{
    ContactMethod, ContactSolver, Scheme, State, Step, StepKind, Trapezoidal, TrapezoidalSettings,
};

/// Bodies with springs and dampers, loaded and stiff, over a floor or in the air, sometimes with a
/// rigid rod.
fn random_scene(random: &mut Generator) -> MultibodyModel {
    let dimension = if random.chance(0.5) { Dimension::Plane } else { Dimension::Space };
    let up = if dimension == Dimension::Plane { DVec3::Y } else { DVec3::Z };
    let vector = |random: &mut Generator, size: f64| flat(dimension, DVec3::from(random.vector(size)));
    let count = 2 + random.below(4);
    let mut bodies = Vec::new();
    for number in 0..count {
        let position = vector(random, 1.0) + 1.2 * up;
        let mass = random.logarithmic(0.1, 10.0);
        let mut body = if random.chance(0.3) {
            point(&format!("b{number}"), mass, position)
        } else {
            let size = random.logarithmic(0.03, 0.3).powi(2);
            let moments = if random.chance(0.3) { DVec3::ONE } else { DVec3::new(1.0, 1.3, 1.8) };
            rigid(&format!("b{number}"), mass, mass * size * moments, position)
        };
        body.velocity = vector(random, 2.0);
        if matches!(body.kind, BodyKind::Rigid { .. }) {
            let spin = DVec3::from(random.vector(5.0));
            body.angular_velocity = if dimension == Dimension::Plane { spin.z * DVec3::Z } else { spin };
        }
        bodies.push(body);
    }
    if random.chance(0.6) {
        for body in &mut bodies {
            body.shapes.push(sphere(0.1));
        }
        let mut floor = rigid("floor", 1.0, DVec3::ONE, DVec3::ZERO);
        floor.kind = BodyKind::Static;
        let half_space = Shape::HalfSpace { normal: up, offset: 0.0 };
        floor.shapes.push(BodyShape { placed: PlacedShape::centred(half_space), material: 0 });
        bodies.push(floor);
    }
    let mut model = model(dimension, bodies);

    let place = |model: &MultibodyModel, end: &Attachment| match end.body {
        Some(body) => model.bodies[body].pose.transform_point(end.point),
        None => end.point,
    };
    for number in 0..1 + random.below(2 * count) {
        let first = random.below(count);
        let second = random.below(count + 1);
        let end = |random: &mut Generator, body: usize| match body < count {
            // A point has no extension.
            true if matches!(model.bodies[body].kind, BodyKind::Point { .. }) => {
                Attachment { body: Some(body), point: DVec3::ZERO }
            }
            true => Attachment { body: Some(body), point: vector(random, 0.3) },
            false => Attachment { body: None, point: vector(random, 1.0) + 2.0 * up },
        };
        if first == second {
            continue;
        }
        let (first, second) = (end(random, first), end(random, second));
        let length = (place(&model, &first) - place(&model, &second)).length();
        let axis = random.chance(0.2).then(|| vector(random, 1.0).normalize());
        let (has_spring, has_damper) = (random.chance(0.8), random.chance(0.5));
        let stiffness = if has_spring { random.logarithmic(1e-1, 1e9) } else { 0.0 };
        // Loaded with up to 50 J, or any way.
        let loaded = (100.0 / stiffness.max(1.0)).sqrt().min(0.8 * length);
        let rest_length = match random.below(8) {
            0 if axis.is_none() => 0.0,
            1 if axis.is_none() => length, // at equilibrium
            2 => length * random.uniform(0.2, 2.0),
            _ => length + loaded * random.uniform(-1.0, 1.0),
        };
        model.springs.push(Spring {
            name: format!("s{number}"),
            first,
            second,
            stiffness,
            damping: if has_damper { random.logarithmic(1e-2, 1e8) } else { 0.0 },
            rest_length,
            axis,
            preload: 0.0,
        });
    }
    if random.chance(0.3) {
        let length = (model.bodies[0].pose.position - model.bodies[1].pose.position).length();
        let frame = JointFrame::new(model.bodies[0].pose.position, DVec3::Z);
        let kind = JointKind::Distance { length: Some(length) };
        let mut rod = BodyJoint::new("rod", kind, &model.bodies, (0, Some(1)), 0.0, frame);
        rod.frames[1].point = DVec3::ZERO;
        model.joints.push(rod);
    }
    // A force that begins and ends within the run, so that k₂ differs at the two ends of a step.
    model.forces.push(AppliedForce {
        body: random.below(count),
        axes: ForceAxes::World,
        point: DVec3::ZERO,
        force: vector(random, 20.0),
        torque: DVec3::ZERO,
        from: 0.02,
        until: 0.07,
    });
    model
}

/// Deformations of a spring at q and their rates along a velocity: one, or three where the rest
/// length is zero.
fn deformations(system: &Multibody, spring: &Spring, state: &State, w: &[f64]) -> Vec<(f64, f64)> {
    let end = |end: &Attachment| match end.body {
        None => (end.point, DVec3::ZERO),
        Some(body) => {
            let along = State { t: state.t, q: state.q.clone(), v: w.to_vec() };
            let pose: Pose = system.pose(body, state.t, &state.q);
            let (velocity, spin) = system.velocity(body, &along);
            let arm = pose.transform_vector(end.point);
            (pose.position + arm, velocity + spin.cross(arm))
        }
    };
    let ((p1, v1), (p2, v2)) = (end(&spring.first), end(&spring.second));
    let (d, rate) = (p1 - p2, v1 - v2);
    match spring.axis {
        Some(axis) => vec![(axis.dot(d) - spring.rest_length, axis.dot(rate))],
        None if spring.rest_length == 0.0 => (0..3).map(|i| (d[i], rate[i])).collect(),
        None => vec![(d.length() - spring.rest_length, d.dot(rate) / d.length())],
    }
}

/// wᵀ M w from the velocities of the bodies, of which `sign` b is added first.
fn twice_kinetic(system: &Multibody, state: &State, w: &[f64], h: f64, force_times: [f64; 2], sign: f64) -> f64 {
    let along = State { t: state.t, q: state.q.clone(), v: w.to_vec() };
    let model = system.model();
    let mut sum = 0.0;
    for (index, body) in model.bodies.iter().enumerate() {
        let (mass, inertia) = match body.kind {
            BodyKind::Rigid { mass, inertia } => (mass, Some(inertia)),
            BodyKind::Point { mass } => (mass, None),
            _ => continue,
        };
        let mut k2 = 2.0 * mass * model.gravity;
        for force in model.forces.iter().filter(|force| force.body == index) {
            for t in force_times.map(|share| state.t + share * h) {
                if force.from <= t && t <= force.until {
                    k2 += force.force;
                }
            }
        }
        let (velocity, spin) = system.velocity(index, &along);
        sum += mass * (velocity + sign * 0.25 * h / mass * k2).length_squared();
        if let Some(inertia) = inertia {
            let local = system.pose(index, state.t, &state.q).inverse_transform_vector(spin);
            sum += local.dot(inertia * local);
        }
    }
    sum
}

/// Speed, in m/s or rad/s, at which a run ends. The theorem holds for a step, with deformations
/// that are linear in it. From step to step stiff bodies that turn far within one may still run
/// away.
const RUNAWAY: f64 = 1e6;

#[derive(Debug, Default)]
struct Seen {
    steps: usize,
    /// Runs that ended with such a speed, and that ended without a solution.
    runaways: usize,
    unsolved: usize,
    with_contact: usize,
    with_compressed: usize,
    /// Largest rise, and largest difference from the balance, relative to the terms in it.
    rise: f64,
    imbalance: f64,
}

fn see(settings: &TrapezoidalSettings, seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    // The paper has forces that depend on time at both ends of the step, the scheme else in its
    // middle.
    let force_times = if settings.paper { [0.0, 1.0] } else { [0.5, 0.5] };
    for seed in seeds {
        let mut random = Generator::new(seed);
        let system = Multibody::new(random_scene(&mut random)).unwrap();
        let h = random.logarithmic(1e-4, 1e-1);
        let solver = ContactSolver::new(ContactMethod::default()).unwrap();
        let mut scheme = Trapezoidal::new(settings.clone(), solver);
        let (mut state, mut step) = (system.start(0.0), Step::default());
        for _ in 0..60 {
            if state.v.iter().any(|v| v.abs() > RUNAWAY) {
                seen.runaways += 1;
                break;
            }
            if scheme.step(&system, &state, h, &mut step).is_err() {
                seen.unsolved += 1;
                break;
            }
            // A step that ends at an event is a part of one.
            if step.kind == StepKind::Smooth && step.h == h {
                let v_new = &step.state.v;
                let u: Vec<f64> = state.v.iter().zip(v_new).map(|(a, b)| 0.5 * (a + b)).collect();
                let mut left = twice_kinetic(&system, &state, v_new, h, force_times, -1.0);
                let mut right = twice_kinetic(&system, &state, &state.v, h, force_times, 1.0);
                // The gyroscopic term is added and taken off again.
                let fastest = state.v.iter().chain(v_new).fold(0.0f64, |fastest, v| fastest.max(v.abs()));
                let (mut lost, mut size) = (0.0, (left + right) * (1.0 + h * fastest));
                for spring in &system.model().springs {
                    let (gamma, delta) = (spring.stiffness, spring.damping);
                    let before = deformations(&system, spring, &state, &state.v);
                    for ((phi, rate), (_, old)) in deformations(&system, spring, &state, &u).into_iter().zip(before) {
                        left += gamma * (phi + h * rate).powi(2);
                        right += gamma * phi * phi;
                        lost += 2.0 * h * delta * rate * rate;
                        // What the scheme adds and takes off again.
                        size += gamma * (phi * phi + (h * rate).powi(2) + (h * old).powi(2));
                        size += h * delta * (rate * rate + old * old);
                        seen.with_compressed += usize::from(phi < 0.0 && gamma > 1e4);
                    }
                }
                for (contact, impulse) in step.contacts.iter().zip(&step.solution.contacts) {
                    let slip = contact.slip(&u);
                    lost -= 2.0 * (0..3).map(|i| slip[i] * impulse.tangent[i]).sum::<f64>();
                    seen.with_contact += usize::from(impulse.normal > 0.0);
                }
                seen.steps += 1;
                seen.rise = seen.rise.max((left - right) / size);
                seen.imbalance = seen.imbalance.max((left + lost - right).abs() / size);
            }
            std::mem::swap(&mut state, &mut step.state);
        }
    }
    seen
}

#[test]
fn no_step_creates_energy() {
    let paper = TrapezoidalSettings { paper: true, ..Default::default() };
    let definite =
        TrapezoidalSettings { jacobians: Jacobians::Definite, stabilize: false, ..TrapezoidalSettings::default() };
    // Beside the paper's, steps after a jump are short, and fewer of them are whole.
    for (settings, steps) in [(paper, 10_000), (definite, 5_000)] {
        let seen = see(&settings, 0..300);
        assert!(seen.steps > steps && seen.with_contact > steps / 10 && seen.with_compressed > 2_500, "{seen:?}");
        assert!(seen.runaways < 100, "{seen:?}");
        // Theorem 5.1: with a definite matrix there is always a solution.
        assert_eq!(seen.unsolved, 0, "{seen:?}");
        // Matrices with entries from 1e-5 to 1e7: rounding comes to 7e-13.
        assert!(seen.rise < 1e-11 && seen.imbalance < 1e-11, "{seen:?}");
    }
}

#[test]
fn exact_derivatives_do_not_have_this_bound() {
    let exact = TrapezoidalSettings { jacobians: Jacobians::Exact, stabilize: false, ..TrapezoidalSettings::default() };
    let seen = see(&exact, 0..300);
    assert!(seen.rise > 0.1 && seen.unsolved > 0, "{seen:?}");
}

#[test]
fn a_step_from_equilibrium_is_bounded_whatever_the_stiffness() {
    // Corollary 9.2: where no spring is loaded, w₁ᵀ M w₁ ≤ w₂ᵀ M w₂, so that the new velocity is
    // bounded uniformly in the stiffness.
    let (mut steps, mut with_contact, mut stiff, mut sharp) = (0, 0, 0, 0);
    for seed in 0..150 {
        let mut random = Generator::new(seed);
        let mut model = random_scene(&mut random);
        let place = |model: &MultibodyModel, end: &Attachment| match end.body {
            Some(body) => model.bodies[body].pose.transform_point(end.point),
            None => end.point,
        };
        // The first body on the floor, where there is one.
        if model.joints.is_empty() && model.bodies.iter().any(|body| matches!(body.kind, BodyKind::Static)) {
            let up = if model.dimension == Dimension::Plane { DVec3::Y } else { DVec3::Z };
            let height = model.bodies[0].pose.position.dot(up) - 0.1;
            model.bodies[0].pose.position -= height * up;
        }
        for index in 0..model.springs.len() {
            let spring = &model.springs[index];
            let d = place(&model, &spring.first) - place(&model, &spring.second);
            let length = spring.axis.map_or(d.length(), |axis| axis.dot(d));
            model.springs[index].rest_length = length;
        }
        let h = random.logarithmic(1e-4, 1e-1);
        for factor in [1.0, 1e3, 1e6, 1e9] {
            let mut stiffer = model.clone();
            for spring in &mut stiffer.springs {
                (spring.stiffness, spring.damping) = (factor * spring.stiffness, factor * spring.damping);
            }
            let Ok(system) = Multibody::new(stiffer) else { continue };
            let solver = ContactSolver::new(ContactMethod::default()).unwrap();
            let settings = TrapezoidalSettings { paper: true, ..Default::default() };
            let mut scheme = Trapezoidal::new(settings, solver);
            let (mut state, mut step) = (system.start(0.0), Step::default());
            let stiffest = system.model().springs.iter().fold(0.0f64, |most, s| most.max(h * s.stiffness + s.damping));
            // Impacts and projections come first, and move nothing.
            let made = loop {
                let made = scheme.step(&system, &state, h, &mut step);
                if made.is_err() || step.h > 0.0 {
                    break made;
                }
                std::mem::swap(&mut state, &mut step.state);
            };
            if let Err(error) = made {
                // Said, and only where the rounding of springs is above the limit of the judge.
                let masses = system.model().bodies.iter().filter_map(|body| match body.kind {
                    BodyKind::Rigid { mass, .. } | BodyKind::Point { mass } => Some(mass),
                    _ => None,
                });
                let share = f64::EPSILON * h * stiffest / masses.fold(f64::INFINITY, f64::min);
                assert!(share > SOLVED, "seed {seed}, factor {factor:e}: {error}, rounding {share:e}");
                continue;
            }
            if step.h < h {
                continue;
            }
            let left = twice_kinetic(&system, &state, &step.state.v, h, [0.0, 1.0], -1.0);
            let right = twice_kinetic(&system, &state, &state.v, h, [0.0, 1.0], 1.0);
            let fastest = state.v.iter().chain(&step.state.v).fold(0.0f64, |fastest, v| fastest.max(v.abs()));
            // The gyroscopic term is added and taken off again, and the momenta of springs, h (δ +
            // h γ) v, are rounded to eight units at best.
            let of_springs = 8.0 * f64::EPSILON * h * stiffest * fastest * fastest;
            let rounding = 1e-13 * (1.0 + h * fastest) * (left + right) + of_springs;
            assert!(left <= right + rounding, "seed {seed}, factor {factor:e}: {left} and {right}, {rounding:e}");
            steps += 1;
            sharp += usize::from(rounding < 1e-6 * right);
            stiff += usize::from(stiffest > 1e12);
            with_contact += usize::from(step.solution.contacts.iter().any(|impulse| impulse.normal > 0.0));
        }
    }
    assert!(
        steps > 300 && with_contact > 10 && stiff > 50 && sharp > 200,
        "{steps} steps, {with_contact} with contact, {stiff} stiff, {sharp} with more than six digits"
    );
}

//! Instants with torsion, [TTP01] §2 to §4.1: forces, all motions, and Theorem 1, against closed
//! forms.

use stiction_dynamics::existence::RestCondition;
use stiction_dynamics::{ContactId, Directions, Instant, InstantContact, PyramidSettings, Row};

const G: f64 = 9.81;

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-9, "{what}: {found} and not {expected}");
}

fn pyramid(directions: usize) -> PyramidSettings {
    PyramidSettings { directions: Directions::Regular(directions), ..Default::default() }
}

/// The ball of §4.1 on the plane, with $A = \operatorname{diag}(1, 3.5, 3.5, 2.5)$, a force and a
/// moment about the normal.
fn ball(force: [f64; 3], moment: f64, contact: InstantContact) -> Instant {
    let [x, y, z] = force;
    let mut instant = Instant { force: vec![x, y, z - G, 0.0, 0.0, moment], ..Default::default() };
    instant.inertia.set_diagonal(&[1.0, 1.0, 1.0, 0.4, 0.4, 0.4]);
    instant.inertia.factor().unwrap();
    instant.contacts.push(InstantContact {
        normal: Row::from_dense(&[0.0, 0.0, 1.0]),
        tangents: [
            Row::from_dense(&[1.0, 0.0, 0.0, 0.0, -1.0, 0.0]),
            Row::from_dense(&[0.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
            Row::from_dense(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ]
        .into_iter()
        .collect(),
        mu: 0.2,
        semi_axes: Some([1.0, 1.0, 0.4]),
        ..contact
    });
    instant
}

#[test]
fn a_ball_that_slides_and_drills_obeys_the_ellipsoid() {
    // (2): c_a = -μ c_n e_a² v_a / ‖e v‖.
    for velocity in [[0.0, 0.0, 1.962], [0.3, -0.4, 2.0], [1.0, 0.0, 0.0]] {
        let axes = [1.0, 1.0, 0.4];
        let scaled: Vec<f64> = (0..3).map(|a| axes[a] * velocity[a]).collect();
        let length = scaled.iter().map(|s| s * s).sum::<f64>().sqrt();
        let s: Vec<f64> = scaled.iter().map(|s| s / length).collect();
        let contact = InstantContact { sliding: Some([s[0], s[1]]), drilling: s[2], ..Default::default() };
        let instant = ball([0.0; 3], 0.0, contact);
        let exact = instant.solve_exact().unwrap();
        let by_pyramid = instant.solve_pyramid(&pyramid(4)).unwrap();
        let all = instant.motions_by_pyramid(&pyramid(4)).unwrap().unwrap();
        assert_eq!((all.solutions.len(), all.undecided), (1, 0));
        for solution in [&exact, &by_pyramid, &all.solutions[0]] {
            assert!(solution.report.is_solved());
            close(solution.contacts[0].normal, G, "normal force");
            for a in 0..3 {
                let friction = -0.2 * G * axes[a] * axes[a] * velocity[a] / length;
                close(solution.contacts[0].tangent[a], friction, "friction");
            }
            // Experiment 1: the spin falls by 1.962 rad/s².
            close(solution.motion[5], 2.5 * solution.contacts[0].tangent[2], "angular acceleration");
        }
        if velocity[0] == 0.0 {
            close(exact.motion[5], -1.962, "slope of Figure 4");
        }
        // Nothing couples the tangents to the normal: no friction is too much.
        let said = instant.existence().unwrap();
        assert_eq!((said.existence_bound, said.rest), (Some(f64::INFINITY), RestCondition::Slides));
    }
}

#[test]
fn a_ball_at_rest_turns_when_the_moment_is_larger_than_friction() {
    let bound = 0.2 * 0.4 * G;
    for (moment, expected) in [(0.5, 0.0), (bound + 0.3, 2.5 * 0.3), (-bound - 0.1, -2.5 * 0.1)] {
        let instant = ball([0.0; 3], moment, InstantContact::default());
        // A pole of the ellipsoid is a corner of its pyramid.
        let all = instant.motions_by_pyramid(&pyramid(4)).unwrap().unwrap();
        assert_eq!(all.solutions.len(), 1);
        for solution in [instant.solve_exact().unwrap(), all.solutions[0].clone()] {
            close(solution.motion[5], expected, "angular acceleration");
            close(solution.contacts[0].tangent[2], expected / 2.5 - moment, "moment of friction");
        }
    }
    // Pushed and turned at once, both begin together: the acceleration w of the contact is along
    // the friction, Σ (c_a / e_a)² = (μ c_n)².
    let instant = ball([3.0, 1.0, 0.0], 1.5, InstantContact::default());
    let solution = instant.solve_exact().unwrap();
    assert!(solution.report.is_solved());
    let c = solution.contacts[0].tangent;
    let rates = [3.0 + 3.5 * c[0], 1.0 + 3.5 * c[1], 2.5 * (1.5 + c[2])];
    close(c[0] * c[0] + c[1] * c[1] + c[2] * c[2] / 0.16, (0.2 * G).powi(2), "ellipsoid");
    let lambda = -rates[0] / c[0];
    close(rates[1], -lambda * c[1], "maximum work along o");
    close(rates[2], -lambda * c[2] / 0.16, "maximum work about n");
    assert!(lambda > 0.0);
}

#[test]
fn the_bounds_of_theorem_1_with_torsion() {
    // At rest: 4 > μ² Σ w_a² e_a² A_aa for all unit vectors w, so that μ̄ = 2 / √max(3.5, 2.5
    // e_r²).
    for (radius, largest) in [(0.4, 3.5f64), (2.0, 10.0)] {
        let mut instant = ball([0.0; 3], 0.0, InstantContact::default());
        instant.contacts[0].semi_axes = Some([1.0, 1.0, radius]);
        let said = instant.existence().unwrap();
        let (bound, exact) = (said.uniqueness_bound.unwrap(), 2.0 / largest.sqrt());
        assert!(said.is_definite && said.rest == RestCondition::Holds && said.is_proved);
        assert!(bound <= exact && bound > 0.93 * exact, "{bound} {exact}");
    }
}

/// A contact that drills, whose moment of friction presses it down:
/// $\ddot\psi = (1 - \mu e_r a) c_n + b$.
fn screw(mu: f64, b: f64) -> Instant {
    let mut instant = Instant { force: vec![0.0; 4], ..Default::default() };
    instant.inertia.set_diagonal(&[1.0; 4]);
    instant.inertia.factor().unwrap();
    instant.contacts.push(InstantContact {
        normal: Row::from_dense(&[1.0]),
        normal_bias: b,
        tangents: [
            Row::from_dense(&[0.0, 0.0, 1.0]),
            Row::from_dense(&[0.0, 0.0, 0.0, 1.0]),
            Row::from_dense(&[0.8, 0.6]),
        ]
        .into_iter()
        .collect(),
        mu,
        sliding: Some([0.0; 2]),
        drilling: 1.0,
        semi_axes: Some([1.0, 1.0, 0.5]),
        ..Default::default()
    });
    instant
}

#[test]
fn drilling_has_its_paradox_too() {
    let threshold = 1.0 / (0.5 * 0.8);
    let said = screw(1.0, 0.0).existence().unwrap();
    close(said.existence_bound.unwrap(), threshold, "existence");
    close(said.uniqueness_bound.unwrap(), threshold, "uniqueness");
    let count = |mu: f64, b: f64| {
        let all = screw(mu, b).motions_by_pyramid(&pyramid(4)).unwrap().unwrap();
        assert_eq!(all.undecided, 0);
        all.solutions.len()
    };
    assert_eq!([count(0.99 * threshold, -1.0), count(0.99 * threshold, 1.0)], [1, 1]);
    assert_eq!([count(1.01 * threshold, -1.0), count(1.01 * threshold, 1.0)], [0, 2]);
}

#[test]
fn the_ball_in_the_valley_begins_with_the_forces_of_the_reference() {
    // Problem 2 at t = 0: both contacts at rest, eight rows on six coordinates, so that only (B) of
    // Theorem 1 speaks.
    let q = [0.0, 6.62105263157895, 8.78417110772903f64];
    let mut instant = Instant { force: vec![1.0, 2.6, -G, 0.0, 0.0, 0.0], ..Default::default() };
    instant.inertia.set_diagonal(&[1.0, 1.0, 1.0, 0.4, 0.4, 0.4]);
    instant.inertia.factor().unwrap();
    for (number, (centre, radius)) in [(0.0, 11.0), (11.4, 10.0)].into_iter().enumerate() {
        let n = [0.0, (q[1] - centre) / radius, q[2] / radius];
        let row = |d: [f64; 3]| {
            let turn = [d[1] * n[2] - d[2] * n[1], d[2] * n[0] - d[0] * n[2], d[0] * n[1] - d[1] * n[0]];
            Row::from_dense(&[d[0], d[1], d[2], turn[0], turn[1], turn[2]])
        };
        instant.contacts.push(InstantContact {
            id: ContactId::number(number as u32),
            normal: row(n),
            tangents: [
                row([1.0, 0.0, 0.0]),
                row([0.0, n[2], -n[1]]),
                Row::from_dense(&[0.0, 0.0, 0.0, n[0], n[1], n[2]]),
            ]
            .into_iter()
            .collect(),
            mu: 0.2,
            semi_axes: Some([1.0, 1.0, 0.3]),
            ..Default::default()
        });
    }
    let said = instant.existence().unwrap();
    assert!(!said.is_definite && said.rest == RestCondition::Holds && said.is_proved, "{said:?}");
    let solution = instant.solve_exact().unwrap();
    assert!(solution.report.is_solved(), "{:?}", solution.report);
    let reference = [[2.641003631, -0.478785363, 0.0, -0.066921241], [8.766902852, -0.050912969, 0.0, 0.463560055]];
    for (force, expected) in solution.contacts.iter().zip(reference) {
        let [t, o, r] = force.tangent;
        for (found, expected) in [force.normal, t, o, r].into_iter().zip(expected) {
            close(found, expected, "force of the reference, nine decimals");
        }
    }
}

#[test]
fn what_does_not_treat_torsion_says_so() {
    use stiction_dynamics::{PhantomInertia, PhantomInertiaSettings, PlanarRelay};
    let instant = ball([0.0; 3], 0.5, InstantContact::default());
    let mut phantom = PhantomInertia::new(PhantomInertiaSettings::default()).unwrap();
    for error in [
        instant.solve_relay(&mut PlanarRelay::default()).unwrap_err(),
        instant.solve_phantom(&mut phantom).unwrap_err(),
        instant.motions(&phantom).unwrap_err(),
    ] {
        assert!(error.to_string().contains("3 tangent rows"), "{error}");
    }
    // Too large to try every basis.
    assert!(instant.motions_by_pyramid(&pyramid(8)).unwrap().is_none());
    for (axes, words) in
        [([1.0, 0.0, 0.4], "semi-axis of friction is 0"), ([1.0, 1.0, f64::NAN], "semi-axis of friction is NaN")]
    {
        let mut instant = instant.clone();
        instant.contacts[0].semi_axes = Some(axes);
        let error = instant.solve_pyramid(&pyramid(4)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let contact = InstantContact { sliding: Some([0.6, 0.0]), drilling: 0.6, ..Default::default() };
    let error = ball([0.0; 3], 0.0, contact).solve_exact().unwrap_err();
    assert!(error.to_string().contains("[0.6, 0.0, 0.6], which is not a unit vector"), "{error}");
}

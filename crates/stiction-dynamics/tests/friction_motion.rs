//! Motions under the friction sets of [TTP01] against closed forms and a fine integration.

use stiction_dynamics::{
    Contact, ContactId, ContactMethod, ContactSolver, ExactConeSettings, FrictionLaw, ImplicitNcp, ImplicitNcpSettings,
    Inertia, MechanicalSystem, Row, Scheme, State, Step, StewartTrinkle, StewartTrinkleSettings,
};

const G: f64 = 9.81;

/// A body of 1 kg on one patch of the ground, with the velocities x, y, z and the spin about z; as
/// a ball of unit radius it also turns about x and y.
struct Body {
    friction: FrictionLaw,
    inertia: f64,
    push: [f64; 2],
    is_ball: bool,
}

impl MechanicalSystem for Body {
    fn velocity_count(&self) -> usize {
        6
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        let i = self.inertia;
        [1.0, 1.0, 1.0, i, i, i].into_iter().for_each(|mass| out.push_scalar(mass));
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[self.push[0], self.push[1], -G, 0.0, 0.0, 0.0]);
    }
    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        let arm = f64::from(u8::from(self.is_ball));
        if q[2] <= horizon {
            out.push(Contact {
                id: ContactId::number(0),
                gap: q[2],
                normal: Row::from_dense(&[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
                tangents: [
                    Row::from_dense(&[1.0, 0.0, 0.0, 0.0, -arm, 0.0]),
                    Row::from_dense(&[0.0, 1.0, 0.0, arm, 0.0, 0.0]),
                    Row::from_dense(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
                ]
                .into_iter()
                .collect(),
                friction: self.friction.clone(),
                ..Default::default()
            });
        }
    }
}

fn schemes() -> [Box<dyn Scheme>; 2] {
    let solver = || ContactSolver::new(ContactMethod::Cone(ExactConeSettings::default())).unwrap();
    [
        Box::new(ImplicitNcp::new(ImplicitNcpSettings::default(), solver())),
        Box::new(StewartTrinkle::new(StewartTrinkleSettings::default(), solver())),
    ]
}

/// The states after every step.
fn run(body: &Body, scheme: &mut dyn Scheme, v: [f64; 6], h: f64, steps: usize) -> Vec<State> {
    let mut state = State::new(0.0, vec![0.0; 6], v.to_vec());
    let mut step = Step::default();
    (0..steps)
        .map(|_| {
            scheme.step(body, &state, h, &mut step).unwrap();
            state.copy_from(&step.state);
            state.clone()
        })
        .collect()
}

/// End of the first step after which a velocity is zero.
fn stop(states: &[State], k: usize) -> f64 {
    states.iter().find(|state| state.v[k].abs() < 1e-10).map_or(f64::INFINITY, |state| state.t)
}

#[test]
fn sliding_and_spinning_end_together_when_they_share_a_bound() {
    let (mu, e, h) = (0.3, 0.1, 1e-3);
    for mut scheme in schemes() {
        // With I = m e² both fall in proportion: √(v² + e² ω²) falls by μ g each second.
        let friction = FrictionLaw::Elliptic { mu, semi_axes: [1.0, 1.0, e] };
        let body = Body { friction, inertia: e * e, push: [0.0; 2], is_ball: false };
        let states = run(&body, &mut *scheme, [1.2, 0.0, 0.0, 0.0, 0.0, 16.0], h, 800);
        let expected = 1.2f64.hypot(1.6) / (mu * G);
        assert!((stop(&states, 0) - expected).abs() <= h && (stop(&states, 5) - expected).abs() <= h);
        let middle = &states[299].v;
        let share = 1.0 - 0.3 / expected;
        assert!((middle[0] - 1.2 * share).abs() < 1e-10 && (middle[5] - 16.0 * share).abs() < 1e-9, "{middle:?}");
    }
    for mut scheme in schemes() {
        // A disc, I = m R²/2 with a patch of e = 2R/3: not in proportion, and still together.
        let friction = FrictionLaw::Elliptic { mu, semi_axes: [1.0, 1.0, 2.0 / 3.0 * 0.2] };
        let body = Body { friction, inertia: 0.02, push: [0.0; 2], is_ball: false };
        let states = run(&body, &mut *scheme, [1.0, 0.5, 0.0, 0.0, 0.0, 3.0], h, 800);
        let (slides, spins) = (stop(&states, 0), stop(&states, 5));
        assert!(slides.is_finite() && (slides - spins).abs() <= 2.0 * h, "{slides} {spins}");
    }
}

#[test]
fn sliding_and_spinning_end_at_their_own_times_with_a_bound_each() {
    let (mu, e, inertia, h) = (0.3, 0.05, 0.02, 1e-3);
    for mut scheme in schemes() {
        let friction = FrictionLaw::EllipseAndTorsion { mu, semi_axes: [1.0, 1.0, e] };
        let body = Body { friction, inertia, push: [0.0; 2], is_ball: false };
        let states = run(&body, &mut *scheme, [0.6, 0.8, 0.0, 0.0, 0.0, 4.0], h, 800);
        let [slides, spins] = [1.0 / (mu * G), inertia * 4.0 / (e * mu * G)];
        assert!((stop(&states, 0) - slides).abs() <= h, "{} and not {slides}", stop(&states, 0));
        assert!((stop(&states, 5) - spins).abs() <= h, "{} and not {spins}", stop(&states, 5));
        assert!((slides - spins).abs() > 0.1);
        // Neither knows of the other: both are straight lines.
        let early = &states[99].v;
        assert!(
            (early[0] - 0.6 * (1.0 - 0.1 / slides)).abs() < 1e-10
                && (early[5] - 4.0 * (1.0 - 0.1 / spins)).abs() < 1e-9
        );
    }
}

#[test]
fn a_block_slides_aside_where_friction_depends_on_the_direction() {
    let (mu, along, across) = (0.5, 1.0, 0.6);
    let friction = FrictionLaw::Elliptic { mu, semi_axes: [along, across, 1e-3] };
    for mut scheme in schemes() {
        // Pushed from rest it slides straight, but not along the push: a = F - μ g E² d/|E d| along
        // d, which holds for a itself.
        let push = [6.0, 4.0];
        let body = Body { friction: friction.clone(), inertia: 1.0, push, is_ball: false };
        let states = run(&body, &mut *scheme, [0.0; 6], 0.01, 50);
        let end = &states[49];
        let a = [end.v[0] / end.t, end.v[1] / end.t];
        let size = (along * a[0]).hypot(across * a[1]);
        for (k, e) in [along, across].into_iter().enumerate() {
            let expected = push[k] - mu * G * e * e * a[k] / size;
            assert!((a[k] - expected).abs() < 1e-9, "{a:?}");
        }
        assert!((a[1] / a[0] - push[1] / push[0]).abs() > 0.1, "it goes aside");
        // Thrown, it turns towards the direction of less friction: v_y / v_y0 = (v_x /
        // v_x0)^(e_y²/e_x²). Order one in h.
        let body = Body { friction: friction.clone(), inertia: 1.0, push: [0.0; 2], is_ball: false };
        let mut errors = Vec::new();
        for h in [2e-3, 1e-3] {
            let states = run(&body, &mut *scheme, [2.0, 1.0, 0.0, 0.0, 0.0, 0.0], h, (0.3 / h) as usize);
            let v = &states.last().unwrap().v;
            let power = (across / along).powi(2);
            errors.push((v[1] - (v[0] / 2.0).powf(power)).abs());
        }
        assert!(errors[0] < 1e-3 && (1.8..2.2).contains(&(errors[0] / errors[1])), "{errors:?}");
    }
}

#[test]
fn a_ball_that_slides_and_spins_follows_a_fine_integration() {
    let (mu, e, inertia) = (0.3, 0.2, 0.4);
    // dv/dt = c, I dω/dt = (-z) × c + c_r z with the friction c = -μ g E² s/|E s| against the
    // sliding of the contact point and the spin.
    let rate = |v: &[f64; 6]| {
        let s = [v[0] - v[4], v[1] + v[3], v[5]];
        let size = (s[0] * s[0] + s[1] * s[1] + e * e * s[2] * s[2]).sqrt();
        let c = [s[0], s[1], e * e * s[2]].map(|s| -mu * G * s / size);
        [c[0], c[1], 0.0, c[1] / inertia, -c[0] / inertia, c[2] / inertia]
    };
    let start = [2.0, 0.3, 0.0, 0.5, -1.0, 6.0];
    let (mut v, fine) = (start, 1e-4);
    for _ in 0..3000 {
        let moved = |v: &[f64; 6], k: &[f64; 6], share: f64| std::array::from_fn(|i| v[i] + share * fine * k[i]);
        let k1 = rate(&v);
        let k2 = rate(&moved(&v, &k1, 0.5));
        let k3 = rate(&moved(&v, &k2, 0.5));
        let k4 = rate(&moved(&v, &k3, 1.0));
        v = std::array::from_fn(|i| v[i] + fine / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    for mut scheme in schemes() {
        let friction = FrictionLaw::Elliptic { mu, semi_axes: [1.0, 1.0, e] };
        let body = Body { friction, inertia, push: [0.0; 2], is_ball: true };
        let mut errors = Vec::new();
        for h in [2e-3, 1e-3] {
            let states = run(&body, &mut *scheme, start, h, (0.3 / h + 0.5) as usize);
            let end = &states.last().unwrap().v;
            errors.push((0..6).fold(0.0f64, |error, k| error.max((end[k] - v[k]).abs())));
        }
        assert!(errors[1] < 2e-3 && (1.8..2.2).contains(&(errors[0] / errors[1])), "{errors:?}");
    }
}

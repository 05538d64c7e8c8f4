//! The event-driven scheme against reference numbers and closed forms.

use stiction_dynamics::reference::{Carts, DoublePendulum, Rod, Woodpecker};
use stiction_dynamics::{
    Audit, ContactMethod, ContactMode, ContactSolver, Event, EventDriven, EventDrivenSettings, ImpactLaw,
    MechanicalSystem, ModeTracker, Restitution, Simulation, State, StepKind, TimeGrid,
};

fn simulation(system: impl MechanicalSystem + 'static, start: State, end: f64, step: f64) -> Simulation {
    let solver = ContactSolver::new(ContactMethod::default()).unwrap();
    let scheme = EventDriven::new(EventDrivenSettings::default(), solver);
    let grid = TimeGrid { start: start.t, end, step };
    Simulation::new(Box::new(system), Box::new(scheme), start, grid)
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found:.12} and not {expected:.12}, off by {:.1e}",
        found - expected
    );
}

/// Time, velocities before and after, and the normal and first tangential impulses of the contacts.
type Impact = (f64, Vec<f64>, Vec<f64>, Vec<(f64, f64)>);

/// Every step of a run: kind, event list, state before and after.
struct Record {
    events: Vec<Event>,
    impacts: Vec<Impact>,
    audit: Audit,
    end: State,
}

fn record(mut simulation: Simulation) -> Record {
    let mut tracker = ModeTracker::default();
    let (mut events, mut impacts, mut audit) = (Vec::new(), Vec::new(), Audit::default());
    simulation
        .run_with(|s| {
            let step = s.last_step();
            tracker.observe(s.before(), step, &mut events);
            audit.observe(s.system(), s.before(), step);
            if step.kind == StepKind::Impact {
                let impulses =
                    step.solution.contacts.iter().map(|impulse| (impulse.normal, impulse.tangent[0])).collect();
                impacts.push((s.state().t, s.before().v.clone(), s.state().v.clone(), impulses));
            }
        })
        .unwrap();
    Record { events, impacts, audit, end: simulation.state().clone() }
}

/// Reference: the event table of the rod, known to 1e-11.
#[test]
fn the_rod_meets_its_event_table() {
    let rod = record(simulation(Rod::default(), Rod::start(), 0.7, 0.01));
    assert_eq!(rod.impacts.len(), 2);
    let (t, before, after, impulses) = &rod.impacts[0];
    assert_close(*t, 0.38581775171, 1e-9, "first impact");
    for (found, expected) in before.iter().zip([0.0, -3.784872144, 4.0]) {
        assert_close(*found, expected, 1e-9, "velocity before it");
    }
    for (found, expected) in after.iter().zip([-1.390096118, -0.612948534, 5.151087899]) {
        assert_close(*found, expected, 1e-9, "velocity after it");
    }
    let loaded = impulses.iter().find(|impulse| impulse.0 > 0.0).unwrap();
    assert_close(loaded.0, 3.171923610, 1e-9, "normal impulse");
    assert_close(loaded.1, -1.390096118, 1e-9, "friction impulse");

    let event = |from, to| rod.events.iter().find(|event| event.from == from && event.to == to).unwrap().t;
    assert_close(event(ContactMode::Stick, ContactMode::Slip), 0.41911325442, 1e-9, "stick to slip");
    let (t, before, after, _) = &rod.impacts[1];
    assert_close(*t, 0.54731841967, 1e-9, "second impact");
    for (found, expected) in before.iter().zip([-1.395107337, -2.138550172, 8.554200690]) {
        assert_close(*found, expected, 1e-9, "velocity before it");
    }
    for (found, expected) in after.iter().zip([-0.111977233, 0.0, 0.0]) {
        assert_close(*found, expected, 1e-9, "velocity after it");
    }
    let stop =
        rod.events.iter().rfind(|event| event.from == ContactMode::Slip && event.to == ContactMode::Stick).unwrap();
    assert_close(stop.t, 0.56634275423, 1e-9, "at rest");
    assert_close(rod.end.q[0], -0.22735998270, 1e-9, "place of rest");
    // The energy is lost to impacts and friction, all of it explained; printed with four decimals.
    let energy = &rod.audit.sum.energy;
    assert_close(energy.total_change, -9.3355, 1e-4, "energy lost");
    assert_close(energy.unexplained, 0.0, 1e-11, "unexplained energy");
    assert_close(rod.audit.worst.momentum, 0.0, 1e-10, "imbalance of momentum");
}

/// Reference: collision times and the state at 2.5 s of a computation with 40 digits.
#[test]
fn the_double_pendulum_hits_its_wall_five_times() {
    let wall = Some(Restitution { law: ImpactLaw::Poisson, normal: 0.1, tangential: 0.0 });
    let pendulum = record(simulation(DoublePendulum { gravity: 9.8, wall }, DoublePendulum::start(), 2.5, 0.05));
    let expected = [
        (0.54550805144, -1.984493531),
        (0.70793269999, -4.013683456),
        (1.28472664595, -0.679614454),
        (2.09773945488, -0.489951770),
        (2.13164028430, -1.030536788),
    ];
    assert_eq!(pendulum.impacts.len(), 5);
    for ((t, before, _, _), (time, approach)) in pendulum.impacts.iter().zip(expected) {
        assert_close(*t, time, 1e-10, "time of a collision");
        assert!([before[0], before[2]].iter().any(|v| (v - approach).abs() < 1e-9), "{before:?} {approach}");
    }
    let q = [0.02196211769492439, -0.9997588036053267, 0.02376948677391344, -1.999757170312499];
    let v = [-0.01217470743986077, -0.000267446864915078, 0.0641768785709046, -0.000129451143840027];
    for (found, expected) in pendulum.end.q.iter().zip(q).chain(pendulum.end.v.iter().zip(v)) {
        assert_close(*found, expected, 1e-10, "state at the end");
    }
}

/// Reference: the limit cycle by matrix exponentials and impact problems, known to 1e-12. It
/// attracts with the factor -0.839 a cycle, so that after a hundred cycles the start is forgotten
/// to 3e-8 of its distance.
#[test]
fn the_woodpecker_pecks_its_limit_cycle() {
    let mut pecker = simulation(Woodpecker::default().system(), Woodpecker::start(), 17.0, 0.01);
    let mut tracker = ModeTracker::default();
    let (mut events, mut heights) = (Vec::new(), Vec::new());
    pecker
        .run_with(|s| {
            let known = events.len();
            tracker.observe(s.before(), s.last_step(), &mut events);
            heights.resize(events.len(), s.before().q[0]);
            assert!(s.last_step().kind != StepKind::Shock, "at {}", events[known].t);
        })
        .unwrap();
    let is_hit = |event: &Event| event.contact.feature == 0 && event.to == ContactMode::Impact;
    let hits: Vec<usize> = (0..events.len()).filter(|&i| is_hit(&events[i])).collect();
    let (first, last) = (hits[hits.len() - 2], hits[hits.len() - 1]);
    assert!(hits.len() > 110);
    assert_close(events[last].t - events[first].t, 0.145976065144, 1e-10, "period");
    assert_close(heights[first] - heights[last], 0.0194453792847, 1e-10, "descent in a cycle");
    assert_close(events[first].impulse, 1.28450293e-3, 1e-11, "impulse of the beak");

    use ContactMode::{Impact, Open, Slip, Stick};
    let expected = [
        (0, Impact, 0.0),
        (0, Open, 0.0),
        (2, Impact, 0.000579522),
        (2, Slip, 0.000579522),
        (2, Open, 0.002434212),
        (1, Impact, 0.037722623),
        (1, Open, 0.037722623),
        (1, Impact, 0.040451357),
        (1, Slip, 0.040451357),
        (1, Stick, 0.086571479),
        (1, Slip, 0.126164886),
        (1, Open, 0.131985643),
        (2, Impact, 0.142874711),
        (2, Open, 0.142874711),
    ];
    let cycle = &events[first..last];
    assert_eq!(cycle.len(), expected.len());
    for (event, (contact, mode, t)) in cycle.iter().zip(expected) {
        assert_eq!((event.contact.feature, event.to), (contact, mode), "{cycle:?}");
        assert_close(event.t - events[first].t, t, 1e-9, "time of an event"); // printed with nine decimals
    }
}

/// The linear motion of both carts under constant forces `f` beside spring and damper, by the roots
/// of its characteristic polynomial
/// $\lambda (\lambda^3 + 2 \delta \lambda^2 + \gamma \lambda + \gamma \delta)$, with unit masses.
/// The places are those beyond the unloaded spring.
struct LinearCarts {
    gamma: f64,
    delta: f64,
}

impl LinearCarts {
    /// Place and velocity of both carts after `t` in the modes of the real root, of the two parts
    /// of the pair, and of $\lambda = 0$.
    fn modes(&self, t: f64) -> [[f64; 4]; 4] {
        let (gamma, delta) = (self.gamma, self.delta);
        let mut r = -2.0 * delta;
        for _ in 0..60 {
            let (f, slope) = (((r + 2.0 * delta) * r + gamma) * r + gamma * delta, (3.0 * r + 4.0 * delta) * r + gamma);
            r -= f / slope;
        }
        // (λ - r) (λ² + p λ + q), without differences of large numbers.
        let q = -gamma * delta / r;
        let p = (q - gamma) / r;
        let (real, imaginary) = (-0.5 * p, (q - 0.25 * p * p).sqrt());
        // The second cart follows the first with the factor δ / (λ + δ).
        let share = delta / (r + delta);
        let decay = (r * t).exp();
        let square = (real + delta).powi(2) + imaginary * imaginary;
        let (a, b) = (delta * (real + delta) / square, -delta * imaginary / square);
        let (c, s) = ((imaginary * t).cos() * (real * t).exp(), (imaginary * t).sin() * (real * t).exp());
        let rate = |x: f64, y: f64| (real * x - imaginary * y, imaginary * x + real * y);
        let ((vc, vs), (xc, xs)) = (rate(c, s), (a * c - b * s, a * s + b * c));
        let (wc, ws) = rate(xc, xs);
        [[decay, share * decay, r * decay, share * r * decay], [c, xc, vc, wc], [s, xs, vs, ws], [0.0, 1.0, 0.0, 0.0]]
    }

    /// The state after `t`.
    fn after(&self, t: f64, start: &State, f: [f64; 2]) -> [f64; 4] {
        // Particular motion: the first cart stands where the spring carries all forces, the second
        // moves with f₂ / δ.
        let first = Carts::EQUILIBRIUM + (f[0] + f[1]) / self.gamma;
        let speed = f[1] / self.delta;
        let mut c = [start.q[0] - first, start.q[1], start.v[0], start.v[1] - speed];
        // Gauss on the modes at the start.
        let modes = self.modes(0.0);
        let mut matrix: Vec<Vec<f64>> = (0..4).map(|i| (0..4).map(|k| modes[k][i]).collect()).collect();
        for k in 0..4 {
            let pivot = (k..4).max_by(|&i, &j| matrix[i][k].abs().total_cmp(&matrix[j][k].abs())).unwrap();
            matrix.swap(k, pivot);
            c.swap(k, pivot);
            for i in k + 1..4 {
                let factor = matrix[i][k] / matrix[k][k];
                (k..4).for_each(|j| matrix[i][j] -= factor * matrix[k][j]);
                c[i] -= factor * c[k];
            }
        }
        for k in (0..4).rev() {
            c[k] = (c[k] - (k + 1..4).map(|j| matrix[k][j] * c[j]).sum::<f64>()) / matrix[k][k];
        }
        let modes = self.modes(t);
        let part = |i: usize| (0..4).map(|k| c[k] * modes[k][i]).sum::<f64>();
        [part(0) + first, part(1) + speed * t, part(2), part(3) + speed]
    }
}

/// [PAGT] §10.2 with dampers up to the paper's $10^6$ N s/m: every smooth step is the closed form
/// of its linear motion, every impact gives back 0.3 of the approach, and the certificate is met.
/// After the impact cart and stopper meet several times within a microsecond.
#[test]
fn carts_with_stiff_dampers_follow_their_closed_form() {
    for (gamma, delta) in [(100.0, 1e3), (80.0, 1e5), (100.0, 1e5), (100.0, 1e6), (80.0, 1e6)] {
        let carts = Carts { stiffness: gamma, damping: delta };
        let closed = LinearCarts { gamma, delta };
        let start = State::new(0.0, vec![0.1, 5.1], vec![-2.0, -2.0]);
        let mut simulation = simulation(carts, start, 4.0, 0.01);
        let mut audit = Audit::default();
        let (mut smooth, mut impacts) = (0, 0);
        simulation
            .run_with(|s| {
                let (step, before, after) = (s.last_step(), s.before(), s.state());
                audit.observe(s.system(), before, step);
                if step.kind == StepKind::Decompression {
                    impacts += 1;
                }
                if step.kind == StepKind::Impact && before.v[0] < -1e-10 {
                    assert!(after.v[0].abs() < 1e-12, "compression at {}: {}", after.t, after.v[0]);
                }
                let Some(sample) = step.samples.get(step.samples.len() / 2) else { return };
                smooth += 1;
                let slides = |i: usize| sample.friction[i][0].abs() > 0.999_999 * Carts::FRICTION;
                let holds = !step.contacts.is_empty() || !slides(0);
                let found = [after.q[0], after.q[1], after.v[0], after.v[1]];
                let expected = if holds {
                    // The first cart stands; the second, if it moves, is stopped by damper and
                    // floor.
                    let speed = -Carts::FRICTION / delta * before.v[1].signum();
                    let (u, decay) = (before.v[1] - speed, (-delta * step.h).exp_m1());
                    match slides(1) {
                        true => [
                            before.q[0],
                            before.q[1] + speed * step.h - u * decay / delta,
                            0.0,
                            speed + u * (1.0 + decay),
                        ],
                        false => [before.q[0], before.q[1], 0.0, 0.0],
                    }
                } else {
                    let force = |i: usize| sample.friction[i][0];
                    closed.after(step.h, before, [force(0), force(1)])
                };
                for (found, expected) in found.into_iter().zip(expected) {
                    assert_close(
                        found,
                        expected,
                        2e-11,
                        &format!("delta {delta}, step from {} over {}", before.t, step.h),
                    );
                }
            })
            .unwrap();
        assert!(smooth > 400 && impacts >= 3, "{smooth} smooth steps, {impacts} impacts");
        assert!(audit.worst.momentum < 1e-9, "delta {delta}: imbalance {:e}", audit.worst.momentum);
        assert!(audit.worst.residual < 1e-10 && audit.worst.kinetic_balance < 1e-10);
    }
}

/// A system without coordinates has nothing to do, and does it.
#[test]
fn a_system_in_which_nothing_can_move_stands() {
    struct Nothing;
    impl MechanicalSystem for Nothing {
        fn velocity_count(&self) -> usize {
            0
        }
        fn mass_matrix(&self, _t: f64, _q: &[f64], _out: &mut stiction_dynamics::Inertia) {}
        fn force(&self, _t: f64, _q: &[f64], _v: &[f64], _k: &mut [f64]) {}
        fn contacts(&self, _t: f64, _q: &[f64], _horizon: f64, _out: &mut Vec<stiction_dynamics::Contact>) {}
    }
    let run = record(simulation(Nothing, State::new(0.0, Vec::new(), Vec::new()), 0.1, 0.01));
    assert_eq!((run.end.t, run.audit.worst.momentum), (0.1, 0.0));
}
